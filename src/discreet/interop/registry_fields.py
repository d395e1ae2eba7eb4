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
        found = f"a {type(value).__name__}" if isinstance(value, list | Mapping) else shown(value)
        return f"{self.place} is {found}; it must be {wanted}"

    def _fits(self, value: object) -> bool:
        match self.kind:
            case "text":
                return isinstance(value, str) and bool(value.strip())
            case "texts":
                many = isinstance(value, list) and len(value) > 0
                return many and all(isinstance(one, str) and one.strip() for one in _listed(value))
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
    fields = [RegistryField(**one) for one in tomllib.loads(text)["fields"]]
    return {one.place: one for one in fields}


def leaves(entry: Mapping[str, object], place: str = "") -> Iterator[tuple[str, object]]:
    """Yield the places and values of an entry.

    >>> dict(leaves({"tier": 1, "deployment": {"basic": {"name": "a"}}}))
    {'tier': 1, 'deployment.basic.name': 'a'}
    """
    for key, value in entry.items():
        inner = f"{place}.{key}" if place else str(key)
        if isinstance(value, Mapping) and inner.count(".") < DEEPEST:
            yield from leaves(value, inner)
        else:
            yield inner, value


def form_problems(entry: Mapping[str, object]) -> list[str]:
    """Return all that is wrong with the form of an entry, whatever its numbers say."""
    known, found = registry_fields(), dict(leaves(entry))
    problems = []
    for place, value in found.items():
        if place not in known:
            problems.append(f"{place} is not a field of an entry{hint(place, known)}")
        elif text := known[place].problem(value):
            problems.append(text)
    if found.get("tier") not in TIERS and "tier" in found:
        problems.append(f"tier is {shown(found['tier'])}; it must be 1, 2 or 3")
    problems += [
        f"{one.place} is missing: {one.asks}" for one in needed_fields(found) if one.place not in found
    ]
    return problems


def needed_fields(found: Mapping[str, object]) -> Iterator[RegistryField]:
    """Yield the fields without which an entry with these is not valid."""
    for one in registry_fields().values():
        section = one.place.rpartition(".")[0]
        always = not section.endswith("administrative")
        if one.needed and (always or any(place.startswith(section) for place in found)):
            yield one


def reached_tier(found: Mapping[str, object]) -> tuple[int, list[RegistryField]]:
    """Return the tier whose fields are all there, and those that the next tier asks for besides.

    An empty text says nothing, so its field is not there.
    """
    found = {place: value for place, value in found.items() if value not in ("", None)}
    for tier in TIERS:
        missing = [
            one
            for one in registry_fields().values()
            if one.tier == tier and not one.optional and one.place not in found
        ]
        # one of the parameters is enough: which, the variant says
        parameters = [one for one in registry_fields().values() if one.place.startswith(PARAMETERS)]
        if tier == 2 and not any(one.place in found for one in parameters):
            missing += parameters
        if missing:
            return max(tier - 1, 1), missing
    return TIERS[-1], []
