"""The law of the privacy loss of a composition: one interface, whichever evaluator is behind it.

An event shows an outcome, which has some probability with the person and some without; its loss is the
logarithm of their ratio, and the losses of all events add up. What anyone wants to know follows from the law
of that sum: delta, epsilon, the trade-off curve, its tails, its mean.

Evaluators are siblings, none made of another: `LatticeEvaluator` where all losses lie on a lattice and are
mirrored (a contour, a list or a grid), `GridEvaluator` for any laws together (lists, or grids of a law that
tells at least as much), and what a guest brings (cell keys: exact fractions). All answer what `LossLaw` asks;
those of noise know their events and answer more (`NoiseLossLaw`). `loss_of` is the one place that chooses,
from what the laws of noise say of themselves (`Noise.as_lattice`); nothing else asks.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from discreet.loss.contour import Kind, Tail
from discreet.loss.curves import Curves, Quantity
from discreet.loss.lattice import Floats, noises_of
from discreet.loss.tradeoff import Knots
from discreet.noise import Noise
from discreet.noise.capabilities import require, supports
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.loss.lattice_evaluator import LatticeEvaluator

Hypothesis = Literal["alternative", "null"]
"""The person is there, or is not."""

COARSEST = 1e-6
"""By default a delta or f with a larger relative error is refused (an epsilon: absolute error)."""


class LossLaw(Curves):
    """The law of the loss of what is released: what every evaluator answers.

    Curves are those of both directions, where they differ; beliefs and moments those with the person there.
    """

    @abstractmethod
    def __add__(self, other: Self) -> LossLaw:
        """The law of both together, where they are independent."""

    # -- beliefs ------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def largest(self) -> Fraction | None:
        """The largest loss with the person there, or hardly more; None if there is no bound."""

    @abstractmethod
    def mean_posteriors(self, priors: Sequence[Fraction]) -> list[float]:
        """The mean posterior of a person who is there at each prior, or a little more."""

    @abstractmethod
    def naming_chances(self, priors: Sequence[Fraction]) -> list[tuple[float, float]]:
        """How often the best guess names a person who is there, and one who is not; a coin decides ties."""

    @abstractmethod
    def prior_deltas(self, priors: Sequence[Fraction]) -> Floats:
        """delta at |log((1 - p) / p)| for each prior p, in the direction that a guess at p rests on."""

    def advantage_and_deltas(self, priors: Sequence[Fraction]) -> tuple[float, list[float]]:
        """delta(0), and `prior_deltas`, which may share their work."""
        return float(self.total_variation), self.prior_deltas(priors).tolist()

    # -- the loss itself ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def mean(self) -> float:
        """Mean of the loss under the alternative: the Kullback-Leibler divergence."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the loss."""

    # -- answers ------------------------------------------------------------------------------------------

    @abstractmethod
    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats]:
        """The values and their errors, rounded to the digits that hold."""


