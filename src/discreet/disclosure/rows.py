"""The risk of rows of noisy counts: of a known count without the target, or averaged over a law of counts.

The adversary knows everyone but the target. What count that makes may be given (one for all rows, or one a
row). If it is not, a row's risk is averaged over the counts that may be known if the target is present: with
c the true count, k = c - 1 others are known, and the noise was y - c. How likely each c is, is either

- what the *table itself suggests* (empirical Bayes). The law of the counts in rows of one noise is estimated
  by expectation-maximization from how often each noisy value occurs, from a flat start, and stopped when the
  likelihood hardly rises any more: beyond that it would fit the noise. The target is any of the c people,
  so c counts c times. A row with fewer than 100 others within six standard deviations has none to suggest
  anything but itself, as if its noise were zero; the flat law serves for it. Noise of a standard deviation
  of 16 or more does not tell neighbouring counts apart; they are then taken together, an eighth of a
  deviation wide; or
- *flat*: every count is as likely as any other. Then the noise is distributed as noise that is at most y - 1.
  That is what a suggested law amounts to far above zero, and it serves for all rows more than 50 standard
  deviations up: how large a count is tells nothing then. Near zero it overstates the counts of a sparse
  table, and understates the risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.disclosure.attack import Attack, zero_evidence
from discreet.disclosure.odds import Floats, Prior
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.gaussian_tail import tail_ratio

SomeRows = NDArray[np.intp] | slice

DOUBLED = math.log(2.0)
"""Evidence, a log ratio of likelihoods, above this is counted: the odds have more than doubled."""

FEWEST_ROWS = 100
"""Fewer rows of one noise near a value do not suggest a law; the flat one is used."""

_REACH = 37.0  # standard deviations: exp(-37^2 / 2) is near the smallest float
_USED = 30.0  # from here on what lies beyond the reach is nothing
_TOP = 50.0  # standard deviations above zero up to which a table suggests its law
_WIDE = 15.0  # standard deviations beyond the top whose rows are used for the law, too
_NEAR = 6.0  # standard deviations: noise beyond is as good as impossible, P = 2e-9
_MOST_ROUNDS, _ROUNDS, _GAIN = 3000, 20, 1.0


class RowRisk(NamedTuple):
    """The risk of each row: posterior, ratio, and the chance that the odds more than double.

    `targets` is how many people the row is expected to count: the weight of its risk among all people.
    """

    posterior: Floats
    ratio: Floats
    doubled: Floats
    targets: Floats

    def at(self, rows: SomeRows) -> RowRisk:
        """Return that of some rows."""
        return RowRisk(*(values[rows] for values in self))


def known_risk(
    prior: Prior, noisy: Floats, variance: Floats, known: Floats, *, nonnegative: bool = False
) -> RowRisk:
    """Return the risk where the count without the target is known.

    >>> from discreet.disclosure.attack import read_prior
    >>> risk = known_risk(read_prior("1/10"), np.array([1.0, 8.0]), np.array(5.0), np.array(0.0))
    >>> risk.ratio.round(3).tolist(), risk.doubled.tolist()
    ([1.094, 3.324], [0.0, 1.0])
    """
    evidence = Attack(variance=variance, known=known, nonnegative=nonnegative).evidence(noisy)
    ratio = prior.ratio(evidence)
    doubled = (evidence > DOUBLED).astype(np.float64)
    return RowRisk(prior.posterior(evidence), ratio, doubled, np.broadcast_to(known + 1.0, ratio.shape))


@dataclass(slots=True, eq=False)
class Histogram:
    """How often each noisy value occurs in rows of one noise; of those far above zero, their number and sum.

    >>> rows = Histogram(5.0)
    >>> rows.add(np.array([-3.0, 1.0, 1.0, 10.0**9, 10.0**9 + 2]))
    >>> rows.rows, [(int(y), int(n)) for y, n in zip(*rows.seen())]
    (5, [(-3, 1), (1, 2), (1000000001, 2)])
    """

    variance: float
    rows: int = 0
    high: int = 0
    high_sum: float = 0.0
    far: dict[float, int] = field(default_factory=dict)  # values so low that no honest table has them
    counts: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.last - self.first + 1, dtype=np.int64)

    @property
    def first(self) -> int:
        """The lowest value that has its own place."""
        return 1 - math.floor(_USED * math.sqrt(self.variance))

    @property
    def top(self) -> int:
        """The highest value at which a table may suggest a law."""
        return math.ceil(_TOP * math.sqrt(self.variance)) + 20

    @property
    def last(self) -> int:
        """The highest value that has its own place; rows between the top and this one serve the law, too."""
        return self.top + math.ceil(_WIDE * math.sqrt(self.variance)) + 1

    def suggests(self, values: Floats) -> NDArray[np.bool_]:
        """Whether enough rows are near each of some values, themselves included, to suggest a law there."""
        reach, sums = math.ceil(_NEAR * math.sqrt(self.variance)), np.append(0, np.cumsum(self.counts))
        low, high = (
            sums[np.clip(values + end - self.first, 0, self.counts.size).astype(np.int64)]
            for end in (-reach, reach + 1)
        )
        return np.asarray((high - low >= FEWEST_ROWS) & (values >= self.first) & (values <= self.top))

    def add(self, noisy: Floats) -> None:
        """Count values."""
        self.rows += noisy.size
        low = noisy < self.first
        if low.any():
            for value, count in zip(*np.unique(noisy[low], return_counts=True), strict=True):
                self.far[float(value)] = self.far.get(float(value), 0) + int(count)
            noisy = noisy[~low]
        high = noisy > self.last
        self.high, self.high_sum = self.high + int(high.sum()), self.high_sum + float(noisy[high].sum())
        places = (noisy[~high] - self.first).astype(np.int64)
        self.counts += np.bincount(places, minlength=self.counts.size)

    def seen(self) -> tuple[Floats, NDArray[np.int64]]:
        """Return the values that occur, and how often; those too high for their own place by their mean.

        Their risk is the same, and the people that they count add up.
        """
        places = np.flatnonzero(self.counts)
        far, high = sorted(self.far), [self.high_sum / self.high] if self.high else []
        values = np.concatenate([far, places + float(self.first), high])
        often = [*(self.far[y] for y in far), *self.counts[places].tolist(), *([self.high] if high else [])]
        return values, np.array(often, dtype=np.int64)


class Averages:
    """The risk of rows of one noise, averaged over the counts that may be known, at every noisy value.

    >>> from discreet.disclosure.attack import read_prior
    >>> flat = Averages(5.0, read_prior("1/10"))
    >>> flat.at(np.array([-3.0, 1.0, 100.0])).ratio.round(3).tolist()
    [0.478, 0.86, 1.169]
    """

    def __init__(
        self, variance: float, prior: Prior, *, nonnegative: bool = False, rows: Histogram | None = None
    ) -> None:
        self.variance, self.prior = variance, prior
        self.first, self.ratio, self.doubled = _flat(variance, prior)
        self.zero = _flat_zero(variance, prior) if nonnegative else None
        if rows is not None:  # one place more than a law has: there, and above, the flat law holds
            more = max(0, int(rows.top - self.first) + 2 - self.ratio.size)
            self.ratio, self.doubled = (
                np.append(x, np.full(more, x[-1])) for x in (self.ratio, self.doubled)
            )
        values: Floats = np.arange(float(self.ratio.size)) + self.first
        self.targets = np.maximum(values, 1.0)
        if rows is None or not (inside := rows.suggests(values)).any():
            return
        law = suggested_law(rows, nonnegative=nonnegative)
        averages = law.averages(prior, nonnegative=nonnegative)
        inside &= values >= law.noisy[0]
        for mine, theirs in zip((self.ratio, self.doubled, self.targets), averages, strict=True):
            mine[inside] = np.interp(values[inside], law.noisy, theirs)
        if nonnegative and rows.suggests(np.zeros(1)).all():
            self.zero = (float(averages[0][0]), float(averages[1][0]), float(averages[2][0]))

    def at(self, noisy: Floats) -> RowRisk:
        """Return the risk of rows with these noisy values."""
        index = (np.clip(noisy, self.first, self.first + self.ratio.size - 1) - self.first).astype(np.int64)
        ratio, doubled = self.ratio[index], self.doubled[index]
        targets = np.where(index == self.ratio.size - 1, np.maximum(noisy, 1.0), self.targets[index])
        far = noisy < self.first
        if far.any():  # no honest table has such a row, but an answer that is off would be worse than slow
            values, back = np.unique(noisy[far], return_inverse=True)
            ratio[far] = np.array([self._far(float(y)) for y in values])[back]
            doubled[far] = 0.0  # the ratio is far below one there
        if self.zero is not None:
            ratio[noisy == 0], doubled[noisy == 0], targets[noisy == 0] = self.zero
        return RowRisk(self.prior.present * ratio, ratio, doubled, targets)

    def _far(self, noisy: float) -> float:
        """The mean ratio so far below zero that the weights are no floats any more: relative to the first."""
        steps = np.arange(math.ceil(40.0 * self.variance / (1.0 - noisy)) + 1.0)
        noise = noisy - 1.0 - steps
        weights = np.exp(-steps * (2.0 * (1.0 - noisy) + steps) / (2.0 * self.variance))
        return float(weights @ self.prior.ratio((noise + 0.5) / self.variance) / weights.sum())


def _flat(variance: float, prior: Prior) -> tuple[float, Floats, Floats]:
    """First value, mean ratios and chances under the flat law: running sums over the noise up to y - 1."""
    reach = math.ceil(_REACH * math.sqrt(variance))
    noise = np.arange(-reach, reach + 1.0)
    weights = np.exp(-noise * (noise / (2.0 * variance)))
    evidence = (noise + 0.5) / variance
    start = reach - math.floor(_USED * math.sqrt(variance))
    total, ratio, doubled = (
        np.cumsum(weights * values)[start:] for values in (1.0, prior.ratio(evidence), evidence > DOUBLED)
    )
    return float(noise[start]) + 1.0, ratio / total, doubled / total


def _flat_zero(variance: float, prior: Prior) -> tuple[float, float, float]:
    """The averages at a published zero: k is weighted by P[noise <= -k - 1]."""
    known = np.arange(math.ceil(_REACH * math.sqrt(variance)) + 2.0)
    tails = np.log(tail_ratio(known, variance)) - known * (known / (2.0 * variance))
    evidence = np.diff(tails)
    weights = np.exp(tails[1:] - tails[1]) / np.exp(tails[1:] - tails[1]).sum()
    return float(weights @ prior.ratio(evidence)), float(weights @ (evidence > DOUBLED)), 1.0


@dataclass(frozen=True, slots=True, eq=False)
class CountLaw:
    """A law of the true counts: `chances` of `counts`, and the log likelihood of each at `noisy` values."""

    variance: float
    counts: Floats
    chances: Floats
    noisy: Floats
    log_likelihood: Floats

    def averages(self, prior: Prior, *, nonnegative: bool) -> tuple[Floats, Floats, Floats]:
        """Return mean ratio, chance of doubled odds and expected number of people, at each of `noisy`."""
        some = self.counts > 0
        counts, known = self.counts[some], np.maximum(self.counts[some] - 1.0, 0.0)
        with np.errstate(divide="ignore"):
            logs = self.log_likelihood[:, some] + np.log(self.chances[some] * counts)
            posterior = self.log_likelihood + np.log(self.chances)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        evidence = (self.noisy[:, None] - known - 0.5) / self.variance
        if nonnegative:
            evidence[0] = zero_evidence(known, np.full(known.size, self.variance))
        ratio = prior.ratio(evidence)
        posterior = np.exp(posterior - posterior.max(axis=1, keepdims=True))
        people = posterior @ self.counts / posterior.sum(axis=1)
        doubled = (weights * (evidence > DOUBLED)).sum(axis=1)
        return (weights * ratio).sum(axis=1), doubled, people


def suggested_law(rows: Histogram, *, nonnegative: bool = False) -> CountLaw:
    """Return the law of the counts that a table suggests.

    >>> rows = Histogram(0.1)
    >>> rows.add(np.repeat([0.0, 1.0], [9000, 1000]))
    >>> law = suggested_law(rows)
    >>> law.chances[:3].round(2).tolist()
    [0.91, 0.09, 0.0]
    """
    variance, width = rows.variance, max(1, math.floor(math.sqrt(rows.variance) / 8.0))
    counts = np.arange(0.0, rows.last + 1.0, width) + (width - 1) / 2.0
    values, often = rows.seen()
    inside = (values >= rows.first) & (values <= rows.last)
    values, often = values[inside], often[inside]
    start = 1 if nonnegative else rows.first
    places = np.floor((values - start) / width).astype(np.int64)
    noisy = start + width * np.arange((rows.last - start) // width + 1.0) + (width - 1) / 2.0
    if nonnegative:
        seen = np.bincount(places[values > 0], weights=often[values > 0], minlength=noisy.size).astype(float)
        noisy, seen = np.append(0.0, noisy), np.append(float(often[values == 0].sum()), seen)
    else:
        seen = np.bincount(places, weights=often, minlength=noisy.size).astype(float)
    log_total = float(DiscreteGaussian(variance=Fraction(variance)).log_pmf([0])[0])
    logs = log_total + math.log(width) - (noisy[:, None] - counts) ** 2 / (2.0 * variance)
    if nonnegative:
        tails = np.log(tail_ratio(counts, variance)) - counts * (counts / (2.0 * variance))
        logs[0] = log_total + tails
    chances = _fit(logs[seen > 0], seen[seen > 0])
    return CountLaw(variance, counts, chances, noisy, logs)


def _fit(logs: Floats, seen: Floats) -> Floats:
    """Chances of the counts by expectation-maximization, until twenty rounds gain less than one nat."""
    chances = np.full(logs.shape[1], 1.0 / logs.shape[1])
    if not seen.size:
        return chances
    top = logs.max(axis=1, keepdims=True)
    likelihood = np.exp(logs - top)
    before = -math.inf
    for number in range(_MOST_ROUNDS):
        mixed = likelihood @ chances
        if number % _ROUNDS == 0:
            now = float(seen @ np.log(mixed))
            if now < before + _GAIN:
                break
            before = now
        chances = chances * (likelihood.T @ (seen / mixed)) / seen.sum()
    return np.asarray(chances / chances.sum())
