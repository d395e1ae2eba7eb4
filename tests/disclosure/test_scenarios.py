from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import risk_reference as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.disclosure import (
    Attack,
    decision_accuracy,
    expected_posterior,
    independent_others,
    joint_accuracy,
    joint_posterior,
    joint_ratio,
    posterior,
    risk_profile,
    sequence,
)
from discreet.errors import InputError

mpmath.mp.dps = 40

noisy_values = st.lists(st.integers(-20, 20), min_size=1, max_size=6)
priors = st.floats(1e-9, 1 - 1e-9)


@given(noisy_values, st.integers(1, 60), priors, st.integers(0, 5))
def test_ratios_of_a_sequence_multiply(noisy: list[int], variance: int, prior: float, known: int) -> None:
    steps = sequence(noisy, variance=variance, prior=prior, known=known)
    assert steps[0].prior == pytest.approx(prior, rel=1e-15)
    assert all(a.posterior == b.prior for a, b in itertools.pairwise(steps))
    product = math.prod(step.ratio for step in steps)
    assert product == pytest.approx(steps[-1].posterior / prior, rel=1e-12)
    assert steps[-1].total_ratio == pytest.approx(product, rel=1e-12)
    # one after another by the single-count function
    belief = Fraction(prior)
    for value, step in zip(noisy, steps, strict=True):
        exact = reference.posterior(value, Fraction(variance), belief, known)
        assert step.posterior == pytest.approx(float(exact), rel=1e-11)
        belief = Fraction(int(mpmath.nint(exact * mpmath.mpf(10) ** 39)), 10**39)
    all_at_once = joint_posterior(noisy, variance=variance, prior=prior, known=known)
    assert all_at_once == pytest.approx(steps[-1].posterior, rel=1e-13)


def test_a_belief_of_one_can_still_be_shaken() -> None:
    up, down = sequence([100, -100], variance=1, prior="1/2", known=0)
    assert up.posterior == 1.0
    assert down.posterior == pytest.approx(1 / (1 + math.e), rel=1e-12)


def test_levels_multiply_likelihoods() -> None:
    # a target unique in block, block group and tract, by enumeration of the two possible truths
    noisy, rhos = [2, 0, 1], ["0.0992", "0.2465", "0.0504"]
    p = mpmath.mpf(1) / 7
    likelihoods = [
        mpmath.fprod(
            reference.weight(y - x, 1 / (2 * Fraction(rho))) for y, rho in zip(noisy, rhos, strict=True)
        )
        for x in (0, 1)
    ]
    exact = p * likelihoods[1] / (p * likelihoods[1] + (1 - p) * likelihoods[0])
    got = joint_posterior(noisy, rho=rhos, prior="1/7", known=0)
    assert got == pytest.approx(float(exact), rel=1e-14)
    assert joint_ratio(noisy, rho=rhos, prior="1/7", known=0) == pytest.approx(float(7 * exact), rel=1e-14)
    # an adversary who knows the block group too: 40 others there, the same evidence
    assert joint_posterior([2, 40, 1], rho=rhos, prior="1/7", known=[0, 40, 0]) == pytest.approx(
        got, rel=1e-14
    )
    many = joint_posterior([noisy, [0, 0, 0]], rho=rhos, prior=["1/7", "1/2"], known=0)
    assert many.shape == (2,)
    assert many[0] == got


def says(evidence: Fraction, odds: float) -> float:
    """The chance of saying "present"."""
    return 0.5 if evidence == Fraction(-odds) else float(evidence > Fraction(-odds))


@pytest.mark.parametrize(
    ("first", "second", "prior"),
    [("500/99", "2", "1/2"), ("500/99", "2", "1/5"), ("500/99", "500/99", "1/2"), ("3", "3", "1/3")],
)
def test_accuracy_of_two_counts_by_enumeration(first: str, second: str, prior: str) -> None:
    first, second = Fraction(first), Fraction(second)
    laws = [reference.pmf(v, math.ceil(13 * float(v) ** 0.5)) for v in (first, second)]
    odds = math.log(float(Fraction(prior) / (1 - Fraction(prior))))
    present = absent = mpmath.mpf(0)
    for (a, one), (b, two) in itertools.product(laws[0].items(), laws[1].items()):
        # the evidence as an exact fraction: a coin decides ties at p = 1/2
        with_target = Fraction(2 * a + 1) / (2 * first) + Fraction(2 * b + 1) / (2 * second)
        without = Fraction(2 * a - 1) / (2 * first) + Fraction(2 * b - 1) / (2 * second)
        present += one * two * says(with_target, odds)
        absent += one * two * (1 - says(without, odds))
    p = Fraction(prior)
    found = [joint_accuracy(variance=[first, second], prior=p, given=g) for g in ("present", "absent")]
    assert found == pytest.approx([float(present), float(absent)], abs=1e-11)
    both = joint_accuracy(variance=[first, second], prior=p)
    assert both == pytest.approx(float(p) * found[0] + float(1 - p) * found[1], abs=1e-14)


