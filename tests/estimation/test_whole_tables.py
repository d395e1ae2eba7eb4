"""Whole tables: none below zero, children that add up, everything exact, bounded or impossible kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from dense import Problem, matrix, problem
from test_whole_information import measurements

from discreet.areas.cells import impossible_cells, table_cells
from discreet.areas.tree import Tree
from discreet.budget import Attributes, Tabulation
from discreet.errors import InputError
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.whole import descent
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.tables import WholeTables, settled
from discreet.noise import DiscreteGaussian


@dataclass(frozen=True)
class Bound:
    """Least and largest counts of a table in some units."""

    table: Tabulation
    units: Any
    lower: Any
    upper: Any


def children(parent: Any) -> list[tuple[int, Any]]:
    """The families of a tree."""
    return [(int(above), np.flatnonzero(parent == above)) for above in np.unique(parent[parent >= 0])]


def random_bounds(given: Problem, rng: np.random.Generator) -> list[Bound]:
    """Bounds around the true counts of some tables in some units, often exact on one side."""
    bounds = []
    for query in rng.permutation(np.array(given.queries))[: rng.integers(1, 3)].tolist():
        table = given.attributes.tabulation(query)
        units = np.sort(rng.permutation(len(given.parent))[: rng.integers(1, len(given.parent) + 1)])
        true = given.truth[units] @ matrix(table).T
        lower = np.maximum(true - rng.choice([0, 1, 30], true.shape), 0)
        upper = np.where(rng.random(true.shape) < 0.3, np.inf, true + rng.choice([0, 1, 4], true.shape))
        bounds.append(Bound(table, units, lower, upper))
    return bounds


def with_zeros(given: Problem, told: Measurements, rng: np.random.Generator) -> Measurements:
    """Add cells that some units, and with them those below them, cannot have and do not have."""
    attributes = given.attributes
    values = {name: [str(rng.integers(len(known)))] for name, known in attributes.values}
    some = list(values)[: rng.integers(1, len(values) + 1)]
    block = attributes.block({name: values[name] for name in some}, name="zero")
    count = given.truth @ matrix(block).sum(axis=0)
    units = np.flatnonzero(count == 0)
    if not units.size:
        return told
    rows = np.zeros((len(units), block.cells), dtype=np.int64)
    return replace(told, exact={**told.exact, "zero": (units, rows)}, blocks={"zero": block})


def check(given: Problem, told: Measurements, whole: WholeTables, bounds: list[Bound]) -> None:
    """Every promise of the tables."""
    attributes, units = given.attributes, np.arange(len(given.parent))
    for number, variable in enumerate(attributes.variables):
        cells = whole.rows(attributes.detailed(variable), units)
        if cells.min(initial=0) < 0:
            assert (cells == -1).all()
            continue
        assert cells.dtype == np.int64
        assert not cells[:, impossible_cells(attributes)].any()
        for above, family in children(given.parent):
            assert np.array_equal(cells[family].sum(axis=0), cells[above])
        place, cell, count = whole.cells(units, variable=number)
        dense = np.zeros_like(cells)
        dense[place, cell] = count
        assert np.array_equal(dense, cells)
        assert count.min(initial=1) > 0
        for name, (who, rows) in told.exact.items():
            table = told.blocks.get(name) or attributes.tabulation(name)
            if table.variable not in (None, number):
                continue
            label = table_cells(table)
            if table.variable is None:
                assert not cells[np.ix_(who, label >= 0)].any()
                continue
            sums = np.array([[row[label == one].sum() for one in range(table.cells)] for row in cells[who]])
            assert np.array_equal(sums, np.rint(rows))
            assert np.array_equal(whole.rows(name, who), sums)
        for bound in bounds:
            if bound.table.variable == number:
                sums = whole.rows(bound.table.name, bound.units)
                assert (sums >= bound.lower).all()
                assert (sums <= bound.upper).all()


def one(seed: int, sums: int = 0) -> bool:
    """Draw a release and check its tables; False if it determines none."""
    rng = np.random.default_rng(seed)
    given = problem(seed, sums)
    told = measurements(given)
    if seed % 3 == 1:
        told = with_zeros(given, told, rng)
    bounds = random_bounds(given, rng) if seed % 2 else []
    estimates = Estimates(given.attributes, told)
    try:
        whole = WholeTables(estimates, bounds=bounds)
    except InputError as error:
        assert "no measurement determines" in str(error)  # noqa: PT017
        return False
    check(given, told, whole, bounds)
    return True


def test_random_releases_keep_everything() -> None:
    """Recodes that do not nest, exact tables in some units only, zeros by unit, bounds, single children."""
    assert sum(one(seed) for seed in range(12)) > 6


@pytest.mark.slow
def test_many_random_releases_keep_everything() -> None:
    """The same, 600 times, and with sums of other variables."""
    assert sum(one(seed) for seed in range(100, 600)) > 300
    assert sum(one(seed, 2) for seed in range(100)) > 10


PEOPLE = Attributes({"sex": ["f", "m"], "age": ["0-17", "18-64", "65+"]})
PARENT = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 2, 3])
TREE = Tree(PARENT, np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2]), (0, 1, 4))


def people(rng: np.random.Generator) -> Any:
    """True cells of all units, many of them empty."""
    truth = np.zeros((10, 6), dtype=np.int64)
    truth[4:] = rng.poisson(rng.choice([0.3, 4.0], size=(6, 1)), size=(6, 6))
    for unit in range(9, 0, -1):
        truth[PARENT[unit]] += truth[unit]
    return truth


def noisy_people(truth: Any, rng: np.random.Generator, **told: Any) -> Estimates:
    """Measurements of the total and all cells in every unit; `exact` lists queries and units."""
    laws = [{"total": DiscreteGaussian(variance=2), "detailed": DiscreteGaussian(variance=9)}] * 3
    sums = truth.sum(axis=1, keepdims=True)
    noisy = {
        "total": (np.arange(10), sums + np.rint(rng.normal(size=sums.shape) * 2**0.5)),
        "detailed": (np.arange(10), truth + np.rint(rng.normal(size=truth.shape) * 3)),
    }
    exact = {
        query: (np.array(units), truth[units] @ matrix(PEOPLE.tabulation(query)).T)
        for query, units in told.get("exact", {}).items()
    }
    return Estimates(PEOPLE, Measurements(TREE, (InMemory(laws, noisy),) * told.get("releases", 1), exact))


@pytest.mark.parametrize(
    "exact",
    [
        {"total": [2, 4, 5]},  # some children only
        {"age": [4]},
        {"sex": [1, 2, 3], "age": [1, 2, 3]},  # tables that do not nest
        {"sex": list(range(4, 10)), "age": list(range(4, 10))},
        {"sex": [4, 6, 9], "age": [4, 5, 9], "total": [0, 7]},
        {"sex": [0], "age * sex": [5], "total": [1]},
    ],
)
def test_exact_tables_in_any_units_whether_or_not_they_nest(exact: dict[str, list[int]]) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = people(rng)
        found = WholeTables(noisy_people(truth, rng, exact=exact, releases=1 + seed % 2))
        cells = found.rows("detailed", np.arange(10))
        assert cells.min() >= 0
        for above, family in children(PARENT):
            assert np.array_equal(cells[family].sum(axis=0), cells[above])
        for query, units in exact.items():
            rows = matrix(PEOPLE.tabulation(query))
            assert np.array_equal(cells[units] @ rows.T, truth[units] @ rows.T)


def test_limits_of_several_tables_reach_the_units_above_them() -> None:
    """A has 5 people, none of them old; B has two young ones at least. The parent's limits add up to those of
    5 old and 2 young people, whom A cannot take."""
    people = Attributes({"age": ["y", "m", "o"]})
    tree = Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1))
    noisy = np.array([[2, 0, 6], [2, 0, 2], [0, 0, 4]])
    source = InMemory([{"detailed": DiscreteGaussian(variance=4)}] * 2, {"detailed": (np.arange(3), noisy)})
    block = people.block({"age": ["o"]}, name="no old people")
    exact = {
        "total": (np.array([1]), np.array([[5]])),
        "no old people": (np.array([1]), np.array([[0]])),
    }
    told = Measurements(tree, (source,), exact, {"no old people": block})
    bound = Bound(people.tabulation("age"), np.array([2]), np.array([[2.0, 0, 0]]), np.full((1, 3), np.inf))
    cells = WholeTables(Estimates(people, told), bounds=[bound]).rows("detailed", np.arange(3))
    assert cells[1].sum() == 5
    assert cells[1, 2] == 0
    assert cells[2, 0] >= 2
    assert np.array_equal(cells[1] + cells[2], cells[0])


def test_bounds_that_contradict_exact_counts_are_named() -> None:
    rng = np.random.default_rng(1)
    estimates = noisy_people(people(rng), rng, exact={"total": [4, 5]})
    none = np.zeros((1, 2))
    many = Bound(PEOPLE.tabulation("sex"), np.array([1]), np.full((1, 2), 900.0), np.full((1, 2), np.inf))
    with pytest.raises(InputError, match=r"contradict each other: those of 'sex', 'total'$"):
        WholeTables(estimates, bounds=[many])
    turned = Bound(PEOPLE.tabulation("sex"), np.array([1]), none + 3, none + 2)
    with pytest.raises(InputError, match=r"contradict each other: .*'sex'"):
        WholeTables(estimates, bounds=[turned])


def test_pieces_of_the_pass_are_the_whole_of_it() -> None:
    """Any unit may be settled by another process; whether units are held in memory does not matter."""
    rng = np.random.default_rng(7)
    truth = people(rng)
    estimates = noisy_people(truth, rng, exact={"age": [2, 5]})
    whole = settled(Descent(estimates))
    other = Descent(estimates)
    for unit in range(4):
        units, cells = other.family(unit, whole.row(unit))
        assert np.array_equal(units, np.flatnonzero(unit == PARENT))
        for place, child in enumerate(units.tolist()):
            assert np.array_equal(cells.row(place), whole.row(child))
    assert [units.tolist() for units, _ in other.below(9, whole.row(9))] == []
    streamed = settled(Descent(Estimates(PEOPLE, estimates.given, held=False)))
    assert np.array_equal(streamed.count, whole.count)
    assert np.array_equal(streamed.cell, whole.cell)


def test_units_with_many_cells_are_solved_in_the_basis_of_the_components(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether all pairs of cells of a top unit are looked at makes no difference."""
    for seed in range(6):
        given = problem(seed)
        estimates = Estimates(given.attributes, measurements(given))
        bounds = random_bounds(given, np.random.default_rng(seed))
        monkeypatch.setattr(descent, "FEW", 500)
        try:
            expected = Descent(estimates, bounds=bounds).top()
        except InputError:
            continue
        monkeypatch.setattr(descent, "FEW", 0)
        found = Descent(estimates, bounds=bounds).top()
        assert np.array_equal(found.cell, expected.cell), seed
        assert np.array_equal(found.count, expected.count), seed


