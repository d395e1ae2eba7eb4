"""The search for a factor, and its rounding to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.budget.events import DiscreteGaussian, Event
from discreet.budget.levels import Level
from discreet.budget.release import Release
from discreet.errors import InputError, PrecisionError

DIGITS = 6
"""Digits of a factor: rounding changes a variance by a millionth at most."""

SLACK = Fraction(1, 10**4)
"""By how much of itself a variance may be shortened, to keep the losses on a short lattice."""

LEAST, MOST = Fraction(1, 25), 10**12
"""Variances that a search looks at, with sensitivity 1: at 1/25 a count is noisy once in 100,000
times, and beyond the upper end the lattice of possible losses is too fine to be accounted for in time."""


def below(value: float) -> Fraction:
    """Return a short fraction just below a float, for a target that must not be exceeded.

    >>> below(26.340588852722323) < Fraction("26.340588852722323")
    True
    """
    return Fraction(math.floor(value * 10**12), 10**12)


def rounded_up(factor: float | Fraction) -> Fraction:
    """Return the factor with so many significant decimals, rounded up.

    >>> rounded_up(0.87720251)
    Fraction(877203, 1000000)
    """
    return math.ceil(Fraction(factor) / last_place(factor)) * last_place(factor)


def lattice_unit(events: Iterable[Event]) -> Fraction:
    """Return the largest step of which all losses of these events are multiples; 1 if there are none.

    >>> lattice_unit([DiscreteGaussian(variance=4), DiscreteGaussian(variance="6", sensitivity=5)])
    Fraction(1, 12)
    """
    steps = {
        event.sensitivity / event.variance if isinstance(event, DiscreteGaussian) else 2 / event.scale
        for event in events
    }
    bottom = math.lcm(*(step.denominator for step in steps))
    return Fraction(math.gcd(*(int(step * bottom) for step in steps)) or 1, bottom)


def short_above(value: Fraction, unit: Fraction, slack: Fraction = SLACK) -> tuple[Fraction, Fraction]:
    """Return the least multiple of unit / 10^k above the value, within `slack` of it, and that unit.

    Steps that are multiples of one short unit keep the losses on a lattice that can be accounted for; an
    arbitrary fraction would destroy it.

    >>> short_above(Fraction(1, 7), Fraction(1, 12))
    (Fraction(17143, 120000), Fraction(1, 120000))
    """
    while unit > slack * value:
        unit /= 10
    return math.ceil(value / unit) * unit, unit


def last_place(factor: float | Fraction) -> Fraction:
    """Return what one unit in the last of the significant decimals is worth.

    >>> last_place(0.877203), last_place(12345.6)
    (Fraction(1, 1000000), Fraction(1, 10))
    """
    return Fraction(10) ** (math.floor(math.log10(factor)) + 1 - DIGITS)


def short_scales(release: Release) -> Release:
    """Return the release with Laplace scales rounded up: their factor is a root, which is never short.

    >>> from discreet.budget import Query
    >>> state = Level(name="State", queries=[Query(name="total", scale=4)])
    >>> small = Release(name="small", neighbours="bounded", levels=[state]).scaled(2)
    >>> before, after = (one.levels[0].queries[0].scale for one in (small, short_scales(small)))
    >>> before.denominator > 10**18, str(after)
    (True, '282843/50000')
    """
    if not any(level.has_laplace for level in release.levels):
        return release
    levels = [
        Level(
            name=level.name,
            rho=level.rho,
            queries=[
                query if query.scale is None else replace(query, scale=rounded_up(query.scale))
                for query in level.queries
            ],
        )
        for level in release.levels
    ]
    return replace(release, levels=tuple(levels))


def bounds(events: Iterable[Event]) -> tuple[float, float]:
    """Return the factors between which it makes sense to look, for these events.

    >>> from discreet.budget import DiscreteGaussian
    >>> bounds([DiscreteGaussian(variance=5), DiscreteGaussian(variance=100)])
    (0.008, 10000000000.0)
    """
    sizes = [
        (event.variance if isinstance(event, DiscreteGaussian) else 2 * event.scale**2) / event.sensitivity**2
        for event in events
    ]
    return float(min(Fraction(1), LEAST / min(sizes))), float(max(Fraction(10), MOST / max(sizes)))


def epsilon_or_zero(loss: PrivacyLoss, delta: Fraction) -> float:
    """Return the exact epsilon at delta, or zero if the promise is kept even with epsilon zero.

    >>> from discreet.accounting.privacy_loss import compose
    >>> epsilon_or_zero(compose([DiscreteGaussian(variance=10**6)]), Fraction(1, 2))
    0.0
    """
    if loss.log_delta(epsilon=0) <= math.log(delta):
        return 0.0
    return float(loss.epsilon(delta=delta))


def solve_factor(
    epsilon: Callable[[Fraction], float],
    target: float,
    *,
    least: float = 0.0,
    most: float = math.inf,
    tolerance: float = 1e-9,
) -> Fraction:
    """Return the factor at which the falling epsilon meets the target, rounded up, as a short decimal.

    An epsilon of zero says that the promise is kept with room to spare. A target that is met only outside of
    `least` and `most` is refused.
    """
    low, high, room = 0.0, math.inf, math.inf
    x = 1.0
    last: tuple[float, float] | None = None
    for step in range(100):
        value = epsilon(_dyadic(x))
        if value > target:
            low = max(low, x)
        else:
            high = min(high, x)
        _check_end(x, value <= target, least, most, target)
        if low and high / low < 1 + tolerance:
            return rounded_up(high)
        better = math.nan
        if value > 0:
            gap = math.log(value / target)
            slope = -0.6  # epsilon falls between the root and the first power of the factor
            if last is not None and math.log(x) != last[0]:
                found = (gap - last[1]) / (math.log(x) - last[0])
                slope = found if found < -0.1 else slope
            last = (math.log(x), gap)
            better = x * math.exp(min(max(-gap / slope, -5.0), 5.0))
        if step % 3 == 2:  # on plateaus the secant creeps: if three steps have not halved the bracket, bisect
            width = math.log(high / low) if low else math.inf
            better = math.nan if math.isfinite(width) and width > 0.5 * room else better
            room = width
        if not low < better < high:
            inside = low and math.isfinite(high)
            better = math.sqrt(low * high) if inside else 8 * x if math.isinf(high) else x / 8
        done = abs(better / x - 1) < tolerance and not (tolerance > 1e-9 and value > target)
        x = min(max(better, least), most)
        if done:
            return rounded_up(x * (1 + tolerance))
    raise PrecisionError(f"no factor was found that keeps epsilon {target:.6g}")


def _dyadic(x: float) -> Fraction:
    """Return x with some forty binary digits, so that fractions stay short."""
    unit = Fraction(2) ** (math.frexp(x)[1] - 41)
    return round(Fraction(x) / unit) * unit


def _check_end(x: float, is_kept: bool, least: float, most: float, target: float) -> None:
    if is_kept and x <= least:
        raise InputError(
            f"epsilon {target:.6g} at this delta is kept even with {least:.3g} times the variances, which is "
            "next to no noise; choose a smaller epsilon or delta"
        )
    if not is_kept and x >= most:
        raise InputError(
            f"epsilon {target:.6g} at this delta is not kept even with {most:.3g} times the variances; a "
            "larger epsilon or delta is needed"
        )
