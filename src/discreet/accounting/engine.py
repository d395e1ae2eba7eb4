"""Which evaluation a loss is given to, and where a value goes that it does not reach: a ladder.

1. *Lattice*: the contour runs over one period 2 pi / h; the sieve makes that short. Exact but for rounding.
2. *Direct*: few distinct terms and no usable lattice; list the values of the loss, of long lists all but the
   values of least weight. Exact but for rounding and for what was left out, which is known.
3. *Line*: many distinct terms and no usable lattice (h = 9e-15 in PL 94-171). The transform then decays
   to nothing, and the contour is cut at a finite reach; the cut is part of the error estimate.
4. *Grid*: the loss rounded to a grid such that delta is bounded from above and from below.

Each says how far its values may be off. A value that is not good enough goes down the ladder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.accounting.contour import DEPTH
from discreet.accounting.direct import MOST_VALUES, Direct, partition
from discreet.accounting.grid import Grid
from discreet.accounting.loss import Loss
from discreet.accounting.quadrature import Evaluation, Quadrature, Strategy, Tail, falloff, short_above
from discreet.accounting.saddle import Kind
from discreet.accounting.sieve import Sieve, SieveOverflowError, joined, octave
from discreet.accounting.tilted import TiltedTransform

ACCURACY = 1e-12
"""Relative accuracy of a value that is as good as a float should be."""

_DEEPEST = 37.0  # standard deviations at which a tail is about 1e-300
_MOST_NODES = 1_000_000
_PATIENCE = 4  # times as many nodes, rather than no answer
_REMAINDER = 2e-14
_MOST_PRODUCTS = 20_000_000
_FEW = 300  # values of a half of a list that is quicker than any contour
_LISTED_TERMS = 14  # of more distinct terms a list would miss nearly everything
_WELL_LISTED = 1e-10


class Ladder:
    """The evaluations of one loss, each made when it is first needed.

    >>> from discreet.budget import DiscreteGaussian
    >>> Ladder(Loss([DiscreteGaussian(variance=5, times=10)])).first.__class__.__name__
    'Quadrature'
    >>> two = [DiscreteGaussian(variance="5.123456789"), DiscreteGaussian(variance=7)]
    >>> Ladder(Loss(two)).first.__class__.__name__
    'Direct'
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    @cached_property
    def _spread(self) -> float:
        return self.loss.spread

    @cached_property
    def is_coarse(self) -> bool:
        """Whether one period of the contour has so few nodes that none needs to be left out."""
        h = float(self.loss.step)
        return 20 * max(self._spread, h) <= 4096 * h

    @cached_property
    def listed(self) -> float:
        """About how many values the longer half of a list has."""
        return max(partition(self.loss, 0.0)[2:])

    @cached_property
    def direct(self) -> Direct | None:
        """The list of values, unless it would be hopeless."""
        return Direct(self.loss) if len(self.loss.terms) <= _LISTED_TERMS else None

    @cached_property
    def grid(self) -> Grid:
        """The law on a grid."""
        return Grid(self.loss)

    @cached_property
    def first(self) -> Evaluation:
        """The evaluation that is asked first."""
        loss, spread = self.loss, self._spread
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
        contour = _explore(loss, spread, Kind.ALT)
        if contour is not None and contour.nodes(20 * spread) <= max(20_000, 2 * self.listed):
            return Quadrature(loss, contour, whole_list)
        if whole_list is not None:
            return whole_list
        if contour is None and self.direct is not None:
            # a list without its lightest values: how good it is shows at a typical threshold
            typical = Fraction(loss.tilted_moments(0.0)[0] + 6 * spread).limit_denominator(1000)
            if self.direct.tail(Kind.DELTA, [typical]).error[0] <= _WELL_LISTED:
                return self.direct
        contour = contour or _explore(loss, spread, Kind.DELTA)
        contour = contour or _explore(loss, spread, Kind.DELTA, most=_PATIENCE * _MOST_NODES)
        return Quadrature(loss, contour) if contour is not None else self.grid

    def _others(self) -> Iterator[Callable[[], Evaluation | None]]:
        yield lambda: self.direct
        yield lambda: self.grid

    def tail(self, kind: Kind, thresholds: list[Fraction], accuracy: float) -> Tail:
        """Tails from the first evaluation; those worse than `accuracy` from the best of the others."""
        found = self.first.tail(kind, thresholds)
        for other in self._others():
            doubtful = np.flatnonzero(~(found.error <= accuracy))
            if not doubtful.size:
                break
            engine = other()
            if engine is None or engine is self.first:
                continue
            again = engine.tail(kind, [thresholds[i] for i in doubtful])
            better = again.error < np.where(np.isnan(found.error[doubtful]), math.inf, found.error[doubtful])
            found.log[doubtful[better]] = again.log[better]
            found.error[doubtful[better]] = again.error[better]
        return found

    @cached_property
    def smooth(self) -> Quadrature | None:
        """The first octave of a long contour: tails without the fine structure of the loss, good to 1e-4.

        For finding the thresholds of tests. None where the first evaluation itself is quick.
        """
        first = self.first
        if first is self.grid or (isinstance(first, Quadrature) and first.is_explored):
            return Quadrature(self.loss, Strategy(None, 64 * _DEEPEST / self._spread))
        return None

    def next_value(self) -> Callable[[Fraction], tuple[Fraction, Fraction]] | None:
        """How to find the value of the loss next above a threshold, where single tails can be had.

        As two points between which it lies, the upper one included, with no other.
        """
        if isinstance(self.first, Direct):
            return self.first.next_value
        if isinstance(self.first, Quadrature) and self.first.h is not None and not self.first.is_long:
            return self.loss.next_value
        return None


