"""Exact counts from a table of them, validated to the last row before any number is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import detailed_cells, impossible_cells, shared_cells
from discreet.areas.layout import (
    Layout,
    check_cells,
    declared_cells,
    found_cells,
    positions,
    read_units,
    tree_of,
    units_of,
)
from discreet.areas.output import strings
from discreet.areas.sum_units import check_steps, unit_steps
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Release
from discreet.budget.noise_table import queries_of
from discreet.budget.variables import IN_UNITS_OF
from discreet.ledger import records_per_person as contents
from discreet.numbers import MOST_TIMES
from discreet.tables import Problems, ReadTable, TableSource, read_table, stop_unless_usable

# -- counts ------------------------------------------------------------------------------------------------

LARGEST = 10**12
"""The largest count: so that no arithmetic that follows can lose a digit."""

LARGEST_SUM = 10**14
"""The largest sum, in units: ten times as many still lose no digit in floats."""

_BLOCK = 1 << 21


@dataclass(frozen=True, slots=True)
class CountTable:
    """Validated counts: where each cell stands, what was read, and the counts of any units."""

    layout: Layout
    read: Callable[[slice], Integers]
    """The counts of some units, one after the other; a new array each time."""
    inputs: tuple[dict[str, object], ...]
    format: str
    records: int = 0
    """How many records there were, and how many of them were left out."""
    left_out: int = 0
    incomplete: int = 0
    """How many more were left out because a value is missing, as `[input]` says."""
    at_most: int | None = None
    """How many records of a person the counts may hold, as their column says; 0 if it has no rows."""


def read_counts(
    release: Release,
    counts: TableSource,
    *,
    units: TableSource = None,
    cells: TableSource = None,
    additive: bool = True,
) -> CountTable:
    """Read and check a table of counts; every problem that is found is reported, with its line."""
    table, listed, declared = _read_tables(counts, units, cells)
    largest = LARGEST_SUM if any(variable.is_sum for variable in release.variables.values()) else LARGEST
    _check_numbers(table, largest)
    check_steps(table, unit_steps(release))
    problems = table.problems
    tree = tree_of(table, release) if listed is None else tree_of(listed, release, once=True)
    unit = units_of(table, tree, levels=True)
    layout, attributes = _layout(release, tree, table, declared), release.attributes
    position, there = positions(layout, table, unit)
    problems.stop()
    if declared is None:
        _check_complete(layout, there, position, problems, found=attributes is None)
    elif listed is None and not there.all():
        problems.at(
            "rows are left out, and an area in which nobody is counted may be left out with them, so which "
            "areas there are would tell of people; list all areas (units=, or --units: unit, level, parent)"
        )
    problems.stop()
    vector = np.zeros(layout.size, dtype=np.int64)
    vector[position] = table.numbers["count"]
    if attributes is not None:
        _check_possible(layout, vector, position, attributes, problems)
    if additive:
        _check_sums(layout, vector, position, problems)
        if attributes is not None:
            _check_queries(layout, vector, position, attributes, problems)
    problems.stop()
    given = {"counts": table, "units": listed, "cells": declared}
    origins = tuple(source.origin(role) for role, source in given.items() if source is not None)

    def read(units: slice) -> Integers:
        return vector[layout.base[units.start] : layout.base[units.stop]].copy()

    most = table.numbers.get(contents.COLUMN)
    several = None if most is None else int(most.max(initial=0))
    return CountTable(layout, read, origins, table.format, at_most=several)


def _read_tables(
    counts: TableSource, units: TableSource, cells: TableSource
) -> tuple[ReadTable, ReadTable | None, ReadTable | None]:
    """Read the counts and, if there are such tables, the units and the cells, with one list of problems."""
    every = Problems()
    listed = None if units is None else read_units(units, every)
    words = ["query", "cell"]
    declared = None if cells is None else read_table(cells, words=words, name="cells", problems=every)
    table = read_table(
        counts,
        words=["unit", "level", "query", "cell"],
        optional=[IN_UNITS_OF, "parent"] if listed is None else [IN_UNITS_OF],
        whole=["count"],
        optional_whole=[contents.COLUMN],
        name="counts",
        problems=every,
    )
    stop_unless_usable(listed, declared, table)
    if not table.rows and (listed is None or declared is None):
        text = "the table has no rows, so its areas and cells are not known; list both (units=, cells=)"
        table.problems.at(text)
        table.problems.stop()
    return table, listed, declared


def _check_numbers(table: ReadTable, largest: int) -> None:
    """Check the counts themselves, and how many records of a person they may hold, if they say so."""
    problems = table.problems
    problems.rows(table.numbers["count"] < 0, "a count is below zero", "count")
    problems.rows(table.numbers["count"] > largest, f"a count is above {largest}", "count")
    most = table.numbers.get(contents.COLUMN)
    if most is not None:
        wrong = (most < 1) | (most > MOST_TIMES)
        problems.rows(wrong, f"{contents.COLUMN} is not from 1 to {MOST_TIMES}", contents.COLUMN)


def _layout(release: Release, tree: Tree, table: ReadTable, declared: ReadTable | None) -> Layout:
    """Return where the counts stand: cells as the attributes say, as listed, or as found."""
    queries, attributes = queries_of(release), release.attributes
    known = found_cells(table, queries) if declared is None else declared_cells(declared, queries)
    if attributes is not None:  # they say which cells there are, and in which order
        if declared is not None:
            check_cells(Layout.of(release, tree, known), attributes)
        known = {query: strings(list(attributes.tabulation(query).labels)) for query in queries}
    return Layout.of(release, tree, known)


def _check_complete(
    layout: Layout, there: NDArray[np.bool_], position: Integers, problems: Problems, *, found: bool
) -> None:
    """Without declared cells, every unit must have every cell of its queries, zeros included.

    Cells that were only `found` in the table may be mistakes, if few units have them.
    """
    for query in layout.queries:
        if not len(layout.cells[query]):
            problems.at(f"there are no rows of query {query!r}")
    missing = layout.size - int(np.count_nonzero(there))
    if not missing:
        return
    for query in layout.queries if found else ():
        first = layout.first(query)
        first = first[first >= 0]
        for cell in range(len(layout.cells[query])):
            have = int(np.count_nonzero(there[first + cell]))
            if 2 * have < first.size:
                mine = np.zeros(layout.size + 1, dtype=bool)
                mine[first + cell] = True
                row = int(np.flatnonzero(mine[position])[0])
                problems.row(row, f"unknown cell: only {have} of {first.size} areas have it", "cell")
    hole = int(np.flatnonzero(~there)[0])
    unit = int(np.searchsorted(layout.base, hole, side="right")) - 1
    starts = {int(layout.first(query)[unit]): query for query in layout.asked[layout.kind[unit]]}
    query = starts[max(start for start in starts if start <= hole)]
    rows = np.flatnonzero((position >= layout.base[unit]) & (position < layout.base[unit + 1]))
    who = f"the area of {problems.line(int(rows[0]))}" if rows.size else "an area without rows"
    some = "1 cell is" if missing == 1 else f"{missing} cells are"
    problems.at(
        f"{some} missing: {who} lacks a cell of query {query!r}; an area must have every cell of its "
        "queries, zeros included, or the cells must be declared in a table of cells (query, cell)"
    )


def _check_sums(layout: Layout, vector: Integers, position: Integers, problems: Problems) -> None:
    """Children must add up to their parents: else a record is counted twice, or not on every level.

    Where a query is not asked in a unit, the sum of its children stands for it, if all of them have one.
    """
    tree = layout.tree
    for query in layout.queries:
        first, width = layout.first(query), len(layout.cells[query])
        step = max(1, _BLOCK // max(tree.size, 1))
        for start in range(0, width, step):
            cells = np.arange(start, min(start + step, width))
            known = first >= 0
            sums = np.where(known[:, None], vector[np.maximum(first, 0)[:, None] + cells], 0)
            for part in reversed(tree.depths[1:]):
                begin = np.flatnonzero(np.diff(tree.parent[part], prepend=-1))
                above = tree.parent[part][begin]
                whole = np.logical_and.reduceat(known[part], begin)
                above, below = above[whole], np.add.reduceat(sums[part], begin, axis=0)[whole]
                wrong = (first[above] >= 0)[:, None] & (sums[above] != below)
                if wrong.any():
                    rows = np.flatnonzero(position >= first[above[np.argwhere(wrong)[0][0]]])
                    problems.row(
                        int(rows[np.argmin(position[rows])]) if rows.size else 0,
                        "a count is not the sum of its children's, so some record is counted twice or not on "
                        "every level (additive=False, or --not-additive, leaves this unchecked, for tables "
                        "not to be made consistent)",
                        "count",
                    )
                    return
                sums[above], known[above] = below, True


def _check_possible(
    layout: Layout, vector: Integers, position: Integers, attributes: Attributes, problems: Problems
) -> None:
    """No count of what the attributes say cannot be may be above zero."""
    if not attributes.impossible:
        return
    possible, wrong = ~impossible_cells(attributes), np.zeros(layout.size, dtype=bool)
    for query in layout.queries:
        index = detailed_cells(attributes, query, written=True)
        never = np.flatnonzero(np.bincount(index, possible, len(layout.cells[query])) == 0.0)
        first = layout.first(query)
        wrong[(first[first >= 0][:, None] + never).ravel()] = True
    wrong &= vector > 0
    problems.rows(
        wrong[position], "a count of a combination of values that the release declares impossible", "count"
    )


def _check_queries(
    layout: Layout, vector: Integers, position: Integers, attributes: Attributes, problems: Problems
) -> None:
    """The queries of a unit must agree, since the attributes say how they overlap.

    Two of them are compared by what both can tell. Those that a finer one tells need no more comparisons.
    """
    index = {query: detailed_cells(attributes, query, written=True) for query in layout.queries}
    tables = {query: attributes.tabulation(query) for query in layout.queries}
    for kind, queries in enumerate(layout.asked):
        units = np.flatnonzero(layout.kind == kind)
        finest: list[str] = []
        for coarse in sorted(queries, key=lambda query: -tables[query].cells):
            told = False
            for fine in (query for query in finest if tables[query].variable == tables[coarse].variable):
                shared = shared_cells(attributes, fine, coarse)
                told = len(np.unique(shared)) == tables[coarse].cells
                sums = [
                    _margin(layout, vector, units, query, index[query], shared) for query in (fine, coarse)
                ]
                wrong = np.flatnonzero((sums[0] != sums[1]).any(axis=1))
                if wrong.size:
                    at = layout.first(coarse)[units[wrong[0]]]
                    rows = np.flatnonzero((position >= at) & (position < at + tables[coarse].cells))
                    problems.row(
                        int(rows.min(initial=len(position) - 1)),
                        f"the counts of query {coarse!r} are not the sums of those of {fine!r} that the "
                        "attributes say they are (additive=False, or --not-additive, leaves this unchecked)",
                        "count",
                    )
                    return
                if told:
                    break
            if not told:
                finest.append(coarse)


def _margin(
    layout: Layout, vector: Integers, units: Integers, query: str, index: Integers, shared: Integers
) -> Integers:
    """Return sums of the cells of a query, one row a unit, by what `shared` says of the detailed cells."""
    of = np.empty(len(layout.cells[query]), dtype=np.int64)
    of[index] = shared
    order = np.argsort(of, kind="stable")
    begin = np.flatnonzero(np.diff(of[order], prepend=-1))
    sums = np.empty((len(units), len(begin)), dtype=np.int64)
    step = max(1, _BLOCK // len(of))
    for start in range(0, len(units), step):
        some = units[start : start + step]
        rows = vector[layout.first(query)[some][:, None] + order]
        sums[start : start + step] = np.add.reduceat(rows, begin, axis=1)
    return sums
