"""Second ways to the curves of any laws together, for tests, from the definitions of the laws.

*Every outcome*: the probabilities of all outcomes of few events, with and without the person, as long
doubles: no logarithm of a loss is taken, equal counts are listed by how often each outcome occurs. Nothing
but rounding (1e-19) and what is left out (1e-45 each) lies between the sums and the truth. In balls, where a
normal loss is beside them.

*Convolved in balls*: the product of all outcomes of a few events, one by one.

*Interpolated grid*: the losses of many events are put on a grid by Lagrange's weights of six points, which
may be negative: unlike the engine's grid this one is no bound, and converges with the sixth power of its
width. Its error is estimated by a grid of half the size.

*Rounded grid*: all losses rounded down, and up: two bounds, far apart.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import ndtr

from discreet.noise import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    PowerNoise,
    TableNoise,
)

Floats = NDArray[np.float64]
Longs = NDArray[np.longdouble]

_LEAST = 1e-45  # outcomes less likely than this under both hypotheses are left out of lists
_MOST = 400_000
_MOST_BALLS = 1_500
_MOST_FOLDED = 16_000
_MOST_IN_BALLS = 60_000
_LONG = np.longdouble


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator)


def _long(value: Fraction) -> np.longdouble:
    return _LONG(value.numerator) / _LONG(value.denominator)


def _reach(noise: Noise, nats: float) -> int:
    """Beyond it the weight e^-x of an outcome is below e^-nats."""
    if isinstance(noise, DiscreteGaussian):
        return math.ceil(math.sqrt(2 * nats * float(noise.variance))) + 2
    if isinstance(noise, DiscreteLaplace):
        return math.ceil(nats * float(noise.scale)) + 2
    assert isinstance(noise, PowerNoise)
    return math.ceil(float(noise.scale) * nats ** (1 / float(noise.exponent))) + 2


def _is_laplace(noise: Noise) -> bool:
    return isinstance(noise, DiscreteLaplace) or (isinstance(noise, PowerNoise) and noise.exponent == 1)


def _adds_up(noise: Noise) -> bool:
    """Whether losses are linear in the places of outcomes, so that the sum of the places tells everything."""
    is_gaussian = isinstance(noise, DiscreteGaussian) or (
        isinstance(noise, PowerNoise) and noise.exponent == 2
    )
    return is_gaussian or _is_laplace(noise)


def chances(noise: Noise, nats: float) -> tuple[Longs, Longs]:
    """P and Q of the outcomes of one count, with the person and without, from the definition of the law."""
    if isinstance(noise, TableNoise):
        pairs = noise.pairs
        return np.array([_long(q) for _, q in pairs]), np.array([_long(p) for p, _ in pairs])
    s = noise.sensitivity
    reach = _reach(noise, nats) + s
    x = np.arange(-reach, reach + 1).astype(_LONG)
    if isinstance(noise, DiscreteGaussian):
        weight = np.exp(-x * x / (2 * _long(noise.variance)))
    elif isinstance(noise, DiscreteLaplace):
        weight = np.exp(-np.abs(x) / _long(noise.scale))
    else:
        assert isinstance(noise, PowerNoise)
        weight = np.exp(-((np.abs(x) / _long(noise.scale)) ** _long(noise.exponent)))
    weight = weight / np.sort(weight).sum()
    p, q = np.append(np.zeros(s, _LONG), weight), np.append(weight, np.zeros(s, _LONG))
    if _is_laplace(noise):  # all outcomes beyond either centre have one loss
        ratio = np.exp(-1 / _long(noise.scale))
        beyond = 1 / (1 + ratio)  # P[X >= 0], in full
        far = beyond * ratio**s
        inner = slice(reach + 1, reach + s)
        p, q = np.array([far, *p[inner], beyond]), np.array([beyond, *q[inner], far])
        return p, q
    return p[s:-s], q[s:-s]


def _repeated(p: Longs, q: Longs, times: int, adds_up: bool) -> tuple[Longs, Longs] | None:
    """The chances of how often each outcome occurs in `times` counts; None if there are too many."""
    k = p.size
    if times == 1:
        return p, q
    if adds_up:
        return _folded(p, q, times)
    if times > 1500 or math.comb(times + k - 1, k - 1) > _MOST:  # (1755! is the last long double)
        return None
    left = np.array([times])
    one, other = np.ones(1, _LONG), np.ones(1, _LONG)
    ways = np.cumprod(np.append(_LONG(1), np.arange(1, times + 1).astype(_LONG)))
    for place in range(k):
        last = place == k - 1
        sizes = np.ones_like(left) if last else left + 1
        index = np.repeat(np.arange(left.size), sizes)
        starts = np.cumsum(sizes) - sizes
        count = left[index] if last else np.arange(index.size) - starts[index]
        one = one[index] * (p[place] ** count / ways[count])
        other = other[index] * (q[place] ** count / ways[count])
        left = left[index] - count
    return one * ways[times], other * ways[times]


def _folded(p: Longs, q: Longs, times: int) -> tuple[Longs, Longs] | None:
    """The chances of the sum of places; what is less likely than 1e-50 at either end is left out."""
    made, power = (np.ones(1, _LONG), np.ones(1, _LONG)), (p, q)
    while times:
        for often in (times & 1, times > 1):
            if often and max(made[0].size, power[0].size) > _MOST_FOLDED:
                return None
        if times & 1:
            made = _trimmed(np.convolve(made[0], power[0]), np.convolve(made[1], power[1]))
        times >>= 1
        if times:
            power = _trimmed(np.convolve(power[0], power[0]), np.convolve(power[1], power[1]))
    return made


def _trimmed(p: Longs, q: Longs) -> tuple[Longs, Longs]:
    kept = np.flatnonzero(np.maximum(p, q) > 1e-5 * _LEAST)
    return p[kept[0] : kept[-1] + 1], q[kept[0] : kept[-1] + 1]


@dataclass(frozen=True)
class EveryOutcome:
    """The chances of every outcome, beside at most one loss with a density."""

    p: Longs
    q: Longs
    left_out: float
    variance: Fraction
    end: Fraction

    @classmethod
    def of(cls, events: Sequence[Noise]) -> EveryOutcome | None:
        """List the outcomes of events; None if there are too many."""
        p, q = np.ones(1, _LONG), np.ones(1, _LONG)
        variance, end, left_out, largest = Fraction(0), Fraction(0), 0.0, 0.0
        for event in events:
            if isinstance(event, ContinuousLaplace):
                if end or event.times > 1:
                    return None
                end = event.sensitivity / event.scale
                continue
            if isinstance(event, ContinuousGaussian):
                variance += event.times * event.sensitivity**2 / event.variance
                continue
            one = chances(event, 110.0)
            kept = np.maximum(*one) > _LEAST
            left_out += event.times * (float(np.maximum(*one)[~kept].sum()) + math.exp(-105.0) + _LEAST)
            p_one, q_one = (side[kept] for side in one)
            if not isinstance(event, TableNoise) and not min(p_one.min(), q_one.min()) > 0:
                return None  # long doubles end there, not the chances
            both = (p_one > 0) & (q_one > 0)
            largest += event.times * float(np.abs(np.log(p_one[both] / q_one[both])).max(initial=0.0))
            if largest > 11_000:  # even long doubles end at e^-11355
                return None
            many = _repeated(p_one, q_one, event.times, _adds_up(event))
            if many is None or p.size * many[0].size > 8 * _MOST:
                return None
            p, q = np.multiply.outer(p, many[0]).ravel(), np.multiply.outer(q, many[1]).ravel()
            kept = np.maximum(p, q) > _LEAST
            left_out += float(np.maximum(p, q)[~kept].sum())
            p, q = p[kept], q[kept]
            if p.size > _MOST:
                return None
        if variance and (end or p.size > _MOST_BALLS):
            return None
        return cls(p, q, left_out, variance, end)

    def delta(self, epsilon: float) -> float:
        """The larger of both directions."""
        return max(self._delta(self.p, self.q, epsilon), self._delta(self.q, self.p, epsilon))

    def _delta(self, p: Longs, q: Longs, epsilon: float) -> float:
        if self.variance:
            return self._beside_normal(p, q, epsilon)
        if not self.end and epsilon > 1000:  # e^epsilon is too large
            with np.errstate(divide="ignore", invalid="ignore"):
                far = _LONG(epsilon) - np.where(p > 0, np.log(p / q), 0)
            return float((p * -np.expm1(np.minimum(far, 0))).sum())
        if not self.end:
            return float(np.maximum(p - np.exp(_LONG(epsilon)) * q, 0).sum())
        # beside continuous Laplace noise: its delta is 1 - e^((t - end)/2) at |t| < end
        end = _long(self.end)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(p > 0, _LONG(epsilon) - np.log(p / q), _LONG(np.inf))
        inner = np.where(t < end, -np.expm1((np.maximum(t, -end) - end) / 2), 0) * p
        # e^epsilon q = e^t p, which does not overflow where t is at most -end
        return float(np.where(t <= -end, -np.expm1(np.minimum(t, 0)) * p, inner).sum())

    def _beside_normal(self, p: Longs, q: Longs, epsilon: float) -> float:
        ctx.prec, before = 240, ctx.prec
        try:
            s, total, lift = _ball(self.variance).sqrt(), arb(0), arb(epsilon).exp()
            for one, other in zip(p, q, strict=True):
                if one == 0:
                    continue
                a, b = _of_long(one), _of_long(other)
                if other == 0:
                    total += a
                    continue
                y = s / 2 - (arb(epsilon) - (a / b).log()) / s
                root = arb(2).sqrt()
                total += (a * (-y / root).erfc() - lift * b * ((s - y) / root).erfc()) / 2
            return float(total.mid())
        finally:
            ctx.prec = before

    def tradeoff(self, alpha: float) -> float:
        """f: the supremum over t of 1 - delta(t) - e^t alpha, which is concave in e^t."""
        low, high = -60.0, -math.log(alpha) + 1e-9
        if self.variance:
            low = max(low, -8 - 8 * math.sqrt(float(self.variance)))

        def height(t: float) -> float:
            return 1 - self.delta(t) - math.exp(t) * alpha

        ratio = (math.sqrt(5) - 1) / 2
        points = [high - ratio * (high - low), low + ratio * (high - low)]
        heights = [height(t) for t in points]
        while high - low > 1e-14 * (1 + abs(low)):
            if heights[0] >= heights[1]:
                high, points = points[1], [0.0, points[0]]
                points[0] = high - ratio * (high - low)
                heights = [height(points[0]), heights[0]]
            else:
                low, points = points[0], [points[1], 0.0]
                points[1] = low + ratio * (high - low)
                heights = [heights[1], height(points[1])]
        return max(*heights, 0.0)


def _of_long(value: np.longdouble) -> arb:
    part, power = np.frexp(value)  # longer exponents than those of floats
    high = float(part)
    return (arb(high) + arb(float(part - _LONG(high)))) * arb(2) ** int(power)


# -- in balls ---------------------------------------------------------------------------------------------


def _chances_in_balls(noise: Noise, nats: float) -> tuple[list[arb], list[arb]]:
    """P and Q of the outcomes of one count, from the definition of the law, in balls."""
    if isinstance(noise, TableNoise):
        return [_ball(q) for _, q in noise.pairs], [_ball(p) for p, _ in noise.pairs]

    def weight(x: int) -> arb:
        if isinstance(noise, DiscreteGaussian):
            return (-_ball(Fraction(x * x) / (2 * noise.variance))).exp()
        if isinstance(noise, DiscreteLaplace):
            return (-_ball(abs(x) / noise.scale)).exp()
        assert isinstance(noise, PowerNoise)
        return (-(_ball(abs(x) / noise.scale) ** _ball(noise.exponent))).exp() if x else arb(1)

    s, reach = noise.sensitivity, _reach(noise, nats)
    total = 1 + 2 * sum((weight(x) for x in range(1, 2 * reach + 1)), arb(0))
    weights = {x: weight(x) / total for x in range(reach + s + 1)}
    span = range(-reach, reach + s + 1)
    p, q = [weights[abs(x - s)] for x in span], [weights[abs(x)] for x in span]
    if _is_laplace(noise):  # all outcomes beyond either centre have one loss
        low, high = reach + 1, reach + s
        p, q = ([sum(c[:low], arb(0)), *c[low:high], sum(c[high:], arb(0))] for c in (p, q))
    return p, q


def convolved_delta(events: Sequence[Noise], epsilon: Fraction, nats: float = 90.0) -> arb | None:
    """delta by direct convolution in balls, the larger of both directions; None of too many outcomes.

    Every outcome is a product; equal ones are not put together. Outcomes beyond e^-nats are left out.
    """
    with_, without = [arb(1)], [arb(1)]
    variance, end = Fraction(0), Fraction(0)
    for event in events:
        if isinstance(event, ContinuousLaplace):
            if end or event.times > 1:
                return None
            end = event.sensitivity / event.scale
            continue
        if isinstance(event, ContinuousGaussian):
            variance += event.times * event.sensitivity**2 / event.variance
            continue
        if not isinstance(event, TableNoise) and _reach(event, nats) > _MOST_IN_BALLS // 8:
            return None
        p, q = _chances_in_balls(event, nats)
        for _ in range(event.times):
            if len(with_) * len(p) > _MOST_IN_BALLS:
                return None
            with_ = [a * b for a in with_ for b in p]
            without = [a * b for a in without for b in q]
    if variance and end:
        return None
    one = _convolved_side(with_, without, epsilon, variance, end)
    return one.max(_convolved_side(without, with_, epsilon, variance, end))


def _convolved_side(
    with_: list[arb], without: list[arb], epsilon: Fraction, variance: Fraction, end: Fraction
) -> arb:
    lift, total = _ball(epsilon).exp(), arb(0)
    for p, q in zip(with_, without, strict=True):
        if not variance and not end:
            total += (p - lift * q).max(arb(0))
        elif q == 0:
            total += p
        elif p > 0 and end:
            # continuous Laplace noise: delta is 1 - e^((t - end)/2) at |t| < end
            t = _ball(epsilon) - (p / q).log()
            if t <= -_ball(end):
                total += p - lift * q
            elif t < _ball(end):
                total += p * (1 - ((t - _ball(end)) / 2).exp())
        elif p > 0:
            s, root = _ball(variance).sqrt(), arb(2).sqrt()
            a = s / 2 - (_ball(epsilon) - (p / q).log()) / s
            total += (p * (-a / root).erfc() - lift * q * ((s - a) / root).erfc()) / 2
    return total


# -- the interpolated grid --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Direction:
    """The losses of all events in one direction: values and logarithms of probabilities."""

    events: tuple[Noise, ...]
    exchanged: bool

    @cached_property
    def atoms(self) -> list[tuple[Floats, Floats, int]]:
        """Of each event that has single outcomes: values, logarithms, and how often it occurs."""
        made = []
        for event in self.events:
            if isinstance(event, ContinuousGaussian):
                continue
            if isinstance(event, ContinuousLaplace):
                end = event.sensitivity / float(event.scale)
                made.append((np.array([-end, end]), np.array([-end, 0.0]) - math.log(2), event.times))
                continue
            p, q = chances(event, 300.0)
            if self.exchanged:
                p, q = q, p
            both = (p > 0) & (q > 0)
            value, log = np.log(p[both]) - np.log(q[both]), np.log(p[both])
            made.append((value.astype(float), log.astype(float), event.times))
        return made

    @cached_property
    def infinite(self) -> float:
        """The probability of an infinite loss."""
        finite = 0.0
        for event in self.events:
            if isinstance(event, TableNoise):
                pairs = [(p, q) if self.exchanged else (q, p) for p, q in event.pairs]
                mass = sum((p for p, q in pairs if not q), Fraction(0))
                finite += event.times * math.log1p(-mass) if mass < 1 else -math.inf
        return -math.expm1(finite) if finite else 0.0

    @cached_property
    def variance(self) -> float:
        """Of the normal loss."""
        normal = [e for e in self.events if isinstance(e, ContinuousGaussian)]
        return float(sum(e.times * Fraction(e.sensitivity) ** 2 / e.variance for e in normal))

    @cached_property
    def densities(self) -> list[tuple[float, int]]:
        """The ends of the densities of continuous Laplace noise."""
        laplace = [e for e in self.events if isinstance(e, ContinuousLaplace)]
        return [(e.sensitivity / float(e.scale), e.times) for e in laplace]

    def log_mgf(self, theta: float) -> float:
        """log E e^(theta L) over finite losses."""
        total = 0.5 * self.variance * (theta + theta * theta)
        rest = list(self.densities)
        for event, (value, log, times) in zip(
            [e for e in self.events if not isinstance(e, ContinuousGaussian)], self.atoms, strict=True
        ):
            one = float(np.logaddexp.reduce(log + theta * value)) if log.size else -math.inf
            if isinstance(event, ContinuousLaplace):
                one = float(np.logaddexp(one, _log_mass(rest.pop(0)[0], theta)))
            total += times * one
        return total

    def spread(self, theta: float) -> tuple[float, float]:
        """Mean and standard deviation of the loss under a tilt, by differences."""
        step = 1e-4 / (1 + math.sqrt(self.variance) + sum(float(v.std()) for v, _, _ in self.atoms if v.size))
        low, middle, high = (self.log_mgf(theta + k * step) for k in (-1, 0, 1))
        return (high - low) / (2 * step), math.sqrt(max((high - 2 * middle + low) / step**2, 1e-12))

    def saddle(self, epsilon: float) -> float:
        """A tilt under which what matters for delta lies in the middle."""
        low, high = 1e-6, 400.0
        for _ in range(16):
            middle = math.sqrt(low * high)
            mean, _ = self.spread(middle)
            low, high = (low, middle) if mean > epsilon + 1 / middle + 1 / (middle + 1) else (middle, high)
        return math.sqrt(low * high)

    def window(self, theta: float) -> tuple[float, float]:
        """Ends that all but e^-34 of the tilted law lies between, on either side."""
        here, (_, spread) = self.log_mgf(theta), self.spread(theta)
        moves = np.array([0.02, 0.1, 0.3, 1, 2, 4, 6, 8, 11, 15, 25, 60, 300]) / spread
        high = min((self.log_mgf(theta + m) - here + 34) / m for m in moves)
        low = max((here - self.log_mgf(theta - m) - 34) / m for m in moves)
        return low, high

    def on_grid(self, theta: float, h: float, size: int, node: float) -> tuple[Floats, Floats]:
        """The tilted law on points of a grid of which `node` is one: the points, and signed weights."""
        low, high = self.window(theta)
        first = math.floor((0.5 * (low + high) - node) / h) - size // 2
        angle = 2 * np.pi * np.arange(size // 2 + 1) / size
        spectrum = np.exp(1j * angle * first)  # moves the first point to place 0
        move = node  # the first loss is moved by it, before it is put on the grid
        densities = list(self.densities)
        discrete = [e for e in self.events if not isinstance(e, ContinuousGaussian)]
        for event, (value, log, times) in zip(discrete, self.atoms, strict=True):
            end = densities.pop(0)[0] if isinstance(event, ContinuousLaplace) else None
            for shift, often in ((move, 1), (0.0, times - 1)):
                if often:
                    spectrum = spectrum * _transform(value, log, end, theta, shift, h, size) ** often
            move = 0.0
        if self.variance:
            mean = self.variance * (0.5 + theta) - move
            spectrum = spectrum * np.exp(-1j * angle * mean / h - 0.5 * self.variance * (angle / h) ** 2)
        return node + (first + np.arange(size)) * h, np.fft.irfft(spectrum, size)

    @property
    def is_continuous(self) -> bool:
        """Whether some loss has a density."""
        return bool(self.variance or self.densities)

    def delta(self, epsilon: float, theta: float, size: int) -> tuple[float, float]:
        """delta over finite and infinite losses, and what a lattice finer than the grid may hide."""
        low, high = self.window(theta)
        h = (high - low) / (size - 64)
        points, weight = self.on_grid(theta, h, size, epsilon)
        distance = points - epsilon
        above = distance > 0.5 * h
        kernel = np.exp(-theta * distance[above]) * -np.expm1(-distance[above])
        value = float(weight[above] @ kernel)
        at = int(np.argmin(np.abs(distance)))
        hidden = 0.0
        if abs(distance[at]) < 0.5 * h:  # the corner of the kernel, by Euler and Maclaurin
            value += h / 12 * float(weight[at])
            hidden = 0.0 if self.is_continuous else h / 2 * abs(float(weight[at]))
        unit = math.exp(self.log_mgf(theta) - theta * epsilon)
        return value * unit + self.infinite, hidden * unit


def _log_mass(end: float, theta: float) -> float:
    """The logarithm of the tilted mass of e^((x - end)/2)/4 between -end and end."""
    rate = theta + 0.5
    if abs(rate * end) < 1e-9:
        return math.log(end / 2) - end / 2
    top = abs(rate) * end + math.log(-math.expm1(-2 * abs(rate) * end)) - math.log(abs(rate))
    return top - end / 2 - math.log(4)


def _transform(
    value: Floats, log: Floats, end: float | None, theta: float, shift: float, h: float, size: int
) -> NDArray[np.complex128]:
    """The transform of one loss less a shift, under a tilt, on the grid."""
    weight = log + theta * value
    if end is not None:
        at, more = _density_atoms(end, theta, shift, h)
        value, weight = np.append(value, at), np.append(weight, more)
    p = np.exp(weight - np.logaddexp.reduce(weight))
    return np.fft.rfft(_interpolated((value - shift) / h, p, size))


def _density_atoms(end: float, theta: float, shift: float, h: float) -> tuple[Floats, Floats]:
    """That density at Gauss's nodes, four in each cell of a grid of which `shift` is a point."""
    inner = np.arange(math.ceil((-end - shift) / h), math.floor((end - shift) / h) + 1) * h + shift
    edges = np.unique(np.clip(np.concatenate([[-end], inner, [end]]), -end, end))
    nodes, weights = np.polynomial.legendre.leggauss(4)
    half = 0.5 * np.diff(edges)[:, None]
    at = (edges[:-1, None] + half * (nodes + 1)).ravel()
    log = np.log((half * weights).ravel()) + (at - end) / 2 - math.log(4)
    return at, log + theta * at


