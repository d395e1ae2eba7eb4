"""All cases of any laws on one grid: which of them may have the largest delta.

A case is a product of paths, and so is its transform. Under one tilt and on one grid each kind of event is
transformed once; a case then takes one product and one transform back. Its delta on the grid is an upper
bound, and how far below it the truth may lie is known (`discreet.accounting.laws.gridded`), so that most
cases are ruled out as the worst without being evaluated one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.laws.gridded import OFFSETS, OUTSIDE, Gridded, TiltedGrid
from discreet.accounting.laws.sides import Side
from discreet.accounting.loss import Floats
from discreet.budget.neighbours import Cases
from discreet.memory import Forgetful
from discreet.noise import Noise
from discreet.noise.distribution import Complexes

SIZES = (2**15, 2**18)
"""Points of the grids, one after the other, as long as several cases are left."""

MOST_CASES = 20_000
"""With more cases none is ruled out this way."""


class LawPairs(Forgetful):
    """Bounds of delta of all cases together.

    >>> from discreet.budget import Level, Query, Release, Spine, cases
    >>> levels = [Level(name=n, queries=[Query(name="total", scale=4, exponent="3/2")]) for n in "AB"]
    >>> spine = Spine(may_merge_up=["B"])
    >>> small = Release(name="small", neighbours="bounded", levels=levels, spine=spine)
    >>> LawPairs(cases(small, "bounded")).hopeful(Fraction(1), np.arange(3)).tolist()
    [0]
    """

    def __init__(self, cases: Cases) -> None:
        self.cases = cases

    @classmethod
    def takes(cls, cases: object, events: Iterable[Noise]) -> bool:
        """Whether cases can be compared so: a few thousand, of mirrored losses that are finite."""
        return (
            isinstance(cases, Cases)
            and 2 < len(cases) <= MOST_CASES
            and all(event.is_mirrored and not event.loss_law().infinite for event in events)
        )

    @cached_property
    def _kinds(self) -> dict[Noise, Side]:
        return {
            event: Side((event,), False)
            for group in self.cases.groups
            for events in group.events
            for event in events
        }

    @cached_property
    def _main(self) -> Side:
        return Side(self.cases[self.cases.main][1], False)

    def hopeful(self, epsilon: Fraction, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cases among these that may have the largest delta at epsilon, by the bounds of all of them."""
        for size in SIZES:
            upper, lower = self._bounds(float(epsilon), numbers, size)
            numbers = numbers[upper >= lower.max()]
            if numbers.size == 1:
                break
        return numbers

    def _paths(self, number: int) -> list[tuple[int, int]]:
        """The paths of a case: their groups, and their places in them."""
        choice = self.cases.choice(number)
        return [(group, path) for group, paths in enumerate(choice) for path in paths]

    def _bounds(self, epsilon: float, numbers: NDArray[np.int64], size: int) -> tuple[Floats, Floats]:
        """Upper and lower bounds of delta, in units of one scale."""
        theta = self._main.saddle(epsilon)
        spread = math.sqrt(max(self._main.tilted_moments(theta)[1], 1e-12))
        moves = OFFSETS / spread
        tilts = np.concatenate([[theta], theta + moves, theta - moves])
        logs = {event: side.log_mgf(tilts) for event, side in self._kinds.items()}
        by_path = [
            [sum(logs[event] for event in path) for path in group.events] for group in self.cases.groups
        ]
        chosen = [self._paths(int(number)) for number in numbers]
        own = [np.asarray(sum(by_path[g][i] for g, i in paths)) for paths in chosen]
        with np.errstate(over="ignore", invalid="ignore"):
            rooms = [(log[1:] - log[0] + OUTSIDE) / np.tile(moves, 2) for log in own]
        many = moves.size
        high = max(float(np.nanmin(room[:many])) for room in rooms)
        low = -max(float(np.nanmin(room[many:])) for room in rooms)
        h = (high - low) / (size - 32)
        made = {event: Gridded(side).spectrum(theta, size, h) for event, side in self._kinds.items()}
        spectra = [
            [_product(made[e][0] for e in path) for path in group.events] for group in self.cases.groups
        ]
        first = math.floor(low / h) - 8
        scale = max(float(log[0]) for log in own)
        upper, lower = np.empty(len(chosen)), np.empty(len(chosen))
        for k, paths in enumerate(chosen):
            events = [event for g, i in paths for event in self.cases.groups[g].events[i]]
            splits = sum(made[event][1] for event in events)
            left_out = sum(made[event][2] for event in events)
            p = np.roll(np.fft.irfft(_product(spectra[g][i] for g, i in paths), size), -(first % size))
            noise = 3e-16 * (math.log2(size) + splits)
            outside = 2 * math.exp(-OUTSIDE) + left_out
            law = TiltedGrid(theta, h, first, p, float(own[k][0]), splits, noise, outside)
            above, below, _ = law.delta(epsilon)
            unit = math.exp(float(own[k][0]) - scale)
            upper[k], lower[k] = unit * above, unit * max(below, 0.0)
        return upper, lower


def _product(factors: Iterable[Complexes]) -> Complexes:
    total: Complexes = np.ones(1, dtype=np.complex128)
    for factor in factors:
        total = total * factor
    return total
