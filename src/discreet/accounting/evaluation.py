"""Which evaluation a loss gets, and which comes next where that one is not accurate enough.

1. *Lattice*: the contour runs over one period 2 pi / h; the sieve makes that short. Exact up to rounding.
2. *List*: few distinct terms and no usable lattice; list the values of the loss, in long lists without those
   of least weight. Exact up to rounding and to what was left out, which is known.
3. *Line*: many distinct terms and no usable lattice (h = 9e-15 in PL 94-171). The transform then decays
   to nothing, and the contour is cut at a finite reach; the cut is part of the error estimate.
4. *Grid*: the loss rounded to a grid such that delta is bounded from above and from below.

Each states the error of its values. A value that is not accurate enough goes to the next evaluation.

*Lists.* Where the steps have no usable common lattice and there are too few terms for the transform to decay,
the loss has few enough values to be listed: in two halves that meet in the middle, one of them sorted with
its suffix sums, so that a list of a million by a million values costs a million look-ups a threshold.
Everything is done under a tilt, and every sum has positive terms. From lists that would be too long the
values of least tilted weight are left out; since no value counts for more than its tilted weight, the ratio
of what was left out to the result is part of the error.

*Grids* connect the dots: the tilted loss on a grid, convolved by the fast Fourier transform.
A value l of the loss between two points g and g + h of the grid is split between them such that both of its
probabilities are kept, under the alternative and under the null hypothesis:

    a + b = 1,    a e^-g + b e^-(g + h) = e^-l.

The law on the grid dominates the true one, so its delta is an upper bound (Doroshenko, Ghazi, Kamath, Kumar
and Manurangsi, 2022). Splitting moves a loss by at most h, and (1 - e^(eps - L))_+ changes in the mean only
where its corner eps lies within the cell, by at most tanh(h/4) <= h/4. With n splits, one after the other,

    delta' - n (h/4) P'[|L' - eps| <= n h]  <=  delta  <=  delta',

L' being the loss on the grid. Values of several terms are listed before they are split, to keep n small.
This serves any composition. It is the last resort for delta; single tails are not bounded by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.accounting.contour import (
    DEPTH,
    Evaluation,
    Kind,
    Quadrature,
    Sieve,
    SieveOverflowError,
    Strategy,
    Tail,
    falloff,
    joined_sieves,
    kernel_size,
    octave,
    period,
    rest_of,
    saddle,
    short_above,
)
from discreet.accounting.loss import (
    Floats,
    Loss,
    TiltedTransform,
    exact_exponent,
    is_coarse,
    log_scale,
)
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.noise.distribution import Complexes, finite_transform, log1p_complex

ACCURACY = 1e-12
"""Relative accuracy of a value that is as good as a float should be."""

_DEEPEST = 37.0  # standard deviations at which a tail is about 1e-300
_MOST_NODES = 1_000_000
_FEW_PEAKS = 1
_PATIENCE = 4  # times as many nodes are allowed, rather than no answer
_MOST_WORK = 10**9  # nodes times values of all laws: a minute for each tail
_REMAINDER = 2e-14
_MOST_PRODUCTS = 20_000_000
_FEW = 300  # values of half a list: quicker than any contour
_LISTED_TERMS = 14  # with more distinct terms a list would miss nearly everything
_WELL_LISTED = 1e-10
_QUICK_LIST = 300_000  # values of half a list that is as quick as a grid ...
_SHORT_CONTOUR = 50_000  # ... and nodes of such a contour

Ints = NDArray[np.int64]

MOST_VALUES = 2_000_000
"""A half may have this many values; beyond, those of least weight are left out."""

_SHORT = 300_000  # lists of up to this many values keep even the least of them
_NEGLIGIBLE = 1e-22
_LIGHT = 1e-20  # values that together weigh less hardly ever matter
_CONVOLVED = 16_000  # laws of up to this many values are convolved directly
_SMALL = 50.0  # variances below are listed far into their tails
_REMEMBERED = 4
_SIZES = (2**16, 2**19, 2**21)
_LISTED = 60_000  # values of terms that are split together
_AIM = 1e-8
_GRIDS_REMEMBERED = 2


class Evaluations(Forgetful):
    """The evaluations of one loss, each built when it is first needed.

    >>> from discreet.budget import DiscreteGaussian
    >>> Evaluations(Loss([DiscreteGaussian(variance=5, times=10)])).first.__class__.__name__
    'Quadrature'
    >>> two = [DiscreteGaussian(variance="5.123456789"), DiscreteGaussian(variance=7)]
    >>> Evaluations(Loss(two)).first.__class__.__name__
    'Direct'
    """

    def __init__(self, loss: Loss, aim: float | None = None) -> None:
        """Evaluate `loss`; an `aim` is an accuracy to stop at, so that a grid may come first."""
        self.loss, self.aim = loss, aim

    @cached_property
    def is_coarse(self) -> bool:
        """Whether one period of the contour has few enough nodes to sum them all."""
        return is_coarse(float(self.loss.step), self.loss.spread)

    @cached_property
    def listed(self) -> float:
        """About how many values the longer half of a list has."""
        return max(partition(self.loss, 0.0)[2:])

    @cached_property
    def direct(self) -> Direct | None:
        """The list of values, unless there are too many terms."""
        return Direct(self.loss) if len(self.loss.terms) <= _LISTED_TERMS else None

    @cached_property
    def grid(self) -> Grid:
        """The law on a grid."""
        return Grid(self.loss) if self.aim is None else Grid(self.loss, self.aim / 20)

    @cached_property
    def first(self) -> Evaluation:
        """The evaluation that is tried first."""
        loss, spread = self.loss, self.loss.spread
        whole_list = self.direct if self.listed <= MOST_VALUES else None
        # a list of many values of one term is quicker than their transform at thousands of nodes
        values = sum(term.tilted(0.0)[1].size for term in loss.primal)
        nodes = 20 * spread / max(float(loss.step), 1e-300) + 8  # the step may be too small for a float
        is_long = whole_list is not None and values * nodes > _MOST_PRODUCTS
        is_short = whole_list is not None and not loss.dual and self.listed <= _FEW
        if self.is_coarse and not is_long and not is_short:
            return Quadrature(loss, Strategy(loss.step, math.pi / float(loss.step)), whole_list)
        if whole_list is not None and loss.primal and (is_long or self.listed <= 50_000):
            return whole_list
        if self.aim is not None and self.listed > _QUICK_LIST:
            short = _explore(loss, spread, Kind.ALT, most=_SHORT_CONTOUR)
            return self.grid if short is None else Quadrature(loss, short, whole_list)
        contour = _explore(loss, spread, Kind.ALT)
        if contour is not None and contour.nodes(20 * spread) <= max(20_000, 2 * self.listed):
            return Quadrature(loss, contour, whole_list)
        if whole_list is not None:
            return whole_list
        if contour is None and self.direct is not None:
            # a list without its lightest values: a typical threshold shows how accurate it is
            typical = Fraction(loss.tilted_moments(0.0)[0] + 6 * spread).limit_denominator(1000)
            if self.direct.tail(Kind.DELTA, [typical]).error[0] <= _WELL_LISTED:
                return self.direct
        contour = contour or _explore(loss, spread, Kind.DELTA)
        contour = contour or _explore(loss, spread, Kind.DELTA, most=_PATIENCE * _MOST_NODES)
        return Quadrature(loss, contour) if contour is not None else self.grid

    def _others(self) -> Iterator[Callable[[], Evaluation | None]]:
        if self.first is self.grid and self.aim is not None:
            yield lambda: Evaluations(self.loss).first
        yield lambda: self.direct
        yield lambda: self.grid

    def tail(self, kind: Kind, thresholds: list[Fraction], accuracy: float) -> Tail:
        """Tails from the first evaluation; those worse than `accuracy` from the best of the others."""
        tail = self.first.tail(kind, thresholds)
        for other in self._others():
            doubtful = np.array(tail.beyond(accuracy), dtype=np.int64)
            if not doubtful.size:
                break
            engine = other()
            if engine is None or engine is self.first:
                continue
            again = engine.tail(kind, [thresholds[i] for i in doubtful])
            better = again.error < np.where(np.isnan(tail.error[doubtful]), math.inf, tail.error[doubtful])
            tail.log[doubtful[better]] = again.log[better]
            tail.error[doubtful[better]] = again.error[better]
        return tail

    @cached_property
    def smooth(self) -> Quadrature | None:
        """The first octave of a long contour: tails without the fine structure of the loss, to about 1e-4.

        Used to find the thresholds of tests. None if the first evaluation is quick itself.
        """
        first = self.first
        if first is self.grid or (isinstance(first, Quadrature) and first.is_explored):
            return Quadrature(self.loss, Strategy(None, 64 * _DEEPEST / self.loss.spread))
        return None

    def next_value(self) -> Callable[[Fraction], tuple[Fraction, Fraction]] | None:
        """A function that finds the next value of the loss above a threshold, if single tails are known.

        It returns two points; the value lies between them or at the upper one, and no other value does.
        """
        if isinstance(self.first, Direct):
            return self.first.next_value
        if isinstance(self.first, Quadrature) and self.first.h is not None and not self.first.is_long:
            return self.loss.next_value
        return None


def _explore(loss: Loss, spread: float, kind: Kind, most: int = _MOST_NODES) -> Strategy | None:
    """Go out along the contour, octave by octave, until its end or until what lies beyond is negligible.

    As deep as the kernel of this kind requires: a contour explored for delta alone may not serve tails.
    Whether the rest is negligible is judged by the mean modulus of the last octave: the relative remainder of
    delta is size * mean / reach. The mean must be over many peaks, or the contour so long that even a peak of
    full height beyond would not count, since delta's kernel falls with the square of the distance.
    """
    enough = 5 if most == _MOST_NODES else 25
    most = min(most, _MOST_WORK // max(1, sum(term.tilted(0.0)[1].size for term in loss.primal)))
    tilt = _DEEPEST / spread
    size = tilt * (tilt + 1) * 2.5 * spread / math.pi
    period = short_above(20 * spread)
    per_node = 2 * math.pi / float(period)
    step = float(loss.step)
    whole = math.pi / step if step > 0 else math.inf
    serves = (Kind.DELTA, Kind.ALT) if kind is Kind.ALT else (Kind.DELTA,)
    try:  # with very fine steps only a stretch next to the origin may be left
        part = octave(
            loss, 0.0, whole, depth=DEPTH, theta=0.0, falloff=falloff(kind), scale=tilt, most=_FEW_PEAKS
        )
        if part.high[-1] < 2**36 * per_node:
            return Strategy(loss.step, whole, part, serves)
    except SieveOverflowError:
        pass
    farthest = min(whole, 2**36 * per_node, 1e8 * tilt)
    start, end, nodes = 0.0, 64 * tilt, 0.0
    remainder, settled = 1.0, False
    parts: list[Sieve] = []
    while start < farthest and not settled:
        end = min(end, farthest)
        try:
            part = octave(loss, start, end, depth=DEPTH, theta=0.0, falloff=falloff(kind), scale=tilt)
            nodes += float(np.sum((part.high - part.low) / per_node + 1))
            if nodes > most:
                break
            parts.append(part)
            if end == whole:
                return Strategy(loss.step, whole, joined_sieves(parts), serves)
            # worth a look only where the rest of the contour may be long
            if nodes > 30_000 or end >= 3e6 * tilt:
                logs = TiltedTransform(loss, 0.0).log(part.nodes(float(period), most), period).real
                remainder = size * (float(np.exp(logs).sum()) * per_node / (end - start)) / end
                many_peaks = part.low.size >= 50 and remainder < _REMAINDER
                settled = many_peaks or (end >= 3e6 * tilt and remainder < 1e-18)
        except SieveOverflowError:
            break
        start, end = end, 8 * end
    if settled or (start >= 1e5 * tilt and remainder < enough * _REMAINDER):
        return Strategy(None, start, joined_sieves(parts), serves, remainder=4 * remainder / size)
    return None


def has_short_contour(loss: Loss) -> bool:
    """Whether a loss is evaluated quickly: its contour has few nodes, up to where the rest is negligible."""
    return _explore(loss, loss.spread, Kind.ALT, most=_SHORT_CONTOUR) is not None


# -- lists of values -----------------------------------------------------------------------------------------


def term_width(term: Noise, variance: float) -> float:
    """About how many values the sum of a term's events takes, negligible ones left out."""
    width = 2 * math.sqrt(92 * max(term.times * variance, 0.01)) + 3
    return width if term.largest is None else min(width, term.times * term.sensitivity + 1)


