"""The risk of many rows at once: a noisy value and a variance each, against one stated adversary.

The adversary knows everyone but the target. What count that makes may be given (one for all rows, or one a
row). If it is not, a row's risk is averaged over all counts k >= 0 that may be known, each weighted by how
likely the row's noisy value is if the target is present: the noise is then y - k - 1 <= y - 1, with the
weights of the discrete Gaussian. For large noisy values that is the mean over the noise given "present"; near
and below zero, where a count cannot have been lower, less noise is possible and the average says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.errors import PrecisionError
from discreet.noise import GaussianNoise, gaussian_tail
from discreet.risk.model import Floats, Prior, grouped
from discreet.risk.single import log_likelihood_ratio, multiplier, updated

ABOVE = 2.0
"""A ratio above this is counted: the release has more than doubled the belief."""

MOST_ENTRIES = 10_000_000
"""Averages that are kept, some 67 standard deviations for each distinct variance (160 MB)."""

_REACH = 37.0  # standard deviations: exp(-37^2 / 2) is near the smallest float
_USED = 30.0  # from here on what lies beyond the reach is nothing


@dataclass(frozen=True, slots=True, eq=False)
class RowRisk:
    """The risk of each row: posterior, ratio, and the chance that the ratio is above two."""

    posterior: Floats
    ratio: Floats
    above: Floats


@dataclass(slots=True, eq=False)
class Rows:
    """One adversary's view of rows; what is computed for a variance is kept for the next rows.

    >>> from discreet.risk.model import read_prior
    >>> rows = Rows(read_prior("1/10"), nonnegative=False)
    >>> risk = rows.known(np.array([1.0, 8.0]), np.array(5.0), np.array(0.0))
    >>> risk.ratio.round(3).tolist(), risk.above.tolist()
    ([1.094, 3.324], [0.0, 1.0])
    >>> rows.unknown(np.array([-3.0, 1.0, 100.0]), np.array([5.0, 5.0, 5.0])).ratio.round(3).tolist()
    [0.478, 0.86, 1.169]
    """

    prior: Prior
    nonnegative: bool
    _tables: dict[float, _Averages] = field(default_factory=dict)
    _entries: int = 0

    def known(self, noisy: Floats, variance: Floats, known: Floats) -> RowRisk:
        """Return the risk where the count without the target is known."""
        evidence = log_likelihood_ratio(noisy, known, variance, nonnegative=self.nonnegative)
        ratio = multiplier(self.prior, evidence)
        return RowRisk(updated(self.prior, evidence), ratio, (ratio > ABOVE).astype(np.float64))

    def unknown(self, noisy: Floats, variance: Floats) -> RowRisk:
        """Return the risk averaged over the counts that may be known."""
        ratio, above = np.empty(noisy.size), np.empty(noisy.size)
        for v, rows in grouped(variance):
            ratio[rows], above[rows] = self._averages(v).at(noisy[rows])
        return RowRisk(self.prior.present * ratio, ratio, above)

    def _averages(self, variance: float) -> _Averages:
        if variance not in self._tables:
            made = _Averages.build(variance, self.prior, self.nonnegative)
            self._entries += made.ratio.size
            if self._entries > MOST_ENTRIES:
                raise PrecisionError(
                    "the table has too many different variances to average each over the counts that may be "
                    "known: state the known count, or its column"
                )
            self._tables[variance] = made
        return self._tables[variance]


@dataclass(frozen=True, slots=True, eq=False)
class _Averages:
    """Mean ratio and chance of a ratio above two for one variance, at y = first, first + 1, ..., and beyond.

    The noise j = y - k - 1 runs over all integers up to y - 1, so the averages at y are running sums.
    """

    variance: float
    prior: Prior
    first: float
    ratio: Floats
    above: Floats
    zero: tuple[float, float] | None  # at a published zero, if negative values became zero

    @classmethod
    def build(cls, variance: float, prior: Prior, nonnegative: bool) -> _Averages:
        reach = math.ceil(_REACH * math.sqrt(variance))
        noise = np.arange(-reach, reach + 1.0)
        weights = np.exp(-noise * (noise / (2.0 * variance)))
        ratio = multiplier(prior, (noise + 0.5) / variance)
        total = np.cumsum(weights)
        zero = _censored(variance, prior) if nonnegative else None
        start = reach - math.floor(_USED * math.sqrt(variance))
        means = np.cumsum(weights * ratio) / total
        chances = np.cumsum(weights * (ratio > ABOVE)) / total
        return cls(variance, prior, noise[start] + 1.0, means[start:], chances[start:], zero)

    def at(self, noisy: Floats) -> tuple[Floats, Floats]:
        place = (np.clip(noisy, self.first, self.first + self.ratio.size - 1) - self.first).astype(np.int64)
        ratio, above = self.ratio[place], self.above[place]
        far = noisy < self.first
        if far.any():  # no honest table has such a row, but an answer that is off would be worse than slow
            values, back = np.unique(noisy[far], return_inverse=True)
            ratio[far] = np.array([self._far(float(y)) for y in values])[back]
            above[far] = 0.0  # the ratio is far below one there
        if self.zero is not None:
            ratio[noisy == 0], above[noisy == 0] = self.zero
        return ratio, above

    def _far(self, noisy: float) -> float:
        """The mean ratio so far below zero that the weights are no floats any more: relative to the first."""
        steps = np.arange(math.ceil(40.0 * self.variance / (1.0 - noisy)) + 1.0)
        noise = noisy - 1.0 - steps
        weights = np.exp(-steps * (2.0 * (1.0 - noisy) + steps) / (2.0 * self.variance))
        return float(weights @ multiplier(self.prior, (noise + 0.5) / self.variance) / weights.sum())


def _censored(variance: float, prior: Prior) -> tuple[float, float]:
    """The averages at a published zero: k is weighted by P[noise <= -k - 1]."""
    known = np.arange(math.ceil(_REACH * math.sqrt(variance)) + 2.0)
    tails = np.log(gaussian_tail.ratio(known, variance)) - known * (known / (2.0 * variance))
    ratio = multiplier(prior, np.diff(tails))
    weights = np.exp(tails[1:] - tails[1])
    return float(weights @ ratio / weights.sum()), float(weights @ (ratio > ABOVE) / weights.sum())


def noise_parameter(variance: float) -> float:
    """Return the sigma^2 of the discrete Gaussian that has this variance: more, if it is small.

    From variance 2 on the two agree to the last digit.

    >>> noise_parameter(5.0), round(noise_parameter(0.1), 4)
    (5.0, 0.1729)
    """
    if variance >= 2.0:
        return variance
    low, high = 7e-4, 2.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        if GaussianNoise(Fraction(middle)).true_variance() < variance:
            low = middle
        else:
            high = middle
    return high
