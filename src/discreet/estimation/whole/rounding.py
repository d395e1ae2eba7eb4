"""Whole numbers beside the nearest table of a family that keep the parent's cells and every sum.

Each cell becomes its floor or its ceiling, and in each child every sum of a nested chain of queries stays
within the floor and the ceiling of its own value. The parent's cells are one nested family of sums and the
chain is another: together they are the rows of a network, whose linear program has whole corners. Where
limits do not nest with the chain, corners may have fractions, and integer programming takes over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from discreet.areas.tree import Floats, Integers, Numbers
from discreet.errors import InputError
from discreet.estimation.whole.contradiction import ContradictionError, conflicting
from discreet.estimation.whole.family import Family, endless

WHOLE = 1e-6
"""A number this near to a whole one is taken for it."""
_COST = 100.0
"""Scale of the costs, far above the tolerances of the linear program."""
TIE = 1e-3
"""Fractional parts that differ by less than this are in the hands of the hash."""
_FURTHER = 4.0
"""Cost of each step beyond the neighbouring whole numbers, and ..."""
_OUTSIDE = 16.0
"""... of each step of a sum beyond its neighbours, where nothing nearer exists."""


def round_family(x: Floats, family: Family, chain: Sequence[Integers], ties: Integers) -> Integers:
    """Return whole cells beside x that keep the parent, the chain, bounds and limits.

    `chain` has the labels of the cells in each query, from coarse to fine; `ties` are whole numbers (a hash)
    that decide between equal fractional parts: the smaller goes up. If limits leave no neighbouring numbers,
    as few steps as possible lead further away: of cells first, then of sums of the chain.

    >>> family = Family(np.eye(2)[None], np.array([0, 0]), np.zeros((2, 2)), np.array([5, 1]))
    >>> x = np.array([[3.6, 0.7], [1.4, 0.3]])
    >>> round_family(x, family, [np.zeros(2, np.int64)], np.zeros((2, 2), np.int64)).tolist()
    [[4, 1], [1, 0]]
    """
    near = np.rint(x)
    x = np.where(np.abs(x - near) < WHOLE, near, x)
    floor = np.floor(x).astype(np.int64)
    part = x - floor
    if part.any():
        luck = (ties & 0xFFFFFFFF) / 2.0**32
        rounded = _in_columns(floor, part, family, chain, luck)
        if rounded is None:
            rounded = _by_program(x, floor, part, family, chain, luck)
    elif _broken(floor, family):
        rounded = _further(x, floor, part, family, chain, np.zeros(x.shape))
    else:
        rounded = floor
    if broken := _broken(rounded, family):
        raise AssertionError(f"rounding broke {broken}")
    return rounded


def _broken(whole: Integers, family: Family) -> str:
    """Return what whole numbers do not keep, or nothing."""
    if whole.min(initial=0) < 0:
        return "a cell is below zero"
    if family.parent is not None and np.any(whole.sum(axis=0) != family.parent):
        return "the parent's cells"
    if family.lower is not None and np.any(whole < family.lower):
        return "a lower bound"
    if family.upper is not None and np.any(whole > endless(family.upper)):
        return "an upper bound"
    for limits, (group, least, most) in zip(family.limits, _limit_groups(family, whole.shape), strict=True):
        sums = _by_group(whole, group, len(least))
        if np.any(sums < least) or np.any(sums > most):
            return limits.name
    return ""


def _in_columns(
    floor: Integers, part: Floats, family: Family, chain: Sequence[Integers], luck: Floats
) -> Integers | None:
    """Round by largest remainders in each column, if no sum within a child asks for more; else None."""
    if family.limits or not all(_apart(label) for label in chain):
        return None
    if family.parent is None:
        up = part + TIE * (0.5 - luck) > 0.5
        return floor + (up & (part > 0))
    missing = family.parent - floor.sum(axis=0)
    may = (part > 0).sum(axis=0)
    if np.any(missing < 0) or np.any(missing > may):
        return None
    order = np.argsort(-(np.where(part > 0, part, -2.0) - TIE * luck), axis=0, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(part))[:, None], axis=0)
    in_columns: Integers = floor + (rank < missing)
    return in_columns


def _apart(label: Integers) -> bool:
    """Whether each cell has a label of its own."""
    return len(np.unique(label)) == len(label)


class _Program:
    """Which sums of fractional cells have bounds: rows of a linear program, built up one by one."""

    def __init__(self, members: Integers) -> None:
        self.members = members  # number of each fractional cell, -1 for whole ones
        self.rows: list[Integers] = []
        self.columns: list[Integers] = []
        self.least: list[Floats] = []
        self.most: list[Floats] = []
        self.soft: list[bool] = []
        self.height = 0

    def add(self, group: Integers, least: Floats, most: Floats, *, soft: bool = False) -> None:
        """Add a row for each number that occurs in `group` (-1: in none), with bounds of all numbers."""
        cells = np.flatnonzero((self.members.ravel() >= 0) & (group.ravel() >= 0))
        used, row = np.unique(group.ravel()[cells], return_inverse=True)
        self.rows.append(self.height + row.ravel())
        self.columns.append(self.members.ravel()[cells])
        self.least.append(least[used])
        self.most.append(most[used])
        self.soft += [soft] * len(used)
        self.height += len(used)

    def matrix(self) -> tuple[scipy.sparse.csr_array, Floats, Floats]:
        """Return the rows and their bounds."""
        many = int(self.members.max(initial=-1)) + 1
        at = np.concatenate(self.rows), np.concatenate(self.columns)
        matrix = scipy.sparse.coo_array((np.ones(len(at[0])), at), shape=(self.height, many)).tocsr()
        return matrix, np.concatenate(self.least), np.concatenate(self.most)


def _program(
    x: Floats, floor: Integers, family: Family, chain: Sequence[Integers], members: Integers
) -> _Program:
    """Return the rows for the numbers to add to `floor` in some cells."""
    program = _Program(members)
    children, cells = x.shape
    if family.parent is not None:
        need = (family.parent - floor.sum(axis=0)).astype(float)
        program.add(np.broadcast_to(np.arange(cells), x.shape), need, need)
    for label, lower, upper in _limit_groups(family, x.shape):
        here = _by_group(floor, label, len(lower))
        program.add(label, lower - here, upper - here)
    for label in chain:
        if _apart(label):  # floor and ceiling of cells are kept anyway
            continue
        many = int(label.max(initial=-1)) + 1
        group = np.where(label >= 0, label + many * np.arange(children)[:, None], -1)
        sums = _by_group(x, group, many * children)
        near = np.rint(sums)
        sums = np.where(np.abs(sums - near) < WHOLE * np.maximum(1.0, np.abs(near) * 1e-9), near, sums)
        here = _by_group(floor, group, many * children)
        program.add(group, np.floor(sums) - here, np.ceil(sums) - here, soft=True)
    return program


def _limit_groups(family: Family, shape: tuple[int, ...]) -> Iterator[tuple[Integers, Floats, Floats]]:
    """Yield for each of the limits a number for each group in each child, and its bounds."""
    for limits in family.limits:
        many = limits.lower.shape[1]
        label = np.full(shape, -1, dtype=np.int64)
        own = np.arange(len(limits.children))[:, None] * many + limits.label
        label[limits.children] = np.where(limits.label >= 0, own, -1)
        yield label, limits.lower.ravel().astype(float), endless(limits.upper).ravel()


def _by_group(values: Numbers, group: Integers, many: int) -> Floats:
    """Sum cells by the number of their group; those with a negative number are in none."""
    inside = group >= 0
    return np.bincount(group[inside], weights=values[inside], minlength=many).astype(float)


def _by_program(
    x: Floats, floor: Integers, part: Floats, family: Family, chain: Sequence[Integers], luck: Floats
) -> Integers:
    """Round to neighbours by linear programming."""
    fractional = part > 0
    members = np.full(x.shape, -1, dtype=np.int64)
    members[fractional] = np.arange(int(fractional.sum()))
    program = _program(x, floor, family, chain, members)
    cost = _COST * (1.0 - 2.0 * part[fractional] + TIE * luck[fractional])
    if program.height:
        matrix, least, most = program.matrix()
        chosen = _whole_program(cost, matrix, least, most, np.zeros(len(cost)), np.ones(len(cost)))
    else:
        chosen = (cost < 0).astype(np.int64)
    if chosen is not None:
        whole = floor.copy()
        whole[fractional] += chosen
        if not _broken(whole, family):
            return whole
    return _further(x, floor, part, family, chain, luck)


def _further(
    x: Floats, floor: Integers, part: Floats, family: Family, chain: Sequence[Integers], luck: Floats
) -> Integers:
    """Round where no neighbours keep everything: cells may go further, and sums of the chain, at a cost."""
    polytope = family.polytope
    if polytope.empty:
        raise ContradictionError(conflicting(family))
    may = polytope.high > polytope.low
    floor = np.clip(floor, polytope.low, polytope.high).astype(np.int64)
    members = np.full(x.shape, -1, dtype=np.int64)
    many = int(may.sum())
    members[may] = np.arange(many)
    program = _program(x, floor, family, chain, members)
    if not program.height:
        return floor
    matrix, least, most = program.matrix()
    soft = np.flatnonzero(program.soft)
    part = np.clip(x - floor, 0.0, 1.0)[may]
    room_up, room_down = polytope.high[may] - floor[may], floor[may] - polytope.low[may]
    first = np.where((part > 0) & (room_up >= 1), 1.0, 0.0)
    # one step up, more steps up, steps down, and steps of sums above and below
    costs = [
        1.0 - 2.0 * part + TIE * luck[may],
        _FURTHER - part + TIE * luck[may],
        _FURTHER + part + TIE * luck[may],
        np.full(2 * len(soft), _OUTSIDE),
    ]
    slack = scipy.sparse.coo_array(
        (
            np.concatenate([-np.ones(len(soft)), np.ones(len(soft))]),
            (np.concatenate([soft, soft]), np.arange(2 * len(soft))),
        ),
        shape=(program.height, 2 * len(soft)),
    )
    wide = scipy.sparse.hstack([matrix, matrix, -matrix, slack]).tocsr()
    upper = np.concatenate(
        [first, np.maximum(room_up - first, 0.0), room_down, np.full(2 * len(soft), np.inf)]
    )
    chosen = _whole_program(_COST * np.concatenate(costs), wide, least, most, np.zeros(len(upper)), upper)
    if chosen is None:
        if names := conflicting(family):
            raise ContradictionError(names)
        raise InputError(
            "limits that do not nest leave fractions but no whole numbers that keep them all: leave one out"
        )
    whole = floor.copy()
    whole[may] += chosen[:many] + chosen[many : 2 * many] - chosen[2 * many : 3 * many]
    return whole


def _whole_program(
    cost: Floats, matrix: scipy.sparse.csr_array, least: Floats, most: Floats, low: Floats, high: Floats
) -> Integers | None:
    """Return the whole numbers within bounds that cost least, or None if there are none."""
    if np.any(least > most):
        return None
    # SciPy 1.14 refuses indices of 64 bits
    places = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    constraint = scipy.optimize.LinearConstraint(
        scipy.sparse.csr_array(places, shape=matrix.shape), least, most
    )
    for whole in (0, 1):
        solved = scipy.optimize.milp(
            cost,
            constraints=constraint,
            bounds=scipy.optimize.Bounds(low, high),
            integrality=np.full(len(cost), whole),
        )
        if solved.x is None:
            return None
        near = np.rint(solved.x)
        if np.abs(solved.x - near).max(initial=0.0) < 1e-5:
            return np.asarray(near, dtype=np.int64)
    return None
