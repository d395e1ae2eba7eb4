"""Two stages of noise: a noisy total picks a group's table, then the cells of that table are published.

Total-only groups spend everything on one total. Small groups below the states are dropped, empty ones
without being looked at (see `empty`). Noise is drawn once, for all groups of a geography and level together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.noise import Entropy, Noise, sample
from discreet.release.hierarchy.arrow import arrow
from discreet.release.safetab import empty
from discreet.release.safetab.ages import COARSER
from discreet.release.safetab.mechanism import Mechanism
from discreet.release.safetab.parts import AGES, CELLS, Codes, Integers, Part, joined, spread
from discreet.release.safetab.specification import Specification


class Counts(Protocol):
    """What is needed of the counts of `counting`: regions and iterations go by their index."""

    def regions(self, geography: str) -> Sequence[str]:
        """Return the regions of a geography, with or without people."""

    def totals(self, geography: str, level: int) -> Any:
        """Return an Arrow table of region, iteration and count: groups with people, sorted."""

    def cells(self, geography: str, level: int, groups: Any) -> Any:
        """Return an Arrow table of region, iteration, sex, age and count of these groups."""


STAGE_TWO, TOTAL_ONLY = 0, 1
"""Whose noise a cell has: two labels for each mechanism."""


def noisy(
    counts: Counts,
    specification: Specification,
    mechanism: Mechanism,
    *,
    allow_negative: bool,
    source: Entropy | None = None,
) -> Part:
    """Return the released groups of one geography and level: noise, suppression, clamping, in this order.

    Guarantee. Assumed: one person is counted in at most `mechanism.stability` groups of a region, once in
    each. Claimed: the groups are the outcome of the mechanism on the counts (stage one on every total,
    stage two on every cell of the table that it picked, or noise on the total of a total-only group), of
    which small ones are then dropped. Empty groups are drawn from the law that this gives them, see
    `docs/explanation/empty-groups.md`.
    """
    geography, level = mechanism.geography, mechanism.level
    place = {one.code: i for i, one in enumerate(specification.iterations)}
    tabulated = specification.tabulated(geography, level)
    iterations = np.array([place[one.code] for one in tabulated], dtype=np.int32)
    total_only = np.array([one.total_only for one in specification.iterations], dtype=bool)
    regions = len(counts.regions(geography))
    found = counts.totals(geography, level)
    region, iteration, count = (column(found, name) for name in ("region", "iteration", "count"))
    if empty.plain(mechanism):
        region, iteration, count = grid(regions, iterations, region, iteration, count)
        part = measured(counts, mechanism, total_only, region, iteration, count, source)
    else:
        part = joined(
            [
                measured(counts, mechanism, total_only, region, iteration, count, source),
                empty.survivors(mechanism, regions, iterations, region, iteration, source=source),
            ]
        )
    return part if allow_negative else part.clamped()


def measured(
    counts: Counts,
    mechanism: Mechanism,
    total_only: NDArray[np.bool_],
    region: Codes,
    iteration: Codes,
    count: Integers,
    source: Entropy | None,
) -> Part:
    """Return those of the given groups that are not suppressed, with noise."""
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
    region, iteration, table, values = region[kept], iteration[kept], table[kept], values[kept]
    part = Part(
        mechanism.geography,
        mechanism.level,
        region,
        iteration,
        table,
        np.where(total_only[iteration], TOTAL_ONLY, STAGE_TWO).astype(np.int32),
        np.zeros(int(np.take(CELLS, table).sum()), dtype=np.int64),
    )
    starts, large = part.starts(), table > 0
    part.values[starts[~large]] = values[~large]
    fill(counts, part, np.flatnonzero(large))
    cells = spread(starts[large], part.widths()[large])
    part.values[cells] += drawn(mechanism.stage_two, cells.size, source)
    return part


def fill(counts: Counts, part: Part, large: NDArray[np.intp]) -> None:
    """Write the true cells of the groups at these places into the part."""
    if not large.size:
        return
    wanted = arrow().table({"region": part.region[large], "iteration": part.iteration[large]})
    found = counts.cells(part.geography, part.level, wanted)
    region, iteration, sex, age, count = (
        column(found, name) for name in ("region", "iteration", "sex", "age", "count")
    )
    # groups are sorted by region and iteration, so their keys are, too
    group = large[np.searchsorted(keys(part.region[large], part.iteration[large]), keys(region, iteration))]
    table = part.table[group]
    coarse = np.array(COARSER)[table - 1, age]
    cell = part.starts()[group] + (sex.astype(np.int64) - 1) * np.take(AGES, table) + coarse
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


def keys(region: Codes, iteration: Codes) -> Integers:
    """Return one number for each pair, in the same order."""
    return region.astype(np.int64) << 32 | iteration


def column(table: Any, name: str) -> NDArray[Any]:
    """Return a column of an Arrow table as an array."""
    values: NDArray[Any] = table.column(name).to_numpy()
    return values


def noises(mechanism: Mechanism) -> Mapping[int, Noise | None]:
    """Return the noise of each label of a mechanism."""
    return {STAGE_TWO: mechanism.stage_two, TOTAL_ONLY: mechanism.total_only}
