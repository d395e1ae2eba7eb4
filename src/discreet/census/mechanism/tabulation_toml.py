"""A tabulation read from the TOML of a specification; `docs/reference/safetab.md` lists the keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import TypeVar, get_args

import numpy as np

from discreet.budget.toml import FieldError, a_list, a_table, inside, line, no_repeats, one_of
from discreet.census.mechanism.ladder import (
    ALL,
    CELL,
    TOTAL,
    Attribute,
    Ladder,
    LadderTable,
    Others,
    PublishedRow,
    is_whole,
    range_labels,
)
from discreet.census.mechanism.tabulation import (
    AdaptiveTabulation,
    Areas,
    CodeColumns,
    DataFile,
    Pass,
    RegionType,
    Workload,
)
from discreet.numbers import shown

T = TypeVar("T")


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
        attributes = _attributes(data)
    with inside("answers"):
        answers = _answers(data.get("answers"))
    with inside("records"):
        record_file = _records(data["records"], attributes, areas, answers)
    with inside("geographies"):
        geographies = _geographies(data, area_file)
    with inside("passes"):
        passes = _passes(data, geographies, areas.part)
    with inside("ladders"):
        ladders = _ladders(data, attributes)
    with inside("levels"):
        workloads = _workloads(data, ladders)
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
    return tuple(line(text, name=key, field=(key,)) for text in values)


def _each(data: Mapping[str, object], key: str, read: Callable[[object], T]) -> tuple[T, ...]:
    entries = []
    for index, table in enumerate(a_list(data.get(key, []), key, "tables")):
        with inside(index):
            entries.append(read(table))
    return tuple(entries)


def _areas(value: object) -> tuple[Areas, DataFile]:
    allowed = ("file", "one", "separator", "columns", "key", "part", "part_word")
    table = a_table(value, "areas", allowed, needed=("file", "columns", "key"))
    columns = table["columns"]
    widths = columns if isinstance(columns, dict) else dict.fromkeys(_texts(table, "columns"), 0)
    for width in widths.values():
        if not is_whole(width) or not 0 <= width <= 32:
            raise FieldError(f"a width is {shown(width)}; it must be 0 (any) to 32", field=("columns",))
    key = _texts(table, "key")
    for column in key:
        one_of(column, widths, name="a column of the key", field=("key",))
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
    several, single = _texts(table, "several"), _text(table, "one", "")
    if not several and not single:
        raise FieldError("answers names no column of codes; it must have several or one")
    if len(several) + bool(single) > MOST_COLUMNS:
        raise FieldError(
            f"answers has {len(several) + bool(single)} columns; at most {MOST_COLUMNS} are read"
        )
    return CodeColumns(
        several,
        single,
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
    allowed = ("file", "separator", "identifier", "unread", "null", "elsewhere")
    table = a_table(value, "records", allowed, needed=("file",))
    columns = (*(attribute.column for attribute in reversed(attributes)), *areas.key, *answers.columns)
    elsewhere = one_of(
        table.get("elsewhere", "refused"), get_args(Others), name="elsewhere", field=("elsewhere",)
    )
    return DataFile(
        _text(table, "file"),
        columns,
        _separator(table),
        _texts(table, "unread"),
        _text(table, "identifier", ""),
        _text(table, "null", ""),
        elsewhere == "left out",
    )


def _geographies(data: Mapping[str, object], area_file: DataFile) -> dict[str, RegionType]:
    geographies = {region_type.name: region_type for region_type in _each(data, "geographies", _geography)}
    if not geographies:
        raise FieldError("geographies is empty; it must name at least one")
    for region_type in geographies.values():
        for column in region_type.columns:
            one_of(column, area_file.columns, name=f"a column of {region_type.name}", field=())
        if region_type.sums_of:
            one_of(region_type.sums_of, geographies, name=f"sums_of of {region_type.name}", field=())
    return geographies


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
        own = tuple(region_type.name for region_type in geographies.values() if region_type.which == name)
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
        names = {each_pass.name for each_pass in passes}
    for region_type in geographies.values():
        if region_type.which not in names:
            raise FieldError(
                f"the pass of {region_type.name} is {shown(region_type.which)}; it must be one of the passes"
            )
    return {each_pass.name: each_pass for each_pass in passes}


def _attributes(data: Mapping[str, object]) -> tuple[Attribute, ...]:
    attributes = _each(data, "attributes", read_attribute)
    no_repeats([attribute.name for attribute in attributes], name="attributes", field=())
    ways = prod(len(attribute.texts) for attribute in attributes)
    if not attributes or ways > MOST_WAYS:
        raise FieldError(
            f"the values of all attributes together can be written in {ways} ways; it must be 1 to "
            f"{MOST_WAYS}"
        )
    return attributes


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
        parts = tuple((category,) for category in values)
        texts = {category: index for index, category in enumerate(values)}
        wrong = f"{name} is not one of {', '.join(values)}"
    else:
        rising = all(is_whole(start) for start in (*starts, last))
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
        parts = tuple(range_labels(*both, len(labels)) for both in zip(starts, ends, strict=True))
        for number in range(starts[0], last + 1):
            index = max(index for index, start in enumerate(starts) if start <= number)
            # leading zeros are allowed, up to the width of the last value
            texts |= {f"{number:0{width}}": index for width in range(1, len(str(last)) + 1)}
        wrong = f"{name} is not a whole number from {starts[0]} to {last}"
    return Attribute(name, column, labels, parts, texts, starts, last, _text(table, "wrong", wrong))


def _ladders(data: Mapping[str, object], attributes: Sequence[Attribute]) -> dict[str, Ladder]:
    ladders = {
        ladder.name: ladder for ladder in _each(data, "ladders", lambda table: _ladder(table, attributes))
    }
    names = [rung.name for ladder in ladders.values() for rung in ladder.rungs]
    no_repeats(names, name="the names of all tables", field=())
    files = [name for ladder in ladders.values() for name in ladder.files]
    no_repeats(files, name="the files of all ladders", field=())
    return ladders


LADDER_KEYS = (
    *("name", "columns", "tables"),
    *("rung", "input", "others"),
    *("totals", "cells", "folder", "total"),
)


def _ladder(value: object, attributes: Sequence[Attribute]) -> Ladder:
    table = a_table(value, "a ladder", LADDER_KEYS, needed=("name", "tables"))
    known = {attribute.name: attribute for attribute in attributes}
    if ("folder" in table) == ("totals" in table) or ("totals" in table) != ("cells" in table):
        raise FieldError(
            "a ladder names the file of its totals and that of its cells (totals, cells), or a folder in "
            "which each table has its own (folder)"
        )
    if "total" in table and "folder" not in table:
        raise FieldError("total names the row of the total in the tables of a folder", field=("total",))
    rungs = _each(table, "tables", lambda rung_table: _rung(rung_table, attributes, table.get("columns")))
    if "folder" in table:
        rungs = tuple(replace(rung, rows=_as_a_tree(rung.rows)) for rung in rungs)
    if len(rungs) < 2 or rungs[0].cells != 1:
        raise FieldError("a ladder needs a total, which is its first table, and a table with more detail")
    no_repeats([rung.name for rung in rungs], name="tables", field=("tables",))
    shown_columns = _columns(table.get("columns"), attributes, table["tables"])
    of = one_of(table.get("rung", "noisy total"), ("noisy total", "input"), name="rung", field=("rung",))
    if (of == "input") != ("input" in table):
        raise FieldError('a ladder names an input file if, and only if, its rung is "input"')
    if "others" in table and of != "input":
        raise FieldError("others says what becomes of rows of an input, and there is none", field=("others",))
    others = one_of(table.get("others", "refused"), get_args(Others), name="others", field=("others",))
    total = _text(table, "total", ALL)
    if "folder" in table and any(set(row.labels) == {total} for rung in rungs[1:] for row in rung.rows):
        raise FieldError(f"the total is called {total}, as another row is", field=("total",))
    return Ladder(
        name=_text(table, "name"),
        rungs=rungs,
        labels=tuple(label for name in shown_columns for label in known[name].labels),
        totals=_plain(table, "totals"),
        table=_plain(table, "cells"),
        of=of,  # type: ignore[arg-type]
        input=_text(table, "input", ""),
        others=others,  # type: ignore[arg-type]
        folder=_plain(table, "folder"),
        total=total,
    )


def _plain(table: Mapping[str, object], key: str) -> str:
    """Return the name of a file or folder of the output, which lies in it."""
    name = _text(table, key, "")
    if key in table and not re.fullmatch(r"[0-9A-Za-z_-][0-9A-Za-z._-]*", name):
        raise FieldError(f"{key} is {shown(name)}; it must be of letters, digits and . _ -", field=(key,))
    return name


def _as_a_tree(rows: Sequence[PublishedRow]) -> tuple[PublishedRow, ...]:
    """Return rows so that a sum comes before what it adds up.

    >>> rows = [PublishedRow((name,), "", cells) for name, cells in (("c", (2,)), ("a", (0, 1)), ("b", (0,)))]
    >>> [row.labels[0] for row in _as_a_tree(rows)]
    ['a', 'b', 'c']
    """
    return tuple(sorted(rows, key=lambda row: (min(row.cells), -len(row.cells))))


def _columns(
    given: object, attributes: Sequence[Attribute], tables: Sequence[Mapping[str, object]]
) -> list[str]:
    """Return the attributes that a ladder tells apart, in the order of the columns of its file."""
    used = {name for table in tables for name in a_table(table.get("by", {}), "by")}
    names = [attribute.name for attribute in attributes if attribute.name in used]
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
    by = a_table(table.get("by", {}), "by", tuple(attribute.name for attribute in attributes))
    parts = [attribute.divided(by.get(attribute.name)) for attribute in attributes]
    order = [str(name) for name in columns] if isinstance(columns, list) else list(by)
    shown_at = [
        index for name in order for index, attribute in enumerate(attributes) if attribute.name == name
    ]
    cell_of = [0] * prod(len(attribute.parts) for attribute in attributes)
    rows, sizes = [], [len(attribute.parts) for attribute in attributes]
    at = {}
    for number, chosen in enumerate(product(*(range(len(some)) for some in parts))):
        at[chosen] = number
        for leaves in product(*(parts[index][choice][1] for index, choice in enumerate(chosen))):
            cell_of[int(np.ravel_multi_index(leaves, sizes))] = number
        labels = tuple(text for index in shown_at for text in parts[index][chosen[index]][0])
        rows.append(PublishedRow(labels, CELL if by else TOTAL, (number,)))

    def summed(kind: str, index: int, label: Sequence[str], own: Sequence[int]) -> PublishedRow:
        cells = tuple(number for chosen, number in at.items() if chosen[index] in own)
        labels: list[str] = []
        for shown_index in shown_at:
            labels += label if shown_index == index else [ALL] * len(attributes[shown_index].labels)
        return PublishedRow(tuple(labels), kind or f"sum of {len(cells)}", cells)

    sums = []
    places = {attribute.name: index for index, attribute in enumerate(attributes)}
    for entry in a_list(table.get("sums", []), "sums", "attributes"):
        if isinstance(entry, str) and entry in by:
            index = places[entry]
            sums += [
                summed(entry, index, label, [part_number])
                for part_number, (label, _) in enumerate(parts[index])
            ]
            continue
        for name, named in a_table(entry, "a sum", tuple(by)).items():
            index = places[name]
            known = {label[0]: part_number for part_number, (label, _) in enumerate(parts[index])}
            for label, own in a_table(named, f"a sum of {name}").items():
                unknown = [cell for cell in a_list(own, "sums", "cells") if str(cell) not in known]
                if unknown or not own:
                    raise FieldError(f"the sum {label} must be of {', '.join(known)}", field=("sums",))
                sums.append(summed("", index, [label], [known[str(cell)] for cell in own]))
    name = _text(table, "name")
    title = _text(table, "title", name)
    return LadderTable(name, title, _text(table, "word", title), tuple(cell_of), (*sums, *rows))


def _workloads(data: Mapping[str, object], ladders: Mapping[str, Ladder]) -> dict[int, Workload]:
    workloads = {
        workload.number: workload for workload in _each(data, "levels", lambda table: _level(table, ladders))
    }
    pairs = [f"{workload.groups} on {workload.ladder}" for workload in workloads.values()]
    no_repeats(pairs, name="the groups of levels and their ladders", field=())
    if not workloads:
        raise FieldError("levels is empty; it must have at least one level")
    return workloads


def _level(value: object, ladders: Mapping[str, Ladder]) -> Workload:
    table = a_table(value, "a level", ("number", "word", "groups", "ladder"), needed=("number", "ladder"))
    number = table["number"]
    groups = table.get("groups", number)
    for key, stated in (("number", number), ("groups", groups)):
        if not is_whole(stated) or not 1 <= stated <= 99:
            raise FieldError(
                f"{key} is {shown(stated)}; it must be a whole number from 1 to 99", field=(key,)
            )
    ladder = one_of(table["ladder"], ladders, name="ladder", field=("ladder",))
    return Workload(number, _text(table, "word", f"level {number}"), groups, ladder)
