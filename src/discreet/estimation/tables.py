"""Tables of non-negative whole numbers for publication, consistent across queries and levels.

Totals are settled first, from the top of the tree down; then each group of records is split along one nested
chain of queries (total, then one attribute after another, down to the detailed cells). Every step is the same
small problem: children of a unit in rows, parts of a group in columns, with whole row and column sums that
are already settled. Alternating projections (Dykstra) find the non-negative numbers with these sums nearest
to the estimates. They are then rounded to neighbouring whole numbers with the same sums: a flow problem, so a
whole solution always exists, and linear programming finds the nearest one. Every other table is a sum of the
detailed cells. Exact tables come first in the chain, so they must nest. Cells that are zero in some units may
leave no solution within the totals of a family: then its cells are distributed one by one, each among the
units where it is possible, and the totals follow.

Totals (`settle`): a top unit is its estimate rounded to the nearest whole number. Given a parent's number n,
its children start from the non-negative least-squares estimate given n,

    minimise  sum of (u - x)^2 / v   subject to   sum of u = n,  u >= bound,

and are rounded by largest remainders: all down, and the shortfall goes to the largest fractional parts, one
each. The bound is 0, or what the exact totals below require. Equal fractional parts are the rule, not the
exception: measurements are whole numbers, and siblings of equal variance are all shifted by the same amount.
If names broke the ties, the first in the alphabet would always win. So ties are broken by a fixed hash of the
positions of unit and cell and of the parent's number: nobody is favoured, and the same input still gives the
same table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release, Variable
from discreet.budget.noise_table import queries_of
from discreet.errors import DiscreetError, InputError
from discreet.estimation.cells import detailed_cells, impossible_cells, table_cells
from discreet.estimation.estimates import Estimates
from discreet.estimation.intervals import View
from discreet.estimation.model import Model, told_by_level
from discreet.estimation.tree import Floats, Integers, Numbers, Tree

STEPS = 300
CLOSE = 1e-9
BLOCK = 1 << 20
"""Numbers settled at a time."""


class WholeTables:
    """Non-negative whole numbers for every unit. With attributes every query is a sum of the same detailed
    cells; without them each query is settled over the tree separately, where it is determined."""

    def __init__(self, estimates: Estimates) -> None:
        given = estimates.given
        if given.pieces or not given.counts:
            reason = "variances that differ within a query" if given.counts else "values that are not counts"
            raise InputError(f"whole-number tables cannot be made of {reason}: leave them out")
        self._attributes = estimates.model.attributes
        if self._attributes is None:
            self._by_query = {query: _whole_query(estimates, query) for query in estimates.model.queries}
        else:
            self._cells = _whole_variables(estimates, self._attributes)

    def rows(self, query: str, units: Integers) -> Integers:
        """Return the cells of a query in some units, in the order of the attributes; -1 if not determined."""
        if self._attributes is None:
            return self._by_query[query][units]
        table = self._attributes.tabulation(query, sums=True)
        cells = self._cells[table.variable or 0]
        if cells is None:
            return np.full((len(units), table.cells), -1)
        block = cells[units].reshape(len(units), *self._attributes.sizes)
        for place, groups in enumerate(table.by_attribute):
            parts = [block.take(list(group), axis=1 + place).sum(axis=1 + place) for group in groups]
            block = np.stack(parts, axis=1 + place)
        return block.reshape(len(units), -1)

    def cells(self, units: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the detailed cells of some units that are not zero: place among the units, cell, count."""
        cells = None if self._attributes is None else self._cells[0]
        if cells is None:
            raise InputError("no measurement determines detailed cells")
        block = cells[units]
        place, cell = np.nonzero(block)
        return place, cell, block[place, cell]


