"""Exact samples of integer noise, a hundred million and more a second.

`sample` draws from one distribution, `sample_many` from one per group of cells. Both use integers and
certified bounds only.

*Inversion* draws from any law on 0, 1, 2, ... whose chances are balls. A law says G(m) = P[X >= m], falling
in m. A uniform real V is mapped to X = the number of m >= 1 with V < G(m), which has that law. At first 64
bits u of V are drawn and compared with F = floor(2^64 G(m)):

    u < F  implies  V <= (u + 1)/2^64 <= G(m),     u > F  implies  V >= u/2^64 >= (F + 1)/2^64 > G(m),

and a tie u = F, one draw in 2^64 for each m, is settled with as many bits as it takes. So the law is
exact although no probability is ever known exactly. Bits already seen are never thrown away: precision
decides how long the answer takes, never which answer it is.

*Narrow noise* comes from a table of 65,536 slots, with those thresholds behind it. The first 16 bits of a
uniform real pick a slot. Where a slot lies wholly within one value, that is the answer (for variance 5,
99.9 % of draws). Otherwise 48 more bits make a 64-bit prefix, which is compared with the thresholds. The far
tails need no special care: all thresholds beyond the table have F = 0 (or 2^64 - 1), so reaching them is a
tie.

*Wide noise*, whose standard deviation a 16-bit table cannot hold, comes from narrow noise. Write
|x| = k s + u with s = 2^j and 0 <= u < s. The weight of x splits into the weight that narrow noise
(variance / s^2, or scale / s) gives to k, and a factor exp(-t) just below 1:

    Gaussian  exp(-x^2 / (2v)) = exp(-k^2 / (2 v/s^2)) exp(-t),   t = (2 k s u + u^2) / (2v)
    Laplace   exp(-|x| / b)    = exp(-k / (b/s)) exp(-t),         t = u / b

So: draw k from the narrow noise folded at zero, u from j uniform bits, a sign; keep them with probability
exp(-t), else start over; and start over at minus zero. What is kept has exactly the weights of the wide
noise. Whether a uniform W < 1 - exp(-t) is settled in integers, since t - t^2/2 <= 1 - exp(-t) <= t, or by
balls; for all but one draw in a thousand, 16 bits of W exceed a bound on t that needs only k.

*Trials*: `Trials` finds which of very many independent trials succeed, by exact geometric skips.
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
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, PrecisionError
from discreet.noise import balls
from discreet.noise.distribution import Noise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.numbers import Exact

Integers = NDArray[np.int64]

MOST = 1 << 20
"""Thresholds that are kept; a law with more is drawn by balls alone, slowly but just as exactly."""

MOST_BITS = 1 << 12
"""Bits used to find thresholds, at most."""

Chance = Callable[[], "balls.arb"]
"""A probability: called, it gives a ball at the working precision."""

BASE = 1 << 10
LONGEST = 1 << 40
"""Trials at a time: enough for any release, and sums of skips stay far below 64 bits."""
_TOGETHER = 1 << 20  # skips drawn at a time


_DIRECT = 256  # for up to this many bytes, asking the system is quicker than setting up the cipher
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

    If not `given`, values within the bound count as 0, and the chances are P[X > bound + m] itself.

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
    >>> settle_draw(Above(DiscreteLaplace(1), 3), 1 << 62, SystemEntropy())  # exp(-2) < 1/4 < exp(-1)
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


def more_bits(source: Entropy) -> int:
    """Return 64 fresh uniform bits as an integer."""
    word = np.empty(1, dtype="<u8")
    source.fill(word.view(np.uint8))
    return int(word[0])


@dataclass(frozen=True)
class Trials:
    """Independent trials that each succeed with the same chance, strictly between 0 and 1.

    The chance is given as balls, and may be as small as you like.

    >>> from discreet.noise import DiscreteGaussian
    >>> noise = DiscreteGaussian(625)
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


# -- samples of noise ---------------------------------------------------------------------------------------

SLOTS = 1 << 16
UNDECIDED = -(1 << 15)
LARGEST = (1 << 15) - 1  # values are kept as 16-bit integers, so that the table stays in the cache

BLOCK = 1 << 18
"""Draws at a time: enough to spread the cost of each NumPy call, few enough for the cache."""

PARALLEL_FROM = 1 << 20
THREADS = 4

WORD: np.dtype[np.uint16] = np.dtype("<u2")
Scalar = TypeVar("Scalar", bound=np.generic)


