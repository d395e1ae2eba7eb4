"""The proof that a release keeps its promise, and the price of less noise in the far tail."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.accounting.comparisons import ZCDP
from discreet.accounting.overall import account
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.budget.neighbours import Neighbours
from discreet.budget.release import Release
from discreet.errors import PrecisionError
from discreet.numbers import Interval


def prove(
    release: Release,
    relation: Neighbours,
    target: Fraction,
    delta: Fraction,
    jobs: int,
    progress: Progress | None,
) -> Interval:
    """Return the certified delta of all cases at the target."""
    made = account(release, neighbours=relation).with_workers(jobs, progress)
    found: Interval = made.delta(epsilon=target, certified=True)
    if found.upper > delta:
        raise PrecisionError(
            f"epsilon {float(target):.6g} was found for delta {float(delta):.3g}, but the proof gives {found}"
        )
    return found


def price(before: Release, after: Release, relation: Neighbours) -> float | None:
    """Return the delta below which the old noise's zCDP curve is the better promise, by the main case."""
    old = account(before, neighbours=relation)
    promise = ZCDP(old.events(old.main))
    new = account(after, neighbours=relation).case(old.main)
    return crossing(promise, new)


def crossing(promise: ZCDP, new: PrivacyLoss) -> float | None:
    """Return the delta at which the old promise's epsilon falls below that of the new noise, if there is one.

    >>> from discreet.accounting.privacy_loss import compose
    >>> from discreet.budget import DiscreteGaussian
    >>> old, less = (DiscreteGaussian(variance=v, times=10) for v in (5, "9/2"))
    >>> f"{crossing(ZCDP([old]), compose([less])):.2g}"
    '6.9e-20'
    """

    def gain(exponent: float) -> float:
        # where the old promise stands at this delta, is the new delta smaller? No inversion is needed
        epsilon = float(promise.epsilon(delta=10.0**exponent))
        return exponent * math.log(10) - float(new.log_delta(epsilon=epsilon))

    low, high = -290.0, -0.5
    if gain(low) >= 0 or gain(high) <= 0:
        return None
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if gain(middle) > 0 else (middle, high)
    return float(10.0**high)
