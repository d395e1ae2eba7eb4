"""The account of a whole release: the worst over all cases that its neighbour relation allows.

A case is one pair of paths (bounded neighbours) or one path (unbounded). Overall

    delta(eps) = max over cases,   f = lower convex envelope of the minimum over cases,

and the two are dual: f(alpha) = sup over l of min over cases of beta(l) + e^l (alpha(l) - alpha).

*Several releases at once.* The same person has a path (or a pair of paths) in each release. Releases over the
same spine are joined path by path: the person has the same path in each. The spines of different products
combine in every way, since nobody says which paths go together: that can only be too much. The main paths
alone bound nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.all_pairs import FARTHEST, AllPairs, Scan, both_errors
from discreet.accounting.contour import Kind, Tail
from discreet.accounting.evaluation import has_short_contour
from discreet.accounting.inversion import NEXT_TO_ONE
from discreet.accounting.loss import Floats, Loss, log_fraction
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import (
    COARSEST,
    F_ROUNDING,
    Curves,
    Many,
    Number,
    Numbers,
    PrivacyLoss,
    Quantity,
    compose,
    held,
    read,
    read_probabilities,
    rounded,
)
from discreet.budget.levels import RELATIONS, Case, CaseLabel, Cases, Neighbours, cases, joint_cases
from discreet.budget.release import EXACTLY, AnswerKind, Claim, Release
from discreet.errors import InputError
from discreet.noise import Noise
from discreet.numbers import Interval, count_of_digits

if TYPE_CHECKING:
    from discreet.accounting.certified.all_cases import UpperBounds

MOST_COMBINATIONS = 200_000
"""Joint cases of several releases that are compared."""

_TIE = 2e-12  # two cases whose deltas differ by less are equal as far as floats can tell
_EXACT = 3e-13  # values known better than this are not looked at again
_GRID = 2**14  # points of a grid that bounds cases from above ...
_FINE_GRIDS = (2**18, 2**20, 2**21)  # ... and of those that are quicker than the evaluation of hard cases
_HOPEFUL = 64  # cases of which octave after octave is looked at, though one octave has ruled out none
_MANY = 4  # thresholds a case, from which it is not looked at threshold by threshold
_ENOUGH = 4  # cases from which on all are had at once


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the overall curve, the case that attains it, and what kind of answer it is.

    >>> print(Point(24.4564939544, 1e-10, (6, 6)))
    epsilon 24.456494 (exact) at delta 1e-10, worst case (6, 6)
    """

    epsilon: float
    delta: float
    worst: CaseLabel
    kind: AnswerKind = AnswerKind.EXACT
    accuracy: float = 0.0
    """How far the number that was asked for may be off: a delta relatively, an epsilon absolutely."""

    @property
    def paths(self) -> tuple[int, ...]:
        """The paths of the worst case, of one release."""
        return tuple(path for path in self.worst if isinstance(path, int))

    def __str__(self) -> str:
        # of an epsilon that was asked for the accuracy is absolute; beside a delta that was it is small
        epsilon = self.kind.beside(self.epsilon, count_of_digits(self.epsilon, self.accuracy, 8))
        return f"epsilon {epsilon} at delta {self.delta:.8g}, worst case {self.worst}"


