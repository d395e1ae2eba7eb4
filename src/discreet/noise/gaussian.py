"""Discrete Gaussian noise N_Z(0, variance): P[X = x] ~ exp(-x^2 / (2 variance)).

On a count that changes by mu the loss is mu X / variance + mu^2 / (2 variance), X the noise. Tilted by
e^(theta L), X is a discrete Gaussian around theta mu, so that each transform of the loss is a theta sum, as
the sum of the weights is.

The sums are in `theta.py`, the tail in `gaussian_tail.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.calls import once_by_place
from discreet.noise import balls
from discreet.noise.defined import DefinedLoss, gaussian_loss
from discreet.noise.distribution import Floats, ProvedCost, Traits, stated_size
from discreet.noise.factors import GaussianFactor
from discreet.noise.gaussian_tail import ball_tail_ratio, tail_ratio
from discreet.noise.lattice import Complexes, LatticeNoise
from discreet.noise.theta import (
    DUAL_FROM,
    TERMS,
    ball_sum,
    dual_log_ratio,
    dual_transform,
    log_ratio,
    terms_needed,
)
from discreet.numbers import Exact


@dataclass(frozen=True, init=False)
class DiscreteGaussian(LatticeNoise):
    """Discrete Gaussian noise on a count that one person can change by `sensitivity`, `times` times over.

    The noise takes the integer x with probability proportional to exp(-x^2 / (2 variance)). `variance` is the
    parameter, and `sigma`, its root, may be given instead; the variance of the noise is a little less, see
    `variance_deficit`.

    >>> DiscreteGaussian(variance="5/2", times=10)
    DiscreteGaussian(variance=Fraction(5, 2), sensitivity=1, times=10)
    >>> DiscreteGaussian(sigma="1.5")
    DiscreteGaussian(variance=Fraction(9, 4), sensitivity=1, times=1)
    >>> DiscreteGaussian(std=3)
    Traceback (most recent call last):
    discreet.errors.InputError: DiscreteGaussian does not take std; it takes variance, sigma, sensitivity \
