"""Fixed draws of random compositions, each answer checked; `make fuzz` goes on with new ones."""

from __future__ import annotations

from fractions import Fraction

import fuzz_refusals
import mpmath as mp
import numpy as np
import pytest
from compositions import G, L
from fuzz_compositions import ALPHAS, check_one
from reference import Reference, mpf

from discreet.accounting.account import Account
from discreet.accounting.privacy_loss import compose
from discreet.budget.claims import Claim
from discreet.budget.scope import Scope
from discreet.errors import InputError
from discreet.loss.contour import Kind, Tail
from discreet.loss.evaluation import Evaluations
from discreet.loss.lattice_evaluator import LatticeEvaluator
from discreet.noise import Noise

LONG = {12, 24, 30, 44, 80, 83, 92, 93, 110, 203}
"""Seeds below 210 that take more than half a second, `make test-all` has them; so do census and gaussians."""


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in (30, 60, 90, 120, 150, 180))]
)
def test_fixed_draws(first: int) -> None:
    outcomes = [check_one(seed) for seed in range(first, first + 29) if seed not in LONG]
    # below one in a thousand over all draws: none among these
    assert not [outcome for outcome in outcomes if outcome.startswith("refused")]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*sorted(LONG), *range(29, 210, 30)])
def test_fixed_draws_that_take_long(seed: int) -> None:
    assert not check_one(seed).startswith("refused")


@pytest.mark.parametrize(
    "seed",
    [
        601245,  # a proof took an end of its interval for a value of the loss: off by 1e-12
        608687,  # a list made for another threshold was cut too short for this one: off by 6e-8
    ],
)
def test_draws_that_were_wrong(seed):
    assert check_one(seed) == "reference"


@pytest.mark.parametrize(
    "first",
    [pytest.param(first, marks=pytest.mark.slow if first < 2 else pytest.mark.torture) for first in range(4)],
)
def test_ordinary_releases_are_answered(first: int) -> None:
    for seed in range(first, first + 32, len(fuzz_refusals.FAMILIES)):  # eight of one family
        fuzz_refusals.check_one(seed)


WRONG_ONCE: dict[str, tuple[Noise, ...]] = {
    # f rose before alpha = 0.9999999999: 1.514e-21 instead of 3.1986e-23
    "a corner next to 1": (G(2, 3, 2), G("0.31")),
    # 0.29146 at alpha 0.3 instead of 0.0230313: a supporting line taken at a neighbouring value
    "two Laplace counts": (L("1/2"), L("0.7071")),
    # f(0.1) = 0.073 and f(0.2) = 0.082
    "not monotone": (L(50), G("343/519", 1, 5)),
}


@pytest.mark.parametrize("name", WRONG_ONCE)
def test_curves_that_were_wrong(name: str) -> None:
    loss, reference = compose(WRONG_ONCE[name]), Reference(WRONG_ONCE[name], bits=800, floor="1e-60")
    for alpha in (*ALPHAS, Fraction(1, 10), Fraction(3, 10)):
        truth = reference.tradeoff(alpha)
        found = loss.tradeoff(alpha=alpha)
        with mp.workprec(800):
            assert abs(mpf(Fraction(found)) - truth) <= mp.mpf("1e-10") * truth, (alpha, found)


def test_the_values_of_the_curves_that_were_wrong() -> None:
    # accounting design note, section 8, and certified values of the project
    corner = compose(WRONG_ONCE["a corner next to 1"])
    assert corner.tradeoff(alpha="0.9999999999") == pytest.approx(3.1986e-23, rel=1e-4)
    assert compose(WRONG_ONCE["two Laplace counts"]).tradeoff(alpha="0.3") == pytest.approx(
        0.0230313, abs=5e-8
    )


@pytest.mark.parametrize("off", [-2.9e-8, 0.0, 2.9e-8])
def test_the_accuracy_of_a_rounded_answer_covers_the_rounding(
    monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    # Nine Gaussians of variances 7.735, 9.823, 4.677, 8.325, 5.71, 4.312, 6.163, 9.466, 1.498:
    # epsilon at 1e-10 was 9.3661006 to an accuracy of 2.4e-8, yet 1.2e-7 above the truth. It had rightly been
    # rounded up, to the digits that hold, and its accuracy was the one before. Here the same, quickly: tails
    # known to 3e-8 only, and off by nearly as much.
    exact = Evaluations.tail

    def coarse(ladder: Evaluations, kind: Kind, thresholds: list[Fraction], accuracy: float) -> Tail:
        tail = exact(ladder, kind, thresholds, accuracy)
        return Tail(tail.log + off, np.full(len(thresholds), 3e-8))

    monkeypatch.setattr(Evaluations, "tail", coarse)
    monkeypatch.setattr(LatticeEvaluator, "has_quick_balls", False)
    events = (G("5.123456789"), G("7.0000001"))
    loss, reference = compose(events), Reference(events, bits=800, floor="1e-60")
    only, scope = [("only", events)], Scope.whole("two", unit="person", neighbours="unbounded")
    account = Account("two", "person", "unbounded", only, "only", stated=Claim(scope), every=only)
    for number in range(1, 13):
        epsilon, alpha = Fraction(number, 4), Fraction(number, 25)
        truth = reference.delta(epsilon)
        delta = Fraction(mp.nstr(truth, 15))
        for found, true, unit in (
            (loss.delta(epsilon=epsilon), truth, truth),
            (account.delta(epsilon=epsilon), truth, truth),
            (loss.epsilon(delta=delta), mpf(epsilon), 1),
            (account.epsilon(delta=delta), mpf(epsilon), 1),
            (loss.tradeoff(alpha=alpha), reference.tradeoff(alpha), reference.tradeoff(alpha)),
        ):
            assert 1e-9 < found.accuracy < 1e-6
            # (1e-6: relative to what was found or to the truth)
            assert abs(mpf(Fraction(found)) - true) <= found.accuracy * unit * (1 + 1e-6), (number, found)


def test_digits_are_whole() -> None:
    with pytest.raises(InputError, match=r"digits is 2\.5; it must be a whole number"):
        compose([G(5)]).delta(epsilon=1, digits=2.5)  # type: ignore[call-overload]
