"""Exact draws of geometric skips and rare successes, against probabilities found another way.

Seeded. A chi-squared test accepts at a p-value above 1e-6: a true law is refused for one seed in a million
and test. The same tests refuse chances that are 10 % off.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from chi_squared import p_value
from numpy.typing import NDArray
from scipy import stats

from discreet.census.mechanism.trials import BASE, LONGEST, Digit, Trials
from discreet.noise import balls
from discreet.noise.inversion import draw, settle_draw, thresholds
from discreet.testing import NotPrivateSeededEntropy

ALARM = 1e-6


def test_a_chance_that_is_a_dyadic_number_is_drawn_by_balls_alone() -> None:
    law = Digit(lambda: balls.ball(Fraction(1, 2)), 1)
    assert thresholds(law) is None
    assert [settle_draw(law, word << 61, NotPrivateSeededEntropy(9)) for word in (0, 1, 3, 5)][1:] == [
        2,
        1,
        0,
    ]


@pytest.mark.parametrize("chance", [Fraction(2, 5), Fraction(1, 30), Fraction(1, 1000)], ids=str)
def test_digits_of_a_geometric_variable_make_one(chance: Fraction) -> None:
    laws = (Digit(lambda: balls.ball(chance), 1, base=16), Digit(lambda: balls.ball(chance), 16))
    low, high = (draw(law, 200_000, source=NotPrivateSeededEntropy(4 + i)) for i, law in enumerate(laws))
    p, x = float(chance), np.arange(20_000)
    width = max(1, int(0.05 / p))  # the same number of cells for every chance

    def chances(success: float) -> NDArray[np.float64]:
        return np.bincount(np.minimum(x // width, 199), weights=success * (1 - success) ** x)

    cells = np.minimum((16 * high + low) // width, 199)
    assert p_value(cells, chances(p)) > ALARM
    assert p_value(cells, chances(1.1 * p)) < ALARM


@pytest.mark.parametrize("chance", ["0.9", "0.2", "0.004", "1e-5"])
def test_successes_are_those_of_independent_trials(chance: str) -> None:
    p, trials = Fraction(chance), 1_000_000
    source = NotPrivateSeededEntropy(5)
    parts = list(Trials(lambda: balls.ball(p)).successes(trials, source=source))
    places = np.concatenate(parts)
    assert (np.diff(places) > 0).all()
    assert places[0] >= 0
    assert places[-1] < trials
    assert stats.binomtest(places.size, trials, float(p)).pvalue > ALARM
    if p < Fraction(1, 1000):
        return
    assert stats.binomtest(places.size, trials, min(1.1 * float(p), 0.99)).pvalue < ALARM
    # no place is favoured, and neighbours do not know of each other
    fifths = np.bincount(places // (trials // 5), minlength=5)
    assert stats.chisquare(fifths).pvalue > ALARM
    adjacent = int(np.sum(np.diff(places) == 1))
    assert stats.binomtest(adjacent, places.size - 1, float(p)).pvalue > ALARM


def test_a_tiny_chance_is_no_problem() -> None:
    for tiny in (Fraction(1, 10**30), Fraction(1, 10**400), Fraction(1, 10**5000)):
        trials = Trials(partial(balls.ball, tiny))
        assert list(trials.successes(LONGEST - 1, source=NotPrivateSeededEntropy(6))) == []


def test_skips_of_all_digits_are_independent() -> None:
    # 2^-25: three digits. Each skip, as a level of its law, is uniform, and so is each digit's own.
    p = Fraction(1, 1 << 25)
    skips = Trials(lambda: balls.ball(p)).skips(20_000, source=NotPrivateSeededEntropy(7))
    assert stats.kstest(np.exp(skips * np.log1p(-float(p))), "uniform").pvalue > ALARM
    digits = np.stack([skips % BASE, skips // BASE % BASE])
    assert abs(np.corrcoef(digits)[0, 1]) < 5 / np.sqrt(20_000)
    for digit in digits:
        assert stats.chisquare(np.bincount(digit // 64, minlength=16)).pvalue > ALARM
