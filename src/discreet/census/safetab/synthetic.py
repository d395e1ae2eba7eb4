"""A synthetic nation in the file formats of the tabulation, of any size, all or nothing.

*The groups* are those of a given specification or invented (`data/`), so that a trial needs nobody's files.
The invented ones are what a real specification has: six races (LEVEL 0, not tabulated), regional groups (1)
and detailed ones (2), each alone and in any combination; origins; groups that are published as totals only,
for the nation and the states (DETAILED_ONLY); groups that are published below the states only (COARSE_ONLY).
A code belongs to one regional and one detailed group, so that the stability is that of production, 9.

Randomness is NumPy's, seeded by an argument: these are data, not noise, and protect nobody.

*The tree.* Real files are uneven, and a program meets trouble where they are: a few states hold most people,
many blocks hold nobody, a county may be one tract, a place may be one tract or run over the border of two
counties, a tribal area may reach into the next state, and there are tracts of water only. All of this is in
here. Sizes of all parts follow from the number of people; memory grows with the blocks (one for each 30
people), not with the people.

*The people* are drawn portion by portion. Each portion has a stream of its own, so that the result depends on
the arguments only: not on how many portions are drawn at a time, nor in which order. Races and origins are
codes of a specification, some common, most rare. Neighbours are alike. A tract has a few groups of its own,
drawn once, and a part of its people belong to them; a county shares one; most people of a tribal area belong
to its nation. Tracts also differ in age, and in how many have an origin.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import ArrowArray, OutputTable, arrow, coded, strings
from discreet.census.mechanism.groups import Specification
from discreet.census.safetab.census2020 import configuration_2020, packaged
from discreet.census.safetab.configuration import budget_keys, read_configuration
from discreet.census.safetab.specification import (
    JSON_FILE,
    read_specification,
    safetab_p,
    write_specification,
)
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.ledger.commit import free, whole_folder
from discreet.numbers import whole
from discreet.questions import Option

STATES, (PUERTO_RICO,) = (one_pass.codes for one_pass in safetab_p().passes.values())
"""The codes of the fifty states and the District of Columbia, and of Puerto Rico."""
AREA_COLUMNS, BLOCK_COLUMNS = safetab_p().area_file.columns, safetab_p().areas.key
RACE_COLUMNS = safetab_p().answers.several
MOST_CODES = len(RACE_COLUMNS)
TOP_AGE = max(attribute.last for attribute in safetab_p().attributes)

# -- the groups --------------------------------------------------------------------------------------------


def write_invented(folder: Path, states: Sequence[str]) -> None:
    """Write the invented groups, and the settings of Detailed DHC-A 2020 for some of its states."""
    write_specification(packaged("invented"), folder)
    of_2020 = configuration_2020()
    settings: dict[str, object] = {"max_race_codes": of_2020.max_race_codes}
    keys = budget_keys(safetab_p())
    settings |= {key: float(of_2020.budgets[place] or 0) or 0 for key, place in keys.items()}
    settings["privacy_budget_p_stage_1_fraction"] = float(of_2020.gamma)
    settings["thresholds_p"] = {
        f"({geography}, {level})": steps for (geography, level), steps in of_2020.thresholds.items()
    }
    settings["zero_suppression_chance"] = float(of_2020.zero_suppression_chance)
    settings["allow_negative_counts"] = of_2020.allow_negative_counts
    settings |= {one_pass.switch: which in of_2020.passes for which, one_pass in safetab_p().passes.items()}
    settings |= {"reader": "csv", "state_filter_us": states, "privacy_defn": of_2020.privacy}
    (folder / JSON_FILE).write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


# -- the tree ----------------------------------------------------------------------------------------------

ONE_COUNTY = "11"
"""A state that is one county and one place, as the District of Columbia is."""
NO_PLACE, NO_AREA = 99999, 9999
WATER = 990000
"""The code of tracts without land."""
PEOPLE_IN_A_TRACT, PEOPLE_IN_A_BLOCK, BLOCKS_IN_A_GROUP = 4000, 30, 47
MOST_GROUPS, IN_A_GROUP = 9, 1000
"""A block's number is a thousand for its block group, of at most nine in a tract, and its place in it."""
FEWEST_TRACTS, USUAL_TRACTS = 3, 6
"""Of a state in a small nation."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tracts:
    """All tracts in the order of their codes: index of the state, number of the county, code of the tract."""

    state: Ints
    county: Ints
    code: Ints


@dataclass(frozen=True, slots=True)
class Country:
    """All blocks in the order of their codes, with the people that live there.

    >>> country = build(1000, ("01", "02"), np.random.default_rng(1))
    >>> country.states, int(country.people.sum()), bool((country.people == 0).any())
    (('01', '02', '72'), 1000, True)
    """

    states: tuple[str, ...]
    tracts: Tracts
    tract: Ints
    number: Ints
    place: Ints
    area: Ints
    people: Ints

    def texts(self) -> list[NDArray[np.str_]]:
        """Return the columns of `GRF-C.txt`."""
        tracts = self.tracts
        own = (np.array(self.states)[tracts.state], _padded(tracts.county, 3), _padded(tracts.code, 6))
        places = (_padded(self.number, 4), _padded(self.place, 5), _padded(self.area, 4))
        return [*(column[self.tract] for column in own), *places]


def build(
    people: int, states: tuple[str, ...], source: np.random.Generator, *, island: bool = True
) -> Country:
    """Draw a nation of these states, and Puerto Rico unless there is no island."""
    every = (*sorted(states), PUERTO_RICO) if island else tuple(sorted(states))
    # a few states are large; Puerto Rico, the last one, has 2 in 100
    shares = source.permutation(np.arange(1.0, len(states) + 1) ** -0.8)
    shares = np.append(0.98 * (shares / shares.sum()), 0.02) if island else shares / shares.sum()
    tracts = _tracts(people, every, shares, source)
    many = tracts.state.size
    mean = max(8.0, people / PEOPLE_IN_A_BLOCK / many)
    sizes = np.clip(np.rint(mean * source.lognormal(-0.08, 0.4, many)), 3, 8000).astype(np.int64)
    first, tract = np.cumsum(sizes) - sizes, np.repeat(np.arange(many), sizes)
    groups = np.clip(np.rint(sizes / BLOCKS_IN_A_GROUP), 1, MOST_GROUPS).astype(np.int64)
    group, place_in = np.divmod(np.arange(tract.size) - first[tract], -(-sizes // groups)[tract])
    number = IN_A_GROUP * (1 + group) + place_in
    place = _places(every, tracts, tract, first, source)
    area = _areas(every, tracts, tract, first, place, source)
    return Country(every, tracts, tract, number, place, area, _people(people, shares, tracts, tract, source))


def _tracts(people: int, states: tuple[str, ...], shares: Floats, source: np.random.Generator) -> Tracts:
    many = max(USUAL_TRACTS * len(states), people // PEOPLE_IN_A_TRACT)
    each = _split(many, shares, least=FEWEST_TRACTS)
    state, county, code = [], [], []
    for index, own in enumerate(each):
        counties = 1 if states[index] == ONE_COUNTY else max(2, round(float(own) ** 0.6))
        sizes = source.permutation(_split(int(own), np.arange(1.0, counties + 1) ** -1.6, least=1))
        within = np.concatenate([np.arange(1, size + 1) for size in sizes])
        state.append(np.full(own, index))
        county.append(np.repeat(2 * np.arange(counties) + 1, sizes))
        code.append(100 * within + source.choice([0, 0, 0, 1, 2], own))
    tracts = Tracts(np.concatenate(state), np.concatenate(county), np.concatenate(code))
    # tracts of water only: the last one of every fortieth county, where there are several
    last = np.flatnonzero(np.diff(tracts.state * 1000 + tracts.county, append=-1))
    alone = np.diff(last, prepend=-1) < 3
    tracts.code[last[~alone][::40]] = WATER
    return tracts


def _split(many: int, shares: Floats, *, least: int) -> Ints:
    """Split a number by shares; each part has at least `least`.

    >>> _split(10, np.array([3.0, 1.0, 0.0]), least=1).tolist()
    [6, 3, 1]
    """
    spare = many - least * shares.size
    ends = np.rint(spare * np.cumsum(shares) / shares.sum()).astype(np.int64)
    parts: Ints = np.diff(ends, prepend=0) + least
    return parts


def _people(people: int, shares: Floats, tracts: Tracts, tract: Ints, source: np.random.Generator) -> Ints:
    """Return the people of each block: lognormal sizes, one block in four empty, states by their shares."""
    weight = source.lognormal(0.0, 1.2, tract.size) * (source.random(tract.size) > 0.27)
    weight *= source.lognormal(0.0, 0.4, tracts.state.size)[tract]
    weight[np.isin(tract, np.flatnonzero(tracts.code == WATER))] = 0
    state = tracts.state[tract]
    weight *= (shares / np.maximum(np.bincount(state, weight), 1e-9))[state]
    ends = np.rint(people * (np.cumsum(weight) / weight.sum())).astype(np.int64)
    ends[np.flatnonzero(weight)[-1] :] = people
    parts: Ints = np.diff(ends, prepend=0)
    return parts


def _places(
    states: tuple[str, ...], tracts: Tracts, tract: Ints, first: Ints, source: np.random.Generator
) -> Ints:
    """Return the place of each block: runs of blocks that ignore tracts and counties but not states."""
    state = tracts.state[tract]
    borders = np.searchsorted(state, np.arange(len(states)))
    mean = max(30.0, tract.size / 35_000)
    lengths = np.ceil(mean * source.lognormal(-0.5, 1.0, int(4 * tract.size / mean) + 10)).astype(np.int64)
    cuts = np.cumsum(lengths)
    starts = np.union1d(cuts[cuts < tract.size], borders)
    owner = state[starts]
    rank = np.arange(starts.size) - np.searchsorted(owner, owner)
    code = 100 + 3 * rank
    again = np.flatnonzero((source.random(starts.size) < 0.05) & (rank >= 2))
    code[again] = code[again - 2]  # a place in two pieces
    code[source.random(starts.size) < 0.4] = NO_PLACE
    place = np.repeat(code, np.diff(starts, append=tract.size))
    whole = np.flatnonzero(source.random(first.size) < 0.03)  # a place that is a tract
    own = whole - np.searchsorted(tracts.state, tracts.state[whole]) + 90_000
    ends = np.append(first[1:], tract.size)
    for index, number in zip(whole, own % NO_PLACE, strict=True):
        place[first[index] : ends[index]] = number
    if ONE_COUNTY in states:
        place[state == states.index(ONE_COUNTY)] = 50_000
    return place


def _areas(
    states: tuple[str, ...],
    tracts: Tracts,
    tract: Ints,
    first: Ints,
    place: Ints,
    source: np.random.Generator,
) -> Ints:
    """Return the tribal area of each block: from the middle of a tract into one of the next, or a place."""
    area = np.full(tract.size, NO_AREA)
    dry = int(np.searchsorted(tracts.state, len(states) - (states[-1] == PUERTO_RICO)))  # tracts before it
    many = max(2, min(700, dry // 60))
    anchors = source.choice(dry - 2, many, replace=False)
    last = np.minimum(anchors + source.integers(1, 4, many), dry - 1)
    edges = np.append(first, tract.size)
    for rank, (start, stop) in enumerate(zip(anchors, last, strict=True)):
        a, b = (edges[start] + edges[start + 1]) // 2, (edges[stop] + edges[stop + 1]) // 2
        if rank % 4 == 3 and place[a] != NO_PLACE:
            state = tracts.state[tract] == tracts.state[tract[a]]
            area[state & (place == place[a])] = 10 + 5 * rank
        else:
            area[a:b] = 10 + 5 * rank
    return area


def _padded(values: Ints, width: int) -> NDArray[np.str_]:
    """Return numbers as texts of one width, with zeros in front."""
    distinct, position = np.unique(values, return_inverse=True)
    return np.array([f"{value:0{width}d}" for value in distinct.tolist()])[position]


# -- the people --------------------------------------------------------------------------------------------

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

    >>> races = census_race()
    >>> races[0b1], races[0b100000], races[0b11], races[0b111111]
    ('01', '06', '07', '63')
    """
    sets = [sum(1 << i for i in c) for many in range(1, 7) for c in combinations(range(6), many)]
    order = {bits: f"{rank:02d}" for rank, bits in enumerate(sets, 1)}
    return [order.get(bits, "06") for bits in range(64)]


