"""Discrete Gaussian noise N_Z(0, variance): P[X = x] ~ exp(-x^2 / (2 variance)).

The sum of the weights is a theta sum (see `theta`); tails are in `gaussian_tail`. On a count that changes by
mu the loss is mu X / variance + mu^2 / (2 variance), X the noise. Tilted by e^(theta L), X is a discrete
Gaussian around theta mu, so that each transform of the loss is a theta sum as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.noise import balls, gaussian_tail
from discreet.noise.distribution import Floats, Noise
from discreet.noise.theta import (
    DUAL_FROM,
    TERMS,
    Complexes,
    ball_sum,
    dual_log_ratio,
    dual_transform,
    log_ratio,
)
from discreet.numbers import Exact

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, init=False)
class DiscreteGaussian(Noise):
    """Discrete Gaussian noise on a count that one person can change by `sensitivity`, `times` times over.

    The noise takes the integer x with probability proportional to exp(-x^2 / (2 variance)). `variance` is the
    parameter; the variance of the noise is a little less, see `variance_deficit`.

    >>> DiscreteGaussian(variance="5/2", times=10)
    DiscreteGaussian(variance=Fraction(5, 2), sensitivity=1, times=10)
    >>> DiscreteGaussian(variance=2.5)
    Traceback (most recent call last):
    discreet.errors.InputError: variance is the float 2.5, which is not exactly what it looks like; \
