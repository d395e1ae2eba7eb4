"""What rounding and non-negativity do to the numbers: whole tables made again from noise drawn anew.

A replicate takes the whole table for the truth, draws all noise anew and makes the table again, from the top
to the lowest areas. The table is the centre, and not the estimates: it is a population that could be, whole,
nowhere negative, with zeros, and cells next to zero are where the errors depend on the truth most. The
replicates give bias and root mean square error by level, query and size of the cell, and what intervals of
printed numbers need. In a large tree they visit a sample of families: the areas below the others enter as the
sum that their measurements would give, with a normal error of the right covariance (they are many).

Intervals of printed numbers. The estimate's error has a known law, whatever the truth is; that of the table
depends on the counts around it, so that intervals from replicates of the table itself fail where they are
needed (percentiles cover 91 to 100 % instead of 95 %, twice the table less percentiles 41 to 98 %). So a
count of 1 or more is kept if the estimate is within its exact margin of it; zero is kept if the estimate is
at most `b` standard deviations, or zero is printed, with b from the replicates such that zeros are kept as
often as the level says; and the printed number is always inside.

Guarantee. Assumed: noise as stated. Claimed: a true count of 1 or more is covered with the chance stated or
more, cell by cell; a true zero with the chance stated on average over the zeros of a level and query, as far
as the zeros of the table stand for those of the truth (tests/estimation/test_replicates.py simulates both).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers, Numbers, Tree
from discreet.errors import InputError
from discreet.estimation.component import ByComponent
from discreet.estimation.estimates import Estimates, InMemory, NoisySource, Rows
from discreet.estimation.normal import sample_errors
from discreet.noise import Entropy, SystemEntropy

REPLICATES = 20
"""Replicates for bias and error, if no intervals are asked for and they do not take too long."""
SECONDS = 4.0
"""About how many seconds of one processor they may take; two are always made."""
_MANY_PEOPLE = 1e6
"""In an area with more, noise is too small beside the counts to tell early which cells are empty."""
LEAST_REPLICATES, MOST_REPLICATES = 50, 10_000
MOST_NUMBERS = 150_000
"""Numbers of one depth that a replicate makes, more only if two families have more."""
_SIZES = np.array([0, 1, *(10**power for power in range(1, 10))])
"""Where the classes of sizes begin."""
STEP, FAR = 1 / 500, 10.0
"""Estimates of zeros are counted in steps of this many standard deviations, as far as this."""


class WholeRows(Protocol):
    """Whole numbers of every query in every unit; -1 where they are not determined."""

    def rows(self, query: str, units: Integers) -> Integers:
        """Return the cells of a query in some units, in the order of the attributes."""


@dataclass(frozen=True, slots=True)
class TableError:
    """The errors of printed numbers of one level, query and size, from `least` to `most` (None: open).

    `cells` is how many cells of the table the replicates made again; those held exact are left out. `bias` is
    known with the standard error `bias_error`. In 95 % of the cases the printed number is within `margin95`.
    `sd` is that of the unbiased estimates.
    """

    level: str
    query: str
    least: int
    most: int | None
    cells: int
    bias: float
    bias_error: float
    rmse: float
    margin95: int
    sd: float


@dataclass(frozen=True)
class TableErrors:
    """What replicates tell about a whole table."""

    errors: tuple[TableError, ...]
    replicates: int
    units: int
    """The units that were made again."""
    all_units: int
    _zeros: Mapping[tuple[int, str], Integers] = field(default_factory=dict, repr=False, compare=False)
    """By kind of unit and query: how often the estimate of a zero was how large, in steps."""
    _sizes: Mapping[tuple[str, str, int], Integers] = field(default_factory=dict, repr=False, compare=False)
    """By level, query and least count: how often an error was how large."""

    @classmethod
    def joined(cls, some: Sequence[TableErrors]) -> TableErrors:
        """Return the errors of several tables of the same units, weighted by their cells."""
        parts: dict[tuple[str, str, int], list[TableError]] = {}
        for errors in some:
            for error in errors.errors:
                parts.setdefault((error.level, error.query, error.least), []).append(error)
        levels = list(dict.fromkeys(line.level for each in some for line in each.errors))
        queries = list(dict.fromkeys(line.query for each in some for line in each.errors))
        keys = sorted(parts, key=lambda key: (levels.index(key[0]), queries.index(key[1]), key[2]))
        sizes: dict[tuple[str, str, int], Integers] = {}
        for errors in some:
            for key, seen in errors._sizes.items():
                sizes[key] = _added(sizes.get(key, seen[:0]), seen)
        return cls(
            tuple(_joined(parts[key], sizes[key]) for key in keys),
            sum(each.replicates for each in some),
            some[0].units,
            some[0].all_units,
            _sizes=sizes,
        )

    def zero_bound(self, kind: int, query: str, level: float) -> float:
        """Return how many standard deviations the estimate of a zero may be, for a zero to be kept.

        It is infinite if too few zeros were seen: then the interval of the estimate is not shortened.
        """
        seen = self._zeros.get((kind, query))
        if seen is None:
            return np.inf
        many = int(seen.sum())
        least = int(np.ceil(level * (many + 1)))
        if least > many:
            return np.inf
        bound = int(np.searchsorted(np.cumsum(seen), least))
        return np.inf if bound == len(seen) - 1 else bound * STEP

    def ends(
        self,
        kind: Integers,
        query: str,
        level: float,
        printed: Integers,
        estimate: tuple[Floats, Floats],
        ends: tuple[Floats, Floats],
    ) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of printed numbers; rows are units of these kinds.

        `estimate` are the estimates and their standard deviations, `ends` those of their intervals.
        """
        (values, deviations), (lower, upper) = estimate, ends
        bound = np.array(
            [self.zero_bound(number, query, level) for number in range(int(kind.max(initial=0)) + 1)]
        )
        with np.errstate(invalid="ignore"):
            not_zero = (lower == 0.0) & (deviations > 0.0) & (values > bound[kind][:, None] * deviations)
        lower = np.where(not_zero, 1.0, lower)
        known = printed >= 0
        return (
            np.where(known, np.minimum(lower, printed), np.nan),
            np.where(known, np.maximum(np.maximum(upper, lower), printed), np.nan),
        )


