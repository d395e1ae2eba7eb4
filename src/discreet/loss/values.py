"""The numbers of a question, the shape of its answer, and floats that know their error.

Each number is exact: a float is the decimal that Python prints for it, a string such as "73/10000" itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.loss.lattice import Floats
from discreet.numbers import Interval, fraction, is_column, read_delta, share

Number = int | float | Fraction | Decimal | str


class NumberColumn(Protocol):
    """A column of pandas or polars, as far as it is looked at."""

    def __iter__(self) -> Iterator[Number]: ...
    def to_list(self) -> list[Number]:
        """Return its numbers."""
        ...


Many = Sequence[Number] | NDArray[np.generic] | NumberColumn
Numbers = Number | Many


class Value(float):
    """A float that knows its error: `accuracy`, relative (for an epsilon absolute), or nan if unknown.

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
    """An array of floats that knows their errors: `accuracy`, an array of the same shape."""

    accuracy: NDArray[np.float64] | None

    @classmethod
    def of(cls, values: NDArray[np.float64], accuracy: NDArray[np.float64] | None) -> Values:
        """Make an array of values with their accuracy."""
        made: Values = values.view(cls)  # type: ignore[assignment]
        made.accuracy = accuracy
        return made

    def __array_finalize__(self, made_from: object) -> None:
        """Arrays computed from values have no known accuracy."""
        self.accuracy = None

    def __repr__(self) -> str:
        """Print it as a plain array."""
        return repr(self.view(np.ndarray))


Boxes = NDArray[np.object_]
"""An array of intervals."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The exact numbers of a question, and the shape of its answer."""

    values: list[Fraction]
    shape: tuple[int, ...] | None

    def answer(self, results: Floats) -> float | Floats:
        """A float for one number, an array of the same shape for several."""
        return float(results[0]) if self.shape is None else results.reshape(self.shape)

    def known(self, results: Floats, accuracy: Floats | None) -> Value | Values:
        """The answer with its accuracy."""
        if self.shape is None:
            return Value(float(results[0]), math.nan if accuracy is None else float(accuracy[0]))
        known = None if accuracy is None else accuracy.reshape(self.shape)
        return Values.of(results.reshape(self.shape), known)

    def boxes(self, results: Sequence[Interval]) -> Interval | Boxes:
        """The answer in intervals."""
        if self.shape is None:
            return results[0]
        boxes = np.empty(len(results), dtype=object)
        boxes[:] = results
        return boxes.reshape(self.shape)


Side = Literal["up", "down"]


def digits_that_hold(value: float, doubt: float, side: Side) -> float:
    """Round a number whose error is at most `doubt` to the digits that hold.

    `side` is the safe side: "up" for an upper bound, which then covers the error.

    >>> digits_that_hold(1.06203691259e-09, 7e-17, "up")
    1.062037e-09
    """
    if not 0 < doubt < math.inf or value == 0:
        return value
    exact, room, unit = Fraction(value), Fraction(doubt), Fraction(10) ** math.ceil(math.log10(2 * doubt))
    count = math.ceil((exact + room) / unit) if side == "up" else math.floor((exact - room) / unit)
    return float(count * unit)


FULL = 5e-11
"""Deltas and values of f with a relative error below this keep all their digits."""


def held(
    values: NDArray[np.float64], accuracy: NDArray[np.float64], side: Side, most: float = math.inf
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Deltas or values of f, rounded to the digits that hold where not all do, and their accuracy.

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
    """Values whose error exceeds `full`, rounded to the digits that hold on the safe side; others unchanged.

    Returned with their errors after rounding.
    """
    values, doubts = values.copy(), doubts.copy()
    for i in np.flatnonzero(doubts > full):
        rounder = digits_that_hold(float(values[i]), float(doubts[i]), side)
        rounder = min(max(rounder, 0.0), most) if values[i] >= 0 else rounder
        doubts[i] += abs(rounder - values[i])
        values[i] = rounder
    return values, doubts


def read(numbers: Numbers, *, name: str, rule: Callable[[Number], Fraction] | None = None) -> Arguments:
    """Return the numbers as exact fractions, each checked by a rule.

    >>> read("1e-10", name="delta").values, read([0.5, "1/3"], name="alpha").values
    ([Fraction(1, 10000000000)], [Fraction(1, 2), Fraction(1, 3)])
    >>> import pandas
    >>> read(pandas.Series(["1e-5", "1e-10"]), name="delta").shape
    (2,)
    """
    asked: Sequence[Number]
    if isinstance(numbers, np.ndarray):
        asked, shape = list(numbers.ravel()), numbers.shape or None
    elif is_column(numbers):
        asked = numbers.to_pylist() if hasattr(numbers, "to_pylist") else list(numbers)  # type: ignore[arg-type]
        shape = (len(asked),)
    else:
        asked, shape = [numbers], None  # type: ignore[list-item]
    rule = rule or partial(fraction, name=name, floats=True)
    return Arguments([rule(x) for x in asked], shape)


def read_probabilities(numbers: Numbers, *, name: str, closed: bool = False, zero: bool = False) -> Arguments:
    """Return the numbers as exact fractions between 0 and 1, or refuse them; with `zero` a delta may be 0.

    >>> read_probabilities(2, name="delta")
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 2; it must lie strictly between 0 and 1
    """
    if name == "delta":
        return read(numbers, name=name, rule=partial(read_delta, floats=True, zero=zero))
    return read(numbers, name=name, rule=partial(share, name=name, floats=True, closed=closed))
