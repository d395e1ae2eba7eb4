"""Averages of noisy counts, such as people a household: all that the counts do not contradict.

The average is r = N / D, of which only noisy N and D are known. For each r that can be (an average of people
a household lies between 1 and the limit on them), N - r D is noise alone, whose law is known exactly: r is in
the interval if what was measured is as close to zero as that law says at the level asked for. That is
Fieller's set, with the law of discrete noise in place of the normal one, within what can be. It covers the
true average at the stated level whatever the average is, also at the ends of what can be, and however few
households there are: nothing is divided. Where the noise hides the number of households, the interval is all
that can be.

The law of N - r D lives on a lattice, which changes with r. Half-widths that change smoothly with r are used
in its place: those of a Gaussian and half a step of N, times what it takes to be no smaller than those of the
exact law at every whole average, where the lattice is coarsest, and between them.

The average that is covered is the one that was counted: of at most so many people of each household.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.areas.tree import Floats
from discreet.errors import InputError
from discreet.estimation.error_laws import Terms, half_widths, normal_quantile
from discreet.noise import Noise
from discreet.numbers import share, shown

_STEPS = 256
"""Averages tried between the least and the most that can be."""

_HALVINGS = 40
"""How often the step to an end is halved."""

_CHECKED = 12
"""Averages between the least and the most at which half-widths are compared to those of the exact law."""


@dataclass(frozen=True, slots=True)
class Average:
    """An average of noisy counts: its best value within what can be, and its interval."""

    value: float
    lower: float
    upper: float
    level: float


def average(
    total: float,
    number: float,
    *,
    total_noise: Sequence[Noise],
    number_noise: Sequence[Noise],
    at_least: float = 0.0,
    at_most: float,
    level: float = 0.9,
) -> Average:
    """Return the average total / number of noisy counts, which lies between `at_least` and `at_most`.

    `total_noise` are the laws of the noises in the total, one for each noisy count that it adds up, and
    `number_noise` those in the number.

    Guarantee. Assumed: the noises are independent, and have these laws; the true average lies between
    `at_least` and `at_most`. Claimed: the interval holds it with a probability of at least `level`. If r is
    the true average, total - r number is noise, within the half-width of its own law with that probability,
    and then r is not cut off: ends are sought outwards (`test_intervals_cover_averages`).

    >>> from discreet.noise import DiscreteGaussian
    >>> noise = DiscreteGaussian(variance=100)
    >>> found = average(2600, 1000, total_noise=[noise] * 2, number_noise=[noise], at_least=1, at_most=10)
    >>> round(found.value, 3), round(found.lower, 2), round(found.upper, 2)
    (2.6, 2.55, 2.65)
    >>> few = average(30, 4, total_noise=[noise] * 2, number_noise=[noise], at_least=1, at_most=10)
    >>> few.lower, few.upper
    (1.0, 10.0)
    """
    share(level, name="level", floats=True)
    if not 0.0 <= at_least < at_most < float("inf"):
        raise InputError(
            f"an average between {shown(at_least)} and {shown(at_most)} makes no sense; the first must be "
            "the smaller, and neither below zero"
        )
    if not total_noise or not number_noise:
        raise InputError("the total and the number must have noise; exact numbers have an exact average")
    widths = _Widths.of(tuple(total_noise), tuple(number_noise), at_least, at_most, level)

    def excess(ratios: Floats) -> Floats:
        return np.abs(total - ratios * number) - widths(ratios)

    grid = np.linspace(at_least, at_most, _STEPS + 1)
    nearest = float(grid[np.argmin(np.abs(total - grid * number))])
    best = min(max(total / number, at_least), at_most) if number > 0 else nearest
    grid = np.unique(np.append(grid, best))
    inside = excess(grid) <= 0.0
    if not inside.any():  # no average can be: the one that comes closest stands for all
        closest = float(grid[np.argmin(excess(grid))])
        return Average(closest, closest, closest, level)
    first, last = int(np.argmax(inside)), len(grid) - 1 - int(np.argmax(inside[::-1]))
    lower, upper = float(grid[first]), float(grid[last])
    if first:
        lower = _end(excess, float(grid[first - 1]), lower)
    if last < len(grid) - 1:
        upper = _end(excess, float(grid[last + 1]), upper)
    return Average(min(max(best, lower), upper), lower, upper, level)


def _end(excess: Callable[[Floats], Floats], outside: float, inside: float) -> float:
    """Return the average outside that is next to the interval."""
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2
        if float(excess(np.array([middle]))[0]) <= 0.0:
            inside = middle
        else:
            outside = middle
    return outside


@dataclass(frozen=True, slots=True)
class _Widths:
    """Half-widths of total - r number that change smoothly with r, and are no smaller than the exact ones."""

    total: float
    number: float
    quantile: float
    factor: float

    @classmethod
    @lru_cache(maxsize=256)
    def of(
        cls, total: tuple[Noise, ...], number: tuple[Noise, ...], least: float, most: float, level: float
    ) -> _Widths:
        """Compare smooth half-widths to exact ones."""
        first, second = (sum(law.true_variance() for law in laws) for laws in (total, number))
        plain = cls(first, second, normal_quantile(level), 1.0)
        whole = np.arange(math.ceil(least), min(math.floor(most), math.ceil(least) + _CHECKED) + 1)
        ratios = np.unique([*whole, *np.linspace(least, most, _CHECKED + 1)])
        exact = _exact_widths(ratios, total, number, level)
        return cls(first, second, plain.quantile, max(1.0, float((exact / plain(ratios)).max())))

    def __call__(self, ratios: Floats) -> Floats:
        sizes = np.sqrt(self.total + ratios**2 * self.number)
        return np.asarray(self.factor * (self.quantile * sizes + 0.5))


def _exact_widths(ratios: Floats, total: Sequence[Noise], number: Sequence[Noise], level: float) -> Floats:
    """Return the half-width of total - r number for each r, from the exact law of its noise."""
    rows, ones = np.arange(len(ratios), dtype=np.int64), np.ones(len(ratios))
    parts = [(rows, ones, law, ones) for law in total] + [(rows, ratios, law, ones) for law in number]
    first, second = (sum(law.true_variance() for law in laws) for laws in (total, number))
    return half_widths(first + ratios**2 * second, Terms.of(parts), level)
