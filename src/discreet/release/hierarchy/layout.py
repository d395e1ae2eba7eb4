"""Units and cells: which there are, who is whose parent, and where each number stands.

Units have an order that depends on names alone: by depth, then by parent, then by name. So the rows of an
output say nothing about the rows of the input, and equal tables give equal results whatever the order of
their rows. In each unit stand its queries, in each query its cells. Every unit has every cell of every query
that its level asks, whether anybody is counted there or not: a table that leaves empty cells out would tell
which cells are empty. So positions need no index, only arithmetic, and the whole table is one vector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Release
from discreet.errors import InputError
from discreet.estimation.tree import Integers, Tree
from discreet.release.tables import (
    ArrowArray,
    Codes,
    Problems,
    ReadTable,
    TableSource,
    Words,
    arrow,
    read_table,
    spread,
    strings,
)

# -- units -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listing:
    """Units as they were found, in any order: names, one level and one parent each (-1: none).

    `row` is the row of the file in which a unit first stands.
    """

    names: ArrowArray
    levels: tuple[str, ...]
    level: Codes
    parent: Codes
    row: Integers


def read_units(path: TableSource) -> ReadTable:
    """Read a table of units: unit, level, parent."""
    table = read_table(path, words=["unit", "level"], optional=["parent"], name="units")
    if not table.rows:
        problems = table.problems()
        problems.say("there are no units")
        problems.stop()
    return table


def read_tree(path: TableSource, release: Release | None) -> Tree:
    """Read a table of units and check it against the levels and paths of a release."""
    return listed_tree(read_units(path), release)


def nested_tree(path: TableSource, release: Release, geocodes: str) -> Tree:
    """Build the tree of units whose codes nest by prefix, from the lowest ones."""
    names = [level.name for level in release.levels]
    try:
        lengths = [int(part) for part in geocodes.split(",")]
    except ValueError:
        lengths = []
    if not lengths or sorted(set(lengths)) != lengths or lengths[0] < 1:
        raise InputError(f"geocodes is {geocodes!r}; it must be rising lengths such as 2,5,11")
    if len(names) - len(lengths) not in (0, 1):
        raise InputError(
            f"geocodes has {len(lengths)} lengths; the levels {', '.join(names)} need {len(names)}, or one "
            "fewer if the top is one unit"
        )
    table = read_table(path, words=["unit"], name="units")
    problems = table.problems()
    codes = table.words["unit"].values.to_pylist()
    wrong = np.array([len(code) != lengths[-1] for code in codes] + [False])
    problems.rows(
        wrong[table.words["unit"].codes], f"a geocode that is not {lengths[-1]} characters long", "unit"
    )
    problems.stop()
    top = len(names) > len(lengths)
    rows = [(names[0], names[0], -1)] if top else []
    above = {"": 0} if top else {}
    for level, length in enumerate(lengths):
        here = sorted({one[:length] for one in codes})
        upper = lengths[level - 1] if level else 0
        first = len(rows)
        rows += [(code, names[level + top], above.get(code[:upper], -1)) for code in here]
        above = {code: first + place for place, code in enumerate(here)}
    units, levels, parents = zip(*rows, strict=True)
    parent = np.array(parents, dtype=np.int32)
    codes_of = np.array([names.index(name) for name in levels], dtype=np.int32)
    found = Listing(strings(units), tuple(names), codes_of, parent, np.zeros(len(rows), dtype=np.int64))
    return checked_tree(found, release, problems)


def listed_tree(table: ReadTable, release: Release | None) -> Tree:
    """Return the tree of a table with one row a unit, checked as `read_tree` does."""
    problems = table.problems()
    again = np.ones(table.rows, dtype=bool)
    again[np.unique(table.words["unit"].codes, return_index=True)[1]] = False
    problems.rows(again, "a unit is listed twice", "unit")
    tree = tree_of(table, release, problems)
    problems.stop()
    return tree


def tree_of(table: ReadTable, release: Release | None, problems: Problems) -> Tree:
    """Return the tree that a table with unit, level and parent states, in one or many rows a unit.

    Without a tree there is nothing more to check: what is wrong with it is raised.
    """
    if "parent" not in table.words and (release is None or len(release.levels) > 1):
        raise InputError(
            f"{table.path.name} has no column parent; the tree of units is needed, either there or in a "
            "table of units (unit, level, parent)"
        )
    before = problems.count
    return checked_tree(_listing(table, problems), release, problems, before)


def checked_tree(found: Listing, release: Release | None, problems: Problems, before: int = 0) -> Tree:
    """Put units into canonical order, and check them against the levels and paths of a release.

    `before` is how many kinds of problems there were before those of the tree.
    """
    if release is not None:
        _check_levels(found, release, problems)
    if problems.count > before:
        problems.stop()
    tree, place = arrange(found)
    if release is not None:
        _check_paths(tree, found, place, release, problems)
    elif tree.size < len(found.level):
        problems.say("some units have no way up to a unit without a parent")
    if problems.count > before:
        problems.stop()
    return tree


def _listing(table: ReadTable, problems: Problems) -> Listing:
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


def _check_levels(found: Listing, release: Release, problems: Problems) -> None:
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


def _check_paths(tree: Tree, found: Listing, rank: Integers, release: Release, problems: Problems) -> None:
    """Check that the levels from the top to each lowest unit make a path that the release accounts for."""
    paths = {tuple("+".join(run) for run in release.runs(path)) for path in release.paths}
    chains: list[tuple[str, ...]] = [()]
    chain = np.zeros(tree.size + 1, dtype=np.int64)  # the last one stands for "no parent"
    for part in tree.depths:
        pairs = chain[tree.parent[part]] * len(tree.levels) + tree.kind[part]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        first = len(chains)
        for pair in distinct.tolist():
            before, level = divmod(pair, len(tree.levels))
            chains.append((*chains[before], tree.levels[level]))
        chain[part] = first + inverse
    known = np.array([one in paths for one in chains])
    bad = tree.leaf & ~known[chain[:-1]]
    if bad.any():
        example = ", ".join(chains[int(chain[np.flatnonzero(bad)[0]])])
        text = f"a unit lies on the path {example}, which the release does not have"
        _first(bad[rank], found, text, "level", problems)


def _first(wrong: NDArray[np.bool_], found: Listing, text: str, column: str, problems: Problems) -> None:
    """Report units by their first row in the file."""
    units = np.flatnonzero(wrong)
    if units.size:
        row = int(found.row[units].min())
        more = f", for {units.size} units" if units.size > 1 else ""
        problems.row(row, f"{text}{more}", column)


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
        below = children_order[spread(first, many)]
        here = below[np.lexsort((name_rank[below], place[found.parent[below]]))]
    every = np.concatenate(order) if order else np.empty(0, dtype=np.int64)
    above = found.parent[every]
    parent = np.where(above >= 0, place[above], -1)
    names = found.names.take(arrow().array(every))
    used = sorted({found.levels[i] for i in np.unique(found.level)})
    code = np.array([used.index(name) if name in used else -1 for name in found.levels], dtype=np.int64)
    return Tree(parent, code[found.level[every]], tuple(starts), tuple(used), names), place


def units_of(table: ReadTable, tree: Tree, problems: Problems, *, levels: bool = False) -> Integers:
    """Return the unit of each row of a table; report those not in the tree (-1) or of another level."""
    words = table.words["unit"]
    index = arrow("compute").index_in(words.values, value_set=tree.names).fill_null(-1)
    unit: Integers = np.append(index.to_numpy(), -1)[words.codes].astype(np.int64)
    problems.rows(unit < 0, "a unit that is not among the units", "unit")
    if levels:
        wrong = (unit >= 0) & (lookup(table.words["level"], tree.levels) != tree.kind[np.maximum(unit, 0)])
        problems.rows(wrong, "the level is not that of the table of units", "level")
    return unit


# -- cells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Layout:
    """The tree, the cells of each query by name, and the queries that each kind of unit asks, in order.

    `kind` is the kind of each unit: its level, unless said otherwise.
    """

    tree: Tree
    cells: Mapping[str, ArrowArray]
    asked: tuple[tuple[str, ...], ...]
    kind: Integers
    base: Integers = field(init=False, repr=False)
    """Where each unit begins, and where the table ends."""
    _offsets: list[dict[str, int]] = field(init=False, repr=False)
    _widths: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        offsets: list[dict[str, int]] = []
        widths = []
        for queries in self.asked:
            ends = np.cumsum([0, *(len(self.cells[query]) for query in queries)])
            offsets.append(dict(zip(queries, ends.tolist(), strict=False)))
            widths.append(int(ends[-1]))
        object.__setattr__(self, "_offsets", offsets)
        object.__setattr__(self, "_widths", np.array(widths, dtype=np.int64))
        object.__setattr__(self, "base", np.concatenate([[0], np.cumsum(self._widths[self.kind])]))

    @classmethod
    def of(cls, release: Release, tree: Tree, cells: Mapping[str, ArrowArray]) -> Layout:
        """Return the layout in which units have the queries of their level, in the order of the release."""
        queries = {level.name: tuple(query.name for query in level.queries) for level in release.levels}
        return cls(tree, cells, tuple(queries[run.split("+")[0]] for run in tree.levels), tree.kind)

    @classmethod
    def same(cls, tree: Tree, cells: Mapping[str, ArrowArray]) -> Layout:
        """Return the layout in which every unit has all of the queries."""
        return cls(tree, cells, (tuple(cells),), np.zeros(tree.size, np.int64))

    @property
    def size(self) -> int:
        """The number of cells of the whole table."""
        return int(self.base[-1])

    @property
    def queries(self) -> tuple[str, ...]:
        """All queries that some unit asks, in order of first appearance."""
        return tuple(dict.fromkeys(query for queries in self.asked for query in queries))

    def offset(self, kind: int, query: str) -> int:
        """Return where a query begins within a unit of a kind; -1 if the query is not asked there."""
        return self._offsets[kind].get(query, -1)

    def first(self, query: str) -> Integers:
        """Return for each unit the position of the first cell of a query; -1 where it is not asked."""
        offset = np.array([one.get(query, -1) for one in self._offsets], dtype=np.int64)[self.kind]
        return np.where(offset >= 0, self.base[:-1] + offset, -1)

    def chunks(self, rows: int) -> Iterator[tuple[slice, slice]]:
        """Cut the table into parts of whole units, of about so many rows: units, positions."""
        unit = 0
        while unit < self.tree.size:
            stop = int(np.searchsorted(self.base, self.base[unit] + rows, side="right")) - 1
            stop = min(max(stop, unit + 1), self.tree.size)
            yield slice(unit, stop), slice(int(self.base[unit]), int(self.base[stop]))
            unit = stop

    def columns(self, units: slice) -> Integers:
        """Say for each row of some units which column it is, if one unit of each kind is laid out in turn."""
        starts = np.cumsum([0, *self._widths[:-1]])
        base = self.base[units.start : units.stop + 1]
        return np.arange(base[0], base[-1]) + np.repeat(starts[self.kind[units]] - base[:-1], np.diff(base))

    def patterns(self) -> tuple[ArrowArray, Codes, Codes]:
        """Return all names of cells, and by column (see `columns`) the numbers of query and cell."""
        pa, pc, queries = arrow(), arrow("compute"), self.queries
        words = pa.chunked_array([self.cells[query] for query in queries], type=pa.string()).unique()
        codes = {query: pc.index_in(self.cells[query], value_set=words).to_numpy() for query in queries}
        query: list[Integers] = [np.empty(0, dtype=np.int64)]
        cell: list[Integers] = [np.empty(0, dtype=np.int64)]
        for names in self.asked:
            query += [np.full(len(codes[name]), queries.index(name)) for name in names]
            cell += [codes[name] for name in names]
        return words, np.concatenate(query).astype(np.int32), np.concatenate(cell).astype(np.int32)


def declared_cells(table: ReadTable, queries: Sequence[str]) -> dict[str, ArrowArray]:
    """Return the cells of each query from a table that declares them, in the order of its rows."""
    problems = table.problems()
    names, cells = table.words["query"], table.words["cell"]
    unknown = lookup(names, queries) < 0
    problems.rows(unknown, f"the release has no such query; it has {_some(queries)}", "query")
    pairs = names.codes.astype(np.int64) * len(cells.values) + cells.codes
    _, first = np.unique(pairs, return_index=True)
    again = np.ones(table.rows, dtype=bool)
    again[first] = False
    problems.rows(again, "a cell is declared twice for one query", "cell")
    words = names.values.to_pylist()
    for query in queries:
        if query not in words:
            problems.say(f"no cells are declared for query {query!r}")
    problems.stop()
    return {
        query: cells.values.take(arrow().array(cells.codes[names.codes == words.index(query)]))
        for query in queries
    }


def found_cells(table: ReadTable, queries: Sequence[str]) -> dict[str, ArrowArray]:
    """Return the cells that a table has anywhere for each query, in alphabetical order."""
    pc, names, cells = arrow("compute"), table.words["query"], table.words["cell"]
    words, found = names.values.to_pylist(), {}
    seen = np.zeros((len(words) + 1, len(cells.values) + 1), dtype=bool)
    seen[names.codes, cells.codes] = True
    for query in queries:
        mine = seen[words.index(query), :-1] if query in words else np.zeros(len(cells.values), dtype=bool)
        chosen = cells.values.take(arrow().array(np.flatnonzero(mine)))
        found[query] = chosen.take(pc.sort_indices(chosen))
    return found


def positions(
    layout: Layout, table: ReadTable, unit: Integers, problems: Problems
) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the position of each row, whose unit is known, and which cells of the table are there.

    Rows that have no position, or the same one, are reported.
    """
    queries, cells = table.words["query"], table.words["cell"]
    known = unit >= 0
    names = layout.queries
    query = lookup(queries, names)
    problems.rows(query < 0, f"the release has no such query; it has {_some(names)}", "query")
    # One table of offsets by kind of unit and query, one of cells by query and cell.
    offsets = np.full((len(layout.asked), len(names) + 1), -1, dtype=np.int32)
    for kind in range(len(layout.asked)):
        offsets[kind, :-1] = [layout.offset(kind, name) for name in names]
    offset = offsets[layout.kind[np.maximum(unit, 0)], query]
    problems.rows((query >= 0) & known & (offset < 0), "the unit's level does not ask this query", "query")
    ranks = np.full((len(names) + 1, len(cells.values) + 1), -1, dtype=np.int32)
    for number, name in enumerate(names):
        ranks[number, :-1] = (
            arrow("compute").index_in(cells.values, value_set=layout.cells[name]).fill_null(-1).to_numpy()
        )
    rank = ranks[query, cells.codes]
    problems.rows((query >= 0) & (rank < 0), "unknown cell: it is not declared for the query", "cell")
    good = known & (offset >= 0) & (rank >= 0)
    position: Integers = layout.base[np.maximum(unit, 0)]
    position += offset
    position += rank
    position[~good] = -1
    there = np.zeros(layout.size + 1, dtype=bool)
    there[position] = True
    if int(np.count_nonzero(there[:-1])) < int(np.count_nonzero(good)):
        good[np.unique(position, return_index=True)[1]] = False
        problems.rows(good, "a cell occurs twice for one unit and query", "cell")
    return position, there[:-1]


def lookup(words: Words, names: Sequence[str]) -> Codes:
    """Return for each row the place of its word among names, or -1."""
    place = {name: number for number, name in enumerate(names)}
    table = [place.get(word, -1) for word in words.values.to_pylist()]
    return np.array([*table, -1], dtype=np.int32)[words.codes]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
