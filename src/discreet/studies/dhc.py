"""The 2020 DHC by the sieve paper: the overall curve, the 43 spines, and main path against overall."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.budget.events import Event
from discreet.report.curves import curve_deltas
from discreet.report.plots import BLUE, GREEN, VERMILION
from discreet.studies.canvas import EXACT, ZCDP_LINE, canvas, delta_axis, legend_below, unit_square
from discreet.studies.study import SIEVE, Floats, Study, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRESET = "dhc-2020"
MAIN_DELTAS = {1e-10: 1.78319933504e-12, 1e-21: 3.017e-23}
"""delta of the main pair as published, by the delta for which zCDP gives the same epsilon."""

_kept: dict[int, Floats] = {}


def dhc_profile(*, jobs: int = 1, progress: Progress | None = None, every: int = 1) -> Study:
    """Compute the overall curve of the 2020 DHC at zCDP's epsilons for delta = 0.5, 0.1, ..., 1e-21.

    All 946 pairs of paths are compared; `every` takes each k-th pair only, for tests.
    """
    labels, _, epsilons, logs = _matrix(jobs, progress, every)
    main = labels.index((13, 13))
    worst = np.argmax(logs, axis=0)
    rows = []
    for k, (promise, epsilon) in enumerate(zip(curve_deltas(), epsilons, strict=True)):
        value = float(np.exp(logs[main, k]))
        known = MAIN_DELTAS.get(float(promise))
        rows.append(
            (
                epsilon,
                promise,
                np.exp(logs[worst[k], k]),
                "({}, {})".format(*labels[worst[k]]),
                value,
                known,
                difference(value, known),
            )
        )
    return Study(
        "dhc-profile",
        "2020 DHC, persons: privacy curve over all pairs of paths",
        SIEVE,
        ("epsilon", "zcdp_delta", "delta", "worst_pair", "main_delta", "published", "difference"),
        table(rows),
        (
            "Published values are of the main pair (13, 13).",
            "The last one, 3.017e-23, is not right: the published sum is cut at an absolute tail mass.",
        ),
    )


def draw_dhc_profile(study: Study) -> Figure:
    """Draw delta against epsilon, with zCDP's."""
    with canvas(study, (5.8, 3.8)) as (figure, (ax,)):
        epsilon = study.numbers("epsilon")
        ax.plot(epsilon, study.numbers("zcdp_delta"), **ZCDP_LINE)
        ax.plot(epsilon, study.numbers("delta"), **{**EXACT, "label": "exact, all pairs"})
        known = study.numbers("published")
        ax.plot(epsilon, known, "D", color="black", markersize=4, label="published, main pair")
        delta_axis(ax, -24)
        ax.set_xlim(5, 37)
        ax.set_xlabel(r"$\varepsilon$")
        ax.set_ylabel(r"$\delta(\varepsilon)$")
        ax.legend(loc="lower left")
    return figure


def dhc_sensitivity(*, jobs: int = 1, progress: Progress | None = None, every: int = 1) -> Study:
    """Compute by how much the main pair falls short of the worst, and the range over all pairs."""
    labels, _, epsilons, logs = _matrix(jobs, progress, every)
    main = logs[labels.index((13, 13))]
    gaps = np.expm1(logs - main)  # delta of each pair over that of the main one, less 1
    rows = [
        (
            epsilon,
            promise,
            np.exp(main[k]),
            gaps[:, k].max(),
            gaps[:, k].min(),
            np.median(gaps[:, k]),
            None,
            None,
        )
        for k, (promise, epsilon) in enumerate(zip(curve_deltas(), epsilons, strict=True))
    ]
    return Study(
        "dhc-sensitivity",
        "2020 DHC, persons: main path against all pairs of paths",
        SIEVE,
        (
            "epsilon",
            "zcdp_delta",
            "main_delta",
            "largest_excess",
            "smallest_excess",
            "median_excess",
            "published",
            "difference",
        ),
        table(rows),
        (
            "Excess: delta of a pair over that of the main pair at the same epsilon, less 1.",
            f"It ranges from {gaps.min():.3g} to {gaps.max():.3g}.",
        ),
    )


