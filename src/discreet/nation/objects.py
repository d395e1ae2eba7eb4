"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import TypedDict


class SynthKeys(TypedDict):
    """What `discreet synth` prints."""

    out: str
    people: int
    in_quarters: int
    households: int
    vacant: int
    quarters: int
    seed: int
    states: int
    counties: int
    tracts: int
    blocks: int
    places: int
    aiannh_areas: int
    groups: str
    codes: int
    files: list[str]
    bytes: int
    seconds: float
