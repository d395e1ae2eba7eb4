"""How good printed whole numbers will be, before anything is released: tables made of synthetic counts.

What rounding and non-negativity do depends on the counts, which are confidential. So plausible ones are
drawn, and tables are made of them again and again. Assumed: a lowest area has `people` people on average, its
size being lognormal (so that some areas are empty and some ten times as large); the k-th most frequent
detailed cell has a share proportional to 1/k^2 in the whole population; the shares of an area follow a
Dirichlet distribution around those of the area above it, worth as many people as `ALIKE` says. The tree has
whole numbers of children. Cells that the release declares impossible are empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release
from discreet.budget.noise_table import queries_of
from discreet.errors import InputError
from discreet.estimation.cells import detailed_cells, impossible_cells
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.model import Model, told_by_level
from discreet.estimation.tree import Floats, Integers, Tree
from discreet.estimation.whole.replicates import (
    MOST_NUMBERS,
    REPLICATES,
    TableErrors,
    sampled_units,
    table_errors,
)
from discreet.estimation.whole.tables import WholeTables

PEOPLE = 40.0
"""People in a lowest area on average, if nobody says."""
ALIKE = 50.0
"""How many people the shares of the area above are worth to those of an area."""
SPREAD = 1.0
"""The standard deviation of the logarithm of the size of a lowest area."""
POPULATIONS = 4
"""Synthetic populations; replicates are shared out among them."""


@dataclass(frozen=True, slots=True)
class PrintedAccuracy:
    """How good printed whole numbers will be, if counts are like synthetic ones: `people` people in a lowest
    area on average, a tree with these numbers of children (None: the tree given)."""

    people: float
    children: tuple[int, ...] | None
    populations: int
    errors: TableErrors


def printed_accuracy(
    release: Release,
    tree: Sequence[float] | Tree | None,
    *,
    people: float = PEOPLE,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> PrintedAccuracy:
    """Simulate the whole-number tables of a release on synthetic counts, and return their errors."""
    if not 0.01 <= people <= 1e9:
        raise InputError(f"people is {people:g}; a lowest area has from 0.01 to a billion people on average")
    if any(variable.sum is not None for variable in release.variables.values()):
        raise InputError("printed numbers can be simulated for counts, and the release has sums of a column")
    model = Model(release.attributes, queries_of(release))
    cells = sum(model.projection(query).cells for query in model.queries)
    children = None if isinstance(tree, Tree) else tuple(max(1, round(one)) for one in tree or ())
    if isinstance(tree, Tree):
        names, (shape, node), shown = tree.levels, tree.folded(), tree
        units, closed = sampled_units(tree, cells)
        beneath = _leaves(tree)
    else:
        names = tuple(level.name for level in release.levels)
        shape = Tree.chain(children or ())
        shown, closed = _branches(children or (), names, cells)
        units, node = np.arange(shown.size), shown.kind
        below = np.array([float(np.prod((children or ())[kind:])) for kind in range(len(names))])
        beneath = below[shown.kind]
    told = told_by_level(release, names)
    laws = [dict(one.laws) for one in told]
    empty = {
        query: (np.zeros(0, np.int64), np.zeros((0, model.projection(query).cells)))
        for query in model.queries
    }
    given = Measurements(shown, (InMemory(laws, empty),))
    estimates = Estimates.planned(model, given, shape, node, told)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(POPULATIONS):
        truth = _Synthetic(estimates, units, closed, beneath * people, rng)
        found.append(
            table_errors(
                estimates,
                truth,
                lambda again, _: WholeTables(again),
                model.queries,
                replicates=max(2, replicates // POPULATIONS),
                source=_Drawn(rng),
                sample=(units, closed),
            )
        )
    return PrintedAccuracy(people, children, POPULATIONS, TableErrors.joined(found))


class _Drawn:
    """Bytes from a generator that is seeded: synthetic counts are nobody's, so nobody is to be protected."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with random bytes."""
        out[:] = np.frombuffer(self._rng.bytes(out.size), dtype=np.uint8)


def _leaves(tree: Tree) -> Floats:
    """Return how many lowest areas lie within each unit."""
    many = tree.leaf.astype(np.float64)
    for part in reversed(tree.depths[1:]):
        np.add.at(many, tree.parent[part], many[part])
    return many


