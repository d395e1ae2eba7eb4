"""Many independent pairs of laws at once: an upper bound on what they tell, by multiplying polynomials.

Every outcome is split in two, one of a likelihood ratio G^s below its own and one of G^(s+1) above: who sees
which of the two has happened knows more. What is left is on a lattice, and a product of such pairs is a
convolution of integers: the coefficient of x^s is the mass of ratio G^s under the second law, and G^s times
that is its mass under the first. All rounding is down, and what rounding, or a ratio too far out, leaves of
either law counts as certainty. So every number is a bound, whatever step and range were chosen, and both are
chosen such that it is a close one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import fmpz_poly

Masses = Sequence[tuple[Fraction, Fraction]]
"""The mass of each outcome under the first and under the second law."""

STEPS = 1 << 14
"""Steps of the lattice."""

FARTHEST = 200.0
"""Ratios beyond e to this, or below its inverse, count as certainty."""

_NATS = 46.0  # what else may be cut off has e^-46 at most
_POWER_BITS = 512
_SLACK = 1 - Fraction(1, 1 << 90)  # more than the powers of the step are rounded by


def lattice_product(laws: Sequence[tuple[Masses, int]]) -> list[tuple[Fraction, Fraction]]:
    """Return masses of a pair of laws that tells at least what these tell, each as often as it says.

    >>> third = [(Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))]
    >>> masses = lattice_product([(third, 1000)])
    >>> float(sum(max(p - q, 0) for p, q in masses)) > 1 - 1e-12
    True
    >>> masses = lattice_product([(third, 2)])  # as 5/9 and 4/9 are told apart, and 1/9 and 4/9
    >>> 0 <= sum(max(p - q, 0) for p, q in masses) - Fraction(1, 3) < 1e-9
    True
    """
    logs = [_logs(masses) for masses, _ in laws]
    low, high = _range(logs, [times for _, times in laws])
    step = _step(logs, (high - low) / STEPS)
    if step == 0:  # nothing but certainty, and outcomes that tell nothing
        step = 1.0
    # each outcome may go up by a step, or down
    room = 1 + min(sum(times for _, times in laws), STEPS // 8)
    first, last = math.floor(low / step) - room, math.ceil(high / step) + room
    lattice = _Lattice(step, first, last)
    product = lattice.nothing
    for masses, times in laws:
        product = lattice.times(product, lattice.power(lattice.pair(masses), times))
    return lattice.masses(product)


def _logs(masses: Masses) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The logarithms of the ratios that are finite and not 0, and the masses under the second law."""
    both = [(p, q) for p, q in masses if p and q]
    logs = [_log(p) - _log(q) for p, q in both]
    return np.array(logs, dtype=np.float64), np.array([float(q) for _, q in both], dtype=np.float64)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _range(
    logs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], times: Sequence[int]
) -> tuple[float, float]:
    """Between which logarithms nearly all of either law lies, by Chernoff's bound; 0 is among them."""

    def cumulants(t: float) -> float:
        total = 0.0
        for (ratios, weights), many in zip(logs, times, strict=True):
            if ratios.size:
                top = float((t * ratios).max())
                inside = float((weights * np.exp(t * ratios - top)).sum())
                total += many * (top + math.log(inside)) if inside > 0 else 0.0
        return total

    tilts = np.geomspace(1e-3, 1e3, 61)
    above = min((cumulants(1 + t) + _NATS) / t for t in tilts)
    below = min((cumulants(-t) + _NATS) / t for t in tilts)
    most = sum(many * float(r.max(initial=0.0)) for (r, _), many in zip(logs, times, strict=True))
    least = sum(many * float(r.min(initial=0.0)) for (r, _), many in zip(logs, times, strict=True))
    high, low = min(above, most, FARTHEST), max(-below, least, -FARTHEST)
    return min(low, 0.0), max(high, 0.0)


def _step(logs: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]], fine: float) -> float:
    """A step not below this one that has the ratio of most mass, other than 1, among its powers."""
    weight_of: dict[float, float] = {}
    for ratios, weights in logs:
        for ratio, weight in zip(np.abs(ratios).tolist(), weights.tolist(), strict=True):
            if ratio > 1e-12:
                rounded = round(ratio, 9)
                weight_of[rounded] = weight_of.get(rounded, 0.0) + weight
    if not weight_of:
        return fine
    likely = max(weight_of, key=lambda ratio_of_two: weight_of[ratio_of_two] * ratio_of_two)
    return likely / math.floor(likely / fine) if likely > fine > 0 else max(fine, likely)


