"""An adversary who attacks published counts of one person: who they are, and what they learn.

Each way of looking is computed by the function that answers it elsewhere: one count, several counts of the
same person, or a count and the area above it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, SupportsFloat

from discreet.budget import Release
from discreet.disclosure.areas import Area
from discreet.disclosure.counts import one_count, several_counts
from discreet.disclosure.hierarchy import hierarchy_posterior
from discreet.disclosure.joint import joint_accuracy, joint_posterior
from discreet.disclosure.two_levels import TwoLevels
from discreet.errors import InputError
from discreet.faces import Displayed

Line = tuple[tuple[float, float], ...]
"""Points to draw."""

PRIORS = tuple(Fraction(percent, 100) for percent in (1, 2, 5, *range(10, 91, 5), 95, 98, 99))
"""Priors of a curve."""

_SEEN = 160  # points of a curve of beliefs
_PRIORS = [float(prior) for prior in PRIORS]


def line_of(x: Iterable[SupportsFloat], y: Iterable[SupportsFloat]) -> Line:
    """Return points to draw.

    >>> line_of([1, 2], [Fraction(1, 2), 3])
    ((1.0, 0.5), (2.0, 3.0))
    """
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))


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


@lru_cache(maxsize=64)  # every redraw of the page asks
def attackable(release: Release) -> dict[str, list[Count]]:
    """Return the counts with Gaussian noise that one record changes by one, by level, most precise first.

    >>> from discreet.budget import load
    >>> counts = attackable(load("dhc-2020"))["Block"]
    >>> counts[0].query, counts[0].variance, len(counts)
    ('age_18_64_116 * relgq_4_groups', Fraction(10000, 11), 10)
    """
    by_level: dict[str, list[Count]] = {}
    for row in release.variance_table():
        if row.variance is not None and row.event.sensitivity == 1:
            by_level.setdefault(row.level, []).append(Count(row.level, row.query, row.variance))
    return {level: sorted(counts, key=lambda count: count.variance) for level, counts in by_level.items()}


@dataclass(frozen=True, slots=True)
class Attacked(Displayed):
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


def attacked(asked: Adversary) -> Attacked:
    """Return what an adversary learns.

    >>> told = attacked(Adversary("one", "1/2", (Count("Block", "total", Fraction(5)),), 0, 1))
    >>> round(told.posterior, 4), round(told.ratio, 4), round(told.right[2], 4)
    (0.525, 1.05, 0.5892)
    """
    several = asked.scenario == "several" and len(asked.counts) > 1
    ways = {"several": _several if several else _single, "hierarchy": _hierarchy}
    return ways.get(asked.scenario, _single)(asked)


def _single(asked: Adversary) -> Attacked:
    unsure, prior = asked.scenario == "unsure", asked.prior
    told = one_count(
        [asked.published],
        prior=[prior],
        variance=asked.counts[0].variance,
        known=asked.known,
        unsure=asked.people if unsure else None,
        chance=[asked.chance] if unsure else (),
        nonnegative=asked.scenario == "floor",
    )
    belief, means, attack = told.beliefs[0], told.averages(prior), told.attack
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
    told = several_counts([asked.published] * many, prior=[prior], variance=variances, known=known)
    last, right = told.steps(prior)[-1], told.accuracies(prior)
    seen = joint_posterior(
        [[value] * many for value in asked.seen], prior=prior, known=known, variance=variances
    )
    return Attacked(
        asked,
        posterior=last.posterior,
        ratio=last.total_ratio,
        curve=line_of(asked.seen, seen),
        right=(right["present"], right["absent"], right["prior"]),
        accuracy=line_of(PRIORS, joint_accuracy(variance=variances, prior=_PRIORS, given="prior")),
    )


def _hierarchy(asked: Adversary) -> Attacked:
    if len(asked.counts) < 2:
        raise InputError(f"{asked.counts[0].level} is the highest level; there is no area above it")
    block, above = asked.counts
    prior, known, siblings = asked.prior, asked.known, asked.siblings
    areas = [
        Area(
            name=block.level,
            noisy=asked.published,
            variance=block.variance,
            siblings=siblings,
            siblings_noisy=asked.beside,
        ),
        Area(name=above.level, noisy=asked.above, variance=above.variance),
    ]
    posterior = hierarchy_posterior(areas, prior=prior, known=known)
    both = (block.variance, above.variance)
    two = TwoLevels(variance=both, siblings=siblings, prior=prior, known=known)
    curve = line_of(asked.seen, two.probability(asked.seen, [asked.above], [asked.beside]))
    return Attacked(asked, posterior=posterior.probability, ratio=posterior.ratio, curve=curve)
