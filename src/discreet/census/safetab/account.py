"""What a run costs one person: the sum of the budgets, and the exact curve behind it.

A person is in at most `stability` groups of one region of each geography. Each of those groups is met by
two noisy counts (first and second stage), or by one if it is total-only; every count changes by one. A person
who is replaced is one removed and one added, and the one who comes may live in the other pass.
Why exact composition holds although the second stage depends on the first: `docs/explanation/safetab.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Annotated

from discreet.accounting.account import Account, Point
from discreet.accounting.calibration import below, solve_factor
from discreet.accounting.parallel import Progress
from discreet.accounting.privacy_loss import compose
from discreet.budget import AnswerKind, Claim, Level, Neighbours, Query, Release, grouped
from discreet.budget.neighbours import RELATIONS, CaseLabel, records_apart
from discreet.budget.scope import Extent, Scope
from discreet.census.mechanism.adaptive import Mechanism, mechanism
from discreet.census.mechanism.configuration import BUDGET_WORDS, Configuration
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.safetab.configuration import read_configuration
from discreet.census.safetab.specification import read_specification
from discreet.comparisons.zcdp import ZCDP
from discreet.errors import DiscreetError, PrecisionError
from discreet.faces import Displayed
from discreet.noise import Noise
from discreet.numbers import Exact, fraction
from discreet.questions import Option, repeated_option

DELTAS = ("1e-5", "1e-10", "1e-15")
"""Deltas that are answered unless others are asked for; the second is the one the Bureau reports at."""

SMOOTH = 5
"""From this variance on, any mixture of one and two stages costs what two stages cost, to eight digits; only
one stage throughout, a single lattice, may differ."""

MANY = 30
"""From so many groups of two stages with such variances on, one stage for the others costs no more than two,
to eight digits (measured)."""

LARGEST = 50
"""A sum of budgets above this protects nobody, and takes long to compute exactly: it is not tried."""


def _notes(tabulation: AdaptiveTabulation) -> tuple[str, ...]:
    """Say what an account assumes."""
    unit = tabulation.unit
    outside = f"; one outside any {tabulation.outside} is better protected" if tabulation.outside else ""
    return (
        f"The noise is for the most groups that one {unit} can be in; a {unit} in fewer is better protected.",
        f"The account assumes that a {unit} lives in an area of every geography{outside}.",
        "Dropping groups whose noisy count is small, and all that follows, uses noisy counts only: it is "
        "free.",
    )


DROPPED = (
    "It is exact for all noisy counts; counts of groups that are dropped are not published, which can only "
    "lower it."
)
"""Why the account of published tables is a bound."""

_TWO_STAGES = (
    "It counts two stages for every group; groups that get a total only have one, which may cost a little "
    "more: `discreet safetab account` compares both."
)


@dataclass(frozen=True, slots=True)
class PassCost:
    """The exact epsilon at a delta, what the budgets say by themselves, and how little noise would do.

    `converted` is zCDP's epsilon at this delta, or the sum of the epsilons of pure privacy. `reduction` is
    the share of all variances that could be saved while zCDP's promise is still kept exactly. `epsilon` is
    None where budgets are so large that floats cannot tell it.
    """

    neighbours: Neighbours
    delta: Fraction
    epsilon: float | None
    converted: float
    reduction: float | None


@dataclass(frozen=True, slots=True)
class PassAccount:
    """What one pass spends on one person. A `total` of None is infinite: no privacy.

    `replacing` is the pass whose resident costs most if one of them takes this person's place, and `replaced`
    what both spend together.
    """

    which: str
    mechanisms: tuple[Mechanism, ...]
    total: Fraction | None
    replaced: Fraction | None
    replacing: str
    costs: tuple[PassCost, ...]
    claim: Claim

    def total_for(self, neighbours: Neighbours) -> Fraction | None:
        """Return the sum of the budgets that one person's records meet, or one removed and one added."""
        return self.total if records_apart(neighbours) == 1 else self.replaced

    @property
    def infinite(self) -> tuple[Mechanism, ...]:
        """The geographies and levels that are released without noise."""
        return tuple(part for part in self.mechanisms if part.budget is None)


