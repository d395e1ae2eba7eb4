"""delta, epsilon and tails of random small compositions against plain convolution with thousands of bits."""

from __future__ import annotations

import bisect
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from compositions import TRICKY, G, L, both, small, tricky
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import Reference, mpf

from discreet.accounting.privacy_loss import compose
from discreet.noise import Noise

DELTAS = tuple(
    Fraction(d)
    for d in (
        "0.99",
        "0.9",
        "0.5",
        "0.1",
        "1e-3",
        "1e-5",
        "1e-10",
        "1e-20",
        "1e-50",
        "1e-100",
        "1e-200",
        "1e-300",
    )
)
DELTA_ERROR, EPSILON_ERROR = 1e-12, 1e-11
SMALLEST = mp.mpf(10) ** -300


def error(found: float, truth: mp.mpf) -> float:
    """Relative error; infinite where only one of the two is zero."""
    if truth == 0 or found == 0:
        return 0.0 if truth == found else float("inf")
    return float(abs(mpf(Fraction(float(found))) - truth) / abs(truth))


def thresholds(reference: Reference, delta: Fraction) -> list[Fraction]:
    """Where delta is near the given value: anywhere, on an atom, just beside it, and between atoms."""
    with mp.workprec(200):
        epsilon = Fraction(float(reference.epsilon(delta)))
    chosen = [epsilon, -epsilon]
    i = bisect.bisect_left(reference.losses, epsilon)
    if 0 < i < len(reference.losses):
        atom, before = reference.losses[i], reference.losses[i - 1]
        tiny = Fraction(1, 10**30)
        chosen += [atom, atom + tiny, atom - tiny, -atom, -atom + tiny, -atom - tiny, (atom + before) / 2]
    return chosen


def check_profile(events: tuple[Noise, ...], deltas: tuple[Fraction, ...]) -> None:
    loss, reference = both(events)
    for target in deltas:
        points = thresholds(reference, target)
        found = loss.delta(epsilon=points)
        for epsilon, delta in zip(points, found, strict=True):
            truth = reference.delta(epsilon)
            if truth > SMALLEST or truth == 0:
                assert error(delta, truth) <= DELTA_ERROR, (events, epsilon, delta, mp.nstr(truth, 17))


def check_epsilon(events: tuple[Noise, ...], deltas: tuple[Fraction, ...]) -> None:
    loss, reference = both(events)
    for delta, found in zip(deltas, loss.epsilon(delta=list(deltas)), strict=True):
        truth = reference.epsilon(delta)
        # where epsilon passes through zero the accuracy is that of a delta of relative error 1e-12
        near_zero = 2e-12 * float(delta)
        close = abs(mp.mpf(float(found)) - truth) <= near_zero
        assert close or error(found, truth) <= EPSILON_ERROR, (
            events,
            float(delta),
            found,
            mp.nstr(truth, 17),
        )


def check_tails(events: tuple[Noise, ...], deltas: tuple[Fraction, ...]) -> None:
    loss, reference = both(events)
    for target in deltas:
        points = thresholds(reference, target)
        alt, null = loss.tail(above=points), loss.tail(above=points, under="null")
        alpha, beta = loss.errors(threshold=points)
        for i, t in enumerate(points):
            pairs = [
                (alt[i], reference.tail(t)),
                (null[i], reference.tail(t, "null")),
                (alpha[i], reference.errors(t)[0]),
                (beta[i], reference.errors(t)[1]),
            ]
            for found, truth in pairs:
                if truth > SMALLEST or truth == 0:
                    assert error(found, truth) <= DELTA_ERROR, (events, t, found, mp.nstr(truth, 17))


@given(events=small, deltas=st.sets(st.sampled_from(DELTAS), min_size=3, max_size=4))
@settings(max_examples=4)
@example(events=TRICKY["middle node of a sieved period"], deltas={Fraction(99, 100), Fraction(1, 10)})
def test_delta(events: tuple[Noise, ...], deltas: set[Fraction]) -> None:
    check_profile(events, tuple(sorted(deltas)))


