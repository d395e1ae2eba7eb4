"""Random problems, and their solution by one dense system over all cells of all lowest units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.budget import Attributes, Recode, Tabulation, Variable


@dataclass(frozen=True)
class Problem:
    """Attributes, queries, a tree, what each kind of unit answers (variances, exact queries), true counts."""

    attributes: Attributes
    queries: list[str]
    parent: Any
    starts: list[int]
    kinds: list[tuple[dict[str, float], list[str]]]
    kind: Any
    truth: Any
    incidence: Any
    measured: dict[tuple[int, str], Any]


def matrix(table: Tabulation) -> Any:
    """The query as a dense matrix of zeros and ones, attributes in the order of the release."""
    found = np.ones((1, 1))
    sizes = table.sizes if table.variables == 1 else (*table.sizes, table.variables)
    for size, groups in zip(sizes, table.axes, strict=True):
        rows = np.zeros((len(groups), size))
        for place, group in enumerate(groups):
            rows[place, list(group)] = 1.0
        found = np.kron(found, rows)
    return found


SUMS = (Variable(sum="hours", at_most=80), Variable(count="hours", above=80), Variable(sum="pay", at_most=9))


def problem(seed: int, sums: int = 0) -> Problem:
    """Draw a problem: recodes that do not nest, uneven trees, levels without measurements, merged units,
    exact totals and structural zeros; with `sums`, some queries add up other variables than the counts."""
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(1, 5)) for _ in range(rng.integers(1, 4))]
    while np.prod(sizes) > 12:
        sizes[int(np.argmax(sizes))] -= 1
    names = "abc"[: len(sizes)]
    recodes = {}
    for name, size in zip(names, sizes, strict=True):
        for number in range(rng.integers(0, 3)):
            group = rng.integers(0, max(1, size - 1), size=size)
            recodes[f"{name}{number}"] = Recode(
                name, {f"g{one}": [str(v) for v in np.flatnonzero(group == one)] for one in np.unique(group)}
            )
    zeros = []
    if rng.random() < 0.3:
        zeros.append({name: [str(rng.integers(size))] for name, size in zip(names, sizes, strict=True)})
    variables = (Variable(), *SUMS[:sums])
    attributes = Attributes(dict(zip(names, sizes, strict=True)), recodes, zeros, variables)
    queries = []
    for _ in range(6):
        choice = [[None, name, *(one for one in recodes if recodes[one].of == name)] for name in names]
        factors = [str(one[k]) for one in choice if (k := rng.integers(len(one)))]
        queries.append(" * ".join(factors) or "total")
    queries = list(dict.fromkeys(queries + ["detailed"] * (rng.random() < 0.7)))
    of = [variables[int(rng.integers(len(variables)))].name if sums else "" for _ in queries]
    queries = [f"{name} by {query}" if name else query for name, query in zip(of, queries, strict=True)]
    parent, starts = [-1] * int(rng.integers(1, 3)), [0]
    last = list(range(len(parent)))
    for depth in range(rng.integers(1, 4)):
        first = len(parent)
        parent += [unit for unit in last for _ in range(rng.integers(0 if depth else 1, 4))]
        last = list(range(first, len(parent)))
        if not last:
            break
        starts.append(first)
        if len(parent) > 10:
            break
    kinds: list[tuple[dict[str, float], list[str]]] = []
    for _ in range(rng.integers(1, 5)):
        asked = [query for query in queries if rng.random() < 0.6]
        asked += [q for q in ["detailed"] if q in queries and q not in asked and rng.random() < 0.5]
        rare = 0.15 if rng.random() < 0.4 else 0.0
        held = [query for query in queries if rng.random() < rare]
        kinds.append(({query: float(10 ** rng.uniform(-1.5, 2.5)) for query in asked}, held))
    units = len(parent)
    depth_of = np.searchsorted(starts, np.arange(units), side="right") - 1
    kind = np.where(
        rng.random(units) < 0.3, rng.integers(len(kinds), size=units), np.minimum(depth_of, len(kinds) - 1)
    )
    leaves = np.setdiff1d(np.arange(units), parent)
    incidence = np.zeros((units, len(leaves)))
    for place, leaf in enumerate(leaves):
        unit = int(leaf)
        while unit >= 0:
            incidence[unit, place] = 1.0
            unit = parent[unit]
    below = rng.poisson(3, size=(len(leaves), int(np.prod(attributes.axes)))).astype(float)
    for block in attributes.zeros():
        below[:, matrix(block).sum(axis=0) > 0] = 0.0
    truth = incidence @ below
    measured = {}
    for unit in range(units):
        for query, size in kinds[kind[unit]][0].items():
            exact = matrix(attributes.tabulation(query)) @ truth[unit]
            measured[unit, query] = exact + rng.normal(size=len(exact)) * size**0.5
    return Problem(attributes, queries, np.array(parent), starts, kinds, kind, truth, incidence, measured)


@dataclass(frozen=True)
class Dense:
    """The estimate of all cells of all lowest units, its covariance, what is not determined, and what the
    exact counts leave open."""

    estimate: Any
    covariance: Any
    free: Any
    open: Any


def solve(given: Problem) -> Dense:
    """Solve by eliminating the exact rows and inverting the normal equations on what they reach."""
    matrices = {query: matrix(given.attributes.tabulation(query)) for query in given.queries}
    size = int(np.prod(given.attributes.axes)) * given.incidence.shape[1]
    H, g, rows, totals = np.zeros((size, size)), np.zeros(size), [np.zeros((0, size))], [np.zeros(0)]
    zeros = [matrix(block) for block in given.attributes.zeros()]
    for unit in range(len(given.parent)):
        variances, held = given.kinds[given.kind[unit]]
        for query, variance in variances.items():
            row = np.kron(given.incidence[unit], matrices[query])
            H += row.T @ row / variance
            g += row.T @ given.measured[unit, query] / variance
        for exact in [*(matrices[query] for query in held), *zeros]:
            rows.append(np.kron(given.incidence[unit], exact))
            totals.append(exact @ given.truth[unit])
    E, t = np.vstack(rows), np.concatenate(totals)
    start, Z = np.zeros(size), np.eye(size)
    if len(E):
        start = np.linalg.pinv(E, rcond=1e-10) @ t
        _, found, right = np.linalg.svd(E)
        Z = right[int(np.sum(found > 1e-9)) :].T
    values, vectors = np.linalg.eigh(Z.T @ H @ Z)
    inside = values > 1e-10 * max(np.abs(H).max(), 1e-300)
    inverse = (vectors[:, inside] / values[inside]) @ vectors[:, inside].T
    estimate = start + Z @ inverse @ (Z.T @ (g - H @ start))
    return Dense(estimate, Z @ inverse @ Z.T, Z @ vectors[:, ~inside], Z)
