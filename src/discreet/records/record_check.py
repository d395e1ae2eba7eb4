"""`check-records`: can these records be counted? All that is wrong, in one round, and an `[input]` for them.

The records are confidential. What is said of them is how many rows have which problem, and where the first
ones are; never a text of the file, unless its owner asks to be shown it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.areas.layout import lookup
from discreet.areas.tree import Tree
from discreet.budget import Release
from discreet.budget.events import release_of
from discreet.budget.joins import PEOPLE
from discreet.budget.scope import MOST_NAMED, Extent, Scope
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.ledger.admission import Request, admit
from discreet.numbers import shown
from discreet.questions import asked_with
from discreet.records.input import TableInput
from discreet.records.joined_records import JoinedSources, examine_join, other_files
from discreet.records.questions import Checking
from discreet.records.record_columns import RecordColumns, dialect_of
from discreet.records.records import Examined, examine_records, input_of
from discreet.records.suggestion import Suggestion, in_likely_encoding, suggest_input
from discreet.tables import Problem, TableSource, is_there, kept_source, open_table

_MOST_SHOWN = 20
"""Texts of one column that are shown."""


@dataclass(frozen=True, slots=True)
class CheckedColumn:
    """How a column of the records fits what the release asks for.

    `missing` rows have no value; `unknown` ones have a text that is no value of the attribute, of which
    `distinct` are different. `texts` are these, each with its number of rows, if they were asked for.
    """

    name: str
    column: str
    missing: int
    unknown: int
    distinct: int
    texts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RecordCheck(Summarised):
    """What records are like: whether they can be counted, and all that is wrong with them.

    `usable` is about the records as `[input]` reads them now; if another one was suggested, it says whether
    they can be counted with that. `incomplete` records are left out because a value is missing, `excess` ones
    because a person has more records than may count.
    """

    release: str
    records: str
    rows: int
    areas: int | None
    usable: bool
    incomplete: int
    excess: int
    columns: tuple[CheckedColumn, ...]
    problems: tuple[Problem, ...]
    scope: Scope
    suggestion: Suggestion | None = None

    @property
    def sufficient(self) -> bool:
        """Whether the records can be counted, with the suggestion if there is one."""
        return self.usable if self.suggestion is None else self.suggestion.usable


@asked_with(Checking)
def check_records(asked: Checking) -> RecordCheck:
    """Check whether records can be counted for a release, and report all that is wrong, nothing stopping it.

    `records`, `units`, `geocodes`, `id`, `at_most`, `excess` and `input` are those of `tabulate`; without
    `units` the areas of the records are not checked. With `suggest`, an `[input]` is made that would read the
    file, as far as it can be known; what cannot is left for a person to fill in. With `show`, texts of the
    file are part of the result: those that are no values, and the codes in a suggestion.

    Its `scope` says how many of the records count, whether their areas were looked at, and which columns were
    not: a weight or a number of people that no attribute is named after changes no count.
    """
    admit(asked.records, Request(exact_counts=asked.show, entered=False), more=other_files(asked))
    release, records = release_of(asked.release), kept_source(asked.records)
    if isinstance(records, str | os.PathLike) and not is_there(records):
        open_table(records)  # says what is there instead
    if release.join is not None:
        return _check_join(asked, release, records)
    how = input_of(release, asked.input)
    likely = in_likely_encoding(how, records)
    examined = _examined(asked, release, records, likely)
    columns, suggestion = examined.columns, None
    if likely != how:  # the rest of it was read all the same, to find all problems at once
        text = dialect_of(how).not_utf8.replace("windows-1252", likely.encoding)
        if likely.encoding.startswith("utf"):
            text = text.replace("Latin-1 or Windows-1252", likely.encoding.upper())
        examined.problems.of(columns.table.problems.where, first_line=1).at(text)
    if asked.suggest:
        suggestion = suggest_input(release, records, examined.tree, how, person=asked.id, show=asked.show)
        tried = _examined(asked, release, records, suggestion.table)
        suggestion = suggestion.tried(tried.problems.found, _scope(release, tried, records, suggestion.table))
    incomplete = int(np.count_nonzero(columns.left_out))
    path = records if isinstance(records, str | os.PathLike) else columns.table.path
    return RecordCheck(
        release=release.name,
        records=Path(path).name,
        rows=columns.table.rows,
        areas=None if examined.tree is None else examined.tree.size,
        usable=not examined.problems,
        incomplete=incomplete,
        excess=columns.table.rows - int(np.count_nonzero(examined.counted)) - incomplete,
        columns=_checked_columns(examined, dict(_values(release)), show=asked.show),
        problems=examined.problems.found,
        scope=_scope(release, examined, records, likely),
        suggestion=suggestion,
    )


def _scope(release: Release, examined: Examined, records: TableSource, how: TableInput) -> Scope:
    """Return which records can be counted, whether their areas were looked at, and which columns were not."""
    columns = examined.columns
    counted = Extent.count("record", taken=int(np.count_nonzero(examined.counted)), every=columns.table.rows)
    scope = Scope.whole(release.name, unit="record", neighbours="").with_part(counted)
    scope = scope if examined.tree is not None else scope.without("their areas")
    return without_columns(scope, [] if examined.problems else _unread(columns, records, how))


def without_columns(scope: Scope, unread: Sequence[str]) -> Scope:
    """Return the scope of records with columns that were not looked at.

    >>> without_columns(Scope.whole("survey", unit="record", neighbours=""), ["weight"]).words
    'without column weight'
    """
    if not unread:
        return scope
    more = f" and {len(unread) - MOST_NAMED} more" if len(unread) > MOST_NAMED else ""
    return scope.without(f"column{'s' * (len(unread) > 1)} {', '.join(unread[:MOST_NAMED])}{more}")


def _unread(columns: RecordColumns, records: TableSource, how: TableInput) -> list[str]:
    """Return the columns of usable records of which nothing was read, such as weights or identifiers.

    A row counts as one record of one person, whatever stands there.
    """
    written = columns.table.problems.written
    read = {written.get(name, name) for name in (*columns.texts, *columns.numbers, *columns.table.words)}
    opened = open_table(records, wanted=sorted(read), name="records", dialect=dialect_of(how))
    return [name if name.isprintable() else shown(name) for name in opened.names if name not in read]


def _check_join(asked: Checking, release: Release, records: TableSource) -> RecordCheck:
    """Check people and households together."""
    if asked.suggest:
        raise InputError(
            f"{release.name} reads people and households; an [input] is suggested for records of one file"
        )
    joined = examine_join(release, JoinedSources.of(release, replace(asked, records=records)))
    people = joined.files[PEOPLE].table
    values = dict(joined.join.values)
    scope = Scope.whole(release.name, unit="record", neighbours="").with_part(
        Extent.count("record", taken=people.rows - joined.incomplete, every=people.rows)
    )
    known = joined.tree if asked.units is not None else None  # else the areas are those that the file has
    columns = (_columns_of(file, known, values, show=asked.show) for file in joined.files.values())
    return RecordCheck(
        release=release.name,
        records=Path(records if isinstance(records, str | os.PathLike) else people.path).name,
        rows=people.rows,
        areas=None if joined.tree is None else joined.tree.size,
        usable=not joined.problems,
        incomplete=joined.incomplete,
        excess=0,
        columns=tuple(column for some in columns for column in some),
        problems=joined.problems.found,
        scope=scope if asked.units is not None else scope.without("their areas"),
    )


def _examined(asked: Checking, release: Release, records: TableSource, how: TableInput) -> Examined:
    return examine_records(release, replace(asked, records=records, input=how))


def _values(release: Release) -> tuple[tuple[str, tuple[str, ...]], ...]:
    attributes = release.attributes
    return () if attributes is None else attributes.values


def _checked_columns(
    examined: Examined, values: dict[str, tuple[str, ...]], *, show: bool
) -> tuple[CheckedColumn, ...]:
    """Return how each column fits, the area's first, and last those of numbers."""
    return tuple(_columns_of(examined.columns, examined.tree, values, show=show))


