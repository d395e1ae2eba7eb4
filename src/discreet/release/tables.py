"""All problems of the inputs in one report: of each kind the first places, never a value of the data.

Records and counts are confidential, and a row whose fields are shifted could carry anything anywhere, so what
stands in a file is not repeated: the file, the lines, the field and what is allowed must do.

PyArrow, loaded when a table is read or written and not before.

It was chosen by measurement (10 million rows of CSV to integer codes: 1.5 s, DuckDB 5.7 s) and because it
works in memory alone: an engine that spills to disk would leave confidential counts in its temporary files.

Tables in and out: CSV or Parquet, as codes, hashed as they are read, and never a value in an error.

What is written comes part by part, in canonical order, and is marked if it is not private.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.files import ArrowArray as ArrowArray
from discreet.files import ArrowSchema as ArrowSchema
from discreet.files import ArrowTable as ArrowTable
from discreet.files import FilePath, csv_header, open_bytes
from discreet.files import arrow as arrow
from discreet.files import json_fields as json_fields
from discreet.release.ledger import NOT_PRIVATE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from discreet.estimation.tree import Tree
    from discreet.release.hierarchy.layout import Layout

# -- problems ----------------------------------------------------------------------------------------------

MOST = 20
"""Places named of one kind of problem, and kinds in one report."""


class Problems:
    """Collect problems by kind, then raise them together.

    >>> problems = Problems()
    >>> for line in (3, 9):
    ...     problems.at("a level is not 0, 1 or 2", file="race.txt", line=line, field="LEVEL")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: a level is not 0, 1 or 2 (lines 3 and 9 of race.txt, field LEVEL)

    Those of one table, whose rows are known by masks:

    >>> problems = Problems("counts.csv", first_line=2)
    >>> problems.rows(np.array([False, True, True]), "a count is below zero", "count")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: a count is below zero (lines 3 and 4 of counts.csv, field count)
    """

    def __init__(self, where: str = "", *, first_line: int = 1, word: str = "line") -> None:
        """Of any files, or of the table `where`, whose row 0 is `first_line`; a place is called by `word`."""
        self.where, self._first, self._word = where, first_line, word
        # how many places of each kind there are, and the lines of the first
        self._kinds: dict[tuple[str, str, str], tuple[int, list[int]]] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def count(self) -> int:
        """How many kinds of problems were found."""
        return len(self._kinds)

    def at(self, text: str, *, file: str = "", line: int | None = None, field: str = "") -> None:
        """Report one place; places of the same text, file and field are one kind."""
        self.many(text, file=file, lines=() if line is None else (line,), total=1, field=field)

    def many(self, text: str, *, file: str = "", lines: Iterable[int], total: int, field: str = "") -> None:
        """Report `total` places at once, of which `lines` are the first; nothing if there are none."""
        if total <= 0:
            return
        kind = text, file or self.where, field
        count, known = self._kinds.get(kind, (0, []))
        self._kinds[kind] = count + total, [*known, *islice(lines, MOST - len(known))]

    def rows(self, wrong: NDArray[np.bool_], text: str, column: str) -> None:
        """Report the rows of the table where a mask is true."""
        found = np.flatnonzero(wrong)
        self.many(text, lines=(found[:MOST] + self._first).tolist(), total=int(found.size), field=column)

    def row(self, row: int, text: str, column: str) -> None:
        """Report one row of the table."""
        self.at(text, line=row + self._first, field=column)

    def line(self, row: int) -> str:
        """Name a row of the table as a person finds it in the file."""
        return f"{self._word} {row + self._first}"

    def stop(self) -> None:
        """Raise if there is any problem: one line of text for each kind, in the order they were found."""
        texts = [
            f"{text} ({self._spots(file, *kind)}{file}{f', field {field}' if field else ''})"
            for (text, file, field), kind in self._kinds.items()
        ]
        if len(texts) == 1:
            raise InputError(texts[0])
        if texts:  # numbered, for the command line puts them into one line
            lines = [f"  {place}. {text}" for place, text in enumerate(texts[:MOST], 1)]
            raise InputError(f"{len(texts)} kinds of problems:\n" + "\n".join(lines))

    def _spots(self, file: str, count: int, lines: list[int]) -> str:
        """Write `line 3 of `, `lines 3, 9 and 12 of `, or `lines 3, 9 and 40 more of `."""
        if not lines:
            return f"{count} times in " if count > 1 else ""
        rest = count - len(lines)
        words = [str(line) for line in lines] + ([f"{rest} more"] if rest else [])
        many = f"s {', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else f" {words[0]}"
        return f"{'row' if file.endswith('.parquet') else self._word}{many} of "


# -- PyArrow -----------------------------------------------------------------------------------------------


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


# -- tables in ---------------------------------------------------------------------------------------------

Codes = NDArray[np.int32]
Numbers = NDArray[Any]
"""A column of numbers, whole or not."""

FORMATS = ("csv", "parquet")

BLOCK = 1 << 22
"""Bytes of CSV that are parsed at a time."""


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: a code for each row (-1: nothing there), and the Arrow array of distinct texts."""

    codes: Codes
    values: ArrowArray


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table that was read: columns of texts as codes, columns of numbers, and the hash of the file.

    What is wrong with it is gathered in `problems`. The header of a CSV file is its line 1.
    """

    path: Path
    format: str
    sha256: str
    size: int
    rows: int
    words: dict[str, Words]
    numbers: dict[str, Numbers]
    problems: Problems

    def origin(self, role: str) -> dict[str, object]:
        """Return what a ledger says about an input: by hash, never by content."""
        return {"role": role, "sha256": self.sha256, "bytes": self.size, "rows": self.rows}


TableSource = Any
"""A file, or a pandas, polars or Arrow table."""


def table_format(path: FilePath) -> str:
    """Tell the format by the file's ending.

    >>> table_format("counts.parquet"), table_format("counts.csv.gz")
    ('parquet', 'csv')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    for ending in FORMATS:
        if name.endswith(f".{ending}") and (ending == "csv" or name == Path(path).name.lower()):
            return ending
    raise InputError(f"{Path(path).name} must end in .csv, .csv.gz or .parquet: other formats are not read")


