"""`discreet show` and `presets`: what a release publishes with which noise, and which ones are at hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from cyclopts import App

from discreet.budget import ALIASES, load
from discreet.budget.levels import level_name
from discreet.cli import console
from discreet.cli.console import Block, Hanging, LongLine, Screen, TextTable, option, write
from discreet.errors import InputError, visible
from discreet.numbers import percent, plain, with_fraction
from discreet.report import tables

if TYPE_CHECKING:
    from discreet.budget import Release, Row

app = App(name="show", usage="Usage: discreet show NAME [OPTIONS]")
presets_app = App(name="presets")


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
    release = load(name)
    if toml:
        write(visible(release.to_toml()))  # so written out, TOML reads it back
    else:
        Screen(json=json, quiet=True).present(lambda: tables.release_object(release), _text(release))


def _text(release: Release) -> Iterator[Block]:
    total = tables.rho_total(release)
    yield Hanging(tables.heading(release))
    spent = "" if total is None else f"; total rho {with_fraction(total)}"
    who = tables.relation(release.neighbours, release.unit)
    yield Hanging(f"Calibrated for {release.neighbours} neighbours ({who}){spent}.")
    rho = {level.name: level.spent(release.neighbours) for level in release.levels}
    columns = ("query", "variance", "exact", "share", "sensitivity", "groups")
    for level, rows in tables.levels_of(release).items():
        yield ""
        share = "" if total is None else f", {percent(rho[level] / total)} of the total"
        name = level_name(level)
        yield LongLine(f"{name}: rho {with_fraction(rho[level])}{share}" if share else name)
        yield TextTable(columns, [_cells(row) for row in rows])
    yield ""
    if len(release.paths) == 1:
        yield tables.only_path(release)
    else:
        yield (
            f"{len(release.paths)} paths; levels joined by a plus are merged, and their budgets are spent by "
            f"the upper one. Path {release.main} is the main one."
        )
        width = len(str(max(release.paths)))
        for path in release.paths:
            yield Hanging(f"{path:>{width}}  {tables.path_text(release, path)}", " " * (width + 2))
    if release.reason:
        claim = str(release.claim)
        yield Hanging(f"Its account is {claim[0].lower()}{claim[1:]}")
    for title, texts in (("Sources", release.sources), ("Notes", release.notes)):
        if texts:
            yield f"{title}:"
            yield from (Hanging(f"- {text}") for text in texts)


def _cells(row: Row) -> tuple[str, ...]:
    if row.variance is not None:
        size, exact = plain(row.variance), str(row.variance)
    else:
        assert row.scale is not None
        size, exact = f"Laplace, scale {plain(row.scale)}", str(row.scale)
    share = "-" if row.share is None else percent(row.share)
    return row.query, size, exact, share, str(row.event.sensitivity), str(row.event.times)


@presets_app.default
def presets(*, json: console.Json = False) -> None:
    """List the presets."""
    releases = tables.all_presets()
    rows = [
        (
            release.name,
            release.unit,
            release.neighbours,
            "-" if (rho := tables.rho_total(release)) is None else plain(rho),
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
        lambda: {"presets": [tables.preset_object(release) for release in releases], "aliases": ALIASES}, text
    )
