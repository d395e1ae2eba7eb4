"""Tables out: CSV or Parquet, part by part, in canonical order, and marked if they are not private."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.hierarchy.arrow import arrow, coded, strings
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.reading import FORMATS, Codes
from discreet.release.hierarchy.tree import Tree
from discreet.release.ledger import NOT_PRIVATE

ROWS = 1 << 20
"""Rows that are written at a time."""

Columns = Callable[[slice, slice], Mapping[str, NDArray[Any]]]
"""Columns of numbers for some units, which are so many rows."""

MARK = "not_private"
"""The column that marks each row of a rehearsal."""


def chunks(layout: Layout) -> Iterator[tuple[slice, slice]]:
    """Cut a table into the parts that are written at a time: units, and their rows."""
    return layout.chunks(ROWS)


class Folder:
    """A directory of output files of one format, marked or not."""

    def __init__(
        self, path: Path, kind: str, *, mark: str | None = None, for_spreadsheets: bool = False
    ) -> None:
        """Write to `path`, tables as `kind`; `mark` says why the output is not private, if it is not.

        `for_spreadsheets` puts an apostrophe before texts that a spreadsheet would take for a formula.
        """
        self.path, self.kind, self.mark = path, kind, mark
        self._text = inert if for_spreadsheets else _as_it_is
        self.names: list[str] = []

    def file(self, stem: str, ending: str) -> Path:
        """Return the path of a new file, marked in its name."""
        name = f"{stem}.{NOT_PRIVATE.replace(' ', '-')}.{ending}" if self.mark else f"{stem}.{ending}"
        self.names.append(name)
        return self.path / name

    def text(self, stem: str, ending: str, text: str, *, comment: str = "# ") -> None:
        """Write a text file; the mark is its first line."""
        head = f"{comment}{self.mark}\n" if self.mark else ""
        self.file(stem, ending).write_text(head + text, encoding="utf-8")

    def json(self, stem: str, data: Mapping[str, Any]) -> None:
        """Write a JSON file; the mark is its first key."""
        head = {"warning": self.mark} if self.mark else {}
        text = json.dumps({**head, **data}, indent=1, ensure_ascii=False)
        self.file(stem, "json").write_text(text + "\n", encoding="utf-8")

    def cells(self, stem: str, layout: Layout, columns: Mapping[str, NDArray[Any]] | Columns) -> None:
        """Write a table of cells: unit, level, query, cell, and columns of numbers, one item a cell.

        The columns may be a function that gives them for some units, called from the first to the last.
        """
        self.blocks(stem, [(layout, columns)])

    def blocks(
        self, stem: str, blocks: Sequence[tuple[Layout, Mapping[str, NDArray[Any]] | Columns]]
    ) -> None:
        """Write tables of cells that have the same columns one after the other to one file."""
        file, writer = self.file(stem, self.kind), None
        try:
            for layout, columns in blocks:
                queries, cells, patterns = self._words(layout)
                for units, rows in chunks(layout):
                    found = (
                        columns(units, rows)
                        if callable(columns)
                        else {name: column[rows] for name, column in columns.items()}
                    )
                    if writer is None:
                        writer = OutputTable(file, self.kind, self._schema(found))
                    writer.write(
                        self._part(layout, units, queries, cells, patterns)
                        + [_numbers(column) for column in found.values()]
                    )
        finally:
            if writer is not None:
                writer.close()

    def units(self, tree: Tree) -> None:
        """Write the tree: unit, level, parent."""
        pa = arrow()
        above = pa.array(tree.parent, mask=tree.parent < 0)
        parent = tree.names.take(above).fill_null("")
        levels = self._text(strings(tree.levels))
        names, parents = self._text(tree.names), self._text(parent)
        columns = {"unit": names, "level": coded(tree.level, levels), "parent": parents}
        fields = [(name, column.type) for name, column in columns.items()]
        with OutputTable(self.file("units", self.kind), self.kind, self._marked(fields)) as writer:
            writer.write(list(columns.values()))

    def _marked(self, fields: Sequence[tuple[str, Any]]) -> Any:
        pa = arrow()
        if not self.mark:
            return pa.schema(fields)
        # Also in the file's own metadata, where it stands in plain letters.
        mark = pa.field(MARK, pa.dictionary(pa.int32(), pa.string()))
        return pa.schema([*map(pa.field, *zip(*fields, strict=True)), mark], metadata={"warning": self.mark})

    def _schema(self, columns: Mapping[str, NDArray[Any]]) -> Any:
        pa = arrow()
        fields = [
            (name, pa.dictionary(pa.int32(), pa.string())) for name in ("unit", "level", "query", "cell")
        ]
        fields += [(name, pa.from_numpy_dtype(column.dtype)) for name, column in columns.items()]
        return self._marked(fields)

    def _words(self, layout: Layout) -> tuple[Any, Any, tuple[Codes, Codes]]:
        queries = layout.queries
        words, query, cell = layout.patterns()
        return self._text(strings(queries)), self._text(words), (query, cell)

    def _part(
        self, layout: Layout, units: slice, queries: Any, cells: Any, patterns: tuple[Codes, Codes]
    ) -> list[Any]:
        width = np.diff(layout.base[units.start : units.stop + 1])
        column = layout.columns(units)
        unit = np.repeat(np.arange(width.size, dtype=np.int32), width)
        return [
            coded(unit, self._text(layout.tree.names.slice(units.start, width.size))),
            coded(np.repeat(layout.tree.level[units], width), self._text(strings(layout.tree.levels))),
            coded(patterns[0][column], queries),
            coded(patterns[1][column], cells),
        ]


def output_format(asked: str | None, default: str, *, for_spreadsheets: bool = False) -> str:
    """Return the format that tables are written in.

    >>> output_format(None, "csv", for_spreadsheets=True)
    'csv'
    """
    kind = asked or default
    if kind not in FORMATS:
        raise InputError(f"format is {kind!r}; it must be csv or parquet")
    if for_spreadsheets and kind != "csv":
        raise InputError("--for-spreadsheets is for tables in CSV; leave it out, or give --format csv")
    return kind


def _numbers(column: NDArray[Any]) -> Any:
    """Return a column of numbers; what is masked or nan is left empty."""
    mask = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    return arrow().array(np.ma.getdata(column), mask=mask, from_pandas=True)


def inert(texts: Any) -> Any:
    """Put an apostrophe before texts that begin with = + - or @, a tab or a line break.

    >>> inert(strings(["=1+1", "A1", "-x"])).to_pylist()
    ["'=1+1", 'A1', "'-x"]
    """
    pc = arrow("compute")
    risky = pc.match_substring_regex(texts, r"^[=+\-@\t\r]")
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)


def _as_it_is(texts: Any) -> Any:
    return texts


class OutputTable:
    """One file of one table: Parquet, CSV, or pipe-delimited text without quotes."""

    def __init__(self, path: Path, kind: str, schema: Any, *, pipes: bool = False) -> None:
        self._file = path.open("xb")
        self._schema = schema
        if kind == "parquet":
            self._writer = arrow("parquet").ParquetWriter(self._file, schema, compression="zstd")
        elif not pipes:
            self._writer = arrow("csv").CSVWriter(self._file, schema)
        else:  # no code has a pipe in it
            self._file.write(("|".join(schema.names) + "\n").encode())
            how = arrow("csv").WriteOptions(
                include_header=False, delimiter="|", quoting_style="none", batch_size=1 << 16
            )
            self._writer = arrow("csv").CSVWriter(self._file, schema, write_options=how)

    def write(self, columns: list[Any]) -> None:
        """Append rows; the mark, if there is one, need not be among the columns."""
        pa = arrow()
        if len(columns) < len(self._schema):
            mark = strings([self._schema.metadata[b"warning"].decode()])
            columns = [*columns, coded(np.zeros(len(columns[0]), dtype=np.int32), mark)]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def __enter__(self) -> OutputTable:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the file."""
        try:
            self._writer.close()
        finally:
            self._file.close()
