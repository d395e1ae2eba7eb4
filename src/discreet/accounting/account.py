"""The account of a whole release: the worst over all cases that its neighbour relation allows.

A case is one pair of paths (bounded neighbours) or one path (unbounded). Overall

    delta(eps) = max over cases,   f = lower convex envelope of the minimum over cases,

and the two are dual: f(alpha) = sup over l of min over cases of beta(l) + e^l (alpha(l) - alpha).

*Several releases at once.* The same person has a path (or a pair of paths) in each release. Releases over the
same spine are joined path by path: the person has the same path in each. The spines of different products
combine in every way, since it is not known which paths go together; that can only overstate the cost. The
main paths alone bound nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.case_sets import CaseSet, LeastError, case_set_of
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget.claims import AnswerKind, Claim
from discreet.budget.events import Releasable, Releasables, releases_of
from discreet.budget.neighbours import (
    RELATIONS,
    Case,
    CaseLabel,
    Cases,
    Neighbours,
    case_name,
    cases,
    joint_cases,
)
from discreet.budget.one_area import levels_with_one_area
from discreet.budget.release import Release
from discreet.budget.scope import Extent, Scope
from discreet.calls import understandable
from discreet.errors import InputError
from discreet.faces import LONGEST, Displayed, Summarised
from discreet.loss.all_pairs import FARTHEST, AllPairs, is_at_end
from discreet.loss.candidates import TIE, Candidates
from discreet.loss.contour import Kind, Tail
from discreet.loss.curves import Curves, Quantity
from discreet.loss.evaluation import has_short_contour
from discreet.loss.inversion import NEXT_TO_ONE
from discreet.loss.lattice import Floats, Loss, log_fraction
from discreet.loss.law import COARSEST, NoiseLossLaw, loss_of
from discreet.loss.values import Many, Number, Numbers, held, read, read_probabilities, rounded
from discreet.noise import Noise
from discreet.numbers import Interval, float_up

if TYPE_CHECKING:
    pass

MOST_COMBINATIONS = 200_000
"""Joint cases of several releases that are compared."""

_EXACT = 3e-13  # values known better than this are not evaluated again
_GRID = 2**14  # points of a grid that bounds cases from above ...
_FINE_GRIDS = (2**18, 2**20, 2**21)  # ... and of finer ones, still cheaper than evaluating hard cases
_HOPEFUL = 64  # with at most this many cases, octaves are tried although one has ruled out none
_MANY = 4  # open thresholds a case; with more, a case is evaluated at all of them together
_ENOUGH = 4  # with at least this many open cases, all are bounded on one grid first


@dataclass(frozen=True, slots=True)
class Point(Summarised):
    """One point of the overall curve, the case that attains it, and what kind of answer it is.

    >>> print(*account("dhc-2020").at_delta("1e-10"))
    epsilon 24.456514 (exact) at delta 1e-10, worst case (6, 6)
    """

    epsilon: float
    delta: float
    worst: CaseLabel
    claim: Claim
    accuracy: float = 0.0
    """The largest error of the number asked for: relative for a delta, absolute for an epsilon."""

    @property
    def kind(self) -> AnswerKind:
        """What kind of answer it is."""
        return self.claim.kind

    @property
    def paths(self) -> tuple[int, ...]:
        """The paths of the worst case, of one release."""
        return tuple(path for path in self.worst if isinstance(path, int))


@dataclass(frozen=True, repr=False)
class Account(Curves, Displayed):
    """What a release costs one person: exactly, or as far as `claim` says.

    Guarantee. For neighbouring databases in the stated relation, the whole release is
    (epsilon, delta(epsilon))-differentially private, and no smaller delta holds for the cases listed.
    What that does and does not cover: docs, "What the guarantee covers".

    >>> from discreet.budget import load
    >>> whole = account(load("dhc-2022-08-25"), neighbours="unbounded")
    >>> round(whole.epsilon(delta="1e-10"), 4)
    20.3247
    """

    name: str
    unit: str
    neighbours: Neighbours
    cases: Sequence[Case]
    main: CaseLabel
    people: int = 1
    jobs: int = 1
    progress: Progress | None = None
    stated: Claim = field(kw_only=True)
    """What an account of all cases claims; `claim` is that of the cases compared."""
    every: Sequence[Case] = field(kw_only=True)
    """All cases that the relation allows, whether they are compared or not."""
    accuracy: float | None = None
    """The accuracy to stop at, relative in delta and f, absolute in epsilon; None: all digits of a float."""
    one_area: tuple[str, ...] = ()
    """Levels with one area, whose totals are left out where no neighbour can change them."""

    @cached_property
    def claim(self) -> Claim:
        """What the numbers claim: of the cases compared, and of no others.

        >>> from discreet.budget import load
        >>> whole = account(load("dhc-2020"))
        >>> whole.claim.scope.is_whole, whole.only([(6, 6), (6, 13)]).claim.scope.words
        (True, 'the pairs of paths (6, 6) and (6, 13), 2 of 946')
        """
        return replace(self.stated, scope=self.scope)

    @cached_property
    def scope(self) -> Scope:
        """What the numbers are true of, from the cases that are compared."""
        noun = "pair of paths" if self.neighbours == "bounded" else "path"
        if self.cases is self.every:
            part = Extent(noun, len(self.cases), len(self.every), ())
        else:
            part = Extent.of(
                noun, taken=map(case_name, _labels(self.cases)), every=map(case_name, _labels(self.every))
            )
        about = replace(self.stated.scope, unit=self.unit, neighbours=self.neighbours, people=self.people)
        return about.with_part(part)

    def only(self, labels: Sequence[CaseLabel]) -> Account:
        """The account of some cases alone, which says so.

        >>> account("dhc-2020").only([(6, 6)]).scope.words
        'the pair of paths (6, 6), 1 of 946'
        """
        chosen = [(label, self.events(label)) for label in labels]
        main = self.main if self.main in labels else labels[0]
        return Account(
            self.name,
            self.unit,
            self.neighbours,
            chosen,
            main,
            self.people,
            self.jobs,
            self.progress,
            stated=self.stated if len(self.every) == 1 else self.stated.of_one_path(),
            every=self.every,
            one_area=self.one_area,
        )

    def only_main(self) -> Account:
        """The account of the main case alone, which bounds nothing.

        >>> account("dhc-2020").only_main().claim.kind.label
        'main path only'
        """
        if len(self.cases) == 1:
            return self
        only = self.only([self.main])
        return replace(only, stated=self.stated.weakened(AnswerKind.MAIN))

    # -- single cases ------------------------------------------------------------------------------

    @cached_property
    def _losses(self) -> dict[CaseLabel, PrivacyLoss]:
        return {}

    @cached_property
    def _coarser(self) -> dict[CaseLabel, NoiseLossLaw]:
        return {}

    def _number_of(self, label: CaseLabel) -> int | None:
        if isinstance(self.cases, Cases):
            return self.cases.find(label)
        return next((k for k, (own, _) in enumerate(self.cases) if own == label), None)

    def label(self, number: int) -> CaseLabel:
        """The label of a case by its number."""
        return self.cases.label(number) if isinstance(self.cases, Cases) else self.cases[number][0]

    def events(self, label: CaseLabel) -> tuple[Noise, ...]:
        """The events of one case by its label; the other cases are not built."""
        number = self._number_of(label)
        if number is None:
            raise InputError(f"there is no case {label} in {self.name} ({self.neighbours} neighbours)")
        return self.cases[number][1]

    def case(self, label: CaseLabel) -> PrivacyLoss:
        """The loss of one case by its label."""
        if label not in self._losses:
            self._losses[label] = compose(self.events(label))
        return self._losses[label]

    def law(self, label: CaseLabel) -> NoiseLossLaw:
        """How one case is computed, to the accuracy of this account."""
        if self.accuracy is None:
            return self.case(label).law
        if label not in self._coarser:
            self._coarser[label] = loss_of(self.events(label), aim=self.accuracy)
        return self._coarser[label]

    @cached_property
    def rho(self) -> Fraction:
        """The largest zCDP rho of a case, exactly."""
        from discreet.accounting.zcdp import zcdp_rho

        return self.largest(zcdp_rho)

    def largest(self, cost: Callable[[tuple[Noise, ...]], Fraction]) -> Fraction:
        """The largest cost of a case, for a cost that adds up over events."""
        if isinstance(self.cases, Cases):
            return self.cases.largest(cost)
        return max(cost(events) for _, events in self.cases)

    @property
    def pairs(self) -> int:
        """How many cases are compared."""
        return len(self.cases)

    def __repr__(self) -> str:
        whom = f"one {self.unit}" if self.people == 1 else f"{self.people} of unit {self.unit}"
        cases = f"{self.pairs} case{'s' * (self.pairs > 1)}"
        words = f": {self.claim.kind.value} for {whom}, {self.neighbours} neighbours, {cases}"
        room = LONGEST - len(f"<{type(self).__name__}: {words}>")
        name = self.name if len(self.name) <= room else f"{self.name[: max(room - 4, 0)]} ..."
        return f"<{type(self).__name__}: {name}{words}>"

    def with_workers(self, jobs: int, progress: Progress | None = None) -> Account:
        """A copy that is computed in several processes."""
        return replace(self, jobs=jobs, progress=progress)

    def with_accuracy(self, accuracy: float | None) -> Account:
        """A copy that stops at this accuracy, and is faster.

        >>> from discreet.budget import load
        >>> account(load("pl94-2020-units")).with_accuracy(1e-3).epsilon(delta="1e-10")
        2.3633
        """
        return replace(self, accuracy=accuracy)

    # -- the curve -----------------------------------------------------------------------------------

    @cached_property
    def all_events(self) -> tuple[Noise, ...]:
        """The events of all cases, each once."""
        if isinstance(self.cases, Cases):
            lists = [events for group in self.cases.groups for events in group.events]
        else:
            lists = [events for _, events in self.cases]
        return tuple(dict.fromkeys(event for events in lists for event in events))

    @cached_property
    def case_set(self) -> CaseSet:
        """What is computed for all cases together."""
        return case_set_of(self)

    @property
    def together(self) -> AllPairs | None:
        """All cases evaluated together, where there are enough of them to be worth it."""
        return self.case_set.together

    def extremes(
        self, kind: Kind, thresholds: list[Fraction], *, only_likeliest: bool = False
    ) -> list[tuple[float, CaseLabel, float]]:
        """The largest delta(t), or the least 1 - delta(t), of all cases: its logarithm, its case, its error.

        All cases are evaluated together, each with a bound on its error; only those that could be the extreme
        are then evaluated one by one. With `only_likeliest`, only the likeliest of them.
        """
        if not thresholds:
            return []
        one_by_one = [
            self.together is None or (kind is Kind.DELTA and is_at_end(self.together.main, t))
            for t in thresholds
        ]
        if any(one_by_one) and not all(one_by_one):
            parts = {
                way: iter(
                    self.extremes(
                        kind,
                        [t for t, alone in zip(thresholds, one_by_one, strict=True) if alone is way],
                        only_likeliest=only_likeliest,
                    )
                )
                for way in (True, False)
            }
            return [next(parts[alone]) for alone in one_by_one]
        sign = 1.0 if kind is Kind.DELTA else -1.0
        main = self._number_of(self.main)
        if self.together is None or all(one_by_one):
            every = np.arange(len(self.cases))
            # different pairs of paths may have the same events, which are evaluated once
            firsts: dict[tuple[Noise, ...], int] = {}
            which = [firsts.setdefault(events, k) for k, (_, events) in enumerate(self.cases)]
            numbers = list(firsts.values())
            rows = self.case_set.bounded_rows(numbers, thresholds) if kind is Kind.DELTA else None
            if rows is None:
                tails = self.evaluated(numbers, kind, [thresholds] * len(numbers))
                rows = np.array([tail.log for tail in tails]), np.array([tail.error for tail in tails])
            of_first = {number: row for row, number in enumerate(numbers)}
            chosen = [of_first[which[k]] for k in every]
            logs, errors = rows[0][chosen], rows[1][chosen]
            per_threshold = [
                Candidates.evaluated(k, sign * logs[:, k], errors[:, k], every)
                for k in range(len(thresholds))
            ]
        else:
            enough = max(_EXACT, (self.accuracy or 0.0) / 50)
            per_threshold = [Candidates(scan, sign, enough) for scan in self.together.scan(kind, thresholds)]
            self._settle(per_threshold, kind, thresholds, sign, (True,) if only_likeliest else (True, False))
        extremes: list[tuple[float, CaseLabel, float]] = [(0.0, self.main, 0.0)] * len(thresholds)
        for candidates in per_threshold:
            known = candidates.known
            best = float(candidates.log[known].max())
            # equal up to rounding: name the main case, or otherwise the first
            equal = candidates.numbers[(candidates.log >= best - TIE) & known]
            number = next((int(k) for k in equal if k == main), int(equal[0]))
            error = 0.0  # of a probability of zero
            if best > -math.inf:
                error = float((candidates.log + candidates.slack)[known].max()) - best
            extremes[candidates.threshold] = (sign * best, self.label(number), error)
        return extremes

    def _settle(
        self,
        per_threshold: list[Candidates],
        kind: Kind,
        thresholds: list[Fraction],
        sign: float,
        rounds: tuple[bool, ...],
    ) -> None:
        """Evaluate candidates not known well enough, the likeliest first: it rules out most others."""
        for likeliest in rounds:
            if not likeliest:
                self._rule_out(per_threshold, kind, thresholds)
            wanted: dict[int, list[Candidates]] = {}
            for candidates in per_threshold:
                for number in candidates.open(likeliest=likeliest):
                    wanted.setdefault(int(number), []).append(candidates)
            # different pairs of paths may have the same events, which are evaluated once
            alike: dict[tuple[Noise, ...], list[int]] = {}
            for number in wanted:
                alike.setdefault(self.cases[number][1], []).append(number)
            numbers = [same[0] for same in alike.values()]
            asked = [
                sorted({candidates.threshold for number in same for candidates in wanted[number]})
                for same in alike.values()
            ]
            rows = self.evaluated(numbers, kind, [[thresholds[k] for k in row] for row in asked])
            for same, row, tail in zip(alike.values(), asked, rows, strict=True):
                known = {k: (tail.log[n], tail.error[n]) for n, k in enumerate(row)}
                for number in same:
                    for candidates in wanted[number]:
                        log, error = known[candidates.threshold]
                        candidates.settle(number, sign * float(log), float(error))

    def _rule_out(self, per_threshold: list[Candidates], kind: Kind, thresholds: list[Fraction]) -> None:
        """Rule out candidates by what is cheaper than evaluating them.

        First by upper bounds on one grid for all of them, then by octaves of the contour beyond the core.
        Where an octave has too many nodes, evaluating a case may take seconds; then a finer grid is tried.
        """
        assert self.together is not None
        open_cases = [candidates.open(likeliest=False) for candidates in per_threshold]
        if sum(map(len, open_cases)) > _MANY * len(np.unique(np.concatenate(open_cases))):
            return  # evaluating a case settles all its thresholds together
        for candidates in per_threshold:
            threshold = thresholds[candidates.threshold]
            is_bounded = kind is Kind.DELTA and len(self.together.paths) == 1
            numbers = candidates.open(likeliest=False)
            if is_bounded and numbers.size >= _ENOUGH:
                candidates.bound(numbers, *self.together.on_grid(threshold, numbers, _GRID))
            given_up: set[int] = set()
            left = numbers.size
            for octave in range(FARTHEST):
                before, left = left, candidates.open(likeliest=False).size
                # what lies beyond falls to an eighth with every octave
                is_far = candidates.excess() > TIE * 8.0 ** (FARTHEST - octave)
                if octave > 1 and is_far and left == before > _HOPEFUL:
                    break  # the cases are nearly equal: evaluating them one by one is faster
                for number in set(map(int, candidates.open(likeliest=False))) - given_up:
                    more = self.together.outward(kind, threshold, number, octave)
                    if more is None:
                        given_up.add(number)
                    else:
                        candidates.add(number, *more)
            if not is_bounded or len(given_up) < 2:
                continue
            hard = {number for number in given_up if not has_short_contour(Loss(self.cases[number][1]))}
            for size in _FINE_GRIDS:
                numbers = np.array([k for k in candidates.open(likeliest=False) if int(k) in hard])
                if numbers.size > 1:
                    candidates.bound(numbers, *self.together.on_grid(threshold, numbers, size))

    def evaluated(
        self, numbers: Sequence[int] | NDArray[np.int64], kind: Kind, thresholds: Sequence[list[Fraction]]
    ) -> list[Tail]:
        """Tails of each chosen case at its own thresholds, evaluated one by one."""
        if len(numbers) < 64:
            return [
                self.law(self.label(int(number))).tails(kind, row, self.accuracy or COARSEST)
                for number, row in zip(numbers, thresholds, strict=True)
            ]
        tasks = [
            (self.cases[int(k)][1], kind, row, self.accuracy)
            for k, row in zip(numbers, thresholds, strict=True)
        ]
        return map_cases(_tails_of_case, tasks, jobs=self.jobs, progress=self.progress)

    def _log_deltas(
        self, epsilons: list[Fraction], *, only_likeliest: bool = False
    ) -> list[tuple[float, CaseLabel, float]]:
        """log of the overall delta at epsilons of either sign, the cases that attain it, and its error."""
        extremes = self.extremes(Kind.DELTA, [abs(e) for e in epsilons], only_likeliest=only_likeliest)
        return [
            (log if e >= 0 else math.log(-math.expm1(e) + math.exp(float(e) + log)), label, error)
            for e, (log, label, error) in zip(epsilons, extremes, strict=True)
        ]

    def _heights(
        self, epsilons: list[Fraction], deltas: list[Fraction], *, only_likeliest: bool = False
    ) -> list[tuple[float, CaseLabel, float]]:
        """How far log delta overall lies above a given one at each epsilon, the case, and the error.

        Near 1 the logarithms are those of 1 - delta: 1 - delta(-e) = e^-e (1 - delta(e)).
        """
        heights: list[tuple[float, CaseLabel, float]] = [(0.0, self.main, 0.0)] * len(deltas)
        logs = self.extremes(Kind.DELTA, [abs(e) for e in epsilons], only_likeliest=only_likeliest)
        lacking = []
        for k, (log, label, error) in enumerate(logs):
            delta, e = math.exp(log), min(float(epsilons[k]), 0.0)
            if deltas[k] <= NEXT_TO_ONE:
                whole = math.log(-math.expm1(e) + math.exp(e + log)) if e < 0 else log
                heights[k] = (whole - log_fraction(deltas[k]), label, error)
            elif delta <= 0.5:
                rest = log_fraction(1 - deltas[k]) - e - math.log1p(-delta)
                heights[k] = (rest, label, 2 * delta * error)
            else:
                lacking.append(k)
        rests = self.extremes(Kind.REST, [epsilons[k] for k in lacking], only_likeliest=only_likeliest)
        for k, (log, label, error) in zip(lacking, rests, strict=True):
            heights[k] = (log_fraction(1 - deltas[k]) - log, label, error)
        return heights

    def _largest_loss(self) -> Fraction | None:
        return self._largest[0]

    @cached_property
    def _largest(self) -> tuple[Fraction | None, CaseLabel]:
        """The largest loss that can occur in any case, and the case; None where there is no bound."""
        if any(event.largest is None for event in self.events(self.main)):
            return None, self.main
        largest: tuple[Fraction, CaseLabel] = (Fraction(0), self.main)
        for label, events in self.cases:
            total = Fraction(0)
            for event in events:
                if event.largest is None:
                    return None, label
                total += event.times * event.largest
            largest = (total, label) if total > largest[0] else largest
        return largest

    def _floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats | None]:
        """The values for the whole release, and the error of each."""
        curve = self if accuracy is None else self.with_accuracy(accuracy)
        if quantity == "beta":
            return curve._tradeoffs(at)
        points = curve.at_epsilon(at) if quantity == "delta" else curve.at_delta(at)
        values = [p.delta if quantity == "delta" else p.epsilon for p in points]
        return np.array(values), np.array([p.accuracy for p in points])

    def _tradeoffs(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """f and its relative errors, rounded to the digits that hold."""
        if len(self.cases) == 1:
            return self.law(self.main)._floats("beta", alphas, None)
        return self.case_set.tradeoffs(alphas)

    def least_errors(self, alphas: Sequence[Fraction]) -> list[LeastError]:
        """f at each alpha, rounded down, the case where it is least, and whether that case attains it."""
        if len(self.cases) > 1:
            return self.case_set.least_errors(alphas)
        return [
            LeastError(float(beta), self.main, True) for beta in np.asarray(self.tradeoff(alpha=[*alphas]))
        ]

    def _intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values of the whole release."""
        return self.case_set.intervals(quantity, at, digits)

    def _pure(self, largest: Fraction) -> Interval:
        return self.case_set.largest_loss_box(largest)

    def at_epsilon(self, epsilon: Numbers) -> list[Point]:
        """Points of the overall curve at these epsilons, with the cases that attain them."""
        wanted = read(epsilon, name="epsilon").values
        logs, worst, errors = zip(*self._log_deltas(wanted), strict=True) if wanted else ((), (), ())
        with np.errstate(under="ignore"):
            deltas, off = held(np.exp(np.array(logs)), np.array(errors), "up", most=1.0)
        return [
            Point(float(e), float(delta), label, self.claim, float(accuracy))
            for e, delta, label, accuracy in zip(wanted, deltas, worst, off, strict=True)
        ]

    def at_delta(self, delta: Numbers) -> list[Point]:
        """Points of the overall curve at these deltas, with the cases that attain them.

        From the main case's epsilon upwards: the case with the largest delta there is solved next, until no
        case has a larger one. On the way only the likeliest cases are evaluated; at the end all are compared.
        """
        wanted = read_probabilities(delta, name="delta", zero=True).values
        if not all(wanted):
            size, label = self._largest
            pure = Point(math.inf if size is None else float_up(size), 0.0, label, self.claim)
            finite = [small for small in wanted if small]
            others = iter(self.at_delta(finite) if finite else ())
            return [next(others) if small else pure for small in wanted]
        start, off = self.law(self.main)._floats("epsilon", wanted, None)
        epsilons, errors = start.tolist(), off.tolist()
        worst = [self.main] * len(wanted)
        for only_likeliest in (True, False):
            open_ = list(range(len(wanted))) if len(self.cases) > 1 else []
            while open_:
                here = [Fraction(epsilons[k]) for k in open_]
                targets = [wanted[k] for k in open_]
                heights = self._heights(here, targets, only_likeliest=only_likeliest)
                raised = []
                for k, (height, label, _) in zip(open_, heights, strict=True):
                    if height <= TIE or label == worst[k]:
                        continue
                    better = self.law(label).epsilon(delta=wanted[k])
                    if better > epsilons[k]:  # else equal to rounding
                        epsilons[k], errors[k], worst[k] = float(better), better.accuracy, label
                        raised.append(k)
                open_ = raised
        if self.accuracy is not None and len(self.cases) > 1:
            # deltas of other cases are known roughly: slightly farther up they are shown to be small enough
            room = self.accuracy / 20
            beyond = self._heights([Fraction(e) + Fraction(room) for e in epsilons], wanted)
            if any(height + off > 0 for height, _, off in beyond):
                return self.with_accuracy(None).at_delta(delta)
            above, off = rounded(np.array(epsilons), np.maximum(errors, room), np.zeros(len(wanted)), "up")
            epsilons, errors = above.tolist(), off.tolist()
        elif len(self.cases) > 1:
            # other cases may lie above by what counts as equal
            for label in dict.fromkeys(worst):
                which = [k for k, other in enumerate(worst) if other == label]
                own, at = self.law(label), np.array([epsilons[k] for k in which])
                moves = own.epsilon_moves([wanted[k] for k in which], at, TIE)
                for k, move in zip(which, moves.tolist(), strict=True):
                    errors[k] = max(errors[k], move)
        return [
            Point(epsilon, float(target), label, self.claim, off)
            for epsilon, target, label, off in zip(epsilons, wanted, worst, errors, strict=True)
        ]

    @overload
    def main_gap(self, delta: Number) -> float: ...
    @overload
    def main_gap(self, delta: Many) -> Floats: ...

    def main_gap(self, delta: Numbers) -> float | Floats:
        """The relative gap between the main case's epsilon and the overall one.

        The main case has no level merged; if the gap is small, tuning with it alone is justified.
        """
        arguments = read_probabilities(delta, name="delta")
        alone = self.case(self.main).law.epsilons(arguments.values)
        overall = np.array([point.epsilon for point in self.at_delta(delta)])
        return arguments.answer((overall - alone) / overall)

    def errors(self, threshold: Numbers) -> tuple[Floats, Floats]:
        """Type I and type II errors (alpha, beta) of the test that rejects above a threshold, in every case.

        Two arrays with one row a case, in the order of `cases`.

        >>> from discreet.budget import load
        >>> whole = account(load("pl94-2020-units"))
        >>> alpha, beta = whole.errors(threshold=[0, 1])
        >>> alpha.shape, alpha[0].round(6).tolist()
        ((36, 2), [0.423245, 0.002747])
        """
        arguments = read(threshold, name="threshold")
        alpha, beta, row = self.case_set.errors(arguments.values)
        shape = (len(self.cases), *(arguments.shape or ()))
        return alpha[row].reshape(shape), beta[row].reshape(shape)


