"""What the measurements at and below a unit say about some of its detailed cells.

The cells x of a unit have the information J and the pull h of all measurements at and below it: up to a
constant, minus twice the logarithm of their (normal) likelihood is x'Jx - 2h'x, with all cells of the units
below integrated out. J has as many rows as there are cells, but it is never formed. In the basis of the
components it is block-diagonal, and on the main part of an attribute every value is in one orbit only. So the
entry of two cells is a sum over components of one entry of the component's J, times a number for each other
attribute that depends on the two values alone: a look-up for the cells in play. A unit without children is
simpler still: two cells share the information 1/s of every query that counts them together.

What is held exact has no information here; it limits the cells instead. What is not determined at or below a
unit has none either.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import impossible_cells, table_cells
from discreet.areas.tree import Floats, Integers, Numbers
from discreet.budget import Tabulation
from discreet.estimation.component import ByComponent
from discreet.estimation.estimates import Estimates
from discreet.estimation.model import ApartProjection, size_of
from discreet.estimation.projection import Components
from discreet.estimation.whole.limits import Bounding, Limit
from discreet.estimation.whole.summary import SubtreeSummary, with_summaries


@dataclass(frozen=True)
class Knowledge:
    """Information about the same cells in some units: the distinct J (shape, cell, cell), the index of the J
    of each unit, and the pull h (unit, cell)."""

    information: Floats
    of: Integers
    pull: Floats


class Information:
    """The information of measurements at and below each unit about the cells of one table.

    With attributes these are the detailed cells of what is added up, the `variable`; without them the cells
    of one `query`.

    >>> from discreet.budget import Attributes
    >>> from discreet.estimation.estimates import InMemory, Measurements
    >>> from discreet.areas.tree import Tree
    >>> from discreet.noise import DiscreteGaussian
    >>> tree = Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1))
    >>> laws = [{"total": DiscreteGaussian(variance=4)}, {"detailed": DiscreteGaussian(variance=8)}]
    >>> noisy = {"total": (np.array([0]), np.array([[9]])), "detailed": (np.array([1, 2]), np.ones((2, 2)))}
    >>> given = Measurements(tree, (InMemory(laws, noisy),))
    >>> known = Information(Estimates(Attributes({"sex": ["f", "m"]}), given)).read(slice(0, 1))
    >>> known.of(np.array([0]), np.array([0, 1])).information.round(4).tolist()
    [[[0.3125, 0.25], [0.25, 0.3125]]]
    """

    def __init__(
        self,
        estimates: Estimates,
        variable: int = 0,
        query: str | None = None,
        summaries: Mapping[int, SubtreeSummary] | None = None,
    ) -> None:
        """`summaries` are of units whose subtrees are elsewhere, below the units of the estimates."""
        self.estimates = estimates
        self.variable, self.query = variable, query
        attributes = estimates.model.attributes
        if attributes is None:
            assert query is not None
            self.projection = estimates.model.projections[query]
            self.cells = self.projection.cells
            self._look: _ByComponent | None = None
        else:
            components = estimates.model.components
            assert isinstance(components, Components)
            self.projection = components.projection(
                attributes.tabulation(attributes.detailed(attributes.variables[variable]))
            )
            self.cells = attributes.cells
            self._look = _ByComponent(components, attributes.sizes, variable)
        self.width = max(self.cells, estimates.width)
        """The numbers that are held for each unit that is read."""
        self._tables: dict[str, Integers | None] = {}
        self._z: ByComponent | None = None
        self._shape = -1 - estimates.tree.kind
        """The number of the information of each unit; of one without children, minus one minus its kind."""
        if summaries:
            inner = np.union1d(np.flatnonzero(~estimates.tree.leaf), list(summaries))
            J, self._z = with_summaries(estimates, summaries)
            self._J = [matrix[inner] for matrix in J]
            self._shape[inner] = np.arange(len(inner))
        else:
            nodes = np.flatnonzero(~estimates.shape.leaf)
            position = np.zeros(estimates.shape.size, dtype=np.int64)
            position[nodes] = np.arange(len(nodes))
            self._J = [solution.information(nodes) for solution in estimates.solutions]
            inner = np.flatnonzero(~estimates.lowest)
            self._shape[inner] = position[estimates.node[inner]]

    def table(self, name: str) -> Integers | None:
        """Return the cell of what is measured under a name that each cell is counted in, -1 for none; or
        nothing, if it is about other cells."""
        if name not in self._tables:
            self._tables[name] = self._table(name)
        return self._tables[name]

    def _table(self, name: str) -> Integers | None:
        given, attributes = self.estimates.given, self.estimates.model.attributes
        piece = given.pieces.get(name)
        if attributes is None:
            if given.query_of(name) != self.query:
                return None
            label = np.full(self.cells, -1, dtype=np.int64)
            cells = range(self.cells) if piece is None else piece.cells
            label[list(cells)] = np.arange(len(cells))
            return label
        table: Tabulation | None = given.blocks.get(name)
        if table is None:
            table = attributes.tabulation(name) if piece is None else piece.table
        assert table is not None
        return self.label(table)

    def label(self, table: Tabulation) -> Integers | None:
        """Return the cell of a table that each detailed cell is counted in, -1 for none; or nothing, if it
        adds up something else."""
        if table.variable not in (None, self.variable):
            return None
        cells = table_cells(table)
        if table.variable is None and table.variables > 1:  # the variables change fastest
            return np.where(cells < 0, -1, cells * table.variables + self.variable)
        return cells

    def limits(self, bounds: Iterable[Bounding] = ()) -> list[Limit]:
        """Return what limits the cells: exact counts, cells impossible in some units, and bounds."""
        given = self.estimates.given
        limits = []
        for name, (units, rows) in given.exact.items():
            label = self.table(name)
            if label is None:  # a table of other units counts too: atoms and the chain go with all of them
                continue
            counts = np.asarray(rows, dtype=np.float64)
            if name in given.blocks and not counts.any():  # cells that these units cannot have
                label, counts = np.where(label < 0, -1, 0), np.zeros((len(units), 1))
            order = np.argsort(units, kind="stable")
            limits.append(Limit(given.query_of(name), label, units[order], counts[order], counts[order]))
        for bound in bounds:
            label = self.label(bound.table)
            if label is not None:
                lower, upper = np.ceil(bound.lower), np.floor(bound.upper)
                limits.append(Limit(bound.table.name, label, bound.units, lower, upper))
        return limits

    def impossible(self) -> NDArray[np.bool_]:
        """Return which cells no unit can have."""
        attributes = self.estimates.model.attributes
        return np.zeros(self.cells, dtype=bool) if attributes is None else impossible_cells(attributes)

    def read(self, units: slice) -> Known:
        """Read what is known about some units."""
        leaf = self._shape[units] < 0
        told = list(self._leaves(units)) if leaf.any() else []
        pull = np.zeros((0, self.cells))
        row = np.full(len(leaf), -1, dtype=np.int64)
        if not leaf.all():
            inner = np.flatnonzero(~leaf)
            row[inner] = np.arange(len(inner))
            first, last = int(inner[0]), int(inner[-1]) + 1
            span = slice(units.start + first, units.start + last)
            z = self.beliefs(span)
            position = self._shape[units][inner]
            h = [J[position] @ own[inner - first] for J, own in zip(self._J, z, strict=True)]
            pull = self.projection.read(h)
        return Known(self, units, told, row, pull)

    def _leaves(self, units: slice) -> Iterator[tuple[Integers, Floats, Integers, Numbers]]:
        """Yield the measurements of units without children: the cell of each cell, the variance in each unit,
        the units, and what was measured there."""
        estimates = self.estimates
        for source in estimates.given.sources:
            for query, who, rows in source.read(units):
                label = self.table(query)
                mine = np.flatnonzero(self._shape[who] < 0)
                if label is None or not mine.size:
                    continue
                kinds, of = np.unique(estimates.given.tree.kind[who[mine]], return_inverse=True)
                sizes = np.array([size_of(source.laws[kind][query]) for kind in kinds.tolist()])
                whole = len(mine) == len(who)
                yield label, sizes[of.ravel()], who if whole else who[mine], rows if whole else rows[mine]

    def of_components(self, unit: int) -> tuple[ByComponent, ByComponent]:
        """Return the information and the pull of a unit by component (size, size) and (size, copies)."""
        if self._z is not None and self._shape[unit] >= 0:
            J, z = [matrix[self._shape[unit]] for matrix in self._J], [vector[unit] for vector in self._z]
        else:
            node = self.estimates.node[unit : unit + 1]
            J = [solution.information(node)[0] for solution in self.estimates.solutions]
            z = [belief[0] for belief in self.estimates.beliefs(slice(unit, unit + 1))]
        return J, [matrix @ belief for matrix, belief in zip(J, z, strict=True)]

    def entries(self, J: Sequence[Floats], cells: Integers, places: Container[int] | None = None) -> Floats:
        """Return the information about some cells (shape, cell, cell), given that by component; with `places`
        that of these components only."""
        assert self._look is not None
        return self._look.entries(J, cells, places)

    @property
    def is_crown(self) -> bool:
        """Whether some subtrees are elsewhere."""
        return self._z is not None

    def has_children(self, units: Integers) -> NDArray[np.bool_]:
        """Whether units have others below them, here or elsewhere."""
        has_children: NDArray[np.bool_] = self._shape[units] >= 0
        return has_children

    def orbits(self, cells: Integers) -> Integers:
        """Return a number for each cell: that of the orbits of its values."""
        assert self._look is not None
        return self._look.orbits(cells)

    def beliefs(self, units: slice) -> ByComponent:
        """Return by component what the measurements at and below some units say of them."""
        return self.estimates.beliefs(units) if self._z is None else [vector[units] for vector in self._z]

    def by_component(self, units: Integers) -> tuple[ByComponent, Integers]:
        """Return the distinct information of some units by component (shape, size, size), with or without
        children, and the index of each unit's."""
        if self._z is not None and np.all(self._shape[units] >= 0):
            distinct, of = np.unique(self._shape[units], return_inverse=True)
            return [matrix[distinct] for matrix in self._J], of.ravel()
        nodes, of = np.unique(self.estimates.node[units], return_inverse=True)
        return [solution.information(nodes) for solution in self.estimates.solutions], of.ravel()

    def shapes(self, units: Integers) -> tuple[Integers, Integers]:
        """Return the distinct shapes of units, as numbers, and the index of each unit's."""
        distinct, of = np.unique(self._shape[units], return_inverse=True)
        return distinct, of.ravel()

    def matrices(self, shapes: Integers, support: Integers) -> Floats:
        """Return the information about some cells in units of these shapes (shape, cell, cell)."""
        matrices = np.zeros((len(shapes), len(support), len(support)))
        inner = np.flatnonzero(shapes >= 0)
        if inner.size:
            assert self._look is not None
            matrices[inner] = self._look.entries([J[shapes[inner]] for J in self._J], support)
        for number in np.flatnonzero(shapes < 0).tolist():
            for query, variance in self.estimates.view.told[-1 - int(shapes[number])].variances:
                label = self.table(query)
                if label is not None:
                    mine = label[support]
                    matrices[number] += ((mine[:, None] == mine) & (mine >= 0)) / variance
        return matrices

    def precisions(self, shapes: Integers, support: Integers) -> Floats:
        """Return the information about some cells of a query that nothing ties to each other, in units of
        these shapes: the diagonal of the matrices, which have nothing else."""
        assert isinstance(self.projection, ApartProjection)
        precisions = np.zeros((len(shapes), len(support)))
        inner = np.flatnonzero(shapes >= 0)
        if inner.size:
            by_class = self.projection.variances([J[shapes[inner]] for J in self._J])
            precisions[inner] = by_class[:, self.projection.classes[support]]
        for number in np.flatnonzero(shapes < 0).tolist():
            for query, variance in self.estimates.view.told[-1 - int(shapes[number])].variances:
                label = self.table(query)
                if label is not None:
                    precisions[number] += (label[support] >= 0) / variance
        return precisions


