"""A validator of the part of JSON Schema (draft 2020-12) that the package's schemas use.

A keyword that it does not know is an error, so that nothing is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

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
    "enum",
    "pattern",
    "anyOf",
}
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
    unknown = set(schema) - KNOWN
    assert not unknown, f"the validator does not know {unknown}"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from problems(value, root["$defs"][name], place=place, root=root)
    allowed = schema.get("type", list(TYPES))
    allowed = [allowed] if isinstance(allowed, str) else allowed
    if not any(TYPES[name](value) for name in allowed):
        yield f"{place}: {value!r} is not {' or '.join(allowed)}"
        return
    if "anyOf" in schema:
        tried = [list(problems(value, one, place=place, root=root)) for one in schema["anyOf"]]
        yield from min(tried, key=len)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is not one of {schema['enum']}"
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        yield f"{place}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from problems(item, schema["items"], place=f"{place}[{number}]", root=root)
    if isinstance(value, dict):
        yield from (f"{place}: no {key}" for key in schema.get("required", ()) if key not in value)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", True))
            if inner is False:
                yield f"{place}: unknown key {key}"
            else:
                yield from problems(item, inner, place=f"{place}.{key}", root=root)
