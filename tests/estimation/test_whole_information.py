"""The information of a subtree about the cells of its root, against dense least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dense import Problem, matrix, problem

from discreet.areas.tree import Tree
from discreet.budget import Tabulation
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.normal import Normal
from discreet.estimation.whole.information import Information


def measurements(given: Problem) -> Measurements:
    """The problem as measurements; its noise is normal."""
    laws = [{query: Normal(size) for query, size in sizes.items()} for sizes, _ in given.kinds]
    noisy, exact = {}, {}
    for query in given.queries:
        who = np.array([unit for unit, name in given.measured if name == query], dtype=np.int64)
        if who.size:
            noisy[query] = who, np.array([given.measured[unit, query] for unit in who.tolist()])
        held = np.array([u for u in range(len(given.parent)) if query in given.kinds[given.kind[u]][1]])
        if held.size:
            rows = matrix(given.attributes.tabulation(query))
            exact[query] = held, given.truth[held] @ rows.T
    tree = Tree(given.parent, given.kind, tuple(given.starts))
    return Measurements(tree, (InMemory(laws, noisy),), exact)


def least(given: Problem, unit: int, root: Any) -> float:
    """The least squares of a subtree given the cells of its root, by one dense system with exact rows."""
    inside = given.incidence[unit] > 0
    below = [other for other in range(len(given.parent)) if not np.any(given.incidence[other][~inside])]
    below = [other for other in below if given.incidence[other].any()]
    size = int(np.prod(given.attributes.axes))
    many = int(inside.sum())
    H, g = np.zeros((size * many, size * many)), np.zeros(size * many)
    rows, totals = [np.kron(np.ones(many), np.eye(size))], [root]
    zeros: list[Tabulation] = list(given.attributes.zeros())
    for other in below:
        part = given.incidence[other][inside]
        if np.array_equal(part, np.ones(many)) and not _is_below(given, other, unit):
            continue  # above the unit, in a chain of single children
        variances, held = given.kinds[given.kind[other]]
        for query, variance in variances.items():
            row = np.kron(part, matrix(given.attributes.tabulation(query)))
            H += row.T @ row / variance
            g += row.T @ given.measured[other, query] / variance
        for exact in [*(matrix(given.attributes.tabulation(query)) for query in held), *map(matrix, zeros)]:
            rows.append(np.kron(part, exact))
            totals.append(exact @ given.truth[other])
    E, t = np.vstack(rows), np.concatenate(totals)
    start = np.linalg.pinv(E, rcond=1e-10) @ t
    np.testing.assert_allclose(E @ start, t, atol=1e-7)
    _, found, right = np.linalg.svd(E)
    Z = right[int(np.sum(found > 1e-9)) :].T
    values, vectors = np.linalg.eigh(Z.T @ H @ Z)
    told = vectors[:, values > 1e-10 * max(float(np.abs(H).max()), 1e-300)]
    inverse = np.linalg.inv(told.T @ Z.T @ H @ Z @ told)
    y = start + Z @ told @ inverse @ told.T @ (Z.T @ (g - H @ start))
    return float(y @ H @ y - 2 * g @ y)


def _is_below(given: Problem, other: int, unit: int) -> bool:
    while other >= 0:
        if other == unit:
            return True
        other = int(given.parent[other])
    return False


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.parametrize("sums", [0, 2])
def test_information_of_a_subtree_is_its_least_squares_with_the_units_below_integrated_out(
    seed: int, sums: int
) -> None:
    """Recodes that do not nest, uneven trees, units not measured, exact tables and structural zeros."""
    given = problem(seed + 1000 * sums, sums)
    estimates = Estimates(given.attributes, measurements(given))
    rng = np.random.default_rng(seed)
    cells, variables = given.attributes.cells, 1 + sums
    units = np.arange(len(given.parent))
    every = np.arange(cells)
    for unit in rng.permutation(units)[:4].tolist():
        # two sets of cells that some cells of the lowest units have, with all exact counts of the subtree
        leaves = np.flatnonzero(given.incidence[unit])
        E, size = [], cells * variables
        for other in [one for one in units.tolist() if _is_below(given, one, unit)]:
            part = given.incidence[other][leaves]
            held = [matrix(given.attributes.tabulation(q)) for q in given.kinds[given.kind[other]][1]]
            held += [matrix(block) for block in given.attributes.zeros()]
            E += [np.kron(part, rows) for rows in held]
        free = np.eye(size * len(leaves))
        if E:
            _, found, right = np.linalg.svd(np.vstack(E))
            free = right[int(np.sum(found > 1e-9)) :].T
        moved = (free @ rng.normal(size=(free.shape[1], 2))).reshape(len(leaves), size, 2).sum(axis=0)
        roots = given.truth[unit][:, None] + moved
        expected = least(given, unit, roots[:, 0]) - least(given, unit, roots[:, 1])
        value = 0.0
        for variable in range(variables):
            known = Information(estimates, variable).read(slice(unit, unit + 1)).of(np.array([unit]), every)
            mine = roots.reshape(cells, variables, 2)[:, variable]
            J, h = known.information[0], known.pull[0]
            one, two = (x @ J @ x - 2 * h @ x for x in mine.T)
            value += one - two
            some = np.sort(rng.permutation(every)[: max(1, cells // 2)])
            part = Information(estimates, variable).read(slice(unit, unit + 1)).of(np.array([unit]), some)
            np.testing.assert_allclose(part.information[0], J[np.ix_(some, some)], atol=1e-12)
            np.testing.assert_allclose(part.pull[0], h[some], atol=1e-12)
        assert value == pytest.approx(expected, rel=1e-6, abs=1e-6)