write it as a string such as "2.5", or as a Fraction or an int
    >>> noise = DiscreteGaussian(625)
    >>> noise.quantile("0.9999"), float(noise.log_sf(1000)) < -800
    (93, True)
    >>> DiscreteGaussian(1).pmf([0, 1, 2]).round(6).tolist()
    [0.398942, 0.241971, 0.053991]
    """

    FAMILY: ClassVar = "discrete Gaussian"
    PARAMETER: ClassVar = "variance"
    RANGE: ClassVar = (Fraction(1, 10**4), Fraction(2**64))
    PER_BIT: ClassVar = 4
    WIDEST: ClassVar = Fraction(1 << 22)
    is_gaussian: ClassVar = True

    variance: Fraction
    sensitivity: int
    times: int

    def __init__(self, variance: Exact, *, sensitivity: int = 1, times: int = 1) -> None:
        super().__init__(variance, sensitivity=sensitivity, times=times)

    # -- probabilities ----------------------------------------------------------------------------

    @cached_property
    def is_dual(self) -> bool:
        """Whether the Poisson dual sum is the short one."""
        return self.variance >= DUAL_FROM

    def true_variance(self) -> float:
        """Return E X^2, at most the parameter `variance`.

        >>> round(DiscreteGaussian("0.1").true_variance(), 6), DiscreteGaussian(5).true_variance()
        (0.013297, 5.0)
        """
        return self._size - self.variance_deficit() if self.is_dual else self._primal_variance

    def variance_deficit(self) -> float:
        """Return `variance` minus E X^2: tiny from variance 1 on, where it cannot be seen in floats.

        >>> DiscreteGaussian("4.25").variance_deficit() < 5.8e-34
        True
        """
        v = self._size
        if not self.is_dual:
            return v - self._primal_variance
        weights = np.exp(-2.0 * math.pi**2 * v * TERMS**2)
        return float(8.0 * math.pi**2 * v * v * np.sum(TERMS**2 * weights) / self._theta)

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X) = variance s^2 / 2 plus a term of period 1/variance in s.

        >>> DiscreteGaussian(5).log_mgf([0.0, 0.2, -0.2]).round(6).tolist()
        [0.0, 0.1, 0.1]
        """
        s = np.abs(np.asarray(s, dtype=np.float64))
        v = self._size
        if self.is_dual:
            return (v * s * s / 2.0 + dual_log_ratio(v * s, v))[()]
        # Few integers carry the tilted sum, all of them near the centre v s. (cosh - 1 keeps the
        # digits near s = 0, where the logarithm is close to 0.)
        centre = np.rint(v * s)
        near = np.minimum(s, 0.5 / v)[..., None] * TERMS
        spread = TERMS**2 / (2.0 * v)
        small = np.log1p(np.sum(np.exp(near - spread) * np.expm1(-near) ** 2, axis=-1) / self._theta)
        step = np.concatenate([-TERMS, [0.0], TERMS])
        drift = (s - centre / v)[..., None] * step - step**2 / (2.0 * v)
        large = (s * centre - centre**2 / (2.0 * v)) + np.log(np.sum(np.exp(drift), axis=-1) / self._theta)
        result: Floats = np.where(centre == 0.0, small, large)
        return result[()]

    @cached_property
    def _theta_excess(self) -> float:
        """The shorter theta sum less 1. (It is the sum of the weights, over sqrt(2 pi variance) if dual.)"""
        rate = 2.0 * math.pi**2 * self._size if self.is_dual else 1.0 / (2.0 * self._size)
        return 2.0 * float(np.sum(np.exp(-rate * TERMS**2)))

    @property
    def _theta(self) -> float:
        return 1.0 + self._theta_excess

    @cached_property
    def _log_total(self) -> float:
        scale = 2.0 * math.pi * self._size if self.is_dual else 1.0
        return math.log1p(self._theta_excess) + 0.5 * math.log(scale)

    @property
    def _primal_variance(self) -> float:
        weights = np.exp(-(TERMS**2) / (2.0 * self._size))
        return float(2.0 * np.sum(TERMS**2 * weights) / self._theta)

    def _log_pmf(self, x: Floats) -> Floats:
        return -x * (x / (2.0 * self._size)) - self._log_total

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return self._log_pmf(m) + np.log(gaussian_tail.ratio(m, self._size))

    def _ball_total(self) -> arb:
        from flint import arb

        total = ball_sum(Fraction(0), self.variance)
        return total * (2 * arb.pi() * balls.ball(self.variance)).sqrt() if self.is_dual else total

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
        return math.sqrt(2.0 * self._size * nats) + 2.0

    def split_exponent(self, k: int, u: int, s: int) -> tuple[int, int]:
        """Return t as a quotient of integers; it grows with u and with k."""
        return (2 * k * s + u) * u * self.variance.denominator, 2 * self.variance.numerator

    # -- the privacy loss -------------------------------------------------------------------------

    @cached_property
    def step(self) -> Fraction:
        """Loss per unit of noise."""
        return self.sensitivity / self.variance

    @cached_property
    def offset(self) -> Fraction:
        """Loss at X = 0, of one count."""
        return Fraction(self.sensitivity**2) / (2 * self.variance)

    @property
    def precision(self) -> Fraction:
        """Squared sensitivity over variance, summed over the `times`: what the noise adds to R = 2 rho.

        >>> DiscreteGaussian(variance=5, sensitivity=2, times=10).precision
        Fraction(8, 1)
        """
        return self.times * self.sensitivity**2 / self.variance

    @cached_property
    def is_plain(self) -> bool:
        """Whether only the nearest frequency of the dual sum matters.

        Its neighbours count only near half a turn, and only while the factor itself is not negligible
        there: at angle pi/2 it is e^(-times variance pi^2 / 8).
        """
        v = float(self.variance)
        return self.is_dual and self.times * v > 60 and self.times * math.exp(-(math.pi**2) * v) < 1e-17

    def shift(self, theta: float) -> int:
        """The integer next to the centre of the tilted noise."""
        return round(theta * self.sensitivity)

    def near(self, theta: float) -> float:
        """How far the centre of the tilted noise lies from that integer."""
        return theta * self.sensitivity - round(theta * self.sensitivity)

    def tilted(self, theta: float, nats: float = 40.0) -> tuple[int, NDArray[np.int64], Floats]:
        """Return (shift, u, p): under the tilt e^(theta L), X = shift + u with probability p."""
        v = float(self.variance)
        reach = math.ceil(math.sqrt(2 * nats * v)) + 1
        u = np.arange(-reach, reach + 1)
        logs = -((u - self.near(theta)) ** 2) / (2 * v)
        weight = np.exp(logs - logs.max())
        return self.shift(theta), u, weight / weight.sum()

    def log_transform(self, theta: float, turn: Floats) -> Complexes:
        """log E e^(2 pi i turn (X - shift)) under the tilt, summed over the `times`, for |turn| <= 1/2."""
        if not self.is_dual:
            return super().log_transform(theta, turn)
        angle, near, v = 2 * math.pi * turn, self.near(theta), float(self.variance)
        if self.is_plain:
            return np.asarray((-0.5 * self.times * v) * angle * angle + 1j * (self.times * near) * angle)
        logs = dual_transform(angle, near, v)
        return self.times * logs.real + 1j * (self.times * logs.imag)

    def tilted_variance(self, theta: float = 0.0) -> float:
        """Variance of one count's X under the tilt, nearly."""
        return float(self.variance) if self.is_dual else super().tilted_variance(theta)

    def log_factor(self, theta: Floats) -> Floats:
        """log of what the lattice adds: theta sums at centre theta * sensitivity and at 0."""
        ratio = dual_log_ratio if self.is_dual else log_ratio
        return ratio(theta * self.sensitivity, float(self.variance))

    def log_factor_ball(self, theta: Fraction) -> arb:
        """The same, enclosed."""
        at_zero = ball_sum(Fraction(0), self.variance)
        return (ball_sum(theta * self.sensitivity, self.variance) / at_zero).log()

    def radius(self, depth: float, theta: float) -> float:
        """The least d in [0, pi] beyond which modulus^times stays below e^-depth; pi if there is none.

        Dual: for the largest modulus over all tilts, the numerator at its largest (centre an integer), the
        denominator at its smallest (half an integer).
        """
        if not self.is_dual:
            return super().radius(depth, theta)
        v = float(self.variance)
        need = depth / self.times
        radius = math.sqrt(2 * need / v)
        if v > 4 and radius < 1.5:
            # neighbours are below e^(-8 pi): less than the padding
            return radius * (1 + 1e-9 + 1e-10 / need)
        log_denominator = math.log1p(-2 * math.exp(-2 * math.pi**2 * v))
        for _ in range(200):
            if radius >= math.pi:
                return math.pi
            neighbours = sum(
                math.exp(-2 * math.pi**2 * v * k * k + 2 * math.pi * v * k * radius) for k in (-2, -1, 1, 2)
            )
            better = math.sqrt(2 * (need + math.log1p(neighbours) - log_denominator) / v)
            if better - radius < 1e-10 * radius:
                return better * (1 + 1e-9)
            radius = better
        return math.pi
