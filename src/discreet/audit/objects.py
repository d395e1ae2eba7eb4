"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import Claims


class LookKeys(TypedDict):
    """What stands under `looks`."""

    look: str
    where: str
    threshold: float | None
    trials: int
    seen: float | None
    expected: float | None
    chance: float | None
    false_positives: float | None
    false_positives_upper: float | None
    true_positives: float | None
    true_positives_lower: float | None
    promised: float | None
    verdict: str


class SmallestKeys(TypedDict):
    """What stands under `smallest`."""

    kind: str
    fault: str
    looks: int
    size: float | None


class RiskAuditKeys(TypedDict):
    """What `discreet risk audit` prints."""

    verdict: str
    release: str
    mechanism: str
    promise: str
    epsilon: float | None
    delta: float | None
    runs: int
    written: int
    post: str
    seed: int | None
    cells: int
    changed: int
    false_alarm: float
    needed: int
    unseen: list[str]
    looks: list[LookKeys]
    alarms: int
    not_looked_at: list[str]
    smallest: list[SmallestKeys]
    seconds: float
    claims: NotRequired[Claims]
