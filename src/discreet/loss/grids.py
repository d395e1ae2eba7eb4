"""Grids connect the dots: the tilted loss on a grid, convolved by the fast Fourier transform.

A value l of the loss between two points g and g + h of the grid is split between them such that both of its
probabilities are kept, under the alternative and under the null hypothesis:

    a + b = 1,    a e^-g + b e^-(g + h) = e^-l.

The law on the grid dominates the true one, so its delta is an upper bound (Doroshenko, Ghazi, Kamath, Kumar
and Manurangsi, 2022). Splitting moves a loss by at most h, and (1 - e^(eps - L))_+ changes in the mean only
where its corner eps lies within the cell, by at most tanh(h/4) <= h/4. With n splits, one after the other,

    delta' - n (h/4) P'[|L' - eps| <= n h]  <=  delta  <=  delta',

L' being the loss on the grid. Values of several terms are listed before they are split, to keep n small.
This serves any composition. It is the last resort for delta.

*Single tails.* Each split moves a value by at most h and keeps its probability, under either hypothesis. So
L and L', the two ends of a chain of n splits, can be drawn together such that |L - L'| <= n h, and

    P'[L' > t + n h]  <=  P[L > t]  <=  P'[L' > t - n h].

The quantiles of L' are within n h of those of L. `GridTails` has them all from one untilted grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from discreet.loss.contour import OFFSETS, Kind, Tail, kernel_size, period, rest_of, saddle
from discreet.loss.lattice import Floats, Loss, exact_exponent, log_scale
from discreet.loss.windows import window
from discreet.memory import Forgetful
from discreet.noise import LatticeNoise
from discreet.noise.lattice import Complexes

_SIZES = (2**16, 2**19, 2**21)
_LISTED = 60_000  # values of terms that are split together
_AIM = 1e-8
_GRIDS_REMEMBERED = 2
_TAIL_POINTS = 2**21
_ALIAS = 40.0  # less than e^-40 lies outside the grid on either side


class Grid(Forgetful):
    """Bounds delta of one loss: an upper bound, and how far below it the truth may lie."""

    def __init__(self, loss: Loss, aim: float = _AIM) -> None:
        """Bound delta of `loss`, to a relative width of `aim`."""
        self.loss, self.aim = loss, aim

    @cached_property
    def _recent(self) -> list[tuple[float, float, GridLaw]]:
        return []

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t) or 1 - delta(t) at each threshold t; other tails have an infinite error."""
        log, error = np.full(len(thresholds), math.nan), np.full(len(thresholds), math.inf)
        if kind is Kind.REST:
            return rest_of(self.tail(Kind.DELTA, [abs(t) for t in thresholds]), thresholds)
        if kind is Kind.DELTA:
            for i in sorted(range(len(thresholds)), key=lambda i: abs(thresholds[i])):
                log[i], error[i] = self._delta(thresholds[i])
        return Tail(log, error)

    def _delta(self, threshold: Fraction) -> tuple[float, float]:
        if self.loss.largest is not None and threshold >= self.loss.largest:
            return -math.inf, 0.0
        point = float(threshold)
        best = (math.nan, math.inf)
        for size in _SIZES:
            law = next(
                (law for low, high, law in self._recent if law.size >= size and low <= point <= high), None
            )
            if law is None:
                low, high, law = self._law(point, size)
                self._recent = [(low, high, law), *self._recent[: _GRIDS_REMEMBERED - 1]]
            best = min(best, law.delta(threshold), key=lambda pair: pair[1])
            if best[1] <= self.aim:
                break
        return best

    def _law(self, lowest: float, size: int) -> tuple[float, float, GridLaw]:
        """A law on a grid, and the thresholds that its tilt serves."""
        theta = saddle(self.loss, Kind.DELTA, lowest, 0.0)
        spread = self.loss.tilted_spread(theta)
        high = lowest + 0.7 * spread
        need = 30 - math.log(kernel_size(Kind.DELTA, theta, 0.0) / (2.5 * spread))
        length = period(self.loss, Kind.DELTA, theta, spread, lowest, high, need).length
        law = GridLaw.of(self.loss, theta, size, max(length, 20 * spread) / size)
        return lowest, high, replace(law, left_out=law.left_out + math.exp(-need))


