"""`discreet measure`: a table of counts with the noise of a release, and what was spent on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from discreet import numbers
from discreet.budget import load
from discreet.budget.levels import find_level, level_name
from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Screen, need_tables, option
from discreet.cli.ledger import KeyFile, LedgerFile, Rehearsal, SpendAgain, about_ledger
from discreet.errors import InputError
from discreet.report import tables

if TYPE_CHECKING:
    from discreet.budget import Release
    from discreet.release import Measured

ESTIMATES = {
    "none": "No estimates were asked for; measurements are unbiased and may be negative.",
    "nonnegative": "The estimates are the measurements, with zero for what is below zero.",
    "consistent": "The estimates are unbiased, with intervals; their column table has whole numbers that are "
    "not negative and add up over the areas, and over queries if the release states its attributes.",
}

Out = Annotated[Path, option("A new directory for the output.", "DIR")]
OptionalFile = Annotated[Path | None, Parameter(metavar="FILE")]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    option("Format of the output. Default: that of the input.", "csv|parquet"),
]
Geocodes = Annotated[
    str | None,
    option("With records: units are the lowest geocodes, nested by prefixes of these lengths.", "N,N"),
]
Person = Annotated[
    str | None, option("With records: the column that identifies people.", "COLUMN", name="--id")
]
AtMost = Annotated[
    int | None, option("Records that one person may have; they cost as K people. Default: 1.", "K")
]
Excess = Annotated[
    Literal["refuse", "keep"], option("If a person has more: refuse (default), or keep K at random.", "HOW")
]
ForSpreadsheets = Annotated[
    bool, option("Put an apostrophe before names that a spreadsheet would read as a formula.")
]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Measuring:
    """The options, named as `discreet.measure` has them."""

    counts: Annotated[OptionalFile, option("The exact counts, CSV or Parquet.")] = None
    records: Annotated[
        OptionalFile,
        option("Records instead of counts: unit (the lowest), a column per attribute. CSV or Parquet."),
    ] = None
    post: Annotated[
        Literal["none", "nonnegative", "consistent"],
        option("Estimates beside the measurements: none (default), nonnegative or consistent.", "KIND"),
    ] = "none"
    units: Annotated[OptionalFile, option("All units: unit, level, parent. Default: those of FILE.")] = None
    cells: Annotated[
        OptionalFile, option("All cells: query, cell. With it, rows with zeros may be left out.")
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
    ledger: LedgerFile = None
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False


DEFAULT = Measuring()

app = App(
    name="measure",
    usage="Usage: discreet measure RELEASE.toml (--counts FILE | --records FILE --units FILE) --out DIR",
    help_epilogue="Examples:\n"
    "  discreet measure release.toml --counts counts.csv --out trial --rehearsal 1\n"
    "  discreet measure release.toml --counts counts.parquet --out published --post consistent\n"
    "  discreet measure release.toml --counts counts.csv --out published --ledger ledger.json",
)


@app.default
def measure(
    target: console.Target, /, *, out: Out, chosen: Measuring = DEFAULT, screen: Screen = PLAIN
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
        who = tables.relation(release.neighbours, release.unit)
        who += f", {several(release.unit, done.at_most)}" if done.at_most > 1 else ""
        yield Hanging(f"Spent: rho {numbers.with_fraction(done.rho)}; {who}.")
    if done.exact:
        pairs = ", ".join(f"{query} of {level_name(level)}" for level, query in done.exact)
        yield Hanging(f"Published without noise, outside the guarantee: {pairs}.")
    yield ESTIMATES[done.post]
    yield Hanging(f"Files: {', '.join(done.files)}.")
    yield from about_ledger(done.ledger, "counts", counted=done.rehearsal is None)


def cells_of_units(cells: int, units: int) -> str:
    """Write how many cells of how many units.

    >>> cells_of_units(1, 1200)
    '1 cell of 1,200 units'
    """
    return f"{cells:,} cell{'s' * (cells != 1)} of {units:,} unit{'s' * (units != 1)}"


def _pair(release: Release, text: str) -> tuple[str, str]:
    """Read LEVEL/QUERY; a slash may also be part of either name, as long as one reading is left."""
    places = [place for place, sign in enumerate(text) if sign == "/"]
    names = [level.name for level in release.levels]
    readings = [(find_level(text[:at], names) or text[:at], text[at + 1 :]) for at in places]
    if not readings:
        raise InputError(f"--invariant is {text!r}; it must be LEVEL/QUERY, such as State/total")
    known = {(level.name, query.name) for level in release.levels for query in level.queries}
    fitting = [pair for pair in readings if pair in known]
    if len(fitting) > 1:
        raise InputError(f"--invariant {text!r} can be read in several ways; rename a level or a query")
    if fitting:
        return fitting[0]
    return next((pair for pair in readings if pair[0] in names), readings[0])
