"""A small health survey of ten units, its files, and dense solutions read off files of measurements."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.budget import Attributes, Release

TEXT = """
name = "health"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["0-17", "18-64", "65+"]
[attributes.adult]
of = "age"
groups = { no = ["0-17"], yes = ["18-64", "65+"] }
[[levels]]
name = "Nation"
queries = { "total" = { variance = "1/2" }, "age * sex" = { variance = 8 } }
[[levels]]
name = "Region"
queries = { "total" = { variance = "1/2" }, "adult" = { variance = 5 }, "detailed" = { variance = 4 } }
[[levels]]
name = "District"
queries = { "age" = { variance = 3 }, "detailed" = { variance = 6 } }
"""
RELEASE = Release.from_toml(TEXT)
PARENT = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 2, 3])
STARTS = (0, 1, 4)
LEVEL = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
NAMES = ["N", "R1", "R2", "R3", "D1", "D2", "D3", "D4", "D5", "D6"]
SEX, AGE = ["f", "m"], ["0-17", "18-64", "65+"]


def truth(seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    cells = np.zeros((10, 2, 3), dtype=np.int64)
    cells[4:] = rng.poisson(rng.choice([0.2, 3.0, 30.0], size=(6, 1, 1)), size=(6, 2, 3))
    for unit in range(9, 0, -1):
        cells[PARENT[unit]] += cells[unit]
    return cells


def records(folder: Path, cells: Any) -> tuple[Path, Path]:
    """Write records and units of the districts."""
    people, units = folder / "records.csv", folder / "units.csv"
    with people.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["unit", "sex", "age"])
        for unit, (s, sex), (a, age) in itertools.product(range(4, 10), enumerate(SEX), enumerate(AGE)):
            writer.writerows([[NAMES[unit], sex, age]] * int(cells[unit, s, a]))
    levels = ["Nation", "Region", "District"]
    lines = [
        f"{name},{levels[LEVEL[unit]]},{NAMES[PARENT[unit]] if PARENT[unit] >= 0 else ''}"
        for unit, name in enumerate(NAMES)
    ]
    units.write_text("\n".join(["unit,level,parent", *lines]) + "\n")
    return people, units


def indicator(attributes: Attributes, query: str) -> tuple[list[str], Any]:
    """The names of a query's cells, and the query as a matrix on the detailed cells."""
    table = attributes.tabulation(query, sums=True)
    labels = list(table.labels)
    matrix = np.zeros((len(labels), attributes.cells))
    places = [range(size) for size in attributes.sizes]
    for cell, values in enumerate(itertools.product(*places)):
        chosen = []
        for factor in table.factors:
            group = [n for n, one in enumerate(factor.groups) if values[factor.attribute] in one]
            chosen.append(group[0] if group else None)
        if None not in chosen:
            row = int(np.ravel_multi_index(chosen, table.shape)) if chosen else 0
            matrix[row, cell] = 1.0
    return labels, matrix


def rows(file: Path) -> list[dict[str, str]]:
    with file.open() as stream:
        return list(csv.DictReader(stream))


class Dense:
    """The dense solution for all detailed cells of all lowest units, from files of measurements."""

    def __init__(
        self,
        attributes: Attributes,
        files: Iterable[Path],
        exact: Sequence[tuple[str, str, Sequence[float]]] = (),
        parent: Any = PARENT,
        names: Sequence[str] = NAMES,
    ) -> None:
        leaves = np.setdiff1d(np.arange(len(parent)), parent)
        self.attributes, self.names = attributes, list(names)
        self.above = np.zeros((len(parent), len(leaves)))
        for place, leaf in enumerate(leaves):
            unit = int(leaf)
            while unit >= 0:
                self.above[unit, place] = 1.0
                unit = parent[unit]
        size = len(leaves) * attributes.cells
        H, g = np.zeros((size, size)), np.zeros(size)
        for file in files:
            for row in rows(file):
                labels, matrix = indicator(attributes, row["query"])
                line = np.kron(self.above[self.names.index(row["unit"])], matrix[labels.index(row["cell"])])
                H += np.outer(line, line) / float(row["variance"])
                g += line * float(row["value"]) / float(row["variance"])
        E, t = [np.zeros((0, size))], [np.zeros(0)]
        for unit, query, counts in exact:
            E.append(np.kron(self.above[self.names.index(unit)], indicator(attributes, query)[1]))
            t.append(np.asarray(counts, dtype=float))
        A, b = np.vstack(E), np.concatenate(t)
        start, Z = np.zeros(size), np.eye(size)
        if len(A):
            start = np.linalg.pinv(A, rcond=1e-10) @ b
            _, found, right = np.linalg.svd(A)
            Z = right[int(np.sum(found > 1e-9)) :].T
        inverse = Z @ np.linalg.inv(Z.T @ H @ Z) @ Z.T
        self.x, self.covariance = start + inverse @ (g - H @ start), inverse

    def row(self, units: Sequence[str], query: str, cell: str) -> Any:
        labels, matrix = indicator(self.attributes, query)
        area = sum(self.above[self.names.index(unit)] for unit in units)
        return np.kron(area, matrix[labels.index(cell)])

    def answer(self, units: Sequence[str], query: str, cell: str) -> tuple[float, float]:
        """The estimate and its variance."""
        line = self.row(units, query, cell)
        return float(line @ self.x), float(line @ self.covariance @ line)