def read_table(
    source: TableSource,
    *,
    words: Sequence[str],
    optional: Sequence[str] = (),
    whole: Sequence[str] = (),
    optional_whole: Sequence[str] = (),
    floats: Sequence[str] = (),
    name: str = "the table",
    of: str = "",
) -> ReadTable:
    """Read the named columns of a table: `words`, and what exists of `optional`, as codes, numbers as such.

    The source is a file, or a pandas, polars or Arrow table, which messages call by `name`. Other columns are
    not looked at. A table `of` something public must have rows. Texts must not be empty (but for the parent
    of a top unit), nor break a line.
    """
    pa, pc, memory = arrow(), arrow("compute"), not isinstance(source, str | os.PathLike)
    file = Path(name if memory else source)
    kind = "parquet" if memory else table_format(source)
    types = dict.fromkeys(whole, pa.int64()) | dict.fromkeys(floats, pa.float64())
    needed, optional = [*words, *types], [*optional, *optional_whole]
    types |= dict.fromkeys(optional_whole, pa.int64())
    choose = partial(chosen_columns, needed=needed, optional=optional, file=file.name)
    try:
        if memory:
            found, digest, size = _from_memory(source, choose, types, name)
        elif not file.is_file():
            raise InputError(f"there is no file {file}")
        else:
            found, digest, size = (_read_csv if kind == "csv" else _read_parquet)(file, choose, types)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{file} cannot be read: {getattr(error, 'strerror', '') or 'it is damaged'}"
        ) from None
    texts = {one: words_of(found.column(one)) for one in found.column_names if one not in types}
    numbers = {one: found.column(one).to_numpy() for one in found.column_names if one in types}
    first, word = (2, "line") if kind == "csv" else (1, "row")
    problems = Problems(file.name, first_line=first, word=word)
    for one, text in texts.items():
        bad = pc.match_substring_regex(text.values, r"[\x00-\x1f\x7f]").to_numpy(zero_copy_only=False)
        if bad.any():
            problems.rows(np.append(bad, False)[text.codes], "a text has a control character in it", one)
        empty = np.append(pc.equal(text.values, "").to_numpy(zero_copy_only=False), True)
        if one != "parent" and (empty[:-1].any() or (text.codes < 0).any()):
            problems.rows(empty[text.codes], "a text is missing", one)
    problems.stop()
    if of and not found.num_rows:
        problems.at(f"there are no {of}")
        problems.stop()
    return ReadTable(file, kind, digest, size, found.num_rows, texts, numbers, problems)


def chosen_columns(
    names: Sequence[str], *, needed: Sequence[str], optional: Sequence[str], file: str
) -> list[str]:
    """Return the columns to read of those that a table has, each of which must be there once."""
    for one in [*needed, *optional]:
        if list(names).count(one) > 1:
            raise InputError(f"{file} has two columns named {one}; each may occur once")
    for one in needed:
        if one not in names:
            raise InputError(
                f"{file} has no column {one}; it must have {', '.join(needed)}{_how(one, names)}"
            )
    return [*needed, *(one for one in optional if one in names)]


