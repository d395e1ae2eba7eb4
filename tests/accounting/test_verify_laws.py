"""Claims about noise of every law: each is proved, refuted or undecided as the truth is, and none crashes."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import pytest

from discreet import InputError, account, verify
from discreet.budget import Level, Query, Release
from discreet.loss.proved import _repeated
from discreet.noise import (
    ContinuousGaussian,
    ContinuousLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    PowerNoise,
    TableNoise,
)
from discreet.noise.balls import ball, working_bits

Law = list[tuple[mp.mpf, mp.mpf]]
"""Probabilities of all outcomes without the person and with."""


def release(*laws: Noise) -> Release:
    """One level whose queries have these laws."""
    queries = [Query(name=f"q{k}", noise=law) for k, law in enumerate(laws)]
    return Release(name="drawn", neighbours="unbounded", levels=[Level(name="Nation", queries=queries)])


def outcomes(noise: Noise) -> Law:
    """The outcomes of one count, from the definition of its law."""
    if isinstance(noise, TableNoise):
        with_ = dict(noise.present or ((x + noise.sensitivity, p) for x, p in noise.absent))
        without = dict(noise.absent)
        zero = Fraction(0)
        return [
            tuple(mp.mpf(p.numerator) / p.denominator for p in (without.get(x, zero), with_.get(x, zero)))
            for x in sorted({*without, *with_})
        ]
    size = mp.mpf(noise.size.numerator) / noise.size.denominator

    def weight(x: int) -> mp.mpf:
        if isinstance(noise, DiscreteGaussian):
            return mp.exp(-mp.mpf(x * x) / (2 * size))
        power = noise.exponent if isinstance(noise, PowerNoise) else Fraction(1)
        return mp.exp(-((abs(x) / size) ** (mp.mpf(power.numerator) / power.denominator)))

    most = 3
    while weight(most) > mp.mpf(10) ** -40:
        most += 1
    total = mp.fsum(weight(x) for x in range(-most, most + 1))
    return [(weight(x) / total, weight(x - 1) / total) for x in range(-most, most + 2)]


def delta_of(laws: list[Noise], epsilon: mp.mpf) -> mp.mpf:
    """The larger delta of both directions, over all outcomes together."""
    with mp.workdps(50):
        pairs: Law = [(mp.mpf(1), mp.mpf(1))]
        for law in laws:
            pairs = [(a * c, b * d) for (a, b), (c, d) in itertools.product(pairs, outcomes(law))]
        factor = mp.exp(epsilon)
        return max(
            mp.fsum(max(q - factor * p, 0) for p, q in pairs),
            mp.fsum(max(p - factor * q, 0) for p, q in pairs),
        )


def drawn(rng: random.Random) -> Noise:
    """One law with few outcomes."""
    kind = rng.randrange(5)
    size = Fraction(rng.choice(["1/10", "1/3", "1/2", "1", "3/2"]))
    if kind == 0:
        return PowerNoise(Fraction(rng.randrange(10, 21), 10), size)
    if kind == 1:
        keep = Fraction(rng.randrange(34, 99), 100)
        rest = (1 - keep) / 2
        return TableNoise({0: keep, 1: rest, 2: rest}, {0: rest, 1: keep, 2: rest})
    if kind == 2:
        parts = [rng.randrange(1, 9) for _ in range(4)]
        return TableNoise({k - 1: Fraction(part, sum(parts)) for k, part in enumerate(parts)})
    return DiscreteGaussian(variance=size) if kind == 3 else DiscreteLaplace(scale=size)


@pytest.mark.parametrize(
    "seed", [0, 1, 7, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 7))]
)
def test_claims_of_all_laws_are_right(seed: int) -> None:
    rng = random.Random(f"claims {seed}")
    for _ in range(15):
        laws = [drawn(rng) for _ in range(rng.choice([1, 2]))]
        epsilon = Fraction(rng.choice(["0", "1/10", "1/2", "1", "3", "8"]))
        truth = delta_of(laws, mp.mpf(epsilon.numerator) / epsilon.denominator)
        claimed = Fraction(rng.choice(["1e-300", "1e-9", "0.01", "0.3"]))
        if 0 < truth < mp.mpf(10) ** -30:  # the reference leaves out what is smaller
            claimed = Fraction(1, 10**9)
        elif rng.random() < 0.6 and truth > mp.mpf(10) ** -30:
            claimed = Fraction(str(mp.nstr(truth, 12))) * Fraction(rng.choice([0.999, 1.001, 0.5, 2]))
            claimed = min(claimed, Fraction(99, 100))
        found = verify(release(*laws), epsilon=epsilon, delta=claimed)
        gap = mp.mpf(claimed.numerator) / claimed.denominator - truth
        if abs(gap) < truth * mp.mpf(10) ** -14:  # equal: balls cannot tell
            assert found.verdict != "refuted"
            continue
        is_true = gap > 0
        assert found.verdict == ("proved" if is_true else "refuted"), (laws, epsilon, claimed, truth)


def normal_delta(variance: float, epsilon: float) -> mp.mpf:
    s = mp.sqrt(1 / mp.mpf(variance))
    return mp.ncdf(s / 2 - epsilon / s) - mp.exp(epsilon) * mp.ncdf(-s / 2 - epsilon / s)


@pytest.mark.parametrize(("size", "epsilon"), [("1/10", "3"), ("1", "0.7"), ("7", "0.05"), ("7", "0.7")])
def test_claims_of_continuous_noise_are_right(size: str, epsilon: str) -> None:
    at, scale = float(epsilon), float(Fraction(size))
    laplace = max(1 - math.exp((at - 1 / scale) / 2), 0.0)
    for law, truth in (
        (ContinuousGaussian(variance=size), float(normal_delta(scale, at))),
        (ContinuousLaplace(scale=size), laplace),
    ):
        for factor in (0.99, 1.01):
            claimed = truth * factor if truth else 1e-300
            if 1e-250 < claimed < 1 or not truth:
                found = verify(release(law), epsilon=epsilon, delta=str(claimed)).verdict
                assert found == ("proved" if claimed > truth else "refuted")


def test_no_rho_is_taken_of_a_law_that_has_none_proved() -> None:
    """One count, exponent 3/2, scale 1/10: delta(0) is next to 1."""
    one = release(PowerNoise("3/2", "1/10"))
    assert verify(one, epsilon="0", delta="1e-300").verdict == "refuted"
    assert verify(one, epsilon="200", delta="1e-300").verdict == "proved"


def test_pure_claims_of_all_laws() -> None:
    answer = TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"})  # log 3 = 1.0986...
    assert verify(release(answer), epsilon="1.0987", delta="1e-300").verdict == "proved"
    assert verify(release(answer), epsilon="1.0986", delta="1e-300").verdict == "refuted"
    assert verify(release(ContinuousLaplace(scale=2)), epsilon="1/2", delta="1e-300").verdict == "proved"


def test_errors_of_other_laws_are_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"a proof of the trade-off curve needs .*; delta and epsilon can"):
        verify(release(PowerNoise("3/2", 2)), alpha="0.05", beta="0.5")


def test_one_event_with_a_thousand_outcomes_is_certified() -> None:
    with working_bits(64):
        pairs = [(ball(Fraction(1, 2000)), ball(Fraction(1, 2000)))] * 2000
        assert sum(1 for _ in _repeated(pairs, 1)) == 2000
        assert sum(1 for _ in _repeated(pairs[:40], 2)) == math.comb(41, 2)
        assert abs(float(sum(p for p, _ in _repeated(pairs, 1))) - 1) < 1e-12
    box = account([PowerNoise("3/2", 20)]).delta(epsilon="0.1", certified=True)
    assert box.lower <= Fraction(0.00026366256174) * (1 + Fraction(1, 10**9)) <= box.upper * 2


def test_epsilon_beyond_the_range_of_exponentials() -> None:
    """A loss of 50^1.7 = 773.5 nats, and three-way randomised response."""
    keep, other = "71/100", "29/200"
    response = TableNoise({0: keep, 1: other, 2: other}, {0: other, 1: keep, 2: other})
    loss, ratio = 50**1.7, math.log(0.71 / 0.145)
    found = account([PowerNoise("17/10", "1/50"), response]).epsilon(delta="0.95")
    parts = ((0.71, loss + ratio), (0.145, loss), (0.145, loss - ratio))
    delta = sum(p * max(0.0, -math.expm1(float(found) - value)) for p, value in parts)
    assert abs(delta - 0.95) < 1e-9


def test_distant_variances_are_settled_by_lists() -> None:
    """Variances 1/1000, 10^6 and 3: a contour would take minutes."""
    from discreet import Spine

    levels = [
        Level(name=name, queries=[Query(name="t", variance=variance)])
        for name, variance in (("S", "1/1000"), ("C", "1000000"), ("B", "3"))
    ]
    two = Release(name="two", neighbours="bounded", levels=levels, spine=Spine(may_merge_up=["C"]))
    assert verify(two, epsilon="1020", delta="1e-6").verdict == "proved"


@pytest.mark.parametrize("gap", ["1e-14", "3e-15"])
def test_no_accuracy_is_stated_next_to_the_largest_loss(gap: str) -> None:
    """Three of scale 2, all at their end with chance 1/8: delta >= (1 - e^-gap) / 8; floats see a bound."""
    found = account([ContinuousLaplace(scale=2, times=3)]).delta(epsilon=Fraction(3, 2) - Fraction(gap))
    least = float(gap) / 8
    assert found >= least
    assert found / (1 + found.accuracy) <= least * 1.5


@pytest.mark.parametrize("gap", ["1e-4", "1e-6", "1e-8"])
def test_delta_hardly_below_the_largest_loss(gap: str) -> None:
    """One Laplace loss has a closed form; of two, the second is summed over the density of the first."""
    x = mp.mpf(gap)
    with mp.workdps(40):
        one = -mp.expm1(-x / 2)
        part = mp.quad(lambda g: mp.exp(-g / 2) / 4 * -mp.expm1((g - x) / 2), [0, x])
        two = one / 2 + part
        chance = 1 / (1 + mp.exp(mp.mpf(-1) / 2))  # of the largest loss of discrete Laplace noise
        cases = [
            ([ContinuousLaplace(scale=2)], Fraction(1, 2), one),
            ([ContinuousLaplace(scale=2, times=2)], Fraction(1), two),
            ([ContinuousLaplace(scale=2), DiscreteLaplace(scale=2)], Fraction(1), chance * one),
        ]
        for laws, end, truth in cases:
            found = account(laws).delta(epsilon=end - Fraction(gap))
            assert found >= truth * (1 - mp.mpf(10) ** -15)
            assert found.accuracy < 1e-3
            assert found / (1 + mp.mpf(found.accuracy)) <= truth * (1 + mp.mpf(10) ** -12)
