"""The account of a whole release: the worst over all cases that its neighbour relation allows.

A case is one pair of paths (bounded neighbours) or one path (unbounded). Overall

    delta(eps) = max over cases,   f = lower convex envelope of the minimum over cases,

and the two are dual: f(alpha) = sup over l of min over cases of beta(l) + e^l (alpha(l) - alpha).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting.arguments import Numbers, read, read_probabilities
from discreet.accounting.loss import Floats
from discreet.accounting.parallel import Progress, map_cases
from discreet.accounting.privacy_loss import PrivacyLoss, compose, log_fraction
from discreet.budget.answer import EXACTLY, AnswerKind, Claim
from discreet.budget.events import Event
from discreet.budget.neighbours import RELATIONS, Case, Cases, Neighbours, cases
from discreet.budget.release import Release
from discreet.errors import InputError

_TIE = 2e-12  # two cases whose deltas differ by less are equal as far as floats can tell


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the overall curve, the case that attains it, and what kind of answer it is.

    >>> print(Point(24.4564939544, 1e-10, (6, 6)))
    epsilon 24.456494 (exact) at delta 1e-10, worst case (6, 6)
    """

    epsilon: float
    delta: float
    worst: Any
    kind: AnswerKind = AnswerKind.EXACT

    def __str__(self) -> str:
        epsilon = self.kind.beside(self.epsilon, 8)
        return f"epsilon {epsilon} at delta {self.delta:.8g}, worst case {self.worst}"


