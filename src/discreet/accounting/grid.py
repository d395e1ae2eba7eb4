"""delta by connecting the dots: the tilted loss on a grid, convolved by the fast Fourier transform.

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
from fractions import Fraction

import numpy as np

from discreet.accounting.contour import exact_exponent, log_scale
from discreet.accounting.direct import window
from discreet.accounting.loss import Floats, Loss
from discreet.accounting.quadrature import Tail, kernel_size
from discreet.accounting.saddle import Kind, period, saddle

_SIZES = (2**16, 2**19, 2**21)
_LISTED = 60_000  # values of terms that are split together
_AIM = 1e-8
_REMEMBERED = 2


class Grid:
    """Bounds delta of one loss: the upper bound, and how far below the truth may lie."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self._recent: list[_Law] = []

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t) or 1 - delta(t) at each threshold t; other tails have an infinite error."""
        log, error = np.full(len(thresholds), math.nan), np.full(len(thresholds), math.inf)
        if kind.has_both_poles:
            for i in sorted(range(len(thresholds)), key=lambda i: abs(thresholds[i])):
                t = thresholds[i]
                log[i], error[i] = self._delta(t if kind is Kind.DELTA else abs(t))
                if kind is Kind.REST:
                    # 1 - delta(t), and for t < 0 the same at -t times e^t
                    delta = math.exp(log[i])
                    rest = 1 - delta
                    error[i] = delta * error[i] / rest if rest > 0 else math.inf
                    log[i] = math.log(rest) + min(float(t), 0.0) if rest > 0 else math.nan
        return Tail(log, error)

    def _delta(self, threshold: Fraction) -> tuple[float, float]:
        if self.loss.largest is not None and threshold >= self.loss.largest:
            return -math.inf, 0.0
        place = float(threshold)
        best = (math.nan, math.inf)
        for size in _SIZES:
            law = next((one for one in self._recent if one.serves(place, size)), None)
            if law is None:
                law = _Law(self.loss, place, size)
                self._recent = [law, *self._recent[: _REMEMBERED - 1]]
            upper, lower = law.bounds(place)
            if lower > 0 and (upper - lower) / lower < best[1]:
                exponent = exact_exponent(law.scale, law.theta, threshold)
                best = exponent + math.log(upper), (upper - lower) / lower + 2.3e-16 * abs(exponent)
            if best[1] <= _AIM:
                break
        return best


class _Law:
    """The tilted law on a grid of `size` points, over one period."""

    def __init__(self, loss: Loss, lowest: float, size: int) -> None:
        self.size = size
        self.theta = theta = saddle(loss, Kind.DELTA, lowest, 0.0)
        self.scale = log_scale(loss, theta)
        spread = loss.tilted_spread(theta)
        self.low, self.high = lowest, lowest + 0.7 * spread
        need = 30 - math.log(kernel_size(Kind.DELTA, theta, 0.0) / (2.5 * spread))
        length = period(loss, Kind.DELTA, theta, spread, self.low, self.high, need).length
        self.alias = math.exp(-need)
        self.h = max(length, 20 * spread) / size
        self.origin = float(loss.offset)
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        self.splits = 0
        for value, p in self._listed(loss, theta):
            spectrum *= np.fft.rfft(self._split(value, p))
            self.splits += 1
        self.p = np.fft.irfft(spectrum, size)
        self.norm = float(np.sqrt(self.p @ self.p))

    def serves(self, place: float, size: int) -> bool:
        return self.size >= size and self.low <= place <= self.high

    def _listed(self, loss: Loss, theta: float) -> list[tuple[Floats, Floats]]:
        """The tilted laws of the terms around zero, as many of them together as may be listed."""
        laws = []
        for term in loss.terms:
            law = window(term, theta, deep=False)
            keep = np.flatnonzero(law.p > 1e-30)
            centre = int(keep[np.argmax(law.p[keep])])
            self.origin += float(term.step * (law.first + centre))
            laws.append((np.asarray((keep - centre) * float(term.step), dtype=np.float64), law.p[keep]))
            self.alias += law.missing
        laws.sort(key=lambda law: law[1].size)
        together: list[tuple[Floats, Floats]] = []
        for value, p in laws:
            if together and together[-1][1].size * p.size <= _LISTED:
                before, q = together[-1]
                together[-1] = (np.add.outer(before, value).ravel(), np.multiply.outer(q, p).ravel())
            else:
                together.append((value, p))
        return together

    def _split(self, value: Floats, p: Floats) -> Floats:
        """The dots connected: each value on the two points of the grid next to it."""
        h, theta = self.h, self.theta
        cell = np.floor(value / h)
        inner = np.clip(value - cell * h, 0.0, h)
        share = np.expm1(-inner) / math.expm1(-h)
        with np.errstate(under="ignore", over="ignore"):
            low, high = (1 - share) * np.exp(-theta * inner), share * np.exp(theta * (h - inner))
        place = cell.astype(np.int64)
        near = np.bincount(place % self.size, weights=p * low, minlength=self.size)
        far = np.bincount((place + 1) % self.size, weights=p * high, minlength=self.size)
        return np.asarray(near + far, dtype=np.float64)

    def bounds(self, threshold: float) -> tuple[float, float]:
        """Upper and lower bound of delta, in units of e^exponent."""
        steps = (threshold - self.origin) / self.h
        # beyond e^-80 of the kernel nothing counts
        count = min(self.size - 1, math.ceil(80 / (self.theta * self.h)) + 2)
        first = math.floor(steps) + 1
        place = np.arange(first, first + count)
        distance = (place - steps) * self.h
        with np.errstate(under="ignore"):
            kernel = np.exp(-self.theta * distance) * -np.expm1(-distance)
        value = float(self.p[place % self.size] @ kernel)
        noise = 2e-16 * math.log2(self.size) * self.norm * float(np.sqrt(kernel @ kernel)) + self.alias
        near = np.arange(first - 1 - self.splits, first + 1 + self.splits)
        weight = np.exp(-self.theta * (near - steps) * self.h)
        close = float(np.maximum(self.p[near % self.size], 0.0) @ weight)
        return value + noise, value - noise - self.splits * self.h / 4 * close
