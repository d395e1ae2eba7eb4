"""What is held exact, bounded or impossible: least and largest counts of groups of cells in every unit.

Exact tables, bounds and cells that are impossible in some units all say the same kind of thing: a group of
cells of a unit has at least and at most so many records. Cells that every such table treats alike are one
*atom*; each group is a union of atoms. Limits are tightened within a unit (a group has at least the sum of
its atoms' least counts; an atom at most what its group leaves when the others have their least) and added up
from the lowest units to the top, so that a unit is never given records that the units below it cannot take.

If the limits below a unit are those of one table, its groups are disjoint and the sums of the limits are all
that the unit needs. With several tables they may not suffice: `Limited.is_tangled` says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Tabulation
from discreet.errors import InputError

_ROUNDS = 20
"""The most times that the limits within a unit are tightened; they are valid after each."""


class Bounding(Protocol):
    """Least and largest counts of the cells of a table in some units; 0 and infinity if unbounded."""

    @property
    def table(self) -> Tabulation:
        """The table."""

    @property
    def units(self) -> Integers:
        """The units, in order."""

    @property
    def lower(self) -> Floats:
        """The least counts, a row for each unit, in the order of the attributes."""

    @property
    def upper(self) -> Floats:
        """The largest counts."""


@dataclass(frozen=True)
class Limit:
    """The limits of one table: its name, the group of each cell (-1: none), and in some units the least and
    largest counts of the groups."""

    name: str
    label: Integers
    units: Integers
    lower: Floats
    upper: Floats


class Limited:
    """The limits of all units, tightened and taken up to the top.

    >>> people = np.array([0, 0, 1])  # two children, one adult
    >>> adults = Limit("age", people, np.array([2]), np.array([[0.0, 4.0]]), np.array([[0.0, 9.0]]))
    >>> total = Limit("total", np.zeros(3, dtype=int), np.array([0]), np.array([[7.0]]), np.array([[7.0]]))
    >>> tree = Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1))
    >>> limited = Limited(tree, 3, [total, adults])
    >>> [limited.atoms.tolist(), *(side.tolist() for side in limited.of_atoms(np.array([0])))]
    [[0, 0, 1], [[0.0, 4.0]], [[3.0, 7.0]]]
    """

    def __init__(
        self,
        tree: Tree,
        cells: int,
        limits: Sequence[Limit],
        impossible: NDArray[np.bool_] | None = None,
    ) -> None:
        self.tree = tree
        self.possible = np.ones(cells, dtype=bool) if impossible is None else ~impossible
        self.limits = [
            Limit(limit.name, np.where(self.possible, limit.label, -1), limit.units, limit.lower, limit.upper)
            for limit in limits
        ]
        self.tables = _distinct([np.zeros(cells, dtype=np.int64), *(limit.label for limit in limits)])
        self.tables = _distinct([np.where(self.possible, label, -1) for label in self.tables])
        self.atoms = np.full(cells, -1, dtype=np.int64)
        alike = np.zeros(int(self.possible.sum()), dtype=np.int64)
        for label in self.tables[1:]:  # the first is the total
            code = alike * (int(label.max(initial=-1)) + 2) + label[self.possible] + 1
            alike = np.unique(code, return_inverse=True)[1].ravel()
        # atoms are numbered by their first cell
        first = np.unique(alike, return_index=True)[1]
        rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
        self.atoms[self.possible] = rank[alike]
        self.many = len(first)
        self._groups = [_Groups(label, self.atoms, self.many) for label in self.tables]
        self.own = np.zeros((len(self.tables), tree.size), dtype=bool)
        """Whether a table limits a unit directly."""
        self.is_any = bool(self.limits)
        if self.is_any:
            self._collect()
            self._propagate()
        self.is_tangled = self._tangled()

    def _collect(self) -> None:
        units = self.tree.size
        self._lower = [np.zeros((units, groups.count)) for groups in self._groups]
        self._upper = [np.full((units, groups.count), np.inf) for groups in self._groups]
        for groups, upper in zip(self._groups, self._upper, strict=True):
            upper[:, groups.is_empty] = 0.0
        self._atom_lower = np.zeros((units, self.many))
        self._atom_upper = np.full((units, self.many), np.inf)
        self._names: list[list[str]] = [[] for _ in self.tables]
        for limit in self.limits:
            table = next(t for t, label in enumerate(self.tables) if np.array_equal(label, limit.label))
            many = limit.lower.shape[1]
            if many > self._groups[table].count:  # groups without a possible cell
                spare = many - self._groups[table].count
                self._groups[table].extend(spare)
                self._lower[table] = np.pad(self._lower[table], ((0, 0), (0, spare)))
                self._upper[table] = np.pad(self._upper[table], ((0, 0), (0, spare)))
            lower, upper = self._lower[table], self._upper[table]
            lower[limit.units, :many] = np.maximum(lower[limit.units, :many], limit.lower)
            upper[limit.units, :many] = np.minimum(upper[limit.units, :many], limit.upper)
            self.own[table, limit.units] = True
            if limit.name not in self._names[table]:
                self._names[table].append(limit.name)

    def _propagate(self) -> None:
        """Tighten the limits of each unit and add them up, from the lowest units to the top."""
        parent = self.tree.parent
        self._has: NDArray[np.bool_] = np.asarray(self.own.any(axis=0))
        for part in reversed(self.tree.depths):
            units = np.flatnonzero(self._has[part]) + part.start
            if units.size:
                self._tighten(units)
            if not part.start:
                continue
            begin = np.flatnonzero(np.diff(parent[part], prepend=-1))
            above = parent[part][begin]
            some = np.logical_or.reduceat(self._has[part], begin)
            self._has[above] |= some
            sides = [*zip(self._lower, self._upper, strict=True), (self._atom_lower, self._atom_upper)]
            for lower, upper in sides:
                lower[above] = np.maximum(lower[above], np.add.reduceat(lower[part], begin, axis=0))
                upper[above] = np.minimum(upper[above], np.add.reduceat(upper[part], begin, axis=0))

    def _tighten(self, units: Integers) -> None:
        atom_lower, atom_upper = self._atom_lower[units], self._atom_upper[units]
        sides = [(lower[units], upper[units]) for lower, upper in zip(self._lower, self._upper, strict=True)]
        for _ in range(_ROUNDS):
            before = atom_lower.sum(), np.isinf(atom_upper).sum(), atom_upper[np.isfinite(atom_upper)].sum()
            for groups, (lower, upper) in zip(self._groups, sides, strict=True):
                least, most, unbounded = groups.sums(atom_lower, atom_upper)
                np.maximum(lower, least, out=lower)
                np.minimum(upper, np.where(unbounded > 0, np.inf, most), out=upper)
                inside, of = groups.inside, groups.of
                is_inf = np.isinf(atom_upper[:, inside])
                mine = np.where(is_inf, 0.0, atom_upper[:, inside])
                others = np.where(unbounded[:, of] > is_inf, np.inf, most[:, of] - mine)
                room = upper[:, of] - (least[:, of] - atom_lower[:, inside])
                atom_lower[:, inside] = np.maximum(atom_lower[:, inside], lower[:, of] - others)
                atom_upper[:, inside] = np.minimum(atom_upper[:, inside], room)
            after = atom_lower.sum(), np.isinf(atom_upper).sum(), atom_upper[np.isfinite(atom_upper)].sum()
            if before == after:
                break
        wrong = (atom_lower > atom_upper).any(axis=1)
        for lower, upper in sides:
            wrong |= (lower > upper).any(axis=1)
        if wrong.any():
            raise self.contradiction(units[wrong])
        self._atom_lower[units], self._atom_upper[units] = atom_lower, atom_upper
        for number, (lower, upper) in enumerate(sides):
            self._lower[number][units], self._upper[number][units] = lower, upper

    def contradiction(self, units: Integers) -> InputError:
        """Return the error that names the tables whose limits some units cannot keep together."""
        tables = [
            self._names[number] for number in range(len(self.tables)) if self._below(number)[units].any()
        ]
        names = sorted({name for some in tables for name in some})
        area = ""
        if self.tree.names is not None:
            more = f" and {len(units) - 1} more" if len(units) > 1 else ""
            area = f" in area {self.tree.names[int(units[0])].as_py()!r}{more}"
        listed = ", ".join(repr(name) for name in names)
        return InputError(f"counts that are exact or bounded contradict each other{area}: those of {listed}")

    def _below(self, table: int) -> NDArray[np.bool_]:
        """Whether a table limits a unit, or one below it."""
        return _spread_up(self.tree, self.own[table])

    def _tangled(self) -> NDArray[np.bool_]:
        """Return the units below which several tables limit units, so that sums of limits may not suffice."""
        tables = np.zeros(self.tree.size, dtype=np.int64)
        for number in range(len(self.tables)):
            if self.own[number].any():
                inside = self._below(number)
                strict = np.zeros(self.tree.size + 1, dtype=bool)
                strict[self.tree.parent[inside]] = True
                tables += strict[:-1]
        return tables > 1

    def has(self, units: Integers) -> NDArray[np.bool_]:
        """Whether units, or units below them, are limited."""
        return self._has[units] if self.is_any else np.zeros(len(units), dtype=bool)

    @property
    def name(self) -> str:
        """The names of all tables that limit any unit."""
        return " and ".join(dict.fromkeys(limit.name for limit in self.limits))

    def of_atoms(self, units: Integers) -> tuple[Floats, Floats]:
        """Return the least and largest counts of the atoms."""
        return self._atom_lower[units], self._atom_upper[units]

    def of_tables(self, units: Integers) -> list[tuple[str, Integers, Floats, Floats]]:
        """Return name, label and limits of the tables that say more about some units than the atoms do."""
        of_tables = []
        atom_lower, atom_upper = self.of_atoms(units)
        for number, groups in enumerate(self._groups):
            lower, upper = self._lower[number][units], self._upper[number][units]
            least, most, unbounded = groups.sums(atom_lower, atom_upper)
            if (lower > least).any() or (upper < np.where(unbounded > 0, np.inf, most)).any():
                name = " and ".join(self._names[number]) or "total"
                of_tables.append((name, self.tables[number], lower, upper))
        return of_tables

    def summary(self, unit: int) -> tuple[Limit, ...]:
        """Return the limits of a unit that follow from those at and below it, a table each."""
        who = np.array([unit])
        if not self.has(who)[0]:
            return ()
        lower, upper = self.of_atoms(who)
        limits = [Limit(self.name, self.atoms, who, lower, upper)]
        limits += [Limit(name, label, who, low, high) for name, label, low, high in self.of_tables(who)]
        return tuple(limits)

    def rows(self, unit: int) -> Iterable[tuple[Integers, float, float]]:
        """Yield the limits that were given for a unit: atoms of a group, its least and largest count."""
        for limit in self.limits:
            at = int(np.searchsorted(limit.units, unit))
            if at == len(limit.units) or limit.units[at] != unit:
                continue
            for group in range(limit.lower.shape[1]):
                if limit.lower[at, group] > 0 or limit.upper[at, group] < np.inf:
                    inside = np.unique(self.atoms[limit.label == group])
                    yield inside, float(limit.lower[at, group]), float(limit.upper[at, group])


def _spread_up(tree: Tree, units: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which units are marked, or have a marked unit below them."""
    marked = np.append(units, False)
    for part in reversed(tree.depths[1:]):
        marked[tree.parent[part][marked[part]]] = True
    return marked[:-1]


