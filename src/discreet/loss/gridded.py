"""Many events by a grid: losses without a lattice, tilted, connected to the dots, convolved.

A loss l between two points g and g + h of the grid is split between them such that it keeps its probability
with the person and without (`discreet.loss.grids`). The law on the grid dominates the true one, so
its delta is an upper bound. How far below it the truth may lie: with n splits, L' = L + D, where given L
the sum D of the splits satisfies E e^-D = 1 and each split moves by at most h.

- D is sub-Gaussian around its mean with s = sqrt(n) h/2 (Hoeffding), and its mean lies between 0 and s^2/2.
- At the distance x = |L - eps| the bound exceeds the truth by at most E(1 - e^-D)_+ <= 0.51 s, whatever x
  is,
  and by at most 1.02 (s^2/x) e^(-x^2 / (2 s^2)) for x >= 3 s.
- P[|L - eps| <= x] <= P'[|L' - eps| <= x + 3 s] / 0.97, because |D| > 3 s has a chance of less than 0.03,
  given L.

So delta' - delta is at most 0.51 s P'[6 s] + 0.004 s P'[9 s] + 1e-8 s P'[12 s], over 0.97, and e^-70 of the
scale; or n (h/4) P'[|L' - eps| <= n h], whichever is less. Proof: docs/explanation/laws.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from discreet.loss.grids import split
from discreet.loss.lattice import Floats
from discreet.loss.sides import NODES, ROUNDING, WEIGHTS, Side
from discreet.loss.windows import window
from discreet.memory import Forgetful
from discreet.noise import CountLoss, Density
from discreet.noise.count_loss import first_of_equals, last_of_equals
from discreet.noise.lattice import Complexes

SIZES = (2**15, 2**18, 2**21)
"""Points of the grid, one after the other until the aim is met."""

_AIM = 1e-7
OUTSIDE = 42.0  # less than e^-42 of the tilted law lies outside the grid, on either side
_LISTED = 40_000  # values of equal events that are split together
_NEGLIGIBLE = 1e-26
_SMALLEST = 1e-270
_REMEMBERED = 6
_FEW_NODES = 4
OFFSETS = np.array([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4.5, 6, 8, 11, 15, 20, 30, 60, 120, 400, 2000])


@dataclass(frozen=True, eq=False)
class TiltedGrid(Forgetful):
    """The law of one side under a tilt, on a grid: probabilities at first, first + h, ..."""

    theta: float
    h: float
    first: int
    p: Floats
    log_scale: float
    splits: int
    noise: float
    """Error of each probability, as a factor of the norm; and of all of them."""
    outside: float

    @cached_property
    def _norm(self) -> float:
        return float(np.sqrt(self.p @ self.p))

    @cached_property
    def points(self) -> Floats:
        """The points of the grid."""
        return np.asarray((self.first + np.arange(self.p.size, dtype=np.float64)) * self.h)

    def delta(self, epsilon: float, rounding: float = 0.0) -> tuple[float, float, float]:
        """Upper and lower bound of delta over finite losses, in units of e^exponent, and the exponent.

        Losses and logarithms of probabilities may be off by `rounding`, as a sum of all events.
        """
        start = max(math.floor(epsilon / self.h) + 1 - self.first, 0)
        end = min(self.p.size, start + math.ceil(80 / (self.theta * self.h)) + 2)
        distance = self.points[start:end] - epsilon
        with np.errstate(under="ignore"):
            beyond = np.exp(-self.theta * distance)
            kernel = beyond * -np.expm1(-distance)
        p = np.maximum(self.p[start:end], 0.0)
        value = float(p @ kernel)
        off = self.noise * self._norm * float(np.sqrt(kernel @ kernel)) + self.outside
        off += rounding * float(p @ beyond)
        exponent = self.log_scale - self.theta * epsilon
        return value + off, value - off - self.excess(epsilon), exponent

    def excess(self, epsilon: float) -> float:
        """By how much delta on the grid may exceed the truth, in units of e^(log scale - theta epsilon)."""
        n, h = self.splits, self.h
        s = math.sqrt(n) * h / 2
        crude = n * h / 4 * self._near(epsilon, n * h)
        if s > 0.02:
            return crude
        fine = (
            0.51 * s * self._near(epsilon, 6 * s)
            + 0.004 * s * self._near(epsilon, 9 * s)
            + 1e-8 * s * self._near(epsilon, 12 * s)
        ) / 0.97 + math.exp(-70.0 + 12 * s * abs(self.theta))
        return min(crude, fine)

    def _near(self, epsilon: float, width: float) -> float:
        """P'[|L' - eps| <= width], untilted, in the same units."""
        low = math.ceil((epsilon - width) / self.h - 1e-9) - self.first
        high = math.floor((epsilon + width) / self.h + 1e-9) - self.first
        part = slice(max(low, 0), max(high + 1, 0))
        weight = np.exp(-self.theta * (self.points[part] - epsilon))
        return float(np.maximum(self.p[part], 0.0) @ weight) + self.noise * self._norm * math.sqrt(
            weight.size
        )

    def errors(self, threshold: float) -> tuple[float, float]:
        """Q'[L' > t] e^t and P'[L' <= t] over finite losses, in units of e^(exponent).

        For tilts between -1 and 0.
        """
        k = min(max(math.floor(threshold / self.h + 1e-12) + 1 - self.first, 0), self.p.size)
        before, after = ((self.first + at) * self.h - threshold for at in (k - 1, k))
        nulls, belows = self._one_sided
        null = nulls[k] * math.exp(min(-(self.theta + 1) * after, 700.0)) if k < self.p.size else 0.0
        below = belows[k - 1] * math.exp(min(-self.theta * before, 700.0)) if k else 0.0
        return null, below

    @cached_property
    def _one_sided(self) -> tuple[Floats, Floats]:
        """At each point, the sums of `errors` from there on and up to there, with the threshold at it.

        Each is the one beside it times a constant factor, plus a probability: positive terms throughout. The
        factor counts as often as there are points, and so its rounding: hence long doubles.
        """
        p, one, h = np.maximum(self.p, 0.0).astype(np.longdouble), np.longdouble(1), np.longdouble(self.h)
        falls = (np.exp(-(self.theta + one) * h), np.exp(self.theta * h))
        with np.errstate(under="ignore"):
            null, below = (
                scipy.signal.lfilter(np.array([one]), np.array([one, -fall]), values)
                for fall, values in zip(falls, (p[::-1], p), strict=True)
            )
        return null[::-1].astype(np.float64), below.astype(np.float64)

    def exponent(self, threshold: float) -> float:
        """The logarithm of the unit of `errors` and `delta`."""
        return self.log_scale - self.theta * threshold


class Gridded(Forgetful):
    """Bounds of delta of one side."""

    def __init__(self, side: Side, aim: float = _AIM) -> None:
        self.side, self.aim = side, aim

    @cached_property
    def _recent(self) -> list[tuple[float, float, TiltedGrid]]:
        return []

    def delta(self, epsilon: float, *, quick: bool = False) -> tuple[float, float]:
        """An upper bound of delta, and how far below it the truth may lie, relatively."""
        if not self.side.laws and not self.side.normal:
            return (0.0, 0.0) if epsilon >= 0 else (-math.expm1(epsilon), 0.0)
        if self.side.infinite >= 1:
            return 1.0, 0.0
        if epsilon >= self.side.top:
            return self.side.infinite, 0.0
        most = self._chernoff(epsilon)
        if most < _SMALLEST or most < 1e-13 * self.side.infinite:  # so far out finite losses hardly count
            total = math.nextafter(most + self.side.infinite, 2.0)  # the sum is rounded to the nearest
            return total, (most / self.side.infinite if self.side.infinite else 1.0)
        best = (math.inf, math.inf)
        near = [law for low, high, law in self._recent if low <= epsilon <= high]
        for law in near:  # one of another tilt may be good enough
            best = min(best, self._bounds(law, epsilon), key=lambda pair: (pair[1], pair[0]))
            if best[1] <= self.aim:
                return best
        for size in SIZES[:1] if quick else SIZES:
            if not any(law.p.size >= size for law in near):
                law = self._fresh(epsilon, size)
                best = min(best, self._bounds(law, epsilon), key=lambda pair: (pair[1], pair[0]))
            if best[1] <= self.aim:
                break
        return best

    def _chernoff(self, epsilon: float) -> float:
        """A bound of delta over finite losses, by the best of a few tilts."""
        spread = math.sqrt(max(self.side.tilted_moments(0.0)[1], 1e-12))
        tilts = OFFSETS / spread
        with np.errstate(all="ignore"):
            logs = self.side.log_mgf(tilts) - tilts * epsilon
        return math.exp(min(float(np.nanmin(logs)), 0.0))

    def _bounds(self, law: TiltedGrid, epsilon: float) -> tuple[float, float]:
        """An upper bound of delta, and its relative error."""
        side = self.side
        upper, lower, exponent = law.delta(epsilon, side.rounding(epsilon))
        # the exponent is rounded
        unit = math.exp(min(exponent, 700.0)) * (
            1 + ROUNDING * (abs(law.log_scale) + abs(law.theta * epsilon))
        )
        above = min(math.nextafter(unit * upper + side.infinite + side.left_out, 2.0), 1.0)
        below = unit * max(lower, 0.0) + side.infinite
        return above, (above - below) / below if below > 0 else math.inf

    def _fresh(self, epsilon: float, size: int) -> TiltedGrid:
        """A grid whose tilt suits delta at an epsilon, kept for others near it."""
        theta = self.side.saddle(epsilon)
        law = self.at_tilt(theta, size)
        reach = 0.4 * math.sqrt(max(self.side.tilted_moments(theta)[1], 1e-12))
        self._recent = [(epsilon - reach, epsilon + reach, law), *self._recent[: _REMEMBERED - 1]]
        return law

    def at_tilt(self, theta: float, size: int) -> TiltedGrid:
        """The law under a tilt, on a grid of `size` points that all but e^-42 of it lies on."""
        side = self.side
        spread = math.sqrt(max(side.tilted_moments(theta)[1], 1e-12))
        here = float(side.log_mgf(np.array([theta]))[0])
        moves = OFFSETS / spread
        with np.errstate(over="ignore", invalid="ignore"):
            up = (side.log_mgf(theta + moves) - here + OUTSIDE) / moves
            down = (side.log_mgf(theta - moves) - here + OUTSIDE) / moves
        high, low = float(np.nanmin(up)), -float(np.nanmin(down))
        h = max((high - low) / (size - 32), 1e-9 * max(abs(high), abs(low), 1e-3))
        spectrum, splits, left_out = self.spectrum(theta, size, h)
        p = np.fft.irfft(spectrum, size)
        first = math.floor(low / h) - 8
        noise = 3e-16 * (math.log2(size) + splits)
        outside = 2 * math.exp(-OUTSIDE) + left_out
        return TiltedGrid(theta, h, first, np.roll(p, -(first % size)), here, splits, noise, outside)

    def spectrum(self, theta: float, size: int, h: float) -> tuple[Complexes, int, float]:
        """The transform of the law on the grid, the number of splits, and the tilted mass left out."""
        side = self.side
        spectrum: Complexes = np.ones(size // 2 + 1, dtype=np.complex128)
        splits, left_out = 0, 0.0
        for term in side.terms:
            if (noise := term.as_lattice) is not None:
                law = window(noise, theta, deep=False)
                value = float(noise.times * noise.offset + noise.step * law.first)
                values = value + float(noise.step) * np.arange(law.p.size, dtype=np.float64)
                kept = law.p > _NEGLIGIBLE
                spectrum *= np.fft.rfft(split(values[kept], law.p[kept], theta, size, h))
                splits, left_out = splits + 1, left_out + law.missing + _NEGLIGIBLE * law.p.size
        for term in (term for term in side.terms if term.as_lattice is None):
            loss = term.loss_law(exchanged=side.exchanged)
            if not loss.normal:
                part, often, lost = _of_law(loss, term.times, theta, size, h)
                spectrum *= part
                splits, left_out = splits + often, left_out + lost
        if side.normal:
            spectrum *= np.fft.rfft(_normal(side.normal, theta, size, h))
            splits += 1
        return spectrum, splits, left_out


def _of_law(law: CountLoss, times: int, theta: float, size: int, h: float) -> tuple[Complexes, int, float]:
    """The transform of several equal losses on the grid; as many as may be listed are split together."""
    log = law.log + theta * law.value
    total = float(np.logaddexp.reduce(log)) if log.size else -math.inf
    spread: Floats | None = None
    if law.density is not None:
        whole = _mass_of(law.density, theta)
        total = float(np.logaddexp(total, whole))
        spread = _of_density(law.density, theta, size, h) * math.exp(whole - total)
    p = np.exp(log - total)
    kept = p > _NEGLIGIBLE
    value, p, lost = law.value[kept], p[kept], float(p[~kept].sum()) * times
    together = 1
    if spread is None and p.size:
        one, q = value, p
        while together < times and p.size * q.size <= _LISTED:
            sums, products = np.add.outer(value, one).ravel(), np.multiply.outer(p, q).ravel()
            order = np.argsort(sums, kind="stable")
            starts = first_of_equals(sums[order])
            value = sums[order][last_of_equals(starts, order.size)]
            p = np.add.reduceat(products[order], starts)
            together += 1
        whole, rest = divmod(times, together)
        made = np.fft.rfft(split(value, p, theta, size, h)) ** whole
        if rest:
            made = made * np.fft.rfft(split(one, q, theta, size, h)) ** rest
        return made, whole + rest, lost
    points = split(value, p, theta, size, h) if p.size else np.zeros(size)
    if spread is not None:
        points = points + spread
    return np.fft.rfft(points) ** times, times, lost


def _mass_of(density: Density, theta: float) -> float:
    """The logarithm of the tilted mass of a density: Gauss's rule on panels."""
    edges = np.linspace(density.low, density.high, 65)
    half = 0.5 * (edges[1] - edges[0])
    at = (edges[:-1, None] + half * (NODES + 1)).ravel()
    return float(np.logaddexp.reduce(density.log(at) + theta * at + np.log(half * np.tile(WEIGHTS, 64))))


