"""`discreet show` and `presets`: what a release publishes with which noise, and which ones are at hand."""

from __future__ import annotations

from typing import Annotated

from discreet.cli import console
from discreet.cli.console import Screen, option, write
from discreet.errors import InputError, visible

app = console.command("show", "NAME [OPTIONS]", "dhc-2020 --toml", "pl94-2020")
presets_app = console.command("presets", "[OPTIONS]", "")


@app.default
def show(
    name: console.Target,
    /,
    *,
    json: console.Json = False,
    toml: Annotated[bool, option("Print the release as TOML.")] = False,
) -> None:
    """Show one release."""
    if json and toml:
        raise InputError("--json and --toml cannot be used together")
    release = console.read_release(name)
    if toml:
        write(visible(release.to_toml()))  # so written out, TOML reads it back
    else:
        from discreet.answers.release import release_answer

        Screen(json=json, quiet=True).tell(release_answer(release))


@presets_app.default
def presets(*, json: console.Json = False) -> None:
    """List the presets."""
    from discreet.answers.release import presets_answer
    from discreet.budget import load_preset, preset_names

    answer = presets_answer([load_preset(name) for name in preset_names()])
    Screen(json=json, quiet=True).tell(answer)
