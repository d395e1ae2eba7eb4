"""Text with one row a line and a sign between the fields: commas, semicolons, tabs or bars.

The first line names the columns, and says by that which sign it is. The text is UTF-8, with or without a byte
order mark, and lines end as they like. It is parsed block by block by PyArrow; if a block has a number that
PyArrow does not take, the rest is read as text and each distinct number looked at here. Only a file whose
lines are no rows is read a second time, line by line, to say where.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import time
import weakref
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.files import ArrowTable, ArrowType, arrow, readable
from discreet.tables.columns import PLACEHOLDER, Kind, Kinds, empty_lines, find_columns
from discreet.tables.problems import Problems
from discreet.tables.sources import PACKED, UTF8, Content, Dialect, open_bytes

if TYPE_CHECKING:
    from _csv import Reader

    from _typeshed import WriteableBuffer

_NUMERIC: tuple[Kind, ...] = ("whole", "number", "gap")

SIGNS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""What may stand between fields, in words."""

_MOST_ABOVE = 20
"""Lines above a header that are looked through for it."""

BLOCK = 1 << 22
"""Bytes that are parsed at a time."""

_WHOLE = re.compile(r"\s*-?([0-9]{1,18}|[0-9]{1,15}\.0*)\s*")
"""A whole number as it may be written: with a point only where a float is exact."""

_NUMBER = re.compile(
    r"\s*[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|nan|inf|infinity)\s*", re.IGNORECASE
)
_EXPONENT = re.compile(r"\s*[-+]?[0-9]+\.?[0-9]*[eE][-+]?[0-9]+\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9]*,[0-9]+\s*")
_MARGIN = re.compile(r"\s*(±|\+/-|\+-).*")
"""A margin of error as tables for people have it."""

_LIKE_NUMBER = re.compile(
    r"\s*(±\s*)?[-+]?([0-9][0-9.,]*|[.,][0-9]+)([eE][-+]?[0-9]+)?%?\s*|\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*"
)
"""What no column is called: a number in any style, or a date."""

_NOTHING = ("", "na", "n/a", "null", ".")
"""What stands in a text where there is no number."""

EMPTY_LINE = "an empty line"


def read_header(
    path: Path | Content, wanted: Sequence[str] = (), *, dialect: Dialect = UTF8
) -> tuple[list[str], str]:
    """Return the names in the first line, and the sign between them.

    If it is not said, it is the sign by which most of the wanted names are found, and of several the one that
    makes most columns: a name in quotes may hold another one.
    """
    signs = (dialect.sign,) if dialect.sign else tuple(SIGNS)
    with open_bytes(path, dialect) as stream:
        line = stream.readline(1 << 20)
        further = [stream.readline(1 << 20) for _ in range(_MOST_ABOVE)]
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        advice = dialect.advice.replace("windows-1252", "utf-16")
        raise InputError(f"{path.name} is UTF-16; {advice}")
    try:
        text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{dialect.not_utf8} (line 1 of {path.name})") from None
    if not dialect.header and (named := _named_below(text, further, wanted, dialect)):
        raise InputError(f"the columns of {path.name} are named in line {named}; delete what stands above it")
    if not text.strip():
        nothing = f"the first line of {path.name} is empty; it must name the columns"
        raise InputError(nothing if line else f"{path.name} is empty; a header and rows are needed")
    if "\r" in text.rstrip("\r\n") and '"' not in text:
        raise InputError(
            f"lines of {path.name} end with a carriage return alone; save it with the ends of lines of today"
        )
    best: tuple[int, int] = (-1, -1)
    names, sign = list[str](), signs[0]
    replaced = set[str]()
    for separator in signs:
        with suppress(csv.Error):
            header = next(_fields([text], separator, dialect.quote), [])
            if dialect.header:
                if is_record(header, dialect.values) and not _are_places(header):
                    replaced.add(separator)
                header = _named_by_place(header, dialect.header)
            met = find_columns(header, needed=wanted, optional=(), table="", problems=Problems())
            if (len(met), len(header)) > best:
                best, names, sign = (len(met), len(header)), header, separator
    if any("\n" in name or "\r" in name for name in names):
        raise InputError(f"{path.name} has a column whose name is more than one line; one line is needed")
    if not names:
        raise InputError(f"the header of {path.name} is not a line of CSV in UTF-8 (line 1)")
    if sign in replaced:
        raise InputError(
            f"the first line of {path.name} seems to be a record, which would be lost: header in [input] "
            "takes the place of a line of names; write such a line above it"
        )
    if len(names) < len(dialect.header):
        raise InputError(
            f"{path.name} has {len(names)} column{'s' * (len(names) != 1)}; it must have "
            f"{len(dialect.header)}: {', '.join(dialect.header)}"
        )
    return names, sign


