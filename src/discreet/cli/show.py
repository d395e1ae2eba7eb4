"""`discreet show`: what a release publishes with which noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budget import Release, Row

app = App(name="show", usage="Usage: discreet show NAME [OPTIONS]")


@app.default
def show(
    name: options.Target,
    /,
    *,
    json: options.Json = False,
    toml: Annotated[bool, Parameter(help="Print the release as TOML.")] = False,
) -> None:
    """Show one release."""
    from discreet.budget import load
    from discreet.cli.printing import write, write_json
    from discreet.report.releases import release_object

    if json and toml:
        raise InputError("--json and --toml cannot be used together")
    release = load(name)
    if toml:
        write(release.to_toml())
    elif json:
        write_json(release_object(release))
    else:
        _print(release)


def _print(release: Release) -> None:
    from discreet.cli.printing import say, table, write
    from discreet.report.releases import levels_of, rho_total
    from discreet.report.words import percent, relation, with_fraction

    total = rho_total(release)
    say(f"{release.name}: {release.title}" if release.title else release.name, indent="  ")
    spent = "" if total is None else f"; total rho {with_fraction(total)}"
    who = relation(release.neighbours, release.unit)
    say(f"Calibrated for {release.neighbours} neighbours ({who}){spent}.", indent="  ")
    rho = {level.name: level.spent(release.neighbours) for level in release.levels}
    for level, rows in levels_of(release):
        head = f"{level}"
        if total is not None:
            head += f": rho {with_fraction(rho[level])}, {percent(rho[level] / total)} of the total"
        write(f"\n{head}\n")
        columns = ("query", "variance", "exact", "share", "sensitivity", "groups")
        table(columns, [_cells(row) for row in rows])
    write("\n")
    _print_spine(release)
    if release.reason:
        say(f"An account of it: {release.claim}", indent="  ")
    for title, texts in (("Sources", release.sources), ("Notes", release.notes)):
        if texts:
            say(f"{title}:", *(f"- {text}" for text in texts), indent="  ")


def _cells(row: Row) -> tuple[str, ...]:
    from discreet.report.words import percent, plain

    if row.variance is not None:
        size, exact = plain(row.variance), str(row.variance)
    else:
        assert row.scale is not None
        size, exact = f"Laplace, scale {plain(row.scale)}", str(row.scale)
    share = "-" if row.share is None else percent(row.share)
    return row.query, size, exact, share, str(row.event.sensitivity), str(row.event.times)


def _print_spine(release: Release) -> None:
    from discreet.cli.printing import say
    from discreet.report.releases import path_text

    if len(release.paths) == 1:
        say("One path: no levels are merged.")
        return
    say(
        f"{len(release.paths)} paths; levels joined by a plus are merged, and their budgets are spent by "
        f"the upper one. Path {release.main} is the main one."
    )
    width = len(str(max(release.paths)))
    say(*(f"{path:>{width}}  {path_text(release, path)}" for path in release.paths), indent=" " * (width + 2))
