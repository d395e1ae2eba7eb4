"""A block and the areas around it, together: the exact posterior of every count.

An adversary knows everyone in a block but the target. The block's count of the target's characteristics is
`known` or one more. Noisy counts of the block, of the areas around it (block group, tract, ...) and of their
siblings all say something about which; `hierarchy_posterior` sums over every possibility.

*Sums.* The counts k_1 <= k_2 <= ... <= k_L of a block and the areas around it form a chain. With noise of
known law on each count and on the sum of each area's siblings, and a law for each count given the one below,

    weight(k) = prior(k_1) prod_j g_j(k_j) prod_j h_j(k_(j+1) - k_j) w_j(k_j),

and sums over all of them but one are found by passing one array up the chain and one down.

Guarantee. Sums run over windows. Chernoff bounds P[|noise| >= m] <= 2 exp(-m^2 / (2 v)) of the discrete
Gaussian, and of sums of them, bound the weight outside: a path leaves the windows only if one noise is that
large, and the other factors of each step add up to at most one. Divided by the sum inside, which is a lower
bound of the whole, this is the truncation error that is stated: it bounds the posterior mass left out.

*The siblings' noise.* Write n in Z^d with sum z as (z/d, ..., z/d) plus a vector w of the lattice A_(d-1),
shifted. Then

    P[sum = z]  ~  exp(-z^2 / (2 d v)) c(z mod d),    c(s) = sum over w of exp(-|w|^2 / (2v)),

so the exact law is the single discrete Gaussian N_Z(0, d v) of the paper times a factor of period d. For
d = a + b the sum over w is a short sum of those for a and for b, with weights Gaussian around z a / d: no
cancellation and no underflow, however far out z lies. By Poisson summation c varies by at most 1 +- e, where
e is the sum of exp(-2 pi^2 v |u|^2) over the dual lattice without 0, whose points are integer vectors n less
their mean. With median 0 among the representatives, |u|^2 >= s (1 - min(s/d, 1/2)) where s = |n|^2, which
bounds e in closed form (`theta_bound`).

*Samplers.* Both draw each count in turn given its neighbours. `constrained=False` draws the block's count
without the condition that it does not exceed the group's, which the paper states; its tables agree with
draws without it. Then X1 > X2 can occur, the conditionals fit no joint law, and what the chain tends to is
not the posterior of the stated model. `TwoLevels` has its stationary law.

Draws come from a seeded NumPy generator. That is right here: they estimate a number for an analyst and are
never added to anything that is released.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.values import Number, read
from discreet.errors import InputError, PrecisionError
from discreet.noise import DiscreteGaussian
from discreet.numbers import chance as chance_text
from discreet.numbers import decimal
from discreet.numbers import prior as read_prior
from discreet.risk.attack import Floats, log_sum, one_number, one_variance

Integers = NDArray[np.int64]

Method = Literal["exact", "gibbs", "gibbs-unconstrained"]
METHODS = ("exact", "gibbs", "gibbs-unconstrained")
SIBLINGS = ("exact", "single")
TRUNCATION = 1e-15
"""Posterior mass that may be left out, unless another bound is asked for."""

LARGEST = 10**12
MOST_STEPS = 400_000_000
"""Products of two neighbouring windows that are summed before a hierarchy is called too wide."""

NEGLIGIBLE = 1e-17
"""Below this the factor c of the siblings' noise cannot be told from a constant in floats."""

CHAINS = 500
BURN_IN = 200
MOST_DRAWS = 10**9

_MOST_AREAS = 20
_BLOCK = 4_000_000
_FIRST_NATS, _MOST_NATS, _NATS = 60.0, 1e7, 42.0  # of windows at first and at most; of sums
_MOST_TERMS = 60_000_000
_SPLIT = 12


# -- what is believed of an area's count, given the smaller area's ---------------------------------


