"""Which of very many independent trials succeed, without looking at each: exact geometric skips.

The number of failures before a success is geometric: P[S >= m] = f^m with f the chance of a failure. Written
in base B, its digits are independent: with S = B Q + R,

    P[Q = q, R = r] = (1 - f) f^(B q + r) = [(1 - f^B) (f^B)^q] [(1 - f) f^r / (1 - f^B)],

so the lowest digit is a geometric variable cut off at B, and the rest is geometric with f^B in place of f.
Each digit is drawn by `ladder`, exactly, although f itself is only known by balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.errors import InputError
from discreet.noise import balls
from discreet.noise.entropy import Entropy
from discreet.noise.ladder import Chance, Digit, draw
from discreet.noise.table import Integers

BASE = 1 << 10
LONGEST = 1 << 40
"""Trials at a time: enough for any release, and sums of skips stay far from the end of 64 bits."""
BLOCK = 1 << 20


@dataclass(frozen=True)
class Trials:
    """Independent trials that each succeed with the same chance, strictly between 0 and 1.

    The chance is given as balls. It may be as small as it likes.

    >>> from discreet.noise import GaussianNoise
    >>> noise = GaussianNoise(625)
    >>> trials = Trials(lambda: noise._ball_upper(94))
    >>> found = sum(part.size for part in trials.successes(10**7))
    >>> expected = 10**7 * float(noise.sf(93))
    >>> abs(found - expected) < 6 * expected**0.5
    True
    """

    success: Chance

    def skips(self, size: int, *, source: Entropy | None = None) -> Integers:
        """Return how many trials fail before the next success, `size` times; at most `LONGEST`."""
        result = np.zeros(size, dtype=np.int64)
        for place, digit in enumerate(self._digits()):
            # what lies beyond LONGEST is never looked at, so it may be cut there
            values = np.minimum(draw(digit, size, source=source), LONGEST >> 10 * place)
            np.minimum(result + (values << 10 * place), LONGEST, out=result)
        return result

    def successes(self, trials: int, *, source: Entropy | None = None) -> Iterator[Integers]:
        """Yield the places of the successes among trials 0, ..., trials - 1, rising, part by part."""
        if not 0 <= trials < LONGEST:
            raise InputError(f"trials is {trials}; at most {LONGEST - 1} can be made")
        with balls.working_bits(192):
            chance = float(self.success().mid())
        place = 0  # the first trial whose outcome is open
        while place < trials:
            expected = (trials - place) * chance
            count = min(BLOCK, int(expected + 4.0 * math.sqrt(expected)) + 16)
            ends = place + np.cumsum(self.skips(count, source=source) + 1)
            inside = int(np.searchsorted(ends, trials, side="right"))
            if inside:
                yield ends[:inside] - 1
            place = int(ends[-1])

    def _digits(self) -> list[Digit]:
        """Return the laws of the digits, lowest first; the last takes the rest of the number."""
        with balls.working_bits(192):
            chance = float(self.success().mid())
        places = 0
        # few rungs, once the rest's chance of success is not small any more
        while places < 4 and chance * BASE ** (places + 1) < 1.0:
            places += 1
        digits = [Digit(self.success, BASE**place, base=BASE) for place in range(places)]
        # four digits reach LONGEST: of the rest it only matters whether it is zero
        return [*digits, Digit(self.success, BASE**places, most=1 if places == 4 else None)]
