"""A tilted loss on a grid in whole numbers, rounded up: composed exactly, with a count of all that rounding
adds.

The grid has the points k h, h a power of 1/2. `mass[k]` units lie at the point `first + k`; a unit is
2^exponent. The measure mu that is meant (the true law with every loss connected to the dots, tilted by
e^(theta L)) is the sum of two: kappa <= mass at every point, with at most `over` units less in all, and a
rest of at most `lost` units anywhere. Products are products of polynomials with whole coefficients, computed
without error and rounded up; what falls off the ends of the grid is counted as lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from discreet.errors import PrecisionError
from discreet.memory import Forgetful
from discreet.noise.balls import ball, upper

Units = NDArray[np.uint64]

TOTAL_BITS = 61
"""The sum of all masses has at most this many bits: then a product's coefficients have at most 122."""

_SLOT = 16  # bytes of a coefficient of a product


@dataclass(frozen=True, eq=False)
class Masses(Forgetful):
    """A measure on the grid, from above.

    >>> coin = Masses(0, 0, np.array([3, 1], dtype=np.uint64), -2, Fraction(1))
    >>> both = coin.times(coin, 0)
    >>> both.mass.tolist(), both.exponent
    ([9, 6, 1], -4)
    """

    level: int
    """The step of the grid is 2^-level."""
    first: int
    mass: Units
    exponent: int
    splits: Fraction
    """The sum of the squares of the steps of all grids that losses were split onto."""
    over: int = 0
    lost: int = 0

    @cached_property
    def total(self) -> int:
        """The sum of all masses."""
        return int(self.mass.sum())

    @property
    def step(self) -> Fraction:
        """The distance of two points."""
        return grid_step(self.level)

    @property
    def width(self) -> Fraction:
        """From the first point to the last."""
        return self.step * self.mass.size

    def trimmed(self, cut: Fraction | float) -> Masses:
        """Without ends that have no more than this part of the total on either side; it is lost."""
        if not self.total:
            return self
        most = int(Fraction(cut) * self.total)
        before = np.cumsum(self.mass)
        low = int(np.searchsorted(before, np.uint64(most), side="right"))
        high = int(np.searchsorted(before, np.uint64(self.total - most), side="left")) + 1
        high = min(max(high, low + 1), self.mass.size)
        kept = self.mass[low:high]
        gone = self.total - int(kept.sum())
        return Masses(
            self.level,
            self.first + low,
            kept,
            self.exponent,
            self.splits,
            self.over,
            self.lost + gone,
        )

    def times(self, other: Masses, cut: Fraction | float) -> Masses:
        """The sum of two independent losses on one grid, without ends of this part of the whole."""
        assert self.level == other.level
        shift = max((self.total * other.total).bit_length() - TOTAL_BITS, 0)
        mass = product(self.mass, other.mass, shift)
        over = self.total * other.over + other.total * self.over
        lost = self.total * other.lost + other.total * self.lost + self.lost * other.lost
        whole = Masses(
            self.level,
            self.first + other.first,
            mass,
            self.exponent + other.exponent + shift,
            self.splits + other.splits,
            _up(over, shift) + mass.size,
            _up(lost, shift),
        )
        return whole.trimmed(cut)

    def power(self, times: int, most: int, theta: Fraction, cut: Fraction | float) -> Masses:
        """The sum of equal independent losses, on grids of at most `most` points."""
        result: Masses | None = None
        square = self
        while True:
            if times & 1:
                result = square if result is None else joined_masses(result, square, most, theta, cut)
            times >>= 1
            if not times:
                assert result is not None
                return result
            square = joined_masses(square, square, most, theta, cut)

    def coarser(self, theta: Fraction) -> Masses:
        """On the grid of twice the step: every second point is split between its neighbours.

        The shares are 1 / (1 + e^-h) above and the rest below, so that E e^-D = 1; under the tilt they
        change with e^(theta D).
        """
        if theta * self.step > Fraction(1, 2):
            raise PrecisionError("the tilt is too strong for the grid")
        h, t = ball(self.step), ball(theta)
        above = (t * h).exp() / (1 + (-h).exp())
        below = (-t * h).exp() / (1 + h.exp())
        bits = TOTAL_BITS - 1
        shares = [_whole_above(share * arb(2) ** bits) for share in (below, above)]
        start = self.first % 2
        mass = self.mass if not start else np.concatenate([np.zeros(1, dtype=np.uint64), self.mass])
        if mass.size % 2:
            mass = np.append(mass, np.uint64(0))
        made = product(mass[1::2], np.array(shares, dtype=np.uint64), bits)
        made[:-1] += mass[0::2]
        grows = max(Fraction(sum(shares), 2**bits), Fraction(1))
        # shares are rounded up by less than a unit of 2^-bits, masses by less than a unit
        over = _ceil(self.over * grows) + made.size + 2 * _up(self.total, bits)
        # (under a strong tilt the whole may grow beyond its bits: rounded by one more)
        new = Masses(
            self.level - 1,
            (self.first - start) // 2,
            made,
            self.exponent,
            self.splits + (2 * self.step) ** 2,
            over,
            _ceil(self.lost * grows),
        )
        return new.normal()

    def normal(self) -> Masses:
        """With as many bits as a factor may have."""
        shift = self.total.bit_length() - TOTAL_BITS
        if shift <= 0:
            return self
        half = np.uint64(shift)
        mass = (self.mass >> half) + (self.mass & np.uint64((1 << shift) - 1) != 0).astype(np.uint64)
        return Masses(
            self.level,
            self.first,
            mass,
            self.exponent + shift,
            self.splits,
            _up(self.over, shift) + mass.size,
            _up(self.lost, shift),
        )


