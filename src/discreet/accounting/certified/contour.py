"""The trapezoidal sum in ball arithmetic, on a lattice or on a cut line, with every error enclosed.

Writing T for the sum over all nodes, Poisson summation gives T = sum_n e^(theta n P) G(t + nP) with
all terms positive, so that G lies in [T - aliases, T]. To T belong the nodes that are summed as balls,
the nodes that the sieve left out, and on a line the nodes beyond the reach. The last three are bounded
as the explanation page proves, and the bounds are themselves balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import acb, arb

from discreet.accounting.certified.factors import Factors, verified_radii
from discreet.accounting.contour import (
    Kind,
    Sieve,
    SieveOverflowError,
    kernel_size,
    period,
    rounded,
    saddle,
    short_above,
    sieved,
)
from discreet.accounting.loss import Loss
from discreet.errors import PrecisionError
from discreet.noise.balls import ball

MOST_BALL_NODES = 3_000_000


def log_mgf_ball(loss: Loss, theta: Fraction) -> arb:
    """log E e^(theta L), enclosed."""
    total = ball(theta * loss.offset + loss.R * theta * theta / 2)
    for term in loss.terms:
        total += term.times * term.log_factor_ball(theta)
    return total


def tail_ball(
    loss: Loss, kind: Kind, threshold: Fraction, *, h: Fraction | None, accuracy: float, lean: float = 0.0
) -> arb:
    """Enclose delta(t), P[L > t] or P_null[L > t], aiming at a relative radius of `accuracy`.

    `h` is the lattice step, or None for a cut line, on which only delta has a proved remainder. The working
    precision is the caller's. `lean` puts the contour to the right of the saddle point, by this part of its
    distance from the pole: the value is the same, by other numbers.
    """
    if kind is Kind.REST or (h is None and kind is not Kind.DELTA):
        raise PrecisionError(f"the tail of kind {kind.value!r} cannot be certified on this contour")
    step = float(h) if h else 0.0
    point, gap = threshold, Fraction(0)
    if h is not None:
        point = loss.offset + h * ((threshold - loss.offset) // h + 1)
        gap = point - threshold
    if loss.largest is not None and (point > loss.largest if h else threshold >= loss.largest):
        return arb(0)
    place = float(point)
    theta = saddle(loss, kind, place, step)
    if lean:
        theta = rounded(theta + lean * (theta - kind.pole))
    spread = loss.tilted_spread(theta)
    size = kernel_size(kind, theta, step) * min(1.0, (step or 1.0) / (2.5 * spread))
    if kind is Kind.DELTA and h is not None:
        size *= min(1.0, float(gap / h) + math.exp(-theta * step)) + 1e-300
    need = -math.log(accuracy) + 3 - math.log(size)
    plan = period(loss, kind, theta, max(spread, step), place, place, need)

    tilt = Fraction(theta)
    log_scale = log_mgf_ball(loss, tilt) - ball(tilt * point)
    if kind is Kind.NULL:
        log_scale -= ball(point)
    if h is not None:
        count = max(8, math.ceil(plan.length / step))
        spacing, reach = count * h, math.pi / step
    else:
        spacing, count = short_above(plan.length), 0
        # the remainder of the kernel beyond the reach, relative to the value; some nodes at the least
        reach = max(2 / (math.pi * size * accuracy), 64 / float(spacing))
    depth = -math.log(accuracy) - math.log(size) + 3 + math.log(_kernel_mean(kind, theta, step))
    total = _node_sum(loss, kind, tilt, spacing, count, h, point, gap, reach, max(depth, 5.0))
    aliases = _aliases(loss, kind, log_scale, tilt, spacing, point, plan.above, plan.below)
    scaled = log_scale.exp() * total
    return scaled - arb.union(arb(0), aliases)


def _kernel_mean(kind: Kind, theta: float, step: float) -> float:
    """A rough size of the mean modulus of the kernel over the nodes, for choosing the depth."""
    return max(kernel_size(kind, theta, step), 1.0 if kind is not Kind.DELTA else 1 / (2 * theta))


def _aliases(
    loss: Loss,
    kind: Kind,
    log_scale: arb,
    theta: Fraction,
    spacing: Fraction,
    point: Fraction,
    up: float,
    down: float,
) -> arb:
    """An upper bound of sum_{n != 0} e^(theta n P) G(t + nP), by Chernoff's bound at two tilts."""
    total = arb(0)
    for other in (up, down):
        t = Fraction(rounded(other)) if other not in (0.0, -1.0) else Fraction(int(other))
        t = max(t, Fraction(-1 if kind is Kind.NULL else 0))
        ratio = (-ball(abs(t - theta) * spacing)).exp()
        bound = log_mgf_ball(loss, t) - ball(t * point)
        if kind is Kind.NULL:
            bound -= ball(point)
        total += bound.exp() * ratio / (1 - ratio)
    return total.upper()


