"""A synthetic population, since the confidential one cannot be shipped: a tree of areas with skewed sizes.

How it is made, all from one seed and uniform numbers alone, so that it is the same everywhere:

- 24 states; the number of counties in a state, tracts in a county and blocks in a tract is 1 plus the whole
  part of an exponential with mean 7, 5 and 18: many small areas, few large ones.
- A block is empty with probability 0.35. Otherwise its size is the whole part of 1 plus a lognormal (mean of
  the logarithm 3.2 plus a tract effect of standard deviation 0.4, standard deviation 1.0): the median block
  has some twenty people, a few have a thousand.
- Each person is in one of ten groups. A tract's shares are normalised fourth powers of uniform numbers times
  fixed national shares, so that some groups are rare and some missing.

Nothing here describes real places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.studies.study import Floats

Integers = NDArray[np.int64]

SEED = 20200401
STATES, COUNTIES, TRACTS, BLOCKS = 24, 7.0, 5.0, 18.0
EMPTY = 0.35
GROUPS = 10
_NATIONAL = np.array([0.28, 0.2, 0.14, 0.11, 0.09, 0.07, 0.05, 0.03, 0.02, 0.01])


class Uniforms:
    """Uniform numbers in (0, 1) from the seeded source of `discreet.testing`, and laws made of them.

    >>> Uniforms(1).uniform(3).round(4).tolist() == Uniforms(1).uniform(3).round(4).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        from discreet.testing import NotPrivateSeededEntropy

        self._source = NotPrivateSeededEntropy(seed)

    def uniform(self, size: int) -> Floats:
        """Return that many independent uniform numbers, of 53 bits."""
        raw = np.empty(8 * size, dtype=np.uint8)
        self._source.fill(raw)
        return ((raw.view("<u8") >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

    def normal(self, size: int) -> Floats:
        """Return standard normal numbers, by Box and Muller."""
        return np.asarray(
            np.sqrt(-2 * np.log(self.uniform(size))) * np.cos(2 * math.pi * self.uniform(size)),
            dtype=np.float64,
        )

    def family(self, mean: float, size: int) -> Integers:
        """Return numbers of children: 1 plus the whole part of an exponential."""
        return (1 + np.floor(-mean * np.log(self.uniform(size)))).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Counts of people by area and group at each level, rows being areas."""

    levels: dict[str, Integers]
    parents: dict[str, Integers]

    @property
    def people(self) -> int:
        """How many people there are."""
        return int(self.levels["State"].sum())

    def __str__(self) -> str:
        words = {"State": "states", "County": "counties", "Tract": "tracts", "Block": "blocks"}
        sizes = ", ".join(f"{counts.shape[0]:,} {words[name]}" for name, counts in self.levels.items())
        empty = float((self.levels["Block"].sum(axis=1) == 0).mean())
        return f"synthetic: {self.people:,} people in {sizes}; {100 * empty:.0f} percent of blocks are empty"


def population(seed: int = SEED) -> Population:
    """Make the population of a seed.

    >>> made = population()
    >>> made.levels["Block"].sum() == made.levels["State"].sum()   # children add up to parents
    np.True_
    >>> print(made)   # doctest: +ELLIPSIS
    synthetic: ... people in 24 states, ... counties, ... tracts, ... blocks; 35 percent of blocks are empty
    """
    draw = Uniforms(seed)
    county_of = np.repeat(np.arange(STATES), draw.family(COUNTIES, STATES))
    tract_of = np.repeat(np.arange(county_of.size), draw.family(TRACTS, county_of.size))
    block_of = np.repeat(np.arange(tract_of.size), draw.family(BLOCKS, tract_of.size))
    effect = 0.4 * draw.normal(tract_of.size)
    sizes = np.floor(1 + np.exp(3.2 + effect[block_of] + draw.normal(block_of.size))).astype(np.int64)
    sizes[draw.uniform(block_of.size) < EMPTY] = 0
    shares = draw.uniform(tract_of.size * GROUPS).reshape(-1, GROUPS) ** 4 * _NATIONAL
    limits = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    home = np.repeat(np.arange(block_of.size), sizes)
    group = np.zeros(home.size, dtype=np.int64)
    chance = draw.uniform(home.size)
    for k in range(GROUPS - 1):
        group += chance >= limits[block_of[home], k]
    block = np.bincount(home * GROUPS + group, minlength=block_of.size * GROUPS).reshape(-1, GROUPS)
    tract = _summed(block, block_of, tract_of.size)
    county = _summed(tract, tract_of, county_of.size)
    state = _summed(county, county_of, STATES)
    return Population(
        {"State": state, "County": county, "Tract": tract, "Block": block},
        {"County": county_of, "Tract": tract_of, "Block": block_of},
    )


def _summed(counts: Integers, parent: Integers, many: int) -> Integers:
    total = np.zeros((many, counts.shape[1]), dtype=np.int64)
    np.add.at(total, parent, counts)
    return total
