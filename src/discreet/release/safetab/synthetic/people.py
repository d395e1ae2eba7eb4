"""The people of an invented nation, drawn portion by portion, and what they answer.

The randomness here is NumPy's, seeded: these are invented data, not noise that protects somebody. Each
portion of people has a stream of its own, so that the result depends on the arguments only: not on how many
portions are drawn at a time, nor in which order.

Races and origins are codes of a specification, some common, most rare. Neighbours are alike. A tract has a
few groups of its own, drawn once, and a part of its people belong to them; a county shares one; most people
of a tribal area belong to its nation. Tracts also differ in age, and in how many have an origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.safetab.specification import Specification
from discreet.release.safetab.synthetic.geography import NO_AREA, Country

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


PORTION = 1 << 17
"""People of a portion. Another number gives other people."""
TOP_AGE = 115
MOST_RACES = 8
RACES_NAMED = (0.89, 0.082, 0.02, 0.005, 0.0015, 0.0007, 0.0004, 0.0004)
"""Share of people by how many races they name."""
OWN = 4
"""Groups that a tract has of its own."""


@dataclass(frozen=True, slots=True)
class People:
    """Columns of some people; a race that is not named is -1."""

    age: NDArray[np.uint8]
    sex: NDArray[np.uint8]
    householder: NDArray[np.bool_]
    block: NDArray[np.int64]
    races: NDArray[np.int16]
    origin: NDArray[np.int16]
    majors: NDArray[np.uint8]


class Population:
    """Everything that is fixed before people are drawn."""

    def __init__(self, country: Country, answers: Answers, seed: int, source: np.random.Generator) -> None:
        self.country, self.answers, self.seed = country, answers, seed
        self.ends = np.cumsum(country.people)
        self.total = int(self.ends[-1])
        self.portions = -(-self.total // PORTION)
        tracts = country.tracts.state.size
        self._own = answers.races[source.integers(0, SLOTS, (tracts, OWN))]
        county = np.cumsum(np.diff(country.tracts.state * 1000 + country.tracts.county, prepend=-1) != 0) - 1
        self._own[:, 0] = answers.rare[source.integers(0, SLOTS, int(county[-1]) + 1)][county]
        self._closeness = source.beta(2.0, 3.5, tracts)
        self._nation = source.choice(answers.tribal, NO_AREA + 1)
        self._profile = source.choice(3, tracts, p=(0.25, 0.5, 0.25)).astype(np.int64)
        self._ages = np.stack([table(_pyramid(profile, sex)) for profile in range(3) for sex in range(2)])
        island = country.tracts.state == len(country.states) - 1
        self._origin = np.where(island, 0.98, np.clip(source.lognormal(-2.1, 0.9, tracts), 0.01, 0.95))
        self._named = table(np.array(RACES_NAMED))

    def portion(self, index: int) -> People:
        """Draw the people of a portion; the same ones each time."""
        source = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(1, index)))
        start, stop = index * PORTION, min((index + 1) * PORTION, self.total)
        many = stop - start
        block = np.searchsorted(self.ends, np.arange(start, stop), side="right")
        tract = self.country.tract[block]
        sex = (source.integers(0, 1000, many, dtype=np.uint16) >= 492).astype(np.uint8)
        slot = source.integers(0, SLOTS, many, dtype=np.uint32)
        age = self._ages[2 * self._profile[tract] + sex, slot].astype(np.uint8)
        householder = (age >= 18) & (source.integers(0, 100, many, dtype=np.uint8) < 49)
        races, majors = self._races(block, tract, source)
        return People(
            age=age,
            sex=sex + np.uint8(1),
            householder=householder,
            block=block,
            races=races,
            origin=self._origins(tract, source),
            majors=majors,
        )

    def _first_race(
        self, block: NDArray[np.int64], tract: NDArray[np.int64], source: np.random.Generator
    ) -> NDArray[np.int16]:
        many = block.size
        race = self.answers.races[source.integers(0, SLOTS, many, dtype=np.uint32)]
        near = np.flatnonzero(source.random(many, dtype=np.float32) < self._closeness[tract])
        race[near] = self._own[tract[near], source.integers(0, OWN, near.size)]
        area = self.country.area[block]
        tribal = np.flatnonzero((area != NO_AREA) & (source.random(many, dtype=np.float32) < 0.7))
        race[tribal] = self._nation[area[tribal]]
        return race

    def _races(
        self, block: NDArray[np.int64], tract: NDArray[np.int64], source: np.random.Generator
    ) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
        """Return up to eight distinct races of each person, and the set of major races they belong to."""
        many = block.size
        races = np.full((many, MOST_RACES), -1, dtype=np.int16)
        races[:, 0] = self._first_race(block, tract, source)
        majors = np.uint8(1) << self.answers.major[races[:, 0]]
        named = self._named[source.integers(0, SLOTS, many, dtype=np.uint32)] + 1
        several = np.flatnonzero(named > 1)
        more = self.answers.rare[source.integers(0, SLOTS, (several.size, MOST_RACES), dtype=np.uint32)]
        more[:, 0] = races[several, 0]
        more[np.arange(MOST_RACES) >= named[several, None]] = -1
        for place in range(1, MOST_RACES):  # nobody names a race twice
            more[(more[:, :place] == more[:, place, None]).any(axis=1), place] = -1
        order = np.argsort(more < 0, axis=1, kind="stable")
        races[several] = np.take_along_axis(more, order, axis=1)
        bits = np.where(more >= 0, np.uint8(1) << self.answers.major[more], np.uint8(0)).astype(np.uint8)
        majors[several] = np.bitwise_or.reduce(bits, axis=1)
        return races, majors

    def _origins(self, tract: NDArray[np.int64], source: np.random.Generator) -> NDArray[np.int16]:
        origin = np.full(tract.size, self.answers.no_origin, dtype=np.int16)
        has = np.flatnonzero(source.random(tract.size, dtype=np.float32) < self._origin[tract])
        if self.answers.origins.size:
            origin[has] = self.answers.origins[source.integers(0, SLOTS, has.size, dtype=np.uint32)]
        return origin


def _pyramid(profile: int, sex: int) -> NDArray[np.float64]:
    """Return the share of each age: births, a wave of young adults in some tracts, and Gompertz mortality.

    >>> ages = _pyramid(1, 0)
    >>> ages.size, bool(ages[30] > ages[70] > ages[90] > ages[115])
    (116, True)
    """
    age = np.arange(TOP_AGE + 1.0)
    hazard = (4.5e-5, 2.5e-5)[sex]
    alive = np.exp(-hazard / 0.095 * (np.exp(0.095 * age) - 1))
    bulge = np.exp(-(((age - (24, 38, 68)[profile]) / (9, 25, 12)[profile]) ** 2))
    shares: NDArray[np.float64] = alive * (1 + (1.5, 0.2, 1.5)[profile] * bulge)
    shares /= shares.sum()
    return shares
