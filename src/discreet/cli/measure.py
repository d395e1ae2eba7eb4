"""`discreet tabulate`, `measure` and `estimate`: from records to counts, to noise, to the best estimates."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet import numbers
from discreet.answers.release import relation
from discreet.budget import load
from discreet.budget.level_names import find_level, level_name
from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Screen, need_tables, option
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.release import Estimated, Measured, Tabulated

Out = Annotated[Path, option("A new directory for the output.", "DIR")]
OptionalFile = Annotated[Path | None, Parameter(metavar="FILE")]
Several = Annotated[list[str] | None, Parameter(metavar="A,B")]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    option("Format of the output. Default: that of the input.", "csv|parquet"),
]
Geocodes = Annotated[
    str | None,
    option("With records: the lowest areas are geocodes, nested by prefixes of these lengths.", "N,N"),
]
Person = Annotated[
    str | None, option("With records: the column that identifies people.", "COLUMN", name="--id")
]
AtMost = Annotated[
    int | None,
    option("How many records one person may have; the cost is that of K people. Default: 1.", "K"),
]
Excess = Annotated[
    Literal["refuse", "keep"], option("If a person has more: refuse (default), or keep K at random.", "HOW")
]
ForSpreadsheets = Annotated[
    bool, option("Put an apostrophe before names that a spreadsheet would read as a formula.")
]


# -- exact counts of records ---------------------------------------------------------------------------------

tabulate_app = console.command(
    "tabulate",
    "RELEASE.toml --records FILE --units FILE --out DIR [OPTIONS]",
    "survey.toml --records people.csv --units units.csv --out counts",
    "survey.toml --records people.csv --units districts.csv --geocodes 2,5 --out counts",
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tabulating:
    """The options, named as `discreet.release.tabulate` has them."""

    records: Annotated[
        Path,
        option(
            "One row per record: its lowest area (unit), and a column per attribute. CSV or Parquet.", "FILE"
        ),
    ]
    units: Annotated[Path, option("All areas: columns unit, level, parent.", "FILE")]
    out_dir: Annotated[Out, Parameter(name="--out")]
    geocodes: Geocodes = None
    person: Person = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    ledger: console.LedgerFile = None
    key: console.KeyFile = None
    format: Format = None


@tabulate_app.default
def tabulate(target: console.Target, /, *, chosen: Tabulating, screen: Screen = PLAIN) -> None:
    """Count records for every query at every level, zeros included."""
    release = load(target)
    need_tables("tabulate")
    from discreet.release import tabulate as count

    with screen.working(f"Counting {chosen.records}"):
        done = count(release, **asdict(chosen))
    screen.present(done.as_dict, _counted(done))


def _counted(done: Tabulated) -> Iterator[Block]:
    yield f"CONFIDENTIAL: {done.cells:,} exact counts of {done.units:,} areas, in {done.out}. No noise."
    if done.at_most > 1:
        yield Hanging(
            f"A person may have {done.at_most} records: `measure` spends what `account --people "
            f"{done.at_most}` says. The column at_most of the counts says so, and must stay with them."
        )
    if done.ledger:
        yield Hanging(f"The ledger {done.ledger} remembers that by their content. Nothing was spent.")
    if done.left_out:
        yield f"{done.left_out:,} of {done.records:,} records were left out, chosen at random."
    counts, units, *_ = (done.out / name for name in done.files)
    yield Hanging(f"Files: {', '.join(done.files)}.")
    yield Hanging(f"Next: discreet measure --counts {counts} --units {units}.")


# -- counts with noise ---------------------------------------------------------------------------------------

ESTIMATES = {
    "none": "No estimates were asked for; measurements are unbiased and may be negative.",
    "nonnegative": "The estimates are the measurements, with negative values set to zero.",
    "consistent": "The estimates are unbiased, with intervals. The column table has whole numbers, none "
    "negative, that add up over areas, and over queries if the release states its attributes.",
}


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Measuring:
    """The options, named as `discreet.measure` has them."""

    counts: Annotated[OptionalFile, option("The exact counts, CSV or Parquet.")] = None
    records: Annotated[
        OptionalFile,
        option(
            "Records instead of counts: the lowest area (unit), and a column per attribute. CSV or Parquet."
        ),
    ] = None
    post: Annotated[
        Literal["none", "nonnegative", "consistent"],
        option("Estimates beside the measurements: none (default), nonnegative or consistent.", "KIND"),
    ] = "none"
    units: Annotated[
        OptionalFile, option("All areas: columns unit, level, parent. Default: those of FILE.")
    ] = None
    cells: Annotated[
        OptionalFile, option("All cells: query, cell. With it and --units, rows with zeros may be left out.")
    ] = None
    geocodes: Geocodes = None
    person: Person = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    invariants: Annotated[
        list[str] | None,
        option(
            "Publish these counts without noise, outside the guarantee; may be repeated.",
            "LEVEL/QUERY",
            name="--invariant",
        ),
    ] = None
    additive: Annotated[
        bool,
        option(
            "Check that children add up to their parents (default), or not.",
            name="--additive",
            negative="--not-additive",
        ),
    ] = True
    ledger: console.LedgerFile = None
    key: console.KeyFile = None
    spend_again: console.SpendAgain = False
    rehearsal: console.Rehearsal = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False


MEASURING = Measuring()

app = console.command(
    "measure",
    "RELEASE.toml (--counts FILE | --records FILE --units FILE) --out DIR",
    "release.toml --counts counts.csv --out trial --rehearsal 1",
    "release.toml --counts counts.parquet --out published --post consistent",
    "release.toml --counts counts.csv --out published --ledger ledger.json",
)


@app.default
def measure(
    target: console.Target, /, *, out: Out, chosen: Measuring = MEASURING, screen: Screen = PLAIN
) -> None:
    """Add the noise of a release to a table of counts, and note what was spent."""
    release = load(target)
    pairs = [_pair(release, text) for text in chosen.invariants or ()]
    need_tables("measure")
    from discreet.release import measure as add_noise

    with screen.working(f"Measuring {release.name}"):
        done = add_noise(release, out_dir=out, **{**asdict(chosen), "invariants": pairs})
    screen.present(done.as_dict, _text(release, done), timed=True)


def _text(release: Release, done: Measured) -> Iterator[Block]:
    from discreet.release.ledger import several

    if done.rehearsal is not None:
        yield (
            f"NOT PRIVATE: a rehearsal with seed {done.rehearsal}. Its noise can be repeated and protects "
            "nobody; nothing was spent, and nothing of it may be published."
        )
    yield f"{release.name}: {cells_of_units(done.cells, done.units)} measured, in {done.out}."
    if done.rehearsal is None:
        who = relation(release.neighbours, release.unit)
        who += f", {several(release.unit, done.at_most)}" if done.at_most > 1 else ""
        yield Hanging(f"Spent: rho {numbers.with_fraction(done.rho)}; {who}.")
    if done.exact:
        pairs = ", ".join(f"{query} of {level_name(level)}" for level, query in done.exact)
        yield Hanging(f"Published without noise, outside the guarantee: {pairs}.")
    yield ESTIMATES[done.post]
    yield Hanging(f"Files: {', '.join(done.files)}.")
    yield from console.about_ledger(done.ledger, "counts", counted=done.rehearsal is None)


def cells_of_units(cells: int, units: int) -> str:
    """Write how many cells of how many areas.

    >>> cells_of_units(1, 1200)
    '1 cell of 1,200 areas'
    """
    return f"{cells:,} cell{'s' * (cells != 1)} of {units:,} area{'s' * (units != 1)}"


def _pair(release: Release, text: str) -> tuple[str, str]:
    """Read LEVEL/QUERY; a slash may also be part of either name, as long as one reading is left."""
    names = [level.name for level in release.levels]
    slashes = (slash.start() for slash in re.finditer("/", text))
    readings = [(find_level(text[:at], names) or text[:at], text[at + 1 :]) for at in slashes]
    if not readings:
        raise InputError(f"--invariant is {text!r}; it must be LEVEL/QUERY, such as State/total")
    known = {(level.name, query.name) for level in release.levels for query in level.queries}
    fitting = [pair for pair in readings if pair in known]
    if len(fitting) > 1:
        raise InputError(f"--invariant {text!r} can be read in several ways; rename a level or a query")
    return next(iter(fitting or (pair for pair in readings if pair[0] in names)), readings[0])


# -- estimates from noisy measurements; they spend nothing ---------------------------------------------------


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
    areas: Annotated[
        OptionalFile, option("Your own areas as unions of those released: columns area, unit.")
    ] = None
    differences: Annotated[
        Several,
        option("Differences between areas, or between queries; may be repeated.", name="--difference"),
    ] = None
    ratios: Annotated[Several, option("Ratios of areas, or of queries; may be repeated.", name="--ratio")] = (
        None
    )
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
    units: Annotated[OptionalFile, option("All areas: columns unit, level, parent.")] = None
    invariants: Annotated[OptionalFile, option("Counts to keep exact: columns unit, query, cell, count.")] = (
        None
    )
    zeros: Annotated[
        OptionalFile,
        option("Combinations that some areas cannot have: unit, and columns of attributes."),
    ] = None
    within: Annotated[
        str | None,
        option("Only the part of the Bureau's files within this area, such as a state.", "GEOCODE"),
    ] = None
    engine: Annotated[
        Literal["local", "spark"],
        option("The engine for the lowest areas. Default: local.", "local|spark"),
    ] = "local"
    spark_master: Annotated[str | None, option("Where Spark runs; default: this machine.", "URL")] = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False


ESTIMATING = Estimating()

estimate_app = console.command(
    "estimate",
    "MEASUREMENTS... --out DIR [OPTIONS]",
    "published --out estimates",
    'published --out school --query "age * sex" --areas school-districts.csv',
    "published --out print --tables",
    "pl94 dhc --out both --query total",
    "nmf --release pl94-2020 --within 0144001 --down-to Block_Group --out county",
)


@estimate_app.default
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
    chosen: Estimating = ESTIMATING,
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
        "differences": [_two(text, "--difference") for text in chosen.differences or ()],
        "ratios": [_two(text, "--ratio") for text in chosen.ratios or ()],
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
    yield f"{done.cells:,} estimates of {done.units:,} areas, in {done.out}. Nothing was spent."
    if not done.additive:
        yield (
            f"The {done.releases} releases differ in attributes or areas: each was estimated by itself, and "
            "the means are weighted by inverse variances. They are unbiased, and NOT ADDITIVE."
        )
    else:
        how, what = "each query by itself, because no attributes are stated", "children"
        if done.together:
            many = f" of {done.releases} releases" if done.releases > 1 else ""
            how, what = f"all queries and levels{many} together", "cells and children"
        yield f"Best linear unbiased estimates from {how}; {what} add up."
    yield from (Hanging(f"Not used: {text}.") for text in done.left_out)
    if done.undetermined:
        yield f"No measurement determines {done.undetermined:,} of them; they are left empty."
    yield Hanging(f"Files: {', '.join(done.files)}.")


def _two(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    if len(parts) != 2 or not all(parts):
        raise InputError(
            f"{option} is {text!r}; it must be two areas, or two queries, separated by a comma; a "
            'name with a comma in it stands in quotes: "Paris, Texas",Rome'
        )
    return parts[0], parts[1]
