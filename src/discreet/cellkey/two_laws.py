"""Two laws of what is published, without and with one record: delta, epsilon, trade-off and risk, exactly.

Outcomes with the same likelihood ratio tell the same, so a pair of laws is a list of masses by ratio. It
grows as cells are added; where it would grow too long, outcomes are split onto a lattice of ratios, which can
only tell more, and what follows is an upper bound (`convolution`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm
from typing import TypeVar

from discreet.cellkey.convolution import lattice_product
from discreet.errors import InputError
from discreet.numbers import Exact, Interval, fraction, prior, share

Outcome = TypeVar("Outcome", bound=Hashable)

MOST_RATIOS = 4000
"""Ratios that are kept exactly."""

MOST_EXACT = 16
"""Pairs of laws whose product is kept exactly, if they have few ratios."""

MOST_PRODUCTS = 20_000
"""Products of masses that are worked out exactly at once."""

_SHORT = 1 << 256  # chances of certainty are rounded up to a multiple of its inverse where they are long


@dataclass(frozen=True, slots=True)
class TwoLaws:
    """Masses (p, q) under two laws, one for each likelihood ratio; exact, or more telling than the truth.

    >>> pair = TwoLaws.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1, 4), 2: Fraction(3, 4)})
    >>> pair.certain, pair.delta(0), pair.swapped.certain
    (Fraction(1, 2), <Interval [0.75, 0.75]>, Fraction(3, 4))
    """

    masses: tuple[tuple[Fraction, Fraction], ...]
    is_exact: bool = True

    @classmethod
    def of(cls, first: Mapping[Outcome, Fraction], second: Mapping[Outcome, Fraction]) -> TwoLaws:
        """Return two laws of the same outcomes."""
        outcomes = dict.fromkeys([*first, *second])
        nothing = Fraction(0)
        return cls.gathered((first.get(y, nothing), second.get(y, nothing)) for y in outcomes)

    @classmethod
    def gathered(cls, masses: Iterable[tuple[Fraction, Fraction]], *, is_exact: bool = True) -> TwoLaws:
        """Return masses with those of equal ratio together, the largest ratio first."""
        by_ratio: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for p, q in masses:
            if p or q:
                ratio = p / q if q else None
                before = by_ratio.get(ratio, (Fraction(0), Fraction(0)))
                by_ratio[ratio] = before[0] + p, before[1] + q
        certain = [by_ratio.pop(None)] if None in by_ratio else []
        ordered = sorted(by_ratio.items(), key=lambda ratio_and_mass: ratio_and_mass[0] or 0, reverse=True)
        return cls((*certain, *(pair for _, pair in ordered)), is_exact)

    @property
    def swapped(self) -> TwoLaws:
        """The second law against the first."""
        return TwoLaws(tuple((q, p) for p, q in reversed(self.masses)), self.is_exact)

    @property
    def certain(self) -> Fraction:
        """The chance, under the first law, of what the second cannot give: delta at any epsilon."""
        return _total(p for p, q in self.masses if not q)

    def excess(self, ratio: Fraction) -> Fraction:
        """Return delta where e^epsilon is this ratio.

        >>> TwoLaws.of({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}).excess(
        ...     Fraction(2)
        ... )
        Fraction(1, 4)
        """
        above = [(p, q) for p, q in self.masses if p > ratio * q]
        return _total(p for p, _ in above) - ratio * _total(q for _, q in above)

    def delta(self, epsilon: Exact) -> Interval:
        """Return delta at an epsilon, enclosed: e^epsilon is no fraction, unless epsilon is 0."""
        box = exp_interval(fraction(epsilon, name="epsilon"))
        return Interval(self.excess(box.upper), self.excess(box.lower))

    def ratio_for(self, delta: Fraction) -> Fraction | None:
        """Return the smallest e^epsilon at which delta is enough, 1 or more; none if no epsilon is.

        >>> pair = TwoLaws.of({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)})
        >>> pair.ratio_for(Fraction(1, 4)), pair.ratio_for(Fraction(0))
        (Fraction(2, 1), Fraction(3, 1))
        """
        certain = self.certain
        if certain > delta:
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
        return max((above_p - delta) / above_q, Fraction(1)) if above_q else Fraction(1)

    def tradeoff(self, alpha: Exact) -> Fraction:
        """Return the least type II error of a test of the second law against the first of this type I error.

        >>> TwoLaws.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1)}).tradeoff("1/4")
        Fraction(3, 8)
        """
        left = share(alpha, name="alpha", closed=True)
        unit = lcm(left.denominator, *{x.denominator for mass in self.masses for x in mass})
        room, missed = int(left * unit), unit
        for p, q in self.masses:
            here, cost = (x.numerator * (unit // x.denominator) for x in (p, q))
            if cost > room:
                return max((missed - here * Fraction(room, cost)) / unit, Fraction(0))
            missed, room = missed - here, room - cost
        return Fraction(missed, unit)

    def accuracy(self, chance: Exact) -> Fraction:
        """Return how often the best guess between the laws is right, if the first has this prior chance.

        >>> TwoLaws.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1)}).accuracy("1/2")
        Fraction(3, 4)
        """
        first = prior(chance)
        guessed = [first * p > (1 - first) * q for p, q in self.masses]
        both = list(zip(self.masses, guessed, strict=True))
        return first * _total(p for (p, _), yes in both if yes) + (1 - first) * _total(
            q for (_, q), yes in both if not yes
        )

    def __mul__(self, other: TwoLaws) -> TwoLaws:
        """Return both at once, where the outcomes are independent under either law."""
        return together([self, other])

    def times_exactly(self, other: TwoLaws) -> TwoLaws | None:
        """Return both at once with every ratio of theirs; none if there are too many."""
        if len(self.masses) * len(other.masses) > MOST_PRODUCTS:
            return None
        made = TwoLaws.gathered(
            ((p * s, q * t) for p, q in self.masses for s, t in other.masses),
            is_exact=self.is_exact and other.is_exact,
        )
        return made if len(made.masses) <= MOST_RATIOS else None


NOTHING = TwoLaws(((Fraction(1), Fraction(1)),))
"""What tells nothing."""


def together(pairs: Iterable[TwoLaws]) -> TwoLaws:
    """Return independent pairs of laws as one: exact if they are few, with few ratios, else a close bound.

    >>> half = TwoLaws.of({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)})
    >>> together([half, half]).swapped.certain
    Fraction(3, 4)
    >>> third = TwoLaws.of({0: Fraction(2, 3), 1: Fraction(1, 3)}, {0: Fraction(1, 3), 1: Fraction(2, 3)})
    >>> many = together([third] * 1000)
    >>> many.is_exact, round(float(many.delta(1).upper), 12)
    (False, 1.0)
    """
    often = _how_often(pairs)
    often.pop(NOTHING, None)
    if often.total() <= MOST_EXACT:
        made: TwoLaws | None = NOTHING
        for pair in sorted(often.elements(), key=lambda laws: len(laws.masses)):
            made = None if made is None else made.times_exactly(pair)
        if made is not None:
            return made
    masses = lattice_product([(pair.masses, times) for pair, times in often.items()])
    return TwoLaws(tuple(mass for mass in masses if any(mass)), is_exact=False)


def _how_often(pairs: Iterable[TwoLaws]) -> Counter[TwoLaws]:
    """How often each pair of laws is there; long ones are compared only if they are not the same object."""
    by_object: dict[int, tuple[TwoLaws, int]] = {}
    for pair in pairs:
        by_object[id(pair)] = pair, by_object.get(id(pair), (pair, 0))[1] + 1
    often: Counter[TwoLaws] = Counter()
    for pair, times in by_object.values():
        often[pair] += times
    return often


def _total(values: Iterable[Fraction]) -> Fraction:
    """The sum, over a common denominator: much faster than one after the other."""
    listed = list(values)
    unit = lcm(*{part.denominator for part in listed})
    return Fraction(sum(part.numerator * (unit // part.denominator) for part in listed), unit)


def certain_together(pairs: Iterable[TwoLaws], *, swapped: bool = False) -> Fraction:
    """Return the chance that one of several independent pairs of laws is certain, rounded up if it is long.

    Chances are those under the first law, or, swapped, under the second.

    >>> half = TwoLaws.of({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}).swapped
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


@cache
def exp_interval(epsilon: Fraction) -> Interval:
    """Return two fractions that enclose e^epsilon, to forty digits.

    >>> box = exp_interval(Fraction(1))
    >>> f"{box:.12f}", exp_interval(Fraction(0)).lower
    ('[2.718281828459, 2.718281828460]', Fraction(1, 1))
    """
    if not 0 <= epsilon <= 200:
        raise InputError(f"epsilon is {epsilon}; it must be from 0 to 200")
    if epsilon == 0:
        return Interval(Fraction(1), Fraction(1))
    halvings = max(int(epsilon).bit_length(), 1) + 1
    small, term, total = epsilon / 2**halvings, Fraction(1), Fraction(1)
    for number in range(1, 60):
        term = term * small / number
        total += term
    scale = 10**60
    low, high = (Fraction(int(end * scale) + more, scale) for end, more in ((total, 0), (total + term, 1)))
    for _ in range(halvings):
        low, high = Fraction(int(low * low * scale), scale), Fraction(int(high * high * scale) + 1, scale)
    return Interval(low, high)