@dataclass(frozen=True, repr=False)
class ReleaseAccount(Account):
    """The account of one release, whose cases are paths or pairs of paths."""

    release: Release | None = None

    def _events(self, number: int, without: Collection[tuple[str, str]] = ()) -> tuple[Noise, ...]:
        assert self.release is not None
        if number not in self.release.paths:
            paths = self.release.paths
            raise InputError(
                f"there is no path {number} in {self.name}; its paths are numbered {paths[0]} to {paths[-1]}"
            )
        return tuple(event.for_people(self.people) for event in self.release.path_events(number, without))

    def path(self, i: int) -> PrivacyLoss:
        """The loss of one path: a person added or removed there."""
        return compose(self._events(i))

    def pair(self, i: int, j: int) -> PrivacyLoss:
        """The loss of a pair of paths: a person of path i replaced by one of path j."""
        assert self.release is not None
        left_out = self.release.constants("bounded", self.one_area)
        return compose(
            (*self._events(i, left_out), *(event.exchanged() for event in self._events(j, left_out)))
        )


@overload
def account(
    release: Releasable,
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    one_area: Collection[str] = (),
) -> ReleaseAccount: ...
@overload
def account(
    release: Sequence[Release | str | os.PathLike[str]],
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    one_area: Collection[str] = (),
) -> Account: ...


