"""Which of the three evaluations a loss is given to, in order of preference.

1. *Lattice*: the contour runs over one period 2 pi / h; the sieve makes that short. Exact but for rounding.
2. *Direct*: few distinct terms and no usable lattice; list the values of the loss. Exact but for rounding.
3. *Line*: many distinct terms and no usable lattice (h = 9e-15 in PL 94-171). The transform then decays
   to nothing, and the contour is cut at a finite reach; the cut is part of the error estimate.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.accounting.contour import DEPTH
from discreet.accounting.direct import MOST_VALUES, Direct, partition
from discreet.accounting.loss import Loss
from discreet.accounting.quadrature import Quadrature, Strategy, Tail, falloff, short_above
from discreet.accounting.saddle import Kind
from discreet.accounting.sieve import Sieve, SieveOverflowError, joined, octave
from discreet.accounting.tilted import TiltedTransform

_DEEPEST = 37.0  # standard deviations at which a tail is about 1e-300
_MOST_NODES = 1_000_000
_PATIENCE = 4  # times as many nodes, rather than no answer
_REMAINDER = 2e-14


class Engine(Protocol):
    """Evaluates tails of one loss."""

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t), P[L > t] or P_null[L > t] at each threshold t, with relative errors."""


def choose(loss: Loss) -> Engine:
    """The engine for this loss.

    >>> from discreet.budget import DiscreteGaussian
    >>> choose(Loss([DiscreteGaussian(variance=5, times=10)])).__class__.__name__
    'Quadrature'
    >>> two = [DiscreteGaussian(variance="5.123456789"), DiscreteGaussian(variance=7)]
    >>> choose(Loss(two)).__class__.__name__
    'Direct'
    """
    spread = math.sqrt(loss.tilted_moments(0.0)[1])
    h = float(loss.step)
    listed = max(partition(loss, 0.0)[2:])
    direct = Direct(loss) if listed <= MOST_VALUES else None
    if 20 * max(spread, h) <= 4096 * h:
        return Quadrature(loss, Strategy(loss.step, math.pi / h), direct)
    if direct is not None and loss.primal and listed <= 50_000:
        return direct
    contour = _explore(loss, spread, Kind.ALT)
    if contour is not None and contour.nodes(20 * spread) <= max(20_000, 2 * listed):
        return Quadrature(loss, contour, direct)
    if direct is not None:
        return direct
    contour = contour or _explore(loss, spread, Kind.DELTA)
    contour = contour or _explore(loss, spread, Kind.DELTA, most=_PATIENCE * _MOST_NODES)
    if contour is not None:
        return Quadrature(loss, contour)
    # nothing reaches full accuracy: the error estimate of a short line will say so
    return Quadrature(loss, Strategy(None, 1e3 / spread, remainder=1e-3))


def smooth_engine(engine: Engine) -> Engine | None:
    """The first octave of a long contour: tails without the fine structure of the loss, good to 1e-4.

    For finding the thresholds of tests. None where the engine itself is quick.
    """
    if isinstance(engine, Quadrature) and engine.is_explored:
        tilt = _DEEPEST / math.sqrt(engine.loss.tilted_moments(0.0)[1])
        return Quadrature(engine.loss, Strategy(None, 64 * tilt))
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
