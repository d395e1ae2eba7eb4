"""Honest intervals: the error of an estimate is a sum of discrete noises, sometimes of one that dominates.

Where the noise of one measurement, or of a few, carries the error, a Gaussian interval is wrong: a State's
total has weight 0.99 on one noise of variance 1.2, and its nominal 90 % interval covers 84.7 %. So terms are
taken with their exact law, the largest weight first, as long as what is finer than half of that weight has a
standard deviation below 0.6 of it; the rest is Gaussian, and hides the lattice of the noise.

Contrasts are errors e - r f of two estimates, r = 1 for a difference. A noise that is in both has a weight in
each, so both weights are kept (`Shared`) until r is known.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.estimation.model import ByComponent, CellPairs, Model, Told, size_of
from discreet.estimation.tree import Floats, Integers, Solution, Tree, sum_weights
from discreet.noise import Noise

SMOOTH = 0.6
"""A rest of this many weights of the largest term hides its lattice."""
SMOOTH_CONTRAST = 0.9
"""The same for contrasts, where weights such as 1 and 0.35 put lattices side by side."""

MOST_TERMS = 8
"""Terms of more different weights than this are as good as Gaussian together."""
MANY, COARSE = 64, 30.0
"""So many terms with a standard deviation of so many weights are as good as Gaussian, lattice or not."""
MOST_POINTS = 200_000
FEW_POINTS = 2000
"""Points of a law that is added to others of another lattice."""
FEW_ROWS = 8
"""Contrasts of few noises for which SciPy is not loaded."""
TAIL = 1e-9


@dataclass(frozen=True, slots=True)
class Term:
    """A noise that enters an estimate with this weight, so many times over independently."""

    weight: float
    law: Noise
    times: int = 1


def half_widths(
    variances: Floats, terms: Sequence[Sequence[Term]], level: float, *, smooth: float = SMOOTH
) -> Floats:
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
    smoothed: list[tuple[int, float, _NearQuantile]] = []
    for place, (variance, some) in enumerate(zip(variances.tolist(), terms, strict=True)):
        if variance <= 0.0 or not some:
            continue
        for one in some:
            if id(one.law) not in sizes:
                sizes[id(one.law)] = size_of(one.law)
        chosen, rest = _dominating(variance, some, sizes, smooth)
        if not chosen:
            continue
        if rest == 0.0:
            found[place] = _exact_width(chosen, level)
        elif len(chosen) == 1 and chosen[0].times == 1:
            single.setdefault(chosen[0].law, []).append((place, abs(chosen[0].weight), math.sqrt(rest)))
        else:
            deviation = math.sqrt(rest)
            smoothed.append((place, deviation, _near_quantile(*_law(chosen), deviation, level)))
    for law, rows in single.items():
        places, weights, deviations = (np.array(column) for column in zip(*rows, strict=True))
        found[places] = _single_widths(law, weights, deviations, level)
    smoothed.sort(key=lambda row: len(row[2].points))
    while smoothed:  # laws of about as many points together
        many = max(1, (1 << 18) // len(smoothed[-1][2].points))
        together, smoothed = smoothed[-many:], smoothed[:-many]
        wide = len(together[-1][2].points)
        points, chances = np.zeros((2, len(together), wide))
        for row, (_, _, law_near) in enumerate(together):
            points[row, : len(law_near.points)], chances[row, : len(law_near.points)] = law_near[:2]
        rest_of, target, quantile = (
            np.array(column) for column in zip(*((one, *near[2:]) for _, one, near in together), strict=True)
        )
        found[[row[0] for row in together]] = _root(points, chances, target, quantile, rest_of)
    return found


@dataclass(frozen=True, slots=True)
class Shared:
    """The noises in two estimates: the weights of each in the one and the other, its law, how often it is."""

    weights: Floats
    """One row a noise, two columns."""
    laws: tuple[Noise, ...]
    law: Integers
    """The place of the law of each noise."""
    times: Integers

    @classmethod
    def of(cls, parts: Sequence[tuple[Floats, Noise, int]]) -> Shared:
        """Put noises together, those of equal weights as one: pairs of weights, law, how often each is."""
        found = []
        for place, (pairs, _, often) in enumerate(parts):
            some = pairs[np.abs(pairs).max(axis=1) > 1e-6]
            # noise is symmetric: signs matter only relative to each other
            some = some * np.where(some[:, :1] + 1e-9 * some[:, 1:] < 0, -1.0, 1.0)
            alike, many = np.unique(np.round(some, 12), axis=0, return_counts=True)
            found.append((alike, np.full(len(alike), place), many * often))
        weights, law, times = (np.concatenate(one) for one in zip(*found, strict=True))
        return cls(weights, tuple(one for _, one, _ in parts), law, times)

    @classmethod
    def apart(cls, one: Shared | None, two: Shared | None) -> Shared | None:
        """Put noises that are in one estimate only beside those that are in another one only."""
        if one is None or two is None:
            return None
        weights = np.zeros((len(one.law) + len(two.law), 2))
        weights[: len(one.law), 0], weights[len(one.law) :, 1] = one.weights[:, 0], two.weights[:, 0]
        law = np.concatenate([one.law, len(one.laws) + two.law])
        return cls(weights, (*one.laws, *two.laws), law, np.concatenate([one.times, two.times]))

    def terms(self, factors: Floats, variances: Floats, enough: float) -> list[list[Term]]:
        """Return the terms of the one less so many times the other, where few of them may dominate."""
        sizes = np.array([size_of(law) for law in self.laws])[self.law]
        weights = np.abs(self.weights[:, 0] - factors[:, None] * self.weights[:, 1])
        most = weights.max(axis=1, initial=0.0)[:, None]
        coarse = np.sum(np.where(weights > most / 2, self.times * sizes * weights**2, 0.0), axis=1)
        smooth = enough * most[:, 0] <= np.sqrt(np.maximum(variances - coarse, 0.0))
        strong = (weights >= 1e-2 * most) & (weights * np.sqrt(sizes) >= 1e-3 * np.sqrt(variances)[:, None])
        strong &= ~smooth[:, None]
        return [
            [
                Term(float(weight[one]), self.laws[self.law[one]], int(self.times[one]))
                for one in np.flatnonzero(mine)
            ]
            for weight, mine in zip(weights, strong, strict=True)
        ]


def shared_widths(
    noises: Sequence[Shared | None],
    of: Integers,
    factors: Floats,
    variances: Floats,
    level: float,
    *,
    smooth: float = SMOOTH,
) -> Floats:
    """Return half-widths of many contrasts e - factor f: `of` says which noises are in each; None: many."""
    asked = [one.ravel() for one in np.broadcast_arrays(of, np.nan_to_num(factors), np.nan_to_num(variances))]
    # cells with the same noises and factor have the same width
    distinct, same = np.unique(np.column_stack(asked), axis=0, return_inverse=True)
    whose, known, flat = distinct[:, 0].astype(np.int64), distinct[:, 1], distinct[:, 2]
    terms: list[list[Term]] = [[]] * len(flat)
    for some in np.split(np.arange(len(flat)), np.flatnonzero(np.diff(whose)) + 1):
        one = noises[int(whose[some[0]])] if some.size else None
        if one is not None:
            for mine in np.array_split(some, 1 + len(some) * len(one.law) // AT_ONCE):
                for place, row in zip(mine.tolist(), one.terms(known[mine], flat[mine], smooth), strict=True):
                    terms[place] = row
    if sum(map(bool, terms)) > FEW_ROWS:
        import scipy.special  # noqa: F401 - worth loading: see `_cdf`
    widths = half_widths(flat, terms, level, smooth=smooth)[same.ravel()].reshape(variances.shape)
    return np.where(np.isnan(variances), np.nan, widths)


def _dominating(
    variance: float, terms: Sequence[Term], sizes: dict[int, float], enough: float
) -> tuple[list[Term], float]:
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
        if enough * weights[many] <= math.sqrt(max(finer, 0.0)):
            break
        many += 1
    times = sum(one.times for one in ranked[:many])
    if times > MANY and variance > (COARSE * weights[0]) ** 2:
        return [], variance
    if len({round(weight, 12) for weight in weights[:many]}) > MOST_TERMS:
        return [], variance
    rest = variance - sum(parts[:many])
    return ranked[:many], rest if rest > 1e-9 * variance else 0.0


def _exact_width(chosen: Sequence[Term], level: float) -> float:
    """Return the half-width of a law that nothing smooths."""
    points, chances = _law(chosen)
    far = np.round(np.abs(points), 9)
    order = np.argsort(far, kind="stable")
    reached = int(np.searchsorted(np.cumsum(chances[order]), level - 1e-12))
    return float(far[order][min(reached, len(order) - 1)])


SURE = 8.5
"""Deviations within which a Gaussian surely is."""


class _NearQuantile(NamedTuple):
    """What decides where a smoothed law has a quantile: its points near that of the law itself, which ascend,
    with their chances, and the chance that these and the Gaussian must reach together."""

    points: Floats
    chances: Floats
    target: float
    quantile: float


def _near_quantile(points: Floats, chances: Floats, deviation: float, level: float) -> _NearQuantile:
    """Leave out points that the Gaussian surely does not bring to the other side of the quantile."""
    order = np.argsort(points, kind="stable")
    points, chances = points[order], chances[order]
    below = np.cumsum(chances)
    target = (level + float(below[-1])) / 2  # the law is symmetric
    quantile = float(points[min(int(np.searchsorted(below, target)), len(points) - 1)])
    far = 2 * SURE * deviation
    first, last = np.searchsorted(points, [quantile - far, quantile + far]).tolist()
    base = float(below[first - 1]) if first else 0.0
    return _NearQuantile(points[first:last], chances[first:last], target - base, quantile)


def _single_widths(law: Noise, weights: Floats, deviations: Floats, level: float) -> Floats:
    """Return half-widths of weight * noise + a Gaussian, for many weights and Gaussians."""
    reach = max(1, _reach(law))
    steps = np.arange(-reach, reach + 1.0)
    near = _near_quantile(steps, law.pmf(steps.astype(np.int64)), 2.0 * reach, level)
    found = np.empty(len(weights))
    rows = max(1, (1 << 20) // len(steps))
    for start in range(0, len(weights), rows):
        part = slice(start, start + rows)
        some = weights[part]
        targets = np.full(len(some), near.target)
        found[part] = _root(
            some[:, None] * steps, near.chances, targets, some * near.quantile, deviations[part]
        )
    return found


def _root(points: Floats, chances: Floats, target: Floats, quantile: Floats, deviations: Floats) -> Floats:
    """Return for each row of points the w below which they and a Gaussian lie with the chance `target`.

    It is near the quantile of the points alone. Newton's steps find it, or halving where they lead away.
    """
    middle, low, high = quantile, quantile - SURE * deviations, quantile + SURE * deviations
    close = 1e-13 * (np.abs(quantile) + deviations)
    for step in range(100):
        far = (middle[:, None] - points) / deviations[:, None]
        over = np.sum(_cdf(far) * chances, axis=1) - target
        slope = np.sum(np.exp(-0.5 * far**2) * chances, axis=1) / (math.sqrt(2 * math.pi) * deviations)
        low, high = np.where(over < 0, middle, low), np.where(over < 0, high, middle)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = middle - over / slope
        found = np.abs(new - middle) <= close
        if np.all(found | (high - low <= close)):
            break
        inside = (new > low) & (new < high) & (step % 4 < 3)
        middle = np.where(found, middle, np.where(inside, new, (low + high) / 2))
    return np.where(found, new, high)


def _law(terms: Sequence[Term]) -> tuple[Floats, Floats]:
    """Return the points and chances of a sum of few terms.

    Terms of one weight share a lattice, on which they are convolved. Others are added point by point, wide
    laws after neighbouring points have been put together: a law of 2,000 points has steps below 0.02 of its
    standard deviation.
    """
    lattices: dict[float, Floats] = {}
    for term in terms:
        weight = round(abs(term.weight), 12)  # noise is symmetric
        some = _sum_of(term.law, term.times)
        lattices[weight] = _convolved(lattices[weight], some) if weight in lattices else some
    points: Floats = np.zeros(1)
    chances: Floats = np.ones(1)
    for weight, law in lattices.items():
        steps = np.asarray(weight * (np.arange(len(law)) - len(law) // 2), dtype=np.float64)
        keep = law > TAIL
        steps, law = steps[keep], law[keep]
        if len(points) * len(law) > MOST_POINTS:
            points, chances = _thinned(points, chances)
            steps, law = _thinned(steps, law)
        points = (points[:, None] + steps).ravel()
        chances = (chances[:, None] * law).ravel()
        if len(points) > FEW_POINTS:
            points, of = np.unique(np.round(points, 9), return_inverse=True)
            chances = np.asarray(np.bincount(of.ravel(), weights=chances), dtype=np.float64)
    return points, chances


@lru_cache(maxsize=256)
def _sum_of(law: Noise, times: int) -> Floats:
    """Return the chances of a sum of so many noises, by halves: children of one weight may be many."""
    if times == 1:
        reach = max(1, _reach(law))
        return np.asarray(law.pmf(np.arange(-reach, reach + 1)), dtype=np.float64)
    half = _sum_of(law, times // 2)
    double = _convolved(half, half)
    return _convolved(double, _sum_of(law, 1)) if times % 2 else double


def _convolved(one: Floats, two: Floats) -> Floats:
    if len(one) * len(two) <= 1 << 22:
        return np.asarray(np.convolve(one, two), dtype=np.float64)
    many = len(one) + len(two) - 1
    found = np.fft.irfft(np.fft.rfft(one, many) * np.fft.rfft(two, many), many)
    return np.asarray(np.maximum(found, 0.0), dtype=np.float64)


def _thinned(points: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """Put neighbouring points together where there are many, each lot at its mean."""
    if len(points) <= FEW_POINTS:
        return points, chances
    far = float(np.abs(points).max())
    lot = np.rint((points + far) / (2 * far) * (FEW_POINTS - 1)).astype(np.int64)
    total: Floats = np.asarray(np.bincount(lot, weights=chances), dtype=np.float64)
    mean: Floats = np.asarray(np.bincount(lot, weights=chances * points), dtype=np.float64)
    some = total > 0
    return mean[some] / total[some], total[some]


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
    if x.size > 2000 or "scipy.special" in sys.modules:
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

        They are measurements of any unit in a small tree; else of the node, its parent and its children.
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
        variances = self.variances(query, np.arange(self.shape.size))[:, some]
        latest: tuple[object, ...] = ()
        moved: ByComponent = []
        for relation, measured, law, nodes, others, copies in self._strong_pairs:
            seen, size = self.model.projections[measured], size_of(law)
            step = max(1, AT_ONCE // ((some.stop - some.start) * math.prod(seen.widths)))
            for start in range(0, len(nodes), step):
                at, to = nodes[start : start + step], others[start : start + step]
                if latest != (relation, at.tobytes(), to.tobytes()):
                    latest = (relation, at.tobytes(), to.tobytes())
                    moved = [
                        _moved(solution, row, at, to, relation)
                        if relation != "any"
                        else self._passed[place][at, to] @ row
                        for place, (solution, row) in enumerate(zip(self.solutions, rows, strict=True))
                    ]
                weights, counts = seen.weights(projection, moved, some)
                for place, rank, weight, alike in _strongest(weights / size, counts, size, variances[at]):
                    times = max(1, round(copies[start + place])) * alike
                    self._terms[query][some.start + rank][int(at[place])].append(Term(weight, law, times))

    def shared(self, cells: CellPairs, nodes: Integers) -> list[Shared | None]:
        """Return the noises in pairs of cells at each of some nodes, pair by pair; None: as if Gaussian."""
        found: list[Shared | None] = []
        measured_cells = sum(len(one[3]) * self.model.projections[one[1]].cells for one in self._strong_pairs)
        if len(cells.distinct) * measured_cells > MOST_WEIGHTS:
            return [None] * (len(cells.distinct) * len(nodes))
        for pair in cells.distinct:
            parts: dict[int, list[tuple[Floats, Noise, int]]] = {int(node): [] for node in nodes}
            for relation, measured, law, every, others, copies in self._strong_pairs:
                which = np.flatnonzero(np.isin(every, nodes))
                seen = self.model.projections[measured]
                step = max(1, AT_ONCE // seen.cells)
                for some in (which[start : start + step] for start in range(0, len(which), step)):
                    at, to = every[some], others[some]
                    sides = []
                    for rows in pair:
                        moved = [
                            _moved(solution, row, at, to, relation)
                            if relation != "any"
                            else self._passed[place][at, to] @ row
                            for place, (solution, row) in enumerate(zip(self.solutions, rows, strict=True))
                        ]
                        sides.append(seen.read(moved) / size_of(law))
                    pairs = np.stack(sides, axis=2)
                    for place, node in enumerate(at.tolist()):
                        parts[node].append((pairs[place], law, max(1, round(copies[some[place]]))))
            found += [Shared.of(one) if one else None for one in parts.values()]
        return found

    def shared_of_sums(
        self, cells: CellPairs, sums: tuple[ByComponent, ByComponent], kinds: Integers
    ) -> list[Shared | None]:
        """Return the noises in pairs of cells of two sums of units, with these weights of own beliefs.

        They are those of the units with the largest weights; None, as if Gaussian, if there is no room."""
        back = [np.swapaxes(solution.beliefs.h[kinds], 1, 2) for solution in self.solutions]
        by_side = [[turn @ A for turn, A in zip(back, one, strict=True)] for one in sums]
        strength = np.max([np.abs(one).max(axis=(1, 2)) for side in by_side for one in side], axis=0)
        asked = [sum(self.model.projections[query].cells for query, _ in told.laws) for told in self.told]
        order = np.argsort(-strength, kind="stable")
        room = np.cumsum(np.array(asked)[kinds[order]]) * len(cells.distinct) <= MOST_WEIGHTS
        near = order[room & (strength[order] >= 1e-2 * strength.max())]
        found: list[Shared | None] = []
        for pair in cells.distinct:
            parts = []
            for kind, told in enumerate(self.told):
                units = near[kinds[near] == kind]
                moved = [
                    [A[units] @ row for A, row in zip(side, rows, strict=True)]
                    for side, rows in zip(by_side, pair, strict=True)
                ]
                for measured, law in told.laws:
                    seen = self.model.projections[measured]
                    weights = [seen.read(side).ravel() / size_of(law) for side in moved]
                    parts.append((np.column_stack(weights), law, 1))
            found.append(Shared.of(parts) if parts and near.size else None)
        return found

    @cached_property
    def _units(self) -> tuple[Tree, Integers] | None:
        """The units of a small tree, with their nodes; None if they are many, or counts are not whole."""
        count, totals = self.shape.count, self.shape.totals
        size = sum(one.spaces.size**2 for one in self.solutions)
        if np.any(count != np.rint(count)) or self.shape.size * totals.sum() * size > MOST_NUMBERS:
            return None
        return self.shape.unfolded()

    @cached_property
    def _passed(self) -> ByComponent:
        """By component what takes a row of a node's x to the data h of each unit of a small tree."""
        assert self._units is not None
        tree, node = self._units
        first = np.unique(node, return_index=True)[1]
        found = []
        for one in self.solutions:
            back = np.swapaxes(one.beliefs.h[tree.kind], 1, 2)
            found.append(np.stack([back @ sum_weights(one, tree, node, np.array([unit])) for unit in first]))
        return found

    @cached_property
    def _near(self) -> list[tuple[str, Integers, Integers, Integers, Floats]]:
        """Relations: nodes, those that are looked at from there and their nodes, and how many are alike."""
        every, parent, count = np.arange(self.shape.size), self.shape.parent, self.shape.count
        if self._units is not None:
            tree, node = self._units
            pairs = []
            for at, unit in enumerate(np.unique(node, return_index=True)[1].tolist()):
                # units of one node that part from this one at the same depth enter its estimate alike
                shared = tree.shared_depth(unit)
                _, to, times = np.unique(
                    node * (len(tree.depths) + 1) + shared, return_index=True, return_counts=True
                )
                pairs.append(np.column_stack([np.full(len(to), at), to, times])[shared[to] >= 0])
            at, to, times = np.concatenate(pairs).T
            return [("any", at, to, node[to], times.astype(np.float64))]
        below = np.flatnonzero(parent >= 0)
        few = below[count[below] <= MOST_TERMS]
        one = np.ones(self.shape.size)
        return [
            ("own", every, every, every, one),
            ("below", parent[few], few, few, count[few]),
            ("above", below, parent[below], parent[below], one[below]),
        ]

    @cached_property
    def _strong_pairs(self) -> list[tuple[str, str, Noise, Integers, Integers, Floats]]:
        """Measurements whose own noise hardly shrinks, with the nodes that are near: relation, query, law.

        Only those can dominate anything: a weight a has a^2 <= var(estimate) var(measured cell) / s^2, so it
        can exceed what is smoothed out only if var(measured cell) / s > 0.36 s / (1 + 0.36 s).
        """
        found = []
        for relation, at, to, nodes_to, times in self._near:
            for kind, told in enumerate(self.told):
                nodes = np.flatnonzero(self.shape.kind == kind)
                for (query, law), (_, size) in zip(told.laws, told.variances, strict=True):
                    share = self.variances(query, nodes).max(axis=1, initial=0.0) / size
                    strong = np.zeros(self.shape.size, dtype=bool)
                    strong[nodes] = share > SMOOTH**2 * size / (1 + SMOOTH**2 * size)
                    pairs = np.flatnonzero(strong[nodes_to])
                    if pairs.size:
                        found.append((relation, query, law, at[pairs], to[pairs], times[pairs]))
        return found


