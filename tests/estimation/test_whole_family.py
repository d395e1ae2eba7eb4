"""The nearest table of a family: against a general solver, closed forms, and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from families import excess_objective, general_solution, random_family

from discreet.estimation.whole import minimum
from discreet.estimation.whole.alternating import Alternation, nearest_columns
from discreet.estimation.whole.family import UNBOUNDED, Family, Limits
from discreet.estimation.whole.minimum import SUMS, _Judge, solve_family

CLOSE = 1e-6
"""Relative to what the constraints cost, or to what floats resolve if that is more."""


def check_against_clarabel(family: Family) -> None:
    solved = solve_family(family)
    polytope = family.polytope
    assert solved.gap <= CLOSE * solved.scale
    assert polytope.excess(solved.x) <= SUMS
    assert np.all(solved.x >= polytope.low)
    assert np.all(solved.x <= polytope.high)
    other, _ = general_solution(family, np.rint(solved.x))
    assert excess_objective(family, solved.x, other) <= CLOSE * solved.scale


@pytest.mark.parametrize("seed", range(40))
def test_no_general_solver_finds_a_nearer_table(seed: int) -> None:
    check_against_clarabel(random_family(np.random.default_rng(seed + 5000), largest=13))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_no_general_solver_finds_a_nearer_table_in_two_hundred_families(start: int) -> None:
    for seed in range(start, start + 20):
        check_against_clarabel(random_family(np.random.default_rng(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_general_solver_finds_a_nearer_table_of_many_cells(seed: int) -> None:
    check_against_clarabel(random_family(np.random.default_rng(seed), cells=200 + 40 * seed, children=5))


def test_a_family_without_interior_is_solved_by_alternating_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sums that leave next to no room stop an interior point far from the minimum: as if it found nothing."""
    monkeypatch.setattr(minimum, "interior_point", lambda work: iter(()))
    monkeypatch.setattr(minimum, "_patience", lambda family: 400)
    family = random_family(np.random.default_rng(5031), largest=13)
    assert solve_family(family).steps > 400
    check_against_clarabel(family)


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_holds_on_the_way(seed: int) -> None:
    """Points that are far from the minimum have gaps too, and the minimum is never below them."""
    family = random_family(np.random.default_rng(seed + 700), largest=13, plain=True)
    best = solve_family(family)
    work = Alternation(family, family.polytope)
    judge = _Judge(work)
    gaps = []
    for steps in (1, 1, 3, 10):
        iterate = work.run(steps)
        gradient = family.times(iterate.x) - work.pull
        gaps.append(judge._gap(iterate, gradient))
        above = excess_objective(family, work.reference + iterate.x, best.x)
        assert above <= gaps[-1] + best.gap + 1e-9 * best.scale
    assert all(gap >= 0.0 for gap in gaps)


