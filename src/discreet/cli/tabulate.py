"""`discreet tabulate`: from records to the exact, confidential counts of every query at every level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from discreet.budget import load
from discreet.cli import console
from discreet.cli.console import PLAIN, Block, Hanging, Screen, need_tables, option
from discreet.cli.measure import AtMost, Excess, Format, Geocodes, Out, Person

if TYPE_CHECKING:
    from discreet.release import Tabulated

app = App(
    name="tabulate",
    usage="Usage: discreet tabulate RELEASE.toml --records FILE --units FILE --out DIR [OPTIONS]",
    help_epilogue="Examples:\n"
    "  discreet tabulate survey.toml --records people.csv --units units.csv --out counts\n"
    "  discreet tabulate survey.toml --records people.csv --units districts.csv --geocodes 2,5 --out counts",
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tabulating:
    """The options, named as `discreet.release.tabulate` has them."""

    records: Annotated[
        Path, option("One row per record: unit (the lowest), a column per attribute. CSV or Parquet.", "FILE")
    ]
    units: Annotated[Path, option("All units: unit, level, parent.", "FILE")]
    out_dir: Annotated[Out, Parameter(name="--out")]
    geocodes: Geocodes = None
    person: Person = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    format: Format = None


@app.default
def tabulate(target: console.Target, /, *, chosen: Tabulating, screen: Screen = PLAIN) -> None:
    """Count records for every query at every level, zeros included."""
    release = load(target)
    need_tables("tabulate")
    from discreet.release import tabulate as count

    with screen.working(f"Counting {chosen.records}"):
        done = count(release, **asdict(chosen))
    screen.present(done.as_dict, _text(done, chosen.at_most or 1))


def _text(done: Tabulated, at_most: int) -> Iterator[Block]:
    yield f"CONFIDENTIAL: {done.cells:,} exact counts of {done.units:,} units, in {done.out}. No noise."
    if at_most > 1:
        yield Hanging(
            f"A person may have {at_most} records: `measure` spends what `account --people {at_most}` says."
        )
    if done.left_out:
        yield f"{done.left_out:,} of {done.records:,} records were left out, chosen at random."
    yield Hanging(f"Files: {', '.join(done.files)}. Next: discreet measure --counts.")
