"""How pictures look: colours, dashes, widths and the numbers of axes, the same in print and on a page.

Colours are those of Okabe and Ito, told apart by colour-blind readers too, and each line has its own dashes
for print without colour.
"""

from __future__ import annotations

import math

from discreet.answers.figure import Axis, Notation, Weight

GREY = "#8C8C8C"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9", GREY)
"""By place; on a page the style sheet has others, for light and dark."""
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (3.7, 1.6),
    (6.4, 1.6, 1.0, 1.6),
    (1.0, 1.65),
    (6.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    (1.0, 1.0),
    (),
    (3.7, 1.6),
)
"""By place, in widths of the line: drawn, left out, drawn, ..."""
WIDTHS = {Weight.LIGHT: 1.0, Weight.NORMAL: 1.6, Weight.HEAVY: 2.0}
"""In points."""
INK, SOFT, GRID = "#1c1f23", "#555555", "#E3E3E3"


def colour(number: int) -> str:
    """Return the colour of a place; the background is grey.

    >>> colour(0), colour(-1), colour(8) == colour(0)
    ('#0072B2', '#8C8C8C', True)
    """
    return GREY if number < 0 else COLOURS[number % len(COLOURS)]


def dashes(number: int, weight: Weight = Weight.NORMAL) -> tuple[float, ...]:
    """Return the dashes of a place, in widths of the line. The background has dots, and what is light too, in
    the colour of what it belongs to; what is light in the background is a thin line.

    >>> dashes(0), dashes(1), dashes(-1), dashes(0, Weight.LIGHT), dashes(-1, Weight.LIGHT)
    ((), (3.7, 1.6), (1.0, 1.65), (1.0, 1.65), ())
    """
    if (number < 0) is (weight is Weight.LIGHT):
        return DASHES[0] if number < 0 else DASHES[number % len(DASHES)]
    return DASHES[3]


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def tick_text(axis: Axis, value: float) -> str:
    """Write a number at an axis.

    >>> [tick_text(Axis(written=Notation.POWER, is_log=True), value) for value in (1, 1e-3, 2e-21)]
    ['1', '10⁻³', '2·10⁻²¹']
    >>> tick_text(Axis(written=Notation.PERCENT), 0.2), tick_text(Axis(written=Notation.COUNT), 12000)
    ('20 %', '12,000')
    """
    if axis.written is Notation.PERCENT:
        return f"{100 * value:.10g} %"
    if axis.written is Notation.COUNT:
        return f"{value:,.10g}"
    if axis.written is Notation.POWER and value > 0:
        power = math.floor(math.log10(value) + 1e-9)
        if power == 0:
            return f"{value:.3g}"
        first = f"{value / 10.0**power:.3g}"
        raised = f"10{str(power).translate(_RAISED)}"
        return raised if first == "1" else f"{first}·{raised}"
    return f"{value:.10g}"


_FOUR = "toLocaleString('en', {maximumSignificantDigits: 4})"
_JAVASCRIPT = {
    Notation.NUMBER: ("", "v => Number(v).toPrecision(4)"),
    Notation.COUNT: (f"v => v.{_FOUR}", f"v => Number(v).{_FOUR}"),
    Notation.PERCENT: (f"v => (100 * v).{_FOUR} + ' %'", f"v => (100 * v).{_FOUR} + ' %'"),
    Notation.POWER: ("v => v === 1 ? '1' : v.toExponential(0)", "v => Number(v).toExponential(3)"),
}
"""At an axis, and under the pointer."""
LOG_SCRIPTS = (
    "v => v === 0 ? '1' : '1e' + v",
    "v => v === undefined ? '' : Math.pow(10, v).toExponential(3)",
)
"""The same for a number whose logarithm is drawn."""


def tick_script(axis: Axis) -> str:
    """Return JavaScript that writes a number at an axis; nothing where the chart's own way will do.

    >>> tick_script(Axis(written=Notation.POWER, is_log=True))
    "v => v === 1 ? '1' : v.toExponential(0)"
    """
    return _JAVASCRIPT[axis.written][0]


def value_script(axis: Axis) -> str:
    """Return JavaScript that writes the value of a point, with more digits.

    >>> value_script(Axis())
    'v => Number(v).toPrecision(4)'
    """
    return _JAVASCRIPT[axis.written][1]
