"""Compositions for the tests: random small ones that the reference can do, and large ones that it cannot."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import pytest
from hypothesis import strategies as st
from reference import Reference

from discreet.accounting.privacy_loss import PrivacyLoss, compose
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

VARIANCES = (
    "0.05", "0.07", "0.1", "0.2", "0.31", "0.49", "0.5", "0.51", "0.75", "1", "3/2", "2", "5", "10", "17/3",
    "7.0000001", "5.123456789", "100", "333", "1000",
)  # fmt: skip
SCALES = ("0.1", "0.3", "0.5", "1", "2", "7/3", "5", "20", "50")

gaussians = st.builds(
    lambda variance, sensitivity, times: DiscreteGaussian(
        variance=variance, sensitivity=sensitivity, times=times
    ),
    st.sampled_from(VARIANCES),
    st.sampled_from((1, 1, 1, 2, 3, 5, 30)),
    st.sampled_from((1, 1, 1, 2, 3, 8)),
)
laplaces = st.builds(
    lambda scale, sensitivity, times: DiscreteLaplace(scale=scale, sensitivity=sensitivity, times=times),
    st.sampled_from(SCALES),
    st.sampled_from((1, 1, 2, 3, 7)),
    st.sampled_from((1, 1, 2, 3)),
)


def cost(events: tuple[Noise, ...]) -> float:
    """About how many atoms the reference would have, lattice ignored, weighed by its bits."""
    size = 1.0
    for event in events:
        if isinstance(event, DiscreteGaussian):
            size *= 80 * math.sqrt(float(event.variance) * event.times) + 3
        else:
            size *= event.sensitivity * event.times + 1
    return size


def total_precision(events: tuple[Noise, ...]) -> float:
    """R, twice the zCDP rho, of the Gaussian events."""
    return float(sum(e.precision for e in events if isinstance(e, DiscreteGaussian)))


small = (
    st.lists(gaussians | laplaces, min_size=1, max_size=3)
    .map(tuple)
    .filter(lambda events: cost(events) < 15_000 and total_precision(events) < 500)
)
"""Random compositions that the reference can do in a moment."""


@functools.lru_cache(maxsize=64)
def both(events: tuple[Noise, ...]) -> tuple[PrivacyLoss, Reference]:
    """The loss under test and its reference."""
    return compose(events), Reference(events)


def G(variance: str | int | Fraction, sensitivity: int = 1, times: int = 1) -> DiscreteGaussian:  # noqa: N802
    """Short for a discrete Gaussian event."""
    return DiscreteGaussian(variance=variance, sensitivity=sensitivity, times=times)


def L(scale: str | int | Fraction, sensitivity: int = 1, times: int = 1) -> DiscreteLaplace:  # noqa: N802
    """Short for a discrete Laplace event."""
    return DiscreteLaplace(scale=scale, sensitivity=sensitivity, times=times)


# Each of these was wrong, refused or endless at some time.
TRICKY: dict[str, tuple[Noise, ...]] = {
    "middle node of a sieved period": (G("0.49", 3), G("0.6", 3)),
    "the same, more events": (G("0.49", 3), G("0.5", 3, 3)),
    "steep atoms": (G("0.1"),),
    "steeper atoms": (G("0.05", 2, 3),),
    "steep atoms with Laplace": (L("0.3", 7), G("0.1")),
    "plateaus": (G("0.05", 2), G(5, 2, 3)),
    "null tails of steep atoms": (G("0.07", 1, 3),),
    "middle of f below 1e-50": (G("0.51", 20),),
    "no lattice, Laplace twice": (L(20, 7, 2), G("5.123456789", 2)),
    "no lattice, steep atoms": (G("0.2"), G("7.0000001", 30)),
    "Laplace alone": (L("7/3", 1, 2),),
    "Laplace alone, large steps": (L("0.1", 3),),
    "tiny losses": (L(50, 1, 3), G("0.05")),
    "one of each kind": (G("0.05"), G(5), L(2, 3)),
}

SLOW = ("tiny losses", "no lattice, steep atoms", "no lattice, Laplace twice", "the same, more events")
"""Tricky ones whose reference or whose evaluation takes seconds."""

LARGE: dict[str, tuple[Noise, ...]] = {
    "1e6 events of variance 1e6": (G(10**6, 1, 10**6),),
    "1e6 events of variance 0.05": (G("0.05", 1, 10**6),),
    "1e6 events of variance 1": (G(1, 1, 10**6),),
    "one of variance 1e6": (G(10**6),),
    "sensitivity 30, 1e6 events": (G(10**6, 30, 10**6),),
    "sensitivity 30, variance 0.05": (G("0.05", 30),),
    "0.06 and 0.07, a thousand each": (G("0.06", 1, 1000), G("0.07", 1, 1000)),
    "0.05 and 1e6 times 1e6": (G("0.05"), G(10**6, 1, 10**6)),
    "0.05 times 1e6 and 1e6 times 1e6": (G("0.05", 1, 10**6), G(10**6, 1, 10**6)),
    "0.05 times 1e6 and 1e6": (G("0.05", 1, 10**6), G(10**6)),
    "two without lattice": (G("5.123456789"), G("7.0000001")),
    "three without lattice": (G("5.123456789"), G("7.0000001"), G("9.87654321")),
    "six without lattice": tuple(
        G(v)
        for v in ("5.123456789", "7.0000001", "9.87654321", "3.1415926535", "2.7182818284", "1.4142135623")
    ),
    "six small ones without lattice": tuple(
        G(v)
        for v in (
            "0.123456789",
            "0.0700000001",
            "0.0987654321",
            "0.31415926535",
            "0.27182818284",
            "0.14142135623",
        )
    ),
    "six large ones without lattice": tuple(
        G(v)
        for v in ("512.3456789", "700.00001", "987.654321", "314.15926535", "271.82818284", "141.42135623")
    ),
    "a thousand Laplace": (L(1000, 1, 1000),),
    "Laplace of sensitivity 30": (L(10, 30, 100),),
    "Laplace and Gaussians without lattice": (
        L("3.33333331"),
        L("7.777777771"),
        L("1.23456789"),
        G("5.55555551"),
    ),
    "300 distinct variances": tuple(G(Fraction(1000003 + 7919 * k, 10**4)) for k in range(300)),
    "300 distinct small variances": tuple(G(Fraction(1000003 + 7919 * k, 10**7)) for k in range(300)),
}


def tricky(*slow: str) -> pytest.MarkDecorator:
    """Parametrise a test over the names of `TRICKY`; those of `SLOW`, and `slow` of this test, are marked."""
    return pytest.mark.parametrize(
        "name",
        [pytest.param(name, marks=pytest.mark.slow if name in (*SLOW, *slow) else ()) for name in TRICKY],
    )
