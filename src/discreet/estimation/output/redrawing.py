"""Whole tables of an estimate made again: their errors for the manifest, their intervals for the table."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from discreet.areas.tree import Integers
from discreet.errors import InputError
from discreet.estimation.estimates import Estimates
from discreet.estimation.input.joint_estimates import Chances, Group
from discreet.estimation.questions import Estimating
from discreet.estimation.whole.replicates import (
    LEAST_REPLICATES,
    MOST_REPLICATES,
    TableErrors,
    table_errors,
)
from discreet.estimation.whole.tables import WholeTables
from discreet.numbers import brief
from discreet.rehearsal import rehearsal_entropy
from discreet.tables import Numbers

_SEED = 0
"""The seed if none is given: noise drawn anew around a published table protects nobody, and the same
measurements then give the same manifest."""


@dataclass(frozen=True, slots=True)
class Redrawing:
    """How often noise is drawn anew, and whether whole numbers get intervals of their own.

    Without a number of replicates there are as many as take little time.
    """

    replicates: int | None = None
    intervals: bool = False
    seed: int = _SEED

    @classmethod
    def asked_for(cls, asked: Estimating, *, sampled: bool) -> Redrawing | None:
        """Return what is asked for; nothing without tables."""
        seed = _SEED if asked.seed is None else asked.seed
        many = asked.replicates
        if many is None:
            return cls(seed=seed) if asked.tables else None
        if not asked.tables:
            raise InputError("replicates are of whole-number tables: give tables, too, or leave them out")
        if isinstance(many, bool) or not LEAST_REPLICATES <= many <= MOST_REPLICATES:
            raise InputError(
                f"replicates is {many}; at least {LEAST_REPLICATES} and at most {MOST_REPLICATES} are "
                "possible"
            )
        if sampled:
            raise InputError(
                "intervals of whole numbers are of noise only: leave replicates or the sampling errors out"
            )
        return cls(many, True, seed)

    def errors(self, group: Group, whole: WholeTables, queries: Sequence[str]) -> TableErrors:
        """Make the tables again, and return their errors."""

        def make(again: Estimates, units: Integers) -> WholeTables:
            return WholeTables(again, bounds=[bound.within(units) for bound in group.bounds])

        source = rehearsal_entropy(self.seed)
        return table_errors(group.estimates, whole, make, queries, replicates=self.replicates, source=source)

    def add_ends(
        self,
        table: MutableMapping[str, Numbers],
        errors: TableErrors,
        kind: Integers,
        query: str,
        chances: Chances,
    ) -> None:
        """Add the ends of the intervals of whole numbers to the columns of a query."""
        estimate = table["estimate"].astype(np.float64), table["sd"].astype(np.float64)
        printed = table["table"].astype(np.int64)
        for name, level in chances:
            ends = table[f"lower{name}"].astype(np.float64), table[f"upper{name}"].astype(np.float64)
            lower, upper = errors.ends(kind, query, level, printed, estimate, ends)
            table[f"table_lower{name}"], table[f"table_upper{name}"] = lower, upper

    def meanings(self, chances: Chances) -> dict[str, str]:
        """Say what the columns of these intervals are."""
        meanings = {}
        for name, level in chances:
            meanings[f"table_lower{name}"] = (
                f"lower end of the {brief(100 * level)} % interval (noise only) of the count that table "
                "stands for; it contains table"
            )
            meanings[f"table_upper{name}"] = "upper end"
        return meanings

    def record(self, errors: TableErrors) -> Mapping[str, object]:
        """Return what the manifest says of the errors."""
        return {
            "replicates": errors.replicates,
            "seed": self.seed,
            "units": errors.units,
            "all_units": errors.all_units,
            "truth": "the whole table, with noise drawn anew; cells held exact are left out",
            "errors": [asdict(error) for error in errors.errors],
        }
