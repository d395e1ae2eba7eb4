"""An `[input]` that would read a file of records, as far as the file and the release tell.

What it says is how the text is written, which column is which attribute, and which bands, zeros and marks of
missing values there are: names of columns, words of the release, and words of the lists here, which are
public. Texts of the file are part of it only if its owner asks to be shown them. What cannot be known is left
as a comment for a person to fill in: which code is which value, and what is to be made of missing values.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from importlib.resources import files
from itertools import chain

from discreet.areas.tree import Tree
from discreet.budget import Release
from discreet.budget.scope import Scope
from discreet.budget.toml import FieldError, quoted
from discreet.budget.variables import number_columns
from discreet.errors import InputError
from discreet.files import ArrowTable, arrow
from discreet.records.ages import OLDEST, are_dates, without_unit
from discreet.records.input import ColumnInput, TableInput, input_lines, is_bands, read_bands, wrong_bands
from discreet.records.record_columns import dialect_of, exact_number, without_zeros
from discreet.tables import (
    Delimited,
    OpenTable,
    Problem,
    Problems,
    TableSource,
    guess_encoding,
    is_grouped,
    is_record,
    open_table,
    words_of,
    written_out,
)

_PLAIN = ColumnInput()

_MOST_TEXTS = 5_000
"""Different texts of a column that are kept; a column with more holds no codes."""

_MOST_CODES = 50
"""Codes that are listed to be filled in."""

_FEW_NUMBERS = 25
"""Different numbers of a column, at most, that may be codes of categories: groups of ages have up to 23."""

_USUAL = tomllib.loads((files("discreet.records") / "usual_words.toml").read_text(encoding="utf-8"))
MARKS: tuple[str, ...] = tuple(_USUAL["marks"])
"""Texts that usually stand for no value."""

TOTALS: frozenset[str] = frozenset(_USUAL["totals"])
"""Texts that stand for all areas together, in small letters."""

AGE_BANDS: tuple[str, ...] = tuple(_USUAL["ages"])
"""Bands of ages, where nobody says which."""

UNKNOWN_WORDS: frozenset[str] = frozenset(_USUAL["unknown"])
"""How a value is called that means that there is none."""

NAMES: list[list[str]] = _USUAL["names"]
"""What columns are called, one thing a list."""

_TAILS: frozenset[str] = frozenset(("", *_USUAL["tails"]))
"""What may stand behind such a name without changing its meaning."""

WORDS: dict[str, list[list[str]]] = _USUAL["values"]
"""Words for values, by language, always in the same order."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An `[input]`: what is sure of it as an object, all of it as text, and what a person must decide.

    `problems` are those that are left with what is sure; `scope` says which records count then.
    """

    table: TableInput
    text: str
    undecided: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """What a person must decide, in words that hold no text of the file."""
    problems: tuple[Problem, ...] = ()
    scope: Scope | None = None

    @property
    def usable(self) -> bool:
        """Whether the records can be counted with what is sure, and nothing is left to a person."""
        return not self.problems and not self.undecided

    def tried(self, problems: tuple[Problem, ...], scope: Scope) -> Suggestion:
        """Return the suggestion with what is wrong with the records if it is used, and its scope."""
        return replace(self, problems=problems, scope=scope)


@dataclass(slots=True)
class ColumnProfile:
    """What a column holds: its texts with their rows, unless there are many, and its numbers.

    `points` and `commas` are rows with a number as it is written with that decimal sign; `decimals` and
    `thousands` are the signs, a point or a comma, that stand before other than three digits in some of its
    numbers, or before groups of three; of a column that `is_typed`, as numbers are, no sign is asked about.
    `least` and `most` are the ends of its numbers.
    """

    name: str
    rows: int = 0
    points: int = 0
    commas: int = 0
    texts: dict[str, int] | None = field(default_factory=dict)
    decimals: set[str] = field(default_factory=set)
    thousands: set[str] = field(default_factory=set)
    least: Fraction | None = None
    most: Fraction | None = None
    is_typed: bool = False

    def add(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        """Add some rows of the column."""
        for text, many in zip(texts, counts, strict=True):
            self.rows += many
            tidy = without_unit(text.strip())
            self.points += many if exact_number(tidy) is not None else 0
            self.commas += many if "," in tidy and exact_number(tidy, ",") is not None else 0
            self._note_number(text)
            if self.texts is not None:
                self.texts[text] = self.texts.get(text, 0) + many
                if len(self.texts) > _MOST_TEXTS:
                    self.texts = None

    def _note_number(self, text: str) -> None:
        """Note how a number is written, and the ends."""
        tidy = without_unit(text.strip())
        sign = "," if "," in tidy else "."
        number = None if _is_mark(text) else exact_number(tidy, sign)
        if sign in tidy and not self.is_typed:
            if is_grouped(tidy, sign):
                self.thousands.add(sign)
            elif number is not None:
                self.decimals.add(sign)
        if number is not None:
            self.least = number if self.least is None else min(self.least, number)
            self.most = number if self.most is None else max(self.most, number)

    @property
    def values(self) -> dict[str, int]:
        """Texts that may be values, without spaces around them."""
        counts: dict[str, int] = {}
        for text, many in (self.texts or {}).items():
            if not _is_mark(text):
                counts[text.strip()] = counts.get(text.strip(), 0) + many
        return counts

    @property
    def numeric_share(self) -> float:
        """The share of the rows with values whose value is a number."""
        filled = sum(self.values.values()) or self.rows
        return min(1.0, (self.points + self.commas) / filled) if filled else 0.0

    def has_gaps(self, known: Container[str] = ()) -> bool:
        """Whether some rows have no value; a text that is a known value is one, whatever it usually means."""
        return any(_is_mark(text) and text.strip() not in known for text in self.texts or ())

    def share(self, known: Mapping[str, str] | frozenset[str]) -> float:
        """Return the share of the rows with values whose value is known."""
        total = sum(self.values.values())
        met = sum(many for text, many in self.values.items() if without_zeros(text.casefold()) in known)
        return met / total if total else 0.0


def _is_mark(text: str) -> bool:
    return not text.strip() or without_zeros(text.strip()) in MARKS


def suggest_input(
    release: Release,
    records: TableSource,
    tree: Tree | None,
    how: TableInput,
    *,
    person: str | None = None,
    show: bool,
) -> Suggestion:
    """Make an `[input]` for records of a release; what `[input]` says already stays.

    A column is taken for an attribute only if it is named so; what it holds can but speak against it. The
    column that identifies a `person` is none.
    """
    assert release.attributes is not None
    guessed = in_likely_encoding(how, records)
    numbers = number_columns(release.attributes.variables)
    wanted = [how.of(name).column or name for name in ("unit", *release.attributes.names, *numbers)]
    opened = open_table(records, wanted=wanted, name="records", dialect=dialect_of(guessed))
    if isinstance(opened, Delimited) and opened.word == "line":
        guessed = _with(guessed, delimiter=opened.sign)
    profiles = column_profiles(opened)
    if person is not None and person not in wanted:
        profiles.pop(guessed.of(person).column or person, None)
    finding = _Finding(guessed, profiles, dict(release.attributes.values), numbers, tree, show)
    check_header(opened, profiles, wanted, finding.areas.union(*finding.values.values()))
    return finding.suggestion(opened.shown)


def in_likely_encoding(how: TableInput, records: TableSource) -> TableInput:
    """Return how records are written, in the encoding that they seem to have if none is stated."""
    if how.encoding != TableInput().encoding:
        return how
    return _with(how, encoding=guess_encoding(records))


def _with(table: TableInput, **changes: object) -> TableInput:
    """Return how a table is written, but for changes."""
    every = {part.name: getattr(table, part.name) for part in fields(table)} | {
        "columns": dict(table.columns)
    }
    return TableInput(**every | changes)


def profiles_of_file(
    records: TableSource, wanted: Sequence[str] = (), encoding: str = ""
) -> tuple[OpenTable, TableInput, dict[str, ColumnProfile]]:
    """Open records, in their encoding or the likeliest one, and return what each column holds."""
    how = TableInput(encoding=encoding) if encoding else in_likely_encoding(TableInput(), records)
    opened = open_table(records, wanted=wanted, name="records", dialect=dialect_of(how))
    profiles = column_profiles(opened)
    check_header(opened, profiles, wanted)
    return opened, how, profiles


def check_header(
    opened: OpenTable,
    profiles: Mapping[str, ColumnProfile],
    wanted: Sequence[str],
    values: frozenset[str] = frozenset(),
) -> None:
    """Raise if the first line of a text or a sheet looks like a record, or stands again among the records.

    It is a record if a name is a number, a value of its column, or one of the `values` of the release; if it
    has `wanted` names it is none.
    """
    if not isinstance(opened, Delimited):
        return
    named = {name.strip().casefold() for name in opened.names}
    is_header = not named.isdisjoint(word.strip().casefold() for word in wanted)
    again = [name for name, profile in profiles.items() if name in (profile.texts or ())]
    if is_header and again:
        raise InputError(
            f"the names of the columns of {opened.shown} stand again among its records; take these lines out"
        )
    if again or is_record(opened.names, frozenset() if is_header else values):
        raise InputError(f"the first line of {opened.shown} seems to be a record; it must name the columns")


def column_profiles(opened: OpenTable) -> dict[str, ColumnProfile]:
    """Return what each column holds whose values can be texts, but for those that `[input]` cannot name.

    These are columns whose name occurs twice, is empty or has a control character in it.
    """
    names = [name for name in opened.names if opened.names.count(name) == 1 and _can_be_named(name)]
    profiles = {name: ColumnProfile(name) for name in names}
    for batch in opened.batches(dict.fromkeys(names, "any"), Problems()):
        for name in names:
            column = arrow().chunked_array([batch.column(name)])
            if name in profiles and not _is_textual(column):
                del profiles[name]
            elif name in profiles:
                words = words_of(written_out(column))
                many = arrow("compute").value_counts(arrow().array(words.codes)).to_pylist()
                texts = [*words.values.to_pylist(), ""]
                profiles[name].is_typed = _is_numeric(column)
                profiles[name].add(
                    [texts[values["values"]] for values in many], [values["counts"] for values in many]
                )
    return profiles


def _can_be_named(column: str) -> bool:
    try:
        return bool(ColumnInput(column=column).column.strip())
    except FieldError:
        return False


def _is_numeric(column: ArrowTable) -> bool:
    is_a = arrow().types
    return any(is_one(column.type) for is_one in (is_a.is_integer, is_a.is_floating, is_a.is_decimal))


def _is_textual(column: ArrowTable) -> bool:
    is_a = arrow().types
    stored = column.type.value_type if is_a.is_dictionary(column.type) else column.type
    kinds = (is_a.is_string, is_a.is_large_string, is_a.is_integer, is_a.is_floating, is_a.is_decimal)
    return any(is_one(stored) for is_one in (*kinds, is_a.is_boolean, is_a.is_null))


class _Finding:
    """Which column is which attribute, and how it is written."""

    def __init__(
        self,
        how: TableInput,
        profiles: Mapping[str, ColumnProfile],
        values: Mapping[str, tuple[str, ...]],
        numbers: Sequence[str],
        tree: Tree | None,
        show: bool,
    ) -> None:
        self.how, self.profiles, self.values, self.show = how, profiles, values, show
        is_everywhere = how.is_of_one_area and "unit" not in profiles
        self.wanted = (*(() if is_everywhere else ("unit",)), *values, *numbers)
        self.areas = frozenset[str]()
        if tree is not None:
            lowest = zip(tree.names.to_pylist(), tree.leaf.tolist(), strict=True)
            self.areas = frozenset(name for name, leaf in lowest if leaf)
        signs = {sign for profile in profiles.values() for sign in profile.decimals}
        self.decimals = {how.decimal} if how.decimal == "," else signs
        self.notes: dict[str, list[str]] = {}
        self.undecided: list[str] = []
        self.questions: list[str] = []
        self.trim = self.ignore_case = False

    def suggestion(self, shown: str) -> Suggestion:
        """Return what was found."""
        columns = dict(self.how.columns)
        matched = self._matched(columns)
        for name in self.wanted:
            if name not in matched:
                free = [profile for profile in self.profiles if profile not in matched.values()][:_MOST_CODES]
                line = f'# {quoted(name)} = {{ column = "..."{self._codes(name, {})} }}'
                self._leave(name, line, f"which column is it? {', '.join(free)}")
                continue
            entry = self._entry(name, self.profiles[matched[name]], columns.get(name))
            columns.pop(name, None)
            if entry is not None:
                columns[name] = entry
        is_open = len(matched) < len(self.wanted)  # then it may be any of the other columns
        used = [profile for name, profile in self.profiles.items() if is_open or name in matched.values()]
        changes: dict[str, object] = {"columns": columns}
        numeric = [name for name in matched if self._is_number(name) or columns.get(name, _PLAIN).bands]
        commas = any(self.profiles[matched[name]].commas for name in numeric)
        if numeric and "," in self.decimals and (commas or self.decimals == {","}):
            changes["decimal"] = ","
        marks = any(text.strip() for profile in used for text in profile.texts or () if _is_mark(text))
        if marks and not self.how.missing:
            known = self.areas.union(*self.values.values())
            changes["missing"] = [mark for mark in MARKS if mark not in known]
        spaced = any(
            text != text.strip() and _is_mark(text) for profile in used for text in profile.texts or ()
        )
        changes |= {"trim": True} if self.trim or spaced else {}
        changes |= {"ignore_case": True} if self.ignore_case else {}
        table = _with(self.how, **changes)
        lines = "\n".join(self._lines(table, shown)) + "\n"
        return Suggestion(table, lines, tuple(self.undecided), tuple(self.questions))

    def _leave(self, name: str, line: str, why: str) -> None:
        """Leave a line for a person to fill in."""
        self.notes.setdefault(name, []).extend((f"# {name}: {why}", line))
        self.undecided.append(name)
        self.questions.append(f"{name}: {why}")

    def _lines(self, table: TableInput, shown: str) -> Iterator[str]:
        yield f"# how {shown} is written; fill in the lines that begin with # and take the # away"
        columns = {quoted(name): name for name, _ in table.columns}
        lines = list(input_lines(table))
        if not table.columns:
            index = next((at for at, text in enumerate(lines) if text == "[input.areas]"), len(lines))
            lines.insert(index, "[input.columns]")
        told = set()
        for line in lines:
            yield line
            name = columns.get(line.partition(" = ")[0], "")
            if name in self.notes:
                told.add(name)
                yield from self.notes[name]
            if line == "[input.columns]":
                left = (notes for name, notes in self.notes.items() if name not in dict(table.columns))
                yield from chain.from_iterable(left)

    def _is_number(self, name: str) -> bool:
        return name != "unit" and name not in self.values

    # -- which column ----------------------------------------------------------------------------------------

    def _matched(self, stated: Mapping[str, ColumnInput]) -> dict[str, str]:
        """Return the column of each attribute that is sure: as stated, or the only one that is named so."""
        matched: dict[str, str] = {}
        for name in self.wanted:
            column = stated[name].column or name if name in stated else name
            near = [
                profile
                for profile in self.profiles
                if profile.strip().casefold() == column.strip().casefold()
            ]
            if column in self.profiles or len(near) == 1:
                matched[name] = column if column in self.profiles else near[0]
        taken = set(matched.values())
        likely = {
            name: self._likely(
                name, [profile for profile in self.profiles.values() if profile.name not in taken]
            )
            for name in self.wanted
            if name not in matched and name not in stated
        }
        claims = Counter(column for columns in likely.values() for column in columns)
        sure = {name: columns[0] for name, columns in likely.items() if len(columns) == 1}
        return matched | {name: column for name, column in sure.items() if claims[column] == 1}

    def _likely(self, name: str, columns: Sequence[ColumnProfile]) -> list[str]:
        """Return the columns that are named best for an attribute; of several one whose texts are values."""
        words = next((words for words in NAMES if name.casefold() in words), [name.casefold()])
        ranks = {column.name: max(_alikeness(column.name, word) for word in words) for column in columns}
        best = max(ranks.values(), default=0)
        likely = [column for column in columns if best and ranks[column.name] == best]
        fitting = [column for column in likely if self._fits(name, column)] if len(likely) > 1 else []
        return [column.name for column in (fitting if len(fitting) == 1 else likely)]

    def _fits(self, name: str, column: ColumnProfile) -> bool:
        """Whether half of the texts of a column, or more, are areas or values, or words for them."""
        if name == "unit":
            return self._area_share(column)[0] >= 0.5
        if self._is_number(name):
            return column.numeric_share >= 0.5
        values = self.values[name]
        known = frozenset(value.casefold() for value in values)
        return column.share(known) >= 0.5 or bool(_codes_by_words(values, column))

    def _area_share(self, column: ColumnProfile) -> tuple[float, int]:
        """Return the share of rows whose area is known, and the width at which that is most."""
        best = (column.share(frozenset(area.casefold() for area in self.areas)), 0)
        for width in {len(area) for area in self.areas if area.isdecimal() and area.startswith("0")}:
            padded = {area.lstrip("0") or "0" for area in self.areas if len(area) == width} | self.areas
            share = column.share(frozenset(padded))
            best = max(best, (share, width), key=lambda pair: pair[0])
        return best

    # -- how it is written -----------------------------------------------------------------------------------

    def _entry(self, name: str, column: ColumnProfile, stated: ColumnInput | None) -> ColumnInput | None:
        """Return how a column is read; what a person must decide is noted."""
        entry = stated or ColumnInput(column=column.name)
        made: dict[str, object] = {}
        if name == "unit":
            width = self._area_share(column)[1]
            made |= {"width": width} if width and not (entry.width or entry.codes) else {}
        elif not (self._is_number(name) or entry.bands or entry.codes):
            read_as = self._read_as(name, column)
            if read_as is None:
                return None
            made |= read_as
        elif self._is_number(name) and stated is None and (doubt := self._doubtful_sign(column)):
            self._leave(name, f"# {quoted(name)} = {{ column = {quoted(column.name)} }}", doubt)
            return None
        unknown = [value for value in self.values.get(name, ()) if value.casefold() in UNKNOWN_WORDS]
        known = self.areas if name == "unit" else self.values.get(name, ())
        gaps = column.has_gaps(known) and not (entry.filled or entry.leave_out)
        if gaps and len(unknown) == 1:
            made["filled"] = unknown[0]
        elif gaps:
            kind = "a number" if self._is_number(name) else "one of its values"
            example = "" if name == "unit" else f' as = "..." ({kind}), or'
            text = f"{name}: some records have none; add to the line above{example} leave_out = true"
            self.notes.setdefault(name, []).append(f"# {text}")
            self.undecided.append(name)
            self.questions.append(f"{name}: some records have no value")
        return _changed_column(entry, **made)

    def _read_as(self, name: str, column: ColumnProfile) -> dict[str, object] | None:
        """Return what makes values of a column's texts; None if a person must say it."""
        values = self.values[name]
        exact, known = set(values), {value.casefold(): value for value in values}
        bands = [value for value in values if value.casefold() not in UNKNOWN_WORDS]
        met = {text.casefold() for text in column.values} & known.keys()
        if column.share(known) >= 0.5 and len(met) >= min(2, len(column.values)):
            texts = [text for text in column.texts or () if not _is_mark(text)]
            tidy = {text: text.strip() for text in texts}
            self.trim |= any(text != tidy[text] and tidy[text].casefold() in known for text in texts)
            self.ignore_case |= any(
                value not in exact and value.casefold() in known for value in tidy.values()
            )
            return {}
        if is_bands(bands) and are_dates(column.values):
            entry = f"column = {quoted(column.name)}, bands = {quoted(bands)}"
            line = f'# {quoted(name)} = {{ {entry}, age_on = "..." }}'
            doubt = (
                f"column {column.name} has dates; at which day do ages count (age_on, such as 2025-12-31)?"
            )
            self._leave(name, line, doubt)
            return None
        if is_bands(bands) and column.points + column.commas:
            if doubt := self._doubtful_sign(column) or _doubtful_bands(bands, column):
                every = ", ".join(map(quoted, bands))
                line = f"# {quoted(name)} = {{ column = {quoted(column.name)}, bands = [{every}] }}"
                self._leave(name, line, doubt)
                return None
            return {"bands": bands}
        if codes := _codes_by_words(values, column):
            self.ignore_case |= any(text not in codes and text.casefold() in codes for text in column.values)
            return {"codes": codes}
        entry = f"{{ column = {quoted(column.name)}{self._codes(name, column.values)} }}"
        line = f"# {quoted(name)} = {entry}"
        which = f"which text is which of {', '.join(values[:_MOST_CODES])}?"
        self._leave(name, line, wrong_bands(bands) or which)
        return None

    def _doubtful_sign(self, column: ColumnProfile) -> str:
        """Return what is to be asked where a sign before three digits may be a decimal one or not."""
        if self.decimals or not column.thousands:
            return ""
        signs = " and ".join(sorted({",": "commas", ".": "points"}[sign] for sign in column.thousands))
        return (
            f"column {column.name} has {signs} before three digits; are they separators of thousands? "
            'Then take them out of the file; else say decimal = "," or "." and name the column'
        )

    def _codes(self, name: str, texts: Mapping[str, int]) -> str:
        """Return codes to be filled in: texts of the file, if they may be shown, else values."""
        pairs = [("...", value) for value in self.values.get(name, ())]
        if self.show and texts:
            pairs = [(text, "...") for text in texts]
        if not pairs or len(pairs) > _MOST_CODES:
            return ""
        return f", codes = {{ {', '.join(f'{quoted(code)} = {quoted(other)}' for code, other in pairs)} }}"


