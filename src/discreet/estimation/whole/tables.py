"""Tables of non-negative whole numbers for publication, consistent over queries, levels and exact counts.

With attributes, every table is a sum of the same detailed cells, which one pass from the top down settles
(`descent`). Without them nothing ties the queries, and each is settled over the tree separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import table_cells
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Release, Variable
from discreet.budget.noise_table import queries_of
from discreet.errors import InputError
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.intervals import View
from discreet.estimation.model import Model, known_by_level
from discreet.estimation.whole.by_part import DivisibleBounds, Key, descent_of
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.sparse import WholeCells


class CellStore(Protocol):
    """The whole cells of all units, wherever they are kept."""

    def take(self, units: Integers) -> WholeCells:
        """Return the cells of some units, in any order."""


Settle = Callable[[Mapping[Key, Descent], Sequence[DivisibleBounds]], Mapping[Key, CellStore]]
"""Settle all units, and return the cells of each variable, or query."""


def settle_here(
    descents: Mapping[Key, Descent], bounds: Sequence[DivisibleBounds]
) -> Mapping[Key, CellStore]:
    """Settle all units in this process, and hold their cells in memory."""
    return {key: settled(descent) for key, descent in descents.items()}


class WholeTables:
    """Non-negative whole numbers for every unit, which keep exact counts, `bounds` and impossible cells.

    Guarantee. Assumed: exact counts and bounds that some table keeps. Claimed: every number is whole and not
    negative, children add up to their parent, cells to coarser tables, and every exact count, bound and
    impossible cell is kept (`tests/estimation/test_whole_tables.py`). Where no table keeps them all, an
    error names those that contradict each other. `settle` says where the work is done, and where the cells
    are kept; the numbers are the same.
    """

    def __init__(
        self, estimates: Estimates, *, bounds: Iterable[DivisibleBounds] = (), settle: Settle = settle_here
    ) -> None:
        check_counts(estimates.given)
        self._attributes = estimates.model.attributes
        limits = tuple(bounds)
        keys = settled_keys(estimates.view, estimates.node)
        descents = {key: descent_of(estimates, key, limits) for key in keys}
        self._lost: Mapping[Key, NDArray[np.bool_]] = {key: descent.lost for key, descent in descents.items()}
        self._width = {key: descent.cells for key, descent in descents.items()}
        self._cells = settle(descents, limits)

    @classmethod
    def kept(
        cls,
        model: Model,
        cells: Mapping[Key, CellStore],
        lost: Mapping[Key, NDArray[np.bool_]],
    ) -> WholeTables:
        """Return tables of cells that are settled already; `lost` says which units nothing determines."""
        found = cls.__new__(cls)
        found._attributes, found._cells, found._lost = model.attributes, cells, lost
        found._width = {key: model.projections[key].cells if isinstance(key, str) else 0 for key in cells}
        return found

    def rows(self, query: str, units: Integers) -> Integers:
        """Return the cells of a query in some units, in the order of the attributes; -1 if not determined."""
        if self._attributes is None:
            every = np.arange(self._width[query])
            found = self._cells[query].take(units).sums(every, len(every))
            found[self._lost[query][units]] = -1
            return found
        table = self._attributes.tabulation(query, sums=True)
        cells = self._cells.get(table.variable or 0)
        if cells is None:
            return np.full((len(units), table.cells), -1)
        return cells.take(units).sums(table_cells(table), table.cells)

    def cells(self, units: Integers, *, variable: int = 0) -> tuple[Integers, Integers, Integers]:
        """Return the non-zero detailed cells of some units: the index of the unit among them, the cell in the
        order of the attributes, and the count."""
        if variable not in self._cells:
            what = "a release without attributes" if self._attributes is None else "what is not determined"
            raise InputError(f"there are no detailed cells of {what}")
        some = self._cells[variable].take(units)
        return some.places(), some.cell, some.count


def settled(descent: Descent) -> WholeCells:
    """Return the whole cells of all units."""
    top = descent.top()
    units, parts = [np.flatnonzero(descent.tree.parent < 0)], [top]
    for place, unit in enumerate(units[0].tolist()):
        for family, cells in descent.below(unit, top.row(place)):
            units.append(family)
            parts.append(cells)
    return WholeCells.join(parts).take(np.argsort(np.concatenate(units), kind="stable"))


def check_counts(given: Measurements) -> None:
    """Refuse values that are not counts."""
    if not given.counts:
        raise InputError("whole-number tables cannot be made of values that are not counts: leave them out")


def settled_keys(view: View, node: Integers) -> list[Key]:
    """Return what is settled: the variables whose detailed cells are determined in every unit, or without
    attributes every query. `node` is that of each unit in the folded tree."""
    attributes = view.model.attributes
    if attributes is None:
        return list(view.model.queries)
    nodes = np.arange(view.shape.size)
    lost: dict[Variable, int] = {}
    for variable in attributes.variables:
        some = np.asarray(view.undetermined(attributes.detailed(variable), nodes).any(axis=1))
        lost[variable] = int(some[node].sum())
    if unknown := _without_tables(attributes, view.model.queries, [one for one in lost if lost[one]]):
        areas = f"{lost[unknown]} area{'s' * (lost[unknown] > 1)}"
        raise InputError(
            f"whole-number tables are made of detailed cells, and no measurement determines those in {areas}"
            f"; ask for estimates without tables, or measure the query {attributes.detailed(unknown)}"
        )
    return [number for number, variable in enumerate(attributes.variables) if not lost[variable]]


def determined(model: Model, given: Measurements) -> dict[Key, NDArray[np.bool_]]:
    """Return what is settled, and which units no measurement determines, before anything is read.

    What is determined depends on which siblings there are, and on whether there is one of a sort or more, not
    on how many: so few units differ, however many there are.
    """
    told, tree = given.told()
    shape, node = tree.folded(2)
    view = View(model, shape, told, model.solve(shape, told))
    found = {}
    for key in settled_keys(view, node):
        found[key] = np.zeros(tree.size, dtype=bool)
        if isinstance(key, str):
            found[key] = np.asarray(view.undetermined(key, np.arange(shape.size)).any(axis=1))[node]
    return found


def _without_tables(
    attributes: Attributes, queries: Iterable[str], unknown: Sequence[Variable]
) -> Variable | None:
    """Return what there must be tables of, and is not known in detail: counts if any were measured, or all.

    Of other sums that are not known in detail there are no tables.
    """
    plain = attributes.variables[0]
    if plain in unknown and any(attributes.variable_of(query) == plain for query in queries):
        return plain
    return unknown[-1] if len(unknown) == len(attributes.variables) else None


def check_whole(release: Release, tree: Tree) -> None:
    """Refuse a release whose measurements cannot give whole-number tables; no count is needed for this."""
    attributes = release.attributes
    if attributes is None:
        return
    shape, _ = tree.folded()
    told = known_by_level(release, tree.levels)
    model = Model(attributes, queries_of(release))
    view = View(model, shape, told, model.solve(shape, told))
    nodes = {
        variable: np.flatnonzero(
            view.undetermined(attributes.detailed(variable), np.arange(shape.size)).any(axis=1)
        )
        for variable in attributes.variables
    }
    lost = [variable for variable, some in nodes.items() if some.size]
    if unknown := _without_tables(attributes, queries_of(release), lost):
        where = ", ".join(sorted({tree.levels[shape.kind[node]] for node in nodes[unknown]}))
        raise InputError(
            f"consistent tables are made of detailed cells, which no measurement determines at {where}; ask "
            f"for no post-processing, or measure the query {attributes.detailed(unknown)}"
        )
