"""From the top down: the whole cells of every unit, family by family, given those of its parent.

A unit without a parent has the non-negative cells of least squares given all measurements at and below it,
rounded. The children of a unit share out its cells: their own are those of least squares given the unit's,
each child with the information of its whole subtree (`information`), within the limits of each (`limits`),
rounded so that a nested chain of tables stays within one of its sums. What is zero in the parent is zero in
the children, so a family has as many cells as its parent has non-zero ones.

What comes out for the units below a unit depends on that unit's cells and on the measurements below it, and
on nothing else: subtrees may be settled in any order, by any process. Equal fractional parts are the rule,
not the exception: measurements are whole numbers, and siblings alike are all shifted by the same amount. If
names broke the ties, the first in the alphabet would always win. So ties are broken by a fixed hash of the
positions of unit and cell in the whole tree and of the parent's number: nobody is favoured, and the same
measurements still give the same table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers
from discreet.errors import InputError
from discreet.estimation.estimates import PIECE, Estimates
from discreet.estimation.whole.alternating import nearest_columns
from discreet.estimation.whole.contradiction import ContradictionError
from discreet.estimation.whole.family import UNBOUNDED, Family, Limits
from discreet.estimation.whole.information import Information, Knowledge, Known
from discreet.estimation.whole.joint_limits import limited_below, settle_together
from discreet.estimation.whole.limits import Bounding, Limited
from discreet.estimation.whole.minimum import solve_family
from discreet.estimation.whole.root_cells import STEPS, RootSolution, solve_root_cells
from discreet.estimation.whole.rounding import round_family
from discreet.estimation.whole.sparse import Row, WholeCells
from discreet.estimation.whole.stages import (
    CoarseTable,
    StagedUnits,
    coarse_table,
    fill_groups,
    share_groups,
)
from discreet.estimation.whole.summary import SubtreeSummary, summarised
from discreet.estimation.whole.totals import with_totals

FEW = 500
"""Cells of a unit without a parent of which all pairs are looked at."""
_MOST_PAIRS = 4000
"""Cells in play of such a unit of which all pairs are looked at, for the last digits of the solution."""
MOST_AT_ONCE = 1000
"""Cells of a family that are settled in one stage; more are in two (see `stages`), if there are that many."""
_FIRST_STEPS = 200
"""Steps after which it is clear of most groups of a coarse table whether they are empty."""
_FLAT = 1e-3
"""Gain in the objective, for each person moved into an empty group, that is none."""
_VAGUE = 1e-9
"""The information, relative to a sibling's, that a unit counts as having which has none."""

Settled = Mapping[int, Integers]
"""The atoms of units that were settled together (see `together`)."""


