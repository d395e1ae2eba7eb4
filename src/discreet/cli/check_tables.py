"""`discreet check-tables`: microdata or a histogram counted again, and compared with all tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option

app = console.command(
    "check-tables",
    "DIR",
    "tables",
    "tables --json",
    tries=(
        console.SURVEY,
        console.MEASURE,
        "estimate noisy --out tables --microdata --histogram",
        "check-tables tables",
    ),
)


@app.default
def check_files(
    tables: Annotated[
        Path,
        option("The output of `estimate` with --microdata or --histogram, or of `measure --post tables`."),
    ],
    /,
    *,
    screen: Screen = PLAIN,
) -> None:
    """Count microdata or a histogram again, and compare every table; status 2 if one differs."""
    need_tables("check-tables")
    from discreet.answers.table_check import table_check_answer
    from discreet.estimation import check_tables as check

    with screen.working(f"Counting {tables}"):
        checked = check(tables)
    screen.tell(table_check_answer(checked), timed=True)
    if not checked.agrees:
        raise SystemExit(2)
