"""Renyi divergences and Gaussian DP of any law: by their definition, and beside the exact curve."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import GaussianDP, InputError, RenyiDP, compose
from discreet.comparisons.divergences import divergences_of
from discreet.noise import (
    ContinuousGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    PowerNoise,
    TableNoise,
)

ANSWER = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/8", 1: "7/8"})
EVENTS: list[list[Noise]] = [
    [ANSWER.repeated(3)],
    [PowerNoise("17/10", 3)],
    [ContinuousGaussian(variance=5, times=4)],
    [ANSWER, DiscreteLaplace(scale=2), ContinuousGaussian(variance=9)],
]


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0])
def test_divergences_of_an_answer_by_their_definition(order: float) -> None:
    pairs = [(float(p), float(q)) for p, q in ANSWER.pairs]
    both = [
        math.log(sum(q**order * p ** (1 - order) for p, q in one)) / (order - 1)
        for one in (pairs, [(q, p) for p, q in pairs])
    ]
    assert RenyiDP([ANSWER.repeated(3)]).divergence(order=order) == pytest.approx(3 * max(both), rel=1e-12)


@pytest.mark.parametrize("events", EVENTS, ids=str)
def test_renyi_is_never_below_the_exact_curve(events: list[Noise]) -> None:
    exact, bound = compose(events), RenyiDP(events)
    for delta in (1e-2, 1e-6):
        assert bound.epsilon(delta=delta) >= float(exact.epsilon(delta=delta)) * (1 - 1e-9)
    assert bound.delta(epsilon=1.0) >= float(exact.delta(epsilon=1))
    assert bound.tradeoff(alpha=0.1) <= float(exact.tradeoff(alpha="1/10")) * (1 + 1e-9)


def test_laws_that_are_others_in_disguise() -> None:
    """A power of 2 is Gaussian noise, a power of 1 Laplace noise; a normal loss is Gaussian DP itself."""
    t = np.array([0.5, 2.0, 30.0])
    for law, same in (
        (PowerNoise(2, 4, times=3), DiscreteGaussian(variance=8, times=3)),
        (PowerNoise(1, 3), DiscreteLaplace(scale=3)),
    ):
        assert divergences_of([law]).log_mgf(t) == pytest.approx(divergences_of([same]).log_mgf(t), rel=1e-9)
        assert GaussianDP([law]).mu == pytest.approx(GaussianDP([same]).mu, rel=1e-9)
    normal = ContinuousGaussian(variance=5, times=10)
    exact = float(compose([normal]).epsilon(delta=1e-8))
    assert GaussianDP([normal]).epsilon(delta=1e-8) == pytest.approx(exact, rel=1e-9)


def test_a_list_that_ends_too_soon_gives_no_cumulant() -> None:
    """Beyond the outcomes that a law lists, an upper bound is infinite: it must not seem small."""
    law = PowerNoise("3/2", 1)
    assert divergences_of([law]).log_mgf(np.array([1e6])).tolist() == [math.inf]
    assert math.isfinite(divergences_of([law]).log_mgf(np.array([5.0]))[0])


def test_infinite_losses_are_refused_in_a_sentence() -> None:
    for curve in (RenyiDP, GaussianDP):
        with pytest.raises(InputError, match="Gaussian DP needs noise whose loss is finite, not table noise"):
            curve([TableNoise({0: "1/2", 1: "1/2"})])
    with pytest.raises(InputError, match="list of events is empty"):
        RenyiDP([])