def _added(first: Integers, second: Integers) -> Integers:
    """Add two histograms."""
    total = np.zeros(max(len(first), len(second)), dtype=np.int64)
    total[: len(first)] += first
    total[: len(second)] += second
    return total


def _margin(sizes: Integers) -> int:
    """Return the size that 95 % of the errors do not exceed."""
    within = np.cumsum(sizes)
    return int(np.searchsorted(within, 0.95 * within[-1]))


def _joined(some: Sequence[TableError], sizes: Integers) -> TableError:
    cells = sum(table_error.cells for table_error in some)

    def mean(values: Sequence[float]) -> float:
        return sum(table_error.cells * value for table_error, value in zip(some, values, strict=True)) / cells

    first = some[0]
    return TableError(
        first.level,
        first.query,
        first.least,
        first.most,
        cells,
        mean([table_error.bias for table_error in some]),
        mean([table_error.cells * table_error.bias_error**2 for table_error in some]) ** 0.5 / cells**0.5,
        mean([table_error.rmse**2 for table_error in some]) ** 0.5,
        _margin(sizes),
        mean([table_error.sd**2 for table_error in some]) ** 0.5,
    )


Make = Callable[[Estimates, Integers], WholeRows]
"""Makes the whole tables of the estimates of these units."""


def table_errors(
    estimates: Estimates,
    table: WholeRows,
    make: Make,
    queries: Sequence[str],
    *,
    replicates: int | None = None,
    source: Entropy | None = None,
    sample: tuple[Integers, NDArray[np.bool_]] | None = None,
) -> TableErrors:
    """Make the table again from noise drawn anew, and return its errors.

    Without `replicates` they are `REPLICATES`, or fewer if those would take much longer than `SECONDS`.
    `sample` are units, in whole families from the top down, and which of them have children that are left
    out; by default those that `sampled_units` finds.

    >>> from discreet.estimation.estimates import Measurements
    >>> from discreet.estimation.whole.tables import WholeTables
    >>> from discreet.noise import DiscreteGaussian
    >>> noisy = {"sex": (np.array([0]), np.array([[60, -2, -1]]))}
    >>> tree = Tree(np.array([-1]), np.array([0]), (0,), ("Area",))
    >>> given = Measurements(tree, (InMemory([{"sex": DiscreteGaussian(variance=16)}], noisy),))
    >>> estimates = Estimates(None, given)
    >>> found = table_errors(estimates, WholeTables(estimates), lambda one, _: WholeTables(one), ["sex"])
    >>> [(one.least, one.cells, one.sd) for one in found.errors]
    [(0, 2, 4.0), (10, 1, 4.0)]
    """
    if replicates is not None and not 2 <= replicates <= MOST_REPLICATES:
        raise InputError(f"replicates is {replicates}; at most {MOST_REPLICATES} are possible")
    if sample is None:
        cells = sum(estimates.model.projection(query).cells for query in queries)
        sample = sampled_units(estimates.given.tree, cells)
    if replicates is None:
        replicates = max(2, min(REPLICATES, int(SECONDS / replicate_work(estimates, table, sample[0]))))
    return _errors(_Sample(estimates, table, *sample), make, queries, replicates, source)


