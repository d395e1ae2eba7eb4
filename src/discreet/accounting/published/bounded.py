"""A value together with the error bound its method states for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from discreet.errors import InputError, PrecisionError


class WithBound(NamedTuple):
    """A value and how far from the truth it can be, by the method's own reckoning.

    >>> WithBound(0.5, 1e-3).covers(0.5005)
    True
    """

    value: float
    bound: float

    def covers(self, truth: float) -> bool:
        """Whether `truth` lies within the bound."""
        return abs(self.value - truth) <= self.bound


class PublishedMethod(ABC):
    """A method that gives delta with a bound, from which epsilon with a bound follows by bisection."""

    @abstractmethod
    def delta(self, *, epsilon: float) -> WithBound:
        """Return delta at `epsilon`, and the bound."""

    def epsilon(self, *, delta: float) -> WithBound:
        """Return epsilon at `delta`; a `PrecisionError` if the method's bound does not reach that deep."""
        if not 0 < delta < 1:
            raise InputError(f"delta is {delta:g}; it must lie in (0, 1)")
        if self.delta(epsilon=0.0).value <= delta:
            raise InputError(f"delta is {delta:g}; at epsilon = 0 the method already gives less")
        high = 1.0
        while self.delta(epsilon=high).value > delta:
            high *= 2
        centre = _crossing(lambda e: self.delta(epsilon=e).value > delta, 0.0, high)

        def surely_below(e: float) -> bool:
            value, bound = self.delta(epsilon=e)
            return value + bound <= delta

        def surely_above(e: float) -> bool:
            value, bound = self.delta(epsilon=max(e, 0.0))
            return e <= 0 or value - bound >= delta

        width = 1e-12
        while not (surely_below(centre + width) and surely_above(centre - width)):
            width *= 2
            if width > 1 + centre:
                bound = self.delta(epsilon=centre).bound
                raise PrecisionError(
                    f"delta is {delta:g}; near epsilon = {centre:.6g} the method's own error bound is "
                    f"{bound:.1e}, which does not settle it"
                )
        return WithBound(centre, width)


def checked(epsilon: float) -> float:
    """Return `epsilon` if it lies in [0, 700], where e^epsilon is a float.

    >>> checked(2.0)
    2.0
    """
    if not 0 <= epsilon <= 700:
        raise InputError(f"epsilon is {epsilon:g}; it must lie in [0, 700]")
    return float(epsilon)


def _crossing(above: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return high
