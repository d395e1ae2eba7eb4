"""What an adversary believes of an area's count once the count of the smaller area inside it is given.

Each law speaks of the *rest*: how many more people of the target's characteristics the area holds than the
smaller one. A law need not add up to one: constants cancel in a posterior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.arguments import Number, read
from discreet.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every count from the smaller area's count up is as likely as any other; `upper` is the last, if any.

    Without `upper` this is the paper's prior on {k, k + 1, ...}. With it, the count is uniform on
    {k, ..., upper}, a law that adds up to one for every k.

    >>> Uniform(), Uniform(upper=500)
    (Uniform(upper=None), Uniform(upper=500))
    """

    upper: int | None = None

    def __post_init__(self) -> None:
        if self.upper is not None and (isinstance(self.upper, bool) or not isinstance(self.upper, int)):
            raise InputError(f"upper is {self.upper!r}; the largest count is a whole number")
        if self.upper is not None and self.upper < 0:
            raise InputError(f"upper is {self.upper}; a count is zero or more")

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the weight of each rest; -inf below zero."""
        return np.where(rest >= 0, 0.0, -math.inf)

    def log_child(self, child: Integers) -> Floats:
        """Return the logarithm of what makes the law given each child add up to one."""
        if self.upper is None:
            return np.zeros(len(child))
        room = np.maximum(self.upper - child + 1, 0).astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.where(room > 0, -np.log(room), -math.inf)

    def __str__(self) -> str:
        return "uniform" if self.upper is None else f"uniform up to {self.upper}"


@dataclass(frozen=True, slots=True, init=False)
class Poisson:
    """The rest is a Poisson number of people with this mean.

    >>> Poisson("5/2").mean
    2.5
    """

    mean: float
    upper: None

    def __init__(self, mean: Number) -> None:
        found = read(mean, name="mean of the Poisson prior").values
        if len(found) != 1:
            raise InputError(f"mean of the Poisson prior is a list of {len(found)} numbers; one is needed")
        value = float(found[0])
        if not 0 < value <= 1e9:
            raise InputError(f"mean of the Poisson prior is {value:g}; it must be above 0 and at most 1e9")
        object.__setattr__(self, "mean", value)
        object.__setattr__(self, "upper", None)

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the probability of each rest; -inf below zero."""
        inside = np.maximum(rest, 0)
        first, last = (int(inside.min()), int(inside.max())) if len(rest) else (0, 0)
        # log k! by one lgamma and a running sum: no special function on arrays is needed
        steps = np.concatenate([[math.lgamma(first + 1.0)], np.log(np.arange(first + 1.0, last + 1.0))])
        factorial = np.cumsum(steps)[inside - first]
        return np.where(rest >= 0, inside * math.log(self.mean) - self.mean - factorial, -math.inf)

    def log_child(self, child: Integers) -> Floats:
        """Return zeros: the law adds up to one as it is."""
        return np.zeros(len(child))

    def __str__(self) -> str:
        return f"Poisson with mean {self.mean:g}"


@dataclass(frozen=True, slots=True, init=False)
class Table:
    """The rest is 0, 1, 2, ... with these probabilities (weights are divided by their sum).

    >>> Table(["1/2", "1/4", "1/4"]).probabilities
    (0.5, 0.25, 0.25)
    """

    probabilities: tuple[float, ...]
    upper: None

    def __init__(self, probabilities: Sequence[Number]) -> None:
        values = read(list(probabilities), name="probability of the table").values
        if not values or sum(values) <= 0:
            raise InputError("the table of a prior has no positive probability; it needs at least one")
        if any(value < 0 for value in values):
            raise InputError(f"the table of a prior holds {float(min(values)):g}; no probability is negative")
        total = sum(values)
        object.__setattr__(self, "probabilities", tuple(float(value / total) for value in values))
        object.__setattr__(self, "upper", None)

    def log_rest(self, rest: Integers) -> Floats:
        """Return the logarithm of the probability of each rest; -inf where it cannot be."""
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.probabilities))
        inside = (rest >= 0) & (rest < len(logs))
        return np.where(inside, logs[np.where(inside, rest, 0)], -math.inf)

    def log_child(self, child: Integers) -> Floats:
        """Return zeros: the law adds up to one as it is."""
        return np.zeros(len(child))

    def __str__(self) -> str:
        return f"a table of {len(self.probabilities)} probabilities"


Law = Uniform | Poisson | Table
"""The laws that are offered."""


def read_law(value: Any) -> Law:
    """Return a law from itself or from a text: uniform, uniform:500, poisson:2.5, table:0.5,0.25,0.25.

    >>> read_law("poisson:3"), read_law("uniform:500"), read_law("table:1,1").probabilities
    (Poisson(mean=3.0, upper=None), Uniform(upper=500), (0.5, 0.5))
    >>> read_law("normal")
    Traceback (most recent call last):
    discreet.errors.InputError: the prior of an area is 'normal'; it must be uniform, uniform:UPPER, \
poisson:MEAN or table:P0,P1,...
    """
    if isinstance(value, Uniform | Poisson | Table):
        return value
    if isinstance(value, str):
        kind, _, rest = value.strip().partition(":")
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
