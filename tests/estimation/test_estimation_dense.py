"""Estimates and variances equal those of one dense system, to 1e-8, as does what is undetermined or exact."""

from __future__ import annotations

import numpy as np
import pytest
from dense import Problem, matrix, problem, solve

from discreet.areas.tree import Tree
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.model import Model
from discreet.estimation.solution import Evidence, tree_estimate
from discreet.estimation.solution import solve as solve_component


def compare(seed: int, sums: int = 0) -> tuple[float, int, int, int]:
    """Return the largest relative difference, the number of components with units not determined from
    below, and the numbers of cells that are not determined at all, and that are exact."""
    given = problem(seed, sums)
    model = Model(given.attributes, given.queries)
    dense = solve(given)
    tree = Tree(given.parent, given.kind, given.starts)
    shape, node = tree.folded()
    units = len(given.parent)
    estimates, covariances, nulls, uncertain, loose = [], [], [], [], 0
    matrices = {query: matrix(given.attributes.tabulation(query)) for query in [*given.queries, "detailed"]}
    noisy = {key: model.projections[key[1]].collect(value[None]) for key, value in given.measured.items()}
    exact = {
        (unit, query): model.projections[query].collect((matrices[query] @ given.truth[unit])[None])
        for unit in range(units)
        for query in given.kinds[given.kind[unit]][1]
    }
    for place, one in enumerate(model.components):
        kinds = []
        for variances, held in given.kinds:
            grams = {query: model.projections[query].gram(one) for query in model.projections}
            blank = np.zeros((one.size, one.size))
            J = sum((grams[query] / size for query, size in variances.items()), blank)
            kinds.append(
                Evidence(
                    J,
                    sum((grams[query] for query in variances), blank),
                    sum((grams[query] for query in [*held, *model.impossible]), blank),
                )
            )
        solution = solve_component(shape, kinds)
        loose += solution.gain is None
        h = np.zeros((units, one.size, one.copies))
        t = np.zeros_like(h)
        for unit in range(units):
            variances, held = given.kinds[given.kind[unit]]
            for query, size in variances.items():
                h[unit] += noisy[unit, query][place][0] / size
            for query in held:
                t[unit] += exact[unit, query][place][0]
        estimates.append(tree_estimate(solution, tree, node, h, t))
        covariances.append(solution.P)
        nulls.append(solution.nulls())
        uncertain.append(solution.uncertain())
    worst, free, held = 0.0, 0, 0
    for query in [*given.queries, "detailed"]:
        projection = model.projection(query)
        cells = projection.read(estimates)
        variances_of = projection.variances(covariances)[:, projection.classes]
        unknown = projection.reaches(nulls)[:, projection.classes]
        exact_of = ~projection.reaches(uncertain)[:, projection.classes]
        for unit in range(units):
            rows = np.kron(given.incidence[unit], matrices[query])
            lost = np.linalg.norm(rows @ dense.free, axis=1) > 1e-6
            assert np.array_equal(lost, unknown[node[unit]]), (seed, query, unit)
            free += int(lost.sum())
            exact_here = np.linalg.norm(rows @ dense.open, axis=1) < 1e-6
            assert np.array_equal(exact_here, exact_of[node[unit]]), (seed, query, unit)
            held += int(exact_here.sum())
            if lost.all():
                continue
            value = (rows @ dense.estimate)[~lost]
            variance = np.einsum("ij,jk,ik->i", rows, dense.covariance, rows)[~lost]
            found, unsure = variances_of[node[unit]][~lost], ~exact_here[~lost]
            worst = max(
                worst,
                float(np.max(np.abs(value - cells[unit][~lost]) / (1 + np.abs(value)))),
                float(np.max(np.abs(variance - found)[unsure] / (1e-3 + variance[unsure]), initial=0.0)),
            )
    return worst, loose, free, held


def test_random_problems() -> None:
    """40 problems, with loose components, undetermined and exact cells among them, or nothing was tested."""
    found = [compare(seed) for seed in range(40)]
    assert max(one[0] for one in found) < 1e-8
    assert sum(one[1] > 0 for one in found) > 5
    assert sum(one[2] > 0 for one in found) > 5
    assert sum(one[3] > 0 for one in found) > 5


@pytest.mark.slow
def test_many_random_problems() -> None:
    assert max(compare(seed)[0] for seed in (*range(40, 200), *range(1000, 4000))) < 1e-8


