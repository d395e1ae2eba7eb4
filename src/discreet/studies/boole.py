"""Boole's rule for groups of equal events: a published method to compare with; the package never uses it.

Su, Su and Wang (PNAS 2025, arXiv:2410.09296), Propositions A.12 and A.13, Facts A.14 and A.15. The law of
each group's sum is replaced by the normal density on the integers, the measure nu; with M = S / h whole,

    P[S > t] ~ sum over A <= m <= B of nu[M = m] = integral from 0 to pi of F,
    F(x) = 1/pi * prod over groups of f_i(m_i x) * sum over A <= m <= B of cos(m x),
    f_i(x) = sum over u of cos(u x) e^(-u^2 / 2 s_i^2) / sqrt(2 pi s_i^2)
           = sum over k of e^(-s_i^2 (x - 2 pi k)^2 / 2),    s_i^2 = n_i sigma_i^2,

which is cut at `cut` and computed from `nodes` points of Boole's rule. Each step has its stated error,
`BooleErrors`. The paper counts one side of two-sided tails (a factor of 2 in 1e-31) and writes nu[M h >= t]
beside P[S > t]; here both sides are counted and both tails are strict. Its B is 6 A, for epsilon well above
R/2; here B is at least 12 standard deviations of S, so that every epsilon has an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.loss.lattice import Floats, Loss
from discreet.noise import Noise
from discreet.noise.balls import working_bits
from discreet.studies.published import (
    MOST_NODES,
    LatticeNormal,
    PublishedMethod,
    WithBound,
    checked_epsilon,
)

_UNIT = 2.0**-53
_TINY = 5e-324
_CELLS = 2**18

BOOLE_NODES, BOOLE_CUT, BOOLE_TOP, BOOLE_SPREADS = 10**7 + 1, Fraction(1, 100), 6, 12
"""The paper's settings: points of the rule, end of the integral, B / A, and the reach of a group in s_i."""


class BooleErrors(NamedTuple):
    """What each step of `BooleSum` adds to the error of one tail, by the paper's own bounds.

    >>> BooleErrors(1e-29, 2e-29, 0.0, 2e-24, 0.0).total > 2e-24
    True
    """

    density: float
    """The normal density for the law of each group (Proposition A.12)."""
    truncation: float
    """nu beyond B (Proposition A.13)."""
    cut: float
    """The integral beyond `cut` (Fact A.14)."""
    quadrature: float
    """2/945 sup|F^(6)| h^6 (b - a) (Fact A.15)."""
    rounding: float
    """The arithmetic, which the paper leaves out."""

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return math.fsum(self)


