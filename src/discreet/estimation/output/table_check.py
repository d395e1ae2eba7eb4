"""`check-tables`: whole-number tables read back. Records are counted again, and every number is compared.

The microdata, or the histogram's lowest areas, are counted in every detailed cell of every area. From these
counts alone come all tables that the directory has: the column `table` of its estimates, its histogram, its
exact counts, and the sums that are held within limits. Memory grows with the cells that are not zero; files
are read some rows at a time, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import table_cells
from discreet.areas.layout import read_tree, read_units
from discreet.areas.output import ArrowArray, ArrowTable, arrow, find_output, inert, strings
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Tabulation
from discreet.budget.presets import load_attributes
from discreet.errors import DiscreetError, InputError
from discreet.estimation.input.joint_estimates import name_of_query
from discreet.estimation.output.estimate_table import TABLES
from discreet.estimation.output.microdata import area_columns, areas_above, check_people
from discreet.faces import Summarised
from discreet.files import FilePath
from discreet.ledger.manifests import read_manifest
from discreet.tables import Kind, Numbers, Problem, Problems, find_columns, open_table, words_of

_MOST_SHOWN = 5
"""Numbers of one kind that are shown."""


@dataclass(frozen=True, slots=True)
class WrongNumber:
    """A number of a file that is not what the records count to, or lies outside a limit.

    `found` is None if it is missing; `counted` is what the records count to, or the limit.
    """

    unit: str
    level: str
    query: str
    cell: str
    found: int | None
    counted: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Numbers of one file that differ from what is counted: what they are, how many, and the first ones.

    `what` is "table" (estimates), "histogram", "exact", "too few" or "too many" (of what is held), or
    "impossible" (records that no record can be).
    """

    what: str
    file: str
    count: int
    first: tuple[WrongNumber, ...]


@dataclass(frozen=True, slots=True)
class TableCheck(Summarised):
    """What reading whole-number tables back has shown."""

    tables: Path
    counted_from: str
    """The file that was counted."""
    people: int
    areas: int
    numbers: int
    """How many numbers were compared."""
    queries: tuple[str, ...]
    """Queries whose tables were compared in every area."""
    not_checked: tuple[str, ...]
    """Queries that add up something else than records."""
    held: int
    """Exact counts and limits that were compared."""
    differences: tuple[Difference, ...]
    problems: tuple[Problem, ...]
    """What cannot be read: areas or values that do not exist, rows that are missing or come twice."""
    not_private: bool = False

    @property
    def agrees(self) -> bool:
        """Whether all numbers are those that the records count to."""
        return not (self.differences or self.problems)


def check_tables(tables: FilePath) -> TableCheck:
    """Count the microdata or histogram in a directory again, and compare all tables there with the counts.

    `tables` is the output of `estimate` with `histogram` or `microdata`, or of `measure` with
    `post="tables"`. Nothing stops at the first problem: the result has all of them.

    >>> import tempfile
    >>> from discreet.measurement import measure, write_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release, units, records, _ = write_example(folder)
    ...     done = measure(release, None, Path(folder, "out"), records=records, units=units,
    ...         rehearsal=1, post="tables")
    ...     found = check_tables(done.out)
    >>> found.agrees, found.counted_from, found.areas  # slow
    (True, 'microdata.NOT-PRIVATE.csv', 25)
    >>> found.queries
    ('total', 'age', 'detailed', 'limitation', 'adult * limitation')
    """
    return _Checker.open(Path(tables)).check()


# -- counting ------------------------------------------------------------------------------------------------


