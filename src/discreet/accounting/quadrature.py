"""Tails of the loss by a trapezoidal rule on a tilted contour.

One positive integral per value: no cancellation between two tail probabilities, so the relative
accuracy at delta = 1e-300 is that at 0.1. Thresholds that lie close together share a contour, and so
the values of the transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from discreet.accounting.balls import ball_log_factor
from discreet.accounting.loss import Floats, Loss
from discreet.accounting.saddle import Kind, period, saddle
from discreet.accounting.sieve import Sieve, SieveOverflowError, sieve
from discreet.accounting.tilted import MOST_NODES, Complexes, Nodes, TiltedTransform, turn_table

DEPTH = 48.0
"""Nodes whose factor is below e^-DEPTH are left out: 1e-17 of the result, with room to spare."""

_ALIAS = 37.0  # aliases below e^-37 of the value
_BLOCK = 1 << 20
_TWO_PI = 2 * math.pi


@dataclass(frozen=True, slots=True)
class Tail:
    """Logarithms of the asked values, and estimates of their relative errors."""

    log: Floats
    error: Floats


class Contour:
    """The transform on one vertical line: nodes, and the exact scale that belongs to them."""

    def __init__(self, loss: Loss, theta: float, spacing: Fraction, kept: Sieve | None, count: int) -> None:
        self.loss = loss
        self.theta = theta
        self.period = spacing
        self.transform = TiltedTransform(loss, theta)
        nodes: Nodes
        if kept is None:
            nodes = np.arange(count // 2 + 1, dtype=np.int64)
        else:
            nodes = kept.nodes(float(spacing), most=20_000_000)
        logs = self.transform.log(nodes, spacing)
        keep = logs.real > -DEPTH
        self.nodes, logs = nodes[keep], logs[keep]
        self.factor = np.exp(logs)
        self.factor *= np.where(self.nodes == 0, 1.0, 2.0)
        if kept is None and count % 2 == 0 and self.nodes[-1] == count // 2:
            self.factor[-1] *= 0.5  # the middle of the period belongs to both halves
        self.z = theta + 1j * ((_TWO_PI / float(spacing)) * self.nodes)
        self._scale = log_scale(loss, theta)

    def exponent(self, threshold: Fraction) -> float:
        """log M(theta) - theta * threshold."""
        return exact_exponent(self._scale, self.theta, threshold)

    def sums(self, thresholds: list[Fraction], weights: list[Complexes]) -> tuple[list[Floats], Floats]:
        """For each weight, the real parts of sum_j factor_j weight_j e^(iy_j (centre - threshold)).

        Also the sum of all moduli, against which rounding errors are to be measured.
        """
        terms = [self.factor * w for w in weights]
        moduli = np.abs(terms)
        sizes = moduli.sum(axis=1)
        # far nodes that the kernel has made negligible: all together below 1e-17
        keep = (moduli > (1e-17 / self.nodes.size) * sizes[:, None]).any(axis=0)
        nodes, terms = self.nodes[keep], [t[keep] for t in terms]
        values = [np.zeros(len(thresholds)) for _ in weights]
        rates = [(self.transform.centre - t) / self.period for t in thresholds]
        rows = max(1, _BLOCK // nodes.size)
        for first in range(0, len(rates), rows):
            part = slice(first, first + rows)
            angle = _TWO_PI * turn_table(nodes, rates[part])
            cosine, sine = np.cos(angle), np.sin(angle)
            for value, term in zip(values, terms, strict=True):
                value[part] = cosine @ term.real - sine @ term.imag
        return values, sizes


def log_scale(loss: Loss, theta: float) -> arb:
    """log M(theta) with large parts kept exactly: only its *difference* to theta * threshold is small."""
    tilt = Fraction(theta)
    with ctx.workprec(320):
        rational = tilt * loss.offset + loss.R * tilt * tilt / 2
        total = arb(fmpq(rational.numerator, rational.denominator))
        for term in loss.primal:
            total += term.times * ball_log_factor(term, tilt)
        if loss.dual:
            total += float(loss.dual_theta_part(np.array([theta]))[0])
        return total


def exact_exponent(scale: arb, theta: float, threshold: Fraction) -> float:
    """scale - theta * threshold: the large parts cancel before anything is rounded to a float."""
    with ctx.workprec(320):
        product = fmpq(*theta.as_integer_ratio()) * fmpq(threshold.numerator, threshold.denominator)
        return float(scale - arb(product))


@dataclass(frozen=True, slots=True)
class Strategy:
    """How far a contour runs: one period of the lattice `h`, or `reach` on a line without one."""

    h: Fraction | None
    reach: float
    kept: Sieve | None = None  # the sieve, where it is already known ...
    serves: tuple[Kind, ...] = ()  # ... and the kernels for which it is deep enough
    remainder: float = 0.0  # mean modulus over reach, of what a cut contour leaves out


class Quadrature:
    """Evaluates the three kinds of tails of one loss, on its lattice or up to a finite reach."""

    def __init__(self, loss: Loss, strategy: Strategy) -> None:
        self.loss = loss
        self.remainder = strategy.remainder
        self.h = strategy.h
        self.reach = strategy.reach
        self._h = float(strategy.h) if strategy.h else 0.0
        self._sieves: dict[bool, Sieve] = {}
        if strategy.kept is not None:
            self._sieves = {kind.has_both_poles: strategy.kept for kind in strategy.serves}
        # the largest tilt in use: beyond it every kernel falls
        self._scale = 40 / math.sqrt(loss.tilted_moments(0.0)[1])

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t), P[L > t] or P_null[L > t] at each threshold t."""
        log = np.full(len(thresholds), -math.inf)
        error = np.zeros(len(thresholds))
        first, gap = self._first_points(thresholds)
        order = sorted(range(len(thresholds)), key=lambda i: first[i])
        if self.loss.largest is not None:
            order = [i for i in order if first[i] <= self.loss.largest]
        position = 0
        while position < len(order):
            try:
                contour, until = self._contour(kind, [first[i] for i in order[position:]])
            except SieveOverflowError:
                # not to be had on this contour: an infinite error says so
                log[order[position:]], error[order[position:]] = math.nan, math.inf
                break
            chosen = order[position : position + until]
            position += until
            result = self._evaluate(contour, kind, [first[i] for i in chosen], gap[chosen])
            log[chosen], error[chosen] = result
        return Tail(log, error)

    def _first_points(self, thresholds: list[Fraction]) -> tuple[list[Fraction], Floats]:
        """The smallest loss above each threshold, and how far above it is."""
        h = self.h
        if h is None:
            return thresholds, np.zeros(len(thresholds))
        offset = self.loss.offset
        first = [offset + h * ((t - offset) // h + 1) for t in thresholds]
        return first, np.array([float(f - t) for f, t in zip(first, thresholds, strict=True)])

    def _contour(self, kind: Kind, points: list[Fraction]) -> tuple[Contour, int]:
        """A contour for the first of the ascending points, and how many of them it may serve."""
        lowest, highest = float(points[0]), float(points[-1])
        theta, spread, window = self._tilt(kind, lowest)
        reach = lowest + window
        if len(points) > 1 and float(points[1]) <= lowest + 2 * window:
            # a tilt for the middle of a window serves more points, if the law is as wide there
            centre = min(lowest + window, highest)
            theta_, spread_, window_ = self._tilt(kind, centre)
            if centre - window_ <= lowest:
                theta, spread, reach = theta_, spread_, centre + window_
        until = 1
        while until < len(points) and float(points[until]) <= reach:
            until += 1
        unit = max(spread, self._h)
        # the value in units of e^exponent, roughly: kernel over the width of the tilted law
        size = kernel_size(kind, theta, self._h) * min(1.0, (self._h or 1.0) / (2.5 * spread))
        need = _ALIAS + 4 - math.log(size)
        span = period(self.loss, kind, theta, unit, lowest, float(points[until - 1]), need)
        return self._build(kind, theta, span.length), until

    def _tilt(self, kind: Kind, threshold: float) -> tuple[float, float, float]:
        """The tilt for a threshold, the width of the tilted law, and how far to either side it serves."""
        theta = saddle(self.loss, kind, threshold, self._h)
        spread = math.sqrt(self.loss.tilted_moments(theta)[1])
        return theta, spread, max(1.4 * spread, self._h / 2)

    def _build(self, kind: Kind, theta: float, span: float) -> Contour:
        if self.h is not None:
            count = max(8, math.ceil(span / self._h))
            if count <= 4096:
                return Contour(self.loss, theta, count * self.h, None, count)
            return Contour(self.loss, theta, count * self.h, self._kept(kind, theta), count)
        spacing = short_above(span)
        if self.reach * float(spacing) / _TWO_PI > MOST_NODES:
            raise SieveOverflowError("the contour has too many nodes to number")
        return Contour(self.loss, theta, spacing, self._kept(kind, theta), 0)

    def _kept(self, kind: Kind, theta: float) -> Sieve:
        """The sieve for this kernel, made once where no term's radius depends on the tilt."""
        quick = kind.has_both_poles
        if quick in self._sieves and not self.loss.primal:
            return self._sieves[quick]
        found = sieve(
            self.loss, reach=self.reach, depth=DEPTH, theta=theta, falloff=falloff(kind), scale=self._scale
        )
        self._sieves[quick] = found
        return found

    def _evaluate(
        self, contour: Contour, kind: Kind, points: list[Fraction], gap: Floats
    ) -> tuple[Floats, Floats]:
        z, h = contour.z, self._h
        exponent = np.array([contour.exponent(p) for p in points])
        if kind is Kind.NULL:
            exponent -= np.array([float(p) for p in points])
        if self.h is None:
            if kind.has_both_poles:
                kernel = 1 / (z * (z + 1))
            else:
                kernel = 1 / z if kind is Kind.ALT else 1 / (z + 1)
            (value,), sizes = contour.sums(points, [kernel])
            norm = float(contour.period)
        else:
            norm = float(contour.period / self.h)
            e0, e1 = -np.expm1(-z * h), -np.expm1(-(z + 1) * h)
            if kind.has_both_poles:
                # 1/e0 - e^-gap/e1, written so that nothing cancels
                (s0, s1), pair = contour.sums(points, [1 / (e0 * e1), np.exp(-z * h) / (e0 * e1)])
                c0, c1 = -np.expm1(-gap), np.exp(-gap) * -np.expm1(gap - h)
                value = c0 * s0 + c1 * s1
                sizes = c0 * pair[0] + c1 * pair[1]
            else:
                (value,), sizes = contour.sums(points, [1 / e0 if kind is Kind.ALT else 1 / e1])
        if kind is Kind.REST:
            value = -value
        with np.errstate(invalid="ignore", divide="ignore"):
            log = exponent + np.log(value / norm)
            error = 2.3e-16 * (4 * sizes / value + np.abs(exponent) + 4)
            if self.remainder:
                left_out = self.remainder / math.pi * (1.0 if kind.has_both_poles else self.reach)
                error += left_out * norm / value
        return log, error


def falloff(kind: Kind) -> float:
    """How fast the kernel falls along the contour: like the second power for delta, the first for tails."""
    return 2.0 if kind.has_both_poles else 1.0


def short_above(length: float) -> Fraction:
    """A fraction just above the length with 12 bits, which keeps the turns short fractions."""
    exponent = math.frexp(length)[1] - 12
    return Fraction(math.ldexp(math.ceil(math.ldexp(length, -exponent)), exponent))


def kernel_size(kind: Kind, theta: float, h: float) -> float:
    """The kernel on the real axis; for delta on a lattice, at a threshold half a step below a point."""

    def one(distance: float) -> float:
        return abs(1 / math.expm1(-distance * h)) if h else 1 / abs(distance)

    if kind.has_both_poles:
        gap = -math.expm1(-h / 2) * (1 + math.exp(-(theta + 0.5) * h)) if h else 1.0
        return one(theta) * one(theta + 1) * gap
    return one(theta - kind.pole)
