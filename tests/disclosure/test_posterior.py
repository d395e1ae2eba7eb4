from __future__ import annotations

import inspect
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import risk_reference as reference
from hypothesis import given
from hypothesis import strategies as st

from discreet.disclosure import log_odds, posterior, ratio
from discreet.errors import InputError

mpmath.mp.dps = 60

priors = st.fractions(Fraction(1, 10**12), 1 - Fraction(1, 10**12), max_denominator=10**12)
rhos = st.floats(-6, 3).map(lambda power: Fraction(10**power))


def test_functions_show_the_arguments_that_they_take() -> None:
    shown = inspect.signature(posterior).parameters
    assert list(shown) == ["noisy", "prior", "variance", "rho", "known", "others", "nonnegative"]
    needed = [name for name, one in shown.items() if one.default is inspect.Parameter.empty]
    assert needed == ["noisy", "prior", "known"]


def test_every_public_name_is_there() -> None:
    import discreet.disclosure

    assert discreet.disclosure.__all__ == sorted(discreet.disclosure.__all__)
    for name in discreet.disclosure.__all__:
        assert callable(getattr(discreet.disclosure, name)), name
    assert set(discreet.disclosure.__all__) <= set(dir(discreet.disclosure))
    with pytest.raises(AttributeError, match="no attribute 'posteriors'"):
        _ = discreet.disclosure.posteriors  # type: ignore[attr-defined]


def test_figures_of_the_paper() -> None:
    # Table 4, posterior column; R'(y) is twice that at p = 1/2
    found = posterior(range(1, 6), rho="0.099", prior="1/2", known=0)
    assert found.round(3).tolist() == [0.525, 0.574, 0.621, 0.667, 0.709]
    assert np.allclose(ratio(range(1, 6), rho="0.099", prior="1/2", known=0), 2 * found, rtol=1e-15)


@given(st.integers(-(10**9), 10**9), rhos, priors, st.integers(0, 10**9))
def test_against_sixty_digits(noisy: int, rho: Fraction, prior: Fraction, known: int) -> None:
    exact = reference.posterior(noisy, 1 / (2 * rho), prior, known)
    got = posterior(noisy, rho=rho, prior=prior, known=known)
    # one rounding of the log ratio moves the posterior by 1e-16 of its size
    size = abs(float((noisy - known - 0.5) * 2 * rho))
    assert got == pytest.approx(float(exact), rel=1e-15 * (4 + size), abs=1e-307)
    assert ratio(noisy, rho=rho, prior=prior, known=known) == pytest.approx(
        float(exact / reference.exactly(prior)), rel=1e-15 * (4 + size), abs=1e-295
    )
    odds = (
        float(mpmath.log(exact / (1 - exact)))
        if 0 < exact < 1 and 1 - exact > mpmath.mpf(10) ** -20  # the difference keeps 40 digits
        else None
    )
    if odds is not None:
        found = log_odds(noisy, rho=rho, prior=prior, known=known)
        assert found == pytest.approx(odds, rel=1e-13, abs=1e-13 * (30 + size))


@given(st.integers(-1000, 1000), st.integers(0, 1000), st.integers(0, 10**6), rhos, st.floats(1e-9, 1 - 1e-9))
def test_known_and_noisy_shift_together(noisy: int, known: int, by: int, rho: Fraction, prior: float) -> None:
    here = posterior(noisy, rho=rho, prior=prior, known=known)
    assert posterior(noisy + by, rho=rho, prior=prior, known=known + by) == here


@given(st.integers(-1000, 1000), st.integers(0, 100), rhos, priors)
def test_flip(noisy: int, known: int, rho: Fraction, prior: Fraction) -> None:
    # mirrored about known + 1/2, "present" and "absent" change places
    mirror = 2 * known + 1 - noisy
    assert log_odds(mirror, rho=rho, prior=1 - prior, known=known) == -log_odds(
        noisy, rho=rho, prior=prior, known=known
    )
    total = posterior(mirror, rho=rho, prior=1 - prior, known=known) + posterior(
        noisy, rho=rho, prior=prior, known=known
    )
    assert total == pytest.approx(1, abs=1e-15)


@given(st.integers(-50, 50), st.integers(0, 40), rhos, priors)
def test_more_is_more(noisy: int, known: int, rho: Fraction, prior: Fraction) -> None:
    found = posterior([noisy, noisy + 1], rho=rho, prior=prior, known=known)
    assert 0 <= found[0] <= found[1] <= 1
    assert np.isfinite(log_odds(noisy, rho=rho, prior=prior, known=known))


def test_far_out_nothing_breaks() -> None:
    # exp(-rho x^2) underflows for both counts: 0/0 if done naively
    assert posterior(5000, rho=1, prior="1/2", known=5000) == pytest.approx(1 / (1 + np.e))
    assert posterior([10**9, -(10**9)], rho=1000, prior="1e-12", known=0).tolist() == [1.0, 0.0]
    assert log_odds(10**9, rho=1000, prior="1/2", known=0) == pytest.approx(2e12, rel=1e-8)


