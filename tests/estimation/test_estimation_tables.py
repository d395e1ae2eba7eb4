"""Whole numbers: none below its bound, children that add up, nobody favoured, exact tables held."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.budget import Attributes
from discreet.errors import InputError
from discreet.estimation.cells import detailed_cells
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.tables import WholeTables, settle, whole_tables
from discreet.estimation.tree import Tree
from discreet.noise import DiscreteGaussian


def random_parents(rng: np.random.Generator, depth: int, branch: int) -> np.ndarray:
    """A tree in canonical order, some of whose branches end early."""
    parent, last = [-1] * int(rng.integers(1, 3)), 0
    for _ in range(depth):
        here = range(last, len(parent))
        last = len(parent)
        parent += [unit for unit in here for _ in range(int(rng.integers(0, branch + 1)))]
    return np.array(parent)


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


@settings(max_examples=100, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9), size=st.sampled_from([0.5, 5.0, 1000.0]))
def test_rounding_is_whole_nonnegative_additive_and_near(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    parent = random_parents(rng, 3, 5)
    wish, weight = rng.normal(0.3 * size, size, (len(parent), 4)), rng.choice([0.5, 5.0, 20.0], len(parent))
    number = settle(wish, parent, weight)
    assert number.dtype == np.int64
    assert (number >= 0).all()
    top = parent < 0
    np.testing.assert_array_equal(number[top], np.maximum(np.rint(wish[top]), 0))
    for above in np.unique(parent[parent >= 0]):
        children = np.flatnonzero(parent == above)
        assert (number[children].sum(axis=0) == number[above]).all()
        best = quadratic(wish[children, 0], weight[children], int(number[above, 0]))
        assert np.abs(number[children, 0] - best).max() < 1.0


def test_equal_remainders_favour_nobody() -> None:
    parent, cells = np.array([-1, 0, 0, 0, 0]), 20_000
    wish = np.repeat([[2.0], [0.5], [0.5], [0.5], [0.5]], cells, axis=1)
    number = settle(wish, parent)
    assert (number[1:].sum(axis=0) == 2).all()
    assert set(np.unique(number[1:])) == {0, 1}
    # Half of the cells each; five standard errors, so that a fair hash fails with a chance of 2e-6.
    assert (np.abs(number[1:].mean(axis=1) - 0.5) < 5 * 0.5 / np.sqrt(cells)).all()
    # Pairs of siblings too: both get one in a sixth of the cells.
    both = (number[1:, None] * number[None, 1:]).mean(axis=2)[np.triu_indices(4, 1)]
    assert (np.abs(both - 1 / 6) < 5 * np.sqrt(5) / 6 / np.sqrt(cells)).all()
    np.testing.assert_array_equal(number[:, 7:], settle(wish[:, 7:], parent, first_cell=7))


def test_rounding_respects_exact_totals() -> None:
    parent = np.array([-1, 0, 0, 0, 1, 1])
    wish = np.array([[3.2], [1.0], [9.0], [2.6], [-4.0], [5.0]])
    held = np.array([False, False, True, False, True, False])
    counts = np.array([[0], [0], [9], [0], [4], [0]])
    number = settle(wish, parent, held=held, counts=counts)
    assert number[2, 0] == 9
    assert number[4, 0] == 4
    assert number[0, 0] == number[1:4].sum()
    assert number[1, 0] == number[4:].sum()
    assert (number >= 0).all()
    with pytest.raises(InputError, match="contradict"):
        settle(wish, parent, held=np.arange(6) < 4, counts=np.array([[8], [3], [3], [3], [0], [0]]))


PEOPLE = Attributes({"sex": ["f", "m"], "age": ["0-17", "18-64", "65+"]})
PARENT = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 2, 3])


@pytest.mark.parametrize("seed", range(20))
def test_exact_tables_are_held_in_whole_tables(seed: int) -> None:
    """Any exact chain of tables at a level: those cells are as they were, everything else as before."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((10, 6), dtype=np.int64)
    truth[4:] = rng.poisson(rng.choice([0.3, 4.0], size=(6, 1)), size=(6, 6))
    for unit in range(9, 0, -1):
        truth[PARENT[unit]] += truth[unit]
    cells = truth + rng.normal(0, 2, truth.shape)
    level = [np.array([1, 2, 3]), np.arange(4, 10)][seed % 2]
    exact = []
    for query in (["age"], ["sex"], ["age", "detailed"])[seed % 3]:
        label = detailed_cells(PEOPLE, query)
        rows = np.stack([truth[level][:, label == one].sum(axis=1) for one in range(label.max() + 1)], axis=1)
        exact.append((label, level, rows))
    found = whole_tables(cells, PEOPLE.sizes, PARENT, exact=exact)
    assert found.min() >= 0
    for above in range(4):
        assert np.array_equal(found[above], found[above == PARENT].sum(axis=0))
    for label, units, rows in exact:
        for one in range(rows.shape[1]):
            assert np.array_equal(found[units][:, label == one].sum(axis=1), rows[:, one])


