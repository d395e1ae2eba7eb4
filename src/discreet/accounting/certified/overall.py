"""Certified values of a whole release: one case gives the lower bound, all of them the upper.

Of the other cases it only has to be *proved* that their delta does not exceed the bound: of nearly all at
once, of the few that come close one by one, with balls as wide as the distance to the bound allows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.certified.tradeoff import certified_tradeoff, dual_height
from discreet.accounting.certified.values import (
    certified_epsilon,
    default_accuracy,
    delta_ball,
    shortened,
)
from discreet.accounting.parallel import map_cases
from discreet.accounting.privacy_loss import compose, log_fraction
from discreet.errors import PrecisionError
from discreet.noise import Noise
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.accounting.overall import Account
    from discreet.accounting.privacy_loss import PrivacyLoss

_Proof = tuple[tuple[Noise, ...], Fraction, Fraction, float]


def certified_deltas(account: Account, epsilons: list[Fraction], digits: int | None) -> list[Interval]:
    """Intervals that contain the overall delta at each epsilon."""
    boxes = []
    for epsilon, point in zip(epsilons, account.at_epsilon(list(epsilons)), strict=True):
        worst = account.case(point.worst)
        box = worst.delta(epsilon=epsilon, certified=True, digits=digits)
        top = largest_delta(account, point.worst, epsilon, box.upper, default_accuracy(worst, digits))
        boxes.append(Interval(box.lower, top))
    return boxes


def certified_epsilons(account: Account, deltas: list[Fraction], digits: int | None) -> list[Interval]:
    """Intervals that contain the overall epsilon at each delta."""
    boxes = []
    for delta, point in zip(deltas, account.at_delta(list(deltas)), strict=True):
        worst = account.case(point.worst)
        box = certified_epsilon(worst, delta, digits=digits)
        # at the upper end every case must be proved to lie at or below delta
        accuracy = default_accuracy(worst, digits)
        high, width = box.upper, box.width
        for _ in range(8):
            # (of the worst case that is what its own interval says)
            if largest_delta(account, point.worst, high, delta, accuracy) <= delta:
                break
            high, width = high + width, 2 * width
        else:
            raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed for all cases")
        boxes.append(Interval(box.lower, high))
    return boxes


def largest_delta(
    account: Account, worst: Any, epsilon: Fraction, bound: Fraction, accuracy: float
) -> Fraction:
    """The bound, if delta(epsilon) is proved to lie at or below it in every case; else a certified upper end.

    Of the case `worst` this is known already. Most of the others are settled together; those which come too
    close to the bound for that, one by one.
    """
    if account.together is None:
        left = [events for label, events in account.cases if label != worst]
    else:
        bounds = account.upper_bounds
        places = bounds.unproved(abs(epsilon), _at_positive(epsilon, bound), account.case(worst).loss)
        left = [account.cases[int(k)][1] for k in places if account.label(int(k)) != worst]
    own = account.events(worst)
    tasks = [(events, epsilon, bound, accuracy) for events in dict.fromkeys(left) if events != own]
    ends = map_cases(_upper_end, tasks, jobs=account.jobs, progress=account.progress, least=16)
    return max([bound, *ends])


def _at_positive(epsilon: Fraction, bound: Fraction) -> Fraction:
    """What delta(|epsilon|) must not exceed for delta(epsilon) to lie below the bound, rounded down.

    delta(-e) = 1 - e^-e + e^-e delta(e).
    """
    if epsilon >= 0:
        return bound
    with working_bits(256):
        return lower((ball(bound) - 1) * ball(-epsilon).exp() + 1)


def _upper_end(task: _Proof) -> Fraction:
    events, epsilon, bound, accuracy = task
    loss = compose(events)
    found = float(loss.log_deltas([epsilon])[0])
    gap = log_fraction(bound) - found if bound > 0 else -1.0
    if gap > 0:
        end = upper(delta_ball(loss, epsilon, min(max(gap / 4, accuracy / 8), 0.01)))
        if end <= bound:
            return bound
    return upper(delta_ball(loss, epsilon, accuracy))


def certified_tradeoffs(account: Account, alphas: list[Fraction], digits: int | None) -> list[Interval]:
    """Intervals that contain the overall f at each alpha, as narrow as asked or refused.

    f is the supremum over w = e^l of the least g(w) = 1 - delta(l) - w alpha of all cases. Lower end: the
    least of all cases at one l. Upper end: f of any case, or where cases cross what `_crossing_top` proves.
    """
    from discreet.accounting.tradeoff import overall_tradeoff

    boxes = []
    for alpha, point in zip(alphas, overall_tradeoff(account, alphas), strict=True):
        if alpha in (0, 1):
            boxes.append(Interval(1 - alpha, 1 - alpha))
            continue
        worst = account.case(point.worst)
        accuracy = default_accuracy(worst, digits)
        own = certified_tradeoff(worst, alpha, digits=digits)
        level, top = point.threshold, own.upper
        if Fraction(point.beta) < own.lower * (1 - Fraction(accuracy)):
            level, top = _crossing_top(account, alpha, level, top, accuracy)
        low = max(_lowest_line(account, level, alpha, accuracy), Fraction(0))
        found = Interval(low, max(top, low))
        if digits is not None and found.relative_width > 4 * accuracy:
            raise PrecisionError(
                f"f({float(alpha):.6g}) was enclosed to {found.relative_width:.1g} only; ask for fewer digits"
            )
        boxes.append(found)
    return boxes


def _crossing_top(
    account: Account, alpha: Fraction, level: Fraction, top: Fraction, accuracy: float
) -> tuple[Fraction, Fraction]:
    """Where the cases that are lowest on either side of a level cross, and an upper bound of f from there.

    Each g is concave in w. If that of the one case does not fall right after the crossing, it did not fall
    before it either, so that no point to the left is higher than its value there; and the same for the other
    case to the right. The larger of the two values bounds the supremum.
    """
    from discreet.accounting.tradeoff import lowest_heights

    spread = math.sqrt(account.case(account.main).variance)
    for fraction in (1e-5, 1e-4, 1e-3, 1e-2):
        aside = Fraction(fraction * spread)
        (_, left), (_, right) = lowest_heights(account, [level - aside, level + aside], [alpha, alpha])
        if left == right:
            continue
        one, two = account.case(left), account.case(right)
        fine = accuracy / 64
        with working_bits(_bits(accuracy)):

            def gap(
                at: Fraction, one: PrivacyLoss = one, two: PrivacyLoss = two, fine: float = fine
            ) -> float:
                return float((dual_height(one, at, alpha, fine) - dual_height(two, at, alpha, fine)).mid())

            # secant steps towards the crossing
            before, here = level - aside / 8, level
            was, now = gap(before), gap(here)
            for _ in range(12):
                if now == was or abs(now) < 1e-3 * accuracy * float(top):
                    break
                step = Fraction(now * float(here - before) / (now - was))
                before, here, was = here, shortened(here - step, 1e-4 * accuracy * spread), now
                now = gap(here)
            first, second = (dual_height(loss, here, alpha, fine) for loss in (one, two))
            rises = dual_height(one, here + aside, alpha, fine) >= first
            falls = dual_height(two, here - aside, alpha, fine) >= second
            if rises and falls:
                return here, min(top, max(upper(first), upper(second)))
    return level, top


def _lowest_line(account: Account, level: Fraction, alpha: Fraction, accuracy: float) -> Fraction:
    """A certified lower bound of 1 - delta(l) - e^l alpha for the case of the largest delta."""
    (point,) = account.at_epsilon([abs(level)])
    fine = accuracy / 64
    own = upper(delta_ball(account.case(point.worst), abs(level), fine))
    top = largest_delta(account, point.worst, abs(level), own, fine)
    with working_bits(_bits(accuracy)):
        if level >= 0:
            return lower(1 - ball(top) - ball(level).exp() * ball(alpha))
        return lower(ball(level).exp() * (ball(1 - alpha) - ball(top)))


def _bits(accuracy: float) -> float:
    return 128 - 3 * math.log2(accuracy)
