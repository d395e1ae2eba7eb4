"""How uncertain each released number is: the variance of its noise and the 95 % margin of error.

The margin is the smallest integer that the noise does not exceed 95 % of the time, found exactly; beside it
stands the Bureau's, floor(1.96 sigma). For discrete Gaussian noise sigma^2 is the parameter, a fraction; the
noise's own variance is at most that, and the same in 14 digits from 2 on. For discrete Laplace noise it is
2 r / (1 - r)^2 with r = exp(-1/scale), certified by balls. Variances are printed as decimals of
up to 15 digits, which a float holds; the exact parameters are in `summary.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreet.errors import PrecisionError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise, balls
from discreet.release.safetab.mechanism import Z95, bureau_margin
from discreet.release.safetab.mechanism import margin as exact_margin
from discreet.release.safetab.parts import CELLS

DIGITS = 15


@dataclass(frozen=True, slots=True)
class Margin:
    """A variance as it is printed, a margin of error, and the Bureau's."""

    variance: str
    margin: int
    bureau: int


NO_NOISE = Margin("0", 0, 0)


@dataclass(frozen=True, slots=True)
class Label:
    """The margins of one group: of its total, of each sex, and of each cell."""

    total: Margin
    sex: Margin
    cell: Margin


@lru_cache(maxsize=1024)
def label(noise: Noise | None, table: int) -> Label:
    """Return the margins of a group of a table whose cells have this noise.

    >>> label(GaussianNoise("1250/53"), 1).cell, label(GaussianNoise(625), 0).total
    (Margin(variance='23.5849056603774', margin=10, bureau=9), Margin(variance='625', margin=49, bureau=49))
    """
    cells = CELLS[table]
    return Label(margin(noise, cells), margin(noise, max(1, cells // 2)), margin(noise, 1))


def margin(noise: Noise | None, cells: int) -> Margin:
    """Return variance and margin of a sum of cells that each have this noise.

    >>> margin(LaplaceNoise(10), 2)
    Margin(variance='399.666833267219', margin=41, bureau=39)
    """
    if noise is None:
        return NO_NOISE
    exact = exact_margin(noise, cells)
    if isinstance(noise, GaussianNoise):
        variance = cells * noise.variance
        return Margin(written(variance), exact, bureau_margin(variance))
    if not isinstance(noise, LaplaceNoise):
        raise TypeError(f"the variance of {noise} is not known exactly")
    bits = 128
    while bits <= balls.MAX_BITS:
        with balls.working_bits(bits):
            ratio = (-balls.ball(1 / noise.scale)).exp()
            variance_ball = 2 * cells * ratio / (1 - ratio) ** 2
            whole = balls.floor(balls.ball(Z95) * variance_ball.sqrt())
            box = balls.interval(variance_ball)
        if whole is not None and written(box.lower) == written(box.upper):
            return Margin(written(box.lower), exact, whole)
        bits *= 2
    raise PrecisionError(f"the margin of {noise} could not be separated from an integer")


def written(value: Fraction) -> str:
    """Write a variance as a decimal: exact if 15 digits suffice, else rounded to 15.

    >>> written(Fraction(1250, 53)), written(Fraction(625)), written(Fraction(1, 10**9))
    ('23.5849056603774', '625', '0.000000001')
    """
    rounded = Context(prec=DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = format(rounded, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
