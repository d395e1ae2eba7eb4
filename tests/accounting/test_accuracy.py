"""Asking for less: it is had, on the safe side, and says how far it may be off; and one rule for rounding."""

from __future__ import annotations

import bisect
import math
import random
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from compositions import SCALES, VARIANCES, G, L, cost, total_precision
from reference import Reference
from test_overall_release import hull

import discreet
from discreet import DiscreteGaussian, Level, Query, Release, compose, load
from discreet.accounting.privacy_loss import PrivacyLoss
from discreet.budget.spine import Spine
from discreet.loss.certified.intervals import delta_ball, lower, upper, working_bits
from discreet.loss.contour import Tail
from discreet.loss.evaluation import Evaluations
from discreet.loss.lattice_evaluator import LatticeEvaluator
from discreet.noise import Noise

# nine counts with variances of three decimals: no lattice, and a list that is far too long
NINE = ("1.828", "4.02", "4.342", "2.938", "7.443", "0.535", "2.531", "3.909", "4.399")
EVENTS = [DiscreteGaussian(variance=variance) for variance in NINE]

# from the whole list with pruned weights, 12 digits (default accuracy of this program, 16 November 2026)
EPSILON, F = 14.781885213406, 0.338511773378


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
def test_less_is_safe_and_says_how_far_it_may_be_off(accuracy: float) -> None:
    loss = compose(EVENTS)
    epsilon = loss.epsilon(delta="1e-10", accuracy=accuracy)
    assert EPSILON - 1e-9 <= epsilon <= EPSILON + epsilon.accuracy
    assert epsilon.accuracy <= 10 * accuracy
    delta = loss.delta(epsilon=Fraction("14.781885213406"), accuracy=accuracy)
    assert 1e-10 * (1 - 1e-9) <= delta <= 1e-10 * (1 + delta.accuracy)
    f = loss.tradeoff(alpha="0.05", accuracy=accuracy)
    assert F * (1 - f.accuracy) <= f <= F * (1 + 1e-9)


def test_a_grid_comes_first_only_where_it_is_sooner() -> None:
    assert type(Evaluations(compose(EVENTS).law.loss, 1e-3).first).__name__ == "Grid"
    for few in ([DiscreteGaussian(variance=5, times=10)], EVENTS[:2]):
        loss = compose(few).law.loss
        assert type(Evaluations(loss, 1e-3).first) is type(Evaluations(loss).first)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-6])
def test_less_of_a_whole_release(accuracy: float) -> None:
    account = discreet.account(load("pl94-2020-units"))
    quick = account.with_accuracy(accuracy)
    for delta in ("1e-5", "1e-10"):
        truth, found = account.epsilon(delta=delta), quick.epsilon(delta=delta)
        assert truth - 1e-10 <= found <= truth + found.accuracy
        assert found.accuracy <= 10 * accuracy
    truth, found = account.delta(epsilon=1), quick.delta(epsilon=1)
    assert truth * (1 - 1e-11) <= found <= truth * (1 + found.accuracy)
    assert quick.tradeoff(alpha=0.1) == pytest.approx(account.tradeoff(alpha=0.1), rel=10 * accuracy)


