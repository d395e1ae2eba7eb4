"""Margins of sums of draws: against convolution of the definitions, in floats and in 60 digits."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import mpmath
import numpy as np
import pytest

from discreet.errors import InputError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise
from discreet.noise.distribution import _certified

NOISES = [
    GaussianNoise(variance="0.05"),
    GaussianNoise(variance="0.31"),
    GaussianNoise(variance="2500/1067"),
    GaussianNoise(variance="5000/159"),
    LaplaceNoise(scale="0.07"),
    LaplaceNoise(scale="0.7071"),
    LaplaceNoise(scale=9),
]


def inside(noise: Noise, times: int) -> np.ndarray:
    """P[|S| <= m] for m = 0, 1, ..., by plain convolution of the definition."""
    reach = ceil(noise.reach(45))
    x = np.arange(-reach, reach + 1)
    if isinstance(noise, GaussianNoise):
        one = np.exp(-(x**2) / (2 * float(noise.variance)))
    else:
        assert isinstance(noise, LaplaceNoise)
        one = np.exp(-np.abs(x) / float(noise.scale))
    one /= one.sum()
    mass = one
    for _ in range(times - 1):
        mass = np.convolve(mass, one)
    middle = mass.size // 2
    return mass[middle] + np.append(0, 2 * np.cumsum(mass[middle + 1 :]))


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("times", [1, 2, 9, 23])
def test_margins_are_the_smallest_that_cover(noise: Noise, times: int) -> None:
    covered = inside(noise, times)
    for chance in ("0.5", "0.9", "0.95", "0.999"):
        margin = noise.margin(chance, draws=times)
        assert covered[margin] >= float(chance) - 1e-12
        assert margin == 0 or covered[margin - 1] < float(chance)
        assert noise.within(margin, draws=times) == pytest.approx(covered[margin], abs=1e-12)


@pytest.mark.parametrize("noise", NOISES[:6], ids=str)
def test_balls_and_floats_agree(noise: Noise) -> None:
    for times in (2, 8):
        for chance in (Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)):
            assert _certified(noise, chance, times) == noise.margin(chance, draws=times)


def test_what_floats_cannot_tell_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chance within 1e-30 of what a margin covers: one side needs the margin, the other one more."""
    noise, times, size = GaussianNoise(variance="5000/159"), 4, 20
    with mpmath.workdps(60):
        variance = mpmath.mpf(5000) / 159
        reach = 90
        one = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * variance)) for x in range(-reach, reach + 1)]
        total = sum(one)
        for _ in range(2):  # twice squared: four draws
            last = len(one) - 1
            one = [
                mpmath.fsum(one[j] * one[k - j] for j in range(max(0, k - last), min(k, last) + 1))
                for k in range(2 * last + 1)
            ]
        middle = len(one) // 2
        covered = sum(one[middle - size : middle + size + 1]) / total**4
        exact = Fraction(mpmath.nstr(covered, 50))
    tiny = Fraction(1, 10**30)
    assert noise.margin(exact - tiny, draws=times) == size
    assert noise.margin(exact + tiny, draws=times) == size + 1


def test_large_noise_is_nearly_normal_and_quick() -> None:
    # 1.959964 standard deviations, to a whole number
    assert abs(GaussianNoise(variance=4_500_000).margin(draws=46) - 1.959964 * (46 * 4_500_000) ** 0.5) <= 1


@pytest.mark.parametrize(
    ("chance", "times", "text"),
    [("1", 1, "level is 1"), ("0", 1, "level"), ("0.95", 0, "draws is 0"), ("0.95", True, "draws")],
)
def test_bad_arguments(chance: str, times: int, text: str) -> None:
    with pytest.raises(InputError, match=text):
        GaussianNoise(variance=1).margin(chance, draws=times)
