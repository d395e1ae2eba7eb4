"""The least noise that keeps a promise: one question, answered by the search that fits it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from discreet.accounting.account import account
from discreet.accounting.calibration import (
    Calibration,
    calibrate_levels,
    calibrate_margins,
    calibrate_overall,
    calibrate_pure,
)
from discreet.accounting.questions import Calibrating
from discreet.budget.events import release_of
from discreet.errors import InputError
from discreet.noise.capabilities import require
from discreet.numbers import by_name, fraction, read_delta
from discreet.promises.best_law import calibrate_law
from discreet.questions import asked_with


@asked_with(Calibrating)
def calibrate(asked: Calibrating) -> Calibration:
    """Find the least noise with which the release keeps (epsilon, delta), or what zCDP promises at delta.

    `overall`: one factor on all variances (or, with `weights`, gains shared in proportion to them). `level`:
    each level alone against its own promise. `moe`, instead of a promise: the cheapest noise with these 95 %
    margins of error, by level. `certify` adds an interval that provably contains the exact epsilon of the
    new release at delta. Without `proof` the same noise is found, over all cases, but neither the certified
    delta nor the price in the far tail: a first answer, for a page. With an `accuracy` the search is faster,
    and the noise may exceed the least by as much as that changes epsilon. The release may be named by a
    preset or a file, or be a list of events. At delta 0 the promise is pure, and all noise must be Laplace.
    With a `law` the noise becomes that law: "gaussian", "laplace", "power:17/10", "best" for all levels or
    "each" level; the best one has the least `objective`: "variance", "margin" or "P(>x)".

    >>> calibration = calibrate("dhc-2022-08-25", zcdp=True, delta="1e-10")
    >>> round(100 * calibration.reduction, 2)
    12.28
    >>> from discreet.noise import DiscreteGaussian
    >>> calibrate([DiscreteGaussian(variance=5, times=10)], epsilon=9, delta="1e-10").events
    (DiscreteGaussian(variance=Fraction(28177, 5000), sensitivity=1, times=10),)
    """
    release = release_of(asked.release)
    named = {option: by_name(getattr(asked, option), name=option) or None for option in ("weights", "moe")}
    asked = replace(asked, **named)  # type: ignore[arg-type]
    relation = release.neighbours if asked.neighbours is None else asked.neighbours
    require("scaling", (event for level in release.levels for event in level.events(release.neighbours)))
    small = read_delta(asked.delta, floats=True, zero=True)
    target = _promised(asked)
    if asked.law is not None:
        calibrated = calibrate_law(asked, release, relation, target, small)
    elif asked.objective != "variance":
        raise InputError("an objective says which law is best: it goes with a law, such as law='best'")
    elif not small:
        calibrated = calibrate_pure(asked, release, relation, target)
    elif asked.moe:
        calibrated = calibrate_margins(asked, release, relation, small)
    elif asked.by == "level":
        calibrated = calibrate_levels(release, relation, target, small)
    else:
        calibrated = calibrate_overall(asked, release, relation, target, small)
    if not asked.certify:
        return calibrated
    cost = account(calibrated.release, neighbours=relation).with_workers(asked.jobs, asked.progress)
    return replace(calibrated, certified=cost.epsilon(delta=small, certified=True))


def _promised(asked: Calibrating) -> Fraction | None:
    """Return the epsilon that is promised; None if it is what zCDP promises, or if margins are wanted."""
    if asked.by not in ("overall", "level"):
        raise InputError(f"by is {asked.by!r}; it must be 'overall' or 'level'")
    if asked.moe:
        if asked.epsilon is not None or asked.zcdp:
            raise InputError("give a promise (epsilon or zcdp) or margins of error (moe), not both")
        if asked.weights or asked.by == "level" or asked.accuracy is not None:
            raise InputError(
                "margins of error (moe) set each level's noise: they cannot be combined with weights, by or "
                "accuracy"
            )
        return None
    if (asked.epsilon is None) != asked.zcdp:
        given = "none is given" if asked.epsilon is None else "both are given"
        raise InputError(f"give exactly one promise, an epsilon or what zCDP promises (zcdp); {given}")
    target = None if asked.epsilon is None else fraction(asked.epsilon, name="epsilon", floats=True)
    if target is not None and target <= 0:
        raise InputError(f"epsilon is {float(target):g}; it must be above zero")
    if asked.by == "level" and asked.weights:
        raise InputError(
            "weights share one gain between the levels: they cannot be combined with calibration by level"
        )
    return target
