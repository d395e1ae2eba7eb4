"""The law of the privacy loss in exact fractions: a sibling of the evaluators of noise, behind `LossLaw`.

What is published has a probability with a record and one without. Outcomes with the same ratio of the two
tell the same, so the law is a list of masses by ratio. It grows as cells are added; where it would grow too
long, outcomes are split onto a lattice of ratios, which can only tell more, and what follows is a bound
(`convolution`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import lcm
from typing import TypeVar

import numpy as np

from discreet.cellkey.convolution import FARTHEST, lattice_product
from discreet.errors import InputError, PrecisionError
from discreet.loss.curves import Quantity
from discreet.loss.lattice import Floats, log_fraction
from discreet.loss.law import LossLaw
from discreet.loss.values import Arguments, Boxes, Value, Values
from discreet.noise.balls import as_interval, ball, working_bits
from discreet.numbers import Exact, Interval, bound, float_up, fraction, prior, share

Outcome = TypeVar("Outcome", bound=Hashable)
Corners = list[tuple[int, int]]
"""Type I and type II errors of tests, in units of a common denominator, by type I error."""

MOST_RATIOS = 4000
"""Ratios that are kept exactly."""

MOST_EXACT = 16
"""Pairs of laws whose product is kept exactly, if they have few ratios."""

MOST_PRODUCTS = 20_000
"""Products of masses that are worked out exactly at once."""

BITS = (256, 1024, 4096, 16384)
"""Working precisions of e^epsilon and log ratio: more bits where digits are asked for that these lack."""

_SHORT = 1 << 256  # chances of certainty are rounded up to a multiple of its inverse where they are long


@dataclass(frozen=True)
class FractionLaw(LossLaw):
    """Masses (p, q) with a record and without, one for each ratio; exact, or more telling than the truth.

    Questions of `LossLaw` are answered for both directions, as everywhere; `excess`, `ratio_for`,
    `least_error` and `certain` are those of this direction alone, in fractions.

    Guarantee. Assumed: p and q are the probabilities of each outcome, or `is_exact` is false and some
    procedure turns these outcomes into the true ones. Claimed: what is exact equals the definition; what is
    not is on the safe side, and its intervals contain the truth. Checked by
    tests/cellkey/test_fraction_law.py against brute force and the evaluators of noise.

    >>> law = FractionLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1, 4), 2: Fraction(3, 4)})
    >>> law.certain, law.swapped.certain, law.delta(epsilon=0, certified=True)
    (Fraction(1, 2), Fraction(3, 4), <Interval [0.75, 0.75]>)
    >>> law.delta(epsilon=1), law.tradeoff(alpha=0)
    (0.75, 0.25)
    """

    masses: tuple[tuple[Fraction, Fraction], ...]
    is_exact: bool = True

    @classmethod
    def of(cls, first: Mapping[Outcome, Fraction], second: Mapping[Outcome, Fraction]) -> FractionLaw:
        """Return the law of the same outcomes with a record and without."""
        outcomes = dict.fromkeys([*first, *second])
        nothing = Fraction(0)
        return cls.gathered((first.get(y, nothing), second.get(y, nothing)) for y in outcomes)

    @classmethod
    def gathered(cls, masses: Iterable[tuple[Fraction, Fraction]], *, is_exact: bool = True) -> FractionLaw:
        """Return masses with those of equal ratio together, the largest ratio first."""
        nothing = Fraction(0)
        certain, by_ratio = nothing, dict[Fraction, tuple[Fraction, Fraction]]()
        for p, q in masses:
            if q:
                before = by_ratio.get(p / q, (nothing, nothing))
                by_ratio[p / q] = before[0] + p, before[1] + q
            else:
                certain += p
        first = [(certain, nothing)] if certain else []
        return cls((*first, *(mass for _, mass in sorted(by_ratio.items(), reverse=True))), is_exact)

    @cached_property
    def swapped(self) -> FractionLaw:
        """The law without the record against that with it."""
        return FractionLaw(tuple((q, p) for p, q in reversed(self.masses)), self.is_exact)

    @property
    def sides(self) -> tuple[FractionLaw, FractionLaw]:
        """Both directions."""
        return self, self.swapped

    def __add__(self, other: FractionLaw) -> FractionLaw:
        """Return both at once, where the outcomes are independent with the record and without."""
        return together([self, other]) if isinstance(other, FractionLaw) else NotImplemented

    # -- one direction, in fractions ----------------------------------------------------------------------

    @cached_property
    def certain(self) -> Fraction:
        """The chance, with the record, of what cannot be without it: the least delta at any epsilon."""
        return _total(p for p, q in self.masses if not q)

    def excess(self, ratio: Fraction) -> Fraction:
        """Return delta of this direction where e^epsilon is this ratio.

        >>> law = FractionLaw(((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))))
        >>> law.excess(Fraction(2))
        Fraction(1, 4)
        """
        above = [(p, q) for p, q in self.masses if p > ratio * q]
        return _total(p for p, _ in above) - ratio * _total(q for _, q in above)

    def ratio_for(self, delta: Fraction) -> Fraction | None:
        """Return the smallest e^epsilon at which delta is enough; none if no epsilon is.

        >>> law = FractionLaw(((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))))
        >>> [law.ratio_for(Fraction(delta)) for delta in ("1/4", "0", "5/8")]
        [Fraction(2, 1), Fraction(3, 1), Fraction(1, 2)]
        """
        if self.certain > delta:
            return None
        above_p = above_q = Fraction(0)
        for p, q in self.masses:
            if not q:
                above_p += p
                continue
            # with the ratios so far above it, excess at this ratio; the root lies between it and the last
            if above_p - p / q * above_q > delta:
                break
            above_p, above_q = above_p + p, above_q + q
        return (above_p - delta) / above_q

    def least_error(self, alpha: Exact) -> Fraction:
        """Return the least type II error of a test of this type I error, where the record is suspected.

        `tradeoff` bounds those of both directions by one curve, their convex hull: it may be a little lower.

        >>> law = FractionLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1)})
        >>> law.least_error("1/4"), law.swapped.least_error("1/4")
        (Fraction(3, 8), Fraction(1, 2))
        """
        return _between(self._corners, self._unit, share(alpha, name="alpha", closed=True))

    @cached_property
    def _unit(self) -> int:
        """A common denominator of all masses."""
        return lcm(*{x.denominator for mass in self.masses for x in mass})

    @cached_property
    def _corners(self) -> Corners:
        """Errors of the tests that suspect the record above each ratio."""
        steps = [[x.numerator * (self._unit // x.denominator) for x in mass] for mass in self.masses]
        missed = accumulate((-p for p, _ in steps), initial=self._unit)
        return list(zip(accumulate((q for _, q in steps), initial=0), missed, strict=True))

    # -- both directions, in fractions --------------------------------------------------------------------

    def delta_at(self, ratio: Fraction) -> Fraction:
        """Return delta where e^epsilon is this ratio."""
        return max(side.excess(ratio) for side in self.sides)

    def ratio_at(self, delta: Fraction) -> Fraction | None:
        """Return e^epsilon where delta is this; none if no epsilon is enough."""
        return _largest([side.ratio_for(delta) for side in self.sides])

    def right_guesses(self, chance: Exact) -> Fraction:
        """Return how often the best guess is right, if one of the two laws has this prior chance.

        >>> FractionLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1)}).right_guesses("1/2")
        Fraction(3, 4)
        """
        first = prior(chance)
        return 1 - first + first * self.delta_at((1 - first) / first)

    @cached_property
    def _hull(self) -> Corners:
        """The convex hull of the errors of tests of both directions."""
        hull: Corners = []
        for a, b in sorted({*self._corners, *((b, a) for a, b in self._corners)}):
            while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (a, b)):
                hull.pop()
            if not hull or a > hull[-1][0]:
                hull.append((a, b))
        return hull

    # -- the questions of every law -----------------------------------------------------------------------

    def _largest_loss(self) -> Fraction | None:
        return _largest([side.largest for side in self.sides])

    def _answer(
        self,
        quantity: Quantity,
        arguments: Arguments,
        certified: bool,
        digits: int | None,
        accuracy: float | None,
    ) -> Value | Values | Interval | Boxes:
        # delta 0 is a delta like any other here
        if certified or digits is not None:
            return arguments.boxes(self._intervals(quantity, arguments.values, digits))
        return arguments.known(*self._floats(quantity, arguments.values, accuracy))

    def _intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        return [self._enclosed(quantity, x, digits) for x in at]

    def _enclosed(self, quantity: Quantity, at: Fraction, digits: int | None) -> Interval:
        """An interval around one value, as narrow as the digits asked for."""
        for bits in BITS:
            box = self._box(quantity, at, bits)
            if digits is None or box.relative_width <= 10.0**-digits:
                return box
        raise PrecisionError(
            f"{quantity} is from {bound(box.lower)} to {bound(box.upper)}, which is less than {digits} digits"
        )

    def _box(self, quantity: Quantity, at: Fraction, bits: int) -> Interval:
        # what is more telling than the truth bounds one end; the other is that of what tells nothing
        least = self if self.is_exact else NOTHING
        if quantity == "delta":
            power = exp_interval(at, bits)
            return Interval(least.delta_at(power.upper), self.delta_at(power.lower))
        if quantity == "beta":
            return Interval(_between(self._hull, self._unit, at), _between(least._hull, least._unit, at))
        low, high = least.ratio_at(at), self.ratio_at(at)
        if low is None or high is None:
            certain = max(side.certain for side in self.sides)
            raise InputError(
                f"at delta {bound(at)} no epsilon holds: {bound(certain)} is the chance of what only one of "
                "the two laws can give; take a larger delta"
            )
        return Interval(_log_interval(low, bits).lower, _log_interval(high, bits).upper)

    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats]:
        pairs = [self._float(quantity, x) for x in at]
        for x, (value, error) in zip(at, pairs, strict=True):
            if accuracy is not None and not error <= accuracy:
                raise PrecisionError(
                    f"{quantity} at {bound(x)} is bounded by {value:.6g}, and known only to {error:.1g}"
                )
        return np.array([value for value, _ in pairs]), np.array([error for _, error in pairs])

    def _float(self, quantity: Quantity, at: Fraction) -> tuple[float, float]:
        """A value rounded to the safe side, and its error: relative, of an epsilon absolute."""
        if quantity == "epsilon" and self.ratio_at(at) is None:
            return math.inf, 0.0 if self.is_exact else math.inf
        box = self._enclosed(quantity, at, None)
        value = -float_up(-box.lower) if quantity == "beta" else float_up(box.upper)
        off = max(box.upper - Fraction(value), Fraction(value) - box.lower)
        if quantity == "epsilon" or not off:
            return value, float(off)
        return value, float(off / Fraction(value)) if value else math.inf

    # -- beliefs --------------------------------------------------------------------------------------------

    @property
    def largest(self) -> Fraction | None:
        """The largest loss with the record, or hardly more."""
        ratio = self.ratio_for(Fraction(0))
        return None if ratio is None else _log_interval(ratio, BITS[0]).upper

    def mean_posteriors(self, priors: Sequence[Fraction]) -> list[float]:
        """From the definition."""
        return [
            math.fsum(float(p * p * x / (p * x + q * (1 - x))) for p, q in self.masses if p) for x in priors
        ]

    def naming_chances(self, priors: Sequence[Fraction]) -> list[tuple[float, float]]:
        """From the definition."""
        found = []
        for x in priors:
            named = [_share_named(p * x, q * (1 - x)) for p, q in self.masses]
            true, false = (
                _total(mass * share for mass, share in zip(side, named, strict=True))
                for side in zip(*self.masses, strict=True)
            )
            found.append((float(true), float(false)))
        return found

    def prior_deltas(self, priors: Sequence[Fraction]) -> Floats:
        """From the direction of the guess."""
        least = [min(x, 1 - x) for x in priors]
        sides = [self.swapped if 2 * x > 1 else self for x in priors]
        return np.array(
            [float_up(side.excess((1 - x) / x)) for side, x in zip(sides, least, strict=True)], dtype=float
        )

    # -- the loss itself ------------------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        """Mean of the loss with the record; infinite if a loss may be."""
        return self._moment(1)

    @property
    def variance(self) -> float:
        """Variance of the loss with the record."""
        return self._moment(2) - self.mean**2 if not self.certain else math.inf

    def _moment(self, power: int) -> float:
        if self.certain:
            return math.inf
        return math.fsum(float(p) * (log_fraction(p) - log_fraction(q)) ** power for p, q in self.masses if p)

    # -- many at once ---------------------------------------------------------------------------------------

    def times_exactly(self, other: FractionLaw) -> FractionLaw | None:
        """Return both at once with every ratio of theirs; none if there are too many."""
        if len(self.masses) * len(other.masses) > MOST_PRODUCTS:
            return None
        made = FractionLaw.gathered(
            ((p * s, q * t) for p, q in self.masses for s, t in other.masses),
            is_exact=self.is_exact and other.is_exact,
        )
        return made if len(made.masses) <= MOST_RATIOS else None


NOTHING = FractionLaw(((Fraction(1), Fraction(1)),))
"""What tells nothing."""


def together(pairs: Iterable[FractionLaw]) -> FractionLaw:
    """Return independent pairs of laws as one: exact if they are few, with few ratios, else a close bound.

    >>> half = FractionLaw.of({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)})
    >>> together([half, half]).swapped.certain
    Fraction(3, 4)
    >>> third = FractionLaw.of({0: Fraction(2, 3), 1: Fraction(1, 3)}, {0: Fraction(1, 3), 1: Fraction(2, 3)})
    >>> many = together([third] * 1000)
    >>> many.is_exact, round(many.delta(epsilon=1), 12)
    (False, 1.0)
    """
    often = _how_often(pairs)
    often.pop(NOTHING, None)
    if often.total() <= MOST_EXACT:
        made: FractionLaw | None = NOTHING
        for pair in sorted(often.elements(), key=lambda laws: len(laws.masses)):
            made = None if made is None else made.times_exactly(pair)
        if made is not None:
            return made
    masses = lattice_product([(pair.masses, times) for pair, times in often.items()])
    return FractionLaw(tuple(mass for mass in masses if any(mass)), is_exact=False)


def _how_often(pairs: Iterable[FractionLaw]) -> Counter[FractionLaw]:
    """How often each pair of laws is there; long ones are compared only if they are not the same object."""
    by_object: dict[int, tuple[FractionLaw, int]] = {}
    for pair in pairs:
        by_object[id(pair)] = pair, by_object.get(id(pair), (pair, 0))[1] + 1
    often: Counter[FractionLaw] = Counter()
    for pair, times in by_object.values():
        often[pair] += times
    return often


def _total(values: Iterable[Fraction]) -> Fraction:
    """The sum, over a common denominator: much faster than one after the other."""
    listed = list(values)
    unit = lcm(*{part.denominator for part in listed})
    return Fraction(sum(part.numerator * (unit // part.denominator) for part in listed), unit)


def certain_together(pairs: Iterable[FractionLaw], *, swapped: bool = False) -> Fraction:
    """Return the chance that one of several independent pairs of laws is certain, rounded up if it is long.

    Chances are those under the first law, or, swapped, under the second.

    >>> half = FractionLaw.of({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}).swapped
    >>> certain_together([half, half]), certain_together([half] * 200) < 1
    (Fraction(3, 4), True)
    """
    left = Fraction(1)
    for pair, times in _how_often(pairs).items():
        left *= _short_power(1 - (pair.swapped if swapped else pair).certain, times)
    return 1 - left


def _short_power(chance: Fraction, times: int) -> Fraction:
    """A power, rounded down where it would be long."""
    if times <= MOST_EXACT:
        return chance**times
    made, base = _SHORT, int(chance * _SHORT)
    while times:
        if times & 1:
            made = made * base // _SHORT
        base, times = base * base // _SHORT, times >> 1
    return Fraction(made, _SHORT)


def worst_ratio(laws: Iterable[FractionLaw], delta: Fraction) -> Fraction | None:
    """Return the smallest e^epsilon, 1 or more, at which delta is enough for all laws; none if no epsilon is.

    >>> law = FractionLaw(((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))))
    >>> worst_ratio([law, NOTHING], Fraction(1, 4)), worst_ratio([law, NOTHING], Fraction(5, 8))
    (Fraction(2, 1), Fraction(1, 1))
    """
    return _largest([Fraction(1), *(law.ratio_at(delta) for law in laws)])


def _largest(ratios: Sequence[Fraction | None]) -> Fraction | None:
    """The largest ratio; one that is infinite is the largest."""
    finite = [ratio for ratio in ratios if ratio is not None]
    return max(finite) if len(finite) == len(ratios) else None


def _share_named(present: Fraction, absent: Fraction) -> Fraction:
    """How often the best guess is that the record is there, by joint probabilities; a coin decides ties."""
    return Fraction(1, 2) if present == absent else Fraction(present > absent)


def _turns_down(one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]) -> bool:
    """Whether the middle one of three points is above the line of the others, or on it."""
    return (two[0] - one[0]) * (three[1] - one[1]) <= (two[1] - one[1]) * (three[0] - one[0])


def _between(corners: Corners, unit: int, alpha: Fraction) -> Fraction:
    """The type II error of the test, or the mixture of two, that has this type I error."""
    at = bisect_right([a for a, _ in corners], alpha * unit)
    left, upper = corners[at - 1]
    if at == len(corners):
        return Fraction(upper, unit)
    right, lower = corners[at]
    return (upper - (upper - lower) * (alpha * unit - left) / (right - left)) / unit


# -- powers of e ---------------------------------------------------------------------------------------------


def cell_epsilon(epsilon: Exact) -> Fraction:
    """Return an epsilon at which delta of cells is told, from 0 to where ratios count as certain."""
    read = fraction(epsilon, name="epsilon")
    if not 0 <= read <= FARTHEST:
        raise InputError(f"epsilon is {read}; it must be from 0 to {FARTHEST:g}")
    return read


@cache
def exp_interval(epsilon: Fraction, bits: int = BITS[0]) -> Interval:
    """Return two fractions that enclose e^epsilon, from ball arithmetic.

    >>> box = exp_interval(Fraction(1))
    >>> f"{box:.12f}", exp_interval(Fraction(0)).lower
    ('[2.718281828459, 2.718281828460]', Fraction(1, 1))
    """
    with working_bits(bits):
        return as_interval(ball(epsilon).exp())


def _log_interval(ratio: Fraction, bits: int) -> Interval:
    """Two fractions that enclose the logarithm of a ratio."""
    with working_bits(bits):
        return as_interval(ball(ratio).log())
