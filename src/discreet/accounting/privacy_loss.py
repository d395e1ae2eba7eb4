"""`compose(events)`: the exact privacy of a list of events, whatever mixture of noise it holds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, Required, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.contour import (
    LOG_SMALLEST,
    Evaluation,
    Kind,
    Quadrature,
    Tail,
)
from discreet.accounting.evaluation import ACCURACY, Direct, Evaluations
from discreet.accounting.inversion import Inversion, full_epsilon
from discreet.accounting.loss import Floats, Loss, log_fraction
from discreet.accounting.tradeoff import Knots, TradeOff
from discreet.errors import InputError, PrecisionError
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.numbers import Interval, brief, fraction, read_delta, share

COARSEST = 1e-6
"""By default a delta or f that is not known to this relative accuracy is refused (epsilon: absolute)."""

F_ACCURACY = 2e-11
"""Relative accuracy of f that is as good as a float should be."""

F_ROUNDING = 1e-13
"""What an f is off by in any case: errors of long sums are estimated, not bounded."""

UNSEEN = Fraction(1, 10**340)
"""The chance, at most, that next to no noise is any at all (e^-819 and a few)."""

_SMALLEST = 1e-307
_SOON_LISTED = 50_000  # values of half a list: balls take less than a second


Quantity = Literal["epsilon", "delta", "beta"]
"""What is asked for, at a delta, at an epsilon or at an alpha."""


class InFloats(TypedDict, total=False):
    """How a float may be asked for."""

    certified: Literal[False]
    digits: None
    accuracy: float | None


class Proved(TypedDict, total=False):
    """How an interval may be asked for."""

    certified: Required[Literal[True]]
    digits: int | None
    accuracy: float | None


class Curves(Forgetful, ABC):
    """The (epsilon, delta) curve and the trade-off curve, of one loss or as the worst of many.

    Each is asked for one number or for several at once, in floats or, with `certified=True` or with `digits`,
    as intervals from ball arithmetic. An `accuracy`, relative (of an epsilon absolute), asks for less and
    gets it sooner; what cannot be had so well is refused.
    """

    @abstractmethod
    def floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats | None]:
        """The values, and how far each may be off if that is known."""

    @abstractmethod
    def intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
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
            return arguments.boxes(self.intervals(quantity, arguments.values, digits))
        return arguments.known(*self.floats(quantity, arguments.values, accuracy))

    @overload
    def delta(self, *, epsilon: Number, **how: Unpack[InFloats]) -> Value: ...
    @overload
    def delta(self, *, epsilon: Number, **how: Unpack[Proved]) -> Interval: ...
    @overload
    def delta(self, *, epsilon: Many, **how: Unpack[InFloats]) -> Values: ...
    @overload
    def delta(self, *, epsilon: Many, **how: Unpack[Proved]) -> Boxes: ...

    def delta(
        self,
        *,
        epsilon: Numbers,
        certified: bool = False,
        digits: int | None = None,
        accuracy: float | None = None,
    ) -> Value | Values | Interval | Boxes:
        """The smallest delta for which (epsilon, delta)-differential privacy holds.

        Negative epsilon is meant as it stands: delta(-e) = 1 - e^-e (1 - delta(e)).

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=2)]).delta(epsilon="1/2")   # pure (1/2, 0)-DP
        0.0
        """
        return self._answer("delta", read(epsilon, name="epsilon"), certified, digits, accuracy)

    @overload
    def epsilon(self, *, delta: Number, **how: Unpack[InFloats]) -> Value: ...
    @overload
    def epsilon(self, *, delta: Number, **how: Unpack[Proved]) -> Interval: ...
    @overload
    def epsilon(self, *, delta: Many, **how: Unpack[InFloats]) -> Values: ...
    @overload
    def epsilon(self, *, delta: Many, **how: Unpack[Proved]) -> Boxes: ...

    def epsilon(
        self,
        *,
        delta: Numbers,
        certified: bool = False,
        digits: int | None = None,
        accuracy: float | None = None,
    ) -> Value | Values | Interval | Boxes:
        """The epsilon at which the curve passes through delta.

        Negative where delta is above the total variation: the promise then holds with epsilon 0 and room
        to spare.

        >>> from discreet.budget import DiscreteGaussian
        >>> loss = compose([DiscreteGaussian(variance=5, times=10)])
        >>> print(loss.epsilon(delta="1e-11", certified=True))   # doctest: +ELLIPSIS
        [10.12483..., 10.12483...]
        """
        return self._answer("epsilon", read_probabilities(delta, name="delta"), certified, digits, accuracy)

    @overload
    def tradeoff(self, *, alpha: Number, **how: Unpack[InFloats]) -> Value: ...
    @overload
    def tradeoff(self, *, alpha: Number, **how: Unpack[Proved]) -> Interval: ...
    @overload
    def tradeoff(self, *, alpha: Many, **how: Unpack[InFloats]) -> Values: ...
    @overload
    def tradeoff(self, *, alpha: Many, **how: Unpack[Proved]) -> Boxes: ...

    def tradeoff(
        self,
        *,
        alpha: Numbers,
        certified: bool = False,
        digits: int | None = None,
        accuracy: float | None = None,
    ) -> Value | Values | Interval | Boxes:
        """The exact trade-off curve f: the least type II error of any test of type I error alpha.

        Of one loss it is piecewise linear between its knots, where the best test is deterministic; of many it
        is the envelope of theirs.

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