def draw_dhc_sensitivity(study: Study) -> Figure:
    """Draw the largest, smallest and median excess against epsilon."""
    with canvas(study, (5.8, 3.6)) as (figure, (ax,)):
        epsilon = study.numbers("epsilon")
        low, high = study.numbers("smallest_excess"), study.numbers("largest_excess")
        ax.fill_between(epsilon, low, high, color="#CFE3F1", label="range over all pairs", linewidth=0)
        ax.plot(epsilon, high, color=VERMILION, linestyle="--", label="overall (worst pair)")
        ax.plot(epsilon, study.numbers("median_excess"), color=BLUE, label="median pair")
        ax.plot(epsilon, low, color=GREEN, linestyle="-.", label="best pair")
        ax.axhline(0, color="black", linewidth=0.6)
        ax.set_xlabel(r"$\varepsilon$")
        ax.set_ylabel(r"$\delta$ over that of the main pair, less 1")
        ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0), useMathText=True)
        legend_below(figure, ax, 2)
    return figure


def dhc_tradeoff(*, jobs: int = 1, progress: Progress | None = None, alphas: int = 9) -> Study:
    """Compute the overall trade-off curve: the envelope over all pairs, beside the main pair and zCDP.

    The envelope is found at `alphas` type I errors; the main pair's curve is dense.
    """
    few = np.array([0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8][:alphas])
    smooth = [np.geomspace(1e-5, 0.01, 49), np.linspace(0, 0.1, 21), np.linspace(0.1, 1, 37)]
    dense = np.union1d(np.concatenate(smooth), few)
    whole = account(load(PRESET)).with_workers(jobs, progress)
    overall = dict(zip(few.tolist(), whole.tradeoff(alpha=few.tolist()), strict=True))
    main = whole.case(whole.main)
    alone = main.tradeoff(alpha=dense.tolist())
    promise = ZCDP(main.events).tradeoff(alpha=dense)
    rows = [
        (alpha, overall.get(float(alpha)), value, bound, None, None)
        for alpha, value, bound in zip(dense, alone, promise, strict=True)
    ]
    return Study(
        "dhc-tradeoff",
        "2020 DHC, persons: trade-off curve over all pairs of paths",
        SIEVE,
        ("alpha", "overall", "main_pair", "zcdp", "published", "difference"),
        table(rows),
        (
            "Overall: lower convex envelope of the minimum over all pairs.",
            "No published values are known to us.",
        ),
    )


def draw_dhc_tradeoff(study: Study) -> Figure:
    """Draw the curves and the points of the envelope, on plain and on logarithmic axes."""
    with canvas(study, (7.2, 3.9), 1, 2) as (figure, axes):
        for ax in axes:
            # zero has no place on a logarithmic axis
            shown = study.numbers("alpha") >= (0 if ax is axes[0] else 1e-9)
            alpha, overall = study.numbers("alpha")[shown], study.numbers("overall")[shown]
            ax.plot(alpha, study.numbers("zcdp")[shown], **ZCDP_LINE)
            ax.plot(alpha, study.numbers("main_pair")[shown], **{**EXACT, "label": "exact, main pair"})
            ax.plot(alpha, overall, "o", color="black", mfc="none", markersize=5, label="exact, all pairs")
            ax.set_xlabel(r"type I error $\alpha$")
        unit_square(axes[0])
        axes[1].set_xscale("log")
        axes[1].set_yscale("log")
        axes[1].set_xlim(1e-5, 1.2)
        axes[1].set_ylim(1e-7, 1.5)
        axes[1].minorticks_off()
        axes[0].set_ylabel(r"type II error $f(\alpha)$")
        legend_below(figure, axes[0])
    return figure


