"""The curves of the paper's figures for one's own noise and areas: against noise, and against other counts.

Each curve has the mean posterior of someone who is present, its ratio to the prior, and the chance that the
posterior exceeds one half, so that the adversary would say "present".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.disclosure.evidence import EvidenceLaw, PresentLaw
from discreet.disclosure.odds import Prior
from discreet.disclosure.records import TwoLevelLaws, evidence_for_posterior
from discreet.noise import Noise

Against = Literal["noise of the lowest level", "others in the siblings", "noise of the level above"]

FACTORS = tuple(Fraction(round(10**6 * 2.0 ** (k / 8)), 10**6) for k in range(-48, 33))
"""Factors by which the noise is made larger or smaller: from 1/64 to 16."""

MOST_REST = 20
"""Others in the siblings up to whom the curve goes."""


@dataclass(frozen=True, slots=True)
class RiskCurve:
    """One prior against one quantity: where, the mean posterior, the ratio, and how often "present" is said.

    `here` is where the release is, None if people are at different places. `siblings` is how many areas lie
    beside the lowest one, where the hierarchy is looked at.
    """

    prior: str
    against: Against
    at: tuple[float, ...]
    posterior: tuple[float, ...]
    ratio: tuple[float, ...]
    named: tuple[float, ...]
    here: float | None = None
    siblings: int | None = None


def noise_curve(label: str, noise: Noise, chance: float) -> RiskCurve:
    """Return the risk of one count with the target present, as its noise is made larger or smaller.

    The parameter of the noise is multiplied. These are Figures 2 and 3 of the paper.

    >>> from discreet.noise import DiscreteGaussian
    >>> curve = noise_curve("1/2", DiscreteGaussian(variance=5), 0.5)
    >>> at = curve.at.index(5.0)
    >>> round(curve.posterior[at], 4), round(curve.named[at], 4)
    (0.5238, 0.5892)
    """
    low, high = noise.RANGE
    sizes = [noise.size * factor for factor in FACTORS if low <= noise.size * factor <= high]
    laws = [EvidenceLaw.of_noise(noise.resized(size)) for size in sizes]
    places = [float(size) for size in sizes]
    return _curve(label, "noise of the lowest level", places, laws, chance, float(noise.size))


def rest_curve(label: str, laws: TwoLevelLaws, siblings: int, chance: float) -> RiskCurve:
    """Return the risk with the hierarchy by how many others in the siblings share the cell: Figure 5.

    >>> curve = rest_curve("1/2", TwoLevelLaws("5.04", "2.03"), 27, 0.5)
    >>> [round(curve.named[rest], 3) for rest in (0, 1, 3, 9)]
    [0.318, 0.435, 0.562, 0.59]
    """
    places = range(min(laws.far(siblings), MOST_REST) + 1)
    every = [laws.law(siblings, rest) for rest in places]
    at = [float(rest) for rest in places]
    return _curve(label, "others in the siblings", at, every, chance, siblings=siblings)


def group_curve(label: str, laws: TwoLevelLaws, siblings: int, chance: float) -> RiskCurve:
    """Return the risk of a person unique in both areas, as the noise of the area above changes: Figure 6.

    >>> curve = group_curve("1/2", TwoLevelLaws(5, 2), 3, 0.5)
    >>> curve.here, len(curve.at)
    (2.0, 21)
    """
    block, group = laws.variances
    sizes = [group * factor for factor in FACTORS[::4] if group * factor >= Fraction(1, 10_000)]
    every = [TwoLevelLaws(block, size).law(siblings, 0) for size in sizes]
    at = [float(size) for size in sizes]
    return _curve(label, "noise of the level above", at, every, chance, float(group), siblings)


def _curve(
    label: str,
    against: Against,
    at: list[float],
    laws: list[PresentLaw] | list[EvidenceLaw],
    chance: float,
    here: float | None = None,
    siblings: int | None = None,
) -> RiskCurve:
    prior = Prior(np.array([chance]), np.array([1.0 - chance]))
    limit = evidence_for_posterior(prior, 0.5)
    posterior = [float(law.expected_posterior(prior)[0]) for law in laws]
    named = [float(law.chance_beyond(limit)[0]) for law in laws]
    ratio = tuple(value / chance for value in posterior)
    return RiskCurve(label, against, tuple(at), tuple(posterior), ratio, tuple(named), here, siblings)
