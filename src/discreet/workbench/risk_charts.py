"""Charts of the Risk page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.workbench import charts
from discreet.workbench.results import Line

_PERCENT = "v => Math.round(100 * v) + ' %'"


def belief(line: Line, *, prior: float, value: int, posterior: float, dark: bool) -> dict[str, Any]:
    """Return the posterior against the published value, with the prior and the value in question."""
    _, colours = charts.palette(dark)
    ends = (line[0][0], line[-1][0])
    drawn = [
        charts.series("after the release", line, 0, dark),
        charts.series("before", ((ends[0], prior), (ends[1], prior)), 2, dark),
        {
            "type": "scatter",
            "data": [[value, posterior]],
            "symbolSize": 11,
            "itemStyle": {"color": colours[0]},
            "z": 9,
            "tooltip": {"show": False},
        },
    ]
    x = charts.axis("published count", dark, min=ends[0], max=ends[1])
    y = charts.axis("belief that the target is there", dark, min=0, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = _PERCENT
    y["axisLine"]["onZero"] = False
    x["axisLabel"].update({"showMinLabel": False, "showMaxLabel": False})
    return charts.chart(drawn, x, y, dark)


def accuracy(mine: Line, bound: Line, *, prior: float, right: float | None, dark: bool) -> dict[str, Any]:
    """Return how often decisions are right against the prior: this adversary, any adversary, no release."""
    _, colours = charts.palette(dark)
    blind = tuple((p, max(p, 1 - p)) for p, _ in bound or mine)
    drawn = [
        *([charts.series("this adversary", mine, 0, dark)] if mine else []),
        charts.series("best of anyone", bound, 1, dark),
        charts.series("without the release", blind, 2, dark),
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
    x = charts.axis("prior", dark, min=0, max=1)
    y = charts.axis("right decisions", dark, min=0.5, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = _PERCENT
    made = charts.chart(drawn, x, y, dark)
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
) -> dict[str, Any]:
    """Return right decisions by level, as dots: from one count and from all of its; lines for the rest."""
    ink, colours = charts.palette(dark)
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
        charts.series("everything published", ((overall, -0.5), (overall, last)), 1, dark),
        charts.series("nothing published", ((baseline, -0.5), (baseline, last)), 2, dark),
    ]
    for line in lines:
        line.update({"xAxisIndex": 0, "yAxisIndex": 1})
    x = charts.axis("right decisions, averaged over the prior", dark, scale=True)
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
    made = charts.chart([*dots, *lines], x, y, dark)
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
