"""Best linear unbiased estimates of any query in any unit, or union of units, from all measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers, Numbers, Tree
from discreet.budget import Attributes, Tabulation
from discreet.errors import InputError
from discreet.estimation.component import ByComponent
from discreet.estimation.error_laws import normal_quantile
from discreet.estimation.fit import Residuals
from discreet.estimation.intervals import Noises, View, independent_noises, shared_widths
from discreet.estimation.model import KnownOfUnits, Model, Piece, size_of
from discreet.estimation.normal import Law
from discreet.estimation.solution import Passes, Solution, sum_weights

Rows = tuple[Integers, Numbers]
"""Units, and a row of cells for each, in the order of the attributes."""

Seen = tuple[int, str, Integers, Numbers]
"""Measurements that were read: the number of the release, the query, units, and a row of cells for each."""

_MOST_HELD = 5_000_000
"""Cells held in memory; if there are more, the units of the last depth are streamed."""
PIECE = 1 << 22
"""Cells processed at a time."""
MOST_TOGETHER = 400
"""Cells of one area solved together where variances differ within a query."""
_MOST_SOLVED = 20_000_000
"""Entries of covariance matrices, of all areas that differ, where variances differ within a query."""


class SharedWork(Protocol):
    """Processes that share work, each on its own part of the data, perhaps on other machines."""

    def map(
        self, function: Callable[[slice], Mapping[str, Numbers]], parts: Sequence[slice]
    ) -> Iterator[Mapping[str, Numbers]]:
        """Yield the function's result for each part, in order."""


class NoisySource(Protocol):
    """The noisy counts of one release, read as often as needed."""

    @property
    def laws(self) -> Sequence[Mapping[str, Law]]:
        """The noise of each query, by kind of unit."""

    @property
    def cells(self) -> Mapping[str, int]:
        """The number of cells of each query."""

    @property
    def in_order(self) -> bool:
        """Whether some units can be read without reading all of them."""

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield the measurements of these units: query, units, and a row of cells for each."""


@dataclass(frozen=True)
class InMemory:
    """Noisy counts in memory: for each query the units that answer it, in order, and their cells."""

    laws: Sequence[Mapping[str, Law]]
    noisy: Mapping[str, Rows]
    in_order: bool = True

    @property
    def cells(self) -> dict[str, int]:
        """The number of cells of each query."""
        return {query: rows.shape[1] for query, (_, rows) in self.noisy.items()}

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield the measurements of these units."""
        for query, (who, rows) in self.noisy.items():
            first, last = np.searchsorted(who, [units.start, units.stop])
            if last > first:
                yield query, who[first:last], rows[first:last]


