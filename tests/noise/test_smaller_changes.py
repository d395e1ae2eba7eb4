"""Noise of which a smaller change tells more: its worst change counts, or it is refused."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial

import pytest

from discreet import InputError, account, compose
from discreet.budget import Level, Query, Release, Variable
from discreet.errors import DiscreetError
from discreet.noise import ContinuousLaplace, CountLoss, DiscreteLaplace, PowerNoise, TableNoise
from discreet.noise.count_loss import OutcomeChances
from discreet.testing import check_law

SAW = {0: "9/20", **dict.fromkeys((-2, 2), "9/40"), **dict.fromkeys((-1, 1), "1/40")} | dict.fromkeys(
    (-4, -3, 3, 4), "1/80"
)


def delta(noise: TableNoise, change: int, ratio: Fraction) -> Fraction:
    """Sum of max(p(x - change) - ratio p(x), 0), exactly."""
    p = dict(noise.absent)
    return sum((max(q - ratio * p.get(x + change, 0), Fraction(0)) for x, q in noise.absent), Fraction(0))


def test_the_worst_of_one_change_is_no_bound_for_two_people() -> None:
    noise = TableNoise(SAW)
    assert float(compose([noise]).delta(epsilon=1.0)) == pytest.approx(0.7426, abs=1e-4)
    for ask in (
        lambda: account([noise], people=2).delta(epsilon=1.0),
        lambda: compose([TableNoise(SAW, sensitivity=2)]),
        lambda: Query(name="hours", noise=noise, variable=Variable(sum="hours", at_most=2)),
        lambda: Query(name="total", noise=noise, sensitivity=2),
    ):
        with pytest.raises(
            InputError, match=r"not log-concave, and a change of 1 can tell more than one of 2"
        ):
            ask()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_taken_has_no_smaller_change_that_tells_more(seed: int) -> None:
    draw = random.Random(seed)
    weights = [Fraction(draw.choice([0, 1, 1, 2, 3, 8, 20])) for _ in range(draw.randint(1, 7))]
    weights = (
        [*weights, Fraction(draw.randint(1, 30)), *weights[::-1]] if seed % 2 else [Fraction(3), *weights]
    )
    noise = TableNoise({x: w / sum(weights) for x, w in enumerate(weights) if w})
    most = draw.randint(2, 4)
    ratios = {Fraction(n, d) for n in range(1, 13) for d in range(1, 13)} | {Fraction(0), Fraction(1000)}
    ratios |= {p / q for _, p in noise.absent for _, q in noise.absent}
    worse = any(
        delta(noise, change, ratio) > delta(noise, most, ratio)
        for change in range(1, most)
        for ratio in ratios
    )
    assert (noise.telling_change(most) is not None) == worse
    if noise.is_log_concave:
        assert not worse


def test_the_refusal_is_sound_and_no_wider_than_that() -> None:
    """Tables are refused for 2 to 4 where a smaller change tells more, sums too, and nowhere else."""
    draw, refused, taken = random.Random(7), 0, 0
    for _ in range(60):
        half = [Fraction(draw.choice([0, 1, 1, 2, 3, 7, 20])) for _ in range(draw.randint(1, 4))]
        weights = (
            [Fraction(draw.randint(1, 30)), *half]
            if draw.random() < 0.5
            else [*half, Fraction(9), *half[::-1]]
        )
        noise = TableNoise({x: w / sum(weights) for x, w in enumerate(weights) if w})
        most = draw.randint(2, 4)
        ratios = {p / q for _, p in noise.absent for _, q in noise.absent} | {Fraction(0), Fraction(10**6)}
        worse = any(
            delta(noise, change, ratio) > delta(noise, most, ratio)
            for change in range(1, most)
            for ratio in ratios
        )
        compose([noise])
        Query(name="total", noise=noise)
        asks = (
            partial(compose, [TableNoise(noise.absent, sensitivity=most)]),
            partial(Query, name="hours", noise=noise, variable=Variable(sum="hours", at_most=most)),
        )
        for ask in asks:
            if worse:
                with pytest.raises(InputError, match="not log-concave"):
                    ask()
            else:
                ask()
        refused += worse
        taken += not worse and not noise.is_log_concave
    assert min(refused, taken) > 10


def test_people_ask_for_more_than_one_count_that_changes() -> None:
    """Two people in two cells change each by 1: only log-concave noise has its worst case in one cell."""
    steps = TableNoise({-2: "1/80", -1: "1/40", 0: "37/40", 1: "1/40", 2: "1/80"})
    assert not steps.is_log_concave
    assert steps.telling_change(2) is None
    assert Query(name="total", noise=steps, sensitivity=2).event("unbounded").sensitivity == 2
    release = Release(
        name="r", neighbours="bounded", levels=[Level(name="a", queries=[Query(name="t", noise=steps)])]
    )
    with pytest.raises(InputError, match="several small changes can tell more than one of 2"):
        account(release, people=2)


def test_log_concave_laws_are_taken_as_before() -> None:
    for noise in (DiscreteLaplace(scale=2), PowerNoise("3/2", 2), ContinuousLaplace(scale=3)):
        assert noise.for_people(3).sensitivity == 3
    assert TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}).for_people(5).sensitivity == 5


class _Deaf(PowerNoise):
    """A law that forgets its sensitivity."""

    FAMILY = "deaf"

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        return PowerNoise(self.exponent, self.scale).loss_law(exchanged=exchanged)

    @property
    def outcomes(self) -> OutcomeChances:
        return PowerNoise(self.exponent, self.scale).outcomes


class _DeafContinuous(ContinuousLaplace):
    FAMILY = "deaf continuous"

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        return ContinuousLaplace(scale=self.scale).loss_law(exchanged=exchanged)


class _Boasting(TableNoise):
    is_log_concave = True


def test_check_law_finds_them() -> None:
    with pytest.raises(DiscreetError, match="a smaller change tells more"):
        check_law(TableNoise(SAW))
    with pytest.raises(DiscreetError, match="`is_log_concave` is true, which is wrong"):
        check_law(_Boasting(SAW))
    with pytest.raises(DiscreetError, match="they ignore `sensitivity`"):
        check_law(_Deaf("3/2", 2))
    with pytest.raises(DiscreetError, match="`loss_law` ignores `sensitivity`"):
        check_law(_DeafContinuous(scale=2))
    assert "changes" in check_law(TableNoise({-1: "1/4", 0: "1/2", 1: "1/4"}))


def test_the_saw_by_brute_force() -> None:
    noise, e = TableNoise(SAW), Fraction(math.e)
    assert float(delta(noise, 1, e)) == pytest.approx(0.7426, abs=1e-4)
    assert float(delta(noise, 2, e)) == pytest.approx(0.2160, abs=1e-4)
