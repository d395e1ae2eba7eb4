"""Averages of noisy counts: intervals hold the truth as often as they say, whatever the truth is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.estimation.averages import _Widths, average
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

STATE = DiscreteGaussian(variance="121000000/70811"), DiscreteGaussian(variance="200000/117")
"""The noise of PH1's numerator and denominator in a state, by race (production of the Supplemental DHC)."""

LAWS: dict[str, tuple[Noise, Noise]] = {
    "state": STATE,
    "wide": (DiscreteGaussian(variance=20), DiscreteGaussian(variance=7)),
    "narrow": (DiscreteGaussian(variance="1/2"), DiscreteGaussian(variance="1/2")),
    "laplace": (DiscreteLaplace(scale=3), DiscreteLaplace(scale=1)),
}


def outcomes(law: Noise) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of a law and their probabilities, up to 1e-12."""
    reach = int(12 * law.true_variance() ** 0.5 + 40)
    values = np.arange(-reach, reach + 1)
    chances = np.exp([law.log_pmf(int(value)) for value in values])
    return values, chances / chances.sum()


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("ratio", [1.0, 1.05, 2.0, 3.0])
def test_intervals_cover_averages(name: str, ratio: float) -> None:
    """Exactly, by the law: total - r number is within the half-width at least 90 % of the time.

    How many households there are does not enter.
    """
    top, bottom = LAWS[name]
    values, chances = outcomes(top)
    both = np.convolve(chances, chances)
    reach = 2 * values.max()
    sums = np.concatenate([[0.0], np.cumsum(both)])  # P(sum < place)
    width = float(_Widths.of((top, top), (bottom,), 1, 10, 0.9)(np.array([ratio]))[0])
    covered = 0.0
    for value, chance in zip(*outcomes(bottom), strict=True):
        low, high = np.ceil(ratio * value - width - 1e-9), np.floor(ratio * value + width + 1e-9)
        first, last = (int(np.clip(end + reach, 0, len(both))) for end in (low, high + 1))
        covered += chance * (sums[last] - sums[first])
    assert 0.9 <= covered < (0.91 if name == "state" else 0.995)


@pytest.mark.parametrize("households", [50, 500, 5000])
def test_the_ends_are_where_the_truth_would_be_contradicted(households: int) -> None:
    """Drawn, seeded: an average that is not contradicted is in the interval, another one is not."""
    draw, (top, bottom) = np.random.default_rng(29), STATE
    widths = _Widths.of((top, top), (bottom,), 1, 10, 0.9)
    held = 0
    for ratio in (1.0, 1.05, 2.0, 3.0):
        for _ in range(40):
            total = households * ratio + round(draw.normal(0, (2 * top.true_variance()) ** 0.5))
            number = households + round(draw.normal(0, bottom.true_variance() ** 0.5))
            found = average(
                total, number, total_noise=[top] * 2, number_noise=[bottom], at_least=1, at_most=10
            )
            near = abs(total - ratio * number) <= float(widths(np.array([ratio]))[0])
            inside = found.lower <= ratio <= found.upper
            assert inside or not near
            held += inside
            assert 1 <= found.lower <= found.value <= found.upper <= 10
    assert held >= 130  # 144 of 160 expected, 3.8 standard deviations of 3.8 below


def test_an_average_of_nothing_is_all_that_can_be() -> None:
    noise = [DiscreteGaussian(variance=100)]
    for number in (-30.0, 0.0, 3.0):
        found = average(5, number, total_noise=noise, number_noise=noise, at_least=1, at_most=10)
        assert (found.lower, found.upper) == (1, 10) or found.lower == 1
    far = average(90_000, 1000, total_noise=noise, number_noise=noise, at_least=1, at_most=10)
    assert (far.lower, far.value, far.upper) == (10, 10, 10)


def test_what_makes_no_sense_is_refused() -> None:
    noise = [DiscreteGaussian(variance=100)]
    with pytest.raises(InputError, match="the first must be the smaller"):
        average(5, 2, total_noise=noise, number_noise=noise, at_least=4, at_most=4)
    with pytest.raises(InputError, match="level is 90"):
        average(5, 2, total_noise=noise, number_noise=noise, at_most=4, level=90)
    with pytest.raises(InputError, match="must have noise"):
        average(5, 2, total_noise=[], number_noise=noise, at_most=4)