def _errors(
    sample: _Sample, make: Make, queries: Sequence[str], replicates: int, source: Entropy | None
) -> TableErrors:
    estimates = sample.estimates
    counters = [_Counter(sample, query) for query in queries]
    every = np.arange(len(sample.units))
    for _ in range(replicates):
        again = sample.drawn(source)
        made, again_at = make(again, sample.units), again.at()
        for counter in counters:
            counter.add(made.rows(counter.query, every), again_at.values(counter.query))
    levels = estimates.given.tree.levels
    lines = [line for counter in counters for line in counter.lines(levels)]
    kinds = dict.fromkeys(sample.tree.kind.tolist())  # from the top down
    order = {_level(levels, kind): number for number, kind in enumerate(kinds)}
    lines.sort(
        key=lambda table_error: (
            order[table_error.level],
            queries.index(table_error.query),
            table_error.least,
        )
    )
    zeros = {(kind, tally.query): seen for tally in counters for kind, seen in tally.zeros.items()}
    sizes = {
        (line.level, line.query, line.least): seen
        for counter in counters
        for line, seen in zip(counter.lines(levels), counter.sizes, strict=True)
    }
    return TableErrors(tuple(lines), replicates, len(sample.units), estimates.given.size, zeros, sizes)


def _level(levels: Sequence[str], kind: int) -> str:
    return levels[kind] if kind < len(levels) else str(kind)


class _Counter:
    """The errors of one query so far, by kind of unit and size of the cell."""

    def __init__(self, sample: _Sample, query: str) -> None:
        self.query = query
        estimates, units = sample.estimates, sample.units
        self.truth = sample.table.rows(query, units)
        position = estimates.view.variances(query, np.arange(estimates.shape.size))
        self.deviations = np.sqrt(position)[estimates.node[units]][
            :, estimates.model.projection(query).classes
        ]
        kind = np.broadcast_to(sample.tree.kind[:, None], self.truth.shape)
        lost = estimates.view.undetermined(query, np.arange(estimates.shape.size))
        unknown = lost[estimates.node[units]][:, estimates.model.projection(query).classes]
        self.open = (self.truth >= 0) & (self.deviations > 0.0) & ~unknown
        size = np.searchsorted(_SIZES, self.truth[self.open], side="right") - 1
        self.codes, self.of = np.unique(kind[self.open] * len(_SIZES) + size, return_inverse=True)
        self.cells = np.bincount(self.of, minlength=len(self.codes))
        self.variance = np.bincount(self.of, self.deviations[self.open] ** 2) if self.of.size else np.zeros(0)
        self.means: list[Floats] = []
        self.squares = np.zeros(len(self.codes))
        self.sizes: list[Integers] = [np.zeros(1, dtype=np.int64) for _ in self.codes]
        self.kinds = kind
        self.zeros: dict[int, Integers] = {}

    def add(self, made: Integers, estimate: Floats) -> None:
        """Add a replicate: the table made again, and the estimates that it was made of."""
        error = (made - self.truth)[self.open]
        self.means.append(np.bincount(self.of, error, len(self.codes)) / self.cells)
        self.squares += np.bincount(self.of, error.astype(np.float64) ** 2, len(self.codes))
        for number in range(len(self.codes)):
            seen = np.bincount(np.abs(error[self.of == number]))
            self.sizes[number] = _added(self.sizes[number], seen)
        zero = self.open & (self.truth == 0)
        far = np.where(made[zero] == 0, 0.0, np.maximum(estimate[zero], 0.0) / self.deviations[zero])
        steps = np.ceil(np.minimum(far, FAR) / STEP - 1e-9).astype(np.int64)
        for kind in np.unique(self.kinds[zero]).tolist():
            seen = np.bincount(steps[self.kinds[zero] == kind], minlength=int(FAR / STEP) + 1)
            self.zeros[kind] = self.zeros.get(kind, 0) + seen

    def lines(self, levels: Sequence[str]) -> list[TableError]:
        """Return what was found, a line for each kind of unit and size."""
        if not self.codes.size:
            return []
        means, many = np.stack(self.means), len(self.means)
        lines = []
        for number, code in enumerate(self.codes.tolist()):
            kind, size = divmod(code, len(_SIZES))
            least = int(_SIZES[size])
            lines.append(
                TableError(
                    _level(levels, kind),
                    self.query,
                    least,
                    int(_SIZES[size + 1]) - 1 if size + 1 < len(_SIZES) else None,
                    int(self.cells[number]),
                    float(means[:, number].mean()),
                    float(means[:, number].std(ddof=1) / many**0.5),
                    float(self.squares[number] / (many * self.cells[number])) ** 0.5,
                    _margin(self.sizes[number]),
                    float(self.variance[number] / self.cells[number]) ** 0.5,
                )
            )
        return lines


