"""Sums of discrete Gaussians: how close they are to the normal law, and the quadrature nodes they need.

The Edgeworth gap. S_n is symmetric and takes integer values. With y = (m + 1/2) / s, s^2 = n Var(X), kappa
the fourth cumulant of X and phi the normal density, the second-order expansion at the points between the
integers is

    E(m) = Phi(y) + y phi(y) / (24 s^2) - n kappa He_3(y) phi(y) / (24 s^4).

Its middle term is due to the lattice. Inversion of the characteristic function c(t) of X gives, for every m,

    |P[S_n <= m] - E(m)| <= 1/pi * integral from 0 to pi of |c(t)^n / (2 sin(t/2)) - e(t)/t| dt
                          + 1/pi * integral from pi to infinity of |e(t)/t| dt,
    e(t) = e^(-s^2 t^2 / 2) (1 + t^2 / 24 + n kappa t^4 / 24):

an explicit bound, uniform in m. The error of the normal law alone is of order n^-1 there (n^-1/2 at the
integers themselves, where the distribution function jumps), that of the second-order expansion n^-2.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.answers.quantity import Style
from discreet.budget import load
from discreet.comparisons.edgeworth import cumulants
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.zcdp import ZCDP
from discreet.loss.contour import sieve
from discreet.loss.lattice import Loss
from discreet.loss.windows import convolved
from discreet.noise import DiscreteGaussian, Noise
from discreet.studies.dhc import DELTAS, epsilons
from discreet.studies.published import LatticeNormal, SequentialSieve, residual_supremum
from discreet.studies.register import Floats, Found, check_printed, compare_printed, printed, study

# -- residuals and variances -------------------------------------------------------------------------------

VARIANCES = (1, 5, 10)


@study("n sigma2 supremum bound printed_bound")
def residuals() -> Found:
    """Compute sup over y of |P(S_n = y) - normal density|, and bounds on it.

    >>> row = residuals().where(n=10, sigma2=1).rows[0]  # slow: it takes seconds
    >>> f"{row[2]:.3g} {row[3]:.3g} {row[4]:.0e}"
    '4.18e-08 5.53e-08 4e-07'
    """
    suprema = {}
    for variance in VARIANCES:
        for at, entry in printed("pnas", "Table 2", f"bound on the residual, variance {variance}").items():
            value = suprema[variance, at] = residual_supremum(variance=variance, times=int(at))
            bound = LatticeNormal([DiscreteGaussian(variance=variance, times=int(at))]).residual_bound
            yield int(at), variance, value, bound, entry.value
            times = Style.PLACES.quantity(entry.value / value, 0)
            yield check_printed(entry, value, why=f"{times} times the supremum")
    worst = max(residual_supremum(variance=16, times=times) for times in (5, 9, 10))  # it falls with n
    what = "bound on the residual, variance"
    yield from compare_printed(
        "pnas", "Table 2", f"{what} 16 and more", {"all n": worst}, why="largest at n = 5"
    )
    yield from compare_printed("pnas", "Fact C.1", f"{what} 5", {"10": suprema[5, "10"]})


@study("sigma2 deficit printed_bound")
def variance_deficit() -> Found:
    """Compute how far the variance of N_Z(0, sigma^2) is below sigma^2.

    >>> [f"{check.computed:.2g}" for check in variance_deficit().checks]
    ['5.3e-34', '2.7e-40', '1.5e-82']
    """
    ranges = printed("pnas", "Fact A.3", "variance proxy less variance")
    # the deficit decreases with sigma^2, so it is largest at the lower end of each range
    lowest = [float(at.removeprefix("above ").split(" to ")[0]) for at in ranges]
    bounds = dict(zip(lowest, ranges.values(), strict=True))
    sigma2 = [quarters / 4 for quarters in range(1, 45)]
    deficits = {value: DiscreteGaussian(variance=Fraction(value)).variance_deficit() for value in sigma2}
    yield from (
        (value, deficits[value], bounds[value].value if value in bounds else None) for value in sigma2
    )
    yield from (
        check_printed(entry, deficits[value], why="largest at the lower end")
        for value, entry in bounds.items()
    )


@study("sigma2 delta epsilon gaussian_dp_epsilon zcdp_epsilon")
def many_fold() -> Found:
    """Compute the 1,890-fold composition at sigma^2 = 200 and 400.

    >>> study = many_fold().where(sigma2=200)
    >>> row = next(row for row in study.rows if row[1] == 1e-10)
    >>> [round(float(x), 4) for x in row[2:5]]
    [23.7397, 23.7397, 25.5862]
    """
    design = printed("pnas", "appendix A.5, ACS, and Figure 10", "number of queries and variances")
    times, *variances = (int(entry.text) for entry in design.values())
    for variance in variances:
        events = [DiscreteGaussian(variance=variance, times=times)]
        curves = epsilons(DELTAS, compose(events), GaussianDP(events), ZCDP(events))
        yield from ((variance, *row) for row in curves)


# -- why heterogeneous noise is harder -----------------------------------------------------------------------

EQUAL, UNEQUAL = "equal variances 5 and 5", "variances 10000/999 and 1000/31"
PAIRS = {EQUAL: ("5", "5"), UNEQUAL: ("10000/999", "1000/31")}
"""Variances of the two variables; the second pair is a State and a County query of the 2020 DHC."""

DISCARD = 1e-18
_MOST = 6_000_000


@study("case sum probability normal")
def convolution() -> Found:
    """Compute P(S = s) for S = a_1 X_1 + a_2 X_2, a = 1 / variance, beside the normal density on the lattice.

    >>> study = convolution()
    >>> equal, unequal = (study.where(case=name) for name in (EQUAL, UNEQUAL))
    >>> bool(np.abs(equal.numbers("probability") - equal.numbers("normal")).max() < 1e-12)
    True
    >>> bool((unequal.numbers("probability") / unequal.numbers("normal")).max() > 30)
    True
    """
    for name, variances in PAIRS.items():
        laws = [DiscreteGaussian(variance=v) for v in variances]
        loss = Loss([DiscreteGaussian(variance=v) for v in variances])
        reach = [math.ceil(9 * math.sqrt(law.variance)) for law in laws]
        u, v = np.arange(-reach[0], reach[0] + 1), np.arange(-reach[1], reach[1] + 1)
        steps = [int(1 / law.variance / loss.step) for law in laws]
        chances = np.multiply.outer(laws[0].pmf(u), laws[1].pmf(v)).ravel()
        values, index = np.unique(np.add.outer(steps[0] * u, steps[1] * v).ravel(), return_inverse=True)
        total = np.bincount(index.ravel(), weights=chances)
        h, R = float(loss.step), float(loss.R)
        normal = h * np.exp(-((h * values) ** 2) / (2 * R)) / math.sqrt(2 * math.pi * R)
        for m, chance, density in zip(values, total, normal, strict=True):
            if abs(h * m) <= 2.5 * math.sqrt(R) and chance > 1e-12:
                yield name, h * m, chance, density


@study("pair nodes sequential_survivors algorithm_1_survivors interval_survivors intervals")
def nodes(*, spines: int | None = None) -> Found:
    """Compute how many quadrature nodes the pair (13, spine) needs, without and with the sieve.

    Nodes and sequential survivors are those of the published method; interval survivors are those of this
    package's sieve, by interval arithmetic, at the same tolerance. All counts are for the whole circle.

    >>> row = nodes(spines=1).rows[0]
    >>> row[0], row[1] > 1000 * row[2]
    ('(13, 13), 50 digits', True)
    """
    release = load("dhc-2020")
    whole = account(release)
    main = whole.events((13, 13))
    deep, printed_ = (
        SequentialSieve(main, tail=1e-50, discard=1e-50, as_printed=as_printed)
        for as_printed in (False, True)
    )
    yield "(13, 13), 50 digits", deep.nodes, deep.survivors, printed_.survivors, None, None
    for spine in release.paths[:spines]:
        yield f"(13, {spine})", *_counts(whole.events((min(13, spine), max(13, spine))))


def _counts(events: tuple[Noise, ...]) -> tuple[int, int | None, int | None, int, int]:
    """Count all nodes, survivors of both sequential sieves and of the interval sieve, and its intervals."""
    loss = Loss(events)
    h = float(loss.step)
    reach = math.sqrt(2 * float(loss.R) * math.log(2 / DISCARD)) / h
    total = 2 * (math.floor(reach) + 1) + 1
    sequential, printed_ = (
        SequentialSieve(events, as_printed=as_printed).survivors if total <= _MOST else None
        for as_printed in (False, True)
    )
    # a falloff of 0 asks for the same depth everywhere
    survivors = sieve(
        loss, reach=math.pi / h, depth=-math.log(DISCARD), theta=0.0, falloff=0.0, scale=1 / math.sqrt(loss.R)
    )
    kept = survivors.nodes(float(Fraction(total) * loss.step), 10**7)
    return total, sequential, printed_, 2 * int(kept.size) - 1, int(survivors.low.size)


# -- the Edgeworth gap -------------------------------------------------------------------------------------

TIMES = (4, 8, 16, 32, 64, 128, 256)
SMALL_VARIANCES = ("1/4", "1/2", "1")
_ROUNDING = 1e-13  # rounding error of convolution and integrals: far below every gap shown


@study(
    "sigma2 n variance fourth_cumulant gap_at_jumps gap_normal gap_second_order bound_second_order "
    "n_times_gap n2_times_gap_second"
)
def edgeworth() -> Found:
    """Compute the gaps over n, and the bound on the second-order one.

    >>> study = edgeworth().where(sigma2="1/2")
    >>> scaled = study.numbers("n_times_gap")          # the order n^-1: this settles
    >>> bool(abs(scaled[-1] / scaled[-2] - 1) < 0.01)
    True
    """
    for variance in SMALL_VARIANCES:
        law = cumulants([DiscreteGaussian(variance=variance)])
        # the loss is X / sigma^2: convert to X
        size = float(DiscreteGaussian(variance=variance).variance)
        kappa2, kappa4 = law.variance * size**2, law.fourth * size**4
        for n in TIMES:
            jump, half, second = sum_gaps(variance, n, kappa2, kappa4)
            bound = second_order_bound(variance, n, kappa2, kappa4)
            yield variance, n, kappa2, kappa4, jump, half, second, bound, n * half, n * n * second


def sum_gaps(variance: str, n: int, kappa2: float, kappa4: float) -> tuple[float, float, float]:
    """Return the largest distances: to the normal at jumps, between integers, and to the second order.

    >>> law = cumulants([DiscreteGaussian(variance=1)])
    >>> [f"{gap:.1e}" for gap in sum_gaps("1", 16, law.variance, law.fourth)]
    ['5.0e-02', '6.2e-04', '2.6e-06']
    """
    law = convolved(DiscreteGaussian(variance=variance).pmf(np.arange(-12, 13)), n)
    reach = law.size // 2
    m = np.arange(-reach, reach + 1, dtype=np.float64)
    below = np.cumsum(law)
    s2 = n * kappa2
    at_jumps = _cdf(m / math.sqrt(s2))
    jump = max(
        float(np.abs(below - at_jumps).max()),
        float(np.abs(below - law - at_jumps).max()),
    )
    y = (m + 0.5) / math.sqrt(s2)
    density = np.exp(-y * y / 2) / math.sqrt(2 * math.pi)
    normal = _cdf(y)
    second = normal + density * (y / (24 * s2) - n * kappa4 * y * (y * y - 3) / (24 * s2 * s2))
    return jump, float(np.abs(below - normal).max()), float(np.abs(below - second).max())


def second_order_bound(variance: str, n: int, kappa2: float, kappa4: float) -> float:
    """Return the uniform bound of the module docstring, by the trapezoidal rule.

    >>> law = cumulants([DiscreteGaussian(variance=1)])
    >>> f"{second_order_bound('1', 16, law.variance, law.fourth):.1e}"
    '3.0e-06'
    """
    s2 = n * kappa2
    t = np.linspace(0, math.pi, 40_001)[1:]
    law = DiscreteGaussian(variance=variance)
    u = np.arange(1, 40)
    transform = law.pmf(np.array([0])) + 2 * (law.pmf(u) * np.cos(np.multiply.outer(t, u))).sum(axis=1)
    # the transform is positive: a theta function on the imaginary axis
    inner = np.abs(transform**n / (2 * np.sin(t / 2)) - _smooth(t, s2, n * kappa4))
    outer = math.pi * np.exp(np.linspace(0, 4, 4001))
    tail = np.abs(_smooth(outer, s2, n * kappa4))
    # near 0 the integrand is of order t^3: the share of the first step is far below the rounding
    return float(np.trapezoid(inner, t) + np.trapezoid(tail, outer)) / math.pi + _ROUNDING


def _smooth(t: Floats, s2: float, fourth: float) -> Floats:
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(-s2 * t * t / 2) * (1 + t * t / 24 + fourth * t**4 / 24) / t)


def _cdf(x: Floats) -> Floats:
    """Return the normal distribution function; absolute errors of 1e-16 are small enough here."""
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])
