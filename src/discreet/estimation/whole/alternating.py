"""Alternating directions for the quadratic problem of a family.

Two copies of the cells take turns: x minimises the quadratic form within the exact sums of each child, v is
the nearest point within the bounds of cells and the parent's cells, and z the nearest sums within their
bounds; multipliers pull them together. In a basis that makes J and the penalty diagonal at once, a step for
all children with the same matrix is two products of matrices, whatever the penalty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers
from discreet.estimation.whole.family import Family, Polytope

_RELAXATION = 1.6
_ADAPT = 40
"""Steps between two changes of the penalty."""
_SINGULAR = 1e-11
"""Eigenvalues below this fraction of the largest, or of the penalty, are taken for zero."""
_ROUNDED = 3e-15
"""A sum is met if it is missed by this fraction of what was added up."""


@dataclass(slots=True)
class Shape:
    """Children that share a matrix and the sums that are exact, with the basis that solves their step.

    Columns b of `basis` satisfy b' M b = 1 and b' J b = `value`, are orthogonal in both, and do not change
    the exact sums; M is the penalty. `anchor` has the exact sums.
    """

    who: Integers
    information: Floats
    penalty: Floats
    basis: Floats
    value: Floats
    exact: Floats
    anchor: Floats
    regular: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.regular = self.value > _SINGULAR * max(float(self.value.max(initial=0.0)), 1.0)

    def quadratic(self, residual: Floats, width: Floats) -> float:
        """Return an upper bound of residual'd - d'Jd/2 over all d within `width` that keep the exact sums."""
        along = residual @ self.basis
        sure = np.where(self.regular, along, 0.0) ** 2 / np.where(self.regular, self.value, 1.0)
        total = 0.5 * float(sure.sum())
        if not self.regular.all():
            flat = np.where(self.regular, 0.0, along) @ self.basis.T @ self.penalty
            total += float((np.abs(flat) * width).sum())
        return total

    def lowest(self, pull: Floats) -> float:
        """Return the minimum of d'Jd/2 - pull'd over d that keep the exact sums."""
        along = (pull @ self.basis) ** 2
        return -0.5 * float((along[:, self.regular] / self.value[self.regular]).sum())


@dataclass(slots=True)
class Iterate:
    """A point within the bounds and the parent's cells, with multipliers of these cells and of sums."""

    x: Floats
    of_parent: Floats
    of_rows: Floats