and times: type DiscreteGaussian(sigma=3)
    >>> noise = DiscreteGaussian(variance=625)
    >>> noise.quantile("0.9999"), float(noise.log_sf(1000)) < -800
    (93, True)
    >>> DiscreteGaussian(variance=1).pmf([0, 1, 2]).round(6).tolist()
    [0.398942, 0.241971, 0.053991]
    """

    FAMILY: ClassVar = "discrete Gaussian"
    PARAMETER: ClassVar = "variance"
    RANGE: ClassVar = (Fraction(1, 10**4), Fraction(2**64))
    PER_BIT: ClassVar = 4
    WIDEST: ClassVar = Fraction(1 << 22)
    own_way: ClassVar = "variance"
    bureau_name: ClassVar = "Discrete Gaussian"
    is_proved_over_joins: ClassVar = True

    variance: Fraction
    sensitivity: int
    times: int

    @once_by_place("variance")
    def __init__(
        self,
        *,
        variance: Exact | None = None,
        sigma: Exact | None = None,
        sensitivity: int = 1,
        times: int = 1,
    ) -> None:
        super().__init__(stated_size(variance, sigma), sensitivity=sensitivity, times=times)

    @property
    def sigma(self) -> float:
        """The root of the parameter; the standard deviation of the noise, `std`, is a little less."""
        return math.sqrt(self.variance)

    @property
    def stated_variance(self) -> Fraction:
        """The parameter."""
        return self.variance

    @property
    def tail_exponent(self) -> Fraction:
        """The square."""
        return Fraction(2)

    # -- probabilities ----------------------------------------------------------------------------

    @cached_property
    def is_dual(self) -> bool:
        """Whether the Poisson dual sum is the short one."""
        return self.variance >= DUAL_FROM

    def true_variance(self) -> float:
        """Return E X^2, at most the parameter `variance`.

        >>> small, large = DiscreteGaussian(variance="0.1"), DiscreteGaussian(variance=5)
        >>> round(small.true_variance(), 6), large.true_variance()
        (0.013297, 5.0)
        """
        return self._size - self.variance_deficit() if self.is_dual else self._primal_variance

    @classmethod
    def of_true_variance(cls, variance: float) -> DiscreteGaussian:
        """Return the noise whose E X^2 is this; from 2 on it equals the parameter to the last digit.

        >>> DiscreteGaussian.of_true_variance(4.0).variance
        Fraction(4, 1)
        >>> round(DiscreteGaussian.of_true_variance(0.01).true_variance(), 12)
        0.01
        """
        low, high = max(variance, 7e-4), 2.0  # below, E X^2 is less than any float
        noise = cls(variance=Fraction(low).limit_denominator(10**9))
        if variance >= high or (low == variance and noise.true_variance() >= variance * (1 - 1e-12)):
            return noise
        for _ in range(60):
            middle = (low + high) / 2
            size = cls(variance=Fraction(middle).limit_denominator(10**15)).true_variance()
            low, high = (low, middle) if size >= variance else (middle, high)
        return cls(variance=Fraction(high).limit_denominator(10**15))

    def variance_deficit(self) -> float:
        """Return `variance` minus E X^2: from variance 1 on too small to see in floats.

        >>> DiscreteGaussian(variance="4.25").variance_deficit() < 5.8e-34
        True
        """
        v = self._size
        if not self.is_dual:
            return v - self._primal_variance
        weights = np.exp(-2.0 * math.pi**2 * v * TERMS**2)
        return float(8.0 * math.pi**2 * v * v * np.sum(TERMS**2 * weights) / self._theta)

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X) = variance s^2 / 2 plus a term of period 1/variance in s.

        >>> DiscreteGaussian(variance=5).log_mgf([0.0, 0.2, -0.2]).round(6).tolist()
        [0.0, 0.1, 0.1]
        """
        s = np.abs(np.asarray(s, dtype=np.float64))
        v = self._size
        if self.is_dual:
            return (v * s * s / 2.0 + dual_log_ratio(v * s, v))[()]
        # Few integers carry the tilted sum, all near the centre v s. (cosh - 1 keeps the digits near s = 0,
        # where the logarithm is close to 0.)
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
        return self._log_pmf(m) + np.log(tail_ratio(m, self._size))

    def _ball_total(self) -> balls.arb:
        total = ball_sum(Fraction(0), self.variance)
        return total * (2 * balls.arb.pi() * balls.ball(self.variance)).sqrt() if self.is_dual else total

    def _ball_weight(self, x: int) -> balls.arb:
        return (-balls.ball(Fraction(x * x) / (2 * self.variance))).exp()

    def ball_pmf(self, x: int) -> balls.arb:
        """Return a ball around P[X = x]."""
        return self._ball_weight(x) / self._ball_total()

    def ball_tail(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""
        return self.ball_pmf(m) * ball_tail_ratio(m, self.variance)

    def ball_pmfs(self, count: int) -> list[balls.arb]:
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

    def evidence(self, x: Floats) -> Floats:
        """Return log P[X = x - 1] / P[X = x], by the difference of the squares, which keeps all digits."""
        return np.asarray((x - 0.5) / float(self.size))

    def transform(self, angle: Floats) -> Floats:
        """Return E cos(angle X), which is positive."""
        turn = np.abs(angle - 2 * math.pi * np.rint(angle / (2 * math.pi)))
        size = float(self.variance)
        if size < 0.5:
            chances = self.pmf(np.arange(3 + int(math.sqrt(70 * size))))
            doubled = [chances[0], *(2 * chances[1:])]
            return np.asarray(np.polynomial.chebyshev.chebval(np.cos(turn), doubled), dtype=np.float64)
        # images of a Gaussian
        value = np.exp(-0.5 * size * turn * turn) + np.exp(-0.5 * size * (2 * math.pi - turn) ** 2)
        if size < 3.0:
            value += np.exp(-0.5 * size * (2 * math.pi + turn) ** 2)
            value /= 1 + 2 * math.exp(-2 * math.pi**2 * size)
        return np.asarray(value, dtype=np.float64)

    def traits(self) -> Traits:
        """Return bounds of the transform and of the tails, which are sub-Gaussian."""
        variance, smooth = self._smoothness()
        size = float(self.variance)
        if size >= 4:  # like a Gaussian up to 1e-30
            return Traits(variance, 0.0, size - 0.15, size, 0.0)
        steps = np.arange(0.0, 40.0)
        fourth = 2 * float(self.pmf(steps.astype(np.int64)) @ steps**4) - 3 * variance**2
        return Traits(variance, abs(fourth), smooth, size, 0.0)

    def tail_proxy(self, variance: float) -> tuple[float, bool]:
        """Return the parameter over the variance."""
        return max(self.traits().proxy / variance, 1.0), False

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
    def proved_cost(self) -> ProvedCost:
        """The rho, exactly."""
        return ProvedCost(self.precision / 2, self.precision / 2, Fraction(0))

    def defined_loss(self, bits: int) -> DefinedLoss:
        """The law of one count's loss from its definition."""
        return gaussian_loss(self.variance, self.sensitivity, bits)

    def defined_width(self, bits: int) -> float:
        """About how many losses of all `times` are listed."""
        return 2 * math.sqrt(2 * math.log(2) * bits * float(self.variance) * self.times) + 5

    @cached_property
    def zcdp(self) -> Fraction:
        """The rho of zCDP that all `times` cost together, exactly: D_a / a is the same at every integer a."""
        return self.precision / 2

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

        Its neighbours matter only near half a turn, and only if the factor itself is not negligible there: at
        angle pi/2 it is e^(-times variance pi^2 / 8).
        """
        v = float(self.variance)
        return self.is_dual and self.times * v > 60 and self.times * math.exp(-(math.pi**2) * v) < 1e-17

    def shift(self, theta: float) -> int:
        """The integer nearest to the centre of the tilted noise."""
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
        """Variance of one count's X under the tilt, approximately."""
        return float(self.variance) if self.is_dual else super().tilted_variance(theta)

    def log_factor(self, theta: Floats) -> Floats:
        """log of the lattice's factor: the ratio of theta sums at centre theta * sensitivity and at 0."""
        ratio = dual_log_ratio if self.is_dual else log_ratio
        return ratio(theta * self.sensitivity, float(self.variance))

    def log_factor_ball(self, theta: Fraction) -> balls.arb:
        """The same, as a ball."""
        at_zero = ball_sum(Fraction(0), self.variance)
        return (ball_sum(theta * self.sensitivity, self.variance) / at_zero).log()

    def radius(self, depth: float, theta: float) -> float:
        """The least d in [0, pi] beyond which modulus^times stays below e^-depth; pi if there is none.

        Dual: for the largest modulus over all tilts, with the largest numerator (the centre an integer) and
        the smallest denominator (half an integer).
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

    # -- the same in balls --------------------------------------------------------------------------

    def factor_ball(self, theta: Fraction) -> GaussianFactor:
        """The characteristic function of one count's X under the tilt."""
        return GaussianFactor(self, theta)

    def law_ball(self, theta: Fraction) -> tuple[int, list[balls.arb], balls.arb]:
        """The law of X under the tilt, as far as the working precision shows it."""
        shift = round(theta * self.sensitivity)
        near = theta * self.sensitivity - shift
        reach = 2 + terms_needed(1 / (2 * float(self.variance)))
        rate = -1 / (2 * balls.ball(self.variance))
        weights = [(rate * balls.ball((u - near) ** 2)).exp() for u in range(-reach, reach + 1)]
        inside = sum(weights, balls.arb(0))
        # beyond: a geometric series from the first weight left out, of ratio e^(-(reach + 1/2) / variance)
        edge = reach + Fraction(1, 2)
        outside = 2 * (rate * balls.ball(edge**2)).exp() / (1 - (2 * rate * float(edge)).exp())
        total = balls.padded(inside, outside)
        return shift - reach, [w / total for w in weights], (outside / inside).upper()

    def radius_ball(self, depth: float, theta: float) -> float:
        """A radius beyond which modulus^times is proved to stay below e^-depth, or pi.

        The modulus falls with the distance (Jacobi's triple product), so its value at the radius proves it.
        """
        radius, factor = self.radius(depth, theta), self.factor_ball(Fraction(theta))
        while radius < math.pi:
            if (
                abs(factor.at(balls.ball(Fraction(radius)) / (2 * balls.arb.pi()))).log() * self.times
                < -depth
            ):
                return radius
            radius *= 1.02
        return math.pi

    def moduli_ball(self, theta: Fraction, distances: Sequence[float]) -> list[balls.arb]:
        """Bounds of times * log |factor|: it falls with the distance, so the near end gives a bound.

        Dual: the largest numerator, neighbours v = 1, 2, 3 and a bound of the rest, over the smallest
        denominator, whatever the tilt.
        """
        if not self.is_dual:
            factor = self.factor_ball(theta)
            sizes = [abs(factor.at(balls.ball(Fraction(d)) / (2 * balls.arb.pi()))) for d in distances]
            return [(size if size > 0 else size.upper()).log() * self.times for size in sizes]
        pi, sigma2 = balls.arb.pi(), balls.ball(self.variance)
        q = (-2 * pi**2 * sigma2).exp()
        if not 3 * q < 1:
            return [balls.arb(0)] * len(distances)
        bottom = (1 - 2 * q / (1 - q)).log()
        weights = [(v, (-2 * pi**2 * sigma2 * (v * v)).exp()) for v in (1, 2, 3)]
        rest = 4 * (-24 * pi**2 * sigma2).exp()
        logs = []
        for distance in distances:
            d = balls.ball(Fraction(distance))
            grow = (2 * pi * sigma2 * d).exp()
            top = 1 + rest
            for v, weight in weights:
                power = grow**v
                top += weight * (power + 1 / power)
            logs.append(self.times * (-sigma2 * d * d / 2 + top.log() - bottom))
        return logs


GaussianNoise = DiscreteGaussian
"""Another name of the same class."""
