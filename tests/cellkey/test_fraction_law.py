"""The law of the loss in fractions against brute force and against the evaluators of noise."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import chain, combinations, product

import pytest

from discreet.cellkey import FractionLaw
from discreet.cellkey.convolution import lattice_product
from discreet.cellkey.fraction_law import NOTHING, exp_interval, together
from discreet.errors import InputError, PrecisionError
from discreet.loss.law import LossLaw, loss_of
from discreet.noise import DiscreteLaplace, TableNoise

EPSILONS = [Fraction(x) for x in ("-2", "-1/3", "0", "1/10", "1", "3")]
DELTAS = [Fraction(x) for x in ("1/1000", "1/20", "1/3", "4/5")]
ALPHAS = [Fraction(x) for x in ("1/1000", "1/20", "1/2", "9/10")]
PRIORS = [Fraction(x) for x in ("1/100", "1/3", "1/2", "5/7")]

Chances = dict[int, Fraction]


def random_pair(draw: random.Random) -> tuple[Chances, Chances]:
    """Chances of a few outcomes with a record and without; some outcomes are certain evidence."""
    sides = []
    for _ in range(2):
        weights = [draw.choice((0, 1, 1, 2, 5, 9)) for _ in range(draw.randint(2, 5))]
        weights[0] += 1
        sides.append({y: Fraction(w, sum(weights)) for y, w in enumerate(weights) if w})
    return sides[0], sides[1]


def errors_of(first: Chances, second: Chances) -> list[tuple[Fraction, Fraction]]:
    """Type I and type II errors of every test, of both directions."""
    outcomes = sorted({*first, *second})
    sets = chain.from_iterable(combinations(outcomes, n) for n in range(len(outcomes) + 1))
    chances = [
        [sum((law.get(y, Fraction(0)) for y in s), Fraction(0)) for law in (first, second)] for s in sets
    ]
    return [errors for p, q in chances for errors in ((q, 1 - p), (p, 1 - q))]


def least_error(tests: list[tuple[Fraction, Fraction]], alpha: Fraction) -> Fraction:
    """The least type II error of a mixture of two tests with this type I error."""
    low, high = ([test for test in tests if (test[0] <= alpha) is below] for below in (True, False))
    mixed = (
        b + (d - b) * (alpha - a) / (c - a) for (a, b), (c, d) in product(low, high)
    )  # of a convex hull, corners on either side
    return min(chain(mixed, (b for _, b in low)))


def excess(tests: list[tuple[Fraction, Fraction]], epsilon: Fraction) -> float:
    return max(1 - float(b) - math.exp(epsilon) * float(a) for a, b in tests)


def agrees_with_brute_force(first: Chances, second: Chances) -> None:
    law, tests = FractionLaw.of(first, second), errors_of(first, second)
    for epsilon in EPSILONS:
        box = law.delta(epsilon=epsilon, certified=True)
        assert box.width < Fraction(1, 10**60)
        assert float(box) == pytest.approx(excess(tests, epsilon), abs=1e-15)
        assert box.upper <= Fraction(law.delta(epsilon=epsilon)) <= box.upper + Fraction(1, 10**15)
    for ratio in (Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(99)):
        assert law.delta_at(ratio) == max(1 - b - ratio * a for a, b in tests)
    for alpha in (Fraction(0), *ALPHAS, Fraction(1)):
        box = law.tradeoff(alpha=alpha, certified=True)
        assert box.lower == box.upper == least_error(tests, alpha)
        assert box.lower - Fraction(1, 10**15) <= Fraction(law.tradeoff(alpha=alpha)) <= box.lower
        # a test of one direction is one of these
        assert min(side.least_error(alpha) for side in law.sides) >= box.lower
    for chance in PRIORS:
        right = max(chance * (1 - b) + (1 - chance) * (1 - a) for a, b in tests)
        assert law.right_guesses(chance) == right
        named = [chance * Fraction(p) + (1 - chance) * (1 - Fraction(q)) for p, q in _named(law, chance)]
        assert float(max(named)) == pytest.approx(float(right), abs=1e-14)
    for delta in (Fraction(0), *DELTAS):
        ratio_here = law.ratio_at(delta)
        if ratio_here is None:
            assert law.delta_at(Fraction(10**30)) > delta
            assert law.epsilon(delta=delta) == math.inf
            with pytest.raises(InputError, match="no epsilon holds"):
                law.epsilon(delta=delta, certified=True)
        else:
            assert law.delta_at(ratio_here) <= delta < law.delta_at(ratio_here * (1 - Fraction(1, 10**30)))
            assert law.epsilon(delta=delta) == pytest.approx(math.log(ratio_here), abs=1e-14)


def _named(law: FractionLaw, chance: Fraction) -> list[tuple[float, float]]:
    """In both directions: as either law may be that with the record."""
    return [side.naming_chances([chance])[0] for side in law.sides]


def agrees_with_evaluator(law: FractionLaw, other: LossLaw, room: float) -> None:
    """Every question of the interface, asked of both."""
    close = pytest.approx
    for epsilon in EPSILONS:
        assert law.delta(epsilon=epsilon) == close(other.delta(epsilon=epsilon), rel=room, abs=room)
    for delta in (Fraction(0), *DELTAS):
        assert law.epsilon(delta=delta) == close(other.epsilon(delta=delta), rel=room, abs=room)
    for alpha in ALPHAS:
        assert law.tradeoff(alpha=alpha) == close(other.tradeoff(alpha=alpha), rel=room, abs=room)
    assert (law.largest is None) == (other.largest is None)
    if law.largest is not None and other.largest is not None:
        assert float(law.largest) == close(float(other.largest), rel=1e-11)
    assert law.mean == close(other.mean, rel=room, abs=room)
    assert law.variance == close(other.variance, rel=room, abs=room)
    assert law.mean_posteriors(PRIORS) == close(other.mean_posteriors(PRIORS), rel=room)
    assert list(law.prior_deltas(PRIORS)) == close(list(other.prior_deltas(PRIORS)), rel=room, abs=room)
    none, deltas = other.advantage_and_deltas(PRIORS)
    assert law.advantage_and_deltas(PRIORS) == (close(none, abs=room), close(deltas, abs=room))
    for (p, q), (r, s) in zip(law.naming_chances(PRIORS), other.naming_chances(PRIORS), strict=True):
        assert (p, q) == (close(r, abs=room), close(s, abs=room))


@pytest.mark.parametrize("seed", range(12))
def test_random_pairs_agree_with_every_test_and_with_the_evaluator_of_noise(seed: int) -> None:
    draw = random.Random(seed)
    first, second = random_pair(draw)
    agrees_with_brute_force(first, second)
    law, other = FractionLaw.of(first, second), loss_of([TableNoise(second, first)])
    agrees_with_evaluator(law, other, 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_two_together_are_the_composition(seed: int) -> None:
    draw = random.Random(100 + seed)
    pairs = [random_pair(draw) for _ in range(2)]
    law = FractionLaw.of(*pairs[0]) + FractionLaw.of(*pairs[1])
    joint = [
        {10 * x + y: p * q for (x, p), (y, q) in product(pairs[0][k].items(), pairs[1][k].items())}
        for k in (0, 1)
    ]
    assert law == FractionLaw.of(*joint)
    other = loss_of([TableNoise(pairs[0][1], pairs[0][0])]) + loss_of([TableNoise(pairs[1][1], pairs[1][0])])
    agrees_with_evaluator(law, other, 1e-9)


def test_noise_that_is_added_shifts_the_law() -> None:
    noise = {
        -2: Fraction(1, 10),
        -1: Fraction(1, 5),
        0: Fraction(2, 5),
        1: Fraction(1, 4),
        2: Fraction(1, 20),
    }
    law = FractionLaw.of({count + 1: chance for count, chance in noise.items()}, noise)
    agrees_with_brute_force({count + 1: chance for count, chance in noise.items()}, noise)
    agrees_with_evaluator(law, loss_of([TableNoise(noise)]), 1e-9)


def test_losses_on_a_lattice() -> None:
    """Laplace noise of scale 1 tells what an answer does that is right with odds of e; e to 75 digits."""
    odds = exp_interval(Fraction(1)).midpoint
    right, wrong = odds / (1 + odds), 1 / (1 + odds)
    law = together([FractionLaw(((right, wrong), (wrong, right)))] * 3)
    other = loss_of([DiscreteLaplace(scale=1, times=3)])
    assert type(other).__name__ == "LatticeEvaluator"
    agrees_with_evaluator(law, other, 1e-11)


def test_what_tells_more_bounds_the_truth_and_says_so() -> None:
    draw = random.Random(7)
    for _ in range(4):
        exact = FractionLaw.of(*random_pair(draw))
        coarse = FractionLaw.gathered(lattice_product([(exact.masses, 1)]), is_exact=False)
        for epsilon in EPSILONS:
            truth = exact.delta(epsilon=epsilon, certified=True)
            assert truth in coarse.delta(epsilon=epsilon, certified=True)
            assert Fraction(coarse.delta(epsilon=epsilon)) >= truth.upper
        for alpha in ALPHAS:
            beta = exact.tradeoff(alpha=alpha, certified=True)
            assert beta in coarse.tradeoff(alpha=alpha, certified=True)
            assert Fraction(coarse.tradeoff(alpha=alpha)) <= beta.lower
        for delta in DELTAS:
            if coarse.ratio_at(delta) is not None:
                assert exact.epsilon(delta=delta, certified=True) in coarse.epsilon(
                    delta=delta, certified=True
                )
        # what is rounded counts as certain: no epsilon is enough, and how far off that is is not known
        assert coarse.epsilon(delta=0) == coarse.epsilon(delta=0).accuracy == math.inf
        with pytest.raises(InputError, match="no epsilon holds"):
            coarse.epsilon(delta=0, certified=True)
        with pytest.raises(PrecisionError, match="less than 3 digits"):
            coarse.delta(epsilon=1, digits=3)
        with pytest.raises(PrecisionError, match="known only to"):
            coarse.delta(epsilon=1, accuracy=1e-3)


def test_digits_asked_for_are_given() -> None:
    law = FractionLaw.of({0: Fraction(1, 3), 1: Fraction(2, 3)}, {0: Fraction(9, 10), 1: Fraction(1, 10)})
    narrow = law.delta(epsilon=1, digits=300)
    assert 0 < narrow.relative_width < 1e-299
    assert narrow in law.delta(epsilon=1, certified=True)
    assert law.epsilon(delta="1/3", digits=200).relative_width < 1e-199
    assert NOTHING.delta(epsilon=0, digits=10).upper == 0


def test_laws_in_fractions_and_of_noise_are_not_added() -> None:
    law: LossLaw = NOTHING
    with pytest.raises(TypeError):
        law + loss_of([DiscreteLaplace(scale=1)])  # type: ignore[operator]


def test_it_is_a_sibling_of_the_evaluators_of_noise() -> None:
    assert FractionLaw.__bases__ == (LossLaw,)
