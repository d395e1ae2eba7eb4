"""Discrete Gaussian noise N_Z(0, variance): P[X = x] ~ exp(-x^2 / (2 variance)).

On a count that changes by mu the loss is mu X / variance + mu^2 / (2 variance), X the noise. Tilted by
e^(theta L), X is a discrete Gaussian around theta mu, so that each transform of the loss is a theta sum, as
the sum of the weights is.

*Theta sums.* Poisson summation turns the sum of the weights around a centre c into one of frequencies,

    sum_u e^(-(u - c)^2 / (2v)) = sqrt(2 pi v) (1 + 2 sum_k q^(k^2) cos(2 pi k c)),   q = e^(-2 pi^2 v),

where the left side converges quickly for small v, and the right side, its dual, for large v. Both have period
1 in c.

*Tails.* With m >= 0 and

    T(m) = sum_{k >= m} exp(-(k^2 - m^2) / (2v))     so that  P[X >= m] = P[X = m] T(m),

T is summed directly if a few dozen terms are enough, that is for small v or large m/v. Otherwise by
Euler-Maclaurin: with He_n the Hermite polynomials and B_n the Bernoulli numbers

    T(m) = sqrt(pi v / 2) erfcx(m / sqrt(2v)) + 1/2 + sum_{j=1}^{N} B_2j / (2j)! h_{2j-1} + R,
    h_n = He_n(m / sqrt v) / v^(n/2),   h_{n+1} = (m/v) h_n - (n/v) h_{n-1}

The remainder is at most |B_2N| / (2N)! times the integral of the (2N)-th derivative's modulus; with
Cramer's inequality |He_n(t)| <= 1.09 sqrt(n!) exp(t^2 / 4) that gives, relative to the first term,

    |R| <= 8 sqrt(v) sqrt((2N)!) (2 pi sqrt v)^(-2N) exp(m^2 / (4v)).

Far out, where m^2 / v >= 8N + 2, beyond all zeros of He_2N, the derivative keeps its sign, and the integral
is the value at its end: |R| <= 4 (2 pi)^(-2N) (m/v)^(2N - 1).
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

from discreet.noise import balls
from discreet.noise.distribution import BallFactor, Complexes, Floats, Noise, log1p_complex
from discreet.numbers import Exact

DUAL_FROM = Fraction(1, 2)
"""Variances from here on use the dual sum, where two terms are enough for floats; smaller ones the sum."""

TERMS = np.arange(1.0, 9.0)
"""Integers that a sum needs for a small variance: even tilted by half a step, e^(-81 + 9) is left out."""

_NATS = 40.0  # exp(-40) is below the last digit of a float

_EULER = (  # B_2j / (2j)!
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
    77683 / 14101100039391805440000,
)


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

    @classmethod
    def of_true_variance(cls, variance: float) -> DiscreteGaussian:
        """Return the noise whose E X^2 is this; from 2 on it equals the parameter to the last digit.

        >>> DiscreteGaussian.of_true_variance(4.0).variance
        Fraction(4, 1)
        >>> round(DiscreteGaussian.of_true_variance(0.01).true_variance(), 12)
        0.01
        """
        low, high = max(variance, 7e-4), 2.0  # below, E X^2 is less than any float
        noise = cls(Fraction(low).limit_denominator(10**9))
        if variance >= high or (low == variance and noise.true_variance() >= variance * (1 - 1e-12)):
            return noise
        for _ in range(60):
            middle = (low + high) / 2
            size = cls(Fraction(middle).limit_denominator(10**15)).true_variance()
            low, high = (low, middle) if size >= variance else (middle, high)
        return cls(Fraction(high).limit_denominator(10**15))

    def variance_deficit(self) -> float:
        """Return `variance` minus E X^2: from variance 1 on too small to see in floats.

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


