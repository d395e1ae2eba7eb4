"""Measurements and budgets of OpenDP, against the package; skipped where it is not installed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet import DiscreteGaussian, DiscreteLaplace, InputError, account, compose, load
from discreet.interop.opendp import measurement_noise, measurement_promise, to_privacy_loss
from discreet.interop.promise import Promise

dp: Any = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
dp.enable_features("contrib")

NUMBER = (dp.atom_domain(T=int), dp.absolute_distance(T=int))


def test_noise_on_a_number_is_taken_from_the_map() -> None:
    assert measurement_noise(dp.m.make_laplace(*NUMBER, scale=2.0), law="laplace") == DiscreteLaplace(scale=2)
    assert measurement_noise(
        dp.m.make_geometric(*NUMBER, scale=4.0), law="laplace", d_in=3
    ) == DiscreteLaplace(scale=4, sensitivity=3)
    assert measurement_noise(dp.m.make_gaussian(*NUMBER, scale=2.0), law="gaussian") == DiscreteGaussian(
        variance=4
    )


@pytest.mark.parametrize("scale", [3.0, 0.7, 11.3])
def test_a_map_that_was_rounded_up_never_understates_the_loss(scale: float) -> None:
    laplace = measurement_noise(dp.m.make_laplace(*NUMBER, scale=scale), law="laplace")
    gaussian = measurement_noise(dp.m.make_gaussian(*NUMBER, scale=scale), law="gaussian")
    exact = Fraction(scale)
    assert exact * (1 - Fraction(1, 10**12)) <= laplace.size <= exact
    assert exact**2 * (1 - Fraction(1, 10**12)) <= gaussian.size <= exact**2
    # and the account of ten of them is that of the true scale, to the digits of a float
    ten = compose([measurement_noise(dp.m.make_gaussian(*NUMBER, scale=scale), law="gaussian").repeated(10)])
    true = compose([DiscreteGaussian(variance=exact**2, times=10)])
    assert float(ten.epsilon(delta="1e-8")) == pytest.approx(float(true.epsilon(delta="1e-8")), rel=1e-10)


def test_vectors_of_counts_one_of_which_changes_by_one() -> None:
    vector = (dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float))
    assert measurement_noise(dp.m.make_gaussian(*vector, scale=2.0), law="gaussian") == DiscreteGaussian(
        variance=4
    )
    assert measurement_promise(dp.m.make_gaussian(*vector, scale=2.0), d_in=2) == Promise(rho="1/2")
    with pytest.raises(InputError, match="d_in is 2; for a vector it must be 1"):
        measurement_noise(dp.m.make_gaussian(*vector, scale=2.0), law="gaussian", d_in=2)


def test_the_exact_epsilon_is_at_most_what_the_package_proves() -> None:
    """OpenDP's own conversion of rho to (epsilon, delta) is a bound on the same measurement."""
    gaussian = dp.m.make_gaussian(*NUMBER, scale=2.0)
    bound, _ = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), 1e-6).map(1)
    exact = float(compose([measurement_noise(gaussian, law="gaussian")]).epsilon(delta="1e-6"))
    assert 0.8 * bound < exact <= bound


def test_promises_of_maps() -> None:
    gaussian = dp.m.make_gaussian(*NUMBER, scale=2.0)
    assert measurement_promise(gaussian, d_in=2) == Promise(rho="1/2")
    assert measurement_promise(dp.m.make_laplace(*NUMBER, scale=2.0)) == Promise(epsilon="1/2")
    fixed = measurement_promise(dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), 1e-6))
    assert fixed.variant == "Approximate DP"
    assert fixed.delta == Fraction(1, 10**6)
    with pytest.raises(InputError, match=r"SmoothedMaxDivergence.*make_fix_delta"):
        measurement_promise(dp.c.make_zCDP_to_approxDP(gaussian))


def test_all_that_is_wrong_with_a_measurement_is_named_at_once() -> None:
    floats = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=3.0)
    with pytest.raises(InputError, match=r"input domain is AtomDomain\(T=f64\).*its loss is MaxDivergence"):
        measurement_noise(floats, law="gaussian")
    with pytest.raises(InputError, match='law is \'normal\'; it must be "gaussian" or "laplace"'):
        measurement_noise(floats, law="normal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="measurement is a float; it must be OpenDP's Measurement"):
        measurement_noise(1.0, law="laplace")


def test_a_budget_of_the_package_from_an_account() -> None:
    loss = compose([DiscreteGaussian(variance=5, times=10)])
    measure, (epsilon, delta) = to_privacy_loss(loss, delta="1e-6")
    assert str(measure) == "Approximate(MaxDivergence)"
    exact = loss.epsilon(delta=Fraction(delta), certified=True, digits=16)
    assert exact.upper <= Fraction(epsilon) <= exact.upper + Fraction(1, 10**9)
    measure, rho = to_privacy_loss(account(load("dhc-2022-08-25")))
    assert str(measure) == "ZeroConcentratedDivergence"
    assert 0 <= Fraction(rho) - Fraction(73, 20) < Fraction(1, 10**15)  # rounded up
    unit = dp.unit_of(contributions=1)
    context = dp.Context.compositor(
        data=[1, 2, 3],
        privacy_unit=unit,
        privacy_loss=to_privacy_loss(loss, delta="1e-6"),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
    )
    assert context.query().count().laplace().release() is not None


def test_a_composition_is_not_taken_for_one_noise() -> None:
    one = dp.m.make_gaussian(*NUMBER, scale=1.0)
    with pytest.raises(InputError, match="one whole number for each of its input; measurement_promise has"):
        measurement_noise(dp.c.make_composition([one, one]), law="gaussian")


def test_laplace_noise_by_its_rho_is_not_taken_for_gaussian_noise() -> None:
    laplace = dp.m.make_laplace(*NUMBER, scale=2.0)
    with pytest.raises(InputError, match="its draws have a mean square of"):
        measurement_noise(dp.c.make_pureDP_to_zCDP(laplace), law="gaussian")


def test_gaussian_noise_too_small_to_be_told_from_laplace_noise_is_refused() -> None:
    for measurement in (
        dp.m.make_gaussian(*NUMBER, scale=0.2),
        dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*NUMBER, scale=0.2)),
    ):
        with pytest.raises(InputError, match="draws do not tell noise of variance"):
            measurement_noise(measurement, law="gaussian")
