"""Very many cells in two stages, against the dense problem of all cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.areas.cells import table_cells
from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget import Attributes, Recode
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.normal import Normal
from discreet.estimation.whole import descent as descents
from discreet.estimation.whole import stages
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.family import Family, Limits
from discreet.estimation.whole.information import Information
from discreet.estimation.whole.limits import Limited
from discreet.estimation.whole.minimum import solve_family
from discreet.estimation.whole.stages import CoarseTable, StagedUnits, coarse_table

AGES = [str(age) for age in range(6)]
ATTRIBUTES = Attributes(
    {"sex": ["f", "m"], "age": AGES, "race": list("abcde")},
    recodes={"old": Recode("age", {"0-2": AGES[:3], "3": [AGES[3]], "4-5": AGES[4:]})},
)
QUERIES = ["old * sex", "sex", "old * sex * race", "detailed"]
"""The last two, of more than 10 cells, lie within the groups of the first two."""


def county(rng: np.random.Generator, exact_total: bool = False) -> Measurements:
    """A county of three tracts with two to four blocks each, and sparse cells."""
    parent = np.array([-1, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    kind = np.array([0, 1, 1, 1] + [2] * 9)
    tree = Tree(parent, kind, (0, 1, 4))
    truth = np.zeros((13, ATTRIBUTES.cells))
    truth[4:] = rng.poisson(rng.gamma(0.3, 4.0, ATTRIBUTES.cells), (9, ATTRIBUTES.cells))
    for unit in range(12, 0, -1):
        truth[parent[unit]] += truth[unit]
    laws = [{query: Normal(float(size)) for query in QUERIES} for size in (5, 3, 9)]
    noisy = {}
    for query in QUERIES:
        table = ATTRIBUTES.tabulation(query)
        label = _label(query)
        rows = np.array([np.bincount(label, one, minlength=table.cells) for one in truth])
        noisy[query] = np.arange(13), np.rint(rows + rng.normal(0, 2.0, rows.shape))
    exact = {"total": (np.array([0]), truth[:1].sum(axis=1, keepdims=True))} if exact_total else {}
    return Measurements(tree, (InMemory(laws, noisy),), exact)


def _label(query: str) -> Integers:
    return table_cells(ATTRIBUTES.tabulation(query))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are staged, too."""
    monkeypatch.setattr(stages, "FEW_CELLS", 10)
    monkeypatch.setattr(stages, "GAIN", 2)
    monkeypatch.setattr(descents, "MOST_AT_ONCE", 5)


def coarse_of(known: Information) -> CoarseTable:
    table = coarse_table(known, Limited(known.estimates.tree, known.cells, []))
    assert table is not None
    return table


def sums_of(table: CoarseTable) -> Floats:
    found: Floats = (table.label == np.arange(table.groups)[:, None]).astype(float)
    return found


@pytest.mark.parametrize("units", [[0], [1, 2, 3], [4, 5]])
def test_the_coarse_table_has_the_information_that_the_cells_leave_of_it(units: list[int]) -> None:
    known = Information(Estimates(ATTRIBUTES, county(np.random.default_rng(1))))
    table, who = coarse_of(known), np.array(units)
    assert table.groups == 6
    staged = StagedUnits(known, table, who, np.arange(known.cells))
    coarse = staged.coarse(np.arange(6))
    A = sums_of(table)
    full = known.read(slice(units[0], units[-1] + 1)).of(who, np.arange(known.cells))
    for place in range(len(units)):
        covariance = np.linalg.inv(full.information[full.of[place]])
        J = np.linalg.inv(A @ covariance @ A.T)
        np.testing.assert_allclose(coarse.information[coarse.of[place]], J, atol=1e-9)
        np.testing.assert_allclose(coarse.pull[place], J @ A @ covariance @ full.pull[place], atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_given_the_coarse_table_the_groups_have_nothing_in_common(seed: int) -> None:
    """The dense minimum over all cells of a family with these sums is that of each group."""
    rng = np.random.default_rng(seed)
    known = Information(Estimates(ATTRIBUTES, county(rng)))
    table, who = coarse_of(known), np.arange(1, 4)
    every = np.arange(known.cells)
    full = known.read(slice(1, 4)).of(who, every)
    children = rng.poisson(2.0, (3, known.cells))
    exact = children @ sums_of(table).T.astype(np.int64)
    limit = Limits("groups", table.label, np.arange(3), exact, exact)
    dense = Family(full.information, full.of, full.pull, children.sum(axis=0), limits=(limit,))
    about = StagedUnits(known, table, who, every).within(every)
    apart = replace(dense, information=about.information, of=about.of, pull=about.pull)
    solved, staged = solve_family(dense), solve_family(apart)
    assert np.abs(staged.x - solved.x).max() < 2e-2
    x = staged.x
    value = 0.5 * np.vdot(x, dense.times(x)) - np.vdot(x, dense.pull)
    assert value - solved.objective < 1e-5 * solved.scale + solved.gap


@pytest.mark.parametrize("exact_total", [False, True])
def test_cells_in_stages_add_up_and_totals_are_near_their_estimates(exact_total: bool) -> None:
    given = county(np.random.default_rng(7), exact_total)
    estimates = Estimates(ATTRIBUTES, given)
    descent = Descent(estimates)
    assert descent.coarse is not None
    assert descent._is_staged(np.array([0]), descent.cells)
    top = descent.top()
    found = {0: top.row(0)}
    for units, cells in descent.below(0, top.row(0)):
        found |= {int(unit): cells.row(place) for place, unit in enumerate(units)}
    whole = np.zeros((13, descent.cells), dtype=np.int64)
    for unit, (cell, count) in found.items():
        whole[unit, cell] = count
    assert whole.min() == 0
    assert len(found) == 13
    for unit in range(4):
        np.testing.assert_array_equal(whole[given.tree.parent == unit].sum(axis=0), whole[unit])
    if exact_total:
        assert whole[0].sum() == given.exact["total"][1][0, 0]
    else:
        z = estimates.beliefs(slice(0, 1))
        assert whole[0].sum() == np.rint(descent.known.projection.read(z).sum())
    # the coarse queries are near their estimates, which the cells' non-negativity would pull away
    best = estimates.values("old * sex")
    label = _label("old * sex")
    mine = np.array([np.bincount(label, row, minlength=6) for row in whole[:4]])
    assert np.abs(mine - best[:4]).max() < 6.0


def test_no_coarse_table_where_limits_are_about_single_cells() -> None:
    known = Information(Estimates(ATTRIBUTES, county(np.random.default_rng(1))))
    tree = known.estimates.tree
    impossible = np.zeros(known.cells, dtype=bool)
    impossible[3] = True
    assert coarse_table(known, Limited(tree, known.cells, [], impossible)) is None