def answers(specification: Specification, source: np.random.Generator) -> Answers:
    """Draw how common each code of a specification is: few families, few groups in each, hold most people."""
    groups = {iteration.code: iteration for iteration in specification.iterations}
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
        self.profile = source.choice(3, tracts, p=(0.25, 0.5, 0.25)).astype(np.int64)
        self._ages = np.stack([table(pyramid(profile, sex)) for profile in range(3) for sex in range(2)])
        island = (np.array(country.states) == PUERTO_RICO)[country.tracts.state]
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
        age = self._ages[2 * self.profile[tract] + sex, slot].astype(np.uint8)
        householder = (age >= 18) & (source.integers(0, 100, many, dtype=np.uint8) < 49)
        races, majors = self.races(block, tract, source)
        origin = self.origins(tract, source)
        return People(age, sex + np.uint8(1), householder, block, races, origin, majors)

    def origins(self, tract: NDArray[np.int64], source: np.random.Generator) -> NDArray[np.int16]:
        """Draw the origin of each person, by tract."""
        origin = np.full(tract.size, self.answers.no_origin, dtype=np.int16)
        has = np.flatnonzero(source.random(tract.size, dtype=np.float32) < self._origin[tract])
        if self.answers.origins.size:
            origin[has] = self.answers.origins[source.integers(0, SLOTS, has.size, dtype=np.uint32)]
        return origin

    def races(
        self, block: NDArray[np.int64], tract: NDArray[np.int64], source: np.random.Generator
    ) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
        """Draw up to eight distinct races of each person, and the set of major races they belong to."""
        many = block.size
        races = np.full((many, MOST_CODES), -1, dtype=np.int16)
        first = self.answers.races[source.integers(0, SLOTS, many, dtype=np.uint32)]
        near = np.flatnonzero(source.random(many, dtype=np.float32) < self._closeness[tract])
        first[near] = self._own[tract[near], source.integers(0, OWN, near.size)]
        area = self.country.area[block]
        tribal = np.flatnonzero((area != NO_AREA) & (source.random(many, dtype=np.float32) < 0.7))
        first[tribal] = self._nation[area[tribal]]
        races[:, 0] = first
        majors = np.uint8(1) << self.answers.major[first]
        named = self._named[source.integers(0, SLOTS, many, dtype=np.uint32)] + 1
        several = np.flatnonzero(named > 1)
        more = self.answers.rare[source.integers(0, SLOTS, (several.size, MOST_CODES), dtype=np.uint32)]
        more[:, 0] = races[several, 0]
        more[np.arange(MOST_CODES) >= named[several, None]] = -1
        for index in range(1, MOST_CODES):  # nobody names a race twice
            more[(more[:, :index] == more[:, index, None]).any(axis=1), index] = -1
        order = np.argsort(more < 0, axis=1, kind="stable")
        races[several] = np.take_along_axis(more, order, axis=1)
        bits = np.where(more >= 0, np.uint8(1) << self.answers.major[more], np.uint8(0)).astype(np.uint8)
        majors[several] = np.bitwise_or.reduce(bits, axis=1)
        return races, majors


