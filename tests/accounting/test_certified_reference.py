"""Certified intervals contain the truth, are as narrow as promised, and hold the float."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from compositions import LARGE, TRICKY, G, L, both, small, tricky
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import Reference, mpf
from test_engine_reference import thresholds

import discreet
from discreet.accounting.privacy_loss import compose
from discreet.budget import load
from discreet.errors import PrecisionError
from discreet.loss.certified import intervals, lists
from discreet.loss.contour import Quadrature
from discreet.loss.lists import ListEvaluator
from discreet.noise import Noise
from discreet.numbers import Interval

DELTAS = tuple(Fraction(d) for d in ("0.9", "0.1", "1e-5", "1e-20", "1e-100", "1e-300"))
SMALLEST = mp.mpf(10) ** -300


def contains(box: Interval, truth: mp.mpf, reference: Reference) -> bool:
    with mp.workprec(reference.bits):
        return bool(mpf(box.lower) <= truth <= mpf(box.upper))


def check_delta(events: tuple[Noise, ...], target: Fraction, *, digits: int | None = 30) -> None:
    loss, reference = both(events)
    for epsilon in thresholds(reference, target)[:5]:
        truth = reference.delta(epsilon)
        if truth < SMALLEST:
            continue
        box = loss.delta(epsilon=epsilon, certified=True)
        assert contains(box, truth, reference), (events, epsilon, box, mp.nstr(truth, 20))
        assert box.relative_width <= 1e-10
        assert loss.delta(epsilon=epsilon) in box
        if digits is not None and not isinstance(loss.law.engine, ListEvaluator):
            narrow = loss.delta(epsilon=epsilon, certified=True, digits=digits)
            assert contains(narrow, truth, reference)
            assert narrow in box
            assert narrow.relative_width <= 10.0**-digits


def check_epsilon(events: tuple[Noise, ...], delta: Fraction) -> None:
    loss, reference = both(events)
    truth = reference.epsilon(delta)
    box = loss.epsilon(delta=delta, certified=True)
    assert contains(box, truth, reference), (events, float(delta), box, mp.nstr(truth, 20))
    assert box.relative_width <= 1e-10
    assert loss.epsilon(delta=delta) in box


def check_tradeoff(events: tuple[Noise, ...], alpha: Fraction) -> None:
    loss, reference = both(events)
    truth = reference.tradeoff(alpha)
    if truth > SMALLEST:
        box = loss.tradeoff(alpha=alpha, certified=True)
        assert contains(box, truth, reference), (events, alpha, box, mp.nstr(truth, 20))
        assert box.relative_width <= 1e-10
        assert loss.tradeoff(alpha=alpha) in box


@pytest.mark.slow
@given(events=small, delta=st.sampled_from(DELTAS))
@settings(max_examples=2)
def test_delta(events: tuple[Noise, ...], delta: Fraction) -> None:
    check_delta(events, delta)


@given(events=small, delta=st.sampled_from(DELTAS))
@settings(max_examples=3)
def test_epsilon(events: tuple[Noise, ...], delta: Fraction) -> None:
    check_epsilon(events, delta)


@given(events=small, alpha=st.sampled_from(DELTAS), mirrored=st.booleans())
@settings(max_examples=3)
def test_tradeoff(events: tuple[Noise, ...], alpha: Fraction, mirrored: bool) -> None:
    check_tradeoff(events, 1 - alpha if mirrored and alpha > Fraction(1, 10**25) else alpha)


@tricky("middle node of a sieved period")
def test_tricky_deltas(name: str) -> None:
    for target in DELTAS[::2]:
        check_delta(TRICKY[name], target, digits=None)


@tricky()
def test_tricky_epsilons(name: str) -> None:
    for delta in DELTAS[::2]:
        check_epsilon(TRICKY[name], delta)


@tricky("middle node of a sieved period")
def test_tricky_tradeoffs(name: str) -> None:
    for alpha in (*DELTAS[::2], 1 - DELTAS[2]):
        check_tradeoff(TRICKY[name], alpha)


@pytest.mark.slow
@given(events=small)
@settings(max_examples=100)
def test_everything_at_length(events: tuple[Noise, ...]) -> None:
    for delta in DELTAS:
        check_delta(events, delta)
        check_epsilon(events, delta)
        check_tradeoff(events, delta)


@pytest.mark.parametrize("digits", [5, 30, 60, 120])
def test_as_many_digits_as_asked(digits: int) -> None:
    loss, reference = compose([G(5, 1, 10)]), Reference([G(5, 1, 10)], bits=2500)
    for epsilon in (Fraction(-1), Fraction(0), Fraction(10), Fraction("50.1")):
        box = loss.delta(epsilon=epsilon, digits=digits)
        assert box.relative_width <= 10.0**-digits
        assert contains(box, reference.delta(epsilon), reference)
    box = loss.epsilon(delta="1e-11", digits=digits)
    assert box.relative_width <= 10.0**-digits
    assert contains(box, reference.epsilon(Fraction(1, 10**11)), reference)


def test_below_the_atom_of_the_largest_loss() -> None:
    # pure Laplace: as delta falls, epsilon creeps up to the largest loss and never beyond
    loss, reference = both((L("7/3", 1, 2),))
    for delta in (Fraction(1, 10**5), Fraction(1, 10**20), Fraction(1, 10**300)):
        box = loss.epsilon(delta=delta, certified=True)
        assert contains(box, reference.epsilon(delta), reference)
        assert loss.epsilon(delta=delta) <= float(Fraction(6, 7)) * (1 + 1e-15)


# -- large compositions: the float lies inside, more digits lie inside --

NARROW = [
    "1e6 events of variance 1e6",
    "1e6 events of variance 0.05",
    "1e6 events of variance 1",
    pytest.param("one of variance 1e6", marks=pytest.mark.slow),
    "sensitivity 30, 1e6 events",
    "sensitivity 30, variance 0.05",
    "0.06 and 0.07, a thousand each",
    pytest.param("0.05 and 1e6 times 1e6", marks=pytest.mark.slow),
    "two without lattice",
    "three without lattice",
    "six small ones without lattice",
    "a thousand Laplace",
    "Laplace of sensitivity 30",
    "Laplace and Gaussians without lattice",
]


@pytest.mark.parametrize("name", NARROW)
def test_float_inside_certified(name: str) -> None:
    loss = compose(LARGE[name])
    for delta in ("0.9", "1e-300"):
        epsilon = loss.epsilon(delta=delta)
        box = loss.delta(epsilon=epsilon, certified=True)
        if float(box.upper) == 0:  # beyond the last value that counts: too small for a float
            assert loss.delta(epsilon=epsilon) == 0
            continue
        assert loss.delta(epsilon=epsilon) in box
        if box.lower > 0:
            assert box.relative_width <= 1e-10
        if not isinstance(loss.law.engine, ListEvaluator):
            assert loss.delta(epsilon=epsilon, certified=True, digits=30) in box


@pytest.mark.parametrize("name", ["0.05 times 1e6 and 1e6", "0.05 times 1e6 and 1e6 times 1e6"])
def test_float_inside_certified_between_extremes(name: str) -> None:
    loss = compose(LARGE[name])
    for epsilon in (9_999_999, 10_001_000):
        assert loss.delta(epsilon=epsilon) in loss.delta(epsilon=epsilon, certified=True)


@pytest.mark.parametrize(
    "name",
    [
        "six large ones without lattice",
        "300 distinct variances",
        pytest.param("300 distinct small variances", marks=pytest.mark.slow),
    ],
)
def test_line_to_a_millionth(name: str) -> None:
    loss = compose(LARGE[name])
    for delta in ("0.9", "1e-10", "1e-100", "1e-300"):
        epsilon = loss.epsilon(delta=delta)
        box = loss.delta(epsilon=epsilon, certified=True)
        assert box.relative_width <= 1e-6
        assert loss.delta(epsilon=epsilon) in box


def test_redistricting_data_to_a_millionth() -> None:
    # PL 94-171: the lattice step is 9e-15, so the line is cut
    account = discreet.account(load("pl94-2020-persons"))
    loss = account.case(account.main)
    for epsilon in (0, 5, "16.46515537605287", 30):
        box = loss.delta(epsilon=epsilon, certified=True)
        assert box.relative_width <= 1e-6
        assert loss.delta(epsilon=epsilon) in box
    box = loss.epsilon(delta="1e-10", certified=True)
    assert box.relative_width <= 1e-6
    assert loss.epsilon(delta="1e-10") in box


def test_main_pair_of_the_census() -> None:
    account = discreet.account(load("dhc-2020"))
    loss = account.case(account.main)
    box = loss.delta(epsilon=10, certified=True)
    assert box.relative_width <= 1e-10
    assert loss.delta(epsilon=10) in box
    assert loss.delta(epsilon=10, digits=30) in box
    for alpha in ("0.05", "1e-6", "0.999"):
        f = loss.tradeoff(alpha=alpha, certified=True)
        assert f.relative_width <= 1e-10
        assert loss.tradeoff(alpha=alpha) in f


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(PrecisionError):
        compose(LARGE["six large ones without lattice"]).delta(epsilon=1, digits=30)


@pytest.mark.parametrize(
    "rhos",
    [
        ("0.123", "0.217"),
        *(
            pytest.param(rhos, marks=pytest.mark.slow)
            for rhos in (("0.0123", "0.0217"), ("0.123", "0.217", "0.311"))
        ),
    ],
)
def test_few_queries_of_three_digit_rho_are_listed(
    rhos: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # floats go along a contour of thousands of nodes; as balls five queries of four digits took 14 s
    events = tuple(G(1 / (2 * Fraction(rho))) for rho in rhos)
    loss, reference = compose(events), Reference(events, bits=400, floor="1e-40")
    assert isinstance(loss.law.engine, Quadrature)
    with monkeypatch.context() as patch:
        patch.setattr(intervals, "tail_ball", None)
        listed = loss.delta(epsilon=2, digits=20)
    with monkeypatch.context() as patch:  # too long a list: by the contour after all
        patch.setattr(lists, "MOST_LISTED", 1)
        summed = loss.delta(epsilon=2, certified=True)
    with mp.workprec(400):
        truth = reference.delta(Fraction(2))
        assert mpf(listed.lower) <= truth <= mpf(listed.upper)
        assert mpf(summed.lower) <= truth <= mpf(summed.upper)
    assert summed.lower <= listed.lower <= listed.upper <= summed.upper


def test_atoms_that_make_a_contour_long_are_listed() -> None:
    # losses 1/500 apart over a range of ten thousand: 400,000 nodes a value, and no end in 200 s
    events = (G(1000, 2), G("0.0001"))
    loss = compose(events)
    found = loss.epsilon(delta="1e-10", certified=True)
    assert found.relative_width < 1e-10
    assert Fraction(float(loss.epsilon(delta="1e-10"))) in found
