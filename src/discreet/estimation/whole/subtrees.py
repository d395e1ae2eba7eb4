"""A tree cut into subtrees, and what was measured in one of them.

Units are in breadth-first order, so a run of neighbouring units of one depth, with everything below them, is
one slice of units a depth. What is read of a part is those slices alone: memory depends on the part, not on
the tree. Units above the roots of all parts, and the roots, are the crown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from discreet.areas.tree import Integers, Numbers, Tree
from discreet.estimation.estimates import InMemory, Measurements, NoisySource, Rows
from discreet.estimation.normal import Law


@dataclass(frozen=True)
class TreePart:
    """Neighbouring units of one depth, and all units below them: one slice of the tree's units a depth.

    >>> tree = Tree(np.array([-1, 0, 0, 1, 1, 2]), np.zeros(6, dtype=int), (0, 1, 3))
    >>> TreePart.below(tree, slice(1, 2)).units.tolist()
    [1, 3, 4]
    """

    slices: tuple[slice, ...]
    """The roots, and the units of each depth below them."""

    @classmethod
    def below(cls, tree: Tree, roots: slice) -> TreePart:
        """Return the part of a tree that begins with these units, which must be of one depth."""
        slices = [roots]
        depth = int(np.searchsorted(tree.starts, roots.start, side="right")) - 1
        for part in tree.depths[depth + 1 :]:
            first, last = np.searchsorted(tree.parent[part], [slices[-1].start, slices[-1].stop])
            if first == last:
                break
            slices.append(slice(part.start + int(first), part.start + int(last)))
        return cls(tuple(slices))

    @property
    def roots(self) -> slice:
        """The uppermost units."""
        return self.slices[0]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each depth begins among the part's own units."""
        return tuple(np.cumsum([0, *(units.stop - units.start for units in self.slices)])[:-1].tolist())

    @property
    def size(self) -> int:
        """How many units it has."""
        return sum(units.stop - units.start for units in self.slices)

    @property
    def units(self) -> Integers:
        """Its units, as the tree numbers them."""
        return np.concatenate([np.arange(units.start, units.stop) for units in self.slices])

    def within(self, units: slice) -> Iterator[tuple[slice, int]]:
        """Yield the tree's units for a slice of the part's own, and how much larger their numbers are."""
        for start, here in zip(self.starts, self.slices, strict=True):
            shift = here.start - start
            first, last = max(units.start + shift, here.start), min(units.stop + shift, here.stop)
            if first < last:
                yield slice(first, last), shift

    def tree(self, tree: Tree) -> Tree:
        """Return the part as a tree."""
        parent = [np.full(self.roots.stop - self.roots.start, -1, dtype=np.int64)]
        for start, above, here in zip(self.starts, self.slices, self.slices[1:], strict=False):
            parent.append(tree.parent[here] - above.start + start)
        kind = np.concatenate([tree.kind[units] for units in self.slices])
        names = None if tree.names is None else tree.names.take(self.units)
        return Tree(np.concatenate(parent), kind, self.starts, tree.levels, names)

    def rows(self, given: Rows) -> Rows:
        """Return those rows that are of units of the part, which are numbered as its own."""
        who, rows = given
        picked, numbers = [], []
        for start, here in zip(self.starts, self.slices, strict=True):
            first, last = np.searchsorted(who, [here.start, here.stop])
            picked.append(np.arange(first, last))
            numbers.append(who[first:last] - here.start + start)
        return np.concatenate(numbers), rows[np.concatenate(picked)]


@runtime_checkable
class Divisible(Protocol):
    """A source that can hand over a part of itself, which is all that a process needs to be sent."""

    def part(self, part: TreePart) -> NoisySource:
        """Return the source of the part's units, numbered as its own."""


@dataclass(frozen=True)
class PartSource:
    """A source read at the units of a part only."""

    source: NoisySource
    of: TreePart

    @property
    def laws(self) -> Sequence[Mapping[str, Law]]:
        """The noise of each query, by kind of unit."""
        return self.source.laws

    @property
    def cells(self) -> Mapping[str, int]:
        """The number of cells of each query."""
        return self.source.cells

    @property
    def in_order(self) -> bool:
        """Whether some units can be read without reading all of them."""
        return self.source.in_order

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield the measurements of these units."""
        for here, shift in self.of.within(units):
            for query, who, rows in self.source.read(here):
                yield query, who - shift, rows


def part_of_source(source: NoisySource, part: TreePart) -> NoisySource:
    """Return a source of the part's units alone, numbered as its own."""
    if isinstance(source, InMemory):
        noisy = {query: part.rows(rows) for query, rows in source.noisy.items()}
        return replace(source, noisy=noisy)
    return source.part(part) if isinstance(source, Divisible) else PartSource(source, part)


