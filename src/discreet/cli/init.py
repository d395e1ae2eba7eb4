"""`discreet init`: from a file of records to a release that can be rehearsed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option
from discreet.measurement.questions import Drafting
from discreet.reports.draft import check_free, write_draft

app = console.command(
    "init",
    "FILE --attribute COLUMN[: VALUE, ...] (--epsilon E | --margin M) [OPTIONS]",
    'survey.csv --area-column region --area-column town --attribute "job: yes=1, no=2" --epsilon 4',
    "survey.csv",
    tries=(
        console.SURVEY,
        "init survey/records.csv --areas survey/units.csv --area-column unit "
        '--attribute "age: 0-17, 18-39, 40-64, 65+" --attribute "limitation: none, some, severe" '
        "--epsilon 4 --delta 1e-6 --out plan",
    ),
)


@app.default
@console.takes(Drafting, write_draft)
def start(
    records: Annotated[Path, option("One row per record, as it is: CSV, Parquet, a sheet, a database.")],
    /,
    *,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Draft a release for a file: what is published, how it is read, the noise, and a rehearsal.

    On a terminal it asks for what no option says.
    """
    out = given.pop("out", Path())
    check_free(out)
    need_tables("init")
    from discreet.answers.draft import draft_answer
    from discreet.cli.guided import ask_for
    from discreet.measurement import draft

    if sys.stdin.isatty() and sys.stdout.isatty() and not screen.json:
        given = ask_for(records, given, out=out)
    with screen.working(f"Drafting a release for {records}"):
        found = draft(records, **given)
        written = write_draft(found, out=out)
    screen.tell(draft_answer(found, out=out, written=[path.name for path in written]), timed=True)
