"""The tree of units: parents, kinds, depths, and siblings that look the same folded into one node."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Release
from discreet.budget.spine import CHILDREN_2020
from discreet.errors import InputError
from discreet.files import ArrowArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Numbers = Integers | Floats


@dataclass(frozen=True)
class Tree:
    """Units from the top down, children of one parent together: their parents (-1 for none) and kinds.

    The kind of a unit is an index into `levels` (or runs of merged levels), unless units of one level are
    told apart. In a folded tree a node stands for `count` equal units under each parent.
    """

    parent: Integers
    kind: Integers
    starts: tuple[int, ...]
    """The first unit of each depth."""
    levels: tuple[str, ...] = ()
    names: ArrowArray = None
    """The names of the units, a PyArrow array."""
    count: Floats = field(default_factory=lambda: np.ones(0))

    @property
    def size(self) -> int:
        """The number of units, or of nodes."""
        return len(self.parent)

    @cached_property
    def depths(self) -> list[slice]:
        """The units of each depth, from the top down."""
        return [slice(a, b) for a, b in pairwise((*self.starts, self.size))]

    @cached_property
    def leaf(self) -> NDArray[np.bool_]:
        """Whether a unit has no children."""
        childless = np.ones(self.size + 1, dtype=bool)
        childless[self.parent] = False
        return childless[:-1]

    @cached_property
    def totals(self) -> Floats:
        """How many units each node stands for."""
        totals = self.count.copy()
        for part in self.depths[1:]:
            totals[part] *= totals[self.parent[part]]
        return totals

    @property
    def digest(self) -> str:
        """The SHA-256 of the tree: all names, levels and parents, in canonical order."""
        digest = hashlib.sha256("\n".join(self.levels).encode())
        digest.update(self.kind.astype("<i4").tobytes() + self.parent.astype("<i4").tobytes())
        digest.update("\n".join(self.names.to_pylist()).encode())
        return digest.hexdigest()

    def first(self, units: int) -> Tree:
        """Return the tree of the first `units` units, which must be whole depths."""
        starts = tuple(start for start in self.starts if start < units)
        names = self.names.slice(0, units)
        return Tree(self.parent[:units], self.kind[:units], starts, self.levels, names)

    def merged(self, units: Integers, weights: Floats) -> tuple[Integers, Floats]:
        """Return units and weights of the same sum, with each complete family of one weight replaced by its
        parent; units without weight are left out.

        >>> tree = Tree(np.array([-1, 0, 0, 1, 1]), np.zeros(5, dtype=int), (0, 1, 3))
        >>> tree.merged(np.array([3, 4]), np.array([0.5, 0.5]))
        (array([1]), array([0.5]))
        """
        weight = np.zeros(self.size)
        weight[units] = weights
        for part in reversed(self.depths[1:]):
            begin = np.flatnonzero(np.diff(self.parent[part], prepend=-1))
            least, most = (of.reduceat(weight[part], begin) for of in (np.minimum, np.maximum))
            whole = (least == most) & (most != 0)
            above = self.parent[part][begin][whole]
            weight[above] += most[whole]
            weight[part] *= ~np.isin(self.parent[part], above)
        nodes = np.flatnonzero(weight)
        return nodes, weight[nodes]

    @classmethod
    def chain(cls, children: Sequence[float]) -> Tree:
        """Return a uniform tree: one top unit, and `children[i]` children for every unit of level i."""
        many = len(children) + 1
        count = np.array([1.0, *children])
        return cls(np.arange(-1, many - 1), np.arange(many), tuple(range(many)), count=count)

    def folded(self, most: int | None = None) -> tuple[Tree, Integers]:
        """Fold the siblings that look the same; also return the node of each unit. With `most`, siblings that
        look the same count as so many at most, so that fewer units differ.

        >>> shape, node = Tree(np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 2]), (0, 1)).folded()
        >>> shape.count.tolist(), node.tolist()
        ([1.0, 2.0, 1.0], [0, 1, 1, 2])
        >>> tree = Tree(np.array([-1, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 1, 2, 2, 2, 2, 2]), (0, 1, 3))
        >>> tree.folded()[0].size, tree.folded(2)[0].size
        (5, 3)
        """
        parent, kind, depths = self.parent, self.kind, self.depths
        cap = self.size if most is None else most
        # lowest units are equal if their kinds are; others if what lies below them is equal, too
        look = kind.copy()
        codes = self.size + int(kind.max(initial=0)) + 1
        known: dict[bytes, int] = {}
        below: dict[int, bytes] = {}
        for part in reversed(depths):
            for unit in (np.flatnonzero(~self.leaf[part]) + part.start).tolist():
                key = kind[unit].tobytes() + below[unit]
                look[unit] = known.setdefault(key, codes - 1 - len(known))
            if part.start:
                pairs, many = np.unique(parent[part] * codes + look[part], return_counts=True)
                above, seen = np.divmod(pairs, codes)
                edges = np.flatnonzero(np.diff(above, prepend=-1))
                ends = [*edges[1:].tolist(), len(pairs)]
                for unit, a, b in zip(above[edges].tolist(), edges.tolist(), ends, strict=True):
                    below[unit] = seen[a:b].tobytes() + np.minimum(many[a:b], cap).tobytes()
        node = np.zeros(self.size, dtype=np.int64)
        nodes: list[tuple[Integers, Integers, Floats]] = []
        first, firsts = 0, []
        for part in depths:
            # units without a parent are not siblings
            over = node[parent[part]] if part.start else np.arange(part.stop)
            pairs, at, of, many = np.unique(
                over * codes + look[part], return_index=True, return_inverse=True, return_counts=True
            )
            node[part] = first + of.ravel()
            # a node stands for the children of one unit of its parent's node
            if part.start:
                upper = pairs // codes
                copies = np.bincount(node[: part.start], minlength=first)[upper]
                nodes.append((upper, kind[part][at], np.minimum(many / copies, cap)))
            else:
                nodes.append((np.full(len(pairs), -1), kind[part][at], np.ones(len(pairs))))
            firsts.append(first)
            first += len(pairs)
        parents, kinds, counts = (np.concatenate(column) for column in zip(*nodes, strict=True))
        return Tree(parents, kinds, tuple(firsts), self.levels, count=counts), node

    def unfolded(self) -> tuple[Tree, Integers]:
        """Return the units of a folded tree whose counts are whole, and the node of each.

        >>> shape, _ = Tree(np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 2]), (0, 1)).folded()
        >>> tree, node = shape.unfolded()
        >>> tree.parent.tolist(), node.tolist()
        ([-1, 0, 0, 0], [0, 1, 1, 2])
        """
        below: dict[int, list[int]] = {}
        for child, above in enumerate(self.parent.tolist()):
            below.setdefault(above, []).extend([child] * round(float(self.count[child])))
        node, parent, starts = below[-1], [-1] * len(below[-1]), [0]
        while any(top in below for top in node[starts[-1] :]):
            families = [(unit, below.get(node[unit], [])) for unit in range(starts[-1], len(node))]
            starts.append(len(node))
            for unit, family in families:
                node += family
                parent += [unit] * len(family)
        places = np.array(node)
        return Tree(np.array(parent), self.kind[places], tuple(starts), self.levels), places

    def shared_depth(self, unit: int) -> Integers:
        """Return for each unit the depth of the lowest unit that contains it and `unit`; -1 if none does.

        >>> Tree(np.array([-1, 0, 0, 1]), np.zeros(4, dtype=int), (0, 1, 3)).shared_depth(3).tolist()
        [0, 1, 0, 2]
        """
        shared = np.full(self.size + 1, -1, dtype=np.int64)
        while unit >= 0:
            shared[unit] = np.searchsorted(self.starts, unit, side="right") - 1
            unit = int(self.parent[unit])
        for part in self.depths:
            shared[part] = np.maximum(shared[part], shared[self.parent[part]])
        return shared[:-1]


def uniform_tree(release: Release, children: Sequence[float] | None) -> tuple[float, ...]:
    """Return the average number of children of a unit, for each level below the top.

    Without numbers, those of the United States in 2020 are used if the levels have their names.

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
                "the tree of areas is not known: give the average number of children of an area, from "
                f"{names[0]} down ({len(names) - 1} number{'s' * (len(names) > 2)}), or a table of areas "
                "(--tree)"
            )
        return tuple(CHILDREN_2020.values())
    averages = tuple(float(number) for number in children)
    if len(averages) != len(names) - 1:
        raise InputError(
            f"the tree has {len(averages)} numbers; the levels {', '.join(names)} need {len(names) - 1}, "
            "one for each step down"
        )
    for average in averages:
        if not 1.0 <= average <= 1e9:
            raise InputError(f"an area has {average:g} children; it must be a number from 1 to a billion")
    return averages
