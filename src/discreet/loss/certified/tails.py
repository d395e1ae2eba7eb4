"""Tails of one loss in ball arithmetic, on a contour; every error enclosed.

Writing T for the trapezoidal sum over all nodes, Poisson summation gives
T = sum_n e^(theta n P) G(t + nP) with all terms positive, so that G lies in [T - aliases, T]. To T belong the
nodes that are summed as balls, the nodes that the sieve left out, and on a line the nodes beyond the reach.
The last three are bounded as the explanation page proves, and the bounds are themselves balls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb, fmpq

from discreet.errors import PrecisionError
from discreet.loss.contour import (
    Kind,
    Sieve,
    SieveOverflowError,
    kernel_size,
    period,
    saddle,
    short_above,
    short_tilt,
    sieved,
)
from discreet.loss.lattice import Loss
from discreet.noise.balls import ball, current_bits
from discreet.noise.factors import BallFactor, GaussianFactor

# -- on a contour ----------------------------------------------------------------------------------------


MOST_BALL_NODES = 3_000_000
FEW_BALL_NODES = 50_000  # that take about a second


def log_mgf_ball(loss: Loss, theta: Fraction) -> arb:
    """log E e^(theta L), enclosed."""
    total = ball(theta * loss.offset + loss.R * theta * theta / 2)
    for term in loss.terms:
        total += term.times * term.log_factor_ball(theta)
    return total


def tail_ball(
    loss: Loss,
    kind: Kind,
    threshold: Fraction,
    *,
    h: Fraction | None,
    accuracy: float,
    lean: float = 0.0,
    most: int = MOST_BALL_NODES,
) -> arb:
    """Enclose delta(t), P[L > t] or P_null[L > t], aiming at a relative radius of `accuracy`.

    `h` is the lattice step, or None for a cut line, on which only delta has a proved remainder. The working
    precision is the caller's. `lean` puts the contour to the right of the saddle point, by this share of its
    distance from the pole: the same value from other numbers. More than `most` nodes are refused.
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
    level = float(point)
    theta = saddle(loss, kind, level, step)
    if lean:
        theta = short_tilt(theta + lean * (theta - kind.pole))
    spread = loss.tilted_spread(theta)
    size = kernel_size(kind, theta, step) * min(1.0, (step or 1.0) / (2.5 * spread))
    if kind is Kind.DELTA and h is not None:
        size *= min(1.0, float(gap / h) + math.exp(-theta * step)) + 1e-300
    need = -math.log(accuracy) + 3 - math.log(size)
    plan = period(loss, kind, theta, max(spread, step), level, level, need)
    if h is not None:
        count = max(8, math.ceil(plan.length / step))
        spacing, reach = count * h, math.pi / step
    else:
        spacing, count = short_above(plan.length), 0
        # the remainder of the kernel beyond the reach, relative to the value; at least some nodes
        reach = max(2 / (math.pi * size * accuracy), 64 / float(spacing))
    # a rough size of the mean modulus of the kernel over the nodes
    mean = max(kernel_size(kind, theta, step), 1.0 if kind is not Kind.DELTA else 1 / (2 * theta))
    depth = -math.log(accuracy) - math.log(size) + 3 + math.log(mean)
    contour = _Contour(loss, kind, Fraction(theta), h, point, gap, spacing, count)
    scaled = contour.log_scale(contour.theta).exp() * contour.node_sum(reach, max(depth, 5.0), most)
    return scaled - arb.union(arb(0), contour.aliases(plan.above, plan.below))


