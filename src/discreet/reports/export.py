"""An account to hand on: the curves of every pair of paths as Parquet, and certificates of its numbers.

The folder appears whole or not at all. `manifest.json` says what each file and column is, and its hash.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version

import numpy as np

from discreet.accounting.account import Account
from discreet.accounting.certificate import Certificate
from discreet.accounting.parallel import map_cases
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.answers.account import case_text
from discreet.answers.export import CURVE_COLUMNS, export_page
from discreet.answers.quantity import Quantity, Style
from discreet.budget import Release
from discreet.comparisons.costs import PrivacyRow, zcdp_of
from discreet.comparisons.sampling import Floats, curve_alphas, drawing_epsilons
from discreet.errors import PrecisionError
from discreet.files import ArrowTable, arrow, sha256
from discreet.loss.curves import Quantity as Asked
from discreet.noise import Noise
from discreet.numbers import Exact, exact_text, fraction

_FORMAT = "discreet export 1"

_ALPHA = Fraction(1, 20)
"""The type I error at which the trade-off curve is certified."""


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
    from discreet.ledger.commit import whole_folder

    certificates, missing = _certificates(account, releases, rows, digits)
    with whole_folder(folder) as made:
        tables = _tables(account)
        for file, table in tables.items():
            arrow("parquet").write_table(table, made / file)
        os.mkdir(made / "certificates")
        for file, certificate in certificates.items():
            (made / file).write_text(certificate.to_text(), encoding="utf-8")
        program = f"discreet {version('discreet')}"
        page = export_page(account, program, alpha=Quantity(_ALPHA, Style.GIVEN), missing=missing)
        (made / "README.md").write_text(page, encoding="utf-8")
        manifest = {
            "format": _FORMAT,
            "program": program,
            "release": account.name,
            "releases": [release.name for release in releases],
            "unit": account.unit,
            "neighbours": account.neighbours,
            "people": account.people,
            "rho": str(account.rho),
            "pairs": account.pairs,
            "answer": account.claim.document(),
            "files": [
                {
                    "name": file,
                    "rows": table.num_rows,
                    "refused": table.column(2).null_count,
                    "sha256": sha256(made / file),
                    "columns": [
                        {"name": name, "type": "string" if name == "pair" else "float64"}
                        | {"unit": unit, "means": means}
                        for name, (unit, means) in CURVE_COLUMNS[file].items()
                    ],
                }
                for file, table in tables.items()
            ],
            "certificates": [
                {"name": file, "says": certificate.says, "sha256": sha256(made / file)}
                for file, certificate in certificates.items()
            ],
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        (made / "manifest.json").write_text(text + "\n", encoding="utf-8")


def _certificates(
    account: Account,
    releases: Sequence[Release],
    rows: Mapping[str, tuple[Sequence[Exact], Sequence[PrivacyRow]]],
    digits: int | None,
) -> tuple[dict[str, Certificate], str]:
    """Return certificates of the rows and of f(ALPHA), by their files, and why the last is missing if it is.

    That one has fewer digits if those asked for cannot be proved.
    """
    made: dict[str, Certificate] = {}
    for asked, (given, answers) in rows.items():
        name: Asked = "epsilon" if asked == "epsilon" else "delta"
        other = "delta" if name == "epsilon" else "epsilon"
        for at, row in zip(map(fraction, given), answers, strict=True):
            if row.certified is not None:
                file = f"certificates/{name}-at-{other}-{exact_text(at).replace('/', '-over-')}.json"
                made[file] = Certificate.from_account(
                    account, releases, name, at, row.certified, worst=row.worst, digits=digits
                )
    reason = ""
    for many in dict.fromkeys((digits, None, 6, 3)):
        try:
            box = account.tradeoff(alpha=_ALPHA, certified=True, digits=many)
        except PrecisionError as problem:
            reason = f"\n  The type II error could not be certified: {problem}."
            continue
        file = f"certificates/beta-at-alpha-{exact_text(_ALPHA)}.json"
        return made | {
            file: Certificate.from_account(account, releases, "beta", _ALPHA, box, digits=many)
        }, ""
    return made, reason


def _tables(account: Account) -> dict[str, ArrowTable]:
    """For each case its curves on common grids, with their accuracies; equal events are computed once.

    Each case by itself: what `AllPairs` has of all at once is only as accurate as finding the worst one asks.
    """
    epsilons, alphas = drawing_epsilons(zcdp_of(account)), curve_alphas()
    labels, places, different = [], [], dict[tuple[Noise, ...], int]()
    for case, events in account.cases:
        labels.append(case_text(case))
        places.append(different.setdefault(events, len(different)))
    tasks = [(events, epsilons, alphas) for events in different]
    curves = map_cases(_curves, tasks, jobs=account.jobs, progress=account.progress, least=16)
    stacked = [np.array([curve[k] for curve in curves])[places].ravel() for k in range(4)]
    pa, many, tables = arrow(), len(labels), {}
    for file, grid, measured in zip(
        CURVE_COLUMNS, (epsilons, alphas), (stacked[:2], stacked[2:]), strict=True
    ):
        index = pa.array(np.repeat(np.arange(many, dtype=np.int32), grid.size))
        arrays = [
            pa.DictionaryArray.from_arrays(index, pa.array(labels, pa.string())),
            pa.array(np.tile(grid, many)),
            *(pa.array(part, mask=np.isnan(part)) for part in measured),
        ]
        fields = [
            pa.field(name, array.type, metadata={"unit": unit, "means": means})
            for (name, (unit, means)), array in zip(CURVE_COLUMNS[file].items(), arrays, strict=True)
        ]
        tables[file] = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    return tables


def _curves(task: tuple[tuple[Noise, ...], Floats, Floats]) -> tuple[Floats, Floats, Floats, Floats]:
    """delta and f of one case on the grids, each with its relative accuracy."""
    events, epsilons, alphas = task
    loss = compose(events)
    return (*_asked(loss, "delta", "epsilon", epsilons), *_asked(loss, "tradeoff", "alpha", alphas))


def _asked(loss: PrivacyLoss, what: str, name: str, grid: Floats) -> tuple[Floats, Floats]:
    """All at once; where one is refused, each by itself."""
    ask = getattr(loss, what)
    try:
        answers = ask(**{name: grid})
        return np.asarray(answers), np.asarray(answers.accuracy)
    except PrecisionError:
        values, accuracy = np.full(grid.size, math.nan), np.full(grid.size, math.nan)
        for i, x in enumerate(grid):
            try:
                value = ask(**{name: float(x)})
                values[i], accuracy[i] = value, value.accuracy
            except PrecisionError:
                continue
        return values, accuracy
