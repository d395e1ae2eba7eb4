"""The non-zero whole cells of some units: memory goes with records, not with units times cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.areas.tree import Integers

Row = tuple[Integers, Integers]
"""The non-zero cells of one unit, in order, and their counts."""


@dataclass(frozen=True)
class WholeCells:
    """The non-zero cells of some units: where each unit starts, the cells in order, and their counts.

    >>> cells = WholeCells.of(np.array([[0, 4], [0, 0], [2, 1]]))
    >>> cells.start.tolist(), cells.cell.tolist(), cells.count.tolist()
    ([0, 1, 1, 3], [1, 0, 1], [4, 2, 1])
    >>> cells.take(np.array([2, 1])).sums(np.array([0, 0]), 1).tolist()
    [[3], [0]]
    """

    start: Integers
    cell: Integers
    count: Integers

    @classmethod
    def of(cls, dense: Integers, cells: Integers | None = None) -> WholeCells:
        """Return rows of counts; `cells` are the cells of the columns, in order."""
        row, column = np.nonzero(dense)
        start = np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))])
        cell = column if cells is None else cells[column]
        return cls(start.astype(np.int64), cell.astype(np.int64), dense[row, column].astype(np.int64))

    @classmethod
    def join(cls, parts: Sequence[WholeCells]) -> WholeCells:
        """Put units after each other."""
        steps = [np.zeros(1, dtype=np.int64), *(np.diff(part.start) for part in parts)]
        none = [np.zeros(0, dtype=np.int64)]
        cell, count = (np.concatenate(none + [getattr(part, name) for part in parts]) for name in _FIELDS)
        return cls(np.cumsum(np.concatenate(steps)), cell, count)

    def __len__(self) -> int:
        return len(self.start) - 1

    def row(self, unit: int) -> Row:
        """Return the non-zero cells of a unit, and their counts."""
        part = slice(int(self.start[unit]), int(self.start[unit + 1]))
        return self.cell[part], self.count[part]

    def take(self, units: Integers) -> WholeCells:
        """Return some units, in any order."""
        many = self.start[units + 1] - self.start[units]
        start = np.concatenate([[0], np.cumsum(many)]).astype(np.int64)
        at = np.arange(start[-1]) + np.repeat(self.start[units] - start[:-1], many)
        return WholeCells(start, self.cell[at], self.count[at])

    def places(self) -> Integers:
        """Return the unit of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def sums(self, label: Integers, groups: int) -> Integers:
        """Return the counts of groups of cells, a row for each unit; cells with the label -1 are in none."""
        group = label[self.cell]
        inside = group >= 0
        code = self.places()[inside] * groups + group[inside]
        sums: Integers = np.zeros(len(self) * groups, dtype=np.int64)
        np.add.at(sums, code, self.count[inside])
        return sums.reshape(len(self), groups)


_FIELDS = ("cell", "count")
