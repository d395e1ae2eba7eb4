"""How risky a release is, in one number: how often the best guess about one person is right.

Every surface leads with this number, at one prior. It is that of everything published (`profile`,
`everything`), or of a promise whatever keeps it (`promise`). Beside it stand known releases, whose numbers
the same function gave; `tests/disclosure/test_best_guess.py` computes them again.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files

from discreet.budget.claims import AnswerKind, Claim
from discreet.budget.neighbours import Neighbours
from discreet.budget.scope import Scope
from discreet.disclosure.everything import ReleaseRisk
from discreet.disclosure.profile import RiskProfile
from discreet.disclosure.promise import PromisedRisk
from discreet.disclosure.questions import DEFAULT_PRIOR


@dataclass(frozen=True, slots=True)
class BestGuess:
    """How often someone who knows every other record guesses right about one person, at one prior.

    With bounded neighbours they guess between two answers of that person, with unbounded ones whether the
    person is in the data. `told_apart` says that counts held exact give it away.
    """

    name: str
    unit: str
    neighbours: Neighbours
    people: int
    prior: float
    right: float
    claim: Claim
    promise: tuple[Fraction, Fraction] | None = None
    """Epsilon and delta, where nothing else is known."""
    told_apart: bool = False

    @property
    def baseline(self) -> float:
        """How often the likelier answer is right with nothing published."""
        return max(self.prior, 1.0 - self.prior)

    @property
    def is_bound(self) -> bool:
        """Whether nobody is right more often, whatever the method."""
        return self.claim.kind in (AnswerKind.EXACT, AnswerKind.BOUND)

    @property
    def is_comparable(self) -> bool:
        """Whether known releases can stand beside it: at the same prior, about one person."""
        return self.prior == float(Fraction(DEFAULT_PRIOR)) and self.people == 1


@dataclass(frozen=True, slots=True)
class KnownRelease:
    """A release that readers may know, and how often the best guess from it is right."""

    title: str
    guess: BestGuess


def best_guess(risk: RiskProfile | ReleaseRisk | PromisedRisk) -> BestGuess:
    """Return the best guess about one person, at the first prior that was asked for.

    >>> from discreet.disclosure.profile import risk_profile
    >>> from discreet.disclosure.promise import promised_risk
    >>> found = best_guess(risk_profile("sdhc-2020")), best_guess(promised_risk(epsilon=3, delta="1e-9"))
    >>> [(guess.neighbours, round(guess.right, 4), guess.baseline) for guess in found]
    [('bounded', 0.6894, 0.5), ('unbounded', 0.9526, 0.5)]
    """
    if isinstance(risk, PromisedRisk):
        stated = (risk.epsilon, risk.delta)
        about = ("a promise", "person", risk.neighbours, 1, float(risk.prior))
        return BestGuess(*about, risk.right, risk.claim, promise=stated)
    told_apart = isinstance(risk, ReleaseRisk) and risk.told_apart
    profile = risk.profile if isinstance(risk, ReleaseRisk) else risk
    whole = profile.overall[0]
    if whole.claim is None:
        raise TypeError(f"the risk of {profile.name} does not say of what it is true")
    return BestGuess(
        profile.name,
        profile.unit,
        profile.neighbours,
        profile.people,
        whole.prior,
        whole.accuracy,
        whole.claim,
        told_apart=told_apart,
    )


@cache
def known_releases() -> tuple[KnownRelease, ...]:
    """Return known releases, the most telling first.

    >>> [(known.guess.name, round(known.guess.right, 4)) for known in known_releases()][-1]
    ('pl94-2020-units', 0.5767)
    """
    text = (files("discreet.disclosure") / "known_releases.toml").read_text(encoding="utf-8")
    known = [_known(**fact) for fact in tomllib.loads(text)["releases"]]
    return tuple(sorted(known, key=lambda release: -release.guess.right))


def _known(
    *, preset: str, title: str, unit: str, neighbours: Neighbours, kind: str, right: float
) -> KnownRelease:
    claim = Claim(Scope.whole(preset, unit=unit, neighbours=neighbours), AnswerKind(kind))
    prior = float(Fraction(DEFAULT_PRIOR))
    return KnownRelease(title, BestGuess(preset, unit, neighbours, 1, prior, right, claim))
