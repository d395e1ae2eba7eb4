"""What is asked of records and counts: noise on a tree of areas, or tables without any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from discreet.budget.events import Releasable
from discreet.files import TableSource
from discreet.ledger.questions import (
    Addresses,
    AtMost,
    Excess,
    Format,
    ForSpreadsheets,
    Geocodes,
    Households,
    Identifier,
    KeyFile,
    LedgerFile,
    Out,
    Rehearsal,
    SpendAgain,
)
from discreet.numbers import Exact
from discreet.questions import Option, file_option, repeated_option
from discreet.records.questions import RecordInput

BureauColumns = Annotated[
    bool,
    Option("Also write the tables of the Supplemental DHC in the columns of the Census Bureau's program."),
]


@dataclass(frozen=True, slots=True, eq=False)
class Tabulating:
    """What `tabulate` takes."""

    release: Releasable
    records: Annotated[
        TableSource,
        Option(
            "One row per record: its lowest area (unit), and a column per attribute. CSV or Parquet.",
            "FILE",
            reads=Path,
        ),
    ]
    out: Out
    _: KW_ONLY
    units: Annotated[
        TableSource,
        file_option(
            "All areas: columns unit, level, parent. Default: those of the addresses, if there are any."
        ),
    ] = None
    households: Households = None
    addresses: Addresses = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    ledger: LedgerFile = None
    key: KeyFile = None
    format: Format = None
    bureau_columns: BureauColumns = False


@dataclass(frozen=True, slots=True, eq=False)
class Measuring:
    """What `measure` takes."""

    release: Releasable
    counts: Annotated[TableSource, file_option("The exact counts, CSV or Parquet.")]
    out: Out
    _: KW_ONLY
    records: Annotated[
        TableSource,
        file_option(
            "Records instead of counts: the lowest area (unit), and a column per attribute. CSV or Parquet."
        ),
    ] = None
    post: Annotated[
        Literal["none", "nonnegative", "consistent", "tables"],
        Option(
            "Estimates beside the measurements: none (default), nonnegative, consistent, or tables: also "
            "the whole-number tables as histogram and microdata.",
            "KIND",
        ),
    ] = "none"
    units: Annotated[
        TableSource, file_option("All areas: columns unit, level, parent. Default: those of FILE.")
    ] = None
    cells: Annotated[
        TableSource,
        file_option("All cells: query, cell. With it and --units, rows with zeros may be left out."),
    ] = None
    households: Households = None
    addresses: Addresses = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    invariants: Annotated[
        Sequence[tuple[str, str]],
        repeated_option(
            "Publish these counts without noise, outside the guarantee; may be repeated.",
            "LEVEL/QUERY",
            "invariant",
        ),
    ] = ()
    additive: Annotated[
        bool,
        Option("Check that children add up to their parents (default), or not.", negative="not-additive"),
    ] = True
    ledger: LedgerFile = None
    key: KeyFile = None
    spend_again: SpendAgain = False
    rehearsal: Rehearsal = None
    format: Format = None
    for_spreadsheets: ForSpreadsheets = False
    bureau_columns: BureauColumns = False


@dataclass(frozen=True, slots=True, eq=False)
class Drafting:
    """What `draft` takes."""

    records: TableSource
    _: KW_ONLY
    areas: Annotated[
        TableSource,
        file_option(
            "All areas: columns unit, level, parent; --area-column then names that of the lowest ones. "
            "Default: made of the columns of areas."
        ),
    ] = None
    area_columns: Annotated[
        Sequence[str],
        repeated_option(
            "A column of areas, the largest first; one that is renamed as Level=COLUMN. Without any, there "
            "is one area. May be repeated.",
            "COLUMN",
            "area-column",
        ),
    ] = ()
    attributes: Annotated[
        Sequence[str],
        repeated_option(
            'A column to count, with all values that it can have: "sex: f, m". Codes, ranges and another '
            'name: "sex=GESCHL: f=2, m=1", "age: young=0-17, old=18+". The usual words for sex, and for yes '
            "and no, need no values; codes such as 1 and 2 do. May be repeated.",
            "COLUMN[: VALUE, ...]",
            "attribute",
        ),
    ] = ()
    tables: Annotated[
        Sequence[str],
        repeated_option(
            'A table to publish, such as "age * sex"; default: the total, each attribute, and all of them '
            "together. May be repeated.",
            "QUERY",
            "table",
        ),
    ] = ()
    epsilon: Annotated[Exact | None, Option("The promise: epsilon, at delta.", "E", reads=str | None)] = None
    margin: Annotated[
        Exact | None,
        Option(
            "Instead of a promise: the 95 % margin of error that every estimate may have.",
            "M",
            reads=str | None,
        ),
    ] = None
    delta: Annotated[Exact, Option("The delta of the promise. Default: 1e-10.", "D", reads=str)] = "1e-10"
    missing: Annotated[
        Literal["leave-out", "unknown"] | None,
        Option(
            "Records without a value: leave them out, or count them under a value unknown.",
            "leave-out|unknown",
        ),
    ] = None
    age_on: Annotated[
        str,
        Option("A column of dates or years of birth is an age on this day, such as 2025-12-31.", "DAY"),
    ] = ""
    encoding: Annotated[
        str, Option("How the letters of a text are coded, such as iso-8859-2. Default: guessed.", "NAME")
    ] = ""
    id: Identifier = None
    name: Annotated[str, Option("What the release is called. Default: as the file.", "NAME")] = ""
