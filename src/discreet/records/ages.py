"""Ages as files have them: numbers, numbers with their unit, and dates or years of birth at a stated day.

What a text means depends on it and on `[input]` alone, never on other records: in which order a date with
slashes is read must be stated, whatever other dates would tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Literal

from discreet.budget.toml import FieldError

Order = Literal["", "day first", "month first"]
ORDERS: tuple[Order, ...] = ("day first", "month first")
"""What stands first in a date with the year at its end."""

NO_DATE = "not a date or a year of birth; a date is written as 1990-12-31"
NO_ORDER = (
    'a date in which the day or the month may come first; dates = "day first" in [input] reads it, or '
    '"month first"'
)
NO_DAY = "a year of birth, which gives an age on 31 December alone; age_on in [input] must be such a day"
SERIAL = "a number that may be how a spreadsheet counts days; format the column as dates there, as 1990-12-31"
OLDEST = 120
"""An age, at most."""

TOO_OLD = (
    f"a birth more than {OLDEST} years before the day of age_on, which may stand for none; missing names it"
)
LATER = "a birth after the day that age_on in [input] states"

_UNIT = re.compile(
    r"(.*[0-9])\s*(?:years?(?:\s+old)?|yrs?\.?|y\.?o\.?|jahre?(?:\s+alt)?|ans?|años?|anni|anno|jaar|lat|år)",
    re.IGNORECASE,
)
_DATE = re.compile(r"([0-9]{4})([-/.]?)([0-9]{2})\2([0-9]{2})(?:[ T]00:00(?::00(?:\.0+)?)?)?")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_YEAR = re.compile(r"(1[89]|20)[0-9]{2}(?:\.0)?")
_SERIAL = re.compile(r"[1-5][0-9]{4}(?:\.0)?")


def without_unit(text: str) -> str:
    """Return an age without the word for years behind it.

    >>> without_unit("34 years"), without_unit("34 Jahre"), without_unit("6 months")
    ('34', '34', '6 months')
    """
    found = _UNIT.fullmatch(text.strip())
    return found[1] if found else text


def read_day(text: str) -> date:
    """Return the day that `age_on` states.

    >>> read_day("2025-12-31")
    datetime.date(2025, 12, 31)
    >>> read_day("31.12.2025")
    Traceback (most recent call last):
    discreet.budget.toml.FieldError: age_on is '31.12.2025'; it must be a day such as 2025-12-31
    """
    found = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text)
    day = _day(text[:4], text[5:7], text[8:]) if found else None
    if day is None:
        raise FieldError(f"age_on is {text!r}; it must be a day such as 2025-12-31")
    return day


def order_named(text: str) -> Order:
    """Return the order that is named, or none.

    >>> order_named("day first"), order_named("")
    ('day first', '')
    """
    return next((order for order in ORDERS if order == text), "")


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Births:
    """How births become ages: in completed years on a day, with dates in an order if that is stated."""

    day: date
    order: Order = ""

    def age(self, text: str) -> tuple[Fraction | None, str]:
        """Return the age of somebody who was born so, or none and why.

        >>> births = Births(date(2025, 6, 30))
        >>> [str(births.age(text)[0]) for text in ("1990-06-30", "1990-07-01", "30.06.1990")]
        ['35', '34', '35']
        >>> births.age("03/04/1990")[1] == NO_ORDER, births.age("1990")[1] == NO_DAY
        (True, True)
        """
        text = text.strip()
        if _YEAR.fullmatch(text):
            if (self.day.month, self.day.day) != (12, 31):
                return None, NO_DAY
            return _possible(self.day.year - int(text[:4]))
        if _SERIAL.fullmatch(text):
            return None, SERIAL
        born, why = self._born(text)
        if born is None:
            return None, why
        is_before = (self.day.month, self.day.day) < (born.month, born.day)
        return _possible(self.day.year - born.year - is_before)

    def _born(self, text: str) -> tuple[date | None, str]:
        if found := _DATE.fullmatch(text):
            born = _day(found[1], found[3], found[4])
        elif found := _YEAR_LAST.fullmatch(text):
            order = self.order or ("day first" if found[2] == "." else "")
            if not order:
                return None, NO_ORDER
            first, second = (found[1], found[3]) if order == "day first" else (found[3], found[1])
            born = _day(found[4], second, first)
        else:
            born = None
        return born, "" if born else NO_DATE


def _possible(years: int) -> tuple[Fraction | None, str]:
    """Return an age that somebody can have, or none and why.

    >>> _possible(35), _possible(-1)[1] == LATER, _possible(125)[1] == TOO_OLD
    ((Fraction(35, 1), ''), True, True)
    """
    if 0 <= years <= OLDEST:
        return Fraction(years), ""
    return None, LATER if years < 0 else TOO_OLD


def are_births(texts: Iterable[str]) -> bool:
    """Whether most texts are dates, or numbers that are no age: years of birth, or days that are counted.

    >>> are_births(["1990-12-31", "?"]), are_births(["1990", "34", "35"]), are_births(["1990", "1991"])
    (False, False, True)
    """
    texts = list(texts)
    patterns = (_DATE, _YEAR_LAST, _YEAR, _SERIAL)
    births = sum(any(pattern.fullmatch(text.strip()) for pattern in patterns) for text in texts)
    return 2 * births > len(texts)


def are_dates(texts: Iterable[str]) -> bool:
    """Whether most texts are dates, as they are written with a sign between day, month and year.

    >>> are_dates(["1990-12-31", "31.12.1990"]), are_dates(["1990", "19901231"])
    (True, False)
    """
    texts = list(texts)
    return 2 * sum(
        bool((_DATE.fullmatch(text.strip()) or _YEAR_LAST.fullmatch(text.strip())) and not text.isdecimal())
        for text in texts
    ) > len(texts)


def order_of(texts: Iterable[str]) -> Order:
    """Return the order of day and month that all dates with the year at their end allow, if it is one.

    >>> order_of(["03/04/1990", "25/04/1991"]), order_of(["03/04/1990"]), order_of(["13/4/1990", "4/13/1990"])
    ('day first', '', '')
    """
    found = [match for text in texts if (match := _YEAR_LAST.fullmatch(text.strip())) and match[2] != "."]
    beyond = {
        order for match in found for order, at in zip(ORDERS, (1, 3), strict=True) if int(match[at]) > 12
    }
    return next(iter(beyond)) if len(beyond) == 1 else ""
