"""Renyi DP, and what any bound on Renyi divergences proves.

With K(t) = log E e^(tL) under the alternative, t = order - 1 (so D_order = K(t) / t; zCDP is
K(t) = rho t (t + 1)), and

    g(t) = t log t - (t + 1) log(t + 1)        ( = log of the maximum of (1 - e^-x) e^(-tx) ),

Canonne, Kamath and Steinke (2020) show delta(eps) <= exp(K(t) - t eps + g(t)) for every t > 0:

    log delta(eps) = min_t  K(t) - t eps + g(t)
    eps(delta)     = min_t  (K(t) + g(t) - log delta) / t

Some of what K says is lost in that. To f there is one best conversion, and it loses nothing: a test sees one
bit, and by data processing the divergences of that bit, of law (1 - b, b) under the alternative and
(a, 1 - a) under the null hypothesis, are at most those of the release,

    D_order((1 - b, b), (a, 1 - a)) <= K(t) / t    and    D_order((a, 1 - a), (1 - b, b)) <= K(t) / t.

f(a) is the least b that satisfies all of them. No larger curve holds: the two laws of the bit are a release
with such divergences. Each order alone gives a lower bound, so that an order missed errs to the safe side.
The bounds are convex sets of (a, b), each the mirror image of another: f is convex and its own inverse.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.calls import understandable
from discreet.comparisons.curve import Comparison
from discreet.comparisons.divergences import divergences_of
from discreet.errors import InputError
from discreet.loss.lattice import Floats
from discreet.noise import Noise

_GRID = np.exp(np.arange(-46.0, 60.0, 0.25))
_BELOW_ONE = -np.exp(np.arange(-20.0, 0.0, 0.25)) / 2  # t of orders below 1, in both directions ...
_HALFWAY = -0.5  # ... up to the order 1/2, beyond which they change places
_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_PRODUCT = 1e6  # of t and eps: beyond it K(t) - t eps loses its digits to cancellation
_TOGETHER = 256  # type I errors for which f is computed together
_MOST_ROUNDS = 40
_SECTIONS = 36  # of a stretch of half a unit in log t: to 1e-8, where the divergence is flat to 1e-16
_HALVINGS = 66  # of a gap of up to 1500, to 1e-17


class ByOrder(Comparison):
    """A curve that is the best over all orders t + 1."""

    @abstractmethod
    def _log_mgf(self, t: Floats) -> Floats:
        """K(t), or an upper bound of it."""

    @cached_property
    def _on_grid(self) -> Floats:
        return self._log_mgf(_GRID)

    def _log_delta(self, epsilon: Floats) -> Floats:
        def objective(t: Floats, k: Floats, eps: Floats) -> Floats:
            return np.where(t * eps > _LARGEST_PRODUCT, np.inf, k - t * eps + _g(t))

        return np.minimum(self._best(objective, epsilon), 0.0)

    def _epsilon(self, log_delta: Floats) -> Floats:
        return np.maximum(self._best(lambda t, k, target: (k + _g(t) - target) / t, log_delta), 0.0)

    @cached_property
    def _orders(self) -> tuple[Floats, Floats]:
        """The t used for f, and the divergences K(t) / t there."""
        return _GRID, self._on_grid / _GRID

    def _divergence(self, t: Floats) -> Floats:
        """K(t) / t, rounded up."""
        return self._log_mgf(t) / t

    def _tradeoff(self, alpha: Floats) -> Floats:
        rows = [alpha[i : i + _TOGETHER] for i in range(0, alpha.size, _TOGETHER)]
        return np.concatenate([self._least_error(row) for row in rows]) if rows else alpha

    def _least_error(self, alpha: Floats) -> Floats:
        """The least type II error that no order rules out, by the order that rules out most, repeatedly."""
        bit = _Bit(np.log(alpha), np.log1p(-alpha))
        t, most = self._orders
        # start with the second term of orders above 1 alone, which always gives a bound
        above = t > 0
        low = ((1 + 1 / t[above, None]) * bit.log_right - most[above, None]).max(axis=0)
        gap = bit.gap(low)
        # a bound above every divergence that a test could have rules out nothing
        use = most < max(float(np.max(-bit.log_alpha)), float(np.max(bit.log_right - low)))
        t, most = t[use], most[use]
        active = np.arange(alpha.size)
        for _ in range(_MOST_ROUNDS):
            if not (active.size and t.size):
                break
            some, here = bit.take(active), gap[active]
            excess = [
                some.divergence(t[:, None], here, turned=turned) / most[:, None] for turned in (False, True)
            ]
            turned = excess[1].max(axis=0) > excess[0].max(axis=0)
            at = np.where(turned, excess[1].argmax(axis=0), excess[0].argmax(axis=0))
            order = self._worst_order(t, at, lambda s: some.divergence(s, here, turned=turned))  # noqa: B023
            bound = self._divergence(order)
            # how far below 1 - alpha: from where the order rules out to where it does not
            far, near = here, np.zeros_like(here)
            for _ in range(_HALVINGS):
                middle = 0.5 * (far + near)
                is_ruled_out = some.divergence(order, middle, turned=turned) > bound
                far, near = np.where(is_ruled_out, middle, far), np.where(is_ruled_out, near, middle)
            gap[active] = far
            active = active[here - far > 1e-15 * here]
        return np.minimum(bit.error(gap), 1 - alpha)

    def _worst_order(
        self, t: Floats, at: NDArray[np.int64], divergence: Callable[[Floats], Floats]
    ) -> Floats:
        """The t near a point of the grid at which a divergence is the largest multiple of its bound."""
        sign = np.sign(t[at])
        low, high = (t[np.clip(at + step, 0, t.size - 1)] for step in (-1, 1))
        low, high = (np.log(np.abs(np.where(end * sign > 0, end, t[at]))) for end in (low, high))

        def excess(log_t: Floats) -> Floats:
            s = sign * np.exp(log_t)
            return divergence(s) / self._divergence(s)

        log_t = golden_section(lambda x: -excess(x), low, high, _SECTIONS)
        better = excess(log_t) > excess(np.log(np.abs(t[at])))
        return np.where(better, sign * np.exp(log_t), t[at])

    def _best(self, objective: Callable[[Floats, Floats, Floats], Floats], given: Floats) -> Floats:
        """The minimum over t of objective(t, K(t), given): a grid, then golden section around its best."""
        rows = objective(_GRID[:, None], self._on_grid[:, None], given)
        at = np.clip(np.argmin(rows, axis=0), 1, _GRID.size - 2)
        best = rows.min(axis=0)
        low, high = np.log(_GRID[at - 1]), np.log(_GRID[at + 1])

        def value(log_t: Floats) -> Floats:
            t = np.exp(log_t)
            return objective(t, self._log_mgf(t), given)

        return np.asarray(np.minimum(best, value(golden_section(value, low, high, 40))))


def golden_section(value: Callable[[Floats], Floats], low: Floats, high: Floats, sections: int) -> Floats:
    """The minimiser of each of many functions between two ends.

    >>> golden_section(lambda x: (x - 2) ** 2, np.array([0.0]), np.array([10.0]), 40).round(6)
    array([2.])
    """
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(sections):
        go_left = at_left < at_right
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
        fresh = np.where(go_left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_fresh = value(fresh)
        left, right = np.where(go_left, fresh, right), np.where(go_left, left, fresh)
        at_left, at_right = np.where(go_left, at_fresh, at_right), np.where(go_left, at_left, at_fresh)
    return np.where(at_left < at_right, left, right)


@dataclass(frozen=True, slots=True)
class _Bit:
    """What a test of type I error alpha sees: one bit, of law (alpha, 1 - alpha) under the null hypothesis.

    Under the alternative it is (1 - b, b). The gap is how far logit(b) lies below logit(1 - alpha).
    """

    log_alpha: Floats
    log_right: Floats
    """log(1 - alpha)."""

    def take(self, chosen: NDArray[np.int64]) -> _Bit:
        """Some of the tests."""
        return _Bit(self.log_alpha[chosen], self.log_right[chosen])

    def gap(self, log_b: Floats) -> Floats:
        """The gap of a type II error."""
        with np.errstate(divide="ignore"):
            return np.maximum(self.log_right - self.log_alpha - log_b + np.log(-np.expm1(log_b)), 0.0)

    def error(self, gap: Floats) -> Floats:
        """The type II error b."""
        return np.exp(-np.logaddexp(0.0, gap - self.log_right + self.log_alpha))

    def divergence(self, t: Floats, gap: Floats, *, turned: bool | NDArray[np.bool_]) -> Floats:
        """The divergence of order t + 1 of the alternative from the null hypothesis, or turned around."""
        logit = self.log_right - self.log_alpha - gap
        log_b, log_power = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
        # log((1 - b) / alpha) >= 0 >= log(b / (1 - alpha)), from a small gap to its relative accuracy
        small = np.minimum(gap, 1.0)
        more = np.where(gap < 1, np.log1p(np.exp(log_b) * np.expm1(small)), log_power - self.log_alpha)
        less = np.where(gap < 1, np.log1p(np.exp(log_power) * np.expm1(-small)), log_b - self.log_right)
        sign = np.where(turned, -1.0, 1.0)
        first, second = np.where(turned, self.log_alpha, log_power), np.where(turned, self.log_right, log_b)
        up, down = t * (sign * more), t * (sign * less)
        near = np.exp(first) * np.expm1(np.clip(up, -1, 1)) + np.exp(second) * np.expm1(np.clip(down, -1, 1))
        is_near = np.maximum(np.abs(up), np.abs(down)) < 0.5
        return np.asarray(np.where(is_near, np.log1p(near), np.logaddexp(first + up, second + down)) / t)


class RenyiDP(ByOrder):
    """Renyi DP: the exact divergences of the composition, every real order, the tight conversion.

    Orders below 1, about which rho says nothing, matter to the trade-off curve. Of a loss that is not
    symmetric the larger divergence of both directions counts; an infinite loss is refused.

    >>> from discreet.comparisons.zcdp import TightZCDP
    >>> from discreet.noise import DiscreteGaussian
    >>> curve = RenyiDP([DiscreteGaussian(variance="1/4", times=3)])
    >>> round(curve.epsilon(delta=1e-6), 3), round(TightZCDP.from_rho(6).epsilon(delta=1e-6), 3)
    (23.026, 23.084)
    """

    name = "Renyi DP"
    is_bound = True

    @understandable
    def __init__(self, events: Noise | Iterable[Noise]) -> None:
        self.loss = divergences_of(events)

    def divergence(self, *, order: float) -> float:
        """Return the Renyi divergence of the composition at an order above 1.

        >>> from discreet.noise import DiscreteGaussian
        >>> round(RenyiDP([DiscreteGaussian(variance=5, times=10)]).divergence(order=3.0), 12)
        3.0
        """
        if not order > 1:
            raise InputError(f"order is {order:g}; it must be above 1")
        return float(self._log_mgf(np.array([order - 1.0]))[0]) / (order - 1.0)

    def _log_mgf(self, t: Floats) -> Floats:
        return self.loss.log_mgf(t)

    @cached_property
    def _orders(self) -> tuple[Floats, Floats]:
        t = np.concatenate([_BELOW_ONE, [_HALFWAY], _GRID])
        return t, self._divergence(t)

    def _divergence(self, t: Floats) -> Floats:
        return self.loss.divergence(t)

    def _log_delta(self, epsilon: Floats) -> Floats:
        logs = super()._log_delta(epsilon)
        # order infinity: a bounded loss never exceeds its largest value
        largest = self.loss.largest
        return logs if largest is None else np.where(epsilon >= float(largest), -np.inf, logs)

    def _epsilon(self, log_delta: Floats) -> Floats:
        epsilon = super()._epsilon(log_delta)
        return epsilon if self.loss.largest is None else np.minimum(epsilon, float(self.loss.largest))


def _g(t: Floats) -> Floats:
    """t log t - (t + 1) log(t + 1), without cancellation."""
    return -t * np.log1p(1 / t) - np.log1p(t)
