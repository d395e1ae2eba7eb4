"""The weights of noises in estimates: which measurement enters an estimate, and by how much.

An estimate at a unit is a weighted sum of the own beliefs of all units. The weights follow from running the
passes up and down the tree backwards (`sum_weights`): from the unit up to the top, and from there into every
other branch. Units that are equal as seen from the unit share a node, and are listed once with their number.
A branch is left out if no noise in it can have more than a negligible weight: if the sum of what lies below a
unit contributes the variance r to an estimate, a noise of variance s there has a weight of at most
sqrt(r / s).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from discreet.areas.tree import Floats, Integers, Tree
from discreet.estimation.component import ByComponent
from discreet.estimation.error_laws import traits
from discreet.estimation.model import KnownOfUnits, size_of
from discreet.estimation.normal import Normal
from discreet.estimation.solution import Solution


@dataclass(frozen=True, slots=True)
class Reached:
    """Units that estimates depend on, with an entry for each estimate and node: the index of the estimate,
    the node, its number of units, and by component the weights of their data h (entry, size, column).
    """

    place: Integers
    node: Integers
    times: Floats
    weights: ByComponent

    def some(self, which: Integers) -> Reached:
        """Return some of the entries."""
        weights = [array[which] for array in self.weights]
        return Reached(self.place[which], self.node[which], self.times[which], weights)

    @classmethod
    def together(cls, parts: Sequence[Reached]) -> Reached:
        """Join the entries of several."""
        position, node, times = (
            np.concatenate(arrays)
            for arrays in zip(*((p.place, p.node, p.times) for p in parts), strict=True)
        )
        weights = [np.concatenate(arrays) for arrays in zip(*(p.weights for p in parts), strict=True)]
        return cls(position, node, times, weights)

    def portions(self, cells: int) -> Iterator[Reached]:
        """Yield portions that fit in memory if each entry needs `cells` numbers."""
        step = max(1, AT_ONCE // 8 // max(1, cells))
        if step >= len(self.place):
            yield self
            return
        for start in range(0, len(self.place), step):
            some = slice(start, start + step)
            weights = [array[some] for array in self.weights]
            yield Reached(self.place[some], self.node[some], self.times[some], weights)


AT_ONCE = 1 << 21
"""Weights held in memory at once."""


class Branches:
    """A folded tree, as seen from any of its nodes."""

    def __init__(self, shape: Tree, told: Sequence[KnownOfUnits], solutions: Sequence[Solution]) -> None:
        self._shape, self._solutions = shape, list(solutions)
        first = np.full(shape.size, 0)
        below = np.flatnonzero(shape.parent >= 0)
        parents, begin, many = np.unique(shape.parent[below], return_index=True, return_counts=True)
        first[parents] = below[begin]
        self._first, self._many = first, np.zeros(shape.size, dtype=np.int64)
        self._many[parents] = many
        least = np.array([least_noise(kind) for kind in told])[shape.kind]
        self._below = np.full(shape.size, np.inf)
        for part in reversed(shape.depths[1:]):
            np.minimum.at(self._below, shape.parent[part], least[part])
            np.minimum.at(least, shape.parent[part], least[part])
        self._least = least
        self._sums = []
        for solution in solutions:
            total = np.zeros_like(solution.V)
            np.add.at(total, shape.parent[below], solution.V[below] * shape.count[below, None, None])
            self._sums.append(total)

    def among(self, components: Sequence[int]) -> Branches:
        """Return the same tree, restricted to some of the components."""
        chosen = copy(self)
        chosen._solutions = [self._solutions[component] for component in components]
        chosen._sums = [self._sums[component] for component in components]
        return chosen

    def by_kind(
        self, nodes: Integers, rows: ByComponent, lengths: Sequence[Floats], enough: Floats
    ) -> Iterator[tuple[int, Reached]]:
        """Yield each kind with the units of this kind that estimates at nodes depend on; see `reached`."""
        for reached in self.reached(nodes, rows, lengths, enough):
            kinds = self._shape.kind[reached.node]
            for kind in np.unique(kinds).tolist():
                yield kind, reached.some(np.flatnonzero(kinds == kind))

    def reached(
        self, nodes: Integers, rows: ByComponent, lengths: Sequence[Floats], enough: Floats
    ) -> Iterator[Reached]:
        """Yield the units that estimates at nodes depend on.

        `rows` are the estimates by component (size, column). Their variances are sums of quadratic forms of
        the columns, weighted by `lengths` (column, estimate); a branch matters if a weight in it may exceed
        the square root of `enough` (node, estimate).
        """
        held: list[Reached] = []
        wide = sum(row.size for row in rows)
        many, step = 0, max(1, AT_ONCE // (16 * wide))
        depth = np.searchsorted(self._shape.starts, nodes, side="right")
        for level in np.unique(depth).tolist():
            places = np.flatnonzero(depth == level)
            for some in (places[start : start + step] for start in range(0, len(places), step)):
                for got in self._reached(nodes[some], rows, lengths, enough[some]):
                    held.append(replace(got, place=some[got.place]))
                    many += len(got.node) * wide
                if many > AT_ONCE:
                    yield Reached.together(held)
                    held, many = [], 0
        if held:
            yield Reached.together(held)

    def _reached(
        self, nodes: Integers, rows: ByComponent, lengths: Sequence[Floats], enough: Floats
    ) -> Iterator[Reached]:
        """Yield the units that estimates at nodes of one depth depend on, from the top down."""
        path = [nodes]
        while self._shape.parent[path[0][0]] >= 0:
            path.insert(0, self._shape.parent[path[0]])
        along = [_along(solution, path, row) for solution, row in zip(self._solutions, rows, strict=True)]
        start = np.arange(len(nodes))
        position, node, times, sums = start[:0], start[:0], np.zeros(0), [chain[1][0][:0] for chain in along]
        for depth, here in enumerate(path):
            own = [chain[0][depth] for chain in along]
            yield Reached(start, here, np.ones(len(here)), self._back(here, own))
            # from the unit's own line of ancestors, and from the branches
            position, node = np.concatenate([start, position]), np.concatenate([here, node])
            times = np.concatenate([np.ones(len(here)), times])
            sums = [np.concatenate([chain[1][depth], rest]) for chain, rest in zip(along, sums, strict=True)]
            line = np.full(len(position), -1)
            if depth + 1 < len(path):
                line[: len(here)] = path[depth + 1]
            position, node, times, sums = self._children(position, node, times, sums, line, lengths, enough)
            yield from self._told(position, node, times, sums)
            sums = self._down(node, sums)
        while position.size:
            line = np.full(len(position), -1)
            position, node, times, sums = self._children(position, node, times, sums, line, lengths, enough)
            yield from self._told(position, node, times, sums)
            sums = self._down(node, sums)

    def _children(
        self,
        position: Integers,
        node: Integers,
        times: Floats,
        sums: ByComponent,
        line: Integers,
        lengths: Sequence[Floats],
        enough: Floats,
    ) -> tuple[Integers, Integers, Floats, ByComponent]:
        """Return the children that may matter, except those in `line`, which contain the unit itself."""
        forms = self._forms(sums, [total[node] for total in self._sums], lengths)
        some = np.flatnonzero(np.any(forms > enough[position] * self._below[node, None], axis=1))
        many = self._many[node[some]]
        over = np.repeat(some, many)
        child = np.repeat(self._first[node[some]] - np.cumsum(many) + many, many) + np.arange(len(over))
        often = self._shape.count[child] - (child == line[over])
        keep = np.flatnonzero(often > 1e-9)
        over, child, often = over[keep], child[keep], often[keep]
        position, times, sums = position[over], times[over] * often, [array[over] for array in sums]
        forms = self._forms(sums, [solution.V[child] for solution in self._solutions], lengths)
        keep = np.flatnonzero(np.any(forms > enough[position] * self._least[child, None], axis=1))
        return position[keep], child[keep], times[keep], [array[keep] for array in sums]

    @staticmethod
    def _forms(sums: ByComponent, covariances: ByComponent, lengths: Sequence[Floats]) -> Floats:
        total = np.zeros((len(sums[0]), lengths[0].shape[1]))
        for columns, V, length in zip(sums, covariances, lengths, strict=True):
            total += np.sum(columns * (V @ columns), axis=1) @ length
        return total

    def _told(
        self, position: Integers, node: Integers, times: Floats, sums: ByComponent
    ) -> Iterator[Reached]:
        if position.size:
            own = [
                _turned(solution.up_own[node]) @ z for solution, z in zip(self._solutions, sums, strict=True)
            ]
            yield Reached(position, node, times, self._back(node, own))

    def _down(self, node: Integers, sums: ByComponent) -> ByComponent:
        return [_turned(solution.up_sum[node]) @ z for solution, z in zip(self._solutions, sums, strict=True)]

    def _back(self, node: Integers, own: ByComponent) -> ByComponent:
        kind = self._shape.kind[node]
        return [
            _turned(solution.beliefs.h[kind]) @ A for solution, A in zip(self._solutions, own, strict=True)
        ]


def least_noise(told: KnownOfUnits) -> float:
    """Return the smallest noise variance. Laplace noise counts as 30 at most: then a bound on its share in a
    variance makes its peak negligible, too."""
    sizes = (
        size_of(law) if isinstance(law, Normal) else min(size_of(law), 30.0 if traits(law).scale else np.inf)
        for _, law in told.laws
    )
    return min(sizes, default=np.inf)


def _along(solution: Solution, path: Sequence[Integers], row: Floats) -> tuple[list[Floats], list[Floats]]:
    """Return the weights of own beliefs along the line of units, from the top down, and the weights of the
    sums of their children."""
    many, shape = len(path), (len(path[-1]), *row.shape)
    z, own, S = ([np.zeros(shape) for _ in path] for _ in range(3))
    x, around = np.broadcast_to(row, shape), np.zeros(shape)
    for depth in range(many - 1, 0, -1):
        at = path[depth]
        if solution.gain is not None:
            z[depth] += x
            back = x = _turned(solution.gain[at]) @ x
        else:
            outer = {name: _turned(matrices[at]) for name, matrices in solution.outer.items()}
            back = outer["out"] @ (outer["x_out"] @ x + outer["around_out"] @ around)
            own[depth] += outer["around_own"] @ around
            z[depth] += outer["x_up"] @ x + back
            x, around = np.zeros(shape), back
        S[depth - 1] -= back
    z[0] += x
    own[0] += around
    for depth, at in enumerate(path):
        if depth:
            z[depth] += S[depth - 1]
        own[depth] += _turned(solution.up_own[at]) @ z[depth]
        S[depth] += _turned(solution.up_sum[at]) @ z[depth]
    return own, S


def _turned(matrices: Floats) -> Floats:
    return np.swapaxes(matrices, 1, 2)
