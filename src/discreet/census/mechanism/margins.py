"""Margins of error of released tables, and variances as they are printed.

The margin of error is the smallest integer that the noise does not exceed 95 % of the time, found exactly;
beside it stands the Bureau's, floor(1.96 sigma). For discrete Gaussian noise sigma^2 is the parameter, a
fraction; the noise's own variance is at most that, and the same in 14 digits from 2 on. For discrete Laplace
noise it is 2 r / (1 - r)^2 with r = exp(-1/scale), certified by balls. Variances are printed as decimals of
up to 15 digits, which a float holds; the exact parameters are in `summary.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from discreet.census.mechanism.ladder import Ladder
from discreet.errors import PrecisionError
from discreet.noise import Noise, balls

Z95 = Fraction(196, 100)
"""The Bureau's margins of error are this many standard deviations."""

CONFIDENCE = Fraction(95, 100)
"""The chance with which a margin of error covers the noise."""

DIGITS = 15


def variance_of(noise: Noise | None) -> Fraction | float:
    """Return the variance that a table states: the parameter of Gaussian noise, E X^2 of geometric noise.

    >>> from discreet.noise import DiscreteGaussian, DiscreteLaplace
    >>> variance_of(DiscreteGaussian(variance="31.25")), variance_of(None)
    (Fraction(125, 4), Fraction(0, 1))
    >>> round(float(variance_of(DiscreteLaplace(scale=10))), 2)
    199.83
    """
    if noise is None:
        return Fraction(0)
    return noise.true_variance() if noise.stated_variance is None else noise.stated_variance


def margin_of_error(noise: Noise | None, cells: int = 1) -> int:
    """Return the 95 % margin of error of a sum of cells: 95 % of the time the noise is within it.

    >>> from discreet.noise import DiscreteGaussian
    >>> wide, narrow = DiscreteGaussian(variance=625), DiscreteGaussian(variance="5000/159")
    >>> [margin_of_error(noise) for noise in (wide, narrow, None)]
    [49, 11, 0]
    """
    return 0 if noise is None else noise.margin(CONFIDENCE, draws=cells)


def bureau_margin(variance: Fraction | float) -> int:
    """Return floor(1.96 sigma), the margin that the Bureau publishes, exact for a fraction.

    It is not a 95 % margin: at the parameters of 2020 the noise is within it 92.1 to 98.0 % of the time.

    >>> bureau_margin(Fraction(625)), bureau_margin(Fraction(5000, 159)), bureau_margin(Fraction(0))
    (49, 10, 0)
    """
    square = Z95**2 * Fraction(variance)
    return isqrt(square.numerator // square.denominator)


@dataclass(frozen=True, slots=True)
class Margin:
    """A variance as it is printed, a margin of error, and the Bureau's."""

    variance: str
    margin: int
    bureau: int


NO_NOISE = Margin("0", 0, 0)


@dataclass(frozen=True, slots=True)
class Label:
    """The margins of one group: of its total, and of its numbers by their kind."""

    total: Margin
    kinds: tuple[Margin, ...]


@lru_cache(maxsize=1024)
def label(noise: Noise | None, ladder: Ladder, table: int) -> Label:
    """Return the margins of a group of a table whose cells have this noise.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> from discreet.noise import DiscreteGaussian
    >>> ladder = safetab_p().ladder(1)
    >>> label(DiscreteGaussian(variance="1250/53"), ladder, 1).kinds[-1]
    Margin(variance='23.5849056603774', margin=10, bureau=9)
    >>> label(DiscreteGaussian(variance=625), ladder, 0).total
    Margin(variance='625', margin=49, bureau=49)
    """
    rung = ladder.rungs[table]
    kinds = tuple(stated(noise, rung.kinds.get(kind, 1)) for kind in ladder.kinds[1:])
    return Label(stated(noise, rung.cells), kinds)


def stated(noise: Noise | None, cells: int) -> Margin:
    """Return variance and margin of a sum of cells that each have this noise.

    >>> from discreet.noise import DiscreteLaplace
    >>> stated(DiscreteLaplace(scale=10), 2)
    Margin(variance='399.666833267219', margin=41, bureau=39)
    """
    if noise is None:
        return NO_NOISE
    exact = margin_of_error(noise, cells)
    if noise.stated_variance is not None:
        variance = cells * noise.stated_variance
        return Margin(written(variance), exact, bureau_margin(variance))
    bits = 128
    while bits <= balls.MAX_BITS:
        with balls.working_bits(bits):
            variance_ball = cells * noise.variance_ball()
            whole = balls.floor(balls.ball(Z95) * variance_ball.sqrt())
            box = balls.as_interval(variance_ball)
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


class Labels:
    """Margins of error as columns look them up.

    Totals by number: label times tables, plus table. Rows by that number times kinds, plus kind.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self.total = [label.total for label in labels]
        self.rows = [margin for label in labels for margin in label.kinds]
