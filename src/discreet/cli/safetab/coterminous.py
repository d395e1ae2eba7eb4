"""`discreet safetab coterminous`: regions made of the same blocks agree, in an output that exists."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet.cli import options
from discreet.cli.printing import say, say_time, write_json

if TYPE_CHECKING:
    from discreet.release.safetab.postprocessing import Reprocessed

Released = Annotated[Path, Parameter(help="The output of `discreet safetab run`.", name="OUT")]
Params = Annotated[Path, Parameter(help="Folder of the parameters of that run.", metavar="DIR")]
To = Annotated[Path, Parameter(help="A new directory for the result.", metavar="DIR")]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    Parameter(help="Format of the tables. Default: that of OUT.", show_choices=False, metavar="csv|parquet"),
]

app = App(
    name="coterminous",
    usage="Usage: discreet safetab coterminous OUT --params DIR --data DIR --to DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet safetab coterminous published --params params --data data --to agreed",
)


@app.default
def coterminous(
    released: Released,
    /,
    *,
    params: Params,
    data: Annotated[Path, Parameter(help="Folder of GRF-C; no person record is read.", metavar="DIR")],
    to: To,
    order: Annotated[
        str | None,
        Parameter(help="Donors, first to last. Default: STATE,COUNTY,TRACT,PLACE,AIANNH.", metavar="NAMES"),
    ] = None,
    format: Format = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make regions of the same blocks agree in an existing output. This spends nothing."""
    started = time.perf_counter()
    from discreet.release.safetab.postprocessing import ORDER, coterminous

    names = ORDER if order is None else tuple(name.strip().upper() for name in order.split(","))
    done = coterminous(released, to, params=params, data=data, order=names, format=format)
    show(done, time.perf_counter() - started, json=json, quiet=quiet)


def show(done: Reprocessed, seconds: float, *, json: bool, quiet: bool) -> None:
    """Present a step on an existing output; `discreet safetab post` does it alike."""
    if json:
        write_json({**done.as_dict(), "seconds": round(seconds, 3)})
        return
    if done.marked:
        say("NOT PRIVATE: made from an output that is not; nothing of it may be published.")
    say(f"{sum(done.rows.values()):,} rows in {done.out}. Nothing was spent.")
    say(f"Groups {done.did}: {done.changed:,}.")
    say(f"Files: {', '.join(done.files)}.", indent="  ")
    say_time(seconds, show=not quiet)
