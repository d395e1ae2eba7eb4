"""The released tables as files: the Bureau's columns, then table, variance and margin of error.

`t1` has one row for each group, its total. `t2` has the cells of the groups with a table by sex and age, and
before them the two sexes over all ages. Rows come by geography, level, region and iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.hierarchy.writing import MARK, Folder
from discreet.release.safetab.ages import RANGES
from discreet.release.safetab.labels import Label, Margin
from discreet.release.safetab.parts import AGES, CELLS, TABLES, TOTAL, Integers, Part, spread

T1_COLUMNS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE", "COUNT")
T2_COLUMNS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE", "AGESTART", "AGEEND", "SEX", "COUNT")
MORE_COLUMNS = ("TABLE", "NOISE_VARIANCE", "MOE95")
BUREAU_MARGIN = "MOE95_BUREAU"
"""The Bureau's margin, floor(1.96 sigma), on request."""
ALL_AGES = "*"
ROWS = 1 << 19
"""Rows that are made and written at a time."""

_NUMBERS = {"COUNT": "int64", "MOE95": "int64", BUREAU_MARGIN: "int64"}


class Labels:
    """Margins of error by label and table, as columns look them up: number 4 label + table.

    `None` stands for tables that do not say them.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self.total = [label.total for label in labels]
        # of a group's rows in t2, the first two are a sex, the others a cell
        self.rows = [margin for label in labels for margin in (label.sex, label.cell)]


class Writer:
    """Write t1 and t2 into a folder, part by part."""

    def __init__(
        self,
        folder: Folder,
        iterations: Sequence[str],
        labels: Labels,
        *,
        bureau: bool,
        bureau_margins: bool = False,
    ) -> None:
        """`bureau`: the Bureau's columns alone. `bureau_margins`: its margins too, in their own column."""
        self.folder, self.bureau, self._labels = folder, bureau, labels
        self._more = () if bureau else (*MORE_COLUMNS, *((BUREAU_MARGIN,) if bureau_margins else ()))
        self._iterations = strings(list(iterations))
        self.rows = dict.fromkeys(TABLES, 0)
        self._files = {
            stem: _File(folder.file(stem, folder.kind), folder.kind, self._schema(columns))
            for stem, columns in (("t1", T1_COLUMNS), ("t2", T2_COLUMNS))
        }

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exc: object) -> None:
        for file in self._files.values():
            file.close()

    def write(self, part: Part, regions: Sequence[str]) -> None:
        """Append the groups of one geography and level."""
        names = strings(list(regions))
        for chunk in _chunks(part):
            self._totals(chunk, names)
            large = chunk.keep(chunk.table > 0)
            if large.size:
                self._cells(large, names)

    def _schema(self, columns: Sequence[str]) -> Any:
        pa = arrow()
        text = pa.dictionary(pa.int32(), pa.string())
        names = [*columns, *self._more]
        types = {"NOISE_VARIANCE": pa.float64()} if self.folder.kind == "parquet" else {}
        types |= {name: pa.type_for_alias(alias) for name, alias in _NUMBERS.items()}
        marked = [MARK] if self.folder.mark and not self.bureau else []
        mark = {"warning": self.folder.mark} if self.folder.mark else None
        return pa.schema([(name, types.get(name, text)) for name in (*names, *marked)], metadata=mark)

    def _totals(self, part: Part, names: Any) -> None:
        zeros = np.zeros(part.size, dtype=np.int32)
        columns = {
            "REGION_ID": _coded(part.region, names),
            "REGION_TYPE": _coded(zeros, [part.geography]),
            "ITERATION_CODE": _coded(part.iteration, self._iterations),
            "COUNT": part.totals(),
            "TABLE": _coded(zeros, [TOTAL]),
        }
        self.rows[TOTAL] += part.size
        self._append("t1", columns, part.label * len(TABLES) + part.table, self._labels.total)

    def _cells(self, part: Part, names: Any) -> None:
        heights = part.widths() + 2
        table = np.repeat(part.table, heights)
        row = np.arange(table.size) - np.repeat(np.cumsum(heights) - heights, heights)
        kind = _PATTERN_STARTS[table] + row
        group = np.repeat(np.arange(part.size), heights)
        columns = {
            "REGION_ID": _coded(part.region[group], names),
            "REGION_TYPE": _coded(np.zeros(table.size, dtype=np.int32), [part.geography]),
            "ITERATION_CODE": _coded(part.iteration[group], self._iterations),
            "AGESTART": _coded(_AGES[kind], _STARTS),
            "AGEEND": _coded(_AGES[kind], _ENDS),
            "SEX": _coded(_SEXES[kind], ["1", "2"]),
            "COUNT": with_sexes(part),
            "TABLE": _coded(table.astype(np.int32), list(TABLES)),
        }
        for name, count in zip(TABLES, np.bincount(table, minlength=len(TABLES)), strict=True):
            self.rows[name] += int(count)
        number = part.label[group] * len(TABLES) + table
        self._append("t2", columns, 2 * number + (row >= 2), self._labels.rows)

    def _append(
        self, stem: str, columns: dict[str, Any], number: NDArray[Any], margins: Sequence[Margin]
    ) -> None:
        if not self.bureau:
            if self.folder.kind == "parquet":
                columns["NOISE_VARIANCE"] = np.array([float(one.variance) for one in margins])[number]
            else:
                columns["NOISE_VARIANCE"] = _coded(number.astype(np.int32), [one.variance for one in margins])
            columns["MOE95"] = np.array([one.margin for one in margins], dtype=np.int64)[number]
            columns[BUREAU_MARGIN] = np.array([one.bureau for one in margins], dtype=np.int64)[number]
            if self.folder.mark:
                columns[MARK] = _coded(np.zeros(number.size, dtype=np.int32), [self.folder.mark])
        self._files[stem].write(columns)


