"""Which evaluation a loss gets, and which comes next where that one is not accurate enough.

1. *Lattice*: the contour runs over one period 2 pi / h; the sieve makes that short. Exact up to rounding.
2. *List* (`lists.py`): few distinct terms and no usable lattice; list the values of the loss, in long lists
   without those of least weight. Exact up to rounding and to what was left out, which is known.
3. *Line*: many distinct terms and no usable lattice (h = 9e-15 in PL 94-171). The transform then decays
   to nothing, and the contour is cut at a finite reach; the cut is part of the error estimate.
4. *Grid* (`grids.py`): the loss rounded to a grid such that delta is bounded from above and from below.

Each states the error of its values. A value that is not accurate enough goes to the next evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.loss.contour import (
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
    octave,
    short_above,
)
from discreet.loss.grids import Grid
from discreet.loss.lattice import (
    Loss,
    TiltedTransform,
    is_coarse,
)
from discreet.loss.lists import MOST_VALUES, ListEvaluator, partition
from discreet.memory import Forgetful

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


class Evaluations(Forgetful):
    """The evaluations of one loss, each built when it is first needed.

    >>> from discreet.budget import DiscreteGaussian
    >>> Evaluations(Loss([DiscreteGaussian(variance=5, times=10)])).first.__class__.__name__
    'Quadrature'
    >>> two = [DiscreteGaussian(variance="5.123456789"), DiscreteGaussian(variance=7)]
    >>> Evaluations(Loss(two)).first.__class__.__name__
    'ListEvaluator'
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
    def direct(self) -> ListEvaluator | None:
        """The list of values, unless there are too many terms."""
        return ListEvaluator(self.loss) if len(self.loss.terms) <= _LISTED_TERMS else None

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
        if isinstance(self.first, ListEvaluator):
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
