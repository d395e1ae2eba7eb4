"""The noise of one geography and level: how much on which count, and which groups are suppressed.

With a stability s and a budget rho, a count of budget r gets discrete Gaussian noise of variance
s / (2 r) (zCDP), or two-sided geometric noise of scale s / r (pure privacy): r is rho for total-only
groups, gamma rho for the first stage and (1 - gamma) rho for the second.

Two stages of noise: a noisy total picks a group's table, then the cells of that table are published. Where a
count that is already published picks the table, there is no first stage, and the cells have the whole budget.

Total-only groups spend everything on one total. Small groups are dropped at the geographies below. Noise is
drawn once, for all groups of a geography and level together.

A nation has hundreds of millions of pairs of a small region and a group, and most count nobody. Empty groups
that survive suppression are drawn without looking at the others. What becomes of such a group is a function
of noise alone: with first-stage noise N1, second-stage noise N2, the first threshold t and the bound T, it is
released

    as a total     with chance  P[N1 < t] P[N2 > T],  its number being N2 given N2 > T,
    as a larger table  with chance  P[N1 >= t],  each of its cells being noise.

So the pairs that are released are drawn by exact geometric skips over all pairs, then what they are. Pairs
that turn out not to be empty are passed over: their fate is decided by their own count and other noise. The
proof is in `docs/explanation/empty-groups.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import ArrowTable, arrow, spread
from discreet.census.mechanism.configuration import Configuration, Privacy
from discreet.census.mechanism.groups import Specification, Stability
from discreet.census.mechanism.ladder import Ladder
from discreet.census.mechanism.parts import Codes, GroupArrays, Integers, joined, keys
from discreet.census.mechanism.published import Picked
from discreet.census.mechanism.trials import Trials
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Entropy, Noise, balls, sample
from discreet.noise.inversion import Above, Kinds, draw

if TYPE_CHECKING:
    from flint import arb

    from discreet.census.mechanism.counts import GroupCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """The noise of one geography and level.

    A noise of None is no noise at all. A group whose published count is a total alone and not above
    `suppression` is dropped; None if nothing is suppressed at this geography.
    """

    geography: str
    level: int
    budget: Fraction | None
    stability: Stability
    total_only: Noise | None
    stage_one: Noise | None
    stage_two: Noise | None
    thresholds: tuple[int, ...]
    suppression: int | None
    ladder: Ladder

    @property
    def place(self) -> tuple[str, int]:
        """The geography and level."""
        return self.geography, self.level

    @property
    def laws(self) -> tuple[Noise, ...]:
        """The noise of total-only groups and of both stages, where there is noise.

        Without a first stage, cells have the noise of total-only groups.
        """
        return tuple(
            noise for noise in (self.total_only, self.stage_one, self.stage_two) if noise is not None
        )

    @property
    def noises(self) -> tuple[Noise | None, Noise | None]:
        """The noise of a published cell by the group's label: STAGE_TWO, TOTAL_ONLY."""
        return self.stage_two, self.total_only


def mechanism(
    configuration: Configuration, specification: Specification, geography: str, level: int
) -> Mechanism:
    """Return the noise of a geography and level that has a budget."""
    budget = configuration.budgets[geography, level]
    where = f"{geography}, level {level}"
    if budget == 0:
        raise InputError(f"{where} has no budget, so it is not tabulated")
    if (geography, level) not in configuration.thresholds:
        raise InputError(f"{where} has no thresholds")
    stable = specification.stability(level, configuration.max_race_codes, geography)
    ladder = configuration.tabulation.ladder(level)
    gamma, kind = configuration.gamma, configuration.privacy
    parts: list[Noise | None] = [None, None, None]
    # Nobody is counted anywhere if no code has an iteration: the noise is then as for one group.
    often = max(stable.value, 1)
    if budget is not None:
        try:
            shares = (Fraction(1), gamma, 1 - gamma) if ladder.picks else (Fraction(1), None, Fraction(1))
            parts = [None if part is None else budget_noise(part * budget, often, kind) for part in shares]
        except InputError as error:
            raise InputError(f"the budget of {where} cannot be used: {error}") from None
    return Mechanism(
        geography=geography,
        level=level,
        budget=budget,
        stability=stable,
        total_only=parts[0],
        stage_one=parts[1],
        stage_two=parts[2],
        thresholds=configuration.thresholds[geography, level],
        # what was published before has been suppressed before
        suppression=suppression_threshold(parts[2], configuration.zero_suppression_chance)
        if ladder.picks and configuration.tabulation.is_below(geography)
        else None,
        ladder=ladder,
    )


