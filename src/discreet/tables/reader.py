"""Tables in: a file of any usual kind, or a table in memory, by one reader with one list of problems.

What a table may be written as, and which columns it must have, is the same for every command. A table is
read whole, with its texts as codes (`read_table`), or some rows at a time (`open_table`). PyArrow does it,
loaded when a table is read and not before. It was chosen by measurement (10 million rows of CSV to integer
codes: 1.5 s, DuckDB 5.7 s) and because it works in memory alone: an engine that spills to disk would leave
confidential counts in its temporary files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from discreet.errors import InputError
from discreet.files import ArrowSchema, ArrowTable, TableSource, arrow, readable
from discreet.tables.columns import (
    Kind,
    Kinds,
    Numbers,
    Words,
    check_schema,
    conformed,
    find_columns,
    numeric_columns,
    text_of_number,
    with_mixtures,
    words_of,
)
from discreet.tables.databases import DatabaseTable
from discreet.tables.delimited import EMPTY_LINE, Delimited, read_header
from discreet.tables.problems import Problems
from discreet.tables.sheets import read_sheet
from discreet.tables.sources import UTF8, Content, Dialect, Named, source_named, standard_input
from discreet.tables.statistics import read_statistics

ArrowFile = Any
"""A file or a reader of Arrow's."""

ROWS = 1 << 20
"""Rows of Parquet that are read at a time."""

_TEXTS: tuple[Kind, ...] = ("text", "written")
"""Kinds of columns that are read as texts."""

_STARTS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
"""How content that is no text begins."""


class OpenTable(Protocol):
    """A table that can be read: what it is called, the names of its columns, and its rows."""

    sha256: str
    size: int

    @property
    def names(self) -> list[str]:
        """The names of the columns, as they are written."""

    @property
    def shown(self) -> str:
        """What messages call it."""

    @property
    def format(self) -> str:
        """The format in which an answer to it is written."""

    @property
    def first_line(self) -> int:
        """The line of the first row."""

    @property
    def word(self) -> str:
        """What a place in it is called."""

    @property
    def complete(self) -> bool:
        """Whether all rows could be read."""

    @property
    def typed(self) -> frozenset[str]:
        """Columns whose numbers are numbers, not texts."""

    def table(self, kinds: Kinds, problems: Problems) -> ArrowTable:
        """Return columns as one table, and note the hash and size of what was read."""

    def batches(self, kinds: Kinds, problems: Problems, *, coded: bool = True) -> Iterator[ArrowTable]:
        """Yield columns, some rows at a time."""


def open_table(
    source: TableSource,
    *,
    wanted: Sequence[str] = (),
    name: str = "the table",
    dialect: Dialect = UTF8,
) -> OpenTable:
    """Open a file, or a table in memory, which messages call by `name`; the columns are known then.

    Of a text the sign between the columns, if the dialect does not say it, is the one by which most of the
    `wanted` ones are found.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("Unit;Count\\nA;12.0\\n")
    ...     opened = open_table(file)
    ...     [batch.to_pylist() for batch in opened.batches({"Count": "whole"}, Problems())]
    [[{'Count': 12}]]
    """
    if isinstance(source, Content):
        return _open_content(source, wanted, dialect)
    if not isinstance(source, str | os.PathLike):
        return _InMemory.open(source, name)
    asked = source_named(source)
    path = asked.path
    if asked.kind == "standard input":
        return _open_content(standard_input(), wanted, dialect)
    if not path.is_file():
        raise InputError(f"{path} is a directory" if path.is_dir() else f"there is no file {path}")
    with readable(path):
        return _open_file(asked, wanted, dialect)


def _open_file(asked: Named, wanted: Sequence[str], dialect: Dialect) -> OpenTable:
    path = asked.path
    if asked.kind == "csv":
        return Delimited.open(path, wanted, dialect)
    if asked.kind == "workbook":
        sheet = read_sheet(path, asked.inside)
        return Delimited(sheet, *read_header(sheet, wanted, dialect=Dialect(sign=",")), word="row")
    if asked.kind == "database":
        table = DatabaseTable.find(path, asked.inside)
        return _InMemory.open(table, table.shown)
    if asked.kind == "statistics":
        return _InMemory.open(read_statistics(path), path.name)
    return Columnar.open(path, asked.kind)