def _changed_column(column: ColumnInput, **changes: object) -> ColumnInput:
    """Return how a column is read, but for changes.

    >>> _changed_column(ColumnInput(column="ALTER", bands=["0-17", "18+"]), filled="unknown").filled
    'unknown'
    """
    every: dict[str, object] = {
        key: getattr(column, key) for key in ("column", "missing", "filled", "leave_out", "width")
    }
    if column.births is not None:
        every |= {"age_on": column.births.day.isoformat(), "dates": column.births.order}
    every |= {"bands": {band.label: band.text for band in column.bands}, "codes": dict(column.codes)}
    return ColumnInput(**every | changes)  # type: ignore[arg-type]


def _doubtful_bands(bands: Sequence[str], column: ColumnProfile) -> str:
    """Return why the numbers of a column may not be those of which there are bands, or nothing.

    >>> codes = ColumnProfile("AGE")
    >>> codes.add(["1", "2", "3"], [7, 9, 4])
    >>> print(_doubtful_bands(["0-17", "18+"], codes))
    column AGE has few different numbers, all of them in one band; are they codes or true numbers?
    """
    read = read_bands(bands)
    doubts: list[str] = []
    if column.texts is not None and len(column.values) <= _FEW_NUMBERS:
        doubts.append("few different numbers")
    if column.numeric_share < 0.5:
        doubts.append("texts that are no numbers in most rows")
    if column.least is not None and column.most is not None:
        if any(
            (means.lower is None or means.lower <= column.least)
            and (means.upper is None or column.most < means.upper)
            for means in read
        ):
            doubts.append(f"{'all of them' if doubts else 'numbers that are all'} in one band")
        ends = [end for band in read for end in (band.lower, band.upper) if end is not None]
        if max(ends) <= OLDEST < column.most:
            doubts.append(f"numbers above {OLDEST}, which may be years of birth (age_on makes ages of them)")
        if column.least < 0 <= min(ends):
            doubts.append("numbers below zero")
    if not doubts:
        return ""
    return f"column {column.name} has {', '.join(doubts)}; are they codes or true numbers?"


