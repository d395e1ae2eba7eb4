"""Why heterogeneous noise is harder: two discrete Gaussians convolved, and the nodes that a sieve leaves."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.loss import Loss
from discreet.accounting.overall import account
from discreet.accounting.published import SequentialSieve
from discreet.accounting.sieve import sieve
from discreet.budget import load
from discreet.budget.events import DiscreteGaussian, Event
from discreet.noise import GaussianNoise
from discreet.report.plots import BLUE, GREEN, VERMILION
from discreet.studies.canvas import BLACK, canvas, legend_below
from discreet.studies.dhc import PRESET
from discreet.studies.study import SIEVE, Study, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EQUAL, UNEQUAL = "equal variances 5 and 5", "variances 10000/999 and 1000/31"
PAIRS = {EQUAL: ("5", "5"), UNEQUAL: ("10000/999", "1000/31")}
"""Variances of the two variables; the second pair is that of a State and a County query of the 2020 DHC."""

DISCARD = 1e-18
_MOST = 6_000_000


def convolution() -> Study:
    """Compute P(S = s) for S = a_1 X_1 + a_2 X_2, a = 1 / variance, beside the normal density on the lattice.

    >>> study = convolution()
    >>> equal, unequal = (study.where(case=name) for name in (EQUAL, UNEQUAL))
    >>> bool(np.abs(equal.numbers("probability") - equal.numbers("normal")).max() < 1e-12)
    True
    >>> bool((unequal.numbers("probability") / unequal.numbers("normal")).max() > 30)
    True
    """
    rows = []
    for name, variances in PAIRS.items():
        laws = [GaussianNoise(v) for v in variances]
        loss = Loss([DiscreteGaussian(variance=v) for v in variances])
        reach = [math.ceil(9 * math.sqrt(law.variance)) for law in laws]
        u, v = np.arange(-reach[0], reach[0] + 1), np.arange(-reach[1], reach[1] + 1)
        steps = [int(1 / law.variance / loss.step) for law in laws]
        chances = np.multiply.outer(laws[0].pmf(u), laws[1].pmf(v)).ravel()
        values, place = np.unique(np.add.outer(steps[0] * u, steps[1] * v).ravel(), return_inverse=True)
        total = np.bincount(place.ravel(), weights=chances)
        h, R = float(loss.step), float(loss.R)
        normal = h * np.exp(-((h * values) ** 2) / (2 * R)) / math.sqrt(2 * math.pi * R)
        for m, chance, density in zip(values, total, normal, strict=True):
            if abs(h * m) <= 2.5 * math.sqrt(R) and chance > 1e-12:
                rows.append((name, h * m, chance, density, None, None))
    return Study(
        "convolution",
        "Two discrete Gaussians: probabilities of the weighted sum against the normal density",
        SIEVE,
        ("case", "sum", "probability", "normal", "published", "difference"),
        table(rows),
        (
            "Normal: density of the same variance proxy times the lattice step.",
            "With unequal variances neighbouring lattice points differ by orders of magnitude; values below "
            "1e-12 are left out.",
        ),
    )


def draw_convolution(study: Study) -> Figure:
    """Draw both cases: equal variances lie on the density, unequal ones do not."""
    with canvas(study, (7.2, 3.4), 1, 2) as (figure, axes):
        for ax, name in zip(axes, PAIRS, strict=True):
            part = study.where(case=name)
            s, chance = part.numbers("sum"), part.numbers("probability")
            size = 4.5 if name == EQUAL else 1.8
            ax.plot(s, chance, "o", color=BLUE, label="probability", markersize=size)
            ax.plot(
                s, part.numbers("normal"), color=VERMILION, linestyle="--", label="normal density times step"
            )
            ax.set_xlabel("weighted sum S")
            ax.set_title(name)
        axes[0].set_ylim(bottom=0)
        axes[1].set_yscale("log")
        axes[1].set_xticks([-0.8, -0.4, 0, 0.4, 0.8])
        axes[0].set_ylabel("probability of one value")
        legend_below(figure, axes[0])
    return figure


def nodes(*, spines: int | None = None) -> Study:
    """Compute how many quadrature nodes the pair (13, spine) needs, without and with the sieve.

    Nodes and sequential survivors are those of the published method; interval survivors those of the
    package's sieve, by interval arithmetic, at the same tolerance. Counts are of the whole circle.

    >>> row = nodes(spines=1).rows[0]
    >>> row[0], row[1] > 1000 * row[2]
    ('(13, 13), 50 digits', True)
    """
    whole = account(load(PRESET))
    release = load(PRESET)
    main = whole.events((13, 13))
    deep = SequentialSieve(main, digits=50)
    rows: list[tuple[str | int | float | None, ...]] = [
        ("(13, 13), 50 digits", deep.nodes, deep.survivors, None, None, None, None)
    ]
    for spine in release.paths[:spines]:
        events = whole.events((min(13, spine), max(13, spine)))
        total, survivors, kept, intervals = _counts(events)
        rows.append((f"(13, {spine})", total, survivors, kept, intervals, None, None))
    return Study(
        "nodes",
        "Quadrature nodes of the 2020 DHC, main path against each spine, with and without the sieve",
        SIEVE,
        (
            "pair",
            "nodes",
            "sequential_survivors",
            "interval_survivors",
            "intervals",
            "published",
            "difference",
        ),
        table(rows),
        (
            f"Tolerance {DISCARD:g}, but 1e-50 in the first row. Counts are of the published method as "
            "written anew in this package; the paper's own tolerances are not known to us.",
            "The sequential sieve is not run where it would start with more than six million nodes.",
        ),
    )


def draw_nodes(study: Study) -> Figure:
    """Draw the three counts of each pair, sorted by the first."""
    with canvas(study, (7.2, 3.6)) as (figure, (ax,)):
        total = study.numbers("nodes")[1:]
        order = np.argsort(total, kind="stable")
        x = np.arange(order.size)
        labels = [str(name)[5:-1] for name in study.column("pair")[1:]]
        ax.plot(x, total[order], "s", color=BLACK, markersize=4, label="all nodes")
        for column, mark, colour, label in (
            ("sequential_survivors", "o", BLUE, "left by the sequential sieve"),
            ("interval_survivors", "x", GREEN, "left by the interval sieve"),
        ):
            ax.plot(x, study.numbers(column)[1:][order], mark, color=colour, markersize=5, label=label)
        ax.set_yscale("log")
        ax.set_xticks(x, [labels[k] for k in order], fontsize=6.5)
        ax.set_xlim(-0.7, order.size - 0.3)
        ax.grid(axis="x", visible=False)
        ax.set_xlabel("spine, paired with the main path 13")
        ax.set_ylabel("nodes")
        legend_below(figure, ax)
    return figure


def _counts(events: tuple[Event, ...]) -> tuple[int, int | None, int, int]:
    """All nodes, those left by the sequential sieve, those left by the interval sieve, and its intervals."""
    loss = Loss(events)
    h = float(loss.step)
    reach = math.sqrt(2 * float(loss.R) * math.log(2 / DISCARD)) / h
    total = 2 * (math.floor(reach) + 1) + 1
    sequential = SequentialSieve(events).survivors if total <= _MOST else None
    # the tolerance of the sieve alone: a falloff of 0 asks for the same depth everywhere
    found = sieve(
        loss, reach=math.pi / h, depth=-math.log(DISCARD), theta=0.0, falloff=0.0, scale=1 / math.sqrt(loss.R)
    )
    kept = found.nodes(float(Fraction(total) * loss.step), 10**7)
    return total, sequential, 2 * int(kept.size) - 1, int(found.low.size)
