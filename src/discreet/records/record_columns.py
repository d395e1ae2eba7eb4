"""The columns of records, read as `[input]` says: texts of the file become values of attributes, or numbers.

Columns are codes of distinct texts, and each distinct text is looked at once, so that ten million records
take the time of their reading. What cannot be read is put on the list of problems, by row and column; it is
never repeated. A record that is left out stays in its row, so that problems name the right line: a mask says
which records those are. Whether a record is left out depends on that record alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import strings
from discreet.errors import InputError
from discreet.records.ages import without_unit
from discreet.records.input import TableInput
from discreet.tables import Codes, Dialect, Problems, ReadTable, TableSource, Words, is_grouped, read_table

Mask = NDArray[np.bool_]
Value = str | Fraction

_MISSING = "a value is missing; as or leave_out in [input] says what to do"
NO_TEXT = "a text is missing"
_IN_NO_BAND = "a number that is in no band of [input]"
_NO_NUMBER = "not a number"
COMMA = 'a number with a decimal comma; decimal = "," in [input] reads it'
_THOUSANDS = (
    "not a number as it stands: a comma or a point before three digits may separate thousands; take it out "
    "of the file, or say in [input] which is the decimal sign"
)

_POINT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_COMMA = re.compile(r"[-+]?([0-9]+,?[0-9]*|,[0-9]+)([eE][-+]?[0-9]{1,3})?")
_WHOLE = re.compile(r"(-?[0-9]+)([.,])(0*)")


def dialect_of(table: TableInput) -> Dialect:
    """Return how the text of a table is written.

    >>> dialect_of(TableInput(delimiter=";")).sign
    ';'
    """
    advice = 'save it as UTF-8, or say encoding = "windows-1252" in [input]'
    return Dialect(table.encoding, table.delimiter, table.quote, advice, table.header)


def exact_number(text: str, decimal: str = ".") -> Fraction | None:
    """Return the number that a text is, exactly, or None.

    >>> exact_number("17,5", ","), exact_number(" 1e3"), exact_number("17,5"), exact_number("1.000", ",")
    (Fraction(35, 2), Fraction(1000, 1), None, None)
    """
    text = text.strip()
    if not (_COMMA if decimal == "," else _POINT).fullmatch(text):
        return None
    return Fraction(text.replace(",", "."))


def _stated_number(text: str) -> Fraction | None:
    """Return the number that `[input]` states, with a point or a comma, whatever the file has.

    >>> _stated_number("2.5") == _stated_number("2,5")
    True
    """
    return exact_number(text, "," if "," in text else ".")


def without_zeros(text: str, decimal: str = ".") -> str:
    """Return a whole number without the zeros that a program wrote behind its point.

    Three zeros behind the sign that is not the decimal one are thousands.

    >>> without_zeros("17.0"), without_zeros("-9,00"), without_zeros("1.5")
    ('17', '-9', '1.5')
    >>> without_zeros("9.000"), without_zeros("9.000", ",")
    ('9', '9.000')
    """
    match = _WHOLE.fullmatch(text)
    if match is None or (match[2] != decimal and len(match[3]) == 3):
        return text
    return match[1]


@dataclass(frozen=True, slots=True)
class ExactNumbers:
    """A column of numbers: for each row the place of its number among `values`, or -1 if it has none."""

    codes: Codes
    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Columns of records: values of attributes and areas in `table`, numbers, and the records left out.

    `texts` are the columns as the file has them, by attribute; `missing` says which rows have no value there,
    whatever is made of them, and `unread` in which rows nothing could be made of what is there.
    """

    table: ReadTable
    numbers: dict[str, ExactNumbers]
    left_out: Mask
    texts: dict[str, Words]
    missing: dict[str, Mask]
    unread: dict[str, Mask]


