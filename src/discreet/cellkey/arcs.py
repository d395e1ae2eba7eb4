"""What cells tell whose keys are all known but for one that they share, on average over the known ones.

Each cell has its own known key, uniform and independent of the others, plus the shared one. Given the known
keys, the shared ones that lead to one outcome are an arc of the circle, and those that lead to the same
outcome with one record more are another. With p and q the lengths of the two, delta is 1 minus the average of
min(p, e^epsilon q) over the arcs p. All cells lie on the circle independently, so the average number of arcs
that begin at a point, are longer than s, and whose partner begins at a distance of A and is longer than
s e^-epsilon, is a product over cells of piecewise linear functions of s and A. Its integral over both is the
answer: Gauss's rule between the lines at which some function bends is exact, but for the rounding of floats.
Arcs that meet their partner around the circle are not counted; where there are any (noises of a row that do
not ascend, arcs of half the circle), the answer is a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.cellkey.table import PerturbationTable

MOST_POINTS = 4_000_000
"""Points of Gauss's rule."""

_BLOCK = 100_000  # points at once

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class ArcPairs:
    """For each outcome of a cell that both laws have: the ends of its keys under the first and the second."""

    low: Vector
    high: Vector
    other_low: Vector
    other_high: Vector

    @property
    def swapped(self) -> ArcPairs:
        """The second law against the first."""
        return ArcPairs(self.other_low, self.other_high, self.low, self.high)

    def room(self, s: Vector, v: Vector, at: Vector) -> Vector:
        """The chance that a cell allows an arc from 0 to s, and one from -at to v - at."""
        total = np.zeros(np.shape(at))
        for low, high, other_low, other_high in self.each():
            total += np.maximum(
                np.minimum(high - s, other_high - v + at) - np.maximum(low, other_low + at), 0
            )
        return total

    def starts(self, s: Vector, v: Vector, at: Vector) -> Vector:
        """In how many ways the first arc can begin at 0 because of this cell."""
        total = np.zeros(np.shape(at))
        for low, high, other_low, other_high in self.each():
            total += (low >= other_low + at) & (low <= high - s) & (low <= other_high - v + at)
        return total

    def other_starts(self, s: Vector, v: Vector, at: Vector) -> Vector:
        """In how many ways the second arc can begin at -at because of this cell."""
        total = np.zeros(np.shape(at))
        for low, high, other_low, other_high in self.each():
            total += (other_low + at >= low) & (other_low + at <= high - s) & (v <= other_high - other_low)
        return total

    def each(self) -> list[tuple[float, float, float, float]]:
        """The ends of each outcome."""
        ends = self.low, self.high, self.other_low, self.other_high
        return list(zip(*(end.tolist() for end in ends), strict=True))


def arc_pairs(table: PerturbationTable, count: int) -> ArcPairs | None:
    """The arcs of a cell that has this count, or one more; none where an outcome has several.

    >>> from discreet.cellkey.table import perturbation_table
    >>> table = perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}})
    >>> arc_pairs(table, 5).each()
    [(0.25, 0.75, 0.0, 0.25), (0.75, 1.0, 0.25, 0.75)]
    """
    sides = []
    for gained in (0, 1):
        row = table.row(count + gained)
        lows = (Fraction(0), *row.uppers[:-1])
        arcs = [
            (noise + gained, low, high)
            for noise, low, high in zip(row.noises, lows, row.uppers, strict=True)
            if low < high
        ]
        # two arcs longer than half of the circle may meet twice
        if len({arc[0] for arc in arcs}) < len(arcs) or any(
            high - low > Fraction(1, 2) for _, low, high in arcs
        ):
            return None
        sides.append({noise: (float(low), float(high)) for noise, low, high in arcs})
    first, second = sides
    both = [noise for noise in first if noise in second]
    ends = np.array([[*first[noise], *second[noise]] for noise in both]).reshape(len(both), 4)
    return ArcPairs(*ends.T)