@dataclass(frozen=True)
class Measurements:
    """A tree of units, the releases that measured them, and exact counts.

    The laws of each source are listed by the tree's kinds of units. `exact` has for each query the units for
    which it is exact; `blocks` are exact queries that no source has, such as cells impossible in some units.
    `pieces` are parts of queries, measured or exact in the place of the whole query. What is measured are
    `counts`, or real numbers.
    """

    tree: Tree
    sources: tuple[NoisySource, ...]
    exact: Mapping[str, Rows] = field(default_factory=dict)
    blocks: Mapping[str, Tabulation] = field(default_factory=dict)
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    counts: bool = True

    @property
    def size(self) -> int:
        """The number of units."""
        return self.tree.size

    @property
    def cells(self) -> dict[str, int]:
        """The number of cells of each query that is measured or exact."""
        cells = {query: rows.shape[1] for query, (_, rows) in self.exact.items()}
        for source in self.sources:
            cells |= source.cells
        return cells

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that are measured or exact, whole or in pieces."""
        own = [query for query in self.cells if query not in self.blocks]
        return tuple(dict.fromkeys(self.query_of(name) for name in own))

    def query_of(self, name: str) -> str:
        """Return the query that a name stands for: itself, or the one of which it is a piece."""
        return self.pieces[name].query if name in self.pieces else name

    def told(self) -> tuple[tuple[KnownOfUnits, ...], Tree]:
        """Return what is known about each kind of unit, and the tree with these kinds: units of one kind are
        told apart by which of their counts are exact."""
        names, kind = list(self.exact), self.tree.kind
        for query in names:  # one flag at a time, so that any number of queries fits
            flag = np.zeros(self.size, dtype=np.int64)
            flag[self.exact[query][0]] = 1
            kind = np.unique(2 * kind + flag, return_inverse=True)[1].ravel()
        _, first, fine = np.unique(kind, return_index=True, return_inverse=True)
        has = {query: np.isin(first, units) for query, (units, _) in self.exact.items()}
        told = []
        for number, unit in enumerate(first.tolist()):
            laws = [law for source in self.sources for law in source.laws[self.tree.kind[unit]].items()]
            told.append(KnownOfUnits(tuple(laws), tuple(query for query in names if has[query][number])))
        return tuple(told), replace(self.tree, kind=fine.ravel())


class Estimates:
    """The estimates from measurements, with their covariances.

    Guarantee. Assumed: independent noise of mean 0 with the stated laws; exact counts are true; children
    add up to parents. Claimed: the estimates are linear in the measurements, unbiased, and have the smallest
    variance among all such estimates (Aitken). Cells add up to coarser queries and children to parents, up
    to floating-point rounding.

    The last depth has the most units. The others need only their sums over siblings, so units of the last
    depth are not kept but read again when asked for, unless the whole tree is small (`held` decides).
    """

    def __init__(
        self,
        attributes: Attributes | None,
        given: Measurements,
        *,
        held: bool | None = None,
        workers: SharedWork | None = None,
        model: Model | None = None,
    ) -> None:
        """`model` is that of the same queries, if there is one already."""
        self.model = model or Model(
            attributes, given.queries, cells=given.cells, blocks=given.blocks, pieces=given.pieces
        )
        self.given = given
        told, self.tree = given.told()
        self._kind_given = given.tree.kind[np.unique(self.tree.kind, return_index=True)[1]]
        self.shape, self.node = self.tree.folded()
        self._check_size(len(told))
        self.solutions = self.model.solve(self.shape, told)
        self.view = View(self.model, self.shape, told, self.solutions)
        self.width = sum(component.size * component.copies for component in self.model.components)
        self.in_order = all(source.in_order for source in given.sources)
        small = given.size * self.width <= (_MOST_HELD if self.in_order else 10 * _MOST_HELD)
        self.cut = given.size if (small if held is None else held) else given.tree.starts[-1]
        self._passes: list[Passes] = []
        self._passes = self._solve(workers)
        self._check_exact()

    def _check_size(self, kinds: int) -> None:
        """Refuse variances that differ in so many ways that solving would take hours, or all memory."""
        if not self.given.pieces:
            return
        largest = max(component.size for component in self.model.components)
        numbers = max(self.shape.size, kinds) * sum(component.size**2 for component in self.model.components)
        if largest > MOST_TOGETHER or numbers > _MOST_SOLVED:
            raise InputError(
                f"the variances differ within queries, so {largest} cells must be solved together in each of "
                f"{self.shape.size} areas that differ; at most {MOST_TOGETHER} cells, and {_MOST_SOLVED:,} "
                "entries of all matrices, are possible. State no attributes (then each cell is by itself), "
                "take fewer areas, or give cells of a query one variance"
            )

    def remeasured(self, sources: tuple[NoisySource, ...]) -> Estimates:
        """Return the estimates from other values of the same measurements; all exact counts are zero.

        Estimates are linear, so those of noise alone are the errors that it makes.
        """
        other = copy(self)
        exact = {query: (units, np.zeros_like(rows)) for query, (units, rows) in self.given.exact.items()}
        other.given = replace(self.given, sources=sources, exact=exact)
        other._passes = other._solve()
        return other

    @classmethod
    def planned(
        cls, model: Model, given: Measurements, shape: Tree, node: Integers, told: Sequence[KnownOfUnits]
    ) -> Estimates:
        """Return the covariances of estimates before anything is measured; `node` is that of each unit in
        the folded tree `shape`, which may have units that `given.tree` leaves out."""
        estimates = cls.__new__(cls)
        estimates.model, estimates.given, estimates.tree = model, given, given.tree
        estimates.shape, estimates.node = shape, node
        estimates._kind_given = np.arange(len(told))
        estimates.solutions = model.solve(shape, told)
        estimates.view = View(model, shape, told, estimates.solutions)
        estimates.width = sum(component.size * component.copies for component in model.components)
        estimates.in_order, estimates.cut, estimates._passes = True, given.size, []
        return estimates

    def redrawn(
        self,
        units: Integers,
        tree: Tree,
        sources: tuple[NoisySource, ...],
        exact: Mapping[str, Rows],
        below: ByComponent | None,
    ) -> Estimates:
        """Return the estimates of some `units` from other values of their measurements.

        `tree` has these units only, whole families from the top down; `below` are by component the sums of
        the children of those whose children are left out, as their measurements would tell them.
        """
        other = copy(self)
        blocks = {query: block for query, block in self.given.blocks.items() if query in exact}
        other.given = replace(self.given, tree=tree, sources=sources, exact=exact, blocks=blocks)
        other.tree, other.node = replace(tree, kind=self.tree.kind[units]), self.node[units]
        other.cut, other.in_order = len(units), True
        other.__dict__.pop("lowest", None)
        own = other._own(slice(0, len(units)), other.tree.kind, np.arange(len(units)))
        other._passes = [
            Passes(solution, other.tree, other.node, beliefs, None if below is None else below[number])
            for number, (solution, beliefs) in enumerate(zip(self.solutions, own, strict=True))
        ]
        return other

    def _check_exact(self) -> None:
        """Refuse exact counts that contradict each other: the estimates then fail to reproduce them.

        If units are streamed, a contradiction between them and the units above shows in the units above; one
        within a unit needs two exact queries.
        """
        several = len(self.given.exact) + len(self.model.impossible) > 1
        for query, (units, rows) in self.given.exact.items():
            who = np.arange(len(units)) if several else np.flatnonzero(units < self.cut)
            step = max(1, PIECE // self.width)
            for start in range(0, len(who), step):
                some = who[start : start + step]
                values = self.model.projections[query].read(self.at(units[some]).x)
                scale = 1.0 if self.given.counts else np.abs(rows).max(initial=0.0)
                wrong = np.abs(values - rows[some]) > 1e-6 * (scale + np.abs(rows[some]))
                if wrong.any():
                    unit = units[some[int(np.argmax(wrong.any(axis=1)))]]
                    name = "" if self.tree.names is None else f" in area {self.tree.names[unit].as_py()!r}"
                    raise InputError(
                        "counts that are to be exact contradict each other: those of query "
                        f"{self.given.query_of(query)!r}{name} cannot hold together with the others"
                    )

    def _solve(self, workers: SharedWork | None = None) -> list[Passes]:
        given, cut = self.given, self.cut
        own = self._own(slice(0, cut), self.tree.kind[:cut], np.arange(cut))
        below: ByComponent | None = None
        if 0 < cut < given.size:
            # sums over siblings of one kind; a family has one parent
            kinds = len(self.view.told)
            code, family = np.unique(
                self.tree.parent[cut:] * kinds + self.tree.kind[cut:], return_inverse=True
            )
            parents, kind = np.divmod(code, kinds)
            last = slice(cut, given.size)
            family = family.ravel()
            sums = (
                self._own(last, kind, family)
                if workers is None
                else self._shared(workers, last, kind, family)
            )
            below = []
            for beliefs, part in zip(own, sums, strict=True):
                total = np.zeros_like(beliefs)
                begin = np.flatnonzero(np.diff(parents, prepend=-1))
                total[parents[begin]] = np.add.reduceat(part, begin, axis=0)
                below.append(total)
        return [
            Passes(solution, self.tree, self.node, beliefs, None if below is None else below[number])
            for number, (solution, beliefs) in enumerate(zip(self.solutions, own, strict=True))
        ]

    def _shared(self, workers: SharedWork, units: slice, kind: Integers, family: Integers) -> ByComponent:
        """Return the same as `_own`, added up from whole families of units that workers process."""
        edges = np.flatnonzero(np.diff(self.tree.parent[units], prepend=-1)) + units.start
        step = max(1, PIECE // self.width)
        cuts = [units.start]
        for edge in edges.tolist():
            if edge - cuts[-1] >= step:
                cuts.append(edge)
        parts = [slice(a, b) for a, b in pairwise([*cuts, units.stop])]

        def subtree(part: slice) -> dict[str, Floats]:
            mine = family[part.start - units.start : part.stop - units.start]
            first = int(mine.min())
            own = self._own(part, kind[first : int(mine.max()) + 1], mine - first)
            return {str(number): beliefs.ravel() for number, beliefs in enumerate(own)}

        total = [
            np.zeros((len(kind), component.size, component.copies)) for component in self.model.components
        ]
        for part, sums in zip(parts, workers.map(subtree, parts), strict=True):
            first = int(family[part.start - units.start : part.stop - units.start].min())
            for index, into in enumerate(total):
                rows = sums[str(index)].reshape(-1, *into.shape[1:])
                into[first : first + len(rows)] += rows
        return total

    def _own(
        self, units: slice, kind: Integers, row: Integers, seen: list[Seen] | None = None
    ) -> ByComponent:
        """Return the own beliefs of some units, summed by `row`; the units of a row are of one kind. What was
        read is added to `seen`."""
        many, model = len(kind), self.model
        h = [np.zeros((many, component.size, component.copies)) for component in model.components]
        t = (
            [np.zeros((many, component.size, component.copies)) for component in model.components]
            if self.given.exact
            else None
        )
        for release, source in enumerate(self.given.sources):
            # a kind that was split by its exact counts keeps the laws of the original kind
            laws = [source.laws[kind] for kind in self._kind_given]
            sums: dict[str, Floats] = {}
            for query, who, values in source.read(units):
                if seen is not None:
                    seen.append((release, query, who, values))
                self._add(sums, query, row[who - units.start], values, many)
            for query, total in sums.items():
                sizes = [size_of(by_query[query]) if query in by_query else np.inf for by_query in laws]
                self._project(h, query, total / np.array(sizes)[kind][:, None])
        for query, (who, values) in self.given.exact.items():
            inside = (who >= units.start) & (who < units.stop)
            if t is not None and inside.any() and values.any():  # zeros add nothing
                sums = {}
                self._add(sums, query, row[who[inside] - units.start], values[inside], many)
                self._project(t, query, sums[query])
        return [
            solution.own(kind, data, None if t is None else t[number])
            for number, (solution, data) in enumerate(zip(self.solutions, h, strict=True))
        ]

    @staticmethod
    def _add(sums: dict[str, Floats], query: str, row: Integers, values: Numbers, many: int) -> None:
        if query not in sums:
            sums[query] = np.zeros((many, values.shape[1]))
        if len(row) and np.all(np.diff(row) >= 0):
            begin = np.flatnonzero(np.diff(row, prepend=-1))
            sums[query][row[begin]] += np.add.reduceat(values, begin, axis=0)
        else:
            np.add.at(sums[query], row, values)

    def _project(self, into: ByComponent, query: str, values: Floats) -> None:
        projection = self.model.projections[query]
        step = max(1, PIECE // max(1, projection.cells))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            for target, collected in zip(into, projection.collect(values[part]), strict=True):
                target[part] += collected

    def at(
        self,
        units: slice | Sequence[int] | Integers | None = None,
        residuals: Residuals | None = None,
    ) -> UnitEstimates:
        """Return the estimates of some units, or of all. What is read, or can be read unit by unit, is added
        to `residuals`, each measurement at most once."""
        who = np.arange(self.given.size)
        who = (
            who if units is None else who[units] if isinstance(units, slice) else np.asarray(units, np.int64)
        )
        x = [np.zeros((len(who), component.size, component.copies)) for component in self.model.components]
        inside = np.flatnonzero(who < self.cut)
        seen: list[Seen] | None = None if residuals is None else []
        if seen is not None and self.in_order and inside.size:
            span = slice(int(who[inside].min()), int(who[inside].max()) + 1)
            for release, source in enumerate(self.given.sources):
                seen += [(release, *part) for part in source.read(span)]
        for estimates, passes in zip(x, self._passes, strict=True):
            estimates[inside] = passes.x[who[inside]]
        outside = np.flatnonzero(who >= self.cut)
        outside = outside[np.argsort(who[outside], kind="stable")]
        step = max(1, PIECE // self.width)
        for start in range(0, len(outside), step):
            some = outside[start : start + step]
            first, last = int(who[some[0]]), int(who[some[-1]]) + 1
            for begin in range(first, last, 4 * step):  # perhaps only few of many units are wanted
                wide = slice(begin, min(begin + 4 * step, last))
                mine = some[(who[some] >= wide.start) & (who[some] < wide.stop)]
                if mine.size:
                    self._below(wide, who[mine], mine, x, seen)
        here = UnitEstimates(self, who, x)
        if residuals is not None:
            here.add_residuals(seen or (), residuals)
        return here

    def _below(
        self, units: slice, who: Integers, rows: Integers, into: ByComponent, seen: list[Seen] | None
    ) -> None:
        """Read some units of the last depth again, and write their estimates into rows of `into`."""
        own = self._own(units, self.tree.kind[units], np.arange(units.stop - units.start), seen)
        for estimates, passes, beliefs in zip(into, self._passes, own, strict=True):
            z = beliefs[who - units.start]
            # areas without any above them learn from their own measurements only
            alone = self.cut == 0
            estimates[rows] = z if alone else passes.down(self.tree.parent[who], self.node[who], z, z)

    @cached_property
    def lowest(self) -> NDArray[np.bool_]:
        """Whether nothing is measured below a unit; the units below may be left out (`redrawn`)."""
        lowest: NDArray[np.bool_] = self.shape.leaf[self.node]
        return lowest

    def own_beliefs(self, units: slice) -> ByComponent:
        """Return what the measurements of some units say of them, without those of units below them."""
        return self._own(units, self.tree.kind[units], np.arange(units.stop - units.start))

    def beliefs(self, units: slice) -> ByComponent:
        """Return what the measurements at and below some units, and only they, say of them."""
        own = self.own_beliefs(units)
        inside = slice(units.start, min(units.stop, self.cut))
        if inside.start < inside.stop:
            some, at = slice(0, inside.stop - inside.start), self.node[inside]
            for z, solution, passes in zip(own, self.solutions, self._passes, strict=True):
                z[some] = solution.up_own[at] @ z[some] + solution.up_sum[at] @ passes.S[inside]
        return own

    def values(self, query: str) -> Floats:
        """Return the estimates, a row for each unit, a column for each cell; nan if not determined."""
        return self.at().values(query)

    def union(self, members: Sequence[int] | Integers, weights: Floats | None = None) -> Union:
        """Return the union of units that do not overlap, with its covariances; with `weights`, the weighted
        sum of any units."""
        units = np.asarray(members, dtype=np.int64)
        if len(np.unique(units)) < len(units):
            raise InputError("an area names another twice")
        if weights is not None:
            return Union(self, units, np.asarray(weights, dtype=np.float64))
        inside = np.zeros(self.tree.size + 1, dtype=bool)
        inside[units] = True
        above = self.tree.parent[units]
        while np.any(above >= 0):
            if inside[above].any():
                raise InputError("an area names another and one that lies within it")
            above = np.where(above >= 0, self.tree.parent[above], -1)
        return Union(self, units, np.ones(len(units)))


@dataclass(frozen=True)
class UnitEstimates:
    """The estimates of some units."""

    estimates: Estimates
    units: Integers
    x: ByComponent
    _read: dict[str, Floats] = field(default_factory=dict)
    """Cells that residuals needed, and that `values` may need once more."""

    def add_residuals(self, seen: Iterable[Seen], residuals: Residuals) -> None:
        """Add the residuals of those measurements that are of these units."""
        order = np.argsort(self.units, kind="stable")
        known = self.units[order]
        for release, query, who, values in seen:
            at = np.minimum(np.searchsorted(known, who), len(known) - 1)
            mine = np.flatnonzero(known[at] == who)
            if not mine.size:
                continue
            if query not in self._read:
                self._read[query] = self.estimates.model.projections[query].read(self.x)
            rows, whole = order[at[mine]], len(mine) == len(who)
            cells = self._read[query]
            if len(rows) < len(cells) or np.any(np.diff(rows) != 1):
                cells = cells[rows]
            residuals.add(release, query, who[mine], values if whole else values[mine], cells)

    def values(self, query: str) -> Floats:
        """Return the estimates, a row for each unit, a column for each cell; nan if not determined."""
        estimates, view = self.estimates, self.estimates.view
        projection = estimates.model.projection(query)
        values = self._read.pop(query, None)
        if values is None:
            values = projection.read(self.x)
        unknown = view.undetermined(query, np.arange(estimates.shape.size))
        if unknown.any():
            values = np.where(unknown[estimates.node[self.units]][:, projection.classes], np.nan, values)
        exact = view.variances(query, np.arange(estimates.shape.size)) == 0.0
        if exact.any() and estimates.given.counts:  # a whole count, up to rounding
            sure = exact[estimates.node[self.units]][:, projection.classes]
            values = np.where(sure, np.rint(values) + 0.0, values)
        return values

    def deviations(self, query: str) -> Floats:
        """Return the standard deviation of each estimate; nan if it is not determined."""
        nodes = np.arange(self.estimates.shape.size)
        return self._of_classes(query, np.sqrt(self.estimates.view.variances(query, nodes)))

    def widths(self, query: str, level: float) -> Floats:
        """Return the half-width of each interval; nan if the estimate is not determined."""
        return self._of_classes(query, self.estimates.view.widths(query, level))

    def _of_classes(self, query: str, table: Floats) -> Floats:
        """Look up each unit and cell in a table by node and class."""
        estimates = self.estimates
        known = np.where(estimates.view.undetermined(query, np.arange(len(table))), np.nan, table)
        return known[estimates.node[self.units]][:, estimates.model.projection(query).classes]

    def variances(self, query: str) -> Floats:
        """Return the variance of each estimate."""
        return self.deviations(query) ** 2

    def covariances(self, query: str, its: str) -> Floats:
        """Return the covariance of the cells of two queries in each unit, cell by cell."""
        estimates = self.estimates
        by_node = estimates.model.covariances(query, its, [solution.P for solution in estimates.solutions])
        return by_node[estimates.node[self.units]]

    def shared(self, query: str, its: str) -> Noises:
        """Return the noises in the cells of two queries, and which of them enter each unit and cell."""
        estimates = self.estimates
        cells = estimates.model.cell_pairs(query, its)
        nodes, at = np.unique(estimates.node[self.units], return_inverse=True)
        return estimates.view.shared(cells, nodes), at.reshape(-1, 1) + len(nodes) * cells.of


class Union:
    """A union of units, or a weighted sum of them: the sum of their estimates, with variances and
    covariances.

    The sum is a weighted sum of the own beliefs of all units, which are independent.
    """

    def __init__(self, estimates: Estimates, units: Integers, factors: Floats) -> None:
        self._estimates = estimates
        self.is_whole = estimates.given.counts and bool(np.all(factors == np.rint(factors)))
        """Whether what is estimated is a whole number."""
        self.is_positive = estimates.given.counts and bool(np.all(factors >= 0))
        """Whether what is estimated cannot be below zero."""
        # replace a whole family by its parent, which may be determined even if its children are not
        self.units, self.factors = estimates.tree.merged(units, factors)
        x = estimates.at(self.units).x
        self._x = [np.tensordot(self.factors, values, axes=1)[None] for values in x]

    @cached_property
    def _weights(self) -> ByComponent:
        estimates = self._estimates
        return [
            sum_weights(solution, estimates.tree, estimates.node, self.units, self.factors)
            for solution in estimates.solutions
        ]

    def _noise(self, solution: Solution) -> Floats:
        """Return the covariance of the own belief of each unit in a component."""
        return solution.beliefs.V[self._estimates.tree.kind]

    @cached_property
    def _uncertain(self) -> ByComponent:
        """The projectors on what is not exact: where own beliefs with an error have a weight."""
        projectors = []
        for A, solution in zip(self._weights, self._estimates.solutions, strict=True):
            rows = solution.open()[self._estimates.tree.kind] @ A
            sizes, directions = np.linalg.svd(np.linalg.qr(rows.reshape(-1, A.shape[2]), mode="r"))[1:]
            # a projector's share of a sum counts relative to the largest weight in the sum
            scale = np.abs(self.factors).max(initial=0.0)
            kept = directions[: len(sizes)][sizes > 1e-8 * scale]
            projectors.append((kept.T @ kept)[None])
        return projectors

    def _exact(self, query: str) -> NDArray[np.bool_]:
        """Which classes of cells have no error: held exact, or computed from exact counts, such as a parent
        minus the rest of its children."""
        return ~self._estimates.model.projection(query).reaches(self._uncertain)

    def values(self, query: str) -> Floats:
        """Return the estimates of the cells of a query, in one row; nan if not determined."""
        estimates = self._estimates
        projection = estimates.model.projection(query)
        nodes = np.unique(estimates.node[self.units])
        lost = estimates.view.undetermined(query, nodes)[:, projection.classes]
        values = projection.read(self._x)
        if self.is_whole:
            values = np.where(self._exact(query)[:, projection.classes], np.rint(values) + 0.0, values)
        return np.where(lost.any(axis=0), np.nan, values)

    def covariances(self, query: str, other: Union, its: str) -> Floats:
        """Return the covariances of the cells of a query here with those of another query elsewhere."""
        between = [
            np.sum(np.swapaxes(A, 1, 2) @ self._noise(solution) @ B, axis=0)[None]
            for A, B, solution in zip(self._weights, other._weights, self._estimates.solutions, strict=True)
        ]
        return self._estimates.model.covariances(query, its, between)

    def shared(self, query: str, other: Union, its: str) -> Noises:
        """Return the noises in the cells of a query here and of another query elsewhere, and which of them
        enter each cell."""
        estimates = self._estimates
        cells = estimates.model.cell_pairs(query, its)
        sums = self._weights, other._weights
        return estimates.view.shared_of_sums(cells, sums, estimates.tree.kind), cells.of[None]

    def variances(self, query: str) -> Floats:
        """Return the variances of the cells of a query; nan if not determined."""
        projection = self._estimates.model.projection(query)
        own = [
            np.sum(np.swapaxes(A, 1, 2) @ self._noise(solution) @ A, axis=0)[None]
            for A, solution in zip(self._weights, self._estimates.solutions, strict=True)
        ]
        variances = np.where(self._exact(query), 0.0, np.maximum(projection.variances(own), 0.0))
        return np.where(np.isnan(self.values(query)), np.nan, variances[:, projection.classes])

    def widths(self, query: str, level: float) -> Floats:
        """Return the half-widths of intervals; nan if not determined. A union of a single unit has that
        unit's interval."""
        estimates = self._estimates
        if len(self.units) == 1:
            return float(abs(self.factors[0])) * estimates.at(self.units).widths(query, level)
        noises, _ = self.shared(query, self, query)
        variances, classes = self.variances(query), estimates.model.projection(query).classes
        return shared_widths(noises, classes[None], np.zeros_like(variances), variances, level)


