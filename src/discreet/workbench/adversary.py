"""An adversary of the Risk page: who attacks which published counts, what they learn, and how it is said."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from discreet import risk
from discreet.answers.answer import sentence
from discreet.answers.quantity import Quantity, Style
from discreet.answers.risk import chance_words, place_words
from discreet.budget import Release
from discreet.errors import InputError
from discreet.numbers import prior as read_prior
from discreet.risk.counts import one_count, several_counts
from discreet.workbench.state import State
from discreet.workbench.tasks import PRIORS, Line, line_of

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

_SEEN = 160  # points of a curve of beliefs
_PRIORS = [float(one) for one in PRIORS]


class Count(NamedTuple):
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

    @property
    def seen(self) -> list[int]:
        """The published values that are drawn."""
        more = self.people if self.scenario == "unsure" else 0
        low = min(self.known - self.reach, self.published)
        high = max(self.known + 1 + self.reach + more, self.published)
        if self.scenario == "floor":
            low = max(low, 0)
        step = max(1, (high - low) // _SEEN)
        return sorted({*range(low, high + 1, step), max(self.published, low)})

    def __str__(self) -> str:
        """Say who the adversary is.

        >>> print(Adversary("one", "1/2", (Count("Block", "total", Fraction(5)),), 3, 1))
        Someone who knows everyone else in the block, 3 of them with the characteristics, gives the target \
an even chance of being one more, and looks at one count of the block
        """
        area = place_words(self.counts[0].level)
        gives = f"gives the target {chance_words(Fraction(self.prior))} of being one more"
        counted = f"{self.known:,}" if self.known else "none"
        knows = f"knows everyone else in the {area}, {counted} of them with the characteristics"
        looks = f"looks at one count of the {area}"
        if self.scenario == "unsure":
            knows = (
                f"knows {self.known:,} others with the characteristics in the {area}, is unsure about "
                f"{self.people:,} and gives each of these a chance of {self.chance}"
            )
        elif self.scenario == "several":
            many = len(self.counts)
            knows = f"knows each of {many} counts without the target, {self.known:,} with the characteristics"
            looks = f"looks at all {many} of them"
        elif self.scenario == "hierarchy" and len(self.counts) == 2:
            above = place_words(self.counts[1].level)
            looks = f"looks at it, the areas beside it and the {above} around"
        elif self.scenario == "floor":
            looks += ", where negative values are published as 0"
        return f"Someone who {knows}, {gives}, and {looks}"

    @property
    def command(self) -> str:
        """The command line of an attack on counts.

        >>> print(adversary(State.of("dhc-2022-08-25")).command)
        discreet risk single --noisy 1 --known 0 --variance 100000/219 --prior 1/2
        """
        given = ["--prior", self.prior]
        noisy, known = ["--noisy", str(self.published)], ["--known", str(self.known)]
        variances = [part for count in self.counts for part in ("--variance", str(count.variance))]
        if self.scenario == "hierarchy" and len(self.counts) == 2:
            block, above = self.counts
            areas = (
                f"name={block.level},noisy={self.published},variance={block.variance},"
                f"siblings={self.siblings},siblings-noisy={self.beside}",
                f"name={above.level},noisy={self.above},variance={above.variance}",
            )
            options = [part for area in areas for part in ("--area", area)]
            return shlex.join(["discreet", "risk", "hierarchy", *options, *given, *known])
        if self.scenario == "several":
            parts = ["--together", *noisy * len(self.counts), *known, *variances, *given]
        else:
            unsure = ["--unsure", str(self.people), "--chance", self.chance]
            more = {"unsure": unsure, "floor": ["--nonnegative"]}.get(self.scenario, [])
            parts = [*noisy, *known, *variances[:2], *given, *more]
        return shlex.join(["discreet", "risk", "single", *parts])


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
    said, levels = state.settings_of(NAME), list(known_counts)
    level = said["level"] if said.get("level") in known_counts else levels[-1]
    counts = known_counts[level]
    count = next((one for one in counts if one.query == said.get("query")), counts[0])
    scenario = said["scenario"] if said.get("scenario") in SCENARIOS else "one"
    chosen: tuple[Count, ...] = (count,)
    if scenario == "several":
        same = [one for them in known_counts.values() for one in them if one.query == count.query]
        chosen = tuple(sorted(same, key=lambda one: one.level != level))
    elif scenario == "hierarchy" and levels.index(level):
        up = known_counts[levels[levels.index(level) - 1]]
        chosen = (count, next((one for one in up if one.query == count.query), up[0]))
    prior = read_chance(said.get("prior", "1/2"))
    chance = read_chance(said.get("chance") or SETTINGS["chance"].default, SETTINGS["chance"].words)
    numbers: dict[str, int] = {}
    for name in ("known", *SETTINGS):
        one = SETTINGS[name]
        if one.most is not None:
            text = said.get(name) or one.default or str(numbers["known"] + 1)
            numbers[name] = read_count(text, one.words, least=one.least, most=one.most)
    return Adversary(scenario=scenario, counts=chosen, prior=prior, chance=chance, **numbers)


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


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an adversary believes and decides; None where the scenario has no such number.

    `right` has how often the decision is right if the target is there, if not, and over the prior; `accuracy`
    that over the prior against priors.
    """

    asked: Adversary
    posterior: float
    ratio: float
    curve: Line
    mean_present: float | None = None
    mean_absent: float | None = None
    right: tuple[float, float, float] | None = None
    accuracy: Line = ()
    said: tuple[str, ...] = ()


