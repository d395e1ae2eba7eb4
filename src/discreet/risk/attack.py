"""An attack on one published count, as two laws: of what is published if the target is present, if absent.

Everything else follows from the two: what the adversary believes after each outcome, the average of that
over the outcomes, and how often the better decision is right. Other people may be uncertain (`others`),
and negative values may have been published as zero (`nonnegative`).

Sums run over all outcomes but a tail. Discrete Gaussian noise is no wider than the normal law
(Canonne, Kamath and Steinke 2020), P[|noise| > M] <= 2 exp(-M^2 / (2 v)); M is chosen so that this bound is
below the tolerance times the smallest prior, hence below the tolerance for a ratio too, which is at most
one over the prior.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.noise import GaussianNoise, gaussian_tail
from discreet.risk.losses import Loss, read_loss
from discreet.risk.model import (
    TOLERANCE,
    Floats,
    Number,
    Numbers,
    Prior,
    Truth,
    answer,
    check_fit,
    read_known,
    read_prior,
    read_tolerance,
    read_variance,
    read_whole,
)
from discreet.risk.others import read_others
from discreet.risk.single import multiplier, updated

_BLOCK = 1 << 21  # numbers that are held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What may be published, the logs of both laws there, and their difference."""

    noisy: Floats
    log_present: Floats
    log_absent: Floats
    log_ratio: Floats


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Attack:
    """The attack on one count by someone who knows `known` others, and gives chances to further ones.

    >>> from discreet.risk import independent_others
    >>> sure = Attack(variance=5, known=3)
    >>> unsure = Attack(variance=5, known=3, others=independent_others("1/2", people=10))
    >>> round(sure.accuracy(prior="1/2"), 4), round(unsure.accuracy(prior="1/2"), 4)
    (0.5892, 0.5726)
    >>> clipped = Attack(variance=5, known=0, nonnegative=True)
    >>> round(clipped.expected_posterior(prior="1/2"), 4), round(sure.expected_posterior(prior="1/2"), 4)
    (0.5199, 0.5238)
    """

    variance: float
    known: float
    others: Floats
    nonnegative: bool

    def __init__(
        self,
        *,
        variance: Number | None = None,
        rho: Number | None = None,
        known: Number = 0,
        others: Numbers = (1.0,),
        nonnegative: bool = False,
    ) -> None:
        v, k = read_variance(variance, rho), read_known(known)
        if v.ndim or k.ndim:
            raise InputError("an attack has one variance and one known count; make several for several")
        object.__setattr__(self, "variance", float(v))
        object.__setattr__(self, "known", float(k))
        object.__setattr__(self, "others", read_others(others))
        object.__setattr__(self, "nonnegative", bool(nonnegative))

    def log_ratio(self, noisy: Numbers) -> Any:
        """Return log P[noisy | present] - log P[noisy | absent].

        >>> Attack(variance=5).log_ratio([0, 1]).tolist()
        [-0.1, 0.1]
        """
        return answer(self._log_ratio(read_whole(noisy)))

    def posterior(self, noisy: Numbers, *, prior: Numbers) -> Any:
        """Return the chance of "present" after this noisy value.

        >>> round(Attack(rho="0.099").posterior(1, prior="1/2"), 3)
        0.525
        """
        chance, evidence = read_prior(prior), self._log_ratio(read_whole(noisy))
        check_fit(noisy=evidence, prior=chance.present)
        return answer(updated(chance, evidence))

    def ratio(self, noisy: Numbers, *, prior: Numbers) -> Any:
        """Return the posterior over the prior.

        >>> round(Attack(rho="0.099").ratio(1, prior="1/2"), 3)
        1.049
        """
        chance, evidence = read_prior(prior), self._log_ratio(read_whole(noisy))
        check_fit(noisy=evidence, prior=chance.present)
        return answer(multiplier(chance, evidence))

    def expected_ratio(
        self, *, prior: Numbers, given: Truth = "present", tolerance: Number = TOLERANCE
    ) -> Any:
        """Return the mean of the ratio over what may be published, given the truth.

        >>> round(Attack(rho="0.099").expected_ratio(prior="1/2"), 2)
        1.05
        """
        chance = read_prior(prior)
        return answer(self.mean_ratios(chance, given, read_tolerance(tolerance)))

    def expected_posterior(
        self, *, prior: Numbers, given: Truth = "present", tolerance: Number = TOLERANCE
    ) -> Any:
        """Return the mean of the posterior over what may be published, given the truth.

        >>> round(Attack(rho="0.099").expected_posterior(prior="1/2"), 4)
        0.5236
        """
        chance = read_prior(prior)
        return answer(chance.present * self.mean_ratios(chance, given, read_tolerance(tolerance)))

    def accuracy(
        self, *, prior: Numbers, loss: Any = None, given: str = "present", tolerance: Number = TOLERANCE
    ) -> Any:
        """Return the chance that the decision of least expected loss is right.

        `given` is "present" (the paper's 3.6), "absent", or "prior" for the average over the prior.

        >>> attack = Attack(rho="0.099")
        >>> [round(attack.accuracy(prior="1/2", given=truth), 4) for truth in ("present", "absent", "prior")]
        [0.5888, 0.5888, 0.5888]
        """
        rule, chance = read_loss(loss), read_prior(prior)
        present, absent = self.right_chances(chance, rule, read_tolerance(tolerance))
        return answer(mixed(given, chance, present, absent))

    def outcomes(self, *, tolerance: float = TOLERANCE, smallest: float = 1.0) -> Outcomes:
        """Return what may be published, all but a tail of at most `tolerance` times `smallest` a truth."""
        nats = math.log(2.0) - math.log(tolerance) - math.log(smallest)
        reach = math.ceil(math.sqrt(2.0 * self.variance * nats))
        low, high = self.known - reach, self.known + self.others.size + reach
        if self.nonnegative:
            low = max(low, 0.0)
        noisy = np.arange(low, high + 1.0)
        noise = GaussianNoise(Fraction(self.variance))
        logs = [self._mixture(noise, noisy - self.known - here) for here in (1.0, 0.0)]
        if self.nonnegative and low == 0.0:
            for here, log in zip((1.0, 0.0), logs, strict=True):
                lowest = -self.known - here - np.arange(self.others.size)
                log[0] = _log_sum(noise.log_cdf(lowest.astype(np.int64)), self.others)
        return Outcomes(noisy, logs[0], logs[1], self._log_ratio(noisy))

    def _mixture(self, noise: GaussianNoise, differences: Floats) -> Floats:
        """log of the sum over b of P[b others] P[noise = difference - b], by plain sums around the peak."""
        if self.others.size == 1:
            return np.asarray(noise.log_pmf(differences.astype(np.int64)))
        blocks = [
            _log_sum(
                noise.log_pmf((part[:, None] - np.arange(self.others.size)).astype(np.int64)), self.others
            )
            for part in np.array_split(differences, 1 + differences.size * self.others.size // _BLOCK)
        ]
        return np.concatenate(blocks)

    def _log_ratio(self, noisy: Floats) -> Floats:
        distance, v, m = noisy - self.known, self.variance, self.others.size
        if m == 1:
            evidence = np.asarray((distance - 0.5) / v)
        else:
            flat = distance.reshape(-1)
            parts = np.array_split(flat, 1 + flat.size * m // _BLOCK)
            evidence = np.concatenate([self._mixed_ratio(part) for part in parts]).reshape(distance.shape)
        if self.nonnegative:
            if (noisy < 0).any():
                raise InputError(
                    f"noisy is {noisy.min():g}, but negative values are said to be published as zero"
                )
            evidence = np.where(noisy == 0, self._zero_ratio(), evidence)
        return evidence

    def _mixed_ratio(self, distance: Floats) -> Floats:
        # -(d - b)^2 / (2v) without its d^2 / (2v), which cancels and would swamp the rest
        b = np.arange(self.others.size, dtype=np.float64)
        d = distance[:, None]
        present = (b + 1.0) * (d - (b + 1.0) / 2.0) / self.variance
        absent = b * (d - b / 2.0) / self.variance
        return _log_sum(present, self.others) - _log_sum(absent, self.others)

    def _zero_ratio(self) -> float:
        """The evidence of a published zero: both tails, over exp(-known^2 / (2v)) which cancels."""
        b = np.arange(self.others.size + 1, dtype=np.float64)
        tails = np.log(gaussian_tail.ratio(self.known + b, self.variance))
        tails -= b * (self.known + b / 2.0) / self.variance
        return float(_log_sum(tails[1:], self.others) - _log_sum(tails[:-1], self.others))

    def mean_ratios(self, prior: Prior, given: str, tolerance: float) -> Floats:
        """Return the mean ratio for each prior."""
        if given not in ("present", "absent"):
            raise InputError(f"given is {given!r}; it must be 'present' or 'absent'")
        seen = self.outcomes(tolerance=tolerance, smallest=float(prior.present.min(initial=1.0)))
        weights = np.exp(seen.log_present if given == "present" else seen.log_absent)
        means = [multiplier(part, seen.log_ratio) @ weights for part in _split(prior, weights.size)]
        return np.concatenate(means).reshape(prior.present.shape)

    def right_chances(self, prior: Prior, rule: Loss, tolerance: float) -> tuple[Floats, Floats]:
        """Return the chance of a right decision, given "present" and given "absent", for each prior."""
        seen = self.outcomes(tolerance=tolerance)
        present, absent = np.exp(seen.log_present), np.exp(seen.log_absent)
        right: list[Floats] = []
        for part in _split(prior, present.size):
            chosen = rule.says_present(part.log_odds + seen.log_ratio)
            right.append(
                np.stack([np.where(chosen, present, 0.0).sum(1), np.where(chosen, 0.0, absent).sum(1)])
            )
        both = np.concatenate(right, axis=1).reshape(2, *prior.present.shape)
        return both[0], both[1]


def mixed(given: str, prior: Prior, present: Floats, absent: Floats) -> Floats:
    """Return what holds given the truth asked for, or its average over the prior."""
    if given == "present":
        return np.asarray(present)
    if given == "absent":
        return np.asarray(absent)
    if given == "prior":
        return np.asarray(prior.present * present + prior.absent * absent)
    raise InputError(f"given is {given!r}; it must be 'present', 'absent' or 'prior'")


def _split(prior: Prior, size: int) -> Iterator[Prior]:
    """The priors as columns, in parts that fit in memory against so many outcomes."""
    present, absent = prior.present.reshape(-1, 1), prior.absent.reshape(-1, 1)
    step = max(1, _BLOCK // max(size, 1))
    for start in range(0, present.shape[0], step):
        yield Prior(present[start : start + step], absent[start : start + step])


def _log_sum(logs: Floats, weights: Floats) -> Floats:
    """log of the weighted sum of exponentials along the last axis."""
    used = weights > 0
    logs = logs[..., used] + np.log(weights[used])
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1)))
