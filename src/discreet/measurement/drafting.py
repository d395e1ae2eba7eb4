"""A first release for a file of records: what its owner says may be published, with the noise of a promise.

The draft is to be shown around, and the file is confidential, so values of attributes are not taken from the
file: its owner states them, or they are words of a public list. What is not sure is asked about, in as few
rounds as can be. One exception is the table of areas: if there is none, it has the areas of the file, and
says so.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from discreet.budget import Attributes, Level, Query, Release
from discreet.budget.attributes import DETAILED, TOTAL
from discreet.budget.scope import Scope
from discreet.budget.toml import hint, no_repeats
from discreet.errors import InputError
from discreet.estimation.best_plan import Plan, plan
from discreet.estimation.goals import margin_goal
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.faces import Summarised
from discreet.files import ArrowTable, arrow
from discreet.ledger.admission import Request, admit
from discreet.measurement.questions import Drafting
from discreet.questions import asked_with
from discreet.records.ages import OLDEST, are_births, order_of
from discreet.records.input import ColumnInput, TableInput, is_bands, wrong_bands
from discreet.records.record_areas import areas_of_levels
from discreet.records.record_check import check_records, without_columns
from discreet.records.record_columns import exact_number, read_records, without_zeros
from discreet.records.records import HOW_OFTEN
from discreet.records.suggestion import (
    AGE_BANDS,
    MARKS,
    TOTALS,
    UNKNOWN_WORDS,
    ColumnProfile,
    is_named,
    profiles_of_file,
    usual_values,
)
from discreet.tables import OpenTable, Problems, TableSource, file_of, kept_source

EVERYWHERE = "All"
"""The level above all areas, and its one area."""

UNKNOWN = "unknown"
"""The value of records without one."""

AREA_KEYS = ("unit", "level", "parent")

_ROUNDED = re.compile(r"[0-9]+([.,][0-9]+)?e\+[0-9]+")
"""A code as a spreadsheet writes a long number."""

_CODED_TWICE = re.compile("[ãâ][\x80-\xbf\u20ac\u201a-\u201e\u2020-\u2030]")
"""UTF-8 that was read as Latin-1 or Windows-1252, in small letters."""

_A_DATE = re.compile(
    r"[0-9]{1,2}[-. ](jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|[0-9]{4}-[0-9]{2}-[0-9]{2}.*"
)
"""A code such as 1-1 as a spreadsheet shows it."""

_ONE_LINE_A_PERSON = (
    "a draft is about people of one line each. Name the column that identifies people, or leave --id out: "
    "later, account --people and measure --at-most allow several"
)
"""What is said where an identifier occurs again: a draft has no option for it."""

_FEW_RECORDS = 20
"""Records among which each may have an area of its own."""


@dataclass(frozen=True, slots=True)
class Draft(Summarised):
    """A release drafted for a file of records: what it is, how the file is read, and its areas.

    `areas` are rows of unit, level and parent; they `are_of_the_file` if nobody stated them, so that an area
    without records is missing. `left_out` are attributes without whose values a record is left out. `scope`
    says which records can be counted.
    """

    records: str
    release: Release
    plan: Plan
    areas: tuple[tuple[str, str, str], ...]
    areas_file: str
    left_out: tuple[str, ...]
    scope: Scope
    id: str | None = None
    """The column that identifies people, if it was named: nobody has two records."""
    public_totals: tuple[str, ...] = ()
    """Levels of one area whose total is not measured, because the number of records is public."""

    @property
    def are_of_the_file(self) -> bool:
        """Whether the areas are those of the file, and not of a table of all areas."""
        return not self.areas_file

    @property
    def area_table(self) -> ArrowTable:
        """The areas as a table."""
        return _as_table(self.areas)

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Each level and the number of its areas, from the top."""
        levels = [level for _, level, _ in self.areas]
        return tuple((level, levels.count(level)) for level in dict.fromkeys(levels))


