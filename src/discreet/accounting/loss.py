"""The composed privacy loss: a sum of independent integers, each times a rational step.

Under the alternative (the person is there) the loss of a composition is

    L = offset + sum_k step_k * (X_k1 + ... + X_kn)

with integer X. For discrete Gaussian noise X ~ N_Z(0, sigma2), step = mu / sigma2 and each event adds
mu^2 / (2 sigma2) to the offset; for discrete Laplace noise of scale b, X takes the values 0..mu,
step = 2 / b, and each event adds -mu / b. Under the null hypothesis -L has the same law: exchange the
two neighbours and reflect. Everything in `accounting` works on the `Loss` built here; the letters
follow the explanation page on the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from discreet.budget.events import DiscreteGaussian, DiscreteLaplace, Event, grouped
from discreet.errors import InputError, PrecisionError
from discreet.noise.balls import ball, lattice_sum, theta3

Floats = NDArray[np.float64]

_MOST_VALUES = 4_000_000
_SUMMED = 48  # series of up to this many terms are summed one by one

DUAL_FROM = 0.5
"""Variances from here on use the Poisson dual of the theta sum (2 terms); smaller ones the sum itself."""


@dataclass(frozen=True)
class GaussianTerm:
    """`times` discrete Gaussians of variance proxy `sigma2`, shifted by `mu`."""

    sigma2: Fraction
    mu: int
    times: int

    @cached_property
    def step(self) -> Fraction:
        """Loss per unit of noise."""
        return self.mu / self.sigma2

    @cached_property
    def offset(self) -> Fraction:
        """Loss at X = 0, of one event."""
        return Fraction(self.mu * self.mu) / (2 * self.sigma2)

    @cached_property
    def is_dual(self) -> bool:
        """Whether the Poisson dual sum is the short one."""
        return self.sigma2 >= DUAL_FROM

    @cached_property
    def is_plain(self) -> bool:
        """Whether only the nearest frequency of the dual sum matters.

        Its neighbours count only near half a turn, and only while the factor itself is not negligible
        there: at angle pi/2 it is e^(-times sigma2 pi^2 / 8).
        """
        sigma2 = float(self.sigma2)
        return self.times * sigma2 > 60 and self.times * math.exp(-(math.pi**2) * sigma2) < 1e-17

    def tilted(self, theta: float) -> tuple[int, NDArray[np.int64], Floats]:
        """Return (shift, u, p): under the tilt e^(theta L), X = shift + u with probability p."""
        centre = theta * self.mu
        shift = round(centre)
        sigma2 = float(self.sigma2)
        reach = math.ceil(math.sqrt(80 * sigma2)) + 1
        u = np.arange(-reach, reach + 1)
        logs = -((u - (centre - shift)) ** 2) / (2 * sigma2)
        weight = np.exp(logs - logs.max())
        return shift, u, weight / weight.sum()

    def log_factor_ball(self, theta: Fraction) -> arb:
        """log of what one event contributes to log E e^(theta L) beyond theta offset + theta^2 R / 2.

        The ratio of the lattice sums at centre theta * mu and at 0.
        """
        centre = theta * self.mu
        near = centre - round(centre)
        lattice = theta3 if self.is_dual else lattice_sum
        return (lattice(near, self.sigma2) / lattice(Fraction(0), self.sigma2)).log()


@dataclass(frozen=True)
class LaplaceTerm:
    """`times` discrete Laplace variables of scale `b`, shifted by `mu`: a loss bounded by mu / b."""

    b: Fraction
    mu: int
    times: int

    @cached_property
    def step(self) -> Fraction:
        """Loss per unit of X = 0..mu."""
        return 2 / self.b

    @property
    def offset(self) -> Fraction:
        """Loss at X = 0, of one event."""
        return -self.mu / self.b

    @cached_property
    def _floats(self) -> tuple[float, float]:
        return 1 / float(self.b), float(self.step)

    def rate(self, theta: float) -> float:
        """log of the ratio of neighbouring weights under the tilt, but for the first and the last."""
        rate, step = self._floats
        return rate + theta * step

    def tilted(self, theta: float) -> tuple[int, NDArray[np.int64], Floats]:
        """Return (shift, u, p): under the tilt e^(theta L), X = shift + u with probability p.

        Weights form a geometric series from the heavier end, where `shift` is; those below e^-745 of the
        heaviest are left out.
        """
        rate = self.rate(theta)
        count = self.mu if abs(rate) * self.mu < 745 else math.ceil(745 / abs(rate))
        if count > _MOST_VALUES:
            raise PrecisionError(
                f"discrete Laplace noise of scale {self.b} on a count that changes by {self.mu} has too many "
                f"losses that matter here; at most {_MOST_VALUES} are listed"
            )
        weight = np.exp(-abs(rate) * np.arange(count + 1.0))
        weight[1:] *= -math.expm1(-self._floats[0])
        if count == self.mu:
            weight[-1] = math.exp(-abs(rate) * self.mu)
        p = weight / weight.sum()
        u = np.arange(count + 1)
        return (self.mu, -u[::-1], p[::-1]) if rate >= 0 else (0, u, p)

    def log_mgf(self, theta: Floats) -> Floats:
        """log E e^(theta step X), by the closed form of the geometric series."""
        rate = 1 / float(self.b) + theta * float(self.step)
        fall = -np.abs(rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.exp(fall) * np.expm1(fall * (self.mu - 1)) / np.expm1(fall)
        inner = np.where(fall == 0, self.mu - 1.0, inner)
        total = 1 + np.exp(fall * self.mu) - math.expm1(-1 / float(self.b)) * inner
        lead = np.maximum(rate, 0.0) * self.mu - self.mu / float(self.b)
        return np.asarray(lead + np.log(total) - math.log1p(math.exp(-1 / float(self.b))))

    def modulus(self, theta: float, angle: Floats) -> Floats:
        """|E e^(i angle X)| under the tilt."""
        q = np.append(0j, 1j * angle) - abs(self.rate(theta))
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.exp(q) * np.expm1(q * (self.mu - 1)) / np.expm1(q)
        inner = np.where(q == 0, self.mu - 1.0, inner)
        series = np.abs(1 + np.exp(q * self.mu) - math.expm1(-1 / float(self.b)) * inner)
        return np.asarray(series[1:] / series[0])

    def series_ball(self, q: acb) -> acb:
        """1 + e^(q mu) + (1 - r) (e^q + ... + e^(q (mu - 1))), r = e^(-1/b)."""
        part = 1 - (-ball(1 / self.b)).exp()
        if self.mu <= _SUMMED:
            inner = sum((((q * j).exp()) for j in range(1, self.mu)), acb(0))
        elif q.contains(0):
            inner = acb(self.mu - 1) + acb(arb(0, self.mu), arb(0, self.mu))  # anything up to its largest
        else:
            inner = q.exp() * (q * (self.mu - 1)).expm1() / q.expm1()
        return 1 + (q * self.mu).exp() + part * inner

    def rate_ball(self, theta: Fraction) -> arb:
        """The rate, enclosed."""
        return ball(1 / self.b + theta * self.step)

    def tilted_balls(self, theta: Fraction) -> list[arb]:
        """E [e^(theta step X); X = j], j = 0..mu: not yet divided by their sum."""
        if self.mu > _MOST_VALUES // 8:
            raise PrecisionError(
                f"a count that changes by {self.mu} has too many losses to be listed in a proof"
            )
        r = (-ball(1 / self.b)).exp()
        lowest = (-ball(self.mu / self.b)).exp() / (1 + r)
        ratio = self.rate_ball(theta).exp()
        inner = [lowest * (1 - r)]
        for _ in range(self.mu - 1):
            inner.append(inner[-1] * ratio)
        highest = ball(theta * self.step * self.mu).exp() / (1 + r)
        return [lowest, *inner[1:], highest]

    def log_factor_ball(self, theta: Fraction) -> arb:
        """log E e^(theta step X)."""
        r = (-ball(1 / self.b)).exp()
        rate = 1 / self.b + theta * self.step
        lead = ball(max(rate, Fraction(0)) * self.mu - self.mu / self.b)
        at_zero = 2 + (1 - r) * (self.mu - 1)
        series = self.series_ball(acb(ball(-abs(rate)))).real if rate else at_zero
        return lead + (series / (1 + r)).log()


Term = GaussianTerm | LaplaceTerm


class Loss:
    """The composed loss of a list of events, with its transform on the real axis.

    >>> from discreet.budget import DiscreteGaussian
    >>> loss = Loss([DiscreteGaussian(variance=5, times=10)])
    >>> loss.R, loss.step
    (Fraction(2, 1), Fraction(1, 5))
    >>> round(float(loss.log_mgf(np.array([0.0, 1.0]))[1]), 12)   # R (theta + theta^2) / 2, theta = 1
    2.0
    """

    def __init__(self, events: Iterable[Event]) -> None:
        if isinstance(events, DiscreteGaussian | DiscreteLaplace):
            raise InputError(f"events is a single event ({events}); give a list of events, such as [event]")
        listed = list(events)
        for event in listed:
            if not isinstance(event, DiscreteGaussian | DiscreteLaplace):
                raise InputError(
                    f"events has a {type(event).__name__} among its members; "
                    "DiscreteGaussian and DiscreteLaplace events can be composed"
                )
        self.events = grouped(listed)
        self.terms: tuple[Term, ...] = tuple(_term(event) for event in self.events)

    @cached_property
    def gaussian(self) -> tuple[GaussianTerm, ...]:
        """The Gaussian terms."""
        return tuple(t for t in self.terms if isinstance(t, GaussianTerm))

    @cached_property
    def dual(self) -> tuple[GaussianTerm, ...]:
        """Gaussian terms whose transform is summed by Poisson duality."""
        return tuple(t for t in self.gaussian if t.is_dual)

    @cached_property
    def primal(self) -> tuple[Term, ...]:
        """Terms with few values: small variances, and discrete Laplace."""
        return tuple(t for t in self.terms if not (isinstance(t, GaussianTerm) and t.is_dual))

    @cached_property
    def R(self) -> Fraction:  # noqa: N802
        """sum of times * mu^2 / sigma2 over the Gaussian terms: twice their zCDP rho."""
        return sum((t.times * t.mu * t.step for t in self.gaussian), Fraction(0))

    @cached_property
    def offset(self) -> Fraction:
        """The loss where every X is zero."""
        return sum((t.times * t.offset for t in self.terms), Fraction(0))

    @cached_property
    def step(self) -> Fraction:
        """The lattice step h: L lies in offset + h Z. Zero for an empty composition."""
        steps = {t.step for t in self.terms}
        denominator = math.lcm(*(s.denominator for s in steps))
        return Fraction(math.gcd(*(int(s * denominator) for s in steps)), denominator)

    @cached_property
    def multiples(self) -> dict[int, int]:
        """Each term's step in units of the lattice step, by id: hashing a term costs more than its use."""
        return {id(t): int(t.step / self.step) for t in self.terms}

    @cached_property
    def largest(self) -> Fraction | None:
        """The largest loss that can occur; None where there is no bound."""
        if self.gaussian:
            return None
        return sum((t.times * (t.offset + t.mu * t.step) for t in self.terms), Fraction(0))

    def below(self, threshold: Fraction) -> Fraction:
        """A point between the threshold and the lattice point next below it: L >= t means L > this point."""
        h, offset = self.step, self.offset
        return offset + h * math.ceil((threshold - offset) / h) - h / 2 if h else threshold

    def next_value(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """The lattice point next above a threshold, and a point between the two of them."""
        value = self.offset + self.step * ((threshold - self.offset) // self.step + 1)
        return max(threshold, value - self.step / 2), value

    @cached_property
    def dual_arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """(step, sigma2, mu, times) of the dual terms, as columns."""
        rows = [[float(t.step), float(t.sigma2), float(t.mu), float(t.times)] for t in self.dual]
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        return table[:, 0:1], table[:, 1:2], table[:, 2:3], table[:, 3:4]

    # -- the transform on the real axis ---------------------------------------------------------

    def dual_theta_part(self, theta: Floats) -> Floats:
        """The sum over dual terms of times * log(theta_3(pi mu theta) / theta_3(0)), at real tilts.

        What the lattice adds to the log-mgf of continuous Gaussians: at most 1e-4 an event.
        """
        if not self.dual:
            return np.zeros_like(theta)
        _, sigma2, mu, times = self.dual_arrays
        return np.asarray((times * _log_theta_ratio(mu * theta, sigma2)).sum(axis=0))

    def log_mgf(self, theta: Floats) -> Floats:
        """log E e^(theta L) under the alternative, at real tilts."""
        total = theta * float(self.offset) + theta * theta * (float(self.R) / 2)
        total += self.dual_theta_part(theta)
        for term in self.primal:
            if isinstance(term, GaussianTerm):
                total += term.times * _log_lattice_sum_ratio(theta * term.mu, float(term.sigma2))
            else:
                total += term.times * term.log_mgf(theta)
        return total

    def tilted_moments(self, theta: float) -> tuple[float, float]:
        """Mean and variance of L under the tilt e^(theta L): the first two derivatives of the log-mgf."""
        mean = float(self.offset)
        variance = 0.0
        if self.dual:
            mean += theta * self._dual_precision
            variance += self._dual_precision
            for weight, step, mu, sigma2 in self._small_duals:
                slope, curve = _theta_derivatives(theta * mu, sigma2)
                mean += weight * slope
                variance += weight * step * curve
        for term in self.primal:
            shift, u, p = term.tilted(theta)
            centre = float(p @ u)
            mean += term.times * float(term.step) * (shift + centre)
            variance += term.times * float(term.step) ** 2 * float(p @ (u - centre) ** 2)
        return mean, variance

    @cached_property
    def spread(self) -> float:
        """Standard deviation of L."""
        return self.tilted_spread(0.0)

    def tilted_spread(self, theta: float) -> float:
        """Standard deviation of L under the tilt; of a loss that hardly varies, a small part of its step.

        Of noise that is zero with near certainty the variance is too small for a float.
        """
        return math.sqrt(max(self.tilted_moments(theta)[1], 1e-20 * float(self.step) ** 2))

    @staticmethod
    def term_variance(term: Term, theta: float = 0.0) -> float:
        """Variance of one event's X under the tilt."""
        if isinstance(term, GaussianTerm) and term.is_dual:
            return float(term.sigma2)
        _, u, p = term.tilted(theta)
        return float(p @ (u - float(p @ u)) ** 2)

    @cached_property
    def _dual_precision(self) -> float:
        return float(sum((t.times * t.mu * t.step for t in self.dual), Fraction(0)))

    @cached_property
    def _small_duals(self) -> list[tuple[float, float, int, float]]:
        """Dual terms whose lattice shows in mean and variance: e^(-8 pi^2) and less does not."""
        return [
            (t.times * float(t.step), float(t.step), t.mu, float(t.sigma2)) for t in self.dual if t.sigma2 < 4
        ]


def _term(event: Event) -> Term:
    if isinstance(event, DiscreteLaplace):
        return LaplaceTerm(event.scale, event.sensitivity, event.times)
    return GaussianTerm(event.variance, event.sensitivity, event.times)


def _log_theta_ratio(centre: Floats, sigma2: Floats) -> Floats:
    """log theta_3(pi c, q) / theta_3(0, q), q = exp(-2 pi^2 sigma2): two terms suffice from 0.5 on."""
    q = np.exp(-2 * math.pi**2 * sigma2)
    q4 = q**4
    # centre is a dyadic number times an integer, so the reduction modulo 1 is exact
    turn = 2 * math.pi * (centre - np.round(centre))
    top = 2 * (q * np.cos(turn) + q4 * np.cos(2 * turn))
    return np.asarray(np.log1p(top) - np.log1p(2 * (q + q4)))


def _log_lattice_sum_ratio(centre: Floats, sigma2: float) -> Floats:
    """log of sum_u e^(-(u-c)^2 / 2 sigma2) over the same sum at c = 0."""
    near = centre - np.round(centre)
    reach = math.ceil(math.sqrt(80 * sigma2)) + 1
    u = np.arange(-reach, reach + 1)
    at_zero = np.exp(-(u**2) / (2 * sigma2)).sum()
    # the largest term is e^(-near^2 / 2 sigma2): taken out, so that no sum underflows
    lead = -(near**2) / (2 * sigma2)
    sums = np.exp(-(u * u - 2 * np.multiply.outer(near, u)) / (2 * sigma2)).sum(axis=-1)
    return np.asarray(lead + np.log(sums / at_zero))


def _theta_derivatives(centre: float, sigma2: float) -> tuple[float, float]:
    """sigma2 d/dc and sigma2^2 d2/dc2 of log theta_3(pi c): what the lattice adds to mean and variance."""
    q = math.exp(-2 * math.pi**2 * sigma2)
    turn = 2 * math.pi * (centre - round(centre))
    base = 1 + 2 * (q * math.cos(turn) + q**4 * math.cos(2 * turn))
    first = -4 * math.pi * (q * math.sin(turn) + 2 * q**4 * math.sin(2 * turn)) / base
    second = -8 * math.pi**2 * (q * math.cos(turn) + 4 * q**4 * math.cos(2 * turn)) / base - first**2
    return sigma2 * first, sigma2 * sigma2 * second
