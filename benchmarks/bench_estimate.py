"""Best estimates of PL 94-171: seconds for a tree of blocks, beside a dense two-pass solve."""

from __future__ import annotations

import resource
import time

import numpy as np

from discreet.budget import load
from discreet.estimation import accuracy, plan
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.model import told_by_level

BLOCKS = 2000
DENSE_UNITS = 20


def rows(blocks: int = BLOCKS) -> list[tuple[str, ...]]:
    release = load("pl94-2020")
    attributes = release.attributes
    assert attributes is not None
    found = [("accuracy of every query at every level", _seconds(lambda: accuracy(release)), "")]
    keep = ["State", "County", "Tract"]
    spent = _seconds(lambda: plan(release, keep=keep, certified=False))
    found.append(("best plan that keeps State, County, Tract (65 variables)", spent, "10 s"))
    sizes = [1, 1, 2, max(1, blocks // 600), max(1, blocks // 34), blocks]
    starts = tuple(np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(int).tolist())
    parent = np.concatenate(
        [[-1]]
        + [
            starts[depth - 1] + np.arange(sizes[depth]) * sizes[depth - 1] // sizes[depth]
            for depth in range(1, 6)
        ]
    ).astype(np.int64)
    level = np.repeat(np.arange(6), sizes)
    told = tuple(told_by_level(release, [one.name for one in release.levels]))
    rng = np.random.default_rng(1)
    noisy = {}
    for query in dict.fromkeys(query for one in told for query, _ in one.laws):
        units = np.flatnonzero(np.isin(level, [k for k, one in enumerate(told) if query in one.variances]))
        noisy[query] = units, rng.integers(-5, 50, size=(len(units), attributes.tabulation(query).cells))
    given = Measurements(parent, starts, level, told, noisy, {})
    started = time.perf_counter()
    Estimates(attributes, given)
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cells = len(parent) * attributes.cells
    what = f"estimates of {blocks:,} blocks and all above ({cells / 1e6:.1f} million cells), in memory"
    found.append((what, f"{seconds:.1f} s, {memory:.1f} GB", ""))
    matrix = rng.normal(size=(attributes.cells, attributes.cells))
    matrix = matrix @ matrix.T + np.eye(attributes.cells)
    started = time.perf_counter()
    (matrix @ np.linalg.inv(np.eye(attributes.cells) + matrix)) @ matrix
    dense = (time.perf_counter() - started) * 2 * DENSE_UNITS
    ratio = dense / DENSE_UNITS / (seconds / len(parent))
    found.append(
        (
            f"dense two-pass solve (2016 x 2016) of {DENSE_UNITS} units, from one step",
            f"{dense:.0f} s: {ratio:,.0f} times as long a unit",
            "",
        )
    )
    return found


def _seconds(work: object) -> str:
    assert callable(work)
    started = time.perf_counter()
    work()
    return f"{time.perf_counter() - started:.1f} s"