@dataclass(frozen=True)
class Known:
    """What was read about some units: measurements of those without children, and the pull of the others."""

    _of: Information
    _units: slice
    _told: list[tuple[Integers, Floats, Integers, Numbers]]
    _row: Integers
    _pull: Floats

    def of(self, units: Integers, support: Integers) -> Knowledge:
        """Return what is known about some cells in some of the units, which come in order."""
        shapes, of = self._of.shapes(units)
        return Knowledge(self._of.matrices(shapes, support), of, self._pulls(units, support))

    def apart(self, units: Integers, support: Integers) -> tuple[Floats, Floats]:
        """Return the information and the pull of cells that nothing ties to each other (unit, cell)."""
        shapes, of = self._of.shapes(units)
        return self._of.precisions(shapes, support)[of], self._pulls(units, support)

    def _pulls(self, units: Integers, support: Integers) -> Floats:
        pull = np.zeros((len(units), len(support)))
        row = self._row[units - self._units.start]
        inner = row >= 0
        pull[inner] = self._pull[row[inner][:, None], support]
        first, last = int(units[0]), int(units[-1])
        for label, sizes, who, rows in self._told:
            a, b = np.searchsorted(who, [first, last + 1])
            at = np.searchsorted(units, who[a:b])
            at[at == len(units)] = 0
            here = np.flatnonzero(units[at] == who[a:b])
            cells = label[support]
            seen = np.flatnonzero(cells >= 0)
            values = rows[a:b][here[:, None], cells[seen]] / sizes[a:b][here, None]
            pull[at[here][:, None], seen] += values
        return pull


