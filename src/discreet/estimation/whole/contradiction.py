"""Why a family has no solution: few constraints that contradict each other, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from discreet.areas.tree import Floats, Integers
from discreet.errors import InputError
from discreet.estimation.whole.family import Family, endless

_TINY = 1e-7


class ContradictionError(InputError):
    """A family has no solution; `constraints` cannot all be kept, and each of them is needed for that.

    >>> ContradictionError(["total of 'A' held at 7", "total of 'A' held at 8"]).constraints
    ("total of 'A' held at 7", "total of 'A' held at 8")
    """

    def __init__(self, constraints: Sequence[str]) -> None:
        self.constraints = tuple(constraints)
        lines = "".join(
            f"\n  {number}. {constraint}" for number, constraint in enumerate(self.constraints, 1)
        )
        super().__init__(
            f"{len(self.constraints)} constraints contradict each other; drop or correct one:{lines}"
        )

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        """Come back whole from another process."""
        return type(self), (self.constraints,)


@dataclass(frozen=True, slots=True)
class ParentBound:
    """What the parent's cells must keep for its children to have a solution: bounds of a sum of cells."""

    cells: Integers
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class _Constraints:
    """Rows least <= matrix @ x <= most, with x in one line, child after child."""

    matrix: scipy.sparse.csr_array
    least: Floats
    most: Floats
    names: list[str]
    of_parent: Floats
    """Which rows are the parent's cells."""


def conflicting(family: Family) -> tuple[str, ...]:
    """Return constraints that contradict each other, by name, none of which can be spared.

    Nothing is returned if all can be kept.

    >>> from discreet.estimation.whole.family import Limits
    >>> seven = np.array([[7]])
    >>> total = Limits("total", np.zeros(2, np.int64), np.array([0]), seven, seven)
    >>> J, of, h, parent = np.eye(2)[None], np.array([0]), np.zeros((1, 2)), np.array([2, 3])
    >>> conflicting(Family(J, of, h, parent, limits=[total], names=["A"]))
    ('cell 0 of the parent is 2', 'cell 1 of the parent is 3', "total of 'A' held at 7")
    """
    rows = _constraints(family)
    weight = _certificate(rows)
    if weight is None:
        return ()
    suspects = [int(row) for row in np.flatnonzero(np.abs(weight) > _TINY)]
    # a lower and an upper bound that exclude each other have no weight if both are slack elsewhere
    if _feasible(rows, suspects):
        suspects = list(range(len(rows.names)))
    for row in list(suspects):
        rest = [suspect for suspect in suspects if suspect != row]
        if not _feasible(rows, rest):
            suspects = rest
    return tuple(rows.names[row] for row in suspects)


def cut(family: Family) -> ParentBound | None:
    """Return a bound that the children impose on a sum of the parent's cells and that these break, if any.

    The sums that children with nested limits can have form a generalised polymatroid: if the parent's cells
    are not among them, one inequality over a set of cells says so, and a level set of the multipliers of an
    infeasible linear program is such a set.

    >>> from discreet.estimation.whole.family import Limits
    >>> most = Limits("total", np.zeros(2, np.int64), np.array([0]), np.array([[0]]), np.array([[4]]))
    >>> alone = Family(np.eye(2)[None], np.array([0]), np.zeros((1, 2)), np.array([2, 3]), limits=[most])
    >>> cut(alone)
    ParentBound(cells=array([0, 1]), least=None, most=4)
    """
    if family.parent is None:
        return None
    rows = _constraints(family)
    weight = _certificate(rows)
    if weight is None:
        return None
    own = np.flatnonzero(rows.of_parent < 0)
    inner = _Constraints(
        rows.matrix[own], rows.least[own], rows.most[own], [rows.names[i] for i in own], rows.of_parent[own]
    )
    by_cell = np.zeros(family.cells)
    from_parent = np.flatnonzero(rows.of_parent >= 0)
    by_cell[rows.of_parent[from_parent].astype(np.int64)] = weight[from_parent]
    for level in np.unique(np.abs(np.round(by_cell, 6))):
        if level <= 0:
            continue
        for sign in (1.0, -1.0):
            cells = np.flatnonzero(sign * by_cell >= level - 1e-6)
            if not cells.size:
                continue
            for direction in (1.0, -1.0):
                cost = np.zeros((family.children, family.cells))
                cost[:, cells] = -direction
                solved = scipy.optimize.linprog(cost.ravel(), *_halves(inner), method="highs")
                if solved.status != 0:
                    continue
                bound, held = round(direction * -solved.fun), int(family.parent[cells].sum())
                if direction > 0 and held > bound:
                    return ParentBound(cells, None, bound)
                if direction < 0 and held < bound:
                    return ParentBound(cells, bound, None)
    return None


