"""Ball arithmetic in one place: working precision, exact ends, certified floors.

A ball is a midpoint and a radius that provably contain a number (`flint.arb`). A ball is right at any
precision; more bits only make it narrower. FLINT keeps the precision in one global, so every computation
with balls, of the sampler and of the accountant, runs inside `working_bits`, which holds a lock: another
thread would otherwise change the precision half-way, and a value rounded to a float at the end would have
fewer digits than it should.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import PrecisionError
from discreet.numbers import Interval, up_to_digits

if TYPE_CHECKING:
    from flint import acb as acb
    from flint import arb as arb
    from flint import arb_poly as arb_poly

MAX_BITS = 1 << 16
"""Where a comparison that more bits do not settle gives up, instead of running for ever."""

SPAN = 1 << 22
"""Numbers beyond 2^SPAN, or below 2^-SPAN, are not written out as fractions."""


def __getattr__(name: str) -> object:
    """FLINT's classes by name, loaded when one of them is first used: noise alone needs none."""
    if name not in ("acb", "arb", "arb_poly"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import flint

    globals()[name] = kind = getattr(flint, name)
    return kind


class _Lock:
    """A reentrant lock that is free in a forked child, unless the thread that forked held it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth, self._owner = 0, 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth, self._owner = self._depth + 1, threading.get_ident()

    def __exit__(self, *problem: object) -> None:
        self._depth -= 1
        self._lock.release()

    def _after_fork(self) -> None:
        # the thread that held the lock does not exist in the child, unless it is the one that forked
        depth = self._depth if self._depth and self._owner == threading.get_ident() else 0
        self._lock, self._depth = threading.RLock(), depth
        for _ in range(depth):
            self._lock.acquire()


_LOCK = _Lock()


@contextmanager
def working_bits(bits: float) -> Iterator[None]:
    """Compute with `bits` bits inside the block, this thread alone.

    >>> with working_bits(200):
    ...     third = ball(Fraction(1, 3))
    >>> int(third.rel_accuracy_bits()) > 190
    True
    """
    from flint import ctx

    with _LOCK:
        before = ctx.prec
        ctx.prec = int(bits)
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
    if not point.is_finite():
        raise PrecisionError("the enclosure is not finite; ask for fewer digits")
    mantissa, exponent = point.man_exp()
    if abs(int(exponent)) > SPAN:
        raise PrecisionError(f"a number near 2^{exponent} is too long as a fraction; ask for its logarithm")
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def as_interval(value: arb) -> Interval:
    """Return the ends of a ball as fractions.

    >>> from flint import arb
    >>> Fraction(1, 3) in as_interval(arb(1) / 3)
    True
    """
    return Interval(lower(value), upper(value))


def lower(value: arb) -> Fraction:
    """Return the lower end, exactly, whatever the working precision."""
    return dyadic(value.mid()) - dyadic(value.rad())


def upper(value: arb) -> Fraction:
    """Return the upper end, exactly."""
    return dyadic(value.mid()) + dyadic(value.rad())


def decimal_above(compute: Callable[[], arb], digits: int) -> Fraction:
    """Return a number above zero rounded up to so many digits, at whatever precision that takes.

    >>> from flint import arb
    >>> decimal_above(lambda: arb(1) / 3, 2)
    Fraction(17, 50)
    """
    bits = 64 + 4 * digits
    while bits <= MAX_BITS:
        with working_bits(bits):
            value = compute()
        if value > 0 and value.rel_accuracy_bits() > 4 * digits + 8:
            return up_to_digits(upper(value), digits)
        bits *= 2
    raise PrecisionError(f"{MAX_BITS} bits of work do not tell a number from zero")


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
