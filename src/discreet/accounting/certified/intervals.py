"""Intervals for delta, epsilon and f of one loss and of a whole release, as narrow as asked, or refused.

For a release one case gives the lower end, and all of them the upper. For the other cases it is enough to
*prove* that their delta does not exceed the bound: for nearly all of them together (`all_cases`), for the few
that come close one by one, with balls as wide as the distance to the bound allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from discreet.accounting.certified.tails import (
    FEW_BALL_NODES,
    MOST_BALL_NODES,
    listed_ball,
    tail_ball,
)
from discreet.accounting.contour import (
    Kind,
    Quadrature,
)
from discreet.accounting.lists import Direct
from discreet.accounting.loss import log_fraction
from discreet.accounting.parallel import map_cases
from discreet.accounting.privacy_loss import UNSEEN, PrivacyLoss, compose
from discreet.budget.neighbours import CaseLabel
from discreet.errors import PrecisionError
from discreet.noise import Noise
from discreet.noise.balls import as_interval, ball, lower, upper, working_bits
from discreet.numbers import Interval, whole

if TYPE_CHECKING:
    from discreet.accounting.overall import Account


LATTICE_ACCURACY = 4e-11
LINE_ACCURACY = 4e-7
MOST_DIGITS = 300
FLOAT_ACCURACY = Fraction(1, 10**12)
_FAR = 20  # standard deviations
_MANY_TIMES_UNSEEN = UNSEEN * 10**40


def default_accuracy(loss: PrivacyLoss, digits: int | None) -> float:
    """Half the relative width asked for."""
    if digits is not None:
        if not 1 <= digits <= MOST_DIGITS:
            raise PrecisionError(f"digits is {digits}; 1 to {MOST_DIGITS} digits are possible")
        return 0.4 * 10.0 ** -whole(digits, name="digits")
    has_line = isinstance(loss.engine, Quadrature) and loss.engine.h is None
    return LINE_ACCURACY if has_line else LATTICE_ACCURACY


def certified_tail(loss: PrivacyLoss, kind: Kind, threshold: Fraction, accuracy: float) -> arb:
    """One tail to the asked relative accuracy, or PrecisionError."""
    engine = loss.engine
    aim, bits = accuracy, 48 - math.log2(accuracy)
    size = abs(float(threshold)) + float(abs(loss.loss.offset)) + 2
    bits += 2 * math.log2(size) + 10
    contour = engine if isinstance(engine, Quadrature) else None
    has_list = contour is not None and contour.fallback is not None
    if isinstance(engine, Direct) or loss.is_quicker_listed:
        roads = [0, *([MOST_BALL_NODES] if has_list else [])]  # most nodes of a contour; none: by listing
    else:
        roads = [FEW_BALL_NODES, 0, MOST_BALL_NODES] if has_list else [MOST_BALL_NODES]
    value = arb(0, 1)
    for _ in range(6):
        with working_bits(bits):
            try:
                if not roads[0]:
                    value = listed_ball(loss.loss, kind, threshold)
                elif contour is not None:
                    h, most = contour.h, roads[0]
                    value = tail_ball(loss.loss, kind, threshold, h=h, accuracy=aim, most=most)
                else:
                    raise PrecisionError(
                        "the losses have no usable common step and too many values; results are bounds "
                        "on a grid, in floating point, and cannot be proved"
                    )
            except PrecisionError:
                if len(roads) == 1:
                    raise
                roads = roads[1:]  # the contour is too long, and few values can also be listed; or vice versa
                continue
            if value.is_exact() or (value > 0 and value.rad() < accuracy * value.mid()):
                return value
        bits, aim = (1.5 if roads[0] else 2.2) * bits, aim / 50
        # atoms that differ by orders of magnitude are hard on a contour, and easy in a list
        roads = [0] if has_list and roads[0] else roads
    reached = float(value.rad() / value.mid()) if value > 0 else math.inf
    raise PrecisionError(
        f"a relative accuracy of {reached:.1g} was reached, not the {accuracy:.1g} asked for; "
        "ask for fewer digits"
    )


def delta_ball(loss: PrivacyLoss, epsilon: Fraction, accuracy: float) -> arb:
    """delta as a ball, at an epsilon of either sign."""
    if not loss.loss.terms:
        with working_bits(120 - 2 * math.log2(accuracy)):
            return arb(0) if epsilon >= 0 else -ball(epsilon).expm1()
    if loss.deterministic_shift is not None:
        shift, others = loss.deterministic_shift
        value = delta_ball(others, epsilon - shift, accuracy)
        if value > ball(_MANY_TIMES_UNSEEN):
            with working_bits(120 - 2 * math.log2(accuracy)):
                return value + arb(0, ball(UNSEEN).upper())
    far = Fraction(loss.mean + _FAR * loss.loss.spread)
    if epsilon < -far:  # delta falls: farther out it hardly matters, and a bound is enough
        least = Fraction(accuracy) * min(-epsilon, Fraction(1)) / 10**10
        far = max(far, Fraction(float(loss.epsilons([least], math.inf)[0])))
    if epsilon < -far:
        value = arb(0, certified_tail(loss, Kind.DELTA, far, 0.01).upper())
    else:
        value = certified_tail(loss, Kind.DELTA, abs(epsilon), accuracy)
    if epsilon < 0:
        with working_bits(120 - 2 * math.log2(accuracy)):
            back = ball(epsilon)
            return -back.expm1() + back.exp() * value
    return value


def certified_delta(loss: PrivacyLoss, epsilon: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains delta(epsilon)."""
    box = around_floats(as_interval(delta_ball(loss, epsilon, default_accuracy(loss, digits))), digits)
    return Interval(max(box.lower, Fraction(0)), min(box.upper, Fraction(1)))


