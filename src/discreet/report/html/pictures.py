"""The two pictures of a page: Matplotlib's SVG, in the page's own colours for light, dark and print."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup, escape

from discreet import numbers
from discreet.report.curves import curve_alphas
from discreet.report.figures import STYLE, figure_bytes, plot_profile, plot_tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.report.html.facts import Facts

_DEEPEST = 1e-21
_COLOURS = {
    "ink": "#1c1f23",
    "quiet": "#565d66",
    "grid": "#e4e7ea",
    "exact": "#0b62a8",
    "zcdp": "#b8480a",
    "gaussian": "#6b7178",
    "before": "#0a7a58",
}
"""Colours of the page (style.css) by name; in the SVG each becomes the page's variable."""
_LINES: dict[str, dict[str, Any]] = {
    "exact": {"linewidth": 2},
    "before": {"linewidth": 2, "linestyle": (0, (7, 2, 1.5, 2))},
    "zcdp": {"label": "zCDP bound", "linewidth": 1.8, "linestyle": (0, (5, 2.5))},
    "gaussian": {"label": "Gaussian approximation", "linewidth": 1.8, "linestyle": (0, (1.2, 1.8))},
}


def pictures(facts: Facts, before: Facts | None = None) -> list[Markup]:
    """Return the privacy profile and the trade-off curve, each with a description in words."""
    kind, row = facts.account.claim.kind, facts.headline
    shown = {"exact": facts} if before is None else {"exact": facts, "before": before}
    high = max(float(one.drawn.profile.epsilon[-1]) for one in shown.values())
    fine, alphas = np.linspace(0.0, high, 160), curve_alphas()
    label = {"exact": kind.label}
    if before is not None:
        label = {"exact": f"{kind.label}, after", "before": f"{before.account.claim.kind.label}, before"}

    def profile(ax: Axes) -> None:
        for name, one in shown.items():
            plot_profile(one.drawn.profile, ax=ax, **_line(name, label))
        for name, curve in (("zcdp", facts.zcdp), ("gaussian", facts.gaussian)):
            plot_profile(curve, epsilon=fine, ax=ax, **_line(name, label))
        if row.epsilon > 0 and row.delta >= _DEEPEST:
            ax.plot(
                [0, row.epsilon, row.epsilon],
                [row.delta, row.delta, _DEEPEST],
                linewidth=0.8,
                linestyle=":",
                color=_COLOURS["quiet"],
            )
            ax.plot([row.epsilon], [row.delta], "o", markersize=6, color=_COLOURS["exact"])
        ax.set_xlim(0, high)
        ax.set_ylim(_DEEPEST, 1.5)
        ax.set_yticks(
            [10.0**-k for k in range(0, 22, 3)], ["1", *(f"10⁻{_raised(k)}" for k in range(3, 22, 3))]
        )
        ax.set_xlabel("epsilon")
        ax.set_ylabel("delta")
        ax.legend(loc="lower left")

    def tradeoff(ax: Axes) -> None:
        for name, one in shown.items():
            plot_tradeoff(one.drawn.tradeoff, ax=ax, **_line(name, label))
        for name, curve in (("zcdp", facts.zcdp), ("gaussian", facts.gaussian)):
            plot_tradeoff(curve, alpha=alphas, ax=ax, **_line(name, label))
        ax.plot([0, 1], [1, 0], color=_COLOURS["quiet"], linewidth=0.9, label="perfect privacy")
        ticks = np.linspace(0, 1, 6)
        ax.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks])
        ax.set_yticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks])
        ax.set_xlabel("false alarms")
        ax.set_ylabel("true cases missed")
        ax.legend(loc="upper right")

    miss = facts.accuser
    about_profile = (
        "Delta, on a logarithmic scale from 1 to 1e-21, against epsilon from 0 to "
        f"{numbers.number(high, 3)}. All curves fall. At delta {numbers.plain(row.delta)} the curve of this "
        f"release is at epsilon {kind.beside(row.epsilon)} and the zCDP bound at {numbers.number(row.zcdp)}."
    )
    if before is not None:
        about_profile += f" Before, it was at {before.account.claim.kind.beside(before.headline.epsilon)}."
    about_tradeoff = (
        "True cases missed against false alarms, both from 0 to 100 percent. The curves fall from the upper "
        f"left to the lower right. At 5 percent false alarms the curve of this release is at "
        f"{100 * miss.exact:.2f} percent missed and the zCDP bound at {100 * miss.zcdp:.2f} percent."
    )
    return [
        _svg("profile", "Privacy profile", about_profile, profile),
        _svg("tradeoff", "Trade-off curve", about_tradeoff, tradeoff),
    ]


def _line(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {**_LINES[name], "color": _COLOURS[name], "label": labels.get(name) or _LINES[name]["label"]}


def _raised(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _svg(key: str, title: str, text: str, draw: Callable[[Axes], None]) -> Markup:
    """Draw on fresh axes; return SVG for the middle of a page: its own ids, the page's colours and fonts."""
    import matplotlib
    from matplotlib.figure import Figure

    quiet, ink = _COLOURS["quiet"], _COLOURS["ink"]
    look: Any = {"text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": quiet, "xtick.color": quiet}
    look |= {
        "ytick.color": quiet,
        "grid.color": _COLOURS["grid"],
        "svg.fonttype": "none",
        "axes.facecolor": "none",
    }
    with matplotlib.rc_context({**STYLE, **look, "figure.facecolor": "none"}):
        figure = Figure(figsize=(5.2, 4.0), layout="constrained")
        ax = figure.subplots()
        draw(ax)
        ax.minorticks_off()
        ax.set_axisbelow(True)
        drawn = figure_bytes(figure, "svg", {"svg.fonttype": "none"}).decode()
    drawn = drawn[drawn.index("<svg") :].strip()
    drawn = re.sub(
        r"<metadata>.*?</metadata>\s*|<defs>\s*<style.*?</style>\s*</defs>\s*|<!--.*?-->\s*",
        "",
        drawn,
        flags=re.DOTALL,
    )
    drawn = re.sub(
        r' (width|height)="[\d.]+pt"| version="1.1"| xmlns(:xlink)?="[^"]*"|; ?font-family:[^;"]*', "", drawn
    )
    drawn = drawn.replace("font: 8px 'DejaVu Sans'", "font-size: 8px").replace("xlink:href", "href")
    drawn = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", drawn)
    drawn = re.sub(r'(id="|href="#|url\(#)', rf"\1{key}-", drawn)
    for name, colour in _COLOURS.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    names = f'role="img" aria-labelledby="{key}-title {key}-text" class="chart"'
    said = f'<title id="{key}-title">{escape(title)}</title><desc id="{key}-text">{escape(text)}</desc>'
    head, _, rest = drawn.partition(">")
    return Markup(f"{head} {names}>{said}{rest}")
