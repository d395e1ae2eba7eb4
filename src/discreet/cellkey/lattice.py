"""Which cell keys depend on each other: the lattice that the records' keys span.

A cell key is the sum of its records' keys. Records in the same cells act as one (an atom), whose key is
uniform. So the cell keys are A U, where A has a row for each cell, a column for each atom that is not empty,
and entries 0 and 1. They are uniform on a subgroup, which only the lattice spanned by the columns decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm, prod

Row = tuple[int, ...]
Matrix = tuple[Row, ...]
"""Rows of integers, one for each cell."""

Reduced = tuple[int, list[Fraction], dict[int, Fraction]]
"""The place of a leading one, the row that has it, and the combination of rows that it is."""


def column_basis(matrix: Sequence[Sequence[int]]) -> Matrix:
    """Return a basis of the lattice that the columns of a matrix span, as a matrix with as many rows.

    >>> column_basis([(1, 0), (0, 1), (1, 1)])
    ((1, 0), (0, 1), (1, 1))
    >>> column_basis([(2, 4), (1, 2)])
    ((2,), (1,))
    """
    columns = [list(column) for column in zip(*matrix, strict=True)]
    kept: list[list[int]] = []
    for row in range(len(matrix)):
        while True:
            live = [column for column in columns if column[row]]
            if len(live) < 2:
                break
            least = min(live, key=lambda column: abs(column[row]))
            for column in live:
                if column is not least:
                    factor = column[row] // least[row]
                    column[:] = [x - factor * y for x, y in zip(column, least, strict=True)]
        for column in live:
            columns = [other for other in columns if other is not column]
            kept.append([-x for x in column] if column[row] < 0 else column)
    return tuple(zip(*kept, strict=True)) if kept else tuple(() for _ in matrix)


def invariants(matrix: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the diagonal of the Smith normal form; its product is the gcd of the maximal minors.

    >>> invariants([(1, 1, 0), (0, 1, 1), (1, 0, 1)])  # cells ab, bc, ca
    (1, 1, 2)
    """
    rows = [list(row) for row in matrix]
    factors = []
    while any(any(row) for row in rows):
        value, at, to = min((abs(x), i, j) for i, row in enumerate(rows) for j, x in enumerate(row) if x)
        pivot = rows[at]
        for row in rows:
            if row is not pivot:
                factor = row[to] // pivot[to]
                row[:] = [x - factor * y for x, y in zip(row, pivot, strict=True)]
        for j in range(len(pivot)):
            if j != to:
                factor = pivot[j] // pivot[to]
                for row in rows:
                    row[j] -= factor * row[to]
        if any(row[to] for row in rows if row is not pivot) or any(x for j, x in enumerate(pivot) if j != to):
            continue
        others = [row for row in rows if row is not pivot]
        odd = next((row for row in others if any(x % value for x in row)), None)
        if odd is not None:
            pivot[:] = [x + y for x, y in zip(pivot, odd, strict=True)]
            continue
        factors.append(value)
        rows = others
    return tuple(factors)


def rank(matrix: Sequence[Sequence[int]]) -> int:
    """Return how many columns a basis has.

    >>> rank([(1, 0), (0, 1), (1, 1)])
    2
    """
    basis = column_basis(matrix)
    return len(basis[0]) if basis else 0


def are_independent(matrix: Sequence[Sequence[int]], modulus: int | None) -> bool:
    """Whether cell keys are independent and uniform: by rank, and by minors that are prime to a modulus.

    >>> triangle = [(1, 1, 0), (0, 1, 1), (1, 0, 1)]
    >>> are_independent(triangle, None), are_independent(triangle, 8), are_independent(triangle, 7)
    (True, False, True)
    """
    factors = invariants(matrix)
    return len(factors) == len(matrix) and (modulus is None or gcd(prod(factors), modulus) == 1)


def group_size(matrix: Sequence[Sequence[int]], modulus: int) -> int:
    """Return how many vectors of keys modulo something there are.

    >>> group_size([(1, 1, 0), (0, 1, 1), (1, 0, 1)], 8)
    256
    """
    return prod(modulus // gcd(factor, modulus) for factor in invariants(matrix))


def blocks(matrices: Sequence[Sequence[Row]], modulus: int | None) -> list[list[int]]:
    """Return cells in blocks whose keys are independent of each other, under each of several incidences.

    >>> blocks([[(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)]], None)
    [[0, 1, 2], [3]]
    """
    cells = range(len(matrices[0]))
    if all(are_independent(matrix, modulus) for matrix in matrices):
        return [[cell] for cell in cells]
    parent = list(cells)

    def root(cell: int) -> int:
        while parent[cell] != cell:
            cell = parent[cell]
        return cell

    for matrix in matrices:
        for first, second in _dependences(column_basis(matrix)):
            parent[root(first)] = root(second)
    gathered: dict[int, list[int]] = {}
    for cell in cells:
        gathered.setdefault(root(cell), []).append(cell)
    made = list(gathered.values())
    if modulus is not None:
        for matrix in matrices:
            apart = prod(group_size([matrix[cell] for cell in block], modulus) for block in made)
            if apart != group_size(matrix, modulus):  # dependent modulo this number alone
                return [list(cells)]
    return made


def only_relation(rows: Sequence[Row]) -> Row | None:
    """Return the integers, without a common factor, by which rows sum to zero; none unless there is one way.

    >>> only_relation([(1, 0), (0, 1), (1, 1)]), only_relation([(1,), (1,), (1,)])
    ((-1, -1, 1), None)
    """
    relations: list[dict[int, Fraction]] = []
    reduced: list[Reduced] = []
    for index, row in enumerate(rows):
        rest, parts = _reduced(index, row, reduced)
        pivot = next((j for j, x in enumerate(rest) if x), -1)
        if pivot < 0:
            relations.append(parts)
        else:
            reduced.append(_scaled(pivot, rest, parts))
    if len(relations) != 1:
        return None
    scale = lcm(*(x.denominator for x in relations[0].values()))
    whole = [int(relations[0].get(index, Fraction(0)) * scale) for index in range(len(rows))]
    return tuple(x // gcd(*whole) for x in whole)


def _reduced(
    index: int, row: Sequence[int], known: Sequence[Reduced]
) -> tuple[list[Fraction], dict[int, Fraction]]:
    """Return what is left of a row when others are taken off, and as which combination of rows."""
    rest, parts = [Fraction(x) for x in row], {index: Fraction(1)}
    for pivot, other, its_parts in known:
        if factor := rest[pivot]:
            rest = [x - factor * y for x, y in zip(rest, other, strict=True)]
            for cell, x in its_parts.items():
                parts[cell] = parts.get(cell, Fraction(0)) - factor * x
    return rest, parts


def _scaled(pivot: int, rest: Sequence[Fraction], parts: dict[int, Fraction]) -> Reduced:
    head = rest[pivot]
    return pivot, [x / head for x in rest], {cell: x / head for cell, x in parts.items()}


def _dependences(basis: Matrix) -> list[tuple[int, int]]:
    """Return pairs of rows in a common circuit: a row and those of a basis that it is a combination of."""
    edges, reduced = [], list[Reduced]()
    for index, row in enumerate(basis):
        rest, parts = _reduced(index, row, reduced)
        pivot = next((j for j, x in enumerate(rest) if x), -1)
        if pivot < 0:
            edges += [(index, cell) for cell, x in parts.items() if cell != index and x]
        else:
            reduced.append(_scaled(pivot, rest, parts))
    return edges
