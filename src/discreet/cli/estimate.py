"""`discreet estimate`: best estimates of any table and area from noisy measurements. It spends nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.measure import Format, Out
from discreet.errors import InputError

app = App(
    name="estimate",
    usage="Usage: discreet estimate MEASUREMENTS --out DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet estimate published --out estimates\n"
    '  discreet estimate published --out school --query "age * sex" --areas school-districts.csv\n'
    "  discreet estimate published --out print --tables",
)


@app.default
def estimate(
    noisy: Annotated[Path, Parameter(help="The output of `measure`, or a noisy table.")],
    /,
    *,
    out: Out,
    query: Annotated[
        list[str] | None,
        Parameter(
            help='Other tables than those measured, such as "age * sex" or "adults = age[18-64 | 65+]"; '
            "may be repeated.",
            metavar="QUERY",
        ),
    ] = None,
    areas: Annotated[Path | None, Parameter(help="Unions of units: area, unit.", metavar="FILE")] = None,
    difference: Annotated[
        list[str] | None,
        Parameter(help="Differences between areas or units; may be repeated.", metavar="A,B"),
    ] = None,
    ratio: Annotated[
        list[str] | None, Parameter(help="Ratios of areas or units; may be repeated.", metavar="A,B")
    ] = None,
    level: Annotated[
        list[str] | None,
        Parameter(help="Levels of the intervals; default: 0.9 and 0.95; may be repeated.", metavar="P"),
    ] = None,
    tables: Annotated[
        bool, Parameter(help="Also whole numbers, not negative, consistent over tables and levels.")
    ] = False,
    release: Annotated[
        str | None,
        Parameter(help="What the queries mean, for a table by itself: a preset or a TOML file.", metavar="R"),
    ] = None,
    units: Annotated[Path | None, Parameter(help="All units: unit, level, parent.", metavar="FILE")] = None,
    invariants: Annotated[
        Path | None,
        Parameter(help="Counts to hold exact: unit, query, cell, count.", metavar="FILE"),
    ] = None,
    format: Format = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Estimate every table in every area from all measurements together."""
    started = time.perf_counter()
    from discreet.budget import load
    from discreet.cli import measure_text
    from discreet.cli.printing import say, say_time, write_json

    measure_text.need_tables("estimate")
    from discreet.release import estimate as find

    with measure_text.working(f"Estimating from {noisy}", show=not (quiet or json)):
        done = find(
            noisy,
            out,
            release=None if release is None else load(release),
            queries=query or (),
            areas=areas,
            differences=[_pair(text, "--difference") for text in difference or ()],
            ratios=[_pair(text, "--ratio") for text in ratio or ()],
            levels=level or ("0.9", "0.95"),
            tables=tables,
            units=units,
            invariants=invariants,
            format=format,
        )
    if json:
        write_json(done.as_dict())
        return
    if any("NOT-PRIVATE" in name for name in done.files):
        say("NOT PRIVATE: made from a rehearsal; nothing of it may be published.")
    say(f"{done.cells:,} estimates of {done.units:,} units, in {done.out}. Nothing was spent.")
    how = (
        "all queries and levels together" if done.together else "each query by itself, for want of attributes"
    )
    say(f"Best linear unbiased estimates from {how}; cells and children add up.")
    if done.undetermined:
        say(f"{done.undetermined:,} of them are not determined by any measurement, and left empty.")
    say(f"Files: {', '.join(done.files)}.", indent="  ")
    say_time(time.perf_counter() - started, show=not quiet)


def _pair(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InputError(f"{option} is {text!r}; it must be two areas or units separated by a comma")
    return parts[0], parts[1]
