"""How the noise of two releases differs: level by level, query by query, and what only one of them has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting.calibration import Calibration, NoiseChange
from discreet.budget import Release
from discreet.budget.noise_table import levels_of
from discreet.numbers import times


def matching_noise(first: Release, second: Release) -> list[tuple[str, NoiseChange]]:
    """Return levels and noise of all queries that stand under the same names in both releases.

    A sum with another bound, unit or weight is another query.

    >>> from discreet.budget import load
    >>> level, query = matching_noise(load("dhc-2020-persons"), load("dhc-2020-persons-pr"))[0]
    >>> level, query.name, str(query.before), str(query.after)
    ('State', 'age_18_64_116 * relgq_4_groups', '10000/999', '10000/1009')
    """
    other = {(level, row.query): row for level, rows in levels_of(second).items() for row in rows}
    return [
        (level, NoiseChange(row.query, (row.event, match.event), row.step))
        for level, rows in levels_of(first).items()
        for row in rows
        if (match := other.get((level, row.query))) is not None
        and first.variables[row.query] == second.variables[row.query]
    ]


@dataclass(frozen=True, slots=True)
class VarianceLine:
    """Queries of a level whose noise changes alike: variances and 95 % margins before and after.

    Variances are of the noise, in units; margins of sums in what is summed, and so is one `step`.
    """

    level: str
    queries: tuple[str, ...]
    before: Fraction
    after: Fraction
    margins: tuple[float, float]
    step: Fraction = Fraction(1)

    @property
    def deviations(self) -> tuple[float, float]:
        """The standard deviations before and after, in what is summed."""
        before, after = (times(math.sqrt(one), self.step) for one in (self.before, self.after))
        return before, after

    @property
    def change(self) -> float:
        """By what part the variance changes; negative if it becomes smaller."""
        return float(self.after / self.before - 1)


def variance_lines(changes: Iterable[tuple[str, NoiseChange]]) -> tuple[VarianceLine, ...]:
    """Return changes, each with its level, with queries that change alike together."""
    alike: dict[tuple[str, Fraction, Fraction, tuple[float, float], Fraction], list[str]] = {}
    for level, one in changes:
        alike.setdefault((level, one.before, one.after, one.margins, one.step), []).append(one.name)
    return tuple(
        VarianceLine(level, tuple(names), before, after, margins, step)
        for (level, before, after, margins, step), names in alike.items()
    )


def calibrated_lines(found: Calibration) -> tuple[VarianceLine, ...]:
    """Return the noise of a calibration before and after."""
    return variance_lines((level.name, query) for level in found.levels for query in level.queries)


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