class RestLaw(ABC):
    """What an adversary believes of an area's count once that of the smaller area inside it is given.

    A law speaks of the *rest*: how many more people of the target's characteristics the area holds than the
    smaller one. It need not add up to one: constants cancel in a posterior.
    """

    __slots__ = ()

    @property
    def largest(self) -> int | None:
        """The largest count of the area, if there is one."""
        return None

    @abstractmethod
    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the weight of each rest; -inf where it cannot be."""

    def log_child(self, child: Integers) -> Floats:
        """Return the logarithm of what makes the law given each child add up to one."""
        return np.zeros(len(child))


@dataclass(frozen=True, slots=True)
class Uniform(RestLaw):
    """Every count from the smaller area's count up is as likely as any other; `upper` is the last, if any.

    Without `upper` this is the paper's prior on {k, k + 1, ...}. With it, the count is uniform on
    {k, ..., upper}, a law that adds up to one for every k.

    >>> Uniform(), Uniform(upper=500)
    (Uniform(upper=None), Uniform(upper=500))
    """

    upper: int | None = None

    def __post_init__(self) -> None:
        if (_whole(self.upper, "upper") or 0) < 0:
            raise InputError(f"upper is {self.upper}; a count is zero or more")

    @property
    def largest(self) -> int | None:
        """The largest count of the area, if there is one."""
        return self.upper

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the weight of each rest; -inf below zero."""
        return np.where(rest >= 0, 0.0, -math.inf)

    def log_child(self, child: Integers) -> Floats:
        """Return the logarithm of what makes the law given each child add up to one."""
        if self.upper is None:
            return np.zeros(len(child))
        room = np.maximum(self.upper - child + 1, 0)
        return np.where(room > 0, -np.log(np.maximum(room, 1)), -math.inf)

    def __str__(self) -> str:
        return "uniform" if self.upper is None else f"uniform up to {self.upper}"


@dataclass(frozen=True, slots=True, init=False)
class Poisson(RestLaw):
    """The rest is a Poisson number of people with this mean.

    >>> Poisson("5/2").mean
    2.5
    """

    mean: float

    def __init__(self, mean: Number) -> None:
        value = float(one_number(mean, name="mean of the Poisson prior"))
        if not 0 < value <= 1e9:
            raise InputError(f"mean of the Poisson prior is {value:g}; it must be above 0 and at most 1e9")
        object.__setattr__(self, "mean", value)

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the probability of each rest; -inf below zero."""
        inside = np.maximum(rest, 0)
        first, last = (int(inside.min()), int(inside.max())) if len(rest) else (0, 0)
        # log k! by one lgamma and a running sum: no special function on arrays is needed
        steps = np.concatenate([[math.lgamma(first + 1.0)], np.log(np.arange(first + 1.0, last + 1.0))])
        factorial = np.cumsum(steps)[inside - first]
        return np.where(rest >= 0, inside * math.log(self.mean) - self.mean - factorial, -math.inf)

    def __str__(self) -> str:
        return f"Poisson with mean {self.mean:g}"


@dataclass(frozen=True, slots=True, init=False)
class Table(RestLaw):
    """The rest is 0, 1, 2, ... with these probabilities (weights are divided by their sum).

    >>> Table(["1/2", "1/4", "1/4"]).probabilities
    (0.5, 0.25, 0.25)
    """

    probabilities: tuple[float, ...]

    def __init__(self, probabilities: Sequence[Number]) -> None:
        values = read(list(probabilities), name="probability of the table").values
        if not values or sum(values) <= 0:
            raise InputError("the table of a prior has no positive probability; it needs at least one")
        if any(value < 0 for value in values):
            raise InputError(f"the table of a prior holds {float(min(values)):g}; no probability is negative")
        total = sum(values)
        object.__setattr__(self, "probabilities", tuple(float(value / total) for value in values))

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the probability of each rest; -inf where it cannot be."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.probabilities))
        inside = (rest >= 0) & (rest < len(logs))
        return np.where(inside, logs[np.where(inside, rest, 0)], -math.inf)

    def __str__(self) -> str:
        return f"a table of {len(self.probabilities)} probabilities"


def read_law(value: object) -> RestLaw:
    """Return a law from itself or from a text: uniform, uniform:500, poisson:2.5, table:0.5,0.25,0.25.

    >>> read_law("poisson:3"), read_law("uniform:500"), read_law("table:1,1").probabilities
    (Poisson(mean=3.0), Uniform(upper=500), (0.5, 0.5))
    >>> read_law("normal")
    Traceback (most recent call last):
    discreet.errors.InputError: the prior of an area is 'normal'; it must be uniform, uniform:UPPER, \
