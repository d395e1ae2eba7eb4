"""One component: a small problem that many columns share, and classes of cells as it sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.areas.tree import Floats, Integers

ByComponent = list[Floats]
"""One array for each component."""


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """One small problem: the part of each attribute, its size, and how many columns share it.

    Components are compared by identity: those of two queries without attributes may look the same.
    """

    parts: tuple[int, ...]
    """For each attribute 0 if its main part is chosen, else the number of its part of contrasts."""
    size: int
    copies: int


@dataclass(frozen=True)
class Columns:
    """Some classes of cells of a query, for each component that sees them: the index of the component, the
    distinct rows of the classes (size, column), the column of each class, and the squared lengths along the
    copies (column, class)."""

    classes: Integers
    components: list[int]
    rows: ByComponent
    of: list[Integers]
    lengths: list[Floats]

    def add(self, component: int, rows: Floats, of: Integers, length: Floats) -> None:
        """Add a component: its columns, the column of each class, and the length of each class."""
        lengths = np.zeros((rows.shape[1], len(of)))
        lengths[of, np.arange(len(of))] = length
        self.components.append(component)
        self.rows.append(rows)
        self.of.append(of)
        self.lengths.append(lengths)
