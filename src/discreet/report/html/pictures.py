"""The two pictures of a page: the privacy profile and the trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from discreet.report import words
from discreet.report.curves import curve_alphas
from discreet.report.html.charts import Axis, Chart, Line, Mark, draw, round_ticks
from discreet.report.html.facts import Facts
from discreet.report.html.markup import Markup, el, join

_DEEPEST = -21.0


def _small(number: int) -> str:
    """A number in raised digits."""
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


_TICKS = ((0.0, "1"), *((float(-k), f"10⁻{_small(k)}") for k in range(3, 22, 3)))


def figures(facts: Facts, before: Facts | None = None) -> Markup:
    """Return both pictures with their captions."""
    made = []
    for chart, caption in ((_profile(facts, before), _PROFILE), (_tradeoff(facts, before), _TRADEOFF)):
        made.append(el("figure", draw(chart), el("figcaption", caption)))
    return join(made, "\n")


_PROFILE = "The privacy profile. The dot is the headline. Where two lines cover each other, they agree."
_TRADEOFF = "The trade-off curve: false alarms against true cases missed."


def _profile(facts: Facts, before: Facts | None) -> Chart:
    shown = [facts] if before is None else [facts, before]
    high = max(float(one.drawn.profile.epsilon[-1]) for one in shown)
    fine = np.linspace(0.0, high, 160)
    lines = []
    for one, (name, style) in zip(shown, _names(before), strict=False):
        lines.append(Line(name, style, _logs(one.drawn.profile.epsilon, one.drawn.profile.delta)))
    lines.append(Line("zCDP bound", "zcdp", _comparison(facts.zcdp, fine)))
    lines.append(Line("Gaussian approximation", "gaussian", _comparison(facts.gaussian, fine)))
    row = facts.headline
    marks = []
    if row.epsilon > 0 and math.log10(row.delta) >= _DEEPEST:
        marks.append(Mark(row.epsilon, math.log10(row.delta), "exact"))
    text = (
        f"Delta, on a logarithmic scale from 1 to 1e-21, against epsilon from 0 to {words.number(high, 3)}. "
        f"All curves fall. At delta {words.plain(row.delta)} the exact curve is at epsilon "
        f"{words.number(row.epsilon)} and the zCDP bound at {words.number(row.zcdp)}."
    )
    if before is not None:
        text += f" Before, the exact curve was at {words.number(before.headline.epsilon)} at its headline."
    return Chart(
        "profile",
        "Privacy profile: exact, zCDP and Gaussian",
        text,
        Axis("epsilon", 0.0, high, round_ticks(high)),
        Axis("delta", _DEEPEST, 0.0, _TICKS),
        lines,
        marks,
        names_below=True,
    )


def _tradeoff(facts: Facts, before: Facts | None) -> Chart:
    shown = [facts] if before is None else [facts, before]
    alphas = curve_alphas()
    lines = []
    for one, (name, style) in zip(shown, _names(before), strict=False):
        lines.append(Line(name, style, _points(one.drawn.tradeoff.alpha, one.drawn.tradeoff.beta)))
    for name, style, curve in (
        ("zCDP bound", "zcdp", facts.zcdp),
        ("Gaussian approximation", "gaussian", facts.gaussian),
    ):
        lines.append(Line(name, style, _points(alphas, np.asarray(curve.tradeoff(alpha=alphas)))))
    lines.append(Line("perfect privacy", "perfect", ((0.0, 1.0), (1.0, 0.0))))
    ticks = [(k / 5, f"{20 * k} %") for k in range(6)]
    miss = next(one for one in facts.misses if float(one.alpha) == 0.05)
    text = (
        "True cases missed against false alarms, both from 0 to 100 percent. The curves fall from the upper "
        f"left to the lower right. At 5 percent false alarms the exact curve is at {100 * miss.exact:.2f} "
        f"percent missed and the zCDP bound at {100 * miss.zcdp:.2f} percent."
    )
    return Chart(
        "tradeoff",
        "Trade-off curve: exact, zCDP and Gaussian",
        text,
        Axis("false alarms", 0.0, 1.0, ticks),
        Axis("true cases missed", 0.0, 1.0, ticks),
        lines,
    )


def _names(before: Facts | None) -> Sequence[tuple[str, str]]:
    return (
        [("exact", "exact")] if before is None else [("exact, after", "exact"), ("exact, before", "before")]
    )


def _comparison(curve: Any, epsilon: Any) -> list[tuple[float, float]]:
    logs = np.asarray(curve.log_delta(epsilon=epsilon)) / math.log(10)
    return _cut(zip(epsilon.tolist(), logs.tolist(), strict=True))


def _logs(epsilon: Any, delta: Any) -> list[tuple[float, float]]:
    with np.errstate(divide="ignore"):
        logs = np.log10(delta)
    return _cut(zip(epsilon.tolist(), logs.tolist(), strict=True))


def _cut(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points down to just below the picture: what is deeper is not drawn, and zero has no logarithm."""
    kept = []
    for x, y in points:
        kept.append((x, max(y, _DEEPEST - 1)))
        if y < _DEEPEST - 1:
            break
    return kept


def _points(x: Any, y: Any) -> list[tuple[float, float]]:
    return list(zip(x.tolist(), y.tolist(), strict=True))