# -- without attributes: each query separately -------------------------------------------------------------


def of_query(values: Any, variances: list[int], tree: Tree, **exact: Any) -> WholeTables:
    """Tables of one query, measured in every unit, with variances by kind."""
    laws = [{"q": DiscreteGaussian(variance=variance)} for variance in variances]
    source = InMemory(laws, {"q": (np.arange(len(values)), values)})
    return WholeTables(Estimates(None, Measurements(tree, (source,), exact)))


def quadratic(z: Any, v: Any, total: int) -> Any:
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


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_query_without_attributes_is_nearest_to_least_squares(size: int) -> None:
    rng = np.random.default_rng(size)
    kind = np.array([0, 1, 2, 3])
    tree = Tree(np.array([-1, 0, 0, 0]), kind, (0, 1))
    values = np.rint(rng.normal(0.3 * size, size, (4, 200))).astype(np.int64)
    cells = of_query(values, [1, 2, 5, 20], tree).rows("q", np.arange(4))
    assert cells.min() >= 0
    assert np.array_equal(cells[1:].sum(axis=0), cells[0])
    sizes = np.array([DiscreteGaussian(variance=variance).true_variance() for variance in (2, 5, 20)])
    for cell in range(200):
        best = quadratic(values[1:, cell], sizes, int(cells[0, cell]))
        assert np.abs(cells[1:, cell] - best).max() < 1.0