def part_of(given: Measurements, part: TreePart) -> Measurements:
    """Return what is known about the units of a part, numbered as its own.

    >>> tree = Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1))
    >>> noisy = {"total": (np.arange(3), np.array([[9], [4], [6]]))}
    >>> given = Measurements(tree, (InMemory([{}, {}], noisy),))
    >>> part_of(given, TreePart.below(tree, slice(2, 3))).sources[0].noisy["total"][1].tolist()
    [[6]]
    """
    return replace(
        given,
        tree=part.tree(given.tree),
        sources=tuple(part_of_source(source, part) for source in given.sources),
        exact={query: part.rows(rows) for query, rows in given.exact.items()},
    )


@dataclass(frozen=True)
class TreeCut:
    """A tree cut at one depth: the crown down to it, and the parts below, which share its last units."""

    tree: Tree
    depth: int
    parts: tuple[TreePart, ...]

    @property
    def crown(self) -> TreePart:
        """The units down to the depth of the cut."""
        return TreePart(tuple(self.tree.depths[: self.depth + 1]))


def sizes_below(tree: Tree) -> Integers:
    """Return how many units each unit's subtree has.

    >>> sizes_below(Tree(np.array([-1, 0, 0, 1, 1]), np.zeros(5, dtype=int), (0, 1, 3))).tolist()
    [5, 3, 1, 1, 1]
    """
    sizes = np.ones(tree.size, dtype=np.int64)
    for part in reversed(tree.depths[1:]):
        np.add.at(sizes, tree.parent[part], sizes[part])
    return sizes


def cut_at(tree: Tree, depth: int, most: int) -> TreeCut:
    """Cut a tree at a depth into parts of at most `most` units, or of one subtree that is larger.

    A unit of that depth without children is in the crown alone.

    >>> tree = Tree(np.array([-1, 0, 0, 0, 1, 2, 2, 3]), np.zeros(8, dtype=int), (0, 1, 4))
    >>> [part.units.tolist() for part in cut_at(tree, 1, 5).parts]
    [[1, 2, 4, 5, 6], [3, 7]]
    """
    sizes, here = sizes_below(tree), tree.depths[depth]
    parts: list[TreePart] = []
    first, many = here.start, 0
    for unit, size in enumerate(sizes[here].tolist(), here.start):
        if many and many + size > most:
            parts.append(TreePart.below(tree, slice(first, unit)))
            first, many = unit, 0
        many += size
    parts.append(TreePart.below(tree, slice(first, here.stop)))
    return TreeCut(tree, depth, tuple(part for part in parts if len(part.slices) > 1))


def cut_tree(tree: Tree, most: int) -> TreeCut:
    """Cut a tree into parts of at most `most` units, or of one family: as high as that is possible.

    >>> tree = Tree.chain([3, 4, 5]).unfolded()[0]
    >>> [(most, cut_tree(tree, most).depth, len(cut_tree(tree, most).parts)) for most in (1, 30, 1000)]
    [(1, 2, 12), (30, 1, 3), (1000, 0, 1)]
    """
    sizes, last = sizes_below(tree), max(0, len(tree.depths) - 2)
    depth = next(
        (number for number, part in enumerate(tree.depths[:last]) if int(sizes[part].max()) <= most), last
    )
    return cut_at(tree, depth, most)


def cut_evenly(tree: Tree, most: int) -> TreeCut:
    """Cut a tree so that few units above the lowest depth are ever held at once, by the crown or by a part;
    neighbouring subtrees are one part up to `most` units.

    >>> tree = Tree.chain([3, 4, 5, 6]).unfolded()[0]
    >>> (cut_evenly(tree, 1).depth, [part.size for part in cut_evenly(tree, 300).parts])
    (2, [288, 144])
    """
    upper = Tree(tree.parent[: tree.starts[-1]], tree.kind[: tree.starts[-1]], tree.starts[:-1])
    if not upper.size:
        return cut_at(tree, 0, most)
    sizes = sizes_below(upper)
    held = [max(part.stop, int(sizes[part].max())) for part in upper.depths]
    return cut_at(tree, max(np.flatnonzero(np.array(held) == min(held)).tolist()), most)
