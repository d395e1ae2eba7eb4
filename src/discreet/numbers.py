"""Exact numbers in, certified intervals out, and how numbers are written.

Budgets, variances and sensitivities are rational. A float is read as the decimal that Python prints for it:
`0.1` is one tenth. Results may come as an `Interval`, a pair of ends that provably contain the true value.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeGuard

from discreet.errors import InputError

Exact = int | float | Fraction | Decimal | str
"""What is accepted where a number must be exact: a float is the decimal that Python prints for it."""

_NUMBER = re.compile(r"[+-]?(\d+ ?/ ?\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?)( ?%)?", re.ASCII)
_FORM = re.compile(r"\.(\d{1,3})([feg])")
DIGITS = 6
"""Significant digits of a result, if nobody asks for more."""
_LONGEST = 2000  # characters: no honest budget is longer, and Python refuses to print much longer numbers
SMALLEST = Fraction(1, 10**300)
"""The smallest delta or prior: its logarithm and its complement keep all their digits as floats."""


def fraction(value: Exact, *, name: str = "value", floats: bool = False) -> Fraction:
    """Return `value` as the exact fraction it denotes; a float is the decimal that Python prints for it.

    A float that is next to the number that was meant is refused, unless `floats` may be computed.

    >>> fraction("73/10000"), fraction(0.159), fraction(5), fraction(1e-10) == Fraction(1, 10**10)
    (Fraction(73, 10000), Fraction(159, 1000), Fraction(5, 1), True)
    >>> fraction("2.5 %"), fraction("1 / 2"), fraction("\u22123")   # as people write them
    (Fraction(1, 40), Fraction(1, 2), Fraction(-3, 1))
    >>> fraction(0.1 + 0.2, name="variance")
    Traceback (most recent call last):
    discreet.errors.InputError: variance is the float 0.30000000000000004, which is next to 3/10; write 0.3
    >>> fraction(1 / 3)
    Traceback (most recent call last):
    discreet.errors.InputError: value is the float 0.3333333333333333, which is next to 1/3; write "1/3"
    """
    if isinstance(value, bool):
        raise InputError(f'{name} is {value}; an exact number such as 5 or "73/10000" is needed')
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if _is_float(value):
        if not math.isfinite(value):
            raise InputError(f"{name} is {float(value)}; a finite number is needed, such as 5 or 0.159")
        read = Fraction(str(value))
        meant = read if floats else _meant(value, read)
        if meant != read:
            raise InputError(
                f"{name} is the float {value!s}, which is next to {meant}; write {_to_type(meant)}"
            )
        return read
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InputError(f"{name} is {float(value)}; a finite number is needed, such as 5 or 0.159")
        if abs(value.adjusted()) > 9999:
            raise InputError(f"{name} has the exponent {value.adjusted()}; at most 9999 is allowed")
        return Fraction(value)
    if isinstance(value, str):
        text = value.strip().replace("\u2212", "-")
        if len(text) > _LONGEST:
            raise InputError(f"{name} has {len(text)} characters; an exact number has at most {_LONGEST}")
        if _NUMBER.fullmatch(text):
            try:
                number = Fraction(text.rstrip("% ").replace(" ", ""))
                return number / 100 if text.endswith("%") else number
            except ZeroDivisionError:
                raise InputError(f"{name} is {shown(value)}, a division by zero") from None
        raise InputError(
            f'{name} is {shown(value)}; an exact number such as 5, "73/10000", "0.159" or "1e-10" is needed'
        )
    with suppress(TypeError):  # NumPy's integers; arrays have the method too, and raise
        return Fraction(operator.index(value))  # type: ignore[arg-type]
    raise InputError(
        f"{name} is of type {type(value).__name__}; a number such as 5 or 0.159, a Fraction or a string such "
        'as "73/10000" is needed'
    )


def _is_float(value: object) -> TypeGuard[float]:
    """Whether a number is a float, of NumPy too."""
    return isinstance(value, Real) and not isinstance(value, Rational)


def _meant(value: float, read: Fraction) -> Fraction:
    """The number of which a computed float is the rounding: 1/3, or 3/10 for 0.1 + 0.2; else the one read."""
    if len(Decimal(str(value)).normalize().as_tuple().digits) <= 15:  # any decimal so short is itself
        return read
    simple, short = Fraction(float(value)).limit_denominator(1000), Fraction(f"{float(value):.12g}")
    if float(simple) == float(value):
        return simple
    return short if abs(short - Fraction(float(value))) <= 4 * Fraction(math.ulp(value)) else read


def _to_type(number: Fraction) -> str:
    """A number as it is typed in Python: a decimal, or a fraction in quotes."""
    text = str(number) if number.denominator == 1 else str(float(number))
    return text if Fraction(text) == number else f'"{number}"'


def is_column(value: object) -> bool:
    """Whether something holds several numbers: a list, an array, a column of pandas, polars or Arrow.

    >>> is_column([1, 2]), is_column("12"), is_column(12)
    (True, False, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def by_name(value: object, *, name: str) -> dict[str, Exact]:
    """Return numbers by name, of a mapping or a column of pandas with an index; none for None.

    >>> by_name({"State": 5}, name="moe"), by_name(None, name="moe")
    ({'State': 5}, {})
    >>> by_name(["State"], name="moe")
    Traceback (most recent call last):
    discreet.errors.InputError: moe is of type list; it must name levels, such as {"State": 5}
    """
    if value is None:
        return {}
    found = value.to_dict() if hasattr(value, "to_dict") else value
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise InputError(f'{name} is {shown(value)}; it must name levels, such as {{"State": 5}}')
    return dict(found)


def positive(value: Exact, *, name: str = "value") -> Fraction:
    """Return `value` as an exact fraction above zero.

    >>> positive("0.5")
    Fraction(1, 2)
    >>> positive("-1/10", name="variance")
    Traceback (most recent call last):
    discreet.errors.InputError: variance is -1/10; it must be above zero
    """
    number = fraction(value, name=name)
    if number <= 0:
        raise InputError(f"{name} is {shown(number)}; it must be above zero")
    return number


def share(value: Exact, *, name: str = "share", floats: bool = False, closed: bool = False) -> Fraction:
    """Return a part of one: an exact fraction strictly between 0 and 1, or with `closed` from 0 to 1.

    >>> share("1e-3")
    Fraction(1, 1000)
    >>> share(1, name="delta")
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 1; it must lie strictly between 0 and 1
    """
    number = fraction(value, name=name, floats=floats)
    if not (0 <= number <= 1 if closed else 0 < number < 1):
        strictly = "" if closed else "strictly "
        raise InputError(f"{name} is {_as_given(value)}; it must lie {strictly}between 0 and 1")
    return number


def one_or_more(given: Exact | Sequence[Exact]) -> list[Exact]:
    """Return numbers as a list, whether one is given or several; a text is one number.

    >>> one_or_more("1e-10"), one_or_more([1, "1/2"]), one_or_more(())
    (['1e-10'], [1, '1/2'], [])
    """
    return list(given) if is_column(given) else [given]  # type: ignore[arg-type, list-item]


def read_delta(value: Exact, *, floats: bool = False, zero: bool = False) -> Fraction:
    """Return a delta that can be answered: a share of 1e-300 or more, or with `zero` none at all.

    >>> read_delta("1e-10") == Fraction(1, 10**10)
    True
    >>> read_delta("1e-301")
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 1e-301; the smallest supported is 1e-300
    """
    if zero and not 0 < (number := fraction(value, name="delta", floats=floats)) < 1:
        if number:
            raise InputError(f"delta is {_as_given(value)}; it must be 0 or more, and less than 1")
        return number
    number = share(value, name="delta", floats=floats)
    if number < SMALLEST:
        raise InputError(f"delta is {_as_given(value)}; the smallest supported is 1e-300")
    return number


MOST_TIMES = 10**12
"""The largest sensitivity, number of groups, people or times."""


def shown(value: object) -> str:
    """Write a found value on one short line; a long number by its size.

    >>> shown("a" * 100), shown(Fraction(1, 3)), shown(10**400), shown(1e300)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ...'", '1/3', '1e+400', '1e+300')
    """
    if isinstance(value, str) and len(value) > 56:
        return ascii(value[:51] + " ...")
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        most = max(abs(value.numerator), value.denominator).bit_length()
        return str(value) if most <= 100 else decimal(Fraction(value), digits=6, down=value > 0).lower()
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, bool | str):
        return repr(value)
    return f"of type {type(value).__name__}"


