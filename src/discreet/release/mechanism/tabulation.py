"""What an adaptive tabulation is, as data: geographies, groups, and ladders of tables.

A tabulation counts people (or another unit) by region and group. A group gets one table of a *ladder*: a
noisy total picks it, or a count that was published before. Everything that tells one tabulation from another
is in a specification, a TOML file: the passes over different people, the geographies of each, the attributes
of a record and how the tables of each ladder put their values together, the levels (groups on a ladder), and
which columns of which files say it. `docs/reference/safetab.md` lists the keys.

A record's *finest cell* is its value of every attribute. A table measures *cells*, each a union of finest
ones, and publishes *rows*, each a sum of cells: the cells themselves, and sums such as one sex over all ages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.budget.toml import FieldError, a_list, a_table, inside, line, no_repeats, one_of
from discreet.errors import InputError
from discreet.numbers import shown

ALL = "*"
"""The label of an attribute that a row does not tell apart."""

TOTAL, CELL = "total", "cell"
"""Kinds of numbers of every table; others are sums of cells."""

T = TypeVar("T")
Of = Literal["noisy total", "input"]
"""What picks the table of a group."""

Small = NDArray[np.int8]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the records: what its values are called in a table, and how they may be written.

    `parts` are the finest values, each as its labels; `texts` says which part each text means.
    """

    name: str
    column: str
    labels: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    texts: Mapping[str, int]
    starts: tuple[int, ...]
    last: int
    wrong: str

    def divided(self, by: object) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return the parts of a table, each with its labels and the finest parts it holds.

        >>> age = read_attribute({"name": "age", "column": "AGE", "starts": [0, 18, 65], "last": 115})
        >>> age.divided([0, 65])
        [(('0-64',), (0, 1)), (('65-115',), (2,))]
        >>> age.divided(None)
        [(('*',), (0, 1, 2))]
        """
        if by is None:
            return [((ALL,) * len(self.labels), tuple(range(len(self.parts))))]
        if by == "each":
            return [(labels, (place,)) for place, labels in enumerate(self.parts)]
        if isinstance(by, list) and self.starts:
            if (
                not all(_is_whole(start) for start in by)
                or by != sorted(set(by))
                or not by
                or by[0] != self.starts[0]
                or not set(by) <= set(self.starts)
            ):
                known = ", ".join(map(str, self.starts))
                raise InputError(
                    f"{self.name} starts at {by}; it must rise from {self.starts[0]}, among {known}"
                )
            ends = [*(start - 1 for start in by[1:]), self.last]
            return [
                (
                    _range(start, end, len(self.labels)),
                    tuple(place for place, own in enumerate(self.starts) if start <= own <= end),
                )
                for start, end in zip(by, ends, strict=True)
            ]
        if isinstance(by, dict) and not self.starts:
            values = [labels[0] for labels in self.parts]
            named = [value for some in by.values() for value in a_list(some, self.name, "values")]
            if not all(isinstance(value, str) for value in named) or sorted(named) != sorted(values):
                raise InputError(f"{self.name} must have each of {', '.join(values)} once")
            return [((name,), tuple(values.index(value) for value in some)) for name, some in by.items()]
        how = "a list of starts" if self.starts else "a table of names and values"
        raise InputError(f'{self.name} is {shown(by)}; it must be "each" or {how}')


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _range(start: int, end: int, many: int) -> tuple[str, ...]:
    return (str(start), str(end)) if many == 2 else (f"{start}-{end}",)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A published number of a table: its labels, what kind of sum it is, and the cells it adds up."""

    labels: tuple[str, ...]
    kind: str
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LadderTable:
    """A table of a ladder: which measured cell each finest cell is in, and the rows that are published."""

    name: str
    title: str
    word: str
    cell_of: tuple[int, ...]
    rows: tuple[PublishedRow, ...]

    @cached_property
    def cells(self) -> int:
        """How many cells are measured, each with its own noise."""
        return max(self.cell_of) + 1

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many cells a number of each kind adds up."""
        return {row.kind: len(row.cells) for row in self.rows}

    def published(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of groups from their cells, a row of an array each."""
        return np.stack([values[:, row.cells].sum(axis=1) for row in self.rows], axis=1)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Tables from the total on, each with more detail; what picks one; and the files they are written to."""

    name: str
    rungs: tuple[LadderTable, ...]
    labels: tuple[str, ...]
    totals: str
    table: str
    of: Of = "noisy total"
    input: str = ""

    @property
    def picks(self) -> bool:
        """Whether a noisy total picks the table, for a part of the budget."""
        return self.of == "noisy total"

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """How many cells each table has."""
        return np.array([rung.cells for rung in self.rungs], dtype=np.int64)

    @cached_property
    def cell_of(self) -> NDArray[np.int64]:
        """Which cell of each table a finest cell is in."""
        return np.array([rung.cell_of for rung in self.rungs], dtype=np.int64)

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """How many rows each table has, beside the total."""
        return np.array([0, *(len(rung.rows) for rung in self.rungs[1:])], dtype=np.int64)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the tables are called."""
        return tuple(rung.name for rung in self.rungs)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of numbers: the total, sums of cells, cells."""
        sums = dict.fromkeys(kind for rung in self.rungs[1:] for kind in rung.kinds if kind != CELL)
        return (TOTAL, *sums, CELL)


@dataclass(frozen=True, slots=True)
class RegionType:
    """A geography: how its regions are named from the codes of an area, and what is shown there."""

    name: str
    which: str
    columns: tuple[str, ...]
    id: str = ""
    outside: str = ""
    below: bool = False
    like: str = ""
    sums_of: str = ""


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over some of the people: the codes of their part of the country, and its geographies."""

    name: str
    title: str
    where: str
    codes: tuple[str, ...]
    filter: str
    switch: str
    rolled_up: tuple[str, ...]
    geographies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A level: the groups of one level on one ladder."""

    number: int
    word: str
    groups: int
    ladder: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a folder of data: its name without an ending, its columns, and what stands between them.

    Without a separator it is found from the first line.
    """

    name: str
    columns: tuple[str, ...]
    separator: str = ""
    unread: tuple[str, ...] = ()
    identifier: str = ""
    null: str = ""


