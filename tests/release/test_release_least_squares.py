"""The two-pass estimate against dense least squares, and the rounding against what it promises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from discreet.errors import InputError
from discreet.release.hierarchy.arrow import strings
from discreet.release.hierarchy.forest import Forest, grow
from discreet.release.hierarchy.least_squares import LeastSquares
from discreet.release.hierarchy.rounding import apportion
from discreet.release.hierarchy.tree import Tree


def random_tree(rng: np.random.Generator, depth: int, branch: int) -> Tree:
    """A tree in canonical order, some of whose branches end early."""
    parent, starts, last = [-1] * int(rng.integers(1, 3)), [0], 0
    for _ in range(depth):
        here = range(last, len(parent))
        last = len(parent)
        children = [unit for unit in here for _ in range(int(rng.integers(0, branch + 1)))]
        if not children:
            break
        starts.append(last)
        parent += children
    size = len(parent)
    names = strings([f"{unit:05d}" for unit in range(size)])
    level = np.searchsorted(starts, np.arange(size), side="right") - 1
    levels = tuple(f"L{i}" for i in range(len(starts)))
    return Tree(names, levels, level.astype(np.int32), np.array(parent, dtype=np.int32), tuple(starts))


def dense(forest: Forest, y: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares by normal equations in the leaves, within the solutions that keep the held nodes."""
    leaves = np.flatnonzero(~forest.inner)
    sums = np.zeros((forest.size, leaves.size))
    sums[leaves, np.arange(leaves.size)] = 1
    for node in range(forest.size - 1, -1, -1):
        if forest.parent[node] >= 0:
            sums[forest.parent[node]] += sums[node]
    held, measured = noise == 0, np.isfinite(noise) & (noise > 0)
    start, free = np.zeros((leaves.size, y.shape[1])), np.eye(leaves.size)
    if held.any():
        start = np.linalg.lstsq(sums[held], y[held], rcond=None)[0]
        free = null_space(sums[held])
    weight = np.where(measured, 1.0 / np.where(measured, noise, 1.0), 0.0)[:, None]
    rest = np.where(weight > 0, y - sums @ start, 0.0)
    basis = sums @ free
    inverse = np.linalg.inv(basis.T @ (weight * basis))
    return sums @ start + basis @ inverse @ basis.T @ (weight * rest), np.diag(basis @ inverse @ basis.T)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9), depth=st.integers(0, 4), branch=st.integers(1, 4))
def test_two_passes_equal_dense_least_squares(seed: int, depth: int, branch: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, depth, branch)
    asked = rng.random(tree.size) < 0.8
    asked[0] = True
    forest = grow(tree, asked)
    noise = np.where(asked, rng.choice([0.01, 1.0, 5.0, 343.27, 1e4], tree.size), np.inf)[forest.units]
    y = rng.normal(0, 100, (forest.size, 3))
    solver = LeastSquares(forest, noise)
    x, variance = dense(forest, y, noise)
    np.testing.assert_allclose(solver.downwards(solver.upwards(y)), x, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(solver.variance, variance, rtol=1e-7)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9))
def test_exact_totals_equal_dense_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 3, 3)
    forest = grow(tree, np.ones(tree.size, dtype=bool))
    truth = np.zeros((forest.size, 2))
    truth[~forest.inner] = rng.integers(0, 50, (int((~forest.inner).sum()), 2))
    for group in reversed(forest.groups):
        truth[group.parents] = group.sums(truth[group.nodes])
    held = rng.random(forest.size) < 0.3
    noise = np.where(held, 0.0, rng.choice([1.0, 4.0], forest.size))
    y = np.where(held[:, None], truth, truth + rng.normal(0, 2, truth.shape))
    solver = LeastSquares(forest, noise)
    x, variance = dense(forest, y, noise)
    np.testing.assert_allclose(solver.downwards(solver.upwards(y)), x, atol=1e-9)
    np.testing.assert_allclose(solver.variance, variance, atol=1e-9)
    assert (solver.variance[held] == 0).all()


def test_the_estimate_of_a_chain_is_the_weighted_mean() -> None:
    parent = np.array([-1, 0, 1], dtype=np.int32)
    tree = Tree(strings(["a", "b", "c"]), ("x", "y", "z"), np.arange(3, dtype=np.int32), parent, (0, 1, 2))
    forest = grow(tree, np.ones(3, dtype=bool))
    solver = LeastSquares(forest, np.array([2.0, 4.0, 4.0]))
    y = np.array([[10.0], [20.0], [30.0]])
    np.testing.assert_allclose(solver.downwards(solver.upwards(y)), (10 / 2 + 20 / 4 + 30 / 4) / 1.0)
    np.testing.assert_allclose(solver.variance, 1.0)


def test_a_query_asked_in_some_branches_only_is_cut_where_it_says_nothing() -> None:
    parent = np.array([-1, 0, 0, 1, 1], dtype=np.int32)
    level = np.array([0, 1, 1, 2, 2], dtype=np.int32)
    tree = Tree(strings(list("abcde")), ("x", "y", "z"), level, parent, (0, 1, 3))
    # Unit c lacks the query: a is by itself, b is the sum of d and e.
    forest = grow(tree, np.array([True, False, False, True, True]))
    assert forest.units.tolist() == [0, 1, 3, 4]
    assert forest.parent.tolist() == [-1, -1, 1, 1]
    # Unit a is not asked either, but c is: a is the sum of b and c.
    forest = grow(tree, np.array([False, False, True, True, True]))
    assert forest.parent.tolist() == [-1, 0, 0, 1, 1]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9), size=st.sampled_from([0.5, 5.0, 1000.0]))