def _node_sum(
    loss: Loss,
    kind: Kind,
    theta: Fraction,
    spacing: Fraction,
    count: int,
    h: Fraction | None,
    point: Fraction,
    gap: Fraction,
    reach: float,
    depth: float,
) -> arb:
    """(1/N) sum_j of factor * kernel, in units of e^log_scale, all that is left out enclosed."""
    nodes: Sequence[int]
    if h is not None and count <= 512:
        nodes = range(count // 2 + 1)
        missed = arb(0)
    else:
        radii = verified_radii(loss, depth, float(theta))
        try:
            kept = Sieve(*sieved(loss, 0.0, reach, radii), reach, depth)
            found = kept.nodes(float(spacing), most=MOST_BALL_NODES)
        except SieveOverflowError as problem:
            raise PrecisionError(
                f"a certified value would need {problem} on this contour; ask for fewer digits"
            ) from None
        nodes = [int(j) for j in found if h is None or 2 * j <= count]
        missed = (-ball(Fraction(depth))).exp() * _kernel_sum(kind, theta, spacing, count, h, gap)
        if h is None:
            # Y is the last node numbered, or less: only nodes up to the reach were looked at
            missed += 1 / (arb.pi() * ball(Fraction(reach * (1 - 1e-12)) - 8 / spacing))
    factors = Factors(loss, theta, spacing, nodes[-1] if len(nodes) else 0)
    phase = (factors.centre - point) / spacing
    tilt = ball(theta)
    turn = 2 * arb.pi() / ball(spacing)
    total = arb(0)
    for j in nodes:
        z = acb(tilt, turn * j)
        value = factors.at(j, phase) * kernel_ball(kind, z, h, gap)
        once = j == 0 or 2 * j == count
        total += value.real if once else 2 * value.real
    missed = missed.upper()
    if h is None:
        return total / ball(spacing) + arb(0, missed)
    return total / count + arb(0, missed)


def kernel_ball(kind: Kind, z: acb, h: Fraction | None, gap: Fraction) -> acb:
    """The kernel at one point of the contour."""
    if h is None:
        return 1 / (z * (z + 1)) if kind is Kind.DELTA else (1 / z if kind is Kind.ALT else 1 / (z + 1))
    step = ball(h)
    e0 = -((-z * step).expm1())
    e1 = -((-(z + 1) * step).expm1())
    if kind is Kind.ALT:
        return 1 / e0
    if kind is Kind.NULL:
        return 1 / e1
    shift = ball(gap)
    first = -((-shift).expm1())
    second = (-shift).exp() * -((shift - step).expm1())
    return (first + (-z * step).exp() * second) / (e0 * e1)


def _kernel_sum(
    kind: Kind, theta: Fraction, spacing: Fraction, count: int, h: Fraction | None, gap: Fraction
) -> arb:
    """An upper bound of the mean of |kernel| over all nodes (on a line: the sum over P)."""
    if h is None:
        # (1/P) sum 1/|z|^2 = coth(theta P / 2) / (2 theta), and |z + 1| >= |z|; delta only
        tilt = ball(theta)
        return 1 / (2 * tilt * (tilt * ball(spacing) / 2).tanh())

    def mean_square(distance: Fraction) -> arb:
        # Parseval: the mean of |1 - r e^(i phi)|^-2 over N equidistant angles
        r = (-ball(distance * h)).exp()
        rn = (-ball(distance * h * count)).exp()
        return (1 + rn) / ((1 - r * r) * (1 - rn))

    if kind is Kind.ALT:
        return mean_square(theta).sqrt()
    if kind is Kind.NULL:
        return mean_square(theta + 1).sqrt()
    step, shift = ball(h), ball(gap)
    first = -((-shift).expm1())
    second = (-shift).exp() * -((shift - step).expm1())
    top = first + (-ball(theta) * step).exp() * second
    return top * (mean_square(theta) * mean_square(theta + 1)).sqrt()
