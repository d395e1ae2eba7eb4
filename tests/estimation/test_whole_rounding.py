"""Rounding a family: everything whole, every sum kept, and nothing nearer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy
from families import nested_labels, random_family
from scipy.optimize import Bounds, LinearConstraint, milp

from discreet.areas.tree import Floats, Integers
from discreet.estimation.whole.contradiction import ContradictionError
from discreet.estimation.whole.family import UNBOUNDED, Family, Limits
from discreet.estimation.whole.minimum import solve_family
from discreet.estimation.whole.rounding import TIE, WHOLE, round_family


def check_kept(whole: Integers, family: Family) -> None:
    """Check with loops, in whole numbers, what `round_family` promises to keep."""
    assert whole.dtype == np.int64
    assert whole.min(initial=0) >= 0
    if family.parent is not None:
        assert whole.sum(axis=0).tolist() == family.parent.tolist()
    if family.lower is not None:
        assert np.all(whole >= family.lower)
    if family.upper is not None:
        assert np.all(whole <= family.upper)
    for limits in family.limits:
        for row, child in enumerate(limits.children):
            for group in range(limits.lower.shape[1]):
                count = sum(
                    int(n) for n, label in zip(whole[child], limits.label, strict=True) if label == group
                )
                assert limits.lower[row, group] <= count <= limits.upper[row, group]


def check_beside(whole: Integers, x: Floats, chain: list[Integers]) -> None:
    """Check that cells and sums of the chain are neighbours of their values."""
    for label in [*chain, np.arange(x.shape[1])]:
        for group in range(int(label.max(initial=-1)) + 1):
            count, value = whole[:, label == group].sum(axis=1), x[:, label == group].sum(axis=1)
            assert np.all(np.abs(count - value) < 1.0 + len(label) * WHOLE)


@pytest.mark.parametrize("seed", range(25))
def test_every_sum_bound_and_limit_is_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    family = random_family(rng, largest=8)
    solved = solve_family(family)
    ties = rng.integers(0, 2**62, solved.x.shape)
    chain = nested_labels(rng, family.cells)
    whole = round_family(solved.x, family, chain, ties)
    check_kept(whole, family)
    assert whole.tobytes() == round_family(solved.x, family, chain, ties).tobytes()


@pytest.mark.slow
def test_every_sum_bound_and_limit_is_kept_in_a_thousand_families() -> None:
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        family = random_family(rng)
        x = solve_family(family).x
        chain = nested_labels(rng, family.cells)
        check_kept(round_family(x, family, chain, rng.integers(0, 2**32, x.shape)), family)


@pytest.mark.parametrize("seed", range(40))
def test_cells_and_sums_of_the_chain_are_neighbours_of_their_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    C, S = int(rng.integers(1, 9)), int(rng.integers(1, 20))
    x, parent = random_table(rng, C, S)
    family = Family(np.eye(S)[None], np.zeros(C, np.int64), x, parent)
    chain = nested_labels(rng, S)
    whole = round_family(x, family, chain, rng.integers(0, 2**32, x.shape))
    check_kept(whole, family)
    check_beside(whole, x, chain)


def random_table(rng: np.random.Generator, C: int, S: int) -> tuple[Floats, Integers]:
    """Draw a table with fractions whose columns have whole sums."""
    parent = rng.integers(0, 12, S)
    x = rng.dirichlet(np.full(C, 0.4), S).T * parent
    return x, parent


@pytest.mark.parametrize("seed", range(30))
def test_no_whole_table_is_nearer(seed: int) -> None:
    """The cost is that of integer programming on the same neighbours, apart from ties."""
    rng = np.random.default_rng(seed)
    C, S = int(rng.integers(2, 5)), int(rng.integers(2, 7))
    x, parent = random_table(rng, C, S)
    chain = nested_labels(rng, S)
    family = Family(np.eye(S)[None], np.zeros(C, np.int64), x, parent)
    whole = round_family(x, family, chain, rng.integers(0, 2**32, x.shape))
    rows, least, most = [], [], []
    for cell in range(S):
        rows.append((np.arange(S) == cell)[None].repeat(C, axis=0).ravel())
        least.append(parent[cell])
        most.append(parent[cell])
    for label in chain:
        for child, group in itertools.product(range(C), range(label.max() + 1)):
            member = (np.arange(C)[:, None] == child) & (label == group)
            rows.append(member.ravel())
            least.append(np.floor(x[member].sum() + WHOLE))
            most.append(np.ceil(x[member].sum() - WHOLE))
    low, high = np.floor(x + WHOLE).ravel(), np.ceil(x - WHOLE).ravel()
    part = x.ravel() - low
    best = milp(
        np.where(high > low, 1.0 - 2.0 * part, 0.0),
        constraints=LinearConstraint(np.array(rows, dtype=float), least, most),
        bounds=Bounds(low, high),
        integrality=np.ones(x.size),
    )
    assert best.status == 0
    cost = np.abs(whole - x).sum()
    assert cost <= np.abs(np.rint(best.x).reshape(C, S) - x).sum() + TIE * x.size


def test_equal_fractions_are_decided_by_the_hash() -> None:
    """Two areas with half a person each: over many hashes each gets the person half of the time."""
    family = Family(np.eye(1)[None], np.zeros(2, np.int64), np.zeros((2, 1)), np.array([1]))
    x = np.array([[0.5], [0.5]])
    rng = np.random.default_rng(8)
    for chain in ([], [np.zeros(1, np.int64)]):
        first = [round_family(x, family, chain, rng.integers(0, 2**32, (2, 1)))[0, 0] for _ in range(100)]
        assert 29 <= sum(first) <= 71  # 4.2 standard errors: a false alarm in 40,000


def test_equal_fractions_in_a_linear_program_are_decided_by_the_hash() -> None:
    """Four areas, four cells, all a quarter: every cell of the table is one equally often, by any hash."""
    family = Family(np.eye(4)[None], np.zeros(4, np.int64), np.zeros((4, 4)), np.ones(4, np.int64))
    rng = np.random.default_rng(9)
    total = np.zeros(4, np.int64)
    count = sum(
        round_family(np.full((4, 4), 0.25), family, [total], rng.integers(0, 2**32, (4, 4)))
        for _ in range(100)
    )
    assert np.all(np.abs(count - 25) < 19)  # 4.4 standard errors


def test_whole_numbers_stay() -> None:
    family = random_family(np.random.default_rng(3), cells=5, children=4, plain=True)
    truth = np.arange(20).reshape(4, 5)
    whole = Family(family.information, family.of, family.pull, truth.sum(axis=0))
    x = truth + 1e-8 * np.random.default_rng(1).normal(size=truth.shape)
    assert (
        round_family(x, whole, [np.zeros(5, np.int64)], np.zeros((4, 5), np.int64)).tolist() == truth.tolist()
    )


def test_limits_that_leave_no_neighbours_move_as_few_cells_as_needed() -> None:
    """The first area is held at 4, though its cells add up to 2: two more people come, no more."""
    four = np.array([[4]])
    total = Limits("total", np.zeros(2, np.int64), np.array([0]), four, four)
    family = Family(
        np.eye(2)[None], np.zeros(2, np.int64), np.zeros((2, 2)), np.array([5, 5]), limits=[total]
    )
    x = np.array([[1.0, 1.0], [4.0, 4.0]])
    whole = round_family(x, family, [np.zeros(2, np.int64)], np.zeros((2, 2), np.int64))
    check_kept(whole, family)
    assert np.abs(whole - x).sum() == 4


@pytest.mark.parametrize("seed", range(15))
def test_numbers_far_from_any_table_still_give_one_that_keeps_everything(seed: int) -> None:
    rng = np.random.default_rng(seed + 300)
    family = random_family(rng, largest=8)
    x = np.abs(rng.normal(size=family.pull.shape)) * rng.choice([0.1, 3.0, 100.0])
    chain = nested_labels(rng, family.cells)
    check_kept(round_family(x, family, chain, rng.integers(0, 2**32, x.shape)), family)


def test_limits_that_do_not_nest_are_rounded_by_integer_programming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three pairs of three cells hold at most one each: the corner with three halves is not whole."""
    pairs = [
        Limits(name, np.array(label), np.array([0]), np.array([[0]]), np.array([[1]]))
        for name, label in (("ab", [0, 0, -1]), ("bc", [-1, 0, 0]), ("ac", [0, -1, 0]))
    ]
    family = Family(
        np.eye(3)[None], np.zeros(2, np.int64), np.zeros((2, 3)), np.array([1, 1, 1]), limits=pairs
    )
    used = []
    monkeypatch.setattr(
        scipy.optimize, "milp", lambda *a, **k: used.append(k["integrality"].any()) or milp(*a, **k)
    )
    x = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]) + np.array([[0.001], [-0.001]])
    whole = round_family(x, family, [], np.zeros((2, 3), np.int64))
    check_kept(whole, family)
    assert whole[0].sum() == 1
    assert used == [False, True]


def test_a_family_without_a_solution_is_refused_by_name() -> None:
    limits = Limits("total", np.zeros(2, np.int64), np.array([1]), np.array([[9]]), np.array([[UNBOUNDED]]))
    family = Family(
        np.eye(2)[None],
        np.zeros(2, np.int64),
        np.zeros((2, 2)),
        np.array([3, 4]),
        limits=[limits],
        names=["A", "B"],
    )
    with pytest.raises(ContradictionError, match="total of 'B' at least 9"):
        round_family(np.full((2, 2), 1.75), family, [], np.zeros((2, 2), np.int64))
