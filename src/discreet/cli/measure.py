"""`discreet measure`: counts with the noise of a release, and what was spent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.budget.level_names import find_level
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables
from discreet.errors import InputError
from discreet.measurement.questions import Measuring

if TYPE_CHECKING:
    from discreet.budget import Release

app = console.command(
    "measure",
    "RELEASE.toml (--counts FILE | --records FILE --units FILE) --out DIR",
    "release.toml --counts counts.parquet --out tried --rehearsal 1 --post consistent",
    "release.toml --counts counts.csv --out published --ledger ledger.json",
    tries=(console.SURVEY, console.MEASURE),
)


@app.default
@console.takes(Measuring)
def measure(
    target: console.Plan,
    /,
    *,
    no_ledger: console.NoLedger = False,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Add the noise of a release to a table of counts, and note what was spent."""
    release = console.read_plan(target, "measure")
    given["invariants"] = [_pair(release, text) for text in given.get("invariants", ())]
    need_tables("measure")
    from discreet.answers.measurements import measured_answer
    from discreet.ledger.release_run import say_where
    from discreet.measurement import measure as add_noise

    files = [given[name] for name in ("counts", "records", "households", "addresses") if given.get(name)]
    rehearsal = given.get("rehearsal") is not None
    say_where(*files, ledger=given.get("ledger"), rehearsal=rehearsal, no_ledger=no_ledger, what="measure")

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
