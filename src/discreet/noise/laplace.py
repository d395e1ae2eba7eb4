"""Discrete Laplace noise, also called the two-sided geometric: P[X = x] ~ exp(-|x| / scale).

Everything has a closed form in r = exp(-1/scale): P[X = 0] = (1 - r)/(1 + r), P[X >= m] = r^m/(1 + r).

On a count that changes by mu the loss is (2 Y - mu) / scale with Y = 0..mu: beyond either neighbouring count
the outcome tells them apart no better than at it. The weights of Y are a geometric series with heavier ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.calls import once_by_place
from discreet.errors import PrecisionError
from discreet.noise import balls
from discreet.noise.defined import DefinedLoss, laplace_loss
from discreet.noise.distribution import RHO_DIGITS, Floats, ProvedCost, Traits
from discreet.noise.factors import LaplaceFactor
from discreet.noise.lattice import RADII, LatticeNoise
from discreet.numbers import Exact, shown

_MOST_VALUES = 4_000_000
_ABOVE_PI = Fraction(355, 113)
_SUMMED = 48  # series of up to this many terms are summed one by one


@dataclass(frozen=True, init=False)
class DiscreteLaplace(LatticeNoise):
    """Two-sided geometric noise on a count that one person can change by `sensitivity`, `times` times over.

    The noise takes the integer x with probability proportional to exp(-|x| / scale).

    >>> DiscreteLaplace(scale=2)
    DiscreteLaplace(scale=Fraction(2, 1), sensitivity=1, times=1)
    >>> noise = DiscreteLaplace(scale="1/2")
    >>> round(float(noise.pmf(0)), 6), noise.pmf([-1, 1]).round(6).tolist()
    (0.761594, [0.103071, 0.103071])
    >>> noise.quantile("0.9999")
    4
    """

    FAMILY: ClassVar = "discrete Laplace"
    PARAMETER: ClassVar = "scale"
    RANGE: ClassVar = (Fraction(1, 10**4), Fraction(2**32))
    PER_BIT: ClassVar = 2
    WIDEST: ClassVar = Fraction(1 << 9)
    own_way: ClassVar = "scale"
    bureau_name: ClassVar = "Two-Sided Geometric"
    is_proved_over_joins: ClassVar = True

    scale: Fraction
    sensitivity: int
    times: int

    @once_by_place("scale")
    def __init__(self, *, scale: Exact, sensitivity: int = 1, times: int = 1) -> None:
        super().__init__(scale, sensitivity=sensitivity, times=times)

    @property
    def tail_exponent(self) -> Fraction:
        """The scale's first power."""
        return Fraction(1)

    def label(self, size: str) -> str:
        """Name the law in a table, with its size as written there."""
        return f"Laplace, scale {size}"

    # -- probabilities ----------------------------------------------------------------------------

    def true_variance(self) -> float:
        """Return E X^2 = 2r / (1 - r)^2, near 2 scale^2 - 1/6 when the scale is large.

        >>> round(DiscreteLaplace(scale=10).true_variance(), 4)
        199.8334
        """
        rate = 1.0 / self._size
        return 2.0 * math.exp(-rate) / math.expm1(-rate) ** 2

    def variance_ball(self) -> balls.arb:
        """Return a ball around E X^2."""
        ratio = self._ball_ratio()
        return 2 * ratio / (1 - ratio) ** 2

    def transform(self, angle: Floats) -> Floats:
        """Return E cos(angle X), which is positive."""
        turn = np.abs(angle - 2 * math.pi * np.rint(angle / (2 * math.pi)))
        ratio = float(np.exp(self.log_pmf(1) - self.log_pmf(0)))
        value = (1 - ratio) ** 2 / ((1 - ratio) ** 2 + 4 * ratio * np.sin(turn / 2) ** 2)
        return np.asarray(value, dtype=np.float64)

    def traits(self) -> Traits:
        """Return bounds of the transform and of the tails.

        The variance is 2 p / (1 - p)^2; the cumulants are those of a difference of geometric noises.
        """
        variance, smooth = self._smoothness()
        fourth = variance * (1 + 6 * variance / 2) if variance else 0.0
        # log E e^(sN) <= s^2 variance/2 / (1 - |s| scale): Bernstein's bound, with |s| <= 1/(2 scale)
        return Traits(variance, fourth, smooth, variance, max(1.0, math.sqrt(variance)))

    def tail_proxy(self, variance: float) -> tuple[float, bool]:
        """Return a with log E e^(tX) <= -log(1 - a v t^2 / 2), v the variance, and that it has this form.

        The transform of noise of ratio p is 1/(1 - v (cosh t - 1)), which is at most 1/(1 - t^2/log(p)^2),
        because (cosh t - 1)/t^2 increases up to the pole at -log p.
        """
        rate = float(self.log_pmf(0) - self.log_pmf(1))
        return 2 / (variance * rate * rate), True

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X); infinite from |s| = 1/scale on.

        >>> DiscreteLaplace(scale=2).log_mgf([0.0, 0.25, 0.5]).round(4).tolist()
        [0.0, 0.2825, inf]
        """
        s = np.abs(np.asarray(s, dtype=np.float64))
        rate = 1.0 / self._size
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
        rate = 1.0 / self._size
        r = math.exp(-rate)
        # P[X = 0] = (1 - r)/(1 + r), without cancellation whether it is near 0 or near 1
        near_one = r < 0.25
        log_zero = math.log1p(-2.0 * r / (1.0 + r)) if near_one else math.log(-math.expm1(-rate) / (1.0 + r))
        return log_zero - np.abs(x) / self._size

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return -m / self._size - math.log1p(math.exp(-1.0 / self._size))

    def _ball_ratio(self) -> balls.arb:
        return (-balls.ball(1 / self.scale)).exp()

    def ball_pmf(self, x: int) -> balls.arb:
        """Return a ball around P[X = x]."""
        ratio = self._ball_ratio()
        return (-balls.ball(abs(x) / self.scale)).exp() * (1 - ratio) / (1 + ratio)

    def ball_tail(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m]."""
        return (-balls.ball(m / self.scale)).exp() / (1 + self._ball_ratio())

    def ball_pmfs(self, count: int) -> list[balls.arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""
        ratio = self._ball_ratio()
        weights = [(1 - ratio) / (1 + ratio)]
        for _ in range(count - 1):
            weights.append(weights[-1] * ratio)
        return weights

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        return self._size * nats + 1.0

    def split_exponent(self, k: int, u: int, s: int) -> tuple[int, int]:
        """Return t as a quotient of integers; it grows with u."""
        return u * self.scale.denominator, self.scale.numerator

    # -- the privacy loss: X is the Y of the module's heading -----------------------------------------

    @cached_property
    def step(self) -> Fraction:
        """Loss per unit of X = 0..sensitivity."""
        return 2 / self.scale

    @property
    def offset(self) -> Fraction:
        """Loss at X = 0, of one count."""
        return -self.sensitivity / self.scale

    @property
    def proved_cost(self) -> ProvedCost:
        """The largest loss, exactly."""
        return ProvedCost(self.times * self.largest**2 / 2, Fraction(0), self.times * self.largest)

    def defined_loss(self, bits: int) -> DefinedLoss:
        """The law of one count's loss from its definition."""
        return laplace_loss(self.scale, self.sensitivity)

    def defined_width(self, bits: int) -> float:
        """How many losses of all `times` are listed."""
        return self.times * self.sensitivity + 1.0

    @property
    def largest(self) -> Fraction:
        """The largest loss of one count."""
        return self.sensitivity / self.scale

    @property
    def mean_loss(self) -> float:
        """E L, without cancellation: P[-l] = e^-l P[l], so it is the sum of P[l] l (1 - e^-l) over l > 0.

        >>> round(DiscreteLaplace(scale=10**10).mean_loss * 10**20, 12)
        0.5
        """
        shift, u, p = self.tilted(0.0)
        twice = 2 * (shift + u) - self.sensitivity
        loss = twice[twice > 0] * self._rates[0]
        return float(p[twice > 0] @ (loss * -np.expm1(-loss)))

    @cached_property
    def zcdp(self) -> Fraction:
        """The rho of zCDP that all `times` cost together, rounded up in its last of 15 digits.

        D_a / a is largest at a = 1, whatever the sensitivity, so it is E L (docs/explanation/laws.md):
        with r = e^(-1 / scale), (mu - 2 r (1 - r^mu) / (1 - r^2)) / scale.

        >>> noise = DiscreteLaplace(scale=2)
        >>> float(noise.zcdp), math.tanh(1 / 4) / 2
        (0.122459331201855, 0.12245933120185457)
        """
        return self.times * balls.decimal_above(self._ball_mean_loss, RHO_DIGITS)

    def _ball_mean_loss(self) -> balls.arb:
        """E L of one count, as a ball."""
        rate, mu = balls.ball(1 / self.scale), self.sensitivity
        # 2 r / (1 - r^2) is 1 / sinh(1 / scale)
        return rate * (mu + (-rate * mu).expm1() / rate.sinh())

    @cached_property
    def _rates(self) -> tuple[float, float]:
        return 1 / float(self.scale), float(self.step)

    def _rate(self, theta: float) -> float:
        """log of the ratio of neighbouring weights under the tilt, except the first and the last."""
        rate, step = self._rates
        return rate + theta * step

    def shift(self, theta: float) -> int:
        """The heavier end."""
        return self.sensitivity if self._rate(theta) >= 0 else 0

    def tilted(self, theta: float, nats: float = 40.0) -> tuple[int, NDArray[np.int64], Floats]:
        """Return (shift, u, p): under the tilt e^(theta L), X = shift + u with probability p.

        Weights form a geometric series from the heavier end, where `shift` is; those below e^-745 of the
        heaviest are left out.
        """
        mu, rate = self.sensitivity, self._rate(theta)
        count = mu if abs(rate) * mu < 745 else math.ceil(745 / abs(rate))
        if count > _MOST_VALUES:
            raise PrecisionError(
                f"discrete Laplace noise of scale {shown(self.scale)} on a count that changes by {mu} has "
                f"too many losses that matter here; at most {_MOST_VALUES} are listed"
            )
        weight = np.exp(-abs(rate) * np.arange(count + 1.0))
        weight[1:] *= -math.expm1(-self._rates[0])
        if count == mu:
            weight[-1] = math.exp(-abs(rate) * mu)
        p = weight / weight.sum()
        u = np.arange(count + 1)
        return (mu, -u[::-1], p[::-1]) if rate >= 0 else (0, u, p)

    def log_factor(self, theta: Floats) -> Floats:
        """log E e^(theta step X), by the closed form of the geometric series."""
        mu, base = self.sensitivity, self._rates[0]
        rate = base + theta * self._rates[1]
        fall = -np.abs(rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.exp(fall) * np.expm1(fall * (mu - 1)) / np.expm1(fall)
        inner = np.where(fall == 0, mu - 1.0, inner)
        total = 1 + np.exp(fall * mu) - math.expm1(-base) * inner
        # max(rate, 0) - base, without cancellation
        lead = np.where(rate > 0, theta * self._rates[1], -base) * mu
        return np.asarray(lead + np.log(total) - math.log1p(math.exp(-base)))

    def modulus(self, theta: float, angle: Floats) -> Floats:
        """|E e^(i angle X)| under the tilt."""
        mu = self.sensitivity
        q = np.append(0j, 1j * angle) - abs(self._rate(theta))
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.exp(q) * np.expm1(q * (mu - 1)) / np.expm1(q)
        inner = np.where(q == 0, mu - 1.0, inner)
        series = np.abs(1 + np.exp(q * mu) - math.expm1(-1 / float(self.scale)) * inner)
        return np.asarray(series[1:] / series[0])

    def series_ball(self, q: balls.acb) -> balls.acb:
        """1 + e^(q mu) + (1 - r) (e^q + ... + e^(q (mu - 1))), mu the sensitivity."""
        mu, part = self.sensitivity, 1 - self._ball_ratio()
        if mu <= _SUMMED:
            inner = sum((((q * j).exp()) for j in range(1, mu)), balls.acb(0))
        elif q.contains(0):
            inner = balls.acb(mu - 1) + balls.acb(
                balls.arb(0, mu), balls.arb(0, mu)
            )  # anything up to its largest
        else:
            inner = q.exp() * (q * (mu - 1)).expm1() / q.expm1()
        return 1 + (q * mu).exp() + part * inner

    def factor_ball(self, theta: Fraction) -> LaplaceFactor:
        """The characteristic function of one count's X under the tilt."""
        return LaplaceFactor(self, theta)

    def radius_ball(self, depth: float, theta: float) -> float:
        """The least radius, from that of floats on, beyond which modulus^times is proved below e^-depth."""
        radius = self.radius(depth, theta)
        if radius >= math.pi:
            return radius
        factor = self.factor_ball(Fraction(theta))
        bound = (-2 * balls.ball(Fraction(depth)) / self.times).exp()
        points = [Fraction(float(d)) for d in RADII[int(np.searchsorted(RADII, radius)) :]]
        points[-1] = _ABOVE_PI
        for here, there in reversed(list(pairwise(points))):
            if not factor.square_bound(here, there) < bound:
                return min(float(there), math.pi)
        return radius

    def moduli_ball(self, theta: Fraction, distances: Sequence[float]) -> list[balls.arb]:
        """Bounds of times * log |factor|, which need not fall, from each distance to the next."""
        factor = self.factor_ball(theta)
        # a little beyond the next distance, to cover rounding
        ends = [
            (here, there * (1 + Fraction(1, 10**8)) + Fraction(1, 10**11))
            for here, there in pairwise([*map(Fraction, distances), _ABOVE_PI])
        ]
        return [factor.square_bound(*pair).log() / 2 * self.times for pair in ends]

    def law_ball(self, theta: Fraction) -> tuple[int, list[balls.arb], balls.arb]:
        """The law of X = 0..sensitivity under the tilt: nothing is left out."""
        mu = self.sensitivity
        if mu > _MOST_VALUES // 8:
            raise PrecisionError(f"a count that changes by {mu} has too many losses to be listed in a proof")
        r = self._ball_ratio()
        lowest = (-balls.ball(mu / self.scale)).exp() / (1 + r)
        ratio = balls.ball(1 / self.scale + theta * self.step).exp()
        inner = [lowest * (1 - r)]
        for _ in range(mu - 1):
            inner.append(inner[-1] * ratio)
        weights = [lowest, *inner[1:], balls.ball(theta * self.step * mu).exp() / (1 + r)]
        total = sum(weights, balls.arb(0))
        return 0, [w / total for w in weights], balls.arb(0)

    def log_factor_ball(self, theta: Fraction) -> balls.arb:
        """log E e^(theta step X), as a ball."""
        mu, r = self.sensitivity, self._ball_ratio()
        rate = 1 / self.scale + theta * self.step
        lead = balls.ball(max(rate, Fraction(0)) * mu - mu / self.scale)
        at_zero = 2 + (1 - r) * (mu - 1)
        series = self.series_ball(balls.acb(balls.ball(-abs(rate)))).real if rate else at_zero
        return lead + (series / (1 + r)).log()


LaplaceNoise = DiscreteLaplace
"""Another name of the same class."""
