"""Tails of the loss by a trapezoidal rule on a tilted contour.

One positive integral per value: no cancellation between two tail probabilities, so the relative
accuracy at delta = 1e-300 is that at 0.1. Thresholds that lie close together share a contour, and so
the values of the transform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.accounting.contour import DEPTH, Contour, Points
from discreet.accounting.loss import Floats, Loss
from discreet.accounting.saddle import Kind, period, saddle
from discreet.accounting.sieve import Sieve, SieveOverflowError, sieve
from discreet.accounting.tilted import MOST_NODES, Complexes

_ALIAS = 37.0  # aliases below e^-37 of the value
_DOUBTFUL = 3e-13  # estimates above are worth a second look


@dataclass(frozen=True, slots=True)
class Tail:
    """Logarithms of the asked values, and estimates of their relative errors."""

    log: Floats
    error: Floats


class Evaluation(Protocol):
    """Whatever can evaluate tails."""

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """Logarithms of tails at thresholds, with relative errors."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How far a contour runs: one period of the lattice `h`, or `reach` on a line without one."""

    h: Fraction | None
    reach: float
    kept: Sieve | None = None  # the sieve, where it is already known ...
    serves: tuple[Kind, ...] = ()  # ... and the kernels for which it is deep enough
    remainder: float = 0.0  # mean modulus over reach, of what a cut contour leaves out

    def nodes(self, period: float) -> float:
        """About how many nodes the sieve keeps."""
        if self.kept is None:
            return self.reach * period / (2 * math.pi)
        return float(np.sum((self.kept.high - self.kept.low) * (period / (2 * math.pi)) + 1))


