"""A block and the areas around it, together: the exact posterior of every count.

An adversary knows everyone in a block but the target. The block's count of the target's characteristics is
`known` or one more. Noisy counts of the block, of the areas around it (block group, tract, ...) and of their
siblings all say something about which; `hierarchy_posterior` sums over every possibility.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from discreet.accounting.arguments import Arguments, Number, read, read_probabilities
from discreet.errors import InputError
from discreet.risk.hierarchy_messages import Chain, Step, log_noise, posterior_sums
from discreet.risk.hierarchy_priors import Floats, Integers, Law, Uniform, read_law
from discreet.risk.hierarchy_siblings import SiblingNoise

Method = Literal["exact", "gibbs", "gibbs-as-published"]
METHODS = ("exact", "gibbs", "gibbs-as-published")
SIBLINGS = ("exact", "single")
TRUNCATION = 1e-15
"""Posterior mass that may be left out, unless another bound is asked for."""

LARGEST = 10**12
_MOST_AREAS = 20
_VARIANCES = (1e-4, 1e12)
UNIFORM = Uniform()


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Area:
    """One area of a hierarchy: its noisy count, and what is seen of its siblings inside the next larger area.

    `rho` means the variance 1/(2 rho), as in the paper. `siblings` is the number of other areas of the same
    kind inside the next larger one and `siblings_noisy` the sum of their noisy counts; `siblings_noisy=None`
    leaves that sum unused. `given_smaller` is the adversary's law for this area's count given the smaller
    area's. `count` is the true count, if the adversary knows it.

    >>> Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1).variance
    Fraction(625, 124)
    """

    name: str
    variance: Fraction
    noisy: int | None
    siblings: int
    siblings_noisy: int | None
    given_smaller: Law
    count: int | None

    def __init__(
        self,
        *,
        name: str = "",
        noisy: int | None = None,
        variance: Number | None = None,
        rho: Number | None = None,
        siblings: int = 0,
        siblings_noisy: int | None = None,
        given_smaller: Law | str = UNIFORM,
        count: int | None = None,
    ) -> None:
        put = object.__setattr__
        who = f" of {name}" if name else ""
        put(self, "name", name)
        put(self, "variance", read_variance(variance, rho, who=who))
        put(self, "noisy", _whole(noisy, f"noisy count{who}"))
        put(self, "siblings", _whole(siblings, f"number of siblings{who}"))
        put(self, "siblings_noisy", _whole(siblings_noisy, f"siblings' noisy sum{who}"))
        put(self, "given_smaller", read_law(given_smaller))
        put(self, "count", _whole(count, f"known count{who}"))
        if self.siblings is None or self.siblings < 0:
            raise InputError(f"number of siblings{who} is {siblings}; it must be zero or more")
        if self.siblings == 0 and self.siblings_noisy is not None:
            raise InputError(f"siblings' noisy sum{who} is given, but there are no siblings")
        if self.count is not None and self.count < 0:
            raise InputError(f"known count{who} is {count}; a count is zero or more")


def read_variance(variance: Number | None, rho: Number | None, *, who: str = "") -> Fraction:
    """Return the variance, given as itself or as a rho that means 1/(2 rho).

    >>> read_variance(None, "0.1"), read_variance(5, None)
    (Fraction(5, 1), Fraction(5, 1))
    """
    if (variance is None) == (rho is None):
        raise InputError(f"noise{who} needs either a variance or a rho (meaning variance 1/(2 rho))")
    name, given = ("rho", rho) if variance is None else ("variance", variance)
    assert given is not None
    value = _only(read(given, name=f"{name}{who}"), f"{name}{who}")
    if value <= 0:
        raise InputError(f"{name}{who} is {given}; it must be above zero")
    value = 1 / (2 * value) if variance is None else value
    if not _VARIANCES[0] <= value <= _VARIANCES[1]:
        raise InputError(f"{name}{who} is {given}; the variance must lie between 1e-4 and 1e12")
    return value


def _only(found: Arguments, name: str) -> Fraction:
    """The one number; a list is refused rather than cut."""
    if found.shape is not None and len(found.values) != 1:
        raise InputError(f"{name} is a list of {len(found.values)} numbers; one number is needed")
    return found.values[0]


def _whole(value: object, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is {value!r}; a whole number is needed")
    if abs(value) > LARGEST:
        raise InputError(f"{name} is {value}; at most 1e12 is answered here")
    return value


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
        place = int(np.searchsorted(np.cumsum(self.probabilities), chance * self.probabilities.sum()))
        return int(self.values[min(place, len(self.values) - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class HierarchyPosterior:
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
    areas: tuple[Marginal, ...]
    truncation_error: float
    sibling_error: float
    standard_error: float | None = None
    draws: int | None = None

    @property
    def ratio(self) -> float:
        """The posterior over the prior."""
        return self.probability / self.prior

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as JSON has it."""
        return {
            "posterior": self.probability,
            "prior": self.prior,
            "ratio": self.ratio,
            "known": self.known,
            "method": self.method,
            "siblings": self.siblings,
            "truncation_error": self.truncation_error if self.method == "exact" else None,
            "standard_error": self.standard_error,
            "draws": self.draws,
            "sibling_error": self.sibling_error,
            "areas": [
                {
                    "name": area.name,
                    "mean": area.mean,
                    "standard_deviation": area.standard_deviation,
                    "quantile_0.025": area.quantile(0.025),
                    "quantile_0.975": area.quantile(0.975),
                }
                for area in self.areas
            ],
        }

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the header and the rows of a table of every posterior, as CSV has it."""
        return ("area", "count", "probability"), [
            (area.name, value, chance)
            for area in self.areas
            for value, chance in zip(area.values.tolist(), area.probabilities.tolist(), strict=True)
        ]

    def __str__(self) -> str:
        how = {
            "exact": f"exact sum, at most {self.truncation_error:.0e} of it left out",
            "gibbs": f"Gibbs sampler, {self.draws} draws, standard error {self.standard_error or 0:.1e}",
            "gibbs-as-published": f"the published chain, {self.draws} draws, "
            f"standard error {self.standard_error or 0:.1e}; not the posterior of the stated model",
        }[self.method]
        return f"posterior {self.probability:.6g}, {self.ratio:.4g} times the prior {self.prior:g} ({how})"


def read_prior(prior: Number) -> Fraction:
    """Return a prior probability strictly between 0 and 1, exactly.

    >>> read_prior("1/864")
    Fraction(1, 864)
    """
    return _only(read_probabilities(prior, name="prior"), "prior")


def build_chain(
    areas: Sequence[Area], *, prior: Fraction, known: int, siblings: Literal["exact", "single"] = "exact"
) -> Chain:
    """Return the chain of sums of a hierarchy, after checking that it nests."""
    if not 1 <= len(areas) <= _MOST_AREAS:
        raise InputError(f"a hierarchy has 1 to {_MOST_AREAS} areas; {len(areas)} were given")
    if siblings not in SIBLINGS:
        raise InputError(f"siblings is {siblings!r}; it must be 'exact' or 'single'")
    found = _whole(known, "known")
    if found is None or found < 0:
        raise InputError(f"known is {known}; the count of the others in the block is zero or more")
    known = found
    _check_nesting(areas, known)
    values = np.array([known, known + 1])
    logs = np.log([float(1 - prior), float(prior)])
    block = areas[0]
    if block.noisy is not None:
        logs = logs + log_noise(float(block.variance), block.noisy - values)
    if block.count is not None:
        logs = np.where(values == block.count, logs, -math.inf)
    steps = []
    for below, area in pairwise(areas):
        used = below.siblings > 0 and below.siblings_noisy is not None
        noise = None
        if used:
            noise = SiblingNoise.of(below.siblings, float(below.variance), exact=siblings == "exact")
        steps.append(
            Step(
                area.given_smaller,
                area.noisy,
                float(area.variance),
                noise,
                below.siblings_noisy or 0,
                below.siblings == 0,
                area.count,
            )
        )
    return Chain(values, logs, tuple(steps))


def _check_nesting(areas: Sequence[Area], known: int) -> None:
    least = known
    for place, area in enumerate(areas):
        name = area.name or f"area {place + 1}"
        if area.count is not None:
            if area.count < least:
                raise InputError(
                    f"the hierarchy does not nest: {name} is known to count {area.count}, "
                    f"but inside it {least} are known"
                )
            if place == 0 and area.count > known + 1:
                raise InputError(f"{name} is known to count {area.count}, but known is {known}")
            least = area.count
        if place and area.given_smaller.upper is not None and area.given_smaller.upper < least:
            raise InputError(
                f"the hierarchy does not nest: the prior of {name} ends at {area.given_smaller.upper}, "
                f"but inside it {least} are known"
            )
        below = areas[place - 1] if place else None
        seen = {area.noisy, area.count, area.given_smaller.upper}
        if below is not None and below.siblings > 0 and {*seen, below.siblings_noisy} == {None}:
            raise InputError(
                f"nothing says how large {name} is: give its noisy count, its known count, "
                "or the noisy sum of the areas beside the smaller one"
            )
        if place == len(areas) - 1 and area.siblings_noisy is not None:
            raise InputError(
                f"{name} is the largest area, so nothing can be said of its siblings; leave them out"
            )


def hierarchy_posterior(
    areas: Sequence[Area],
    *,
    prior: Number,
    known: int = 0,
    siblings: Literal["exact", "single"] = "exact",
    method: Method = "exact",
    tolerance: float = TRUNCATION,
    draws: int = 100_000,
    seed: int | None = None,
) -> HierarchyPosterior:
    """Return the posterior of the target's count and of every area's, areas from the smallest up.

    `siblings` says how the noise of a sum of siblings is modelled: as the exact law of the sum, or as the
    single discrete Gaussian of the paper. `method="gibbs"` draws from the same posterior;
    `method="gibbs-as-published"` runs the published chain, whose stationary law is not that posterior.

    Guarantee. With `method="exact"` the probabilities are those of the stated model; at most
    `truncation_error` (asked for as `tolerance`) of the mass is left out, proved by the bounds in
    `hierarchy_messages`. Rounding adds about 1e-13 where noisy counts agree with each other.

    >>> block = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
    >>> group = Area(name="block group", noisy=1, rho="0.2465")
    >>> found = hierarchy_posterior([block, group], prior="1/2")
    >>> round(found.probability, 4), found.truncation_error < 1e-15
    (0.5033, True)
    >>> print(found)
    posterior 0.503267, 1.007 times the prior 0.5 (exact sum, at most 4e-24 of it left out)
    """
    chance = read_prior(prior)
    if method not in METHODS:
        raise InputError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    if not 1e-300 <= tolerance < 1:
        raise InputError(f"tolerance is {tolerance}; it must lie between 1e-300 and 1")
    chain = build_chain(areas, prior=chance, known=known, siblings=siblings)
    error = max((step.siblings.error for step in chain.steps if step.siblings is not None), default=0.0)
    sums = posterior_sums(chain, tolerance=tolerance)
    if method != "exact":
        from discreet.risk.gibbs import run_chains

        drawn = run_chains(chain, sums, published=method == "gibbs-as-published", draws=draws, seed=seed)
        values, probabilities, spread, total = (
            drawn.values,
            drawn.probabilities,
            drawn.standard_error,
            drawn.draws,
        )
    else:
        with np.errstate(under="ignore"):
            probabilities = tuple(np.exp(logs) for logs in sums.logs)
        values, spread, total = sums.values, None, None
    names = [area.name or f"area {place + 1}" for place, area in enumerate(areas)]
    marginals = tuple(map(Marginal, names, values, probabilities))
    return HierarchyPosterior(
        min(float(probabilities[0][1]), 1.0),  # sums of exponentials may exceed one in the last digit
        float(chance),
        known,
        method,
        siblings,
        marginals,
        sums.truncation_error,
        error,
        spread,
        total,
    )
