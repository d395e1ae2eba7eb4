"""delta from its definition, in balls: no tilt, no transform, no lattice sums. It gives a second opinion.

Each event's loss comes from `noise.defined`: for every outcome L = log P/Q is an exact fraction and P a ball,
so that

    delta(eps) = sum over outcomes of P (1 - e^(eps - L)) where L > eps

is a sum over the convolution of the laws of all events. The probability of outcomes left out, far in the
tails, is added to the upper end. All errors are absolute, so far tails only take more bits. Nothing here is
shared with the evaluations that make a certificate, except FLINT.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from fractions import Fraction

from flint import arb, arb_poly

from discreet.errors import PrecisionError
from discreet.noise import Noise
from discreet.noise.balls import as_interval, ball, working_bits
from discreet.noise.defined import MOST_DENSE, DefinedLoss
from discreet.numbers import Interval

MOST_LISTED = 300_000
"""Values of one half of a list, where the lattice is finer."""


def seconds(events: Iterable[Noise], *, bits: int) -> float:
    """About how long `defined_delta` takes; infinite where it refuses.

    >>> from discreet.noise import DiscreteGaussian
    >>> seconds([DiscreteGaussian(variance=5, times=10)], bits=100) < 0.1
    True
    """
    steps, widths = [], []
    for event in events:
        width, noise = event.defined_width(bits), event.as_lattice
        if noise is None or width == math.inf:
            return math.inf
        steps.append(noise.step)
        widths.append(width)
    h = _common(steps)
    span = math.hypot(*(width * float(step / h) for width, step in zip(widths, steps, strict=True)))
    halves = [0.0, 0.0]
    for width in sorted(widths, reverse=True):
        halves[halves.index(min(halves))] += math.log(width)
    longest = math.exp(min(max(halves), 600.0))
    if longest <= min(span, MOST_LISTED):
        return 1e-5 * longest
    return 4e-6 * span * len(widths) if span < MOST_DENSE else math.inf


def defined_delta(events: Iterable[Noise], epsilon: Fraction, *, bits: int) -> Interval:
    """An interval about 2^-bits wide that contains delta(epsilon), or PrecisionError if it takes too long.

    >>> from discreet.noise import DiscreteLaplace
    >>> event = DiscreteLaplace(scale=1)
    >>> box = defined_delta([event], Fraction(0), bits=40)     # (e - 1) / (e + 1)
    >>> round(float(box), 10), float(box.width) < 2**-40
    (0.4621171573, True)
    """
    with working_bits(bits + 64):
        laws = [_law(event, bits + 8) for event in events]
        missed = sum((law.missed for law in laws), arb(0))
        start = sum((law.start for law in laws), Fraction(0))
        h = _common([law.step for law in laws])
        strides = [int(law.step / h) for law in laws]
        parts = list(zip(laws, strides, strict=True))
        halves = _halves(parts)
        longest = max(math.prod(len(law.p) for law, _ in half) for half in halves)
        # the ends of a sum are cut: its length is about the root of the sum of squares
        span = math.hypot(*((len(law.p) - 1) * stride for law, stride in parts))
        if longest <= min(span, MOST_LISTED):
            left, right = (_listed(half) for half in halves)
        elif span < MOST_DENSE:
            left, cut = _dense(parts, arb(2) ** (-bits - 16))
            right = {0: arb(1)}
            missed += cut
        else:
            raise PrecisionError(f"a list of {longest} losses is too long; {MOST_LISTED} are listed")
        total = _expectation(left, right, h, epsilon - start)
        # what is left out counts for at least nothing and at most its probability
        return as_interval(total + missed.upper() * arb(0.5, 0.5))


def _law(event: Noise, bits: int) -> DefinedLoss:
    single = event.defined_loss(bits + math.ceil(math.log2(event.times)))
    if single is None:
        raise PrecisionError(f"the losses of {event} are not listed from a definition")
    if event.times == 1:
        return single
    p, missed = _power(single.p, event.times, bits)
    first, kept = p
    return DefinedLoss(
        event.times * single.start + first * single.step,
        single.step,
        kept,
        event.times * single.missed + missed,
    )


def _power(p: list[arb], times: int, bits: int) -> tuple[tuple[int, list[arb]], arb]:
    """The law of the sum of `times` equal ones: where it starts, and the probability that was cut off."""
    small = arb(2) ** (-bits - 2 * times.bit_length() - 8)
    result, base = (0, arb_poly([1])), (0, arb_poly(p))
    missed, base_missed = arb(0), arb(0)
    while times:
        if times & 1:
            first, poly, cut = _cut(result[1] * base[1], small)
            result = (result[0] + base[0] + first, poly)
            missed = missed + base_missed + cut
        times >>= 1
        if times:
            first, poly, cut = _cut(base[1] * base[1], small)
            base = (2 * base[0] + first, poly)
            base_missed = 2 * base_missed + cut
    return (result[0], result[1].coeffs()), missed


def _cut(poly: arb_poly, small: arb) -> tuple[int, arb_poly, arb]:
    """Cut both ends off while their probability is small."""
    p = poly.coeffs()
    if len(p) > 2 * MOST_DENSE:
        raise PrecisionError("the events have too many values to be listed")
    if len(p) < 64:
        return 0, poly, arb(0)
    ends, cut = [0, 0], arb(0)
    for side in (0, 1):
        total, k = arb(0), 0
        while k < len(p) // 2 and (more := total + abs(p[k if side == 0 else -1 - k])) < small:
            total, k = more, k + 1
        ends[side], cut = k, cut + total
    return ends[0], arb_poly(p[ends[0] : len(p) - ends[1]]), cut.upper()


def _common(steps: list[Fraction]) -> Fraction:
    """The largest step of which all are multiples."""
    bottom = math.lcm(*(step.denominator for step in steps))
    return Fraction(math.gcd(*(int(step * bottom) for step in steps)) or 1, bottom)


_Parts = list[tuple[DefinedLoss, int]]


def _dense(parts: _Parts, small: arb) -> tuple[dict[int, arb], arb]:
    """The law of the whole sum on the lattice, and the probability that was cut off."""
    product, first, missed = arb_poly([1]), 0, arb(0)
    for law, stride in sorted(parts, key=lambda part: len(part[0].p) * part[1]):
        spread = [arb(0)] * ((len(law.p) - 1) * stride + 1)
        spread[::stride] = law.p
        skipped, product, cut = _cut(product * arb_poly(spread), small)
        first, missed = first + skipped, missed + cut
    return {first + k: p for k, p in enumerate(product.coeffs())}, missed


def _halves(parts: _Parts) -> tuple[_Parts, _Parts]:
    """Two halves whose lists are about equally long."""
    halves: tuple[_Parts, _Parts] = ([], [])
    sizes = [1, 1]
    for part in sorted(parts, key=lambda part: -len(part[0].p)):
        shorter = 0 if sizes[0] <= sizes[1] else 1
        halves[shorter].append(part)
        sizes[shorter] *= len(part[0].p)
    return halves


def _listed(parts: _Parts) -> dict[int, arb]:
    law = {0: arb(1)}
    for part, stride in parts:
        fresh: dict[int, arb] = {}
        for base, weight in law.items():
            for k, q in enumerate(part.p):
                key = base + k * stride
                fresh[key] = fresh[key] + weight * q if key in fresh else weight * q
        law = fresh
    return law


def _expectation(left: dict[int, arb], right: dict[int, arb], h: Fraction, epsilon: Fraction) -> arb:
    """E (1 - e^(epsilon - L))_+ where L = h (u + v), u and v drawn from the two halves."""
    keys = sorted(right)
    step = ball(h)
    # over the right values from each on: their probability, and the same weighed by e^(-h v)
    plain, damped = [arb(0)] * (len(keys) + 1), [arb(0)] * (len(keys) + 1)
    for i in range(len(keys) - 1, -1, -1):
        p = right[keys[i]]
        plain[i] = plain[i + 1] + p
        damped[i] = damped[i + 1] + p * (-step * keys[i]).exp()
    bound = epsilon / h
    whole = math.floor(bound)
    total = arb(0)
    for u, p in left.items():
        i = bisect.bisect_right(keys, whole - u)
        if i < len(keys):
            total += p * (plain[i] - ball(epsilon - h * u).exp() * damped[i])
    return total
