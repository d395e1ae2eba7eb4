"""Tails of the loss by a trapezoidal rule on a tilted contour: a vertical line of the complex plane.

Each value is one positive integral, without cancellation between two tail probabilities, so the relative
accuracy at delta = 1e-300 is the same as at 0.1. Thresholds that lie close together share a contour, and so
the values of the transform.

*Where to put the contour.* Four quantities share the transform M(z) = E e^(zL) and differ in their kernel:

    delta   E (1 - e^(eps - L))_+        1 / (z (z + 1))    contour right of 0
    alt     P[L > l], alternative        1 / z              contour right of 0
    null    P[L > l], null hypothesis    1 / (z + 1)        contour right of -1
    rest    1 - delta                   -1 / (z (z + 1))    contour between -1 and 0

(on a lattice 1/z becomes h / (1 - e^(-zh))). Lower tails follow by the symmetry of L and -L.

*Which nodes count.* Off the origin the transform of the loss is tiny except near points y where *every*
step_k * y is close to a multiple of 2 pi. The modulus of a tilted Gaussian factor falls with the distance
d = dist(step_k y, 2 pi Z), whatever the tilt, so each term allows a periodic family of intervals, and
the sieve is their intersection. It does not depend on the threshold.

*Where a tail has a given value*: `saddlepoint_guess`, then `roots`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrecisionError
from discreet.loss.lattice import (
    MOST_NODES,
    Floats,
    Loss,
    Nodes,
    TiltedTransform,
    exact_exponent,
    log_scale,
    turn_table,
)
from discreet.noise.lattice import Complexes

DEPTH = 48.0
"""Nodes whose factor is below e^-DEPTH are left out: 1e-17 of the result, with room to spare."""

LOG_SMALLEST = -745.0
"""The logarithm of the smallest float."""

MOST_INTERVALS = 4_000_000

OFFSETS = np.array([0.5, 1, 2, 3, 4.5, 6, 7.5, 8.5, 9.5, 11, 14, 20, 30, 45, 70, 120, 300, 1000])
_SHALLOWEST = 8.0
_PIECES = 16
_ALIAS = 37.0  # aliases below e^-37 of the value
_LAST_DIGITS = 1e-15
_SMALL_LOSS = 0.01  # spread of a loss whose deltas are so small that 1 - delta keeps all its digits
_FAR_OUT = 2e9  # standard deviations
_DOUBTFUL = 3e-13  # values with a larger error are computed again
_BLOCK = 1 << 20
_MOST_KEPT = 20_000_000  # nodes of one contour
_TWO_PI = 2 * math.pi


class Kind(Enum):
    """What is asked of the loss."""

    DELTA = "delta"
    ALT = "alt"
    NULL = "null"
    REST = "rest"

    @property
    def pole(self) -> float:
        """The pole nearest to the contour, to its left."""
        return 0.0 if self in (Kind.DELTA, Kind.ALT) else -1.0

    @property
    def room(self) -> float:
        """How far right of the pole the contour may lie."""
        return 1.0 if self is Kind.REST else math.inf

    @property
    def has_both_poles(self) -> bool:
        """Whether the kernel is that of delta."""
        return self in (Kind.DELTA, Kind.REST)


def short_tilt(theta: float, bits: int = 20) -> float:
    """The tilt rounded to 20 significant bits, so that products with small integers are exact.

    >>> short_tilt(1 / 3) * 3 == 1 - 2**-21
    False
    >>> (short_tilt(1 / 3) * 2**22).is_integer()
    True
    """
    mantissa, exponent = math.frexp(theta)
    return math.ldexp(round(mantissa * 2**bits), exponent - bits)


def _pull(distance: float, h: float) -> float:
    """-d/dtheta of log kernel at this distance from its pole."""
    if h * abs(distance) > 30:
        return h * math.exp(-h * distance) if distance > 0 else -h
    return h / math.expm1(h * distance) if h > 0 else 1 / distance


def saddle(loss: Loss, kind: Kind, threshold: float, h: float) -> float:
    """The tilt at which the integrand is flattest: K'(theta) = threshold + pull of the kernel.

    `h` is the lattice step, or 0 for the continuous kernel.
    """
    pole = kind.pole
    R = float(loss.R)

    def excess(distance: float) -> tuple[float, float]:
        mean, variance = loss.tilted_moments(pole + distance)
        pulls = [_pull(distance, h)]
        if kind.has_both_poles:
            pulls.append(_pull(distance + (-1 if kind is Kind.REST else 1), h))
        # the pull of a pole falls with the distance like p (p + h)
        return mean - threshold - sum(pulls), variance + sum(p * (p + h) for p in pulls)

    if kind is Kind.REST:
        distance = 0.5
    elif R > 0:
        # with d = theta - pole the Gaussian part gives R d^2 - x d - c = 0
        x = threshold - float(loss.offset) - R * pole
        c = 2.0 if kind is Kind.DELTA else 1.0
        root = math.sqrt(x * x + 4 * c * R)
        distance = (x + root) / (2 * R) if x > 0 else 2 * c / (root - x)
    else:
        distance = 1.0
    # a bounded loss has no saddle at its top; a ratio of e^60 between neighbouring points is as good
    top = 60 / h if h > 0 else 1e12
    most = min(1e99 / min(loss.spread, 1.0) if loss.largest is None else top, kind.room)
    # next to the pole at -1, floats cannot represent smaller distances
    low, high = (1e-9 if pole else 1e-40), most
    distance = min(max(distance, 2 * low), most)
    for _ in range(100):
        value, slope = excess(distance)
        if value > 0:
            high = distance
        else:
            low = distance
        # Newton's method for the logarithm of the distance: the kernel's pull is a power of it
        move = -value / (distance * slope) if slope > 0 else math.copysign(4.0, -value)
        better = distance * math.exp(max(min(move, 4.0), -4.0))
        enough = 1e-3 * min(distance, 1 / math.sqrt(slope) if slope > 0 else distance)
        if abs(better - distance) >= enough and not low < better < high:
            better = math.sqrt(low) * math.sqrt(high) if high > 4 * low else 0.5 * (low + high)
        close = abs(better - distance) < enough
        distance = min(max(better, low), high)
        if close or high - low < 1e-4 * low:
            break
    # far out the tilt needs more bits, as long as its products with the sensitivities stay exact
    is_far = threshold > loss.tilted_moments(0.0)[0] + 1e4 * loss.spread
    room = 52 - max(term.sensitivity for term in loss.terms).bit_length()
    theta = pole + distance
    return short_tilt(theta, max(20, min(room, 40)) if is_far else 20) if theta != 0 else theta


class Period(NamedTuple):
    """A period of the trapezoidal rule, and the two tilts whose Chernoff bounds justify it."""

    length: float
    above: float
    below: float


def period(
    loss: Loss, kind: Kind, theta: float, spread: float, low: float, high: float, need: float
) -> Period:
    """The least period P for which the aliases of the thresholds in [low, high] stay below e^-need.

    The rule returns sum_n e^(theta n P) G(l + nP). By Chernoff's bound at another tilt t,
    G(l + nP) <= M(t) e^(-t (l + nP)): t above theta serves n > 0, t below it n < 0.
    """
    unit = math.sqrt(need / 40) / spread
    up = OFFSETS * unit
    if kind is Kind.REST:
        up = np.append(up[up < -theta], -theta)
    above = loss.chord(theta, up) - low + need / up
    room = theta - kind.pole
    down = np.append(up[up < room], room)
    below = high - loss.chord(theta, -down) + need / down
    i, j = int(np.argmin(above)), int(np.argmin(below))
    length = max(float(above[i]), float(below[j]), spread * 1e-6)
    return Period(length, theta + float(up[i]), theta - float(down[j]))


# -- the sieve -----------------------------------------------------------------------------------------------


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
        owner, within = _numbered(first, last, most, "nodes")
        nodes = first.astype(np.int64)[owner] + within
        # neighbouring intervals may share a node through the slack
        return np.asarray(nodes[np.diff(nodes, prepend=-1) > 0])


def sieve(loss: Loss, *, reach: float, depth: float, theta: float, falloff: float, scale: float) -> Sieve:
    """The sieve on [0, reach], octave by octave.

    Beyond `scale` the kernel falls like (scale / y)^falloff, so that shallower intervals are enough there.
    `theta` matters only to terms of small variance and to discrete Laplace terms.
    """
    parts, start, end = [], 0.0, 64 * scale
    while start < reach:
        end = min(end, reach)
        parts.append(octave(loss, start, end, depth=depth, theta=theta, falloff=falloff, scale=scale))
        if sum(part.low.size for part in parts) > MOST_INTERVALS:
            raise SieveOverflowError("too many intervals")
        start, end = end, 8 * end
    return joined_sieves(parts)


def octave(
    loss: Loss,
    start: float,
    end: float,
    *,
    depth: float,
    theta: float,
    falloff: float,
    scale: float,
    most: int = MOST_INTERVALS,
) -> Sieve:
    """One stretch of the sieve, as deep as the kernel at its start requires."""
    here = depth if start <= scale else max(_SHALLOWEST, depth - falloff * math.log(start / scale))
    radii = [term.radius(here, theta) for term in loss.terms]
    try:
        return Sieve(*sieved(loss, start, end, radii, most), end, here)
    except SieveOverflowError:
        if most < MOST_INTERVALS:
            raise
        # there may be too many intervals only for a moment: piece by piece there are fewer
        ends = np.linspace(start, end, _PIECES + 1)
        pieces = [sieved(loss, float(a), float(b), radii) for a, b in pairwise(ends)]
        low, high = (np.concatenate(side) for side in zip(*pieces, strict=True))
        if low.size > MOST_INTERVALS:
            raise
        return Sieve(low, high, end, here)


def joined_sieves(parts: Sequence[Sieve]) -> Sieve:
    """Join consecutive stretches into one sieve."""
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    return Sieve(low, high, parts[-1].reach, parts[0].depth)


def sieved(
    loss: Loss, start: float, end: float, radii: Sequence[float], most: int = MOST_INTERVALS
) -> tuple[Floats, Floats]:
    """The intervals of [start, end] in which every term is within its radius of a full turn."""
    families = []
    for term, radius in zip(loss.terms, radii, strict=True):
        if radius < math.pi:
            # padded by more than the rounding errors of step * y, so that nothing allowed is lost
            step = float(term.step)
            families.append((step, radius * (1 + 1e-9), 1e-12 + 4e-15 * step * end))
    families.sort()
    low, high = np.array([start]), np.array([end])
    for family in families:
        low, high = _intersect(low, high, *family, most)
        if low.size == 0:
            break
    return low, high


def _numbered(
    first: Floats, last: Floats, most: float, what: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each whole number of each range first to last: which range it is in, and its position there."""
    count = np.maximum(last - first + 1, 0)
    total = float(count.sum())
    if total > most:
        raise SieveOverflowError(f"{total:.3g} {what}")
    sizes = count.astype(np.int64)
    owner = np.repeat(np.arange(first.size), sizes)
    return owner, np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _intersect(
    low: Floats, high: Floats, step: float, radius: float, padding: float, most: int
) -> tuple[Floats, Floats]:
    """Cut the intervals to the y with dist(step y, 2 pi Z) <= radius, padded except around zero."""
    first = np.ceil((low * step - radius - padding) / _TWO_PI)
    last = np.floor((high * step + radius + padding) / _TWO_PI)
    owner, within = _numbered(first, last, most, "intervals")
    centre = (first[owner] + within) * _TWO_PI
    room = np.where(centre == 0, radius, radius + padding)
    low, high = (
        np.maximum(low[owner], (centre - room) / step),
        np.minimum(high[owner], (centre + room) / step),
    )
    return low[low <= high], high[low <= high]


