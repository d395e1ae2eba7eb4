"""Wide noise, whose standard deviation a table of 16 bits cannot hold, from narrow noise.

Write |x| = k s + u with s = 2^j and 0 <= u < s. The weight of x splits into the weight that narrow noise
(variance / s^2, or scale / s) gives to k, and a factor exp(-t) just below 1:

    Gaussian  exp(-x^2 / (2v)) = exp(-k^2 / (2 v/s^2)) exp(-t),   t = (2 k s u + u^2) / (2v)
    Laplace   exp(-|x| / b)    = exp(-k / (b/s)) exp(-t),         t = u / b

So: draw k from the narrow noise folded at zero, u from j uniform bits, a sign; keep them with probability
exp(-t), else start over; and start over at minus zero. What is kept has exactly the weights of the wide
noise. Whether a uniform W < 1 - exp(-t) is settled in integers, since t - t^2/2 <= 1 - exp(-t) <= t, or by
balls; for all but one draw in a thousand, 16 bits of W exceed a bound on t that needs only k.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise import balls
from discreet.noise.entropy import Entropy, more_bits
from discreet.noise.inversion import Integers
from discreet.noise.inversion_table import InversionTable, Workspace
from discreet.noise.lattice import LatticeNoise


@dataclass(frozen=True, eq=False)
class WideSampler:
    """Draws of wide noise: a folded table for the coarse part, uniform bits for the fine part."""

    noise: LatticeNoise
    table: InversionTable
    shift: int
    """j, at most 31: the number of bits of the fine part."""
    caps: NDArray[np.uint16]
    """For each k, the largest 16-bit prefix of W that does not yet prove W > t."""

    @classmethod
    def of(cls, noise: LatticeNoise, shift: int) -> WideSampler:
        """Build the sampler that splits off `shift` bits.

        >>> from discreet.noise import DiscreteGaussian
        >>> sampler = WideSampler.of(DiscreteGaussian(variance=10**6), 4)
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
