"""Bounds from Renyi divergences: zCDP by Bun and Steinke, zCDP and Renyi DP by the tight conversion.

With K(t) = log E e^(tL) under the alternative, t = order - 1 > 0 (so D_order = K(t) / t), and

    g(t) = t log t - (t + 1) log(t + 1)        ( = log of the maximum of (1 - e^-x) e^(-tx) ),

Canonne, Kamath and Steinke (2020) show delta(eps) <= exp(K(t) - t eps + g(t)) for every t. All that is
asked follows by the best t; for the trade-off curve the best epsilon is known in closed form too:

    log delta(eps) = min_t  K(t) - t eps + g(t)
    eps(delta)     = min_t  (K(t) + g(t) - log delta) / t
    log(1 - f)     = min_t  (K(t) + t log alpha) / (t + 1)                      (slopes below -1)
    log f          = max_t  ((t + 1) log(1 - alpha) - K(t)) / t                 (slopes above -1)

zCDP is K(t) = rho t (t + 1). Bun and Steinke leave out g(t): the same formulas with K - g for K.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from discreet.accounting.comparisons.curve import Comparison
from discreet.accounting.loss import Floats, Loss
from discreet.budget.events import DiscreteGaussian, Event
from discreet.errors import InputError
from discreet.numbers import Exact, positive

_GRID = np.exp(np.arange(-46.0, 60.0, 0.25))
_GOLDEN = (math.sqrt(5) - 1) / 2
_LARGEST_PRODUCT = 1e6  # of t and eps: beyond it K(t) - t eps loses its digits to cancellation


def zcdp_rho(events: Iterable[Event]) -> Fraction:
    """Return the zCDP rho of a composition, exactly.

    A discrete Gaussian costs mu^2 / (2 sigma2); discrete Laplace noise is pure (mu / b)-DP and costs
    (mu / b)^2 / 2.

    >>> from discreet.budget.events import DiscreteLaplace
    >>> zcdp_rho([DiscreteGaussian(variance=5, times=10), DiscreteLaplace(scale=2)])
    Fraction(9, 8)
    """
    rho = Fraction(0)
    for event in events:
        if isinstance(event, DiscreteGaussian):
            rho += event.precision / 2
        else:
            rho += event.times * (event.sensitivity / event.scale) ** 2 / 2
    if rho == 0:
        raise InputError("the list of events is empty; a comparison needs at least one event")
    return rho


class _ByOrder(Comparison):
    """A curve that is the best over all orders t + 1."""

    @abstractmethod
    def _log_mgf(self, t: Floats) -> Floats:
        """K(t), or more."""

    @cached_property
    def _on_grid(self) -> Floats:
        return self._log_mgf(_GRID)

    def _log_delta(self, epsilon: Floats) -> Floats:
        def objective(t: Floats, k: Floats, eps: Floats) -> Floats:
            return np.where(t * eps > _LARGEST_PRODUCT, np.inf, k - t * eps + _g(t))

        return np.minimum(self._best(objective, epsilon), 0.0)

    def _epsilon(self, log_delta: Floats) -> Floats:
        return np.maximum(self._best(lambda t, k, target: (k + _g(t) - target) / t, log_delta), 0.0)

    def _tradeoff(self, alpha: Floats) -> Floats:
        steep = self._best(lambda t, k, log: (k + t * log) / (t + 1), np.log(alpha))
        flat = self._best(lambda t, k, log: (k - (t + 1) * log) / t, np.log1p(-alpha))
        return np.maximum(-np.expm1(np.minimum(steep, 0.0)), np.exp(-np.maximum(flat, 0.0)))

    def _best(self, objective: Callable[[Floats, Floats, Floats], Floats], given: Floats) -> Floats:
        """The minimum over t of objective(t, K(t), given): a grid, then golden section around its best."""
        rows = objective(_GRID[:, None], self._on_grid[:, None], given)
        at = np.clip(np.argmin(rows, axis=0), 1, _GRID.size - 2)
        best = rows.min(axis=0)
        low, high = np.log(_GRID[at - 1]), np.log(_GRID[at + 1])

        def value(log_t: Floats) -> Floats:
            t = np.exp(log_t)
            return objective(t, self._log_mgf(t), given)

        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = value(left), value(right)
        for _ in range(40):
            go_left = at_left < at_right
            low, high = np.where(go_left, low, left), np.where(go_left, right, high)
            fresh = np.where(go_left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
            at_fresh = value(fresh)
            left, right = np.where(go_left, fresh, right), np.where(go_left, left, fresh)
            at_left, at_right = np.where(go_left, at_fresh, at_right), np.where(go_left, at_left, at_fresh)
        return np.asarray(np.minimum(best, np.minimum(at_left, at_right)))


class TightZCDP(_ByOrder):
    """zCDP by the conversion of Canonne, Kamath and Steinke: the best that rho alone can give.

    >>> round(TightZCDP.from_rho("24811/5000").epsilon(delta=1e-10), 10)
    25.4192825765
    """

    name = "zCDP, tight conversion"
    is_bound = True

    def __init__(self, events: Iterable[Event]) -> None:
        self.rho = zcdp_rho(events)

    @classmethod
    def from_rho(cls, rho: Exact) -> Self:
        """Build the curve from rho itself.

        >>> TightZCDP.from_rho("1/2").rho
        Fraction(1, 2)
        """
        curve = cls.__new__(cls)
        curve.rho = positive(rho, name="rho")
        return curve

    def _log_mgf(self, t: Floats) -> Floats:
        return float(self.rho) * t * (t + 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_rho({str(self.rho)!r})"


class ZCDP(TightZCDP):
    """zCDP by the conversion of Bun and Steinke (2016), the one the Bureau reports.

    delta = exp(-(eps - rho)^2 / (4 rho)) for eps >= rho, and eps = rho + 2 sqrt(rho log(1/delta)).

    >>> ZCDP.from_rho("24811/5000").epsilon(delta=1e-10)
    26.340588852722323
    """

    name = "zCDP, Bun-Steinke"
    is_bound = True

    def _log_mgf(self, t: Floats) -> Floats:
        return super()._log_mgf(t) - _g(t)

    def _log_delta(self, epsilon: Floats) -> Floats:
        rho = float(self.rho)
        return -(np.maximum(epsilon - rho, 0.0) ** 2) / (4 * rho)

    def _epsilon(self, log_delta: Floats) -> Floats:
        rho = float(self.rho)
        return rho + 2 * np.sqrt(-rho * log_delta)


class RenyiDP(_ByOrder):
    """Renyi DP: the exact divergences of the composition, every real order, the tight conversion.

    >>> curve = RenyiDP([DiscreteGaussian(variance="1/4", times=3)])
    >>> round(curve.epsilon(delta=1e-6), 3), round(TightZCDP.from_rho(6).epsilon(delta=1e-6), 3)
    (23.026, 23.084)
    """

    name = "Renyi DP"
    is_bound = True

    def __init__(self, events: Iterable[Event]) -> None:
        self.loss = Loss(events)
        if not self.loss.terms:
            raise InputError("the list of events is empty; a comparison needs at least one event")

    def divergence(self, *, order: float) -> float:
        """Return the Renyi divergence of the composition at an order above 1.

        >>> round(RenyiDP([DiscreteGaussian(variance=5, times=10)]).divergence(order=3.0), 12)
        3.0
        """
        if not order > 1:
            raise InputError(f"order is {order:g}; it must be above 1")
        return float(self.loss.log_mgf(np.array([order - 1.0]))[0]) / (order - 1.0)

    def _log_mgf(self, t: Floats) -> Floats:
        return self.loss.log_mgf(t)

    def _log_delta(self, epsilon: Floats) -> Floats:
        logs = super()._log_delta(epsilon)
        # order infinity: a bounded loss never exceeds its largest value
        largest = self.loss.largest
        return logs if largest is None else np.where(epsilon >= float(largest), -np.inf, logs)

    def _epsilon(self, log_delta: Floats) -> Floats:
        found = super()._epsilon(log_delta)
        return found if self.loss.largest is None else np.minimum(found, float(self.loss.largest))


def _g(t: Floats) -> Floats:
    """t log t - (t + 1) log(t + 1), without cancellation."""
    return -t * np.log1p(1 / t) - np.log1p(t)