class BooleSum(PublishedMethod):
    """Groups of equal events: the normal density for each group, and Boole's rule (A.12 to A.15).

    `nodes` is the number of points, 4 k + 1; `cut` the end of the integral, by default the first multiple of
    1/100 beyond which it is below 1e-30, or pi. In float64, or with `digits` decimal digits.

    Guarantee
    ---------
    The true value lies within `bound` of `value`; `errors` has the parts of the bound.

    >>> from discreet.noise import DiscreteGaussian
    >>> events = [DiscreteGaussian(variance=5, times=10), DiscreteGaussian(variance=8, times=4)]
    >>> value, bound = BooleSum(events, nodes=100_001).delta(epsilon=2.0)
    >>> print(f"{value:.10f}, error below {bound:.0e}")
    0.1704537004, error below 2e-10
    """

    def __init__(
        self,
        events: Iterable[Noise],
        *,
        nodes: int = BOOLE_NODES,
        cut: float | None = None,
        digits: int | None = None,
    ) -> None:
        loss = Loss(events)
        if not loss.gaussian or len(loss.gaussian) < len(loss.terms):
            raise InputError("the Boole sum takes discrete Gaussian events only, and at least one")
        if nodes < 5 or nodes % 4 != 1 or nodes > MOST_NODES:
            raise InputError(f"nodes is {nodes}; it must be a multiple of 4, plus 1, from 5 to {MOST_NODES}")
        if cut is not None and not 0 < cut <= math.pi:
            raise InputError(f"cut is {cut:g}; it must lie in (0, pi]")
        self.step, self.R, self.nodes, self.digits = loss.step, loss.R, nodes, digits
        self._terms = loss.gaussian
        self._multiples = [int(term.step / loss.step) for term in self._terms]
        self._variances = [term.times * term.size for term in self._terms]
        self._beyond = self._cells()
        self.cut = self._default_cut() if cut is None else float(cut)

    # -- the stated errors --------------------------------------------------------------------------

    @cached_property
    def density_error(self) -> float:
        """E_0 + E_1 + E_2 of Proposition A.12: what the normal density in place of each group's law costs."""
        spread = [math.sqrt(float(v)) for v in self._variances]
        residuals = [LatticeNormal([term]).residual_bound for term in self._terms]
        peaks = [1 / (math.sqrt(2 * math.pi) * s) for s in spread]
        most = [peak + r for peak, r in zip(peaks, residuals, strict=True)]
        points = [2 * BOOLE_SPREADS * s + 1 for s in spread]
        k, outside = len(spread), math.exp(-(BOOLE_SPREADS**2) / 2)
        everywhere = math.fsum(
            r * n * math.prod(c * m for j, (c, m) in enumerate(zip(most, points, strict=True)) if j != i)
            for i, (r, n) in enumerate(zip(residuals, points, strict=True))
        )
        return 2 * k * outside + math.fsum(1 + 2 * peak for peak in peaks) * outside + everywhere

    def ends(self, threshold: Fraction) -> tuple[int, int]:
        """Return the lattice points A and B of a tail: B is 6 A, and at least 12 standard deviations."""
        first = math.floor(threshold / self.step) + 1
        least = math.ceil(BOOLE_SPREADS * math.sqrt(float(self.R)) / float(self.step))
        return first, max(BOOLE_TOP * first, first + 1, least)

    def truncation_error(self, threshold: Fraction) -> float:
        """nu beyond B: `union_bound`, or Chernoff's bound where that is smaller."""
        _, last = self.ends(threshold)
        excess = math.prod(1 + _theta_excess(float(v)) for v in self._variances)
        level = last * float(self.step)
        chernoff = excess * math.exp(-(level**2) / (2 * float(self.R))) + _TINY
        return min(self.union_bound(threshold), chernoff)

    def union_bound(self, threshold: Fraction) -> float:
        """The paper's bound on nu beyond B: that one of the k groups alone exceeds its share B / k."""
        return math.fsum(self.union_terms(threshold))

    def union_terms(self, threshold: Fraction) -> list[float]:
        """Return the terms of `union_bound`, one for each group."""
        _, last = self.ends(threshold)
        shares = [last / (len(self._terms) * multiple) for multiple in self._multiples]
        pairs = zip(shares, self._variances, strict=True)
        return [_nu_tail(share, float(variance)) for share, variance in pairs]

    def cut_error(self, threshold: Fraction) -> float:
        """The integral of |F| beyond `cut`: the number of lattice points times the product of the f_i."""
        first, last = self.ends(threshold)
        start = min(int(self.cut / math.pi * _CELLS), _CELLS)
        return (last - first + 1) / math.pi * float(self._beyond[start])

    def moments(self) -> list[float]:
        """Return bounds on E |M|^p under nu for p = 0 to 6: the triangle inequality over the groups."""
        norms = [
            [
                m * _nu_moment(p, float(v)) ** (1 / p)
                for m, v in zip(self._multiples, self._variances, strict=True)
            ]
            for p in range(1, 7)
        ]
        total = math.prod(1 + _theta_excess(float(v)) for v in self._variances)
        return [total] + [total * math.fsum(row) ** p for p, row in enumerate(norms, start=1)]

    def sixth_derivative(self, threshold: Fraction) -> float:
        """Return `sixth_derivative_bound` for the lattice points of a tail, with `moments`."""
        return sixth_derivative_bound(*self.ends(threshold), self.moments())

    def quadrature_error(self, threshold: Fraction) -> float:
        """The error of Boole's rule, 2/945 sup|F^(6)| h^6 (b - a)."""
        h = self.cut / (self.nodes - 1)
        return boole_error(self.sixth_derivative(threshold), h=h, length=self.cut)

    # -- one tail -------------------------------------------------------------------------------------

    def tail(self, threshold: Fraction) -> tuple[float, BooleErrors]:
        """Return P[S > threshold], and what each step adds to its error."""
        value, rounding = self._sum(*self.ends(threshold))
        errors = BooleErrors(
            density=self.density_error,
            truncation=self.truncation_error(threshold),
            cut=self.cut_error(threshold),
            quadrature=self.quadrature_error(threshold),
            rounding=rounding,
        )
        return value, errors

    def first_tail(self, *, epsilon: float) -> WithBound:
        """Return P[S > epsilon - R/2], the paper's upper bound on delta: it leaves the second tail out."""
        value, errors = self.tail(Fraction(checked_epsilon(epsilon)) - self.R / 2)
        return WithBound(value, errors.total)

    def delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon` from both tails, and the error bound."""
        exact, factor = Fraction(checked_epsilon(epsilon)), math.exp(epsilon)
        (first, errors), (second, more) = (self.tail(exact + side * self.R / 2) for side in (-1, 1))
        rounding = 4 * _UNIT * (abs(first) + factor * abs(second))
        return WithBound(first - factor * second, errors.total + factor * more.total + rounding)

    # -- the sum ----------------------------------------------------------------------------------------

    def _sum(self, first: int, last: int) -> tuple[float, float]:
        return self._float_sum(first, last) if self.digits is None else self._ball_sum(first, last)

    def _float_sum(self, first: int, last: int) -> tuple[float, float]:
        """Boole's rule in float64, and a bound on its rounding.

        With u the unit of rounding, an angle m x is off by 2 u m x, its sine by that and u, and cot(x/2) <=
        2/x; a factor f_i at distance d from a peak is off by u (8 s^2 m x d + 4 s^2 d^2) of itself.
        """
        h = self.cut / (self.nodes - 1)
        total, doubt, size = [], [], abs(first) + abs(last)
        for start in range(0, self.nodes, 2**18):
            index = np.arange(start, min(start + 2**18, self.nodes))
            x: Floats = h * index.astype(np.float64)
            height, exponent = self._product(x)
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = np.cos(x / 2) / np.sin(x / 2)
                kernel = (
                    np.cos(first * x) + np.cos(last * x) + slope * (np.sin(last * x) - np.sin(first * x))
                ) / 2
            if start == 0:
                kernel[0] = last - first + 1
            weight = _boole_weights(index, self.nodes) * height
            total.append(float((weight * kernel).sum()))
            with np.errstate(divide="ignore"):
                most = np.minimum(last - first + 1, 2 + 2 / x)
                error = np.minimum(size * (x + 2) + 12 / x + 3, 4.0 * (last - first + 1) * (size * x + 4))
            doubt.append(float((weight * (error + most * (32 + exponent))).sum()))
        scale = 2 * h / 45 / math.pi
        return scale * math.fsum(total), scale * math.fsum(doubt) * 2 * _UNIT

    def _product(self, x: Floats) -> tuple[Floats, Floats]:
        """The product of all f_i, and the sum of s^2 m x d + s^2 d^2 times 8, for its rounding."""
        height, exponent = np.ones_like(x), np.zeros_like(x)
        for multiple, variance in zip(self._multiples, self._variances, strict=True):
            v, turn = float(variance), multiple * x
            d = np.abs(np.remainder(turn + math.pi, 2 * math.pi) - math.pi)
            factor = np.zeros_like(x)
            for k in _images(v, 40.0):
                factor += np.exp(-v * (d - 2 * math.pi * k) ** 2 / 2)
            height *= factor
            exponent += 8 * v * d * (turn + d)
        with np.errstate(invalid="ignore"):
            return height, np.where(height > 0, np.minimum(exponent, 1e300), 0.0)

    def _ball_sum(self, first: int, last: int) -> tuple[float, float]:
        with working_bits(math.ceil((self.digits or 0) * math.log2(10)) + 48):
            h = arb(self.cut) / (self.nodes - 1)
            total = arb(0)
            for j, weight in zip(range(self.nodes), _weights_in_turn(self.nodes), strict=True):
                x = h * j
                kernel = arb(last - first + 1)
                if j:
                    low, high, half = first * x, last * x, x / 2
                    kernel = (low.cos() + high.cos() + half.cot() * (high.sin() - low.sin())) / 2
                total += weight * kernel * self._ball_product(x)
            total *= 2 * h / 45 / arb.pi()
            return float(total.mid()), float(total.rad().upper()) + _UNIT * abs(float(total.mid())) + _TINY

    def _ball_product(self, x: arb) -> arb:
        height, circle = arb(1), 2 * arb.pi()
        nats = ((self.digits or 0) + 15) * math.log(10)
        for multiple, variance in zip(self._multiples, self._variances, strict=True):
            v = arb(fmpq(variance.numerator, variance.denominator))
            turn = multiple * x
            turn -= circle * round(float(turn.mid()) / (2 * math.pi))
            images = _images(float(variance), nats)
            beyond = 4 * (-v * (circle * (len(images) // 2 + 1) - arb.pi() - 1) ** 2 / 2).exp()
            factor = sum(((-v * (turn - circle * k) ** 2 / 2).exp() for k in images), arb(0))
            height *= factor + arb(0, 1) * beyond.abs_upper()
        return height

    # -- beyond the cut -----------------------------------------------------------------------------------

    def _cells(self) -> Floats:
        """Bounds on the integral of the product of the f_i up to pi, from the start of each of many cells."""
        width = math.pi / _CELLS
        middle = (np.arange(_CELLS) + 0.5) * width
        logs = np.zeros(_CELLS)
        for multiple, variance in zip(self._multiples, self._variances, strict=True):
            v = float(variance)
            d = np.abs(np.remainder(multiple * middle + math.pi, 2 * math.pi) - math.pi)
            # f falls with the distance from a peak: the nearest point of the cell
            d = np.maximum(d - multiple * width / 2 * (1 + 1e-9) - 1e-12 * multiple, 0.0)
            logs += np.log(
                np.sum([np.exp(-v * (d - 2 * math.pi * k) ** 2 / 2) for k in _images(v, 700.0)], axis=0)
                + 1e-300
            )
        return np.append(np.cumsum((width * np.exp(np.minimum(logs, 700.0)))[::-1])[::-1], 0.0)

    def _default_cut(self) -> float:
        """The first multiple of 1/100 beyond which the integral of |F| is below 1e-30, or pi."""
        reach = BOOLE_SPREADS * math.sqrt(float(self.R)) / float(self.step)
        for k in range(1, 315):
            end = k * float(BOOLE_CUT)
            if 2 * reach * float(self._beyond[int(end / math.pi * _CELLS)]) < 1e-30:
                return end
        return math.pi


def sixth_derivative_bound(first: int, last: int, moments: Sequence[float]) -> float:
    """Return the bound on sup |F^(6)|: 1/pi sum over m and j of C(6, j) |m|^(6-j) E|M|^j, m = first .. last.

    `moments` has the bounds on E|M|^j for j = 0 to 6.

    >>> round(math.pi * sixth_derivative_bound(1, 1, [1.0] + 6 * [0.0]), 3)    # the sum over m from above
    18.143
    """
    sums = [_power_sum(first, last, 6 - j) for j in range(7)]
    terms = enumerate(zip(sums, moments, strict=True))
    return math.fsum(math.comb(6, j) * power * moment for j, (power, moment) in terms) / math.pi


def boole_error(sixth: float, *, h: float, length: float) -> float:
    """Return the error bound of Boole's rule, 2/945 sup|F^(6)| h^6 (b - a).

    >>> f"{boole_error(1.2e35, h=1e-9, length=0.01):.4e}"    # Fact A.15 prints 2.54e-24
    '2.5397e-24'
    """
    return 2 / 945 * sixth * h**6 * length


def _boole_weights(index: NDArray[np.int64], nodes: int) -> Floats:
    """7, 32, 12, 32, 14, 32, 12, 32, ..., 7."""
    weights = np.array([14.0, 32.0, 12.0, 32.0])[index % 4]
    weights[(index == 0) | (index == nodes - 1)] = 7.0
    return weights


def _weights_in_turn(nodes: int) -> Iterator[int]:
    yield 7
    for j in range(1, nodes - 1):
        yield (14, 32, 12, 32)[j % 4]
    yield 7


def _images(variance: float, nats: float) -> range:
    """The images k of a normal peak that matter within pi of it, on both sides."""
    most = math.ceil((math.sqrt(2 * nats / variance) + math.pi) / (2 * math.pi))
    return range(-most, most + 1)


def _theta_excess(variance: float) -> float:
    """theta_3(0, e^(-2 pi^2 variance)) - 1: what nu has beyond mass 1, and its moment generating function."""
    v = np.arange(1, 40)
    return 2 * float(np.exp(-2 * math.pi**2 * variance * v * v).sum())


def _nu_tail(above: float, variance: float) -> float:
    """The mass of the normal density on the integers above a point."""
    first = math.floor(above) + 1
    end = math.ceil(math.sqrt(max(first, 0) ** 2 + 1480 * variance)) + 2
    x = np.arange(first, end + 1, dtype=np.float64)
    return float(np.exp(-x * x / (2 * variance)).sum()) / math.sqrt(2 * math.pi * variance) + _TINY


def _nu_moment(power: int, variance: float) -> float:
    """The sum of |x|^power times the normal density on the integers."""
    x = np.arange(1, math.ceil(40 * math.sqrt(variance)) + 2, dtype=np.float64)
    return 2 * float((x**power * np.exp(-x * x / (2 * variance))).sum()) / math.sqrt(2 * math.pi * variance)


def _power_sum(first: int, last: int, power: int) -> float:
    """The sum of |m|^power over first <= m <= last, not less than it."""
    ends = (abs(first), abs(last)) if first * last > 0 else (0, max(abs(first), abs(last)))
    low, high = min(ends), max(ends)
    sides = 2 if first < 0 < last else 1
    # |m|^p <= the integral of x^p from m to m + 1
    return sides * (float(high + 1) ** (power + 1) - float(low) ** (power + 1)) / (power + 1)
