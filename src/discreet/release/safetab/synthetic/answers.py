"""What people answer when asked for race and origin: codes of a specification, and how common each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.safetab.specification import Specification

SLOTS = 1 << 20
"""A distribution is a table of so many equal parts: one random integer, one look."""
MAJORS = {"1": 0, "3": 1, "5": 2, "6": 2, "4": 3, "7": 4}
"""The six races that CENRACE combines, by a code's first digit; all others are the last, 5."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Codes, and tables that draw them: `races` as common as they are, `rare` with rare ones more often."""

    codes: tuple[str, ...]
    races: NDArray[np.int16]
    rare: NDArray[np.int16]
    tribal: NDArray[np.int16]
    origins: NDArray[np.int16]
    no_origin: int
    major: NDArray[np.uint8]


def table(weights: NDArray[np.float64]) -> NDArray[np.int16]:
    """Return a table whose entries are as frequent as the weights say; each has at least one.

    >>> drawn = table(np.array([1.0, 0.0, 1.0]))
    >>> np.bincount(drawn).tolist(), drawn.size == SLOTS
    ([524287, 1, 524288], True)
    """
    spare = SLOTS - weights.size
    ends = np.rint(spare * np.cumsum(weights) / weights.sum()).astype(np.int64)
    ends[-1] = spare
    return np.repeat(np.arange(weights.size, dtype=np.int16), np.diff(ends, prepend=0) + 1)


def census_race() -> list[str]:
    """Return the CENRACE of each set of the six races, a set being six bits; the empty one is as the last.

    >>> found = census_race()
    >>> found[0b1], found[0b100000], found[0b11], found[0b111111]
    ('01', '06', '07', '63')
    """
    sets = [sum(1 << i for i in c) for many in range(1, 7) for c in combinations(range(6), many)]
    order = {bits: f"{rank:02d}" for rank, bits in enumerate(sets, 1)}
    return [order.get(bits, "06") for bits in range(64)]


def answers(specification: Specification, source: np.random.Generator) -> Answers:
    """Draw how common each code of a specification is: few families, few groups in each, hold most people."""
    groups = {one.code: one for one in specification.iterations}
    codes = tuple(sorted(specification.codes))
    of = [[groups[group] for group in specification.mapped[code]] for code in codes]
    race = np.array([any(group.kind != "ethnicity" for group in own) for own in of])
    origin = np.array([any(group.kind == "ethnicity" and group.level for group in own) for own in of])
    if not race.any():
        raise InputError("no code belongs to a race; nobody could answer the question")
    regions = [[group.code for group in own if group.kind != "ethnicity" and group.level == 1] for own in of]
    weights = _weights([min(own, default=code[0]) for own, code in zip(regions, codes, strict=True)], source)
    first = race & ~origin if (race & ~origin).any() else race
    major = np.array([MAJORS.get(code[0], 5) for code in codes], dtype=np.uint8)
    tribal = race & (major == 2) if (race & (major == 2)).any() else race
    return Answers(
        codes=codes,
        races=_subset(np.where(first, weights, 0), race),
        rare=_subset(np.sqrt(weights), race),
        tribal=np.flatnonzero(tribal).astype(np.int16),
        origins=_subset(_zipf(len(codes), source), origin),
        no_origin=_none(codes, race, origin),
        major=major,
    )


def _weights(family: Sequence[str], source: np.random.Generator) -> NDArray[np.float64]:
    """Return how common each code is: families as they are ordered, and inside a family at random."""
    weights = np.empty(len(family))
    for rank, name in enumerate(dict.fromkeys(family), 1):
        members = np.flatnonzero(np.array(family) == name)
        inside = _zipf(members.size, source)
        weights[members] = inside / inside.sum() / rank**1.2
    return weights


def _zipf(many: int, source: np.random.Generator) -> NDArray[np.float64]:
    return source.permutation(np.arange(1.0, many + 1) ** -1.2)


def _subset(weights: NDArray[np.float64], allowed: NDArray[np.bool_]) -> NDArray[np.int16]:
    """Return a table of the allowed codes; empty if there are none."""
    chosen = np.flatnonzero(allowed).astype(np.int16)
    return chosen[table(weights[chosen])] if chosen.size else chosen


def _none(codes: Sequence[str], race: NDArray[np.bool_], origin: NDArray[np.bool_]) -> int:
    """Return the code of those who have none of the origins: best one that answers no other question."""
    for allowed in (~race & ~origin, ~origin, np.ones(len(codes), dtype=bool)):
        if allowed.any():
            break
    return int(np.flatnonzero(allowed)[-1])
