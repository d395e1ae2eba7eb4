"""Line charts as SVG that takes its colours from the page, so that it follows light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.report.html.markup import Markup, el, join

WIDTH, HEIGHT = 520.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 22.0, 12.0, 50.0
_LEGEND_LINE = 19.0


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its name, its style (a CSS class) and its points."""

    name: str
    style: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis, linear, with its ticks."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]

    def share(self, value: float) -> float:
        """How far along the axis a value lies, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of a curve that is pointed out, with lines to both axes."""

    x: float
    y: float
    style: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that one picture shows; `key` makes its ids."""

    key: str
    title: str
    description: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    names_below: bool = False  # the names of the curves: at the lower left, or else at the upper right


def round_ticks(high: float, most: int = 7) -> list[tuple[float, str]]:
    """Return ticks at round numbers from zero to `high`.

    >>> [text for _, text in round_ticks(30.2)]
    ['0', '5', '10', '15', '20', '25', '30']
    >>> [text for _, text in round_ticks(0.3)]
    ['0', '0.05', '0.1', '0.15', '0.2', '0.25', '0.3']
    """
    place = math.floor(math.log10(high / most))
    step = next(
        size * 10.0 ** (place + more)
        for more in (0, 1)
        for size in (1, 2, 5)
        if high / (size * 10.0 ** (place + more)) <= most
    )
    return [(k * step, f"{k * step:.10g}") for k in range(int(high / step + 1e-9) + 1)]


def draw(chart: Chart) -> Markup:
    """Return the picture as an SVG element with a title and a description for those who cannot see it."""
    title, described, clip = f"{chart.key}-title", f"{chart.key}-text", f"{chart.key}-clip"
    plot = {"x": _n(_LEFT), "y": _n(_TOP), "width": _n(_inner()[0]), "height": _n(_inner()[1])}
    curves = [el("path", d=_path(chart, line.points), class_=f"curve {line.style}") for line in chart.lines]
    return el(
        "svg",
        el("title", chart.title, id=title),
        el("desc", chart.description, id=described),
        el("clipPath", el("rect", **plot), id=clip),
        _axes(chart),
        el("g", join(curves, "\n"), clip_path=f"url(#{clip})"),
        join(_mark(chart, mark) for mark in chart.marks),
        _legend(chart.lines, below=chart.names_below),
        viewBox=f"0 0 {_n(WIDTH)} {_n(HEIGHT)}",
        role="img",
        aria_labelledby=f"{title} {described}",
        class_="chart",
    )


def swatch(style: str) -> Markup:
    """Return a short piece of a curve, for a table or a sentence."""
    stroke = el("path", d="M1 5H27", class_=f"curve {style}")
    return el("svg", stroke, viewBox="0 0 28 10", class_="swatch", aria_hidden="true")


def bar(share: float) -> Markup:
    """Return a small bar; the number that it shows stands beside it in the table."""
    back = el("rect", x=0, y=0, width=100, height=8, class_="bar-back")
    front = el("rect", x=0, y=0, width=_n(100 * min(max(share, 0.0), 1.0)), height=8, class_="bar-front")
    return el(
        "svg", back, front, viewBox="0 0 100 8", preserveAspectRatio="none", class_="bar", aria_hidden="true"
    )


def _inner() -> tuple[float, float]:
    return WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM


def _place(chart: Chart, x: float, y: float) -> tuple[float, float]:
    wide, high = _inner()
    return _LEFT + wide * chart.x.share(x), _TOP + high * (1 - chart.y.share(y))


def _n(value: float) -> str:
    """A coordinate: hundredths are enough, and the same on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _path(chart: Chart, points: Iterable[tuple[float, float]]) -> str:
    placed = (_place(chart, x, y) for x, y in points)
    return "M" + "L".join(f"{_n(x)} {_n(y)}" for x, y in placed)


def _axes(chart: Chart) -> Markup:
    parts: list[Markup] = []
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    for value, text in chart.x.ticks:
        x, _ = _place(chart, value, chart.y.low)
        parts.append(el("line", x1=_n(x), x2=_n(x), y1=_n(_TOP), y2=_n(bottom), class_="grid"))
        parts.append(el("text", text, x=_n(x), y=_n(bottom + 17), text_anchor="middle"))
    for value, text in chart.y.ticks:
        _, y = _place(chart, chart.x.low, value)
        parts.append(el("line", x1=_n(_LEFT), x2=_n(right), y1=_n(y), y2=_n(y), class_="grid"))
        parts.append(el("text", text, x=_n(_LEFT - 8), y=_n(y + 4), text_anchor="end"))
    parts.append(el("path", d=f"M{_n(_LEFT)} {_n(_TOP)}V{_n(bottom)}H{_n(right)}", class_="axis"))
    middle = _LEFT + _inner()[0] / 2
    parts.append(
        el("text", chart.x.label, x=_n(middle), y=_n(HEIGHT - 9), text_anchor="middle", class_="label")
    )
    centre = _TOP + _inner()[1] / 2
    turned = f"translate(13 {_n(centre)}) rotate(-90)"
    parts.append(el("text", chart.y.label, transform=turned, text_anchor="middle", class_="label"))
    return el("g", join(parts, "\n"), aria_hidden="true")


def _mark(chart: Chart, mark: Mark) -> Markup:
    x, y = _place(chart, mark.x, mark.y)
    drop = el("path", d=f"M{_n(_LEFT)} {_n(y)}H{_n(x)}V{_n(HEIGHT - _BOTTOM)}", class_="drop")
    dot = el("circle", cx=_n(x), cy=_n(y), r=4, class_=f"dot {mark.style}")
    return el("g", drop, dot, aria_hidden="true")


def _legend(lines: Sequence[Line], *, below: bool) -> Markup:
    """Names in a corner where these curves are not."""
    widest = max(len(line.name) for line in lines)
    width = 46 + 6.6 * widest
    height = _LEGEND_LINE * len(lines) + 10
    left, top = WIDTH - _RIGHT - width - 4, _TOP + 5
    if below:
        left, top = _LEFT + 6, HEIGHT - _BOTTOM - height - 6
    parts = [
        el("rect", x=_n(left), y=_n(top), width=_n(width), height=_n(height), rx=3, class_="legend-back")
    ]
    for k, line in enumerate(lines):
        y = top + 14.5 + _LEGEND_LINE * k
        parts.append(el("path", d=f"M{_n(left + 8)} {_n(y)}h26", class_=f"curve {line.style}"))
        parts.append(el("text", line.name, x=_n(left + 41), y=_n(y + 4)))
    return el("g", join(parts, "\n"), aria_hidden="true")
