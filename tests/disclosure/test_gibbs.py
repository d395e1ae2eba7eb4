"""The samplers: the sound one agrees with the exact sums, the published one with its own stationary law."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.disclosure import Area, hierarchy_posterior
from discreet.disclosure.two_levels import TwoLevels
from discreet.errors import InputError
from discreet.noise import DiscreteGaussian

BLOCK = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
GROUP = Area(name="block group", noisy=1, rho="0.2465")


def stationary(*, constrained: bool) -> float:
    """P[X1 = 1] to which drawing X2 given X1, then X1 given X2, tends: from its 2 x 2 transition matrix."""
    one, two = (float(area.variance) for area in (BLOCK, GROUP))
    laws = [DiscreteGaussian(variance=str(variance)) for variance in (one, two, 27 * one)]
    block, group, beside = (lambda off, law=law: np.exp(law.log_pmf(off)) for law in laws)
    x1, x2 = np.arange(2)[:, None], np.arange(25)[None, :]
    joint = group(1 - x2) * beside(-1 - (x2 - x1))
    down = np.where(x1 <= x2, joint, 0.0)  # X1 -> X2
    up = block(2 - x1) * (down if constrained else joint)  # X2 -> X1
    step = (down / down.sum(axis=1, keepdims=True)) @ (up / up.sum(axis=0)).T
    return float(step[0, 1] / (step[0, 1] + step[1, 0]))


def test_transition_matrices() -> None:
    exact = hierarchy_posterior([BLOCK, GROUP], prior="1/2")
    assert stationary(constrained=True) == pytest.approx(exact.probability, abs=1e-13)
    published = stationary(constrained=False)
    assert published == pytest.approx(0.5777, abs=5e-5)  # design note
    two = TwoLevels(rho=("0.0992", "0.2465"), siblings=27, prior="1/2")
    assert published == pytest.approx(float(two.unconstrained_probability(2, 1, -1)), abs=1e-12)


# Means over 500 independent chains are close to normal; 4.5 standard errors are passed by chance once in
# 147,000 runs, and the seed is fixed. The error of a tenth is more than 30 standard errors away.
@pytest.mark.parametrize("method", ["gibbs", "gibbs-unconstrained"])
def test_samplers_tend_to_their_laws(method: str) -> None:
    drawn = hierarchy_posterior([BLOCK, GROUP], prior="1/2", method=method, draws=200_000, seed=5)  # type: ignore[arg-type]
    aim = stationary(constrained=method == "gibbs")
    assert drawn.standard_error is not None
    assert abs(drawn.probability - aim) < 4.5 * drawn.standard_error
    assert abs(drawn.probability - 1.1 * aim) > 4.5 * drawn.standard_error
    other = stationary(constrained=method != "gibbs")
    assert abs(drawn.probability - other) > 4.5 * drawn.standard_error


def test_the_sampler_of_four_levels() -> None:
    areas = [
        Area(noisy=3, variance=3, siblings=4, siblings_noisy=6),
        Area(noisy=9, variance=4, siblings=3, siblings_noisy=20, given_smaller="poisson:8"),
        Area(noisy=30, variance=5, siblings=2, siblings_noisy=50),
        Area(noisy=80, variance=5, given_smaller="uniform:90"),
    ]
    exact = hierarchy_posterior(areas, prior="1/4", known=2)
    drawn = hierarchy_posterior(areas, prior="1/4", known=2, method="gibbs", draws=150_000, seed=8)
    assert drawn.standard_error is not None
    assert abs(drawn.probability - exact.probability) < 4.5 * drawn.standard_error
    assert drawn.areas[3].mean == pytest.approx(exact.areas[3].mean, abs=0.2)


def test_seeds_repeat_and_words_say_what_it_is() -> None:
    one, two = (
        hierarchy_posterior([BLOCK, GROUP], prior="1/2", method="gibbs-unconstrained", draws=2000, seed=3)
        for _ in range(2)
    )
    assert one.probability == two.probability
    assert "not the posterior of the stated model" in str(one)


def test_the_published_chain_has_two_levels() -> None:
    for areas in (
        [Area(noisy=1, rho=1)],
        [BLOCK, Area(noisy=1, rho=1, siblings=2), Area(noisy=2, rho=1)],
        [BLOCK, Area(noisy=1, rho=1, given_smaller="poisson:2")],
    ):
        with pytest.raises(InputError, match="the unconstrained chain"):
            hierarchy_posterior(areas, prior="1/2", method="gibbs-unconstrained")
    with pytest.raises(InputError, match="draws is 1"):
        hierarchy_posterior([BLOCK, GROUP], prior="1/2", method="gibbs", draws=1)
