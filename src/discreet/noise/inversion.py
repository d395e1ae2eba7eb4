"""Exact inversion: which integer a uniform real falls on, decided by balls and as many bits as it takes.

A uniform real is drawn lazily: after n bits it is known to lie in [b, b + 1] / 2^n. Inversion maps the
part of [0, 1] below G(m) = P[X >= m] to integers at least m. As long as the two ends of what is
known are not certified to give the same integer, more bits are drawn. Bits already seen are never
thrown away, so precision decides how long the answer takes, never which answer it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import PrecisionError
from discreet.noise import balls
from discreet.noise.distribution import Noise

if TYPE_CHECKING:
    from flint import arb

    from discreet.noise.entropy import Entropy


@dataclass(frozen=True)
class Tail:
    """G(m), m >= 1: the chance that the noise is at least m, or, `folded`, that its size is.

    Folded means the noise given that it is not negative: P[X >= m] / P[X >= 0].

    >>> from discreet.noise import LaplaceNoise
    >>> tail = Tail(LaplaceNoise(1))
    >>> tail.crossing(Fraction(1, 100)), float(tail.noise.sf(3)) > 0.01 > float(tail.noise.sf(4))
    (5, True)
    """

    noise: Noise
    folded: bool = False

    def ball(self, m: int) -> arb:
        """Return a ball around G(m), at the working precision; G(0) is 1 if folded, else above 1/2."""
        if self.folded:
            return self.noise.ball_tail(m) * self._fold() if m > 0 else balls.ball(1)
        return self.noise.ball_upper(m)

    def _fold(self) -> arb:
        return 2 / (1 + self.noise.ball_pmf(0))

    def floors(self) -> list[int]:
        """Return floor(2^64 G(m)) for m = 1, 2, ... up to the first zero, each certified."""
        count = self._near(Fraction(1, 1 << 64)) + 2
        bits = 192
        while bits <= balls.MAX_BITS:
            with balls.working_bits(bits):
                unit = balls.ball(1 << 64) * (self._fold() if self.folded else 1)
                total = self.noise.ball_tail(count + 1)
                result = []
                # from the far end inward, so that the sum only grows
                for weight in reversed(self.noise.ball_pmfs(count + 1)[1:]):
                    total += weight
                    result.append(balls.floor(total * unit))
            result.reverse()
            floors = [value for value in result if value is not None]
            if len(floors) == count and floors[-1] == 0:
                return floors[: floors.index(0) + 1]
            bits, count = 2 * bits, count + count // 8
        raise PrecisionError(f"thresholds of {self.noise} could not be separated from integers")

    def crossing(self, level: Fraction) -> int:
        """Return the smallest m >= 1 with G(m) < level, for a level up to 1/2 (1, if folded), certified.

        That G(m) equals a rational level is excluded for discrete Laplace noise (a power of e would be
        algebraic) and not known to happen for discrete Gaussian noise; it would raise.
        """
        m = self._near(level)
        while not self._below(m, level):
            m += 1
        while m > 1 and self._below(m - 1, level):
            m -= 1
        return m

    def _below(self, m: int, level: Fraction) -> bool:
        """Return whether G(m) < level, certified."""
        bits = 128
        while bits <= balls.MAX_BITS:
            with balls.working_bits(bits):
                tail, bound = self.ball(m), balls.ball(level)
                if tail < bound:
                    return True
                if tail > bound:
                    return False
            bits *= 2
        raise PrecisionError(f"{balls.MAX_BITS} bits do not tell P[X >= {m}] from {level} for {self.noise}")

    def locate(self, prefix: int, bits: int, source: Entropy) -> int:
        """Return the size |x| that a uniform real with the given leading bits is mapped to.

        The size is the m >= 0 with G(m + 1) <= V < G(m); V lies in [prefix, prefix + 1] / 2^bits.
        """
        while True:
            m = self._near(Fraction(2 * prefix + 1, 1 << (bits + 1)))
            with balls.working_bits(bits + 64):
                low, high = (balls.ball(Fraction(end, 1 << bits)) for end in (prefix, prefix + 1))
                # The float guess may be one off next to a boundary.
                for size in (m - 1, m, m - 2):
                    if size >= 0 and self.ball(size + 1) <= low and high <= self.ball(size):
                        return size
            prefix = prefix << 64 | more_bits(source)
            bits += 64

    def _near(self, level: Fraction) -> int:
        """Return about the smallest m >= 1 with G(m) < level: a guess in floats, to be certified."""
        log_level = math.log(level.numerator) - math.log(level.denominator)
        fold = float(np.log(2.0 / (1.0 + self.noise.pmf(0)))) if self.folded else 0.0
        low, high = 0, max(2, math.ceil(self.noise.reach(abs(log_level) + 2.0)))
        while high - low > 1:  # G(low) >= level > G(high), 64 sections at a time
            points = np.unique(np.linspace(low, high, 65).round()[1:-1])
            points = points[(points > low) & (points < high)]
            below = self.noise.log_tail(points) + fold < log_level
            first = int(np.argmax(below)) if below.any() else len(points)
            low, high = (
                int(points[first - 1]) if first > 0 else low,
                int(points[first]) if first < len(points) else high,
            )
        return high


def more_bits(source: Entropy) -> int:
    """Return 64 fresh uniform bits as an integer."""
    word = np.empty(1, dtype="<u8")
    source.fill(word.view(np.uint8))
    return int(word[0])
