"""The search for a factor, and its rounding to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

DIGITS = 6
"""Digits of a factor: rounding changes a variance by a millionth at most."""


def below(value: float) -> Fraction:
    """Return a short fraction just below a float, for a target that must not be exceeded.

    >>> below(26.340588852722323) < Fraction("26.340588852722323")
    True
    """
    return Fraction(math.floor(value * 10**12), 10**12)


def rounded_up(factor: float) -> Fraction:
    """Return the factor with so many significant decimals, rounded up.

    >>> rounded_up(0.87720251)
    Fraction(877203, 1000000)
    """
    places = DIGITS - math.floor(math.log10(factor)) - 1
    scale = Fraction(10) ** places
    return Fraction(math.ceil(Fraction(factor) * scale)) / scale


def solve_factor(epsilon: Callable[[Fraction], float], target: float) -> Fraction:
    """Return the factor at which the falling epsilon meets the target, rounded up, as a short decimal."""
    low, high = 0.0, math.inf
    x = 1.0
    last: tuple[float, float] | None = None
    for _ in range(60):
        size = Fraction(round(x * 2**40), 2**40)
        gap = math.log(epsilon(size) / target)
        if gap > 0:
            low = max(low, x)
        else:
            high = min(high, x)
        slope = -0.6  # epsilon falls between the root and the first power of the factor
        if last is not None and math.log(x) != last[0]:
            found = (gap - last[1]) / (math.log(x) - last[0])
            slope = found if found < -0.1 else slope
        last = (math.log(x), gap)
        better = x * math.exp(-gap / slope)
        if not low < better < high:
            better = 2 * x if not math.isfinite(high) else 0.5 * (low + high)
        done = abs(better / x - 1) < 1e-9
        x = better
        if done:
            break
    return rounded_up(x * (1 + 1e-9))
