"""How often intervals of a corrected slope cover, in designs that the method was not chosen by.

The designs were written down before any of them was run, FURTHER in part after a first look. The true
regressors are drawn again in every table, so that no lucky or unlucky set of them decides. The method as it
was (HC2, and a correction of the width in full) covered 94.0 to 95.2 % in all of SIMPLE, and 93.2 to 93.9 in
five others. HC3, and the correction by the part of residuals that is noise, were chosen on these designs with
other seeds than those here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import DiscreteGaussian, DiscreteLaplace
from discreet.estimation.least_squares import NoisyTable, corrected_fit
from discreet.noise import Noise

Floats = NDArray[np.float64]

SIZES = np.array([4.0, 16.0, 64.0])
LAPLACE = DiscreteLaplace(scale="2.793")


@dataclass(frozen=True)
class Design:
    """Rows whose regressors, deviations and noise are drawn in each table; `reliability` is the part of the
    variation of x that is not noise."""

    name: str
    rows: int
    reliability: float
    seed: int
    x: str = "normal"
    deviations: str = "normal"
    deviation: float = 0.5
    noise: str = "gaussian"
    regressors: int = 1
    correlation: float = 0.0
    weights: str = "equal"
    y_noise: int = 0
    about: str = "model"
    by_size: bool = False

    def covered(self, runs: int) -> tuple[Floats, Floats]:
        """Return how often the intervals of the slopes cover, and how often they are unbounded."""
        draw = np.random.default_rng(self.seed)
        weights = np.ones(self.rows)
        if self.weights == "uniform":
            weights = draw.uniform(1, 4, size=self.rows)
        sizes = SIZES[np.arange(self.rows) % 3] if self.by_size else np.full(self.rows, 16.0)
        laws: dict[float, Noise] = {
            size: DiscreteGaussian(variance=int(size)) if self.noise == "gaussian" else LAPLACE
            for size in set(sizes)
        }
        known = np.array([laws[size].true_variance() for size in sizes])
        spread = known[:, None, None] * np.eye(self.regressors)
        scale = np.sqrt(sizes.mean() * self.reliability / (1 - self.reliability))
        inside, unbounded = [], []
        step = max(100, 500_000 // self.rows // self.regressors)
        for many in (min(step, runs - start) for start in range(0, runs, step)):
            x = scale * self._regressors(draw, (many, self.rows, self.regressors))
            y = 50 + x @ np.array([3.0, -2.0, 1.0])[: self.regressors]
            y += 3 * self.deviation * scale * self._deviations(draw, x[..., 0] / scale)
            truth = np.broadcast_to([50.0, 3.0, -2.0, 1.0][: self.regressors + 1], (many, 1 + x.shape[-1]))
            if self.about == "table":
                truth = lines(y, x, weights)
            noise = np.empty(x.shape)
            for size, law in laws.items():
                mine = np.flatnonzero(sizes == size)
                noise[:, mine] = drawn(law, draw, (many, mine.size, self.regressors))
            if self.y_noise:
                y = y + drawn(DiscreteGaussian(variance=self.y_noise), draw, y.shape)
            none = np.zeros((self.rows, self.regressors))
            table = NoisyTable(y, x + noise, weights, np.full(self.rows, float(self.y_noise)), spread, none)
            fit = corrected_fit(table, level=0.95, of_table=self.about == "table")
            inside.append((fit.lower <= truth) & (truth <= fit.upper) | ~fit.bounded)
            unbounded.append(~fit.bounded)
        return np.concatenate(inside).mean(axis=0)[1:], np.concatenate(unbounded).mean(axis=0)[1:]

    def _regressors(self, draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        if self.x == "uniform":
            return draw.uniform(-np.sqrt(3), np.sqrt(3), size=shape)
        if self.x == "binary":
            return ((draw.random(shape) < 0.3) - 0.3) / np.sqrt(0.21)
        normal = draw.normal(size=shape)
        if self.correlation:
            shared = draw.normal(size=(*shape[:-1], 1))
            normal = np.sqrt(1 - self.correlation) * normal + np.sqrt(self.correlation) * shared
        if self.x == "lognormal":
            return np.asarray((np.exp(normal / 2) - np.exp(1 / 8)) / np.sqrt(np.exp(0.5) - np.exp(0.25)))
        return normal

    def _deviations(self, draw: np.random.Generator, x: Floats) -> Floats:
        if self.deviations == "laplace":
            return draw.laplace(size=x.shape) / np.sqrt(2)
        normal = draw.normal(size=x.shape)
        return normal * (0.5 + np.abs(x)) / 1.2 if self.deviations == "growing" else normal


def drawn(law: Noise, draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    sums = np.cumsum(law.pmf(np.arange(-400, 401)))
    return np.searchsorted(sums / sums[-1], draw.random(shape)) - 400.0


def lines(y: Floats, x: Floats, weights: Floats) -> Floats:
    z = np.concatenate([np.ones((*x.shape[:-1], 1)), x], axis=-1)
    turned = np.swapaxes(z * weights[:, None], -1, -2)
    return np.asarray(np.linalg.solve(turned @ z, turned @ y[..., None])[..., 0])


SIMPLE = [
    *(
        Design(f"{rows} rows, {reliability} not noise", rows, reliability, 50001 + 3 * i + j)
        for i, rows in enumerate((30, 50, 100, 300))
        for j, reliability in enumerate((0.95, 0.8, 0.7))
    ),
    *(
        design
        for rows, seed in ((50, 50013), (200, 50017))
        for design in (
            Design(f"{rows} rows, two regressors", rows, 0.8, seed, regressors=2),
            Design(f"{rows} rows, weights", rows, 0.8, seed + 1, weights="uniform"),
            Design(f"{rows} rows, noise in y", rows, 0.8, seed + 2, y_noise=100),
            Design(f"{rows} rows, about the table", rows, 0.8, seed + 3, about="table"),
        )
    ),
]

FURTHER = [
    Design("25 rows", 25, 0.9, 9042, deviation=0.3),
    Design("80 rows", 80, 0.75, 9040, deviation=0.3),
    Design("uniform x", 40, 0.85, 9047, x="uniform"),
    Design("lognormal x", 100, 0.9, 9048, x="lognormal"),
    Design("binary x", 60, 0.8, 9023, x="binary"),
    Design("Laplace deviations", 100, 0.85, 9049, deviations="laplace"),
    Design("three regressors", 100, 0.9, 9050, regressors=3, correlation=0.2),
    Design("Laplace noise", 100, 0.9, 9051, noise="laplace"),
]

BEYOND = [
    Design("deviations that grow with x", 60, 0.8, 9025, deviations="growing"),
    Design("Laplace noise, a fifth of the variation", 60, 0.8, 9026, noise="laplace"),
    Design("three correlated regressors, a fifth noise", 60, 0.8, 9027, regressors=3, correlation=0.5),
    Design("most noise in a third of the rows", 60, 0.8, 9028, by_size=True),
    Design("15 rows", 15, 0.9, 9038),
]
"""Where 94 to 96 % are not reached, or only just; the documentation says so."""


@pytest.mark.slow
@pytest.mark.parametrize("design", [*SIMPLE, *FURTHER], ids=lambda design: design.name)
def test_new_designs_cover(design: Design) -> None:
    """10,000 tables each, standard error 0.22 %: 94 to 96 %, less a little for chance."""
    covered, unbounded = design.covered(10_000)
    print(design.name, 100 * covered, 100 * unbounded)
    assert (covered >= 0.938).all(), covered
    assert (covered <= 0.96).all(), covered


@pytest.mark.slow
@pytest.mark.parametrize("design", BEYOND, ids=lambda design: design.name)
def test_where_intervals_are_less_good_they_are_not_bad(design: Design) -> None:
    covered, unbounded = design.covered(10_000)
    print(design.name, 100 * covered, 100 * unbounded)
    assert (covered >= 0.93).all(), covered
    assert (covered <= 0.97).all(), covered


def test_a_simple_design_covers_and_one_with_too_little_noise_stated_does_not() -> None:
    """2,000 tables, standard error 0.5 %: 93.5 to 96.5 fails once in 500 times at 95 %."""
    design = Design("quick", 50, 0.8, 77)
    covered, _ = design.covered(2000)
    assert 0.935 <= covered[0] <= 0.965
    draw = np.random.default_rng(77)
    x = 8 * draw.normal(size=(2000, 50, 1))
    y = 3 * x[..., 0] + 12 * draw.normal(size=(2000, 50))
    seen = x + drawn(DiscreteGaussian(variance=16), draw, x.shape)
    stated = np.full((50, 1, 1), 8.0)  # half of what it is
    table = NoisyTable(y, seen, np.ones(50), np.zeros(50), stated, np.zeros((50, 1)))
    fit = corrected_fit(table, level=0.95, of_table=False)
    assert ((fit.lower[:, 1] <= 3) & (fit.upper[:, 1] >= 3)).mean() < 0.9
