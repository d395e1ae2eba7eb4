"""`discreet presets`: the releases that come with the package."""

from __future__ import annotations

from cyclopts import App

from discreet.cli import options

app = App(name="presets")


@app.default
def presets(*, json: options.Json = False) -> None:
    """List the presets."""
    from discreet.budget import ALIASES
    from discreet.cli.printing import say, table, write_json
    from discreet.report.releases import all_presets, preset_object, rho_total
    from discreet.report.words import plain

    releases = all_presets()
    if json:
        write_json({"presets": [preset_object(release) for release in releases], "aliases": ALIASES})
        return
    rows = []
    for release in releases:
        rho = rho_total(release)
        total = "-" if rho is None else plain(rho)
        rows.append(
            (release.name, release.unit, release.neighbours, total, str(len(release.paths)), release.title)
        )
    table(("name", "unit", "neighbours", "rho", "paths", "title"), rows, left=(0, 1, 2, 5))
    say("", *(f"{short} is short for {name}." for short, name in ALIASES.items()))
    say("`discreet show NAME` prints one of them; `discreet account NAME` says what it costs.")
