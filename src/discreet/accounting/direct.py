"""Tails of the loss by direct summation, for compositions of few distinct terms.

Where the steps have no usable common lattice and there are too few terms for the transform to decay,
the loss has few enough values to be listed: in two halves, one of them sorted with its suffix sums,
so that a list of a million by a million values costs a million look-ups a threshold. Everything is done
under a tilt, and every sum has positive terms.
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

MOST_VALUES = 4_000_000
"""A half may have this many values."""

_NEGLIGIBLE = 1e-20
_CONVOLVED = 6000  # laws of up to this many values are convolved directly
_SMALL = 50.0  # variances below are listed far into their tails
_SHORT = 300_000  # lists of up to this many values keep even the least of them


def term_width(term: Term, variance: float) -> float:
    """About how many values the sum of a term's events takes, negligible ones left out."""
    return 2 * math.sqrt(92 * max(term.times * variance, 0.01)) + 3


def window(term: Term, theta: float) -> tuple[int, Floats]:
    """The tilted law of the sum of the term's events: its first value and the probabilities."""
    shift, u, p = _one_event(term, theta)
    if term.times == 1:
        return shift + int(u[0]), p
    if term.times * u.size <= _CONVOLVED:
        law = _convolved(p, term.times)
        return term.times * (shift + int(u[0])), law
    mean = float(p @ u)
    variance = float(p @ (u - mean) ** 2)
    size = 1 << math.ceil(math.log2(2 * term_width(term, variance) + 2 * u.size))
    # the powers through logarithms: times * log keeps its digits where a power of the transform would not
    angle = np.arange(size // 2 + 1, dtype=np.float64) * (2 * math.pi / size)
    logs = np.concatenate(
        [
            log1p_complex(p.astype(np.complex128) @ np.expm1(1j * np.multiply.outer(u, part)))
            for part in _parts(angle, u)
        ]
    )
    first = round(term.times * mean) - size // 2
    # rotated so that the window starts at `first`; the angle is reduced exactly, in integers
    turn = (np.arange(size // 2 + 1) * (first % size)) % size
    with np.errstate(under="ignore"):
        spectrum = np.exp(term.times * logs.real) * np.exp(
            1j * (term.times * logs.imag - 2 * math.pi / size * turn)
        )
    law = np.fft.irfft(np.conj(spectrum), size)
    return term.times * shift + first, np.where(law > 1e-18, law, 0.0)


def _one_event(term: Term, theta: float) -> tuple[int, NDArray[np.int64], Floats]:
    """The tilted law of one event, for small variances far into its tails.

    Between atoms that are far apart the tilted law may have nearly all of its weight below the threshold:
    what lies above counts then, however little it is.
    """
    if not isinstance(term, GaussianTerm):
        return term.tilted(theta)
    sigma2 = float(term.sigma2)
    centre = theta * term.mu
    shift = round(centre)
    reach = math.ceil(math.sqrt((1400 if sigma2 < _SMALL else 92) * sigma2)) + 1
    u = np.arange(-reach, reach + 1)
    weight = np.exp(-((u - (centre - shift)) ** 2) / (2 * sigma2))
    return shift, u, weight / weight.sum()


def _parts(angle: Floats, u: NDArray[np.int64]) -> list[Floats]:
    """The angles in blocks of which a table by values fits into memory."""
    return np.array_split(angle, max(1, angle.size * u.size // (1 << 22)))


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
        sizes[smaller] *= width
    return halves[0], halves[1], sizes[0], sizes[1]


@dataclass(frozen=True, slots=True)
class _Half:
    index: Ints  # ascending, in units of the grid
    p: Floats


class Direct:
    """Evaluates the three kinds of tails of one loss by listing its values."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t), P[L > t], P_null[L > t] or 1 - delta(t) at each threshold t."""
        if kind is Kind.REST:
            return self._rest(thresholds)
        log = np.full(len(thresholds), -math.inf)
        error = np.zeros(len(thresholds))
        order = sorted(range(len(thresholds)), key=lambda i: thresholds[i])
        if self.loss.largest is not None:
            order = [i for i in order if thresholds[i] < self.loss.largest]
        position = 0
        while position < len(order):
            lowest = float(thresholds[order[position]])
            theta = saddle(self.loss, kind, lowest, 0.0)
            spread = math.sqrt(self.loss.tilted_moments(theta)[1])
            rate = theta + 1 if kind is Kind.NULL else theta
            lists = _Lists(self.loss, theta, rate)
            until = position + 1
            while until < len(order) and float(thresholds[order[until]]) <= lowest + 1.4 * spread:
                until += 1
            for i in order[position:until]:
                value = lists.sum(kind, thresholds[i])
                scale = exact_exponent(lists.scale, theta, thresholds[i])
                if kind is Kind.NULL:
                    scale -= float(thresholds[i])
                log[i] = scale + math.log(value) if value > 0 else -math.inf
                error[i] = 2.3e-16 * (math.sqrt(lists.right.p.size) + 10 + abs(scale))
            position = until
        return Tail(log, error)

    def values_near(self, threshold: Fraction, count: int = 4) -> list[Fraction]:
        """Values of the loss next to a threshold, those of tiny probability left out."""
        theta = saddle(self.loss, Kind.NULL, float(threshold), 0.0)
        lists = _Lists(self.loss, theta, theta + 1)
        aim = math.floor((threshold - lists.centre) / lists.grid)
        left, right = lists.left, lists.right
        keep = left.p > 1e-12
        index, weight = left.index[keep], left.p[keep]
        found: dict[int, int] = {}
        at = np.searchsorted(right.index, aim - index)
        for move in (-1, 0, 1):
            place = np.clip(at + move, 0, right.index.size - 1)
            likely = weight * right.p[place] > 1e-14
            for total in (index[likely] + right.index[place[likely]]).tolist():
                found[total] = abs(total - aim)
        return [lists.centre + lists.grid * k for k in sorted(found, key=found.__getitem__)[:count]]

    def _rest(self, thresholds: list[Fraction]) -> Tail:
        """1 - delta(t) = P_alt[L <= t] + e^t P_null[L > t], and P_alt[L <= t] = P_null[L >= -t]."""
        h = self.loss.step
        mirrored = [-t - h / 2 if (-t - self.loss.offset) % h == 0 else -t for t in thresholds]
        lower, upper = self.tail(Kind.NULL, mirrored), self.tail(Kind.NULL, thresholds)
        lifted = upper.log + np.array([float(t) for t in thresholds])
        return Tail(np.logaddexp(lower.log, lifted), np.maximum(lower.error, upper.error) + 4e-16)


class _Lists:
    """The two halves at one tilt, the right one with suffix sums of p e^(-rate v)."""

    def __init__(self, loss: Loss, theta: float, rate: float) -> None:
        self.loss, self.theta, self.rate = loss, theta, rate
        self.scale = log_scale(loss, theta)
        left, right, _, _ = partition(loss, theta)
        windows = {term: window(term, theta) for term in loss.terms}
        # values are integers in units of the lattice step, or of the finest grid that 61 bits allow
        span = sum(float(t.step) * w.size for t, (_, w) in windows.items())
        centre = loss.offset
        for term, (first, law) in windows.items():
            centre += term.step * (first + law.size // 2)
        grid = loss.step
        while Fraction(span) / grid > 2**61:
            grid *= 2
        self.grid, self.centre = grid, centre
        self.left = self._combine(left, windows)
        self.right = self._combine(right, windows)
        self._suffix()

    def _combine(self, terms: list[Term], windows: dict[Term, tuple[int, Floats]]) -> _Half:
        index, p = np.zeros(1, dtype=np.int64), np.ones(1)
        for term in terms:
            _, law = windows[term]
            u = np.arange(law.size) - law.size // 2
            ratio = term.step / self.grid
            if ratio.denominator == 1:
                places = u * np.int64(int(ratio))
            else:
                places = np.array([round(int(k) * ratio) for k in u], dtype=np.int64)
            index = np.add.outer(index, places).ravel()
            p = np.multiply.outer(p, law).ravel()
            keep = p > (0.0 if p.size <= _SHORT else _NEGLIGIBLE)
            index, inverse = np.unique(index[keep], return_inverse=True)
            p = np.bincount(inverse, weights=p[keep], minlength=index.size).astype(np.float64)
        return _Half(index, p)

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

    def sum(self, kind: Kind, threshold: Fraction) -> float:
        """The tail at the threshold, in units of e^exponent."""
        steps = (threshold - self.centre) / self.grid
        whole = steps.numerator // steps.denominator
        gap = float((whole + 1 - steps) * self.grid)  # to the next grid point, exact however small
        whole = max(min(whole, 2**62), -(2**62))
        cut = whole - self.left.index  # the right value must exceed this index
        at = np.searchsorted(self.right.index, cut, side="right")
        inside = at < self.right.index.size
        at, cut, p = at[inside], cut[inside], self.left.p[inside]
        above = (self.right.index[at] - cut - 1) * float(self.grid) + gap  # v0 - c > 0
        v0 = self.right.index[at] * float(self.grid)
        lift = np.exp(-self.rate * (self.origin[at] - v0 + above))
        if kind is Kind.DELTA:
            inner = self.S[at] * -np.expm1(-above) + np.exp(-above) * self.T[at]
        else:
            inner = self.S[at]
        return float(p @ (lift * inner))
