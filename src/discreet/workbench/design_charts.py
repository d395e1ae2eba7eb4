"""Charts of the Tabulation design page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.workbench import charts
from discreet.workbench.results import Line

TABLES = ("total only", "sex × 4 ages", "sex × 9 ages", "sex × 23 ages")
_PERCENT = "v => (100 * v).toLocaleString('en', {maximumSignificantDigits: 3}) + ' %'"
_COUNT = "v => v.toLocaleString('en')"


def suppression(lines: Sequence[tuple[str, Line]], *, dark: bool) -> dict[str, Any]:
    """Return the chance to be dropped against the true size, a line for each kind of noise."""
    drawn = [charts.series(name, line, place, dark) for place, (name, line) in enumerate(lines)]
    x = charts.axis("people in the group", dark, min=0)
    y = charts.axis("chance to be dropped", dark, min=0, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = "v => Math.round(100 * v) + ' %'"
    made = charts.chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = _PERCENT
    return made


def bias(if_shown: Line, overall: Line, *, dark: bool) -> dict[str, Any]:
    """Return the bias of a total against the true size: of those shown, and with a dropped one as zero."""
    drawn = [
        charts.series("of groups that are shown", if_shown, 0, dark),
        charts.series("dropped ones counted as 0", overall, 1, dark),
    ]
    x = charts.axis("people in the group", dark, min=0)
    y = charts.axis("bias, people", dark, nameGap=44)
    made = charts.chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = "v => Number(v).toFixed(2)"
    return made


def tables(lines: Sequence[Line], *, dark: bool) -> dict[str, Any]:
    """Return the chance of each table against the true size."""
    drawn = [
        charts.series(name, line, place, dark)
        for place, (name, line) in enumerate(zip(TABLES, lines, strict=True))
    ]
    x = charts.axis("people in the group", dark, log=True)
    if lines and lines[0]:
        x.update({"min": lines[0][0][0], "max": lines[0][-1][0]})
    x["axisLabel"][":formatter"] = "v => v.toLocaleString('en', {maximumSignificantDigits: 2})"
    y = charts.axis("chance of the table", dark, min=0, max=1, nameGap=44)
    y["axisLabel"][":formatter"] = "v => Math.round(100 * v) + ' %'"
    made = charts.chart(drawn, x, y, dark)
    made["tooltip"][":valueFormatter"] = _PERCENT
    return made
