"""A table of counts, validated to the last row before any of its numbers is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.budget import Release
from discreet.errors import InputError
from discreet.release.hierarchy import tree as trees
from discreet.release.hierarchy.arrow import arrow
from discreet.release.hierarchy.layout import Layout, declared_cells, describe, filled, found_cells, positions
from discreet.release.hierarchy.noise import asked
from discreet.release.hierarchy.reading import ReadTable, read_table
from discreet.release.hierarchy.tree import Integers, Tree
from discreet.release.problems import Problems

LARGEST = 10**12
"""The largest count: so that no arithmetic that follows can lose a digit."""

_BLOCK = 1 << 21


@dataclass(frozen=True, slots=True)
class CountTable:
    """Validated counts: where each cell stands, what was read, and the counts of any units."""

    layout: Layout
    read: Callable[[slice], Integers]
    """The counts of some units, one after the other; a new array each time."""
    inputs: tuple[dict[str, Any], ...]
    format: str


def read_counts(
    release: Release,
    counts: str | os.PathLike[str],
    *,
    units: str | os.PathLike[str] | None = None,
    cells: str | os.PathLike[str] | None = None,
    additive: bool = True,
) -> CountTable:
    """Read and check a table of counts; every problem that is found is reported, with its line."""
    listed = None if units is None else read_table(units, words=["unit", "level"], optional=["parent"])
    declared = None if cells is None else read_table(cells, words=["query", "cell"])
    optional = ["parent"] if listed is None else []
    table = read_table(counts, words=["unit", "level", "query", "cell"], optional=optional, whole=["count"])
    problems = table.problems()
    if not table.rows and (listed is None or declared is None):
        problems.say("the table has no rows")
        problems.stop()
    problems.rows(table.numbers["count"] < 0, "a count is below zero", "count")
    problems.rows(table.numbers["count"] > LARGEST, f"a count is above {LARGEST}", "count")
    tree, place = _tree(release, table, listed, problems)
    queries = tuple(dict.fromkeys(query.name for level in release.levels for query in level.queries))
    known = found_cells(table, queries) if declared is None else declared_cells(declared, queries)
    layout = Layout(tree, known, asked(release, tree.levels), tree.level)
    position = positions(layout, table, place, problems)
    there = filled(layout, position, problems)
    problems.stop()
    if declared is None:
        _check_complete(layout, there, position, table, problems)
    problems.stop()
    vector = np.zeros(layout.size, dtype=np.int64)
    vector[position] = table.numbers["count"]
    if additive:
        _check_sums(layout, vector, position, problems)
    problems.stop()
    origins = [table.origin("counts")]
    origins += [one.origin(role) for one, role in ((listed, "units"), (declared, "cells")) if one is not None]

    def read(units: slice) -> Integers:
        return vector[layout.base[units.start] : layout.base[units.stop]].copy()

    return CountTable(layout, read, tuple(origins), table.format)


def _tree(
    release: Release, table: ReadTable, listed: ReadTable | None, problems: Problems
) -> tuple[Tree, Integers]:
    """Return the tree, and the unit of each code of the counts' column `unit` (-1: none)."""
    source, report = (table, problems) if listed is None else (listed, listed.problems())
    if "parent" not in source.words and len(release.levels) > 1:
        raise InputError(
            f"{source.path.name} has no column parent; the tree of units is needed, either there or in a "
            "table of units (unit, level, parent)"
        )
    if listed is not None:
        trees.check_listed_once(listed, report)
    before = report.count if listed is None else 0
    found = trees.listing(source, report)
    trees.check_levels(found, release, report)
    if report.count > before:
        report.stop()  # without a tree there is nothing more to check
    tree, place = trees.arrange(found)
    trees.check_paths(tree, found, place, release, report)
    if report.count > before:
        report.stop()
    if listed is None:
        return tree, place
    words = table.words["unit"].values
    index = arrow("compute").index_in(words, value_set=listed.words["unit"].values).fill_null(-1)
    place = np.append(place, -1)[index.to_numpy()]
    level = table.words["level"]
    code_of = {name: code for code, name in enumerate(tree.levels)}
    said = np.array([*(code_of.get(name, -1) for name in level.values.to_pylist()), -1])[level.codes]
    unit = np.append(place, -1)[table.words["unit"].codes]
    wrong = (unit >= 0) & (said != tree.level[np.maximum(unit, 0)])
    problems.rows(wrong, "the level is not that of the table of units", "level")
    return tree, place


def _check_complete(
    layout: Layout, there: Any, position: Integers, table: ReadTable, problems: Problems
) -> None:
    """Without declared cells, every unit must have every cell of its queries, zeros included."""
    for query in layout.queries:
        if not len(layout.cells[query]):
            problems.say(f"there are no rows of query {query!r}")
    missing = layout.size - int(np.count_nonzero(there))
    if not missing:
        return
    for query in layout.queries:
        first = layout.first(query)
        first = first[first >= 0]
        for cell in range(len(layout.cells[query])):
            have = int(np.count_nonzero(there[first + cell]))
            if 2 * have < first.size:
                mine = np.zeros(layout.size + 1, dtype=bool)
                mine[first + cell] = True
                row = int(np.flatnonzero(mine[position])[0])
                problems.row(row, f"unknown cell: only {have} of {first.size} units have it", "cell")
    hole = int(np.flatnonzero(~there)[0])
    unit, query, _ = describe(layout, hole)
    rows = np.flatnonzero((position >= layout.base[unit]) & (position < layout.base[unit + 1]))
    who = f"the unit of {problems.line(int(rows[0]))}" if rows.size else "a unit without rows"
    some = "1 cell is" if missing == 1 else f"{missing} cells are"
    problems.say(
        f"{some} missing: {who} lacks a cell of query {query!r}; a unit must have every cell of its "
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
            for part in reversed(tree.slices()[1:]):
                begin = np.flatnonzero(np.diff(tree.parent[part], prepend=-1))
                above = tree.parent[part][begin]
                whole = np.logical_and.reduceat(known[part], begin)
                above, below = above[whole], np.add.reduceat(sums[part], begin, axis=0)[whole]
                wrong = (first[above] >= 0)[:, None] & (sums[above] != below)
                if wrong.any():
                    _report_sum(int(first[above[np.argwhere(wrong)[0][0]]]), position, problems)
                    return
                sums[above], known[above] = below, True


def _report_sum(first: int, position: Integers, problems: Problems) -> None:
    rows = np.flatnonzero(position >= first)
    row = int(rows[np.argmin(position[rows])]) if rows.size else 0
    problems.row(
        row,
        "a count is not the sum of its children's, so some record is counted twice or not on every level "
        "(additive=False, or --not-additive, leaves this unchecked, for tables not to be made consistent)",
        "count",
    )


def level_pairs(release: Release, pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Check pairs of a level and one of its queries, such as those to hold exact."""
    for level, query in pairs:
        queries = {one.name: [q.name for q in one.queries] for one in release.levels}
        if level not in queries:
            raise InputError(f"invariants name level {level!r}; the release has {', '.join(queries)}")
        if query not in queries[level]:
            raise InputError(
                f"invariants name query {query!r} of level {level!r}, which has {', '.join(queries[level])}"
            )
    return tuple(dict.fromkeys((level, query) for level, query in pairs))
