"""A family: an area and its children, what is known of them, and what their cells have to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.areas.tree import Floats, Integers
from discreet.errors import InputError

UNBOUNDED = 2**62
"""An upper limit that limits nothing; in fact any from `_ENDLESS` on does not."""
_ENDLESS = 10**15


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of sums of cells in some children: lower <= sum over the cells with label g <= upper.

    A sum is exact where both are equal. A cell with the label -1 is in no group. `groups` names the groups,
    for messages.

    >>> total = Limits("total", np.zeros(4, np.int64), np.array([2]), np.array([[7]]), np.array([[7]]))
    >>> total.lower.shape
    (1, 1)
    """

    name: str
    label: Integers
    children: Integers
    lower: Integers
    upper: Integers
    groups: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        groups = int(self.label.max(initial=-1)) + 1
        shape = (len(self.children), self.lower.shape[-1])
        if self.lower.shape != shape or self.upper.shape != shape or shape[1] < groups:
            raise InputError(
                f"limits of {self.name!r} have shapes {self.lower.shape} and {self.upper.shape}; "
                f"{len(self.children)} children and at least {groups} groups need both to be the same"
            )


@dataclass(frozen=True)
class Family:
    """Children of one area. Their cells x_c minimise the sum of x_c' J_c x_c / 2 - h_c' x_c.

    `information` has the distinct matrices J (positive semidefinite, perhaps singular), `of` says which of
    them each child has, and `pull` the h. The children's cells add up to `parent` (None if there is no area
    above), are at least 0, and keep `lower`, `upper` and the `limits`. `names` (of children) and `cell_names`
    are for messages.

    >>> h = np.array([[4.0, 1.0], [2.0, -1.0]])
    >>> pair = Family(np.eye(2)[None], np.array([0, 0]), h, np.array([5, 1]))
    >>> pair.children, pair.cells, pair.name(1)
    (2, 2, '1')
    """

    information: Floats
    of: Integers
    pull: Floats
    parent: Integers | None
    lower: Integers | None = None
    upper: Integers | None = None
    limits: Sequence[Limits] = field(default=())
    names: Sequence[str] = field(default=())
    cell_names: Sequence[str] = field(default=())

    @property
    def children(self) -> int:
        """How many children there are."""
        return len(self.of)

    @property
    def cells(self) -> int:
        """How many cells each child has."""
        return int(self.pull.shape[1])

    def name(self, child: int) -> str:
        """Return the name of a child, or its number if it has none."""
        return self.names[child] if len(self.names) else str(child)

    def cell_name(self, cell: int) -> str:
        """Return the name of a cell, or its number if it has none."""
        return repr(self.cell_names[cell]) if len(self.cell_names) else str(cell)

    def times(self, x: Floats) -> Floats:
        """Return J_c x_c for every child."""
        product = np.empty_like(x)
        for number in range(len(self.information)):
            mine = self.of == number
            product[mine] = x[mine] @ self.information[number]
        return product

    @cached_property
    def polytope(self) -> Polytope:
        """What the cells have to keep, in numbers."""
        return Polytope.of_family(self)


@dataclass(frozen=True, slots=True)
class Polytope:
    """Bounds of cells, and sums of cells with bounds in some children.

    Row r of `rows` says which cells the sum r has; `least` and `most` (children, rows) are infinite where
    the sum is free. Bounds of cells are tightened by everything that follows from one sum at a time; sums
    that the bounds of cells keep already are free.
    """

    low: Floats
    high: Floats
    rows: Floats
    least: Floats
    most: Floats
    parent: Floats | None

    @classmethod
    def of_family(cls, family: Family) -> Polytope:
        """Gather what a family has to keep."""
        shape = (family.children, family.cells)
        low = np.zeros(shape) if family.lower is None else np.maximum(family.lower, 0).astype(float)
        high = np.full(shape, np.inf) if family.upper is None else endless(family.upper)
        parts = [limits.label == np.arange(limits.lower.shape[1])[:, None] for limits in family.limits]
        rows = np.concatenate(parts).astype(float) if parts else np.zeros((0, family.cells))
        least, most = np.full((shape[0], len(rows)), -np.inf), np.full((shape[0], len(rows)), np.inf)
        start = 0
        for limits in family.limits:
            where = np.ix_(limits.children, np.arange(start, start + limits.lower.shape[1]))
            least[where] = np.maximum(least[where], limits.lower)
            most[where] = np.minimum(most[where], endless(limits.upper))
            start += limits.lower.shape[1]
        parent = None if family.parent is None else family.parent.astype(float)
        rows, same = np.unique(rows, axis=0, return_inverse=True)
        least, most = (
            _merged(least, same.ravel(), len(rows), np.maximum),
            _merged(most, same.ravel(), len(rows), np.minimum),
        )
        for row in np.flatnonzero(rows.sum(axis=1) == 1.0).tolist():  # a sum of one cell is a bound of it
            cell = int(rows[row].argmax())
            low[:, cell] = np.maximum(low[:, cell], least[:, row])
            high[:, cell] = np.minimum(high[:, cell], most[:, row])
        several = rows.sum(axis=1) != 1.0
        rows, least, most = rows[several], least[:, several], most[:, several]
        limited = (least > -np.inf) | (most < np.inf)
        inside = _nested(rows)
        for _ in range(3):
            low, high = _tightened(low, high, rows, least, most, parent)
            least, most = _tightened_sums(low, high, rows, inside, least, most, parent)
        # a sum without limits has some only if they follow from others; they help if they leave one number
        told = limited | (least == most)
        least = np.where(told & (low @ rows.T < least), least, -np.inf)
        most = np.where(told & (_finite_sum(high, rows) > most), most, np.inf)
        used = np.flatnonzero(((least > -np.inf) | (most < np.inf)).any(axis=0))
        return cls(low, high, rows[used], least[:, used], most[:, used], parent)

    @property
    def empty(self) -> bool:
        """Whether bounds alone show that there is no solution; False does not show that there is one."""
        if np.any(self.low > self.high) or np.any(self.least > self.most):
            return True
        if self.parent is not None and (
            np.any(self.low.sum(axis=0) > self.parent) or np.any(self.high.sum(axis=0) < self.parent)
        ):
            return True
        sums = self.low @ self.rows.T > self.most, _finite_sum(self.high, self.rows) < self.least
        return bool(sums[0].any() or sums[1].any())

    def excess(self, x: Floats) -> float:
        """Return by how much x misses a sum, at most; of sums above a million, by how much a million."""
        missed = 0.0
        if self.parent is not None:
            miss = np.abs(x.sum(axis=0) - self.parent) / np.maximum(self.parent / 1e6, 1.0)
            missed = float(miss.max(initial=0.0))
        if self.rows.size:
            sums = x @ self.rows.T
            miss = np.maximum(np.maximum(self.least - sums, sums - self.most), 0.0)
            missed = max(missed, float((miss / np.maximum(sums / 1e6, 1.0)).max(initial=0.0)))
        return missed


