"""`discreet post`: estimates from a noisy table that exists. It spends nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.measure import Format, ForSpreadsheets, Out

app = App(
    name="post",
    usage="Usage: discreet post NOISY --out DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet post published --out estimates\n"
    "  discreet post noisy.parquet --units units.csv --out estimates --post nonnegative",
)


@app.default
def post(
    noisy: Annotated[Path, Parameter(help="The output of `measure`, or a noisy table.")],
    /,
    *,
    out: Out,
    post: Annotated[
        Literal["none", "nonnegative", "consistent"],
        Parameter(
            help="consistent (default) or nonnegative.",
            show_choices=False,
            metavar="KIND",
        ),
    ] = "consistent",
    units: Annotated[Path | None, Parameter(help="All units: unit, level, parent.", metavar="FILE")] = None,
    invariants: Annotated[
        Path | None,
        Parameter(help="Counts to keep exact: unit, query, cell, count.", metavar="FILE"),
    ] = None,
    format: Format = None,
    for_spreadsheets: ForSpreadsheets = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make estimates from a noisy table; the same table always gives the same numbers."""
    started = time.perf_counter()
    from discreet.cli import measure_text
    from discreet.cli.printing import say_time, write_json

    measure_text.need_tables("post")
    from discreet.release import post as process

    with measure_text.working(f"Estimating from {noisy}", show=not (quiet or json)):
        done = process(
            noisy,
            out,
            post=post,
            units=units,
            invariants=invariants,
            format=format,
            for_spreadsheets=for_spreadsheets,
        )
    seconds = time.perf_counter() - started
    if json:
        write_json(measure_text.post_object(done, seconds))
        return
    measure_text.show_post(done)
    say_time(seconds, show=not quiet)
