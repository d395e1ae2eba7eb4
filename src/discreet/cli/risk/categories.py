"""`discreet risk categories`: which of several cells is the target's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import Outputs, Screen, option
from discreet.errors import InputError

app = console.command(
    "risk categories",
    "(RELEASE | --cells K --variance V... | --table FILE) [OPTIONS]",
    "--cells 5 --variance 5.04",
    "--cells 2016 --variance 10.08 --variance 4.06",
    "pl94-2020-persons",
    "--table cells.csv --variance 10 --csv beliefs.csv",
    help="The target's place is known: which of K cells is theirs?",
)


@app.default
def categories_command(
    target: Annotated[str | None, option("A preset's name or a TOML file: all cells of its query.")] = None,
    /,
    *,
    cells: Annotated[int | None, option("The number of cells.", "K")] = None,
    variance: Annotated[
        list[str] | None,
        option("Variance of the noise of a cell's count; repeated: of counts at several levels.", "V"),
    ] = None,
    rho: console.Rhos = None,
    prior: Annotated[
        list[str] | None, option("A prior or weight for each cell, in order; default: even.", "P")
    ] = None,
    table: Annotated[
        Path | None,
        option("Numbers drawn: columns cell, noisy, known; prior, variance and count if there.", "FILE"),
    ] = None,
    query: Annotated[
        str | None, option("With a release: its query; default: the one of most cells.", "QUERY")
    ] = None,
    unsure: Annotated[
        int | None, option("This many others may be in each cell, independently of other cells.", "M")
    ] = None,
    chance: Annotated[str | None, option("The chance that each of them is there.", "C")] = None,
    csv: console.Csv = None,
    plot: console.Plot = None,
    json: console.Json = False,
) -> None:
    """Say how often the likeliest cell is the target's, and which it is."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.answers.risk_categories import categories_answer
    from discreet.render.csv import csv_of
    from discreet.risk.categories import categories, release_categories, table_categories

    ways = [way for way in (target, cells or prior, table) if way]
    if len(ways) != 1:
        raise InputError(
            "give one of a release, a number of cells (--cells, or --prior for each) and a --table"
        )
    stated = [name for name, value in (("--unsure", unsure), ("--chance", chance)) if value is not None]
    if target is not None:
        stated += [name for name, value in (("--variance", variance), ("--rho", rho)) if value]
        if stated:
            raise InputError(f"{stated[0]} is not used with a release, which states its noise")
        found = release_categories(load(target), query=query)
    elif query is not None:
        raise InputError("--query is a query of a release; name the release")
    elif table is not None:
        if stated or rho or (variance and len(variance) > 1):
            name = stated[0] if stated else "--rho" if rho else "--variance"
            raise InputError(f"{name} is not used with --table; a column variance may differ by count")
        console.need_tables("risk categories")
        with Screen(quiet=True).working(f"Reading {table.name}"):
            found = table_categories(table, variance=variance[0] if variance else None)
    else:
        found = categories(cells=cells, variance=variance, rho=rho, prior=prior, unsure=unsure, chance=chance)
    answer = categories_answer(found)
    saved = answer.tables["beliefs" if found.beliefs else "guesses"]
    outputs.write({"--csv": csv_of(saved), "--plot": answer.figures["categories"]})
    Screen(json=json, quiet=True).tell(answer)
