"""The files of a ladder, written part by part.

A ladder has two files. The first has one row for each group, its total. The second has the rows of the groups
with a table of more than that. Or it has a folder, in which each table has one of its own, and in that a file
for each pass; there a group's total is the first of its rows. Rows come by geography, level, region and
iteration; regions that only a list of published totals has come last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import MARK, ArrowArray, ArrowSchema, Folder, OutputTable, arrow, coded, strings
from discreet.census.mechanism.ladder import Ladder
from discreet.census.mechanism.margins import Labels, Margin
from discreet.census.mechanism.parts import Codes, GroupArrays, Integers, Places, published_rows

FORMAT = "discreet safetab 1"
"""Of `summary.json`."""


GROUP_COLUMNS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE")
T1_COLUMNS = (*GROUP_COLUMNS, "COUNT")
MORE_COLUMNS = ("TABLE", "NOISE_VARIANCE", "MOE95")
BUREAU_MARGIN = "MOE95_BUREAU"
"""The Bureau's margin, floor(1.96 sigma), on request."""
ROWS = 1 << 19
"""Rows that are made and written at a time."""

NUMBERS = {"COUNT": "int64", "MOE95": "int64", BUREAU_MARGIN: "int64"}


@dataclass(frozen=True, eq=False)
class Pattern:
    """The rows of the tables of a ladder, one table after the other: their labels and their kinds."""

    starts: Integers
    words: Mapping[str, tuple[NDArray[np.str_], NDArray[np.intp]]]
    kind: Integers

    @classmethod
    def of(cls, ladder: Ladder) -> Pattern:
        """Return the rows of a ladder."""
        rows = [row for rung in ladder.rungs[1:] for row in rung.rows]
        # each word once: the bytes of a Parquet file would depend on more than its rows
        words = {
            name: np.unique(column, return_inverse=True)
            for name, column in zip(
                ladder.labels, zip(*(row.labels for row in rows), strict=True), strict=True
            )
        }
        kinds = ladder.kinds[1:]
        return cls(
            np.cumsum(ladder.heights) - ladder.heights,
            words,
            np.array([kinds.index(row.kind) for row in rows], dtype=np.int64),
        )


