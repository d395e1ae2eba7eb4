"""A release as TOML, in and out. Each error is one line that names the line of the file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.budget.attributes import Attributes, read_attributes
from discreet.budget.fields import FieldError, hint, inside
from discreet.budget.levels import WAYS, Level, Query
from discreet.budget.lines import Place, key_lines, line_of
from discreet.budget.spine import Spine
from discreet.errors import InputError
from discreet.numbers import shown

if TYPE_CHECKING:
    from discreet.budget.release import Release

RELEASE_KEYS = (
    "name",
    "title",
    "unit",
    "neighbours",
    "rho",
    "kind",
    "reason",
    "sources",
    "notes",
    "attributes",
    "levels",
    "spine",
)
LEVEL_KEYS = ("name", "rho", "queries")
QUERY_KEYS = (*WAYS, "sensitivity", "groups")
SPINE_KEYS = ("paths", "may_merge_up")

_AT = re.compile(r"(.*?)\s*\(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def read(text: str, where: str) -> Release:
    """Read a release from TOML; `where` is what an error calls the text."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    data = parse_toml(text, where)
    try:
        return _release(data)
    except FieldError as error:
        raise InputError(f"{error} ({_location(data, text, error, where)})") from None


def write(release: Release) -> str:
    """Write a release as TOML that `read` turns into an equal one."""
    lines = [f"name = {_text(release.name)}"]
    if release.title:
        lines.append(f"title = {_text(release.title)}")
    lines += [f"unit = {_text(release.unit)}", f"neighbours = {_text(release.neighbours)}"]
    if release.rho is not None:
        lines.append(f"rho = {_number(release.rho)}")
    if release.reason:
        lines += [f"kind = {_text(release.kind.value)}", f"reason = {_text(release.reason)}"]
    for key, texts in (("sources", release.sources), ("notes", release.notes)):
        if texts:
            lines += [f"{key} = [", *(f"  {_text(text)}," for text in texts), "]"]
    if release.attributes is not None:
        lines += ["", "[attributes]", *_attribute_lines(release.attributes)]
    for level in release.levels:
        lines += ["", "[[levels]]", f"name = {_text(level.name)}"]
        if level.rho is not None:
            lines.append(f"rho = {_number(level.rho)}")
        lines.append("[levels.queries]")
        lines += [f"{_text(query.name)} = {_query_text(query)}" for query in level.queries]
    if release.spine is not None:
        lines += ["", "[spine]"]
        if release.spine.may_merge_up:
            lines.append(f"may_merge_up = {_list(release.spine.may_merge_up)}")
        else:
            lines.append("[spine.paths]")
            lines += [f"{number} = {_list(runs)}" for number, runs in release.spine.paths]
    return "\n".join(lines) + "\n"


MOST_KEYS = 200_000
"""Keys of a file, in all its tables."""

LONGEST_KEY = 60
"""Parts of a key with dots."""

_PIECE = re.compile(r"([^\n=,{}]*+)([\n=,{}]|\Z)")
"""What may be a key, if an equals sign follows it, or the name of a table."""


def check_keys(text: str, where: str, *, most: int = MOST_KEYS) -> None:
    """Refuse a text whose keys take the parser long, before it is parsed.

    The time to read a key grows with the square of its parts.

    >>> check_keys(".".join("a" * 5000) + " = 1", "a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: a key has 5000 parts; at most 60 are read (line 1 of a.toml)
    >>> check_keys("a = 1 " * 20_000, "a.toml", most=10_000)
    Traceback (most recent call last):
    discreet.errors.InputError: a.toml has 20000 keys; at most 10000 are read
    """
    keys = text.count("=")
    if keys > most:
        raise InputError(f"{where} has {keys} keys; at most {most} are read")
    if text.count(".") < LONGEST_KEY:
        return
    for found in _PIECE.finditer(text):
        parts = found[1].count(".") + 1
        if parts > LONGEST_KEY and (found[2] == "=" or found[1].lstrip().startswith("[")):
            line = text.count("\n", 0, found.start()) + 1
            raise InputError(
                f"a key has {parts} parts; at most {LONGEST_KEY} are read (line {line} of {where})"
            )


