"""The model by brute force, in many digits: no formula of the package is used."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath


def weight(x: int, variance: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(x * x) * variance.denominator / (2 * variance.numerator))


def pmf(variance: Fraction, reach: int) -> dict[int, mpmath.mpf]:
    """The discrete Gaussian on -reach..reach, normalised by the sum over these."""
    weights = {x: weight(x, variance) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(weights.values())
    return {x: w / total for x, w in weights.items()}


def exactly(prior: Fraction) -> mpmath.mpf:
    return mpmath.mpf(prior.numerator) / prior.denominator


def posterior(noisy: int, variance: Fraction, prior: Fraction, known: int) -> mpmath.mpf:
    p = exactly(prior)
    present = p * weight(noisy - known - 1, variance)
    return present / (present + (1 - p) * weight(noisy - known, variance))


def laws(
    variance: Fraction,
    reach: int,
    known: int = 0,
    others: Sequence[float] = (1.0,),
    nonnegative: bool = False,
) -> tuple[dict[int, mpmath.mpf], dict[int, mpmath.mpf]]:
    """What is published if the target is present, and if absent."""
    noise = pmf(variance, reach)
    found = []
    for target in (1, 0):
        law: dict[int, mpmath.mpf] = {}
        for b, chance in enumerate(others):
            for n, mass in noise.items():
                y = known + b + target + n
                y = max(y, 0) if nonnegative else y
                law[y] = law.get(y, mpmath.mpf(0)) + mpmath.mpf(chance) * mass
        found.append(law)
    return found[0], found[1]
