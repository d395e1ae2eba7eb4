"""The joint law of the noises of several cells whose keys depend on each other, exactly.

Keys modulo an integer are enumerated. Real keys that two uniform numbers generate, such as those of A, B and
their total, divide the unit square into polygons, whose areas are fractions. Of more keys, one may depend on
the others, such as that of a total on its parts: what it cuts off a box has a volume in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import factorial, lcm, prod

import numpy as np
from numpy.typing import NDArray

from discreet.cellkey.lattice import Matrix, blocks, column_basis, only_relation
from discreet.cellkey.table import PerturbationTable

Noises = tuple[int, ...]
"""The noise of each cell of a block."""

Scalar = int | Fraction
Point = tuple[Scalar, Scalar]
Polygon = tuple[Point, ...]

MOST_KEYS = 1 << 22
"""Vectors of keys that are enumerated."""

MOST_PIECES = 100_000
"""Polygons into which the square of two keys is divided, and outcomes of independent sets of cells."""

MOST_CORNERS = 1_000_000
"""Corners of boxes at which the powers of a sum are worked out."""

ObjectArray = NDArray[np.object_]
"""An array of integers of any length."""


@dataclass(slots=True)
class JointLaws:
    """The joint laws of cells under one table, each worked out once."""

    table: PerturbationTable
    _known: dict[tuple[Matrix, Noises], dict[Noises, Fraction] | None] = field(default_factory=dict)

    def law(self, matrix: Sequence[Sequence[int]], counts: Sequence[int]) -> dict[Noises, Fraction] | None:
        """Return the probabilities of the noises of cells with these counts; none if they are out of reach.

        The matrix has a row for each cell and a column for each atom that is not empty.

        >>> from discreet.cellkey.table import perturbation_table
        >>> table = perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}}, modulus=8)
        >>> law = JointLaws(table).law([(1, 0), (0, 1), (1, 1)], (5, 5, 10))
        >>> law[-1, -1, -1] / sum(chance for noises, chance in law.items() if noises[:2] == (-1, -1))
        Fraction(3, 4)
        """
        rows = tuple(self._row(count) for count in counts)
        key = column_basis(matrix), rows
        if key not in self._known:
            self._known[key] = self._worked_out(*key)
        return self._known[key]

    def _row(self, count: int) -> int:
        """The row that a count uses; counts that use the same one have the same noises."""
        return self.table.row(count).count if count or self.table.has_zero else 0

    def _worked_out(self, basis: Matrix, rows: Noises) -> dict[Noises, Fraction] | None:
        modulus, generators = self.table.modulus, len(basis[0]) if basis else 0
        if modulus is not None:
            return self._enumerated(basis, rows, modulus) if modulus**generators <= MOST_KEYS else None
        if generators == 0:
            return {tuple(self.table.noise(row, 0) for row in rows): Fraction(1)}
        if generators == 1:
            return self._on_the_circle(basis, rows)
        return self._on_the_square(basis, rows) if generators == 2 else self._in_parts(basis, rows)

    def _enumerated(self, basis: Matrix, rows: Noises, modulus: int) -> dict[Noises, Fraction]:
        axes = [np.arange(modulus, dtype=np.int64)] * len(basis[0])
        grid = [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")] if axes else []
        total = modulus ** len(grid)
        code = np.zeros(total, dtype=np.int64)
        values: list[list[int]] = []
        for row, generators in zip(rows, basis, strict=True):
            key = np.zeros(total, dtype=np.int64)
            for factor, axis in zip(generators, grid, strict=True):
                key = (key + factor * axis) % modulus
            noises = np.array([self.table.noise(row, key) for key in range(modulus)], dtype=np.int64)
            distinct, places = np.unique(noises, return_inverse=True)
            # codes stay short: those of the cells so far are numbered anew
            seen, so_far = np.unique(code, return_inverse=True)
            values = (
                [[*values[index], int(noise)] for index in seen for noise in distinct]
                if values
                else [[int(noise)] for noise in distinct]
            )
            code = so_far * len(distinct) + places[key]
        counted = np.bincount(code, minlength=len(values))
        return {
            tuple(values[index]): Fraction(int(many), total) for index, many in enumerate(counted) if many
        }

    def _on_the_circle(self, basis: Matrix, rows: Noises) -> dict[Noises, Fraction]:
        ends = {Fraction(0), Fraction(1)}
        for row, (factor,) in zip(rows, basis, strict=True):
            uppers = self._uppers(row)
            ends |= {(upper + turn) / abs(factor) for turn in range(abs(factor)) for upper in uppers}
            ends |= {1 - end for end in ends} if factor < 0 else set()
        law: dict[Noises, Fraction] = {}
        for low, high in pairwise(sorted(end for end in ends if 0 <= end <= 1)):
            middle = (low + high) / 2
            noises = tuple(
                self.table.noise(row, middle * factor % 1) for row, (factor,) in zip(rows, basis, strict=True)
            )
            law[noises] = law.get(noises, Fraction(0)) + high - low
        return law

    def _uppers(self, row: int) -> tuple[Fraction, ...]:
        return self.table.row(row).uppers if row or self.table.has_zero else (Fraction(1),)

    def _on_the_square(self, basis: Matrix, rows: Noises) -> dict[Noises, Fraction] | None:
        # in units in which every upper end is an integer, and most corners are
        unit = lcm(*(upper.denominator for row in rows for upper in self._uppers(row)))
        pieces: list[tuple[Polygon, Noises]] = [(((0, 0), (unit, 0), (unit, unit), (0, unit)), ())]
        for row, (a, b) in zip(rows, basis, strict=True):
            noises = self.table.row(row).noises if row or self.table.has_zero else (0,)
            uppers = [int(upper * unit) for upper in self._uppers(row)]
            if not a and not b:  # an empty cell divides nothing: its key is 0
                pieces = [(polygon, (*others, noises[0])) for polygon, others in pieces]
                continue
            divided: list[tuple[Polygon, Noises]] = []
            for polygon, others in pieces:
                rest, heights = polygon, [a * x + b * y for x, y in polygon]
                low, high = min(heights), max(heights)
                for turn in range(int(low // unit), int(-(-high // unit))):
                    for upper, noise in zip(uppers, noises, strict=True):
                        end = upper + turn * unit
                        if low < end < high:
                            below, rest = _cut(rest, a, b, end)
                            divided.append((below, (*others, noise)))
                            low = end
                        elif end >= high:
                            divided.append((rest, (*others, noise)))
                            break
            pieces = divided
            if len(pieces) > MOST_PIECES:
                return None
        areas: dict[Noises, Scalar] = {}
        for polygon, its_noises in pieces:
            areas[its_noises] = areas.get(its_noises, 0) + _doubled_area(polygon)
        return {noises: Fraction(area) / (2 * unit * unit) for noises, area in areas.items()}

    def _in_parts(self, basis: Matrix, rows: Noises) -> dict[Noises, Fraction] | None:
        """The law of keys with many generators: that of each set of dependent cells, as a product."""
        law: dict[Noises, Fraction] = {(): Fraction(1)}
        order: list[int] = []
        for part in blocks([basis], None):
            inside = column_basis([basis[cell] for cell in part])
            some = tuple(rows[cell] for cell in part)
            part_law = (
                self._with_one_relation(inside, some)
                if len(inside[0]) > 2
                else self._worked_out(inside, some)
            )
            if part_law is None or len(law) * len(part_law) > MOST_PIECES:
                return None
            law = {(*x, *y): p * q for x, p in law.items() for y, q in part_law.items()}
            order += part
        places = sorted(range(len(order)), key=order.__getitem__)
        return {tuple(noises[index] for index in places): chance for noises, chance in law.items()}

    def _with_one_relation(self, basis: Matrix, rows: Noises) -> dict[Noises, Fraction] | None:
        """The law of keys of which one is a sum of the others, plus or minus, each some times."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for cell, generators in enumerate(basis):  # cells with the same key divide its range together
            alike.setdefault(generators, []).append(cell)
        keys = list(alike)
        relation = only_relation(keys)
        if relation is None or 1 not in map(abs, relation):
            return None
        last = next(index for index, factor in enumerate(relation) if abs(factor) == 1)
        factors = [-x * relation[last] for index, x in enumerate(relation) if index != last]
        unit = lcm(*(upper.denominator for row in rows for upper in self._uppers(row)))
        ends = [
            sorted({int(upper * unit) for cell in alike[key] for upper in self._uppers(rows[cell])})
            for key in keys
        ]
        free = [[0, *ends[index]] for index in range(len(keys)) if index != last]
        if prod(map(len, free)) * len(ends[last]) * sum(map(abs, factors)) > MOST_CORNERS:
            return None
        # the sum of the free keys at the corners of all boxes
        height = np.zeros([1] * len(free), dtype=object)
        for axis, (factor, corners) in enumerate(zip(factors, free, strict=True)):
            shape = [len(corners) if index == axis else 1 for index in range(len(free))]
            height = height + np.array([factor * end for end in corners], dtype=object).reshape(shape)
        volumes = [np.zeros([len(corners) - 1 for corners in free], dtype=object) for _ in ends[last]]
        before = self._below(height, int(height.min() // unit) * unit)
        for turn in range(int(height.min() // unit), int(-(-height.max() // unit))):
            for index, end in enumerate(ends[last]):
                after = self._below(height, end + turn * unit)
                volumes[index] = volumes[index] + after - before
                before = after
        scale = factorial(len(free)) * prod(factors) * unit ** len(free)
        law: dict[Noises, Fraction] = {}
        for top, boxes in enumerate(volumes):
            for box, volume in np.ndenumerate(boxes):
                if volume:
                    at = [*box[:last], top, *box[last:]]
                    noises = [0] * len(rows)
                    for index, key in enumerate(keys):
                        low = ends[index][at[index] - 1] if at[index] else 0
                        for cell in alike[key]:
                            noises[cell] = self.table.noise(rows[cell], Fraction(low, unit))
                    some = tuple(noises)
                    law[some] = law.get(some, Fraction(0)) + Fraction(volume, scale)
        return law

    @staticmethod
    def _below(height: ObjectArray, end: int) -> ObjectArray:
        """How much of each box lies where the sum is below an end: up to a factor, differences of powers."""
        volume: ObjectArray = np.maximum(end - height, 0) ** height.ndim
        for axis in range(height.ndim):
            volume = -np.diff(volume, axis=axis)
        return volume


def _cut(polygon: Polygon, a: int, b: int, end: int) -> tuple[Polygon, Polygon]:
    """Return the parts of a convex polygon where a x + b y is below and above an end, which crosses it."""
    below, above = list[Point](), list[Point]()
    heights = [a * x + b * y - end for x, y in polygon]
    for corner, (point, height) in enumerate(zip(polygon, heights, strict=True)):
        after, its_height = polygon[(corner + 1) % len(polygon)], heights[(corner + 1) % len(polygon)]
        if height <= 0:
            below.append(point)
        if height >= 0:
            above.append(point)
        if height * its_height < 0:
            x, y = (
                _quotient(after[axis] * height - point[axis] * its_height, height - its_height)
                for axis in (0, 1)
            )
            below.append((x, y))
            above.append((x, y))
    return tuple(below), tuple(above)


def _quotient(above: Scalar, below: Scalar) -> Scalar:
    """Return a quotient, as an integer if it is one: integers are much faster."""
    quotient = Fraction(above) / below if isinstance(above, Fraction) else Fraction(above, below)
    return quotient.numerator if quotient.denominator == 1 else quotient


def _doubled_area(polygon: Polygon) -> Scalar:
    (x, y), *others = polygon
    doubled: Scalar = 0
    for (p, q), (r, s) in pairwise(others):
        doubled += (p - x) * (s - y) - (r - x) * (q - y)
    return doubled if doubled >= 0 else -doubled