@given(events=small)
@settings(max_examples=4)
def test_epsilon(events: tuple[Noise, ...]) -> None:
    check_epsilon(events, DELTAS)


@given(events=small, deltas=st.sets(st.sampled_from(DELTAS), min_size=2, max_size=3))
@settings(max_examples=4)
def test_tails_and_errors(events: tuple[Noise, ...], deltas: set[Fraction]) -> None:
    check_tails(events, tuple(sorted(deltas)))


@tricky()
def test_tricky_deltas(name: str) -> None:
    check_profile(TRICKY[name], DELTAS)


@tricky()
def test_tricky_epsilons(name: str) -> None:
    check_epsilon(TRICKY[name], DELTAS)


@tricky()
def test_tricky_tails(name: str) -> None:
    check_tails(TRICKY[name], DELTAS[::2])


@pytest.mark.slow
@given(events=small)
@settings(max_examples=200)
def test_everything_at_length(events: tuple[Noise, ...]) -> None:
    check_profile(events, DELTAS)
    check_epsilon(events, DELTAS)
    check_tails(events, DELTAS)


@given(
    events=st.lists(
        st.builds(L, st.sampled_from(("0.3", "2", "7/3")), st.integers(1, 7)), min_size=1, max_size=3
    )
)
@settings(max_examples=5)
def test_beyond_the_largest_loss_delta_is_zero(events: list[Noise]) -> None:
    largest = sum((e.sensitivity / e.scale for e in events), Fraction(0))
    loss = compose(events)
    beyond = [largest, largest + Fraction(1, 10**40), largest + 1, 10 * largest]
    assert np.all(loss.delta(epsilon=beyond) == 0)
    assert np.all(loss.tail(above=beyond) == 0)
    assert np.all(loss.tail(above=beyond, under="null") == 0)
    # just below there is the atom of the largest loss, and nothing else
    tiny = Fraction(1, 10**40)
    truth = Reference(events).tail(largest - tiny)
    assert error(loss.tail(above=largest - tiny), truth) <= DELTA_ERROR


def test_an_atom_is_told_exactly_by_a_string_and_not_by_a_float() -> None:
    # ten events of variance 5: losses are multiples of 1/5, and 0.2 as a float lies above one fifth
    loss, reference = both((G(5, 1, 10),))
    assert Fraction(0.2) > Fraction(1, 5)
    at, above = loss.tail(above="0.2"), loss.tail(above=0.2)
    assert at == above
    below = loss.tail(above=Fraction(1, 5) - Fraction(1, 10**60))
    atom = reference.tail(Fraction(1, 5) - Fraction(1, 10**60)) - reference.tail(Fraction(1, 5))
    assert error(below - at, atom) < 1e-11
    assert error(at, reference.tail(Fraction(1, 5))) <= DELTA_ERROR


def test_the_reference_knows_two_closed_forms() -> None:
    # randomised response by discrete Laplace, scale 1, sensitivity 1: loss +-1 with probability 1/(1 + e^-1)
    reference = Reference([L(1)])
    with mp.workprec(300):
        r = mp.exp(-1)
        assert reference.losses == [-1, 1]
        assert abs(reference.tail(Fraction(0)) - 1 / (1 + r)) < mp.mpf(10) ** -80
        assert abs(reference.delta(Fraction(0)) - (1 - r) / (1 + r)) < mp.mpf(10) ** -80
        # one discrete Gaussian of variance 1, sensitivity 1: losses x - 1/2, delta(1/2) by its theta sums
        one = Reference([G(1)])
        weight = [mp.exp(-mp.mpf(x * x) / 2) for x in range(-60, 61)]
        total = mp.fsum(weight)
        truth = mp.fsum(weight[61:]) / total - mp.exp(mp.mpf(1) / 2) * mp.fsum(weight[62:]) / total
        assert abs(one.delta(Fraction(1, 2)) - truth) < mp.mpf(10) ** -80
        # P and Q come from separate convolutions: Q = e^-L P
        for x, p, q in zip(one.losses, one.P, one.Q, strict=True):
            if p and abs(x) < 20:
                assert abs(q - p * mp.exp(-mpf(x))) < mp.mpf(10) ** -80 * q