def test_two_counts_tell_more_than_one() -> None:
    """They seemed to tell less: 0.5628 after 0.5888, because ties were "absent" and the target present."""
    one, two = (joint_accuracy(rho=["0.099"] * many, prior="1/2") for many in (1, 2))
    assert (round(one, 4), round(two, 4)) == (0.5888, 0.6225)
    for truth in ("present", "absent"):
        assert joint_accuracy(rho=["0.099", "0.099"], prior="1/2", given=truth) == pytest.approx(two)
    # the profile of the same counts, whatever the surface
    found = risk_profile({"block": "0.099", "again": "0.099"}, prior="1/2").rows[-1]
    assert (found.accuracy, found.named) == pytest.approx((two, two), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["1/10", "1/2", "1", "2", "5", "500/99", "37/7", "40"]), min_size=1, max_size=4),
    st.sampled_from(["1/2", "1/5", "1/864", "2/3", "0.4999999", "9/10"]),
)
def test_more_counts_never_make_the_best_adversary_worse(variances: list[str], prior: str) -> None:
    right = [joint_accuracy(variance=variances[:many], prior=prior) for many in range(1, len(variances) + 1)]
    alone = decision_accuracy(variance=variances, prior=prior)
    assert right[0] == pytest.approx(alone[0], abs=1e-11)
    assert all(after >= before - 1e-11 for before, after in itertools.pairwise(right))
    assert right[-1] >= max(alone) - 1e-11
    assert right[-1] >= max(float(Fraction(prior)), 1 - float(Fraction(prior))) - 1e-11


def test_one_count_is_the_simple_case() -> None:
    for prior in ("1/20", "1/2"):
        one = joint_accuracy(rho=["0.099"], prior=prior)
        assert one == pytest.approx(decision_accuracy(rho="0.099", prior=prior), abs=1e-12)


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5),
    st.integers(-6, 14),
    st.integers(1, 20),
    st.floats(1e-6, 1 - 1e-6),
    st.integers(0, 3),
    st.booleans(),
)
def test_unsure_of_others_by_enumeration(
    chances: list[float], noisy: int, variance: int, prior: float, known: int, floor: bool
) -> None:
    law = independent_others(chances)
    by_hand = [mpmath.mpf(0)] * (len(chances) + 1)
    for people in itertools.product((0, 1), repeat=len(chances)):
        by_hand[sum(people)] += mpmath.fprod(c if x else 1 - c for c, x in zip(chances, people, strict=True))
    assert law.tolist() == pytest.approx([float(x) for x in by_hand], rel=1e-12)
    noisy = max(noisy, 0) if floor else noisy
    present, absent = reference.laws(Fraction(variance), 90, known, by_hand, floor)
    p = mpmath.mpf(prior)
    exact = p * present[noisy] / (p * present[noisy] + (1 - p) * absent[noisy])
    attack = Attack(variance=variance, known=known, others=law, nonnegative=floor)
    assert attack.posterior(noisy, prior=prior) == pytest.approx(float(exact), rel=1e-11)
    assert attack.ratio(noisy, prior=prior) == pytest.approx(float(exact / p), rel=1e-11)


def test_expected_values_with_unsure_others() -> None:
    law = independent_others("3/10", people=4)
    present, absent = reference.laws(Fraction(3), 40, 1, law.tolist(), True)
    p = mpmath.mpf(1) / 4
    shared = [y for y in present if y in absent]
    exact = mpmath.fsum(present[y] * p * present[y] / (p * present[y] + (1 - p) * absent[y]) for y in shared)
    right = mpmath.fsum(present[y] for y in shared if p * present[y] > (1 - p) * absent[y])
    attack = Attack(variance=3, known=1, others=law, nonnegative=True)
    assert attack.expected_posterior(prior="1/4") == pytest.approx(float(exact), rel=1e-12)
    assert attack.accuracy(prior="1/4", given="present") == pytest.approx(float(right), rel=1e-12)
    seen = attack.outcomes()
    assert np.exp(seen.log_present).sum() == pytest.approx(1, abs=1e-13)
    assert np.exp(seen.log_absent).sum() == pytest.approx(1, abs=1e-13)


