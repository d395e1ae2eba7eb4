"""The pages' charts as ECharts options: one palette, and lines that differ not by colour alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.workbench.tasks import Line

Options = dict[str, Any]
"""What ECharts is told."""

LIGHT = {"ink": "#1b2430", "soft": "#5a6675", "rule": "#e3e6ea", "paper": "#ffffff"}
DARK = {"ink": "#e8ecf1", "soft": "#a3afbd", "rule": "#333d49", "paper": "#1a2129"}
SERIES_LIGHT = ("#0b5cad", "#b5480b", "#6b7280", "#0a7a55", "#7a3e9d")
SERIES_DARK = ("#6cb6ff", "#ffa36b", "#a3afbd", "#56d6a5", "#d3a4f0")
DASHES: tuple[Any, ...] = ("solid", [7, 4], [2, 3], [10, 3, 2, 3], [4, 2])
FLOOR = 1e-16
"""The smallest delta that is drawn, unless a smaller one was chosen."""

_ROUND_PERCENT = "v => Math.round(100 * v) + ' %'"
_PERCENT = "v => (100 * v).toLocaleString('en', {maximumSignificantDigits: 3}) + ' %'"

UNNAMED = "nothing told"
"""The line that the legend leaves out."""

_FONT = "Roboto, system-ui, sans-serif"


def palette(dark: bool) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the colours of ink and of lines."""
    return (DARK, SERIES_DARK) if dark else (LIGHT, SERIES_LIGHT)


def axis(name: str, dark: bool, *, log: bool = False, **more: Any) -> Options:
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


def series(name: str, line: Line, place: int, dark: bool, **more: Any) -> Options:
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
        "data": line,  # tuples, which NiceGUI does not watch one by one
        "symbol": "none",
        "lineStyle": style,
        "itemStyle": {"color": style["color"]},
        "emphasis": {"disabled": True},
        "z": 3 if place else 2,
        **more,
    }


def chart(lines: Sequence[Options], x: Options, y: Options, dark: bool) -> Options:
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
) -> Options:
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
) -> Options:
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


def sizes(lines: Mapping[str, Line], *, dark: bool) -> Options:
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
    made["grid"].update({"top": 96, "left": 70})
    made["tooltip"][":valueFormatter"] = "v => (100 * v).toPrecision(3) + ' %'"
    return made


# -- Risk ------------------------------------------------------------------------------------------------