class NoiseLossLaw(LossLaw):
    """The law of the loss of all events of noise together; what `PrivacyLoss` asks.

    For the modules of this package; what is here may change with every version.

    >>> from discreet.noise import DiscreteGaussian, PowerNoise
    >>> both = loss_of([DiscreteGaussian(variance=5)]) + loss_of([PowerNoise("3/2", 4)])
    >>> both
    2 events of 2 kinds (discrete Gaussian, power)
    >>> both.supports("errors"), round(float(both.delta(epsilon=1)), 6)
    (False, 0.009939)
    """

    events: tuple[Noise, ...]
    """The events, equal ones grouped."""

    def __add__(self, other: NoiseLossLaw) -> NoiseLossLaw:
        """The law of both compositions together."""
        return loss_of((*self.events, *other.events))

    def supports(self, question: str) -> bool:
        """Whether a question that not every law answers can be asked of this one (`noise.capabilities`)."""
        return supports(question, self.events)

    def on_lattice(self, question: str = "lattice") -> LatticeEvaluator:
        """The same law where a question needs its lattice; refused in the question's sentence without one."""
        require(question, self.events)
        raise AssertionError(f"{self!r} says that it answers {question!r}, and has no lattice")

    is_bound: ClassVar[bool]
    """Whether floats are upper bounds, above which a proof may lie a little, and not exact up to rounding."""

    @abstractmethod
    def with_accuracy(self, accuracy: float | None) -> NoiseLossLaw:
        """A copy that stops at this accuracy."""

    @contextmanager
    def within_floats(self) -> Iterator[None]:
        """Explain why, where numbers leave the range of floats."""
        yield

    @abstractmethod
    def why_hard(self) -> str:
        """Why this composition is hard to compute."""

    # -- tails ------------------------------------------------------------------------------------------

    @abstractmethod
    def tails(self, kind: Kind, thresholds: list[Fraction], accuracy: float = COARSEST) -> Tail:
        """Logarithms of one kind of tail with their relative errors, accurate to `accuracy` or refused."""

    @abstractmethod
    def delta_tails(self, epsilons: list[Fraction], accuracy: float) -> Tail:
        """delta at epsilons of either sign, with relative errors."""

    @abstractmethod
    def null_tails(self, points: list[Fraction]) -> Floats:
        """P_null[L > t]."""

    def log_deltas(self, epsilons: list[Fraction], accuracy: float = COARSEST) -> Floats:
        """log delta at exact epsilons, each accurate to `accuracy` or refused."""
        return self.delta_tails(epsilons, accuracy).log

    def log_tails(self, kind: Kind, thresholds: list[Fraction], accuracy: float = COARSEST) -> Floats:
        """Logarithms of one kind of tail, each accurate to `accuracy` or refused."""
        return self.tails(kind, thresholds, accuracy).log

    @abstractmethod
    def rough_log_delta(self, epsilon: Fraction) -> float:
        """log delta, or a bound of it that is quick, for a search."""

    @abstractmethod
    def second_opinions(
        self, epsilon: Fraction, level: Fraction, *, binds: bool
    ) -> Sequence[Iterator[tuple[Interval, str]]]:
        """Ways to enclose delta(epsilon) that share little with how it is computed here, likeliest first.

        Each yields intervals and the name of its method, narrower and narrower; where `binds` is false, it is
        enough to tell delta from a level far away.
        """

    def tail(self, above: list[Fraction], *, under: Hypothesis = "alternative") -> Floats:
        """P[L > above] with the person there (alternative), or not (null)."""
        kind = Kind.ALT if under == "alternative" else Kind.NULL
        with self.within_floats():
            return np.asarray(np.exp(self.log_tails(kind, above)))

    @abstractmethod
    def quantiles(self, chances: Sequence[float]) -> Floats:
        """The smallest losses that at most the others exceed with the person there, or a little more."""

    # -- epsilon ------------------------------------------------------------------------------------------

    def epsilons(self, deltas: list[Fraction], accuracy: float = COARSEST) -> Floats:
        """The epsilons at exact deltas, each accurate to `accuracy` (absolute) or refused."""
        return self._epsilons_and_errors(deltas, accuracy)[0]

    @abstractmethod
    def _epsilons_and_errors(self, deltas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """Epsilons and their errors."""

    @abstractmethod
    def epsilon_moves(self, deltas: list[Fraction], epsilons: Floats, off: float) -> Floats:
        """By how much epsilons move if their deltas change by this relative amount."""

    # -- the trade-off curve ------------------------------------------------------------------------------

    @abstractmethod
    def tradeoff_thresholds(self, alphas: list[Fraction]) -> list[Fraction]:
        """Losses at which the best tests of these type I errors have their thresholds."""

    @property
    @abstractmethod
    def has_exact_thresholds(self) -> bool:
        """Whether `tradeoff_thresholds` are values of the loss, and not only close to values."""

    @abstractmethod
    def knots(self, low: Fraction, high: Fraction, most: int) -> tuple[Knots, float]:
        """Corners of f with alpha between two ends, and their relative error."""

    @abstractmethod
    def errors_at(self, thresholds: list[Fraction]) -> tuple[Floats, Floats]:
        """Type I and type II errors of the tests that reject above these thresholds."""


def prior_threshold(prior: Fraction) -> Fraction:
    """|log((1 - p) / p)|, the epsilon at which the profile tells how often a guess is right.

    >>> prior_threshold(Fraction(1, 2))
    Fraction(0, 1)
    """
    less = min(prior, 1 - prior)
    return Fraction(math.log((1 - less) / less) if 2 * less != 1 else 0.0)


def loss_of(events: Noise | Iterable[Noise], *, aim: float | None = None) -> NoiseLossLaw:
    """The law of the loss of a composition; with an `aim`, computed to no more than this accuracy.

    >>> from discreet.noise import DiscreteGaussian, PowerNoise
    >>> type(loss_of([DiscreteGaussian(variance=5)])).__name__
    'LatticeEvaluator'
    >>> type(loss_of([DiscreteGaussian(variance=5), PowerNoise("3/2", 4)])).__name__
    'GridEvaluator'
    """
    listed = noises_of(events)
    if all(event.as_lattice is not None for event in listed):
        from discreet.loss.lattice_evaluator import LatticeEvaluator

        return LatticeEvaluator(listed, aim=aim)
    from discreet.loss.grid_evaluator import GridEvaluator

    return GridEvaluator(listed, aim=aim)