def pyramid(profile: int, sex: int) -> NDArray[np.float64]:
    """Return the share of each age: births, a wave of young adults in some tracts, and Gompertz mortality.

    >>> ages = pyramid(1, 0)
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


# -- the files ---------------------------------------------------------------------------------------------

PERSON = ("QAGE", "QSEX", "HOUSEHOLDER", *BLOCK_COLUMNS, "CENRACE", *RACE_COLUMNS, "QSPAN")
Format = Literal["csv", "parquet"]


@contextmanager
def text_table(
    file: Path, columns: Sequence[str], format: Format, *, delimiter: str | None = "|"
) -> Iterator[Callable[[dict[str, ArrowArray]], None]]:
    """Give a function that appends columns of texts to a new file; without a delimiter texts are quoted."""
    pa = arrow()
    schema = pa.schema([(name, pa.dictionary(pa.int32(), pa.string())) for name in columns])
    if format == "csv":
        with OutputTable(file, format, schema, pipes=bool(delimiter), delimiter=delimiter or ",") as lines:
            yield lambda texts: lines.write([texts[name] for name in columns])
        return
    # the schema that Arrow would store says "dictionary"; readers should see plain texts
    with arrow("parquet").ParquetWriter(file, schema, store_schema=False) as writer:
        yield lambda texts: writer.write_table(pa.table(texts, schema=schema))
        writer.add_key_value_metadata({"synthetic": "true"})


def word_column(index: NDArray[np.generic], values: Sequence[str] | NDArray[np.str_]) -> ArrowArray:
    """Return a column of the texts that occur, so that a small portion does not carry a large dictionary."""
    used, position = np.unique(index, return_inverse=True)
    # each once: the bytes of a Parquet file would depend on more than its rows
    words, where = np.unique([values[at] for at in used.tolist()], return_inverse=True)
    return coded(where[position], words.tolist())


def write_blocks(file: Path, country: Country, format: Format) -> None:
    """Write `GRF-C`: one row for each block."""
    with text_table(file, AREA_COLUMNS, format) as append:
        texts = zip(AREA_COLUMNS, country.texts(), strict=True)
        append({name: strings(column).dictionary_encode() for name, column in texts})


def write_people(file: Path, population: Population, format: Format, *, threads: int = 2) -> Iterator[int]:
    """Write the person records, and yield after each portion how many there are."""
    texts, many, done = population.country.texts()[:4], population.portions, 0

    def make(index: int) -> dict[str, ArrowArray]:
        return person_columns(population, population.portion(index), texts)

    with ThreadPoolExecutor(threads) as pool, text_table(file, PERSON, format) as append:
        # a few portions are made ahead, and written in their order
        waiting = [pool.submit(make, index) for index in range(min(many, threads + 1))]
        for index in range(many):
            columns = waiting.pop(0).result()
            if index + threads + 1 < many:
                waiting.append(pool.submit(make, index + threads + 1))
            append(columns)
            done += len(columns["QAGE"])
            yield done


def person_columns(
    population: Population, people: People, texts: list[NDArray[np.str_]]
) -> dict[str, ArrowArray]:
    """Return the columns of `person-records` for some people; `texts` are those of the blocks."""
    first, last = int(people.block[0]), int(people.block[-1]) + 1
    codes = (*population.answers.codes, "Null")  # the last is also number -1
    return {
        "QAGE": word_column(people.age, [f"{age:03d}" for age in range(TOP_AGE + 1)]),
        "QSEX": word_column(people.sex, ["", "1", "2"]),
        "HOUSEHOLDER": word_column(people.householder.view(np.uint8), ["False", "True"]),
        **{
            name: word_column(people.block - first, column[first:last])
            for name, column in zip(BLOCK_COLUMNS, texts, strict=True)
        },
        "CENRACE": word_column(people.majors, census_race()),
        **{name: word_column(people.races[:, at], codes) for at, name in enumerate(RACE_COLUMNS)},
        "QSPAN": word_column(people.origin, codes),
    }


MOST_PEOPLE = 10**9
PEOPLE_OF_A_STATE = 50_000
"""So many people for each state, if it is not said how many states there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nation(Summarised):
    """What was written."""

    out: Path
    params: Path
    data: Path
    people: int
    seed: int
    states: int
    counties: int
    tracts: int
    blocks: int
    places: int
    areas: int
    codes: int
    files: tuple[str, ...]
    bytes: int


