"""The tree of an invented nation: states, counties, tracts and blocks, and the areas that cut across them.

Real files are uneven, and a program meets trouble where they are: a few states hold most people, many blocks
hold nobody, a county may be one tract, a place may be one tract or run over the border of two counties, a
tribal area may reach into the next state, and there are tracts of water only. All of this is in here.

Sizes of all parts follow from the number of people; memory grows with the blocks (one for each 30 people),
not with the people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.release.safetab.geography import PUERTO_RICO

ONE_COUNTY = "11"
"""A state that is one county and one place, as the District of Columbia is."""
NO_PLACE, NO_AREA = 99999, 9999
PEOPLE_IN_A_TRACT, PEOPLE_IN_A_BLOCK = 4000, 30
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
        state = np.array(self.states)[self.tracts.state][self.tract]
        county = _padded(self.tracts.county, 3)[self.tract]
        code = _padded(self.tracts.code, 6)[self.tract]
        columns = [
            state,
            county,
            code,
            _padded(self.number, 4),
            _padded(self.place, 5),
            _padded(self.area, 4),
        ]
        return [np.asarray(column, dtype=np.str_) for column in columns]


def build(people: int, states: tuple[str, ...], source: np.random.Generator) -> Country:
    """Draw a nation of these states and Puerto Rico."""
    every = (*sorted(states), PUERTO_RICO)
    shares = _shares(every, source)
    tracts = _tracts(people, every, shares, source)
    tract, number = _blocks(people, tracts.state.size, source)
    first = np.searchsorted(tract, np.arange(tracts.state.size))
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
    found = Tracts(np.concatenate(state), np.concatenate(county), np.concatenate(code))
    found.code[_wet(found)] = 990000
    return found


def _shares(states: tuple[str, ...], source: np.random.Generator) -> Floats:
    """Return the part of each state: a few are large. Puerto Rico, the last one, has 2 in 100."""
    shares = source.permutation(np.arange(1.0, len(states)) ** -0.8)
    shares /= shares.sum()
    return np.append(0.98 * shares, 0.02)


def _split(many: int, shares: Floats, *, least: int) -> Ints:
    """Split a number by shares; each part has at least `least`.

    >>> _split(10, np.array([3.0, 1.0, 0.0]), least=1).tolist()
    [6, 3, 1]
    """
    spare = many - least * shares.size
    ends = np.rint(spare * np.cumsum(shares) / shares.sum()).astype(np.int64)
    parts: Ints = np.diff(ends, prepend=0) + least
    return parts


def _wet(tracts: Tracts) -> Ints:
    """Return tracts of water only: the last one of every fortieth county, where there are several."""
    group = tracts.state * 1000 + tracts.county
    last = np.flatnonzero(np.diff(group, append=-1))
    alone = np.diff(last, prepend=-1) < 3
    found: Ints = last[~alone][::40]
    return found


def _blocks(people: int, tracts: int, source: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the tract and the number of each block."""
    mean = max(8.0, people / PEOPLE_IN_A_BLOCK / tracts)
    sizes = np.clip(np.rint(mean * source.lognormal(-0.08, 0.4, tracts)), 3, 8000).astype(np.int64)
    ends = np.cumsum(sizes)
    within = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes)
    return np.repeat(np.arange(tracts), sizes), 1000 + within


def _people(people: int, shares: Floats, tracts: Tracts, tract: Ints, source: np.random.Generator) -> Ints:
    """Return the people of each block: lognormal sizes, one block in four empty, states by their shares."""
    weight = source.lognormal(0.0, 1.2, tract.size) * (source.random(tract.size) > 0.27)
    weight *= source.lognormal(0.0, 0.4, tracts.state.size)[tract]
    weight[np.isin(tract, np.flatnonzero(tracts.code == 990000))] = 0
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
    dry = int(np.searchsorted(tracts.state, len(states) - 1))  # tracts before Puerto Rico
    many = max(2, min(700, dry // 60))
    anchors = source.choice(dry - 2, many, replace=False)
    last = np.minimum(anchors + source.integers(1, 4, many), dry - 1)
    for rank, (start, stop) in enumerate(zip(anchors, last, strict=True)):
        a, b = (first[start] + first[start + 1]) // 2, (first[stop] + first[stop + 1]) // 2
        if rank % 4 == 3 and place[a] != NO_PLACE:
            state = tracts.state[tract] == tracts.state[tract[a]]
            area[state & (place == place[a])] = 10 + 5 * rank
        else:
            area[a:b] = 10 + 5 * rank
    return area


def _padded(values: Ints, width: int) -> NDArray[np.str_]:
    """Return numbers as texts of one width, with zeros in front."""
    distinct, place = np.unique(values, return_inverse=True)
    return np.array([f"{value:0{width}d}" for value in distinct.tolist()])[place]
