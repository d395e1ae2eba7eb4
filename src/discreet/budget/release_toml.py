"""A release as TOML: reading its tables, and writing its lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.budget.attributes import attribute_lines, read_attributes
from discreet.budget.joins import JOIN_KEYS, Join, join_lines, read_join
from discreet.budget.law_toml import noise_pairs, read_noise
from discreet.budget.levels import WAYS, Level, Query
from discreet.budget.release import Release
from discreet.budget.spine import Spine
from discreet.budget.toml import FieldError, a_list, a_table, inside, quoted
from discreet.budget.variables import VARIABLE_KEYS, RecordWeight, read_variable, read_weight
from discreet.numbers import Exact, shown

if TYPE_CHECKING:
    from discreet.records.input import TableInput

_PARTS = ("weight", "attributes", *JOIN_KEYS, "levels", "spine", "input")
RELEASE_KEYS = ("name", "title", "unit", "neighbours", "rho", "kind", "reason", "sources", "notes", *_PARTS)
LEVEL_KEYS = ("name", "rho", "areas", "queries")
QUERY_KEYS = (*WAYS, "exponent", "sensitivity", "groups", *VARIABLE_KEYS)
SPINE_KEYS = ("paths", "may_merge_up")


def release_from_tables(data: object, folder: str | os.PathLike[str] = "") -> Release:
    """Return the release that parsed TOML states; a `FieldError` says which key is wrong.

    Files of noise that it names lie in `folder`.

    >>> total = {"name": "State", "queries": {"total": {"variance": 5}}}
    >>> release_from_tables({"name": "small", "neighbours": "bounded", "levels": [total]}).levels[0].name
    'State'
    """
    table = a_table(data, "the release", RELEASE_KEYS, needed=("name", "neighbours", "levels"))
    parts: dict[str, object] = {}
    weight = join = None
    if not table.keys().isdisjoint(JOIN_KEYS):
        parts["join"] = join = read_join(table)
        table = {key: value for key, value in table.items() if key not in JOIN_KEYS}
    if "weight" in table:
        with inside("weight"):
            parts["weight"] = weight = read_weight(table["weight"])
    levels = []
    for index, level in enumerate(a_list(table["levels"], "levels", "tables, each [[levels]]")):
        with inside("levels", index):
            levels.append(_read_level(level, weight, join, folder))
    for key, read in (("spine", _read_spine), ("attributes", read_attributes), ("input", _read_input)):
        if key in table:
            with inside(key):
                parts[key] = read(table[key])
    for key in ("sources", "notes"):
        a_list(table.get(key, []), key, "texts in quotes")
    return Release(**{**table, **parts, "levels": levels})


def _read_level(
    data: object, weight: RecordWeight | None, join: Join | None, folder: str | os.PathLike[str]
) -> Level:
    level = a_table(data, "a level", LEVEL_KEYS, needed=("name", "queries"))
    with inside("queries"):
        values = a_table(level["queries"], "queries of a level")
    queries, tables = [], {} if join is None else dict(join.tables)
    for name, value in values.items():
        with inside("queries", name):
            query = _read_query(name, value, weight, folder, has_rho="rho" in level)
            if name in tables and not (isinstance(value, dict) and "sensitivity" in value):
                query = replace(query, sensitivity=tables[name].bound)
            queries.append(query)
    return Level(name=level["name"], rho=level.get("rho"), queries=queries, areas=level.get("areas"))


def _read_query(
    name: str,
    value: Exact | dict[str, object] | list[object],
    weight: RecordWeight | None,
    folder: str | os.PathLike[str],
    *,
    has_rho: bool,
) -> Query:
    if isinstance(value, dict):
        if "at_least" in value:
            raise FieldError(
                f"query {shown(name)} states at_least; values are summed from 0 up, because replacing one "
                "below zero by one above may change a sum by more than the bound: sum gains and losses apart",
                field=("at_least",),
            )
        table = a_table(value, f"query {shown(name)}", QUERY_KEYS)
        noise = {key: given for key, given in table.items() if key not in VARIABLE_KEYS}
        if "noise" in noise:
            noise = read_noise(noise, folder)
        return Query(name=name, variable=read_variable(table, weight), **noise)
    if isinstance(value, list) or not has_rho:
        raise FieldError(
            f"query {shown(name)} is {shown(value)}; it must be a table such as "
            '{ variance = "5" }, or in a level with a rho a share such as "1/10"'
        )
    try:
        return Query(name=name, share=value, variable=read_variable({}, weight))
    except FieldError as error:
        raise FieldError(str(error)) from None  # the share stands at the query's own key


def _read_input(data: object) -> TableInput:
    from discreet.records.input import read_input

    return read_input(data)


def _read_spine(data: object) -> Spine:
    spine = a_table(data, "the spine", SPINE_KEYS)
    paths: list[tuple[int, Sequence[str]]] = []
    with inside("paths"):
        for key, runs in a_table(spine.get("paths", {}), "paths").items():
            if not re.fullmatch(r"[1-9][0-9]{0,8}", key):
                text = f"path {shown(key)} has no usable number; it must be a whole number above zero"
                raise FieldError(text, field=(key,))
            paths.append((int(key), runs))
    merging = spine.get("may_merge_up", [])
    if not isinstance(merging, list) or not all(isinstance(name, str) for name in merging):
        text = f'may_merge_up is {shown(merging)}; it must be a list of levels such as ["Block"]'
        raise FieldError(text, field=("may_merge_up",))
    return Spine(paths=paths, may_merge_up=merging)


def _stated_size(query: Query) -> str:
    size: Fraction = getattr(query, query.way)
    return f"{query.way} = {quoted(size)}"


def release_lines(release: Release) -> Iterator[str]:
    """The lines of a release's TOML.

    >>> from discreet.budget import load
    >>> next(release_lines(load("dhc-2020")))
    'name = "dhc-2020-persons"'
    """
    yield f"name = {quoted(release.name)}"
    if release.title:
        yield f"title = {quoted(release.title)}"
    yield f"unit = {quoted(release.unit)}"
    yield f"neighbours = {quoted(release.neighbours)}"
    if release.rho is not None:
        yield f"rho = {quoted(release.rho)}"
    if release.reason:
        yield f"kind = {quoted(release.kind.value)}"
        yield f"reason = {quoted(release.reason)}"
    for key, texts in (("sources", release.sources), ("notes", release.notes)):
        if texts:
            yield from (f"{key} = [", *(f"  {quoted(text)}," for text in texts), "]")
    if release.weight is not None:
        yield release.weight.line
    if release.attributes is not None:
        yield from ("", "[attributes]", *attribute_lines(release.attributes))
    tables = {} if release.join is None else dict(release.join.tables)
    if release.join is not None:
        yield from join_lines(release.join)
    for level in release.levels:
        yield from ("", "[[levels]]", f"name = {quoted(level.name)}")
        if level.rho is not None:
            yield f"rho = {quoted(level.rho)}"
        if level.areas is not None:
            yield f"areas = {level.areas}"
        yield "[levels.queries]"
        for query in level.queries:
            own = tables[query.name].bound if query.name in tables else query.variable.bound
            usual = (("sensitivity", query.sensitivity, own), ("groups", query.groups, 1))
            counts = [f"{key} = {number}" for key, number, expected in usual if number != expected]
            stated = query.variable.pairs
            is_plain = query.share is not None and not counts and not stated
            own_noise = noise_pairs(query.noise) if query.noise is not None else [_stated_size(query)]
            noise = ", ".join([*stated, *own_noise, *counts])
            yield f"{quoted(query.name)} = {quoted(query.share or '') if is_plain else f'{{ {noise} }}'}"
    if release.spine is not None:
        yield from ("", "[spine]")
        if release.spine.may_merge_up:
            yield f"may_merge_up = {quoted(release.spine.may_merge_up)}"
        else:
            yield "[spine.paths]"
            yield from (f"{path} = {quoted(runs)}" for path, runs in release.spine.paths)
    if release.input is not None:
        from discreet.records.input import input_lines

        yield from ("", *input_lines(release.input))
