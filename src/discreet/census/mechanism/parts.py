"""Parts: the groups of one geography and level as arrays.

A group has one of the tables of its ladder. The cells of all groups stand in one array, one group after the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import spread
from discreet.census.mechanism.ladder import Ladder

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Small = NDArray[np.int8]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class GroupArrays:
    """The groups of one geography and level, sorted by region and iteration.

    `label` says whose noise a group has: see `Labels`. Regions and iterations are indices.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> part = GroupArrays.of(safetab_p().ladder(1), "USA", 1, [0, 0], [4, 3], [0, 0], [0, 0], [7, 8])
    >>> part.iteration.tolist(), part.totals().tolist()
    ([3, 4], [8, 7])
    """

    ladder: Ladder
    geography: str
    level: int
    region: Codes
    iteration: Codes
    table: Small
    label: Codes
    values: Integers

    @classmethod
    def of(
        cls,
        ladder: Ladder,
        geography: str,
        level: int,
        region: Sequence[int] | Codes,
        iteration: Sequence[int] | Codes,
        table: Sequence[int] | Small,
        label: Sequence[int] | Codes,
        values: Sequence[int] | Integers,
    ) -> GroupArrays:
        """Return a part from groups in any order."""
        return cls(
            ladder,
            geography,
            level,
            np.asarray(region, dtype=np.int32),
            np.asarray(iteration, dtype=np.int32),
            np.asarray(table, dtype=np.int8),
            np.asarray(label, dtype=np.int32),
            np.asarray(values, dtype=np.int64),
        ).sorted()

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.region.size)

    def widths(self) -> Integers:
        """Return how many cells each group has."""
        return self.ladder.cells[self.table]

    def starts(self) -> Integers:
        """Return where the cells of each group begin."""
        widths = self.widths()
        return np.cumsum(widths) - widths

    def totals(self) -> Integers:
        """Return the sum of the cells of each group."""
        if not self.size:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.values, self.starts())

    def take(self, which: Places) -> GroupArrays:
        """Return the groups at these places, in this order."""
        return replace(
            self,
            region=self.region[which],
            iteration=self.iteration[which],
            table=self.table[which],
            label=self.label[which],
            values=self.values[spread(self.starts()[which], self.widths()[which])],
        )

    def keep(self, mask: NDArray[np.bool_]) -> GroupArrays:
        """Return the groups where the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def sorted(self) -> GroupArrays:
        """Return the groups by region, then iteration."""
        order = np.lexsort((self.iteration, self.region))
        return self if (order == np.arange(order.size)).all() else self.take(order)

    def clamped(self) -> GroupArrays:
        """Return the groups with zero for cells that are below zero."""
        return replace(self, values=np.maximum(self.values, 0))


def joined(parts: Sequence[GroupArrays]) -> GroupArrays:
    """Return one part with the groups of several, all of one geography and level."""
    return replace(
        parts[0],
        region=np.concatenate([part.region for part in parts]),
        iteration=np.concatenate([part.iteration for part in parts]),
        table=np.concatenate([part.table for part in parts]),
        label=np.concatenate([part.label for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    ).sorted()


def keys(region: Codes, iteration: Codes) -> Integers:
    """Return one number for each pair of a region and an iteration, in the same order."""
    return region.astype(np.int64) << 32 | iteration


def published_rows(part: GroupArrays) -> Integers:
    """Return the rows of groups that have more than a total, one group after the other.

    >>> from discreet.census.safetab.specification import safetab_p
    >>> values = [1, 2, 3, 4, 10, 20, 30, 40]
    >>> part = GroupArrays.of(safetab_p().ladder(1), "USA", 1, [0], [0], [1], [0], values)
    >>> published_rows(part).tolist()
    [10, 100, 1, 2, 3, 4, 10, 20, 30, 40]
    """
    heights = part.ladder.heights[part.table]
    starts, first = part.starts(), np.cumsum(heights) - heights
    result = np.empty(int(heights.sum()), dtype=np.int64)
    for table in np.unique(part.table).tolist():
        rung, groups = part.ladder.rungs[table], np.flatnonzero(part.table == table)
        for index, row in enumerate(rung.rows):
            cells = starts[groups]
            values = part.values[cells + row.cells[0]]
            for cell in row.cells[1:]:
                values = values + part.values[cells + cell]
            result[first[groups] + index] = values
    return result
