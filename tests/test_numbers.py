"""Numbers in and out: what is exact, what is refused, and intervals that compare only what is proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.numbers import Interval, fraction


@pytest.fixture
def box() -> Interval:
    return Interval(Fraction(1, 3), Fraction(2, 5))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint16])
def test_integers_of_numpy_are_integers(kind: type) -> None:
    assert fraction(kind(5)) == 5


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.longdouble])
@pytest.mark.parametrize("text", ["0.1", "2.5", "5.0", "1e-06", "1e+20", "0.000123"])
def test_a_float_is_the_decimal_that_python_prints(kind: Callable[[str], float], text: str) -> None:
    assert fraction(kind(text)) == Fraction(text)


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        (1 / 3, '"1/3"'),
        (-2 / 7, '"-2/7"'),
        (0.1 + 0.2, "0.3"),
        (3 * 1.1, "3.3"),
        (1 + 2**-52, "1"),
    ],
)
def test_a_float_next_to_the_number_that_was_meant_is_refused(value: float, typed: str) -> None:
    with pytest.raises(InputError, match=f"; write {typed}$"):
        fraction(value)
    assert fraction(value, floats=True) == Fraction(
        str(value)
    )  # the result of a computation, where one may stand


def test_a_computed_float_that_is_next_to_nothing_simple_is_read() -> None:
    assert fraction(math.sqrt(10)) == Fraction("3.1622776601683795")


def test_truth_values_of_numpy_are_no_numbers() -> None:
    with pytest.raises(InputError):
        fraction(np.bool_(True))  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [Fraction(2, 5), Interval(Fraction(2, 5), Fraction(1))])
def test_comparisons_that_hold_at_an_end(box: Interval, other: Fraction | Interval) -> None:
    assert box <= other
    assert not box > other
    with pytest.raises(InputError, match="not known"):
        assert box < other


def test_comparisons_from_below(box: Interval) -> None:
    assert box >= Fraction(1, 3)
    assert not box < Fraction(1, 3)
    assert not box <= 0.3
    assert not box >= 0.5


@pytest.mark.parametrize("other", [0.35, Interval(Fraction(1, 3), Fraction(2, 5))])
def test_what_is_not_proved_raises(box: Interval, other: float | Interval) -> None:
    for compare in ("__lt__", "__gt__", "__le__", "__ge__"):
        with pytest.raises(InputError, match="overlap"):
            getattr(box, compare)(other)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (".3f", "[0.333, 0.400]"),
        (".0f", "[0, 1]"),
        (".2e", "[3.33e-1, 4.00e-1]"),
        (".2g", "[0.33, 0.4]"),
        ("", "[0.33333333333333333, 0.4]"),
    ],
)
def test_formats_round_outward(box: Interval, spec: str, text: str) -> None:
    assert format(box, spec) == text


def test_formats_round_outward_below_zero() -> None:
    assert f"{Interval(Fraction(-2, 3), Fraction(-1, 3)):.1f}" == "[-0.7, -0.3]"
    assert f"{Interval(Fraction(-2, 3), Fraction(0)):.1e}" == "[-6.7e-1, 0.0e+00]"


def test_an_unknown_format_is_refused(box: Interval) -> None:
    with pytest.raises(ValueError, match=r"\.3f, \.3e or \.3g"):
        format(box, "x")


@pytest.mark.parametrize("wrong", [np.array([5]), np.array(5.0), np.array([[1, 2]])])
def test_an_array_is_no_number(wrong: Any) -> None:
    with pytest.raises(InputError, match="variance is of type ndarray; a number such as 5"):
        fraction(wrong, name="variance")
    assert fraction(np.array(5)) == 5
