"""Samples against the distribution, with tests that can fail.

The seeds are fixed, so the outcomes are too. Each chi-square test accepts at p > 1e-4: with a fresh seed it
would raise a false alarm once in 10,000 runs. The same test must reject a parameter 10 % off at p < 1e-9.
"""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from discreet.errors import InputError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise, SystemEntropy, sample, sample_many, sampler
from discreet.noise.inversion_table import Workspace
from discreet.noise.wide_sampler import WideSampler
from discreet.testing import NotPrivateSeededEntropy

ACCEPT, REJECT = 1e-4, 1e-9
DRAWS = 400_000


def p_value(draws: NDArray[np.int64], noise: Noise) -> float:
    """Chi-square test: one cell per value, or cells of equal chance if there are many values."""
    low, high = noise.quantile(Fraction(20, draws.size)), noise.quantile(1 - Fraction(20, draws.size))
    step = max(1, (high - low) // 200)
    edges = np.arange(low, high, step)  # cells (-inf, low], (low, low + step], ..., (last, inf)
    cells = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=edges.size + 1)
    chances = np.diff(noise.cdf(edges), prepend=0.0, append=1.0)
    return float(stats.chisquare(cells, chances * draws.size).pvalue)


CASES = [
    (GaussianNoise, "0.3", 1),
    (GaussianNoise, "1", 2),
    (GaussianNoise, "5", 3),
    (GaussianNoise, "625", 4),
    (GaussianNoise, "1e6", 5),
    (GaussianNoise, "4194304", 6),  # the widest that one table holds
    (GaussianNoise, "4194305", 7),  # the narrowest that is split
    (GaussianNoise, "1e9", 8),
    (GaussianNoise, "1e18", 9),
    (LaplaceNoise, "0.5", 10),
    (LaplaceNoise, "7", 11),
    (LaplaceNoise, "512", 12),
    (LaplaceNoise, "513", 13),
    (LaplaceNoise, "1e6", 14),
]


@pytest.mark.parametrize(("kind", "parameter", "seed"), CASES)
def test_right_distribution_is_accepted_and_neighbours_are_rejected(
    kind: type[GaussianNoise] | type[LaplaceNoise], parameter: str, seed: int
) -> None:
    noise = kind(**{kind.PARAMETER: parameter})
    draws = sample(noise, DRAWS, source=NotPrivateSeededEntropy(seed))
    assert draws.dtype == np.int64
    assert p_value(draws, noise) > ACCEPT
    assert p_value(draws, noise.resized(noise.size * Fraction(9, 10))) < REJECT
    assert p_value(draws, noise.resized(noise.size * Fraction(11, 10))) < REJECT


def test_smallest_variance() -> None:
    # P[X != 0] = 9e-5 at variance 1/20: the count of nonzero draws is binomial, tested exactly
    noise, n = GaussianNoise(variance="0.05"), 20_000_000
    nonzero = int(np.count_nonzero(sample(noise, n, source=NotPrivateSeededEntropy(20))))
    assert stats.binomtest(nonzero, n, float(2 * noise.sf(0))).pvalue > ACCEPT
    for wrong in ("0.045", "0.055"):
        assert stats.binomtest(nonzero, n, float(2 * GaussianNoise(variance=wrong).sf(0))).pvalue < REJECT


@pytest.mark.parametrize(
    ("noise", "shift"),
    [
        (GaussianNoise(variance=80), 2),
        (GaussianNoise(variance=80), 4),
        (LaplaceNoise(scale=9), 3),
        (LaplaceNoise(scale=9), 1),
    ],
)
def test_split_sampler_where_rejection_matters(noise: GaussianNoise | LaplaceNoise, shift: int) -> None:
    # With a coarse part this narrow a good part of the proposals is rejected, so a wrong rule would show.
    out = np.empty(60_000, dtype=np.int64)
    WideSampler.of(noise, shift).draw(out, NotPrivateSeededEntropy(shift), Workspace())
    assert p_value(out, noise) > ACCEPT
    # every residue of the fine part, and both signs
    residues = np.bincount(np.abs(out) % 2**shift, minlength=2**shift)
    x = np.arange(-400, 401)
    chances = np.bincount(np.abs(x) % 2**shift, weights=noise.pmf(x))
    assert stats.chisquare(residues, chances / chances.sum() * out.size).pvalue > ACCEPT
    positive, negative = int(np.sum(out > 0)), int(np.sum(out < 0))
    assert stats.binomtest(positive, positive + negative).pvalue > ACCEPT