class Descent:
    """The pass from the top down for the detailed cells of one variable, or for the cells of one query.

    `positions` are the places of the units in the whole tree, if the estimates are of a subtree, and `lost`
    says which of them no measurement determines, of the subtree or of others. `summaries` are of units
    without children here, whose subtrees are elsewhere.

    >>> from discreet.budget import Attributes
    >>> from discreet.estimation.estimates import InMemory, Measurements
    >>> from discreet.areas.tree import Tree
    >>> from discreet.noise import DiscreteGaussian
    >>> tree = Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1))
    >>> noisy = {"detailed": (np.arange(3), np.array([[9, -1], [7, 1], [3, -3]]))}
    >>> given = Measurements(tree, (InMemory([{"detailed": DiscreteGaussian(variance=4)}] * 2, noisy),))
    >>> descent = Descent(Estimates(Attributes({"sex": ["f", "m"]}), given))
    >>> top = descent.top()
    >>> [(units.tolist(), cells.cell.tolist(), cells.count.tolist()) for units, cells in
    ...     descent.below(0, top.row(0))]
    [([1, 2], [0, 0], [6, 2])]
    """

    def __init__(
        self,
        estimates: Estimates,
        *,
        bounds: Iterable[Bounding] = (),
        variable: int = 0,
        query: str | None = None,
        positions: Integers | None = None,
        lost: NDArray[np.bool_] | None = None,
        summaries: Mapping[int, SubtreeSummary] | None = None,
    ) -> None:
        self.estimates, self.tree = estimates, estimates.tree
        self.known = Information(estimates, variable, query, summaries)
        self.cells = self.known.cells
        limits = self.known.limits(bounds)
        tables = [limit.label for limit in limits]
        for unit, summary in (summaries or {}).items():
            limits += summary.at(unit)
        self.limited = Limited(self.tree, self.cells, limits, self.known.impossible())
        self.positions = np.arange(self.tree.size) if positions is None else positions
        self.coarse = coarse_table(self.known, self.limited) if query is None else None
        self.chain = [] if estimates.model.attributes is None else self._chain(tables)
        parent = self.tree.parent
        begin = np.flatnonzero(np.diff(parent, prepend=-2))
        ends = np.append(begin[1:], len(parent))
        linked = parent[begin] >= 0
        self._first, self._last = (np.zeros(self.tree.size, dtype=np.int64) for _ in range(2))
        self._first[parent[begin][linked]] = begin[linked]
        self._last[parent[begin][linked]] = ends[linked]
        self.lost = self._undetermined() if lost is None else lost
        """The units whose cells no measurement determines; they and their parents are not tied."""
        untied = np.zeros(self.tree.size + 1, dtype=bool)
        untied[parent[self.lost]] = True
        self._untied = untied[:-1]

    def _undetermined(self) -> NDArray[np.bool_]:
        if self.known.query is None:
            return np.zeros(self.tree.size, dtype=bool)
        estimates = self.estimates
        unknown = estimates.view.undetermined(self.known.query, np.arange(estimates.shape.size))
        lost: NDArray[np.bool_] = np.asarray(unknown.any(axis=1))[estimates.node]
        return lost

    def _chain(self, tables: Sequence[Integers]) -> list[Integers]:
        """Return tables from the total to the finest, each a refinement of the one before: those that limit
        units first, then those of the release, each coarsest first."""
        every = bool(self.limited.possible.all())
        limiting = [(label, int(label.max()) + 1) for label in tables if every and label.min() >= 0]
        queries = [self.known.table(query) for query in self.estimates.model.queries]
        measured = [label for label in queries if label is not None and label.min() >= 0]
        asked = [(label, int(label.max()) + 1) for label in measured]
        chain = [np.zeros(self.cells, dtype=np.int64)]
        for some in (limiting, asked):
            for label, groups in sorted(some, key=lambda pair: pair[1]):
                if groups <= int(chain[-1].max()) + 1 or groups == self.cells:
                    continue
                coarse = np.zeros(groups, dtype=np.int64)
                coarse[label] = chain[-1]
                if np.array_equal(coarse[label], chain[-1]):  # each group lies within one
                    chain.append(label)
        return chain

    # -- the top ---------------------------------------------------------------------------------------------

    def top(self) -> WholeCells:
        """Return the whole cells of the units without a parent."""
        top = np.flatnonzero(self.tree.parent < 0)
        return WholeCells.join([self._alone(int(unit)) for unit in top])

    def _alone(self, unit: int) -> WholeCells:
        """Return the whole cells of a unit that is not tied to a parent, allowing for what is below it."""
        who = np.array([unit])
        if self.lost[unit]:
            return WholeCells.of(np.zeros((1, 1), dtype=np.int64))
        if self._is_staged(who, self.cells):
            return self._alone_in_stages(who)
        known = self.known.read(slice(unit, unit + 1))
        every = np.flatnonzero(self.limited.possible)
        support, nearest, is_tangled = every, None, self.limited.is_tangled[unit]
        if len(support) > FEW and self.known.query is None:
            wide = self._wide(unit)
            support = wide.in_play()
            if len(support) > _MOST_PAIRS:
                nearest = wide.x[None, support]
        with suppress(ContradictionError):
            cells = self._shared_out(who, None, support, known, {}, nearest)
            if not is_tangled or self._atoms_below(unit, self._sums(cells)[0]) is not None:
                return cells
        return self._shared_out(who, None, every, known, self._together(unit, None) if is_tangled else {})

    def _wide(self, unit: int) -> RootSolution:
        """Return the cells of a unit that has too many to look at all pairs."""
        J, h = self.known.of_components(unit)
        tables = self._limiting(np.array([unit]), slice(None))
        return solve_root_cells(self.known.projection, J, h, self.limited.possible, tables)

    def _limiting(self, who: Integers, cells: Integers | slice) -> list[tuple[Integers, Floats, Floats]]:
        """Return the groups of some cells and their limits in one unit, for each table that limits it."""
        if not self.limited.is_any:
            return []
        tables = [(label[cells], low[0], high[0]) for _, label, low, high in self.limited.of_tables(who)]
        lower, upper = self.limited.of_atoms(who)
        return [*tables, (self.limited.atoms[cells], lower[0], upper[0])]

    def _is_staged(self, units: Integers, cells: int) -> bool:
        """Whether units are settled in two stages."""
        if self.coarse is None or cells <= MOST_AT_ONCE or self.limited.is_tangled[units].any():
            return False
        return bool(self.known.has_children(units).all()) or not self.known.is_crown

    def _alone_in_stages(self, who: Integers) -> WholeCells:
        """Return the whole cells of a unit without a parent: its coarse table, then the cells."""
        table = self.coarse
        assert table is not None
        staged = StagedUnits(self.known, table, who, np.flatnonzero(self.limited.possible))
        possible = self.limited.possible[table.first]
        tables = self._limiting(who, table.first)
        if not tables:
            total = max(0.0, np.rint(staged.center.sum()))
            tables = [(np.zeros(table.groups, dtype=np.int64), np.array([total]), np.array([total]))]
        J, h = staged.only()
        most = STEPS if self.limited.is_any else _FIRST_STEPS
        wide = solve_root_cells(table.projection, J, h, possible, tables, np.sqrt(table.size), most)
        groups = np.flatnonzero(wide.x > 0)
        if not groups.size:
            return WholeCells.of(np.zeros((1, 1), dtype=np.int64))
        while True:
            family = self._problem(who, None, table.first[groups], staged.coarse(groups), {})
            if not family.limits:
                label = np.zeros(len(groups), dtype=np.int64)
                exact = np.full((1, 1), int(tables[0][1][0]))
                family = replace(
                    family, limits=(Limits("total", label, np.zeros(1, np.int64), exact, exact),)
                )
            x = solve_family(family).x
            gradient = staged.gradient(groups, x[0])
            level = gradient[groups] @ x[0] / x.sum() if x.any() else 0.0
            missing = np.setdiff1d(np.flatnonzero(possible & (gradient < level - _FLAT)), groups)
            if not missing.size or self.limited.is_any:
                break  # with a total alone, no group outside would lower the objective
            groups = np.union1d(groups, missing)
        cells = table.first[groups]
        above, inside = self._chain_by_stage(table)
        number = np.zeros(1, dtype=np.int64)
        ties = _hashed(self.positions[who][:, None], cells, number)
        sums = np.zeros(table.groups, dtype=np.int64)
        sums[groups] = round_family(x, family, [label[cells] for label in above], ties)[0]
        return fill_groups(staged, table, sums, inside, _hashed(self.positions[who], staged.support, number))

    def _in_stages(self, units: Integers, own: Row) -> WholeCells:
        """Return the whole cells of the children of a unit: their coarse tables, then the cells."""
        table = self.coarse
        assert table is not None
        support, counts = own
        staged = StagedUnits(self.known, table, units, support)
        groups, of = np.unique(table.label[support], return_inverse=True)
        total = np.bincount(of.ravel(), counts).astype(np.int64)
        cells = table.first[groups]
        ties = _hashed(self.positions[units][:, None], cells, total)
        family = with_totals(self._problem(units, total, cells, staged.coarse(groups), {}), ties)
        above, inside = self._chain_by_stage(table)
        sums = np.zeros((len(units), table.groups), dtype=np.int64)
        x = solve_family(family).x
        sums[:, groups] = round_family(x, family, [label[cells] for label in above], ties)
        ties = _hashed(self.positions[units][:, None], support, counts)
        return WholeCells.of(share_groups(staged, table, counts, sums, inside, ties), support)

    def _chain_by_stage(self, table: CoarseTable) -> tuple[list[Integers], list[Integers]]:
        """Return the tables of the chain that are sums of the coarse table, and the others."""
        is_sum = [np.array_equal(label[table.first][table.label], label) for label in self.chain]
        above = [label for label, is_one in zip(self.chain, is_sum, strict=True) if is_one]
        return above, [label for label, is_one in zip(self.chain, is_sum, strict=True) if not is_one]

    def summary(self, unit: int) -> SubtreeSummary:
        """Return all that the units above a unit need to know of it and of what is below it."""
        return summarised(self.estimates, unit, self.limited.summary(unit))

    # -- below a unit ----------------------------------------------------------------------------------------

    def family(self, unit: int, own: Row) -> tuple[Integers, WholeCells]:
        """Return the children of a unit and their whole cells, given those of the unit."""
        return next(self._families([(unit, own)]))

    def below(
        self, unit: int, own: Row, *, depths: int | None = None
    ) -> Iterator[tuple[Integers, WholeCells]]:
        """Yield all units below a unit, or those of so many depths, with their whole cells, family by family,
        parents first."""
        level = [(unit, own)] if self._last[unit] else []
        depth = 0
        while level and depth != depths:
            depth += 1
            further = []
            for units, cells in self._families(level):
                yield units, cells
                further += [(int(units[k]), cells.row(int(k))) for k in np.flatnonzero(self._last[units])]
            level = further

    def _families(self, parents: Sequence[tuple[int, Row]]) -> Iterator[tuple[Integers, WholeCells]]:
        """Yield the families of units of one depth, in order; units are read many at a time."""
        step = max(1, PIECE // self.known.width)
        staged = [self._is_staged_family(*parent) for parent in parents]
        start = 0
        while start < len(parents):
            unit, own = parents[start]
            first, stop = int(self._first[unit]), start + 1
            if staged[start]:
                units = np.arange(first, self._last[unit])
                yield units, self._in_stages(units, own)
                start = stop
                continue
            while stop < len(parents) and self._last[parents[stop][0]] - first <= step and not staged[stop]:
                stop += 1
            known = self.known.read(slice(first, int(self._last[parents[stop - 1][0]])))
            for unit, own in parents[start:stop]:
                units = np.arange(self._first[unit], self._last[unit])
                yield units, self._settle(unit, units, own, known)
            start = stop

    def _is_staged_family(self, unit: int, own: Row) -> bool:
        units = np.arange(self._first[unit], self._last[unit])
        return len(units) > 1 and not self._untied[unit] and self._is_staged(units, len(own[0]))

    def _settle(self, unit: int, units: Integers, own: Row, known: Known) -> WholeCells:
        """Return the whole cells of the children of a unit, with which every unit below them has some."""
        if self._untied[unit]:
            return WholeCells.join([self._alone(int(number)) for number in units])
        support, counts = own
        if len(units) == 1:
            return WholeCells(np.array([0, len(support)]), support, counts)
        if not self.limited.is_tangled[unit]:
            return self._shared_out(units, counts, support, known, {})
        with suppress(ContradictionError):
            cells = self._shared_out(units, counts, support, known, {})
            atoms = self._sums(cells)
            tangled = np.flatnonzero(self.limited.is_tangled[units]).tolist()
            if all(self._atoms_below(int(units[k]), atoms[k]) is not None for k in tangled):
                return cells
        mine = np.bincount(self.limited.atoms[support], counts, minlength=self.limited.many)
        return self._shared_out(units, counts, support, known, self._together(unit, mine.astype(np.int64)))

    def _sums(self, cells: WholeCells) -> Integers:
        return cells.sums(self.limited.atoms, self.limited.many)

    def _atoms_below(self, unit: int, own: Integers) -> tuple[Integers, Integers] | None:
        return settle_together(self.limited, unit, own)

    def _together(self, unit: int, own: Integers | None) -> Settled:
        """Settle the atoms of all limited units below a unit, or of the unit, too, near to the estimates."""
        units = limited_below(self.limited, unit)
        if own is None:
            units = np.concatenate([[unit], units]).astype(np.int64)
        target = self._estimated_atoms(units)
        settled = settle_together(self.limited, unit, own, target)
        if settled is None:
            raise self.limited.contradiction(np.array([unit]))
        return dict(zip(settled[0].tolist(), settled[1], strict=True))

    def _estimated_atoms(self, units: Integers) -> Floats:
        target = np.zeros((len(units), self.limited.many))
        step = max(1, PIECE // self.known.width)
        inside = np.flatnonzero(self.limited.atoms >= 0)
        atoms = self.limited.atoms[inside]
        order = np.argsort(atoms, kind="stable")
        begin = np.flatnonzero(np.diff(atoms[order], prepend=-1))
        for start in range(0, len(units), step):
            part = slice(start, start + step)
            values = self.known.projection.read(self.estimates.at(units[part]).x)[:, inside]
            target[part] = np.add.reduceat(values[:, order], begin, axis=1)
        return target

    # -- one family ------------------------------------------------------------------------------------------

    def _shared_out(
        self,
        units: Integers,
        counts: Integers | None,
        support: Integers,
        known: Known,
        settled: Settled,
        nearest: Floats | None = None,
    ) -> WholeCells:
        """Return the whole cells of the children of a unit with these cells, or of a unit without parent;
        `nearest` are the cells before rounding, if they are known."""
        if not support.size:
            return WholeCells.of(np.zeros((len(units), 1), dtype=np.int64))
        number = np.zeros(len(support), dtype=np.int64) if counts is None else counts
        ties = _hashed(self.positions[units][:, None], support, number)
        if self.known.query is not None:
            return WholeCells.of(self._apart(units, counts, support, known, ties), support)
        if nearest is None:
            about = known.of(units, support)
        else:  # the matrices are not needed
            about = Knowledge(np.zeros((1, 0, 0)), np.zeros(len(units), dtype=np.int64), nearest)
        family = self._problem(units, counts, support, about, settled)
        if nearest is None:
            family = with_totals(family, ties)
        # whatever gap is left, rounding keeps every sum; replicates go the same way, and so measure its cost
        x = solve_family(family).x if nearest is None else nearest
        chain = [label[support] for label in self.chain]
        return WholeCells.of(round_family(x, family, chain, ties), support)

    def _apart(
        self, units: Integers, counts: Integers | None, support: Integers, known: Known, ties: Integers
    ) -> Integers:
        """Return the whole cells of units whose cells nothing ties: each cell is a problem of one number a
        unit, with one solution for all of them."""
        J, h = known.apart(units, support)
        lower, upper = np.zeros(J.shape), np.full(J.shape, np.inf)
        if self.limited.is_any:
            lower, upper = (side[:, self.limited.atoms[support]] for side in self.limited.of_atoms(units))
        total = None if counts is None else counts.astype(np.float64)
        if total is not None:
            upper = np.minimum(upper, total)
            if (lower.sum(axis=0) > total).any() or (upper.sum(axis=0) < total).any():
                raise self.limited.contradiction(units)
        # what no measurement at or below a unit determines takes what the others leave
        weight = np.maximum(J, _VAGUE * J.max(axis=0)) + (J.max(axis=0) == 0)
        x, _ = nearest_columns(np.where(J > 0, h / weight, 0.0), weight, lower, upper, total)
        of = np.zeros(len(units), dtype=np.int64)
        family = Family(J[:0, None], of, h, counts, _whole(lower), _whole(upper))
        return round_family(x, family, [], ties)

    def _problem(
        self,
        units: Integers,
        counts: Integers | None,
        support: Integers,
        about: Knowledge,
        settled: Settled,
    ) -> Family:
        limits: list[Limits] = []
        upper: Integers | None = None
        has = np.flatnonzero(self.limited.has(units))
        if has.size:
            some = units[has]
            atoms = self.limited.atoms[support]
            least, most = self.limited.of_atoms(some)
            if settled:
                least = most = np.array([settled[int(unit)] for unit in some]).astype(np.float64)
            elif counts is not None or len(units) == 1:
                limits += [
                    _present(name, label[support], has, low, high)
                    for name, label, low, high in self.limited.of_tables(some)
                ]
            if most.min() < np.inf:
                upper = np.full((len(units), len(support)), UNBOUNDED)
                upper[has] = _whole(most)[:, atoms]
            limits.append(_present(self.limited.name, atoms, has, least, most))
        names: Sequence[str] = ()
        if self.tree.names is not None and has.size:
            names = [self.tree.names[int(unit)].as_py() for unit in units]
        limits = [limit for limit in limits if limit.lower.shape[1]]
        return Family(about.information, about.of, about.pull, counts, None, upper, limits, names)


def _present(name: str, label: Integers, children: Integers, lower: Floats, upper: Floats) -> Limits:
    """Return the limits of the groups that have cells here; the others must be able to be empty."""
    missing = np.setdiff1d(np.arange(lower.shape[1]), label)
    if (lower[:, missing] > 0).any():
        raise InputError(f"counts that are exact or bounded are in impossible cells: those of {name}")
    groups, of = np.unique(label, return_inverse=True)
    of = of.ravel()
    if len(groups) and groups[0] < 0:
        groups, of = groups[1:], of - 1
    some = ((lower[:, groups] > 0) | (upper[:, groups] < np.inf)).any(axis=0)
    rank = np.where(some, np.cumsum(some) - 1, -1)
    of = np.where(of < 0, -1, np.append(rank, -1)[of])
    kept = groups[some]
    return Limits(name, of, children, _whole(lower[:, kept]), _whole(upper[:, kept]))


def _whole(limits: Floats) -> Integers:
    return np.where(np.isfinite(limits), limits, UNBOUNDED).astype(np.int64)


_HASH_BITS = 31


def _hashed(unit: Integers, cell: Integers, number: Integers) -> Integers:
    """Return pseudorandom bits that are a function of the three arguments (the finaliser of SplitMix64).

    >>> _hashed(np.array([[3], [4]]), np.array([0, 1]), np.array([7, 7])).shape
    (2, 2)
    """
    mixed, of_cell, of_number = np.bitwise_xor, cell.astype(np.uint64), number.astype(np.uint64)
    x = unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = mixed(x, of_cell << np.uint64(20)) * np.uint64(0xBF58476D1CE4E5B9)
    x = mixed(mixed(x, x >> np.uint64(29)), of_number)
    x = mixed(x, x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = mixed(x, x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    bits: Integers = (x >> np.uint64(64 - _HASH_BITS)).astype(np.int64)
    return bits
