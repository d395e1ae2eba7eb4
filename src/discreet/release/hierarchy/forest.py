"""The part of the tree that one query can be estimated on.

A unit is *covered* if the query is asked there, or if all its children are covered, so that it is their
sum. Where some child is not covered, the tie between a unit and its children says nothing (that child's
count is free), so it is cut and the parts are estimated by themselves. A tree becomes a forest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.hierarchy.tree import Integers, Tree


@dataclass(frozen=True)
class Group:
    """The nodes of one depth that have a parent: children of one parent stand together."""

    nodes: Integers
    begin: Integers
    parents: Integers

    @cached_property
    def sizes(self) -> Integers:
        """How many children each parent has."""
        return np.diff(np.append(self.begin, len(self.nodes)))

    @cached_property
    def of(self) -> Integers:
        """The number of the family of each node."""
        return np.repeat(np.arange(len(self.begin)), self.sizes)

    def sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up the children's rows of `values`, family by family."""
        return np.add.reduceat(values, self.begin, axis=0)


@dataclass(frozen=True)
class Forest:
    """Nodes in canonical order: `units` are their units, `parent` is a node or -1."""

    units: Integers
    parent: Integers
    groups: tuple[Group, ...]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.units)

    @cached_property
    def roots(self) -> Integers:
        """The nodes without a parent."""
        return np.flatnonzero(self.parent < 0)

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """Which nodes have children."""
        mask = np.zeros(self.size, dtype=bool)
        mask[self.parent[self.parent >= 0]] = True
        return mask


def grow(tree: Tree, asked: NDArray[np.bool_]) -> Forest:
    """Return the forest of a query, of which `asked` says for each unit whether it is asked there."""
    covered, tied = asked.copy(), np.zeros(tree.size, dtype=bool)
    slices = tree.slices()
    for part in reversed(slices[1:]):
        children = np.bincount(tree.parent[part], minlength=tree.size)
        good = np.bincount(tree.parent[part], weights=covered[part], minlength=tree.size)
        whole = (children > 0) & (good == children)
        covered |= whole
        tied |= whole
    units = np.flatnonzero(covered)
    node = np.full(tree.size + 1, -1, dtype=np.int64)
    node[units] = np.arange(units.size)
    above = tree.parent[units].astype(np.int64)
    linked = (above >= 0) & tied[np.maximum(above, 0)]
    parent = np.where(linked, node[above], -1)
    depth = np.searchsorted(np.array(tree.starts), units, side="right") - 1
    groups = []
    for level in range(1, len(slices)):
        nodes = np.flatnonzero((depth == level) & (parent >= 0))
        if nodes.size:
            begin = np.flatnonzero(np.diff(parent[nodes], prepend=-1))
            groups.append(Group(nodes, begin, parent[nodes[begin]]))
    return Forest(units, parent, tuple(groups))