def _as_given(value: Exact) -> str:
    """A number as it was given, unless that is long."""
    is_short = isinstance(value, str) and len(value) <= 56
    return str(value) if is_short else shown(value if isinstance(value, float) else fraction(value))


def whole(value: object, *, name: str) -> int:
    """Return `value` as a whole number above zero.

    >>> whole(9, name="groups"), whole(9.0, name="groups")
    (9, 9)
    >>> whole(True, name="times")
    Traceback (most recent call last):
    discreet.errors.InputError: times is True; it must be a whole number above zero, such as 1
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # 10.0 is a whole number, too
        number = int(value) if _is_float(value) and float(value).is_integer() else 0
    if isinstance(value, bool) or number <= 0:
        raise InputError(f"{name} is {shown(value)}; it must be a whole number above zero, such as 1")
    if number > MOST_TIMES:
        raise InputError(f"{name} is {shown(value)}; at most {MOST_TIMES} is allowed")
    return number


def prior(value: Exact, *, name: str = "prior") -> Fraction:
    """Return a prior: a chance strictly between 0 and 1, since who is certain beforehand learns nothing.

    A prior closer than 1e-300 to 0 or to 1 is refused, because it and its complement must both be floats with
    all their digits.

    >>> prior("1/864"), prior(0.25)
    (Fraction(1, 864), Fraction(1, 4))
    >>> prior(1)
    Traceback (most recent call last):
    discreet.errors.InputError: prior is 1; it must lie strictly between 0 and 1
    """
    number = share(value, name=name, floats=True)
    if min(number, 1 - number) < SMALLEST:
        raise InputError(f"{name} is {_as_given(value)}; it must be at least 1e-300 away from 0 and from 1")
    return number


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval that provably contains a number.

    A comparison is true if it is proved and false if the contrary is; where the ends leave it open it
    raises. Formatted, both ends are rounded outward.

    >>> box = Interval(Fraction(1, 3), Fraction(2, 5))
    >>> Fraction(3, 8) in box, box < Interval(Fraction(1, 2), Fraction(1, 1)), box <= 0.4, f"{box:.2f}"
    (True, True, True, '[0.33, 0.40]')
    """

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError(f"an interval from {self.lower} up to {self.upper} is empty")

    @property
    def midpoint(self) -> Fraction:
        """The centre, exactly."""
        return (self.lower + self.upper) / 2

    @property
    def width(self) -> Fraction:
        """Upper end minus lower end."""
        return self.upper - self.lower

    @property
    def relative_width(self) -> float:
        """The width over the smaller absolute end; infinite if the interval contains zero.

        >>> Interval(Fraction(100), Fraction(101)).relative_width
        0.01
        """
        if self.lower == self.upper:
            return 0.0
        if self.lower <= 0 <= self.upper:
            return float("inf")
        return float(self.width / min(abs(self.lower), abs(self.upper)))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, Interval):
            return self.lower <= value.lower and value.upper <= self.upper
        if isinstance(value, int | float | Fraction):
            return self.lower <= Fraction(value) <= self.upper
        return False

    def overlaps(self, other: Interval) -> bool:
        """Whether the two have a point in common."""
        return self.lower <= other.upper and other.lower <= self.upper

    def __lt__(self, other: Interval | int | float | Fraction) -> bool:
        low, high = _ends(other)
        return self._known(self.upper < low, self.lower >= high, other, "smaller")

    def __gt__(self, other: Interval | int | float | Fraction) -> bool:
        low, high = _ends(other)
        return self._known(self.lower > high, self.upper <= low, other, "larger")

    def __le__(self, other: Interval | int | float | Fraction) -> bool:
        low, high = _ends(other)
        return self._known(self.upper <= low, self.lower > high, other, "smaller")

    def __ge__(self, other: Interval | int | float | Fraction) -> bool:
        low, high = _ends(other)
        return self._known(self.lower >= high, self.upper < low, other, "larger")

    def _known(self, proved: bool, refuted: bool, other: object, which: str) -> bool:
        if not proved and not refuted:
            raise InputError(f"{self} and {other} overlap, so it is not known which is {which}")
        return proved

    def __float__(self) -> float:
        return float(self.midpoint)

    def __repr__(self) -> str:
        return f"<Interval {self}>"

    def __str__(self) -> str:
        digits = 17
        if 0 < (width := self.relative_width) < 1e-16:
            digits = min(2 + int(-math.log10(width)), 1100)
        low, high = (
            decimal(self.lower, digits=digits, down=True),
            decimal(self.upper, digits=digits, down=False),
        )
        return f"[{low}, {high}]"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        form = _FORM.fullmatch(spec)
        if form is None:
            raise ValueError(
                f"an interval cannot be formatted as {spec!r}; use a format such as .3f, .3e or .3g"
            )
        ends = (
            _written(x, int(form[1]), form[2], down=down)
            for x, down in ((self.lower, True), (self.upper, False))
        )
        return f"[{', '.join(ends)}]"