class _Sample:
    """Whole families from the top down, and what their measurements would be if the table were true."""

    def __init__(
        self, estimates: Estimates, table: WholeRows, units: Integers, closed: NDArray[np.bool_]
    ) -> None:
        self.estimates, self.table, self.units = estimates, table, units
        given = estimates.given
        at = np.full(given.size + 1, -1, dtype=np.int64)
        at[self.units] = np.arange(len(self.units))
        parent, kind = at[given.tree.parent[self.units]], given.tree.kind[self.units]
        starts = tuple(int(start) for start in np.searchsorted(self.units, given.tree.starts))
        starts = tuple(start for start in dict.fromkeys(starts) if start < len(self.units))
        self.tree = Tree(parent, kind, starts, given.tree.levels)
        self.exact: dict[str, Rows] = {}
        for query, (units, rows) in given.exact.items():
            inside = at[units] >= 0
            if inside.any():
                self.exact[query] = at[units][inside], rows[inside]
        self._centre: dict[str, Integers] = {}
        for name in dict.fromkeys(name for source in given.sources for name in source.cells):
            counts = np.maximum(table.rows(given.query_of(name), self.units), 0)
            piece = given.pieces.get(name)
            self._centre[name] = counts if piece is None else counts[:, list(piece.cells)]
        self._closed = np.flatnonzero(closed)
        self._below = self._sums() if self._closed.size else None

    def _sums(self) -> list[tuple[Floats, Floats]]:
        """Return by component the sums of the children that are left out, and roots of their covariances."""
        estimates, units = self.estimates, self.units[self._closed]
        model, attributes = estimates.model, estimates.model.attributes
        queries = model.queries
        if attributes is not None:
            queries = tuple(attributes.detailed(variable) for variable in attributes.variables)
        sums: ByComponent = [
            np.zeros((len(units), component.size, component.copies)) for component in model.components
        ]
        for query in queries:
            rows = np.maximum(self.table.rows(query, units), 0)
            for total, part in zip(sums, model.projection(query).collect(rows), strict=True):
                total += part
        shape, nodes = estimates.shape, estimates.node[units]
        below = []
        for total, solution in zip(sums, estimates.solutions, strict=True):
            spread = np.zeros_like(solution.V)
            linked = np.flatnonzero(shape.parent >= 0)
            np.add.at(spread, shape.parent[linked], solution.V[linked] * shape.count[linked, None, None])
            values, vectors = np.linalg.eigh(spread[nodes])
            below.append((total, vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]))
        return below

    def drawn(self, source: Entropy | None) -> Estimates:
        """Return the estimates from noise drawn anew around the table."""
        estimates = self.estimates
        sources: tuple[NoisySource, ...] = tuple(
            InMemory(noisy_source.laws, self._measured(noisy_source, source))
            for noisy_source in estimates.given.sources
        )
        below: ByComponent | None = None
        if self._below is not None:
            seed = np.zeros(16, dtype=np.uint8)
            (SystemEntropy() if source is None else source).fill(seed)
            normal = np.random.default_rng(seed.tolist()).normal
            below = []
            for total, roots in self._below:
                every = np.zeros((len(self.units), *total.shape[1:]))
                every[self._closed] = total + roots @ normal(size=total.shape)
                below.append(every)
        return estimates.redrawn(self.units, self.tree, sources, self.exact, below)

    def _measured(self, noisy_source: NoisySource, source: Entropy | None) -> dict[str, Rows]:
        measured: dict[str, Rows] = {}
        for query in noisy_source.cells:
            who = np.flatnonzero([query in noisy_source.laws[kind] for kind in self.tree.kind.tolist()])
            rows: Numbers = self._centre[query][who].astype(np.float64)
            for kind in np.unique(self.tree.kind[who]).tolist():
                mine = np.flatnonzero(self.tree.kind[who] == kind)
                rows[mine] += sample_errors(
                    noisy_source.laws[kind][query], (mine.size, rows.shape[1]), source
                )
            if who.size:
                measured[query] = who, rows
        return measured


