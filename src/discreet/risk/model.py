"""The model of one noisy count, and how its numbers are read.

An adversary knows everyone in an area but one person, the target, who has certain characteristics or has
not. The count of these characteristics is `known` if the target is not among them ("absent") and
`known` + 1 if they are ("present"). Before the release the adversary gives "present" the chance `prior`.
Released is the count plus discrete Gaussian noise.

A count is never negative, so `known` is zero or more; with that both possible counts lie within the
boundary and neither is ever excluded by it. The noisy value may be negative, and is then evidence for
"absent" like any other low value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import arguments
from discreet.accounting.arguments import Number as Number
from discreet.errors import InputError
from discreet.numbers import fraction
from discreet.numbers import prior as prior_of

Floats = NDArray[np.float64]
Numbers = Any  # Number, or a list, nested list or NumPy array of them
Truth = Literal["present", "absent"]

LARGEST = 2**52
"""Noisy values and known counts up to here are exact as floats, halves included."""

VARIANCES = (1e-4, 1e10)
"""Variances of the noise that are accepted."""

TOLERANCE = 1e-15
"""What the terms left out of a sum may add up to, unless another bound is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The chance of "present" and that of "absent", each to full precision."""

    present: Floats
    absent: Floats

    @property
    def log_odds(self) -> Floats:
        """log of present over absent."""
        return np.log(self.present) - np.log(self.absent)

    def posterior(self, evidence: Floats) -> Floats:
        """Return the chance of "present" after evidence: a log ratio of likelihoods."""
        rare = np.exp(-np.abs(evidence))
        for_present = self.present / (self.present + self.absent * rare)
        for_absent = self.present * rare / (self.present * rare + self.absent)
        return np.where(evidence >= 0, for_present, for_absent)

    def ratio(self, evidence: Floats) -> Floats:
        """Return the posterior over the prior."""
        rare = np.exp(-np.abs(evidence))
        for_present = 1.0 / (self.present + self.absent * rare)
        for_absent = rare / (self.present * rare + self.absent)
        return np.where(evidence >= 0, for_present, for_absent)


def read_prior(prior: Numbers) -> Prior:
    """Return the prior, one or many; its complement is taken before rounding.

    >>> read_prior("0.999999999999").absent
    array(1.e-12)
    >>> read_prior([0.5, 1])
    Traceback (most recent call last):
    discreet.errors.InputError: prior is 1; it must lie strictly between 0 and 1
    """
    read = _read(prior, name="prior", one=prior_of)
    if read.dtype == object:
        return Prior(_floats(read), _floats(1 - read))
    for extreme in (read.min(initial=0.5), read.max(initial=0.5)):
        prior_of(float(extreme))
    return Prior(read, 1.0 - read)


def read_variance(
    variance: Numbers = None, rho: Numbers = None, *, of: str = "", most: float = VARIANCES[1]
) -> Floats:
    """Return the variance of the noise, given as such or by a rho that means 1/(2 rho).

    >>> read_variance(rho="1/10"), read_variance(variance=[5, "5/2"])
    (array(5.), array([5. , 2.5]))
    >>> read_variance(rho=-1)
    Traceback (most recent call last):
    discreet.errors.InputError: rho is -1; it must be above zero
    """
    if (variance is None) == (rho is None):
        found = "neither is given" if rho is None else "both are given"
        raise InputError(f"{found}: state the noise{of} by its variance, or by rho, which means 1/(2 rho)")
    name = f"rho{of}" if variance is None else f"variance{of}"

    read = _read(rho if variance is None else variance, name=name, one=partial(fraction, name=name))
    if (read <= 0).any():
        raise InputError(f"{name} is {_shown(read[read <= 0].flat[0])}; it must be above zero")
    variances = _floats(read if variance is not None else 1 / (2 * read))
    least = VARIANCES[0]
    outside = (variances < least) | (variances > most)
    if outside.any():
        wrong = variances[outside].flat[0]
        raise InputError(f"the noise{of} has variance {wrong:g}; between {least:g} and {most:g} is allowed")
    return variances


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
    found = arguments.read(given, name=name).values
    if len(found) != 1:
        raise InputError(f"{name} is a list of {len(found)} numbers; one number is needed")
    return found[0]


def read_whole(values: Numbers, *, name: str = "noisy") -> Floats:
    """Return whole numbers as floats that hold them exactly.

    >>> read_whole([3, -10**9])
    array([ 3.e+00, -1.e+09])
    >>> read_whole(1.5)
    Traceback (most recent call last):
    discreet.errors.InputError: noisy is 1.5; it must be a whole number: the noise is added in whole numbers
    """

    read = _read(values, name=name, one=partial(fraction, name=name))
    whole = np.vectorize(math.floor, otypes=[object])(read) if read.dtype == object else np.floor(read)
    if (bad := np.asarray(read != whole)).any():
        raise InputError(
            f"{name} is {_shown(read[bad].flat[0])}; it must be a whole number: "
            "the noise is added in whole numbers"
        )
    if (bad := np.asarray(np.abs(read) > LARGEST)).any():
        raise InputError(f"{name} is {_shown(read[bad].flat[0])}; at most 2^52 in size is allowed")
    return _floats(read)


def read_known(known: Numbers) -> Floats:
    """Return the count that the adversary knows, without the target: zero or more.

    >>> read_known(-1)
    Traceback (most recent call last):
    discreet.errors.InputError: known is -1; a count without the target is zero or more
    """
    found = read_whole(known, name="known")
    if (found < 0).any():
        raise InputError(f"known is {found[found < 0].flat[0]:g}; a count without the target is zero or more")
    return found


def read_tolerance(tolerance: Number) -> float:
    """Return a bound on what is left out of a sum."""
    found = float(_read(tolerance, name="tolerance", one=partial(fraction, name="tolerance")))
    if not 1e-300 <= found < 1:
        raise InputError(f"tolerance is {found:g}; it must be at least 1e-300 and below 1")
    return found


def check_fit(**arrays: Floats) -> None:
    """Raise unless the arrays can be broadcast together.

    >>> check_fit(noisy=np.zeros(3), prior=np.zeros(2))
    Traceback (most recent call last):
    discreet.errors.InputError: noisy (3,), prior (2,): these shapes do not fit together
    """
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"{found}: these shapes do not fit together") from None


def log_sum(terms: Floats, axis: int | None = None) -> Floats:
    """Return log of the sum of exponentials, -inf where all are.

    >>> float(log_sum(np.log([0.5, 0.5]))), float(log_sum(np.array([-math.inf, -math.inf])))
    (0.0, -inf)
    """
    top = np.max(terms, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.sum(np.exp(terms - safe), axis=axis, keepdims=True)) + safe
    return np.asarray(np.squeeze(total, axis=axis) if axis is not None else total.reshape(()))


def logistic(log_odds: Floats) -> Floats:
    """Return the chance that log odds stand for.

    >>> logistic(np.array([-800.0, 0.0, 800.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    with np.errstate(under="ignore"):
        rare = np.exp(-np.abs(log_odds))
        return np.asarray(np.where(log_odds >= 0, 1.0, rare) / (1.0 + rare))


def answer(values: Floats) -> Any:
    """Return a plain float where one number was asked for, else the array."""
    return float(values) if values.ndim == 0 else values


def grouped(*columns: Floats) -> Iterator[tuple[tuple[float, ...], Any]]:
    """Yield each distinct row of 1-d columns of one length, with the places that have it.

    >>> [(values, rows.tolist()) for values, rows in grouped(np.array([5.0, 2.0, 5.0]))]
    [((2.0,), [1]), ((5.0,), [0, 2])]
    """
    if all((column == column[:1]).all() for column in columns):
        if columns[0].size:
            yield tuple(float(column[0]) for column in columns), slice(None)
        return
    order = np.lexsort(columns[::-1])
    changes = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    for rows in np.split(order, np.flatnonzero(changes) + 1):
        yield tuple(float(column[rows[0]]) for column in columns), rows


def _read(values: Numbers, *, name: str, one: Callable[[Any], Fraction]) -> NDArray[Any]:
    """An array of finite floats, or of exact fractions, each read by `one`."""
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
    for place in np.ndindex(array.shape):
        value: Any = array[place]
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{name} has a value that is not a finite number")
        exact[place] = one(Fraction(value) if isinstance(value, float) else value)
    return exact


def _floats(values: NDArray[Any]) -> Floats:
    return np.asarray(values).astype(np.float64)


def _shown(value: Any) -> str:
    if isinstance(value, Fraction):
        return str(value) if value.denominator < 10**6 else f"{float(value):g}"
    return f"{float(value):.12g}"
