"""Releases and results in words and numbers for a committee: the digits that are meant, and units."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.budget import Neighbours, Release
from discreet.budget.answer import DIGITS as DIGITS
from discreet.numbers import Interval, decimal

if TYPE_CHECKING:
    from discreet.accounting.overall import Account

_CAUTIONS = (
    "upper bound",
    "not modelled",
    "simplification",
    "earlier allocation than",
    "outside the guarantee",
)
_ABOUT_PATHS = "not been published"
_PLACES = {"Prim": "Primitive geography", "USA": "US", "STATE": "State", "COUNTY": "County", "TRACT": "Tract"}
_PLACES |= {"PLACE": "Place", "PR-STATE": "Puerto Rico", "PR-COUNTY": "Municipio", "PR-TRACT": "Tract"}
_PLACES |= {"PR-PLACE": "Place"}


def number(value: float, digits: int = DIGITS) -> str:
    """Write a result with all the digits that are meant, ending zeros too.

    >>> number(24.4565144), number(1.78319933504e-12), number(8.1, 3), number(-0.0)
    ('24.4565', '1.78320e-12', '8.10', '0')
    """
    return "0" if value == 0 else f"{value:#.{digits}g}".rstrip(".")


def probability(value: float, digits: int = DIGITS, *, exactly_zero: bool = False) -> str:
    """Write a delta; one too small for a float is not called zero unless it is.

    >>> probability(1e-21, 3), probability(0.0), probability(0.0, exactly_zero=True)
    ('1.00e-21', 'below 1e-300', '0')
    """
    return number(value, digits) if value >= 1e-300 or exactly_zero else "below 1e-300"


def change(value: float) -> str:
    """Write a difference of two epsilons, with its sign.

    >>> change(-1.88407), change(2.5e-9), change(0.0)
    ('-1.8841', '+2.5e-09', '0')
    """
    if value == 0:
        return "0"
    return f"{value:+.4f}" if abs(value) >= 0.0001 else f"{value:+.1e}"


def plain(value: float | Fraction) -> str:
    """Write a number that was given, such as a delta, as shortly as it can be said.

    >>> plain(1e-10), plain(Fraction(1, 2)), plain(Fraction("24811/5000")), plain(2e7)
    ('1e-10', '0.5', '4.9622', '2e+07')
    """
    return f"{float(value):.6g}".replace("e-0", "e-")


def with_fraction(value: Fraction) -> str:
    """Write an exact number as a fraction and, if that is another thing, as a decimal.

    >>> with_fraction(Fraction(24811, 5000)), with_fraction(Fraction(5))
    ('24811/5000 = 4.9622', '5')
    >>> with_fraction(Fraction(1, 3))
    '1/3, about 0.333333'
    """
    if value.denominator == 1:
        return str(value)
    short = plain(value)
    return f"{value} = {short}" if Fraction(short) == value else f"{value}, about {short}"


def percent(value: float | Fraction) -> str:
    """Write a part of one in percent.

    >>> percent(0.0718), percent(0.1), percent(Fraction(1, 10)), percent(Fraction(1, 205))
    ('7.2 %', '10.0 %', '10 %', '0.49 %')
    """
    hundred = 100 * value
    if isinstance(hundred, Fraction) and hundred.denominator == 1:
        return f"{hundred} %"
    return f"{float(hundred):.{1 if abs(float(hundred)) >= 1 else 2}f} %"


def interval(box: Interval, digits: int | None = None) -> tuple[str, str]:
    """Write both ends, rounded outward, with two digits more than the width has.

    >>> interval(Interval(Fraction(1, 3), Fraction(2, 3)), digits=3)
    ('0.33333', '0.66667')
    """
    many = 17 if digits is None else digits + 2
    return decimal(box.lower, digits=many, down=True), decimal(box.upper, digits=many, down=False)


def label(case: Any) -> str:
    """Write a case: a pair of paths, a path, or those of several releases.

    >>> label((6, 6)), label((13,)), label(((6, 6), (1, 2)))
    ('(6, 6)', '13', '(6, 6) and (1, 2)')
    """
    if case and isinstance(case[0], tuple):
        return " and ".join(label(part) for part in case)
    return str(case[0]) if len(case) == 1 else f"({', '.join(map(str, case))})"


def level_name(text: str) -> str:
    """Write the name of a level as people do; one that is no plain code stays as it is.

    >>> [level_name(name) for name in ("Tract_Subset_Group", "US", "State+County", "STATE, detailed", "Prim")]
    ['Tract subset group', 'US', 'State + County', 'State, detailed', 'Primitive geography']
    """
    if not re.fullmatch(r"[A-Za-z_+, *-]+", text):
        return text
    return " + ".join(_place(run) for run in text.split("+"))


def _place(run: str) -> str:
    if run in _PLACES:
        return _PLACES[run]
    head, comma, rest = run.partition(", ")
    words = _PLACES.get(head, head).split("_")
    later = [word if word.isupper() else word.lower() for word in words[1:]]
    return " ".join([words[0], *later]) + comma + rest


def heading(release: Release) -> str:
    """Write the name of a release and its title, if it has one.

    >>> from discreet.budget import load
    >>> heading(load("dhc-2022-08-25"))[:27]
    'dhc-2022-08-25: 2020 Census'
    """
    return f"{release.name}: {release.title}" if release.title else release.name


def records(unit: str, many: int) -> str:
    """Write so many persons, households or housing units.

    >>> records("person", 1), records("housing unit", 3)
    ('one person', '3 housing units')
    """
    return f"one {unit}" if many == 1 else f"{many} {unit}s"


def relation(neighbours: Neighbours, unit: str = "person", people: int = 1) -> str:
    """Say in words which two databases must be hard to tell apart.

    >>> relation("bounded"), relation("unbounded", "household", 2)
    ('one person replaced by another', '2 households added or removed')
    """
    who = records(unit, people)
    if neighbours == "unbounded":
        return f"{who} added or removed"
    return f"{who} replaced by another" if people == 1 else f"{who} replaced by others"


def compared(account: Account) -> str:
    """Say how many cases were compared.

    >>> from discreet.budget import load
    >>> from discreet.accounting.overall import account
    >>> compared(account(load("dhc-2020"))), compared(account(load("dhc-2022-08-25")))
    ('946 pairs of paths compared', 'One path')
    """
    one, many = ("One pair of paths", "pairs of paths")
    if isinstance(account.main[0], tuple):
        one, many = ("One combination of paths", "combinations of paths")
    elif account.neighbours == "unbounded":
        one, many = ("One path", "paths")
    return one if account.pairs == 1 else f"{account.pairs} {many} compared"


def cautions(release: Release, *, all_paths: bool = True) -> list[str]:
    """Return why an answer is not exact, and the notes that limit how it may be read.

    A note on which paths are taken matters only if all of them are.

    >>> from discreet.budget import load
    >>> cautions(load("sdhc-2020"))[0][:21]
    'Each table is treated'
    """
    phrases = (*_CAUTIONS, _ABOUT_PATHS) if all_paths else _CAUTIONS
    notes = [note for note in release.notes if any(phrase in note.lower() for phrase in phrases)]
    return [*release.claim.reasons, *notes]
