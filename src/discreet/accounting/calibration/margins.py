"""Wanted margins of error instead of a promise: the release of least cost that reaches them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.accounting.arguments import Number, read_probabilities
from discreet.accounting.calibration.proof import prove
from discreet.accounting.calibration.result import Calibration, changes, named
from discreet.accounting.calibration.search import LEAST, MOST, rounded_down
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress
from discreet.budget.levels import Level
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.numbers import Exact, positive

NORMAL95 = Fraction(196, 100)
"""Standard deviations in a 95 % margin of error."""


def margins(release: Release, wanted: Mapping[str, Exact]) -> Release:
    """Return the release of least cost whose queries at these levels have the wanted 95 % margins of error.

    A margin M allows the variance (M / 1.96)^2, a zCDP cost of 1.92 / M^2 for each group of a person under
    add/remove neighbours.

    >>> from discreet.budget import load
    >>> new = margins(load("dhc-2022-08-25"), {"State": 5})
    >>> float(new.variance_table()[10].variance)
    6.507705
    """
    result = release
    for name, margin in wanted.items():
        size = positive(margin, name=f"the margin of error of level {name!r}")
        result = result.with_variances({name: rounded_down((size / NORMAL95) ** 2)})
        for level in release.levels:
            if level.name == name:
                _check_noise(level, size)
    return result


def _check_noise(level: Level, margin: Fraction) -> None:
    """Refuse a margin for Laplace noise, and one that leaves next to no noise, or nothing but noise."""
    if level.has_laplace:
        raise InputError(f"level {level.name!r} has Laplace noise; margins of error are for Gaussian noise")
    for query in level.queries:
        least, most = (1.96 * math.sqrt(end) * query.sensitivity for end in (LEAST, MOST))
        if not least <= margin <= most:
            raise InputError(
                f"the margin of error of level {level.name!r} is {float(margin):.6g}; for query "
                f"{query.name!r} it must be between {least:.3g} (next to no noise) and {most:.3g}"
            )


def reached(
    release: Release,
    wanted: Mapping[str, Exact],
    *,
    delta: Number,
    neighbours: Neighbours | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """Return the release of least cost with the wanted margins of error, and what it costs at delta."""
    relation = neighbours or release.neighbours
    (small,) = read_probabilities(delta, name="delta").values
    after = margins(release, wanted)
    made = account(after, neighbours=relation).with_workers(jobs, progress)
    # Rounded up, so that what is said of it holds; zero if delta alone is enough.
    free = made.delta(epsilon=0) <= float(small)
    epsilon = Fraction(0) if free else Fraction(math.ceil(made.at_delta(small)[0].epsilon * 10**6), 10**6)
    proof = prove(after, relation, epsilon, small, jobs, progress)
    notes = ("The least cost that reaches the wanted margins of error.",)
    after = named(release, after, "Noise set by wanted margins of error.")
    return Calibration(after, relation, None, epsilon, small, proof, changes(release, after), None, notes)
