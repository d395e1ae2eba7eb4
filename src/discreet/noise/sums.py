"""Sums of several independent draws of the same noise: how far from zero they stay, and how often.

The law of a sum is that of one draw convolved with itself. Floats (one Fourier transform) decide where the
answer is clear, balls (a power of a polynomial whose coefficients are the probabilities) where it is close.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, PrecisionError
from discreet.noise import balls
from discreet.noise.distribution import Noise
from discreet.numbers import Exact, positive

CLEAR = 1e-9
"""Floats are trusted where they differ by more than this; their errors are a thousand times smaller."""

_NATS = 60.0  # what is left out of a sum, as a logarithm


def margin(noise: Noise, chance: Exact = "0.95", *, times: int = 1) -> int:
    """Return the smallest integer that a sum of `times` draws does not exceed, in size, with this chance.

    `chance` is exact, and so is the answer.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> [margin(DiscreteGaussian(variance)) for variance in ("2500/1067", "5000/159", 625)]
    [3, 11, 49]
    >>> margin(DiscreteGaussian("5000/159"), times=4), margin(DiscreteLaplace(10), times=8)
    (22, 79)
    """
    wanted = positive(chance, name="chance")
    if wanted >= 1:
        raise InputError(f"chance is {wanted}; it must lie between 0 and 1")
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise InputError(f"times is {times}; it must be a whole number of at least 1")
    return _margin(noise, wanted, times)


@lru_cache(maxsize=1024)
def _margin(noise: Noise, chance: Fraction, times: int) -> int:
    if times == 1:
        return noise.margin(chance)
    outside, limit = _outside(noise, times), float(1 - chance)
    found = int(np.searchsorted(-outside, -limit))
    near = outside[max(found - 1, 0) : found + 1]
    if found < outside.size and np.all(np.abs(near - limit) > CLEAR):
        return found
    return _certified(noise, chance, times)


def within(noise: Noise, size: int, *, times: int = 1) -> float:
    """Return the chance that a sum of `times` draws is at most `size` in size.

    >>> from discreet.noise import DiscreteGaussian
    >>> noise = DiscreteGaussian("5000/159")
    >>> round(within(noise, 10), 4), round(within(noise, 21, times=4), 4)
    (0.9392, 0.9448)
    """
    if times == 1:
        return float(1.0 - 2.0 * noise.sf(size))
    outside = _outside(noise, times)
    return float(1.0 - outside[size]) if size < outside.size else 1.0


@lru_cache(maxsize=64)
def _outside(noise: Noise, times: int) -> NDArray[np.float64]:
    """P[|S| > m] for m = 0, 1, ..., to about 1e-12."""
    spread = (times * noise.true_variance()) ** 0.5 + 1e-3
    slopes = np.concatenate([np.array([1, 2, 4, 8, 16]) / spread, np.array([0.2, 0.5, 0.8]) / noise.reach(1)])
    reach = ceil(float(np.min((times * noise.log_mgf(slopes) + _NATS) / slopes)))  # Chernoff's bound
    size = 1 << (2 * reach + 1).bit_length()
    place = np.arange(size)
    mass = noise.pmf(np.where(place < size // 2, place, place - size))
    sums = np.fft.irfft(np.fft.rfft(mass) ** times, size)[: reach + 2]
    outside: NDArray[np.float64] = 2.0 * np.append(np.cumsum(sums[::-1])[::-1][1:], 0.0)
    return np.minimum(np.maximum(outside, 0.0), 1.0)


def _certified(noise: Noise, chance: Fraction, times: int) -> int:
    """The same by balls, where floats cannot tell."""
    from flint import arb, arb_poly

    bits, nats = 128, _NATS
    while bits <= balls.MAX_BITS:
        reach = ceil(noise.reach(nats))
        with balls.working_bits(bits):
            half = noise.ball_pmfs(reach + 1)
            powers = (arb_poly([*half[:0:-1], *half]) ** times).coeffs()
            left_out = 2 * times * noise.ball_tail(reach + 1)  # some draw lies beyond the reach
            inside, wanted = arb(0), balls.ball(chance)
            for size in range(times * reach + 1):
                inside += powers[times * reach + size] * (1 if size == 0 else 2)
                if inside >= wanted:
                    return size
                if not inside + left_out < wanted:
                    break
        bits, nats = 2 * bits, 2 * nats
    raise PrecisionError(f"the margin of {times} draws of {noise} could not be separated from an integer")
