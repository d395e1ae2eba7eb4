"""Whole, non-negative numbers for print, consistent over queries and levels.

Totals are settled first, from the top of the tree down; then each group of records is split along one nested
chain of queries (total, then one attribute after the other, up to the detailed cells). Every step is the same
small problem: children of a unit in rows, parts of a group in columns, with whole row and column sums that
are already settled. The non-negative numbers nearest to the estimates with these sums are found by
alternating projections (Dykstra), then rounded to neighbouring whole numbers with the same sums: a flow
problem, so a whole solution always exists, and linear programming finds the nearest one. Every other table is
a sum of the detailed cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.estimation.components import Floats
from discreet.estimation.tree import Integers

STEPS = 300
CLOSE = 1e-9


def whole_tables(
    cells: Floats,
    shape: tuple[int, ...],
    parent: Integers,
    fixed: Integers | None = None,
    possible: NDArray[np.bool_] | None = None,
) -> Integers:
    """Return whole detailed cells, one row a unit, from estimates of them.

    `shape` has the number of values of each attribute, `fixed` for each unit a total to hold, or -1;
    cells that are not `possible` are zero.

    >>> cells = np.array([[4.6, -0.3], [1.7, 0.4], [2.9, -0.7]])
    >>> whole_tables(cells, (2,), np.array([-1, 0, 0])).tolist()
    [[4, 0], [2, 0], [2, 0]]
    """
    units, many = cells.shape
    held = np.full(units, -1, dtype=np.int64) if fixed is None else fixed.copy()
    found = np.zeros((units, many), dtype=np.int64)
    children: dict[int, list[int]] = {}
    for unit, above in enumerate(parent.tolist()):
        children.setdefault(above, []).append(unit)
    may = np.ones(many, dtype=bool) if possible is None else possible
    totals = _totals(cells.sum(axis=1), children, held)
    for unit in children.get(-1, []):
        found[unit] = _split(cells[unit][None], shape, np.array([totals[unit]]), None, may)[0]
    for above in sorted(one for one in children if one >= 0):
        family = np.array(children[above])
        found[family] = _split(cells[family], shape, totals[family], found[above], may)
    return found


def _totals(estimates: Floats, children: dict[int, list[int]], held: Integers) -> Integers:
    """Settle totals from the top down; a parent has at least what its held descendants need."""
    need = np.where(held >= 0, held, 0)
    for above in sorted((one for one in children if one >= 0), reverse=True):
        below = int(need[children[above]].sum())
        if held[above] >= 0:
            every = all(held[one] >= 0 for one in children[above])
            if below > held[above] or (every and below != held[above]):
                raise DiscreetError(
                    "totals held exact contradict each other: children do not fit into a parent"
                )
        else:
            need[above] = below
            if all(held[one] >= 0 for one in children[above]):
                held[above] = below
    found = np.zeros(len(estimates), dtype=np.int64)
    for above in sorted(children):
        family = np.array(children[above])
        if above < 0:
            found[family] = np.maximum(np.rint(estimates[family]).astype(np.int64), need[family])
            found[family] = np.where(held[family] >= 0, held[family], found[family])
            continue
        free = held[family] < 0
        rest = int(found[above] - need[family].sum())
        found[family] = need[family]
        if free.any():
            wish = estimates[family[free]] - need[family[free]]
            found[family[free]] += _round_row(_simplex(wish[None], np.array([rest], dtype=float))[0], rest)
    return found


def _split(
    cells: Floats,
    shape: tuple[int, ...],
    totals: Integers,
    above: Integers | None,
    possible: NDArray[np.bool_],
) -> Integers:
    """Split the totals of the children of a unit along the attributes, within the parent's own cells."""
    rows = len(cells)
    settled = totals[:, None]
    for size in shape:
        groups = settled.shape[1]
        wish = cells.reshape(rows, groups, size, -1).sum(axis=3)
        allowed = possible.reshape(groups, size, -1).any(axis=2)
        wish = np.where(allowed, wish, -10.0 * (np.abs(wish).sum() + 100.0))
        parts = np.zeros((rows, groups, size), dtype=np.int64)
        whole = None if above is None else above.reshape(groups, size, -1).sum(axis=2)
        for group in range(groups):
            if not settled[:, group].any():
                continue
            if whole is None:
                sums = settled[:, group].astype(float)
                near = _simplex(wish[:, group], sums)
                for row in range(rows):
                    parts[row, group] = _round_row(near[row], int(settled[row, group]))
            else:
                near = _nearest(wish[:, group], settled[:, group].astype(float), whole[group].astype(float))
                parts[:, group] = _round_table(near, settled[:, group], whole[group])
        settled = parts.reshape(rows, groups * size)
    return settled


def _simplex(wish: Floats, sums: Floats) -> Floats:
    """Return the non-negative rows nearest to `wish` with these sums."""
    order = -np.sort(-wish, axis=1)
    excess = (np.cumsum(order, axis=1) - sums[:, None]) / np.arange(1, wish.shape[1] + 1)
    last = np.maximum((order > excess).sum(axis=1) - 1, 0)
    shift = excess[np.arange(len(wish)), last]
    return np.where(sums[:, None] > 0, np.maximum(wish - shift[:, None], 0.0), 0.0)


def _nearest(wish: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the non-negative table nearest to `wish` with these sums of rows and columns (Dykstra)."""
    x, p, q = wish.copy(), np.zeros_like(wish), np.zeros_like(wish)
    for _ in range(STEPS):
        y = _simplex(x + p, rows)
        p = x + p - y
        x = _simplex((y + q).T, columns).T
        q = y + q - x
        if np.max(np.abs(x.sum(axis=1) - rows), initial=0.0) < 1e-6:
            break
    return x


def _round_row(values: Floats, total: int) -> Integers:
    """Round to whole numbers of this sum: all down, and one more for the largest fractional parts."""
    down = np.floor(values + CLOSE).astype(np.int64)
    left = total - int(down.sum())
    order = np.argsort(-(values - down), kind="stable")
    down[order[:left]] += 1
    return down


def _round_table(values: Floats, rows: Integers, columns: Integers) -> Integers:
    """Round a table to whole neighbours with the same sums of rows and columns."""
    near = np.rint(values)
    values = np.where(np.abs(values - near) < 1e-6, near, values)
    down = np.floor(values).astype(np.int64)
    left_rows, left_columns = rows - down.sum(axis=1), columns - down.sum(axis=0)
    if not left_rows.any() and not left_columns.any():
        return down
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    part = values - down
    where_row, where_column = np.nonzero(np.ones_like(part))
    many = part.size
    index = np.arange(many)
    ones = np.ones(2 * many)
    matrix = coo_matrix(
        (ones, (np.concatenate([where_row, len(rows) + where_column]), np.concatenate([index, index]))),
        shape=(len(rows) + len(columns), many),
    )
    sums = np.concatenate([left_rows, left_columns]).astype(float)
    fractional = part.ravel() > 0
    for most in (np.where(fractional, 1.0, 0.0), None):
        # neighbours first; if open sums of a fit that is not quite exact do not allow it, the nearest cells
        found = linprog(
            1.0 - 2.0 * part.ravel(),
            A_eq=matrix.tocsr(),
            b_eq=sums,
            bounds=np.column_stack([np.zeros(many), most])
            if most is not None
            else np.column_stack([-down.ravel().astype(float), np.full(many, np.inf)]),
            method="highs-ds",
        )
        if found.status == 0:
            return np.asarray(down + np.rint(found.x).reshape(part.shape), dtype=np.int64)
    raise DiscreetError("no whole table with these sums was found")
