"""The adversary of the Risk page: what can be chosen and typed there, and whom it describes."""

from __future__ import annotations

from typing import NamedTuple

from discreet.disclosure.adversary import Adversary, Count, attackable
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import InputError
from discreet.numbers import prior as read_prior
from discreet.workbench.state import State

NAME = "risk"
SCENARIOS = {
    "one": "one count, everyone else is known",
    "several": "the same count at every level, together",
    "unsure": "one count, unsure about some others",
    "floor": "one count, negative values published as 0",
    "hierarchy": "one count, and the area above it",
    "whole": "everything published",
}
"""What an adversary may know and look at."""

_MOST = 10**9


class Assumption(NamedTuple):
    """What can be said of an adversary: its label, its name in sentences, and what it may be.

    `scenario` is the only one that has it, if not all have; `term` is what help explains. One without `most`
    is a chance, the others are whole numbers.
    """

    label: str
    words: str
    default: str = ""
    least: int = -_MOST
    most: int | None = _MOST
    scenario: str = ""
    term: str = ""


SETTINGS = {
    "published": Assumption("published", "the published count"),
    "known": Assumption("others known", "the number of others known", "0", 0, term="known"),
    "people": Assumption(
        "unsure about", "the number of people who may be in the count", "20", 1, 10_000, "unsure", "unsure"
    ),
    "chance": Assumption("probability of each", "the probability of each of them", "1/10", 0, None, "unsure"),
    "siblings": Assumption(
        "areas beside it", "the number of areas beside it", "27", 1, 10_000, "hierarchy", "siblings"
    ),
    "beside": Assumption("their published sum", "their published sum", "0", scenario="hierarchy"),
    "above": Assumption(
        "published above", "the published count above", "1", scenario="hierarchy", term="above"
    ),
}
"""By the name of the adversary's field; without a default, one more than the number of others known."""


def adversary(state: State) -> Adversary | None:
    """Return the adversary that a state asks about; None if no count of the release can be attacked alone."""
    known_counts = attackable(state.release)
    if not known_counts:
        return None
    said, levels = state.settings_of(NAME), list(known_counts)
    level = said["level"] if said.get("level") in known_counts else levels[-1]
    counts = known_counts[level]
    count = next((other for other in counts if other.query == said.get("query")), counts[0])
    scenario = said["scenario"] if said.get("scenario") in SCENARIOS else "one"
    chosen: tuple[Count, ...] = (count,)
    if scenario == "several":
        same = [other for them in known_counts.values() for other in them if other.query == count.query]
        chosen = tuple(sorted(same, key=lambda other: other.level != level))
    elif scenario == "hierarchy" and levels.index(level):
        up = known_counts[levels[levels.index(level) - 1]]
        chosen = (count, next((other for other in up if other.query == count.query), up[0]))
    prior = read_chance(said.get("prior", DEFAULT_PRIOR))
    chance = read_chance(said.get("chance") or SETTINGS["chance"].default, SETTINGS["chance"].words)
    numbers: dict[str, int] = {}
    for name in ("known", *SETTINGS):
        setting = SETTINGS[name]
        if setting.most is not None:
            text = said.get(name) or setting.default or str(numbers["known"] + 1)
            numbers[name] = read_count(text, setting.words, least=setting.least, most=setting.most)
    return Adversary(scenario=scenario, counts=chosen, prior=prior, chance=chance, **numbers)


def asked_category(state: State) -> str | None:
    """Return the attribute whose value is asked for, if the release has it; None asks for the cell.

    >>> state = State.of("pl94-2020").with_settings("risk", {"category": "cenrace"})
    >>> asked_category(state), asked_category(State.of("pl94-2020"))
    ('cenrace', None)
    """
    said, attributes = state.setting(NAME, "category"), state.release.attributes
    return said if attributes is not None and said in attributes.names else None


def read_chance(text: str, name: str = "the prior") -> str:
    """Write a chance as a fraction, however it was typed.

    >>> read_chance("0.05"), read_chance(" 1e-3 ")
    ('1/20', '1/1000')
    """
    return str(read_prior(text, name=name))


def read_count(text: str, name: str, *, least: int = -_MOST, most: int = _MOST) -> int:
    """Return a whole number.

    >>> read_count("-3", "the published count")
    -3
    """
    short = text.strip().replace(",", "").replace("\u2212", "-")
    if not short.removeprefix("-").isdecimal() or not least <= int(short) <= most:
        raise InputError(f"{name} is {text!r}; it must be a whole number from {least:,} to {most:,}")
    return int(short)