def grid_step(level: int) -> Fraction:
    """The step of the grid of this level.

    >>> grid_step(3), grid_step(-1)
    (Fraction(1, 8), Fraction(2, 1))
    """
    return Fraction(1, 2**level) if level >= 0 else Fraction(2**-level)


def joined_masses(one: Masses, two: Masses, most: int, theta: Fraction, cut: Fraction | float) -> Masses:
    """The sum of two independent losses, on a grid so coarse that it has at most `most` points."""
    same = one is two
    while one.level > two.level:
        one = one.coarser(theta)
    while two.level > one.level:
        two = two.coarser(theta)
    made = one.times(one if same else two, cut)
    while made.mass.size > most:
        made = made.coarser(theta)
    return made


def product(one: Units, two: Units, shift: int) -> Units:
    """The product of two polynomials, over 2^shift, each coefficient rounded up.

    The coefficients stand side by side in one long number (Kronecker's substitution), which FLINT multiplies;
    each has room for the product of the two sums.

    >>> product(np.array([5, 1], dtype=np.uint64), np.array([3, 2], dtype=np.uint64), 1).tolist()
    [8, 7, 1]
    """
    size = one.size + two.size - 1
    left = _number(one)
    digits = int(left * (left if one is two else _number(two))).to_bytes(_SLOT * size, "little")
    words = np.frombuffer(digits, dtype="<u8").reshape(size, 2)
    low, high = words[:, 0], words[:, 1]
    if not shift:
        return low.copy()
    if shift == 64:
        return np.asarray(high + (low != 0).astype(np.uint64))
    assert 0 < shift < 64
    kept = (high << np.uint64(64 - shift)) | (low >> np.uint64(shift))
    return np.asarray(kept + (low & np.uint64((1 << shift) - 1) != 0).astype(np.uint64))


def _number(mass: Units) -> fmpz:
    words = np.zeros((mass.size, 2), dtype="<u8")
    words[:, 0] = mass
    return fmpz(int.from_bytes(words.tobytes(), "little"))


def _whole_above(value: arb) -> int:
    return _ceil(upper(value))


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _up(value: int, shift: int) -> int:
    """value / 2^shift, rounded up."""
    return -(-value >> shift)
