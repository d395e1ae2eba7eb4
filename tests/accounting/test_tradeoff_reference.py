"""The trade-off curve against Neyman-Pearson sorting of the reference's atoms, and its own symmetries."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from compositions import LARGE, TRICKY, G, L, both, small, tricky
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import mpf

from discreet.accounting.privacy_loss import compose
from discreet.errors import InputError
from discreet.loss.contour import Kind, Tail
from discreet.loss.tradeoff import TradeOff, occurring
from discreet.noise import Noise

F_ERROR = 1e-10
SMALLEST = mp.mpf(10) ** -300
ALPHAS = tuple(
    Fraction(a) for a in ("0.5", "0.3", "0.05", "1e-3", "1e-6", "1e-10", "1e-20", "1e-60", "1e-150", "1e-300")
)


def close(found: float, truth: mp.mpf, tolerance: float) -> bool:
    return abs(mpf(Fraction(float(found))) - truth) <= tolerance * truth


def check_curve(events: tuple[Noise, ...], alphas: list[Fraction]) -> None:
    loss, reference = both(events)
    for alpha, found in zip(alphas, loss.tradeoff(alpha=alphas), strict=True):
        truth = reference.tradeoff(alpha)
        if truth > SMALLEST:
            assert close(found, truth, F_ERROR), (events, alpha, found, mp.nstr(truth, 17))


def near_knots(events: tuple[Noise, ...], count: int) -> list[Fraction]:
    """Alphas at the knots to 60 digits, just beside them, and half-way to the next."""
    _, reference = both(events)
    knots = [a for _, a, _ in reference.knots() if SMALLEST < a < 1]
    chosen: list[Fraction] = []
    for k in range(0, len(knots) - 1, max(1, len(knots) // count)):
        here, there = (
            Fraction(int(mp.ldexp(a, reference.bits)), 2**reference.bits) for a in knots[k : k + 2]
        )
        chosen += [
            here,
            here * (1 + Fraction(1, 10**15)),
            here * (1 - Fraction(1, 10**15)),
            (here + there) / 2,
        ]
    return [a for a in chosen if 0 < a < 1]


@given(
    events=small,
    alphas=st.sets(
        st.sampled_from([*ALPHAS, *(1 - a for a in ALPHAS if a > Fraction(1, 10**30))]),
        min_size=4,
        max_size=8,
    ),
)
@settings(max_examples=8)
def test_curve(events: tuple[Noise, ...], alphas: set[Fraction]) -> None:
    check_curve(events, sorted(alphas))


@tricky()
def test_tricky_curves(name: str) -> None:
    check_curve(TRICKY[name], [*ALPHAS, *(1 - a for a in ALPHAS if a > Fraction(1, 10**30))])


@pytest.mark.slow
@given(events=small)
@settings(max_examples=5)
def test_at_knots_beside_them_and_between(events: tuple[Noise, ...]) -> None:
    check_curve(events, near_knots(events, 8))


@tricky("one of each kind")
def test_tricky_knots(name: str) -> None:
    check_curve(TRICKY[name], near_knots(TRICKY[name], 10))


@pytest.mark.slow
@given(events=small)
@settings(max_examples=150)
def test_curve_at_length(events: tuple[Noise, ...]) -> None:
    check_curve(
        events, [*ALPHAS, *(1 - a for a in ALPHAS if a > Fraction(1, 10**30)), *near_knots(events, 20)]
    )


@pytest.mark.parametrize(
    "events",
    [
        (G(5, 1, 3),),
        (G("0.49", 2), L(2, 3)),
        (L("7/3", 3, 2),),
        (G("0.1"),),
        (G(1, 1, 2), G(2)),
        (G("0.11"), L("1.1", 1, 3)),  # of five points of the lattice one has no mass
        (G("0.11", 1, 3), L("1.1", 1, 3)),
        (L("1/2", 2, 2), L(3, 1)),
    ],
)
def test_the_list_of_knots(events: tuple[Noise, ...]) -> None:
    loss, reference = both(events)
    found = loss.knots()
    assert np.all(np.diff(found.alpha) >= 0)
    assert np.all(np.diff(found.beta) <= 0)
    every = {round(float(x) * 2**30) for x, _, _ in reference.knots()}
    truth = [(x, a, b) for x, a, b in reference.knots() if a > mp.mpf(10) ** -299 and b > mp.mpf(10) ** -299]
    listed = {round(x * 2**30): (a, b) for x, a, b in zip(found.loss, found.alpha, found.beta, strict=True)}
    for x, a, b in truth:
        assert round(float(x) * 2**30) in listed, f"the knot at loss {x} is missing"
        alpha, beta = listed[round(float(x) * 2**30)]
        assert close(alpha, a, 1e-12)
        assert close(beta, b, 1e-12)
    # (1, 0) ends the curve where the loss is bounded; every other corner has a mass
    empty = [x for x in listed if x not in every]
    assert all(listed[x] == (1.0, 0.0) for x in empty)
    assert len(empty) == (loss.law.loss.largest is not None)


def test_knots_of_many_laplace_terms() -> None:
    # by brute force, which of the values occur: all sums of a value of each term
    events = [L("1/3", 2, 2), L("2/5", 1, 3), L("7/4", 3)]
    loss = compose(events).law.loss
    values = {Fraction(0)}
    for event in events:
        for _ in range(event.times):
            one = [Fraction(2 * j - event.sensitivity) / event.scale for j in range(event.sensitivity + 1)]
            values = {x + y for x in values for y in one}
    places = sorted(int((x - loss.offset) / loss.step) for x in values)
    assert occurring(loss, -10, places[-1] + 10) == places
    # between Gaussian steps, of which every multiple counts
    with_gauss = compose([*events, G("1/30")]).law.loss
    turn, low = int(30 / with_gauss.step), with_gauss.offset - loss.offset
    residues = {int((x - loss.offset) / with_gauss.step) % turn for x in values}
    assert low == 15
    assert occurring(with_gauss, -500, 500) == [i for i in range(-500, 501) if i % turn in residues]


def test_too_many_knots_are_refused() -> None:
    with pytest.raises(InputError, match="knots"):
        compose([G("5.123456789"), G(7)]).knots(most=1000)


def test_ends_and_the_empty_composition() -> None:
    loss = compose([G(5, 1, 10)])
    assert loss.tradeoff(alpha=0) == 1.0
    assert loss.tradeoff(alpha=1) == 0.0
    nothing = compose([])
    assert nothing.tradeoff(alpha="1/3") == pytest.approx(2 / 3, rel=1e-15)
    assert nothing.delta(epsilon=0) == 0
    assert nothing.delta(epsilon="-1/10") == pytest.approx(-np.expm1(-0.1), rel=1e-14)


SYMMETRIC = [
    "1e6 events of variance 1e6",
    "one of variance 1e6",
    "three without lattice",
    pytest.param("six small ones without lattice", marks=pytest.mark.slow),
    pytest.param("six large ones without lattice", marks=pytest.mark.slow),
    "sensitivity 30, 1e6 events",
    "a thousand Laplace",
    "Laplace and Gaussians without lattice",
]


@pytest.mark.parametrize("name", SYMMETRIC)
def test_f_is_its_own_inverse(name: str) -> None:
    loss = compose(LARGE[name])
    alphas = np.array([0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-12, 1e-18, 1e-40, 1e-100])
    once = loss.tradeoff(alpha=alphas)
    # near 1 a float has lost what the inverse would need
    kept = (once > 0) & (once < 0.9)
    twice = loss.tradeoff(alpha=once[kept])
    # an error of 1e-11 in f(alpha) grows in its inverse by the elasticity of f, some hundreds at most here
    np.testing.assert_allclose(twice, alphas[kept], rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["1e6 events of variance 1e6", "two without lattice", "Laplace of sensitivity 30"]
)
def test_f_falls_and_is_convex(name: str) -> None:
    loss = compose(LARGE[name])
    alpha = np.linspace(0.01, 0.99, 99)
    f = loss.tradeoff(alpha=alpha)
    assert np.all(np.diff(f) <= 0)
    assert np.all(np.diff(f, 2) >= -1e-14)
    assert np.all(f <= 1 - alpha)


@pytest.mark.parametrize(
    "name", ["1e6 events of variance 1e6", "three without lattice", "sensitivity 30, 1e6 events"]
)
def test_duality_of_delta_and_f(name: str) -> None:
    # delta(eps) = 1 + f*(-e^eps) = sup over alpha of 1 - f(alpha) - e^eps alpha: attained at alpha(eps)
    loss = compose(LARGE[name])
    for epsilon in (0.0, 0.5, 1.0, 2.0, -0.5):
        alpha, _ = loss.errors(threshold=epsilon)
        delta = loss.delta(epsilon=epsilon)
        assert 1 - loss.tradeoff(alpha=alpha) - np.exp(epsilon) * alpha == pytest.approx(
            delta, rel=1e-9, abs=1e-14
        )
        for other in (0.5 * alpha, min(2 * alpha, 0.99)):
            assert 1 - loss.tradeoff(alpha=other) - np.exp(epsilon) * other <= delta + 1e-14


def test_a_tail_that_is_not_a_number_is_on_neither_side_of_a_threshold() -> None:
    loss = compose([G(5, 1, 10)]).law.loss

    def unknown(kind: Kind, thresholds: list[Fraction]) -> Tail:
        return Tail(np.full(len(thresholds), math.nan), np.full(len(thresholds), math.inf))

    with pytest.raises(ValueError, match="beyond floats"):
        TradeOff(loss, unknown, loss.next_value).values([Fraction(1, 20)])
