"""The composed privacy loss: a sum of independent integers, each times a rational step.

Under the alternative (the person is there) the loss of a composition is

    L = offset + sum_k step_k * (X_k1 + ... + X_kn)

with integer X. For discrete Gaussian noise X ~ N_Z(0, sigma2), step = mu / sigma2 and each event adds
mu^2 / (2 sigma2) to the offset; for discrete Laplace noise of scale b, X takes the values 0..mu,
step = 2 / b, and each event adds -mu / b: `discreet.noise` says so. Under the null hypothesis -L has the same
law: exchange the two neighbours and reflect. Everything in `accounting` works on the `Loss` built here; the
letters follow the explanation page on the mathematics.

*Its transform.* Tilting by e^(theta L) moves the bulk of the law to where the sought tail is, so that sums
have no cancellation. The characteristic function of the tilted loss is taken at the nodes y = 2 pi j / P of a
trapezoidal rule. What matters of a term at node j is the *turn* j * step / P modulo 1, which is computed in
fixed point: no digit is lost however far out the node is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.memory import Forgetful
from discreet.noise import LatticeNoise, Noise, grouped
from discreet.noise.balls import working_bits
from discreet.noise.capabilities import require
from discreet.noise.lattice import Complexes
from discreet.noise.theta import dual_derivatives, dual_log_ratio

Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]

MOST_NODES = 2**40
"""Node numbers stay below this, so that 64-bit products give 88-bit turns."""

_SCALE = 2.0**-64
_NEGLIGIBLE = 80.0  # a modulus below e^-80 counts for nothing, whatever the kernel
_TWO_PI = 2 * math.pi


def common_step(steps: Iterable[Fraction]) -> Fraction:
    """The largest step of which all are multiples; zero if there are none.

    >>> common_step([Fraction(1, 4), Fraction(5, 6)])
    Fraction(1, 12)
    """
    different = set(steps)
    bottom = math.lcm(*(step.denominator for step in different))
    return Fraction(math.gcd(*(int(step * bottom) for step in different)), bottom)


def loss_steps(events: Iterable[Noise]) -> list[Fraction]:
    """The steps of all losses that lie on a lattice.

    >>> from discreet.noise import ContinuousGaussian, DiscreteLaplace
    >>> loss_steps([DiscreteLaplace(scale=4), ContinuousGaussian(variance=3)])
    [Fraction(1, 2)]
    """
    return [event.as_lattice.step for event in events if event.as_lattice is not None]


def is_coarse(step: float, spread: float) -> bool:
    """Whether one period of the contour has few enough nodes to sum them all."""
    return 20 * max(spread, step) <= 4096 * step


def noises_of(events: Noise | Iterable[Noise]) -> list[Noise]:
    """Return events, or one, as a list; what is no list of laws of noise is refused by name.

    >>> noises_of([5])
    Traceback (most recent call last):
    discreet.errors.InputError: events contains a int; only laws of noise, such as \
