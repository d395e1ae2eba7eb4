"""Tails of the loss by direct summation, for compositions of few distinct terms.

Where the steps have no usable common lattice and there are too few terms for the transform to decay,
the loss has few enough values to be listed: in two halves that meet in the middle, one of them sorted with
its suffix sums, so that a list of a million by a million values costs a million look-ups a threshold.
Everything is done under a tilt, and every sum has positive terms. Of lists that would be too long the
values of least tilted weight are left out; since no value counts for more than its tilted weight, what was
left out over what was found is part of the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.contour import exact_exponent, log_scale
from discreet.accounting.loss import Floats, GaussianTerm, Loss, Term
from discreet.accounting.quadrature import Tail
from discreet.accounting.saddle import Kind, saddle
from discreet.accounting.tilted import log1p_complex

Ints = NDArray[np.int64]

MOST_VALUES = 2_000_000
"""A half may have this many values; of more, those of least weight are left out."""

_SHORT = 300_000  # lists of up to this many values keep even the least of them
_NEGLIGIBLE = 1e-22
_CONVOLVED = 6000  # laws of up to this many values are convolved directly
_SMALL = 50.0  # variances below are listed far into their tails
_REMEMBERED = 4


def term_width(term: Term, variance: float) -> float:
    """About how many values the sum of a term's events takes, negligible ones left out."""
    width = 2 * math.sqrt(92 * max(term.times * variance, 0.01)) + 3
    return width if isinstance(term, GaussianTerm) else min(width, term.times * term.mu + 1)


@dataclass(frozen=True, slots=True)
class Window:
    """The tilted law of the sum of a term's events: its first value, probabilities, and what they lack."""

    first: int
    p: Floats
    missing: float = 0.0


