"""Sizing a tabulation: budgets from margins, group sizes from a wanted accuracy, what suppression does.

`sizing` answers it all for a configuration: the command line prints it, the workbench shows it, a spreadsheet
holds it. It takes milliseconds but for the exact cost, so that a page can follow a slider. A table of `cells`
cells has independent noise of the second stage in each.

Budgets are rho under zCDP and epsilons under pure privacy; `changed` shares out one total over the levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.memory import loaded_on_use

if TYPE_CHECKING:
    from discreet.census.safetab.design.budgets import (
        STABILITY,
        Rivals,
        exact_epsilon_for_margin,
        exact_rho_for_margin,
        rho_for_margin,
        rivals,
    )
    from discreet.census.safetab.design.caps import CAP_SIZES, Cap, CapLevel, cap
    from discreet.census.safetab.design.changes import changed, with_total, with_total_epsilon
    from discreet.census.safetab.design.costs import DesignCost, cost
    from discreet.census.safetab.design.levels import SizedLevel, Sizing, sizing
    from discreet.census.safetab.design.sizes import (
        Of,
        Shown,
        partial_means,
        shown,
        smallest_sizes,
        table_chances,
        thresholds_for,
        with_derived,
    )
else:
    __getattr__, __dir__ = loaded_on_use(
        __name__,
        {
            "discreet.census.safetab.design.budgets": "STABILITY Rivals exact_epsilon_for_margin "
            "exact_rho_for_margin rho_for_margin rivals",
            "discreet.census.safetab.design.caps": "CAP_SIZES Cap CapLevel cap",
            "discreet.census.safetab.design.changes": "changed with_total with_total_epsilon",
            "discreet.census.safetab.design.costs": "DesignCost cost",
            "discreet.census.safetab.design.levels": "SizedLevel Sizing sizing",
            "discreet.census.safetab.design.sizes": "Of Shown partial_means shown smallest_sizes "
            "table_chances thresholds_for with_derived",
        },
    )

__all__ = [
    "CAP_SIZES",
    "STABILITY",
    "Cap",
    "CapLevel",
    "DesignCost",
    "Of",
    "Rivals",
    "Shown",
    "SizedLevel",
    "Sizing",
    "cap",
    "changed",
    "cost",
    "exact_epsilon_for_margin",
    "exact_rho_for_margin",
    "partial_means",
    "rho_for_margin",
    "rivals",
    "shown",
    "sizing",
    "smallest_sizes",
    "table_chances",
    "thresholds_for",
    "with_derived",
    "with_total",
    "with_total_epsilon",
]
