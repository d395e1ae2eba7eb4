"""Rows about releases themselves: the list of presets, the noise of each query, two releases side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.budget import Release, Row, load_preset, preset_names
from discreet.budget.levels import level_name
from discreet.budget.release import rows as all_rows

if TYPE_CHECKING:
    from discreet.accounting.calibration import Calibration, NoiseChange
    from discreet.estimation import Accuracy


def rho_total(release: Release) -> Fraction | None:
    """Return the rho of a release under the neighbours it was calibrated for; none with Laplace noise.

    >>> from discreet.budget import load
    >>> rho_total(load("dhc-2020"))
    Fraction(24811, 5000)
    """
    if any(level.has_laplace for level in release.levels):
        return None
    return sum((level.spent(release.neighbours) for level in release.levels), Fraction(0))


def all_presets() -> list[Release]:
    """Return every preset, by name.

    >>> [release.name for release in all_presets()][:1]
    ['ddhca-2020']
    """
    return [load_preset(name) for name in preset_names()]


def preset_object(release: Release) -> dict[str, object]:
    """Return the few facts of a release that a list shows, for JSON."""
    rho = rho_total(release)
    return {
        "name": release.name,
        "title": release.title,
        "unit": release.unit,
        "neighbours": release.neighbours,
        "rho": None if rho is None else str(rho),
        "paths": len(release.paths),
    }


def release_object(release: Release) -> dict[str, object]:
    """Return all of a release for JSON: exact numbers as texts, with the floats beside them.

    >>> from discreet.budget import load
    >>> level = release_object(load("dhc-2022-08-25"))["levels"][1]
    >>> level["name"], level["queries"][0]["variance_exact"]
    ('State', '50000/10001')
    """
    noise = levels_of(release)
    return {
        **preset_object(release),
        "main_path": release.main,
        "levels": [
            {
                "name": level.name,
                "rho": None if level.has_laplace else str(level.spent(release.neighbours)),
                "queries": [_query_object(row) for row in noise[level.name]],
            }
            for level in release.levels
        ],
        "path_levels": {str(path): ["+".join(run) for run in release.runs(path)] for path in release.paths},
        "answer": release.claim.as_dict(),
        "sources": list(release.sources),
        "notes": list(release.notes),
    }


def _query_object(row: Row) -> dict[str, object]:
    noise: dict[str, object] = {"name": row.query, "noise": "discrete Gaussian"}
    if row.variance is not None:
        noise |= {"variance": float(row.variance), "variance_exact": str(row.variance)}
    elif row.scale is not None:
        noise |= {"noise": "discrete Laplace", "scale": float(row.scale), "scale_exact": str(row.scale)}
    return noise | {
        "rho": None if row.rho is None else str(row.rho),
        "share": None if row.share is None else str(row.share),
        "sensitivity": row.event.sensitivity,
        "groups": row.event.times,
    }


def levels_of(release: Release) -> dict[str, list[Row]]:
    """Return the noise of each level's queries where nothing is merged, whether or not such a path occurs.

    >>> from discreet.budget import load
    >>> list(levels_of(load("pl94-2020-units")))[:2]
    ['US', 'State']
    """
    found: dict[str, list[Row]] = {level.name: [] for level in release.levels}
    for row in all_rows(release, tuple((level.name,) for level in release.levels)):
        found[row.level].append(row)
    return found


@dataclass(frozen=True, slots=True)
class NoiseLine:
    """Queries of a level that have equal noise; 95 % of the time it is within `margin`.

    `estimate` has the standard deviation and the 95 % margin of the best estimate: None where no estimates
    were asked for, and with None in it where no measurement determines the query.
    """

    level: str
    queries: tuple[str, ...]
    row: Row
    variance: float
    deviation: float
    margin: int
    estimate: tuple[float | None, float | None] | None = None


def noise_lines(release: Release, estimates: Accuracy | None = None) -> tuple[NoiseLine, ...]:
    """Return the noise of each level, queries of equal noise (and equal estimates) together.

    >>> from discreet.budget import load
    >>> line = noise_lines(load("dhc-2022-08-25"))[1]
    >>> line.level, len(line.queries), round(line.deviation, 3), line.margin
    ('State', 10, 2.236, 4)
    """
    best = {
        (level.name, query.name): (query.sd, query.margin95)
        for level in (estimates.levels if estimates is not None else ())
        for query in level.queries
    }
    lines = []
    for level, rows in levels_of(release).items():
        alike: dict[object, list[Row]] = {}
        for row in rows:
            alike.setdefault((row.event, row.share, best.get((level, row.query))), []).append(row)
        for same in alike.values():
            row = same[0]
            noise = row.event.single()
            variance, found = noise.true_variance(), best.get((level, row.query))
            names = tuple(one.query for one in same)
            lines.append(NoiseLine(level, names, row, variance, variance**0.5, noise.margin(), found))
    return tuple(lines)


def path_text(release: Release, path: int) -> str:
    """Write the levels of a path, merged ones joined by a plus.

    >>> from discreet.budget import load
    >>> path_text(load("dhc-2020"), 4)
    'US, State + County, Primitive geography + Tract subset group + Tract subset + Block group, Block'
    """
    return ", ".join(level_name("+".join(run)) for run in release.runs(path))


def matching_noise(first: Release, second: Release) -> list[tuple[str, NoiseChange]]:
    """Return levels and Gaussian noise of all queries that stand under the same names in both releases.

    >>> from discreet.budget import load
    >>> level, query = matching_noise(load("dhc-2020-persons"), load("dhc-2020-persons-pr"))[0]
    >>> level, query.name, str(query.before), str(query.after)
    ('State', 'age_18_64_116 * relgq_4_groups', '10000/999', '10000/1009')
    """
    from discreet.accounting.calibration import NoiseChange

    other = {(level, row.query): row for level, rows in levels_of(second).items() for row in rows}
    return [
        (level, NoiseChange(row.query, row.variance, match.variance, (row.event, match.event)))
        for level, rows in levels_of(first).items()
        for row in rows
        if row.variance is not None
        and (match := other.get((level, row.query))) is not None
        and match.variance is not None
    ]


@dataclass(frozen=True, slots=True)
class VarianceLine:
    """Queries of a level whose noise changes alike: variances and 95 % margins before and after."""

    level: str
    queries: tuple[str, ...]
    before: Fraction
    after: Fraction
    margins: tuple[int, int]

    @property
    def change(self) -> float:
        """By what part the variance changes; negative if it becomes smaller."""
        return float(self.after / self.before - 1)


def variance_lines(changes: Iterable[tuple[str, NoiseChange]]) -> tuple[VarianceLine, ...]:
    """Return changes, each with its level, with queries that change alike together."""
    alike: dict[tuple[str, Fraction, Fraction, tuple[int, int]], list[str]] = {}
    for level, one in changes:
        alike.setdefault((level, one.before, one.after, one.margins), []).append(one.name)
    return tuple(
        VarianceLine(level, tuple(names), before, after, margins)
        for (level, before, after, margins), names in alike.items()
    )


def calibrated_lines(found: Calibration) -> tuple[VarianceLine, ...]:
    """Return the noise of a calibration before and after."""
    return variance_lines((level.name, query) for level in found.levels for query in level.queries)
