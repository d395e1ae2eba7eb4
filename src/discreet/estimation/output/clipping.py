"""What clipping takes away from sums and weights, as noisy measurements of it tell.

A sum is of values clipped at a bound. How many records had a value above it, and how much of their values was
left out, is known from queries of just that, each with its noise and its part of the budget. What lies above
the second bound, at which that amount is clipped itself, no measurement tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.areas.layout import Laws, Layout
from discreet.areas.tree import Integers
from discreet.budget import Release, Variable
from discreet.estimation.input.joint_estimates import JointEstimates
from discreet.estimation.output.own_areas import area_estimates
from discreet.numbers import times


@dataclass(frozen=True, slots=True)
class TakenAway:
    """An estimate of records that were clipped, or of what clipping took away, with its 95 % interval."""

    estimate: float
    lower95: float
    upper95: float


@dataclass(frozen=True, slots=True)
class Clipped:
    """What clipping of one column at `at_most` took away, in all areas together; None: no measurement tells.

    Of the amount, what lies above `beyond` in a record is not part.
    """

    column: str
    is_weight: bool
    at_most: Fraction
    records: TakenAway | None
    amount: TakenAway | None
    beyond: Fraction | None

    @property
    def queries(self) -> tuple[str, str]:
        """The queries that tell it, or would: of the records, and of the amount."""
        bound = self.at_most
        records = Variable(count=self.column, above=bound, unit=bound)
        return records.name, Variable(sum=self.column, above=bound, at_most=bound, unit=bound).name


def clipped(
    variables: Sequence[Variable], told: Callable[[Variable], TakenAway | None]
) -> tuple[Clipped, ...]:
    """Return what is clipped among these variables, weights first, and what is told of it.

    >>> hours = Variable(sum="hours", at_most=80)
    >>> [one.queries for one in clipped([Variable(), hours], lambda variable: None)]
    [('records with hours above 80', 'hours above 80')]
    """
    weights = dict.fromkeys(
        (variable.weight.column, variable.weight.at_most) for variable in variables if variable.weight
    )
    sums = dict.fromkeys(
        (variable.sum, variable.at_most, variable.weight, False)
        for variable in variables
        if variable.sum and variable.at_most and variable.above is None
    )
    made = []
    for column, at_most, weight, is_weight in (*((*pair, None, True) for pair in weights), *sums):
        above = [
            variable for variable in variables if variable.column == column and variable.above == at_most
        ]
        records = next((variable for variable in above if variable.count is not None), None)
        # of a weighted sum, clipping takes away weighted amounts: no others tell
        amount = next(
            (variable for variable in above if variable.sum is not None and variable.weight == weight), None
        )
        got = [None if record is None else told(record) for record in (records, amount)]
        beyond = None if amount is None or amount.at_most is None else at_most + amount.at_most
        made.append(Clipped(column, is_weight, at_most, got[0], got[1], beyond))
    return tuple(made)


def estimated_clips(joint_estimates: JointEstimates) -> tuple[Clipped, ...]:
    """Return what clipping took away, as the best estimates have it, where attributes say what is summed."""
    attributes = joint_estimates.groups[0].attributes
    if attributes is None or len(joint_estimates.groups) > 1:
        return ()

    def told(variable: Variable) -> TakenAway | None:
        top = {"all": joint_estimates.union(np.flatnonzero(joint_estimates.tree.parent < 0))}
        columns = area_estimates(joint_estimates, top, [variable.name], (("95", 0.95),))[1]
        numbers = [float(columns[name][0]) for name in ("estimate", "lower95", "upper95")]
        return None if np.isnan(numbers[0]) else TakenAway(*numbers)

    return clipped(attributes.variables, told)


def measured_clips(release: Release, layout: Layout, values: Integers, laws: Laws) -> tuple[Clipped, ...]:
    """Return what clipping took away, as measured in the top area, which has these values, if it is one."""
    kind = int(layout.kind[0])

    def told(variable: Variable) -> TakenAway | None:
        names = [query for query, other in release.variables.items() if other == variable]
        query = next(
            (name for name in names if name in layout.asked[kind] and len(layout.cells[name]) == 1), None
        )
        if query is None or layout.tree.depths[0].stop > 1:
            return None
        value, margin = int(values[layout.offset(kind, query)]), laws[kind][query].margin()
        ends = value, max(value - margin, 0), max(value + margin, 0)
        return TakenAway(*(times(end, variable.step) for end in ends))

    return clipped(list(dict.fromkeys(release.variables.values())), told)