def test_rounding_is_whole_nonnegative_additive_and_near(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 3, 5)
    forest = grow(tree, np.ones(tree.size, dtype=bool))
    noise = rng.choice([0.5, 5.0, 20.0], forest.size)
    solver = LeastSquares(forest, noise)
    z = solver.upwards(rng.normal(0.3 * size, size, (forest.size, 4)))
    number = apportion(forest, z, solver.upward_variance)
    assert number.dtype == np.int64
    assert (number >= 0).all()
    for group in forest.groups:
        assert (group.sums(number[group.nodes]) == number[group.parents]).all()
    roots = forest.roots
    np.testing.assert_array_equal(number[roots], np.maximum(np.rint(z[roots]), 0))
    for group in forest.groups:
        for family, parent in enumerate(group.parents):
            children = group.nodes[group.of == family]
            best = quadratic(z[children, 0], solver.upward_variance[children], number[parent, 0])
            assert np.abs(number[children, 0] - best).max() < 1.0


def quadratic(z: np.ndarray, v: np.ndarray, total: int) -> np.ndarray:
    """The non-negative least-squares estimate given the total, by the breakpoints of its multiplier."""
    order = np.argsort(-z / v, kind="stable")  # the first ones stay positive the longest
    for count in range(len(z), 0, -1):
        chosen = order[:count]
        step = (total - z[chosen].sum()) / v[chosen].sum()
        if (z[chosen] + v[chosen] * step >= -1e-12).all():
            best = np.zeros(len(z))
            best[chosen] = z[chosen] + v[chosen] * step
            return best
    return np.zeros(len(z))


def test_equal_remainders_favour_nobody() -> None:
    parent = np.array([-1, 0, 0, 0, 0], dtype=np.int32)
    tree = Tree(strings(list("abcde")), ("x", "y"), np.array([0, 1, 1, 1, 1], dtype=np.int32), parent, (0, 1))
    forest = grow(tree, np.ones(5, dtype=bool))
    cells = 20_000
    z = np.repeat([[2.0], [0.5], [0.5], [0.5], [0.5]], cells, axis=1)
    number = apportion(forest, z, np.ones(5))
    assert (number[1:].sum(axis=0) == 2).all()
    assert set(np.unique(number[1:])) == {0, 1}
    # Half of the cells each; five standard errors, so that a fair hash fails with a chance of 2e-6.
    assert (np.abs(number[1:].mean(axis=1) - 0.5) < 5 * 0.5 / np.sqrt(cells)).all()
    # Pairs of siblings too: both get one in a sixth of the cells.
    both = (number[1:, None] * number[None, 1:]).mean(axis=2)[np.triu_indices(4, 1)]
    assert (np.abs(both - 1 / 6) < 5 * np.sqrt(5) / 6 / np.sqrt(cells)).all()
    np.testing.assert_array_equal(number[:, 7:], apportion(forest, z[:, 7:], np.ones(5), first_cell=7))


def test_rounding_respects_exact_totals() -> None:
    parent = np.array([-1, 0, 0, 0, 1, 1], dtype=np.int32)
    level = np.array([0, 1, 1, 1, 2, 2], dtype=np.int32)
    tree = Tree(strings(list("abcdef")), ("x", "y", "z"), level, parent, (0, 1, 4))
    forest = grow(tree, np.ones(6, dtype=bool))
    z = np.array([[3.2], [1.0], [9.0], [2.6], [-4.0], [5.0]])
    held = np.array([False, False, True, False, True, False])
    totals = np.array([[0], [0], [9], [0], [4], [0]])
    number = apportion(forest, z, np.ones(6), held, totals)
    assert number[2, 0] == 9
    assert number[4, 0] == 4
    assert number[0, 0] == number[1:4].sum()
    assert number[1, 0] == number[4:].sum()
    assert (number >= 0).all()
    with pytest.raises(InputError, match="contradict"):
        apportion(forest, z, np.ones(6), np.arange(6) < 4, np.array([[8], [3], [3], [3], [0], [0]]))


def test_memory_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.release.hierarchy import processing
    from discreet.release.hierarchy.layout import Layout

    rng = np.random.default_rng(3)
    tree = random_tree(rng, 3, 4)
    layout = Layout(
        tree, {"q": strings([str(i) for i in range(11)])}, (("q",),) * len(tree.levels), tree.level
    )
    values = rng.integers(-20, 60, layout.size)
    noise = {(kind, "q"): 2.0 + kind for kind in range(len(tree.levels))}
    whole = processing.process("consistent", layout, values, noise).columns
    monkeypatch.setattr(processing, "BLOCK", 1)
    parts = processing.process("consistent", layout, values, noise).columns
    for name, column in whole.items():
        np.testing.assert_array_equal(column, parts[name])
    assert all(a < b for a, b in pairwise(tree.starts))
