"""What is measured where, as the estimates need it: components, laws of the noise, kinds of units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release, Tabulation
from discreet.budget.release import rows
from discreet.errors import InputError
from discreet.estimation.components import ByComponent, Component, Components, Floats, Projection
from discreet.estimation.tree import Evidence, Solution, Tree, solve
from discreet.noise import Noise

Noises = Mapping[tuple[str, str], Noise]
"""Noise by level (or run of merged levels) and query."""


def noises(release: Release, levels: Sequence[str] | None = None) -> dict[tuple[str, str], Noise]:
    """Return the noise of each query, for each level and for each run of merged levels on some path.

    `levels` are those that are wanted, or all.

    A merged run such as "State+County" asks the queries of its top level with the budget of all its levels.

    >>> from discreet.budget import Level, Query, Spine
    >>> levels = [Level(name=name, queries=[Query(name="total", variance=6)]) for name in ("State", "County")]
    >>> spine = Spine(may_merge_up=["County"])
    >>> merged = Release(name="small", neighbours="bounded", levels=levels, spine=spine)
    >>> for (level, query), noise in noises(merged).items():
    ...     print(level, query, noise)
    State total discrete Gaussian noise of variance 6
    County total discrete Gaussian noise of variance 6
    State+County total discrete Gaussian noise of variance 3
    """
    runs = dict.fromkeys(run for path in release.paths for run in release.runs(path))
    wanted = tuple(run for run in runs if levels is None or "+".join(run) in levels)
    return {(row.level, row.query): row.event.single() for row in rows(release, wanted)}


def queries_of(release: Release) -> tuple[str, ...]:
    """Return all queries of a release, in order of first appearance."""
    return tuple(dict.fromkeys(query.name for level in release.levels for query in level.queries))


class Apart:
    """Queries without attributes: nothing is known to tie them, so each is a component of its own."""

    def __init__(self, cells: Mapping[str, int]) -> None:
        self.all = [Component((), 1, many) for many in cells.values()]
        self._place = {name: place for place, name in enumerate(cells)}
        self._cells = dict(cells)

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Component]:
        return iter(self.all)

    def projection(self, query: str) -> ApartProjection:
        """Return how a query acts: on its own component."""
        return ApartProjection(self, self._place[query], self._cells[query])


class ApartProjection:
    """One query that is a component of its own."""

    def __init__(self, components: Apart, place: int, cells: int) -> None:
        self.components, self._place, self.cells = components, place, cells
        self.classes = np.zeros(cells, dtype=np.int64)
        self.class_sizes = np.array([float(cells)])

    def sees(self, component: Component) -> bool:
        """Whether the component is that of the query."""
        return component is self.components.all[self._place]

    def gram(self, component: Component) -> Floats:
        """Return 1 for the query's own component."""
        return np.ones((1, 1)) * self.sees(component)

    mean_weights = gram

    def collect(self, values: NDArray[Any]) -> ByComponent:
        """Return the values at the query's own component."""
        found = [np.zeros((len(values), 1, one.copies)) for one in self.components]
        found[self._place] = values.astype(np.float64)[:, None, :]
        return found

    def read(self, estimates: ByComponent) -> Floats:
        """Return the cells."""
        return estimates[self._place][:, 0, :]

    def variances(self, covariances: ByComponent) -> Floats:
        """Return the variance, the same for all cells."""
        return covariances[self._place][:, 0, :]

    def undetermined(self, nulls: ByComponent) -> NDArray[np.bool_]:
        """Return where the query is not determined."""
        return nulls[self._place][:, 0, :] > 0.5


@dataclass(frozen=True)
class Told:
    """What units of one kind answer: the law of the noise of each query, and queries held exact."""

    laws: tuple[tuple[str, Noise], ...]
    exact: tuple[str, ...] = ()

    @cached_property
    def variances(self) -> tuple[tuple[str, float], ...]:
        """The variance of the noise of each measurement; two releases may measure one query."""
        return tuple((query, law.true_variance()) for query, law in self.laws)


