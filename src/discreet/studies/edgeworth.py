"""The Edgeworth gap: how far normal and Edgeworth are from the law of n summed discrete Gaussians.

S_n is symmetric and lives on the integers. With y = (m + 1/2) / s, s^2 = n Var(X), kappa the fourth
cumulant of X and phi the normal density, the second-order expansion at the points between the integers is

    E(m) = Phi(y) + y phi(y) / (24 s^2) - n kappa He_3(y) phi(y) / (24 s^4).

Its middle term is the lattice's. Inversion of the characteristic function c(t) of X gives, for every m,

    |P[S_n <= m] - E(m)| <= 1/pi * integral from 0 to pi of |c(t)^n / (2 sin(t/2)) - e(t)/t| dt
                          + 1/pi * integral from pi to infinity of |e(t)/t| dt,
    e(t) = e^(-s^2 t^2 / 2) (1 + t^2 / 24 + n kappa t^4 / 24):

an explicit bound, uniform in m. The normal law alone errs by the order n^-1 there (n^-1/2 at the
integers themselves, where the distribution function jumps), the second-order expansion by n^-2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.comparisons import cumulants
from discreet.budget.events import DiscreteGaussian
from discreet.noise import GaussianNoise
from discreet.report.plots import BLUE, GREEN, GREY, VERMILION
from discreet.studies.canvas import canvas, legend_below
from discreet.studies.study import SIEVE, Floats, Study, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = (4, 8, 16, 32, 64, 128, 256)
VARIANCES = ("1/4", "1/2", "1")
_ROUNDING = 1e-13  # of the sums of the convolution and of the integrals: far below every gap shown


def edgeworth() -> Study:
    """Compute the gaps over n, and the bound on the second-order one.

    >>> study = edgeworth().where(sigma2="1/2")
    >>> scaled = study.numbers("n_times_gap")          # the order n^-1: this settles
    >>> bool(abs(scaled[-1] / scaled[-2] - 1) < 0.01)
    True
    """
    rows = []
    for variance in VARIANCES:
        one = cumulants([DiscreteGaussian(variance=variance)])
        # the loss is X / sigma^2: back to X itself
        size = float(GaussianNoise(variance).variance)
        kappa2, kappa4 = one.variance * size**2, one.fourth * size**4
        for n in TIMES:
            jump, half, second = gaps(variance, n, kappa2, kappa4)
            bound = second_order_bound(variance, n, kappa2, kappa4)
            rows.append(
                (variance, n, kappa2, kappa4, jump, half, second, bound, n * half, n * n * second, None, None)
            )
    return Study(
        "edgeworth",
        "Sums of n discrete Gaussians: distance to the normal law and to its Edgeworth expansion",
        SIEVE,
        (
            "sigma2",
            "n",
            "variance",
            "fourth_cumulant",
            "gap_at_jumps",
            "gap_normal",
            "gap_second_order",
            "bound_second_order",
            "n_times_gap",
            "n2_times_gap_second",
            "published",
            "difference",
        ),
        table(rows),
        (
            "Gaps are suprema over all integers m, gap_normal and gap_second_order at m + 1/2.",
            "Expansion and bound: see discreet.studies.edgeworth. No published values are known to us.",
        ),
    )


def draw_edgeworth(study: Study) -> Figure:
    """Draw the gaps against n, with the slopes -1/2, -1 and -2 to compare."""
    with canvas(study, (7.2, 3.5), 1, 3, sharey=True) as (figure, axes):
        for ax, variance in zip(axes, VARIANCES, strict=True):
            part = study.where(sigma2=variance)
            n = part.numbers("n")
            for column, colour, mark, label in (
                ("gap_at_jumps", GREY, "s", "normal, at the jumps"),
                ("gap_normal", VERMILION, "^", "normal, between the integers"),
                ("gap_second_order", BLUE, "o", "second order"),
            ):
                ax.plot(n, part.numbers(column), mark, color=colour, markersize=4, label=label)
            bound = part.numbers("bound_second_order")
            ax.plot(n, bound, color=GREEN, linestyle="--", label="its bound")
            for column, power in (("gap_at_jumps", -0.5), ("gap_normal", -1.0), ("gap_second_order", -2.0)):
                last = part.numbers(column)[-1]
                words = "slopes -1/2, -1, -2" if power == -1 else None
                ax.plot(n, last * (n / n[-1]) ** power, color=GREY, linewidth=0.6, zorder=1, label=words)
            ax.set_xscale("log", base=2)
            ax.set_yscale("log")
            ax.set_xticks(n[::2], [f"{k:.0f}" for k in n[::2]])
            ax.set_xlabel("n")
            ax.set_title(rf"$\sigma^2 = {variance}$")
        axes[0].set_ylabel("largest distance")
        legend_below(figure, axes[0], 3)
    return figure


def gaps(variance: str, n: int, kappa2: float, kappa4: float) -> tuple[float, float, float]:
    """Return the largest distances: to the normal at the jumps and between integers, and to second order.

    >>> one = cumulants([DiscreteGaussian(variance=1)])
    >>> [f"{gap:.1e}" for gap in gaps("1", 16, one.variance, one.fourth)]
    ['5.0e-02', '6.2e-04', '2.6e-06']
    """
    law = _sum_law(variance, n)
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
    """Return the uniform bound of the module's head, by the trapezoidal rule.

    >>> one = cumulants([DiscreteGaussian(variance=1)])
    >>> f"{second_order_bound('1', 16, one.variance, one.fourth):.1e}"
    '3.0e-06'
    """
    s2 = n * kappa2
    t = np.linspace(0, math.pi, 40_001)[1:]
    law = GaussianNoise(variance)
    u = np.arange(1, 40)
    transform = law.pmf(np.array([0])) + 2 * (law.pmf(u) * np.cos(np.multiply.outer(t, u))).sum(axis=1)
    # the transform is positive: a theta function on the imaginary axis
    inner = np.abs(transform**n / (2 * np.sin(t / 2)) - _smooth(t, s2, n * kappa4))
    outer = math.pi * np.exp(np.linspace(0, 4, 4001))
    tail = np.abs(_smooth(outer, s2, n * kappa4))
    # near 0 the integrand is of the order t^3: the first step's share is far below the rounding
    return float(np.trapezoid(inner, t) + np.trapezoid(tail, outer)) / math.pi + _ROUNDING


def _smooth(t: Floats, s2: float, fourth: float) -> Floats:
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(-s2 * t * t / 2) * (1 + t * t / 24 + fourth * t**4 / 24) / t)


def _sum_law(variance: str, n: int) -> Floats:
    """Probabilities of S_n, by repeated convolution of positive numbers: small relative errors throughout."""
    u = np.arange(-12, 13)
    power, result, left = GaussianNoise(variance).pmf(u), np.ones(1), n
    while left:
        if left & 1:
            result = np.convolve(result, power)
        left >>= 1
        if left:
            power = np.convolve(power, power)
    return result


def _cdf(x: Floats) -> Floats:
    """The normal distribution function; absolute errors of 1e-16 are small enough here."""
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])
