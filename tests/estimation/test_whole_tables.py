"""Whole tables: none below zero, children that add up, everything exact, bounded or impossible kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from dense import Problem, matrix, problem
from test_whole_information import measurements

from discreet.budget import Tabulation
from discreet.errors import InputError
from discreet.estimation.cells import impossible_cells, table_cells
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.whole.tables import WholeTables


@dataclass(frozen=True)
class Bound:
    """Least and largest counts of a table in some units."""

    table: Tabulation
    units: Any
    lower: Any
    upper: Any


def children(parent: Any) -> list[tuple[int, Any]]:
    """The families of a tree."""
    return [(int(above), np.flatnonzero(parent == above)) for above in np.unique(parent[parent >= 0])]


def random_bounds(given: Problem, rng: np.random.Generator) -> list[Bound]:
    """Bounds around the true counts of some tables in some units, often exact on one side."""
    bounds = []
    for query in rng.permutation(np.array(given.queries))[: rng.integers(1, 3)].tolist():
        table = given.attributes.tabulation(query)
        units = np.sort(rng.permutation(len(given.parent))[: rng.integers(1, len(given.parent) + 1)])
        true = given.truth[units] @ matrix(table).T
        lower = np.maximum(true - rng.choice([0, 1, 30], true.shape), 0)
        upper = np.where(rng.random(true.shape) < 0.3, np.inf, true + rng.choice([0, 1, 4], true.shape))
        bounds.append(Bound(table, units, lower, upper))
    return bounds


def with_zeros(given: Problem, told: Measurements, rng: np.random.Generator) -> Measurements:
    """Add cells that some units, and with them those below them, cannot have and do not have."""
    attributes = given.attributes
    values = {name: [str(rng.integers(len(known)))] for name, known in attributes.values}
    some = list(values)[: rng.integers(1, len(values) + 1)]
    block = attributes.block({name: values[name] for name in some}, name="zero")
    count = given.truth @ matrix(block).sum(axis=0)
    units = np.flatnonzero(count == 0)
    if not units.size:
        return told
    rows = np.zeros((len(units), block.cells), dtype=np.int64)
    return replace(told, exact={**told.exact, "zero": (units, rows)}, blocks={"zero": block})


def check(given: Problem, told: Measurements, whole: WholeTables, bounds: list[Bound]) -> None:
    """Every promise of the tables."""
    attributes, units = given.attributes, np.arange(len(given.parent))
    for number, variable in enumerate(attributes.variables):
        cells = whole.rows(attributes.detailed(variable), units)
        if cells.min(initial=0) < 0:
            assert (cells == -1).all()
            continue
        assert cells.dtype == np.int64
        assert not cells[:, impossible_cells(attributes)].any()
        for above, family in children(given.parent):
            assert np.array_equal(cells[family].sum(axis=0), cells[above])
        place, cell, count = whole.cells(units, variable=number)
        dense = np.zeros_like(cells)
        dense[place, cell] = count
        assert np.array_equal(dense, cells)
        assert count.min(initial=1) > 0
        for name, (who, rows) in told.exact.items():
            table = told.blocks.get(name) or attributes.tabulation(name)
            if table.variable not in (None, number):
                continue
            label = table_cells(table)
            if table.variable is None:
                assert not cells[np.ix_(who, label >= 0)].any()
                continue
            sums = np.array([[row[label == one].sum() for one in range(table.cells)] for row in cells[who]])
            assert np.array_equal(sums, np.rint(rows))
            assert np.array_equal(whole.rows(name, who), sums)
        for bound in bounds:
            if bound.table.variable == number:
                sums = whole.rows(bound.table.name, bound.units)
                assert (sums >= bound.lower).all()
                assert (sums <= bound.upper).all()


def one(seed: int, sums: int = 0) -> bool:
    """Draw a release and check its tables; False if it determines none."""
    rng = np.random.default_rng(seed)
    given = problem(seed, sums)
    told = measurements(given)
    if seed % 3 == 1:
        told = with_zeros(given, told, rng)
    bounds = random_bounds(given, rng) if seed % 2 else []
    estimates = Estimates(given.attributes, told)
    try:
        whole = WholeTables(estimates, bounds=bounds)
    except InputError as error:
        assert "no measurement determines" in str(error)  # noqa: PT017
        return False
    check(given, told, whole, bounds)
    return True


def test_random_releases_keep_everything() -> None:
    """Recodes that do not nest, exact tables in some units only, zeros by unit, bounds, single children."""
    assert sum(one(seed) for seed in range(24)) > 14


@pytest.mark.slow
def test_many_random_releases_keep_everything() -> None:
    """The same, 600 times, and with sums of other variables."""
    assert sum(one(seed) for seed in range(100, 600)) > 300
    assert sum(one(seed, 2) for seed in range(100)) > 10
