"""Tails of one loss in ball arithmetic: on a contour, or by listing values; every error enclosed.

*On a contour.* Writing T for the trapezoidal sum over all nodes, Poisson summation gives
T = sum_n e^(theta n P) G(t + nP) with all terms positive, so that G lies in [T - aliases, T]. To T belong the
nodes that are summed as balls, the nodes that the sieve left out, and on a line the nodes beyond the reach.
The last three are bounded as the explanation page proves, and the bounds are themselves balls.

*By listing*, for compositions of few distinct terms without a usable lattice. Values of the loss are compared
as exact integers, so only weights carry a radius. Under the tilt e^(theta L) every weight in the sum lies
between 0 and 1, so what the windows leave out changes the result by at most its tilted probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import acb, arb, arb_poly, fmpq

from discreet.accounting.contour import (
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
from discreet.accounting.lists import partition
from discreet.accounting.loss import Loss
from discreet.errors import PrecisionError
from discreet.noise import Noise
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


# -- by listing values -----------------------------------------------------------------------------------


MOST_LISTED = 400_000
_WHOLE = 5000  # laws of fewer values are not cut


def listed_ball(loss: Loss, kind: Kind, threshold: Fraction) -> arb:
    """Enclose delta(t), P[L > t] or P_null[L > t] by listing values, at the caller's working precision."""
    if kind is Kind.REST:
        raise PrecisionError("1 - delta cannot be summed directly; ask for delta")
    if loss.largest is not None and threshold >= loss.largest:
        return arb(0)
    # to a few bits only, so that neighbouring thresholds share their lists
    tilt = saddle(loss, kind, float(threshold), 0.0)
    theta = Fraction(math.ldexp(round(math.ldexp(math.frexp(tilt)[0], 7)), math.frexp(tilt)[1] - 7))
    rate = theta + 1 if kind is Kind.NULL else theta
    lists = _lists(loss, theta, rate, kind is Kind.DELTA, current_bits())
    bound = (threshold - loss.offset) / loss.step
    limit, above = math.floor(bound), len(lists.right)
    first = second = arb(0)
    for k, u in enumerate(lists.left):
        while above and lists.right[above - 1] > limit - u:
            above -= 1
        first += lists.plain[k] * lists.plain_above[above]
        if lists.steep:
            second += lists.steep[k] * lists.steep_above[above]
    at = ball(bound * loss.step)
    total = (ball(rate) * at).exp() * first - (ball(rate + 1) * at).exp() * second
    total += arb(0, lists.missed)
    scale = log_mgf_ball(loss, theta) - ball(rate * threshold)
    return scale.exp() * total


class _Lists(NamedTuple):
    """Two halves of a loss, in units of its step, and weights e^(-rate v) (delta: also e^(-(rate + 1) v))."""

    left: list[int]
    plain: list[arb]
    steep: list[arb]
    right: list[int]
    plain_above: list[arb]
    """Sums of the weights of the right half, from each value on."""
    steep_above: list[arb]
    missed: arb
    """A bound of the tilted probability left out."""


@lru_cache(maxsize=2)
def _lists(loss: Loss, theta: Fraction, rate: Fraction, steep: bool, bits: int) -> _Lists:
    left_terms, right_terms, left_size, right_size = partition(loss, float(theta))
    growth = math.sqrt(bits * math.log(2) / 46) ** len(loss.terms)
    if max(left_size, right_size) * growth > MOST_LISTED:
        raise PrecisionError("a certified value would need too many values of the loss to be listed")
    h = loss.step
    left, missed_left = _listed(left_terms, theta, h)
    right, missed_right = _listed(right_terms, theta, h)
    tilt, more = ball(rate * h), ball((rate + 1) * h)
    values, keys = sorted(left), sorted(right)
    plain_above, steep_above = [arb(0)], [arb(0)]
    for v in reversed(keys):
        plain_above.append(plain_above[-1] + right[v] * (-tilt * v).exp())
        if steep:
            steep_above.append(steep_above[-1] + right[v] * (-more * v).exp())
    return _Lists(
        values,
        [left[u] * (-tilt * u).exp() for u in values],
        [left[u] * (-more * u).exp() for u in values] if steep else [],
        keys,
        plain_above[::-1],
        steep_above[::-1],
        (missed_left + missed_right).upper(),
    )


def _listed(terms: list[Noise], theta: Fraction, h: Fraction) -> tuple[dict[int, arb], arb]:
    """Tilted law of a half, by integer value in units of h, and a bound of the probability left out."""
    law: dict[int, arb] = {0: arb(1)}
    missed = arb(0)
    for term in terms:
        first, p, out = _window(term, theta)
        missed += out
        stride = int(term.step / h)
        fresh: dict[int, arb] = {}
        for base, weight in law.items():
            for k, q in enumerate(p):
                key = base + (first + k) * stride
                fresh[key] = fresh[key] + weight * q if key in fresh else weight * q
        law = fresh
    return law, missed


def _window(term: Noise, theta: Fraction) -> tuple[int, list[arb], arb]:
    """Tilted law of the sum of the term's events on a window, and the probability outside."""
    law = term.law_ball(theta)
    return law if term.times == 1 else _power(*law, term.times)


def _power(first: int, p: list[arb], out: arb, times: int) -> tuple[int, list[arb], arb]:
    """The law of the sum of `times` copies: whole if it is short, else on a window with a tail bound."""
    if times * (len(p) - 1) < _WHOLE:
        return times * first, (arb_poly(p) ** times).coeffs(), (times * out).upper()
    mean = sum(float(q.mid()) * k for k, q in enumerate(p))
    spread = max(math.sqrt(sum(float(q.mid()) * (k - mean) ** 2 for k, q in enumerate(p))), 1e-3)
    bits = (current_bits() + 10) * math.log(2)
    half = math.ceil(math.sqrt(2 * bits * times) * spread + 2 * bits) + 2
    size = 2 * half + 1
    if size > MOST_LISTED:
        raise PrecisionError("a certified value would need too many values of the loss to be listed")
    start = round(times * mean) - half
    wheel = _cyclic_power(arb_poly(p), times, size)
    law = [wheel[(start + k) % size] for k in range(size)]
    # Chernoff for the centred sum, both sides, at the tilt that suits a Gaussian of this spread
    s = Fraction(round(2**20 * min(half / (times * spread**2), 1.0)) + 1, 2**20)
    tails = arb(0)
    for sign in (1, -1):
        edge = start + size if sign == 1 else start - 1
        mgf = sum((q * ball(sign * s * k).exp() for k, q in enumerate(p)), arb(0))
        tails += (times * mgf.log() - ball(sign * s * edge)).exp()
    # p is short of a law by `out`: each event may be outside its own window
    return times * first + start, law, (2 * tails + times * out).upper()


def _cyclic_power(base: arb_poly, times: int, size: int) -> arb_poly:
    result = arb_poly([1])
    while times:
        if times & 1:
            result = _wrapped(result * base, size)
        times >>= 1
        if times:
            base = _wrapped(base * base, size)
    return result


def _wrapped(poly: arb_poly, size: int) -> arb_poly:
    """The polynomial modulo x^size - 1."""
    coefficients = poly.coeffs()
    folded = coefficients[:size] + [arb(0)] * max(0, size - len(coefficients))
    for k in range(size, len(coefficients)):
        folded[k % size] += coefficients[k]
    return arb_poly(folded)