def budget_noise(budget: Fraction, stability: int, privacy: Privacy) -> Noise:
    """Return the noise of counts of which one person is in `stability`, for a budget over all of them.

    >>> print(budget_noise(Fraction(9, 1250), 9, "zcdp"))
    discrete Gaussian noise of variance 625
    >>> print(budget_noise(Fraction(9, 10), 9, "puredp"))
    discrete Laplace noise of scale 10
    """
    if privacy == "zcdp":
        return DiscreteGaussian(variance=Fraction(stability) / (2 * budget)).single()
    return DiscreteLaplace(scale=Fraction(stability) / budget).single()


@lru_cache(maxsize=1024)
def suppression_threshold(noise: Noise | None, chance: Fraction) -> int | None:
    """Return T: an empty group is dropped with at least this chance. None if the chance is 0.

    >>> suppression_threshold(DiscreteGaussian(variance=625), Fraction(9999, 10000))
    93
    >>> suppression_threshold(None, Fraction(9999, 10000))
    0
    >>> suppression_threshold(DiscreteGaussian(variance=625), Fraction(0)) is None
    True
    """
    if chance == 0:
        return None
    return 0 if noise is None else noise.quantile(chance)


# -- two stages of noise -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """The chance that an empty group gets a total alone and is not suppressed: P[N1 < t] P[N2 > T]."""

    first: Noise
    threshold: int
    second: Noise
    bound: int

    def __call__(self) -> arb:
        """Return a ball at the working precision."""
        return self.first.ball_upper(1 - self.threshold) * self.second.ball_upper(self.bound + 1)


@dataclass(frozen=True)
class Between:
    """The chance that noise is at least `low` and, unless that is None, below `high`."""

    noise: Noise
    low: int
    high: int | None = None

    def __call__(self) -> arb:
        """Return a ball at the working precision."""
        above = balls.ball(0) if self.high is None else self.noise.ball_upper(self.high)
        return self.noise.ball_upper(self.low) - above


@dataclass(frozen=True)
class Survival:
    """The chance that an empty group is released, and as what.

    >>> from discreet.noise import DiscreteGaussian
    >>> total, cells = DiscreteGaussian(variance=5625), DiscreteGaussian(variance=625)
    >>> survival = Survival(total, cells, (4971, 19971, 149971), 93)
    >>> round(float(survival.chance()), 9)
    9.1919e-05
    """

    first: Noise
    second: Noise
    thresholds: tuple[int, ...]
    bound: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> Survival:
        """Return the survival of the empty groups of a mechanism that has noise and suppression."""
        first, second, bound = mechanism.stage_one, mechanism.stage_two, mechanism.suppression
        if first is None or second is None or bound is None:
            raise ValueError("groups without noise or suppression are not drawn by skips")
        return cls(first, second, mechanism.thresholds, bound)

    @property
    def kinds(self) -> tuple[Kept | Between, ...]:
        """The chances of the tables."""
        ends: tuple[int | None, ...] = (*self.thresholds[1:], None)
        larger = (Between(self.first, low, high) for low, high in zip(self.thresholds, ends, strict=True))
        return (Kept(self.first, self.thresholds[0], self.second, self.bound), *larger)

    def __call__(self) -> arb:
        """Return a ball around the chance of being released, at the working precision."""
        total = self.kinds[0]()
        return total + self.first.ball_upper(self.thresholds[0])

    def chance(self) -> float:
        """Return the chance of being released as a float."""
        with balls.working_bits(192):
            return float(self().mid())


def draws_all(mechanism: Mechanism) -> bool:
    """Whether every group is drawn: nothing is suppressed, or without noise an empty group is large."""
    if mechanism.suppression is None:
        return True
    noise = mechanism.stage_one is not None and mechanism.stage_two is not None
    return not noise and (mechanism.thresholds[0] <= 0 or mechanism.suppression < 0)


