"""One person's release, and the decisions for every other one: the paper's Tables 3, 6 to 8 and Figure 4.

The functions are those that compute the paper's own (`discreet.studies.risk`): `hierarchy_posterior` for the
posteriors, `TwoLevels` for the decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.disclosure.areas import Area, Integers
from discreet.disclosure.attack import posterior as one_posterior
from discreet.disclosure.hierarchy import hierarchy_posterior
from discreet.disclosure.siblings import SiblingNoise, log_noise
from discreet.disclosure.two_levels import TwoLevels, reach

INSIDE = 0.995
"""Of each noise that Figure 4's grid has at least, around the counts of someone unique in both areas."""

MOST_TILES = 40_000
_SHOWN = 5e-5  # of the posterior of the count above, below which it is not listed


@dataclass(frozen=True, slots=True)
class ExamplePerson:
    """One person: the counts of their cell here, in the area above and its other parts, and what they tell.

    `counts` are the true ones, `noisy` those drawn; `record` is the row of the records, from 1. `alone` is
    the posterior from the lowest area's count, `posterior` that with the hierarchy, `above` with all levels;
    `group` is the posterior of the count of the area above.
    """

    prior: str
    record: int
    areas: tuple[str, str]
    levels: tuple[str, str]
    siblings: int
    counts: tuple[int, int, int]
    noisy: tuple[int, int, int]
    alone: float
    posterior: float
    group: tuple[tuple[int, float], ...]
    above: float | None = None
    cells: tuple[tuple[str, int], ...] = ()
    """The people of the lowest area by cell, the target's cell first: Table 3."""


def example_person(
    label: str,
    chance: float,
    *,
    record: int,
    areas: tuple[str, str],
    levels: tuple[str, str],
    siblings: int,
    variances: tuple[Fraction, Fraction],
    counts: tuple[int, int, int],
    noisy: tuple[int, int, int],
    above: float | None = None,
    cells: tuple[tuple[str, int], ...] = (),
) -> ExamplePerson:
    """Return what the numbers drawn tell about one person: Tables 6, 7 and 8.

    >>> person = example_person("1/2", 0.5, record=1, areas=("39-14", "Granville"), siblings=27,
    ...     levels=("District", "County"), variances=(Fraction("5.04"), Fraction("2.03")),
    ...     counts=(1, 1, 0), noisy=(2, 1, -1))
    >>> round(person.alone, 3), round(person.posterior, 4), [(k, round(p, 3)) for k, p in person.group[:3]]
    (0.574, 0.5033, [(0, 0.129), (1, 0.386), (2, 0.298)])
    """
    block, group = variances
    known, (here, over, beside) = counts[0] - 1, noisy
    small = Area(noisy=here, variance=block, siblings=siblings, siblings_noisy=beside if siblings else None)
    told = hierarchy_posterior([small, Area(noisy=over, variance=group)], prior=chance, known=known)
    law = told.areas[1]
    pairs = tuple(
        (int(count), float(share))
        for count, share in zip(law.values, law.probabilities, strict=True)
        if share >= _SHOWN
    )
    alone = float(one_posterior(here, variance=block, prior=chance, known=known))
    return ExamplePerson(
        label, record, areas, levels, siblings, counts, noisy, alone, told.probability, pairs, above, cells
    )


@dataclass(frozen=True, slots=True, eq=False)
class DecisionMap:
    """The least noisy count of the lowest area at which "present" is said, for every release around it.

    Counts are less the count known in the lowest area. `thresholds` has a row for each noisy count of the
    area above and a column for each noisy sum of its other parts. `alone` is that without the hierarchy.
    `to_yes` and `to_no` are how often the hierarchy changes the decision, in the grid, for someone who is
    present and unique in both areas; `inside` is how often a release lies in the grid.
    """

    prior: str
    siblings: int
    group: Integers
    others: Integers
    thresholds: Integers
    alone: int
    to_yes: float
    to_no: float
    inside: float


def decision_map(
    label: str, chance: Fraction, variances: tuple[Fraction, Fraction], siblings: int
) -> DecisionMap | None:
    """Return all decisions of Figure 4 for one's own noise; None if there are too many.

    >>> decisions = decision_map("1/2", Fraction(1, 2), (Fraction("5.04"), Fraction("2.03")), 27)
    >>> decisions.alone, int(decisions.group[0]), int(decisions.group[-1]), round(decisions.inside, 3)
    (1, -3, 5, 0.995)
    """
    two = TwoLevels(variance=variances, siblings=siblings, prior=chance)
    far = [_half_width(two.variances[1]), _half_width(siblings * two.variances[0], two.siblings)]
    if (2 * far[0] + 1) * (2 * far[1] + 1) > MOST_TILES:
        return None
    z, y = 1 + np.arange(-far[0], far[0] + 1), np.arange(-far[1], far[1] + 1)
    _, (all_z, pz), (all_y, py) = two.grid(block=1, group=1)
    inside = float(pz[np.isin(all_z, z)].sum() * py[np.isin(all_y, y)].sum())
    changes = two.changes(z, y, block=1, group=1)
    return DecisionMap(label, siblings, z, y, two.thresholds(z, y), two.threshold_alone, *changes, inside)


def _half_width(variance: float, law: SiblingNoise | None = None) -> int:
    """The least m with a noise within m of zero in `INSIDE` of all cases."""
    places = np.arange(reach(variance, 1e-6) + 1)
    chances = np.exp(log_noise(variance, places) if law is None else law.log_pmf(places))
    within = 2.0 * np.cumsum(chances) - chances[0]
    return int(np.argmax(within >= INSIDE))
