"""Units of sums: the column that says what one unit of a number is worth, written and checked.

Counts and measurements of sums are whole numbers of units. If a unit is not 1, each row says what it is
worth, so that nobody takes 4321 units of 1/10 for 4321. Estimates are in what is summed, and have no such
column.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from discreet.budget import Release
from discreet.budget.variables import decimal
from discreet.errors import InputError
from discreet.numbers import positive
from discreet.release.hierarchy.layout import Layout
from discreet.release.tables import ArrowArray, coded
from discreet.tables import ReadTable

COLUMN = "in_units_of"

Steps = Mapping[str, Fraction]
"""What one unit of the numbers of each query is worth."""


def steps_of(release: Release) -> dict[str, Fraction]:
    """Return what one unit of each query is worth, where it is not 1.

    >>> from discreet.budget import load
    >>> steps_of(load("pl94-2020"))
    {}
    """
    return {query: one.step for query, one in release.variables.items() if one.step != 1}


def step_column(layout: Layout, steps: Steps, units: slice) -> dict[str, ArrowArray]:
    """Return the column for some units, if it is needed."""
    if not steps:
        return {}
    worth = [steps.get(query, Fraction(1)) for query in layout.queries]
    words = list(dict.fromkeys(map(decimal, worth)))
    code = np.array([words.index(decimal(one)) for one in worth], dtype=np.int32)
    return {COLUMN: coded(code[layout.rows(units)["query"][1]], words)}


def check_steps(table: ReadTable, steps: Steps) -> None:
    """Report rows that do not say what their unit is worth, as the release has it."""
    column = table.words.get(COLUMN)
    if column is None:
        if steps:
            query, step = next(iter(steps.items()))
            table.problems.at(
                f"query {query!r} is in units of {decimal(step)}, so the table must have a column {COLUMN}, "
                "which says it in each row (1 for counts)"
            )
        return
    said, queries = [_worth(text) for text in column.values.to_pylist()], table.words["query"]
    due = [steps.get(query, Fraction(1)) for query in queries.values.to_pylist()]
    good = np.array([[one == wanted for one in [*said, None]] for wanted in [*due, Fraction(0)]], dtype=bool)
    wrong = ~good[queries.codes, column.codes]
    table.problems.rows(wrong, "the unit is not the one that the release states for the query", COLUMN)


def found_steps(table: ReadTable) -> dict[str, Fraction]:
    """Return what a table without a release says of its units."""
    column = table.words.get(COLUMN)
    if column is None:
        return {}
    said, queries = [_worth(text) for text in column.values.to_pylist()], table.words["query"]
    table.problems.rows(
        np.array([*(one is None for one in said), True])[column.codes],
        "a unit is not a number above zero",
        COLUMN,
    )
    table.problems.stop()
    found = {}
    for code, query in enumerate(queries.values.to_pylist()):
        its = {said[unit] for unit in np.unique(column.codes[queries.codes == code]).tolist()}
        if len(its) > 1:
            table.problems.at(f"query {query!r} is in several units; it must be in one")
        found[query] = its.pop() or Fraction(1)
    table.problems.stop()
    return {query: step for query, step in found.items() if step != 1}


def _worth(text: str) -> Fraction | None:
    try:
        return positive(text, name=COLUMN)
    except InputError:
        return None