def survivors(
    mechanism: Mechanism,
    regions: int,
    iterations: Codes,
    region: Codes,
    iteration: Codes,
    *,
    source: Entropy | None = None,
) -> GroupArrays:
    """Return the empty groups that are released, among all pairs but the given ones, which are not empty.

    `iterations` are the sorted indices of the iterations that are tabulated; `region` and `iteration` are
    sorted.
    """
    if mechanism.stage_one is None or mechanism.stage_two is None or not regions or not iterations.size:
        # without noise an empty group stays empty, and is dropped
        return GroupArrays.of(mechanism.ladder, mechanism.geography, mechanism.level, [], [], [], [], [])
    survival = Survival.of(mechanism)
    taken = region.astype(np.int64) * iterations.size + np.searchsorted(iterations, iteration)
    taken = np.append(taken, regions * iterations.size)  # beyond all pairs, so that each has a next one
    pairs = [np.zeros(0, dtype=np.int64)]
    for successes in Trials(survival).successes(regions * iterations.size, source=source):
        pairs.append(successes[taken[np.searchsorted(taken, successes)] != successes])
    pair = np.concatenate(pairs)
    table, values = outcomes(survival, mechanism.ladder, pair.size, source=source)
    return GroupArrays(
        mechanism.ladder,
        mechanism.geography,
        mechanism.level,
        (pair // iterations.size).astype(np.int32),
        iterations[pair % iterations.size],
        table,
        np.zeros(pair.size, dtype=np.int32),
        values,
    )


def outcomes(
    survival: Survival, ladder: Ladder, size: int, *, source: Entropy | None = None
) -> tuple[NDArray[np.int8], Integers]:
    """Return the tables and the cells of groups that are empty and released."""
    table = draw(Kinds(survival.kinds), size, source=source).astype(np.int8)
    widths = ladder.cells[table]
    starts = np.cumsum(widths) - widths
    values = np.empty(int(widths.sum()), dtype=np.int64)
    totals = starts[table == 0]
    beyond = draw(Above(survival.second, survival.bound), totals.size, source=source)
    values[totals] = survival.bound + 1 + beyond
    cells = spread(starts[table > 0], widths[table > 0])
    values[cells] = sample(survival.second, cells.size, source=source)
    return table, values


STAGE_TWO, TOTAL_ONLY = 0, 1
"""Whose noise a cell has: two labels for each mechanism."""

AT_ONCE = 1 << 22
"""Groups that noise is drawn for at a time."""


def noisy(
    counts: GroupCounts,
    specification: Specification,
    mechanism: Mechanism,
    *,
    allow_negative: bool,
    source: Entropy | None = None,
    picked: Picked | None = None,
) -> GroupArrays:
    """Return the released groups of one geography and level: noise, suppression, clamping, in this order.

    Guarantee. Assumed: one person is counted in at most `mechanism.stability` groups of a region, once in
    each. Claimed: the groups are the outcome of the mechanism on the counts (stage one on every total,
    stage two on every cell of the table that it picked, or noise on the total of a total-only group), of
    which small ones are then dropped. Empty groups are drawn from the law that this gives them, see
    `docs/explanation/empty-groups.md`.
    """
    geography, level = mechanism.geography, mechanism.level
    if not mechanism.ladder.picks:
        part = _as_picked(counts, specification, mechanism, picked, source)
        return part if allow_negative else part.clamped()
    iterations = np.array(specification.places(geography, level), dtype=np.int32)
    total_only = np.array([group.total_only for group in specification.iterations], dtype=bool)
    regions = len(counts.regions(geography))
    totals = counts.totals(geography, level)
    region, iteration = (column(totals, name, np.int32) for name in ("region", "iteration"))
    count = column(totals, "count", np.int64)
    every = draws_all(mechanism)
    if every:
        region, iteration, count = grid(regions, iterations, region, iteration, count)
    part = measured(counts, mechanism, total_only, region, iteration, count, source)
    if not every:
        part = joined([part, survivors(mechanism, regions, iterations, region, iteration, source=source)])
    return part if allow_negative else part.clamped()


def _as_picked(
    counts: GroupCounts,
    specification: Specification,
    mechanism: Mechanism,
    picked: Picked | None,
    source: Entropy | None,
) -> GroupArrays:
    """Return the groups of a published list, each with noise on the cells of the table its count picks."""
    if picked is None:
        raise ValueError("the ladder takes its tables from an input, and none is given")
    table = np.searchsorted(mechanism.thresholds, picked.count, side="right").astype(np.int8)
    part = GroupArrays(
        mechanism.ladder,
        mechanism.geography,
        mechanism.level,
        picked.region,
        picked.iteration,
        table,
        np.zeros(table.size, dtype=np.int32),
        np.zeros(int(mechanism.ladder.cells[table].sum()), dtype=np.int64),
    )
    small = np.flatnonzero(table == 0)
    part.values[part.starts()[small]] = true_totals(counts, part)[small]
    fill(counts, part, np.flatnonzero(table > 0))
    part.values[:] += drawn(mechanism.stage_two, part.values.size, source)
    return part


def true_totals(counts: GroupCounts, part: GroupArrays) -> Integers:
    """Return the true total of each group of a part."""
    totals = counts.totals(part.geography, part.level)
    there = keys(column(totals, "region", np.int32), column(totals, "iteration", np.int32))
    wanted = keys(part.region, part.iteration)
    position = np.searchsorted(there, wanted)
    count = np.append(column(totals, "count", np.int64), 0)
    return np.where(np.append(there, -1)[position] == wanted, count[position], 0)


def measured(
    counts: GroupCounts,
    mechanism: Mechanism,
    total_only: NDArray[np.bool_],
    region: Codes,
    iteration: Codes,
    count: Integers,
    source: Entropy | None,
) -> GroupArrays:
    """Return those of the given groups that are not suppressed, with noise.

    Most are suppressed, so they are drawn some millions at a time, and only the others are kept.
    """
    blocks = [slice(start, start + AT_ONCE) for start in range(0, max(1, count.size), AT_ONCE)]
    some = [stage_one(mechanism, total_only, region[b], iteration[b], count[b], source) for b in blocks]
    region, iteration, table, values = (np.concatenate(columns) for columns in zip(*some, strict=True))
    part = GroupArrays(
        mechanism.ladder,
        mechanism.geography,
        mechanism.level,
        region,
        iteration,
        table,
        np.where(total_only[iteration], TOTAL_ONLY, STAGE_TWO).astype(np.int32),
        np.zeros(int(mechanism.ladder.cells[table].sum()), dtype=np.int64),
    )
    starts, large = part.starts(), table > 0
    part.values[starts[~large]] = values[~large]
    fill(counts, part, np.flatnonzero(large))
    cells = spread(starts[large], part.widths()[large])
    part.values[cells] += drawn(mechanism.stage_two, cells.size, source)
    return part


def stage_one(
    mechanism: Mechanism,
    total_only: NDArray[np.bool_],
    region: Codes,
    iteration: Codes,
    count: Integers,
    source: Entropy | None,
) -> tuple[Codes, Codes, NDArray[np.int8], Integers]:
    """Return the groups that are not suppressed: region, iteration, table, and the total of those with no
    other cell."""
    simple = total_only[iteration]
    table = np.zeros(count.size, dtype=np.int8)
    first = count[~simple] + drawn(mechanism.stage_one, int(np.sum(~simple)), source)
    # a count that reaches a threshold moves up
    table[~simple] = np.searchsorted(mechanism.thresholds, first, side="right")
    values = np.zeros(count.size, dtype=np.int64)  # of the groups with a total alone
    values[simple] = count[simple] + drawn(mechanism.total_only, int(np.sum(simple)), source)
    other = (table == 0) & ~simple
    values[other] = count[other] + drawn(mechanism.stage_two, int(np.sum(other)), source)
    kept = table > 0
    kept |= True if mechanism.suppression is None else values > mechanism.suppression
    return region[kept], iteration[kept], table[kept], values[kept]


def fill(counts: GroupCounts, part: GroupArrays, large: NDArray[np.intp]) -> None:
    """Write the true cells of the groups at these places into the part."""
    if not large.size:
        return
    wanted = arrow().table({"region": part.region[large], "iteration": part.iteration[large]})
    cell_counts = counts.cells(part.geography, part.level, wanted)
    region, iteration = (column(cell_counts, name, np.int32) for name in ("region", "iteration"))
    finest, count = (column(cell_counts, name, np.int64) for name in ("cell", "count"))
    # groups are sorted by region and iteration, so their keys are, too
    group = large[np.searchsorted(keys(part.region[large], part.iteration[large]), keys(region, iteration))]
    cell = part.starts()[group] + part.ladder.cell_of[part.table[group], finest]
    np.add.at(part.values, cell, count)


def grid(
    regions: int, iterations: Codes, region: Codes, iteration: Codes, count: Integers
) -> tuple[Codes, Codes, Integers]:
    """Return every pair of a region and an iteration, with the counts of those that are not empty.

    >>> some = (np.array([1], dtype=np.int32), np.array([5], dtype=np.int32), np.array([9]))
    >>> [part.tolist() for part in grid(2, np.array([3, 5], dtype=np.int32), *some)]
    [[0, 0, 1, 1], [3, 5, 3, 5], [0, 0, 0, 9]]
    """
    every = np.zeros((regions, iterations.size), dtype=np.int64)
    every[region, np.searchsorted(iterations, iteration)] = count
    rows = np.repeat(np.arange(regions, dtype=np.int32), iterations.size)
    return rows, np.tile(iterations, regions), every.ravel()


def drawn(noise: Noise | None, size: int, source: Entropy | None) -> Integers:
    """Return noise, or zeros where there is none."""
    if noise is None:
        return np.zeros(size, dtype=np.int64)
    return sample(noise, size, source=source)


Kind = TypeVar("Kind", bound=np.generic)


def column(table: ArrowTable, name: str, kind: type[Kind]) -> NDArray[Kind]:
    """Return a column of an Arrow table as an array of a kind of numbers."""
    return np.asarray(table.column(name).to_numpy(), dtype=kind)
