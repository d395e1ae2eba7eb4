"""What each record adds to a query: whole numbers of units, rounded exactly and clipped.

Each distinct number of a column is looked at once, as a fraction: no float is rounded on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from discreet.areas.tree import Integers
from discreet.budget import Variable
from discreet.errors import InputError
from discreet.records.counts import LARGEST_SUM
from discreet.records.record_columns import ExactNumbers
from discreet.tables import Problems


def _whole_units(number: Fraction, unit: Fraction) -> int:
    """Return a number as a whole number of units, rounded half to even.

    >>> tenth = Fraction(1, 10)
    >>> [_whole_units(Fraction(text), tenth) for text in ("0.05", "0.15", "0.25", "1e3", "0.049")]
    [0, 2, 2, 10000, 0]
    """
    return round(number / unit)


def _added(variable: Variable, number: Fraction) -> int:
    """Return what a record with this number in the column adds, in units, before its weight.

    >>> hours = Variable(sum="hours", at_most=80)
    >>> [_added(hours, Fraction(number)) for number in (0, 39, 81, 1000)]
    [0, 39, 80, 80]
    >>> [_added(Variable(sum="hours", above=80, at_most=100), Fraction(number)) for number in (80, 81, 1000)]
    [0, 1, 100]
    """
    units = _whole_units(number, variable.unit)
    above = 0 if variable.above is None else int(variable.above / variable.unit)
    if variable.at_most is None:
        return int(units > above)
    return min(max(units - above, 0), int(variable.at_most / variable.unit))


def check_numbers(columns: Mapping[str, ExactNumbers], problems: Problems) -> None:
    """Report numbers below zero: a bound on one side would not bound what a record takes away."""
    for name, column in columns.items():
        below = np.array([*(number < 0 for number in column.values), False], dtype=bool)
        problems.rows(below[column.codes], "a number below zero; what is summed is zero or more", name)


def amounts(variables: Sequence[Variable], columns: Mapping[str, ExactNumbers], rows: int) -> Integers | None:
    """Return what each record adds to each variable, a column for each; None if all count records alone."""
    if all(each.column is None and each.weight is None for each in variables):
        return None
    made = np.ones((rows, len(variables)), dtype=np.int64)
    for index, variable in enumerate(variables):
        if rows * variable.bound > LARGEST_SUM:
            raise InputError(
                f"records of up to {variable.bound} units of {variable.name or 'weight'!r} may add up to "
                f"more than {LARGEST_SUM}, the largest sum; choose a larger unit or a smaller bound"
            )
        if variable.column is not None:
            column = columns[variable.column]
            made[:, index] = _looked_up(column, [_added(variable, number) for number in column.values])
        if variable.weight is not None:
            weight, column = variable.weight, columns[variable.weight.column]
            units = [min(_whole_units(number, weight.unit), weight.bound) for number in column.values]
            made[:, index] *= _looked_up(column, units)
    return made


def _looked_up(column: ExactNumbers, units: list[int]) -> Integers:
    # the last one stands for rows without a number, which are left out or reported
    return np.array([*units, 0], dtype=np.int64)[column.codes]