def synthesize(
    out: str | os.PathLike[str],
    *,
    persons: Annotated[int, Option("How many people.", "N")],
    states: Annotated[
        int | None,
        Option(
            "How many states, besides Puerto Rico. Default: from PARAMS, or by the number of people.", "S"
        ),
    ] = None,
    seed: Annotated[int, Option("Another seed makes another nation. Default: 1.", "K")] = 1,
    params: Annotated[
        str | os.PathLike[str] | None,
        Option("Use the codes of this specification; it is read, not copied.", "PARAMS", reads=Path | None),
    ] = None,
    format: Annotated[Format, Option("Format of the data. Default: csv.", "csv|parquet")] = "csv",
    progress: Callable[[int, int], None] | None = None,
) -> Nation:
    """Write a synthetic nation to the new directory `out`; the same files for the same arguments.

    `out/data` gets the blocks and the people. `out/params` gets a small specification with a configuration;
    with `params`, people have the codes of that specification instead, and it stays where it is.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = synthesize(Path(folder) / "nation", persons=500, states=2)
    >>> made.files[:3], made.states, made.codes
    (('data/GRF-C.txt', 'data/person-records.txt', 'params/config.json'), 3, 136)
    """
    if whole(persons, name="persons") > MOST_PEOPLE:
        raise InputError(f"persons is {persons}; at most {MOST_PEOPLE} are allowed")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be zero or more")
    chosen = choose_states(persons, states, None if params is None else Path(params))
    free(out)
    source = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    with whole_folder(out) as folder:
        data = folder / "data"
        data.mkdir()
        if params is None:
            (folder / "params").mkdir()
            write_invented(folder / "params", chosen)
        specification = read_specification(folder / "params" if params is None else Path(params))
        country = build(persons, chosen, source)
        population = Population(country, answers(specification, source), seed, source)
        end = "txt" if format == "csv" else "parquet"
        write_blocks(data / f"GRF-C.{end}", country, format)
        for done in write_people(data / f"person-records.{end}", population, format):
            if progress is not None:
                progress(done, persons)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        names = tuple(path.relative_to(folder).as_posix() for path in files)
        size = sum(path.stat().st_size for path in files)
    where = Path(out)
    return Nation(
        out=where,
        params=where / "params" if params is None else Path(params),
        data=where / "data",
        people=persons,
        seed=seed,
        codes=len(population.answers.codes),
        files=names,
        bytes=size,
        **area_counts(country),
    )


