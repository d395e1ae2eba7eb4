"""Curves as ECharts options: plain dictionaries, one palette, lines told apart without colour too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.workbench.results import Line

LIGHT = {"ink": "#1b2430", "soft": "#5a6675", "rule": "#e3e6ea", "paper": "#ffffff"}
DARK = {"ink": "#e8ecf1", "soft": "#a3afbd", "rule": "#333d49", "paper": "#1a2129"}
SERIES_LIGHT = ("#0b5cad", "#b5480b", "#6b7280", "#0a7a55", "#7a3e9d")
SERIES_DARK = ("#6cb6ff", "#ffa36b", "#a3afbd", "#56d6a5", "#d3a4f0")
DASHES: tuple[Any, ...] = ("solid", [7, 4], [2, 3], [10, 3, 2, 3], [4, 2])
FLOOR = 1e-16
"""The smallest delta that is drawn, unless a smaller one was chosen."""

UNNAMED = "nothing told"
"""The line that the legend leaves out."""

_FONT = "Roboto, system-ui, sans-serif"


def palette(dark: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the colours of ink and of lines."""
    return (DARK, SERIES_DARK) if dark else (LIGHT, SERIES_LIGHT)


def axis(name: str, dark: bool, *, log: bool = False, **more: Any) -> dict[str, Any]:
    """Return an axis with its name in the middle."""
    ink, _ = palette(dark)
    return {
        "type": "log" if log else "value",
        "name": name,
        "nameLocation": "middle",
        "nameGap": 30,
        "nameTextStyle": {"color": ink["soft"], "fontSize": 12},
        "axisLabel": {"color": ink["soft"], "fontSize": 11, "hideOverlap": True},
        "axisLine": {"show": True, "lineStyle": {"color": ink["soft"]}},
        "axisTick": {"show": False},
        "splitLine": {"lineStyle": {"color": ink["rule"]}},
        **more,
    }


def series(name: str, line: Line, place: int, dark: bool, **more: Any) -> dict[str, Any]:
    """Return one line; the first is heavy, the others dashed in ways of their own."""
    _, colours = palette(dark)
    style = {
        "width": 2.5 if place == 0 else 1.8,
        "type": DASHES[place % len(DASHES)],
        "color": colours[place % len(colours)],
    }
    return {
        "type": "line",
        "name": name,
        "data": [list(point) for point in line],
        "symbol": "none",
        "lineStyle": style,
        "itemStyle": {"color": style["color"]},
        "emphasis": {"disabled": True},
        "z": 3 if place else 2,
        **more,
    }


def chart(
    lines: Sequence[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], dark: bool
) -> dict[str, Any]:
    """Return a whole chart of lines with a legend on top."""
    ink, _ = palette(dark)
    return {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"fontFamily": _FONT},
        "grid": {"left": 62, "right": 18, "top": 34, "bottom": 46},
        "legend": {
            "top": 0,
            "left": 0,
            "itemWidth": 26,
            "itemGap": 16,
            "itemStyle": {"opacity": 0},
            "textStyle": {"color": ink["ink"], "fontSize": 12},
            "data": [line["name"] for line in lines if line.get("name") not in (None, UNNAMED)],
        },
        "tooltip": {
            "trigger": "axis",
            "backgroundColor": ink["paper"],
            "borderColor": ink["rule"],
            "textStyle": {"color": ink["ink"], "fontSize": 12},
            ":valueFormatter": "v => Number(v).toPrecision(4)",
            "axisPointer": {"lineStyle": {"color": ink["soft"]}, ":label": "{}"},
        },
        "xAxis": x,
        "yAxis": y,
        "series": list(lines),
    }


