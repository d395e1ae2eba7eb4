"""What is measured where, and how least squares over many queries comes apart into small problems.

For each attribute take the common refinement of the recodes in use: m groups of its n values. The normalised
indicators of the groups, C (m rows), and contrasts within the groups, F (n - m rows), are an orthonormal
basis. On F a query acts as 1 if it has the attribute in full, and as 0 otherwise; on C as C R'R C' with R its
own 0/1 matrix. So for each choice of C or F for every attribute there is a *component*: a problem whose size
is the product of the m, the same one for as many *copies* as the product of the n - m says. PL 94-171 with
its 2016 cells has 16 components, 8 of size 3 and 8 of size 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release, Tabulation
from discreet.budget.attributes import Groups
from discreet.budget.release import rows as rows_of
from discreet.errors import InputError
from discreet.estimation.tree import SMALL, Evidence, Floats, Solution, Tree, solve
from discreet.noise import Noise

ByComponent = list[Floats]
"""One array for each component."""


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One small problem: which attributes enter by contrasts, its size, and how many columns share it.

    It is itself only: components of two queries without attributes may look the same.
    """

    fine: tuple[bool, ...]
    size: int
    copies: int


class Components:
    """The components of attributes of these sizes, for all the queries in use.

    >>> from discreet.budget import load
    >>> pl94 = load("pl94-2020")
    >>> tables = [pl94.attributes.tabulation(query.name) for query in pl94.levels[1].queries]
    >>> found = Components(pl94.attributes.sizes, tables)
    >>> sorted((one.size, one.copies) for one in found)[-1], len(found)
    ((3, 62), 16)
    """

    def __init__(self, sizes: Sequence[int], tables: Iterable[Tabulation]) -> None:
        self.sizes = tuple(sizes)
        used = list(tables)
        self.parts = tuple(
            _refinement(size, [table.by_attribute[place] for table in used if not table.is_full(place)])
            for place, size in enumerate(self.sizes)
        )
        self.bases = tuple(_basis(size, part) for size, part in zip(self.sizes, self.parts, strict=True))
        coarse = [len(part) for part in self.parts]
        self.all: list[Component] = []
        for fine in product((False, True), repeat=len(self.sizes)):
            columns = [n - m for n, m, is_fine in zip(self.sizes, coarse, fine, strict=True) if is_fine]
            size = prod(m for m, is_fine in zip(coarse, fine, strict=True) if not is_fine)
            if prod(columns):
                self.all.append(Component(fine, size, prod(columns)))
        self._known: dict[tuple[Groups, ...], Projection] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Any:
        return iter(self.all)

    def projection(self, table: Tabulation) -> Projection:
        """Return how a query acts on the components."""
        key = table.by_attribute
        if key not in self._known:
            self._known[key] = Projection(self, key)
        return self._known[key]


