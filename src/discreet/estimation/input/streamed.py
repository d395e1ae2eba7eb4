"""A large table of measurements that is streamed: read row group by row group, and checked row by row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from copy import copy
from itertools import accumulate
from pathlib import Path
from typing import ClassVar

import numpy as np

from discreet.areas.layout import Layout, cell_order, laws_of, variances_of
from discreet.areas.output import ArrowTable, arrow, strings
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Release
from discreet.budget.noise_table import noises, queries_of
from discreet.errors import InputError
from discreet.estimation.input.published import largest_of
from discreet.estimation.whole.subtrees import TreePart
from discreet.tables import (
    ArrowFile,
    Kinds,
    Numbers,
    Problems,
    arrow_errors,
    check_schema,
    conformed,
    find_columns,
    words_of,
)


def row_groups(file: Path) -> ArrowFile:
    """Open a Parquet file that is read by row groups."""
    with arrow_errors(file.name):
        return arrow("parquet").ParquetFile(file)


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
        self._file, self._parquet = file, row_groups(file)
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
        labels = {query: strings(list(table.labels)) for query, table in tables.items()}
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
        self._largest = largest_of(release)
        self._runs = [(slice(0, tree.size), 0)]
        """Units that stand together in the file, and how many rows lie before them that are not theirs."""

    def __getstate__(self) -> dict[str, object]:
        """Leave the open file out: a worker opens it again, where it is at the same place."""
        return {key: value for key, value in self.__dict__.items() if key != "_parquet"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._parquet = row_groups(self._file)

    def part(self, part: TreePart) -> Streamed:
        """Return the rows of some units, numbered as the part's own: a process that works on them needs no
        more than this."""
        assert len(self._runs) == 1, "a part is taken of the whole table"
        streamed, whole = copy(self), self.layout
        kind = np.concatenate([whole.kind[units] for units in part.slices])
        streamed.layout = Layout(part.tree(whole.tree), whole.cells, whole.asked, kind)
        streamed._runs = [
            (
                slice(start, start + units.stop - units.start),
                int(whole.base[units.start] - streamed.layout.base[start]),
            )
            for start, units in zip(part.starts, part.slices, strict=True)
        ]
        return streamed

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
        with arrow_errors(self._file.name):
            table = self._parquet.read_row_groups(list(groups), columns=list(written)).select(list(written))
        table = table.rename_columns(list(written.values()))
        return table.slice(first - self._starts[groups[0]], last - first)

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield what these units were measured, some units at a time."""
        layout = self.layout
        for run, ahead in self._runs:
            unit, end = max(units.start, run.start), min(units.stop, run.stop)
            while unit < end:
                # whole units, as far as about one row group reaches
                group = bisect_right(self._starts, int(layout.base[unit]) + ahead)
                reach = self._starts[min(group, len(self._starts) - 1)] - ahead
                stop = int(np.searchsorted(layout.base, reach, side="right")) - 1
                stop = min(max(stop, unit + 1), end)
                yield from self._checked(slice(unit, stop), ahead)
                unit = stop

    def _checked(self, units: slice, ahead: int) -> Iterator[tuple[str, Integers, Numbers]]:
        """Check the rows of some units; `ahead` are rows of the file before them that are not counted."""
        layout, pc = self.layout, arrow("compute")
        first, last = (int(layout.base[unit]) + ahead for unit in (units.start, units.stop))
        if first == last:
            return
        problems = Problems(self._file.name, word="row")
        table = conformed(self._rows(first, last, self.KINDS), self.KINDS, problems, start=first)
        problems.stop()
        for name, (words, expected) in layout.rows(units).items():
            text = words_of(table.column(name))
            codes = pc.index_in(text.values, value_set=words).fill_null(-1).to_numpy()
            wrong = np.append(codes, -1)[text.codes] != expected
            if wrong.any():
                raise self._wrong(first + int(np.argmax(wrong)), name)
        sizes, value = (table.column(name).to_numpy() for name in ("variance", "value"))
        due_size = self._size_of[layout.columns(units)]
        for name, good in (
            ("variance", np.abs(sizes - due_size) <= 1e-6 * due_size),
            ("value", np.abs(value) <= self._largest),  # what is missing is nan
        ):
            if not good.all():
                raise self._wrong(first + int(np.argmin(good)), name)
        kinds = layout.kind[units]
        for kind in np.unique(kinds):
            mine = np.flatnonzero(kinds == kind)
            start = layout.base[units][mine] + ahead - first
            for query in layout.asked[kind]:
                at = layout.offset(int(kind), query)
                yield query, mine + units.start, value[start[:, None] + (at + self.order[query])]
