"""The tilted law of the sum of a term's events, as a window of probabilities around its mode."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.loss.lattice import Floats
from discreet.noise import LatticeNoise
from discreet.noise.lattice import finite_transform, log1p_complex

_CONVOLVED = 16_000  # laws of up to this many values are convolved directly
_SMALL = 50.0  # variances below are listed far into their tails


def term_width(term: LatticeNoise, variance: float) -> float:
    """About how many values the sum of a term's events takes, negligible ones left out."""
    width = 2 * math.sqrt(92 * max(term.times * variance, 0.01)) + 3
    return width if term.largest is None else min(width, term.times * term.sensitivity + 1)


@dataclass(frozen=True, slots=True)
class Window:
    """The tilted law of the sum of a term's events: first value, probabilities, and their missing mass."""

    first: int
    p: Floats
    missing: float = 0.0


def window(term: LatticeNoise, theta: float, *, deep: bool = True) -> Window:
    """The tilted law of the sum of the term's events; `deep` keeps the far tails of small variances.

    Between atoms that are far apart nearly all of the tilted weight may lie below the threshold; then the
    little that lies above matters.
    """
    nats = 700.0 if deep and term.size < _SMALL else 46.0
    shift, u, p = term.tilted(theta, nats=nats)
    # a Gaussian's tails beyond e^-nats of its peak weigh less than e^-nats; a Laplace loss has an end
    missing = 0.0 if term.largest is not None else term.times * math.exp(-nats)
    if term.times == 1:
        return Window(shift + int(u[0]), p, missing)
    if term.times * u.size <= _CONVOLVED:
        return Window(term.times * (shift + int(u[0])), convolved(p, term.times), missing)
    mean = float(p @ u)
    variance = float(p @ (u - mean) ** 2)
    size = 1 << math.ceil(math.log2(2 * term_width(term, variance) + 2 * u.size))
    # the powers through logarithms: times * log keeps its digits where a power of the transform would not
    angle = np.arange(size // 2 + 1, dtype=np.float64) * (2 * math.pi / size)
    many = term.times
    if term.is_dual:  # in closed form, for all of them at once
        logs, many = term.log_transform(theta, angle / (2 * math.pi)), 1
    elif angle.size * u.size > 1 << 26:
        # (for laws of very many values; then the error is times 1e-16)
        whole = np.fft.rfft(p, size).conj() * np.exp(1j * (int(u[0]) * angle))
        logs = log1p_complex(whole - 1)
    else:
        logs = finite_transform(u, p, angle)
    first = round(term.times * mean) - size // 2
    # rotated so that the window starts at `first`; the angle is reduced exactly, in integers
    turn = (np.arange(size // 2 + 1) * (first % size)) % size
    with np.errstate(under="ignore"):
        spectrum = np.exp(many * logs.real) * np.exp(1j * (many * logs.imag - 2 * math.pi / size * turn))
    law = np.fft.irfft(np.conj(spectrum), size)
    # a transform gives each probability only to some 1e-17: smaller ones are set to zero
    law = np.where(law > 1e-18, law, 0.0)
    return Window(term.times * shift + first, law, 1e-18 * size)


def convolved(p: Floats, times: int) -> Floats:
    """Return p convolved with itself: sums of positive numbers, so each has full relative accuracy.

    >>> convolved(np.array([0.5, 0.5]), 3).tolist()
    [0.125, 0.375, 0.375, 0.125]
    """
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, p)
        times >>= 1
        if times:
            p = np.convolve(p, p)
    return result
