"""A composed loss on a lattice: which way it is evaluated, how accurately, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.errors import InputError, PrecisionError
from discreet.loss.contour import (
    LOG_SMALLEST,
    Evaluation,
    Kind,
    Quadrature,
    Tail,
)
from discreet.loss.curves import Quantity
from discreet.loss.evaluation import ACCURACY, Evaluations
from discreet.loss.inversion import Inversion, full_epsilon
from discreet.loss.lattice import Floats, Loss, log_fraction
from discreet.loss.law import COARSEST, NoiseLossLaw, prior_threshold
from discreet.loss.lists import ListEvaluator
from discreet.loss.tradeoff import Knots, TradeOff
from discreet.loss.values import (
    held,
    rounded,
)
from discreet.noise import LatticeNoise, Noise
from discreet.numbers import Interval, brief

F_ACCURACY = 2e-11
"""Relative accuracy of f that is as good as a float should be."""

F_ROUNDING = 1e-13
"""Added to every relative error of f: errors of long sums are estimated, not bounded."""

UNSEEN = Fraction(1, 10**340)
"""At most the chance that any of the settled events is noisy at all (e^-819 and a few)."""

_SMALLEST = 1e-307
_QUICKLY_LISTED = 50_000  # values of half a list: balls take less than a second


class LatticeEvaluator(NoiseLossLaw):
    """The law of a loss on a lattice, mirrored: by a contour, a list or a grid of its values."""

    is_bound: ClassVar[bool] = False

    def __init__(self, events: Iterable[Noise], *, aim: float | None = None) -> None:
        self.loss, self._aim, self._enough = Loss(events), aim, aim or COARSEST
        self.events: tuple[Noise, ...] = self.loss.terms

    def on_lattice(self, question: str = "lattice") -> LatticeEvaluator:
        """The law itself."""
        return self

    @cached_property
    def _evaluations(self) -> Evaluations:
        return Evaluations(self.loss, self._aim)

    @cached_property
    def deterministic_shift(self) -> tuple[Fraction, LatticeEvaluator] | None:
        """Where some events have next to no noise: the loss they add for certain, and the loss of the others.

        The chance that they add another loss lies so far below the smallest float that no float shows it.
        """
        terms = self.loss.terms
        settled = [term for term in terms if _is_settled(term)]
        if not 0 < len(settled) < len(terms):
            return None
        shift = sum(t.times * (t.offset if t.largest is None else t.largest) for t in settled)
        return Fraction(shift), LatticeEvaluator([t for t in terms if t not in settled], aim=self._aim)

    def _shifted_tails(
        self, kind: Kind, thresholds: list[Fraction], accuracy: float, *, as_floats: bool = False
    ) -> Tail | None:
        """Shifted tails of the others; None without a shift, or if a logarithm is below any float's."""
        if self.deterministic_shift is None:
            return None
        shift, others = self.deterministic_shift
        if kind is Kind.DELTA:
            tails = others.delta_tails([t - shift for t in thresholds], accuracy)
        elif kind is Kind.REST:  # for t < 0 it is that at -t times e^t
            tails = others.tails(kind, [abs(t) - shift for t in thresholds], accuracy)
        else:  # under the null hypothesis -L has this law
            shift = shift if kind is Kind.ALT else -shift
            tails = others.tails(kind, [t - shift for t in thresholds], accuracy)
        if not as_floats and not (tails.log > LOG_SMALLEST).all():
            return None
        lift = np.minimum([float(t) for t in thresholds], 0.0) if kind is Kind.REST else 0.0
        return Tail(tails.log + lift, tails.error)

    def with_accuracy(self, accuracy: float | None) -> LatticeEvaluator:
        """A copy that stops at this accuracy: bounds on a grid are tried first where cheaper.

        >>> from discreet.budget import DiscreteGaussian
        >>> variances = ("1.828", "4.02", "4.342", "2.938", "7.443", "0.535", "2.531", "3.909", "4.399")
        >>> loss = LatticeEvaluator([DiscreteGaussian(variance=variance) for variance in variances])
        >>> loss.with_accuracy(1e-3).epsilon(delta="1e-10", accuracy=1e-3)
        14.782
        """
        return (
            self if accuracy is None or accuracy == self._aim else LatticeEvaluator(self.events, aim=accuracy)
        )

    @property
    def road(self) -> str:
        """How certified values are made, in the words of certificates."""
        engine = self.engine
        if isinstance(engine, ListEvaluator) or self.is_quicker_listed:
            return "tilted list of the losses"
        if isinstance(engine, Quadrature):
            on_lattice = engine.h is not None
            return "contour integral on a lattice" if on_lattice else "contour integral on a cut line"
        return "bounds on a grid"

    @property
    def engine(self) -> Evaluation:
        """The evaluation that is tried first."""
        return self._evaluations.first

    @contextmanager
    def within_floats(self) -> Iterator[None]:
        """Explain why, where numbers leave the range of floats: hardly any noise, or huge losses."""
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

    def _largest_loss(self) -> Fraction | None:
        return self.loss.largest

    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats]:
        """The values and their errors, rounded to the digits that hold."""
        loss = self.with_accuracy(accuracy)
        with loss.within_floats():
            if quantity == "epsilon":
                value, error = loss._epsilons_and_errors(at, loss._enough)
                full = np.array([full_epsilon(x, d) for x, d in zip(value, at, strict=True)])
                return rounded(value, error, full, "up")
            if quantity == "beta":
                return held(*loss._tradeoffs(at, loss._enough), "down")
            tail = loss._shifted_tails(Kind.DELTA, at, loss._enough, as_floats=True)
            tail = tail or loss.delta_tails(at, loss._enough)
            return held(np.exp(tail.log), tail.error, "up", most=1.0)

    def _intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values."""
        from discreet.loss.certified import intervals as proofs
        from discreet.loss.certified.tradeoffs import certified_tradeoff

        prove = {
            "delta": proofs.certified_delta,
            "epsilon": proofs.certified_epsilon,
            "beta": certified_tradeoff,
        }[quantity]
        with self.within_floats():
            return [prove(self, x, digits=digits) for x in at]

    def delta_tails(self, epsilons: list[Fraction], accuracy: float) -> Tail:
        """delta at epsilons of either sign, by the symmetry of the loss."""
        if all(e >= 0 for e in epsilons):
            return self.tails(Kind.DELTA, epsilons, accuracy)
        # delta(e) may be a small part of 1 - e^-e (1 - delta(e))
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

    def tails(self, kind: Kind, thresholds: list[Fraction], accuracy: float = COARSEST) -> Tail:
        """Logarithms of one kind of tail with their relative errors, accurate to `accuracy` or refused."""
        if not self.loss.terms:
            log = np.array([-math.inf if t >= 0 else 0.0 for t in thresholds])
            return Tail(log, np.zeros(len(thresholds)))
        accuracy = max(accuracy, self._aim or 0.0)
        shifted = self._shifted_tails(kind, thresholds, accuracy)
        if shifted is not None:
            return shifted
        with self.within_floats():
            tail = self._evaluations.tail(kind, thresholds, accuracy)
        # what a cut line leaves out is bounded by its moduli, ignoring the phases that make it smaller
        is_cut = isinstance(self.engine, Quadrature) and self.engine.remainder > 0
        for i in tail.beyond(2 * ACCURACY if is_cut else ACCURACY):
            # below the smallest float only the logarithm has lost digits
            if tail.log[i] < LOG_SMALLEST and tail.error[i] < 1e-9:
                continue
            # a list that has no value there is refined even in a search: the tail must not pass for zero
            is_lost = isinstance(self.engine, ListEvaluator) and tail.error[i] == math.inf
            wanted = accuracy < math.inf or is_lost
            if (wanted and self.has_quick_balls) or not tail.error[i] <= accuracy:
                self._refine(kind, thresholds[i], tail, i, accuracy)
        # a probability: rounding must not lift it above 1
        return Tail(np.minimum(tail.log, 0.0), tail.error)

    @cached_property
    def has_quick_balls(self) -> bool:
        """Whether ball arithmetic takes milliseconds: few nodes or few values."""
        return self._evaluations.is_coarse or (
            isinstance(self.engine, ListEvaluator) and self._evaluations.listed <= 5000
        )

    @cached_property
    def is_quicker_listed(self) -> bool:
        """Whether a list in balls is quicker than the contour that floats prefer.

        A node costs one theta function a term, a value of the loss one product. The law of equal events is
        listed whole, which is about sqrt(times) as long as its bulk.
        """
        evaluations, first = self._evaluations, self.engine
        if evaluations.is_coarse or not isinstance(first, Quadrature) or first.fallback is None:
            return False
        size = math.log(evaluations.listed) + 0.5 * sum(math.log(term.times) for term in self.loss.terms)
        return size <= math.log(_QUICKLY_LISTED)

    def _refine(self, kind: Kind, threshold: Fraction, tail: Tail, i: int, accuracy: float) -> None:
        """Replace a tail that floats cannot compute by one from ball arithmetic."""
        from discreet.loss.certified.intervals import refined_log

        reached = float(tail.error[i])
        try:
            if not self.has_quick_balls:
                raise PrecisionError
            tail.log[i] = refined_log(self, kind, threshold, accuracy=ACCURACY)
            tail.error[i] = ACCURACY
        except PrecisionError:
            if not reached <= accuracy:
                raise PrecisionError(
                    f"the value at {float(threshold):.6g} could be computed only to a relative accuracy of "
                    f"{reached:.1g}, not {accuracy:.1g}: {self.why_hard()}"
                ) from None

    def why_hard(self) -> str:
        """Why this composition is hard to compute."""
        if self._evaluations.is_coarse:
            return (
                f"losses {brief(self.loss.step, 3)} apart have probabilities that differ too much for floats"
            )
        return (
            f"{len(self.events)} kinds of noise whose losses have no usable common step (it is "
            f"{brief(self.loss.step, 2)}); variances or scales that are short fractions of one another help"
        )

    def epsilon_moves(self, deltas: list[Fraction], epsilons: Floats, off: float) -> Floats:
        """By how much epsilons move if their deltas change by this relative amount."""
        if self.deterministic_shift is not None:
            shift, others = self.deterministic_shift
            return others.epsilon_moves(deltas, epsilons - float(shift), off)
        with self.within_floats():
            return Inversion(self).moves(deltas, epsilons, off)

    def _epsilons_and_errors(self, deltas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """Epsilons and their errors."""
        if self.deterministic_shift is not None and all(log_fraction(d) > LOG_SMALLEST for d in deltas):
            shift, others = self.deterministic_shift
            epsilons, errors = others._epsilons_and_errors(deltas, accuracy)
            epsilons = epsilons + float(shift)
            return epsilons, errors + 2.3e-16 * np.abs(epsilons)
        return Inversion(self).epsilons(deltas, max(accuracy, self._aim or 0.0))

    # -- the trade-off curve -----------------------------------------------------------------------

    @cached_property
    def curve(self) -> TradeOff:
        """The evaluation of the trade-off curve."""
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
            singly=isinstance(self.engine, ListEvaluator),
        )

    def _tradeoffs(self, alphas: list[Fraction], accuracy: float) -> tuple[Floats, Floats]:
        """f and its relative errors, by ball arithmetic where floats are not accurate enough, or refused."""
        from discreet.loss.certified.tradeoffs import certified_tradeoff

        # the test by the sign of the loss has errors of at most e^K(-1/2): if that is below every float, so
        # is f, and a ball for it would need millions of bits
        half = float(self.loss.log_mgf(np.array([-0.5]))[0]) if self.loss.terms else 0.0
        lowest = (
            LOG_SMALLEST
            if self.deterministic_shift is not None
            else half
            if half < LOG_SMALLEST - 1
            else math.inf
        )
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
        if self.deterministic_shift is not None:
            shift, others = self.deterministic_shift
            return [t - shift for t in others.tradeoff_thresholds(alphas)]
        return self.curve.thresholds(alphas)

    @property
    def has_exact_thresholds(self) -> bool:
        """Whether `tradeoff_thresholds` are values of the loss, and not only close to values."""
        return self.deterministic_shift is None and self.curve.next_value is not None

    def null_tails(self, points: list[Fraction]) -> Floats:
        """P_null[L > t]; above one half as 1 - P_alt[L >= -t], which takes fewer nodes."""
        if self.deterministic_shift is not None:
            shift, others = self.deterministic_shift
            return others.null_tails([t + shift for t in points])
        tails, mean = np.zeros(len(points)), self.mean
        # below the mean most values exceed one half, but not where atoms lie far apart
        low = [i for i, t in enumerate(points) if t < -mean]
        tails[low] = -np.expm1(self.log_tails(Kind.ALT, [self.loss.below(-points[i]) for i in low]))
        direct = np.flatnonzero(tails < 0.5)
        tails[direct] = np.exp(self.log_tails(Kind.NULL, [points[i] for i in direct]))
        return tails

    def rough_log_delta(self, epsilon: Fraction) -> float:
        """log delta, as exact as ever: it is quick."""
        return float(self.log_deltas([epsilon])[0])

    def second_opinions(
        self, epsilon: Fraction, level: Fraction, *, binds: bool
    ) -> Sequence[Iterator[tuple[Interval, str]]]:
        """The definition, and another contour; first a coarse one where much room is left."""
        from discreet.loss.second_opinion import lattice_opinions

        return lattice_opinions(self, epsilon, level, binds=binds)

    def knots(self, low: Fraction, high: Fraction, most: int) -> tuple[Knots, float]:
        """Corners of f with alpha between two ends, and their relative error."""
        return self.curve.knots(low, high, most)

    def errors_at(self, thresholds: list[Fraction]) -> tuple[Floats, Floats]:
        """Type I and type II errors: P_alt[L <= t] = P_null[L >= -t], by symmetry."""
        return self.null_tails(thresholds), self.null_tails([self.loss.below(-t) for t in thresholds])

    # -- beliefs ------------------------------------------------------------------------------------

    @property
    def largest(self) -> Fraction | None:
        """The largest loss."""
        return self.loss.largest

    def quantiles(self, chances: Sequence[float]) -> Floats:
        """Points of the lattice."""
        from discreet.loss.quantiles import loss_quantiles

        return loss_quantiles(self, chances)

    def mean_posteriors(self, priors: Sequence[Fraction]) -> list[float]:
        """By the transform of the loss."""
        from discreet.loss.posteriors import mean_posteriors

        means: list[float] = mean_posteriors([self.events], priors)[0].tolist()
        return means

    def naming_chances(self, priors: Sequence[Fraction]) -> list[tuple[float, float]]:
        """By both tails."""
        from discreet.loss.quantiles import both_tails

        odds = np.array([math.log(1 - p) - math.log(p) for p in priors])
        pairs = zip(*(tails.tolist() for tails in both_tails(self, odds)), strict=True)
        # a coin decides ties; the loss is as likely to be l with the target as -l without
        return [
            (true, false) if 2 * p != 1 else ((1.0 + true - false) / 2.0, (1.0 - true + false) / 2.0)
            for p, (true, false) in zip(priors, pairs, strict=True)
        ]

    def prior_deltas(self, priors: Sequence[Fraction]) -> Floats:
        """The same in both directions."""
        return np.asarray(self.delta(epsilon=[prior_threshold(p) for p in priors]))

    def advantage_and_deltas(self, priors: Sequence[Fraction]) -> tuple[float, list[float]]:
        """On the same contours."""
        none, *deltas = self.prior_deltas([Fraction(1, 2), *priors]).tolist()
        return none, deltas

    # -- the loss itself ----------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        """Mean of the loss under the alternative: the Kullback-Leibler divergence."""
        return float(sum(term.times * term.mean_loss for term in self.loss.terms))

    @property
    def variance(self) -> float:
        """Variance of the loss."""
        return self.loss.tilted_moments(0.0)[1] if self.loss.terms else 0.0

    def __repr__(self) -> str:
        count = sum(event.times for event in self.events)
        return f"{count} events of {len(self.events)} kinds, R = {brief(self.loss.R)}"


def _is_settled(term: LatticeNoise) -> bool:
    """Whether a term has its likeliest loss, except with a chance far below the smallest float."""
    rate = 1 / (2 * term.size if term.largest is None else term.size)
    return math.log(3 * term.times) - float(rate) < 1.1 * LOG_SMALLEST