def sample(distribution: Noise, size: int | tuple[int, ...], *, source: Entropy | None = None) -> Integers:
    """Return `size` independent draws as 64-bit integers.

    Guarantee. Assumed: `source` gives uniform and independent bits. Claimed: the draws are independent and
    have exactly the distribution named, far into both tails; no rounding, no truncation, no total-variation
    distance to account for. (What does not fit into 64 bits has a chance below exp(-2^30).) Each draw
    inverts the cumulative distribution at a uniform real of which as many bits are drawn as the answer
    needs. Decisions are comparisons of integers with thresholds certified by ball arithmetic. Not
    claimed: constant time. The argument is written out in `docs/explanation/sampling.md`.

    Large samples use several threads if `source` is the system's; any other source is read in order, so
    a seeded one gives the same draws again.

    >>> noise = sample(DiscreteGaussian("5"), 100_000)
    >>> bool(4.8 < np.mean(noise.astype(float) ** 2) < 5.2)
    True
    >>> sample(DiscreteGaussian("1/2"), (2, 3)).shape
    (2, 3)
    """
    shape = size if isinstance(size, tuple) else (operator.index(size),)
    if any(n < 0 for n in shape):
        raise InputError(f"size is {size}; it must be zero or more")
    if not isinstance(distribution, Noise):
        raise InputError(f"{distribution!r} cannot be sampled; use DiscreteGaussian or DiscreteLaplace")
    source = SystemEntropy() if source is None else source
    sampler = _sampler(distribution.single())
    out = np.empty(math.prod(shape), dtype=np.int64)
    threads = min(THREADS, os.cpu_count() or 1)
    if out.size < PARALLEL_FROM or threads == 1 or type(source) is not SystemEntropy:
        _fill(sampler, out, source)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(_fill, sampler, part, source) for part in np.array_split(out, threads)]:
                done.result()
    return out.reshape(shape)


