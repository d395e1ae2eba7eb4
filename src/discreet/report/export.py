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
from numpy.typing import NDArray

from discreet.accounting.certificate import Certificate, Quantity
from discreet.accounting.overall import Account
from discreet.accounting.parallel import map_cases
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget import Release
from discreet.errors import PrecisionError
from discreet.noise import Noise
from discreet.numbers import Exact, fraction, plain
from discreet.report import words
from discreet.report.curves import curve_alphas, drawing_epsilons
from discreet.report.tables import PrivacyRow, zcdp_of

FORMAT = "discreet export 1"

Floats = NDArray[np.float64]


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
- `certificates/`: for each number of the table an interval that provably contains it, with all that a checker
  needs. `discreet verify FILE` re-derives it by another method.
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

    certificates = dict(
        _certified(account, releases, quantity, given, row, digits)
        for quantity, (asked, answers) in rows.items()
        for given, row in zip(asked, answers, strict=True)
        if row.certified is not None
    )
    with staging(folder) as stage:
        tables = _tables(account)
        for name, table in tables.items():
            _write_parquet(table, stage.path / name)
        os.mkdir(stage.path / "certificates")
        for name, certificate in certificates.items():
            (stage.path / "certificates" / name).write_text(certificate.to_text(), encoding="utf-8")
        who = words.relation(account.neighbours, account.unit, account.people)
        program = f"discreet {version('discreet')}"
        page = _README.format(
            name=account.name,
            who=who,
            program=program,
            pairs=words.compared(account).removesuffix(" compared").lower(),
            claim=str(account.claim),
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
                    "name": name,
                    "rows": table.rows,
                    "refused": table.refused,
                    "sha256": _hash(stage.path / name),
                    "columns": [column._asdict() for column in table.columns],
                }
                for name, table in tables.items()
            ],
            "certificates": [
                {
                    "name": f"certificates/{name}",
                    "says": certificate.says,
                    "sha256": _hash(stage.path / "certificates" / name),
                }
                for name, certificate in certificates.items()
            ],
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        (stage.path / "manifest.json").write_text(text + "\n", encoding="utf-8")
        stage.commit()


def _certified(
    account: Account,
    releases: Sequence[Release],
    quantity: str,
    given: Exact,
    row: PrivacyRow,
    digits: int | None,
) -> tuple[str, Certificate]:
    assert row.certified is not None
    at, other = fraction(given), "delta" if quantity == "epsilon" else "epsilon"
    name: Quantity = "epsilon" if quantity == "epsilon" else "delta"
    made = Certificate.from_account(
        account, releases, name, at, row.certified, worst=row.worst, digits=digits
    )
    return f"{name}-at-{other}-{_file_part(at)}.json", made


def _file_part(value: Fraction) -> str:
    short = plain(value)
    return short if Fraction(short) == value else str(value).replace("/", "-over-")


@dataclass(frozen=True, slots=True)
class _Curves:
    """One tidy table: for each pair its curve on a common grid, with its accuracies; NaN where refused."""

    columns: tuple[Column, ...]
    pairs: list[str]
    grid: Floats
    values: Floats
    accuracy: Floats

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.values.size)

    @property
    def refused(self) -> int:
        """How many of them have no value."""
        return int(np.isnan(self.values).sum())


def _tables(account: Account) -> dict[str, _Curves]:
    """The curves of all cases; those with the same events are computed once."""
    epsilons, alphas = drawing_epsilons(zcdp_of(account)), curve_alphas()
    labels, places, different = [], [], dict[tuple[Noise, ...], int]()
    for label, events in account.cases:
        labels.append(words.label(label))
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


def _write_parquet(table: _Curves, path: Path) -> None:
    from discreet.release.hierarchy.arrow import arrow

    pa, parquet = arrow(), arrow("parquet")
    many, size = len(table.pairs), table.grid.size
    index = pa.array(np.repeat(np.arange(many, dtype=np.int32), size))
    arrays = [
        pa.DictionaryArray.from_arrays(index, pa.array(table.pairs, pa.string())),
        pa.array(np.tile(table.grid, many)),
        *(pa.array(part.ravel(), mask=np.isnan(part.ravel())) for part in (table.values, table.accuracy)),
    ]
    fields = [
        pa.field(column.name, array.type, metadata={"unit": column.unit, "means": column.means})
        for column, array in zip(table.columns, arrays, strict=True)
    ]
    parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
