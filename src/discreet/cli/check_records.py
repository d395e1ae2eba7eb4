"""`discreet check-records`: all that is wrong with records, and an `[input]` that would read them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Outputs, Screen, need_tables, option
from discreet.errors import InputError
from discreet.records.questions import Checking

app = console.command(
    "check-records",
    "FILE --release RELEASE.toml [--units FILE] [OPTIONS]",
    "survey.csv --release release.toml --units units.csv",
    "survey.csv --release release.toml --units units.csv --suggest --out input.toml",
    tries=(
        console.SURVEY,
        "check-records survey/records.csv --release survey --units survey/units.csv",
    ),
)


@app.default
@console.takes(Checking)
def check_file(
    records: Annotated[Path, option("One row per record, as it is: CSV, Parquet, a sheet, a database.")],
    /,
    *,
    release: Annotated[str, option("A preset's name, a TOML file, or a directory with a release.toml.", "R")],
    out: Annotated[Path | None, option("Write the suggestion.", "FILE.toml")] = None,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Find all that is wrong with records, in one round; status 2 if they cannot be counted."""
    found_release = console.read_plan(release, "check-records")
    if given.get("show") and not sys.stdout.isatty():
        raise InputError(
            "--show lists texts of a confidential file, so it is for a terminal: leave it out, or do not "
            "redirect the output"
        )
    if out is not None and not given.get("suggest"):
        raise InputError("--out is where a suggestion is written; add --suggest")
    if out is not None and out.exists():
        raise InputError(f"--out is {out}, which exists; choose another name")
    outputs = Outputs()
    outputs.plan("--out", out, (".toml",))
    need_tables("check-records")
    from discreet.answers.records import record_check_answer
    from discreet.records import check_records as check

    with screen.working(f"Checking {records}"):
        checked = check(found_release, records, **given)
    if checked.suggestion is not None:
        outputs.write({"--out": checked.suggestion.text}, confidential=True)
    screen.tell(record_check_answer(checked), timed=True)
    if not checked.sufficient:
        raise SystemExit(2)