@dataclass(frozen=True, repr=False)
class Account(Curves):
    """What a release costs one person: exactly, or as far as `claim` says.

    Guarantee. For neighbouring databases in the stated relation, the whole release is
    (epsilon, delta(epsilon))-differentially private and no smaller delta is true of the cases listed.
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
    claim: Claim = EXACTLY
    accuracy: float | None = None
    """What is enough, relatively in delta and f and absolutely in epsilon; None: all digits of a float."""

    # -- single cases ------------------------------------------------------------------------------

    @cached_property
    def _losses(self) -> dict[tuple[CaseLabel, float | None], PrivacyLoss]:
        return {}

    def _place(self, label: CaseLabel) -> int | None:
        if isinstance(self.cases, Cases):
            return self.cases.find(label)
        return next((k for k, (own, _) in enumerate(self.cases) if own == label), None)

    def label(self, place: int) -> CaseLabel:
        """The label of a case by its place."""
        return self.cases.label(place) if isinstance(self.cases, Cases) else self.cases[place][0]

    def events(self, label: CaseLabel) -> tuple[Noise, ...]:
        """The events of one case by its label; the other cases are not made for it."""
        place = self._place(label)
        if place is None:
            raise InputError(f"there is no case {label} in {self.name} ({self.neighbours} neighbours)")
        return self.cases[place][1]

    def case(self, label: CaseLabel, accuracy: float | None = None) -> PrivacyLoss:
        """The loss of one case by its label, for whom this accuracy is enough."""
        if (label, accuracy) not in self._losses:
            self._losses[label, accuracy] = compose(self.events(label)).hurried(accuracy)
        return self._losses[label, accuracy]

    @cached_property
    def rho(self) -> Fraction:
        """The largest zCDP rho of a case, exactly."""
        from discreet.accounting.comparisons import zcdp_rho

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
        return (
            f"{type(self).__name__}({self.name!r}, unit={self.unit!r}, neighbours={self.neighbours!r}, "
            f"cases={self.pairs}, main={self.main}, people={self.people}, kind={self.claim.kind.value!r})"
        )

    def with_workers(self, jobs: int, progress: Progress | None = None) -> Account:
        """The same account, computed in several processes."""
        return replace(self, jobs=jobs, progress=progress)

    def with_accuracy(self, accuracy: float | None) -> Account:
        """The same account for whom this accuracy is enough: it comes sooner.

        >>> from discreet.budget import load
        >>> account(load("pl94-2020-units")).with_accuracy(1e-3).epsilon(delta="1e-10")
        2.3633
        """
        return replace(self, accuracy=accuracy)

    # -- the curve -----------------------------------------------------------------------------------

    @cached_property
    def together(self) -> AllPairs | None:
        """All cases at once, where there are enough of them for that to be worth it."""
        if isinstance(self.cases, Cases) and len(self.cases) >= _ENOUGH:
            return AllPairs(self.cases)
        return None

    @cached_property
    def upper_bounds(self) -> UpperBounds:
        """Proofs for all cases at once."""
        from discreet.accounting.certified.all_cases import UpperBounds

        assert self.together is not None
        return UpperBounds(self.together)

    def extremes(
        self, kind: Kind, thresholds: list[Fraction], *, only_likeliest: bool = False
    ) -> list[tuple[float, CaseLabel, float]]:
        """The largest delta(t), or the least 1 - delta(t), of all cases: its logarithm, its case, its error.

        All cases are had at once, each with a bound of how far off it may be; only those which could be the
        extreme one are then evaluated by themselves. `only_likeliest` leaves it at the likeliest of them.
        """
        if not thresholds:
            return []
        sign = 1.0 if kind is Kind.DELTA else -1.0
        main = self._place(self.main)
        if self.together is None:
            every = np.arange(len(self.cases))
            tails = self._evaluated(every, kind, [thresholds] * every.size)
            logs, errors = np.array([tail.log for tail in tails]), np.array([tail.error for tail in tails])
            doubts = [_Doubt.evaluated(k, sign * logs[:, k], errors[:, k]) for k in range(len(thresholds))]
        else:
            enough = max(_EXACT, (self.accuracy or 0.0) / 50)
            doubts = [_Doubt(scan, sign, enough) for scan in self.together.scan(kind, thresholds)]
            self._settle(doubts, kind, thresholds, sign, (True,) if only_likeliest else (True, False))
        found: list[tuple[float, CaseLabel, float]] = [(0.0, self.main, 0.0)] * len(thresholds)
        for doubt in doubts:
            best = float(doubt.log[doubt.known].max())
            # equal but for rounding: name the main case, or else the first
            equal = doubt.places[(doubt.log >= best - _TIE) & doubt.known]
            place = next((int(k) for k in equal if k == main), int(equal[0]))
            # (a probability of zero has no error)
            error = float((doubt.log + doubt.slack)[doubt.known].max()) - best if best > -math.inf else 0.0
            found[doubt.threshold] = (sign * best, self.label(place), error)
        return found

    def _settle(
        self,
        doubts: list[_Doubt],
        kind: Kind,
        thresholds: list[Fraction],
        sign: float,
        rounds: tuple[bool, ...],
    ) -> None:
        """Evaluate what is not known well enough: the likeliest case first, which rules out most others."""
        for likeliest in rounds:
            if not likeliest:
                self._rule_out(doubts, kind, thresholds)
            wanted: dict[int, list[_Doubt]] = {}
            for doubt in doubts:
                for place in doubt.open(likeliest=likeliest):
                    wanted.setdefault(int(place), []).append(doubt)
            # different pairs of paths may have the same events: once is enough
            alike: dict[tuple[Noise, ...], list[int]] = {}
            for place in wanted:
                alike.setdefault(self.cases[place][1], []).append(place)
            places = [same[0] for same in alike.values()]
            asked = [
                sorted({doubt.threshold for place in same for doubt in wanted[place]})
                for same in alike.values()
            ]
            rows = self._evaluated(places, kind, [[thresholds[k] for k in row] for row in asked])
            for same, row, tail in zip(alike.values(), asked, rows, strict=True):
                known = {k: (tail.log[n], tail.error[n]) for n, k in enumerate(row)}
                for place in same:
                    for doubt in wanted[place]:
                        log, error = known[doubt.threshold]
                        doubt.settle(place, sign * float(log), float(error))

    def _rule_out(self, doubts: list[_Doubt], kind: Kind, thresholds: list[Fraction]) -> None:
        """Narrow down the cases that may be the extreme one by what is quicker than their evaluation.

        That is upper bounds from a grid that serves them all, and octaves of the contour beyond the core.
        Where those have too many nodes a case may take seconds by itself: then the grid gets finer.
        """
        assert self.together is not None
        open_places = [doubt.open(likeliest=False) for doubt in doubts]
        if sum(map(len, open_places)) > _MANY * len(np.unique(np.concatenate(open_places))):
            return  # a case that is evaluated by itself answers at all its thresholds together
        for doubt in doubts:
            threshold = thresholds[doubt.threshold]
            is_bounded = kind is Kind.DELTA and len(self.together.paths) == 1
            places = doubt.open(likeliest=False)
            if is_bounded and places.size >= _ENOUGH:
                doubt.bound(places, *self.together.on_grid(threshold, places, _GRID))
            given_up: set[int] = set()
            left = places.size
            for octave in range(FARTHEST):
                before, left = left, doubt.open(likeliest=False).size
                # what lies beyond falls to an eighth with every octave
                is_far = doubt.excess() > _TIE * 8.0 ** (FARTHEST - octave)
                if octave > 1 and is_far and left == before > _HOPEFUL:
                    break  # cases that are as good as equal: they are had sooner by themselves
                for place in set(map(int, doubt.open(likeliest=False))) - given_up:
                    more = self.together.outward(kind, threshold, place, octave)
                    if more is None:
                        given_up.add(place)
                    else:
                        doubt.add(place, *more)
            if not is_bounded or len(given_up) < 2:
                continue
            hard = {place for place in given_up if not has_short_contour(Loss(self.cases[place][1]))}
            for size in _FINE_GRIDS:
                places = np.array([k for k in doubt.open(likeliest=False) if int(k) in hard])
                if places.size > 1:
                    doubt.bound(places, *self.together.on_grid(threshold, places, size))

    def _evaluated(
        self, places: Sequence[int] | NDArray[np.int64], kind: Kind, thresholds: Sequence[list[Fraction]]
    ) -> list[Tail]:
        """Tails of each chosen case, by itself and with its own thresholds."""
        if len(places) < 64:
            return [
                self.case(self.label(int(place)), self.accuracy).tails(kind, row, self.accuracy or COARSEST)
                for place, row in zip(places, thresholds, strict=True)
            ]
        tasks = [
            (self.cases[int(k)][1], kind, row, self.accuracy)
            for k, row in zip(places, thresholds, strict=True)
        ]
        return map_cases(_tails_of_case, tasks, jobs=self.jobs, progress=self.progress)

    def _log_deltas(
        self, epsilons: list[Fraction], *, only_likeliest: bool = False
    ) -> list[tuple[float, CaseLabel, float]]:
        """log of the overall delta at epsilons of either sign, the cases that attain it, and its error."""
        found = self.extremes(Kind.DELTA, [abs(e) for e in epsilons], only_likeliest=only_likeliest)
        return [
            (log if e >= 0 else math.log(-math.expm1(e) + math.exp(float(e) + log)), label, error)
            for e, (log, label, error) in zip(epsilons, found, strict=True)
        ]

    def _heights(
        self, epsilons: list[Fraction], deltas: list[Fraction], *, only_likeliest: bool = False
    ) -> list[tuple[float, CaseLabel, float]]:
        """How far the overall delta at each epsilon lies above a given one, in logarithms; its case, error.

        Next to 1 in logarithms of what both lack of it: 1 - delta(-e) = e^-e (1 - delta(e)).
        """
        found: list[tuple[float, CaseLabel, float]] = [(0.0, self.main, 0.0)] * len(deltas)
        logs = self.extremes(Kind.DELTA, [abs(e) for e in epsilons], only_likeliest=only_likeliest)
        lacking = []
        for k, (log, label, error) in enumerate(logs):
            delta, e = math.exp(log), min(float(epsilons[k]), 0.0)
            if deltas[k] <= NEXT_TO_ONE:
                whole = math.log(-math.expm1(e) + math.exp(e + log)) if e < 0 else log
                found[k] = (whole - log_fraction(deltas[k]), label, error)
            elif delta <= 0.5:
                rest = log_fraction(1 - deltas[k]) - e - math.log1p(-delta)
                found[k] = (rest, label, 2 * delta * error)
            else:
                lacking.append(k)
        rests = self.extremes(Kind.REST, [epsilons[k] for k in lacking], only_likeliest=only_likeliest)
        for k, (log, label, error) in zip(lacking, rests, strict=True):
            found[k] = (log_fraction(1 - deltas[k]) - log, label, error)
        return found

    def floats(
        self, quantity: Quantity, at: list[Fraction], accuracy: float | None
    ) -> tuple[Floats, Floats | None]:
        """The values of the whole release, and how far each may be off."""
        made = self if accuracy is None else self.with_accuracy(accuracy)
        if quantity == "beta":
            return made._tradeoffs(at)
        points = made.at_epsilon(at) if quantity == "delta" else made.at_delta(at)
        values = [p.delta if quantity == "delta" else p.epsilon for p in points]
        return np.array(values), np.array([p.accuracy for p in points])

    def _tradeoffs(self, alphas: list[Fraction]) -> tuple[Floats, Floats]:
        """f and its relative errors, rounded to the digits that hold."""
        from discreet.accounting.tradeoff import envelope

        if len(self.cases) == 1:
            return self.case(self.main, self.accuracy).floats("beta", alphas, None)
        points = [replace(p, error=p.error + F_ROUNDING) for p in envelope(self, alphas)]
        return held(np.array([p.beta for p in points]), np.array([p.error for p in points]), "down")

    def intervals(self, quantity: Quantity, at: list[Fraction], digits: int | None) -> list[Interval]:
        """Intervals that provably contain the values of the whole release."""
        from discreet.accounting.certified import intervals as proofs

        prove = {
            "delta": proofs.certified_deltas,
            "epsilon": proofs.certified_epsilons,
            "beta": proofs.certified_tradeoffs,
        }[quantity]
        return prove(self, at, digits)

    def at_epsilon(self, epsilon: Numbers) -> list[Point]:
        """Points of the overall curve at these epsilons, with the cases that attain them."""
        wanted = read(epsilon, name="epsilon").values
        logs, worst, errors = zip(*self._log_deltas(wanted), strict=True) if wanted else ((), (), ())
        with np.errstate(under="ignore"):
            deltas, off = held(np.exp(np.array(logs)), np.array(errors), "up", most=1.0)
        return [
            Point(float(e), float(delta), label, self.claim.kind, float(doubt))
            for e, delta, label, doubt in zip(wanted, deltas, worst, off, strict=True)
        ]

    def at_delta(self, delta: Numbers) -> list[Point]:
        """Points of the overall curve at these deltas, with the cases that attain them.

        From the main case's epsilon upwards: whichever case has the largest delta there is solved next, until
        none has a larger one. On the way the likeliest case will do; at the end all are compared.
        """
        wanted = read_probabilities(delta, name="delta").values
        start, off = self.case(self.main, self.accuracy).floats("epsilon", wanted, None)
        epsilons, errors = start.tolist(), off.tolist()
        worst = [self.main] * len(wanted)
        for only_likeliest in (True, False):
            open_ = list(range(len(wanted))) if len(self.cases) > 1 else []
            while open_:
                here = [Fraction(epsilons[k]) for k in open_]
                targets = [wanted[k] for k in open_]
                found = self._heights(here, targets, only_likeliest=only_likeliest)
                raised = []
                for k, (height, label, _) in zip(open_, found, strict=True):
                    if height <= _TIE or label == worst[k]:
                        continue
                    better = self.case(label, self.accuracy).epsilon(delta=wanted[k])
                    if better > epsilons[k]:  # else equal to rounding
                        epsilons[k], errors[k], worst[k] = float(better), better.accuracy, label
                        raised.append(k)
                open_ = raised
        if self.accuracy is not None and len(self.cases) > 1:
            # deltas of other cases are known roughly: they are shown to be small enough a bit farther up
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
                own, at = self.case(label, self.accuracy), np.array([epsilons[k] for k in which])
                moves = own.epsilon_moves([wanted[k] for k in which], at, _TIE)
                for k, move in zip(which, moves.tolist(), strict=True):
                    errors[k] = max(errors[k], move)
        return [
            Point(epsilon, float(target), label, self.claim.kind, off)
            for epsilon, target, label, off in zip(epsilons, wanted, worst, errors, strict=True)
        ]

    @overload
    def main_gap(self, *, delta: Number) -> float: ...
    @overload
    def main_gap(self, *, delta: Many) -> Floats: ...

    def main_gap(self, *, delta: Numbers) -> float | Floats:
        """How far the main case's epsilon lies below the overall one, relatively.

        The main case is the one with no level merged; small gaps justify tuning with it alone.
        """
        arguments = read_probabilities(delta, name="delta")
        alone = self.case(self.main).epsilons(arguments.values)
        overall = np.array([point.epsilon for point in self.at_delta(delta)])
        return arguments.answer((overall - alone) / overall)

    def errors(self, *, threshold: Numbers) -> tuple[Floats, Floats]:
        """Type I and type II errors (alpha, beta) of the test that rejects above a threshold, in every case.

        Two arrays, a row a case in the order of `cases`.

        >>> from discreet.budget import load
        >>> whole = account(load("pl94-2020-units"))
        >>> alpha, beta = whole.errors(threshold=[0, 1])
        >>> alpha.shape, alpha[0].round(6).tolist()
        ((36, 2), [0.423245, 0.002747])
        """
        arguments = read(threshold, name="threshold")
        places: dict[tuple[Noise, ...], list[int]] = {}
        for place, (_, events) in enumerate(self.cases):
            places.setdefault(events, []).append(place)
        losses = [compose(events) for events in places]
        with np.errstate(under="ignore"):
            found = both_errors([one.loss for one in losses], arguments.values)
        for k, loss in enumerate(losses):
            open_ = np.flatnonzero(np.isnan(found[0][k]) | np.isnan(found[1][k]))
            if open_.size:
                asked = [arguments.values[i] for i in open_]
                found[0][k, open_], found[1][k, open_] = loss.errors(threshold=asked)
        row = np.empty(len(self.cases), dtype=np.int64)
        for k, same in enumerate(places.values()):
            row[same] = k
        shape = (len(self.cases), *(arguments.shape or ()))
        return found[0][row].reshape(shape), found[1][row].reshape(shape)


@dataclass(frozen=True, repr=False)
class ReleaseAccount(Account):
    """The account of one release, whose cases are paths or pairs of paths."""

    release: Release | None = None

    def _events(self, number: int) -> tuple[Noise, ...]:
        assert self.release is not None
        if number not in self.release.paths:
            found = self.release.paths
            raise InputError(
                f"there is no path {number} in {self.name}; its paths are numbered {found[0]} to {found[-1]}"
            )
        return tuple(event.for_people(self.people) for event in self.release.path_events(number))

    def path(self, i: int) -> PrivacyLoss:
        """The loss of one path: a person added or removed there."""
        return compose(self._events(i))

    def pair(self, i: int, j: int) -> PrivacyLoss:
        """The loss of a pair of paths: a person of path i replaced by one of path j."""
        return compose((*self._events(i), *self._events(j)))


def account(
    release: Release, *, neighbours: Neighbours | None = None, people: int = 1, jobs: int = 1
) -> ReleaseAccount:
    """The exact account of a release, under the relation it was calibrated for or another.

    >>> from discreet.budget import load
    >>> account(load("dhc-2020")).pairs
    946
    """
    relation = neighbours or release.neighbours
    if relation not in RELATIONS:
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
    main = (release.main, release.main) if relation == "bounded" else (release.main,)
    return ReleaseAccount(
        release.name,
        release.unit,
        relation,
        cases(release, relation, people),
        main,
        people,
        jobs,
        claim=release.claim,
        release=release,
    )


def portfolio(
    releases: Sequence[Release],
    *,
    neighbours: Neighbours | None = None,
    people: int = 1,
    jobs: int = 1,
    all_pairs: bool = True,
) -> Account:
    """The joint account of several releases about the same people.

    Labels of cases are tuples, one label for each release. With `all_pairs=False` only the main case is
    taken, in each release the path with no level merged. The relation is that of the releases, or
    replacement where they were calibrated for different ones.

    >>> from discreet.budget import load
    >>> both = portfolio([load("pl94-2020-persons"), load("dhc-2020")])
    >>> both.pairs, both.main, round(both.epsilon(delta="1e-10"), 3)
    (34056, ((1, 1), (13, 13)), 31.596)
    """
    if not releases:
        raise InputError("a portfolio needs at least one release")
    units = {release.unit for release in releases}
    if len(units) > 1:
        listed = ", ".join(f"{release.name} protects one {release.unit}" for release in releases)
        raise InputError(
            f"these releases cannot be accounted for together: {listed}. A promise about one unit says "
            "nothing about another, since one household holds several people"
        )
    # releases calibrated for different relations are accounted under replacement, the dearer of the two
    relations = {release.neighbours for release in releases}
    relation: Neighbours = neighbours or ("bounded" if "bounded" in relations else "unbounded")
    if relation not in RELATIONS:
        raise InputError(f"neighbours is {relation!r}; it must be 'bounded' or 'unbounded'")
    found = joint_cases(releases, relation, people)
    claims = [release.claim for release in releases]
    if not all_pairs:
        if len(found) > 1:
            claims.append(Claim(AnswerKind.MAIN, ("Only the main path of each release is used.",)))
        found = found.only_main()
    elif len(found) > MOST_COMBINATIONS:
        raise InputError(
            f"these releases have {len(found)} joint cases; at most {MOST_COMBINATIONS} are compared"
        )
    elif sum(len(group) > 1 for group in found.groups) > 1:
        why = (
            "It is not known which paths of different spines belong together, so all combinations are "
            "compared."
        )
        claims.append(Claim(AnswerKind.BOUND, (why,)))
    return Account(
        " + ".join(release.name for release in releases),
        releases[0].unit,
        relation,
        found,
        found.label(found.main),
        people,
        jobs,
        claim=Claim.of_all(claims),
    )


class _Doubt:
    """The cases that may be the extreme one at a threshold: their logarithms, and how far off they may be.

    Values that are to be small count with the sign -1, so that the extreme one is always the largest.
    """

    def __init__(self, scan: Scan, sign: float, enough: float) -> None:
        """What a scan leaves open: the cases whose interval reaches that of the best one."""
        self.threshold, self.exponent, self.sign, self.enough = scan.place, scan.exponent, sign, enough
        ways = [scan.exact, (scan.value, scan.error)] if scan.exact else [(scan.value, scan.error)]
        bounds = [self._logs(*way)[1:] for way in ways]
        lowest = max(float(lower.max()) for lower, _ in bounds)
        self.places = np.flatnonzero(np.min([upper for _, upper in bounds], axis=0) >= lowest - 2 * _TIE)
        # a value that is lost in its error may be anything
        self.log, self.slack = np.full(self.places.size, -1e300), np.full(self.places.size, math.inf)
        self.top = np.full(self.places.size, math.inf)
        self.known = np.zeros(self.places.size, dtype=bool)
        for value, error in ways:  # octaves are added to the second
            self._value, self._error = value[self.places], error[self.places]
            self._take(np.arange(self.places.size))

    @classmethod
    def evaluated(cls, threshold: int, log: Floats, slack: Floats) -> _Doubt:
        """No doubt at all: every case was evaluated by itself."""
        found = cls.__new__(cls)
        found.threshold, found.log, found.slack = threshold, log, slack
        found.places, found.known = np.arange(log.size), np.ones(log.size, dtype=bool)
        return found

    def _logs(self, value: Floats, error: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(value > 0, np.log(value), -math.inf)
            lower = np.where(value > error, np.log(value - error), -math.inf)
            upper = np.log(value + error)
        return (log, lower, upper) if self.sign > 0 else (-log, -upper, -lower)

    def _take(self, at: NDArray[np.int64]) -> None:
        """Logarithms from values and errors, where those are better than what is known."""
        log, lower, upper = self._logs(self._value[at], self._error[at])
        with np.errstate(invalid="ignore"):
            slack = np.maximum(upper - log, log - lower)
        better = np.flatnonzero(slack < self.slack[at])
        at, log, slack = at[better], log[better], slack[better]
        self.slack[at], self.log[at] = slack, log + self.sign * self.exponent
        self.top[at] = np.minimum(self.top[at], self.log[at] + slack)
        self.known[at] = slack <= self.enough

    def open(self, *, likeliest: bool) -> NDArray[np.int64]:
        """The cases that must be known better: the likeliest of them, or all that may be the extreme."""
        unknown = ~self.known
        if likeliest:
            # what is known may be the extreme itself: then nothing is left to do but rule out others
            top = int(np.argmax(self.log))
            return self.places[[top]] if unknown[top] else self.places[:0]
        # one that could only be as large as the best, but for rounding, changes nothing
        best = float((self.log - self.slack).max())
        return self.places[unknown & (self.top > best + _TIE)]

    def excess(self) -> float:
        """By how much the open cases may exceed the best, the middle one of them."""
        at = np.searchsorted(self.places, self.open(likeliest=False))
        return float(np.median(self.top[at] - (self.log - self.slack).max())) if at.size else 0.0

    def add(self, place: int, value: float, error: float) -> None:
        """More of a case was summed: its value, and by how much its error changes."""
        at = np.searchsorted(self.places, [place])
        self._value[at] += value
        self._error[at] += error
        self._take(at)

    def bound(self, places: NDArray[np.int64], upper: Floats, exponent: float) -> None:
        """Values were bounded from above, in units of e^exponent."""
        at = np.searchsorted(self.places, places)
        self.top[at] = np.minimum(self.top[at], np.log(upper) + exponent)

    def settle(self, place: int, log: float, error: float) -> None:
        """A case was evaluated by itself."""
        at = int(np.searchsorted(self.places, place))
        self.log[at], self.slack[at], self.known[at], self.top[at] = log, error, True, log + error


def _tails_of_case(task: tuple[tuple[Noise, ...], Kind, list[Fraction], float | None]) -> Tail:
    events, kind, thresholds, accuracy = task
    return compose(events).hurried(accuracy).tails(kind, thresholds, accuracy or COARSEST)
