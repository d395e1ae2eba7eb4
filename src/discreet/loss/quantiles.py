"""Tails and quantiles of a loss on a lattice, also where the lattice is too fine to be summed over.

Quantiles are found from the exact tails, and moved to the point of the lattice. Where the lattice is too
fine, tails are differences of delta, or those of a grid (`GridTails`), which are off by a few
hundred-thousandths of a standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.loss.contour import Quadrature
from discreet.loss.grids import Grid, GridTails
from discreet.loss.lattice import Floats, Loss
from discreet.noise import Noise

if TYPE_CHECKING:
    from discreet.loss.lattice_evaluator import LatticeEvaluator

_NEAR = np.array([-0.03, -0.001, 0.001, 0.03])


def loss_quantiles(law: LatticeEvaluator, chances: Sequence[float]) -> Floats:
    """Return quantiles of the loss with the target present: points of its lattice, or 1e-9 deviations off.

    Of a loss that has no usable lattice and is not smooth they are bounds, at most 1e-3 deviations above.

    >>> from discreet.loss.lattice_evaluator import LatticeEvaluator
    >>> from discreet.noise import DiscreteLaplace
    >>> law = LatticeEvaluator([DiscreteLaplace(scale=1, times=2)])
    >>> loss_quantiles(law, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    [-2.0, 0.0, 2.0, 2.0, 2.0]
    """
    above = 1.0 - np.array(chances)
    if _is_fine(law):
        return _fine_quantiles(law, above)
    composed = law.loss
    deviation, lattice, offset = math.sqrt(law.variance), composed.step, composed.offset
    # Cantelli: beyond k standard deviations on one side lies at most 1 / (1 + k^2)
    reach = 1.001 * deviation * np.sqrt(1.0 / np.minimum(above, 1.0 - above).min() - 1.0) + 1e-9
    points, tails = law.mean + np.array([-reach, reach]), np.array([1.0, 0.0])
    enough = max(1e-9 * deviation + 4e-16 * abs(law.mean), 0.9 * float(lattice))
    asked = law.mean + deviation * np.linspace(-2.6, 2.6, 14)
    while asked.size:  # few rounds of several points: tails asked for together share their work
        points, tails = np.append(points, asked), np.append(tails, _exact_tails(law, asked))
        order = np.argsort(points)
        points, tails = points[order], tails[order]
        after = np.maximum((tails <= above[:, None] + 1e-15).argmax(axis=1), 1)
        low, high = points[after - 1], points[after]
        # the middle, and points close to where a smooth tail would have the value
        share = (tails[after - 1] - above) / np.maximum(tails[after - 1] - tails[after], 1e-300)
        steps = np.append(np.clip(share[:, None] + _NEAR, 0.0, 1.0), np.full((share.size, 1), 0.5), axis=1)
        open_ = high - low > enough
        asked = np.unique((low[:, None] + (high - low)[:, None] * steps)[open_])
        asked = asked[~np.isin(asked, points)]
    quantiles = []
    for left, right in zip(low.tolist(), high.tolist(), strict=True):
        point = offset + lattice * math.floor((Fraction(right) - offset) / lattice)
        quantiles.append(float(point) if point >= Fraction(left) else right)
    return np.maximum.accumulate(quantiles)


def loss_tails(law: LatticeEvaluator, points: Floats, *, null: bool = False) -> Floats:
    """Return P[L > t] with the target, or without; where only bounds are quick, the upper one.

    >>> from discreet.loss.lattice_evaluator import LatticeEvaluator
    >>> from discreet.noise import DiscreteLaplace
    >>> loss_tails(LatticeEvaluator([DiscreteLaplace(scale=1)]), np.array([0.0])).round(4).tolist()
    [0.7311]
    """
    if _is_fine(law):
        return _fine_tails(law, points)[1 if null else 0]
    return _exact_tails(law, points, null=null)


def both_tails(law: LatticeEvaluator, points: Floats) -> tuple[Floats, Floats]:
    """Return P[L > t] with the target and without, which share much of their work."""
    if _is_fine(law):
        return _fine_tails(law, points)
    return _exact_tails(law, points), _exact_tails(law, points, null=True)


def _fine_tails(law: LatticeEvaluator, points: Floats) -> tuple[Floats, Floats]:
    smooth = _smooth_tails(law, points)
    if smooth is not None:
        return smooth
    grid = _grid_tails(law.events)
    return grid.at(points)[1], grid.at(points, null=True)[1]


def _is_fine(law: LatticeEvaluator) -> bool:
    """Whether a tail takes long: the lattice is too fine to be summed over."""
    engine = law.engine
    is_cut = isinstance(engine, Quadrature) and engine.remainder > 0
    is_fine = is_cut and float(law.loss.step) < 1e-6 * math.sqrt(law.variance)
    return is_fine or isinstance(engine, Grid)


def _exact_tails(law: LatticeEvaluator, points: Floats, *, null: bool = False) -> Floats:
    exact = [Fraction(point) for point in points]
    return law.tail(exact, under="null" if null else "alternative")


def _smooth_tails(law: LatticeEvaluator, points: Floats) -> tuple[Floats, Floats] | None:
    """P[L > t] with the target and without, of a law that is smooth but for its lattice, from delta."""
    if isinstance(law.engine, Grid):
        return None  # delta is not known well enough
    return tails_by_differences(lambda at: np.asarray(law.delta(epsilon=at)), points, math.sqrt(law.variance))


def _fine_quantiles(law: LatticeEvaluator, above: Floats) -> Floats:
    """Quantiles by a grid, and between its bounds by the smooth tail, which is straight so close."""
    grid = _grid_tails(law.events)
    high = grid.quantiles(1.0 - above)
    low = high - 3.0 * grid.apart
    ends = _smooth_tails(law, np.append(low, high))
    if ends is None:
        return high
    first, last = np.split(ends[0], 2)
    share = np.clip((first - above) / np.maximum(first - last, 1e-300), 0.0, 1.0)
    return np.maximum.accumulate(low + share * (high - low))


@lru_cache(maxsize=2)
def _grid_tails(events: tuple[Noise, ...]) -> GridTails:
    """The tails of a loss on a grid, kept: quantiles and single tails are asked for in turn."""
    return GridTails.of(Loss(events))


def tails_by_differences(
    delta: Callable[[Floats], Floats], points: Floats, deviation: float
) -> tuple[Floats, Floats] | None:
    """P[L > t] with the target and without, from delta alone; None where that does not do.

    By delta(t) = P1[L > t] - e^t P0[L > t], whose slope is -e^t P0[L > t]: where the points of the lattice
    are too close to matter, and the line of integration is cut off rather than summed to its end, differences
    of delta give the tails to 1e-9, many times faster than the tails themselves come. Differences over two
    distances that disagree say that the law is not as smooth as that.
    """
    h = 3e-3 * deviation
    steps = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
    around = delta((points + h * steps[:, None]).ravel())
    a, b, c, d, e, f, g = np.moveaxis(around.reshape(*around.shape[:-1], 7, -1), -2, 0)
    slope, wider = (b - 8 * c + 8 * e - f) / (12 * h), (a - 8 * b + 8 * f - g) / (24 * h)
    if not np.abs(slope - wider).max() < 2e-9:
        return None
    return np.clip(d - slope, 0.0, 1.0), np.clip(-slope * np.exp(-points), 0.0, 1.0)
