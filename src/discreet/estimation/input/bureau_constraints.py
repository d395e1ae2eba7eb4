"""Constraints beside the noisy measurements of the US Census Bureau: exact counts, zeros and bounds.

A row has a sign ("=", "<=", ">=") and, in a column for each attribute, what the constraint splits it by: `*`
(nothing), `detailed`, the attribute, a recode, or a name of some values. Parts that lack these columns, or
the sign, are understood by the constraint's name. As published for 2020: `total_con` (persons of the United
States, housing units everywhere), `nurse_nva_0_con` (no minors in nursing facilities), `hhgq_total_lb_con`
and `hhgq_total_ub_con` (people by type of group quarters, from the numbers of facilities). Sources: the
Bureau's code, programs/constraints in DAS_2020_Redistricting_Production_Code, and the layout of its files as
read by the package noisyvalue (its module census).

What is bounded by 0 above has no record, so that all of its detailed cells are zero, there and in every area
within; what has equal bounds is exact; the other bounds cut intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.areas.output import ArrowTable, arrow
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Tabulation
from discreet.budget.attributes import Factor
from discreet.errors import DiscreetError, InputError
from discreet.estimation.input.bounds import Bounds
from discreet.estimation.input.published import Exact

_SIGNS = {"=": "=", "==": "=", "eq": "=", "<=": "<=", "le": "<=", ">=": ">=", "ge": ">="}
_VALUES = {"gqNursingTotal": ("hhgq", (3,)), "nonvoting": ("votingage", (0,)), "voting": ("votingage", (1,))}
"""Names of some values of an attribute, by their places (Schema_PL94 of the Bureau's code)."""
_NAMED = {"nurse_nva_0": {"hhgq": "gqNursingTotal", "votingage": "nonvoting"}, "tot": {}}
"""What constraints split, where the name alone says it."""
_ENDINGS = ("_con", "_lb", "_ub", "_total")


@dataclass
class _Found:
    """What is known of one table: units and rows of cells, by sign."""

    name: str
    table: Tabulation
    rows: dict[str, list[tuple[Integers, Floats]]] = field(default_factory=dict)


class Constraints:
    """Constraints, gathered from all levels."""

    def __init__(
        self, attributes: Attributes, queries: Sequence[str], query_of: Callable[[str], str | None]
    ) -> None:
        self._attributes, self._query_of = attributes, query_of
        self._queries = {attributes.tabulation(query).by_attribute: query for query in queries}
        self._found: dict[object, _Found] = {}
        self._tables: dict[tuple[str, ...], Tabulation | None] = {}
        self.left: Counter[str] = Counter()

    def add(self, batch: ArrowTable, unit: Integers, level: str) -> None:
        """Add a batch of rows of one level; `unit` has the unit of each, or -1."""
        known = batch.schema.names
        axes = [name for name in self._attributes.names if name in known]
        if len(axes) < len(self._attributes.names):
            axes = []
        texts = [batch.column(name).to_pylist() for name in ("query_name", *axes)]
        signs = batch.column("sign").to_pylist() if "sign" in known else [None] * batch.num_rows
        keys: dict[tuple[str, ...], list[int]] = {}
        for row, (sign, name, *specs) in enumerate(zip(signs, *texts, strict=True)):
            if unit[row] >= 0:
                keys.setdefault((self._sign(sign, str(name)), str(name), *map(str, specs)), []).append(row)
        for (sign, name, *specs), rows in keys.items():
            table = self._table(name, dict(zip(axes, specs, strict=True)) if axes else None)
            if table is None or sign not in _SIGNS.values():
                self.left[f"constraint {name!r} ({sign}) at {level}"] += len(rows)
                continue
            values = _values(batch, np.array(rows), table, name, level)
            constraint = self._found.setdefault(table.by_attribute, _Found(name, table))
            constraint.rows.setdefault(sign, []).append((unit[rows], values))

    @staticmethod
    def _sign(sign: str | None, name: str) -> str:
        """Return the sign, which some parts leave to the name."""
        if sign:
            return _SIGNS.get(sign, sign)
        words = name.split("_")
        return ">=" if "lb" in words else "<=" if "ub" in words else "="

    def _table(self, name: str, specs: Mapping[str, str] | None) -> Tabulation | None:
        """Return the table that a constraint is about, or None if that is not understood."""
        key = (name, *(specs or {}).values())
        if key not in self._tables:
            self._tables[key] = self._named(name) if specs is None else self._split(name, specs)
        return self._tables[key]

    def _named(self, name: str) -> Tabulation | None:
        bare = name
        while True:
            if bare in _NAMED:
                return self._split(name, _NAMED[bare])
            ending = next((suffix for suffix in _ENDINGS if bare.endswith(suffix)), None)
            try:
                return self._attributes.tabulation(self._query_of(bare) or bare)
            except DiscreetError:
                if ending is None:
                    return None
            bare = bare.removesuffix(ending)

    def _split(self, name: str, specs: Mapping[str, str]) -> Tabulation | None:
        factors = []
        for number, (attribute, values) in enumerate(self._attributes.values):
            spec = specs.get(attribute, "*")
            if spec == "*":
                continue
            if spec in values:
                factors.append(Factor(number, ((values.index(spec),),), (spec,)))
            elif spec in _VALUES and _VALUES[spec][0] == attribute:
                factors.append(Factor(number, (_VALUES[spec][1],), (spec,)))
            else:
                try:
                    table = self._attributes.tabulation(attribute if spec == "detailed" else spec)
                except DiscreetError:
                    return None
                if len(table.factors) != 1 or table.factors[0].attribute != number:
                    return None
                factors.append(table.factors[0])
        if any(name not in self._attributes.names for name in specs):
            return None
        return Tabulation(name, tuple(factors), self._attributes.sizes)

    def settled(self, tree: Tree) -> tuple[Exact, dict[str, Tabulation], tuple[Bounds, ...]]:
        """Return exact counts, the tables among them that are no query, and the bounds that are left."""
        exact: Exact = {}
        blocks: dict[str, Tabulation] = {}
        bounds = []
        zeros: dict[str, tuple[Tabulation, list[Integers]]] = {}
        for constraint in self._found.values():
            units, lower, upper = _joined(constraint, tree)
            for cell, (name, block) in enumerate(self._zero_blocks(constraint.table)):
                none = units[upper[:, cell] == 0]
                if none.size:
                    zeros.setdefault(name, (block, []))[1].append(none)
            fixed = (lower == upper) & (upper > 0)
            whole = np.all(lower == upper, axis=1) & fixed.any(axis=1)
            if whole.any():
                text = f"constraint: {_name(self._attributes, constraint.table)}"
                query = self._queries.get(constraint.table.by_attribute, text)
                if query == text:
                    blocks[query] = constraint.table
                exact[query] = units[whole], lower[whole].astype(np.int64)
            for cell, (name, block) in enumerate(self._cell_blocks(constraint.table)):
                some = fixed[:, cell] & ~whole
                if some.any():
                    blocks[name] = block
                    exact[name] = units[some], lower[some][:, [cell]].astype(np.int64)
            open_rows = ((lower > 0) | np.isfinite(upper)).any(axis=1) & ~np.all(lower == upper, axis=1)
            if open_rows.any():
                bounds.append(Bounds(constraint.table, units[open_rows], lower[open_rows], upper[open_rows]))
        for name, (block, some) in zeros.items():
            inside = np.zeros(tree.size + 1, dtype=bool)
            inside[np.concatenate(some)] = True
            for part in tree.depths[1:]:
                inside[part] |= inside[tree.parent[part]]
            who = np.flatnonzero(inside[:-1])
            blocks[name] = block
            # one zero for all of them: there may be billions
            exact[name] = who, np.broadcast_to(np.zeros((1, 1), dtype=np.int64), (len(who), block.cells))
        return exact, blocks, tuple(bounds)

    def _zero_blocks(self, table: Tabulation) -> Iterator[tuple[str, Tabulation]]:
        """Yield for each cell of a table all of its detailed cells."""
        for groups in _cells(table):
            chosen = {
                name: [values[rank] for rank in group]
                for (name, values), group in zip(self._attributes.values, groups, strict=True)
                if len(group) < len(values)
            }
            text = ", ".join(f"{name} {' | '.join(words)}" for name, words in chosen.items()) or "all"
            yield f"zero: {text}", self._attributes.block(chosen, name="zero")

    def _cell_blocks(self, table: Tabulation) -> Iterator[tuple[str, Tabulation]]:
        """Yield each cell of a table as a table."""
        for groups in _cells(table):
            factors = []
            for number, ((_, values), group) in enumerate(zip(self._attributes.values, groups, strict=True)):
                if len(group) < len(values):
                    factors.append(Factor(number, (group,), (" | ".join(values[rank] for rank in group),)))
            tabulation = Tabulation("constraint", tuple(factors), self._attributes.sizes)
            yield f"constraint: {_name(self._attributes, tabulation)} {next(tabulation.labels)}", tabulation


def _cells(table: Tabulation) -> Iterator[tuple[tuple[int, ...], ...]]:
    from itertools import product

    return product(*table.by_attribute)


def _name(attributes: Attributes, table: Tabulation) -> str:
    return " * ".join(attributes.names[factor.attribute] for factor in table.factors) or "total"


def _joined(constraint: _Found, tree: Tree) -> tuple[Integers, Floats, Floats]:
    """Return the units of a table, and the least and largest counts that all rows leave."""
    every = [units for parts in constraint.rows.values() for units, _ in parts]
    units = np.unique(np.concatenate(every))
    lower, upper = (
        np.zeros((len(units), constraint.table.cells)),
        np.full((len(units), constraint.table.cells), np.inf),
    )
    for sign, parts in constraint.rows.items():
        for who, values in parts:
            at = np.searchsorted(units, who)
            if sign in ("=", ">="):
                np.maximum.at(lower, at, values)
            if sign in ("=", "<="):
                np.minimum.at(upper, at, values)
    wrong = np.flatnonzero((lower > upper).any(axis=1))
    if wrong.size:
        level = tree.levels[tree.kind[units[wrong[0]]]]
        raise InputError(
            f"constraint {constraint.name!r} holds two counts in one area of {level}.parquet, or a least "
            "count above a largest one"
        )
    return units.astype(np.int64), lower, upper


def _values(batch: ArrowTable, rows: Integers, table: Tabulation, name: str, level: str) -> Floats:
    """Return the values of rows of one constraint, a row of cells for each."""
    column = batch.column("value").take(arrow().array(rows))
    if not arrow().types.is_list(column.type) and not arrow().types.is_large_list(column.type):
        raise InputError(f"constraint {name!r} in {level}.parquet has a value that is no list")
    length = arrow("compute").list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    if (length != table.cells).any():
        wrong = length[length != table.cells][0]
        raise InputError(
            f"constraint {name!r} has {wrong:g} values in {level}.parquet; the attributes give it "
            f"{table.cells} cells"
        )
    values = column.flatten()
    read: Floats = values.cast(arrow().float64()).to_numpy(zero_copy_only=False).reshape(-1, table.cells)
    if values.null_count or not np.all(read >= 0):
        raise InputError(f"constraint {name!r} has values that are missing or below zero in {level}.parquet")
    return read
