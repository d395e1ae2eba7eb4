"""dp-accounting's events and distributions; those that need the package are skipped without it.

`make test-interop` runs all of them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from discreet import (
    DiscreteGaussian,
    DiscreteLaplace,
    GaussianDP,
    InputError,
    PrivacyLoss,
    TightZCDP,
    compose,
)
from discreet.accounting.zcdp import zcdp_rho
from discreet.interop.dp_accounting import from_dp_event, loss_grid, to_pld
from discreet.noise import ContinuousGaussian, ContinuousLaplace, Noise

COMPOSITIONS: dict[str, list[Noise]] = {
    "a lattice of Gaussians": [DiscreteGaussian(variance=5, times=10)],
    "hardly any noise": [DiscreteGaussian(variance="1/10")],
    "much noise": [DiscreteGaussian(variance=1000)],
    "pure": [DiscreteLaplace(scale=2, times=3)],
    "two scales": [DiscreteLaplace(scale=5), DiscreteLaplace(scale=3, sensitivity=2)],
    "a mixture": [
        DiscreteGaussian(variance="1.828"),
        DiscreteGaussian(variance="4.02"),
        DiscreteLaplace(scale="7/3", times=2),
    ],
}


def delta_of(points: tuple[int, np.ndarray, float], interval: float, epsilon: float) -> float:
    """The delta of a distribution on a grid, from its definition."""
    first, probabilities, infinite = points
    losses = interval * np.arange(first, first + len(probabilities))
    above = losses > epsilon
    return infinite + math.fsum(probabilities[above] * -np.expm1(epsilon - losses[above]))


@pytest.mark.parametrize("name", ["a lattice of Gaussians", "pure", "two scales", "much noise"])
def test_the_grid_is_on_the_safe_side_and_within_a_step(name: str) -> None:
    loss, interval = compose(COMPOSITIONS[name]), 0.01
    points = loss_grid(loss, interval, Fraction(1, 10**10))
    assert math.isclose(points[1].sum() + points[2], 1.0, abs_tol=1e-12)
    assert points[1].min() >= 0.0
    for epsilon in (-0.5, 0.0, 0.013, 0.2, 1 / 3, 0.7, 1.5, 4.0):
        ours = loss.delta(epsilon=Fraction(repr(epsilon)))
        assert delta_of(points, interval, epsilon) >= ours
        # a step further down the exact curve
        least = loss.delta(epsilon=Fraction(repr(epsilon)) - Fraction(101, 10_000))
        assert delta_of(points, interval, epsilon) <= least + 1e-15


def test_a_grid_that_rounded_down_would_be_found() -> None:
    loss, interval = compose(COMPOSITIONS["a lattice of Gaussians"]), 0.01
    first, probabilities, infinite = loss_grid(loss, interval, Fraction(1, 10**10))
    lower = (first - 1, probabilities, infinite)
    assert delta_of(lower, interval, 1.0) < loss.delta(epsilon=1)


def test_what_cannot_become_a_distribution_is_refused() -> None:
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    loss = compose([DiscreteGaussian(variance=5)])
    with pytest.raises(InputError, match="interval is 1; it must lie between"):
        to_pld(loss, interval=1)
    with pytest.raises(InputError, match="loss is a list; it must be one PrivacyLoss"):
        to_pld([loss])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="take a larger interval"):
        to_pld(loss, interval=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_epsilons_of_the_package_are_never_below_ours_and_within_its_step(name: str) -> None:
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    loss = compose(COMPOSITIONS[name])
    pld = to_pld(loss)
    for delta in ("0.1", "1e-3", "1e-6", "1e-9", "1e-10"):
        ours = max(float(loss.epsilon(delta=delta)), 0.0)
        theirs = pld.get_epsilon_for_delta(float(delta))
        assert ours <= theirs <= ours + 1e-4


def test_it_composes_with_distributions_of_the_package() -> None:
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    from dp_accounting.pld import privacy_loss_distribution as pld

    ours = to_pld(compose([DiscreteLaplace(scale=2)]))
    theirs = pld.from_discrete_laplace_mechanism(0.5)
    both = ours.compose(theirs)
    exact = compose([DiscreteLaplace(scale=2, times=2)])
    for delta in ("1e-2", "1e-5"):
        value = float(exact.epsilon(delta=delta))
        assert value - 1e-9 <= both.get_epsilon_for_delta(float(delta)) <= value + 3e-4


@pytest.mark.slow
def test_the_package_agrees_on_discrete_gaussians() -> None:
    """from_discrete_gaussian_mechanism, composed by itself: an independent engine."""
    pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")
    from dp_accounting.pld import privacy_loss_distribution as pld

    theirs = pld.from_discrete_gaussian_mechanism(5**0.5, value_discretization_interval=1e-4)
    loss = compose([DiscreteGaussian(variance=5, times=10)])
    value = theirs.self_compose(10).get_epsilon_for_delta(1e-8)
    assert abs(value - to_pld(loss).get_epsilon_for_delta(1e-8)) < 2e-3


def events() -> Any:
    return pytest.importorskip("dp_accounting", reason="dp-accounting is not installed").dp_event


def test_discrete_laplace_events_are_accounted_for_exactly() -> None:
    de = events()
    one = de.DiscreteLaplaceDpEvent(noise_parameter=0.1, sensitivity=2)
    tree = de.ComposedDpEvent([de.NoOpDpEvent(), de.SelfComposedDpEvent(one, 3), one])
    found = from_dp_event(tree)
    assert isinstance(found, PrivacyLoss)
    assert found.events == (DiscreteLaplace(scale=10, sensitivity=2, times=4),)
    from dp_accounting.pld import pld_privacy_accountant

    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(tree)
    ours = float(found.epsilon(delta="1e-6"))
    assert ours <= accountant.get_epsilon(1e-6) <= ours + 1e-3


def test_gaussian_events_are_accounted_for_exactly() -> None:
    de = events()
    tree = de.ComposedDpEvent([de.SelfComposedDpEvent(de.GaussianDpEvent(4.0), 16), de.GaussianDpEvent(1.0)])
    found = from_dp_event(tree)
    assert isinstance(found, GaussianDP)
    assert math.isclose(found.mu, math.sqrt(2))  # 16/16 + 1
    from dp_accounting.pld import pld_privacy_accountant

    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(tree)
    assert found.epsilon(delta=1e-6) <= accountant.get_epsilon(1e-6) <= found.epsilon(delta=1e-6) + 1e-3


def test_with_rho_alone_the_sum_of_rhos_is_what_is_known() -> None:
    de = events()
    tree = de.ComposedDpEvent(
        [
            de.ZCDpEvent(0.5),
            de.GaussianDpEvent(1.0),
            de.DiscreteLaplaceDpEvent(noise_parameter=1.0, sensitivity=1),
        ]
    )
    found = from_dp_event(tree)
    assert isinstance(found, TightZCDP)
    assert found.rho == 1 + zcdp_rho([DiscreteLaplace(scale=1)])


def test_no_events_cost_nothing() -> None:
    de = events()
    found = from_dp_event(de.SelfComposedDpEvent(de.NoOpDpEvent(), 5))
    assert isinstance(found, PrivacyLoss)
    assert found.delta(epsilon=0) == 0.0
    assert to_pld(found).get_epsilon_for_delta(1e-9) == 0.0


def test_all_that_is_not_covered_is_named_at_once() -> None:
    de = events()
    tree = de.ComposedDpEvent(
        [
            de.LaplaceDpEvent(0.0),
            de.PoissonSampledDpEvent(0.1, de.GaussianDpEvent(1.0)),
            de.SelfComposedDpEvent(de.NonPrivateDpEvent(), 2),
            de.GaussianDpEvent(0.0),
            de.ZCDpEvent(0.5, 0.1),
        ]
    )
    with pytest.raises(InputError) as raised:
        from_dp_event(tree)
    said = str(raised.value)
    assert "event.events[0].noise_multiplier is 0.0" in said
    assert "event.events[1] is a PoissonSampledDpEvent" in said
    assert "event.events[2].event is a NonPrivateDpEvent" in said
    assert "event.events[3].noise_multiplier is 0.0" in said
    assert "event.events[4] is a ZCDpEvent" in said
    with pytest.raises(InputError, match="event is a float; it must be a DpEvent"):
        from_dp_event(1.0)


def test_a_sensitivity_is_not_cut_off() -> None:
    de = events()
    with pytest.raises(InputError, match=r"sensitivity is 1\.9; whole numbers change by a whole number"):
        from_dp_event(de.DiscreteLaplaceDpEvent(0.3, 1.9))


def test_randomised_response_is_accounted_for_exactly() -> None:
    de = events()
    three = from_dp_event(de.SelfComposedDpEvent(de.RandomizedResponseDpEvent(0.5, 2), 3))
    # kept with 3/4: all three answers are as true with 27/64, and with 1/64 of the other
    assert float(three.delta(epsilon=0.0)) == pytest.approx(11 / 16, rel=1e-10)
    four = from_dp_event(de.RandomizedResponseDpEvent(0.4, 4))
    assert float(four.delta(epsilon=1.0)) == pytest.approx(0.7 - 0.1 * math.e, rel=1e-10)
    with pytest.raises(InputError, match="2 to 20000 whole buckets"):
        from_dp_event(de.RandomizedResponseDpEvent(0.5, 1))


# The newest event is not in every version of the package: classes of the same shape, without the package.


@dataclass
class DpEvent:
    pass


@dataclass
class DiscreteGaussianDpEvent(DpEvent):
    sigma: float
    sensitivity: float = 1.0
    dimension: int = 1


@dataclass
class SelfComposedDpEvent(DpEvent):
    event: DpEvent
    count: int


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with these classes where the package would be; its other events have no objects here."""
    module, events_ = ModuleType("dp_accounting"), ModuleType("dp_accounting.dp_event")
    for one in (DpEvent, DiscreteGaussianDpEvent, SelfComposedDpEvent):
        setattr(events_, one.__name__, one)
    for name in ("NoOp", "Composed", "DiscreteLaplace", "RandomizedResponse", "Laplace", "Gaussian", "ZC"):
        setattr(events_, f"{name}DpEvent", type(name, (), {}))
    module.dp_event = events_  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dp_accounting", module)
    monkeypatch.setitem(sys.modules, "dp_accounting.dp_event", events_)