def test_equal_remainders_favour_nobody() -> None:
    cells = 20_000
    tree = Tree(np.array([-1, 0, 0, 0, 0]), np.array([0, 1, 1, 1, 1]), (0, 1))
    values = np.repeat([[2], [0], [0], [0], [0]], cells, axis=1)
    exact = {"q": (np.array([0]), values[:1])}
    number = of_query(values, [1, 1], tree, **exact).rows("q", np.arange(5))[1:]
    assert (number.sum(axis=0) == 2).all()
    assert set(np.unique(number)) == {0, 1}
    # Half of the cells each; five standard errors, so that a fair hash fails with a chance of 2e-6.
    assert (np.abs(number.mean(axis=1) - 0.5) < 5 * 0.5 / np.sqrt(cells)).all()
    # Pairs of siblings too: both get one in a sixth of the cells.
    both = (number[:, None] * number[None]).mean(axis=2)[np.triu_indices(4, 1)]
    assert (np.abs(both - 1 / 6) < 5 * np.sqrt(5) / 6 / np.sqrt(cells)).all()


def test_exact_counts_of_a_query_without_attributes() -> None:
    """Exact in some units only; what the units below need is never taken away above them."""
    tree = Tree(np.array([-1, 0, 0, 0, 1, 1]), np.array([0, 1, 1, 1, 2, 2]), (0, 1, 4))
    values = np.array([[3], [1], [9], [3], [-4], [5]])
    cells = of_query(values, [1, 2, 3], tree, q=(np.array([2, 4]), np.array([[9], [4]]))).rows(
        "q", np.arange(6)
    )
    assert cells[[2, 4], 0].tolist() == [9, 4]
    assert cells[0, 0] == cells[1:4].sum()
    assert cells[1, 0] == cells[4:].sum()
    assert cells.min() >= 0