def replicate_work(estimates: Estimates, table: WholeRows, units: Integers) -> float:
    """Return about how many seconds one replicate of the table takes in a sample of units.

    A family of n areas takes time in proportion to n s^2 if s cells of its parent are not empty, and an area
    without a parent to s^3; if it has more than `_MANY_PEOPLE`, s is all its cells. The factors are as
    measured, within a factor of 3, for 1 to 1,000 areas and 20 to 2,016 cells.
    """
    tree, model = estimates.given.tree, estimates.model
    queries = model.queries
    if model.attributes is not None:
        queries = (model.attributes.detailed(model.attributes.variables[0]),)
    filled, people = np.zeros((2, tree.size))
    for query in queries:
        rows = np.maximum(table.rows(query, units), 0)
        filled[units] += (rows > 0).sum(axis=1)
        people[units] = np.maximum(people[units], rows.sum(axis=1))
    parents, many = np.unique(tree.parent[units], return_counts=True)
    below = parents >= 0
    families = 0.01 + 4e-7 * many[below] * filled[parents[below]] ** 2
    tops = units[tree.parent[units] < 0]
    every = sum(model.projection(query).cells for query in queries)
    cells = np.where(people[tops] > _MANY_PEOPLE, every, filled[tops])
    return float(families.sum() + (0.01 + 5e-9 * cells**3).sum())


def sampled_units(tree: Tree, cells: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Return whole families from the top down, and which of their units have children that are left out.

    At each depth families are taken evenly over those whose parents were, until the units of `cells` cells
    each have `MOST_NUMBERS` numbers; at least two.

    >>> tree = Tree(np.array([-1, 0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2, 2]), (0, 1, 3))
    >>> sampled_units(tree, 4)[0].tolist()
    [0, 1, 2, 3, 4, 5]
    """
    chosen = [np.arange(part.start, part.stop) for part in tree.depths[:1]]
    most = max(MOST_NUMBERS // max(cells, 1), 1)
    if len(chosen[0]) > most:  # units without a parent
        chosen = [chosen[0][np.linspace(0, len(chosen[0]) - 1, max(most, 2)).astype(np.int64)]]
    closed = []
    for part in tree.depths[1:]:
        above = tree.parent[part]
        parents, begin, many = np.unique(above, return_index=True, return_counts=True)
        mine = np.flatnonzero(np.isin(parents, chosen[-1]))
        # a spread order: every second of the families, then those between, and so on
        order = mine[np.argsort((np.arange(len(mine)) * 0.6180339887498949) % 1.0, kind="stable")]
        kept = order[: max(2, int(np.searchsorted(np.cumsum(many[order]), most, side="right")))]
        closed.append(parents[np.setdiff1d(mine, kept)])
        kept = np.sort(kept)
        families = [
            np.arange(begin[family], begin[family] + many[family]) + part.start for family in kept.tolist()
        ]
        chosen.append(np.concatenate(families) if families else np.zeros(0, dtype=np.int64))
    units = np.concatenate(chosen)
    return units, np.isin(units, np.concatenate([*closed, np.zeros(0, dtype=np.int64)]))
