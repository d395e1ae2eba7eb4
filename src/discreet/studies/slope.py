"""What noise does to a regression: median earnings on the share of adults with a bachelor's degree.

For each type of area, six counts of adults by education (the last two: bachelor's, graduate) get the noise
of that level and are cut at zero; the share is computed from the noisy counts, and the slope of earnings on
it by least squares over all areas of the type with adults in them. The population is synthetic:

- adults are 70 percent of `population`'s people, rounded;
- a tract's chance of a degree is 0.05 + 0.6 u^1.5, u uniform; its adults have degrees by that chance;
- median earnings, in thousand dollars, are 20 + 60 times the true share plus normal noise of deviation 4.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.noise import GaussianNoise, sample
from discreet.report.plots import BLUE, VERMILION
from discreet.studies.accuracy import noises
from discreet.studies.canvas import canvas, legend_below
from discreet.studies.population import SEED, Integers, Uniforms, population
from discreet.studies.study import PNAS, Floats, Study, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.noise.entropy import Entropy

REPEATS = 2000
SLOPE, INTERCEPT, DEVIATION = 60.0, 20.0, 4.0
_BELOW = np.array([0.15, 0.35, 0.3, 0.2])  # of those without a degree: four kinds of education
_ABOVE = np.array([0.65, 0.35])


def slope(*, repeats: int = REPEATS, seed: int = SEED) -> Study:
    """Compute the mean absolute error of the slope by type of area, under old and reduced noise.

    >>> study = slope(repeats=20)
    >>> [row[0] for row in study.rows]
    ['State', 'County', 'Tract', 'Block']
    """
    from discreet.testing import NotPrivateSeededEntropy

    source = NotPrivateSeededEntropy(seed + 2)
    adults, earnings = _education(seed)
    rows = []
    for level, variances in noises().items():
        counts, paid = adults[level], earnings[level]
        kept = counts.sum(axis=1) > 0
        counts, paid = counts[kept], paid[kept]
        truth = float(_slopes(counts[None], paid)[0])
        often = repeats if level != "Block" else max(10, repeats // 50)
        found = [np.abs(_noisy_slopes(counts, paid, v, often, source) - truth) for v in variances]
        (old, new), errors = (
            [float(one.mean()) for one in found],
            [float(one.std() / math.sqrt(often)) for one in found],
        )
        rows.append(
            (level, len(counts), truth, old, errors[0], new, errors[1], 100 * (1 - new / old), None, None)
        )
    return Study(
        "slope",
        "Error of the slope of earnings on share with a degree: SYNTHETIC population",
        PNAS,
        (
            "area",
            "areas",
            "slope_without_noise",
            "mae_old_noise",
            "standard_error_old",
            "mae_new_noise",
            "standard_error_new",
            "reduction_percent",
            "published",
            "difference",
        ),
        table(rows),
        (
            f"{repeats} repetitions (a fiftieth of them for blocks), seed {seed}; six education counts "
            "noised, then cut at zero.",
            "The paper used real survey data, which is not shipped; no published values are known to us.",
            "In blocks the noise is as large as the counts: the slope is mostly lost under either noise.",
        ),
    )


def draw_slope(study: Study) -> Figure:
    """Draw the errors of the slope by type of area."""
    names = [f"{row[0]}\n({row[1]:,})" for row in study.rows]
    x = np.arange(len(names))
    with canvas(study, (7.2, 3.4), 1, 2, width_ratios=(1.25, 1)) as (figure, (left, right)):
        for shift, which, colour, mark, label in (
            (-0.1, "old", VERMILION, "s", "2022 allocation"),
            (0.1, "new", BLUE, "o", "reduced noise"),
        ):
            mean = study.numbers(f"mae_{which}_noise")
            left.plot(x + shift, mean, mark, color=colour, markersize=5, label=label)
        left.set_yscale("log")
        left.set_ylim(0.1, 100)
        left.set_ylabel("mean absolute error of the slope")
        left.set_title("error, by type of area (true slope 60)")
        error = 2 * _ratio_errors(study)
        right.errorbar(
            x,
            study.numbers("reduction_percent"),
            yerr=error,
            color="black",
            marker="D",
            linestyle="none",
            capsize=3,
        )
        right.axhline(0, color="black", linewidth=0.6)
        right.set_ylabel("percent")
        right.set_title("reduction, two standard errors")
        for ax in (left, right):
            ax.set_xlim(-0.5, len(names) - 0.5)
            ax.set_xticks(x, names, fontsize=7.5)
            ax.grid(axis="x", visible=False)
        legend_below(figure, left)
    return figure


def _ratio_errors(study: Study) -> Floats:
    """Standard errors of the reductions, in percent, old and new noise being independent."""
    old, new = study.numbers("mae_old_noise"), study.numbers("mae_new_noise")
    parts = np.hypot(study.numbers("standard_error_old") / old, study.numbers("standard_error_new") / new)
    return np.asarray(100 * new / old * parts, dtype=np.float64)


def _education(seed: int) -> tuple[dict[str, Integers], dict[str, Floats]]:
    """Counts of adults by six kinds of education, and median earnings, of all areas at each level."""
    people, draw = population(seed), Uniforms(seed + 3)
    share = 0.05 + 0.6 * draw.uniform(people.levels["Tract"].shape[0]) ** 1.5
    adults = np.rint(0.7 * people.levels["Block"].sum(axis=1)).astype(np.int64)
    owner = people.parents["Block"]
    limits = np.cumsum(
        np.hstack([(1 - share)[:, None] * _BELOW / _BELOW.sum(), share[:, None] * _ABOVE]), axis=1
    )
    home = np.repeat(np.arange(adults.size), adults)
    chance = draw.uniform(home.size)
    kind = np.zeros(home.size, dtype=np.int64)
    for k in range(5):
        kind += chance >= limits[owner[home], k]
    counts = {"Block": np.bincount(6 * home + kind, minlength=6 * adults.size).reshape(-1, 6)}
    for level, below in (("Tract", "Block"), ("County", "Tract"), ("State", "County")):
        total = np.zeros((people.levels[level].shape[0], 6), dtype=np.int64)
        np.add.at(total, people.parents[below], counts[below])
        counts[level] = total
    earnings = {
        level: INTERCEPT + SLOPE * _share(table_) + DEVIATION * draw.normal(len(table_))
        for level, table_ in counts.items()
    }
    return counts, earnings


def _share(counts: Integers) -> Floats:
    """The share with a degree; where nobody is left it is taken as zero."""
    total = counts.sum(axis=-1)
    return np.asarray(counts[..., 4:].sum(axis=-1) / np.maximum(total, 1), dtype=np.float64)


def _slopes(counts: Integers, earnings: Floats) -> Floats:
    """The least-squares slope of each repetition (rows), over areas (columns) where anybody is left."""
    share, weight = _share(counts), (counts.sum(axis=-1) > 0).astype(np.float64)
    many = weight.sum(axis=1)
    x = share - ((weight * share).sum(axis=1) / many)[:, None]
    return np.asarray((weight * x * earnings).sum(axis=1) / (weight * x * x).sum(axis=1), dtype=np.float64)


def _noisy_slopes(
    counts: Integers, earnings: Floats, variance: Fraction, often: int, source: Entropy
) -> Floats:
    noise = sample(GaussianNoise(variance), (often, *counts.shape), source=source)
    return _slopes(np.maximum(counts + noise, 0), earnings)
