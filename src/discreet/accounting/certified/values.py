"""Intervals for delta, epsilon and f of one loss, as narrow as asked or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, ctx

from discreet.accounting.balls import ball
from discreet.accounting.certified.contour import tail_ball
from discreet.accounting.certified.listing import listed_ball
from discreet.accounting.direct import Direct
from discreet.accounting.quadrature import Quadrature
from discreet.accounting.saddle import Kind
from discreet.errors import PrecisionError
from discreet.exact import Interval

if TYPE_CHECKING:
    from discreet.accounting.privacy_loss import PrivacyLoss

LATTICE_ACCURACY = 4e-11
LINE_ACCURACY = 4e-7
FLOAT_ACCURACY = Fraction(1, 10**12)


def to_interval(value: arb) -> Interval:
    """The ball's exact ends."""
    return Interval(lower(value), upper(value))


def lower(value: arb) -> Fraction:
    """The lower end, exactly, whatever the working precision."""
    return _exact(value.mid()) - _exact(value.rad())


def upper(value: arb) -> Fraction:
    """The upper end, exactly."""
    return _exact(value.mid()) + _exact(value.rad())


def _exact(value: arb) -> Fraction:
    if not value.is_finite():
        raise PrecisionError("the enclosure is not finite; ask for fewer digits")
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _accuracy(loss: PrivacyLoss, digits: int | None) -> float:
    """Half the relative width that was asked for."""
    if digits is not None:
        if not 1 <= digits <= 1000:
            raise PrecisionError(f"digits is {digits}; 1 to 1000 digits can be had")
        return 0.4 * 10.0**-digits
    has_line = isinstance(loss.engine, Quadrature) and loss.engine.h is None
    return LINE_ACCURACY if has_line else LATTICE_ACCURACY


def _tail(loss: PrivacyLoss, kind: Kind, threshold: Fraction, accuracy: float) -> arb:
    """One tail to the asked relative accuracy, or PrecisionError."""
    engine = loss.engine
    aim, bits = accuracy, 48 - math.log2(accuracy)
    size = abs(float(threshold)) + float(abs(loss.loss.offset)) + 2
    bits += 2 * math.log2(size) + 10
    for _ in range(6):
        with ctx.workprec(int(bits)):
            if isinstance(engine, Direct):
                value = listed_ball(loss.loss, kind, threshold)
            else:
                value = tail_ball(loss.loss, kind, threshold, h=engine.h, accuracy=aim)  # type: ignore[attr-defined]
            if value.is_exact() or (value > 0 and value.rad() < accuracy * value.mid()):
                return value
        bits, aim = 1.5 * bits, aim / 50
    found = float(value.rad() / value.mid()) if value > 0 else math.inf
    raise PrecisionError(
        f"the relative accuracy reached is {found:.1g} where {accuracy:.1g} was asked for; ask for fewer digits"
    )


def delta_ball(loss: PrivacyLoss, epsilon: Fraction, accuracy: float) -> arb:
    """delta as a ball, of either sign of epsilon."""
    if not loss.loss.terms:
        return arb(0) if epsilon >= 0 else -ball(epsilon).expm1()
    value = _tail(loss, Kind.DELTA, abs(epsilon), accuracy)
    if epsilon < 0:
        with ctx.workprec(int(120 - 2 * math.log2(accuracy))):
            back = ball(epsilon)
            return -back.expm1() + back.exp() * value
    return value


