"""Intervals with power and table noise: they cover the truth as often as they say, with the true variance."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.areas.tree import Tree
from discreet.budget import Attributes
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.noise import Noise, PowerNoise, TableNoise, sample
from discreet.testing import NotPrivateSeededEntropy

LAWS: list[Noise] = [
    PowerNoise("17/10", 3),
    PowerNoise("5/4", 2),
    TableNoise({-3: "1/44", -2: "1/11", -1: "9/44", 0: "4/11", 1: "9/44", 2: "1/11", 3: "1/44"}),
]


@pytest.mark.parametrize(
    ("cells", "least"), [(250, 0.905), pytest.param(4000, 0.939, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_intervals_cover_the_truth(law: Noise, cells: int, least: float) -> None:
    """A state and two counties: 95 % intervals of their cells.

    With a coverage of 95 % exactly, less than `least` of so many cells are covered with a chance below 0.2 %.
    """
    entropy = NotPrivateSeededEntropy(7)
    truth = np.tile([[30], [12], [18]], (1, cells))
    noisy = truth + np.array([sample(law, cells, source=entropy) for _ in range(3)])
    tree = Tree(np.array([-1, 0, 0]), np.array([0, 1, 1]), (0, 1))
    asked = [{"detailed": law}] * 2
    given = Measurements(tree, (InMemory(asked, {"detailed": (np.arange(3), noisy)}),))
    found = Estimates(Attributes({"a": cells}), given).at()
    off = np.abs(found.values("detailed") - truth)
    # least squares of x + y = z, x and y: each county has 2/3 of the variance of its noise
    deviation = found.deviations("detailed")[1]
    assert deviation == pytest.approx(np.sqrt(2 / 3 * law.true_variance()), rel=1e-9)
    assert np.std(off[1] * np.sign(found.values("detailed")[1] - truth[1])) == pytest.approx(
        deviation[0], rel=0.2 if cells < 1000 else 0.06
    )
    covered = (off <= found.widths("detailed", 0.95) + 1e-9).mean(axis=1)
    assert np.all(covered >= least)
    # an interval of half the width must fail
    assert np.all((off <= found.widths("detailed", 0.95) / 2).mean(axis=1) < 0.9)
