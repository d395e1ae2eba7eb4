"""The Edgeworth expansion of the loss: the normal law corrected by third and fourth cumulants.

With x = (l - mean) / sd, skewness c3 and excess kurtosis c4 of the loss under the alternative,

    P[L > l] ~ Phi(-x) + phi(x) p(x),   p = c3/6 He_2 + c4/24 He_3 + c3^2/72 He_5

(He_n the Hermite polynomials). The loss lives on a lattice, which the expansion does not know: it has no
term for the jumps, which for few events are the larger error. In the far tail p may turn negative and
take the tail with it; delta is then reported as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.comparisons.curve import Comparison, composed
from discreet.comparisons.normal import log_density, log_gap, log_upper_tail, mills_ratio
from discreet.errors import PrecisionError
from discreet.loss.lattice import Floats
from discreet.noise import LatticeNoise, Noise

_MOST_SD = 1e50  # a loss farther from zero, in standard deviations, has no expansion in floats


@dataclass(frozen=True, slots=True)
class Cumulants:
    """The first four cumulants of the composed loss, under the alternative."""

    mean: float
    variance: float
    third: float
    fourth: float

    @property
    def skewness(self) -> float:
        """Third cumulant over variance^(3/2)."""
        return self.third / (self.variance * math.sqrt(self.variance))

    @property
    def excess_kurtosis(self) -> float:
        """Fourth cumulant over variance^2."""
        return self.fourth / self.variance**2


def cumulants(events: Iterable[Noise]) -> Cumulants:
    """Return the cumulants of the composed loss.

    For discrete Gaussians the third is zero and the fourth is of the order of e^(-2 pi^2 sigma2).

    >>> from discreet.noise import DiscreteGaussian
    >>> four = cumulants([DiscreteGaussian(variance="1/2", times=4)])
    >>> round(four.mean, 12), round(four.variance, 6), four.third, round(four.fourth, 6)
    (4.0, 7.983666, 0.0, 0.644637)
    """
    totals = np.sum([_of_term(term) for term in composed(events).terms], axis=0)
    return Cumulants(*totals.tolist())


def _of_term(term: LatticeNoise) -> Floats:
    if term.is_dual:
        # derivatives of log theta_3 at 0, so that a fourth cumulant of 1e-40 is not lost in rounding
        sigma2, mu = float(term.size), term.sensitivity
        v = np.arange(1, 5)
        weight = 2 * np.exp(-2 * math.pi**2 * sigma2 * v**2)
        turn2 = (2 * math.pi * mu * v) ** 2
        total = 1 + weight.sum()
        second = -float(weight @ turn2) / total
        fourth = float(weight @ turn2**2) / total - 3 * second**2
        return term.times * np.array([float(term.offset), mu * mu / sigma2 + second, 0.0, fourth])
    _, u, p = term.tilted(0.0)
    centre = float(p @ u)
    m2, m3, m4 = (float(p @ (u - centre) ** power) for power in (2, 3, 4))
    third = 0.0 if term.largest is None else m3  # Gaussians are symmetric under no tilt
    step = float(term.step) if m2 > 0 else 0.0  # its powers may be too large for a float
    return term.times * np.array(
        [term.mean_loss, step**2 * m2, step**3 * third, step**4 * (m4 - 3 * m2 * m2)]
    )


class Edgeworth(Comparison):
    """The second-order Edgeworth expansion, applied to both tails in delta. An approximation.

    >>> from discreet.noise import DiscreteGaussian
    >>> curve = Edgeworth([DiscreteGaussian(variance="1/2", times=10)])
    >>> round(curve.delta(epsilon=10.0), 4), curve.is_bound
    (0.4115, False)
    """

    name = "Edgeworth"
    is_bound = False

    def __init__(self, events: Iterable[Noise]) -> None:
        self.cumulants = cumulants(events)
        self._sd = math.sqrt(self.cumulants.variance)
        if not (self.cumulants.variance**2 > 0 and self.cumulants.mean < _MOST_SD * self._sd):
            raise PrecisionError("the loss hardly varies: its cumulants are too small for an expansion")

    def _correction(self, x: Floats) -> Floats:
        c3, c4 = self.cumulants.skewness, self.cumulants.excess_kurtosis
        square = x * x
        he2, he3, he5 = square - 1, x * (square - 3), x * (square * (square - 10) + 15)
        return c3 / 6 * he2 + c4 / 24 * he3 + c3 * c3 / 72 * he5

    def _log_delta(self, epsilon: Floats) -> Floats:
        mean, sd = self.cumulants.mean, self._sd
        x, y = (epsilon - mean) / sd, (epsilon + mean) / sd
        # e^eps phi(y) = e^drift phi(x): the drift is zero for a Gaussian, where variance = 2 mean
        drift = epsilon * (1 - 2 * mean / sd**2)
        # both parts over the density at x; before the mean the gap alone is of order one
        lead = log_gap(x, 2 * mean / sd)
        scale = np.where(x > 0, log_density(x), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):  # so far out that there is no tail
            rest = self._correction(x) - np.expm1(drift) * mills_ratio(y)
            rest += np.exp(drift) * self._correction(-y)
            total = np.exp(lead - scale) + np.exp(log_density(x) - scale) * rest
        logs = np.full_like(total, -np.inf)
        np.log(total, out=logs, where=total > 0)
        return np.minimum(scale + logs, 0.0)

    def _lower_tail(self, x: Floats) -> Floats:
        """P[standardised loss <= x]."""
        return np.clip(np.exp(log_upper_tail(-x)) - np.exp(log_density(x)) * self._correction(x), 0.0, 1.0)

    def _tradeoff(self, alpha: Floats) -> Floats:
        # under the null the loss is the negative of the loss under the alternative: with
        # P[X <= x] = alpha the threshold is -(mean + sd x), and beta = P[X <= -x - 2 mean / sd]
        low, high = np.full_like(alpha, -39.0), np.full_like(alpha, 39.0)
        for _ in range(70):
            middle = (low + high) / 2
            above = self._lower_tail(middle) > alpha
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return self._lower_tail(-(low + high) / 2 - 2 * self.cumulants.mean / self._sd)
