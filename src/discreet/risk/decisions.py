"""The decision of least expected loss, and how often it is right.

"Present" is decided where the posterior log odds exceed a threshold t, the log of what a false alarm costs
over what a miss costs (0 for 0-1 loss). That is where y - k > 1/2 + v (t - log odds of the prior): where y
reaches one whole number. As the noise grows, v times the prior's log odds passes one whole number after
another, so the accuracy given the truth is a jagged function of the noise unless the prior is even.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.noise import GaussianNoise
from discreet.risk.attack import mixed
from discreet.risk.expected import by_attack
from discreet.risk.losses import Loss, read_loss
from discreet.risk.model import (
    TOLERANCE,
    Floats,
    Number,
    Numbers,
    Prior,
    answer,
    check_fit,
    grouped,
    read_known,
    read_prior,
    read_tolerance,
    read_variance,
)
from discreet.risk.single import log_odds


def decide(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers,
    loss: Any = None,
    nonnegative: bool = False,
) -> Any:
    """Return True where "present" has the smaller expected loss; where both are equal, False.

    >>> decide([0, 1, 2], rho="0.099", prior="1/2", known=0).tolist()
    [False, True, True]
    """
    odds = log_odds(noisy, variance=variance, rho=rho, prior=prior, known=known, nonnegative=nonnegative)
    chosen = read_loss(loss).says_present(np.asarray(odds))
    return bool(chosen) if chosen.ndim == 0 else chosen


def decision_accuracy(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers = 0,
    loss: Any = None,
    given: str = "present",
    nonnegative: bool = False,
    tolerance: Number = TOLERANCE,
) -> Any:
    """Return the chance that the decision is right; arrays are broadcast.

    `given` is "present" (the paper's 3.6), "absent", or "prior", the average over the prior. `loss` is a
    table of two rows, truth absent and present, and two columns, decision absent and present; 0-1 if none
    is given. Tails are exact, nothing is left out (but `tolerance` if `nonnegative`).

    >>> decision_accuracy(rho="0.099", prior=["1/2", "1/5"]).round(4).tolist()
    [0.5888, 0.0018]
    >>> round(decision_accuracy(variance=10, prior="1/2"), 4)
    0.5631
    >>> round(decision_accuracy(rho="0.099", prior="1/864", given="prior") - 863 / 864, 12)
    0.0
    """
    _, chance, present, absent = _rights(variance, rho, prior, known, loss, nonnegative, tolerance)
    return answer(mixed(given, chance, present, absent))


def expected_loss(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers = 0,
    loss: Any = None,
    given: str = "prior",
    nonnegative: bool = False,
    tolerance: Number = TOLERANCE,
) -> Any:
    """Return what the decision costs on average, over the noise and by default over the prior.

    >>> round(expected_loss(variance=10, prior="1/2", loss=[[0, 1], [2, 0]]), 4)
    0.4989
    """
    rule, chance, present, absent = _rights(variance, rho, prior, known, loss, nonnegative, tolerance)
    if_present = rule.present[1] * present + rule.present[0] * (1.0 - present)
    if_absent = rule.absent[0] * absent + rule.absent[1] * (1.0 - absent)
    return answer(mixed(given, chance, if_present, if_absent))


def _rights(
    variance: Numbers,
    rho: Numbers,
    prior: Numbers,
    known: Numbers,
    loss: Any,
    nonnegative: bool,
    tolerance: Number,
) -> tuple[Loss, Prior, Floats, Floats]:
    """The chances of a right decision given each truth."""
    rule, chance, bound = read_loss(loss), read_prior(prior), read_tolerance(tolerance)
    v, k = read_variance(variance, rho), read_known(known)
    check_fit(variance=v, known=k, prior=chance.present)
    if nonnegative:
        present, absent = by_attack(
            v, k, chance, True, 2, lambda attack, part: attack.right_chances(part, rule, bound)
        )
        return rule, chance, present, absent
    shape = np.broadcast_shapes(v.shape, k.shape, chance.present.shape)
    v, odds = (np.broadcast_to(array, shape).reshape(-1) for array in (v, chance.log_odds))
    present, absent = np.empty(v.size), np.empty(v.size)
    for one, rows in grouped(v):
        present[rows], absent[rows] = _tails(one, odds[rows], rule)
    return rule, chance, present.reshape(shape), absent.reshape(shape)


def _tails(variance: float, odds: Floats, rule: Loss) -> tuple[Floats, Floats]:
    if np.isinf(rule.threshold):
        certain = np.full(odds.shape, float(rule.threshold < 0))
        return certain, 1.0 - certain
    noise = GaussianNoise(Fraction(variance))
    edge = 0.5 + variance * (rule.threshold - odds)  # "present" beyond it, or below it if reversed
    if rule.is_reversed:
        last = np.ceil(edge).astype(np.int64) - 1
        return noise.cdf(last - 1), noise.sf(last)
    last = np.floor(edge).astype(np.int64)  # the last y - k at which the decision is "absent"
    return noise.sf(last - 1), noise.cdf(last)
