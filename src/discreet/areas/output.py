"""Tables out: the files of a run, as CSV or Parquet, part by part and in canonical order.

What is not private is marked, in names and in contents. How tables come in is `discreet.tables`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.files import FORMULA_SIGNS
from discreet.files import ArrowArray as ArrowArray
from discreet.files import ArrowSchema as ArrowSchema
from discreet.files import ArrowTable as ArrowTable
from discreet.files import arrow as arrow
from discreet.rehearsal import NOT_PRIVATE
from discreet.tables import Numbers, open_table

if TYPE_CHECKING:
    from discreet.areas.layout import Layout
    from discreet.areas.tree import Tree

FORMATS = ("csv", "parquet")

ROWS = 1 << 20
"""Rows that are written at a time."""

Columns = Callable[[slice, slice], Mapping[str, Numbers]]
"""Columns of numbers for some units, which are so many rows."""

WordCodes = tuple[ArrowArray, Numbers]
"""A column of words: the different ones, and which of them stands in each row."""

MARK = "not_private"
"""The column that marks each row of a rehearsal."""

TEXTS = ("unit", "level", "parent", "query", "cell", MARK)
"""Columns of texts, whatever they look like: an area may be called 01."""

_ALL_TEXTS = {"histogram": ("count",), "microdata": ()}
"""Tables whose columns are texts but for these: a value of an attribute may be 01, too."""

MARKED = NOT_PRIVATE.replace(" ", "-")
"""The part of a file's name that marks a rehearsal."""


def strings(values: Sequence[str] | NDArray[np.str_] | ArrowArray) -> ArrowArray:
    """Return texts as an Arrow array."""
    return arrow().array(values, type=arrow().string())


def coded(codes: Numbers, words: list[str] | ArrowArray) -> ArrowArray:
    """Return a column of words by their numbers.

    >>> import numpy as np
    >>> coded(np.array([1, 0, 1]), ["f", "m"]).to_pylist()
    ['m', 'f', 'm']
    """
    values = strings(words) if isinstance(words, list) else words
    return arrow().DictionaryArray.from_arrays(arrow().array(codes, type=arrow().int32()), values)


def find_output(folder: Path | None, stem: str, endings: Sequence[str] = FORMATS) -> Path | None:
    """Find a file of a run's output by the first part of its name, marked or not."""
    names = [f"{stem}{middle}.{ending}" for middle in ("", f".{MARKED}") for ending in endings]
    return folder and next((folder / name for name in names if (folder / name).is_file()), None)


