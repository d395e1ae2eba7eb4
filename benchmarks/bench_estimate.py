"""Best estimates of PL 94-171: seconds and memory for a tree of blocks, beside a dense two-pass solve."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.areas.tree import Tree
from discreet.budget import Attributes, load
from discreet.estimation import accuracy, plan
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.model import known_by_level
from discreet.noise import Noise

BLOCKS = 10_000
DENSE_UNITS = 20


class Random:
    """Noisy counts generated as they are read, so that only the estimates are timed."""

    in_order = True

    def __init__(self, laws: Sequence[Mapping[str, Noise]], attributes: Attributes, level: Any) -> None:
        self.laws, self._level = laws, level
        self.cells = {query: attributes.tabulation(query).cells for by_query in laws for query in by_query}

    def read(self, units: slice) -> Iterator[tuple[str, NDArray[np.int64], NDArray[Any]]]:
        """Yield the rows of some units at a time."""
        rng = np.random.default_rng(1)
        for first in range(units.start, units.stop, 1000):
            who = np.arange(first, min(first + 1000, units.stop))
            for kind in np.unique(self._level[who]):
                mine = who[self._level[who] == kind]
                for query in self.laws[kind]:
                    yield (
                        query,
                        mine,
                        rng.integers(-5, 50, size=(len(mine), self.cells[query]), dtype=np.int64),
                    )


def rows(blocks: int = BLOCKS) -> list[tuple[str, ...]]:
    release = load("pl94-2020")
    attributes = release.attributes
    assert attributes is not None
    lines = [("accuracy of every query at every level", _seconds(lambda: accuracy(release)))]
    keep = ["State", "County", "Tract"]
    spent = _seconds(lambda: plan(release, keep=keep, certify=False))
    lines.append(("best plan that keeps State, County, Tract (65 variables)", spent))
    groups = max(1, blocks // 34)
    tracts = max(1, round(groups / 2.83))
    sizes = [1, 1, max(1, round(tracts / 23.2)), tracts, groups, blocks]
    starts = tuple(np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(int).tolist())
    above = [starts[d - 1] + np.arange(sizes[d]) * sizes[d - 1] // sizes[d] for d in range(1, 6)]
    parent = np.concatenate([[-1], *above]).astype(np.int64)
    level = np.repeat(np.arange(6), sizes)
    laws = [dict(one.laws) for one in known_by_level(release, [one.name for one in release.levels])]
    given = Measurements(Tree(parent, level, starts), (Random(laws, attributes, level),))
    started = time.perf_counter()
    estimates = Estimates(attributes, given)
    top = estimates.at(slice(0, starts[-1]))
    for query in laws[0]:
        top.values(query), top.deviations(query), top.widths(query, 0.95)
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    million = blocks * attributes.cells / 1e6
    what = f"estimates, variances and intervals above {blocks:,} blocks ({million:.0f} million cells)"
    lines.append((what, f"{seconds:.1f} s, {memory:.1f} GB"))
    dense = _dense(attributes.cells)
    ratio = dense / DENSE_UNITS / (seconds / len(parent))
    lines.append(
        (
            f"dense two-pass solve (2016 x 2016) of {DENSE_UNITS} units",
            f"{dense:.0f} s: {ratio:,.0f} times as long per unit",
        )
    )
    return lines


def _dense(cells: int) -> float:
    """Solve a unit with children by dense matrices, up and down, as the published method does."""
    rng = np.random.default_rng(1)
    half = rng.normal(size=(cells, cells))
    J = half @ half.T / cells + np.eye(cells)
    h = rng.normal(size=cells)
    children = DENSE_UNITS - 1
    started = time.perf_counter()
    V, z = [], []
    for _ in range(children):
        V.append(np.linalg.inv(J))
        z.append(V[-1] @ h)
    W, S = sum(V), sum(z)
    M = np.linalg.inv(np.eye(cells) + W @ J)
    P, x = M @ W, M @ (S + W @ h)
    back = np.linalg.inv(W)
    for child, own in zip(V, z, strict=True):
        K = child @ back
        own + K @ (x - S)
        child - K @ (W - P) @ K.T
    return time.perf_counter() - started


def _seconds(work: object) -> str:
    assert callable(work)
    started = time.perf_counter()
    work()
    return f"{time.perf_counter() - started:.2f} s"