def _read_areas(file: Path) -> Tree:
    """Read the areas of an output, whose names may come again at another level."""
    table = read_units(file)
    unit, above = table.words["unit"], table.words["parent"]
    if len(unit.values) == table.rows:
        return read_tree(file, None)
    # in the order of a tree: of the areas so called, the last one before a row is above it
    names, parents = unit.values.to_pylist(), above.values.to_pylist()
    last: dict[str, int] = {}
    parent = np.full(table.rows, -1, dtype=np.int64)
    for row, (mine, over) in enumerate(zip(unit.codes.tolist(), above.codes.tolist(), strict=True)):
        parent[row] = last.get(parents[over], -1) if over >= 0 else -1
        last[names[mine]] = row
    depth = np.zeros(table.rows, dtype=np.int64)
    for row in range(table.rows):
        depth[row] = 0 if parent[row] < 0 else depth[parent[row]] + 1
    if (np.diff(depth) < 0).any():
        raise InputError(f"{file.name} is not in the order in which it was written")
    level = table.words["level"]
    starts = tuple(np.searchsorted(depth, np.arange(depth.max() + 1)).tolist())
    kinds = level.codes.astype(np.int64)
    return Tree(
        parent, kinds, starts, tuple(level.values.to_pylist()), unit.values.take(arrow().array(unit.codes))
    )


def _queries(told: Mapping[str, object]) -> list[str]:
    """Return the queries in full that a manifest of `estimate` lists, or that of `measure` by their noise."""
    listed, noise = told.get("queries"), told.get("noise")
    if not isinstance(listed, list):
        rows = noise if isinstance(noise, list) else []
        listed = [row.get("query") for row in rows if isinstance(row, dict)]
    return [text for text in listed if isinstance(text, str)]


class _Query:
    """A query as a table: its cells by name, in the order of the attributes, and the cell that each detailed
    cell belongs to."""

    def __init__(self, table: Tabulation) -> None:
        names = np.array(list(table.labels), dtype=object).reshape(table.shape)
        names = names.transpose(np.argsort([factor.attribute for factor in table.factors], kind="stable"))
        self.table, self.labels = table, strings(names.ravel().tolist())
        self.of_cell = table_cells(table)


@dataclass(frozen=True)
class _Counts:
    """How many records each unit has in each cell, by unit * cells + cell, in order; none is zero."""

    keys: Integers
    counts: Integers
    cells: int

    @classmethod
    def of(cls, parts: Sequence[tuple[Integers, Integers]], cells: int) -> _Counts:
        none = np.zeros(0, dtype=np.int64)
        keys = np.concatenate([none, *(keys for keys, _ in parts)])
        counts = np.concatenate([none, *(counts for _, counts in parts)])
        distinct, of = np.unique(keys, return_inverse=True)
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, of.ravel(), counts)
        return cls(distinct[sums != 0], sums[sums != 0], cells)

    def with_areas_above(self, tree: Tree) -> _Counts:
        """Add the counts of each unit to those above it."""
        every, below = [], self
        for part in reversed(tree.depths):
            first, last = np.searchsorted(below.keys, [part.start * self.cells, part.stop * self.cells])
            keys, counts = below.keys[first:last], below.counts[first:last]
            every.append((keys, counts))
            unit, cell = np.divmod(keys, self.cells)
            above = tree.parent[unit]
            up = above >= 0
            rest = below.keys[:first], below.counts[:first]
            below = _Counts.of([rest, (above[up] * self.cells + cell[up], counts[up])], self.cells)
        return _Counts.of(every, self.cells)

    def tabulated(self, query: _Query, units: Integers) -> _Counts:
        """Return the counts of another table in some units and those between them."""
        low, high = np.searchsorted(self.keys, [units.min() * self.cells, (units.max() + 1) * self.cells])
        unit, cell = np.divmod(self.keys[low:high], self.cells)
        mine = query.of_cell[cell]
        inside = mine >= 0
        many = query.table.cells
        return _Counts.of([(unit[inside] * many + mine[inside], self.counts[low:high][inside])], many)

    def at(self, keys: Integers) -> Integers:
        """Return the counts at some keys."""
        if not self.keys.size:
            return np.zeros(len(keys), dtype=np.int64)
        position = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[position] == keys, self.counts[position], 0)


