"""Honest measurements are warned of in at most 1 of 1,000 rehearsals, in every design by itself; a variance
that is wrong by a factor of two in one query of 200 cells is found."""

from __future__ import annotations

import numpy as np
import pytest
from fit_designs import Design, designs, gaussian, laplace, limits, warnings

from discreet.estimation.fit import NamedResiduals, Residuals, fit_of

REHEARSALS = 20_000
MOST = 40
"""20 are allowed; a count with this mean exceeds 40 with a chance of 1e-5."""


@pytest.mark.slow
@pytest.mark.parametrize("design", designs(), ids=lambda one: one.name)
def test_each_design(design: Design) -> None:
    assert warnings(design, REHEARSALS, 11)[0] <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("size", ["1", "2", "9", "100"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("values", "areas"), [(2, 1), (2, 2), (3, 2), (2, 5), (4, 6), (2, 12)])
def test_few_cells(values: int, areas: int, exact: bool, size: str) -> None:
    """Whole numbers agree by chance, the more often the fewer they are."""
    law = gaussian(size)
    asked = {"detailed": law} if exact else {"total": law, "detailed": law}
    assert warnings(Design("", values, (asked,), areas, exact), REHEARSALS, 12)[0] <= MOST


QUICK = [
    Design("tenth", 2, ({"total": gaussian("1/10"), "detailed": gaussian("1/10")},)),
    Design("one", 2, ({"total": gaussian("1"), "detailed": gaussian("1")},), 2),
    Design("nine", 4, ({"detailed": gaussian("9")},), 8, exact=True),
    Design("laplace", 3, ({"total": laplace("3")}, {"detailed": laplace("3")}), 6),
]


@pytest.mark.parametrize("design", QUICK, ids=lambda one: one.name)
def test_some_designs(design: Design) -> None:
    """5 of 5,000 are allowed; more than 17 are found with a chance of 6e-6."""
    assert warnings(design, 5000, 13)[0] <= 17


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_rehearsal_that_is_not_honest(factor: float) -> None:
    """The partner that must be rejected: wrong variances are warned of more often."""
    design = Design("", 4, ({"detailed": gaussian("9")},), 30, exact=True)
    assert warnings(design, 2000, 14, {"detailed": factor})[0] > 100


def wrong_query(leverage_in_percent: int) -> Design:
    """200 areas with a total and its five cells; the cells' variance makes the leverage of the totals."""
    share = leverage_in_percent / 100
    cells = gaussian(str(round(400 * share / (1 - share) / 5, 3)))
    return Design("", 5, ({"total": gaussian("400"), "detailed": cells},), 200)


@pytest.mark.parametrize("factor", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_a_wrong_variance_in_200_cells_is_found(factor: float) -> None:
    """At least 99 of 100, if the query's leverage is at most 0.05: 7 or fewer of 1,000 are missed when 1 %
    would be in 22 % of such tests; fewer are missed here."""
    missed = 1000 - warnings(wrong_query(5), 1000, 15, {"total": factor})[2]
    assert missed <= 7


def test_where_less_is_redundant_less_is_found() -> None:
    """Half of what is known of the totals comes from the totals: one can say little about their noise."""
    assert warnings(wrong_query(50), 500, 16, {"total": 0.5})[2] < 250


@pytest.mark.parametrize("seed", [1, 2])
def test_the_limits_are_those_of_the_code(seed: int) -> None:
    """The rehearsals above use dense matrices and limits found by bisection: the code itself agrees."""
    design = Design("", 3, ({"total": gaussian("9")}, {"total": gaussian("4"), "detailed": gaussian("2")}), 9)
    M, of, laws = design.dense()
    limit = limits(design)
    for scale in (1.0, 1.6, 0.3, 0.05):
        rng = np.random.default_rng(seed)
        noise = np.rint(scale * rng.normal(0, [law.true_variance() ** 0.5 for law in laws]))
        estimates = design.estimates(noise)
        residuals = Residuals(estimates, design.tree.kind)
        residuals.add_held()
        group = NamedResiduals(residuals, design.tree.levels, str, lambda _, cell: str(cell), (1,))
        fit = fit_of([group])
        r = M @ (noise / np.array([law.true_variance() ** 0.5 for law in laws]))
        assert fit.chi_square == pytest.approx(float(r @ r), rel=1e-9)
        assert fit.degrees_of_freedom == pytest.approx(float(np.trace(M)), rel=1e-9)
        low, high = limit.overall
        assert (fit.finding is not None) == (not low < r @ r < high)
        for one in fit.by_query:
            mine = [
                place
                for place, key in enumerate(of)
                if key[:2] == (design.tree.levels.index(one.level), one.query)
            ]
            found = float((r[mine] ** 2).sum())
            low, high = limit.by_query[design.tree.levels.index(one.level), one.query, 0]
            assert one.chi_square == pytest.approx(found, rel=1e-9)
            assert (one.finding is not None) == (not low < found < high)
        sizes = np.abs(r) / np.sqrt(np.diag(M))
        assert abs(fit.largest[0].standardised) == pytest.approx(float(sizes.max()), rel=1e-9)
        assert (fit.largest_finding is not None) == bool((sizes >= limit.largest).any())
