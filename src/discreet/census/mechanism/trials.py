"""Which of very many independent trials succeed, by exact geometric skips.

The number of failures before a success is geometric: P[S >= m] = f^m with f the chance of a failure. Written
in base B, its digits are independent: with S = B Q + R,

    P[Q = q, R = r] = (1 - f) f^(B q + r) = [(1 - f^B) (f^B)^q] [(1 - f) f^r / (1 - f^B)],

so the lowest digit is a geometric variable cut off at B, and the rest is geometric with f^B in place of f.
Each digit is drawn exactly, although f itself is only known by balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.errors import InputError
from discreet.noise import balls
from discreet.noise.entropy import Entropy
from discreet.noise.inversion import Chance, CountingLaw, Integers, draw

BASE = 1 << 10
LONGEST = 1 << 40
"""Trials at a time: enough for any release, and sums of skips stay far below 64 bits."""
_TOGETHER = 1 << 20  # skips drawn at a time


@dataclass(frozen=True)
class Digit(CountingLaw):
    """A digit of a geometric variable X of ratio q = (1 - success)^power: min(X, most), or X mod `base`.

    P[X >= m] = q^m, and P[X mod base >= m] = (q^m - q^base) / (1 - q^base), written with expm1, so that a
    small chance of success costs no digits.
    """

    success: Chance
    power: int
    base: int | None = None
    most: int | None = None

    def ball(self, m: int) -> balls.arb:
        """Return P[X >= m]."""
        return self._ball(self._rate(), m)

    def thresholds(self) -> int:
        """Return all, or where q^m falls below 2^-64."""
        if self.last is not None:
            return self.last
        with balls.working_bits(192):
            rate = float(self._rate().mid())
        return int(45.0 / rate) + 2 if rate > 0.0 else 2

    @property
    def last(self) -> int | None:
        """The largest digit."""
        return self.most if self.base is None else self.base - 1

    def chances(self, count: int) -> list[balls.arb]:
        """Return the chances, with one logarithm for all."""
        rate = self._rate()
        return [self._ball(rate, m) for m in range(1, count + 1)]

    def _rate(self) -> balls.arb:
        return -((-self.success()).log1p()) * self.power

    def _ball(self, rate: balls.arb, m: int) -> balls.arb:
        tail = (-rate * m).exp()
        if self.base is None:
            return tail
        return tail * (-rate * (self.base - m)).expm1() / (-rate * self.base).expm1()


@dataclass(frozen=True)
class Trials:
    """Independent trials that each succeed with the same chance, strictly between 0 and 1.

    The chance is given as balls, and may be as small as you like.

    >>> from discreet.noise import DiscreteGaussian
    >>> noise = DiscreteGaussian(variance=625)
    >>> trials = Trials(lambda: noise.ball_upper(94))
    >>> successes = sum(part.size for part in trials.successes(10**7))
    >>> expected = 10**7 * float(noise.sf(93))
    >>> abs(successes - expected) < 6 * expected**0.5
    True
    """

    success: Chance

    def skips(self, size: int, *, source: Entropy | None = None) -> Integers:
        """Return how many trials fail before the next success, `size` times; at most `LONGEST`."""
        result = np.zeros(size, dtype=np.int64)
        for position, digit in enumerate(self._digits()):
            # what lies beyond LONGEST is never used, so it may be cut there
            values = np.minimum(draw(digit, size, source=source), LONGEST >> 10 * position)
            np.minimum(result + (values << 10 * position), LONGEST, out=result)
        return result

    def successes(self, trials: int, *, source: Entropy | None = None) -> Iterator[Integers]:
        """Yield the numbers of the successes among trials 0, ..., trials - 1, rising, part by part."""
        if not 0 <= trials < LONGEST:
            raise InputError(f"trials is {trials}; at most {LONGEST - 1} can be made")
        with balls.working_bits(192):
            chance = float(self.success().mid())
        next_trial = 0  # the first trial whose outcome is open
        while next_trial < trials:
            expected = (trials - next_trial) * chance
            count = min(_TOGETHER, int(expected + 4.0 * math.sqrt(expected)) + 16)
            ends = next_trial + np.cumsum(self.skips(count, source=source) + 1)
            inside = int(np.searchsorted(ends, trials, side="right"))
            if inside:
                yield ends[:inside] - 1
            next_trial = int(ends[-1])

    def _digits(self) -> list[Digit]:
        """Return the laws of the digits, lowest first; the last takes the rest of the number."""
        with balls.working_bits(192):
            chance = float(self.success().mid())
        count = 0
        # few thresholds, once the chance of success of the rest is no longer small
        while count < 4 and chance * BASE ** (count + 1) < 1.0:
            count += 1
        digits = [Digit(self.success, BASE**position, base=BASE) for position in range(count)]
        # four digits reach LONGEST: it only matters whether the rest is zero
        return [*digits, Digit(self.success, BASE**count, most=1 if count == 4 else None)]