DiscreteGaussian(variance=5), can be composed
    """
    if isinstance(events, Noise):
        return [events]
    try:
        listed = list(events)
    except TypeError:
        listed = [events]  # type: ignore[list-item]
    for event in listed:
        if not isinstance(event, Noise):
            raise InputError(
                f"events contains a {type(event).__name__}; only laws of noise, such as "
                "DiscreteGaussian(variance=5), can be composed"
            )
    return listed


class Loss(Forgetful):
    """The composed loss of a list of events, with its transform on the real axis.

    >>> from discreet.budget import DiscreteGaussian
    >>> loss = Loss([DiscreteGaussian(variance=5, times=10)])
    >>> loss.R, loss.step
    (Fraction(2, 1), Fraction(1, 5))
    >>> round(float(loss.log_mgf(np.array([0.0, 1.0]))[1]), 12)   # R (theta + theta^2) / 2, theta = 1
    2.0
    """

    def __init__(self, events: Iterable[Noise]) -> None:
        listed = noises_of(events)
        require("lattice", listed)
        self.terms = tuple(term.as_lattice for term in grouped(listed) if term.as_lattice is not None)

    @cached_property
    def gaussian(self) -> tuple[LatticeNoise, ...]:
        """The terms whose loss has a Gaussian part."""
        return tuple(t for t in self.terms if t.precision > 0)

    @cached_property
    def dual(self) -> tuple[LatticeNoise, ...]:
        """Terms whose transform is summed by Poisson duality."""
        return tuple(t for t in self.terms if t.is_dual)

    @cached_property
    def primal(self) -> tuple[LatticeNoise, ...]:
        """Terms with few values: small variances, and discrete Laplace."""
        return tuple(t for t in self.terms if not t.is_dual)

    @cached_property
    def R(self) -> Fraction:  # noqa: N802
        """sum of times * mu^2 / sigma2 over the Gaussian terms: twice their zCDP rho."""
        return sum((t.precision for t in self.terms), Fraction(0))

    @cached_property
    def offset(self) -> Fraction:
        """The loss where every X is zero."""
        return sum((t.times * t.offset for t in self.terms), Fraction(0))

    @cached_property
    def step(self) -> Fraction:
        """The lattice step h: L lies in offset + h Z. Zero for an empty composition."""
        return common_step(t.step for t in self.terms)

    @cached_property
    def multiples(self) -> tuple[int, ...]:
        """Each term's step in units of the lattice step."""
        return tuple(int(t.step / self.step) for t in self.terms)

    @cached_property
    def largest(self) -> Fraction | None:
        """The largest loss that can occur; None where there is no bound."""
        total = Fraction(0)
        for term in self.terms:
            if term.largest is None:
                return None
            total += term.times * term.largest
        return total

    def below(self, threshold: Fraction) -> Fraction:
        """A point between the threshold and the next lattice point below it: L >= t means L > this point."""
        h, offset = self.step, self.offset
        if not h:
            return threshold
        # in whole numbers of a unit that divides h/2 and offset: ten times quicker than fractions
        unit = 2 * math.lcm(h.denominator, offset.denominator)
        step, start = h.numerator * (unit // h.denominator), offset.numerator * (unit // offset.denominator)
        top, bottom = threshold.numerator * unit - start * threshold.denominator, step * threshold.denominator
        return Fraction(start - step * (-top // bottom) - step // 2, unit)

    def next_value(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """A point between a threshold and the next lattice point above it, and that lattice point."""
        value = self.offset + self.step * ((threshold - self.offset) // self.step + 1)
        return max(threshold, value - self.step / 2), value

    @cached_property
    def dual_arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        """(step, sigma2, mu, times) of the dual terms, as columns."""
        rows = [[float(t.step), float(t.size), t.sensitivity, t.times] for t in self.dual]
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
        return np.asarray((times * dual_log_ratio(mu * theta, sigma2)).sum(axis=0))

    def log_mgf(self, theta: Floats) -> Floats:
        """log E e^(theta L) under the alternative, at real tilts."""
        return theta * float(self.offset) + theta * theta * (float(self.R) / 2) + self._beyond_normal(theta)

    def _beyond_normal(self, theta: Floats) -> Floats:
        """By how much the log-mgf exceeds that of a normal loss with the same offset and R."""
        total = self.dual_theta_part(theta)
        for term in self.primal:
            total = total + term.times * term.log_factor(theta)
        return total

    def chord(self, theta: float, move: Floats) -> Floats:
        """(K(theta + move) - K(theta)) / move of the log-mgf K; its normal part without cancellation."""
        more = self._beyond_normal(theta + move) - self._beyond_normal(np.array([theta]))
        return float(self.offset) + float(self.R) * (theta + move / 2) + more / move

    def tilted_moments(self, theta: float) -> tuple[float, float]:
        """Mean and variance of L under the tilt e^(theta L): the first two derivatives of the log-mgf."""
        mean = float(self.offset)
        variance = 0.0
        if self.dual:
            mean += theta * self._dual_precision
            variance += self._dual_precision
            for weight, step, mu, sigma2 in self._small_duals:
                slope, curve = dual_derivatives(theta * mu, sigma2)
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
        """Standard deviation of L under the tilt, at least a tiny part of its step.

        If the noise is nearly always zero, its variance is too small for a float.
        """
        return math.sqrt(max(self.tilted_moments(theta)[1], 1e-20 * float(self.step) ** 2))

    @cached_property
    def _dual_precision(self) -> float:
        return float(sum((t.precision for t in self.dual), Fraction(0)))

    @cached_property
    def _small_duals(self) -> list[tuple[float, float, int, float]]:
        """Dual terms whose lattice shows in mean and variance: e^(-8 pi^2) and less does not."""
        return [
            (t.times * float(t.step), float(t.step), t.sensitivity, float(t.size))
            for t in self.dual
            if t.size < 4
        ]


def log_scale(loss: Loss, theta: float) -> arb:
    """log M(theta), its large parts exact: only its *difference* from theta * threshold is small."""
    tilt = Fraction(theta)
    with working_bits(320):
        rational = tilt * loss.offset + loss.R * tilt * tilt / 2
        total = arb(fmpq(rational.numerator, rational.denominator))
        for term in loss.primal:
            total += term.times * term.log_factor_ball(tilt)
        if loss.dual:
            total += float(loss.dual_theta_part(np.array([theta]))[0])
        return total


def exact_exponent(scale: arb, theta: float, threshold: Fraction) -> float:
    """scale - theta * threshold: the large parts cancel before anything is rounded to a float."""
    with working_bits(320):
        product = fmpq(*theta.as_integer_ratio()) * fmpq(threshold.numerator, threshold.denominator)
        return float(scale - arb(product))


def log_fraction(value: Fraction) -> float:
    """log of a positive fraction, however small, and accurate near 1.

    >>> log_fraction(Fraction(1)), round(log_fraction(Fraction(1, 10**400)), 6)
    (0.0, -921.034037)
    """
    if value > Fraction(1, 2):
        return math.log1p(float(value - 1))
    return (
        math.log(value.numerator) - math.log(value.denominator)
        if float(value) == 0
        else math.log(float(value))
    )


# -- the transform of the tilted loss ------------------------------------------------------------------------


def turns(nodes: Nodes, per_node: Fraction) -> Floats:
    """Return nodes * per_node modulo 1, in [-1/2, 1/2), to relative rather than absolute accuracy.

    >>> turns(np.array([1, 2, 4]), Fraction(1, 3))
    array([ 0.33333333, -0.33333333,  0.33333333])
    """
    return np.asarray(turn_table(nodes, [per_node.numerator], per_node.denominator)[0])


def turn_table(nodes: Nodes, tops: Sequence[int], bottom: int) -> Floats:
    """The turns for several rates top / bottom, one row each."""
    rates = np.array([top / bottom for top in tops])[:, None]
    product: Floats = rates * nodes.astype(np.float64)
    if nodes.size == 0 or np.abs(rates).max() * nodes.max() < 0.25:
        return product
    # 88 bits of the turn per node: the error of node j is below j 2^-88, far nodes counting for little
    fixed = [((top << 88) // bottom) & ((1 << 88) - 1) for top in tops]
    high = np.array([f >> 24 for f in fixed], dtype=np.uint64)[:, None]
    low = np.array([f & 0xFFFFFF for f in fixed], dtype=np.uint64)[:, None]
    index = nodes.astype(np.uint64)
    wrapped = (index * high + ((index * low) >> np.uint64(24))).view(np.int64)
    return np.where(np.abs(product) < 0.25, product, wrapped * _SCALE)


class TiltedTransform:
    """log of E_theta e^(iy (L - centre)), E_theta the expectation under the tilt e^(theta L).

    `centre` is an exact fraction near the tilted mean; the phase that belongs to it is applied by the
    caller together with the threshold, in one exact step. `theta` must be dyadic with at most 24
    significant bits: then theta * mu is exact and so is every reduction modulo 1.
    """

    def __init__(self, loss: Loss, theta: float) -> None:
        self.loss = loss
        self.theta = theta
        steps = sum(t.times * n * t.shift(theta) for t, n in zip(loss.terms, loss.multiples, strict=True))
        self.centre = loss.offset + steps * loss.step

    def log(
        self, nodes: Nodes, period: Fraction, known: dict[LatticeNoise, Complexes] | None = None
    ) -> Complexes:
        """The log-transform at y = 2 pi nodes / period (nodes ascending); zero at node 0.

        `known` keeps what each term gives at these nodes, for other losses at the same tilt that share terms.
        """

        def transform(term: LatticeNoise, at: slice | NDArray[np.int64]) -> Complexes:
            if known is None:
                return term.log_transform(self.theta, turns(nodes[at], term.step / period))
            if term not in known:
                known[term] = term.log_transform(self.theta, turns(nodes, term.step / period))
            return known[term][at]

        total = np.zeros(nodes.shape, dtype=np.complex128)
        plain = [t for t in self.loss.dual if t.is_plain]
        # near the origin no turn wraps, and all plain factors together are one Gaussian
        fastest = max((float(t.step) for t in plain), default=0.0)
        inner = int(np.searchsorted(nodes, 0.25 * float(period) / fastest)) if fastest else 0
        if inner:
            y = (_TWO_PI / float(period)) * nodes[:inner]
            spread = sum(t.times * float(t.step) * t.sensitivity for t in plain)
            lean = sum(t.times * float(t.step) * t.near(self.theta) for t in plain)
            total[:inner] = -0.5 * spread * y * y + 1j * lean * y
        if inner < nodes.size:
            for term in plain:
                total[inner:] += transform(term, slice(inner, None))
        # no factor exceeds 1 in modulus: a node that one of them has made negligible needs no other
        left = np.flatnonzero(total.real > -_NEGLIGIBLE)
        for law in self.loss.terms:
            if not law.is_plain:
                total[left] += transform(law, left)
                left = left[total[left].real > -_NEGLIGIBLE]
        # a factor that vanishes exactly gives -inf, whose phase is not a number
        return np.where(np.isfinite(total), total, -800.0)
