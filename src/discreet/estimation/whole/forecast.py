"""How good printed whole numbers will be, before anything is released: tables made of synthetic counts.

What rounding and non-negativity do depends on the counts, which are confidential. So plausible ones are
drawn, and tables are made of them again and again. Assumed: a lowest area has `people` people on average, its
size being lognormal (so that some areas are empty and some ten times as large); the k-th most frequent
detailed cell has a share proportional to 1/k^2 in the whole population; the shares of an area follow a
Dirichlet distribution around those of the area above it, worth as many people as `ALIKE` says. The tree has
whole numbers of children. Cells that the release declares impossible are empty.

The work grows with the square of the cells that are not empty, so the top of a nation costs more than all of
the rest. What a table would take is foreseen from the first counts drawn: where it is too much, fewer tables
are made, and the levels at the top are left out until it is not. Those left out tell little about the levels
below, since each area has its own measurements. But an area without a parent has noise in every empty cell,
where others have it in those that their parent fills: the level that is then highest is simulated and not
shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import detailed_cells, impossible_cells
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Release
from discreet.budget.noise_table import queries_of
from discreet.errors import InputError
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.model import Model, known_by_level
from discreet.estimation.whole.replicates import (
    MOST_NUMBERS,
    REPLICATES,
    TableErrors,
    replicate_work,
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
MOST_WORK = 24.0
"""About how many seconds of one processor all tables may take."""


@dataclass(frozen=True, slots=True)
class PrintedAccuracy:
    """How good printed whole numbers will be, if counts are like synthetic ones: `people` people in a lowest
    area on average, a tree with these numbers of children (None: the tree given)."""

    people: float
    children: tuple[int, ...] | None
    populations: int
    errors: TableErrors
    left_out: tuple[str, ...] = ()
    """Levels at the top that have too many cells, and the one below them, which needs a parent."""


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
    children = None if isinstance(tree, Tree) else tuple(max(1, round(one)) for one in tree or ())
    names = tree.levels if isinstance(tree, Tree) else tuple(level.name for level in release.levels)
    depths = len(tree.starts) if isinstance(tree, Tree) else len(names)
    every: list[_Part] = []
    for depth in range(max(depths - 1, 1)):
        part = _Part.below(depth, release, model, tree if isinstance(tree, Tree) else children or (), names)
        every.append(part)
        work = part.work(people, np.random.default_rng(seed))
        if work * 2 * POPULATIONS <= MOST_WORK:
            break
    else:
        raise InputError(
            f"one set of whole-number tables would take about {work:,.0f} seconds to simulate, and at least "
            f"{2 * POPULATIONS} are needed: give fewer people in a lowest area (--people) or fewer areas "
            "(--tree), or ask without tables for the accuracy of the estimates"
        )
    many = max(2, min(replicates, int(MOST_WORK / max(work, 1e-9))) // POPULATIONS)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(POPULATIONS):
        truth = part.population(people, rng)
        found.append(
            table_errors(
                part.estimates,
                truth,
                lambda again, _: WholeTables(again),
                model.queries,
                replicates=many,
                source=_Drawn(rng),
                sample=(part.units, part.closed),
            )
        )
    errors = TableErrors.joined(found)
    kept = part.levels if len(every) == 1 else part.levels[1:]
    left_out = tuple(name for name in every[0].levels if name not in kept)
    shown = tuple(one for one in errors.errors if one.level in kept)
    return PrintedAccuracy(people, children, POPULATIONS, replace(errors, errors=shown), left_out)


@dataclass(frozen=True)
class _Part:
    """What is simulated: the tree from some depth down, and the sample of families in it."""

    estimates: Estimates
    units: Integers
    closed: NDArray[np.bool_]
    beneath: Floats
    """How many lowest areas lie within each unit."""

    @classmethod
    def below(
        cls, depth: int, release: Release, model: Model, tree: Tree | Sequence[int], names: tuple[str, ...]
    ) -> _Part:
        cells = sum(model.projection(query).cells for query in model.queries)
        if isinstance(tree, Tree):
            shown = _lower(tree, depth)
            shape, node = shown.folded()
            units, closed = sampled_units(shown, cells)
            beneath = _leaves(shown)
        else:
            names, children = names[depth:], tree[depth:]
            shape = Tree.chain(children)
            shown, closed = _branches(children, names, cells)
            units, node = np.arange(shown.size), shown.kind
            below = np.array([float(np.prod(children[kind:])) for kind in range(len(names))])
            beneath = below[shown.kind]
        told = known_by_level(release, names)
        empty = {
            query: (np.zeros(0, np.int64), np.zeros((0, model.projection(query).cells)))
            for query in model.queries
        }
        given = Measurements(shown, (InMemory([dict(one.laws) for one in told], empty),))
        return cls(Estimates.planned(model, given, shape, node, told), units, closed, beneath)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of the units that are simulated, from the top down."""
        tree = self.estimates.given.tree
        return tuple(tree.levels[kind] for kind in dict.fromkeys(tree.kind[self.units].tolist()))

    def population(self, people: float, rng: np.random.Generator) -> _Synthetic:
        """Draw synthetic counts."""
        return _Synthetic(self.estimates, self.units, self.closed, self.beneath * people, rng)

    def work(self, people: float, rng: np.random.Generator) -> float:
        """Return about how many seconds the tables of one population take."""
        return replicate_work(self.estimates, self.population(people, rng), self.units)


def _lower(tree: Tree, depth: int) -> Tree:
    """Return the tree without its first depths."""
    start = tree.starts[depth]
    parent = np.maximum(tree.parent[start:] - start, -1)
    starts = tuple(one - start for one in tree.starts[depth:])
    names = None if tree.names is None else tree.names.slice(start)
    return Tree(parent, tree.kind[start:], starts, tree.levels, names)


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