def read_records(
    source: TableSource,
    table: TableInput,
    *,
    values: Mapping[str, Sequence[str]],
    numbers: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    optional: Sequence[str] = (),
    name: str = "records",
    of: str = "",
    missing: str = _MISSING,
    problems: Problems | None = None,
) -> RecordColumns:
    """Read columns of records as `[input]` says.

    `values` are the attributes, and the area (`unit`), with the values that they may have; an empty list if
    these are not known. `numbers` are columns of exact numbers, `identifiers` columns of any texts, of which
    those are one that `trim` and `ignore_case` make one; `optional` ones need not be there, nor have values.
    Problems are raised all together, or put among those that are given. Here is said what is `missing`, in no
    band, and no number; that a value is none of its attribute's is left to whoever asks.

    >>> import pyarrow
    >>> from discreet.records.input import ColumnInput
    >>> survey = pyarrow.table({"ALTER": ["17,5", "18", ""], "LOHN": ["0,5", "2", "3"]})
    >>> age = ColumnInput(column="ALTER", bands=["0-17", "18+"], leave_out=True)
    >>> how = TableInput(decimal=",", columns={"age": age, "wage": ColumnInput(column="LOHN")})
    >>> found = read_records(survey, how, values={"age": ["0-17", "18+"]}, numbers=["wage"])
    >>> found.table.words["age"].values.to_pylist(), found.left_out.tolist()
    (['0-17', '18+'], [False, False, True])
    >>> [str(found.numbers["wage"].values[code]) for code in found.numbers["wage"].codes]
    ['1/2', '2', '3']
    """
    shared = Problems() if problems is None else problems
    wanted = {
        value: table.of(value).column or value for value in (*values, *numbers, *identifiers, *optional)
    }
    if table.is_of_one_area and "unit" in wanted:
        optional = [*optional, "unit"]
    meanings = {value: _Meanings(table, value, values.get(value, ())) for value in (*values, *optional)}
    meanings |= {number: _Meanings(table, number, (), is_number=True) for number in numbers}
    meanings |= {
        identifier: _Meanings(table, identifier, (), is_identifier=True) for identifier in identifiers
    }
    read = read_table(
        source,
        words=list(dict.fromkeys(wanted[key] for key in wanted if key not in optional)),
        optional=[wanted[key] for key in optional],
        written=list(dict.fromkeys(wanted[key] for key, means in meanings.items() if not means.is_plain)),
        name=name,
        of=of,
        blank=[wanted[key] for key in meanings],
        dialect=replace(dialect_of(table), values=frozenset(chain.from_iterable(values.values()))),
        partly=True,
        problems=shared,
    )
    columns = RecordColumns(read, {}, np.zeros(read.rows, dtype=np.bool_), {}, {}, {})
    if read.words:
        if table.is_of_one_area and "unit" in wanted and "unit" not in read.words:
            nothing = Words(np.full(read.rows, -1, dtype=np.int32), strings([]))
            read = replace(read, words={**read.words, "unit": nothing})
            read.problems.written = {**read.problems.written, "unit": "unit"}
        there = {key: column for key, column in wanted.items() if column in read.words}
        when_missing = dict.fromkeys(there, missing) | dict.fromkeys(identifiers, NO_TEXT)
        columns = _with_meanings(read, there, meanings, when_missing | dict.fromkeys(optional, ""))
    if problems is None:
        shared.stop()
    return columns


def _with_meanings(
    read: ReadTable,
    wanted: Mapping[str, str],
    meanings: Mapping[str, _Meanings],
    when_missing: Mapping[str, str],
) -> RecordColumns:
    """Return the columns of a table that was read, with what their texts mean."""
    problems, texts = read.problems, {name: read.words[column] for name, column in wanted.items()}
    problems.written = {name: problems.written[column] for name, column in wanted.items()}
    words = dict(texts)
    columns = RecordColumns(replace(read, words=words), {}, np.zeros(read.rows, np.bool_), texts, {}, {})
    for key in (name for name in meanings if name in wanted):
        means = meanings[key]
        rows = texts[key].codes
        distinct = [*texts[key].values.to_pylist(), ""]  # the last stands for no text at all
        missing = np.array([means.is_missing(text) for text in distinct])[rows]
        columns.missing[key] = missing
        if means.leaves_out:
            columns.left_out[missing] = True
            problems.pass_over(missing, key)
        elif when_missing[key] and means.filled is None:
            problems.unreadable(missing, when_missing[key], key)
        columns.unread[key] = np.zeros(read.rows, dtype=np.bool_)
        if means.is_plain:
            continue
        number_of: dict[Value, int] = {}
        codes, wrong = np.full(len(distinct), -1, dtype=np.int32), dict[str, Mask]()
        for number, text in enumerate(distinct):
            value, why = means.read(text, is_typed=wanted[key] in read.typed)
            if value is not None:
                codes[number] = number_of.setdefault(value, len(number_of))
            elif why:
                wrong.setdefault(why, np.zeros(len(distinct), dtype=np.bool_))[number] = True
        for why, mask in wrong.items():
            problems.unreadable(mask[rows], why, key)
            columns.unread[key] |= mask[rows]
        if means.is_number:
            numbers = tuple(value for value in number_of if isinstance(value, Fraction))
            columns.numbers[key] = ExactNumbers(codes[rows], numbers)
            del words[key]
        else:
            words[key] = Words(codes[rows], strings([str(value) for value in number_of]))
    return columns


