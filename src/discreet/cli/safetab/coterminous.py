"""`discreet safetab coterminous`: regions made of the same blocks agree, in an output that exists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet.cli.printing import PLAIN, Block, Hanging, Screen

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
    screen: Screen = PLAIN,
) -> None:
    """Make regions of the same blocks agree in an existing output. This spends nothing."""
    from discreet.release.safetab.postprocessing import ORDER, coterminous

    names = ORDER if order is None else tuple(name.strip().upper() for name in order.split(","))
    done = coterminous(released, to, params=params, data=data, order=names, format=format)
    screen.present(done.as_dict, about(done), timed=True)


def about(done: Reprocessed) -> Iterator[Block]:
    """Say what a step on an existing output did; `discreet safetab post` is another."""
    if done.marked:
        yield "NOT PRIVATE: made from an output that is not; nothing of it may be published."
    yield f"{sum(done.rows.values()):,} rows in {done.out}. Nothing was spent."
    yield f"Groups {done.did}: {done.changed:,}."
    yield Hanging(f"Files: {', '.join(done.files)}.")
