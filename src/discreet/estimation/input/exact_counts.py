"""Counts that are held exact: read from a table, and joined over releases."""

from __future__ import annotations

import numpy as np

from discreet.areas.layout import Layout, positions, units_of
from discreet.areas.sum_units import check_steps, unit_steps
from discreet.budget import Release
from discreet.budget.variables import IN_UNITS_OF
from discreet.errors import InputError
from discreet.estimation.estimates import Rows
from discreet.estimation.input.published import LARGEST, Exact, largest_of
from discreet.files import FilePath
from discreet.tables import Problems, ReadTable, read_table


def read_held(invariants: FilePath, problems: Problems | None = None) -> ReadTable:
    """Read counts that are held exact: unit, query, cell, count."""
    words = ["unit", "query", "cell"]
    return read_table(invariants, words=words, optional=[IN_UNITS_OF], whole=["count"], problems=problems)


def exact_counts(layout: Layout, table: ReadTable, stated: Release | None) -> Exact:
    """Return the counts that a table holds exact, as the layout has them."""
    problems, largest = table.problems, LARGEST if stated is None else largest_of(stated)
    problems.rows(table.numbers["count"] < 0, "a count is below zero", "count")
    problems.rows(table.numbers["count"] > largest, f"a count is above {largest}", "count")
    if stated is not None:
        held = set(table.words["query"].values.to_pylist())
        check_steps(table, {query: step for query, step in unit_steps(stated).items() if query in held})
    position, _ = positions(layout, table, units_of(table, layout.tree))
    problems.stop()
    order = np.argsort(position)
    position, counts = position[order], table.numbers["count"][order]
    unit = np.searchsorted(layout.base, position, side="right") - 1
    exact: Exact = {}
    for query in layout.queries:
        start, width = layout.first(query)[unit], len(layout.cells[query])
        mine = (start >= 0) & (position >= start) & (position < start + width)
        who, have = np.unique(unit[mine], return_counts=True)
        if (have < width).any():
            problems.at(f"an area has some cells of query {query!r} and lacks others; hold all or none")
        elif who.size:
            exact[query] = who.astype(np.int64), counts[mine].reshape(-1, width)
    problems.stop()
    return exact


def join_exact(query: str, one: Rows | None, two: Rows) -> Rows:
    """Join the exact counts of a query in two releases."""
    if one is None:
        return two
    both, first, second = np.intersect1d(one[0], two[0], return_indices=True)
    if both.size and not np.array_equal(one[1][first], two[1][second]):
        raise InputError(f"the releases hold different counts of query {query!r} exact")
    new = ~np.isin(two[0], one[0])
    units, rows = np.concatenate([one[0], two[0][new]]), np.concatenate([one[1], two[1][new]])
    order = np.argsort(units)
    return units[order], rows[order]
