"""Exact inversion: draws from any law on 0, 1, 2, ... whose chances are balls, with as many bits as it takes.

A law says G(m) = P[X >= m], falling in m. A uniform real V is mapped to X = the number of m >= 1 with
V < G(m), which has that law. Of V, 64 bits u are drawn at first and compared with F = floor(2^64 G(m)):

    u < F  implies  V <= (u + 1)/2^64 <= G(m),     u > F  implies  V >= u/2^64 >= (F + 1)/2^64 > G(m),

and a tie u = F, one draw in 2^64 for each m, is settled with as many bits as it takes. So the law is
exact although no probability is ever known exactly. Bits already seen are never thrown away: precision
decides how long the answer takes, never which answer it is. `sampler` makes its tables of these thresholds.

`Trials` finds which of very many independent trials succeed, by exact geometric skips.
The number of failures before a success is geometric: P[S >= m] = f^m with f the chance of a failure. Written
in base B, its digits are independent: with S = B Q + R,

    P[Q = q, R = r] = (1 - f) f^(B q + r) = [(1 - f^B) (f^B)^q] [(1 - f) f^r / (1 - f^B)],

so the lowest digit is a geometric variable cut off at B, and the rest is geometric with f^B in place of f.
Each digit is drawn exactly, although f itself is only known by balls.

*Where the random bits come from* is an argument, never a global generator. The default, `SystemEntropy`,
keeps no state at all. Each request draws a fresh 256-bit key from the operating system, stretches it with
ChaCha20 and drops it. So there is nothing that a forked child could replay, nothing that two threads could
share, and no generator whose state would give earlier noise away. (Dropped memory is freed, not wiped.)
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, PrecisionError
from discreet.noise import balls
from discreet.noise.distribution import Noise

Integers = NDArray[np.int64]

MOST = 1 << 20
"""Thresholds that are kept; a law with more is drawn by balls alone, slowly and as exactly."""

MOST_BITS = 1 << 12
"""Bits that thresholds are sought with."""

Chance = Callable[[], "balls.arb"]
"""A probability: called, it gives a ball at the working precision."""

BASE = 1 << 10
LONGEST = 1 << 40
"""Trials at a time: enough for any release, and sums of skips stay far from the end of 64 bits."""
BLOCK = 1 << 20


_DIRECT = 256  # up to so many bytes, asking the system is quicker than setting up the cipher
_PER_KEY = 1 << 20
_ZEROS = bytes(_PER_KEY)  # the keystream is what encrypting zeros gives


@runtime_checkable
class Entropy(Protocol):
    """A source of uniform random bits."""

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out`, a contiguous array of bytes, with uniform and independent random bytes."""


class SystemEntropy:
    """Cryptographic randomness: ChaCha20 under keys from `os.urandom`, one fresh key per request.

    Guarantee. Assumed: the operating system's generator gives keys that an adversary cannot guess, and
    ChaCha20's output cannot be told from uniform bits without the key. Then the bytes cannot be told
    from uniform and independent ones: across calls, threads, and processes, forked or spawned.

    >>> out = np.zeros(1000, dtype=np.uint8)
    >>> SystemEntropy().fill(out)
    >>> len(set(out.tolist())) > 200
    True
    """

    __slots__ = ()

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Overwrite `out` with random bytes."""
        if out.size <= _DIRECT:
            out[:] = np.frombuffer(os.urandom(out.size), dtype=np.uint8)
            return
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

        zeros, view = memoryview(_ZEROS), out.data
        for start in range(0, out.size, _PER_KEY):
            part = view[start : start + _PER_KEY]
            # A key is used for one nonce only, so the nonce (and counter) may start at zero.
            stream = Cipher(ChaCha20(os.urandom(32), bytes(16)), mode=None).encryptor()
            stream.update_into(zeros[: len(part)], part)

    def __repr__(self) -> str:
        return "SystemEntropy()"


class CountingLaw(ABC):
    """A law on 0, 1, 2, ... by its balls."""

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
    >>> noise = DiscreteLaplace(1)
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

    If not `given`, what lies within the bound counts as 0, and P[X > bound + m] is meant as it stands.

    >>> from discreet.noise import DiscreteGaussian
    >>> int(draw(Above(DiscreteGaussian(625), 93), 1000).min())
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
        return np.array([settle(law, int(word), source) for word in prefix], dtype=np.int64)
    # thresholds above u count; those equal to u are ties
    beyond = np.searchsorted(rising, prefix, side="right")
    values = (rising.size - beyond).astype(np.int64)
    for i in np.flatnonzero((beyond > 0) & (rising[np.maximum(beyond, 1) - 1] == prefix)):
        values[i] = settle(law, int(prefix[i]), source)
    return values


def settle(law: CountingLaw, prefix: int, source: Entropy) -> int:
    """Return the value for a uniform real that starts with these 64 bits, by balls alone.

    >>> from discreet.noise import DiscreteLaplace
    >>> settle(Above(DiscreteLaplace(1), 3), 1 << 62, SystemEntropy())  # exp(-2) < 1/4 < exp(-1)
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

    None if there are too many, or if one cannot be told from an integer: then balls alone decide.
    """
    count, bits = law.thresholds(), 192
    while count <= MOST and bits <= MOST_BITS:
        with balls.working_bits(bits):
            floors, unit = [], balls.ball(1 << 64)
            for chance in law.chances(count):
                whole = balls.floor(chance * unit)
                if whole is None:  # it cannot be told on which side of an integer
                    break
                floors.append(whole)
        if len(floors) < count:
            bits *= 2
        elif floors[-1] == 0 or count == law.last:
            found = floors[: floors.index(0) + 1] if 0 in floors else floors
            return np.array(found[::-1], dtype=np.uint64)
        else:
            count += count // 8 + 1
    return None


def more_bits(source: Entropy) -> int:
    """Return 64 fresh uniform bits as an integer."""
    word = np.empty(1, dtype="<u8")
    source.fill(word.view(np.uint8))
    return int(word[0])


@dataclass(frozen=True)
class Trials:
    """Independent trials that each succeed with the same chance, strictly between 0 and 1.

    The chance is given as balls. It may be as small as it likes.

    >>> from discreet.noise import DiscreteGaussian
    >>> noise = DiscreteGaussian(625)
    >>> trials = Trials(lambda: noise.ball_upper(94))
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
        # few thresholds, once the rest's chance of success is not small any more
        while places < 4 and chance * BASE ** (places + 1) < 1.0:
            places += 1
        digits = [Digit(self.success, BASE**place, base=BASE) for place in range(places)]
        # four digits reach LONGEST: of the rest it only matters whether it is zero
        return [*digits, Digit(self.success, BASE**places, most=1 if places == 4 else None)]
