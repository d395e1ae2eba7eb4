"""Empty groups that survive suppression, drawn without looking at the others.

The nation has hundreds of millions of pairs of a region and an iteration below the states, and most count
nobody. What becomes of such a group is a function of noise alone: with first-stage noise N1, second-stage
noise N2, the first threshold t and the bound T, it is released

    as a total     with chance  P[N1 < t] P[N2 > T],  its number being N2 given N2 > T,
    as a larger table  with chance  P[N1 >= t],  each of its cells being noise.

So the pairs that are released are drawn by exact geometric skips over all pairs, then what they are. Pairs
that turn out not to be empty are passed over: their fate is decided by their own count and other noise. The
proof is in `docs/explanation/empty-groups.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy, Noise, balls, sample
from discreet.noise.conditional import Above, Kinds, Trials, draw
from discreet.release.safetab.mechanism import Mechanism
from discreet.release.safetab.parts import CELLS, Codes, Integers, Part, spread

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class Kept:
    """The chance that an empty group gets a total alone and is not suppressed: P[N1 < t] P[N2 > T]."""

    first: Noise
    threshold: int
    second: Noise
    bound: int

    def __call__(self) -> arb:
        """Return a ball at the working precision."""
        return self.first.ball_upper(1 - self.threshold) * self.second.ball_upper(self.bound + 1)


@dataclass(frozen=True)
class Between:
    """The chance that noise is at least `low` and, unless that is None, below `high`."""

    noise: Noise
    low: int
    high: int | None = None

    def __call__(self) -> arb:
        """Return a ball at the working precision."""
        above = balls.ball(0) if self.high is None else self.noise.ball_upper(self.high)
        return self.noise.ball_upper(self.low) - above


@dataclass(frozen=True)
class Survival:
    """The chance that an empty group is released, and as what.

    >>> from discreet.noise import GaussianNoise
    >>> survival = Survival(GaussianNoise(5625), GaussianNoise(625), (4971, 19971, 149971), 93)
    >>> round(float(survival.chance()), 9)
    9.1919e-05
    """

    first: Noise
    second: Noise
    thresholds: tuple[int, ...]
    bound: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> Survival:
        """Return the survival of the empty groups of a mechanism that has noise and suppression."""
        first, second, bound = mechanism.stage_one, mechanism.stage_two, mechanism.suppression
        if first is None or second is None or bound is None:
            raise ValueError("groups without noise or suppression are not drawn by skips")
        return cls(first, second, mechanism.thresholds, bound)

    @property
    def kinds(self) -> tuple[Kept | Between, ...]:
        """The chances of the four tables."""
        ends: tuple[int | None, ...] = (*self.thresholds[1:], None)
        larger = (Between(self.first, low, high) for low, high in zip(self.thresholds, ends, strict=True))
        return (Kept(self.first, self.thresholds[0], self.second, self.bound), *larger)

    def __call__(self) -> arb:
        """Return a ball around the chance of being released, at the working precision."""
        total = self.kinds[0]()
        return total + self.first.ball_upper(self.thresholds[0])

    def chance(self) -> float:
        """Return the chance of being released as a float."""
        with balls.working_bits(192):
            return float(self().mid())


def plain(mechanism: Mechanism) -> bool:
    """Whether every group is drawn: nothing is suppressed, or without noise an empty group is large."""
    if mechanism.suppression is None:
        return True
    if mechanism.stage_one is None or mechanism.stage_two is None:
        return mechanism.thresholds[0] <= 0 or mechanism.suppression < 0
    return False


def survivors(
    mechanism: Mechanism,
    regions: int,
    iterations: Codes,
    region: Codes,
    iteration: Codes,
    *,
    source: Entropy | None = None,
) -> Part:
    """Return the empty groups that are released, among all pairs but the given ones, which are not empty.

    `iterations` are the sorted indices of the iterations that are tabulated; `region` and `iteration` are
    sorted.
    """
    if mechanism.stage_one is None or mechanism.stage_two is None or not regions or not iterations.size:
        # without noise an empty group stays empty, and is dropped
        return Part.of(mechanism.geography, mechanism.level, [], [], [], [], [])
    survival = Survival.of(mechanism)
    taken = region.astype(np.int64) * iterations.size + np.searchsorted(iterations, iteration)
    pairs = [np.zeros(0, dtype=np.int64)]
    for found in Trials(survival).successes(regions * iterations.size, source=source):
        pairs.append(found[~_among(found, taken)])
    pair = np.concatenate(pairs)
    table, values = outcomes(survival, pair.size, source=source)
    return Part(
        mechanism.geography,
        mechanism.level,
        (pair // iterations.size).astype(np.int32),
        iterations[pair % iterations.size],
        table,
        np.zeros(pair.size, dtype=np.int32),
        values,
    )


def outcomes(
    survival: Survival, size: int, *, source: Entropy | None = None
) -> tuple[NDArray[np.int8], Integers]:
    """Return the tables and the cells of groups that are empty and released."""
    table = draw(Kinds(survival.kinds), size, source=source).astype(np.int8)
    widths = np.take(CELLS, table)
    starts = np.cumsum(widths) - widths
    values = np.empty(int(widths.sum()), dtype=np.int64)
    totals = starts[table == 0]
    beyond = draw(Above(survival.second, survival.bound), totals.size, source=source)
    values[totals] = survival.bound + 1 + beyond
    cells = spread(starts[table > 0], widths[table > 0])
    values[cells] = sample(survival.second, cells.size, source=source)
    return table, values


def _among(found: Integers, taken: Integers) -> NDArray[np.bool_]:
    """Return which of the found pairs are among the taken ones; both rise."""
    if not taken.size:
        return np.zeros(found.size, dtype=bool)
    place = np.minimum(np.searchsorted(taken, found), taken.size - 1)
    hits: NDArray[np.bool_] = taken[place] == found
    return hits