def window(term: Term, theta: float, *, deep: bool = True) -> Window:
    """The tilted law of the sum of the term's events; `deep` keeps the far tails of small variances."""
    shift, u, p = _one_event(term, theta, deep)
    if term.times == 1:
        return Window(shift + int(u[0]), p)
    if term.times * u.size <= _CONVOLVED:
        return Window(term.times * (shift + int(u[0])), _convolved(p, term.times))
    mean = float(p @ u)
    variance = float(p @ (u - mean) ** 2)
    size = 1 << math.ceil(math.log2(2 * term_width(term, variance) + 2 * u.size))
    # the powers through logarithms: times * log keeps its digits where a power of the transform would not
    angle = np.arange(size // 2 + 1, dtype=np.float64) * (2 * math.pi / size)
    if angle.size * u.size > 1 << 26:
        # (times 1e-16 instead, for laws of very many values)
        whole = np.fft.rfft(p, size).conj() * np.exp(1j * (int(u[0]) * angle))
        logs = log1p_complex(whole - 1)
    else:
        blocks = np.array_split(angle, max(1, angle.size * u.size // (1 << 22)))
        weights = p.astype(np.complex128)
        logs = np.concatenate(
            [log1p_complex(weights @ np.expm1(1j * np.multiply.outer(u, part))) for part in blocks]
        )
    first = round(term.times * mean) - size // 2
    # rotated so that the window starts at `first`; the angle is reduced exactly, in integers
    turn = (np.arange(size // 2 + 1) * (first % size)) % size
    with np.errstate(under="ignore"):
        spectrum = np.exp(term.times * logs.real) * np.exp(
            1j * (term.times * logs.imag - 2 * math.pi / size * turn)
        )
    law = np.fft.irfft(np.conj(spectrum), size)
    # a transform knows each probability to some 1e-17 only: smaller ones are as good as none
    law = np.where(law > 1e-18, law, 0.0)
    return Window(term.times * shift + first, law, 1e-18 * size)


def _one_event(term: Term, theta: float, deep: bool) -> tuple[int, Ints, Floats]:
    """The tilted law of one event, for small variances far into its tails.

    Between atoms that are far apart the tilted law may have nearly all of its weight below the threshold:
    what lies above counts then, however little it is.
    """
    if not isinstance(term, GaussianTerm):
        return term.tilted(theta)
    sigma2 = float(term.sigma2)
    centre = theta * term.mu
    shift = round(centre)
    reach = math.ceil(math.sqrt((1400 if deep and sigma2 < _SMALL else 92) * sigma2)) + 1
    u = np.arange(-reach, reach + 1)
    logs = -((u - (centre - shift)) ** 2) / (2 * sigma2)
    weight = np.exp(logs - logs.max())
    return shift, u, weight / weight.sum()


def _convolved(p: Floats, times: int) -> Floats:
    """p convolved with itself: sums of positive numbers, so each is good to relative accuracy."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, p)
        times >>= 1
        if times:
            p = np.convolve(p, p)
    return result


def partition(loss: Loss, theta: float) -> tuple[list[Term], list[Term], float, float]:
    """Split the terms into two halves of about equal numbers of values."""
    widths = []
    for term in loss.terms:
        widths.append((term_width(term, loss.term_variance(term, theta)), term))
    halves: tuple[list[Term], list[Term]] = ([], [])
    sizes = [1.0, 1.0]
    for width, term in sorted(widths, key=lambda pair: -pair[0]):
        smaller = 0 if sizes[0] <= sizes[1] else 1
        halves[smaller].append(term)
        sizes[smaller] = min(sizes[smaller] * width, 1e300)
    return halves[0], halves[1], sizes[0], sizes[1]


class Direct:
    """Evaluates tails of one loss by listing its values."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self._recent: list[_Lists] = []

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

    def _lists(self, kind: Kind, threshold: Fraction) -> _Lists:
        """Lists at a tilt that suits the threshold: those of a neighbour, or new ones."""
        place = float(threshold)
        for lists in self._recent:
            if lists.kind is kind and lists.low <= place <= lists.high:
                return lists
        lists = _Lists(self.loss, kind, place)
        self._recent = [lists, *self._recent[: _REMEMBERED - 1]]
        return lists

    def next_value(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """Two points above a threshold (or at it) between which the next listed value lies: close together.

        The upper one is the value itself where the lattice is not too fine. (One above, if there is none.)
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
        self.kind = kind
        theta = self.theta = saddle(loss, kind, lowest, 0.0)
        self.rate = theta + 1 if kind is Kind.NULL else theta
        self.low, self.high = lowest, lowest + 1.4 * loss.tilted_spread(theta)
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
        self.left = self._combine([(t, windows[t]) for t in left])
        self.right = self._combine([(t, windows[t]) for t in right])
        self.missing = self.left.missing + self.right.missing
        self._suffix()

    def _combine(self, laws: list[tuple[Term, Window]]) -> _Half:
        index, p, missing = np.zeros(1, dtype=np.int64), np.ones(1), 0.0
        for term, law in laws:
            u = np.arange(law.p.size) - law.p.size // 2
            ratio = term.step / self.grid
            if ratio.denominator == 1:
                places = u * np.int64(int(ratio))
            else:
                places = np.array([round(int(k) * ratio) for k in u], dtype=np.int64)
            index, p, dropped = _product(index, p, places, law.p)
            missing += law.missing + dropped
        return _Half(index, p, missing)

    def _suffix(self) -> None:
        """S(v) = sum over v' >= v of p e^(-rate (v' - b)) and T(v) the same with 1 - e^-(v' - v).

        In blocks, each with its own origin b, so that no exponential overflows.
        """
        v = self.right.index * float(self.grid)
        count = v.size
        length = 300 / (self.rate + 1)
        block = np.floor((v - v[0]) / length)
        starts = np.flatnonzero(np.diff(block, prepend=-1.0))
        self.S, self.T, self.origin = np.zeros(count + 1), np.zeros(count + 1), np.zeros(count + 1)
        s_next = t_next = 0.0
        for low, high in reversed(list(zip(starts, [*starts[1:], count], strict=True))):
            b = v[low]
            if high < count:
                move = math.exp(-self.rate * (v[high] - b)) if self.rate * (v[high] - b) < 700 else 0.0
                s_next, t_next = s_next * move, t_next * move
            part = v[low:high] - b
            weight = self.right.p[low:high] * np.exp(-self.rate * part)
            s = np.cumsum(weight[::-1])[::-1] + s_next
            gaps = np.diff(v[low : high + 1]) if high < count else np.append(np.diff(part), 0.0)
            inner = np.exp(-part) * -np.expm1(-gaps) * np.append(s[1:], s_next)
            last = math.exp(-min(v[high] - b, 700.0)) * t_next if high < count else 0.0
            t = np.exp(part) * (np.cumsum(inner[::-1])[::-1] + last)
            self.S[low:high], self.T[low:high], self.origin[low:high] = s, t, b
            s_next, t_next = float(s[0]), float(t[0])

    def _above(self, threshold: Fraction) -> tuple[Ints, Ints, Floats, float]:
        """For each left value the first right one with which it exceeds the threshold.

        Where there is one: its position, the index to exceed, the left weights; and the gap to the grid.
        """
        steps = (threshold - self.centre) / self.grid
        whole = steps.numerator // steps.denominator
        gap = float((whole + 1 - steps) * self.grid)  # to the next grid point, exact however small
        whole = max(min(whole, 2**62), -(2**62))
        cut = whole - self.left.index  # the right value must exceed this index
        at = np.searchsorted(self.right.index, cut, side="right")
        inside = at < self.right.index.size
        return at[inside], cut[inside], self.left.p[inside], gap

    def sum(self, kind: Kind, threshold: Fraction) -> float:
        """The tail at the threshold, in units of e^exponent."""
        at, cut, p, gap = self._above(threshold)
        above = (self.right.index[at] - cut - 1) * float(self.grid) + gap  # v0 - c > 0
        v0 = self.right.index[at] * float(self.grid)
        lift = np.exp(-self.rate * (self.origin[at] - v0 + above))
        if kind is Kind.DELTA:
            inner = self.S[at] * -np.expm1(-above) + np.exp(-above) * self.T[at]
        else:
            inner = self.S[at]
        return float(p @ (lift * inner))

    def next_value(self, threshold: Fraction) -> tuple[Fraction, Fraction]:
        """The least listed value above the threshold, between two points."""
        at, cut, _, _ = self._above(threshold)
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
