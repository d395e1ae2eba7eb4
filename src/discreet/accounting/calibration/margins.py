"""Wanted margins of error instead of a promise: the release of least cost that reaches them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.accounting.arguments import Number, read_probabilities
from discreet.accounting.calibration.proof import prove
from discreet.accounting.calibration.result import LEVEL, Calibration, changes, named
from discreet.accounting.calibration.search import LEAST, MOST, lattice_unit, short_above
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress
from discreet.budget.levels import Level
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.noise import GaussianNoise
from discreet.numbers import Exact, positive


def margins(release: Release, wanted: Mapping[str, Exact]) -> Release:
    """Return the release of least cost whose queries at these levels have the wanted 95 % margins of error.

    The noise is a whole number, so a margin M is met if 95 % of the time it is within the whole part of M.
    The variance is the largest with which it is, shortened downwards by a ten-thousandth at most, so that
    the losses keep the lattice of the other levels.

    >>> from discreet.budget import load
    >>> new = margins(load("dhc-2022-08-25"), {"State": 5})
    >>> row = new.variance_table()[10]
    >>> round(float(row.variance), 3), GaussianNoise(row.variance).margin()
    (7.958, 5)
    """
    result = release
    kept = [level for level in release.levels if level.name not in wanted]
    unit = lattice_unit(event for level in kept for event in level.events(release.neighbours))
    for name, margin in wanted.items():
        size = positive(margin, name=f"the margin of error of level {name!r}")
        if size > 10**10:
            raise InputError(
                f"the margin of error of level {name!r} is {float(size):.6g}; at most 1e10 is allowed"
            )
        variance = widest(math.floor(size), unit)
        result = result.with_variances({name: variance})
        for level in release.levels:
            if level.name == name:
                _check_noise(level, size, variance)
    return result


def widest(margin: int, unit: Fraction) -> Fraction:
    """Return the largest variance whose noise is within `margin` 95 % of the time, one over short steps.

    >>> float(widest(0, Fraction(1))), float(widest(10, Fraction(1)))   # doctest: +ELLIPSIS
    (0.137..., 28.7...)
    """
    outside = float(1 - LEVEL) / 2

    def is_met(variance: float) -> bool:
        return float(GaussianNoise(Fraction(variance)).sf(margin)) <= outside

    low, high = 1e-2, 2.0 * (margin + 1) ** 2
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_met(middle) else (low, middle)
    step, place = short_above(1 / Fraction(low), unit)
    while GaussianNoise(1 / step).margin(LEVEL) > margin:  # certified, where floats were a digit off
        step += place
    return 1 / step


def _check_noise(level: Level, margin: Fraction, variance: Fraction) -> None:
    """Refuse a margin for Laplace noise, and one that leaves next to no noise, or nothing but noise."""
    if level.has_laplace:
        raise InputError(f"level {level.name!r} has Laplace noise; margins of error are for Gaussian noise")
    for query in level.queries:
        least, most = LEAST * query.sensitivity**2, MOST * query.sensitivity**2
        if not least <= variance <= most:
            raise InputError(
                f"the margin of error of level {level.name!r} is {float(margin):.6g}; for query "
                f"{query.name!r} it must leave a variance between {float(least):.3g} (next to no noise) and "
                f"{float(most):.3g}, not {float(variance):.3g}"
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
