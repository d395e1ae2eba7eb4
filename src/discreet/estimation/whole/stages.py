"""Very many cells in two stages: a coarse table of them first, then the cells of each of its groups.

The coarse table splits every attribute as finely as any recode does, or in full where a query of few cells
has it in full. So it determines every query of few cells, and the algebra of the measurements (`projection`)
splits into functions that are constant on its groups and contrasts within them: the information about the two
has no entry in common. What is known of the coarse table is the mean of the information, and of the pull,
over the cells of its groups. Given its whole numbers, the queries of few cells are settled, and the groups
share nothing but queries of many cells that cross them: those count within each group only.

No matrix has more rows than the coarse table has groups that are not empty, and coarse queries stay near
their estimates: a million cells that may not be negative cannot pull them away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.areas.tree import Floats, Integers
from discreet.estimation.component import ByComponent
from discreet.estimation.estimates import PIECE
from discreet.estimation.projection import Components, Projection
from discreet.estimation.whole.family import Family, Limits
from discreet.estimation.whole.information import Information, Knowledge
from discreet.estimation.whole.limits import Limited
from discreet.estimation.whole.minimum import solve_family
from discreet.estimation.whole.rounding import round_family
from discreet.estimation.whole.sparse import WholeCells

FEW_CELLS = 1000
"""The cells of a query of few cells, at most."""
GAIN = 20
"""The cells for each group of the coarse table, at least, on average."""
_LOT = 100
"""Cells of several groups that are settled at a time."""
NAME = "coarse table"


@dataclass(frozen=True)
class CoarseTable:
    """A table that every query of few cells is a sum of: the group of each cell, the first cell and the
    number of cells of each group."""

    label: Integers
    first: Integers
    size: Floats
    seen: frozenset[int]
    """The components that are constant on the groups."""
    projection: Projection
    """Sums of groups, divided by the root of the number of their cells."""

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.first)


def coarse_table(known: Information, limited: Limited) -> CoarseTable | None:
    """Return the coarse table, or nothing if it would not help, or if limits are about finer groups."""
    attributes, components = known.estimates.model.attributes, known.estimates.model.components
    if attributes is None or len(attributes.variables) > 1 or not isinstance(components, Components):
        return None
    tables = [attributes.tabulation(query) for query in known.estimates.model.queries]
    coarse = [table for table in tables if table.cells <= FEW_CELLS]
    axes = [
        tuple((value,) for value in range(size))
        if any(table.is_full(axis) for table in coarse)
        else components.bases[axis].groups
        for axis, size in enumerate(attributes.sizes)
    ]
    label = np.zeros(1, dtype=np.int64)
    for size, groups in zip(attributes.sizes, axes, strict=True):
        of = np.zeros(size, dtype=np.int64)
        for number, group in enumerate(groups):
            of[list(group)] = number
        label = (label[:, None] * len(groups) + of).ravel()
    first, sizes = np.unique(label, return_index=True, return_counts=True)[1:]
    if len(first) * GAIN > known.cells or not _is_sum(limited.atoms, label, first):
        return None
    projection = Projection(components, axes, unit_length=True)
    seen = frozenset(index for index, component in enumerate(components) if projection.sees(component))
    return CoarseTable(label, first, sizes.astype(np.float64), seen, projection)


def _is_sum(of: Integers, label: Integers, first: Integers) -> bool:
    """Whether all cells of a group are alike."""
    return np.array_equal(of[first][label], of)


class StagedUnits:
    """What is known about some neighbouring units and some of their cells, read a few units at a time."""

    def __init__(self, known: Information, table: CoarseTable, units: Integers, support: Integers) -> None:
        self._known, self._table, self.support = known, table, support
        self._J, self.of = known.by_component(units)
        self._coarse_pull = np.zeros((len(units), table.groups))
        self.center = np.zeros((len(units), len(support)))
        """The estimates, given what was measured at and below each unit."""
        step = max(1, PIECE // known.width)
        for start in range(0, len(units), step):
            part = slice(start, min(start + step, len(units)))
            z = known.beliefs(slice(int(units[start]), int(units[part.stop - 1]) + 1))
            h = [J[self.of[part]] @ own for J, own in zip(self._J, z, strict=True)]
            self._coarse_pull[part] = table.projection.read(h) / np.sqrt(table.size)
            self.center[part] = known.projection.read(z)[:, support]

    def only(self) -> tuple[ByComponent, ByComponent]:
        """Return the information and the pull of the first unit by component, as far as the table goes."""
        J = [matrix[self.of[0]] for matrix in self._J]
        h = self._table.projection.collect(self._coarse_pull[:1] * np.sqrt(self._table.size))
        return J, [vector[0] for vector in h]

    def coarse(self, groups: Integers) -> Knowledge:
        """Return what is known about some groups of the coarse table, if all others are empty."""
        information = self._known.entries(self._J, self._table.first[groups], self._table.seen)
        return Knowledge(information, self.of, self._coarse_pull[:, groups])

    def gradient(self, groups: Integers, x: Floats) -> Floats:
        """Return the gradient in every group of the coarse table of the first unit, with x in some groups."""
        root = np.sqrt(self._table.size)
        every = np.zeros(self._table.groups)
        every[groups] = x
        collected = self._table.projection.collect((every / root)[None])
        pulled = [(J[self.of[0]] @ vector[0])[None] for J, vector in zip(self._J, collected, strict=True)]
        gradient: Floats = self._table.projection.read(pulled)[0] / root - self._coarse_pull[0]
        return gradient

    def kinds(self, cells: Integers) -> Integers:
        """Return a number for each cell that is the same if the groups of two are known alike."""
        return self._known.orbits(cells)

    def within(self, places: Integers) -> Knowledge:
        """Return what is known about some cells, by place in the support, apart from the sums of groups."""
        cells = self.support[places]
        group = self._table.label[cells]
        J = self._known.entries(self._J, cells) * (group[:, None] == group)
        return Knowledge(J, self.of, np.einsum("cj,cjk->ck", self.center[:, places], J[self.of]))


def share_groups(
    units: StagedUnits,
    table: CoarseTable,
    parent: Integers,
    sums: Integers,
    chain: Sequence[Integers],
    ties: Integers,
) -> Integers:
    """Return the whole cells of units that add up to `parent`, given the `sums` of groups (unit, group)."""
    group = table.label[units.support]
    order = np.argsort(group, kind="stable")
    shares = np.zeros((len(sums), len(group)), dtype=np.int64)
    for places in _lots(group, order):
        own, of = np.unique(group[places], return_inverse=True)
        if len(own) == len(places):  # a group of one cell is settled
            shares[:, places] = sums[:, group[places]]
            continue
        about = units.within(places)
        exact = sums[:, own]
        limit = Limits(NAME, of.ravel(), np.arange(len(sums)), exact, exact)
        family = Family(about.information, about.of, about.pull, parent[places], limits=(limit,))
        labels = [label[units.support[places]] for label in chain]
        shares[:, places] = round_family(solve_family(family).x, family, labels, ties[:, places])
    return shares


def _lots(group: Integers, order: Integers) -> Iterator[Integers]:
    """Yield places of whole groups: those of one cell all at once, and the others some at a time."""
    many = np.bincount(group)[group[order]]
    alone = order[many == 1]
    if alone.size:
        yield alone
    rest = order[many > 1]
    begin = np.flatnonzero(np.diff(group[rest], prepend=-1))
    start = 0
    for edge, end in zip(begin, [*begin[1:], len(rest)], strict=True):
        if end - start > _LOT and edge > start:
            yield rest[start:edge]
            start = int(edge)
    if start < len(rest):
        yield rest[start:]


def fill_groups(
    unit: StagedUnits, table: CoarseTable, sums: Integers, chain: Sequence[Integers], ties: Integers
) -> WholeCells:
    """Return the whole cells of one unit without a parent, given the `sums` of groups.

    Groups of which the same is known are settled at a time, as if they were children of one area.
    """
    group = table.label[unit.support]
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(table.groups + 1))
    alike: dict[tuple[int, bytes], list[Integers]] = {}
    kind = unit.kinds(table.first)
    for number in np.flatnonzero(sums).tolist():
        places = order[ends[number] : ends[number + 1]]
        patterns = [np.unique(label[unit.support[places]], return_inverse=True)[1].ravel() for label in chain]
        key = int(kind[number]), b"".join(array.tobytes() for array in [np.array([len(places)]), *patterns])
        alike.setdefault(key, []).append(places)
    filled = np.zeros(len(group), dtype=np.int64)
    for some in alike.values():
        places = np.array(some)
        first = unit.within(places[0])
        J = first.information[first.of[0]]
        exact = sums[group[places[:, 0]]][:, None]
        everyone = np.arange(len(places))
        limit = Limits(NAME, np.zeros(places.shape[1], dtype=np.int64), everyone, exact, exact)
        pull = unit.center[0][places] @ J
        family = Family(J[None], np.zeros(len(places), dtype=np.int64), pull, None, limits=(limit,))
        labels = [label[unit.support[places[0]]] for label in chain]
        labels = [np.unique(label, return_inverse=True)[1].ravel() for label in labels]
        filled[places] = round_family(solve_family(family).x, family, labels, ties[places])
    return WholeCells.of(filled[None], unit.support)
