"""Whole cells part by part of the tree: the crown first, then each part given the cells of its roots.

The crown is settled from the estimates of all units, or, if they are too many to hold, from summaries of the
parts, which are made first.

What comes out below a unit depends on its cells and on the measurements below it alone (`descent`), so parts
are settled in any order, by any process, with the same result. A process is sent a `PartWork`: the part of
the measurements, or where to read them, and the cells of the roots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Integers, Numbers
from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.limits import Bounding
from discreet.estimation.whole.sparse import WholeCells
from discreet.estimation.whole.subtrees import TreeCut, TreePart, part_of
from discreet.estimation.whole.summary import SubtreeSummary, read_summaries, summary_bytes

Key = int | str
"""What is settled: the number of a variable, or without attributes a query."""


class DivisibleBounds(Bounding, Protocol):
    """Bounds that can be restricted to a part of the tree."""

    def part(self, part: TreePart) -> DivisibleBounds:
        """Return the bounds of the part's units, numbered as its own."""


@dataclass(frozen=True)
class PartGiven:
    """What a process needs to know of a part, whatever it does with it."""

    attributes: Attributes | None
    given: Measurements
    bounds: tuple[DivisibleBounds, ...]
    units: Integers
    """The numbers of the part's units in the whole tree."""
    lost: Mapping[Key, NDArray[np.bool_]]
    """Which units no measurement determines, of the part or of others."""

    def descents(self) -> Iterator[tuple[Key, Descent]]:
        """Yield the passes from the top down, ready to begin."""
        estimates = Estimates(self.attributes, self.given, held=False)
        for key, lost in self.lost.items():
            yield key, descent_of(estimates, key, self.bounds, self.units, lost)

    def summaries(self) -> bytes:
        """Summarise the subtree of each root that has children, for the crown (`summary_columns`)."""
        summaries: dict[str, SubtreeSummary] = {}
        tangled = False
        for number, (_, descent) in enumerate(self.descents()):
            roots = np.flatnonzero((descent.tree.parent < 0) & ~descent.tree.leaf)
            tangled |= bool(descent.limited.is_tangled[roots].any())
            summaries |= {f"{number} {self.units[root]}": descent.summary(root) for root in roots.tolist()}
        return summary_bytes(summaries, TANGLED if tangled else "")


TANGLED = "tangled"
"""The note of summaries that do not say all: limits of several tables meet below a root."""


@dataclass(frozen=True)
class PartWork(PartGiven):
    """What a process needs to settle the units below the roots of a part."""

    roots: Mapping[Key, WholeCells]
    """The whole cells of the roots."""

    def settled(self) -> dict[Key, WholeCells]:
        """Return the whole cells of the units below the roots, in order."""
        settled = {}
        for key, descent in self.descents():
            roots = self.roots[key]
            units, parts = [], []
            for root in range(len(roots)):
                for family, cells in descent.below(root, roots.row(root)):
                    units.append(family)
                    parts.append(cells)
            every = WholeCells.join(parts)
            settled[key] = every.take(np.argsort(np.concatenate(units), kind="stable"))
        return settled


def descent_of(
    estimates: Estimates,
    key: Key,
    bounds: Sequence[Bounding] = (),
    units: Integers | None = None,
    lost: NDArray[np.bool_] | None = None,
    summaries: Mapping[int, SubtreeSummary] | None = None,
) -> Descent:
    """Return the pass from the top down for a variable, or for a query if there are no attributes."""
    if isinstance(key, str):
        return Descent(estimates, query=key, positions=units, lost=lost, summaries=summaries)
    return Descent(estimates, bounds=bounds, variable=key, positions=units, lost=lost, summaries=summaries)


def _crown_cells(descent: Descent, cut: TreeCut) -> WholeCells:
    """Return the whole cells of all units of the crown."""
    top = descent.top()
    units, parts = [np.flatnonzero(descent.tree.parent < 0)], [top]
    for number, unit in enumerate(units[0].tolist()):
        for family, cells in descent.below(unit, top.row(number), depths=cut.depth):
            units.append(family)
            parts.append(cells)
    return WholeCells.join(parts).take(np.argsort(np.concatenate(units), kind="stable"))