def _alikeness(column: str, word: str) -> int:
    """Return how much a column is named as a word says: 2 if it is, 1 if with a usual tail or cut off, or 0.

    >>> [_alikeness(column, "geschlecht") for column in ("Geschlecht", "GESCHL", "g")]
    [2, 1, 0]
    >>> [_alikeness(column, "age") for column in ("AGE_GROUP", "age2", "age_of_mother", "agent", "wage")]
    [1, 1, 0, 0, 0]
    """
    called = column.strip().casefold()
    if called == word:
        return 2
    short, long = sorted((called, word), key=len)
    rest = long[len(short) :]
    if len(short) < 3 or not long.startswith(short):
        return 0
    is_cut_off = short is called and word.isalpha()
    return int(is_cut_off or re.sub(r"[\W\d_]", "", rest) in _TAILS)


def is_named(column: str, what: str) -> bool:
    """Whether a column has one of the usual names of a thing.

    >>> is_named("ALTER", "age"), is_named("age_of_mother", "age")
    (True, False)
    """
    words = next(words for words in NAMES if what in words)
    return any(_alikeness(column, word) for word in words)


def usual_values(column: ColumnProfile) -> tuple[str, ...]:
    """Return values for which all texts of a column are words in one language; nothing if there are none.

    They are the same for any such column, so they tell nothing of it.

    >>> usual_values(ColumnProfile("GESCHL", texts={"männlich": 7, "weiblich": 9}))
    ('f', 'm')
    >>> usual_values(ColumnProfile("GESCHL", texts={"1": 7, "2": 9}))
    ()
    """
    texts = {text.casefold() for text in column.values}
    for values in (("f", "m"), ("yes", "no")):
        if texts and (texts <= set(values) or _codes_by_words(values, column)):
            return values
    return ()


