"""Intervals for f of one loss: from its knots on a lattice, else from its dual."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from discreet.errors import PrecisionError
from discreet.loss.certified.intervals import (
    LINE_ACCURACY,
    around_floats,
    certified_tail,
    default_accuracy,
    delta_ball,
    shortened,
)
from discreet.loss.contour import Kind
from discreet.loss.lattice_evaluator import UNSEEN, LatticeEvaluator
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.numbers import Interval, brief

_MOST_STEPS = 64


def certified_tradeoff(loss: LatticeEvaluator, alpha: Fraction, *, digits: int | None = None) -> Interval:
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


def _by_points(loss: LatticeEvaluator, alpha: Fraction, fine: float) -> Interval:
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


def _by_duality(loss: LatticeEvaluator, alpha: Fraction, accuracy: float) -> Interval:
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
        width = "not" if best is None else f"to {brief(best.relative_width, 1)} only"
        raise PrecisionError(f"f({float(alpha):.6g}) was enclosed {width}; ask for fewer digits")
    return best


def dual_height(loss: LatticeEvaluator, level: Fraction, alpha: Fraction, accuracy: float) -> arb:
    """1 - delta(l) - e^l alpha; for l < 0 as e^l (1 - alpha - delta(-l)), which does not cancel."""
    if level >= 0:
        return 1 - delta_ball(loss, level, accuracy) - ball(level).exp() * ball(alpha)
    return ball(level).exp() * (ball(1 - alpha) - delta_ball(loss, -level, accuracy))


def bits_of(accuracy: float) -> float:
    """Working precision for f to this relative accuracy."""
    return 128 - 3 * math.log2(accuracy)
