"""Errors that are normal: of a table of which only values and variances are known.

A normal error has no lattice and no parameter beside its variance, so all normal errors in an estimate are
one normal error. The accountant does not know this law: nothing is drawn from it, and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from discreet.noise import Noise


@dataclass(frozen=True, slots=True)
class Normal:
    """A normal error of mean 0 with this variance.

    >>> Normal(0.01).true_variance()
    0.01
    """

    FAMILY: ClassVar[str] = "normal"

    variance: float

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