class GaussianFactor(BallFactor):
    """Characteristic function of a discrete Gaussian around `near`, by the shorter of two sums."""

    def __init__(self, term: DiscreteGaussian, theta: Fraction) -> None:
        centre = theta * term.sensitivity
        self.shift = round(centre)
        self.near = centre - self.shift
        self.term = term
        self._norm = ball_sum(self.near, term.variance)
        # (dual: at half a turn neighbour v of the nearest frequency has weight e^(-rate (v^2 - v)))
        v = float(term.variance)
        self._reach = 2 + terms_needed(2 * math.pi**2 * v if term.is_dual else 1 / (2 * v))

    @property
    def slack(self) -> balls.arb:
        """A bound of the relative difference of a plain factor from its Gaussian, up to a quarter turn.

        There each neighbouring frequency has at most e^(-pi^2 variance) of the weight of the nearest.
        """
        return 8 * self.term.times * (-(balls.arb.pi() ** 2) * balls.ball(self.term.variance)).exp()

    @property
    def is_plain(self) -> bool:
        """Whether the correction is below the working precision wherever the factor matters."""
        v, times, bits = float(self.term.variance), self.term.times, balls.current_bits() * math.log(2)
        is_narrow = math.pi**2 * v - math.log(times) > bits + 5 and times * v * math.pi**2 / 8 > 2 * bits
        return self.term.is_dual and is_narrow

    def at(self, turn: balls.arb) -> balls.acb:
        """E e^(2 pi i turn (X - shift)), for |turn| <= 1/2."""
        sigma2, near, total = balls.ball(self.term.variance), balls.ball(self.near), balls.acb(0)
        rate = -2 * balls.arb.pi() ** 2 * sigma2 if self.term.is_dual else -1 / (2 * sigma2)
        for v in range(-self._reach, self._reach + 1):
            if self.term.is_dual:  # Poisson: e^(-2 pi^2 sigma2 (turn - v)^2) e^(2 pi i (turn - v) near)
                size, angle = (rate * (turn - v) ** 2).exp(), 2 * (turn - v) * near
            else:
                size, angle = (rate * (v - near) ** 2).exp(), 2 * turn * v
            total += balls.acb(size * angle.cos_pi(), size * angle.sin_pi())
        rest = 4 * (rate * balls.ball(Fraction(2 * self._reach + 1, 2) ** 2)).exp()
        error = balls.arb(0, rest.upper())
        return (total + balls.acb(error, error)) / self._norm


# -- theta sums ---------------------------------------------------------------------------------------------


def dual_log_ratio(centre: Floats, v: Floats | float) -> Floats:
    """log of the dual sum at a centre over that at 0, for v >= 1/2: at most 0, accurate to its last digits.

    >>> dual_log_ratio(np.array([0.25, 0.5]), 1.0)
    array([-5.35057597e-09, -1.07011520e-08])
    """
    q = np.exp(-2 * math.pi**2 * v)
    q4 = q**4
    turn = math.pi * (centre - np.round(centre))
    wave = q * np.sin(turn) ** 2 + q4 * np.sin(2 * turn) ** 2
    return np.asarray(np.log1p(-4 * wave / (1 + 2 * (q + q4))))


def dual_derivatives(centre: float, v: float) -> tuple[float, float]:
    """v d/dc and v^2 d2/dc2 of the logarithm of the dual sum: what the lattice adds to mean and variance."""
    q = math.exp(-2 * math.pi**2 * v)
    turn = 2 * math.pi * (centre - round(centre))
    base = 1 + 2 * (q * math.cos(turn) + q**4 * math.cos(2 * turn))
    first = -4 * math.pi * (q * math.sin(turn) + 2 * q**4 * math.sin(2 * turn)) / base
    second = -8 * math.pi**2 * (q * math.cos(turn) + 4 * q**4 * math.cos(2 * turn)) / base - first**2
    return v * first, v * v * second


def log_ratio(centre: Floats, v: float) -> Floats:
    """log of the sum around a centre over that around 0, for v < 1/2.

    >>> log_ratio(np.array([0.0, 0.5, 1.0]), 0.1).round(6).tolist()
    [0.0, -0.570193, 0.0]
    """
    near = centre - np.round(centre)
    reach = math.ceil(math.sqrt(80 * v)) + 1
    u = np.arange(-reach, reach + 1)
    at_zero = np.exp(-(u**2) / (2 * v)).sum()
    # the largest term is e^(-near^2 / 2v): taken out, so that no sum underflows
    sums = np.exp(-(u * u - 2 * np.multiply.outer(near, u)) / (2 * v)).sum(axis=-1)
    return np.asarray(-(near**2) / (2 * v) + np.log(sums / at_zero))


