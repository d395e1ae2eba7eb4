"""Second ways to the delta of any laws together, for tests: every outcome, and a grid rounded both ways."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

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


def chances(noise: Noise, nats: float) -> tuple[list[arb], list[arb]]:
    """P and Q of the outcomes of one count, from the definition of the law, in balls."""
    if isinstance(noise, TableNoise):
        pairs = [(_ball(p), _ball(q)) for p, q in noise.pairs]
        return [q for _, q in pairs], [p for p, _ in pairs]
    reach = int(noise.reach(nats)) + 2

    def weight(x: int) -> arb:
        if isinstance(noise, DiscreteGaussian):
            return (-_ball(Fraction(x * x) / (2 * noise.variance))).exp()
        if isinstance(noise, DiscreteLaplace):
            return (-_ball(abs(x) / noise.scale)).exp()
        assert isinstance(noise, PowerNoise)
        return (-(_ball(abs(x) / noise.scale) ** _ball(noise.exponent))).exp() if x else arb(1)

    total = sum((weight(x) for x in range(-2 * reach, 2 * reach + 1)), arb(0))
    s = noise.sensitivity
    span = range(-reach, reach + s + 1)
    p, q = [weight(x - s) / total for x in span], [weight(x) / total for x in span]
    if isinstance(noise, DiscreteLaplace):  # all outcomes beyond either centre have one loss
        low, high = reach + 1, reach + s
        p, q = ([sum(c[:low], arb(0)), *c[low:high], sum(c[high:], arb(0))] for c in (p, q))
    return p, q


def _ball(value: Fraction) -> arb:
    return arb(value.numerator) / arb(value.denominator)


def listed_delta(events: Sequence[Noise], epsilon: Fraction, *, nats: float = 90.0) -> float | None:
    """delta by every outcome of all events, the larger of both directions; None if there are too many."""
    ctx.prec, before = 240, ctx.prec
    try:
        found = _delta_ball(events, epsilon, nats)
        return None if found is None else float(found.mid())
    finally:
        ctx.prec = before


def listed_height(events: Sequence[Noise], threshold: Fraction, alpha: Fraction) -> float | None:
    """1 - delta(t) - e^t alpha by every outcome: at any t a lower bound of f at alpha, at the best one f."""
    ctx.prec, before = 240, ctx.prec
    try:
        found = _delta_ball(events, threshold, 90.0)
        return None if found is None else float((1 - found - _ball(threshold).exp() * _ball(alpha)).mid())
    finally:
        ctx.prec = before


def _delta_ball(events: Sequence[Noise], epsilon: Fraction, nats: float) -> arb | None:
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
        p, q = chances(event, nats)
        for _ in range(event.times):
            if len(with_) * len(p) > 60_000:
                return None
            with_ = [a * b for a in with_ for b in p]
            without = [a * b for a in without for b in q]
    if variance and end:
        return None
    lift = _ball(epsilon).exp()
    totals = []
    for one, other in ((with_, without), (without, with_)):
        total = arb(0)
        for p, q in zip(one, other, strict=True):
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
                s = _ball(variance).sqrt()
                a = s / 2 - (_ball(epsilon) - (p / q).log()) / s
                total += (p * (-a / arb(2).sqrt()).erfc() - lift * q * ((s - a) / arb(2).sqrt()).erfc()) / 2
        totals.append(total)
    return totals[0].max(totals[1])


def _cells(noise: Noise, h: float, exchanged: bool) -> tuple[Floats, Floats, float]:
    """Losses of one count, their probabilities (of densities in cells of width h), and the infinite mass."""
    if isinstance(noise, ContinuousGaussian):
        from scipy.special import ndtr

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
        reach = int(noise.reach(60.0)) + 2
        x = np.arange(-reach, reach + noise.sensitivity + 1)
        p, q = noise.pmf(x - noise.sensitivity), noise.pmf(x)
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
    """A random composition over all laws, nasty parameters among them."""
    draw = random.Random(seed)
    events: list[Noise] = []
    for _ in range(draw.choice([1, 1, 2, 2, 3, 4])):
        times = draw.choice([1, 1, 1, 2, 3, 10, 40])
        s = draw.choice([1, 1, 1, 2, 3])
        match draw.randrange(8):
            case 0:
                events.append(
                    DiscreteGaussian(Fraction(draw.randint(3, 400), 10), sensitivity=s, times=times)
                )
            case 1:
                events.append(DiscreteLaplace(Fraction(draw.randint(3, 100), 10), sensitivity=s, times=times))
            case 2 | 3:
                exponent = Fraction(draw.choice([10, 11, 15, 17, 19, 20]), 10)
                events.append(
                    PowerNoise(exponent, Fraction(draw.randint(2, 90), 10), sensitivity=s, times=times)
                )
            case 4:
                events.append(TableNoise(_table(draw, draw.randint(1, 6)), sensitivity=s, times=times))
            case 5:
                k = draw.randint(2, 4)
                present = _table(draw, k) if draw.random() < 0.7 else {**_table(draw, k)}
                events.append(TableNoise(_table(draw, k), present, times=times))
            case 6:
                events.append(
                    ContinuousGaussian(Fraction(draw.randint(5, 400), 10), sensitivity=s, times=times)
                )
            case _:
                events.append(
                    ContinuousLaplace(Fraction(draw.randint(5, 100), 10), sensitivity=s, times=times)
                )
    return events


def _table(draw: random.Random, outcomes: int) -> dict[int, Fraction]:
    weights = [draw.choice([1, 1, 2, 3, 7, 40]) for _ in range(outcomes)]
    start = draw.randint(-3, 1)
    return {start + k: Fraction(w, sum(weights)) for k, w in enumerate(weights)}
