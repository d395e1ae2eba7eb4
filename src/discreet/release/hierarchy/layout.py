"""Where each cell stands: units in canonical order, in each unit its queries, in each query its cells.

Every unit has every cell of every query that its level asks, whether anybody is counted there or not: a
table that leaves empty cells out would tell which cells are empty. So positions need no index, only
arithmetic, and the whole table is one vector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.hierarchy.arrow import arrow
from discreet.release.hierarchy.reading import Codes, ReadTable, Words
from discreet.release.hierarchy.tree import Integers, Tree
from discreet.release.problems import Problems


@dataclass(frozen=True, slots=True)
class Layout:
    """The tree, the cells of each query by name, and the queries that each kind of unit asks, in order.

    `kind` is the kind of each unit: its level, unless said otherwise.
    """

    tree: Tree
    cells: Mapping[str, Any]
    asked: tuple[tuple[str, ...], ...]
    kind: Codes
    base: Integers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        widths = [sum(len(self.cells[query]) for query in queries) for queries in self.asked]
        sizes = np.array(widths, dtype=np.int64)[self.kind]
        object.__setattr__(self, "base", np.concatenate([[0], np.cumsum(sizes)]))

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
        at = 0
        for name in self.asked[kind]:
            if name == query:
                return at
            at += len(self.cells[name])
        return -1

    def first(self, query: str) -> Integers:
        """Return for each unit the position of the first cell of a query; -1 where it is not asked."""
        offsets = [self.offset(kind, query) for kind in range(len(self.asked))]
        offset = np.array(offsets, dtype=np.int64)[self.kind]
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
        widths = [sum(len(self.cells[query]) for query in queries) for queries in self.asked]
        starts = np.cumsum([0, *widths[:-1]])
        base = self.base[units.start : units.stop + 1]
        return np.arange(base[0], base[-1]) + np.repeat(starts[self.kind[units]] - base[:-1], np.diff(base))

    def patterns(self) -> tuple[Any, Codes, Codes]:
        """Return all names of cells, and by column (see `columns`) the numbers of query and cell."""
        pa, pc, queries = arrow(), arrow("compute"), self.queries
        words = pa.chunked_array([self.cells[query] for query in queries], type=pa.string()).unique()
        codes = {query: pc.index_in(self.cells[query], value_set=words).to_numpy() for query in queries}
        query: list[Any] = [[]]
        cell: list[Any] = [[]]
        for names in self.asked:
            query += [np.full(len(codes[name]), queries.index(name)) for name in names]
            cell += [codes[name] for name in names]
        return words, np.concatenate(query).astype(np.int32), np.concatenate(cell).astype(np.int32)


def declared_cells(table: ReadTable, queries: Sequence[str]) -> dict[str, Any]:
    """Return the cells of each query from a table that declares them, in the order of its rows."""
    problems = table.problems()
    names, cells = table.words["query"], table.words["cell"]
    problems.rows(~_among(names, queries), f"the release has no such query; it has {_some(queries)}", "query")
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


def found_cells(table: ReadTable, queries: Sequence[str]) -> dict[str, Any]:
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


def positions(layout: Layout, table: ReadTable, place: Integers, problems: Problems) -> Integers:
    """Return the position of each row, and report rows that have none.

    `place` is the unit of each code of the table's column `unit`, or -1.
    """
    queries, cells = table.words["query"], table.words["cell"]
    unit = np.append(place, -1)[table.words["unit"].codes]
    known = unit >= 0
    problems.rows(~known, "a unit that is not among the units", "unit")
    names = layout.queries
    query = _lookup(queries, names)
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
    return position


def filled(layout: Layout, position: Integers, problems: Problems) -> NDArray[np.bool_]:
    """Report positions that come twice; return which cells of the table are there."""
    count = np.zeros(layout.size + 1, dtype=np.uint8)
    count[position] = 1
    if int(np.count_nonzero(count[:-1])) < int(np.count_nonzero(position >= 0)):
        _, first = np.unique(position, return_index=True)
        again = position >= 0
        again[first] = False
        problems.rows(again, "a cell occurs twice for one unit and query", "cell")
    return count[:-1] > 0


def describe(layout: Layout, position: int) -> tuple[int, str, int]:
    """Return the unit, the query and the cell's number at a position."""
    unit = int(np.searchsorted(layout.base, position, side="right")) - 1
    rest = position - int(layout.base[unit])
    for query in layout.asked[layout.kind[unit]]:
        if rest < len(layout.cells[query]):
            return unit, query, rest
        rest -= len(layout.cells[query])
    raise IndexError(position)


def _lookup(words: Words, names: Sequence[str]) -> Codes:
    place = {name: number for number, name in enumerate(names)}
    table = [place.get(word, -1) for word in words.values.to_pylist()]
    return np.array([*table, -1], dtype=np.int32)[words.codes]


def _among(words: Words, names: Sequence[str]) -> NDArray[np.bool_]:
    return _lookup(words, names) >= 0


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
