"""A study as a picture: lines, marks, bars or a map from its columns, in panels, with printed values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

import numpy as np

from discreet.answers.figure import (
    PLACES,
    Axis,
    Bars,
    Cells,
    Dots,
    Item,
    Line,
    Notation,
    Panel,
    Picture,
    Symbol,
    points,
)
from discreet.studies.register import Floats, Study, Value

_MARKS = (Symbol.CIRCLE, Symbol.CROSS, Symbol.UP, Symbol.DOWN)
_PRINTED = 5
"""The place of printed values: black."""


def study_picture(
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
) -> Picture:
    """Return columns `y` (with their labels) against `x`.

    kind: lines, marks, bars or map. panels: a panel for each value of this column, or of these columns
    together; panel_name: their title, with {} for the value. by: a line for each value of this column, with a
    panel for each of `y`. views: the scales of the axes, see `_axes`; each further view draws all panels
    again. printed: the printed quantities to show, by the beginning of their names. swapped: `x` is the
    vertical axis. marks: columns shown as marks among lines.

    >>> study = Study("demo", "A demonstration", "nobody", ("n", "value"), ((1, 0.5), (2, 0.25)))
    >>> (panel,) = study_picture(study, x="n", y={"value": "our value"}, views=("logy",)).panels
    >>> panel.items[0].points, panel.y.is_log
    (((1.0, 0.5), (2.0, 0.25)), True)
    """
    columns = [panels] if isinstance(panels, str) else panels
    cases = _cases(study, columns) if panels else []
    many = len(cases) or (len(y) if by or kind == "map" else len(views))
    drawn = []
    for panel in range(many):
        part, shown, title = study, y, ""
        items: list[Item]
        if panels:
            part = study.where(**dict(zip(columns, cases[panel], strict=True)))
            title = _panel_title(columns, cases[panel], panel_name)
        elif by or kind == "map":
            shown = dict([list(y.items())[panel]])
        if kind == "map":
            items, title = [_map(part, x, by, next(iter(shown)))], next(iter(shown.values()))
        elif kind == "bars":
            items = list(_bars(part, x, shown, by, errors))
        else:
            items = list(_lines(part, x, shown, by, kind, swapped, marks))
        items += _printed(part, x, printed, kind, panel if by else None)
        if len(items) == 1 and not by and not isinstance(items[0], Cells):
            items = [replace(items[0], label="")]  # the axis says it
        across_axis, up_axis = _axes(views[min(panel, len(views) - 1)], 8 if many > 20 else 3)
        titles = (labels[0], next(iter(shown.values())) if by and kind == "lines" else labels[1])
        names = () if swapped else _names(part, x, kind)
        drawn.append(
            Panel(
                replace(across_axis, title=titles[0], names=names),
                replace(up_axis, title=titles[1]),
                tuple(items),
                title,
            )
        )
    return Picture(
        tuple(drawn),
        f"{study.title}\n{study.source}",
        across=min(across, many) if len(columns) == 1 else len(study.distinct(columns[-1])),
        size=(size[0], size[1]),
        shares_y=bool(panels) and not views[0].startswith("free"),
    )


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
    part: Study,
    x: str,
    y: dict[str, str],
    by: str,
    kind: str,
    swapped: bool,
    marks: Sequence[str],
) -> Iterator[Line | Dots]:
    parts = [(str(v), part.where(**{by: v})) for v in part.distinct(by)] if by else [("", part)]
    for k, (value, line) in enumerate(parts):
        # at the values of x, or at 0, 1, ... if these are names
        across = np.arange(len(line.rows)) if isinstance(line.column(x)[0], str) else line.numbers(x)
        for j, (column, label) in enumerate(y.items()):
            up = line.numbers(column)
            # a number needs the column's name beside it, a name does not
            name = label if not by else value if value[0].isalpha() else f"{by} = {value}"
            at, colour = (_known(up, across) if swapped else _known(across, up)), (k if by else j) % PLACES
            # few values of a dense curve, or a column listed in `marks`, are drawn as marks
            if kind == "marks" or column in marks or np.isnan(up).any():
                yield Dots(at, name, colour, _MARKS[j % 4], is_hollow=True)
            else:
                yield Line(at, name, colour)


def _known(x: Floats | np.ndarray, y: Floats | np.ndarray) -> tuple[tuple[float, float], ...]:
    """The points whose coordinates are both known."""
    return tuple(at for at in points(x, y) if not np.isnan(at).any())


def _bars(part: Study, x: str, y: dict[str, str], by: str, errors: str) -> Iterator[Bars]:
    series = (
        [(str(v), part.where(**{by: v}), next(iter(y))) for v in part.distinct(by)]
        if by
        else [(label, part, column) for column, label in y.items()]
    )
    width = 0.76 / len(series)
    for k, (label, line, column) in enumerate(series):
        heights = line.numbers(column)
        centres = np.arange(len(line.rows)) + (k - (len(series) - 1) / 2) * width
        texts: tuple[str, ...] = ()
        if len(line.rows) * len(series) <= 16 and not errors:
            # bars too low to be seen are too close together for texts
            texts = tuple(f"{v:.3g}" if abs(v) > 0.03 * np.abs(heights).max() else "" for v in heights)
        spreads = tuple((2 * line.numbers(errors)).tolist()) if errors else ()
        yield Bars(points(centres, heights), label, k, 0.94 * width, texts, spreads)


def _map(part: Study, x: str, up: str, column: str) -> Cells:
    a, b = part.numbers(x), part.numbers(up)
    values = part.numbers(column).reshape(len(set(a)), len(set(b))).T
    return Cells(tuple(map(tuple, values.tolist())), (), (-6.0, 8.0), (float(a.min()), float(b.min())))


def _names(part: Study, x: str, kind: str) -> tuple[str, ...]:
    """The names at the horizontal axis, if it has no numbers."""
    values = part.column(x)
    return tuple(map(str, values)) if isinstance(values[0], str) or kind == "bars" else ()


def _printed(part: Study, x: str, wanted: tuple[str, ...], kind: str, panel: int | None) -> list[Item]:
    """Diamonds at the printed values whose row is a value of `x`; with several names, one per panel."""
    names = tuple(wanted if panel is None or len(wanted) < 2 else wanted[panel : panel + 1])
    rows = [str(value) for value in part.column(x)]
    is_number = not isinstance(part.column(x)[0], str)
    dots = []
    for check in part.checks:
        at = check.printed.at
        if not check.printed.what.startswith(names):
            continue
        if at in rows and (kind == "bars" or not is_number):
            dots.append((float(rows.index(at)), float(check.printed.value)))
        elif is_number:
            with suppress(ValueError):
                dots.append((float(at), float(check.printed.value)))
    return [Dots(tuple(dots), "printed", _PRINTED, Symbol.DIAMOND, is_hollow=True)] if dots else []


def _axes(view: str, every: int) -> tuple[Axis, Axis]:
    """The scales of the axes: delta (downwards from 1), unit (square) and its corner, logs, zero."""
    if view.startswith("delta"):
        last = int(view.removeprefix("delta") or -21)
        ticks = tuple(float(f"1e{power}") for power in range(0, last - 1, -every))
        low = float(f"1e{last}")
        return Axis(low=0.0), Axis(low=low, high=2.0, is_log=True, written=Notation.POWER, ticks=ticks)
    if view == "unit":
        return Axis(low=-0.015, high=1.0), Axis(low=-0.015, high=1.0)
    if view == "corner":
        return Axis(low=-0.003, high=0.2, ticks=(0.0, 0.1)), Axis(low=-0.015, high=1.0)
    if view == "logunit":
        return Axis(low=1e-5, high=1.2, is_log=True), Axis(low=1e-7, high=1.5, is_log=True)
    if view == "zero":
        return Axis(), Axis(low=0.0)
    return Axis(is_log="logx" in view), Axis(is_log="logy" in view)
