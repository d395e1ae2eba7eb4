"""Gaussian DP: the composition replaced by one continuous Gaussian. An approximation, not a bound."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

import numpy as np

from discreet.accounting.comparisons.curve import Comparison
from discreet.accounting.comparisons.normal import log_density, log_gap, log_upper_tail, mills, quantile
from discreet.accounting.loss import Floats, LaplaceTerm, Loss
from discreet.budget.events import Event
from discreet.errors import InputError
from discreet.numbers import Exact, positive


class GaussianDP(Comparison):
    """mu-GDP with mu = sqrt(R), R = 2 rho (Dong, Roth and Su 2022).

    It can lie below the truth: ten events of variance 5 have exact epsilon 10.12483 at delta = 1e-11.
    Where discrete Laplace noise takes part, mu = 2 E[L] / sqrt(R + variance of the Laplace losses), the
    central limit theorem's choice, which is sqrt(R) without them.

    >>> from discreet.budget.events import DiscreteGaussian
    >>> curve = GaussianDP([DiscreteGaussian(variance=5, times=10)])
    >>> round(curve.epsilon(delta=1e-11), 4), curve.is_bound
    (10.1158, False)
    """

    name = "Gaussian DP"
    is_bound = False

    def __init__(self, events: Iterable[Event]) -> None:
        loss = Loss(events)
        if not loss.terms:
            raise InputError("the list of events is empty; a comparison needs at least one event")
        mean, variance = float(loss.R) / 2, float(loss.R)
        for term in loss.terms:
            if isinstance(term, LaplaceTerm):
                shift, u, p = term.tilted(0.0)
                centre = float(p @ u)
                mean += term.times * (float(term.offset) + float(term.step) * (shift + centre))
                variance += term.times * float(term.step) ** 2 * float(p @ (u - centre) ** 2)
        self.mu = 2 * mean / math.sqrt(variance)

    @classmethod
    def from_rho(cls, rho: Exact) -> Self:
        """Build the curve from a zCDP rho: mu = sqrt(2 rho).

        >>> GaussianDP.from_rho(2).mu
        2.0
        """
        curve = cls.__new__(cls)
        curve.mu = math.sqrt(2 * positive(rho, name="rho"))
        return curve

    def _log_delta(self, epsilon: Floats) -> Floats:
        return np.minimum(log_gap(epsilon / self.mu - self.mu / 2, self.mu), 0.0)

    def _epsilon(self, log_delta: Floats) -> Floats:
        mu = self.mu
        rho = mu * mu / 2
        # log delta is concave in epsilon, so Newton's method comes down from above without overshooting
        epsilon = rho + 2 * np.sqrt(-rho * log_delta)
        for _ in range(60):
            x = epsilon / mu - mu / 2
            log_now = log_gap(x, mu)
            slope = -np.exp(log_density(x) + np.log(mills(x + mu)) - log_now)
            step = (log_now - log_delta) / slope
            epsilon = np.maximum(epsilon - step, 0.0)
            if np.all(np.abs(step) <= 1e-15 * (1 + epsilon)):
                break
        return epsilon

    def _tradeoff(self, alpha: Floats) -> Floats:
        # G(alpha) = Phi(Phi^-1(1 - alpha) - mu), and Phi^-1(1 - alpha) = -Phi^-1(alpha)
        return np.exp(log_upper_tail(quantile(alpha) + self.mu))

    def __repr__(self) -> str:
        return f"GaussianDP with mu = {self.mu!r}"