@dataclass(frozen=True, slots=True)
class _Stated:
    """What was said of an attribute: its name, its column, its values, and how these are written there."""

    name: str
    column: str
    values: tuple[str, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sketch:
    """A draft before its noise is found: a release whose noise says nothing yet, and how it is read."""

    release: Release
    input: TableInput
    areas: tuple[tuple[str, str, str], ...]
    scope: Scope

    @property
    def area_table(self) -> ArrowTable:
        """The areas as a table."""
        return _as_table(self.areas)


def _as_table(areas: Sequence[tuple[str, str, str]]) -> ArrowTable:
    columns = zip(*areas, strict=True)
    return arrow().table(dict(zip(AREA_KEYS, map(list, columns), strict=True)))


@asked_with(Drafting)
@one_algebra_thread()
def draft(asked: Drafting) -> Draft:
    """Draft a release for a file of records, and find the noise that keeps a promise or a margin of error.

    `area_columns` are columns of areas, the largest first, and `areas` a table of all areas, if there is one.
    `attributes` are columns to count, each with its values; `tables` are the queries, asked at every level.
    Either `epsilon` is promised at `delta`, or the 95 % `margin` of error of every estimate is at most this.
    Everything that is missing, doubtful or wrong is raised together.
    """
    problems = Problems()
    if (asked.epsilon is None) == (asked.margin is None):
        both = "both are given" if asked.margin is not None else "neither is given"
        problems.say(f"give a promise (epsilon, at delta) or a margin of error; {both}")
    found = sketch(asked, problems)
    release = found.release
    best = _planned(asked, release, found.areas)
    measured = {level.name for level in best.release.levels}
    if unneeded := [level.name for level in release.levels if level.name not in measured]:
        raise InputError(
            f"nothing needs to be measured at level {', '.join(unneeded)}: other levels tell all of it; "
            "leave its column of areas out"
        )
    given = os.fspath(asked.areas) if isinstance(asked.areas, str | os.PathLike) else "units"
    return Draft(
        records=os.fspath(asked.records) if isinstance(asked.records, str | os.PathLike) else "records",
        release=replace(best.release, name=release.name, notes=release.notes, input=found.input),
        plan=best,
        areas=found.areas,
        areas_file="" if asked.areas is None else given,
        left_out=found.input.leaving_out,
        scope=found.scope,
        id=asked.id,
        public_totals=tuple(level.name for level in release.levels if _has_public_total(asked, level)),
    )


def _has_public_total(asked: Drafting, level: Level) -> bool:
    """Whether the total was taken out of a level, and not by who named the tables."""
    return not asked.tables and all(query.name != TOTAL for query in level.queries)


def sketch(asked: Drafting, problems: Problems | None = None) -> Sketch:
    """Return what is released and how the records are read, or raise all that is open or wrong.

    >>> survey = arrow().table({"sex": ["f", "x"]})
    >>> sketch(Drafting(survey, attributes=["sex: f, m"]))
    Traceback (most recent call last):
    discreet.errors.InputError: 2 kinds of problems:
      1. sex: which text is which of f, m?
      2. an attribute says it: VALUE=CODE, or VALUE=RANGE for true numbers; --age-on makes ages of births
    """
    admit(asked.records, Request(entered=False))
    problems = Problems() if problems is None else problems
    before = problems.count
    if not asked.attributes:
        problems.say("no attribute is named; name the columns to count, each with its values")
    if asked.areas is not None and len(asked.area_columns) != 1:
        problems.say(
            "a table of areas is given, so one column of the records is needed, that of the lowest areas "
            f"(--area-column); {len(asked.area_columns)} are named"
        )
    asked = replace(asked, records=kept_source(asked.records))
    records = asked.records
    file = _File.open(records, asked)
    stated = [file.stated(text, problems) for text in asked.attributes]
    columns = [file.area(text, problems) for text in asked.area_columns]
    is_clear = problems.count == before
    for one in stated:
        if one.column and not one.values:
            problems.say(_without_values(one))
    for names in ([one.name for one in stated], [name for name, _ in columns]):
        no_repeats(names, name="names of columns", field=())
    if open_ones := [one for one in stated if not one.values]:  # the others are looked at all the same
        stated = [one for one in stated if one.values]
        is_clear = is_clear and bool(stated) and not asked.age_on  # which may be about an open one
        asked = replace(asked, tables=())
    if not is_clear:
        problems.stop()
    known = () if asked.areas is None else tuple(unit for unit, _, _ in areas_of_levels(asked.areas))
    gaps = file.gaps({column: known for _, column in columns}, stated)
    missing = asked.missing or "leave-out"  # for now, to find what else is open
    if gaps and asked.missing is None:
        many = "columns" if len(gaps) > 1 else "column"
        problems.say(
            f"some records have no value, or a mark such as NA or -9, in {many} {', '.join(gaps)}: "
            f"leave them out (--missing leave-out), "
            f"or count them under a value {UNKNOWN} (--missing {UNKNOWN})"
        )
    lowest = columns[-1][1] if columns else ""
    if lowest in gaps and missing == UNKNOWN:
        problems.say(f"some records have no value in column {lowest}, the area: these can only be left out")
        missing = "leave-out"
    found = None
    with problems.gathering():
        counted = [one.column for one in (*stated, *open_ones)]
        areas = _areas(asked, records, file.how, columns, counted)
        left_out = gaps if missing == "leave-out" else ()
        values = {one.name: _values_of(one, gaps, missing) for one in stated}
        release = _release(asked, records, areas, values, counts_everyone=not left_out)
        how = _input(file, asked, stated, columns, left_out)
        found = _read_as_suggested(release, asked, areas, how, problems)
    problems.stop()
    assert found is not None
    if found.scope.left_out:  # columns, of which those of higher areas were looked at here
        read = {asked.id, *(one.column for one in stated), *(column for _, column in columns)}
        unread = [name for name in file.opened.names if name not in read]
        return replace(found, scope=without_columns(replace(found.scope, left_out=()), unread))
    return found


def _read_as_suggested(
    release: Release,
    asked: Drafting,
    areas: tuple[tuple[str, str, str], ...],
    how: TableInput,
    problems: Problems,
) -> Sketch:
    """Return how records are read, and report what is open or wrong then."""
    checked = check_records(
        release, asked.records, units=_as_table(areas), input=how, id=asked.id, suggest=True
    )
    suggestion = checked.suggestion
    assert suggestion is not None
    assert suggestion.scope is not None
    for text in suggestion.questions:
        problems.say(text)
    if suggestion.questions:
        problems.say(
            "an attribute says it: VALUE=CODE, or VALUE=RANGE for true numbers; --age-on makes ages of births"
        )
    for problem in suggestion.problems if not suggestion.undecided else ():
        problems.say(str(replace(problem, text=problem.text.replace(HOW_OFTEN, _ONE_LINE_A_PERSON))))
    return Sketch(release, suggestion.table, areas, suggestion.scope)


# -- the file ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _File:
    """The records as far as they must be known to draft: their columns, and how they are written."""

    opened: OpenTable
    how: TableInput
    profiles: Mapping[str, ColumnProfile]

    @classmethod
    def open(cls, records: TableSource, asked: Drafting) -> _File:
        wanted = [_sides(text)[0] for text in (*asked.attributes, *asked.area_columns)]
        return cls(*profiles_of_file(records, wanted, asked.encoding))

    def column(self, text: str) -> str:
        """Return the column of that name, as it is written or but for capitals; or nothing."""
        near = [name for name in self.profiles if name.strip().casefold() == text.strip().casefold()]
        return text if text in self.profiles else near[0] if len(near) == 1 else ""

    def _named(self, text: str, what: str, problems: Problems) -> tuple[str, str]:
        """Read COLUMN or NAME=COLUMN."""
        name, sign, column = text.partition("=")
        if found := self.column(text):
            return found.strip(), found
        if sign and (found := self.column(column)):
            return name.strip(), found
        wanted = (column if sign else text).strip()
        if sum(name.strip().casefold() == wanted.casefold() for name in self.opened.names) > 1:
            problems.say(
                f"column {wanted} stands twice in {self.opened.shown}; rename one of them in the file"
            )
            return "", ""
        near = hint(wanted, list(self.profiles)) or f"; it has {', '.join(self.profiles)}"
        problems.say(f"{what} {text!r} names a column that {self.opened.shown} does not have{near}")
        return "", ""

    def area(self, text: str, problems: Problems) -> tuple[str, str]:
        """Read a level and its column."""
        return self._named(text, "area", problems)

    def stated(self, text: str, problems: Problems) -> _Stated:
        """Read what is said of an attribute, or find its values among the words that are public."""
        left, listed = (text, "") if self.column(text) else _sides(text)
        name, column = self._named(left.strip(), "attribute", problems)
        if not column:
            return _Stated(name, column)
        items = next(csv.reader([listed], skipinitialspace=True), [])
        pairs = [_value(item) for item in items]
        if pairs:
            codes = tuple((code, value) for value, code in pairs if code)
            return _Stated(name, column, tuple(dict.fromkeys(value for value, _ in pairs)), codes)
        return _Stated(name, column, public_values(self.profiles[column]))

    def gaps(self, areas: Mapping[str, Sequence[str]], stated: Iterable[_Stated]) -> list[str]:
        """Return the columns in which some records have no value; of areas, what is known is one."""
        known = dict(areas)
        known |= {one.column: [*one.values, *(code for code, _ in one.codes)] for one in stated}
        return [column for column, values in known.items() if self.profiles[column].has_gaps(values)]


def _without_values(one: _Stated) -> str:
    """Ask for the values of an attribute, with an example in words and one in codes."""
    first, second = ("f", "m") if is_named(one.name, "sex") else ("yes", "no")
    name = one.name if one.name == one.column else f"{one.name}={one.column}"
    return (
        f"attribute {one.name!r} has no values; state all that it can have, as the questionnaire does, such "
        f'as "{name}: {first}, {second}", or if the file has codes "{name}: {first}=1, {second}=2": values '
        "read from the file would tell what somebody answered"
    )


def public_values(column: ColumnProfile) -> tuple[str, ...]:
    """Return values for a column that tell nothing of it, if it holds what they are for; else nothing."""
    if is_named(column.name, "age") and column.numeric_share >= 0.5:
        return AGE_BANDS
    return usual_values(column)


def _sides(text: str) -> tuple[str, str]:
    left, _, right = text.partition(":")
    return left, right


def _value(text: str) -> tuple[str, str]:
    """Read VALUE, or VALUE=CODE; a sign of comparison is part of a value.

    >>> _value("f"), _value("male = 1"), _value(">=65")
    (('f', ''), ('male', '1'), ('>=65', ''))
    """
    if found := re.fullmatch(r"(.*[^<>=\s])\s*=\s*([^=].*)", text.strip()):
        return found[1], found[2]
    return text.strip(), ""


def _values_of(one: _Stated, gaps: Sequence[str], missing: str) -> tuple[str, ...]:
    """Return the values of an attribute, with one for records that have none if these are to be counted."""
    if missing != UNKNOWN or one.column not in gaps or UNKNOWN in one.values:
        return one.values
    return (*one.values, UNKNOWN)


def _input(
    file: _File,
    asked: Drafting,
    stated: Sequence[_Stated],
    columns: Sequence[tuple[str, str]],
    left_out: Sequence[str],
) -> TableInput:
    """Return how the records are written, as far as it was said: which columns, codes, ranges and births."""
    made: dict[str, ColumnInput] = {}
    if columns:
        lowest = columns[-1][1]
        made["unit"] = ColumnInput(column=lowest, leave_out=lowest in left_out)
    else:
        made["unit"] = ColumnInput(filled=EVERYWHERE)
    has_births = False
    for one in stated:
        texts = list(file.profiles[one.column].values)
        ranges = {value: code for code, value in one.codes}
        how: dict[str, object] = {"codes": dict(one.codes)}
        if len(ranges) == len(one.codes) == len(one.values) and _are_ranges(list(ranges.values())):
            how = {"bands": ranges}
            if is_named(one.column, "age") and (file.profiles[one.column].most or 0) > OLDEST:
                raise InputError(f"column {one.column} has numbers above {OLDEST}, which are no ages")
        elif ranges and not set(texts) & set(ranges.values()) and (wrong := wrong_bands([*ranges.values()])):
            raise InputError(f"{one.name}: {wrong}")
        if asked.age_on and is_bands(one.values) and are_births(texts):
            has_births = True
            how = {"bands": one.values, "age_on": asked.age_on, "dates": order_of(texts)}
        made[one.name] = ColumnInput(column=one.column, leave_out=one.column in left_out, **how)  # type: ignore[arg-type]
    if asked.age_on and not has_births:
        raise InputError("age_on is stated, but no column with bands of ages has dates or years of birth")
    return TableInput(encoding=file.how.encoding, columns=made)


def _are_ranges(texts: Sequence[str]) -> bool:
    """Whether texts are bands of numbers, and not all of them codes.

    >>> _are_ranges(["0-17", "18+"]), _are_ranges(["0", "1-4"]), _are_ranges(["1", "2"])
    (True, True, False)
    """
    return is_bands(texts) and any(exact_number(text) is None for text in texts)


# -- areas ---------------------------------------------------------------------------------------------------


def _areas(
    asked: Drafting,
    records: TableSource,
    how: TableInput,
    columns: Sequence[tuple[str, str]],
    counted: Sequence[str],
) -> tuple[tuple[str, str, str], ...]:
    """Return all areas, from the top: as they were stated, or those of the file."""
    if asked.areas is not None:
        return areas_of_levels(asked.areas)
    if not columns:
        return ((EVERYWHERE, EVERYWHERE, ""),)
    names = [name for name, _ in columns]
    if EVERYWHERE in names:
        raise InputError(
            f"a level is called {EVERYWHERE}, which is the one above all; name it NAME={EVERYWHERE}"
        )
    others = {f"column {number}": column for number, column in enumerate(counted)}
    every = dict(columns) | others
    read = read_records(
        records,
        TableInput(
            encoding=how.encoding,
            missing=MARKS,
            columns={name: ColumnInput(column=column, leave_out=True) for name, column in every.items()},
        ),
        values=dict.fromkeys(every, ()),
    )
    empty = np.logical_and.reduce([read.missing[name] for name in others])
    kept = ~np.logical_or.reduce([read.missing[name] for name in names])
    texts = [read.table.words[name].values.to_pylist() for name in names]
    codes = np.stack([read.table.words[name].codes for name in names], axis=1)
    rows, alone = (
        {tuple(texts[at][code] for at, code in enumerate(row)) for row in np.unique(codes[some], axis=0)}
        for some in (kept & ~empty, kept & empty)
    )
    if alone - rows:
        raise InputError(
            "a text in the columns of areas stands only where nothing else does, such as a footnote; take "
            "these lines out of the file, or give a table of all areas"
        )
    if not rows:
        raise InputError(f"no record has an area in column {', '.join(column for _, column in columns)}")
    for at, name in enumerate(names):
        _check_areas(name, {path[at] for path in rows}, int(np.count_nonzero(kept)))
    return _tree_rows(names, sorted(rows))


def _check_areas(level: str, names: Iterable[str], records: int) -> None:
    """Ask about texts that are hardly names of areas: totals, spellings of one name, and identifiers.

    >>> _check_areas("District", ["Bern", "Total"], 100)
    Traceback (most recent call last):
    discreet.errors.InputError: column of District: a text means the total, such as a last line of sums; \
take these lines out of the file
    """
    tidy = [" ".join(name.split()).casefold() for name in names]
    bare = {without_zeros(name).lstrip("0") for name in tidy}
    if not TOTALS.isdisjoint(tidy):
        why = "a text means the total, such as a last line of sums; take these lines out of the file"
    elif len(set(tidy)) < len(tidy):
        why = "areas differ in capitals or spaces alone; write each in one way, or give a table of all areas"
    elif len(bare) < len(tidy):
        why = "codes of areas differ in zeros alone; write each in one way, or give a table of all areas"
    elif not UNKNOWN_WORDS.isdisjoint(tidy):
        why = "a text means that the area is not known; leave it empty, or give a table of all areas"
    elif any(map(_CODED_TWICE.search, tidy)):
        why = "letters seem to be coded in two ways; write the file anew, or name its encoding (--encoding)"
    elif any(map(_A_DATE.fullmatch, tidy)):
        why = "a spreadsheet seems to have made dates of codes; write the codes as text there"
    elif any(name.startswith("=") for name in tidy):
        why = "areas are written as formulas of a spreadsheet; write what they give"
    elif any(map(_ROUNDED.fullmatch, tidy)):
        why = "codes are written with an exponent, so digits may be lost; write all of them in the file"
    elif 2 * len(tidy) > records > _FEW_RECORDS:
        why = (
            "more than half of the records have an area of their own; is it an identifier? Else give a table "
        )
        why += "of all areas"
    else:
        return
    raise InputError(f"column of {level}: {why}")


def _tree_rows(levels: Sequence[str], paths: Sequence[tuple[str, ...]]) -> tuple[tuple[str, str, str], ...]:
    """Return rows of unit, level and parent for areas, each with those above it.

    The lowest areas are called as in the file; one above them whose name is taken is called with its level.

    >>> _tree_rows(["Land", "Stadt"], [("Bern", "Bern"), ("Bern", "Biel")])[1:]
    (('Land Bern', 'Land', 'All'), ('Bern', 'Stadt', 'Land Bern'), ('Biel', 'Stadt', 'Land Bern'))
    >>> _tree_rows(["Region", "District"], [("N", "Mid"), ("S", "Mid")])
    Traceback (most recent call last):
    discreet.errors.InputError: areas do not nest: 1 area of District lies in several of Region; name a \
column in which each area has a code of its own, or give a table of all areas
    """
    taken = {path[-1] for path in paths}
    rows: dict[tuple[str, str], str] = {}
    told = {EVERYWHERE: (EVERYWHERE, "")}
    wrong: dict[str, set[str]] = {}
    for path in paths:
        parent = EVERYWHERE
        for at, (level, name) in enumerate(zip(levels, path, strict=True)):
            is_lowest = at == len(levels) - 1
            called = name if is_lowest or (name not in taken and name != EVERYWHERE) else f"{level} {name}"
            if rows.setdefault((level, called), parent) != parent:
                wrong.setdefault(level, set()).add(called)
            if told.setdefault(called, (level, parent))[0] != level:
                raise InputError(f"levels {told[called][0]} and {level} have areas of the same name")
            parent = called
    if wrong:
        level, names = next(iter(wrong.items()))
        above = levels[levels.index(level) - 1]
        many = f"{len(names)} areas of {level} lie" if len(names) > 1 else f"1 area of {level} lies"
        raise InputError(
            f"areas do not nest: {many} in several of {above}; name a column in which each area has a code "
            "of its own, or give a table of all areas"
        )
    made = [(EVERYWHERE, EVERYWHERE, "")]
    made += [
        (unit, level, rows[level, unit]) for here in levels for level, unit in sorted(rows) if level == here
    ]
    return tuple(made)


# -- the release ---------------------------------------------------------------------------------------------


def _release(
    asked: Drafting,
    records: TableSource,
    rows: Sequence[tuple[str, str, str]],
    values: Mapping[str, Sequence[str]],
    *,
    counts_everyone: bool,
) -> Release:
    """Return the release with the same noise everywhere, before the best is found.

    The number of records is public. In a level of one area it is the total, if everyone is counted, so this
    is measured only if it was asked for.
    """
    attributes = Attributes(values)
    tables = list(asked.tables) or list(
        dict.fromkeys([TOTAL, *values, *([DETAILED] if len(values) > 1 else [])])
    )
    queries = [Query(name=table, variance="1") for table in tables]
    unknown = [query for query in queries if asked.tables or not counts_everyone or query.name != TOTAL]
    levels = [
        Level(name=level, areas=1, queries=unknown) if many == 1 else Level(name=level, queries=queries)
        for level, many in Counter(level for _, level, _ in rows).items()
    ]
    name = asked.name or re.sub(r"\.[A-Za-z]+$", "", file_of(records).name)
    return Release(name=name, neighbours="bounded", levels=levels, attributes=attributes)


def _planned(asked: Drafting, release: Release, rows: Sequence[tuple[str, str, str]]) -> Plan:
    """Return the plan that is best for all tables of all levels alike.

    Its epsilon is not proved, which may take half a minute; who spends it can ask for the proof.
    """
    levels = [level for _, level, _ in rows]
    sizes = [levels.count(level) for level in dict.fromkeys(levels)]
    tree = [below / above for above, below in pairwise(sizes)]
    if asked.epsilon is not None:
        weights = {level.name: 1 for level in release.levels}
        return plan(
            release, weights=weights, epsilon=asked.epsilon, delta=asked.delta, tree=tree, certify=False
        )
    assert asked.margin is not None
    goals = [
        margin_goal(level.name, query.name, asked.margin)
        for level in release.levels
        for query in level.queries
    ]
    return plan(release, goals=goals, delta=asked.delta, tree=tree, certify=False)
