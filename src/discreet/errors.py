"""The few kinds of errors that `discreet` raises on purpose.

Every message names what was found, what is allowed, and where.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class DiscreetError(Exception):
    r"""Base of all errors a caller may want to show to a person as they are.

    A message may list several problems, one a line after its first; `problems` has them one by one.

    >>> DiscreetError("2 kinds of problems:\n  1. a count is below zero\n  2. an empty line").problems
    ('a count is below zero', 'an empty line')
    >>> DiscreetError("there is no file a.toml").problems
    ('there is no file a.toml',)
    """

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong: one text for each problem."""
        first, *others = str(self).split("\n")
        return tuple(re.sub(r"^\s*(\d+\. )?", "", line) for line in others) or (first,)

    @property
    def line(self) -> str:
        """The message in one line."""
        first, *others = str(self).split("\n")
        return f"{first} {'; '.join(line.strip() for line in others)}" if others else first


class InputError(DiscreetError, ValueError):
    """The input cannot be used: a wrong value, an unknown name, a budget that does not add up."""


class PrecisionError(DiscreetError, ArithmeticError):
    """The requested accuracy is out of reach; the message says what can be had instead."""


def install_hint(extra: str) -> str:
    """Return what to type to get the packages of an extra, as messages about missing ones end.

    >>> install_hint("release")
    "pip install '.[release]' in a checkout of discreet"
    """
    return f"pip install '.[{extra}]' in a checkout of discreet"


def visible(text: str) -> str:
    r"""Escape the characters of a text that control a terminal or change the direction of writing.

    >>> print(visible("level \u202e1\x1b[2J"))
    level \u202e1\u001b[2J
    """
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
