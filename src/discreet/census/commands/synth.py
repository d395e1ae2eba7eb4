"""`discreet safetab init` and `synth`: parameters to start from, and a synthetic nation to practise on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from discreet.census.commands import FORMATS, Format
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option

init_app = console.command("safetab init", "FOLDER [OPTIONS]", "params")


@init_app.default
def init(
    folder: Annotated[Path, option("A new directory.")],
    /,
    *,
    spec: Annotated[
        Literal["2020", "2020-h"],
        option(
            "The specification: 2020, Detailed DHC-A of the 2020 Census (default); 2020-h, Detailed DHC-B.",
            "2020|2020-h",
        ),
    ] = "2020",
    json: console.Json = False,
) -> None:
    """Write a complete folder of parameters: codes, groups, which code belongs to which, and the settings."""
    from discreet.answers.tabulation import parameters_answer
    from discreet.release.safetab.census2020 import write_parameters

    Screen(json=json, quiet=True).tell(parameters_answer(write_parameters(folder, spec)))


synth_app = console.command(
    "safetab synth",
    "OUT --persons N [OPTIONS]",
    "nation --persons 10000000 --params params --format parquet",
    "nation --persons 20000",
)


@synth_app.default
def synth(
    out: Annotated[Path, option("A new directory; it gets data/ and params/.")],
    /,
    *,
    persons: Annotated[int, option("How many people.", "N")],
    states: Annotated[
        int | None,
        option(
            "How many states, besides Puerto Rico. Default: from PARAMS, or by the number of people.", "S"
        ),
    ] = None,
    seed: Annotated[int, option("Another seed makes another nation. Default: 1.", "K")] = 1,
    params: Annotated[
        Path | None, option("Use the codes of this specification; it is read, not copied.", "PARAMS")
    ] = None,
    format: Annotated[Format, FORMATS, Parameter(help="Format of the data. Default: csv.")] = "csv",
    screen: Screen = PLAIN,
) -> None:
    """Write an invented nation: blocks, people, and a specification with its configuration."""
    need_tables("synth")
    from discreet.answers.tabulation import nation_answer
    from discreet.release.safetab.synthetic import synthesize

    with screen.progress("People") as progress:
        made = synthesize(
            out, persons=persons, states=states, seed=seed, params=params, format=format, progress=progress
        )
    screen.tell(nation_answer(made), timed=True)