def belief(line: Line, *, prior: float, value: int, posterior: float, dark: bool) -> Options:
    """Return the posterior against the published value, with the prior and the value in question."""
    _, colours = palette(dark)
    ends = (line[0][0], line[-1][0])
    drawn = [
        series("after the release", line, 0, dark),
        series("before", ((ends[0], prior), (ends[1], prior)), 2, dark),
        {
            "type": "scatter",
            "data": [[value, posterior]],
            "symbolSize": 11,
            "itemStyle": {"color": colours[0]},
            "z": 9,
            "tooltip": {"show": False},
        },
    ]
    x = axis("published count", dark, min=ends[0], max=ends[1])
    y = axis("belief that the target is there", dark, min=0, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = _ROUND_PERCENT
    y["axisLine"]["onZero"] = False
    x["axisLabel"].update({"showMinLabel": False, "showMaxLabel": False})
    return chart(drawn, x, y, dark)


def accuracy(mine: Line, bound: Line, *, prior: float, right: float | None, dark: bool) -> Options:
    """Return how often decisions are right against the prior: this adversary, any adversary, no release."""
    _, colours = palette(dark)
    blind = tuple((p, max(p, 1 - p)) for p, _ in bound or mine)
    drawn = [
        *([series("this adversary", mine, 0, dark)] if mine else []),
        series("best of anyone", bound, 1, dark),
        series("without the release", blind, 2, dark),
    ]
    if right is not None:
        drawn.append(
            {
                "type": "scatter",
                "data": [[prior, right]],
                "symbolSize": 11,
                "itemStyle": {"color": colours[0]},
                "z": 9,
                "tooltip": {"show": False},
            }
        )
    x = axis("prior", dark, min=0, max=1)
    y = axis("right decisions", dark, min=0.5, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = _ROUND_PERCENT
    made = chart(drawn, x, y, dark)
    made["grid"]["top"] = 54
    made["tooltip"][":valueFormatter"] = "v => (100 * v).toFixed(2) + ' %'"
    return made


def levels(
    names: Sequence[str],
    one: Sequence[float],
    every: Sequence[float],
    *,
    overall: float,
    baseline: float,
    dark: bool,
) -> Options:
    """Return right decisions by level, as dots: from one count and from all of its; lines for the rest."""
    ink, colours = palette(dark)
    dots = [
        {
            "type": "scatter",
            "name": name,
            "data": [[value, place] for place, value in enumerate(values)],
            "symbol": symbol,
            "symbolSize": 10,
            "itemStyle": {"color": colours[colour]},
        }
        for name, values, symbol, colour in (
            ("its most precise count", one, "circle", 2),
            ("all its counts", every, "rect", 0),
        )
    ]
    last = len(names) - 0.5
    lines = [
        series("everything published", ((overall, -0.5), (overall, last)), 1, dark),
        series("nothing published", ((baseline, -0.5), (baseline, last)), 2, dark),
    ]
    for line in lines:
        line.update({"xAxisIndex": 0, "yAxisIndex": 1})
    x = axis("right decisions, averaged over the prior", dark, scale=True)
    low = min([baseline, *one])
    spread = max(1e-9, max([overall, *every]) - low)
    x.update({"min": max(0.0, low - 0.04 * spread), "max": min(1.0, overall + 0.06 * spread)})
    x["axisLabel"][":formatter"] = "v => (100 * v).toLocaleString('en', {maximumSignificantDigits: 4}) + ' %'"
    y = {
        "type": "category",
        "data": list(names),
        "inverse": True,
        "axisLabel": {"color": ink["soft"], "fontSize": 11},
        "axisLine": {"lineStyle": {"color": ink["soft"]}},
        "axisTick": {"show": False},
        "splitLine": {"show": True, "lineStyle": {"color": ink["rule"]}},
    }
    x["axisLine"]["onZero"] = False
    x["axisLabel"].update({"showMinLabel": False, "showMaxLabel": False})
    hidden = {"type": "value", "min": -0.5, "max": last, "show": False, "inverse": True}
    made = chart([*dots, *lines], x, y, dark)
    made["yAxis"] = [y, hidden]
    made["grid"].update({"left": 12, "containLabel": True, "bottom": 30, "top": 60})
    made["legend"]["itemStyle"] = {}
    made["legend"]["data"] = [
        {"name": "its most precise count", "icon": "circle"},
        {"name": "all its counts", "icon": "rect"},
        *({"name": line["name"], "itemStyle": {"opacity": 0}} for line in lines),
    ]
    made["legend"]["itemHeight"] = 10
    made["tooltip"]["trigger"] = "item"
    made["tooltip"][":formatter"] = "p => p.seriesName + ': ' + (100 * p.value[0]).toFixed(2) + ' % right'"
    return made


# -- Tabulation design -----------------------------------------------------------------------------------

TABLES = ("total only", "sex × 4 ages", "sex × 9 ages", "sex × 23 ages")


def suppression(lines: Sequence[tuple[str, Line]], *, dark: bool) -> Options:
    """Return the chance to be dropped against the true size, a line for each kind of noise."""
    drawn = [series(name, line, place, dark) for place, (name, line) in enumerate(lines)]
    x = axis("people in the group", dark, min=0)
    y = axis("chance to be dropped", dark, min=0, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = _ROUND_PERCENT
    made = chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = _PERCENT
    return made


def bias(if_shown: Line, overall: Line, *, dark: bool) -> Options:
    """Return the bias of a total against the true size: of those shown, and with a dropped one as zero."""
    drawn = [
        series("of groups that are shown", if_shown, 0, dark),
        series("dropped ones counted as 0", overall, 1, dark),
    ]
    x = axis("people in the group", dark, min=0)
    y = axis("bias, people", dark, nameGap=44)
    made = chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = "v => Number(v).toFixed(2)"
    return made


def tables(lines: Sequence[Line], *, dark: bool) -> Options:
    """Return the chance of each table against the true size."""
    drawn = [
        series(name, line, place, dark) for place, (name, line) in enumerate(zip(TABLES, lines, strict=True))
    ]
    x = axis("people in the group", dark, log=True)
    if lines and lines[0]:
        x.update({"min": lines[0][0][0], "max": lines[0][-1][0]})
    x["axisLabel"][":formatter"] = "v => v.toLocaleString('en', {maximumSignificantDigits: 2})"
    y = axis("chance of the table", dark, min=0, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = _ROUND_PERCENT
    made = chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = _PERCENT
    return made
