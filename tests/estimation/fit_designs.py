"""Simple designs of measurements, their residuals by dense matrices, and thousands of honest rehearsals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from dense import matrix

from discreet.areas.tree import Tree
from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.fit import (
    ALARM,
    SHARES,
    UNCHECKED,
    Residuals,
    Spread,
    _worst,
    spreads,
    tail_of_largest,
)
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise


@dataclass(frozen=True)
class Design:
    """Areas below one nation, or without one, with the laws of their queries by level."""

    name: str
    values: int
    laws: tuple[dict[str, Noise], ...]
    """By level: of the nation and its areas, or of the areas alone."""
    areas: int = 1
    exact: bool = False
    """The totals of all areas are held exact."""

    @property
    def tree(self) -> Tree:
        """The tree: a nation with areas, or areas alone."""
        if len(self.laws) == 1:
            return Tree(np.full(self.areas, -1), np.zeros(self.areas, np.int64), (0,), ("Area",))
        parent = np.concatenate([[-1], np.zeros(self.areas, np.int64)])
        return Tree(parent, np.minimum(parent + 1, 1), (0, 1), ("Nation", "Area"))

    def estimates(self, noise: Any = None) -> Estimates:
        """Estimates from counts of zero with this noise, listed unit by unit."""
        attributes, tree = Attributes({"a": self.values}), self.tree
        cells = {query: attributes.tabulation(query).cells for one in self.laws for query in one}
        rows: dict[str, tuple[list[int], list[Any]]] = {query: ([], []) for query in cells}
        place = 0
        for unit, kind in enumerate(tree.kind.tolist()):
            for query in self.laws[kind]:
                stop = place + cells[query]
                rows[query][0].append(unit)
                rows[query][1].append(np.zeros(cells[query]) if noise is None else noise[place:stop])
                place = stop
        noisy = {query: (np.array(units), np.array(values)) for query, (units, values) in rows.items()}
        exact = {"total": (np.arange(tree.size), np.zeros((tree.size, 1)))} if self.exact else {}
        return Estimates(attributes, Measurements(tree, (InMemory(self.laws, noisy),), exact))

    def dense(self) -> tuple[Any, list[tuple[int, str, int]], list[Noise]]:
        """The projector M on residuals in standard deviations, the test that each measurement belongs to,
        and its law."""
        attributes, tree = Attributes({"a": self.values}), self.tree
        areas = np.eye(self.areas)
        above = areas if len(self.laws) == 1 else np.vstack([areas.sum(axis=0), areas])
        rows, of, laws = [], [], []
        for unit, kind in enumerate(tree.kind.tolist()):
            for query, law in self.laws[kind].items():
                block = np.kron(above[unit], matrix(attributes.tabulation(query)))
                rows.append(block / law.true_variance() ** 0.5)
                of += [(kind, query, 0)] * len(block)
                laws += [law] * len(block)
        A = np.vstack(rows)
        if self.exact:
            held = np.kron(above, np.ones((1, self.values)))
            _, size, right = np.linalg.svd(held)
            A = A @ right[int(np.sum(size > 1e-9)) :].T
        left, size, _ = np.linalg.svd(A, full_matrices=False)
        U = left[:, size > 1e-9 * size.max()]
        return np.eye(len(A)) - U @ U.T, of, laws


def draw(law: Noise, shape: tuple[int, ...], rng: Any) -> Any:
    """Noise by inversion of its probabilities."""
    reach = int(12 * law.true_variance() ** 0.5 + 60)
    steps = np.arange(-reach, reach + 1)
    chances = np.exp(np.array([float(law.log_pmf(int(abs(step)))) for step in steps]))
    return steps[np.searchsorted(np.cumsum(chances / chances.sum()), rng.random(shape))]


@dataclass(frozen=True)
class Limits:
    """The smallest and largest sums without a warning: overall, by query, and the largest residuals."""

    overall: tuple[float, float]
    by_query: dict[tuple[int, str, int], tuple[float, float]]
    largest: Any
    """For each measurement."""


def limits(design: Design) -> Limits:
    """What the code warns of in a design, by bisection."""
    estimates = design.estimates()
    residuals = Residuals(estimates, design.tree.kind)
    tallies = list(residuals.tallies.values())
    overall, each = spreads(tallies)
    tests = sum(spread.d > UNCHECKED for spread in each)
    by_query = {
        key: ends(spread, SHARES["query"] * ALARM / (2 * tests)) if spread.d > UNCHECKED else (-1.0, np.inf)
        for key, spread in zip(residuals.tallies, each, strict=True)
    }
    M, of, _ = design.dense()
    many = sum(tally.cells for tally in tallies if tally.d > UNCHECKED)
    rest, known, largest = _worst(tallies), {}, []
    for place, key in enumerate(of):
        free = round(float(M[place, place]), 9)
        if (key, free) not in known:
            own, chance = _worst([residuals.tallies[key]]), SHARES["largest"] * ALARM / many
            known[key, free] = bisect(lambda x: tail_of_largest(x, own, free, rest), chance)  # noqa: B023
        largest.append(known[key, free] if free > UNCHECKED else np.inf)
    return Limits(ends(overall, SHARES["overall"] * ALARM / 2), by_query, np.array(largest))


def ends(spread: Spread, chance: float) -> tuple[float, float]:
    """The sums that are as likely as this to be fallen below, or exceeded."""
    lower = 0.0 if spread.below(0.0) > chance else bisect(spread.below, chance, spread.d)
    return lower if spread.below(0.0) <= chance else -1.0, bisect(spread.above, chance)


def bisect(chance: Any, wanted: float, top: float | None = None) -> float:
    """Where a monotone chance crosses the wanted one."""
    low, high = 0.0, 1.0 if top is None else top
    while top is None and chance(high) > wanted:
        high *= 2
    falling = top is None
    for _ in range(60):
        middle = (low + high) / 2
        if (chance(middle) > wanted) == falling:
            low = middle
        else:
            high = middle
    return high


def warnings(design: Design, rehearsals: int, seed: int, factors: dict[str, float] | None = None) -> Any:
    """How many rehearsals are warned of: in all, overall, by query, and because of one residual. With
    `factors`, noise of a query has another variance than stated."""
    rng, limit = np.random.default_rng(seed), limits(design)
    M, of, laws = design.dense()
    noise = np.zeros((rehearsals, len(of)))
    for law in set(laws):
        mine = [place for place, one in enumerate(laws) if one == law]
        noise[:, mine] = draw(law, (rehearsals, len(mine)), rng) / law.true_variance() ** 0.5
    for query, factor in (factors or {}).items():
        mine = [place for place, one in enumerate(of) if one[1] == query]
        size = laws[mine[0]].true_variance()
        other = DiscreteGaussian.of_true_variance(size * factor)
        noise[:, mine] = draw(other, (rehearsals, len(mine)), rng) / size**0.5
    residuals = noise @ M
    free = np.diag(M)
    squares = np.where(free > UNCHECKED, residuals**2, 0.0)
    total = squares.sum(axis=1)
    overall = (total <= limit.overall[0]) | (total >= limit.overall[1])
    query = np.zeros(rehearsals, dtype=bool)
    for key, (low, high) in limit.by_query.items():
        part = squares[:, [place for place, one in enumerate(of) if one == key]].sum(axis=1)
        query |= (part <= low) | (part >= high)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(free > UNCHECKED, np.abs(residuals) / np.sqrt(free), 0.0)
    one = (sizes >= limit.largest).any(axis=1)
    return np.array([(overall | query | one).sum(), overall.sum(), query.sum(), one.sum()])


def gaussian(size: str) -> Noise:
    return DiscreteGaussian(variance=Fraction(size))


def laplace(scale: str) -> Noise:
    return DiscreteLaplace(scale=Fraction(scale))


def designs() -> list[Design]:
    """Designs of one kind each: few or many cells, small, large and unequal variances, heavy tails."""
    found = []
    noises = {
        "tenth": gaussian("1/10"),
        "quarter": gaussian("1/4"),
        "half": gaussian("1/2"),
        "one": gaussian("1"),
        "nine": gaussian("9"),
        "laplace small": laplace("1/4"),
        "laplace one": laplace("1"),
        "laplace ten": laplace("10"),
    }
    for name, law in noises.items():
        both = {"total": law, "detailed": law}
        found.append(Design(f"{name}, two cells", 2, (both,)))
        found.append(Design(f"{name}, ten areas", 3, (both, {"detailed": law}), 10))
        found.append(Design(f"{name}, sixty areas", 2, (both,), 60))
        found.append(Design(f"{name}, exact totals", 4, ({"detailed": law},), 15, exact=True))
    nine, tenth, heavy = noises["nine"], noises["tenth"], noises["laplace ten"]
    found += [
        Design("precise totals", 3, ({"total": tenth, "detailed": nine},), 40),
        Design("precise cells", 3, ({"total": nine, "detailed": tenth},), 40),
        Design("heavy totals", 3, ({"total": heavy, "detailed": nine},), 40),
        Design("heavy cells", 3, ({"total": nine, "detailed": heavy}, {"detailed": nine}), 20),
        Design("one nation", 5, ({"total": nine}, {"detailed": nine}), 50),
        Design("one cell", 1, ({"total": nine, "a": nine},)),
    ]
    return found
