"""The noise of one geography and level: how much on which count, and which groups are suppressed.

With a stability s and a budget rho, a count of budget r gets discrete Gaussian noise of variance
s / (2 r) (zCDP), or two-sided geometric noise of scale s / r (pure privacy): r is rho for total-only
groups, gamma rho for the first stage and (1 - gamma) rho for the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, sums
from discreet.release.safetab.configuration import Configuration, Privacy
from discreet.release.safetab.geography import BELOW_STATE
from discreet.release.safetab.specification import Specification, Stability

Z95 = Fraction(196, 100)
"""The Bureau's margins of error are this many standard deviations."""

CONFIDENCE = Fraction(95, 100)
"""The chance with which a margin of error covers the noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """The noise of one geography and level.

    A noise of None is no noise at all. A group whose published count is a total alone and not above
    `suppression` is dropped; None if nothing is suppressed at this geography.
    """

    geography: str
    level: int
    budget: Fraction | None
    stability: Stability
    total_only: Noise | None
    stage_one: Noise | None
    stage_two: Noise | None
    thresholds: tuple[int, int, int]
    suppression: int | None


def mechanism(
    configuration: Configuration, specification: Specification, geography: str, level: int
) -> Mechanism:
    """Return the noise of a geography and level that has a budget."""
    budget = configuration.budgets[geography, level]
    place = f"{geography}, level {level}"
    if budget == 0:
        raise InputError(f"{place} has no budget, so it is not tabulated")
    if (geography, level) not in configuration.thresholds:
        raise InputError(f"{place} has no thresholds")
    stable = specification.stability(level, configuration.max_race_codes, geography)
    gamma, kind = configuration.gamma, configuration.privacy
    parts: list[Noise | None] = [None, None, None]
    # Nobody is counted anywhere if no code has an iteration: the noise is then as for one group.
    often = max(stable.value, 1)
    if budget is not None:
        try:
            parts = [noise_for(part * budget, often, kind) for part in (Fraction(1), gamma, 1 - gamma)]
        except InputError as error:
            raise InputError(f"the budget of {place} cannot be used: {error}") from None
    return Mechanism(
        geography=geography,
        level=level,
        budget=budget,
        stability=stable,
        total_only=parts[0],
        stage_one=parts[1],
        stage_two=parts[2],
        thresholds=configuration.thresholds[geography, level],
        suppression=suppression_threshold(parts[2], configuration.zero_suppression_chance)
        if geography in BELOW_STATE
        else None,
    )


def noise_for(budget: Fraction, stability: int, privacy: Privacy) -> Noise:
    """Return the noise of counts of which one person is in `stability`, for a budget over all of them.

    >>> print(noise_for(Fraction(9, 1250), 9, "zcdp"))
    discrete Gaussian noise of variance 625
    >>> print(noise_for(Fraction(9, 10), 9, "puredp"))
    discrete Laplace noise of scale 10
    """
    if privacy == "zcdp":
        return DiscreteGaussian(Fraction(stability) / (2 * budget)).single()
    return DiscreteLaplace(Fraction(stability) / budget).single()


@lru_cache(maxsize=1024)
def suppression_threshold(noise: Noise | None, chance: Fraction) -> int | None:
    """Return T: an empty group is dropped with at least this chance. None if the chance is 0.

    >>> suppression_threshold(DiscreteGaussian(625), Fraction(9999, 10000))
    93
    >>> suppression_threshold(None, Fraction(9999, 10000))
    0
    >>> suppression_threshold(DiscreteGaussian(625), Fraction(0)) is None
    True
    """
    if chance == 0:
        return None
    return 0 if noise is None else noise.quantile(chance)


def variance_of(noise: Noise | None) -> Fraction | float:
    """Return the variance that a table states: the parameter of Gaussian noise, E X^2 of geometric noise.

    >>> variance_of(DiscreteGaussian("31.25")), variance_of(None)
    (Fraction(125, 4), Fraction(0, 1))
    >>> round(float(variance_of(DiscreteLaplace(10))), 2)
    199.83
    """
    if noise is None:
        return Fraction(0)
    return noise.size if noise.is_gaussian else noise.true_variance()


def margin(noise: Noise | None, cells: int = 1) -> int:
    """Return the 95 % margin of error of a sum of cells: 95 % of the time the noise is within it.

    >>> margin(DiscreteGaussian(625)), margin(DiscreteGaussian("5000/159")), margin(None)
    (49, 11, 0)
    """
    return 0 if noise is None else sums.margin(noise, CONFIDENCE, times=cells)


def bureau_margin(variance: Fraction | float) -> int:
    """Return floor(1.96 sigma), the margin that the Bureau publishes, exact for a fraction.

    It is not a 95 % margin: at the parameters of 2020 the noise is within it 92.1 to 98.0 % of the time.

    >>> bureau_margin(Fraction(625)), bureau_margin(Fraction(5000, 159)), bureau_margin(Fraction(0))
    (49, 10, 0)
    """
    square = Z95**2 * Fraction(variance)
    return isqrt(square.numerator // square.denominator)
