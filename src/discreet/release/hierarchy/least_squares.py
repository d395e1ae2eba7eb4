"""The weighted least-squares estimate on a forest, in two passes.

Each node has a measurement y of variance s (infinite: not measured; zero: held exact), and every inner node
is the sum of its children. Upwards, z is the best estimate of a node from what lies at and below it:

    S = sum of the children's z,  W = sum of their v,   1/v = 1/s + 1/W,   z = v (y/s + S/W).

Downwards, what is known from above is shared among the children in proportion to their variances:

    x = z + (v/W) (x_parent - S),   V = v - (v/W)^2 (W - V_parent),      x = z and V = v at a root.

This is the Kalman smoother of a tree, hence the exact solution of the normal equations (Hay et al. 2010 for
equal variances; Honaker 2015). Each node is touched twice. V does not depend on the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.release.hierarchy.forest import Forest

Floats = NDArray[np.float64]


class LeastSquares:
    """Solve for all cells of a query: they share the forest and the variances.

    >>> from discreet.release.hierarchy.forest import Group
    >>> family = Group(np.array([1, 2]), np.array([0]), np.array([0]))
    >>> forest = Forest(np.arange(3), np.array([-1, 0, 0]), (family,))
    >>> solver = LeastSquares(forest, np.array([1.0, 1.0, 1.0]))
    >>> solver.downwards(solver.upwards(np.array([[12.0], [4.0], [5.0]]))).ravel().tolist()
    [11.0, 5.0, 6.0]
    >>> solver.variance.round(6).tolist()
    [0.666667, 0.666667, 0.666667]
    """

    def __init__(self, forest: Forest, noise: Floats) -> None:
        """Prepare the gains; `noise` is the variance of each node's measurement."""
        self.forest = forest
        v = noise.astype(np.float64).copy()
        below = np.full(forest.size, np.inf)
        for group in reversed(forest.groups):
            below[group.parents] = group.sums(v[group.nodes])
            v[group.parents] = _parallel(noise[group.parents], below[group.parents])
        self.below = below
        """The variance of the sum of each node's children, W."""
        self.upward_variance = v
        """The variance of each node from what lies at and below it, v."""
        # How much of z comes from the measurement; a node held exact takes nothing from its children.
        with np.errstate(invalid="ignore", divide="ignore"):
            own = np.where(np.isinf(noise), 0.0, below / (noise + below))
        own[np.isinf(below) | (noise == 0.0)] = 1.0
        self._own = own
        share = np.zeros(forest.size)
        variance = v.copy()
        for group in forest.groups:
            pool = below[group.parents][group.of]
            share[group.nodes] = np.divide(v[group.nodes], pool, out=np.zeros(pool.size), where=pool > 0)
            excess = (below - variance)[group.parents][group.of]
            variance[group.nodes] -= share[group.nodes] ** 2 * excess
        self._share = share
        self.variance = np.maximum(variance, 0.0)
        """The variance of the estimate, V."""

    def upwards(self, y: Floats) -> Floats:
        """Return z, one row a node, one column a cell; y of a node that is not measured is not looked at."""
        z = np.where(self._own[:, None] > 0, y, 0.0)
        for group in reversed(self.forest.groups):
            gain = self._own[group.parents, None]
            sums = group.sums(z[group.nodes])
            z[group.parents] = sums + gain * (z[group.parents] - sums)
        return z

    def downwards(self, z: Floats) -> Floats:
        """Return the estimate x from z."""
        x = z.copy()
        for group in self.forest.groups:
            rest = x[group.parents] - group.sums(z[group.nodes])
            x[group.nodes] += self._share[group.nodes, None] * rest[group.of]
        return x


def _parallel(s: Floats, w: Floats) -> Floats:
    """Return 1 / (1/s + 1/w), for infinite and zero variances too."""
    small, large = np.minimum(s, w), np.maximum(s, w)
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.where(np.isinf(large) | (small == 0.0), small, small / (1.0 + small / large))
    return result
