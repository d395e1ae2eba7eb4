"""Errors of released counts by level, old noise against reduced noise, on a synthetic population."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.budget.events import DiscreteGaussian
from discreet.noise import GaussianNoise, sample
from discreet.report.plots import BLUE, VERMILION
from discreet.studies.canvas import BLACK, canvas, legend_below
from discreet.studies.levels import level_events, reduced_factors
from discreet.studies.population import SEED, Integers, Population, population
from discreet.studies.study import PNAS, Floats, Study, difference, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.noise.entropy import Entropy

LEVELS = {"State": "State", "County": "County", "Tract": "Tract Subset", "Block": "Block"}
"""Levels of the population, and the levels of the allocation whose noise they get."""

PUBLISHED = {"State": 14.14, "County": 17.44, "Tract": 15.45, "Block": 24.78}
"""Percent of mean squared error saved without post-processing, by simulation, as published."""

MEASURES = ("MSE", "MAE")

DRAWS = 1_000_000
"""Noisy cells for each level and noise, at least."""


def noises() -> dict[str, tuple[Fraction, Fraction]]:
    """Return the variance of each level of the population, before and after the reduction.

    >>> [round(float(v), 2) for v in noises()["County"]]
    [16.12, 13.28]
    """
    events, factors = level_events(), reduced_factors()
    found = {}
    for name, level in LEVELS.items():
        first = events[level][0]
        assert isinstance(first, DiscreteGaussian)
        before = first.variance
        found[name] = (before, before * factors[level])
    return found


def accuracy(*, draws: int = DRAWS, seed: int = SEED) -> Study:
    """Compute mean squared and mean absolute errors by level, with and without non-negativity.

    Counts are those of `population`; the noise is exact discrete Gaussian noise, seeded.

    >>> study = accuracy(draws=20_000)
    >>> [row[0] for row in study.published()]
    ['State', 'County', 'Tract', 'Block']
    """
    from discreet.testing import NotPrivateSeededEntropy

    people = population(seed)
    source = NotPrivateSeededEntropy(seed + 1)
    rows = []
    for level, (before, after) in noises().items():
        expected = {
            measure: 100 * (1 - _moment(after, measure) / _moment(before, measure)) for measure in MEASURES
        }
        old = _errors(people, level, before, draws, source)
        new = _errors(people, level, after, draws, source)
        for place, (post, measure) in enumerate(
            (post, measure) for post in ("none", "non-negative") for measure in MEASURES
        ):
            (was, spread), (now, spread_now) = old[place], new[place]
            saved = 100 * (1 - now / was)
            error = 100 * (now / was) * math.hypot(spread / was, spread_now / now)
            theory = expected[measure] if post == "none" else None
            known = PUBLISHED[level] if (post, measure) == ("none", "MSE") else None
            rows.append(
                (level, post, measure, was, now, saved, error, theory, known, difference(saved, known))
            )
    return Study(
        "accuracy",
        "Errors of released counts with old and reduced noise: SYNTHETIC population",
        PNAS,
        (
            "level",
            "post_processing",
            "measure",
            "old_noise",
            "new_noise",
            "reduction_percent",
            "standard_error",
            "expected_percent",
            "published",
            "difference",
        ),
        table(rows),
        (
            f"The population is {people}; seed {seed}.",
            "Published values are simulations on other data, with a simulation error of their own. Without "
            "post-processing the expected reduction of the mean squared error is that of the variance.",
            "Expected values are those of the noise itself; with non-negativity they depend on the counts.",
        ),
    )


def draw_accuracy(study: Study) -> Figure:
    """Draw the reductions by level, for each measure and post-processing."""
    levels = [str(level) for level in study.distinct("level")]
    x = np.arange(len(levels))
    with canvas(study, (7.2, 3.5), 1, 2, sharey=True) as (figure, axes):
        for ax, measure in zip(axes, MEASURES, strict=True):
            part = study.where(measure=measure)
            raw, cut = part.where(post_processing="none"), part.where(post_processing="non-negative")
            for shift, one, colour, hatch, label in (
                (-0.19, raw, BLUE, "", "no post-processing, two standard errors"),
                (0.19, cut, VERMILION, "////", "non-negative, two standard errors"),
            ):
                ax.bar(
                    x + shift,
                    one.numbers("reduction_percent"),
                    0.36,
                    yerr=2 * one.numbers("standard_error"),
                    color=colour,
                    hatch=hatch,
                    edgecolor="white",
                    label=label,
                    error_kw={"linewidth": 0.8, "capsize": 2},
                )
            marks: dict[str, Any] = {"linestyle": "none", "color": BLACK}
            ax.plot(
                x - 0.19,
                raw.numbers("expected_percent"),
                marker="_",
                markersize=17,
                label="expected, no post-processing",
                **marks,
            )
            ax.plot(
                x - 0.3,
                raw.numbers("published"),
                marker="D",
                markersize=4,
                mfc="white",
                label="published (simulated, other data)",
                **marks,
            )
            ax.set_xticks(x, levels)
            ax.set_title("mean squared error" if measure == "MSE" else "mean absolute error")
            ax.grid(axis="x", visible=False)
        axes[0].set_ylabel("reduction, percent")
        legend_below(figure, axes[0], 2)
    return figure


def _errors(
    people: Population, level: str, variance: Fraction, draws: int, source: Entropy
) -> list[tuple[float, float]]:
    """Mean squared and absolute error with their standard errors, without and with non-negativity."""
    counts = people.levels[level].ravel()
    repeats = math.ceil(draws / counts.size)
    noise: Integers = sample(GaussianNoise(variance), (repeats, counts.size), source=source)
    result = []
    for shown in (counts + noise, np.maximum(counts + noise, 0)):
        error: Floats = (shown - counts).astype(np.float64)
        for values in (error**2, np.abs(error)):
            result.append((float(values.mean()), float(values.std() / math.sqrt(values.size))))
    return result


def _moment(variance: Fraction, measure: str) -> float:
    """E X^2 or E |X| of the noise."""
    law = GaussianNoise(variance)
    x = np.arange(1, math.ceil(12 * math.sqrt(variance)))
    return float(2 * (x ** (2 if measure == "MSE" else 1) * law.pmf(x)).sum())
