"""Plots: Axes in, Axes out. No backend is chosen and no global setting is touched.

Colours are those of Okabe and Ito, told apart by colour-blind readers too, and each line has its own
dashes for print without colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.estimation import Accuracy
from discreet.report.curves import (
    Curve,
    Floats,
    Profile,
    TradeOffCurve,
    curve_alphas,
    curve_deltas,
    sample_profile,
    sample_tradeoff,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, GREY, GREEN = "#0072B2", "#D55E00", "#8C8C8C", "#009E73"
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


def plot_profile(
    curve: Curve | Profile, *, epsilon: Floats | None = None, ax: Axes | None = None, **line: Any
) -> Axes:
    """Draw delta against epsilon, delta on a logarithmic scale.

    `curve` is an account, a single loss, a comparison, or points already computed. Without `epsilon` the
    range is the one over which the curve falls from 0.5 to 1e-21. `line` goes to Matplotlib, as in
    `label="exact"`.

    >>> from matplotlib.figure import Figure
    >>> from discreet.accounting.comparisons import ZCDP
    >>> ax = plot_profile(ZCDP.from_rho(1), ax=Figure().subplots(), label="zCDP")
    >>> ax.get_yscale(), ax.lines[0].get_label()
    ('log', 'zCDP')
    """
    if not isinstance(curve, Profile):
        curve = sample_profile(curve, _span(curve) if epsilon is None else epsilon)
    axes = _axes(ax)
    axes.plot(curve.epsilon, curve.delta, **line)
    axes.set_yscale("log", nonpositive="clip")  # where delta is zero the line leaves downwards
    axes.set_xlabel(r"$\varepsilon$")
    axes.set_ylabel(r"$\delta(\varepsilon)$")
    return axes


def plot_tradeoff(
    curve: Curve | TradeOffCurve, *, alpha: Floats | None = None, ax: Axes | None = None, **line: Any
) -> Axes:
    """Draw the trade-off curve: the least type II error against the type I error.

    >>> from matplotlib.figure import Figure
    >>> from discreet.accounting.comparisons import ZCDP
    >>> plot_tradeoff(ZCDP.from_rho(1), ax=Figure().subplots()).get_ylabel()
    'type II error $f(\\\\alpha)$'
    """
    if not isinstance(curve, TradeOffCurve):
        curve = sample_tradeoff(curve, curve_alphas() if alpha is None else alpha)
    axes = _axes(ax)
    axes.plot(curve.alpha, curve.beta, **line)
    axes.set_xlim(-0.015, 1.0)  # curves that hug the axes stay visible
    axes.set_ylim(-0.015, 1.0)
    axes.set_xlabel(r"type I error $\alpha$")
    axes.set_ylabel(r"type II error $f(\alpha)$")
    return axes


def _span(curve: Any) -> Floats:
    found = np.asarray(curve.epsilon(delta=curve_deltas()), dtype=np.float64)
    return np.linspace(max(float(found[0]), 0.0), float(found[-1]), 60)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure().add_subplot()


def plot_accuracy(found: Accuracy, *, ax: Axes | None = None) -> Axes:
    """Draw a heat map: the standard deviation of the estimates, one row a query, one column a level.

    >>> from matplotlib.figure import Figure
    >>> from discreet.budget import load
    >>> from discreet.estimation import accuracy
    >>> ax = plot_accuracy(accuracy(load("pl94-2020-units")), ax=Figure().subplots())
    >>> [text.get_text() for text in ax.texts][:2]
    ['51.6', '44.5']
    """
    axes = _axes(ax)
    queries = [one.name for one in found.levels[0].queries]
    sizes = np.array([[one.sd or np.nan for one in level.queries] for level in found.levels]).T
    axes.imshow(np.log(sizes), aspect="auto", cmap="YlOrBr")
    middle = np.nanmean(np.log(sizes)) if np.any(np.isfinite(sizes)) else 0.0
    for (row, column), size in np.ndenumerate(sizes):
        text = f"{size:.3g}" if np.isfinite(size) else "not\ndetermined"
        dark = np.isfinite(size) and np.log(size) > middle + 1.0
        axes.text(column, row, text, ha="center", va="center", color="white" if dark else "black", fontsize=8)
    axes.set_xticks(range(len(found.levels)), [level.name for level in found.levels])
    axes.set_yticks(range(len(queries)), queries)
    axes.set_title("Standard deviation of the estimates")
    return axes
