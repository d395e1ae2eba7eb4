"""`discreet cellkey check`: does a perturbation table keep its rules, and what does one cell cost?"""

from __future__ import annotations

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
def check_command(
    table: cellkey.Table,
    /,
    *,
    epsilon: cellkey.Epsilons = None,
    delta: cellkey.Deltas = None,
    alpha: cellkey.Alphas = None,
    prior: cellkey.Prior = "1/2",
    keying: cellkey.KeySource = "records",
    big_n: cellkey.BigN = None,
    small_n: cellkey.SmallN = None,
    screen: Screen = PLAIN,
) -> None:
    """Check a perturbation table, and say what one record more or less in one cell costs, exactly."""
    from discreet.answers.cellkey_table import perturbation_check_answer
    from discreet.cellkey import check_table

    read = cellkey.read_table_option(table, big_n, small_n)
    asked = cellkey.given_or_default(epsilons=epsilon, deltas=delta, alphas=alpha)
    screen.tell(perturbation_check_answer(check_table(read, **asked, prior=prior, keying=keying)))
