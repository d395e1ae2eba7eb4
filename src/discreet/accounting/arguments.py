"""Reading the arguments of the accountant: one number or many; float, Fraction or exact string.

A float stands for the binary number that it is; a string such as "1e-10" or "73/10000" is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.numbers import fraction

Number = int | float | Fraction | Decimal | str
Numbers = Number | Sequence[Number] | NDArray[np.floating[Any]]


class Value(float):
    """A float that knows how far it may be off: `accuracy`, relative (of an epsilon: absolute).

    >>> x = Value(0.25, 1e-12)
    >>> x + 1, x.accuracy
    (1.25, 1e-12)
    """

    accuracy: float

    def __new__(cls, value: float, accuracy: float) -> Value:
        """Make a float with an accuracy."""
        made = super().__new__(cls, value)
        made.accuracy = accuracy
        return made

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.accuracy


class Values(NDArray[np.float64] if TYPE_CHECKING else np.ndarray):  # type: ignore[misc]
    """An array of floats that knows how far each may be off: `accuracy`, an array of the same shape."""

    accuracy: NDArray[np.float64] | None

    def __array_finalize__(self, made_from: Any) -> None:
        """What is computed from values has no known accuracy."""
        self.accuracy = None

    def __repr__(self) -> str:
        """As the array that it is."""
        return repr(self.view(np.ndarray))


@dataclass(frozen=True, slots=True)
class Arguments:
    """The numbers asked for, exactly, and the shape in which the answers go back."""

    values: list[Fraction]
    shape: tuple[int, ...] | None

    def answer(
        self, results: NDArray[np.float64] | Sequence[float], accuracy: NDArray[np.float64] | None = None
    ) -> Any:
        """One float for one number, an array of the same shape for many; with their accuracy, if given."""
        if self.shape is None:
            return float(results[0]) if accuracy is None else Value(float(results[0]), float(accuracy[0]))
        found = np.asarray(results, dtype=np.float64).reshape(self.shape)
        if accuracy is None:
            return found
        known: Any = found.view(Values)
        known.accuracy = np.asarray(accuracy).reshape(self.shape)
        return known


Side = Literal["up", "down", "nearest"]


def digits_that_hold(value: float, doubt: float, side: Side) -> float:
    """Round a number that may be off by `doubt` to the digits that hold.

    `side` says where to err: "up" for a bound from above, which covers the doubt.

    >>> digits_that_hold(1.06203691259e-09, 7e-17, "up")
    1.062037e-09
    """
    if not 0 < doubt < math.inf or value == 0:
        return value
    exact, room, unit = Fraction(value), Fraction(doubt), Fraction(10) ** math.ceil(math.log10(2 * doubt))
    if side == "nearest":
        return float(round(exact / unit) * unit)
    return float(
        (math.ceil((exact + room) / unit) if side == "up" else math.floor((exact - room) / unit)) * unit
    )


def count_of_digits(value: float, doubt: float, most: int) -> int:
    """How many significant digits of a number that may be off by `doubt` hold: one at least, `most` at most.

    >>> count_of_digits(24.4566, 1.4e-4, 6), count_of_digits(24.4565144573, 2e-10, 6)
    (5, 6)
    """
    if value == 0 or not 0 < doubt < math.inf:
        return most
    unit = math.ceil(math.log10(2 * doubt))
    return min(max(math.floor(math.log10(abs(value))) - unit + 1, 1), most)


FULL = 5e-11
"""Deltas and values of f that are known to this relative accuracy keep all their digits."""


def held(
    values: NDArray[np.float64], accuracy: NDArray[np.float64], side: Side, most: float = math.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Deltas or values of f, rounded to the digits that hold where those are not all, and their accuracy.

    >>> held(np.array([0.123456789123, 0.5]), np.array([1e-6, 1e-12]), "up")[0]
    array([0.123457, 0.5     ])
    """
    values, doubts = rounded(values, values * accuracy, FULL * values, side, most)
    with np.errstate(all="ignore"):
        return values, np.where(doubts == 0, 0.0, doubts / values)


def rounded(
    values: NDArray[np.float64],
    doubts: NDArray[np.float64],
    full: NDArray[np.float64],
    side: Side,
    most: float = math.inf,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values whose doubt is above `full`, rounded to the digits that hold, on the safe side; others as is.

    With how far they may be off then.
    """
    values, doubts = values.copy(), doubts.copy()
    for i in np.flatnonzero(doubts > full):
        rounder = digits_that_hold(float(values[i]), float(doubts[i]), side)
        rounder = min(max(rounder, 0.0), most) if values[i] >= 0 else rounder
        doubts[i] += abs(rounder - values[i])
        values[i] = rounder
    return values, doubts


def log_fraction(value: Fraction) -> float:
    """log of a positive fraction, however small, and accurate near 1.

    >>> log_fraction(Fraction(1)), round(log_fraction(Fraction(1, 10**400)), 6)
    (0.0, -921.034037)
    """
    if value > Fraction(1, 2):
        return math.log1p(float(value - 1))
    return (
        math.log(value.numerator) - math.log(value.denominator)
        if float(value) == 0
        else math.log(float(value))
    )


def read(numbers: Numbers, *, name: str) -> Arguments:
    """Return the numbers as exact fractions.

    >>> read("1e-10", name="delta").values, read([0.5, "1/3"], name="alpha").values
    ([Fraction(1, 10000000000)], [Fraction(1, 2), Fraction(1, 3)])
    """
    if isinstance(numbers, np.ndarray):
        if numbers.ndim == 0:
            return Arguments([_one(numbers.item(), name)], None)
        return Arguments([_one(x, name) for x in numbers.ravel().tolist()], numbers.shape)
    if isinstance(numbers, Sequence) and not isinstance(numbers, str):
        return Arguments([_one(x, name) for x in numbers], (len(numbers),))
    return Arguments([_one(numbers, name)], None)


def _one(number: object, name: str) -> Fraction:
    if isinstance(number, float | np.floating):
        value = float(number)
        if not math.isfinite(value):
            raise InputError(f"{name} is {value}; a finite number is needed")
        return Fraction(value)
    if isinstance(number, np.integer):
        return Fraction(int(number))
    return fraction(number, name=name)  # type: ignore[arg-type]


def read_probabilities(numbers: Numbers, *, name: str, closed: bool = False) -> Arguments:
    """The same for numbers that must lie between 0 and 1.

    >>> read_probabilities(2, name="delta")
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 2; it must lie strictly between 0 and 1
    """
    arguments = read(numbers, name=name)
    for value in arguments.values:
        if closed and not 0 <= value <= 1:
            raise InputError(f"{name} is {_short(value)}; it must lie between 0 and 1")
        if not closed and not 0 < value < 1:
            raise InputError(f"{name} is {_short(value)}; it must lie strictly between 0 and 1")
    return arguments


def _short(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else repr(float(value))
