"""An account to hand on: the curves of every pair of paths as Parquet, and certificates of its numbers.

The folder appears whole or not at all. `manifest.json` says what each file and column is, and its hash.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from discreet.accounting.certificate import Certificate, Quantity
from discreet.accounting.overall import Account
from discreet.accounting.parallel import map_cases
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget import Release
from discreet.errors import PrecisionError
from discreet.noise import Noise
from discreet.numbers import Exact, exact_text, fraction
from discreet.report.figures import Floats, curve_alphas, drawing_epsilons
from discreet.report.tables import PrivacyRow, compared, label, relation, zcdp_of

FORMAT = "discreet export 1"

ALPHA = Fraction(1, 20)
"""The type I error at which the trade-off curve is certified."""


class Column(NamedTuple):
    """One column of a table: its name, type, unit and meaning."""

    name: str
    type: str
    unit: str
    means: str


_PAIR = Column("pair", "string", "", "The pair of paths, or the path, as the release numbers them.")
_DELTA = (
    _PAIR,
    Column("epsilon", "float64", "natural logarithm of a ratio of probabilities", "Where delta is asked."),
    Column("delta", "float64", "probability", "The smallest delta that is true of this pair at epsilon."),
    Column("accuracy", "float64", "part of delta", "How far delta may be off, relatively; null: refused."),
)
_BETA = (
    _PAIR,
    Column("alpha", "float64", "probability", "Type I error of a test of one neighbour against the other."),
    Column("beta", "float64", "probability", "The least type II error of any such test: f(alpha)."),
    Column("accuracy", "float64", "part of beta", "How far beta may be off, relatively; null: refused."),
)

_README = """\
# {name}

What this release costs {who}, as computed by {program}.

- `profiles.parquet`: delta at each epsilon, for each of {pairs}.
- `tradeoffs.parquet`: the trade-off curve beta = f(alpha) of each.
- `certificates/`: for each number of the table, and for the type II error at a type I error of {alpha}, an
  interval that provably contains it, with all that a checker needs. `discreet verify FILE` re-derives it by
  another method.{missing}
- `manifest.json`: the columns with their types and units, the number of rows, and the SHA-256 of each file.

