"""One curve drawn by Matplotlib, for those who compose a figure of their own: Axes in, Axes out.

No backend is chosen and no global setting touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.comparisons.sampling import (
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


def plot_profile(
    curve: Curve | Profile, *, epsilon: Floats | None = None, ax: Axes | None = None, **line: Any
) -> Axes:
    """Draw delta against epsilon, delta on a logarithmic scale.

    `curve` is an account, a single loss, a comparison, or points already computed. Without `epsilon` the
    range is the one over which the curve falls from 0.5 to 1e-21. `line` goes to Matplotlib, as in
    `label="exact"`.

    >>> from matplotlib.figure import Figure
    >>> from discreet.comparisons.zcdp import ZCDP
    >>> ax = plot_profile(ZCDP.from_rho(1), ax=Figure().subplots(), label="zCDP")
    >>> ax.get_yscale(), ax.lines[0].get_label()
    ('log', 'zCDP')
    """
    if not isinstance(curve, Profile):
        if epsilon is None:
            ends = np.asarray(curve.epsilon(delta=curve_deltas()), dtype=np.float64)
            epsilon = np.linspace(max(float(ends[0]), 0.0), float(ends[-1]), 60)
        curve = sample_profile(curve, epsilon)
    axes = _axes(ax)
    axes.plot(curve.epsilon, curve.delta, **line)
    axes.set_yscale("log", nonpositive="clip")  # where delta is zero the line leaves downwards
    axes.set(xlabel=r"$\varepsilon$", ylabel=r"$\delta(\varepsilon)$")
    return axes


def plot_tradeoff(
    curve: Curve | TradeOffCurve, *, alpha: Floats | None = None, ax: Axes | None = None, **line: Any
) -> Axes:
    """Draw the trade-off curve: the least type II error against the type I error.

    >>> from matplotlib.figure import Figure
    >>> from discreet.comparisons.zcdp import ZCDP
    >>> plot_tradeoff(ZCDP.from_rho(1), ax=Figure().subplots()).get_ylabel()
    'type II error $f(\\\\alpha)$'
    """
    if not isinstance(curve, TradeOffCurve):
        curve = sample_tradeoff(curve, curve_alphas() if alpha is None else alpha)
    axes = _axes(ax)
    axes.plot(curve.alpha, curve.beta, **line)
    hugging = (-0.015, 1.0)  # curves that hug the axes stay visible
    axes.set(xlim=hugging, ylim=hugging, xlabel=r"type I error $\alpha$", ylabel=r"type II error $f(\alpha)$")
    return axes


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure().add_subplot()
