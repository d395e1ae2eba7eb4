"""A released table, part by part: noisy values, variances, levels, and known counts if there are any.

Columns are found by name. Two kinds of table are known by theirs: measurements of this package (`value`,
`variance`, `level`) and tabulations of detailed groups (`COUNT`, `NOISE_VARIANCE`, `REGION_TYPE`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, InputError
from discreet.risk.model import LARGEST, VARIANCES, Floats

NOISY = ("value", "COUNT", "noisy", "count")
VARIANCE = ("variance", "NOISE_VARIANCE")
LEVEL = ("level", "REGION_TYPE")

_BLOCK = 1 << 22  # bytes of CSV, at a time
_ROWS = 1 << 20  # rows of Parquet, at a time


def arrow(part: str = "") -> Any:
    """Return PyArrow, or one of its modules such as `csv`."""
    try:
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:  # pragma: no cover
        text = "tables are read by PyArrow, which is not installed; discreet[release] brings it"
        raise DiscreetError(text) from None


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are used; `known` and `level` may be none."""

    noisy: str
    variance: str
    level: str | None
    known: str | None

    @property
    def has_own_variance(self) -> bool:
        """Whether the variances are those of the noise itself; elsewhere they are its parameter sigma^2."""
        return self.variance == "variance"

    @property
    def numbers(self) -> list[str]:
        """Those of numbers."""
        return [name for name in (self.noisy, self.variance, self.known) if name is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rows: their numbers, a code and the name of the level of each, and the Arrow batch itself."""

    noisy: Floats
    variance: Floats
    known: Floats | None
    level: Any
    batch: Any


def choose(
    found: Sequence[str],
    where: str,
    *,
    noisy: str | None,
    variance: str | None,
    level: str | None,
    known: str | None,
) -> Columns:
    """Return the columns to use: those asked for, or those of the usual names.

    >>> choose(["level", "value", "variance"], "t.csv", noisy=None, variance=None, level=None, known=None)
    Columns(noisy='value', variance='variance', level='level', known=None)
    >>> choose(["unit", "estimate"], "t.csv", noisy=None, variance=None, level=None, known=None)
    Traceback (most recent call last):
    discreet.errors.InputError: t.csv has no column of noisy counts (value, COUNT, noisy or count); it has \
unit, estimate
    """

    def one(asked: str | None, usual: Sequence[str], what: str, needed: bool) -> str | None:
        if asked is not None:
            if asked not in found:
                raise InputError(f"{where} has no column {asked!r}; it has {_listed(found)}")
            return asked
        here = next((name for name in usual if name in found), None)
        if here is None and needed:
            *most, last = usual
            raise InputError(
                f"{where} has no column of {what} ({', '.join(most)} or {last}); it has {_listed(found)}"
            )
        return here

    value, spread = one(noisy, NOISY, "noisy counts", True), one(variance, VARIANCE, "variances", True)
    assert value is not None
    assert spread is not None
    chosen = Columns(value, spread, one(level, LEVEL, "levels", False), one(known, (), "known counts", False))
    names = [*chosen.numbers, *([chosen.level] if chosen.level else [])]
    if len(set(names)) < len(names):
        raise InputError(f"{where}: one column is named for two purposes: {', '.join(names)}")
    return chosen


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "") if names else "none"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of rows, its columns, and how it is read."""

    path: Path
    names: tuple[str, ...]
    delimiter: str | None  # None: Parquet

    @classmethod
    def open(cls, path: Path) -> Source:
        """Look at the header of a file."""
        if path.suffix.lower() not in (".csv", ".psv", ".txt", ".parquet"):
            raise InputError(f"{path} must end in .csv, .psv, .txt or .parquet")
        if not path.is_file():
            raise InputError(f"there is no file {path}")
        with _readable(path):
            if path.suffix.lower() == ".parquet":
                with closing(arrow("parquet").ParquetFile(path)) as file:
                    return cls(path, tuple(file.schema_arrow.names), None)
            with path.open(encoding="utf-8-sig", newline="") as stream:
                line = stream.readline()
        if not line.strip():
            raise InputError(f"{path} is empty; a header and rows are needed")
        # a name in quotes may hold the other sign, so the one that makes more columns is the delimiter
        delimiter, names = max(
            ((sign, next(csv.reader([line], delimiter=sign))) for sign in "|,"), key=lambda pair: len(pair[1])
        )
        if any("\n" in name or "\r" in name for name in names):
            raise InputError(f"{path} has a column whose name is more than one line; one line is needed")
        if len(set(names)) < len(names):
            raise InputError(f"{path} has two columns of the same name")
        return cls(path, tuple(names), delimiter)

    def parts(self, columns: Columns, *, everything: bool) -> Iterator[Part]:
        """Yield the rows, some at a time; with `everything` each batch has all columns."""
        seen = 0
        used = [*columns.numbers, *([columns.level] if columns.level else [])]
        for batch in self._batches(columns, list(self.names) if everything else used):
            if batch.num_rows:
                yield _part(batch, columns, f"{self.path}", seen, 2 if self.delimiter else 1)
            seen += batch.num_rows
        if not seen:
            raise InputError(f"{self.path} has no rows")

    def _batches(self, columns: Columns, names: list[str]) -> Iterator[Any]:
        pa = arrow()
        with _readable(self.path):
            if self.delimiter is None:
                with closing(arrow("parquet").ParquetFile(self.path)) as file:
                    yield from file.iter_batches(batch_size=_ROWS, columns=names)
                return
            text = arrow("csv")
            types = dict.fromkeys(names, pa.string()) | dict.fromkeys(columns.numbers, pa.float64())
            if columns.level and names != list(self.names):
                types[columns.level] = pa.dictionary(pa.int32(), pa.string())
            with text.open_csv(
                self.path,
                read_options=text.ReadOptions(block_size=_BLOCK),
                parse_options=text.ParseOptions(delimiter=self.delimiter),
                convert_options=text.ConvertOptions(
                    column_types=types, include_columns=names, null_values=[""], strings_can_be_null=False
                ),
            ) as reader:
                yield from reader


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    pa = arrow()
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text") from None
    except pa.ArrowInvalid:
        if path.suffix.lower() == ".parquet":
            raise InputError(f"{path} cannot be read: it is damaged, or no Parquet file") from None
        raise InputError(
            f"{path} cannot be read: a row has too many or too few fields, or a noisy count, "
            "variance or known count is not a number"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or 'it is damaged'}") from None


def _part(batch: Any, columns: Columns, where: str, seen: int, first: int) -> Part:
    pc = arrow("compute")

    def numbers(name: str) -> Floats:
        column = batch.column(name)
        if not arrow("types").is_integer(column.type) and not arrow("types").is_floating(column.type):
            try:
                column = pc.cast(column, "float64")
            except Exception:
                raise InputError(
                    f"{where}: column {name!r} is of type {column.type}, not of numbers"
                ) from None
        values = np.asarray(
            pc.fill_null(pc.cast(column, "float64"), float("nan")).to_numpy(zero_copy_only=False)
        )
        return values.astype(np.float64, copy=False)

    def refuse(bad: Any, name: str, rule: str) -> None:
        if bad.any():
            line = seen + first + int(np.argmax(bad))
            raise InputError(f"{where}: column {name!r}, row in line {line}: {rule}")

    noisy, variance = numbers(columns.noisy), numbers(columns.variance)
    known = numbers(columns.known) if columns.known else None
    with np.errstate(invalid="ignore"):
        refuse(
            ~(noisy == np.floor(noisy)) | ~(np.abs(noisy) <= LARGEST),
            columns.noisy,
            "a noisy count is a whole number",
        )
        allowed = (variance > 0) & (variance <= VARIANCES[1])
        refuse(~allowed, columns.variance, f"a variance is above zero, and at most {VARIANCES[1]:g}")
        if known is not None and columns.known:
            bad = ~(known == np.floor(known)) | ~(known >= 0) | ~(known <= LARGEST)
            refuse(bad, columns.known, "a known count is a whole number, zero or more")
    level = None
    if columns.level:
        level = batch.column(columns.level)
        if not arrow("types").is_dictionary(level.type):
            level = pc.dictionary_encode(pc.cast(level, "string"))
    return Part(noisy, variance, known, level, batch)