class Projection:
    """One query on all components: Gram matrices, data collected, cells read off, their variances."""

    def __init__(self, components: Components, groups: Sequence[Groups]) -> None:
        self.components = components
        self.groups = tuple(groups)
        self.shape = tuple(len(one) for one in groups)
        self.cells = prod(self.shape)
        # Row g of an axis is the indicator of group g in the basis; where the contrasts do not see the query
        # they are left out.
        self._axes: list[Floats] = []
        self._is_full: list[bool] = []
        for n, part, basis, rows in zip(
            components.sizes, components.parts, components.bases, groups, strict=True
        ):
            indicator = np.zeros((len(rows), n))
            for place, group in enumerate(rows):
                indicator[place, list(group)] = 1.0
            axis = indicator @ basis.T
            m = len(part)
            seen = bool(np.any(np.abs(axis[:, m:]) > SMALL))
            self._is_full.append(seen)
            self._axes.append(axis if seen else axis[:, :m])
        self._coarse = [axis[:, : len(part)] for axis, part in zip(self._axes, components.parts, strict=True)]
        self._classes = self._find_classes()
        self._vectors: dict[Component, tuple[Floats, Floats]] = {}
        self._weights: dict[tuple[Groups, ...], ByComponent] = {}

    def sees(self, component: Component) -> bool:
        """Whether the query says anything about a component."""
        return all(full or not fine for full, fine in zip(self._is_full, component.fine, strict=True))

    def gram(self, component: Component) -> Floats:
        """Return the query's Gram matrix on a component, for queries that the components were made for."""
        if not self.sees(component):
            return np.zeros((component.size, component.size))
        blocks = [
            coarse.T @ coarse for coarse, fine in zip(self._coarse, component.fine, strict=True) if not fine
        ]
        return _product(blocks)

    def collect(self, values: NDArray[Any]) -> ByComponent:
        """Return Q'y in the basis: rows of cells in, arrays (row, size, copies) out."""
        rows = len(values)
        block = values.reshape(rows, *self.shape).astype(np.float64, copy=False)
        for place, axis in enumerate(self._axes):
            block = np.moveaxis(np.tensordot(block, axis, axes=(1 + place, 0)), -1, 1 + place)
        found = []
        for one in self.components:
            if not self.sees(one):
                found.append(np.zeros((rows, one.size, one.copies)))
                continue
            part = block[(slice(None), *self._slices(one))]
            found.append(np.transpose(part, self._order(one)).reshape(rows, one.size, one.copies))
        return found

    def read(self, estimates: ByComponent) -> Floats:
        """Return the cells of the query, one row a unit, from arrays (row, size, copies)."""
        rows = len(estimates[0])
        block = np.zeros((rows, *(axis.shape[1] for axis in self._axes)))
        for one, values in zip(self.components, estimates, strict=True):
            if self.sees(one):
                where = self._slices(one)
                shape = [block[(slice(1), *where)].shape[place] for place in self._order(one)[1:]]
                part = values.reshape(rows, *shape)
                block[(slice(None), *where)] = np.transpose(part, np.argsort(self._order(one)))
        for place, axis in enumerate(self._axes):
            block = np.moveaxis(np.tensordot(block, axis, axes=(1 + place, 1)), -1, 1 + place)
        return block.reshape(rows, self.cells)

    def _slices(self, one: Component) -> tuple[slice, ...]:
        m = [len(part) for part in self.components.parts]
        return tuple(
            slice(count, None) if fine else slice(count) for count, fine in zip(m, one.fine, strict=True)
        )

    @staticmethod
    def _order(one: Component) -> list[int]:
        coarse = [1 + place for place, fine in enumerate(one.fine) if not fine]
        return [0, *coarse, *(1 + place for place, fine in enumerate(one.fine) if fine)]

    # -- classes of cells that look the same to every component ---------------------------------------------

    def _find_classes(self) -> tuple[list[Floats], list[Floats], NDArray[np.int64], Floats]:
        """Return by axis the distinct rows and squared lengths of their contrasts, the class of each cell,
        and how many cells each class has."""
        rows, lengths, codes = [], [], []
        for axis, coarse in zip(self._axes, self._coarse, strict=True):
            m = coarse.shape[1]
            key = np.column_stack([coarse, np.sum(axis[:, m:] ** 2, axis=1)])
            found, code = np.unique(np.round(key, 9), axis=0, return_inverse=True)
            first = np.array([int(np.argmax(code == one)) for one in range(len(found))])
            rows.append(coarse[first])
            lengths.append(key[first, -1])
            codes.append(code.ravel())
        at = np.zeros(1, dtype=np.int64)
        for row, code in zip(rows, codes, strict=True):
            at = (at[:, None] * len(row) + code).ravel()
        count = prod(len(row) for row in rows)
        return rows, lengths, at, np.bincount(at, minlength=count).astype(np.float64)

    @property
    def classes(self) -> NDArray[np.int64]:
        """The class of each cell; cells of one class have the same variance in every unit."""
        return self._classes[2]

    @property
    def class_sizes(self) -> Floats:
        """How many cells each class has."""
        return self._classes[3]

    def vectors(self, one: Component) -> tuple[Floats, Floats]:
        """Return for each class its row on a component and the squared length along the copies."""
        if one not in self._vectors:
            rows, lengths = self._classes[:2]
            vector: Floats = np.ones((1, 1))
            length: Floats = np.ones(1)
            for row, size, fine in zip(rows, lengths, one.fine, strict=True):
                length = _product([length, size if fine else np.ones(len(row))])
                vector = _product([vector, np.ones((len(row), 1)) if fine else row])
            self._vectors[one] = vector, length
        return self._vectors[one]

    def variances(self, covariances: ByComponent) -> Floats:
        """Return the variance of each class of cells, from covariances (node, size, size) by component."""
        total = np.zeros((len(covariances[0]), len(self.class_sizes)))
        for one, P in zip(self.components, covariances, strict=True):
            if self.sees(one):
                vector, length = self.vectors(one)
                total += _forms(vector, P) * length
        return total

    def covariances(self, other: Projection, covariances: ByComponent) -> Floats:
        """Return the covariance of each cell with the same cell of another query (or with its only one), one
        row a node, from covariances (node, size, size) by component, which need not be symmetric."""
        if other.cells not in (1, self.cells):
            raise ValueError("queries of different numbers of cells have no covariance cell by cell")
        key = other.groups
        if key not in self._weights:
            one, two = self.collect(np.eye(self.cells)), other.collect(np.eye(other.cells))
            self._weights[key] = [
                (mine @ np.swapaxes(its, 1, 2)).reshape(self.cells, -1)
                for mine, its in zip(one, two, strict=True)
            ]
        found = np.zeros((len(covariances[0]), self.cells))
        for C, weights in zip(covariances, self._weights[key], strict=True):
            found += C.reshape(len(C), -1) @ weights.T
        return found

    def reaches(self, spaces: ByComponent) -> NDArray[np.bool_]:
        """Return which classes have a part in the spaces of these projectors (node, size, size)."""
        total, scale = np.zeros((len(spaces[0]), len(self.class_sizes))), np.zeros(len(self.class_sizes))
        for one, N in zip(self.components, spaces, strict=True):
            if self.sees(one):
                vector, length = self.vectors(one)
                scale += np.sum(vector**2, axis=1) * length
                total += _forms(vector, N) * length
        return total > 1e-9 * scale

    def mean_weights(self, component: Component) -> Floats:
        """Return A with trace(A P) summed over components = the mean variance over the cells."""
        if not self.sees(component):
            return np.zeros((component.size, component.size))
        vector, length = self.vectors(component)
        share = self.class_sizes / self.cells * length
        weights: Floats = vector.T @ (vector * share[:, None])
        return weights


