"""Estimates and variances equal those of one dense system, to 1e-8, as does what is undetermined or exact."""

from __future__ import annotations

import numpy as np
import pytest
from dense import matrix, problem, solve

from discreet.estimation.model import Model
from discreet.estimation.tree import Evidence, Tree, estimate
from discreet.estimation.tree import solve as solve_component


def compare(seed: int) -> tuple[float, int, int, int]:
    """Return the largest relative difference, the number of components with units not determined from
    below, and the numbers of cells that are not determined at all, and that are exact."""
    given = problem(seed)
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
        estimates.append(estimate(solution, tree, node, h, t))
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
    """200 problems, with loose components, undetermined and exact cells among them, or nothing was tested."""
    found = [compare(seed) for seed in range(200)]
    assert max(one[0] for one in found) < 1e-8
    assert sum(one[1] > 0 for one in found) > 30
    assert sum(one[2] > 0 for one in found) > 30
    assert sum(one[3] > 0 for one in found) > 30


@pytest.mark.slow
def test_many_random_problems() -> None:
    assert max(compare(seed)[0] for seed in range(1000, 4000)) < 1e-8
