"""Budgets for margins: the least that keeps a margin of error, and both kinds of noise at equal accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor, log10, sqrt

from discreet.accounting.privacy_loss import compose
from discreet.census.mechanism.margins import CONFIDENCE, Z95
from discreet.census.mechanism.margins import margin_of_error as margin_of
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.numbers import Exact, fraction, positive

STABILITY = 9
"""Groups of one region and level that a person can be in, in the specification of 2020."""

LARGEST_MARGIN = 10**6
_DIGITS = 6  # of a size of noise that is searched for, rounded to the safe side
_GAUSSIAN, _LAPLACE = DiscreteGaussian(variance=1), DiscreteLaplace(scale=1)


def rho_for_margin(margin: Exact, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the rho of a level whose published cells have a 95 % margin of error by the normal law.

    1.9208 / margin^2 for each of the groups a person is in; the first stage takes its share on top.

    >>> [round(float(rho_for_margin(margin)), 3) for margin in (3, 11, 50)]
    [2.134, 0.159, 0.008]
    """
    wanted, share = positive(margin, name="margin"), stage_share(gamma)
    return stability * Z95**2 / (2 * wanted**2 * (1 - share))


def exact_rho_for_margin(margin: int, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the least rho with which noise exceeds an integer margin in 5 % of the cells at most.

    Integer noise beyond a margin of 3 is at least 4 off, which the normal law does not know.

    >>> round(float(exact_rho_for_margin(3)), 3), round(float(exact_rho_for_margin(50)), 5)
    (1.528, 0.00753)
    """
    return Fraction(stability) / (2 * _widest(_GAUSSIAN, margin).size * (1 - stage_share(gamma)))


def exact_epsilon_for_margin(margin: int, *, stability: int = STABILITY, gamma: Exact = "0.1") -> Fraction:
    """Return the same of pure privacy: the least epsilon whose geometric noise keeps the margin.

    >>> round(float(exact_epsilon_for_margin(11)), 3)
    2.598
    """
    return Fraction(stability) / (_widest(_LAPLACE, margin).size * (1 - stage_share(gamma)))


FOR_MARGIN = {"zcdp": exact_rho_for_margin, "puredp": exact_epsilon_for_margin}
"""The least budget for a margin, by the kind of privacy."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """What discrete Gaussian and geometric noise of the same margins cost at the same delta, in one stage.

    Each has the most noise that stays within the margin 95 % of the time: `variances` and `scales`.
    """

    margins: tuple[tuple[int, int], ...]
    variances: tuple[Fraction, ...]
    scales: tuple[Fraction, ...]
    gaussian_epsilon: float
    geometric_epsilon: float


def rivals(margins: Sequence[tuple[int, int]], *, delta: Exact) -> Rivals:
    """Compare both kinds of noise at equal accuracy: margins, each with the counts that one person is in.

    >>> compared = rivals([(11, 9)], delta="1e-10")
    >>> round(compared.gaussian_epsilon, 2), round(compared.geometric_epsilon, 2)
    (3.17, 2.34)
    """
    small = fraction(delta, name="delta")
    gaussians, laplaces = ([_widest(law, margin) for margin, _ in margins] for law in (_GAUSSIAN, _LAPLACE))
    gaussian, geometric = (
        max(float(compose([noise.repeated(n) for noise, (_, n) in each]).epsilon(delta=small)), 0.0)
        for each in (zip(laws, margins, strict=True) for laws in (gaussians, laplaces))
    )
    variances, scales = (tuple(law.size for law in laws) for laws in (gaussians, laplaces))
    return Rivals(tuple(margins), variances, scales, gaussian, geometric)


@lru_cache(maxsize=256)
def _widest(law: Noise, margin: int) -> Noise:
    """Find noise of a law, its variance or scale cut to six digits, as wide as keeps a margin with 95 %."""
    if isinstance(margin, bool) or not isinstance(margin, int) or not 1 <= margin <= LARGEST_MARGIN:
        raise InputError(f"margin is {margin}; it must be a whole number from 1 to {LARGEST_MARGIN}")
    tail = float(1 - CONFIDENCE) / 2
    low, high = 0.01, 4.0 * (margin + 1.0) ** 2
    for _ in range(60):  # until the ends are neighbours at six digits; the tail grows with the size
        middle = sqrt(low * high)
        if float(law.resized(Fraction(middle)).sf(margin)) <= tail:
            low = middle
        else:
            high = middle
        if high / low < 1 + 1e-9:
            break
    grain = Fraction(10) ** (floor(log10(low)) + 1 - _DIGITS)
    size = floor(Fraction(low) / grain) * grain
    while margin_of(law.resized(size)) > margin:  # certified
        size -= grain
    return law.resized(size)


def stage_share(gamma: Exact) -> Fraction:
    """Read the first stage's share of a budget.

    >>> stage_share("0.1")
    Fraction(1, 10)
    """
    share = fraction(gamma, name="gamma")
    if not 0 < share < 1:
        raise InputError(f"gamma is {share}; it must be above 0 and below 1")
    return share
