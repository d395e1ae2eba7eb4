"""Detailed cells: which cell of a table each is counted in, and which cells no record can have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Integers
from discreet.budget import Attributes, Tabulation


def table_cells(table: Tabulation) -> Integers:
    """Return the cell of a table, in the order of the attributes, for each detailed cell; -1 if in none.

    >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18+"]})
    >>> table_cells(people.tabulation("age")).tolist()
    [0, 1, 0, 1]
    >>> table_cells(people.block({"age": ["18+"]}, name="adults")).tolist()
    [-1, 0, -1, 1]
    """
    cell = np.zeros(table.sizes, dtype=np.int64)
    outside = np.zeros(table.sizes, dtype=bool)
    for index, groups in enumerate(table.by_attribute):
        label = np.full(table.sizes[index], -1, dtype=np.int64)
        for number, group in enumerate(groups):
            label[list(group)] = number
        shape = [1] * len(table.sizes)
        shape[index] = -1
        cell = cell * len(groups) + label.reshape(shape)
        outside |= (label < 0).reshape(shape)
    return np.where(outside, -1, cell).ravel()


def impossible_cells(attributes: Attributes) -> NDArray[np.bool_]:
    """Return which detailed cells the release declares impossible."""
    impossible = np.zeros(attributes.cells, dtype=bool)
    for block in attributes.zeros():
        impossible |= table_cells(block) >= 0
    return impossible


def detailed_cells(attributes: Attributes, query: str, *, written: bool = False) -> Integers:
    """Return the cell of a query for each detailed cell, in the order of the attributes, or as written.

    >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18+"]})
    >>> detailed_cells(people, "age").tolist()
    [0, 1, 0, 1]
    >>> detailed_cells(people, "age * sex", written=True).tolist()
    [0, 2, 1, 3]
    """
    table = attributes.tabulation(query)
    if not written:
        return table_cells(table)
    cell = np.zeros(attributes.sizes, dtype=np.int64)
    for factor in table.factors:
        label = np.zeros(attributes.sizes[factor.attribute], dtype=np.int64)
        for number, group in enumerate(factor.groups):
            label[list(group)] = number
        shape = [1] * len(attributes.sizes)
        shape[factor.attribute] = -1
        cell = cell * len(factor.groups) + label.reshape(shape)
    return cell.ravel()


def shared_cells(attributes: Attributes, one: str, two: str) -> Integers:
    """Return for each detailed cell its cell in the finest table that both of two queries determine.

    >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18+"]})
    >>> shared_cells(people, "age", "age * sex").tolist(), shared_cells(people, "age", "sex").tolist()
    ([0, 1, 0, 1], [0, 0, 0, 0])
    """
    first, second = (attributes.tabulation(query).by_attribute for query in (one, two))
    cell = np.zeros(attributes.sizes, dtype=np.int64)
    for index, size in enumerate(attributes.sizes):
        label = np.zeros(size, dtype=np.int64)
        for number, group in enumerate(first[index]):
            label[list(group)] = number
        for group in second[index]:  # join what either query joins
            together = np.unique(label[list(group)])
            label[np.isin(label, together)] = together[0]
        names, label = np.unique(label, return_inverse=True)
        shape = [1] * len(attributes.sizes)
        shape[index] = -1
        cell = cell * len(names) + label.reshape(shape)
    return cell.ravel()
