"""A billion draws: the whole law by chi-square, and the far tails by exact binomial tests.

Drawn from the system's generator, so outcomes differ from run to run. Each test accepts at p > 1e-6: with
four laws and three tests each, a false alarm comes once in 80,000 runs. Ten million draws reject a variance
that is 1 % off at 1e-9.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from discreet.noise import GaussianNoise, LaplaceNoise, Noise, sample

DRAWS = 10**9
PORTION = 10**7
ACCEPT = 1e-6
LAWS = [
    GaussianNoise(variance="0.3"),
    GaussianNoise(variance="5"),
    GaussianNoise(variance="625"),
    LaplaceNoise(scale="7"),
]


def histogram(noise: Noise, draws: int) -> tuple[np.ndarray, int]:
    """How often each value came, from -reach to reach; the ends hold what lies beyond."""
    reach = noise.quantile("0.99999999999999") + 1
    counts = np.zeros(2 * reach + 1, dtype=np.int64)
    for _ in range(draws // PORTION):
        drawn = np.clip(sample(noise, PORTION), -reach, reach)
        counts += np.bincount(drawn + reach, minlength=counts.size)
    return counts, reach


def chances(noise: Noise, reach: int) -> np.ndarray:
    """The chance of each value, the ends with all that lies beyond them."""
    x = np.arange(-reach, reach + 1)
    found = np.asarray(noise.pmf(x), dtype=float)
    found[0] = found[-1] = float(noise.cdf(-reach))
    return found / found.sum()


def p_values(counts: np.ndarray, expected: np.ndarray) -> tuple[float, float, float]:
    """Chi-square over cells of at least 50 expected draws; and the two tails beyond them, exactly."""
    total = int(counts.sum())
    large = np.flatnonzero(expected * total >= 50)
    low, high = large[0], large[-1]
    middle, chance = counts[low : high + 1], expected[low : high + 1]
    body = stats.chisquare(middle, chance / chance.sum() * middle.sum()).pvalue
    tails = [
        stats.binomtest(int(counts[part].sum()), total, float(expected[part].sum())).pvalue
        for part in (slice(None, low), slice(high + 1, None))
    ]
    return float(body), *tails


@pytest.mark.torture
@pytest.mark.parametrize("noise", LAWS, ids=str)
def test_a_billion_draws(noise: Noise) -> None:
    counts, reach = histogram(noise, DRAWS // len(LAWS))
    found = p_values(counts, chances(noise, reach))
    assert min(found) > ACCEPT, found


def test_the_test_can_fail() -> None:
    counts, reach = histogram(GaussianNoise(variance="5"), PORTION)
    right = chances(GaussianNoise(variance="5"), reach)
    wrong = chances(GaussianNoise(variance="5.05"), reach)
    assert min(p_values(counts, right)) > ACCEPT
    assert min(p_values(counts, wrong / wrong.sum())) < 1e-9
