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
    usage="Usage: discreet estimate MEASUREMENTS... --out DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet estimate published --out estimates\n"
    '  discreet estimate published --out school --query "age * sex" --areas school-districts.csv\n'
    "  discreet estimate published --out print --tables\n"
    "  discreet estimate pl94 dhc --out both --query total\n"
    "  discreet estimate nmf --release pl94-2020 --within 0144001 --down-to Block_Group --out county",
)


@app.default
def estimate(
    *noisy: Annotated[
        Path,
        Parameter(
            help="The output of `measure`, a noisy table, or the Census Bureau's noisy measurement files. "
            "Several are releases of the same people.",
            metavar="MEASUREMENTS",
        ),
    ],
    out: Out,
    query: Annotated[
        list[str] | None,
        Parameter(
            help='Tables that were not measured, such as "age * sex" or "adults = age[18-64 | 65+]"; '
            "may be repeated.",
            metavar="QUERY",
        ),
    ] = None,
    areas: Annotated[
        Path | None, Parameter(help="Your own areas as unions of units: area, unit.", metavar="FILE")
    ] = None,
    difference: Annotated[
        list[str] | None,
        Parameter(
            help="Differences between areas or units, or between queries; may be repeated.", metavar="A,B"
        ),
    ] = None,
    ratio: Annotated[
        list[str] | None,
        Parameter(help="Ratios of areas or units, or of queries; may be repeated.", metavar="A,B"),
    ] = None,
    since: Annotated[
        Path | None,
        Parameter(help="Changes since an earlier release: its measurements.", metavar="EARLIER"),
    ] = None,
    level: Annotated[
        list[str] | None,
        Parameter(help="Levels of the intervals; default: 0.9 and 0.95; may be repeated.", metavar="P"),
    ] = None,
    down_to: Annotated[
        str | None, Parameter(help="The lowest level to write; default: all.", metavar="LEVEL")
    ] = None,
    tables: Annotated[
        bool, Parameter(help="Add whole numbers, not negative, consistent over tables and levels.")
    ] = False,
    release: Annotated[
        str | None,
        Parameter(help="The release, for a table without one: a preset or a TOML file.", metavar="R"),
    ] = None,
    units: Annotated[Path | None, Parameter(help="All units: unit, level, parent.", metavar="FILE")] = None,
    invariants: Annotated[
        Path | None,
        Parameter(help="Counts to keep exact: unit, query, cell, count.", metavar="FILE"),
    ] = None,
    zeros: Annotated[
        Path | None,
        Parameter(help="What some units cannot have: unit, and columns of attributes.", metavar="FILE"),
    ] = None,
    within: Annotated[
        str | None,
        Parameter(
            help="Only the part of the Bureau's files within this unit, such as a state.", metavar="GEOCODE"
        ),
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

    if not noisy:
        raise InputError("there is nothing to estimate from: name the output of `discreet measure`")
    names = " and ".join(str(one) for one in noisy)
    with measure_text.working(f"Estimating from {names}", show=not (quiet or json)):
        done = find(
            noisy,
            out,
            release=None if release is None else load(release),
            queries=query or (),
            areas=areas,
            differences=[_pair(text, "--difference") for text in difference or ()],
            ratios=[_pair(text, "--ratio") for text in ratio or ()],
            since=since,
            levels=level or ("0.9", "0.95"),
            down_to=down_to,
            within=within,
            tables=tables,
            units=units,
            invariants=invariants,
            zeros=zeros,
            format=format,
        )
    if json:
        write_json(done.as_dict())
        return
    if any("NOT-PRIVATE" in name for name in done.files):
        say("NOT PRIVATE: made from a rehearsal; nothing of it may be published.")
    say(f"{done.cells:,} estimates of {done.units:,} units, in {done.out}. Nothing was spent.")
    if not done.additive:
        say(
            f"The {done.releases} releases differ in attributes or areas: each was estimated by itself, and "
            "the means are weighted by inverse variances. They are unbiased, and NOT ADDITIVE."
        )
    else:
        how = "all queries and levels" if done.together else "each query by itself, for want of attributes"
        some = f"{how} of {done.releases} releases together" if done.releases > 1 else f"{how} together"
        how = some if done.together else how
        say(f"Best linear unbiased estimates from {how}; cells and children add up.")
    for text in done.left_out:
        say(f"Not used: {text}.", indent="  ")
    if done.undetermined:
        say(f"{done.undetermined:,} of them are not determined by any measurement, and left empty.")
    say(f"Files: {', '.join(done.files)}.", indent="  ")
    say_time(time.perf_counter() - started, show=not quiet)


def _pair(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"{option} is {text!r}; it must be two areas or units, or two queries, separated by a comma"
        )
    return parts[0], parts[1]
