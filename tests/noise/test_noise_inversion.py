"""Exact draws of conditional laws, against probabilities found another way.

Seeded. A chi-squared test accepts at a p-value above 1e-6: a true law is refused for one seed in a million
and test. The same tests refuse chances that are 10 % off.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from chi_squared import p_value
from scipy import stats

from discreet.noise import GaussianNoise, LaplaceNoise, Noise, balls
from discreet.noise.inversion import Above, Kinds, draw, settle_draw, thresholds
from discreet.testing import NotPrivateScriptedEntropy, NotPrivateSeededEntropy

ALARM = 1e-6


@pytest.mark.parametrize(
    "noise", [GaussianNoise(variance=5), GaussianNoise(variance=625), LaplaceNoise(scale=3)], ids=str
)
@pytest.mark.parametrize("bound", [-3, 0, 11])
def test_noise_above_a_bound_has_its_conditional_law(noise: Noise, bound: int) -> None:
    values = draw(Above(noise, bound), 100_000, source=NotPrivateSeededEntropy(bound))
    x = np.arange(bound + 1, bound + 400)
    chances = noise.pmf(x) / noise.sf(bound)
    assert p_value(values, chances) > ALARM
    # beyond zero, geometric tails all look the same
    step = 20 if noise == GaussianNoise(variance=625) else 1
    wrong = noise.pmf(x + step) / noise.sf(bound + step)
    assert (p_value(values, wrong) < ALARM) == (not isinstance(noise, LaplaceNoise) or bound < 0)


def test_a_wide_bound_law_moves_with_its_bound() -> None:
    noise = GaussianNoise(variance=625)
    values = draw(Above(noise, 93), 200_000, source=NotPrivateSeededEntropy(1))
    x = np.arange(0, 300)
    assert p_value(values, noise.pmf(x + 94) / noise.sf(93)) > ALARM
    assert p_value(values, noise.pmf(x + 84) / noise.sf(83)) < ALARM


def test_far_tails_are_reached_with_more_bits() -> None:
    noise = GaussianNoise(variance=5)
    law = Above(noise, 5)
    # sixty-four zero bits are a tie with the thresholds of the tail: sixty-four more bits decide
    value = int(draw(law, 1, source=NotPrivateScriptedEntropy(bytes(8) + bytes([0] * 7 + [1])))[0])
    chance = Fraction(1, 1 << 72)
    tail = [float(noise.certified_sf(5 + m)) / float(noise.certified_sf(5)) for m in (value, value + 1)]
    assert tail[0] > float(chance) >= tail[1]


def test_a_tie_is_settled_by_the_bits_that_follow() -> None:
    law = Above(LaplaceNoise(scale=7), 2)
    rising = thresholds(law)
    assert rising is not None
    for m in (1, 4, 30):
        floor = int(rising[rising.size - m])  # of P[X >= m]
        with balls.working_bits(400):
            exact = balls.as_interval(law.ball(m)).midpoint * (1 << 64)
        rest = int((exact - floor) * (1 << 64))
        assert 0 < rest < (1 << 64) - 2
        for after, value in ((rest - 1, m), (rest + 1, m - 1)):
            script = floor.to_bytes(8, "little") + after.to_bytes(8, "little")
            assert draw(law, 1, source=NotPrivateScriptedEntropy(script)).tolist() == [value]


def test_balls_alone_give_what_the_table_gives() -> None:
    law, source = Above(GaussianNoise(variance=40), -2), NotPrivateSeededEntropy(8)
    words = np.random.default_rng(8).integers(0, 1 << 64, 200, dtype=np.uint64)
    script = words.astype("<u8").tobytes()
    table = draw(law, 200, source=NotPrivateScriptedEntropy(script))
    assert table.tolist() == [settle_draw(law, int(word), source) for word in words]


@pytest.mark.slow
def test_a_law_of_too_many_thresholds_is_drawn_by_balls_alone() -> None:
    noise = GaussianNoise(variance=10**14)
    law = Above(noise, 10**7)
    assert thresholds(law) is None
    values = draw(law, 300, source=NotPrivateSeededEntropy(2))
    # uniform if the law is right: 300 of them are off by 0.16 with a chance below 1e-6
    level = noise.sf(values + 10**7) / noise.sf(10**7)
    assert stats.kstest(level, "uniform").statistic < 0.16


def test_kinds_have_their_shares() -> None:
    noise = GaussianNoise(variance=9)
    weights = (lambda: noise.ball_upper(1), lambda: noise.ball_upper(3), lambda: noise.ball_upper(6))
    values = draw(Kinds(weights), 100_000, source=NotPrivateSeededEntropy(3))
    chances = noise.sf(np.array([0, 2, 5]))
    assert p_value(values, chances / chances.sum()) > ALARM
    chances[1] *= 1.1
    assert p_value(values, chances / chances.sum()) < ALARM