def test_units_that_nothing_determines_have_no_table() -> None:
    """Their parents and siblings have one, which then need not add up."""
    tree = Tree(np.array([-1, 0, 0, 0]), np.array([0, 1, 2, 2]), (0, 1))
    laws = [{"q": DiscreteGaussian(variance=1)}, {"q": DiscreteGaussian(variance=1)}, {}]
    source = InMemory(laws, {"q": (np.array([0, 1]), np.array([[9, 3], [4, -5]]))})
    found = WholeTables(Estimates(None, Measurements(tree, (source,))))
    assert found.rows("q", np.arange(4)).tolist() == [[9, 3], [4, 0], [-1, -1], [-1, -1]]
    with pytest.raises(InputError, match="no detailed cells of a release without attributes"):
        found.cells(np.arange(4))


@pytest.mark.parametrize("seed", range(6))
def test_a_crown_with_summaries_of_subtrees_is_settled_as_the_whole_tree(seed: int) -> None:
    """The regions of three subtrees, each known to the nation by its summary alone."""
    rng = np.random.default_rng(seed)
    truth = people(rng)
    exact: dict[str, list[int]] = [{}, {"total": [1, 5, 6]}, {"age": [4, 6, 7, 8]}][seed % 3]
    estimates = noisy_people(truth, rng, exact=exact)
    whole = Descent(estimates)
    given = estimates.given
    source = given.sources[0]
    assert isinstance(source, InMemory)
    inside = {query: (who[:4], rows[:4]) for query, (who, rows) in source.noisy.items()}
    some = {query: (who[who < 4], rows[who < 4]) for query, (who, rows) in given.exact.items()}
    crown = Measurements(Tree(PARENT[:4], TREE.kind[:4], (0, 1)), (InMemory(source.laws, inside),), some)
    summaries = {unit: whole.summary(unit) for unit in (1, 2, 3)}
    found = Descent(Estimates(PEOPLE, crown), summaries=summaries)
    for mine, theirs in zip(found.known.of_components(0), whole.known.of_components(0), strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)
    top = found.top()
    assert np.array_equal(top.count, whole.top().count)
    units, cells = found.family(0, top.row(0))
    expected = whole.family(0, top.row(0))
    assert np.array_equal(units, expected[0])
    assert np.array_equal(cells.cell, expected[1].cell)
    assert np.array_equal(cells.count, expected[1].count)
