"""Two laws of what is published, without and with one record: delta, epsilon, trade-off and risk, exactly.

Outcomes with the same likelihood ratio tell the same, so a pair of laws is a list of masses by ratio. It
grows as cells are added; where it would grow too long, outcomes are split onto a grid of ratios, which can
only tell more, and what follows is an upper bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, reduce
from math import floor, log
from typing import TypeVar

from discreet.errors import InputError
from discreet.numbers import Exact, Interval, fraction, prior, share

Outcome = TypeVar("Outcome", bound=Hashable)

MOST_RATIOS = 4000
"""Ratios that are kept exactly."""

GRID = Fraction(1001, 1000)
"""The step between ratios of the grid."""

FARTHEST = 1 << 60
"""Ratios beyond this, or below its inverse, count as certainty."""

PLACES = 1 << 160
"""What masses on the grid are multiples of, inverted."""


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
        found: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for p, q in masses:
            if p or q:
                ratio = p / q if q else None
                before = found.get(ratio, (Fraction(0), Fraction(0)))
                found[ratio] = before[0] + p, before[1] + q
        certain = [found.pop(None)] if None in found else []
        ordered = sorted(found.items(), key=lambda one: one[0] or 0, reverse=True)
        return cls((*certain, *(pair for _, pair in ordered)), is_exact)

    @property
    def swapped(self) -> TwoLaws:
        """The second law against the first."""
        return TwoLaws(tuple((q, p) for p, q in reversed(self.masses)), self.is_exact)

    @property
    def certain(self) -> Fraction:
        """The chance, under the first law, of what the second cannot give: delta at any epsilon."""
        return sum((p for p, q in self.masses if not q), Fraction(0))

    def excess(self, ratio: Fraction) -> Fraction:
        """Return delta where e^epsilon is this ratio.

        >>> TwoLaws.of({0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}).excess(
        ...     Fraction(2)
        ... )
        Fraction(1, 4)
        """
        return sum((max(p - ratio * q, Fraction(0)) for p, q in self.masses), Fraction(0))

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
        left, missed = share(alpha, name="alpha", closed=True), Fraction(1)
        for p, q in self.masses:
            if not q:
                missed -= p
                continue
            taken = min(left / q, Fraction(1))
            missed -= taken * p
            left -= taken * q
            if not left:
                break
        return max(missed, Fraction(0))

    def accuracy(self, chance: Exact) -> Fraction:
        """Return how often the best guess between the laws is right, if the first has this prior chance.

        >>> TwoLaws.of({0: Fraction(1, 2), 1: Fraction(1, 2)}, {1: Fraction(1)}).accuracy("1/2")
        Fraction(3, 4)
        """
        first = prior(chance)
        return sum((max(first * p, (1 - first) * q) for p, q in self.masses), Fraction(0))

    def __mul__(self, other: TwoLaws) -> TwoLaws:
        """Return both at once, where the outcomes are independent under either law."""
        exact = self.is_exact and other.is_exact
        made = TwoLaws.gathered(
            ((p * s, q * t) for p, q in self.masses for s, t in other.masses), is_exact=exact
        )
        return made if len(made.masses) <= MOST_RATIOS else made.on_grid()

    def on_grid(self) -> TwoLaws:
        """Return a pair of laws on a grid of ratios that tells at least as much.

        An outcome is split in two, one of a ratio below its own and one above: who sees which of the two has
        happened knows more. What rounding of the masses leaves is certainty.
        """
        found: dict[int, Fraction] = {}
        sure = [Fraction(0), Fraction(0)]
        for p, q in self.masses:
            if not p or not q or not 1 / FARTHEST < p / q < FARTHEST:
                sure = [sure[0] + p, sure[1] + q]
                continue
            step = grid_below(p / q)
            low, high = grid_ratio(step), grid_ratio(step + 1)
            upper = (p - low * q) / (high - low)  # p = low (q - upper) + high upper
            for place, part in ((step, q - upper), (step + 1, upper)):
                kept = Fraction(int(part * PLACES), PLACES)
                found[place] = found.get(place, Fraction(0)) + kept
                sure = [sure[0] + (part - kept) * grid_ratio(place), sure[1] + part - kept]
        masses = [(grid_ratio(place) * kept, kept) for place, kept in found.items()]
        certain = [(sure[0], Fraction(0)), (Fraction(0), sure[1])]
        return TwoLaws.gathered([*masses, *certain], is_exact=False)


NOTHING = TwoLaws(((Fraction(1), Fraction(1)),))
"""What tells nothing."""


def together(pairs: Iterable[TwoLaws]) -> TwoLaws:
    """Return independent pairs of laws as one.

    >>> half = TwoLaws.of({0: Fraction(1)}, {0: Fraction(1, 2), 1: Fraction(1, 2)})
    >>> together([half, half]).swapped.certain
    Fraction(3, 4)
    """
    return reduce(lambda one, other: one * other, sorted(pairs, key=lambda one: len(one.masses)), NOTHING)


@cache
def grid_ratio(step: int) -> Fraction:
    """Return a ratio of the grid: a power of its step, rounded so that its denominator stays short.

    >>> float(grid_ratio(0)), float(grid_ratio(1))
    (1.0, 1.001)
    """
    return Fraction(round(GRID**step * FARTHEST**2), FARTHEST**2)


def grid_below(ratio: Fraction) -> int:
    """Return the place of the largest ratio of the grid that is not above a ratio.

    >>> grid_below(Fraction(1)), grid_below(Fraction(999, 1000))
    (0, -2)
    """
    near = floor((log(ratio.numerator) - log(ratio.denominator)) / log(GRID))
    while grid_ratio(near) > ratio:
        near -= 1
    while grid_ratio(near + 1) <= ratio:
        near += 1
    return near


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