{claim}
"""


def write_export(
    account: Account,
    releases: Sequence[Release],
    folder: str | os.PathLike[str],
    rows: Mapping[str, tuple[Sequence[Exact], Sequence[PrivacyRow]]],
    *,
    digits: int | None = None,
) -> None:
    """Write the curves of all pairs, and certificates of the certified rows, into a new folder.

    `rows` are the tables of epsilons and of deltas, each with the exact numbers at which they were asked.
    """
    from discreet.release.commit import staging

    certificates: dict[str, Certificate] = {}
    for asked, (given, answers) in rows.items():
        name: Quantity = "epsilon" if asked == "epsilon" else "delta"
        other = "delta" if name == "epsilon" else "epsilon"
        for at, row in zip(map(fraction, given), answers, strict=True):
            if row.certified is not None:
                file = f"certificates/{name}-at-{other}-{exact_text(at).replace('/', '-over-')}.json"
                certificates[file] = Certificate.from_account(
                    account, releases, name, at, row.certified, worst=row.worst, digits=digits
                )
    curve, missing = _curve_certificate(account, releases, digits)
    if curve is not None:
        certificates[f"certificates/beta-at-alpha-{exact_text(ALPHA)}.json"] = curve
    with staging(folder) as stage:
        tables = _tables(account)
        for name_of_file, table in tables.items():
            table.write(stage.path / name_of_file)
        os.mkdir(stage.path / "certificates")
        for name_of_file, certificate in certificates.items():
            (stage.path / name_of_file).write_text(certificate.to_text(), encoding="utf-8")
        program = f"discreet {version('discreet')}"
        page = _README.format(
            name=account.name,
            who=relation(account.neighbours, account.unit, account.people),
            program=program,
            pairs=compared(account).removesuffix(" compared").lower(),
            claim=str(account.claim),
            alpha=exact_text(ALPHA),
            missing=missing,
        )
        (stage.path / "README.md").write_text(page, encoding="utf-8")
        manifest = {
            "format": FORMAT,
            "program": program,
            "release": account.name,
            "releases": [release.name for release in releases],
            "unit": account.unit,
            "neighbours": account.neighbours,
            "people": account.people,
            "rho": str(account.rho),
            "pairs": account.pairs,
            "answer": account.claim.as_dict(),
            "files": [
                {
                    "name": file,
                    "rows": int(table.values.size),
                    "refused": int(np.isnan(table.values).sum()),
                    "sha256": _hash(stage.path / file),
                    "columns": [column._asdict() for column in table.columns],
                }
                for file, table in tables.items()
            ],
            "certificates": [
                {"name": file, "says": certificate.says, "sha256": _hash(stage.path / file)}
                for file, certificate in certificates.items()
            ],
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        (stage.path / "manifest.json").write_text(text + "\n", encoding="utf-8")
        stage.commit()


def _curve_certificate(
    account: Account, releases: Sequence[Release], digits: int | None
) -> tuple[Certificate | None, str]:
    """A certificate of f(ALPHA), with fewer digits if those asked for cannot be proved; or why none."""
    reason = ""
    for many in dict.fromkeys((digits, None, 6, 3)):
        try:
            box = account.tradeoff(alpha=ALPHA, certified=True, digits=many)
        except PrecisionError as problem:
            reason = f"\n  The type II error could not be certified: {problem}."
        else:
            return Certificate.from_account(account, releases, "beta", ALPHA, box, digits=many), ""
    return None, reason


@dataclass(frozen=True, slots=True)
class _Curves:
    """One tidy table: for each pair its curve on a common grid, with its accuracies; NaN where refused."""

    columns: tuple[Column, ...]
    pairs: list[str]
    grid: Floats
    values: Floats
    accuracy: Floats

    def write(self, path: Path) -> None:
        """Write the table as Parquet."""
        from discreet.release.tables import arrow

        pa, parquet = arrow(), arrow("parquet")
        many, size = len(self.pairs), self.grid.size
        index = pa.array(np.repeat(np.arange(many, dtype=np.int32), size))
        arrays = [
            pa.DictionaryArray.from_arrays(index, pa.array(self.pairs, pa.string())),
            pa.array(np.tile(self.grid, many)),
            *(pa.array(part.ravel(), mask=np.isnan(part.ravel())) for part in (self.values, self.accuracy)),
        ]
        fields = [
            pa.field(column.name, array.type, metadata={"unit": column.unit, "means": column.means})
            for column, array in zip(self.columns, arrays, strict=True)
        ]
        parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)


def _tables(account: Account) -> dict[str, _Curves]:
    """The curves of all cases; those with the same events are computed once."""
    epsilons, alphas = drawing_epsilons(zcdp_of(account)), curve_alphas()
    labels, places, different = [], [], dict[tuple[Noise, ...], int]()
    for case, events in account.cases:
        labels.append(label(case))
        places.append(different.setdefault(events, len(different)))
    tasks = [(events, epsilons, alphas) for events in different]
    found = map_cases(_curves, tasks, jobs=account.jobs, progress=account.progress, least=16)
    stacked = [np.array([one[k] for one in found])[places] for k in range(4)]
    return {
        "profiles.parquet": _Curves(_DELTA, labels, epsilons, stacked[0], stacked[1]),
        "tradeoffs.parquet": _Curves(_BETA, labels, alphas, stacked[2], stacked[3]),
    }


def _curves(task: tuple[tuple[Noise, ...], Floats, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """delta and f of one case on the grids, each with its relative accuracy."""
    events, epsilons, alphas = task
    loss = compose(events)
    return (*_asked(loss, "delta", "epsilon", epsilons), *_asked(loss, "tradeoff", "alpha", alphas))


def _asked(loss: PrivacyLoss, what: str, name: str, grid: Floats) -> tuple[Floats, Floats]:
    """All at once; where one is refused, each by itself."""
    ask = getattr(loss, what)
    try:
        found = ask(**{name: grid})
        return np.asarray(found), np.asarray(found.accuracy)
    except PrecisionError:
        values, accuracy = np.full(grid.size, math.nan), np.full(grid.size, math.nan)
        for i, x in enumerate(grid):
            try:
                one = ask(**{name: float(x)})
                values[i], accuracy[i] = one, one.accuracy
            except PrecisionError:
                continue
        return values, accuracy


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
