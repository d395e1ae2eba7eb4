"""Draws from a table of exact fractions, by inversion in integers.

A uniform real V is mapped to the first outcome whose cumulative probability C exceeds it. At first 64 bits
u of V are drawn: V < C where u < floor(2^64 C), and V >= C where u > floor(2^64 C). A tie is settled by
further bits, against the digits of C that follow; where C is a multiple of 2^-64 a tie says V >= C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise.entropy import Entropy, more_bits
from discreet.noise.inversion import Integers
from discreet.noise.inversion_table import Workspace


@dataclass(frozen=True, eq=False)
class FractionSampler:
    """Draws of finitely many integers with exact probabilities."""

    values: Integers
    bounds: tuple[Fraction, ...]
    """Cumulative probabilities, without the last, which is 1."""
    floors: NDArray[np.uint64]
    """Those in units of 2^-64, rounded down."""

    @classmethod
    def of(cls, chances: Sequence[tuple[int, Fraction]]) -> FractionSampler:
        """Build the sampler of a table whose probabilities add up to one.

        >>> FractionSampler.of([(-1, Fraction(1, 4)), (1, Fraction(3, 4))]).bounds
        (Fraction(1, 4),)
        """
        total, bounds = Fraction(0), []
        for _, p in chances[:-1]:
            total += p
            bounds.append(total)
        floors = [(bound.numerator << 64) // bound.denominator for bound in bounds]
        values = np.array([x for x, _ in chances], dtype=np.int64)
        return cls(values, tuple(bounds), np.array(floors, dtype=np.uint64))

    def draw(self, out: Integers, source: Entropy, workspace: Workspace) -> None:
        """Fill `out` with draws."""
        prefix = np.empty(out.size, dtype="<u8")
        source.fill(prefix.view(np.uint8))
        outcome = np.searchsorted(self.floors, prefix, side="right")
        # a floor equal to u is a tie: V may still lie below that bound
        for i in np.flatnonzero((outcome > 0) & (self.floors[np.maximum(outcome, 1) - 1] == prefix)):
            outcome[i] = self._settled(int(prefix[i]), source)
        out[:] = self.values[outcome]

    def _settled(self, prefix: int, source: Entropy) -> int:
        """The place of a uniform real that starts with these 64 bits."""
        bits, low, high = 64, 0, len(self.bounds)
        while True:
            # bounds before `low` are at most V, and V lies below the bounds from `high` on
            while low < high and self.bounds[low] * (1 << bits) <= prefix:
                low += 1
            while low < high and self.bounds[high - 1] * (1 << bits) >= prefix + 1:
                high -= 1
            if low == high:
                return low
            prefix, bits = prefix << 64 | more_bits(source), bits + 64
