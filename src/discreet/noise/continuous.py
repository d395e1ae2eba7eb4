"""Continuous noise, because people have it: its account, its variance and its margins.

*Gaussian*: on a number that changes by mu the loss is normal, of variance R = mu^2 / variance and mean R/2.
Any number of such losses is one. *Laplace*: the loss is mu / scale with probability 1/2, -mu / scale with
probability e^(-mu / scale) / 2, and between the two has the density e^((l - mu / scale) / 2) / 4.

Continuous noise is not drawn here: floats have gaps, and which float comes out can tell what it was added to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from discreet.calls import once_by_place
from discreet.errors import InputError
from discreet.noise import balls
from discreet.noise.count_loss import CountLoss, Density, OutcomeChances, TwoSidedDensity
from discreet.noise.distribution import RHO_DIGITS, Floats, Noise, ProvedCost, StatedValue, stated_size
from discreet.numbers import Exact, share, whole

CONTINUOUS = "continuous"
"""What a file states of noise with a density, beside its variance or scale."""


class ContinuousNoise(Noise):
    """Noise with a density: what an integer has, it refuses."""

    RANGE: ClassVar = (Fraction(1, 10**4), Fraction(2**64))
    is_log_concave: ClassVar[bool] = True
    is_estimated: ClassVar[bool] = False

    @property
    def is_drawn(self) -> bool:
        """No: floats have gaps."""
        return False

    def outcome_count(self, nats: float) -> None:
        """There are uncountably many."""
        return

    def single(self) -> ContinuousNoise:
        """Refuse: continuous noise is not drawn."""
        raise InputError(
            f"{self} is not drawn, because floats have gaps that tell what noise was added to; "
            "discrete noise of the same size is"
        )

    def _no_integer(self) -> InputError:
        return InputError(f"{self} is no integer, and has no probabilities of integers; discrete noise has")

    def _log_pmf(self, x: Floats) -> Floats:
        raise self._no_integer()

    def ball_pmf(self, x: int) -> balls.arb:
        """Refuse: no integer has a probability."""
        raise self._no_integer()

    def ball_tail(self, m: int) -> balls.arb:
        """Refuse, as `ball_pmf` does."""
        raise self._no_integer()

    def ball_pmfs(self, count: int) -> list[balls.arb]:
        """Refuse, as `ball_pmf` does."""
        raise self._no_integer()

    def quantile(self, p: Exact) -> int:
        """Refuse: quantiles are no integers."""
        raise self._no_integer()

    @property
    def outcomes(self) -> OutcomeChances:
        """Refuse: there are uncountably many; `loss_law` has the law of the loss."""
        raise self._no_integer()

    def margin(self, level: Exact = "0.95", *, draws: int = 1) -> int:
        """Return the smallest whole number m with P[|X| <= m] >= level."""
        if whole(draws, name="draws") > 1:
            raise self._no_integer()
        outside = math.log(1 - share(level, name="level"))
        m = max(0, math.floor(self.reach(-outside)))
        while m > 0 and math.log(2) + float(self.log_tail(np.array([float(m - 1)]))[0]) <= outside:
            m -= 1
        while math.log(2) + float(self.log_tail(np.array([float(m)]))[0]) > outside:
            m += 1
        return m

    def within(self, size: int, *, draws: int = 1) -> float:
        """Return the chance that the noise lies between -size and size."""
        if draws > 1:
            raise self._no_integer()
        return float(-np.expm1(math.log(2) + self.log_tail(np.array([float(size)])))[0])


@dataclass(frozen=True, init=False)
class ContinuousGaussian(ContinuousNoise):
    """Normal noise on a number that one person can change by `sensitivity`, `times` times over.

    >>> noise = ContinuousGaussian(variance=5, times=10)
    >>> noise.loss_law().normal, noise.true_variance(), noise.margin()
    (0.2, 5.0, 5)
    """

    FAMILY: ClassVar = "continuous Gaussian"
    PARAMETER: ClassVar = "variance"

    variance: Fraction
    sensitivity: int
    times: int

    @once_by_place("variance")
    def __init__(
        self,
        *,
        variance: Exact | None = None,
        sigma: Exact | None = None,
        sensitivity: int = 1,
        times: int = 1,
    ) -> None:
        super().__init__(stated_size(variance, sigma), sensitivity=sensitivity, times=times)

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def true_variance(self) -> float:
        """Return the variance."""
        return float(self.variance)

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X)."""
        slope = np.asarray(s, dtype=np.float64)
        return np.asarray(0.5 * float(self.variance) * slope * slope)[()]

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""
        return np.asarray(scipy.special.log_ndtr(-np.asarray(m) / math.sqrt(float(self.variance))))

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        return math.sqrt(2 * float(self.variance) * nats) + 1.0

    @property
    def loss_variance(self) -> Fraction:
        """R of one number, exactly."""
        return self.sensitivity**2 / self.variance

    @cached_property
    def zcdp(self) -> Fraction:
        """The rho of zCDP that all `times` cost together, exactly."""
        return self.times * self.loss_variance / 2

    def stated(self) -> dict[str, StatedValue]:
        """Return what a file states of the law."""
        return {"noise": CONTINUOUS, self.PARAMETER: self.size}

    @property
    def normal_loss(self) -> Fraction:
        """R of one number, exactly."""
        return self.loss_variance

    @property
    def proved_cost(self) -> ProvedCost:
        """The rho, exactly."""
        return ProvedCost(self.zcdp, self.zcdp, Fraction(0))

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        """The normal loss."""
        return CountLoss(np.empty(0), np.empty(0), normal=float(self.loss_variance))


