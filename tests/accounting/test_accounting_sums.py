"""The full bound is the worst that one record can add to a sum: docs/explanation/certified.md proves it.

All changes that one record can make to small tables are listed, and each is told apart no better than the
events of the account, for every pair of delta and epsilon.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.accounting.privacy_loss import compose
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise

EPSILONS = [Fraction(tenths, 10) for tenths in (0, 1, 5, 10, 20, 50)]


def laws(bound: int) -> list[Noise]:
    return [
        DiscreteGaussian(variance="1/2", sensitivity=bound),
        DiscreteGaussian(variance=9, sensitivity=bound),
        DiscreteLaplace(scale=2, sensitivity=bound),
    ]


def brute(law: Noise, shifts: tuple[int, ...], epsilon: float) -> float:
    """Return sum of max(P - e^epsilon Q, 0) over all outcomes of noise on numbers that differ by `shifts`."""
    grid = np.arange(-60, 61)
    one = law.single()
    tables = [(np.exp(one.log_pmf(grid)), np.exp(one.log_pmf(grid - shift))) for shift in shifts]
    p = q = np.ones(1)
    for before, after in tables:
        p, q = np.multiply.outer(p, after).ravel(), np.multiply.outer(q, before).ravel()
    return float(np.maximum(p - np.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("law", laws(4), ids=str)
def test_the_bound_dominates_every_smaller_change(law: Noise) -> None:
    """One record added with any value from 0 to the bound; a bound that is too small must be rejected."""
    due = np.asarray(compose([law]).delta(epsilon=EPSILONS))
    for value in range(5):
        found = [brute(law, (value,), float(epsilon)) for epsilon in EPSILONS]
        assert np.all(np.array(found) <= due + 1e-12), value
    assert brute(law, (5,), 0.0) > due[0] + 1e-6
    assert brute(law, (4,), 0.0) == pytest.approx(due[0], abs=1e-9)


@pytest.mark.parametrize("law", laws(3), ids=str)
def test_two_events_dominate_every_replacement(law: Noise) -> None:
    """One record replaced by another, in its cell or in another one."""
    due = np.asarray(compose([law, law]).delta(epsilon=EPSILONS))
    for old, new in product(range(4), repeat=2):
        for shifts in ((new - old,), (-old, new)):
            for epsilon, most in zip(EPSILONS, due, strict=True):
                assert brute(law, shifts, float(epsilon)) <= most + 1e-12, (old, new)


def test_below_zero_would_need_more() -> None:
    """Why there is no at_least: from -3 to 3 in one cell is a change of 6, more than two events of 3."""
    law = DiscreteGaussian(variance=9, sensitivity=3)
    assert brute(law, (6,), 1.0) > float(compose([law, law]).delta(epsilon=1))
