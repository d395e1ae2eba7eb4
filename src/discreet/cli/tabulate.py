"""`discreet tabulate`: the exact counts of records for every query at every level."""

from __future__ import annotations

from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables
from discreet.measurement.questions import Tabulating

app = console.command(
    "tabulate",
    "RELEASE.toml --records FILE --units FILE --out DIR [OPTIONS]",
    "survey.toml --records people.csv --units districts.csv --geocodes 2,5 --out counts",
    tries=(console.SURVEY, console.TABULATE),
)


@app.default
@console.takes(Tabulating)
def tabulate(target: console.Plan, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Count records for every query at every level, zeros included."""
    release = console.read_plan(target, "tabulate")
    need_tables("tabulate")
    from discreet.answers.measurements import tabulated_answer
    from discreet.measurement import tabulate as count

    with screen.working(f"Counting {given['records']}"):
        done = count(release, **given)
    screen.tell(tabulated_answer(done, target=target))
