"""Each level by itself: the least noise with which its own curve keeps its own promise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.accounting.calibration.proof import crossing
from discreet.accounting.calibration.result import Calibration, changes, named
from discreet.accounting.calibration.search import DIGITS, below, solve_factor
from discreet.accounting.comparisons import ZCDP
from discreet.accounting.privacy_loss import compose
from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import InputError
from discreet.exact import Interval


def calibrate_levels(
    release: Release, relation: Neighbours, target: Fraction | None, delta: Fraction
) -> Calibration:
    """Return the release whose levels each keep the target, or their own zCDP promise, by themselves."""
    result, copies = release, 2 if relation == "bounded" else 1
    worst, prices = Interval(Fraction(0), Fraction(0)), []
    for level in release.levels:
        events = tuple(level.events(release.neighbours)) * copies
        old = ZCDP(events)
        promise = target or below(old.epsilon(delta=float(delta)))
        factor, proof = _least(events, promise, delta)
        prices.append(crossing(old, compose(_scaled(events, factor))))
        worst = max(worst, proof, key=lambda box: box.upper)
        result = result.scaled(factor, level=level.name)
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
        changes(release, result),
        max(known, default=None),
        tuple(notes),
    )


def _least(events: Sequence[Event], promise: Fraction, delta: Fraction) -> tuple[Fraction, Interval]:
    """Return the least short factor that keeps the promise, and the certified delta that proves it."""

    def epsilon(size: Fraction) -> float:
        return compose(_scaled(events, size)).epsilon(delta=delta)

    factor = solve_factor(epsilon, float(promise))
    while True:
        proof = compose(_scaled(events, factor)).delta(epsilon=promise, certified=True)
        if proof.upper <= delta:
            return factor, proof
        factor += Fraction(1, 10**DIGITS)


def _scaled(events: Sequence[Event], factor: Fraction) -> list[Event]:
    found: list[Event] = []
    for event in events:
        if not isinstance(event, DiscreteGaussian):
            raise InputError("calibration by level is for Gaussian noise; this level also has Laplace noise")
        size, times = event.sensitivity, event.times
        found.append(DiscreteGaussian(variance=event.variance * factor, sensitivity=size, times=times))
    return found