def _how(one: str, names: Sequence[str]) -> str:
    """Say how a column must be written that is nearly there.

    >>> _how("unit", ["id", "Unit "]), _how("unit", ["id;unit"]), _how("unit", ["id"])
    (', spelled exactly so', ', with commas between them', '')
    """
    if any(str(name).strip().lower() == one.lower() for name in names):
        return ", spelled exactly so"
    return ", with commas between them" * any(one in re.split(r"[;|\t]", str(name)) for name in names)


class _Hashing(io.RawIOBase):
    """A file that hashes what is read from it, in order, so that the hash is of the bytes that were used.

    Blank lines at its end are hashed, and not passed on. A last line that does not end is ended.
    """

    def __init__(self, path: Path) -> None:
        self._file = open_bytes(path)
        self.hash, self.size = hashlib.sha256(), 0
        self._end, last = self._file.seek(0, os.SEEK_END), b""
        while self._end and not last.strip(b"\r\n"):
            step = min(self._end, 1 << 12)
            self._end = self._file.seek(self._end - step)
            last = self._file.read(step) + last[:2]
        rest = last.rstrip(b"\r\n")
        self._end += len(rest) + (2 if last[len(rest) :].startswith(b"\r\n") else 1)
        self._file.seek(0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view, passed = memoryview(buffer), 0
        while passed <= 0:
            filled = 0
            while filled < len(view) and (count := self._file.readinto(view[filled:])):
                self.hash.update(view[filled : filled + count])
                filled += count
            self.size += filled
            passed = min(filled, self._end - self.size + filled)
            if filled < len(view):
                break
        if filled < len(view) and self._end > self.size:  # a header alone must end, as any other line may
            self._end, view[passed : passed + 1] = self.size, b"\n"
            passed += 1
        return max(passed, 0)

    def close(self) -> None:
        self._file.close()
        super().close()


Types = Mapping[str, Any]
"""The Arrow types of columns that are numbers."""

Choose = Callable[[Sequence[str]], list[str]]
"""What gives the columns that are read, of those that a table has."""

_Read = tuple[ArrowTable, str, int]
"""A table, the hash of what was read, and its size."""


def _read_csv(file: Path, choose: Choose, types: Types) -> _Read:
    header = _header(file)
    chosen = choose(header)
    found = _parsed(file, chosen, types) or _with_points(file, chosen, types)
    if found is None:
        _find_fault(file, header, types)
        raise InputError(f"{file.name} cannot be read as CSV in UTF-8, with commas and a header")
    return found


WHOLE = r"-?([0-9]{1,18}|[0-9]{1,15}\.0*)"
"""A whole number as it may be written: with a point only where a float is exact."""


def _with_points(file: Path, chosen: list[str], types: Types) -> _Read | None:
    """Read columns of a CSV file whose whole numbers may be written as 12.0."""
    pa, pc = arrow(), arrow("compute")
    whole = [name for name, kind in types.items() if name in chosen and pa.types.is_integer(kind)]
    found = _parsed(file, chosen, {**types, **dict.fromkeys(whole, pa.string())})
    if found is None:
        return None
    table, digest, size = found
    for name in whole:
        text = pc.utf8_trim_whitespace(table.column(name))
        if not pc.all(pc.match_substring_regex(text, f"^({WHOLE})$")).as_py():
            return None
        numbers = pc.replace_substring_regex(text, r"\..*", "").cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, numbers)
    return table, digest, size