def certified_delta(loss: PrivacyLoss, epsilon: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains delta(epsilon)."""
    return _padded(to_interval(delta_ball(loss, epsilon, _accuracy(loss, digits))), digits)


def _padded(found: Interval, digits: int | None) -> Interval:
    """Widened by the accuracy of floats, so that the float that is returned for the same question lies inside.

    Aliases are all positive: the true value lies next to the upper end of what was found.
    """
    if digits is not None:
        return found
    room = found.upper * FLOAT_ACCURACY
    return Interval(max(found.lower - room, Fraction(0)), found.upper + room)


def delta_is_at_most(loss: PrivacyLoss, epsilon: Fraction, delta: Fraction, *, accuracy: float) -> bool:
    """Whether delta(epsilon) <= delta is proved with balls of this relative accuracy."""
    return upper(delta_ball(loss, epsilon, accuracy)) <= delta


def certified_epsilon(loss: PrivacyLoss, delta: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains the epsilon at which the curve passes through delta."""
    accuracy = _accuracy(loss, digits)
    if not loss.loss.terms:
        return to_interval((1 - ball(delta)).log())
    epsilon = Fraction(float(loss.epsilons([delta])[0]))
    slope = _log_slope(loss, epsilon)
    # delta may be off by `fine`, which moves epsilon by fine / |slope|: keep that below half the width
    size = max(abs(float(epsilon)), 1e-12)
    fine = min(accuracy * size * abs(slope) / 4, 0.01)
    with ctx.workprec(int(100 - 2 * math.log2(fine))):
        for _ in range(4):  # each step gains the digits that the slope is good for
            error = (delta_ball(loss, epsilon, fine) / ball(delta)).log()
            shift = float(error.mid()) / slope
            epsilon -= Fraction(shift)
            if abs(shift) < accuracy * size / 4:
                break
    epsilon = _shortened(epsilon, accuracy * size / 64)
    width = Fraction(accuracy * size / 2)
    for _ in range(8):
        low, high = epsilon - width, epsilon + width
        if (
            lower(delta_ball(loss, low, fine)) >= delta
            and upper(delta_ball(loss, high, fine)) <= delta
        ):
            return Interval(low, high)
        width *= 2
    raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed to {accuracy:.1g}")


def _log_slope(loss: PrivacyLoss, epsilon: Fraction) -> float:
    """d log delta / d epsilon = -e^epsilon P_null[L > epsilon] / delta."""
    log_delta = float(loss.log_deltas([epsilon])[0])
    log_tail = float(loss.log_tails(Kind.NULL, [epsilon])[0])
    return -math.exp(float(epsilon) + log_tail - log_delta)


def _shortened(value: Fraction, slack: float) -> Fraction:
    """A dyadic number with few bits near the value."""
    bits = max(0, 1 - math.floor(math.log2(slack)))
    return Fraction(round(value * 2**bits), 2**bits)


def certified_tradeoff(loss: PrivacyLoss, alpha: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains f(alpha)."""
    if alpha in (0, 1) or not loss.loss.terms:
        return Interval(1 - alpha, 1 - alpha)
    accuracy = _accuracy(loss, digits)
    if isinstance(loss.engine, Quadrature) and loss.engine.h is None:
        return _tradeoff_by_duality(loss, alpha, accuracy)
    return _tradeoff_by_knot(loss, alpha, accuracy, digits)


def _tradeoff_by_knot(loss: PrivacyLoss, alpha: Fraction, accuracy: float, digits: int | None) -> Interval:
    """At a knot (a, b) of slope -e^l to its right: f(alpha) >= b - e^l (alpha - a), with equality next to it."""
    (point,) = loss.tradeoff_thresholds([alpha])
    h, offset = loss.loss.step, loss.loss.offset
    index = math.ceil((point - offset) / h)
    value = offset + h * index
    fine = accuracy / 8
    with ctx.workprec(int(160 - 3 * math.log2(fine) + 3 * abs(float(value)))):
        if value >= 0:
            a = _tail(loss, Kind.NULL, value, fine)
            b = _tail(loss, Kind.NULL, -value - h / 2, fine)
            past = ball(alpha) - a
        else:
            rest = _tail(loss, Kind.ALT, -value - h / 2, fine)  # P_null[L <= l] = P_alt[L >= -l]
            b = _tail(loss, Kind.NULL, -value - h / 2, fine)
            past = rest - ball(1 - alpha)
        slope = ball(value).exp()
        line = b - slope * past
        low = lower(line)
        # f falls, and left of the knot no faster than e^(l + h) while that is the next value
        reach = slope * ball(h).exp()
        if past >= 0:
            high = upper(line)
        else:
            high = upper(b - reach * past)
        found = _padded(Interval(max(low, Fraction(0)), min(high, Fraction(1))), digits)
    if found.relative_width > 4 * accuracy:
        raise PrecisionError(
            f"f({float(alpha):.6g}) was enclosed to {found.relative_width:.1g} only; ask for fewer digits"
        )
    return found


def _tradeoff_by_duality(loss: PrivacyLoss, alpha: Fraction, accuracy: float) -> Interval:
    """f(alpha) = sup over w = e^eps of 1 - delta - w alpha, concave in w: three points enclose it.

    Any point gives a lower bound. Right of the middle point the chord from the left one continued
    is an upper bound, and left of it the chord from the right.
    """
    (point,) = loss.tradeoff_thresholds([alpha])
    centre = _shortened(point, 1e-9 * (1 + abs(float(point))))
    spread = math.sqrt(loss.variance)
    step = Fraction(round(math.sqrt(accuracy) * spread * 2**60), 2**60)
    with ctx.workprec(256):

        def height(eps: Fraction) -> arb:
            return 1 - delta_ball(loss, eps, accuracy / 16) - ball(eps).exp() * ball(alpha)

        eps = [centre - step, centre, centre + step]
        w = [ball(e).exp() for e in eps]
        g = [height(e) for e in eps]
        low = max(lower(v) for v in g)
        right = g[1] + abs((g[1] - g[0]) / (w[1] - w[0])) * (w[2] - w[1])
        left = g[1] + abs((g[2] - g[1]) / (w[2] - w[1])) * (w[1] - w[0])
        falls = (g[2] - g[1]) / (w[2] - w[1])
        rises = (g[1] - g[0]) / (w[1] - w[0])
        high = max(upper(right), upper(left))
        # the maximum lies between the outer points if the function falls after the middle and rises before,
        # or if the outer chords are so flat that what lies beyond is bounded by 1 in w
        if not (falls <= 0 or rises >= 0):
            raise PrecisionError(f"f({float(alpha):.6g}) could not be enclosed to {accuracy:.1g}")
    return Interval(max(low, Fraction(0)), min(high, Fraction(1)))


def refined_log(loss: PrivacyLoss, kind: Kind, threshold: Fraction, *, accuracy: float, found: float) -> float:
    """The logarithm of a tail whose float evaluation was not good enough, from ball arithmetic."""
    try:
        value = _tail(loss, kind, threshold, accuracy / 4)
    except PrecisionError:
        raise PrecisionError(
            f"at threshold {float(threshold):.6g} floating point reaches a relative accuracy of {found:.1g}, "
            f"not {accuracy:.0g}; ask for certified=True, which says what is known"
        ) from None
    with ctx.workprec(128):
        return float(value.log().mid()) if value > 0 else -math.inf
