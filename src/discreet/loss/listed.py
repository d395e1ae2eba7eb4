"""Few events by listing: every value of the loss in two halves that meet in the middle, or beside a normal
loss.

All sums have positive terms. Values whose probability is so small that the lists would be too long without
leaving them out are dropped, and what is dropped is part of the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.loss.lattice import Floats
from discreet.loss.sides import ROUNDING, Side, normal_delta, normal_errors, with_density
from discreet.memory import Forgetful
from discreet.noise.count_loss import first_of_equals, last_of_equals

MOST = 1_500_000
"""Values of a half."""

_PRODUCTS = 6_000_000  # values before equal ones are merged
_SHORT = 20_000  # values of a half that is quick for every purpose
_CUTS = (1e-300, 1e-100, 1e-45)
_BLOCK = 200.0  # nats of losses whose probabilities are summed with one reference


@dataclass(frozen=True, eq=False)
class ValueList(Forgetful):
    """Ascending values with their probabilities, and the probability of what was dropped."""

    value: Floats
    p: Floats
    dropped: float = 0.0

    @classmethod
    def nothing(cls) -> ValueList:
        """The loss of no event."""
        return cls(np.zeros(1), np.ones(1))

    def plus(self, other: ValueList, cut: float) -> ValueList | None:
        """The sum of two independent losses; None if it is too long."""
        if self.p.size * other.p.size > _PRODUCTS:
            return None
        if not self.p.size * other.p.size:  # every loss is infinite
            return ValueList(np.empty(0), np.empty(0), self.dropped + other.dropped)
        value = np.add.outer(self.value, other.value).ravel()
        with np.errstate(under="ignore"):
            p = np.multiply.outer(self.p, other.p).ravel()
        kept = p >= cut
        lost = float(p[~kept].sum()) + (self.dropped + other.dropped)
        value, p = value[kept], p[kept]
        if not value.size:  # finite losses are next to impossible
            return ValueList(value, p, lost)
        if value.size > MOST * 2:
            return None
        order = np.argsort(value, kind="stable")
        starts = first_of_equals(value[order])
        if starts.size > MOST:
            return None
        return ValueList(
            value[order][last_of_equals(starts, order.size)], np.add.reduceat(p[order], starts), lost
        )

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where blocks of losses begin that share a reference."""
        block = np.floor((self.value - self.value[0]) / _BLOCK)
        return np.append(np.flatnonzero(np.diff(block, prepend=-1)), self.value.size)

    @cached_property
    def above(self) -> tuple[Floats, Floats, Floats]:
        """Suffix sums of p; of p e^(r - v), r the reference of the block; and r; each with one entry more."""
        total = np.append(np.cumsum(self.p[::-1])[::-1], 0.0)
        null, reference = np.zeros(self.p.size + 1), np.zeros(self.p.size + 1)
        reference[-1] = self.value[-1]
        carry, before = 0.0, float(self.value[-1])
        for start, end in zip(self._starts[-2::-1], self._starts[:0:-1], strict=True):
            here = float(self.value[start])
            part = self.p[start:end] * np.exp(here - self.value[start:end])
            carry *= math.exp(here - before)
            null[start:end] = np.cumsum(part[::-1])[::-1] + carry
            reference[start:end] = here
            carry, before = float(null[start]), here
        return total, null, reference

    @cached_property
    def below(self) -> Floats:
        """Prefix sums of p, from 0 on."""
        return np.append(0.0, np.cumsum(self.p))


def folded(single: ValueList, times: int, cut: float) -> ValueList | None:
    """The sum of `times` independent losses; None if it is too long."""
    result: ValueList | None = ValueList.nothing()
    power: ValueList | None = single
    while times:
        if power is None:
            return None
        if times & 1:
            result = result.plus(power, cut) if result is not None else None
            if result is None:
                return None
        times >>= 1
        if times:
            power = power.plus(power, cut)
    return result