def sample_many(
    distributions: Sequence[Noise | Exact],
    counts: Sequence[int] | None = None,
    *,
    source: Entropy | None = None,
) -> Integers:
    """Return draws for many groups of cells, each with its own noise, in one array in the order given.

    A number stands for the variance of discrete Gaussian noise. `counts` says how many draws each group
    gets (one each, if left out). Groups with equal noise are drawn together. Guarantee: as for `sample`.

    >>> from discreet.noise import DiscreteLaplace
    >>> noise = sample_many(["5", 625, DiscreteLaplace(2)], [3, 2, 4])
    >>> [part.size for part in np.split(noise, np.cumsum([3, 2]))]
    [3, 2, 4]
    """
    sizes = np.asarray([1] * len(distributions) if counts is None else counts, dtype=np.int64)
    if sizes.shape != (len(distributions),) or (sizes < 0).any():
        raise InputError(
            f"counts are {sizes.size} numbers for {len(distributions)} groups, the smallest "
            f"{sizes.min(initial=0)}; one number, zero or more, is needed for each group"
        )
    groups: dict[Noise, list[int]] = {}
    for i, item in enumerate(distributions):
        groups.setdefault(item if isinstance(item, Noise) else DiscreteGaussian(item), []).append(i)
    out = np.empty(int(sizes.sum()), dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    for noise, members in groups.items():
        counts_here = sizes[members]
        draws = sample(noise, int(counts_here.sum()), source=source)
        # Draw number j of a group goes to the group's start plus j.
        ahead = np.cumsum(counts_here) - counts_here
        out[np.repeat(starts[members] - ahead, counts_here) + np.arange(draws.size)] = draws
    return out


def _fill(sampler: InversionTable | WideSampler, out: Integers, source: Entropy) -> None:
    workspace = Workspace()
    for start in range(0, out.size, BLOCK):
        sampler.draw(out[start : start + BLOCK], source, workspace)


@lru_cache(maxsize=64)
def _sampler(noise: Noise) -> InversionTable | WideSampler:
    """Return the tables of a distribution, which take at most 0.1 s to build and some 0.3 MB."""
    shift = 0
    while noise.narrowed(shift).size > noise.WIDEST:
        shift += 1
    return WideSampler.of(noise, shift) if shift else InversionTable.of(noise)


@dataclass(frozen=True, eq=False)
class InversionTable:
    """Draws of integer noise, or of its folded half, by table and certified thresholds."""

    law: Above
    """The size of the noise; what is not above zero counts as 0, or is left out if folded."""
    thresholds: NDArray[np.uint64]
    """F, ascending, closed by 2^64 - 1; past c of them the value is `origin + step * c`."""
    origin: int
    step: int
    slots: NDArray[np.int16]
    """The value of each slot, or UNDECIDED."""
    passed: NDArray[np.uint16]
    """How many thresholds lie before each slot."""

    @classmethod
    def of(cls, noise: Noise, *, folded: bool = False) -> InversionTable:
        """Build the table of a distribution whose tail beyond 2^-64 starts before `LARGEST`.

        >>> from discreet.noise import DiscreteGaussian
        >>> table = InversionTable.of(DiscreteGaussian(5))
        >>> int(np.sum(table.slots == UNDECIDED))
        20
        """
        law = Above(noise, -1, given=folded)
        rising = thresholds(law)  # floors of 2^64 G(m), m = ..., 2, 1, from 0 up
        if rising is None or rising.size > LARGEST:
            raise ValueError(f"{noise} reaches beyond the {LARGEST} that a table holds")
        size = rising.size
        if folded:
            ends, origin, step = rising, size, -1
        else:
            # P[X <= -m] = G(m) and P[X < m] = 1 - G(m). G(m) is no multiple of 2^-64 (`floor` checked),
            # so floor(2^64 (1 - G)) = 2^64 - 1 - floor(2^64 G): the bitwise complement.
            ends, origin, step = np.concatenate([rising, ~rising[::-1]]), -size, 1
        # Nothing exceeds 2^64 - 1, so a search always ends; to equal it is at worst one more tie.
        ends = np.append(ends, ~np.uint64(0))
        edges = np.arange(SLOTS, dtype=np.uint64) << np.uint64(48)
        passed = np.searchsorted(ends, edges, side="left")
        decided = passed == np.append(passed[1:], len(ends))
        slots = np.where(decided, origin + step * passed, UNDECIDED)
        return cls(law, ends, origin, step, slots.astype(np.int16), passed.astype(np.uint16))

    def draw(self, out: Integers, source: Entropy, workspace: Workspace) -> None:
        """Fill `out` with draws."""
        words = workspace.array("words", WORD, out.size)
        source.fill(words.view(np.uint8))
        # NumPy indexes with 64-bit integers; `out` holds them at no cost.
        np.copyto(out, words)
        values = workspace.array("values", np.int16, out.size)
        np.take(self.slots, out, out=values, mode="clip")  # "clip" only to skip a check: words fit
        np.copyto(out, values)
        unsettled = np.flatnonzero(
            np.equal(values, UNDECIDED, out=workspace.array("mask", np.bool_, out.size))
        )
        if unsettled.size:
            out[unsettled] = self._refine(words[unsettled], source)

    def _refine(self, slot: NDArray[np.uint16], source: Entropy) -> Integers:
        """Return the draws that start in these slots, with 48 more bits each; ties with more."""
        prefix = np.empty(slot.size, dtype="<u8")
        source.fill(prefix.view(np.uint8))
        prefix >>= np.uint64(16)
        prefix |= slot.astype(np.uint64) << np.uint64(48)
        # Most slots hold one threshold: one comparison. The slots of the tails hold many: a search.
        count = self.passed[slot].astype(np.intp)
        count += self.thresholds[count] < prefix
        behind = np.flatnonzero(self.thresholds[count] < prefix)
        if behind.size:
            count[behind] = np.searchsorted(self.thresholds, prefix[behind], side="left")
        values: Integers = self.origin + self.step * count
        for i in np.flatnonzero(self.thresholds[count] == prefix):
            values[i] = self.settle(int(prefix[i]), source)
        return values

    def settle(self, prefix: int, source: Entropy) -> int:
        """Return the value of a uniform real that starts with these 64 bits, by ball arithmetic."""
        if self.step < 0:
            return settle_draw(self.law, prefix, source)
        if prefix < 1 << 63:
            return -settle_draw(self.law, prefix, source)
        # The upper half mirrors the lower one; 1 - U is known to as many bits, complemented.
        return settle_draw(self.law, ~prefix & ((1 << 64) - 1), _Complement(source))


class _Complement:
    """The bits of 1 - U when a source gives those of U."""

    def __init__(self, source: Entropy) -> None:
        self._source = source

    def fill(self, out: NDArray[np.uint8]) -> None:
        self._source.fill(out)
        np.invert(out, out=out)


@dataclass(frozen=True, eq=False)
class WideSampler:
    """Draws of wide noise: a folded table for the coarse part, uniform bits for the fine part."""

    noise: Noise
    table: InversionTable
    shift: int
    """j, at most 31: the number of bits of the fine part."""
    caps: NDArray[np.uint16]
    """For each k, the largest 16-bit prefix of W that does not yet prove W > t."""

    @classmethod
    def of(cls, noise: Noise, shift: int) -> WideSampler:
        """Build the sampler that splits off `shift` bits.

        >>> sampler = WideSampler.of(DiscreteGaussian(10**6), 4)
        >>> sampler.table.law.noise
        DiscreteGaussian(variance=Fraction(15625, 4), sensitivity=1, times=1)
        """
        table = InversionTable.of(noise.narrowed(shift), folded=True)
        sizes = range(table.origin + 1)
        bounds = [noise.split_exponent(k, 1 << shift, 1 << shift) for k in sizes]
        caps = [min((num << 16) // den, 65535) for num, den in bounds]
        caps[-1] = 65535  # stands for all larger k, too: always look closer
        return cls(noise, table, shift, np.array(caps, dtype=np.uint16))

    def draw(self, out: Integers, source: Entropy, workspace: Workspace) -> None:
        """Fill `out` with draws."""
        again = self._propose(out, source, workspace)
        while again.size:
            part = np.empty(again.size, dtype=np.int64)
            rejected = self._propose(part, source, workspace)
            out[again] = part
            again = again[rejected]

    def _propose(self, out: Integers, source: Entropy, workspace: Workspace) -> NDArray[np.intp]:
        """Fill `out` with proposals; return where they are rejected."""
        n = out.size
        self.table.draw(out, source, workspace)
        random = workspace.array("random", np.uint8, 6 * n)
        source.fill(random)
        fine, dice = random[: 4 * n].view("<u4"), random[4 * n :].view("<u2")
        caps, mask = workspace.array("caps", np.uint16, n), workspace.array("mask", np.bool_, n)
        np.take(self.caps, out, out=caps, mode="clip")
        doubtful = np.flatnonzero(np.less_equal(dice, caps, out=mask))
        sign = workspace.array("sign", np.int64, n)
        np.right_shift(fine.view("<i4"), 31, out=sign)  # the top bit: 0 or -1
        fine &= np.uint32((1 << self.shift) - 1)
        rejected = [i for i in doubtful if self._rejects(int(out[i]), int(fine[i]), int(dice[i]), source)]
        out <<= self.shift
        out |= fine
        zeros = np.flatnonzero(np.equal(out, 0, out=mask))
        rejected += zeros[sign[zeros] < 0].tolist()
        out ^= sign
        out -= sign
        return np.unique(np.array(rejected, dtype=np.intp))

    def _rejects(self, k: int, u: int, prefix: int, source: Entropy) -> bool:
        """Return whether a uniform real with this 16-bit prefix is below 1 - exp(-t)."""
        num, den = self.noise.split_exponent(k, u, 1 << self.shift)
        # Often the prefix is enough, now that u is known.
        return prefix * den < num << 16 and falls_below(num, den, prefix, 16, source)


def falls_below(num: int, den: int, prefix: int, bits: int, source: Entropy) -> bool:
    """Return whether a uniform real with these leading bits is below 1 - exp(-num/den).

    >>> from discreet.noise import SystemEntropy
    >>> [falls_below(1, 2, prefix, 4, SystemEntropy()) for prefix in (5, 7)]  # 1 - exp(-1/2) = 6.3/16
    [True, False]
    """
    while True:
        # t - t^2/2 <= 1 - exp(-t) <= t: integers decide all but a few
        if prefix * den >= num << bits:
            return False
        if (prefix + 1) * 2 * den * den <= num * (2 * den - num) << bits:
            return True
        with balls.working_bits(bits + 64):
            chance = 1 - (-balls.ball(Fraction(num, den))).exp()
            if balls.ball(Fraction(prefix, 1 << bits)) >= chance:
                return False
            if balls.ball(Fraction(prefix + 1, 1 << bits)) <= chance:
                return True
        prefix = prefix << 64 | more_bits(source)
        bits += 64


class Workspace:
    """Named scratch arrays for one thread at a time; their contents are left over from earlier use.

    Fresh memory for every block costs more than the sampling itself: the system has to clear each page.

    >>> workspace = Workspace()
    >>> first = workspace.array("words", WORD, 8)
    >>> second = workspace.array("words", WORD, 4)
    >>> np.shares_memory(first, second)
    True
    """

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, dtype: type[Scalar] | np.dtype[Scalar], size: int) -> NDArray[Scalar]:
        """Return an uninitialised array."""
        kind = np.dtype(dtype)
        scratch = self._bytes.get(name)
        if scratch is None or scratch.size < size * kind.itemsize:
            scratch = self._bytes[name] = np.empty(size * kind.itemsize, dtype=np.uint8)
        return scratch[: size * kind.itemsize].view(kind)
