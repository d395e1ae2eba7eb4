"""`discreet estimate`, also called `post`: estimates from noisy measurements. It spends nothing."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet.budget import load
from discreet.cli.console import PLAIN, Block, Hanging, Screen, need_tables, option
from discreet.cli.measure import Format, ForSpreadsheets, OptionalFile, Out
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.release import Estimated

Several = Annotated[list[str] | None, Parameter(metavar="A,B")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Estimating:
    """The options, named as `discreet.estimate` has them."""

    queries: Annotated[
        list[str] | None,
        option(
            'Tables that were not measured, such as "age * sex" or "adults = age[18-64 | 65+]"; '
            "may be repeated.",
            "QUERY",
            name="--query",
        ),
    ] = None
    areas: Annotated[OptionalFile, option("Your own areas as unions of units: area, unit.")] = None
    differences: Annotated[
        Several,
        option(
            "Differences between areas or units, or between queries; may be repeated.", name="--difference"
        ),
    ] = None
    ratios: Annotated[
        Several, option("Ratios of areas or units, or of queries; may be repeated.", name="--ratio")
    ] = None
    since: Annotated[
        Path | None, option("Changes since an earlier release: its measurements.", "EARLIER")
    ] = None
    levels: Annotated[
        list[str] | None,
        option("Levels of the intervals; default: 0.9 and 0.95; may be repeated.", "P", name="--level"),
    ] = None
    down_to: Annotated[str | None, option("The lowest level to write; default: all.", "LEVEL")] = None
    tables: Annotated[bool, option("Add whole numbers, not negative, consistent over tables and levels.")] = (
        False
    )
    release: Annotated[
        str | None, option("The release, for a table without one: a preset or a TOML file.", "R")
    ] = None
    units: Annotated[OptionalFile, option("All units: unit, level, parent.")] = None
    invariants: Annotated[OptionalFile, option("Counts to keep exact: unit, query, cell, count.")] = None
    zeros: Annotated[
        OptionalFile, option("What some units cannot have: unit, and columns of attributes.")
    ] = None
    within: Annotated[
        str | None,
        option("Only the part of the Bureau's files within this unit, such as a state.", "GEOCODE"),
    ] = None
    engine: Annotated[
        Literal["local", "spark"], option("What works on the lowest units. Default: local.", "local|spark")
    ] = "local"
    spark_master: Annotated[str | None, option("Where Spark runs; default: this machine.", "URL")] = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False


DEFAULT = Estimating()

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
        option(
            "The output of `measure`, a noisy table, or the Census Bureau's noisy measurement files. "
            "Several are releases of the same people.",
            "MEASUREMENTS",
        ),
    ],
    out: Out,
    chosen: Estimating = DEFAULT,
    post: Annotated[Literal["consistent", "nonnegative"] | None, Parameter(show=False)] = None,
    screen: Screen = PLAIN,
) -> None:
    """Estimate every table in every area from all measurements together."""
    need_tables("estimate")
    from discreet.release import estimate as find

    if not noisy:
        raise InputError("there is nothing to estimate from: name the output of `discreet measure`")
    if post == "nonnegative":
        raise InputError("--post nonnegative is an option of `measure`; here, use --tables")
    if post == "consistent":
        print("--post consistent is called --tables now; the old name goes with version 0.3", file=sys.stderr)
    given = asdict(chosen) | {
        "release": None if chosen.release is None else load(chosen.release),
        "queries": chosen.queries or (),
        "differences": [_pair(text, "--difference") for text in chosen.differences or ()],
        "ratios": [_pair(text, "--ratio") for text in chosen.ratios or ()],
        "levels": chosen.levels or ("0.9", "0.95"),
        "tables": chosen.tables or post == "consistent",
    }
    with screen.working(f"Estimating from {' and '.join(str(one) for one in noisy)}"):
        done = find(noisy, out, **given)
    screen.present(done.as_dict, _estimated(done))


post_app = App(name="post", usage="Usage: discreet post MEASUREMENTS... --out DIR [OPTIONS]")
post_app.default(estimate)


def _estimated(done: Estimated) -> Iterator[Block]:
    if any("NOT-PRIVATE" in name for name in done.files):
        yield "NOT PRIVATE: made from a rehearsal; nothing of it may be published."
    yield f"{done.cells:,} estimates of {done.units:,} units, in {done.out}. Nothing was spent."
    if not done.additive:
        yield (
            f"The {done.releases} releases differ in attributes or areas: each was estimated by itself, and "
            "the means are weighted by inverse variances. They are unbiased, and NOT ADDITIVE."
        )
    else:
        how, what = "each query by itself, for want of attributes", "children"
        if done.together:
            many = f" of {done.releases} releases" if done.releases > 1 else ""
            how, what = f"all queries and levels{many} together", "cells and children"
        yield f"Best linear unbiased estimates from {how}; {what} add up."
    yield from (Hanging(f"Not used: {text}.") for text in done.left_out)
    if done.undetermined:
        yield f"{done.undetermined:,} of them are not determined by any measurement, and left empty."
    yield Hanging(f"Files: {', '.join(done.files)}.")


def _pair(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"{option} is {text!r}; it must be two areas or units, or two queries, separated by a comma; a "
            'name with a comma in it stands in quotes: "Paris, Texas",Rome'
        )
    return parts[0], parts[1]
