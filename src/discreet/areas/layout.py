"""Units and cells: which there are, who is whose parent, and where each number stands.

Units have an order that depends on names alone: by depth, then by parent, then by name. So the rows of an
output say nothing about the rows of the input, and equal tables give equal results whatever the order of
their rows. In each unit stand its queries, in each query its cells. Every unit has every cell of every query
that its level asks, whether anybody is counted there or not: a table that leaves empty cells out would tell
which cells are empty. So positions need no index, only arithmetic, and the whole table is one vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import ArrowArray, arrow, spread, strings
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Release
from discreet.budget.noise_table import Noises
from discreet.errors import InputError
from discreet.noise import Noise
from discreet.tables import (
    Codes,
    Numbers,
    Problems,
    ReadTable,
    TableSource,
    Words,
    read_table,
)

# -- units -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listing:
    """Units as they were found, in any order: names, one level and one parent each (-1: none).

    `row` is the row of the file in which a unit first stands, `problems` gathers what is wrong there.
    """

    names: ArrowArray
    levels: tuple[str, ...]
    level: Codes
    parent: Codes
    row: Integers | None = None
    problems: Problems = field(default_factory=Problems)

    @classmethod
    def nested(cls, levels: Sequence[str], codes: Sequence[Iterable[str]]) -> Listing:
        """List units level by level, each below the one whose code its own begins with, if there is any.

        A single unit is above all: it need not be a beginning.
        """
        rows: list[tuple[str, int, int]] = []
        above: dict[str, int] = {}
        for column, some in enumerate(codes):
            here, only = {}, next(iter(above.values())) if len(above) == 1 else -1
            for code in some:
                ahead = (above[code[:n]] for n in range(len(code), -1, -1) if code[:n] in above)
                here[code] = len(rows)
                rows.append((code, column, next(ahead, only)))
            above = here
        names, level, parent = zip(*rows, strict=True)
        places = np.array(level, dtype=np.int32), np.array(parent, dtype=np.int32)
        return cls(strings(names), tuple(levels), *places)

    def report(self, wrong: NDArray[np.bool_], text: str, column: str) -> None:
        """Report units by the first row of them in the file."""
        units = np.flatnonzero(wrong)
        if units.size:
            row = 0 if self.row is None else int(self.row[units].min())
            more = f", for {units.size} areas" if units.size > 1 else ""
            self.problems.row(row, f"{text}{more}", column)


def read_units(path: TableSource, problems: Problems | None = None) -> ReadTable:
    """Read a table of units: unit, level, parent."""
    words, more = ["unit", "level"], ["parent"]
    return read_table(path, words=words, optional=more, name="units", of="areas", problems=problems)


def read_tree(path: TableSource, release: Release | None) -> Tree:
    """Read a table of units and check it against the levels and paths of a release."""
    return tree_of(read_units(path), release, once=True)


def rising_lengths(geocodes: str) -> list[int]:
    """Read the lengths of the prefixes by which geocodes nest.

    >>> rising_lengths("2,5,11")
    [2, 5, 11]
    """
    try:
        lengths = [int(part) for part in geocodes.split(",")]
    except ValueError:
        lengths = []
    if not lengths or sorted(set(lengths)) != lengths or lengths[0] < 1:
        raise InputError(f"geocodes is {geocodes!r}; it must be rising lengths such as 2,5,11")
    return lengths


def read_lengths(release: Release, geocodes: str) -> list[int]:
    """Read the lengths of the prefixes by which geocodes nest, one a level; the top may be one area."""
    names, lengths = [level.name for level in release.levels], rising_lengths(geocodes)
    if len(names) - len(lengths) not in (0, 1):
        raise InputError(
            f"geocodes has {len(lengths)} lengths; the levels {', '.join(names)} need {len(names)}, or one "
            "fewer if the top is one area"
        )
    return lengths


def nested_tree(table: ReadTable, release: Release, lengths: Sequence[int]) -> Tree:
    """Build the tree of units whose codes nest by prefixes of these lengths, from a table of the lowest."""
    names = [level.name for level in release.levels]
    top = len(names) - len(lengths)
    codes = table.words["unit"].values.to_pylist()
    wrong = np.array([len(code) != lengths[-1] for code in codes])
    text = f"a geocode that is not {lengths[-1]} characters long"
    table.problems.rows(wrong[table.words["unit"].codes], text, "unit")
    table.problems.stop()
    by_level = [[names[0]]] * top + [sorted({code[:length] for code in codes}) for length in lengths]
    return checked_tree(Listing.nested(names, by_level), release)


def tree_of(table: ReadTable, release: Release | None, *, once: bool = False) -> Tree:
    """Return the tree that a table with unit, level and parent states, in one row a unit if `once`.

    Without a tree there is nothing more to check: what is wrong with it is raised.
    """
    if "parent" not in table.words and (release is None or len(release.levels) > 1):
        raise InputError(
            f"{table.path.name} has no column parent; the tree of areas is needed, either there or in a "
            "table of areas (unit, level, parent)"
        )
    pc, problems, before = arrow("compute"), table.problems, table.problems.count
    units, levels = table.words["unit"], table.words["level"]
    none = Words(np.full(table.rows, -1, dtype=np.int32), strings([]))
    above = table.words.get("parent", none)
    row = np.empty(len(units.values), dtype=np.int64)
    # Later writes win, so writing backwards leaves each unit's first row.
    row[units.codes[::-1]] = np.arange(table.rows - 1, -1, -1)
    if once:
        problems.rows(row[units.codes] != np.arange(table.rows), "an area is listed twice", "unit")
    to_unit = np.append(pc.index_in(above.values, value_set=units.values).fill_null(-2).to_numpy(), -1)
    to_unit[np.append(pc.equal(above.values, "").to_numpy(zero_copy_only=False), True)] = -1
    parents = to_unit.astype(np.int32)[above.codes]
    problems.rows(parents == -2, "a child without a parent: the parent is not among the areas", "parent")
    level, parent = levels.codes[row], parents[row]
    problems.rows(levels.codes != level[units.codes], "an area has another level than before", "level")
    problems.rows(parents != parent[units.codes], "an area has another parent than before", "parent")
    names = tuple(levels.values.to_pylist())
    return checked_tree(Listing(units.values, names, level, parent, row, problems), release, before)


def checked_tree(listing: Listing, release: Release | None, before: int = 0) -> Tree:
    """Put units into canonical order, and check them against the levels and paths of a release.

    `before` is how many kinds of problems there were before those of the tree.
    """
    if release is not None:
        _check_levels(listing, release)
    if listing.problems.count > before:
        listing.problems.stop()
    tree, node = arrange(listing)
    if release is not None:
        _check_paths(tree, listing, node, release)
    elif tree.size < len(listing.level):
        listing.problems.at("some areas have no way up to an area without a parent")
    if listing.problems.count > before:
        listing.problems.stop()
    return tree


def _check_levels(listing: Listing, release: Release) -> None:
    """Check that each unit lies on a path of the release, from its top level to its lowest one.

    A unit that is merged with its only child has a run such as "State+County" as its level.
    """
    order = {level.name: rank for rank, level in enumerate(release.levels)}
    runs = {"+".join(run) for path in release.paths for run in release.runs(path)}
    bad = ~np.array([name in runs for name in listing.levels])[listing.level]
    if bad.any():
        merged = ", or levels merged on one of its paths joined by +" if len(release.paths) > 1 else ""
        listing.report(bad, f"the release has no such level; it has {', '.join(order)}{merged}", "level")
        return
    # a name that no area has may be one that the release lacks: its rank is asked for by nobody
    parts = [name.split("+") if name in runs else None for name in listing.levels]
    top = np.array([-1 if part is None else order[part[0]] for part in parts])[listing.level]
    low = np.array([-1 if part is None else order[part[-1]] for part in parts])[listing.level]
    has_parent = listing.parent >= 0
    leaf = np.ones(len(top), dtype=bool)
    leaf[listing.parent[has_parent]] = False
    text = "a child without a parent: only areas of the top level have none"
    listing.report((listing.parent == -1) & (top > 0), text, "parent")
    listing.report(has_parent & (top == 0), "an area of the top level has a parent", "parent")
    gap = has_parent & (top > 0) & (low[listing.parent] + 1 != top)
    listing.report(gap, "a missing level: the parent is not of the level just above", "parent")
    text = f"a missing level: an area above the lowest level, {release.levels[-1].name}, has no children"
    listing.report(leaf & (low < len(order) - 1), text, "level")
    for index, level in enumerate(release.levels):
        here = (top <= index) & (index <= low)
        if level.areas is not None and (many := int(here.sum())) > level.areas:
            text = f"the release states areas = {level.areas} for level {level.name}, and there are {many}"
            listing.report(here, text, "level")


def _check_paths(tree: Tree, listing: Listing, rank: Integers, release: Release) -> None:
    """Check that the levels from the top to each lowest unit make a path that the release accounts for."""
    paths = {tuple("+".join(run) for run in release.runs(path)) for path in release.paths}
    chains: list[tuple[str, ...]] = [()]
    chain = np.zeros(tree.size + 1, dtype=np.int64)  # the last one stands for "no parent"
    for part in tree.depths:
        pairs = chain[tree.parent[part]] * len(tree.levels) + tree.kind[part]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        chain[part] = len(chains) + inverse
        for before, level in zip(*np.divmod(distinct, len(tree.levels)), strict=True):
            chains.append((*chains[before], tree.levels[level]))
    bad = tree.leaf & ~np.array([levels in paths for levels in chains])[chain[:-1]]
    if bad.any():
        example = ", ".join(chains[int(chain[np.argmax(bad)])])
        text = f"an area lies on the path {example}, which the release does not have"
        listing.report(bad[rank], text, "level")


def arrange(listing: Listing) -> tuple[Tree, Integers]:
    """Put units into canonical order; also return the place of each unit of the listing in it."""
    count = len(listing.level)
    name_rank = np.empty(count, dtype=np.int64)
    name_rank[arrow("compute").sort_indices(listing.names).to_numpy()] = np.arange(count)
    node = np.full(count, -1, dtype=np.int64)
    order: list[Integers] = [np.empty(0, dtype=np.int64)]
    starts, at = [], 0
    here = np.flatnonzero(listing.parent == -1)
    here = here[np.argsort(name_rank[here])]
    children_order = np.argsort(listing.parent, kind="stable")
    parents_sorted = listing.parent[children_order]
    while here.size:
        starts.append(at)
        node[here] = np.arange(at, at + here.size)
        order.append(here)
        at += here.size
        first = np.searchsorted(parents_sorted, here, side="left")
        many = np.searchsorted(parents_sorted, here, side="right") - first
        below = children_order[spread(first, many)]
        here = below[np.lexsort((name_rank[below], node[listing.parent[below]]))]
    every = np.concatenate(order)
    above = listing.parent[every]
    names = listing.names.take(arrow().array(every))
    used = sorted({listing.levels[i] for i in np.unique(listing.level)})
    code = np.array([used.index(name) if name in used else -1 for name in listing.levels], dtype=np.int64)
    parent = np.where(above >= 0, node[above], -1)
    return Tree(parent, code[listing.level[every]], tuple(starts), tuple(used), names), node


def units_of(table: ReadTable, tree: Tree, *, levels: bool = False) -> Integers:
    """Return the unit of each row of a table; report those not in the tree (-1) or of another level."""
    words = table.words["unit"]
    index = arrow("compute").index_in(words.values, value_set=tree.names).fill_null(-1)
    unit: Integers = np.append(index.to_numpy(), -1)[words.codes].astype(np.int64)
    table.problems.rows(unit < 0, "an area that is not among the areas", "unit")
    if levels:
        wrong = (unit >= 0) & (lookup(table.words["level"], tree.levels) != tree.kind[np.maximum(unit, 0)])
        table.problems.rows(wrong, "the level is not that of the table of areas", "level")
    return unit


# -- cells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """The tree, the cells of each query by name, and the queries that each kind of unit asks, in order.

    `kind` is the kind of each unit: its level, unless said otherwise.
    """

    tree: Tree
    cells: Mapping[str, ArrowArray]
    asked: tuple[tuple[str, ...], ...]
    kind: Integers

    @cached_property
    def _ends(self) -> list[Integers]:
        """Where each query of a unit of each kind begins, and where the unit ends."""
        return [np.cumsum([0, *(len(self.cells[query]) for query in some)]) for some in self.asked]

    @cached_property
    def _widths(self) -> Integers:
        return np.array([ends[-1] for ends in self._ends], dtype=np.int64)

    @cached_property
    def base(self) -> Integers:
        """Where each unit begins, and where the table ends."""
        return np.concatenate([[0], np.cumsum(self._widths[self.kind])])

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
        asked = self.asked[kind]
        return int(self._ends[kind][asked.index(query)]) if query in asked else -1

    def first(self, query: str) -> Integers:
        """Return for each unit the position of the first cell of a query; -1 where it is not asked."""
        offset = np.array([self.offset(kind, query) for kind in range(len(self.asked))])[self.kind]
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

    @cached_property
    def _patterns(self) -> tuple[ArrowArray, Codes, Codes]:
        """All names of cells, and by column (see `columns`) the numbers of query and cell."""
        pa, pc, queries = arrow(), arrow("compute"), self.queries
        words = pa.chunked_array([self.cells[query] for query in queries], type=pa.string()).unique()
        codes = {query: pc.index_in(self.cells[query], value_set=words).to_numpy() for query in queries}
        every = [name for names in self.asked for name in names]
        query = np.repeat([queries.index(name) for name in every], [len(codes[name]) for name in every])
        cell = np.concatenate([np.empty(0, dtype=np.int32), *(codes[name] for name in every)])
        return words, query.astype(np.int32), cell.astype(np.int32)

    def rows(self, units: slice) -> dict[str, tuple[ArrowArray, Numbers]]:
        """Name the rows of some units: the words of each column, and which of them stands in each row."""
        tree, column = self.tree, self.columns(units)
        width = np.diff(self.base[units.start : units.stop + 1])
        words, query, cell = self._patterns
        return {
            "unit": (tree.names.slice(units.start, width.size), np.repeat(np.arange(width.size), width)),
            "level": (strings(tree.levels), np.repeat(tree.kind[units], width)),
            "query": (strings(self.queries), query[column]),
            "cell": (words, cell[column]),
        }


def declared_cells(table: ReadTable, queries: Sequence[str]) -> dict[str, ArrowArray]:
    """Return the cells of each query from a table that declares them, in the order of its rows."""
    names, cells = table.words["query"], table.words["cell"]
    table.problems.rows(lookup(names, queries) < 0, _no_such_query(queries), "query")
    pairs = names.codes.astype(np.int64) * len(cells.values) + cells.codes
    again = np.ones(table.rows, dtype=bool)
    again[np.unique(pairs, return_index=True)[1]] = False
    table.problems.rows(again, "a cell is declared twice for one query", "cell")
    words = names.values.to_pylist()
    for query in queries:
        if query not in words:
            table.problems.at(f"no cells are declared for query {query!r}")
    table.problems.stop()
    return {
        query: cells.values.take(arrow().array(cells.codes[names.codes == words.index(query)]))
        for query in queries
    }


def found_cells(table: ReadTable, queries: Sequence[str]) -> dict[str, ArrowArray]:
    """Return the cells that a table has anywhere for each query, in alphabetical order."""
    cells = table.words["cell"]
    seen = np.zeros((len(queries) + 1, len(cells.values)), dtype=bool)
    seen[lookup(table.words["query"], queries), cells.codes] = True
    chosen = [cells.values.take(arrow().array(np.flatnonzero(mine))) for mine in seen[:-1]]
    return {query: one.sort() for query, one in zip(queries, chosen, strict=True)}


def positions(layout: Layout, table: ReadTable, unit: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the position of each row, whose unit is known, and which cells of the table are there.

    Rows that have no position, or the same one, are reported.
    """
    cells, names, problems = table.words["cell"], layout.queries, table.problems
    known, query = unit >= 0, lookup(table.words["query"], names)
    problems.rows(query < 0, _no_such_query(names), "query")
    # One table of offsets by kind of unit and query, one of cells by query and cell; the last stand for none.
    offsets = np.full((len(layout.asked), len(names) + 1), -1, dtype=np.int32)
    ranks = np.full((len(names) + 1, len(cells.values)), -1, dtype=np.int32)
    for number, name in enumerate(names):
        offsets[:, number] = [layout.offset(kind, name) for kind in range(len(layout.asked))]
        places = arrow("compute").index_in(cells.values, value_set=layout.cells[name])
        ranks[number] = places.fill_null(-1).to_numpy()
    offset = offsets[layout.kind[np.maximum(unit, 0)], query]
    problems.rows((query >= 0) & known & (offset < 0), "the area's level does not ask this query", "query")
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
        problems.rows(good, "a cell occurs twice for one area and query", "cell")
    return position, there[:-1]


