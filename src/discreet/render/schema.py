"""The JSON Schema of what an answer prints, from the type that declares its keys.

A type here is what JSON has: a `TypedDict` for an object with known keys, `dict[str, X]` for one whose keys
are names in the data, lists, texts, numbers, None, and unions of these. `object` allows anything.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from discreet.answers.objects import DESCRIPTIONS, SHARED

Schema = dict[str, object]

_NAMES: dict[object, str] = {
    NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}


def schema_of_type(kind: object, *, title: str, description: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a type.

    >>> from typing import NotRequired, TypedDict
    >>> Noise = TypedDict("Noise", {"level": str, "sd": NotRequired[float | None]})
    >>> made = schema_of_type(Noise, title="noise", description="How much noise there is.")
    >>> made["properties"], made["required"]
    ({'level': {'type': 'string'}, 'sd': {'type': ['null', 'number']}}, ['level'])
    """
    used: set[str] = set()
    body = _schema(kind, used)
    shared: dict[str, object] = {}
    while left := sorted(used - shared.keys()):
        shared |= {name: _schema(SHARED[name], used, is_shared=True) for name in left}
    head: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
    }
    return head | body | ({"$defs": dict(sorted(shared.items()))} if shared else {})


def _schema(kind: object, used: set[str], *, is_shared: bool = False) -> Schema:
    """Return the schema of a type; `used` takes the names of shared types that it refers to."""
    for name, type_ in SHARED.items():
        if kind == type_ and not is_shared:
            used.add(name)
            return {"$ref": f"#/$defs/{name}"}
    if kind is object:
        return {}
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if is_typeddict(kind):
        return _of_keys(kind, used)
    origin, inside = get_origin(kind), get_args(kind)
    if origin is list:
        items = _schema(inside[0], used)
        return {"type": "array", **({"items": items} if items else {})}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(inside[1], used) or True}
    if origin in (Union, UnionType):
        return _of_union([_schema(option, used) for option in inside])
    raise TypeError(f"{kind} is no type of JSON")


def _of_keys(kind: object, used: set[str]) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    return {
        "type": "object",
        "properties": {key: _of_key(key, type_, used) for key, type_ in hints.items()},
        "required": [key for key, type_ in hints.items() if get_origin(type_) is not NotRequired],
        "additionalProperties": False,
    }


def _of_key(key: str, kind: object, used: set[str]) -> Schema:
    """Return the schema of what stands under a key, described by its type or as this key is everywhere."""
    if get_origin(kind) is NotRequired:
        (kind,) = get_args(kind)
    said = DESCRIPTIONS.get(key)
    if get_origin(kind) is Annotated:
        kind, said = get_args(kind)
    return _schema(kind, used) | ({"description": said} if said else {})


def _of_union(schemas: list[Schema]) -> Schema:
    """Return one schema of several; only if more than one has keys they stand side by side."""
    if sum("properties" in schema for schema in schemas) > 1:
        return {"type": "object", "anyOf": schemas}
    made: Schema = {}
    for option in schemas:
        made |= option
    return {**made, "type": sorted(str(schema["type"]) for schema in schemas)}
