"""Random releases with integer noise, and the weights of their noises in any estimate, by dense matrices."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from dense import matrix

from discreet.areas.tree import Tree
from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

VARIANCES = ("1/10", "1/4", "1/2", "1", "3/2", "2", "5", "10")


@dataclass(frozen=True)
class Drawn:
    """A release: its estimates, the incidence of lowest units in units, and by lowest cell the weights of all
    noises (None: the cells are not determined), with the law of each."""

    queries: list[str]
    estimates: Estimates
    incidence: Any
    weights: Any
    laws: list[Noise]
    free: Any

    def errors(self, units: list[int], query: str) -> Any:
        """The weights of the noises in the cells of a query in a union of units, one row a cell."""
        attributes = self.estimates.model.attributes
        assert attributes is not None
        rows = np.kron(self.incidence[units].sum(axis=0), matrix(attributes.tabulation(query)))
        return rows @ self.weights


def drawn(seed: int) -> Drawn:
    """Draw a release: few variances or many, Laplace noise now and then, uneven trees, units that are not
    measured, totals held exact."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(1, 5)) for name in "ab"[: rng.integers(1, 3)]}
    attributes = Attributes(sizes)
    queries = ["total", *sizes, "detailed"] if len(sizes) > 1 else ["total", "detailed"]
    parent, starts, last = [-1], [0], [0]
    for _ in range(rng.integers(0, 4)):
        first = len(parent)
        parent += [unit for unit in last for _ in range(rng.integers(1, 5))]
        last = list(range(first, len(parent)))
        starts.append(first)
        if len(parent) > 15:
            break
    depth = np.searchsorted(starts, np.arange(len(parent)), side="right") - 1
    choice = rng.choice(VARIANCES, size=rng.integers(1, 4))
    kinds: list[dict[str, Noise]] = []
    for level in range(len(starts)):
        asked = [query for query in queries if rng.random() < 0.6]
        if level == len(starts) - 1 and "detailed" not in asked and rng.random() < 0.8:
            asked.append("detailed")
        laws: dict[str, Noise] = {}
        for query in asked:
            size = Fraction(str(rng.choice(choice)))
            laws[query] = (
                DiscreteLaplace(scale=size) if rng.random() < 0.1 else DiscreteGaussian(variance=size)
            )
        kinds.append(laws)
    held = rng.random() < 0.25
    leaves = np.setdiff1d(np.arange(len(parent)), parent)
    incidence = np.zeros((len(parent), len(leaves)))
    for place, leaf in enumerate(leaves):
        unit = int(leaf)
        while unit >= 0:
            incidence[unit, place] = 1.0
            unit = parent[unit]
    cells = {query: attributes.tabulation(query).cells for query in queries}
    asked_by = [[query for query in queries if query in kinds[one]] for one in depth]
    noisy = {}
    for query in queries:
        who = np.array([unit for unit, some in enumerate(asked_by) if query in some], dtype=np.int64)
        if who.size:
            noisy[query] = who, np.zeros((who.size, cells[query]))
    exact = {"total": (np.array([0]), np.zeros((1, 1)))} if held else {}
    tree = Tree(np.array(parent), depth, tuple(starts))
    found = Estimates(attributes, Measurements(tree, (InMemory(kinds, noisy),), exact))
    size = attributes.cells * len(leaves)
    rows, noises = [np.zeros((0, size))], []
    for unit, some in enumerate(asked_by):
        for query in some:
            rows.append(np.kron(incidence[unit], matrix(attributes.tabulation(query))))
            noises += [kinds[depth[unit]][query]] * cells[query]
    A = np.vstack(rows)
    precision = np.array([1 / law.true_variance() for law in noises])
    Z = np.eye(size)
    if held:
        E = np.kron(incidence[0], matrix(attributes.tabulation("total")))
        Z = np.linalg.svd(E)[2][1:].T
    values, vectors = np.linalg.eigh(Z.T @ (A.T * precision) @ A @ Z)
    inside = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
    inverse = (vectors[:, inside] / values[inside]) @ vectors[:, inside].T
    weights = Z @ inverse @ Z.T @ (A.T * precision)
    known = [query for query in queries if query in found.model.queries]
    return Drawn(known, found, incidence, weights, noises, Z @ vectors[:, ~inside])
