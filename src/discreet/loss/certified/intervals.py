"""Intervals for delta and epsilon of one loss on a lattice, as narrow as asked, or refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from discreet.errors import PrecisionError
from discreet.loss.certified.lists import listed_ball
from discreet.loss.certified.tails import FEW_BALL_NODES, MOST_BALL_NODES, tail_ball
from discreet.loss.contour import (
    Kind,
    Quadrature,
)
from discreet.loss.lattice_evaluator import UNSEEN, LatticeEvaluator
from discreet.loss.lists import ListEvaluator
from discreet.noise.balls import as_interval, ball, lower, upper, working_bits
from discreet.numbers import Interval, whole

LATTICE_ACCURACY = 4e-11
LINE_ACCURACY = 4e-7
MOST_DIGITS = 300
FLOAT_ACCURACY = Fraction(1, 10**12)
_FAR = 20  # standard deviations
_MANY_TIMES_UNSEEN = UNSEEN * 10**40


def default_accuracy(loss: LatticeEvaluator, digits: int | None) -> float:
    """Half the relative width asked for."""
    if digits is not None:
        if not 1 <= digits <= MOST_DIGITS:
            raise PrecisionError(f"digits is {digits}; 1 to {MOST_DIGITS} digits are possible")
        return 0.4 * 10.0 ** -whole(digits, name="digits")
    has_line = isinstance(loss.engine, Quadrature) and loss.engine.h is None
    return LINE_ACCURACY if has_line else LATTICE_ACCURACY


def certified_tail(loss: LatticeEvaluator, kind: Kind, threshold: Fraction, accuracy: float) -> arb:
    """One tail to the asked relative accuracy, or PrecisionError."""
    engine = loss.engine
    aim, bits = accuracy, 48 - math.log2(accuracy)
    size = abs(float(threshold)) + float(abs(loss.loss.offset)) + 2
    bits += 2 * math.log2(size) + 10
    contour = engine if isinstance(engine, Quadrature) else None
    has_list = contour is not None and contour.fallback is not None
    if isinstance(engine, ListEvaluator) or loss.is_quicker_listed:
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


def delta_ball(loss: LatticeEvaluator, epsilon: Fraction, accuracy: float) -> arb:
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


def certified_delta(loss: LatticeEvaluator, epsilon: Fraction, *, digits: int | None = None) -> Interval:
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


def certified_epsilon(loss: LatticeEvaluator, delta: Fraction, *, digits: int | None = None) -> Interval:
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


def _log_slope(loss: LatticeEvaluator, epsilon: Fraction) -> float:
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


def _rest_ball(loss: LatticeEvaluator, threshold: Fraction, accuracy: float) -> arb:
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


def refined_log(loss: LatticeEvaluator, kind: Kind, threshold: Fraction, *, accuracy: float) -> float:
    """The logarithm of a tail, from ball arithmetic, where floats were not accurate enough."""
    if kind is Kind.REST:
        value = _rest_ball(loss, threshold, accuracy / 4)
    else:
        value = certified_tail(loss, kind, threshold, accuracy / 4)
    with working_bits(128):
        return float(value.log().mid()) if value > 0 else -math.inf
