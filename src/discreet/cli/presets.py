"""`discreet presets`: the releases that come with the package."""

from __future__ import annotations

from cyclopts import App

from discreet.budget import ALIASES
from discreet.cli import options
from discreet.cli.printing import Block, Screen, TextTable
from discreet.numbers import plain
from discreet.report.releases import all_presets, preset_object, rho_total

app = App(name="presets")


@app.default
def presets(*, json: options.Json = False) -> None:
    """List the presets."""

    releases = all_presets()
    rows = [
        (
            release.name,
            release.unit,
            release.neighbours,
            "-" if (rho := rho_total(release)) is None else plain(rho),
            str(len(release.paths)),
            release.title,
        )
        for release in releases
    ]
    text: list[Block] = [
        TextTable(("name", "unit", "neighbours", "rho", "paths", "title"), rows, (0, 1, 2, 5)),
        "",
        *(f"{short} is short for {name}." for short, name in ALIASES.items()),
        "`discreet show NAME` prints one of them; `discreet account NAME` says what it costs.",
    ]
    Screen(json=json, quiet=True).present(
        lambda: {"presets": [preset_object(release) for release in releases], "aliases": ALIASES}, text
    )
