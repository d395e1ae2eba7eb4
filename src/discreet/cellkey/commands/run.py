"""`discreet cellkey run`: a hypercube with the noise of a perturbation table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cellkey.questions import CellKeying
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option

app = console.command(
    "cellkey run",
    "RECORDS --table TABLE --attributes FILE --out DIR (--secret FILE | --record-key COLUMN)",
    "people.csv --table table.csv --attributes release.toml --secret s.json --out out",
    "people.csv --table ptable.csv --attributes release.toml --record-key rkey --out out",
    tries=(
        console.SURVEY,
        "cellkey design 5 --epsilon 1 --delta 0.01 --out table.csv",
        "cellkey run survey/records.csv --table table.csv --attributes survey/release.toml "
        "--secret secret.json --out out --no-ledger",
    ),
)


@app.default
@console.takes(CellKeying)
def run_command(
    records: Annotated[Path, option("One row per record, with a column for each attribute.")],
    /,
    *,
    no_ledger: console.NoLedger = False,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Count all margins, add noise by cell keys, and write, with a ledger entry."""
    need_tables("cellkey run")
    from discreet.cellkey.answers.run import perturbed_answer
    from discreet.cellkey.run import perturb
    from discreet.ledger.release_run import say_where

    rehearsal = given.get("rehearsal") is not None
    say_where(
        records, ledger=given.get("ledger"), rehearsal=rehearsal, no_ledger=no_ledger, what="cellkey run"
    )

    with screen.working(f"Counting {records}"):
        done = perturb(records, **given)
    screen.tell(perturbed_answer(done), timed=True)
