"""Theta sums: floats against balls on both sides of the threshold, and each form against plain summation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise import DiscreteGaussian
from discreet.noise.balls import working_bits
from discreet.noise.lattice import finite_transform
from discreet.noise.theta import (
    DUAL_FROM,
    ball_sum,
    dual_derivatives,
    dual_log_ratio,
    dual_transform,
    log_ratio,
)

CENTRES = ("0", "1/7", "1/4", "1/2", "-3/8", "22/7")
ABOVE = ("1/2", "0.75", "1", "3.5", "40")


@pytest.mark.parametrize("variance", ["0.0001", "0.02", "0.3", "0.499", *ABOVE])
@pytest.mark.parametrize("centre", CENTRES)
def test_ratios_are_those_of_the_balls(variance: str, centre: str) -> None:
    v, c = Fraction(variance), Fraction(centre)
    with working_bits(400):
        truth = float((ball_sum(c, v) / ball_sum(Fraction(0), v)).log().mid())
    ratio = dual_log_ratio if v >= DUAL_FROM else log_ratio
    found = float(ratio(np.array([float(c)]), float(v))[0])
    # a float next to c moves the sum a little; the dual keeps its digits however small it is
    assert found == pytest.approx(truth, rel=1e-12 if v >= DUAL_FROM else 1e-11, abs=1e-15)


@pytest.mark.parametrize("variance", ["0.02", "0.4999999", "1/2", "0.75", "3"])
def test_balls_contain_the_sum_at_each_precision(variance: str) -> None:
    v = Fraction(variance)
    for bits in (40, 64, 200):
        with working_bits(bits):
            box = ball_sum(Fraction(1, 3), v)
        with working_bits(1000):
            assert box.contains(ball_sum(Fraction(1, 3), v).mid())


@pytest.mark.parametrize("variance", [float(Fraction(v)) for v in ABOVE])
@pytest.mark.parametrize("near", [0.0, 0.3, -0.5])
def test_dual_transform_is_the_plain_sum(variance: float, near: float) -> None:
    u = np.arange(-90, 91)
    weight = np.exp(-((u - near) ** 2) / (2 * variance))
    angle = np.array([0.0, 1e-9, 0.1, 1.0, 2.5, -3.1])
    plain = finite_transform(u, weight / weight.sum(), angle)
    np.testing.assert_allclose(np.exp(dual_transform(angle, near, variance)), np.exp(plain), atol=5e-16)


@pytest.mark.parametrize("variance", [0.5, 0.8, 2.0])
def test_derivatives_are_those_of_the_ratio(variance: float) -> None:
    step, centre = 1e-4, 0.2
    left, middle, right = dual_log_ratio(np.array([centre - step, centre, centre + step]), variance)
    first, second = dual_derivatives(centre, variance)
    assert first == pytest.approx(variance * (right - left) / (2 * step), rel=1e-6)
    assert second == pytest.approx(variance**2 * (left - 2 * middle + right) / step**2, rel=1e-4)


@pytest.mark.parametrize("variance", ["0.4999", "0.5001"])
def test_the_law_is_the_same_on_both_sides_of_the_threshold(variance: str) -> None:
    """The sum and its dual, each just where it takes over: compared with plain sums of 60 terms."""
    noise, v = DiscreteGaussian(variance=variance), float(Fraction(variance))
    x = np.arange(-60, 61)
    weight = np.exp(-(x**2) / (2 * v))
    p = weight / weight.sum()
    near = np.abs(x) <= 9  # farther out the exponent itself is rounded
    np.testing.assert_allclose(noise.pmf(x[near]), p[near], rtol=1e-13)
    assert noise.true_variance() == pytest.approx(float(p @ x**2), rel=1e-14)
    for s in (0.01, 1.0, 2.7):
        assert float(noise.log_mgf(s)) == pytest.approx(np.log(p @ np.exp(s * x)), rel=1e-13)
        theta = s * v
        _, u, tilted = noise.tilted(theta)
        turn = np.array([0.0, 0.1, 0.37, -0.5])
        direct = np.log(np.exp(2j * np.pi * np.multiply.outer(turn, u)) @ tilted)
        np.testing.assert_allclose(np.exp(noise.log_transform(theta, turn)), np.exp(direct), atol=1e-15)