def _open_content(source: Content, wanted: Sequence[str], dialect: Dialect) -> OpenTable:
    """Open what standard input holds: text, or what begins as Parquet or Arrow does."""
    kind = next((kind for start, kind in _STARTS.items() if source.content.startswith(start)), "csv")
    if kind == "csv":
        return Delimited.open(source, wanted, dialect)
    with arrow_errors(source.name, kind):
        content = arrow().BufferReader(source.content)
        file = arrow("parquet").ParquetFile(content) if kind == "parquet" else _arrow_file(content)
        return _InMemory.open(file.read() if kind == "parquet" else file.read_all(), source.name)


@dataclass(slots=True)
class Columnar:
    """A file of Parquet or Arrow."""

    path: Path
    kind: str
    schema: ArrowSchema
    sha256: str = ""
    size: int = 0
    complete: bool = True
    format: str = field(default="parquet", init=False)
    first_line: int = field(default=1, init=False)
    word: str = field(default="row", init=False)

    @classmethod
    def open(cls, path: Path, kind: str) -> Columnar:
        """Read the types of the columns."""
        with arrow_errors(path.name, kind):
            if kind == "parquet":
                return cls(path, kind, arrow("parquet").read_schema(path))
            with closing(arrow().OSFile(str(path))) as stream:
                return cls(path, kind, _arrow_file(stream).schema)

    @property
    def names(self) -> list[str]:
        """The names of the columns, as they are written."""
        names: list[str] = self.schema.names
        return names

    @property
    def shown(self) -> str:
        """The name that messages have."""
        return self.path.name

    @property
    def typed(self) -> frozenset[str]:
        """Columns whose numbers are numbers, not texts."""
        return numeric_columns(self.schema)

    def check(self, kinds: Kinds, problems: Problems) -> None:
        """Report columns whose type cannot be what they should hold; one without a type holds no text."""
        check_schema(self.schema, kinds, self.shown, problems, untyped=(*_TEXTS, "code"))

    def table(self, kinds: Kinds, problems: Problems) -> ArrowTable:
        """Return columns as one table, and note the hash and size of what was read."""
        pa, columns = arrow(), list(kinds)
        # in memory of Arrow's own: one of its threads may let go of it last, when the interpreter is no more
        with pa.OSFile(str(self.path)) as stream:
            content = stream.read_buffer()
        self.sha256, self.size = hashlib.sha256(content).hexdigest(), content.size
        with arrow_errors(self.path.name, self.kind):
            if self.kind == "parquet":
                fields = (self.schema.field(name) for name, kind in kinds.items() if kind in _TEXTS)
                texts = [column.name for column in fields if pa.types.is_string(column.type)]
                file = arrow("parquet").ParquetFile(pa.BufferReader(content), read_dictionary=texts)
                table = file.read(columns=columns)
            else:
                table = _arrow_file(pa.BufferReader(content)).read_all().select(columns)
        self.complete = _fits(table, kinds, problems)
        return conformed(table, kinds, problems) if self.complete else table

    def batches(self, kinds: Kinds, problems: Problems, *, coded: bool = True) -> Iterator[ArrowTable]:
        """Yield columns, some rows at a time."""
        start = 0
        with arrow_errors(self.path.name, self.kind), readable(self.path):
            for batch in self._raw(list(kinds)):
                table = arrow().Table.from_batches([batch])
                if not start and not _fits(table, kinds, problems, untyped=("code",)):
                    self.complete = False
                    return
                rows = conformed(table, kinds, problems, start=start)
                yield from [batch] if rows is table else rows.combine_chunks().to_batches()
                start += batch.num_rows

    def _raw(self, columns: list[str]) -> Iterator[ArrowTable]:
        if self.kind == "parquet":
            with closing(arrow("parquet").ParquetFile(self.path)) as file:
                yield from file.iter_batches(batch_size=ROWS, columns=columns)
            return
        with closing(arrow().OSFile(str(self.path))) as stream:
            file = _arrow_file(stream)
            if hasattr(file, "num_record_batches"):
                parts = (file.get_batch(number) for number in range(file.num_record_batches))
            else:
                parts = iter(file)
            waiting, rows = list[ArrowTable](), 0
            for batch in parts:  # they may be of a few rows each
                waiting.append(batch.select(columns))
                rows += batch.num_rows
                if rows >= ROWS:
                    yield from _together(waiting)
                    waiting, rows = [], 0
            yield from _together(waiting)


