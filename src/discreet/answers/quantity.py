"""A number that knows what it is: its value, how it is written and how many digits hold.

A `Claimed` number says more: what it claims, and of what it is true. A bound is rounded so that it stays
true: up where the quantity is at most this, down where it is at least this, to the nearest otherwise. People
read `str(quantity)`, machines `quantity.machine`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, StrEnum, auto
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet import numbers
from discreet.budget.scope import Scope
from discreet.memory import set_fields
from discreet.numbers import DIGITS, Interval

if TYPE_CHECKING:
    from discreet.budget import AnswerKind, Claim

FLOAT_DIGITS = 11
"""Digits that hold in a result that is not certified."""

Machine = str | int | float | Decimal | None | dict[str, Decimal]
"""What JSON has of a quantity."""


class Rounding(Enum):
    """Where a number goes that has more digits than are written."""

    NEAREST = auto()
    UP = auto()
    DOWN = auto()


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

    @property
    def rounding(self) -> Rounding:
        """Where a number of this kind is rounded to, so that it stays true."""
        return {NumberKind.AT_MOST: Rounding.UP, NumberKind.AT_LEAST: Rounding.DOWN}.get(
            self, Rounding.NEAREST
        )


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
    EXACT = auto()
    """An exact number in a few digits: 0.863269. Machines get the fraction."""
    PERCENT = auto()
    """A part of one: 7.2 %; with `digits`, so many places."""
    CHANCE = auto()
    """A chance, neither it nor its complement rounded away: 0.5888, 1 - 2.0e-09."""
    TIMES = auto()
    """A chance as so many times in 100; with `digits`, in so many places."""
    OFTEN = auto()
    """A rare chance in round numbers: 3 times in 10,000."""
    MARGIN = auto()
    """A margin of error or a standard deviation, in three digits: 3.92, 98,000."""
    CHANGE = auto()
    """A difference, with its sign: -1.8841; with `digits`, in so many places."""
    PERCENT_CHANGE = auto()
    """A change as a part of what was there, with its sign: -12.28 %."""
    PLACES = auto()
    """With `digits` places after the point: 3.6501."""
    POWER = auto()
    """With a power of ten, and `digits` places before it: 5.802e-34."""
    COUNT = auto()
    """A number of things with separators: 12,345; with `digits`, an average in so many places."""
    SHARE = auto()
    """A chance in four places, or as many as tell it from none and from certainty: 0.5888, 0.999999."""
    HUNDRED = auto()
    """The same as so many of 100: 58.88, 99.9999."""
    BELIEF = auto()
    """A chance that somebody ends with: as CHANCE, but a bound has no ending zeros: 0.111."""
    FACTOR = auto()
    """How many times as much: 1.13, 3,000."""
    PRIOR = auto()
    """A chance that somebody begins with, in six digits: 0.333333, 1 - 1e-09."""
    PEOPLE = auto()
    """A part of some people: 3.1 in 100, 2 in 100,000."""
    NORMAL_CHANCE = auto()
    """A chance of a normal law in three places, which is not believed far out: 0.589, < 0.001."""
    BYTES = auto()
    """The size of files, in millions of bytes: 1,234.5 MB."""

    def quantity(self, value: int | float | Fraction | None, digits: int | None = None) -> Quantity:
        """Return a number that is written in this style, and claims nothing but itself.

        >>> print(Style.PLACES.quantity(3.65012, 2), Style.BRIEF.quantity(5.0), Style.COUNT.quantity(12345))
        3.65 5 12,345
        """
        return Quantity(value, self, digits=digits)


def count_quantity(number: int) -> Quantity:
    """Return a number of things.

    >>> str(count_quantity(12431))
    '12,431'
    """
    return Quantity(number, Style.COUNT)


def margin_quantity(margin: float) -> Quantity:
    """Return a margin of noise: whole numbers as they are, others in three digits.

    >>> print(margin_quantity(1234), margin_quantity(12.345))
    1,234 12.3
    """
    return Quantity(margin, Style.COUNT if isinstance(margin, int) else Style.MARGIN)


INFINITE = "infinite"
"""A number that no other bounds, as people read it."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its style and the digits that hold; it claims nothing but itself.

    `accuracy` is how far the value may be off, in its own unit: digits that it leaves open are not written.
    `digits` are significant ones, or places where the style has them; None is the usual number.

    >>> print(Quantity(10.94372, rounding=Rounding.UP), Quantity(24.4566, accuracy=1.4e-4))
    10.9438 24.457
    >>> print(Quantity(Fraction(24811, 5000), Style.FRACTION), "|", Quantity(Fraction(1, 3), Style.GIVEN))
    24811/5000 = 4.9622 | 1/3
    >>> print(Quantity(0.20497, Style.PERCENT, Rounding.DOWN))
    20.49 %
    >>> print(Quantity(None, missing="not asked"), Quantity(math.inf))
    not asked infinite
    """

    value: int | float | Fraction | Interval | None
    style: Style = Style.RESULT
    rounding: Rounding = Rounding.NEAREST
    digits: int | None = None
    accuracy: float = 0.0
    unit: str = ""
    missing: str = "-"
    """What people read where there is no value, such as "not asked"."""

    def __str__(self) -> str:
        if self.value is None:
            return self.missing
        if isinstance(self.value, Interval):
            return "{} to {}".format(*self.ends)
        if not math.isfinite(self.value):
            return self.missing if math.isnan(self.value) else INFINITE
        written = self._written(self.value)
        return f"{written} {self.unit}" if self.unit else written

    @property
    def machine(self) -> Machine:
        """The number for JSON: all its digits, an exact one as a text, an interval by its ends."""
        if isinstance(self.value, Interval):
            lower, upper = map(Decimal, self.ends)
            return {"lower": lower, "upper": upper}
        if isinstance(self.value, Fraction):
            return str(self.value) if self.style in (Style.FRACTION, Style.EXACT) else float(self.value)
        if isinstance(self.value, float) and not math.isfinite(self.value):
            return None  # JSON has no infinity
        return self.value

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends of an interval, rounded outward, with two digits more than it was computed to.

        >>> Quantity(Interval(Fraction(1, 3), Fraction(2, 3)), digits=3).ends
        ('0.33333', '0.66667')
        """
        if not isinstance(self.value, Interval):
            raise TypeError(f"{self.value!r} is one number; only an interval has ends")
        digits = 17 if self.digits is None else self.digits + 2
        ends = ((self.value.lower, True), (self.value.upper, False))
        lower, upper = (numbers.decimal(end, digits=digits, down=down) for end, down in ends)
        return lower, upper

    def _written(self, value: int | float | Fraction) -> str:
        up, down = self.rounding is Rounding.UP, self.rounding is Rounding.DOWN
        match self.style:
            case Style.RESULT:
                return self._result(float(value), up=up, down=down)
            case Style.BRIEF:
                return _in_full(numbers.brief(value, self.digits or DIGITS))
            case Style.GIVEN if up:
                return numbers.bound(Fraction(value), digits=self.digits or DIGITS)
            case Style.GIVEN:
                return (
                    numbers.exact_text(value)
                    if isinstance(value, Fraction)
                    else _short(value, self.digits or DIGITS)
                )
            case Style.FRACTION:
                return _with_fraction(Fraction(value))
            case Style.EXACT:
                return _short(value, self.digits or DIGITS)
            case Style.PERCENT:
                return _percent_down(float(value)) if down else _percent(value, self.digits)
            case Style.CHANCE:
                return _at_most(float(value)) if up else _chance(float(value))
            case Style.TIMES:
                if self.digits is not None:
                    return _in_hundred(float(value), self.digits)
                return _times(float(value), upper=up)
            case Style.OFTEN:
                return (_often_at_least if down else _often)(float(value))
            case Style.MARGIN:
                return _margin(float(value))
            case Style.PERCENT_CHANGE:
                return f"{100 * float(value):+.2f} %" if value else "0 %"
            case Style.CHANGE:
                return self._change(float(value))
            case Style.PLACES:
                return f"{float(value):.{self.digits or 0}f}"
            case Style.POWER:
                return _power(float(value), self.digits or 0, up=up)
            case Style.COUNT:
                return f"{value:,}" if self.digits is None else f"{float(value):,.{self.digits}f}"
            case Style.SHARE:
                return (_at_most if up else _nearest)(float(value))
            case Style.HUNDRED:
                return (_at_most if up else _nearest)(float(value), percent=True)
            case Style.BELIEF:
                return _up(float(value), 4) if up else _chance(float(value))
            case Style.FACTOR:
                return _factor(float(value), up=up)
            case Style.PRIOR:
                return _prior(float(value))
            case Style.PEOPLE:
                return _people(float(value))
            case Style.NORMAL_CHANCE:
                return "< 0.001" if value <= 0.001 else "> 0.999" if value >= 0.999 else f"{float(value):.3f}"
            case Style.BYTES:
                return f"{float(value) / 1e6:,.1f} MB"

    def _result(self, value: float, *, up: bool, down: bool) -> str:
        digits = _count_of_digits(value, self.accuracy, self.digits or DIGITS)
        if value and (up or down) and math.isfinite(value):
            value = float(numbers.decimal(Fraction(repr(value)), digits=digits, down=down))
        return _with_zeros(value, digits)

    def _change(self, value: float) -> str:
        if self.digits is not None:  # what is zero in all its places has no sign
            sign = "" if abs(value) < 0.5 * 10**-self.digits else "+"
            return f"{value if sign else 0.0:{sign}.{self.digits}f}"
        if value == 0:
            return "0"
        if self.accuracy < 1e-5:
            return f"{value:+.4f}" if abs(value) >= 0.0001 else f"{value:+.1e}"
        return _in_full(f"{value:+.{_count_of_digits(value, self.accuracy, 4)}g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Quantity):
    """A number that claims something: of which kind it is, and of what it is true.

    >>> scope = Scope.whole("survey", unit="person", neighbours="bounded")
    >>> print(Claimed(value=10.94372, kind=NumberKind.AT_MOST, scope=scope))
    10.9438
    """

    kind: NumberKind
    scope: Scope

    def __post_init__(self) -> None:
        set_fields(self, rounding=self.kind.rounding)

    @classmethod
    def by(
        cls,
        claim: Claim,
        value: int | float | Fraction | Interval | None,
        style: Style = Style.RESULT,
        *,
        kind: NumberKind | None = None,
        digits: int | None = None,
        accuracy: float = 0.0,
        unit: str = "",
        missing: str = "-",
    ) -> Claimed:
        """Return a number of what a claim is about; of its kind, unless it is a bound of another.

        >>> from discreet.budget import load
        >>> Claimed.by(load("sdhc-2020").claim, 10.94372).claimed
        'at most 10.9438'
        """
        return cls(
            value=value,
            style=style,
            kind=kind or NumberKind.of(claim.kind),
            scope=claim.scope,
            digits=digits,
            accuracy=accuracy,
            unit=unit,
            missing=missing,
        )

    @property
    def claimed(self) -> str:
        """The number with its kind beside it, and of what it is true where that is not the whole.

        >>> scope = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> Claimed(value=31.5961, kind=NumberKind.MAIN_PATH, scope=scope, digits=4).claimed
        '31.60 (main path only)'
        >>> Claimed(value=31.5961, kind=NumberKind.EXACT, scope=scope.without("a table"), digits=4).claimed
        '31.60 (exact, without a table)'
        """
        if self.kind in (NumberKind.AT_MOST, NumberKind.AT_LEAST, NumberKind.ABOUT):
            return f"{self.kind.value} {self}{f' ({self.scope.words})' if self.scope.words else ''}"
        return f"{self} ({', '.join(filter(None, (self.kind.value, self.scope.words)))})"

    def states(self, name: str) -> str:
        """Write a clause that says what the quantity of this name is.

        >>> scope = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> Claimed(value=2.5, kind=NumberKind.EXACT, scope=scope, digits=3).states("epsilon")
        'the exact epsilon is 2.50'
        """
        of = f" ({self.scope.words})" if self.scope.words else ""
        if self.kind is NumberKind.EXACT:
            return f"the exact {name} is {self}{of}"
        if self.kind in (NumberKind.AT_MOST, NumberKind.AT_LEAST, NumberKind.ABOUT):
            return f"{name} is {self.kind.value} {self}{of}"
        return f"{name} is {self} {'as modelled' if self.kind is NumberKind.MODELLED else 'on the main path'}"

    def enclosing(self, name: str) -> tuple[str, ...]:
        """Write what a proof says of the quantity of this name, in parts that each stay on one line.

        >>> box, scope = Interval(Fraction(1), Fraction(3, 2)), Scope.whole("r", unit="", neighbours="")
        >>> for kind in (NumberKind.EXACT, NumberKind.AT_MOST):
        ...     Claimed(value=box, kind=kind, scope=scope).enclosing("ε")
        ('1 ≤ ε', '≤ 1.5')
        ('ε ≤ 1.5',)
        """
        lower, upper = (end.lower() for end in self.ends)
        if lower == upper:
            return (f"{name} = {lower}",)
        if self.kind is NumberKind.AT_MOST:  # a proof of a bound has no lower end
            return (f"{name} ≤ {upper}",)
        return f"{lower} ≤ {name}", f"≤ {upper}"

    @property
    def claim_document(self) -> dict[str, object]:
        """What JSON has beside the number: its kind and its scope."""
        return {"kind": self.kind.value, "scope": self.scope.document()}


def _with_zeros(value: float, digits: int) -> str:
    """A result with all the digits that are meant, ending zeros too.

    >>> _with_zeros(24.4565144, 6), _with_zeros(1.78319933504e-12, 6), _with_zeros(8.1, 3)
    ('24.4565', '1.78320e-12', '8.10')
    >>> _with_zeros(1e12, 1), _with_zeros(-0.0, 6)
    ('1e+12', '0')
    """
    return "0" if value == 0 else _in_full(f"{value:#.{digits}g}".rstrip(".").replace(".e", "e"))


def _in_full(text: str) -> str:
    """Write a number of fewer digits than it has places as people do, below a million.

    >>> _in_full("1.23e+03"), _in_full("-9.7e+04"), _in_full("+2e+05"), _in_full("1e+06"), _in_full("1e-07")
    ('1230', '-97000', '+200000', '1e+06', '1e-07')
    """
    if "e+" not in text or abs(float(text)) >= 1e6:
        return text
    return f"{float(text):{'+' if text.startswith('+') else ''}.0f}"


def _count_of_digits(value: float, doubt: float, most: int) -> int:
    """How many significant digits of a number that may be off by `doubt` hold: one at least, `most` at most.

    >>> _count_of_digits(24.4566, 1.4e-4, 6), _count_of_digits(24.4565144573, 2e-10, 6)
    (5, 6)
    """
    if value == 0 or not 0 < doubt < math.inf:
        return most
    unit = math.ceil(math.log10(2 * doubt))
    return min(max(math.floor(math.log10(abs(value))) - unit + 1, 1), most)


def _short(value: float | Fraction, digits: int = DIGITS) -> str:
    """A number that was given, such as a delta, as shortly as it can be said.

    >>> _short(1e-7), _short(Fraction(1, 2)), _short(Fraction("24811/5000")), _short(2e7)
    ('1e-7', '0.5', '4.9622', '2e+07')
    """
    return numbers.brief(value, digits).replace("e-0", "e-")


def _with_fraction(value: Fraction) -> str:
    """An exact number as a fraction and, if that is another thing, as a decimal.

    >>> _with_fraction(Fraction(24811, 5000)), _with_fraction(Fraction(5)), _with_fraction(Fraction(1, 3))
    ('24811/5000 = 4.9622', '5', '1/3, about 0.333333')
    """
    if value.denominator == 1:
        return str(value)
    short = _short(value)
    return f"{value} = {short}" if Fraction(short) == value else f"{value}, about {short}"


def _percent(value: float | Fraction, places: int | None = None) -> str:
    """A part of one in percent; however small, it keeps two digits, or it has so many places.

    Places are added where a part would seem to be none or all.

    >>> _percent(0.0718), _percent(0.1), _percent(Fraction(1, 10)), _percent(Fraction(1, 205))
    ('7.2 %', '10.0 %', '10 %', '0.49 %')
    >>> _percent(0.00001), _percent(-2.5e-9), _percent(0.0), _percent(0.5, 2), _percent(0.99999, 2)
    ('0.0010 %', '-2.5e-07 %', '0 %', '50.00 %', '99.999 %')
    >>> _percent(3e-30, 2)
    '3e-28 %'
    """
    hundred = 100 * value
    if places is not None:
        while 0 < value < 1 and places < 12 and float(f"{float(hundred):.{places}f}") in (0, 100):
            places += 1
        text = f"{float(hundred):.{places}f}"
        return f"{float(hundred):.1g} %" if value > 0 and float(text) == 0 else f"{text} %"
    if hundred == 0 or (isinstance(hundred, Fraction) and hundred.denominator == 1):
        return f"{int(hundred)} %"
    size = abs(float(hundred))
    form = ".1f" if size >= 1 else ".2f" if size >= 0.01 else "#.2g"
    return f"{float(hundred):{form}} %"


def _percent_down(value: float) -> str:
    """A part of one in percent, rounded down; however small, it keeps two digits.

    >>> _percent_down(0.20497), _percent_down(0.05), _percent_down(0.0000129), _percent_down(0.0)
    ('20.49 %', '5.00 %', '0.0012 %', '0.00 %')
    """
    down = math.floor(10_000 * value + 1e-6) / 100
    if down or value <= 0:
        return f"{down:.2f} %"
    return f"{numbers.decimal(Fraction(value) * 100, digits=2, down=True)} %".lower()


def _margin(value: float) -> str:
    """A margin of error, with as many digits as matter.

    >>> _margin(3.92), _margin(161.27), _margin(98000.0)
    ('3.92', '161', '98,000')
    """
    return f"{value:,.0f}" if value >= 100 else _with_zeros(value, 3)


def _often(value: float) -> str:
    """How often something happens, to the nearest; for a share that is not a bound.

    >>> _often(0.2049), _often(0.0003), _often(0.001)
    ('20 times in 100', '3 times in 10,000', 'once in 1,000')
    """
    for many in (100, 1000, 10_000, 100_000, 1_000_000):
        if value >= 1 / many and many * value < many - 0.5:
            count = round(many * value)
            return f"once in {many:,}" if count == 1 else f"{count:,} times in {many:,}"
    return "less than once in 1,000,000" if value < 0.5 else "nearly every time"


def _often_at_least(value: float) -> str:
    """How often something happens at least, rounded down.

    >>> _often_at_least(0.20497), _often_at_least(0.0308), _often_at_least(0.0)
    ('20 times in 100', '3 times in 100', 'less than once in 1,000,000')
    """
    for many in (100, 1000, 10_000, 100_000, 1_000_000):
        count = math.floor(many * value + 1e-9)
        if count >= 1:
            return f"once in {many:,}" if count == 1 else f"{count:,} times in {many:,}"
    return "less than once in 1,000,000"


def _nearest(value: float, *, percent: bool = False) -> str:
    """A chance in four places, or in as many as it takes to tell it from none and from certainty.

    >>> _nearest(0.58882), _nearest(0.58882, percent=True), _nearest(0.9999988), _nearest(1.0)
    ('0.5888', '58.88', '0.999999', '1.0000')
    """
    hundred = _percent(value, 2).removesuffix(" %")
    if percent:
        return hundred
    return f"{value:.1g}" if "e" in hundred else f"{value:.{len(hundred.partition('.')[2]) + 2}f}"


def _up(value: float, least: int = 3) -> str:
    """A bound in three digits, rounded up; a chance in as many as it takes to tell it from one.

    >>> _up(0.40461), _up(0.2), _up(0.99987123), _up(1.0), _up(3.9194), _up(159.3), _up(1.1382e-6)
    ('0.405', '0.2', '0.9999', '1', '3.92', '160', '1.14e-06')
    >>> _up(1 - 3e-14)
    '0.99999999999998'
    """
    # less what rounding may have added, which is little beside what is missing to one
    true = Fraction(value) - Fraction(min(value, 1.0 - value) if value < 1.0 else value) / 10**12
    for digits in range(least, 17):
        text = numbers.decimal(true, digits=digits, down=False)
        if float(text) != 1.0 or value >= 1.0:
            break
    return f"{float(text):.{digits}g}"


def _factor(value: float, *, up: bool) -> str:
    """A ratio in three digits, a large one in whole numbers.

    >>> _factor(1.1382, up=False), _factor(1.1382, up=True), _factor(2999.2, up=True)
    ('1.14', '1.14', '3,000')
    """
    if value >= 999:
        return f"{math.ceil(value * (1.0 - 1e-12)) if up else value:,.0f}"
    return _up(value) if up else f"{value:.3g}"


def _prior(value: float) -> str:
    """A chance in six digits; one that would seem to be certain by what is missing.

    >>> _prior(1 / 3), _prior(0.999), _prior(1 - 1e-9)
    ('0.333333', '0.999', '1 - 1e-09')
    """
    text = f"{value:.6g}"
    return text if text != "1" else f"1 - {1.0 - value:.6g}" if value < 1.0 else "almost 1"


def _people(value: float) -> str:
    """A part of some people.

    >>> _people(0.0315), _people(0.00002), _people(0.9996)
    ('3.1 in 100', '2 in 100,000', '99.96 in 100')
    """
    if value >= 0.995:
        return _times(value).replace(" times", "")
    for whole in (100, 1000, 10_000, 100_000):
        if value * whole >= 1:
            return f"{value * whole:.2g} in {whole:,}"
    return f"{value * 1e6:.2g} in 1,000,000"


def _in_hundred(value: float, places: int) -> str:
    """A chance as so many times in 100, in so many places.

    >>> _in_hundred(0.5888, 1), _in_hundred(0.99996, 1), _in_hundred(0.0002, 1)
    ('58.9 times in 100', 'more than 99.9 times in 100', 'less than 0.1 times in 100')
    """
    least = 10.0**-places
    if 0.0 < value < least / 100:
        return f"less than {least:.{places}f} times in 100"
    if 1.0 - least / 100 < value < 1.0:
        return f"more than {100 - least:.{places}f} times in 100"
    return f"{100 * value:.{places}f} times in 100"


def _power(value: float, places: int, *, up: bool) -> str:
    """A number as a power of ten; a bound is rounded up so that it stays one.

    >>> _power(4.41e-24, 0, up=True), _power(1e-15, 0, up=True), _power(2.64e-40, 1, up=True)
    ('5e-24', '1e-15', '2.7e-40')
    >>> _power(0.0, 0, up=True), _power(2.64e-40, 1, up=False)
    ('0e+00', '2.6e-40')
    """
    if up and math.isfinite(value):
        value = float(numbers.decimal(Fraction(value * (1.0 - 1e-12)), digits=places + 1, down=False))
    return f"{value:.{places}e}"


def _chance(value: float) -> str:
    """A chance so that neither it nor its complement is rounded away.

    >>> _chance(0.5), _chance(0.58882), _chance(0.0012774), _chance(1 - 2e-9), _chance(1.234e-7)
    ('0.5000', '0.5888', '0.00128', '1 - 2.0e-09', '1.23e-07')
    """
    if 0.0 < value < 0.01:
        return f"{value:.3g}"
    if 0.9995 < value < 1.0:
        return f"1 - {1.0 - value:.1e}"
    return f"{value:.4f}"


def _times(chance: float, *, upper: bool = False) -> str:
    """A chance as so many times in 100; an upper bound is rounded up, so that it stays true.

    >>> _times(0.56277), _times(0.94239, upper=True), _times(0.0012), _times(0.99999)
    ('56 times in 100', '94.3 times in 100', '0.12 times in 100', '99.999 times in 100')
    """
    hundred = 100.0 * chance
    near = min(hundred, 100.0 - hundred)
    places = 0 if near >= 1 else min(12, 1 + math.ceil(-math.log10(max(near, 1e-12))))
    if upper:
        places = max(1, places)
        scaled = hundred * 10**places
        hundred = math.ceil(scaled - 1e-9) / 10**places
    text = f"{hundred:.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} times in 100"


def _at_most(chance: float, *, percent: bool = False) -> str:
    """A bound with four digits, rounded up so that it stays one; more where it would become certainty.

    >>> _at_most(0.61511), _at_most(0.61511, percent=True), _at_most(0.99999123), _at_most(1.0)
    ('0.6152', '61.52', '0.999992', '1.0000')
    >>> _at_most(1e-20)
    '0.0001'
    """
    places = 4
    while True:
        # the margin is for rounding in the last digit; what is above zero is not at most zero
        rounded = max(math.ceil(10**places * chance - 1e-9), 1 if chance > 0 else 0)
        if rounded < 10**places or places == 12 or chance >= 1 - 1e-12:
            break
        places += 1
    places = places if rounded < 10**places else 4
    value = min(rounded / 10**places, 1.0)
    return f"{100 * value:.{places - 2}f}" if percent else f"{value:.{places}f}"