def choose_states(people: int, states: int | None, params: Path | None = None) -> tuple[str, ...]:
    """Return the states: those that the configuration names, or as many as the people fill."""
    known = STATES
    if params is not None:
        configuration = read_configuration(params)
        if configuration.tabulation != safetab_p():
            title = configuration.tabulation.title
            raise InputError(
                f"a nation is invented for SafeTab-P, and {params} is {title}; bring your own records"
            )
        known = tuple(sorted(configuration.parts("US")))
    if states is None:
        many = len(known) if params is not None else max(3, people // PEOPLE_OF_A_STATE)
        return tuple(known[:many])
    if not 1 <= whole(states, name="states") <= len(known):
        raise InputError(f"states is {states}; there are 1 to {len(known)}")
    return tuple(known[:states])


def area_counts(country: Country) -> dict[str, int]:
    """Return how many areas of each kind there are."""
    tracts = country.tracts
    state = tracts.state[country.tract]
    inside = country.place != NO_PLACE
    return {
        "states": len(country.states),
        "counties": np.unique(tracts.state * 1000 + tracts.county).size,
        "tracts": tracts.state.size,
        "blocks": country.tract.size,
        "places": np.unique((state * 100_000 + country.place)[inside]).size,
        "areas": np.unique(country.area[country.area != NO_AREA]).size,
    }
