"""Single values of a configuration, whether they stood in JSON or in TOML.

A number is kept as it was written, so that 0.1 is one tenth: `Number` is its text. Each function
raises one line that says what was found and what is allowed; the caller adds file, line and field.
"""

from __future__ import annotations

import re
from fractions import Fraction

from discreet.budget.fields import hint, shown
from discreet.errors import InputError
from discreet.numbers import fraction

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_INFINITE = ("infinity", "+infinity", "inf", "+inf")
_NO_NUMBER = ("nan", "+nan", "-nan")


BUDGETS = (Fraction(1, 10**6), Fraction(5000))
"""Finite budgets that are accepted: beyond them there is nothing but noise, or none worth the name."""


class Number(str):
    """A number as it was written, told apart from a text in quotes."""

    __slots__ = ()


def budget(value: object, *, quoted: bool = False) -> Fraction | None:
    """Return a budget as an exact fraction, None if it is infinite.

    >>> budget(Number("0.159")), budget(Number("Infinity")), budget(Number("0"))
    (Fraction(159, 1000), None, Fraction(0, 1))
    >>> budget(Number("-0.1"))
    Traceback (most recent call last):
    discreet.errors.InputError: a budget is -0.1; it must be 0 (not tabulated), above 0, or \
infinite (no noise)
    """
    text = _text(value, "a budget", quoted)
    if text.lower() in _INFINITE:
        return None
    if text.lower() in _NO_NUMBER or text.startswith("-"):
        raise InputError(
            f"a budget is {text[:40]}; it must be 0 (not tabulated), above 0, or infinite (no noise)"
        )
    found = fraction(text, name="a budget")
    if found and not BUDGETS[0] <= found <= BUDGETS[1]:
        raise InputError(
            f"a budget is {text[:40]}; one that is neither 0 nor infinite must lie between "
            f"{float(BUDGETS[0]):g} and {BUDGETS[1]}"
        )
    return found


def share(value: object, *, zero: bool = False, quoted: bool = False) -> Fraction:
    """Return an exact fraction between 0 and 1, both excluded, or 0 included.

    >>> share(Number("0.1")), share(Number("0"), zero=True)
    (Fraction(1, 10), Fraction(0, 1))
    """
    text = _text(value, "it", quoted)
    allowed = "it must be at least 0 and below 1" if zero else "it must be above 0 and below 1"
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise InputError(f"it is {text}; {allowed}")
    number = fraction(text, name="it")
    if not (0 < number < 1 or (zero and number == 0)):
        raise InputError(f"it is {text[:40]}; {allowed}")
    return number


def whole(value: object, lowest: int, highest: int | None = None) -> int:
    """Return a whole number within bounds; 8.0 is not one.

    >>> whole(Number("8"), 1, 8)
    8
    >>> whole(Number("2.5"), 1, 8)
    Traceback (most recent call last):
    discreet.errors.InputError: it is 2.5; it must be a whole number from 1 to 8
    """
    allowed = (
        f"a whole number from {lowest} to {highest}" if highest else f"a whole number of at least {lowest}"
    )
    found = str(value)[:40] if isinstance(value, Number | int | float) else shown(value)
    text = str(value) if isinstance(value, Number | int) and not isinstance(value, bool) else ""
    if not _WHOLE.fullmatch(text) or int(text) < lowest or (highest is not None and int(text) > highest):
        raise InputError(f"it is {found}; it must be {allowed}")
    return int(text)


def truth(value: object) -> bool:
    """Return true or false, as which 1, 0 and texts do not count.

    >>> truth(True)
    True
    """
    if not isinstance(value, bool):
        raise InputError(f"it is {_found(value)}; it must be true or false")
    return value


def word(value: object, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words.

    >>> word("zcdp", ("zcdp", "puredp"))
    'zcdp'
    """
    if isinstance(value, str) and not isinstance(value, Number) and value in allowed:
        return value
    choice = " or ".join(f'"{one}"' for one in allowed) if len(allowed) < 4 else ", ".join(allowed)
    raise InputError(f"it is {_found(value)}; it must be {choice}{hint(value, allowed)}")


def thresholds(value: object) -> tuple[int, int, int]:
    """Return three thresholds that do not decrease.

    >>> thresholds([Number("471"), Number("971"), Number("6971")])
    (471, 971, 6971)
    """
    if not isinstance(value, list) or len(value) != 3:
        found = f"a list of {len(value)}" if isinstance(value, list) else _found(value)
        raise InputError(f"it is {found}; it must be a list of exactly three thresholds")
    first, second, third = (whole(one, 0) for one in value)
    if not first <= second <= third:
        raise InputError(f"it is {first}, {second}, {third}; thresholds must not decrease")
    return first, second, third


def _text(value: object, name: str, quoted: bool) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, Number) or (quoted and isinstance(value, str)):
        return str(value).strip()
    extra = ' or a text such as "1/125"' if quoted else ""
    raise InputError(f"{name} is {_found(value)}; it must be a number such as 0.008{extra}")


def _found(value: object) -> str:
    if isinstance(value, Number):
        return str(value)[:40]
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return shown(value)
