"""A picture as data: which lines, dots, bars and cells it has, their labels, and the axes they are drawn on.

What is in a picture is said beside the words of the same result; how it looks, in print and on a page, is the
business of `discreet.render`. A thing in a picture has a `place`: 0 is what the picture is about, 1 what that
is compared with, then further ones; QUIET is what lies in the background. A place has one colour and one kind
of dashes, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import SupportsFloat

QUIET = -1
"""The place of what lies in the background, such as what is known without the release."""

PLACES = 8
"""Lines that colour and dashes tell apart, on paper too."""

Points = tuple[tuple[float, float], ...]


def points(x: Iterable[SupportsFloat], y: Iterable[SupportsFloat]) -> Points:
    """Return points from their coordinates.

    >>> points([0, 1], (0.5, 0.25))
    ((0.0, 0.5), (1.0, 0.25))
    """
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))


class Notation(Enum):
    """How the numbers of an axis are written."""

    NUMBER = "number"
    COUNT = "count"
    PERCENT = "percent"
    POWER = "power of ten"


class Weight(Enum):
    """How much a line stands out."""

    LIGHT = "light"
    NORMAL = "normal"
    HEAVY = "heavy"


class Symbol(Enum):
    """What a dot looks like."""

    CIRCLE = "circle"
    SQUARE = "square"
    DIAMOND = "diamond"
    CROSS = "cross"
    UP = "triangle"
    DOWN = "triangle upside down"


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis; an end that is None is where the data end.

    With `names` it has these at 0, 1, 2, ... instead of numbers. `ticks` are where numbers stand, if that
    matters.
    """

    title: str = ""
    low: float | None = None
    high: float | None = None
    is_log: bool = False
    written: Notation = Notation.NUMBER
    ticks: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    is_downward: bool = False
    """Whether the first is on top."""
    is_whole: bool = False
    """Whether only whole numbers have a meaning."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, or steps that begin at them; without a label the legend leaves it out."""

    points: Points
    label: str = ""
    place: int = 0
    weight: Weight = Weight.NORMAL
    is_stepped: bool = False


@dataclass(frozen=True, slots=True)
class Dots:
    """Points by themselves, each with a text if there are `texts`, or on a stem."""

    points: Points
    label: str = ""
    place: int = 0
    symbol: Symbol = Symbol.CIRCLE
    texts: tuple[str, ...] = ()
    is_hollow: bool = False
    has_stems: bool = False
    is_marked: bool = False
    """Whether they are the one thing to look at, above all lines."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars from zero, `width` of the axis wide, with texts at their ends, or with spreads around these."""

    points: Points
    label: str = ""
    place: int = 0
    width: float = 0.8
    texts: tuple[str, ...] = ()
    spreads: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Cells:
    """A map of values, by rows; None where there is none. Without texts a scale explains the shades.

    The cell of row r and column c lies at `start` plus (c, r). With `ends` the shades are of two colours that
    meet in the middle between them; without, they follow the logarithm.
    """

    values: tuple[tuple[float | None, ...], ...]
    texts: tuple[tuple[str, ...], ...] = ()
    ends: tuple[float, float] | None = None
    start: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class MapAreas:
    """Areas of a map: the rings of each, and the value that shades it, None where there is none.

    `label` says what the shades mean. Axes are not drawn, and both have the same scale.
    """

    rings: tuple[tuple[Points, ...], ...]
    values: tuple[float | None, ...]
    label: str = ""
    written: Notation = Notation.NUMBER


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across the whole panel, upright at a value of x, or level at a value of y."""

    at: float
    label: str = ""
    place: int = QUIET
    is_upright: bool = True


Item = Line | Dots | Bars | Cells | Rule | MapAreas


@dataclass(frozen=True, slots=True)
class Panel:
    """Axes and what is drawn on them; later items lie above earlier ones."""

    x: Axis
    y: Axis
    items: tuple[Item, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """Panels beside each other, with a title above and, for those who cannot see it, a caption in words.

    `across` is how many panels stand in a row, `size` the width and height in inches, where a page or a paper
    asks for one; otherwise the renderer chooses. Panels that share their vertical axis have its numbers once.

    >>> line = Line(points([0, 1], [1, 0]), "nothing told", QUIET)
    >>> picture = Picture((Panel(Axis("false alarms"), Axis("misses"), (line,)),), "A trade-off")
    >>> picture.panels[0].items[0].label
    'nothing told'
    """

    panels: tuple[Panel, ...]
    title: str = ""
    caption: str = ""
    across: int = 0
    size: tuple[float, float] | None = None
    shares_y: bool = False


Drawable = Callable[[], Picture]
"""A picture that is made when somebody draws it: sampling a curve may take a while."""
