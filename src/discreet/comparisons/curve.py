"""What every comparison is: a curve with a name, which says whether it is a bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

import numpy as np

from discreet.accounting.zcdp import NO_EVENTS
from discreet.errors import InputError, PrecisionError
from discreet.loss.lattice import Floats, Loss
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.noise.capabilities import require

Real = TypeVar("Real", float, Floats)


class Comparison(Forgetful, ABC):
    """A curve to compare with the exact one. Scalars give floats, arrays give arrays of the same shape.

    Guarantee
    ---------
    If `is_bound`, then up to rounding (about 1e-13 relative in delta) the true delta is at most `delta`,
    the true epsilon at most `epsilon`, and the true trade-off curve at least `tradeoff`. If not, the
    curve is an approximation that may err to either side.
    """

    name: ClassVar[str]
    """What it is, for tables and legends."""

    is_bound: ClassVar[bool]
    """Whether the curve provably errs to the safe side."""

    def log_delta(self, epsilon: Real) -> Real:
        """Return the natural logarithm of delta at `epsilon` >= 0: no underflow, however deep the tail."""
        return _apply(self._log_delta, epsilon, name="epsilon", low=0.0, high=np.inf, ends=(True, False))

    def delta(self, epsilon: Real) -> Real:
        """Return delta at `epsilon` >= 0."""
        logs = self.log_delta(epsilon=epsilon)
        return np.exp(logs) if isinstance(logs, np.ndarray) else float(np.exp(logs))

    def epsilon(self, delta: Real) -> Real:
        """Return epsilon >= 0 at `delta`, below 1: infinite at 0, of which these curves say nothing."""

        def from_zero(delta: Floats) -> Floats:
            result = np.full_like(delta, np.inf)
            result[delta > 0] = self._epsilon(np.log(delta[delta > 0]))
            return result

        return _apply(from_zero, delta, name="delta", low=0.0, high=1.0, ends=(True, False))

    def tradeoff(self, alpha: Real) -> Real:
        """Return the type II error at type I error `alpha` in [0, 1]: 1 at 0, and 0 at 1."""

        def to_ends(alpha: Floats) -> Floats:
            result = np.where(alpha == 0, 1.0, 0.0)
            inside = (alpha > 0) & (alpha < 1)
            result[inside] = self._tradeoff(alpha[inside])
            return result

        return _apply(to_ends, alpha, name="alpha", low=0.0, high=1.0, ends=(True, True))

    @abstractmethod
    def _log_delta(self, epsilon: Floats) -> Floats:
        """log delta, at most 0, for a vector of epsilon >= 0."""

    @abstractmethod
    def _tradeoff(self, alpha: Floats) -> Floats:
        """The trade-off curve for a vector of alpha strictly between 0 and 1."""

    def _epsilon(self, log_delta: Floats) -> Floats:
        """Solve log delta(epsilon) = `log_delta` by bisection; 0 where delta(0) is already small enough."""
        low, high = np.zeros_like(log_delta), np.ones_like(log_delta)
        for _ in range(64):
            above = self._log_delta(high) > log_delta
            if not above.any():
                break
            high = np.where(above, 2 * high, high)
        else:
            raise PrecisionError(f"{self.name} does not reach delta = {np.exp(log_delta.min()):.3g}")
        for _ in range(70):
            middle = (low + high) / 2
            above = self._log_delta(middle) > log_delta
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.where(self._log_delta(np.zeros_like(high)) <= log_delta, 0.0, high)


def _apply(
    function: Callable[[Floats], Floats],
    value: Real,
    *,
    name: str,
    low: float,
    high: float,
    ends: tuple[bool, bool],
) -> Real:
    """Check the range, flatten to a vector, compute, and restore the shape."""
    array = np.asarray(value, dtype=np.float64)
    above = array >= low if ends[0] else array > low
    below = array <= high if ends[1] else array < high
    if not np.all(above & below):
        wrong = array[~(above & below)].flat[0]
        left, right = "[" if ends[0] else "(", "]" if ends[1] else ")"
        raise InputError(f"{name} is {wrong:g}; it must lie in {left}{low:g}, {high:g}{right}")
    result = function(array.ravel()).reshape(array.shape)
    return float(result) if array.ndim == 0 else result  # type: ignore[return-value]


def composed(events: Iterable[Noise]) -> Loss:
    """Return the loss of all events together; a list without events is refused.

    >>> from discreet.noise import DiscreteGaussian
    >>> composed([DiscreteGaussian(variance=5, times=10)]).R
    Fraction(2, 1)
    """
    listed = list(events)
    require("comparisons", (event for event in listed if isinstance(event, Noise)))
    loss = Loss(listed)
    if not loss.terms:
        raise InputError(NO_EVENTS)
    return loss
