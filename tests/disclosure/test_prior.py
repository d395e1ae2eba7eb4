"""One reader of a prior, one range, on every surface."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.numbers import prior


def test_what_is_read() -> None:
    assert prior("1/864") == prior(Fraction(1, 864)) == Fraction(1, 864)
    assert prior(0.1) == Fraction(1, 10) != Fraction(0.1)
    assert prior(np.float64(0.5)) == Fraction(1, 2)
    assert prior("1e-300") == Fraction(1, 10**300)


@pytest.mark.parametrize(
    "wrong",
    [
        0,
        1,
        "0",
        "1.0",
        -0.5,
        "3/2",
        "1e-301",
        1 - Fraction(1, 10**301),
        math.nan,
        math.inf,
        "even",
        True,
        None,
    ],
)
def test_what_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="chance of rain is"):
        prior(wrong, name="chance of rain")  # type: ignore[arg-type]