@dataclass(frozen=True, slots=True)
class Areas:
    """What the file of areas says: widths of codes, the columns that records have too, and parts."""

    one: str
    widths: Mapping[str, int]
    key: tuple[str, ...]
    part: str
    part_word: str

    @property
    def many(self) -> str:
        """What several areas are called."""
        return f"{self.one[:-1]}ies" if self.one.endswith("y") else f"{self.one}s"


@dataclass(frozen=True, slots=True)
class CodeColumns:
    """The columns of codes that place a record in groups, and what the kinds of groups are called.

    `several` codes have a group all together (`all`) or any of them has it (`any`); `one` has its own.
    """

    several: tuple[str, ...]
    one: str
    kinds: tuple[str, str, str]
    codes: str
    word: str
    one_word: str
    limit: str

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of codes."""
        return (*self.several, *((self.one,) if self.one else ()))


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveTabulation:
    """The specification of an adaptive tabulation, but for its groups and its budgets."""

    name: str
    title: str
    unit: str
    areas: Areas
    area_file: DataFile
    record_file: DataFile
    answers: CodeColumns
    passes: Mapping[str, Pass]
    geographies: Mapping[str, RegionType]
    attributes: tuple[Attribute, ...]
    ladders: Mapping[str, Ladder]
    workloads: Mapping[int, Workload]
    order: tuple[str, ...] = ()
    without: tuple[str, str] = ("", "")
    above: str = ""
    below: str = ""
    outside: str = ""
    sides: tuple[str, str] = ("above", "below")
    stability: str = "paired or counted"
    proof: str = ""
    text: str = field(default="", repr=False)
    """The text that it was read from: two of the same text are the same."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AdaptiveTabulation) and (self.name, self.text) == (other.name, other.text)

    def __hash__(self) -> int:
        return hash((self.name, self.text))

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The numbers of the levels."""
        return tuple(self.workloads)

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Every geography and level."""
        return tuple(product(self.geographies, self.workloads))

    @cached_property
    def finest(self) -> int:
        """How many finest cells there are."""
        return prod(len(one.parts) for one in self.attributes)

    def ladder(self, level: int) -> Ladder:
        """Return the ladder of a level."""
        return self.ladders[self.workloads[level].ladder]

    def is_below(self, geography: str) -> bool:
        """Whether small groups are dropped at a geography."""
        return self.geographies[geography].below

    def side(self, *, below: bool) -> str | None:
        """Return a geography of one side, if there is one."""
        return next((name for name, one in self.geographies.items() if one.below == below), None)

    def place_words(self, place: tuple[str, int]) -> str:
        """Name a geography and level for a reader."""
        return f"{place[0]}, {self.workloads[place[1]].word}"

    def known(self, geography: str) -> str:
        """Return a geography that there is; raise if there is none of this name."""
        if geography not in self.geographies:
            names = ", ".join(self.geographies)
            raise InputError(f"geography is {geography!r}; it must be one of {names}")
        return geography


