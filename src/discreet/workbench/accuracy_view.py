"""What the Accuracy page shows: margins of error, the least budget for wanted ones, what calibration buys."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.budget import Release
from discreet.budget.neighbours import Neighbours
from discreet.errors import InputError
from discreet.numbers import positive
from discreet.report.releases import levels_of
from discreet.workbench.results import Line

SIZES = (100, 1_000, 10_000)
"""Group sizes of the table."""

OWN_SIZE = "50"
"""The group size that is looked at until another is asked for."""

_NORMAL95 = 1.96


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The noise of the queries of one level that are alike."""

    level: str
    queries: tuple[str, ...]
    deviation: float
    variance: Fraction | None

    @property
    def margin(self) -> float:
        """The 95 % margin of error."""
        return _NORMAL95 * self.deviation

    def relative(self, size: int) -> float:
        """The margin over the size of a group."""
        return self.margin / size


def rows(release: Release) -> list[Accuracy]:
    """Return the accuracy of each level, queries of equal noise together.

    >>> first = rows(Release.from_toml(_EXAMPLE))[0]
    >>> first.level, first.queries, round(first.margin, 3), round(first.relative(100), 4)
    ('State', ('a', 'b'), 3.92, 0.0392)
    """
    found = []
    for level, noise in levels_of(release):
        groups: dict[Any, list[str]] = {}
        for row in noise:
            groups.setdefault((row.variance, row.scale), []).append(row.query)
        for (variance, scale), names in groups.items():
            deviation = math.sqrt(variance) if variance is not None else _laplace_deviation(scale)
            found.append(Accuracy(level, tuple(names), deviation, variance))
    return found


def read_size(text: str) -> int:
    """Return the size of a group.

    >>> read_size("1,500")
    1500
    """
    size = positive(text.replace(",", ""), name="the size of a group")
    if size.denominator != 1 or size > 10**10:
        raise InputError(f"the size of a group is {text.strip()}; it must be a whole number of at most 1e10")
    return int(size)


def names_of(row: Accuracy) -> str:
    """Say which queries a row is about.

    >>> names_of(Accuracy("State", ("a", "b"), 1.0, None)), names_of(Accuracy("State", ("a",), 1.0, None))
    ('2 queries alike', 'a')
    """
    return row.queries[0] if len(row.queries) == 1 else f"{len(row.queries)} queries alike"


def main_margins(release: Release) -> dict[str, float]:
    """Return each level's margin, of its most common kind of query.

    >>> main_margins(Release.from_toml(_EXAMPLE))
    {'State': 3.92}
    """
    best: dict[str, Accuracy] = {}
    for row in rows(release):
        if row.level not in best or len(row.queries) > len(best[row.level].queries):
            best[row.level] = row
    return {level: row.margin for level, row in best.items()}


def lines(release: Release) -> dict[str, Line]:
    """Return for each level the relative error against the size of a group, by its most common query."""
    sizes = [10.0**power for power in range(1, 7)]
    return {
        level: tuple((size, margin / size) for size in sizes)
        for level, margin in main_margins(release).items()
    }


def least_budget(
    release: Release, neighbours: Neighbours, wanted: Mapping[str, str], delta: Fraction
) -> tuple[Release, float, float]:
    """Return the release of least cost with these margins, its exact epsilon on the main path, and zCDP's."""
    from discreet.accounting.calibration import margins
    from discreet.workbench.budget_view import main_events, quick

    after = margins(release, wanted)
    found = quick(main_events(after, neighbours), delta)
    return after, found.epsilon, found.zcdp


def calibrated(
    release: Release,
    neighbours: Neighbours,
    delta: Fraction,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Any:
    """Return the calibration of all pairs to what zCDP promises, with its proof."""
    from discreet.accounting.calibration import calibrate

    return calibrate(release, delta=delta, zcdp=True, neighbours=neighbours, jobs=jobs, progress=progress)


def _laplace_deviation(scale: Fraction) -> float:
    """The standard deviation of discrete Laplace noise: its variance is 2 p / (1 - p)^2, p = e^(-1/scale)."""
    p = math.exp(-1 / float(scale))
    return math.sqrt(2 * p) / (1 - p)


_EXAMPLE = """
name = "small"
neighbours = "bounded"
[[levels]]
name = "State"
[levels.queries]
a = { variance = "4" }
b = { variance = "4" }
"""
