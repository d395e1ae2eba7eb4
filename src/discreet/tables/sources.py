"""What a table is named by: a file, a table in a database, a sheet of a workbook, or standard input (`-`).

Content that does not come from a file of text is kept in memory, not on disk: it may be confidential.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.budget.text_files import STANDARD_INPUT, piped_bytes
from discreet.errors import InputError
from discreet.files import ArrowTable, FilePath, arrow, readable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".psv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".duckdb": "database",
    ".sqlite": "database",
    ".sqlite3": "database",
    ".db": "database",
    ".xlsx": "workbook",
    ".dta": "statistics",
    ".sav": "statistics",
    ".zsav": "statistics",
    ".por": "statistics",
    ".sas7bdat": "statistics",
    ".xpt": "statistics",
}
"""How the names of tables end, and what they are then."""

PACKED = (".gz", ".zst")
"""How the name of a text goes on if it is packed."""

FILE_ENDINGS = (
    *_ENDINGS,
    *(end + more for end, kind in _ENDINGS.items() if kind == "csv" for more in PACKED),
)
"""How the names of files of tables end, packed or not."""

INSIDE = "::"
"""What stands between a file and the name of a table or sheet in it."""

MOST = 20
"""Names of tables or sheets that a message lists."""

_READ = (
    f".csv, .tsv, .psv or .txt (or one of these and {' or '.join(PACKED)}), .parquet, .arrow, .feather, "
    ".xlsx, .duckdb, .sqlite, .db, or a file of Stata (.dta), SPSS (.sav, .zsav, .por) or SAS (.sas7bdat, "
    ".xpt)"
)


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes in memory that are read as a file is: standard input, or a sheet as text."""

    name: str
    content: bytes

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text is written, as far as it was said.

    An empty `sign` between the fields is found by the header; an empty `quote` means that fields are not
    quoted. `advice` is what to do about a text that is not in its encoding. A `header` names the first
    columns in place of the first line, which must not be a record: none of its fields is a number or one of
    the `values` of records.
    """

    encoding: str = "utf-8"
    sign: str = ""
    quote: str = '"'
    advice: str = "save it as UTF-8"
    header: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()

    @property
    def is_utf8(self) -> bool:
        """Whether the text is read as it is."""
        return codecs.lookup(self.encoding).name == "utf-8"

    @property
    def not_utf8(self) -> str:
        """What is wrong with a text that is not UTF-8."""
        return f"not UTF-8, but perhaps Latin-1 or Windows-1252: {self.advice}"


UTF8 = Dialect()


@dataclass(frozen=True, slots=True)
class Named:
    """A source as it was named: a file, what it is by its ending, and the table or sheet wanted of it."""

    path: Path
    kind: str
    inside: str = ""


def source_named(source: FilePath) -> Named:
    """Take the name of a source apart.

    >>> source_named("survey.sqlite::people")
    Named(path=PosixPath('survey.sqlite'), kind='database', inside='people')
    >>> source_named("counts.docx")
    Traceback (most recent call last):
    discreet.errors.InputError: counts.docx must end in .csv, .tsv, .psv or .txt (or one of these and .gz or \
.zst), .parquet, .arrow, .feather, .xlsx, .duckdb, .sqlite, .db, or a file of Stata (.dta), SPSS (.sav, \
.zsav, .por) or SAS (.sas7bdat, .xpt), or be - (standard input): other formats are not read
    """
    text = os.fspath(source)
    if text in STANDARD_INPUT:
        return Named(Path(text), "standard input")
    file, _, inside = text.partition(INSIDE)
    if inside and (kind := _kind(file)) in ("database", "workbook"):
        return Named(Path(file), kind, inside)
    if kind := _kind(text):
        return Named(Path(text), kind)
    raise InputError(
        f"{Path(text).name} must end in {_READ}, or be - (standard input): other formats are not read"
    )


def _kind(file: str) -> str:
    name = Path(file).name.lower()
    plain = next((name.removesuffix(ending) for ending in PACKED if name.endswith(ending)), name)
    kind = _ENDINGS.get(Path(plain).suffix, "")
    return kind if plain == name or kind == "csv" else ""


def is_table(name: str) -> bool:
    """Tell by its ending whether a name is that of a table.

    >>> is_table("units.TSV"), is_table("units.csv.gz"), is_table("a.db::units"), is_table("51,61.6")
    (True, True, True, False)
    """
    with suppress(InputError):
        return bool(source_named(name))
    return False


def is_there(source: FilePath) -> bool:
    """Tell whether a source is a table that can be opened: a file, what is in one, or standard input.

    >>> is_there("-"), is_there("no-such-file.db::units")
    (True, False)
    """
    with suppress(InputError):
        asked = source_named(source)
        return asked.kind == "standard input" or asked.path.is_file()
    return False


def file_of(source: object) -> Path:
    """Return the file that a table is in, beside which its ledger is looked for.

    Standard input, and a table in memory, are taken to be in the working directory.

    >>> file_of("data/survey.db::a/b"), file_of("-").parent
    (PosixPath('data/survey.db'), PosixPath('.'))
    """
    if not isinstance(source, str | os.PathLike) or os.fspath(source) in STANDARD_INPUT:
        return Path("table")
    with suppress(InputError):
        return source_named(source).path
    return Path(source)


def table_format(source: FilePath) -> str:
    """Tell by its name whether a table is text (csv), Parquet, Arrow or in a database; text may be packed.

    Sheets and standard input are read as text.

    >>> table_format("counts.parquet"), table_format("counts.csv.gz"), table_format("counts.TSV")
    ('parquet', 'csv', 'csv')
    """
    kind = source_named(source).kind
    return "csv" if kind in ("workbook", "standard input") else kind


def chosen(names: Iterable[str], wanted: str) -> str:
    """Return the table or sheet of that name, as it is written or but for capitals, or nothing.

    >>> chosen(["People", "units"], "people"), chosen(["People", "PEOPLE"], "people")
    ('People', '')
    """
    names = list(names)
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    return wanted if wanted in names else alike[0] if len(alike) == 1 else ""


def which(path: Path, names: Iterable[str], word: str) -> str:
    """Ask for one of the tables or sheets of a file, and list them."""
    names = list(names)
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"name one of its {word}, as {path.name}{INSIDE}{names[0]}: {', '.join(names[:MOST])}{more}"


# -- bytes ---------------------------------------------------------------------------------------------------


Bytes = io.BytesIO | gzip.GzipFile | io.RawIOBase


def open_bytes(source: Path | Content, dialect: Dialect = UTF8) -> Bytes:
    """Open a source as what it holds, in UTF-8: a file whose name ends in .gz or .zst is unpacked on the way,
    and a text in another encoding is written anew."""
    return _unpacked(source) if dialect.is_utf8 else _Recoded(source, dialect.encoding)


def _unpacked(source: Path | Content) -> Bytes:
    if isinstance(source, Content):
        return io.BytesIO(source.content)
    ending = source.suffix.lower()
    if ending == ".gz":
        return gzip.GzipFile(source)
    return _Zstandard(source) if ending == ".zst" else source.open("rb", buffering=0)


def kept_source(source: object) -> object:
    """Return a source that can be read more than once: standard input is read, and kept."""
    if isinstance(source, str | os.PathLike) and os.fspath(source) in STANDARD_INPUT:
        return standard_input()
    return source


_MOSTLY = 2
"""A part of a text has zeros for every second byte if more than one in so many of these is one."""


def guess_encoding(source: object) -> str:
    """Return the encoding in which a text seems to be: UTF-8 if it is that, else the likeliest other one.

    Bytes from 0x80 to 0x9f are letters in Windows-1252 and nothing that a person writes in Latin-1. Of a
    table that is no text nothing is guessed.

    >>> guess_encoding(Content("a", "größe;1".encode("latin-1"))), guess_encoding(Content("a", b"a;1"))
    ('latin-1', 'utf-8')
    >>> guess_encoding(Content("a", "fünf €".encode("windows-1252")))
    'windows-1252'
    >>> guess_encoding(Content("a", "größe;1".encode("utf-16-le")))
    'utf-16-le'
    """
    if isinstance(source, str | os.PathLike):
        asked = source_named(source)
        if asked.kind != "csv" or not asked.path.is_file():
            return "utf-8"
        source = asked.path
    if not isinstance(source, Content | Path):
        return "utf-8"
    decoder, is_utf8, beyond = codecs.getincrementaldecoder("utf-8")(), True, False
    with readable(Path(str(source))), closing(_unpacked(source)) as stream:
        part = stream.read(1 << 20) or b""
        if part.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        if zeros := [at for at in (0, 1) if _MOSTLY * part[at::2].count(0) > len(part[at::2])]:
            return "utf-16-be" if zeros == [0] else "utf-16-le"
        while part:
            if is_utf8:
                try:
                    decoder.decode(part)
                except UnicodeDecodeError:
                    is_utf8 = False
            beyond = beyond or re.search(rb"[\x80-\x9f]", part) is not None
            part = stream.read(1 << 20) or b""
    if is_utf8:
        with suppress(UnicodeDecodeError):
            decoder.decode(b"", final=True)
            return "utf-8"
    return "windows-1252" if beyond else "latin-1"


class _Forward(io.RawIOBase):
    """Bytes that are made one after the other; as in a file packed by gzip, to go back is to begin again."""

    _at = 0

    @abstractmethod
    def _begin(self) -> None:
        """Go to the first byte."""

    @abstractmethod
    def _next(self, most: int) -> bytes:
        """Return some of the bytes that follow; none at the end."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        data = self._next(len(view))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        end = whence == os.SEEK_END
        target = offset + (self._at if whence == os.SEEK_CUR else 0)
        if not end and target < self._at:
            self._begin()
            self._at = 0
        while end or self._at < target:
            size = len(self._next(1 << 20 if end else min(target - self._at, 1 << 20)))
            if not size:
                break
            self._at += size
        return self._at


