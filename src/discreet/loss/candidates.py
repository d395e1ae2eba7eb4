"""The cases of a release that may be the worst at a threshold, while their values become known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.loss.all_pairs import Scan
from discreet.loss.lattice import Floats

TIE = 2e-12
"""Two cases whose deltas differ by less, relatively, are equal as far as floats can tell."""


class Candidates:
    """The cases that may be the extreme one at a threshold: their logarithms, and the errors of those.

    Where the least value is sought the sign is -1, so that the extreme is always the largest.
    """

    def __init__(self, scan: Scan, sign: float, enough: float) -> None:
        """The cases whose interval reaches that of the best one."""
        self.threshold, self.exponent, self.sign, self.enough = scan.threshold, scan.exponent, sign, enough
        ways = [scan.exact, (scan.value, scan.error)] if scan.exact else [(scan.value, scan.error)]
        bounds = [self._logs(*way)[1:] for way in ways]
        lowest = max(float(lower.max()) for lower, _ in bounds)
        self.numbers = np.flatnonzero(np.min([upper for _, upper in bounds], axis=0) >= lowest - 2 * TIE)
        # a value that is smaller than its error may be anything
        self.log, self.slack = np.full(self.numbers.size, -1e300), np.full(self.numbers.size, math.inf)
        self.top = np.full(self.numbers.size, math.inf)
        self.known = np.zeros(self.numbers.size, dtype=bool)
        for value, error in ways:  # octaves are added to the second
            self._value, self._error = value[self.numbers], error[self.numbers]
            self._take(np.arange(self.numbers.size))

    @classmethod
    def evaluated(cls, threshold: int, log: Floats, slack: Floats, numbers: NDArray[np.int64]) -> Candidates:
        """These cases, each evaluated already."""
        candidates = cls.__new__(cls)
        candidates.threshold, candidates.log, candidates.slack = threshold, log, slack
        candidates.numbers, candidates.known = numbers, np.ones(log.size, dtype=bool)
        return candidates

    def _logs(self, value: Floats, error: Floats) -> tuple[Floats, Floats, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(value > 0, np.log(value), -math.inf)
            lower = np.where(value > error, np.log(value - error), -math.inf)
            upper = np.log(value + error)
        return (log, lower, upper) if self.sign > 0 else (-log, -upper, -lower)

    def _take(self, at: NDArray[np.int64]) -> None:
        """Take logarithms from values and errors, where these are better than what is known."""
        log, lower, upper = self._logs(self._value[at], self._error[at])
        with np.errstate(invalid="ignore"):
            slack = np.maximum(upper - log, log - lower)
        better = np.flatnonzero(slack < self.slack[at])
        at, log, slack = at[better], log[better], slack[better]
        self.slack[at], self.log[at] = slack, log + self.sign * self.exponent
        self.top[at] = np.minimum(self.top[at], self.log[at] + slack)
        self.known[at] = slack <= self.enough

    def open(self, *, likeliest: bool) -> NDArray[np.int64]:
        """The cases to evaluate more closely: the likeliest, or all that may be the extreme."""
        unknown = ~self.known
        if likeliest:
            # if the likeliest is known already, only others are left to rule out
            top = int(np.argmax(self.log))
            return self.numbers[[top]] if unknown[top] else self.numbers[:0]
        # a case that could at most equal the best, up to rounding, changes nothing
        best = float((self.log - self.slack).max())
        return self.numbers[unknown & (self.top > best + TIE)]

    def excess(self) -> float:
        """By how much the open cases may exceed the best, in the median."""
        at = np.searchsorted(self.numbers, self.open(likeliest=False))
        return float(np.median(self.top[at] - (self.log - self.slack).max())) if at.size else 0.0

    def add(self, number: int, value: float, error: float) -> None:
        """Add a further part of a case: its value, and the change of its error."""
        at = np.searchsorted(self.numbers, [number])
        self._value[at] += value
        self._error[at] += error
        self._take(at)

    def bound(self, numbers: NDArray[np.int64], upper: Floats, exponent: float) -> None:
        """Take in upper bounds of some cases, in units of e^exponent."""
        at = np.searchsorted(self.numbers, numbers)
        self.top[at] = np.minimum(self.top[at], np.log(upper) + exponent)

    def settle(self, number: int, log: float, error: float) -> None:
        """Take in the value of an evaluated case."""
        at = int(np.searchsorted(self.numbers, number))
        self.log[at], self.slack[at], self.known[at], self.top[at] = log, error, True, log + error