@understandable
def account(
    release: Releasables,
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    one_area: Collection[str] = (),
) -> Account:
    """What a release costs, exactly, under the relation it was calibrated for or another.

    It may be named by a preset or a file, or be a list of events; several releases in a list are accounted
    for together, as by `portfolio`. With `people` above 1 the promise is to a group who change together
    (group privacy). `one_area` names levels that have a single area: replacing a record cannot change how
    many there are in it, so that their totals cost nothing and are left out, which the scope says.

    >>> account("dhc-2020").pairs
    946
    >>> from discreet.budget import DiscreteGaussian
    >>> events = [DiscreteGaussian(variance=5, times=10)]
    >>> [round(account(events, people=people).epsilon(delta="1e-10"), 4) for people in (1, 3)]
    [9.6005, 35.3517]
    >>> account("pl94-2020-persons", one_area=["State"]).scope.words
    'without query total of State, which has one area: replacing a record does not change it'
    """
    named = releases_of(release)
    if len(named) > 1:
        return portfolio(named, neighbours=neighbours, people=people, jobs=jobs, one_area=one_area)
    (single,) = named
    relation = single.neighbours if neighbours is None else neighbours
    if relation not in RELATIONS:
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
    (levels,) = levels_with_one_area([single], relation, one_area)
    every = cases(single, relation, people, one_area=levels)
    claim = single.claim_under(relation, levels)
    return ReleaseAccount(
        single.name,
        single.unit,
        relation,
        every,
        every.label(every.main),
        people,
        jobs,
        stated=claim,
        every=every,
        release=single,
        one_area=levels,
    )


