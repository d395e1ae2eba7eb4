"""The nearest table of a family: the minimum of the quadratic form, with a proved distance to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from discreet.areas.tree import Floats
from discreet.estimation.whole.alternating import Alternation, Iterate, nearest_columns
from discreet.estimation.whole.contradiction import ContradictionError, conflicting
from discreet.estimation.whole.family import Family
from discreet.estimation.whole.interior import interior_point

_CLOSE = 1e-7
"""The gap at which a solution is good, relative to its scale."""
_SMALLEST = 1e-3
"""The smallest scale: half the square of 0.045 standard errors."""
_DIGITS = 1e-9
"""The scale is at least this fraction of what the objective adds up: floats have no more digits."""
SUMS = 1e-6
"""By how much sums may be missed; those above a million, by how much a million."""
_ROUNDS = 3
"""How often an interior point is tried, each time counted from the best point so far."""
LARGEST = 50_000_000
"""Numbers in the matrices of all children up to which an interior point is tried: it keeps six copies."""
_MOST_STEPS = 10_000
_HARMLESS = 1e-4
"""A gap at which no more steps are taken after all else: half the square of 0.014 standard errors, far less
than rounding adds."""
_CHECK = 10
"""Steps between two computations of the gap, at first."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The nearest table and its objective.

    The minimum is at most `gap` below the objective. `scale` is what the objective would gain without
    bounds and the parent's cells, or what floats resolve of it if that is more.
    """

    x: Floats
    objective: float
    steps: int
    gap: float
    scale: float


def solve_family(family: Family) -> Solved:
    """Return the children's cells that minimise the quadratic form within everything that is kept.

    >>> h = np.array([[4.0, 1.0], [2.0, -1.0]])
    >>> solve_family(Family(np.eye(2)[None], np.array([0, 0]), h, np.array([5, 1]))).x.round(6)
    array([[3.5, 1. ],
           [1.5, 0. ]])

    Guarantee: the objective exceeds the minimum by at most `gap`. For a minimum x* and d = x* - x,
    convexity gives f(x*) - f(x) = g'd + d'Jd/2 with the gradient g. Write g = L + s - r, where L'd >= -(slack
    of the sums times their multipliers), s'd >= -(distance from the bounds times s), and
    r'd - d'Jd/2 <= r'J^+ r/2 as long as r is in the range of J; the rest of r is bounded by the widths of the
    cells. The gap is the sum of the three. Where a cell has no upper bound, for want of a parent, its width
    is twice the largest cell: the gap then holds for a minimum that near, and by convexity one t times as
    far away is at most t gaps below. Sums are met to a millionth, and the gap is exact up to the product of
    that and r. Checked by tests/estimation/test_whole_family.py.
    """
    polytope = family.polytope
    if polytope.empty:
        raise ContradictionError(conflicting(family))
    work = Alternation(family, polytope)
    best = _Judge(work)
    while not best.good and work.steps < _patience(family):
        best.see(work.run(_CHECK if work.steps < 10 * _CHECK else 3 * _CHECK))
    if not best.good:
        if not best.kept and (names := conflicting(family)):
            raise ContradictionError(names)
        for _ in range(_ROUNDS if family.children * family.cells**2 <= LARGEST else 0):
            for iterate in interior_point(work):
                work.steps += 1
                best.see(iterate)
                if best.good:
                    return best.solved
            work.recentre(np.rint(best.x))
            best.recentred()
            if not best.kept:
                best.see(_restored(best.x, work, best.nearest))
                if best.good:
                    break
        # where sums leave next to no interior its points stall: alternating directions do not
        while not (best.good or best.harmless) and work.steps < _MOST_STEPS:
            best.see(work.run(3 * _CHECK))
    return best.solved


def _restored(x: Floats, work: Alternation, iterate: Iterate) -> Iterate:
    """Move as few people as possible so that all sums are met, by linear programming."""
    polytope = work.polytope
    start = x - work.reference
    blocks, least, most = [], [], []
    if work.parent is not None:
        blocks.append(scipy.sparse.hstack([scipy.sparse.identity(x.shape[1])] * len(x)))
        least.append(work.parent - start.sum(axis=0))
        most.append(work.parent - start.sum(axis=0))
    if polytope.rows.size:
        blocks.append(scipy.sparse.block_diag([polytope.rows] * len(x)))
        sums = start @ polytope.rows.T
        least.append((work.least - sums).ravel())
        most.append((work.most - sums).ravel())
    if not blocks:
        return Iterate(start, iterate.of_parent, iterate.of_rows)
    matrix = scipy.sparse.vstack(blocks).tocsr()
    room = np.concatenate([(work.high - start).ravel(), (start - work.low).ravel()])
    solved = scipy.optimize.milp(
        np.ones(2 * x.size),
        constraints=scipy.optimize.LinearConstraint(
            scipy.sparse.hstack([matrix, -matrix]), np.concatenate(least), np.concatenate(most)
        ),
        bounds=scipy.optimize.Bounds(0.0, np.maximum(room, 0.0)),
    )
    moved = start
    if solved.x is not None:
        moved = start + (solved.x[: x.size] - solved.x[x.size :]).reshape(x.shape)
    moved, _ = nearest_columns(moved, work.metric, work.low, work.high, work.parent)
    return Iterate(moved, iterate.of_parent, iterate.of_rows)


def _patience(family: Family) -> int:
    """Return after how many steps an interior point is cheaper, which inverts each child about 20 times."""
    size = family.children * family.cells**2
    if size > LARGEST:
        return _MOST_STEPS
    work = size / 1.5e5  # of a step, compared with what it costs anyway
    return min(300 + int(20 * family.cells * work / (1.0 + work)), _MOST_STEPS)


class _Judge:
    """Keeps the best of the points it sees, with its gap."""

    def __init__(self, work: Alternation) -> None:
        self.work = work
        self.gap, self.missed, self.objective, self.scale = np.inf, np.inf, np.inf, np.inf
        self.x = work.reference + work.v
        self.nearest = Iterate(work.v, work.shift, np.zeros(work.least.shape))
        self.recentred()

    def recentred(self) -> None:
        """Count from another reference."""
        work = self.work
        self.lowest = sum(
            shape.lowest(work.pull[shape.who] - work.offset[number][1])
            + float(
                (0.5 * work.offset[number][1] - work.pull[shape.who]).ravel() @ work.offset[number][0].ravel()
            )
            if number in work.offset
            else shape.lowest(work.pull[shape.who])
            for number, shape in enumerate(work.shapes)
        )
        reference = work.reference
        self.at_reference = 0.5 * float(np.vdot(reference, work.family.times(reference))) - float(
            np.vdot(reference, work.family.pull)
        )

    @property
    def solved(self) -> Solved:
        return Solved(self.x, self.objective, self.work.steps, self.gap, self.scale)

    @property
    def kept(self) -> bool:
        return self.missed <= SUMS

    @property
    def good(self) -> bool:
        return self.kept and self.gap <= _CLOSE * self.scale

    @property
    def harmless(self) -> bool:
        return self.kept and self.gap <= _HARMLESS

    def see(self, iterate: Iterate) -> None:
        """Compute the gap of a point, and keep the point if it is the best so far."""
        work = self.work
        x = iterate.x
        curved = work.family.times(x)
        value = 0.5 * float(np.vdot(x, curved)) - float(np.vdot(x, work.pull))
        gap = self._gap(iterate, curved - work.pull)
        missed = work.polytope.excess(work.reference + x)
        if (max(missed, SUMS), gap) < (max(self.missed, SUMS), self.gap):
            self.gap, self.missed = gap, missed
            self.nearest = iterate
            self.x = np.clip(work.reference + x, work.polytope.low, work.polytope.high)
            self.objective = self.at_reference + value
            digits = _DIGITS * float(np.abs(self.x * work.family.pull).sum())
            self.scale = max(value - self.lowest, _SMALLEST, digits)

    def _gap(self, iterate: Iterate, gradient: Floats) -> float:
        work, x = self.work, iterate.x
        rows = work.polytope.rows
        multiplier = np.where((iterate.of_rows > 0) & (work.least == -np.inf), 0.0, iterate.of_rows)
        multiplier = np.where((multiplier < 0) & (work.most == np.inf), 0.0, multiplier)
        gap = 0.0
        if rows.size:
            sums = x @ rows.T
            edge = np.where(multiplier > 0, work.least, np.where(multiplier < 0, work.most, sums))
            gap += float(np.abs(multiplier * (sums - edge)).sum())
            gradient = gradient - multiplier @ rows
        gradients = [gradient]
        up, down = work.high - x, x - work.low
        if work.parent is not None:
            depth = np.minimum(up, down)
            inside = (depth > 1e-3 * depth.max(axis=0)) / work.metric
            some = inside.sum(axis=0)
            mean = (gradient * inside).sum(axis=0) / np.where(some > 0, some, 1.0)
            gradients = [gradient - np.where(some > 0, mean, iterate.of_parent), gradient - iterate.of_parent]
        return gap + min(self._remainder(slope, up, down) for slope in gradients)

    def _remainder(self, gradient: Floats, up: Floats, down: Floats) -> float:
        """Bound what a gradient, freed from all sums, can gain within the bounds of the cells."""
        work = self.work
        reach = 2.0 * (float(down.max(initial=0.0)) + 1.0)
        up = np.where(np.isinf(up), reach, up)
        linear = np.where(gradient > 0, gradient * down, -gradient * up)
        # what is cheaper there is left to the quadratic bound
        diagonal = np.array([np.diag(J) for J in work.family.information])[work.family.of]
        curved = 0.5 * gradient**2 < linear * diagonal
        left = np.where(curved, -gradient, 0.0)
        mixed = float(linear[~curved].sum()) + sum(
            shape.quadratic(left[shape.who], (up + down)[shape.who]) for shape in work.shapes
        )
        return min(mixed, float(linear.sum()))
