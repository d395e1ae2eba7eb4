"""Perturbation tables of maximum entropy, as ptable designs them: bounded, unbiased, of at most a variance.

In each row the probabilities have the largest entropy under which the noise has mean zero, lies within D and
has at most variance V; results from 1 to js do not occur, and probabilities do not fall from the left up to
noise 0. They are e^(a v + b v^2), equal where the last condition binds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from discreet.cellkey.table import PerturbationTable, perturbation_table
from discreet.errors import InputError
from discreet.numbers import Exact, positive, whole

UNIT = 10**8
"""Probabilities are whole multiples of its inverse, as in the files of ptable."""

NAME = re.compile(r"D(\d{1,2})V(\d{1,3}(?:\.\d{1,6})?)(?:js(\d{1,2}))?", re.IGNORECASE)


def named_table(name: str) -> PerturbationTable | None:
    """Return the table of maximum entropy that a name such as D5V3js2 stands for, if it is one.

    >>> named_table("D2V1").bound, named_table("table.csv")
    (2, None)
    """
    named = NAME.fullmatch(name.strip())
    return entropy_table(int(named[1]), named[2], small=int(named[3] or 0)) if named else None


@cache
def entropy_table(bound: int, variance: Exact, *, small: int = 0) -> PerturbationTable:
    """Return the table of maximum entropy for D, V and js, with probabilities of eight decimals.

    The last row serves all larger counts: that of count D, or of D + js + 1 if results are blocked.

    >>> table = entropy_table(2, 1)
    >>> {noise: float(chance) for noise, chance in table.noise_law(2).items()}
    {-2: 0.06382714, -1: 0.24469145, 0: 0.38296282, 1: 0.24469145, 2: 0.06382714}
    """
    most, limit = whole(bound, name="D"), float(positive(variance, name="V"))
    if not 0 <= small < most:
        raise InputError(f"js is {small}; it must be at least 0 and below D, which is {most}")
    laws: dict[int, dict[int, Exact]] = {0: {0: 1}}
    for count in range(1, (most + small + 1 if small else most) + 1):
        results = [y for y in range(max(0, count - most), count + most + 1) if not 1 <= y <= small]
        noises = [y - count for y in results]
        laws[count] = dict(zip(noises, _rounded(noises, _row(noises, limit, count)), strict=True))
    name = f"D{most}V{variance}{f'js{small}' if small else ''}"
    return perturbation_table(laws, name=name)


def _row(noises: Sequence[int], limit: float, count: int) -> list[float]:
    """Return the probabilities of one row; noises whose probabilities must be equal are pooled."""
    pools = [[noise] for noise in noises]
    while True:
        chances = _pooled(pools, limit, count)
        falls = [
            index
            for index in range(len(pools) - 1)
            # between allowed noises up to zero that are neighbours
            if pools[index + 1][0] <= 0
            and pools[index + 1][0] == pools[index][-1] + 1
            and chances[index] > chances[index + 1] * (1 + 1e-12)
        ]
        if not falls:
            return [chance for chance, pool in zip(chances, pools, strict=True) for _ in pool]
        index = falls[0]
        pools[index : index + 2] = [pools[index] + pools[index + 1]]


def _pooled(pools: Sequence[Sequence[int]], limit: float, count: int) -> list[float]:
    """Return the probability of each noise of a pool, of largest entropy for mean 0 and a variance."""
    means = [sum(pool) / len(pool) for pool in pools]
    squares = [sum(noise * noise for noise in pool) / len(pool) for pool in pools]
    sizes = [len(pool) for pool in pools]

    def weights(slope: float, curve: float) -> list[float]:
        powers = [slope * x + curve * y for x, y in zip(means, squares, strict=True)]
        raw = [math.exp(power - max(powers)) for power in powers]
        total = sum(size * weight for size, weight in zip(sizes, raw, strict=True))
        return [weight / total for weight in raw]

    def moment(chances: Sequence[float], of: Sequence[float]) -> float:
        return sum(size * p * x for size, p, x in zip(sizes, chances, of, strict=True))

    def centred(curve: float) -> list[float]:
        # Newton's steps: the mean increases with the slope, at the rate of its variance over pools
        slope = 0.0
        for _ in range(200):
            chances = weights(slope, curve)
            mean = moment(chances, means)
            rate = moment(chances, [(x - mean) ** 2 for x in means])
            if abs(mean) < 1e-14:
                break
            slope -= max(-1.0, min(1.0, mean / max(rate, 1e-9)))
        return chances

    if moment(centred(0.0), squares) <= limit:
        return centred(0.0)
    if moment(centred(-40.0), squares) > limit:
        raise InputError(f"V is {limit}; the noise of count {count} cannot have a variance that small")
    return centred(_root(lambda curve: moment(centred(curve), squares) - limit, -40.0, 0.0))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function is zero, by halving."""
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _rounded(noises: Sequence[int], chances: Sequence[float]) -> list[Fraction]:
    """Return probabilities as multiples of the unit that sum to 1 and have mean 0 exactly."""
    parts = [round(chance * UNIT) for chance in chances]
    centre = max(range(len(parts)), key=parts.__getitem__)
    parts[centre] += UNIT - sum(parts)
    # a step between neighbouring noises moves the mean by one unit
    index = max(
        range(len(noises) - 1), key=lambda i: (noises[i + 1] - noises[i] == 1) * min(parts[i : i + 2])
    )
    off = sum(noise * part for noise, part in zip(noises, parts, strict=True))
    parts[index] += off
    parts[index + 1] -= off
    return [Fraction(part, UNIT) for part in parts]