@pytest.mark.parametrize("noise", [GaussianNoise(variance=5), GaussianNoise(variance=10**9)])
def test_neighbouring_draws_are_independent(noise: Noise) -> None:
    draws = sample(noise, DRAWS, source=NotPrivateSeededEntropy(30))
    edges = [noise.quantile(Fraction(i, 6)) for i in range(1, 6)]
    cells = np.searchsorted(edges, draws, side="left")
    for lag in (1, 2, 16, 1 << 17):
        table = np.zeros((6, 6))
        np.add.at(table, (cells[:-lag], cells[lag:]), 1)
        assert stats.chi2_contingency(table).pvalue > ACCEPT


def test_threads_fill_every_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "PARALLEL_FROM", 1 << 14)
    monkeypatch.setattr(sampler, "BLOCK", 1 << 12)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    names = set()
    fill = sampler._fill

    def spy(*args: object) -> None:
        names.add(threading.current_thread().name)
        fill(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(sampler, "_fill", spy)
    draws = sample(GaussianNoise(variance=10**6), 100_001, source=SystemEntropy())
    assert all("ThreadPool" in name for name in names)
    # Fresh system randomness in this one test: false alarm once in a million runs.
    assert p_value(draws, GaussianNoise(variance=10**6)) > 1e-6
    parts = np.array_split(draws, 3)
    assert len({part[:50].tobytes() for part in parts}) == 3


def test_sample_many_keeps_the_order_of_its_groups() -> None:
    source = NotPrivateSeededEntropy(40)
    kinds: list[Noise | str | int] = [
        "1/3",
        10**10,
        "1/3",
        LaplaceNoise(scale=10**6),
        GaussianNoise(variance=10**10),
    ]
    counts = [70_000, 50_000, 0, 60_000, 40_000]
    parts = np.split(sample_many(kinds, counts, source=source), np.cumsum(counts)[:-1])
    assert [part.size for part in parts] == counts
    assert p_value(parts[0], GaussianNoise(variance="1/3")) > ACCEPT
    assert p_value(parts[1], GaussianNoise(variance=10**10)) > ACCEPT
    assert p_value(parts[3], LaplaceNoise(scale=10**6)) > ACCEPT
    assert p_value(parts[4], GaussianNoise(variance=10**10)) > ACCEPT
    assert not np.array_equal(parts[1][:40_000], parts[4])


@settings(max_examples=25, deadline=None)
@given(counts=st.lists(st.integers(0, 5), max_size=8))
def test_sample_many_sizes(counts: list[int]) -> None:
    kinds = [
        GaussianNoise(variance=10**9) if i % 2 else GaussianNoise(variance="1/10000")
        for i in range(len(counts))
    ]
    draws = sample_many(kinds, counts)
    assert draws.size == sum(counts)
    wide = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    assert not draws[~wide].any()  # at variance 1/10000 anything but 0 has chance exp(-5000)
    assert np.count_nonzero(draws[wide]) >= wide.sum() - 1


@pytest.mark.parametrize("size", [0, 1, (0, 3), (2, 0), (4, 5), (), (1 << 18) + 1])
def test_shapes(size: int | tuple[int, ...]) -> None:
    for noise in (GaussianNoise(variance=5), GaussianNoise(variance=10**9)):
        assert sample(noise, size).shape == (size if isinstance(size, tuple) else (size,))
    assert sample(GaussianNoise(variance=5), np.int64(3)).shape == (3,)  # type: ignore[arg-type]


def test_refusals() -> None:
    with pytest.raises(InputError, match="zero or more"):
        sample(GaussianNoise(variance=5), -1)
    with pytest.raises(InputError, match="2 numbers for 1 groups"):
        sample_many([5], [1, 2])
    with pytest.raises(InputError, match="the smallest -3"):
        sample_many([5], [-3])
    with pytest.raises(InputError, match="float"):
        sample_many([1 / 3])
    with pytest.raises(InputError, match="cannot be sampled"):
        sample("5", 1)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        GaussianNoise(variance=5),
        GaussianNoise(variance=10**6),
        GaussianNoise(variance=10**9),
        LaplaceNoise(scale=3),
        LaplaceNoise(scale=10**5),
    ],
)
def test_many_draws(noise: Noise) -> None:
    # 10^8 draws tell apart variances that differ by 1e-3.
    counts = sample(noise, 100_000_000)
    assert p_value(counts, noise) > 1e-6
