"""What the commands of this guest print with --json."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from discreet.answers.objects.shared import Claims


class PrintedKeys(TypedDict):
    """What stands under `printed`."""

    paper: str
    place: str
    what: str
    at: str
    published: str
    computed: float
    difference: float
    verdict: str
    why: str
    claims: NotRequired[Claims]


class StudyKeys(TypedDict):
    """What stands under `studies`."""

    name: str
    title: NotRequired[str]
    source: NotRequired[str]
    printed: NotRequired[list[PrintedKeys]]
    notes: NotRequired[list[str]]
    what: NotRequired[str]
    where: NotRequired[str]
    paper: NotRequired[str]
    takes_long: NotRequired[bool]


class ReproduceKeys(TypedDict):
    """What `discreet reproduce` prints."""

    studies: list[StudyKeys]
    summary: NotRequired[str]