def mean_delta(cells: Sequence[ArcPairs], ratio: float | None) -> float | None:
    """Return delta where e^epsilon is this ratio, or at any epsilon, on average over the known keys.

    There is none where that takes too many points.

    >>> from discreet.cellkey.table import perturbation_table
    >>> pair = arc_pairs(perturbation_table({1: {-1: "1/4", 0: "1/2", 1: "1/4"}}), 5)
    >>> round(mean_delta([pair], 1.0), 12), round(mean_delta([pair, pair], None), 12)
    (0.5, 0.5)
    """
    many = Counter(map(id, cells))
    kinds = [(cell, many[id(cell)]) for cell in {id(cell): cell for cell in cells}.values()]
    slope = 0.0 if ratio is None else 1.0 / ratio
    lines = _lines(kinds, slope)
    edges = _crossings(kinds, lines, ratio)
    nodes, weights = np.polynomial.legendre.leggauss(len(cells) // 2 + 1)
    half = 0.5 * np.diff(edges)[:, None]
    s = (edges[:-1, None] + half * (nodes + 1)).ravel()
    parts = (half * weights).ravel()
    if s.size * len(lines) * nodes.size > MOST_POINTS:
        return None
    total, step = 0.0, max(_BLOCK // max(len(lines) * nodes.size, 1), 1)
    for start in range(0, s.size, step):
        some = slice(start, start + step)
        total += float(parts[some] @ _at_lengths(kinds, lines, s[some], slope, nodes, weights))
    return min(max(1.0 - total, 0.0), 1.0)


def _lines(kinds: Sequence[tuple[ArcPairs, int]], slope: float) -> Vector:
    """The lines A = x + y s at which something bends or jumps."""
    lines = {(0.0, 0.0)}
    for cell, _ in kinds:
        for low, high, other_low, other_high in cell.each():
            lines |= {
                (low - other_low, 0.0),
                (high - other_high, slope - 1.0),
                (high - other_low, -1.0),
                (low - other_high, slope),
            }
    return np.array(sorted(lines))


def _crossings(kinds: Sequence[tuple[ArcPairs, int]], lines: Vector, ratio: float | None) -> Vector:
    """All s at which two lines cross, or an arc is as long as s."""
    longest = max((float((cell.high - cell.low).max()) for cell, _ in kinds if cell.low.size), default=0.0)
    lengths = [0.0, longest]
    for cell, _ in kinds:
        lengths += (cell.high - cell.low).tolist()
        lengths += (ratio * (cell.other_high - cell.other_low)).tolist() if ratio is not None else []
    rise = lines[:, None, 1] - lines[None, :, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths += ((lines[None, :, 0] - lines[:, None, 0]) / rise)[np.abs(rise) > 1e-12].tolist()
    inside = np.sort(np.clip(lengths, 0.0, longest))
    return inside[np.append(True, np.diff(inside) > 1e-13)] if longest else np.zeros(1)


def _at_lengths(
    kinds: Sequence[tuple[ArcPairs, int]],
    lines: Vector,
    s: Vector,
    slope: float,
    nodes: Vector,
    weights: Vector,
) -> Vector:
    """How many arcs are longer than s, and their partners longer than s times the slope, on average."""
    places = np.sort(lines[None, :, 0] + lines[None, :, 1] * s[:, None], axis=1)
    half = 0.5 * np.diff(places, axis=1)[:, :, None]
    at = (places[:, :-1, None] + half * (nodes + 1)).reshape(s.size, -1)
    parts = (half * weights).reshape(s.size, -1)
    total = (parts * _began(kinds, s[:, None], slope * s[:, None], at)).sum(axis=1)
    for index, (cell, often) in enumerate(kinds):  # one cell is the reason why both begin where they do
        rest = [(other, many - (other_place == index)) for other_place, (other, many) in enumerate(kinds)]
        for low, high, other_low, other_high in cell.each():
            alone = (s <= high - low) & (slope * s <= other_high - other_low)
            at = np.full(s.shape, low - other_low)
            total += often * alone * _rooms(rest, [other.room(s, slope * s, at) for other, _ in rest])
    return np.asarray(total)


def _began(kinds: Sequence[tuple[ArcPairs, int]], s: Vector, v: Vector, at: Vector) -> Vector:
    """Two cells are the reasons, and all others allow both arcs."""
    rooms = [cell.room(s, v, at) for cell, _ in kinds]
    starts = [cell.starts(s, v, at) for cell, _ in kinds]
    others = [cell.other_starts(s, v, at) for cell, _ in kinds]
    total = np.zeros(at.shape)
    for j, i in product(range(len(kinds)), repeat=2):
        pairs = kinds[j][1] * (kinds[i][1] - (i == j))
        if pairs:
            rest = [(cell, many - (k == i) - (k == j)) for k, (cell, many) in enumerate(kinds)]
            total += pairs * starts[j] * others[i] * _rooms(rest, rooms)
    return total


def _rooms(kinds: Sequence[tuple[ArcPairs, int]], rooms: Sequence[Vector]) -> Vector:
    made = np.ones(np.shape(rooms[0]))
    for (_, many), room in zip(kinds, rooms, strict=True):
        made = made * room**many
    return made
