"""Gaussian DP: the composition replaced by one continuous Gaussian. An approximation, not a bound."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self

import numpy as np

from discreet.calls import understandable
from discreet.comparisons.curve import Comparison
from discreet.comparisons.divergences import divergences_of
from discreet.comparisons.normal import log_density, log_gap, log_upper_tail, mills_ratio, quantile
from discreet.loss.lattice import Floats
from discreet.noise import Noise
from discreet.numbers import Exact, positive


class GaussianDP(Comparison):
    """mu-GDP with mu = sqrt(R), R = 2 rho (Dong, Roth and Su 2022).

    It can lie below the truth: ten events of variance 5 have exact epsilon 10.12483 at delta = 1e-11.
    Where discrete Laplace noise takes part, mu = 2 E[L] / sqrt(R + variance of the Laplace losses), the
    central limit theorem's choice, which is sqrt(R) without them; infinite where that variance vanishes. Of
    other laws mean and variance are those of all losses, in the direction of the larger mu.

    >>> from discreet.noise import DiscreteGaussian
    >>> curve = GaussianDP([DiscreteGaussian(variance=5, times=10)])
    >>> round(curve.epsilon(delta=1e-11), 4), curve.is_bound
    (10.1158, False)
    """

    name = "Gaussian DP"
    is_bound = False

    @understandable
    def __init__(self, events: Noise | Iterable[Noise]) -> None:
        self.mu = max(
            2 * mean / math.sqrt(variance) if variance > 0 else math.inf
            for mean, variance in divergences_of(events).moments()
        )

    @classmethod
    def from_rho(cls, rho: Exact) -> Self:
        """Build the curve from a zCDP rho: mu = sqrt(2 rho).

        >>> GaussianDP.from_rho(2).mu
        2.0
        """
        curve = cls.__new__(cls)
        curve.mu = math.sqrt(2 * positive(rho, name="rho"))
        return curve

    @property
    def _is_endless(self) -> bool:
        """Whether mu^2 is too large for a float, as for noise that is nearly always zero."""
        return math.isinf(self.mu * self.mu)

    def _log_delta(self, epsilon: Floats) -> Floats:
        if self._is_endless:
            return np.zeros_like(epsilon)
        return np.minimum(log_gap(epsilon / self.mu - self.mu / 2, self.mu), 0.0)

    def _epsilon(self, log_delta: Floats) -> Floats:
        if self._is_endless:
            return np.full_like(log_delta, math.inf)
        mu = self.mu
        rho = mu * mu / 2
        # log delta is concave in epsilon, so Newton's method comes down from above without overshooting
        epsilon = rho + 2 * np.sqrt(-rho * log_delta)
        for _ in range(60):
            x = epsilon / mu - mu / 2
            log_now = log_gap(x, mu)
            slope = -np.exp(log_density(x) + np.log(mills_ratio(x + mu)) - log_now)
            step = (log_now - log_delta) / slope
            epsilon = np.maximum(epsilon - step, 0.0)
            if np.all(np.abs(step) <= 1e-15 * (1 + epsilon)):
                break
        return epsilon

    def _tradeoff(self, alpha: Floats) -> Floats:
        if self._is_endless:
            return np.zeros_like(alpha)
        # G(alpha) = Phi(Phi^-1(1 - alpha) - mu), and Phi^-1(1 - alpha) = -Phi^-1(alpha)
        return np.exp(log_upper_tail(quantile(alpha) + self.mu))

    def __repr__(self) -> str:
        return f"GaussianDP with mu = {self.mu!r}"