def _columns_of(
    columns: RecordColumns, tree: Tree | None, values: Mapping[str, tuple[str, ...]], *, show: bool
) -> list[CheckedColumn]:
    made = []
    for name in (name for name in ("unit", *values, *columns.numbers) if name in columns.texts):
        texts, unknown = columns.texts[name], columns.unread[name].copy()
        known = values.get(name) or _lowest(tree)
        if name not in columns.numbers and known is not None:
            unknown |= (lookup(columns.table.words[name], known) < 0) & ~columns.missing[name]
        many = np.bincount(texts.codes[unknown], minlength=1)
        order = np.argsort(-many, kind="stable")[:_MOST_SHOWN]
        made.append(
            CheckedColumn(
                name=name,
                column=columns.table.problems.written.get(name, name),
                missing=int(np.count_nonzero(columns.missing[name])),
                unknown=int(np.count_nonzero(unknown)),
                distinct=int(np.count_nonzero(many)),
                texts=tuple((texts.values[int(at)].as_py(), int(many[at])) for at in order if many[at])
                if show
                else (),
            )
        )
    return made


def _lowest(tree: Tree | None) -> tuple[str, ...] | None:
    """Return the names of the lowest areas."""
    if tree is None:
        return None
    return tuple(name for name, leaf in zip(tree.names.to_pylist(), tree.leaf.tolist(), strict=True) if leaf)
