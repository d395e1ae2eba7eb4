"""Whole tables made again: what their errors are, and whether their intervals hold what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from table_designs import Design, sparse

from discreet.areas.tree import Tree
from discreet.budget import Release
from discreet.errors import InputError
from discreet.estimation import accuracy
from discreet.estimation.estimates import Estimates
from discreet.estimation.intervals import count_ends
from discreet.estimation.whole import forecast, replicates
from discreet.estimation.whole.replicates import TableError, TableErrors, sampled_units, table_errors
from discreet.estimation.whole.tables import WholeTables
from discreet.testing import NotPrivateSeededEntropy


def made(estimates: Estimates, _: Any) -> WholeTables:
    return WholeTables(estimates)


def errors_of(design: Design, seed: int, many: int) -> tuple[Estimates, WholeTables, TableErrors]:
    source = NotPrivateSeededEntropy(seed)
    estimates = design.estimates(source)
    whole = WholeTables(estimates)
    return (
        estimates,
        whole,
        table_errors(estimates, whole, made, design.queries, replicates=many, source=source),
    )


def by_key(found: TableErrors) -> dict[tuple[str, str, int], TableError]:
    return {(one.level, one.query, one.least): one for one in found.errors}


def test_ten_in_a_county_of_eight_cells_of_which_six_are_empty_loses_two() -> None:
    """One area of 8 cells, a total held exact, noise of variance 16: the case of design section 3, by a
    simulation of the projection on the simplex that shares no code with the package."""
    rng = np.random.default_rng(4)
    truth = np.array([60.0, 10, 0, 0, 0, 0, 0, 0])
    noisy = truth + np.rint(rng.normal(size=(20_000, 8)) * 4)
    order = -np.sort(-noisy, axis=1)
    excess = (np.cumsum(order, axis=1) - 70) / np.arange(1, 9)
    shift = excess[np.arange(len(noisy)), (order > excess).sum(axis=1) - 1]
    error = np.maximum(noisy - shift[:, None], 0) - truth
    expected = error.mean(axis=0)
    assert expected[1] == pytest.approx(-2.2, abs=0.1)

    class Truth:
        def rows(self, query: str, units: Any) -> Any:
            return {"total": np.array([[70]]), "detailed": truth[None].astype(np.int64)}[query][
                [0] * len(units)
            ]

    design = Design((), [{"total": 1, "detailed": 16}], truth[None].astype(np.int64), exact="total")
    source = NotPrivateSeededEntropy(1)
    found = table_errors(design.estimates(source), Truth(), made, ["detailed"], replicates=80, source=source)
    lines = by_key(found)
    # the 60 and the 10 together, then the six zeros; five standard errors: a false alarm in 2 of a million
    both = lines["top", "detailed", 10]
    assert both.bias == pytest.approx(expected[:2].mean(), abs=5 * both.bias_error)
    zeros = lines["top", "detailed", 0]
    assert zeros.bias == pytest.approx(expected[2:].mean(), abs=5 * zeros.bias_error)
    assert zeros.cells == 6
    assert ("top", "total", 10) not in lines


def test_a_sample_of_families_has_the_errors_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    design = sparse(1, 16, (4, 2), (20, 300))
    everything = by_key(errors_of(design, 1, 12)[2])
    monkeypatch.setattr(replicates, "MOST_NUMBERS", 1)
    estimates, _, some = errors_of(design, 1, 12)
    assert some.units == 1 + 4 + 2 * 2 < some.all_units == estimates.given.size
    sampled = by_key(some)
    for key, one in everything.items():
        if key[0] == "low" or key not in sampled:
            continue
        other = sampled[key]
        # upper levels have all their units in the sample; five standard errors of the difference
        spread = 5 * (one.bias_error**2 + other.bias_error**2) ** 0.5
        assert abs(one.bias - other.bias) <= max(spread, 0.05)
        assert other.sd == pytest.approx(one.sd)
        assert 0.5 < (other.rmse + 0.3) / (one.rmse + 0.3) < 2


def test_units_are_taken_in_whole_families(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicates, "MOST_NUMBERS", 40)
    rng = np.random.default_rng(0)
    many = rng.integers(1, 6, size=30)
    middle = np.arange(1, 31)
    parent = np.concatenate([[-1], np.zeros(30, dtype=np.int64), np.repeat(middle, many)])
    kind = np.concatenate([[0], np.ones(30), np.full(many.sum(), 2)]).astype(np.int64)
    tree = Tree(parent, kind, (0, 1, 31))
    units, closed = sampled_units(tree, 4)
    chosen = set(units.tolist())
    assert np.array_equal(units, np.sort(units))
    assert set(range(31)) <= chosen  # one family, however large
    for above in middle.tolist():
        below = set(np.flatnonzero(parent == above).tolist())
        assert below <= chosen or not below & chosen
        assert closed[units.tolist().index(above)] == (not below & chosen)
    assert 2 <= sum(not one for one in closed[1:31]) <= 10


def test_intervals_contain_the_printed_number_and_keep_exact_counts() -> None:
    design = sparse(2, 16, (3, 2), (20, 60), exact="total")
    estimates, whole, found = errors_of(design, 3, 8)
    place = estimates.at()
    for query in design.queries:
        values, deviations = place.values(query), place.deviations(query)
        ends = count_ends(values, place.widths(query, 0.95))
        printed = whole.rows(query, design.every)
        lower, upper = found.ends(
            design.tree.kind, query, 0.95, printed, (values, deviations), (ends.lower, ends.upper)
        )
        assert ((lower <= printed) & (printed <= upper)).all()
        exact = deviations == 0
        assert (lower[exact] == printed[exact]).all()
        assert (upper[exact] == printed[exact]).all()
        # nothing is shortened but zeros that the estimate is far from
        shorter = lower > ends.lower
        assert (ends.lower[shorter] == 0).all()
        assert (lower[shorter] == 1).all()
        assert (upper >= ends.upper).all()
    assert found.zero_bound(99, "detailed", 0.95) == np.inf
    assert 0.5 < found.zero_bound(2, "detailed", 0.95) < 1.97
    assert found.zero_bound(2, "detailed", 0.9) <= found.zero_bound(2, "detailed", 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "variance", "sizes"), [(1, 16, (20, 60, 300)), (3, 40, (30, 100, 1000))])
def test_intervals_of_printed_numbers_cover_what_they_say(
    seed: int, variance: int, sizes: tuple[int, ...]
) -> None:
    """By level, query and size of the true count, over 60 releases: 94 to 97 %, give or take four standard
    errors of a class (the cells of a release taken as half as many independent ones), so that a right
    interval fails in one of some 500 runs of all classes; percentile intervals fail nearly always."""
    design = sparse(seed, variance, (4, 4), sizes)
    source = NotPrivateSeededEntropy(11)
    hits: dict[tuple[int, str, int], list[float]] = {}
    for _ in range(60):
        estimates = design.estimates(source)
        whole = WholeTables(estimates)
        found = table_errors(estimates, whole, made, design.queries, replicates=10, source=source)
        place = estimates.at()
        for query in design.queries:
            values, truth = place.values(query), design.rows(query)
            ends = count_ends(values, place.widths(query, 0.95))
            lower, upper = found.ends(
                design.tree.kind,
                query,
                0.95,
                whole.rows(query, design.every),
                (values, place.deviations(query)),
                (ends.lower, ends.upper),
            )
            covered = (lower <= truth) & (truth <= upper)
            size = np.searchsorted([1, 10, 100], truth, side="right")
            for kind in range(3):
                for one in range(4):
                    mine = (design.tree.kind == kind)[:, None] & (size == one)
                    if mine.any():
                        hits.setdefault((kind, query, one), []).append(covered[mine].mean())
                        hits.setdefault((kind, query, -1 - one), []).append(mine.sum())
    assert len(hits) > 20
    for (kind, query, one), shares in hits.items():
        if one < 0:
            continue
        cells = sum(hits[kind, query, -1 - one]) / 2
        slack = 4 * (0.0475 / cells) ** 0.5
        assert 0.94 - slack <= np.mean(shares) <= 0.97 + slack, (kind, query, one, np.mean(shares))


SMALL = """
name = "small"
neighbours = "bounded"
[attributes]
sex = ["f", "m"]
age = ["a", "b", "c"]
[[levels]]
name = "Nation"
queries = { total = { variance = 4 }, detailed = { variance = 16 } }
[[levels]]
name = "Region"
queries = { total = { variance = 4 }, detailed = { variance = 16 } }
"""


def test_printed_numbers_beforehand() -> None:
    release = Release.from_toml(SMALL)
    found = accuracy(release, tree=[4], tables=True, people=30)
    again = accuracy(release, tree=[4], tables=True, people=30)
    assert found.printed is not None
    assert found.printed == again.printed
    assert found.printed.children == (4,)
    of = {(one.level, one.query, one.least): one for one in found.printed.errors.errors}
    zeros = of["Region", "detailed", 0]
    assert zeros.bias > 0  # what is cut off is added
    assert zeros.rmse < zeros.sd  # and errors are smaller there
    assert sum(one.cells for key, one in of.items() if key[:2] == ("Region", "detailed")) == 4 * 4 * 6
    with pytest.raises(InputError, match="give tables, too"):
        accuracy(release, tree=[4], people=30)
    with pytest.raises(InputError, match="people is 0"):
        accuracy(release, tree=[4], tables=True, people=0)


def test_joined_errors_are_weighted_by_cells() -> None:
    first, second = (
        TableErrors(
            (TableError("A", "q", 0, 0, cells, bias, 0.1, 1.0, 1, 2.0),),
            5,
            3,
            3,
            _sizes={("A", "q", 0): np.array(sizes)},
        )
        for cells, bias, sizes in ((10, 1.0, [50, 0]), (30, 2.0, [0, 0, 150]))
    )
    joined = TableErrors.joined([first, second])
    (one,) = joined.errors
    assert (one.cells, one.bias, one.margin95, joined.replicates) == (40, 1.75, 2, 10)


THREE = (
    SMALL
    + """
[[levels]]
name = "Town"
queries = { total = { variance = 4 }, detailed = { variance = 16 } }
"""
)


def test_levels_with_too_many_cells_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    release = Release.from_toml(THREE)
    every = accuracy(release, tree=[2, 3], tables=True).printed
    assert every is not None
    assert every.left_out == ()
    assert {one.level for one in every.errors.errors} == {"Nation", "Region", "Town"}
    levels = ("Nation", "Region", "Town")
    given = Tree(np.array([-1, 0, 1, 1, 1]), np.array([0, 1, 2, 2, 2]), (0, 1, 2), levels)
    monkeypatch.setattr(forecast, "MOST_WORK", 8 * 0.0205)  # enough for a region and its towns
    for tree in ([2, 3], given):
        some = accuracy(release, tree=tree, tables=True).printed
        assert some is not None
        assert some.left_out == ("Nation", "Region")
        assert {one.level for one in some.errors.errors} == {"Town"}
        assert some.errors.replicates == 8
    monkeypatch.setattr(forecast, "MOST_WORK", 0.01)
    with pytest.raises(InputError, match="give fewer people in a lowest area"):
        accuracy(release, tree=[2, 3], tables=True)
