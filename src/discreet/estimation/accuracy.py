"""How accurate the estimates of a release will be, before anything is released.

The variance of the best linear unbiased estimate depends on the plan and on the tree alone. `accuracy` gives
it for every query at every level, root mean square over the cells of the query, beside that of the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.budget import Release
from discreet.errors import InputError
from discreet.estimation.components import ByComponent, Floats
from discreet.estimation.intervals import MOST_TERMS, SMOOTH, Term, half_width
from discreet.estimation.model import Model, Told, Units, folded, told_by_level, uniform_tree
from discreet.estimation.tree import Integers, Shape, Solution


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
            (level.name, one.name, _shown(one.noise_sd, "not asked"), _shown(one.sd), _shown(one.margin95))
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


def accuracy(release: Release, *, tree: Sequence[float] | Units | None = None) -> Accuracy:
    """Return how accurate the estimates of every query at every level will be.

    `tree` says how many children a unit has on average, for each level below the top (no level is merged
    then), or it is a tree of units. Without it the numbers of the United States in 2020 are taken, for
    releases with its levels.

    >>> from discreet.budget import load
    >>> found = accuracy(load("pl94-2020"))
    >>> round(found.sd("Tract", "cenrace"), 2)
    2.57
    """
    queries = tuple(dict.fromkeys(query.name for level in release.levels for query in level.queries))
    model = Model(release.attributes, queries)
    children: tuple[float, ...] | None = None
    if tree is None or isinstance(tree, Sequence):
        children = uniform_tree(release, tree)
        shape = Shape.chain(children)
        names: tuple[str, ...] = tuple(level.name for level in release.levels)
        units = shape.totals
    else:
        shape, node = folded(tree)
        names = tree.levels
        units = np.bincount(node, minlength=shape.size).astype(np.float64)
    levels = by_level(model, shape, units, names, told_by_level(release, names))
    order = [level.name for level in release.levels]
    levels = tuple(sorted(levels, key=lambda one: [order.index(part) for part in one.name.split("+")]))
    return Accuracy(release.name, children, release.attributes is not None, levels)


def by_level(
    model: Model, shape: Shape, units: Floats, names: Sequence[str], told: Sequence[Told]
) -> tuple[LevelAccuracy, ...]:
    """Return the accuracy of the queries of a model at each level; a node stands for so many `units`."""
    view = View(model, shape, told, model.solve(shape, told))
    levels = []
    for place, name in enumerate(names):
        nodes = np.flatnonzero(shape.kind == place)
        weights = units[nodes] / units[nodes].sum()
        found = [_query(view, query, nodes, weights, told[place]) for query in model.queries]
        levels.append(LevelAccuracy(name, float(units[nodes].sum()), tuple(found)))
    return tuple(levels)


def _query(view: View, query: str, nodes: Integers, weights: Floats, told: Told) -> QueryAccuracy:
    noise = told.variances.get(query)
    noise_sd = None if noise is None else noise**0.5
    projection = view.model.projection(query)
    if view.undetermined(query, nodes).any():
        return QueryAccuracy(query, projection.cells, noise_sd, None, None)
    variances = view.variances(query, nodes)
    mean = float(weights @ variances @ projection.class_sizes) / projection.cells
    widest = int(nodes[np.argmax(variances.max(axis=1))])
    margin = max(view.half_width(query, widest, one, 0.95) for one in range(len(projection.class_sizes)))
    return QueryAccuracy(query, projection.cells, noise_sd, mean**0.5, margin)


class View:
    """The covariances of a model on a tree, as variances and laws of cells of queries at nodes."""

    def __init__(
        self, model: Model, shape: Shape, told: Sequence[Told], solutions: Sequence[Solution]
    ) -> None:
        self.model, self.shape, self.told, self.solutions = model, shape, tuple(told), list(solutions)
        self._P: ByComponent = [one.P for one in solutions]
        self._nulls: ByComponent = [one.nulls() for one in solutions]
        self._children: dict[int, list[int]] = {}
        for node, parent in enumerate(shape.parent.tolist()):
            self._children.setdefault(parent, []).append(node)
        self._widths: dict[tuple[str, int, int, float], float] = {}
        self._variances: dict[str, Floats] = {}
        self._strongs: dict[int, frozenset[str]] = {}

    def variances(self, query: str, nodes: Integers) -> Floats:
        """Return the variance of each class of cells of a query, one row a node."""
        if query not in self._variances:
            self._variances[query] = np.maximum(self.model.projection(query).variances(self._P), 0.0)
        return self._variances[query][nodes]

    def undetermined(self, query: str, nodes: Integers) -> Any:
        """Return which classes of cells no measurement determines."""
        return self.model.projection(query).undetermined([one[nodes] for one in self._nulls])

    def half_width(self, query: str, node: int, one: int, level: float) -> float:
        """Return the half-width of the interval of a class of cells at a node."""
        key = (query, node, one, level)
        if key not in self._widths:
            variance = float(self.variances(query, np.array([node]))[0, one])
            terms = self._terms(query, node, one) if variance > 0.0 else []
            self._widths[key] = half_width(variance, terms, level)
        return self._widths[key]

    def _terms(self, query: str, node: int, one: int) -> list[Term]:
        """Return the terms that may dominate: measurements of the node, of its children, of its parent."""
        shown = {at: self._strong(at) for at in self._near(node)}
        if not any(shown.values()):
            return []
        projection = self.model.projection(query)
        cell = np.zeros((1, projection.cells))
        cell[0, int(np.argmax(projection.classes == one))] = 1.0
        rows = [part[0] for part in projection.collect(cell)]
        terms = []
        for at, strong in shown.items():
            if not strong:
                continue
            # covariance of the unit at `at` with the cell, by component
            moved = []
            for solution, row in zip(self.solutions, rows, strict=True):
                own = solution.P[node] @ row
                if at == node:
                    moved.append(own[None])
                elif solution.gain is None:
                    moved.append(np.zeros_like(own)[None])
                elif at == self.shape.parent[node]:
                    moved.append((solution.P[at] @ solution.gain[node].T @ row)[None])
                else:
                    moved.append((solution.gain[at] @ own)[None])
            times = 1 if at == node or at == self.shape.parent[node] else max(1, round(self.shape.count[at]))
            for measured, law in self.told[self.shape.kind[at]].laws:
                if measured in strong:
                    weights = self.model.projections[measured].read(moved)[0] / law.true_variance()
                    largest = np.abs(weights).argsort()[::-1][: 2 * MOST_CELLS]
                    terms += [Term(float(weights[cell]), law, times) for cell in largest]
        return terms

    def _near(self, node: int) -> list[int]:
        above = int(self.shape.parent[node])
        below = [one for one in self._children.get(node, []) if self.shape.count[one] <= MOST_TERMS]
        return [node, *below, *([above] if above >= 0 else [])]

    def _strong(self, node: int) -> frozenset[str]:
        """Return the queries whose own noise hardly shrinks: only those can dominate anything.

        A weight a has a^2 <= var(estimate) var(measured cell) / s^2. So it can exceed what is smoothed out
        only if var(measured cell) / s > 0.36 s / (1 + 0.36 s).
        """
        if node not in self._strongs:
            found = []
            for query, size in self.told[self.shape.kind[node]].variances.items():
                variance = float(self.variances(query, np.array([node])).max())
                if variance / size > SMOOTH**2 * size / (1 + SMOOTH**2 * size):
                    found.append(query)
            self._strongs[node] = frozenset(found)
        return self._strongs[node]


MOST_CELLS = 4
"""Cells of one query that are looked at for weights that dominate."""