def _parsed(file: Path, chosen: list[str], types: Types) -> _Read | None:
    """Read columns of a CSV file; nothing if one of them is not of its type."""
    pa, pc = arrow(), arrow("csv")
    text = pa.dictionary(pa.int32(), pa.string())
    stream = _Hashing(file)
    table = None
    # Arrow's own error repeats what it found, so it must not even be the context of the one that is raised.
    with suppress(pa.ArrowInvalid), closing(stream):
        table = pc.read_csv(
            pa.PythonFile(stream, "r"),
            read_options=pc.ReadOptions(block_size=BLOCK),
            parse_options=pc.ParseOptions(ignore_empty_lines=False),
            convert_options=pc.ConvertOptions(
                column_types={name: types.get(name, text) for name in chosen},
                include_columns=chosen,
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    digest, size = stream.hash.hexdigest(), stream.size
    # Arrow's threads may hold the stream for a moment longer; one that lets go of it while the interpreter
    # ends would abort the program.
    held, limit = weakref.ref(stream), time.monotonic() + 5.0
    del stream
    while held() is not None and time.monotonic() < limit:
        time.sleep(0.001)
    return None if table is None else (table, digest, size)


def _read_parquet(file: Path, choose: Choose, types: Types) -> _Read:
    pa, pq = arrow(), arrow("parquet")
    # in memory of Arrow's own: one of its threads may let go of it last, when the interpreter is no more
    with pa.OSFile(str(file)) as stream:
        content = stream.read_buffer()
    try:
        schema = pq.read_schema(pa.BufferReader(content))
        chosen = choose(schema.names)
        texts = [name for name in chosen if name not in types and pa.types.is_string(schema.field(name).type)]
        table = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read(columns=chosen)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError):
        raise InputError(f"{file.name} cannot be read as Parquet") from None
    return checked_types(table, types, file.name), hashlib.sha256(content).hexdigest(), content.size


def _from_memory(frame: TableSource, choose: Choose, types: Types, name: str) -> _Read:
    """Take columns of a pandas, polars or Arrow table, and hash what stands in them."""
    pa = arrow()
    if isinstance(frame, pa.RecordBatch | pa.RecordBatchReader):
        frame = pa.table(frame) if isinstance(frame, pa.RecordBatch) else frame.read_all()
    is_arrow, is_pandas = isinstance(frame, pa.Table), hasattr(frame, "iloc")
    if not (is_arrow or is_pandas or hasattr(frame, "to_arrow")):
        raise InputError(
            f"{name} is of type {type(frame).__name__}; a file or a pandas, polars or Arrow table is needed"
        )
    chosen = choose(frame.column_names if is_arrow else list(frame.columns))
    table = None
    # what Arrow says of a column that it cannot take repeats values of it
    with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        if is_pandas:
            table = pa.Table.from_pandas(frame[chosen], preserve_index=False)
        else:
            table = frame.select(chosen) if is_arrow else frame.select(chosen).to_arrow()
    if table is None:
        raise InputError(f"a column of {name} holds values of several kinds; each must hold texts or numbers")
    table = checked_types(table, types, name, in_memory=True)
    digest, size = hashlib.sha256(), 0
    for text in map(words_of, table.columns):
        digest.update(text.codes.tobytes() + "\n".join(text.values.to_pylist()).encode())
        size += text.codes.nbytes
    return table, digest.hexdigest(), size


def checked_types(
    table: ArrowTable, types: Types, file: str, *, in_memory: bool = False, first: int = 1
) -> ArrowTable:
    """Check the types of columns, and return the table with its numbers as `types` says; the rest is text.

    Floats and decimals that are all whole are as good as integers, as counts and as codes. The table begins
    at row `first` of the file.
    """
    pa, is_a = arrow(), arrow().types
    numbers = [is_a.is_integer, is_a.is_floating, is_a.is_decimal]
    text = [is_a.is_string, is_a.is_large_string, is_a.is_string_view, *numbers]
    if not table.num_rows:  # a column of nothing may have no type
        numbers.append(is_a.is_null)
    if in_memory or not table.num_rows:
        text.append(is_a.is_null)
    problems = Problems(file, first_line=first, word="row")
    for place, name in enumerate(table.column_names):
        column, wanted = table.column(name), types.get(name)
        kind = column.type
        if wanted is None:
            kind = kind.value_type if is_a.is_dictionary(kind) else kind
            good, need = text, "it must hold text"
        elif is_a.is_integer(wanted):
            good, need = numbers, "a column of integers is needed"
        else:
            good, need = numbers, "a column of numbers is needed"
        if not any(is_one(kind) for is_one in good):
            raise InputError(f"column {name} of {file} is of type {kind}; {need}")
        if wanted is not None and column.null_count:
            problems.row(int(np.flatnonzero(column.is_null().to_numpy())[0]), "a value is missing", name)
            problems.stop()
        if wanted != pa.float64() and (is_a.is_floating(kind) or is_a.is_decimal(kind)):
            column = column.cast(kind)
            problems.rows(_not_whole(column), f"{name} is not a whole number", name)
            problems.stop()
            column = column.cast(pa.int64() if is_a.is_floating(kind) else pa.decimal256(76, 0))
        try:
            column = column if wanted is None else column.cast(wanted)
        except pa.ArrowInvalid:
            raise InputError(f"column {name} of {file} has a number too large to be used") from None
        table = table.set_column(place, name, column)
    return table


def _not_whole(column: ArrowArray) -> NDArray[np.bool_]:
    """Return which numbers are not whole, or are floats beyond 2^53, where they stand for several."""
    pa, pc = arrow(), arrow("compute")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.decimal256(76, column.type.scale))
        wrong = pc.not_equal(column, pc.floor(column))
    else:
        column = column.cast(pa.float64())
        exact = pc.less_equal(pc.abs(column), float(1 << 53))
        wrong = pc.invert(pc.and_(exact, pc.equal(column, pc.floor(column))))
    return np.asarray(wrong.fill_null(False).to_numpy(), dtype=np.bool_)


