"""Whole numbers, none below its bound, and children that add up to their parents.

From the top down. A root is its estimate rounded to the nearest whole number (halves to the even one). Given
a parent's number n, its children are first the non-negative least-squares estimate given n,

    minimise  sum of (u - z)^2 / v   subject to   sum of u = n,  u >= bound,

with z and v from the upward pass of `least_squares`; for n equal to the parent's estimate and no bound in
reach this is the least-squares estimate itself. Then they are rounded by largest remainders: all are rounded
down, and what is missing goes to the largest fractional parts, one each. The bound is 0, or what the exact
totals below make necessary.

Equal fractional parts (to within 2^-20) are the rule, not the exception: measurements are whole numbers, and
siblings of equal variance are all shifted by the same amount. If names broke the ties, the first in the
alphabet would be favoured always. So a fixed hash of the unit's and the cell's place and of the parent's
number breaks them: nobody is favoured, and the same table still gives the same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.hierarchy.forest import Forest, Group
from discreet.release.hierarchy.least_squares import Floats
from discreet.release.hierarchy.tree import Integers

FINE = 1 << 20
"""Fractional parts are compared in steps of one over this."""

HASH_BITS = 16


def apportion(
    forest: Forest,
    z: Floats,
    v: Floats,
    exact: NDArray[np.bool_] | None = None,
    totals: Integers | None = None,
    *,
    first_cell: int = 0,
) -> Integers:
    """Return a whole number for each node (row) and cell (column, numbered from `first_cell` on).

    `exact` says which nodes are held at their row of `totals`.

    >>> family = Group(np.array([1, 2]), np.array([0]), np.array([0]))
    >>> forest = Forest(np.arange(3), np.array([-1, 0, 0]), (family,))
    >>> apportion(forest, np.array([[6.8], [-1.0], [7.4]]), np.array([0.7, 1.0, 1.0])).ravel().tolist()
    [7, 0, 7]
    """
    held = np.zeros(forest.size, dtype=bool) if exact is None else exact.copy()
    bound = np.zeros(z.shape, dtype=np.int64)
    if exact is not None and totals is not None:
        bound[held] = totals[held]
        _lift(forest, held, bound)
    number = bound.copy()
    free = forest.roots[~held[forest.roots]]
    number[free] = np.maximum(np.rint(z[free]).astype(np.int64), bound[free])
    columns = np.arange(first_cell, first_cell + z.shape[1])
    for group in forest.groups:
        ties = _hash(forest.units[group.nodes][:, None], columns, number[group.parents][group.of])
        _share_out(group, z, v, held, bound, number, ties)
    return number


def _lift(forest: Forest, held: NDArray[np.bool_], bound: Integers) -> None:
    """Carry exact totals upwards: a parent is at least the sum of its children's bounds, held if all are."""
    for group in reversed(forest.groups):
        need = group.sums(bound[group.nodes])
        full = group.sums(held[group.nodes].astype(np.int64)) == group.sizes
        fixed = held[group.parents]
        short = fixed[:, None] & (need > bound[group.parents])
        uneven = (fixed & full)[:, None] & (need != bound[group.parents])
        if short.any() or uneven.any():
            raise InputError("totals held exact contradict each other: children do not fit into their parent")
        bound[group.parents] = np.where(fixed[:, None], bound[group.parents], need)
        held[group.parents] |= full


def _share_out(
    group: Group,
    z: Floats,
    v: Floats,
    held: NDArray[np.bool_],
    bound: Integers,
    number: Integers,
    ties: Integers,
) -> None:
    """Write the numbers of one depth, given those of the depth above."""
    nodes, of = group.nodes, group.of
    spare = number[group.parents] - group.sums(bound[nodes])
    wish = z[nodes] - bound[nodes]
    weight = v[nodes].copy()
    weight[held[nodes]] = 0.0
    share = _project(group, wish, weight, spare)
    down = np.floor(share).astype(np.int64)
    missing = spare - group.sums(down)
    part = np.rint((share - down) * FINE).astype(np.int64)
    part[held[nodes]] = -1
    # Sorted by cell, family, falling part and hash; the first ones of each family get one more.
    cells = z.shape[1]
    family = np.arange(cells)[None, :] * len(group.begin) + of[:, None]
    if cells * len(group.begin) >= 1 << (62 - HASH_BITS - FINE.bit_length()):
        raise InputError(
            f"{cells * len(group.begin)} families of units are more than can be rounded at a time"
        )
    key = (((family * (2 * FINE) + (FINE - part)) << HASH_BITS) + ties).T.ravel()
    order = np.argsort(key, kind="stable")
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    first = (np.arange(cells)[:, None] * len(nodes) + group.begin[of][None, :]).ravel()
    extra = ((rank - first) < missing[of].T.ravel()).reshape(cells, -1).T
    number[nodes] = bound[nodes] + down + extra


def _project(group: Group, wish: Floats, weight: Floats, total: Integers) -> Floats:
    """Return the u >= 0 that add up to `total` and are nearest to `wish`, deviations counted by 1/weight.

    u = max(0, wish + weight t) for one t per family. Families start with all children taking part; those
    that fall below zero leave, and t only falls with them, so none ever has to come back.
    """
    of = group.of
    active = np.broadcast_to(weight[:, None] > 0, wish.shape).copy()
    active &= (total > 0)[of]
    while True:
        room = group.sums(np.where(active, weight[:, None], 0.0))
        miss = total - group.sums(np.where(active, wish, 0.0))
        step = np.divide(miss, room, out=np.zeros_like(miss), where=room > 0)
        share = np.where(active, wish + weight[:, None] * step[of], 0.0)
        below = share < 0.0
        if not below.any():
            return share
        active &= ~below


def _hash(unit: Integers, cell: Integers, number: Integers) -> Integers:
    """Return some bits that look random but are a function of the three (the finaliser of SplitMix64)."""
    x: Any = unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (cell.astype(np.uint64) << np.uint64(20))) * np.uint64(0xBF58476D1CE4E5B9)
    x = x ^ (x >> np.uint64(29)) ^ number.astype(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits: Integers = (x >> np.uint64(64 - HASH_BITS)).astype(np.int64)
    return bits