@dataclass(frozen=True, slots=True)
class TabulationAccount(Displayed):
    """What a run costs, pass by pass, and the parameters that say so."""

    configuration: Configuration
    specification: Specification
    passes: tuple[PassAccount, ...]
    relations: tuple[Neighbours, ...]

    def __iter__(self) -> Iterator[PassAccount]:
        return iter(self.passes)

    @property
    def word(self) -> str:
        """What a budget is called."""
        return BUDGET_WORDS[self.configuration.privacy]

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said about the parameters."""
        return (*self.configuration.notes, *self.specification.notes)


def account(
    params: Path,
    *,
    deltas: Annotated[
        Iterable[Exact],
        repeated_option(
            "Epsilon at this delta, an exact number such as 1e-10; may be repeated.", "D", "delta"
        ),
    ] = DELTAS,
    neighbours: Annotated[
        Sequence[Neighbours],
        Option(
            "bounded: one person (household) is replaced; unbounded: one is added or removed. Default: both.",
            "bounded|unbounded",
            reads=Neighbours | None,
        ),
    ] = RELATIONS,
    progress: Progress | None = None,
) -> TabulationAccount:
    """Read a folder of parameters and return what each pass that is run costs."""
    configuration, specification = read_configuration(params), read_specification(params)
    passes = tuple(
        account_pass(
            configuration, specification, which, deltas=deltas, neighbours=neighbours, progress=progress
        )
        for which in configuration.passes
    )
    return TabulationAccount(configuration, specification, passes, tuple(neighbours))


def account_pass(
    configuration: Configuration,
    specification: Specification,
    which: str,
    *,
    deltas: Iterable[Exact] = DELTAS,
    neighbours: Sequence[Neighbours] = RELATIONS,
    progress: Progress | None = None,
) -> PassAccount:
    """Return what one pass costs one person; `progress` is told of cases done, of how many."""
    parts = mechanisms(configuration, specification, which)
    comes = replacing(configuration, which)
    total, added = budget_spent(configuration, which), budget_spent(configuration, comes)
    replaced = None if total is None or added is None else total + added
    wanted = [fraction(delta, name="delta") for delta in deltas]
    costs: list[PassCost] = []
    for relation in neighbours:
        whole = total if records_apart(relation) == 1 else replaced
        if whole is None:
            continue
        exact = None
        if whole <= 2 * LARGEST:
            exact = exact_account(configuration, specification, which, relation).with_workers(1, progress)
        for delta, point in zip(wanted, _points(exact, wanted), strict=True):
            converted, reduction = float(whole), None
            if configuration.privacy == "zcdp":
                converted = ZCDP.from_rho(whole).epsilon(delta=float(delta))
                if exact is not None and point is not None:
                    reduction = _reduction(exact, point.worst, delta, below(converted))
            epsilon = None if point is None else max(point.epsilon, 0.0)
            costs.append(PassCost(relation, delta, epsilon, converted, reduction))
    return PassAccount(which, parts, total, replaced, comes, tuple(costs), claim(configuration, which, parts))


def replacing(configuration: Configuration, which: str) -> str:
    """Return the pass whose resident costs most where one takes the place of a person of `which`."""
    spends = {run_pass: budget_spent(configuration, run_pass) for run_pass in configuration.passes}
    # first those that cost without end, then the most, then of the same pass
    return max(
        spends, key=lambda candidate: (spends[candidate] is None, spends[candidate] or 0, candidate == which)
    )


def two_stages(
    configuration: Configuration, specification: Specification, which: str, neighbours: Neighbours
) -> tuple[Noise, ...]:
    """Return the events of one person, or of one removed and one added, if all groups have two stages."""
    people = [which, replacing(configuration, which)][: records_apart(neighbours)]
    return grouped(
        event
        for person_pass in people
        for event in _events(
            mechanisms(configuration, specification, person_pass), configuration.tabulation, {}, 1
        )
    )


def claim(configuration: Configuration, which: str, parts: Sequence[Mechanism]) -> Claim:
    """Return what an account of these mechanisms of a pass claims of the tables that are published."""
    reasons = [DROPPED] if any(part.suppression is not None for part in parts) else []
    if not all(part.ladder.picks for part in parts):
        reasons.append("Groups that a published list leaves out are not measured, which can only lower it.")
    if not all(part.stability.reached for part in parts):
        reasons.append("How many groups a person is in is itself a bound.")
    tabulation = configuration.tabulation
    taken = (part.place for part in parts)
    places = Extent.of("geography and level", taken=taken, every=configuration.levels(which))
    scope = Scope.whole(_name(tabulation, which), unit=tabulation.unit, neighbours="unbounded")
    scope = scope.with_part(places)
    return Claim(scope, AnswerKind.BOUND if reasons else AnswerKind.EXACT, tuple(reasons))


def budget_spent(configuration: Configuration, which: str) -> Fraction | None:
    """Return the sum of the budgets of a pass, None if one is infinite."""
    budgets = [configuration.budgets[place] for place in configuration.levels(which)]
    return None if None in budgets else sum((budget or Fraction(0) for budget in budgets), Fraction(0))


def mechanisms(
    configuration: Configuration, specification: Specification, which: str
) -> tuple[Mechanism, ...]:
    """Return the noise of every geography and level of a pass that has a budget."""
    return tuple(mechanism(configuration, specification, *place) for place in configuration.levels(which))


def budget_release(configuration: Configuration, specification: Specification, which: str) -> Release:
    """Return a pass as a release, for the ledger and for `discreet account`; all budgets must be finite.

    Under zCDP every group has two stages, as in the preset `ddhca-2020`: a total-only group spends the
    same rho at once. Where a person is in few groups its lattice shows, and it may cost a little more: there
    the release is a model. Under pure privacy total-only groups cost more, so as many as a person can be in
    are.
    """
    tabulation = configuration.tabulation
    parts, levels = mechanisms(configuration, specification, which), []
    whole, singles, doubles = claim(configuration, which, parts), 0, 0
    for part in parts:
        often = max(part.stability.value, 1)
        laws = {"cells": (part.stage_two, often)}
        if part.ladder.picks:
            single = min(most_total_only(configuration, specification, part.geography, part.level), often)
            singles += single
            doubles += often - single if min(law.size for law in part.laws) >= SMOOTH else 0
            single = single if configuration.privacy == "puredp" else 0
            laws = {
                "total only": (part.total_only, single),
                "stage 1": (part.stage_one, often - single),
                "stage 2": (part.stage_two, often - single),
            }
        queries = [
            Query(
                name=name,
                variance=law.stated_variance,
                scale=law.stated_scale,
                groups=many,
            )
            for name, (law, many) in laws.items()
            if many and law is not None
        ]
        levels.append(Level(name=tabulation.place_words(part.place), queries=queries))
    if configuration.privacy == "zcdp" and singles and doubles < MANY:
        whole = whole.weakened(AnswerKind.MODEL, _TWO_STAGES)
    return Release(
        name=_name(tabulation, which),
        title=f"{tabulation.title}, {tabulation.passes[which].title}"
        if len(tabulation.passes) > 1
        else tabulation.title,
        unit=tabulation.unit,
        neighbours="unbounded",
        rho=budget_spent(configuration, which) if configuration.privacy == "zcdp" else None,
        levels=levels,
        kind=whole.kind,
        reason=" ".join(whole.reasons),
        notes=_notes(tabulation),
    )


def _name(tabulation: AdaptiveTabulation, which: str) -> str:
    return f"{tabulation.name}-{which.lower()}" if len(tabulation.passes) > 1 else tabulation.name


def exact_account(
    configuration: Configuration, specification: Specification, which: str, neighbours: Neighbours
) -> Account:
    """Return the exact account of a pass: the worst over how many total-only groups people are in.

    With bounded neighbours also over whether the one who takes the place lives in this pass or the other.
    """
    people = records_apart(neighbours)
    cases = _cases(configuration, specification, which, people)
    for other in configuration.passes if people == 2 else ():
        if other == which:
            continue
        alone = (_cases(configuration, specification, pass_name, 1) for pass_name in (which, other))
        crossing: dict[tuple[Noise, ...], CaseLabel] = {}
        for (label, events), (far, more) in product(*alone):
            crossing.setdefault(grouped((*events, *more)), (*label, other, *far))
        # what is part of another case costs no more
        more_cases = [
            (label, events)
            for events, label in crossing.items()
            if not any(_inside(events, whole) for _, whole in cases)
        ]
        cases = [
            case for case in cases if not any(_inside(case[1], whole) for _, whole in more_cases)
        ] + more_cases
    parts = mechanisms(configuration, specification, which)
    tabulation = configuration.tabulation
    stated = claim(configuration, which, parts)
    about = (_name(tabulation, which), tabulation.unit, neighbours)
    return Account(*about, cases, cases[0][0], stated=stated, every=cases)


def _inside(events: Sequence[Noise], whole: Sequence[Noise]) -> bool:
    """Whether every event of some is among those of another list, at least as often."""
    often = {event.key: event.times for event in whole}
    return all(event.times <= often.get(event.key, 0) for event in events)


def _cases(
    configuration: Configuration, specification: Specification, which: str, people: int
) -> list[tuple[CaseLabel, tuple[Noise, ...]]]:
    """The events of people of one pass, by how many total-only groups of each level they are in.

    A person's groups are the same at all geographies that are not below, and on all ladders, so one number
    for each level of groups says it all.
    """
    tabulation = configuration.tabulation
    parts = mechanisms(configuration, specification, which)
    choices: dict[int, Sequence[int]] = {}
    for groups in dict.fromkeys(workload.groups for workload in tabulation.workloads.values()):
        above = [part for part in parts if _chooses(part, tabulation, groups)]
        sizes = [most_total_only(configuration, specification, *part.place) for part in above]
        often = people * min(max(sizes, default=0), max((part.stability.value for part in above), default=0))
        laws = [part.laws[0] for part in above]
        if not often or not laws[0].precision:
            # Geometric noise on a count that changes by one is randomized response, which is the worst
            # mechanism of its epsilon: two stages of the same sum are never worse.
            choices[groups] = (often,)
        else:
            smooth = min(law.size for law in laws) >= SMOOTH
            choices[groups] = (0, often) if smooth else range(often + 1)
    return [
        (singles, _events(parts, tabulation, dict(zip(choices, singles, strict=True)), people))
        for singles in product(*choices.values())
    ]


def _chooses(part: Mechanism, tabulation: AdaptiveTabulation, groups: int) -> bool:
    """Whether groups of a level may have one stage or two here."""
    own = tabulation.workloads[part.level].groups == groups
    return own and part.ladder.picks and not tabulation.is_below(part.geography)


def most_total_only(
    configuration: Configuration, specification: Specification, geography: str, level: int
) -> int:
    """Return in how many total-only groups of one region one person can be, at most."""
    if specification.tabulation.is_below(geography):
        return 0
    kept = tuple(iteration for iteration in specification.iterations if iteration.total_only)
    codes = {iteration.code for iteration in kept}
    mapped = {
        code: tuple(group for group in groups if group in codes)
        for code, groups in specification.mapped.items()
    }
    part = replace(specification, iterations=kept, codes=specification.codes, mapped=mapped)
    return part.stability(level, configuration.max_race_codes, geography).value


def _events(
    parts: Sequence[Mechanism], tabulation: AdaptiveTabulation, singles: Mapping[int, int], people: int
) -> tuple[Noise, ...]:
    events: list[Noise] = []
    for part in parts:
        often = people * max(part.stability.value, 1)
        groups = tabulation.workloads[part.level].groups
        single = min(singles.get(groups, 0), often) if _chooses(part, tabulation, groups) else 0
        counts = (single, often - single, often - single) if part.ladder.picks else (0, often)
        events += [law.repeated(times) for law, times in zip(part.laws, counts, strict=True) if times]
    return grouped(events)


def _points(exact: Account | None, deltas: list[Fraction]) -> list[Point | None]:
    """The exact curve at the deltas, computed together; None where floats cannot tell."""
    if exact is None or not deltas:
        return [None] * len(deltas)
    try:
        return [*exact.at_delta(deltas)]
    except PrecisionError:
        if len(deltas) == 1:
            return [None]
        return [point for delta in deltas for point in _points(exact, [delta])]


def _reduction(exact: Account, worst: CaseLabel, delta: Fraction, target: Fraction) -> float | None:
    """How much of all variances the target does not need; None if that cannot be told.

    Solved on the worst case; where cases differ, all are checked, and whichever is worst is solved next.
    """
    events, factor = dict(exact.cases), Fraction(0)
    try:
        for _ in range(6):

            def epsilon(size: Fraction, label: CaseLabel = worst) -> float:
                return float(compose(_scaled(events[label], size)).epsilon(delta=delta))

            factor = max(factor, solve_factor(epsilon, float(target)))
            if worst == exact.main:  # no case is worse than the main one by more than rounding
                return float(1 - factor)
            cases = [(label, _scaled(kept, factor)) for label, kept in exact.cases]
            (point,) = replace(exact, cases=cases, main=worst).at_delta(delta)
            if point.epsilon <= target:
                return float(1 - factor)
            worst, factor = point.worst, factor + Fraction(1, 10**6)
    except DiscreetError:
        pass
    return None


def _scaled(events: Sequence[Noise], factor: Fraction) -> tuple[Noise, ...]:
    return tuple(event.resized(event.size * factor) for event in events if event.precision)
