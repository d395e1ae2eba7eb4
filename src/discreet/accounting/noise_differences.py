"""How the noise of two releases differs: level by level, query by query, and what only one of them has."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting.calibration import VarianceLine, matching_noise, variance_lines
from discreet.budget import Release
from discreet.budget.noise_table import levels_of


class LevelRatio(NamedTuple):
    """What happens to the noise of a level: the smallest and largest ratio of variances after and before."""

    level: str
    low: Fraction
    high: Fraction

    @property
    def is_one(self) -> bool:
        """Whether nothing changes."""
        return self.low == self.high == 1


@dataclass(frozen=True, slots=True)
class NoiseDifferences:
    """Variances of queries that both releases have, and the levels and queries that only one has."""

    lines: tuple[VarianceLine, ...]
    levels: tuple[LevelRatio, ...]
    gone: tuple[tuple[str, str], ...]
    new: tuple[tuple[str, str], ...]


def noise_differences(before: Release, after: Release) -> NoiseDifferences:
    """Return how the noise of a release differs from that of another before it.

    >>> from discreet.budget import load
    >>> release = load("dhc-2022-08-25")
    >>> found = noise_differences(release, release.scaled(2, level="State"))
    >>> [(one.level, str(one.high)) for one in found.levels if not one.is_one]
    [('State', '2')]
    """
    both = matching_noise(before, after)
    ratios: dict[str, list[Fraction]] = {}
    for level, query in both:
        ratios.setdefault(level, []).append(query.after / query.before)
    same = {(level, query.name) for level, query in both}
    old, new = (
        {(level, row.query) for level, rows in levels_of(release).items() for row in rows}
        for release in (before, after)
    )
    return NoiseDifferences(
        variance_lines(both),
        tuple(LevelRatio(level, min(found), max(found)) for level, found in ratios.items()),
        tuple(sorted(old - same)),
        tuple(sorted(new - same)),
    )
