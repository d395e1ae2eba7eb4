"""What a release costs, row by row: exact values beside zCDP's, of one account or of two compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.accounting.account import Account, account, portfolio
from discreet.accounting.calibration import NoiseChange
from discreet.budget import Neighbours, Release
from discreet.budget.claims import Claim
from discreet.budget.events import release_of, releases_of
from discreet.budget.neighbours import CaseLabel
from discreet.comparisons.noise_differences import matching_noise
from discreet.comparisons.questions import Accounting, Comparing
from discreet.comparisons.zcdp import ZCDP
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.numbers import Exact, Interval, fraction, one_or_more, read_delta
from discreet.questions import asked_with

DELTAS = ("1e-5", "1e-10", "1e-15", "1e-20")
"""Deltas of the default table; the second is the one the US Census Bureau reports at."""


@dataclass(frozen=True, slots=True)
class PrivacyRow:
    """One point of the exact curve beside zCDP's (Bun and Steinke).

    `zcdp` is an epsilon in a row at a given delta, and a delta in a row at a given epsilon; `certified`, if
    there, provably contains the exact value beside it.
    """

    epsilon: float
    delta: float
    zcdp: float
    worst: CaseLabel
    certified: Interval | None = None
    accuracy: float = 0.0
    """The largest error of the number asked for: relative for a delta, absolute for an epsilon."""

    @property
    def paths(self) -> set[int]:
        """The paths of the worst case; none where several releases are accounted for together."""
        return {path for path in self.worst if isinstance(path, int)}


def zcdp_of(account: Account) -> ZCDP:
    """Return zCDP's curve for an account, that of the largest rho among its cases.

    >>> from discreet.budget import load
    >>> from discreet.accounting.account import account
    >>> zcdp_of(account(load("dhc-2022-08-25"))).rho
    Fraction(73, 20)
    """
    return ZCDP.from_rho(account.rho)


def usual_zcdp(account: Account) -> ZCDP | None:
    """Return zCDP's curve for an account, or None if a loss may be infinite, of which zCDP says nothing.

    >>> from discreet.accounting.account import account
    >>> from discreet.noise import TableNoise
    >>> usual_zcdp(account([TableNoise({0: "1/2", 1: "1/2"})])) is None
    True
    """
    return zcdp_of(account) if has_rho(account) else None


def has_rho(account: Account) -> bool:
    """Whether zCDP says anything of an account: no loss of it is infinite.

    >>> from discreet.accounting.account import account
    >>> from discreet.noise import TableNoise
    >>> has_rho(account([TableNoise({0: "1/2", 1: "1/2"})]))
    False
    """
    return all(event.zcdp is not None for event in account.all_events)


def epsilon_rows(
    account: Account,
    deltas: Sequence[Exact] = DELTAS,
    *,
    zcdp: ZCDP | None = None,
    certified: bool = False,
    digits: int | None = None,
) -> list[PrivacyRow]:
    """Return a row for each delta: the smallest epsilon, zero or more, for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.account import account
    >>> row, = epsilon_rows(account(load("dhc-2022-08-25")), ["1e-10"])
    >>> round(row.epsilon, 4), round(row.zcdp, 4), row.worst
    (20.3247, 21.9851, (1,))
    """
    return _rows(account, "delta", deltas, zcdp, certified, digits)


def delta_rows(
    account: Account,
    epsilons: Sequence[Exact],
    *,
    zcdp: ZCDP | None = None,
    certified: bool = False,
    digits: int | None = None,
) -> list[PrivacyRow]:
    """Return a row for each epsilon: the smallest delta for which the promise holds.

    >>> from discreet.budget import load
    >>> from discreet.accounting.account import account
    >>> row, = delta_rows(account(load("dhc-2022-08-25")), [20])
    >>> f"{row.delta:.4g} {row.zcdp:.4g}"
    '2.151e-10 1.117e-08'
    """
    return _rows(account, "epsilon", epsilons, zcdp, certified, digits)


def _rows(
    account: Account,
    given: str,
    values: Sequence[Exact],
    zcdp: ZCDP | None,
    certified: bool,
    digits: int | None,
) -> list[PrivacyRow]:
    wanted = [fraction(value, name=given) for value in values]
    if not wanted:
        return []
    zcdp = zcdp or usual_zcdp(account)
    boxes: Sequence[Interval | None] = [None] * len(wanted)
    if given == "epsilon":
        points, bounds = (
            account.at_epsilon(wanted),
            [zcdp.delta(epsilon=float(x)) if zcdp else 1.0 for x in wanted],
        )
        if certified:
            boxes = list(account.delta(epsilon=wanted, certified=True, digits=digits))
    else:
        points, bounds = (
            account.at_delta(wanted),
            [zcdp.epsilon(delta=float(x)) if zcdp else math.inf for x in wanted],
        )
        # a negative epsilon promises more than was asked for; zero is enough
        points = [replace(point, epsilon=max(point.epsilon, 0.0)) for point in points]
        if certified:
            proved = account.epsilon(delta=wanted, certified=True, digits=digits)
            boxes = [Interval(max(box.lower, Fraction(0)), max(box.upper, Fraction(0))) for box in proved]
    return [
        PrivacyRow(point.epsilon, point.delta, bound, point.worst, box, point.accuracy)
        for point, bound, box in zip(points, bounds, boxes, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class RelationCost:
    """What a release over people and households costs if so many households change, in place or not."""

    neighbours: Neighbours
    households: int
    rho: Fraction | None
    epsilons: tuple[float, ...]
    """One for each delta."""
    claim: Claim


def household_relations(release: Release, deltas: Sequence[Exact]) -> tuple[RelationCost, ...]:
    """Return what a release over people and households costs by what happens in households.

    One is replaced in place, or a person in it changes, comes or goes; one is there or not; a person moves
    between two, which both change.

    >>> from discreet.budget import load
    >>> [(one.neighbours, one.households, round(float(one.rho or 0), 3))
    ...     for one in household_relations(load("sdhc-2020"), [])]
    [('bounded', 1, 0.488), ('unbounded', 1, 0.244), ('bounded', 2, 1.954)]
    """
    made = []
    wanted = [fraction(delta, name="delta") for delta in deltas]
    kinds: tuple[tuple[Neighbours, int], ...] = (("bounded", 1), ("unbounded", 1), ("bounded", 2))
    for neighbours, households in kinds:
        one = account(release, neighbours=neighbours, people=households)
        points = one.at_delta(wanted) if wanted else []
        rho = one.rho if has_rho(one) else None
        epsilons = tuple(max(point.epsilon, 0.0) for point in points)
        made.append(RelationCost(neighbours, households, rho, epsilons, one.claim))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class PrivacyTable(Displayed):
    """What one release, or several together, cost: rows by delta and by epsilon."""

    releases: Sequence[Release]
    account: Account
    by_delta: Sequence[PrivacyRow]
    by_epsilon: Sequence[PrivacyRow] = ()
    digits: int | None = None
    """Digits that were asked for."""
    relations: Sequence[RelationCost] = ()
    """What a release over people and households costs by what happens in households."""


@asked_with(Accounting)
def privacy_table(asked: Accounting) -> PrivacyTable:
    """Return what one release, or several together, cost: a row for each delta and for each epsilon.

    Without any, the deltas are `DELTAS`. Of one release a `pair` of paths or a single `path` may be taken; of
    several, `all_pairs=False` takes the main paths alone. `certify` adds intervals that provably contain the
    values, of as many `digits` as are asked for; `accuracy` says how far an epsilon may be off, or what
    fraction of a delta, and saves time.

    >>> table = privacy_table("dhc-2022-08-25", delta="1e-10")
    >>> round(table.by_delta[0].epsilon, 4)
    20.3247
    """
    releases = releases_of(asked.releases)
    account = (
        _account_of(asked, releases).with_accuracy(asked.accuracy).with_workers(asked.jobs, asked.progress)
    )
    zcdp = usual_zcdp(account)
    deltas, epsilons = one_or_more(asked.delta), one_or_more(asked.epsilon)
    deltas = deltas if deltas or epsilons else [*DELTAS]
    by_delta = epsilon_rows(account, deltas, zcdp=zcdp, certified=asked.certify, digits=asked.digits)
    by_epsilon = delta_rows(account, epsilons, zcdp=zcdp, certified=asked.certify, digits=asked.digits)
    relations: tuple[RelationCost, ...] = ()
    if len(releases) == 1 and releases[0].join is not None and releases[0].unit != "person":
        relations = household_relations(releases[0], deltas)
    return PrivacyTable(releases, account, by_delta, by_epsilon, asked.digits, relations)


def _account_of(asked: Accounting, releases: Sequence[Release]) -> Account:
    """Return the account of one release, of several together, or of a single pair of paths or path."""
    pair, path = asked.pair, asked.path
    release = releases[0]
    if len(releases) == 1 and not asked.all_pairs:
        main = release.main
        raise InputError(
            "--main-path is for several releases together; for one release give "
            f"--pair {main} {main} or --path {main}"
        )
    if pair is None and path is None:
        if len(releases) == 1:
            return account(release, neighbours=asked.neighbours, people=asked.people, one_area=asked.one_area)
        return portfolio(
            releases,
            neighbours=asked.neighbours,
            people=asked.people,
            all_pairs=asked.all_pairs,
            one_area=asked.one_area,
        )
    if len(releases) > 1:
        raise InputError("--pair and --path are for one release, not for several together")
    if pair is not None and path is not None:
        raise InputError("--pair and --path cannot be used together")
    implied: Neighbours = "unbounded" if pair is None else "bounded"
    if asked.neighbours not in (None, implied):
        option = "--path" if pair is None else "--pair"
        raise InputError(f"{option} needs {implied} neighbours, but --neighbours is {asked.neighbours}")
    # an unknown path is refused by the account of all of them, which names those there are
    base = account(release, neighbours="unbounded", people=asked.people)
    label = tuple(sorted(pair)) if pair is not None else (path or 0,)
    _ = base.pair(*label) if pair is not None else base.path(*label)
    whole = account(release, neighbours=implied, people=asked.people, one_area=asked.one_area)
    return whole.only([label])


@dataclass(frozen=True, slots=True)
class TwoReleases(Displayed):
    """Two releases at the same deltas."""

    a: PrivacyTable
    b: PrivacyTable

    @property
    def rows(self) -> list[tuple[PrivacyRow, PrivacyRow]]:
        """The rows of both, delta by delta."""
        return list(zip(self.a.by_delta, self.b.by_delta, strict=True))

    @property
    def noise(self) -> list[tuple[str, NoiseChange]]:
        """Levels and noise of the queries that have the same names in both."""
        return matching_noise(self.a.releases[0], self.b.releases[0])


@asked_with(Comparing)
def compare(asked: Comparing) -> TwoReleases:
    """Return what two releases cost at the same deltas, `DELTAS` if none is named, and their noise.

    >>> both = compare("pl94-2020-units", "dhc-2022-08-25", delta="1e-10")
    >>> [round(row.epsilon, 4) for row in both.rows[0]]
    [2.3632, 20.3247]
    """
    return TwoReleases(_side(asked, release_of(asked.a)), _side(asked, release_of(asked.b)))


def _side(asked: Comparing, release: Release) -> PrivacyTable:
    return privacy_table(
        [release],
        delta=list(map(read_delta, one_or_more(asked.delta))) or DELTAS,
        accuracy=asked.accuracy,
        neighbours=asked.neighbours,
        people=asked.people,
        jobs=asked.jobs,
        progress=asked.progress,
    )
