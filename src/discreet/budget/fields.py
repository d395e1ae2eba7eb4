"""Checks of single fields: each raises one line that names what was found and what is allowed.

A `FieldError` also knows which field is at fault, so that a reader of a file can add the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

from discreet import numbers
from discreet.errors import InputError
from discreet.numbers import Exact, positive, shown

LONGEST_NUMBER = 1000
"""Digits of the longest numerator or denominator, so that every number can be written out again."""

LONGEST_TEXT = 10_000
"""Characters of the longest name, title or note."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class FieldError(InputError):
    """An input error that knows its place, such as `("levels", 2, "rho")`."""

    def __init__(self, message: str, *, field: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.field = field


@contextmanager
def inside(*place: str | int) -> Iterator[None]:
    """Put `place` before the field of every `FieldError` that is raised within."""
    try:
        yield
    except FieldError as error:
        raise FieldError(str(error), field=(*place, *error.field)) from None


def exact(value: Exact, *, name: str, field: tuple[str | int, ...]) -> Fraction:
    """Return `value` as an exact fraction above zero, or raise a `FieldError`.

    >>> exact("1/13", name="share", field=("share",))
    Fraction(1, 13)
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise FieldError(f"{name} is {value}; it must be a finite number above zero", field=field)
    if _too_long(value):
        raise FieldError(f"{name} is too long; at most {LONGEST_NUMBER} digits are allowed", field=field)
    try:
        return positive(value, name=name)
    except InputError as error:
        raise FieldError(str(error), field=field) from None


def whole(value: object, *, name: str, field: tuple[str | int, ...] = ()) -> int:
    """Return `value` as a whole number above zero, or raise a `FieldError`.

    >>> whole(9, name="groups")
    9
    """
    try:
        return numbers.whole(value, name=name)
    except InputError as error:
        raise FieldError(str(error), field=field) from None


def line(value: object, *, name: str, field: tuple[str | int, ...], empty: bool = False) -> str:
    """Return `value` as one line of text, or raise a `FieldError`.

    >>> line("State", name="name of a level", field=("name",))
    'State'
    """
    if not isinstance(value, str):
        raise FieldError(f"{name} is {shown(value)}; it must be a string in quotes", field=field)
    if not value.strip() and not empty:
        raise FieldError(f"{name} is empty; it must have at least one character", field=field)
    if len(value) > LONGEST_TEXT:
        raise FieldError(
            f"{name} has {len(value)} characters; at most {LONGEST_TEXT} are allowed", field=field
        )
    if _CONTROL.search(value):
        raise FieldError(
            f"{name} is {shown(value)}; it must be one line, without control characters", field=field
        )
    return value


def one_of(value: object, allowed: Iterable[str], *, name: str, field: tuple[str | int, ...]) -> str:
    """Return `value` if it is one of the allowed words, or raise a `FieldError` that lists them.

    >>> one_of("bounded", ["bounded", "unbounded"], name="neighbours", field=("neighbours",))
    'bounded'
    """
    words = list(allowed)
    if isinstance(value, str) and value in words:
        return value
    choice = " or ".join(f'"{word}"' for word in words)
    raise FieldError(f"{name} is {shown(value)}; it must be {choice}{hint(value, words)}", field=field)


def hint(found: object, allowed: Iterable[str]) -> str:
    """Suggest the nearest allowed word, or nothing if none is near.

    >>> hint("sensitvity", ["share", "sensitivity"])
    '; did you mean "sensitivity"?'
    """
    from difflib import get_close_matches

    near = get_close_matches(found, list(allowed), n=1) if isinstance(found, str) else []
    return f'; did you mean "{near[0]}"?' if near else ""


def no_repeats(names: Iterable[str], *, name: str, field: tuple[str | int, ...]) -> None:
    """Raise a `FieldError` at the second place of a name that comes twice.

    >>> no_repeats(["US", "State", "US"], name="levels", field=("levels",))
    Traceback (most recent call last):
    discreet.budget.fields.FieldError: levels has 'US' twice; each name may be used once
    """
    seen = set()
    for place, word in enumerate(names):
        if word in seen:
            raise FieldError(
                f"{name} has {shown(word)} twice; each name may be used once", field=(*field, place)
            )
        seen.add(word)


def _too_long(value: Exact) -> bool:
    if isinstance(value, int | Fraction):
        return bool(max(abs(value.numerator), value.denominator) >= 10**LONGEST_NUMBER)
    if isinstance(value, Decimal):
        return value.is_finite() and max(abs(value.adjusted()), len(value.as_tuple().digits)) > LONGEST_NUMBER
    if isinstance(value, str):
        exponent = value.lower().partition("e")[2].strip().lstrip("+-")
        return len(value) > LONGEST_NUMBER or (exponent.isdecimal() and int(exponent) > LONGEST_NUMBER)
    return False
