"""Properties of compositions too large for a direct reference, and agreement of the three engines."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from compositions import LARGE, G, L, small
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discreet
from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.budget import load
from discreet.loss.contour import Kind, Quadrature, Strategy
from discreet.loss.lattice import Loss
from discreet.loss.lists import ListEvaluator
from discreet.noise import DiscreteGaussian, Noise

DELTAS = ("0.9", "0.5", "1e-3", "1e-10", "1e-100", "1e-300")
QUICK = [name for name in LARGE if not name.startswith(("0.05", "300 distinct", "six"))]
ALL = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE if name.startswith("six"))]


def epsilons(loss: PrivacyLoss) -> list[Fraction]:
    """Points all over the curve, from a rough Gaussian idea of it."""
    spread = math.sqrt(loss.variance)
    return [Fraction(loss.mean + k * spread).limit_denominator(10**6) for k in (-1, 0, 1, 4, 8)]


@pytest.mark.parametrize("name", ALL)
def test_round_trip(name: str) -> None:
    loss = compose(LARGE[name])
    found = loss.epsilon(delta=list(DELTAS))
    assert np.all(np.diff(found) > 0) or loss.law.loss.largest is not None
    for delta, epsilon in zip(DELTAS, found, strict=True):
        # epsilon is a float: within 1e-11 of it, to both sides, the curve must pass through delta
        room = Fraction(max(abs(epsilon) * 1e-11, 2e-12 * float(delta)))
        low, high = (loss.delta(epsilon=Fraction(epsilon) + s * room) for s in (-1, 1))
        assert high <= float(delta) * (1 + 1e-12)
        assert low >= float(delta) * (1 - 1e-12)


@pytest.mark.parametrize(
    "name",
    ["300 distinct variances", pytest.param("300 distinct small variances", marks=pytest.mark.slow)],
)
def test_hundreds_of_distinct_variances(name: str) -> None:
    loss = compose(LARGE[name])
    for delta in DELTAS:
        assert loss.delta(epsilon=loss.epsilon(delta=delta)) == pytest.approx(float(delta), rel=1e-9)


@pytest.mark.parametrize("name", [pytest.param("lap 1e6", marks=pytest.mark.slow), "lap of large steps"])
def test_epsilon_never_passes_the_largest_loss(name: str) -> None:
    events = {"lap 1e6": (L("0.1", 1, 10**6),), "lap of large steps": (L("0.1", 7),)}[name]
    loss = compose(events)
    largest = float(loss.law.loss.largest or 0)
    found = loss.epsilon(delta=list(DELTAS))
    assert np.all(found <= largest * (1 + 1e-12))
    assert np.all(np.diff(found) >= 0)


@pytest.mark.parametrize("name", ALL)
def test_delta_falls_and_is_convex_in_exp_epsilon(name: str) -> None:
    loss = compose(LARGE[name])
    spread = math.sqrt(loss.variance)
    points = np.linspace(max(loss.mean - 3 * spread, 0.0), loss.mean + 5 * spread, 60)
    log = loss.log_delta(epsilon=points)
    finite = np.isfinite(log)
    assert np.all(np.diff(log[finite]) <= 1e-12)
    if points[-1] < 300:
        delta, w = np.exp(log[finite]), np.exp(points[finite])
        slope = np.diff(delta) / np.diff(w)
        assert np.all(np.diff(slope) >= -1e-11 * np.abs(slope[:-1]).max())


@pytest.mark.parametrize(
    "name", ["1e6 events of variance 1e6", "three without lattice", "Laplace of sensitivity 30"]
)
def test_negative_epsilon(name: str) -> None:
    # delta(-e) = 1 - e^-e (1 - delta(e)), by exchange of the neighbours
    loss = compose(LARGE[name])
    for epsilon in (0.1, 1.0, 5.0):
        expected = -math.expm1(-epsilon) + math.exp(-epsilon) * loss.delta(epsilon=epsilon)
        assert loss.delta(epsilon=-epsilon) == pytest.approx(expected, rel=1e-14)
        if expected < 0.999:  # nearer to 1 a float does not tell one epsilon from another
            assert loss.epsilon(delta=loss.delta(epsilon=-epsilon)) == pytest.approx(-epsilon, rel=1e-9)


@given(events=small, data=st.data())
@settings(max_examples=15)
def test_splitting_and_order_change_nothing(events: tuple[Noise, ...], data: st.DataObject) -> None:
    one = compose(events)
    pieces: list[Noise] = []
    for event in events:
        first = data.draw(st.integers(0, event.times - 1))
        for times in (first, event.times - first):
            if times:
                if isinstance(event, DiscreteGaussian):
                    pieces.append(G(event.variance, event.sensitivity, times))
                else:
                    pieces.append(L(event.scale, event.sensitivity, times))
    other = compose(data.draw(st.permutations(pieces)))
    points = epsilons(one)
    assert np.array_equal(one.delta(epsilon=points), other.delta(epsilon=points))


@given(variance=st.integers(1, 40), sensitivity=st.integers(1, 5), people=st.integers(2, 6))
@settings(max_examples=15)
def test_a_group_is_a_larger_sensitivity(variance: int, sensitivity: int, people: int) -> None:
    assume(sensitivity * people <= 30)
    event = G(variance, sensitivity, 3)
    assert event.for_people(people) == G(variance, sensitivity * people, 3)
    one, other = compose([event.for_people(people)]), compose([G(variance, sensitivity * people, 3)])
    assert one.epsilon(delta="1e-6") == other.epsilon(delta="1e-6")
    # more people, more loss
    assert one.epsilon(delta="1e-6") > compose([event]).epsilon(delta="1e-6")


@given(events=small)
@settings(max_examples=10)
def test_one_more_event_costs_more(events: tuple[Noise, ...]) -> None:
    one, more = compose(events), compose([*events, G(50)])
    points = epsilons(one)
    assert np.all(more.log_delta(epsilon=points) >= one.log_delta(epsilon=points) - 1e-12)


@pytest.mark.parametrize(
    "events",
    [
        (G(5, 1, 10),),
        (G(5), G(7), G(9)),
        (G("0.3", 2, 2), G(3)),
        (L(2, 3, 2), G(3)),
        (G("0.49", 3), G("0.6", 3)),
    ],
)
@pytest.mark.parametrize("kind", [Kind.DELTA, Kind.ALT, Kind.NULL, Kind.REST])
def test_lattice_and_listing_agree(events: tuple[Noise, ...], kind: Kind) -> None:
    loss = Loss(events)
    lattice = Quadrature(loss, Strategy(loss.step, math.pi / float(loss.step)))
    points = [Fraction(x) for x in ("0", "1/3", "1", "2.5", "6", "12.34")]
    if kind is Kind.REST:
        points = points[:4]
    np.testing.assert_allclose(
        lattice.tail(kind, points).log, ListEvaluator(loss).tail(kind, points).log, rtol=1e-13, atol=1e-12
    )


@pytest.fixture(scope="module")
def redistricting() -> Loss:
    account = discreet.account(load("pl94-2020-persons"))
    return account.case(account.main).law.loss


def test_a_longer_line_changes_nothing(redistricting: Loss) -> None:
    points = [Fraction(e) for e in (0, 5, 16, 30)]
    found = [
        Quadrature(redistricting, Strategy(None, reach)).tail(Kind.DELTA, points).log
        for reach in (1e6, 1e7, 1e8)
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)
    np.testing.assert_allclose(found[2], found[1], atol=1e-12)
    chosen = compose(redistricting.terms).log_delta(epsilon=points)
    np.testing.assert_allclose(chosen, found[2], atol=1e-12)


def test_a_line_that_is_too_short_does_change_something(redistricting: Loss) -> None:
    points = [Fraction(16)]
    short = Quadrature(redistricting, Strategy(None, 1.0)).tail(Kind.DELTA, points).log
    long = Quadrature(redistricting, Strategy(None, 1e6)).tail(Kind.DELTA, points).log
    assert abs(short[0] - long[0]) > 1e-6


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    for name in ("1e6 events of variance 1e6", "three without lattice", "0.06 and 0.07, a thousand each"):
        loss = compose(LARGE[name])
        points = epsilons(loss) + [e + Fraction(1, 997) for e in epsilons(loss)]
        together = loss.log_delta(epsilon=points)
        alone = np.array([loss.log_delta(epsilon=e) for e in points])
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)


def test_shapes_go_through() -> None:
    loss = compose([G(5, 1, 10)])
    assert isinstance(loss.delta(epsilon="1/3"), float)
    grid = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert loss.delta(epsilon=grid).shape == (2, 2)
    assert loss.delta(epsilon=[0.0, 1.0]).shape == (2,)
    assert np.array_equal(loss.delta(epsilon=grid).ravel(), loss.delta(epsilon=grid.ravel()))