poisson:MEAN or table:P0,P1,...
    """
    if isinstance(value, RestLaw):
        return value
    if isinstance(value, str):
        kind, _, rest = value.strip().lower().partition(":")
        if kind == "uniform" and (not rest or rest.isdecimal()):
            return Uniform(int(rest) if rest else None)
        if kind == "poisson" and rest:
            return Poisson(rest)
        if kind == "table" and rest:
            return Table(rest.split(","))
    raise InputError(
        f"the prior of an area is {value!r}; it must be uniform, uniform:UPPER, poisson:MEAN or "
        "table:P0,P1,..."
    )


# -- the noise of the sum of the siblings' noisy counts --------------------------------------------


def theta_bound(count: int, variance: float) -> float:
    """Return a bound on |c(s) / mean - 1|, the relative distance of the exact law's shape from a Gaussian's.

    >>> theta_bound(27, 5.04) < 1e-19, theta_bound(1, 0.1)
    (True, 0.0)
    """
    if count <= 1:
        return 0.0
    rate = 2.0 * math.pi**2 * variance
    crude = math.expm1(min(count * math.log1p(_excess(rate / 2.0)), 700.0))
    near = 0.0
    for s in range(1, _SPLIT):
        # at most (2d)^s integer vectors have |n|^2 = s
        near += math.exp(min(s * math.log(2.0 * count) - rate * s * (1.0 - min(s / count, 0.5)), 700.0))
    far = count * math.log1p(_excess(rate / 4.0)) - _SPLIT * rate / 4.0
    return min(crude, near + math.exp(min(far, 700.0)))


def _excess(rate: float) -> float:
    return 2.0 * sum(math.exp(-rate * m * m) for m in range(1, 60))


@lru_cache(maxsize=256)
def log_factor(count: int, variance: float) -> Floats:
    """Return log c(s) for s = 0, ..., d - 1, up to a constant.

    >>> np.ptp(log_factor(2, 1.0)).round(8), np.exp(-math.pi**2).round(8)   # 4 exp(-pi^2 v), nearly
    (np.float64(0.00020689), np.float64(5.172e-05))
    """
    if count == 1:
        return np.zeros(1)
    a, b = count // 2, count - count // 2
    left, right = log_factor(a, variance), log_factor(b, variance)
    spread = a * b / count * variance  # variance of one part's sum, given the whole sum
    reach = math.ceil(math.sqrt(2.0 * spread * _NATS)) + 1
    if count * (2 * reach + 1) > _MOST_TERMS:
        raise PrecisionError(
            f"the exact sum of {count} noisy counts of variance {variance:g} has too many terms; "
            "use the single discrete Gaussian (siblings='single')"
        )
    z = np.arange(count)
    centre = z * a // count
    k = centre[:, None] + np.arange(-reach, reach + 1)
    off = k - (z * (a / count))[:, None]
    terms = -(off**2) / (2.0 * spread) + left[k % a] + right[(z[:, None] - k) % b]
    top = terms.max(axis=1)
    return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)))


@dataclass(frozen=True, slots=True)
class SiblingNoise:
    """The noise of the sum of `count` noisy counts of one variance.

    `error` is the largest relative difference between the exact law and N_Z(0, count variance): as computed,
    or a bound where it is too small to matter.

    >>> SiblingNoise.of(27, 5.04, exact=True).error < 1e-16
    True
    >>> round(SiblingNoise.of(4, 0.2, exact=True).error, 3)
    0.394
    """

    count: int
    variance: float
    exact: bool
    factor: Floats
    error: float

    @classmethod
    def of(cls, count: int, variance: float, *, exact: bool) -> SiblingNoise:
        """Return the exact law, or the single Gaussian with its distance from the exact one."""
        wave = theta_bound(count, variance)
        # both laws add up to one, so their ratio lies between (1 - e) / (1 + e) and (1 + e) / (1 - e)
        bound = 2.0 * wave / (1.0 - wave) if wave < 1.0 else math.inf
        if bound < NEGLIGIBLE:
            return cls(count, variance, exact, np.zeros(1), bound)
        try:
            factor = log_factor(count, variance)
        except PrecisionError:
            if exact and bound > 1e-13:
                raise
            return cls(count, variance, exact, np.zeros(1), bound)
        # normalise both over one period of a wide window, then compare
        total = count * variance
        reach = math.ceil(math.sqrt(2.0 * total * _NATS)) + count + 1
        z = np.arange(-reach, reach + 1)
        weights = np.exp(-(z**2) / (2.0 * total))
        with np.errstate(under="ignore"):
            share = float((weights * np.exp(factor - factor.max())[z % count]).sum() / weights.sum())
            logs = factor - (factor.max() + math.log(share))
            error = float(np.abs(np.expm1(logs)).max())
        return cls(count, variance, exact, logs if exact else np.zeros(1), error)

    def log_pmf(self, z: Integers) -> Floats:
        """Return the logarithm of the probability of each sum of noise."""
        logs = log_noise(self.count * self.variance, z)
        return logs if len(self.factor) == 1 else logs + self.factor[z % self.count]


# -- areas, and what is believed of them -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Area:
    """One area of a hierarchy: its noisy count, and what is seen of its siblings inside the next larger area.

    `rho` is zCDP's with a record added or removed, so that the variance is 1/(2 rho). `siblings` is the
    number of other areas of the same kind inside the next larger one and `siblings_noisy` the sum of their
    noisy counts; `siblings_noisy=None` leaves that sum unused. `given_smaller` is the adversary's law for
    this area's count given the smaller area's. `count` is the true count, if the adversary knows it.

    >>> Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1).variance
    Fraction(625, 124)
    """

    name: str
    variance: Fraction
    noisy: int | None
    siblings: int
    siblings_noisy: int | None
    given_smaller: RestLaw
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
        given_smaller: RestLaw | str = "uniform",
        count: int | None = None,
    ) -> None:
        who = f" of {name}" if name else ""
        read = {
            "name": name,
            "variance": one_variance(variance, rho, of=who),
            "noisy": _whole(noisy, f"noisy count{who}"),
            "siblings": _whole(siblings, f"number of siblings{who}"),
            "siblings_noisy": _whole(siblings_noisy, f"siblings' noisy sum{who}"),
            "given_smaller": read_law(given_smaller),
            "count": _whole(count, f"known count{who}"),
        }
        for field, value in read.items():
            object.__setattr__(self, field, value)
        if self.siblings is None or self.siblings < 0:
            raise InputError(f"number of siblings{who} is {siblings}; it must be zero or more")
        if self.siblings == 0 and self.siblings_noisy is not None:
            raise InputError(f"siblings' noisy sum{who} is given, but there are no siblings")
        if self.count is not None and self.count < 0:
            raise InputError(f"known count{who} is {count}; a count is zero or more")


def _whole(value: object, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is {value!r}; a whole number is needed")
    if abs(value) > LARGEST:
        raise InputError(f"{name} is {value}; at most 1e12 is supported")
    return value


def small_bound(value: float, places: int = 0) -> str:
    """Write a bound as a power of ten, rounded up so that it stays one.

    >>> small_bound(4.41e-24), small_bound(1e-15), small_bound(2.64e-40, 1), small_bound(0.0)
    ('5e-24', '1e-15', '2.7e-40', '0e+00')
    """
    if not math.isfinite(value):
        return f"{value}"
    up = decimal(Fraction(value * (1.0 - 1e-12)), digits=places + 1, down=False)
    return f"{float(up):.{places}e}"


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

    def as_dict(self) -> dict[str, object]:
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

    def table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """Return the header and the rows of a table of every posterior, as CSV has it."""
        return ("area", "count", "probability"), [
            (area.name, value, chance)
            for area in self.areas
            for value, chance in zip(area.values.tolist(), area.probabilities.tolist(), strict=True)
        ]

    def __str__(self) -> str:
        left = small_bound(self.truncation_error)
        how = {
            "exact": f"exact sum, at most {left} of it left out" if self.truncation_error else "exact",
            "gibbs": f"Gibbs sampler, {self.draws} draws, standard error {self.standard_error or 0:.1e}",
            "gibbs-unconstrained": "Gibbs sampler that lets the block count more than the group, "
            f"{self.draws} draws, standard error {self.standard_error or 0:.1e}; not the posterior of the "
            "stated model",
        }[self.method]
        both = (self.probability, self.prior)
        posterior, prior = (f"{x:.6g}" if x < 0.9995 else chance_text(x) for x in both)
        return f"posterior {posterior}, {self.ratio:.4g} times the prior {prior} ({how})"


def build_chain(
    areas: Sequence[Area], *, prior: Fraction, known: int, siblings: Literal["exact", "single"] = "exact"
) -> AreaChain:
    """Return the chain of sums of a hierarchy, after checking that it nests."""
    if not 1 <= len(areas) <= _MOST_AREAS:
        raise InputError(f"a hierarchy has 1 to {_MOST_AREAS} areas; {len(areas)} were given")
    if siblings not in SIBLINGS:
        raise InputError(f"siblings is {siblings!r}; it must be 'exact' or 'single'")
    if (_whole(known, "known") or 0) < 0 or known is None:
        raise InputError(f"known is {known}; the count of the others in the block is zero or more")
    _check_nesting(areas, known)
    values = np.array([known, known + 1])
    block, logs, scale = areas[0], np.log([float(1 - prior), float(prior)]), 0.0
    if block.noisy is not None:  # by their difference: of two large numbers it would have few digits
        gain = float((block.noisy - known - Fraction(1, 2)) / block.variance)
        logs += [min(-gain, 0.0), min(gain, 0.0)]
        scale = float(log_noise(float(block.variance), block.noisy - values).max())
    if block.count is not None:
        logs = np.where(values == block.count, logs, -math.inf)
    steps = []
    for below, area in pairwise(areas):
        noise = None
        if below.siblings > 0 and below.siblings_noisy is not None:
            noise = SiblingNoise.of(below.siblings, float(below.variance), exact=siblings == "exact")
        steps.append(Rung(below, area, noise))
    return AreaChain(values, logs, scale, tuple(steps))


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
        if place and area.given_smaller.largest is not None and area.given_smaller.largest < least:
            raise InputError(
                f"the hierarchy does not nest: the prior of {name} ends at {area.given_smaller.largest}, "
                f"but inside it {least} are known"
            )
        below = areas[place - 1] if place else None
        seen = {area.noisy, area.count, area.given_smaller.largest}
        if below is not None and below.siblings > 0 and {*seen, below.siblings_noisy} == {None}:
            raise InputError(
                f"nothing says how large {name} is: give its noisy count, its known count, "
                "or the noisy sum of the areas beside the smaller one"
            )
        if place == len(areas) - 1 and area.siblings_noisy is not None:
            raise InputError(f"{name} is the largest area, so it has no siblings here; leave them out")


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
    single discrete Gaussian of the paper. `method="gibbs"` draws from the same posterior.
    `method="gibbs-unconstrained"` leaves out the condition that the block counts no more than the group, as
    the paper's tables suggest; its stationary law is not that posterior.

    Guarantee. With `method="exact"` the probabilities are those of the stated model; at most
    `truncation_error` (asked for as `tolerance`) of the mass is left out, proved by the bounds in
    the head of this module. Rounding adds about 1e-13 where noisy counts agree with each other.

    >>> block = Area(name="block", noisy=2, rho="0.0992", siblings=27, siblings_noisy=-1)
    >>> group = Area(name="block group", noisy=1, rho="0.2465")
    >>> found = hierarchy_posterior([block, group], prior="1/2")
    >>> round(found.probability, 4), found.truncation_error < 1e-15
    (0.5033, True)
    >>> print(found)
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
        values, probabilities, spread, total = run_chains(
            chain, sums, constrained=method == "gibbs", draws=draws, seed=seed
        )
    else:
        with np.errstate(under="ignore"):
            probabilities = tuple(np.exp(logs) for logs in sums.logs)
        values, spread, total = sums.values, None, None
    names = [area.name or f"area {place + 1}" for place, area in enumerate(areas)]
    marginals = tuple(map(Marginal, names, values, probabilities))
    found = min(float(probabilities[0][1]), 1.0)  # sums of exponentials may exceed one in the last digit
    errors = (sums.truncation_error, error, spread)
    return HierarchyPosterior(found, float(chance), known, method, siblings, marginals, *errors, total)


# -- exact sums, by messages from area to area -----------------------------------------------------


class Rung(NamedTuple):
    """One step: an area, the next larger one, and the noise of the siblings' sum, if that is used."""

    below: Area
    area: Area
    noise: SiblingNoise | None

    def log_rest(self, rest: Integers) -> Floats:
        """Return log h: the law of the rest and, if used, what the sum of the siblings says of it."""
        if self.below.siblings == 0:
            return np.where(rest == 0, 0.0, -math.inf)
        logs = self.area.given_smaller.log_rest(rest)
        return logs if self.noise is None else logs + self.log_beside(rest)

    def log_beside(self, rest: Integers) -> Floats:
        """Return what the sum of the siblings says of the rest."""
        assert self.noise is not None
        assert self.below.siblings_noisy is not None
        return self.noise.log_pmf(self.below.siblings_noisy - rest)

    def log_seen(self, values: Integers) -> Floats:
        """Return log g: what the noisy count, the known count and the largest count say of each value."""
        area, largest, logs = self.area, self.area.given_smaller.largest, np.zeros(len(values))
        if area.noisy is not None:
            logs = log_noise(float(area.variance), area.noisy - values)
        if area.count is not None:
            logs = np.where(values == area.count, logs, -math.inf)
        return logs if largest is None else np.where(values <= largest, logs, -math.inf)