def _header(file: Path) -> list[str]:
    try:
        return csv_header(file)[0]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"the header of {file.name} is not a line of CSV in UTF-8 (line 1)") from None


def words_of(column: ArrowArray) -> Words:
    """Return an Arrow column of texts as codes."""
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    if not column.num_chunks:
        return Words(np.empty(0, dtype=np.int32), pa.array([], type=pa.string()))
    column = column.unify_dictionaries()
    values = column.chunk(0).dictionary.cast(pa.string())
    if values.null_count or len(values.unique()) < len(values):  # a file's own dictionary may be odd
        column = column.cast(pa.string()).dictionary_encode().unify_dictionaries()
        values = column.chunk(0).dictionary
    codes = np.empty(len(column), dtype=np.int32)
    at = 0
    for chunk in column.chunks:
        part = chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices
        codes[at : at + len(part)] = part.to_numpy()
        at += len(part)
    return Words(codes, values)


def _find_fault(file: Path, header: list[str], types: Types) -> None:
    """Read a CSV file line by line to find what the fast reader stumbled over."""
    whole = re.compile(rf"\s*{WHOLE}\s*"), "a whole number"
    number = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*"), "a number"
    problems = Problems(file.name, first_line=2)
    places = [
        (header.index(name), name, *(whole if arrow().types.is_integer(kind) else number))
        for name, kind in types.items()
        if name in header
    ]
    content = io.BufferedReader(_Hashing(file))
    with io.TextIOWrapper(content, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        rows, row, found = csv.reader(stream), 0, 0
        try:
            next(rows)
            for fields in rows:
                faults = []
                if len(fields) != len(header):
                    text = f"{len(fields)} fields, {len(header)} expected" if fields else "an empty line"
                    faults = [(text, "all")]
                elif any("\udc80" <= letter <= "\udcff" for letter in "".join(fields)):
                    faults = [("not UTF-8", "all")]
                else:
                    for place, name, pattern, what in places:
                        if not pattern.fullmatch(fields[place]):
                            faults.append((f"{name} is not {what}", name))
                for text, column in faults:
                    problems.row(row, text, column)
                found, row = found + len(faults), rows.line_num - 1  # where the next one begins
                if found >= 10:
                    break
        except (csv.Error, StopIteration):
            problems.row(row, "not a line of CSV", "all")
    problems.stop()


# -- out ---------------------------------------------------------------------------------------------------

ROWS = 1 << 20
"""Rows that are written at a time."""

Columns = Callable[[slice, slice], Mapping[str, Numbers]]
"""Columns of numbers for some units, which are so many rows."""

MARK = "not_private"
"""The column that marks each row of a rehearsal."""

MARKED = NOT_PRIVATE.replace(" ", "-")
"""The part of a file's name that marks a rehearsal."""


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

    def units(self, tree: Tree) -> None:
        """Write the tree: unit, level, parent."""
        parent = tree.names.take(arrow().array(tree.parent, mask=tree.parent < 0)).fill_null("")
        level = coded(tree.kind, self._text(strings(tree.levels)))
        columns = {"unit": self._text(tree.names), "level": level, "parent": self._text(parent)}
        self._table("units", [columns])

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
            found = columns(units, rows) if callable(columns) else {k: v[rows] for k, v in columns.items()}
            names = {
                name: coded(codes, self._text(words)) for name, (words, codes) in layout.rows(units).items()
            }
            yield names | {name: _numbers(one) for name, one in found.items()}


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


def _numbers(column: Numbers) -> ArrowArray:
    """Return a column of numbers; what is masked or nan is left empty."""
    mask = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    return arrow().array(np.ma.getdata(column), mask=mask, from_pandas=True)


def inert(texts: ArrowArray) -> ArrowArray:
    """Put an apostrophe before texts that begin with = + - or @, a tab or a line break.

    >>> inert(strings(["=1+1", "A1", "-x"])).to_pylist()
    ["'=1+1", 'A1', "'-x"]
    """
    pc = arrow("compute")
    risky = pc.match_substring_regex(texts, r"^[=+\-@\t\r]")
    return pc.if_else(risky, pc.binary_join_element_wise("'", texts, ""), texts)


class OutputTable:
    """One file of one table: Parquet, CSV, or pipe-delimited text without quotes."""

    def __init__(self, path: Path, kind: str, schema: ArrowSchema, *, pipes: bool = False) -> None:
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