def _together(batches: Sequence[ArrowTable]) -> Iterator[ArrowTable]:
    """Yield batches as one, if there are any."""
    if batches:
        yield from arrow().Table.from_batches(batches).combine_chunks().to_batches()


def _arrow_file(stream: ArrowFile) -> ArrowFile:
    """Open what Arrow wrote, as a file (Feather is one) or as a stream."""
    ipc = arrow("ipc")
    with suppress(arrow().ArrowInvalid):
        return ipc.open_file(stream)
    stream.seek(0)
    return ipc.open_stream(stream)


@contextmanager
def arrow_errors(shown: str, kind: str = "parquet") -> Iterator[None]:
    """Turn Arrow's errors into ours: theirs may repeat what they found.

    >>> with arrow_errors("t.parquet"):
    ...     raise arrow().ArrowInvalid("secret")
    Traceback (most recent call last):
    discreet.errors.InputError: t.parquet cannot be read as Parquet: it is damaged, or something else
    """
    pa = arrow()
    try:
        yield
        return
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError):
        pass
    except OSError as error:
        if error.errno is not None:
            raise
    name = {"parquet": "Parquet", "arrow": "Arrow (or Feather, version 2)"}[kind]
    raise InputError(f"{shown} cannot be read as {name}: it is damaged, or something else") from None


@dataclass(slots=True)
class _InMemory:
    """A table in memory: of Arrow, pandas or polars, or of anything that hands out a stream of Arrow's."""

    frame: TableSource
    shown: str
    names: list[str]
    sha256: str = ""
    size: int = 0
    complete: bool = True
    typed: frozenset[str] = frozenset()
    format: str = field(default="parquet", init=False)
    first_line: int = field(default=1, init=False)
    word: str = field(default="row", init=False)

    @classmethod
    def open(cls, frame: TableSource, name: str) -> _InMemory:
        pa = arrow()
        if isinstance(frame, pa.RecordBatch | pa.RecordBatchReader):
            frame = pa.table(frame) if isinstance(frame, pa.RecordBatch) else frame.read_all()
        elif not (isinstance(frame, pa.Table) or hasattr(frame, "iloc") or hasattr(frame, "to_arrow")):
            if not hasattr(frame, "__arrow_c_stream__"):
                raise InputError(
                    f"{name} is of type {type(frame).__name__}; a file or a pandas, polars or Arrow table is "
                    "needed"
                )
            frame = pa.table(frame)
        names = frame.column_names if isinstance(frame, pa.Table) else frame.columns
        return cls(frame, name, [str(column) for column in names])

    def table(self, kinds: Kinds, problems: Problems) -> ArrowTable:
        table = self._columns(kinds, problems)
        if not self.complete:
            return table
        digest, self.size = hashlib.sha256(), 0
        for text in map(words_of, table.columns):
            digest.update(text.codes.tobytes() + "\n".join(text.values.to_pylist()).encode())
            self.size += text.codes.nbytes
        self.sha256 = digest.hexdigest()
        return table

    def batches(self, kinds: Kinds, problems: Problems, *, coded: bool = True) -> Iterator[ArrowTable]:
        table = self._columns(kinds, problems)
        yield from table.combine_chunks().to_batches(max_chunksize=ROWS) if self.complete else ()

    def _columns(self, kinds: Kinds, problems: Problems) -> ArrowTable:
        pa, columns, table = arrow(), list(kinds), None
        # what Arrow says of a column that it cannot take repeats values of it
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            if hasattr(self.frame, "iloc"):
                chosen = self.frame.iloc[:, [self.names.index(name) for name in columns]]
                mixed = _mixtures(chosen, kinds)
                table = pa.Table.from_pandas(chosen.assign(**mixed), preserve_index=False)
                table = with_mixtures(table, mixed)
            else:
                chosen = self.frame.select(columns)
                table = chosen if isinstance(chosen, pa.Table) else chosen.to_arrow()
        if table is None:
            raise InputError(
                f"a column of {self.shown} holds values of several kinds; each must hold texts or numbers"
            )
        self.typed = numeric_columns(table.schema)
        self.complete = _fits(table, kinds, problems, untyped=(*_TEXTS, "code"))
        return conformed(table, kinds, problems) if self.complete else table