def _ends(other: Interval | int | float | Fraction) -> tuple[Fraction | int | float, Fraction | int | float]:
    return (other.lower, other.upper) if isinstance(other, Interval) else (other, other)


def _written(value: Fraction, places: int, kind: str, *, down: bool) -> str:
    """Write one end with so many places (f) or digits (e, g), rounded down or up."""
    if kind == "f":
        scaled = value * 10**places
        end = math.floor(scaled) if down else math.ceil(scaled)
        sign, digits = "-" if end < 0 else "", str(abs(end)).zfill(places + 1)
        return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
    if value == 0:
        return format(0.0, f".{places}{kind}")
    many = places + 1 if kind == "e" else max(places, 1)
    with localcontext(prec=many, Emin=-999_999, Emax=999_999):
        return format(Decimal(decimal(value, digits=many, down=down)), f".{places}{kind}")


def decimal(value: Fraction, *, digits: int = 17, down: bool) -> str:
    """Write a fraction as a decimal of `digits` digits, rounded outward so that a bound stays one.

    >>> decimal(Fraction(2, 3), digits=5, down=True), decimal(Fraction(2, 3), digits=5, down=False)
    ('0.66666', '0.66667')
    """
    import decimal as dec

    rounding = dec.ROUND_FLOOR if down else dec.ROUND_CEILING
    with dec.localcontext(prec=digits, rounding=rounding, Emin=-999_999, Emax=999_999):
        return str((dec.Decimal(value.numerator) / dec.Decimal(value.denominator)).normalize())