class Alternation:
    """The steps of one family, counted from a first point near the solution."""

    def __init__(self, family: Family, polytope: Polytope) -> None:
        self.family, self.polytope = family, polytope
        rows, least, most = polytope.rows, polytope.least, polytope.most
        self.exact = least == most
        self.ranged = ~self.exact & ((least > -np.inf) | (most < np.inf))
        self.metric = _metric(family)[family.of]
        # a sum that has bounds in one child is watched in all, so that they share a basis
        watched = ~self.exact & self.ranged.any(axis=0)
        self.strength = np.where(
            watched, (self.metric @ rows.T) / np.maximum(rows.sum(axis=1), 1.0) ** 2, 0.0
        )
        self.shapes = self._shapes()
        value = np.concatenate([shape.value[shape.regular] for shape in self.shapes] or [np.ones(1)])
        self.rho = float(np.sqrt(value.max() * value.min())) if value.size else 1.0
        self.dual = np.zeros_like(family.pull)
        self.row_dual = np.zeros(least.shape)
        self.shift = np.zeros(family.cells)
        self.steps = 0
        self.reference = np.zeros_like(family.pull)
        self.recentre(self._start())

    def _shapes(self) -> list[Shape]:
        """Group the children by matrix and kinds of sums, and diagonalise once for each group."""
        family, rows = self.family, self.polytope.rows
        kind = np.column_stack([family.of, self.exact]).astype(np.int64)
        kinds, which = np.unique(kind, axis=0, return_inverse=True)
        shapes = []
        for number in range(len(kinds)):
            who = np.flatnonzero(which.ravel() == number)
            first = int(who[0])
            J = family.information[family.of[first]]
            penalty = np.diag(self.metric[first]) + (rows.T * self.strength[first]) @ rows
            exact = rows[self.exact[first]]
            basis, value, anchor = _diagonal(J, penalty, exact)
            shapes.append(Shape(who, J, penalty, basis, value, exact, anchor))
        return shapes

    def _start(self) -> Floats:
        """Return whole numbers within the bounds, near the minimum of the quadratic form."""
        family, polytope = self.family, self.polytope
        share = np.zeros(family.cells) if polytope.parent is None else polytope.parent / family.children
        x = np.empty_like(family.pull)
        for shape in self.shapes:
            rhs = family.pull[shape.who] + self.rho * (share @ shape.penalty)
            start = np.broadcast_to(share, rhs.shape)
            if len(shape.exact):
                sums = self.polytope.least[np.ix_(shape.who, np.flatnonzero(self.exact[shape.who[0]]))]
                start = start + (sums - start @ shape.exact.T) @ shape.anchor.T
                rhs = rhs - start @ (shape.information + self.rho * shape.penalty)
                start = start + (rhs @ shape.basis / (shape.value + self.rho)) @ shape.basis.T
            else:
                start = (rhs @ shape.basis / (shape.value + self.rho)) @ shape.basis.T
            x[shape.who] = start
        v, _ = nearest_columns(x, self.metric, polytope.low, polytope.high, polytope.parent)
        whole: Floats = np.rint(v)
        return whole

    def recentre(self, reference: Floats) -> None:
        """Count everything from a point: with counts of 10^8 the differences keep their digits."""
        polytope = self.polytope
        self.pull = self.family.pull - self.family.times(reference)
        self.low, self.high = polytope.low - reference, polytope.high - reference
        self.parent = None if polytope.parent is None else polytope.parent - reference.sum(axis=0)
        sums = reference @ polytope.rows.T
        self.least, self.most = polytope.least - sums, polytope.most - sums
        self.v, self.shift = nearest_columns(
            np.zeros_like(reference), self.metric, self.low, self.high, self.parent
        )
        self.z = np.clip(self.v @ polytope.rows.T, self.least, self.most)
        self.reference = reference
        self.offset: dict[int, tuple[Floats, Floats, Floats]] = {}
        for number, shape in enumerate(self.shapes):
            if len(shape.exact):
                at = np.ix_(shape.who, np.flatnonzero(self.exact[shape.who[0]]))
                anchor = self.least[at] @ shape.anchor.T
                self.offset[number] = (anchor, anchor @ shape.information, anchor @ shape.penalty)

    def run(self, steps: int) -> Iterate:
        """Take some steps and return where they lead."""
        rows = self.polytope.rows
        some_rows = bool(self.ranged.any())
        x = np.empty_like(self.v)
        for _ in range(steps):
            rho = self.rho
            target = self.metric * (self.v - self.dual)
            if some_rows:
                target += (self.strength * (self.z - self.row_dual)) @ rows
            for number, shape in enumerate(self.shapes):
                rhs = self.pull[shape.who] + rho * target[shape.who]
                if number in self.offset:
                    anchor, of_information, of_penalty = self.offset[number]
                    rhs -= of_information + rho * of_penalty
                    x[shape.who] = anchor + (rhs @ shape.basis / (shape.value + rho)) @ shape.basis.T
                else:
                    x[shape.who] = (rhs @ shape.basis / (shape.value + rho)) @ shape.basis.T
            before = self.v
            relaxed = _RELAXATION * x + (1.0 - _RELAXATION) * before
            wish = relaxed + self.dual
            self.v, self.shift = nearest_columns(
                wish, self.metric, self.low, self.high, self.parent, self.shift
            )
            self.dual = wish - self.v
            if some_rows:
                wanted = _RELAXATION * (x @ rows.T) + (1.0 - _RELAXATION) * self.z + self.row_dual
                self.z = np.clip(wanted, self.least, self.most)
                self.row_dual = wanted - self.z
            self.steps += 1
            if self.steps % _ADAPT == 0:
                self._adapt(x, before)
        multiplier = -self.rho * self.strength * self.row_dual
        for shape in self.shapes:
            if len(shape.exact):
                at = np.ix_(shape.who, np.flatnonzero(self.exact[shape.who[0]]))
                gradient = x[shape.who] @ shape.information - self.pull[shape.who]
                gradient += self.rho * self.metric[shape.who] * self.dual[shape.who]
                gradient -= multiplier[shape.who] @ rows
                multiplier[at] = gradient @ shape.anchor
        return Iterate(self.v, self.rho * self.shift, multiplier)

    def _adapt(self, x: Floats, before: Floats) -> None:
        """Balance how far the copies are apart against how far they still move."""
        root = np.sqrt(self.metric)
        apart = np.linalg.norm(root * (x - self.v)) / (np.linalg.norm(root * self.v) + 1e-12)
        moved = np.linalg.norm(root * (self.v - before)) / (np.linalg.norm(root * self.dual) + 1e-12)
        if apart == 0.0 or moved == 0.0:
            return
        factor = float(np.clip(np.sqrt(apart / moved), 0.1, 10.0))
        if factor > 2.0 or factor < 0.5:
            # changes become smaller with time: convergence is proved for a penalty that settles
            factor **= 1.0 / (1.0 + self.steps / (25.0 * _ADAPT))
            self.rho *= factor
            self.dual /= factor
            self.row_dual /= factor
            self.shift /= factor


