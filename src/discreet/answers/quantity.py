"""A number that knows what it is: its value, what it claims, how it is written and how many digits hold.

A bound is rounded so that it stays true: up where the quantity is at most this, down where it is at least
this, to the nearest otherwise. People read `str(quantity)`, machines `quantity.machine`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum, auto
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import numbers
from discreet.numbers import DIGITS, Interval

if TYPE_CHECKING:
    from discreet.budget import AnswerKind

FLOAT_DIGITS = 11
"""Digits that hold in a result that is not certified."""

Machine = str | int | float | Decimal | None | dict[str, Decimal]
"""What JSON has of a quantity."""


class NumberKind(StrEnum):
    """What a number claims.

    >>> NumberKind("at most").sentence
    'An upper bound: the true value may be smaller.'
    """

    EXACT = "exact"
    AT_MOST = "at most"
    AT_LEAST = "at least"
    MODELLED = "as modelled"
    MAIN_PATH = "main path only"
    ABOUT = "about"

    @classmethod
    def of(cls, claim: AnswerKind) -> NumberKind:
        """Return what numbers of a release with this claim are."""
        return cls(claim.label)

    @property
    def sentence(self) -> str:
        """One sentence on how to read the number."""
        return _SENTENCES[self]

    def column(self, name: str) -> str:
        """Write the head of a column of such numbers.

        >>> [kind.column("epsilon") for kind in (NumberKind.EXACT, NumberKind.AT_MOST, NumberKind.MAIN_PATH)]
        ['exact epsilon', 'epsilon at most', 'epsilon, main path only']
        """
        if self is NumberKind.EXACT:
            return f"exact {name}"
        return f"{name}{',' if self is NumberKind.MAIN_PATH else ''} {self.value}"

    def quantity(
        self,
        value: int | float | Fraction | Interval | None,
        digits: int | None = None,
        accuracy: float = 0.0,
    ) -> Quantity:
        """Return a result of this kind; an upper bound is rounded up, so that it stays one.

        >>> print(NumberKind.AT_MOST.quantity(10.94372), NumberKind.EXACT.quantity(10.94372))
        10.9438 10.9437
        """
        return Quantity(value, kind=self, digits=digits, accuracy=accuracy)


_SENTENCES = {
    NumberKind.EXACT: "Exact: no smaller value holds for this release.",
    NumberKind.AT_MOST: "An upper bound: the true value may be smaller.",
    NumberKind.AT_LEAST: "A lower bound: the true value may be larger.",
    NumberKind.MODELLED: (
        "Exact for what is modelled, which is not all that was released, so this is not a bound."
    ),
    NumberKind.MAIN_PATH: "The main path only: other paths may cost more, so this is not a bound.",
    NumberKind.ABOUT: "An approximation, which bounds nothing.",
}


class Style(Enum):
    """How a quantity is written for people."""

    RESULT = auto()
    """With all the digits that are meant, ending zeros too: 24.4565."""
    BRIEF = auto()
    """Without ending zeros: 5, 0.667."""
    GIVEN = auto()
    """A number that somebody chose, as shortly as it can be read back: 1e-10, 1/3."""
    FRACTION = auto()
    """An exact number as a fraction and a decimal: 24811/5000 = 4.9622. Machines get the fraction."""
    PERCENT = auto()
    """A part of one: 7.2 %; with `digits`, so many places."""
    CHANCE = auto()
    """A chance, neither it nor its complement rounded away: 0.5888, 1 - 2.0e-09."""
    TIMES = auto()
    """A chance as so many times in 100."""
    OFTEN = auto()
    """A rare chance in round numbers: 3 times in 10,000."""
    MARGIN = auto()
    """A margin of error: 3.92, 98,000."""
    CHANGE = auto()
    """A difference, with its sign: -1.8841."""
    PERCENT_CHANGE = auto()
    """A change as a part of what was there, with its sign: -12.28 %."""
    PLACES = auto()
    """With `digits` places after the point: 3.6501."""
    POWER = auto()
    """With a power of ten, and `digits` places before it: 5.802e-34."""
    COUNT = auto()
    """A whole number with separators: 12,345."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it claims, its style and the digits that hold.

    `accuracy` is how far the value may be off, in its own unit: digits that it leaves open are not written.
    `digits` are significant ones, or places where the style has them; None is the usual number.

    >>> print(Quantity(10.94372, kind=NumberKind.AT_MOST), Quantity(24.4566, accuracy=1.4e-4))
    10.9438 24.457
    >>> print(Quantity(Fraction(24811, 5000), Style.FRACTION), "|", Quantity(Fraction(1, 3), Style.GIVEN))
    24811/5000 = 4.9622 | 1/3
    >>> print(Quantity(0.20497, Style.PERCENT, NumberKind.AT_LEAST))
    20.49 %
    """

    value: int | float | Fraction | Interval | None
    style: Style = Style.RESULT
    kind: NumberKind = NumberKind.EXACT
    digits: int | None = None
    accuracy: float = 0.0
    unit: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return "-"
        if isinstance(self.value, Interval):
            return "{} to {}".format(*numbers.interval(self.value, self.digits))
        written = self._written(self.value)
        return f"{written} {self.unit}" if self.unit else written

    @property
    def claimed(self) -> str:
        """The number with its kind beside it.

        >>> Quantity(31.5961, kind=NumberKind.MAIN_PATH, digits=4).claimed
        '31.60 (main path only)'
        """
        if self.kind in (NumberKind.AT_MOST, NumberKind.AT_LEAST, NumberKind.ABOUT):
            return f"{self.kind.value} {self}"
        return f"{self} ({self.kind.value})"

    def states(self, name: str) -> str:
        """Write a clause that says what the quantity of this name is.

        >>> Quantity(2.5, digits=3).states("epsilon")
        'the exact epsilon is 2.50'
        """
        if self.kind is NumberKind.EXACT:
            return f"the exact {name} is {self}"
        if self.kind in (NumberKind.AT_MOST, NumberKind.AT_LEAST, NumberKind.ABOUT):
            return f"{name} is {self.kind.value} {self}"
        return f"{name} is {self} {'as modelled' if self.kind is NumberKind.MODELLED else 'on the main path'}"

    @property
    def machine(self) -> Machine:
        """The number for JSON: all its digits, an exact one as a text, an interval by its ends."""
        if isinstance(self.value, Interval):
            lower, upper = numbers.interval(self.value, self.digits)
            return {"lower": Decimal(lower), "upper": Decimal(upper)}
        if isinstance(self.value, Fraction):
            return str(self.value) if self.style is Style.FRACTION else float(self.value)
        return self.value

    def _written(self, value: int | float | Fraction) -> str:
        up, down = self.kind is NumberKind.AT_MOST, self.kind is NumberKind.AT_LEAST
        match self.style:
            case Style.RESULT:
                return self._result(float(value), up=up, down=down)
            case Style.BRIEF:
                return numbers.brief(value, self.digits or DIGITS)
            case Style.GIVEN if up:
                return numbers.bound(Fraction(value), digits=self.digits or DIGITS)
            case Style.GIVEN:
                return numbers.exact_text(value) if isinstance(value, Fraction) else numbers.plain(value)
            case Style.FRACTION:
                return numbers.with_fraction(Fraction(value))
            case Style.PERCENT:
                return numbers.percent_down(float(value)) if down else numbers.percent(value, self.digits)
            case Style.CHANCE:
                return numbers.at_most(float(value)) if up else numbers.chance(float(value))
            case Style.TIMES:
                return numbers.times(float(value), upper=up)
            case Style.OFTEN:
                return (numbers.at_least if down else numbers.about)(float(value))
            case Style.MARGIN:
                return numbers.margin(float(value))
            case Style.PERCENT_CHANGE:
                return f"{100 * float(value):+.2f} %" if value else "0 %"
            case Style.CHANGE:
                return self._change(float(value))
            case Style.PLACES:
                return f"{float(value):.{self.digits or 0}f}"
            case Style.POWER:
                return f"{float(value):.{self.digits or 0}e}"
            case Style.COUNT:
                return f"{value:,}"

    def _result(self, value: float, *, up: bool, down: bool) -> str:
        digits = numbers.count_of_digits(value, self.accuracy, self.digits or DIGITS)
        if value and (up or down) and math.isfinite(value):
            value = float(numbers.decimal(Fraction(repr(value)), digits=digits, down=down))
        return numbers.number(value, digits)

    def _change(self, value: float) -> str:
        if value == 0 or self.accuracy < 1e-5:
            return numbers.change(value)
        return f"{value:+.{numbers.count_of_digits(value, self.accuracy, 4)}g}"
