"""The model: what is measured where, and the queries of a release on their components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers, Numbers, Tree
from discreet.budget import Attributes, Release, Tabulation
from discreet.budget.noise_table import noises
from discreet.errors import InputError
from discreet.estimation.component import ByComponent, Columns, Component
from discreet.estimation.normal import Law, Normal
from discreet.estimation.projection import Components, Projection
from discreet.estimation.solution import Evidence, Solution, solve


def size_of(law: Law) -> float:
    """Return the variance of noise; for a very small parameter it underflows, and 1e-20 is used instead."""
    return law.variance if isinstance(law, Normal) else max(law.true_variance(), 1e-20)


@dataclass(frozen=True)
class Piece:
    """Some cells of a query, in the order of the attributes: those that have one variance in each unit.

    `table` are these cells by themselves, if there are attributes.
    """

    query: str
    cells: tuple[int, ...]
    table: Tabulation | None = None


class ApartProjection:
    """One query, or piece of a query, of a release without attributes: nothing ties its cells to others.

    Cells of one variance are a component together; `pieces` are the cells of each of them by the index of the
    component.
    """

    widths = (1,)

    def __init__(self, components: Sequence[Component], pieces: Mapping[int, Sequence[int]]) -> None:
        self.components, self._places = components, list(pieces)
        self.cells = sum(len(cells) for cells in pieces.values())
        self._cells = [np.array(cells, dtype=np.int64) for cells in pieces.values()]
        self.classes = np.zeros(self.cells, dtype=np.int64)
        for number, cells in enumerate(self._cells):
            self.classes[cells] = number
        self.class_sizes = np.array([float(len(cells)) for cells in self._cells])
        self._class_of = {components[place]: number for number, place in enumerate(self._places)}

    def sees(self, component: Component) -> bool:
        """Whether the component is one of the query's."""
        return component in self._class_of

    def gram(self, component: Component) -> Floats:
        """Return 1 for the query's own components."""
        return np.ones((1, 1)) * self.sees(component)

    def mean_weights(self, component: Component) -> Floats:
        """Return the share of the component's cells."""
        share = self.class_sizes[self._class_of[component]] / self.cells if self.sees(component) else 0.0
        return np.full((1, 1), share)

    def collect(self, values: Numbers | NDArray[np.bool_]) -> ByComponent:
        """Return the values at the query's own components."""
        collected = [np.zeros((len(values), 1, component.copies)) for component in self.components]
        for place, cells in zip(self._places, self._cells, strict=True):
            collected[place] = values[:, cells].astype(np.float64)[:, None, :]
        return collected

    def read(self, estimates: ByComponent) -> Floats:
        """Return the cells."""
        values = np.zeros((len(estimates[0]), self.cells))
        for place, cells in zip(self._places, self._cells, strict=True):
            values[:, cells] = estimates[place][:, 0, :]
        return values

    def vectors(self, component: Component) -> tuple[Floats, Floats]:
        """Return for each class 1 on its own component, and its length."""
        own = np.zeros(len(self._places))
        if self.sees(component):
            own[self._class_of[component]] = 1.0
        return own[:, None], np.ones(len(self._places))

    def columns(self, classes: Integers) -> Columns:
        """Return 1 for each class, on its own component."""
        columns = Columns(classes, [], [], [], [])
        none = np.zeros(len(classes), dtype=np.int64)
        for number in np.unique(classes).tolist():
            columns.add(self._places[number], np.ones((1, 1)), none, (classes == number).astype(np.float64))
        return columns

    def weights(self, other: object, moved: ByComponent, columns: Columns) -> tuple[Floats, Floats]:
        """Return the product of a cell with itself; it has none with other cells."""
        own = np.zeros((len(moved[0]), len(columns.classes), 1))
        for place, one, lengths in zip(columns.components, moved, columns.lengths, strict=True):
            if self.sees(self.components[place]):
                own[:, :, 0] += one[:, 0, :] * (lengths[0] > 0)
        counts = np.zeros((len(columns.classes), 1))
        for place, lengths in zip(columns.components, columns.lengths, strict=True):
            counts[:, 0] += (lengths[0] > 0) * self.sees(self.components[place])
        return own, counts

    def variances(self, covariances: ByComponent) -> Floats:
        """Return the variance of each class of cells."""
        return np.hstack([covariances[place][:, 0, :] for place in self._places])

    def reaches(self, spaces: ByComponent) -> NDArray[np.bool_]:
        """Return which classes have their component in the ranges of these projectors."""
        return np.hstack([spaces[place][:, 0, :] for place in self._places]) > 0.5


