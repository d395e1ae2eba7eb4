"""Proofs for events of any laws: every outcome of few events, in balls; many events on a grid.

*Few events.* An outcome of the whole has the product of the probabilities, P with the person and Q without,
and delta = sum of (P - e^eps Q)_+. Equal events are listed by how often each of their outcomes occurs. A
normal loss beside them turns each term into its closed form. What a law leaves out is added to the upper end.
*Many events*: `discreet.loss.proved_grids`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb, fmpz

from discreet.errors import PrecisionError
from discreet.loss.proved_grids import SIZES, GridProof, width_of
from discreet.loss.sides import normal_variance
from discreet.noise import Noise
from discreet.noise.balls import as_interval, ball, lower, padded, upper, working_bits
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.loss.grid_evaluator import GridEvaluator

MOST_PROVED = 150_000
"""Outcomes of all events together that are listed."""

DIGITS = 11
"""Digits of a value proved by a list, if nobody asks for more."""

AIM = 1e-6
"""Relative width of a delta proved on a grid, if nobody asks for another."""

WIDEST = 1e-2
"""A delta with a larger relative width is refused."""

Pairs = list[tuple[arb, arb]]


def proved_delta(loss: GridEvaluator, epsilon: Fraction, digits: int | None = None) -> Interval:
    """An interval that contains delta(epsilon).

    >>> from discreet import compose
    >>> from discreet.noise import TableNoise
    >>> answer = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}, times=2)
    >>> print(compose([answer]).delta(epsilon=0, certified=True))
    [0.499999999995, 0.500000000005]
    """
    if not is_listed(loss, digits):
        return _on_grid(loss, epsilon, digits)
    with working_bits(_bits(loss, digits)):
        value = _delta(loss, epsilon, digits)
        # a probability; and wide enough for the float of the same question
        box = as_interval(value)
    room = Fraction(0) if digits is not None else box.upper / 10**11
    return Interval(max(box.lower - room, Fraction(0)), min(box.upper + room, Fraction(1)))


def proved_epsilon(loss: GridEvaluator, delta: Fraction, digits: int | None = None) -> Interval:
    """An interval that contains the epsilon of a delta: below it delta is larger, above it smaller."""
    if not delta:
        return largest_loss_box(loss)
    guess = float(loss.epsilons([delta], math.inf)[0])
    if not math.isfinite(guess):
        raise PrecisionError(
            f"no epsilon holds at delta {float(delta):.6g}: losses are infinite with a larger probability; "
            "take a larger delta"
        )
    if not is_listed(loss, digits):
        return _epsilon_on_grid(loss, delta, guess, digits)
    centre = Fraction(guess)
    width = Fraction(max(abs(guess), 1e-3)) / 10 ** (digits or DIGITS) / 2
    with working_bits(_bits(loss, digits)):
        for _ in range(12):
            low, high = centre - width, centre + width
            if lower(_delta(loss, low, digits)) >= delta and upper(_delta(loss, high, digits)) <= delta:
                return Interval(low, high)
            width *= 4
    raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed by lists of {loss}")


def largest_loss_box(loss: GridEvaluator) -> Interval:
    """An interval around the largest loss, at which delta becomes zero."""
    with working_bits(256):
        total = arb(0)
        for term in loss.events:
            if term.largest is None:
                raise PrecisionError(f"no epsilon holds at delta 0 with {term}; take a delta above 0")
            total += term.times * term.largest_ball()
        return as_interval(total)


# -- many events --------------------------------------------------------------------------------------------


def proof_near(loss: GridEvaluator, epsilon: float) -> GridProof:
    """Proofs on grids that suit an epsilon and its neighbours."""
    about = loss.quick_delta(abs(epsilon))
    return GridProof(loss.events, loss.sides, epsilon, math.log(about) if about > 0 else -740.0)


def _on_grid(loss: GridEvaluator, epsilon: Fraction, digits: int | None) -> Interval:
    aim = AIM if digits is None else 0.8 * 10.0**-digits
    if (most := largest_loss(loss.events)) is not None and abs(epsilon) >= most:
        with working_bits(256):
            zero = arb(0) if epsilon >= 0 else -ball(epsilon).expm1()
            return as_interval(zero)
    proof = proof_near(loss, float(epsilon))
    box, size = proof.narrow(epsilon, aim, needed=digits is not None)
    check_width("delta", loss, epsilon, width_of(box), size, aim, digits)
    return box


def largest_loss(events: tuple[Noise, ...]) -> Fraction | None:
    """An upper bound of the largest loss; None where there is none."""
    total = Fraction(0)
    for event in events:
        if event.largest is None:
            return None
        total += event.times * event.largest
    return total


def check_width(
    what: str, loss: object, at: Fraction, width: float, size: int, aim: float, digits: int | None
) -> None:
    """Refuse an interval that is wider than asked, and say what can be had."""
    if width <= (aim if digits is not None else WIDEST):
        return
    reached = width * (size / SIZES[-1]) ** 2
    known = math.floor(-math.log10(2 * reached)) if reached < 0.05 else 0
    instead = f"ask for {known} digits" if known > 0 else "floats have their own bounds"
    raise PrecisionError(
        f"{what} at {float(at):.6g} cannot be enclosed to the digits asked for on the finest grid for "
        f"{loss}: {instead}"
    )


def _epsilon_on_grid(loss: GridEvaluator, delta: Fraction, guess: float, digits: int | None) -> Interval:
    proof = proof_near(loss, guess)
    size = max(abs(guess), 1e-3)
    centre = Fraction(guess)
    # how fast the logarithm of delta falls
    step = Fraction(1, 1000)
    here, there = (float(proof.delta(centre + move, 2**14).upper) for move in (Fraction(0), step))
    slope = max(math.log(here / there) / float(step), 1e-9) if there > 0 else 1.0
    aim = AIM if digits is None else min(0.8 * 10.0**-digits * size * slope / 3, 0.01)
    _, points = proof.narrow(centre, aim, needed=digits is not None)
    box = enclosed(lambda e: proof.delta(e, points), delta, centre, slope)
    check_width("epsilon", loss, delta, float(box.width) / size, points, 10.0 ** -(digits or 2), digits)
    return box


def enclosed(
    bounds: Callable[[Fraction], Interval], delta: Fraction, centre: Fraction, slope: float
) -> Interval:
    """Epsilons between which the curve passes through delta, near a guess."""
    ends = []
    for sign in (-1, 1):
        box, move = bounds(centre), Fraction(0)
        for _ in range(60):
            if box.lower >= delta if sign < 0 else box.upper <= delta:
                break
            end = max(box.lower, delta / 10**9) if sign < 0 else box.upper
            gap = abs(math.log(float(end / delta))) if end else 1.0
            move = max(2 * move, Fraction(1.02 * gap / slope) + Fraction(1, 10**12))
            box = bounds(centre + sign * move)
        else:
            raise PrecisionError(f"epsilon at delta {float(delta):.6g} could not be enclosed on a grid")
        ends.append(centre + sign * move)
    return Interval(*ends)


# -- few events ---------------------------------------------------------------------------------------------


def is_listed(loss: GridEvaluator, digits: int | None) -> bool:
    """Whether all outcomes of all events are few enough to be listed."""
    many = 1
    for term in loss.events:
        if term.normal_loss is not None:
            continue
        own = term.outcome_count(_nats(digits))
        if own is None:
            return False
        many *= math.comb(term.times + own - 1, term.times) if term.times < 10_000 else MOST_PROVED + 1
        if many > MOST_PROVED:
            return False
    return True


def _bits(loss: GridEvaluator, digits: int | None) -> int:
    return 200 + 7 * (digits or DIGITS)


def _delta(loss: GridEvaluator, epsilon: Fraction, digits: int | None) -> arb:
    """delta as a ball: the larger of both directions, at an epsilon of either sign."""
    if epsilon < 0:
        back = ball(epsilon)
        return -back.expm1() + back.exp() * _delta(loss, -epsilon, digits)
    pairs, left_out = _outcomes(loss.events, digits)
    normal = normal_variance(loss.events)
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
        if term.normal_loss is not None:
            continue
        own, missed = term.outcomes_ball(_nats(digits))
        own = _merged(own)
        left_out += term.times * missed
        repeated = list(_repeated(own, term.times))
        pairs = [(a * c, b * d) for a, b in pairs for c, d in repeated]
    return pairs, left_out.upper()


def _nats(digits: int | None) -> float:
    return 2.5 * (digits or DIGITS) + 60.0


def _merged(pairs: Pairs) -> Pairs:
    """Outcomes that neither hypothesis allows go; equal ones stay apart, since balls cannot tell."""
    return [(p, q) for p, q in pairs if not (p == 0 and q == 0)]


def _repeated(pairs: Pairs, times: int) -> Iterator[tuple[arb, arb]]:
    """The outcomes of equal events, by how often each occurs: one after the other, however many there are."""
    waiting = [(0, times, arb(1), arb(1))]
    while waiting:
        first, left, p, q = waiting.pop()
        if left == 0:
            yield p, q
            continue
        if first == len(pairs) - 1:
            yield p * pairs[first][0] ** left, q * pairs[first][1] ** left
            continue
        for often in range(left + 1):
            ways = arb(fmpz(math.comb(left, often)))
            waiting.append((first + 1, left - often, p * ways, q * ways))
            p, q = p * pairs[first][0], q * pairs[first][1]