@pytest.mark.parametrize("seed", range(5))
def test_no_table_is_below_the_gap(seed: int) -> None:
    """Every feasible table has an objective of at least the objective found minus the gap: many are tried."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(3.0, (4, 6)).astype(float)
    J = np.cov(rng.normal(size=(6, 9)))[None]
    h = (truth + 2.0 * rng.normal(size=truth.shape)) @ J[0]
    family = Family(J, np.zeros(4, np.int64), h, truth.sum(axis=0).astype(np.int64))
    solved = solve_family(family)
    for _ in range(200):
        share = rng.dirichlet(np.full(4, rng.choice([0.1, 1.0, 50.0])), size=6).T
        other = rng.random() * share * truth.sum(axis=0)
        other += solved.x * (1.0 - other.sum(axis=0) / np.maximum(truth.sum(axis=0), 1e-9))
        assert excess_objective(family, solved.x, other) <= solved.gap + 1e-9


def test_one_cell_is_water_filling() -> None:
    """With one cell and equal variances the children lose the same amount, and none goes below zero."""
    family = Family(
        np.full((1, 1, 1), 0.25),
        np.zeros(4, np.int64),
        np.array([[5.0], [3.0], [0.5], [-9.0]]) / 4,
        np.array([5]),
    )
    assert solve_family(family).x.ravel() == pytest.approx([3.5, 1.5, 0.0, 0.0], abs=1e-6)


def test_without_bounds_in_force_the_solution_is_generalised_least_squares() -> None:
    rng = np.random.default_rng(1)
    J = np.array([np.eye(3) + 0.3, 2.0 * np.eye(3)])
    of = np.array([0, 1, 1])
    wish = 1000.0 + rng.normal(size=(3, 3))
    h = np.einsum("cij,cj->ci", J[of], wish)
    parent = np.array([3001, 2999, 3000])
    inverse = np.linalg.inv(J)[of]
    lift = np.linalg.solve(inverse.sum(axis=0), parent - wish.sum(axis=0))
    expected = wish + inverse @ lift
    assert solve_family(Family(J, of, h, parent)).x == pytest.approx(expected, abs=1e-4)


def test_the_solution_does_not_depend_on_the_order_of_children_or_cells() -> None:
    family = random_family(np.random.default_rng(12), cells=8, children=5, plain=True)
    rng = np.random.default_rng(3)
    rows, cells = rng.permutation(5), rng.permutation(8)
    moved = Family(
        family.information[:, cells][:, :, cells],
        family.of[rows],
        family.pull[rows][:, cells],
        family.parent[cells],
    )
    one, two = solve_family(family), solve_family(moved)
    assert two.objective == pytest.approx(one.objective, abs=one.gap + two.gap + 1e-9)


def test_the_same_family_gives_the_same_bytes() -> None:
    for seed in (1, 2, 3):
        one, two = (solve_family(random_family(np.random.default_rng(seed))).x for _ in range(2))
        assert one.tobytes() == two.tobytes()


def test_counts_of_a_hundred_million_keep_their_digits() -> None:
    """The solution moves with the truth: 10^8 more people in each cell, the same deviations."""
    rng = np.random.default_rng(5)
    J = (np.eye(6) * 100.0 + 3.0)[None]
    noise = 0.1 * rng.normal(size=(4, 6))
    found = []
    for size in (0, 10**8):
        truth = size + np.arange(24).reshape(4, 6) * 10
        h = truth @ J[0] + noise @ J[0]
        solved = solve_family(
            Family(J, np.zeros(4, np.int64), h, truth.sum(axis=0), lower=np.full((4, 6), size))
        )
        found.append(solved.x - size)
    assert found[1] == pytest.approx(found[0], abs=1e-3)


def test_children_that_are_known_exactly_leave_the_rest_to_the_others() -> None:
    known = np.array([[2, 0, 5], [1, 1, 1]])
    bounds = np.full((3, 3), UNBOUNDED)
    bounds[:2] = known
    lower = np.zeros((3, 3), np.int64)
    lower[:2] = known
    family = Family(
        np.eye(3)[None], np.zeros(3, np.int64), np.ones((3, 3)), np.array([7, 4, 9]), lower, bounds
    )
    assert solve_family(family).x.tolist() == [[2, 0, 5], [1, 1, 1], [4, 3, 3]]


def test_no_information_at_all_still_gives_a_table() -> None:
    seven = np.array([[7], [7]])
    total = Limits("total", np.zeros(2, np.int64), np.array([0, 1]), seven, seven)
    family = Family(
        np.zeros((1, 2, 2)), np.zeros(2, np.int64), np.zeros((2, 2)), np.array([10, 4]), limits=[total]
    )
    solved = solve_family(family)
    assert solved.x.sum(axis=0) == pytest.approx([10, 4])
    assert solved.x.sum(axis=1) == pytest.approx([7, 7])


def test_a_parent_without_people_has_children_without_people() -> None:
    family = Family(np.eye(3)[None], np.zeros(2, np.int64), np.ones((2, 3)), np.zeros(3, np.int64))
    assert not solve_family(family).x.any()


@pytest.mark.parametrize("seed", range(5))
def test_columns_are_projected_as_by_their_definition(seed: int) -> None:
    """The conditions of optimality hold: equal shifts inside, the right sign at bounds."""
    rng = np.random.default_rng(seed)
    low, width = -rng.integers(0, 5, (7, 4)).astype(float), rng.integers(0, 9, (7, 4))
    high = low + width
    weight = 10.0 ** rng.uniform(-3, 3, (7, 4))
    total = low.sum(axis=0) + rng.random(4) * width.sum(axis=0)
    wish = rng.normal(size=(7, 4)) * 10.0
    found, shift = nearest_columns(wish, weight, low, high, total)
    assert found.sum(axis=0) == pytest.approx(total, abs=1e-9)
    force = weight * (found - wish) - shift
    inside = (found > low) & (found < high)
    assert force[inside] == pytest.approx(0.0, abs=1e-6)
    assert np.all(force[(found == low) & (low < high)] >= -1e-6)
    assert np.all(force[(found == high) & (low < high)] <= 1e-6)