class PrivacyLoss(Curves):
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

    def __init__(self, events: Iterable[Noise], *, aim: float | None = None) -> None:
        self.loss, self._aim, self._enough = Loss(events), aim, aim or COARSEST

    @property
    def events(self) -> tuple[Noise, ...]:
        """The events, equal ones grouped."""
        return self.loss.terms

    @cached_property
    def _evaluations(self) -> Evaluations:
        return Evaluations(self.loss, self._aim)

    @cached_property
    def moved(self) -> tuple[Fraction, PrivacyLoss] | None:
        """Next to no noise beside other noise: the loss of the others, and by how much it is moved.

        What the settled events leave out lies so far below the smallest float that no float shows it.
        """
        settled = [term for term in self.events if _is_settled(term)]
        if not 0 < len(settled) < len(self.events):
            return None
        by = sum(t.times * (t.offset if t.largest is None else t.largest) for t in settled)
        return Fraction(by), PrivacyLoss([t for t in self.events if t not in settled], aim=self._aim)

    def _moved_tails(
        self, kind: Kind, thresholds: list[Fraction], accuracy: float, *, as_floats: bool = False
    ) -> Tail | None:
        """Tails of the other events, moved; None if nothing is, or if a logarithm is below any float's."""
        if self.moved is None:
            return None
        by, others = self.moved
        if kind is Kind.DELTA:
            found = others.delta_tails([t - by for t in thresholds], accuracy)
        elif kind is Kind.REST:  # for t < 0 it is that at -t times e^t
            found = others.tails(kind, [abs(t) - by for t in thresholds], accuracy)
        else:  # under the null hypothesis -L has this law
            by = by if kind is Kind.ALT else -by
            found = others.tails(kind, [t - by for t in thresholds], accuracy)
        if not as_floats and not (found.log > LOG_SMALLEST).all():
            return None
        lift = np.minimum([float(t) for t in thresholds], 0.0) if kind is Kind.REST else 0.0
        return Tail(found.log + lift, found.error)

    def hurried(self, accuracy: float | None) -> PrivacyLoss:
        """The same loss for whom this accuracy is enough: bounds on a grid come first where they are sooner.

        >>> from discreet.budget import DiscreteGaussian
        >>> variances = ("1.828", "4.02", "4.342", "2.938", "7.443", "0.535", "2.531", "3.909", "4.399")
        >>> loss = compose([DiscreteGaussian(variance=variance) for variance in variances])
        >>> loss.hurried(1e-3).epsilon(delta="1e-10", accuracy=1e-3)
        14.782
        """
        return self if accuracy is None or accuracy == self._aim else PrivacyLoss(self.events, aim=accuracy)

    @property
    def engine(self) -> Evaluation:
        """The evaluation that is asked first."""
        return self._evaluations.first

    @contextmanager
    def _within_floats(self) -> Iterator[None]:
        """Refuse in words what leaves the range of floats: hardly any noise, or huge losses."""
        try:
            with np.errstate(all="ignore"):
                yield
        except (ZeroDivisionError, OverflowError, ValueError, MemoryError) as error:
            if isinstance(error, InputError):
                raise
            raise PrecisionError(
                f"the losses of this composition ({self}) leave the range of floating point: "
                f"they come in steps of {brief(self.loss.step, 3)} around {brief(self.loss.offset, 3)}"
            ) from error

    def floats(self, quantity: Quantity, at: list[Fraction], accuracy: float | None) -> tuple[Floats, Floats]:
        """The values and how far each may be off, rounded to the digits that hold."""
        made = self.hurried(accuracy)
        with made._within_floats():
            if quantity == "epsilon":
                value, error = made._epsilons_and_errors(at, made._enough)
                full = np.array([full_epsilon(x, d) for x, d in zip(value, at, strict=True)])
                return rounded(value, error, full, "up")
            if quantity == "beta":
                return held(*made._tradeoffs(at, made._enough), "down")
            tail = made._moved_tails(Kind.DELTA, at, made._enough, as_floats=True)
            tail = tail or made.delta_tails(at, made._enough)
            return held(np.exp(tail.log), tail.error, "up", most=1.0)

    def intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values."""
        from discreet.accounting.certified import intervals as proofs

        prove = {
            "delta": proofs.certified_delta,
            "epsilon": proofs.certified_epsilon,
            "beta": proofs.certified_tradeoff,
        }[quantity]
        with self._within_floats():
            return [prove(self, x, digits=digits) for x in at]

    # -- the privacy profile ---------------------------------------------------------------------

    @overload
    def log_delta(self, *, epsilon: Number) -> float: ...
    @overload
    def log_delta(self, *, epsilon: Many) -> Floats: ...

    def log_delta(self, *, epsilon: Numbers) -> float | Floats:
        """Natural logarithm of delta, for tails that a float cannot hold.

        >>> from discreet.budget import DiscreteGaussian
        >>> round(compose([DiscreteGaussian(variance=5)]).log_delta(epsilon=100), 6)
        -25004.075826
        """
        arguments = read(epsilon, name="epsilon")
        with self._within_floats():
            return arguments.answer(self.log_deltas(arguments.values))

    def log_deltas(self, epsilons: list[Fraction], accuracy: float = COARSEST) -> Floats:
        """log delta at exact epsilons, each good to `accuracy` or refused."""
        return self.delta_tails(epsilons, accuracy).log

    def delta_tails(self, epsilons: list[Fraction], accuracy: float) -> Tail:
        """delta of either sign of epsilon, by the symmetry of the loss."""
        if all(e >= 0 for e in epsilons):
            return self.tails(Kind.DELTA, epsilons, accuracy)
        # of 1 - e^-e (1 - delta(e)) delta(e) may be a small part
        tail = self.tails(Kind.DELTA, [abs(e) for e in epsilons], math.inf)
        for i, e in enumerate(epsilons):
            if e < 0:
                part = math.exp(float(e) + tail.log[i])
                value = -math.expm1(float(e)) + part
                tail.log[i] = min(math.log(value), 0.0)
                tail.error[i] = (tail.error[i] if part > 0 else 0.0) * part / value + 4e-16
            elif not tail.error[i] <= ACCURACY:
                again = self.tails(Kind.DELTA, [e], accuracy)
                tail.log[i], tail.error[i] = again.log[0], again.error[0]
        return tail

    def log_tails(self, kind: Kind, thresholds: list[Fraction], accuracy: float = COARSEST) -> Floats:
        """Logarithms of one kind of tail, each good to `accuracy` or refused."""
        return self.tails(kind, thresholds, accuracy).log

    def tails(self, kind: Kind, thresholds: list[Fraction], accuracy: float = COARSEST) -> Tail:
        """Logarithms of one kind of tail with their relative errors, each good to `accuracy` or refused."""
        if not self.loss.terms:
            log = np.array([-math.inf if t >= 0 else 0.0 for t in thresholds])
            return Tail(log, np.zeros(len(thresholds)))
        accuracy = max(accuracy, self._aim or 0.0)
        moved = self._moved_tails(kind, thresholds, accuracy)
        if moved is not None:
            return moved
        with self._within_floats():
            tail = self._evaluations.tail(kind, thresholds, accuracy)
        # what a cut line leaves out is bounded by its moduli, without the phases that make it smaller
        is_cut = isinstance(self.engine, Quadrature) and self.engine.remainder > 0
        for i in tail.beyond(2 * ACCURACY if is_cut else ACCURACY):
            # an answer below the smallest float has lost digits in its logarithm alone
            if tail.log[i] < LOG_SMALLEST and tail.error[i] < 1e-9:
                continue
            # a sum over a list that found nothing is refined even for a search: it must not pass for zero
            is_lost = isinstance(self.engine, Direct) and tail.error[i] == math.inf
            wanted = accuracy < math.inf or is_lost
            if (wanted and self.has_quick_balls) or not tail.error[i] <= accuracy:
                self._refine(kind, thresholds[i], tail, i, accuracy)
        # a probability: rounding must not lift it above 1
        return Tail(np.minimum(tail.log, 0.0), tail.error)

    @cached_property
    def has_quick_balls(self) -> bool:
        """Whether ball arithmetic takes milliseconds: few nodes or few values."""
        return self._evaluations.is_coarse or (
            isinstance(self.engine, Direct) and self._evaluations.listed <= 5000
        )

    @cached_property
    def is_listed_sooner(self) -> bool:
        """Whether a list in balls is quicker than the contour that floats prefer.

        A node costs a theta function a term, a value of the loss one product. Laws of equal events are listed
        whole, about sqrt(times) as long as their bulk.
        """
        evaluations, first = self._evaluations, self.engine
        if evaluations.is_coarse or not isinstance(first, Quadrature) or first.fallback is None:
            return False
        size = math.log(evaluations.listed) + 0.5 * sum(math.log(term.times) for term in self.loss.terms)
        return size <= math.log(_SOON_LISTED)

    def _refine(self, kind: Kind, threshold: Fraction, tail: Tail, i: int, accuracy: float) -> None:
        """Replace a tail that floats do not reach by one from ball arithmetic."""
        from discreet.accounting.certified.intervals import refined_log

        found = float(tail.error[i])
        try:
            if not self.has_quick_balls:
                raise PrecisionError
            tail.log[i] = refined_log(self, kind, threshold, accuracy=ACCURACY)
            tail.error[i] = ACCURACY
        except PrecisionError:
            if not found <= accuracy:
                raise PrecisionError(
                    f"the value at {float(threshold):.6g} could be computed only to a relative accuracy of "
                    f"{found:.1g}, not {accuracy:.1g}: {self.why_hard()}"
                ) from None

    def why_hard(self) -> str:
        """What makes this composition hard, in words."""
        if self._evaluations.is_coarse:
            return (
                f"losses {float(self.loss.step):.3g} apart have probabilities that differ too much for floats"
            )
        return (
            f"{len(self.events)} kinds of noise whose losses have no usable common step (it is "
            f"{float(self.loss.step):.2g}); variances or scales that are short fractions of one another help"
        )

    def epsilons(self, deltas: list[Fraction], accuracy: float = COARSEST) -> Floats:
        """The epsilons at exact deltas, each good to `accuracy`, absolutely, or refused."""
        return self._epsilons_and_errors(deltas, accuracy)[0]

    def epsilon_moves(self, deltas: list[Fraction], epsilons: Floats, off: float) -> Floats:
        """By how much the epsilons of these deltas move if those are off by this much, relatively."""
        if self.moved is not None:
            return self.moved[1].epsilon_moves(deltas, epsilons - float(self.moved[0]), off)
        with self._within_floats():
            return Inversion(self).moves(deltas, epsilons, off)

    def _epsilons_and_errors(self, deltas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """Epsilons and how far they may be off."""
        if self.moved is not None and all(log_fraction(d) > LOG_SMALLEST for d in deltas):
            by, others = self.moved
            found, doubt = others._epsilons_and_errors(deltas, accuracy)
            return found + float(by), doubt + 2.3e-16 * np.abs(found + float(by))
        return Inversion(self).epsilons(deltas, max(accuracy, self._aim or 0.0))

    # -- the trade-off curve -----------------------------------------------------------------------

    @cached_property
    def curve(self) -> TradeOff:
        """The trade-off curve, as it is computed."""
        evaluations = self._evaluations

        def tails(kind: Kind, thresholds: list[Fraction]) -> Tail:
            return evaluations.tail(kind, thresholds, self._enough)

        if not self.loss.terms:
            return TradeOff(self.loss, self.tails)
        smooth = evaluations.smooth
        return TradeOff(
            self.loss,
            tails,
            evaluations.next_value(),
            None if smooth is None else smooth.tail,
            singly=isinstance(self.engine, Direct),
        )

    def _tradeoffs(self, alphas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """f and its relative errors: from ball arithmetic where floats are not enough, or refused."""
        from discreet.accounting.certified.intervals import certified_tradeoff

        # the test that asks for the sign of the loss has errors of at most e^K(-1/2): if that is below every
        # float, so is f, and a ball so far down would have millions of bits
        half = float(self.loss.log_mgf(np.array([-0.5]))[0]) if self.loss.terms else 0.0
        lowest = LOG_SMALLEST if self.moved is not None else half if half < LOG_SMALLEST - 1 else math.inf
        if all(a in (0, 1) or log_fraction(a) > lowest for a in alphas):
            return np.array([float(a == 0) for a in alphas]), np.array([float(0 < a < 1) for a in alphas])
        value, error = self.curve.values(alphas)
        error = np.where(error > 0, error + F_ROUNDING, 0.0)
        for i in np.flatnonzero(~(error <= F_ACCURACY)):
            try:
                if not self.has_quick_balls:
                    raise PrecisionError
                value[i], error[i] = float(certified_tradeoff(self, alphas[i], digits=11)), F_ACCURACY
            except PrecisionError:
                if value[i] * (1 + error[i]) < _SMALLEST:
                    value[i], error[i] = 0.0, 1.0  # below the smallest float
                elif not error[i] <= accuracy:
                    raise PrecisionError(
                        f"f({float(alphas[i]):.6g}) could be computed only to a relative accuracy of "
                        f"{error[i]:.1g}, not {accuracy:.1g}: {self.why_hard()}"
                    ) from None
        return value, error

    def tradeoff_thresholds(self, alphas: list[Fraction]) -> list[Fraction]:
        """Losses at which the best tests of these type I errors have their thresholds."""
        if self.moved is not None:
            return [t - self.moved[0] for t in self.moved[1].tradeoff_thresholds(alphas)]
        return self.curve.thresholds(alphas)

    @property
    def has_exact_thresholds(self) -> bool:
        """Whether `tradeoff_thresholds` are values of the loss, and not only close to one."""
        return self.moved is None and self.curve.next_value is not None

    def knots(self, *, alpha: tuple[Number, Number] = (0, 1), most: int = 100_000) -> Knots:
        """The knots of f with alpha in the given range: losses, type I and type II errors.

        Knots below 1e-300 are left out. Refused where there are more than `most` of them.

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=1)]).knots().alpha
        array([0.        , 0.26894142, 1.        ])
        """
        low, high = read_probabilities(list(alpha), name="alpha", closed=True).values
        with self._within_floats():
            found, error = self.curve.knots(low, high, most)
        if error > COARSEST:
            raise PrecisionError(f"knots of f could be computed only to {error:.1g}: {self.why_hard()}")
        return found

    @overload
    def errors(self, *, threshold: Number) -> tuple[float, float]: ...
    @overload
    def errors(self, *, threshold: Many) -> tuple[Floats, Floats]: ...

    def errors(self, *, threshold: Numbers) -> tuple[float | Floats, float | Floats]:
        """Type I and type II errors (alpha, beta) of the test that rejects above the threshold."""
        arguments = read(threshold, name="threshold")
        points = arguments.values
        with self._within_floats():
            # P_alt[L <= t] = P_null[L >= -t], by symmetry
            alpha = self._null_tails(points)
            beta = self._null_tails([self.loss.below(-t) for t in points])
        return arguments.answer(alpha), arguments.answer(beta)

    def _null_tails(self, points: list[Fraction]) -> Floats:
        """P_null[L > t]; where it is above one half, from what it lacks: P_alt[L >= -t] takes fewer nodes."""
        if self.moved is not None:
            by, others = self.moved
            return others._null_tails([t + by for t in points])
        found, mean = np.zeros(len(points)), self.mean
        # most values below the mean are above one half, but not where atoms lie far apart
        low = [i for i, t in enumerate(points) if t < -mean]
        found[low] = -np.expm1(self.log_tails(Kind.ALT, [self.loss.below(-points[i]) for i in low]))
        direct = np.flatnonzero(found < 0.5)
        found[direct] = np.exp(self.log_tails(Kind.NULL, [points[i] for i in direct]))
        return found

    # -- the loss itself ----------------------------------------------------------------------------

    @overload
    def tail(self, *, above: Number, under: Hypothesis = "alternative") -> float: ...
    @overload
    def tail(self, *, above: Many, under: Hypothesis = "alternative") -> Floats: ...

    def tail(self, *, above: Numbers, under: Hypothesis = "alternative") -> float | Floats:
        """P[L > above], the person being there (alternative) or not (null).

        >>> from discreet.budget import DiscreteLaplace
        >>> compose([DiscreteLaplace(scale=1)]).tail(above=[0, 1])
        array([0.73105858, 0.        ])
        """
        if under not in ("alternative", "null"):
            raise InputError(f"under is {under!r}; it must be 'alternative' or 'null'")
        arguments = read(above, name="above")
        kind = Kind.ALT if under == "alternative" else Kind.NULL
        with self._within_floats():
            return arguments.answer(np.exp(self.log_tails(kind, arguments.values)))

    @property
    def mean(self) -> float:
        """Mean of the loss under the alternative: the Kullback-Leibler divergence."""
        return float(sum(term.times * term.mean_loss for term in self.events))

    @property
    def variance(self) -> float:
        """Variance of the loss."""
        return self.loss.tilted_moments(0.0)[1] if self.loss.terms else 0.0

    def __repr__(self) -> str:
        count = sum(event.times for event in self.events)
        return f"PrivacyLoss({count} events of {len(self.events)} kinds, R = {brief(self.loss.R)})"


def compose(events: Iterable[Noise]) -> PrivacyLoss:
    """The privacy loss of all the events together, for one person.

    >>> from discreet.budget import DiscreteGaussian, DiscreteLaplace
    >>> compose([DiscreteGaussian(variance=5, times=9), DiscreteGaussian(variance=5)])
    PrivacyLoss(10 events of 1 kinds, R = 2)
    """
    return PrivacyLoss(events)


def _is_settled(term: Noise) -> bool:
    """Whether the loss of a term is its likeliest value, all but a chance far below the smallest float."""
    rate = 1 / (2 * term.size if term.largest is None else term.size)
    return math.log(3 * term.times) - float(rate) < 1.1 * LOG_SMALLEST


# -- numbers that are asked about, and how answers go back -----------------------------------------------

# A float stands for the binary number that it is; a string such as "1e-10" or "73/10000" is exact.

Number = int | float | Fraction | Decimal | str
Many = Sequence[Number] | NDArray[np.generic]
Numbers = Number | Many
Hypothesis = Literal["alternative", "null"]


class Value(float):
    """A float that knows how far it may be off: `accuracy`, relative (of an epsilon: absolute); nan: unknown.

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

    @classmethod
    def of(cls, values: NDArray[np.float64], accuracy: NDArray[np.float64] | None) -> Values:
        """Make such an array."""
        made: Values = values.view(cls)  # type: ignore[assignment]
        made.accuracy = accuracy
        return made

    def __array_finalize__(self, made_from: object) -> None:
        """What is computed from values has no known accuracy."""
        self.accuracy = None

    def __repr__(self) -> str:
        """As the array that it is."""
        return repr(self.view(np.ndarray))


