"""Honest intervals: the error of an estimate is a sum of discrete noises, sometimes of one that dominates.

Where the noise of one measurement, or of a few, carries the error, a Gaussian interval is wrong: a State's
total has weight 0.99 on one noise of variance 1.2, and its nominal 90 % interval covers 84.7 %. So terms are
taken with their exact law, the largest weight first, as long as what is finer than half of that weight has a
standard deviation below 0.6 of it; the rest is Gaussian, and hides the lattice of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.estimation.model import ByComponent, Model, Told, size_of
from discreet.estimation.tree import Floats, Integers, Solution, Tree
from discreet.noise import Noise

SMOOTH = 0.6
"""A rest of this many weights of the largest term hides its lattice."""

MOST_TERMS = 8
"""More terms of one size than this are as good as Gaussian together."""
MOST_POINTS = 200_000
TAIL = 1e-9


@dataclass(frozen=True, slots=True)
class Term:
    """A noise that enters an estimate with this weight, so many times over independently."""

    weight: float
    law: Noise
    times: int = 1


def half_widths(variances: Floats, terms: Sequence[Sequence[Term]], level: float) -> Floats:
    """Return the w for which |error| <= w has at least the chance `level`, for many errors at once, each with
    its variance and the terms in it.

    >>> from discreet.noise import DiscreteGaussian
    >>> one = DiscreteGaussian(1)
    >>> half_widths(np.array([100.0, one.true_variance()]), [[], [Term(1.0, one)]], 0.9).round(4).tolist()
    [16.4485, 2.0]
    """
    found: Floats = _normal(level) * np.sqrt(np.maximum(variances, 0.0))
    sizes: dict[int, float] = {}  # a law's variance, by identity: hashes of fractions are slow
    single: dict[Noise, list[tuple[int, float, float]]] = {}
    for place, (variance, some) in enumerate(zip(variances.tolist(), terms, strict=True)):
        if variance <= 0.0 or not some:
            continue
        for one in some:
            if id(one.law) not in sizes:
                sizes[id(one.law)] = size_of(one.law)
        chosen, rest = _dominating(variance, some, sizes)
        if not chosen:
            continue
        if len(chosen) == 1 and chosen[0].times == 1 and rest > 0.0:
            single.setdefault(chosen[0].law, []).append((place, abs(chosen[0].weight), math.sqrt(rest)))
        else:
            found[place] = _exact_width(variance, chosen, rest, level)
    for law, rows in single.items():
        places, weights, deviations = (np.array(column) for column in zip(*rows, strict=True))
        found[places] = _single_widths(law, weights, deviations, level)
    return found


def _dominating(variance: float, terms: Sequence[Term], sizes: dict[int, float]) -> tuple[list[Term], float]:
    """Return the terms to be taken with their exact law, and the variance of the rest."""
    ranked = sorted(terms, key=lambda one: -abs(one.weight))
    parts = [one.times * one.weight**2 * sizes[id(one.law)] for one in ranked]
    weights = [abs(one.weight) for one in ranked]
    many = 0
    while many < len(ranked) and weights[many] > 1e-6:
        # what is finer than half of this weight can smooth it; terms of its own size make the same lattice
        finer = variance - sum(
            part for part, one in zip(parts, weights, strict=True) if one > weights[many] / 2
        )
        if SMOOTH * weights[many] <= math.sqrt(max(finer, 0.0)):
            break
        many += 1
    if sum(term.times for term in ranked[:many]) > MOST_TERMS:
        return [], variance
    rest = variance - sum(parts[:many])
    return ranked[:many], rest if rest > 1e-9 * variance else 0.0


def _exact_width(variance: float, chosen: Sequence[Term], rest: float, level: float) -> float:
    points, chances = _law(chosen)
    if rest == 0.0:
        far = np.round(np.abs(points), 9)
        order = np.argsort(far, kind="stable")
        reached = int(np.searchsorted(np.cumsum(chances[order]), level - 1e-12))
        return float(far[order][min(reached, len(order) - 1)])
    deviation = math.sqrt(rest)
    high = 12.0 * math.sqrt(variance) + 12.0 * max(abs(term.weight) for term in chosen)
    return float(_root(points[None], chances, np.array([deviation]), np.array([high]), level)[0])


def _single_widths(law: Noise, weights: Floats, deviations: Floats, level: float) -> Floats:
    """Return half-widths of weight * noise + a Gaussian, for many weights and Gaussians."""
    reach = max(1, _reach(law))
    steps = np.arange(-reach, reach + 1)
    chances = law.pmf(steps)
    high = 12.0 * (deviations + weights * (1.0 + math.sqrt(law.true_variance())))
    found = np.empty(len(weights))
    rows = max(1, (1 << 20) // len(steps))
    for start in range(0, len(weights), rows):
        part = slice(start, start + rows)
        found[part] = _root(weights[part, None] * steps, chances, deviations[part], high[part], level)
    return found


def _root(points: Floats, chances: Floats, deviations: Floats, high: Floats, level: float) -> Floats:
    """Return for each row of points the w with the chance `level`; the law is symmetric."""
    low = np.zeros_like(high)
    for _ in range(50):
        middle = (low + high) / 2
        inside = 2.0 * (_cdf((middle[:, None] - points) / deviations[:, None]) @ chances) - chances.sum()
        enough = inside >= level
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _law(terms: Sequence[Term]) -> tuple[Floats, Floats]:
    """Return the points and chances of a sum of few terms."""
    points: Floats = np.zeros(1)
    chances: Floats = np.ones(1)
    for term in terms:
        reach = max(1, _reach(term.law))
        one = term.law.pmf(np.arange(-reach, reach + 1))
        law: Floats = one
        for _ in range(term.times - 1):
            law = np.asarray(np.convolve(law, one), dtype=np.float64)
        steps = term.weight * (np.arange(len(law)) - len(law) // 2)
        keep = law > TAIL
        points = (points[:, None] + steps[keep]).ravel()
        chances = (chances[:, None] * law[keep]).ravel()
        if len(points) > MOST_POINTS // 100:
            points, of = np.unique(np.round(points, 9), return_inverse=True)
            chances = np.asarray(np.bincount(of.ravel(), weights=chances), dtype=np.float64)
        if len(points) > MOST_POINTS:
            keep = chances > np.sort(chances)[-MOST_POINTS]
            points, chances = points[keep], chances[keep]
    return points, chances


@lru_cache(maxsize=4096)
def _reach(law: Noise) -> int:
    """Return the smallest m that the noise exceeds with a chance of at most 5e-10.

    Floats are good enough to say where a law is cut off, and do not load ball arithmetic.
    """
    far = math.ceil(25.0 * math.sqrt(law.true_variance())) + 2  # beyond it even Laplace noise has 1e-15
    above = np.cumsum(law.pmf(np.arange(far, 0, -1)))[::-1]  # the chance of 1 or more, of 2 or more, ...
    return int(np.count_nonzero(above > 5e-10))


@lru_cache(maxsize=64)
def _normal(level: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1.0 + level) / 2)


def _cdf(x: Floats) -> Floats:
    if x.size > 2000:
        from scipy.special import ndtr  # slow to load, fast on many

        return np.asarray(ndtr(x), dtype=np.float64)
    found: Floats = 0.5 * _erfc(-x / math.sqrt(2.0))
    return found


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of intervals, and where nothing was left of one but the nearest number that can be."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    moved: NDArray[np.bool_]


def count_ends(estimate: Floats, width: Floats) -> Ends:
    """Return intervals of counts: ends rounded inwards to whole numbers, none below zero.

    Where nothing is left, it is the nearest whole number that is not negative.

    >>> ends = count_ends(np.array([4.3, -3.0]), np.array([1.5, 1.0]))
    >>> ends.lower.tolist(), ends.upper.tolist(), ends.moved.tolist()
    ([3.0, 0.0], [5.0, 0.0], [False, True])
    """
    lower = np.maximum(np.ceil(estimate - width - 1e-9), 0.0)
    upper = np.floor(estimate + width + 1e-9)
    moved = upper < lower
    nearest = np.maximum(np.rint(estimate), 0.0)
    return Ends(np.where(moved, nearest, lower), np.where(moved, nearest, upper), moved)


class View:
    """The covariances of a model on a tree, as variances and laws of cells of queries at nodes."""

    def __init__(
        self, model: Model, shape: Tree, told: Sequence[Told], solutions: Sequence[Solution]
    ) -> None:
        self.model, self.shape, self.told, self.solutions = model, shape, tuple(told), list(solutions)
        self._P: ByComponent = [one.P for one in solutions]
        self._nulls: ByComponent = [one.nulls() for one in solutions]
        self._uncertain: ByComponent = [one.uncertain() for one in solutions]
        self._widths: dict[tuple[str, float], Floats] = {}
        self._terms: dict[str, list[list[list[Term]]]] = {}
        self._variances: dict[str, Floats] = {}

    def variances(self, query: str, nodes: Integers) -> Floats:
        """Return the variance of each class of cells of a query, one row a node."""
        if query not in self._variances:
            found = np.maximum(self.model.projection(query).variances(self._P), 0.0)
            # what is exact would come out as rounding of the other variances
            self._variances[query] = np.where(self.exact(query, np.arange(self.shape.size)), 0.0, found)
        return self._variances[query][nodes]

    def undetermined(self, query: str, nodes: Integers) -> NDArray[np.bool_]:
        """Return which classes of cells no measurement determines."""
        return self.model.projection(query).reaches([one[nodes] for one in self._nulls])

    def exact(self, query: str, nodes: Integers) -> NDArray[np.bool_]:
        """Return which classes of cells have no error, from counts that are held exact."""
        return ~self.model.projection(query).reaches([one[nodes] for one in self._uncertain])

    def widths(self, query: str, level: float) -> Floats:
        """Return the half-width of the interval of each class of cells, one row a node; see `intervals`."""
        key = (query, level)
        if key not in self._widths:
            variances = self.variances(query, np.arange(self.shape.size))
            terms = self.terms([query])[query]
            found = [half_widths(variances[:, one], some, level) for one, some in enumerate(terms)]
            self._widths[key] = np.column_stack(found)
        return self._widths[key]

    def terms(self, queries: Sequence[str]) -> dict[str, list[list[list[Term]]]]:
        """Return for queries, classes of their cells, and nodes, the terms that may dominate the error.

        They are measurements of the node, of its parent, and of its children if they are few.
        """
        if len(queries) == 1 and queries[0] not in self._terms:
            self._terms.clear()  # they are many: one query at a time, unless all are wanted at once
        for query in queries:
            if query not in self._terms:
                many = len(self.model.projection(query).class_sizes)
                self._terms[query] = [[[] for _ in range(self.shape.size)] for _ in range(many)]
                for start in range(0, many, MOST_CLASSES):
                    self._find_terms(query, slice(start, min(start + MOST_CLASSES, many)))
        return {query: self._terms[query] for query in queries}

    def _find_terms(self, query: str, some: slice) -> None:
        """Find the terms of some classes of cells of a query."""
        projection = self.model.projection(query)
        rows = [projection.vectors(one)[0][some].T for one in self.model.components]
        latest: tuple[object, ...] = ()
        moved: ByComponent = []
        for relation, measured, law, nodes, others in self._strong_pairs:
            seen, size = self.model.projections[measured], size_of(law)
            step = max(1, (1 << 21) // ((some.stop - some.start) * math.prod(seen.widths)))
            for start in range(0, len(nodes), step):
                at, to = nodes[start : start + step], others[start : start + step]
                if latest != (relation, at.tobytes(), to.tobytes()):
                    latest = (relation, at.tobytes(), to.tobytes())
                    pairs = zip(self.solutions, rows, strict=True)
                    moved = [_moved(solution, row, at, to, relation) for solution, row in pairs]
                weights, counts = seen.weights(projection, moved, some)
                weights = np.where(counts > 0, weights / size, 0.0)
                many = min(MOST_CELLS, weights.shape[2])
                order = np.argpartition(-np.abs(weights), many - 1, axis=2)[:, :, :many]
                order = np.take_along_axis(
                    order, np.argsort(-np.abs(np.take_along_axis(weights, order, axis=2)), axis=2), axis=2
                )
                largest = np.take_along_axis(weights, order, axis=2)
                # a lattice that is a hundred times finer is as good as Gaussian
                strong = np.abs(largest) >= np.maximum(1e-2 * np.abs(largest[:, :, :1]), 1e-6)
                alike = np.take_along_axis(np.broadcast_to(counts, weights.shape), order, axis=2)
                copies = self.shape.count[to] if relation == "below" else np.ones(len(to))
                for place, rank, kind in np.argwhere(strong).tolist():
                    found = self._terms[query][some.start + rank][int(at[place])]
                    before = int(alike[place, rank, :kind].sum())
                    cells = min(int(alike[place, rank, kind]), max(MOST_CELLS - before, 0))
                    found += [
                        Term(float(largest[place, rank, kind]), law, max(1, round(copies[place])))
                    ] * cells

    @cached_property
    def _strong_pairs(self) -> list[tuple[str, str, Noise, Integers, Integers]]:
        """Measurements whose own noise hardly shrinks, with the nodes that are near: relation, query, law.

        Only those can dominate anything: a weight a has a^2 <= var(estimate) var(measured cell) / s^2, so it
        can exceed what is smoothed out only if var(measured cell) / s > 0.36 s / (1 + 0.36 s).
        """
        every, parent = np.arange(self.shape.size), self.shape.parent
        below = np.flatnonzero(parent >= 0)
        few = below[self.shape.count[below] <= MOST_TERMS]
        near = [("own", every, every), ("below", parent[few], few), ("above", below, parent[below])]
        found = []
        for relation, at, to in near:
            for kind, told in enumerate(self.told):
                nodes = np.flatnonzero(self.shape.kind == kind)
                for (query, law), (_, size) in zip(told.laws, told.variances, strict=True):
                    share = self.variances(query, nodes).max(axis=1, initial=0.0) / size
                    strong = np.zeros(self.shape.size, dtype=bool)
                    strong[nodes] = share > SMOOTH**2 * size / (1 + SMOOTH**2 * size)
                    pairs = np.flatnonzero(strong[to])
                    if pairs.size:
                        found.append((relation, query, law, at[pairs], to[pairs]))
        return found


def _moved(solution: Solution, row: Floats, nodes: Integers, others: Integers, relation: str) -> Floats:
    """Return the covariance of units at `others` with a cell at `nodes`, which is `row` of a component."""
    if relation == "own":
        return solution.P[nodes] @ row
    if solution.gain is None:
        return np.zeros((len(nodes), *row.shape))
    if relation == "above":
        return solution.P[others] @ (np.swapaxes(solution.gain[nodes], 1, 2) @ row)
    return solution.gain[others] @ (solution.P[nodes] @ row)


MOST_CLASSES = 32
"""Classes of cells that are looked at together."""

MOST_CELLS = 8
"""Cells of one query that are looked at for weights that dominate."""