class _Meanings:
    """What the texts of one column mean."""

    def __init__(
        self,
        table: TableInput,
        name: str,
        known: Sequence[str],
        *,
        is_number: bool = False,
        is_identifier: bool = False,
    ) -> None:
        how = table.of(name)
        self._table, self._how, self.is_number, self._is_identifier = table, how, is_number, is_identifier
        # somebody may have the number that stands for no value elsewhere
        marks = (how.missing or ()) if is_identifier else table.missing_of(name)
        self._missing = frozenset(map(self._folded, ("", *marks)))
        self._codes = {self._folded(code): value for code, value in how.codes}
        self._known = {self._folded(value): value for value in reversed(known)}
        self.leaves_out = how.leave_out
        self.filled: Value | None = how.filled or None
        if is_number and how.filled:
            number = _stated_number(how.filled)
            if number is None:
                raise InputError(f"as of {name!r} in [input] is {how.filled!r}; a number is needed")
            self.filled = number

    @property
    def is_plain(self) -> bool:
        """Whether each text is a value as it stands."""
        table = self._table
        stated = self._how != type(self._how)(column=self._how.column, leave_out=self.leaves_out)
        marked = bool(table.missing) and not self._is_identifier
        return not (stated or self.is_number or table.trim or table.ignore_case or marked)

    def _folded(self, text: str) -> str:
        return text.casefold() if self._table.ignore_case else text

    def _tidy(self, text: str) -> str:
        return text.strip() if self._table.trim else text

    def is_missing(self, text: str) -> bool:
        """Whether a text stands for no value."""
        if not text:
            return True
        text = self._folded(self._tidy(text))
        return text in self._missing or without_zeros(text, self._table.decimal) in self._missing

    def read(self, text: str, *, is_typed: bool = False) -> tuple[Value | None, str]:
        """Return the value that a text means; or none, and why, if there is more to it than that it misses.

        What comes from a column of numbers `is_typed`: it has a point, whatever sign texts have.
        """
        if self.is_missing(text):
            return self.filled, ""
        text = self._tidy(text)
        folded, bare = self._folded(text), without_zeros(text, self._table.decimal)
        is_code = folded in self._codes or bare in self._codes
        if is_code:
            text = self._codes[folded] if folded in self._codes else self._codes[bare]
        elif folded in self._known:
            text = self._known[folded]
        elif self._how.births is not None:
            age, why = self._how.births.age(text)
            return (None, why) if age is None else self._band(text, age)
        elif self._how.bands:
            return self._band(text, self._number(without_unit(text), is_typed=is_typed))
        elif bare in self._known:
            text = bare
        if self.is_number:
            number = _stated_number(text) if is_code else self._number(text, is_typed=is_typed)
            return number, self._no_number(text) if number is None else ""
        if self._is_identifier and not is_code:
            text = self._folded(bare)  # however it is written, it is the same person
        if self._how.width and bare.isdecimal() and not is_code:
            text = bare.zfill(self._how.width)
        return text, ""

    def _number(self, text: str, *, is_typed: bool) -> Fraction | None:
        number = exact_number(text, self._table.decimal)
        if number is None and is_typed and not text.endswith("0"):  # no program writes a number as 1.000
            number = exact_number(text)
        return number

    def _no_number(self, text: str) -> str:
        """Return what is wrong with a text that is no number."""
        if is_grouped(text, ",") or is_grouped(text, "."):
            return _THOUSANDS
        return COMMA if self._table.decimal == "." and exact_number(text, ",") is not None else _NO_NUMBER

    def _band(self, text: str, number: Fraction | None) -> tuple[Value | None, str]:
        """Return the band of a number that a text is."""
        if number is None:
            return None, self._no_number(text)
        bands = self._how.bands
        lowers = [band.lower for band in bands if band.lower is not None]
        index = bisect_right(lowers, number) + len(bands) - len(lowers) - 1  # the lowest band may have no end
        if index < 0 or ((upper := bands[index].upper) is not None and number >= upper):
            return None, _IN_NO_BAND
        return bands[index].label, ""
