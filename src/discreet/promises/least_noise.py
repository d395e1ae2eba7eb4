"""From a promise to noise: the least noise on some counts, or the largest rho, that keeps it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from discreet.accounting.calibration import LEAST, rounded_up
from discreet.accounting.privacy_loss import compose
from discreet.calls import understandable
from discreet.comparisons.zcdp import ZCDP, TightZCDP
from discreet.errors import InputError
from discreet.loss.curves import NO_PURE
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.numbers import Exact, brief, fraction, read_delta, shown, whole
from discreet.promises.calibrating import calibrate

LAWS = ("gaussian", "laplace")
"""Laws of noise by name."""

SMALLEST_EPSILON = Fraction(1, 10**100)
"""Of a promise by rho, which is of the order of its square, a float; the largest is one over it."""

DIGITS = 6
"""Significant digits of a rho, rounded down."""


@understandable
def noise_for(
    *,
    epsilon: Exact,
    delta: Exact,
    counts: int = 1,
    sensitivity: int = 1,
    law: Literal["gaussian", "laplace"] = "gaussian",
) -> Noise:
    """Return the least noise with which counts of one person, published together, keep (epsilon, delta).

    One person who is added or removed is part of `counts` counts, and changes each by `sensitivity`. With
    `law="laplace"` delta may be 0.

    Guarantee. The noise is (epsilon, delta)-differentially private for such neighbours: `calibrate` proves it
    in ball arithmetic. It is rounded up to six digits; 2 in 100,000 less would not keep the promise.

    >>> noise_for(epsilon=1, delta="1e-6", counts=10)
    DiscreteGaussian(variance=Fraction(446219, 2500), sensitivity=1, times=10)
    >>> noise_for(epsilon=1, delta=0, counts=10, law="laplace")
    DiscreteLaplace(scale=Fraction(10, 1), sensitivity=1, times=10)
    """
    if law not in LAWS:
        raise InputError(f"law is {shown(law)}; it must be 'gaussian' or 'laplace'")
    target = _target(epsilon)
    small = read_delta(delta, floats=True, zero=True)
    many, change = whole(counts, name="counts"), whole(sensitivity, name="sensitivity")
    pure = many * change / target  # the scale of Laplace noise that is enough at delta 0
    if law == "laplace":
        if not small:
            return DiscreteLaplace(scale=pure, sensitivity=change, times=many)
        start: Noise = DiscreteLaplace(scale=_short(pure), sensitivity=change, times=many)
    else:
        if not small:
            raise InputError(NO_PURE)
        rho = float(rho_for(epsilon=target, delta=small))
        start = DiscreteGaussian(
            variance=_short(many * change**2 / (2 * rho)), sensitivity=change, times=many
        )
    least = start.resized(_least(start))
    if start.size < least.size:
        start = least
    if compose([least]).delta(epsilon=target) <= small:
        raise InputError(
            f"epsilon is {shown(target)}, which {least} keeps at delta {brief(small)}: that is next to no "
            "noise; choose a smaller epsilon or delta, or Laplace noise at delta 0"
        )
    (event,) = calibrate([start], epsilon=target, delta=small).events
    return event


def _least(noise: Noise) -> Fraction:
    """The parameter of the least noise that a search tries, rounded up."""
    square = LEAST * noise.sensitivity**2
    return square if noise.variance_power == 1 else rounded_up(math.sqrt(square / 2))


@understandable
def rho_for(*, epsilon: Exact, delta: Exact, tight: bool = True) -> Fraction:
    """Return the largest rho, rounded down to six digits, with which every rho-zCDP release keeps a promise.

    By the tight conversion of zCDP; with `tight=False` by that of Bun and Steinke (2016), which the Census
    Bureau reports. For a release that is known, `calibrate` finds less noise for the same promise.

    >>> float(rho_for(epsilon=1, delta="1e-10")), float(rho_for(epsilon=1, delta="1e-10", tight=False))
    (0.0132425, 0.0106278)
    """
    target, small = _target(epsilon), read_delta(delta, floats=True, zero=True)
    if not SMALLEST_EPSILON <= target <= 1 / SMALLEST_EPSILON:
        raise InputError(f"epsilon is {shown(target)}; it must lie between 1e-100 and 1e100")
    if not small:
        raise InputError(
            "at delta 0 zCDP promises nothing, whatever rho is; take a delta above 0, such as 1e-10, or "
            "Laplace noise"
        )
    curve, wide = TightZCDP if tight else ZCDP, float(target)

    def is_kept(rho: Fraction) -> bool:
        return curve.from_rho(rho).epsilon(delta=float(small)) <= wide * (1 - 1e-12)

    # eps = rho + 2 sqrt(rho log(1/delta)) is the larger bound: its root keeps the promise, or nearly
    deep = -math.log(small)
    low = Fraction((wide / (math.sqrt(deep + wide) + math.sqrt(deep))) ** 2)
    while not is_kept(low):
        low *= Fraction(1, 2)
    high = 2 * low
    while is_kept(high):
        low, high = high, 2 * high
    while high > low * (1 + Fraction(1, 10**8)):
        middle = Fraction(math.sqrt(low) * math.sqrt(high))
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    unit = Fraction(10) ** (math.floor(math.log10(low)) + 1 - DIGITS)
    return math.floor(low / unit) * unit


def _target(epsilon: Exact) -> Fraction:
    target = fraction(epsilon, name="epsilon", floats=True)
    if target <= 0:
        raise InputError(f"epsilon is {shown(target)}; it must be above zero")
    return target


def _short(size: float | Fraction) -> Fraction:
    """A number of one digit near this one: multiples of it by short factors are short."""
    unit = Fraction(10) ** math.floor(math.log10(size))
    return max(round(Fraction(size) / unit), 1) * unit
