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
