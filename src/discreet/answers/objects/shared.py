"""Objects that several commands print."""

from __future__ import annotations

from typing import TypedDict


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


class LimitKeys(TypedDict):
    """What stands under `limits`."""

    risk: str
    kind: str
    before: float
    limit: float
    now: float
    proved_at_most: float | None
    worst_case: list[int]
