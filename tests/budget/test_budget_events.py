"""Events are exact, frozen and hashable, and know no epsilon."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.budget import DiscreteGaussian, DiscreteLaplace, grouped
from discreet.errors import InputError
from discreet.noise import Noise

sizes = st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=100)
events: st.SearchStrategy[Noise] = st.one_of(
    st.builds(DiscreteGaussian, variance=sizes, sensitivity=st.integers(1, 3), times=st.integers(1, 5)),
    st.builds(DiscreteLaplace, scale=sizes, sensitivity=st.integers(1, 3), times=st.integers(1, 5)),
)


@pytest.mark.parametrize(
    "value",
    [Fraction(159, 1000), Decimal("0.159"), 0.159, np.float64(0.159), "0.159", "159/1000", " 159e-3 "],
)
def test_one_number_in_many_spellings(value: Decimal | Fraction | float | str) -> None:
    assert DiscreteGaussian(variance=value).variance == Fraction(159, 1000)
    assert DiscreteLaplace(scale=value) == DiscreteLaplace(scale="0.159")


@pytest.mark.parametrize(
    "value", [1 / 3, math.nan, 0, -1, "0", "-1/3", "inf", "nan", Decimal("inf"), True, None, "1/0", []]
)
def test_noise_that_is_not_exact_and_above_zero(value: object) -> None:
    with pytest.raises(InputError, match=r"^variance is"):
        DiscreteGaussian(variance=value)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^scale is"):
        DiscreteLaplace(scale=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["sensitivity", "times"])
@pytest.mark.parametrize("value", [0, -1, 1.5, math.inf, True, False, "1", None, Fraction(1), 10**13])
@pytest.mark.parametrize("make", [DiscreteGaussian, DiscreteLaplace])
def test_counts_that_are_not_whole_and_above_zero(make: type, value: object, name: str) -> None:
    size = {"variance": 5} if make is DiscreteGaussian else {"scale": 5}
    with pytest.raises(InputError, match=f"^{name} is .*(whole number above zero|at most)"):
        make(**size, **{name: value})


def test_the_size_of_the_noise_has_a_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"taken for DiscreteGaussian\(variance=5, times=2\): type"):
        assert DiscreteGaussian(5, times=2) == DiscreteGaussian(variance=5, times=2)  # type: ignore[misc]
    with pytest.raises(InputError, match=r"takes no values without a name, and 2 are given"):
        DiscreteGaussian(5, 2)  # type: ignore[misc]


def test_frozen_and_hashable_and_without_a_price() -> None:
    event = DiscreteGaussian(variance=5)
    with pytest.raises(FrozenInstanceError):
        event.times = 2  # type: ignore[misc]
    assert {event, DiscreteGaussian(variance="5")} == {event}
    assert len({event, DiscreteLaplace(scale=5)}) == 2
    assert [field.name for field in fields(event)] == ["variance", "sensitivity", "times"]
    assert replace(event, times=3).times == 3


def test_numpy_integers_serve_as_counts() -> None:
    numpy = pytest.importorskip("numpy", reason="needs NumPy: install the extra `test`")
    event = DiscreteGaussian(variance=5, sensitivity=numpy.int64(2))
    assert type(event.sensitivity) is int


@given(st.lists(events, max_size=12), st.randoms())
def test_grouping_keeps_the_total_and_forgets_the_order(many: list[Noise], random: object) -> None:
    merged = grouped(many)
    shuffled = list(many)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert grouped(shuffled) == merged == grouped(merged)
    once = {replace(event, times=1) for event in many}
    assert {replace(event, times=1) for event in merged} == once
    assert len(merged) == len(once)
    for one in once:
        wanted = sum(event.times for event in many if replace(event, times=1) == one)
        assert [event.times for event in merged if replace(event, times=1) == one] == [wanted]


@given(events, st.integers(1, 20))
def test_a_group_of_people_multiplies_the_sensitivity_alone(event: Noise, people: int) -> None:
    group = event.for_people(people)
    assert group == replace(event, sensitivity=event.sensitivity * people)
    if isinstance(event, DiscreteGaussian) and isinstance(group, DiscreteGaussian):
        assert group.precision == people**2 * event.precision


@pytest.mark.parametrize("people", [0, -1, 1.5, True])
def test_people_are_a_whole_number(people: int) -> None:
    with pytest.raises(InputError, match=r"^people is"):
        DiscreteGaussian(variance=1).for_people(people)