@dataclass(frozen=True)
class GridLaw(Forgetful):
    """The law of a loss under a tilt, on a grid of `size` points `h` apart, as its Fourier transform."""

    theta: float
    size: int
    h: float
    scale: arb
    """log M(theta)."""
    splits: int
    left_out: float
    spectrum: Complexes

    @classmethod
    def of(cls, loss: Loss, theta: float, size: int, h: float, most: int = _LISTED) -> GridLaw:
        """Connect the dots of a loss, on a grid through 0; up to `most` values are split together."""
        terms = [around_mode(term, theta) for term in loss.terms]
        origin = loss.offset + sum((term[0] for term in terms), Fraction(0))
        cells = math.floor(origin / Fraction(h))
        laws = listed_together([term[1:3] for term in terms], most)
        # the part of a step that the origin lies above a point of the grid belongs to the first law
        rest = float(origin - cells * Fraction(h))
        spectrum: Complexes = np.ones(size // 2 + 1, dtype=np.complex128)
        for n, (value, p) in enumerate(laws):
            law = split(value + rest if n == 0 else value, p, theta, size, h)
            spectrum *= np.fft.rfft(np.roll(law, cells % size) if n == 0 else law)
        left_out = sum(term[3] for term in terms)
        return cls(theta, size, h, log_scale(loss, theta), len(laws), left_out, spectrum)

    @cached_property
    def p(self) -> Floats:
        """Tilted probabilities of the points."""
        return np.fft.irfft(self.spectrum, self.size)

    @cached_property
    def _norm(self) -> float:
        return float(np.sqrt(self.p @ self.p))

    def delta(self, threshold: Fraction) -> tuple[float, float]:
        """log of an upper bound of delta, and how far below it the truth may lie, relatively."""
        upper, lower = self._bounds(float(threshold))
        if lower <= 0:
            return math.nan, math.inf
        exponent = exact_exponent(self.scale, self.theta, threshold)
        return exponent + math.log(upper), (upper - lower) / lower + 2.3e-16 * abs(exponent)

    def _bounds(self, threshold: float) -> tuple[float, float]:
        """Upper and lower bound of delta, in units of e^exponent."""
        steps = threshold / self.h
        # beyond e^-80 of the kernel nothing counts
        count = min(self.size - 1, math.ceil(80 / (self.theta * self.h)) + 2)
        first = math.floor(steps) + 1
        points = np.arange(first, first + count)
        distance = (points - steps) * self.h
        with np.errstate(under="ignore"):
            kernel = np.exp(-self.theta * distance) * -np.expm1(-distance)
        value = float(self.p[points % self.size] @ kernel)
        noise = 2e-16 * math.log2(self.size) * self._norm * float(np.sqrt(kernel @ kernel)) + self.left_out
        near = np.arange(first - 1 - self.splits, first + 1 + self.splits)
        weight = np.exp(-self.theta * (near - steps) * self.h)
        close = float(np.maximum(self.p[near % self.size], 0.0) @ weight)
        return value + noise, value - noise - self.splits * self.h / 4 * close


@dataclass(frozen=True, eq=False)
class GridTails:
    """P[L > t] of any loss, between bounds that belong to thresholds `apart` on either side.

    Guarantee. `tests/accounting/test_grids.py` compares the bounds with exact tails and quantiles.

    >>> from discreet.budget import DiscreteGaussian
    >>> tails = GridTails.of(Loss([DiscreteGaussian(variance=5, times=10)]), 2**16)
    >>> [side.round(6).tolist() for side in tails.at(np.array([1.05]))], tails.apart < 1e-3
    ([[0.471791], [0.471791]], True)
    """

    first: int
    h: float
    apart: float
    above: Floats
    """P'[L' >= x] at each point x of the grid, from `first` on, and 0 after the last."""
    left_out: float

    @classmethod
    def of(cls, loss: Loss, size: int = _TAIL_POINTS) -> GridTails:
        """Connect the dots of a loss on a grid of `size` points."""
        tilts = OFFSETS / loss.spread
        # Chernoff's bound, on either side
        high = float(np.min((loss.log_mgf(tilts) + _ALIAS) / tilts))
        low = -float(np.min((loss.log_mgf(-tilts) + _ALIAS) / tilts))
        h = (high - low) / (size - 64)
        law = GridLaw.of(loss, 0.0, size, h)
        first = math.floor(low / h) - 32
        p = np.maximum(np.roll(law.p, -(first % size)), 0.0)
        above = np.append(np.cumsum(p[::-1])[::-1], 0.0)
        # rounding of the transform, summed over all points
        noise = 1e-15 * math.log2(size) * float(np.linalg.norm(p)) * math.sqrt(size)
        # (half a step more covers the rounding of thresholds)
        return cls(first, h, (law.splits + 0.5) * h, above, law.left_out + noise + 2 * math.exp(-_ALIAS))

    def at(self, points: Floats, *, null: bool = False) -> tuple[Floats, Floats]:
        """Return lower and upper bounds of P[L > t], if the person is there or (`null`) is not."""
        if null:  # the loss without the person is as likely to be l as it is with them to be -l
            lower, upper = (self._above(side - points, or_at=True) for side in (-self.apart, self.apart))
            lower, upper = 1.0 - lower, 1.0 - upper
        else:
            lower, upper = (self._above(points + side, or_at=False) for side in (self.apart, -self.apart))
        return np.clip(lower - self.left_out, 0.0, 1.0), np.clip(upper + self.left_out, 0.0, 1.0)

    def quantiles(self, chances: Floats) -> Floats:
        """Return upper bounds of quantiles of the loss; each is too large by `3 apart` at most."""
        # the first point at which no more than 1 - chance lies above
        cell = np.searchsorted(-self.above, -(1.0 - chances - self.left_out)) - 1
        return np.asarray((self.first + cell) * self.h + self.apart)

    def _above(self, points: Floats, *, or_at: bool) -> Floats:
        """P'[L' > t], or >=."""
        steps = points / self.h - self.first
        cell = np.ceil(steps) if or_at else np.floor(steps) + 1
        return np.asarray(self.above[np.clip(cell.astype(np.int64), 0, self.above.size - 1)])


def around_mode(term: LatticeNoise, theta: float) -> tuple[Fraction, Floats, Floats, float]:
    """The tilted law of a term's loss: mode, values around it, their probabilities, and the missing mass."""
    law = window(term, theta, deep=False)
    keep = np.flatnonzero(law.p > 1e-30)
    centre = int(keep[np.argmax(law.p[keep])])
    value = np.asarray((keep - centre) * float(term.step), dtype=np.float64)
    return term.step * (law.first + centre), value, law.p[keep], law.missing


def listed_together(laws: list[tuple[Floats, Floats]], most: int = _LISTED) -> list[tuple[Floats, Floats]]:
    """Merge the laws of terms, as many of them as may be listed together."""
    together: list[tuple[Floats, Floats]] = []
    for value, p in sorted(laws, key=lambda law: law[1].size):
        if together and together[-1][1].size * p.size <= most:
            before, q = together[-1]
            together[-1] = (np.add.outer(before, value).ravel(), np.multiply.outer(q, p).ravel())
        else:
            together.append((value, p))
    return together


def split(value: Floats, p: Floats, theta: float, size: int, h: float) -> Floats:
    """Connect the dots: split each value between the two points of the grid next to it."""
    cell = np.floor(value / h)
    inner = np.clip(value - cell * h, 0.0, h)
    share = np.expm1(-inner) / math.expm1(-h)
    with np.errstate(under="ignore", over="ignore"):
        low, high = (1 - share) * np.exp(-theta * inner), share * np.exp(theta * (h - inner))
    point = cell.astype(np.int64)
    near = np.bincount(point % size, weights=p * low, minlength=size)
    far = np.bincount((point + 1) % size, weights=p * high, minlength=size)
    return np.asarray(near + far, dtype=np.float64)