class _Zstandard(_Forward):
    """A file packed by Zstandard."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = self._opened()

    def _opened(self) -> ArrowTable:
        pa = arrow()
        return pa.CompressedInputStream(pa.OSFile(str(self._path)), "zstd")

    def _begin(self) -> None:
        self._file.close()
        self._file = self._opened()

    def _next(self, most: int) -> bytes:
        return bytes(self._file.read(most))

    def close(self) -> None:
        self._file.close()
        super().close()


class _Recoded(_Forward):
    """A text in another encoding, as UTF-8."""

    def __init__(self, source: Path | Content, encoding: str) -> None:
        self._source, self._encoding = source, encoding
        self._file = _unpacked(source)
        self._start()

    def _start(self) -> None:
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._ready, self._line, self._ended = b"", 1, False

    def _begin(self) -> None:
        self._file.close()
        self._file = _unpacked(self._source)
        self._start()

    def _next(self, most: int) -> bytes:
        while not self._ready and not self._ended:
            part = self._file.read(1 << 20) or b""
            self._ended = not part
            text = self._text(part)
            self._line += text.count("\n")
            self._ready = text.encode("utf-8", "surrogatepass")
        data, self._ready = self._ready[:most], self._ready[most:]
        return data

    def _text(self, part: bytes) -> str:
        try:
            return self._decoder.decode(part, final=self._ended)
        except UnicodeError as error:  # which repeats what it found, so it is not passed on
            before = part[: getattr(error, "start", 0)].decode(self._encoding, "ignore")
        line = self._line + before.count("\n")
        raise InputError(
            f"not {self._encoding}, as encoding in [input] says: a byte has no meaning there "
            f"(line {line} of {self._source.name})"
        )

    def close(self) -> None:
        self._file.close()
        super().close()


def standard_input() -> Content:
    """Read standard input to its end, and unpack it."""
    name = "standard input"
    content = piped_bytes("a header and rows are needed", what="a table")
    with readable(Path(name)):
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        elif content.startswith(b"\x28\xb5\x2f\xfd"):
            content = arrow().CompressedInputStream(arrow().BufferReader(content), "zstd").read()
    return Content(name, content)