class Quadrature:
    """Evaluates tails of one loss, on its lattice or up to a finite reach."""

    def __init__(self, loss: Loss, strategy: Strategy, fallback: Evaluation | None = None) -> None:
        self.loss = loss
        self.fallback = fallback  # asked where the estimate of the error is too large
        self.remainder = strategy.remainder
        self.h = strategy.h
        self.reach = strategy.reach
        self._h = float(strategy.h) if strategy.h else 0.0
        self.is_explored = strategy.kept is not None
        self.is_long = strategy.kept is not None and strategy.kept.low.size > 5000
        self._sieves: dict[bool, Sieve] = {}
        if strategy.kept is not None:
            self._sieves = {kind.has_both_poles: strategy.kept for kind in strategy.serves}
        # few points of the lattice within the width of the loss: neighbours differ by orders of magnitude
        self._is_coarse = self._h > 0.03 * loss.spread
        # the largest tilt in use: beyond it every kernel falls
        self._scale = 40 / loss.spread

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t), P[L > t] or P_null[L > t] at each threshold t."""
        log = np.full(len(thresholds), -math.inf)
        error = np.zeros(len(thresholds))
        if self.h is None:
            points = Points.on_line(thresholds)
        else:
            points = Points.on_lattice(thresholds, self.loss.offset, self.h)
            if kind is Kind.DELTA and self._is_coarse:
                close = np.flatnonzero(points.gap < 0.02 * self._h)
                if close.size:
                    apart = self._beside_atoms([thresholds[i] for i in close])
                    others = np.flatnonzero(points.gap >= 0.02 * self._h)
                    log[close], error[close] = apart.log, apart.error
                    if others.size:
                        inner = self.tail(kind, [thresholds[i] for i in others])
                        log[others], error[others] = inner.log, inner.error
                    return Tail(log, error)
        order = sorted(range(len(thresholds)), key=points.tops.__getitem__)
        if self.loss.largest is not None:
            last = (self.loss.largest - points.origin) / points.unit
            # on a line the threshold itself must lie below the largest loss
            order = [i for i in order if (points.tops[i] <= last if self.h else points.tops[i] < last)]
        position = 0
        while position < len(order):
            remaining = order[position:]
            try:
                contour, until = self._contour(kind, points.value[remaining])
            except SieveOverflowError:
                # not to be had on this contour: an infinite error says so
                log[remaining], error[remaining] = math.nan, math.inf
                break
            chosen = remaining[:until]
            log[chosen], error[chosen] = self._evaluate(contour, kind, points.take(chosen))
            position += until
            for i in chosen:
                if not error[i] < _DOUBTFUL:
                    found = self._alone(kind, thresholds[i], points.take([i]), log[i], error[i])
                    log[i], error[i] = found
        return Tail(log, error)

    def _alone(
        self, kind: Kind, threshold: Fraction, point: Points, log: float, error: float
    ) -> tuple[float, float]:
        """A doubtful value once more: by the fallback, or with aliases pushed down further."""
        if self.fallback is not None:
            other = self.fallback.tail(kind, [threshold])
            if not other.error[0] >= error:
                return float(other.log[0]), float(other.error[0])
        for extra in (12.0, 40.0):
            try:
                contour, _ = self._contour(kind, point.value, extra)
            except SieveOverflowError:
                break
            again, estimate = self._evaluate(contour, kind, point)
            if estimate[0] < error or math.isnan(error):
                log, error = float(again[0]), float(estimate[0])
            if error < _DOUBTFUL:
                break
        return log, error

    def _beside_atoms(self, thresholds: list[Fraction]) -> Tail:
        """delta just below a point l of the lattice, in two parts that may differ by orders of magnitude.

        delta(t) = (1 - e^-(l - t)) P[L >= l] + e^-(l - t) delta(l), each part with a tilt of its own.
        """
        assert self.h is not None
        points = Points.on_lattice(thresholds, self.loss.offset, self.h)
        atom = self.tail(Kind.ALT, thresholds)
        rest = self.tail(Kind.DELTA, [points.exact(i) for i in range(len(thresholds))])
        with np.errstate(divide="ignore"):
            log = np.logaddexp(np.log(-np.expm1(-points.gap)) + atom.log, rest.log - points.gap)
        return Tail(log, np.maximum(atom.error, rest.error) + 4e-16)

    def _contour(self, kind: Kind, values: Floats, extra: float = 0.0) -> tuple[Contour, int]:
        """A contour for the first of the ascending points, and how many of them it may serve.

        `extra` makes aliases smaller, for values that are smaller than they should be at this tilt.
        """
        lowest, highest = float(values[0]), float(values[-1])
        theta, spread, window = self._tilt(kind, lowest)
        reach = lowest + window
        if values.size > 1 and values[1] <= lowest + 2 * window:
            # a tilt for the middle of a window serves more points, if the law is as wide there
            centre = min(lowest + window, highest)
            theta_, spread_, window_ = self._tilt(kind, centre)
            if centre - window_ <= lowest:
                theta, spread, reach = theta_, spread_, centre + window_
        until = max(1, int(np.searchsorted(values, reach, side="right")))
        unit = max(spread, self._h)
        # the value in units of e^exponent, roughly: kernel over the width of the tilted law
        size = kernel_size(kind, theta, self._h) * min(1.0, (self._h or 1.0) / (2.5 * spread))
        need = _ALIAS + 4 + extra - math.log(size)
        span = period(self.loss, kind, theta, unit, lowest, float(values[until - 1]), need)
        contour = self._build(kind, theta, span.length)
        contour.alias = math.exp(-need)
        return contour, until

    def _tilt(self, kind: Kind, threshold: float) -> tuple[float, float, float]:
        """The tilt for a threshold, the width of the tilted law, and how far to either side it serves."""
        theta = saddle(self.loss, kind, threshold, self._h)
        spread = self.loss.tilted_spread(theta)
        return theta, spread, 1.4 * spread

    def _build(self, kind: Kind, theta: float, span: float) -> Contour:
        if self.h is not None:
            count = max(8, math.ceil(span / self._h))
            if count <= 4096:
                return Contour(self.loss, theta, count * self.h, None, count)
            return Contour(self.loss, theta, count * self.h, self._kept(kind, theta), count)
        spacing = short_above(span)
        if self.reach * float(spacing) / (2 * math.pi) > MOST_NODES:
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

    def _evaluate(self, contour: Contour, kind: Kind, points: Points) -> tuple[Floats, Floats]:
        z, h, gap = contour.z, self._h, points.gap
        exponent = contour.exponents(points)
        if kind is Kind.NULL:
            exponent -= points.value
        if self.h is None:
            poles = {Kind.ALT: z, Kind.NULL: z + 1}
            kernel: Complexes = np.asarray(1 / poles.get(kind, z * (z + 1)), dtype=np.complex128)
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
            error += np.where(value > 0, contour.alias * norm / np.abs(value), math.inf)
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
