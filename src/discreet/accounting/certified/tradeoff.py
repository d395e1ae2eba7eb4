"""Certified trade-off curves: from the knots of f on a lattice, from its dual without one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from discreet.accounting.certified.values import (
    LINE_ACCURACY,
    certified_tail,
    default_accuracy,
    delta_ball,
    padded,
    shortened,
)
from discreet.accounting.quadrature import Quadrature
from discreet.accounting.saddle import Kind
from discreet.errors import PrecisionError
from discreet.noise.balls import ball, lower, upper, working_bits
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.accounting.privacy_loss import PrivacyLoss

_MOST_STEPS = 64


def certified_tradeoff(loss: PrivacyLoss, alpha: Fraction, *, digits: int | None = None) -> Interval:
    """An interval that contains f(alpha)."""
    if alpha in (0, 1) or not loss.loss.terms:
        return Interval(1 - alpha, 1 - alpha)
    accuracy = default_accuracy(loss, digits)
    if not isinstance(loss.engine, Quadrature) or loss.engine.h is None:
        return _by_duality(loss, alpha, accuracy if digits is not None else LINE_ACCURACY)
    fine = accuracy / 8
    for _ in range(5):  # where the line's two parts nearly cancel, each must be known better
        found = padded(_by_knots(loss, alpha, fine), digits)
        if found.relative_width <= 4 * accuracy:
            break
        fine /= 1000
    if found.relative_width > 4 * accuracy:
        raise PrecisionError(
            f"f({float(alpha):.6g}) was enclosed to {found.relative_width:.1g} only; ask for fewer digits"
        )
    return found


def _by_knots(loss: PrivacyLoss, alpha: Fraction, fine: float) -> Interval:
    """Enclose f by the segment on which alpha lies.

    With a = P_null[L > l], c = P_null[L >= l] and b = P_alt[L <= l], f(x) = b - e^l (x - a) for a <= x <= c,
    and that line lies below f elsewhere. So the line at alpha is a lower bound, and since f falls, the line
    at any x <= alpha of the segment is an upper bound. If alpha may lie left of a, the next segment is tried.
    """
    (point,) = loss.tradeoff_thresholds([alpha])
    h, offset = loss.loss.step, loss.loss.offset
    first = math.ceil((point - offset) / h)
    low = Fraction(0)
    for index in range(first, first + _MOST_STEPS):
        value = offset + h * index
        with working_bits(160 - 3 * math.log2(fine) + 3 * abs(float(value))):
            b = certified_tail(loss, Kind.NULL, -value - h / 2, fine)
            slope = ball(value).exp()
            if value >= 0:
                a = certified_tail(loss, Kind.NULL, value, fine)
                c = certified_tail(loss, Kind.NULL, value - h / 2, fine)
                low = max(low, lower(b - slope * (ball(alpha) - a)))
                x = min(alpha, lower(c))
                if x >= upper(a):
                    return Interval(low, min(upper(b - slope * (ball(x) - a)), Fraction(1)))
            else:
                # complements are small here: 1 - a = P_alt[L >= -l] and 1 - c = P_alt[L > -l]
                not_a = certified_tail(loss, Kind.ALT, -value - h / 2, fine)
                not_c = certified_tail(loss, Kind.ALT, -value, fine)
                low = max(low, lower(b - slope * (not_a - ball(1 - alpha))))
                not_x = max(1 - alpha, upper(not_c))
                if not_x <= lower(not_a):
                    return Interval(low, min(upper(b - slope * (not_a - ball(not_x))), Fraction(1)))
    raise PrecisionError(
        f"the segment of f at alpha {float(alpha):.6g} could not be told; ask for fewer digits"
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
                found = Interval(low, min(max(upper(t) for t in tops), Fraction(1)))
                best = found if best is None or found.width < best.width else best
                if best.relative_width <= 2 * accuracy:
                    return best
                step /= 8  # a corner between two values of the loss: go closer
            elif best is not None:
                break
            else:
                step *= 2
    if best is None or best.relative_width > 4 * accuracy:
        found_width = "not" if best is None else f"to {best.relative_width:.1g} only"
        raise PrecisionError(f"f({float(alpha):.6g}) was enclosed {found_width}; ask for fewer digits")
    return best


def dual_height(loss: PrivacyLoss, level: Fraction, alpha: Fraction, accuracy: float) -> arb:
    """1 - delta(l) - e^l alpha; for l < 0 as e^l (1 - alpha - delta(-l)), which does not cancel."""
    if level >= 0:
        return 1 - delta_ball(loss, level, accuracy) - ball(level).exp() * ball(alpha)
    return ball(level).exp() * (ball(1 - alpha) - delta_ball(loss, -level, accuracy))