def around_floats(box: Interval, digits: int | None) -> Interval:
    """Widen by the accuracy of floats, so that the float returned for the same question lies inside.

    Aliases are all positive, so the true value lies near the upper end.
    """
    if digits is not None:
        return box
    room = box.upper * FLOAT_ACCURACY
    return Interval(max(box.lower - room, Fraction(0)), box.upper + room)


def certified_epsilon(loss: PrivacyLoss, delta: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains the epsilon at which the curve passes through delta."""
    accuracy = default_accuracy(loss, digits)
    if not loss.loss.terms:
        with working_bits(120 - 2 * math.log2(accuracy)):
            return as_interval(ball(1 - delta).log())
    # only a starting point: its accuracy does not matter
    epsilon = Fraction(float(loss.epsilons([delta], math.inf)[0]))
    slope = _log_slope(loss, epsilon)
    # delta may be off by `fine`, which moves epsilon by fine / |slope|: keep that below half the width
    size = max(abs(float(epsilon)), 1e-12)
    fine = min(accuracy * size * abs(slope) / 4, 0.01)
    with working_bits(100 - 2 * math.log2(fine)):
        epsilon = _root(
            lambda point: float((delta_ball(loss, point, fine) / ball(delta)).log().mid()),
            epsilon,
            slope,
            Fraction(accuracy * size / 4),
        )
    epsilon = shortened(epsilon, accuracy * size / 64)
    width = Fraction(accuracy * size / 2)
    for _ in range(8):
        low, high = epsilon - width, epsilon + width
        if lower(delta_ball(loss, low, fine)) >= delta and upper(delta_ball(loss, high, fine)) <= delta:
            return Interval(low, high)
        width *= 2
    raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed to {accuracy:.1g}")


def _root(error: Callable[[Fraction], float], point: Fraction, slope: float, near: Fraction) -> Fraction:
    """The root of a falling function, by Newton's steps with the slope at the start.

    Beside an atom the slope can be wrong by orders of magnitude either way: steps are limited until the root
    is bracketed, and every fourth step halves the bracket.
    """
    low: tuple[Fraction, float] | None = None
    high: tuple[Fraction, float] | None = None
    reach = max(64 * near, Fraction(1e-8) * (1 + abs(point)))  # a float is hardly farther off
    for turn in range(120):
        value = error(point)
        if not math.isfinite(value):  # delta is zero there
            value = -700.0
        if value >= 0:
            low = (point, value)
        else:
            high = (point, value)
        step = Fraction(-value / slope)
        if abs(step) < near and abs(value) < 0.01:
            return point + step
        if low is not None and high is not None:
            if high[0] - low[0] < near:
                break
            point += step
            if turn % 4 == 3 or not low[0] < point < high[0]:
                point = (low[0] + high[0]) / 2
        else:
            least = near if abs(value) >= 0.01 else Fraction(0)
            point += max(min(abs(step), reach), least) * (1 if value >= 0 else -1)
            reach *= 8
    return point


def _log_slope(loss: PrivacyLoss, epsilon: Fraction) -> float:
    """d log delta / d epsilon = -e^epsilon P_null[L > epsilon] / delta."""
    if loss.deterministic_shift is not None:
        shift, others = loss.deterministic_shift
        return _log_slope(others, epsilon - shift)
    log_delta = float(loss.log_deltas([epsilon], math.inf)[0])
    log_tail = float(loss.log_tails(Kind.NULL, [epsilon], math.inf)[0])
    slope = -math.exp(float(epsilon) + log_tail - log_delta) if log_tail > -math.inf else math.nan
    # at the top of a bounded loss delta has hardly any slope: start from any
    return slope if math.isfinite(slope) and slope < 0 else -1.0


def shortened(value: Fraction, slack: float) -> Fraction:
    """A dyadic number with few bits near the value."""
    bits = max(0, 1 - math.floor(math.log2(slack)))
    return Fraction(round(value * 2**bits), 2**bits)


def _rest_ball(loss: PrivacyLoss, threshold: Fraction, accuracy: float) -> arb:
    """1 - delta(t), to relative accuracy: the closer delta is to 1, the more accurately it is computed."""
    aim = accuracy
    for _ in range(4):
        with working_bits(160 - 2 * math.log2(aim)):
            value = 1 - delta_ball(loss, abs(threshold), aim)
            if threshold < 0:
                value *= ball(threshold).exp()
            if value > 0 and value.rad() < accuracy * value.mid():
                return value
        aim /= 1e6
    raise PrecisionError("1 - delta could not be enclosed")


def refined_log(loss: PrivacyLoss, kind: Kind, threshold: Fraction, *, accuracy: float) -> float:
    """The logarithm of a tail, from ball arithmetic, where floats were not accurate enough."""
    if kind is Kind.REST:
        value = _rest_ball(loss, threshold, accuracy / 4)
    else:
        value = certified_tail(loss, kind, threshold, accuracy / 4)
    with working_bits(128):
        return float(value.log().mid()) if value > 0 else -math.inf


# -- the trade-off curve: from its knots on a lattice, from its dual without one -------------------------


_MOST_STEPS = 64


def certified_tradeoff(loss: PrivacyLoss, alpha: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains f(alpha)."""
    if alpha in (0, 1) or not loss.loss.terms:
        return Interval(1 - alpha, 1 - alpha)
    if loss.deterministic_shift is not None and alpha > UNSEEN and digits is None:
        # an error of either kind takes noise in one of the settled events
        return Interval(Fraction(0), UNSEEN)
    accuracy = default_accuracy(loss, digits)
    if loss.curve.next_value is None:
        return _by_duality(loss, alpha, accuracy if digits is not None else LINE_ACCURACY)
    fine = accuracy / 8
    for _ in range(5):  # where the two parts of f nearly cancel, each must be known better
        box = around_floats(_by_points(loss, alpha, fine), digits)
        if box.relative_width <= 4 * accuracy:
            break
        fine /= 1000
    if box.relative_width > 4 * accuracy:
        raise PrecisionError(
            f"f({float(alpha):.6g}) could be enclosed only to {box.relative_width:.1g}; ask for fewer digits"
        )
    return box


def _by_points(loss: PrivacyLoss, alpha: Fraction, fine: float) -> Interval:
    """Enclose f between two points of the curve, t1 < t2, with at most one value of the loss in (t1, t2].

    Up to one half with X(t) = P_null[L > t] and Y(t) = P_alt[L <= t]: the line Y(t) + e^t (X(t) - alpha) lies
    below f whatever t is, and if X(t2) <= x <= X(t1) and x <= alpha, then f(alpha) <= f(x), which is at most
    Y(t1) + e^t2 (X(t1) - x). Above one half the same with 1 - alpha, X(t) = P_alt[L > t],
    Y(t) = P_null[L > t] and slopes e^-t. Where the order cannot be shown, the next pair is tried.
    """
    next_value = loss.curve.next_value
    assert next_value is not None
    large = alpha > Fraction(1, 2)
    kind = Kind.ALT if large else Kind.NULL
    target = 1 - alpha if large else alpha
    (bracket,) = loss.curve.brackets(kind, [target])
    pair = [bracket.low, bracket.high]
    sign = -1 if large else 1
    low, high = Fraction(0), Fraction(2)  # 2: nothing is known
    stride, has_turned = 1, False
    was_next: bool | None = None
    for _ in range(_MOST_STEPS):
        with working_bits(160 - 3 * math.log2(fine) + 3 * abs(float(pair[1]))):
            X = [certified_tail(loss, kind, t, fine) for t in pair]
            if large:
                Y = [certified_tail(loss, Kind.NULL, t, fine) for t in pair]
            else:
                Y = [certified_tail(loss, Kind.NULL, loss.loss.below(-t), fine) for t in pair]
            slopes = [ball(sign * t).exp() for t in pair]
            if loss.loss.next_value(pair[0])[1] >= pair[1]:
                slopes[0] = slopes[1]  # t2 is the only value there, if it is one
            if large:
                x = max(target, upper(X[1]))
                is_between = x <= lower(X[0])
                top = Y[1] + slopes[0] * (ball(x) - X[1])
            else:
                x = min(target, lower(X[0]))
                is_between = x >= upper(X[1])
                top = Y[0] + slopes[1] * (X[0] - ball(x))
            for i in (0, 1):
                low = max(low, lower(Y[i] + slopes[i] * sign * (X[i] - ball(target))))
            if is_between:  # f(alpha) <= f(x), even where the target lies beyond this segment
                high = min(high, upper(top))
            is_beyond = target > upper(X[0]) or target < lower(X[1])
            if is_between and not is_beyond:
                break
        # the target may lie on a segment farther up, of smaller tails, or before: go by more and more, until
        # it is passed. If several values next to it have no visible mass, the last ends the search, or above
        # one half the first: there x and the tail at the other end can be told apart
        is_next = target < lower(X[1]) if large else target <= upper(X[0])
        if was_next not in (None, is_next):
            if stride == 1 and high < 2:
                break  # between neighbours: which of the two it is cannot be seen
            stride, has_turned = max(stride // 4, 1), True
        elif was_next is not None and not has_turned:
            stride *= 2
        was_next, beyond = is_next, (stride - 1) * loss.loss.step
        pair = list(next_value(pair[1] + beyond) if is_next else loss.curve.previous(pair[0] - beyond))
    if high < 2:
        return Interval(low, max(low, min(high, 1 - alpha)))
    raise PrecisionError(
        f"the segment of f at alpha {float(alpha):.6g} could not be determined; ask for fewer digits"
    )


def _by_duality(loss: PrivacyLoss, alpha: Fraction, accuracy: float) -> Interval:
    """f(alpha) = sup over w = e^l of g(w) = 1 - delta - w alpha, and g is concave: three points enclose it.

    Any point gives a lower bound. If g rises from the first to the second and falls to the third, its
    supremum lies between the outer two, below both chords continued past the middle point.
    """
    (point,) = loss.tradeoff_thresholds([alpha])
    spread = math.sqrt(loss.variance)
    centre = shortened(point, 1e-9 * (1 + abs(float(point))))
    step = shortened(Fraction(math.sqrt(accuracy) / 4 * spread), 1e-9 * spread)
    best: Interval | None = None
    for _ in range(16):
        with working_bits(256):
            levels = [centre - step, centre, centre + step]
            w = [ball(level).exp() for level in levels]
            g = [dual_height(loss, level, alpha, accuracy / 256) for level in levels]
            rise, fall = (g[1] - g[0]) / (w[1] - w[0]), (g[2] - g[1]) / (w[2] - w[1])
            if rise >= 0 and fall <= 0:
                low = max(max(lower(v) for v in g), Fraction(0))
                tops = [g[0], g[2], g[1] + rise * (w[2] - w[1]), g[1] - fall * (w[1] - w[0])]
                box = Interval(low, min(max(upper(t) for t in tops), Fraction(1)))
                best = box if best is None or box.width < best.width else best
                if best.relative_width <= 2 * accuracy:
                    return best
                step /= 8  # a corner between two values of the loss: go closer
            elif best is not None:
                break
            else:
                step *= 2
    if best is None or best.relative_width > 4 * accuracy:
        width = "not" if best is None else f"to {best.relative_width:.1g} only"
        raise PrecisionError(f"f({float(alpha):.6g}) was enclosed {width}; ask for fewer digits")
    return best


def dual_height(loss: PrivacyLoss, level: Fraction, alpha: Fraction, accuracy: float) -> arb:
    """1 - delta(l) - e^l alpha; for l < 0 as e^l (1 - alpha - delta(-l)), which does not cancel."""
    if level >= 0:
        return 1 - delta_ball(loss, level, accuracy) - ball(level).exp() * ball(alpha)
    return ball(level).exp() * (ball(1 - alpha) - delta_ball(loss, -level, accuracy))


# -- a whole release: one case gives the lower end, all of them the upper -----------------------------------


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
    if account.together is None:
        left = [events for label, events in account.cases if label != worst]
    else:
        bounds = account.upper_bounds
        open_ = bounds.unproved(abs(epsilon), _at_positive(epsilon, bound), account.case(worst).loss)
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
    loss = compose(events)
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
    from discreet.accounting.tradeoff import envelope

    boxes = []
    for alpha, point in zip(alphas, envelope(account, alphas), strict=True):
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
    from discreet.accounting.tradeoff import lowest_heights

    spread = math.sqrt(account.case(account.main).variance)
    for fraction in (1e-5, 1e-4, 1e-3, 1e-2):
        aside = Fraction(fraction * spread)
        (_, left), (_, right) = lowest_heights(account, [level - aside, level + aside], [alpha, alpha])
        if left == right:
            continue
        case_left, case_right = account.case(left), account.case(right)
        fine = accuracy / 64
        with working_bits(_bits(accuracy)):

            def gap(
                at: Fraction, cases: tuple[PrivacyLoss, ...] = (case_left, case_right), fine: float = fine
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
    own = upper(delta_ball(account.case(point.worst), abs(level), fine))
    top = largest_delta(account, point.worst, abs(level), own, fine)
    with working_bits(_bits(accuracy)):
        if level >= 0:
            return lower(1 - ball(top) - ball(level).exp() * ball(alpha))
        return lower(ball(level).exp() * (ball(1 - alpha) - ball(top)))


def _bits(accuracy: float) -> float:
    return 128 - 3 * math.log2(accuracy)
