"""What a law of noise hands over to accounting: the law of one count's privacy loss.

One count shows an outcome, which has some probability with the person and some without. The loss of an
outcome is the logarithm of their ratio. It need not be symmetric, may be infinite (an outcome that is
impossible without the person), need not lie on a lattice, and may be continuous. Accounting needs no more
than this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OUTCOME_NATS = 740.0
"""OutcomeChances whose tail is below e^-740, less than any float, are left out."""

_SAME = 4e-14  # losses this close, relatively, are one: their logarithms are known no better


class OutcomeChances(NamedTuple):
    """Logarithms of the probabilities of what one count can show, and the probability of what is left out."""

    absent: Floats
    present: Floats
    left_out: float


class Density(NamedTuple):
    """The continuous part of a loss: its logarithmic density between two ends."""

    low: float
    high: float
    log: Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class LossLaw:
    """The law of the loss of one count if the person is there.

    >>> half, tenth = math.log(0.5), math.log(0.1)
    >>> law = LossLaw.of(np.array([tenth, half, -math.inf]), np.array([half, tenth, half]))
    >>> law.value.round(4).tolist(), np.exp(law.log).round(4).tolist(), law.infinite
    ([-1.6094, 1.6094], [0.1, 0.5], 0.5)
    """

    value: Floats
    """Finite losses that single outcomes have, ascending."""
    log: Floats
    """Logarithms of their probabilities."""
    infinite: float = 0.0
    """The probability of an infinite loss."""
    left_out: float = 0.0
    """At most the probability of what is not listed."""
    density: Density | None = None
    """The continuous part, if there is one."""
    normal: float = 0.0
    """Where the loss is normal altogether: its variance, which is twice its mean."""

    @classmethod
    def of(cls, absent: Floats, present: Floats, left_out: float = 0.0) -> LossLaw:
        """The law of log(present / absent) under `present`, from logarithms of probabilities."""
        possible = present > -math.inf
        endless = possible & (absent == -math.inf)
        infinite = float(np.exp(present[endless]).sum())
        kept = possible & ~endless
        order = np.argsort(present[kept] - absent[kept], kind="stable")
        value, log = (present[kept] - absent[kept])[order], present[kept][order]
        return cls(*merged(value, log), infinite, left_out)


def merged(value: Floats, log: Floats) -> tuple[Floats, Floats]:
    """Merge ascending losses that are equal up to rounding into the largest, adding their probabilities.

    >>> value, log = merged(np.array([1.0, 1 + 1e-15, 2.0]), np.log([0.25, 0.25, 0.5]))
    >>> value.round(6).tolist(), log.round(6).tolist()
    ([1.0, 2.0], [-0.693147, -0.693147])
    """
    starts = first_of_equals(value)
    if starts.size == value.size:
        return value, log
    last = last_of_equals(starts, value.size)
    logs = log[last]
    for run in np.flatnonzero(last > starts):  # a run of thousands, of which each sum would be rounded
        part = log[starts[run] : last[run] + 1]
        top = float(part.max())
        logs[run] = top + math.log(math.fsum(np.exp(part - top)))
    return value[last], logs


def first_of_equals(value: Floats) -> NDArray[np.int64]:
    """The place of the first of each run of ascending values that are equal up to rounding.

    >>> first_of_equals(np.array([1.0, 1 + 1e-15, 2.0])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.diff(value, prepend=-math.inf) > _SAME * (1 + np.abs(value)))


def last_of_equals(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The place of the last of each run, from those of the first.

    >>> last_of_equals(np.array([0, 2]), 3).tolist()
    [1, 2]
    """
    return np.append(starts[1:], size) - 1


def largest_ratio(law: LossLaw) -> float:
    """An upper bound of K(t) / (t (t + 1)) over t > 0: what zCDP says of a loss, 1e-5 above it at most.

    >>> laplace = LossLaw(np.array([-1.0, 1.0]), np.log([0.2689414213699951, 0.7310585786300049]))
    >>> round(largest_ratio(laplace), 4)
    0.4621
    """

    def cumulants(t: Floats) -> Floats:
        return np.array([float(np.logaddexp.reduce(law.log + one * law.value)) for one in t])

    # between two points K lies below its chord; at points 7 % apart the chord exceeds it by less than 1e-3
    t = np.geomspace(1e-5, 1e7, 400)
    ratio = cumulants(t) / (t * (t + 1))
    # below the first point K(t) / t is no larger than there; beyond the last K grows no faster than the loss
    best = max(float(ratio[0]) * (1 + 1e-5), float(ratio.max()), float(law.value.max()) / t[-1])
    near = np.flatnonzero(ratio > best * (1 - 5e-3))
    # and at points 0.2 % apart by less than 1e-6
    first, last = t[max(near[0] - 1, 0)], t[min(near[-1] + 1, t.size - 1)]
    fine = np.geomspace(first, last, min(4000, 35 * (near[-1] - near[0] + 2)))
    return float(max(best, float((cumulants(fine) / (fine * (fine + 1))).max())) * (1 + 1e-5))
