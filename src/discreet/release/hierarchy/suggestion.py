"""An `[input]` that would read a file of records, as far as the file and the release tell.

What it says is how the text is written, which column is which attribute, and which bands, zeros and marks of
missing values there are: names of columns, words of the release, and words of the lists here, which are
public. Texts of the file are part of it only if its owner asks to be shown them. What cannot be known is left
as a comment for a person to fill in: which code is which value, and what is to be made of missing values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import chain

from discreet.budget import ColumnInput, Release, TableInput
from discreet.budget.input import input_lines, is_bands
from discreet.budget.toml import quoted
from discreet.errors import InputError
from discreet.estimation.tree import Tree
from discreet.files import ArrowTable, arrow
from discreet.release.hierarchy.record_columns import dialect_of, exact_number, without_zeros
from discreet.tables import (
    Delimited,
    OpenTable,
    Problem,
    Problems,
    TableSource,
    guess_encoding,
    open_table,
    words_of,
    written_out,
)

MOST_TEXTS = 5_000
"""Different texts of a column that are kept; a column with more holds no codes."""

MOST_CODES = 50
"""Codes that are listed to be filled in."""

_USUAL = tomllib.loads((files("discreet.release.hierarchy") / "usual_words.toml").read_text(encoding="utf-8"))
MARKS: frozenset[str] = frozenset(_USUAL["marks"])
"""Texts that usually stand for no value."""

UNKNOWN: frozenset[str] = frozenset(_USUAL["unknown"])
"""How a value is called that means that there is none."""

NAMES: list[list[str]] = _USUAL["names"]
"""What columns are called, one thing a list."""

WORDS: dict[str, list[list[str]]] = _USUAL["values"]
"""Words for values, by language, always in the same order."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An `[input]`: what is sure of it as an object, all of it as text, and what a person must decide.

    `problems` are those that are left with what is sure.
    """

    table: TableInput
    text: str
    undecided: tuple[str, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the records can be counted with what is sure."""
        return not self.problems

    def tried(self, problems: tuple[Problem, ...]) -> Suggestion:
        """Return the suggestion with what is wrong with the records if it is used."""
        return replace(self, problems=problems)


