"""Where on the contour the integrand is not negligible.

Off the origin the transform of the loss is tiny except near points y where *every* step_k * y is
close to a multiple of 2 pi. The modulus of a tilted Gaussian factor falls with the distance
d = dist(step_k y, 2 pi Z), whatever the tilt, so each term allows a periodic family of intervals, and
the sieve is their intersection. It does not depend on the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.loss import Floats, GaussianTerm, LaplaceTerm, Loss, Term

_TWO_PI = 2 * math.pi
MOST_INTERVALS = 4_000_000
_SHALLOWEST = 8.0
_PIECES = 16


class SieveOverflowError(Exception):
    """More intervals survive than can be handled: this contour is too long for this loss."""


@dataclass(frozen=True, slots=True)
class Sieve:
    """Disjoint ascending intervals of [0, reach]; outside, the modulus is below e^-depth."""

    low: Floats
    high: Floats
    reach: float
    depth: float

    def nodes(self, period: float, most: int) -> NDArray[np.int64]:
        """Numbers j of the nodes 2 pi j / period that lie in the intervals, ascending."""
        # the slack covers the rounding of the ends, so that no node inside is lost
        low, high = self.low * (period / _TWO_PI), self.high * (period / _TWO_PI)
        first = np.maximum(np.ceil(low - 1e-6 - 1e-15 * low), 0)
        last = np.floor(high + 1e-6 + 1e-15 * high)
        count = np.maximum(last - first + 1, 0)
        total = float(count.sum())
        if total > most:
            raise SieveOverflowError(f"{total:.3g} nodes")
        sizes = count.astype(np.int64)
        starts = np.repeat(first.astype(np.int64), sizes)
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = starts + within
        # neighbouring intervals may share a node through the slack
        return np.asarray(found[np.diff(found, prepend=-1) > 0])


def sieve(loss: Loss, *, reach: float, depth: float, theta: float, falloff: float, scale: float) -> Sieve:
    """The sieve on [0, reach], octave by octave.

    A kernel that falls like (scale / y)^falloff beyond `scale` makes shallower intervals do farther out.
    `theta` matters only to terms of small variance and to discrete Laplace terms.
    """
    parts, start, end = [], 0.0, 64 * scale
    while start < reach:
        end = min(end, reach)
        parts.append(octave(loss, start, end, depth=depth, theta=theta, falloff=falloff, scale=scale))
        if sum(part.low.size for part in parts) > MOST_INTERVALS:
            raise SieveOverflowError("too many intervals")
        start, end = end, 8 * end
    return joined(parts)


def octave(
    loss: Loss, start: float, end: float, *, depth: float, theta: float, falloff: float, scale: float
) -> Sieve:
    """One stretch of the sieve, as deep as the kernel at its start demands."""
    here = depth if start <= scale else max(_SHALLOWEST, depth - falloff * math.log(start / scale))
    radii = [modulus_radius(term, here, theta) for term in loss.terms]
    try:
        return Sieve(*sieved(loss, start, end, radii), end, here)
    except SieveOverflowError:
        # on the way to few intervals there may be many at a time: piece by piece there are fewer
        ends = np.linspace(start, end, _PIECES + 1)
        found = [sieved(loss, float(a), float(b), radii) for a, b in pairwise(ends)]
        low, high = (np.concatenate(side) for side in zip(*found, strict=True))
        if low.size > MOST_INTERVALS:
            raise
        return Sieve(low, high, end, here)


def joined(parts: Sequence[Sieve]) -> Sieve:
    """Consecutive stretches as one."""
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    return Sieve(low, high, parts[-1].reach, parts[0].depth)


def sieved(loss: Loss, start: float, end: float, radii: Sequence[float]) -> tuple[Floats, Floats]:
    """The intervals of [start, end] in which every term is within its radius of a full turn."""
    families = []
    for term, radius in zip(loss.terms, radii, strict=True):
        if radius < math.pi:
            # padded by more than the rounding errors of step * y, so that nothing allowed is lost
            step = float(term.step)
            families.append((step, radius * (1 + 1e-9) + 1e-12 + 4e-15 * step * end))
    families.sort()
    low, high = np.array([start]), np.array([end])
    for step, radius in families:
        low, high = _intersect(low, high, step, radius)
        if low.size == 0:
            break
    return low, high


def _intersect(low: Floats, high: Floats, step: float, radius: float) -> tuple[Floats, Floats]:
    """Cut the intervals to the y with dist(step y, 2 pi Z) <= radius."""
    first = np.ceil((low * step - radius) / _TWO_PI)
    last = np.floor((high * step + radius) / _TWO_PI)
    count = np.maximum(last - first + 1, 0)
    total = float(count.sum())
    if total > MOST_INTERVALS:
        raise SieveOverflowError(f"{total:.3g} intervals")
    sizes = count.astype(np.int64)
    owner = np.repeat(np.arange(low.size), sizes)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    centre = (first[owner] + within) * _TWO_PI
    return np.maximum(low[owner], (centre - radius) / step), np.minimum(high[owner], (centre + radius) / step)


def modulus_radius(term: Term, depth: float, theta: float) -> float:
    """The least d in [0, pi] beyond which |factor|^times stays below e^-depth; pi if there is none."""
    if isinstance(term, GaussianTerm) and term.is_dual:
        return _dual_radius(float(term.sigma2), term.times, depth)
    _, u, p = term.tilted(theta)
    if isinstance(term, LaplaceTerm):
        modulus = term.modulus(theta, RADII)
    else:
        modulus = np.abs(p @ np.exp(1j * np.multiply.outer(u, RADII)))
    variance = float(p @ (u - float(p @ u)) ** 2)
    return _finite_radius(modulus, variance, depth / term.times)


def _dual_radius(sigma2: float, times: int, depth: float) -> float:
    """Solve modulus(d)^times = e^-depth for the largest modulus over all tilts.

    Numerator at its largest (centre an integer), denominator at its smallest (half an integer).
    """
    q = math.exp(-2 * math.pi**2 * sigma2)
    log_denominator = math.log1p(-2 * q)
    need = depth / times
    radius = math.sqrt(2 * need / sigma2)
    if sigma2 > 4 and radius < 1.5:
        # neighbours are below e^(-8 pi): less than the padding
        return radius * (1 + 1e-9 + 1e-10 / need)
    for _ in range(200):
        if radius >= math.pi:
            return math.pi
        neighbours = sum(
            math.exp(-2 * math.pi**2 * sigma2 * v * v + 2 * math.pi * sigma2 * v * radius)
            for v in (-2, -1, 1, 2)
        )
        better = math.sqrt(2 * (need + math.log1p(neighbours) - log_denominator) / sigma2)
        if better - radius < 1e-10 * radius:
            return better * (1 + 1e-9)
        radius = better
    return math.pi


RADII = np.concatenate([[0.0], math.pi * 1.01 ** np.arange(-2200.0, 1.0)])
"""Distances at which moduli are looked at that need not fall."""


def _finite_radius(modulus: Floats, variance: float, need: float) -> float:
    """The same for a law on finitely many integers, from its moduli at RADII.

    Between them the slope of the squared modulus at d is at most twice the variance times d.
    """
    largest = modulus[:-1] ** 2 + 2 * variance * RADII[1:] * np.diff(RADII)
    # 1e-12 is far above the rounding of the sums
    above = np.flatnonzero(largest + 1e-12 >= math.exp(-2 * need))
    return float(RADII[above[-1] + 1])
