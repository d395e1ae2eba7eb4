"""`discreet tabulate`, `measure` and `estimate`: from records to counts, to noise, to the best estimates."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.budget import load
from discreet.budget.level_names import find_level
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option
from discreet.errors import InputError
from discreet.options import Estimating, Measuring, Tabulating

if TYPE_CHECKING:
    from discreet.budget import Release

# -- exact counts of records ---------------------------------------------------------------------------------

tabulate_app = console.command(
    "tabulate",
    "RELEASE.toml --records FILE --units FILE --out DIR [OPTIONS]",
    "survey.toml --records people.csv --units units.csv --out counts",
    "survey.toml --records people.csv --units districts.csv --geocodes 2,5 --out counts",
)


@tabulate_app.default
@console.takes(Tabulating)
def tabulate(target: console.Target, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Count records for every query at every level, zeros included."""
    release = load(target)
    need_tables("tabulate")
    from discreet.answers.measurements import tabulated_answer
    from discreet.release import tabulate as count

    with screen.working(f"Counting {given['records']}"):
        done = count(release, **given)
    screen.tell(tabulated_answer(done))


# -- counts with noise ---------------------------------------------------------------------------------------

app = console.command(
    "measure",
    "RELEASE.toml (--counts FILE | --records FILE --units FILE) --out DIR",
    "release.toml --counts counts.csv --out trial --rehearsal 1",
    "release.toml --counts counts.parquet --out published --post consistent",
    "release.toml --counts counts.csv --out published --ledger ledger.json",
)


@app.default
@console.takes(Measuring)
def measure(target: console.Target, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Add the noise of a release to a table of counts, and note what was spent."""
    release = load(target)
    given["invariants"] = [_pair(release, text) for text in given.get("invariants", ())]
    need_tables("measure")
    from discreet.answers.measurements import measured_answer
    from discreet.release import measure as add_noise

    with screen.working(f"Measuring {release.name}"):
        done = add_noise(release, given.pop("counts", None), **given)
    screen.tell(measured_answer(done), timed=True)


def _pair(release: Release, text: str) -> tuple[str, str]:
    """Read LEVEL/QUERY; a slash may also be part of either name, as long as one reading is left."""
    names = [level.name for level in release.levels]
    slashes = (slash.start() for slash in re.finditer("/", text))
    readings = [(find_level(text[:at], names) or text[:at], text[at + 1 :]) for at in slashes]
    if not readings:
        raise InputError(f"--invariant is {text!r}; it must be LEVEL/QUERY, such as State/total")
    known = {(level.name, query.name) for level in release.levels for query in level.queries}
    fitting = [pair for pair in readings if pair in known]
    if len(fitting) > 1:
        raise InputError(f"--invariant {text!r} can be read in several ways; rename a level or a query")
    return next(iter(fitting or (pair for pair in readings if pair[0] in names)), readings[0])


# -- estimates from noisy measurements; they spend nothing ---------------------------------------------------

estimate_app = console.command(
    "estimate",
    "MEASUREMENTS... --out DIR [OPTIONS]",
    "published --out estimates",
    'published --out school --query "age * sex" --areas school-districts.csv',
    "published --out print --tables",
    "pl94 dhc --out both --query total",
    "nmf --release pl94-2020 --within 0144001 --down-to Block_Group --out county",
)


@estimate_app.default
@console.takes(Estimating)
def estimate(
    *noisy: Annotated[
        Path,
        option(
            "The output of `measure`, a noisy table, or the Census Bureau's noisy measurement files. "
            "Several are releases of the same people.",
            "MEASUREMENTS",
        ),
    ],
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Estimate every table in every area from all measurements together."""
    need_tables("estimate")
    from discreet.answers.measurements import estimated_answer
    from discreet.release import estimate as find

    if not noisy:
        raise InputError("there is nothing to estimate from: name the output of `discreet measure`")
    if "release" in given:
        given["release"] = load(given["release"])
    for name in ("difference", "ratio"):
        given[f"{name}s"] = [_two(text, f"--{name}") for text in given.get(f"{name}s", ())]
    with screen.working(f"Estimating from {' and '.join(str(one) for one in noisy)}"):
        done = find(noisy, **given)
    screen.tell(estimated_answer(done))


def _two(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"{option} is {text!r}; it must be two areas, or two queries, separated by a comma; a "
            'name with a comma in it stands in quotes: "Paris, Texas",Rome'
        )
    return parts[0], parts[1]
