"""The eight levels of the 2022 allocation, each by itself: curves, epsilons, improvement and trade-off."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.calibration import calibrate
from discreet.accounting.comparisons import ZCDP
from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.budget.events import DiscreteGaussian, Event
from discreet.studies.canvas import (
    EIGHT,
    EXACT,
    REDUCED,
    ZCDP_LINE,
    canvas,
    delta_axis,
    legend_below,
    unit_square,
)
from discreet.studies.study import PNAS, Study, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRESET = "dhc-2022-08-25"
DELTA = "1e-11"
"""The delta at which the paper states its results by level."""

EPSILONS = {
    ("US", DELTA): 2.4682,
    ("State", DELTA): 10.125,
    ("County", DELTA): 5.3276,
    ("Block", DELTA): 0.91783,
    ("US", "1e-5"): 1.4781,
    ("State", "1e-5"): 6.5716,
    ("County", "1e-5"): 3.3285,
    ("Block", "1e-5"): 0.52219,
}
"""Epsilon by level and delta where a reference is known, to the digits known."""

UNUSED = {"State": 8.50, "Block": 13.76}
"""Percent of epsilon unused at delta = 1e-11: smallest and largest, in the abstract of arXiv version 1."""


def level_events() -> dict[str, tuple[Event, ...]]:
    """Return the events of each level by itself.

    >>> {name: str(events[0].variance) for name, events in level_events().items()}["US"]
    '5000/73'
    """
    return {level.name: tuple(level.events("unbounded")) for level in load(PRESET).levels}


def reduced_factors() -> dict[str, Fraction]:
    """Return by which factor each level's variance may shrink at delta = 1e-11.

    >>> reduced_factors()["Block"]
    Fraction(9397, 12500)
    """
    found = calibrate(load(PRESET), zcdp=True, delta=DELTA, by="level")
    return {level.name: level.factor for level in found.levels}


def level_curves() -> Study:
    """Compute the eight epsilon-delta curves, exact and by zCDP.

    >>> level_curves().columns
    ('level', 'delta', 'epsilon', 'zcdp_epsilon', 'published', 'difference')
    """
    rows = []
    deltas = [f"1e-{place}" for place in range(1, 22)]
    for name, events in level_events().items():
        loss, zcdp = compose(events), ZCDP(events)
        for delta, epsilon in zip(deltas, loss.epsilon(delta=deltas), strict=True):
            known = EPSILONS.get((name, delta))
            value = max(float(epsilon), 0.0)
            rows.append(
                (name, float(delta), value, zcdp.epsilon(delta=float(delta)), known, difference(value, known))
            )
    return Study(
        "level-curves",
        "Privacy curves of the eight geographic levels, 2022 allocation, each level alone",
        PNAS,
        ("level", "delta", "epsilon", "zcdp_epsilon", "published", "difference"),
        table(rows),
        ("Ten equal queries a level, one record added or removed.",),
    )


def draw_level_curves(study: Study) -> Figure:
    """Draw a panel for each level."""
    with canvas(study, (7.2, 4.4), 2, 4, sharey=True) as (figure, axes):
        for ax, name in zip(axes, study.distinct("level"), strict=True):
            part = study.where(level=name)
            ax.plot(part.numbers("zcdp_epsilon"), part.numbers("delta"), **ZCDP_LINE)
            ax.plot(part.numbers("epsilon"), part.numbers("delta"), **EXACT)
            delta_axis(ax, -21)
            ax.set_title(str(name))
            ax.set_xlim(left=0)
            ax.set_xlabel(r"$\varepsilon$")
        for ax in axes[::4]:
            ax.set_ylabel(r"$\delta$")
        legend_below(figure, axes[0])
    return figure


def level_epsilon() -> Study:
    """Compute epsilon of each level at delta = 1e-11 and 1e-5.

    >>> [round(row[2], 4) for row in level_epsilon().published()][:2]
    [2.4682, 1.4781]
    """
    rows = []
    for name, events in level_events().items():
        loss, zcdp = compose(events), ZCDP(events)
        for delta in (DELTA, "1e-5"):
            value, promise = loss.epsilon(delta=delta), zcdp.epsilon(delta=float(delta))
            known = EPSILONS.get((name, delta))
            rows.append(
                (name, float(delta), value, promise, 1 - value / promise, known, difference(value, known))
            )
    return Study(
        "level-epsilon",
        "Epsilon of each geographic level at two values of delta, 2022 allocation",
        PNAS,
        ("level", "delta", "epsilon", "zcdp_epsilon", "improvement", "published", "difference"),
        table(rows),
        ("Published values are known to us for four of the levels, with four or five digits.",),
    )


def draw_level_epsilon(study: Study) -> Figure:
    """Draw both epsilons of each level, joined by a line."""
    with canvas(study, (7.2, 3.3), 1, 2, sharey=True) as (figure, axes):
        for ax, delta in zip(axes, study.distinct("delta"), strict=True):
            part = study.where(delta=delta)
            places = np.arange(len(part.rows))[::-1]
            exact, promise = part.numbers("epsilon"), part.numbers("zcdp_epsilon")
            ax.hlines(places, exact, promise, color="#BBBBBB", linewidth=1)
            ax.plot(promise, places, "s", color=ZCDP_LINE["color"], label=ZCDP_LINE["label"], markersize=4.5)
            ax.plot(exact, places, "o", color=EXACT["color"], label="exact", markersize=4.5)
            ax.set_yticks(places, [str(name) for name in part.column("level")])
            ax.set_xlim(left=0)
            ax.set_xlabel(r"$\varepsilon$")
            ax.set_title(rf"$\delta = 10^{{{round(np.log10(float(str(delta))))}}}$")
        legend_below(figure, axes[0])
    return figure


def level_improvement() -> Study:
    """Compute by how much the exact epsilon lies below zCDP's, against delta.

    >>> row = level_improvement().published()[0]
    >>> row[0], round(row[2], 2), row[3]
    ('State', 8.5, 8.5)
    """
    rows = []
    deltas = [f"{digit}e-{place}" for place in range(2, 16) for digit in (5, 2, 1)]
    for name, events in level_events().items():
        loss, zcdp = compose(events), ZCDP(events)
        for delta, epsilon in zip(deltas, loss.epsilon(delta=deltas), strict=True):
            value = 100 * (1 - max(float(epsilon), 0.0) / zcdp.epsilon(delta=float(delta)))
            known = UNUSED.get(name) if delta == DELTA else None
            rows.append((name, float(delta), value, known, difference(value, known)))
    return Study(
        "level-improvement",
        "Share of zCDP's epsilon that is not used, by level and delta, 2022 allocation",
        PNAS,
        ("level", "delta", "improvement_percent", "published", "difference"),
        table(rows),
        ("PEPG and Tract Subset Group have the same noise and so the same curve.",),
    )


def draw_level_improvement(study: Study) -> Figure:
    """Draw one line for each level."""
    with canvas(study, (7.2, 3.6)) as (figure, (ax,)):
        for name, line in zip(study.distinct("level"), EIGHT, strict=True):
            part = study.where(level=name)
            # PEPG, dotted, lies on top of the level with the same noise
            over = 5 if name == "PEPG" else 2
            ax.plot(
                part.numbers("delta"),
                part.numbers("improvement_percent"),
                label=str(name),
                zorder=over,
                **line,
            )
        ax.set_xscale("log")
        ax.set_xlim(1e-15, 0.05)
        ax.set_ylim(0, None)
        ax.set_xlabel(r"$\delta$")
        ax.set_ylabel("improvement, percent")
        figure.legend(loc="outside right center", handlelength=3.6)
    return figure


def level_tradeoff() -> Study:
    """Compute trade-off curves of each level: with the same noise, with reduced noise, and by zCDP.

    >>> study = level_tradeoff()
    >>> all(row[2] >= row[3] >= row[4] for row in study.rows)   # same noise protects best, zCDP knows least
    True
    """
    alphas = [0.0, 0.001, *(k / 200 for k in range(1, 20)), *(k / 40 for k in range(4, 41))]
    factors = reduced_factors()
    rows = []
    for name, events in level_events().items():
        (first, *_) = compose(events).events
        assert isinstance(first, DiscreteGaussian)
        less = DiscreteGaussian(variance=first.variance * factors[name], times=first.times)
        # where a factor of the transform vanishes exactly NumPy warns of inf * 0; the engine handles it
        with np.errstate(invalid="ignore"):
            same = compose(events).tradeoff(alpha=alphas)
            reduced = compose([less]).tradeoff(alpha=alphas)
        promise = ZCDP(events).tradeoff(alpha=np.array(alphas))
        rows += [(name, *values, None, None) for values in zip(alphas, same, reduced, promise, strict=True)]
    return Study(
        "level-tradeoff",
        "Trade-off curves by level with the same and with reduced noise, 2022 allocation",
        PNAS,
        ("level", "alpha", "same_noise", "reduced_noise", "zcdp", "published", "difference"),
        table(rows),
        (
            "Reduced noise just keeps a level's zCDP promise at delta = 1e-11.",
            "No published values are known to us.",
        ),
    )


def draw_level_tradeoff(study: Study) -> Figure:
    """Draw a panel for each level."""
    with canvas(study, (7.2, 4.6), 2, 4, sharex=True, sharey=True) as (figure, axes):
        for ax, name in zip(axes, study.distinct("level"), strict=True):
            part = study.where(level=name)
            alpha = part.numbers("alpha")
            ax.plot(alpha, part.numbers("same_noise"), **{**EXACT, "label": "exact, same noise"})
            ax.plot(alpha, part.numbers("reduced_noise"), **REDUCED)
            ax.plot(alpha, part.numbers("zcdp"), **ZCDP_LINE)
            unit_square(ax)
            ax.set_title(str(name))
        for ax in axes[4:]:
            ax.set_xlabel(r"type I error $\alpha$")
        for ax in axes[::4]:
            ax.set_ylabel(r"type II error $f(\alpha)$")
        legend_below(figure, axes[0])
    return figure