def attacked(asked: Adversary) -> Attacked:
    """Return what an adversary learns.

    >>> found = attacked(Adversary("one", "1/2", (Count("Block", "total", Fraction(5)),), 0, 1))
    >>> round(found.posterior, 4), round(found.ratio, 4), round(found.right[2], 4)
    (0.525, 1.05, 0.5892)
    """
    several = asked.scenario == "several" and len(asked.counts) > 1
    ways = {"several": _several if several else _single, "hierarchy": _hierarchy}
    found = ways.get(asked.scenario, _single)(asked)
    said = [
        sentence(
            "{asked}: after a published count of {published} this adversary gives “present” a probability of "
            "{posterior}, {ratio} times the prior.",
            asked=str(asked),
            published=Quantity(asked.published, Style.COUNT),
            posterior=Quantity(found.posterior, Style.CHANCE),
            ratio=Quantity(found.ratio, digits=4),
        )
    ]
    if found.mean_present is not None and found.mean_absent is not None:
        said.append(
            sentence(
                "On average over the noise, the same adversary ends with a belief of {present} if the target "
                "is there and {absent} if not.",
                present=Quantity(found.mean_present, Style.CHANCE),
                absent=Quantity(found.mean_absent, Style.CHANCE),
            )
        )
    if found.right is not None:
        blind = max(Fraction(asked.prior), 1 - Fraction(asked.prior))
        said.append(
            sentence(
                "Choosing the likelier answer, the same adversary is right {often}; with nothing published, "
                "{unaided}.",
                often=Quantity(found.right[2], Style.TIMES),
                unaided=Quantity(float(blind), Style.TIMES),
            )
        )
    return replace(found, said=tuple(map(str, said)))


def _single(asked: Adversary) -> Attacked:
    unsure, prior = asked.scenario == "unsure", asked.prior
    found = one_count(
        [asked.published],
        prior=[prior],
        variance=asked.counts[0].variance,
        known=asked.known,
        unsure=asked.people if unsure else None,
        chance=[asked.chance] if unsure else (),
        nonnegative=asked.scenario == "floor",
    )
    belief, means, attack = found.beliefs[0], found.averages(prior), found.attack
    return Attacked(
        asked,
        posterior=belief.posterior,
        ratio=belief.ratio,
        curve=line_of(asked.seen, attack.posterior(asked.seen, prior=prior)),
        mean_present=means["expected_posterior_given_present"],
        mean_absent=means["expected_posterior_given_absent"],
        right=(
            means["accuracy_given_present"],
            means["accuracy_given_absent"],
            means["accuracy_given_prior"],
        ),
        accuracy=line_of(PRIORS, attack.accuracy(prior=_PRIORS, given="prior")),
    )


def _several(asked: Adversary) -> Attacked:
    variances, prior, known = [count.variance for count in asked.counts], asked.prior, asked.known
    many = len(variances)
    found = several_counts([asked.published] * many, prior=[prior], variance=variances, known=known)
    last, right = found.steps(prior)[-1], found.accuracies(prior)
    seen = risk.joint_posterior(
        [[value] * many for value in asked.seen], prior=prior, known=known, variance=variances
    )
    return Attacked(
        asked,
        posterior=last.posterior,
        ratio=last.total_ratio,
        curve=line_of(asked.seen, seen),
        right=(right["present"], right["absent"], right["prior"]),
        accuracy=line_of(PRIORS, risk.joint_accuracy(variance=variances, prior=_PRIORS, given="prior")),
    )


def _hierarchy(asked: Adversary) -> Attacked:
    if len(asked.counts) < 2:
        raise InputError(f"{asked.counts[0].level} is the highest level; there is no area above it")
    block, above = asked.counts
    prior, known, siblings = asked.prior, asked.known, asked.siblings
    areas = [
        risk.Area(
            name=block.level,
            noisy=asked.published,
            variance=block.variance,
            siblings=siblings,
            siblings_noisy=asked.beside,
        ),
        risk.Area(name=above.level, noisy=asked.above, variance=above.variance),
    ]
    found = risk.hierarchy_posterior(areas, prior=prior, known=known)
    both = (block.variance, above.variance)
    two = risk.TwoLevels(variance=both, siblings=siblings, prior=prior, known=known)
    curve = line_of(asked.seen, two.probability(asked.seen, [asked.above], [asked.beside]))
    return Attacked(asked, posterior=found.probability, ratio=found.ratio, curve=curve)
