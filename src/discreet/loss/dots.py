"""Losses connected to the dots in balls: from the probabilities of a law to masses on a grid, rounded up.

What lies in the cell from g to g + h, with probability P if the person is there and Q if not, is split
between the two ends: b = (P - e^g Q) / (1 - e^-h) above and a = P - b below. Both probabilities are kept. A
loss that balls cannot tell from an end of its cell may lie outside by as much as they are wide: what then
belongs to the next point but one is counted as lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz

from discreet.errors import PrecisionError
from discreet.loss.masses import TOTAL_BITS, Masses, grid_step
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.noise.balls import ball, dyadic, lower, upper

MOST_OUTCOMES = 60_000
"""Outcomes of one count that are connected to the dots in balls."""

MOST_CELLS = 1 << 17
"""Cells of a loss with a density."""

Cell = tuple[int, arb, arb]
"""The number of a cell, and the probabilities of what lies in it, with the person and without."""


@dataclass(frozen=True, eq=False)
class EventDots(Forgetful):
    """The loss of one event, as far as e^-nats, in one direction; or of a normal loss."""

    noise: Noise
    exchanged: bool
    nats: float

    @cached_property
    def _outcomes(self) -> tuple[list[tuple[arb, arb]], arb]:
        if self.noise.outcome_count(self.nats) is not None and self.noise.reach(self.nats) > MOST_OUTCOMES:
            raise PrecisionError(
                f"{self.noise} has more than {MOST_OUTCOMES:,} outcomes, too many for a proof; floats have it"
            )
        pairs, missed = self.noise.outcomes_ball(self.nats)
        if not all(chance > 0 or chance == 0 for pair in pairs for chance in pair):
            raise PrecisionError(f"the probabilities of {self.noise} cannot be told from zero")
        return [(p, q) if self.exchanged else (q, p) for p, q in pairs], missed

    @cached_property
    def _atoms(self) -> list[tuple[arb, arb, arb]]:
        """Finite losses with their probabilities, with the person and without."""
        if (density := self.noise.exact_density) is not None:
            return density.atoms()
        return [((p / q).log(), p, q) for p, q in self._outcomes[0] if p > 0 and q > 0]

    @cached_property
    def infinite(self) -> arb:
        """The probability of an infinite loss."""
        if self.noise.exact_density is not None:
            return arb(0)
        return sum((p for p, q in self._outcomes[0] if q == 0), arb(0))

    @cached_property
    def missed(self) -> arb:
        """At most the probability of what is left out."""
        if self.noise.exact_density is not None:
            return arb(0)
        return self._outcomes[1]

    def kept(self, theta: Fraction, cut: Fraction) -> tuple[list[tuple[arb, arb, arb]], arb]:
        """The atoms without ends of no more than this part of the tilted mass; and the mass of those ends."""
        t = ball(theta)
        tilted = sorted(
            ((float(loss.mid()), p * (t * loss).exp(), (loss, p, q)) for loss, p, q in self._atoms),
            key=lambda one: one[0],
        )
        most = ball(cut) * sum((mass for _, mass, _ in tilted), arb(0))
        lost, ends = arb(0), []
        for order in (range(len(tilted)), range(len(tilted) - 1, -1, -1)):
            gone = arb(0)
            for k in order:
                ends_here = k
                if not gone + tilted[k][1] < most:
                    break
                gone += tilted[k][1]
            ends.append(ends_here if tilted else 0)
            lost += gone
        return [atom for _, _, atom in tilted[ends[0] : ends[1] + 1]] if tilted else [], lost

    def masses(self, level: int, most: int, theta: Fraction, cut: Fraction) -> Masses:
        """On the grid of step 2^-level, or a coarser one with at most so many points, tilted and trimmed."""
        atoms, lost = self.kept(theta, cut)
        if atoms:
            span = float(upper(atoms[-1][0])) - float(lower(atoms[0][0]))
            level = min(level, math.floor(math.log2((most - 2) / span))) if span > 0 else level
        h = grid_step(level)
        points: dict[int, arb] = {}
        t, share = ball(theta), 1 / (1 - (-ball(h)).exp())
        step = (t * ball(h)).exp()
        lost *= step
        for cell, p, q in self._cells(atoms, level, h):
            low = ball(cell * h)
            above = (p - low.exp() * q) * share
            below = p - above
            tilt = (t * low).exp()
            points[cell] = points.get(cell, arb(0)) + below.max(arb(0)) * tilt
            points[cell + 1] = points.get(cell + 1, arb(0)) + above.max(arb(0)) * tilt * step
            # beyond an end by the width of the balls
            outside = (-above).max(arb(0)) + 3 * (-below).max(arb(0))
            if outside != 0:
                lost += outside.upper() * tilt * (step * step).max(1 / step)
        return masses_above(points, lost, level).trimmed(cut)

    def _cells(self, atoms: list[tuple[arb, arb, arb]], level: int, h: Fraction) -> Iterator[Cell]:
        unit = arb(2) ** level
        for loss, p, q in atoms:
            yield math.floor(dyadic((loss * unit).mid())), p, q
        if (density := self.noise.exact_density) is not None:
            yield from density.between(h)


@dataclass(frozen=True, eq=False)
class NormalDots(Forgetful):
    """A normal loss of this variance, whose mean is half of it."""

    variance: Fraction

    def masses(self, level: int, theta: Fraction, cut: Fraction) -> Masses:
        """On the grid of step 2^-level, tilted, but for tails of this part of the whole."""
        h = grid_step(level)
        spread = math.sqrt(self.variance)
        reach = math.sqrt(-2 * math.log(float(cut))) * spread
        centre = float(self.variance) * (0.5 + float(theta))
        first, last = math.floor((centre - reach) / float(h)), math.ceil((centre + reach) / float(h)) + 1
        root = (2 * ball(self.variance)).sqrt()
        mean, t = ball(self.variance / 2), ball(theta)
        # tails of the tilted law, whose whole is e^(theta (theta + 1) variance / 2)
        middle = mean + t * ball(self.variance)
        whole = (t * (t + 1) * mean).exp()
        lost = (
            whole
            * (((middle - ball(first * h)) / root).erfc() + ((ball(last * h) - middle) / root).erfc())
            / 2
        )
        with_, without = (_differences(first, last, h, centre, root) for centre in (mean, -mean))
        share = 1 / (1 - (-ball(h)).exp())
        step, tilt = (t * ball(h)).exp(), (t * ball(first * h)).exp()
        back, lift = ball(h).exp(), ball(first * h).exp()
        points = [arb(0)] * (last - first + 1)
        for k, (p, q) in enumerate(zip(with_, without, strict=True)):
            above = ((p - lift * q) * share).max(arb(0))
            points[k] += (p - above).max(arb(0)) * tilt
            tilt *= step
            points[k + 1] += above * tilt
            lift *= back
        numbered = {first + k: mass for k, mass in enumerate(points)}
        return masses_above(numbered, lost * (1 + step), level).trimmed(cut)


def _differences(first: int, last: int, h: Fraction, mean: arb, root: arb) -> Iterator[arb]:
    """P[k h < N <= (k + 1) h] for k from first to last - 1, N normal."""

    def tail(k: int) -> arb:
        return ((ball(k * h) - mean) / root).erfc() / 2

    before = tail(first)
    for k in range(first, last):
        after = tail(k + 1)
        yield before - after
        before = after


def masses_above(points: dict[int, arb], lost: arb, level: int) -> Masses:
    """Balls of mass at points of the grid in whole units, rounded up."""
    if not points:  # every loss is infinite
        return Masses(level, 0, np.zeros(1, dtype=np.uint64), 0, Fraction(0))
    first, last = min(points), max(points)
    whole = sum(points.values(), arb(0)).upper()
    exponent = math.ceil(upper(whole.log() / arb(2).log())) - TOTAL_BITS + 1
    unit = arb(2) ** -exponent
    mass = np.zeros(last - first + 1, dtype=np.uint64)
    excess = arb(0)
    for point, size in points.items():
        units = size * unit
        above = math.ceil(upper(units))
        mass[point - first] = above
        excess += fmpz(above) - units
    return Masses(
        level,
        first,
        mass,
        exponent,
        grid_step(level) ** 2,
        math.ceil(upper(excess)),
        math.ceil(upper(lost * unit)),
    )
