"""Probabilities of sums of equal discrete Gaussians, beside the normal density and its Edgeworth expansion.

S is a sum of n variables X ~ N_Z(0, sigma2), kappa2 and kappa4 are the variance and the fourth cumulant of X,
and s^2 = n kappa2. Theorem 6.1 of the sieve paper bounds the largest distance of P[S = y] to

    E(y) = phi(y / s) / s * (1 + n kappa4 He_4(y / s) / (24 s^4))

over all integers y. It starts from the inversion of the characteristic function c(t) of X,

    |P[S = y] - E(y)| <= 1/pi * integral from 0 to pi of |c(t)^n - g(t)| dt
                       + 1/pi * integral from pi to infinity of |g(t)| dt,
    g(t) = e^(-s^2 t^2 / 2) (1 + n kappa4 t^4 / 24),

and bounds the parts of the first integral one by one. Here the right side is integrated numerically as it
stands; the theorem's own constants give a larger bound. It cannot be improved: from n = 8 or 16 on
c(t)^n - g(t) has one sign, and the bound is attained at y = 0.

*Cumulants.* With q = e^(-2 pi^2 sigma2), theta = 1 + 2 sum q^(k^2) over k >= 1 and
m_j = 2 / theta * sum of q^(k^2) (2 pi sigma2 k)^j, Poisson summation gives

    c(t) = e^(-sigma2 t^2 / 2) (1 + 2 / theta * sum of q^(k^2) (cosh(2 pi sigma2 k t) - 1)),
    kappa2 = sigma2 - m_2,    kappa4 = m_4 - 3 m_2^2:

both differ from the normal law's by a few times e^(-2 pi^2 sigma2), and cancellation costs no digits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb, arb_poly, fmpq

from discreet.accounting.account import account
from discreet.budget import load
from discreet.noise.balls import working_bits
from discreet.studies.dhc import MAIN, PRESET
from discreet.studies.register import Floats, Found, study

LARGEST = 35
"""Larger variances have fourth cumulants below the smallest float."""
_K = np.arange(1, 30, dtype=np.float64)


def corrections(variance: Fraction) -> tuple[float, float]:
    """Return m_2 = sigma2 - kappa2, and kappa4.

    >>> [f"{value:.4e}" for value in corrections(Fraction(1))]      # leading: 2 q (2 pi)^2 and 2 q (2 pi)^4
    ['2.1123e-07', '8.3391e-06']
    """
    v = float(variance)
    powers = np.exp(-2 * math.pi**2 * v * _K * _K)
    theta = 1 + 2 * float(powers.sum())
    second, fourth = (2 / theta * float((powers * (2 * math.pi * v * _K) ** j).sum()) for j in (2, 4))
    return second, fourth - 3 * second**2


def noise_parameters() -> dict[Fraction, int]:
    """Return the variances on the main path of the 2020 DHC, persons, and the number of queries with each.

    >>> parameters = noise_parameters()
    >>> str(min(parameters)), sum(parameters.values())
    ('2500/999', 80)
    """
    parameters: dict[Fraction, int] = {}
    for event in account(load(PRESET)).events((MAIN, MAIN)):
        variance = event.stated_variance
        assert variance is not None
        # both people of the pair
        parameters[variance] = parameters.get(variance, 0) + event.times // 2
    return parameters


@study("sigma2 of_2020_dhc variance_deficit fourth_cumulant excess_kurtosis log10_kappa4 log10_leading_term")
def fourth_cumulant() -> Found:
    """Compute kappa4 of the discrete Gaussian over sigma^2, at quarters and at the variances of the 2020 DHC.

    >>> row = fourth_cumulant().where(of_2020_dhc=1).rows[0]        # one query of variance 2500/999
    >>> f"{row[0]:.4f} {row[3]:.2e} {row[5]:.3f} {row[6]:.3f}"
    '2.5025 4.31e-17 -16.366 -16.366'
    """
    of_dhc = noise_parameters()
    for variance in sorted({*of_dhc, *(Fraction(k, 4) for k in range(1, 65))}):
        if variance < LARGEST:
            deficit, fourth = corrections(variance)
            v = float(variance)
            leading = math.log10(2) + 4 * math.log10(2 * math.pi * v) - 2 * math.pi**2 * v / math.log(10)
            kurtosis = fourth / (v - deficit) ** 2
            yield v, of_dhc.get(variance), deficit, fourth, kurtosis, math.log10(fourth), leading


@study("sigma2 mu mean_less_mu")
def offset_mean() -> Found:
    """Compute the mean of N_Z(mu, sigma^2) less mu: by Poisson summation a sine series, zero at the halves.

    >>> part = offset_mean().where(sigma2="1")
    >>> [f"{gap:.2e}" for gap in part.numbers("mean_less_mu")[:5]]
    ['0.00e+00', '-2.38e-08', '-3.36e-08', '-2.38e-08', '0.00e+00']
    """
    for text in ("1/4", "1/2", "1", "5"):
        for eighth in range(9):
            yield text, eighth / 8, mean_gap(Fraction(text), Fraction(eighth, 8))


def mean_gap(variance: Fraction, mu: Fraction) -> float:
    """Return E N_Z(mu, sigma^2) - mu: sigma^2 times the slope of log(1 + 2 sum of q^(k^2) cos(2 pi k mu)).

    >>> mean_gap(Fraction(5), Fraction(1, 2)), f"{mean_gap(Fraction(5), Fraction(1, 4)):.2e}"
    (0.0, '-8.61e-42')
    """
    v = float(variance)
    powers = np.exp(-2 * math.pi**2 * v * _K * _K)
    # in turns of a quarter, where sines and cosines are exact
    turns = [Fraction(int(k)) * mu % 1 for k in _K]
    sines = [math.sin(2 * math.pi * float(turn)) if 2 * turn % 1 else 0.0 for turn in turns]
    cosines = [math.cos(2 * math.pi * float(turn)) for turn in turns]
    slope = -4 * math.pi * v * float((_K * powers * sines).sum())
    return slope / (1 + 2 * float((powers * cosines).sum())) + 0.0


# -- the theorem -------------------------------------------------------------------------------------------

VARIANCES = ("1/4", "1/2", "1", "2500/999")
"""Small variances, where the difference is visible, and the smallest of the 2020 DHC."""
TIMES = (4, 8, 16, 32, 64, 128, 256)


@study("sigma2 n gap_normal gap_expansion bound n52_times_gap bound_over_gap")
def edgeworth_pmf(*, times: tuple[int, ...] = TIMES) -> Found:
    """Compute both sides of Theorem 6.1: the largest distance of probabilities to the expansion, and a bound.

    >>> study = edgeworth_pmf(times=(4, 16))
    >>> bool((study.numbers("gap_expansion") <= study.numbers("bound")).all())
    True
    """
    for text in VARIANCES:
        for n in times:
            normal, expansion = gaps(Fraction(text), n)
            bound = uniform_bound(Fraction(text), n)
            yield text, n, normal, expansion, bound, n**2.5 * expansion, bound / expansion


def gaps(variance: Fraction, n: int) -> tuple[float, float]:
    """Return the largest distances of P[S = y] to the normal density and to the expansion, over all y.

    From the n-fold convolution in ball arithmetic; beyond its ends both laws are smaller than the distance.

    >>> [f"{gap:.3e}" for gap in gaps(Fraction(1), 16)]
    ['1.025e-08', '3.750e-09']
    """
    v, deep = float(variance), 2 * math.pi**2 * float(variance) + 60
    reach = math.ceil(math.sqrt(2 * v * (deep + math.log(n) + 10)))
    with working_bits(math.ceil(2 * deep / math.log(2)) + 128):
        ball = arb(fmpq(variance.numerator, variance.denominator))
        weights = [(-arb(u * u) / (2 * ball)).exp() for u in range(-reach, reach + 1)]
        powers, total = arb_poly(weights) ** n, sum(weights, arb(0))
        second = (
            sum((w * u * u for u, w in zip(range(-reach, reach + 1), weights, strict=True)), arb(0)) / total
        )
        fourth = (
            sum((w * u**4 for u, w in zip(range(-reach, reach + 1), weights, strict=True)), arb(0)) / total
        )
        spread2, lam = n * second, (fourth - 3 * second**2) / (24 * n * second**2)
        normal = expansion = arb(0)
        for y in range(math.ceil(math.sqrt(2 * n * v * deep)) + 1):
            if y > reach * n:
                break
            exact = powers[reach * n + y] / total**n
            z2 = y * y / spread2
            density = (-z2 / 2).exp() / (2 * arb.pi() * spread2).sqrt()
            correction = 1 + lam * (z2 * z2 - 6 * z2 + 3)
            normal = arb.max(normal, abs(exact - density))
            expansion = arb.max(expansion, abs(exact - density * correction))
        return float(normal.mid()), float(expansion.mid())


def uniform_bound(variance: Fraction, n: int) -> float:
    """Return the right side by Gauss-Legendre quadrature on 400 panels, plus 1e-9 of it for its error.

    With A = n log(c e^(sigma2 t^2 / 2)), and B the same for g, the integrand is e^(-n sigma2 t^2 / 2)
    |e^A - e^B|.

    >>> f"{uniform_bound(Fraction(1), 16):.3e}"
    '3.750e-09'
    """
    v = float(variance)
    deficit, fourth = corrections(variance)
    t, weights = _panels(np.linspace(0, math.pi, 401))
    powers = np.exp(-2 * math.pi**2 * v * _K * _K)
    theta = 1 + 2 * float(powers.sum())
    # 2 (cosh w - 1) = e^w (1 - e^-w)^2; e^w alone may overflow, so the exponents are added first
    exponent = -2 * math.pi**2 * v * _K * _K
    waves = np.multiply.outer(t, 2 * math.pi * v * _K)
    excess = (np.exp(exponent + waves) * np.expm1(-waves) ** 2).sum(axis=1) / theta
    mine = n * np.log1p(excess)
    theirs = n * deficit * t * t / 2 + np.log1p(n * fourth * t**4 / 24)
    envelope = np.exp(-n * v * t * t / 2 + np.minimum(mine, theirs))
    inner = envelope * np.expm1(np.abs(mine - theirs))
    outer, far = _panels(math.pi * np.exp(np.linspace(0, 3, 401)))
    with np.errstate(under="ignore"):
        tail = np.exp(-n * (v - deficit) * outer * outer / 2) * (1 + n * fourth * outer**4 / 24)
    return float((inner * weights).sum() + (tail * far).sum()) / math.pi * (1 + 1e-9)


def _panels(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights, eight points per panel."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()


# -- two variables -------------------------------------------------------------------------------------------


@study("sigma2 point probability normal residual")
def two_fold_pmf() -> Found:
    """Compute P[S = i / B] of two variables, sigma^2 = 5 and 25, beside the normal density.

    >>> study = two_fold_pmf()
    >>> [f"{np.abs(study.where(sigma2=v).numbers('residual')).max():.1e}" for v in (5, 25)]
    ['9.3e-23', '7.8e-109']
    """
    for variance in (5, 25):
        spread = math.sqrt(2 * variance)
        most = math.floor(4.5 * spread)
        for i in range(-most, most + 1):
            density = math.exp(-(i * i) / (4 * variance)) / (math.sqrt(2 * math.pi) * spread)
            residual = density * two_fold_ratio(variance, is_odd=bool(i % 2))
            yield variance, i / spread, density + residual, density, residual


def two_fold_ratio(variance: float, *, is_odd: bool) -> float:
    """Return P[X_1 + X_2 = y] over the normal density, minus 1; by Poisson summation only y's parity matters.

    >>> f"{two_fold_ratio(1.0, is_odd=False):.4e} {two_fold_ratio(1.0, is_odd=True):.4e}"
    '1.0344e-04 -1.0346e-04'
    """
    signs = np.where((_K % 2 == 1) & is_odd, -1.0, 1.0)
    a = 2 * float((signs * np.exp(-(math.pi**2) * variance * _K * _K)).sum())
    b = 2 * float(np.exp(-2 * math.pi**2 * variance * _K * _K).sum())
    return (a - 2 * b - b * b) / (1 + b) ** 2
