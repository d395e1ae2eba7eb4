"""Quantiles of a great many numbers in little memory: distinct values with how often they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.risk.model import Floats

MOST = 1 << 18
"""Distinct values that are kept as they are; beyond, all are rounded to `DIGITS` significant digits."""

DIGITS = 5


@dataclass(slots=True, eq=False)
class Tally:
    """Values and counts.

    >>> tally = Tally()
    >>> tally.add(np.array([1.0, 3.0, 1.0, 2.0]))
    >>> tally.quantiles([0.5, 0.75, 1.0]), tally.total
    ([1.0, 2.0, 3.0], 4)
    """

    values: Floats = field(default_factory=lambda: np.empty(0))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    is_rounded: bool = False
    maximum: float = -np.inf

    @property
    def total(self) -> int:
        """How many values were added."""
        return int(self.counts.sum())

    def add(self, values: Floats) -> None:
        """Add values."""
        if not values.size:
            return
        self.maximum = max(self.maximum, float(values.max()))
        self._merge(*np.unique(_rounded(values) if self.is_rounded else values, return_counts=True))
        if self.values.size > MOST and not self.is_rounded:
            self.is_rounded = True
            kept, counts = _rounded(self.values), self.counts
            self.values, self.counts = np.empty(0), np.empty(0, dtype=np.int64)
            self._merge(kept, counts)

    def absorb(self, other: Tally) -> None:
        """Add what another tally holds."""
        self.maximum = max(self.maximum, other.maximum)
        self.is_rounded = self.is_rounded or other.is_rounded
        self._merge(other.values, other.counts)

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Return for each share the smallest value that so large a share of all values does not exceed."""
        order = np.cumsum(self.counts)
        places = np.searchsorted(order, np.asarray(shares) * order[-1] * (1 - 1e-15), side="left")
        return [float(value) for value in self.values[np.minimum(places, self.values.size - 1)]]

    def _merge(self, values: Floats, counts: NDArray[np.int64]) -> None:
        self.values, place = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(place, weights=both, minlength=self.values.size).astype(np.int64)


def _rounded(values: Floats) -> Floats:
    """Values to a few significant digits; zero stays zero."""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-290)))
    unit = 10.0 ** (size - (DIGITS - 1))
    return np.asarray(np.rint(values / unit) * unit)
