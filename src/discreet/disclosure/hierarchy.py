"""A block and the areas around it, together: the exact posterior of every count.

An adversary knows everyone in a block but the target. The block's count of the target's characteristics is
`known` or one more. Noisy counts of the block, of the areas around it (block group, tract, ...) and of their
siblings all say something about which; `hierarchy_posterior` sums over every possibility
(`discreet.disclosure.area_chain`), or draws from them (`discreet.disclosure.gibbs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from discreet.budget.scope import Extent, Scope
from discreet.disclosure.area_chain import build_chain, posterior_sums
from discreet.disclosure.areas import Area, Integers
from discreet.disclosure.counts import OTHER_COUNTS
from discreet.disclosure.odds import Floats
from discreet.errors import InputError
from discreet.faces import Summarised
from discreet.loss.values import Number
from discreet.numbers import prior as read_prior
from discreet.questions import Option, repeated_option

Method = Literal["exact", "gibbs", "gibbs-unconstrained"]
METHODS = ("exact", "gibbs", "gibbs-unconstrained")
TRUNCATION = 1e-15
"""Posterior mass that may be left out, unless another bound is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """The posterior of one area's count: its values and their probabilities."""

    name: str
    values: Integers
    probabilities: Floats

    @property
    def mean(self) -> float:
        """The expected count."""
        first = int(self.values[0])
        return first + float(self.probabilities @ (self.values - first)) / float(self.probabilities.sum())

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the count."""
        off = self.values - self.mean
        return math.sqrt(float(self.probabilities @ off**2) / float(self.probabilities.sum()))

    def quantile(self, chance: float) -> int:
        """The smallest count that is reached with at least this probability."""
        index = int(np.searchsorted(np.cumsum(self.probabilities), chance * self.probabilities.sum()))
        return int(self.values[min(index, len(self.values) - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyPosterior(Summarised):
    """What an adversary believes after seeing the noisy counts of a hierarchy.

    `probability` is that of the target being counted; `ratio` that over the prior. `truncation_error` bounds
    the mass left out of the exact sums; a sampler states a `standard_error` instead. `sibling_error` is the
    largest relative difference between the exact law of the siblings' noise and a single discrete Gaussian.
    """

    probability: float
    prior: float
    known: int
    method: Method
    siblings: Literal["exact", "single"]
    areas: tuple[Marginal, ...] = field(repr=False)
    truncation_error: float
    sibling_error: float
    standard_error: float | None = None
    draws: int | None = None
    scope: Scope = field(kw_only=True, repr=False)

    @property
    def ratio(self) -> float:
        """The posterior over the prior."""
        return self.probability / self.prior


def hierarchy_posterior(
    areas: Annotated[
        Sequence[Area], repeated_option("One area; repeat for the next larger one.", "SPEC", "area")
    ],
    *,
    prior: Annotated[
        Number,
        Option("The adversary's chance that the target is present, such as 1/2.", "P", reads=str | None),
    ],
    known: Annotated[int, Option("How many others in the block the adversary knows of.", "K")] = 0,
    siblings: Annotated[
        Literal["exact", "single"],
        Option("Noise of the siblings' sum: exact, or single as in the paper.", "exact|single", reads=str),
    ] = "exact",
    method: Annotated[
        Method,
        Option(
            "exact; gibbs: a sampler of the same posterior; gibbs-unconstrained: without the condition "
            "that the block counts no more than the group, as in the paper's tables.",
            "exact|gibbs|gibbs-unconstrained",
            reads=str,
        ),
    ] = "exact",
    tolerance: float = TRUNCATION,
    draws: Annotated[int, Option("Draws of a sampler.", "N")] = 100_000,
    seed: Annotated[int | None, Option("Seed of a sampler.", "N")] = None,
) -> HierarchyPosterior:
    """Return the posterior of the target's count and of every area's, areas from the smallest up.

    `siblings` says how the noise of a sum of siblings is modelled: as the exact law of the sum, or as the
    single discrete Gaussian of the paper. `method="gibbs"` draws from the same posterior.
    `method="gibbs-unconstrained"` leaves out the condition that the block counts no more than the group, as
    the paper's tables suggest; its stationary law is not that posterior.

    Guarantee. With `method="exact"` the probabilities are those of the stated model; at most
    `truncation_error` (asked for as `tolerance`) of the mass is left out, proved by the bounds in the
    head of `discreet.disclosure.area_chain`. Rounding adds about 1e-13 where noisy counts agree with each
    other.

    >>> block = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
    >>> group = Area(name="block group", noisy=1, rho="0.2465")
    >>> posterior = hierarchy_posterior([block, group], prior="1/2")
    >>> round(posterior.probability, 4), posterior.truncation_error < 1e-15
    (0.5033, True)
    >>> print(posterior)
    posterior 0.503267, 1.007 times the prior 0.5 (exact sum, at most 5e-24 of it left out)
    """
    chance = read_prior(prior)
    if method not in METHODS:
        raise InputError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    if not 1e-300 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}; it must lie between 1e-300 and 1")
    chain = build_chain(areas, prior=chance, known=known, siblings=siblings)
    error = max((step.noise.error for step in chain.steps if step.noise is not None), default=0.0)
    sums = posterior_sums(chain, tolerance=tolerance)
    if method != "exact":
        from discreet.disclosure.gibbs import run_chains

        values, probabilities, spread, total = run_chains(
            chain, sums, constrained=method == "gibbs", draws=draws, seed=seed
        )
    else:
        with np.errstate(under="ignore"):
            probabilities = tuple(np.exp(logs) for logs in sums.logs)
        values, spread, total = sums.values, None, None
    names = [area.name or f"area {number + 1}" for number, area in enumerate(areas)]
    marginals = tuple(map(Marginal, names, values, probabilities))
    posterior = min(float(probabilities[0][1]), 1.0)  # sums of exponentials may exceed one in the last digit
    errors = (sums.truncation_error, error, spread)
    scope = _scope(areas, names)
    return HierarchyPosterior(
        posterior, float(chance), known, method, siblings, marginals, *errors, total, scope=scope
    )


def _scope(areas: Sequence[Area], names: Sequence[str]) -> Scope:
    """Return of which numbers the posterior is made: areas without one, and beside them, are named."""
    seen = [name for area, name in zip(areas, names, strict=True) if area.noisy is not None]
    beside = [
        f"the areas beside {name}"
        for area, name in zip(areas[:-1], names, strict=False)
        if area.siblings and area.siblings_noisy is None
    ]
    whole = Scope.whole(" and ".join(dict.fromkeys(names)), unit="", neighbours="")
    if len(set(names)) == len(names):
        whole = whole.with_part(Extent.of("noisy count", taken=seen, every=names))
    return whole.without(*beside, OTHER_COUNTS)
