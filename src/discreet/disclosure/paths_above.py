"""The areas around each lowest area, as an adversary looks at them: paths through the tree, merged or not.

Areas of merged levels may lie beside areas of a single one. So the siblings of an area may have several
kinds of noise, and paths several lengths; areas with the same path are looked at together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.areas.tree import Integers, Tree
from discreet.disclosure.area_paths import AreaPath
from discreet.disclosure.siblings import SumNoise


@dataclass(frozen=True, slots=True)
class PathAbove:
    """The kinds of areas from a lowest one up, those that ask the query, and their noise.

    `is_direct` says whether the area itself asks: if not, the counts of its parts' siblings are not seen.
    """

    kinds: tuple[int, ...] = ()
    variances: tuple[float, ...] = ()
    beside: tuple[SumNoise | None, ...] = ()
    is_direct: bool = False

    @property
    def areas(self) -> AreaPath:
        """The path as the risk part takes it."""
        return AreaPath(self.variances, self.beside)

    def rounded(self, tolerance: float) -> object:
        """Return what paths share whose siblings are as many, but for a relative tolerance."""
        if not tolerance:
            return self.kinds, tuple(None if noise is None else id(noise) for noise in self.beside)
        near = [
            -1 if noise is None else int(rounded_counts(np.array([noise.count]), tolerance)[0])
            for noise in self.beside
        ]
        return self.kinds, tuple(near)


def rounded_counts(counts: Integers, tolerance: float) -> Integers:
    """Return whole numbers near others, on a geometric grid if there is a tolerance; small ones stay.

    >>> rounded_counts(np.array([0, 1, 2, 3, 40, 41]), 0.2).tolist()
    [0, 1, 2, 3, 38, 38]
    """
    if not tolerance:
        return counts
    step = math.log1p(tolerance)
    near = np.rint(np.exp(step * np.rint(np.log(np.maximum(counts, 1)) / step))).astype(np.int64)
    return np.where(counts < 3, counts, near)


def paths_above(tree: Tree, variances: Mapping[int, float]) -> tuple[Integers, list[PathAbove]]:
    """Return for each unit which path it has, and the paths; `variances` are of the kinds that ask the query.

    >>> tree = Tree(np.array([-1, 0, 0, 1, 1]), np.array([0, 1, 2, 3, 3]), (0, 1, 3))
    >>> of, paths = paths_above(tree, {0: 6.0, 1: 4.0, 2: 3.0, 3: 5.0})
    >>> [(paths[number].kinds, [noise.variance for noise in paths[number].beside]) for number in of[[2, 3]]]
    [((2, 0), [4.0]), ((3, 1, 0), [5.0, 3.0])]
    """
    inside = np.flatnonzero(tree.parent >= 0)
    children = np.zeros((tree.size, len(tree.levels) or int(tree.kind.max()) + 1), dtype=np.int64)
    np.add.at(children, (tree.parent[inside], tree.kind[inside]), 1)
    families, family = np.unique(children, axis=0, return_inverse=True)
    of, paths = np.zeros(tree.size, dtype=np.int64), list[PathAbove]()
    noises: dict[tuple[tuple[float, int], ...], SumNoise] = {}
    for part in tree.depths:
        above = tree.parent[part]
        rows = np.column_stack([np.where(above >= 0, of[above], -1), tree.kind[part], family.ravel()[above]])
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        of[part] = len(paths) + which.ravel()
        for upper, kind, row in distinct.tolist():
            over = paths[upper] if upper >= 0 else PathAbove()
            if kind not in variances:
                paths.append(PathAbove(over.kinds, over.variances, over.beside))
                continue
            beside: tuple[SumNoise | None, ...] = ()
            if over.kinds:
                many = families[row].copy()
                many[kind] -= 1
                beside = (_sum_noise(many, variances, noises) if over.is_direct else None,)
            kinds, sizes = (kind, *over.kinds), (variances[kind], *over.variances)
            paths.append(PathAbove(kinds, sizes, (*beside, *over.beside), is_direct=True))
    return of, paths


def _sum_noise(
    many: Integers,
    variances: Mapping[int, float],
    known: dict[tuple[tuple[float, int], ...], SumNoise],
) -> SumNoise | None:
    """The noise of the sum of so many areas of each kind; None if some of them do not ask the query."""
    counts: dict[float, int] = {}
    for kind in np.flatnonzero(many).tolist():
        if kind not in variances:
            return None
        counts[variances[kind]] = counts.get(variances[kind], 0) + int(many[kind])
    key = tuple(sorted(counts.items()))
    if key not in known:
        known[key] = SumNoise.of(counts)
    return known[key]
