"""The rho of Laplace noise and randomised response is the supremum of D_a / a, over all orders."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.zcdp import zcdp_rho
from discreet.noise import ContinuousLaplace, DiscreteGaussian, DiscreteLaplace, Noise, TableNoise
from discreet.noise.count_loss import largest_ratio

ORDERS = 1 + np.geomspace(1e-4, 1e4, 120)


def by_orders(law: Noise) -> float:
    """The largest D_a / a over many orders, by brute force."""
    from flint import arb

    found = law.loss_law()
    best = 0.0
    for order in ORDERS:
        t = arb(float(order) - 1)
        terms = zip(found.value, found.log, strict=True)
        total = sum(((arb(float(log)) + t * arb(float(loss))).exp() for loss, log in terms), arb(0))
        if found.density is not None:
            # e^((l - end) / 2) / 4 over (-end, end), tilted by e^(tl)
            end = arb(found.density.high)
            total += ((t + 0.5) * end).sinh() * (-end / 2).exp() / (2 * (t + 0.5))
        best = max(best, float(total.log() / (t * (t + 1))))
    return best


def randomised_response(kept: Fraction, answers: int) -> TableNoise:
    other = (1 - kept) / (answers - 1)
    chances = [{x: kept if x == shown else other for x in range(answers)} for shown in (0, 1)]
    return TableNoise(*chances)


def test_rho_of_laplace_noise_of_scale_two() -> None:
    assert float(DiscreteLaplace(scale=2).zcdp) == pytest.approx(0.5 * math.tanh(0.25), rel=1e-14)
    assert float(ContinuousLaplace(scale=2).zcdp) == pytest.approx(0.5 - 1 + math.exp(-0.5), rel=1e-14)
    assert float(randomised_response(Fraction(3, 4), 2).zcdp or 0) == pytest.approx(
        math.log(3) / 2, rel=1e-14
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_order_has_more_and_order_one_has_as_much(seed: int) -> None:
    draw = random.Random(seed)
    scale, change = Fraction(draw.randint(1, 400), draw.choice([1, 10, 100])), draw.randint(1, 9)
    kept = Fraction(draw.randint(500, 999), 1000)
    laws = [
        DiscreteLaplace(scale=scale, sensitivity=change),
        ContinuousLaplace(scale=scale, sensitivity=change),
        randomised_response(kept, draw.choice([2, 3, 4, 6, 50, 900])),
    ]
    for law in laws:
        rho, most = float(law.zcdp or 0), by_orders(law)
        if law.loss_law().value.max() > 1e-2:  # (floats of the reference cancel below)
            assert most * (1 - 1e-8) <= rho <= most * (1 + 1e-3), law
        assert zcdp_rho([law.repeated(7)]) == 7 * (law.zcdp or 0)


@pytest.mark.parametrize("seed", range(8))
def test_rho_of_any_table_is_never_below_an_order_and_close(seed: int) -> None:
    draw = random.Random(100 + seed)
    weights = [Fraction(draw.randint(1, 60)) for _ in range(draw.choice([2, 3, 7]))]
    other = [Fraction(draw.randint(1, 60)) for _ in weights]
    law = TableNoise(
        {x: w / sum(weights) for x, w in enumerate(weights)}, {x: w / sum(other) for x, w in enumerate(other)}
    )
    most = max(by_orders(law), by_orders(law.exchanged()))
    if law.largest:
        assert most * (1 - 1e-9) <= float(law.zcdp or 0) <= most * (1 + 2e-3)


def test_many_likely_answers_cost_more_than_their_mean_loss() -> None:
    """With 1,000 answers and 1/50 kept the supremum is no mean loss: 0.4282, not 0.0573."""
    law = randomised_response(Fraction(1, 50), 1000)
    found = law.loss_law()
    mean = float((np.exp(found.log) * found.value).sum())
    rho, most = float(law.zcdp or 0), by_orders(law)
    assert most <= rho <= most * 1.01
    assert rho > 7 * mean


def test_a_flat_ratio_is_bounded_from_above_and_closely() -> None:
    law = DiscreteGaussian(variance=40, sensitivity=2)
    assert 1 - 1e-9 <= largest_ratio(law.loss_law()) / float(law.zcdp) <= 1 + 2e-5


def test_least_rho_at_both_ends_of_scales() -> None:
    small, large = DiscreteLaplace(scale="1/10000"), DiscreteLaplace(scale=2**32, sensitivity=3)
    assert small.zcdp == 10**4 or 0 < small.zcdp - 10**4 < Fraction(1, 10**6)
    assert large.largest**2 / 2 * (1 - Fraction(1, 10**9)) < large.zcdp < large.largest**2 / 2