@pytest.mark.parametrize("sums", [1, *(pytest.param(sums, marks=pytest.mark.slow) for sums in (2, 3))])
def test_sums_beside_counts(sums: int) -> None:
    """What is added up is one more axis of the dense system; nothing ties two variables but zeros of both."""
    found = [compare(seed, sums) for seed in range(20 if sums == 1 else 40)]
    assert max(one[0] for one in found) < 1e-8
    assert sum(one[2] > 0 for one in found) > 2


def test_sums_of_unions() -> None:
    assert max(compare_unions(seed, 2)[0] for seed in range(12)) < 1e-8


def compare_unions(seed: int, sums_of: int = 0) -> tuple[float, int, int]:
    """Return the largest relative difference of sums over random units, and of the covariances of two such
    sums, and how many of these are exact, and how many were not determined unit by unit."""
    given = problem(seed, sums_of)
    rng = np.random.default_rng([seed, 1])
    dense, units = solve(given), len(given.parent)
    told = tuple(given.kinds)
    laws = [{query: _Law(size) for query, size in variances.items()} for variances, _ in told]
    noisy, exact = {}, {}
    for query in given.queries:
        who = [unit for unit in range(units) if (unit, query) in given.measured]
        if who:
            noisy[query] = np.array(who), np.array([given.measured[unit, query] for unit in who])
        held = [unit for unit in range(units) if query in told[given.kind[unit]][1]]
        if held:
            rows = matrix(given.attributes.tabulation(query))
            exact[query] = np.array(held), np.array([rows @ given.truth[unit] for unit in held])
    tree = Tree(given.parent, given.kind, tuple(given.starts))
    found = Estimates(given.attributes, Measurements(tree, (InMemory(laws, noisy),), exact))
    worst, sure, joint = 0.0, 0, 0
    query = str(rng.choice([*given.queries, "detailed"]))
    rows = matrix(given.attributes.tabulation(query))
    areas = [apart(given, rng) for _ in range(2)]
    sums = [np.kron(given.incidence[area].sum(axis=0), rows) for area in areas]
    unions = [found.union(area) for area in areas]
    for area, row, union in zip(areas, sums, unions, strict=True):
        values, variances = union.values(query)[0], union.variances(query)[0]
        lost = np.isnan(values)
        alone = [np.isnan(found.at([unit]).values(query)[0]) for unit in area]
        joint += int(np.sum(np.any(alone, axis=0) & ~lost))
        assert not np.any(np.linalg.norm(row @ dense.free, axis=1)[~lost] > 1e-6), (seed, query)
        open_ = np.linalg.norm(row @ dense.open, axis=1) > 1e-6
        assert np.array_equal(variances[~lost] == 0.0, ~open_[~lost]), (seed, query)
        sure += int(np.sum(~open_ & ~lost))
        due, size = row @ dense.estimate, np.einsum("ij,jk,ik->i", row, dense.covariance, row)
        worst = max(worst, np.max(np.abs(due - values)[~lost] / (1 + np.abs(due[~lost])), initial=0.0))
        worst = max(worst, np.max(np.abs(size - variances)[~lost] / (1e-3 + size[~lost]), initial=0.0))
    both = np.einsum("ij,jk,ik->i", sums[0], dense.covariance, sums[1])
    scale = 1e-3 + np.sqrt(np.prod([np.nan_to_num(one.variances(query)[0]) for one in unions], axis=0))
    lost = np.any([np.isnan(one.values(query)[0]) for one in unions], axis=0)
    got = unions[0].covariances(query, unions[1], query)[0]
    return max(worst, np.max(np.abs(both - got)[~lost] / scale[~lost], initial=0.0)), sure, joint


def apart(given: Problem, rng: np.random.Generator) -> list[int]:
    """Draw units none of which lies within another."""
    chosen: list[int] = []
    for unit in rng.permutation(len(given.parent)).tolist():
        if not any(np.any(given.incidence[unit] * given.incidence[one]) for one in chosen):
            chosen.append(unit)
        if rng.random() < 0.25:
            break
    return sorted(chosen)


class _Law:
    """Noise of a variance, of which nothing else is asked here."""

    def __init__(self, size: float) -> None:
        self._size = size

    def true_variance(self) -> float:
        return self._size


def test_random_unions() -> None:
    """Sums over units of any levels, whether or not these are measured themselves, and their covariances."""
    found = [compare_unions(seed) for seed in range(30)]
    assert max(one[0] for one in found) < 1e-8
    assert sum(one[1] > 0 for one in found) > 3
    assert sum(one[2] > 0 for one in found) > 0


@pytest.mark.slow
def test_many_random_unions() -> None:
    assert max(compare_unions(seed)[0] for seed in (*range(30, 150), *range(1000, 4000))) < 1e-8