# -- one contour ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Points:
    """Thresholds of tails, as exact multiples of a unit from an origin.

    On a lattice they are the smallest losses above the thresholds; otherwise the thresholds themselves.
    """

    origin: Fraction
    unit: Fraction
    tops: list[int]
    value: Floats
    gap: Floats

    @classmethod
    def on_lattice(cls, thresholds: list[Fraction], offset: Fraction, h: Fraction) -> Points:
        """The first lattice point above each threshold, and how far above it is."""
        # t / h - offset / h, kept as one integer over another: fractions would be ten times slower
        shift = offset / h
        tops, gap = [], []
        for t in thresholds:
            bottom = t.denominator * h.numerator * shift.denominator
            top = t.numerator * h.denominator * shift.denominator
            top -= shift.numerator * t.denominator * h.numerator
            k = top // bottom + 1
            tops.append(k)
            gap.append((k * bottom - top) / bottom)
        step = float(h)
        # the offset may be large against the step: differences to it are what counts
        value = float(offset) + step * np.array([float(k) for k in tops])
        return cls(offset, h, tops, value, step * np.array(gap))

    @classmethod
    def on_line(cls, thresholds: list[Fraction]) -> Points:
        """The thresholds themselves."""
        bottom = math.lcm(*(t.denominator for t in thresholds))
        tops = [t.numerator * (bottom // t.denominator) for t in thresholds]
        value = np.array([float(t) for t in thresholds])
        return cls(Fraction(0), Fraction(1, bottom), tops, value, np.zeros(len(tops)))

    def exact(self, i: int) -> Fraction:
        """The i-th point."""
        return self.origin + self.unit * self.tops[i]

    def take(self, chosen: list[int]) -> Points:
        """Some of the points, in the given order."""
        tops = [self.tops[i] for i in chosen]
        return Points(self.origin, self.unit, tops, self.value[chosen], self.gap[chosen])


class Contour:
    """The transform on one vertical line: nodes, and the exact scale that belongs to them."""

    def __init__(self, loss: Loss, theta: float, spacing: Fraction, nodes: Nodes, count: int) -> None:
        self.loss = loss
        self.theta = theta
        self.period = spacing
        self.transform = TiltedTransform(loss, theta)
        logs = self.transform.log(nodes, spacing)
        keep = logs.real > -DEPTH
        self.nodes, logs = nodes[keep], logs[keep]
        self.factor = np.exp(logs)
        self.factor *= np.where(self.nodes == 0, 1.0, 2.0)
        if count and count % 2 == 0 and self.nodes[-1] == count // 2:
            self.factor[-1] *= 0.5  # the middle of the period belongs to both halves
        self.z = theta + 1j * ((_TWO_PI / float(spacing)) * self.nodes)
        self._scale = log_scale(loss, theta)
        self.alias = 0.0  # bound of the aliases, in units of e^exponent

    def exponents(self, points: Points) -> Floats:
        """log M(theta) - theta * point: exact for the first, the others by their small distance from it."""
        first = exact_exponent(self._scale, self.theta, points.exact(0))
        distance = np.array([float(top - points.tops[0]) for top in points.tops])
        return first - self.theta * float(points.unit) * distance

    def sums(self, points: Points, weights: list[Complexes]) -> tuple[list[Floats], Floats]:
        """For each weight, the real parts of sum_j factor_j weight_j e^(iy_j (centre - point)).

        Also the sum of all moduli, against which rounding errors are measured.
        """
        terms = [self.factor * w for w in weights]
        moduli = np.abs(terms)
        sizes = moduli.sum(axis=1)
        # far nodes that the kernel has made negligible: all together below 1e-17
        keep = (moduli > (1e-17 / self.nodes.size) * sizes[:, None]).any(axis=0)
        nodes, terms = self.nodes[keep], [t[keep] for t in terms]
        values = [np.zeros(len(points.tops)) for _ in weights]
        # (centre - point) / period = (start - stride * top) / bottom
        start = (self.transform.centre - points.origin) / self.period
        stride = points.unit / self.period
        bottom = math.lcm(start.denominator, stride.denominator)
        first = start.numerator * (bottom // start.denominator)
        by = stride.numerator * (bottom // stride.denominator)
        tops = [first - by * top for top in points.tops]
        rows = max(1, _BLOCK // nodes.size)
        for row in range(0, len(tops), rows):
            part = slice(row, row + rows)
            angle = _TWO_PI * turn_table(nodes, tops[part], bottom)
            cosine, sine = np.cos(angle), np.sin(angle)
            for value, term in zip(values, terms, strict=True):
                value[part] = cosine @ term.real - sine @ term.imag
        return values, sizes


# -- tails ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tail:
    """Logarithms of values, and estimates of their relative errors."""

    log: Floats
    error: Floats

    def beyond(self, accuracy: float) -> list[int]:
        """Which values are not accurate enough.

        A value below the smallest float is allowed the rounding error of its logarithm.
        """
        is_tiny = np.isfinite(self.log) & (self.log < LOG_SMALLEST)
        lost = np.where(is_tiny, _LAST_DIGITS * np.abs(self.log), 0.0)
        return np.flatnonzero(~(self.error <= np.maximum(accuracy, lost))).tolist()


def rest_of(delta: Tail, thresholds: list[Fraction]) -> Tail:
    """log of 1 - delta(t) from delta(|t|): for t < 0, 1 - delta(t) = e^t (1 - delta(-t))."""
    value = np.exp(delta.log)
    rest = 1 - value
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(rest) + np.minimum([float(t) for t in thresholds], 0.0)
        error = np.where(value > 0, value * delta.error / rest, 0.0) + 4e-16
    return Tail(np.where(rest > 0, log, math.nan), np.where(rest > 0, error, math.inf))


class Evaluation(Protocol):
    """Anything that evaluates tails."""

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """Logarithms of tails at thresholds, with relative errors."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How far a contour runs: one period of the lattice `h`, or `reach` on a line without one."""

    h: Fraction | None
    reach: float
    kept: Sieve | None = None  # the sieve, where it is already known ...
    serves: tuple[Kind, ...] = ()  # ... and the kernels for which it is deep enough
    remainder: float = 0.0  # mean modulus over reach, for what a cut contour leaves out

    def nodes(self, period: float) -> float:
        """About how many nodes the sieve keeps."""
        if self.kept is None:
            return self.reach * period / (2 * math.pi)
        return float(np.sum((self.kept.high - self.kept.low) * (period / (2 * math.pi)) + 1))


class Quadrature:
    """Evaluates tails of one loss, on its lattice or up to a finite reach."""

    def __init__(self, loss: Loss, strategy: Strategy, fallback: Evaluation | None = None) -> None:
        self.loss = loss
        self.fallback = fallback  # used where the estimate of the error is too large
        self.remainder = strategy.remainder
        self.h = strategy.h
        self.reach = strategy.reach
        self._h = float(strategy.h) if strategy.h else 0.0
        self.is_explored = strategy.kept is not None
        self.is_long = strategy.kept is not None and strategy.kept.low.size > 5000
        self._sieves: dict[bool, Sieve] = {}
        if strategy.kept is not None:
            self._sieves = {kind.has_both_poles: strategy.kept for kind in strategy.serves}
        # few points of the lattice within the width of the loss: neighbours differ by orders of magnitude
        self._is_coarse = self._h > 0.03 * loss.spread
        # the largest tilt in use: beyond it every kernel falls
        self._scale = 40 / loss.spread

    def tail(self, kind: Kind, thresholds: list[Fraction]) -> Tail:
        """log of delta(t), P[L > t] or P_null[L > t] at each threshold t."""
        if kind is Kind.REST and self.loss.spread < _SMALL_LOSS:
            return rest_of(self.tail(Kind.DELTA, [abs(t) for t in thresholds]), thresholds)
        log = np.full(len(thresholds), -math.inf)
        error = np.zeros(len(thresholds))
        if self.h is None:
            points = Points.on_line(thresholds)
        else:
            points = Points.on_lattice(thresholds, self.loss.offset, self.h)
            if kind is Kind.DELTA and self._is_coarse:
                close = np.flatnonzero(points.gap < 0.02 * self._h)
                if close.size:
                    apart = self._beside_atoms([thresholds[i] for i in close])
                    others = np.flatnonzero(points.gap >= 0.02 * self._h)
                    log[close], error[close] = apart.log, apart.error
                    if others.size:
                        inner = self.tail(kind, [thresholds[i] for i in others])
                        log[others], error[others] = inner.log, inner.error
                    return Tail(log, error)
        order = sorted(range(len(thresholds)), key=points.tops.__getitem__)
        if self.loss.largest is not None:
            last = (self.loss.largest - points.origin) / points.unit
            # on a line the threshold itself must lie below the largest loss
            order = [i for i in order if (points.tops[i] <= last if self.h else points.tops[i] < last)]
        else:
            farthest = self.loss.tilted_moments(0.0)[0] + _FAR_OUT * self.loss.spread
            for i in [i for i in order if points.value[i] > farthest and kind is not Kind.REST]:
                theta = saddle(self.loss, kind, float(points.value[i]), self._h)
                exponent = exact_exponent(log_scale(self.loss, theta), theta, points.exact(i))
                exponent -= points.value[i] if kind is Kind.NULL else 0.0
                room = _LAST_DIGITS * abs(exponent)
                if 10 * theta * self._h < room:  # the kernel is lost in the last digits of the exponent
                    log[i], error[i] = exponent, room
                    order.remove(i)
        position = 0
        while position < len(order):
            remaining = order[position:]
            try:
                contour, until = self._contour(kind, points.value[remaining])
            except SieveOverflowError:
                # this contour does not reach them: an infinite error says so
                log[remaining], error[remaining] = math.nan, math.inf
                break
            chosen = remaining[:until]
            log[chosen], error[chosen] = self._evaluate(contour, kind, points.take(chosen))
            position += until
            for i in np.array(chosen)[Tail(log[chosen], error[chosen]).beyond(_DOUBTFUL)]:
                log[i], error[i] = self._alone(kind, thresholds[i], points.take([i]), log[i], error[i])
        return Tail(log, error)

    def _alone(
        self, kind: Kind, threshold: Fraction, point: Points, log: float, error: float
    ) -> tuple[float, float]:
        """Compute a doubtful value again: by the fallback, or with smaller aliases."""
        if self.fallback is not None:
            other = self.fallback.tail(kind, [threshold])
            if not other.error[0] >= error:
                return float(other.log[0]), float(other.error[0])
        for extra in (12.0, 40.0):
            try:
                contour, _ = self._contour(kind, point.value, extra)
            except SieveOverflowError:
                break
            again, estimate = self._evaluate(contour, kind, point)
            if estimate[0] < error or math.isnan(error):
                log, error = float(again[0]), float(estimate[0])
            if error < _DOUBTFUL:
                break
        return log, error

    def _beside_atoms(self, thresholds: list[Fraction]) -> Tail:
        """delta just below a point l of the lattice, in two parts that may differ by orders of magnitude.

        delta(t) = (1 - e^-(l - t)) P[L >= l] + e^-(l - t) delta(l), each part with its own tilt.
        """
        assert self.h is not None
        points = Points.on_lattice(thresholds, self.loss.offset, self.h)
        atom = self.tail(Kind.ALT, thresholds)
        rest = self.tail(Kind.DELTA, [points.exact(i) for i in range(len(thresholds))])
        with np.errstate(divide="ignore"):
            log = np.logaddexp(np.log(-np.expm1(-points.gap)) + atom.log, rest.log - points.gap)
        return Tail(log, np.maximum(atom.error, rest.error) + 4e-16)

    def _contour(self, kind: Kind, values: Floats, extra: float = 0.0) -> tuple[Contour, int]:
        """A contour for the first of the ascending points, and how many of them it may serve.

        `extra` makes aliases smaller, for values smaller than expected at this tilt.
        """
        lowest, highest = float(values[0]), float(values[-1])
        theta, spread, window = self._tilt(kind, lowest)
        reach = lowest + window
        if values.size > 1 and values[1] <= lowest + 2 * window:
            # a tilt for the middle of a window serves more points, if the law is as wide there
            centre = min(lowest + window, highest)
            theta_, spread_, window_ = self._tilt(kind, centre)
            if centre - window_ <= lowest:
                theta, spread, reach = theta_, spread_, centre + window_
        until = max(1, int(np.searchsorted(values, reach, side="right")))
        unit = max(spread, self._h)
        # the value in units of e^exponent, roughly: kernel over the width of the tilted law
        size = kernel_size(kind, theta, self._h) * min(1.0, (self._h or 1.0) / (2.5 * spread))
        need = _ALIAS + 4 + extra - math.log(size)
        span = period(self.loss, kind, theta, unit, lowest, float(values[until - 1]), need)
        contour = self._build(kind, theta, span.length)
        contour.alias = math.exp(-need)
        return contour, until

    def _tilt(self, kind: Kind, threshold: float) -> tuple[float, float, float]:
        """The tilt for a threshold, the width of the tilted law, and how far to either side it serves."""
        theta = saddle(self.loss, kind, threshold, self._h)
        spread = self.loss.tilted_spread(theta)
        return theta, spread, 1.4 * spread

    def _build(self, kind: Kind, theta: float, span: float) -> Contour:
        if self.h is not None:
            count = max(8, math.ceil(span / self._h))
            return Contour(self.loss, theta, count * self.h, self.nodes(kind, theta, count), count)
        spacing = short_above(span)
        if self.reach * float(spacing) / (2 * math.pi) > MOST_NODES:
            raise SieveOverflowError("the contour has too many nodes to number")
        nodes = self._kept(kind, theta).nodes(float(spacing), _MOST_KEPT)
        return Contour(self.loss, theta, spacing, nodes, 0)

    def nodes(self, kind: Kind, theta: float, count: int) -> Nodes:
        """The nodes that matter in half a period of `count` steps of the lattice."""
        if count <= 4096:
            return np.arange(count // 2 + 1, dtype=np.int64)
        assert self.h is not None
        nodes = self._kept(kind, theta).nodes(float(count * self.h), _MOST_KEPT)
        # the slack of the sieve must not reach into the other half of the period
        return np.asarray(nodes[2 * nodes <= count])

    def _kept(self, kind: Kind, theta: float) -> Sieve:
        """The sieve for this kernel, computed once if no term's radius depends on the tilt."""
        quick = kind.has_both_poles
        if quick in self._sieves and not self.loss.primal:
            return self._sieves[quick]
        kept = sieve(
            self.loss, reach=self.reach, depth=DEPTH, theta=theta, falloff=falloff(kind), scale=self._scale
        )
        self._sieves[quick] = kept
        return kept

    def _evaluate(self, contour: Contour, kind: Kind, points: Points) -> tuple[Floats, Floats]:
        z, h, gap = contour.z, self._h, points.gap
        exponent = contour.exponents(points)
        if kind is Kind.NULL:
            exponent -= points.value
        if self.h is None:
            poles = {Kind.ALT: z, Kind.NULL: z + 1}
            kernel: Complexes = np.asarray(1 / poles.get(kind, z * (z + 1)), dtype=np.complex128)
            (value,), sizes = contour.sums(points, [kernel])
            norm = float(contour.period)
        else:
            norm = float(contour.period / self.h)
            e0, e1 = -np.expm1(-z * h), -np.expm1(-(z + 1) * h)
            if kind.has_both_poles:
                # 1/e0 - e^-gap/e1, written so that nothing cancels
                (s0, s1), pair = contour.sums(points, [1 / (e0 * e1), np.exp(-z * h) / (e0 * e1)])
                c0, c1 = -np.expm1(-gap), np.exp(-gap) * -np.expm1(gap - h)
                value = c0 * s0 + c1 * s1
                sizes = c0 * pair[0] + c1 * pair[1]
            else:
                (value,), sizes = contour.sums(points, [1 / e0 if kind is Kind.ALT else 1 / e1])
        if kind is Kind.REST:
            value = -value
        with np.errstate(invalid="ignore", divide="ignore"):
            log = exponent + np.log(value / norm)
            error = 2.3e-16 * (4 * sizes / value + np.abs(exponent) + 4)
            error += np.where(value > 0, contour.alias * norm / np.abs(value), math.inf)
            if self.remainder:
                left_out = self.remainder / math.pi * (1.0 if kind.has_both_poles else self.reach)
                error += left_out * norm / value
        return log, error


def falloff(kind: Kind) -> float:
    """How fast the kernel falls along the contour: like the second power for delta, the first for tails."""
    return 2.0 if kind.has_both_poles else 1.0


def short_above(length: float) -> Fraction:
    """A fraction of 12 bits just above the length, so that turns are short fractions."""
    exponent = math.frexp(length)[1] - 12
    return Fraction(math.ldexp(math.ceil(math.ldexp(length, -exponent)), exponent))


def kernel_size(kind: Kind, theta: float, h: float) -> float:
    """The kernel on the real axis; for delta on a lattice, at a threshold half a step below a point."""

    def pole(distance: float) -> float:
        return abs(1 / math.expm1(-distance * h)) if h else 1 / abs(distance)

    if kind.has_both_poles:
        gap = -math.expm1(-h / 2) * (1 + math.exp(-(theta + 0.5) * h)) if h else 1.0
        return pole(theta) * pole(theta + 1) * gap
    return pole(theta - kind.pole)


# -- roots of falling functions, many at a time ----------------------------------------------------------


Falling = Callable[[list[int], Floats], Floats]
"""f(which, x): the values of the problems `which` at their points x."""


def roots(
    falling: Falling,
    start: Floats,
    slope: Floats,
    target: Floats,
    *,
    low: Floats,
    high: Floats | None = None,
    tolerance: float = 4e-15,
    most: int = 300,
) -> Floats:
    """Solve falling(x) = target for each problem, from a start and a guess of the (negative) slope.

    At `low` each function is known to be at or above its target, at `high` at or below. The search stops when
    a step changes x by less than `tolerance`, relatively.
    """
    x = start.copy()
    low = low.copy()
    high = np.full(x.shape, math.inf) if high is None else high.copy()
    last_x = np.full(x.shape, math.nan)
    last_y = np.full(x.shape, math.nan)
    rate = slope.copy()
    room = np.full(x.shape, math.inf)  # the width of the bracket some steps ago
    stride = 2 / np.abs(slope)  # how far to go while an end of the bracket is unknown
    seen = {1: [False] * x.size, -1: [False] * x.size}
    active = list(range(x.size))
    for step_number in range(most):
        if not active:
            return x
        y = falling(active, x[active]) - target[active]
        still = []
        for i, value in zip(active, y, strict=True):
            if value == 0:
                continue
            if value > 0:
                low[i], seen[1][i] = max(low[i], x[i]), True
            else:
                high[i], seen[-1][i] = min(high[i], x[i]), True
            if math.isfinite(last_y[i]) and math.isfinite(value) and x[i] != last_x[i]:
                secant = (value - last_y[i]) / (x[i] - last_x[i])
                if secant < 0:
                    rate[i] = secant
            last_x[i], last_y[i] = x[i], value
            width = high[i] - low[i]
            better = x[i] - value / rate[i] if math.isfinite(value) else math.nan
            # on plateaus the secant creeps: if three steps have not halved the bracket, bisect
            creeping = step_number % 3 == 2 and math.isfinite(width) and width > 0.5 * room[i]
            if step_number % 3 == 2:
                room[i] = width
            if creeping or not low[i] < better < high[i]:
                if seen[1][i] and seen[-1][i]:
                    better = 0.5 * (low[i] + high[i])
                else:  # away from the known end, by more and more
                    better = x[i] + stride[i] if value > 0 else x[i] - stride[i]
                    stride[i] *= 4
                    if not low[i] < better < high[i]:
                        better = 0.5 * (x[i] + (high[i] if value > 0 else low[i]))
            step = abs(better - x[i])
            x[i] = better
            # next to a cliff the secant is steep and its steps are short, even far from the root
            is_close = abs(value) <= 2.5e5 * tolerance
            if width > tolerance * abs(better) and not (is_close and step <= tolerance * abs(better)):
                still.append(i)
        active = still
    raise PrecisionError(
        f"a search did not end in {most} steps (near {x[active[0]]:.6g}); ask for one value at a time, "
        "or for fewer people"
    )


def saddlepoint_guess(loss: Loss, kind: Kind, log_target: Floats) -> tuple[Floats, Floats, Floats]:
    """Where the tail of this kind is about e^log_target, the slope of its logarithm there, and an upper end.

    The saddlepoint approximation, tabulated over tilts and interpolated: accurate to a few per cent of the
    tail. The upper end is Chernoff's: beyond it no tail reaches e^log_target.
    """
    spread = loss.spread
    distance = np.geomspace(1e-3, 400, 240) / spread
    theta = distance + kind.pole
    eta = 1e-4 * distance
    k0, k1, k2 = loss.log_mgf(theta), loss.log_mgf(theta - eta), loss.log_mgf(theta + eta)
    mean = (k2 - k1) / (2 * eta)
    variance = np.maximum((k2 - 2 * k0 + k1) / eta**2, 1e-6 * spread**2)
    pull = 1 / distance + (1 / (distance + 1) if kind is Kind.DELTA else 0.0)
    kernel = np.log(distance) + (np.log(distance + 1) if kind is Kind.DELTA else 0.0)
    curvature = variance + 1 / distance**2
    threshold = mean - pull
    log_tail = k0 - theta * threshold - kernel - 0.5 * np.log(2 * math.pi * curvature)
    if kind is Kind.NULL:
        log_tail -= threshold
    log_tail = np.minimum.accumulate(log_tail)
    guess = np.interp(-log_target, -log_tail, threshold)
    slope = -np.interp(-log_target, -log_tail, distance)
    bound = (k0[None, :] - log_target[:, None]) / distance[None, :]
    highest = bound.min(axis=1) * (1 + 1e-12) + 1e-300
    return np.minimum(guess, highest), slope, highest
