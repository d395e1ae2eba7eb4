"""Tails and quantiles on a grid, against the exact ones: the bounds of `GridTails` hold, and are close."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.disclosure.beliefs import QUANTILES
from discreet.loss import quantiles
from discreet.loss.grids import GridTails
from discreet.loss.lattice import Loss
from discreet.loss.quantiles import both_tails, loss_tails
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

LAWS = [
    [DiscreteGaussian(variance="1.828"), DiscreteGaussian(variance="4.0217")],
    [DiscreteLaplace(scale="0.7071", times=2), DiscreteGaussian(variance="3.14159")],
    [DiscreteGaussian(variance=5, times=10)],
    [DiscreteLaplace(scale=1)],  # three values of the loss: thresholds that are atoms
    [DiscreteGaussian(variance=Fraction(v, 97), times=9) for v in (3001, 5003, 7919)],
]


@pytest.mark.parametrize("size", [2**11, 2**16])
@pytest.mark.parametrize("events", LAWS)
def test_tails_lie_between_the_bounds_of_a_grid(events: list[Noise], size: int) -> None:
    loss = compose(events)
    deviation = math.sqrt(loss.variance)
    atoms = [float(loss.law.loss.offset + k * loss.law.loss.step) for k in range(-2, 3)]
    points = np.unique([*(loss.mean + deviation * np.linspace(-3, 3, 31)), *atoms, 0.0])
    grid = GridTails.of(Loss(events), size)
    for null in (False, True):
        lower, upper = grid.at(points, null=null)
        law = "null" if null else "alternative"
        true = np.asarray(loss.tail(above=[Fraction(point) for point in points], under=law))
        assert (lower <= true + 1e-14).all()
        assert (true <= upper + 1e-14).all()
        # the bounds are tails of thresholds that are close: no more than lies in between
        near = [
            np.asarray(loss.tail(above=[Fraction(p + side) for p in points], under=law))
            for side in (-2.01 * grid.apart, 2.01 * grid.apart)
        ]
        assert (upper <= near[0] + 1e-11).all()
        assert (lower >= near[1] - 1e-11).all()


@pytest.mark.parametrize("size", [2**11, 2**16])
@pytest.mark.parametrize("events", LAWS)
def test_quantiles_of_a_grid_are_close_bounds(events: list[Noise], size: int) -> None:
    loss, grid = compose(events), GridTails.of(Loss(events), size)
    found = grid.quantiles(np.array(QUANTILES))
    for chance, mark in zip(QUANTILES, found.tolist(), strict=True):
        assert float(loss.tail(above=Fraction(mark))) <= 1 - chance + 1e-12
        # (below a quantile more lies above)
        assert float(loss.tail(above=Fraction(mark - 3.01 * grid.apart))) > 1 - chance - 1e-12
    assert grid.apart < 500 * math.sqrt(loss.variance) / size


@pytest.mark.parametrize("events", LAWS[:2])
def test_a_law_with_no_usable_lattice_that_is_not_smooth_is_bounded_by_a_grid(
    events: list[Noise], monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = compose(events)
    exact = loss.law.quantiles(QUANTILES)
    points = np.array([-0.3, 0.0, 0.7])
    true = both_tails(loss.law, points)
    monkeypatch.setattr(quantiles, "_is_fine", lambda loss: True)
    apart = 1e-4 * math.sqrt(loss.variance)
    found = loss.law.quantiles(QUANTILES)
    assert (exact <= found + 1e-12).all()
    assert (found <= exact + 3 * apart).all()
    for one, bound, tails in zip(true, both_tails(loss.law, points), (False, True), strict=True):
        assert (one <= bound + 5e-9).all()  # by differences where the law happens to be flat
        np.testing.assert_array_equal(bound, loss_tails(loss.law, points, null=tails))


@pytest.mark.slow
def test_quantiles_of_a_level_of_two_releases_are_bounds() -> None:
    """The nation's counts in both 2020 releases: seven kinds of noise whose losses have no common step.

    From delta alone: delta is convex with slope -e^t P0[L > t], so the fall of delta over [t, t + h], divided
    by h, and delta(t) add up to a tail between P[L > t + h] and P[L > t].
    """
    releases = [load("pl94-2020-persons"), load("dhc-2020")]
    events = [row.event for r in releases for row in r.run_table(("US",))] * 2
    loss = compose(events)
    deviation = math.sqrt(loss.variance)
    assert float(loss.law.loss.step) < 1e-15
    marks, h = loss.law.quantiles(QUANTILES), 1e-5 * deviation

    def tails(points: np.ndarray) -> np.ndarray:
        here, there = (np.asarray(loss.delta(epsilon=points + side)) for side in (0.0, h))
        return np.asarray(here + (here - there) / h)

    above = 1 - np.array(QUANTILES)
    assert (tails(marks) <= above + 1e-6).all()
    assert (tails(marks - 1e-3 * deviation) > above).all()