@pytest.mark.parametrize("error", [1e-12, 6e-12, 2e-11, 1e-10, 1e-7])
def test_one_rule_for_rounding(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    tails = LatticeEvaluator.tails

    def coarse(self: LatticeEvaluator, *arguments: Any) -> Tail:
        found = tails(self, *arguments)
        return Tail(found.log, np.full_like(found.error, error))

    monkeypatch.setattr(LatticeEvaluator, "tails", coarse)
    level = Level(name="all", queries=[Query(name="a", variance=5)])
    account = discreet.account(Release(name="one", neighbours="unbounded", levels=[level]))
    whole, single = account.delta(epsilon=1), compose(account.events((1,))).delta(epsilon=1)
    assert whole == single
    assert whole.accuracy == pytest.approx(single.accuracy, rel=1e-3)
    assert (len(repr(whole)) < 16) == (error > 5e-11)


# -- no value outside its own stated accuracy ---------------------------------------------------------


def holds(loss: PrivacyLoss, delta: Fraction, epsilon: float, accuracy: float) -> bool:
    """Whether the curve passes through delta within `accuracy` of epsilon, proved in balls."""
    room = Fraction(accuracy) + abs(Fraction(epsilon)) / 2**53
    for fine in (1e-13, 1e-20, 1e-30, 1e-45):
        with working_bits(200 - 3 * math.log2(fine)):
            before, after = (delta_ball(loss.law, Fraction(epsilon) + side * room, fine) for side in (-1, 1))
            if lower(before) >= delta >= upper(after):
                return True
            if upper(before) < delta or lower(after) > delta:
                return False
    raise AssertionError("the balls are too wide to judge")


def test_epsilon_next_to_delta_one() -> None:
    # it was off by 1.8e-4 at 1 - 1e-11 and by 1.6 at 1 - 1e-15, where it stated 2.9e-9
    loss = compose([G(1, 1, 1000)])
    for places in (4, 8, 11, 13, 15):
        delta = 1 - Fraction(1, 10**places)
        epsilon = loss.epsilon(delta=delta)
        assert epsilon.accuracy < 1e-8
        assert holds(loss, delta, float(epsilon), epsilon.accuracy)


def drawn_events(draw: random.Random) -> tuple[Noise, ...]:
    kind, often = draw.random(), (1, 1, 2, 3, 8, 30, 100, 1000)
    if kind < 0.5:
        return (G(draw.choice(VARIANCES), draw.choice((1, 1, 2, 3, 5)), draw.choice(often)),)
    if kind < 0.65:
        return (L(draw.choice(SCALES), draw.choice((1, 1, 2, 3, 7)), draw.choice(often)),)
    short = ("1/2", "1", "3/2", "2", "5", "10", "100", "1/10")
    return tuple(
        G(draw.choice(short), draw.choice((1, 2)), draw.choice(often))
        if draw.random() < 0.7
        else L(draw.choice((1, 2, 5)), 1, draw.choice((1, 3, 20)))
        for _ in range(draw.choice((2, 3)))
    )


def drawn_delta(draw: random.Random) -> Fraction:
    kind = draw.random()
    if kind < 0.6:
        return 1 - Fraction(draw.randint(1, 9), 10 ** draw.randint(2, 15))
    return Fraction(draw.randint(1, 999), 1000) if kind < 0.9 else Fraction(1, 10 ** draw.randint(3, 40))


@pytest.mark.parametrize(
    "count", [3, pytest.param(20, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.torture)]
)
def test_no_epsilon_is_outside_its_accuracy(count: int) -> None:
    draw = random.Random(count)
    for _ in range(count):
        events = drawn_events(draw)
        loss, deltas = compose(events), [drawn_delta(draw) for _ in range(8)]
        found = loss.epsilon(delta=deltas)
        assert found.accuracy is not None
        assert np.all(np.isfinite(found.accuracy))
        for delta, epsilon, accuracy in zip(deltas, found.tolist(), found.accuracy.tolist(), strict=True):
            assert holds(loss, delta, epsilon, accuracy), (events, delta, epsilon, accuracy)


def drawn_release(draw: random.Random) -> Release:
    """Up to three levels, some of which may merge, whose cases the reference can do."""
    variances = ("1", "2", "5", "10", "1/2", "3/10", "17/3", "37/10", "25", "4", "7.1", "1.414", "5.123")
    while True:
        levels = [
            Level(
                name=f"L{k}",
                queries=[
                    Query(name=f"q{i}", variance=draw.choice(variances), groups=draw.choice((1, 1, 2, 8)))
                    for i in range(draw.choice((1, 1, 2)))
                ],
            )
            for k in range(draw.choice((1, 2, 2, 3)))
        ]
        merging = [level.name for level in levels[1:] if draw.random() < 0.8]
        release = Release(
            name="drawn",
            neighbours=draw.choice(("bounded", "unbounded")),
            levels=levels,
            spine=Spine(may_merge_up=merging) if merging else None,
        )
        cases = [events for _, events in discreet.account(release).cases]
        if len(cases) <= 6 and all(cost(e) < 20_000 and total_precision(e) < 60 for e in cases):
            return release


@pytest.mark.parametrize("count", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_no_f_of_a_release_is_outside_its_accuracy(count: int) -> None:
    draw = random.Random(count)
    for _ in range(count):
        account = discreet.account(drawn_release(draw))
        alphas = [Fraction(draw.randint(1, 999), 1000) for _ in range(5)]
        alphas += [Fraction(draw.randint(1, 99), 10 ** draw.randint(3, 12)) for _ in range(3)]
        found = account.tradeoff(alpha=alphas)
        assert found.accuracy is not None
        with mp.workprec(400):
            corners = [(mp.mpf(0), mp.mpf(1)), (mp.mpf(1), mp.mpf(0))]
            for events in {events for _, events in account.cases}:
                corners += [
                    (a, b) for _, a, b in Reference(events, bits=500).knots() if a > mp.mpf(10) ** -40
                ]
            brute = hull(corners)
            places = [x for x, _ in brute]
            for alpha, f, accuracy in zip(alphas, found.tolist(), found.accuracy.tolist(), strict=True):
                a = mp.mpf(alpha.numerator) / alpha.denominator
                right = bisect.bisect_right(places, a)
                (x0, y0), (x1, y1) = brute[right - 1], brute[right]
                truth = y0 + (y1 - y0) * (a - x0) / (x1 - x0)
                assert abs(f - truth) <= accuracy * truth, (account.cases, alpha, f, accuracy)
                assert accuracy < 1e-9
