"""Post-processing of a noisy table: non-negative, or consistent. It spends nothing, and draws nothing.

Guarantee. Each is a function of the noisy table and of what was declared (the tree, exact totals), so it has
the privacy of the noisy table; exact totals are outside of any guarantee. What it does to accuracy: the
least-squares estimate is unbiased and has the stated variance; cutting at zero and rounding are not
unbiased, see `docs/howto/measure.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.hierarchy.forest import Forest, grow
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.least_squares import Floats, LeastSquares
from discreet.release.hierarchy.rounding import apportion
from discreet.release.hierarchy.tree import Integers

Post = Literal["none", "nonnegative", "consistent"]
POSTS: tuple[Post, ...] = ("none", "nonnegative", "consistent")
"""The kinds of post-processing."""

Variances = Mapping[tuple[int, str], float]
"""The variance of the noise by kind of unit and query."""

BLOCK = 1 << 20
"""Cells that are estimated at a time."""

MEANING = {
    "none": "the variance of the noise",
    "nonnegative": "the variance of the noise, before values below zero were set to zero",
    "consistent": "the variance of the least-squares estimate, before non-negativity and rounding",
}
"""What the column `variance` is."""


@dataclass(frozen=True, slots=True)
class Held:
    """Totals held exact: for each query the units, and a vector with their counts at their positions."""

    units: Mapping[str, NDArray[np.bool_]]
    counts: Integers


@dataclass(frozen=True, slots=True)
class Estimates:
    """A post-processed table: whole numbers, real ones before rounding if there are, and variances."""

    layout: Layout
    columns: dict[str, NDArray[Any]]


def process(
    how: Post, layout: Layout, values: Integers, noise: Variances, held: Held | None = None
) -> Estimates:
    """Apply a post-processing; `noise` is the variance by kind of unit and query."""
    if how == "consistent":
        return _consistent(layout, values, noise, held)
    variance = spread(layout, noise)
    if how == "none":
        return Estimates(layout, {"value": values, "variance": variance})
    estimate = np.maximum(values, 0)
    for query, units in held.units.items() if held else ():
        first = layout.first(query)[units]
        rows = (first[:, None] + np.arange(len(layout.cells[query]))).ravel()
        assert held is not None
        estimate[rows], variance[rows] = held.counts[rows], 0.0
    return Estimates(layout, {"estimate": estimate, "variance": variance})


def spread(layout: Layout, noise: Variances) -> Floats:
    """Return the variance of the noise of each cell."""
    pattern = np.concatenate(
        [
            np.full(len(layout.cells[query]), noise[kind, query])
            for kind, queries in enumerate(layout.asked)
            for query in queries
        ]
    )
    variance = np.empty(layout.size)
    for units, rows in layout.chunks(BLOCK):
        variance[rows] = pattern[layout.columns(units)]
    return variance


def _consistent(layout: Layout, values: Integers, noise: Variances, held: Held | None) -> Estimates:
    forests: dict[str, tuple[Forest, LeastSquares]] = {}
    for query in layout.queries:
        asked = layout.first(query) >= 0
        forest = grow(layout.tree, asked)
        table = np.array([noise.get((kind, query), np.inf) for kind in range(len(layout.asked))])
        sizes = table[layout.kind[forest.units]]
        if held and query in held.units:
            sizes[held.units[query][forest.units]] = 0.0
        forests[query] = forest, LeastSquares(forest, sizes)
    wide = _widened(layout, {query: forest for query, (forest, _) in forests.items()})
    columns: dict[str, NDArray[Any]] = {
        "estimate": np.empty(wide.size, dtype=np.int64),
        "least_squares": np.empty(wide.size),
        "variance": np.empty(wide.size),
    }
    for query, (forest, solver) in forests.items():
        _estimate(query, forest, solver, layout, values, held, wide, columns)
    return Estimates(wide, columns)


def _estimate(
    query: str,
    forest: Forest,
    solver: LeastSquares,
    layout: Layout,
    values: Integers,
    held: Held | None,
    wide: Layout,
    columns: dict[str, NDArray[Any]],
) -> None:
    """Estimate one query, some cells at a time: cells do not depend on each other."""
    source = np.maximum(layout.first(query)[forest.units], 0)
    target = wide.first(query)[forest.units]
    exact = held.units[query][forest.units] if held and query in held.units else None
    width = len(layout.cells[query])
    step = max(1, BLOCK // forest.size)
    for start in range(0, width, step):
        cells = np.arange(start, min(start + step, width))
        here = source[:, None] + cells
        y = values[here].astype(np.float64)
        totals = None
        if exact is not None:
            assert held is not None
            totals = held.counts[here]
            y[exact] = totals[exact]
        z = solver.upwards(y)
        there = target[:, None] + cells
        columns["least_squares"][there] = solver.downwards(z)
        columns["variance"][there] = solver.variance[:, None]
        columns["estimate"][there] = apportion(
            forest, z, solver.upward_variance, exact, totals, first_cell=start
        )


def _widened(layout: Layout, forests: Mapping[str, Forest]) -> Layout:
    """Return the layout of the estimates: a query may be estimated where it is not asked, as a sum."""
    extra = {}
    for query, forest in sorted(forests.items()):
        new = np.zeros(layout.tree.size, dtype=bool)
        new[forest.units] = layout.first(query)[forest.units] < 0
        if new.any():
            extra[query] = new
    if not extra:
        return layout
    code = layout.kind.astype(np.int64)
    for new in extra.values():
        code = 2 * code + new
        if code.max() > 1 << 40:
            code = np.unique(code, return_inverse=True)[1]
    _, first, kind = np.unique(code, return_index=True, return_inverse=True)
    asked = tuple(
        (*layout.asked[layout.kind[unit]], *(query for query, new in extra.items() if new[unit]))
        for unit in first
    )
    return Layout(layout.tree, layout.cells, asked, kind.astype(np.int32))


def check_post(how: str) -> Post:
    """Return the name of a post-processing, or raise.

    >>> check_post("rounded")
    Traceback (most recent call last):
    discreet.errors.InputError: post is 'rounded'; it must be none, nonnegative or consistent
    """
    for name in POSTS:
        if how == name:
            return name
    raise InputError(f"post is {how!r}; it must be none, nonnegative or consistent")
