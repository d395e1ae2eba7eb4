"""Noisy tables in: the output of `measure`, or a table by itself."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.release.hierarchy import tree as trees
from discreet.release.hierarchy.arrow import arrow
from discreet.release.hierarchy.layout import Layout, filled, positions
from discreet.release.hierarchy.processing import Held
from discreet.release.hierarchy.reading import FORMATS, Table, read_table
from discreet.release.hierarchy.tree import Integers
from discreet.release.hierarchy.writing import MARK
from discreet.release.ledger import NOT_PRIVATE

LARGEST = 10**13
"""The largest absolute value of a noisy count."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """A noisy table that was read: layout, values, variance of the noise by kind of unit and query."""

    layout: Layout
    values: Integers
    noise: dict[tuple[int, str], float]
    format: str
    marked: bool
    """Whether it comes from a rehearsal."""
    beside: Path | None
    """The directory of the run that wrote it."""
    origin: dict[str, Any]


def read_noisy(source: Path, units: str | os.PathLike[str] | None, *, need_tree: bool) -> Noisy:
    """Read a directory that `measure` wrote, or a table with unit, level, query, cell, value and variance."""
    file = source if source.is_file() else beside(source, "measurements")
    if file is None:
        raise InputError(f"there are no measurements in {source}; name a noisy table or a run's output")
    folder = file.parent if source.is_dir() or beside(file.parent, "measurements") == file else None
    listed = units or (beside(folder, "units") if folder else None)
    table = read_table(
        file,
        words=["unit", "level", "query", "cell"],
        optional=[MARK] if listed else ["parent", MARK],
        whole=["value"],
        floats=["variance"],
    )
    layout, position, noise = _layout(table, listed, need_tree)
    values = np.zeros(layout.size, dtype=np.int64)
    values[position] = table.numbers["value"]
    marked = MARK in table.words or NOT_PRIVATE.replace(" ", "-") in file.name
    return Noisy(layout, values, noise, table.format, marked, folder, table.origin("measurements"))


def beside(folder: Path, stem: str) -> Path | None:
    """Find a table of a run's output by the first part of its name."""
    mark = NOT_PRIVATE.replace(" ", "-")
    names = [f"{stem}{middle}.{ending}" for middle in ("", f".{mark}") for ending in FORMATS]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _layout(
    table: Table, units: str | os.PathLike[str] | None, need_tree: bool
) -> tuple[Layout, Integers, dict[tuple[int, str], float]]:
    problems = table.problems()
    if not table.rows:
        problems.say("the table has no rows")
    problems.rows(np.abs(table.numbers["value"]) > LARGEST, f"a value is beyond {LARGEST}", "value")
    sizes = table.numbers["variance"]
    problems.rows(~((sizes > 0) & np.isfinite(sizes)), "a variance is not above zero", "variance")
    problems.stop()
    listed = None if units is None else read_table(units, words=["unit", "level"], optional=["parent"])
    source = table if listed is None else listed
    if "parent" not in source.words and need_tree:
        raise InputError(f"{source.path.name} has no column parent; consistent estimates need the tree")
    report = problems if listed is None else listed.problems()
    found = trees.listing(source, report)
    report.stop()
    tree, place = trees.arrange(found)
    if tree.size < len(found.level):
        report.say("some units have no way up to a unit without a parent")
    report.stop()
    if listed is not None:
        index = arrow("compute").index_in(table.words["unit"].values, value_set=found.names).fill_null(-1)
        place = np.append(place, -1)[index.to_numpy()]
    layout = _found_layout(table, tree, place)
    position = positions(layout, table, place, problems)
    there = filled(layout, position, problems)
    if not there.all():
        missing = int(np.count_nonzero(~there))
        some = "1 cell is" if missing == 1 else f"{missing} cells are"
        problems.say(f"{some} missing: each unit must have all cells of its level")
    problems.stop()
    noise: dict[tuple[int, str], float] = {}
    kinds, names = _row_kinds(table, tree, place), table.words["query"]
    for code, query in enumerate(names.values.to_pylist()):
        for kind in range(len(tree.levels)):
            here = (names.codes == code) & (kinds == kind)
            if here.any():
                first = sizes[int(np.argmax(here))]
                problems.rows(
                    here & (sizes != first), "the variance differs within one level and query", "variance"
                )
                noise[kind, query] = float(first)
    problems.stop()
    return layout, position, noise


def _row_kinds(table: Table, tree: trees.Tree, place: Integers) -> Any:
    return np.append(tree.level, -1)[np.append(place, -1)[table.words["unit"].codes]]


def _found_layout(table: Table, tree: trees.Tree, place: Integers) -> Layout:
    """Take queries and cells in the order in which they first appear: for the queries, level by level."""
    names, cells = table.words["query"], table.words["cell"]
    words = names.values.to_pylist()
    kinds = _row_kinds(table, tree, place)
    asked: list[tuple[str, ...]] = []
    for kind in range(len(tree.levels)):
        asked.append(tuple(words[code] for code in _in_order(names.codes[kinds == kind], len(words))))
    known = {}
    for code, query in enumerate(words):
        order = _in_order(cells.codes[names.codes == code], len(cells.values))
        known[query] = cells.values.take(arrow().array(order))
    return Layout(tree, known, tuple(asked), tree.level)


def _in_order(codes: Any, many: int) -> Integers:
    """Return the distinct codes by first appearance."""
    first = np.full(many, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    order = np.argsort(first, kind="stable")
    return order[first[order] < len(codes)]


def read_held(layout: Layout, invariants: str | os.PathLike[str]) -> Held:
    """Read counts that are held exact: unit, query, cell, count."""
    table = read_table(invariants, words=["unit", "query", "cell"], whole=["count"])
    problems = table.problems()
    index = arrow("compute").index_in(table.words["unit"].values, value_set=layout.tree.names).fill_null(-1)
    problems.rows(table.numbers["count"] < 0, "a count is below zero", "count")
    problems.rows(table.numbers["count"] > LARGEST, f"a count is above {LARGEST}", "count")
    position = positions(layout, table, index.to_numpy().astype(np.int64), problems)
    there = filled(layout, position, problems)
    problems.stop()
    counts = np.zeros(layout.size, dtype=np.int64)
    counts[position] = table.numbers["count"]
    units = {}
    for query in layout.queries:
        first = layout.first(query)
        cells = np.arange(len(layout.cells[query]))
        have = np.count_nonzero(there[np.maximum(first, 0)[:, None] + cells], axis=1) * (first >= 0)
        if ((have > 0) & (have < cells.size)).any():
            problems.say(f"a unit has some cells of query {query!r} and lacks others; hold all or none")
        if have.any():
            units[query] = have > 0
    problems.stop()
    return Held(units, counts)
