"""A validator of the part of JSON Schema (draft 2020-12) that the package's and the registry's schemas use.

A keyword that it does not know is an error, so that nothing is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from discreet.errors import InputError
from discreet.numbers import shown

KNOWN = {
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "enum",
    "pattern",
    "format",
    "anyOf",
}
NOTES = {"description_long", "tier"}
"""What the registry's schema says of its fields besides; it asks for nothing."""

TYPES = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def problems(value: Any, schema: Any, *, place: str = "$", root: Any = None) -> Iterator[str]:
    """Yield what is wrong with a value, each with its place.

    >>> closed = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    >>> list(problems({"a": 1.5, "b": 2}, closed | {"required": ["c"]}))
    ['$: no c', '$.a: 1.5 is not integer', '$: unknown key b']
    """
    root = schema if root is None else root
    if isinstance(schema, bool):
        if not schema:
            yield f"{place}: nothing is allowed here"
        return
    _check_schema(schema, place)
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from problems(value, root["$defs"][name], place=place, root=root)
    allowed = schema.get("type", list(TYPES))
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if not any(TYPES[name](value) for name in allowed):
        yield f"{place}: {shown(value)} is not {' or '.join(allowed)}"
        return
    if "anyOf" in schema:
        tried = [list(problems(value, one, place=place, root=root)) for one in schema["anyOf"]]
        yield from min(tried, key=len)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {shown(value)} is not one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{place}: {shown(value)} does not match {schema['pattern']}"
        if schema.get("format") == "date" and not is_day(value):
            yield f"{place}: {shown(value)} is not a day as YYYY-MM-DD"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place}: {len(value)} items; at least {schema['minItems']} are needed"
        for number, item in enumerate(value):
            yield from problems(item, schema.get("items", True), place=f"{place}[{number}]", root=root)
    if isinstance(value, dict):
        yield from (f"{place}: no {key}" for key in schema.get("required", ()) if key not in value)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", True))
            if inner is False:
                yield f"{place}: unknown key {key}"
            else:
                yield from problems(item, inner, place=f"{place}.{key}", root=root)


def _check_schema(schema: object, place: str) -> None:
    """Refuse a schema that cannot be followed to the letter."""
    if not isinstance(schema, Mapping):
        raise InputError(f"the schema at {place} is {shown(schema)}; it must be a mapping, or true or false")
    if unknown := sorted(set(map(str, schema)) - KNOWN - NOTES):
        raise InputError(
            f"the schema at {place} has {', '.join(unknown)}, which this validator does not know"
        )
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if not isinstance(types, list) or set(map(str, types)) - set(TYPES):
        raise InputError(f"the schema at {place} has type {shown(types)}; types are {', '.join(TYPES)}")
    if schema.get("format", "date") != "date":
        raise InputError(f"the schema at {place} has format {shown(schema['format'])}; only date is known")


def is_day(text: str) -> bool:
    """Whether a text is a day as YYYY-MM-DD.

    >>> is_day("2026-01-31"), is_day("2026-02-30"), is_day("20260131")
    (True, False, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