Boxes = NDArray[np.object_]
"""An array of intervals."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The numbers asked for, exactly, and the shape in which the answers go back."""

    values: list[Fraction]
    shape: tuple[int, ...] | None

    def answer(self, results: Floats) -> float | Floats:
        """One float for one number, an array of the same shape for many."""
        return float(results[0]) if self.shape is None else results.reshape(self.shape)

    def known(self, results: Floats, accuracy: Floats | None) -> Value | Values:
        """The same with their accuracy."""
        if self.shape is None:
            return Value(float(results[0]), math.nan if accuracy is None else float(accuracy[0]))
        known = None if accuracy is None else accuracy.reshape(self.shape)
        return Values.of(results.reshape(self.shape), known)

    def boxes(self, found: Sequence[Interval]) -> Interval | Boxes:
        """The same for intervals."""
        if self.shape is None:
            return found[0]
        boxes = np.empty(len(found), dtype=object)
        boxes[:] = found
        return boxes.reshape(self.shape)


Side = Literal["up", "down"]


def digits_that_hold(value: float, doubt: float, side: Side) -> float:
    """Round a number that may be off by `doubt` to the digits that hold.

    `side` says where to err: "up" for a bound from above, which covers the doubt.

    >>> digits_that_hold(1.06203691259e-09, 7e-17, "up")
    1.062037e-09
    """
    if not 0 < doubt < math.inf or value == 0:
        return value
    exact, room, unit = Fraction(value), Fraction(doubt), Fraction(10) ** math.ceil(math.log10(2 * doubt))
    count = math.ceil((exact + room) / unit) if side == "up" else math.floor((exact - room) / unit)
    return float(count * unit)


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


