"""Several counts of the same person: what the adversary believes after all of them, and after each.

With independent noise likelihoods multiply, so evidence adds up, whatever is counted, as long as the
adversary knows each count without the target. That covers an adversary who knows the block group too, a
target who is unique at several levels (all known counts are 0), and several releases of the same count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np

from discreet.accounting.privacy_loss import compose
from discreet.disclosure.attack import Attack, Counted, given_truth
from discreet.disclosure.decisions import TIE, Costs, LossTable
from discreet.disclosure.inputs import (
    FloatOrArray,
    Numbers,
    as_asked,
    check_fit,
    read_prior,
    read_variance,
    read_whole,
)
from discreet.disclosure.odds import Floats, Prior
from discreet.errors import InputError
from discreet.loss.values import Number
from discreet.noise.gaussian import DiscreteGaussian


@dataclass(frozen=True, slots=True)
class Step:
    """One release of a sequence: what was believed before and after it."""

    noisy: int
    variance: float
    prior: float
    posterior: float
    ratio: float
    total_ratio: float


def joint_posterior(
    noisy: Numbers, *, prior: Numbers, known: Numbers, **count: Unpack[Counted]
) -> FloatOrArray:
    """Return the chance of "present" after several noisy counts; the last axis of `noisy` runs over them.

    `variance` (or `rho`) and `known` have one value for each count, or one for all.

    >>> round(joint_posterior([2, 1], variance=[5, 2], prior="1/2", known=[0, 0]), 4)   # block, block group
    0.6341
    """
    chance, _, evidence = _joint(noisy, prior, Attack(known=known, **count))
    return as_asked(chance.posterior(evidence.sum(axis=-1)))


def joint_ratio(noisy: Numbers, *, prior: Numbers, known: Numbers, **count: Unpack[Counted]) -> FloatOrArray:
    """Return the posterior after several noisy counts over the prior.

    >>> round(joint_ratio([2, 1], variance=[5, 2], prior="1/2", known=0), 4)
    1.2683
    """
    chance, _, evidence = _joint(noisy, prior, Attack(known=known, **count))
    return as_asked(chance.ratio(evidence.sum(axis=-1)))


def sequence(noisy: Numbers, *, prior: Number, known: Numbers, **count: Unpack[Counted]) -> tuple[Step, ...]:
    """Return what is believed after each of several releases: a posterior is the prior of the next.

    The ratios of the steps multiply to the ratio of all. Beliefs are carried as log odds, so that a posterior
    that is 1 as a float can still be shaken.

    >>> first, second = sequence([2, 1], variance=[5, 2], prior="1/2", known=0)
    >>> second.noisy, round(second.prior, 4), round(second.posterior, 4), round(second.ratio, 3)
    (1, 0.5744, 0.6341, 1.104)
    >>> abs(first.ratio * second.ratio - second.total_ratio) < 1e-15
    True
    """
    attack = Attack(known=known, **count)
    chance, values, evidence = _joint(noisy, prior, attack)
    if evidence.ndim != 1 or chance.present.ndim:
        raise InputError("a sequence is a list of noisy values and one prior")
    sums = np.concatenate([[0.0], np.cumsum(evidence)])
    beliefs, totals = chance.posterior(sums), chance.ratio(sums)
    # the ratio of two posteriors, by the prior in between so that 0/0 does not occur
    between = Prior(beliefs[:-1], Prior(chance.absent, chance.present).posterior(-sums[:-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = between.ratio(evidence)
    values, v = (np.broadcast_to(x, evidence.shape) for x in (values, attack.variance))
    columns = (v, beliefs[:-1], beliefs[1:], steps, totals[1:])
    return tuple(Step(int(value), *map(float, row)) for value, *row in zip(values, *columns, strict=True))


def joint_accuracy(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    loss: LossTable = None,
    given: str = "prior",
) -> FloatOrArray:
    """Return the chance that the decision from several counts is right, averaged over the prior.

    The counts are listed in `variance`. The sum of their evidence is the privacy loss of the counts released
    together, whose exact tails the accountant has. `given` as in `decision_accuracy`.

    >>> one = joint_accuracy(rho=["0.099"], prior="1/2")
    >>> two = joint_accuracy(rho=["0.099", "0.099"], prior="1/2")
    >>> round(one, 4), round(two, 4)
    (0.5888, 0.6225)
    """
    costs, chance, v = Costs.read(loss), read_prior(prior), np.atleast_1d(read_variance(variance, rho))
    if v.ndim != 1 or not v.size:
        raise InputError("variance must be a list, one for each count")
    if not math.isfinite(costs.threshold) or costs.is_reversed:
        raise InputError("loss must make a wrong decision cost more than a right one, whatever the truth")
    events = [
        DiscreteGaussian(variance=Fraction(float(part_variance)).limit_denominator(10**9))
        for part_variance in v
    ]
    threshold = np.asarray(costs.threshold - chance.log_odds)
    even = np.abs(threshold) < TIE
    alpha, beta = compose(events).errors(threshold=np.atleast_1d(np.where(even, 0.0, threshold)))
    present, absent = (1.0 - np.asarray(error).reshape(threshold.shape) for error in (beta, alpha))
    # Evidence is a fraction, so only an even threshold, 0, can be met exactly. The evidence is as likely to
    # be l with the target as -l without: a coin for ties makes both chances alike.
    both = (present + absent) / 2.0
    present, absent = (np.where(even, both, right) for right in (present, absent))
    return as_asked(given_truth(given, chance, present, absent))


def _joint(noisy: Numbers, prior: Numbers, attack: Attack) -> tuple[Prior, Floats, Floats]:
    chance, y = read_prior(prior), read_whole(noisy)
    check_fit(noisy=y, known=np.asarray(attack.known), variance=np.asarray(attack.variance))
    evidence = attack.evidence(y)
    if evidence.ndim == 0:
        raise InputError("noisy is one value; several counts are a list of noisy values")
    check_fit(counts=evidence[..., 0], prior=chance.present)
    return chance, y, evidence
