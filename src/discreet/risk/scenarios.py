"""Several counts of the same person: releases in sequence, levels at which the target is unique.

Independent noise makes likelihoods multiply, so the evidence of several counts adds up, whatever they
count, as long as the adversary knows each of them without the target. That covers an adversary who knows
the block group too (its count without the target is then known as well), a target who is unique at several
levels (all known counts are 0), and several releases of the same count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.risk.attack import mixed
from discreet.risk.losses import read_loss
from discreet.risk.model import (
    Floats,
    Number,
    Numbers,
    Prior,
    answer,
    check_fit,
    read_known,
    read_prior,
    read_variance,
    read_whole,
)
from discreet.risk.single import log_likelihood_ratio, multiplier, updated


@dataclass(frozen=True, slots=True)
class Step:
    """One release of a sequence: what was believed before and after it."""

    noisy: int
    variance: float
    prior: float
    posterior: float
    ratio: float
    total_ratio: float

    def __str__(self) -> str:
        return f"{self.noisy}: from {self.prior:.4g} to {self.posterior:.4g}, {self.ratio:.4g} times"


def joint_posterior(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers,
    nonnegative: bool = False,
) -> Any:
    """Return the chance of "present" after several noisy counts; the last axis of `noisy` runs over them.

    `variance` (or `rho`) and `known` have one value for each count, or one for all.

    >>> round(joint_posterior([2, 1], variance=[5, 2], prior="1/2", known=[0, 0]), 4)   # block, block group
    0.6341
    """
    chance, evidence = _joint(noisy, variance, rho, prior, known, nonnegative)
    return answer(updated(chance, evidence.sum(axis=-1)))


def joint_ratio(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers,
    nonnegative: bool = False,
) -> Any:
    """Return the posterior after several noisy counts over the prior.

    >>> round(joint_ratio([2, 1], variance=[5, 2], prior="1/2", known=0), 4)
    1.2683
    """
    chance, evidence = _joint(noisy, variance, rho, prior, known, nonnegative)
    return answer(multiplier(chance, evidence.sum(axis=-1)))


def sequence(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Number,
    known: Numbers,
    nonnegative: bool = False,
) -> tuple[Step, ...]:
    """Return what is believed after each of several releases: a posterior is the prior of the next.

    The ratios of the steps multiply to the ratio of all. Beliefs are carried as log odds, so that a posterior
    that is 1 as a float can still be shaken.

    >>> first, second = sequence([2, 1], variance=[5, 2], prior="1/2", known=0)
    >>> print(second)
    1: from 0.5744 to 0.6341, 1.104 times
    >>> abs(first.ratio * second.ratio - second.total_ratio) < 1e-15
    True
    """
    chance, evidence = _joint(noisy, variance, rho, prior, known, nonnegative)
    if evidence.ndim != 1 or chance.present.ndim:
        raise InputError("a sequence is a list of noisy values and one prior")
    values = np.broadcast_to(read_whole(noisy), evidence.shape)
    v = np.broadcast_to(read_variance(variance, rho), evidence.shape)
    sums = np.concatenate([[0.0], np.cumsum(evidence)])
    beliefs, totals = updated(chance, sums), multiplier(chance, sums)
    # the ratio of two posteriors, by the prior in between so that 0/0 does not occur
    present, absent = updated(chance, sums[:-1]), updated(Prior(chance.absent, chance.present), -sums[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = multiplier(Prior(present, absent), evidence)
    return tuple(
        Step(
            int(values[i]),
            float(v[i]),
            float(beliefs[i]),
            float(beliefs[i + 1]),
            float(steps[i]),
            float(totals[i + 1]),
        )
        for i in range(evidence.size)
    )


def joint_accuracy(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    loss: Any = None,
    given: str = "present",
) -> Any:
    """Return the chance that the decision from several counts is right; the counts are listed in `variance`.

    The sum of the evidence is the privacy loss of the counts released together, whose exact tails the
    accountant has. `given` as in `decision_accuracy`.

    >>> one = joint_accuracy(rho=["0.099"], prior="1/2")
    >>> two = joint_accuracy(rho=["0.099", "0.2465"], prior="1/2")
    >>> round(one, 4), round(two, 4)
    (0.5888, 0.6613)
    """
    from discreet.accounting.privacy_loss import compose
    from discreet.budget.events import DiscreteGaussian

    rule, chance, v = read_loss(loss), read_prior(prior), np.atleast_1d(read_variance(variance, rho))
    if v.ndim != 1 or not v.size:
        raise InputError("variance must be a list, one for each count")
    if np.isinf(rule.threshold) or rule.is_reversed:
        raise InputError("loss must make a wrong decision dearer than a right one, whatever the truth")
    events = [DiscreteGaussian(variance=Fraction(float(one)).limit_denominator(10**9)) for one in v]
    threshold = np.asarray(rule.threshold - chance.log_odds)
    alpha, beta = compose(events).errors(threshold=np.atleast_1d(threshold))
    present, absent = (1.0 - np.asarray(error).reshape(threshold.shape) for error in (beta, alpha))
    return answer(mixed(given, chance, present, absent))


def _joint(
    noisy: Numbers, variance: Numbers, rho: Numbers, prior: Numbers, known: Numbers, nonnegative: bool
) -> tuple[Prior, Floats]:
    chance, y, k, v = read_prior(prior), read_whole(noisy), read_known(known), read_variance(variance, rho)
    check_fit(noisy=y, known=k, variance=v)
    evidence = np.asarray(log_likelihood_ratio(y, k, v, nonnegative=nonnegative))
    if evidence.ndim == 0:
        raise InputError("noisy is one value; several counts are a list of noisy values")
    check_fit(counts=evidence[..., 0], prior=chance.present)
    return chance, evidence
