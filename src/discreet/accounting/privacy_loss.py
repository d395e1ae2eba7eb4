"""`compose(events)`: the exact privacy of a list of events, whatever mixture of noise it holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, overload

from discreet.calls import understandable
from discreet.errors import InputError, PrecisionError
from discreet.faces import Displayed
from discreet.loss.curves import Curves, Quantity
from discreet.loss.lattice import Floats, noises_of
from discreet.loss.law import COARSEST, Hypothesis, loss_of
from discreet.loss.tradeoff import Knots
from discreet.loss.values import Many, Number, Numbers, read, read_probabilities
from discreet.noise import Noise
from discreet.numbers import Interval


class PrivacyLoss(Curves, Displayed):
    """The privacy loss of a composition: its (epsilon, delta) curve and its trade-off curve.

    Guarantee. `events` bound what one person (or K people) can change; for such neighbours the composition
    is (epsilon, delta(epsilon))-differentially private, and no smaller delta holds. Values are floats with
    a relative error of at most 1e-12 (delta) and 1e-11 (epsilon); `certified=True` returns an `Interval`
    from ball arithmetic that provably contains the value. Proofs: docs/explanation/certified.md.

    >>> from discreet.budget import DiscreteGaussian
    >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
    >>> round(loss.epsilon(delta="1e-11"), 5)
    10.12483
    >>> loss.delta(epsilon=[0, 1, 10])
    array([5.19766948e-01, 2.85267583e-01, 1.58365011e-11])
    """

    @understandable
    def __init__(self, events: Noise | Iterable[Noise]) -> None:
        self.law = loss_of(events)
        """How values are computed: for the modules of this package, and no part of what is stable."""

    if not TYPE_CHECKING:  # a checker should find what is no longer public

        def __getattr__(self, name: str) -> object:
            """Find what was once an attribute here; it goes with the next minor version."""
            if name == "workings":
                warnings.warn("PrivacyLoss.workings is now PrivacyLoss.law", DeprecationWarning, stacklevel=2)
                return self.law
            if name.startswith("_") or name == "law" or not hasattr(self.law, name):
                return super().__getattr__(name)
            text = f"PrivacyLoss.{name} is no longer public: `loss.law.{name}` has it, and may change"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return getattr(self.law, name)

    @property
    def events(self) -> tuple[Noise, ...]:
        """The events, equal ones grouped."""
        return self.law.events

    def _largest_loss(self) -> Fraction | None:
        return self.law._largest_loss()

    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats | None]:
        return self.law._floats(quantity, at, accuracy)

    def _pure(self, largest: Fraction) -> Interval:
        return self.law._pure(largest)

    def _intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        return self.law._intervals(quantity, at, digits)

    # -- the privacy profile ---------------------------------------------------------------------

    @overload
    def log_delta(self, epsilon: Number) -> float: ...
    @overload
    def log_delta(self, epsilon: Many) -> Floats: ...

    def log_delta(self, epsilon: Numbers) -> float | Floats:
        """Natural logarithm of delta, for tails that a float cannot hold.

        >>> from discreet.budget import DiscreteGaussian
        >>> round(compose([DiscreteGaussian(variance=5)]).log_delta(epsilon=100), 6)
        -25004.075826
        """
        arguments = read(epsilon, name="epsilon")
        with self.law.within_floats():
            return arguments.answer(self.law.log_deltas(arguments.values))

    # -- the trade-off curve ----------------------------------------------------------------------

    def knots(self, *, alpha: tuple[Number, Number] = (0, 1), most: int = 100_000) -> Knots:
        """The knots of f with alpha in the given range: losses, type I and type II errors.

        Knots below 1e-300 are left out. More than `most` knots are refused.

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=1)]).knots().alpha
        array([0.        , 0.26894142, 1.        ])
        """
        low, high = read_probabilities(list(alpha), name="alpha", closed=True).values
        with self.law.within_floats():
            knots, error = self.law.knots(low, high, most)
        if error > COARSEST:
            why = self.law.why_hard()
            raise PrecisionError(f"knots of f could be computed only to {error:.1g}: {why}")
        return knots

    @overload
    def errors(self, threshold: Number) -> tuple[float, float]: ...
    @overload
    def errors(self, threshold: Many) -> tuple[Floats, Floats]: ...

    def errors(self, threshold: Numbers) -> tuple[float | Floats, float | Floats]:
        """Type I and type II errors (alpha, beta) of the test that rejects above the threshold."""
        arguments = read(threshold, name="threshold")
        points = arguments.values
        with self.law.within_floats():
            alpha, beta = self.law.errors_at(points)
        return arguments.answer(alpha), arguments.answer(beta)

    # -- the loss itself ----------------------------------------------------------------------------

    @overload
    def tail(self, above: Number, *, under: Hypothesis = "alternative") -> float: ...
    @overload
    def tail(self, above: Many, *, under: Hypothesis = "alternative") -> Floats: ...

    def tail(self, above: Numbers, *, under: Hypothesis = "alternative") -> float | Floats:
        """P[L > above] if the person is there (alternative), or is not (null).

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=1)]).tail(above=[0, 1])
        array([0.73105858, 0.        ])
        """
        if under not in ("alternative", "null"):
            raise InputError(f"under is {under!r}; it must be 'alternative' or 'null'")
        arguments = read(above, name="above")
        return arguments.answer(self.law.tail(arguments.values, under=under))

    @property
    def mean(self) -> float:
        """Mean of the loss under the alternative: the Kullback-Leibler divergence."""
        return self.law.mean

    @property
    def variance(self) -> float:
        """Variance of the loss."""
        return self.law.variance

    def __repr__(self) -> str:
        return f"PrivacyLoss({self.law!r})"


@understandable
def compose(events: Noise | Iterable[Noise], *more: Noise | Iterable[Noise]) -> PrivacyLoss:
    """The privacy loss of all the events together, for one person: of a list of them, or one by one.

    >>> from discreet.budget import DiscreteGaussian, DiscreteLaplace
    >>> compose([DiscreteGaussian(variance=5, times=9), DiscreteGaussian(variance=5)])
    PrivacyLoss(10 events of 1 kinds, R = 2)
    >>> compose(9 * DiscreteGaussian(variance=5), DiscreteGaussian(variance=5))
    PrivacyLoss(10 events of 1 kinds, R = 2)
    """
    loss = PrivacyLoss(chain.from_iterable(map(noises_of, (events, *more))))
    for event in loss.events:
        event.check_changes(event.sensitivity, spread=False)
    return loss
