"""Reading the arguments of the accountant: one number or many; float, Fraction or exact string.

A float stands for the binary number that it is; a string such as "1e-10" or "73/10000" is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.numbers import fraction

Number = int | float | Fraction | Decimal | str
Numbers = Number | Sequence[Number] | NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The numbers asked for, exactly, and the shape in which the answers go back."""

    values: list[Fraction]
    shape: tuple[int, ...] | None

    def answer(self, results: NDArray[np.float64] | Sequence[float]) -> Any:
        """One float for one number, an array of the same shape for many."""
        if self.shape is None:
            return float(results[0])
        return np.asarray(results, dtype=np.float64).reshape(self.shape)


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
