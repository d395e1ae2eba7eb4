"""Discrete Laplace noise, also called the two-sided geometric: P[X = x] ~ exp(-|x| / scale).

Everything has a closed form in r = exp(-1/scale): P[X = 0] = (1 - r)/(1 + r), P[X >= m] = r^m/(1 + r).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError
from discreet.noise import balls
from discreet.noise.distribution import Floats, Noise
from discreet.numbers import Exact, positive

if TYPE_CHECKING:
    from flint import arb

SCALES = (Fraction(1, 10**4), Fraction(2**32))
"""The scales that are accepted: wide enough for any release, and tested at both ends."""


@dataclass(frozen=True, init=False)
class LaplaceNoise(Noise):
    """Discrete Laplace noise with probabilities proportional to exp(-|x| / scale).

    >>> noise = LaplaceNoise("1/2")
    >>> round(float(noise.pmf(0)), 6), noise.pmf([-1, 1]).round(6).tolist()
    (0.761594, [0.103071, 0.103071])
    >>> noise.quantile("0.9999")
    4
    """

    scale: Fraction

    def __init__(self, scale: Exact) -> None:
        value = positive(scale, name="scale")
        if not SCALES[0] <= value <= SCALES[1]:
            raise InputError(f"scale is {value}; it must lie between {SCALES[0]} and {SCALES[1]}")
        object.__setattr__(self, "scale", value)

    def __str__(self) -> str:
        return f"discrete Laplace noise of scale {self.scale}"

    def true_variance(self) -> float:
        """Return E X^2 = 2r / (1 - r)^2, near 2 scale^2 - 1/6 when the scale is large.

        >>> round(LaplaceNoise(10).true_variance(), 4)
        199.8334
        """
        rate = 1.0 / float(self.scale)
        return 2.0 * math.exp(-rate) / math.expm1(-rate) ** 2

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X); infinite from |s| = 1/scale on.

        >>> LaplaceNoise(2).log_mgf([0.0, 0.25, 0.5]).round(4).tolist()
        [0.0, 0.2825, inf]
        """
        s = np.abs(np.asarray(s, dtype=np.float64))
        rate = 1.0 / float(self.scale)
        inside = np.minimum(s, 0.5 * rate)
        # E exp(sX) = 1 / (1 - near): exact to the last digits where the mgf is near 1 ...
        near = 4.0 * math.exp(-rate) * (np.sinh(inside / 2.0) / math.expm1(-rate)) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # ... and the product form, where 1 - near would cancel.
            far = (
                2.0 * math.log(-math.expm1(-rate))
                - np.log(-np.expm1(np.minimum(s - rate, 0.0)))
                - np.log(-np.expm1(-s - rate))
            )
        inner = -np.log1p(-near)
        result: Floats = np.where(s < 0.5 * rate, inner, np.where(s < rate, far, np.inf))
        return result[()]

    def _log_pmf(self, x: Floats) -> Floats:
        rate = 1.0 / float(self.scale)
        r = math.exp(-rate)
        # P[X = 0] = (1 - r)/(1 + r), without cancellation whether it is near 0 or near 1
        near_one = r < 0.25
        log_zero = math.log1p(-2.0 * r / (1.0 + r)) if near_one else math.log(-math.expm1(-rate) / (1.0 + r))
        return log_zero - np.abs(x) / float(self.scale)

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return -m / float(self.scale) - math.log1p(math.exp(-1.0 / float(self.scale)))

    def _ball_ratio(self) -> arb:
        return (-balls.ball(1 / self.scale)).exp()

    def ball_pmf(self, x: int) -> arb:
        """Return a ball around P[X = x]."""
        ratio = self._ball_ratio()
        return (-balls.ball(abs(x) / self.scale)).exp() * (1 - ratio) / (1 + ratio)

    def ball_tail(self, m: int) -> arb:
        """Return a ball around P[X >= m]."""
        return (-balls.ball(m / self.scale)).exp() / (1 + self._ball_ratio())

    def ball_pmfs(self, count: int) -> list[arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""
        ratio = self._ball_ratio()
        weights = [(1 - ratio) / (1 + ratio)]
        for _ in range(count - 1):
            weights.append(weights[-1] * ratio)
        return weights

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        return float(self.scale) * nats + 1.0