def _codes_by_words(values: Sequence[str], column: ColumnProfile) -> dict[str, str]:
    """Return the words for values in the language in which all texts of a column are such words, or nothing.

    They are the words of a language, whether the file has them or not, so they tell nothing of it.

    >>> texts = ColumnProfile("GESCHL", texts={"männlich": 7, "weiblich": 9})
    >>> _codes_by_words(["f", "m"], texts)["weiblich"]
    'f'
    """
    texts = {text.casefold() for text in column.values}
    for groups in WORDS.values():
        codes: dict[str, str] = {}
        for value in values:
            both = zip(WORDS["English"], groups, strict=True)
            mine = [words for first, words in both if value.casefold() in (*first, *words)]
            for word in mine[0] if len(mine) == 1 else ():
                if word not in {known.casefold() for known in values}:
                    codes[word] = value
        read = {text: codes.get(text, text) for text in texts}
        if codes and texts <= {*codes, *(known.casefold() for known in values)} and _are_told_apart(read):
            return codes
    return {}


def _are_told_apart(read: Mapping[str, str]) -> bool:
    """Whether texts stand for two values at least, and no two letters for the same one.

    H and M are man and man in one language, and man and woman in another.

    >>> _are_told_apart({"h": "m", "m": "m"}), _are_told_apart({"m": "m", "mann": "m", "f": "f"})
    (False, True)
    """
    letters = [value for text, value in read.items() if len(text) == 1]
    return len(set(read.values())) > 1 and len(set(letters)) == len(letters)
