"""Proofs for all cases of a release with noise of any laws: upper bounds of all of them together.

A case is made of two halves, such as the two paths of a pair. With m the masses of the one and n those of the
other, delta is at most the sum of m(a) n(b) k(a + b - eps), k(x) = e^(-theta x) (1 - e^-x)_+. For each second
half the sum over b is one product of polynomials, in whole numbers, rounded up; then all sums over a are one
product of matrices. Its terms are positive, so that in floats it is off by less than 1e-9 of itself, whatever
the order of the sum; the bounds are that much larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from discreet.errors import PrecisionError
from discreet.loss.cases import Case, EventGroup, GroupedCases
from discreet.loss.grid_evaluator import GridEvaluator
from discreet.loss.lattice import Floats
from discreet.loss.masses import TOTAL_BITS, Masses, Units, product
from discreet.loss.proved import proved_delta, proved_epsilon
from discreet.loss.proved_grids import BITS, GridFactors, GridPlan, at_either_sign
from discreet.loss.sides import Side
from discreet.memory import Forgetful
from discreet.noise import Noise, grouped
from discreet.noise.balls import ball, upper, working_bits
from discreet.numbers import Interval

_ROUNDING = 1e-9
_MOST_HALVES = 2_000
_FEW = 3  # cases that are proved one by one
_ONE_BY_ONE = 12  # cases that come close to the worst, proved one by one
_MOST_SINGLE = 200
_COARSE, _FINE = 2**12, 2**14


Half = tuple[Noise, ...]


@dataclass(frozen=True)
class Halves:
    """Cases as pairs of halves: one row a first half, one column a second, -1 where there is no case."""

    first: list[Half]
    second: list[Half]
    number: dict[tuple[int, int], int]
    """The number of the case of each pair."""

    @classmethod
    def of(cls, cases: Sequence[Case] | GroupedCases) -> Halves | None:
        """The halves of all cases; None if there are too many of them."""
        if not isinstance(cases, GroupedCases):
            return cls([events for _, events in cases], [()], {(k, 0): k for k in range(len(cases))})
        if len(cases.groups) == 1:
            paths = list(cases.groups[0].events)
            if not cases.paired:
                return cls(paths, [()], {(k, 0): k for k in range(len(paths))})
            pairs = (cases.choice(k)[0] for k in range(len(cases)))
            return cls(
                paths, [_exchanged(path) for path in paths], {(i, j): k for k, (i, j) in enumerate(pairs)}
            )
        # the choices of the largest group, and those of all others together
        largest = max(range(len(cases.groups)), key=lambda g: cases.sizes[g])
        if cases.sizes[largest] + len(cases) // cases.sizes[largest] > _MOST_HALVES:
            return None
        rows: dict[tuple[tuple[int, ...], ...], int] = {}
        columns: dict[tuple[tuple[int, ...], ...], int] = {}
        number = {}
        for k in range(len(cases)):
            choice = cases.choice(k)
            own, others = choice[largest : largest + 1], (*choice[:largest], *choice[largest + 1 :])
            number[rows.setdefault(own, len(rows)), columns.setdefault(others, len(columns))] = k
        rest = [group for g, group in enumerate(cases.groups) if g != largest]
        first = [_chosen([cases.groups[largest]], choice) for choice in rows]
        return cls(first, [_chosen(rest, choice) for choice in columns], number)


def _chosen(groups: Sequence[EventGroup], choice: Sequence[tuple[int, ...]]) -> Half:
    """The events of one choice of paths in each of some groups."""
    events: list[Noise] = []
    for group, paths in zip(groups, choice, strict=True):
        for row, path in enumerate(paths):
            events += _exchanged(group.events[path]) if row else group.events[path]
    return grouped(events)


def _exchanged(events: Sequence[Noise]) -> Half:
    """The record of the second path comes where that of the first leaves."""
    return tuple(event.exchanged() for event in events)


class CaseBounds:
    """Upper bounds of delta in all cases, on the grids of one plan, in one direction."""

    def __init__(self, halves: Halves, factors: GridFactors, exchanged: bool) -> None:
        self.halves, self.factors, self.exchanged = halves, factors, exchanged
        self.left, self.right = self._laws(halves.first), self._laws(halves.second)
        level = min(law.level for law in (*self.left, *self.right))
        self.left, self.right = self._on(self.left, level), self._on(self.right, level)

    def _laws(self, halves: list[Half]) -> list[Masses]:
        return [self.factors.sum(self.factors.parts(half, self.exchanged)) for half in halves]

    def _on(self, laws: list[Masses], level: int) -> list[Masses]:
        made = []
        for law in laws:
            while law.level > level:
                law = law.coarser(self.factors.plan.theta)
            made.append(law)
        return made

    def at(self, epsilon: Fraction) -> Floats:
        """Upper bounds at an epsilon of at least 0, one for each case, in the order of their numbers."""
        theta, h = self.factors.plan.theta, self.left[0].step
        first = min(law.first for law in self.left)
        last = max(law.first + law.mass.size for law in self.left)
        rows = np.zeros((len(self.left), last - first))
        for row, law in zip(rows, self.left, strict=True):
            row[law.first - first : law.first - first + law.mass.size] = law.mass
        top = last + max(law.first + law.mass.size for law in self.right)
        kernel, start, scale = _kernel(theta, h, epsilon, top)
        columns = np.zeros((len(self.right), last - first))
        for column, law in zip(columns, self.right, strict=True):
            if kernel.size:
                shift = (law.total * int(kernel.sum())).bit_length() - TOTAL_BITS
                made = product(law.mass[::-1], kernel, max(shift, 0))
                # the place of the first of them
                place = start - (law.first + law.mass.size - 1)
                low, high = max(place, first), min(place + made.size, last)
                if high > low:
                    column[low - first : high - first] = np.ldexp(
                        made[low - place : high - place].astype(np.float64), max(shift, 0)
                    )
        sums = rows @ columns.T
        return self._bounds(sums, scale, epsilon)

    def _bounds(self, sums: Floats, scale: int, epsilon: Fraction) -> Floats:
        t = self.factors.plan.theta
        base = float(upper(-ball(t) * ball(epsilon)))
        chances = [[self._beyond(half) for half in part] for part in (self.halves.first, self.halves.second)]
        bounds = np.zeros(len(self.halves.number))
        part = 1.0 / (1.0 + float(t))
        for (i, j), number in self.halves.number.items():
            one, two = self.left[i], self.right[j]
            lost = float(one.total * two.lost + two.total * one.lost + one.lost * two.lost) * part
            value = math.ldexp(float(sums[i, j]), scale) + lost
            log = (
                math.log(value) + (one.exponent + two.exponent) * math.log(2) + base if value > 0 else -800.0
            )
            # more than what the logarithm and the exponential are off by
            finite = math.exp(min(log + 1e-12 * abs(log) + _ROUNDING, 0.0)) + 1e-300
            beyond = sum((*chances[0][i], *chances[1][j]))
            bounds[number] = min(finite * (1 + _ROUNDING) + beyond * (1 + 1e-12), 1.0)
        return bounds

    def _beyond(self, half: Half) -> tuple[float, float]:
        """Upper bounds of the probability of an infinite loss, and of what is left out."""
        finite, missed = arb(1), arb(0)
        for event in half:
            if event.normal_loss is None:
                dots = self.factors.dots(event, self.exchanged)
                finite *= (1 - dots.infinite) ** event.times
                missed += event.times * dots.missed
        return float((1 - finite).upper()) * (1 + 1e-15), float(missed.upper()) * (1 + 1e-15)


def _kernel(theta: Fraction, h: Fraction, epsilon: Fraction, top: int) -> tuple[Units, int, int]:
    """k at the points above epsilon, in whole units, rounded up: from the first point on, and the unit."""
    start = math.floor(epsilon / h) + 1
    if start >= top:
        return np.zeros(0, dtype=np.uint64), start, 0
    t, distance = ball(theta), ball(start * h - epsilon)
    bits = TOTAL_BITS - (top - start).bit_length() - 1
    unit = arb(2) ** bits
    one, two = (-t * distance).exp() * unit, (-(t + 1) * distance).exp() * unit
    fall, more = (-t * ball(h)).exp(), (-(t + 1) * ball(h)).exp()
    values = []
    for _ in range(start, top):
        values.append(math.ceil(upper(one - two)))
        if values[-1] <= 1 and len(values) > 1 and values[-2] <= 1 and one < 1:
            break  # what follows is smaller than a unit, and is one
        one, two = one * fall, two * more
    kernel = np.ones(top - start, dtype=np.uint64)
    kernel[: len(values)] = values
    return kernel, start, -bits


# -- intervals for a whole release ------------------------------------------------------------------------


class ProvedCases(Forgetful):
    """Intervals for the largest delta of all cases, and for its epsilon."""

    def __init__(self, cases: Sequence[Case] | GroupedCases, main: Half) -> None:
        """The cases, and the events of one that is likely to be about the worst."""
        self.cases, self.main = cases, GridEvaluator(main)
        self.is_mirrored = all(e.is_mirrored for _, events in _parts(cases) for e in events)

    @cached_property
    def _halves(self) -> Halves | None:
        return Halves.of(self.cases)

    def _bounds(self, epsilon: Fraction, most: int) -> Floats:
        """Upper bounds of delta in all cases, at an epsilon of at least 0."""
        near = float(epsilon)
        about = self.main.quick_delta(near)
        small = math.log(about) if about > 0 else -740.0
        assert self._halves is not None
        bounds = []
        with working_bits(BITS):
            for exchanged in (False,) if self.is_mirrored else (False, True):
                side = Side(self.main.events, exchanged)
                factors = GridFactors(GridPlan.of(side, near, most, small))
                bounds.append(CaseBounds(self._halves, factors, exchanged).at(epsilon))
        return np.asarray(np.max(bounds, axis=0))

    def bounds(self, epsilon: Fraction) -> Floats | None:
        """Proved upper bounds of delta in all cases, on a coarse grid; None if there are none."""
        if self._halves is None:
            return None
        try:
            return self._bounds(epsilon, _COARSE)
        except PrecisionError:
            return None

    def delta(self, epsilon: Fraction, digits: int | None) -> Interval:
        """An interval for the largest delta of all cases."""
        if self._halves is None or len(self.cases) <= _FEW:
            return _largest([proved_delta(loss, epsilon, digits) for loss in self._different()])
        bounds = self._bounds(abs(epsilon), _COARSE)
        worst = int(np.argmax(bounds))
        box = proved_delta(self._case(worst), abs(epsilon), digits)
        box = Interval(box.lower, self._top(abs(epsilon), box, worst, bounds, digits))
        with working_bits(BITS):
            return at_either_sign(box, epsilon)

    def _top(
        self, epsilon: Fraction, box: Interval, worst: int, bounds: Floats, digits: int | None
    ) -> Fraction:
        """An upper bound for all cases: that of the worst, if the others are proved to lie below it."""
        top = box.upper
        just_below = math.nextafter(float(top), 0.0)
        done = {self.cases[worst][1]}
        for most in (_COARSE, _FINE):
            if most != _COARSE:
                bounds = np.minimum(bounds, self._bounds(epsilon, most))
            open_ = [int(k) for k in np.flatnonzero(bounds > just_below) if self.cases[int(k)][1] not in done]
            if len(open_) <= _ONE_BY_ONE:
                break
        for number in sorted(open_, key=lambda k: -bounds[k])[:_ONE_BY_ONE]:
            events = self.cases[number][1]
            if events not in done:
                done.add(events)
                top = max(top, proved_delta(self._case(number), epsilon, digits).upper)
        rest = [bounds[k] for k in open_ if self.cases[k][1] not in done]
        return max([top, *map(Fraction, rest)])

    def epsilon(self, delta: Fraction, digits: int | None) -> Interval:
        """An interval for the epsilon at which the largest delta of all cases passes through this one."""
        if self._halves is None or len(self.cases) <= _FEW or not delta:
            return _largest([proved_epsilon(loss, delta, digits) for loss in self._different()])
        guess = Fraction(float(self.main.epsilons([delta], math.inf)[0]))
        worst = -1
        for _ in range(5):
            bounds = self._bounds(abs(guess), _COARSE)
            if (next_worst := int(np.argmax(bounds))) == worst:
                break
            worst = next_worst
            guess = Fraction(float(self._case(worst).epsilons([delta], math.inf)[0]))
        box = proved_epsilon(self._case(worst), delta, digits)
        high, width = box.upper, box.width
        for _ in range(12):
            # at the upper end every case must be proved to lie at or below delta
            here = self.delta(high, digits) if high < 0 else None
            top = here.upper if here else self._top_at(high, delta, worst, digits)
            if top <= delta:
                return Interval(box.lower, high)
            high, width = high + width, 2 * width
        raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed for all cases")

    def _top_at(self, epsilon: Fraction, delta: Fraction, worst: int, digits: int | None) -> Fraction:
        """The delta asked for, if all cases are proved to lie at or below it; else a larger one."""
        bounds = self._bounds(epsilon, _COARSE)
        return self._top(epsilon, Interval(Fraction(0), delta), worst, bounds, digits)

    def _case(self, number: int) -> GridEvaluator:
        return GridEvaluator(self.cases[number][1])

    def _different(self) -> list[GridEvaluator]:
        different = dict.fromkeys(self.cases[number][1] for number in range(len(self.cases)))
        if len(different) > _MOST_SINGLE:
            raise PrecisionError(
                f"there are {len(different):,} different cases; at most {_MOST_SINGLE} are proved one by "
                "one, and floats have their own bounds"
            )
        return [GridEvaluator(events) for events in different]


def _parts(cases: Sequence[Case] | GroupedCases) -> Sequence[tuple[object, tuple[Noise, ...]]]:
    if isinstance(cases, GroupedCases):
        return [(None, events) for group in cases.groups for events in group.events]
    return list(cases)


def _largest(boxes: list[Interval]) -> Interval:
    return Interval(max(box.lower for box in boxes), max(box.upper for box in boxes))
