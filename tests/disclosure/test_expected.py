from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import risk_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.disclosure import expected_posterior, expected_ratio, posterior
from discreet.errors import InputError
from discreet.noise import GaussianNoise, sample
from discreet.testing import NotPrivateSeededEntropy

mpmath.mp.dps = 40


def test_figures_of_the_paper() -> None:
    # Table 5
    found = expected_ratio(rho="0.099", prior=["1/2", "1/5", "1/10", "1/50", "1/864"])
    assert found.round(2).tolist() == [1.05, 1.13, 1.17, 1.21, 1.22]


@pytest.mark.parametrize("variance", ["1/2000", "1/10", "1", "5", "250/3"])
@pytest.mark.parametrize("prior", ["1e-12", "1/864", "1/2", "0.999999999999"])
@pytest.mark.parametrize("truth", ["present", "absent"])
def test_against_forty_digits(variance: str, prior: str, truth: str) -> None:
    v, p = Fraction(variance), Fraction(prior)
    noise = reference.pmf(v, math.ceil(16 * math.sqrt(float(v))) + 2)
    shift = 1 if truth == "present" else 0
    exact = mpmath.fsum(mass * reference.posterior(n + shift, v, p, 0) for n, mass in noise.items())
    got = expected_posterior(variance=variance, prior=prior, given=truth)  # type: ignore[arg-type]
    assert got == pytest.approx(float(exact), rel=3e-14)
    over = expected_ratio(variance=variance, prior=prior, given=truth)  # type: ignore[arg-type]
    assert over == pytest.approx(float(exact / reference.exactly(p)), rel=3e-14)


@settings(max_examples=25)
@given(st.floats(-6, 3), st.floats(1e-12, 1 - 1e-12))
def test_the_average_over_the_truth_is_the_prior(power: float, prior: float) -> None:
    rho = 10.0**power
    present, absent = (expected_posterior(rho=rho, prior=prior, given=t) for t in ("present", "absent"))
    assert prior * present + (1 - prior) * absent == pytest.approx(prior, rel=1e-13)
    assert present >= prior * (1 - 1e-13) >= absent * (1 - 1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("prior", [1e-9, 0.5])
def test_the_truncation_error_is_below_the_tolerance(tolerance: float, prior: float) -> None:
    best = expected_ratio(rho="0.01", prior=prior, tolerance=1e-18)
    cut = expected_ratio(rho="0.01", prior=prior, tolerance=tolerance)
    assert -1e-14 < best - cut < tolerance
    if tolerance == 1e-3 and prior == 0.5:
        assert best - cut > 1e-12  # so that this test could fail


def test_extremes_of_rho() -> None:
    least, most = expected_ratio(rho=["1e-6", "1e3"], prior=["1e-12"])
    # chi-squared: for a tiny prior R is about e^{2 rho}
    assert least - 1 == pytest.approx(2e-6, rel=1e-3)
    assert most == pytest.approx(1e12, rel=1e-9)


def test_known_counts_do_not_matter_without_a_floor() -> None:
    values = expected_posterior(variance=5, prior=0.3, known=[0, 1, 10**6])
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize("known", [0, 2, 30])
@pytest.mark.parametrize("truth", ["present", "absent"])
def test_floor_at_zero(known: int, truth: str) -> None:
    present, absent = reference.laws(Fraction(5), 60, known, nonnegative=True)
    law = present if truth == "present" else absent
    p = mpmath.mpf(1) / 3
    exact = mpmath.fsum(
        m * p * present[y] / (p * present[y] + (1 - p) * absent[y])
        for y, m in law.items()
        if y in absent and y in present
    )
    got = expected_posterior(variance=5, prior="1/3", known=known, given=truth, nonnegative=True)  # type: ignore[arg-type]
    assert got == pytest.approx(float(exact), rel=1e-13)
    plain = expected_posterior(variance=5, prior="1/3", given=truth)  # type: ignore[arg-type]
    if known < 10:  # what is thrown away can only teach less
        assert got < plain if truth == "present" else got > plain
    else:
        assert got == pytest.approx(plain, rel=1e-13)


def test_by_simulation() -> None:
    # mean of the posterior over draws of the package's sampler; 5 standard errors: 6e-7 false alarms
    noise, n = GaussianNoise(variance=10), 400_000
    draws = sample(noise, n, source=NotPrivateSeededEntropy(7))
    found = posterior(draws + 1 + 3, variance=10, prior="1/5", known=3)
    error = found.std() / math.sqrt(n)
    assert abs(found.mean() - expected_posterior(variance=10, prior="1/5")) < 5 * error
    # and it tells a variance that is 10 % off
    for wrong in (9, 11):
        assert abs(found.mean() - expected_posterior(variance=wrong, prior="1/5")) > 5 * error


def test_shapes() -> None:
    assert expected_ratio(variance=[[5], [6]], prior=[0.1, 0.2, 0.3]).shape == (2, 3)
    grid = expected_ratio(variance=[[5], [6]], prior=[0.1, 0.2, 0.3])
    assert grid[1, 2] == pytest.approx(expected_ratio(variance=6, prior=0.3), rel=1e-14)
    assert expected_ratio(variance=np.array([]), prior=0.5).shape == (0,)


def test_what_cannot_be_used() -> None:
    with pytest.raises(InputError, match="given is 'there'; it must be 'present' or 'absent'"):
        expected_ratio(variance=5, prior=0.5, given="there")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="tolerance is 0; it must be at least 1e-300"):
        expected_ratio(variance=5, prior=0.5, tolerance=0)
