"""The law of the error of a released count, as numbers: what a curator expects to see.

Own formulas, in floats, on purpose: they check the samplers and labels and share no code with them. A sum of
cells has the law of one cell convolved with itself; where small groups are dropped, the error of a group that
was kept is the noise given that it was large enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.release.safetab.configuration import Privacy

REACH = 14
"""Standard deviations that the grid covers; both laws have less than 1e-8 beyond."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Expected:
    """The chance that a group is kept and, if so, its mean error, mean square and chance to be within."""

    kept: Floats
    mean: Floats
    square: Floats
    within: Floats


class Law:
    """The noise of a sum of cells on a grid of integers.

    >>> law = Law("zcdp", 100.0, 1)
    >>> round(float(law.expected(np.array([-10**6]), np.array([19])).within[0]), 4)
    0.9489
    """

    def __init__(self, privacy: Privacy, variance: float, cells: int) -> None:
        """`variance` is that of one cell: the parameter of a Gaussian, E X^2 of a Laplace."""
        self.reach = ceil(REACH * sqrt(variance * cells)) + 20
        size = 1 << (2 * self.reach + 1).bit_length()
        x = np.arange(-size // 2, size // 2)
        if variance == 0:
            mass = (x == 0).astype(float)
        elif privacy == "zcdp":
            mass = np.exp(-(x**2) / (2 * variance))
        else:
            ratio = (variance + 1 - sqrt(2 * variance + 1)) / variance  # solves variance = 2 r / (1 - r)^2
            mass = ratio ** np.abs(x)
        mass /= mass.sum()
        if cells > 1:
            wave = np.fft.rfft(np.fft.ifftshift(mass)) ** cells
            mass = np.maximum(np.fft.fftshift(np.fft.irfft(wave, size)), 0)
            mass /= mass.sum()
        self._low, self._high = int(x[0]), int(x[-1])
        self._sums = [np.append(0, np.cumsum(mass * x**power)) for power in range(3)]

    def below(self, value: Ints) -> Floats:
        """Return the chance that the noise is at most a value."""
        found: Floats = self._sums[0][self._place(value)]
        return np.clip(found, 0, 1)

    def margin(self, chance: float = 0.95) -> int:
        """Return the smallest integer that the noise does not exceed with this chance."""
        sizes = np.arange(self.reach)
        return int(np.argmax(self.below(sizes) - self.below(-sizes - 1) >= chance))

    def expected(self, cut: Ints, margin: Ints) -> Expected:
        """Return what is expected of groups that are kept if the noise is above `cut`."""
        start, end = self._place(cut), self._sums[0].size - 1
        kept = 1 - self.below(cut)
        safe = np.maximum(kept, 1e-12)
        moments = [(sums[end] - sums[start]) / safe for sums in self._sums]
        inside = self.below(margin) - self._sums[0][np.maximum(start, self._place(-margin - 1))]
        return Expected(kept, moments[1], moments[2], np.clip(inside / safe, 0, 1))

    def _place(self, value: Ints) -> Ints:
        return np.clip(value, self._low - 1, self._high) - self._low + 1


@lru_cache(maxsize=512)
def law(privacy: Privacy, variance: float, cells: int) -> Law:
    """Return a law, made once."""
    return Law(privacy, variance, cells)