def _interpolated(place: Floats, p: Floats, size: int) -> Floats:
    """Probabilities on six points each, such that sums of polynomials of degree five stay what they are."""
    base = np.floor(place)
    x = place - base
    made = np.zeros(size)
    for j in range(-2, 4):
        factor = np.ones_like(x)
        for i in range(-2, 4):
            if i != j:
                factor = factor * ((x - i) / (j - i))
        index = np.mod(base + j, size).astype(np.int64)
        made += np.bincount(index, weights=p * factor, minlength=size)
    return made


@dataclass(frozen=True)
class Interpolated:
    """delta and f on interpolated grids, with estimates of their errors."""

    events: tuple[Noise, ...]
    size: int = 2**15

    @cached_property
    def _directions(self) -> tuple[Direction, ...]:
        return Direction(self.events, False), Direction(self.events, True)

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Two coarser ones, of odd proportions: what differs by chance seldom agrees three times."""
        return self.size, 2 * (self.size * 3 // 8 + 11), 2 * (self.size * 3 // 10 + 7)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """The larger of both directions, and its relative error."""
        found = []
        for direction in self._directions:
            if direction.infinite >= 1:
                return 1.0, 0.0
            if any(not value.size for value, _, _ in direction.atoms):
                return 1.0, 1.0  # what both can show, no long double holds
            theta = direction.saddle(epsilon)
            (fine, hidden), *others = (direction.delta(epsilon, theta, size) for size in self._sizes)
            # (ten times was too little for seed 10983: test_a_sum_over_every_outcome_beside_two_densities)
            found.append((fine, 50 * max(abs(fine - other) for other, _ in others) + hidden))
        value = max(value for value, _ in found)
        # losses on a lattice converge no faster than the width of the grid
        return value, max(error for _, error in found) / value + 1e-11 if value > 0 else 1.0

    def tradeoff(self, alpha: float) -> tuple[float, float]:
        """f and its relative error."""
        if any(not value.size for direction in self._directions for value, _, _ in direction.atoms):
            return 0.0, 1.0
        (fine, hidden), *others = (self._tradeoff(alpha, size) for size in self._sizes)
        off = 10 * max(abs(fine - other) for other, _ in others) + hidden
        return fine, off / fine + 1e-9 if fine > 0 else 1.0

    def _tradeoff(self, alpha: float, size: int) -> tuple[float, float]:
        theta, hidden = -0.5, 0.0
        if any(direction.infinite >= 1 for direction in self._directions):
            return 0.0, 0.0
        ends = [direction.window(theta) for direction in self._directions]
        h = max(high - low for low, high in ends) / (size - 64)
        curves = []
        for direction in self._directions:
            points, weight = direction.on_grid(theta, h, size, 0.0)
            fall = math.exp(-h / 2)
            below = lfilter([1.0], [1.0, -fall], weight)
            above = lfilter([1.0], [1.0, -fall], weight[::-1])[::-1] - weight
            total = below + above - h / 12 * weight  # the corner of the kernel
            lift = np.exp(points / 2 + direction.log_mgf(theta))
            curves.append((points, total * lift))
            hidden += 0.0 if direction.is_continuous else h / 2 * float(np.max(np.abs(weight) * lift))
        every = np.concatenate([*(points for points, _ in curves), [0.0]])
        at = np.unique(np.append(every, np.linspace(every.min(), every.max(), 1001)))  # and between the two
        lifted = np.exp(np.minimum(at, 700.0))
        heights = []
        for direction, (points, total) in zip(self._directions, curves, strict=True):
            height = np.interp(at, points, total)
            # below all losses, and above them
            height = np.where(at < points[0], lifted * math.exp(direction.log_mgf(-1.0)), height)
            heights.append(np.where(at > points[-1], math.exp(direction.log_mgf(0.0)), height))
        lowest = np.minimum(*heights) - lifted * alpha
        k = min(max(int(np.argmax(lowest)), 1), lowest.size - 2)
        a, b, c = lowest[k - 1 : k + 2]
        bend = a - 2 * b + c
        top = b - (a - c) ** 2 / (8 * bend) if bend < 0 else b  # of a parabola, unless curves cross there
        return float(max(min(top, max(a, b, c) + 0.1 * abs(a - c)), 0.0)), hidden


def _cells(noise: Noise, h: float, exchanged: bool) -> tuple[Floats, Floats, float]:
    """Losses of one count, their probabilities (of densities in cells of width h), and the infinite mass."""
    if isinstance(noise, ContinuousGaussian):
        r = noise.sensitivity**2 / float(noise.variance)
        s = math.sqrt(r)
        edges = np.arange(math.floor((r / 2 - 9 * s) / h), math.ceil((r / 2 + 9 * s) / h) + 1) * h
        p = np.diff(ndtr((edges - r / 2) / s))
        return edges[:-1], p, 0.0
    if isinstance(noise, ContinuousLaplace):
        end = noise.sensitivity / float(noise.scale)
        edges = np.append(np.arange(-end, end, h), end)
        p = np.diff(np.exp((edges - end) / 2)) / 2
        return np.append(edges[:-1], [-end, end]), np.append(p, [math.exp(-end) / 2, 0.5]), 0.0
    if isinstance(noise, TableNoise):
        p = np.array([float(q) for _, q in noise.pairs])
        q = np.array([float(p) for p, _ in noise.pairs])
    else:
        p, q = (one.astype(np.float64) for one in chances(noise, 60.0))
    if exchanged:
        p, q = q, p
    finite = (p > 0) & (q > 0)
    return np.log(p[finite]) - np.log(q[finite]), p[finite], float(p[(q == 0)].sum())


def rounded_deltas(
    events: Sequence[Noise], epsilons: Sequence[float], size: int = 2**17
) -> list[tuple[float, float]]:
    """Lower and upper bounds of delta: all losses rounded down, and up, to a grid; convolved untilted."""
    bounds = []
    for exchanged in (False, True):
        rough = [_cells(event, 1e-3, exchanged) for event in events]
        means = [float(p @ v) for v, p, _ in rough]
        spread = math.sqrt(
            sum(
                e.times * float(p @ (v - m) ** 2)
                for e, (v, p, _), m in zip(events, rough, means, strict=True)
            )
        )
        widest = max((float(v.max() - v.min()) for v, _, _ in rough if v.size), default=1.0)
        h = (24 * spread + 2 * widest + 1e-3) / size
        finite = 1.0
        laws = []
        for event in events:
            value, p, infinite = _cells(event, h, exchanged)
            finite *= (1 - infinite) ** event.times
            is_cell = isinstance(event, ContinuousGaussian | ContinuousLaplace)
            laws.append((value, p, event.times, is_cell))
        centre = sum(round(float(p @ v) / float(p.sum()) / h) * times for v, p, times, _ in laws if p.size)
        sides = []
        for up in (False, True):
            spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
            for value, p, times, is_cell in laws:
                if not p.size:
                    spectrum = np.zeros_like(spectrum)
                    continue
                # (a cell of a continuous loss begins at its value)
                place = np.ceil(value / h + 1e-9) + is_cell if up else np.floor(value / h - 1e-9)
                shift = round(float(p @ value) / float(p.sum()) / h)
                law = np.bincount((place.astype(np.int64) - shift) % size, weights=p, minlength=size)
                spectrum = spectrum * np.fft.rfft(law) ** times
            law = np.fft.irfft(spectrum, size)
            index = np.arange(size)
            points = (np.where(index < size // 2, index, index - size) + centre) * h
            sides.append(
                [
                    float(law @ np.maximum(-np.expm1(np.minimum(e - points, 0.0)), 0.0)) + 1 - finite
                    for e in epsilons
                ]
            )
        bounds.append(list(zip(*sides, strict=True)))
    first, second = bounds
    return [(max(a[0], b[0]), max(a[1], b[1])) for a, b in zip(first, second, strict=True)]


def drawn_events(seed: int) -> list[Noise]:
    """A random composition over all laws, nasty parameters among them; one in four has extreme sizes."""
    draw = random.Random(seed)
    extreme = draw.random() < 0.25
    events: list[Noise] = []
    for _ in range(draw.choice([1, 1, 2, 2, 3, 4])):
        times = draw.choice([1, 1, 2, 40, 300, 2000] if extreme else [1, 1, 1, 2, 3, 10, 40])
        s = draw.choice([1, 1, 2, 7, 30] if extreme else [1, 1, 1, 2, 3])
        events.append(_event(draw, s, times, extreme))
    return events


def _event(draw: random.Random, s: int, times: int, extreme: bool) -> Noise:
    def size(low: int, high: int) -> Fraction:
        """A parameter in tenths; an extreme one is ten times smaller, or up to thirty times larger."""
        factor = draw.choice([Fraction(1, 10), Fraction(1), Fraction(30)]) if extreme else Fraction(1)
        return Fraction(draw.randint(low, high), 10) * factor

    match draw.randrange(8):
        case 0:
            return DiscreteGaussian(variance=size(3, 400), sensitivity=s, times=times)
        case 1:
            return DiscreteLaplace(scale=size(3, 100), sensitivity=s, times=times)
        case 2 | 3:
            exponent = Fraction(draw.choice([10, 11, 15, 17, 19, 20]), 10)
            return PowerNoise(exponent, size(2, 90), sensitivity=s, times=times)
        case 4:
            table = _table(draw, draw.randint(1, 6))
            # (a change of 1 is never less than one below it)
            return TableNoise(table, sensitivity=1 if smaller_tells_more(table, s) else s, times=times)
        case 5:
            k = draw.randint(2, 4)
            present = _table(draw, k) if draw.random() < 0.7 else _near(draw, k)
            return TableNoise(
                _table(draw, k) if draw.random() < 0.7 else _near(draw, k), present, times=times
            )
        case 6:
            return ContinuousGaussian(variance=size(5, 400), sensitivity=s, times=times)
        case _:
            return ContinuousLaplace(scale=size(5, 100), sensitivity=s, times=times)


def _table(draw: random.Random, outcomes: int) -> dict[int, Fraction]:
    weights = [draw.choice([1, 1, 2, 3, 7, 40]) for _ in range(outcomes)]
    start = draw.randint(-3, 1)
    return {start + k: Fraction(w, sum(weights)) for k, w in enumerate(weights)}


def smaller_tells_more(chances: dict[int, Fraction], most: int) -> bool:
    """Whether a change below `most` tells more of a count with this noise than `most` does, at some epsilon.

    From the definition: delta is the sum of max(P - ratio Q, 0), which is linear between the ratios P/Q.
    """

    def delta(change: int, ratio: Fraction) -> Fraction:
        moved = ((p, chances.get(x + change, Fraction(0))) for x, p in chances.items())
        return sum((max(p - ratio * q, Fraction(0)) for p, q in moved), Fraction(0))

    ratios = {p / q for p in chances.values() for q in chances.values() if q} | {Fraction(0)}
    ratios.add(2 * max(ratios))
    return any(
        delta(change, ratio) > delta(most, ratio) for change in range(1, most) for ratio in sorted(ratios)
    )


def _near(draw: random.Random, outcomes: int) -> dict[int, Fraction]:
    """A table whose outcomes are about equally likely: another such beside it has small finite losses."""
    weights = [draw.randint(900, 1100) for _ in range(outcomes)]
    return {k: Fraction(w, sum(weights)) for k, w in enumerate(weights)}
