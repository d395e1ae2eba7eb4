"""A ladder: tables from the total on, each with more detail, and the rows that each of them publishes.

A record's *finest cell* is its value of every attribute. A table measures *cells*, each a union of finest
ones, and publishes *rows*, each a sum of cells: the cells themselves, and sums such as one sex over all ages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.budget.toml import a_list
from discreet.errors import InputError
from discreet.numbers import shown

ALL = "*"
"""The label of an attribute that a row does not tell apart."""

TOTAL = "total"
CELL = "cell"
"""Kinds of numbers of every table; others are sums of cells."""
Of = Literal["noisy total", "input"]
"""What picks the table of a group."""
Others = Literal["refused", "left out"]
"""What becomes of rows of an input that are of no group or region that is tabulated."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the records: what its values are called in a table, and how they may be written.

    `parts` are the finest values, each as its labels; `texts` says which part each text means.
    """

    name: str
    column: str
    labels: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    texts: Mapping[str, int]
    starts: tuple[int, ...]
    last: int
    wrong: str

    def divided(self, by: object) -> list[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Return the parts of a table, each with its labels and the finest parts it holds.

        >>> from discreet.census.mechanism.tabulation_toml import read_attribute
        >>> age = read_attribute({"name": "age", "column": "AGE", "starts": [0, 18, 65], "last": 115})
        >>> age.divided([0, 65])
        [(('0-64',), (0, 1)), (('65-115',), (2,))]
        >>> age.divided(None)
        [(('*',), (0, 1, 2))]
        """
        if by is None:
            return [((ALL,) * len(self.labels), tuple(range(len(self.parts))))]
        if by == "each":
            return [(labels, (index,)) for index, labels in enumerate(self.parts)]
        if isinstance(by, list) and self.starts:
            if (
                not all(is_whole(start) for start in by)
                or by != sorted(set(by))
                or not by
                or by[0] != self.starts[0]
                or not set(by) <= set(self.starts)
            ):
                known = ", ".join(map(str, self.starts))
                raise InputError(
                    f"{self.name} starts at {by}; it must rise from {self.starts[0]}, among {known}"
                )
            ends = [*(start - 1 for start in by[1:]), self.last]
            return [
                (
                    range_labels(start, end, len(self.labels)),
                    tuple(index for index, own in enumerate(self.starts) if start <= own <= end),
                )
                for start, end in zip(by, ends, strict=True)
            ]
        if isinstance(by, dict) and not self.starts:
            values = [labels[0] for labels in self.parts]
            named = [value for some in by.values() for value in a_list(some, self.name, "values")]
            if not all(isinstance(value, str) for value in named) or sorted(named) != sorted(values):
                raise InputError(f"{self.name} must have each of {', '.join(values)} once")
            return [((name,), tuple(values.index(value) for value in some)) for name, some in by.items()]
        how = "a list of starts" if self.starts else "a table of names and values"
        raise InputError(f'{self.name} is {shown(by)}; it must be "each" or {how}')


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def range_labels(start: int, end: int, many: int) -> tuple[str, ...]:
    """Return how a range of numbers is called: in two columns, or in one.

    >>> range_labels(0, 17, 2), range_labels(0, 17, 1)
    (('0', '17'), ('0-17',))
    """
    return (str(start), str(end)) if many == 2 else (f"{start}-{end}",)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A published number of a table: its labels, what kind of sum it is, and the cells it adds up."""

    labels: tuple[str, ...]
    kind: str
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LadderTable:
    """A table of a ladder: which measured cell each finest cell is in, and the rows that are published."""

    name: str
    title: str
    word: str
    cell_of: tuple[int, ...]
    rows: tuple[PublishedRow, ...]

    @cached_property
    def cells(self) -> int:
        """How many cells are measured, each with its own noise."""
        return max(self.cell_of) + 1

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many cells a number of each kind adds up."""
        return {row.kind: len(row.cells) for row in self.rows}

    def published(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of groups from their cells, a row of an array each."""
        return np.stack([values[:, row.cells].sum(axis=1) for row in self.rows], axis=1)


@dataclass(frozen=True, eq=False)
class Ladder:
    """Tables from the total on, each with more detail; what picks one; and the files they are written to.

    Either all totals are in one file (`totals`) and all other rows in another (`table`), or each table is one
    of its own in a `folder`, where the total is the row called `total`.
    """

    name: str
    rungs: tuple[LadderTable, ...]
    labels: tuple[str, ...]
    totals: str = ""
    table: str = ""
    of: Of = "noisy total"
    input: str = ""
    others: Others = "refused"
    folder: str = ""
    total: str = ALL

    @property
    def picks(self) -> bool:
        """Whether a noisy total picks the table, for a part of the budget."""
        return self.of == "noisy total"

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """How many cells each table has."""
        return np.array([rung.cells for rung in self.rungs], dtype=np.int64)

    @cached_property
    def cell_of(self) -> NDArray[np.int64]:
        """Which cell of each table a finest cell is in."""
        return np.array([rung.cell_of for rung in self.rungs], dtype=np.int64)

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """How many rows each table has, beside the total."""
        return np.array([0, *(len(rung.rows) for rung in self.rungs[1:])], dtype=np.int64)

    @property
    def files(self) -> tuple[str, ...]:
        """What its files are called, or the folder that has them all."""
        return (self.folder,) if self.folder else (self.totals, self.table)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the tables are called."""
        return tuple(rung.name for rung in self.rungs)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of numbers: the total, sums of cells, cells."""
        sums = dict.fromkeys(kind for rung in self.rungs[1:] for kind in rung.kinds if kind != CELL)
        return (TOTAL, *sums, CELL)
