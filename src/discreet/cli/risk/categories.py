"""`discreet risk categories`: which of several cells is the target's."""

from __future__ import annotations

from collections.abc import Mapping
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
    "--table cells.csv --variance 10 --csv beliefs.csv",
    "--table cells.csv --variance 10 --total 25",
    "pl94-2020-persons --asked cenrace",
    "pl94-2020-persons",
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
    total: Annotated[
        list[int] | None,
        option("Of the others only their number in the area is known; repeated: in each larger area.", "M"),
    ] = None,
    share: Annotated[
        list[str] | None,
        option("With --total: the chance of each cell for the others, in order; default: the prior.", "Q"),
    ] = None,
    asked: Annotated[
        list[str] | None,
        option("The group of each cell, in order, or a coarser query of a release: which group?", "GROUP"),
    ] = None,
    draws: Annotated[
        int | None, option("With --total: simulate in so many draws how often the guess is right.", "N")
    ] = None,
    seed: Annotated[int | None, option("Seed of the draws.", "N")] = None,
    csv: console.Csv = None,
    plot: console.Plot = None,
    json: console.Json = False,
) -> None:
    """Say how often the likeliest cell is the target's, and which it is."""
    outputs = Outputs(csv=csv, plot=plot)
    from discreet.answers.risk_categories import categories_answer
    from discreet.render.csv import csv_of
    from discreet.risk.category import categories, release_categories, table_categories

    ways = [way for way in (target, prior if cells is None else cells, table) if way is not None]
    if len(ways) != 1:
        raise InputError(
            "give one of a release, a number of cells (--cells, or --prior for each) and a --table"
        )
    stated = {
        name: value
        for name, value in (
            ("--variance", variance),
            ("--rho", rho),
            ("--unsure", unsure),
            ("--chance", chance),
            ("--total", total),
            ("--share", share),
            ("--draws", draws),
            ("--seed", seed),
            ("--asked", asked),
            ("--query", query),
        )
        if value is not None
    }
    if target is not None:
        _refuse(stated, {"--query", "--asked"}, "is not used with a release, which states its noise")
        if asked is not None and len(asked) > 1:
            raise InputError("--asked is one query of a release, whose cells are asked for")
        found = release_categories(load(target), query=query, asked=asked[0] if asked else None)
    elif query is not None:
        raise InputError("--query is a query of a release; name the release")
    elif table is not None:
        text = "is not used with --table, whose columns variance, share and group say it"
        _refuse(stated, {"--variance", "--total", "--draws", "--seed"}, text)
        if variance and len(variance) > 1:
            raise InputError(
                "--variance is that of all rows of --table; a column variance may differ by count"
            )
        console.need_tables("risk categories")
        with Screen(quiet=True).working(f"Reading {table.name}"):
            found = table_categories(
                table, variance=variance[0] if variance else None, totals=total, draws=draws, seed=seed
            )
    else:
        found = categories(
            cells=cells,
            variance=variance,
            rho=rho,
            prior=prior,
            unsure=unsure,
            chance=chance,
            totals=total,
            shares=share,
            asked=asked or (),
            draws=draws,
            seed=seed,
        )
    answer = categories_answer(found)
    saved = answer.tables["groups" if found.group_beliefs else "beliefs" if found.beliefs else "guesses"]
    outputs.write({"--csv": csv_of(saved), "--plot": answer.figures["categories"]})
    Screen(json=json, quiet=True).tell(answer)


def _refuse(stated: Mapping[str, object], allowed: set[str], text: str) -> None:
    """Refuse options that this way of asking does not have, all in one round."""
    wrong = [name for name in stated if name not in allowed]
    if wrong:
        raise InputError(
            f"{' and '.join(wrong)} {text if len(wrong) == 1 else text.replace('is not', 'are not', 1)}"
        )
