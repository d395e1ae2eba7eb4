"""Objects that several commands print."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class PartKeys(TypedDict):
    """Which parts of one sort a number was made from."""

    part: str
    taken: int
    of: int
    names: list[str]


class ScopeKeys(TypedDict):
    """Of what a number is true."""

    of: list[str]
    unit: str
    neighbours: str
    people: int
    whole: bool
    parts: list[PartKeys]
    left_out: list[str]


class ClaimKeys(TypedDict):
    """What kind a number is, and of what it is true."""

    kind: str
    scope: ScopeKeys


Claims = dict[str, ClaimKeys]
"""The claims of the numbers beside it, by their keys."""


class AnswerKeys(TypedDict):
    """What stands under `answer`."""

    kind: str
    says: str
    reasons: list[str]
    scope: ScopeKeys


class KnownReleaseKeys(TypedDict):
    """What stands under `beside`."""

    release: str
    name: str
    guessed: str
    right: float
    claims: NotRequired[Claims]


class BestGuessKeys(TypedDict):
    """What stands under `best_guess`: how risky it is, in one number and one sentence."""

    right: float
    instead_of: float
    prior: float
    says: str
    beside: list[KnownReleaseKeys]
    claims: NotRequired[Claims]


class LimitKeys(TypedDict):
    """What stands under `limits`."""

    risk: str
    kind: str
    before: float
    limit: float
    now: float
    proved_at_most: float | None
    worst_case: list[int]
