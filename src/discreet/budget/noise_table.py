"""The noise of a release: of each query by level or run of levels, and queries of equal noise together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.budget.release import Release, Row
from discreet.noise import Noise
from discreet.numbers import times


def rho_total(release: Release) -> Fraction | None:
    """Return the rho of a release under the neighbours it was calibrated for; none with Laplace noise.

    >>> from discreet.budget import load
    >>> rho_total(load("dhc-2020"))
    Fraction(24811, 5000)
    """
    if any(level.lacks_rho for level in release.levels):
        return None
    return sum((level.spent(release.neighbours) for level in release.levels), Fraction(0))


def levels_of(release: Release) -> dict[str, list[Row]]:
    """Return the noise of each level's queries where nothing is merged, whether or not such a path occurs.

    >>> from discreet.budget import load
    >>> list(levels_of(load("pl94-2020-units")))[:2]
    ['US', 'State']
    """
    return {level.name: list(release.run_table((level.name,))) for level in release.levels}


@dataclass(frozen=True, slots=True)
class NoiseLine:
    """Queries of a level that have equal noise; 95 % of the time it is within `margin`.

    The variance is that of the noise, in units; of sums the standard deviation and the margin are in what is
    summed. All are None where nothing is added: an answer by two tables.
    """

    level: str
    queries: tuple[str, ...]
    row: Row
    variance: float | None
    deviation: float | None
    margin: float | None


def noise_lines(release: Release) -> tuple[NoiseLine, ...]:
    """Return the noise of each level, queries of equal noise together.

    >>> from discreet.budget import load
    >>> line = noise_lines(load("dhc-2022-08-25"))[1]
    >>> line.level, len(line.queries), round(line.deviation, 3), line.margin
    ('State', 10, 2.236, 4)
    """
    lines = []
    for level, rows in levels_of(release).items():
        alike: dict[object, list[Row]] = {}
        for row in rows:
            alike.setdefault((row.event, row.share, row.step), []).append(row)
        for same in alike.values():
            names = tuple(row.query for row in same)
            if not same[0].event.is_added:
                lines.append(NoiseLine(level, names, same[0], None, None, None))
                continue
            # (continuous noise has a size, and is not drawn)
            noise = same[0].single() if same[0].event.is_drawn else same[0].event.for_one()
            variance, margin = noise.true_variance(), times(noise.margin(), same[0].step)
            deviation = times(variance**0.5, same[0].step)
            lines.append(NoiseLine(level, names, same[0], variance, deviation, margin))
    return tuple(lines)


Noises = Mapping[tuple[str, str], Noise]
"""Noise by level (or run of merged levels) and query."""


def noises(release: Release, levels: Sequence[str] | None = None) -> dict[tuple[str, str], Noise]:
    """Return the noise of each query, for each level and for each run of merged levels on some path.

    `levels` restricts the result to some levels.

    A merged run such as "State+County" asks the queries of its top level with the budget of all its levels.

    >>> from discreet.budget import Level, Query, Spine
    >>> levels = [Level(name=name, queries=[Query(name="total", variance=6)]) for name in ("State", "County")]
    >>> spine = Spine(may_merge_up=["County"])
    >>> merged = Release(name="small", neighbours="bounded", levels=levels, spine=spine)
    >>> for (level, query), noise in noises(merged).items():
    ...     print(level, query, noise)
    State total discrete Gaussian noise of variance 6
    County total discrete Gaussian noise of variance 6
    State+County total discrete Gaussian noise of variance 3
    """
    runs = dict.fromkeys(run for path in release.paths for run in release.runs(path))
    wanted = [run for run in runs if levels is None or "+".join(run) in levels]
    rows = (row for run in wanted for row in release.run_table(run))
    return {(row.level, row.query): row.single() for row in rows}


def queries_of(release: Release) -> tuple[str, ...]:
    """Return all queries of a release, in order of first appearance."""
    return tuple(dict.fromkeys(query.name for level in release.levels for query in level.queries))
