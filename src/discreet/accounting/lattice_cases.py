"""All cases of an account whose losses lie on lattices, and are mirrored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting.case_sets import CaseSet, LeastError
from discreet.accounting.envelope import envelope
from discreet.accounting.privacy_loss import compose
from discreet.budget.neighbours import CaseLabel, Cases
from discreet.loss.all_pairs import AllPairs, both_errors
from discreet.loss.curves import Quantity
from discreet.loss.lattice import Floats
from discreet.loss.lattice_evaluator import F_ROUNDING
from discreet.loss.values import held
from discreet.noise import Noise
from discreet.numbers import Interval

if TYPE_CHECKING:
    from discreet.loss.certified.all_cases import UpperBounds

TOGETHER = "another contour for all"
"""How bounds of all cases are made for a second opinion."""

_ENOUGH = 4  # with at least this many cases, all are evaluated together
_ATTAINED = 1e-7  # relative: so close to the curve of one case, the envelope is that curve


class LatticeCases(CaseSet):
    """Cases whose losses all lie on lattices, and are mirrored."""

    method = "transform"
    is_provable = True

    @cached_property
    def together(self) -> AllPairs | None:  # type: ignore[override]
        """All cases evaluated together, if there are enough of them."""
        cases = self.account.cases
        return AllPairs(cases) if isinstance(cases, Cases) and len(cases) >= _ENOUGH else None

    @cached_property
    def upper_bounds(self) -> UpperBounds | None:  # type: ignore[override]
        """Proofs for all cases together."""
        from discreet.loss.certified.all_cases import UpperBounds

        return None if self.together is None else UpperBounds(self.together)

    def bounded_rows(self, numbers: list[int], thresholds: list[Fraction]) -> None:
        """There is no need: one contour bounds all cases, and few cases are evaluated one by one."""

    def tradeoffs(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """f, the envelope of all cases."""
        points = envelope(self.account, alphas)
        errors = np.array([point.error + F_ROUNDING for point in points])
        return held(np.array([point.beta for point in points]), errors, "down")

    def least_errors(self, alphas: Sequence[Fraction]) -> list[LeastError]:
        """f, and the case that attains the envelope, unless two of them meet there."""
        points = envelope(self.account, [*alphas])
        errors = np.array([point.error + F_ROUNDING for point in points])
        least, _ = held(np.array([point.beta for point in points]), errors, "down")
        rates = []
        for beta, point in zip(least, points, strict=True):
            own = point.own
            if own is None:
                own = float(self.account.case(point.worst).tradeoff(alpha=point.alpha))
            is_above = own > float(point.beta) * (1 + _ATTAINED) + _ATTAINED * 1e-6
            rates.append(LeastError(float(beta), point.worst, not is_above))
        return rates

    def least_error(self, alpha: Fraction) -> tuple[float, CaseLabel]:
        """f, and the case that it is of."""
        (line,) = envelope(self.account, [alpha])
        return line.beta, line.worst

    def threshold(self, alpha: Fraction, worst: CaseLabel) -> float:
        """That of the supporting line."""
        (line,) = envelope(self.account, [alpha])
        return float(line.threshold)

    def intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals: the lower end from one case, the upper from all."""
        from discreet.accounting import proofs

        prove = {
            "delta": proofs.certified_deltas,
            "epsilon": proofs.certified_epsilons,
            "beta": proofs.certified_tradeoffs,
        }[quantity]
        return prove(self.account, at, digits)

    def largest_loss_box(self, largest: Fraction) -> Interval:
        """The fraction itself."""
        return Interval(largest, largest)

    def other_bounds(
        self, epsilon: Fraction, likely: CaseLabel, waiting: int
    ) -> tuple[Mapping[CaseLabel, Fraction], str]:
        """Upper bounds by one contour for all, beside that of certificates."""
        from discreet.loss.certified.all_cases import UpperBounds
        from discreet.loss.second_opinion import LEAN, above

        if self.together is None:
            return {}, TOGETHER
        loss = self.account.case(likely).law.on_lattice().loss
        tops = UpperBounds(self.together).at(epsilon, loss, lean=LEAN)
        return {self.account.label(k): above(top) for k, top in enumerate(tops) if top.is_finite()}, TOGETHER

    def errors(self, thresholds: list[Fraction]) -> tuple[Floats, Floats, list[int]]:
        """Type I and type II errors of different cases at thresholds, and the row of each case."""
        rows: dict[tuple[Noise, ...], int] = {}
        which = [rows.setdefault(events, len(rows)) for _, events in self.account.cases]
        laws = [compose(events).law.on_lattice() for events in rows]
        with np.errstate(under="ignore"):
            alpha, beta = both_errors([law.loss for law in laws], thresholds)
        for row, law in enumerate(laws):
            open_ = np.flatnonzero(np.isnan(alpha[row]) | np.isnan(beta[row]))
            if open_.size:
                with law.within_floats():
                    pair = law.errors_at([thresholds[i] for i in open_])
                alpha[row, open_], beta[row, open_] = pair
        return alpha, beta, which