def inverse_variance_weights(variances: Floats) -> tuple[Floats, Floats]:
    """Return the weights of independent estimates (first axis) and the variance of their weighted mean.

    A variance of nan means that there is no estimate, zero that it is exact.

    >>> weights, variance = inverse_variance_weights(np.array([[1.0, 0.0, np.nan], [4.0, 1.0, 2.0]]))
    >>> weights.tolist(), variance.tolist()
    ([[0.8, 1.0, 0.0], [0.2, 0.0, 1.0]], [0.8, 0.0, 2.0])
    """
    exact = variances == 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(np.isnan(variances), 0.0, 1.0 / variances)
        precision = np.where(exact.any(axis=0), exact.astype(float), precision)
        total = precision.sum(axis=0)
        weights = np.where(total > 0, precision / total, 0.0)
        variance = np.where(exact.any(axis=0), 0.0, np.where(total > 0, 1.0 / total, np.nan))
    return weights, variance


@dataclass(frozen=True)
class Moments:
    """Two estimates in each unit and cell, their variances and covariance, and the noises in both (see
    `UnitEstimates.shared`), which are absent if no estimate is determined."""

    a: Floats
    b: Floats
    var_a: Floats
    var_b: Floats
    covariance: Floats
    noises: Noises | None = None

    @classmethod
    def change(cls, now: Moments, before: Moments) -> Moments:
        """Pair the first estimates of two releases, whose noises are independent."""
        none = np.zeros_like(now.a)
        noises = now.noises and before.noises and independent_noises(now.noises, before.noises)
        return cls(now.a, before.a, now.var_a, before.var_a, none, noises)

    def variances(self, factors: Floats) -> Floats:
        """Return the variances of a - factor b; zero if only rounding error is left."""
        parts = self.var_a + factors**2 * self.var_b
        sure = (self.var_a == 0.0) | (self.var_b == 0.0)
        variances = parts - np.where(sure, 0.0, 2 * factors * self.covariance)
        return np.where(variances <= 1e-12 * parts, 0.0, variances)

    def widths(self, factors: Floats, level: float, *, quick: bool = False) -> Floats:
        """Return the half-widths of intervals for a - factor b."""
        variances = self.variances(factors)
        if self.noises is None:
            return np.full(variances.shape, np.nan)
        return shared_widths(*self.noises, factors, variances, level, quick=quick)

    def ratio_ends(self, b: Floats, values: Floats, level: float, places: int) -> list[Floats]:
        """Return the ends of intervals for the ratios `values`, a / b: the outermost r for which a - r b is
        as close to zero as its law allows.

        The quick half-widths are smooth in r, so a few steps find where they are reached. The law itself is
        not smooth: as r leaves a simple fraction, a lattice dissolves. So the law is evaluated at several r
        from the quick end inwards, until one is inside; the end is one step further out. A change of r moves
        the quantile by at most that change times the bound on b's noise, and moves a - r b by that change
        times b: if b exceeds its noise, no r inside is missed. In more than a few `places` the quick ends are
        kept: each law takes a millisecond.
        """
        safe = self._quick_ends(b, values, level)
        if places * values.shape[1] > _MOST_RATIOS:
            return safe
        known = np.isfinite(safe[0]) & np.isfinite(safe[1])
        ends = [end.copy() for end in safe]
        here = replace(self, b=b)._some(known)
        middle = values[known]
        for side in (0, 1):
            outer = safe[side][known]
            inner = middle + _NEAREST * (outer - middle)
            for _ in range(2):  # coarse, then fine
                outer, inner = here._between(outer, inner, level)
            ends[side][known] = outer + (side - 0.5) * 2e-9 * np.abs(outer - middle)
        return ends

    def _between(self, outer: Floats, inner: Floats, level: float) -> tuple[Floats, Floats]:
        """Going from outer to inner ratios, return the first that is inside, and the last that is not."""
        last, settled = outer.copy(), np.zeros(outer.shape, dtype=bool)
        inside = inner.copy()
        for step in range(1, STEPS):
            live = np.flatnonzero(~settled)
            if not live.size:
                break
            ratio = (outer + (inner - outer) * step / STEPS)[live]
            some = self._some(~settled)
            near = np.abs(some.a - ratio * some.b) <= some.widths(ratio, level) * (1 + 1e-9)
            inside[live[near]] = ratio[near]
            last[live[~near]] = ratio[~near]
            settled[live[near]] = True
        return last, inside

    def _quick_ends(self, b: Floats, values: Floats, level: float) -> list[Floats]:
        """Return the ends from quick half-widths, which in standard deviations hardly change with r."""
        here = replace(self, b=b)
        sure = (self.var_a == 0.0) | (self.var_b == 0.0)
        parts = self.var_a, self.var_b, np.where(sure, 0.0, self.covariance)
        ends = []
        for side, outer in ((0, np.minimum), (1, np.maximum)):
            end = values.copy()
            for _ in range(STEPS):
                with np.errstate(divide="ignore", invalid="ignore"):
                    factor = here.widths(end, level, quick=True) / np.sqrt(here.variances(end))
                factor = np.where(np.isfinite(factor), factor, normal_quantile(level))
                last, end = end, ratio_interval(self.a, b, parts, factor)[side]
            ends.append(outer(last, end))
        lost = np.isnan(ends[0]) | np.isnan(ends[1])
        return [np.where(lost, np.nan, end) for end in ends]

    def _some(self, which: NDArray[np.bool_]) -> Moments:
        """Return some of the cells, in one row."""
        columns = (self.a, self.b, self.var_a, self.var_b, self.covariance)
        a, b, var_a, var_b, covariance = (column[which] for column in np.broadcast_arrays(*columns))
        noises = self.noises and (self.noises[0], np.broadcast_to(self.noises[1], which.shape)[which])
        return Moments(a, b, var_a, var_b, covariance, noises)


