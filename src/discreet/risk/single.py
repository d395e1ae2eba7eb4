"""One noisy count: what the adversary believes after seeing it.

With v the variance of the noise, y the noisy value and k the count known without the target, Bayes' rule
adds the log of the ratio of likelihoods to the prior log odds,

    log P[y | present] / P[y | absent] = ((y - k)^2 - (y - k - 1)^2) / (2 v) = (y - k - 1/2) / v,

in which the squares, and the constants of the noise, have cancelled: nothing overflows, and nothing is lost
however far out y lies. If negative values were published as zero, a zero has the ratio of two tails
P[noise <= -k - 1] / P[noise <= -k] instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.noise import gaussian_tail
from discreet.risk.model import (
    Floats,
    Numbers,
    Prior,
    answer,
    check_fit,
    read_known,
    read_prior,
    read_variance,
    read_whole,
)


def posterior(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers,
    nonnegative: bool = False,
) -> Any:
    """Return the chance of "present" after the noisy value: a float, or an array by NumPy's broadcasting.

    The noise has this `variance`, or 1/(2 `rho`). `nonnegative` says that negative values were published as
    zero. Relative error: a few 1e-16 times the size of the log odds' two terms.

    >>> round(posterior(1, rho="0.099", prior="1/2", known=0), 3)
    0.525
    >>> posterior([-(10**9), 10**9], variance="1/2000", prior=[0.25, 0.75], known=4).tolist()
    [0.0, 1.0]
    >>> posterior(3, variance=5, prior="1e-12", known=2) == posterior(103, variance=5, prior=1e-12, known=102)
    True
    """
    chance, evidence = _read_all(noisy, variance, rho, prior, known, nonnegative)
    return answer(updated(chance, evidence))


def ratio(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers,
    nonnegative: bool = False,
) -> Any:
    """Return the posterior over the prior, R'(y): how many times likelier the release has made "present".

    >>> ratio(1, rho="0.099", prior=["1/2", "1/864"], known=0).round(4).tolist()
    [1.0495, 1.1039]
    """
    chance, evidence = _read_all(noisy, variance, rho, prior, known, nonnegative)
    return answer(multiplier(chance, evidence))


def log_odds(
    noisy: Numbers,
    *,
    variance: Numbers = None,
    rho: Numbers = None,
    prior: Numbers,
    known: Numbers,
    nonnegative: bool = False,
) -> Any:
    """Return log(posterior / (1 - posterior)), which still tells values apart where the posterior is 1.

    >>> log_odds(10**9, variance=1, prior="1/2", known=0)
    999999999.5
    """
    chance, evidence = _read_all(noisy, variance, rho, prior, known, nonnegative)
    return answer(np.asarray(chance.log_odds + evidence))


def log_likelihood_ratio(
    noisy: Floats, known: Floats, variance: Floats, *, nonnegative: bool = False
) -> Floats:
    """Return log P[noisy | present] - log P[noisy | absent].

    >>> log_likelihood_ratio(np.array([0.0, 1.0]), np.array(0.0), np.array(5.0)).tolist()
    [-0.1, 0.1]
    """
    plain = (noisy - known - 0.5) / variance
    if not nonnegative:
        return plain
    if (noisy < 0).any():
        raise InputError(f"noisy is {noisy.min():g}, but negative values are said to be published as zero")
    y, k, v = np.broadcast_arrays(noisy, known, variance)
    censored = y == 0
    if not censored.any():
        return plain
    result = np.array(np.broadcast_to(plain, y.shape))
    result[censored] = censored_ratio(k[censored], v[censored])
    return result


def censored_ratio(known: Floats, variance: Floats) -> Floats:
    """Return log P[noise <= -known - 1] - log P[noise <= -known], one for each pair of a 1-d array.

    >>> censored_ratio(np.array([0.0]), np.array([5.0])).round(6).tolist()   # log(0.411 / 0.589)
    [-0.360685]
    """
    pairs, place = np.unique(np.stack([variance, known]), axis=1, return_inverse=True)
    result = np.empty(pairs.shape[1])
    for v in np.unique(pairs[0]):
        these = pairs[0] == v
        k = pairs[1][these]
        tails = np.log(gaussian_tail.ratio(k + 1.0, float(v))) - np.log(gaussian_tail.ratio(k, float(v)))
        result[these] = tails - (k + 0.5) / v
    return result[place.reshape(-1)]


def updated(prior: Prior, evidence: Floats) -> Floats:
    """Return the posterior from the log ratio of likelihoods."""
    rare = np.exp(-np.abs(evidence))
    for_present = prior.present / (prior.present + prior.absent * rare)
    for_absent = prior.present * rare / (prior.present * rare + prior.absent)
    return np.where(evidence >= 0, for_present, for_absent)


def multiplier(prior: Prior, evidence: Floats) -> Floats:
    """Return the posterior over the prior."""
    rare = np.exp(-np.abs(evidence))
    for_present = 1.0 / (prior.present + prior.absent * rare)
    for_absent = rare / (prior.present * rare + prior.absent)
    return np.where(evidence >= 0, for_present, for_absent)


def _read_all(
    noisy: Numbers, variance: Numbers, rho: Numbers, prior: Numbers, known: Numbers, nonnegative: bool
) -> tuple[Prior, Floats]:
    chance, y, k, v = read_prior(prior), read_whole(noisy), read_known(known), read_variance(variance, rho)
    check_fit(noisy=y, known=k, variance=v, prior=chance.present)
    return chance, np.asarray(log_likelihood_ratio(y, k, v, nonnegative=nonnegative))