@dataclass(frozen=True, slots=True)
class _Contour:
    """A vertical line with its nodes 2 pi j / spacing; the point lies `gap` above the threshold."""

    loss: Loss
    kind: Kind
    theta: Fraction
    h: Fraction | None
    point: Fraction
    gap: Fraction
    spacing: Fraction
    count: int
    """Nodes of a whole period; 0 on a line."""

    def log_scale(self, tilt: Fraction) -> arb:
        """log of M(t) e^(-t l), under the null hypothesis times e^-l: Chernoff's bound of the tail."""
        log = log_mgf_ball(self.loss, tilt) - ball(tilt * self.point)
        return log - ball(self.point) if self.kind is Kind.NULL else log

    def aliases(self, up: float, down: float) -> arb:
        """An upper bound of sum_{n != 0} e^(theta n P) G(t + nP), by Chernoff's bound at two tilts."""
        total = arb(0)
        for other in (up, down):
            t = Fraction(short_tilt(other)) if other not in (0.0, -1.0) else Fraction(int(other))
            t = max(t, Fraction(-1 if self.kind is Kind.NULL else 0))
            ratio = (-ball(abs(t - self.theta) * self.spacing)).exp()
            total += self.log_scale(t).exp() * ratio / (1 - ratio)
        return total.upper()

    def node_sum(self, reach: float, depth: float, most: int) -> arb:
        """(1/N) sum_j of factor * kernel, in units of e^log_scale, all that is left out enclosed."""
        h, spacing, count = self.h, self.spacing, self.count
        nodes: Sequence[int] = range(count // 2 + 1)
        missed = arb(0)
        if h is None or count > 512:
            radii = [term.radius_ball(depth, float(self.theta)) for term in self.loss.terms]
            try:
                kept = Sieve(*sieved(self.loss, 0.0, reach, radii), reach, depth)
                inside = kept.nodes(float(spacing), most=most)
            except SieveOverflowError as problem:
                raise PrecisionError(
                    f"a certified value would need {problem} on this contour; ask for fewer digits"
                ) from None
            nodes = [int(j) for j in inside if h is None or 2 * j <= count]
            missed = (-ball(Fraction(depth))).exp() * self._kernel_mean()
        if h is None:
            # only nodes up to the reach were summed
            missed += 1 / (arb.pi() * ball(Fraction(reach * (1 - 1e-12)) - 8 / spacing))
        factors = Factors(self.loss, self.theta, spacing, nodes[-1] if len(nodes) else 0)
        phase = (factors.centre - self.point) / spacing
        tilt, turn, total = ball(self.theta), 2 * arb.pi() / ball(spacing), arb(0)
        for j in nodes:
            value = factors.at(j, phase) * kernel_ball(self.kind, acb(tilt, turn * j), h, self.gap)
            total += value.real if j == 0 or 2 * j == count else 2 * value.real
        return total / (ball(spacing) if h is None else count) + arb(0, missed.upper())

    def _kernel_mean(self) -> arb:
        """An upper bound of the mean of |kernel| over all nodes (on a line: the sum over P)."""
        h, tilt = self.h, ball(self.theta)
        if h is None:
            # (1/P) sum 1/|z|^2 = coth(theta P / 2) / (2 theta), and |z + 1| >= |z|; delta only
            return 1 / (2 * tilt * (tilt * ball(self.spacing) / 2).tanh())

        def mean_square(distance: Fraction) -> arb:
            # Parseval: the mean of |1 - r e^(i phi)|^-2 over N equidistant angles
            r = (-ball(distance * h)).exp()
            rn = (-ball(distance * h * self.count)).exp()
            return (1 + rn) / ((1 - r * r) * (1 - rn))

        if self.kind is Kind.ALT:
            return mean_square(self.theta).sqrt()
        if self.kind is Kind.NULL:
            return mean_square(self.theta + 1).sqrt()
        first, second = _gap_weights(h, self.gap)
        top = first + (-tilt * ball(h)).exp() * second
        return top * (mean_square(self.theta) * mean_square(self.theta + 1)).sqrt()


def _gap_weights(h: Fraction, gap: Fraction) -> tuple[arb, arb]:
    """1 - e^-gap and e^-gap - e^-h, without cancellation."""
    shift, step = ball(gap), ball(h)
    return -((-shift).expm1()), (-shift).exp() * -((shift - step).expm1())


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
    first, second = _gap_weights(h, gap)
    return (first + (-z * step).exp() * second) / (e0 * e1)


# -- the transform at one node ---------------------------------------------------------------------------


_QUARTER = fmpq(1, 4)


class Factors:
    """Products of all factors at a node, relative to their values at node 0."""

    def __init__(self, loss: Loss, theta: Fraction, spacing: Fraction, last: int) -> None:
        self.centre = loss.offset
        # plain: only the nearest frequency counts, and the correction lies below the working precision
        self._plain: list[tuple[int, int, arb, Fraction]] = []
        self._others: list[tuple[int, int, BallFactor, int]] = []
        slack = acb(1)
        quadratic, lean = Fraction(0), Fraction(0)
        self._inner = last + 1
        for term in loss.terms:
            rate = term.step / spacing
            factor = term.factor_ball(theta)
            self.centre += term.times * term.step * factor.shift
            if isinstance(factor, GaussianFactor) and factor.is_plain:
                small = arb(0, factor.slack.upper())
                slack *= 1 + acb(small, small)
                weight = -2 * arb.pi() ** 2 * ball(term.size) * term.times
                self._plain.append((rate.numerator, rate.denominator, weight, term.times * factor.near))
                quadratic += term.times * term.sensitivity * rate / spacing
                lean += term.times * factor.near * rate
                self._inner = min(self._inner, int(Fraction(1, 4) / rate))
            else:
                self._others.append((rate.numerator, rate.denominator, factor, term.times))
        self._slack = slack
        # beyond a quarter turn a plain factor is below 2^(-2 prec), and no other factor exceeds 1
        tiny = arb(0, arb(2) ** (-2 * current_bits() + 1))
        self._nothing = acb(tiny, tiny)
        # up to self._inner no turn of a plain factor passes a quarter: together they are one Gaussian
        self._quadratic = -2 * arb.pi() ** 2 * ball(quadratic)
        self._lean = lean

    def at(self, j: int, phase: Fraction) -> acb:
        """Product of the factors at node j, times e^(2 pi i j phase)."""
        turn = j * phase
        if j <= self._inner:
            exponent = self._quadratic * (j * j)
            angle = ball(_reduced(turn + j * self._lean))
        else:
            exponent = arb(0)
            angle = ball(_reduced(turn))
            for top, bottom, weight, lean in self._plain:
                from_turn = centred(j * top, bottom)
                if abs(from_turn) > _QUARTER:
                    return self._nothing
                exponent += weight * arb(from_turn * from_turn)
                angle += arb(from_turn * fmpq(lean.numerator, lean.denominator))
        sine, cosine = (2 * angle).sin_pi(), (2 * angle).cos_pi()
        size = exponent.exp()
        result = acb(size * cosine, size * sine) * self._slack
        for top, bottom, factor, times in self._others:
            result *= factor.at(arb(centred(j * top, bottom))) ** times
        return result


def _reduced(turn: Fraction) -> Fraction:
    return turn - round(turn)


def centred(top: int, bottom: int) -> fmpq:
    """top / bottom modulo 1, in [-1/2, 1/2)."""
    rest = top % bottom
    return fmpq(rest - bottom if 2 * rest >= bottom else rest, bottom)
