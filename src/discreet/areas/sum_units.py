"""Units of sums: the column that says what one unit of a number is worth, written and checked.

Counts and measurements of sums are whole numbers of units. In a release with sums each row says what a unit
is worth, so that nobody takes 4321 units of 1/10 for 4321, or a sum for a count. Estimates are in what is
summed, and have no such column.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from discreet.areas.layout import Layout
from discreet.areas.output import ArrowArray, coded
from discreet.budget import Release
from discreet.budget.variables import IN_UNITS_OF, as_decimal
from discreet.errors import InputError
from discreet.numbers import positive
from discreet.tables import ReadTable

Steps = Mapping[str, Fraction]
"""What one unit of the numbers of each query is worth."""


def unit_steps(release: Release) -> dict[str, Fraction]:
    """Return what one unit of each query is worth; nothing if the release only counts.

    >>> from discreet.budget import load
    >>> unit_steps(load("pl94-2020"))
    {}
    """
    if not any(variable.is_sum for variable in release.variables.values()):
        return {}
    return {query: variable.step for query, variable in release.variables.items()}


def step_column(layout: Layout, steps: Steps, units: slice) -> dict[str, ArrowArray]:
    """Return the column for some units, if it is needed."""
    if not steps:
        return {}
    worth = [steps.get(query, Fraction(1)) for query in layout.queries]
    words = list(dict.fromkeys(map(as_decimal, worth)))
    code = np.array([words.index(as_decimal(text)) for text in worth], dtype=np.int32)
    return {IN_UNITS_OF: coded(code[layout.rows(units)["query"][1]], words)}


def check_steps(table: ReadTable, steps: Steps) -> None:
    """Report rows that do not say what their unit is worth, as the release has it."""
    column = table.words.get(IN_UNITS_OF)
    if column is None:
        if query := next((query for query, step in steps.items() if step != 1), None):
            step = steps[query]
            table.problems.at(
                f"query {query!r} is in units of {as_decimal(step)}, so the table must have a column "
                f"{IN_UNITS_OF}, which says it in each row (1 for counts)"
            )
        return
    said, queries = [_worth(text) for text in column.values.to_pylist()], table.words["query"]
    due = [steps.get(query, Fraction(1)) for query in queries.values.to_pylist()]
    good = np.array(
        [[stated == wanted for stated in [*said, None]] for wanted in [*due, Fraction(0)]], dtype=bool
    )
    wrong = ~good[queries.codes, column.codes]
    table.problems.rows(wrong, "the unit is not the one that the release states for the query", IN_UNITS_OF)


def found_steps(table: ReadTable) -> dict[str, Fraction]:
    """Return what a table without a release says of its units."""
    column = table.words.get(IN_UNITS_OF)
    if column is None:
        return {}
    said, queries = [_worth(text) for text in column.values.to_pylist()], table.words["query"]
    table.problems.rows(
        np.array([*(text is None for text in said), True])[column.codes],
        "a unit is not a number above zero",
        IN_UNITS_OF,
    )
    table.problems.stop()
    steps = {}
    for code, query in enumerate(queries.values.to_pylist()):
        its = {said[unit] for unit in np.unique(column.codes[queries.codes == code]).tolist()}
        if len(its) > 1:
            table.problems.at(f"query {query!r} is in several units; it must be in one")
        steps[query] = its.pop() or Fraction(1)
    table.problems.stop()
    return steps


def _worth(text: str) -> Fraction | None:
    try:
        return positive(text, name=IN_UNITS_OF)
    except InputError:
        return None
