"""Two-sided margins of error, against sums of the probabilities themselves."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import InputError
from discreet.noise import GaussianNoise, LaplaceNoise, Noise

LAWS: list[Noise] = [
    *(
        GaussianNoise(variance=v)
        for v in ("1/10000", "1/25", "0.31", "0.7", 1, "13/5", 26, "50000/10001", 625)
    ),
    *(LaplaceNoise(scale=s) for s in ("1/1000", "1/2", "0.7071", 3, "125/137", 40)),
]


@pytest.mark.parametrize("noise", LAWS, ids=str)
@pytest.mark.parametrize("level", ["1/1000", "1/2", "0.9", "0.95", "0.99", "0.999999"])
def test_a_margin_holds_and_the_next_smaller_one_does_not(noise: Noise, level: str) -> None:
    margin = noise.margin(level)

    def within(m: int) -> Fraction:
        """P[|X| <= m], from certified single probabilities."""
        ends = [noise.certified_pmf(x) for x in range(m + 1)]
        return ends[0].midpoint + 2 * sum((end.midpoint for end in ends[1:]), Fraction(0))

    assert margin >= 0
    assert within(margin) >= Fraction(level)
    assert margin == 0 or within(margin - 1) < Fraction(level)


def test_the_boundary_between_two_margins() -> None:
    """r = e^(-1/scale) is irrational, so there is no tie: the boundary is asked from both sides."""
    noise = LaplaceNoise(scale=3)
    chance = 1 - 2 * noise.certified_sf(7).midpoint
    assert noise.margin(chance - Fraction(1, 10**25)) == 7
    assert noise.margin(chance + Fraction(1, 10**25)) == 8


def test_the_normal_rule_is_too_small() -> None:
    """1.96 standard deviations are below the margin that holds: 9.99 for 10 at variance 26."""
    noise = GaussianNoise(variance=26)
    covered = 1 - 2 * float(noise.sf(int(1.96 * 26**0.5)))
    assert covered < 0.95
    assert noise.margin() == 10


@pytest.mark.parametrize("level", ["0", "1", "2", "-1/2"])
def test_levels_that_are_none_are_refused(level: str) -> None:
    with pytest.raises(InputError, match="level"):
        GaussianNoise(variance=1).margin(level)
