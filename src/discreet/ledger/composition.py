"""All runs of a ledger together: as one release to account for, and as an exact epsilon to compare."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Annotated

from discreet.accounting.account import Account, account, portfolio
from discreet.budget import Level, Neighbours, Release, Spine
from discreet.budget.claims import AnswerKind, Claim
from discreet.budget.scope import Extent, Scope
from discreet.budget.spine import MOST_PATHS, Runs
from discreet.budget.variables import COUNT
from discreet.comparisons.zcdp import TightZCDP
from discreet.errors import DiscreetError, InputError
from discreet.faces import Displayed, Summarised
from discreet.files import FilePath
from discreet.ledger.charges import charged_units, counts_people
from discreet.ledger.entry import Entry
from discreet.ledger.ledger import Ledger, sum_epsilon
from discreet.ledger.ledger_file import read_ledger
from discreet.ledger.questions import Unit
from discreet.ledger.total import Total
from discreet.numbers import Exact, bound, brief, read_delta
from discreet.questions import Option

DELTA = Fraction(1, 10**10)
"""The delta at which a ledger states an epsilon by default."""

_UNKNOWN = (
    "It is not known which paths of runs over different trees belong together, so all combinations are "
    "compared."
)


def ledger_release(
    path: FilePath,
    *,
    unit: Unit = None,
    neighbours: Neighbours | None = None,
) -> Release:
    """Return one release that stands for all runs of a ledger; rehearsals are left out.

    Its levels are those of all runs, each with its run's number. A record's path joins its paths in the
    individual runs. Runs over the same tree of units follow the same path; for others nothing is known, so
    all combinations are compared: the result can only be too large.

    `unit` says whose records are meant, if the ledger has runs about several units. Several are joined by
    `+`, such as "household+person": the release is about the first one, with which one record of each other
    unit changes, on a path of its own. `neighbours` is needed if the runs were calibrated for different
    relations. A run over people and households is charged to a person too (`discreet.ledger.charges`). The
    notes of the release name the runs that are left out, if any.
    """
    ledger = read_ledger(path)
    known = set(ledger.units)
    if not known or unit is None:
        unit = _only({entry.release.unit for entry in ledger.entries if entry.counted}, "unit", path)
    units = list(dict.fromkeys(unit.split("+")))
    if missing := [repr(text) for text in units if text not in known]:
        raise InputError(
            f"the ledger {path} has no run about the unit {' or '.join(missing)}; its runs are about "
            f"{', '.join(sorted(known))}. What they cost together, `discreet ledger show {path}` says"
        )
    entries = ledger.runs(unit)
    if failing := next((entry for entry in entries if entry.delta), None):
        raise InputError(
            f"the run of {failing.time} ({failing.command}) holds but for an event of probability "
            f"{bound(failing.delta, digits=4)}, which a release cannot state; `discreet ledger show "
            f"{path}` counts it"
        )
    relation: str = (
        _only({entry.release.neighbours for entry in entries}, "neighbours", path)
        if neighbours is None
        else neighbours
    )
    charges = ledger.charges(unit, relation)  # type: ignore[arg-type]  # entries were checked
    joint = _together(charges, relation, str(path))  # type: ignore[arg-type]
    if left := left_out(ledger, unit):
        title = f"{len(charges)} of {len(charges) + sum(many for _, many in left)} runs of one ledger"
        joint = replace(joint, title=title, notes=(*joint.notes, f"Left out: {named_runs(left)}."))
    if len(units) > 1:
        title = f"{joint.title}, one {' and one '.join(units)} changed together"
        return replace(joint, unit=units[0], title=title)
    return joint


@dataclass(frozen=True, slots=True)
class Cost(Summarised):
    """What the runs of a ledger together cost one record: exact, unless the paths are not known.

    `epsilon` holds at `delta`. `claim` says of which runs, and whether it is exact, a bound (where runs over
    different trees of areas had to be combined in all ways), or as modelled (from the sum of rho).

    `failing` is the probability, at most, of the events in which runs cost more than their releases. At a
    delta that is not above it no epsilon can be stated, and `epsilon` is infinite.

    `runs` are charged to the unit: so many of them (`by_household`) are about households and count the people
    in them. `left_out` are the runs that are not charged to it, by the unit that they are about.
    """

    unit: str
    neighbours: Neighbours
    delta: Fraction
    epsilon: float
    claim: Claim
    failing: Fraction
    runs: int
    by_household: int
    left_out: tuple[tuple[str, int], ...]

    @property
    def kind(self) -> AnswerKind:
        """What kind of answer it is."""
        return self.claim.kind


def left_out(ledger: Ledger, unit: str) -> tuple[tuple[str, int], ...]:
    """Return how many runs that count are not charged to a unit, by the unit that they are about.

    >>> left_out(Ledger.new(), "person")
    ()
    """
    charged_to = set(unit.split("+"))
    others = (entry.release for entry in ledger.entries if entry.counted)
    about = [release.unit for release in others if charged_to.isdisjoint(charged_units(release))]
    return tuple(Counter(about).items())


def named_runs(left: Sequence[tuple[str, int]]) -> str:
    """Name runs by the unit that they are about.

    >>> named_runs([("household", 2), ("person", 1)])
    '2 runs about one household and 1 run about one person'
    """
    each = [f"{many} {'run' if many == 1 else 'runs'} about one {unit}" for unit, many in left]
    return " and ".join([", ".join(each[:-1])] * (len(each) > 1) + each[-1:])


def ledger_cost(ledger: Ledger, *, unit: str, neighbours: Neighbours, delta: Exact = DELTA) -> Cost:
    """Return the epsilon at a delta of all runs charged to a unit, or to several units joined by `+`.

    A unit that is in no run and no total is refused, unless nothing was run at all.

    >>> ledger_cost(Ledger.new(), unit="person", neighbours="bounded", delta="1e-9").epsilon
    0.0
    """
    delta = read_delta(delta, zero=True)
    known = {*ledger.units, *(one_unit for total in ledger.totals for one_unit in total.units)}
    if ledger.units and (missing := [repr(part) for part in unit.split("+") if part not in known]):
        raise InputError(
            f"the ledger has no run and no total about the unit {' or '.join(missing)}; it knows "
            f"{', '.join(sorted(known))}"
        )
    entries = ledger.charges(unit, neighbours)
    failing = _failing(entries, neighbours)
    epsilon, kind = _epsilon(entries, neighbours, delta, failing)
    # counted as they are about: the charges of a person are about the person
    by_household = sum(counts_people(run.release) for run in ledger.runs(unit)) * (
        "person" in unit.split("+")
    )
    left = left_out(ledger, unit)
    claim = Claim(_scope(ledger, unit, neighbours), kind)
    return Cost(unit, neighbours, delta, epsilon, claim, failing, len(entries), by_household, left)


def _scope(ledger: Ledger, unit: str, neighbours: Neighbours) -> Scope:
    """The runs that a sum is about, of all that count."""
    counted = [(str(number), entry) for number, entry in enumerate(ledger.entries, start=1) if entry.counted]
    charged_runs = {run.id for run in ledger.runs(unit)}
    runs = Extent.of(
        "run",
        taken=(number for number, entry in counted if entry.id in charged_runs),
        every=(number for number, _ in counted),
    )
    return Scope.whole("the ledger", unit=unit, neighbours=neighbours).with_part(runs)


def _epsilon(
    entries: Sequence[Entry], neighbours: Neighbours, delta: Fraction, failing: Fraction
) -> tuple[float, AnswerKind]:
    """Return the epsilon at a delta of runs as they are charged, and of which kind it is."""
    if not entries:
        return 0.0, AnswerKind.EXACT
    if delta == 0:
        pure = sum_epsilon(entries, neighbours)
        kind = Claim.of_all([entry.release.claim for entry in entries]).kind
        return (float("inf"), AnswerKind.EXACT) if pure is None else (float(pure), kind)
    rest = delta - failing
    if rest <= 0:
        return float("inf"), AnswerKind.BOUND
    if rho := _modelled(entries, neighbours):
        return rho.epsilon(delta=float(rest)), AnswerKind.MODEL
    joint = _account(entries, neighbours)
    return float(joint.epsilon(delta=rest)), joint.claim.kind


@dataclass(frozen=True, slots=True)
class LedgerCosts(Displayed):
    """What the runs of a ledger cost together: each unit, all units, and for each total of an epsilon."""

    ledger: Ledger
    costs: tuple[Cost, ...]
    totals: tuple[tuple[Total, Cost], ...]
    """The totals that state an epsilon, and what was spent of each."""
    failed: tuple[tuple[str, str], ...]
    """Units whose cost could not be computed, and why."""


def ledger_costs(
    ledger: Ledger,
    *,
    delta: Annotated[Exact, Option("The delta of the epsilon. Default: 1e-10.", "D", reads=str)] = DELTA,
) -> LedgerCosts:
    """Return the cost of the runs charged to each unit, and to all units together.

    It is that of bounded neighbours where a run was calibrated for them. A cost that cannot be computed, such
    as that of too many paths, does not hide the others.

    >>> ledger_costs(Ledger.new()).costs
    ()
    """
    units = [*ledger.units, *(["+".join(ledger.units)] if len(ledger.units) > 1 else [])]
    read = read_delta(delta, zero=True)
    asked = [(unit, _relation(ledger.runs(unit), unit), read) for unit in units]
    stated = {
        (total.unit, total.neighbours, total.delta): total
        for total in ledger.totals
        if total.delta is not None
    }
    costs: dict[tuple[str, Neighbours, Fraction], Cost] = {}
    failed: dict[str, str] = {}
    for unit, neighbours, at in dict.fromkeys([*asked, *stated]):
        try:
            costs[unit, neighbours, at] = ledger_cost(ledger, unit=unit, neighbours=neighbours, delta=at)
        except DiscreetError as error:
            failed.setdefault(unit, str(error))
    return LedgerCosts(
        ledger,
        tuple(costs[key] for key in asked if key in costs),
        tuple((total, costs[key]) for key, total in stated.items() if key in costs),
        tuple(failed.items()),
    )


def _relation(entries: Sequence[Entry], unit: str) -> Neighbours:
    """Return the neighbours for which a common cost is stated: bounded if one run was calibrated for them.

    Runs about the unit itself decide; others, that are charged to it too, only where there are none.
    """
    own = [entry for entry in entries if entry.release.unit in unit.split("+")] or entries
    return "bounded" if any(entry.release.neighbours == "bounded" for entry in own) else "unbounded"


def exceeds(total: Total, entries: Sequence[Entry]) -> str:
    """Say what the runs add up to if a total of epsilon and delta allows less; else return an empty text.

    Under pure privacy (delta 0) epsilons add up as fractions. Otherwise the delta at the total's epsilon
    decides.
    """
    assert total.epsilon is not None
    assert total.delta is not None
    if total.delta == 0:
        epsilon = sum_epsilon(entries, total.neighbours)
        if epsilon is None:
            return "no finite epsilon at delta 0, since Gaussian noise gives none"
        return f"epsilon {epsilon} at delta 0" if epsilon > total.epsilon else ""
    failing = _failing(entries, total.neighbours)
    if failing >= total.delta:
        return f"delta {bound(failing, digits=4)} at any epsilon"
    rho = _modelled(entries, total.neighbours)
    delta = float(failing) + (rho or _account(entries, total.neighbours)).delta(epsilon=float(total.epsilon))
    # the float is right to ten digits or more; a tie to nine digits is refused, to be safe
    return (
        f"delta {brief(delta, 4)} at epsilon {total.epsilon}"
        if delta > float(total.delta) * (1 - 1e-9)
        else ""
    )


def _failing(entries: Sequence[Entry], neighbours: Neighbours) -> Fraction:
    """Return the probability of the events in which a run costs more than its release, at most."""
    return min(sum((entry.delta_for(neighbours) for entry in entries), Fraction(0)), Fraction(1))


def _modelled(entries: Sequence[Entry], neighbours: Neighbours) -> TightZCDP | None:
    """Return the bound from the sum of rho if any run is partly modelled, else None.

    Noise of the same rho, such as one stage in place of two, may cost more than the model says, but never
    more than rho allows.
    """
    if all(entry.release.claim.kind is not AnswerKind.MODEL for entry in entries):
        return None
    return TightZCDP.from_rho(sum((entry.rho_for(neighbours) for entry in entries), Fraction(0)))


def _account(entries: Sequence[Entry], neighbours: Neighbours) -> Account:
    """Return the account of runs about one or several units: one record of each changes at the same time."""
    by_unit: dict[str, list[Entry]] = {}
    for entry in entries:
        by_unit.setdefault(entry.release.unit, []).append(entry)
    releases, first = [], 1
    for runs in by_unit.values():
        # numbered consecutively: runs about different units have different levels, so all paths are combined
        releases.append(_together(runs, neighbours, "the ledger", first=first))
        first += len(runs)
    if len(releases) == 1:
        return account(releases[0], neighbours=neighbours)
    # a portfolio takes releases about a single unit
    same = [replace(release, unit="person") for release in releases]
    return portfolio(same, neighbours=neighbours, all_pairs=True)


def _together(entries: Sequence[Entry], neighbours: Neighbours, where: str, *, first: int = 1) -> Release:
    numbered = list(enumerate(entries, start=first))
    exact = dict.fromkeys(f"{level}: {query}" for entry in entries for level, query in entry.exact)
    claim = Claim.of_all(entry.release.claim for entry in entries)
    if sum(len(runs) > 1 for *_, runs in _groups(entries)) > 1:
        claim = claim.weakened(AnswerKind.BOUND, _UNKNOWN)
    return Release(
        name="ledger",
        title=f"{len(entries)} {'run' if len(entries) == 1 else 'runs'} of one ledger",
        unit=entries[0].release.unit,
        neighbours=neighbours,
        levels=[level for number, entry in numbered for level in _levels(entry.release, number)],
        spine=_spine(numbered, where),
        notes=[f"Held exact, outside the guarantee: {pair}" for pair in exact],
        kind=claim.kind,
        reason=" ".join(claim.reasons),
    )


def _only(values: set[str], what: str, path: FilePath) -> str:
    if not values:
        raise InputError(f"the ledger {path} has no run that counts, so there is nothing to account for")
    if len(values) > 1:
        raise InputError(
            f"the ledger {path} has runs of different {what} ({', '.join(sorted(values))}); name one"
        )
    return next(iter(values))


def _levels(release: Release, number: int) -> list[Level]:
    """Return the levels of a run as the account takes them: what was added up is in the sensitivities."""
    levels = []
    for level in release.levels:
        queries = [
            replace(query.without_rho(event), variable=COUNT)
            for query, event in zip(level.queries, level.events(release.neighbours), strict=True)
        ]
        levels.append(Level(name=f"run {number} {level.name}", queries=queries))
    return levels


def _groups(entries: Sequence[Entry]) -> dict[tuple[str, str, frozenset[Runs]], list[int]]:
    """Return the runs that put a record on the same path, by their index in the list."""
    groups: dict[tuple[str, str, frozenset[Runs]], list[int]] = {}
    for index, entry in enumerate(entries):
        runs = frozenset(entry.release.runs(path) for path in entry.release.paths)
        tree = entry.tree or entry.id  # a run without a tree shares its path with no other
        groups.setdefault((entry.release.unit, tree, runs), []).append(index)
    return groups


def _spine(numbered: list[tuple[int, Entry]], where: str) -> Spine | None:
    groups = _groups([entry for _, entry in numbered])
    count = math.prod(len(runs) for *_, runs in groups)
    if count == 1 and all(len(run) == 1 for *_, paths in groups for path in paths for run in path):
        return None
    if count > MOST_PATHS:
        raise InputError(
            f"the runs of {where} give {count} combinations of paths; at most {MOST_PATHS} can be accounted "
            "for together. Runs over the same tree of units share their paths"
        )
    paths = []
    for chosen in product(*(sorted(runs) for *_, runs in groups)):
        by_number = {
            numbered[index][0]: path
            for members, path in zip(groups.values(), chosen, strict=True)
            for index in members
        }
        runs_of = [(number, run) for number in sorted(by_number) for run in by_number[number]]
        paths.append(["+".join(f"run {number} {name}" for name in run) for number, run in runs_of])
    # The main path, which merges the fewest levels, comes first.
    paths.sort(key=lambda texts: -len(texts))
    return Spine(paths=dict(enumerate(paths, start=1)))
