"""SafeTab-P with the parameters of 2020: what suppression does to small groups, and margins against rho."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.budget import load
from discreet.release.safetab.design import exact_rho_for_margin, rho_for_margin, shown
from discreet.release.safetab.mechanism import bureau_margin, noise_for, suppression_threshold, variance_of
from discreet.release.safetab.mechanism import margin as exact_margin
from discreet.report.plots import BLUE, GREEN, GREY, VERMILION
from discreet.studies.canvas import BLACK, ORANGE, canvas, legend_below
from discreet.studies.study import SAFETAB, Study, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAMMA, STABILITY, CHANCE = Fraction(1, 10), 9, Fraction(9999, 10000)
PUBLISHED_THRESHOLDS = {Fraction("0.008"): 93, Fraction("0.159"): 21, Fraction("0.543"): 11}
"""Suppression thresholds by the rho of a level, for gamma 0.1 and a chance of 0.9999."""

LARGEST = 300
_LINES: tuple[dict[str, Any], ...] = (
    {"color": VERMILION, "linestyle": "-"},
    {"color": BLUE, "linestyle": "--"},
    {"color": BLACK, "linestyle": "-."},
)


def safetab_suppression() -> Study:
    """Compute the chance of suppression and the bias of released totals by the size of a group.

    >>> study = safetab_suppression()
    >>> [row[:4] for row in study.published()]
    [(0.008, 625.0, 93, 93), (0.159, 31.446540880503143, 21, 21), (0.543, 9.208103130755065, 11, 11)]
    """
    rows: list[tuple[Any, ...]] = []
    sizes = np.arange(LARGEST + 1)
    for rho, published in PUBLISHED_THRESHOLDS.items():
        noise = noise_for((1 - GAMMA) * rho, STABILITY, "zcdp")
        threshold = suppression_threshold(noise, CHANCE)
        assert threshold is not None
        found = shown(sizes, noise, threshold)
        for size in sizes:
            known = published if size == 0 else None
            rows.append(
                (
                    float(rho),
                    float(variance_of(noise)),
                    threshold,
                    known,
                    difference(threshold, known),
                    size,
                    found.suppressed[size],
                    found.bias[size],
                    found.overall_bias[size],
                )
            )
    columns = (
        "rho",
        "sigma2",
        "threshold",
        "published",
        "difference",
        "size",
        "suppressed",
        "bias_if_released",
        "bias_dropped_as_zero",
    )
    return Study(
        "safetab-suppression",
        "SafeTab-P: suppression of small groups below the states",
        SAFETAB,
        columns,
        table(rows),
        (
            "published: the suppression threshold T; the curves are published as figures only.",
            "A group is dropped if its noisy total is not above T; gamma 0.1, stability 9, chance 0.9999.",
            "bias_dropped_as_zero: a reader takes a group that is not in the table for empty.",
        ),
    )


def draw_safetab_suppression(study: Study) -> Figure:
    """Draw the chance of suppression, and both biases, against the size of the group."""
    with canvas(study, (7.2, 3.4), 1, 3, sharex=True) as (figure, axes):
        panels = (
            ("suppressed", "chance of suppression"),
            ("bias_if_released", "bias of a released total"),
            ("bias_dropped_as_zero", "bias, dropped taken as 0"),
        )
        for ax, (column, text) in zip(axes, panels, strict=True):
            for rho, style in zip(study.distinct("rho"), _LINES, strict=True):
                part = study.where(rho=rho)
                label = rf"$\rho = {rho}$, T = {part.column('threshold')[0]}"
                ax.plot(part.numbers("size")[1:], part.numbers(column)[1:], label=label, **style)
            ax.set_xscale("log")
            ax.set_xlim(1, LARGEST)
            ax.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
            ax.minorticks_off()
            ax.set_xlabel("people in the group")
            ax.set_title(text, fontsize=8)
        legend_below(figure, axes[0])
    return figure


def safetab_margins() -> Study:
    """Compute rho from the margins of error, and margins from the published rho, by geography and level.

    >>> rows = safetab_margins().where(geography="COUNTY").rows
    >>> [(row[2], row[3], round(row[4], 4), row[5], row[8], row[9]) for row in rows]
    [('regional', 50, 0.0077, 0.008, 49, 49), ('detailed', 11, 0.1587, 0.159, 10, 11)]
    """
    rows = []
    for which, preset in (("US", "ddhca-2020"), ("PR", "ddhca-2020-pr")):
        for level in load(preset).levels:
            assert level.rho is not None
            geography, kind = level.name.split(", ")
            margin = wanted_margin(level.rho)
            rho = rho_for_margin(margin, stability=STABILITY, gamma=GAMMA)
            noise = noise_for((1 - GAMMA) * level.rho, STABILITY, "zcdp")
            variance = variance_of(noise)
            rows.append(
                (
                    which,
                    geography,
                    kind,
                    margin,
                    float(rho),
                    float(level.rho),
                    float(rho - level.rho),
                    float(variance),
                    bureau_margin(variance),
                    exact_margin(noise),
                    float(exact_rho_for_margin(margin, stability=STABILITY, gamma=GAMMA)),
                )
            )
    columns = (
        "pass",
        "geography",
        "level",
        "wanted_margin",
        "rho",
        "published",
        "difference",
        "sigma2",
        "margin_of_error",
        "exact_margin",
        "exact_rho",
    )
    return Study(
        "safetab-margins",
        "SafeTab-P: 95 % margins of error and rho",
        SAFETAB,
        columns,
        table(rows),
        (
            "published: rho of the production configuration. rho: 1.9208 * 9 / (0.9 M^2) for the wanted "
            "margin M, the largest whole number whose rho rounds to the published one at three decimals.",
            "margin_of_error: floor(1.96 sigma) of a published cell. exact_margin: the smallest integer "
            "the noise does not exceed with 95 %. exact_rho: the least rho that keeps the wanted margin.",
        ),
    )


def wanted_margin(rho: Fraction) -> int:
    """Return the largest whole margin whose rho is this one at three decimals.

    >>> [wanted_margin(Fraction(rho)) for rho in ("2.134", "0.159", "0.008")]
    [3, 11, 50]
    """
    for margin in range(200, 0, -1):
        if round(rho_for_margin(margin, stability=STABILITY, gamma=GAMMA), 3) == rho:
            return margin
    raise ValueError(f"no whole margin has rho {rho}")


def draw_safetab_margins(study: Study) -> Figure:
    """Draw rho against the margin, by the normal law and exactly, with the levels of 2020."""
    with canvas(study, (6.0, 3.6)) as (figure, (ax,)):
        margins = np.arange(1, 61)
        normal = [float(rho_for_margin(int(m), stability=STABILITY, gamma=GAMMA)) for m in margins]
        exact = [float(exact_rho_for_margin(int(m), stability=STABILITY, gamma=GAMMA)) for m in margins]
        ax.plot(margins, normal, color=VERMILION, linestyle="--", label=r"normal law, $19.208 / M^2$")
        ax.plot(margins, exact, color=BLUE, marker=".", markersize=4, label="exact, discrete Gaussian")
        names = {3: "detailed, nation and states", 11: "detailed, below the states", 50: "regional"}
        for (margin, name), (mark, colour) in zip(
            names.items(), (("D", GREEN), ("s", ORANGE), ("o", GREY)), strict=True
        ):
            part = study.where(wanted_margin=margin)
            x, y = part.numbers("wanted_margin")[:1], part.numbers("published")[:1]
            ax.plot(x, y, mark, color=colour, markeredgecolor=BLACK, markersize=7, label=f"2020: {name}")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks([1, 2, 3, 5, 10, 20, 50], ["1", "2", "3", "5", "10", "20", "50"])
        ax.minorticks_off()
        ax.set_xlabel("95 % margin of error of a cell, M")
        ax.set_ylabel(r"$\rho$ of the level")
        ax.legend()
    return figure
