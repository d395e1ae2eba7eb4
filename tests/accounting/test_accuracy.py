"""Asking for less: it is had, on the safe side, and says how far it may be off; and one rule for rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import DiscreteGaussian, Level, Query, Release, compose, load
from discreet.accounting.contour import Tail
from discreet.accounting.evaluation import Evaluations
from discreet.accounting.privacy_loss import PrivacyLoss

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
    assert type(Evaluations(compose(EVENTS).loss, 1e-3).first).__name__ == "Grid"
    for few in ([DiscreteGaussian(variance=5, times=10)], EVENTS[:2]):
        loss = compose(few).loss
        assert type(Evaluations(loss, 1e-3).first) is type(Evaluations(loss).first)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-6])
def test_less_of_a_whole_release(accuracy: float) -> None:
    account = load("pl94-2020-units").account()
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
    tails = PrivacyLoss.tails

    def coarse(self: PrivacyLoss, *arguments: Any) -> Tail:
        found = tails(self, *arguments)
        return Tail(found.log, np.full_like(found.error, error))

    monkeypatch.setattr(PrivacyLoss, "tails", coarse)
    level = Level(name="all", queries=[Query(name="a", variance=5)])
    account = Release(name="one", neighbours="unbounded", levels=[level]).account()
    whole, single = account.delta(epsilon=1), compose(account.events((1,))).delta(epsilon=1)
    assert whole == single
    assert whole.accuracy == pytest.approx(single.accuracy, rel=1e-3)
    assert (len(repr(whole)) < 16) == (error > 5e-11)