class _ByComponent:
    """The entries of J for pairs of detailed cells, looked up in the components of one variable."""

    def __init__(self, components: Components, sizes: tuple[int, ...], variable: int) -> None:
        self._sizes = sizes
        self._used = [
            (number, component.parts[: len(sizes)])
            for number, component in enumerate(components)
            if len(component.parts) == len(sizes) or component.parts[-1] == variable
        ]
        self._orbit, self._scale, self._many = [], [], []
        self._products: list[dict[int, Floats]] = []
        for basis in components.bases[: len(sizes)]:
            main = basis.vectors[basis.parts[0]]
            self._orbit.append(np.argmax(np.abs(main), axis=0))
            self._scale.append(np.max(main, axis=0))
            self._many.append(len(main))
            parts = {part: basis.vectors[basis.parts[part]] for part in range(1, len(basis.parts))}
            self._products.append({part: rows.T @ rows for part, rows in parts.items()})

    def orbits(self, cells: Integers) -> Integers:
        """Return the orbits of the values of cells, as one number."""
        orbits = np.zeros(len(cells), dtype=np.int64)
        for axis, value in enumerate(np.unravel_index(cells, self._sizes)):
            orbits = orbits * self._many[axis] + self._orbit[axis][value]
        return orbits

    def entries(self, J: Sequence[Floats], support: Integers, places: Container[int] | None = None) -> Floats:
        """Return the sum over components, or over those at some places, of J between pairs of cells, a matrix
        for each row of J."""
        values = np.unravel_index(support, self._sizes)
        among = [
            {part: products[value[:, None], value] for part, products in by_part.items()}
            for value, by_part in zip(values, self._products, strict=True)
        ]
        total = np.zeros((len(J[0]), len(support), len(support)))
        for position, parts in self._used:
            if places is not None and position not in places:
                continue
            orbit, scale = np.zeros(len(support), dtype=np.int64), np.ones(len(support))
            number: Floats | None = None
            for axis, part in enumerate(parts):
                if part:
                    number = among[axis][part] if number is None else number * among[axis][part]
                else:
                    orbit = orbit * self._many[axis] + self._orbit[axis][values[axis]]
                    scale = scale * self._scale[axis][values[axis]]
            weight = np.multiply.outer(scale, scale)
            if number is not None:
                weight *= number
            if J[position].shape[1] == 1:
                total += J[position] * weight
            else:
                total += J[position][:, orbit[:, None], orbit] * weight
        return total
