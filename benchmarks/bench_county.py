"""Whole-number tables of DHC persons (1,227,744 cells) for a made-up county, from the top down.

Run `python -m benchmarks.bench_county [BLOCKS]`; 2,400 blocks by default, some 70 block groups, 30 tracts and
100,000 people. Measurements are drawn as they are read, 1.9 million for each area, always the same for an
area; nothing is written. Two processes share the reading on the way up and the tracts on the way down.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.bench_tables import JOBS, SEED, Integers, Row, uneven
from discreet.areas.cells import table_cells
from discreet.areas.tree import Numbers, Tree
from discreet.budget import Attributes, load
from discreet.estimation.estimates import Estimates, Measurements
from discreet.estimation.whole.descent import Descent
from discreet.estimation.whole.sparse import WholeCells
from discreet.noise import DiscreteGaussian

LEVELS = ("County", "Tract_Subset", "Block_Group", "Block")
AT_A_TIME = 4
"""Areas whose measurements are drawn at a time."""


def county(rng: np.random.Generator, blocks: int) -> Tree:
    """Return a county of tracts, block groups and blocks."""
    above, many = [], blocks
    for mean in (34.0, 2.83):
        above.append(uneven(rng, many, mean))
        many = int(above[-1][-1]) + 1
    depths = [np.array([-1]), np.zeros(many, dtype=np.int64), *above[::-1]]
    starts = np.cumsum([0, *(len(depth) for depth in depths)])
    parent = [depths[0]] + [depth + starts[place] for place, depth in enumerate(depths[1:])]
    kind = np.repeat(np.arange(4), [len(depth) for depth in depths])
    return Tree(np.concatenate(parent), kind, tuple(starts[:-1].tolist()))


def people(rng: np.random.Generator, attributes: Attributes, tree: Tree) -> tuple[Integers, Integers]:
    """Return the block of each person, in order, and the detailed cell."""
    values = {name: list(some) for name, some in attributes.values}
    first = tree.starts[-1]
    blocks = tree.size - first
    size = np.where(rng.random(blocks) < 0.3, 0, rng.lognormal(3.55, 1.0, blocks)).astype(np.int64)
    block = np.repeat(np.arange(blocks), size) + first
    tract = tree.parent[tree.parent[block]] - 1
    many = len(block)
    age = np.minimum((rng.beta(1.2, 1.9, many) * 105).astype(np.int64), 115)
    sex, luck = rng.integers(0, 2, many), rng.random(many)
    shares = np.cumsum(rng.dirichlet([6.0, 1.0, 0.1, 0.6, 0.03, 0.5], tract.max() + 1), axis=1)
    race = np.minimum((rng.random(many)[:, None] > shares[tract]).sum(axis=1), 5)
    race = np.where(rng.random(many) < 0.06, np.minimum(5 + rng.geometric(0.15, many), 62), race)
    hispanic = (rng.random(many) < rng.beta(0.6, 3.0, tract.max() + 1)[tract]).astype(np.int64)
    place = {name: number for number, name in enumerate(values["relgq"])}
    grown = [
        ("householder, alone", 0.14), ("householder, not alone", 0.34), ("opposite-sex spouse", 0.24),
        ("opposite-sex partner", 0.06), ("biological child", 0.1), ("same-sex spouse", 0.005),
        ("sibling", 0.02), ("parent", 0.02), ("other relative", 0.03), ("housemate", 0.03),
        ("child-in-law", 0.015),
    ]  # fmt: skip
    young = [
        ("biological child", 0.82), ("grandchild", 0.09), ("stepchild", 0.03), ("adopted child", 0.03),
        ("other relative", 0.02), ("foster child", 0.01),
    ]  # fmt: skip
    related = np.zeros(many, dtype=np.int64)
    for is_mine, names in ((age >= 18, grown), (age < 18, young)):
        edges = np.cumsum([share for _, share in names])
        at = np.minimum(np.searchsorted(edges / edges[-1], luck[is_mine]), len(names) - 1)
        related[is_mine] = np.array([place[name] for name, _ in names])[at]
    home = np.where(rng.random(tree.size) < 0.02, rng.integers(0, 3, tree.size), -1)[block]
    for number, (name, least, most) in enumerate(
        [("nursing", 65, 115), ("college", 18, 24), ("local jail", 18, 60)]
    ):
        related[(home == number) & (age >= least) & (age <= most)] = place[name]
    cell = np.ravel_multi_index((related, sex, age, hispanic, race), attributes.sizes)
    order = np.lexsort((cell, block))
    return block[order], np.asarray(cell[order], dtype=np.int64)


@dataclass(frozen=True)
class MadeUp:
    """Noisy counts drawn when they are read, the same whenever an area is read."""

    laws: Sequence[Mapping[str, DiscreteGaussian]]
    cells: Mapping[str, int]
    labels: Mapping[str, Integers]
    tree: Tree
    block: Integers
    cell: Integers
    in_order: bool = True

    def truth(self, unit: int) -> Integers:
        """Return the detailed cells of the people of an area."""
        low = high = unit
        while low < self.tree.starts[-1]:
            inside = np.flatnonzero((self.tree.parent >= low) & (self.tree.parent <= high))
            low, high = int(inside[0]), int(inside[-1])
        first, last = np.searchsorted(self.block, [low, high + 1])
        return self.cell[first:last]

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        """Yield the measurements of these units."""
        for start in range(units.start, units.stop, AT_A_TIME):
            who = np.arange(start, min(start + AT_A_TIME, units.stop))
            inside = [self.truth(int(unit)) for unit in who]
            for number, (query, many) in enumerate(self.cells.items()):
                rows = np.empty((len(who), many), dtype=np.int32)
                for row, unit, mine in zip(rows, who.tolist(), inside, strict=True):
                    rng = np.random.Generator(np.random.SFC64([SEED, unit, number]))
                    noise = rng.standard_normal(many, dtype=np.float32)
                    noise *= np.float32(self.laws[self.tree.kind[unit]][query].variance ** 0.5)
                    row[:] = np.rint(noise, out=noise)
                    np.add.at(row, self.labels[query][mine], 1)
                yield query, who, rows


def made_up(blocks: int) -> tuple[Attributes, MadeUp]:
    """Return the attributes of DHC persons and the measurements of a county."""
    rng = np.random.default_rng(SEED)
    release = load("dhc-2020-persons")
    attributes = release.attributes
    assert attributes is not None
    tree = county(rng, blocks)
    levels = {level.name: level for level in release.levels}
    names = [query.name for query in levels["County"].queries]
    laws = [
        {query.name: DiscreteGaussian(variance=1 / (2 * query.rho)) for query in levels[name].queries}
        for name in LEVELS
    ]
    tables = {name: attributes.tabulation(name) for name in names}
    cells = {name: table.cells for name, table in tables.items()}
    labels = {name: table_cells(table) for name, table in tables.items()}
    return attributes, MadeUp(laws, cells, labels, tree, *people(rng, attributes, tree))


_task: Callable[[int], object] | None = None


def _run(number: int) -> object:
    assert _task is not None
    return _task(number)


def shared(task: Callable[[int], object], many: int) -> Iterator[object]:
    """Yield what a task gives for each number, worked out by two forks of this process."""
    global _task
    _task = task
    with multiprocessing.get_context("fork").Pool(JOBS) as pool:
        yield from pool.imap(_run, range(many))
        pool.close()
        pool.join()  # only then is their time counted


class Forks:
    """Work of the way up, shared by forks."""

    def map(
        self, function: Callable[[slice], Mapping[str, Numbers]], parts: Sequence[slice]
    ) -> Iterator[Mapping[str, Numbers]]:
        """Yield the function's result for each part, in order."""
        yield from shared(lambda number: function(parts[number]), len(parts))  # type: ignore[misc]


