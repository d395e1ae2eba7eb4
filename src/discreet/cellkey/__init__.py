"""The cell-key method: perturbation tables, and what they cost one person, cell by cell and jointly.

`table` is a perturbation table and how noise is looked up in it, `formats` reads the files that offices have,
`entropy` designs tables as ptable does, and `check` says what one of them costs in one cell. `families` are
cells that are published together, `lattice` tells which of their keys depend on each other, `joint` gives the
law of their noises, `revealed` and `arcs` a bound, and `account` what they cost. `fraction_law` is the
law of the loss in fractions: an evaluator like those of noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.cellkey.account import CaseCost, CellAccount, CellCase, account_cells
    from discreet.cellkey.check import PerturbationCheck, RangeCost, RowCheck, StepCost, check_table
    from discreet.cellkey.entropy import entropy_table, named_table
    from discreet.cellkey.families import CellFamily, hypercube, read_cells
    from discreet.cellkey.formats import read_perturbation_table
    from discreet.cellkey.fraction_law import FractionLaw
    from discreet.cellkey.run import Perturbed, perturb
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
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.cellkey.account": "CaseCost CellAccount CellCase account_cells",
            "discreet.cellkey.check": "PerturbationCheck RangeCost RowCheck StepCost check_table",
            "discreet.cellkey.entropy": "entropy_table named_table",
            "discreet.cellkey.families": "CellFamily hypercube read_cells",
            "discreet.cellkey.formats": "read_perturbation_table",
            "discreet.cellkey.fraction_law": "FractionLaw",
            "discreet.cellkey.run": "Perturbed perturb",
            "discreet.cellkey.table": "ONS_RULE Keying LargeCounts Law PerturbationRow PerturbationTable "
            "perturbation_table row_of",
        },
    )

__all__ = [
    "ONS_RULE",
    "CaseCost",
    "CellAccount",
    "CellCase",
    "CellFamily",
    "FractionLaw",
    "Keying",
    "LargeCounts",
    "Law",
    "PerturbationCheck",
    "PerturbationRow",
    "PerturbationTable",
    "Perturbed",
    "RangeCost",
    "RowCheck",
    "StepCost",
    "account_cells",
    "check_table",
    "entropy_table",
    "hypercube",
    "named_table",
    "perturb",
    "perturbation_table",
    "read_cells",
    "read_perturbation_table",
    "row_of",
]
