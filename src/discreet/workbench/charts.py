"""The pages' charts as ECharts options: one palette, and lines that differ by more than colour."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.answers.risk import right_percent
from discreet.budget.level_names import level_name
from discreet.errors import visible
from discreet.risk.adversary import Line

if TYPE_CHECKING:
    from discreet.risk import Risk

Options = dict[str, Any]
"""Options for ECharts."""

INK, SOFT, RULE, PAPER = "var(--ink)", "var(--chart-soft)", "var(--chart-rule)", "var(--paper)"
COLOURS = tuple(f"var(--line-{place})" for place in range(5))
"""Colours of the style sheet, which has a light and a dark set."""

DASHES: tuple[str | list[int], ...] = ("solid", [7, 4], [2, 3], [10, 3, 2, 3], [4, 2])
FLOOR = 1e-16
"""The smallest delta drawn, unless a smaller one is chosen."""

UNNAMED = "nothing told"
"""The line that the legend leaves out."""

TABLES = ("total only", "sex × 4 ages", "sex × 9 ages", "sex × 23 ages")
_OTHERS = ("zCDP", "Gaussian DP", "Before")
PEOPLE = "people in the group"
_NO_ENDS = {"showMinLabel": False, "showMaxLabel": False}
_LONGEST = 200  # pixels of a name in a legend
_WIDTHS = (4000, 640, 520, 440, 380, 320, 270)  # pixels, from wide to narrow; the last that fits is used

# JavaScript that formats numbers
_ROUND = "v => Math.round(100 * v) + ' %'"
_DIGITS = "v => (100 * v).toLocaleString('en', {maximumSignificantDigits: %d}) + ' %%'"
_THOUSANDS = "v => v.toLocaleString('en', {maximumSignificantDigits: 2})"


def axis(name: str, *, log: bool = False, shown: str = "", **more: object) -> Options:
    """Return an axis with its name in the middle; `shown` is JavaScript that formats its numbers."""
    labels: Options = {"color": SOFT, "fontSize": 11, "hideOverlap": True}
    return {
        "type": "log" if log else "value",
        "name": name,
        "nameLocation": "middle",
        "nameGap": 30,
        "nameTextStyle": {"color": SOFT, "fontSize": 12},
        "axisLabel": labels | ({":formatter": shown} if shown else {}),
        "axisLine": {"show": True, "lineStyle": {"color": SOFT}},
        "axisTick": {"show": False},
        "splitLine": {"lineStyle": {"color": RULE}},
        **more,
    }


def share_axis(name: str, low: float = 0) -> Options:
    """Return a vertical axis of shares up to 1."""
    return axis(name, shown=_ROUND, min=low, max=1, nameGap=44)


def series(name: str, line: Line, place: int, **more: object) -> Options:
    """Return one line; the first is heavy, each of the others has its own dashes."""
    colour = COLOURS[place % 5]
    return {
        "type": "line",
        "name": visible(name),
        "data": line,  # tuples, whose elements NiceGUI does not observe
        "symbol": "none",
        "lineStyle": {"width": 2.5 if place == 0 else 1.8, "type": DASHES[place % 5], "color": colour},
        "itemStyle": {"color": colour},
        "emphasis": {"disabled": True},
        "z": 3 if place else 2,
        **more,
    }


def all_series(lines: Iterable[tuple[str, Line]]) -> list[Options]:
    """Return several lines, the first one heavy."""
    return [series(name, line, place) for place, (name, line) in enumerate(lines)]


def point(x: float, y: float, size: int = 11) -> Options:
    """Return a highlighted point, drawn above all lines."""
    return dots([[x, y]], 0, symbolSize=size, z=9, tooltip={"show": False})


def dots(data: Sequence[Sequence[float | str]], place: int, **more: object) -> Options:
    """Return points of one colour, which they keep under the pointer."""
    style = {"itemStyle": {"color": COLOURS[place]}}
    return {"type": "scatter", "data": data, **style, "emphasis": style, **more}


def legend_rows(names: Sequence[str], width: int) -> int:
    """Return how many rows the legend takes in a chart `width` pixels wide.

    >>> legend_rows(["Exact", "zCDP", "Gaussian DP"], 500), legend_rows(["Exact", "zCDP", "Gaussian DP"], 200)
    (1, 2)
    """
    rows, used = 1, 0.0
    for name in names:
        wide = 47 + min(_LONGEST, 6.5 * len(name))  # the mark, the gap, and letters of the legend's size
        rows, used = (rows + 1, wide) if used and used + wide > width else (rows, used + wide)
    return rows


def chart(lines: Sequence[Options], x: Options, y: Options, *, value: str = "", **grid: object) -> Options:
    """Return a whole chart of lines. The legend on top takes more rows in a narrower chart; `value` formats
    the value under the pointer.
    """
    names = [str(line["name"]) for line in lines if line.get("name") not in (None, UNNAMED)]
    # a legend of more than five rows is split into pages
    many = {width: legend_rows(names, width) for width in _WIDTHS}
    tops = {width: 6 + 28 * (rows if max(many.values()) <= 5 else 1) for width, rows in many.items()}
    cut = {"width": _LONGEST, "overflow": "truncate"} if max(map(len, names), default=0) > 30 else {}
    return {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"fontFamily": "Roboto, system-ui, sans-serif"},
        "grid": {"left": 62, "right": 18, "top": 34, "bottom": 46, **grid},
        "media": [
            {"query": {"maxWidth": width}, "option": {"grid": {"top": top}}} for width, top in tops.items()
        ],
        "legend": {
            "type": "plain" if max(many.values()) <= 5 else "scroll",
            "top": 0,
            "left": 0,
            "itemWidth": 26,
            "itemGap": 16,
            "itemStyle": {"opacity": 0},
            "textStyle": {"color": INK, "fontSize": 12, **cut},
            "pageTextStyle": {"color": SOFT},
            "pageIconColor": INK,
            "data": names,
        },
        "tooltip": {
            "trigger": "axis",
            "backgroundColor": PAPER,
            "borderColor": RULE,
            "textStyle": {"color": INK, "fontSize": 12},
            ":valueFormatter": value or "v => Number(v).toPrecision(4)",
            "axisPointer": {"lineStyle": {"color": SOFT}, ":label": "{}"},
        },
        "xAxis": x,
        "yAxis": y,
        "series": list(lines),
    }


# -- Budget ----------------------------------------------------------------------------------------------


def profile(lines: Sequence[Line], name: str, *, epsilon: float, delta: float) -> Options:
    """Return the chart of delta against epsilon, with a name for the first line and a point marked."""
    floor = math.floor(math.log10(min(FLOOR, delta / 10)))
    # delta as a power of ten, where the axis can hold it
    logs = [tuple((x, math.log10(y)) for x, y in line if y >= 0.999 * 10.0**floor) for line in lines]
    drawn = [*all_series(zip((name, *_OTHERS), logs, strict=False)), point(epsilon, math.log10(delta), 10)]
    power, step = "v => v === 0 ? '1' : '1e' + v", max(1, round(-floor / 4))
    y = axis("delta", shown=power, min=floor, max=0, interval=step, nameGap=44)
    value = "v => v === undefined ? '' : Math.pow(10, v).toExponential(3)"
    return chart(drawn, axis("epsilon", min=0), y, value=value)


def tradeoff(lines: Sequence[Line], name: str, *, logarithmic: bool = False) -> Options:
    """Return the chart of the trade-off curve; the diagonal is a release that reveals nothing."""
    low = 1e-6 if logarithmic else 0.0
    inside = [tuple(at for at in line if min(at) >= low) if logarithmic else line for line in lines]
    drawn = all_series(zip((name, *_OTHERS), inside, strict=False))
    if not logarithmic:
        blind = {"width": 1, "type": "solid", "color": SOFT, "opacity": 0.6}
        no_use = ((0.0, 1.0), (1.0, 0.0))
        drawn.append(series(UNNAMED, no_use, 6, lineStyle=blind, itemStyle={"color": SOFT}))
    power = "v => v === 1 ? '1' : v.toExponential(0)" if logarithmic else ""
    limits: Options = {"min": low, "max": 1, "log": logarithmic, "shown": power}
    x = axis("false alarms (type I error)", **limits)
    return chart(drawn, x, axis("misses (type II error)", nameGap=42, **limits))


# -- Accuracy --------------------------------------------------------------------------------------------


def sizes(lines: Mapping[str, Line], unit: str) -> Options:
    """Return the chart of relative error against the size of a group, a line for each level."""
    drawn = all_series(lines.items())
    for place, line in enumerate(drawn):
        line["lineStyle"]["width"] = 2
        if place >= 5:
            line["lineStyle"]["type"] = DASHES[(place + 1) % len(DASHES)]
    low = min((y for line in lines.values() for _, y in line), default=1e-6)
    who = PEOPLE if unit == "person" else f"{unit}s in the group"
    x = axis(who, log=True, shown="v => v.toLocaleString('en')", min=10, max=10**6)
    least = 10.0 ** math.floor(math.log10(low))
    y = axis("95 % margin over the size", log=True, shown=_DIGITS % 1, min=least, nameGap=50)
    return chart(drawn, x, y, value="v => (100 * v).toPrecision(3) + ' %'", left=70)


# -- Risk ------------------------------------------------------------------------------------------------


def belief(line: Line, *, prior: float, value: int, posterior: float) -> Options:
    """Return the posterior against the published value, with the prior and the chosen value marked."""
    low, high = line[0][0], line[-1][0]
    drawn = [
        series("after the release", line, 0),
        series("before", ((low, prior), (high, prior)), 2),
        point(value, posterior),
    ]
    y = share_axis("belief that the target is there")
    y["axisLine"]["onZero"] = False
    x = axis("published count", min=low, max=high)
    x["axisLabel"] |= _NO_ENDS
    return chart(drawn, x, y)


def accuracy_chart(
    mine: Line, bound: Line, *, prior: float, right: float | None, main_path: bool = False
) -> Options:
    """Return how often decisions are right against the prior: this adversary, any adversary, no release."""
    blind = tuple((p, max(p, 1 - p)) for p, _ in bound or mine)
    drawn = [
        *([series("this adversary", mine, 0)] if mine else []),
        series("best of anyone, main path" if main_path else "best of anyone", bound, 1),
        series("without the release", blind, 2),
        *([] if right is None else [point(prior, right)]),
    ]
    x, y = axis("prior", min=0, max=1), share_axis("right decisions", 0.5)
    return chart(drawn, x, y, value="v => (100 * v).toFixed(2) + ' %'")


def levels(pairs: Sequence[tuple[Risk, Risk]], *, overall: Risk) -> Options:
    """Return right decisions by level: dots for one count and for all counts, lines for the rest."""
    one, every = zip(*pairs, strict=True) if pairs else ((), ())
    kinds = (("its most precise count", one, "circle", 2), ("all its counts", every, "rect", 0))
    seen = [
        dots(
            [[row.accuracy, place, str(right_percent(row))] for place, row in enumerate(rows)],
            colour,
            name=name,
            symbol=symbol,
            symbolSize=10,
        )
        for name, rows, symbol, colour in kinds
    ]
    last = len(pairs) - 0.5
    ends = (("everything published", overall.accuracy), ("nothing published", overall.baseline))
    lines = [
        series(name, ((value, -0.5), (value, last)), place, xAxisIndex=0, yAxisIndex=1)
        for place, (name, value) in enumerate(ends, 1)
    ]
    low = min([overall.baseline, *(row.accuracy for row in one)])
    high = max([overall.accuracy, *(row.accuracy for row in every)])
    spread = max(1e-9, high - low)
    limits = {"min": max(0.0, low - 0.04 * spread), "max": min(1.0, overall.accuracy + 0.06 * spread)}
    x = axis("right decisions, averaged over the prior", shown=_DIGITS % 4, scale=True, **limits)
    x["axisLine"]["onZero"] = False
    x["axisLabel"] |= _NO_ENDS
    names = [visible(level_name(row.scope)) for row in one]
    # not measured by the browser, which would do so before the font is loaded
    room = max(24, min(260, 6.2 * max(map(len, names), default=0)))
    y = axis("", data=names, inverse=True) | {"type": "category"}
    y["axisLabel"] |= {"width": room, "overflow": "truncate", "hideOverlap": False}
    y["splitLine"]["show"] = True
    made = chart([*seen, *lines], x, y, left=20 + room)
    made["yAxis"] = [y, {"type": "value", "min": -0.5, "max": last, "show": False, "inverse": True}]
    narrow = min(room, 140)
    less: Options = {"grid": {"left": 20 + narrow}, "yAxis": [{"axisLabel": {"width": narrow}}, {}]}
    made["media"].append({"query": {"maxWidth": 520}, "option": less})
    made["legend"] |= {
        "itemStyle": {},
        "itemHeight": 10,
        "data": [
            *({"name": name, "icon": symbol} for name, _, symbol, _ in kinds),
            *({"name": line["name"], "itemStyle": {"opacity": 0}} for line in lines),
        ],
    }
    said = "p => p.seriesName + ': ' + p.value[2] + ' % right'"
    made["tooltip"] |= {"trigger": "item", ":formatter": said}
    return made


# -- Tabulation design -----------------------------------------------------------------------------------


def suppression(lines: Sequence[tuple[str, Line]]) -> Options:
    """Return the chance of being dropped against the true size, a line for each kind of noise."""
    return chart(
        all_series(lines), axis(PEOPLE, min=0), share_axis("chance to be dropped"), value=_DIGITS % 3
    )


def bias(if_shown: Line, overall: Line) -> Options:
    """Return the bias of a total against the true size: for groups shown, and with dropped groups as zero."""
    lines = all_series((("of groups that are shown", if_shown), ("dropped ones counted as 0", overall)))
    y = axis("bias, people", nameGap=44)
    return chart(lines, axis(PEOPLE, min=0), y, value="v => Number(v).toFixed(2)")


def tables(lines: Sequence[Line]) -> Options:
    """Return the chance of each table against the true size."""
    ends = {"min": lines[0][0][0], "max": lines[0][-1][0]} if lines and lines[0] else {}
    x, y = axis(PEOPLE, log=True, shown=_THOUSANDS, **ends), share_axis("chance of the table")
    return chart(all_series(zip(TABLES, lines, strict=True)), x, y, value=_DIGITS % 3)
