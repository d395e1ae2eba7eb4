"""The cumulants of a composition, log E e^(t L), from which Renyi divergences and their bounds are made.

With lattice noise alone they are exact sums over the lattice. With other laws they are sums over what each
law lists; where a tilt reaches the end of the list, so that what is left out might count, the cumulant is
infinite, which is an upper bound. If losses are not symmetric the larger of both directions counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.comparisons.curve import composed
from discreet.loss.lattice import Floats, Loss, noises_of
from discreet.loss.sides import Side, sides_of, with_density
from discreet.memory import Forgetful
from discreet.noise import CountLoss, Noise, grouped
from discreet.noise.capabilities import require, supports

_BLOCK = 1 << 21  # tilts times values in memory at a time
_FAR_END = 1e-17  # of the tilted law: what lies beyond a list that holds all but this does not count
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class LatticeDivergences(Forgetful):
    """The cumulants of lattice noise."""

    loss: Loss

    @property
    def largest(self) -> Fraction | None:
        """The largest loss, if there is one."""
        return self.loss.largest

    def log_mgf(self, t: Floats) -> Floats:
        """K(t)."""
        return self.loss.log_mgf(t)

    def divergence(self, t: Floats) -> Floats:
        """K(t) / t, rounded up."""
        counts = sum(term.times for term in self.loss.primal)
        size = np.abs(t) * float(self.loss.offset) + t * t * float(self.loss.R)
        return np.asarray((self.log_mgf(t) + np.sign(t) * 1e-15 * (counts + size)) / t)

    def moments(self) -> list[tuple[float, float]]:
        """Mean and variance of the loss, as the central limit theorem takes them."""
        mean = sum(term.times * term.mean_loss for term in self.loss.terms)
        variance = float(self.loss.R)
        for term in self.loss.terms:
            if term.precision == 0:  # discrete Laplace
                variance += term.times * float(term.step) ** 2 * term.tilted_variance()
        return [(float(mean), variance)]


@dataclass(frozen=True, eq=False)
class LawDivergences(Forgetful):
    """The cumulants of any laws whose losses are finite.

    >>> from discreet.noise import TableNoise
    >>> answer = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})
    >>> found = divergences_of([answer])
    >>> round(float(found.log_mgf(np.array([1.0]))[0]), 12) == round(math.log(9 / 4 + 1 / 12), 12)
    True
    """

    events: tuple[Noise, ...]

    @cached_property
    def _sides(self) -> tuple[Side, ...]:
        return sides_of(self.events)

    @cached_property
    def _lattice(self) -> Loss:
        return Loss([event for event in self.events if supports("lattice", [event])])

    @property
    def largest(self) -> Fraction | None:
        """The largest loss, if there is one."""
        ends = [event.largest for event in self.events]
        if any(end is None for end in ends):
            return None
        parts = (event.times * (end or Fraction(0)) for event, end in zip(self.events, ends, strict=True))
        return sum(parts, Fraction(0))

    def _cumulants(self, t: Floats) -> Floats:
        """K(t), a row for each direction."""
        flat = np.asarray(t, dtype=np.float64).ravel()
        shared = self._lattice.log_mgf(flat) if self._lattice.terms else np.zeros(flat.size)
        rows = []
        for side in self._sides:
            total = shared + 0.5 * side.normal * (flat + flat * flat)
            for event in self.events:
                if supports("lattice", [event]):
                    continue
                law = event.loss_law(exchanged=side.exchanged)
                if not law.normal:
                    total = total + event.times * _cumulant(law, flat)
            rows.append(total.reshape(np.shape(t)))
        return np.array(rows)

    def log_mgf(self, t: Floats) -> Floats:
        """K(t) at t > 0, the larger of both directions."""
        return np.asarray(self._cumulants(t).max(axis=0))

    def divergence(self, t: Floats) -> Floats:
        """K(t) / t, the larger of both directions, rounded up."""
        with np.errstate(invalid="ignore"):
            each = (self._cumulants(t) / t).max(axis=0)
        counts = sum(event.times for event in self.events)
        return np.asarray(each + _ROUNDING * (counts / np.abs(t) + np.abs(each)))

    def moments(self) -> list[tuple[float, float]]:
        """Mean and variance of the loss in each direction."""
        return [side.tilted_moments(0.0) for side in self._sides]


def _cumulant(law: CountLoss, t: Floats) -> Floats:
    """log E e^(t L) of one count; infinite where what a law leaves out might count."""
    value, log = with_density(law, 64)
    found = np.empty(t.size)
    step = max(1, _BLOCK // value.size)
    for start in range(0, t.size, step):
        weight = np.multiply.outer(t[start : start + step], value) + log
        total = np.logaddexp.reduce(weight, axis=-1)
        if law.left_out and value.size > 1:
            # beyond its last value the tilted law is log-concave: at most a geometric series is missing
            last, ratio = weight[:, -1] - total, np.minimum(weight[:, -1] - weight[:, -2], -1e-300)
            far = last - np.log(-np.expm1(ratio)) > math.log(_FAR_END)
            total = np.where((t[start : start + step] > 0) & far, math.inf, total)
        found[start : start + step] = total
    return found


def divergences_of(events: Noise | Iterable[Noise]) -> LatticeDivergences | LawDivergences:
    """Return the cumulants of all events together; no events, and infinite losses, are refused.

    >>> from discreet.noise import DiscreteGaussian, PowerNoise
    >>> found = divergences_of([DiscreteGaussian(variance=5), PowerNoise(2, "3.1622776601683795")])
    >>> found.log_mgf(np.array([1.0])).round(6).tolist()
    [0.4]
    """
    noises = noises_of(events)
    if supports("lattice", noises):
        return LatticeDivergences(composed(noises))
    require("divergences", noises)
    return LawDivergences(grouped(noises))