@understandable
def portfolio(
    releases: Releasables,
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    all_pairs: bool = True,
    one_area: Collection[str] = (),
) -> Account:
    """The joint account of several releases about the same people.

    The label of a case is a tuple with one label for each release. With `all_pairs=False` only the main case
    is used: in each release the path with no level merged. The relation is that of the releases, or bounded
    if they were calibrated for different ones.

    >>> both = portfolio(["pl94-2020-persons", "dhc-2020"])
    >>> both.pairs, both.main, round(both.epsilon(delta="1e-10"), 3)
    (34056, ((1, 1), (13, 13)), 31.596)
    """
    if isinstance(releases, list | tuple) and not releases:
        raise InputError("a portfolio needs at least one release")
    releases = releases_of(releases)
    units = {release.unit for release in releases}
    if len(units) > 1:
        listed = ", ".join(f"{release.name} protects one {release.unit}" for release in releases)
        raise InputError(
            f"these releases cannot be accounted for together: {listed}. A promise about one unit says "
            "nothing about another, since one household holds several people"
        )
    # releases calibrated for different relations are accounted as bounded, which costs more
    relations = {release.neighbours for release in releases}
    stated: Neighbours = "bounded" if "bounded" in relations else "unbounded"
    relation = stated if neighbours is None else neighbours
    if relation not in RELATIONS:
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
    levels = levels_with_one_area(releases, relation, one_area)
    every = compared = joint_cases(releases, relation, people, one_area=levels)
    claim = Claim.of_all(
        release.claim_under(relation, own) for release, own in zip(releases, levels, strict=True)
    )
    if not all_pairs:
        if len(compared) > 1:
            claim = claim.weakened(AnswerKind.MAIN, "Only the main path of each release is used.")
        compared = compared.only_main()
    elif len(compared) > MOST_COMBINATIONS:
        raise InputError(
            f"these releases have {len(compared)} joint cases; at most {MOST_COMBINATIONS} are compared"
        )
    elif sum(len(group) > 1 for group in compared.groups) > 1:
        reason = (
            "It is not known which paths of different spines belong together, so all combinations are "
            "compared."
        )
        claim = claim.weakened(AnswerKind.BOUND, reason)
    return Account(
        " + ".join(release.name for release in releases),
        releases[0].unit,
        relation,
        compared,
        compared.label(compared.main),
        people,
        jobs,
        stated=claim,
        every=every,
        one_area=tuple(dict.fromkeys(name for own in levels for name in own)),
    )


def _labels(compared: Sequence[Case]) -> Iterator[CaseLabel]:
    if isinstance(compared, Cases):
        return (compared.label(number) for number in range(len(compared)))
    return (label for label, _ in compared)


def _tails_of_case(task: tuple[tuple[Noise, ...], Kind, list[Fraction], float | None]) -> Tail:
    events, kind, thresholds, accuracy = task
    return loss_of(events, aim=accuracy).tails(kind, thresholds, accuracy or COARSEST)