@pytest.mark.usefixtures("shapes")
def test_discrete_gaussian_events_are_accounted_for_exactly() -> None:
    found = from_dp_event(SelfComposedDpEvent(DiscreteGaussianDpEvent(3.0), 100))
    assert isinstance(found, PrivacyLoss)
    assert found.events == (DiscreteGaussian(variance=9, times=100),)
    epsilon = float(found.epsilon(delta="1e-6"))
    assert epsilon == pytest.approx(20.7789, abs=5e-5)
    # by the law of the sum, a hundred convolutions
    one, law = np.exp(-(np.arange(-60, 61) ** 2) / 18), np.ones(1)
    for _ in range(100):
        law = np.convolve(law, one / one.sum())
    losses = (np.arange(-6000, 6001) + 50) / 9
    assert math.fsum(law * np.maximum(-np.expm1(epsilon - losses), 0)) == pytest.approx(1e-6, rel=1e-6)
    # Renyi divergences, dp-accounting's own way for this event, give more
    assert TightZCDP.from_rho(Fraction(100, 18)).epsilon(delta=1e-6) > 21.97
    # a decimal is read as it prints
    assert from_dp_event(DiscreteGaussianDpEvent(0.1, 2.0)).events == (  # type: ignore[union-attr]
        DiscreteGaussian(variance=Fraction(1, 100), sensitivity=2),
    )