# -- reading -----------------------------------------------------------------------------------------------

KEYS = (
    "name",
    "title",
    "unit",
    "areas",
    "records",
    "answers",
    "passes",
    "geographies",
    "same_areas",
    "words",
    "attributes",
    "ladders",
    "levels",
    "stability",
)
"""The keys of a specification that say what the tabulation is."""

BOUNDS = ("paired or counted",)
"""How the groups of a person may be bounded; each has a proof."""


def read_tabulation(data: Mapping[str, object], text: str = "") -> AdaptiveTabulation:
    """Read the keys of a specification that say what the tabulation is; `text` is what it was read from.

    >>> read_tabulation({"name": "births"})
    Traceback (most recent call last):
    discreet.budget.toml.FieldError: the specification has no areas; it must state one
    """
    data = a_table(dict(data), "the specification", KEYS, needed=("name", "areas", "records", "attributes"))
    with inside("areas"):
        areas, area_file = _areas(data["areas"])
    with inside("attributes"):
        attributes = _each(data, "attributes", read_attribute)
        no_repeats([one.name for one in attributes], name="attributes", field=())
        ways = prod(len(one.texts) for one in attributes)
        if not attributes or ways > MOST_WAYS:
            raise FieldError(
                f"the values of all attributes together can be written in {ways} ways; it must be 1 to "
                f"{MOST_WAYS}"
            )
    with inside("answers"):
        answers = _answers(data.get("answers"))
    with inside("records"):
        record_file = _records(data["records"], attributes, areas, answers)
    with inside("geographies"):
        geographies = {one.name: one for one in _each(data, "geographies", _geography)}
        if not geographies:
            raise FieldError("geographies is empty; it must name at least one")
        for one in geographies.values():
            for column in one.columns:
                one_of(column, area_file.columns, name=f"a column of {one.name}", field=())
            if one.sums_of:
                one_of(one.sums_of, geographies, name=f"sums_of of {one.name}", field=())
    with inside("passes"):
        passes = _passes(data, geographies, areas.part)
    with inside("ladders"):
        ladders = {
            ladder.name: ladder for ladder in _each(data, "ladders", lambda table: _ladder(table, attributes))
        }
        names = [rung.name for ladder in ladders.values() for rung in ladder.rungs]
        no_repeats(names, name="the names of all tables", field=())
        no_repeats(
            [name for ladder in ladders.values() for name in (ladder.totals, ladder.table)],
            name="the files of all ladders",
            field=(),
        )
    with inside("levels"):
        workloads = {one.number: one for one in _each(data, "levels", lambda table: _level(table, ladders))}
        pairs = [f"{one.groups} on {one.ladder}" for one in workloads.values()]
        no_repeats(pairs, name="the groups of levels and their ladders", field=())
        if not workloads:
            raise FieldError("levels is empty; it must have at least one level")
    with inside("same_areas"):
        same = a_table(data.get("same_areas", {}), "same_areas", ("order", "without"))
        without = a_table(same.get("without", {}), "without", ("file", "like"))
    with inside("words"):
        words = a_table(data.get("words", {}), "words", ("above", "below", "outside", "sides"))
    with inside("stability"):
        stable = a_table(data.get("stability", {}), "stability", ("bound", "proof"))
        bound = one_of(stable.get("bound", BOUNDS[0]), BOUNDS, name="bound", field=("bound",))
    return AdaptiveTabulation(
        name=line(data["name"], name="name", field=("name",)),
        title=_text(data, "title", str(data["name"])),
        unit=_text(data, "unit", "person"),
        areas=areas,
        area_file=area_file,
        record_file=record_file,
        answers=answers,
        passes=passes,
        geographies=geographies,
        attributes=attributes,
        ladders=ladders,
        workloads=workloads,
        order=_texts(same, "order"),
        without=(_text(without, "file", ""), _text(without, "like", "")),
        above=_text(words, "above", "the largest regions"),
        below=_text(words, "below", "the largest regions"),
        outside=_text(words, "outside", ""),
        sides=_sides(words),
        stability=bound,
        proof=_text(stable, "proof", ""),
        text=text,
    )