@dataclass(frozen=True, eq=False)
class Listed(Forgetful):
    """The loss of one side as two lists, and a normal loss."""

    side: Side
    left: ValueList
    right: ValueList

    @classmethod
    def of(cls, side: Side, most: int = MOST) -> Listed | None:
        """List the values of a side; None if there are too many, or a density that nothing smooths."""
        if side.has_density and not side.normal:
            return None
        for cut in _CUTS:
            made = cls._with_cut(side, cut, most)
            if made is not None:
                return made
        return None

    @classmethod
    def _with_cut(cls, side: Side, cut: float, most: int) -> Listed | None:
        halves: list[ValueList] = [ValueList.nothing(), ValueList.nothing()]
        ones = []
        for law, times in side.laws:
            value, log = with_density(law, 40) if side.normal else (law.value, law.log)
            p = np.exp(log)
            kept = p >= cut
            ones.append((ValueList(value[kept], p[kept], float(p[~kept].sum()) + law.left_out), times))
        for single, times in sorted(ones, key=lambda pair: -pair[0].p.size * pair[1]):
            halves.sort(key=lambda half: half.p.size)
            # beside a normal loss all values are needed in one list
            parts = (0, times) if side.normal else (times // 2, times - times // 2)
            for k, often in ((1, parts[0]), (0, parts[1])):
                if often:
                    more = folded(single, often, cut)
                    longer = None if more is None else halves[k].plus(more, cut)
                    if longer is None or longer.p.size > most:
                        return None
                    halves[k] = longer
        if side.normal:
            both = halves[0].plus(halves[1], cut)
            if both is None or both.p.size > most // 8:
                return None
            return cls(side, ValueList.nothing(), both)
        halves.sort(key=lambda half: half.p.size)
        return cls(side, *halves)

    @property
    def is_short(self) -> bool:
        """Whether hundreds of questions take no time."""
        return self.right.p.size <= _SHORT

    @property
    def dropped(self) -> float:
        """At most the probability of finite losses that are not listed."""
        return self.left.dropped + self.right.dropped

    def delta(self, epsilon: float) -> tuple[float, float]:
        """delta and its relative error."""
        side, left, right = self.side, self.left, self.right
        if not (left.p.size and right.p.size):  # every loss is infinite
            return 1.0, 0.0
        with np.errstate(under="ignore", over="ignore"):
            if side.normal:
                parts = right.p * normal_delta(epsilon - right.value, side.normal)
                value = float(parts.sum())
                room = (4e-13 + ROUNDING * side.depth) * value
            else:
                t = epsilon - left.value
                # losses just below epsilon may in truth lie above it
                at = np.searchsorted(right.value, t - side.rounding(epsilon), side="right")
                total, null, reference = right.above
                reached = at < right.p.size
                p, t, at = left.p[reached], t[reached], at[reached]
                lifted = np.exp(np.minimum(t - reference[at], 700.0)) * null[at]
                value = max(float(p @ (total[at] - lifted)), 0.0)
                depth = math.sqrt(right.p.size) + 100 * (1 + abs(epsilon))  # the losses are rounded, too
                room = ROUNDING * (depth + side.depth) * float(p @ total[at])
        # (the sum is rounded to the nearest)
        value = math.nextafter(value + side.infinite, 2.0) if value else side.infinite
        room += self.dropped
        return min(value + room, 1.0), (2 * room / value if value > 0 else (0.0 if not room else math.inf))

    def errors(self, threshold: float, *, lift: float = 0.0) -> tuple[float, float, float]:
        """e^lift Q[L > t], P[L <= t] and P[L > t], over finite and infinite losses.

        A Q[L > t] below all floats is not lost where it is lifted by t.
        """
        side, left, right = self.side, self.left, self.right
        if not (left.p.size and right.p.size):
            return 0.0, 0.0, 1.0
        with np.errstate(under="ignore", over="ignore"):
            if side.normal:
                log_alpha, beta, beyond = normal_errors(threshold - right.value, side.normal)
                null = float(right.p @ np.exp(lift - right.value + log_alpha))
                below, upper = float(right.p @ beta), float(right.p @ beyond)
            else:
                t = threshold - left.value
                at = np.searchsorted(right.value, t, side="right")
                total, nulls, reference = right.above
                below = float(left.p @ right.below[at])
                upper = float(left.p @ total[at])
                reached = at < right.p.size
                raised = np.exp(lift - left.value[reached] - reference[at[reached]])
                null = float((left.p[reached] * raised) @ nulls[at[reached]])
        return null, below, upper + side.infinite