def dhc_spines() -> Study:
    """Compute the curves of the main path against each of the 43 spines.

    >>> len(dhc_spines().distinct("spine"))
    43
    """
    whole = account(load(PRESET))
    zcdp = ZCDP(whole.events(whole.main))
    deltas = np.array([float(f"1e-{place}") for place in range(1, 22, 2)])
    epsilons = [Fraction(e) for e in zcdp.epsilon(delta=deltas)]
    main = whole.case(whole.main).log_deltas(epsilons)
    rows = []
    for spine in load(PRESET).paths:
        label = (min(13, spine), max(13, spine))
        logs = whole.case(label).log_deltas(epsilons)
        rows += [
            (spine, float(e), bound, np.exp(log), np.expm1(log - base), None, None)
            for e, bound, log, base in zip(epsilons, deltas, logs, main, strict=True)
        ]
    return Study(
        "dhc-spines",
        "2020 DHC, persons: main path 13 against each of the 43 spines",
        SIEVE,
        ("spine", "epsilon", "zcdp_delta", "delta", "excess_over_main", "published", "difference"),
        table(rows),
        ("A person of path 13 replaced by one of another spine; no published values are known to us.",),
    )


def draw_dhc_spines(study: Study) -> Figure:
    """Draw 43 small panels."""
    spines = study.distinct("spine")
    with canvas(study, (7.2, 8.8), 9, 5, fitted=False, sharex=True, sharey=True) as (figure, axes):
        figure.subplots_adjust(left=0.1, right=0.985, top=0.935, bottom=0.06, hspace=0.3, wspace=0.12)
        for ax, spine in zip(axes, spines, strict=False):
            part = study.where(spine=spine)
            epsilon = part.numbers("epsilon")
            ax.plot(epsilon, part.numbers("zcdp_delta"), **{**ZCDP_LINE, "linewidth": 1})
            ax.plot(epsilon, part.numbers("delta"), **{**EXACT, "linewidth": 1.2})
            delta_axis(ax, -24, every=8)
            ax.set_xlim(0, 37)
            excess = part.numbers("excess_over_main")
            largest = excess[np.argmax(np.abs(excess))]
            said = "main pair" if spine == 13 else f"{largest:+.0e}" if largest else "no difference"
            ax.text(0.04, 0.08, f"13, {spine}\n{said}", transform=ax.transAxes, fontsize=7)
        for ax in axes[len(spines) :]:
            ax.set_axis_off()
        for ax in axes[38:43]:
            ax.tick_params(labelbottom=True)
        words = r"$\varepsilon$ (in each panel: the largest relative difference of $\delta$ to the main pair)"
        figure.supxlabel(words, fontsize=8.5, y=0.012)
        figure.supylabel(r"$\delta(\varepsilon)$", fontsize=9, x=0.01)
        handles, labels = axes[0].get_legend_handles_labels()
        axes[43].legend(handles, labels, loc="center left", bbox_to_anchor=(0.3, 0.3), fontsize=8)
    return figure


def _matrix(
    jobs: int, progress: Progress | None, every: int
) -> tuple[list[tuple[int, int]], ZCDP, Floats, Floats]:
    """Labels, zCDP, epsilons, and log delta of each pair (rows) at each epsilon; computed once a process."""
    whole = account(load(PRESET))
    zcdp = ZCDP(whole.events(whole.main))
    epsilons = zcdp.epsilon(delta=curve_deltas())
    chosen = [case for k, case in enumerate(whole.cases) if k % every == 0 or case[0] == whole.main]
    if every not in _kept:
        exact = [Fraction(e) for e in epsilons]
        tasks = [(events, exact) for _, events in chosen]
        _kept[every] = np.array(map_cases(_log_deltas, tasks, jobs=jobs, progress=progress))
    return [label for label, _ in chosen], zcdp, epsilons, _kept[every]


def _log_deltas(task: tuple[tuple[Event, ...], list[Fraction]]) -> Floats:
    events, epsilons = task
    return compose(events).log_deltas(epsilons)