STEPS = 8
"""Steps taken to find the ends of a ratio's interval."""
_NEAREST = 0.5
"""Where the search for the end of a ratio's interval stops: half-way to the quick end."""
_MOST_RATIOS = 500
"""Ratios of a table whose intervals come from the law of the noise."""


def ratio_interval(
    first: Floats, second: Floats, variances: tuple[Floats, Floats, Floats], factor: Floats
) -> tuple[Floats, Floats]:
    """Return the ends of Fieller's interval for the ratios one / two; nan where it is unbounded.

    `variances` are those of `one` and of `two`, and their covariance. The interval contains the ratios r for
    which one - r two is within `factor` standard deviations of zero. It is unbounded where `two` is not
    clearly different from zero.

    >>> numbers = [np.array([x]) for x in (10.0, 100.0, 1.0, 4.0, 0.0)]
    >>> ends = ratio_interval(numbers[0], numbers[1], tuple(numbers[2:]), np.array([1.959964]))
    >>> [round(float(end[0]), 4) for end in ends]
    [0.0802, 0.1202]
    """
    z2 = factor**2
    a = second**2 - z2 * variances[1]
    b = first * second - z2 * variances[2]
    c = first**2 - z2 * variances[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        bounded = a > 0.0
        return np.where(bounded, (b - root) / a, np.nan), np.where(bounded, (b + root) / a, np.nan)
