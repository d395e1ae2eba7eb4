"""The cell-key method: perturbation tables, and what they cost one person, cell by cell and jointly.

`table` is a perturbation table and how noise is looked up in it, `formats` reads the files that offices have.
"""

from discreet.cellkey.formats import read_perturbation_table
from discreet.cellkey.table import (
    ONS_RULE,
    Keying,
    LargeCounts,
    Law,
    PerturbationRow,
    PerturbationTable,
    perturbation_table,
    row_of,
)

__all__ = [
    "ONS_RULE",
    "Keying",
    "LargeCounts",
    "Law",
    "PerturbationRow",
    "PerturbationTable",
    "perturbation_table",
    "read_perturbation_table",
    "row_of",
]
