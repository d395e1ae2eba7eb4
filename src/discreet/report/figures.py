"""Whole figures for papers and memos, and their bytes: the same input gives the same file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting.comparisons import ZCDP, TightZCDP
from discreet.report.curves import (
    Profile,
    TradeOffCurve,
    curve_alphas,
    drawing_epsilons,
    sample_profile,
    tradeoff_from_profile,
)
from discreet.report.plots import BLUE, GREEN, GREY, VERMILION, plot_profile, plot_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from discreet.accounting.overall import Account

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "svg.hashsalt": "discreet",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The exact curves of one release as points, and the rho that zCDP would be told."""

    name: str
    profile: Profile
    tradeoff: TradeOffCurve
    zcdp: ZCDP


def sampled(account: Account, zcdp: ZCDP) -> Sampled:
    """Return the points that a figure needs: one pass over the cases, the trade-off curve by duality."""
    profile = sample_profile(account, drawing_epsilons(zcdp))
    return Sampled(account.name, profile, tradeoff_from_profile(profile, curve_alphas()), zcdp)


def account_figure(drawn: Sampled, *, title: str = "") -> Figure:
    """Return the figure of one release: profile and trade-off curve, exact and as zCDP bounds them."""
    tight = TightZCDP.from_rho(drawn.zcdp.rho)
    with _two_panels(title) as (figure, left, right):
        for curve, line in (
            (tight, _line("zCDP, tighter conversion", GREY, ":", 1.2)),
            (drawn.zcdp, _line("zCDP (Bun and Steinke)", VERMILION, "--")),
        ):
            plot_profile(curve, epsilon=_fine(drawn.profile.epsilon), ax=left, **line)
            plot_tradeoff(curve, ax=right, **line)
        exact = _line("exact", BLUE, "-")
        plot_profile(drawn.profile, ax=left, **exact)
        plot_tradeoff(drawn.tradeoff, ax=right, **exact)
        _finish(left, right, [drawn])
    return figure


def compare_figure(first: Sampled, second: Sampled, *, title: str = "") -> Figure:
    """Return the figure of two releases: each exact, and lightly what zCDP says of it."""
    with _two_panels(title) as (figure, left, right):
        for one, colour, dashes in ((second, GREEN, "-."), (first, BLUE, "-")):
            name = _short(one.name)
            thin = _line(f"{name}, zCDP", colour, ":", 1.0, alpha=0.75)
            plot_profile(one.zcdp, epsilon=_fine(one.profile.epsilon), ax=left, **thin)
            plot_tradeoff(one.zcdp, ax=right, **thin)
            thick = _line(f"{name}, exact", colour, dashes)
            plot_profile(one.profile, ax=left, **thick)
            plot_tradeoff(one.tradeoff, ax=right, **thick)
        _finish(left, right, [first, second])
    return figure


def figure_bytes(figure: Figure, kind: str, look: Any = None) -> bytes:
    """Return a figure as the bytes of an svg, png or pdf file, without date or version.

    `look` are settings of Matplotlib beyond the style of all figures.

    >>> from matplotlib.figure import Figure
    >>> figure_bytes(Figure(), "svg") == figure_bytes(Figure(), "svg")
    True
    """
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({**STYLE, **(look or {})}):
        figure.savefig(stream, format=kind, dpi=300, metadata=_UNDATED[kind])
    return stream.getvalue()


@contextmanager
def _two_panels(title: str) -> Iterator[tuple[Figure, Axes, Axes]]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 3.7), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
        left.set_title("Privacy profile")
        right.set_title("Trade-off curve")
        if title:
            figure.suptitle(_short(title, 90), fontsize=9.5, parse_math=False)
        yield figure, left, right
        handles, labels = left.get_legend_handles_labels()
        columns = 2 if len(labels) == 4 else len(labels)
        figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=columns)


def _finish(left: Axes, right: Axes, shown: Sequence[Sampled]) -> None:
    left.set_xlim(0.0, max(float(one.profile.epsilon[-1]) for one in shown))
    left.set_ylim(1e-21, 2.0)  # a bound of 1 stays visible
    left.set_yticks(10.0 ** -np.arange(0, 22, 3))
    left.minorticks_off()
    ticks = np.linspace(0, 1, 6)
    right.set_xticks(ticks)
    right.set_yticks(ticks)
    for axes in (left, right):
        axes.set_axisbelow(True)


def _fine(epsilon: Any) -> Any:
    return np.linspace(float(epsilon[0]), float(epsilon[-1]), 200)


def _line(label: str, colour: str, dashes: str, width: float = 1.6, **more: float) -> dict[str, Any]:
    return {"label": label, "color": colour, "linestyle": dashes, "linewidth": width, **more}


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