def _text(table: Mapping[str, object], key: str, default: str | None = None) -> str:
    if key not in table and default is None:
        raise FieldError(f"{key} is missing; it must be stated")
    return line(table.get(key, default), name=key, field=(key,), empty=default is not None)


def _sides(words: Mapping[str, object]) -> tuple[str, str]:
    """Return what the geographies above and below are called in a table."""
    sides = _texts(words, "sides") or ("larger regions", "smaller regions")
    if len(sides) != 2:
        raise FieldError(f"sides has {len(sides)} texts; it must have two", field=("words", "sides"))
    return sides[0], sides[1]


def _texts(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = a_list(table.get(key, []), key, "texts")
    return tuple(line(one, name=key, field=(key,)) for one in values)


def _each(data: Mapping[str, object], key: str, read: Callable[[object], T]) -> tuple[T, ...]:
    found = []
    for place, table in enumerate(a_list(data.get(key, []), key, "tables")):
        with inside(place):
            found.append(read(table))
    return tuple(found)


def _areas(value: object) -> tuple[Areas, DataFile]:
    allowed = ("file", "one", "separator", "columns", "key", "part", "part_word")
    table = a_table(value, "areas", allowed, needed=("file", "columns", "key"))
    columns = table["columns"]
    widths = columns if isinstance(columns, dict) else dict.fromkeys(_texts(table, "columns"), 0)
    for width in widths.values():
        if not _is_whole(width) or not 0 <= width <= 32:
            raise FieldError(f"a width is {shown(width)}; it must be 0 (any) to 32", field=("columns",))
    key = _texts(table, "key")
    for one in key:
        one_of(one, widths, name="a column of the key", field=("key",))
    part = _text(table, "part", "")
    if part:
        one_of(part, widths, name="part", field=("part",))
    file = DataFile(_text(table, "file"), tuple(widths), _separator(table))
    return Areas(_text(table, "one", "area"), widths, key, part, _text(table, "part_word", "part")), file


def _separator(table: Mapping[str, object]) -> str:
    return one_of(
        table.get("separator", ""), ("", "|", ",", ";", "\t"), name="separator", field=("separator",)
    )


def _answers(value: object) -> CodeColumns:
    allowed = ("several", "one", "kinds", "codes", "word", "one_word", "limit")
    table = a_table(value, "answers", allowed)
    kinds = a_table(table.get("kinds", {}), "kinds", ("all", "any", "one"))
    several, one = _texts(table, "several"), _text(table, "one", "")
    if not several and not one:
        raise FieldError("answers names no column of codes; it must have several or one")
    if len(several) + bool(one) > MOST_COLUMNS:
        raise FieldError(f"answers has {len(several) + bool(one)} columns; at most {MOST_COLUMNS} are read")
    return CodeColumns(
        several,
        one,
        (str(kinds.get("all", "all")), str(kinds.get("any", "any")), str(kinds.get("one", "one"))),
        _text(table, "codes", "the specification"),
        _text(table, "word", "several-answer"),
        _text(table, "one_word", "one-answer"),
        _text(table, "limit", "max_codes"),
    )


MOST_WAYS = 200_000
"""Ways to write the values of all attributes of one record."""

MOST_COLUMNS = 9
"""Columns of codes that a record may have."""


def _records(value: object, attributes: Sequence[Attribute], areas: Areas, answers: CodeColumns) -> DataFile:
    allowed = ("file", "separator", "identifier", "unread", "null")
    table = a_table(value, "records", allowed, needed=("file",))
    columns = (*(one.column for one in reversed(attributes)), *areas.key, *answers.columns)
    return DataFile(
        _text(table, "file"),
        columns,
        _separator(table),
        _texts(table, "unread"),
        _text(table, "identifier", ""),
        _text(table, "null", ""),
    )


def _geography(value: object) -> RegionType:
    allowed = ("name", "pass", "columns", "id", "outside", "below", "like", "sums_of")
    table = a_table(value, "a geography", allowed, needed=("name",))
    below = table.get("below", False)
    if not isinstance(below, bool):
        raise FieldError(f"below is {shown(below)}; it must be true or false", field=("below",))
    return RegionType(
        name=_text(table, "name"),
        which=_text(table, "pass", ""),
        columns=_texts(table, "columns"),
        id=_text(table, "id", ""),
        outside=_text(table, "outside", ""),
        below=below,
        like=_text(table, "like", ""),
        sums_of=_text(table, "sums_of", ""),
    )


def _passes(data: Mapping[str, object], geographies: Mapping[str, RegionType], part: str) -> dict[str, Pass]:
    """Read the passes; without any there is one over everybody."""

    def one_pass(value: object) -> Pass:
        allowed = ("name", "title", "where", "codes", "filter", "switch", "rolled_up")
        table = a_table(value, "a pass", allowed, needed=("name",))
        name = _text(table, "name")
        title = _text(table, "title", name)
        if table.get("codes") and not part:
            raise FieldError(
                "a pass has codes, but areas names no part that they are codes of", field=("codes",)
            )
        own = tuple(one.name for one in geographies.values() if one.which == name)
        if not own:
            raise FieldError(f"no geography is of the pass {name}")
        return Pass(
            name,
            title,
            _text(table, "where", title),
            _texts(table, "codes"),
            _text(table, "filter", ""),
            _text(table, "switch", ""),
            _texts(table, "rolled_up"),
            own,
        )

    passes = _each(data, "passes", one_pass) if "passes" in data else ()
    if not passes:
        title = _text(data, "title", str(data["name"]))
        passes = (Pass("all", title, title, (), "", "", (), tuple(geographies)),)
        names = {""}
    else:
        names = {one.name for one in passes}
    for one in geographies.values():
        if one.which not in names:
            raise FieldError(f"the pass of {one.name} is {shown(one.which)}; it must be one of the passes")
    return {one.name: one for one in passes}


def read_attribute(value: object) -> Attribute:
    """Read an attribute: values, or whole numbers in ranges.

    >>> read_attribute({"name": "sex", "column": "SEX", "values": ["f", "m"]}).texts
    {'f': 0, 'm': 1}
    """
    allowed = ("name", "column", "labels", "values", "starts", "last", "wrong")
    table = a_table(value, "an attribute", allowed, needed=("name",))
    name = _text(table, "name")
    column = _text(table, "column", name)
    labels = _texts(table, "labels") or (name.upper(),)
    texts: dict[str, int] = {}
    parts: tuple[tuple[str, ...], ...]
    starts, last = tuple(a_list(table.get("starts", []), "starts", "whole numbers")), table.get("last", 0)
    if ("values" in table) == ("starts" in table):
        raise FieldError(f"{name} must have either values or starts")
    if "values" in table:
        values = _texts(table, "values")
        no_repeats(values, name=name, field=("values",))
        parts = tuple((one,) for one in values)
        texts = {one: place for place, one in enumerate(values)}
        wrong = f"{name} is not one of {', '.join(values)}"
    else:
        rising = all(_is_whole(one) for one in (*starts, last))
        if (
            not rising
            or not starts
            or list(starts) != sorted(set(starts))
            or starts[0] < 0
            or last < starts[-1]
        ):
            raise FieldError(f"{name} must have starts that rise from 0 or more, and a last value above them")
        if last > MOST_WAYS:
            raise FieldError(f"last is {last}; it must be at most {MOST_WAYS}", field=("last",))
        ends = [*(start - 1 for start in starts[1:]), last]
        parts = tuple(_range(*both, len(labels)) for both in zip(starts, ends, strict=True))
        for number in range(starts[0], last + 1):
            place = max(place for place, start in enumerate(starts) if start <= number)
            # leading zeros are allowed, up to the width of the last value
            texts |= {f"{number:0{width}}": place for width in range(1, len(str(last)) + 1)}
        wrong = f"{name} is not a whole number from {starts[0]} to {last}"
    return Attribute(name, column, labels, parts, texts, starts, last, _text(table, "wrong", wrong))


def _ladder(value: object, attributes: Sequence[Attribute]) -> Ladder:
    allowed = ("name", "rung", "input", "totals", "cells", "columns", "tables")
    table = a_table(value, "a ladder", allowed, needed=("name", "totals", "cells", "tables"))
    known = {one.name: one for one in attributes}
    rungs = _each(table, "tables", lambda one: _rung(one, attributes, table.get("columns")))
    if len(rungs) < 2 or rungs[0].cells != 1:
        raise FieldError("a ladder needs a total, which is its first table, and a table with more detail")
    no_repeats([one.name for one in rungs], name="tables", field=("tables",))
    shown_columns = _columns(table.get("columns"), attributes, table["tables"])
    of = one_of(table.get("rung", "noisy total"), ("noisy total", "input"), name="rung", field=("rung",))
    if (of == "input") != ("input" in table):
        raise FieldError('a ladder names an input file if, and only if, its rung is "input"')
    return Ladder(
        name=_text(table, "name"),
        rungs=rungs,
        labels=tuple(label for name in shown_columns for label in known[name].labels),
        totals=_text(table, "totals"),
        table=_text(table, "cells"),
        of=of,  # type: ignore[arg-type]
        input=_text(table, "input", ""),
    )


def _columns(
    given: object, attributes: Sequence[Attribute], tables: Sequence[Mapping[str, object]]
) -> list[str]:
    """Return the attributes that a ladder tells apart, in the order of the columns of its file."""
    used = {name for table in tables for name in a_table(table.get("by", {}), "by")}
    names = [one.name for one in attributes if one.name in used]
    if given is None:
        return names
    if sorted(map(str, a_list(given, "columns", "attributes"))) != sorted(names):
        raise FieldError(
            f"columns is {given}; it must have each of {', '.join(names)} once", field=("columns",)
        )
    return [str(name) for name in given]  # type: ignore[attr-defined]


def _rung(value: object, attributes: Sequence[Attribute], columns: object) -> LadderTable:
    allowed = ("name", "title", "word", "by", "sums")
    table = a_table(value, "a table", allowed, needed=("name",))
    by = a_table(table.get("by", {}), "by", tuple(one.name for one in attributes))
    parts = [one.divided(by.get(one.name)) for one in attributes]
    order = [str(name) for name in columns] if isinstance(columns, list) else list(by)
    shown_at = [place for name in order for place, one in enumerate(attributes) if one.name == name]
    cell_of = [0] * prod(len(one.parts) for one in attributes)
    rows, sizes = [], [len(one.parts) for one in attributes]
    at = {}
    for number, chosen in enumerate(product(*(range(len(some)) for some in parts))):
        at[chosen] = number
        for leaves in product(*(parts[place][one][1] for place, one in enumerate(chosen))):
            cell_of[int(np.ravel_multi_index(leaves, sizes))] = number
        labels = tuple(text for place in shown_at for text in parts[place][chosen[place]][0])
        rows.append(PublishedRow(labels, CELL if by else TOTAL, (number,)))

    def summed(kind: str, place: int, label: Sequence[str], own: Sequence[int]) -> PublishedRow:
        cells = tuple(number for chosen, number in at.items() if chosen[place] in own)
        labels: list[str] = []
        for one in shown_at:
            labels += label if one == place else [ALL] * len(attributes[one].labels)
        return PublishedRow(tuple(labels), kind or f"sum of {len(cells)}", cells)

    sums = []
    places = {one.name: place for place, one in enumerate(attributes)}
    for entry in a_list(table.get("sums", []), "sums", "attributes"):
        if isinstance(entry, str) and entry in by:
            place = places[entry]
            sums += [summed(entry, place, label, [one]) for one, (label, _) in enumerate(parts[place])]
            continue
        for name, named in a_table(entry, "a sum", tuple(by)).items():
            place = places[name]
            known = {label[0]: one for one, (label, _) in enumerate(parts[place])}
            for label, own in a_table(named, f"a sum of {name}").items():
                unknown = [one for one in a_list(own, "sums", "cells") if str(one) not in known]
                if unknown or not own:
                    raise FieldError(f"the sum {label} must be of {', '.join(known)}", field=("sums",))
                sums.append(summed("", place, [label], [known[str(one)] for one in own]))
    name = _text(table, "name")
    title = _text(table, "title", name)
    return LadderTable(name, title, _text(table, "word", title), tuple(cell_of), (*sums, *rows))


def _level(value: object, ladders: Mapping[str, Ladder]) -> Workload:
    table = a_table(value, "a level", ("number", "word", "groups", "ladder"), needed=("number", "ladder"))
    number = table["number"]
    groups = table.get("groups", number)
    for key, one in (("number", number), ("groups", groups)):
        if not _is_whole(one) or not 1 <= one <= 99:
            raise FieldError(f"{key} is {shown(one)}; it must be a whole number from 1 to 99", field=(key,))
    ladder = one_of(table["ladder"], ladders, name="ladder", field=("ladder",))
    return Workload(number, _text(table, "word", f"level {number}"), groups, ladder)
