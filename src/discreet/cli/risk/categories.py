"""`discreet risk categories`: which of several cells is the target's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.disclosure.category import Categories, categories, release_categories, table_categories
from discreet.errors import InputError

app = console.command(
    "risk categories",
    "(RELEASE | --cells K --variance V... | --table FILE) [OPTIONS]",
    "--cells 5 --variance 5.04",
    "--cells 2016 --variance 10.08 --variance 4.06",
    "--table cells.csv --variance 10 --csv beliefs.csv",
    "--table cells.csv --variance 10 --total 25",
    "pl94-2020-persons --asked cenrace",
    "pl94-2020-persons",
)


@app.default
@console.takes(categories, release_categories, table_categories)
def categories_command(
    target: Annotated[str | None, option("A preset's name or a TOML file: all cells of its query.")] = None,
    /,
    *,
    csv: console.Csv = None,
    plot: console.Plot = None,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Say how often the likeliest cell is the target's, and which it is."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.answers.risk_categories import categories_answer
    from discreet.render.csv import csv_of

    table, query, asked = given.pop("table", None), given.pop("query", None), given.get("asked")
    cells = given.get("prior" if "cells" not in given else "cells")
    if len([way for way in (target, cells, table) if way is not None]) != 1:
        raise InputError(
            "give one of a release, a number of cells (--cells, or --prior for each) and a --table"
        )
    stated = [option for name, option in _STATED.items() if name in given]
    if target is not None:
        _refuse(stated, {"--asked"}, "is not used with a release, which states its noise")
        if asked is not None and len(asked) > 1:
            raise InputError("--asked is one query of a release, whose cells are asked for")
        guessed = release_categories(load(target), query=query, asked=asked[0] if asked else None)
    elif query is not None:
        raise InputError("--query is a query of a release; name the release")
    elif table is not None:
        guessed = _of_table(table, given, stated)
    else:
        guessed = categories(**given)
    answer = categories_answer(guessed)
    saved = answer.tables["groups" if guessed.group_beliefs else "beliefs" if guessed.beliefs else "guesses"]
    outputs.write({"--csv": csv_of(saved), "--plot": answer.figures["categories"]})
    Screen(json=json, quiet=True).tell(answer)


_STATED = {
    "variance": "--variance",
    "rho": "--rho",
    "unsure": "--unsure",
    "chance": "--chance",
    "totals": "--total",
    "shares": "--share",
    "draws": "--draws",
    "seed": "--seed",
    "asked": "--asked",
}
"""What a release or a table states itself, or most of it."""


def _of_table(table: Path, given: dict[str, console.Given], stated: Sequence[str]) -> Categories:
    text = "is not used with --table, whose columns variance, share and group say it"
    _refuse(stated, {"--variance", "--total", "--draws", "--seed"}, text)
    variance = given.get("variance")
    if variance and len(variance) > 1:
        raise InputError("--variance is that of all rows of --table; a column variance may differ by count")
    console.need_tables("risk categories")
    asked = {name: given[name] for name in ("totals", "draws", "seed") if name in given}
    with Screen(quiet=True).working(f"Reading {table.name}"):
        return table_categories(table, variance=variance[0] if variance else None, **asked)


def _refuse(stated: Sequence[str], allowed: set[str], text: str) -> None:
    """Refuse options that this way of asking does not have, all in one round."""
    wrong = [name for name in stated if name not in allowed]
    if wrong:
        raise InputError(
            f"{' and '.join(wrong)} {text if len(wrong) == 1 else text.replace('is not', 'are not', 1)}"
        )