class Writer:
    """Write the files of a ladder into a folder, part by part."""

    def __init__(
        self,
        folder: Folder,
        ladder: Ladder,
        iterations: Sequence[str],
        labels: Labels,
        *,
        bureau: bool,
        bureau_margins: bool = False,
        passes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """`bureau`: the Bureau's columns alone. `bureau_margins`: its margins too, in their own column.

        `passes` are those of the run, each with its geographies: the tables of a folder are apart by them.
        """
        self.folder, self.bureau, self._labels = folder, bureau, labels
        self._more = () if bureau else (*MORE_COLUMNS, *((BUREAU_MARGIN,) if bureau_margins else ()))
        self._iterations = strings(list(iterations))
        self.ladder, self._pattern = ladder, Pattern.of(ladder)
        self.rows = dict.fromkeys(ladder.names, 0)
        self._pass = {name: which for which, names in passes.items() for name in names}
        columns = (*GROUP_COLUMNS, *ladder.labels, "COUNT", *self._more)
        if ladder.folder:
            self._columns = {self._stem(table, which): columns for table in ladder.names for which in passes}
        else:
            self._columns = {ladder.totals: (*T1_COLUMNS, *self._more), ladder.table: columns}
        for stem in self._columns:
            (folder.path / stem).parent.mkdir(parents=True, exist_ok=True)
        self._files = {
            stem: OutputTable(folder.file(stem, folder.kind), folder.kind, self._schema(columns), pipes=True)
            for stem, columns in self._columns.items()
        }

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exc: object) -> None:
        for file in self._files.values():
            file.close()

    def write(self, part: GroupArrays, regions: Sequence[str]) -> None:
        """Append the groups of one geography and level."""
        names, tables = strings(list(regions)), self.ladder.names
        for chunk in _chunks(part):
            if self.ladder.folder:
                for number in np.unique(chunk.table).tolist():
                    self._table(chunk.keep(chunk.table == number), number, names)
                continue
            self.rows[tables[0]] += chunk.size
            first = coded(np.zeros(chunk.size, dtype=np.int32), [tables[0]])
            columns = {"COUNT": chunk.totals(), "TABLE": first}
            number = chunk.label * len(tables) + chunk.table
            every = np.arange(chunk.size)
            self._append(self.ladder.totals, chunk, every, names, columns, number, self._labels.total)
            large = chunk.keep(chunk.table > 0)
            if large.size:
                self._cells(large, names)

    def _stem(self, table: str, which: str) -> str:
        return f"{self.ladder.folder}/{table}/{which}"

    def _table(self, part: GroupArrays, number: int, names: ArrowArray) -> None:
        """Append groups that all have one table of a folder: the total of each, then its other rows."""
        ladder, table = self.ladder, self.ladder.names[number]
        rows = ladder.rungs[number].rows if number else ()
        height = 1 + len(rows)
        self.rows[table] += height * part.size
        counts = np.empty((part.size, height), dtype=np.int64)
        counts[:, 0] = part.totals()
        if rows:
            counts[:, 1:] = published_rows(part).reshape(part.size, -1)
        every = [(ladder.total,) * len(ladder.labels), *(row.labels for row in rows)]
        at = np.tile(np.arange(height), part.size)
        columns: dict[str, object] = {}
        for name, texts in zip(ladder.labels, zip(*every, strict=True), strict=True):
            words, position = np.unique(texts, return_inverse=True)
            columns[name] = coded(position[at], words.tolist())
        columns |= {"COUNT": counts.ravel(), "TABLE": coded(np.zeros(at.size, dtype=np.int32), [table])}
        label = part.label.astype(np.int64) * len(ladder.names) + number
        # margins of totals, then of other rows
        kinds = ladder.kinds[1:]
        margin = np.empty((part.size, height), dtype=np.int64)
        margin[:, 0] = label
        for place_of, row in enumerate(rows, 1):
            margin[:, place_of] = len(self._labels.total) + len(kinds) * label + kinds.index(row.kind)
        group = np.repeat(np.arange(part.size), height)
        stem = self._stem(table, self._pass[part.geography])
        margins = [*self._labels.total, *self._labels.rows]
        self._append(stem, part, group, names, columns, margin.ravel(), margins)

    def _schema(self, columns: Sequence[str]) -> ArrowSchema:
        pa = arrow()
        text = pa.dictionary(pa.int32(), pa.string())
        types = {"NOISE_VARIANCE": pa.float64()} if self.folder.kind == "parquet" else {}
        types |= {name: pa.type_for_alias(alias) for name, alias in NUMBERS.items()}
        marked = [MARK] if self.folder.mark and not self.bureau else []
        mark = {"warning": self.folder.mark} if self.folder.mark else None
        return pa.schema([(name, types.get(name, text)) for name in (*columns, *marked)], metadata=mark)

    def _cells(self, part: GroupArrays, names: ArrowArray) -> None:
        tables, heights = self.ladder.names, self.ladder.heights[part.table]
        table = np.repeat(part.table, heights)
        row = np.arange(table.size) - np.repeat(np.cumsum(heights) - heights, heights)
        position = self._pattern.starts[table] + row
        group = np.repeat(np.arange(part.size), heights)
        words = self._pattern.words.items()
        columns = {name: coded(at[position], texts.tolist()) for name, (texts, at) in words}
        columns |= {"COUNT": published_rows(part), "TABLE": coded(table, list(tables))}
        for name, count in zip(tables, np.bincount(table, minlength=len(tables)), strict=True):
            self.rows[name] += int(count)
        kinds = len(self.ladder.kinds) - 1
        number = kinds * (part.label[group] * len(tables) + table) + self._pattern.kind[position]
        self._append(self.ladder.table, part, group, names, columns, number, self._labels.rows)

    def _append(
        self,
        stem: str,
        part: GroupArrays,
        group: Places,
        names: ArrowArray,
        columns: dict[str, object],
        number: Codes | Integers,
        margins: Sequence[Margin],
    ) -> None:
        """Append rows: of which group of the part each is, its own columns, and which margins it has."""
        columns |= {
            "REGION_ID": coded(part.region[group], names),
            "REGION_TYPE": coded(np.zeros(group.size, dtype=np.int32), [part.geography]),
            "ITERATION_CODE": coded(part.iteration[group], self._iterations),
        }
        if not self.bureau:
            if self.folder.kind == "parquet":
                columns["NOISE_VARIANCE"] = np.array([float(margin.variance) for margin in margins])[number]
            else:
                columns["NOISE_VARIANCE"] = coded(number, [margin.variance for margin in margins])
            columns["MOE95"] = np.array([margin.margin for margin in margins], dtype=np.int64)[number]
            columns[BUREAU_MARGIN] = np.array([margin.bureau for margin in margins], dtype=np.int64)[number]
        ordered = (columns[name] for name in self._columns[stem])
        self._files[stem].write(
            [arrow().array(column) if isinstance(column, np.ndarray) else column for column in ordered]
        )


def _chunks(part: GroupArrays) -> Iterator[GroupArrays]:
    """Yield the groups of a part, in order, so many that their rows fit into memory."""
    ends = np.cumsum(part.widths() + 2)
    start = 0
    while start < part.size:
        base = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, base + ROWS, side="right")))
        yield part if stop - start == part.size else part.take(np.arange(start, stop))
        start = stop