def bound(value: Fraction, *, digits: int = DIGITS) -> str:
    """Write a bound from above: exactly if so many digits can say it, else rounded up.

    >>> bound(Fraction("13.123457"), digits=17), bound(Fraction("9.9999912e-11")), bound(Fraction(10))
    ('13.123457', '1e-10', '10')
    """
    text = Decimal(decimal(value, digits=digits, down=False))
    small = text != 0 and text.adjusted() < -4
    return f"{text:e}".replace("e-0", "e-") if small else f"{text:f}"


def up_to_digits(value: Fraction, digits: int) -> Fraction:
    """Return a number above zero rounded up to a decimal of so many digits.

    >>> up_to_digits(Fraction(1, 3), 2), up_to_digits(Fraction(1, 4), 2), up_to_digits(Fraction(1999), 3)
    (Fraction(17, 50), Fraction(1, 4), Fraction(2000, 1))
    """
    unit = Fraction(10) ** (math.floor(_log10(value)) + 1 - digits)
    return math.ceil(value / unit) * unit


def _log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def float_up(value: Fraction) -> float:
    """Return the smallest float that is not below a bound from above.

    >>> float_up(Fraction(1, 10)) >= Fraction(1, 10) > Fraction(float_up(Fraction(1, 10)) - 2**-56)
    True
    """
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


# -- numbers in messages and files -------------------------------------------------------------------------
# A result is written for people by `discreet.answers.quantity.Quantity` alone.


def brief(value: float | Fraction, digits: int = DIGITS) -> str:
    """Write a number to the nearest, without ending zeros; one that no float holds is rounded down.

    >>> brief(1e-7), brief(Fraction(2, 3), 3), brief(Fraction(10) ** 400 / 3)
    ('1e-07', '0.667', '3.33333e+399')
    """
    if isinstance(value, float) or value == 0 or SMALLEST < abs(value) < 1 / SMALLEST:
        return f"{float(value):.{digits}g}"
    return decimal(Fraction(value), digits=digits, down=True).lower()


def exact_text(value: Fraction) -> str:
    """Write an exact number as shortly as it can be read back exactly.

    >>> exact_text(Fraction(1, 10**10)), exact_text(Fraction(1, 3))
    ('1e-10', '1/3')
    """
    short = brief(value).replace("e-0", "e-")
    return short if Fraction(short) == value else str(value)


def times(number: float, step: Fraction) -> float:
    """Return so many units as what they are worth; a whole number of whole units stays one.

    >>> times(3, Fraction(1, 2)), times(3, Fraction(10)), times(3.5, Fraction(1, 2))
    (1.5, 30, 1.75)
    """
    return number * step.numerator if step.denominator == 1 else number * step.numerator / step.denominator