@dataclass(slots=True)
class _Profile:
    """What a column holds: its texts with their rows, unless there are many, and how many are numbers."""

    name: str
    rows: int = 0
    points: int = 0
    commas: int = 0
    texts: dict[str, int] | None = field(default_factory=dict)

    def add(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        """Add some rows of the column."""
        for text, many in zip(texts, counts, strict=True):
            self.rows += many
            tidy = text.strip()
            self.points += many if exact_number(tidy) is not None else 0
            self.commas += many if "," in tidy and exact_number(tidy, ",") is not None else 0
            if self.texts is not None:
                self.texts[text] = self.texts.get(text, 0) + many
                if len(self.texts) > MOST_TEXTS:
                    self.texts = None

    @property
    def values(self) -> dict[str, int]:
        """Texts that may be values, without spaces around them."""
        found: dict[str, int] = {}
        for text, many in (self.texts or {}).items():
            if not _is_mark(text):
                found[text.strip()] = found.get(text.strip(), 0) + many
        return found

    @property
    def has_gaps(self) -> bool:
        """Whether some rows have no value."""
        return any(map(_is_mark, self.texts or ()))

    def share(self, known: Mapping[str, str] | frozenset[str]) -> float:
        """Return the share of the rows with values whose value is known."""
        total = sum(self.values.values())
        met = sum(many for text, many in self.values.items() if without_zeros(text.casefold()) in known)
        return met / total if total else 0.0


def _is_mark(text: str) -> bool:
    return not text.strip() or without_zeros(text.strip()) in MARKS


def suggest_input(
    release: Release, records: TableSource, tree: Tree | None, how: TableInput, *, show: bool
) -> Suggestion:
    """Make an `[input]` for records of a release; what `[input]` says already stays."""
    assert release.attributes is not None
    guessed = in_likely_encoding(how, records)
    wanted = [how.of(name).column or name for name in ("unit", *release.attributes.names)]
    opened = open_table(records, wanted=wanted, name="records", dialect=dialect_of(guessed))
    if isinstance(opened, Delimited) and opened.word == "line":
        guessed = _with(guessed, delimiter=opened.sign)
    profiles = _profiles(opened)
    if _is_record(opened, profiles):
        raise InputError(f"the first line of {opened.shown} seems to be a record; it must name the columns")
    found = _Finding(guessed, profiles, dict(release.attributes.values), tree, show)
    return found.suggestion(opened.shown)


def in_likely_encoding(how: TableInput, records: TableSource) -> TableInput:
    """Return how records are written, in the encoding that they seem to have if none is stated."""
    if how.encoding != TableInput().encoding:
        return how
    return _with(how, encoding=guess_encoding(records))


def _with(table: TableInput, **changes: object) -> TableInput:
    """Return how a table is written, but for changes."""
    keys = ("encoding", "delimiter", "decimal", "quote", "trim", "ignore_case", "missing", "areas")
    every = {key: getattr(table, key) for key in keys} | {"columns": dict(table.columns)}
    return TableInput(**every | changes)


def _profiles(opened: OpenTable) -> dict[str, _Profile]:
    """Return what each column holds whose values can be texts; names that occur twice are left out."""
    names = [name for name in opened.names if opened.names.count(name) == 1]
    found = {name: _Profile(name) for name in names}
    for batch in opened.batches(dict.fromkeys(names, "any"), Problems()):
        for name in names:
            column = arrow().chunked_array([batch.column(name)])
            if name in found and not _is_textual(column):
                del found[name]
            elif name in found:
                words = words_of(written_out(column))
                many = arrow("compute").value_counts(arrow().array(words.codes)).to_pylist()
                texts = [*words.values.to_pylist(), ""]
                found[name].add([texts[one["values"]] for one in many], [one["counts"] for one in many])
    return found


def _is_textual(column: ArrowTable) -> bool:
    is_a = arrow().types
    stored = column.type.value_type if is_a.is_dictionary(column.type) else column.type
    kinds = (is_a.is_string, is_a.is_large_string, is_a.is_integer, is_a.is_floating, is_a.is_decimal)
    return any(is_one(stored) for is_one in (*kinds, is_a.is_boolean, is_a.is_null))


def _is_record(opened: OpenTable, profiles: Mapping[str, _Profile]) -> bool:
    """Whether the first line of a text looks like a record: a name is a number, or a value of its column."""
    if not isinstance(opened, Delimited):
        return False
    return any(
        exact_number(name, ",") is not None or exact_number(name) is not None or name in (one.texts or ())
        for name, one in profiles.items()
    )


class _Finding:
    """Which column is which attribute, and how it is written."""

    def __init__(
        self,
        how: TableInput,
        profiles: Mapping[str, _Profile],
        values: Mapping[str, tuple[str, ...]],
        tree: Tree | None,
        show: bool,
    ) -> None:
        self.how, self.profiles, self.values, self.show = how, profiles, values, show
        self.areas = frozenset[str]()
        if tree is not None:
            lowest = zip(tree.names.to_pylist(), tree.leaf.tolist(), strict=True)
            self.areas = frozenset(name for name, leaf in lowest if leaf)
        self.notes: dict[str, list[str]] = {}
        self.undecided: list[str] = []
        self.trim = self.ignore_case = False

    def suggestion(self, shown: str) -> Suggestion:
        """Return what was found."""
        columns = dict(self.how.columns)
        matched = self._matched(columns)
        for name in ("unit", *self.values):
            if name not in matched:
                free = [one for one in self.profiles if one not in matched.values()][:MOST_CODES]
                line = f'# {quoted(name)} = {{ column = "..."{self._codes(name, {})} }}'
                self._leave(name, line, f"which column is it? {', '.join(free)}")
                continue
            entry = self._entry(name, self.profiles[matched[name]], columns.get(name))
            columns.pop(name, None)
            if entry is not None:
                columns[name] = entry
        used = [self.profiles[column] for column in matched.values()]
        changes: dict[str, object] = {"columns": columns}
        if any(one.commas for one in used) and any(one.bands for one in columns.values()):
            changes["decimal"] = ","
        marks = any(text.strip() for one in used for text in one.texts or () if _is_mark(text))
        if marks and not self.how.missing:
            known = {value for values in self.values.values() for value in values}
            changes["missing"] = [mark for mark in _USUAL["marks"] if mark not in known]
        spaced = any(text != text.strip() and _is_mark(text) for one in used for text in one.texts or ())
        changes |= {"trim": True} if self.trim or spaced else {}
        changes |= {"ignore_case": True} if self.ignore_case else {}
        table = _with(self.how, **changes)
        lines = "\n".join(self._lines(table, shown)) + "\n"
        return Suggestion(table, lines, tuple(self.undecided))

    def _leave(self, name: str, line: str, why: str) -> None:
        """Leave a line for a person to fill in."""
        self.notes.setdefault(name, []).extend((f"# {name}: {why}", line))
        self.undecided.append(name)

    def _lines(self, table: TableInput, shown: str) -> Iterator[str]:
        yield f"# how {shown} is written; fill in the lines that begin with # and take the # away"
        columns = {quoted(name): name for name, _ in table.columns}
        lines = list(input_lines(table))
        if not table.columns:
            place = next((at for at, one in enumerate(lines) if one == "[input.areas]"), len(lines))
            lines.insert(place, "[input.columns]")
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

    # -- which column ----------------------------------------------------------------------------------------

    def _matched(self, stated: Mapping[str, ColumnInput]) -> dict[str, str]:
        """Return the column of each attribute that is sure: as stated, or the best of all that are free."""
        matched: dict[str, str] = {}
        for name in ("unit", *self.values):
            column = stated[name].column or name if name in stated else name
            near = [one for one in self.profiles if one.strip().casefold() == column.strip().casefold()]
            if column in self.profiles or len(near) == 1:
                matched[name] = column if column in self.profiles else near[0]
        pairs = [
            (self._likeness(name, one), name, one.name)
            for name in ("unit", *self.values)
            for one in self.profiles.values()
            if name not in matched and name not in stated and one.name not in matched.values()
        ]
        while pairs:
            score, name, column = max(pairs)
            rivals = [one[0] for one in pairs if (one[1] == name) != (one[2] == column)]
            if score < 1.5:
                break
            if score - max(rivals, default=0.0) >= 0.25:
                matched[name] = column
                pairs = [one for one in pairs if one[1] != name and one[2] != column]
            else:  # two are as likely as each other
                pairs = [one for one in pairs if one[1] != name]
        return matched

    def _likeness(self, name: str, column: _Profile) -> float:
        """Return how much speaks for a column, by its name and by what it holds."""
        called = column.name.strip().casefold()
        alike = next((words for words in NAMES if name.casefold() in words), [name.casefold()])
        score = 2.0 if any(_begins_alike(called, word) for word in alike) else 0.0
        if name == "unit":
            return score + 3 * self._area_share(column)[0]
        values = self.values[name]
        bands = [value for value in values if value.casefold() not in UNKNOWN]
        known = {value.casefold(): value for value in values}
        best = 3 * column.share(known)
        if is_bands(bands) and column.rows:
            filled = sum(column.values.values()) or column.rows
            best = max(best, 1.5 * min(1.0, (column.points + column.commas) / filled))
        best = max(best, 2 * column.share(frozenset(_codes_by_words(values, column))))
        same = len(column.values) in (len(values), len(bands))
        return score + best + (0.5 if same else 0.0)

    def _area_share(self, column: _Profile) -> tuple[float, int]:
        """Return the share of rows whose area is known, and the width at which that is most."""
        best = (column.share(frozenset(one.casefold() for one in self.areas)), 0)
        for width in {len(area) for area in self.areas if area.isdecimal() and area.startswith("0")}:
            padded = {one.lstrip("0") or "0" for one in self.areas if len(one) == width} | self.areas
            share = column.share(frozenset(padded))
            best = max(best, (share, width), key=lambda one: one[0])
        return best

    # -- how it is written -----------------------------------------------------------------------------------

    def _entry(self, name: str, column: _Profile, stated: ColumnInput | None) -> ColumnInput | None:
        """Return how a column is read; what a person must decide is noted."""
        entry = stated or ColumnInput(column=column.name)
        made: dict[str, object] = {}
        if name == "unit":
            width = self._area_share(column)[1]
            made |= {"width": width} if width and not (entry.width or entry.codes) else {}
        elif not (entry.bands or entry.codes):
            read_as = self._read_as(name, column)
            if read_as is None:
                return None
            made |= read_as
        unknown = [value for value in self.values.get(name, ()) if value.casefold() in UNKNOWN]
        gaps = column.has_gaps and not (entry.filled or entry.leave_out)
        if gaps and len(unknown) == 1:
            made["filled"] = unknown[0]
        elif gaps:
            example = "" if name == "unit" else ' as = "..." (one of its values), or'
            text = f"{name}: some records have none; add to the line above{example} leave_out = true"
            self.notes.setdefault(name, []).append(f"# {text}")
            self.undecided.append(name)
        return changed_column(entry, **made)

    def _read_as(self, name: str, column: _Profile) -> dict[str, object] | None:
        """Return what makes values of a column's texts; None if a person must say it."""
        values = self.values[name]
        exact, known = set(values), {value.casefold(): value for value in values}
        bands = [value for value in values if value.casefold() not in UNKNOWN]
        if column.share(known) >= 0.5:
            texts = [text for text in column.texts or () if not _is_mark(text)]
            tidy = {text: text.strip() for text in texts}
            self.trim |= any(text != tidy[text] and tidy[text].casefold() in known for text in texts)
            self.ignore_case |= any(one not in exact and one.casefold() in known for one in tidy.values())
            return {}
        if is_bands(bands) and column.points + column.commas:
            return {"bands": bands}
        if codes := _codes_by_words(values, column):
            self.ignore_case |= any(text not in codes and text.casefold() in codes for text in column.values)
            return {"codes": codes}
        entry = f"{{ column = {quoted(column.name)}{self._codes(name, column.values)} }}"
        line = f"# {quoted(name)} = {entry}"
        self._leave(name, line, f"which text is which of {', '.join(values[:MOST_CODES])}?")
        return None

    def _codes(self, name: str, texts: Mapping[str, int]) -> str:
        """Return codes to be filled in: texts of the file, if they may be shown, else values."""
        pairs = [("...", value) for value in self.values.get(name, ())]
        if self.show and texts:
            pairs = [(text, "...") for text in texts]
        if not pairs or len(pairs) > MOST_CODES:
            return ""
        return f", codes = {{ {', '.join(f'{quoted(one)} = {quoted(other)}' for one, other in pairs)} }}"


def changed_column(column: ColumnInput, **changes: object) -> ColumnInput:
    """Return how a column is read, but for changes.

    >>> changed_column(ColumnInput(column="ALTER", bands=["0-17", "18+"]), filled="unknown").filled
    'unknown'
    """
    every: dict[str, object] = {
        key: getattr(column, key) for key in ("column", "missing", "filled", "leave_out", "width")
    }
    every |= {"bands": {one.label: one.text for one in column.bands}, "codes": dict(column.codes)}
    return ColumnInput(**every | changes)  # type: ignore[arg-type]


def _begins_alike(one: str, other: str) -> bool:
    """Whether two names are the same, or one is the beginning of the other, of three letters at least.

    >>> _begins_alike("geschl", "geschlecht"), _begins_alike("agegroup", "age"), _begins_alike("a", "age")
    (True, True, False)
    """
    short, long = sorted((one, other), key=len)
    return len(short) >= 3 and long.startswith(short)


def _codes_by_words(values: Sequence[str], column: _Profile) -> dict[str, str]:
    """Return the words for values in the language in which all texts of a column are such words, or nothing.

    They are the words of a language, whether the file has them or not, so they tell nothing of it.

    >>> texts = _Profile("GESCHL", texts={"männlich": 7, "weiblich": 9})
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
                if word not in {one.casefold() for one in values}:
                    codes[word] = value
        if texts and codes and texts <= {*codes, *(one.casefold() for one in values)}:
            return codes
    return {}
