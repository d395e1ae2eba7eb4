"""Measurements in: the output of `measure`, or a noisy table by itself, held in memory or streamed.

Noisy measurements as the US Census Bureau publishes them, read as they are.

A directory has for each level a Parquet file or folder `LEVEL.parquet` with parts anywhere below it: one row
a unit and query with `geocode`, `query_name` (the name of the query and a suffix), `query_shape`, `value` (a
list of integers, in C order of the query's attributes) and `variance`. Parts with a column `sign` in place of
the variance are constraints. Geocodes nest by prefix. The files of the nation have trillions of numbers, so
they are scanned in batches, and only the part of the tree that is wanted is looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.budget import Attributes, Release, Tabulation, load_file
from discreet.errors import InputError
from discreet.estimation.estimates import InMemory, NoisySource, Rows
from discreet.estimation.model import Noises, noises, queries_of
from discreet.estimation.tree import Floats, Integers, Tree
from discreet.files import FilePath, sha256
from discreet.noise import DiscreteGaussian, Noise
from discreet.release.hierarchy.layout import (
    Layout,
    Listing,
    arrange,
    lookup,
    positions,
    read_tree,
    read_units,
    tree_of,
    units_of,
)
from discreet.release.tables import MARK, MARKED, ArrowArray, ArrowTable, arrow, find_output, strings
from discreet.tables import (
    Codes,
    Kinds,
    Numbers,
    Problems,
    ReadTable,
    check_schema,
    conformed,
    find_columns,
    is_there,
    read_table,
    stop_unless_usable,
    table_format,
    words_of,
)

LARGEST = 10**13
"""The largest absolute value of a noisy count."""

SMALLEST = 1e-300
"""The smallest variance: its inverse is a number."""

MOST_ROWS = 10_000_000
"""Rows of a table that are read into memory; a larger one is streamed if it is as `measure` writes it."""

Laws = Sequence[Mapping[str, Noise]]
"""The law of the noise of each query, for each kind of unit."""

Exact = dict[str, Rows]
"""Counts held exact: for each query the units, and a row of cells for each, in the order of a layout."""


@dataclass(frozen=True)
class Published:
    """The measurements of one release, as the estimates take them: cells in the order of the attributes."""

    tree: Tree
    attributes: Attributes | None
    labels: Mapping[str, ArrowArray]
    """The names of the cells of each query, where no attributes say them."""
    source: NoisySource
    exact: Exact
    format: str
    marked: bool
    """Whether it comes from a rehearsal."""
    origin: dict[str, object]
    kind: Integers
    """The kind of each unit, by which the source has its laws."""
    blocks: Mapping[str, Tabulation] = field(default_factory=dict)
    """Cells that some units cannot have, by the name they have in `exact`."""
    left_out: tuple[str, ...] = ()
    """What stands in the files and was not used, and why."""


def read_published(
    source: Path,
    *,
    release: Release | None = None,
    units: FilePath | None = None,
    invariants: FilePath | None = None,
    streamed: bool | None = None,
) -> Published:
    """Read what `measure` wrote, or a noisy table; it is streamed if it is large, or if that is said."""
    is_file = source.is_file() or is_there(source)
    file = source if is_file else find_output(source, "measurements")
    if file is None:
        raise InputError(f"there are no measurements in {source}; name a noisy table or a run's output")
    # the directory of the run that wrote it
    folder = file.parent if source.is_dir() or find_output(file.parent, "measurements") == file else None
    written = find_output(folder, "release", ["toml"])
    stated = release or (load_file(written) if written else None)
    attributes = None if stated is None else stated.attributes
    held, listed = invariants or find_output(folder, "invariants"), units or find_output(folder, "units")
    marked, found, rows = MARKED in file.name, None, 0
    if stated is not None and attributes is not None and listed and table_format(file) == "parquet":
        rows = arrow("parquet").ParquetFile(file).metadata.num_rows
        if rows > MOST_ROWS if streamed is None else streamed:
            found = Streamed(file, read_tree(listed, stated), stated, attributes)
    if found is not None:
        exact = {} if held is None else exact_counts(found.layout, read_held(held))
        origin = {"role": "measurements", "sha256": sha256(file), "bytes": file.stat().st_size, "rows": rows}
        return published(found.layout, found, exact, attributes, "parquet", marked, origin)
    problems = Problems()
    table = read_table(
        file,
        words=["unit", "level", "query", "cell"],
        optional=[MARK] if listed else ["parent", MARK],
        whole=["value"],
        floats=["variance"],
        problems=problems,
    )
    areas = None if listed is None else read_units(listed, problems)
    kept = None if held is None else read_held(held, problems)
    stop_unless_usable(table, areas, kept)
    layout, values, laws = _layout(table, areas, stated)
    exact, marked = {} if kept is None else exact_counts(layout, kept), marked or MARK in table.words
    source_of = in_memory(layout, values, laws, attributes)
    return published(layout, source_of, exact, attributes, table.format, marked, table.origin("measurements"))


def in_memory(layout: Layout, values: Integers, laws: Laws, attributes: Attributes | None) -> InMemory:
    """Return noisy counts as a layout has them, with the laws of the noise by kind and query."""
    noisy = {}
    for query in layout.queries:
        first = layout.first(query)
        who = np.flatnonzero(first >= 0)
        noisy[query] = who, values[first[who][:, None] + cell_order(layout, query, attributes)]
    return InMemory(laws, noisy)


def laws_of(layout: Layout, known: Noises) -> list[dict[str, Noise]]:
    """Return the laws of a release, if the kinds of units are levels."""
    kinds = zip(layout.tree.levels, layout.asked, strict=True)
    return [{query: known[level, query] for query in asked} for level, asked in kinds]


def variances_of(layout: Layout, laws: Laws) -> Floats:
    """Return the variance of the noise of each column (see `Layout.columns`)."""
    every = [(query, law) for one in laws for query, law in one.items()]
    return np.concatenate([np.full(len(layout.cells[query]), law.true_variance()) for query, law in every])


def published(
    layout: Layout,
    source: NoisySource,
    exact: Exact,
    attributes: Attributes | None,
    format: str,
    marked: bool = False,
    origin: dict[str, object] | None = None,
) -> Published:
    """Return measurements of a source, and counts held exact, which stand as the layout has them."""
    turned = {
        query: (who, rows[:, cell_order(layout, query, attributes)]) for query, (who, rows) in exact.items()
    }
    return Published(
        layout.tree, attributes, layout.cells, source, turned, format, marked, origin or {}, layout.kind
    )


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
    found: Integers = index.to_numpy().astype(np.int64)
    return found


def check_cells(layout: Layout, attributes: Attributes) -> None:
    """Refuse cells that are not those that the attributes give the queries."""
    for query in layout.queries:
        cell_order(layout, query, attributes)


def with_zeros(one: Published, zeros: FilePath) -> Published:
    """Add values that some units cannot have: unit, and a column for each attribute that is named.

    What a unit cannot have, no unit within it can. Each row is a block of cells that are zero.
    """
    attributes, tree = one.attributes, one.tree
    if attributes is None:
        raise InputError("zeros of areas need a release that states its attributes")
    table = read_table(zeros, words=["unit"], optional=list(attributes.names))
    named = [name for name in attributes.names if name in table.words]
    if not named:
        raise InputError(f"{table.path.name} names no attribute; it must have columns of {attributes.names}")
    unit = units_of(table, tree)
    for name in named:
        wrong = lookup(table.words[name], dict(attributes.values)[name]) < 0
        table.problems.rows(wrong, f"a value that attribute {name!r} does not have", name)
    table.problems.stop()
    codes = np.column_stack([table.words[name].codes for name in named])
    distinct, of = np.unique(codes, axis=0, return_inverse=True)
    exact, blocks = dict(one.exact), dict(one.blocks)
    for number, row in enumerate(distinct.tolist()):
        words = {
            name: [table.words[name].values[code].as_py()] for name, code in zip(named, row, strict=True)
        }
        block = attributes.block(words, name=f"zero {number + 1}")
        inside = np.zeros(tree.size + 1, dtype=bool)
        inside[unit[of.ravel() == number]] = True
        for part in tree.depths[1:]:
            inside[part] |= inside[tree.parent[part]]
        units = np.flatnonzero(inside[:-1])
        name = f"zero: {', '.join(f'{key} {value[0]}' for key, value in words.items())}"
        exact[name], blocks[name] = (units, np.zeros((len(units), block.cells), dtype=np.int64)), block
    return replace(one, exact=exact, blocks=blocks)


# -- tables that are streamed ------------------------------------------------------------------------------


class Streamed:
    """A table in Parquet as `measure` writes it: units in canonical order, all of one level alike.

    It is read row group by row group, and every row is checked to be the one that is due there.
    """

    in_order = True
    KINDS: ClassVar[Kinds] = {
        "unit": "text",
        "level": "text",
        "query": "text",
        "cell": "text",
        "value": "whole",
        "variance": "number",
    }

    def __init__(self, file: Path, tree: Tree, release: Release, attributes: Attributes) -> None:
        self._file, self._parquet = file, arrow("parquet").ParquetFile(file)
        schema, meta = self._parquet.schema_arrow, self._parquet.metadata
        problems = Problems(file.name, word="row")
        self._written = find_columns(
            schema.names, needed=list(self.KINDS), optional=(), table=file.name, problems=problems
        )
        problems.stop()
        kinds = {self._written[name]: kind for name, kind in self.KINDS.items()}
        check_schema(schema, kinds, file.name, problems)
        problems.stop()
        sizes_of_groups = (meta.row_group(group).num_rows for group in range(meta.num_row_groups))
        self._starts = list(accumulate(sizes_of_groups, initial=0))
        tables = {query: attributes.tabulation(query) for query in queries_of(release)}
        labels = {query: strings(list(one.labels)) for query, one in tables.items()}
        layout = Layout.of(release, tree, labels)
        if layout.size != meta.num_rows:
            raise InputError(
                f"{file.name} has {meta.num_rows} rows; the areas and the release need {layout.size}"
            )
        self.layout = self._as_found(layout)
        self.order = {query: cell_order(self.layout, query, attributes) for query in tables}
        self.laws = laws_of(self.layout, noises(release, tree.levels))
        self.cells = {query: tables[query].cells for query in layout.queries}
        self._size_of = variances_of(self.layout, self.laws)

    def __getstate__(self) -> dict[str, object]:
        """Leave the open file out: a worker opens it again, where it is at the same place."""
        return {key: value for key, value in self.__dict__.items() if key != "_parquet"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._parquet = arrow("parquet").ParquetFile(self._file)

    def _as_found(self, layout: Layout) -> Layout:
        """Return the layout with queries and cells in the order that the first unit of each level has."""
        cells, order = dict(layout.cells), list(layout.asked)
        for kind in range(len(layout.asked)):
            unit = int(np.argmax(layout.kind == kind))
            table = self._rows(int(layout.base[unit]), int(layout.base[unit + 1]), ["query", "cell"])
            names, labels = (
                table.column(name).cast(arrow().string()).to_pylist() for name in ("query", "cell")
            )
            order[kind] = tuple(dict.fromkeys(names))
            if set(order[kind]) != set(layout.asked[kind]):
                raise self._wrong(int(layout.base[unit]), "query")
            for query in order[kind]:
                mine = [cell for name, cell in zip(names, labels, strict=True) if name == query]
                if len(mine) != len(cells[query]):
                    raise self._wrong(int(layout.base[unit]), "cell")
                cells[query] = strings(mine)
        return Layout(layout.tree, cells, tuple(order), layout.kind)

    def _wrong(self, row: int, column: str) -> InputError:
        return InputError(
            f"a row is not the one expected there, as `measure` writes it (row {row + 1} of "
            f"{self._file.name}, field {column})"
        )

    def _rows(self, first: int, last: int, columns: Iterable[str]) -> ArrowTable:
        groups = range(bisect_right(self._starts, first) - 1, bisect_right(self._starts, last - 1))
        written = {self._written[name]: name for name in columns}
        table = self._parquet.read_row_groups(list(groups), columns=list(written)).select(list(written))
        table = table.rename_columns(list(written.values()))
        return table.slice(first - self._starts[groups[0]], last - first)

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield what these units were measured, some units at a time."""
        layout, unit = self.layout, units.start
        while unit < units.stop:
            # whole units, as far as about one row group reaches
            group = bisect_right(self._starts, int(layout.base[unit]))
            stop = int(np.searchsorted(layout.base, self._starts[group], side="right")) - 1
            stop = min(max(stop, unit + 1), units.stop)
            yield from self._checked(slice(unit, stop))
            unit = stop

    def _checked(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        layout, pc = self.layout, arrow("compute")
        first, last = int(layout.base[units.start]), int(layout.base[units.stop])
        if first == last:
            return
        problems = Problems(self._file.name, word="row")
        table = conformed(self._rows(first, last, self.KINDS), self.KINDS, problems, start=first)
        problems.stop()
        for name, (words, expected) in layout.rows(units).items():
            text = words_of(table.column(name))
            place = pc.index_in(text.values, value_set=words).fill_null(-1).to_numpy()
            wrong = np.append(place, -1)[text.codes] != expected
            if wrong.any():
                raise self._wrong(first + int(np.argmax(wrong)), name)
        sizes, value = (table.column(name).to_numpy() for name in ("variance", "value"))
        due_size = self._size_of[layout.columns(units)]
        for name, good in (
            ("variance", np.abs(sizes - due_size) <= 1e-6 * due_size),
            ("value", np.abs(value) <= LARGEST),  # what is missing is nan
        ):
            if not good.all():
                raise self._wrong(first + int(np.argmin(good)), name)
        kinds = layout.kind[units]
        for kind in np.unique(kinds):
            mine = np.flatnonzero(kinds == kind)
            start = layout.base[units][mine] - first
            for query in layout.asked[kind]:
                at = layout.offset(int(kind), query)
                yield query, mine + units.start, value[start[:, None] + (at + self.order[query])]


# -- tables that are held in memory ------------------------------------------------------------------------


def _layout(
    table: ReadTable, units: ReadTable | None, stated: Release | None
) -> tuple[Layout, Integers, Laws]:
    """Return where the cells of a table stand, its values there, and the laws of the noise.

    The laws are what the release says, or Gaussian ones of the variances in the table.
    """
    problems, value, sizes = table.problems, table.numbers["value"], table.numbers["variance"]
    if not table.rows:
        problems.at("the table has no rows")
        problems.stop()
    problems.rows(np.abs(value) > LARGEST, f"a value is beyond {LARGEST}", "value")
    # of a release that is known, noise of next to no variance is written as 0
    above = (sizes > 0) | ((sizes == 0) & (stated is not None))
    problems.rows(~(above & np.isfinite(sizes)), "a variance is not above zero", "variance")
    if stated is None:
        problems.rows((sizes > 0) & (sizes < SMALLEST), f"a variance is below {SMALLEST}", "variance")
    tree = tree_of(table, None) if units is None else tree_of(units, None, once=True)
    unit = units_of(table, tree, levels=True)
    layout = _found_layout(table, tree, unit)
    position, there = positions(layout, table, unit)
    if not there.all():
        missing = int(np.count_nonzero(~there))
        some = "1 cell is" if missing == 1 else f"{missing} cells are"
        problems.at(f"{some} missing: each area must have all cells of its level")
    problems.stop()
    names = table.words["query"]
    pair = tree.kind[unit] * len(names.values) + names.codes
    pairs, first, of = np.unique(pair, return_index=True, return_inverse=True)
    differs = sizes != sizes[first][of.ravel()]
    problems.rows(differs, "the variance differs within one level and query", "variance")
    problems.stop()
    known = {} if stated is None else noises(stated)
    laws: dict[tuple[str, str], Noise] = {}
    for at, size in zip(pairs.tolist(), sizes[first].tolist(), strict=True):
        kind, code = divmod(at, len(names.values))
        level, query = tree.levels[kind], names.values[code].as_py()
        law = known.get((level, query))
        if stated is not None and law is None:
            raise InputError(f"release {stated.name!r} has no query {query!r} at level {level!r}")
        if stated is not None and law is not None and abs(law.true_variance() - size) > 1e-6 * size:
            raise InputError(
                f"query {query!r} of level {level!r} has noise of variance {size:g}, which is not what the "
                f"release {stated.name!r} says"
            )
        laws[level, query] = law or DiscreteGaussian.of_true_variance(size)
    values = np.zeros(layout.size, dtype=np.int64)
    values[position] = value
    return layout, values, laws_of(layout, laws)


def _found_layout(table: ReadTable, tree: Tree, unit: Integers) -> Layout:
    """Take queries and cells in the order in which they first appear: for the queries, level by level."""
    names, cells = table.words["query"], table.words["cell"]
    words, kinds = names.values.to_pylist(), np.append(tree.kind, -1)[unit]

    def in_order(codes: Codes) -> Integers:
        distinct, first = np.unique(codes, return_index=True)
        return distinct[np.argsort(first)].astype(np.int64)

    asked = [
        tuple(words[code] for code in in_order(names.codes[kinds == kind]))
        for kind in range(len(tree.levels))
    ]
    known = {
        query: cells.values.take(arrow().array(in_order(cells.codes[names.codes == code])))
        for code, query in enumerate(words)
    }
    return Layout(tree, known, tuple(asked), tree.kind)


def read_held(invariants: FilePath, problems: Problems | None = None) -> ReadTable:
    """Read counts that are held exact: unit, query, cell, count."""
    return read_table(invariants, words=["unit", "query", "cell"], whole=["count"], problems=problems)


def exact_counts(layout: Layout, table: ReadTable) -> Exact:
    """Return the counts that a table holds exact, as the layout has them."""
    problems = table.problems
    problems.rows(table.numbers["count"] < 0, "a count is below zero", "count")
    problems.rows(table.numbers["count"] > LARGEST, f"a count is above {LARGEST}", "count")
    position, _ = positions(layout, table, units_of(table, layout.tree))
    problems.stop()
    order = np.argsort(position)
    position, counts = position[order], table.numbers["count"][order]
    unit = np.searchsorted(layout.base, position, side="right") - 1
    found: Exact = {}
    for query in layout.queries:
        start, width = layout.first(query)[unit], len(layout.cells[query])
        mine = (start >= 0) & (position >= start) & (position < start + width)
        who, have = np.unique(unit[mine], return_counts=True)
        if (have < width).any():
            problems.at(f"an area has some cells of query {query!r} and lacks others; hold all or none")
        elif who.size:
            found[query] = who.astype(np.int64), counts[mine].reshape(-1, width)
    problems.stop()
    return found


# -- the Census Bureau's files -----------------------------------------------------------------------------

BATCH = 1 << 13
"""Rows (each a unit and query) that are read at a time."""

QUERIES = ("geocode", "query_name", "query_shape", "value", "variance")
CONSTRAINTS = ("geocode", "query_name", "value", "sign")


def is_bureau(source: Path) -> bool:
    """Whether a directory has files by level, such as `State.parquet`, and no output of `measure`."""
    if not source.is_dir() or any(source.glob("measurements.*")):
        return False
    return any(one.is_dir() or "geocode" in _columns(one) for one in source.glob("*.parquet"))


def _columns(file: Path) -> list[str]:
    pa = arrow()
    try:
        names: list[str] = arrow("parquet").read_schema(file).names
    except (pa.ArrowInvalid, OSError):
        raise InputError(f"{file.name} cannot be read as Parquet") from None
    return names


@dataclass(frozen=True)
class _Files:
    """The parts of one level."""

    level: str
    parts: Mapping[bool, Sequence[Path]]
    """Those with queries, and those with constraints."""

    def scan(self, columns: Sequence[str], within: str, *, constraints: bool = False) -> Iterator[ArrowTable]:
        """Yield batches of rows of units whose geocode begins so."""
        ds, pc = arrow("dataset"), arrow("compute")
        if not self.parts[constraints]:
            return
        dataset = ds.dataset([str(file) for file in self.parts[constraints]], format="parquet")
        code = ds.field("geocode").cast(arrow().string())
        # the bounds let whole row groups be skipped; the prefix decides
        wanted = (ds.field("geocode") >= within) & pc.starts_with(code, pattern=within) if within else None
        yield from dataset.to_batches(columns=list(columns), filter=wanted, batch_size=BATCH)


def read_bureau(source: Path, release: Release, *, within: str | None = None) -> Published:
    """Read the part of the Bureau's files that lies within a unit, or all of it."""
    if release.attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its queries mean nothing here")
    attributes, prefix = release.attributes, within or ""
    files = _levels(source, release)
    names = _Names(release, attributes)
    asked = _asked(files, names, prefix)
    tree, place = _tree(files, asked, prefix, source)
    kinds, kind = _kinds(release, asked, place, tree)
    found = Bureau(files, tree, names, kinds, attributes, prefix)
    exact, left = _constraints(files, tree, names, prefix)
    origin: dict[str, object] = {
        "role": "measurements",
        "layout": "Census Bureau",
        "levels": [one.level for one in files],
    }
    if within is not None:
        origin["within"] = within
    return Published(tree, attributes, {}, found, exact, "parquet", False, origin, kind, left_out=left)


def _levels(source: Path, release: Release) -> list[_Files]:
    """Find the parts of each level that the release has, from the top down."""
    known = {one.stem.lower().replace(" ", "_"): one for one in sorted(source.glob("*.parquet"))}
    found = []
    for level in release.levels:
        place = known.pop(level.name.lower().replace(" ", "_"), None)
        if place is None:
            continue
        parts: dict[bool, list[Path]] = {False: [], True: []}  # queries, constraints
        for part in sorted(place.rglob("*.parquet")) if place.is_dir() else [place]:
            if part.is_dir():
                continue
            have = _columns(part)
            due = CONSTRAINTS if "sign" in have else QUERIES
            missing = [name for name in due if name not in have]
            if missing:
                raise InputError(
                    f"{part.relative_to(source)} has no column {missing[0]}; it must have {', '.join(due)}"
                )
            parts["sign" in have].append(part)
        if parts[False]:
            found.append(_Files(level.name, parts))
    if known:
        raise InputError(
            f"{source} has {', '.join(sorted(one.name for one in known.values()))}, which is no level of "
            f"release {release.name!r}; it has {', '.join(one.name for one in release.levels)}"
        )
    if not found:
        raise InputError(f"there are no measurements in {source}")
    return found


class _Names:
    """The queries that stand in the files, by what they are called there: a name and perhaps a suffix."""

    def __init__(self, release: Release, attributes: Attributes) -> None:
        self._attributes = attributes
        self._plain = {name.replace(" ", ""): name for name in queries_of(release)}
        self._found: dict[str, str | None] = {}

    def query(self, text: str) -> str | None:
        """Return the query of a name, or None."""
        if text not in self._found:
            bare = text.replace(" ", "")
            fitting = [one for one in self._plain if bare == one or bare.startswith((f"{one}_", f"{one}-"))]
            self._found[text] = self._plain[max(fitting, key=len)] if fitting else None
        return self._found[text]

    def rows(self, batch: ArrowTable, query: str, which: Integers, file: str) -> Numbers:
        """Return the values of some rows of a batch, all of one query, in the order of the attributes."""
        table = self._attributes.tabulation(query)
        column = batch.column("value").take(arrow().array(which))
        length = arrow("compute").list_value_length(column).to_numpy(zero_copy_only=False)
        if (length != table.cells).any():
            wrong = length[length != table.cells][0]
            raise InputError(
                f"query {query!r} has {wrong:g} values in {file}; the attributes give it {table.cells} cells"
            )
        if "query_shape" in batch.schema.names:
            due = [len(groups) for groups in table.by_attribute if len(groups) > 1]
            shape = batch.column("query_shape")[int(which[0])].as_py()
            if isinstance(shape, str):
                shape = [int(part) for part in shape.strip("()[] ").replace(" ", "").split(",") if part]
            if [int(one) for one in shape or () if int(one) > 1] != due:
                due_text = tuple(due) or (1,)
                raise InputError(
                    f"query {query!r} has shape {shape} in {file}; the attributes give it {due_text}"
                )
        values = column.flatten()
        if values.null_count:
            raise InputError(f"query {query!r} has values that are missing in {file}")
        found: Numbers = values.to_numpy(zero_copy_only=False).reshape(-1, table.cells)
        return found


Asked = dict[str, dict[str, float]]
"""What the units of a level were asked, by geocode: queries, and the variance of each."""


def _asked(files: Sequence[_Files], names: _Names, prefix: str) -> list[Asked]:
    """Return for each level its units and what they were asked."""
    found = []
    for one in files:
        asked: Asked = {}
        for batch in one.scan(["geocode", "query_name", "variance"], prefix):
            if any(batch.column(name).null_count for name in ("geocode", "query_name", "variance")):
                raise InputError(f"a row of {one.level}.parquet has no geocode, query or variance")
            for code, name, size in zip(
                batch.column("geocode").cast(arrow().string()).to_pylist(),
                batch.column("query_name").to_pylist(),
                batch.column("variance").cast(arrow().float64()).to_pylist(),
                strict=True,
            ):
                query, mine = names.query(name), asked.setdefault(code, {})
                if query is None:
                    raise InputError(
                        f"{one.level}.parquet has the query {name!r}, which is none of the release's"
                    )
                if not 0.0 < size < float("inf"):
                    raise InputError(f"a variance of query {name!r} in {one.level}.parquet is not above zero")
                if query in mine:
                    raise InputError(f"query {name!r} occurs twice for one area of {one.level}.parquet")
                mine[query] = size
        found.append(asked)
    return found


def _tree(
    files: Sequence[_Files], units: Sequence[Asked], prefix: str, source: Path
) -> tuple[Tree, list[Integers]]:
    """Return the tree, and for each level the place of each of its units in it."""
    first = next((place for place, codes in enumerate(units) if codes), None)
    if first is None:
        raise InputError(f"{source} has no area whose geocode begins with {prefix!r}")
    if prefix and prefix not in units[first]:
        raise InputError(f"{source} has no area {prefix!r}; within must be the geocode of an area")
    for one, codes in zip(files[first:], units[first:], strict=True):
        if not codes:
            raise InputError(f"{one.level}.parquet has no area within {prefix!r}")
    listing = Listing.nested([one.level for one in files[first:]], units[first:])
    lost = np.flatnonzero((listing.parent < 0) & (listing.level > 0))
    if lost.size:
        place = first + int(listing.level[lost[0]])
        raise InputError(
            f"an area of {files[place].level}.parquet lies in no area of {files[place - 1].level}.parquet: "
            "its geocode has none of theirs as its beginning"
        )
    tree, rank = arrange(listing)
    early = np.flatnonzero(tree.leaf[: tree.starts[-1]])
    if early.size:
        raise InputError(
            f"an area of {tree.levels[tree.kind[early[0]]]}.parquet has no area below it; each must have all "
            "of its children"
        )
    return tree, np.split(rank, np.cumsum([len(codes) for codes in units])[:-1])


def _kinds(
    release: Release, asked: Sequence[Asked], place: Sequence[Integers], tree: Tree
) -> tuple[list[dict[str, Noise]], Integers]:
    """Return the laws of each kind of unit, told apart by queries and variances, and each unit's kind."""
    known, by_unit = noises(release), dict[int, dict[str, float]]()
    for some, at in zip(asked, place, strict=True):
        by_unit |= zip(at.tolist(), some.values(), strict=True)
    numbers: dict[tuple[int, tuple[tuple[str, float], ...]], int] = {}
    kind = np.zeros(tree.size, dtype=np.int64)
    for unit in range(tree.size):
        told = int(tree.kind[unit]), tuple(sorted(by_unit[unit].items()))
        kind[unit] = numbers.setdefault(told, len(numbers))

    def law(level: int, query: str, size: float) -> Noise:
        stated = known.get((tree.levels[level], query))
        if stated is not None and stated.is_gaussian and abs(float(stated.size) / size - 1) < 1e-6:
            return stated
        return DiscreteGaussian(Fraction(size).limit_denominator(10**9))

    return [{query: law(level, query, size) for query, size in some} for level, some in numbers], kind


def _constraints(
    files: Sequence[_Files], tree: Tree, names: _Names, prefix: str
) -> tuple[Exact, tuple[str, ...]]:
    """Return the counts that are exact, and what is left out: bounds, and sums that are no query."""
    exact: dict[str, dict[int, Numbers]] = {}
    left: Counter[str] = Counter()
    for one in files:
        if one.level not in tree.levels:
            continue
        mine = np.flatnonzero(tree.kind == tree.levels.index(one.level))
        codes = tree.names.take(arrow().array(mine))
        for batch in one.scan(CONSTRAINTS, prefix, constraints=True):
            geocode = batch.column("geocode").cast(arrow().string())
            place = arrow("compute").index_in(geocode, value_set=codes).to_pylist()
            signs = zip(batch.column("query_name").to_pylist(), batch.column("sign").to_pylist(), strict=True)
            for row, (name, sign) in enumerate(signs):
                query, at = names.query(name), place[row]
                if sign not in ("=", "==") or query is None or at is None:
                    left[f"constraint {name!r} ({sign}) at {one.level}"] += 1
                    continue
                rows = names.rows(batch, query, np.array([row]), f"{one.level}.parquet")
                if not np.array_equal(
                    exact.setdefault(query, {}).setdefault(int(mine[at]), rows[0]), rows[0]
                ):
                    raise InputError(
                        f"constraint {name!r} holds two counts in one area of {one.level}.parquet"
                    )
    found: Exact = {}
    for query, counts in exact.items():
        who = np.array(sorted(counts), dtype=np.int64)
        found[query] = who, np.array([counts[unit] for unit in who.tolist()], dtype=np.int64)
    return found, tuple(f"{text}, {many} times" for text, many in left.items())


class Bureau:
    """The noisy counts, scanned in batches as often as they are needed."""

    in_order = False

    def __init__(
        self,
        files: Sequence[_Files],
        tree: Tree,
        names: _Names,
        laws: Laws,
        attributes: Attributes,
        prefix: str,
    ) -> None:
        self._files, self._tree, self._names, self._prefix = files, tree, names, prefix
        self.laws = laws
        self.cells = {query: attributes.tabulation(query).cells for one in laws for query in one}

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield what these units were measured, in the order of the files."""
        tree, pc = self._tree, arrow("compute")
        for one in self._files:
            # by level: a code may come again where one unit is the whole of another
            level = tree.levels.index(one.level) if one.level in tree.levels else -1
            mine = np.append(np.flatnonzero(tree.kind[units] == level) + units.start, -1)
            if len(mine) == 1:
                continue
            wanted = tree.names.take(arrow().array(mine[:-1]))
            for batch in one.scan(["geocode", "query_name", "query_shape", "value"], self._prefix):
                code = pc.index_in(batch.column("geocode").cast(arrow().string()), value_set=wanted)
                unit = mine[code.fill_null(len(mine) - 1).to_numpy(zero_copy_only=False)]
                coded = batch.column("query_name").dictionary_encode()
                of = coded.indices.to_numpy(zero_copy_only=False)
                for number, name in enumerate(coded.dictionary.to_pylist()):
                    which = np.flatnonzero((of == number) & (unit >= 0))
                    if not which.size:
                        continue
                    query = self._names.query(name)
                    assert query is not None
                    which = which[np.argsort(unit[which], kind="stable")]
                    rows = self._names.rows(batch, query, which, f"{one.level}.parquet")
                    yield query, unit[which], rows


def read_any(
    source: Path,
    release: Release | None,
    units: FilePath | None,
    invariants: FilePath | None,
    within: str | None,
    streamed: bool | None,
) -> Published:
    """Read measurements as they are: of `measure`, a noisy table, or of the Census Bureau."""
    if is_bureau(source):
        if release is None:
            raise InputError(
                f"{source} has the layout of the Census Bureau's noisy measurements, which do not say what "
                "their queries mean; name the release (--release), such as pl94-2020"
            )
        if units is not None or invariants is not None:
            raise InputError(
                f"{source} has the layout of the Census Bureau's noisy measurements, which have their areas "
                "and exact counts with them: leave units and invariants out"
            )
        return read_bureau(source, release, within=within)
    if within is not None:
        raise InputError("within is for noisy measurements as the Census Bureau publishes them")
    return read_published(source, release=release, units=units, invariants=invariants, streamed=streamed)