class _Lattice:
    """Powers of a step from the first to the last, and pairs of laws on it as polynomials."""

    def __init__(self, step: float, first: int, last: int) -> None:
        self.first, self.last = first, last
        # masses are multiples of 2^-bits under the second law, of 2^-100 and less under the first
        self.bits = 128 + math.ceil(max(last, -first) * step / math.log(2))
        self._ratio = Fraction(round(math.exp(step) * 2**60), 2**60) if step < 40 else Fraction(2**60)
        unit = 1 << _POWER_BITS
        up, down = [unit], [unit]
        top, bottom = self._ratio.numerator, self._ratio.denominator
        for _ in range(last + 1):
            up.append(up[-1] * top // bottom)
        for _ in range(-first + 1):
            down.append(down[-1] * bottom // top)
        self._up, self._down = up, down  # rounded down, by less than a part in 2^150
        self._log = math.log(top) - math.log(bottom)

    def power_below(self, exponent: int) -> Fraction:
        """G to this power, rounded down."""
        return Fraction(self._up[exponent] if exponent >= 0 else self._down[-exponent], 1 << _POWER_BITS)

    @property
    def nothing(self) -> tuple[int, fmpz_poly]:
        """What tells nothing: the place of the first coefficient, and the coefficients."""
        from flint import fmpz_poly

        return 0, fmpz_poly([1 << self.bits])

    def pair(self, masses: Masses) -> tuple[int, fmpz_poly]:
        """A pair of laws on the lattice, in units of 2^-bits; what is not there is certainty."""
        from flint import fmpz_poly

        weights: dict[int, int] = {}
        for p, q in masses:
            if not p or not q:
                continue
            ratio = p / q
            near = _log(ratio) / self._log
            if not self.first < near < self.last:
                continue
            exponent = min(max(math.floor(near), self.first), self.last - 1)
            while exponent > self.first and self.power_below(exponent) > ratio:
                exponent -= 1
            while exponent < self.last - 1 and self.power_below(exponent + 1) <= ratio:
                exponent += 1
            low, high = self.power_below(exponent), self.power_below(exponent + 1)
            if not low <= ratio <= high:
                continue
            upper = (p - low * q) / (high - low)  # p = low (q - upper) + high upper
            for at, part in ((exponent, q - upper), (exponent + 1, upper)):
                kept = math.floor(part * _SLACK * (1 << self.bits))
                if kept > 0:
                    weights[at] = weights.get(at, 0) + kept
        if not weights:
            return 0, fmpz_poly([0])
        start = min(weights)
        return start, fmpz_poly([weights.get(at, 0) for at in range(start, max(weights) + 1)])

    def times(self, pair: tuple[int, fmpz_poly], other: tuple[int, fmpz_poly]) -> tuple[int, fmpz_poly]:
        """Two independent pairs as one, rounded down; what lies beyond the lattice is certainty."""
        from flint import fmpz_poly

        start = pair[0] + other[0]
        coefficients = [int(c) >> self.bits for c in (pair[1] * other[1]).coeffs()]
        cut = max(self.first - start, 0)
        kept = coefficients[cut : max(self.last - start + 1, 0)]
        return (start + cut, fmpz_poly(kept)) if kept else (0, fmpz_poly([0]))

    def power(self, pair: tuple[int, fmpz_poly], times: int) -> tuple[int, fmpz_poly]:
        """A pair as often as it says."""
        made = self.nothing
        while times:
            if times & 1:
                made = self.times(made, pair)
            times >>= 1
            if times:
                pair = self.times(pair, pair)
        return made

    def masses(self, pair: tuple[int, fmpz_poly]) -> list[tuple[Fraction, Fraction]]:
        """The masses under both laws, with certainty for what is missing of either."""
        start, unit = pair[0], 1 << self.bits
        places = [(start + at, int(c)) for at, c in enumerate(pair[1].coeffs()) if c]
        # masses under the first law in units of 2^-(bits + _POWER_BITS), rounded down
        first = [c * (self._up[at] if at >= 0 else self._down[-at]) for at, c in places]
        whole = unit << _POWER_BITS
        inner = [(Fraction(p, whole), Fraction(c, unit)) for (_, c), p in zip(places, first, strict=True)]
        sure = Fraction(whole - sum(first), whole), Fraction(unit - sum(c for _, c in places), unit)
        return [(sure[0], Fraction(0)), *reversed(inner), (Fraction(0), sure[1])]
