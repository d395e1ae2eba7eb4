"""An interior-point method for families on which alternating directions are slow.

Newton's method on the conditions of optimality, with a predictor and a corrector (Mehrotra). Each child
contributes a dense matrix, inverted separately; one system in the parent's cells couples them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats
from discreet.estimation.whole.alternating import Alternation, Iterate, nearest_columns

_STEPS = 100
_PROXIMAL = 1e-8
"""How much a step is held back in directions without information, relative to the information elsewhere."""
_REFINE = 2
"""How often the solution of a system is corrected by what it leaves."""
_SHORT = 0.99
"""How much of the way to the boundary a step may go."""


def interior_point(work: Alternation) -> Iterator[Iterate]:
    """Yield points that approach the minimum, counted from the reference of the alternation."""
    state = _State(work)
    for _ in range(_STEPS):
        with np.errstate(all="ignore"):  # the last steps may leave the range of floats, which ends them
            if not state.advance():
                return
        x = np.clip(state.x, work.low, work.high)
        x, _ = nearest_columns(x, work.metric, work.low, work.high, work.parent)
        yield Iterate(x, state.column, state.row)


class _State:
    """Cells x within [low, high] and sums z within [least, most], with the multipliers of all bounds."""

    def __init__(self, work: Alternation) -> None:
        self.work = work
        family, rows = work.family, work.polytope.rows
        self.J = family.information[family.of]
        self.fixed = work.high - work.low <= 0
        self.low, self.high = work.low, np.where(self.fixed, work.low + 1.0, work.high)
        self.free = ~self.fixed
        self.has_high = np.isfinite(self.high) & self.free
        self.ranged, self.exact = work.ranged, work.exact
        self.rows = (self.ranged | self.exact)[:, :, None] * rows
        self.rows = self.rows * self.free[:, None, :]
        self.moving = np.where(self.free, 0.0, work.low)  # what fixed cells contribute
        span = np.where(np.isfinite(self.high), self.high - self.low, 10.0 + np.abs(self.low))
        margin = np.minimum(0.5 * span, 1.0)
        self.x = np.where(self.free, np.clip(work.v, self.low + margin, self.low + span - margin), work.low)
        self.z = self._sums(self.x)
        least, most = work.least, work.most
        wide = np.where(
            np.isfinite(most - least), most - least, 10.0 + np.abs(np.where(np.isfinite(least), least, 0))
        )
        edge = np.minimum(0.5 * wide, 1.0)
        self.z = np.where(
            self.ranged,
            np.clip(
                self.z,
                np.where(least > -np.inf, least + edge, -np.inf),
                np.where(most < np.inf, most - edge, np.inf),
            ),
            0.0,
        )
        self.has_least, self.has_most = self.ranged & (least > -np.inf), self.ranged & (most < np.inf)
        gradient = self._curved(self.x) - work.pull
        if work.parent is not None:
            gradient = gradient - gradient.mean(axis=0)
        size = max(float(np.abs(gradient[self.free]).max(initial=0.0)), 1e-12)
        # all products of distance and multiplier start equal
        with np.errstate(divide="ignore", invalid="ignore"):
            self.s = np.where(self.free, size / (self.x - self.low), 0.0)
            self.t = np.where(self.has_high, size / (self.high - self.x), 0.0)
            self.p = np.where(self.has_least, size / (self.z - least), 0.0)
            self.q = np.where(self.has_most, size / (most - self.z), 0.0)
        self.column = np.zeros(family.cells)
        self.row = np.zeros(least.shape)
        self.many = int(self.free.sum() + self.has_high.sum() + self.has_least.sum() + self.has_most.sum())

    def _curved(self, x: Floats) -> Floats:
        return self.work.family.times(x)

    def _sums(self, x: Floats) -> Floats:
        sums: Floats = x @ self.work.polytope.rows.T
        return sums

    def advance(self) -> bool:
        """Take one step; False if none is left to take."""
        work = self.work
        if not self.many:
            return False
        below = np.where(self.free, self.x - self.low, 1.0)
        above = np.where(self.has_high, self.high - self.x, 1.0)
        under = np.where(self.has_least, self.z - work.least, 1.0)
        over = np.where(self.has_most, work.most - self.z, 1.0)
        duality = float(
            (self.s * below)[self.free].sum()
            + (self.t * above)[self.has_high].sum()
            + (self.p * under)[self.has_least].sum()
            + (self.q * over)[self.has_most].sum()
        )
        mu = duality / self.many
        if not np.isfinite(mu) or mu < 1e-300:
            return False
        barrier = self.s / below + self.t / above
        stiff = self.p / under + self.q / over
        try:
            self._factor(barrier, stiff)
        except np.linalg.LinAlgError:
            return False
        tied = self._multiplied()
        dual = self._curved(self.x) - work.pull - tied
        primal = np.zeros(self.z.shape)
        sums = self._sums(self.x)
        primal = np.where(self.exact, work.least - sums, np.where(self.ranged, self.z - sums, 0.0))
        short = None if work.parent is None else work.parent - self.x.sum(axis=0)

        def direction(mu_target: float, second: tuple[Floats, ...] | None) -> tuple[Floats, ...]:
            a, b, c, d = second if second is not None else (0.0, 0.0, 0.0, 0.0)
            cs = np.where(self.free, (mu_target - a) / below, 0.0)
            ct = np.where(self.has_high, (mu_target - b) / above, 0.0)
            cp = np.where(self.has_least, (mu_target - c) / under, 0.0)
            cq = np.where(self.has_most, (mu_target - d) / over, 0.0)
            r1 = np.where(self.free, cs - ct - dual, 0.0)
            # rows: row = p - q, so d row = (cp - cq) - row - stiff dz, and dz = rows dx - primal
            pull = np.where(self.ranged, cp - cq - self.row, 0.0)
            soft = np.where(self.ranged, 1.0 / np.maximum(stiff, 1e-300), 0.0)
            r2 = np.where(self.ranged, primal + soft * pull, primal)
            dx, dcolumn, drow = self._solve(r1, r2, short)
            dz = np.where(self.ranged, soft * (pull - drow), 0.0)
            ds = np.where(self.free, cs - self.s - self.s / below * dx, 0.0)
            dt = np.where(self.has_high, ct - self.t + self.t / above * dx, 0.0)
            dp = np.where(self.has_least, cp - self.p - self.p / under * dz, 0.0)
            dq = np.where(self.has_most, cq - self.q + self.q / over * dz, 0.0)
            return dx, dz, dcolumn, drow, ds, dt, dp, dq

        def lengths(step: tuple[Floats, ...]) -> tuple[float, float]:
            dx, dz, _, _, ds, dt, dp, dq = step
            primal_length = min(
                _reach(below, dx, self.free),
                _reach(above, -dx, self.has_high),
                _reach(under, dz, self.has_least),
                _reach(over, -dz, self.has_most),
            )
            dual_length = min(
                _reach(self.s, ds, self.free),
                _reach(self.t, dt, self.has_high),
                _reach(self.p, dp, self.has_least),
                _reach(self.q, dq, self.has_most),
            )
            return primal_length, dual_length

        first = direction(0.0, None)
        if not np.isfinite(first[0]).all():
            return False
        one, two = (min(1.0, length) for length in lengths(first))
        one = two = min(one, two)
        dx, dz, _, _, ds, dt, dp, dq = first
        ahead = float(
            ((self.s + two * ds) * (below + one * dx))[self.free].sum()
            + ((self.t + two * dt) * (above - one * dx))[self.has_high].sum()
            + ((self.p + two * dp) * (under + one * dz))[self.has_least].sum()
            + ((self.q + two * dq) * (over - one * dz))[self.has_most].sum()
        )
        target = mu * min(1.0, max(ahead / duality, 0.0)) ** 3
        step = direction(target, (ds * dx, -dt * dx, dp * dz, -dq * dz))
        if not np.isfinite(step[0]).all():
            return False
        one, two = (min(1.0, _SHORT * length) for length in lengths(step))
        one = two = min(one, two)
        if one < 1e-8:
            return False
        dx, dz, dcolumn, drow, ds, dt, dp, dq = step
        self.x = self.x + one * dx
        self.z = self.z + one * dz
        self.column, self.row = self.column + two * dcolumn, self.row + two * drow
        self.s, self.t = self.s + two * ds, self.t + two * dt
        self.p, self.q = self.p + two * dp, self.q + two * dq
        return True

    def _multiplied(self) -> Floats:
        multiplied: Floats = self.row @ self.work.polytope.rows
        if self.work.parent is not None:
            multiplied = multiplied + self.column
        return multiplied

    def _factor(self, barrier: Floats, stiff: Floats) -> None:
        """Invert what each child contributes, and what couples them."""
        cells = self.x.shape[1]
        both = self.free[:, :, None] & self.free[:, None, :]
        F = np.where(both, self.J, 0.0)
        diagonal = np.arange(cells)
        size = np.abs(F[:, diagonal, diagonal]).max(axis=1)
        barrier = barrier + _PROXIMAL * (size[:, None] + 1e-12)
        F[:, diagonal, diagonal] += np.where(self.free, barrier, 1.0)
        scale = 1.0 / np.sqrt(F[:, diagonal, diagonal])
        F = F * scale[:, :, None] * scale[:, None, :]
        inverse = np.linalg.inv(F) * scale[:, :, None] * scale[:, None, :]
        inverse = np.where(both, 0.5 * (inverse + inverse.transpose(0, 2, 1)), 0.0)
        self.inverse, self.barrier = inverse, barrier
        self.projected = inverse
        if self.rows.shape[1]:
            self.spread = inverse @ self.rows.transpose(0, 2, 1)
            middle = self.rows @ self.spread
            index = np.arange(self.rows.shape[1])
            weight = np.maximum(middle[:, index, index], 1e-300)
            soft = np.where(self.ranged, 1.0 / np.maximum(stiff, 1e-300), 1e-11 * weight)
            soft = np.where(self.ranged | self.exact, soft, 1.0)
            soft = np.maximum(soft, np.where(weight <= 1e-300, 1.0, 0.0))
            middle[:, index, index] += soft
            self.soft = soft
            self.middle = np.linalg.inv(middle)
            self.projected = inverse - self.spread @ self.middle @ self.spread.transpose(0, 2, 1)
        if self.work.parent is not None:
            total = self.projected.sum(axis=0)
            size, alone = np.diag(total), np.diag(self.inverse.sum(axis=0))
            # a column that other sums fix already cannot move: what is left of it is rounding
            moves = size > 1e-13 * alone
            scale = np.where(moves, 1.0 / np.sqrt(np.where(moves, size, 1.0)), 0.0)
            value, vector = np.linalg.eigh(total * scale[:, None] * scale)
            good = value > 1e-14
            self.coupling = (vector[:, good] / value[good]) @ vector[:, good].T * scale[:, None] * scale

    def _solve(self, r1: Floats, r2: Floats, short: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Solve F dx - rows' drow - dcolumn = r1, rows dx + soft drow = r2, columns of dx sum to short."""
        dx, column, drow = self._once(r1, r2, short)
        for _ in range(_REFINE):
            left = r1 - np.where(self.free, self.work.family.times(dx) + self.barrier * dx - column, 0.0)
            if self.rows.shape[1]:
                left = left + _each(self.rows.transpose(0, 2, 1), drow)
                r2_left = r2 - _each(self.rows, dx) - np.where(self.ranged, self.soft, 0.0) * drow
            else:
                r2_left = r2
            gap = None if short is None else short - dx.sum(axis=0)
            more = self._once(left, r2_left, gap)
            dx, column, drow = dx + more[0], column + more[1], drow + more[2]
        return dx, column, drow

    def _once(self, r1: Floats, r2: Floats, short: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Solve the same with the inverses as they are."""
        drow = np.zeros(self.row.shape)
        column = np.zeros(r1.shape[1])
        own = _each(self.projected, r1)
        if self.rows.shape[1]:
            own = own + _each(self.spread, _each(self.middle, r2))
        if short is not None:
            column = self.coupling @ (short - own.sum(axis=0))
        dx = own + _each(self.projected, np.broadcast_to(column, r1.shape))
        if self.rows.shape[1]:
            force = np.where(self.free, r1 + column, 0.0)
            drow = _each(self.middle, r2 - _each(self.rows, _each(self.inverse, force)))
        return dx, column, drow


def _each(matrices: Floats, vectors: Floats) -> Floats:
    """Multiply each matrix with its vector."""
    each: Floats = np.matmul(matrices, vectors[:, :, None])[:, :, 0]
    return each


def _reach(distance: Floats, move: Floats, where: NDArray[np.bool_]) -> float:
    """Return how far one can go along `move` until a distance is zero."""
    toward = where & (move < 0)
    if not toward.any():
        return np.inf
    return float((-distance[toward] / move[toward]).min())