@dataclass(frozen=True, slots=True)
class Window:
    """The tilted law of the sum of a term's events: first value, probabilities, and their missing mass."""

    first: int
    p: Floats
    missing: float = 0.0


def window(term: Noise, theta: float, *, deep: bool = True) -> Window:
    """The tilted law of the sum of the term's events; `deep` keeps the far tails of small variances.

    Between atoms that are far apart nearly all of the tilted weight may lie below the threshold; then the
    little that lies above matters.
    """
    nats = 700.0 if deep and term.size < _SMALL else 46.0
    shift, u, p = term.tilted(theta, nats=nats)
    # a Gaussian's tails beyond e^-nats of its peak weigh less than e^-nats; a Laplace loss has an end
    missing = 0.0 if term.largest is not None else term.times * math.exp(-nats)
    if term.times == 1:
        return Window(shift + int(u[0]), p, missing)
    if term.times * u.size <= _CONVOLVED:
        return Window(term.times * (shift + int(u[0])), convolved(p, term.times), missing)
    mean = float(p @ u)
    variance = float(p @ (u - mean) ** 2)
    size = 1 << math.ceil(math.log2(2 * term_width(term, variance) + 2 * u.size))
    # the powers through logarithms: times * log keeps its digits where a power of the transform would not
    angle = np.arange(size // 2 + 1, dtype=np.float64) * (2 * math.pi / size)
    many = term.times
    if term.is_dual:  # in closed form, for all of them at once
        logs, many = term.log_transform(theta, angle / (2 * math.pi)), 1
    elif angle.size * u.size > 1 << 26:
        # (for laws of very many values; then the error is times 1e-16)
        whole = np.fft.rfft(p, size).conj() * np.exp(1j * (int(u[0]) * angle))
        logs = log1p_complex(whole - 1)
    else:
        logs = finite_transform(u, p, angle)
    first = round(term.times * mean) - size // 2
    # rotated so that the window starts at `first`; the angle is reduced exactly, in integers
    turn = (np.arange(size // 2 + 1) * (first % size)) % size
    with np.errstate(under="ignore"):
        spectrum = np.exp(many * logs.real) * np.exp(1j * (many * logs.imag - 2 * math.pi / size * turn))
    law = np.fft.irfft(np.conj(spectrum), size)
    # a transform gives each probability only to some 1e-17: smaller ones are set to zero
    law = np.where(law > 1e-18, law, 0.0)
    return Window(term.times * shift + first, law, 1e-18 * size)


def convolved(p: Floats, times: int) -> Floats:
    """Return p convolved with itself: sums of positive numbers, so each has full relative accuracy.

    >>> convolved(np.array([0.5, 0.5]), 3).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, p)
        times >>= 1
        if times:
            p = np.convolve(p, p)
    return result


def partition(loss: Loss, theta: float) -> tuple[list[Noise], list[Noise], float, float]:
    """Split the terms into two halves of about equal numbers of values."""
    widths = [(term_width(term, term.tilted_variance(theta)), term) for term in loss.terms]
    halves: tuple[list[Noise], list[Noise]] = ([], [])
    sizes = [1.0, 1.0]
    for width, term in sorted(widths, key=lambda pair: -pair[0]):
        smaller = 0 if sizes[0] <= sizes[1] else 1
        halves[smaller].append(term)
        sizes[smaller] = min(sizes[smaller] * width, 1e300)
    return halves[0], halves[1], sizes[0], sizes[1]


class Direct(Forgetful):
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

    def _combine(self, laws: list[tuple[Noise, Window]]) -> _Half:
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
        return float(p @ (lift * inner))

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


# -- grids ---------------------------------------------------------------------------------------------------


class Grid(Forgetful):
    """Bounds delta of one loss: an upper bound, and how far below it the truth may lie."""

    def __init__(self, loss: Loss, aim: float = _AIM) -> None:
        """Bound delta of `loss`, to a relative width of `aim`."""
        self.loss, self.aim = loss, aim

    @cached_property
    def _recent(self) -> list[tuple[float, float, GridLaw]]:
        return []

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t) or 1 - delta(t) at each threshold t; other tails have an infinite error."""
        log, error = np.full(len(thresholds), math.nan), np.full(len(thresholds), math.inf)
        if kind is Kind.REST:
            return rest_of(self.tail(Kind.DELTA, [abs(t) for t in thresholds]), thresholds)
        if kind is Kind.DELTA:
            for i in sorted(range(len(thresholds)), key=lambda i: abs(thresholds[i])):
                log[i], error[i] = self._delta(thresholds[i])
        return Tail(log, error)

    def _delta(self, threshold: Fraction) -> tuple[float, float]:
        if self.loss.largest is not None and threshold >= self.loss.largest:
            return -math.inf, 0.0
        point = float(threshold)
        best = (math.nan, math.inf)
        for size in _SIZES:
            law = next(
                (law for low, high, law in self._recent if law.size >= size and low <= point <= high), None
            )
            if law is None:
                low, high, law = self._law(point, size)
                self._recent = [(low, high, law), *self._recent[: _GRIDS_REMEMBERED - 1]]
            best = min(best, law.delta(threshold), key=lambda pair: pair[1])
            if best[1] <= self.aim:
                break
        return best

    def _law(self, lowest: float, size: int) -> tuple[float, float, GridLaw]:
        """A law on a grid, and the thresholds that its tilt serves."""
        theta = saddle(self.loss, Kind.DELTA, lowest, 0.0)
        spread = self.loss.tilted_spread(theta)
        high = lowest + 0.7 * spread
        need = 30 - math.log(kernel_size(Kind.DELTA, theta, 0.0) / (2.5 * spread))
        length = period(self.loss, Kind.DELTA, theta, spread, lowest, high, need).length
        law = GridLaw.of(self.loss, theta, size, max(length, 20 * spread) / size)
        return lowest, high, replace(law, left_out=law.left_out + math.exp(-need))


@dataclass(frozen=True)
class GridLaw(Forgetful):
    """The law of a loss under a tilt, on a grid of `size` points `h` apart, as its Fourier transform."""

    theta: float
    size: int
    h: float
    scale: arb
    """log M(theta)."""
    splits: int
    left_out: float
    spectrum: Complexes

    @classmethod
    def of(cls, loss: Loss, theta: float, size: int, h: float, most: int = _LISTED) -> GridLaw:
        """Connect the dots of a loss, on a grid through 0; up to `most` values are split together."""
        terms = [around_mode(term, theta) for term in loss.terms]
        origin = loss.offset + sum((term[0] for term in terms), Fraction(0))
        cells = math.floor(origin / Fraction(h))
        laws = listed_together([term[1:3] for term in terms], most)
        # the part of a step that the origin lies above a point of the grid belongs to the first law
        rest = float(origin - cells * Fraction(h))
        spectrum: Complexes = np.ones(size // 2 + 1, dtype=np.complex128)
        for n, (value, p) in enumerate(laws):
            law = split(value + rest if n == 0 else value, p, theta, size, h)
            spectrum *= np.fft.rfft(np.roll(law, cells % size) if n == 0 else law)
        left_out = sum(term[3] for term in terms)
        return cls(theta, size, h, log_scale(loss, theta), len(laws), left_out, spectrum)

    @cached_property
    def p(self) -> Floats:
        """Tilted probabilities of the points."""
        return np.fft.irfft(self.spectrum, self.size)

    @cached_property
    def _norm(self) -> float:
        return float(np.sqrt(self.p @ self.p))

    def delta(self, threshold: Fraction) -> tuple[float, float]:
        """log of an upper bound of delta, and how far below it the truth may lie, relatively."""
        upper, lower = self._bounds(float(threshold))
        if lower <= 0:
            return math.nan, math.inf
        exponent = exact_exponent(self.scale, self.theta, threshold)
        return exponent + math.log(upper), (upper - lower) / lower + 2.3e-16 * abs(exponent)

    def _bounds(self, threshold: float) -> tuple[float, float]:
        """Upper and lower bound of delta, in units of e^exponent."""
        steps = threshold / self.h
        # beyond e^-80 of the kernel nothing counts
        count = min(self.size - 1, math.ceil(80 / (self.theta * self.h)) + 2)
        first = math.floor(steps) + 1
        points = np.arange(first, first + count)
        distance = (points - steps) * self.h
        with np.errstate(under="ignore"):
            kernel = np.exp(-self.theta * distance) * -np.expm1(-distance)
        value = float(self.p[points % self.size] @ kernel)
        noise = 2e-16 * math.log2(self.size) * self._norm * float(np.sqrt(kernel @ kernel)) + self.left_out
        near = np.arange(first - 1 - self.splits, first + 1 + self.splits)
        weight = np.exp(-self.theta * (near - steps) * self.h)
        close = float(np.maximum(self.p[near % self.size], 0.0) @ weight)
        return value + noise, value - noise - self.splits * self.h / 4 * close


def around_mode(term: Noise, theta: float) -> tuple[Fraction, Floats, Floats, float]:
    """The tilted law of a term's loss: mode, values around it, their probabilities, and the missing mass."""
    law = window(term, theta, deep=False)
    keep = np.flatnonzero(law.p > 1e-30)
    centre = int(keep[np.argmax(law.p[keep])])
    value = np.asarray((keep - centre) * float(term.step), dtype=np.float64)
    return term.step * (law.first + centre), value, law.p[keep], law.missing


def listed_together(laws: list[tuple[Floats, Floats]], most: int = _LISTED) -> list[tuple[Floats, Floats]]:
    """Merge the laws of terms, as many of them as may be listed together."""
    together: list[tuple[Floats, Floats]] = []
    for value, p in sorted(laws, key=lambda law: law[1].size):
        if together and together[-1][1].size * p.size <= most:
            before, q = together[-1]
            together[-1] = (np.add.outer(before, value).ravel(), np.multiply.outer(q, p).ravel())
        else:
            together.append((value, p))
    return together


def split(value: Floats, p: Floats, theta: float, size: int, h: float) -> Floats:
    """Connect the dots: split each value between the two points of the grid next to it."""
    cell = np.floor(value / h)
    inner = np.clip(value - cell * h, 0.0, h)
    share = np.expm1(-inner) / math.expm1(-h)
    with np.errstate(under="ignore", over="ignore"):
        low, high = (1 - share) * np.exp(-theta * inner), share * np.exp(theta * (h - inner))
    point = cell.astype(np.int64)
    near = np.bincount(point % size, weights=p * low, minlength=size)
    far = np.bincount((point + 1) % size, weights=p * high, minlength=size)
    return np.asarray(near + far, dtype=np.float64)