@dataclass(frozen=True, repr=False)
class Account:
    """What a release costs one person: exactly, or as far as `claim` says.

    Guarantee. For neighbouring databases in the stated relation, the whole release is
    (epsilon, delta(epsilon))-differentially private and no smaller delta is true of the cases listed.
    What that does and does not cover: docs, "What the guarantee covers".

    >>> from discreet.budget import load
    >>> account = load("dhc-2022-08-25").account(neighbours="unbounded")
    >>> round(account.epsilon(delta="1e-10"), 4)
    20.3247
    """

    name: str
    unit: str
    neighbours: Neighbours
    cases: Sequence[Case]
    main: Any
    people: int = 1
    jobs: int = 1
    progress: Progress | None = None
    claim: Claim = EXACTLY

    # -- single cases ------------------------------------------------------------------------------

    @cached_property
    def _by_label(self) -> dict[Any, tuple[Event, ...]]:
        return {} if isinstance(self.cases, Cases) else dict(self.cases)

    @cached_property
    def _losses(self) -> dict[Any, PrivacyLoss]:
        return {}

    def events(self, label: Any) -> tuple[Event, ...]:
        """The events of one case by its label; the other cases are not made for it."""
        if isinstance(self.cases, Cases):
            place = self.cases.find(label)
            if place is not None:
                return self.cases[place][1]
        elif label in self._by_label:
            return self._by_label[label]
        raise InputError(f"there is no case {label} in {self.name} ({self.neighbours} neighbours)")

    def case(self, label: Any) -> PrivacyLoss:
        """The loss of one case by its label."""
        if label not in self._losses:
            self._losses[label] = compose(self.events(label))
        return self._losses[label]

    @cached_property
    def rho(self) -> Fraction:
        """The largest zCDP rho of a case, exactly."""
        from discreet.accounting.comparisons import zcdp_rho

        if isinstance(self.cases, Cases):
            return self.cases.largest(zcdp_rho)
        return max(zcdp_rho(events) for _, events in self.cases)

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

    # -- the curve -----------------------------------------------------------------------------------

    def _log_deltas(self, chosen: Sequence[Case], epsilons: list[Fraction]) -> Floats:
        """log delta of each chosen case (rows) at each epsilon (columns)."""
        if len(chosen) < 64:
            return np.array([self.case(label).log_deltas(epsilons) for label, _ in chosen])
        tasks = [(events, epsilons) for _, events in chosen]
        return np.array(map_cases(_deltas_of_case, tasks, jobs=self.jobs, progress=self.progress))

    def delta(self, *, epsilon: Numbers, certified: bool = False, digits: int | None = None) -> Any:
        """The smallest delta that is true of the whole release at epsilon."""
        arguments = read(epsilon, name="epsilon")
        if certified or digits is not None:
            from discreet.accounting.certified.overall import certified_deltas

            return _boxes(arguments.shape, certified_deltas(self, arguments.values, digits))
        return arguments.answer([point.delta for point in self.at_epsilon(epsilon)])

    def epsilon(self, *, delta: Numbers, certified: bool = False, digits: int | None = None) -> Any:
        """The smallest epsilon that is true of the whole release at delta."""
        arguments = read_probabilities(delta, name="delta")
        if certified or digits is not None:
            from discreet.accounting.certified.overall import certified_epsilons

            return _boxes(arguments.shape, certified_epsilons(self, arguments.values, digits))
        return arguments.answer([point.epsilon for point in self.at_delta(delta)])

    def at_epsilon(self, epsilon: Numbers) -> list[Point]:
        """Points of the overall curve at these epsilons, with the cases that attain them."""
        wanted = read(epsilon, name="epsilon").values
        logs = self._log_deltas(self.cases, wanted)
        worst = np.argmax(logs, axis=0)
        main = [label for label, _ in self.cases].index(self.main)
        # equal but for rounding: name the main case
        worst = np.where(logs[main] >= logs.max(axis=0) - _TIE, main, worst)
        with np.errstate(under="ignore"):
            deltas = np.exp(logs[worst, np.arange(len(wanted))])
        return [
            Point(float(e), float(d), self.cases[w][0], self.claim.kind)
            for e, d, w in zip(wanted, deltas, worst, strict=True)
        ]

    def at_delta(self, delta: Numbers) -> list[Point]:
        """Points of the overall curve at these deltas, with the cases that attain them.

        From the main case's epsilon upwards: only cases whose delta there is still too large can have a
        larger epsilon, so each round leaves fewer of them.
        """
        wanted = read_probabilities(delta, name="delta").values
        start = self.case(self.main).epsilons(wanted)
        logs = self._log_deltas(self.cases, [Fraction(e) for e in start])
        points = []
        for k, target in enumerate(wanted):
            aim = log_fraction(target)
            epsilon, worst, column = float(start[k]), self.main, logs[:, k]
            above = [i for i in range(len(self.cases)) if column[i] > aim + _TIE]
            values = column[above]
            while above:
                worst = self.cases[above[int(np.argmax(values))]][0]
                better = float(self.case(worst).epsilons([target])[0])
                if better <= epsilon:  # equal to rounding
                    break
                epsilon = better
                above = [i for i in above if self.cases[i][0] != worst]
                if above:
                    values = self._log_deltas([self.cases[i] for i in above], [Fraction(epsilon)])[:, 0]
                    above, values = (
                        [i for i, v in zip(above, values, strict=True) if v > aim + _TIE],
                        values[values > aim + _TIE],
                    )
            points.append(Point(epsilon, float(target), worst, self.claim.kind))
        return points

    def main_gap(self, *, delta: Numbers) -> Any:
        """How far the main case's epsilon lies below the overall one, relatively.

        The main case is the one with no level merged; small gaps justify tuning with it alone.
        """
        arguments = read_probabilities(delta, name="delta")
        alone = self.case(self.main).epsilons(arguments.values)
        overall = np.array([point.epsilon for point in self.at_delta(delta)])
        return arguments.answer((overall - alone) / overall)

    def tradeoff(self, *, alpha: Numbers, certified: bool = False, digits: int | None = None) -> Any:
        """The exact trade-off curve of the whole release: the envelope over all cases."""
        from discreet.accounting.envelope import overall_tradeoff

        arguments = read_probabilities(alpha, name="alpha", closed=True)
        if certified or digits is not None:
            from discreet.accounting.certified.overall import certified_tradeoffs

            return _boxes(arguments.shape, certified_tradeoffs(self, arguments.values, digits))
        return arguments.answer([point.beta for point in overall_tradeoff(self, arguments.values)])

    @property
    def total_variation(self) -> float:
        """delta(0): the largest advantage of any adversary."""
        return float(self.delta(epsilon=0))


@dataclass(frozen=True, repr=False)
class ReleaseAccount(Account):
    """The account of one release, whose cases are paths or pairs of paths."""

    release: Release | None = None

    def _events(self, number: int) -> tuple[Event, ...]:
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


def _deltas_of_case(task: tuple[tuple[Event, ...], list[Fraction]]) -> Floats:
    events, epsilons = task
    return compose(events).log_deltas(epsilons)


def _boxes(shape: tuple[int, ...] | None, found: Sequence[Any]) -> Any:
    if shape is None:
        return found[0]
    boxes = np.empty(len(found), dtype=object)
    boxes[:] = found
    return boxes.reshape(shape)
