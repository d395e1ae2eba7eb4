"""The noise of the sum of the noisy counts of an area's siblings.

Write n in Z^d with sum z as (z/d, ..., z/d) plus a vector w of the lattice A_(d-1), shifted. Then

    P[sum = z]  ~  exp(-z^2 / (2 d v)) c(z mod d),    c(s) = sum over w of exp(-|w|^2 / (2v)),

so the exact law is the single discrete Gaussian N_Z(0, d v) of the paper times a factor of period d. For
d = a + b the sum over w is a short sum of those for a and for b, with weights Gaussian around z a / d: no
cancellation and no underflow, however far out z lies. By Poisson summation c varies by at most 1 +- e, where
e is the sum of exp(-2 pi^2 v |u|^2) over the dual lattice without 0, whose points are integer vectors n less
their mean. With median 0 among the representatives, |u|^2 >= s (1 - min(s/d, 1/2)) where s = |n|^2, which
bounds e in closed form (`theta_bound`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.disclosure.areas import Integers
from discreet.disclosure.odds import Floats
from discreet.errors import PrecisionError
from discreet.noise import DiscreteGaussian

NEGLIGIBLE = 1e-17
"""Below this the factor c of the siblings' noise cannot be told from a constant in floats."""

_NATS = 42.0
_MOST_TERMS = 60_000_000
_SPLIT = 12


def log_noise(variance: float, offsets: Integers) -> Floats:
    """Return log P[noise = offset] of discrete Gaussian noise.

    >>> log_noise(1.0, np.array([0, 1])).round(4).tolist()
    [-0.9189, -1.4189]
    """
    return DiscreteGaussian(variance=Fraction(variance)).log_pmf(offsets)


def theta_bound(count: int, variance: float) -> float:
    """Return a bound on |c(s) / mean - 1|, the relative distance of the exact law's shape from a Gaussian's.

    >>> theta_bound(27, 5.04) < 1e-19, theta_bound(1, 0.1)
    (True, 0.0)
    """
    if count <= 1:
        return 0.0
    rate = 2.0 * math.pi**2 * variance
    crude = math.expm1(min(count * math.log1p(_excess(rate / 2.0)), 700.0))
    near = 0.0
    for s in range(1, _SPLIT):
        # at most (2d)^s integer vectors have |n|^2 = s
        near += math.exp(min(s * math.log(2.0 * count) - rate * s * (1.0 - min(s / count, 0.5)), 700.0))
    far = count * math.log1p(_excess(rate / 4.0)) - _SPLIT * rate / 4.0
    return min(crude, near + math.exp(min(far, 700.0)))


def _excess(rate: float) -> float:
    return 2.0 * sum(math.exp(-rate * m * m) for m in range(1, 60))


@lru_cache(maxsize=256)
def log_factor(count: int, variance: float) -> Floats:
    """Return log c(s) for s = 0, ..., d - 1, up to a constant.

    >>> np.ptp(log_factor(2, 1.0)).round(8), np.exp(-math.pi**2).round(8)   # 4 exp(-pi^2 v), nearly
    (np.float64(0.00020689), np.float64(5.172e-05))
    """
    if count == 1:
        return np.zeros(1)
    a, b = count // 2, count - count // 2
    left, right = log_factor(a, variance), log_factor(b, variance)
    spread = a * b / count * variance  # variance of one part's sum, given the whole sum
    reach = math.ceil(math.sqrt(2.0 * spread * _NATS)) + 1
    if count * (2 * reach + 1) > _MOST_TERMS:
        raise PrecisionError(
            f"the exact sum of {count} noisy counts of variance {variance:g} has too many terms; "
            "use the single discrete Gaussian (siblings='single')"
        )
    z = np.arange(count)
    centre = z * a // count
    k = centre[:, None] + np.arange(-reach, reach + 1)
    off = k - (z * (a / count))[:, None]
    terms = -(off**2) / (2.0 * spread) + left[k % a] + right[(z[:, None] - k) % b]
    top = terms.max(axis=1)
    return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))


