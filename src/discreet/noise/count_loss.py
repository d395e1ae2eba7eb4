"""What a law of noise hands over to accounting: the law of one count's privacy loss.

One count shows an outcome, which has some probability with the person and some without. The loss of an
outcome is the logarithm of their ratio. It need not be symmetric, may be infinite (an outcome that is
impossible without the person), need not lie on a lattice, and may be continuous. Accounting needs no more
than this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.noise import balls

Floats = NDArray[np.float64]

OUTCOME_NATS = 740.0
"""OutcomeChances whose tail is below e^-740, less than any float, are left out."""

_SAME = 4e-14  # losses this close, relatively, are one: their logarithms are known no better


class OutcomeChances(NamedTuple):
    """Logarithms of the probabilities of what one count can show, and the probability of what is left out."""

    absent: Floats
    present: Floats
    left_out: float


class Density(NamedTuple):
    """The continuous part of a loss: its logarithmic density between two ends."""

    low: float
    high: float
    log: Callable[[Floats], Floats]


class TwoSidedDensity(NamedTuple):
    """The loss of continuous Laplace noise: two ends, and a density e^((l - end) / 2) / 4 between."""

    end: Fraction

    def atoms(self) -> list[tuple[balls.arb, balls.arb, balls.arb]]:
        """Both ends with their probabilities, with the person and without."""
        end = balls.ball(self.end)
        likely, rare = balls.arb(1) / 2, (-end).exp() / 2
        return [(-end, rare, likely), (end, likely, rare)]

    def between(self, step: Fraction) -> Iterator[tuple[int, balls.arb, balls.arb]]:
        """Cells of this width between the ends, by number, and both probabilities of what lies in each."""
        end = self.end
        first, last = math.floor(-end / step), math.ceil(end / step)
        edges = [max(min(cell * step, end), -end) for cell in range(first, last + 1)]
        up = [(balls.ball((edge - end) / 2)).exp() / 2 for edge in edges]
        down = [(balls.ball((-edge - end) / 2)).exp() / 2 for edge in edges]
        for k in range(last - first):
            yield first + k, up[k + 1] - up[k], down[k] - down[k + 1]


@dataclass(frozen=True, eq=False)
class CountLoss:
    """The law of the loss of one count if the person is there.

    >>> half, tenth = math.log(0.5), math.log(0.1)
    >>> law = CountLoss.of(np.array([tenth, half, -math.inf]), np.array([half, tenth, half]))
    >>> law.value.round(4).tolist(), np.exp(law.log).round(4).tolist(), law.infinite
    ([-1.6094, 1.6094], [0.1, 0.5], 0.5)
    """

    value: Floats
    """Finite losses that single outcomes have, ascending."""
    log: Floats
    """Logarithms of their probabilities."""
    infinite: float = 0.0
    """The probability of an infinite loss."""
    left_out: float = 0.0
    """At most the probability of what is not listed."""
    density: Density | None = None
    """The continuous part, if there is one."""
    normal: float = 0.0
    """Where the loss is normal altogether: its variance, which is twice its mean."""

    @classmethod
    def of(cls, absent: Floats, present: Floats, left_out: float = 0.0) -> CountLoss:
        """The law of log(present / absent) under `present`, from logarithms of probabilities."""
        possible = present > -math.inf
        endless = possible & (absent == -math.inf)
        infinite = float(np.exp(present[endless]).sum())
        kept = possible & ~endless
        order = np.argsort(present[kept] - absent[kept], kind="stable")
        value, log = (present[kept] - absent[kept])[order], present[kept][order]
        return cls(*merged(value, log), infinite, left_out)


def merged(value: Floats, log: Floats) -> tuple[Floats, Floats]:
    """Merge ascending losses that are equal up to rounding into the largest, adding their probabilities.

    >>> value, log = merged(np.array([1.0, 1 + 1e-15, 2.0]), np.log([0.25, 0.25, 0.5]))
    >>> value.round(6).tolist(), log.round(6).tolist()
    ([1.0, 2.0], [-0.693147, -0.693147])
    """
    starts = first_of_equals(value)
    if starts.size == value.size:
        return value, log
    last = last_of_equals(starts, value.size)
    logs = log[last]
    for run in np.flatnonzero(last > starts):  # a run of thousands, of which each sum would be rounded
        part = log[starts[run] : last[run] + 1]
        top = float(part.max())
        logs[run] = top + math.log(math.fsum(np.exp(part - top)))
    return value[last], logs


def first_of_equals(value: Floats) -> NDArray[np.int64]:
    """The place of the first of each run of ascending values that are equal up to rounding.

    >>> first_of_equals(np.array([1.0, 1 + 1e-15, 2.0])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.diff(value, prepend=-math.inf) > _SAME * (1 + np.abs(value)))