def _of_density(density: Density, theta: float, size: int, h: float) -> Floats:
    """A density under the tilt on the grid, of mass one: Gauss's rule in every cell."""
    # in narrow cells two nodes have all digits
    nodes, weights = np.polynomial.legendre.leggauss(2 if h * (1 + abs(theta)) < 1e-3 else _FEW_NODES)
    whole = _mass_of(density, theta)
    # a strong tilt leaves little but one end
    places = np.linspace(density.low, density.high, 4097)
    heights = density.log(places) + theta * places
    kept = np.flatnonzero(heights > heights.max() - OUTSIDE - 10)
    left, right = float(places[max(kept[0] - 1, 0)]), float(places[min(kept[-1] + 1, 4096)])
    first, last = math.floor(left / h) + 1, math.ceil(right / h) - 1
    ends = [(left, min(first * h, right))]
    if last >= first:
        ends.append((last * h, right))
    made = np.zeros(size)
    for low, high in ends:  # the cells that the density fills in part
        at = low + 0.5 * (high - low) * (NODES + 1)
        p = 0.5 * (high - low) * WEIGHTS * np.exp(density.log(at) + theta * at - whole)
        made += split(at, p, theta, size, h)
    if last > first:
        cells = np.arange(first, last)
        near, far = np.zeros(cells.size), np.zeros(cells.size)
        for node, weight in zip(nodes, weights, strict=True):
            inner = 0.5 * h * (node + 1)
            at = cells * h + inner
            p = 0.5 * h * weight * np.exp(density.log(at) + theta * at - whole)
            share = math.expm1(-inner) / math.expm1(-h)
            near += p * ((1 - share) * math.exp(-theta * inner))
            far += p * (share * math.exp(theta * (h - inner)))
        made += np.bincount(cells % size, weights=near, minlength=size)
        made += np.bincount((cells + 1) % size, weights=far, minlength=size)
    return made


def _normal(variance: float, theta: float, size: int, h: float) -> Floats:
    """A normal loss under the tilt on the grid: Gauss's rule in every cell."""
    mean, spread = variance * (0.5 + theta), math.sqrt(variance)
    reach = 10.5 * spread
    first, last = math.floor((mean - reach) / h), math.ceil((mean + reach) / h)
    if last - first > 8 * size:
        raise ArithmeticError("a normal loss is wider than the grid")
    # cells finer than the grid where the loss is narrower than a cell
    fine = max(1, math.ceil(h / (0.5 * spread)))
    width = h / fine
    edges = first * h + width * np.arange((last - first) * fine)
    # in narrow cells a short rule has all digits
    nodes, weights = (NODES, WEIGHTS) if width > 0.02 * spread else np.polynomial.legendre.leggauss(3)
    at = (edges[:, None] + 0.5 * width * (nodes + 1)).ravel()
    weight = np.tile(0.5 * width * weights, edges.size) * np.exp(-0.5 * ((at - mean) / spread) ** 2)
    return split(at, weight / weight.sum(), theta, size, h)