@dataclass(frozen=True, slots=True)
class SiblingNoise:
    """The noise of the sum of `count` noisy counts of one variance.

    `error` is the largest relative difference between the exact law and N_Z(0, count variance): as computed,
    or a bound where it is too small to matter.

    >>> SiblingNoise.of(27, 5.04, exact=True).error < 1e-16
    True
    >>> round(SiblingNoise.of(4, 0.2, exact=True).error, 3)
    0.394
    """

    count: int
    variance: float
    exact: bool
    factor: Floats
    error: float

    @classmethod
    def of(cls, count: int, variance: float, *, exact: bool) -> SiblingNoise:
        """Return the exact law, or the single Gaussian with its distance from the exact one."""
        wave = theta_bound(count, variance)
        # both laws add up to one, so their ratio lies between (1 - e) / (1 + e) and (1 + e) / (1 - e)
        bound = 2.0 * wave / (1.0 - wave) if wave < 1.0 else math.inf
        if bound < NEGLIGIBLE:
            return cls(count, variance, exact, np.zeros(1), bound)
        try:
            factor = log_factor(count, variance)
        except PrecisionError:
            if exact and bound > 1e-13:
                raise
            return cls(count, variance, exact, np.zeros(1), bound)
        # normalise both over one period of a wide window, then compare
        total = count * variance
        reach = math.ceil(math.sqrt(2.0 * total * _NATS)) + count + 1
        z = np.arange(-reach, reach + 1)
        weights = np.exp(-(z**2) / (2.0 * total))
        with np.errstate(under="ignore"):
            share = float((weights * np.exp(factor - factor.max())[z % count]).sum() / weights.sum())
            logs = factor - (factor.max() + math.log(share))
            error = float(np.abs(np.expm1(logs)).max())
        return cls(count, variance, exact, logs if exact else np.zeros(1), error)

    def log_pmf(self, z: Integers) -> Floats:
        """Return the logarithm of the probability of each sum of noise."""
        logs = log_noise(self.count * self.variance, z)
        return logs if len(self.factor) == 1 else logs + self.factor[z % self.count]


@dataclass(frozen=True, slots=True, eq=False)
class SumNoise:
    """The noise of the sum of several noisy counts, of one variance or of several.

    `table` holds the exact law where it differs from a single discrete Gaussian's by more than rounding.

    >>> mixed = SumNoise.of({0.3: 1, 5.0: 2})
    >>> mixed.count, round(mixed.variance, 1), mixed.is_single
    (3, 10.3, False)
    >>> mixed.log_pmf(np.array([0.0])).round(4).tolist()   # no counts, no noise: `SumNoise.of({})`
    [-2.084]
    """

    count: int
    variance: float
    table: Floats | None

    @classmethod
    def of(cls, counts: Mapping[float, int]) -> SumNoise:
        """Return the noise of so many counts of each variance."""
        parts = [SiblingNoise.of(many, variance, exact=True) for variance, many in counts.items() if many]
        total = sum(part.count * part.variance for part in parts)
        count, error, before = sum(part.count for part in parts), 0.0, 0.0
        for part in parts:
            own = part.count * part.variance
            # by Poisson summation, as for `theta_bound`
            wave = 0.0 if not before else 2.0 * math.exp(-2.0 * math.pi**2 * before * own / (before + own))
            error, before = error + part.error + wave, before + own
        if error < 1e-13:
            return cls(count, total, None)
        return cls(count, total, _convolved(parts))

    @property
    def is_single(self) -> bool:
        """Whether the law is that of a single discrete Gaussian."""
        return self.table is None

    def log_pmf(self, values: Floats) -> Floats:
        """Return the logarithm of the probability of sums of noise, whole or, of a single Gaussian, not.

        Beyond the table, some 13 standard deviations from zero, it is that of the single discrete Gaussian.
        """
        logs = self._peak - values**2 / (2.0 * self.variance)
        if self.table is None:
            return np.asarray(logs)
        middle = len(self.table) // 2
        index = np.clip(values.astype(np.int64) + middle, 0, len(self.table) - 1)
        return np.where(np.abs(values) <= middle, self.table[index], logs)

    @property
    def _peak(self) -> float:
        return float(log_noise(self.variance, np.array([0]))[0])


def _convolved(parts: Sequence[SiblingNoise]) -> Floats:
    """The log law of a sum of independent noises, on a window around zero."""
    reach = [math.ceil(math.sqrt(2.0 * _NATS * 2 * part.count * part.variance)) + 1 for part in parts]
    law: Floats = np.ones(1)
    for part, far in zip(parts, reach, strict=True):
        with np.errstate(under="ignore"):
            law = np.convolve(law, np.exp(part.log_pmf(np.arange(-far, far + 1))))
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(law), -700.0)
