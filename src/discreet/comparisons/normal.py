"""The normal distribution far out, where densities and tails underflow but their logarithms do not."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from discreet.loss.lattice import Floats
from discreet.noise.gaussian_tail import erfcx

_gauss_legendre = cache(np.polynomial.legendre.leggauss)
_HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2
_DIRECT_UP_TO = 4.0  # mu: above, Mills ratios are subtracted, which costs at most two digits


def log_density(x: Floats) -> Floats:
    """Return the logarithm of the standard normal density.

    >>> float(log_density(np.array([0.0]))[0]).__round__(6)
    -0.918939
    """
    return -x * x / 2 - _HALF_LOG_TWO_PI


def mills_ratio(x: Floats) -> Floats:
    """Return Mills' ratio, P[Z > x] over the density at x, for x >= 0.

    >>> mills_ratio(np.array([0.0, 1.0, 40.0])).round(9).tolist()
    [1.253314137, 0.655679542, 0.024984404]
    """
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def log_upper_tail(x: Floats) -> Floats:
    """Return log P[Z > x] for a standard normal Z.

    >>> log_upper_tail(np.array([-1.0, 0.0, 37.5])).round(6).tolist()
    [-0.172754, -0.693147, -707.668989]
    """
    far = log_density(x) + np.log(mills_ratio(np.abs(x)))
    return np.where(x >= 0, far, np.log1p(-np.exp(far)))


def log_gap(x: Floats, mu: float) -> Floats:
    """Return the logarithm of P[Z > x] - e^(mu x + mu^2 / 2) P[Z > x + mu], for x >= -mu / 2.

    With x = eps/mu - mu/2 it is delta(eps) of mu-GDP. It equals the integral of the density at x + z
    times (1 - e^(-mu z)), z > 0, which is how it is computed while mu is small.

    >>> log_gap(np.array([-0.5, 37.0]), 1.0).round(6).tolist()
    [-0.959916, -692.669572]
    """
    if mu <= _DIRECT_UP_TO:
        z, weights = _nodes(x)  # positive terms: nothing cancels
        terms = weights * np.exp(-x[:, None] * z - z * z / 2) * -np.expm1(-mu * z)
        return np.asarray(log_density(x) + np.log(terms.sum(axis=1)))
    second = mills_ratio(x + mu)
    with np.errstate(divide="ignore", invalid="ignore"):  # each is used where it holds
        beyond = log_density(x) + np.log(mills_ratio(np.maximum(x, 0.0)) - second)
        before = np.log(-np.expm1(log_upper_tail(-x)) - np.exp(log_density(x)) * second)
    return np.where(x >= 0, beyond, before)


def quantile(p: Floats) -> Floats:
    """Return the x with P[Z <= x] = p, strictly between 0 and 1; small p keep their relative accuracy.

    >>> quantile(np.array([1e-300, 0.5])).round(6).tolist()
    [-37.047096, 0.0]
    """
    inverse = NormalDist().inv_cdf
    return np.array([inverse(value) for value in p.tolist()], dtype=np.float64)


def _nodes(x: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of a quadrature, one row for every x, on the z where xz + z^2/2 stays below 40."""
    z, weights = _gauss_legendre(100)
    root = np.sqrt(x * x + 80)
    # root - x, written without cancellation for large x
    length = np.where(x > 0, 80 / (root + np.abs(x)), root - x)[:, None] / 2
    return length * (1 + z), length * weights
