"""Draw a study: lines, marks or bars from its columns, in panels, with printed values as diamonds.

Colours are those of Okabe and Ito, and each line has its own dashes for printing without colour.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.report.figures import LINES, STYLE
from discreet.studies.register import Study, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = "ox^v"


def draw_figure(
    study: Study,
    *,
    x: str,
    y: dict[str, str],
    size: tuple[float, float] = (6.0, 3.6),
    kind: str = "lines",
    panels: str | list[str] = "",
    panel_name: str = "",
    across: int = 4,
    by: str = "",
    views: tuple[str, ...] = ("",),
    labels: tuple[str, str] = ("", ""),
    printed: tuple[str, ...] = (),
    swapped: bool = False,
    errors: str = "",
    marks: tuple[str, ...] = (),
) -> Figure:
    """Draw columns `y` (with their labels) against `x`.

    kind: lines, marks, bars or map. panels: a panel for each value of this column, or of these columns
    together; panel_name: their title, with {} for the value. by: a line for each value of this column, with a
    panel for each of `y`. views: the scales of the axes, see `_view`; each further view draws all panels
    again. printed: the printed quantities to show, by the beginning of their names. swapped: `x` is the
    vertical axis. marks: columns shown as marks among lines.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        columns = [panels] if isinstance(panels, str) else panels
        cases = _cases(study, columns) if panels else []
        many = len(cases) or (len(y) if by or kind == "map" else len(views))
        wide = min(across, many) if len(columns) == 1 else len(study.distinct(columns[-1]))
        small = many > 20
        figure = Figure(figsize=size, layout=None if small else "constrained")
        same = bool(panels) and not views[0].startswith("free")
        grid = figure.subplots(-(-many // wide), wide, squeeze=False, sharex=small, sharey=same)
        axes = list(grid.flat)
        figure.suptitle(f"{study.title}\n{study.source}", fontsize=9)
        for place, ax in enumerate(axes[:many]):
            ax.set_axisbelow(True)
            part, shown = study, y
            if panels:
                part = study.where(**dict(zip(columns, cases[place], strict=True)))
                ax.set_title(_panel_title(columns, cases[place], panel_name))
            elif by or kind == "map":
                shown = dict([list(y.items())[place]])
            if kind == "map":
                _map(figure, ax, part, x, by, shown)
            elif kind == "bars":
                _bars(ax, part, x, shown, by, errors)
            else:
                _lines(ax, part, x, shown, by, kind, swapped, marks)
            _show_printed(ax, part, x, printed, kind, place if by else None)
            _view(ax, views[min(place, len(views) - 1)], 8 if small else 3)
            if place // wide == (many - 1) // wide or place + wide >= many:
                ax.set_xlabel(labels[0])
                ax.tick_params(labelbottom=True)
            if place % wide == 0 or (by and not panels):
                ax.set_ylabel(next(iter(shown.values())) if by and kind == "lines" else labels[1])
        for ax in axes[many:]:
            ax.set_axis_off()
        handles, names = axes[0].get_legend_handles_labels()
        if small:
            figure.subplots_adjust(left=0.1, right=0.985, top=0.92, bottom=0.06, hspace=0.45, wspace=0.12)
            axes[-1].legend(handles, names, loc="center right", fontsize=8)
            for ax in axes[:many]:
                ax.title.set_fontsize(7)
                ax.title.set_position((0.5, 0.9))
        elif len(names) > 1:
            figure.legend(
                handles, names, loc="outside lower center", ncols=min(len(names), 4 if wide > 1 else 3)
            )
    return figure


def _cases(study: Study, columns: list[str]) -> list[tuple[Value, ...]]:
    """The combinations of values that occur in these columns, the first column outermost."""
    cases = set(zip(*map(study.column, columns), strict=True))
    return [case for case in product(*map(study.distinct, columns)) if case in cases]


def _panel_title(columns: list[str], case: tuple[Value, ...], name: str) -> str:
    if name:
        return name.format(*case)
    pairs = zip(columns, case, strict=True)
    words = [v if isinstance(v, str) else f"{column.replace('_', ' ')} {v:.6g}" for column, v in pairs]
    return ", ".join(words)


def _lines(
    ax: Axes,
    part: Study,
    x: str,
    y: dict[str, str],
    by: str,
    kind: str,
    swapped: bool,
    marks: tuple[str, ...] = (),
) -> None:
    parts = [(str(v), part.where(**{by: v})) for v in part.distinct(by)] if by else [("", part)]
    for k, (value, line) in enumerate(parts):
        # at the values of x, or at 0, 1, ... if these are names
        across = np.arange(len(line.rows)) if isinstance(line.column(x)[0], str) else line.numbers(x)
        for j, (column, label) in enumerate(y.items()):
            up = line.numbers(column)
            style = dict(LINES[(k if by else j) % 8])
            # few values of a dense curve, or a column listed in `marks`, are drawn as marks
            if kind == "marks" or column in marks or np.isnan(up).any():
                style |= {"linestyle": "none", "marker": _MARKS[j % 4], "markersize": 4, "mfc": "none"}
            # a number needs the column's name beside it, a name does not
            name = label if not by else value if value[0].isalpha() else f"{by} = {value}"
            ax.plot(*((up, across) if swapped else (across, up)), label=name, **style)
    _name_ticks(ax, part, x, swapped)


def _bars(ax: Axes, part: Study, x: str, y: dict[str, str], by: str, errors: str) -> None:
    series = (
        [(str(v), part.where(**{by: v}), next(iter(y))) for v in part.distinct(by)]
        if by
        else [(label, part, column) for column, label in y.items()]
    )
    width = 0.76 / len(series)
    for k, (label, line, column) in enumerate(series):
        place = np.arange(len(line.rows)) + (k - (len(series) - 1) / 2) * width
        spread = 2 * line.numbers(errors) if errors else None
        bars = ax.bar(
            place, line.numbers(column), 0.94 * width, yerr=spread, color=LINES[k]["color"], label=label
        )
        if len(line.rows) * len(series) <= 16 and not errors and ax.get_yscale() == "linear":
            heights = line.numbers(column)
            # bars too low to be seen are too close together for labels
            texts = [f"{v:.3g}" if abs(v) > 0.03 * np.abs(heights).max() else "" for v in heights]
            ax.bar_label(bars, texts, padding=2, fontsize=7)
            ax.margins(y=0.12)  # room for the labels
    ax.grid(axis="x", visible=False)
    _name_ticks(ax, series[0][1], x, False)


def _name_ticks(ax: Axes, part: Study, x: str, swapped: bool) -> None:
    values = part.column(x)
    if swapped or not isinstance(values[0], str):
        return
    is_upright = len(values) > 20
    names = [
        str(value).replace(" ", "\n", 1) if len(str(value)) > 9 and not is_upright else str(value)
        for value in values
    ]
    size, turn = 7 if len(names) < 12 else 6, 90 if is_upright else 0
    ax.set_xticks(np.arange(len(names)), names, fontsize=size, rotation=turn)


def _map(figure: Figure, ax: Axes, part: Study, x: str, up: str, y: dict[str, str]) -> None:
    ((column, label),) = y.items()
    a, b = part.numbers(x), part.numbers(up)
    picture = part.numbers(column).reshape(len(set(a)), len(set(b))).T
    span = (a.min() - 0.5, a.max() + 0.5, b.min() - 0.5, b.max() + 0.5)
    image = ax.imshow(picture, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-6, vmax=8, extent=span)
    ax.grid(False)
    ax.set_title(label)
    figure.colorbar(image, ax=ax, extend="both")


def _show_printed(
    ax: Axes, part: Study, x: str, wanted: tuple[str, ...], kind: str, place: int | None
) -> None:
    """Draw diamonds at the printed values whose row is a value of `x`; with several names, one per panel."""
    names = tuple(wanted if place is None or len(wanted) < 2 else wanted[place : place + 1])
    rows = [str(value) for value in part.column(x)]
    is_number = not isinstance(part.column(x)[0], str)
    points = []
    for check in part.checks:
        at = check.printed.at
        if not check.printed.what.startswith(names):
            continue
        if at in rows and (kind == "bars" or not is_number):
            points.append((float(rows.index(at)), check.printed.value))
        elif is_number:
            with suppress(ValueError):
                points.append((float(at), check.printed.value))
    if points:
        ax.plot(*zip(*points, strict=True), "kD", label="printed", markersize=4.5, mfc="none")


def _view(ax: Axes, view: str, every: int) -> None:
    """Set the scales of the axes: delta (downwards from 1), unit (square) and its corner, logs, zero."""
    from matplotlib.ticker import LogLocator

    if view.startswith("delta"):
        low = int(view.removeprefix("delta") or -21)
        ticks = 10.0 ** np.arange(0, low - 1, -every, dtype=np.float64)
        ax.set(yscale="log", ylim=(10.0**low, 2.0), yticks=ticks, xlim=(0, None))
    elif view == "unit":
        ax.set(xlim=(-0.015, 1.0), ylim=(-0.015, 1.0))
    elif view == "corner":
        ax.set(xlim=(-0.003, 0.2), ylim=(-0.015, 1.0), xticks=(0, 0.1))
    elif view == "logunit":
        ax.set(xscale="log", yscale="log", xlim=(1e-5, 1.2), ylim=(1e-7, 1.5))
    elif view == "zero":
        ax.set_ylim(bottom=0)
    else:
        ax.set(**{f"{axis}scale": "log" for axis in "xy" if f"log{axis}" in view})
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_locator(LogLocator(numticks=6))  # labels for ten decades would overlap
    ax.minorticks_off()