def lookup(words: Words, names: Sequence[str]) -> Codes:
    """Return for each row the place of its word among names, or -1."""
    number_of = {name: number for number, name in enumerate(names)}
    table = [number_of.get(word, -1) for word in words.values.to_pylist()]
    return np.array([*table, -1], dtype=np.int32)[words.codes]


def _no_such_query(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"the release has no such query; it has {', '.join(map(repr, names[:12]))}{more}"


Laws = Sequence[Mapping[str, Noise]]
"""The law of the noise of each query, for each kind of unit."""


def laws_of(layout: Layout, known: Noises) -> list[dict[str, Noise]]:
    """Return the laws of a release, if the kinds of units are levels."""
    kinds = zip(layout.tree.levels, layout.asked, strict=True)
    return [{query: known[level, query] for query in asked} for level, asked in kinds]


def variances_of(layout: Layout, laws: Laws) -> Floats:
    """Return the variance of the noise of each column (see `Layout.columns`)."""
    every = [(query, law) for laws_of_level in laws for query, law in laws_of_level.items()]
    return np.concatenate([np.full(len(layout.cells[query]), law.true_variance()) for query, law in every])


def cell_order(layout: Layout, query: str, attributes: Attributes | None) -> Integers:
    """Return where the cells of a query stand in the table, in the order of the attributes."""
    known = layout.cells[query]
    if attributes is None:
        return np.arange(len(known))
    table = attributes.tabulation(query)
    labels = np.array(list(table.labels), dtype=object).reshape(table.shape or (1,))
    if table.factors:  # written in another order than the attributes'
        labels = labels.transpose(np.argsort([factor.attribute for factor in table.factors]))
    index = arrow("compute").index_in(strings(labels.ravel().tolist()), value_set=known)
    if index.null_count or len(known) != table.cells:
        raise InputError(
            f"the cells of query {query!r} do not match the attributes: {len(known)} were found, "
            f"{table.cells} are expected, and {index.null_count} of them missing; a cell is named by "
            f"its values, such as {next(table.labels)!r}"
        )
    order: Integers = index.to_numpy().astype(np.int64)
    return order


def check_cells(layout: Layout, attributes: Attributes) -> None:
    """Refuse cells that are not those that the attributes give the queries."""
    for query in layout.queries:
        cell_order(layout, query, attributes)
