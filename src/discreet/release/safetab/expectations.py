"""What a curator expects to see: the chance that a group is released, and the law of its error.

Own formulas, in floats, on purpose: they check the samplers and margins and share no code with them. A sum of
cells has the law of one cell convolved with itself; where small groups are dropped, the error of a group that
was kept is the noise given that it was large enough.

A group of a region below the states is dropped if its noisy total is too small, unless a region of the same
blocks gives it its own numbers: then it is missing only if all of them dropped it. States drop nothing, so
a county that is a state has every group that the state has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from discreet.release.safetab.configuration import Configuration, Privacy
from discreet.release.safetab.geography import Classes
from discreet.release.safetab.mechanism import Mechanism, mechanism, variance_of
from discreet.release.safetab.postprocessing import ORDER
from discreet.release.safetab.specification import Specification
from discreet.release.safetab.tables import Codes

REACH = 14
"""Standard deviations that the grid covers; both laws have less than 1e-8 beyond."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Expected:
    """The chance that a group is kept and, if so, its mean error, mean square and chance to be within."""

    kept: Floats
    mean: Floats
    square: Floats
    within: Floats


class ErrorLaw:
    """The noise of a sum of cells on a grid of integers.

    >>> law = ErrorLaw("zcdp", 100.0, 1)
    >>> round(float(law.expected(np.array([-10**6]), np.array([19])).within[0]), 4)
    0.9489
    """

    def __init__(self, privacy: Privacy, variance: float, cells: int) -> None:
        """`variance` is that of one cell: the parameter of a Gaussian, E X^2 of a Laplace."""
        self.reach = ceil(REACH * sqrt(variance * cells)) + 20
        size = 1 << (2 * self.reach + 1).bit_length()
        x = np.arange(-size // 2, size // 2)
        if variance == 0:
            mass = (x == 0).astype(float)
        elif privacy == "zcdp":
            mass = np.exp(-(x**2) / (2 * variance))
        else:
            ratio = (variance + 1 - sqrt(2 * variance + 1)) / variance  # solves variance = 2 r / (1 - r)^2
            mass = ratio ** np.abs(x)
        mass /= mass.sum()
        if cells > 1:
            wave = np.fft.rfft(np.fft.ifftshift(mass)) ** cells
            mass = np.maximum(np.fft.fftshift(np.fft.irfft(wave, size)), 0)
            mass /= mass.sum()
        self._low, self._high = int(x[0]), int(x[-1])
        self._sums = [np.append(0, np.cumsum(mass * x**power)) for power in range(3)]

    def below(self, value: Ints) -> Floats:
        """Return the chance that the noise is at most a value."""
        found: Floats = self._sums[0][self._place(value)]
        return np.clip(found, 0, 1)

    def margin(self, chance: float = 0.95) -> int:
        """Return the smallest integer that the noise does not exceed with this chance."""
        sizes = np.arange(self.reach)
        return int(np.argmax(self.below(sizes) - self.below(-sizes - 1) >= chance))

    def expected(self, cut: Ints, margin: Ints) -> Expected:
        """Return what is expected of groups that are kept if the noise is above `cut`."""
        start, end = self._place(cut), self._sums[0].size - 1
        kept = 1 - self.below(cut)
        safe = np.maximum(kept, 1e-12)
        moments = [(sums[end] - sums[start]) / safe for sums in self._sums]
        inside = self.below(margin) - self._sums[0][np.maximum(start, self._place(-margin - 1))]
        return Expected(kept, moments[1], moments[2], np.clip(inside / safe, 0, 1))

    def _place(self, value: Ints) -> Ints:
        return np.clip(value, self._low - 1, self._high) - self._low + 1


@lru_cache(maxsize=512)
def law(privacy: Privacy, variance: float, cells: int) -> ErrorLaw:
    """Return a law, made once."""
    return ErrorLaw(privacy, variance, cells)


NO_CUT = -(1 << 40)
"""Below every noise: nothing is dropped."""

_RANK = {f"{prefix}{name}": rank for rank, name in enumerate(ORDER) for prefix in ("", "PR-")}


class ReleaseChances:
    """Chances under given parameters; `classes` are regions of the same blocks that share numbers."""

    def __init__(self, configuration: Configuration, specification: Specification, classes: Classes) -> None:
        self._configuration, self._specification = configuration, specification
        self._simple = np.array([one.total_only for one in specification.iterations], dtype=bool)
        self._shared: dict[str, dict[int, tuple[str, ...]]] = {}
        for members in classes:
            names = tuple(sorted((name for name, _ in members), key=lambda name: _RANK.get(name, 0)))
            for name, region in members:
                self._shared.setdefault(name, {})[region] = names
        self.mechanism = lru_cache(maxsize=None)(self._mechanism)
        self._tabulated = lru_cache(maxsize=None)(self._tabulated_at)

    def kept(self, geography: str, level: int, region: Codes, iteration: Codes, count: Ints) -> Floats:
        """Return the chance that groups of these true sizes are released."""
        found = np.ones(count.size)
        for rows, names in self._parts(geography, region):
            found[rows] = self._any(names, level, iteration[rows], count[rows])
        return found

    def kept_if_empty(self, geography: str, level: int, regions: int, iterations: Codes) -> float:
        """Return how many groups would be released if all were empty."""
        every = np.arange(regions, dtype=np.int32)
        zeros = np.zeros(iterations.size, dtype=np.int64)
        return sum(
            rows.size * float(self._any(names, level, iterations, zeros).sum())
            for rows, names in self._parts(geography, every)
        )

    def cut(
        self, geography: str, level: int, region: Codes, iteration: Codes, count: Ints, variance: Floats
    ) -> Ints:
        """Return what the noise of released totals must have been above; the variance tells whose it is."""
        found = np.full(count.size, NO_CUT)
        for rows, names in self._parts(geography, region):
            open_ = np.ones(rows.size, dtype=bool)
            for one in self._mechanisms(names, level):
                noise = np.where(self._simple[iteration[rows]], _variance(one, 0), _variance(one, 2))
                own = open_ & self._tabulated(one.geography)[iteration[rows]]
                own &= np.isclose(variance[rows], noise, rtol=1e-9, atol=0.0)
                if one.suppression is not None:
                    found[rows[own]] = one.suppression - count[rows[own]]
                open_ &= ~own
        return found

    def _parts(self, geography: str, region: Codes) -> Iterator[tuple[NDArray[np.intp], tuple[str, ...]]]:
        """Yield the rows whose regions share their numbers with the same geographies."""
        shared = self._shared.get(geography, {})
        kinds = [(geography,), *sorted(set(shared.values()))]
        number = {names: place for place, names in enumerate(kinds) if place}
        of = np.zeros(int(region.max(initial=-1)) + 1, dtype=np.int64)
        for one, names in shared.items():
            if one < of.size:
                of[one] = number[names]
        which = of[region]
        for place, names in enumerate(kinds):
            rows = np.flatnonzero(which == place)
            if rows.size:
                yield rows, names

    def _any(self, names: Sequence[str], level: int, iteration: Codes, count: Ints) -> Floats:
        """Return the chance that at least one of these geographies releases a group."""
        missed = np.ones(count.size)
        simple = self._simple[iteration]
        for one in self._mechanisms(names, level):
            here = self._tabulated(one.geography)[iteration]
            missed *= np.where(here, 1 - self._alone(one, count, simple), 1)
        return 1 - missed

    def _alone(self, one: Mechanism, count: Ints, simple: NDArray[np.bool_]) -> Floats:
        """Return the chance that one geography releases groups: moved up, or large enough."""
        if one.suppression is None:
            return np.ones(count.size)
        privacy = self._configuration.privacy
        only, first, second = (law(privacy, _variance(one, stage), 1) for stage in range(3))
        limit = one.suppression - count
        small = np.where(simple, only.below(limit), second.below(limit))
        moved = np.where(simple, 0.0, 1 - first.below(one.thresholds[0] - 1 - count))
        return 1 - (1 - moved) * small

    def _mechanisms(self, names: Sequence[str], level: int) -> list[Mechanism]:
        return [self.mechanism(name, level) for name in names if self._configuration.runs(name, level)]

    def _mechanism(self, geography: str, level: int) -> Mechanism:
        return mechanism(self._configuration, self._specification, geography, level)

    def _tabulated_at(self, geography: str) -> NDArray[np.bool_]:
        return np.array([one.tabulated(geography) for one in self._specification.iterations], dtype=bool)


def _variance(one: Mechanism, stage: int) -> float:
    """Return the variance of a total-only count (0) or of a stage (1, 2)."""
    return float(variance_of((one.total_only, one.stage_one, one.stage_two)[stage]))
