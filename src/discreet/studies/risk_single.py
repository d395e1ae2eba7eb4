"""One noisy count: tables and figures of the risk paper, and the same with the noise that was really used.

The paper is Kazan and Reiter's; rho means noise of variance 1/(2 rho) there. Only values that are known to
us from print stand under `published`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.budget import load
from discreet.budget.events import DiscreteGaussian
from discreet.noise import GaussianNoise
from discreet.report.plots import BLUE, GREY, VERMILION
from discreet.report.risk_plots import LINES
from discreet.risk import (
    decision_accuracy,
    expected_posterior,
    expected_ratio,
    posterior,
    ratio,
)
from discreet.studies.canvas import canvas, legend_below
from discreet.studies.study import RISK, Study, Value, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RHO = "0.099"
"""The block's rho of Tables 4 and 5."""

PRIORS = ("1/2", "1/5", "1/10", "1/50", "1/864")

POSTERIORS = (0.525, 0.574, 0.621, 0.667, 0.709)
"""Table 4, at noisy values 1 to 5 and an even prior."""

PRINTED_MASS = {1: 0.161}
"""Table 4, column Mass, where it is known to us."""

RATIOS = (1.05, 1.13, 1.17, 1.21, 1.22)
"""Table 5, by prior."""

ACCURACY = 0.5888
"""The chance of a right decision at an even prior."""

LEVEL_RHOS = {
    "US": 0.0509,
    "State": 0.0505,
    "County": 0.0514,
    "Tract": 0.0504,
    "Block_Group": 0.2465,
    "Block": 0.0992,
}
"""The rho of the detailed query by level, as the paper rounds them."""


def risk_table_4() -> Study:
    """Compute posterior and ratio at noisy values 1 to 5, and how likely each value is.

    >>> [f"{row[1]:.3f} {row[2]:.3f} {row[4]:.3f}" for row in risk_table_4().rows[:2]]
    ['0.178 0.161 0.525', '0.161 0.119 0.574']
    """
    noise = GaussianNoise(1 / (2 * Fraction(RHO)))
    rows: list[tuple[Value, ...]] = []
    for noisy, known in zip(range(1, 6), POSTERIORS, strict=True):
        value = posterior(noisy, rho=RHO, prior="1/2", known=0)
        rows.append(
            (
                noisy,
                float(noise.pmf(noisy - 1)),
                float(noise.pmf(noisy)),
                PRINTED_MASS.get(noisy),
                value,
                ratio(noisy, rho=RHO, prior="1/2", known=0),
                known,
                difference(value, known),
            )
        )
    return Study(
        "risk-table-4",
        "Posterior of one person at five noisy counts of a block, even prior",
        RISK,
        (
            "noisy",
            "mass_present",
            "mass_absent",
            "published_mass",
            "posterior",
            "ratio",
            "published",
            "difference",
        ),
        table(rows),
        (
            f"rho = {RHO}, variance 1/(2 rho). published is the posterior.",
            "The column Mass is printed for X1 = 0 (mass_absent); if the person is there it is mass_present.",
        ),
    )


def draw_risk_table_4(study: Study) -> Figure:
    """Draw the posterior, and the two masses."""
    with canvas(study, (7.2, 3.3), 1, 2) as (figure, (left, right)):
        noisy = study.numbers("noisy")
        left.plot(noisy, study.numbers("posterior"), "o-", color=BLUE, label="computed")
        left.plot(noisy, study.numbers("published"), "D", color=VERMILION, mfc="none", label="published")
        left.set_ylabel("posterior")
        right.plot(noisy, study.numbers("mass_present"), "o-", color=BLUE, label="person present")
        right.plot(noisy, study.numbers("mass_absent"), "s--", color=GREY, label="person absent")
        right.plot(
            noisy, study.numbers("published_mass"), "D", color=VERMILION, mfc="none", label="published"
        )
        right.set_ylabel("probability of the noisy value")
        right.set_ylim(bottom=0)
        for ax in (left, right):
            ax.set_xticks(noisy)
            ax.set_xlabel("noisy count")
            ax.legend()
    return figure


def risk_table_5() -> Study:
    """Compute R, the expected ratio, for five priors.

    >>> [round(row[1], 2) for row in risk_table_5().rows]
    [1.05, 1.13, 1.17, 1.21, 1.22]
    """
    values = expected_ratio(rho=RHO, prior=PRIORS)
    real = expected_ratio(variance=1 / Fraction(RHO), prior=PRIORS)
    rows = [
        (prior, value, known, difference(float(value), known), other)
        for prior, value, known, other in zip(PRIORS, values, RATIOS, real, strict=True)
    ]
    return Study(
        "risk-table-5",
        "R: the ratio of posterior to prior on average, the person being there",
        RISK,
        ("prior", "expected_ratio", "published", "difference", "expected_ratio_real_noise"),
        table(rows),
        (f"rho = {RHO}, variance 1/(2 rho); real noise: variance 1/rho.",),
    )


