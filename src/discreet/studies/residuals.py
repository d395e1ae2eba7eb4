"""How close sums of discrete Gaussians are to the normal law: residuals, variances, a long composition."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.comparisons import ZCDP, GaussianDP
from discreet.accounting.privacy_loss import compose
from discreet.accounting.published import LatticeNormal, residual_supremum
from discreet.budget.events import DiscreteGaussian
from discreet.noise import GaussianNoise
from discreet.report.plots import BLUE, GREEN, GREY, VERMILION
from discreet.studies.canvas import EXACT, ZCDP_LINE, canvas, delta_axis, legend_below
from discreet.studies.study import PNAS, Study, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = (5, 9, 10, 18, 20, 27, 50, 100)
VARIANCES = (1, 5, 10)
PRINTED_BOUNDS = {(10, 1): 4e-7, (10, 5): 3e-37, (10, 10): 3e-75}
"""Bounds on the residual that the paper prints, by (n, sigma^2)."""

TRUE_SUPREMA = {(10, 1): 4.18e-8, (10, 5): 2.99e-39, (10, 10): 5.60e-78}
"""The suprema themselves, to three digits: n-fold convolution in ball arithmetic."""

DEFICIT = 5.8e-34
"""sigma^2 - Var stays below this for 4.25 <= sigma^2 <= 5, as the paper states."""

FOLD = 1890


def residuals() -> Study:
    """Compute sup over y of |P(S_n = y) - normal density|, and bounds on it.

    >>> row = residuals().published()[0]
    >>> row[:2], f"{row[2]:.3g} {row[3]:.3g} {row[4]:.0e}"
    ((10, 1), '4.18e-08 5.53e-08 4e-07')
    """
    rows = []
    for times in TIMES:
        for variance in VARIANCES:
            value = residual_supremum(variance=variance, times=times)
            bound = LatticeNormal([DiscreteGaussian(variance=variance, times=times)]).residual_bound
            printed = PRINTED_BOUNDS.get((times, variance))
            rows.append((times, variance, value, bound, printed, difference(value, printed)))
    return Study(
        "residuals",
        r"Residual $\sup_y |P(S_n = y) - \varphi_n(y)|$ of the sum of n discrete Gaussians",
        PNAS,
        ("n", "sigma2", "supremum", "bound", "published", "difference"),
        table(rows),
        (
            "The paper prints bounds, for n = 10: they hold, and are about 10, 100 and 540 times too large.",
            "bound: from Poisson summation, by this package.",
        ),
    )


def draw_residuals(study: Study) -> Figure:
    """Draw supremum, bound and published bound against n."""
    with canvas(study, (7.2, 3.2), 1, 3) as (figure, axes):
        for ax, variance in zip(axes, VARIANCES, strict=True):
            part = study.where(sigma2=variance)
            n = part.numbers("n")
            ax.plot(n, part.numbers("bound"), color=GREEN, linestyle="--", label="bound of this package")
            ax.plot(n, part.numbers("supremum"), "o", color=BLUE, markersize=4, label="true supremum")
            ax.plot(n, part.numbers("published"), "D", color=VERMILION, markersize=5, label="published bound")
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.minorticks_off()
            ax.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
            ax.set_xlabel("n")
            ax.set_title(rf"$\sigma^2 = {variance}$")
        axes[0].set_ylabel("residual")
        legend_below(figure, axes[0])
    return figure


def variance_deficit() -> Study:
    """Compute how far the variance of N_Z(0, sigma^2) lies below sigma^2.

    >>> [f"{row[1]:.2g}" for row in variance_deficit().published()]   # at 4.25, 4.5, 4.75 and 5
    ['5.3e-34', '4.2e-36', '3.4e-38', '2.7e-40']
    """
    rows: list[tuple[float, float, float | None, float | None]] = []
    for quarters in range(1, 41):
        variance = Fraction(quarters, 4)
        found = GaussianNoise(variance).variance_deficit()
        known = DEFICIT if 17 <= quarters <= 20 else None
        rows.append((float(variance), found, known, difference(found, known)))
    return Study(
        "variance-deficit",
        r"$\sigma^2$ less the variance of the discrete Gaussian with that parameter",
        PNAS,
        ("sigma2", "deficit", "published", "difference"),
        table(rows),
        ("Published is a bound, for sigma^2 from 4.25 to 5: the largest value there is at 4.25.",),
    )


def draw_variance_deficit(study: Study) -> Figure:
    """Draw the deficit on a logarithmic scale, and the published bound."""
    with canvas(study, (5.6, 3.2)) as (figure, (ax,)):
        ax.plot(study.numbers("sigma2"), study.numbers("deficit"), color=BLUE, label="computed")
        bound = study.numbers("published")
        ax.plot(
            study.numbers("sigma2"), bound, color=VERMILION, linewidth=3, label="published bound, 4.25 to 5"
        )
        ax.set_yscale("log")
        ax.minorticks_off()
        ax.set_xlim(0, 10)
        ax.set_xlabel(r"$\sigma^2$")
        ax.set_ylabel(r"$\sigma^2 - \mathrm{Var}$")
        ax.legend()
    return figure


def many_fold() -> Study:
    """Compute the 1,890-fold composition at sigma^2 = 200 and 400.

    >>> study = many_fold().where(sigma2=200)
    >>> row = next(row for row in study.rows if row[1] == 1e-10)
    >>> [round(float(x), 4) for x in row[2:5]]
    [23.7397, 23.7397, 25.5862]
    """
    deltas = [f"1e-{place}" for place in range(1, 22)]
    rows = []
    for variance in (200, 400):
        events = [DiscreteGaussian(variance=variance, times=FOLD)]
        exact = compose(events).epsilon(delta=deltas)
        small = np.array([float(delta) for delta in deltas])
        normal, zcdp = GaussianDP(events).epsilon(delta=small), ZCDP(events).epsilon(delta=small)
        rows += [(variance, *values, None, None) for values in zip(small, exact, normal, zcdp, strict=True)]
    return Study(
        "many-fold",
        "1,890-fold composition of equal queries",
        PNAS,
        ("sigma2", "delta", "epsilon", "gaussian_dp_epsilon", "zcdp_epsilon", "published", "difference"),
        table(rows),
        (
            "No published values are known to us.",
            "Gaussian DP is an approximation; here it cannot be told from the truth.",
        ),
    )


def draw_many_fold(study: Study) -> Figure:
    """Draw both compositions."""
    with canvas(study, (7.2, 3.4), 1, 2, sharey=True) as (figure, axes):
        for ax, variance in zip(axes, (200, 400), strict=True):
            part = study.where(sigma2=variance)
            delta = part.numbers("delta")
            ax.plot(part.numbers("zcdp_epsilon"), delta, **ZCDP_LINE)
            ax.plot(part.numbers("epsilon"), delta, **EXACT)
            normal = part.numbers("gaussian_dp_epsilon")
            ax.plot(normal[::2], delta[::2], "o", color=GREY, mfc="none", markersize=5, label="Gaussian DP")
            delta_axis(ax, -21)
            ax.set_xlim(0, 36)
            ax.set_xlabel(r"$\varepsilon$")
            ax.set_title(rf"$\sigma^2 = {variance}$")
        axes[0].set_ylabel(r"$\delta$")
        legend_below(figure, axes[0])
    return figure