def dual_transform(angle: Floats, near: float, v: float) -> Complexes:
    """log of E e^(i angle u), u discrete Gaussian around `near`, by the dual sum: v >= 1/2, |angle| <= pi.

    The nearest frequency gives a Gaussian; the others are a correction to it, divided by that at angle 0.
    """
    rises, falls = np.zeros(angle.shape), np.zeros(angle.shape)
    at_zero = 0.0
    # from variance 1 on the second neighbours are below e^(-4 pi^2) even at half a turn
    for k in (-1, 1) if v >= 1 else (-2, -1, 1, 2):
        weight = -2 * math.pi**2 * v * k * k
        neighbour = np.exp(weight + 2 * math.pi * v * k * angle)
        rises += neighbour * math.cos(2 * math.pi * k * near)
        if near:
            falls -= neighbour * math.sin(2 * math.pi * k * near)
        at_zero += math.exp(weight) * math.cos(2 * math.pi * k * near)
    # (around an integer the law is symmetric and its transform real)
    ratio = log1p_complex(rises + 1j * falls) if near else np.log1p(rises).astype(np.complex128)
    # by parts: a factor that vanishes has the logarithm -inf, which complex sums turn into nan
    real = -0.5 * v * angle * angle + (ratio.real - math.log1p(at_zero))
    return np.asarray(real + 1j * (near * angle + ratio.imag))


def ball_sum(centre: Fraction, v: Fraction) -> balls.arb:
    """A ball around the shorter of the two sums, without its factor sqrt(2 pi v) if that is the dual.

    >>> with balls.working_bits(64):
    ...     bool(abs(ball_sum(Fraction(0), Fraction(1)) - 1) < balls.ball(Fraction(1, 10**8)))
    ...     bool(ball_sum(Fraction(0), Fraction(1, 4)) > 1 + 2 * balls.ball(-2).exp())
    True
    True
    """
    centre -= round(centre)
    if v >= DUAL_FROM:
        rate, turn = 2 * balls.arb.pi() ** 2 * balls.ball(v), 2 * balls.arb.pi() * balls.ball(centre)
        total = balls.arb(1)
        for k in range(1, terms_needed(2 * math.pi**2 * float(v)) + 1):
            total += 2 * (-rate * (k * k)).exp() * (turn * k).cos()
        # the rest is below twice its first term over (1 - q)
        return balls.padded(total, 4 * (-rate * ((k + 1) ** 2)).exp())
    rate = 1 / (2 * balls.ball(v))
    total = (-rate * balls.ball(centre * centre)).exp()
    for k in range(1, terms_needed(1 / (2 * float(v))) + 2):
        total += (-rate * balls.ball((k - centre) ** 2)).exp() + (-rate * balls.ball((k + centre) ** 2)).exp()
    return balls.padded(total, 4 * (-rate * balls.ball((k + Fraction(1, 2)) ** 2)).exp())


def terms_needed(rate: float) -> int:
    """The first k, at least 1, from which on e^(-rate k^2) is below the working precision."""
    return max(1, math.ceil(math.sqrt((balls.current_bits() + 10) * math.log(2) / rate)))


# -- the tail over its first term ---------------------------------------------------------------------------


def tail_ratio(m: Floats, v: float) -> Floats:
    """Return T(m), to about 1e-15 relative.

    >>> tail_ratio(np.array([0.0, 3.0]), 1.0).round(6).tolist()
    [1.753314, 1.030534]
    """
    if v <= 25.0:
        return _direct(m, v)
    steep = m >= v
    smooth = _euler_maclaurin(np.minimum(m, v), v)
    return np.where(steep, _direct(np.maximum(m, v), v), smooth) if np.any(steep) else smooth


def _direct(m: Floats, v: float) -> Floats:
    """Sum the series as a polynomial in exp(-m/v) with coefficients exp(-j^2 / (2v))."""
    start = float(np.min(m, initial=math.inf)) if m.size else 0.0
    count = math.ceil(2.0 * v * _NATS / (start + math.sqrt(start * start + 2.0 * v * _NATS)))
    base = np.exp(-m / v)
    total = np.zeros_like(base)
    for j in range(count, -1, -1):
        total = total * base + math.exp(-j * j / (2.0 * v))
    return total


