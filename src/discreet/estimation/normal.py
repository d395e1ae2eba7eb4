"""Errors that are normal: of a table of which only values and variances are known.

A normal error has no lattice and no parameter beside its variance, so all normal errors in an estimate are
one normal error. The accountant does not know this law: no release draws from it, and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.areas.tree import Floats, Numbers
from discreet.noise import Entropy, Noise, SystemEntropy, sample
from discreet.noise.distribution import Traits


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal error of mean 0 with this variance.

    >>> Normal(0.01).true_variance()
    0.01
    """

    FAMILY: ClassVar[str] = "normal"

    variance: float

    is_estimated: ClassVar[bool] = True

    def transform(self, angle: Floats) -> Floats:
        """Return E cos(angle N)."""
        return np.asarray(np.exp(-0.5 * self.variance * angle * angle), dtype=np.float64)

    def traits(self) -> Traits:
        """Return bounds of the transform and of the tails, both exact."""
        return Traits(self.variance, 0.0, self.variance, self.variance, 0.0)

    def tail_proxy(self, variance: float) -> tuple[float, bool]:
        """Return its variance over the one asked about."""
        return max(self.variance / variance, 1.0), False

    def true_variance(self) -> float:
        """Return the variance."""
        return self.variance


Law = Noise | Normal
"""The law of the error of a measurement."""

UNIT = Normal(1.0)
"""The law that stands for all normal errors, weighted by their standard deviations."""


def all_normal(laws: Iterable[Law]) -> bool:
    """Whether there are laws, and all of them are normal.

    >>> all_normal([UNIT, Normal(2.0)]), all_normal([])
    (True, False)
    """
    kinds = {isinstance(law, Normal) for law in laws}
    return kinds == {True}


def sample_errors(law: Law, shape: tuple[int, ...], source: Entropy | None = None) -> Numbers:
    """Draw errors of a law anew; normal ones, which protect nobody, are drawn in floats.

    >>> bool(np.abs(sample_errors(Normal(1e-30), (2,))).max() < 1e-9)
    True
    """
    if not isinstance(law, Normal):
        return sample(law, shape, source=source)
    seed = np.zeros(16, dtype=np.uint8)
    (SystemEntropy() if source is None else source).fill(seed)
    drawn = np.random.default_rng(seed.tolist()).normal(size=shape)
    drawn *= law.variance**0.5
    return drawn
