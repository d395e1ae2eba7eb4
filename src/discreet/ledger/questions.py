"""What every run takes that reads records or spends: its input, its output, its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from discreet.files import FilePath, TableSource
from discreet.questions import Option, file_option

Out = Annotated[FilePath, Option("A new directory for the output.", "DIR", reads=Path)]
Format = Annotated[
    Literal["csv", "parquet"] | None,
    Option("Format of the output. Default: that of the input.", "csv|parquet"),
]
Geocodes = Annotated[
    str | None,
    Option("With records: the lowest areas are geocodes, nested by prefixes of these lengths.", "N,N"),
]
Identifier = Annotated[str | None, Option("With records: the column that identifies people.", "COLUMN")]
AtMost = Annotated[
    int | None,
    Option("How many records one person may have; the cost is that of K people. Default: 1.", "K"),
]
Excess = Annotated[
    Literal["refuse", "keep"], Option("If a person has more: refuse (default), or keep K at random.", "HOW")
]
Households = Annotated[
    TableSource,
    file_option("With records of people: the households that they live in, if the release has [households]."),
]
Addresses = Annotated[
    TableSource,
    file_option("With households: where they are, a public table, if the release has [addresses]."),
]
LedgerFile = Annotated[
    FilePath | None,
    file_option(
        "The ledger of the population; it must exist. Default: DISCREET_LEDGER, that of the policy, or "
        "discreet-ledger.json beside the input."
    ),
]
KeyFile = Annotated[
    FilePath | None, file_option("The key file of a signed ledger. Default: DISCREET_LEDGER_KEY.")
]
SpendAgain = Annotated[
    bool, Option("Release an input again that the ledger has already counted, and spend again.")
]
Rehearsal = Annotated[
    int | None, Option("Noise that can be repeated and protects nobody: NOT PRIVATE.", "SEED")
]
ForSpreadsheets = Annotated[
    bool,
    Option(
        "Put an apostrophe before names that a spreadsheet would read as a formula; tables to print have it."
    ),
]

Unit = Annotated[
    str | None,
    Option("The unit, for a ledger with runs about several; joined by +, they change together.", "UNIT"),
]
