"""Noisy groups of one geography and level, as arrays: which region, which iteration, which table, its cells.

A group has one of four tables: a total, or sex by 4, 9 or 23 ages. The cells of all groups stand in one
array, one group after the other, those of the first sex before those of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.release.safetab.ages import RANGES

AGES = (0, *map(len, RANGES))
"""How many ages each table has; the total has none."""

CELLS = (1, *(2 * ages for ages in AGES[1:]))
"""How many cells each table has: 1, 8, 18 or 46."""

TOTAL = "T01001"
TABLES = (TOTAL, "T02001", "T02002", "T02003")
"""What the tables are called."""

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Small = NDArray[np.int8]
Places = NDArray[np.intp]

_CELLS = np.array(CELLS, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The groups of one geography and level, sorted by region and iteration.

    `label` says whose noise a group has: see `labels`. Regions and iterations are indices.

    >>> part = Part.of("USA", 1, [0, 0], [4, 3], [0, 0], [0, 0], [7, 8])
    >>> part.iteration.tolist(), part.totals().tolist()
    ([3, 4], [8, 7])
    """

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
        geography: str,
        level: int,
        region: Sequence[int] | Codes,
        iteration: Sequence[int] | Codes,
        table: Sequence[int] | Small,
        label: Sequence[int] | Codes,
        values: Sequence[int] | Integers,
    ) -> Part:
        """Return a part from groups in any order."""
        part = cls(
            geography,
            level,
            np.asarray(region, dtype=np.int32),
            np.asarray(iteration, dtype=np.int32),
            np.asarray(table, dtype=np.int8),
            np.asarray(label, dtype=np.int32),
            np.asarray(values, dtype=np.int64),
        )
        return part.sorted()

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.region.size)

    def widths(self) -> Integers:
        """Return how many cells each group has."""
        return _CELLS[self.table]

    def starts(self) -> Integers:
        """Return where the cells of each group begin."""
        widths = self.widths()
        return np.cumsum(widths) - widths

    def totals(self) -> Integers:
        """Return the sum of the cells of each group."""
        if not self.size:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.values, self.starts())

    def take(self, which: Places) -> Part:
        """Return the groups at these places, in this order."""
        return replace(
            self,
            region=self.region[which],
            iteration=self.iteration[which],
            table=self.table[which],
            label=self.label[which],
            values=self.values[spread(self.starts()[which], self.widths()[which])],
        )

    def keep(self, mask: NDArray[np.bool_]) -> Part:
        """Return the groups where the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def sorted(self) -> Part:
        """Return the groups by region, then iteration."""
        order = np.lexsort((self.iteration, self.region))
        return self if (order == np.arange(order.size)).all() else self.take(order)

    def clamped(self) -> Part:
        """Return the groups with zero for cells that are below zero."""
        return replace(self, values=np.maximum(self.values, 0))


def joined(parts: Sequence[Part]) -> Part:
    """Return one part with the groups of several, all of one geography and level."""
    return Part(
        parts[0].geography,
        parts[0].level,
        np.concatenate([part.region for part in parts]),
        np.concatenate([part.iteration for part in parts]),
        np.concatenate([part.table for part in parts]),
        np.concatenate([part.label for part in parts]),
        np.concatenate([part.values for part in parts]),
    ).sorted()


def spread(starts: Integers, widths: Integers) -> Places:
    """Return start, start + 1, ... for each start, as many as its width.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ahead = np.cumsum(widths) - widths
    return np.repeat(starts - ahead, widths) + np.arange(int(widths.sum()))
