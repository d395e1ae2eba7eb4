"""How uncertain each released number is: the variance of its noise and the 95 % margin of error.

The margin is floor(1.96 sigma), found exactly. For discrete Gaussian noise sigma^2 is the parameter, a
fraction; the noise's own variance is at most that, and the same in 14 digits from 2 on. For discrete Laplace
noise it is 2 r / (1 - r)^2 with r = exp(-1/scale), certified by balls. Variances are printed as decimals of
up to 15 digits, which a float holds; the exact parameters are in `summary.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from discreet.errors import PrecisionError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise, balls
from discreet.release.safetab.mechanism import Z95, margin_of_error
from discreet.release.safetab.parts import CELLS

DIGITS = 15


@dataclass(frozen=True, slots=True)
class Margin:
    """A variance as it is printed, and a margin of error."""

    variance: str
    margin: int


NO_NOISE = Margin("0", 0)


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
    (Margin(variance='23.5849056603774', margin=9), Margin(variance='625', margin=49))
    """
    cells = CELLS[table]
    return Label(margin(noise, cells), margin(noise, max(1, cells // 2)), margin(noise, 1))


def margin(noise: Noise | None, cells: int) -> Margin:
    """Return variance and margin of a sum of cells that each have this noise.

    >>> margin(LaplaceNoise(10), 2)
    Margin(variance='399.666833267219', margin=39)
    """
    if noise is None:
        return NO_NOISE
    if isinstance(noise, GaussianNoise):
        variance = cells * noise.variance
        return Margin(written(variance), margin_of_error(variance))
    if not isinstance(noise, LaplaceNoise):
        raise TypeError(f"the variance of {noise} is not known exactly")
    bits = 128
    while bits <= balls.MAX_BITS:
        with balls.working_bits(bits):
            ratio = (-balls.ball(1 / noise.scale)).exp()
            exact = 2 * cells * ratio / (1 - ratio) ** 2
            whole = balls.floor(balls.ball(Z95) * exact.sqrt())
            box = balls.interval(exact)
        if whole is not None and written(box.lower) == written(box.upper):
            return Margin(written(box.lower), whole)
        bits *= 2
    raise PrecisionError(f"the margin of {noise} could not be told from an integer")


def written(value: Fraction) -> str:
    """Write a variance as a decimal: exact if 15 digits suffice, else rounded to 15.

    >>> written(Fraction(1250, 53)), written(Fraction(625)), written(Fraction(1, 10**9))
    ('23.5849056603774', '625', '0.000000001')
    """
    rounded = Context(prec=DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = format(rounded, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