def last_of_equals(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The place of the last of each run, from those of the first.

    >>> last_of_equals(np.array([0, 2]), 3).tolist()
    [1, 2]
    """
    return np.append(starts[1:], size) - 1


RATIO_ACCURACY = 1e-9
"""How far above the truth, relatively, the largest ratio is looked for."""

_MOST_INTERVALS = 4000


def largest_ratio(law: CountLoss) -> float:
    """An upper bound of K(t) / (t (t + 1)) over t > 0, which is what zCDP says of a loss.

    K is convex, so between two points it lies below its chord, and below the first point K(t) / t is at most
    what it is there. Intervals of t in which that allows for more than the largest value seen are halved: the
    answer is at most 1e-9 of itself above the truth, or 1e-5 where the ratio hardly depends on t.

    >>> laplace = CountLoss(np.array([-1.0, 1.0]), np.log([0.2689414213699951, 0.7310585786300049]))
    >>> math.tanh(0.5) <= largest_ratio(laplace) <= math.tanh(0.5) * (1 + 1.1e-9)
    True
    """
    chance = np.exp(law.log)
    if law.value.size == 0 or not np.abs(law.value).max() > 0:
        return 0.0

    def cumulants(t: Floats) -> Floats:
        logs = np.empty(t.size)
        for row, tilt in enumerate(t):
            moved = tilt * law.value
            if np.abs(moved).max() < 1:  # near K(0) = 0, without cancellation
                logs[row] = math.log1p(float((chance * np.expm1(moved)).sum()))
            else:
                moved += law.log
                top = float(moved.max())
                logs[row] = top + math.log(float(np.exp(moved - top).sum()))
        return logs

    # beyond the last point K grows no faster than the largest loss
    t = np.concatenate([[0.0], np.geomspace(1e-11, 1e7, 400)])
    k = np.concatenate([[0.0], cumulants(t[1:])])
    low, high, k_low, k_high = t[:-1], t[1:], k[:-1], k[1:]
    seen = float((k_high / (high * (high + 1))).max())
    # an interval is left to itself once its bound is known to matter no more
    settled = float(law.value.max()) / t[-1]
    halvings = 0
    while True:
        bounds = _chord_ratio(low, high, k_low, k_high)
        open_ = bounds > seen * (1 + RATIO_ACCURACY)
        settled = max(settled, float(bounds[~open_].max(initial=0.0)))
        halvings += int(open_.sum())
        if not open_.any() or halvings > _MOST_INTERVALS:
            best = max(seen, settled, float(bounds.max()))
            return float(best * (1 + 1e-12))  # the rounding of sums
        low, high, k_low, k_high = low[open_], high[open_], k_low[open_], k_high[open_]
        middle = np.where(low > 0, np.sqrt(low * high), high / 16)
        k_middle = cumulants(middle)
        seen = max(seen, float((k_middle / (middle * (middle + 1))).max()))
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        k_low, k_high = np.concatenate([k_low, k_middle]), np.concatenate([k_middle, k_high])


def _chord_ratio(low: Floats, high: Floats, k_low: Floats, k_high: Floats) -> Floats:
    """The largest (a + b t) / (t (t + 1)) of the chords between neighbouring points; a is at most zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (k_high - k_low) / (high - low)
        start = np.minimum(k_low - slope * low, 0.0)
        peak = (-start + np.sqrt(start * start - start * slope)) / slope
        at = np.clip(np.where(slope > 0, peak, low), low, high)
        inside = (start + slope * at) / (at * (at + 1))
    return np.where(low > 0, inside, slope)