def _whole_query(estimates: Estimates, query: str) -> Integers:
    """Settle one query over the tree; a family with an undetermined member is not tied to its parent."""
    parent = estimates.tree.parent
    values = estimates.values(query)
    table = np.full(values.shape, -1, dtype=np.int64)
    known = ~np.isnan(values[:, 0])
    units = np.flatnonzero(known)
    if not units.size:
        return table
    lost = np.zeros(len(parent) + 1, dtype=bool)
    lost[parent[~known]] = True
    at = np.full(len(parent) + 1, -1, dtype=np.int64)
    at[units] = np.arange(units.size)
    above = np.where(lost[parent[units]], -1, at[parent[units]])
    solution = estimates.solutions[estimates.model.queries.index(query)]
    weight = (solution.P if solution.gain is None else solution.V)[estimates.node[units], 0, 0]
    who, counts = estimates.given.exact.get(query, (np.empty(0, dtype=np.int64), None))
    held = np.zeros(units.size, dtype=bool)
    held[at[who]] = True
    step = max(1, BLOCK // units.size)
    for start in range(0, values.shape[1], step):
        cells = slice(start, start + step)
        wish = values[units, cells]
        fixed = np.zeros(wish.shape, dtype=np.int64)
        if counts is not None:
            fixed[at[who]] = counts[:, cells]
        table[units, cells] = settle(wish, above, weight, held=held, counts=fixed, first_cell=start)
    return table


def _whole_variables(estimates: Estimates, attributes: Attributes) -> list[Integers | None]:
    """Return the whole detailed cells of each thing that is added up; none where they are not determined."""
    found = []
    lost: dict[Variable, int] = {}
    for variable in attributes.variables:
        cells = estimates.values(attributes.detailed(variable))
        lost[variable] = int(np.isnan(cells).any(axis=1).sum())
        found.append(None if lost[variable] else _whole_cells(estimates, attributes, variable, cells))
    if unknown := _without_tables(attributes, estimates.model.queries, [one for one in lost if lost[one]]):
        areas = f"{lost[unknown]} area{'s' * (lost[unknown] > 1)}"
        raise InputError(
            f"whole-number tables are made of detailed cells, and no measurement determines those in {areas}"
            f"; ask for estimates without tables, or measure the query {attributes.detailed(unknown)}"
        )
    return found


def _without_tables(
    attributes: Attributes, queries: Iterable[str], unknown: Sequence[Variable]
) -> Variable | None:
    """Return what there must be tables of, and is not known in detail: counts if any were measured, or all.

    Of other sums that are not known in detail there are no tables.
    """
    plain = attributes.variables[0]
    if plain in unknown and any(attributes.variable_of(query) == plain for query in queries):
        return plain
    return unknown[-1] if len(unknown) == len(attributes.variables) else None


def _whole_cells(estimates: Estimates, attributes: Attributes, variable: Variable, cells: Floats) -> Integers:
    """Return whole detailed cells that keep exact tables and impossible cells."""
    given = estimates.given
    fixed = np.full(given.size, -1, dtype=np.int64)
    measured = {
        query: rows
        for query, rows in given.exact.items()
        if query not in given.blocks and attributes.variable_of(query) == variable
    }
    _check_nested(attributes, measured)
    exact = []
    for query, (units, rows) in measured.items():
        if rows.shape[1] == 1:
            fixed[units] = rows[:, 0]
        else:
            exact.append((detailed_cells(attributes, query), units, rows.astype(np.int64)))
    possible = np.broadcast_to(~impossible_cells(attributes), cells.shape)
    if given.blocks:
        possible = possible.copy()
        for query, block in given.blocks.items():
            if given.exact[query][1].any():  # a sum that is exact, which tables do not keep
                continue
            possible[np.ix_(given.exact[query][0], table_cells(block) >= 0)] = False
    return whole_tables(cells, attributes.sizes, estimates.tree.parent, fixed, possible, exact)


def check_whole(release: Release, tree: Tree, exact: Collection[str]) -> None:
    """Refuse a release whose measurements cannot give whole-number tables; no count is needed for this."""
    attributes = release.attributes
    if attributes is None:
        return
    for variable in attributes.variables:
        _check_nested(attributes, [query for query in exact if attributes.variable_of(query) == variable])
    shape, _ = tree.folded()
    told = told_by_level(release, tree.levels)
    model = Model(attributes, queries_of(release))
    view = View(model, shape, told, model.solve(shape, told))
    nodes = {
        variable: np.flatnonzero(
            view.undetermined(attributes.detailed(variable), np.arange(shape.size)).any(axis=1)
        )
        for variable in attributes.variables
    }
    lost = [variable for variable, some in nodes.items() if some.size]
    if unknown := _without_tables(attributes, queries_of(release), lost):
        where = ", ".join(sorted({tree.levels[shape.kind[node]] for node in nodes[unknown]}))
        raise InputError(
            f"consistent tables are made of detailed cells, which no measurement determines at {where}; ask "
            f"for no post-processing, or measure the query {attributes.detailed(unknown)}"
        )


def _check_nested(attributes: Attributes, exact: Iterable[str]) -> None:
    """Refuse exact tables that do not nest: whole tables are settled along one chain."""
    tables = [(query, detailed_cells(attributes, query)) for query in exact]
    tables.sort(key=lambda table: int(table[1].max()))
    for (coarse, one), (fine, two) in pairwise(tables):
        if len(np.unique(np.column_stack([one, two]), axis=0)) > len(np.unique(two)):
            raise InputError(
                f"whole-number tables can keep only nested tables exact; {coarse!r} and {fine!r} are not: "
                "leave the tables out, or keep one of the two"
            )


def whole_tables(
    cells: Floats,
    shape: tuple[int, ...],
    parent: Integers,
    fixed: Integers | None = None,
    possible: NDArray[np.bool_] | None = None,
    exact: Sequence[tuple[Integers, Integers, Integers]] = (),
) -> Integers:
    """Return whole detailed cells, a row for each unit, from estimates of them.

    `shape` has the number of values of each attribute, `fixed` a total to keep for each unit, or -1; cells
    that are not `possible` (in all units, or given by unit) are zero. `exact` lists tables kept exact in some
    units: the cell of the table that each detailed cell belongs to, the units, and their counts. Units come
    from the top down.

    >>> cells = np.array([[4.6, -0.3], [1.7, 0.4], [2.9, -0.7]])
    >>> whole_tables(cells, (2,), np.array([-1, 0, 0])).tolist()
    [[4, 0], [2, 0], [2, 0]]
    """
    units, many = cells.shape
    held = np.full(units, -1, dtype=np.int64) if fixed is None else fixed.copy()
    children: dict[int, list[int]] = {}
    for unit, above in enumerate(parent.tolist()):
        children.setdefault(above, []).append(unit)
    chain = _chain(exact, shape, parent, children, held)
    whole = np.zeros((units, many), dtype=np.int64)
    may = np.broadcast_to(True if possible is None else possible, cells.shape)
    if not may.all():
        may = may.copy()
        for above in sorted((one for one in children if one >= 0), reverse=True):
            may[above] &= may[children[above]].any(axis=0)
        none = ~may.any(axis=1)
        if np.any(held[none] > 0):
            raise InputError("exact counts have records in impossible cells")
        held[none] = 0
    sums, decided = cells.sum(axis=1)[:, None], np.zeros(units, dtype=bool)
    totals = settle(sums, parent, held=held >= 0, counts=np.maximum(held, 0)[:, None])[:, 0]
    for above in sorted(children):
        families = [children[above]] if above >= 0 else [[unit] for unit in children[above]]
        for family in families:
            who = np.array(family)
            own = None if above < 0 else whole[above]
            split = _split(cells[who], chain, who, totals[who], own, may[who])
            decided[who] = True
            if split is None:
                if own is None or held.max() > 0:
                    raise InputError(
                        "no whole-number tables were found that keep the zeros of some areas and add up: "
                        "leave the tables or the zeros out"
                    )
                split = _shared_out(cells[who], own, may[who])
                totals[who] = split.sum(axis=1)
                # keep what is already settled; the units below follow
                counts = np.where(decided, totals, 0)[:, None]
                totals = settle(sums, parent, held=decided | (held >= 0), counts=counts)[:, 0]
            whole[who] = split
    return whole


class _Step:
    """One step of the chain: the group of each detailed cell, and the exact counts of some units."""

    def __init__(self, label: Integers, held: NDArray[np.bool_] | None, counts: Integers | None) -> None:
        self.label, self.held, self.counts = label, held, counts


def _chain(
    exact: Sequence[tuple[Integers, Integers, Integers]],
    shape: tuple[int, ...],
    parent: Integers,
    children: dict[int, list[int]],
    totals: Integers,
) -> list[_Step]:
    """Return the partitions of the cells from exact tables to single cells, each finer than the one before.

    If a table is exact for all children of a unit it is exact for the unit too, and its total is kept.
    """
    steps: list[_Step] = []
    label = np.zeros(int(np.prod(shape)), dtype=np.int64)
    for of_cell, units, rows in sorted(exact, key=lambda table: table[2].shape[1]):
        groups = np.unique(of_cell)
        finer = np.unique(np.column_stack([label, of_cell]), axis=0)
        if len(finer) > len(groups):
            raise InputError(
                "whole-number tables can keep only nested tables exact, such as total, age, age * sex"
            )
        held = np.zeros(len(parent), dtype=bool)
        counts = np.zeros((len(parent), rows.shape[1]), dtype=np.int64)
        held[units], counts[units] = True, rows
        for above in sorted((one for one in children if one >= 0), reverse=True):
            below = children[above]
            if held[below].all():
                sums = counts[below].sum(axis=0)
                if held[above] and not np.array_equal(counts[above], sums):
                    raise InputError("exact counts contradict each other: children do not add up to a parent")
                held[above], counts[above] = True, sums
            elif held[below].any():
                raise InputError(
                    "whole-number tables can keep a table exact in all children of an area or in none"
                )
        wrong = held & (totals >= 0) & (totals != counts.sum(axis=1))
        if wrong.any():
            raise InputError("exact counts contradict each other: a table does not add up to its total")
        totals[held] = counts[held].sum(axis=1)
        label = np.unique(of_cell, return_inverse=True)[1].ravel()
        steps.append(_Step(of_cell, held, counts))
    for size, value in zip(shape, np.indices(shape), strict=True):
        finer = np.unique(label * size + value.ravel(), return_inverse=True)[1]
        if finer.max() > label.max() or not steps:
            label = finer.ravel()
            steps.append(_Step(label, None, None))
    return steps


def settle(
    wish: Floats,
    parent: Integers,
    weight: Floats | None = None,
    *,
    held: NDArray[np.bool_] | None = None,
    counts: Integers | None = None,
    first_cell: int = 0,
) -> Integers:
    """Return a whole number for each unit (row) and cell (column, numbered from `first_cell`).

    Units come from the top down, children of one parent together; `weight` are the v, `held` says which units
    take their row of `counts`.

    >>> settle(np.array([[6.8], [-1.0], [7.4]]), np.array([-1, 0, 0])).ravel().tolist()
    [7, 0, 7]
    """
    units = len(wish)
    v = np.ones(units) if weight is None else weight
    is_held = np.zeros(units, dtype=bool) if held is None else held.copy()
    bound = np.zeros(wish.shape, dtype=np.int64)
    families = _families(parent)
    if held is not None and counts is not None:
        bound[is_held] = counts[is_held]
        for nodes, begin, above in reversed(families):
            need = np.add.reduceat(bound[nodes], begin, axis=0)
            full = np.logical_and.reduceat(is_held[nodes], begin)
            fixed = is_held[above]
            short = fixed[:, None] & (need > bound[above])
            if short.any() or ((fixed & full)[:, None] & (need != bound[above])).any():
                raise InputError("exact totals contradict each other: children do not fit into their parent")
            bound[above] = np.where(fixed[:, None], bound[above], need)
            is_held[above] |= full
    number = bound.copy()
    top = np.flatnonzero((parent < 0) & ~is_held)
    number[top] = np.maximum(np.rint(wish[top]).astype(np.int64), bound[top])
    columns = np.arange(first_cell, first_cell + wish.shape[1])
    for nodes, begin, above in families:
        of = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(nodes))))
        ties = _hash(nodes[:, None], columns, number[above][of])
        spare = number[above] - np.add.reduceat(bound[nodes], begin, axis=0)
        room = np.where(is_held[nodes], 0.0, v[nodes])
        share = _project(wish[nodes] - bound[nodes], room, spare, begin, of)
        number[nodes] = bound[nodes] + _round_families(share, spare, begin, of, is_held[nodes], ties)
    return number


