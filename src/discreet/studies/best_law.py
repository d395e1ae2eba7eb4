"""The best law for counts that are all alike: free probabilities, under exact accounting.

Of n counts that each change by 1, which symmetric noise has the least variance and keeps (epsilon, delta)?
Nothing is assumed of its shape: every probability is free. With P the noise, Q the noise moved by 1 and L the
sum of n losses, delta = E (1 - e^(epsilon - L))_+ under a tilt is one product of a kernel with a power of a
transform. Its derivative by a probability is n times what the other n - 1 counts leave: the kernel correlated
with the transform to the power n - 1, one more transform for all probabilities together. Sequential quadratic
programming does the rest. The result is rounded to exact fractions, a table, and accounted for again as any
table is: what is claimed is claimed of the rounded table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from discreet.accounting.privacy_loss import compose
from discreet.errors import InputError, PrecisionError
from discreet.faces import Summarised
from discreet.loss.lattice import Floats
from discreet.noise import DiscreteGaussian, Noise, TableNoise
from discreet.numbers import Exact, positive, read_delta, whole
from discreet.promises.calibrating import calibrate

MOST_COUNTS = 1000
_POINTS = 2**14
_NATS = 46.0  # the table ends where less than e^-46 is left
_DENOMINATOR = 10**24


@dataclass(frozen=True, slots=True)
class FreeLaw(Summarised):
    """The table that was found, its variance, and what the laws with a formula need for the same promise.

    Guarantee. `account_epsilon`, an upper bound by the ordinary account of the rounded table, is at most
    `epsilon`. That no table has less variance is not proved.
    """

    counts: int
    epsilon: Fraction
    delta: Fraction
    table: TableNoise
    variance: float
    account_epsilon: float
    gaussian: float
    laplace: float
    power: tuple[Fraction, float]
    """The best exponent of power noise, in twentieths, and its variance."""

    @property
    def gain(self) -> float:
        """The part of the variance saved beside the better of Gaussian and Laplace noise."""
        return 1 - self.variance / min(self.gaussian, self.laplace)


def best_law(counts: int, *, epsilon: Exact, delta: Exact) -> FreeLaw:
    """Return the symmetric noise of least variance on `counts` counts that keeps (epsilon, delta).

    >>> found = best_law(30, epsilon=10, delta="1e-10")  # slow
    >>> round(found.variance, 2), round(100 * found.gain, 1), found.power[0]  # slow
    (12.73, 9.0, Fraction(31, 20))
    """
    many, target = whole(counts, name="counts"), positive(epsilon, name="epsilon")
    small = read_delta(delta)
    if many > MOST_COUNTS:
        raise InputError(f"counts is {many}; a free law is found for at most {MOST_COUNTS} counts")
    start = [DiscreteGaussian(variance=many, times=many)]
    ends = [
        calibrate(start, epsilon=target, delta=small, law=law, proof=False).events[0]
        for law in ("gaussian", "laplace", "best")
    ]
    gaussian, laplace, best = (noise.true_variance() for noise in ends)
    table, reached = _Program(many, float(target), float(small), _start_of(ends[2])).table(target, small)
    variance = float(table.variance)
    power = _exponent(ends[2])
    return FreeLaw(many, target, small, table, variance, reached, gaussian, laplace, (power, best))


def _exponent(noise: Noise) -> Fraction:
    assert noise.tail_exponent is not None
    return noise.tail_exponent


def _start_of(noise: Noise) -> Floats:
    """The probabilities of 0, 1, ... of noise, up to where next to nothing is left."""
    x = np.arange(math.ceil(noise.reach(_NATS)) + 1)
    return np.asarray(noise.pmf(x))


class _Program:
    """Least variance over u = -log of weights of 1, 2, ..., under delta(u) <= delta on a tilted grid."""

    def __init__(self, counts: int, epsilon: float, delta: float, start: Floats) -> None:
        self.n, self.epsilon, self.delta, self.start = counts, epsilon, delta, start
        self.size = start.size
        x = np.arange(self.size, dtype=np.float64)
        self.squares = np.concatenate([[0.0], 2 * x[1:] ** 2])
        self.often = np.concatenate([[1.0], np.full(self.size - 1, 2.0)])
        even = np.concatenate([start[:0:-1], start])
        value = np.log(even[:-1]) - np.log(even[1:])
        side = np.sqrt(np.sum(even[1:] * value**2) * counts)
        self.theta = _tilt(np.log(even[1:]), -value, counts, epsilon)
        # wide enough for the tilted law of any table near the first
        self.low = epsilon - 14 * side
        self.h = 28 * side / _POINTS
        points = self.low + self.h * np.arange(_POINTS)
        above = points > epsilon
        self.kernel = np.zeros(_POINTS)
        gap = points[above] - epsilon
        self.kernel[above] = np.exp(-self.theta * gap) * -np.expm1(-gap)
        self.transformed = np.conj(np.fft.rfft(self.kernel))

    def weights(self, u: Floats) -> Floats:
        """The probabilities of 0, 1, ..."""
        raw = np.exp(-np.concatenate([[0.0], u]))
        return np.asarray(raw / (raw @ self.often))

    def variance(self, u: Floats) -> tuple[float, Floats]:
        """The variance, and its slopes."""
        p = self.weights(u)
        value = float(p @ self.squares)
        return value, (-p * (self.squares - value * self.often))[1:]

    def log_delta(self, u: Floats) -> tuple[float, Floats]:
        """log delta, and its slopes: n times what the other counts leave, at the loss of each outcome."""
        p = self.weights(u)
        many = self.size - 1
        full = np.concatenate([p[:0:-1], p])  # outcomes -many .. many with the person, one less without
        log = np.log(full)
        value = log[1:] - log[:-1]  # of outcomes -many + 1 .. many, that have both probabilities
        value, mass = value[::-1] * 1.0, full[1:][::-1] * 1.0
        # each loss lies between two points; a step of n of them starts at n times the first one
        first = self.low / self.n
        steps = (value - first) / self.h
        cell = np.floor(steps)
        share = steps - cell
        tilted = mass * np.exp(self.theta * value)
        total = float(tilted.sum())
        point = cell.astype(np.int64) % _POINTS
        law = np.zeros(_POINTS)
        np.add.at(law, point, tilted * (1 - share))
        np.add.at(law, (point + 1) % _POINTS, tilted * share)
        spectrum = np.fft.rfft(law / total)
        others = spectrum ** (self.n - 1)
        finite = float(np.fft.irfft(others * spectrum, _POINTS) @ self.kernel)
        # what the others leave, at each point
        rest = np.fft.irfft(np.conj(others * self.transformed), _POINTS)
        scale = self.n * math.log(total) - self.theta * self.epsilon
        here, there = rest[point], rest[(point + 1) % _POINTS]
        inside = (1 - share) * here + share * there
        lift = math.exp(scale) * self.n / total
        by_mass = lift * np.exp(self.theta * value) * inside
        by_value = lift * tilted * (self.theta * inside + (there - here) / self.h)
        slopes = np.zeros(full.size)  # by the logarithms of all probabilities
        slopes[1:] += (by_mass * mass + by_value)[::-1]
        slopes[:-1] -= by_value[::-1]
        # an outcome at the very end has an infinite loss
        last = self.n * float(full[0])
        slopes[0] += last
        delta = math.exp(scale) * finite + last
        both = slopes[many:].copy()
        both[1:] += slopes[:many][::-1]
        by_u = -(both - p * self.often * both.sum())[1:]
        return math.log(max(delta, 1e-300)), by_u / delta

    def table(self, epsilon: Fraction, delta: Fraction) -> tuple[TableNoise, float]:
        """The best table, rounded, and its epsilon by the account."""
        u = -np.log(self.start[1:] / self.start[0])
        room = 0.0
        for _ in range(8):
            aim = math.log(self.delta) - room
            solution = scipy.optimize.minimize(
                self.variance,
                u,
                jac=True,
                method="SLSQP",
                constraints={
                    "type": "ineq",
                    "fun": lambda v, aim=aim: aim - self.log_delta(v)[0],
                    "jac": lambda v: -self.log_delta(v)[1],
                },
                options={"maxiter": 400, "ftol": 1e-10},
            )
            u = np.asarray(solution.x)
            table = _rounded(self.weights(u), self.n)
            loss = compose([table])
            log = math.log(loss.delta(epsilon=epsilon))
            excess = log - math.log(delta)
            if excess <= 0:
                return table, float(loss.epsilon(delta=delta))
            room += excess + 1e-6
        raise PrecisionError("no table was found that keeps the promise after rounding")


def _tilt(log: Floats, value: Floats, counts: int, epsilon: float) -> float:
    """The tilt at which delta's integrand is flattest."""
    low, high = 1e-6, 1e3
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        weight = log + middle * value
        p = np.exp(weight - np.logaddexp.reduce(weight))
        ahead = counts * float(p @ value) > epsilon + 1 / middle + 1 / (middle + 1)
        low, high = (low, middle) if ahead else (middle, high)
    return math.sqrt(low * high)


def _rounded(p: Floats, counts: int) -> TableNoise:
    """Probabilities as exact fractions that add up to one: the middle one takes what is left."""
    sides = [
        Fraction(max(round(Fraction(float(chance)) * _DENOMINATOR), 1), _DENOMINATOR) for chance in p[1:]
    ]
    chances = {0: 1 - 2 * sum(sides, Fraction(0))}
    for x, chance in enumerate(sides, 1):
        chances |= {x: chance, -x: chance}
    return TableNoise(chances, times=counts)