def draw_risk_table_5(study: Study) -> Figure:
    """Draw R by prior."""
    with canvas(study, (5.6, 3.3)) as (figure, (ax,)):
        place = np.arange(len(study.rows))
        ax.plot(place, study.numbers("expected_ratio"), "o-", color=BLUE, label="variance 1/(2 rho)")
        ax.plot(place, study.numbers("published"), "D", color=VERMILION, mfc="none", label="published")
        ax.plot(place, study.numbers("expected_ratio_real_noise"), "s--", color=GREY, label="variance 1/rho")
        ax.set_xticks(place, [str(prior) for prior in study.column("prior")])
        ax.set_xlabel("prior")
        ax.set_ylabel("R")
        ax.legend()
    return figure


def risk_priors_noisy() -> Study:
    """Compute posterior and ratio over the noisy value for five priors.

    >>> study = risk_priors_noisy().where(prior="1/2", noisy=1)
    >>> round(study.rows[0][2], 3)
    0.525
    """
    noisy = np.arange(-10, 21)
    rows: list[tuple[Value, ...]] = []
    for prior in PRIORS:
        beliefs = posterior(noisy, rho=RHO, prior=prior, known=0)
        ratios = ratio(noisy, rho=RHO, prior=prior, known=0)
        known = dict(zip(range(1, 6), POSTERIORS, strict=True)) if prior == "1/2" else {}
        for value, belief, times in zip(noisy.tolist(), beliefs, ratios, strict=True):
            printed = known.get(value)
            rows.append((prior, value, belief, times, printed, difference(float(belief), printed)))
    return Study(
        "risk-priors-noisy",
        "Posterior and ratio over the noisy value, five priors",
        RISK,
        ("prior", "noisy", "posterior", "ratio", "published", "difference"),
        table(rows),
        (f"rho = {RHO}, variance 1/(2 rho). published: the posteriors of Table 4.",),
    )


def draw_risk_priors_noisy(study: Study) -> Figure:
    """Draw both on logarithmic scales."""
    with canvas(study, (7.2, 3.6), 1, 2) as (figure, axes):
        for ax, column in zip(axes, ("posterior", "ratio"), strict=True):
            for prior, line in zip(PRIORS, LINES, strict=False):
                part = study.where(prior=prior)
                ax.plot(part.numbers("noisy"), part.numbers(column), label=f"p = {prior}", **line)
            ax.set_yscale("log")
            ax.set_xlabel("noisy count")
            ax.set_ylabel(column)
        legend_below(figure, axes[0])
    return figure


def rho_grid(points: int = 121) -> list[float]:
    """Return values of rho from 0.001 to 10, evenly spaced in their logarithms."""
    return [float(f"{rho:.6g}") for rho in np.geomspace(1e-3, 10.0, points)]


def risk_priors_rho() -> Study:
    """Compute the expected posterior and R over rho for five priors.

    >>> study = risk_priors_rho().where(prior="1/2")
    >>> bool((np.diff(study.numbers("expected_ratio")) > 0).all())
    True
    """
    rhos = sorted([*rho_grid(), float(RHO)])
    rows: list[tuple[Value, ...]] = []
    for prior, printed in zip(PRIORS, RATIOS, strict=True):
        ratios = expected_ratio(rho=rhos, prior=prior)
        beliefs = expected_posterior(rho=rhos, prior=prior)
        for rho, belief, times in zip(rhos, beliefs, ratios, strict=True):
            known = printed if rho == float(RHO) else None
            rows.append((prior, rho, belief, times, known, difference(float(times), known)))
    return Study(
        "risk-priors-rho",
        "Expected posterior and ratio over rho, five priors, the person being there",
        RISK,
        ("prior", "rho", "expected_posterior", "expected_ratio", "published", "difference"),
        table(rows),
        ("Variance 1/(2 rho). published: R of Table 5, at rho = 0.099.",),
    )


def draw_risk_priors_rho(study: Study) -> Figure:
    """Draw both on logarithmic axes."""
    with canvas(study, (7.2, 3.6), 1, 2) as (figure, axes):
        for ax, column in zip(axes, ("expected_posterior", "expected_ratio"), strict=True):
            for prior, line in zip(PRIORS, LINES, strict=False):
                part = study.where(prior=prior)
                ax.plot(part.numbers("rho"), part.numbers(column), label=f"p = {prior}", **line)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xlabel(r"$\rho$")
            ax.set_ylabel(column.replace("_", " "))
        axes[1].plot(
            study.numbers("rho"),
            study.numbers("published"),
            "D",
            color="#000000",
            mfc="none",
            markersize=4,
            label="published R",
        )
        legend_below(figure, axes[1], 6)
    return figure


