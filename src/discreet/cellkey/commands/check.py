"""`discreet cellkey check`: does a perturbation table keep its rules, and what does one cell cost?"""

from __future__ import annotations

from discreet.cellkey import check_table, read_perturbation_table
from discreet.cellkey import commands as cellkey
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen

app = console.command(
    "cellkey check",
    "TABLE [--epsilon E]... [--delta D]... [OPTIONS]",
    "ptable.csv --epsilon 1/2 --epsilon 1",
    "pertable_abs.csv --big-n 17312941 --small-n 12",
    "D5V3js2 --delta 0.3",
)


@app.default
@console.takes(check_table, read_perturbation_table)
def check_command(table: cellkey.Table, /, *, screen: Screen = PLAIN, **given: console.Given) -> None:
    """Check a perturbation table, and say what one record more or less in one cell costs, exactly."""
    from discreet.cellkey.answers.table import perturbation_check_answer

    read = cellkey.read_table_option(table, given.pop("big_n", None), given.pop("small_n", None))
    screen.tell(perturbation_check_answer(check_table(read, **given)))
