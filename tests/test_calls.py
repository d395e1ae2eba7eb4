"""A call that does not fit is told what to type, at every name of the top that people call."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import (
    DiscreteGaussian,
    DiscreteLaplace,
    InputError,
    Level,
    Query,
    TableNoise,
    account,
    compose,
    sample,
)
from discreet.calls import ELSEWHERE, understandable

RESULTS = {"Account", "Calibration", "Certificate", "Interval", "Point"}
"""Classes whose objects people are given, and do not make."""

CALLED = [
    name
    for name in discreet.__all__
    if name not in RESULTS
    and not (inspect.isclass(value := getattr(discreet, name)) and issubclass(value, Exception))
]


@pytest.mark.parametrize("name", CALLED)
def test_an_unknown_name_is_not_answered_in_the_words_of_python(name: str) -> None:
    with pytest.raises(InputError, match=rf"^{title(name)} does not take no_such_name.*; it takes "):
        getattr(discreet, name)(*[LAW][: name == "report"], no_such_name=1)  # (it passes names on)


@pytest.mark.parametrize("name", [name for name in CALLED if name != "compose"])
def test_too_many_values_are_not_answered_in_the_words_of_python(name: str) -> None:
    with pytest.raises(InputError, match=rf"^{title(name)} takes .* without a name, and 40 are given"):
        getattr(discreet, name)(*range(40))


def test_counts_are_no_size() -> None:
    with pytest.raises(InputError, match=r"take counts \+ sample\(law, len\(counts\)\)"):
        LAW.sample(np.array([120, 45, 0]))


def test_a_certificate_takes_what_an_account_takes() -> None:
    from_events = discreet.Certificate.of(10 * LAW, delta=1e-8)
    assert from_events.says == discreet.Certificate.of([10 * LAW], delta="1e-8").says
    assert discreet.Certificate.claim("sdhc-2020", epsilon=20, delta=1e-8).releases[0].name == "sdhc-2020"
    assert discreet.verify(from_events).verdict == "proved"


@pytest.mark.parametrize("function", [account, discreet.risk, discreet.calibrate])
def test_several_things_are_put_in_a_list(function: Callable[..., object]) -> None:
    with pytest.raises(InputError, match=rf"type {function.__name__}\(\[\.\.\., \.\.\.\]\), a list of them$"):
        function(LAW, DiscreteLaplace(scale=3))


def title(name: str) -> str:
    """What the message calls it: by its name, or what that is another name of."""
    return {"GaussianNoise": "DiscreteGaussian", "LaplaceNoise": "DiscreteLaplace"}.get(name, name)


LAW, COST = DiscreteGaussian(variance=5), account([DiscreteGaussian(variance=5)])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compose(), "compose lacks events; it takes events: type compose(events)"),
        (lambda: discreet.compare(LAW), "compare lacks b"),
        (lambda: discreet.calibrate(LAW, 1, 1e-6), "type calibrate(release, delta=1e-06, epsilon=1)"),
        (lambda: discreet.noise_for(eps=1, target_delta=1e-6), "type noise_for(epsilon=1, delta=1e-06)"),
        (
            lambda: discreet.calibrate(LAW, epsilom=1, delta=0.5),
            "type calibrate(release, delta=0.5, epsilon=1)",
        ),
        (lambda: account(LAW, release=LAW), "account is given release twice"),
        (lambda: DiscreteGaussian(scale=3), "type DiscreteGaussian(sigma=3)"),
        (lambda: DiscreteGaussian(sigma2=9, count=2), "type DiscreteGaussian(variance=9, times=2)"),
        (lambda: DiscreteLaplace(), "DiscreteLaplace lacks scale"),
        (lambda: Query("total", variance=3), "type Query(name=..., variance=3)"),
        (
            lambda: sample(LAW, "five"),
            "size is 'five'; it must be whole numbers, zero or more, such as 5 or (2, 3)",
        ),
        (lambda: discreet.load(5), "the name of a preset, or of a file, is 5; it must be a text"),
        (
            lambda: Level(name="a", queries=5),
            'must be a list of them, such as [Query(name="total", variance=5)]',
        ),
        (lambda: TableNoise([0.5, 0.5]), 'such as {0: "1/2", 1: "1/2"}'),
        (lambda: LAW.epsilon(), "type .epsilon(delta)"),
        (lambda: COST.epsilon(delta=0.1, certifed=True), "type .epsilon(delta=0.1, certified=True)"),
        (lambda: LAW.sample(size=5, seed=1), ".sample does not take seed"),
        (lambda: LAW + 5, "+ composes events, and one side is of type int: type a + b"),
        (lambda: np.arange(3) + LAW, "to add noise to counts, type counts + noise.sample(len(counts))"),
        (lambda: 1.5 * LAW, "times is 1.5; it must be a whole number above zero"),
    ],
)
def test_it_says_what_is_wrong_and_what_to_type(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert said in str(caught.value)


def test_each_name_of_other_libraries_is_one_that_is_taken_here() -> None:
    taken = {
        parameter for name in CALLED for parameter in inspect.signature(getattr(discreet, name)).parameters
    }
    assert set(ELSEWHERE.values()) <= taken


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (discreet.DiscreteGaussian, "variance"),
        (discreet.ContinuousGaussian, "variance"),
        (discreet.DiscreteLaplace, "scale"),
        (discreet.ContinuousLaplace, "scale"),
    ],
)
def test_a_number_without_a_name_warns_where_it_is_typed(law: Any, name: str) -> None:
    with pytest.warns(
        DeprecationWarning, match=rf"is taken for {law.__name__}\({name}=10, times=2\): type that"
    ) as heard:
        assert law(10, times=2) == law(**{name: 10}, times=2)
    assert heard[0].filename == __file__


def test_one_number_is_a_list_of_one() -> None:
    assert discreet.risk(LAW, guess=0.5).guesses[0].before == 0.5
    assert discreet.explain(epsilon=1, delta=1e-6, guess=0.1, false_positive_rates=0.01).guesses[0][0] == 0.1
    assert discreet.compare(LAW, LAW, delta=np.array([1e-6])).rows[0][0].delta == 1e-6
    assert sample(LAW, [2, 3.0]).shape == (2, 3)


def test_what_is_wrong_further_inside_is_not_taken_for_the_call() -> None:
    @understandable
    def wrong(one: Any) -> Any:
        return one + None

    with pytest.raises(TypeError, match="unsupported operand"):
        wrong(1)


def test_values_that_are_no_numbers_are_not_shown() -> None:
    with pytest.raises(InputError) as caught:
        account(["731946"], counts={"a": "731946"})  # type: ignore[call-overload]
    assert "731946" not in str(caught.value)


def test_functions_can_be_sent_to_other_processes() -> None:
    assert all(
        pickle.loads(pickle.dumps(getattr(discreet, name))) is getattr(discreet, name) for name in CALLED
    )


def test_a_composition_is_the_sum_of_its_events() -> None:
    a, b = DiscreteGaussian(variance=5), DiscreteLaplace(scale=4)
    assert (a + b).events == (b + a).events == (a, b)
    assert (2 * (a + b) + a).events == (3 * a, 2 * b)
    assert sum([a]) == a
    assert (a + b).epsilon(["1e-6", Fraction(1, 10**9)]).tolist() == compose(a, b).epsilon(
        [1e-6, 1e-9]
    ).tolist()
    assert "DiscreteLaplace" in repr(a + b)
