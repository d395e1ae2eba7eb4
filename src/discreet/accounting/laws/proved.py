"""Proofs for few events of any laws: every outcome of all of them together, in balls.

An outcome of the whole has the product of the probabilities, P with the person and Q without, and delta =
sum of (P - e^eps Q)_+. Equal events are listed by how often each of their outcomes occurs. A normal loss
beside them turns each term into its closed form. What a law leaves out is added to the upper end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, fmpz

from discreet.errors import PrecisionError
from discreet.noise import ContinuousGaussian, ContinuousNoise, Noise
from discreet.noise.balls import as_interval, ball, lower, padded, upper, working_bits
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.accounting.laws.workings import LawWorkings

MOST_PROVED = 150_000
"""Outcomes of all events together."""

DIGITS = 11
"""Digits of a proved value, if nobody asks for more."""

Pairs = list[tuple[arb, arb]]


def proved_delta(loss: LawWorkings, epsilon: Fraction, digits: int | None = None) -> Interval:
    """An interval that contains delta(epsilon).

    >>> from discreet import compose
    >>> from discreet.noise import TableNoise
    >>> answer = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}, times=2)
    >>> print(compose([answer]).delta(epsilon=0, certified=True))
    [0.499999999995, 0.500000000005]
    """
    with working_bits(_bits(loss, digits)):
        value = _delta(loss, epsilon, digits)
        # a probability; and wide enough for the float of the same question
        box = as_interval(value)
    room = Fraction(0) if digits is not None else box.upper / 10**11
    return Interval(max(box.lower - room, Fraction(0)), min(box.upper + room, Fraction(1)))


def proved_epsilon(loss: LawWorkings, delta: Fraction, digits: int | None = None) -> Interval:
    """An interval that contains the epsilon of a delta: below it delta is larger, above it smaller."""
    guess = float(loss.epsilons([delta], math.inf)[0])
    if not math.isfinite(guess):
        raise PrecisionError(
            f"no epsilon holds at delta {float(delta):.6g}: losses are infinite with a larger probability; "
            "take a larger delta"
        )
    centre = Fraction(guess)
    width = Fraction(max(abs(guess), 1e-3)) / 10 ** (digits or DIGITS) / 2
    with working_bits(_bits(loss, digits)):
        for _ in range(12):
            low, high = centre - width, centre + width
            if lower(_delta(loss, low, digits)) >= delta and upper(_delta(loss, high, digits)) <= delta:
                return Interval(low, high)
            width *= 4
    raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed by lists of {loss}")


def _bits(loss: LawWorkings, digits: int | None) -> int:
    return 200 + 7 * (digits or DIGITS)


def _delta(loss: LawWorkings, epsilon: Fraction, digits: int | None) -> arb:
    """delta as a ball: the larger of both directions, at an epsilon of either sign."""
    if epsilon < 0:
        back = ball(epsilon)
        return -back.expm1() + back.exp() * _delta(loss, -epsilon, digits)
    pairs, left_out = _outcomes(loss.events, digits)
    normal = sum(
        (term.times * term.loss_variance for term in loss.events if isinstance(term, ContinuousGaussian)),
        Fraction(0),
    )
    values = [_one_side(pairs, epsilon, normal)]
    if len(loss.sides) > 1:
        values.append(_one_side([(p, q) for q, p in pairs], epsilon, normal))
    largest = values[0].max(values[1]) if len(values) > 1 else values[0]
    return padded(largest + left_out / 2, left_out / 2)


def _one_side(pairs: Pairs, epsilon: Fraction, normal: Fraction) -> arb:
    factor, total = ball(epsilon).exp(), arb(0)
    if not normal:
        for absent, present in pairs:
            total += (present - factor * absent).max(arb(0))
        return total
    s = ball(normal).sqrt()
    for absent, present in pairs:
        if not absent > 0:
            total += present if absent == 0 else present.union(arb(0))
            continue
        if not present > 0:
            continue
        a = s / 2 - (ball(epsilon) - (present / absent).log()) / s
        total += present * _phi(a) - factor * absent * _phi(a - s)
    return total


def _phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _outcomes(terms: tuple[Noise, ...], digits: int | None) -> tuple[Pairs, arb]:
    """The probabilities of all outcomes of all events but normal ones, and a bound of what is left out."""
    pairs: Pairs = [(arb(1), arb(1))]
    left_out = arb(0)
    for term in terms:
        if isinstance(term, ContinuousGaussian):
            continue
        if isinstance(term, ContinuousNoise):
            raise PrecisionError(
                f"{term} has a loss with a density, which lists cannot prove; floats have it"
            )
        own, missed = term.outcomes_ball(_nats(digits))
        own = _merged(own)
        left_out += term.times * missed
        count = math.comb(term.times + len(own) - 1, term.times) if term.times < 10_000 else MOST_PROVED + 1
        if count * len(pairs) > MOST_PROVED:
            raise PrecisionError(
                f"a proof lists all outcomes, and {term} has too many beside the others; at most "
                f"{MOST_PROVED:,} are listed, and floats have their own bounds"
            )
        repeated = list(_repeated(own, term.times))
        pairs = [(a * c, b * d) for a, b in pairs for c, d in repeated]
    return pairs, left_out.upper()


def _nats(digits: int | None) -> float:
    return 2.5 * (digits or DIGITS) + 60.0


def _merged(pairs: Pairs) -> Pairs:
    """Outcomes that neither hypothesis allows go; equal ones stay apart, since balls cannot tell."""
    return [(p, q) for p, q in pairs if not (p == 0 and q == 0)]


def _repeated(pairs: Pairs, times: int) -> Iterator[tuple[arb, arb]]:
    """The outcomes of equal events, by how often each occurs."""

    def rest(first: int, left: int, p: arb, q: arb) -> Iterator[tuple[arb, arb]]:
        if first == len(pairs) - 1:
            yield p * pairs[first][0] ** left, q * pairs[first][1] ** left
            return
        power_p, power_q = p, q
        for often in range(left + 1):
            ways = arb(fmpz(math.comb(left, often)))
            yield from rest(first + 1, left - often, power_p * ways, power_q * ways)
            power_p, power_q = power_p * pairs[first][0], power_q * pairs[first][1]

    return rest(0, times, arb(1), arb(1))
