"""The interface that all comparisons share: a privacy profile and its trade-off curve, over floats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, overload

import numpy as np

from discreet.accounting.loss import Floats
from discreet.errors import InputError, PrecisionError


class Comparison(ABC):
    """A curve to stand beside the exact one. Scalars give floats, arrays give arrays of the same shape.

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

    @overload
    def log_delta(self, *, epsilon: float) -> float: ...
    @overload
    def log_delta(self, *, epsilon: Floats) -> Floats: ...
    def log_delta(self, *, epsilon: float | Floats) -> float | Floats:
        """Return the natural logarithm of delta at `epsilon` >= 0: no underflow, however deep the tail."""
        return _apply(self._log_delta, epsilon, name="epsilon", low=0.0, high=np.inf, ends=(True, False))

    @overload
    def delta(self, *, epsilon: float) -> float: ...
    @overload
    def delta(self, *, epsilon: Floats) -> Floats: ...
    def delta(self, *, epsilon: float | Floats) -> float | Floats:
        """Return delta at `epsilon` >= 0."""
        logs = self.log_delta(epsilon=epsilon)
        return np.exp(logs) if isinstance(logs, np.ndarray) else float(np.exp(logs))

    @overload
    def epsilon(self, *, delta: float) -> float: ...
    @overload
    def epsilon(self, *, delta: Floats) -> Floats: ...
    def epsilon(self, *, delta: float | Floats) -> float | Floats:
        """Return epsilon >= 0 at `delta`, strictly between 0 and 1."""
        return _apply(
            lambda d: self._epsilon(np.log(d)), delta, name="delta", low=0.0, high=1.0, ends=(False, False)
        )

    @overload
    def tradeoff(self, *, alpha: float) -> float: ...
    @overload
    def tradeoff(self, *, alpha: Floats) -> Floats: ...
    def tradeoff(self, *, alpha: float | Floats) -> float | Floats:
        """Return the type II error at type I error `alpha` in [0, 1]: 1 at 0, and 0 at 1."""
        return _apply(self._tradeoff_to_ends, alpha, name="alpha", low=0.0, high=1.0, ends=(True, True))

    def _tradeoff_to_ends(self, alpha: Floats) -> Floats:
        result = np.where(alpha == 0, 1.0, 0.0)
        inside = (alpha > 0) & (alpha < 1)
        result[inside] = self._tradeoff(alpha[inside])
        return result

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
    value: float | Floats,
    *,
    name: str,
    low: float,
    high: float,
    ends: tuple[bool, bool],
) -> float | Floats:
    """Check the range, flatten to a vector, compute, and give back the caller's shape."""
    array = np.asarray(value, dtype=np.float64)
    above = array >= low if ends[0] else array > low
    below = array <= high if ends[1] else array < high
    if not np.all(above & below):
        found = array[~(above & below)].flat[0]
        left, right = "[" if ends[0] else "(", "]" if ends[1] else ")"
        raise InputError(f"{name} is {found:g}; it must lie in {left}{low:g}, {high:g}{right}")
    result = function(array.ravel()).reshape(array.shape)
    return float(result) if array.ndim == 0 else result
