"""How accurate the estimates of a release will be, before anything is released.

The variance of the best linear unbiased estimate depends on the plan and on the tree alone. `accuracy` gives
it for every query at every level, root mean square over the cells of the query, beside that of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.budget import Release
from discreet.budget.levels import level_name
from discreet.errors import InputError
from discreet.estimation.components import ByComponent, Floats
from discreet.estimation.intervals import MOST_TERMS, SMOOTH, Term, half_widths
from discreet.estimation.model import Model, Told, queries_of, told_by_level, uniform_tree
from discreet.estimation.tree import Integers, Solution, Tree
from discreet.noise import Noise


@dataclass(frozen=True, slots=True)
class QueryAccuracy:
    """One query at one level: standard deviation of its noise (None: not asked) and of its estimate.

    `sd` and `margin95` are None where no measurement determines the query. 95 % of the time the estimate of
    a cell lies within `margin95` of the truth; where cells differ, it is the largest of their margins.
    """

    name: str
    cells: int
    noise_sd: float | None
    sd: float | None
    margin95: float | None


@dataclass(frozen=True, slots=True)
class LevelAccuracy:
    """The accuracy of every query at one level."""

    name: str
    units: float
    queries: tuple[QueryAccuracy, ...]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The accuracy of the estimates of a release: every query at every level.

    Guarantee. Assumed: noise as the release says, estimates by least squares over all measurements together
    (`together`; without attributes over the levels, each query by itself). Claimed: `sd` is the standard
    deviation of these estimates, before anything is rounded or kept from being negative.
    """

    release: str
    children: tuple[float, ...] | None
    together: bool
    levels: tuple[LevelAccuracy, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON shows."""
        return {
            "release": self.release,
            "tree": None if self.children is None else list(self.children),
            "estimates": KINDS[self.together],
            "levels": [
                {
                    "name": level.name,
                    "units": level.units,
                    "queries": [
                        {
                            "name": one.name,
                            "cells": one.cells,
                            "noise_sd": one.noise_sd,
                            "sd": one.sd,
                            "margin95": one.margin95,
                        }
                        for one in level.queries
                    ],
                }
                for level in self.levels
            ],
        }

    def sd(self, level: str, query: str) -> float:
        """Return the standard deviation of one query at one level."""
        for one in self.levels:
            for each in one.queries:
                if (one.name, each.name) == (level, query):
                    if each.sd is None:
                        raise InputError(f"query {query!r} at level {level!r} is not determined")
                    return each.sd
        raise InputError(f"there is no query {query!r} at level {level!r}")

    def rows(self) -> list[tuple[str, ...]]:
        """Return level, query, and the two standard deviations and the margin as texts."""
        return [
            (
                level_name(level.name),
                one.name,
                _shown(one.noise_sd, "not asked"),
                _shown(one.sd),
                _shown(one.margin95),
            )
            for level in self.levels
            for one in level.queries
        ]

    def __str__(self) -> str:
        lines = [f"{self.release}: {KINDS[self.together]}"]
        lines += [
            f"  {level}, {query}: sd {sd}, within {margin} 95 % of the time (noise alone {noise})"
            for level, query, noise, sd, margin in self.rows()
        ]
        return "\n".join(lines)


KINDS = {
    True: "all queries and levels together",
    False: "each query by itself, over the levels: the release states no attributes",
}
COLUMNS = ("level", "query", "sd of the noise", "sd of the estimate", "95 % margin")


def _shown(value: float | None, none: str = "not determined") -> str:
    return none if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def accuracy(release: Release, *, tree: Sequence[float] | Tree | None = None) -> Accuracy:
    """Return how accurate the estimates of every query at every level will be.

    `tree` says how many children a unit has on average, for each level below the top (no level is merged
    then), or it is a tree of units. Without it the numbers of the United States in 2020 are taken, for
    releases with its levels.

    >>> from discreet.budget import load
    >>> found = accuracy(load("pl94-2020"))
    >>> round(found.sd("Tract", "cenrace"), 2)
    2.57
    """
    model = Model(release.attributes, queries_of(release))
    children: tuple[float, ...] | None = None
    if tree is None or isinstance(tree, Sequence):
        children = uniform_tree(release, tree)
        shape = Tree.chain(children)
        names: tuple[str, ...] = tuple(level.name for level in release.levels)
        units = shape.totals
    else:
        shape, node = tree.folded()
        names = tree.levels
        units = np.bincount(node, minlength=shape.size).astype(np.float64)
    levels = by_level(model, shape, units, names, told_by_level(release, names))
    order = [level.name for level in release.levels]
    levels = tuple(sorted(levels, key=lambda one: [order.index(part) for part in one.name.split("+")]))
    return Accuracy(release.name, children, release.attributes is not None, levels)


def by_level(
    model: Model, shape: Tree, units: Floats, names: Sequence[str], told: Sequence[Told]
) -> tuple[LevelAccuracy, ...]:
    """Return the accuracy of the queries of a model at each level; a node stands for so many `units`."""
    view = View(model, shape, told, model.solve(shape, told))
    view.terms(model.queries)
    levels = []
    for place, name in enumerate(names):
        nodes = np.flatnonzero(shape.kind == place)
        weights = units[nodes] / units[nodes].sum()
        found = [_query(view, query, nodes, weights, told[place]) for query in model.queries]
        levels.append(LevelAccuracy(name, float(units[nodes].sum()), tuple(found)))
    return tuple(levels)


def _query(view: View, query: str, nodes: Integers, weights: Floats, told: Told) -> QueryAccuracy:
    noise = dict(told.variances).get(query)
    noise_sd = None if noise is None else noise**0.5
    projection = view.model.projection(query)
    if view.undetermined(query, nodes).any():
        return QueryAccuracy(query, projection.cells, noise_sd, None, None)
    variances = view.variances(query, nodes)
    mean = float(weights @ variances @ projection.class_sizes) / projection.cells
    widest = int(nodes[np.argmax(variances.max(axis=1))])
    margin = float(view.widths(query, 0.95)[widest].max())
    return QueryAccuracy(query, projection.cells, noise_sd, mean**0.5, margin)


class View:
    """The covariances of a model on a tree, as variances and laws of cells of queries at nodes."""

    def __init__(
        self, model: Model, shape: Tree, told: Sequence[Told], solutions: Sequence[Solution]
    ) -> None:
        self.model, self.shape, self.told, self.solutions = model, shape, tuple(told), list(solutions)
        self._P: ByComponent = [one.P for one in solutions]
        self._nulls: ByComponent = [one.nulls() for one in solutions]
        self._widths: dict[tuple[str, float], Floats] = {}
        self._terms: dict[str, list[list[list[Term]]]] = {}
        self._variances: dict[str, Floats] = {}

    def variances(self, query: str, nodes: Integers) -> Floats:
        """Return the variance of each class of cells of a query, one row a node."""
        if query not in self._variances:
            found = self.model.projection(query).variances(self._P)
            # what is exact comes out as rounding of the other variances
            self._variances[query] = np.where(found > 1e-13 * found.max(initial=0.0), found, 0.0)
        return self._variances[query][nodes]

    def undetermined(self, query: str, nodes: Integers) -> Any:
        """Return which classes of cells no measurement determines."""
        return self.model.projection(query).undetermined([one[nodes] for one in self._nulls])

    def widths(self, query: str, level: float) -> Floats:
        """Return the half-width of the interval of each class of cells, one row a node; see `intervals`."""
        key = (query, level)
        if key not in self._widths:
            variances = self.variances(query, np.arange(self.shape.size))
            terms = self.terms([query])[query]
            found = [half_widths(variances[:, one], some, level) for one, some in enumerate(terms)]
            self._widths[key] = np.column_stack(found)
        return self._widths[key]

    def terms(self, queries: Sequence[str]) -> dict[str, list[list[list[Term]]]]:
        """Return for queries, classes of their cells, and nodes, the terms that may dominate the error.

        They are measurements of the node, of its parent, and of its children if they are few.
        """
        cells = []
        if len(queries) == 1 and queries[0] not in self._terms:
            self._terms.clear()  # they are many: one query at a time, unless all are wanted at once
        for query in queries:
            if query not in self._terms:
                many = len(self.model.projection(query).class_sizes)
                self._terms[query] = [[[] for _ in range(self.shape.size)] for _ in range(many)]
                cells += [(query, one) for one in range(many)]
        rows: list[list[Floats]] = []
        for query, one in cells:
            projection = self.model.projection(query)
            indicator = np.zeros((1, projection.cells))
            indicator[0, int(np.argmax(projection.classes == one))] = 1.0
            rows.append([part[0] for part in projection.collect(indicator)])
        # the rows of all cells side by side, component by component
        wide = [np.concatenate(parts, axis=1) for parts in zip(*rows, strict=True)]
        for relation, measured, law, nodes, others in self._strong_pairs if cells else ():
            seen, size = self.model.projections[measured], law.true_variance()
            step = max(1, (1 << 21) // (seen.cells * len(cells)))
            many = min(2 * MOST_CELLS, seen.cells)
            for start in range(0, len(nodes), step):
                at, to = nodes[start : start + step], others[start : start + step]
                moved = []
                for solution, row in zip(self.solutions, wide, strict=True):
                    part = _moved(solution, row, at, to, relation)
                    part = part.reshape(len(at), part.shape[1], len(cells), -1).transpose(0, 2, 1, 3)
                    moved.append(part.reshape(len(at) * len(cells), *part.shape[2:]))
                weights = seen.read(moved) / size
                top = np.argpartition(-np.abs(weights), many - 1, axis=1)[:, :many]
                largest = np.take_along_axis(weights, top, axis=1).reshape(len(at), len(cells), many)
                # a lattice that is a hundred times finer is as good as Gaussian
                least = np.maximum(1e-2 * np.abs(largest).max(axis=2, keepdims=True), 1e-6)
                largest = np.where(np.abs(largest) >= least, largest, 0.0)
                times = (
                    np.ones(len(to)) if relation != "below" else np.maximum(np.rint(self.shape.count[to]), 1)
                )
                for node, by_cell, copies in zip(at.tolist(), largest.tolist(), times.tolist(), strict=True):
                    for (query, one), some in zip(cells, by_cell, strict=True):
                        self._terms[query][one][node] += [
                            Term(weight, law, int(copies)) for weight in some if weight
                        ]
        return {query: self._terms[query] for query in queries}

    @cached_property
    def _strong_pairs(self) -> list[tuple[str, str, Noise, Integers, Integers]]:
        """Measurements whose own noise hardly shrinks, with the nodes that are near: relation, query, law.

        Only those can dominate anything: a weight a has a^2 <= var(estimate) var(measured cell) / s^2, so it
        can exceed what is smoothed out only if var(measured cell) / s > 0.36 s / (1 + 0.36 s).
        """
        every, parent = np.arange(self.shape.size), self.shape.parent
        below = np.flatnonzero(parent >= 0)
        few = below[self.shape.count[below] <= MOST_TERMS]
        near = [("own", every, every), ("below", parent[few], few), ("above", below, parent[below])]
        found = []
        for kind, told in enumerate(self.told):
            nodes = np.flatnonzero(self.shape.kind == kind)
            for (query, law), (_, size) in zip(told.laws, told.variances, strict=True):
                share = self.variances(query, nodes).max(axis=1, initial=0.0) / size
                strong = np.zeros(self.shape.size, dtype=bool)
                strong[nodes] = share > SMOOTH**2 * size / (1 + SMOOTH**2 * size)
                for relation, at, to in near:
                    pairs = np.flatnonzero(strong[to])
                    if pairs.size:
                        found.append((relation, query, law, at[pairs], to[pairs]))
        return found


def _moved(solution: Solution, row: Floats, nodes: Integers, others: Integers, relation: str) -> Floats:
    """Return the covariance of units at `others` with a cell at `nodes`, which is `row` of a component."""
    if relation == "own":
        return solution.P[nodes] @ row
    if solution.gain is None:
        return np.zeros((len(nodes), *row.shape))
    if relation == "above":
        return solution.P[others] @ (np.swapaxes(solution.gain[nodes], 1, 2) @ row)
    return solution.gain[others] @ (solution.P[nodes] @ row)


MOST_CELLS = 4
"""Cells of one query that are looked at for weights that dominate."""
