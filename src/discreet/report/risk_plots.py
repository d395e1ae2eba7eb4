"""Pictures of risk: one count, a hierarchy, a whole table, a whole release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.report.figures import STYLE
from discreet.report.plots import BLUE, GREY, LINES, VERMILION
from discreet.risk.attack import Attack
from discreet.risk.model import Numbers
from discreet.risk.table import TableRisk

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.risk.hierarchy import HierarchyPosterior
    from discreet.risk.profile import RiskProfile


def plot_laws(attack: Attack, *, ax: Axes) -> Axes:
    """Draw how likely each published value is, with the target and without.

    >>> from matplotlib.figure import Figure
    >>> ax = plot_laws(Attack(variance=5), ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines[:2]]
    ['target absent', 'target present']
    """
    seen = attack.outcomes(tolerance=1e-3)
    for name, logs, colour, mark in (
        ("target absent", seen.log_absent, GREY, "o"),
        ("target present", seen.log_present, BLUE, "D"),
    ):
        ax.plot(seen.noisy, np.exp(logs), mark, color=colour, markersize=3.5, label=name)
        ax.vlines(seen.noisy, 0, np.exp(logs), color=colour, linewidth=0.6)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("published value")
    ax.set_ylabel("probability")
    return ax


def plot_beliefs(attack: Attack, priors: Sequence[Numbers], *, ax: Axes) -> Axes:
    """Draw the posterior over the published value, one line for each prior.

    >>> from matplotlib.figure import Figure
    >>> ax = plot_beliefs(Attack(variance=5), ["1/2", "1/10"], ax=Figure().subplots())
    >>> [line.get_label() for line in ax.lines]
    ['prior 1/2', 'prior 1/10']
    """
    seen = attack.outcomes(tolerance=1e-6)
    for place, prior in enumerate(priors):
        line = LINES[place % len(LINES)]
        ax.plot(seen.noisy, attack.posterior(seen.noisy, prior=prior), label=f"prior {prior}", **line)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("published value")
    ax.set_ylabel("posterior: the target is present")
    return ax


def attack_figure(attack: Attack, priors: Sequence[Numbers], *, marked: Sequence[int] = ()) -> Figure:
    """Return the figure of one attack: both laws, and beliefs; `marked` values have a line."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.5), layout="constrained")
        left, right = figure.subplots(1, 2)
        plot_laws(attack, ax=left)
        plot_beliefs(attack, priors, ax=right)
        for ax in (left, right):
            ax.set_axisbelow(True)
            for value in marked:
                low, high = ax.get_xlim()
                if low < value < high:
                    ax.axvline(value, color="#555555", linewidth=0.8, linestyle=":")
            ax.legend(loc="best")
        figure.suptitle(
            f"One count, noise of variance {attack.variance:.6g}, {int(attack.known):,} others known",
            fontsize=9,
        )
    return figure


def table_figure(found: TableRisk) -> Figure:
    """Return the figure of a table: the share of rows whose ratio is above each value, by level."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        ax = figure.subplots()
        for place, (name, tally) in enumerate(list(found.tallies.items())[: len(LINES)]):
            shares = 1.0 - np.cumsum(tally.counts) / tally.total
            values = np.concatenate([tally.values[:1], tally.values])
            ax.step(values, np.concatenate([[1.0], shares]), where="post", label=name, **LINES[place])
        ax.axvline(2.0, color="#555555", linewidth=0.8, linestyle=":")
        smallest = 1.0 / max(tally.total for tally in found.tallies.values())
        ax.set_yscale("log")
        ax.set_ylim(max(smallest, 1e-7) / 2, 1.5)
        ax.set_xlabel("ratio: posterior over prior")
        ax.set_ylabel("share of rows above")
        ax.legend()
        hidden = len(found.tallies) - len(LINES)
        more = f"; {hidden} more levels are not drawn" if hidden > 0 else ""
        figure.suptitle(f"{found.rows:,} rows, prior {found.prior:.6g}{more}", fontsize=9)
    return figure


def profile_figure(profile: RiskProfile) -> Figure:
    """Return accuracy by level: one count, the whole level, everything."""
    import matplotlib
    from matplotlib.figure import Figure

    priors = profile.priors
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(3.4 * min(len(priors), 3) + 1.6, 3.4), layout="constrained")
        axes = figure.subplots(1, len(priors), squeeze=False, sharey=True)[0]
        for ax, prior in zip(axes, priors, strict=True):
            part = profile.at(prior)
            places = range(len(part.levels))
            ax.plot(
                [row.accuracy for row in part.levels],
                places,
                "s",
                color=BLUE,
                label="every count of the level",
            )
            ax.plot([row.accuracy for row in part.one_count], places, "o", color=GREY, label="one count")
            bound = part.overall[0].accuracy
            ax.axvline(bound, color=VERMILION, linestyle="--", label="everything published")
            ax.axvline(part.overall[0].baseline, color=GREY, linestyle=":", label="nothing published")
            ax.set_yticks(list(places), [row.scope for row in part.levels])
            ax.set_xlabel("right, averaged over the prior")
            ax.set_title(f"prior {prior:g}")
        axes[0].invert_yaxis()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle(f"{profile.name}: the best any adversary can do", fontsize=9)
    return figure


def hierarchy_figure(found: HierarchyPosterior) -> Figure:
    """Return the posterior of every area's count."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * min(len(found.areas), 4) + 0.6, 2.8), layout="constrained")
        axes = figure.subplots(1, len(found.areas), squeeze=False)[0]
        for ax, area in zip(axes, found.areas, strict=True):
            seen = area.probabilities > 1e-6
            values, chances = area.values[seen], area.probabilities[seen]
            if len(values) <= 60:
                ax.bar(values, chances, width=0.8, color=BLUE)
            else:
                ax.plot(values, chances, color=BLUE)
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.set_title(area.name)
            ax.set_xlabel("count")
            ax.set_ylim(bottom=0)
            ax.set_axisbelow(True)
        axes[0].set_ylabel("posterior probability")
        figure.suptitle(f"Posterior counts, prior {found.prior:g}, method {found.method}", fontsize=9)
    return figure
