"""Sizing a tabulation: budgets from margins, group sizes from a wanted accuracy, what suppression does.

Everything is a function of a few numbers and takes milliseconds, so that a page can follow a slider.
A table of `cells` cells (1, 8, 18 or 46) has independent noise of the second stage in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.comparisons import ZCDP
from discreet.accounting.privacy_loss import compose
from discreet.budget import DiscreteGaussian, DiscreteLaplace, Event, Neighbours
from discreet.errors import InputError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.numbers import Exact, fraction, positive
from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.geographies import GEOGRAPHIES, LEVELS, PR_GEOGRAPHIES, STATES, US_GEOGRAPHIES
from discreet.release.safetab.mechanism import CONFIDENCE, Z95, noise_for
from discreet.release.safetab.mechanism import margin as margin_of

Floats = NDArray[np.float64]

CELLS = (1, 8, 18, 46)
"""Published cells of a group by table: a total, or sex by 4, 9 or 23 ages."""

STABILITY = 9
"""Groups of one region and level that a person can be in, in the specification of 2020."""

_PLACES = [(geography, level) for geography in GEOGRAPHIES for level in LEVELS]
_DIGITS = 6  # of a size of noise that is searched for, rounded to the safe side


def rho_for_margin(margin: Exact, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the rho of a level whose published cells have a 95 % margin of error by the normal law.

    1.9208 / margin^2 for each of the groups a person is in; the first stage takes its share on top.

    >>> [round(float(rho_for_margin(margin)), 3) for margin in (3, 11, 50)]
    [2.134, 0.159, 0.008]
    """
    wanted, share = positive(margin, name="margin"), _share(gamma)
    return stability * Z95**2 / (2 * wanted**2 * (1 - share))