class Model:
    """Queries of a release with their components; `cells` are needed where there are no attributes.

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
        """`blocks` are further tables by name, such as cells of some units that are held at zero."""
        self.attributes = attributes
        self.queries = tuple(queries)
        self.impossible: tuple[str, ...] = ()
        self._grams: dict[tuple[str, Component], Floats] = {}
        if attributes is None:
            apart = Apart({query: (cells or {}).get(query, 1) for query in queries})
            self.components: Components | Apart = apart
            self.projections: dict[str, Projection | ApartProjection] = {
                query: apart.projection(query) for query in queries
            }
            return
        tables = {query: attributes.tabulation(query) for query in queries} | dict(blocks or {})
        zeros = {f"impossible {place + 1}": table for place, table in enumerate(attributes.zeros())}
        self.impossible = tuple(zeros)
        tables |= zeros
        together = Components(attributes.sizes, tables.values())
        self.components = together
        self.projections = {query: together.projection(table) for query, table in tables.items()}

    def projection(self, query: str) -> Projection | ApartProjection:
        """Return a query on the components: one that is measured, or with attributes any other."""
        if query in self.projections:
            return self.projections[query]
        if self.attributes is None or not isinstance(self.components, Components):
            raise InputError(
                f"query {query!r} is not among the measurements, which have {', '.join(self.queries)}; "
                "other queries need a release that states its attributes"
            )
        return self.components.projection(self.attributes.tabulation(query, sums=True))

    def cells(self, query: str) -> int:
        """Return the number of cells of a query."""
        return self.projection(query).cells

    def covariances(self, one: str, two: str, by_component: ByComponent) -> Floats:
        """Return the covariance of each cell of a query with the same, or the only, cell of another one."""
        first, second = self.projection(one), self.projection(two)
        if isinstance(first, Projection) and isinstance(second, Projection):
            return first.covariances(second, by_component)
        assert isinstance(first, ApartProjection)
        if first is not second:
            return np.zeros((len(by_component[0]), first.cells))
        return np.repeat(first.variances(by_component), first.cells, axis=1)

    def _gram(self, query: str, one: Component) -> Floats:
        key = (query, one)
        if key not in self._grams:
            self._grams[key] = self.projections[query].gram(one)
        return self._grams[key]

    def kind(self, told: Told, one: Component) -> Evidence:
        """Return what units of one kind are told in a component."""
        sums = [np.zeros((one.size, one.size)) for _ in range(3)]
        for query, size in told.variances:
            gram = self._gram(query, one)
            sums[0] += gram / size
            sums[1] += gram
        exact = (*told.exact, *self.impossible)
        for query in exact:
            sums[2] += self._gram(query, one)
        return Evidence(sums[0], sums[1], sums[2] if exact else None)

    def solve(self, shape: Tree, kinds: Sequence[Told]) -> list[Solution]:
        """Return covariances and operators of every component on a tree."""
        return [solve(shape, [self.kind(told, one) for told in kinds]) for one in self.components]


def uniform_tree(release: Release, children: Sequence[float] | None) -> tuple[float, ...]:
    """Return how many children a unit has, for each level below the top.

    Without numbers, those of the United States in 2020 are taken where the levels are named so.

    >>> from discreet.budget import load
    >>> uniform_tree(load("pl94-2020"), None)
    (51.0, 61.6, 23.2, 2.83, 34.0)
    """
    names = [level.name for level in release.levels]
    if children is None:
        if len(names) == 1:
            return ()
        if names != ["US", *CHILDREN_2020]:
            raise InputError(
                f"the tree of units is not known: say how many children a unit has on average, from "
                f"{names[0]} down ({len(names) - 1} number{'s' * (len(names) > 2)}), or give the units"
            )
        return tuple(CHILDREN_2020.values())
    found = tuple(float(one) for one in children)
    if len(found) != len(names) - 1:
        raise InputError(
            f"the tree has {len(found)} numbers; the levels {', '.join(names)} need {len(names) - 1}, "
            "one for each step down"
        )
    for one in found:
        if not 1.0 <= one <= 1e9:
            raise InputError(f"a unit has {one:g} children; it must be a number from 1 to a billion")
    return found


CHILDREN_2020 = {"State": 51.0, "County": 61.6, "Tract": 23.2, "Block_Group": 2.83, "Block": 34.0}
"""Children of a unit of the level above, on average over the United States in 2020."""


def told_by_level(
    release: Release, levels: Sequence[str], exact: Sequence[tuple[str, str]] = ()
) -> list[Told]:
    """Return what units of each level, or run of merged levels, answer; `exact` are pairs (level, query)."""
    laws = noises(release, levels)
    found = []
    for run in levels:
        held = [query for level, query in exact if level in run.split("+")]
        mine = tuple((query, law) for (level, query), law in laws.items() if level == run)
        found.append(Told(mine, tuple(dict.fromkeys(held))))
    return found