def _families(parent: Integers) -> list[tuple[Integers, Integers, Integers]]:
    """Return for each depth the units that have a parent, where each family begins, and the parents."""
    depth = np.zeros(len(parent), dtype=np.int64)
    linked = np.flatnonzero(parent >= 0)
    while linked.size:  # as many rounds as there are levels
        deeper = depth[parent[linked]] + 1
        if np.array_equal(deeper, depth[linked]):
            break
        depth[linked] = deeper
    families = []
    for level in range(1, int(depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(depth == level)
        begin = np.flatnonzero(np.diff(parent[nodes], prepend=-1))
        families.append((nodes, begin, parent[nodes[begin]]))
    return families


def _project(wish: Floats, weight: Floats, total: Integers, begin: Integers, of: Integers) -> Floats:
    """Return the u >= 0 nearest to `wish` that add up to `total`, squared deviations weighted by 1/weight.

    u = max(0, wish + weight t) with one t for each family. All children take part at first; those that fall
    below zero drop out, and t only decreases as they do, so none ever has to return.
    """
    active = np.broadcast_to(weight[:, None] > 0, wish.shape) & (total > 0)[of]
    while True:
        room = np.add.reduceat(np.where(active, weight[:, None], 0.0), begin, axis=0)
        miss = total - np.add.reduceat(np.where(active, wish, 0.0), begin, axis=0)
        step = np.divide(miss, room, out=np.zeros_like(miss), where=room > 0)
        share: Floats = np.where(active, wish + weight[:, None] * step[of], 0.0)
        below = share < 0.0
        if not below.any():
            return share
        active &= ~below


FINE = 1 << 20
"""Fractional parts are compared in steps of the reciprocal of this."""
HASH_BITS = 16


def _round_families(
    share: Floats, total: Integers, begin: Integers, of: Integers, held: NDArray[np.bool_], ties: Integers
) -> Integers:
    """Round the shares of each family to whole numbers that add up to its total."""
    down = np.floor(share).astype(np.int64)
    missing = total - np.add.reduceat(down, begin, axis=0)
    part = np.rint((share - down) * FINE).astype(np.int64)
    part[held] = -1
    # Sort by cell, family, descending fractional part and hash; the first ones of each family get one more.
    cells, families = share.shape[1], len(begin)
    if cells * families >= 1 << (62 - HASH_BITS - FINE.bit_length()):
        raise InputError(f"{cells * families} families of areas are more than can be rounded at once")
    family = np.arange(cells)[None, :] * families + of[:, None]
    key = (((family * (2 * FINE) + (FINE - part)) << HASH_BITS) + ties).T.ravel()
    order = np.argsort(key, kind="stable")
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    first = (np.arange(cells)[:, None] * len(share) + begin[of][None, :]).ravel()
    extra = ((rank - first) < missing[of].T.ravel()).reshape(cells, -1).T
    rounded: Integers = down + extra
    return rounded


def _hash(unit: Integers, cell: Integers, number: Integers) -> Integers:
    """Return pseudorandom bits that are a function of the three arguments (the finaliser of SplitMix64)."""
    mixed, of_cell, of_number = np.bitwise_xor, cell.astype(np.uint64), number.astype(np.uint64)
    x = unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = mixed(x, of_cell << np.uint64(20)) * np.uint64(0xBF58476D1CE4E5B9)
    x = mixed(mixed(x, x >> np.uint64(29)), of_number)
    x = mixed(x, x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = mixed(x, x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    bits: Integers = (x >> np.uint64(64 - HASH_BITS)).astype(np.int64)
    return bits


def _split(
    cells: Floats,
    chain: Sequence[_Step],
    units: Integers,
    totals: Integers,
    above: Integers | None,
    possible: NDArray[np.bool_],
) -> Integers | None:
    """Split the totals of the children of a unit along the chain, within the cells of the parent.

    Return None if the zeros leave no such tables.
    """
    rows = len(cells)
    label = np.zeros(cells.shape[1], dtype=np.int64)
    settled = totals[:, None]
    for step in chain:
        many = int(step.label.max()) + 1
        wish = _sums(cells, step.label, many)
        allowed = _sums(possible.astype(float), step.label, many) > 0
        wish = np.where(allowed, wish, -10.0 * (np.abs(wish).sum() + 100.0))
        parts = np.zeros((rows, many), dtype=np.int64)
        whole = None if above is None else _sums(above[None], step.label, many)[0].astype(np.int64)
        outer = np.zeros(many, dtype=np.int64)
        outer[step.label] = label
        if step.held is not None and step.counts is not None and step.held[units].all():
            parts = step.counts[units]
            if parts[~allowed].any():
                raise InputError("exact counts have records in impossible cells")
        else:
            for group in range(settled.shape[1]):
                if not settled[:, group].any():
                    continue
                mine = np.flatnonzero(outer == group)
                sums = settled[:, group].astype(float)
                if whole is None:
                    near = _simplex(wish[:, mine], sums)
                    for row in range(rows):
                        parts[row, mine] = _round_row(near[row], int(settled[row, group]))
                else:
                    near = _nearest(wish[:, mine], sums, whole[mine].astype(float))
                    table = _round_table(near, settled[:, group], whole[mine], allowed[:, mine])
                    if table is None:
                        return None
                    parts[:, mine] = table
        settled, label = parts, step.label
    return settled[:, label]


def _shared_out(cells: Floats, above: Integers, possible: NDArray[np.bool_]) -> Integers:
    """Distribute each cell of a unit among the children where it is possible, whatever totals result."""
    shares = np.zeros(cells.shape, dtype=np.int64)
    for cell, total in enumerate(above.tolist()):
        who = np.flatnonzero(possible[:, cell])
        if total:
            near = _simplex(cells[who, cell][None], np.array([float(total)]))[0]
            shares[who, cell] = _round_row(near, total)
    return shares


def _sums(values: Numbers, label: Integers, many: int) -> Floats:
    """Sum columns by their label."""
    sums = np.zeros((many, len(values)))
    np.add.at(sums, label, values.T)
    return sums.T


def _simplex(wish: Floats, sums: Floats) -> Floats:
    """Return the non-negative rows nearest to `wish` with these sums."""
    order = -np.sort(-wish, axis=1)
    excess = (np.cumsum(order, axis=1) - sums[:, None]) / np.arange(1, wish.shape[1] + 1)
    last = np.maximum((order > excess).sum(axis=1) - 1, 0)
    shift = excess[np.arange(len(wish)), last]
    return np.where(sums[:, None] > 0, np.maximum(wish - shift[:, None], 0.0), 0.0)


def _nearest(wish: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the non-negative table nearest to `wish` with these row and column sums (Dykstra)."""
    x, p, q = wish.copy(), np.zeros_like(wish), np.zeros_like(wish)
    for _ in range(STEPS):
        y = _simplex(x + p, rows)
        p = x + p - y
        x = _simplex((y + q).T, columns).T
        q = y + q - x
        if np.max(np.abs(x.sum(axis=1) - rows), initial=0.0) < 1e-6:
            break
    return x


def _round_row(values: Floats, total: int) -> Integers:
    """Round to whole numbers with this sum: all down, then one more for the largest fractional parts."""
    down = np.floor(values + CLOSE).astype(np.int64)
    left = total - int(down.sum())
    order = np.argsort(-(values - down), kind="stable")
    down[order[:left]] += 1
    return down


def _round_table(
    values: Floats, rows: Integers, columns: Integers, possible: NDArray[np.bool_]
) -> Integers | None:
    """Round a table to neighbouring whole numbers with the same row and column sums, zero where impossible.

    Return None if the zeros leave no table with these sums.
    """
    values = np.where(possible, values, 0.0)
    near = np.rint(values)
    values = np.where(np.abs(values - near) < 1e-6, near, values)
    down = np.floor(values).astype(np.int64)
    left_rows, left_columns = rows - down.sum(axis=1), columns - down.sum(axis=0)
    if not left_rows.any() and not left_columns.any():
        return down
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    part = values - down
    where_row, where_column = np.nonzero(np.ones_like(part))
    many = part.size
    index = np.arange(many)
    ones = np.ones(2 * many)
    matrix = coo_matrix(
        (ones, (np.concatenate([where_row, len(rows) + where_column]), np.concatenate([index, index]))),
        shape=(len(rows) + len(columns), many),
    )
    sums = np.concatenate([left_rows, left_columns]).astype(float)
    fractional = part.ravel() > 0
    for most in (np.where(fractional, 1.0, 0.0), np.where(possible.ravel(), np.inf, 0.0)):
        # try neighbouring numbers first; if an inexact fit rules them out, any numbers, as near as possible
        solution = linprog(
            1.0 - 2.0 * part.ravel(),
            A_eq=matrix.tocsr(),
            b_eq=sums,
            bounds=np.column_stack([-down.ravel() * np.isinf(most).any(), most]),
            method="highs-ds",
        )
        if solution.status == 0:
            return np.asarray(down + np.rint(solution.x).reshape(part.shape), dtype=np.int64)
    if not possible.all():
        return None
    raise DiscreetError("no whole table with these sums was found")
