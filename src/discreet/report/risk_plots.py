"""Pictures of risk: what may be published under both truths, beliefs after it, ratios of a whole table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.report.figures import STYLE
from discreet.report.plots import BLUE, GREEN, GREY, VERMILION
from discreet.risk.attack import Attack
from discreet.risk.model import Numbers
from discreet.risk.table import TableRisk

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "linestyle": "-"},
    {"color": VERMILION, "linestyle": "--"},
    {"color": GREEN, "linestyle": "-."},
    {"color": "#CC79A7", "linestyle": ":"},
    {"color": "#E69F00", "linestyle": (0, (6, 1, 1, 1, 1, 1))},
    {"color": "#000000", "linestyle": (0, (1, 1))},
    {"color": "#56B4E9", "linestyle": "-"},
    {"color": GREY, "linestyle": "--"},
)
"""Lines that colour and dashes tell apart."""


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
    ax.set_ylabel("posterior: the target is there")
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