def _euler_maclaurin(m: Floats, v: float) -> Floats:
    slope = m / v
    total = math.sqrt(math.pi * v / 2.0) * erfcx(m / math.sqrt(2.0 * v)) + 0.5
    previous, current = np.ones_like(slope), slope  # h_0, h_1
    for j, coefficient in enumerate(_EULER):
        total = total + coefficient * current
        for n in (2 * j + 1, 2 * j + 2):
            previous, current = current, slope * current - (n / v) * previous
    return total


def erfcx(z: Floats) -> Floats:
    """Return exp(z^2) erfc(z) for z >= 0, to the last digits.

    The midpoint rule with step h = 1/2 on erfcx(z) = (2z/pi) int_0^inf exp(-t^2)/(z^2 + t^2) dt, and
    the residue at t = iz, which the rule leaves out while z < pi/h; the error is exp(-(pi/h)^2).

    >>> erfcx(np.array([0.0, 1.0, 100.0])).round(12).tolist()
    [1.0, 0.427583576156, 0.005641613783]
    """
    h = 0.5
    total = np.zeros_like(z)
    for n in range(13):
        node = ((n + 0.5) * h) ** 2
        total = total + math.exp(-node) / (z * z + node)
    inner = np.minimum(z, math.pi / h)
    pole = 2.0 * np.exp(inner * (inner - 2.0 * math.pi / h)) / (1.0 + np.exp(-2.0 * math.pi / h * inner))
    return 2.0 * h / math.pi * z * total + np.where(z < math.pi / h, pole, 0.0)


def ball_tail_ratio(m: int, v: Fraction) -> balls.arb:
    """Return a ball around T(m), at the working precision.

    >>> with balls.working_bits(100):
    ...     print(ball_tail_ratio(3, Fraction(1)).str(20))
    [1.0305342190716012429 +/- 2.43e-20]
    """
    nats = (balls.current_bits() + 8) * math.log(2.0)
    variance, start = float(v), float(m)
    count = math.ceil(2.0 * variance * nats / (start + math.sqrt(start * start + 2.0 * variance * nats)))
    order = _order(start, variance, nats) if count > 200 else None
    # An Euler-Maclaurin term costs about as much as two of the series.
    if order is None or count < 2 * order:
        return _ball_direct(m, v, count)
    return _ball_euler_maclaurin(m, v, order)


def _order(m: float, v: float, nats: float) -> int | None:
    """Return an even order whose remainder bound is below exp(-nats), if a moderate one exists."""
    base = math.log(8.0 * math.sqrt(v)) + m * m / (4.0 * v)
    for n in range(4, 800, 4):
        if base + math.lgamma(n + 1.0) / 2.0 - n * math.log(2.0 * math.pi * math.sqrt(v)) < -nats:
            return n
        if m * m > (4 * n + 3) * v and 2.0 + (n - 1) * math.log(m / v / (2.0 * math.pi)) < -nats:
            return n
    return None


def _ball_direct(m: int, v: Fraction, count: int) -> balls.arb:
    term, total = balls.arb(1), balls.arb(0)
    quotient = (-balls.ball(Fraction(2 * m + 1) / (2 * v))).exp()
    step = (-balls.ball(1 / v)).exp()
    for _ in range(count + 1):
        total += term
        term *= quotient
        quotient *= step
    # `term` is the first one left out, and the quotients keep falling: a geometric series bounds the rest
    return balls.padded(total, term / (1 - quotient))


def _ball_euler_maclaurin(m: int, v: Fraction, order: int) -> balls.arb:
    variance = balls.ball(v)
    square = balls.ball(Fraction(m * m) / (2 * v))
    total = (balls.arb.pi() * variance / 2).sqrt() * square.exp() * square.sqrt().erfc() + balls.arb(1) / 2
    slope, inverse = balls.ball(m / v), balls.ball(1 / v)
    previous, current = balls.arb(1), slope
    for n in range(1, order):
        if n % 2:
            total += balls.arb.bernoulli(n + 1) / balls.arb.fac_ui(n + 1) * current
        previous, current = current, slope * current - n * inverse * previous
    if m * m >= (4 * order + 2) * v:
        return balls.padded(total, 4 * slope ** (order - 1) / (2 * balls.arb.pi()) ** order)
    scale = 2 * balls.arb.pi() * variance.sqrt()
    remainder = 8 * variance.sqrt() * balls.arb.fac_ui(order).sqrt() / scale**order * (square / 2).exp()
    return balls.padded(total, remainder)