def exact_rho_for_margin(margin: int, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the least rho with which noise exceeds an integer margin in 5 % of the cells at most.

    Integer noise beyond a margin of 3 is at least 4 off, which the normal law does not know.

    >>> round(float(exact_rho_for_margin(3)), 3), round(float(exact_rho_for_margin(50)), 5)
    (1.528, 0.00753)
    """
    return Fraction(stability) / (2 * _widest(GaussianNoise, margin) * (1 - _share(gamma)))


def smallest_sizes(
    noise: Noise, *, relative_margin: Exact, of: Literal["cell", "total"] = "cell"
) -> tuple[int, int, int, int]:
    """Return from which size on a group can be shown as a total, and by sex and 4, 9 and 23 ages.

    `cell`: the 95 % margin of a cell is at most this part of the average cell. `total`: the margin of the
    sum of all cells is at most this part of the group.

    >>> smallest_sizes(GaussianNoise(625), relative_margin="0.5")
    (98, 784, 1764, 4508)
    >>> smallest_sizes(GaussianNoise(625), relative_margin="0.1", of="total")
    (490, 1386, 2079, 3324)
    """
    part = float(positive(relative_margin, name="relative_margin"))
    margin = float(Z95) * sqrt(noise.true_variance())
    sizes = [margin * (cells if of == "cell" else sqrt(cells)) / part for cells in CELLS]
    total, four, nine, many = (ceil(size - 1e-9) for size in sizes)
    return total, four, nine, many


def thresholds_for(
    sizes: Sequence[int], stage_one: Noise | None, *, chance: Exact = "0.95"
) -> tuple[int, int, int]:
    """Return thresholds with which a group of each size gets its table with this chance, or more.

    >>> thresholds_for((500, 1000, 7000), GaussianNoise("22500/1067"), chance="0.95")
    (492, 992, 6992)
    """
    if len(sizes) != 3:
        raise InputError(f"there are {len(sizes)} sizes; three are needed, one for each threshold")
    slack = 0 if stage_one is None else stage_one.quantile(fraction(chance, name="chance"))
    first, second, third = (max(0, int(size) - slack) for size in sizes)
    return first, second, third


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

    >>> found = shown([0, 93, 186], GaussianNoise(625), 93)
    >>> found.suppressed.round(4).tolist(), found.bias.round(2).tolist()
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

    >>> round(float(partial_means(LaplaceNoise(1), 0)), 6)   # r / (1 - r^2), r = e^-1
    0.425459
    """
    edges = np.atleast_1d(np.asarray(below, dtype=np.int64))
    start = np.maximum(edges + 1, -edges)  # the first x of the upper tail, at least 1 or 0
    spread = sqrt(noise.true_variance()) + 1.0
    reach = int(start.max(initial=0) + (12 if isinstance(noise, GaussianNoise) else 60) * spread)
    first = int(start.min(initial=0))
    support = np.arange(first, reach + 1, dtype=np.int64)
    terms = support * noise.pmf(support)
    sums = np.cumsum(terms[::-1])[::-1]  # small terms first
    means: Floats = sums[start - first].reshape(np.shape(below))
    return means


def table_chances(sizes: ArrayLike, stage_one: Noise | None, thresholds: Sequence[int]) -> Floats:
    """Return the chance of each table (total, 4, 9, 23 ages), a column each, by true size.

    >>> table_chances([971], GaussianNoise("15000/53"), (971, 4971, 19971)).round(3).tolist()
    [[0.488, 0.512, 0.0, 0.0]]
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    reached = [np.ones(sizes.shape)]
    for step in thresholds:
        gap = step - sizes
        reached.append(np.asarray(gap <= 0, dtype=np.float64) if stage_one is None else stage_one.sf(gap - 1))
    reached.append(np.zeros(sizes.shape))
    return np.stack([a - b for a, b in pairwise(reached)], axis=-1)


@dataclass(frozen=True, slots=True)
class DesignCost:
    """What a design costs one person: the sum of its rho, zCDP's epsilon and the exact one at delta."""

    rho: Fraction
    zcdp_epsilon: float
    epsilon: float


def cost(
    budgets: Mapping[tuple[str, int], Exact],
    *,
    delta: Exact,
    gamma: Exact = "0.1",
    stability: int = STABILITY,
    neighbours: Neighbours = "unbounded",
) -> DesignCost:
    """Return what budgets by geography and level cost together; two stages throughout.

    >>> found = cost({("USA", 2): "2.134", ("TRACT", 2): "0.159"}, delta="1e-10")
    >>> found.rho, round(found.zcdp_epsilon, 3), round(found.epsilon, 3)
    (Fraction(2293, 1000), 16.825, 15.453)
    """
    share, people = _share(gamma), 1 if neighbours == "unbounded" else 2
    spent = [positive(rho, name=f"rho of {place}") for place, rho in budgets.items()]
    if not spent:
        raise InputError("no geography has a budget")
    events: list[Event] = [
        DiscreteGaussian(variance=Fraction(stability) / (2 * part * rho), times=people * stability)
        for rho in spent
        for part in (share, 1 - share)
    ]
    whole, small = people * sum(spent, Fraction(0)), fraction(delta, name="delta")
    exact = float(compose(events).epsilon(delta=small))
    return DesignCost(whole, ZCDP.from_rho(whole).epsilon(delta=float(small)), max(exact, 0.0))


@dataclass(frozen=True, slots=True)
class Rivals:
    """Discrete Gaussian and geometric noise of the same margin, and what each costs at the same delta."""

    margin: int
    gaussian: GaussianNoise
    geometric: LaplaceNoise
    gaussian_epsilon: float
    geometric_epsilon: float


def rivals(margin: int, *, counts: int, delta: Exact) -> Rivals:
    """Compare both kinds of noise at equal accuracy, on `counts` counts that one person is in.

    Each has the most noise that stays within the margin in 95 % of the cells.

    >>> found = rivals(11, counts=9, delta="1e-10")
    >>> round(found.gaussian_epsilon, 2), round(found.geometric_epsilon, 2)
    (3.17, 2.34)
    """
    variance, scale = _widest(GaussianNoise, margin), _widest(LaplaceNoise, margin)
    small = fraction(delta, name="delta")
    epsilons = [
        max(float(compose([event]).epsilon(delta=small)), 0.0)
        for event in (
            DiscreteGaussian(variance=variance, times=counts),
            DiscreteLaplace(scale=scale, times=counts),
        )
    ]
    return Rivals(margin, GaussianNoise(variance), LaplaceNoise(scale), *epsilons)


def configuration_for(
    wanted: Mapping[tuple[str, int], tuple[int, Sequence[int]]],
    *,
    stability: int = STABILITY,
    gamma: Exact = "0.1",
    chance: Exact = "0.95",
    zero_suppression_chance: Exact = "0.9999",
    max_race_codes: int = 8,
) -> Configuration:
    """Return a configuration from wanted margins and sizes, ready for `write_toml`.

    `wanted` has, by geography and level, a whole margin of error and the three sizes from which sex by 4, 9
    and 23 ages is to be shown (with `chance`). Each rho is the least that keeps the margin, rounded up to
    four digits.

    >>> found = configuration_for({("USA", 2): (3, (500, 1000, 7000))})
    >>> found.budgets["USA", 2], found.thresholds["USA", 2]
    (Fraction(1529, 1000), (491, 991, 6991))
    """
    share, budgets, thresholds = _share(gamma), dict.fromkeys(_PLACES, Fraction(0)), {}
    for place, (margin, sizes) in wanted.items():
        if place not in budgets:
            raise InputError(f"there is no geography and level {place}")
        least = exact_rho_for_margin(margin, stability=stability, gamma=share)
        grain = Fraction(10) ** (floor(log10(least)) - 3)
        budgets[place] = ceil(least / grain) * grain
        stage_one = noise_for(share * budgets[place], stability, "zcdp")
        thresholds[place] = thresholds_for(sizes, stage_one, chance=chance)
    return Configuration(
        max_race_codes=max_race_codes,
        budgets=budgets,
        gamma=share,
        thresholds=thresholds,
        zero_suppression_chance=fraction(zero_suppression_chance, name="zero_suppression_chance"),
        allow_negative_counts=True,
        run_us=any(place[0] in US_GEOGRAPHIES for place in wanted),
        run_pr=any(place[0] in PR_GEOGRAPHIES for place in wanted),
        state_filter_us=STATES,
        privacy="zcdp",
    )


def _widest(kind: type[GaussianNoise] | type[LaplaceNoise], margin: int) -> Fraction:
    """Find the largest variance or scale, cut to six digits, of noise that keeps a margin with 95 %."""
    if isinstance(margin, bool) or not isinstance(margin, int) or not 1 <= margin <= 10**6:
        raise InputError(f"margin is {margin}; it must be a whole number from 1 to 1000000")
    tail = float(1 - CONFIDENCE) / 2
    low, high = 0.01, 4.0 * (margin + 1.0) ** 2
    for _ in range(60):  # until the ends are neighbours at six digits; the tail grows with the size
        middle = sqrt(low * high)
        if float(kind(Fraction(middle)).sf(margin)) <= tail:
            low = middle
        else:
            high = middle
        if high / low < 1 + 1e-9:
            break
    grain = Fraction(10) ** (floor(log10(low)) + 1 - _DIGITS)
    size = floor(Fraction(low) / grain) * grain
    while margin_of(kind(size)) > margin:  # certified
        size -= grain
    return size


def _share(gamma: Exact) -> Fraction:
    share = fraction(gamma, name="gamma")
    if not 0 < share < 1:
        raise InputError(f"gamma is {share}; it must be above 0 and below 1")
    return share
