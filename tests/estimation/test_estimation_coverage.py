"""Intervals where few noises dominate that are not near in the tree, or that are many and equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.intervals import Term, half_width
from discreet.estimation.tree import Tree
from discreet.noise import DiscreteGaussian, Noise


def widths(
    parent: Sequence[int], starts: Sequence[int], asked: Sequence[Mapping[str, Noise]], cells: int, unit: int
) -> list[float]:
    """The half-widths of a unit's total at 90 and 95 %; each unit is of its own kind."""
    size = {"total": 1, "detailed": cells}
    noisy = {}
    for query in ("total", "detailed"):
        units = np.array([place for place, one in enumerate(asked) if query in one], dtype=np.int64)
        if units.size:
            noisy[query] = units, np.zeros((units.size, size[query]))
    tree = Tree(np.array(parent), np.arange(len(parent)), tuple(starts))
    found = Estimates(Attributes({"a": cells}), Measurements(tree, (InMemory(asked, noisy),)))
    return [float(found.at().widths("total", level)[unit, 0]) for level in (0.9, 0.95)]


ONE = {"total": DiscreteGaussian(1)}
MANY = {"detailed": DiscreteGaussian(2)}


@pytest.mark.parametrize(
    ("parent", "starts", "asked", "cells", "unit", "law"),
    [
        ([-1, 0, 1], [0, 1, 2], [{}, {}, ONE], 1, 0, (1, 1)),  # two levels without measurements
        ([-1, 0, 1], [0, 1, 2], [ONE, {}, {}], 1, 2, (1, 1)),
        ([-1, 0, 0], [0, 1], [ONE, ONE, {}], 1, 2, (1, 2)),  # a parent less a sibling
        ([-1, 0, 0], [0, 1], [{}, ONE, ONE], 1, 0, (1, 2)),
        ([-1], [0], [MANY], 9, 0, (2, 9)),  # nine cells of one table
    ],
)
def test_noises_that_dominate_are_found(
    parent: list[int],
    starts: list[int],
    asked: list[dict[str, Noise]],
    cells: int,
    unit: int,
    law: tuple[int, int],
) -> None:
    variance, many = law
    reach = np.arange(-60, 61)
    one = DiscreteGaussian(variance).pmf(reach)
    chances = one
    for _ in range(many - 1):
        chances = np.convolve(chances, one)
    far = np.abs(np.arange(len(chances)) - len(chances) // 2)
    for level, width in zip((0.9, 0.95), widths(parent, starts, asked, cells, unit), strict=True):
        needed = next(w for w in range(100) if chances[far <= w].sum() >= level)
        assert width == pytest.approx(needed)


def test_wide_noises_of_different_weights_take_little_memory() -> None:
    """The points of two laws were multiplied: 12,000 by 12,000 of them."""
    law = DiscreteGaussian(1_000_000)
    terms = [Term(1.0, law), Term(-0.7, law), Term(1.0, law)]
    variance = (2 + 0.49) * law.true_variance()
    assert half_width(variance, terms, 0.95) == pytest.approx(1.959964 * variance**0.5, rel=1e-3)
