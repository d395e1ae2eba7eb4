"""What `discreet init` prints with --json."""

from __future__ import annotations

from typing import TypedDict

from discreet.answers.objects.shared import ScopeKeys


class DraftLevelKeys(TypedDict):
    """What stands under `levels`."""

    name: str
    areas: int


class DraftAccuracyKeys(TypedDict):
    """What stands under `accuracy`."""

    query: str
    level: str
    cells: int
    noise_sd: float | None
    sd: float
    margin95: float


class InitKeys(TypedDict):
    """What `discreet init` prints."""

    release: str
    epsilon: float
    delta: float
    levels: list[DraftLevelKeys]
    areas_of_the_file: bool
    left_out: list[str]
    accuracy: list[DraftAccuracyKeys]
    out: str
    files: list[str]
    next: list[str]
    scope: ScopeKeys
    seconds: float
