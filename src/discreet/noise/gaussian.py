"""Discrete Gaussian noise N_Z(0, variance): P[X = x] ~ exp(-x^2 / (2 variance)).

The sum of the weights is a theta function. Poisson summation turns the slowly converging form of it
into the quickly converging one, so that three terms serve any variance. Tails: see `gaussian_tail`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InputError
from discreet.noise import balls, gaussian_tail
from discreet.noise.distribution import Floats, Noise
from discreet.numbers import Exact, positive

if TYPE_CHECKING:
    from flint import arb

VARIANCES = (Fraction(1, 10**4), Fraction(2**64))
"""The variances that are accepted: wide enough for any release, and tested at both ends."""

DUAL_FROM = Fraction(1, 6)
"""Near 1/(2 pi), where the theta sum and its Poisson dual converge equally fast."""

_TERMS = np.arange(1.0, 6.0)  # exp(-3 * 36) is far below the last digit


@dataclass(frozen=True, init=False)
class GaussianNoise(Noise):
    """Discrete Gaussian noise with probabilities proportional to exp(-x^2 / (2 variance)).

    `variance` is the parameter; the variance of the noise is a little less, see `variance_deficit`.

    >>> noise = GaussianNoise("625")
    >>> noise.quantile("0.9999")
    93
    >>> GaussianNoise(1).pmf([0, 1, 2]).round(6).tolist()
    [0.398942, 0.241971, 0.053991]
    >>> float(noise.log_sf(1000)) < -800
    True
    """

    variance: Fraction

    def __init__(self, variance: Exact) -> None:
        value = positive(variance, name="variance")
        if not VARIANCES[0] <= value <= VARIANCES[1]:
            raise InputError(f"variance is {value}; it must lie between {VARIANCES[0]} and {VARIANCES[1]}")
        object.__setattr__(self, "variance", value)

    def __str__(self) -> str:
        return f"discrete Gaussian noise of variance {self.variance}"

    def true_variance(self) -> float:
        """Return E X^2, at most the parameter `variance`.

        >>> round(GaussianNoise("0.1").true_variance(), 6), GaussianNoise(5).true_variance()
        (0.013297, 5.0)
        """
        if self.variance < DUAL_FROM:
            return self._primal_variance
        return float(self.variance) - self.variance_deficit()

    def variance_deficit(self) -> float:
        """Return `variance` minus E X^2: tiny from variance 1 on, where it cannot be seen in floats.

        >>> GaussianNoise("4.25").variance_deficit() < 5.8e-34
        True
        """
        v = float(self.variance)
        if self.variance < DUAL_FROM:
            return v - self._primal_variance
        weights = np.exp(-2.0 * math.pi**2 * v * _TERMS**2)
        return float(8.0 * math.pi**2 * v * v * np.sum(_TERMS**2 * weights) / self._theta)

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X) = variance s^2 / 2 plus a term of period 1/variance in s.

        >>> GaussianNoise(5).log_mgf([0.0, 0.2, -0.2]).round(6).tolist()
        [0.0, 0.1, 0.1]
        """
        s = np.abs(np.asarray(s, dtype=np.float64))
        v = float(self.variance)
        if self.variance >= DUAL_FROM:
            phase = v * s - np.rint(v * s)
            weights = np.exp(-2.0 * math.pi**2 * v * _TERMS**2)
            wave = np.sin(np.pi * phase[..., None] * _TERMS) ** 2 @ weights
            return (v * s * s / 2.0 + np.log1p(-4.0 * wave / self._theta))[()]
        # Few integers carry the tilted sum, all of them near the centre v s. (cosh - 1 keeps the
        # digits near s = 0, where the logarithm is close to 0.)
        centre = np.rint(v * s)
        near = np.minimum(s, 0.5 / v)[..., None] * _TERMS
        spread = _TERMS**2 / (2.0 * v)
        small = np.log1p(np.sum(np.exp(near - spread) * np.expm1(-near) ** 2, axis=-1) / self._theta)
        step = np.concatenate([-_TERMS, [0.0], _TERMS])
        drift = (s - centre / v)[..., None] * step - step**2 / (2.0 * v)
        large = (s * centre - centre**2 / (2.0 * v)) + np.log(np.sum(np.exp(drift), axis=-1) / self._theta)
        result: Floats = np.where(centre == 0.0, small, large)
        return result[()]

    @cached_property
    def _theta_excess(self) -> float:
        """The quickly converging theta value, less 1. (Theta is the sum of the weights, over
        sqrt(2 pi variance) if dual.)"""
        v = float(self.variance)
        rate = 2.0 * math.pi**2 * v if self.variance >= DUAL_FROM else 1.0 / (2.0 * v)
        return 2.0 * float(np.sum(np.exp(-rate * _TERMS**2)))

    @property
    def _theta(self) -> float:
        return 1.0 + self._theta_excess

    @cached_property
    def _log_total(self) -> float:
        scale = 2.0 * math.pi * float(self.variance) if self.variance >= DUAL_FROM else 1.0
        return math.log1p(self._theta_excess) + 0.5 * math.log(scale)

    @property
    def _primal_variance(self) -> float:
        weights = np.exp(-(_TERMS**2) / (2.0 * float(self.variance)))
        return float(2.0 * np.sum(_TERMS**2 * weights) / self._theta)

    def _log_pmf(self, x: Floats) -> Floats:
        return -x * (x / (2.0 * float(self.variance))) - self._log_total

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return self._log_pmf(m) + np.log(gaussian_tail.ratio(m, float(self.variance)))

    def _ball_total(self) -> arb:
        from flint import arb

        dual = self.variance >= DUAL_FROM
        rate = 2 * arb.pi() ** 2 * balls.ball(self.variance) if dual else balls.ball(1 / (2 * self.variance))
        theta, k, floor = arb(1), 1, arb(2) ** (-balls.current_bits())
        while not (term := (-rate * (k * k)).exp()) < floor:
            theta += 2 * term
            k += 1
        # the terms left out fall faster than a geometric series of ratio exp(-rate)
        theta = balls.padded(theta, 2 * term / (1 - (-rate).exp()))
        return theta * (2 * arb.pi() * balls.ball(self.variance)).sqrt() if dual else theta

    def _ball_weight(self, x: int) -> arb:
        return (-balls.ball(Fraction(x * x) / (2 * self.variance))).exp()

    def ball_pmf(self, x: int) -> arb:
        """Return a ball around P[X = x]."""
        return self._ball_weight(x) / self._ball_total()

    def ball_tail(self, m: int) -> arb:
        """Return a ball around P[X >= m]."""
        return self.ball_pmf(m) * gaussian_tail.ball_ratio(m, self.variance)

    def ball_pmfs(self, count: int) -> list[arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""
        # weight(k + 1) = weight(k) ratio(k), ratio(k + 1) = ratio(k) ratio(0)^2: products, no exp
        weights = [1 / self._ball_total()]
        ratio = self._ball_weight(1)
        step = ratio * ratio
        for _ in range(count - 1):
            weights.append(weights[-1] * ratio)
            ratio *= step
        return weights

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        return math.sqrt(2.0 * float(self.variance) * nats) + 2.0
