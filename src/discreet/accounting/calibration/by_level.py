"""Each level by itself: the least noise with which its own curve keeps its own promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.calibration.proof import crossing
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
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.numbers import Interval

Losses = Callable[[Fraction], PrivacyLoss]
"""What a level costs by itself, by the factor on its variances."""


def calibrate_levels(
    release: Release, relation: Neighbours, target: Fraction | None, delta: Fraction
) -> Calibration:
    """Return the release whose levels each keep the target, or their own zCDP promise, by themselves."""
    result, copies = release, 2 if relation == "bounded" else 1
    worst, prices = Interval(Fraction(0), Fraction(0)), []
    promises: dict[str, Fraction] = {}
    for place, level in enumerate(release.levels):
        events = tuple(level.events(release.neighbours)) * copies

        def loss(size: Fraction, place: int = place, name: str = level.name) -> PrivacyLoss:
            made = short_scales(release.scaled(size, level=name)).levels[place]
            return compose(tuple(made.events(release.neighbours)) * copies)

        old = ZCDP(events)
        promise = promises[level.name] = target or below(old.epsilon(delta=float(delta)))
        try:
            factor, proof = _least(loss, promise, delta, bounds(events))
        except InputError as error:
            raise InputError(f"level {level.name!r} by itself: {error}") from None
        prices.append(crossing(old, loss(factor)) if factor < 1 else None)
        worst = max(worst, proof, key=lambda box: box.upper)
        result = result.scaled(factor, level=level.name)
    result = short_scales(result)
    notes = ["Each level by itself keeps its own promise; nothing is said about all levels together."]
    if len(release.paths) > 1:
        notes.append("Spines with merged levels were not looked at by this mode.")
    made = named(release, result, f"Each level calibrated by itself at delta {float(delta):.3g}.")
    known = [value for value in prices if value is not None]
    return Calibration(
        made,
        relation,
        None,
        target,
        delta,
        worst,
        tuple(replace(one, epsilon=promises[one.name]) for one in changes(release, result)),
        max(known, default=None),
        tuple(notes),
        by="level",
    )


def _least(
    loss: Losses, promise: Fraction, delta: Fraction, ends: tuple[float, float]
) -> tuple[Fraction, Interval]:
    """Return the least short factor that keeps the promise, and the certified delta that proves it."""

    def epsilon(size: Fraction) -> float:
        return epsilon_or_zero(loss(size), delta)

    factor = solve_factor(epsilon, float(promise), least=ends[0], most=ends[1])
    while True:
        proof = loss(factor).delta(epsilon=promise, certified=True)
        if proof.upper <= delta:
            return factor, proof
        factor += last_place(factor)