def _mixtures(frame: TableSource, kinds: Kinds) -> dict[str, TableSource]:
    """Return columns of pandas with numbers among texts, these as texts too, where that is asked for."""
    mixed = {}
    for number, (name, kind) in enumerate(kinds.items()):
        column = frame.iloc[:, number]
        if kind != "written" or column.dtype != object:
            continue
        kinds_of_values = {type(value) for value in column[~column.isna()]}
        if len(kinds_of_values) > 1 and str in kinds_of_values:
            mixed[name] = column.map(text_of_number).mask(column.isna(), None)
    return mixed


def _fits(table: ArrowTable, kinds: Kinds, problems: Problems, *, untyped: Sequence[Kind] = ()) -> bool:
    """Whether the columns can hold what they should; those that cannot are reported."""
    before = problems.count
    nothing: Sequence[Kind] = untyped if table.num_rows else (*_TEXTS, "code", "whole", "number")
    check_schema(table.schema, kinds, problems.where, problems, untyped=nothing)
    return problems.count == before


# -- tables that are read whole ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table that was read: columns of texts as codes, columns of numbers, and the hash of the file.

    What is wrong with it is gathered in `problems`. If it is not `usable`, rows or texts of it are missing;
    fields that are no numbers are replaced, and it is left to whoever uses the table to stop. Columns that
    are `typed` hold numbers, whatever they were read as.
    """

    path: Path
    format: str
    sha256: str
    size: int
    rows: int
    words: dict[str, Words]
    numbers: dict[str, Numbers]
    problems: Problems
    usable: bool = True
    typed: frozenset[str] = frozenset()

    def origin(self, role: str) -> dict[str, object]:
        """Return what a ledger says about an input: by hash, never by content."""
        return {"role": role, "sha256": self.sha256, "bytes": self.size, "rows": self.rows}


def read_table(
    source: TableSource,
    *,
    words: Sequence[str],
    optional: Sequence[str] = (),
    whole: Sequence[str] = (),
    optional_whole: Sequence[str] = (),
    floats: Sequence[str] = (),
    gaps: Sequence[str] = (),
    optional_gaps: Sequence[str] = (),
    name: str = "the table",
    of: str = "",
    blank: Sequence[str] = ("parent",),
    written: Sequence[str] = (),
    dialect: Dialect = UTF8,
    partly: bool = False,
    problems: Problems | None = None,
) -> ReadTable:
    """Read the named columns of a table: `words`, and what exists of `optional`, as codes, numbers as such.

    `gaps` are numbers that may be missing: nan stands there. The source is a file, or a table in memory,
    which messages call by `name`. Other columns are not looked at. A table `of` something public must have
    rows. Texts must not be empty, but for those that may be `blank` (the top unit has no parent), nor break a
    line. Of columns that are `written`, numbers are texts as a file would have them; a text is read as its
    `dialect` says. Problems are raised, all together; or they are put among `problems` that are given, so
    that those of several tables are raised together (see `stop_unless_usable`). If columns are missing,
    nothing more is looked at, or `partly` the others are.

    >>> import pyarrow
    >>> found = read_table(pyarrow.table({"Unit": ["A", "B"], "n": [3.0, 4.0]}), words=["unit"], whole=["n"])
    >>> found.words["unit"].values.to_pylist(), found.numbers["n"].tolist()
    (['A', 'B'], [3, 4])
    """
    shared = Problems() if problems is None else problems
    kinds: dict[str, Kind] = dict.fromkeys([*words, *optional], "text")
    kinds.update((column, "written") for column in written)
    kinds.update((column, "whole") for column in (*whole, *optional_whole))
    kinds.update((column, "number") for column in floats)
    kinds.update((column, "gap") for column in (*gaps, *optional_gaps))
    needed, more = [*words, *whole, *floats, *gaps], [*optional, *optional_whole, *optional_gaps]
    read = None
    with shared.gathering():
        read = _read(source, needed, more, kinds, name, of, blank, dialect, shared, partly=partly)
    if problems is None:
        shared.stop()
    return read or ReadTable(Path(name), "csv", "", 0, 0, {}, {}, shared, usable=False)


def stop_unless_usable(*tables: ReadTable | None) -> None:
    """Raise all problems of tables that share a list of them, if one of the tables cannot be used."""
    for table in tables:
        if table is not None and not table.usable:
            table.problems.stop()


def _read(
    source: TableSource,
    needed: Sequence[str],
    optional: Sequence[str],
    kinds: Kinds,
    name: str,
    of: str,
    blank: Sequence[str],
    dialect: Dialect,
    shared: Problems,
    *,
    partly: bool,
) -> ReadTable:
    """Read a table; what is wrong is reported, or raised if nothing can be read."""
    opened = open_table(source, wanted=[*needed, *optional], name=name, dialect=dialect)
    is_file = isinstance(source, str | os.PathLike) and Path(source).is_file()
    path = Path(source if is_file else opened.shown)
    problems = shared.of(opened.shown, first_line=opened.first_line, word=opened.word)
    written = find_columns(
        opened.names, needed=needed, optional=optional, table=opened.shown, problems=problems
    )
    lacking = any(wanted not in written for wanted in needed)
    if lacking and not (partly and written):
        return ReadTable(path, opened.format, "", 0, 0, {}, {}, problems, usable=False)
    problems.written = written
    with readable(path):
        table = opened.table({written[key]: kinds[key] for key in written}, problems)
    columns = dict(zip(written, table.columns, strict=True)) if opened.complete else {}
    numbers = {key: column.to_numpy() for key, column in columns.items() if kinds[key] not in _TEXTS}
    texts = {key: words_of(column) for key, column in columns.items() if kinds[key] in _TEXTS}
    lines = opened if isinstance(opened, Delimited) and not numbers else None
    usable = opened.complete and _check_texts(texts, blank, problems, lines=lines) and not lacking
    if of and usable and not table.num_rows:
        usable = False
        problems.at(f"there are no {of}")
    size = opened.sha256, opened.size, table.num_rows
    typed = frozenset(key for key, column in written.items() if column in opened.typed)
    return ReadTable(path, opened.format, *size, texts, numbers, problems, usable, typed)


def _check_texts(
    texts: Mapping[str, Words], may_be_blank: Sequence[str], problems: Problems, *, lines: Delimited | None
) -> bool:
    """Whether no text is missing, if it may not be, and none would break a line; those are reported.

    Empty `lines` have no text at all, in columns that were not read either. If there are numbers, they were
    found as these were read.
    """
    pc, good = arrow("compute"), True
    is_empty = {
        name: np.append(pc.equal(text.values, "").to_numpy(zero_copy_only=False), True)
        for name, text in texts.items()
    }
    if lines is not None and all(empty[:-1].any() for empty in is_empty.values()):
        blank = np.logical_and.reduce([empty[texts[name].codes] for name, empty in is_empty.items()])
        if blank.any() and len(texts) < len(lines.names):
            blank &= lines.empty_rows(blank.size)
        problems.unreadable(blank, EMPTY_LINE, "all")
    for key, text in texts.items():
        bad = pc.match_substring_regex(text.values, r"[\x00-\x1f\x7f]").to_numpy(zero_copy_only=False)
        if bad.any():
            good = False
            problems.rows(np.append(bad, False)[text.codes], "a text has a control character in it", key)
        if key not in may_be_blank and (is_empty[key][:-1].any() or (text.codes < 0).any()):
            missing = is_empty[key][text.codes]
            good = good and not missing.any()
            problems.rows(missing, "a text is missing", key)
    return good
