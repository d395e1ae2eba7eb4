"""Tails of one loss in ball arithmetic by listing its values; every error enclosed.

For compositions of few distinct terms without a usable lattice. Values of the loss are compared as exact
integers, so only weights carry a radius. Under the tilt e^(theta L) every weight in the sum lies between 0
and 1, so what the windows leave out changes the result by at most its tilted probability.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb, arb_poly

from discreet.errors import PrecisionError
from discreet.loss.certified.tails import log_mgf_ball
from discreet.loss.contour import Kind, saddle
from discreet.loss.lattice import Loss
from discreet.loss.lists import partition
from discreet.noise import LatticeNoise
from discreet.noise.balls import ball, current_bits

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


def _listed(terms: list[LatticeNoise], theta: Fraction, h: Fraction) -> tuple[dict[int, arb], arb]:
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


def _window(term: LatticeNoise, theta: Fraction) -> tuple[int, list[arb], arb]:
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
