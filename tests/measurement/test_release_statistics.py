"""Bias and variance of what comes out, measured against theory. Seeded; false-alarm rates are stated.

A mean or a variance of R independent draws is accepted within 5 standard errors, which a true one leaves
with a chance of 6e-7; no test below looks at more than 100 of them, so each raises a false alarm less than
once in 10,000 seeds. A variance of R draws of Gaussian noise has the relative standard error sqrt(2/R).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from release_country import TOML

from discreet.areas.layout import Layout, laws_of
from discreet.areas.output import strings
from discreet.areas.tree import Tree
from discreet.budget import Release
from discreet.budget.noise_table import noises
from discreet.estimation.input.joint_estimates import JointEstimates
from discreet.estimation.input.published import in_memory, published
from discreet.estimation.whole.tables import WholeTables
from discreet.measurement import measure
from discreet.measurement.measuring import add_noise
from discreet.noise import GaussianNoise
from discreet.testing import NotPrivateSeededEntropy

LIMIT = 5.0


def accepts(noise: np.ndarray, variance: float) -> bool:
    """Whether noise of mean zero may have this variance."""
    error = np.sqrt(2.0 / noise.size)
    return bool(abs(np.mean(noise.astype(float) ** 2) / variance - 1.0) < LIMIT * error)


def test_the_noise_has_the_variance_of_its_level_and_no_other(tmp_path: Path) -> None:
    release = Release.from_toml(TOML)
    rows = ["unit,parent,level,query,cell,count", "N,,Nation,sex,f,7000"]
    states, size = 3000, 4
    for number in range(2):
        rows.append(f"N,,Nation,sex,cell {number},0")
    cells = ["f", "cell 0", "cell 1"]
    for state in range(states):
        merged = state % 2 == 0
        level = "State+County" if merged else "State"
        rows += [f"s{state},N,{level},total,all,{size}"]
        rows += [f"s{state},N,{level},sex,{cell},{1 if cell == 'f' else 0}" for cell in cells]
        if not merged:
            for county in range(2):
                rows += [f"s{state}c{county},s{state},County,total,all,{size // 2}"]
                rows += [
                    f"s{state}c{county},s{state},County,sex,{cell},{1 if cell == 'f' and not county else 0}"
                    for cell in cells
                ]
    rows[1] = f"N,,Nation,sex,f,{states}"
    counts = tmp_path / "counts.csv"
    counts.write_text("\n".join(rows) + "\n")
    noise: dict[tuple[str, str], list[int]] = {}
    sizes: dict[tuple[str, str], float] = {}
    truth = {tuple(row.split(",")[i] for i in (0, 3, 4)): int(row.split(",")[5]) for row in rows[1:]}
    for seed in range(6):
        done = measure(release, counts, tmp_path / f"out{seed}", rehearsal=seed)
        text = (done.out / "measurements.NOT-PRIVATE.csv").read_text().replace('"', "").splitlines()
        for line in text[1:]:
            unit, level, query, cell, value, variance = line.split(",")[:6]
            noise.setdefault((level, query), []).append(int(value) - truth[unit, query, cell])
            sizes[level, query] = float(variance)
    for (level, query), draws in noise.items():
        if level != "Nation":
            assert len(draws) >= 9000
            values, variance = np.array(draws), sizes[level, query]
            assert accepts(values, variance)
            assert abs(values.mean()) < LIMIT * np.sqrt(variance / values.size)
            # With 9000 draws the limit is 7.5 %: noise that is 10 % off would be seen.
            assert not accepts(values, 0.9 * variance)
            assert not accepts(values, 1.1 * variance)
    assert len(noise) == 7


@pytest.mark.parametrize("factor", ["9/10", "11/10"])
def test_wrong_noise_would_be_seen(tmp_path: Path, factor: str) -> None:
    """Noise of 0.9 and 1.1 times the variance fails where the right one passes."""
    right = Release.from_toml(
        TOML.partition("[[levels]]")[0] + '[[levels]]\nname="L"\nqueries = { q = { variance = 5 } }'
    )
    counts = tmp_path / "counts.csv"
    counts.write_text("unit,level,query,cell,count\n" + "".join(f"u{i},L,q,c,100\n" for i in range(20_000)))

    def noise(release: Release, out: str) -> np.ndarray:
        done = measure(release, counts, tmp_path / out, rehearsal=11)
        text = (done.out / "measurements.NOT-PRIVATE.csv").read_text().splitlines()[1:]
        return np.array([int(line.split(",")[4]) - 100 for line in text])

    assert accepts(noise(right, "right"), 5.0)
    assert not accepts(noise(right.scaled(factor), "wrong"), 5.0)


REPEATS = 40_000


Columns = dict[str, np.ndarray]


def experiment(
    truth: dict[str, tuple[str, int]], toml: str, seed: int, hold: Sequence[int] = ()
) -> tuple[Columns, np.ndarray]:
    """Estimate one tree whose cells are independent repetitions of the same counts; some units are exact."""
    release = Release.from_toml(toml)
    names = list(truth)
    parent = np.array([names.index(above) if above else -1 for above, _ in truth.values()], dtype=np.int64)
    depth = [0] * len(names)
    for unit, above in enumerate(parent):
        depth[unit] = depth[above] + 1 if above >= 0 else 0
    starts = tuple(depth.index(d) for d in range(max(depth) + 1))
    levels = tuple(level.name for level in release.levels)
    tree = Tree(parent, np.array(depth), starts, levels, strings(names))
    layout = Layout(
        tree, {"q": strings([str(i) for i in range(REPEATS)])}, (("q",),) * len(levels), tree.kind
    )
    exact = np.repeat([count for _, count in truth.values()], REPEATS)
    laws = laws_of(layout, noises(release))
    values = exact.copy()
    add_noise(layout, values, laws, NotPrivateSeededEntropy(seed))
    counts = exact.reshape(-1, REPEATS)
    who = np.array(hold, dtype=np.int64)
    held = {"q": (who, counts[who])} if len(who) else {}
    found = JointEstimates.of([published(layout, in_memory(layout, values, laws, None), held, None, "csv")])
    every = np.arange(len(names))
    estimate, deviation, _ = found.numbers(found.at(every), len(names), "q", ())
    whole = WholeTables(found.groups[0].estimates).rows("q", every)
    noisy = values.reshape(counts.shape)
    return {"noisy": noisy, "estimate": estimate, "variance": deviation**2, "table": whole}, counts


NESTED = """
name = "nested"
neighbours = "bounded"
[[levels]]
name = "Nation"
queries = { q = { variance = 9 } }
[[levels]]
name = "State"
queries = { q = { variance = 4 } }
[[levels]]
name = "County"
queries = { q = { variance = "5/2" } }
"""
COUNTRY = {
    "N": ("", 138), "A": ("N", 100), "B": ("N", 38), "C": ("N", 0),
    "A1": ("A", 60), "A2": ("A", 40), "A3": ("A", 0), "B1": ("B", 37), "B2": ("B", 1),
    "C1": ("C", 0), "C2": ("C", 0),
}  # fmt: skip


def test_least_squares_is_unbiased_and_has_the_stated_variance() -> None:
    columns, truth = experiment(COUNTRY, NESTED, seed=5)
    error, variance = columns["estimate"] - truth, columns["variance"][:, 0]
    assert (np.abs(error.mean(axis=1)) < LIMIT * np.sqrt(variance / REPEATS)).all()
    for unit in range(len(truth)):
        assert accepts(error[unit], variance[unit])
        assert not accepts(error[unit], 0.9 * variance[unit])
        assert not accepts(error[unit], 1.1 * variance[unit])
    # What consistency is worth, by hand: states of 4 with three or two counties of 5/2 below them.
    states = 1 / (1 / 4 + 1 / 7.5) + 2 / (1 / 4 + 1 / 5)
    assert variance[0] == pytest.approx(1 / (1 / 9 + 1 / states))  # 3.95 where the measurement has 9


def nonnegative_theory(count: int, variance: int) -> tuple[float, float]:
    """Mean and variance of max(0, count + noise), minus count, from the exact probabilities."""
    x = np.arange(-400, 401)
    pmf = GaussianNoise(variance=variance).pmf(x)
    cut = np.maximum(count + x, 0) - count
    mean = float(np.sum(pmf * cut))
    return mean, float(np.sum(pmf * cut**2) - mean**2)


def test_the_bias_of_non_negativity_is_what_theory_says() -> None:
    columns, truth = experiment(COUNTRY, NESTED, seed=6)
    error = np.maximum(columns["noisy"], 0) - truth
    for unit, variance in enumerate([9, 4, 4, 4]):
        mean, spread = nonnegative_theory(int(truth[unit, 0]), variance)
        assert abs(error[unit].mean() - mean) < LIMIT * np.sqrt(spread / REPEATS)
    # An empty state is 0.78 too large on average: sigma / sqrt(2 pi) as for a normal variable, and the
    # first term of Euler and Maclaurin, -1 / (12 sigma sqrt(2 pi)), for the sum over integers.
    mean, spread = nonnegative_theory(0, 4)
    assert mean == pytest.approx((2 - 1 / 24) / np.sqrt(2 * np.pi), rel=1e-3)
    assert error[3].mean() > LIMIT * np.sqrt(spread / REPEATS)
    # Far from zero there is none.
    assert abs(error[1].mean()) < LIMIT * np.sqrt(4 / REPEATS)


def test_the_bias_of_consistent_whole_numbers_is_bounded_and_cancels() -> None:
    columns, truth = experiment(COUNTRY, NESTED, seed=7)
    error = columns["table"] - truth
    deviation = np.sqrt(columns["variance"][:, 0])
    bias = error.mean(axis=1)
    noise = LIMIT * (deviation + 0.5) / np.sqrt(REPEATS)
    # The nation is far from zero: rounding to the nearest adds no bias. Its parts' biases add up to its own.
    assert abs(bias[0]) < noise[0]
    assert bias[1:4].sum() == pytest.approx(bias[0], abs=1e-9)
    # Empty units are too large, and large ones pay for it, by less than a standard deviation.
    assert bias[3] > noise[3]
    assert bias[1] < -noise[1]
    assert (np.abs(bias) < deviation).all()
    # Names do not matter: two empty siblings have the same bias, and so have two large ones.
    for one, other in (("C1", "C2"), ("A1", "A2")):
        pair = [list(COUNTRY).index(name) for name in (one, other)]
        difference = error[pair[0]] - error[pair[1]]
        assert abs(difference.mean()) < LIMIT * difference.std() / np.sqrt(REPEATS)
    # It buys accuracy: the mean squared error is below that of the least-squares estimate on the empty units.
    assert (error[3] ** 2).mean() < columns["variance"][3, 0]
    # Rounding alone adds at most 1/12 or so of variance, far from zero.
    assert (error[0] ** 2).mean() < columns["variance"][0, 0] + 0.25


def test_held_totals_reduce_the_variance_as_stated() -> None:
    free, _ = experiment(COUNTRY, NESTED, seed=8)
    columns, truth = experiment(COUNTRY, NESTED, seed=8, hold=[1, 2, 3])
    assert (columns["table"][:4] == truth[:4]).all()
    assert (columns["variance"][:4] == 0).all()
    error = columns["estimate"] - truth
    for unit in range(4, len(truth)):
        assert accepts(error[unit], columns["variance"][unit, 0])
        assert columns["variance"][unit, 0] < free["variance"][unit, 0]


def test_the_same_table_always_gives_the_same_numbers() -> None:
    first, _ = experiment(COUNTRY, NESTED, seed=9)
    again, _ = experiment(COUNTRY, NESTED, seed=9)
    for name, column in first.items():
        np.testing.assert_array_equal(column, again[name])
