"""Errors of race counts by the size of a block, under old and reduced noise, on a synthetic population.

The journal version of the PNAS paper has a figure of nine race queries on blocks, after non-negativity. Real
block counts are not shipped: the blocks are those of `discreet.studies.population`, with the seven race
groups of the census and Hispanic origin. A tract's shares of the groups are normalised fourth powers of
uniform numbers times the national shares of 2020; its share of Hispanic people is 5 u^4 times the national
one, u uniform, so that some groups are missing in most blocks.

Only the people are simulated: the mean squared error of a count x with noise N, cut at zero, is

    E (max(x + N, 0) - x)^2 = sum over n >= -x of n^2 P[N = n] + x^2 P[N < -x].
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.noise import DiscreteGaussian
from discreet.studies.population import SEED, Uniforms, noise_laws, population, sorted_into
from discreet.studies.register import Floats, Found, Integers, study

RACES = {
    "White": 61.6,
    "Black": 12.4,
    "AI/AN": 1.1,
    "Asian": 6.0,
    "NH/PI": 0.2,
    "Other race": 8.4,
    "Two or more": 10.2,
}
"""National shares of 2020 in percent; AI/AN: American Indian, Alaska Native; NH/PI: Pacific Islander."""
HISPANIC = 18.7
SIZES = {"1 to 9": (1, 9), "10 to 49": (10, 49), "50 to 199": (50, 199), "200 up": (200, 10**9)}
"""Classes of blocks by number of people."""


@study("group people_in_block blocks mean_count mse_old_noise mse_new_noise reduction reduction_percent")
def race_groups() -> Found:
    """Compute the mean squared error of nine counts by size of block, with old and reduced noise.

    >>> study = race_groups()
    >>> len(study.distinct("group")), study.distinct("people_in_block")
    (9, ['1 to 9', '10 to 49', '50 to 199', '200 up'])
    """
    counts = race_counts()
    sizes = population().levels["Block"].sum(axis=1)
    most = max(int(column.max()) for column in counts.values())
    old, new = (cut_errors(variance, most) for variance in noise_laws(["Block"])["Block"])
    for group, column in counts.items():
        for name, (low, high) in SIZES.items():
            cells = column[(sizes >= low) & (sizes <= high)]
            before, after = float(old[cells].mean()), float(new[cells].mean())
            saved = before - after
            yield group, name, cells.size, cells.mean(), before, after, saved, 100 * saved / before


def race_counts(seed: int = SEED) -> dict[str, Integers]:
    """Return the nine counts of every block: seven races, Hispanic, and not Hispanic.

    >>> counts = race_counts()
    >>> bool((sum(counts[race] for race in RACES) == counts["Hispanic"] + counts["Not Hispanic"]).all())
    True
    """
    people, draw = population(seed), Uniforms(seed + 6)
    tract, sizes = people.parents["Block"], people.levels["Block"].sum(axis=1)
    tracts, national = people.levels["Tract"].shape[0], np.array(list(RACES.values()))
    shares = draw.uniform(tracts * len(RACES)).reshape(-1, len(RACES)) ** 4 * national
    limits = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    races = sorted_into(draw, sizes, limits[:, :-1], tract)
    chance = np.minimum(5 * HISPANIC / 100 * draw.uniform(tracts) ** 4, 1.0)
    origin = sorted_into(draw, sizes, chance[:, None], tract)
    counts = {name: races[:, column] for column, name in enumerate(RACES)}
    return counts | {"Hispanic": origin[:, 0], "Not Hispanic": origin[:, 1]}


def cut_errors(variance: Fraction, most: int) -> Floats:
    """Return E (max(x + N, 0) - x)^2 for x = 0 to `most`.

    >>> [round(float(v), 3) for v in cut_errors(Fraction(25), 100)[[0, 5, 100]]]
    [12.5, 18.991, 25.0]
    """
    reach = math.ceil(12 * math.sqrt(variance))
    n = np.arange(1, reach + 1)
    chance = DiscreteGaussian(variance=variance).pmf(n)
    squares = np.concatenate([[0.0], np.cumsum(n * n * chance)])  # of noise from -x to -1
    below = np.concatenate([np.cumsum(chance[::-1])[::-1], [0.0]])  # P[N < -x]
    x = np.arange(most + 1)
    at = np.minimum(x, reach)
    return np.asarray(squares[-1] + squares[at] + x.astype(np.float64) ** 2 * below[at], dtype=np.float64)