@dataclass(frozen=True)
class CellPairs:
    """Pairs of cells of two queries: the index of each among the distinct pairs, and both rows of these by
    component (size, copies)."""

    of: Integers
    distinct: list[tuple[ByComponent, ByComponent]]


@dataclass(frozen=True)
class KnownOfUnits:
    """What is known about units of one kind: the noise law of each query, and the queries held exact."""

    laws: tuple[tuple[str, Law], ...]
    exact: tuple[str, ...] = ()

    @cached_property
    def variances(self) -> tuple[tuple[str, float], ...]:
        """The noise variance of each measurement; two releases may measure the same query."""
        return tuple((query, size_of(law)) for query, law in self.laws)


class Model:
    """Queries of a release with their components; `cells` are needed if there are no attributes.

    >>> from discreet.budget import load
    >>> len(Model(load("pl94-2020").attributes, ["total", "cenrace", "detailed"]).components)
    16
    """

    def __init__(
        self,
        attributes: Attributes | None,
        queries: Sequence[str],
        *,
        cells: Mapping[str, int] | None = None,
        blocks: Mapping[str, Tabulation] | None = None,
        pieces: Mapping[str, Piece] | None = None,
    ) -> None:
        """`blocks` are further tables by name, such as cells held at zero in some units; `pieces` of queries
        are measured in the place of the whole query."""
        self.attributes = attributes
        self.queries = tuple(queries)
        self.impossible: tuple[str, ...] = ()
        self._grams: dict[tuple[str, Component], Floats] = {}
        self.components: Components | list[Component]
        self.projections: dict[str, Projection | ApartProjection]
        if attributes is None:
            self._apart(cells or {}, pieces or {})
            return
        tables = {query: attributes.tabulation(query) for query in queries} | dict(blocks or {})
        tables |= {name: piece.table for name, piece in (pieces or {}).items() if piece.table is not None}
        zeros = {f"impossible {place + 1}": table for place, table in enumerate(attributes.zeros())}
        self.impossible = tuple(zeros)
        tables |= zeros
        together = Components(attributes.axes, tables.values())
        self.components = together
        self.projections = {query: together.projection(table) for query, table in tables.items()}

    def _apart(self, cells: Mapping[str, int], pieces: Mapping[str, Piece]) -> None:
        """Make a component of each query, or of each of its pieces."""
        own: dict[str, list[tuple[str, Sequence[int]]]] = {query: [] for query in self.queries}
        for name, piece in pieces.items():
            own[piece.query].append((name, piece.cells))
        for query, some in own.items():
            own[query] = some or [(query, range(cells.get(query, 1)))]
        every = [one for some in own.values() for one in some]
        components = [Component((), 1, len(one)) for _, one in every]
        place = {name: number for number, (name, _) in enumerate(every)}
        self.components = components
        self.projections = {
            name: ApartProjection(components, {place[name]: range(len(one))}) for name, one in every
        }
        for query, some in own.items():
            self.projections[query] = ApartProjection(components, {place[name]: one for name, one in some})

    def projection(self, query: str) -> Projection | ApartProjection:
        """Return a query on the components: a measured one or, if there are attributes, any other."""
        if query in self.projections:
            return self.projections[query]
        if self.attributes is None or not isinstance(self.components, Components):
            raise InputError(
                f"query {query!r} is not among the measurements, which have {', '.join(self.queries)}; "
                "other queries need a release that states its attributes"
            )
        return self.components.projection(self.attributes.tabulation(query, sums=True))

    def covariances(self, one: str, two: str, by_component: ByComponent) -> Floats:
        """Return the covariance of each cell of a query with the same, or the only, cell of another query,
        both in the order in which the queries are written."""
        first, second = self.projection(one), self.projection(two)
        if isinstance(first, Projection) and isinstance(second, Projection):
            return first.covariances(second, by_component, *self._as_written(one, two))
        assert isinstance(first, ApartProjection)
        if first is not second:
            return np.zeros((len(by_component[0]), first.cells))
        return first.variances(by_component)[:, first.classes]

    def _as_written(self, *queries: str) -> list[Integers]:
        """Return the indices, in the order of the attributes, of the cells of queries as written."""
        cells = [np.arange(self.projection(query).cells) for query in queries]
        if self.attributes is None:
            return cells
        pairs = zip(queries, cells, strict=True)
        return [as_written(self.attributes, query, row[None])[0] for query, row in pairs]

    def cell_pairs(self, one: str, two: str) -> CellPairs:
        """Pair the cells of a query with the same, or the only, cell of another query, as written."""
        first, second = self.projection(one), self.projection(two)
        cells, its = self._as_written(one, two)
        its = np.broadcast_to(its, cells.shape)
        looks = [np.column_stack([first.classes[cells], second.classes[its]]).astype(np.float64)]
        if (
            isinstance(first, Projection)
            and isinstance(second, Projection)
            and not (first.same(second) and np.array_equal(cells, its))
        ):
            looks += first.products(second, cells, its)
        _, which, of = np.unique(
            np.round(np.hstack(looks), 9), axis=0, return_index=True, return_inverse=True
        )
        rows = [
            [[one[0] for one in side.collect((np.arange(side.cells) == place)[None])] for place in places]
            for side, places in ((first, cells[which]), (second, its[which]))
        ]
        return CellPairs(of.ravel(), list(zip(*rows, strict=True)))

    def _gram(self, query: str, component: Component) -> Floats:
        key = (query, component)
        if key not in self._grams:
            self._grams[key] = self.projections[query].gram(component)
        return self._grams[key]

    def solve(self, shape: Tree, kinds: Sequence[KnownOfUnits]) -> list[Solution]:
        """Return the covariances and operators of every component on a tree."""
        queries, precise, often = _precisions(kinds)
        held = list(dict.fromkeys([*(query for told in kinds for query in told.exact), *self.impossible]))
        exact = np.zeros((len(kinds), len(held)))
        row = {query: number for number, query in enumerate(held)}
        for kind, told in enumerate(kinds):
            for query in (*told.exact, *self.impossible):
                exact[kind, row[query]] += 1.0
        solutions = []
        for component in self.components:
            information, measured = self._sums(queries, component, precise, often)
            (totals,) = self._sums(held, component, exact)
            rows = zip(information, measured, totals, strict=True)
            evidence = [Evidence(J, G, E if held else None) for J, G, E in rows]
            solutions.append(solve(shape, evidence))
        return solutions

    def information(self, kinds: Sequence[KnownOfUnits]) -> ByComponent:
        """Return by component the information of each kind: the sum of G/s over its queries."""
        queries, precise, _ = _precisions(kinds)
        return [self._sums(queries, component, precise)[0] for component in self.components]

    def _sums(self, queries: Sequence[str], component: Component, *weights: Floats) -> ByComponent:
        """Return sums of Gram matrices of the queries that see a component, for each row of the weights."""
        seen = [place for place, query in enumerate(queries) if self.projections[query].sees(component)]
        if not seen:
            return [np.zeros((len(rows), component.size, component.size)) for rows in weights]
        grams = np.stack([self._gram(queries[place], component) for place in seen])
        return [np.tensordot(rows[:, seen], grams, axes=1) for rows in weights]


