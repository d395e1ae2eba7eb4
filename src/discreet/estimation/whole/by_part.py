"""Whole cells part by part of the tree: the crown first, then each part given the cells of its roots.

What comes out below a unit depends on its cells and on the measurements below it alone (`descent`), so parts
are settled in any order, by any process, with the same result. A process is sent a `PartWork`: the part of
the measurements, or where to read them, and the cells of the roots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.tree import Integers, Numbers
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.limits import Bounding
from discreet.estimation.whole.sparse import WholeCells
from discreet.estimation.whole.subtrees import TreeCut, TreePart, part_of

Key = int | str
"""What is settled: the number of a variable, or without attributes a query."""


class DivisibleBounds(Bounding, Protocol):
    """Bounds that can be restricted to a part of the tree."""

    def part(self, part: TreePart) -> DivisibleBounds:
        """Return the bounds of the part's units, numbered as its own."""


@dataclass(frozen=True)
class PartWork:
    """What a process needs to settle the units below the roots of a part."""

    attributes: Attributes | None
    given: Measurements
    bounds: tuple[DivisibleBounds, ...]
    units: Integers
    """The numbers of the part's units in the whole tree."""
    roots: Mapping[Key, WholeCells]
    """The whole cells of the roots."""
    lost: Mapping[Key, NDArray[np.bool_]]
    """Which units no measurement determines, of the part or of others."""

    def settled(self) -> dict[Key, WholeCells]:
        """Return the whole cells of the units below the roots, in order."""
        estimates = Estimates(self.attributes, self.given, held=False)
        found = {}
        for key, roots in self.roots.items():
            descent = descent_of(estimates, key, self.bounds, self.units, self.lost[key])
            units, parts = [], []
            for root in range(len(roots)):
                for family, cells in descent.below(root, roots.row(root)):
                    units.append(family)
                    parts.append(cells)
            every = WholeCells.join(parts)
            found[key] = every.take(np.argsort(np.concatenate(units), kind="stable"))
        return found


def descent_of(
    estimates: Estimates,
    key: Key,
    bounds: Sequence[Bounding] = (),
    units: Integers | None = None,
    lost: NDArray[np.bool_] | None = None,
) -> Descent:
    """Return the pass from the top down for a variable, or for a query if there are no attributes."""
    if isinstance(key, str):
        return Descent(estimates, query=key, positions=units, lost=lost)
    return Descent(estimates, bounds=bounds, variable=key, positions=units, lost=lost)


def crown_cells(descent: Descent, cut: TreeCut) -> WholeCells:
    """Return the whole cells of all units of the crown."""
    top = descent.top()
    units, parts = [np.flatnonzero(descent.tree.parent < 0)], [top]
    for place, unit in enumerate(units[0].tolist()):
        for family, cells in descent.below(unit, top.row(place), depths=cut.depth):
            units.append(family)
            parts.append(cells)
    return WholeCells.join(parts).take(np.argsort(np.concatenate(units), kind="stable"))


@dataclass(frozen=True)
class Partwise:
    """All parts of a cut, each to be settled given the crown: what is sent is made when it is asked for."""

    attributes: Attributes | None
    given: Measurements
    bounds: tuple[DivisibleBounds, ...]
    cut: TreeCut
    crown: Mapping[Key, WholeCells]
    lost: Mapping[Key, NDArray[np.bool_]]

    @classmethod
    def of(cls, descents: Mapping[Key, Descent], bounds: Sequence[DivisibleBounds], cut: TreeCut) -> Partwise:
        """Settle the crown, and return what is to be done below it."""
        estimates = next(iter(descents.values())).estimates
        return cls(
            estimates.model.attributes,
            estimates.given,
            tuple(bounds),
            cut,
            {key: crown_cells(descent, cut) for key, descent in descents.items()},
            {key: descent.lost for key, descent in descents.items()},
        )

    def work(self, number: int) -> PartWork:
        """Return the work on one part."""
        part = self.cut.parts[number]
        roots = np.arange(part.roots.start, part.roots.stop)
        return PartWork(
            self.attributes,
            part_of(self.given, part),
            tuple(one.part(part) for one in self.bounds),
            part.units,
            {key: cells.take(roots) for key, cells in self.crown.items()},
            {key: lost[part.units] for key, lost in self.lost.items()},
        )

    def __call__(self, number: slice) -> dict[str, Integers]:
        """Return the cells of the part with this number, as columns: a cluster calls this."""
        return cell_columns(self.work(number.start).settled())


def settled_columns(work: PartWork) -> dict[str, Integers]:
    """Settle a part, and return its cells as columns: what processes on this machine call."""
    return cell_columns(work.settled())


def cell_columns(cells: Mapping[Key, WholeCells]) -> dict[str, Integers]:
    """Return cells as columns.

    >>> columns = cell_columns({0: WholeCells.of(np.array([[0, 4], [2, 0]]))})
    >>> {name: column.tolist() for name, column in columns.items()}
    {'0 start': [0, 1, 2], '0 cell': [1, 0], '0 count': [4, 2]}
    """
    return {
        f"{place} {name}": getattr(one, name)
        for place, one in enumerate(cells.values())
        for name in ("start", "cell", "count")
    }


def cells_of_columns(columns: Mapping[str, Numbers], keys: Sequence[Key]) -> dict[Key, WholeCells]:
    """Return the cells that `cell_columns` made columns of.

    >>> cells = WholeCells.of(np.array([[0, 4], [2, 0]]))
    >>> cells_of_columns(cell_columns({"age": cells}), ["age"])["age"].count.tolist()
    [4, 2]
    """
    return {
        key: WholeCells(*(columns[f"{place} {name}"].astype(np.int64) for name in ("start", "cell", "count")))
        for place, key in enumerate(keys)
    }