def risk_accuracy_rho() -> Study:
    """Compute how often the decision is right over rho: given that the person is there, and on average.

    >>> study = risk_accuracy_rho().where(prior="1/2", rho=0.099)
    >>> round(study.rows[0][2], 4)
    0.5888
    """
    rhos = sorted([*rho_grid(641), float(RHO)])
    rows: list[tuple[Value, ...]] = []
    for prior in PRIORS:
        there = decision_accuracy(rho=rhos, prior=prior)
        mean = decision_accuracy(rho=rhos, prior=prior, given="prior")
        for rho, value, average in zip(rhos, there, mean, strict=True):
            known = ACCURACY if prior == "1/2" and rho == float(RHO) else None
            rows.append((prior, rho, value, average, known, difference(float(value), known)))
    return Study(
        "risk-accuracy-rho",
        "How often the likelier answer is right, over rho",
        RISK,
        ("prior", "rho", "accuracy_present", "accuracy_average", "published", "difference"),
        table(rows),
        (
            "Variance 1/(2 rho). The teeth are real: the least noisy value at which the decision is "
            '"present" is whole, and falls by one from tooth to tooth.',
            "The average is over the prior; without a release it is the larger of p and 1 - p.",
        ),
    )


def draw_risk_accuracy_rho(study: Study) -> Figure:
    """Draw both over a logarithmic axis."""
    with canvas(study, (7.2, 3.8), 1, 2, sharey=True) as (figure, axes):
        titles = ("if the person is there", "averaged over the prior")
        for ax, column, title in zip(axes, ("accuracy_present", "accuracy_average"), titles, strict=True):
            for prior, line in zip(PRIORS, LINES, strict=False):
                part = study.where(prior=prior)
                shown = {**line, "linewidth": 1.1}
                ax.plot(part.numbers("rho"), part.numbers(column), label=f"p = {prior}", **shown)
            ax.set_xscale("log")
            ax.set_xlabel(r"$\rho$")
            ax.set_title(title)
        axes[0].set_ylabel("chance that the decision is right")
        legend_below(figure, axes[0])
    return figure


def risk_levels() -> Study:
    """Compute what each level of the 2020 Redistricting Data tells, with both readings of its rho.

    >>> for row in risk_levels().rows[-1:]:
    ...     print(row[0], round(row[3], 4), round(row[6], 4), round(row[9], 3))
    Block 0.0991 0.5888 0.563
    """
    release = load("pl94-2020-persons")
    rows: list[tuple[Value, ...]] = []
    for level in release.levels:
        place = next(i for i, query in enumerate(level.queries) if query.name == "detailed")
        event = level.events(release.neighbours)[place]
        assert isinstance(event, DiscreteGaussian)
        rho = 1 / event.variance
        halved = event.variance / 2
        known = LEVEL_RHOS[level.name]
        values: list[float] = []
        for variance in (halved, event.variance):
            values += [
                float(variance),
                expected_ratio(variance=variance, prior="1/2"),
                decision_accuracy(variance=variance, prior="1/2"),
            ]
        rows.append((level.name, known, difference(float(rho), known), float(rho), *values))
    return Study(
        "risk-levels",
        "PL 94-171, persons: the detailed count of one area of each level, even prior",
        RISK,
        (
            "level",
            "published",
            "difference",
            "rho",
            "variance_as_published",
            "expected_ratio_as_published",
            "accuracy_as_published",
            "variance_real",
            "expected_ratio_real",
            "accuracy_real",
        ),
        table(rows),
        (
            "published is rho, as the paper rounds it; it fits shares of a total of 2.56, where the "
            "configuration has 293764/114921, about 2.5562.",
            "As published: variance 1/(2 rho). Real: variance 1/rho, since the Bureau's rho is for the "
            "replacement of one record, which changes two cells by one each.",
        ),
    )


def draw_risk_levels(study: Study) -> Figure:
    """Draw the accuracy by level, both readings."""
    with canvas(study, (6.4, 3.4)) as (figure, (ax,)):
        place = np.arange(len(study.rows))
        for shift, column, colour, label in (
            (-0.18, "accuracy_as_published", VERMILION, "variance 1/(2 rho), as published"),
            (0.18, "accuracy_real", BLUE, "variance 1/rho, the real noise"),
        ):
            values = study.numbers(column)
            bars = ax.bar(place + shift, values - 0.5, 0.34, bottom=0.5, color=colour, label=label)
            ax.bar_label(bars, [f"{value:.3f}" for value in values], fontsize=7, padding=1)
        ax.set_xticks(place, [str(name).replace("_", " ") for name in study.column("level")])
        ax.set_ylim(0.5, math.ceil(20 * study.numbers("accuracy_as_published").max()) / 20)
        ax.set_ylabel("chance that the decision is right")
        ax.legend()
    return figure
