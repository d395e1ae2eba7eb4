"""Honest intervals: an estimate's error is a sum of discrete noises, often of a few that share a lattice.

A Gaussian interval is wrong there: a State's total has weight 0.99 on one noise of variance 1.2, and its
nominal 90 % interval covers 84.7 %; a total beside the counts of two sexes, all of variance 3/2, has weights
2/3, 1/3 and 1/3, and covers 86.8 %. So every noise that enters an estimate is found, with its weight
(`weights`), and the half-width comes from the law of their sum (`laws`). Often the noises at the unit itself,
whose weights are covariances, already make the sum Gaussian whatever the others are; the rest of the tree is
examined only where they do not.

Contrasts are errors e - r f of two estimates, r = 1 for a difference. A noise that enters both has a weight
in each, so both weights are kept (`Shared`) until r is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers, Tree
from discreet.estimation.component import ByComponent, Columns
from discreet.estimation.error_laws import (
    NEGLIGIBLE,
    Errors,
    Terms,
    half_widths,
    normal_quantile,
    safe_quantile,
    traits,
)
from discreet.estimation.model import ApartProjection, CellPairs, KnownOfUnits, Model, size_of
from discreet.estimation.normal import UNIT, Law, Normal, all_normal
from discreet.estimation.projection import Projection
from discreet.estimation.solution import Solution
from discreet.estimation.weights import AT_ONCE, Branches, Reached, least_noise


@dataclass(frozen=True, slots=True)
class Shared:
    """The noises in two estimates: for each its weights in the first and the second, its law, and how many
    such noises there are.

    Noises not listed have weights of at most `left_out`, and of at most `relative` standard deviations of
    any contrast.
    """

    weights: Floats
    """A row for each noise, two columns."""
    laws: tuple[Law, ...]
    law: Integers
    """The index of the law of each noise."""
    times: Floats
    left_out: tuple[float, float] = (0.0, 0.0)
    relative: float = np.inf

    @classmethod
    def unknown(cls, laws: Sequence[Law], relative: float) -> Shared:
        """Return noises of which only the laws are known, and a bound on their weights."""
        none = np.zeros(0)
        return cls(np.zeros((0, 2)), tuple(laws), none.astype(np.int64), none, (np.inf, np.inf), relative)

    @classmethod
    def normal(cls) -> Shared:
        """Return noises that are all normal: their variance, which is known, is all that matters."""
        none = np.zeros(0)
        return cls(np.zeros((0, 2)), (UNIT,), none.astype(np.int64), none)

    @classmethod
    def of(
        cls,
        parts: Sequence[tuple[Floats, Law, float]],
        left_out: tuple[float, float] = (0.0, 0.0),
        relative: float = np.inf,
        others: Sequence[Law] = (),
    ) -> Shared:
        """Collect noises given as pairs of weights, law and multiplicity, merging those of equal weights.
        Noises left out may have the laws `others`."""
        laws = tuple(dict.fromkeys([law for _, law, _ in parts] + list(others)))
        position_of = {law: code for code, law in enumerate(laws)}
        rows = [
            np.column_stack(
                [pairs, np.full(len(pairs), position_of[law]), np.broadcast_to(often, len(pairs))]
            )
            for pairs, law, often in parts
        ]
        table = np.concatenate(rows) if rows else np.zeros((0, 4))
        weights = table[:, :2]
        table = table[np.abs(weights).max(axis=1, initial=0.0) > 1e-9]
        # noise is symmetric: signs matter only relative to each other
        weights = table[:, :2] * np.where(table[:, :1] + 1e-9 * table[:, 1:2] < 0, -1.0, 1.0)
        key = np.round(np.column_stack([weights, table[:, 2]]), 12) + 0.0
        alike, of = np.unique(key, axis=0, return_inverse=True)
        times: Floats = np.zeros(len(alike))
        np.add.at(times, of.ravel(), table[:, 3])
        return cls(alike[:, :2], laws, alike[:, 2].astype(np.int64), times, left_out, relative)

    @classmethod
    def mixed(cls, parts: Sequence[tuple[Shared, float, float]]) -> Shared:
        """Combine independent noises, with factors for their weights in the first and second estimate."""
        laws = tuple(law for noises, _, _ in parts for law in noises.laws)
        first = np.cumsum([0, *(len(noises.laws) for noises, _, _ in parts)])
        factors = [np.array(pair) for _, *pair in parts]
        weights = [noises.weights * factor for (noises, _, _), factor in zip(parts, factors, strict=True)]
        law = [noises.law + start for (noises, _, _), start in zip(parts, first, strict=False)]
        with np.errstate(invalid="ignore"):
            left = [
                np.nan_to_num(np.abs(factor) * noises.left_out, nan=0.0, posinf=np.inf)
                for (noises, _, _), factor in zip(parts, factors, strict=True)
            ]
        relative = max(
            (noises.relative for noises, _, _ in parts if max(noises.left_out) > 0), default=np.inf
        )
        most = np.max(left, axis=0)
        times = np.concatenate([noises.times for noises, _, _ in parts])
        bound = float(most[0]), float(most[1])
        return cls(np.concatenate(weights), laws, np.concatenate(law), times, bound, relative)

    def turned(self) -> Shared:
        """Return the same noises with the two estimates exchanged."""
        return replace(self, weights=self.weights[:, ::-1], left_out=self.left_out[::-1])

    def contrast(self, factors: Floats) -> Floats:
        """Return the weights of all noises in first minus factor times second, a row for each factor."""
        weights: Floats = np.abs(self.weights[:, 0] - factors[:, None] * self.weights[:, 1])
        return weights

    def bound(self, factors: Floats, sizes: Floats) -> Floats:
        """Return a bound on the weights of unknown noises, in contrasts with these standard deviations."""
        with np.errstate(invalid="ignore"):
            most = self.left_out[0] + np.where(factors == 0, 0.0, np.abs(factors) * self.left_out[1])
            return np.minimum(most, np.where(sizes > 0, self.relative * sizes, 0.0))


Noises = tuple[Sequence[Shared], Integers]
"""Noises in pairs of estimates, and which of them enter each unit and cell."""


def mixed_noises(noises: Sequence[Noises], wx: Floats, wy: Floats) -> Noises:
    """Return the noises in weighted means of pairs of estimates, one from each group; groups share no noise.
    The weights in the first and the second mean are (group, unit, cell)."""
    wide = np.broadcast_to(wy, wx.shape)
    asked = [np.where(weights > 0, of, -1.0) for (_, of), weights in zip(noises, wx + wide, strict=True)]
    table = np.stack([*asked, *wx, *wide]).reshape(3 * len(noises), -1)
    distinct, of = np.unique(table, axis=1, return_inverse=True)
    mixed = []
    for column in distinct.T:
        which, first, second = column.reshape(3, -1)
        some = [
            (noises[number][0][int(code)], float(first[number]), float(second[number]))
            for number, code in enumerate(which)
            if code >= 0
        ]
        mixed.append(Shared.mixed(some) if some else Shared.of([]))
    return mixed, of.reshape(wx.shape[1:])


def independent_noises(now: Noises, before: Noises) -> Noises:
    """Return the noises in the first estimates of two sets of pairs, which share no noise."""
    (first, of), (second, its) = now, before
    pairs, which = np.unique(np.stack([of, its]).reshape(2, -1), axis=1, return_inverse=True)
    noises = [
        Shared.mixed([(first[a], 1.0, 0.0), (second[b].turned(), 0.0, 1.0)]) for a, b in pairs.T.tolist()
    ]
    return noises, which.reshape(of.shape)


def shared_widths(
    noises: Sequence[Shared],
    of: Integers,
    factors: Floats,
    variances: Floats,
    level: float,
    *,
    quick: bool = False,
) -> Floats:
    """Return half-widths of many contrasts e - factor f: `of` says which noises enter each.

    With `quick`, half of the largest weight is added to a Gaussian half-width instead of using the law.
    """
    asked = [
        column.ravel() for column in np.broadcast_arrays(of, np.nan_to_num(factors), np.nan_to_num(variances))
    ]
    # cells with the same noises, factor and variance have the same width
    distinct, same = np.unique(np.column_stack(asked), axis=0, return_inverse=True)
    whose, known, flat = distinct[:, 0].astype(np.int64), distinct[:, 1], distinct[:, 2]
    sizes, half, bounds = np.sqrt(np.maximum(flat, 0.0)), np.zeros(len(flat)), np.zeros(len(flat))
    parts = []
    for some in np.split(np.arange(len(flat)), np.flatnonzero(np.diff(whose)) + 1):
        if not some.size:
            continue
        shared = noises[int(whose[some[0]])]
        bounds[some] = shared.bound(known[some], sizes[some])
        for mine in np.array_split(some, 1 + len(some) * len(shared.law) // AT_ONCE):
            weights = shared.contrast(known[mine])
            if quick or not len(shared.law):
                half[mine] = _safe_widths(sizes[mine], weights, bounds[mine], shared, level)
                continue
            for code, law in enumerate(shared.laws):
                its = shared.law == code
                rows = np.repeat(mine, int(its.sum()))
                parts.append((rows, weights[:, its].ravel(), law, np.tile(shared.times[its], len(mine))))
    if parts:
        terms = Terms.of(parts)
        listed, row = np.unique(terms.row, return_inverse=True)
        half[listed] = half_widths(flat[listed], replace(terms, row=row.ravel()), level, bounds[listed])
    widths = half[same.ravel()].reshape(variances.shape)
    return np.where(np.isnan(variances), np.nan, widths)


def _safe_widths(sizes: Floats, weights: Floats, bound: Floats, noises: Shared, level: float) -> Floats:
    """Return half-widths that cover whatever lattice the weights form, without computing its law.

    A lattice costs at most half of its step. The law of a sum of Laplace noises lies between a single one
    and a Gaussian. For discrete Gaussian noise the parameter is used: it is at least the variance, and bounds
    the tails."""
    known = [traits(law) for law in noises.laws]
    quantile = normal_quantile(level)
    if any(trait.scale for trait in known):
        quantile = max(quantile, -math.log(1 - level) / math.sqrt(2))
    coarsest = np.maximum(weights.max(axis=1, initial=0.0), bound)
    if weights.shape[1]:
        more = np.array([trait.proxy - trait.variance for trait in known])[noises.law] * noises.times
        wide = np.sqrt(sizes**2 + weights**2 @ more)
    else:
        wide = sizes * math.sqrt(max((trait.proxy / trait.variance for trait in known), default=1.0))
    return np.where(sizes > 0, quantile * wide + coarsest / 2, 0.0)


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends of intervals, and which intervals were empty and became the nearest possible number."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    moved: NDArray[np.bool_]


def count_ends(
    estimate: Floats,
    width: Floats,
    whole: NDArray[np.bool_] | bool = True,
    positive: NDArray[np.bool_] | bool = True,
) -> Ends:
    """Return intervals for counts: ends rounded inwards to whole numbers, none below zero.

    An interval that becomes empty is replaced by the nearest non-negative whole number. A count at the very
    end is inside, even if floating-point rounding puts it just outside. What is not `whole` is not rounded,
    and what is not `positive` may be below zero.

    >>> ends = count_ends(np.array([4.3, -3.0]), np.array([1.5, 1.0]))
    >>> ends.lower.tolist(), ends.upper.tolist(), ends.moved.tolist()
    ([3.0, 0.0], [5.0, 0.0], [False, True])
    """
    slack, least = _rounding(estimate), np.where(positive, 0.0, -np.inf)
    lower, upper, nearest = estimate - width, estimate + width, estimate
    lower = np.maximum(np.where(whole, np.ceil(lower - slack), lower), least)
    upper = np.where(whole, np.floor(upper + slack), upper)
    moved = upper < lower
    nearest = np.maximum(np.where(whole, np.rint(nearest), nearest), least)
    return Ends(np.where(moved, nearest, lower), np.where(moved, nearest, upper), moved)


def close_ends(estimate: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Return intervals for differences of counts; an end that is whole up to rounding is made whole.

    >>> [end.tolist() for end in close_ends(np.array([2.25]), np.array([1.25 - 1e-9]))]
    [[1.0], [3.499999999]]
    """
    slack = _rounding(estimate)
    lower, upper = (
        np.where(np.abs(end - np.rint(end)) <= slack, np.rint(end) + 0.0, np.round(end, 9))
        for end in (estimate - width, estimate + width)
    )
    return lower, upper