def parse_toml(
    text: str, where: str, *, most_keys: int = MOST_KEYS, parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:
    """Parse a TOML text; an error is one line that names the place.

    >>> parse_toml("a = 1", "a.toml")
    {'a': 1}
    >>> parse_toml("a = ", "a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: not valid TOML: Invalid value (line 1, the end of a.toml)
    """
    check_keys(text, where, most=most_keys)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        found = _AT.fullmatch(str(error))
        reason = " ".join((found[1] if found else str(error)).split())
        if found and found[2]:
            place = f"line {found[2]}, column {found[3]} of {where}"
        else:
            place = f"line {text.rstrip().count(chr(10)) + 1}, the end of {where}"
        raise InputError(f"not valid TOML: {reason} ({place})") from None
    except RecursionError:
        raise InputError(f"not valid TOML: brackets are nested too deeply ({where})") from None
    except ValueError:  # int() refuses numbers of thousands of digits
        raise InputError(f"not usable TOML: a number or date in it cannot be read ({where})") from None


def _location(data: dict[str, Any], text: str, error: FieldError, where: str) -> str:
    place: Place = error.field
    number = line_of(key_lines(text), place)
    spot = where if number is None else f"line {number} of {where}"
    if place[:1] == ("levels",) and len(place) > 1 and isinstance(place[1], int):
        level = data["levels"][place[1]]
        label = f"level {shown(level.get('name'))}" if isinstance(level, dict) and level.get("name") else ""
        if label and label not in str(error):
            return f"{label}, {spot}"
    return spot


def _release(data: dict[str, Any]) -> Release:
    from discreet.budget.release import Release

    _keys(data, RELEASE_KEYS, needed=("name", "neighbours", "levels"), what="the release")
    levels = []
    for place, table in enumerate(_a_list(data["levels"], "levels", "tables, each [[levels]]")):
        with inside("levels", place):
            levels.append(_level(_a_table(table, "a level")))
    spine = None
    if "spine" in data:
        with inside("spine"):
            spine = _spine(_a_table(data["spine"], "the spine"))
    attributes = None
    if "attributes" in data:
        with inside("attributes"):
            attributes = read_attributes(data["attributes"])
    given = {key: value for key, value in data.items() if key not in ("levels", "spine", "attributes")}
    for key in ("sources", "notes"):
        if key in given:
            _a_list(given[key], key, "texts in quotes")
    return Release(**given, levels=levels, spine=spine, attributes=attributes)


def _level(table: dict[str, Any]) -> Level:
    _keys(table, LEVEL_KEYS, needed=("name", "queries"), what="a level")
    with inside("queries"):
        queries = _a_table(table["queries"], "queries of a level")
    made = []
    for name, value in queries.items():
        with inside("queries", name):
            made.append(_query(name, value, has_rho="rho" in table))
    return Level(name=table["name"], rho=table.get("rho"), queries=made)


def _query(name: str, value: object, *, has_rho: bool) -> Query:
    if isinstance(value, dict):
        _keys(value, QUERY_KEYS, needed=(), what=f"query {shown(name)}")
        return Query(name=name, **value)
    if isinstance(value, list) or not has_rho:
        raise FieldError(
            f"query {shown(name)} is {shown(value)}; it must be a table such as "
            '{ variance = "5" }, or in a level with a rho a share such as "1/10"'
        )
    try:
        return Query(name=name, share=value)  # type: ignore[arg-type]
    except FieldError as error:
        raise FieldError(str(error)) from None  # the share stands at the query's own key


def _spine(table: dict[str, Any]) -> Spine:
    _keys(table, SPINE_KEYS, needed=(), what="the spine")
    paths: list[tuple[int, Any]] = []
    if "paths" in table:
        with inside("paths"):
            for key, runs in _a_table(table["paths"], "paths").items():
                if not re.fullmatch(r"[1-9][0-9]{0,8}", key):
                    raise FieldError(
                        f"path {shown(key)} has no usable number; it must be a whole number above zero",
                        field=(key,),
                    )
                paths.append((int(key), runs))
    merging = table.get("may_merge_up", [])
    with inside("may_merge_up"):
        if not isinstance(merging, list) or not all(isinstance(name, str) for name in merging):
            raise FieldError(
                f'may_merge_up is {shown(merging)}; it must be a list of levels such as ["Block"]'
            )
    return Spine(paths=paths, may_merge_up=merging)


def _keys(table: Mapping[str, Any], allowed: tuple[str, ...], *, needed: Iterable[str], what: str) -> None:
    for key in table:
        if key not in allowed:
            near = hint(key, allowed) or f"; allowed are {', '.join(allowed)}"
            raise FieldError(f"{what} has the unknown key {shown(key)}{near}", field=(key,))
    for key in needed:
        if key not in table:
            raise FieldError(f"{what} has no {key}; it must state one")


def _a_table(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(f"{what} is {shown(value)}; it must be a table")
    return value


def _a_list(value: object, key: str, of: str) -> list[Any]:
    if not isinstance(value, list):
        raise FieldError(f"{key} is {shown(value)}; it must be a list of {of}", field=(key,))
    return value


def _attribute_lines(attributes: Attributes) -> list[str]:
    lines = []
    for name, values in attributes.values:
        numbered = values == tuple(map(str, range(len(values))))
        lines.append(f"{_text(name)} = {len(values) if numbered else _list(values)}")
    if attributes.impossible:
        tables = [
            "{ " + ", ".join(f"{_text(name)} = {_list(words)}" for name, words in one) + " }"
            for one in attributes.impossible
        ]
        lines += ["impossible = [", *(f"  {table}," for table in tables), "]"]
    for name, recode in attributes.recodes:
        lines += [f"[attributes.{_text(name)}]", f"of = {_text(recode.of)}"]
        lines += [f"[attributes.{_text(name)}.groups]"]
        lines += [f"{_text(label)} = {_list(words)}" for label, words in recode.groups]
    return lines


def _query_text(query: Query) -> str:
    counts = [
        f"{key} = {getattr(query, key)}" for key in ("sensitivity", "groups") if getattr(query, key) != 1
    ]
    if query.share is not None and not counts:
        return _number(query.share)
    size: Fraction = getattr(query, query.way)
    return f"{{ {', '.join([f'{query.way} = {_number(size)}', *counts])} }}"


def _number(value: Fraction) -> str:
    return f'"{value}"'


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(_text(text) for text in texts)}]"


def _text(value: str) -> str:
    """Quote a text. It is printable, so only quotes and backslashes need care."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
