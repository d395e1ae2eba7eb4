"""The model: what is measured where, and the queries of a release on their components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release, Tabulation
from discreet.budget.noise_table import noises
from discreet.errors import InputError
from discreet.estimation.component import ByComponent, Columns, Component
from discreet.estimation.projection import Components, Projection
from discreet.estimation.solution import Evidence, Solution, solve
from discreet.estimation.tree import Floats, Integers, Numbers, Tree
from discreet.noise import Noise


def size_of(law: Noise) -> float:
    """Return the variance of noise; for a very small parameter it underflows, and 1e-20 is used instead."""
    return max(law.true_variance(), 1e-20)


class ApartProjection:
    """One query of a release without attributes: nothing ties it to other queries, so it is a separate
    component, at index `place`."""

    widths = (1,)

    def __init__(self, components: Sequence[Component], place: int) -> None:
        self.components, self._place, self.cells = components, place, components[place].copies
        self.classes = np.zeros(self.cells, dtype=np.int64)
        self.class_sizes = np.array([float(self.cells)])

    def sees(self, component: Component) -> bool:
        """Whether the component is that of the query."""
        return component is self.components[self._place]

    def gram(self, component: Component) -> Floats:
        """Return 1 for the query's own component."""
        return np.ones((1, 1)) * self.sees(component)

    mean_weights = gram

    def collect(self, values: Numbers | NDArray[np.bool_]) -> ByComponent:
        """Return the values at the query's own component."""
        collected = [np.zeros((len(values), 1, component.copies)) for component in self.components]
        collected[self._place] = values.astype(np.float64)[:, None, :]
        return collected

    def read(self, estimates: ByComponent) -> Floats:
        """Return the cells."""
        return estimates[self._place][:, 0, :]

    def vectors(self, component: Component) -> tuple[Floats, Floats]:
        """Return 1 for the query's own component."""
        return np.ones((1, 1)) * self.sees(component), np.ones(1)

    def columns(self, classes: Integers) -> Columns:
        """Return 1 for the only class."""
        columns = Columns(classes, [], [], [], [])
        columns.add(self._place, np.ones((1, 1)), np.zeros(1, dtype=np.int64), np.ones(1))
        return columns

    def weights(self, other: object, moved: ByComponent, columns: Columns) -> tuple[Floats, Floats]:
        """Return the product of a cell with itself; it has none with cells of other queries."""
        own = other is self
        return moved[0] * own, np.ones((1, 1)) * own

    def variances(self, covariances: ByComponent) -> Floats:
        """Return the variance, the same for all cells."""
        return covariances[self._place][:, 0, :]

    def reaches(self, spaces: ByComponent) -> NDArray[np.bool_]:
        """Return where the query has a component in the ranges of these projectors."""
        return spaces[self._place][:, 0, :] > 0.5


@dataclass(frozen=True)
class CellPairs:
    """Pairs of cells of two queries: the index of each among the distinct pairs, and both rows of these by
    component (size, copies)."""

    of: Integers
    distinct: list[tuple[ByComponent, ByComponent]]


@dataclass(frozen=True)
class Told:
    """What is known about units of one kind: the noise law of each query, and the queries held exact."""

    laws: tuple[tuple[str, Noise], ...]
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
    ) -> None:
        """`blocks` are further tables by name, such as cells held at zero in some units."""
        self.attributes = attributes
        self.queries = tuple(queries)
        self.impossible: tuple[str, ...] = ()
        self._grams: dict[tuple[str, Component], Floats] = {}
        if attributes is None:
            apart = [Component((), 1, (cells or {}).get(query, 1)) for query in queries]
            self.components: Components | list[Component] = apart
            self.projections: dict[str, Projection | ApartProjection] = {
                query: ApartProjection(apart, place) for place, query in enumerate(queries)
            }
            return
        tables = {query: attributes.tabulation(query) for query in queries} | dict(blocks or {})
        zeros = {f"impossible {place + 1}": table for place, table in enumerate(attributes.zeros())}
        self.impossible = tuple(zeros)
        tables |= zeros
        together = Components(attributes.axes, tables.values())
        self.components = together
        self.projections = {query: together.projection(table) for query, table in tables.items()}

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
        return np.repeat(first.variances(by_component), first.cells, axis=1)

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

    def kind(self, told: Told, component: Component) -> Evidence:
        """Return what is known in a component about units of one kind."""
        sums = [np.zeros((component.size, component.size)) for _ in range(3)]
        for query, size in told.variances:
            gram = self._gram(query, component)
            sums[0] += gram / size
            sums[1] += gram
        exact = (*told.exact, *self.impossible)
        for query in exact:
            sums[2] += self._gram(query, component)
        return Evidence(sums[0], sums[1], sums[2] if exact else None)

    def solve(self, shape: Tree, kinds: Sequence[Told]) -> list[Solution]:
        """Return the covariances and operators of every component on a tree."""
        return [solve(shape, [self.kind(told, component) for told in kinds]) for component in self.components]


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


def told_by_level(release: Release, levels: Sequence[str]) -> list[Told]:
    """Return what is known about units of each level, or run of merged levels."""
    laws = noises(release, levels)
    return [
        Told(tuple((query, law) for (level, query), law in laws.items() if level == run)) for run in levels
    ]
