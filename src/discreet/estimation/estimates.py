"""Best linear unbiased estimates of any query in any unit, or union of units, from all measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes
from discreet.errors import InputError
from discreet.estimation.accuracy import View
from discreet.estimation.components import ByComponent, Floats
from discreet.estimation.intervals import half_width
from discreet.estimation.model import Model, Told
from discreet.estimation.tree import Integers, Shape, estimate


@dataclass(frozen=True)
class Measurements:
    """A tree of units with what each kind of unit answers, and the noisy counts.

    Units come from the top down, those of one parent together. `noisy` and `exact` have for each query the
    units that answer it (or for which it is held exact) and one row of cells for each, in the order of the
    attributes.
    """

    parent: Integers
    starts: tuple[int, ...]
    kind: Integers
    told: tuple[Told, ...]
    noisy: Mapping[str, tuple[Integers, NDArray[Any]]]
    exact: Mapping[str, tuple[Integers, NDArray[Any]]]


class Estimates:
    """The estimates from measurements, with their covariances.

    Guarantee. Assumed: independent noise of mean 0 and of the stated laws; exact counts are true; children
    add up to parents. Claimed: estimates are linear in the measurements, unbiased, and of the smallest
    variance among all that are (Aitken). Cells add up to coarser queries and children to parents, up to
    rounding of floats.
    """

    def __init__(self, attributes: Attributes | None, given: Measurements) -> None:
        queries = tuple(dict.fromkeys([*given.noisy, *given.exact]))
        sizes = {**given.exact, **given.noisy}
        self.model = Model(attributes, queries, cells={name: sizes[name][1].shape[1] for name in queries})
        self.given = given
        self.shape, self.node = Shape.of(given.parent, given.kind, given.starts)
        self.solutions = self.model.solve(self.shape, given.told)
        self.view = View(self.model, self.shape, given.told, self.solutions)
        self._x = self._solve()

    def _solve(self) -> ByComponent:
        given, many = self.given, len(self.given.parent)
        components = list(self.model.components)
        h = [np.zeros((many, one.size, one.copies)) for one in components]
        t = [np.zeros((many, one.size, one.copies)) for one in components] if given.exact else None
        variance = [told.variances for told in given.told]
        for query, (units, values) in given.noisy.items():
            scale = np.array([one.get(query, np.inf) for one in variance])[given.kind[units]]
            for place, part in enumerate(self.model.projections[query].collect(values)):
                h[place][units] += part / scale[:, None, None]
        for query, (units, values) in given.exact.items():
            for place, part in enumerate(self.model.projections[query].collect(values)):
                assert t is not None
                t[place][units] += part
        return [
            estimate(
                solution,
                given.parent,
                given.kind,
                self.node,
                given.starts,
                h[place],
                None if t is None else t[place],
            )
            for place, solution in enumerate(self.solutions)
        ]

    def cells(self, query: str) -> int:
        """Return the number of cells of a query."""
        return self.model.cells(query)

    def values(self, query: str) -> Floats:
        """Return the estimates, one row a unit, one column a cell; nan where they are not determined."""
        projection = self.model.projection(query)
        found = projection.read(self._x)
        unknown = self.view.undetermined(query, np.arange(self.shape.size))
        if unknown.any():
            found = np.where(unknown[self.node][:, projection.classes], np.nan, found)
        return found

    def deviations(self, query: str) -> Floats:
        """Return the standard deviation of each estimate; nan where it is not determined."""
        projection = self.model.projection(query)
        nodes = np.arange(self.shape.size)
        found = np.sqrt(self.view.variances(query, nodes))
        found = np.where(self.view.undetermined(query, nodes), np.nan, found)
        return found[self.node][:, projection.classes]

    def widths(self, query: str, level: float) -> Floats:
        """Return the half-width of each interval: the error is within it with at least this chance."""
        projection = self.model.projection(query)
        nodes = np.arange(self.shape.size)
        unknown = self.view.undetermined(query, nodes)
        found = np.full(unknown.shape, np.nan)
        for node, one in zip(*np.nonzero(~unknown), strict=True):
            found[node, one] = self.view.half_width(query, int(node), int(one), level)
        return found[self.node][:, projection.classes]

    def union(
        self,
        members: Sequence[int] | Integers,
        queries: Sequence[str],
        *,
        less: Sequence[int] | Integers = (),
    ) -> Union:
        """Return the estimates of a union of units that do not overlap, less another, covariances included.

        A functional's variance is its own estimate from data h = weight: the two passes are run on it.
        """
        weight = np.zeros(len(self.given.parent))
        for sign, some in ((1.0, members), (-1.0, less)):
            found_units = np.asarray(some, dtype=np.int64)
            self._check_apart(found_units)
            weight[found_units] += sign
        units = np.flatnonzero(weight)
        signs = weight[units][:, None, None]
        covariances, sums = [], []
        for place, one in enumerate(self.model.components):
            h = weight[:, None, None] * np.eye(one.size)
            given = self.given
            moved = estimate(
                self.solutions[place], given.parent, given.kind, self.node, given.starts, h, None
            )
            covariance = (signs * moved[units]).sum(axis=0)
            covariances.append((covariance + covariance.T)[None] / 2)
            sums.append((signs * self._x[place][units]).sum(axis=0)[None])
        found = {}
        for query in queries:
            projection = self.model.projection(query)
            values = projection.read(sums)[0]
            variances = np.maximum(projection.variances(covariances)[0], 0.0)[projection.classes]
            unknown = self.view.undetermined(query, np.unique(self.node[units])).any(axis=0)
            lost = unknown[projection.classes]
            found[query] = (np.where(lost, np.nan, values), np.where(lost, np.nan, variances))
        return Union(found)

    def _check_apart(self, units: Integers) -> None:
        if len(np.unique(units)) < len(units):
            raise InputError("an area names a unit twice")
        inside = np.zeros(len(self.given.parent), dtype=bool)
        inside[units] = True
        for unit in units.tolist():
            above = int(self.given.parent[unit])
            while above >= 0:
                if inside[above]:
                    raise InputError("an area names a unit and another one that lies within it")
                above = int(self.given.parent[above])


@dataclass(frozen=True)
class Union:
    """Estimates and variances of the cells of queries for a union of units."""

    queries: Mapping[str, tuple[Floats, Floats]]

    def width(self, query: str, level: float) -> Floats:
        """Return half-widths; a union of several units has no term that dominates, so they are Gaussian."""
        _, variances = self.queries[query]
        distinct, of = np.unique(variances, return_inverse=True)
        sizes = [np.nan if np.isnan(one) else half_width(float(one), [], level) for one in distinct]
        return np.array(sizes)[of.ravel()]


def difference(
    one: tuple[float, float], two: tuple[float, float], *, covariance: float = 0.0
) -> tuple[float, float]:
    """Return the difference of two estimates and its variance, from pairs (estimate, variance).

    >>> difference((10.0, 3.0), (4.0, 1.0))
    (6.0, 4.0)
    """
    return one[0] - two[0], one[1] + two[1] - 2 * covariance


def ratio(
    one: tuple[float, float], two: tuple[float, float], level: float, *, covariance: float = 0.0
) -> tuple[float, float, float, str]:
    """Return the ratio of two estimates, its interval, and the method's name.

    Fieller's interval, which is exact for Gaussian errors; where the denominator is not clearly different
    from zero it is unbounded, and that is said.

    >>> ratio((10.0, 1.0), (100.0, 4.0), 0.95)  # doctest: +ELLIPSIS
    (0.1, 0.0801..., 0.1201..., 'Fieller')
    >>> ratio((1.0, 1.0), (1.0, 4.0), 0.95)[3]
    'not bounded: the denominator is not clearly different from zero'
    """
    z = half_width(1.0, [], level)
    a = two[0] ** 2 - z * z * two[1]
    b = one[0] * two[0] - z * z * covariance
    c = one[0] ** 2 - z * z * one[1]
    value = one[0] / two[0] if two[0] else float("nan")
    if a <= 0.0:
        text = "not bounded: the denominator is not clearly different from zero"
        return value, float("-inf"), float("inf"), text
    root = float(np.sqrt(max(b * b - a * c, 0.0)))
    return value, (b - root) / a, (b + root) / a, "Fieller"
