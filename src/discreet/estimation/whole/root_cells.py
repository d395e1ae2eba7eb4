"""The cells of a unit without a parent: all of its cells are in play, too many for a matrix of pairs.

Alternating directions, in the basis of the components, where the information is block-diagonal: one step
solves small systems, the other projects on what the cells have to keep, one table of disjoint groups at a
time. The cells at zero are found well before the others are exact, so a solution that is nearly one says
which cells are in play; those are few, and are solved for as in any family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers
from discreet.estimation.component import ByComponent
from discreet.estimation.model import ApartProjection
from discreet.estimation.projection import Projection

STEPS = 4000
OVER = 1.6
CLOSE = 1e-9
"""Residuals relative to the largest cell at which the steps end."""
MANY = 100_000
"""Cells from which on fewer digits do, as the numbers are rounded to whole ones at once: ..."""
NEAR = 1e-3
ADAPT = 25
"""Steps between two changes of the penalty."""
MARGIN = 3.0
"""Cells count as in play if their slack is at most its error times this."""


@dataclass(frozen=True)
class RootSolution:
    """Cells that minimise a quadratic form, and the multipliers that show which cells are in play."""

    x: Floats
    slack: Floats
    """How fast the objective grows with a cell that is zero, up to `error`: about 0 if it is in play."""
    error: float
    steps: int

    def in_play(self) -> Integers:
        """Return the cells above zero, and those that may be; of very many only those above zero."""
        may = self.slack < MARGIN * self.error if len(self.x) <= MANY else np.zeros(len(self.x), dtype=bool)
        found: Integers = np.flatnonzero((self.x > 0) | may)
        return found


def solve_root_cells(
    projection: Projection | ApartProjection,
    J: ByComponent,
    h: ByComponent,
    possible: NDArray[np.bool_],
    tables: Sequence[tuple[Integers, Floats, Floats]] = (),
    weight: Floats | None = None,
    most: int = STEPS,
) -> RootSolution:
    """Return the cells x >= 0 that minimise x'Jx/2 - h'x, with least and largest counts of the groups of
    tables, each cell counted as often as its `weight` says, or where `most` steps lead.

    J (size, size) and h (size, copies) are by component. Cells that are not possible are zero.

    >>> from discreet.budget import Attributes
    >>> from discreet.estimation.projection import Components
    >>> table = Attributes({"sex": ["f", "m", "x"]}).tabulation("sex")
    >>> components = Components((3,), [table])
    >>> h = [part[0] for part in components.projection(table).collect(np.array([[4.0, 1.0, -2.0]]))]
    >>> J, every = [np.eye(one.size) for one in components], np.ones(3, dtype=bool)
    >>> solve_root_cells(components.projection(table), J, h, every).x.round(6).tolist()
    [4.0, 1.0, 0.0]
    """
    spectra = [np.linalg.eigh(one) for one in J]
    sizes = np.concatenate([np.maximum(values, 0.0) for values, _ in spectra])
    largest = float(sizes.max(initial=0.0)) or 1.0
    times = np.ones(len(possible)) if weight is None else weight
    sets = [_Kept(possible, times, *table) for table in tables] or [_Kept(possible, times, None, None, None)]
    some = sizes[sizes > 1e-12 * largest]
    rho = float(np.exp(np.log(some).mean())) if some.size else 1.0
    many = len(sets)
    v = [np.zeros(len(possible)) for _ in sets]
    u = [np.zeros(len(possible)) for _ in sets]
    x = np.zeros(len(possible))
    steps = 0
    while steps < most:
        steps += 1
        asked = projection.collect(sum((a - b for a, b in zip(v, u, strict=True)), np.zeros_like(x))[None])
        found = []
        for (values, vectors), pull, wish in zip(spectra, h, asked, strict=True):
            right = vectors.T @ (pull + rho * wish[0])
            found.append((vectors @ (right / (np.maximum(values, 0.0) + many * rho)[:, None]))[None])
        x = projection.read(found)[0]
        moved, missed = 0.0, 0.0
        for place, kept in enumerate(sets):
            wide = OVER * x + (1 - OVER) * v[place]
            new = kept.nearest(wide + u[place])
            u[place] += wide - new
            moved = max(moved, float(np.abs(new - v[place]).max(initial=0.0)))
            missed = max(missed, float(np.abs(x - new).max(initial=0.0)))
            v[place] = new
        scale = (CLOSE if len(possible) <= MANY else NEAR) * max(1.0, float(np.abs(x).max(initial=0.0)))
        if moved < scale and missed < scale:
            break
        if steps % ADAPT == 0:
            factor = float(np.clip(np.sqrt(max(missed, 1e-300) / max(moved, 1e-300)), 0.2, 5.0))
            if not 0.5 < factor < 2.0:
                rho *= factor
                u = [one / factor for one in u]
    # at the minimum the gradient of a cell is the sum of what each set pulls it by, which is rho u
    push = sum(
        (kept.own(rho * one, near) for kept, one, near in zip(sets, u, v, strict=True)), np.zeros_like(x)
    )
    x = np.minimum.reduce(v)
    pulled = [one @ cells for one, cells in zip(J, projection.collect(x[None]), strict=True)]
    gradient = projection.read([one - pull for one, pull in zip(pulled, h, strict=True)])[0]
    error = float(np.abs(gradient + rho * np.sum(u, axis=0))[possible].max(initial=0.0))
    return RootSolution(x, np.where(possible, -push, np.inf), error, steps)


class _Kept:
    """Cells at least zero, and sums of the groups of one table within limits."""

    def __init__(
        self,
        possible: NDArray[np.bool_],
        weight: Floats,
        label: Integers | None,
        lower: Floats | None,
        upper: Floats | None,
    ) -> None:
        self._possible, self._weight = possible, weight
        self._groups: list[Integers] = []
        if label is None or lower is None or upper is None:
            return
        self._limits = [
            (np.flatnonzero((label == group) & possible), float(lower[group]), float(upper[group]))
            for group in range(len(lower))
            if lower[group] > 0 or upper[group] < np.inf
        ]
        self._groups = [cells for cells, _, _ in self._limits]

    def nearest(self, wish: Floats) -> Floats:
        """Return the nearest cells that keep everything."""
        found: Floats = np.where(self._possible, np.maximum(wish, 0.0), 0.0)
        for place, cells in enumerate(self._groups):
            total = float(found[cells] @ self._weight[cells])
            _, least, most = self._limits[place]
            if total < least or total > most:
                edge = least if total < least else most
                found[cells] = on_simplex(wish[cells], edge, self._weight[cells])
        return found

    def own(self, pull: Floats, near: Floats) -> Floats:
        """Return what of a pull comes from single cells: less that of their groups' sums, which is that of a
        cell above zero."""
        found = pull.copy()
        for cells in self._groups:
            above = cells[near[cells] > 0]
            if above.size:
                found[cells] -= float(np.median(pull[above] / self._weight[above])) * self._weight[cells]
        return found


def on_simplex(wish: Floats, total: float, weight: Floats | None = None) -> Floats:
    """Return the cells at least zero with this sum, or weighted sum, nearest to `wish`.

    >>> on_simplex(np.array([3.0, 1.0, -2.0]), 3.0).tolist()
    [2.5, 0.5, 0.0]
    >>> on_simplex(np.array([3.0, 1.0, -2.0]), 3.0, np.array([1.0, 2.0, 1.0])).round(6).tolist()
    [2.6, 0.2, 0.0]
    """
    if total <= 0 or not wish.size:
        return np.zeros_like(wish)
    times = np.ones_like(wish) if weight is None else weight
    order = np.argsort(-wish / times, kind="stable")
    excess = (np.cumsum((wish * times)[order]) - total) / np.cumsum(times[order] ** 2)
    last = max(int(np.count_nonzero((wish / times)[order] > excess)) - 1, 0)
    found: Floats = np.maximum(wish - excess[last] * times, 0.0)
    return found
