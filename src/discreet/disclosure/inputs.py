"""What is stated of an adversary and of noisy counts, read: priors, variances, whole numbers, one or many.

A float stands for itself, a text or a fraction for the exact number; arrays broadcast as NumPy's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import numbers
from discreet.disclosure.odds import Floats, Prior
from discreet.errors import InputError
from discreet.loss.values import Number, read
from discreet.numbers import fraction
from discreet.numbers import prior as prior_of

Numbers = Number | NDArray[np.generic] | Sequence["Numbers"] | None  # None where a default is meant
FloatOrArray = Any  # a float or bool where one number was asked for, else an array of them

LARGEST = 2**52
"""Noisy values and known counts up to here are exact as floats, halves included."""

VARIANCES = (1e-4, 1e10)
"""Variances of the noise that are accepted."""


def read_prior(prior: Numbers, *, name: str = "prior") -> Prior:
    """Return the prior, one or many; its complement is taken before rounding.

    >>> read_prior("0.999999999999").absent
    array(1.e-12)
    >>> read_prior([0.5, 1])
    Traceback (most recent call last):
    discreet.errors.InputError: prior is 1; it must lie strictly between 0 and 1
    """
    exactly = partial(prior_of, name=name)
    read = _read(prior, name=name, exactly=exactly)
    if read.dtype == object:
        return Prior(read.astype(np.float64), np.asarray(1 - read, dtype=np.float64))
    for extreme in (read.min(initial=0.5), read.max(initial=0.5)):
        exactly(float(extreme))
    exact = read.astype(np.float64)
    return Prior(exact, 1.0 - exact)


def read_variance(
    variance: Numbers = None, rho: Numbers = None, *, of: str = "", most: float = VARIANCES[1]
) -> Floats:
    """Return the variance of the noise: as such, or from zCDP's rho with a record added or removed.

    >>> read_variance(rho="1/10"), read_variance(variance=[5, "5/2"])
    (array(5.), array([5. , 2.5]))
    >>> read_variance(variance="1/10000"), read_variance(rho=5000), read_variance(variance=1e-4)
    (array(0.0001), array(0.0001), array(0.0001))
    >>> read_variance(rho=-1)
    Traceback (most recent call last):
    discreet.errors.InputError: rho is -1; it must be above zero
    """
    if (variance is None) == (rho is None):
        stated = "neither is given" if rho is None else "both are given"
        raise InputError(f"{stated}: state the noise{of} by its variance, or by its rho, variance 1/(2 rho)")
    name = f"rho{of}" if variance is None else f"variance{of}"
    read = _read(rho if variance is None else variance, name=name, exactly=partial(fraction, name=name))
    if (read <= 0).any():
        raise InputError(f"{name} is {numbers.shown(read[read <= 0].flat[0])}; it must be above zero")
    variances = np.asarray(read if variance is not None else 1 / (2 * read))
    least = Fraction(str(VARIANCES[0])) if variances.dtype == object else VARIANCES[0]  # no float is 1/10000
    outside = np.asarray((variances < least) | (variances > most), dtype=bool)
    if outside.any():  # compared before they are floats, which end at 1e308
        wrong = variances[outside].flat[0]
        stated = numbers.brief(float(wrong)) if 1e-300 < wrong < 1e300 else numbers.shown(wrong)
        raise InputError(
            f"the noise{of} has variance {stated}; between {VARIANCES[0]:g} and {most:g} is allowed"
        )
    return variances.astype(np.float64)


def one_variance(variance: Number | None, rho: Number | None, *, of: str = "") -> Fraction:
    """Return the variance of one count's noise, exactly; up to 1e12.

    >>> one_variance(None, "0.1"), one_variance("5/2", None)
    (Fraction(5, 1), Fraction(5, 2))
    """
    exact = [None if given is None else one_number(given, name=f"noise{of}") for given in (variance, rho)]
    read_variance(*exact, of=of, most=1e12)
    return exact[0] if exact[1] is None else 1 / (2 * exact[1])  # type: ignore[return-value]


def one_number(given: Number, *, name: str) -> Fraction:
    """Return the one number, exactly; a list is refused rather than cut."""
    values = read(given, name=name).values
    if len(values) != 1:
        raise InputError(f"{name} is a list of {len(values)} numbers; one number is needed")
    return values[0]


def read_whole(values: Numbers, *, name: str = "noisy") -> Floats:
    """Return whole numbers as floats that hold them exactly.

    >>> read_whole([3, -10**9])
    array([ 3.e+00, -1.e+09])
    >>> read_whole(1.5)
    Traceback (most recent call last):
    discreet.errors.InputError: noisy is 1.5; it must be a whole number: the noise is added in whole numbers
    """
    read = _read(values, name=name, exactly=partial(fraction, name=name))
    whole = np.vectorize(math.floor, otypes=[object])(read) if read.dtype == object else np.floor(read)
    if (bad := np.asarray(read != whole)).any():
        raise InputError(
            f"{name} is {numbers.shown(read[bad].flat[0])}; it must be a whole number: "
            "the noise is added in whole numbers"
        )
    if (bad := np.asarray(np.abs(read) > LARGEST)).any():
        raise InputError(f"{name} is {numbers.shown(read[bad].flat[0])}; at most 2^52 in size is allowed")
    return read.astype(np.float64)


def read_known(known: Numbers) -> Floats:
    """Return the count that the adversary knows, without the target: zero or more.

    >>> read_known(-1)
    Traceback (most recent call last):
    discreet.errors.InputError: known is -1; a count without the target is zero or more
    """
    counts = read_whole(known, name="known")
    if (counts < 0).any():
        raise InputError(
            f"known is {counts[counts < 0].flat[0]:g}; a count without the target is zero or more"
        )
    return counts


def read_tolerance(tolerance: Number) -> float:
    """Return a bound on what is left out of a sum."""
    bound = float(_read(tolerance, name="tolerance", exactly=partial(fraction, name="tolerance")))
    if not 1e-300 <= bound < 1:
        raise InputError(f"tolerance is {bound:g}; it must be at least 1e-300 and below 1")
    return bound


def check_fit(**arrays: Floats) -> None:
    """Raise unless the arrays can be broadcast together.

    >>> check_fit(noisy=np.zeros(3), prior=np.zeros(2))
    Traceback (most recent call last):
    discreet.errors.InputError: noisy (3,), prior (2,): these shapes do not fit together
    """
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"{shapes}: these shapes do not fit together") from None


def as_asked(values: Floats) -> FloatOrArray:
    """Return a plain float where one number was asked for, else the array."""
    return float(values) if values.ndim == 0 else values


def _read(
    values: Numbers, *, name: str, exactly: Callable[[Number], Fraction]
) -> NDArray[np.float64] | NDArray[np.object_]:
    """An array of finite floats, or of exact fractions, each read by `exactly`."""
    if isinstance(values, Number) and not isinstance(values, float) and not isinstance(values, bool):
        array = np.array(values, dtype=object)
    else:
        try:
            array = np.asarray(values)
        except ValueError:
            raise InputError(f"{name} is a list of lists of different lengths") from None
    if array.dtype.kind in "iuf":
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{name} has a value that is not a finite number")
        return array.astype(np.float64)
    if array.dtype.kind not in "OU":
        raise InputError(f"{name} is of type {array.dtype}; a number or a list of numbers is needed")
    exact = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        value: Number = array.item(index)  # not NumPy's text, which an error would show
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{name} has a value that is not a finite number")
        exact[index] = exactly(Fraction(value) if isinstance(value, float) else value)
    return exact
