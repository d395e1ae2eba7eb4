"""Exact samples of integer noise, a hundred million and more a second.

`sample` draws from one distribution, `sample_many` from one per group of cells. Both use integers and
certified bounds only.

*Narrow noise* comes from a table of 65,536 slots, with integer thresholds behind it. The first 16 bits of a
uniform real U pick a slot. Where a slot lies wholly within one value, that is the answer (for variance 5,
99.9 % of draws). Otherwise 48 more bits make a 64-bit prefix u, which is compared with F = floor(2^64 t)
for the thresholds t of the cumulative distribution:

    u < F  implies  U <= (u + 1)/2^64 <= t,     u > F  implies  U >= u/2^64 >= (F + 1)/2^64 > t,

and u = F, one draw in 2^64 per threshold, is a tie that `inversion` settles. The far tails need no care of
their own: all thresholds beyond the table have F = 0 (or 2^64 - 1), so reaching them is a tie.

*Wide noise*, whose standard deviation a 16-bit table cannot hold, comes from narrow noise. Write
|x| = k s + u with s = 2^j and 0 <= u < s. The weight of x splits into the weight that narrow noise
(variance / s^2, or scale / s) gives to k, and a factor exp(-t) just below 1:

    Gaussian  exp(-x^2 / (2v)) = exp(-k^2 / (2 v/s^2)) exp(-t),   t = (2 k s u + u^2) / (2v)
    Laplace   exp(-|x| / b)    = exp(-k / (b/s)) exp(-t),         t = u / b

So: draw k from the narrow noise folded at zero, u from j uniform bits, a sign; keep them with probability
exp(-t), else start over; and start over at minus zero. What is kept has exactly the weights of the wide
noise. Whether a uniform W < 1 - exp(-t) is settled in integers, since t - t^2/2 <= 1 - exp(-t) <= t, or else
by balls; for all but one draw in a thousand, 16 bits of W exceed a bound on t that needs k only.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.noise import balls
from discreet.noise.distribution import Noise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.inversion import (
    Above,
    Entropy,
    Integers,
    SystemEntropy,
    more_bits,
    settle,
    thresholds,
)
from discreet.numbers import Exact

SLOTS = 1 << 16
UNDECIDED = -(1 << 15)
LARGEST = (1 << 15) - 1  # values are kept as 16-bit integers, so that the table stays in the cache

BLOCK = 1 << 18
"""Draws made at a time: enough to spread the cost of each NumPy call, few enough for the cache."""

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
    """Return the tables of a distribution: at most 0.1 s to make, some 0.3 MB to keep."""
    shift = 0
    while noise.narrowed(shift).size > noise.WIDEST:
        shift += 1
    return WideSampler.of(noise, shift) if shift else InversionTable.of(noise)


@dataclass(frozen=True, eq=False)
class InversionTable:
    """Draws of integer noise, or of its folded half, by table and certified thresholds."""

    law: Above
    """The size of the noise: what is not above zero counts as 0, or, folded, is not."""
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
        # NumPy indexes with 64-bit integers; `out` is a place for them that costs nothing.
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
            return settle(self.law, prefix, source)
        if prefix < 1 << 63:
            return -settle(self.law, prefix, source)
        # The upper half mirrors the lower one; 1 - U is known to as many bits, complemented.
        return settle(self.law, ~prefix & ((1 << 64) - 1), _Complement(source))


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
    """j, at most 31: the fine part is so many bits."""
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
    """Named scratch arrays, for one thread at a time; their contents are whatever was left there.

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
        found = self._bytes.get(name)
        if found is None or found.size < size * kind.itemsize:
            found = self._bytes[name] = np.empty(size * kind.itemsize, dtype=np.uint8)
        return found[: size * kind.itemsize].view(kind)
