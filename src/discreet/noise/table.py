"""The fast part of the sampler: a table of 65,536 slots, and integer thresholds behind it.

The first 16 bits of a uniform real U pick a slot. Where a slot lies wholly within one value, that is the
answer (for variance 5, 99.9 % of draws). Else 48 more bits make a 64-bit prefix u, which is
compared with F = floor(2^64 t) for the thresholds t of the cumulative distribution:

    u < F  implies  U <= (u + 1)/2^64 <= t,     u > F  implies  U >= u/2^64 >= (F + 1)/2^64 > t,

and u = F, one draw in 2^64 per threshold, is a tie that `inversion` settles. The far tails need no
care of their own: all thresholds beyond the table have F = 0 (or 2^64 - 1), so reaching them is a tie.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.noise.distribution import Noise
from discreet.noise.entropy import Entropy
from discreet.noise.inversion import Tail
from discreet.noise.workspace import Workspace

SLOTS = 1 << 16
UNDECIDED = -(1 << 15)
LARGEST = (1 << 15) - 1  # values are kept as 16-bit integers, so that the table stays in the cache

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class InversionTable:
    """Draws of integer noise, or of its folded half, by table and certified thresholds."""

    tail: Tail
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

        >>> from discreet.noise import GaussianNoise
        >>> table = InversionTable.of(GaussianNoise(5))
        >>> int(np.sum(table.slots == UNDECIDED))
        20
        """
        tail = Tail(noise, folded=folded)
        floors = np.array(tail.floors(), dtype=np.uint64)  # of G(1), G(2), ..., down to 0
        size = len(floors)
        if size > LARGEST:
            raise ValueError(f"{noise} reaches {size}, beyond the {LARGEST} that a table holds")
        if folded:
            thresholds, origin, step = floors[::-1], size, -1
        else:
            # P[X <= -m] = G(m) and P[X < m] = 1 - G(m). G(m) is no multiple of 2^-64 (`floor` checked),
            # so floor(2^64 (1 - G)) = 2^64 - 1 - floor(2^64 G): the bitwise complement.
            thresholds, origin, step = np.concatenate([floors[::-1], ~floors]), -size, 1
        # Nothing exceeds 2^64 - 1, so a search always ends; to equal it is at worst one more tie.
        thresholds = np.append(thresholds, ~np.uint64(0))
        edges = np.arange(SLOTS, dtype=np.uint64) << np.uint64(48)
        passed = np.searchsorted(thresholds, edges, side="left")
        decided = passed == np.append(passed[1:], len(thresholds))
        slots = np.where(decided, origin + step * passed, UNDECIDED)
        return cls(tail, thresholds, origin, step, slots.astype(np.int16), passed.astype(np.uint16))

    def draw(self, out: Integers, source: Entropy, workspace: Workspace) -> None:
        """Fill `out` with draws."""
        words = workspace.array("words", "<u2", out.size)
        source.fill(words.view(np.uint8))
        # NumPy indexes with 64-bit integers; `out` is a place for them that costs nothing.
        np.copyto(out, words)
        values = workspace.array("values", "i2", out.size)
        np.take(self.slots, out, out=values, mode="clip")  # "clip" only to skip a check: words fit
        np.copyto(out, values)
        unsettled = np.flatnonzero(np.equal(values, UNDECIDED, out=workspace.array("mask", "?", out.size)))
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
            return self.tail.locate(prefix, 64, source)
        if prefix < 1 << 63:
            return -self.tail.locate(prefix, 64, source)
        # The upper half mirrors the lower one; 1 - U is known to as many bits, complemented.
        return self.tail.locate(~prefix & ((1 << 64) - 1), 64, _Complement(source))


class _Complement:
    """The bits of 1 - U when a source gives those of U."""

    def __init__(self, source: Entropy) -> None:
        self._source = source

    def fill(self, out: NDArray[np.uint8]) -> None:
        self._source.fill(out)
        np.invert(out, out=out)