def read(numbers: Numbers, *, name: str, rule: Callable[[Number], Fraction] | None = None) -> Arguments:
    """Return the numbers as exact fractions, each checked by a rule.

    >>> read("1e-10", name="delta").values, read([0.5, "1/3"], name="alpha").values
    ([Fraction(1, 10000000000)], [Fraction(1, 2), Fraction(1, 3)])
    """
    asked: Sequence[Number]
    if isinstance(numbers, np.ndarray):
        asked, shape = numbers.ravel().tolist(), numbers.shape or None
    elif isinstance(numbers, Sequence) and not isinstance(numbers, str):
        asked, shape = numbers, (len(numbers),)
    else:
        asked, shape = [numbers], None
    rule = rule or partial(fraction, name=name, floats=True)
    return Arguments([rule(float(x) if isinstance(x, np.floating) else x) for x in asked], shape)


def read_probabilities(numbers: Numbers, *, name: str, closed: bool = False) -> Arguments:
    """The same for numbers that must lie between 0 and 1.

    >>> read_probabilities(2, name="delta")
    Traceback (most recent call last):
    discreet.errors.InputError: delta is 2; it must lie strictly between 0 and 1
    """
    if name == "delta":
        return read(numbers, name=name, rule=partial(read_delta, floats=True))
    return read(numbers, name=name, rule=partial(share, name=name, floats=True, closed=closed))