@dataclass(frozen=True, init=False)
class ContinuousLaplace(ContinuousNoise):
    """Laplace noise on a number that one person can change by `sensitivity`, `times` times over.

    >>> law = ContinuousLaplace(scale=2).loss_law()
    >>> law.value.tolist(), np.exp(law.log).round(6).tolist()
    ([-0.5, 0.5], [0.303265, 0.5])
    """

    FAMILY: ClassVar = "continuous Laplace"
    PARAMETER: ClassVar = "scale"

    scale: Fraction
    sensitivity: int
    times: int

    @once_by_place("scale")
    def __init__(self, *, scale: Exact, sensitivity: int = 1, times: int = 1) -> None:
        super().__init__(scale, sensitivity=sensitivity, times=times)

    def true_variance(self) -> float:
        """Return the variance, 2 scale^2."""
        return 2.0 * float(self.scale) ** 2

    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X); infinite from |s| = 1 / scale on."""
        slope = np.abs(np.asarray(s, dtype=np.float64)) * float(self.scale)
        with np.errstate(divide="ignore"):
            inside = -np.log1p(-(np.minimum(slope, 1.0) ** 2))
        return np.asarray(np.where(slope < 1, inside, math.inf))[()]

    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m], m >= 0."""
        return np.asarray(-np.asarray(m) / float(self.scale) - math.log(2))

    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats)."""
        return float(self.scale) * nats + 1.0

    @property
    def largest(self) -> Fraction:
        """The largest loss of one number."""
        return self.sensitivity / self.scale

    @cached_property
    def zcdp(self) -> Fraction:
        """The rho of zCDP that all `times` cost together, rounded up in its last of 15 digits.

        D_a / a is largest at a = 1, so it is E L = e - 1 + exp(-e) with e the largest loss.

        >>> float(ContinuousLaplace(scale=2).zcdp)
        0.106530659712634
        """

        def mean() -> balls.arb:
            largest = balls.ball(self.largest)
            return largest + (-largest).expm1()

        return self.times * balls.decimal_above(mean, RHO_DIGITS)

    def stated(self) -> dict[str, StatedValue]:
        """Return what a file states of the law."""
        return {"noise": CONTINUOUS, self.PARAMETER: self.size}

    @property
    def exact_density(self) -> TwoSidedDensity:
        """The loss of one number, exactly."""
        return TwoSidedDensity(self.largest)

    @property
    def proved_cost(self) -> ProvedCost:
        """The largest loss, exactly."""
        return ProvedCost(self.times * self.largest**2 / 2, Fraction(0), self.times * self.largest)

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        """The loss: two ends, and a density between them."""
        end = float(self.sensitivity / self.scale)
        ends, logs = np.array([-end, end]), np.array([-end - math.log(2), -math.log(2)])
        density = Density(-end, end, lambda loss: 0.5 * (loss - end) - math.log(4))
        return CountLoss(ends, logs, density=density)
