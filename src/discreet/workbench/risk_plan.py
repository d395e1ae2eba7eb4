"""What is asked on the Risk page: an adversary, a count, what was published; read from a state's settings."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.budget import Release
from discreet.errors import InputError
from discreet.numbers import prior
from discreet.workbench import phrases
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
_MOST = 10**9


@dataclass(frozen=True, slots=True)
class Count:
    """One published count: its level, its query, and the variance of its noise."""

    level: str
    query: str
    variance: Fraction


@dataclass(frozen=True, slots=True)
class Question:
    """All that an answer depends on, but for the release as a whole."""

    scenario: str
    prior: str
    counts: tuple[Count, ...]
    known: int
    published: int
    people: int = 20
    chance: str = "1/10"
    siblings: int = 27
    beside: int = 0
    above: int = 1

    @property
    def reach(self) -> int:
        """How far from the known count published values are shown: four standard deviations."""
        return max(5, math.ceil(4 * math.sqrt(self.counts[0].variance)))


def attackable(release: Release) -> dict[str, list[Count]]:
    """Return the counts with Gaussian noise that one record changes by one, by level, most precise first.

    >>> from discreet.budget import load
    >>> counts = attackable(load("dhc-2020"))["Block"]
    >>> counts[0].query, counts[0].variance, len(counts)
    ('age_18_64_116 * relgq_4_groups', Fraction(10000, 11), 10)
    """
    found: dict[str, list[Count]] = {}
    for row in release.variance_table():
        if row.variance is not None and row.event.sensitivity == 1:
            found.setdefault(row.level, []).append(Count(row.level, row.query, row.variance))
    return {level: sorted(counts, key=lambda count: count.variance) for level, counts in found.items()}


def question(state: State) -> Question | None:
    """Return what a state asks; None if the release has no count that a single attack is for."""
    known_counts = attackable(state.release)
    if not known_counts:
        return None
    said = {name: text for page, name, text in state.settings if page == NAME}
    levels = list(known_counts)
    level = said.get("level", levels[-1])
    if level not in known_counts:
        level = levels[-1]
    counts = known_counts[level]
    count = next((one for one in counts if one.query == said.get("query")), counts[0])
    scenario = said.get("scenario", "one")
    scenario = scenario if scenario in SCENARIOS else "one"
    chosen: tuple[Count, ...] = (count,)
    if scenario == "several":
        same = [one for them in known_counts.values() for one in them if one.query == count.query]
        chosen = tuple(sorted(same, key=lambda one: one.level != level))
    elif scenario == "hierarchy" and levels.index(level):
        up = known_counts[levels[levels.index(level) - 1]]
        chosen = (count, next((one for one in up if one.query == count.query), up[0]))
    known = read_count(said.get("known", "0"), "the known count")
    return Question(
        scenario=scenario,
        prior=plain_text(said.get("prior", "1/2")),
        counts=chosen,
        known=known,
        published=read_whole(said.get("published", str(known + 1)), "the published count"),
        people=read_count(said.get("people", "20"), "the number of people", least=1, most=10_000),
        chance=plain_text(said.get("chance", "1/10")),
        siblings=read_count(said.get("siblings", "27"), "the number of areas", least=1, most=10_000),
        beside=read_whole(said.get("beside", "0"), "their published sum"),
        above=read_whole(said.get("above", "1"), "the published count above"),
    )


def plain_text(text: str) -> str:
    """Write a chance as a fraction, however it was typed.

    >>> plain_text("0.05"), plain_text(" 1e-3 ")
    ('1/20', '1/1000')
    """
    return str(prior(text, name="the prior"))


def read_whole(text: str, name: str) -> int:
    """Return a whole number.

    >>> read_whole("-3", "the published count")
    -3
    """
    short = text.strip().replace(",", "").replace("\u2212", "-")
    if not short.removeprefix("-").isdecimal() or abs(int(short)) > _MOST:
        raise InputError(f"{name} is {text!r}; it must be a whole number of at most {_MOST:,} in size")
    return int(short)


def read_count(text: str, name: str, *, least: int = 0, most: int = _MOST) -> int:
    """Return a whole number within limits."""
    value = read_whole(text, name)
    if not least <= value <= most:
        raise InputError(f"{name} is {value}; it must be a whole number from {least} to {most:,}")
    return value


def command(asked: Question, state: State) -> str:
    """Return the command line of the attack, or of the whole release.

    >>> print(command(question(State.of("dhc-2022-08-25")), State.of("dhc-2022-08-25")))
    discreet risk single --noisy 1 --known 0 --variance 100000/219 --prior 1/2
    """
    if asked.scenario == "whole":
        return bound_command(asked.prior, state)
    parts = ["discreet", "risk", "single"]
    given = ["--prior", asked.prior]
    noisy = ["--noisy", str(asked.published)]
    known = ["--known", str(asked.known)]
    if asked.scenario == "hierarchy" and len(asked.counts) == 2:
        block, above = asked.counts
        return shlex.join(
            [
                "discreet",
                "risk",
                "hierarchy",
                "--area",
                f"name={block.level},noisy={asked.published},variance={block.variance},"
                f"siblings={asked.siblings},siblings-noisy={asked.beside}",
                "--area",
                f"name={above.level},noisy={asked.above},variance={above.variance}",
                *given,
                *known,
            ]
        )
    if asked.scenario == "several":
        variances = [part for count in asked.counts for part in ("--variance", str(count.variance))]
        return shlex.join([*parts, "--together", *noisy * len(asked.counts), *known, *variances, *given])
    more: list[str] = []
    if asked.scenario == "unsure":
        more = ["--unsure", str(asked.people), "--chance", asked.chance]
    if asked.scenario == "floor":
        more = ["--nonnegative"]
    variance = ["--variance", str(asked.counts[0].variance)]
    return shlex.join([*parts, *noisy, *known, *variance, *given, *more])


def bound_command(prior: str, state: State) -> str:
    """Return the command line of the bounds."""
    parts: list[Any] = ["discreet", "risk", "release", *phrases.target(state), "--prior", prior]
    return shlex.join(parts + phrases.relation_options(state))
