"""The posterior and the ratio on average over the noise, given the truth: exact sums.

Both depend on the noise and the prior alone: a count that is known to be larger by one shifts the noisy
value by one, and the evidence stays what it was. Only if negative values are published as zero does the
known count matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.risk.attack import Attack
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
)


def expected_posterior(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers = 0,
    given: Truth = "present",
    nonnegative: bool = False,
    tolerance: Number = TOLERANCE,
) -> Any:
    """Return the mean of the posterior over the noise, given the truth; arrays are broadcast.

    The terms left out add up to less than `tolerance` times the prior.

    >>> round(expected_posterior(rho="0.099", prior="1/2"), 4)
    0.5236
    >>> round(expected_posterior(rho="0.099", prior="1/2", given="absent"), 4)
    0.4764
    """
    chance, means = _mean_ratios(variance, rho, prior, known, given, nonnegative, tolerance)
    return answer(np.asarray(chance.present * means))


def expected_ratio(
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers = 0,
    given: Truth = "present",
    nonnegative: bool = False,
    tolerance: Number = TOLERANCE,
) -> Any:
    """Return R, the mean of the ratio over the noise, given the truth; arrays are broadcast.

    The terms left out add up to less than `tolerance`.

    >>> expected_ratio(rho="0.099", prior=["1/2", "1/5", "1/10", "1/50", "1/864"]).round(2).tolist()
    [1.05, 1.13, 1.17, 1.21, 1.22]
    """
    return answer(_mean_ratios(variance, rho, prior, known, given, nonnegative, tolerance)[1])


def by_attack(
    variance: Floats,
    known: Floats,
    prior: Prior,
    nonnegative: bool,
    outputs: int,
    compute: Callable[[Attack, Prior], tuple[Floats, ...]],
) -> list[Floats]:
    """Return the arrays of `compute`, broadcast, by one call for each distinct attack."""
    check_fit(variance=variance, known=known, prior=prior.present)
    if not nonnegative:
        known = np.zeros_like(known)  # it shifts everything alike
    v, k, p, q = np.broadcast_arrays(variance, known, prior.present, prior.absent)
    shape = v.shape
    v, k, p, q = (array.reshape(-1) for array in (v, k, p, q))
    if not v.size:
        return [np.empty(shape)] * outputs
    results: dict[int, Floats] = {}
    pairs, place = np.unique(np.stack([v, k]), axis=1, return_inverse=True)
    order = np.argsort(place.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(place.reshape(-1), minlength=pairs.shape[1]))
    for (one, count), rows in zip(pairs.T, np.split(order, ends[:-1]), strict=True):
        attack = Attack(variance=float(one), known=int(count), nonnegative=nonnegative)
        for i, values in enumerate(compute(attack, Prior(p[rows], q[rows]))):
            results.setdefault(i, np.empty(v.size))[rows] = values
    return [values.reshape(shape) for values in results.values()]


def _mean_ratios(
    variance: Numbers,
    rho: Numbers,
    prior: Numbers,
    known: Numbers,
    given: str,
    nonnegative: bool,
    tolerance: Number,
) -> tuple[Prior, Floats]:
    chance, v, k = read_prior(prior), read_variance(variance, rho), read_known(known)
    bound = read_tolerance(tolerance)
    (means,) = by_attack(
        v, k, chance, nonnegative, 1, lambda attack, part: (attack.mean_ratios(part, given, bound),)
    )
    return chance, means
