"""Honest intervals: the error of an estimate is a sum of discrete noises, sometimes of one that dominates.

Where the noise of one measurement, or of a few, carries the error, a Gaussian interval is wrong: a State's
total has weight 0.99 on one noise of variance 1.2, and its nominal 90 % interval covers 84.7 %. So terms are
taken with their exact law, the largest weight first, as long as what is finer than half of that weight has a
standard deviation below 0.6 of it; the rest is Gaussian, and hides the lattice of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.estimation.components import Floats
from discreet.noise import Noise

SMOOTH = 0.6
"""A rest of this many weights of the largest term hides its lattice."""

MOST_TERMS = 8
"""More terms of one size than this are as good as Gaussian together."""
MOST_POINTS = 200_000
TAIL = 1e-9


@dataclass(frozen=True, slots=True)
class Term:
    """A noise that enters an estimate with this weight, so many times over independently."""

    weight: float
    law: Noise
    times: int = 1


def half_width(variance: float, terms: Sequence[Term], level: float) -> float:
    """Return the w for which |error| <= w has at least the chance `level`.

    >>> from discreet.noise import DiscreteGaussian
    >>> half_width(100.0, [], 0.95)  # doctest: +ELLIPSIS
    19.5996...
    >>> half_width(DiscreteGaussian(1).true_variance(), [Term(1.0, DiscreteGaussian(1))], 0.9)
    2.0
    """
    return float(half_widths(np.array([variance]), [terms], level)[0])


def half_widths(variances: Floats, terms: Sequence[Sequence[Term]], level: float) -> Floats:
    """Return the half-width for many errors at once, each with its variance and the terms in it."""
    found: Floats = _normal(level) * np.sqrt(np.maximum(variances, 0.0))
    sizes: dict[int, float] = {}  # a law's variance, by identity: hashes of fractions are slow
    single: dict[Noise, list[tuple[int, float, float]]] = {}
    for place, (variance, some) in enumerate(zip(variances.tolist(), terms, strict=True)):
        if variance <= 0.0 or not some:
            continue
        for one in some:
            if id(one.law) not in sizes:
                sizes[id(one.law)] = one.law.true_variance()
        chosen, rest = _dominating(variance, some, sizes)
        if not chosen:
            continue
        if len(chosen) == 1 and chosen[0].times == 1 and rest > 0.0:
            single.setdefault(chosen[0].law, []).append((place, abs(chosen[0].weight), math.sqrt(rest)))
        else:
            found[place] = _exact_width(variance, chosen, rest, level)
    for law, rows in single.items():
        places, weights, deviations = (np.array(column) for column in zip(*rows, strict=True))
        found[places] = _single_widths(law, weights, deviations, level)
    return found


def _dominating(variance: float, terms: Sequence[Term], sizes: dict[int, float]) -> tuple[list[Term], float]:
    """Return the terms to be taken with their exact law, and the variance of the rest."""
    ranked = sorted(terms, key=lambda one: -abs(one.weight))
    parts = [one.times * one.weight**2 * sizes[id(one.law)] for one in ranked]
    weights = [abs(one.weight) for one in ranked]
    many = 0
    while many < len(ranked) and weights[many] > 1e-6:
        # what is finer than half of this weight can smooth it; terms of its own size make the same lattice
        finer = variance - sum(
            part for part, one in zip(parts, weights, strict=True) if one > weights[many] / 2
        )
        if SMOOTH * weights[many] <= math.sqrt(max(finer, 0.0)):
            break
        many += 1
    if sum(term.times for term in ranked[:many]) > MOST_TERMS:
        return [], variance
    rest = variance - sum(parts[:many])
    return ranked[:many], rest if rest > 1e-9 * variance else 0.0


def _exact_width(variance: float, chosen: Sequence[Term], rest: float, level: float) -> float:
    points, chances = _law(chosen)
    if rest == 0.0:
        far = np.round(np.abs(points), 9)
        order = np.argsort(far, kind="stable")
        reached = int(np.searchsorted(np.cumsum(chances[order]), level - 1e-12))
        return float(far[order][min(reached, len(order) - 1)])
    deviation = math.sqrt(rest)
    high = 12.0 * math.sqrt(variance) + 12.0 * max(abs(term.weight) for term in chosen)
    return float(_root(points[None], chances, np.array([deviation]), np.array([high]), level)[0])


def _single_widths(law: Noise, weights: Floats, deviations: Floats, level: float) -> Floats:
    """Return half-widths of weight * noise + a Gaussian, for many weights and Gaussians."""
    reach = max(1, _reach(law))
    steps = np.arange(-reach, reach + 1)
    chances = law.pmf(steps)
    high = 12.0 * (deviations + weights * (1.0 + math.sqrt(law.true_variance())))
    found = np.empty(len(weights))
    rows = max(1, (1 << 20) // len(steps))
    for start in range(0, len(weights), rows):
        part = slice(start, start + rows)
        found[part] = _root(weights[part, None] * steps, chances, deviations[part], high[part], level)
    return found


def _root(points: Floats, chances: Floats, deviations: Floats, high: Floats, level: float) -> Floats:
    """Return for each row of points the w with the chance `level`; the law is symmetric."""
    low = np.zeros_like(high)
    for _ in range(50):
        middle = (low + high) / 2
        inside = 2.0 * (_cdf((middle[:, None] - points) / deviations[:, None]) @ chances) - chances.sum()
        enough = inside >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _law(terms: Sequence[Term]) -> tuple[Floats, Floats]:
    """Return the points and chances of a sum of few terms."""
    points: Floats = np.zeros(1)
    chances: Floats = np.ones(1)
    for term in terms:
        reach = max(1, _reach(term.law))
        one = term.law.pmf(np.arange(-reach, reach + 1))
        law: Floats = one
        for _ in range(term.times - 1):
            law = np.asarray(np.convolve(law, one), dtype=np.float64)
        steps = term.weight * (np.arange(len(law)) - len(law) // 2)
        keep = law > TAIL
        points = (points[:, None] + steps[keep]).ravel()
        chances = (chances[:, None] * law[keep]).ravel()
        if len(points) > MOST_POINTS // 100:
            points, of = np.unique(np.round(points, 9), return_inverse=True)
            chances = np.asarray(np.bincount(of.ravel(), weights=chances), dtype=np.float64)
        if len(points) > MOST_POINTS:
            keep = chances > np.sort(chances)[-MOST_POINTS]
            points, chances = points[keep], chances[keep]
    return points, chances


@lru_cache(maxsize=4096)
def _reach(law: Noise) -> int:
    return law.quantile("0.9999999995")


@lru_cache(maxsize=64)
def _normal(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1.0 + level) / 2)


def _cdf(x: Floats) -> Floats:
    if x.size > 2000:
        from scipy.special import ndtr  # slow to load, fast on many

        return np.asarray(ndtr(x), dtype=np.float64)
    found: Floats = 0.5 * _erfc(-x / math.sqrt(2.0))
    return found


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of intervals, and where nothing was left of one but the nearest number that can be."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    moved: NDArray[np.bool_]


def count_ends(estimate: Floats, width: Floats) -> Ends:
    """Return intervals of counts: ends rounded inwards to whole numbers, none below zero.

    Where nothing is left, it is the nearest whole number that is not negative.

    >>> ends = count_ends(np.array([4.3, -3.0]), np.array([1.5, 1.0]))
    >>> ends.lower.tolist(), ends.upper.tolist(), ends.moved.tolist()
    ([3.0, 0.0], [5.0, 0.0], [False, True])
    """
    lower = np.maximum(np.ceil(estimate - width - 1e-9), 0.0)
    upper = np.floor(estimate + width + 1e-9)
    moved = upper < lower
    nearest = np.maximum(np.rint(estimate), 0.0)
    return Ends(np.where(moved, nearest, lower), np.where(moved, nearest, upper), moved)
