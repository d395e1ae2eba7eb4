"""Grids connect the dots: the tilted loss on a grid, convolved by the fast Fourier transform.

A value l of the loss between two points g and g + h of the grid is split between them such that both of its
probabilities are kept, under the alternative and under the null hypothesis:

    a + b = 1,    a e^-g + b e^-(g + h) = e^-l.

The law on the grid dominates the true one, so its delta is an upper bound (Doroshenko, Ghazi, Kamath, Kumar
and Manurangsi, 2022). Splitting moves a loss by at most h, and (1 - e^(eps - L))_+ changes in the mean only
where its corner eps lies within the cell, by at most tanh(h/4) <= h/4. With n splits, one after the other,

    delta' - n (h/4) P'[|L' - eps| <= n h]  <=  delta  <=  delta',

L' being the loss on the grid. Values of several terms are listed before they are split, to keep n small.
This serves any composition. It is the last resort for delta; single tails are not bounded by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from discreet.accounting.contour import Kind, Tail, kernel_size, period, rest_of, saddle
from discreet.accounting.loss import Floats, Loss, exact_exponent, log_scale
from discreet.accounting.windows import window
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.noise.distribution import Complexes

_SIZES = (2**16, 2**19, 2**21)
_LISTED = 60_000  # values of terms that are split together
_AIM = 1e-8
_GRIDS_REMEMBERED = 2


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


def around_mode(term: Noise, theta: float) -> tuple[Fraction, Floats, Floats, float]:
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
