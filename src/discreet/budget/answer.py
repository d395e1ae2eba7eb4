"""What an answer is: exact, an upper bound, exact for a model, or about the main path alone.

A number without its kind misleads: "10.94" may be the loss itself, or no more than a bound of it. A release
says which (`kind` and `reason` in its TOML), an account hands it on, and every surface writes it beside the
number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.numbers import DIGITS, decimal, number


class AnswerKind(StrEnum):
    """What a number claims, from the strongest claim to the weakest.

    >>> print(AnswerKind.BOUND.beside(10.94377), "|", AnswerKind.EXACT.beside(24.4565144))
    at most 10.9438 | 24.4565 (exact)
    """

    EXACT = "exact"
    """The value itself: no smaller one is true of the release."""
    BOUND = "bound"
    """No more than this; the true value may be smaller."""
    MODEL = "model"
    """Exact for what is modelled; part of what was released is not, so this bounds nothing."""
    MAIN = "main path"
    """About the main path alone; others may cost more, so this bounds nothing."""

    @property
    def label(self) -> str:
        """The word that stands beside a number, or above a column of them.

        >>> [kind.label for kind in AnswerKind]
        ['exact', 'at most', 'as modelled', 'main path only']
        """
        return _WORDS[self][0]

    @property
    def sentence(self) -> str:
        """One sentence on how to read the number.

        >>> AnswerKind.BOUND.sentence
        'An upper bound: the true value may be smaller.'
        """
        return _WORDS[self][1]

    def number(self, value: float, digits: int = DIGITS) -> str:
        """Write the digits of a value of this kind; an upper bound is rounded up, so that it stays one.

        >>> AnswerKind.BOUND.number(10.94372), AnswerKind.EXACT.number(10.94372)
        ('10.9438', '10.9437')
        """
        if value == 0 or self is not AnswerKind.BOUND or not math.isfinite(value):
            return number(value, digits)
        return number(float(decimal(Fraction(repr(float(value))), digits=digits, down=False)), digits)

    def beside(self, value: float, digits: int = DIGITS) -> str:
        """Write a number with what it claims.

        >>> AnswerKind.MAIN.beside(31.5961, 4)
        '31.60 (main path only)'
        """
        written = self.number(value, digits)
        return f"at most {written}" if self is AnswerKind.BOUND else f"{written} ({self.label})"

    def states(self, quantity: str, value: float, digits: int = DIGITS) -> str:
        """Write a clause that says what a quantity is.

        >>> for kind in AnswerKind:
        ...     print(kind.states("epsilon", 2.5, 3))
        the exact epsilon is 2.50
        epsilon is at most 2.50
        epsilon is 2.50 as modelled
        epsilon is 2.50 on the main path
        """
        written = self.number(value, digits)
        if self is AnswerKind.EXACT:
            return f"the exact {quantity} is {written}"
        if self is AnswerKind.BOUND:
            return f"{quantity} is at most {written}"
        return f"{quantity} is {written} {'as modelled' if self is AnswerKind.MODEL else 'on the main path'}"

    def titled(self, quantity: str) -> str:
        """Write the head of a column of such numbers.

        >>> [kind.titled("epsilon") for kind in AnswerKind]
        ['exact epsilon', 'epsilon at most', 'epsilon as modelled', 'epsilon, main path only']
        """
        if self is AnswerKind.EXACT:
            return f"exact {quantity}"
        return f"{quantity}{',' if self is AnswerKind.MAIN else ''} {self.label}"


_WORDS = {
    AnswerKind.EXACT: ("exact", "Exact: no smaller value is true of this release."),
    AnswerKind.BOUND: ("at most", "An upper bound: the true value may be smaller."),
    AnswerKind.MODEL: (
        "as modelled",
        "Exact for what is modelled, which is not all that was released, so this is not a bound.",
    ),
    AnswerKind.MAIN: (
        "main path only",
        "The main path only: other paths may cost more, so this is not a bound.",
    ),
}

STATED = (AnswerKind.EXACT, AnswerKind.BOUND, AnswerKind.MODEL)
"""What a release may say of itself; that only the main path was accounted for is said by the account."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The kind of an answer, and why it is not exact.

    >>> joint = Claim.of_all([Claim(), Claim(AnswerKind.BOUND, ("Sensitivities are upper bounds.",))])
    >>> print(joint)
    An upper bound: the true value may be smaller. Sensitivities are upper bounds.
    """

    kind: AnswerKind = AnswerKind.EXACT
    reasons: tuple[str, ...] = ()

    @classmethod
    def of_all(cls, claims: Iterable[Claim]) -> Claim:
        """Return what can be claimed of several answers taken together: the weakest of their claims.

        >>> Claim.of_all([Claim(AnswerKind.BOUND), Claim(AnswerKind.MAIN)]).kind.value
        'main path'
        """
        found = list(claims)
        order = list(AnswerKind)
        weakest = max((claim.kind for claim in found), key=order.index, default=AnswerKind.EXACT)
        return cls(weakest, tuple(dict.fromkeys(reason for claim in found for reason in claim.reasons)))

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says of it."""
        return {"kind": self.kind.value, "says": self.kind.label, "reasons": list(self.reasons)}

    def __str__(self) -> str:
        return " ".join([self.kind.sentence, *self.reasons])


EXACTLY = Claim()
"""The claim of most accounts."""
