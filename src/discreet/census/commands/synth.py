"""`discreet safetab init` and `synth`: parameters to start from, and a synthetic nation to practise on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.census.safetab.census2020 import write_parameters
from discreet.census.safetab.synthetic import synthesize
from discreet.cli import console
from discreet.cli.console import PLAIN, Screen, need_tables, option

init_app = console.command("safetab init", "FOLDER [OPTIONS]", "params")


@init_app.default
@console.takes(write_parameters)
def init(
    folder: Annotated[Path, option("A new directory.")],
    /,
    *,
    json: console.Json = False,
    **given: console.Given,
) -> None:
    """Write a complete folder of parameters: codes, groups, which code belongs to which, and the settings."""
    from discreet.census.answers.tabulation import parameters_answer

    Screen(json=json, quiet=True).tell(parameters_answer(write_parameters(folder, **given)))


synth_app = console.command(
    "safetab synth",
    "OUT --persons N [OPTIONS]",
    "nation --persons 10000000 --params params --format parquet",
    "nation --persons 20000",
)


@synth_app.default
@console.takes(synthesize)
def synth(
    out: Annotated[Path, option("A new directory; it gets data/ and params/.")],
    /,
    *,
    screen: Screen = PLAIN,
    **given: console.Given,
) -> None:
    """Write an invented nation: blocks, people, and a specification with its configuration."""
    need_tables("synth")
    from discreet.census.answers.tabulation import nation_answer

    with screen.progress("People") as progress:
        made = synthesize(out, **given, progress=progress)
    screen.tell(nation_answer(made), timed=True)
