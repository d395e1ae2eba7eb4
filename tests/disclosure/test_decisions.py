from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import risk_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.privacy_loss import compose
from discreet.budget import DiscreteGaussian
from discreet.disclosure import Attack, decide, decision_accuracy, expected_loss, posterior
from discreet.errors import InputError
from discreet.noise import GaussianNoise, sample
from discreet.testing import NotPrivateSeededEntropy

mpmath.mp.dps = 40

LOSSES = [
    None,
    [[0, 1], [9, 0]],
    [[0, 3], [1, 0]],
    [[2, 5], [4, 1]],
    [[1, 0], [0, 1]],
    [[0, 1], [0, 1]],
    [[0, 0], [0, 0]],
]


def test_figures_of_the_paper() -> None:
    # design note: 0.5888 at rho1 = 0.099 as the paper reads it, 0.563 with noise of variance 1/rho1
    assert round(decision_accuracy(rho="0.099", prior="1/2"), 4) == 0.5888
    assert round(decision_accuracy(variance=1 / Fraction("0.0992"), prior="1/2"), 3) == 0.563


def brute(
    variance: Fraction, prior: Fraction, loss: object, nonnegative: bool = False, known: int = 0
) -> list[float]:
    """The chances of a right decision given present and absent, and the expected loss over the prior."""
    table = [[0, 1], [1, 0]] if loss is None else loss
    present, absent = reference.laws(
        variance, math.ceil(16 * float(variance) ** 0.5) + 2, known, nonnegative=nonnegative
    )
    right, cost = {1: mpmath.mpf(0), 0: mpmath.mpf(0)}, mpmath.mpf(0)
    p = reference.exactly(prior)
    for y in sorted({*present, *absent}):
        one, none = p * present.get(y, 0), (1 - p) * absent.get(y, 0)
        costs = [none * table[0][d] + one * table[1][d] for d in (0, 1)]  # type: ignore[index]
        says = mpmath.mpf(1) / 2 if costs[0] == costs[1] else int(costs[1] < costs[0])  # a coin for ties
        cost += says * costs[1] + (1 - says) * costs[0]
        right[1] += says * present.get(y, 0)
        right[0] += (1 - says) * absent.get(y, 0)
    return [float(right[1]), float(right[0]), float(cost)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("prior", ["1/864", "1/5", "1/2", "19/20"])
@pytest.mark.parametrize("variance", ["1/50", "7/3", "40"])
def test_against_enumeration(variance: str, prior: str, loss: object) -> None:
    exact = brute(Fraction(variance), Fraction(prior), loss)
    found = [
        decision_accuracy(variance=variance, prior=prior, loss=loss, given=g) for g in ("present", "absent")
    ]
    assert found == pytest.approx(exact[:2], rel=1e-12, abs=1e-30)
    assert expected_loss(variance=variance, prior=prior, loss=loss) == pytest.approx(exact[2], rel=1e-12)
    attack = Attack(variance=variance)
    assert [attack.accuracy(prior=prior, loss=loss, given=g) for g in ("present", "absent")] == pytest.approx(
        exact[:2], rel=1e-12, abs=1e-14
    )


@pytest.mark.parametrize("known", [0, 3])
@pytest.mark.parametrize("prior", ["1/5", "1/2", "3/4"])
def test_with_a_floor_at_zero(known: int, prior: str) -> None:
    exact = brute(Fraction(5), Fraction(prior), None, True, known)
    options = {"variance": 5, "prior": prior, "known": known, "nonnegative": True}
    found = [decision_accuracy(given=g, **options) for g in ("present", "absent")]
    assert found == pytest.approx(exact[:2], rel=1e-12, abs=1e-14)
    assert expected_loss(**options) == pytest.approx(exact[2], rel=1e-12)
    # post-processing never helps on average
    assert (
        decision_accuracy(given="prior", **options)
        <= decision_accuracy(variance=5, prior=prior, given="prior") + 1e-14
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(1, 400), st.floats(0.001, 0.999))
def test_never_above_the_trade_off_bound(fifths: int, prior: float) -> None:
    # one count's best attack *is* the bound: 1 - min over alpha of (1 - p) alpha + p f(alpha)
    variance = Fraction(fifths, 5)
    loss = compose([DiscreteGaussian(variance=variance)])
    alpha, beta = loss.errors(threshold=math.log((1 - prior) / prior))
    bound = 1 - ((1 - prior) * alpha + prior * beta)
    found = decision_accuracy(variance=variance, prior=prior, given="prior")
    assert found == pytest.approx(bound, abs=1e-11)
    assert found >= max(prior, 1 - prior) - 1e-14
    even = decision_accuracy(variance=variance, prior="1/2", given="prior")
    assert even == pytest.approx((1 + loss.total_variation) / 2, abs=1e-12)
    some = np.linspace(0.01, 0.99, 9)
    worse = [(1 - prior) * a + prior * loss.tradeoff(alpha=a) for a in some]
    assert found >= 1 - min(worse) - 1e-11


def test_the_decision_is_where_the_posterior_passes_one_half() -> None:
    noisy = np.arange(-40, 60)
    for prior in ("1/20", "1/2", "7/8"):
        beliefs = posterior(noisy, variance=9, prior=prior, known=4)
        assert (decide(noisy, variance=9, prior=prior, known=4) == (beliefs > 0.5)).all()
    assert decide(3, variance=9, prior="1/2", known=0) == 1.0


@pytest.mark.slow
def test_jagged_for_an_uneven_prior_only() -> None:
    rho = np.geomspace(0.02, 2, 4000)
    even = decision_accuracy(rho=rho, prior="1/2")
    assert (np.diff(even) > 0).all()
    uneven = decision_accuracy(rho=rho, prior="1/5", given="present")
    assert (np.diff(uneven) < 0).any()
    # the decision's edge is the only cause: where it stays, the accuracy moves smoothly
    edge = np.floor(0.5 + math.log(4) / (2 * rho))
    assert (np.abs(np.diff(uneven))[np.diff(edge) == 0] < 2e-3).all()
    assert (np.diff(uneven)[np.diff(edge) < 0] > 0.003).any()
    # averaged over the prior there is no tooth: the edge moves where both decisions cost the same
    mean = decision_accuracy(rho=rho, prior="1/5")
    assert (np.abs(np.diff(mean)) < 5e-4).all()


def test_less_noise_may_even_help_the_target() -> None:
    # rounded to whole numbers, noise of a smaller variance need not be a less noisy version of the larger;
    # the same by enumeration
    more, less = (decision_accuracy(rho=rho, prior="1/5", given="prior") for rho in ("1.1", "1.38"))
    assert less < more - 0.002
    for rho, value in (("1.1", more), ("1.38", less)):
        exact = brute(1 / (2 * Fraction(rho)), Fraction(1, 5), None)
        assert value == pytest.approx(1 - exact[2], abs=1e-13)


def test_by_simulation() -> None:
    # decisions on drawn noise; a proportion within 5 standard errors: 6e-7 false alarms
    n = 400_000
    draws = sample(GaussianNoise(variance=5), n, source=NotPrivateSeededEntropy(11))
    share = decide(draws + 1, variance=5, prior="2/5", known=0).mean()
    exact = decision_accuracy(variance=5, prior="2/5", given="present")
    assert abs(share - exact) < 5 * math.sqrt(exact * (1 - exact) / n)
    for wrong in ("9/2", "11/2"):
        other = decision_accuracy(variance=wrong, prior="2/5", given="present")
        assert abs(share - other) > 5 * math.sqrt(exact * (1 - exact) / n)


@pytest.mark.parametrize(
    "loss", [[[0, 1]], [[0, 1], [1, math.inf]], "0-1", [[0, 1], ["a", 0]], [[0, 1], [1]]]
)
def test_a_loss_must_be_a_table(loss: object) -> None:
    with pytest.raises(InputError, match="loss must be a table of two rows"):
        decision_accuracy(variance=5, prior=0.5, loss=loss)
    with pytest.raises(InputError, match="given is 'both'"):
        decision_accuracy(variance=5, prior=0.5, given="both")


def test_costs_may_be_texts() -> None:
    texts = expected_loss(rho="0.1", prior="1/5", loss=[["0", "1"], ["5/2", 0]])
    assert texts == expected_loss(rho="0.1", prior="1/5", loss=[[0, 1], [2.5, 0]])
    assert texts == expected_loss(rho="0.1", prior="1/5", loss=[[0, 1], [Fraction(5, 2), 0]])
    with pytest.raises(InputError, match="table of two rows"):
        expected_loss(rho="0.1", prior="1/5", loss=[[0, "x"], [1, 0]])