def _strongest(
    weights: Floats, counts: Floats, size: float, variances: Floats
) -> Iterator[tuple[int, int, float, int]]:
    """Yield the weights of a measurement that may matter (node, class, kind of cell): node, class, weight,
    and how many cells are alike; `variances` are those of the estimates (node, class)."""
    weights = np.where(counts > 0, weights, 0.0)
    many = min(MOST_CELLS, weights.shape[2])
    order = np.argpartition(-np.abs(weights), many - 1, axis=2)[:, :, :many]
    sizes = np.abs(np.take_along_axis(weights, order, axis=2))
    order = np.take_along_axis(order, np.argsort(-sizes, axis=2), axis=2)
    largest = np.take_along_axis(weights, order, axis=2)
    # a lattice that is a hundred times finer is as good as Gaussian
    strong = np.abs(largest) >= np.maximum(1e-2 * np.abs(largest[:, :, :1]), 1e-6)
    strong &= np.abs(largest) * size**0.5 >= 1e-3 * np.sqrt(variances)[:, :, None]
    alike = np.take_along_axis(np.broadcast_to(counts, weights.shape), order, axis=2)
    for place, rank, kind in np.argwhere(strong).tolist():
        yield place, rank, float(largest[place, rank, kind]), int(alike[place, rank, kind])


def _moved(solution: Solution, row: Floats, nodes: Integers, others: Integers, relation: str) -> Floats:
    """Return the covariance of units at `others` with a cell at `nodes`, which is `row` of a component."""
    if relation == "own":
        return solution.P[nodes] @ row
    if solution.gain is None:
        return np.zeros((len(nodes), *row.shape))
    if relation == "above":
        return solution.P[others] @ (np.swapaxes(solution.gain[nodes], 1, 2) @ row)
    return solution.gain[others] @ (solution.P[nodes] @ row)


MOST_NUMBERS = 1 << 18
"""Numbers that tie each unit of a small tree to each node; beyond it, only near units count."""

MOST_WEIGHTS = 1 << 24
"""Weights of noises in all pairs of cells that are looked at; the others are taken as Gaussian."""

AT_ONCE = 1 << 21
"""Weights that are held at once."""

MOST_CLASSES = 32
"""Classes of cells that are looked at together."""

MOST_CELLS = 8
"""Kinds of cells of one query that are looked at for weights that dominate."""