@dataclass
class _Differences:
    """Differences of one kind, as they are found."""

    what: str
    file: str
    count: int = 0
    first: list[WrongNumber] = field(default_factory=list)


@dataclass
class _Checker:
    """A directory, what it says of its tables, and what was found in them so far."""

    folder: Path
    tree: Tree
    attributes: Attributes
    texts: Mapping[str, str]
    """The queries in full, by their names."""
    problems: Problems
    compared: int = 0
    held: int = 0
    queries: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    found: dict[tuple[str, str], _Differences] = field(default_factory=dict)
    known: dict[str, _Query | None] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> _Checker:
        """Read what the tables are about."""
        if not folder.is_dir():
            raise InputError(f"{folder} is no directory; name the output of `estimate` or `measure`")
        if not (find_output(folder, "microdata") or find_output(folder, "histogram")):
            raise InputError(
                f"{folder} has neither microdata nor a histogram to count: write them with `estimate "
                "--microdata` or `measure --post tables`"
            )
        units, told = find_output(folder, "units"), read_manifest(folder)
        about = find_output(folder, "attributes", ["toml"]) or find_output(folder, "release", ["toml"])
        gone = [
            name
            for name, path in (("units", units), ("attributes.toml", about), ("manifest.json", told))
            if path is None
        ]
        if units is None or about is None or told is None:
            raise InputError(f"{folder} lacks {' and '.join(gone)}, or it cannot be read")
        attributes, tree, many = load_attributes(about), _read_areas(units), told.get("units")
        check_people(attributes, ["total"])
        if not isinstance(many, int) or not 0 < many <= tree.size:
            raise InputError(
                f"manifest.json of {folder} has {many!r} units; it must say how many were written"
            )
        named = {name_of_query(text): text for text in _queries(told)}
        if not named:
            raise InputError(f"manifest.json of {folder} does not say which queries were written")
        return cls(folder, tree.first(many), attributes, named, Problems())

    def check(self) -> TableCheck:
        """Count the records, and compare everything with them."""
        people, histogram = find_output(self.folder, "microdata"), find_output(self.folder, "histogram")
        source = people or histogram
        assert source is not None
        cells = self.attributes.cells
        lowest = _Counts.of(list(self._records(people) if people else self._lowest(source)), cells)
        counted = lowest.with_areas_above(self.tree)
        if histogram is not None:
            self._compare_histogram(histogram, counted)
        self._compare_impossible(source, lowest)
        for stem in ("estimates", TABLES):
            if (tables := find_output(self.folder, stem)) is not None:
                self._compare(tables, "table", counted, "table", complete=True)
        if (invariants := find_output(self.folder, "invariants")) is not None:
            self._compare(invariants, "count", counted, "exact")
        if (held := find_output(self.folder, "held")) is not None:
            self._compare_held(held, counted)
        return TableCheck(
            tables=self.folder,
            counted_from=source.name,
            people=int(lowest.counts.sum()),
            areas=self.tree.size,
            numbers=self.compared,
            queries=tuple(self.queries),
            not_checked=tuple(self.others),
            held=self.held,
            differences=tuple(
                Difference(difference.what, difference.file, difference.count, tuple(difference.first))
                for difference in self.found.values()
            ),
            problems=self.problems.found,
            not_private="NOT-PRIVATE" in source.name,
        )

    # -- reading -------------------------------------------------------------------------------------------

    def _batches(
        self, file: Path, texts: Sequence[str], numbers: Mapping[str, Kind]
    ) -> Iterator[tuple[int, Problems, dict[str, ArrowTable]]]:
        """Yield columns of a file, some rows at a time, and the row at which each part starts."""
        opened = open_table(file, wanted=[*texts, *numbers])
        problems = self.problems.of(opened.shown, first_line=opened.first_line, word=opened.word)
        before = problems.count
        columns = find_columns(
            opened.names, needed=[*texts, *numbers], optional=[], table=opened.shown, problems=problems
        )
        if problems.count > before:
            return
        kinds: dict[str, Kind] = {columns[name]: "text" for name in texts}
        kinds |= {columns[name]: kind for name, kind in numbers.items()}
        start = 0
        for batch in opened.batches(kinds, problems):
            columns_read = {name: batch.column(columns[name]) for name in (*texts, *numbers)}
            columns_read |= {name: arrow().chunked_array([columns_read[name]]) for name in texts}
            yield start, problems, columns_read
            start += batch.num_rows

    def _places(self, column: ArrowTable, names: ArrowTable) -> Integers:
        """Return the place of each text of a column among names, or among names for spreadsheets."""
        words, pc = words_of(column), arrow("compute")
        index = pc.index_in(words.values, value_set=names).fill_null(-1).to_numpy()
        if (index < 0).any():
            other = pc.index_in(words.values, value_set=inert(names)).fill_null(-1).to_numpy()
            index = np.where(index < 0, other, index)
        return np.append(index, -1)[words.codes].astype(np.int64)

    def _cells(self, columns: Mapping[str, ArrowTable], problems: Problems, start: int) -> Integers:
        """Return the detailed cell of each row, or -1."""
        rows = len(columns["unit"])
        cell, good = np.zeros(rows, dtype=np.int64), np.ones(rows, dtype=bool)
        for name, values in self.attributes.values:
            position = self._places(columns[name], strings(list(values)))
            problems.rows(position < 0, f"a value that attribute {name!r} does not have", name, start=start)
            cell, good = cell * len(values) + np.maximum(position, 0), good & (position >= 0)
        return np.where(good, cell, -1)

    @cached_property
    def _names(self) -> tuple[ArrowArray, Integers]:
        """The different names of areas, and the place of each area's name: one may come again at another
        level, where an area is the whole of the one above."""
        coded = self.tree.names.dictionary_encode()
        return coded.dictionary, coded.indices.to_numpy().astype(np.int64)

    def _units(self, columns: Mapping[str, ArrowTable], problems: Problems, start: int) -> Integers:
        """Return the area of each row by its name and level, or -1."""
        names, name_of = self._names
        many = len(self.tree.levels)
        level = self._places(columns["level"], strings(self.tree.levels))
        wanted = np.where(level < 0, -1, self._places(columns["unit"], names) * many + level)
        keys = name_of * many + self.tree.kind
        order = np.argsort(keys, kind="stable")
        position = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(order) - 1)]
        unit: Integers = np.where((wanted >= 0) & (keys[position] == wanted), position, -1)
        problems.rows(unit < 0, "an area that is not among the areas of its level", "unit", start=start)
        return unit

    def _lowest_units(self, columns: Mapping[str, ArrowTable], problems: Problems, start: int) -> Integers:
        """Return the lowest area of each row by its name, or -1."""
        names, name_of = self._names
        lowest = np.full(len(names) + 1, -1, dtype=np.int64)
        lowest[name_of[self.tree.leaf]] = np.flatnonzero(self.tree.leaf)
        unit = lowest[self._places(columns["unit"], names)]
        problems.rows(unit < 0, "an area that is not among the lowest areas", "unit", start=start)
        return unit

    def _records(self, file: Path) -> Iterator[tuple[Integers, Integers]]:
        """Yield how many records there are by unit and cell, some rows of the microdata at a time."""
        names, name_of = self._names
        above = area_columns(self.tree, self.attributes)
        texts = ["unit", *(column for _, column in above), *self.attributes.names]
        for start, problems, columns in self._batches(file, texts, {}):
            unit, cell = self._lowest_units(columns, problems, start), self._cells(columns, problems, start)
            areas = areas_above(self.tree, np.maximum(unit, 0), [level for level, _ in above])
            for (_, column), area in zip(above, areas, strict=True):
                stated = self._places(columns[column], names)
                problems.rows(
                    (unit >= 0) & (stated != np.append(name_of, -1)[area]),
                    "not the area that the lowest area lies in",
                    column,
                    start=start,
                )
            good = (unit >= 0) & (cell >= 0)
            keys, counts = np.unique(unit[good] * self.attributes.cells + cell[good], return_counts=True)
            yield keys, counts.astype(np.int64)

    def _entries(self, file: Path) -> Iterator[tuple[Integers, Integers]]:
        """Yield unit and cell, as one number, and count of the rows of the histogram."""
        for start, problems, columns in self._batches(
            file, ["unit", "level", *self.attributes.names], {"count": "whole"}
        ):
            unit, cell = self._units(columns, problems, start), self._cells(columns, problems, start)
            count = columns["count"].to_numpy(zero_copy_only=False).astype(np.int64)
            problems.rows(count < 0, "a count is below zero", "count", start=start)
            good = (unit >= 0) & (cell >= 0)
            yield unit[good] * self.attributes.cells + cell[good], count[good]

    def _lowest(self, file: Path) -> Iterator[tuple[Integers, Integers]]:
        for keys, counts in self._entries(file):
            mine = self.tree.leaf[keys // self.attributes.cells]
            yield keys[mine], counts[mine]

    # -- comparing -----------------------------------------------------------------------------------------

    def _differ(
        self,
        what: str,
        file: Path,
        wrong: NDArray[np.bool_],
        unit: Integers,
        names: Sequence[tuple[str, str]],
        counts: Numbers,
        counted: Numbers,
    ) -> None:
        """Note numbers that are wrong; `names` has query and cell of those, in order."""
        if not names:
            return
        difference = self.found.setdefault((what, file.name), _Differences(what, file.name))
        difference.count += int(np.count_nonzero(wrong))
        for row, (query, cell) in zip(np.flatnonzero(wrong).tolist(), names, strict=False):
            if len(difference.first) == _MOST_SHOWN:
                break
            position, number = int(unit[row]), float(counts[row])
            difference.first.append(
                WrongNumber(
                    self.tree.names[position].as_py(),
                    self.tree.levels[self.tree.kind[position]],
                    query,
                    cell,
                    None if np.isnan(number) else int(counts[row]),
                    int(counted[row]),
                )
            )

    def _detailed(self, cells: Integers) -> list[tuple[str, str]]:
        """Name detailed cells."""
        names = []
        for places in zip(*np.unravel_index(cells[:_MOST_SHOWN], self.attributes.sizes), strict=True):
            pairs = zip(self.attributes.values, places, strict=True)
            names.append(("detailed", " * ".join(values[pair] for (_, values), pair in pairs)))
        return names

    def _compare_histogram(self, file: Path, counted: _Counts) -> None:
        parts = list(self._entries(file))
        stated = _Counts.of(parts, counted.cells)
        if sum(len(keys) for keys, _ in parts) > len(stated.keys):
            every = np.concatenate([keys for keys, _ in parts])
            twice = len(every) - len(np.unique(every))
            if twice:
                self._say(file, "a cell of an area comes twice", twice)
            if any((counts == 0).any() for _, counts in parts):
                self._say(file, "a count is zero: such cells are left out")
        keys = np.union1d(stated.keys, counted.keys)
        given, expected = stated.at(keys), counted.at(keys)
        self.compared += len(keys)
        wrong = given != expected
        unit, cell = np.divmod(keys, counted.cells)
        self._differ("histogram", file, wrong, unit, self._detailed(cell[wrong]), given, expected)

    def _say(self, file: Path, text: str, many: int = 1) -> None:
        self.problems.of(file.name, first_line=1).many(text, lines=(), total=many)

    def _compare_impossible(self, file: Path, lowest: _Counts) -> None:
        for block in self.attributes.zeros():
            inside = table_cells(block) >= 0
            unit, cell = np.divmod(lowest.keys, lowest.cells)
            wrong = inside[cell]
            none = np.zeros_like(lowest.counts)
            self._differ("impossible", file, wrong, unit, self._detailed(cell[wrong]), lowest.counts, none)

    def _query(self, name: str) -> _Query | None:
        """Return a query as a table, or None if it adds up something else than records."""
        if name not in self.known:
            try:
                self.known[name] = _Query(self.attributes.tabulation(self.texts.get(name, name), sums=True))
            except DiscreetError:
                self.known[name] = None
                self.others.append(name)
        return self.known[name]

    def _compare(
        self, file: Path, column: str, counted: _Counts, what: str, *, complete: bool = False
    ) -> None:
        """Compare a column of numbers by unit, query and cell; if `complete`, all of them must be there."""
        seen: dict[str, NDArray[np.int16]] = {}
        for start, problems, columns in self._batches(
            file, ["unit", "level", "query", "cell"], {column: "gap"}
        ):
            unit, words = self._units(columns, problems, start), words_of(columns["query"])
            numbers = columns[column].to_numpy(zero_copy_only=False).astype(np.float64)
            for code, query in enumerate(words.values.to_pylist()):
                if query not in self.texts:
                    text = "a query that the manifest does not name"
                    problems.rows(words.codes == code, text, "query", start=start)
                    continue
                known = self._query(query)
                if known is None:
                    continue
                table, labels = known.table, known.labels
                rows = np.flatnonzero((words.codes == code) & (unit >= 0))
                cell = self._places(columns["cell"].take(arrow().array(rows)), labels)
                bad = np.zeros(len(unit), dtype=bool)
                bad[rows[cell < 0]] = True
                problems.rows(bad, f"a cell that query {query!r} does not have", "cell", start=start)
                rows, cell = rows[cell >= 0], cell[cell >= 0]
                if not rows.size:
                    continue
                mine, number = unit[rows], numbers[rows]
                keys = mine * table.cells + cell
                expected = counted.tabulated(known, mine).at(keys)
                wrong = number != expected
                named = [(query, labels[int(index)].as_py()) for index in cell[wrong][:_MOST_SHOWN]]
                self._differ(what, file, wrong, mine, named, number, expected)
                self.compared += len(rows)
                self.held += 0 if complete else len(rows)
                if complete:
                    times = seen.setdefault(query, np.zeros(self.tree.size * table.cells, dtype=np.int16))
                    np.add.at(times, keys, 1)
        gone = [name for name in self.texts if complete and name not in seen and self._query(name)]
        for query in gone:
            self._say(file, f"query {query!r} is missing")
        for query, times in seen.items():
            self.queries.append(query)
            if missing := int(np.count_nonzero(times == 0)):
                self._say(file, f"a cell of query {query!r} is missing in an area", missing)
            if twice := int(np.count_nonzero(times > 1)):
                self._say(file, f"a cell of query {query!r} comes twice in an area", twice)

    def _compare_held(self, file: Path, counted: _Counts) -> None:
        """Compare sums of cells with their limits."""
        limits: Mapping[str, Kind] = {"least": "whole", "most": "gap"}
        for start, problems, columns in self._batches(file, ["unit", "level", "query"], limits):
            unit, words = self._units(columns, problems, start), words_of(columns["query"])
            least, most = (columns[name].to_numpy(zero_copy_only=False).astype(np.float64) for name in limits)
            for code, query in enumerate(words.values.to_pylist()):
                table = self._query(query)
                rows = np.flatnonzero((words.codes == code) & (unit >= 0))
                if table is None or not rows.size:
                    continue
                mine = unit[rows]
                number = counted.tabulated(table, mine).at(mine * table.table.cells)
                for what, limit, wrong in (
                    ("too few", least[rows], number < least[rows]),
                    ("too many", most[rows], number > most[rows]),
                ):
                    named = [(query, "all")] * min(int(np.count_nonzero(wrong)), _MOST_SHOWN)
                    self._differ(what, file, wrong, mine, named, number, limit)
                self.compared += len(rows)
                self.held += len(rows)
