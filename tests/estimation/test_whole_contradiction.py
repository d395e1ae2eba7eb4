"""Families without a solution: which constraints contradict each other, and what cut the parent breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from families import random_family
from scipy.optimize import linprog

from discreet.estimation.whole.contradiction import (
    ContradictionError,
    _constraints,
    _feasible,
    conflicting,
    cut,
)
from discreet.estimation.whole.family import UNBOUNDED, Family, Limits
from discreet.estimation.whole.minimum import solve_family

ONE = np.zeros(3, np.int64)


def totals(*bounds: tuple[int, int]) -> Limits:
    """Return limits of the total of the first children."""
    low, high = np.array(bounds).T
    return Limits("total", ONE, np.arange(len(bounds)), low[:, None], high[:, None])


def family_of(parent: list[int], *limits: Limits, upper: np.ndarray | None = None) -> Family:
    children = 3
    return Family(
        np.eye(3)[None],
        np.zeros(children, np.int64),
        np.ones((children, 3)),
        np.array(parent),
        upper=upper,
        limits=limits,
        names=["Block 1", "Block 2", "Block 3"],
    )


def test_totals_that_exceed_the_parent_are_named_with_its_cells() -> None:
    family = family_of([2, 2, 2], totals((3, 3), (3, 3), (1, 1)))
    assert conflicting(family) == (
        "cell 0 of the parent is 2",
        "cell 1 of the parent is 2",
        "cell 2 of the parent is 2",
        "total of 'Block 1' held at 3",
        "total of 'Block 2' held at 3",
        "total of 'Block 3' held at 1",
    )


def test_what_is_not_needed_is_not_named() -> None:
    """One impossible cell contradicts the parent; limits elsewhere have nothing to do with it."""
    upper = np.full((3, 3), UNBOUNDED)
    upper[:, 1] = 0
    family = family_of([2, 1, 2], totals((0, 9), (1, UNBOUNDED)), upper=upper)
    assert conflicting(family) == (
        "cell 1 of the parent is 1",
        "cell 1 of 'Block 1' at most 0",
        "cell 1 of 'Block 2' at most 0",
        "cell 1 of 'Block 3' at most 0",
    )


def test_two_limits_of_one_child_can_contradict_each_other() -> None:
    part = Limits("adults", np.array([0, 0, -1]), np.array([1]), np.array([[5]]), np.array([[UNBOUNDED]]))
    family = family_of([9, 9, 9], totals((0, 9), (4, 4)), part)
    assert conflicting(family) == ("total of 'Block 2' held at 4", "adults of 'Block 2' at least 5")
    with pytest.raises(ContradictionError) as caught:
        solve_family(family)
    assert caught.value.constraints == conflicting(family)
    assert caught.value.problems == caught.value.constraints


def test_cells_and_groups_have_the_names_that_a_caller_gives() -> None:
    two = np.array([[2, 0]])
    ages = Limits("age", np.array([0, 0, 1]), np.array([0]), two, two, ["children", "adults"])
    alone = Family(
        np.eye(3)[None],
        np.array([0]),
        np.zeros((1, 3)),
        np.array([1, 1, 1]),
        limits=[ages],
        names=["Block 1"],
        cell_names=["girls", "boys", "grown"],
    )
    assert conflicting(alone) == ("cell 'grown' of the parent is 1", "age, 'adults', of 'Block 1' held at 0")


def test_a_family_with_a_solution_has_no_contradiction() -> None:
    for seed in range(12):
        family = random_family(np.random.default_rng(seed), largest=8)
        assert conflicting(family) == ()
        assert cut(family) is None


def broken_family(seed: int) -> Family:
    """Draw a family and change one of the parent's cells or one limit so that there is no solution."""
    rng = np.random.default_rng(seed)
    while True:
        family = random_family(rng, largest=8, children=int(rng.integers(1, 6)))
        if family.parent is None or not family.limits:
            continue
        parent = np.maximum(family.parent + rng.integers(-3, 4, family.cells), 0)
        broken = replace(family, parent=parent)
        if conflicting(broken):
            return broken


@pytest.mark.parametrize("seed", range(6))
def test_the_named_constraints_cannot_be_kept_and_any_one_less_can(seed: int) -> None:
    family = broken_family(seed)
    rows = _constraints(family)
    assert len(set(rows.names)) == len(rows.names)
    named = [rows.names.index(name) for name in conflicting(family)]
    assert not _feasible(rows, named)
    for one in named:
        assert _feasible(rows, [other for other in named if other != one])
    with pytest.raises(ContradictionError):
        solve_family(family)


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_is_broken_by_the_parent_and_kept_by_all_that_have_children(seed: int) -> None:
    family = broken_family(seed)
    found = cut(family)
    children = replace(family, parent=None)
    if conflicting(children):
        assert found is None
        return
    if found is None:  # only limits that do not nest may have no cut over a set of cells
        assert len(family.limits) > 1
        return
    held = int(family.parent[found.cells].sum())
    assert (found.most is not None and held > found.most) or (found.least is not None and held < found.least)
    rows = _constraints(children)
    cost = np.zeros((family.children, family.cells))
    cost[:, found.cells] = -1.0 if found.most is not None else 1.0
    a, b = (
        np.vstack([rows.matrix.toarray(), -rows.matrix.toarray()]),
        np.concatenate([rows.most, -rows.least]),
    )
    best = linprog(cost.ravel(), a[np.isfinite(b)], b[np.isfinite(b)])
    assert best.status == 0
    assert abs(best.fun) == pytest.approx(found.most if found.most is not None else found.least, abs=1e-6)
