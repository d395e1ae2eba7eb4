"""Least and largest counts that are published beside measurements, and the intervals that they cut.

The truth lies within its bounds, so an interval that is cut to them covers as often as before. A cell is
bounded by the cells of other tables, too: no count is negative, so it is at most the sum of the largest
counts of cells that overlap and together contain it, and at least the sum of the least counts of cells
within it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers
from discreet.budget import Tabulation
from discreet.estimation.whole.subtrees import TreePart
from discreet.tables import Numbers


@dataclass(frozen=True)
class Bounds:
    """The least and largest counts of the cells of a table in some units; 0 and infinity if unbounded."""

    table: Tabulation
    units: Integers
    lower: Floats
    upper: Floats
    _shares: dict[Tabulation, tuple[Floats, Floats, NDArray[np.bool_]]] = field(default_factory=dict)

    def placed(self, position: Integers) -> Bounds:
        """Return the same for units with these places in a larger tree."""
        return Bounds(self.table, position[self.units], self.lower, self.upper)

    def part(self, part: TreePart) -> Bounds:
        """Return the same for the units of a part of the tree, numbered as its own."""
        units, rows = part.rows((self.units, np.arange(len(self.units))))
        return Bounds(self.table, units, self.lower[rows], self.upper[rows])

    def within(self, units: Integers) -> Bounds:
        """Return the same for some of the units, in order, each at its place among them."""
        at = np.minimum(np.searchsorted(units, self.units), max(len(units) - 1, 0))
        has = np.flatnonzero(units[at] == self.units) if len(units) else np.zeros(0, dtype=np.int64)
        return Bounds(self.table, at[has], self.lower[has], self.upper[has])

    def of(self, wanted: Tabulation, units: Integers) -> tuple[Floats, Floats]:
        """Return the bounds of the cells of another table, in the order of the attributes."""
        lower, upper = np.zeros((len(units), wanted.cells)), np.full((len(units), wanted.cells), np.inf)
        at = np.minimum(np.searchsorted(self.units, units), max(len(self.units) - 1, 0))
        has = np.flatnonzero(self.units[at] == units) if len(self.units) else np.zeros(0, dtype=np.int64)
        if has.size and wanted.variable == self.table.variable:
            meets, within, covered = self._overlaps(wanted)
            rows = at[has]
            lower[has] = self.lower[rows] @ within.T
            finite = np.isfinite(self.upper[rows])
            sums = np.where(finite, self.upper[rows], 0.0) @ meets.T
            known = covered & (((~finite).astype(np.float64) @ meets.T) == 0)
            upper[has] = np.where(known, sums, np.inf)
        return lower, upper

    def _overlaps(self, wanted: Tabulation) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return which cells here overlap each wanted cell, which lie within it, and whether the former
        contain it."""
        if wanted not in self._shares:
            meets: Floats = np.ones((1, 1))
            within: Floats = np.ones((1, 1))
            covered = np.ones(1, dtype=bool)
            pairs = zip(wanted.by_attribute, self.table.by_attribute, strict=True)
            for its, mine in pairs:
                every = {value for group in mine for value in group}
                shared = np.array([[len(set(a) & set(b)) for b in mine] for a in its])
                inside = shared == np.array([[len(b) for b in mine]])
                meets = np.kron(meets, (shared > 0).astype(np.float64)).astype(np.float64)
                within = np.kron(within, inside.astype(np.float64)).astype(np.float64)
                covered = np.kron(covered, [set(a) <= every for a in its])
            self._shares[wanted] = meets, within, covered
        return self._shares[wanted]


def joint_bounds(some: Sequence[Bounds], wanted: Tabulation, units: Integers) -> tuple[Floats, Floats]:
    """Return the tightest bounds of the cells of a table."""
    ends = [bounds.of(wanted, units) for bounds in some]
    lower = np.max([low for low, _ in ends], axis=0)
    return lower, np.min([high for _, high in ends], axis=0)


def cut_ends(table: dict[str, Numbers], endings: Sequence[str], lower: Floats, upper: Floats) -> Numbers:
    """Cut intervals to bounds, in place; return which cells had any of them cut. An interval that lies
    outside becomes the bound that is nearest."""
    cut = np.zeros(lower.shape, dtype=np.int64)
    for name in endings:
        low, high = table[f"lower{name}"], table[f"upper{name}"]
        new_low, new_high = np.clip(low, lower, upper), np.clip(high, lower, upper)
        cut |= ((new_low != low) | (new_high != high)) & ~np.isnan(low)
        table[f"lower{name}"], table[f"upper{name}"] = new_low, new_high
    return cut
