"""What is asked of records: whether they can be read."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from discreet.budget.events import Releasable
from discreet.files import FilePath, TableSource
from discreet.ledger.questions import (
    Addresses,
    AtMost,
    Excess,
    Geocodes,
    Households,
    Identifier,
)
from discreet.questions import Option, file_option
from discreet.records.input import TableInput

RecordInput = Annotated[
    TableInput | FilePath | None,
    file_option("With records: how they are written, the section [input]. Default: that of the release."),
]


@dataclass(frozen=True, slots=True, eq=False)
class Checking:
    """What `check_records` takes."""

    release: Releasable
    records: TableSource
    _: KW_ONLY
    units: Annotated[
        TableSource,
        file_option("All areas: columns unit, level, parent. Without it, areas are not checked."),
    ] = None
    households: Households = None
    addresses: Addresses = None
    geocodes: Geocodes = None
    input: RecordInput = None
    id: Identifier = None
    at_most: AtMost = None
    excess: Excess = "refuse"
    suggest: Annotated[bool, Option("Suggest an [input] that would read the records.")] = False
    show: Annotated[
        bool, Option("Show texts of the file that are no values; confidential, so on a terminal only.")
    ] = False
