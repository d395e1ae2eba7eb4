"""The law of the evidence: what counts may say about "present" against "absent", and how likely each is.

The evidence of a noisy count is the log of the ratio of its likelihoods. Counts with independent noise have
evidence that adds up, so the law of the sum is the convolution of theirs. Each law is a list: the values, and
their chances given "absent" and given "present", which differ by exp(value).

*Exact or on a grid.* The list for two counts has all pairs of values; it is exact as long as it has at most
`MOST_VALUES` of them. Longer ones are put on a grid, each value at the nearest point, and convolved there by
a Fourier transform. `blur` says how far a value may then be from its place, in nats. The sums that are made
of these lists are means of positive functions whose logarithm rises by at most one nat a nat, so their
relative error is at most exp(blur) - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from discreet.disclosure.attack import Attack
from discreet.disclosure.odds import Floats, Prior
from discreet.noise import Noise
from discreet.noise.capabilities import require

MOST_VALUES = 1 << 20
"""Values of the evidence that are told apart."""

GRID = 1 << 20
"""Points of the grid beyond."""

SAME = 1e-11
"""Evidence closer than this to a mark is at the mark, but for rounding."""

_NATS = 46.0  # chances below exp(-46) = 1e-20 are left out


_MANY_PRIORS = 2000  # beyond, means are interpolated between log odds
_BINS = 1 << 13


@dataclass(frozen=True, slots=True, eq=False)
class PresentLaw:
    """Values of the evidence, rising, and their chances if the target is present."""

    values: Floats
    present: Floats

    def expected_posterior(self, prior: Prior) -> Floats:
        """Return the mean of the posterior if the target is present, for each of a 1-d array of priors.

        Of more than some thousand values, those within 1/8,192 of their range are taken together by their
        mean, and between more than 2,000 priors it is interpolated: relative errors below 1e-5. A prior of 1
        has a posterior of 1.

        >>> from discreet.noise import DiscreteGaussian
        >>> from discreet.disclosure.inputs import read_prior
        >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance="5.04"))
        >>> law.expected_posterior(read_prior(["1/2", "1/864"])).round(4).tolist()
        [0.5237, 0.0014]
        """
        sure = prior.absent <= 0.0
        if sure.any():
            posteriors = np.ones(prior.present.size)
            unsure = Prior(prior.present[~sure], prior.absent[~sure])
            posteriors[~sure] = self.expected_posterior(unsure)
            return posteriors
        if prior.present.size > _MANY_PRIORS:
            odds = prior.log_odds
            nodes = np.linspace(odds.min(), odds.max(), _MANY_PRIORS)
            rare = np.exp(-np.abs(nodes))
            large, small = 1.0 / (1.0 + rare), rare / (1.0 + rare)
            ends = Prior(np.where(nodes > 0, large, small), np.where(nodes > 0, small, large))
            return np.exp(np.interp(odds, nodes, np.log(self.expected_posterior(ends))))
        law = self._binned(_BINS) if self.values.size > 4 * _BINS else self
        step = max(1, (1 << 22) // max(law.values.size, 1))
        parts = [slice(start, start + step) for start in range(0, prior.present.size, step)]
        means = [
            Prior(prior.present[part, None], prior.absent[part, None]).posterior(law.values) @ law.present
            for part in parts
        ]
        return np.concatenate(means or [np.empty(0)])

    def chance_beyond(self, evidence: Floats) -> Floats:
        """Return the chance that the evidence exceeds each of some values, if the target is present.

        >>> from discreet.noise import DiscreteGaussian
        >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance=5))
        >>> law.chance_beyond(np.array([0.0, np.inf])).round(4).tolist()
        [0.5892, 0.0]
        """
        upper = np.append(np.cumsum(self.present[::-1])[::-1], 0.0)
        return np.asarray(upper[np.searchsorted(self.values, evidence + SAME, side="right")])

    def _binned(self, bins: int) -> PresentLaw:
        """Split each value between the two nearest of evenly spaced ones, so that its mean stays."""
        low, high = float(self.values.min()), float(self.values.max())
        step = (high - low) / bins or 1.0
        at = (self.values - low) / step
        left = np.minimum(at.astype(np.int64), bins - 1)
        share = at - left
        parts = ((left, 1.0 - share), (left + 1, share))
        chances = sum(np.bincount(to, self.present * part, bins + 1) for to, part in parts)
        places: Floats = np.asarray(low + step * np.arange(bins + 1), dtype=np.float64)
        return PresentLaw(places, np.asarray(chances, dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class AddedLaw(PresentLaw):
    """The law of the sum of evidence and independent evidence of another law, never listed in full.

    >>> from discreet.noise import DiscreteGaussian
    >>> from discreet.disclosure.inputs import read_prior
    >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance=5))
    >>> both, listed = AddedLaw(law.values, law.present, law), law.plus(law)
    >>> float(abs(both.chance_beyond(np.array([0.3])) - listed.chance_beyond(np.array([0.3])))[0]) < 1e-15
    True
    """

    own: PresentLaw

    def expected_posterior(self, prior: Prior) -> Floats:
        """Return the mean of the posterior, from the values of one law in 1,024 places."""
        law = PresentLaw(self.values, self.present)
        law = law._binned(_BINS // 8) if self.values.size > _BINS // 4 else law
        own = self.own._binned(_BINS // 32) if self.own.values.size > _BINS // 8 else self.own
        values = np.add.outer(law.values, own.values).ravel()
        chances = np.multiply.outer(law.present, own.present).ravel()
        return PresentLaw(values, chances).expected_posterior(prior)  # a mean needs no order

    def chance_beyond(self, evidence: Floats) -> Floats:
        """Return the chance that the sum exceeds each of some values."""
        upper = np.append(np.cumsum(self.present[::-1])[::-1], 0.0)
        chances = np.zeros(evidence.shape)
        for value, chance in zip(self.own.values, self.own.present, strict=True):
            chances += chance * upper[np.searchsorted(self.values, evidence - value + SAME, side="right")]
        return chances


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceLaw(PresentLaw):
    """Values of the evidence, rising, and their chances given each truth; each is off by at most `blur`.

    >>> from discreet.noise import DiscreteGaussian
    >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance=5))
    >>> round(float(law.present[law.values > 0].sum()), 4)   # right if the target is present, prior 1/2
    0.5892
    """

    absent: Floats
    blur: float = 0.0

    @classmethod
    def of_noise(cls, noise: Noise) -> EvidenceLaw:
        """Return the law of one count that is known without the target."""
        require("evidence", [noise])
        single = noise.single()
        reach = math.ceil(single.reach(_NATS))
        off = np.arange(-reach, reach + 2)
        absent, present = single.log_pmf(off), single.log_pmf(off - 1)
        values = evidence_of(single, off.astype(np.float64))
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.exp(present)[order], np.exp(absent)[order])

    @classmethod
    def of_attack(cls, attack: Attack) -> EvidenceLaw:
        """Return the law of one count of which the adversary may be unsure, or that may be cut at zero.

        >>> law = EvidenceLaw.of_attack(Attack(variance=5))
        >>> round(float(law.present[law.values > 0].sum()), 4)
        0.5892
        """
        seen = attack.outcomes(tolerance=math.exp(-_NATS))
        order = np.argsort(seen.log_ratio, kind="stable")
        absent, present = np.exp(seen.log_absent), np.exp(seen.log_present)
        return cls(seen.log_ratio[order], present[order], absent[order])

    def plus(self, other: EvidenceLaw) -> EvidenceLaw:
        """Return the law of the evidence of both together.

        >>> from discreet.noise import DiscreteGaussian
        >>> law = EvidenceLaw.of_noise(DiscreteGaussian(variance=5))
        >>> both = law.plus(law)
        >>> even = both.present[abs(both.values) < 1e-12].sum()
        >>> round(float(both.present[both.values > 1e-12].sum() + even / 2), 4)   # as `joint_accuracy` has it
        0.6231
        """
        if self.values.size * other.values.size > MOST_VALUES:
            return self._on_grid(other)
        values = np.add.outer(self.values, other.values).ravel()
        absent = np.multiply.outer(self.absent, other.absent).ravel()
        present = np.multiply.outer(self.present, other.present).ravel()
        kept = np.flatnonzero(np.maximum(absent, present) > math.exp(-_NATS) / values.size)
        order = kept[np.argsort(values[kept], kind="stable")]
        return EvidenceLaw(values[order], present[order], absent[order], self.blur + other.blur)

    def _on_grid(self, other: EvidenceLaw) -> EvidenceLaw:
        ends = [(law.values[0], law.values[-1]) for law in (self, other)]
        step = sum(high - low for low, high in ends) / GRID
        places = [
            np.rint((law.values - low) / step).astype(np.int64)
            for law, (low, _) in zip((self, other), ends, strict=True)
        ]
        size = int(places[0][-1] + places[1][-1]) + 1
        length = 1 << (size - 1).bit_length()

        def convolved(mine: Floats, theirs: Floats) -> Floats:
            parts = (np.bincount(at, chances) for at, chances in zip(places, (mine, theirs), strict=True))
            turned = [np.fft.rfft(part, length) for part in parts]
            return np.maximum(np.fft.irfft(turned[0] * turned[1], length)[:size], 0.0)

        absent, present = convolved(self.absent, other.absent), convolved(self.present, other.present)
        values = ends[0][0] + ends[1][0] + step * np.arange(size)
        kept = np.flatnonzero((absent > 1e-18) | (present > 1e-18))  # beyond is what rounding leaves
        blur = self.blur + other.blur + step
        return EvidenceLaw(values[kept], present[kept], absent[kept], blur)


def evidence_of(noise: Noise, off: Floats) -> Floats:
    """Return the evidence of noisy counts that lie `off` the count known without the target.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> evidence_of(DiscreteGaussian(variance=5), np.array([0.0, 3.0])).tolist()
    [-0.1, 0.5]
    >>> evidence_of(DiscreteLaplace(scale=2), np.array([0.0, 3.0])).tolist()
    [-0.5, 0.5]
    """
    require("evidence", [noise])
    return noise.evidence(off)


def evidence_law(noises: Sequence[Noise]) -> EvidenceLaw:
    """Return the law of the evidence of several counts, each known without the target.

    >>> from discreet.noise import DiscreteGaussian
    >>> evidence_law([DiscreteGaussian(variance=v) for v in (10, 4)]).blur
    0.0
    """
    # from the narrowest up, so that the list stays exact as long as it can
    laws = sorted((EvidenceLaw.of_noise(noise) for noise in noises), key=lambda law: law.values.size)
    return reduce(EvidenceLaw.plus, laws)
