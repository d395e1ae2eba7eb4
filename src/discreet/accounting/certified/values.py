"""Intervals for delta, epsilon and f of one loss, as narrow as asked or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from discreet.accounting.certified.contour import tail_ball
from discreet.accounting.certified.listing import listed_ball
from discreet.accounting.contour import Kind, Quadrature
from discreet.accounting.evaluation import Direct
from discreet.errors import PrecisionError
from discreet.noise.balls import ball, interval, lower, upper, working_bits
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.accounting.privacy_loss import PrivacyLoss

LATTICE_ACCURACY = 4e-11
LINE_ACCURACY = 4e-7
MOST_DIGITS = 300
FLOAT_ACCURACY = Fraction(1, 10**12)


def default_accuracy(loss: PrivacyLoss, digits: int | None) -> float:
    """Half the relative width that was asked for."""
    if digits is not None:
        if not 1 <= digits <= MOST_DIGITS:
            raise PrecisionError(f"digits is {digits}; 1 to {MOST_DIGITS} digits are possible")
        return 0.4 * 10.0**-digits
    has_line = isinstance(loss.engine, Quadrature) and loss.engine.h is None
    return LINE_ACCURACY if has_line else LATTICE_ACCURACY


def certified_tail(loss: PrivacyLoss, kind: Kind, threshold: Fraction, accuracy: float) -> arb:
    """One tail to the asked relative accuracy, or PrecisionError."""
    engine = loss.engine
    aim, bits = accuracy, 48 - math.log2(accuracy)
    size = abs(float(threshold)) + float(abs(loss.loss.offset)) + 2
    bits += 2 * math.log2(size) + 10
    listing = isinstance(engine, Direct) or loss.is_listed_sooner
    value, is_second = arb(0, 1), False
    for _ in range(6):
        with working_bits(bits):
            try:
                if listing:
                    value = listed_ball(loss.loss, kind, threshold)
                else:
                    if not isinstance(engine, Quadrature):
                        raise PrecisionError(
                            "the losses have no usable common step and too many values; results are bounds "
                            "on a grid, in floating point, and cannot be proved"
                        )
                    value = tail_ball(loss.loss, kind, threshold, h=engine.h, accuracy=aim)
            except PrecisionError:
                if is_second or not isinstance(engine, Quadrature) or engine.fallback is None:
                    raise
                # too long a contour, and few values can also be listed; or the other way round
                listing, is_second = not listing, True
                continue
            if value.is_exact() or (value > 0 and value.rad() < accuracy * value.mid()):
                return value
        bits, aim = (2.2 if listing else 1.5) * bits, aim / 50
        # atoms that differ by orders of magnitude are hard on a contour, and easy in a list
        if not listing and isinstance(engine, Quadrature) and engine.fallback is not None:
            listing = is_second = True
    found = float(value.rad() / value.mid()) if value > 0 else math.inf
    raise PrecisionError(
        f"the relative accuracy reached is {found:.1g}, not {accuracy:.1g} as asked; ask for fewer digits"
    )


def delta_ball(loss: PrivacyLoss, epsilon: Fraction, accuracy: float) -> arb:
    """delta as a ball, of either sign of epsilon."""
    if not loss.loss.terms:
        with working_bits(120 - 2 * math.log2(accuracy)):
            return arb(0) if epsilon >= 0 else -ball(epsilon).expm1()
    value = certified_tail(loss, Kind.DELTA, abs(epsilon), accuracy)
    if epsilon < 0:
        with working_bits(120 - 2 * math.log2(accuracy)):
            back = ball(epsilon)
            return -back.expm1() + back.exp() * value
    return value


def certified_delta(loss: PrivacyLoss, epsilon: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains delta(epsilon)."""
    found = padded(interval(delta_ball(loss, epsilon, default_accuracy(loss, digits))), digits)
    return Interval(max(found.lower, Fraction(0)), min(found.upper, Fraction(1)))


def padded(found: Interval, digits: int | None) -> Interval:
    """Widened by the accuracy of floats, so that the float returned for the same question lies inside.

    Aliases are all positive: the true value lies next to the upper end of what was found.
    """
    if digits is not None:
        return found
    room = found.upper * FLOAT_ACCURACY
    return Interval(max(found.lower - room, Fraction(0)), found.upper + room)


def certified_epsilon(loss: PrivacyLoss, delta: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains the epsilon at which the curve passes through delta."""
    accuracy = default_accuracy(loss, digits)
    if not loss.loss.terms:
        with working_bits(120 - 2 * math.log2(accuracy)):
            return interval(ball(1 - delta).log())
    # only a place to start from: how good it is does not matter
    epsilon = Fraction(float(loss.epsilons([delta], math.inf)[0]))
    slope = _log_slope(loss, epsilon)
    # delta may be off by `fine`, which moves epsilon by fine / |slope|: keep that below half the width
    size = max(abs(float(epsilon)), 1e-12)
    fine = min(accuracy * size * abs(slope) / 4, 0.01)
    with working_bits(100 - 2 * math.log2(fine)):
        for _ in range(40):  # each step gains the digits that the slope is good for
            error = (delta_ball(loss, epsilon, fine) / ball(delta)).log()
            shift = float(error.mid()) / slope
            epsilon -= Fraction(shift)
            if abs(shift) < accuracy * size / 4:
                break
    epsilon = shortened(epsilon, accuracy * size / 64)
    width = Fraction(accuracy * size / 2)
    for _ in range(8):
        low, high = epsilon - width, epsilon + width
        if lower(delta_ball(loss, low, fine)) >= delta and upper(delta_ball(loss, high, fine)) <= delta:
            return Interval(low, high)
        width *= 2
    raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed to {accuracy:.1g}")


def _log_slope(loss: PrivacyLoss, epsilon: Fraction) -> float:
    """d log delta / d epsilon = -e^epsilon P_null[L > epsilon] / delta."""
    log_delta = float(loss.log_deltas([epsilon], math.inf)[0])
    log_tail = float(loss.log_tails(Kind.NULL, [epsilon], math.inf)[0])
    slope = -math.exp(float(epsilon) + log_tail - log_delta) if log_tail > -math.inf else math.nan
    # at the top of a bounded loss delta has no slope to speak of: any will do to start from
    return slope if math.isfinite(slope) and slope < 0 else -1.0


def shortened(value: Fraction, slack: float) -> Fraction:
    """A dyadic number with few bits near the value."""
    bits = max(0, 1 - math.floor(math.log2(slack)))
    return Fraction(round(value * 2**bits), 2**bits)


def _rest_ball(loss: PrivacyLoss, threshold: Fraction, accuracy: float) -> arb:
    """1 - delta(t), to relative accuracy: delta is asked for the finer the closer it is to 1."""
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
    """The logarithm of a tail whose float evaluation was not good enough, from ball arithmetic."""
    if kind is Kind.REST:
        value = _rest_ball(loss, threshold, accuracy / 4)
    else:
        value = certified_tail(loss, kind, threshold, accuracy / 4)
    with working_bits(128):
        return float(value.log().mid()) if value > 0 else -math.inf
