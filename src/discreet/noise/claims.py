"""What a law says of itself, against its probabilities: `discreet.testing.check_law` asks it of any law."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.noise.count_loss import CountLoss
from discreet.noise.distribution import Noise


def support(law: Noise) -> NDArray[np.int64]:
    """Return the whole numbers that hold all of a law but e^-45 of it.

    >>> from discreet.noise import DiscreteLaplace
    >>> len(support(DiscreteLaplace(scale=1)))
    97
    """
    reach = int(law.reach(45.0)) + 2
    return np.arange(-reach, reach + 1)


def mass(law: CountLoss, theta: float) -> float:
    """Return E e^(theta L) over finite losses.

    >>> from discreet.noise import DiscreteLaplace
    >>> round(mass(DiscreteLaplace(scale=1).loss_law(), 0.0), 12)
    1.0
    """
    if law.normal:
        return float(np.exp(0.5 * law.normal * (theta + theta * theta)))
    total = float(np.exp(law.log + theta * law.value).sum())
    if law.density is not None:
        nodes, weights = np.polynomial.legendre.leggauss(200)
        half = 0.5 * (law.density.high - law.density.low)
        at = law.density.low + half * (nodes + 1)
        total += float(half * weights @ np.exp(law.density.log(at) + theta * at))
    return total


def false_claims(law: Noise) -> Iterator[str]:
    """Yield what a law says of itself that is not true: by it questions are taken and evaluators chosen.

    >>> from discreet.noise import DiscreteGaussian
    >>> list(false_claims(DiscreteGaussian(variance=5)))
    []
    """
    loss, cost, largest = law.loss_law(), law.proved_cost, law.largest
    if law.normal_loss is not None and not math.isclose(float(law.normal_loss), loss.normal, rel_tol=1e-12):
        yield f"`normal_loss` is {float(law.normal_loss)!r}, and the normal loss has variance {loss.normal!r}"
    if largest is not None and loss.value.size and float(loss.value[-1]) > float(largest) * (1 + 1e-12):
        yield f"`largest` is {float(largest)!r}, and a loss is {float(loss.value[-1])!r}"
    if cost is not None and (law.zcdp is None or float(cost.rho) < float(law.zcdp) * (1 - 1e-12)):
        yield f"`proved_cost` says rho is {float(cost.rho)!r}, and it is {law.zcdp and float(law.zcdp)!r}"
    if cost is not None and not cost.normal and (largest is None or cost.pure < law.times * largest):
        yield f"`proved_cost` says that no loss is above {float(cost.pure)!r}"
    defined = law.defined_loss(100)
    if defined is not None:
        values = float(defined.start) + float(defined.step) * np.arange(len(defined.p))
        chances = np.array([float(p) for p in defined.p])
        computed, true = (float(chances @ np.exp(-0.5 * values)), mass(loss, -0.5))
        if not math.isclose(computed, true, rel_tol=1e-9):
            yield f"E e^(-L/2) is {computed!r} by `defined_loss`, and {true!r} by `loss_law`"
    if law.has_evidence or law.is_estimated:
        yield from _claims_of_values(law)


def _claims_of_values(law: Noise) -> Iterator[str]:
    """What estimates and the risk of single counts assume of each value of the noise."""
    single, x = law.for_one(), support(law)
    p = single.pmf(x)
    if law.has_evidence:
        inside = x[(x >= -20) & (x <= 20)]
        evidence = single.log_pmf(inside - 1) - single.log_pmf(inside)
        found = single.evidence(inside.astype(np.float64))
        if not np.all(np.isfinite(found)) or np.abs(found - evidence).max() > 1e-9 * (
            1 + np.abs(evidence).max()
        ):
            yield "`has_evidence` is true, and `evidence` is not the finite log ratio of P[X = x]"
    if law.is_estimated:
        angles = np.array([0.0, 0.3, 1.0, 2.0, math.pi])
        direct = np.cos(np.multiply.outer(angles, x)) @ p
        if (
            np.abs(single.transform(angles) - direct).max() > 1e-9
            or direct.min() < -1e-12
            or not np.allclose(p, p[::-1])
        ):
            yield "`is_estimated` is true, and E cos(uX) is not the positive `transform` of symmetric noise"
