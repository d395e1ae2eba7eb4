"""The tree of geographic units: who is whose parent, and the order in which everything is written.

The order depends on names alone: by depth, then by parent, then by name. So the rows of an output say
nothing about the rows of the input, and equal tables give equal results whatever the order of their rows.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Release
from discreet.errors import InputError
from discreet.release.hierarchy.arrow import arrow
from discreet.release.hierarchy.reading import Codes, ReadTable, Words, read_table
from discreet.release.problems import Problems

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """Units in canonical order. `level` is an index into `levels`, `parent` one into the units (-1: none).

    `starts[d]` is the first unit of depth d; children of one unit stand together.
    """

    names: Any
    levels: tuple[str, ...]
    level: Codes
    parent: Codes
    starts: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of units."""
        return len(self.level)

    def slices(self) -> list[slice]:
        """Return the units of each depth, from the top down."""
        return [slice(a, b) for a, b in zip(self.starts, (*self.starts[1:], self.size), strict=True)]

    def first(self, units: int) -> Tree:
        """Return the tree of the first so many units, which must be whole depths."""
        starts = tuple(one for one in self.starts if one < units)
        return Tree(self.names.slice(0, units), self.levels, self.level[:units], self.parent[:units], starts)

    @property
    def digest(self) -> str:
        """The SHA-256 of the tree: all names, levels and parents, in canonical order."""
        digest = hashlib.sha256("\n".join(self.levels).encode())
        digest.update(self.level.astype("<i4").tobytes() + self.parent.astype("<i4").tobytes())
        digest.update("\n".join(self.names.to_pylist()).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Listing:
    """Units as they were found, in any order: names, one level and one parent each (-1: none).

    `row` is the row of the file in which a unit first stands.
    """

    names: Any
    levels: tuple[str, ...]
    level: Codes
    parent: Codes
    row: Integers


def listing(table: ReadTable, problems: Problems) -> Listing:
    """Collect the units of a table with the columns unit, level and parent, in one or many rows each."""
    units, levels = table.words["unit"], table.words["level"]
    none = Words(np.full(table.rows, -1, dtype=np.int32), arrow().array([], type=arrow().string()))
    above = table.words.get("parent", none)
    row = np.empty(len(units.values), dtype=np.int64)
    # Later writes win, so writing backwards leaves each unit's first row.
    row[units.codes[::-1]] = np.arange(table.rows - 1, -1, -1)
    known = arrow("compute").index_in(above.values, value_set=units.values)
    is_top = np.append(arrow("compute").equal(above.values, "").to_numpy(zero_copy_only=False), True)
    to_unit = np.append(known.fill_null(-2).to_numpy(zero_copy_only=False).astype(np.int32), -1)
    to_unit[is_top] = -1
    parents = to_unit[above.codes]
    problems.rows(parents == -2, "a child without a parent: the parent is not among the units", "parent")
    level, parent = levels.codes[row], parents[row]
    problems.rows(levels.codes != level[units.codes], "a unit has another level than before", "level")
    problems.rows(parents != parent[units.codes], "a unit has another parent than before", "parent")
    return Listing(units.values, tuple(levels.values.to_pylist()), level, parent, row)


def check_levels(found: Listing, release: Release, problems: Problems) -> None:
    """Check that each unit lies on a path of the release, from its top level to its lowest one.

    A unit that is merged with its only child has a run such as "State+County" as its level.
    """
    order = {level.name: place for place, level in enumerate(release.levels)}
    runs = {"+".join(run) for path in release.paths for run in release.runs(path)}
    allowed = np.array([name in runs for name in found.levels] + [False])
    bad = ~allowed[found.level]
    if bad.any():
        names = ", ".join(order)
        merged = ", or levels merged on one of its paths joined by +" if len(release.paths) > 1 else ""
        _first(bad, found, f"the release has no such level; it has {names}{merged}", "level", problems)
        return
    parts = [name.split("+") for name in found.levels]
    top = np.array([order.get(part[0], 0) for part in parts])[found.level]
    low = np.array([order.get(part[-1], 0) for part in parts])[found.level]
    has_parent = found.parent >= 0
    text = "a child without a parent: only units of the top level have none"
    _first((found.parent == -1) & (top > 0), found, text, "parent", problems)
    _first(has_parent & (top == 0), found, "a unit of the top level has a parent", "parent", problems)
    gap = has_parent & (top > 0) & (low[found.parent] + 1 != top)
    _first(gap, found, "a missing level: the parent is not of the level just above", "parent", problems)
    leaf = np.ones(len(top), dtype=bool)
    leaf[found.parent[has_parent]] = False
    last = len(order) - 1
    text = f"a missing level: a unit above the lowest level, {release.levels[-1].name}, has no children"
    _first(leaf & (low < last), found, text, "level", problems)


def check_paths(tree: Tree, found: Listing, rank: Integers, release: Release, problems: Problems) -> None:
    """Check that the levels from the top to each lowest unit make a path that the release accounts for."""
    paths = {tuple("+".join(run) for run in release.runs(path)) for path in release.paths}
    chains: list[tuple[str, ...]] = [()]
    chain = np.zeros(tree.size + 1, dtype=np.int64)  # the last one stands for "no parent"
    for part in tree.slices():
        pairs = chain[tree.parent[part]] * len(tree.levels) + tree.level[part]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        first = len(chains)
        for pair in distinct.tolist():
            before, level = divmod(pair, len(tree.levels))
            chains.append((*chains[before], tree.levels[level]))
        chain[part] = first + inverse
    leaf = np.ones(tree.size + 1, dtype=bool)
    leaf[tree.parent] = False
    known = np.array([one in paths for one in chains])
    bad = (leaf & ~known[chain])[: tree.size]
    if bad.any():
        example = ", ".join(chains[int(chain[np.flatnonzero(bad)[0]])])
        text = f"a unit lies on the path {example}, which the release does not have"
        _first(bad[rank], found, text, "level", problems)


def arrange(found: Listing) -> tuple[Tree, Integers]:
    """Put units into canonical order; also return the place of each unit of the listing in it."""
    pc = arrow("compute")
    count = len(found.level)
    by_name = pc.sort_indices(found.names).to_numpy()
    name_rank = np.empty(count, dtype=np.int64)
    name_rank[by_name] = np.arange(count)
    place = np.full(count, -1, dtype=np.int64)
    order: list[Integers] = []
    starts = []
    at = 0
    here = np.flatnonzero(found.parent == -1)
    here = here[np.argsort(name_rank[here])]
    children_order = np.argsort(found.parent, kind="stable")
    parents_sorted = found.parent[children_order]
    while here.size:
        starts.append(at)
        place[here] = np.arange(at, at + here.size)
        order.append(here)
        at += here.size
        first = np.searchsorted(parents_sorted, here, side="left")
        many = np.searchsorted(parents_sorted, here, side="right") - first
        below = children_order[_ranges(first, many)]
        here = below[np.lexsort((name_rank[below], place[found.parent[below]]))]
    every = np.concatenate(order) if order else np.empty(0, dtype=np.int64)
    parent = found.parent[every]
    parent = np.where(parent >= 0, place[parent], -1).astype(np.int32)
    names = found.names.take(arrow().array(every))
    used = sorted({found.levels[i] for i in np.unique(found.level)})
    code = np.array([used.index(name) if name in used else -1 for name in found.levels], dtype=np.int32)
    return Tree(names, tuple(used), code[found.level[every]], parent, tuple(starts)), place


def read_tree(path: str | os.PathLike[str], release: Release) -> Tree:
    """Read a table of units (unit, level, parent) and check it against the levels and paths of a release."""
    table = read_table(path, words=["unit", "level"], optional=["parent"])
    problems = table.problems()
    if "parent" not in table.words and len(release.levels) > 1:
        raise InputError(f"{table.path.name} has no column parent; the tree of units is needed")
    check_listed_once(table, problems)
    found = listing(table, problems)
    check_levels(found, release, problems)
    problems.stop()
    tree, place = arrange(found)
    check_paths(tree, found, place, release, problems)
    problems.stop()
    return tree


def check_listed_once(table: ReadTable, problems: Problems) -> None:
    """Report units that stand in several rows of a table of units."""
    again = np.ones(table.rows, dtype=bool)
    again[np.unique(table.words["unit"].codes, return_index=True)[1]] = False
    problems.rows(again, "a unit is listed twice", "unit")


def _ranges(first: Integers, many: Integers) -> Integers:
    """Concatenate the ranges first[i] .. first[i] + many[i]."""
    ends = np.cumsum(many)
    shift: Integers = np.repeat(first - (ends - many), many)
    return np.arange(shift.size) + shift


def _first(wrong: NDArray[np.bool_], found: Listing, text: str, column: str, problems: Problems) -> None:
    """Report units by their first row in the file."""
    units = np.flatnonzero(wrong)
    if units.size:
        row = int(found.row[units].min())
        more = f", for {units.size} units" if units.size > 1 else ""
        problems.row(row, f"{text}{more}", column)