def test_broadcasting_and_kinds_of_numbers() -> None:
    grid = posterior(
        np.arange(4)[:, None, None], variance=[[5], [7]], prior=["1/2", 0.25, Fraction(1, 864)], known=0
    )
    assert grid.shape == (4, 2, 3)
    assert grid[3, 1, 2] == posterior(3, variance=7, prior="1/864", known=0)
    same = [
        posterior(3, variance=v, prior="1/10", known=2) for v in (5, 5.0, "5", Fraction(5), np.float64(5))
    ]
    assert len(set(same)) == 1
    assert isinstance(same[0], float)
    assert posterior(3, rho="1/10", prior="1/10", known=2) == same[0]
    assert posterior(np.array([], dtype=int), rho=1, prior=0.5, known=0).shape == (0,)


def test_prior_next_to_one_keeps_its_complement() -> None:
    odds = log_odds(0, variance=1, prior="0.999999999999", known=0)
    assert odds == pytest.approx(float(mpmath.log(mpmath.mpf(10) ** 12 - 1)) - 0.5, rel=1e-15)


@pytest.mark.parametrize("known", [0, 1, 7])
def test_zero_for_negative_values(known: int) -> None:
    present, absent = reference.laws(Fraction(5), 200, known, nonnegative=True)
    exact = present[0] / (present[0] + absent[0])
    got = posterior(0, variance=5, prior="1/2", known=known, nonnegative=True)
    assert got == pytest.approx(float(exact), rel=1e-14)
    # a zero is weaker evidence of absence if the noise alone might have gone further down
    assert got < posterior(0, variance=5, prior="1/2", known=known)
    assert posterior(2, variance=5, prior="1/2", known=known, nonnegative=True) == posterior(
        2, variance=5, prior="1/2", known=known
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prior": 0}, "prior is 0; it must lie strictly between 0 and 1"),
        ({"prior": [0.5, 1.0]}, "prior is 1; it must"),
        ({"prior": "7/5"}, "prior is 7/5; it must"),
        ({"prior": np.array([0.2, -0.1])}, "prior is -0.1; it must"),
        ({"prior": float("nan")}, "prior has a value that is not a finite number"),
        ({"prior": "half"}, "prior is 'half'; an exact number"),
        ({"prior": True}, "prior is of type bool"),
        ({"variance": None, "rho": 0}, "rho is 0; it must be above zero"),
        ({"variance": None, "rho": np.array([1.0, -2.0])}, "rho is -2; it must be above zero"),
        ({"variance": "-1/2"}, "variance is -1/2; it must be above zero"),
        ({"variance": None}, "neither is given"),
        ({"rho": 1}, "both are given"),
        ({"variance": 1e-9}, "variance 1e-09; between 0.0001 and 1e+10"),
        ({"known": -1}, "known is -1; a count without the target is zero or more"),
        ({"known": 0.5}, "known is 0.5; it must be a whole number"),
        ({"noisy": 2.5}, "noisy is 2.5; it must be a whole number"),
        ({"noisy": 2**60}, "at most 2^52"),
        ({"noisy": [1, 2, 3], "prior": [0.1, 0.2]}, "do not fit"),
        ({"noisy": -1, "nonnegative": True}, "noisy is -1, but negative values are said"),
    ],
)
def test_what_cannot_be_used(change: dict[str, object], says: str) -> None:
    arguments: dict[str, object] = {"noisy": 1, "variance": 5, "prior": 0.5, "known": 0, **change}
    with pytest.raises(InputError) as error:
        posterior(arguments.pop("noisy"), **arguments)  # type: ignore[arg-type]
    assert says in str(error.value)


@pytest.mark.parametrize("prior", ["1e-400", "1e-320", 1e-320])
def test_a_prior_that_is_no_whole_float_is_refused(prior: object) -> None:
    with pytest.raises(InputError, match="at least 1e-300"):
        posterior(2, rho="0.1", prior=prior, known=0)


@pytest.mark.parametrize("smallest", ["1/10000", "0.0001", Fraction(1, 10**4), 1e-4])
def test_the_smallest_variance_is_allowed_however_it_is_written(smallest: object) -> None:
    # the exact 1/10000 lies below the float 1e-4, and was refused: "0.0001; between 0.0001 and 1e+10"
    assert posterior([0, 1], variance=smallest, prior="1/2", known=0).tolist() == [0.0, 1.0]
    assert posterior(1, rho=5000, prior="1/2", known=0) == 1.0
    with pytest.raises(InputError, match=r"between 0\.0001 and"):
        posterior(1, variance="0.0000999", prior="1/2", known=0)
