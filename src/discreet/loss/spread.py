"""How the loss of any laws spreads, as risk asks for it: its tails, its quantiles, means of the posterior.

Few events have few losses, which are listed. Many are put on a grid (`discreet.loss.gridded`)
whose law dominates the true one: there is a procedure that turns what it shows into what is released. So
everything that falls under such procedures is an upper bound: delta, and the mean posterior of a target who
is present, because x^2 / (x + c) is convex in the ratio of likelihoods x. A loss on the grid is L + D, with D
of sub-Gaussian parameter s = sqrt(n) h / 2 around a mean of zero or more, n splits of width h. Hence

    P[L > t] <= P[L + D > t - k s] + e^(-k^2 / 2),

by which quantiles are bounded, with k = 7. How often somebody is named is read off the grid, not bounded.

If a law is not mirrored, P[L > t] without the target comes from the law with the hypotheses exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.loss.gridded import Gridded
from discreet.loss.lattice import Floats
from discreet.loss.listed import Listed, ValueList
from discreet.loss.posteriors import logistic
from discreet.loss.sides import Side
from discreet.memory import Forgetful
from discreet.noise import Noise

_POINTS = 2**18
_LISTED = 2_000_000  # products of two halves that are listed whole
_DEVIATIONS = 7.0
_TIE = 1e-12
_FEW = 1e-4  # a chance from which on a grid that is not tilted has too few digits


@dataclass(frozen=True, eq=False)
class LossSpread(Forgetful):
    """Values of the loss, ascending, with their chances under the hypothesis that it is the log ratio for.

    >>> from discreet.noise import TableNoise
    >>> answer = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
    >>> both = spread_of((answer.repeated(2),))
    >>> both.value.round(4).tolist(), both.p.round(4).tolist()
    ([-2.1972, 0.0, 2.1972], [0.0625, 0.375, 0.5625])
    >>> round(both.mean_posterior(0.0), 6), both.beyond(0.0)
    (0.7, 0.75)
    """

    value: Floats
    p: Floats
    infinite: float
    """The chance of an infinite loss."""
    largest: float
    """The largest loss, or infinity."""
    blur: float = 0.0
    """By how much a loss may lie above its place ..."""
    doubt: float = 0.0
    """... except with this chance."""

    def beyond(self, threshold: float) -> float:
        """P[L > t], and half of P[L = t]: a coin decides ties."""
        near = _TIE * (1.0 + abs(threshold))
        first, last = np.searchsorted(self.value, [threshold - near, threshold + near])
        return float(self.p[last:].sum() + 0.5 * self.p[first:last].sum() + self.infinite)

    def below(self, threshold: float) -> float:
        """P[L < t], and half of P[L = t]."""
        near = _TIE * (1.0 + abs(threshold))
        first, last = np.searchsorted(self.value, [threshold - near, threshold + near])
        return float(self.p[:first].sum() + 0.5 * self.p[first:last].sum())

    def quantiles(self, chances: Sequence[float]) -> Floats:
        """The smallest losses with at most these chances above, or a little more."""
        above = np.append(np.cumsum(self.p[::-1])[::-1][1:], 0.0) + (self.infinite + self.doubt)
        wanted = (1.0 - np.asarray(chances)) * (1.0 + 1e-13) + 1e-15
        at = np.minimum(np.searchsorted(-above, -wanted), self.p.size)
        ends = np.append(self.value, math.inf) + self.blur
        return np.minimum(ends[at], np.where(at < self.p.size, self.largest, math.inf))

    def mean_posterior(self, odds: float) -> float:
        """E[1 / (1 + e^(odds - L))]: the mean posterior at the prior log odds -`odds`, or a little more."""
        return min(float(self.p @ logistic(self.value - odds)) + self.infinite + self.doubt, 1.0)


def naming_chances(events: tuple[Noise, ...], odds: float) -> tuple[float, float]:
    """Return how often the loss exceeds `odds` with the target and without; a coin decides ties.

    Far out, where a grid has no digits, it is tilted towards the threshold.

    >>> from discreet.noise import ContinuousGaussian
    >>> true, false = naming_chances((ContinuousGaussian(variance=1),), 9.0)
    >>> from scipy.stats import norm
    >>> round(float(true / norm.sf(8.5)), 2), round(float(false / norm.sf(9.5)), 2)
    (1.0, 1.0)
    """
    present = spread_of(events)
    true = present.beyond(odds)
    if present.blur > 0 and 0 < odds < present.largest and true < _FEW:
        side = Side(events, False)
        grid = Gridded(side).at_tilt(side.saddle(odds), _POINTS)
        far = grid.points - odds
        p, far = np.maximum(grid.p[far > 0], 0.0), far[far > 0]
        unit = math.exp(max(grid.exponent(odds), -700.0))
        with np.errstate(under="ignore"):
            finite = unit * float(p @ np.exp(-grid.theta * far))
            null = unit * math.exp(-odds) * float(p @ np.exp(-(grid.theta + 1.0) * far))
        return finite + side.infinite, null
    is_mirrored = all(event.is_mirrored for event in events)
    absent = present if is_mirrored else spread_of(events, exchanged=True)
    return true, absent.below(-odds)


@lru_cache(maxsize=8)
def spread_of(events: tuple[Noise, ...], *, exchanged: bool = False) -> LossSpread:
    """Return how the loss of all events together spreads, with the target or (exchanged) without.

    >>> from discreet.noise import ContinuousGaussian
    >>> normal = spread_of((ContinuousGaussian(variance=1),))
    >>> (normal.quantiles([0.5, 0.95]) - [0.5, 0.5 + 1.644853627]).round(3).tolist()
    [0.0, 0.0]
    """
    side = Side(events, exchanged)
    whole = _listed(side)
    if whole is not None:
        return LossSpread(whole.value, whole.p, side.infinite, side.largest, 0.0, whole.dropped)
    if side.infinite >= 1:
        return LossSpread(np.empty(0), np.empty(0), 1.0, math.inf)
    grid = Gridded(side).at_tilt(0.0, _POINTS)
    p = np.maximum(grid.p, 0.0) * math.exp(grid.log_scale)
    blur = min(_DEVIATIONS * math.sqrt(grid.splits) * grid.h / 2, grid.splits * grid.h)
    doubt = math.exp(-(_DEVIATIONS**2) / 2) + grid.outside + side.left_out + grid.noise
    return LossSpread(grid.points, p, side.infinite, side.largest, blur, doubt)


def _listed(side: Side) -> ValueList | None:
    """All values of the loss, if there are few and none is normal."""
    if side.normal or side.infinite >= 1:
        return None
    halves = Listed.of(side, most=_LISTED // 4)
    if halves is None or halves.left.p.size * halves.right.p.size > _LISTED:
        return None
    whole = halves.left.plus(halves.right, 0.0)
    return whole if whole is not None and whole.p.size else None