def test_exact_tables_that_do_not_nest_or_contradict() -> None:
    cells, units = np.ones((10, 6)), np.array([1, 2, 3])
    sex, age = detailed_cells(PEOPLE, "sex"), detailed_cells(PEOPLE, "age")
    both = [(sex, units, np.full((3, 2), 3)), (age, units, np.full((3, 3), 2))]
    with pytest.raises(InputError, match="only nested tables"):
        whole_tables(cells, PEOPLE.sizes, PARENT, exact=both)
    with pytest.raises(InputError, match="does not add up to its total"):
        whole_tables(cells, PEOPLE.sizes, PARENT, np.full(10, 7), exact=both[:1])
    with pytest.raises(InputError, match="in all children of an area or in none"):
        whole_tables(cells, PEOPLE.sizes, PARENT, exact=[(sex, units[:2], np.full((2, 2), 3))])


def test_zeros_of_one_unit_stay_zero_in_whole_tables() -> None:
    """What a unit cannot have was zero as an estimate and up to 4 people in the table beside it."""
    people = Attributes({"sex": ["f", "m"], "age": ["y", "o", "z"]})
    block = people.block({"age": ["z"]}, name="zero 1")
    tree = Tree(np.array([-1, 0, 0, 0]), np.array([0, 1, 1, 1]), (0, 1))
    laws = [{"detailed": DiscreteGaussian(30)}] * 2
    rng = np.random.default_rng(5)
    made = 0
    for _ in range(30):
        below = rng.poisson(6, size=(3, 6))
        below[0, [2, 5]] = 0
        truth = np.vstack([below.sum(axis=0), below])
        noisy = truth + np.rint(rng.normal(size=truth.shape) * 30**0.5)
        exact = {"zero: age z": (np.array([1]), np.zeros((1, block.cells), dtype=np.int64))}
        source = InMemory(laws, {"detailed": (np.arange(4), noisy)})
        told = Measurements(tree, (source,), exact, {"zero: age z": block})
        table = np.zeros((0, 6), dtype=np.int64)
        with suppress(InputError):  # few people and much noise: there may be none
            table = WholeTables(Estimates(people, told)).rows("detailed", np.arange(4))
        if not table.size:
            continue
        made += 1
        assert table.min() >= 0
        assert not table[1, [2, 5]].any()
        assert np.array_equal(table[1:].sum(axis=0), table[0])
    assert made > 20


def test_zeros_of_single_units_never_leave_tables_without_an_answer() -> None:
    """A can have the first cell only and has 5 people, B -2 and 7: the parent has 3 and 7. This
    was refused, as was a cell that a unit can have but none of its children."""
    cells = np.array([[3.0, 7.0, 4.0], [5.0, 0.0, 0.0], [-2.0, 7.0, 4.0], [5.0, 0.0, 0.0]])
    may = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=bool)
    found = whole_tables(cells, (3,), np.array([-1, 0, 0, 1]), possible=may)
    assert not found[~may].any()
    assert (found >= 0).all()
    assert found[1].tolist() == found[3].tolist()
    assert found[0].tolist() == (found[1] + found[2]).tolist()
    assert found[0, 2] == 0
