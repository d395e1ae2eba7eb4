"""Exact inversion: draws from any law on 0, 1, 2, ... whose chances are known as balls.

A law says G(m) = P[X >= m], falling in m. A uniform real V is mapped to X = the number of m >= 1 with
V < G(m), which has that law. At first 64 bits u of V are drawn and compared with F = floor(2^64 G(m)):

    u < F  implies  V <= (u + 1)/2^64 <= G(m),     u > F  implies  V >= u/2^64 >= (F + 1)/2^64 > G(m),

and a tie u = F, one draw in 2^64 for each m, is settled with as many bits as it takes. So the law is
exact although no probability is ever known exactly. Bits already seen are never thrown away: precision
decides how long the answer takes, never which answer it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrecisionError
from discreet.noise import balls
from discreet.noise.distribution import Noise
from discreet.noise.entropy import Entropy, SystemEntropy, more_bits

Integers = NDArray[np.int64]

MOST = 1 << 20
"""Thresholds that are kept; a law with more is drawn by balls alone, slowly but just as exactly."""

MOST_BITS = 1 << 12
"""Bits used to find thresholds, at most."""

Chance = Callable[[], "balls.arb"]
"""A probability: called, it gives a ball at the working precision."""


class CountingLaw(ABC):
    """A law on 0, 1, 2, ..., given by balls."""

    @abstractmethod
    def ball(self, m: int) -> balls.arb:
        """Return a ball around P[X >= m], m >= 1, at the working precision."""

    @abstractmethod
    def thresholds(self) -> int:
        """Return how many m >= 1 have P[X >= m] above 2^-64: all there are, or a guess that is refined."""

    @property
    def last(self) -> int | None:
        """The largest value, or None if there is none."""
        return None

    def chances(self, count: int) -> list[balls.arb]:
        """Return balls around P[X >= m] for m = 1, ..., count."""
        return [self.ball(m) for m in range(1, count + 1)]


@dataclass(frozen=True)
class Kinds(CountingLaw):
    """One of a few cases, by their weights: balls that need not add up to one.

    >>> from discreet.noise import DiscreteLaplace
    >>> noise = DiscreteLaplace(scale=1)
    >>> draws = draw(Kinds((lambda: noise.ball_upper(1), lambda: noise.ball_upper(2))), 10_000)
    >>> bool(6900 < np.sum(draws == 0) < 7700)  # e / (1 + e) = 0.731
    True
    """

    weights: tuple[Chance, ...]

    def ball(self, m: int) -> balls.arb:
        """Return the share of the cases from number m on."""
        parts = [weight() for weight in self.weights]
        return sum(parts[m:], balls.ball(0)) / sum(parts, balls.ball(0))

    def thresholds(self) -> int:
        """Return the number of cases less one."""
        return len(self.weights) - 1

    @property
    def last(self) -> int:
        """The last case."""
        return len(self.weights) - 1


@dataclass(frozen=True)
class Above(CountingLaw):
    """How far noise lies beyond its bound, given that it does: X - bound - 1 given X > bound.

    If not `given`, values within the bound count as 0, and the chances are P[X > bound + m] itself.

    >>> from discreet.noise import DiscreteGaussian
    >>> int(draw(Above(DiscreteGaussian(variance=625), 93), 1000).min())
    0
    """

    noise: Noise
    bound: int
    given: bool = True

    def ball(self, m: int) -> balls.arb:
        """Return P[X > bound + m | X > bound]."""
        return self.noise.ball_upper(self.bound + 1 + m) * self._unit()

    def _unit(self) -> balls.arb:
        return 1 / self.noise.ball_upper(self.bound + 1) if self.given else balls.ball(1)

    def thresholds(self) -> int:
        """Return about where the tail is 2^-64 of the tail beyond the bound."""
        weight = float(self.noise.log_sf(self.bound)) if self.given else 0.0
        return max(1, int(self.noise.reach(46.0 - weight)) - self.bound)

    def chances(self, count: int) -> list[balls.arb]:
        """Return the chances, summed from the far end inward, so that the sums only grow."""
        far = self.bound + 1 + count
        reach = max(far, -self.bound)
        pmfs = self.noise.ball_pmfs(reach + 1)
        unit = self._unit()
        total = self.noise.ball_upper(far)
        result = [total * unit]
        for x in range(far - 1, self.bound + 1, -1):
            total += pmfs[abs(x)]
            result.append(total * unit)
        result.reverse()
        return result


def draw(law: CountingLaw, size: int, *, source: Entropy | None = None) -> Integers:
    """Return independent draws of a law.

    Guarantee. Assumed: `source` gives uniform and independent bits, and the law's balls contain its chances.
    Claimed: the draws are independent and have exactly that law.
    """
    source = SystemEntropy() if source is None else source
    prefix = np.empty(size, dtype="<u8")
    source.fill(prefix.view(np.uint8))
    rising = thresholds(law)
    if rising is None:
        return np.array([settle_draw(law, int(word), source) for word in prefix], dtype=np.int64)
    # thresholds above u count; those equal to u are ties
    beyond = np.searchsorted(rising, prefix, side="right")
    values = (rising.size - beyond).astype(np.int64)
    for i in np.flatnonzero((beyond > 0) & (rising[np.maximum(beyond, 1) - 1] == prefix)):
        values[i] = settle_draw(law, int(prefix[i]), source)
    return values


def settle_draw(law: CountingLaw, prefix: int, source: Entropy) -> int:
    """Return the value for a uniform real that starts with these 64 bits, by balls alone.

    >>> from discreet.noise import DiscreteLaplace
    >>> settle_draw(Above(DiscreteLaplace(scale=1), 3), 1 << 62, SystemEntropy())  # exp(-2) < 1/4 < exp(-1)
    1
    """
    real = _Real(prefix, source)
    low, high = 0, 1  # the real is below G(low); is it below G(high)?
    while (law.last is None or high <= law.last) and real.below(law, high):
        low, high = high, 2 * high
    if law.last is not None:
        high = min(high, law.last + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if real.below(law, middle) else (low, middle)
    return low


class _Real:
    """A uniform real of which as many bits are drawn as questions about it need."""

    def __init__(self, prefix: int, source: Entropy) -> None:
        self._prefix, self._bits, self._source = prefix, 64, source

    def below(self, law: CountingLaw, m: int) -> bool:
        """Return whether the real is below G(m)."""
        while self._bits <= balls.MAX_BITS:
            with balls.working_bits(self._bits + 128):
                chance = law.ball(m)
                if balls.ball(Fraction(self._prefix + 1, 1 << self._bits)) <= chance:
                    return True
                if balls.ball(Fraction(self._prefix, 1 << self._bits)) >= chance:
                    return False
            self._prefix = self._prefix << 64 | more_bits(self._source)
            self._bits += 64
        raise PrecisionError(f"{balls.MAX_BITS} bits do not settle a draw of {law}")


@lru_cache(maxsize=64)
def thresholds(law: CountingLaw) -> NDArray[np.uint64] | None:
    """Return floor(2^64 G(m)), rising, down to the first zero.

    None if there are too many, or if one cannot be separated from an integer: then balls alone decide.
    """
    count, bits = law.thresholds(), 192
    while count <= MOST and bits <= MOST_BITS:
        with balls.working_bits(bits):
            floors, unit = [], balls.ball(1 << 64)
            for chance in law.chances(count):
                whole = balls.floor(chance * unit)
                if whole is None:  # it may lie on either side of an integer
                    break
                floors.append(whole)
        if len(floors) < count:
            bits *= 2
        elif floors[-1] == 0 or count == law.last:
            falling = floors[: floors.index(0) + 1] if 0 in floors else floors
            return np.array(falling[::-1], dtype=np.uint64)
        else:
            count += count // 8 + 1
    return None