class _File:
    """One table in one file; pipe-delimited texts carry no quotes, since no code has a pipe in it."""

    def __init__(self, path: Path, kind: str, schema: Any) -> None:
        self._schema = schema
        self._stream = path.open("xb")
        if kind == "parquet":
            self._writer = arrow("parquet").ParquetWriter(self._stream, schema, compression="zstd")
            return
        csv = arrow("csv")
        self._stream.write(("|".join(schema.names) + "\n").encode())
        options = csv.WriteOptions(
            include_header=False, delimiter="|", quoting_style="none", batch_size=1 << 16
        )
        self._writer = csv.CSVWriter(self._stream, schema, write_options=options)

    def write(self, columns: Mapping[str, Any]) -> None:
        pa = arrow()
        arrays = [
            pa.array(columns[name]) if isinstance(columns[name], np.ndarray) else columns[name]
            for name in self._schema.names
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._stream.close()


def with_sexes(part: Part) -> Integers:
    """Return the cells of groups that have a table by sex and age, each after its two sums by sex.

    >>> part = Part.of("USA", 1, [0], [0], [1], [0], [1, 2, 3, 4, 10, 20, 30, 40])
    >>> with_sexes(part).tolist()
    [10, 100, 1, 2, 3, 4, 10, 20, 30, 40]
    """
    widths, starts = part.widths(), part.starts()
    halves = np.stack([starts, starts + widths // 2], axis=1).ravel()
    result = np.empty(int((widths + 2).sum()), dtype=np.int64)
    first = np.cumsum(widths + 2) - widths - 2
    result[np.stack([first, first + 1], axis=1).ravel()] = np.add.reduceat(part.values, halves)
    result[spread(first + 2, widths)] = part.values
    return result


def _chunks(part: Part) -> Iterator[Part]:
    """Yield the groups of a part, in order, so many that their rows fit into memory."""
    ends = np.cumsum(part.widths() + 2)
    start = 0
    while start < part.size:
        base = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, base + ROWS, side="right")))
        yield part if stop - start == part.size else part.take(np.arange(start, stop))
        start = stop


def _coded(codes: NDArray[Any], values: Any) -> Any:
    pa = arrow()
    words = strings(values) if isinstance(values, list) else values
    return pa.DictionaryArray.from_arrays(pa.array(codes, type=pa.int32()), words)


# The rows of a group in t2, one table after the other: which ages (0: all) and which sex.
_STARTS = [ALL_AGES, *(str(first) for ranges in RANGES for first, _ in ranges)]
_ENDS = [ALL_AGES, *(str(last) for ranges in RANGES for _, last in ranges)]
_heights = [0, *(cells + 2 for cells in CELLS[1:])]
_PATTERN_STARTS = np.cumsum(_heights) - _heights
_AGES = np.concatenate(
    [
        np.concatenate([[0, 0], np.tile(1 + sum(AGES[:table]) + np.arange(AGES[table]), 2)])
        for table in range(1, len(TABLES))
    ]
).astype(np.int32)
_SEXES = np.concatenate(
    [np.concatenate([[0, 1], np.repeat([0, 1], AGES[table])]) for table in range(1, len(TABLES))]
).astype(np.int32)