def _named_below(first: str, further: Sequence[bytes], wanted: Sequence[str], dialect: Dialect) -> int:
    """Return the line that names more of the wanted columns than the first one, and most of them; or 0.

    >>> _named_below("Survey 2026", [b"\\n", b"unit;age\\n", b"North;34\\n"], ["age", "unit"], UTF8)
    3
    """
    names = {name.strip().casefold() for name in wanted}

    def met(line: str) -> int:
        signs = (dialect.sign,) if dialect.sign else tuple(SIGNS)
        fields = ({field.strip(' "\r\n').casefold() for field in line.split(sign)} for sign in signs)
        return max(len(names & some) for some in fields)

    counts = [met(line.decode("utf-8", "replace")) for line in further]
    most = max(counts, default=0)
    return counts.index(most) + 2 if most > met(first) and 2 * most >= len(names) else 0


def is_grouped(text: str, sign: str) -> bool:
    """Whether a number is written as one with this sign between its thousands would be.

    >>> [is_grouped(text, ",") for text in ("1,775", "-12,345,678", "0,775", "17,5", "1,775.5", "1775")]
    [True, True, False, False, True, False]
    """
    other = "." if sign == "," else ","
    pattern = rf"[-+]?[1-9][0-9]{{0,2}}({re.escape(sign)}[0-9]{{3}})+({re.escape(other)}[0-9]*)?"
    return re.fullmatch(pattern, text.strip()) is not None


def is_record(fields: Iterable[str], values: Container[str] = frozenset()) -> bool:
    """Whether fields are those of a record rather than names: one is a number, a date or one of `values`.

    >>> is_record(["unit", "age"]), is_record(["North", "34"]), is_record(["North", "f"], {"f", "m"})
    (False, True, True)
    """
    return any(_LIKE_NUMBER.fullmatch(text) is not None or text.strip() in values for text in fields)


def _are_places(names: Sequence[str]) -> bool:
    """Whether names are but the places of columns, as programs write them that know no names.

    >>> _are_places(["0", "1", "2"]), _are_places(["", "0", "1"]), _are_places(["1", "1"])
    (True, True, False)
    """
    rest = list(names[1:] if names[:1] == [""] else names)  # an unnamed index comes first
    return any(rest == [str(start + number) for number in range(len(rest))] for start in (0, 1))


def _named_by_place(names: Sequence[str], header: Sequence[str]) -> list[str]:
    """Name columns in their order; those that have no name there are called by their place.

    >>> _named_by_place(["X", "Y", "Z"], ["key", "age"])
    ['key', 'age', 'column 3']
    """
    return [*header[: len(names)], *(f"column {number + 1}" for number in range(len(header), len(names)))]


def _fields(lines: Iterable[str], sign: str, quote: str, *, strict: bool = False) -> Reader:
    """Split lines into fields; an empty quote means that fields are not quoted."""
    if not quote:
        return csv.reader(lines, delimiter=sign, quoting=csv.QUOTE_NONE, strict=strict)
    return csv.reader(lines, delimiter=sign, quotechar=quote, strict=strict)


