"""What kind of answer a number is, and why it is not exact.

A number without its kind misleads: "10.94" may be the loss itself, or only a bound of it. A release says
which (`kind` and `reason` in its TOML), an account passes it on, and every surface writes it beside the
number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from discreet.budget.scope import Scope


class AnswerKind(StrEnum):
    """What a number claims, from the strongest claim to the weakest."""

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
        return _LABELS[self]


_LABELS = {
    AnswerKind.EXACT: "exact",
    AnswerKind.BOUND: "at most",
    AnswerKind.MODEL: "as modelled",
    AnswerKind.MAIN: "main path only",
}

STATED = (AnswerKind.EXACT, AnswerKind.BOUND, AnswerKind.MODEL)
"""The kinds that a release may state; that only the main path was accounted for, the account says."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Of what an answer is true, its kind, and why it is not exact.

    >>> whole = Scope.whole("survey", unit="person", neighbours="bounded")
    >>> bound = Claim(whole, AnswerKind.BOUND, ("Sensitivities are upper bounds.",))
    >>> joint = Claim.of_all([Claim(whole), bound])
    >>> joint.kind.label, joint.reasons
    ('at most', ('Sensitivities are upper bounds.',))
    """

    scope: Scope
    kind: AnswerKind = AnswerKind.EXACT
    reasons: tuple[str, ...] = ()

    @classmethod
    def of_all(cls, claims: Iterable[Claim]) -> Claim:
        """Return what can be claimed of several answers taken together: the weakest of their claims.

        >>> whole = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> Claim.of_all([Claim(whole, AnswerKind.BOUND), Claim(whole, AnswerKind.MAIN)]).kind.value
        'main path'
        """
        joint = list(claims)
        if not joint:
            raise ValueError("there is no claim about nothing")
        order = list(AnswerKind)
        weakest = max((claim.kind for claim in joint), key=order.index)
        if weakest is AnswerKind.MAIN:
            joint = [claim.of_one_path() for claim in joint]
        reasons = tuple(dict.fromkeys(reason for claim in joint for reason in claim.reasons))
        return cls(Scope.joint(claim.scope for claim in joint), weakest, reasons)

    def weakened(self, kind: AnswerKind, *reasons: str) -> Claim:
        """Return the claim of a number that is of this kind at best, for these reasons.

        >>> whole = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> Claim(whole).weakened(AnswerKind.BOUND, "All combinations are compared.").kind.label
        'at most'
        """
        return Claim.of_all([self, Claim(self.scope, kind, reasons)])

    def of_one_path(self) -> Claim:
        """Return the claim of an account of one path: its reasons are those of an account of all paths.

        >>> whole = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> print(*Claim(whole, AnswerKind.BOUND, ("All paths are compared.",)).of_one_path().reasons)
        An account of all paths would be an upper bound: All paths are compared.
        """
        leads = {
            AnswerKind.EXACT: "",
            AnswerKind.MAIN: "",
            AnswerKind.BOUND: "An account of all paths would be an upper bound: ",
            AnswerKind.MODEL: "An account of all paths would be exact for what is modelled only: ",
        }
        return replace(self, reasons=tuple(leads[self.kind] + reason for reason in self.reasons))

    def document(self) -> dict[str, object]:
        """Return what a certificate, a manifest or JSON states of it.

        >>> whole = Scope.whole("survey", unit="person", neighbours="bounded")
        >>> list(Claim(whole).document())
        ['kind', 'says', 'reasons', 'scope']
        """
        return {
            "kind": self.kind.value,
            "says": self.kind.label,
            "reasons": list(self.reasons),
            "scope": self.scope.document(),
        }
