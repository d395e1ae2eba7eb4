"""The curves of an account: epsilon, delta and the trade-off, each in floats or in certified intervals."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Literal, Required, TypedDict, Unpack, overload

import numpy as np

from discreet.calls import Hinting, understandable
from discreet.errors import InputError
from discreet.loss.lattice import Floats
from discreet.loss.values import (
    Arguments,
    Boxes,
    Many,
    Number,
    Numbers,
    Value,
    Values,
    read,
    read_probabilities,
)
from discreet.memory import Forgetful
from discreet.numbers import Interval, float_up

NO_PURE = (
    "at delta 0 no epsilon holds: the loss of discrete Gaussian noise has no bound; take a delta above 0, "
    "such as 1e-10, or Laplace noise alone"
)
"""Why Gaussian noise is not purely differentially private."""

Quantity = Literal["epsilon", "delta", "beta"]
"""What is asked for, at a delta, at an epsilon or at an alpha."""


class InFloats(TypedDict, total=False):
    """Options of a question answered by a float."""

    certified: Literal[False]
    digits: None
    accuracy: float | None


class Proved(TypedDict, total=False):
    """Options of a question answered by an interval."""

    certified: Required[Literal[True]]
    digits: int | None
    accuracy: float | None


class Curves(Hinting, Forgetful, ABC):
    """The (epsilon, delta) curve and the trade-off curve, of one loss or as the worst of many.

    Each takes one number or several, and answers in floats or, with `certified=True` or `digits`, in
    intervals from ball arithmetic. An `accuracy`, relative (for an epsilon absolute), asks for fewer digits
    and is answered faster; what cannot be computed that accurately is refused.
    """

    @abstractmethod
    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats | None]:
        """The values, and the error of each if that is known."""

    @abstractmethod
    def _intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values."""

    def _answer(
        self,
        quantity: Quantity,
        arguments: Arguments,
        certified: bool,
        digits: int | None,
        accuracy: float | None,
    ) -> Value | Values | Interval | Boxes:
        if certified or digits is not None:
            return arguments.boxes(self._boxes(quantity, arguments.values, digits))
        if quantity != "epsilon" or all(arguments.values):
            return arguments.known(*self._floats(quantity, arguments.values, accuracy))
        largest = self._largest_loss()
        values = np.full(len(arguments.values), math.inf if largest is None else float_up(largest))
        errors = np.zeros(values.size)
        above = np.array([delta > 0 for delta in arguments.values])
        if above.any():
            found, off = self._floats(quantity, [delta for delta in arguments.values if delta], accuracy)
            values[above], errors[above] = found, math.nan if off is None else off
        return arguments.known(values, errors)

    def _boxes(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals; at delta 0 epsilon is the largest loss."""
        if quantity != "epsilon" or all(at):
            return self._intervals(quantity, at, digits)
        largest, above = self._largest_loss(), [delta for delta in at if delta]
        if largest is None:
            raise InputError(NO_PURE)
        boxes = iter(self._intervals(quantity, above, digits) if above else ())
        return [next(boxes) if delta else self._pure(largest) for delta in at]

    def _pure(self, largest: Fraction) -> Interval:
        """An interval that contains the largest loss, of which this fraction is an upper bound."""
        return Interval(largest, largest)

    @abstractmethod
    def _largest_loss(self) -> Fraction | None:
        """The largest loss that can occur, which is epsilon at delta 0; None if there is no bound."""

    @overload
    def delta(self, epsilon: Number, **how: Unpack[InFloats]) -> Value: ...
    @overload
    def delta(self, epsilon: Number, **how: Unpack[Proved]) -> Interval: ...
    @overload
    def delta(self, epsilon: Many, **how: Unpack[InFloats]) -> Values: ...
    @overload
    def delta(self, epsilon: Many, **how: Unpack[Proved]) -> Boxes: ...

    @understandable
    def delta(
        self,
        epsilon: Numbers,
        *,
        certified: bool = False,
        digits: int | None = None,
        accuracy: float | None = None,
    ) -> Value | Values | Interval | Boxes:
        """The smallest delta for which (epsilon, delta)-differential privacy holds.

        Epsilon may be negative: delta(-e) = 1 - e^-e (1 - delta(e)).

        >>> from discreet import compose
        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=2)]).delta(epsilon="1/2")   # pure (1/2, 0)-DP
        0.0
        """
        return self._answer("delta", read(epsilon, name="epsilon"), certified, digits, accuracy)

    @overload
    def epsilon(self, delta: Number, **how: Unpack[InFloats]) -> Value: ...
    @overload
    def epsilon(self, delta: Number, **how: Unpack[Proved]) -> Interval: ...
    @overload
    def epsilon(self, delta: Many, **how: Unpack[InFloats]) -> Values: ...
    @overload
    def epsilon(self, delta: Many, **how: Unpack[Proved]) -> Boxes: ...

    @understandable
    def epsilon(
        self,
        delta: Numbers,
        *,
        certified: bool = False,
        digits: int | None = None,
        accuracy: float | None = None,
    ) -> Value | Values | Interval | Boxes:
        """The epsilon at which the curve passes through delta.

        Negative where delta exceeds the total variation: the promise then holds with epsilon 0 and room to
        spare. At delta 0 it is the largest loss that can occur: pure differential privacy, which Laplace
        noise gives. Gaussian noise gives none, and epsilon is infinite.

        >>> from discreet import compose
        >>> from discreet.budget import DiscreteGaussian
        >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
        >>> print(loss.epsilon(delta="1e-11", certified=True))   # doctest: +ELLIPSIS
        [10.12483..., 10.12483...]
        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=4, times=6)]).epsilon(delta=0), loss.epsilon(delta=0)
        (1.5, inf)
        """
        asked = read_probabilities(delta, name="delta", zero=True)
        return self._answer("epsilon", asked, certified, digits, accuracy)

    @overload
    def tradeoff(self, alpha: Number, **how: Unpack[InFloats]) -> Value: ...
    @overload
    def tradeoff(self, alpha: Number, **how: Unpack[Proved]) -> Interval: ...
    @overload
    def tradeoff(self, alpha: Many, **how: Unpack[InFloats]) -> Values: ...
    @overload
    def tradeoff(self, alpha: Many, **how: Unpack[Proved]) -> Boxes: ...

    @understandable
    def tradeoff(
        self,
        alpha: Numbers,
        *,
        certified: bool = False,
        digits: int | None = None,
        accuracy: float | None = None,
    ) -> Value | Values | Interval | Boxes:
        """The exact trade-off curve f: the least type II error of any test of type I error alpha.

        For one loss it is piecewise linear between its knots, where the best test is deterministic; for many
        losses it is the envelope of their curves.

        >>> from discreet import compose
        >>> from discreet.budget import DiscreteGaussian
        >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
        >>> round(loss.tradeoff(alpha=0.05), 6)
        0.591342
        """
        asked = read_probabilities(alpha, name="alpha", closed=True)
        return self._answer("beta", asked, certified, digits, accuracy)

    @property
    def total_variation(self) -> float:
        """delta(0): the largest advantage of any test."""
        return self.delta(epsilon=0)


def certified_values(
    curve: Curves, quantity: Quantity, at: list[Fraction], digits: int | None
) -> list[Interval]:
    """Return intervals that provably contain epsilons, deltas or values of f at exact numbers.

    >>> from discreet import DiscreteLaplace, compose
    >>> print(*certified_values(compose([DiscreteLaplace(scale=1)]), "delta", [Fraction(1)], None))
    [0, 0]
    """
    return curve._intervals(quantity, at, digits)
