"""Narrow noise from a table of 65,536 slots, with certified thresholds behind it.

The first 16 bits of a uniform real pick a slot. Where a slot lies wholly within one value, that is the answer
(for variance 5, 99.9 % of draws). Otherwise 48 more bits make a 64-bit prefix, which is compared with the
thresholds of `inversion.py`. The far tails need no special care: all thresholds beyond the table have F = 0
(or 2^64 - 1), so reaching them is a tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.noise.distribution import Noise
from discreet.noise.entropy import Entropy
from discreet.noise.inversion import Above, Integers, settle_draw, thresholds

SLOTS = 1 << 16
UNDECIDED = -(1 << 15)
LARGEST = (1 << 15) - 1  # values are kept as 16-bit integers, so that the table stays in the cache

WORD: np.dtype[np.uint16] = np.dtype("<u2")
Scalar = TypeVar("Scalar", bound=np.generic)


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
        >>> table = InversionTable.of(DiscreteGaussian(variance=5))
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