def _rounding(estimate: Floats) -> Floats:
    """Return the possible rounding error in an end: sums behind an estimate may be as large as a nation."""
    return 1e-7 + 1e-12 * np.abs(estimate)


class View:
    """The covariances of a model on a tree, as variances and laws of the cells of queries at nodes."""

    def __init__(
        self, model: Model, shape: Tree, told: Sequence[KnownOfUnits], solutions: Sequence[Solution]
    ) -> None:
        self.model, self.shape, self.told, self.solutions = model, shape, tuple(told), list(solutions)
        self._P: ByComponent = [solution.P for solution in solutions]
        self._nulls: ByComponent = [solution.nulls() for solution in solutions]
        self._uncertain: ByComponent = [solution.uncertain() for solution in solutions]
        self._widths: dict[tuple[str, float], Floats] = {}
        self._largest: dict[tuple[str, float], Floats] = {}
        self._terms: dict[str, Terms] = {}
        self._known_errors: dict[str, tuple[Errors, Integers, Errors]] = {}
        self._variances: dict[str, Floats] = {}

    def variances(self, query: str, nodes: Integers) -> Floats:
        """Return the variance of each class of cells of a query, a row for each node."""
        if query not in self._variances:
            variances = np.maximum(self.model.projection(query).variances(self._P), 0.0)
            # exact cells would otherwise get the rounding error of the other variances
            self._variances[query] = np.where(self.exact(query, np.arange(self.shape.size)), 0.0, variances)
        return self._variances[query][nodes]

    def undetermined(self, query: str, nodes: Integers) -> NDArray[np.bool_]:
        """Return which classes of cells no measurement determines."""
        return self.model.projection(query).reaches([projectors[nodes] for projectors in self._nulls])

    def exact(self, query: str, nodes: Integers) -> NDArray[np.bool_]:
        """Return which classes of cells have no error, because of counts held exact."""
        return ~self.model.projection(query).reaches([projectors[nodes] for projectors in self._uncertain])

    def widths(self, query: str, level: float) -> Floats:
        """Return the half-width of the interval of each class of cells, a row for each node; see `laws`."""
        key = (query, level)
        if key not in self._widths:
            near, open_rows, far = self._errors(query)
            widths = near.settled_widths(level)
            widths[open_rows] = far.half_widths(level)
            self._widths[key] = widths.reshape(self.shape.size, -1)
        return self._widths[key]

    def largest_widths(self, query: str, level: float) -> Floats:
        """Return the largest half-width at each node, computed only for the cells that may attain it."""
        key = (query, level)
        if key not in self._largest:
            self._largest[key] = self._find_largest(query, level)
        return self._largest[key]

    def _find_largest(self, query: str, level: float) -> Floats:
        deviations = np.sqrt(self.variances(query, np.arange(self.shape.size)))
        safe = (safe_quantile(self.unknown.laws, level) + self.unknown.relative / 2) * deviations
        # the largest half-width is hardly below a Gaussian's with the largest deviation
        likely = 0.999 * normal_quantile(level) * deviations.max(axis=1, initial=0.0)
        left, known = deviations > 0, np.where(deviations > 0, -np.inf, deviations)
        some = np.flatnonzero(np.any(safe > likely[:, None], axis=0))
        near = self._near_errors(query, some)
        shape = len(deviations), len(some)
        safe[:, some] = near.safe_widths(level).reshape(shape)
        settled = near.settled.reshape(shape)
        known[:, some] = np.where(settled, near.settled_widths(level).reshape(shape), known[:, some])
        left[:, some] &= ~settled
        for least in (likely, np.zeros_like(likely)):
            wanted = left & (safe > np.maximum(known.max(axis=1, initial=0.0), least)[:, None])
            if wanted.any():
                known[wanted] = self._errors_of(query, wanted.ravel()).half_widths(level)
                left &= ~wanted
        largest: Floats = known.max(axis=1, initial=0.0)
        return largest

    def _near_errors(self, query: str, classes: Integers) -> Errors:
        """Return the errors of some classes of cells at all nodes, node by node, listing only the noises at
        the node itself."""
        variances = self.variances(query, np.arange(self.shape.size))
        wanted = np.zeros(variances.shape, dtype=bool)
        wanted[:, classes] = True
        return self._listed(query, wanted.ravel(), self._near(query, classes), self.unknown.relative)

    def _errors_of(self, query: str, wanted: NDArray[np.bool_]) -> Errors:
        """Return the errors of some rows (node * classes + class), listing all noises that matter."""
        return self._listed(query, wanted, self._find_terms(query, wanted.reshape(self.shape.size, -1)), FAR)

    def _listed(
        self, query: str, wanted: NDArray[np.bool_], terms: Iterable[Terms], unlisted: float
    ) -> Errors:
        flat = self.variances(query, np.arange(self.shape.size)).ravel()[wanted]
        position = np.cumsum(wanted) - 1
        listed = (replace(part, row=position[part.row]) for part in terms)
        return Errors(flat, listed, unlisted * np.sqrt(flat))

    def _errors(self, query: str) -> tuple[Errors, Integers, Errors]:
        """Return the errors of all rows from the noises at their nodes, the rows that these do not settle,
        and the errors of those rows from all noises."""
        if query not in self._known_errors:
            self._known_errors.clear()  # keep one query at a time
            near = self._near_errors(query, np.arange(len(self.model.projection(query).class_sizes)))
            far = self._errors_of(query, ~near.settled)
            self._known_errors[query] = near, np.flatnonzero(~near.settled), far
        return self._known_errors[query]

    def terms(self, query: str) -> Terms:
        """Return the noises in all classes of cells at all nodes; the row is node * classes + class."""
        if query not in self._terms:
            self._terms.clear()  # they need much memory: keep one query at a time
            every = np.ones((self.shape.size, len(self.model.projection(query).class_sizes)), dtype=bool)
            self._terms[query] = Terms.together(list(self._find_terms(query, every)))
        return self._terms[query]

    def _near(self, query: str, some: Integers) -> Iterator[Terms]:
        """Yield the noises at the node itself: the weight of a noise is the covariance of the measured cell
        with the estimate, divided by the variance of the noise."""
        yield self._no_terms
        if self._is_normal:
            return
        projection = self.model.projection(query)
        every = np.arange(self.shape.size)
        for start in range(0, len(some), _MOST_CLASSES):
            columns = projection.columns(some[start : start + _MOST_CLASSES])
            wide = sum(row.size for row in columns.rows)
            for nodes in np.array_split(every, 1 + len(every) * wide // AT_ONCE):
                moved = [
                    self._P[component][nodes] @ row
                    for component, row in zip(columns.components, columns.rows, strict=True)
                ]
                own = Reached(nodes, nodes, np.ones(len(nodes)), moved)
                yield from self._noises(projection, columns, own, None)

    def _find_terms(self, query: str, wanted: NDArray[np.bool_]) -> Iterator[Terms]:
        """Yield the noises that matter in the wanted classes of cells (node, class)."""
        yield self._no_terms
        if self._is_normal:
            return
        sets, of = np.unique(wanted, axis=0, return_inverse=True)
        if len(sets) > _MOST_SETS:
            yield from self._find_some(query, wanted)
            return
        for number, chosen in enumerate(sets):
            if chosen.any():
                yield from self._find_some(query, wanted & (of.ravel() == number)[:, None])

    def _find_some(self, query: str, wanted: NDArray[np.bool_]) -> Iterator[Terms]:
        """Yield the same; a class wanted at some node is examined at every node that wants any class."""
        projection, some = self.model.projection(query), np.flatnonzero(wanted.any(axis=0))
        for start in range(0, len(some), _MOST_CLASSES):
            columns = projection.columns(some[start : start + _MOST_CLASSES])
            nodes = np.flatnonzero(wanted[:, columns.classes].any(axis=1))
            variances = self.variances(query, nodes)[:, columns.classes]
            matters = (variances > 0) & wanted[np.ix_(nodes, columns.classes)]
            enough = FAR**2 * np.where(matters, variances, np.inf)
            least = np.full((self.shape.size, len(columns.classes)), np.inf)
            least[nodes] = np.where(matters, _LEAST * np.sqrt(variances), np.inf)
            branches = self._branches.among(columns.components)
            for reached in branches.reached(nodes, columns.rows, columns.lengths, enough):
                there = replace(reached, place=nodes[reached.place])
                yield from self._noises(projection, columns, there, least)

    def _noises(
        self,
        projection: Projection | ApartProjection,
        columns: Columns,
        reached: Reached,
        least: Floats | None,
    ) -> Iterator[Terms]:
        """Yield the noises of units that enter estimates at nodes with more than the `least` weights."""
        classes, laws = len(projection.class_sizes), self.unknown.laws
        for measured, codes, factors in self._measured:
            seen, code = self.model.projections[measured], codes[self.shape.kind[reached.node]]
            has = np.flatnonzero(code >= 0)
            if not has.size:
                continue
            every = reached if len(has) == len(code) else reached.some(has)
            for got in every.portions(len(columns.classes) * math.prod(seen.widths)):
                law = codes[self.shape.kind[got.node]]
                weights, counts = seen.weights(projection, got.weights, columns)
                weights *= factors[self.shape.kind[got.node]][:, None, None]
                weights = np.abs(weights)
                floor = 0.0 if least is None else least[got.place][:, :, None]
                entry, rank, alike = np.nonzero((weights > floor) & (counts > 0))
                row = got.place[entry] * classes + columns.classes[rank]
                times = got.times[entry] * counts[rank, alike]
                yield Terms(row, weights[entry, rank, alike], law[entry], times, laws)

    @cached_property
    def _is_normal(self) -> bool:
        """Whether every noise is normal, so that no law but the normal one can come out."""
        return all_normal(law for told in self.told for _, law in told.laws)

    @cached_property
    def _measured(self) -> list[tuple[str, Integers, Floats]]:
        """The measured queries, with the index of the noise law for each kind of unit, -1 for none, and what
        turns a covariance into a weight: 1 / variance, times the standard deviation if the noise is normal
        and taken as one of variance 1. A query that a kind measures twice is listed twice."""
        measured: dict[tuple[str, int], tuple[Integers, Floats]] = {}
        position_of = {law: code for code, law in enumerate(self.unknown.laws)}
        for kind, told in enumerate(self.told):
            asked: dict[str, int] = {}
            for query, law in told.laws:
                key = query, asked.get(query, 0)
                asked[query] = key[1] + 1
                if key not in measured:
                    measured[key] = np.full(len(self.told), -1), np.zeros(len(self.told))
                codes, factors = measured[key]
                normal = isinstance(law, Normal)
                codes[kind] = position_of[UNIT if normal else law]
                factors[kind] = size_of(law) ** (-0.5 if normal else -1.0)
        return [(query, *arrays) for (query, _), arrays in measured.items()]

    @cached_property
    def _no_terms(self) -> Terms:
        none = np.zeros(0)
        return Terms(none.astype(np.int64), none, none.astype(np.int64), none, self.unknown.laws)

    def shared(self, cells: CellPairs, nodes: Integers) -> list[Shared]:
        """Return the noises in pairs of cells at some nodes, pair by pair."""
        if self._is_normal:
            return [Shared.normal()] * (len(cells.distinct) * len(nodes))
        noises: list[Shared] = []
        room = MOST_WEIGHTS // max(1, len(cells.distinct))
        for pair in cells.distinct:
            parts: dict[int, list[tuple[Floats, Law, float]]] = {int(node): [] for node in nodes}
            rows = [np.hstack(sides) for sides in zip(*pair, strict=True)]
            lengths = [np.repeat(np.eye(2), row.shape[1] // 2, axis=0) for row in rows]
            variances = np.zeros((self.shape.size, 2))
            for row, length, P in zip(rows, lengths, self._P, strict=True):
                variances += np.sum(row * (P @ row), axis=1) @ length
            sure = variances <= 1e-12 * variances.max(axis=1, keepdims=True)
            left_out = NEGLIGIBLE / 10 * np.sqrt(np.where(sure, 0.0, variances))
            enough = np.where(sure, np.inf, left_out**2)
            used = 0
            for kind, reached in self._branches.by_kind(nodes, rows, lengths, enough[nodes]):
                for measured, law in self.told[kind].laws:
                    seen = self.model.projections[measured]
                    used += 2 * len(reached.node) * seen.cells
                    if used > room:
                        return [self.unknown] * (len(cells.distinct) * len(nodes))
                    for got in reached.portions(seen.cells):
                        sides = zip(*(np.split(weight, 2, axis=2) for weight in got.weights), strict=True)
                        pairs = np.stack([seen.read(list(side)) for side in sides], axis=2)
                        pairs *= size_of(law) ** (-0.5 if isinstance(law, Normal) else -1.0)
                        entries = zip(nodes[got.place].tolist(), pairs, got.times.tolist(), strict=True)
                        for node, weights, times in entries:
                            parts[node].append((weights, UNIT if isinstance(law, Normal) else law, times))
            for node, some in parts.items():
                first, second = left_out[node].tolist()
                noises.append(Shared.of(some, (first, second), self.unknown.relative, self.unknown.laws))
        return noises

    def shared_of_sums(
        self, cells: CellPairs, sums: tuple[ByComponent, ByComponent], kinds: Integers
    ) -> list[Shared]:
        """Return the noises in pairs of cells of two sums of units, with these weights of own beliefs.

        Only the units that matter are listed, and only the strongest of them if they are too many."""
        if self._is_normal:
            return [Shared.normal()] * len(cells.distinct)
        back = [np.swapaxes(solution.beliefs.h[kinds], 1, 2) for solution in self.solutions]
        by_side = [[turn @ A for turn, A in zip(back, by_component, strict=True)] for by_component in sums]
        asked = np.array(
            [sum(self.model.projections[query].cells for query, _ in told.laws) for told in self.told]
        )
        least = np.array([least_noise(told) for told in self.told])
        room = MOST_WEIGHTS // max(1, 2 * len(cells.distinct))
        noises: list[Shared] = []
        for pair in cells.distinct:
            # the share of a unit's own belief in the variance bounds the weights of its noises
            shares = np.zeros((len(kinds), 2))
            for number, (side, rows) in enumerate(zip(sums, pair, strict=True)):
                for A, row, solution in zip(side, rows, self.solutions, strict=True):
                    own = A @ row
                    shares[:, number] += np.sum(own * (solution.beliefs.V[kinds] @ own), axis=(1, 2))
            bounds = np.sqrt(np.maximum(shares, 0.0) / least[kinds, None])
            enough = NEGLIGIBLE / 10 * np.sqrt(np.maximum(shares, 0.0).sum(axis=0))
            order = np.argsort(-bounds.max(axis=1), kind="stable")
            matters = np.any(bounds[order] > enough, axis=1) & (np.cumsum(asked[kinds[order]]) <= room)
            near, far = order[matters], order[~matters]
            parts = []
            sides = [
                [A[near] @ row for A, row in zip(side, rows, strict=True)]
                for side, rows in zip(by_side, pair, strict=True)
            ]
            for measured, codes, factors in self._measured:
                seen, code = self.model.projections[measured], codes[kinds[near]]
                has = np.flatnonzero(code >= 0)
                factor = factors[kinds[near[has]]][:, None]
                moved = [[array[has] for array in side] for side in sides]
                weights = np.stack([seen.read(side) * factor for side in moved], axis=2)
                for law in np.unique(code[has]).tolist():
                    its = weights[code[has] == law].reshape(-1, 2)
                    parts.append((its, self.unknown.laws[law], 1.0))
            first, second = bounds[far].max(axis=0, initial=0.0).tolist()
            noises.append(Shared.of(parts, (first, second), self.unknown.relative, self.unknown.laws))
        return noises

    @cached_property
    def _branches(self) -> Branches:
        return Branches(self.shape, self.told, self.solutions)

    @cached_property
    def unknown(self) -> Shared:
        """Noises of which only a bound on the weights is known: the weight a of a noise satisfies
        a^2 <= var(estimate) var(measured cell) / s^2, with s the variance of the noise."""
        most, least = 0.0, dict[str, Floats]()
        for kind, told in enumerate(self.told):
            for query, size in told.variances:
                if query not in least:
                    least[query] = np.full(len(self.told), np.inf)
                least[query][kind] = min(least[query][kind], size)
        for query, sizes in least.items():
            measured = np.flatnonzero(np.isfinite(sizes)[self.shape.kind])
            variances = self.variances(query, measured).max(axis=1, initial=0.0)
            share = variances / sizes[self.shape.kind[measured]] ** 2
            most = max(most, float(share.max(initial=0.0)))
        every = (law for told in self.told for _, law in told.laws)
        laws = dict.fromkeys(UNIT if isinstance(law, Normal) else law for law in every)
        return Shared.unknown(list(laws), math.sqrt(most))


MOST_WEIGHTS = 1 << 24
"""The most weights of noises computed for all pairs of cells; for the rest only a bound is known."""

_MOST_SETS = 16
"""Sets of classes examined one by one, each at its own nodes."""

_MOST_CLASSES = 256
"""Classes of cells examined together."""

FAR = 1 / 100
"""Branches of the tree where no weight can exceed this many standard deviations are left out."""

_LEAST = 1e-5
"""The smallest weights kept, in standard deviations of the estimate."""
