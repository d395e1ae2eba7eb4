"""Queries projected on components: least squares over many queries splits into small problems.

For each attribute take the common refinement of the recodes in use: m groups of its n values. On contrasts
within a group every recode acts as 0, and a query that has the attribute in full acts as 1. Groups of one
size that every recode treats alike (each separately, or all together) are an *orbit*, such as the ages 3 to
14, single years in one recode and together in another: on contrasts within an orbit, too, a recode acts as a
number, the size of the groups or 0. So an attribute has a *main part*, spanned by the indicators of its
orbits, and parts of contrasts on which each query acts as a number. Each choice of a part for every attribute
gives a *component*: a problem whose size is the product of the numbers of orbits of the main parts chosen,
shared by as many *copies* as the product of the numbers of contrasts. PL 94-171 with its 2,016 cells has 16
components, 8 of size 3 and 8 of size 1; the DHC with 1,227,744 cells has 144, the largest of size 156 (13
orbits of relationships by 12 of ages; with groups instead of orbits it would be 1,160).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers, Numbers
from discreet.budget import Tabulation
from discreet.budget.attributes import Groups
from discreet.errors import InputError
from discreet.estimation.basis import MOST_VALUES, Basis
from discreet.estimation.component import ByComponent, Columns, Component
from discreet.estimation.solution import SMALL

if TYPE_CHECKING:
    from discreet.estimation.model import ApartProjection


class Components:
    """The components of attributes of these sizes, for all the queries in use.

    What is added up, if that is more than one thing, is one more axis: no query tells anything of two of
    them, so each has components of its own.

    >>> from discreet.budget import load
    >>> pl94 = load("pl94-2020")
    >>> tables = [pl94.attributes.tabulation(query.name) for query in pl94.levels[1].queries]
    >>> components = Components(pl94.attributes.sizes, tables)
    >>> sorted((component.size, component.copies) for component in components)[-1], len(components)
    ((3, 62), 16)
    """

    def __init__(self, sizes: Sequence[int], tables: Iterable[Tabulation]) -> None:
        self.sizes = tuple(sizes)
        if max(self.sizes) > MOST_VALUES:
            raise InputError(
                f"an attribute has {max(self.sizes)} values; estimates are possible for at most {MOST_VALUES}"
            )
        used = list(tables)
        attributes = used[0].sizes if used else self.sizes
        self.bases = tuple(
            Basis(size, [table.by_attribute[number] for table in used if not table.is_full(number)])
            for number, size in enumerate(attributes)
        ) + tuple(Basis.apart(size) for size in self.sizes[len(attributes) :])
        self.all: list[Component] = []
        for parts in product(*(range(len(basis.parts)) for basis in self.bases)):
            widths = [basis.width(part) for basis, part in zip(self.bases, parts, strict=True)]
            size = prod(width for width, part in zip(widths, parts, strict=True) if not part)
            copies = prod(width for width, part in zip(widths, parts, strict=True) if part)
            self.all.append(Component(parts, size, copies))
        self._known: dict[tuple[Groups, ...], Projection] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[Component]:
        return iter(self.all)

    def projection(self, table: Tabulation) -> Projection:
        """Return how a query acts on the components."""
        key = table.axes
        if key not in self._known:
            self._known[key] = Projection(self, key)
        return self._known[key]


class Projection:
    """One query on all components: its Gram matrices, and how data, cells and variances are converted.

    With `unit_length` a cell is the sum of its group divided by the root of the group's size.
    """

    def __init__(
        self, components: Components, groups: Sequence[Groups], *, unit_length: bool = False
    ) -> None:
        self.components = components
        self.groups = tuple(groups)
        self.shape = tuple(len(members) for members in groups)
        self.cells = prod(self.shape)
        # Row g of a block is the indicator of group g in a part of the basis. An axis joins the non-zero
        # blocks.
        self._blocks: list[list[Floats]] = []
        for n, basis, rows in zip(components.sizes, components.bases, groups, strict=True):
            indicator = np.zeros((len(rows), n))
            for number, group in enumerate(rows):
                indicator[number, list(group)] = len(group) ** -0.5 if unit_length else 1.0
            self._blocks.append([indicator @ basis.vectors[part].T for part in basis.parts])
        every = [[bool(np.any(np.abs(block) > SMALL)) for block in blocks] for blocks in self._blocks]
        self._sees = {
            component
            for component in components
            if all(seen[part] for seen, part in zip(every, component.parts, strict=True))
        }
        self._axes: list[Floats] = []
        self._slices: list[list[slice]] = []
        for blocks, seen in zip(self._blocks, every, strict=True):
            kept = [block[:, : block.shape[1] * is_seen] for block, is_seen in zip(blocks, seen, strict=True)]
            edges = np.cumsum([0, *(block.shape[1] for block in kept)]).tolist()
            self._axes.append(np.hstack(kept))
            self._slices.append([slice(a, b) for a, b in pairwise(edges)])
        self._classes = self._find_classes()
        self._vectors: dict[Component, tuple[Floats, Floats]] = {}
        self._weights: dict[tuple[tuple[Groups, ...], bytes, bytes], ByComponent] = {}
        self._known_kinds: dict[tuple[int, Groups], tuple[Floats, Floats]] = {}
        self._parts = [[part for part in range(1, len(seen)) if seen[part]] for seen in every]
        sizes = zip(self._blocks, self._parts, strict=True)
        self.widths = tuple(blocks[0].shape[1] + len(parts) for blocks, parts in sizes)
        """For each attribute the number of vectors in its main part and of the other parts seen."""

    def sees(self, component: Component) -> bool:
        """Whether the query says anything about a component."""
        return component in self._sees

    def gram(self, component: Component) -> Floats:
        """Return the query's Gram matrix on a component, if the components were made for the query."""
        if not self.sees(component):
            return np.zeros((component.size, component.size))
        main, number = [], 1.0
        for blocks, part in zip(self._blocks, component.parts, strict=True):
            block = blocks[part]
            if part:
                # the same number on all its contrasts
                number *= float(np.sum(block**2)) / block.shape[1]
            else:
                main.append(block.T @ block)
        return number * _product(main)

    def collect(self, values: Numbers | NDArray[np.bool_]) -> ByComponent:
        """Convert rows of cells to Q'y in the basis: arrays (row, size, copies) by component."""
        rows = len(values)
        block = values.reshape(rows, *self.shape).astype(np.float64, copy=False)
        for number, axis in enumerate(self._axes):
            block = np.moveaxis(np.tensordot(block, axis, axes=(1 + number, 0)), -1, 1 + number)
        collected = []
        for component in self.components:
            if not self.sees(component):
                collected.append(np.zeros((rows, component.size, component.copies)))
                continue
            part = block[self._where(component)]
            collected.append(
                np.transpose(part, self._order(component)).reshape(rows, component.size, component.copies)
            )
        return collected

    def read(self, estimates: ByComponent) -> Floats:
        """Return the cells of the query, a row for each unit, from arrays (row, size, copies)."""
        rows = len(estimates[0])
        block = np.zeros((rows, *(axis.shape[1] for axis in self._axes)))
        for component, values in zip(self.components, estimates, strict=True):
            if self.sees(component):
                where, order = self._where(component), self._order(component)
                shape = [where[number].stop - where[number].start for number in order[1:]]
                part = values.reshape(rows, *shape)
                block[where] = np.transpose(part, np.argsort(order))
        for index, axis in enumerate(self._axes):
            block = np.moveaxis(np.tensordot(block, axis, axes=(1 + index, 1)), -1, 1 + index)
        return block.reshape(rows, self.cells)

    def _where(self, component: Component) -> tuple[slice, ...]:
        return (
            slice(None),
            *(slices[part] for slices, part in zip(self._slices, component.parts, strict=True)),
        )

    @staticmethod
    def _order(component: Component) -> list[int]:
        main = [1 + number for number, part in enumerate(component.parts) if not part]
        return [0, *main, *(1 + number for number, part in enumerate(component.parts) if part)]

    # -- classes of cells that look the same to every component ---------------------------------------------

    def _find_classes(self) -> tuple[list[NDArray[np.int64]], list[Floats], NDArray[np.int64], Floats]:
        """Return for each axis the first group of each distinct kind and the squared lengths of its
        contrasts; and the class of each cell, and the number of cells in each class."""
        firsts, lengths, codes = [], [], []
        for blocks in self._blocks:
            squares = np.column_stack([np.sum(block**2, axis=1) for block in blocks])
            key = np.column_stack([blocks[0], squares[:, 1:]])
            distinct, code = np.unique(np.round(key, 9), axis=0, return_inverse=True)
            first = np.array([int(np.argmax(code == number)) for number in range(len(distinct))])
            firsts.append(first)
            lengths.append(squares[first])
            codes.append(code.ravel())
        at = np.zeros(1, dtype=np.int64)
        for first, code in zip(firsts, codes, strict=True):
            at = (at[:, None] * len(first) + code).ravel()
        count = prod(len(first) for first in firsts)
        return firsts, lengths, at, np.bincount(at, minlength=count).astype(np.float64)

    @property
    def classes(self) -> NDArray[np.int64]:
        """The class of each cell; cells of one class have the same variance in every unit."""
        return self._classes[2]

    @property
    def class_sizes(self) -> Floats:
        """The number of cells in each class."""
        return self._classes[3]

    def vectors(self, component: Component) -> tuple[Floats, Floats]:
        """Return for each class its row on a component and its squared length along the copies."""
        if component not in self._vectors:
            firsts, lengths = self._classes[:2]
            vector: Floats = np.ones((1, 1))
            length: Floats = np.ones(1)
            for blocks, first, squares, part in zip(
                self._blocks, firsts, lengths, component.parts, strict=True
            ):
                length = _product([length, squares[:, part] if part else np.ones(len(first))])
                vector = _product([vector, np.ones((len(first), 1)) if part else blocks[0][first]])
            self._vectors[component] = vector, length
        return self._vectors[component]

    def variances(self, covariances: ByComponent) -> Floats:
        """Return the variance of each class of cells, from covariances (node, size, size) by component."""
        total = np.zeros((len(covariances[0]), len(self.class_sizes)))
        for component, P in zip(self.components, covariances, strict=True):
            if self.sees(component):
                vector, length = self.vectors(component)
                total += _forms(vector, P) * length
        return total

    def covariances(
        self, other: Projection, covariances: ByComponent, cells: Integers, its: Integers
    ) -> Floats:
        """Return the covariances of `cells` with cells `its` of another query (or with its only cell), pair
        by pair, a row for each node, from covariances (node, size, size) by component, which need not be
        symmetric."""
        if len(its) not in (1, len(cells)):
            raise ValueError("queries of different numbers of cells have no covariance cell by cell")
        if self.same(other) and np.array_equal(cells, its):
            return self.variances(covariances)[:, self.classes[cells]]
        sums = np.zeros((len(covariances[0]), len(cells)))
        for C, weights in zip(covariances, self.products(other, cells, its), strict=True):
            sums += C.reshape(len(C), -1) @ weights.T
        return sums

    def same(self, other: Projection) -> bool:
        """Whether another query has the same cells."""
        return self.groups == other.groups

    def products(self, other: Projection, cells: Integers, its: Integers) -> ByComponent:
        """Return by component the products of the rows of `cells` with those of `its` of another query."""
        key = (other.groups, cells.tobytes(), its.tobytes())
        if key not in self._weights:
            rows, others = self.collect(np.eye(self.cells)[cells]), other.collect(np.eye(other.cells)[its])
            self._weights[key] = [
                (mine @ np.swapaxes(theirs, 1, 2)).reshape(len(cells), -1)
                for mine, theirs in zip(rows, others, strict=True)
            ]
        return self._weights[key]

    def columns(self, classes: Integers) -> Columns:
        """Return the rows of some classes, on the components that see them."""
        kinds = [len(firsts) for firsts in self._classes[0]]
        ranks = np.unravel_index(classes, kinds)
        columns = Columns(classes, [], [], [], [])
        for number, component in enumerate(self.components):
            if not self.sees(component):
                continue
            # on contrasts all classes have the same row
            code = np.zeros(len(classes), dtype=np.int64)
            for rank, many, part in zip(ranks, kinds, component.parts, strict=True):
                code = code if part else code * many + rank
            _, at, of = np.unique(code, return_index=True, return_inverse=True)
            vector, length = self.vectors(component)
            columns.add(number, vector[classes[at]].T, of.ravel(), length[classes])
        return columns

    def weights(
        self, other: Projection | ApartProjection, moved: ByComponent, columns: Columns
    ) -> tuple[Floats, Floats]:
        """Return v'Mw for each kind of cell v of this query and each class w of another, and the number of
        cells of each kind; `moved` are the M w of its columns (node, size, column).

        Cells that look alike from w to every component are of one kind. The arrays are (node, class, kind)
        and (class, kind).
        """
        assert isinstance(other, Projection)
        classes = columns.classes
        ranks = np.unravel_index(classes, [len(firsts) for firsts in other._classes[0]])
        block = np.zeros((len(moved[0]), len(classes), *self.widths))
        for component, M, of in zip(columns.components, moved, columns.of, strict=True):
            known = self.components.all[component]
            if self.sees(known):
                where, shape = [], []
                for blocks, parts, part in zip(self._blocks, self._parts, known.parts, strict=True):
                    m = blocks[0].shape[1]
                    at = m + parts.index(part) if part else 0
                    shape.append(1 if part else m)
                    where.append(slice(at, at + shape[-1]))
                block[:, :, *where] = np.swapaxes(M, 1, 2)[:, of].reshape(*block.shape[:2], *shape)
        counts: Floats = np.ones((len(classes), 1))
        for number, rank in enumerate(ranks):
            axes, many = self._kinds(number, other)
            # the current axis comes first, is replaced, and goes to the end: after all axes, the old order
            block = np.moveaxis(block, 2, -1)
            shape = block.shape
            block = block.reshape(*shape[:2], -1, shape[-1]) @ np.swapaxes(axes[rank], 1, 2)
            block = block.reshape(*shape[:-1], -1)
            counts = (counts[:, :, None] * many[rank][:, None, :]).reshape(len(counts), -1)
        return block.reshape(*block.shape[:2], -1), counts

    def _kinds(self, number: int, other: Projection) -> tuple[Floats, Floats]:
        """Return the kinds of groups of an attribute as seen from each kind of another query: main rows with
        products of contrasts, and how many groups each kind has, padded with zeros."""
        key = (number, other.groups[number])
        if key not in self._known_kinds:
            blocks, first = self._blocks[number], other._classes[0][number]
            kinds = []
            for row in first:
                products = [blocks[part] @ other._blocks[number][part][row] for part in self._parts[number]]
                rows = np.column_stack([blocks[0], *products])
                _, at, many = np.unique(np.round(rows, 9), axis=0, return_index=True, return_counts=True)
                kinds.append((rows[at], many))
            most = max(len(many) for _, many in kinds)
            axes, counts = np.zeros((len(kinds), most, self.widths[number])), np.zeros((len(kinds), most))
            for axis, count, (rows, many) in zip(axes, counts, kinds, strict=True):
                axis[: len(rows)], count[: len(rows)] = rows, many
            self._known_kinds[key] = axes, counts
        return self._known_kinds[key]

    def reaches(self, spaces: ByComponent) -> NDArray[np.bool_]:
        """Return which classes have a component in the ranges of these projectors (node, size, size)."""
        total, scale = np.zeros((len(spaces[0]), len(self.class_sizes))), np.zeros(len(self.class_sizes))
        for component, N in zip(self.components, spaces, strict=True):
            if self.sees(component):
                vector, length = self.vectors(component)
                scale += np.sum(vector**2, axis=1) * length
                total += _forms(vector, N) * length
        return total > 1e-9 * scale

    def mean_weights(self, component: Component) -> Floats:
        """Return A such that trace(A P), summed over components, is the mean variance of the cells."""
        if not self.sees(component):
            return np.zeros((component.size, component.size))
        vector, length = self.vectors(component)
        share = self.class_sizes / self.cells * length
        weights: Floats = vector.T @ (vector * share[:, None])
        return weights


def _product(factors: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of matrices, or of vectors."""
    product: Floats = np.ones([1] * (factors[0].ndim if factors else 2))
    for factor in factors:
        if factor.ndim == 1:
            product = np.multiply.outer(product, factor).ravel()
        else:
            block = product[:, None, :, None] * factor[None, :, None, :]
            product = block.reshape(len(product) * len(factor), -1)
    return product


def _forms(vectors: Floats, matrices: Floats) -> Floats:
    """Return v'Mv, a row for each matrix, a column for each vector."""
    forms: Floats = np.sum((vectors @ matrices) * vectors, axis=2)
    return forms
