"""Any picture drawn by Matplotlib: a figure, the bytes of its file, or SVG for the middle of a page.

No backend is chosen and no global setting touched. The same picture gives the same file.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.figure import (
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
from discreet.errors import InputError
from discreet.render.look import GREY, GRID, INK, SOFT, WIDTHS, colour, dashes, tick_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis as Ruler
    from matplotlib.figure import Figure

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "figure.titlesize": 9,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 2.6,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "text.parse_math": False,  # a name may hold a dollar sign
    "svg.hashsalt": "discreet",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
_ON_A_PAGE: Any = {
    **dict.fromkeys(("text.color", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), SOFT),
    **dict.fromkeys(("svg.fonttype", "axes.facecolor", "figure.facecolor"), "none"),
}
_UNDATED: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_SYMBOLS = {
    Symbol.CIRCLE: "o",
    Symbol.SQUARE: "s",
    Symbol.DIAMOND: "D",
    Symbol.CROSS: "x",
    Symbol.UP: "^",
    Symbol.DOWN: "v",
}
_SLACK = 0.015
"""Room beyond 0 and 100 %."""
_FEW = 4
"""As wide as so many names is an axis below at least."""
_BELOW = 4.5
"""How far below its panel a legend stands, in letters: under the numbers and the title of the axis."""
_APART = 0.07
"""How far apart, as a part of its height, the ends of lines are that have their labels beside them."""
_MANY = 20
"""More panels than this are small ones, which share both axes."""


def figure_of(picture: Picture, look: Any = None, *, new: Callable[..., Figure] | None = None) -> Figure:
    """Return a picture as a figure of Matplotlib; `look` are settings beyond those of all pictures.

    `new` makes the figure, for those who keep an account of theirs, as pyplot does.

    >>> from discreet.answers.figure import points
    >>> line = Line(points([0, 1], [1, 0]), "nothing told")
    >>> figure = figure_of(Picture((Panel(Axis("false alarms"), Axis("misses"), (line,)),), "A trade-off"))
    >>> figure.axes[0].get_xlabel(), [text.get_text() for text in figure.legends[0].get_texts()]
    ('false alarms', ['nothing told'])
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**_STYLE, **(look or {})}):
        many = len(picture.panels)
        across = picture.across or min(many, 4)
        is_small = many > _MANY
        size = picture.size or _size(picture, across)
        figure = (new or Figure)(figsize=size, layout=None if is_small else "constrained")
        if many % across and not is_small and not picture.shares_y:
            axes = _filled(figure, many, across)
        else:
            grid = figure.subplots(
                -(-many // across), across, squeeze=False, sharex=is_small, sharey=picture.shares_y
            )
            axes = list(grid.flat)
        if picture.title:
            figure.suptitle(picture.title)
        for number, (ax, panel) in enumerate(zip(axes, picture.panels, strict=False)):
            _draw(figure, ax, panel)
            below = picture.panels[number + across] if number + across < many else None
            before = picture.panels[number - 1] if number % across else None
            if below is None or below.x.title != panel.x.title:
                ax.set_xlabel(panel.x.title)
                ax.tick_params(labelbottom=True)
            if before is None or before.y.title != panel.y.title:
                ax.set_ylabel(panel.y.title)
        for ax in axes[many:]:
            ax.set_axis_off()
        if is_small:
            _tighten(figure, axes[:many])
        _explain(figure, axes, many, size[0])
    return figure


def _filled(figure: Figure, many: int, across: int) -> list[Axes]:
    """Return axes for panels whose last row is not full: they are wider there, so that no place is empty.

    >>> from matplotlib.figure import Figure
    >>> axes = _filled(Figure(), 3, 2)
    >>> [axis.get_subplotspec().colspan for axis in axes]
    [range(0, 1), range(1, 2), range(0, 2)]
    """
    last = many % across
    grid = figure.add_gridspec(-(-many // across), across * last)
    places = [(number // across, number % across) for number in range(many)]
    wides = [across if row == many // across else last for row, _ in places]
    return [
        figure.add_subplot(grid[row, at * wide : (at + 1) * wide])
        for (row, at), wide in zip(places, wides, strict=True)
    ]


def drawn_in(answer: Answer, name: str = "", ax: Axes | Sequence[Axes] | None = None) -> Axes | list[Axes]:
    """Draw a picture of an answer, the first unless it is named, and return the axes of its panels.

    Axes that are given keep their style and their figure; without any, pyplot makes a figure.

    >>> from matplotlib.figure import Figure
    >>> from discreet.answers.figure import points
    >>> line = Line(points([0, 1], [1, 0]), "nothing told")
    >>> picture = Picture((Panel(Axis("false alarms"), Axis("misses"), (line,)),), "A trade-off")
    >>> given = Figure().subplots()
    >>> drawn_in(Answer("one count", figures={"tradeoff": lambda: picture}), ax=given) is given
    True
    """
    pictures = {**answer.figures, **answer.on_request}
    if not pictures:
        raise InputError(f"{answer.title!r} has no picture")
    if name and name not in pictures:
        raise InputError(f"{answer.title!r} has no picture {name!r}; there are {', '.join(pictures)}")
    picture = pictures[name or next(iter(pictures))]()
    many = len(picture.panels)
    if ax is None:
        import matplotlib.pyplot as plt

        axes = figure_of(picture, new=plt.figure).axes[:many]
        return axes[0] if many == 1 else axes
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != many:
        room = f"plt.subplots({-(-many // (picture.across or many))}, {picture.across or many})"
        raise InputError(
            f"this picture has {many} panel{'s' * (many > 1)}, and ax has {len(axes)} Axes; give one for "
            f"each, such as those of {room}, or leave ax out"
        )
    _draw_into(axes, picture)
    return axes[0] if many == 1 else axes


def _draw_into(axes: Sequence[Axes], picture: Picture) -> None:
    import matplotlib

    with matplotlib.rc_context({"text.parse_math": False}):  # a name may hold a dollar sign
        for ax, panel in zip(axes, picture.panels, strict=True):
            _draw(ax.figure, ax, panel)  # type: ignore[arg-type]  # a part of a figure does as well
            ax.set_xlabel(panel.x.title)
            ax.set_ylabel(panel.y.title)
            ax.set_title(panel.title or (picture.title if len(axes) == 1 else ""))
            if ax.get_legend_handles_labels()[1]:
                ax.legend()


def picture_bytes(picture: Picture, kind: str, look: Any = None) -> bytes:
    """Return a picture as the bytes of an svg, png or pdf file, without date or version.

    >>> empty = Picture((Panel(Axis(), Axis(), ()),))
    >>> picture_bytes(empty, "svg") == picture_bytes(empty, "svg")
    True
    """
    return figure_bytes(figure_of(picture, look), kind, look)


def figure_bytes(figure: Figure, kind: str, look: Any = None) -> bytes:
    """Return a figure as the bytes of such a file, in the settings in which it was drawn.

    >>> from matplotlib.figure import Figure
    >>> figure_bytes(Figure(), "svg") == figure_bytes(Figure(), "svg")
    True
    """
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({**_STYLE, **(look or {})}):
        figure.savefig(stream, format=kind, dpi=300, metadata=_UNDATED[kind])
    return stream.getvalue()


def inline_svg(picture: Picture, key: str, colours: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return SVG for the middle of a page, with its own ids and the page's fonts, in two parts: its first tag
    without the end, and the rest, so that a description can stand between them. `colours` are what the page
    has instead of those of print.

    >>> head, rest = inline_svg(Picture((Panel(Axis("epsilon"), Axis(), ()),)), "profile")
    >>> head.startswith("<svg viewBox="), 'id="profile-figure_1"' in rest, ">epsilon</text>" in rest
    (True, True, True)
    """
    drawn = picture_bytes(picture, "svg", _ON_A_PAGE).decode()
    drawn = drawn[drawn.index("<svg") :].strip()
    useless = r"<metadata>.*?</metadata>\s*|<defs>\s*<style.*?</style>\s*</defs>\s*|<!--.*?-->\s*"
    drawn = re.sub(useless, "", drawn, flags=re.DOTALL)
    outer = r' (width|height)="[\d.]+pt"| version="1.1"| xmlns(:xlink)?="[^"]*"|; ?font-family:[^;"]*'
    drawn = re.sub(outer, "", drawn).replace("xlink:href", "href")
    drawn = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", drawn)
    drawn = re.sub(r'(id="|href="#|url\(#)', rf"\1{key}-", drawn)
    for printed, own in (colours or {}).items():
        drawn = drawn.replace(printed.lower(), own)
    head, _, rest = drawn.partition(">")
    return head, rest


# -- a panel ----------------------------------------------------------------------------------------------


def _draw(figure: Figure, ax: Axes, panel: Panel) -> None:
    """Draw a panel; ends of axes that follow the data do so after the items, before the lines across."""
    for item in panel.items:
        if not isinstance(item, Rule):
            _add(figure, ax, item)
    _dress(ax, ax.xaxis, panel.x)
    _dress(ax, ax.yaxis, panel.y)
    for item in panel.items:
        if isinstance(item, Rule):
            _rule(ax, item)
    ax.set_title(panel.title)


def _add(figure: Figure, ax: Axes, item: Item) -> None:
    if isinstance(item, Line):
        _line(ax, item)
    elif isinstance(item, Dots):
        _dots(ax, item)
    elif isinstance(item, Bars):
        _bars(ax, item)
    elif isinstance(item, Cells):
        _cells(figure, ax, item)
    elif isinstance(item, MapAreas):
        _map(figure, ax, item)


def _dashed(number: int, weight: Weight) -> Any:
    drawn = dashes(number, weight)
    return (0, drawn) if drawn else "-"


def _line(ax: Axes, line: Line) -> None:
    ax.plot(
        *_columns(line.points),
        label=line.label or None,
        color=colour(line.place),
        linestyle=_dashed(line.place, line.weight),
        linewidth=WIDTHS[line.weight],
        alpha=0.75 if line.weight is Weight.LIGHT and line.place >= 0 else None,
        drawstyle="steps-post" if line.is_stepped else "default",
    )


def _dots(ax: Axes, dots: Dots) -> None:
    x, y = _columns(dots.points)
    shade = colour(dots.place)
    ax.plot(
        x,
        y,
        _SYMBOLS[dots.symbol],
        label=dots.label or None,
        color=shade,
        markersize=3.5 if dots.has_stems else 4.5 if dots.is_hollow else 6,
        mfc="none" if dots.is_hollow else shade,
        zorder=9 if dots.is_marked else None,
    )
    if dots.has_stems:
        ax.vlines(x, 0, y, color=shade, linewidth=0.6)


def _bars(ax: Axes, bars: Bars) -> None:
    x, y = _columns(bars.points)
    drawn = ax.bar(
        x, y, bars.width, yerr=bars.spreads or None, color=colour(bars.place), label=bars.label or None
    )
    if bars.texts:
        ax.bar_label(drawn, bars.texts, padding=2, fontsize=7)
        ax.margins(y=0.12)  # room for the texts
    ax.grid(axis="x", visible=False)


def _cells(figure: Figure, ax: Axes, cells: Cells) -> None:
    values = np.array([[math.nan if v is None else v for v in row] for row in cells.values])
    (x, y), (high, wide) = cells.start, values.shape
    where: Any = {"extent": (x - 0.5, x + wide - 0.5, y - 0.5, y + high - 0.5), "origin": "lower"}
    if cells.ends is None:
        image = ax.imshow(np.log(values), aspect="auto", cmap="YlOrBr", **where)
    else:
        low, high = cells.ends
        image = ax.imshow(values, aspect="auto", cmap="RdBu_r", vmin=low, vmax=high, **where)
    for row, texts in enumerate(cells.texts):
        for column, text in enumerate(texts):
            shade = image.to_rgba(np.log(values[row, column]))[:3]
            dark = bool(np.isfinite(values[row, column])) and float(np.sum(shade)) < 1.35
            ink = "white" if dark else "black"
            ax.text(x + column, y + row, text, ha="center", va="center", color=ink, fontsize=8)
    ax.grid(visible=False)
    if not cells.texts:
        figure.colorbar(image, ax=ax, extend="both")


def _map(figure: Figure, ax: Axes, areas: MapAreas) -> None:
    """Draw areas in shades; those without a value are hatched."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.ticker import FuncFormatter

    patches: dict[bool, list[PathPatch]] = {True: [], False: []}
    for rings, value in zip(areas.rings, areas.values, strict=True):
        closed = [(*ring, ring[0]) for ring in rings]
        codes = [
            code
            for ring in closed
            for code in (Outline.MOVETO, *[Outline.LINETO] * (len(ring) - 2), Outline.CLOSEPOLY)
        ]
        outline = Outline([point for ring in closed for point in ring], codes)
        patches[value is None].append(PathPatch(outline))
    values = np.array([value for value in areas.values if value is not None])
    without = PatchCollection(patches[True], facecolor="white", edgecolor=GREY, linewidth=0.4)
    without.set_hatch("////")
    ax.add_collection(without)
    shaded = PatchCollection(patches[False], cmap="YlOrBr", edgecolor=GREY, linewidth=0.4)
    shaded.set_array(values)
    ax.add_collection(shaded)
    ax.autoscale_view()
    x, y = np.array([point for rings in areas.rings for ring in rings for point in ring]).T
    degrees = bool(np.abs(x).max() <= 180 and np.abs(y).max() <= 90)
    # a degree of longitude is shorter than one of latitude
    ax.set_aspect(1.0 / math.cos(math.radians(float(y.mean()))) if degrees else 1.0)
    ax.set_axis_off()
    if values.size:
        axis = Axis(written=areas.written)
        written = None if areas.written is Notation.NUMBER else FuncFormatter(partial(_tick, axis))
        bar = figure.colorbar(shaded, ax=ax, label=areas.label, shrink=0.7, format=written)
        if bar.solids is not None:  # drawn, not an image: a page that loads nothing shows none
            bar.solids.set(rasterized=False, edgecolor="face")


def _rule(ax: Axes, rule: Rule) -> None:
    """Draw a line across; without a label it marks a value, and only if that is in view."""
    ends = ax.get_xlim() if rule.is_upright else ax.get_ylim()
    if not rule.label and not min(ends) < rule.at < max(ends):
        return
    across = ax.axvline if rule.is_upright else ax.axhline
    across(
        rule.at,
        color=colour(rule.place) if rule.label else SOFT,
        linestyle=_dashed(rule.place, Weight.NORMAL),
        linewidth=1.5 if rule.label else 0.8,
        label=rule.label or None,
    )


def _columns(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(at for at, _ in points), tuple(up for _, up in points)


# -- axes and legends -------------------------------------------------------------------------------------


def _dress(ax: Axes, ruler: Ruler, axis: Axis) -> None:
    """Set the scale, the ends and the numbers of an axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

    upright = ruler is ax.yaxis
    if axis.is_log:
        # where a value is zero the line leaves downwards
        (ax.set_yscale if upright else ax.set_xscale)("log", nonpositive="clip")
    low, high = axis.low, axis.high
    if axis.written is Notation.PERCENT and not axis.is_log:
        # lines that hug an end stay visible
        low, high = -_SLACK if low == 0 else low, 1 + _SLACK if high == 1 else high
    if axis.names:
        beside = 0.0 if upright else max(0, _FEW - len(axis.names)) / 2  # one bar does not fill a picture
        low, high = (-0.5 - beside, len(axis.names) - 0.5 + beside)
    if axis.is_downward:
        low, high = high, low
    if upright:
        ax.set_ylim(low, high)
    else:
        ax.set_xlim(low, high)
    if axis.names:
        _name(ruler, axis.names, upright, ax.get_window_extent().width / ax.figure.dpi)
        return
    if axis.ticks:
        ruler.set_ticks(axis.ticks)
    elif axis.is_log:
        first, last = sorted(ruler.get_view_interval())
        if last < 200 * first:  # too few powers of ten
            ruler.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        elif not upright:
            ruler.set_major_locator(LogLocator(numticks=6))  # numbers of ten decades would overlap
    elif axis.is_whole:
        ruler.set_major_locator(MaxNLocator(nbins="auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    if axis.is_log or axis.written is not Notation.NUMBER:
        first, last = sorted(ruler.get_view_interval())
        if axis.written is Notation.NUMBER and not (first > 5e-4 and last < 2e5):
            axis = replace(axis, written=Notation.POWER)  # so that all its numbers are written alike
        ruler.set_major_formatter(FuncFormatter(partial(_tick, axis)))
    ax.minorticks_off()


def _tick(axis: Axis, value: float, _: int | None = None) -> str:
    return tick_text(axis, value)


def _name(ruler: Ruler, names: Sequence[str], upright: bool, inches: float) -> None:
    """Write names at an axis: below it in small letters if it is too short, or upright if they are many.

    An axis whose names are all empty is not drawn.
    """
    if not any(names):
        ruler.set_visible(False)
        ruler.axes.spines["left" if upright else "bottom"].set_visible(False)
        return
    if upright or 0.09 * len(names) * max(map(len, names)) < inches:
        ruler.set_ticks(range(len(names)), names)
        return
    turned = len(names) > _MANY
    written = [name.replace(" ", "\n", 1) if len(name) > 9 and not turned else name for name in names]
    ruler.set_ticks(
        range(len(names)), written, fontsize=7 if len(names) < 12 else 6, rotation=90 if turned else 0
    )


def _size(picture: Picture, across: int) -> tuple[float, float]:
    """Return how large a picture is if nobody asks for a size."""
    panel, rows = picture.panels[0], -(-len(picture.panels) // across)
    if panel.items and isinstance(panel.items[0], MapAreas):
        return 6.4, 5.2
    if panel.items and isinstance(panel.items[0], Cells):
        values = panel.items[0].values
        return 3.5 + 0.8 * len(values[0]), 1.5 + 0.35 * len(values)
    wide = 6.4 if across == 1 else 7.2 if across == 2 else 2.8 * across
    return wide + (0.8 if panel.y.names else 0), 1.0 + 2.7 * rows


def _tighten(figure: Figure, axes: Sequence[Axes]) -> None:
    """Set small panels close together, where no layout engine would."""
    figure.subplots_adjust(left=0.1, right=0.985, top=0.92, bottom=0.06, hspace=0.45, wspace=0.12)
    for ax in axes:
        ax.title.set_fontsize(7)
        ax.title.set_position((0.5, 0.9))


def _explain(figure: Figure, axes: Sequence[Axes], many: int, wide: float) -> None:
    """Write one legend below the panels if they show the same, or else one in each."""
    told = [ax.get_legend_handles_labels() for ax in axes[:many]]
    handles, labels = told[0]
    from matplotlib.container import BarContainer

    if not all(set(others) <= set(labels) for _, others in told):
        for ax in axes[:many]:
            place = ax.get_subplotspec()
            part = 1.0 if place is None else len(place.colspan) / place.get_gridspec().ncols
            if not _label_ends(ax):
                columns = _columns_of_legend(ax.get_legend_handles_labels()[1], part * wide)
                # inside it would cover what is drawn
                ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=_BELOW, ncols=columns)
    elif len(labels) == 1 and isinstance(handles[0], BarContainer):
        return  # the axis says what the bars are
    elif many > _MANY and len(axes) > many:
        axes[-1].legend(handles, labels, loc="center right")
    elif labels:
        columns = _columns_of_legend(labels, wide)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def _columns_of_legend(labels: Sequence[str], wide: float) -> int:
    """Return in how many columns labels stand that have so many inches.

    >>> _columns_of_legend(["exact", "zCDP"], 7.2), _columns_of_legend(["exact", "zCDP"], 1.5)
    (2, 1)
    """
    room, letters = 15 * wide, [9 + len(label) for label in labels]  # the line, the gap, and the label
    rows = 1 if sum(letters) < room else math.ceil(len(labels) / max(1, room // max(letters)))
    return max(1, math.ceil(len(labels) / rows))


def _label_ends(ax: Axes) -> bool:
    """Write the labels of lines beside their right ends, if these are apart; return whether it was done."""
    handles, labels = ax.get_legend_handles_labels()
    lines = [line for line in ax.lines if line in handles and line.get_linestyle() != "None"]
    if len(lines) != len(handles):
        return False
    ends = [(float(np.max(line.get_xdata())), float(np.asarray(line.get_ydata())[-1])) for line in lines]
    shown = ax.transAxes.inverted().transform(ax.transData.transform(ends))
    heights = np.sort(shown[:, 1])
    if not (np.all(np.isfinite(shown)) and np.all(np.diff(heights) > _APART)):
        return False
    if not (np.all(shown[:, 0] > 0.5) and np.all((heights >= 0) & (heights <= 1))):
        return False
    for line, label, end in zip(lines, labels, ends, strict=True):
        ax.annotate(
            label,
            end,
            (4, 0),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
    return True
