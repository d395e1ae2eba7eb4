"""Tests that are learned: the first half of the runs chooses a statistic, the second half is judged.

Nothing need be known of what a mechanism puts out. A statistic that was chosen by some runs is fixed for all
others, so that its test has a false-positive rate of its own there, whatever the choice: a bad one finds
less, and accuses nobody. Four statistics are learned:

- of numbers a *linear* one: the difference of the mean outputs over their variances;
- of numbers their *spread*: squared distances from the mean, with weights that tell a narrow
  normal law from a wide one;
- of numbers their *digits*, from tens to the ninth decimal: the log ratio of how often each digit is seen;
- of anything else (a column of words, the order of rows, metadata) *which* of several it is: the log ratio of
  how often each is seen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discreet.disclosure.areas import Integers
from discreet.disclosure.odds import Floats

PLACES = range(-1, 10)
"""Digits that are looked at: tens are -1, the first decimal is 1."""

_RANKS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98)
_MOST = 1e6  # of larger numbers floats do not have nine decimals: they have their whole part alone
_HUGE = 1e60  # larger numbers count as that large: their squares, squared again, stay finite
_SURELY = 0.1  # a log ratio of 0 is "never seen"

Sides = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Scores:
    """A statistic of runs on the table and on its neighbour, with thresholds that were fixed beforehand."""

    statistic: str
    table: Floats
    neighbour: Floats
    thresholds: Sequence[float]


def learned_from_numbers(table: Floats, neighbour: Floats, name: str = "") -> list[Scores]:
    """Return what half of the runs (rows) learn about numbers, of the other half.

    >>> rows = np.arange(8.0)[:, None]
    >>> [one.statistic for one in learned_from_numbers(rows, rows + 1)]
    ['linear statistic', 'spread', 'digits']
    """
    first, second = _halves(table, neighbour)
    rules: dict[str, Callable[[Sides], Callable[[Floats], Floats]]] = {
        "linear statistic": _linear,
        "spread": _spread,
        "digits": _digits,
    }
    made = []
    for what, rule in rules.items():
        score = rule(first)
        trained = np.concatenate([score(side) for side in first])
        marks = [float(mark) for mark in np.unique(np.quantile(trained, _RANKS))]
        what = f"{what} of {name}" if name else what
        made.append(Scores(what, score(second[0]), score(second[1]), marks))
    return made


def learned_from_parts(
    table: Sequence[Mapping[str, Hashable]], neighbour: Sequence[Mapping[str, Hashable]]
) -> tuple[list[Scores], tuple[str, ...]]:
    """Return what half of the runs learn about each named part of an output, and the parts that tell nothing.

    A part that is another in every run, such as the time of day, tells nothing this way.

    >>> runs = [{"order": "ab"}] * 4, [{"order": "ba"}] * 4
    >>> (scores,), silent = learned_from_parts(*runs)
    >>> bool(scores.table.max() < scores.neighbour.min()), silent
    (True, ())
    """
    halves = [(side[: len(side) // 2], side[len(side) // 2 :]) for side in (table, neighbour)]
    names = dict.fromkeys(name for first, _ in halves for run in first for name in run)
    made, silent = list[Scores](), []
    for name in names:
        here, beside = (Counter(run.get(name) for run in first) for first, _ in halves)
        if len(here + beside) > 2 and len(here + beside) == sum((here + beside).values()):
            silent.append(name)
            continue
        scores = [
            np.array([_log_ratio(here[run.get(name)], beside[run.get(name)]) for run in second])
            for _, second in halves
        ]
        made.append(Scores(name, scores[0], scores[1], (-_SURELY, _SURELY)))
    return made, tuple(silent)


def _log_ratio(table: float, neighbour: float) -> float:
    return math.log((neighbour + 0.5) / (table + 0.5))


def _halves(table: Floats, neighbour: Floats) -> tuple[Sides, Sides]:
    first, second = ((side[: len(side) // 2], side[len(side) // 2 :]) for side in (table, neighbour))
    return (first[0], second[0]), (first[1], second[1])


class _Weighted:
    """Weights on what is made of the numbers."""

    def __init__(self, weights: Floats, centre: Floats | None = None) -> None:
        self.weights, self.centre = weights, centre

    def __call__(self, side: Floats) -> Floats:
        held = _held(side)
        values = held if self.centre is None else (held - self.centre) ** 2
        return np.asarray(values @ self.weights)


def _held(values: Floats) -> Floats:
    return np.clip(values, -_HUGE, _HUGE)


def _linear(first: Sides) -> _Weighted:
    """The difference of the means over the variances."""
    table, other = map(_held, first)
    spread = (table.var(axis=0) + other.var(axis=0)) / 2
    return _Weighted((other.mean(axis=0) - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _spread(first: Sides) -> _Weighted:
    """Squared distances from the mean, of the numbers whose variances surely differ, or differ most."""
    halves = [_held(side) for side in first]
    centre = np.concatenate(halves).mean(axis=0)
    squares = [(side - centre) ** 2 for side in halves]
    table, other = (np.maximum(each.mean(axis=0), 1e-12) for each in squares)
    error = np.sqrt(sum(each.var(axis=0) / len(each) for each in squares))
    apart = np.abs(table - other) / np.where(error > 0, error, 1e-12)
    return _Weighted(np.where(_sure(apart), 1 / table - 1 / other, 0.0), centre)


def _sure(apart: Floats) -> NDArray[np.bool_]:
    """Which of many differences, in standard errors, are no accident; at least the largest."""
    least = math.sqrt(2 * math.log(2 * max(apart.size, 1)))
    return np.asarray(apart >= min(least, float(apart.max(initial=0.0))))


class _DigitRatios:
    """The log ratios of digits, of the numbers and places where they surely differ."""

    def __init__(self, ratios: Floats) -> None:
        self.ratios = ratios  # places, digits, numbers

    def __call__(self, side: Floats) -> Floats:
        ratios_of_runs = np.zeros(len(side))
        each = np.arange(side.shape[1])
        scaled = _scaled(side)
        for ratios, digit in zip(self.ratios, PLACES, strict=True):
            ratios_of_runs += ratios[_digit(scaled, digit), each].sum(axis=1)
        return ratios_of_runs


def _digits(first: Sides) -> _DigitRatios:
    counts = np.zeros((2, len(PLACES), 10, first[0].shape[1]))
    for side, values in enumerate(first):
        scaled = _scaled(values)
        for row, place in enumerate(PLACES):
            digits = _digit(scaled, place)
            for digit in range(10):
                counts[side, row, digit] = np.count_nonzero(digits == digit, axis=0)
    both = counts.sum(axis=0)
    shares = [len(values) / (len(first[0]) + len(first[1])) for values in first]
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [
            np.nan_to_num((own - share * both) ** 2 / (share * both))
            for own, share in zip(counts, shares, strict=True)
        ]
    apart = sum(parts).sum(axis=1)  # chi-squared, by place and number
    least = float(scipy.special.chdtri(9, 1 / max(apart.size, 2)))
    chosen = apart >= min(least, float(apart.max(initial=0.0)))
    ratios = np.log((counts[1] + 0.5) / (counts[0] + 0.5))
    return _DigitRatios(np.where(chosen[:, None, :], ratios, 0.0))


def _scaled(values: Floats) -> Integers:
    """The absolute values in units of the last place, their thousands left out.

    >>> scaled = _scaled(np.array([[31.200004, -7.0, 1e15 + 42]]))
    >>> [_digit(scaled, place).tolist()[0] for place in (-1, 0, 1, 6)]
    [[3, 0, 4], [1, 7, 2], [2, 0, 0], [4, 0, 0]]
    """
    size = np.abs(values)
    near = np.where(size < _MOST, size, np.floor(np.fmod(size, 1000.0)))
    return np.rint(np.fmod(near, 1000.0) * 10.0 ** PLACES[-1]).astype(np.int64)


def _digit(scaled: Integers, digit: int) -> Integers:
    return np.asarray(scaled // 10 ** (PLACES[-1] - digit) % 10)
