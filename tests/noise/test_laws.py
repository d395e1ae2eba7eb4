"""Tables, powers and continuous noise: their probabilities, their draws, and the checks of a law."""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest

from discreet import ContinuousGaussian, ContinuousLaplace, DiscreetError, InputError, PowerNoise, TableNoise
from discreet.noise import CountLoss, DiscreteGaussian, DiscreteLaplace, Noise, sample
from discreet.testing import NotPrivateScriptedEntropy, NotPrivateSeededEntropy, check_law

LAWS: list[Noise] = [
    DiscreteGaussian(variance=5, times=3),
    DiscreteGaussian(variance="1/5", sensitivity=2),
    DiscreteLaplace(scale=2, sensitivity=3),
    PowerNoise("17/10", 5),
    PowerNoise(1, "1/2", sensitivity=2),
    PowerNoise("3/2", 20, times=4),
    TableNoise({-2: "1/8", 0: "1/2", 1: "3/8"}),
    TableNoise({-1: "1/3", 0: "1/3", 1: "1/3"}, sensitivity=2, times=5),
    TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}),
    TableNoise({0: "1/2", 1: "1/3", 2: "1/6"}, {0: "1/7", 1: "2/7", 2: "4/7"}),
    ContinuousGaussian(variance=5, sensitivity=2),
    ContinuousLaplace(scale="1/3"),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_all_laws_keep_what_is_assumed_of_a_law(law: Noise) -> None:
    assert {"copies", "loss", "directions"} <= set(check_law(law))


class _Wrong(PowerNoise):
    """A law that forgets half of its loss, and lies about its variance."""

    def loss_law(self, *, exchanged: bool = False) -> CountLoss:
        made = super().loss_law()
        return CountLoss(made.value[::2], made.log[::2])

    def true_variance(self) -> float:
        return 2 * super().true_variance()


def test_a_wrong_law_is_told_everything_that_is_wrong() -> None:
    with pytest.raises(DiscreetError) as caught:
        check_law(_Wrong("3/2", 2))
    said = str(caught.value)
    assert "probabilities of the loss add up to" in said
    assert "the variance is" in said
    assert len(caught.value.problems) >= 3


class _Uneven(PowerNoise):
    """A law whose draws are those of another."""

    def ball_pmfs(self, count: int) -> list[object]:  # type: ignore[override]
        return DiscreteLaplace(scale=2).ball_pmfs(count)  # type: ignore[return-value]


def test_draws_of_another_law_are_found() -> None:
    with pytest.raises(DiscreetError, match="draws"):
        check_law(_Uneven("2", 2))


def test_ties_of_a_table_are_settled_exactly() -> None:
    thirds = TableNoise({-1: "1/3", 0: "1/3", 5: "1/3"})
    floor = (1 << 64) // 3  # 1/3 is 0.0101... in binary: all further words are the same floor

    def drawn(*words: int) -> int:
        script = b"".join(struct.pack("<Q", word) for word in words)
        return int(sample(thirds, 1, source=NotPrivateScriptedEntropy(script))[0])

    assert [drawn(floor - 1), drawn(floor + 1)] == [-1, 0]
    assert [drawn(floor, floor - 1), drawn(floor, floor + 1)] == [-1, 0]
    assert [drawn(floor, floor, floor - 1), drawn(floor, floor, floor + 1)] == [-1, 0]
    quarter = TableNoise({0: "1/4", 1: "3/4"})  # a multiple of 2^-64 needs no further bits
    script = NotPrivateScriptedEntropy(struct.pack("<QQ", (1 << 62) - 1, 1 << 62))
    assert sample(quarter, 2, source=script).tolist() == [0, 1]


@pytest.mark.slow
def test_draws_of_wide_power_noise() -> None:
    noise = PowerNoise("3/2", 300)
    draws = sample(noise, 100_000, source=NotPrivateSeededEntropy(5)).astype(float)
    # the standard error of the variance is below half a percent
    assert np.mean(draws**2) == pytest.approx(noise.true_variance(), rel=0.025)
    assert abs(draws.mean()) < 5 * noise.true_variance() ** 0.5 / 300


@pytest.mark.parametrize("noise", [ContinuousGaussian(variance=5), ContinuousLaplace(scale=3)], ids=str)
def test_continuous_noise_is_not_drawn(noise: Noise) -> None:
    with pytest.raises(InputError, match="floats have gaps"):
        sample(noise, 3)
    with pytest.raises(InputError, match="no integer"):
        noise.pmf(0)


def test_an_answer_is_no_noise() -> None:
    with pytest.raises(InputError, match="no noise that could be added"):
        sample(TableNoise({0: "3/4", 1: "1/4"}, {0: "1/4", 1: "3/4"}), 1)


@pytest.mark.parametrize(
    ("chances", "said"),
    [
        ({0: "1/2", 1: "1/3"}, "add up to 5/6, not to 1"),
        ({0: "3/2", 1: "-1/2"}, "the chance of 0 in absent is 3/2"),
        ([(0, "1/2"), (0, "1/2")], "occurs twice"),
        ({0: 1 / 3, 1: 2 / 3}, 'which is next to 1/3; write "1/3"'),
        ({"0": "1"}, "must be a whole number"),
        ({10**7: "1"}, "must be a whole number between"),
        ({}, "add up to 0"),
    ],
)
def test_bad_tables_are_refused(chances: dict[int, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        TableNoise(chances)  # type: ignore[arg-type]


def test_bad_powers_are_refused() -> None:
    for exponent in ("9/10", "21/10"):
        with pytest.raises(InputError, match="it must lie between 1"):
            PowerNoise(exponent, 5)
    with pytest.raises(InputError, match="must lie between"):
        sample(PowerNoise(1, 10**6), 1)


def test_margins_of_tables_are_exact() -> None:
    noise = TableNoise({-3: "1/40", 0: "19/20", 2: "1/40"})
    assert [noise.margin("0.95"), noise.margin("0.950001"), noise.margin("0.99")] == [0, 2, 3]
    assert noise.quantile("1/40") == -3
    assert TableNoise({-1: "1/2", 1: "1/2"}).within(0, draws=2) == 0.5
    assert TableNoise({-1: "1/2", 1: "1/2"}).margin("1/2", draws=2) == 0
    assert TableNoise({0: "1/3", 3: "2/3"}).mean == 2
    assert TableNoise({0: "1/3", 3: "2/3"}).variance == Fraction(2)