@pytest.mark.usefixtures("shapes")
@pytest.mark.parametrize(
    ("event", "message"),
    [
        (DiscreteGaussianDpEvent(0.0), "event has sigma 0.0 and sensitivity 1.0; both must be above zero"),
        (DiscreteGaussianDpEvent(1.0, 0.0), "sensitivity 0.0; both must be above zero"),
        (DiscreteGaussianDpEvent(1.0, float("nan")), "sensitivity nan; both must be above zero"),
        (DiscreteGaussianDpEvent(1.0, 1.5), r"event\.sensitivity is 1\.5; whole numbers change by a whole"),
        (DiscreteGaussianDpEvent(1.0, 1.0, 3), r"event\.dimension is 3; .* ZCDpEvent"),
    ],
)
def test_discrete_gaussian_events_that_are_not_covered(event: DpEvent, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_dp_event(event)


def test_dp_accounting_reads_continuous_laplace_and_mixtures() -> None:
    dp_event = pytest.importorskip("dp_accounting").dp_event
    both = [
        dp_event.LaplaceDpEvent(2.0),
        dp_event.GaussianDpEvent(3.0),
        dp_event.DiscreteLaplaceDpEvent(0.5, 1),
    ]
    found = from_dp_event(dp_event.ComposedDpEvent(both))
    mine = compose([ContinuousLaplace(scale=2), ContinuousGaussian(variance=9), DiscreteLaplace(scale=2)])
    assert found.epsilon(delta=1e-6) == pytest.approx(float(mine.epsilon(delta=1e-6)), rel=1e-9)
