"""The fields of an entry of the registry of deployments: what may stand in each, what a tier asks for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Literal

from discreet.budget.toml import hint
from discreet.numbers import shown
from discreet.render.json_schema import is_day

TIERS = (1, 2, 3)

LARGEST = 10**15
"""Numbers in an entry are smaller."""

DEEPEST = 8
"""Mappings inside mappings that are looked into; an entry has four."""

PARAMETERS = "deployment.privacy_loss.privacy_parameters."

Ours = Literal["", "default", "text", "always"]

_WANTED = {
    "text": "a text",
    "texts": "a list of texts, at least one",
    "date": "a day as YYYY-MM-DD",
    "number": "a number",
    "number or text": "a number or a text",
}


@dataclass(frozen=True, slots=True)
class RegistryField:
    """One field: its place, such as deployment.basic.name, the tier that asks for it, what it may hold."""

    place: str
    kind: str
    asks: str
    tier: int = 0
    choices: Sequence[str] = ()
    needed: bool = False
    optional: bool = False
    ours: Ours = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to it."""
        return tuple(self.place.split("."))

    def problem(self, value: object) -> str:
        """Say what is wrong with a value, or nothing; the registry allows an optional text to be empty."""
        if value == "" and not self.needed and "text" in self.kind:
            return ""
        if self.kind == "choice":
            if value in self.choices:
                return ""
            wanted = f"one of {', '.join(self.choices)}{hint(value, self.choices)}"
        else:
            if self._fits(value):
                return ""
            wanted = _WANTED[self.kind]
        said = f"a {type(value).__name__}" if isinstance(value, list | Mapping) else shown(value)
        return f"{self.place} is {said}; it must be {wanted}"

    def _fits(self, value: object) -> bool:
        match self.kind:
            case "text":
                return isinstance(value, str) and bool(value.strip())
            case "texts":
                many = isinstance(value, list) and len(value) > 0
                return many and all(isinstance(item, str) and item.strip() for item in _listed(value))
            case "date":
                return type(value) is date or (isinstance(value, str) and is_day(value))
            case "number or text" if isinstance(value, str):
                return bool(value.strip())
            case _:
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                return is_number and -LARGEST < value < LARGEST  # type: ignore[operator]


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


@cache
def registry_fields() -> Mapping[str, RegistryField]:
    """Return all fields by their places, in the order of an entry.

    >>> registry_fields()["deployment.basic.name"].asks
    'the name of the data product'
    """
    text = files("discreet.interop").joinpath("registry.toml").read_text(encoding="utf-8")
    fields = [RegistryField(**stated) for stated in tomllib.loads(text)["fields"]]
    return {field.place: field for field in fields}


def leaves(entry: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the places and values of an entry.

    >>> dict(leaves({"tier": 1, "deployment": {"basic": {"name": "a"}}}))
    {'tier': 1, 'deployment.basic.name': 'a'}
    """
    for key, value in entry.items():
        inner = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and inner.count(".") < DEEPEST:
            yield from leaves(value, inner)
        else:
            yield inner, value


def form_problems(entry: Mapping[str, object]) -> list[str]:
    """Return all that is wrong with the form of an entry, whatever its numbers say."""
    known, values = registry_fields(), dict(leaves(entry))
    problems = []
    for path, value in values.items():
        if path not in known:
            problems.append(f"{path} is not a field of an entry{hint(path, known)}")
        elif text := known[path].problem(value):
            problems.append(text)
    if values.get("tier") not in TIERS and "tier" in values:
        problems.append(f"tier is {shown(values['tier'])}; it must be 1, 2 or 3")
    problems += [
        f"{field.place} is missing: {field.asks}"
        for field in needed_fields(values)
        if field.place not in values
    ]
    return problems


def needed_fields(values: Mapping[str, object]) -> Iterator[RegistryField]:
    """Yield the fields without which an entry with these is not valid."""
    for field in registry_fields().values():
        section = field.place.rpartition(".")[0]
        always = not section.endswith("administrative")
        if field.needed and (always or any(path.startswith(section) for path in values)):
            yield field


def reached_tier(values: Mapping[str, object]) -> tuple[int, list[RegistryField]]:
    """Return the tier whose fields are all there, and those that the next tier asks for besides.

    An empty text says nothing, so its field is not there.
    """
    values = {path: value for path, value in values.items() if value not in ("", None)}
    for tier in TIERS:
        missing = [
            field
            for field in registry_fields().values()
            if field.tier == tier and not field.optional and field.place not in values
        ]
        # one of the parameters is enough: which, the variant says
        parameters = [field for field in registry_fields().values() if field.place.startswith(PARAMETERS)]
        if tier == 2 and not any(field.place in values for field in parameters):
            missing += parameters
        if missing:
            return max(tier - 1, 1), missing
    return TIERS[-1], []