def _branches(children: Sequence[int], levels: tuple[str, ...], cells: int) -> tuple[Tree, NDArray[np.bool_]]:
    """Return a sample of whole families of a uniform tree, and which units' children are left out."""
    parent, kind, starts, closed = [-1], [0], [0], [False]
    for depth, many in enumerate(children, 1):
        above = range(starts[-1], len(parent))
        kept = list(above)[:: max(1, len(above) // 2)][:2]
        if len(above) * many * cells <= MOST_NUMBERS:
            kept = list(above)
        starts.append(len(parent))
        for unit in above:
            if unit in kept:
                parent += [unit] * many
                kind += [depth] * many
                closed += [False] * many
            else:
                closed[unit] = True
    return Tree(np.array(parent), np.array(kind), tuple(starts), levels), np.array(closed)


class _Synthetic:
    """Synthetic counts of sampled units, as tables."""

    def __init__(
        self,
        estimates: Estimates,
        units: Integers,
        closed: NDArray[np.bool_],
        sizes: Floats,
        rng: np.random.Generator,
    ) -> None:
        self._attributes = estimates.model.attributes
        model, tree = estimates.model, estimates.given.tree
        queries = model.queries
        if self._attributes is not None:
            queries = (self._attributes.detailed(self._attributes.variables[0]),)
        self._at = np.full(tree.size, -1, dtype=np.int64)
        self._at[units] = np.arange(len(units))
        parent = np.where(tree.parent[units] >= 0, self._at[tree.parent[units]], -1)
        lowest = closed | ~np.isin(np.arange(len(units)), parent)
        people = _sizes(sizes[units], lowest, rng)
        self._tables = {}
        for query in queries:
            shares = _top_shares(self._attributes, model.projection(query).cells, rng)
            self._tables[query] = _counts(shares, parent, lowest, people, rng)
        self._detailed = queries[0]

    def rows(self, query: str, units: Integers) -> Integers:
        """Return the cells of a query in some units."""
        at = self._at[units]
        if self._attributes is None:
            return self._tables[query][at]
        label = detailed_cells(self._attributes, query)
        rows = np.zeros((len(at), int(label.max()) + 1), dtype=np.int64)
        np.add.at(rows.T, label, self._tables[self._detailed][at].T)
        return rows


def _sizes(means: Floats, lowest: NDArray[np.bool_], rng: np.random.Generator) -> Integers:
    """Return how many people each unit without units below it in the sample has."""
    drawn = means.copy()
    single = lowest & (means <= means[lowest].min() * 1.5)  # others stand for many lowest areas
    drawn[single] *= np.exp(SPREAD * rng.normal(size=int(single.sum())) - SPREAD**2 / 2)
    return np.where(lowest, rng.poisson(np.minimum(drawn, 1e17)), 0)


def _top_shares(attributes: Attributes | None, cells: int, rng: np.random.Generator) -> Floats:
    """Return the shares of the detailed cells in the whole population."""
    possible = np.ones(cells, dtype=bool) if attributes is None else ~impossible_cells(attributes)
    shares = np.zeros(cells)
    places = rng.permutation(np.flatnonzero(possible))
    shares[places] = 1.0 / np.arange(1, len(places) + 1) ** 2
    shares /= shares.sum()
    return shares


def _counts(
    shares: Floats, parent: Integers, lowest: NDArray[np.bool_], people: Integers, rng: np.random.Generator
) -> Integers:
    """Draw the cells of the units from the top down, and add them up again."""
    own = np.zeros((len(parent), len(shares)))
    for unit, above in enumerate(parent.tolist()):
        around = shares if above < 0 else own[above]
        drawn = rng.gamma(np.maximum(ALIKE * around, 1e-12))
        own[unit] = np.where(around > 0, drawn, 0.0) / max(drawn.sum(), 1e-300)
    counts = np.zeros(own.shape, dtype=np.int64)
    for unit in range(len(parent) - 1, -1, -1):
        if lowest[unit]:
            total = own[unit].sum()
            counts[unit] = rng.multinomial(people[unit], own[unit] / total if total > 0 else shares)
        if parent[unit] >= 0:
            counts[parent[unit]] += counts[unit]
    return counts