def profile(
    lines: Sequence[Line],
    *,
    epsilon: float,
    delta: float,
    dark: bool,
    before: Line | None = None,
) -> dict[str, Any]:
    """Return the chart of delta against epsilon, with the chosen point marked."""
    floor = math.floor(math.log10(min(FLOOR, delta / 10)))
    names = ("Exact", "zCDP", "Gaussian DP")
    drawn = [
        series(name, _logs(line, floor), place, dark)
        for place, (name, line) in enumerate(zip(names, lines, strict=True))
    ]
    if before is not None:
        drawn.append(series("Before", _logs(before, floor), 3, dark))
    _, colours = palette(dark)
    drawn.append(
        {
            "type": "scatter",
            "data": [[epsilon, math.log10(delta)]],
            "symbolSize": 10,
            "itemStyle": {"color": colours[0]},
            "z": 9,
            "tooltip": {"show": False},
        }
    )
    x = axis("epsilon", dark, min=0)
    step = max(1, round(-floor / 4))
    y = axis("delta", dark, min=floor, max=0, interval=step, nameGap=44)
    y["axisLabel"][":formatter"] = "v => v === 0 ? '1' : '1e' + v"
    made = chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = "v => v === undefined ? '' : Math.pow(10, v).toExponential(3)"
    return made


def tradeoff(
    lines: Sequence[Line], *, dark: bool, logarithmic: bool = False, before: Line | None = None
) -> dict[str, Any]:
    """Return the chart of the trade-off curve; the diagonal is a release that tells nothing."""
    names = ("Exact", "zCDP", "Gaussian DP")
    low = 1e-6
    drawn = [
        series(name, _inside(line, low) if logarithmic else line, place, dark)
        for place, (name, line) in enumerate(zip(names, lines, strict=True))
    ]
    if before is not None:
        drawn.append(series("Before", _inside(before, low) if logarithmic else before, 3, dark))
    ink, _ = palette(dark)
    if not logarithmic:
        blind = {"width": 1, "type": "solid", "color": ink["soft"], "opacity": 0.6}
        no_use = ((0.0, 1.0), (1.0, 0.0))
        drawn.append(series(UNNAMED, no_use, 6, dark, lineStyle=blind, itemStyle={"color": ink["soft"]}))
    limits = {"min": low if logarithmic else 0, "max": 1}
    x = axis("false alarms (type I error)", dark, log=logarithmic, **limits)
    y = axis("misses (type II error)", dark, log=logarithmic, nameGap=42, **limits)
    if logarithmic:
        for one in (x, y):
            one["axisLabel"][":formatter"] = "v => v === 1 ? '1' : v.toExponential(0)"
    return chart(drawn, x, y, dark)


def _logs(line: Line, floor: int) -> Line:
    """The points with delta as a power of ten, those that the axis can hold."""
    lowest = 10.0**floor
    return tuple((x, math.log10(y)) for x, y in line if y > lowest)


def _inside(line: Line, low: float) -> Line:
    return tuple(point for point in line if min(point) >= low)


def sizes(lines: Mapping[str, Line], *, dark: bool) -> dict[str, Any]:
    """Return the chart of relative error against the size of a group, a line for each level."""
    drawn = [series(name, line, place, dark) for place, (name, line) in enumerate(lines.items())]
    for place, line in enumerate(drawn):
        line["lineStyle"] = {**line["lineStyle"], "width": 2}
        if place >= 5:
            line["lineStyle"]["type"] = DASHES[(place + 1) % len(DASHES)]
    low = min((y for line in lines.values() for _, y in line), default=1e-6)
    x = axis("people in the group", dark, log=True, min=10, max=10**6)
    x["axisLabel"][":formatter"] = "v => v.toLocaleString('en')"
    y = axis("95 % margin over the size", dark, log=True, min=10.0 ** math.floor(math.log10(low)), nameGap=50)
    y["axisLabel"][":formatter"] = "v => (100 * v).toLocaleString('en', {maximumSignificantDigits: 1}) + ' %'"
    made = chart(drawn, x, y, dark)
    made["grid"].update({"top": 72, "left": 70})
    made["tooltip"][":valueFormatter"] = "v => (100 * v).toPrecision(3) + ' %'"
    return made