def errors(source: MadeUp, attributes: Attributes, found: Mapping[int, Integers]) -> Row:
    """Return root mean square errors of totals and of each query by level."""
    answer: Row = {}
    for depth, level in enumerate(LEVELS):
        units = [unit for unit in found if source.tree.kind[unit] == depth]
        true = {unit: source.truth(unit) for unit in units}
        total = np.array([len(found[unit]) - len(true[unit]) for unit in units])
        answer[level] = {"areas": len(units), "total": float(np.sqrt(np.mean(total**2.0)))}
        for query, label in source.labels.items():
            many, square = source.cells[query], 0.0
            for unit in units:
                miss = np.bincount(label[found[unit]], minlength=many) - np.bincount(
                    label[true[unit]], minlength=many
                )
                square += float(np.sum(miss.astype(float) ** 2))
            answer[level][query] = (square / max(1, many * len(units))) ** 0.5
    return answer


def run(blocks: int, tracts: int | None = None) -> Row:
    """Settle the county, or only some of its tracts; return seconds by stage, memory and errors."""
    attributes, source = made_up(blocks)
    tree, started, stages = source.tree, time.perf_counter(), {}

    def note(name: str) -> None:
        own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        stages[name] = {
            "seconds": time.perf_counter() - started,
            "processor": own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
            "memory": own.ru_maxrss * 1024,
            "workers": others.ru_maxrss * 1024,
            "load": os.getloadavg()[0],
        }
        print(name, stages[name], file=sys.stderr, flush=True)

    note("people")
    estimates = Estimates(attributes, Measurements(tree, (source,)), held=False, workers=Forks())
    note("up")
    descent = Descent(estimates)
    top = descent.top()
    note("county")
    found = {0: np.repeat(*top.row(0))}
    print(
        "people",
        len(source.cell),
        "found",
        len(found[0]),
        "cells",
        len(top.cell),
        file=sys.stderr,
        flush=True,
    )
    units, cells = descent.family(0, top.row(0))
    note("tracts")

    def below(number: int) -> list[tuple[Integers, WholeCells]]:
        return list(descent.below(int(units[number]), cells.row(number)))

    families = [(units, cells)]
    for done in shared(below, len(units) if tracts is None else tracts):
        families += done  # type: ignore[arg-type, operator]
        print(len(families), "families", round(time.perf_counter() - started), file=sys.stderr, flush=True)
    note("below")
    for who, some in families:
        for place, unit in enumerate(who.tolist()):
            found[unit] = np.repeat(*some.row(place))
    return {
        "people": len(source.cell),
        "areas": tree.size,
        "cells": [len(top.cell), *(len(some.cell) for _, some in families[:1])],
        "stages": stages,
        "errors": errors(source, attributes, found),
    }


def main() -> None:
    sizes = [int(one) for one in sys.argv[1:]]
    print(json.dumps(run(*(sizes or [2400])), indent=1))


if __name__ == "__main__":
    main()