def spread(starts: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return start, start + 1, ... for each start, as many as its width.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ahead = np.cumsum(widths) - widths
    return np.repeat(starts - ahead, widths) + np.arange(int(widths.sum()))


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
        self._text: Callable[[ArrowArray], ArrowArray] = inert if for_spreadsheets else lambda texts: texts
        self.names: list[str] = []

    def file(self, stem: str, ending: str) -> Path:
        """Return the path of a new file, marked in its name."""
        name = f"{stem}.{MARKED}.{ending}" if self.mark else f"{stem}.{ending}"
        self.names.append(name)
        return self.path / name

    def text(self, stem: str, ending: str, text: str, *, comment: str = "# ") -> None:
        """Write a text file; the mark is its first line."""
        head = f"{comment}{self.mark}\n" if self.mark else ""
        self.file(stem, ending).write_text(head + text, encoding="utf-8")

    def json(self, stem: str, data: Mapping[str, object]) -> None:
        """Write a JSON file; the mark is its first key."""
        head = {"warning": self.mark} if self.mark else {}
        text = json.dumps({**head, **data}, indent=1, ensure_ascii=False)
        self.file(stem, "json").write_text(text + "\n", encoding="utf-8")

    def cells(self, stem: str, *blocks: tuple[Layout, Mapping[str, Numbers] | Columns]) -> None:
        """Write tables of cells one after the other: unit, level, query, cell, and columns of numbers.

        The columns may be a function that gives them for some units, called from the first to the last.
        """
        self._table(stem, (part for layout, columns in blocks for part in self._parts(layout, columns)))

    def rows(self, stem: str, parts: Iterable[Mapping[str, Numbers | WordCodes]]) -> None:
        """Write a table part by part: columns of numbers, and of words by their numbers."""
        self._table(
            stem,
            (
                {
                    name: coded(values[1], self._text(values[0]))
                    if isinstance(values, tuple)
                    else _numbers(values)
                    for name, values in part.items()
                }
                for part in parts
            ),
        )

    def units(self, tree: Tree) -> None:
        """Write the tree: unit, level, parent."""
        parent = tree.names.take(arrow().array(tree.parent, mask=tree.parent < 0)).fill_null("")
        level = coded(tree.kind, self._text(strings(tree.levels)))
        columns = {"unit": self._text(tree.names), "level": level, "parent": self._text(parent)}
        self._table("units", [columns])

    def parts(self, stem: str, parts: Iterable[Mapping[str, ArrowArray | Numbers]]) -> None:
        """Write a table of any columns, part by part; texts are coded columns."""
        written = ({name: _numbers(column) for name, column in columns.items()} for columns in parts)
        self._table(stem, written)

    def _table(self, stem: str, parts: Iterable[Mapping[str, ArrowArray]]) -> None:
        """Write a table part by part."""
        file, writer = self.file(stem, self.kind), None
        try:
            for columns in parts:
                writer = writer or OutputTable(file, self.kind, self._schema(columns))
                writer.write(list(columns.values()))
        finally:
            if writer is not None:
                writer.close()

    def _schema(self, columns: Mapping[str, ArrowArray]) -> ArrowSchema:
        pa = arrow()
        kinds = [pa.field(name, column.type) for name, column in columns.items()]
        if not self.mark:
            return pa.schema(kinds)
        # Also in the file's own metadata, where it stands in plain letters.
        mark = pa.field(MARK, pa.dictionary(pa.int32(), pa.string()))
        return pa.schema([*kinds, mark], metadata={"warning": self.mark})

    def _parts(
        self, layout: Layout, columns: Mapping[str, Numbers] | Columns
    ) -> Iterator[dict[str, ArrowArray]]:
        for units, rows in chunks(layout):
            arrays = columns(units, rows) if callable(columns) else {k: v[rows] for k, v in columns.items()}
            names = {
                name: coded(codes, self._text(words)) for name, (words, codes) in layout.rows(units).items()
            }
            yield names | {name: _numbers(array) for name, array in arrays.items()}


class FolderInMemory(Folder):
    """The same tables, kept as tables of Arrow's: nothing is written."""

    def __init__(self, *, mark: str | None = None) -> None:
        super().__init__(Path(), "parquet", mark=mark)
        self.tables: dict[str, ArrowTable] = {}

    def text(self, stem: str, ending: str, text: str, *, comment: str = "# ") -> None:
        """Leave a text out: who asks has what it says."""

    def json(self, stem: str, data: Mapping[str, object]) -> None:
        """Leave a JSON file out: what it says is in the result."""

    def _table(self, stem: str, parts: Iterable[Mapping[str, ArrowArray]]) -> None:
        pa, tables = arrow(), list[ArrowTable]()
        for columns in parts:
            table = pa.table(dict(columns))
            if self.mark:
                mark = coded(np.zeros(len(table), dtype=np.int32), [self.mark])
                table = table.append_column(MARK, mark).replace_schema_metadata({"warning": self.mark})
            tables.append(_plain_texts(table))
        self.names.append(stem)
        self.tables[stem] = pa.concat_tables(tables)


def _plain_texts(table: ArrowTable) -> ArrowTable:
    """Return a table with its coded texts as texts."""
    pa = arrow()
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.string()))
    return table


def read_output(folder: Path, stem: str, texts: Sequence[str]) -> ArrowTable:
    """Read a table of a run's output: the columns `texts` as texts, whatever they look like."""
    file = find_output(folder, stem)
    if file is None:
        raise InputError(f"{folder} has no table {stem}")
    if file.suffix == ".parquet":
        return _plain_texts(arrow("parquet").read_table(file))
    text = arrow("csv")
    if stem in _ALL_TEXTS:
        texts = [name for name in open_table(file).names if name not in _ALL_TEXTS[stem]]
    kinds = dict.fromkeys(texts, arrow().string())
    return text.read_csv(file, convert_options=text.ConvertOptions(column_types=kinds))


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


def _numbers(column: Numbers | ArrowArray) -> ArrowArray:
    """Return a column of numbers; what is masked or nan is left empty. A column of Arrow's stays as it is."""
    if not isinstance(column, np.ndarray):
        return column
    mask = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    return arrow().array(np.ma.getdata(column), mask=mask, from_pandas=True)


def inert(texts: ArrowArray) -> ArrowArray:
    """Put an apostrophe before texts that begin with = + - or @, a tab or a line break.

    >>> inert(strings(["=1+1", "A1", "-x", "\\tx"])).to_pylist()
    ["'=1+1", 'A1', "'-x", "'\\tx"]
    """
    pc = arrow("compute")
    risky = pc.match_substring_regex(texts, rf"^[{re.escape(''.join(FORMULA_SIGNS))}]")
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)


class OutputTable:
    """One file of one table: Parquet, CSV, or text without quotes, by default pipe-delimited."""

    def __init__(
        self, path: Path, kind: str, schema: ArrowSchema, *, pipes: bool = False, delimiter: str = "|"
    ) -> None:
        self._file = path.open("xb")
        self._schema = schema
        if kind == "parquet":
            self._writer = arrow("parquet").ParquetWriter(self._file, schema, compression="zstd")
        elif not pipes:
            self._writer = arrow("csv").CSVWriter(self._file, schema)
        else:  # no code has a delimiter in it
            self._file.write((delimiter.join(schema.names) + "\n").encode())
            how = arrow("csv").WriteOptions(
                include_header=False, delimiter=delimiter, quoting_style="none", batch_size=1 << 16
            )
            self._writer = arrow("csv").CSVWriter(self._file, schema, write_options=how)

    def write(self, columns: list[ArrowArray]) -> None:
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
