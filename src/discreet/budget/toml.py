"""How TOML is read and checked: an error is one line that says what was found, what is allowed, and where.

A check of a field raises a `FieldError`, which knows the place of the field, such as `("levels", 2, "rho")`.
`located` turns the place into the line of the file. Python's `tomllib` reads values without their places, so
`key_lines` scans the text a second time; since `tomllib` has read it by then, the text is well formed.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet import numbers
from discreet.budget.toml_lines import Place, key_lines, nearest_line
from discreet.errors import InputError
from discreet.numbers import Exact, positive, shown

LONGEST_NUMBER = 1000
"""Digits of the longest numerator or denominator, so that every number can be written in full."""

LARGEST = Fraction(10**100)
"""The largest number, and one over the smallest; an account cannot represent others as floats."""

LONGEST_TEXT = 10_000
"""Characters of the longest name, title or note."""

MOST_KEYS = 200_000
"""Keys of a file, in all its tables."""

LONGEST_KEY = 60
"""Parts of a key with dots."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_AT = re.compile(r"(.*?)\s*\(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_PIECE = re.compile(r"([^\n=,{}]*+)([\n=,{}]|\Z)")  # may be a key, if = follows, or the name of a table


class FieldError(InputError):
    """An input error that knows its place, such as `("levels", 2, "rho")`."""

    def __init__(self, message: str, *, field: Place = ()) -> None:
        super().__init__(message)
        self.field = field


@contextmanager
def inside(*place: str | int) -> Iterator[None]:
    """Put `place` before the field of every input error that is raised within."""
    try:
        yield
    except InputError as error:
        raise FieldError(str(error), field=(*place, *getattr(error, "field", ()))) from None


# -- single fields ---------------------------------------------------------------------------------------


def exact(value: Exact, *, name: str, field: Place) -> Fraction:
    """Return `value` as an exact fraction above zero, or raise a `FieldError`.

    >>> exact("1/13", name="share", field=("share",))
    Fraction(1, 13)
    """
    with inside(*field):
        if isinstance(value, float | Decimal) and not math.isfinite(value):
            raise InputError(f"{name} is {float(value)}; it must be a finite number above zero")
        if _too_long(value):
            raise InputError(f"{name} is too long; at most {LONGEST_NUMBER} digits are allowed")
        number = positive(value, name=name)
        if not 1 / LARGEST <= number <= LARGEST:
            raise InputError(f"{name} is {shown(number)}; it must lie between 1e-100 and 1e+100")
        return number


def _too_long(value: Exact) -> bool:
    if isinstance(value, int | Fraction):
        return bool(max(abs(value.numerator), value.denominator) >= 10**LONGEST_NUMBER)
    if isinstance(value, Decimal):
        return value.is_finite() and max(abs(value.adjusted()), len(value.as_tuple().digits)) > LONGEST_NUMBER
    if isinstance(value, str):
        exponent = value.lower().partition("e")[2].strip().lstrip("+-")
        return len(value) > LONGEST_NUMBER or (exponent.isdecimal() and int(exponent) > LONGEST_NUMBER)
    return False


def whole_number(value: object, *, name: str, field: Place) -> int:
    """Return `value`, which may be written as a text, as a whole number above zero, or raise a `FieldError`.

    >>> whole_number("168", name="sensitivity", field=("sensitivity",))
    168
    """
    with inside(*field):
        is_written = isinstance(value, str) and re.fullmatch("[0-9]{1,20}", value)
        return numbers.whole(int(value) if is_written else value, name=name)  # type: ignore[call-overload]


def line(value: object, *, name: str, field: Place, empty: bool = False) -> str:
    """Return `value` as one line of text, or raise a `FieldError`.

    >>> line("State", name="name of a level", field=("name",))
    'State'
    """
    problem = ""
    if not isinstance(value, str):
        problem = f"is {shown(value)}; it must be a string in quotes"
    elif not value.strip() and not empty:
        problem = "is empty; it must have at least one character"
    elif len(value) > LONGEST_TEXT:
        problem = f"has {len(value)} characters; at most {LONGEST_TEXT} are allowed"
    elif _CONTROL.search(value):
        problem = f"is {shown(value)}; it must be one line, without control characters"
    if problem:
        raise FieldError(f"{name} {problem}", field=field)
    return str(value)


def one_of(value: object, allowed: Iterable[str], *, name: str, field: Place) -> str:
    """Return `value` if it is one of the allowed words, or raise a `FieldError` that lists them.

    >>> one_of("bounded", ["bounded", "unbounded"], name="neighbours", field=("neighbours",))
    'bounded'
    """
    words = list(allowed)
    if isinstance(value, str) and value in words:
        return value
    choice = " or ".join(f'"{word}"' for word in words)
    raise FieldError(f"{name} is {shown(value)}; it must be {choice}{hint(value, words)}", field=field)


def hint(given: object, allowed: Iterable[str]) -> str:
    """Suggest the most similar allowed word, or nothing if none is similar.

    >>> hint("sensitvity", ["share", "sensitivity"])
    '; did you mean "sensitivity"?'
    """
    from difflib import get_close_matches

    near = get_close_matches(given, list(allowed), n=1) if isinstance(given, str) else []
    return f'; did you mean "{near[0]}"?' if near else ""


def no_repeats(names: Iterable[str], *, name: str, field: Place) -> None:
    """Raise a `FieldError` at the second of two equal names.

    >>> no_repeats(["US", "State", "US"], name="levels", field=("levels",))
    Traceback (most recent call last):
    discreet.budget.toml.FieldError: levels has 'US' twice; each name may be used once
    """
    seen = set()
    for number, word in enumerate(names):
        if word in seen:
            text = f"{name} has {shown(word)} twice; each name may be used once"
            raise FieldError(text, field=(*field, number))
        seen.add(word)


def a_table(
    value: object, what: str, allowed: tuple[str, ...] | None = None, *, needed: Iterable[str] = ()
) -> dict[str, Any]:
    """Return a table of TOML that has only the allowed keys, and all that are needed.

    >>> a_table({"paths": {}}, "the spine", ("paths", "may_merge_up"))
    {'paths': {}}
    """
    if not isinstance(value, dict):
        raise FieldError(f"{what} is {shown(value)}; it must be a table")
    for key in value if allowed is not None else ():
        if allowed is not None and key not in allowed:
            near = hint(key, allowed) or f"; allowed are {', '.join(allowed)}"
            raise FieldError(f"{what} has the unknown key {shown(key)}{near}", field=(key,))
    for key in needed:
        if key not in value:
            raise FieldError(f"{what} has no {key}; it must state one")
    return value


def a_list(value: object, key: str, of: str) -> list[Any]:
    """Return a list of TOML."""
    if not isinstance(value, list):
        raise FieldError(f"{key} is {shown(value)}; it must be a list of {of}", field=(key,))
    return value


# -- the text --------------------------------------------------------------------------------------------


def check_keys(text: str, where: str, *, most: int = MOST_KEYS) -> None:
    """Refuse a text whose keys would take the parser too long, before it is parsed.

    The time to read a key grows with the square of the number of its parts.

    >>> check_keys(".".join("a" * 5000) + " = 1", "a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: a key has 5000 parts; at most 60 are read (line 1 of a.toml)
    >>> check_keys("a = 1 " * 20_000, "a.toml", most=10_000)
    Traceback (most recent call last):
    discreet.errors.InputError: a.toml has 20000 keys; at most 10000 are read
    """
    keys = text.count("=")
    if keys > most:
        raise InputError(f"{where} has {keys} keys; at most {most} are read")
    if text.count(".") < LONGEST_KEY:
        return
    for piece in _PIECE.finditer(text):
        parts = piece[1].count(".") + 1
        if parts > LONGEST_KEY and (piece[2] == "=" or piece[1].lstrip().startswith("[")):
            number = text.count("\n", 0, piece.start()) + 1
            raise InputError(
                f"a key has {parts} parts; at most {LONGEST_KEY} are read (line {number} of {where})"
            )


def parse_toml(
    text: str, where: str, *, most_keys: int = MOST_KEYS, parse_float: Callable[[str], Any] = Decimal
) -> dict[str, Any]:
    """Parse a TOML text; an error is one line that names the place. Decimals are read as they are written.

    >>> parse_toml("a = 1", "a.toml")
    {'a': 1}
    >>> parse_toml("a = ", "a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: not valid TOML: Invalid value (line 1, the end of a.toml)
    >>> parse_toml("größe = 1", "a.toml")
    Traceback (most recent call last):
    discreet.errors.InputError: a key with letters beyond a to z needs quotes: "größe" (line 1 of a.toml)
    """
    check_keys(text, where, most=most_keys)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError as error:
        match = _AT.fullmatch(str(error))
        reason = " ".join((match[1] if match else str(error)).split())
        if match and match[2]:
            if word := _foreign_word(text, int(match[2]), int(match[3])):
                raise InputError(
                    f'a key with letters beyond a to z needs quotes: "{word}" (line {match[2]} of {where})'
                ) from None
            position = f"line {match[2]}, column {match[3]} of {where}"
        else:
            position = f"line {text.rstrip().count(chr(10)) + 1}, the end of {where}"
        raise InputError(f"not valid TOML: {reason} ({position})") from None
    except RecursionError:
        raise InputError(f"not valid TOML: brackets are nested too deeply ({where})") from None
    except ValueError:  # int() refuses numbers of thousands of digits
        long = re.search(r"[0-9_]{4000,}", text)
        position = f"line {text.count(chr(10), 0, long.start()) + 1} of {where}" if long else where
        raise InputError(f"not usable TOML: a number has thousands of digits ({position})") from None


def _foreign_word(text: str, number: int, column: int) -> str:
    """Return the word at a place where TOML stopped reading, if it stopped at a letter of another alphabet.

    >>> _foreign_word('a = 1\\ngröße = 2', 2, 3), _foreign_word('a b = 1', 1, 3)
    ('größe', '')
    """
    line = text.split("\n")[number - 1]
    letter = line[column - 1 : column]
    if letter.isascii() or not letter.isalpha():
        return ""
    return next(word[0] for word in re.finditer(r"[\w-]+", line) if word.start() < column <= word.end())


def located(error: FieldError, text: str, data: Mapping[str, Any], where: str) -> InputError:
    """Return an error of a release with its level and its line."""
    line_number = nearest_line(key_lines(text), error.field)
    spot = where if line_number is None else f"line {line_number} of {where}"
    match error.field:
        case ("levels", int(number), *_):
            level = data["levels"][number]
            name = level.get("name") if isinstance(level, dict) else None
            if name and (label := f"level {shown(name)}") not in str(error):
                spot = f"{label}, {spot}"
    return InputError(f"{error} ({spot})")


def quoted(value: str | Fraction | Iterable[str]) -> str:
    """Write a text, an exact number or a list of texts as TOML; texts are printable.

    >>> print(quoted('a "b"'), quoted(["c", "d"]), quoted(Fraction(1, 2)))
    "a \\"b\\"" ["c", "d"] "1/2"
    """
    if isinstance(value, str | Fraction):
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f"[{', '.join(map(quoted, value))}]"