class _Stream(io.RawIOBase):
    """A file that hashes what is read from it, in order, so that the hash is of the bytes that were used.

    Blank lines at its end are hashed, and not passed on. A last line that does not end is ended.
    """

    def __init__(self, path: Path | Content, dialect: Dialect, *, hashed: bool) -> None:
        self._file = open_bytes(path, dialect)
        self.hash, self.size = hashlib.sha256(), 0
        self._hashed = hashed
        self._end, last = self._file.seek(0, os.SEEK_END), b""
        while self._end and not last.strip(b"\r\n"):
            step = min(self._end, 1 << 12)
            self._end = self._file.seek(self._end - step)
            last = self._file.read(step) + last[:2]
        rest = last.rstrip(b"\r\n")
        self._end += len(rest) + (2 if last[len(rest) :].startswith(b"\r\n") else 1)
        plain = isinstance(path, Path) and path.suffix.lower() not in PACKED and dialect.is_utf8
        self.as_it_is = plain and self._end == os.stat(str(path)).st_size
        self._file.seek(0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view, passed = memoryview(buffer), 0
        while passed <= 0:
            filled = 0
            while filled < len(view) and (count := self._file.readinto(view[filled:])):
                if self._hashed:
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


@dataclass(slots=True)
class Delimited:
    """A text, its header and the sign between its fields; when it was read, its hash and size."""

    path: Path | Content
    names: list[str]
    sign: str
    sha256: str = ""
    size: int = 0
    complete: bool = True
    format: str = field(default="csv", init=False)
    first_line: int = field(default=2, init=False)
    word: str = "line"
    dialect: Dialect = UTF8

    @classmethod
    def open(cls, path: Path | Content, wanted: Sequence[str], dialect: Dialect = UTF8) -> Delimited:
        """Read the header."""
        return cls(path, *read_header(path, wanted, dialect=dialect), dialect=dialect)

    @property
    def typed(self) -> frozenset[str]:
        """Columns whose numbers are numbers, not texts: any of a sheet may be."""
        return frozenset(self.names if self.word == "row" else ())

    @property
    def shown(self) -> str:
        """The name that messages have."""
        return self.path.name

    def table(self, kinds: Kinds, problems: Problems) -> ArrowTable:
        """Return columns as one table, with texts as dictionaries, and note hash and size of the file."""
        parts = list(self.batches(kinds, problems, hashed=True))
        return arrow().Table.from_batches(parts, schema=arrow().schema(_types(kinds, coded=True)))

    def batches(
        self, kinds: Kinds, problems: Problems, *, coded: bool = True, hashed: bool = False
    ) -> Iterator[ArrowTable]:
        """Yield columns, some rows at a time; texts as dictionaries, if they are to be `coded`.

        Fields that are no numbers are reported and replaced. If a line is no row, all such lines are
        reported, and nothing more comes.
        """
        rows = 0
        with readable(Path(str(self.path))):
            for careful in (False, True):
                types = _types(kinds, coded=coded)
                if careful:
                    texts: Kinds = {name: "text" for name, kind in kinds.items() if kind in _NUMERIC}
                    types |= _types(texts, coded=True)
                reading = _Pass(self, types, skip=rows, hashed=hashed)
                for batch in reading:
                    yield _with_numbers(batch, kinds, problems, rows) if careful else batch
                    rows += batch.num_rows
                if reading.complete:
                    self.sha256, self.size = reading.sha256, reading.size
                    return
            self.complete = False
            self.report_lines(kinds, problems, done=rows)

    @contextmanager
    def _letters(self) -> Iterator[TextIO]:
        content = io.BufferedReader(_Stream(self.path, self.dialect, hashed=False))
        with io.TextIOWrapper(content, encoding="utf-8", errors="surrogateescape", newline="") as stream:
            yield stream

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        """Return for rows, counted from 0, the lines where they begin, if empty lines are no rows."""
        wanted, line_of, row = sorted(set(rows)), dict[int, int](), 0
        with readable(Path(str(self.path))), suppress(csv.Error), self._letters() as stream:
            lines, line = _fields(stream, self.sign, self.dialect.quote), self.first_line
            next(lines, None)
            for fields in lines:
                if len(line_of) == len(wanted):
                    break
                if fields and row == wanted[len(line_of)]:
                    line_of[row] = line
                row, line = row + bool(fields), lines.line_num + 1
        return line_of

    def empty_rows(self, number: int) -> NDArray[np.bool_]:
        """Return which rows, of so many, have nothing in any column."""
        empty = np.zeros(number, dtype=np.bool_)
        with readable(Path(str(self.path))), suppress(csv.Error), self._letters() as stream:
            lines = _fields(stream, self.sign, self.dialect.quote)
            next(lines, None)
            for row, fields in enumerate(islice(lines, number)):
                empty[row] = not any(fields)
        return empty

    def rows(
        self, problems: Problems, *, strict: bool = False, alike: bool = False, gaps: bool = False
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield rows one by one, and where each begins: 0 is the line after the header. It needs no PyArrow.

        Lines that are no rows are reported. If it is `strict`, nothing may stand behind a quote; all lines
        may have to end `alike`; and empty lines may be passed over, as `gaps`.
        """
        due = len(self.names)
        with self._letters() as stream:
            texts = _alike(stream, problems) if alike else stream
            lines, begin = _fields(texts, self.sign, self.dialect.quote, strict=strict), 0
            try:
                next(lines)
                for fields in lines:
                    if gaps and not "".join(fields).strip():
                        pass
                    elif len(fields) != due:
                        many = f"{len(fields)} field{'s' * (len(fields) != 1)}"
                        problems.row(begin, f"{many}, {due} expected" if fields else EMPTY_LINE, "all")
                    elif any("\udc80" <= letter <= "\udcff" for letter in "".join(fields)):
                        problems.row(begin, self.dialect.not_utf8, "all")
                    else:
                        yield begin, fields
                    begin = lines.line_num - 1  # where the next one begins
            except (csv.Error, StopIteration):
                problems.row(begin, "not a line of CSV", "all")

    def report_lines(self, kinds: Kinds, problems: Problems, *, done: int = 0, strict: bool = False) -> None:
        """Read the file line by line to find what is no row, and in rows from `done` on what is no number.

        It may be as `strict` as engines are: lines must end alike, and only empty ones are passed over.
        """
        before = problems.count
        places = [(self.names.index(name), name, kind) for name, kind in kinds.items() if kind in _NUMERIC]
        for begin, fields in self.rows(problems, strict=strict, alike=strict, gaps=strict):
            for number, name, kind in places if begin >= done else ():
                if wrong := _number(fields[number], kind, name)[1]:
                    problems.row(begin, wrong, name)
        if problems.count == before:
            problems.say(
                f"{self.shown} cannot be read as text in {self.dialect.encoding.upper()} with "
                f"{SIGNS.get(self.sign, self.sign)} between the fields: a line is too long, or a quotation "
                "mark is not closed"
            )


def _alike(lines: Iterable[str], problems: Problems) -> Iterator[str]:
    """Pass lines on, and report those before the last that end in another way than the first."""
    first, end = "", ""
    for number, line in enumerate(lines):
        if end != first:
            problems.row(number - 2, "lines end in different ways, CRLF and LF; all must end alike", "all")
        end = line[len(line.rstrip("\r\n")) :]
        first = first or end
        yield line


class _Pass:
    """One reading of a file, from some row on; what it yields is what could be parsed."""

    def __init__(self, file: Delimited, types: Mapping[str, ArrowType], *, skip: int, hashed: bool) -> None:
        self._file, self._types, self._skip, self._hashed = file, types, skip, hashed
        self.complete, self.sha256, self.size = False, "", 0

    def __iter__(self) -> Iterator[ArrowTable]:
        pa, text = arrow(), arrow("csv")
        dialect, reader = self._file.dialect, None
        stream = _Stream(self._file.path, dialect, hashed=self._hashed)
        try:
            # Arrow's own error repeats what it found, so it must not even be the context of another one.
            with suppress(pa.ArrowInvalid):
                plain = stream.as_it_is and not self._hashed  # then Arrow reads the file without Python
                reader = text.open_csv(
                    pa.OSFile(str(self._file.path)) if plain else pa.PythonFile(stream, "r"),
                    read_options=text.ReadOptions(
                        block_size=BLOCK,
                        skip_rows_after_names=self._skip,
                        **({"skip_rows": 1, "column_names": self._file.names} if dialect.header else {}),
                    ),
                    parse_options=text.ParseOptions(
                        delimiter=self._file.sign,
                        quote_char=dialect.quote or False,
                        ignore_empty_lines=False,
                    ),
                    convert_options=text.ConvertOptions(
                        column_types=self._types,
                        include_columns=list(self._types),
                        null_values=[],
                        strings_can_be_null=False,
                    ),
                )
                yield from reader
                self.complete = True
                self.sha256, self.size = stream.hash.hexdigest(), stream.size
        finally:
            stream.close()
            # Arrow's threads may hold the stream for a moment longer; one that lets go of it while the
            # interpreter ends would abort the program.
            held, limit = weakref.ref(stream), time.monotonic() + 5.0
            del stream, reader
            while held() is not None and time.monotonic() < limit:
                time.sleep(0.001)


def _types(kinds: Kinds, *, coded: bool) -> dict[str, ArrowType]:
    """Return the types of columns in Arrow."""
    pa = arrow()
    text = pa.dictionary(pa.int32(), pa.string()) if coded else pa.string()
    types = {"text": text, "written": text, "code": text, "any": text, "whole": pa.int64()}
    types |= {"number": pa.float64(), "gap": pa.float64()}
    return {name: types[kind] for name, kind in kinds.items()}


def _with_numbers(batch: ArrowTable, kinds: Kinds, problems: Problems, start: int) -> ArrowTable:
    """Return a batch, which begins at row `start`, with numbers for the texts they are written as."""
    pa = arrow()
    problems.unreadable(empty_lines(batch.columns), EMPTY_LINE, "all", start=start)
    for index, name in enumerate(batch.schema.names):
        kind = kinds[name]
        if kind not in _NUMERIC:
            continue
        column = batch.column(name)
        read = [_number(text, kind, name) for text in column.dictionary.to_pylist()]
        codes = column.indices.to_numpy()
        for wrong in dict.fromkeys(text for _, text in read if text):
            problems.unreadable(
                np.array([text == wrong for _, text in read])[codes], wrong, name, start=start
            )
        numbers = np.array([number for number, _ in read], dtype=np.int64 if kind == "whole" else np.float64)
        batch = batch.set_column(index, name, pa.array(numbers[codes]))
    return batch


def _number(text: str, kind: Kind, name: str) -> tuple[float, str]:
    """Return the number that is written, or why there is none.

    >>> _number("12.0", "whole", "count"), _number(" 2e3", "number", "variance")
    ((12, ''), (2000.0, ''))
    >>> _number("1e+05", "whole", "count")[1]
    'count is written with an exponent, so it may be rounded; write all of its digits'
    >>> _number("2,5", "number", "variance")[1]
    'variance has a decimal comma; write a point'
    >>> "thousands" in _number("1,775", "number", "count")[1], "margin" in _number("±188", "whole", "moe")[1]
    (True, True)
    """
    if _MARGIN.fullmatch(text):
        return PLACEHOLDER, (
            f"{name} is written with ±, so it is a margin of error: take the sign away, and give margins a "
            "column of their own, as a number beside the estimate"
        )
    if is_grouped(text, ",") or (is_grouped(text, ".") and not _NUMBER.fullmatch(text)):
        return PLACEHOLDER, (
            f"{name} has a comma or points before three digits; leave separators of thousands out, and write "
            "decimals with a point"
        )
    if kind == "whole":
        if _WHOLE.fullmatch(text):
            return int(text.split(".")[0]), ""
        if _EXPONENT.fullmatch(text):
            return (
                PLACEHOLDER,
                f"{name} is written with an exponent, so it may be rounded; write all of its digits",
            )
        return PLACEHOLDER, f"{name} is not a whole number"
    if kind == "gap" and text.strip().casefold() in _NOTHING:
        return float("nan"), ""
    if _NUMBER.fullmatch(text):
        return float(text), ""
    if _DECIMAL_COMMA.fullmatch(text):
        return PLACEHOLDER, f"{name} has a decimal comma; write a point"
    return PLACEHOLDER, f"{name} is not a number"
