"""The cells that are published together, and which records are in which: groups of records alike.

Records in exactly the same cells are one group; what a family costs depends on nothing else. A family is read
from a file with the columns `cell` and `group`, one line for each group in a cell, or is all the margins of a
hypercube. The column `count` says how many records a group has; without it, any number is considered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated

from discreet.errors import InputError
from discreet.numbers import whole
from discreet.questions import Option
from discreet.tables import TableSource, read_table

MOST_CELLS = 20_000
"""Cells of a family in a file."""

MOST_MARGINS = 5000
"""Cells of a hypercube."""

TOTAL = "all"
"""What stands for every value of an attribute, in the name of a cell of a hypercube."""


@dataclass(frozen=True, slots=True)
class CellFamily:
    """Published cells, groups of records, and for each cell the groups that it counts.

    `counts` has the records of each group, if they are known. Cells that count the same groups are one cell
    by definition: they always agree. `everybody` says that every record there can be is in one of the groups;
    otherwise somebody may be in none of the cells, and a record that is replaced may come from there.

    >>> family = CellFamily(("A", "B", "total"), ("a", "b"), ((0,), (1,), (0, 1)))
    >>> family.matrix, family.cells_of(0)
    (((1, 0), (0, 1), (1, 1)), (0, 2))
    """

    cells: tuple[str, ...]
    groups: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...] | None = None
    name: str = "the cells"
    everybody: bool = False

    @property
    def matrix(self) -> tuple[tuple[int, ...], ...]:
        """Which group is in which cell: a row for each cell, a column for each group."""
        sets = [set(members) for members in self.members]
        return tuple(tuple(int(group in cell) for group in range(len(self.groups))) for cell in sets)

    def cells_of(self, group: int) -> tuple[int, ...]:
        """Return the cells that count a group."""
        return tuple(cell for cell, members in enumerate(self.members) if group in members)

    @property
    def without_copies(self) -> CellFamily:
        """The family with cells that are equal by definition once, each under its first name.

        >>> CellFamily(("A", "also A"), ("a",), ((0,), (0,))).without_copies.cells
        ('A',)
        """
        first: dict[tuple[int, ...], str] = {}
        for cell, members in zip(self.cells, self.members, strict=True):
            first.setdefault(members, cell)
        return replace(self, cells=tuple(first.values()), members=tuple(first))


def read_cells(
    source: Annotated[
        TableSource,
        Option(
            "The cells: columns cell and group, a line for each group of records in a cell; and maybe count.",
            "FILE",
            each="cells",
            reads=Path | None,
        ),
    ],
    *,
    everybody: Annotated[
        bool, Option("With --cells: everybody is in one of the cells; matters where records are replaced.")
    ] = False,
) -> CellFamily:
    """Return the family of cells in a file: columns `cell` and `group`, and maybe `count`.

    `everybody` says that everybody is in one of the cells.

    >>> import pyarrow
    >>> family = read_cells(pyarrow.table({"cell": ["A", "T", "T"], "group": ["a", "a", "b"]}))
    >>> family.cells, family.groups, family.members
    (('A', 'T'), ('a', 'b'), ((0,), (0, 1)))
    """
    table = read_table(
        source,
        words=("cell", "group"),
        optional_whole=("count",),
        written=("cell", "group"),
        name="the cells",
        of="cells",
    )
    problems = table.problems
    cells, groups = (table.words[name].values.to_pylist() for name in ("cell", "group"))
    members: list[set[int]] = [set() for _ in cells]
    counts: dict[int, int] = {}
    numbers = table.numbers.get("count")
    pairs = zip(table.words["cell"].codes.tolist(), table.words["group"].codes.tolist(), strict=True)
    for row, (cell, group) in enumerate(pairs):
        if group in members[cell]:
            problems.row(row, "a group is listed twice for a cell", "group")
        members[cell].add(group)
        if numbers is not None:
            count = int(numbers[row])
            if count < 0:
                problems.row(row, "a count is below zero", "count")
            elif counts.setdefault(group, count) != count:
                problems.row(row, "a group has two different counts", "count")
    if len(cells) > MOST_CELLS:
        problems.say(f"there are {len(cells):,} cells; at most {MOST_CELLS:,} are accounted together")
    problems.stop()
    known = None if numbers is None else tuple(counts[group] for group in range(len(groups)))
    return CellFamily(
        tuple(cells),
        tuple(groups),
        tuple(tuple(sorted(cell)) for cell in members),
        known,
        table.path.name,
        everybody,
    )


def hypercube(
    attributes: Annotated[
        Mapping[str, int | Sequence[str]],
        Option(
            "Instead: all margins of a hypercube, with the number of values of each.",
            "NAME=N,...",
            reads=str | None,
        ),
    ],
) -> CellFamily:
    """Return all margins of a hypercube: a cell for each choice of values, or all, of every attribute.

    An attribute is given by its values, or by their number. Every record has one of them, so that the cells
    are everybody.

    >>> cube = hypercube({"sex": ["f", "m"], "age": 3})
    >>> len(cube.cells), len(cube.groups), cube.cells[:3]
    (12, 6, ('f, age 1', 'f, age 2', 'f, age 3'))
    """
    if not attributes:
        raise InputError('a hypercube needs attributes, such as {"sex": 2, "age": 3}')
    values = [
        [f"{name} {number}" for number in range(1, whole(given, name=f"the values of {name}") + 1)]
        if isinstance(given, int)
        else [str(value) for value in given]
        for name, given in attributes.items()
    ]
    total = 1
    for name, its_values in zip(attributes, values, strict=True):
        if not its_values or len(set(its_values)) < len(its_values) or TOTAL in its_values:
            raise InputError(f"attribute {name} needs at least one value, each once, none of them {TOTAL!r}")
        total *= len(its_values) + 1
    if total > MOST_MARGINS:
        raise InputError(
            f"the hypercube has {total:,} cells; at most {MOST_MARGINS:,} are accounted together"
        )
    groups = list(product(*values))
    cells = [*groups, *(cell for cell in product(*([*v, TOTAL] for v in values)) if TOTAL in cell)]
    members = tuple(
        tuple(
            index
            for index, group in enumerate(groups)
            if all(x in (TOTAL, y) for x, y in zip(cell, group, strict=True))
        )
        for cell in cells
    )
    names = tuple(", ".join(cell) for cell in cells)
    return CellFamily(
        names,
        tuple(", ".join(group) for group in groups),
        members,
        name="the hypercube",
        everybody=True,
    )
