"""What the pages ask, read from what a state remembers: an adversary, a report, the size of a group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.budget import Release
from discreet.budget.neighbours import Neighbours
from discreet.errors import DiscreetError, InputError
from discreet.numbers import positive, prior
from discreet.workbench.state import State

SCENARIOS = {
    "one": "one count, everyone else is known",
    "several": "the same count at every level, together",
    "unsure": "one count, unsure about some others",
    "floor": "one count, negative values published as 0",
    "hierarchy": "one count, and the area above it",
    "whole": "everything published",
}
"""What an adversary may know and look at."""

LONGEST_TITLE = 120
OWN_SIZE = "50"
"""The group size that is looked at until another is asked for."""

_MOST = 10**9


# -- the Risk page ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count:
    """One published count: its level, its query, and the variance of its noise."""

    level: str
    query: str
    variance: Fraction


@dataclass(frozen=True, slots=True)
class Adversary:
    """Who attacks what, and what was published: all that an answer depends on."""

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


@lru_cache(maxsize=64)  # every redraw of the page asks
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


def adversary(state: State) -> Adversary | None:
    """Return the adversary that a state asks about; None if no count of the release can be attacked alone."""
    known_counts = attackable(state.release)
    if not known_counts:
        return None
    said = {name: text for page, name, text in state.settings if page == "risk"}
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
    known = read_count(said.get("known", "0"), "the known count", least=0)
    return Adversary(
        scenario=scenario,
        prior=read_chance(said.get("prior", "1/2")),
        counts=chosen,
        known=known,
        published=read_count(said.get("published", str(known + 1)), "the published count"),
        people=read_count(said.get("people", "20"), "the number of people", least=1, most=10_000),
        chance=read_chance(said.get("chance", "1/10"), "the chance"),
        siblings=read_count(said.get("siblings", "27"), "the number of areas", least=1, most=10_000),
        beside=read_count(said.get("beside", "0"), "their published sum"),
        above=read_count(said.get("above", "1"), "the published count above"),
    )


def read_chance(text: str, name: str = "the prior") -> str:
    """Write a chance as a fraction, however it was typed.

    >>> read_chance("0.05"), read_chance(" 1e-3 ")
    ('1/20', '1/1000')
    """
    return str(prior(text, name=name))


def read_count(text: str, name: str, *, least: int = -_MOST, most: int = _MOST) -> int:
    """Return a whole number.

    >>> read_count("-3", "the published count")
    -3
    """
    short = text.strip().replace(",", "").replace("\u2212", "-")
    if not short.removeprefix("-").isdecimal() or not least <= int(short) <= most:
        raise InputError(f"{name} is {text!r}; it must be a whole number from {least:,} to {most:,}")
    return int(short)


# -- the Report page -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that the bytes of a report depend on."""

    release: Release
    before: Release | None
    neighbours: Neighbours
    delta: Fraction
    prior: str
    title: str
    certify: bool
    savings: bool


def wanted(state: State, before: State | None) -> Wanted:
    """Return the report that two states ask for, with the prior of the Risk page.

    >>> wanted(State.of("dhc-2020").with_settings("risk", {"prior": "0.1"}), None).prior
    '1/10'
    """
    try:
        prior = read_chance(state.setting("risk", "prior", "1/2"))
    except DiscreetError:  # the Risk page says what is wrong
        prior = "1/2"
    return Wanted(
        release=state.release,
        before=None if before is None else before.release,
        neighbours=state.relation,
        delta=state.delta,
        prior=prior,
        title=state.setting("report", "title")[:LONGEST_TITLE],
        certify=state.setting("report", "proofs") != "no",
        savings=state.setting("report", "savings") != "no",
    )


def read_title(text: str) -> str:
    """Return a title without what surrounds it.

    >>> read_title("x" * 121)
    Traceback (most recent call last):
    discreet.errors.InputError: a title has at most 120 characters; this one has 121
    """
    short = text.strip()
    if len(short) > LONGEST_TITLE:
        raise InputError(f"a title has at most {LONGEST_TITLE} characters; this one has {len(short)}")
    return short


# -- the Accuracy page -----------------------------------------------------------------------------------


def read_size(text: str) -> int:
    """Return the size of a group.

    >>> read_size("1,500")
    1500
    """
    size = positive(text.replace(",", ""), name="the size of a group")
    if size.denominator != 1 or size > 10**10:
        raise InputError(f"the size of a group is {text.strip()}; it must be a whole number of at most 1e10")
    return int(size)


def read_tree(text: str) -> tuple[float, ...] | None:
    """Return how many areas an area of each level has on average; None for those of the United States.

    >>> read_tree("51, 61.6"), read_tree("")
    ((51.0, 61.6), None)
    """
    if not text.strip():
        return None
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(1 <= one <= 1e6 for one in found):
        raise InputError(f"the tree is {text.strip()!r}; it must be numbers from 1 on, such as 51, 61.6")
    return found
