"""`discreet safetab init`: a folder of parameters to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.printing import Hanging, Screen

app = App(
    name="init",
    usage="Usage: discreet safetab init FOLDER [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab init params\n"
    "  discreet safetab synth nation --persons 20000 --params params",
)


@app.default
def init(
    folder: Annotated[Path, Parameter(help="A new directory.")],
    /,
    *,
    spec: Annotated[
        Literal["2020"],
        Parameter(
            help="The specification: 2020, Detailed DHC-A of the 2020 Census (default).",
            show_choices=False,
            metavar="2020",
        ),
    ] = "2020",
    json: options.Json = False,
) -> None:
    """Write a complete folder of parameters: codes, groups, which code belongs to which, and the settings."""
    from discreet.release.safetab.census2020 import specification_2020, write_parameters

    names = write_parameters(folder)
    groups = specification_2020()
    found = {
        "folder": str(folder),
        "spec": spec,
        "files": list(names),
        "codes": len(groups.codes),
        "groups": len(groups.iterations),
    }
    text = (
        f"{folder}: {len(groups.codes):,} codes and {len(groups.iterations):,} groups of Detailed DHC-A "
        f"{spec}, and its settings in safetab.toml.",
        Hanging(
            "Still needed for a run: a folder with the blocks (GRF-C) and the person records. "
            f"`discreet safetab synth nation --persons 20000 --params {folder}` invents both, to practise "
            "on, in nation/data."
        ),
        Hanging(f"What the settings cost and show: `discreet safetab design {folder}`."),
    )
    Screen(json=json, quiet=True).present(lambda: found, text)
