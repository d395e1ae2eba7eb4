"""Sums of errors that a curator's report is made of: they add up, so that any table comes from one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

CONFIDENTIAL = "CONFIDENTIAL: made from the true counts, for the trusted curator only. Do not publish."
SIZES = (0, 1, 10, 50, 100, 500, 1_000, 5_000, 20_000)
"""Where the classes of group size begin."""
KINDS = ("total", "sex", "cell")


def size_name(place: int) -> str:
    """Say a class of group sizes.

    >>> [size_name(place) for place in (0, 1, len(SIZES) - 1)]
    ['0', '1 to 9', '20,000 or more']
    """
    if place == len(SIZES) - 1:
        return f"{SIZES[place]:,} or more"
    last = SIZES[place + 1] - 1
    return f"{last:,}" if last == SIZES[place] else f"{SIZES[place]:,} to {last:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Sums over released numbers; sums of several add up."""

    numbers: int = 0
    error: float = 0.0
    absolute: float = 0.0
    square: float = 0.0
    variance: float = 0.0
    within: float = 0.0
    expected_error: float = 0.0
    expected_square: float = 0.0
    expected_within: float = 0.0

    def __add__(self, other: Errors) -> Errors:
        return Errors(**{name: getattr(self, name) + getattr(other, name) for name in Errors.__slots__})

    def mean(self, name: str) -> float:
        """Return a sum divided by how many numbers it has; NaN if it has none."""
        return float(getattr(self, name)) / self.numbers if self.numbers else nan

    def root(self, name: str) -> float:
        """Return the root of a mean."""
        return sqrt(self.mean(name)) if self.numbers else nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLine:
    """The errors of one geography, level, table of the group, kind of number and class of size."""

    geography: str
    level: int
    table: str
    kind: str
    size: int
    errors: Errors


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """The groups of one geography, level and class of size: all, released, and released by expectation."""

    geography: str
    level: int
    size: int
    groups: int
    released: int
    expected: float
    suppressing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Curated:
    """Everything that the curator's report shows."""

    errors: tuple[ErrorLine, ...]
    groups: tuple[GroupLine, ...]
    notes: tuple[str, ...] = ()
    rehearsal: bool = False
    out: str = ""

    def by(self, *names: str, kinds: Sequence[str] = KINDS) -> dict[tuple[Any, ...], Errors]:
        """Return the errors summed by some of geography, level, table, kind and size."""
        found: dict[tuple[Any, ...], Errors] = {}
        for line in self.errors:
            if line.kind in kinds:
                key = tuple(getattr(line, name) for name in names)
                found[key] = found.get(key, Errors()) + line.errors
        return found
