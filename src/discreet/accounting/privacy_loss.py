"""`compose(events)`: the exact privacy of a list of events, whatever mixture of noise it holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np

from discreet.accounting.arguments import Arguments, Number, Numbers, read, read_probabilities
from discreet.accounting.direct import Direct
from discreet.accounting.engine import Engine, choose, smooth_engine
from discreet.accounting.loss import Floats, Loss
from discreet.accounting.quadrature import Quadrature, Tail
from discreet.accounting.saddle import Kind
from discreet.accounting.solve import roots, saddlepoint_guess
from discreet.accounting.tradeoff import Knots, TradeOff
from discreet.budget.events import Event
from discreet.errors import InputError, PrecisionError
from discreet.numbers import Interval

ACCURACY = 1e-12
"""Relative accuracy that a value must have before it is returned as a float."""

_HARDLY_NOISE = Fraction(1, 100)  # below it, intermediate results may leave the range of floats


class PrivacyLoss:
    """The privacy loss of a composition: its (epsilon, delta) curve and its trade-off curve.

    Guarantee. `events` bound what one person (or K people) can change; for such neighbours the composition
    is (epsilon, delta(epsilon))-differentially private and no smaller delta is true. Values are floats with
    a relative error of at most 1e-12 (delta) and 1e-11 (epsilon); `certified=True` returns an `Interval`
    from ball arithmetic that provably contains the value. Proofs: docs/explanation/certified.md.

    >>> from discreet.budget import DiscreteGaussian
    >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
    >>> round(loss.epsilon(delta="1e-11"), 5)
    10.12483
    >>> loss.delta(epsilon=[0, 1, 10])
    array([5.19766948e-01, 2.85267583e-01, 1.58365011e-11])
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.loss = Loss(events)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, equal ones grouped."""
        return self.loss.events

    @cached_property
    def engine(self) -> Engine:
        """The evaluation chosen for this loss."""
        return choose(self.loss)

    @contextmanager
    def _within_floats(self) -> Iterator[None]:
        """Refuse what leaves the range of floats: noise so small that it is zero with near certainty."""
        small = [term.sigma2 for term in (*self.loss.dual, *self.loss.primal) if hasattr(term, "sigma2")]
        if min(small, default=_HARDLY_NOISE) >= _HARDLY_NOISE:
            yield
            return
        try:
            with np.errstate(all="ignore"):
                yield
        except (ZeroDivisionError, OverflowError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise PrecisionError(
                f"a variance is {min(small)}: noise that is zero but for a chance of about "
                f"e^-{float(1 / (2 * min(small))):.0f}, beyond what floating point can follow here"
            ) from None

    # -- the privacy profile ---------------------------------------------------------------------

    @overload
    def delta(self, *, epsilon: Number, certified: Literal[False] = ..., digits: None = ...) -> float: ...
    @overload
    def delta(self, *, epsilon: Number, certified: Literal[True], digits: int | None = ...) -> Interval: ...
    @overload
    def delta(self, *, epsilon: Numbers, certified: bool = ..., digits: int | None = ...) -> Any: ...

    def delta(self, *, epsilon: Numbers, certified: bool = False, digits: int | None = None) -> Any:
        """The smallest delta for which (epsilon, delta)-differential privacy holds.

        Negative epsilon is meant as it stands: delta(-e) = 1 - e^-e (1 - delta(e)).

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=2)]).delta(epsilon="1/2")   # pure (1/2, 0)-DP
        0.0
        """
        arguments = read(epsilon, name="epsilon")
        if certified or digits is not None:
            from discreet.accounting.certified import certified_delta

            return _intervals(arguments, lambda e: certified_delta(self, e, digits=digits))
        with np.errstate(under="ignore"), self._within_floats():
            return arguments.answer(np.exp(self.log_deltas(arguments.values)))

    def log_delta(self, *, epsilon: Numbers) -> Any:
        """Natural logarithm of delta, for tails that a float cannot hold.

        >>> from discreet.budget import DiscreteGaussian
        >>> round(compose([DiscreteGaussian(variance=5)]).log_delta(epsilon=100), 6)
        -25004.075826
        """
        arguments = read(epsilon, name="epsilon")
        with self._within_floats():
            return arguments.answer(self.log_deltas(arguments.values))

    def log_deltas(self, epsilons: list[Fraction]) -> Floats:
        """log delta at exact epsilons, the sign of each handled by the symmetry of the loss."""
        result = self.log_tails(Kind.DELTA, [abs(e) for e in epsilons])
        for i, e in enumerate(epsilons):
            if e < 0:
                back = math.exp(e)
                result[i] = math.log(-math.expm1(e) + back * math.exp(result[i]))
        return np.minimum(result, 0.0)

    def log_tails(self, kind: Kind, thresholds: list[Fraction]) -> Floats:
        """Logarithms of one kind of tail, each good to `ACCURACY` or refused."""
        if not self.loss.terms:
            return np.array([-math.inf if t >= 0 else 0.0 for t in thresholds])
        tail = self.engine.tail(kind, thresholds)
        # a probability: rounding must not lift it above 1
        return np.minimum(self._checked(kind, thresholds, tail), 0.0)

    def _checked(self, kind: Kind, thresholds: list[Fraction], tail: Tail) -> Floats:
        # what a cut line leaves out is bounded by its moduli, without the phases that make it smaller
        is_cut = isinstance(self.engine, Quadrature) and self.engine.remainder > 0
        doubtful = np.flatnonzero(~(tail.error <= (2 * ACCURACY if is_cut else ACCURACY)))
        log = tail.log
        for i in doubtful:
            # an answer below the smallest float has lost digits in its logarithm alone
            if log[i] < -745 and tail.error[i] < 1e-9:
                continue
            from discreet.accounting.certified import refined_log

            log[i] = refined_log(self, kind, thresholds[i], accuracy=ACCURACY, found=float(tail.error[i]))
        return log

    @overload
    def epsilon(self, *, delta: Number, certified: Literal[False] = ..., digits: None = ...) -> float: ...
    @overload
    def epsilon(self, *, delta: Number, certified: Literal[True], digits: int | None = ...) -> Interval: ...
    @overload
    def epsilon(self, *, delta: Numbers, certified: bool = ..., digits: int | None = ...) -> Any: ...

    def epsilon(self, *, delta: Numbers, certified: bool = False, digits: int | None = None) -> Any:
        """The epsilon at which the curve passes through delta.

        Negative where delta is above the total variation: the promise then holds with epsilon 0 and room
        to spare.

        >>> from discreet.budget import DiscreteGaussian
        >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
        >>> print(loss.epsilon(delta="1e-11", certified=True))   # doctest: +ELLIPSIS
        [10.12483..., 10.12483...]
        """
        arguments = read_probabilities(delta, name="delta")
        if certified or digits is not None:
            from discreet.accounting.certified import certified_epsilon

            return _intervals(arguments, lambda d: certified_epsilon(self, d, digits=digits))
        with self._within_floats():
            return arguments.answer(self.epsilons(arguments.values))

    def epsilons(self, deltas: list[Fraction]) -> Floats:
        """The epsilons at exact deltas."""
        if not self.loss.terms:
            return np.array([math.log1p(-float(d)) for d in deltas])
        target = np.array([log_fraction(d) for d in deltas])
        guess, slope, high = saddlepoint_guess(self.loss, Kind.DELTA, target)
        at_zero = self.log_deltas([Fraction(0)])[0] if (guess <= 5 / np.abs(slope)).any() else 0.0
        below = target > at_zero
        result = np.zeros(len(deltas))
        inside = [i for i in range(len(deltas)) if not below[i]]
        if inside:

            def falling(which: list[int], x: Floats) -> Floats:
                return self.log_deltas([Fraction(v) for v in x])

            start = np.maximum(guess[inside], 0.1 / np.abs(slope[inside]))
            top = high[inside]
            if self.loss.largest is not None:
                top = np.minimum(top, float(self.loss.largest))
            start = np.minimum(start, 0.999 * top)
            result[inside] = roots(
                falling, start, slope[inside], target[inside], low=np.zeros(len(inside)), high=top
            )
        for i in np.flatnonzero(below):
            result[i] = self._negative_epsilon(deltas[i])
        return result

    def _negative_epsilon(self, delta: Fraction) -> float:
        """Solve 1 - e^-e (1 - delta(e)) = delta for e > 0, in logarithms of both sides' distance to 1."""
        aim = log_fraction(1 - delta)

        def falling(which: list[int], x: Floats) -> Floats:
            inner = self.log_deltas([Fraction(v) for v in x])
            return np.log(-np.expm1(inner)) - x

        # 1 - delta(e) rises with e but slower than e^e, so the function does fall
        first = np.array([max(-aim - 1e-3, 1e-3)])
        return -float(roots(falling, first, np.array([-1.0]), np.array([aim]), low=np.zeros(1))[0])

    # -- the trade-off curve -----------------------------------------------------------------------

    @cached_property
    def _tradeoff(self) -> TradeOff:
        if not self.loss.terms:
            return TradeOff(self.loss, self.log_tails, rough=self.log_tails)
        engine, smooth = self.engine, smooth_engine(self.engine)
        is_long = isinstance(engine, Quadrature) and engine.is_long
        return TradeOff(
            self.loss,
            self.log_tails,
            rough=lambda kind, points: engine.tail(kind, points).log,
            smooth=None if smooth is None else lambda kind, points: smooth.tail(kind, points).log,
            smooth_only=is_long,
            snap=engine.values_near if isinstance(engine, Direct) else None,
            refine=self._refined_tradeoff,
        )

    @overload
    def tradeoff(self, *, alpha: Number, certified: Literal[False] = ..., digits: None = ...) -> float: ...
    @overload
    def tradeoff(self, *, alpha: Number, certified: Literal[True], digits: int | None = ...) -> Interval: ...
    @overload
    def tradeoff(self, *, alpha: Numbers, certified: bool = ..., digits: int | None = ...) -> Any: ...

    def tradeoff(self, *, alpha: Numbers, certified: bool = False, digits: int | None = None) -> Any:
        """The exact trade-off curve f: the least type II error of any test of type I error alpha.

        Piecewise linear between its knots, where the best test is deterministic.

        >>> from discreet.budget import DiscreteGaussian
        >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
        >>> round(loss.tradeoff(alpha=0.05), 6)
        0.591342
        """
        arguments = read_probabilities(alpha, name="alpha", closed=True)
        if certified or digits is not None:
            from discreet.accounting.certified import certified_tradeoff

            return _intervals(arguments, lambda a: certified_tradeoff(self, a, digits=digits))
        with self._within_floats():
            return arguments.answer(self._tradeoff.values(arguments.values))

    def _refined_tradeoff(self, alpha: Fraction) -> float | None:
        """f from ball arithmetic, where it can be had."""
        from discreet.accounting.certified import certified_tradeoff

        try:
            return float(certified_tradeoff(self, alpha))
        except PrecisionError:
            return None

    def tradeoff_thresholds(self, alphas: list[Fraction]) -> list[Fraction]:
        """Losses at which the best tests of these type I errors have their thresholds."""
        return self._tradeoff.thresholds(alphas)

    def knots(self, *, alpha: tuple[Number, Number] = (0, 1), most: int = 100_000) -> Knots:
        """The knots of f with alpha in the given range: losses, type I and type II errors.

        Knots below 1e-300 are left out. Refused where there are more than `most` of them.

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=1)]).knots().alpha
        array([0.        , 0.26894142, 1.        ])
        """
        low, high = read_probabilities(list(alpha), name="alpha", closed=True).values
        with self._within_floats():
            return self._tradeoff.knots(low, high, most)

    def errors(self, *, threshold: Numbers) -> tuple[Any, Any]:
        """Type I and type II errors (alpha, beta) of the test that rejects above the threshold."""
        arguments = read(threshold, name="threshold")
        with self._within_floats():
            alpha, beta = self._tradeoff.errors(arguments.values)
        return arguments.answer(alpha), arguments.answer(beta)

    # -- the loss itself ----------------------------------------------------------------------------

    def tail(self, *, above: Numbers, under: Literal["alternative", "null"] = "alternative") -> Any:
        """P[L > above], the person being there (alternative) or not (null).

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=1)]).tail(above=[0, 1])
        array([0.73105858, 0.        ])
        """
        if under not in ("alternative", "null"):
            raise InputError(f"under is {under!r}; it must be 'alternative' or 'null'")
        arguments = read(above, name="above")
        kind = Kind.ALT if under == "alternative" else Kind.NULL
        with np.errstate(under="ignore"), self._within_floats():
            return arguments.answer(np.exp(self.log_tails(kind, arguments.values)))

    @property
    def mean(self) -> float:
        """Mean of the loss under the alternative: the Kullback-Leibler divergence."""
        return self.loss.tilted_moments(0.0)[0] if self.loss.terms else 0.0

    @property
    def variance(self) -> float:
        """Variance of the loss."""
        return self.loss.tilted_moments(0.0)[1] if self.loss.terms else 0.0

    @property
    def total_variation(self) -> float:
        """delta(0): the largest advantage of any test."""
        return self.delta(epsilon=0)

    def __repr__(self) -> str:
        count = sum(event.times for event in self.events)
        return f"PrivacyLoss({count} events of {len(self.events)} kinds, R = {float(self.loss.R):.6g})"


def compose(events: Iterable[Event]) -> PrivacyLoss:
    """The privacy loss of all the events together, for one person.

    >>> from discreet.budget import DiscreteGaussian, DiscreteLaplace
    >>> compose([DiscreteGaussian(variance=5, times=9), DiscreteGaussian(variance=5)])
    PrivacyLoss(10 events of 1 kinds, R = 2)
    """
    return PrivacyLoss(events)


def log_fraction(value: Fraction) -> float:
    """log of a positive fraction, however small, and accurate near 1."""
    if value > Fraction(1, 2):
        return math.log1p(float(value - 1))
    return (
        math.log(value.numerator) - math.log(value.denominator)
        if float(value) == 0
        else math.log(float(value))
    )


def _intervals(arguments: Arguments, one: Any) -> Any:
    found = [one(value) for value in arguments.values]
    if arguments.shape is None:
        return found[0]
    boxes = np.empty(len(found), dtype=object)
    boxes[:] = found
    return boxes.reshape(arguments.shape)


__all__ = ["ACCURACY", "PrecisionError", "PrivacyLoss", "compose", "log_fraction"]
