"""One factor on all variances, or gains shared by weights, against a promise about the whole release."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

from discreet.accounting.arguments import Number, read, read_probabilities
from discreet.accounting.calibration.by_level import calibrate_levels
from discreet.accounting.calibration.proof import price, prove
from discreet.accounting.calibration.result import Calibration, changes, named
from discreet.accounting.calibration.search import (
    below,
    bounds,
    epsilon_or_zero,
    last_place,
    short_scales,
    solve_factor,
)
from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError, PrecisionError
from discreet.numbers import Exact, positive

Scaling = Callable[[Fraction, bool], Release]
"""Releases that get less noisy as a parameter falls; the flag says whether variances are to be short."""

SOME = 10**4
"""The largest factor if some levels keep their noise: more would change next to nothing."""


def calibrate(
    release: Release,
    *,
    delta: Number,
    epsilon: Number | None = None,
    zcdp: bool = False,
    by: Literal["overall", "level"] = "overall",
    neighbours: Neighbours | None = None,
    weights: Mapping[str, Exact] | None = None,
    proof: bool = True,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Calibration:
    """Find the least noise with which the release keeps (epsilon, delta), or what zCDP promises at delta.

    `overall`: one factor on all variances (or, with `weights`, gains shared in proportion to them). `level`:
    each level by itself against its own promise. Without `proof` the same noise is found, over all cases, but
    neither the certified delta nor the price in the far tail: a first answer, for a page.

    >>> from discreet.budget import load
    >>> found = calibrate(load("dhc-2022-08-25"), zcdp=True, delta="1e-10")
    >>> round(100 * found.reduction, 2)
    12.28
    """
    relation = neighbours or release.neighbours
    (small,) = read_probabilities(delta, name="delta").values
    if (epsilon is None) != zcdp:
        found = "none is given" if epsilon is None else "both are given"
        raise InputError(
            f"the promise is an epsilon or what zCDP promises (zcdp), exactly one of them; {found}"
        )
    if by not in ("overall", "level"):
        raise InputError(f"by is {by!r}; it must be 'overall' or 'level'")
    target = None if epsilon is None else read(epsilon, name="epsilon").values[0]
    if target is not None and target <= 0:
        raise InputError(f"epsilon is {float(target):g}; it must be above zero")
    if by == "level":
        if weights:
            raise InputError(
                "weights share one gain between the levels: they cannot be combined with calibration by level"
            )
        return calibrate_levels(release, relation, target, small)
    before = account(release, neighbours=relation, jobs=jobs)
    if target is None:
        target = below(ZCDP(before.events(before.main)).epsilon(delta=float(small)))
    family = _weighted(release, weights) if weights else _uniform(release)
    ends = _ends(release, relation, family, weights, target, small)
    # short factors come in steps of a thousandth or less: no search is finer than that
    fine = 2e-5 if weights else 1e-9
    factor, after = _overall(release, relation, family, ends, target, small, jobs, progress, fine)
    note = "Gains shared by the stated weights." if weights else "One factor on all variances."
    changed = changes(release, after)
    falls = any(level.factor < 1 for level in changed)  # more noise keeps the old promise at every delta
    return Calibration(
        named(release, after, f"Calibrated to epsilon {float(target):.6f} at delta {float(small):.3g}."),
        relation,
        None if weights else factor,
        target,
        small,
        prove(after, relation, target, small, jobs, progress) if proof else None,
        changed,
        price(release, after, relation) if falls and proof else None,
        (note,),
    )


def _ends(
    release: Release,
    relation: Neighbours,
    family: Scaling,
    weights: Mapping[str, Exact] | None,
    target: Fraction,
    delta: Fraction,
) -> tuple[float, float]:
    """Return between which factors to look, or raise if levels without a weight make the target hopeless."""
    ends = bounds(event for level in release.levels for event in level.events(release.neighbours))
    if not weights or len(weights) == len(release.levels):
        return ends
    most = account(family(Fraction(SOME), False), neighbours=relation)
    if epsilon_or_zero(most.case(most.main), delta) > target:
        raise InputError(
            f"epsilon {float(target):.6g} at this delta is not kept even with {SOME:,} times the variances "
            f"of {', '.join(weights)}: levels without a weight keep their noise, so more of them need one"
        )
    return ends[0], float(SOME)


def _overall(
    release: Release,
    relation: Neighbours,
    family: Scaling,
    ends: tuple[float, float],
    target: Fraction,
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
    tolerance: float,
) -> tuple[Fraction, Release]:
    """Return the least parameter for which the worst case keeps the target, and its release.

    Solved on one case, then checked on all; whichever is worst there is solved next.
    """
    label = account(release, neighbours=relation).main
    factor = Fraction(0)
    for _ in range(6):

        def epsilon(size: Fraction, label: tuple[int, ...] = label) -> float:
            made = account(family(size, False), neighbours=relation)
            return epsilon_or_zero(made.case(label), delta)

        found = solve_factor(epsilon, float(target), least=ends[0], most=ends[1], tolerance=tolerance)
        factor = max(factor, found)
        after = family(factor, True)
        worst = account(after, neighbours=relation).with_workers(jobs, progress).at_delta(delta)[0]
        if Fraction(worst.epsilon) <= target:
            return factor, after
        if worst.worst == label:  # rounding: one unit in the last place does it
            factor += max(last_place(factor), Fraction(tolerance) * factor)
        label = worst.worst
    raise PrecisionError(f"no factor was found that keeps epsilon {float(target):.6g}")


def _uniform(release: Release) -> Scaling:
    def family(size: Fraction, short: bool) -> Release:
        return short_scales(release.scaled(size)) if short else release.scaled(size)

    return family


def _short_factor(factor: float) -> Fraction:
    """A factor just above, one over a decimal of four digits: steps of the loss stay on a short lattice.

    >>> _short_factor(0.87720251)
    Fraction(1000, 1139)
    """
    unit = Fraction(10) ** (math.floor(-math.log10(factor)) - 3)
    return 1 / (math.floor(1 / Fraction(factor) / unit) * unit)


def _weighted(release: Release, weights: Mapping[str, Exact]) -> Scaling:
    """Return releases in which level l has the factor x^(w_l / max w): never negative, being a power."""
    shares = {
        name: positive(weight, name=f"the weight of level {name!r}") for name, weight in weights.items()
    }
    top = max(shares.values())

    def family(size: Fraction, short: bool) -> Release:
        result = release
        for name, share in shares.items():
            result = result.scaled(_short_factor(float(size) ** float(share / top)), level=name)
        return short_scales(result) if short else result

    return family
