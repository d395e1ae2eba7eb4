"""Any picture as options of ECharts: a chart for each panel, in colours of the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.answers.figure import (
    QUIET,
    Axis,
    Bars,
    Cells,
    Dots,
    Item,
    Line,
    MapAreas,
    Notation,
    Panel,
    Picture,
    Rule,
    Symbol,
    Weight,
)
from discreet.errors import visible
from discreet.render.look import LOG_SCRIPTS, dashes, tick_script, tick_text, value_script

Options = dict[str, Any]
"""Options for ECharts."""

INK, SOFT, RULE, PAPER = "var(--ink)", "var(--chart-soft)", "var(--chart-rule)", "var(--paper)"
COLOURS = tuple(f"var(--line-{number})" for number in range(5))
"""Colours of the style sheet, which has a light and a dark set; the last is that of the background."""

_WEIGHTS = {Weight.LIGHT: 1.0, Weight.NORMAL: 1.8, Weight.HEAVY: 2.5}
_SYMBOLS: Mapping[Symbol, tuple[str, int]] = {
    Symbol.CIRCLE: ("circle", 0),
    Symbol.SQUARE: ("rect", 0),
    Symbol.DIAMOND: ("diamond", 0),
    Symbol.CROSS: ("path://M0 0L8 8M8 0L0 8", 0),
    Symbol.UP: ("triangle", 0),
    Symbol.DOWN: ("triangle", 180),
}
_LONGEST = 200  # pixels of a name in a legend
_WIDTHS = (4000, 640, 520, 440, 380, 320, 270)  # pixels, from wide to narrow; the last that fits is used


def charts_of(picture: Picture) -> tuple[Options, ...]:
    """Return a chart for each panel of a picture.

    >>> from discreet.answers.figure import points
    >>> line = Line(points([0, 1], [1, 0]), "nothing told")
    >>> (chart,) = charts_of(Picture((Panel(Axis("false alarms"), Axis("misses"), (line,)),)))
    >>> chart["xAxis"]["name"], chart["series"][0]["data"], chart["legend"]["data"]
    ('false alarms', ((0.0, 1.0), (1.0, 0.0)), ['nothing told'])
    """
    return tuple(map(chart_of, picture.panels))


def chart_of(panel: Panel) -> Options:
    """Return a panel as a chart.

    >>> share = Axis("belief", 0.0, 1.0, written=Notation.PERCENT)
    >>> chart_of(Panel(Axis("count"), share, ()))["yAxis"]["max"]
    1.0
    """
    x, y = _axis(panel.x, is_upright=False), _axis(panel.y, is_upright=True)
    drawn = [_series(item, panel) for item in panel.items]
    names = [str(series["name"]) for series in drawn if "name" in series]
    left = _room(panel.y) if panel.y.names else 20 + y["nameGap"]
    made: Options = {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"fontFamily": "Roboto, system-ui, sans-serif"},
        "grid": {"left": left, "right": 18, "top": 34, "bottom": 46},
        **_legend(names),
        "tooltip": {
            "trigger": "axis",
            "backgroundColor": PAPER,
            "borderColor": RULE,
            "textStyle": {"color": INK, "fontSize": 12},
            ":valueFormatter": _on_logs(panel.y) or value_script(panel.y),
            "axisPointer": {"lineStyle": {"color": SOFT}, ":label": "{}"},
        },
        "xAxis": x,
        "yAxis": y,
        "series": drawn,
    }
    for change in (_dotted, _named, _shaded):
        change(panel, made)
    return made


# -- axes ---------------------------------------------------------------------------------------------------


def _axis(axis: Axis, *, is_upright: bool) -> Options:
    """An axis with its name in the middle."""
    made: Options = {
        "type": "log" if axis.is_log else "value",
        "name": axis.title,
        "nameLocation": "middle",
        "nameGap": 30 if not is_upright else 50 if axis.is_log else 44,
        "nameTextStyle": {"color": SOFT, "fontSize": 12},
        "axisLabel": {"color": SOFT, "fontSize": 11, "hideOverlap": True},
        "axisLine": {"show": True, "onZero": False, "lineStyle": {"color": SOFT}},
        "axisTick": {"show": False},
        "splitLine": {"lineStyle": {"color": RULE}},
    }
    label = made["axisLabel"]
    if axis.names:
        made |= {"type": "category", "data": [visible(name) for name in axis.names]}
        made["inverse"] = axis.is_downward
        made["show"] = any(axis.names)  # a drawing of people has no axis
        return made
    ends = {"min": axis.low, "max": axis.high}
    if is_upright and _on_logs(axis):
        made["type"] = "value"
        ends = {key: None if end is None else math.floor(math.log10(end) + 1e-9) for key, end in ends.items()}
        label[":formatter"] = LOG_SCRIPTS[0]
        if ends["min"] is not None:
            made["interval"] = max(1, round(-ends["min"] / 4))
    elif tick_script(axis):
        label[":formatter"] = tick_script(axis)
    made |= {key: end for key, end in ends.items() if end is not None}
    if None in ends.values() and not is_upright and axis.low is None:
        made["scale"] = True
    if axis.is_whole:
        made["minInterval"] = 1
    # the number at an end that is not a round one
    for key, shown in (("min", "showMinLabel"), ("max", "showMaxLabel")):
        end = ends[key]
        if end is not None and not axis.is_log and not _is_round(end):
            label[shown] = False
    return made


def _is_round(end: float) -> bool:
    """Whether a number has at most two digits."""
    unit = 10.0 ** (math.floor(math.log10(abs(end))) - 1) if end else 1.0
    return math.isclose(end, round(end / unit) * unit, rel_tol=1e-12)


def _on_logs(axis: Axis) -> str:
    """What writes a value of an upright axis in powers of ten: its logarithm is drawn."""
    return LOG_SCRIPTS[1] if axis.is_log and axis.written is Notation.POWER else ""


def _room(axis: Axis) -> float:
    """Pixels for names, not measured by the browser, which would do so before the font is loaded."""
    return 20 + max(24.0, min(260.0, 6.2 * max(map(len, axis.names), default=0)))


# -- series -------------------------------------------------------------------------------------------------


def _series(item: Item, panel: Panel) -> Options:
    """What an item is in a chart; what has no label is left out of the legend and of what a pointer shows."""
    if isinstance(item, Cells):
        return _cells(item)
    known: Options = {"name": visible(item.label)} if item.label else {"tooltip": {"show": False}}
    return _DRAWN[type(item)](item, panel) | known


def _line(line: Line, panel: Panel) -> Options:
    return {
        "type": "line",
        "data": _placed(line.points, panel),  # tuples, whose elements NiceGUI does not observe
        "symbol": "none",
        "lineStyle": {"width": _WEIGHTS[line.weight], **_stroke(line.place, line.weight)},
        "itemStyle": {"color": _colour(line.place)},
        "emphasis": {"disabled": True},
        "z": 2 if line.weight is Weight.HEAVY else 3,
        **({"step": "end"} if line.is_stepped else {}),
    }


def _rule(rule: Rule, panel: Panel) -> Options:
    """A line across, along the other axis from end to end."""
    low, high = _ends(panel, panel.y if rule.is_upright else panel.x, upright=rule.is_upright)
    ends = ((rule.at, low), (rule.at, high)) if rule.is_upright else ((low, rule.at), (high, rule.at))
    made = _line(Line(ends, rule.label, rule.place), panel)
    return made | ({"xAxisIndex": 0, "yAxisIndex": 1} if panel.y.names and rule.is_upright else {})


def _dots(dots: Dots, panel: Panel) -> Options:
    symbol, turned = _SYMBOLS[dots.symbol]
    inner = {"color": "transparent", "borderColor": _colour(dots.place), "borderWidth": 1.5}
    style = {"itemStyle": inner if dots.is_hollow else {"color": _colour(dots.place)}}
    placed = _placed(dots.points, panel)
    texts = dots.texts or ("",) * len(placed)
    return {
        "type": "scatter",
        "data": [[*at, text] if text else [*at] for at, text in zip(placed, texts, strict=True)],
        "symbol": symbol,
        "symbolRotate": turned,
        "symbolSize": 11 if dots.is_marked else 6 if dots.has_stems else 10,
        **style,
        "emphasis": style,  # the colour stays under the pointer
        **({"z": 9} if dots.is_marked else {}),
    }


def _bars(bars: Bars, panel: Panel) -> Options:
    return {
        "type": "bar",
        # beside a name the bars of several series are set side by side by the chart itself
        "data": [[round(at) if panel.x.names else at, up] for at, up in _placed(bars.points, panel)],
        "itemStyle": {"color": _colour(bars.place)},
        "emphasis": {"disabled": True},
        **({} if panel.x.names else {"barWidth": f"{max(1, 80 // max(1, len(bars.points)))}%"}),
    }


def _outlines(areas: MapAreas, panel: Panel) -> Options:
    """Outlines alone: shades are for print."""
    gap: list[list[float | None]] = [[None, None]]
    data = [point for rings in areas.rings for ring in rings for point in (*map(list, ring), *gap)]
    return {"type": "line", "data": data, "showSymbol": False, "lineStyle": {"width": 1}}


def _cells(cells: Cells) -> Options:
    texts = cells.texts or tuple(tuple(map(str, row)) for row in cells.values)
    data = [
        [column, row, value if cells.ends else math.log10(value), texts[row][column]]
        for row, values in enumerate(cells.values)
        for column, value in enumerate(values)
        if value is not None
    ]
    label = {"show": True, ":formatter": "p => p.value[3]", "color": "#000"} if cells.texts else {}
    return {"type": "heatmap", "data": data, "label": label, "emphasis": {"disabled": True}}


_DRAWN: Mapping[type, Callable[[Any, Panel], Options]] = {
    Line: _line,
    Rule: _rule,
    Dots: _dots,
    Bars: _bars,
    MapAreas: _outlines,
}


def _placed(points: Sequence[tuple[float, float]], panel: Panel) -> tuple[tuple[float, float], ...]:
    """The points that the axes can hold; on an upright axis in powers of ten by their logarithms."""
    kept = tuple(points)
    for side, axis in enumerate((panel.x, panel.y)):
        if axis.is_log and not axis.names:
            least = 0.999 * axis.low if axis.low else 0.0
            kept = tuple(at for at in kept if at[side] > 0 and at[side] >= least)
    if _on_logs(panel.y):
        return tuple((at, math.log10(up)) for at, up in kept)
    return kept


def _ends(panel: Panel, axis: Axis, *, upright: bool) -> tuple[float, float]:
    """Where an axis begins and ends: as it says, or with the data."""
    if axis.names:
        return -0.5, len(axis.names) - 0.5
    side = 1 if upright else 0
    seen = [at[side] for item in panel.items if isinstance(item, Line | Dots | Bars) for at in item.points]
    low = axis.low if axis.low is not None else min(seen, default=0.0)
    return low, axis.high if axis.high is not None else max(seen, default=1.0)


def _colour(number: int) -> str:
    return COLOURS[number if number == QUIET else number % 5]


def _stroke(number: int, weight: Weight) -> Options:
    drawn = dashes(number, weight)
    return {"type": [round(2 * part) for part in drawn] if drawn else "solid", "color": _colour(number)}


# -- legends, and panels of other kinds ----------------------------------------------------------------------


def _legend_rows(names: Sequence[str], width: int) -> int:
    """Return how many rows the legend takes in a chart `width` pixels wide.

    >>> [_legend_rows(["Exact", "zCDP", "Gaussian DP"], width) for width in (500, 200)]
    [1, 2]
    """
    rows, used = 1, 0.0
    for name in names:
        wide = 47 + min(_LONGEST, 6.5 * len(name))  # the mark, the gap, and letters of the legend's size
        rows, used = (rows + 1, wide) if used and used + wide > width else (rows, used + wide)
    return rows


def _legend(names: Sequence[str]) -> Options:
    """The legend on top, which takes more rows in a narrower chart; one of more than five is split."""
    many = {width: _legend_rows(names, width) for width in _WIDTHS}
    tops = {width: 6 + 28 * (rows if max(many.values()) <= 5 else 1) for width, rows in many.items()}
    cut = {"width": _LONGEST, "overflow": "truncate"} if max(map(len, names), default=0) > 30 else {}
    return {
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
            "data": list(names),
        },
    }


def _dotted(panel: Panel, made: Options) -> None:
    """Show dots in the legend, and what each says under the pointer."""
    named = [item for item in panel.items if isinstance(item, Dots | Bars) and item.label]
    if not named:
        return
    icons = {visible(item.label): _SYMBOLS[item.symbol][0] for item in named if isinstance(item, Dots)}
    icons |= {visible(item.label): "rect" for item in named if isinstance(item, Bars)}
    made["legend"] |= {
        "itemStyle": {},
        "itemHeight": 10,
        "data": [
            {"name": name, "icon": icons[name]}
            if name in icons
            else {"name": name, "itemStyle": {"opacity": 0}}
            for name in made["legend"]["data"]
        ],
    }
    if any(isinstance(item, Dots) and item.texts for item in named):
        said = "p => p.value.length < 3 ? p.seriesName : p.seriesName + ': ' + p.value[2]"
        made["tooltip"] |= {"trigger": "item", ":formatter": said}


def _named(panel: Panel, made: Options) -> None:
    """Give names at the left the room they need, and lines across them an axis of numbers beside."""
    if not panel.y.names:
        return
    room = _room(panel.y)
    y, narrow = made["yAxis"], min(room, 160.0)
    y["axisLabel"] |= {"width": room - 20, "overflow": "truncate", "hideOverlap": False}
    y["splitLine"]["show"] = True
    last = len(panel.y.names) - 0.5
    beside = {"type": "value", "min": -0.5, "max": last, "show": False, "inverse": panel.y.is_downward}
    made["yAxis"] = [y, beside]
    less: Options = {"grid": {"left": narrow}, "yAxis": [{"axisLabel": {"width": narrow - 20}}, {}]}
    made["media"].append({"query": {"maxWidth": 520}, "option": less})


def _shaded(panel: Panel, made: Options) -> None:
    """Give a map of values its shades, and its axes names, which such a chart needs."""
    cells = next((item for item in panel.items if isinstance(item, Cells)), None)
    if cells is None:
        return
    if not panel.x.names:
        many = (len(cells.values[0]), len(cells.values))
        for key, start, count in zip(("xAxis", "yAxis"), cells.start, many, strict=True):
            made[key] |= {
                "type": "category",
                "data": [tick_text(Axis(), start + step) for step in range(count)],
            }
    seen = [at[2] for series in made["series"] if series["type"] == "heatmap" for at in series["data"]]
    low, high = cells.ends or (min(seen, default=0.0), max(seen, default=1.0))
    shades = ["#2166ac", "#f7f7f7", "#b2182b"] if cells.ends else ["#ffffe5", "#fec44f", "#cc4c02"]
    made["visualMap"] = {"show": False, "min": low, "max": high, "inRange": {"color": shades}}
    made["tooltip"] |= {"trigger": "item", ":formatter": "p => p.value[3]"}