def _precisions(kinds: Sequence[KnownOfUnits]) -> tuple[list[str], Floats, Floats]:
    """Return the queries measured, and by kind and query the sum of 1/s and the number of measurements."""
    queries = list(dict.fromkeys(query for told in kinds for query, _ in told.laws))
    place = {query: number for number, query in enumerate(queries)}
    precise, often = np.zeros((len(kinds), len(queries))), np.zeros((len(kinds), len(queries)))
    for kind, told in enumerate(kinds):
        for query, size in told.variances:
            precise[kind, place[query]] += 1.0 / size
            often[kind, place[query]] += 1.0
    return queries, precise, often


Cell = TypeVar("Cell", bound=np.generic)


def as_written(attributes: Attributes, query: str, rows: NDArray[Cell]) -> NDArray[Cell]:
    """Reorder rows of cells from the order of the attributes to that in which the query is written."""
    table = attributes.tabulation(query, sums=True)
    if not table.factors:
        return rows
    by_attribute = [factor.attribute for factor in table.factors]
    shape = [table.shape[place] for place in np.argsort(by_attribute)]
    axes = [1 + int(place) for place in np.argsort(np.argsort(by_attribute))]
    return rows.reshape(len(rows), *shape).transpose(0, *axes).reshape(len(rows), -1)


def known_by_level(release: Release, levels: Sequence[str]) -> list[KnownOfUnits]:
    """Return what is known about units of each level, or run of merged levels."""
    laws = noises(release, levels)
    return [
        KnownOfUnits(tuple((query, law) for (level, query), law in laws.items() if level == run))
        for run in levels
    ]
