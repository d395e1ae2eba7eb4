"""Ball arithmetic in one place: working precision, exact ends, certified floors.

A ball is a midpoint and a radius that provably contain a number (`flint.arb`). A ball is right at
any precision; more bits only make it narrower. flint keeps the precision in one global, so it is set
under a lock: a race could not make an answer wrong, but it could cost a retry.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import PrecisionError
from discreet.numbers import Interval

if TYPE_CHECKING:
    from flint import arb

_LOCK = threading.RLock()

MAX_BITS = 1 << 16
"""Where a comparison that more bits do not settle gives up, instead of running for ever."""

SPAN = 1 << 22
"""Numbers beyond 2^SPAN, or below 2^-SPAN, are not written out as fractions."""


@contextmanager
def working_bits(bits: int) -> Iterator[None]:
    """Compute with `bits` bits inside the block.

    >>> with working_bits(200):
    ...     third = ball(Fraction(1, 3))
    >>> int(third.rel_accuracy_bits()) > 190
    True
    """
    from flint import ctx

    with _LOCK:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(value: Fraction | int) -> arb:
    """Return a ball around a fraction, at the working precision."""
    from flint import arb, fmpq

    if isinstance(value, int):
        return arb(value)
    return arb(fmpq(value.numerator, value.denominator))


def padded(value: arb, radius: arb) -> arb:
    """Return `value` widened by the upper end of `radius`, a bound on what was left out.

    >>> from flint import arb
    >>> padded(arb(1), arb(2)).contains(arb(3)), padded(arb(1), arb(2)).contains(arb(4))
    (True, False)
    """
    from flint import arb

    return value + arb(0, radius.abs_upper())


def dyadic(point: arb) -> Fraction:
    """Return the exact value of a ball of radius zero."""
    mantissa, exponent = point.man_exp()
    if abs(int(exponent)) > SPAN:
        raise PrecisionError(f"a number near 2^{exponent} is too long as a fraction; ask for its logarithm")
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def interval(value: arb) -> Interval:
    """Return the ends of a ball as fractions.

    >>> from flint import arb
    >>> Fraction(1, 3) in interval(arb(1) / 3)
    True
    """
    middle, radius = dyadic(value.mid()), dyadic(value.rad())
    return Interval(middle - radius, middle + radius)


def floor(value: arb) -> int | None:
    """Return n if the whole ball lies strictly between the integers n and n + 1, else None.

    >>> from flint import arb
    >>> floor(arb(7) / 2), floor(arb(3)), floor(arb(3, 1))
    (3, None, None)
    """
    whole = value.floor().unique_fmpz()
    return int(whole) if whole is not None and value > whole else None


def current_bits() -> int:
    """Return the working precision."""
    from flint import ctx

    return int(ctx.prec)