def _distinct(labels: Sequence[Integers]) -> list[Integers]:
    """Return the labels that differ, in order."""
    distinct: Mapping[bytes, Integers] = {label.tobytes(): label for label in labels}
    return list(distinct.values())


class _Groups:
    """The groups of a table as unions of atoms."""

    def __init__(self, label: Integers, atoms: Integers, many: int) -> None:
        group = np.full(many, -1, dtype=np.int64)
        group[atoms[atoms >= 0]] = label[atoms >= 0]
        self.inside = np.flatnonzero(group >= 0)
        self.of = group[self.inside]
        self.count = int(label.max(initial=-1)) + 1
        self.is_empty = np.bincount(self.of, minlength=self.count) == 0
        order = np.argsort(self.of, kind="stable")
        self._sorted = self.inside[order]
        self._begin = np.flatnonzero(np.diff(self.of[order], prepend=-1))
        self._where = self.of[order][self._begin]

    def extend(self, groups: int) -> None:
        """Add groups that no atom is in."""
        self.count += groups
        self.is_empty = np.append(self.is_empty, np.ones(groups, dtype=bool))

    def sums(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats, Floats]:
        """Return for each group the sums of lower, of finite upper limits, and how many are infinite."""
        sums = [np.zeros((len(lower), self.count)) for _ in range(3)]
        if self._begin.size:
            finite = np.isfinite(upper)
            for into, values in zip(sums, (lower, np.where(finite, upper, 0.0), ~finite), strict=True):
                ordered = values[:, self._sorted].astype(np.float64)
                into[:, self._where] = np.add.reduceat(ordered, self._begin, axis=1)
        return sums[0], sums[1], sums[2]
