"""`discreet safetab synth`: a synthetic nation in the file formats of the tabulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from discreet.cli.printing import PLAIN, Hanging, Screen, need_tables

app = App(
    name="synth",
    usage="Usage: discreet safetab synth OUT --persons N [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab synth nation --persons 20000\n"
    "  discreet safetab synth nation --persons 10000000 --params params --format parquet",
)


@app.default
def synth(
    out: Annotated[Path, Parameter(help="A new directory; it gets data/ and params/.")],
    /,
    *,
    persons: Annotated[int, Parameter(help="How many people.", metavar="N")],
    states: Annotated[
        int | None,
        Parameter(
            help="How many states, besides Puerto Rico. Default: from PARAMS, or by the number of people.",
            metavar="S",
        ),
    ] = None,
    seed: Annotated[int, Parameter(help="Another seed makes another nation. Default: 1.", metavar="K")] = 1,
    params: Annotated[
        Path | None,
        Parameter(help="Use the codes of this specification; it is read, not copied.", metavar="PARAMS"),
    ] = None,
    format: Annotated[
        Literal["csv", "parquet"],
        Parameter(help="Format of the data. Default: csv.", show_choices=False, metavar="csv|parquet"),
    ] = "csv",
    screen: Screen = PLAIN,
) -> None:
    """Write an invented nation: blocks, people, and a specification with its configuration."""
    if format == "parquet":
        need_tables("synth")
    from discreet.release.safetab.synthetic import synthesize

    with screen.progress("People") as progress:
        made = synthesize(
            out, people=persons, states=states, seed=seed, params=params, format=format, progress=progress
        )
    text = (
        f"An invented nation with {made.people:,} people (seed {made.seed}): {made.states} states, with "
        f"Puerto Rico, {made.counties:,} counties, {made.tracts:,} tracts, {made.blocks:,} blocks, "
        f"{made.places:,} places, {made.areas:,} AIANNH areas.",
        Hanging(f"Groups: {made.codes:,} codes of {made.params}."),
        Hanging(f"Data: {made.data}, {made.bytes / 1e6:,.1f} MB in all."),
    )
    screen.present(made.as_dict, text, timed=True)