def _explore(loss: Loss, spread: float, kind: Kind, most: int = _MOST_NODES) -> Strategy | None:
    """Go out along the contour, octave by octave, until its end or until what lies beyond is negligible.

    As deep as the kernel of this kind demands: a contour explored for delta alone may not serve tails.
    Negligible by the mean modulus of the last octave: the relative remainder of delta is
    size * mean / reach. That mean must be over many peaks, or the contour so long that even a peak of full
    height beyond would not count, since delta's kernel falls with the square of the distance.
    """
    tilt = _DEEPEST / spread
    size = tilt * (tilt + 1) * 2.5 * spread / math.pi
    period = short_above(20 * spread)
    per_node = 2 * math.pi / float(period)
    step = float(loss.step)
    whole = math.pi / step if step > 0 else math.inf
    farthest = min(whole, 2**36 * per_node, 1e8 * tilt)
    start, end, nodes = 0.0, 64 * tilt, 0.0
    remainder, settled = 1.0, False
    parts: list[Sieve] = []
    serves = (Kind.DELTA, Kind.ALT) if kind is Kind.ALT else (Kind.DELTA,)
    while start < farthest and not settled:
        end = min(end, farthest)
        try:
            part = octave(loss, start, end, depth=DEPTH, theta=0.0, falloff=falloff(kind), scale=tilt)
            nodes += float(np.sum((part.high - part.low) / per_node + 1))
            if nodes > most:
                break
            parts.append(part)
            if end == whole:
                return Strategy(loss.step, whole, joined(parts), serves)
            # worth a look only where the rest of the contour may be long
            if nodes > 30_000 or end >= 3e6 * tilt:
                remainder = size * _mean_modulus(loss, part, period, end - start, most) / end
                many_peaks = part.low.size >= 50 and remainder < _REMAINDER
                settled = many_peaks or (end >= 3e6 * tilt and remainder < 1e-18)
        except SieveOverflowError:
            break
        start, end = end, 8 * end
    enough = 5 if most == _MOST_NODES else 25
    if settled or (start >= 1e5 * tilt and remainder < enough * _REMAINDER):
        return Strategy(None, start, joined(parts), serves, remainder=4 * remainder / size)
    return None


def _mean_modulus(loss: Loss, part: Sieve, period: Fraction, length: float, most: int) -> float:
    """The mean of |transform| over a stretch of the contour."""
    nodes = part.nodes(float(period), most)
    moduli = np.exp(TiltedTransform(loss, 0.0).log(nodes, period).real)
    return float(moduli.sum()) * (2 * math.pi / float(period)) / length
