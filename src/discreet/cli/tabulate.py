"""`discreet tabulate`: from records to the exact, confidential counts of every query at every level."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.measure import AtMost, Excess, Format, Geocodes, Out, Person

app = App(
    name="tabulate",
    usage="Usage: discreet tabulate RELEASE.toml --records FILE --units FILE --out DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet tabulate survey.toml --records people.csv --units units.csv --out counts\n"
    "  discreet tabulate survey.toml --records people.csv --units districts.csv --geocodes 2,5 --out counts",
)


@app.default
def tabulate(
    target: options.Target,
    /,
    *,
    records: Annotated[
        Path,
        Parameter(
            help="One row per record: unit (the lowest), a column per attribute. CSV or Parquet.",
            metavar="FILE",
        ),
    ],
    units: Annotated[Path, Parameter(help="All units: unit, level, parent.", metavar="FILE")],
    out: Out,
    geocodes: Geocodes = None,
    id: Person = None,
    at_most: AtMost = None,
    excess: Excess = "refuse",
    format: Format = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Count records for every query at every level, zeros included."""
    started = time.perf_counter()
    from discreet.budget import load
    from discreet.cli import measure_text
    from discreet.cli.printing import say, say_time, write_json

    release = load(target)
    measure_text.need_tables("tabulate")
    from discreet.release import tabulate as count

    with measure_text.working(f"Counting {records}", show=not (quiet or json)):
        done = count(
            release,
            records,
            out,
            units=units,
            geocodes=geocodes,
            person=id,
            at_most=at_most,
            excess=excess,
            format=format,
        )
    if json:
        write_json(done.as_dict())
        return
    say(f"CONFIDENTIAL: {done.cells:,} exact counts of {done.units:,} units, in {done.out}. No noise.")
    if at_most is not None and at_most > 1:
        say(
            f"A person may have {at_most} records: to protect a person, account with --people {at_most}.",
            indent="  ",
        )
    if done.left_out:
        say(f"{done.left_out:,} of {done.records:,} records were left out, chosen at random.")
    say(f"Files: {', '.join(done.files)}. Next: discreet measure --counts.", indent="  ")
    say_time(time.perf_counter() - started, show=not quiet)