def test_the_less_is_known_the_less_is_learned() -> None:
    values = [
        Attack(variance=5, others=independent_others("1/2", people=m)).accuracy(prior="1/2", given="prior")
        for m in (1, 5, 25, 125)
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] < decision_accuracy(variance=5, prior="1/2")
    # nobody unsure: the simple case
    assert Attack(variance=5).expected_posterior(prior="1/3") == expected_posterior(variance=5, prior="1/3")
    assert Attack(variance=5, known=2).posterior(4, prior=0.1) == posterior(4, variance=5, prior=0.1, known=2)


def test_binomial_of_many() -> None:
    law = independent_others("1/1000", people=10_000)
    assert law.sum() == pytest.approx(1, abs=1e-11)
    assert law @ np.arange(10_001) == pytest.approx(10, rel=1e-11)


def test_what_cannot_be_used() -> None:
    with pytest.raises(InputError, match="noisy is one value; several counts are a list"):
        joint_posterior(1, variance=5, prior=0.5, known=0)
    with pytest.raises(InputError, match="a sequence is a list of noisy values and one prior"):
        sequence([[1, 2]], variance=5, prior=0.5, known=0)
    with pytest.raises(InputError, match=r"other people add up to 0\.5"):
        Attack(variance=5, others=[0.25, 0.25])
    with pytest.raises(InputError, match="must not be negative"):
        Attack(variance=5, others=[1.25, -0.25])
    with pytest.raises(InputError, match="known is -2"):
        Attack(variance=5, known=-2)
    with pytest.raises(InputError, match="one variance and one known count"):
        Attack(variance=[5, 6], others=[0.5, 0.5])
    with pytest.raises(InputError, match="people is 0"):
        independent_others("1/2", people=0)
    with pytest.raises(InputError, match="cost more than a right one"):
        joint_accuracy(variance=[5], prior=0.5, loss=[[1, 0], [0, 1]])


def test_a_coin_decides_ties_however_they_are_rounded() -> None:
    # with an odd number of unsure others at 1/2 each, by symmetry, the middle value speaks for neither
    for variance in ("1/2", 1, 5, "37/7", 20):
        for people in (1, 3, 5, 21, 101):
            for others in (
                independent_others("1/2", people=people),
                independent_others(["1/2"] * people),
            ):
                attack = Attack(variance=variance, known=3, others=others)
                assert attack.decide(3 + (people + 1) // 2, prior="1/2") == 0.5
                right = [attack.accuracy(prior="1/2", given=g) for g in ("present", "absent", "prior")]
                assert right == pytest.approx([right[2]] * 3, abs=1e-13)
                assert right[0] > 0.5 or people > 1
    # costs that outweigh the prior exactly: two equal counts may speak for neither as well
    even = [joint_accuracy(variance=[5, 5], prior="1/2", given=truth) for truth in ("present", "absent")]
    for prior, miss in (("1/10", 9), ("1/3", 2), ("1/7", 6), ("1/50", 49)):
        loss = [[0, 1], [miss, 0]]
        found = [
            joint_accuracy(variance=[5, 5], prior=prior, loss=loss, given=g) for g in ("present", "absent")
        ]
        assert found == pytest.approx(even, abs=1e-12), prior


@pytest.mark.parametrize("people", [5000, 10_000])
@pytest.mark.parametrize("chance", ["1/10", "1/2", "0.999"])
def test_thousands_of_unsure_others(people: int, chance: str) -> None:
    law = independent_others(chance, people=people)
    p = mpmath.mpf(Fraction(chance).numerator) / Fraction(chance).denominator
    for many in (0, int(people * float(p)), people - 3):
        want = mpmath.binomial(people, many) * p**many * (1 - p) ** (people - many)
        assert law[many] == pytest.approx(float(want), rel=1e-11, abs=1e-300)
    assert 0.5 < Attack(variance=5, others=law).accuracy(prior="1/2", given="prior") < 0.6