@dataclass(frozen=True, slots=True)
class AreaChain:
    """A block's possible counts with their log weights, but for a common `log_scale`, and the steps above."""

    first: Integers
    log_first: Floats
    log_scale: float
    steps: tuple[Rung, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The posterior of each count on its window, the log of all weight, and the mass left out at most."""

    values: tuple[Integers, ...]
    logs: tuple[Floats, ...]
    upward: tuple[Floats, ...]
    log_total: float
    truncation_error: float


def log_noise(variance: float, offsets: Integers) -> Floats:
    """Return log P[noise = offset] of discrete Gaussian noise.

    >>> log_noise(1.0, np.array([0, 1])).round(4).tolist()
    [-0.9189, -1.4189]
    """
    return DiscreteGaussian(Fraction(variance)).log_pmf(offsets)


def windows(chain: AreaChain, nats: float) -> tuple[list[tuple[int, int]], float] | None:
    """Return the window of each count and a bound on log(weight outside), or None if one is empty."""
    spans = [(int(chain.first[0]), int(chain.first[-1]))]
    rests: list[tuple[int, float]] = []  # how many more than in the smaller area
    tails: list[float] = []

    def around(centre: int, variance: float) -> tuple[int, int]:
        reach = math.isqrt(math.ceil(2.0 * variance * nats))
        tails.append(math.log(2.0) - (reach + 1) ** 2 / (2.0 * variance))
        return centre - reach, centre + reach

    for below, area, noise in chain.steps:
        rest: tuple[int, float] = (0, math.inf if below.siblings else 0)
        if noise is not None:
            low, high = around(below.siblings_noisy or 0, noise.count * noise.variance)
            rest = (max(low, 0), high)
        rests.append(rest)
        ends: list[tuple[float, float]] = [(spans[-1][0] + rest[0], spans[-1][1] + rest[1])]
        if area.noisy is not None:
            ends.append(around(area.noisy, float(area.variance)))
        if area.given_smaller.largest is not None:
            ends.append((-math.inf, area.given_smaller.largest))
        if area.count is not None:
            ends.append((area.count, area.count))
        bottom, top = max(low for low, _ in ends), min(high for _, high in ends)
        if bottom > top:
            return None
        spans.append((int(bottom), int(top)))
    for place in range(len(chain.steps) - 1, 0, -1):  # what lies above narrows what lies below
        least, most = rests[place]
        bottom = max(spans[place][0], spans[place + 1][0] - most)
        top = min(spans[place][1], spans[place + 1][1] - least)
        if bottom > top:
            return None
        spans[place] = (int(bottom), int(top))
    return spans, float(log_sum(np.array(tails))) if tails else -math.inf


def posterior_sums(chain: AreaChain, *, tolerance: float) -> Sums:
    """Return the posterior of every count, with at most `tolerance` of it left out."""
    nats = _FIRST_NATS
    while nats <= _MOST_NATS:
        found = windows(chain, nats)
        if found is not None:
            spans, outside = found
            sums = _passes(chain, spans, outside)
            if sums.truncation_error <= tolerance:
                return sums
            if math.isfinite(sums.log_total):
                # the sum inside only grows with the windows, so this many nats are enough
                nats = max(
                    1.01 * nats, 3.0 + math.log(2 * len(chain.steps)) - sums.log_total - math.log(tolerance)
                )
                continue
        nats *= 4.0
    raise InputError(
        "the hierarchy does not nest: no counts of its areas agree with what is known and the noisy counts "
        "(noise of more than 4,000 standard deviations would be needed)"
    )


def _passes(chain: AreaChain, spans: Sequence[tuple[int, int]], outside: float) -> Sums:
    values = [chain.first, *(np.arange(low, high + 1) for low, high in spans[1:])]
    steps = sum(len(a) * len(b) for a, b in pairwise(values))
    if steps > MOST_STEPS:
        raise PrecisionError(
            f"the sums over this hierarchy have {steps:.1e} terms, more than {MOST_STEPS:.1e}; "
            "its noise is too wide for an exact answer here"
        )
    seen, kernels = _parts(chain, values)
    up = [seen[0]]
    for kernel, here in zip(kernels, seen[1:], strict=True):
        up.append(here + _summed(kernel.from_above, kernel.parent, up[-1] + kernel.child_logs))
    down = [np.zeros(len(values[-1]))]
    for kernel, here in zip(reversed(kernels), reversed(seen[1:]), strict=True):
        down.insert(0, _summed(kernel.from_below, kernel.child, down[0] + here) + kernel.child_logs)
    total = float(log_sum(up[-1]))
    weight = total + chain.log_scale
    error = math.exp(min(outside - weight, 700.0)) if math.isfinite(total) else math.inf
    logs = tuple(a + b - total if math.isfinite(total) else a for a, b in zip(up, down, strict=True))
    return Sums(tuple(values), logs, tuple(up), weight, 0.0 if not chain.steps else error)


def _parts(
    chain: AreaChain, values: Sequence[Integers], *, constrained: bool = True
) -> tuple[list[Floats], list[_Kernel]]:
    """What is seen of each count by itself, and the weights of each step between two of them."""
    seen = [chain.log_first, *(step.log_seen(v) for step, v in zip(chain.steps, values[1:], strict=True))]
    steps = zip(chain.steps, values[:-1], values[1:], strict=True)
    return seen, [_Kernel(*step, constrained=constrained) for step in steps]


def _summed(weights: Callable[[Integers], Floats], here: Integers, message: Floats) -> Floats:
    """Sum a message over the counts on the other side of a step, for each count on this side."""
    rows = max(1, _BLOCK // len(message))
    parts = (here[start : start + rows] for start in range(0, len(here), rows))
    return np.concatenate([log_sum(weights(part) + message, axis=1) for part in parts])


class _Kernel:
    """Log weights of a step between two areas, seen from either side, but for those of the child."""

    def __init__(self, step: Rung, child: Integers, parent: Integers, *, constrained: bool = True) -> None:
        self.child, self.parent, self.low = child, parent, int(parent[0] - child[-1])
        rest = np.arange(self.low, int(parent[-1] - child[0]) + 1)
        self.sound = step.log_rest(rest)
        self.upward = self.sound if constrained else step.log_beside(rest)  # whose rest may be negative
        # without siblings both counts are the same, whatever the law of the rest
        law = step.area.given_smaller if step.below.siblings else Uniform()
        self.child_logs = law.log_child(child)

    def from_above(self, parent: Integers) -> Floats:
        """Weights of the child's values given each of some parents."""
        return np.asarray(self.upward[parent[:, None] - self.child - self.low])

    def from_below(self, child: Integers) -> Floats:
        """Weights of the parent's values given each of some children."""
        return np.asarray(self.sound[self.parent - child[:, None] - self.low])


# -- draws from the posterior, as a check and as in the paper ----------------------------------------


def run_chains(
    chain: AreaChain, sums: Sums, *, constrained: bool, draws: int, seed: int | None
) -> tuple[tuple[Integers, ...], tuple[Floats, ...], float, int]:
    """Run independent chains side by side and count where they are after `BURN_IN` steps.

    Returned are the values of each area's count, the shares of the draws there, the standard error of the
    target's probability, and the number of draws. The standard error is that between chains, so it holds
    however slowly they mix, if they mix at all.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or not 2 <= draws <= MOST_DRAWS:
        raise InputError(f"draws is {draws}; it must be a whole number from 2 to {MOST_DRAWS}")
    if not constrained:  # the chain without the condition is defined for few hierarchies
        if len(chain.steps) != 1:
            raise InputError(
                "the unconstrained chain has two levels; use method='gibbs' for other hierarchies"
            )
        ((_, area, noise),) = chain.steps
        seen_alone = area.given_smaller == Uniform() and area.count is None
        if noise is None or area.noisy is None or not seen_alone:
            raise InputError(
                "the unconstrained chain needs the noisy counts of block, group and siblings, and the "
                "uniform prior; use method='gibbs' otherwise"
            )
    sums = _trimmed(sums)
    random = np.random.default_rng(seed)
    chains = min(CHAINS, draws)
    rounds = math.ceil(draws / chains)
    values = sums.values
    seen, kernels = _parts(chain, values, constrained=constrained)
    state = [np.full(chains, start) for start in _start(sums, _parts(chain, values)[1])]
    seen = [logs + kernel.child_logs for logs, kernel in zip(seen, kernels, strict=False)] + seen[-1:]
    counts = [np.zeros(len(value)) for value in values]
    hits = np.zeros(chains)
    for number in range(BURN_IN + rounds):
        for place in range(len(values)):
            weights = np.broadcast_to(seen[place], (chains, len(values[place])))
            if place < len(kernels):
                weights = weights + kernels[place].from_above(state[place + 1] + values[place + 1][0])
            if place > 0:
                weights = weights + kernels[place - 1].from_below(state[place - 1] + values[place - 1][0])
            state[place] = _pick(weights, random)
        if number >= BURN_IN:
            for place, where in enumerate(state):
                counts[place] += np.bincount(where, minlength=len(values[place]))
            hits += state[0]
    total = chains * rounds
    spread = float(np.std(hits / rounds, ddof=1)) / math.sqrt(chains) if chains > 1 else math.nan
    return values, tuple(count / total for count in counts), spread, total


def _trimmed(sums: Sums) -> Sums:
    """Drop ends of windows that hold less than 1e-12 of the mass each: no run of draws would see them."""
    spans = []
    for logs in sums.logs[1:]:
        mass = np.exp(logs)
        low = int(np.searchsorted(np.cumsum(mass), 1e-12))
        high = len(mass) - int(np.searchsorted(np.cumsum(mass[::-1]), 1e-12))
        spans.append(slice(low, high))

    whole = [slice(None), *spans]
    return replace(
        sums,
        values=tuple(array[span] for array, span in zip(sums.values, whole, strict=True)),
        logs=tuple(array[span] for array, span in zip(sums.logs, whole, strict=True)),
        upward=tuple(array[span] for array, span in zip(sums.upward, whole, strict=True)),
    )


def _pick(logs: Floats, random: np.random.Generator) -> Integers:
    """Draw one place in each row, by inversion."""
    with np.errstate(under="ignore"):
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    sums = np.cumsum(weights, axis=1)
    aim = random.random(len(sums)) * sums[:, -1]
    return np.asarray((sums <= aim[:, None]).sum(axis=1), dtype=np.int64)


def _start(sums: Sums, kernels: Sequence[_Kernel]) -> list[int]:
    """Places of a possible path: the likeliest top, and each count below it the likeliest given the next."""
    places = [int(np.argmax(sums.upward[-1]))]
    for kernel, upward in zip(reversed(kernels), reversed(sums.upward[:-1]), strict=True):
        logs = kernel.from_above(kernel.parent[places[:1]])[0] + kernel.child_logs
        places.insert(0, int(np.argmax(upward + logs)))
    return places
