"""The chance that a group is released, and how large its noise must then have been: what a curator expects.

A group of a region below the states is dropped if its noisy total is too small, unless a region of the same
blocks gives it its own numbers: then it is missing only if all of them dropped it. States drop nothing, so
a county that is a state has every group that the state has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.release.safetab.configuration import Configuration
from discreet.release.safetab.coterminous import ORDER, Classes
from discreet.release.safetab.law import Floats, Ints, law
from discreet.release.safetab.mechanism import Mechanism, mechanism, variance_of
from discreet.release.safetab.parts import Codes
from discreet.release.safetab.specification import Specification

NO_CUT = -(1 << 40)
"""Below every noise: nothing is dropped."""

_RANK = {f"{prefix}{name}": rank for rank, name in enumerate(ORDER) for prefix in ("", "PR-")}


class Releasing:
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
