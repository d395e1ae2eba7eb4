"""The basis of one attribute: orbits of groups that every recode treats alike, and contrasts within them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from discreet.areas.tree import Floats
from discreet.budget.attributes import Groups

MOST_VALUES = 5000
"""The most values of one attribute: its basis is a square matrix."""


def _refinement(size: int, splits: Sequence[Groups]) -> Groups:
    """Return the coarsest partition of the values that refines every split."""
    label = np.zeros(size, dtype=np.int64)
    for groups in splits:
        own = np.full(size, -1, dtype=np.int64)
        for position, group in enumerate(groups):
            own[list(group)] = position
        label = np.unique(label * (size + 2) + own, return_inverse=True)[1].ravel()
    return tuple(tuple(np.flatnonzero(label == number).tolist()) for number in range(int(label.max()) + 1))


class Basis:
    """An orthonormal basis of the functions of an attribute's values: the main part, then contrasts.

    >>> Basis(6, [((0, 1, 2), (3, 4, 5)), ((0,), (1,), (2,), (3, 4, 5))]).parts
    (slice(0, 2, None), slice(2, 4, None), slice(4, 6, None))
    """

    def __init__(self, size: int, splits: Sequence[Groups]) -> None:
        groups = _refinement(size, splits)
        self.groups = groups
        """The groups of values that no split tells apart."""
        orbits: dict[tuple[int, tuple[str | int | None, ...]], list[tuple[int, ...]]] = {}
        for group in groups:
            treated = tuple(_treatment(group, split) for split in splits)
            orbits.setdefault((len(group), treated), []).append(group)
        # contrasts grouped by the numbers as which the splits act on them; within a group all are 0
        contrasts: dict[tuple[int, ...], list[Floats]] = {}
        for (many, treated), members in orbits.items():
            numbers = tuple(many if how == _ALONE else 0 for how in treated)
            contrasts.setdefault(numbers, []).extend(_contrasts(size, members))
        for group in groups:
            within = contrasts.setdefault((0,) * len(splits), [])
            within.extend(_contrasts(size, [(value,) for value in group]))
        main = np.zeros((len(orbits), size))
        for row, members in zip(main, orbits.values(), strict=True):
            values = [value for group in members for value in group]
            row[values] = len(values) ** -0.5
        parts = [main, *(np.array(rows) for rows in contrasts.values() if rows)]
        edges = np.cumsum([0, *(len(rows) for rows in parts)]).tolist()
        self.vectors: Floats = np.vstack(parts)
        self.parts = tuple(slice(a, b) for a, b in pairwise(edges))

    @classmethod
    def apart(cls, size: int) -> Basis:
        """Return the basis of values of which no query joins any two: each is a part.

        >>> len(Basis.apart(3).parts)
        3
        """
        basis = cls(1, [])
        basis.vectors = np.eye(size)
        basis.parts = tuple(slice(number, number + 1) for number in range(size))
        return basis

    def width(self, part: int) -> int:
        """The number of vectors in a part."""
        return len(self.vectors[self.parts[part]])


_ALONE = "alone"
"""Marks a group of the refinement that is also a group of the split."""


def _treatment(group: tuple[int, ...], split: Groups) -> str | int | None:
    """Return ALONE if a group is also a group of the split, else the index of the group it is in, or None."""
    for number, members in enumerate(split):
        if group[0] in members:
            return _ALONE if len(members) == len(group) else number
    return None


def _contrasts(size: int, members: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Return Helmert contrasts between groups of one size; each vector is constant within a group."""
    rows = []
    for k in range(1, len(members)):
        row = np.zeros(size)
        norm = (k * (k + 1) * len(members[0])) ** -0.5
        for group in members[:k]:
            row[list(group)] = norm
        row[list(members[k])] = -k * norm
        rows.append(row)
    return rows
