"""One vertical line of the complex plane: the transform at its nodes, and sums over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from discreet.accounting.loss import Floats, Loss
from discreet.accounting.sieve import Sieve
from discreet.accounting.tilted import Complexes, Nodes, TiltedTransform, turn_table
from discreet.noise.balls import working_bits

DEPTH = 48.0
"""Nodes whose factor is below e^-DEPTH are left out: 1e-17 of the result, with room to spare."""

_BLOCK = 1 << 20
_TWO_PI = 2 * math.pi


@dataclass(frozen=True, slots=True)
class Points:
    """Thresholds at which tails are asked, as multiples of a unit from an origin, exactly.

    On a lattice the smallest losses above the thresholds, in steps; else the thresholds themselves.
    """

    origin: Fraction
    unit: Fraction
    tops: list[int]
    value: Floats
    gap: Floats

    @classmethod
    def on_lattice(cls, thresholds: list[Fraction], offset: Fraction, h: Fraction) -> Points:
        """The first lattice point above each threshold, and how far above it is."""
        # t / h - offset / h, kept as one integer over another: fractions would be ten times slower
        shift = offset / h
        tops, gap = [], []
        for t in thresholds:
            bottom = t.denominator * h.numerator * shift.denominator
            top = t.numerator * h.denominator * shift.denominator
            top -= shift.numerator * t.denominator * h.numerator
            k = top // bottom + 1
            tops.append(k)
            gap.append((k * bottom - top) / bottom)
        step = float(h)
        # the offset may be large against the step: differences to it are what counts
        value = float(offset) + step * np.array([float(k) for k in tops])
        return cls(offset, h, tops, value, step * np.array(gap))

    @classmethod
    def on_line(cls, thresholds: list[Fraction]) -> Points:
        """The thresholds themselves."""
        bottom = math.lcm(*(t.denominator for t in thresholds))
        tops = [t.numerator * (bottom // t.denominator) for t in thresholds]
        value = np.array([float(t) for t in thresholds])
        return cls(Fraction(0), Fraction(1, bottom), tops, value, np.zeros(len(tops)))

    def exact(self, i: int) -> Fraction:
        """The i-th point."""
        return self.origin + self.unit * self.tops[i]

    def take(self, chosen: list[int]) -> Points:
        """Some of the points, in the given order."""
        tops = [self.tops[i] for i in chosen]
        return Points(self.origin, self.unit, tops, self.value[chosen], self.gap[chosen])


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
            if count:  # the slack of the sieve must not reach into the other half of the period
                nodes = nodes[2 * nodes <= count]
        logs = self.transform.log(nodes, spacing)
        keep = logs.real > -DEPTH
        self.nodes, logs = nodes[keep], logs[keep]
        self.factor = np.exp(logs)
        self.factor *= np.where(self.nodes == 0, 1.0, 2.0)
        if count and count % 2 == 0 and self.nodes[-1] == count // 2:
            self.factor[-1] *= 0.5  # the middle of the period belongs to both halves
        self.z = theta + 1j * ((_TWO_PI / float(spacing)) * self.nodes)
        self._scale = log_scale(loss, theta)
        self.alias = 0.0  # bound of the aliases, in units of e^exponent

    def exponents(self, points: Points) -> Floats:
        """log M(theta) - theta * point: exact for the first, the others by their small distance to it."""
        first = exact_exponent(self._scale, self.theta, points.exact(0))
        distance = np.array([float(top - points.tops[0]) for top in points.tops])
        return first - self.theta * float(points.unit) * distance

    def sums(self, points: Points, weights: list[Complexes]) -> tuple[list[Floats], Floats]:
        """For each weight, the real parts of sum_j factor_j weight_j e^(iy_j (centre - point)).

        Also the sum of all moduli, against which rounding errors are to be measured.
        """
        terms = [self.factor * w for w in weights]
        moduli = np.abs(terms)
        sizes = moduli.sum(axis=1)
        # far nodes that the kernel has made negligible: all together below 1e-17
        keep = (moduli > (1e-17 / self.nodes.size) * sizes[:, None]).any(axis=0)
        nodes, terms = self.nodes[keep], [t[keep] for t in terms]
        values = [np.zeros(len(points.tops)) for _ in weights]
        # (centre - point) / period = (start - stride * top) / bottom
        start = (self.transform.centre - points.origin) / self.period
        stride = points.unit / self.period
        bottom = math.lcm(start.denominator, stride.denominator)
        first = start.numerator * (bottom // start.denominator)
        by = stride.numerator * (bottom // stride.denominator)
        tops = [first - by * top for top in points.tops]
        rows = max(1, _BLOCK // nodes.size)
        for row in range(0, len(tops), rows):
            part = slice(row, row + rows)
            angle = _TWO_PI * turn_table(nodes, tops[part], bottom)
            cosine, sine = np.cos(angle), np.sin(angle)
            for value, term in zip(values, terms, strict=True):
                value[part] = cosine @ term.real - sine @ term.imag
        return values, sizes


def log_scale(loss: Loss, theta: float) -> arb:
    """log M(theta) with large parts kept exactly: only its *difference* to theta * threshold is small."""
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
