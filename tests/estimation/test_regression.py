"""Regression on noisy tables: equal to least squares without noise, and intervals that cover with it.

The simulations draw discrete Gaussian noise from a seed. Each design is judged by itself, not on average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import DiscreteGaussian, InputError, sample
from discreet.answers import describe
from discreet.estimation import NoisyRatio, Regression, noisy_ratio, regress
from discreet.estimation.least_squares import CorrectedFit, NoisyTable, _critical_value, corrected_fit
from discreet.estimation.regression import About, Concern
from discreet.render.csv import csv_of
from discreet.render.json import json_of
from discreet.render.text import text_of
from discreet.testing import NotPrivateSeededEntropy

Floats = NDArray[np.float64]

# -- simulated tables ----------------------------------------------------------------------------------------

SIZES = (4, 16, 64)
"""Variances of the noise of large, middle and small areas; 16 where all are alike."""


@dataclass(frozen=True)
class Design:
    """A line with slope 3 (and -2), `deviation` in units of the true x; `reliability` of x on average."""

    rows: int
    reliability: float
    deviation: float = 0.5
    by_size: bool = False
    weighted: bool = False
    y_noise: int = 0
    y_shares: bool = False
    two: bool = False
    about: str = "model"
    seed: int = 1

    @property
    def name(self) -> str:
        words = [
            f"{self.rows} rows",
            f"{100 * self.reliability:g} % not noise",
            f"deviation {self.deviation:g}",
        ]
        words += (
            ["by size"] * self.by_size + ["weighted"] * self.weighted + ["noise in y"] * bool(self.y_noise)
        )
        words += ["y shares noise"] * self.y_shares + ["two regressors"] * self.two
        return ", ".join([*words, self.about])

    def tables(self, runs: int) -> Iterator[tuple[NoisyTable, Floats]]:
        """Yield tables with fresh noise, many at a time, and the true coefficients."""
        draw, source = np.random.default_rng(self.seed), NotPrivateSeededEntropy(self.seed)
        columns = 2 if self.two else 1
        variance = np.array([SIZES[row % 3] if self.by_size else 16 for row in range(self.rows)])
        x = draw.normal(size=(self.rows, columns))
        x = (x - x.mean(axis=0)) / x.std(axis=0)
        if self.two:
            x[:, 1] = 0.6 * x[:, 0] + 0.8 * x[:, 1]
        odds = self.reliability / (1 - self.reliability)
        x *= np.sqrt(variance.mean() * odds * np.array([1, 2])[:columns])
        slopes = np.array([3.0, -2.0])[:columns]
        spread = np.zeros((self.rows, columns, columns))
        spread[:, range(columns), range(columns)] = variance[:, None]
        if self.two:  # the second is a whole of which the first is a part
            spread[:, 1, 1] *= 2
            spread[:, 0, 1] = spread[:, 1, 0] = variance
        of_y, shared = np.full(self.rows, float(self.y_noise)), np.zeros((self.rows, columns))
        if self.y_shares:
            of_y, shared = of_y + variance, spread[:, 0, :]
        weights = 20.0 / np.sqrt(variance) if self.weighted else np.ones(self.rows)
        line, deviation = 50 + x @ slopes, 3 * self.deviation * x[:, 0].std()
        truth = np.array([50.0, *slopes])
        if self.about == "table":
            line = line + deviation * draw.normal(size=self.rows)
            truth, deviation = weighted_line(line, x, weights), 0.0
        most = max(100, 500_000 // self.rows)
        for many in (min(most, runs - start) for start in range(0, runs, most)):
            y = line + deviation * draw.normal(size=(many, self.rows))
            noise = np.stack([drawn(variance, many, source) for _ in range(columns)], axis=-1)
            if self.two:
                noise[..., 1] += noise[..., 0]
            if self.y_noise:
                y = y + drawn(np.full(self.rows, self.y_noise), many, source)
            if self.y_shares:
                y = y + noise[..., 0]
            yield NoisyTable(y, x + noise, weights, of_y, spread, shared), truth

    def fits(self, runs: int) -> Iterator[tuple[CorrectedFit, Floats]]:
        for table, truth in self.tables(runs):
            yield corrected_fit(table, level=0.95, of_table=self.about == "table"), truth

    def coverage(self, runs: int) -> tuple[Floats, Floats]:
        """Return how often intervals of the slopes cover, unbounded ones included, and how often they are."""
        covered, bounded = [], []
        for fit, truth in self.fits(runs):
            covered.append((fit.lower <= truth) & (truth <= fit.upper) | ~fit.bounded)
            bounded.append(fit.bounded)
        inside, with_ends = np.concatenate(covered), np.concatenate(bounded)
        return inside.mean(axis=0)[1:], 1 - with_ends.mean(axis=0)[1:]


def drawn(variance: NDArray[np.int64], runs: int, source: NotPrivateSeededEntropy) -> NDArray[np.int64]:
    """Noise for each row by its variance, for many tables."""
    noise = np.empty((runs, variance.size), dtype=np.int64)
    for value in np.unique(variance):
        mine = np.flatnonzero(variance == value)
        noise[:, mine] = sample(DiscreteGaussian(variance=int(value)), (runs, mine.size), source=source)
    return noise


def weighted_line(y: Floats, x: Floats, weights: Floats) -> Floats:
    z = np.column_stack([np.ones(len(y)), x])
    return np.asarray(np.linalg.solve(z.T @ (weights[:, None] * z), z.T @ (weights * y)))


DESIGNS = [
    Design(30, 0.99),
    Design(30, 0.9),
    Design(30, 0.8, 0.05),
    Design(30, 0.7),
    Design(30, 0.8, by_size=True, weighted=True),
    Design(30, 0.9, by_size=True, y_noise=200),
    Design(30, 0.9, two=True),
    Design(100, 0.5),
    Design(100, 0.5, 0.05),
    Design(100, 0.8, by_size=True),
    Design(100, 0.8, by_size=True, weighted=True, y_noise=50, two=True),
    Design(100, 0.8, y_shares=True),
    Design(1000, 0.5, 0.2, by_size=True),
    Design(1000, 0.99, by_size=True, weighted=True),
    Design(1000, 0.8, 0.2, by_size=True, weighted=True, two=True),
    Design(30, 0.9, about="table"),
    Design(30, 0.7, about="table"),
    Design(100, 0.5, about="table"),
    Design(100, 0.8, by_size=True, weighted=True, y_noise=50, two=True, about="table"),
    Design(1000, 0.8, by_size=True, y_shares=True, about="table"),
]

UNEVEN = [
    Design(30, 0.8, by_size=True),
    Design(100, 0.7, by_size=True),
    Design(30, 0.8, by_size=True, about="table"),
]
"""A third of the rows has most of the noise, and no weights make up for it."""


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_intervals_cover_in_every_design(design: Design) -> None:
    """10,000 tables: 94 to 96 % (the standard error of a simulated 95 % is 0.22 %)."""
    covered, unbounded = design.coverage(10_000)
    print(design.name, 100 * covered, 100 * unbounded)
    assert (covered >= 0.94).all(), covered
    assert (covered <= 0.96).all(), covered
    assert (unbounded < 0.01).all()


@pytest.mark.slow
@pytest.mark.parametrize("design", UNEVEN, ids=lambda design: design.name)
def test_intervals_cover_where_few_rows_have_the_noise(design: Design) -> None:
    """10,000 tables: 94 to 97 %, a little more than they say."""
    covered, unbounded = design.coverage(10_000)
    print(design.name, 100 * covered, 100 * unbounded)
    assert (covered >= 0.94).all(), covered
    assert (covered <= 0.97).all(), covered


@pytest.mark.slow
@pytest.mark.parametrize("about", ["model", "table"])
def test_half_noise_in_thirty_rows_is_admitted(about: str) -> None:
    """A third of such tables allow no bounded interval; those that do cover at least as often as they say."""
    design = Design(30, 0.5, about=about)
    covered, unbounded = design.coverage(10_000)
    print(design.name, 100 * covered, 100 * unbounded)
    assert (covered >= 0.945).all(), covered
    assert (unbounded > 0.2).all()
    assert (unbounded < 0.5).all()
    assert (1 - (1 - covered) / (1 - unbounded) >= 0.94).all()


def test_intervals_cover_and_naive_slopes_do_not() -> None:
    """2,000 tables, standard error 0.5 %."""
    design = Design(30, 0.8, seed=3)
    covered, unbounded = design.coverage(2000)
    assert 0.935 <= covered[0] <= 0.965
    assert unbounded[0] < 0.01
    (fit, truth), *_ = design.fits(2000)
    # the naive slope is a fifth too flat
    assert abs(fit.naive[:, 1].mean() / truth[1] - 0.8) < 0.06
    assert abs(np.median(fit.coefficients[:, 1]) / truth[1] - 1) < 0.02


@pytest.mark.parametrize("about", ["model", "table"])
def test_standard_errors_are_those_of_a_simulation(about: str) -> None:
    design = Design(200, 0.9, by_size=True, weighted=True, y_noise=30, two=True, about=about, seed=5)
    (fit, truth), *_ = design.fits(1000)
    mean, spread = fit.coefficients.mean(axis=0), fit.coefficients.std(axis=0)
    assert (np.abs(mean - truth) < 4 * spread / math.sqrt(1000) + 0.05 * spread).all()
    # the standard deviation of 1,000 draws is known to 2.2 %
    assert np.allclose(fit.errors.mean(axis=0), spread, rtol=0.09)
    seen = np.cov(fit.coefficients, rowvar=False)
    assert np.allclose(fit.covariance.mean(axis=0), seen, rtol=0.2, atol=0.1 * spread.max() * spread.min())


# -- what it equals ------------------------------------------------------------------------------------------


def table_of(rows: int = 40, *, seed: int = 7) -> dict[str, Floats]:
    draw = np.random.default_rng(seed)
    x, z = draw.normal(size=rows), draw.normal(size=rows)
    y = 1 + 2 * x - z + draw.normal(size=rows)
    return {"y": y, "x": x + 0.3 * z, "z": z, "w": draw.uniform(1, 3, rows)}


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("noise", [{}, {"x": 0.0, "y": 0}])
def test_without_noise_it_is_least_squares_with_the_hc3_sandwich(
    weights: str | None, noise: dict[str, float]
) -> None:
    frame = table_of()
    found = regress(frame, "y", ["x", "z"], noise=noise, weights=weights)
    w = frame["w"] if weights else np.ones(40)
    z = np.column_stack([np.ones(40), frame["x"], frame["z"]])
    inverse = np.linalg.inv(z.T @ (w[:, None] * z))
    beta = inverse @ z.T @ (w * frame["y"])
    residual = frame["y"] - z @ beta
    leverage = w * ((z @ inverse) * z).sum(axis=1)
    meat = (z * ((w * residual) / (1 - leverage))[:, None] ** 2).T @ z
    coefficients = (found.intercept, *found.slopes)
    assert np.allclose([one.estimate for one in coefficients], beta, rtol=1e-12)
    assert np.allclose([one.naive for one in coefficients], beta, rtol=1e-12)
    assert np.allclose(np.array(found.covariance), inverse @ meat @ inverse, rtol=1e-10)
    assert [one.reliability for one in found.slopes] == [1.0, 1.0]
    assert [one.strength for one in found.slopes] == [math.inf, math.inf]
    for one in coefficients:
        assert one.estimate is not None
        assert one.lower is not None
        assert one.upper is not None
        assert math.isclose(one.upper - one.estimate, one.estimate - one.lower, rel_tol=1e-9)
    assert found.concerns == ()


def test_one_slope_is_the_textbook_formula() -> None:
    frame = table_of()
    found = regress(frame, "y", "x", noise={"x": 0.2, "y": 0.4}, covariances={("y", "x"): 0.1})
    x, y = frame["x"], frame["y"]
    slope = found.slope("x")
    variance, both = np.var(x, ddof=1), np.cov(x, y)[0, 1]
    assert slope.estimate is not None
    assert slope.reliability is not None
    assert math.isclose(slope.estimate, (both - 0.1) / (variance - 0.2), rel_tol=1e-12)
    assert math.isclose(slope.reliability, 1 - 0.2 / variance, rel_tol=1e-12)
    assert math.isclose(slope.naive, both / variance, rel_tol=1e-12)
    plain = regress(frame, "y", "x", noise={"x": 0.2}).slope("x")
    assert plain.estimate is not None
    assert plain.reliability is not None
    assert math.isclose(plain.naive, plain.reliability * plain.estimate, rel_tol=1e-12)


@pytest.mark.parametrize("about", ["model", "table"])
@pytest.mark.parametrize(("a", "b", "c", "d"), [(3.0, 1e6, 0.01, -400.0), (-2.0, 5.0, -7.0, 1e5)])
def test_other_units_change_nothing_else(a: float, b: float, c: float, d: float, about: str) -> None:
    frame = table_of()
    noise, shared = {"x": 0.15, "y": 0.3}, {("x", "y"): 0.1}
    found = regress(frame, "y", ["x", "z"], noise=noise, covariances=shared, about=about)
    moved = {**frame, "y": a * frame["y"] + b, "x": c * frame["x"] + d}
    other = regress(
        moved,
        "y",
        ["x", "z"],
        noise={"x": 0.15 * c * c, "y": 0.3 * a * a},
        covariances={("x", "y"): 0.1 * a * c},
        about=about,
    )
    for name, factor in (("x", a / c), ("z", a)):
        here, there = found.slope(name), other.slope(name)
        assert here.estimate is not None
        assert there.estimate is not None
        assert math.isclose(there.estimate, factor * here.estimate, rel_tol=1e-7)
        ends = sorted(factor * end for end in (here.lower, here.upper) if end is not None)
        assert len(ends) == 2
        assert np.allclose([there.lower, there.upper], ends, rtol=1e-6)
        assert there.strength == pytest.approx(here.strength, rel=1e-6)
    assert other.intercept.estimate is not None
    assert found.intercept.estimate is not None
    at_zero = a * found.intercept.estimate + b - (a / c) * (found.slope("x").estimate or 0) * d
    assert math.isclose(other.intercept.estimate, at_zero, rel_tol=1e-6)


def test_weights_count_by_their_ratios() -> None:
    frame = table_of()
    one = regress(frame, "y", "x", noise={"x": 0.1}, weights="w")
    ten = regress({**frame, "w": 10 * frame["w"]}, "y", "x", noise={"x": 0.1}, weights="w")
    assert one.slope("x").lower == pytest.approx(ten.slope("x").lower, rel=1e-9)
    assert one.residual_variance == pytest.approx(ten.residual_variance, rel=1e-9)


def test_many_tables_at_once_are_each_of_them() -> None:
    (table, _), *_ = Design(30, 0.8, two=True, y_noise=20).tables(3)
    many = corrected_fit(table, level=0.9, of_table=False)
    for place in range(3):
        frame = {
            "y": table.y[place],
            "a": table.x[place, :, 0],
            "b": table.x[place, :, 1],
            "n": table.x_noise[:, 0, 0],
        }
        found = regress(
            frame,
            "y",
            ["a", "b"],
            noise={"a": "n", "b": 32, "y": 20},
            covariances={("b", "a"): "n"},
            level=0.9,
        )
        ends = [(one.lower, one.upper) for one in (found.intercept, *found.slopes)]
        assert np.allclose(ends, np.column_stack([many.lower[place], many.upper[place]]), rtol=1e-9)


def test_the_table_without_noise_is_known() -> None:
    slope = regress(table_of(), "y", "x", noise={}, about="table").slope("x")
    assert slope.error == 0
    assert slope.lower == slope.estimate == slope.upper


@pytest.mark.parametrize("parts", [[0.5, 0.3, 0.2], [0.7, *[0.01] * 30], list(np.arange(1, 13) / 50)])
def test_critical_values_are_those_of_a_simulation(parts: list[float]) -> None:
    draw = np.random.default_rng(2)
    sandwich = (draw.chisquare(1, size=(200_000, len(parts))) * parts).sum(axis=1)
    statistic = np.abs(draw.normal(size=200_000)) / np.sqrt(sandwich)
    critical = float(_critical_value(np.array(parts), 0.05))
    # accepted within four standard errors; a value 3 % off is not
    assert abs((statistic > critical).mean() - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 200_000)
    assert abs((statistic > 1.04 * critical).mean() - 0.05) > 4 * math.sqrt(0.05 * 0.95 / 200_000)


# -- where nothing can be said -------------------------------------------------------------------------------


def test_noise_as_large_as_the_variation_leaves_nothing() -> None:
    frame = table_of()
    found = regress(frame, "y", "x", noise={"x": 2 * float(np.var(frame["x"]))})
    slope = found.slope("x")
    assert found.concerns == (Concern.NOT_DETERMINED,)
    assert (slope.estimate, slope.error, slope.lower, slope.upper, slope.strength) == (None,) * 5
    assert slope.naive == regress(frame, "y", "x", noise={}).slope("x").estimate
    assert slope.reliability is not None
    assert slope.reliability < 0
    assert found.covariance is None
    assert "not determined" in str(found)
    assert "vary less than their noise" in "\n".join(text_of(describe(found)))


def test_an_interval_without_ends_is_said_to_be_one() -> None:
    frame = table_of()
    found = regress(frame, "y", "x", noise={"x": 0.8 * float(np.var(frame["x"]))})
    slope = found.slope("x")
    assert {Concern.UNBOUNDED, Concern.WEAK} <= set(found.concerns)
    assert slope.estimate is not None
    assert slope.strength is not None
    assert slope.strength < 1.96
    assert (slope.lower, slope.upper, found.intercept.lower) == (None, None, None)
    assert "no bounded interval" in str(found)
    assert "unbounded" in found._repr_html_()


def test_other_concerns() -> None:
    frame = table_of()
    far = {**frame, "x": np.append(frame["x"][:-1], 100.0)}
    assert Concern.FEW_ROWS_DECIDE in regress(far, "y", "x", noise={}).concerns
    assert regress(frame, "y", "x", noise={"y": 50}).concerns == (Concern.LESS_THAN_NOISE,)


def test_honest_noise_raises_no_concern() -> None:
    """Nothing deviates but by noise: the variance beyond it is below zero half of the time."""
    below, alarms = [], []
    for fit, _ in Design(100, 0.9, 0.0).fits(2000):
        below.append(fit.residual_variance < 0)
        alarms.append(fit.residual_variance < -3 * fit.residual_variance_error)
    assert 0.4 < np.concatenate(below).mean() < 0.65
    assert np.concatenate(alarms).mean() < 0.005


# -- ratios --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [130, 400])
@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("is_part", [True, False])
def test_ratios_have_the_mean_and_variance_of_a_simulation(whole: int, share: float, is_part: bool) -> None:
    source, many, part = NotPrivateSeededEntropy(4), 200_000, round(share * whole)
    tops = part + sample(DiscreteGaussian(variance=25), many, source=source)
    rest = sample(DiscreteGaussian(variance=125 if is_part else 150), many, source=source)
    bottoms = whole + rest + (tops - part if is_part else 0)
    found = noisy_ratio(tops, bottoms, part_variance=25, whole_variance=150, covariance=25 if is_part else 0)
    assert found.steady.mean() > 0.99
    value, variance = found.value[found.steady], found.variance[found.steady]
    spread = value.std()
    assert abs(value.mean() - part / whole) < 0.02 * spread
    assert abs(variance.mean() / spread**2 - 1) < 0.04
    if not is_part:  # the plain ratio is off by more
        assert abs((tops / bottoms).mean() - part / whole) > abs(value.mean() - part / whole)


def test_unsteady_ratios_have_no_number() -> None:
    found = noisy_ratio([3, 3, 3], [0, -90, 90], part_variance=1, whole_variance=100)
    assert isinstance(found, NoisyRatio)
    assert found.steady.tolist() == [False, False, True]
    assert np.isnan(found.value).tolist() == [True, True, False]
    with pytest.raises(InputError, match=r"share is not a finite number \(rows 1 and 2 of frame"):
        regress({"y": [1.0, 2, 3], "share": found.value}, "y", "share", noise={})
    exact = noisy_ratio([3], [9], part_variance=0, whole_variance=0)
    assert (exact.value.tolist(), exact.variance.tolist()) == ([3 / 9], [0.0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"part_variance": -1}, "below zero"),
        ({"covariance": 9}, "larger than the variances"),
        ({"part_variance": [1, 2, 3]}, "columns of one length"),
        ({"part_variance": "few"}, "must be numbers"),
    ],
)
def test_ratios_refuse(wrong: dict[str, object], message: str) -> None:
    options = {"part_variance": 4, "whole_variance": 5, "covariance": 0, **wrong}
    with pytest.raises(InputError, match=message):
        noisy_ratio([3, 4], [90, 90], **options)  # type: ignore[arg-type]


# -- tables in, and what is refused --------------------------------------------------------------------------


def test_any_table_gives_the_same(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa

    frame = table_of()
    options = {"noise": {"x": 0.1, "y": "w"}}
    found = regress(frame, "y", ["x", "z"], **options)  # type: ignore[arg-type]
    frames = [pd.DataFrame(frame), pa.table(frame), {name: list(one) for name, one in frame.items()}]
    file = tmp_path / "table.csv"
    pd.DataFrame(frame).to_csv(file, index=False)
    for other in [*frames, file]:
        assert regress(other, "y", ["x", "z"], **options) == found  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": "q"}, "frame has no column q"),
        ({"x": []}, "x is empty"),
        ({"x": ["x", "y"]}, "a column is used twice"),
        ({"noise": {"z": 1}}, "noise is given for 'z', which is neither y nor x"),
        ({"noise": {"x": -1}}, "the noise of x is -1: a variance is below zero"),
        ({"noise": {"x": "z"}}, r"a variance is below zero \(rows .* of frame, field z\)"),
        ({"noise": {"x": math.nan}}, "the noise of x is nan; a number, or the name of a column"),
        ({"covariances": {("x", "y"): 0.1}}, "a covariance is given with 'y', for which there is no noise"),
        ({"covariances": {"xy": 0.1}}, "a pair such as"),
        ({"noise": {"x": 0.1, "y": 0.1}, "covariances": {("x", "y"): 0.2}}, "a covariance is too large"),
        (
            {"noise": {"x": 0.1, "y": 0.1}, "covariances": {("x", "y"): 0.01, ("y", "x"): 0.01}},
            "given twice",
        ),
        ({"weights": "z"}, r"a weight is not above zero \(rows"),
        ({"level": 1}, "level is 1; it must lie strictly between 0 and 1"),
        ({"about": "areas"}, 'about is \'areas\'; "model" or "table" is needed'),
        ({"x": ["x", "twice"]}, "one of x, twice is constant, or a linear combination"),
        ({"x": "same"}, "one of same is constant"),
        ({"x": "text"}, "column text of frame is of type"),
        ({"x": "gaps"}, r"gaps is not a finite number \(row 4 of frame"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, object], message: str) -> None:
    frame = table_of()
    gaps = frame["x"].copy()
    gaps[3] = np.nan
    frame = {**frame, "twice": 2 * frame["x"], "same": np.ones(40), "gaps": gaps}
    options = {"x": "x", "noise": {}, **change}
    if "covariances" in change and "noise" not in change:
        options["noise"] = {"x": 0.1}
    with pytest.raises(InputError, match=message):
        regress({**frame, "text": ["a"] * 40}, "y", **options)  # type: ignore[arg-type]


def test_tables_that_are_too_small_or_ragged_are_refused() -> None:
    with pytest.raises(InputError, match="there are 3 rows; 1 regressors need at least 4"):
        regress({"y": [1, 2, 4], "x": [1, 2, 3]}, "y", "x", noise={})
    with pytest.raises(InputError, match="differ in their number of rows: y has 2, x has 3"):
        regress({"y": [1, 2], "x": [1, 2, 3]}, "y", "x", noise={})
    with pytest.raises(InputError, match="column x of frame has 2 dimensions"):
        regress({"y": [1, 2], "x": [[1, 2], [3, 4]]}, "y", "x", noise={})
    with pytest.raises(InputError, match="there is no regressor 'q'; there are x"):
        regress(table_of(), "y", "x", noise={}).slope("q")


# -- every surface -------------------------------------------------------------------------------------------


def test_every_surface_says_the_same() -> None:
    found = regress(table_of(), "y", ["x", "z"], noise={"x": 0.1}, weights="w", about="table")
    assert isinstance(found, Regression)
    assert found.about is About.TABLE
    answer = describe(found)
    shown = answer.tables["coefficients"].cells
    text = "\n".join(text_of(answer))
    html = found._repr_html_()
    for cell in (cell for row in shown for cell in row if cell):
        assert cell in text
        assert cell.replace("-", "−") in html  # pages have a minus sign
    assert shown[1][1] in str(found)
    assert "weighted by w" in text
    assert f'"estimate": {found.slopes[0].estimate}' in json_of(answer)
    assert csv_of(answer.tables["coefficients"]).splitlines()[0].startswith("name,estimate,standard_error")
    assert answer.objects["concerns"] == []