def endless(upper: Integers) -> Floats:
    """Return upper limits as floats, infinite where they limit nothing."""
    ends: Floats = np.where(upper >= _ENDLESS, np.inf, upper.astype(float))
    return ends


def _merged(bounds: Floats, same: Integers, many: int, stricter: np.ufunc) -> Floats:
    """Take the stricter of the bounds of equal sums."""
    merged = np.full((len(bounds), many), -np.inf if stricter is np.maximum else np.inf)
    stricter.at(merged.T, same, bounds.T)
    return merged


def _finite_sum(high: Floats, rows: Floats) -> Floats:
    """Sum upper bounds over the cells of each row; infinite if one is."""
    open_ended = np.isinf(high)
    sums = np.where(open_ended, 0.0, high) @ rows.T
    finite_sum: Floats = np.where(open_ended.astype(float) @ rows.T > 0, np.inf, sums)
    return finite_sum


def _nested(rows: Floats) -> list[tuple[Integers, Floats]]:
    """Return for each sum the largest disjoint sums within it, and which of its cells are in none of them."""
    size = rows.sum(axis=1)
    shared = rows @ rows.T
    nested = []
    for row in range(len(rows)):
        within = np.flatnonzero((shared[row] == size) & (size < size[row]) & (size > 0))
        parts: list[int] = []
        for other in within[np.argsort(-size[within], kind="stable")].tolist():
            if not shared[other, parts].any():
                parts.append(other)
        nested.append((np.array(parts, dtype=np.int64), rows[row] - rows[parts].sum(axis=0)))
    return nested


def _tightened_sums(
    low: Floats,
    high: Floats,
    rows: Floats,
    inside: list[tuple[Integers, Floats]],
    least: Floats,
    most: Floats,
    parent: Floats | None,
) -> tuple[Floats, Floats]:
    """Tighten bounds of sums by those of their cells, of sums within them, and of the same sum elsewhere."""
    least, most = np.maximum(least, low @ rows.T), np.minimum(most, _finite_sum(high, rows))
    for row, (parts, left) in enumerate(inside):
        if not parts.size:
            continue
        rest_low, rest_high = low @ left, _finite_sum(high, left[None])[:, 0]
        least[:, row] = np.maximum(least[:, row], least[:, parts].sum(axis=1) + rest_low)
        most[:, row] = np.minimum(most[:, row], most[:, parts].sum(axis=1) + rest_high)
        room = most[:, row] - least[:, parts].sum(axis=1) - rest_low
        most[:, parts] = np.minimum(most[:, parts], least[:, parts] + room[:, None])
        lack = least[:, row] - most[:, parts].sum(axis=1) - rest_high
        with np.errstate(invalid="ignore"):  # infinite bounds on both sides tell nothing
            tighter = most[:, parts] + lack[:, None]
        least[:, parts] = np.fmax(least[:, parts], tighter)
    if parent is not None and len(rows):
        total = rows @ parent
        most = np.minimum(most, total - least.sum(axis=0) + least)
        least = np.maximum(least, total - most.sum(axis=0) + most)
    return least, most


def _tightened(
    low: Floats, high: Floats, rows: Floats, least: Floats, most: Floats, parent: Floats | None
) -> tuple[Floats, Floats]:
    """Tighten bounds of cells by each sum and the bounds of its other cells."""
    if parent is not None:
        high = np.minimum(high, parent - low.sum(axis=0) + low)
        low = np.maximum(low, parent - high.sum(axis=0) + high)
    for row in range(len(rows)):
        mine = np.flatnonzero(rows[row])
        if not mine.size:
            continue
        some = np.flatnonzero((least[:, row] > -np.inf) | (most[:, row] < np.inf))
        at = np.ix_(some, mine)
        room = most[some, row] - low[at].sum(axis=1)
        high[at] = np.minimum(high[at], low[at] + room[:, None])
        if np.isfinite(high[at]).all():
            lack = least[some, row] - high[at].sum(axis=1)
            low[at] = np.maximum(low[at], high[at] + lack[:, None])
    return low, high
