"""Proofs for many events of any laws: bounds of delta from a loss on a grid in whole numbers.

The law on the grid dominates the true one, and its masses are rounded up: its delta is an upper bound. The
truth lies below it by no more than rounding added and by

    0.87 s E' exp(-(L' - eps)^2 / (2 (1.3 s)^2)),    s^2 = sum of (h_i / 2)^2 over all splits,  s <= 1/50,

where h_i is the step of the grid that a loss was split onto. Proof: docs/explanation/certified.md.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, arb_poly

from discreet.errors import PrecisionError
from discreet.loss.dots import MOST_CELLS, EventDots, NormalDots
from discreet.loss.masses import Masses, joined_masses
from discreet.loss.sides import Side, normal_variance
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.numbers import Interval

BITS = 256
"""Working precision of all balls here."""

SIZES = (2**14, 2**16, 2**18, 2**19, 2**20)
"""Points of the grid, one after the other until an interval is narrow enough."""

USUAL = SIZES[3]
"""The finest grid, unless digits are asked for."""

_FINER = 3  # by as many doublings the grid of a single loss may be finer than that of the sum
_HEIGHT, _WIDTH = Fraction(87, 100), Fraction(13, 10)  # of the bump that bounds the excess
_LARGEST_S = Fraction(1, 50)
_FAR = 12  # widths of the bump
_TINY = Fraction(1, 2**4000)


@dataclass(frozen=True)
class GridPlan:
    """How a loss is put on grids: the tilt, the most points of a grid, the finest level, what is left out."""

    theta: Fraction
    most: int
    level: int
    nats: float
    cut: Fraction

    @classmethod
    def of(cls, side: Side, epsilon: float, most: int, log_delta: float) -> GridPlan:
        """A plan that suits one direction of a composition at an epsilon."""
        finite = side.infinite < 1 and bool(side.laws or side.normal)
        theta = tilt_fraction(side.saddle(epsilon)) if finite else Fraction(0)
        if not finite:
            return cls(theta, most, 0, 25.0 - min(log_delta, 0.0), Fraction(1, 10**12))
        spread = math.sqrt(max(side.tilted_moments(float(theta))[1], 1e-12))
        # some 15 standard deviations on so many points
        level = math.floor(math.log2(most / (15 * spread)))
        count = sum(times for _, times in side.laws) + 1
        nats = 25.0 + math.log(count) - min(log_delta, 0.0)
        return cls(theta, most, level + _FINER, nats, Fraction(1, 10**12))


def tilt_fraction(theta: float) -> Fraction:
    """A fraction of few bits near a tilt."""
    if theta < 1e-6:
        return Fraction(0)
    unit = Fraction(2) ** (math.frexp(theta)[1] - 10)
    return round(Fraction(theta) / unit) * unit


class GridFactors(Forgetful):
    """The losses of kinds of events on the grids of one plan, each made once."""

    def __init__(self, plan: GridPlan) -> None:
        self.plan = plan

    @cached_property
    def _made(self) -> dict[tuple[object, ...], Masses]:
        return {}

    @cached_property
    def _dots(self) -> dict[tuple[object, ...], EventDots]:
        return {}

    def dots(self, noise: Noise, exchanged: bool) -> EventDots:
        """The loss of one count."""
        key = (*noise.key, exchanged and not noise.is_mirrored)
        if key not in self._dots:
            self._dots[key] = EventDots(noise, bool(key[-1]), self.plan.nats)
        return self._dots[key]

    def repeated(self, noise: Noise, exchanged: bool) -> Masses:
        """The loss of all times of an event."""
        plan = self.plan
        key = (*noise.key, exchanged and not noise.is_mirrored, noise.times)
        if key not in self._made:
            dots = self.dots(noise, exchanged)
            level = plan.level
            if (density := noise.exact_density) is not None:
                level = min(level, math.floor(math.log2(_cells(plan) / (2 * density.end))))
            single = dots.masses(level, plan.most, plan.theta, plan.cut)
            self._made[key] = single.power(noise.times, plan.most, plan.theta, plan.cut)
        return self._made[key]

    def normal(self, variance: Fraction) -> Masses:
        """A normal loss."""
        plan = self.plan
        key = ("normal", variance)
        if key not in self._made:
            dots = NormalDots(variance)
            level = min(plan.level, math.floor(math.log2(_cells(plan) / (16 * math.sqrt(variance)))))
            self._made[key] = dots.masses(level, plan.theta, plan.cut)
        return self._made[key]

    def parts(self, events: Iterable[Noise], exchanged: bool) -> list[Masses]:
        """The losses of events, the normal ones as one."""
        events = tuple(events)
        parts = [self.repeated(e, exchanged) for e in events if e.normal_loss is None]
        normal = normal_variance(events)
        return [*parts, self.normal(normal)] if normal else parts

    def sum(self, parts: list[Masses]) -> Masses:
        """The sum of losses, the narrowest first; of none it is zero."""
        plan = self.plan
        if not parts:
            return Masses(plan.level, 0, np.array([1 << 60], dtype=np.uint64), -60, Fraction(0))
        heap = [(float(part.width), k, part) for k, part in enumerate(parts)]
        heapq.heapify(heap)
        count = len(heap)
        while len(heap) > 1:
            one, two = heapq.heappop(heap)[2], heapq.heappop(heap)[2]
            both = joined_masses(one, two, plan.most, plan.theta, plan.cut)
            heapq.heappush(heap, (float(both.width), count, both))
            count += 1
        return heap[0][2]

    def law(self, events: Iterable[Noise], exchanged: bool) -> GridBounds:
        """The law of all events together."""
        events = tuple(events)
        parts = self.parts(events, exchanged)
        finite, missed = arb(1), arb(0)
        for event in events:
            if event.normal_loss is None:
                dots = self.dots(event, exchanged)
                finite *= (1 - dots.infinite) ** event.times
                missed += event.times * dots.missed
        return GridBounds(self.plan.theta, self.sum(parts), 1 - finite, missed.upper())


def _cells(plan: GridPlan) -> int:
    """How many cells a loss with a density may have, each of which takes some balls."""
    return min(plan.most, MOST_CELLS)


@dataclass(frozen=True, eq=False)
class GridBounds(Forgetful):
    """A composed loss on the grid, and the probabilities of what is not there."""

    theta: Fraction
    masses: Masses
    infinite: arb
    missed: arb

    @cached_property
    def s(self) -> arb:
        """The spread of all splits together."""
        return (ball(self.masses.splits) / 4).sqrt()

    def delta(self, epsilon: Fraction) -> Interval:
        """An interval that contains delta at an epsilon of at least 0, in this direction."""
        masses, t = self.masses, ball(self.theta)
        unit = arb(2) ** masses.exponent * (-t * ball(epsilon)).exp()
        value = self._value(epsilon)
        # no loss adds more than this part of its tilted mass
        most = 1 / (1 + t)
        top = unit * (value + masses.lost * most) + self.infinite + self.missed
        bottom = unit * (value - masses.over * most - self._excess(epsilon)) + self.infinite
        if top < ball(_TINY):  # too small to be written out
            return Interval(Fraction(0), _TINY)
        floor = max(lower(bottom) if bottom > ball(_TINY) else Fraction(0), lower(self.infinite))
        return Interval(floor, max(min(upper(top), Fraction(1)), floor))

    def _value(self, epsilon: Fraction) -> arb:
        """Sum of m e^(-theta x) (1 - e^-x) over points a distance x > 0 above epsilon."""
        masses, h, t = self.masses, self.masses.step, ball(self.theta)
        start = max(math.floor(epsilon / h) + 1 - masses.first, 0)
        if start >= masses.mass.size:
            return arb(0)
        distance = ball((masses.first + start) * h - epsilon)
        tail = arb_poly(masses.mass[start:].tolist())
        one, two = (tail((-s * ball(h)).exp()) * (-s * distance).exp() for s in (t, t + 1))
        return one - two

    def _excess(self, epsilon: Fraction) -> arb:
        """By how much the sum may exceed the truth, in the same units."""
        masses, h, t, s = self.masses, self.masses.step, ball(self.theta), self.s
        if not s <= ball(_LARGEST_S):
            return arb(masses.total + masses.lost)
        width = ball(_WIDTH) * s
        reach = math.ceil(_FAR * upper(width) / h) + 1
        middle = math.floor(epsilon / h) - masses.first
        total = arb(0)
        for k in range(max(middle - reach, 0), min(middle + reach + 1, masses.mass.size)):
            if masses.mass[k]:
                x = ball((masses.first + k) * h - epsilon)
                total += int(masses.mass[k]) * (-t * x - (x / width) ** 2 / 2).exp()
        if not t * width < _FAR:
            raise PrecisionError("the tilt is too strong for the grid")
        far = (_FAR * width * t - _FAR**2 // 2).exp() * masses.total
        lost = (t * t * width * width / 2).exp() * masses.lost
        return ball(_HEIGHT) * s * (total + far + lost)


class GridProof(Forgetful):
    """Intervals for delta of one composition, near one epsilon: on finer and finer grids."""

    def __init__(
        self, events: tuple[Noise, ...], sides: Sequence[Side], epsilon: float, small: float
    ) -> None:
        """Near `epsilon`, where delta is about `small`."""
        self.events, self.sides, self.epsilon, self.small = events, sides, epsilon, small

    @cached_property
    def _laws(self) -> dict[int, list[GridBounds]]:
        return {}

    def laws(self, most: int) -> list[GridBounds]:
        """The laws of both directions that count, on grids of at most so many points."""
        if most not in self._laws:
            made = []
            with working_bits(BITS):
                for side in self.sides:
                    plan = GridPlan.of(side, abs(self.epsilon), most, self.small)
                    made.append(GridFactors(plan).law(self.events, side.exchanged))
            self._laws[most] = made
        return self._laws[most]

    def delta(self, epsilon: Fraction, most: int) -> Interval:
        """An interval that contains delta at an epsilon of either sign."""
        laws = self.laws(most)
        with working_bits(BITS):
            boxes = [law.delta(abs(epsilon)) for law in laws]
            box = Interval(max(box.lower for box in boxes), max(box.upper for box in boxes))
            return at_either_sign(box, epsilon)

    def narrow(self, epsilon: Fraction, aim: float, *, needed: bool) -> tuple[Interval, int]:
        """An interval of this relative width, and the points of its grid; else one on the finest grid.

        If the width is needed, a finest grid that will not reach it is not tried.
        """
        finest = SIZES[-1] if needed else USUAL
        size = SIZES[0]
        box = self.delta(epsilon, size)
        while width_of(box) > aim and size < finest:
            finer = [points for points in SIZES if size < points <= finest]
            # the width falls with the square of the step (beside atoms with the step)
            width = width_of(box) if box.lower else math.inf
            enough = (one for one in finer if width * (size / one) ** 2 <= aim)
            size, last = finer[0] if width == math.inf else next(enough, finest), size
            if needed and width < math.inf and width * (last / size) ** 2 > aim:
                return box, last
            box = self.delta(epsilon, size)
        return box, size


def width_of(box: Interval) -> float:
    """The relative width of an interval.

    >>> width_of(Interval(Fraction(3), Fraction(4)))
    0.25
    """
    return float((box.upper - box.lower) / box.upper) if box.upper else 0.0


def at_either_sign(box: Interval, epsilon: Fraction) -> Interval:
    """delta(epsilon) from delta(|epsilon|): delta(-e) = 1 - e^-e + e^-e delta(e)."""
    if epsilon >= 0:
        return box
    back = ball(epsilon)
    low, high = (-back.expm1() + back.exp() * ball(end) for end in (box.lower, box.upper))
    return Interval(max(lower(low), Fraction(0)), min(upper(high), Fraction(1)))
