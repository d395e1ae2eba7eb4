"""`discreet synth`: a synthetic nation with households, in the files of every product."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option

app = console.command(
    "synth",
    "OUT --people N [OPTIONS]",
    "nation --people 1000000 --groups 2020 --format parquet",
    "nation --people 2000",
)


@app.default
def synthetic_nation(
    out: Annotated[Path, option("A new directory; it gets data/, params/, phsafe/ and records/.")],
    /,
    *,
    people: Annotated[int, option("How many people.", "N")],
    states: Annotated[int | None, option("How many states. Default: by the number of people.", "S")] = None,
    seed: Annotated[int, option("Another seed makes another nation. Default: 1.", "K")] = 1,
    groups: Annotated[
        Literal["invented", "2020"],
        option("Codes of races and origins: a few invented ones (default), or those of 2020.", "NAME"),
    ] = "invented",
    format: Annotated[
        Literal["csv", "parquet"],
        Parameter(show_choices=False, metavar="csv|parquet", help="Format of the data. Default: csv."),
    ] = "csv",
    screen: Screen = PLAIN,
) -> None:
    """Write an invented nation with households: the same people in the files of every product."""
    need_tables("synth")
    from discreet.answers.nation import synthetic_nation_answer
    from discreet.release.nation.synthesis import synthesize_nation

    with screen.progress("People") as progress:
        made = synthesize_nation(
            out, people=people, states=states, seed=seed, groups=groups, format=format, progress=progress
        )
    screen.tell(synthetic_nation_answer(made), timed=True)
