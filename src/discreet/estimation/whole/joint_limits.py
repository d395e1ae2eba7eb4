"""Units whose limits are of several tables, settled together: all units below a unit in one program.

Where limits of several tables meet below a unit, their sums do not say all that the unit must allow for. Then
the atoms of all limited units below it (see `limits`) are chosen at once: whole numbers that keep every limit
and add up to the unit's own, nearest to the estimates in the sum of absolute deviations. With the atoms of
every unit settled, a table of their cells always exists: within an atom, cells and units only have to add up.
"""

from __future__ import annotations

import numpy as np
import scipy

from discreet.areas.tree import Floats, Integers
from discreet.estimation.whole.limits import Limited


def limited_below(limited: Limited, unit: int) -> Integers:
    """Return the units below a unit that are limited, or have limited units below them, in order."""
    tree = limited.tree
    inside = np.zeros(tree.size + 1, dtype=bool)
    inside[unit] = True
    for part in tree.depths[1:]:
        inside[part] |= inside[tree.parent[part]]
    inside[unit] = False
    units = np.flatnonzero(inside[:-1])
    return units[limited.has(units)]


def settle_together(
    limited: Limited, unit: int, own: Integers | None, target: Floats | None = None
) -> tuple[Integers, Integers] | None:
    """Return the limited units below a unit and their atoms, or nothing if there are none that keep all
    limits.

    `own` are the atoms of the unit; without them the unit is settled, too, and comes first. `target` has the
    estimates of the same units; without them any numbers that keep the limits will do.

    >>> from discreet.areas.tree import Tree
    >>> from discreet.estimation.whole.limits import Limit
    >>> five = Limit("total", np.array([0, 0]), np.array([1]), np.full((1, 1), 5.0), np.full((1, 1), 5.0))
    >>> none = Limit("old", np.array([-1, 0]), np.array([1]), np.zeros((1, 1)), np.zeros((1, 1)))
    >>> limited = Limited(Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1)), 2, [five, none])
    >>> [part.tolist() for part in settle_together(limited, 0, np.array([6, 1]))]
    [[1], [[5, 0]]]
    >>> settle_together(limited, 0, np.array([4, 3])) is None
    True
    """
    tree, many = limited.tree, limited.many
    units = limited_below(limited, unit)
    if own is None:
        units = np.concatenate([[unit], units]).astype(np.int64)
    if not units.size:
        return units, np.zeros((0, many), dtype=np.int64)
    place = np.full(tree.size + 1, -1, dtype=np.int64)
    place[units] = np.arange(len(units))
    rows: list[tuple[Integers, Integers, Floats]] = []
    lower: list[float] = []
    upper: list[float] = []

    def add(columns: Integers, values: Floats, least: float, most: float) -> None:
        rows.append((np.full(len(columns), len(lower)), columns, values))
        lower.append(least)
        upper.append(most)

    children: dict[int, list[int]] = {}
    for one in units.tolist():
        if one != unit:
            children.setdefault(int(tree.parent[one]), []).append(one)
        for atoms, least, most in limited.rows(one):
            add(int(place[one]) * many + atoms, np.ones(len(atoms)), least, most)
    whole = np.bincount(tree.parent[tree.parent >= 0], minlength=tree.size)
    for above, below in children.items():
        # records may be in other children, unless all of them are limited
        is_all = len(below) == whole[above]
        for atom in range(many):
            columns = place[below] * many + atom
            values = np.ones(len(below))
            if above == unit and own is not None:
                count = float(own[atom])
                add(columns, values, count if is_all else 0.0, count)
            else:
                columns = np.append(columns, place[above] * many + atom)
                add(columns, np.append(values, -1.0), 0.0 if is_all else -np.inf, 0.0)
    size = len(units) * many
    cost = np.zeros(size)
    if target is not None:
        wish = np.maximum(target.ravel(), 0.0)
        up, down = size + np.arange(size), 2 * size + np.arange(size)
        cost = np.concatenate([cost, np.ones(2 * size)])
        for cell in range(size):
            add(np.array([cell, up[cell], down[cell]]), np.array([1.0, -1.0, 1.0]), wish[cell], wish[cell])
    row, column, value = (np.concatenate(part) for part in zip(*rows, strict=True))
    matrix = scipy.sparse.coo_matrix((value, (row, column)), shape=(len(lower), len(cost))).tocsr()
    found = scipy.optimize.milp(
        cost,
        constraints=scipy.optimize.LinearConstraint(matrix, np.array(lower), np.array(upper)),
        integrality=(np.arange(len(cost)) < size).astype(np.int64),
        bounds=scipy.optimize.Bounds(0.0, np.inf),
    )
    if found.x is None:
        return None
    return units, np.rint(found.x[:size]).astype(np.int64).reshape(len(units), many)
