"""Sizes of groups: from which size on a table can be shown, thresholds for it, and what suppression does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.census.mechanism.adaptive import budget_noise
from discreet.census.mechanism.configuration import Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.ladder import Ladder
from discreet.census.mechanism.margins import margin_of_error as margin_of
from discreet.census.safetab.specification import safetab_p
from discreet.errors import InputError
from discreet.noise import Noise
from discreet.numbers import Exact, fraction, positive

Floats = NDArray[np.float64]
Of = Literal["cell", "total"]
"""What a target error is a part of: the average cell, or the whole group."""


def smallest_sizes(
    noise: Noise, ladder: Ladder | None = None, *, relative_margin: Exact, of: Of = "cell"
) -> tuple[int, ...]:
    """Return from which size on a group can be shown by each table of a ladder, by default SafeTab-P's.

    `cell`: 95 % of the time the noise of a cell is at most this part of the average cell. `total`: that of
    the sum of all cells is at most this part of the group. Both by the exact law of the noise.

    >>> from discreet.noise import DiscreteGaussian
    >>> smallest_sizes(DiscreteGaussian(variance=625), relative_margin="0.5")
    (98, 784, 1764, 4508)
    >>> smallest_sizes(DiscreteGaussian(variance=625), relative_margin="0.1", of="total")
    (490, 1390, 2080, 3320)
    """
    part = positive(relative_margin, name="relative_margin")
    rungs = (ladder or safetab_p().ladder(1)).rungs
    return tuple(
        ceil((rung.cells * margin_of(noise) if of == "cell" else margin_of(noise, rung.cells)) / part)
        for rung in rungs
    )


def thresholds_for(
    sizes: Sequence[int], stage_one: Noise | None, *, chance: Exact = "0.95"
) -> tuple[int, ...]:
    """Return thresholds with which a group of each size gets its table with this chance, or more.

    >>> from discreet.noise import DiscreteGaussian
    >>> thresholds_for((500, 1000, 7000), DiscreteGaussian(variance="22500/1067"), chance="0.95")
    (492, 992, 6992)
    """
    if not len(sizes):
        raise InputError("there are no sizes; one is needed for each threshold")
    slack = 0 if stage_one is None else stage_one.quantile(fraction(chance, name="chance"))
    return tuple(max(0, int(size) - slack) for size in sizes)


@dataclass(frozen=True, slots=True)
class Shown:
    """What becomes of groups that would get a total, by their true sizes.

    `suppressed` is the chance to be dropped; `bias` is E[released - size] if released, and
    `overall_bias` counts a dropped group as a zero.
    """

    sizes: NDArray[np.int64]
    suppressed: Floats
    bias: Floats
    overall_bias: Floats


def shown(sizes: ArrayLike, noise: Noise, suppression: int) -> Shown:
    """Return the chance of suppression and the bias of released totals by true size, all at once.

    >>> from discreet.noise import DiscreteGaussian
    >>> outcome = shown([0, 93, 186], DiscreteGaussian(variance=625), 93)
    >>> outcome.suppressed.round(4).tolist(), outcome.bias.round(2).tolist()
    ([0.9999, 0.508, 0.0001], [99.47, 20.27, 0.01])
    """
    sizes = np.asarray(sizes)
    if sizes.dtype.kind not in "iu" or (sizes.size and sizes.min() < 0):
        raise InputError("sizes of groups must be whole numbers, zero or more")
    below = suppression - sizes.astype(np.int64)  # dropped if the noise is not above this
    suppressed = np.asarray(noise.cdf(below), dtype=np.float64)
    upper = partial_means(noise, below)
    released = np.asarray(noise.sf(below), dtype=np.float64)
    bias = upper / released
    return Shown(sizes.astype(np.int64), suppressed, bias, upper - sizes * suppressed)


def partial_means(noise: Noise, below: ArrayLike) -> Floats:
    """Return E[X 1{X > b}] for each b: by symmetry the same at b and at -b - 1.

    >>> from discreet.noise import DiscreteLaplace
    >>> round(float(partial_means(DiscreteLaplace(scale=1), 0)), 6)   # r / (1 - r^2), r = e^-1
    0.425459
    """
    edges = np.atleast_1d(np.asarray(below, dtype=np.int64))
    start = np.maximum(edges + 1, -edges)  # the first x of the upper tail, at least 1 or 0
    spread = sqrt(noise.true_variance()) + 1.0
    reach = int(start.max(initial=0) + (12 if noise.precision else 60) * spread)
    first = int(start.min(initial=0))
    support = np.arange(first, reach + 1, dtype=np.int64)
    terms = support * noise.pmf(support)
    sums = np.cumsum(terms[::-1])[::-1]  # small terms first
    means: Floats = sums[start - first].reshape(np.shape(below))
    return means


def table_chances(sizes: ArrayLike, stage_one: Noise | None, thresholds: Sequence[int]) -> Floats:
    """Return the chance of each table of a ladder, a column each, by true size.

    >>> from discreet.noise import DiscreteGaussian
    >>> table_chances([971], DiscreteGaussian(variance="15000/53"), (971, 4971, 19971)).round(3).tolist()
    [[0.488, 0.512, 0.0, 0.0]]
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    reached = [np.ones(sizes.shape)]
    for step in thresholds:
        gap = step - sizes
        reached.append(np.asarray(gap <= 0, dtype=np.float64) if stage_one is None else stage_one.sf(gap - 1))
    reached.append(np.zeros(sizes.shape))
    return np.stack([a - b for a, b in pairwise(reached)], axis=-1)


def with_derived(
    configuration: Configuration, specification: Specification, *, error: Exact, of: Of = "cell"
) -> Configuration:
    """Return the configuration with the thresholds that follow from a target error."""
    thresholds = dict(configuration.thresholds)
    for (geography, level), budget in configuration.budgets.items():
        if budget:
            often = max(specification.stability(level, configuration.max_race_codes, geography).value, 1)
            first: Noise | None
            first, second = (
                budget_noise(share * budget, often, configuration.privacy)
                for share in (configuration.gamma, 1 - configuration.gamma)
            )
            ladder = configuration.tabulation.ladder(level)
            if not ladder.picks:
                first, second = None, budget_noise(budget, often, configuration.privacy)
            sizes = smallest_sizes(second, ladder, relative_margin=error, of=of)
            thresholds[geography, level] = thresholds_for(sizes[1:], first)
    return replace(configuration, thresholds=thresholds)