def _metric(family: Family) -> Floats:
    """Return the weight of each cell in the penalty, for each matrix."""
    diagonal = np.array([np.diag(J) for J in family.information])
    largest = diagonal.max(axis=1, initial=0.0)
    typical = float(np.median(largest[largest > 0])) if np.any(largest > 0) else 1.0
    floor = np.maximum(1e-4 * largest, 1e-9 * typical)
    metric: Floats = np.maximum(diagonal, floor[:, None])
    return metric


def _diagonal(J: Floats, penalty: Floats, exact: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the basis and values that make J and the penalty diagonal, and the inverse of exact sums."""
    anchor = np.zeros((len(J), 0))
    within = np.eye(len(J))
    plain = np.diag(penalty)
    if not len(exact) and np.array_equal(penalty, np.diag(plain)):
        root = 1.0 / np.sqrt(plain)
        value, turn = np.linalg.eigh(J * root[:, None] * root)
        return root[:, None] * turn, np.maximum(value, 0.0), anchor
    if len(exact):
        left, size, right = np.linalg.svd(exact, full_matrices=True)
        rank = int((size > 1e-9 * size[0]).sum())
        anchor = (right[:rank].T / size[:rank]) @ left[:, :rank].T
        within = right[rank:].T
    if not within.shape[1]:
        return within, np.zeros(0), anchor
    factor = np.linalg.cholesky(within.T @ penalty @ within)
    half = scipy.linalg.solve_triangular(factor, within.T, lower=True)
    value, turn = np.linalg.eigh(half @ J @ half.T)
    basis: Floats = half.T @ turn
    return basis, np.maximum(value, 0.0), anchor


def nearest_columns(
    wish: Floats,
    weight: Floats,
    low: Floats,
    high: Floats,
    total: Floats | None,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the numbers nearest to `wish` within bounds whose columns add up to `total`, and the shifts.

    The nearest point is clip(wish + shift / weight), with one shift a column. Its sum is piecewise linear in
    the shift: Newton's method from `start`, halving the bracket where a step leaves it.

    >>> wish = np.array([[4.0, 1.0], [2.0, -1.0]])
    >>> low, high = np.zeros((2, 2)), np.full((2, 2), 9.0)
    >>> nearest_columns(wish, np.ones((2, 2)), low, high, np.array([5.0, 1.0]))[0]
    array([[3.5, 1. ],
           [1.5, 0. ]])
    """
    if total is None:
        return np.clip(wish, low, high), np.zeros(wish.shape[1])
    left, right = ((low - wish) * weight).min(axis=0), ((high - wish) * weight).max(axis=0)
    slope = 1.0 / weight
    shift = np.clip((total - wish.sum(axis=0)) / slope.sum(axis=0) if start is None else start, left, right)
    for _ in range(200):
        step = shift * slope
        moved = wish + step
        nearest = np.clip(moved, low, high)
        free = (moved > low) & (moved < high)
        miss = total - nearest.sum(axis=0)
        digits = np.abs(nearest) + free * (np.abs(wish) + np.abs(step))
        away = np.abs(miss) > _ROUNDED * digits.sum(axis=0)
        if not away.any():
            break
        left, right = np.where(miss > 0, shift, left), np.where(miss < 0, shift, right)
        pace = (free * slope).sum(axis=0)
        newton = shift + np.divide(miss, pace, out=np.full_like(miss, np.inf), where=pace > 0)
        better = np.where((newton > left) & (newton < right), newton, 0.5 * (left + right))
        better = np.where(away & (newton != shift), better, shift)
        if np.array_equal(better, shift):
            break
        shift = better
    return nearest, shift