@dataclass(frozen=True)
class CutMeasurements:
    """The measurements of a tree that is cut: what is sent of a part is made when it is asked for."""

    attributes: Attributes | None
    given: Measurements
    bounds: tuple[DivisibleBounds, ...]
    cut: TreeCut
    lost: Mapping[Key, NDArray[np.bool_]]

    def part(self, number: int) -> PartGiven:
        """Return what is known of one part."""
        part = self.cut.parts[number]
        return PartGiven(
            self.attributes,
            part_of(self.given, part),
            tuple(bound.part(part) for bound in self.bounds),
            part.units,
            {key: lost[part.units] for key, lost in self.lost.items()},
        )

    def __call__(self, number: slice) -> dict[str, Numbers]:
        """Summarise the part with this number: a cluster calls this."""
        return summary_columns(self.part(number.start))

    def crown_from(self, summaries: Mapping[str, SubtreeSummary]) -> dict[Key, WholeCells] | None:
        """Settle the crown given the summaries of the parts; nothing if limits of several tables meet in it,
        which only estimates of all limited units can settle."""
        top = self.cut.crown
        estimates = Estimates(self.attributes, part_of(self.given, top), held=True)
        bounds, crown = [bound.part(top) for bound in self.bounds], {}
        for number, (key, lost) in enumerate(self.lost.items()):
            own = {}
            for name, summary in summaries.items():
                of, unit = name.split()
                if int(of) == number:
                    own[int(unit)] = summary
            descent = descent_of(estimates, key, bounds, None, lost[: top.size], own)
            if descent.limited.is_tangled.any():
                return None
            crown[key] = _crown_cells(descent, self.cut)
        return crown


@dataclass(frozen=True)
class Partwise(CutMeasurements):
    """All parts of a cut, each to be settled given the whole cells of the crown."""

    crown: Mapping[Key, WholeCells]
    """The whole cells of all units of the crown."""

    @classmethod
    def of(cls, descents: Mapping[Key, Descent], bounds: Sequence[DivisibleBounds], cut: TreeCut) -> Partwise:
        """Settle the crown, and return what is to be done below it."""
        estimates = next(iter(descents.values())).estimates
        return cls(
            estimates.model.attributes,
            estimates.given,
            tuple(bounds),
            cut,
            {key: descent.lost for key, descent in descents.items()},
            {key: _crown_cells(descent, cut) for key, descent in descents.items()},
        )

    def work(self, number: int) -> PartWork:
        """Return the work on one part."""
        known, part = self.part(number), self.cut.parts[number]
        roots = np.arange(part.roots.start, part.roots.stop)
        cells = {key: cells.take(roots) for key, cells in self.crown.items()}
        return PartWork(known.attributes, known.given, known.bounds, known.units, known.lost, cells)

    def __call__(self, number: slice) -> dict[str, Numbers]:
        """Return the cells of the part with this number, as columns: a cluster calls this."""
        return _cell_columns(self.work(number.start).settled())


def summary_columns(part: PartGiven) -> dict[str, Numbers]:
    """Summarise a part, and return the bytes as a column of numbers: what processes on this machine call."""
    data = part.summaries()
    return {"words": np.frombuffer(data + bytes(-len(data) % 8), "<i8"), "bytes": np.array([len(data)])}


def summaries_of_columns(columns: Mapping[str, Numbers]) -> tuple[dict[str, SubtreeSummary], str]:
    """Return the summaries that `summary_columns` made columns of, and the note."""
    return read_summaries(columns["words"].astype("<i8").tobytes()[: int(columns["bytes"][0])])


def settled_columns(work: PartWork) -> dict[str, Numbers]:
    """Settle a part, and return its cells as columns: what processes on this machine call."""
    return _cell_columns(work.settled())


def _cell_columns(cells: Mapping[Key, WholeCells]) -> dict[str, Numbers]:
    """Return cells as columns.

    >>> columns = _cell_columns({0: WholeCells.of(np.array([[0, 4], [2, 0]]))})
    >>> {name: column.tolist() for name, column in columns.items()}
    {'0 start': [0, 1, 2], '0 cell': [1, 0], '0 count': [4, 2]}
    """
    return {
        f"{number} {name}": getattr(cell, name)
        for number, cell in enumerate(cells.values())
        for name in ("start", "cell", "count")
    }


def cells_of_columns(columns: Mapping[str, Numbers], keys: Sequence[Key]) -> dict[Key, WholeCells]:
    """Return the cells that `_cell_columns` made columns of.

    >>> cells = WholeCells.of(np.array([[0, 4], [2, 0]]))
    >>> cells_of_columns(_cell_columns({"age": cells}), ["age"])["age"].count.tolist()
    [4, 2]
    """
    return {
        key: WholeCells(
            *(columns[f"{number} {name}"].astype(np.int64) for name in ("start", "cell", "count"))
        )
        for number, key in enumerate(keys)
    }