def _product(factors: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of matrices, or of vectors."""
    found: Floats = np.ones([1] * (factors[0].ndim if factors else 2))
    for one in factors:
        if one.ndim == 1:
            found = np.multiply.outer(found, one).ravel()
        else:
            block = found[:, None, :, None] * one[None, :, None, :]
            found = block.reshape(len(found) * len(one), -1)
    return found


def _forms(vectors: Floats, matrices: Floats) -> Floats:
    """Return v'Mv, one row a matrix, one column a vector."""
    found: Floats = np.sum((vectors @ matrices) * vectors, axis=2)
    return found


def _refinement(size: int, splits: Sequence[Groups]) -> Groups:
    """Return the coarsest partition of the values that every split can be made of."""
    label = np.zeros(size, dtype=np.int64)
    for groups in splits:
        own = np.full(size, -1, dtype=np.int64)
        for place, group in enumerate(groups):
            own[list(group)] = place
        label = np.unique(label * (size + 2) + own, return_inverse=True)[1].ravel()
    return tuple(tuple(np.flatnonzero(label == one).tolist()) for one in range(int(label.max()) + 1))


def _basis(size: int, part: Groups) -> Floats:
    """Return the normalised indicators of the groups, then Helmert contrasts within each."""
    basis = np.zeros((size, size))
    at = len(part)
    for place, group in enumerate(part):
        members, many = list(group), len(group)
        basis[place, members] = many**-0.5
        for k in range(1, many):
            norm = (k * (k + 1)) ** -0.5
            basis[at, members[:k]] = norm
            basis[at, members[k]] = -k * norm
            at += 1
    return basis


# -- laws and kinds of units -----------------------------------------------------------------------------

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
    return {(row.level, row.query): row.event.single() for row in rows_of(release, wanted)}


def queries_of(release: Release) -> tuple[str, ...]:
    """Return all queries of a release, in order of first appearance."""
    return tuple(dict.fromkeys(query.name for level in release.levels for query in level.queries))


class ApartProjection:
    """One query of a release without attributes: nothing is known to tie it to others, so it is a component
    of its own, at a place among all."""

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

    def reaches(self, spaces: ByComponent) -> NDArray[np.bool_]:
        """Return where the query has a part in the spaces of these projectors."""
        return spaces[self._place][:, 0, :] > 0.5


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


def told_by_level(release: Release, levels: Sequence[str]) -> list[Told]:
    """Return what units of each level, or run of merged levels, answer."""
    laws = noises(release, levels)
    return [
        Told(tuple((query, law) for (level, query), law in laws.items() if level == run)) for run in levels
    ]
