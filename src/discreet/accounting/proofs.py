"""Intervals for delta, epsilon and f of a whole release, as narrow as asked, or refused.

One case gives the lower end, and all of them the upper. For the other cases it is enough to *prove* that
their delta does not exceed the bound: for nearly all of them together (`all_cases`), for the few that come
close one by one, with balls as wide as the distance to the bound allows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.accounting.envelope import envelope, lowest_heights
from discreet.accounting.parallel import map_cases
from discreet.budget.neighbours import CaseLabel
from discreet.errors import PrecisionError
from discreet.loss.certified.intervals import (
    LATTICE_ACCURACY,
    certified_epsilon,
    default_accuracy,
    delta_ball,
    shortened,
)
from discreet.loss.certified.tradeoffs import bits_of, certified_tradeoff, dual_height
from discreet.loss.lattice import log_fraction
from discreet.loss.lattice_evaluator import LatticeEvaluator
from discreet.noise import Noise
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.accounting.account import Account

_Proof = tuple[tuple[Noise, ...], Fraction, Fraction, float]


def certified_deltas(account: Account, epsilons: list[Fraction], digits: int | None) -> list[Interval]:
    """Intervals that contain the overall delta at each epsilon."""
    boxes = []
    for epsilon, point in zip(epsilons, account.at_epsilon(list(epsilons)), strict=True):
        worst = account.case(point.worst).law.on_lattice()
        box = worst.delta(epsilon=epsilon, certified=True, digits=digits)
        top = largest_delta(account, point.worst, epsilon, box.upper, default_accuracy(worst, digits))
        boxes.append(Interval(box.lower, top))
    return boxes


def certified_epsilons(account: Account, deltas: list[Fraction], digits: int | None) -> list[Interval]:
    """Intervals that contain the overall epsilon at each delta."""
    boxes = []
    for delta, point in zip(deltas, account.at_delta(list(deltas)), strict=True):
        worst = account.case(point.worst).law.on_lattice()
        box = certified_epsilon(worst, delta, digits=digits)
        # at the upper end every case must be proved to lie at or below delta
        accuracy = default_accuracy(worst, digits)
        high, width = box.upper, box.width
        for _ in range(8):
            # (for the worst case its own interval says so)
            if largest_delta(account, point.worst, high, delta, accuracy) <= delta:
                break
            high, width = high + width, 2 * width
        else:
            raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed for all cases")
        boxes.append(Interval(box.lower, high))
    return boxes


def largest_delta(
    account: Account, worst: CaseLabel, epsilon: Fraction, bound: Fraction, accuracy: float
) -> Fraction:
    """The bound, if delta(epsilon) is proved to lie at or below it in every case; else a certified upper end.

    For the case `worst` this is known already. Most of the others are settled together; those that come too
    close to the bound, one by one.
    """
    bounds = account.case_set.upper_bounds
    if bounds is None:
        left = [events for label, events in account.cases if label != worst]
    else:
        open_ = bounds.unproved(
            abs(epsilon), _at_positive(epsilon, bound), account.case(worst).law.on_lattice().loss
        )
        left = [account.cases[int(k)][1] for k in open_ if account.label(int(k)) != worst]
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
    loss = LatticeEvaluator(events)
    if accuracy == LATTICE_ACCURACY:  # no digits were asked for, and this case may not have a lattice
        accuracy = default_accuracy(loss, None)
    log_delta = float(loss.log_deltas([epsilon])[0])
    gap = log_fraction(bound) - log_delta if bound > 0 else -1.0
    if gap > 0:
        end = upper(delta_ball(loss, epsilon, min(max(gap / 4, accuracy / 8), 0.01)))
        if end <= bound:
            return bound
    return upper(delta_ball(loss, epsilon, accuracy))


def certified_tradeoffs(account: Account, alphas: list[Fraction], digits: int | None) -> list[Interval]:
    """Intervals that contain the overall f at each alpha, as narrow as asked, or refused.

    f is the supremum over w = e^l of the least g(w) = 1 - delta(l) - w alpha of all cases. Lower end: the
    least of all cases at one l. Upper end: f of any case, or where cases cross what `_crossing_top` proves.
    """
    boxes = []
    for alpha, point in zip(alphas, envelope(account, alphas), strict=True):
        if alpha in (0, 1):
            boxes.append(Interval(1 - alpha, 1 - alpha))
            continue
        worst = account.case(point.worst).law.on_lattice()
        accuracy = default_accuracy(worst, digits)
        own = certified_tradeoff(worst, alpha, digits=digits)
        level, top = point.threshold, own.upper
        if Fraction(point.beta) < own.lower * (1 - Fraction(accuracy)):
            level, top = _crossing_top(account, alpha, level, top, accuracy)
        low = max(_lowest_line(account, level, alpha, accuracy), Fraction(0))
        box = Interval(low, max(top, low))
        if digits is not None and box.relative_width > 4 * accuracy:
            raise PrecisionError(
                f"f({float(alpha):.6g}) could be enclosed only to {box.relative_width:.1g}; "
                "ask for fewer digits"
            )
        boxes.append(box)
    return boxes


def _crossing_top(
    account: Account, alpha: Fraction, level: Fraction, top: Fraction, accuracy: float
) -> tuple[Fraction, Fraction]:
    """Where the cases that are lowest on either side of a level cross, and an upper bound of f from there.

    Each g is concave in w. If that of the left case does not fall right after the crossing, it did not fall
    before it either, so that no point to the left is higher than its value there; and the same for the right
    case to the right. The larger of the two values bounds the supremum.
    """
    spread = math.sqrt(account.case(account.main).law.variance)
    for fraction in (1e-5, 1e-4, 1e-3, 1e-2):
        aside = Fraction(fraction * spread)
        (_, left), (_, right) = lowest_heights(account, [level - aside, level + aside], [alpha, alpha])
        if left == right:
            continue
        case_left, case_right = (account.case(label).law.on_lattice() for label in (left, right))
        fine = accuracy / 64
        with working_bits(bits_of(accuracy)):

            def gap(
                at: Fraction,
                cases: tuple[LatticeEvaluator, ...] = (case_left, case_right),
                fine: float = fine,
            ) -> float:
                height_left, height_right = (dual_height(loss, at, alpha, fine) for loss in cases)
                return float((height_left - height_right).mid())

            # secant steps towards the crossing
            before, here = level - aside / 8, level
            was, now = gap(before), gap(here)
            for _ in range(12):
                if now == was or abs(now) < 1e-3 * accuracy * float(top):
                    break
                step = Fraction(now * float(here - before) / (now - was))
                before, here, was = here, shortened(here - step, 1e-4 * accuracy * spread), now
                now = gap(here)
            first, second = (dual_height(loss, here, alpha, fine) for loss in (case_left, case_right))
            rises = dual_height(case_left, here + aside, alpha, fine) >= first
            falls = dual_height(case_right, here - aside, alpha, fine) >= second
            if rises and falls:
                return here, min(top, max(upper(first), upper(second)))
    return level, top


def _lowest_line(account: Account, level: Fraction, alpha: Fraction, accuracy: float) -> Fraction:
    """A certified lower bound of 1 - delta(l) - e^l alpha for the case of the largest delta."""
    (point,) = account.at_epsilon([abs(level)])
    fine = accuracy / 64
    own = upper(delta_ball(account.case(point.worst).law.on_lattice(), abs(level), fine))
    top = largest_delta(account, point.worst, abs(level), own, fine)
    with working_bits(bits_of(accuracy)):
        if level >= 0:
            return lower(1 - ball(top) - ball(level).exp() * ball(alpha))
        return lower(ball(level).exp() * (ball(1 - alpha) - ball(top)))
