"""What the two kinds of noise have in common: integers, symmetric about zero.

A kind of noise says how heavy its tail is, in floats (`log_tail`) and in balls (`ball_tail`); the
rest follows by symmetry. P[X >= m] for m >= 1 is the one function computed, so neither tail is ever
found as one minus something near one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InputError, PrecisionError
from discreet.noise import balls
from discreet.numbers import Exact, Interval, positive

if TYPE_CHECKING:
    from flint import arb

Floats = NDArray[np.float64]


class Noise(ABC):
    """Integer noise, symmetric about zero: its probabilities, quantiles and transform.

    The vectorised functions take integers (an array, or one) and return floats of the same shape.
    A logarithm is good to about 1e-15 of itself in both tails, so a probability p is good to about
    1e-15 * (1 + |log p|) relative, as far as p can be written as a float. (A logarithm near 0, of
    a p near 1, is as good as 1 - p is.)
    """

    def log_pmf(self, x: ArrayLike) -> Floats:
        """Return log P[X = x]."""
        return self._log_pmf(_integers(x))[()]

    def pmf(self, x: ArrayLike) -> Floats:
        """Return P[X = x]."""
        return np.exp(self.log_pmf(x))

    def log_sf(self, x: ArrayLike) -> Floats:
        """Return log P[X > x]."""
        return self._log_upper(_integers(x) + 1.0)[()]

    def sf(self, x: ArrayLike) -> Floats:
        """Return P[X > x]."""
        return np.exp(self.log_sf(x))

    def log_cdf(self, x: ArrayLike) -> Floats:
        """Return log P[X <= x]."""
        return self._log_upper(-_integers(x))[()]

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P[X <= x]."""
        return np.exp(self.log_cdf(x))

    @abstractmethod
    def true_variance(self) -> float:
        """Return the variance E X^2."""

    @abstractmethod
    def log_mgf(self, s: ArrayLike) -> Floats:
        """Return log E exp(s X) for real s."""

    def quantile(self, p: Exact) -> int:
        """Return the smallest integer x with P[X <= x] >= p, certified.

        `p` is exact (a string, a Fraction), so the answer is the integer, not nearly always the integer.
        """
        from discreet.noise.inversion import Tail

        chance = positive(p, name="p")
        if chance >= 1:
            raise InputError(f"p is {chance}; it must lie strictly between 0 and 1")
        tail = Tail(self)
        if 2 * chance > 1:
            return tail.crossing(1 - chance) - 1
        return 1 - tail.crossing(chance)

    def margin(self, level: Exact = "0.95") -> int:
        """Return the smallest integer m with P[|X| <= m] >= level, certified: a two-sided margin of error.

        The noise is symmetric, so P[|X| <= m] >= level says that P[X <= m] >= (1 + level) / 2.

        >>> from discreet.noise import GaussianNoise, LaplaceNoise
        >>> GaussianNoise(26).margin(), GaussianNoise("1/25").margin(), LaplaceNoise(3).margin("0.9")
        (10, 0, 7)
        """
        share = positive(level, name="level")
        if share >= 1:
            raise InputError(f"level is {share}; it must lie strictly between 0 and 1")
        return self.quantile((1 + share) / 2)

    def certified_pmf(self, x: int, *, bits: int = 100) -> Interval:
        """Return an interval that contains P[X = x], its relative width below 2^-bits."""
        return _narrow(lambda: self.ball_pmf(x), bits)

    def certified_sf(self, x: int, *, bits: int = 100) -> Interval:
        """Return an interval that contains P[X > x], its relative width below 2^-bits."""
        return _narrow(lambda: self.ball_upper(x + 1), bits)

    def certified_cdf(self, x: int, *, bits: int = 100) -> Interval:
        """Return an interval that contains P[X <= x], its relative width below 2^-bits."""
        return _narrow(lambda: self.ball_upper(-x), bits)

    # What a kind of noise provides; `m` is an integer >= 1, balls are at the working precision.

    @abstractmethod
    def _log_pmf(self, x: Floats) -> Floats: ...

    @abstractmethod
    def log_tail(self, m: Floats) -> Floats:
        """Return log P[X >= m]."""

    @abstractmethod
    def ball_pmf(self, x: int) -> arb:
        """Return a ball around P[X = x]."""

    @abstractmethod
    def ball_tail(self, m: int) -> arb:
        """Return a ball around P[X >= m]."""

    @abstractmethod
    def ball_pmfs(self, count: int) -> list[arb]:
        """Return balls around P[X = 0], ..., P[X = count - 1]."""

    @abstractmethod
    def reach(self, nats: float) -> float:
        """Return some m whose tail is below exp(-nats); it only starts a search."""

    def _log_upper(self, m: Floats) -> Floats:
        """Return log P[X >= m] for integers m of either sign."""
        tail = self.log_tail(np.maximum(m, 1.0 - m))
        return np.where(m >= 1.0, tail, np.log1p(-np.exp(tail)))

    def ball_upper(self, m: int) -> arb:
        """Return a ball around P[X >= m], m of either sign."""
        return self.ball_tail(m) if m >= 1 else 1 - self.ball_tail(1 - m)


def _integers(x: ArrayLike) -> Floats:
    array = np.asarray(x)
    if array.dtype.kind not in "iu":
        raise InputError(f"x is of type {array.dtype}; the noise is an integer, so ask at integers")
    return array.astype(np.float64)


def _narrow(compute: Callable[[], Any], bits: int) -> Interval:
    """Raise the working precision until the ball is narrow enough."""
    working = bits + 64
    while working <= balls.MAX_BITS:
        with balls.working_bits(working):
            value = compute()
        if value.rel_accuracy_bits() > bits + 2:
            return balls.interval(value)
        working *= 2
    raise PrecisionError(f"{bits} bits were asked for; {balls.MAX_BITS} bits of work did not reach them")
