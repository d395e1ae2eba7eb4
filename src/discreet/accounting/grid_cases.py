"""All cases of an account with noise of any laws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.accounting.case_sets import CaseSet, LeastError
from discreet.budget.neighbours import CaseLabel
from discreet.errors import InputError, PrecisionError
from discreet.loss.contour import Kind
from discreet.loss.curves import Quantity
from discreet.loss.grid_evaluator import GridEvaluator, lowest_test
from discreet.loss.lattice import Floats
from discreet.loss.proved_cases import ProvedCases
from discreet.loss.second_opinion import GRID
from discreet.loss.values import held
from discreet.noise.capabilities import require
from discreet.numbers import Interval

_MANY_LAWS = 12  # different cases from which on upper bounds of all of them are worth it


class GridCases(CaseSet):
    """Cases with noise of any laws."""

    method = "values"

    @cached_property
    def proved(self) -> ProvedCases:
        """Proofs for all cases together."""
        return ProvedCases(self.account.cases, self.account.events(self.account.main))

    @property
    def is_provable(self) -> bool:
        """Whether an easy proof succeeds: only those of few cases, or of few events, do."""
        try:
            self.account.delta(epsilon=1, certified=True, digits=2)
        except (InputError, PrecisionError):
            return False
        return True

    def bounded_rows(self, numbers: list[int], thresholds: list[Fraction]) -> tuple[Floats, Floats] | None:
        """Rule cases out by upper bounds of all of them on one grid."""
        if len(numbers) < _MANY_LAWS:
            return None
        logs = np.full((len(numbers), len(thresholds)), -math.inf)
        errors = np.zeros(logs.shape)
        for k, threshold in enumerate(thresholds):
            bounds = self.proved.bounds(threshold)
            if bounds is None:
                return None
            with np.errstate(divide="ignore"):
                tops = np.log(bounds[numbers])
            open_ = [int(np.argmax(tops))]
            while open_:
                chosen = [numbers[row] for row in open_]
                tails = self.account.evaluated(chosen, Kind.DELTA, [[threshold]] * len(open_))
                for row, tail in zip(open_, tails, strict=True):
                    logs[row, k], errors[row, k], tops[row] = tail.log[0], tail.error[0], -math.inf
                least = float((logs[:, k] - errors[:, k]).max())
                open_ = [int(row) for row in np.flatnonzero(tops > least)]
        return logs, errors

    def tradeoffs(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """f, by the best test of all cases together."""
        different = dict.fromkeys(events for _, events in self.account.cases)
        laws = [GridEvaluator(events) for events in different]
        tests = [lowest_test(laws, alpha)[:2] for alpha in alphas]
        return held(np.array([beta for beta, _ in tests]), np.array([off for _, off in tests]), "down")

    def least_errors(self, alphas: Sequence[Fraction]) -> list[LeastError]:
        """f of all cases together, whichever of them it is."""
        least = np.asarray(self.account.tradeoff(alpha=[*alphas]))
        return [LeastError(float(beta), None, False) for beta in least]

    def least_error(self, alpha: Fraction) -> tuple[float, CaseLabel]:
        """f, and the main case."""
        return float(self.account.tradeoff(alpha=alpha)), self.account.main

    def threshold(self, alpha: Fraction, worst: CaseLabel) -> float:
        """That of one case."""
        (near,) = self.account.law(worst).tradeoff_thresholds([alpha])
        return max(float(near), 0.0)

    def intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals for the largest delta of all cases, and for its epsilon."""
        if quantity == "beta":
            require("proved trade-off", self.account.all_events)
        prove = self.proved.delta if quantity == "delta" else self.proved.epsilon
        return [prove(x, digits) for x in at]

    def largest_loss_box(self, largest: Fraction) -> Interval:
        """The largest loss of tables is no fraction."""
        return self.intervals("epsilon", [Fraction(0)], None)[0]

    def other_bounds(
        self, epsilon: Fraction, likely: CaseLabel, waiting: int
    ) -> tuple[Mapping[CaseLabel, Fraction], str]:
        """Upper bounds of all cases on one coarse grid."""
        bounds = self.proved.bounds(epsilon) if waiting > 3 else None
        if bounds is None:
            return {}, GRID
        return {self.account.label(k): Fraction(float(bound)) for k, bound in enumerate(bounds)}, GRID

    def errors(self, thresholds: list[Fraction]) -> tuple[Floats, Floats, list[int]]:
        """Refused."""
        require("errors", self.account.all_events)
        raise AssertionError("noise that answers this lies on a lattice")