def _constraints(family: Family) -> _Constraints:
    """List everything a family keeps, except that cells are at least 0."""
    children, cells = family.children, family.cells
    position = np.arange(children * cells).reshape(children, cells)
    members: list[Integers] = []
    least: list[float] = []
    most: list[float] = []
    names: list[str] = []
    of_parent: list[int] = []

    def add(name: str, who: Integers, low: float, high: float, cell: int = -1) -> None:
        members.append(who)
        least.append(low)
        most.append(high)
        names.append(name)
        of_parent.append(cell)

    if family.parent is not None:
        for cell, count in enumerate(family.parent.tolist()):
            add(
                f"cell {family.cell_name(cell)} of the parent is {count}",
                position[:, cell],
                count,
                count,
                cell,
            )
    for limits in family.limits:
        upper = endless(limits.upper)
        many = limits.lower.shape[1]
        groups = [np.flatnonzero(limits.label == group) for group in range(many)]
        for row, child in enumerate(limits.children.tolist()):
            for group in range(many):
                part = repr(limits.groups[group]) if len(limits.groups) else f"group {group}"
                what = limits.name if many == 1 else f"{limits.name}, {part},"
                low, high = int(limits.lower[row, group]), upper[row, group]
                who = position[child, groups[group]]
                of = f"{what} of {family.name(child)!r}"
                if low == high:
                    add(f"{of} held at {low}", who, low, high)
                    continue
                if low > 0:
                    add(f"{of} at least {low}", who, low, np.inf)
                if np.isfinite(high):
                    add(f"{of} at most {int(high)}", who, -np.inf, high)
    if family.lower is not None:
        for child, cell in np.argwhere(family.lower > 0).tolist():
            low = int(family.lower[child, cell])
            name = f"cell {family.cell_name(cell)} of {family.name(child)!r} at least {low}"
            add(name, position[child, [cell]], low, np.inf)
    if family.upper is not None:
        for child, cell in np.argwhere(np.isfinite(endless(family.upper))).tolist():
            high = int(family.upper[child, cell])
            name = f"cell {family.cell_name(cell)} of {family.name(child)!r} at most {high}"
            add(name, position[child, [cell]], -np.inf, high)
    row_of = np.repeat(np.arange(len(members)), [len(member) for member in members])
    column = np.concatenate(members) if members else np.zeros(0, np.int64)
    matrix = scipy.sparse.coo_array(
        (np.ones(len(column)), (row_of, column)), shape=(len(members), position.size)
    ).tocsr()
    return _Constraints(matrix, np.array(least), np.array(most), names, np.array(of_parent, dtype=float))


def _halves(
    rows: _Constraints, which: Sequence[int] | None = None
) -> tuple[scipy.sparse.csr_array | None, Floats | None]:
    """Return some rows as matrix @ x <= bound."""
    at = np.arange(len(rows.names)) if which is None else np.array(which, dtype=np.int64)
    below, above = at[np.isfinite(rows.most[at])], at[np.isfinite(rows.least[at])]
    if not len(below) + len(above):
        return None, None
    bound = np.concatenate([rows.most[below], -rows.least[above]])
    return scipy.sparse.vstack([rows.matrix[below], -rows.matrix[above]]).tocsr(), bound


def _certificate(rows: _Constraints) -> Floats | None:
    """Return multipliers of the rows that show there is no solution, or None if there is one."""
    below, above = np.flatnonzero(np.isfinite(rows.most)), np.flatnonzero(np.isfinite(rows.least))
    matrix, bound = _halves(rows)
    if matrix is None or bound is None:
        return None
    many, extra = rows.matrix.shape[1], len(bound)
    # each row may be missed at a cost of one a unit
    widened = scipy.sparse.hstack([matrix, -scipy.sparse.diags_array(np.ones(extra))]).tocsr()
    cost = np.concatenate([np.zeros(many), np.ones(extra)])
    solved = scipy.optimize.linprog(cost, widened, bound, method="highs")
    if solved.status != 0 or solved.fun <= _TINY:
        return None
    weight = np.zeros(len(rows.names))
    np.add.at(weight, below, -solved.ineqlin.marginals[: len(below)])
    np.add.at(weight, above, solved.ineqlin.marginals[len(below) :])
    return weight


def _feasible(rows: _Constraints, which: Sequence[int]) -> bool:
    """Whether some of the constraints can be kept together."""
    matrix, bound = _halves(rows, which)
    if matrix is None:
        return True
    used = np.unique(matrix.indices)
    solved = scipy.optimize.linprog(np.zeros(len(used)), matrix[:, used], bound, method="highs")
    return int(solved.status) != 2
