"""The areas of a hierarchy: what was published of each, and what is believed of its count beforehand."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.disclosure.inputs import one_number, one_variance
from discreet.disclosure.odds import Floats
from discreet.errors import InputError
from discreet.loss.values import Number, read
from discreet.memory import set_fields

Integers = NDArray[np.int64]
LARGEST = 10**12
"""Of a stated count, noisy or not."""


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
        if (whole_or_none(self.upper, "upper") or 0) < 0:
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
        set_fields(self, mean=value)

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the probability of each rest; -inf below zero."""
        inside = np.maximum(rest, 0)
        first, last = (int(inside.min()), int(inside.max())) if len(rest) else (0, 0)
        # log k! by one lgamma and a running sum: no special function on arrays is needed
        steps = np.concatenate([[math.lgamma(first + 1.0)], np.log(np.arange(first + 1.0, last + 1.0))])
        factorial = np.cumsum(steps)[inside - first]
        return np.where(rest >= 0, inside * math.log(self.mean) - self.mean - factorial, -math.inf)


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
        set_fields(self, probabilities=tuple(float(value / total) for value in values))

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the probability of each rest; -inf where it cannot be."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.probabilities))
        inside = (rest >= 0) & (rest < len(logs))
        return np.where(inside, logs[np.where(inside, rest, 0)], -math.inf)


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


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Area:
    """One area of a hierarchy: its noisy count, and what is seen of its siblings inside the next larger area.

    `rho` is zCDP's with a record added or removed, so that the variance is 1/(2 rho). `siblings` is the
    number of other areas of the same kind inside the next larger one and `siblings_noisy` the sum of their
    noisy counts; `siblings_noisy=None` leaves that sum unused. `given_smaller` is the adversary's law for
    this area's count given the smaller area's, by default `Uniform()`; `states_law` says whether it was
    stated. `count` is the true count, if the adversary knows it.

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
    states_law: bool

    def __init__(
        self,
        *,
        name: str = "",
        noisy: int | None = None,
        variance: Number | None = None,
        rho: Number | None = None,
        siblings: int = 0,
        siblings_noisy: int | None = None,
        given_smaller: RestLaw | str | None = None,
        count: int | None = None,
    ) -> None:
        who = f" of {name}" if name else ""
        set_fields(
            self,
            name=name,
            variance=one_variance(variance, rho, of=who),
            noisy=whole_or_none(noisy, f"noisy count{who}"),
            siblings=whole_or_none(siblings, f"number of siblings{who}"),
            siblings_noisy=whole_or_none(siblings_noisy, f"siblings' noisy sum{who}"),
            given_smaller=Uniform() if given_smaller is None else read_law(given_smaller),
            states_law=given_smaller is not None,
            count=whole_or_none(count, f"known count{who}"),
        )
        if self.siblings is None or self.siblings < 0:
            raise InputError(f"number of siblings{who} is {siblings}; it must be zero or more")
        if self.siblings == 0 and self.siblings_noisy is not None:
            raise InputError(f"siblings' noisy sum{who} is given, but there are no siblings")
        if self.count is not None and self.count < 0:
            raise InputError(f"known count{who} is {count}; a count is zero or more")


def whole_or_none(value: object, name: str) -> int | None:
    """Return a whole number of at most 1e12, or nothing where nothing is said.

    >>> whole_or_none(2.5, "known count")
    Traceback (most recent call last):
    discreet.errors.InputError: known count is 2.5; a whole number is needed
    """
    if value is None:
        return None
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is {value!r}; a whole number is needed")
    if abs(value) > LARGEST:
        raise InputError(f"{name} is {value}; at most 1e12 is supported")
    return value
