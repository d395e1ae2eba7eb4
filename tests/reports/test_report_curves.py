from __future__ import annotations

import numpy as np
import pytest

from discreet.accounting.account import account
from discreet.accounting.privacy_loss import compose
from discreet.budget import DiscreteGaussian, DiscreteLaplace, load
from discreet.comparisons.costs import delta_rows, epsilon_rows, zcdp_of
from discreet.comparisons.gaussian_dp import GaussianDP
from discreet.comparisons.sampling import (
    curve_alphas,
    curve_deltas,
    drawing_epsilons,
    epsilon_grid,
    sample_profile,
    tradeoff_from_profile,
)
from discreet.comparisons.zcdp import ZCDP


def test_grids_are_ordered_and_complete():
    assert np.all(np.diff(curve_deltas()) < 0)
    assert np.all(np.diff(curve_alphas()) > 0)
    zcdp = ZCDP.from_rho("4.9622")
    assert np.all(np.diff(epsilon_grid(zcdp)) > 0)
    assert np.isin(epsilon_grid(zcdp), drawing_epsilons(zcdp)).all()


@pytest.mark.parametrize("rho", ["1/1000", "1/10", "1", "5", "50", "1e8"])
def test_tradeoff_by_duality_is_close_and_never_above(rho):
    # Gaussian DP has both curves in closed form
    curve = GaussianDP.from_rho(rho)
    epsilon = drawing_epsilons(ZCDP.from_rho(rho))
    found = tradeoff_from_profile(sample_profile(curve, epsilon), curve_alphas()).beta
    exact = curve.tradeoff(alpha=curve_alphas())
    assert np.all(found <= exact + 1e-12)
    assert np.all(exact - found < 1e-3)


@pytest.mark.parametrize(
    "event", [DiscreteGaussian(variance="1/4", times=3), DiscreteLaplace(scale=2, sensitivity=3)]
)
def test_tradeoff_by_duality_on_a_coarse_lattice(event):
    loss = compose([event])
    epsilon = drawing_epsilons(ZCDP([event]))
    found = tradeoff_from_profile(sample_profile(loss, epsilon), curve_alphas()).beta
    exact = loss.tradeoff(alpha=curve_alphas())
    assert np.all(found <= exact + 1e-12)
    assert np.all(exact - found < 0.02)  # a lattice makes corners, which lines between epsilons cut


def test_rows_agree_with_each_other():
    one = account(load("pl94-2020-units"))
    (row,) = epsilon_rows(one, ["1e-7"])
    (back,) = delta_rows(one, [repr(row.epsilon)])
    assert back.delta == pytest.approx(1e-7, rel=1e-9)
    assert row.zcdp == ZCDP.from_rho(load("pl94-2020-units").rho).epsilon(delta=1e-7)
    assert zcdp_of(one).rho == load("pl94-2020-units").rho


def test_rows_without_a_question_are_empty():
    one = account(load("dhc-2022-08-25"))
    assert epsilon_rows(one, []) == []
    assert delta_rows(one, []) == []


def test_epsilon_is_not_below_zero():
    (row,) = epsilon_rows(account(load("pl94-2020-units")), ["0.9"], certified=True)
    assert row.epsilon == 0
    assert row.certified.lower == row.certified.upper == 0


@pytest.mark.parametrize("name", ["dhc-2020", "pl94-2020", "dhc-2020-persons-pr"])
def test_every_path_spends_the_same(name):
    release = load(name)
    assert zcdp_of(account(release)).rho == release.rho
