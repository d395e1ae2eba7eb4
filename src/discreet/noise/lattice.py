"""Noise whose loss lies on a lattice, and is mirrored: what contours and their sums ask of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.noise import balls
from discreet.noise.count_loss import OUTCOME_NATS, CountLoss
from discreet.noise.distribution import Floats, Noise

if TYPE_CHECKING:
    from discreet.noise.factors import BallFactor

Complexes = NDArray[np.complex128]

_BLOCK = 1 << 22  # angles times values in memory at a time

RADII = np.concatenate([[0.0], math.pi * 1.01 ** np.arange(-2200.0, 1.0)])
"""Distances at which moduli are computed if they need not fall with the distance."""


class LatticeNoise(Noise):
    """Noise whose loss is L = offset + step X, X an integer, and mirrored: what contours are made for."""

    is_log_concave: ClassVar[bool] = True
    has_evidence: ClassVar[bool] = True
    is_estimated: ClassVar[bool] = True

    PER_BIT: ClassVar[int]
    """The divisor of the parameter that makes the noise half as wide."""
    WIDEST: ClassVar[Fraction]
    """The largest parameter whose draws fit a table of 16 bits."""

    @property
    def as_lattice(self) -> LatticeNoise:
        """The noise itself."""
        return self

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        """The law of one count's loss, by its exact offset and step."""
        shift, u, _ = self.tilted(0.0, nats=OUTCOME_NATS)
        x = shift + u
        value = float(self.offset) + float(self.step) * x.astype(np.float64)
        if self.largest is not None:
            _, _, p = self.tilted(0.0)
            with np.errstate(divide="ignore"):
                return CountLoss(value, np.log(p))
        return CountLoss(value, self.log_pmf(x), left_out=math.exp(-OUTCOME_NATS))

    def certain_loss(self, *, exchanged: bool = False) -> Fraction:
        """No loss is infinite."""
        return Fraction(0)

    def narrowed(self, bits: int) -> Self:
        """Return the noise that is 2^bits times narrower."""
        return self._copy(self.size / self.PER_BIT**bits, 1, 1)

    @abstractmethod
    def split_exponent(self, k: int, u: int, s: int) -> tuple[int, int]:
        """Return t, a quotient of integers that grows with u: weight(k s + u) = narrow weight(k) exp(-t)."""

    @property
    @abstractmethod
    def step(self) -> Fraction:
        """Loss per unit of X."""

    @property
    @abstractmethod
    def offset(self) -> Fraction:
        """Loss at X = 0."""

    @property
    def mean_loss(self) -> float:
        """E L: the offset, where X is symmetric."""
        return float(self.offset)

    @property
    def is_dual(self) -> bool:
        """Whether the transform of X is summed by Poisson duality; else over the values that X takes."""
        return False

    @property
    def is_plain(self) -> bool:
        """Whether that sum has one term: the transform of X is Gaussian up to half a turn."""
        return False

    @abstractmethod
    def tilted(self, theta: float, nats: float = 40.0) -> tuple[int, NDArray[np.int64], Floats]:
        """Return (shift, u, p): under the tilt e^(theta L), X = shift + u with probability p.

        Probabilities below about e^-nats of the largest may be left out.
        """

    @abstractmethod
    def log_factor(self, theta: Floats) -> Floats:
        """log E e^(theta L) of one count, less theta offset + theta^2 precision / 2."""

    @abstractmethod
    def log_factor_ball(self, theta: Fraction) -> balls.arb:
        """The same, as a ball."""

    @abstractmethod
    def shift(self, theta: float) -> int:
        """The shift of `tilted`: an integer where X is likely under the tilt."""

    def near(self, theta: float) -> float:
        """How far the centre of the tilted noise lies from `shift`, of noise whose transform is dual."""
        raise NotImplementedError(f"{self.FAMILY} noise is not dual")

    def log_transform(self, theta: float, turn: Floats) -> Complexes:
        """log E e^(2 pi i turn (X - shift)) under the tilt, summed over the `times`, for |turn| <= 1/2."""
        _, u, p = self.tilted(theta)
        logs = finite_transform(u[p > 1e-22], p[p > 1e-22], 2 * math.pi * turn)
        # by parts: the logarithm of zero is -inf, which complex products turn into nan
        return self.times * logs.real + 1j * (self.times * logs.imag)

    def tilted_variance(self, theta: float = 0.0) -> float:
        """Variance of one count's X under the tilt."""
        _, u, p = self.tilted(theta)
        return float(p @ (u - float(p @ u)) ** 2)

    def modulus(self, theta: float, angle: Floats) -> Floats:
        """|E e^(i angle X)| under the tilt."""
        _, u, p = self.tilted(theta)
        return np.abs(p @ np.exp(1j * np.multiply.outer(u, angle)))

    def radius(self, depth: float, theta: float) -> float:
        """The least d in [0, pi] beyond which modulus^times stays below e^-depth; pi if there is none.

        It is computed at the RADII; between them the slope of the squared modulus at d is at most twice the
        variance times d.
        """
        slope = 2 * self.tilted_variance(theta) * RADII[1:]
        largest = self.modulus(theta, RADII)[:-1] ** 2 + slope * np.diff(RADII)
        # 1e-12 is far above the rounding of the sums
        above = np.flatnonzero(largest + 1e-12 >= math.exp(-2 * (depth / self.times)))
        return float(RADII[above[-1] + 1])

    # The same in balls, at the working precision.

    @abstractmethod
    def factor_ball(self, theta: Fraction) -> BallFactor:
        """The characteristic function of one count's X under the tilt."""

    @abstractmethod
    def law_ball(self, theta: Fraction) -> tuple[int, list[balls.arb], balls.arb]:
        """The law of X under the tilt: its first value, probabilities, and a bound of the mass left out."""

    @abstractmethod
    def radius_ball(self, depth: float, theta: float) -> float:
        """About the least radius beyond which modulus^times is proved to stay below e^-depth, or pi."""

    @abstractmethod
    def moduli_ball(self, theta: Fraction, distances: Sequence[float]) -> list[balls.arb]:
        """Bounds of times * log |factor| between each of some ascending distances and the next."""


def finite_transform(u: NDArray[np.int64], p: Floats, angle: Floats) -> Complexes:
    """log of sum p e^(i angle u) for probabilities p, accurate to the last digits near angle 0."""
    weights = p.astype(np.complex128)
    blocks = np.array_split(angle, max(1, angle.size * u.size // _BLOCK))
    return np.concatenate(
        [log1p_complex(weights @ np.expm1(1j * np.multiply.outer(u, block))) for block in blocks]
    )


def log1p_complex(z: Complexes) -> Complexes:
    """log(1 + z) with full relative accuracy near 0 (NumPy's own loses it), and near its zero at -1.

    >>> log1p_complex(np.array([-1 + 1e-12, 1e-20 + 0j])).real.round(4).tolist()
    [-27.631, 0.0]
    """
    x, y = z.real, z.imag
    excess = np.maximum(x * (2 + x) + y * y, -1.0)
    result = np.empty(z.shape, dtype=np.complex128)
    with np.errstate(divide="ignore"):
        result.real = 0.5 * np.log1p(excess)
        # the square of a small modulus has lost half of its digits
        small = np.flatnonzero(excess < -0.75)
        if small.size:
            result.real[small] = np.log(np.hypot(1 + x[small], y[small]))
    result.imag = np.arctan2(y, 1 + x)
    return result
