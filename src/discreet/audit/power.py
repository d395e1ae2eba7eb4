"""The smallest faults that the runs of an audit would have found with a chance of 95 %.

Each is a bound from the looks that were taken: with n runs, or N numbers, and the look's share s of the false
alarms.

*A test.* A fault that gives the table away in a share q of the runs on the neighbour, and never on the table,
raises an alarm if it is seen at least k times, where k is the least number whose lower band lies above what
is promised at the upper band of 0 of n. The smallest q is that for which a binomial count is k or more with a
chance of 95 %.

*The law.* An alarm is a distance of the empirical distribution from the law of sqrt(log(2/s) / 2N) or more.
Where the true distribution is off by D at some value, the empirical one is off by less than D - e there with
a chance of at most exp(-2 N e^2) (Hoeffding 1963), so that the smallest D is that distance plus
sqrt(log(20) / 2N).

*Runs without noise.* As with a test, of the number of such runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import scipy

if TYPE_CHECKING:
    from discreet.audit.looks import NoiseLook, PointLook, TradeOffCurve

FOUND = 0.95
"""The chance with which the smallest faults are found."""


@dataclass(frozen=True, slots=True)
class SmallestFault:
    """The smallest fault of a kind that is found with a chance of 95 %; None if these runs find none.

    Of a test and of runs without noise `size` is a share of the runs, of a law the distance of the true
    distribution function from that of the law. It is true of each of so many `looks`, or tests; `where` names
    the tests, or what it is largest for.
    """

    kind: str
    """tells, law, area or noiseless."""
    where: str
    looks: int
    size: float | None


def smallest_share(runs: int, least: int) -> float | None:
    """Return the smallest share of runs of which `least` or more are seen with a chance of 95 %.

    >>> round(smallest_share(100, 1), 5)   # 1 - 0.05^(1/100)
    0.02951
    """
    if not 0 < least <= runs:
        return None
    return float(scipy.special.betaincinv(least, runs - least + 1, FOUND))


def smallest_faults(
    curve: TradeOffCurve | None, points: Sequence[PointLook], noise: Sequence[NoiseLook], part: float
) -> tuple[SmallestFault, ...]:
    """Return the smallest fault of each kind of look: `part` is the share of false alarms of each."""
    faults = []
    if points and curve is not None:
        for runs in dict.fromkeys(look.runs for look in points):
            names = list(dict.fromkeys(look.statistic for look in points if look.runs == runs))
            size = _smallest_telling(curve, runs, part)
            faults.append(SmallestFault("tells", ", ".join(names), len(names), size))
    for kind in ("law", "area"):
        mine = [look for look in noise if look.kind == kind]
        if mine:
            least = min(mine, key=lambda look: look.trials)
            faults.append(SmallestFault(kind, least.where, len(mine), _smallest_distance(least.trials, part)))
    for look in noise:
        if look.kind == "noiseless" and look.expected is not None:
            size = _smallest_noiseless(look.trials, look.expected, part)
            faults.append(SmallestFault("noiseless", look.where, 1, size))
    return tuple(faults)


def _smallest_telling(curve: TradeOffCurve, runs: tuple[int, int], part: float) -> float | None:
    from discreet.audit.looks import lower_rate, upper_rate

    (most,) = 1 - curve([upper_rate(0, runs[0], part / 2)])
    least = _first(lambda k: lower_rate(k, runs[1], part / 2) > most, runs[1])
    return None if least is None else smallest_share(runs[1], least)


def _smallest_distance(trials: int, part: float) -> float | None:
    size = math.sqrt(math.log(2 / part) / (2 * trials)) + math.sqrt(-math.log(1 - FOUND) / (2 * trials))
    return size if size < 1 else None


def _smallest_noiseless(runs: int, chance: float, part: float) -> float | None:
    least = _first(lambda k: float(scipy.special.bdtrc(k - 1, runs, chance)) <= part, runs)
    return None if least is None else smallest_share(runs, least)


def _first(holds: Callable[[int], bool], most: int) -> int | None:
    """The least number from 1 on for which something holds that holds for all larger ones."""
    if most < 1 or not holds(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
