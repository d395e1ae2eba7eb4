"""Lists: a loss with few terms is evaluated by listing its values.

Where the steps have no usable common lattice and there are too few terms for the transform to decay, the loss
has few enough values to be listed: in two halves that meet in the middle, one of them sorted with its suffix
sums, so that a list of a million by a million values costs a million look-ups a threshold. Everything is done
under a tilt, and every sum has positive terms. From lists that would be too long the values of least tilted
weight are left out; since no value counts for more than its tilted weight, the ratio of what was left out to
the result is part of the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.loss.contour import Kind, Tail, saddle
from discreet.loss.lattice import Floats, Loss, exact_exponent, log_scale
from discreet.loss.windows import Window, term_width, window
from discreet.memory import Forgetful
from discreet.noise import LatticeNoise

Ints = NDArray[np.int64]

MOST_VALUES = 2_000_000
"""A half may have this many values; beyond, those of least weight are left out."""

_SHORT = 300_000  # lists of up to this many values keep even the least of them
_NEGLIGIBLE = 1e-22
_LIGHT = 1e-20  # values that together weigh less hardly ever matter
_REMEMBERED = 4


def partition(loss: Loss, theta: float) -> tuple[list[LatticeNoise], list[LatticeNoise], float, float]:
    """Split the terms into two halves of about equal numbers of values."""
    widths = [(term_width(term, term.tilted_variance(theta)), term) for term in loss.terms]
    halves: tuple[list[LatticeNoise], list[LatticeNoise]] = ([], [])
    sizes = [1.0, 1.0]
    for width, term in sorted(widths, key=lambda pair: -pair[0]):
        smaller = 0 if sizes[0] <= sizes[1] else 1
        halves[smaller].append(term)
        sizes[smaller] = min(sizes[smaller] * width, 1e300)
    return halves[0], halves[1], sizes[0], sizes[1]


class ListEvaluator(Forgetful):
    """Evaluates tails of one loss by listing its values."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @cached_property
    def _recent(self) -> list[_Lists]:
        return []

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t), P[L > t], P_null[L > t] or 1 - delta(t) at each threshold t."""
        if kind is Kind.REST:
            return self._rest(thresholds)
        log = np.full(len(thresholds), -math.inf)
        error = np.zeros(len(thresholds))
        order = sorted(range(len(thresholds)), key=lambda i: thresholds[i])
        if self.loss.largest is not None:
            order = [i for i in order if thresholds[i] < self.loss.largest]
        for i in order:
            lists = self._lists(kind, thresholds[i])
            value = lists.sum(kind, thresholds[i])
            if lists.missing > 1e-11 * value:  # a neighbour's lists are cut too short for this threshold
                lists = self._lists(kind, thresholds[i], afresh=True)
                value = lists.sum(kind, thresholds[i])
            scale = exact_exponent(lists.scale, lists.theta, thresholds[i])
            if kind is Kind.NULL:
                scale -= float(thresholds[i])
            if value > 0:
                log[i] = scale + math.log(value)
                error[i] = 2.3e-16 * (math.sqrt(lists.right.p.size) + 10 + abs(scale))
                error[i] += lists.missing / value
            else:
                error[i] = math.inf
        return Tail(log, error)

    def _lists(self, kind: Kind, threshold: Fraction, *, afresh: bool = False) -> _Lists:
        """Lists at a tilt that suits the threshold: a neighbour's, or new ones."""
        point = float(threshold)
        for lists in self._recent:
            is_near = lists.lowest == point if afresh else lists.serves(point)
            if lists.kind is kind and is_near:
                return lists
        if afresh:  # drop the neighbour's first: both would take twice the memory
            self._recent = [each for each in self._recent if each.kind is not kind or not each.serves(point)]
        lists = _Lists(self.loss, kind, point)
        self._recent = [lists, *self._recent[: _REMEMBERED - 1]]
        return lists

    def next_value(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """Two close points, at a threshold or above it, between which the next listed value lies.

        The upper point is the value itself unless the lattice is too fine. (Without a value, one unit above.)
        """
        return self._lists(Kind.NULL, threshold).next_value(threshold)

    def _rest(self, thresholds: list[Fraction]) -> Tail:
        """1 - delta(t) = P_alt[L <= t] + e^t P_null[L > t], and P_alt[L <= t] = P_null[L >= -t]."""
        lower = self.tail(Kind.NULL, [self.loss.below(-t) for t in thresholds])
        upper = self.tail(Kind.NULL, thresholds)
        lifted = upper.log + np.array([float(t) for t in thresholds])
        return Tail(np.logaddexp(lower.log, lifted), np.maximum(lower.error, upper.error) + 4e-16)


@dataclass(frozen=True, slots=True)
class _Half:
    index: Ints  # ascending, in units of the grid
    p: Floats
    missing: float


class _Lists:
    """The two halves at one tilt, the right one with suffix sums of p e^(-rate v)."""

    def __init__(self, loss: Loss, kind: Kind, lowest: float) -> None:
        self.kind, self.lowest = kind, lowest
        theta = self.theta = saddle(loss, kind, lowest, 0.0)
        self.rate = theta + 1 if kind is Kind.NULL else theta
        spread = loss.tilted_spread(theta)
        self.low, self.high = lowest - 0.7 * spread, lowest + 1.4 * spread
        self.scale = log_scale(loss, theta)
        left, right, left_size, right_size = partition(loss, theta)
        deep = max(left_size, right_size) <= MOST_VALUES
        windows = {term: window(term, theta, deep=deep) for term in loss.terms}
        # values are integers in units of the lattice step, or of the finest grid that 61 bits allow
        span = sum(float(t.step) * w.p.size for t, w in windows.items())
        centre = loss.offset
        for term, law in windows.items():
            centre += term.step * (law.first + law.p.size // 2)
        grid = loss.step
        while Fraction(span) / grid > 2**61:
            grid *= 2
        self.grid, self.centre = grid, centre
        # on a coarser grid than the lattice each term's value is rounded
        self.doubt = Fraction(0) if grid == loss.step else 2 * len(loss.terms) * grid
        halves = [self._combine([(t, windows[t]) for t in half]) for half in (left, right)]
        # each value of the left is looked up in the right, which is the longer
        self.left, self.right = sorted(halves, key=lambda half: half.p.size)
        self.missing = self.left.missing + self.right.missing
        self._suffix()
        weights = np.sort(self.left.p)
        least = weights[min(int(np.searchsorted(np.cumsum(weights), _LIGHT)), weights.size - 1)]
        self.heavy = np.flatnonzero(self.left.p >= least)
        self._known: dict[bool, dict[int, Ints]] = {False: {}, True: {}}

    def serves(self, threshold: float) -> bool:
        """Whether the tilt suits a threshold."""
        return self.low <= threshold <= self.high

    def _combine(self, laws: list[tuple[LatticeNoise, Window]]) -> _Half:
        index, p, missing = np.zeros(1, dtype=np.int64), np.ones(1), 0.0
        for term, law in laws:
            u = np.arange(law.p.size) - law.p.size // 2
            ratio = term.step / self.grid
            if ratio.denominator == 1:
                values = u * np.int64(int(ratio))
            else:
                values = np.array([round(int(k) * ratio) for k in u], dtype=np.int64)
            index, p, dropped = _product(index, p, values, law.p)
            missing += law.missing + dropped
        return _Half(index, p, missing)

    def _suffix(self) -> None:
        """S(v) = sum over v' >= v of p e^(-rate (v' - b)) and T(v) the same with 1 - e^-(v' - v).

        In blocks, each with its own origin b, so that no exponential overflows.
        """
        # differences of indices are exact, and the rate may be large
        index, grid = self.right.index, float(self.grid)
        count, ends = index.size, np.append(index, index[-1])
        length = 300 / (self.rate + 1)
        starts = np.flatnonzero(np.diff(np.floor((index - index[0]) * (grid / length)), prepend=-1.0))
        self.S, self.T, self.starts = np.zeros(count + 1), np.zeros(count + 1), starts
        s_next = t_next = 0.0
        for low, high in reversed(list(zip(starts, [*starts[1:], count], strict=True))):
            beyond = (index[high] - index[low]) * grid if high < count else 0.0
            if high < count:
                move = math.exp(-self.rate * beyond) if self.rate * beyond < 700 else 0.0
                s_next, t_next = s_next * move, t_next * move
            # in place: with a million values each array matters
            part = (index[low:high] - index[low]) * grid
            weight = np.exp(-self.rate * part)
            weight *= self.right.p[low:high]
            s, t = self.S[low:high], self.T[low:high]
            np.cumsum(weight[::-1], out=s[::-1])
            s += s_next
            inner = np.exp(-part, out=weight)
            inner *= -np.expm1(np.diff(ends[low : high + 1]) * -grid)
            inner[:-1] *= s[1:]
            inner[-1] *= s_next
            last = math.exp(-min(beyond, 700.0)) * t_next if high < count else 0.0
            np.cumsum(inner[::-1], out=t[::-1])
            t += last
            t *= np.exp(part, out=part)
            s_next, t_next = float(s[0]), float(t[0])

    def _above(self, threshold: Fraction, among: Ints | slice) -> tuple[Ints, Ints, Floats, float]:
        """For each of some left values the first right value with which it exceeds the threshold.

        Where there is one: its position, the index to exceed, the left weights; and the gap to the grid.
        """
        steps = (threshold - self.centre) / self.grid
        whole = steps.numerator // steps.denominator
        gap = float((whole + 1 - steps) * self.grid)  # to the next grid point, exact however small
        whole = max(min(whole, 2**62), -(2**62))
        cut = whole - self.left.index[among]  # the right value must exceed this index
        at = self._positions(whole, cut, is_all=isinstance(among, slice))
        # the larger the left value, the less the right one must exceed
        first = at.size - int(np.searchsorted(at[::-1], self.right.index.size))
        return at[first:], cut[first:], self.left.p[among][first:], gap

    def _positions(self, whole: int, cut: Ints, *, is_all: bool) -> Ints:
        """Where in the right half the cuts lie; looked up only if two known positions leave it open."""
        known = self._known[is_all]
        under = max((w for w in known if w <= whole), default=None)
        over = min((w for w in known if w >= whole), default=None)
        if under is None or over is None:
            # (in ascending order, which is looked up three times as fast)
            at = np.asarray(np.searchsorted(self.right.index, cut[::-1], side="right")[::-1])
        else:
            at = known[under].copy()
            open_ = np.flatnonzero(at != known[over])[::-1]
            at[open_] = np.searchsorted(self.right.index, cut[open_], side="right")
        # the next threshold will lie close to this one: keep it and its neighbours
        self._known[is_all] = {w: known[w] for w in (under, over) if w is not None} | {whole: at}
        return at

    def sum(self, kind: Kind, threshold: Fraction) -> float:
        """The tail at the threshold, in units of e^exponent."""
        value = self._sum(kind, threshold, self.heavy)
        # no value counts for more than its weight
        is_enough = value >= 1e15 * _LIGHT or self.heavy.size == self.left.p.size
        return value if is_enough else self._sum(kind, threshold, slice(None))

    def _sum(self, kind: Kind, threshold: Fraction, among: Ints | slice) -> float:
        at, cut, p, gap = self._above(threshold, among)
        grid = float(self.grid)
        # from the origin of the block, which may lie on either side of the cut
        origin = self.right.index[self.starts[np.searchsorted(self.starts, at, side="right") - 1]]
        lift = np.exp(-self.rate * ((origin - cut - 1) * grid + gap))
        inner = self.S[at]
        if kind is Kind.DELTA:
            above = (self.right.index[at] - cut - 1) * grid + gap  # v0 - c > 0
            inner = inner * -np.expm1(-above) + np.exp(-above) * self.T[at]
        # (a dot product would start threads, which cost more than they save)
        return float((p * lift * inner).sum())

    def next_value(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """The least listed value above the threshold, between two points."""
        at, cut, _, _ = self._above(threshold, slice(None))
        if not at.size:
            return threshold, threshold + 1
        ahead = int((self.right.index[at] - cut).min())
        value = self.centre + self.grid * ((threshold - self.centre) // self.grid + ahead)
        return max(threshold, value - (self.doubt or self.grid / 2)), value + self.doubt


def _product(a: Ints, p: Floats, b: Ints, q: Floats) -> tuple[Ints, Floats, float]:
    """The law of a sum of two independent integers, and the weight of the values left out of it."""
    a, p = a[p > 0], p[p > 0]
    b, q = b[q > 0], q[q > 0]
    if a.size * b.size <= _SHORT:
        index, weight, dropped = np.add.outer(a, b).ravel(), np.multiply.outer(p, q).ravel(), 0.0
    else:
        order = np.argsort(-p)
        a, p = a[order], p[order]
        below = np.append(np.cumsum(p[::-1])[::-1], 0.0)  # the weight from each place on

        def kept(log_cut: float) -> Ints:
            """How many of p are kept with each of q if products of less than the cut are left out."""
            with np.errstate(over="ignore"):
                return np.asarray(np.searchsorted(-p, -np.exp(log_cut) / q, side="right"))

        low, high = math.log(_NEGLIGIBLE), 0.0
        if kept(low).sum() > MOST_VALUES:
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if kept(middle).sum() > MOST_VALUES else (low, middle)
        else:
            high = low
        counts = kept(high)
        dropped = float(below[counts] @ q)
        index = np.concatenate([a[:n] + shift for n, shift in zip(counts, b, strict=True)])
        weight = np.concatenate([p[:n] * factor for n, factor in zip(counts, q, strict=True)])
    index, inverse = np.unique(index, return_inverse=True)
    merged = np.bincount(inverse, weights=weight, minlength=index.size).astype(np.float64)
    return index[merged > 0], merged[merged > 0], dropped
