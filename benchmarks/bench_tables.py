"""Whole-number tables of PL 94-171 for trees of blocks: seconds, processor seconds and peak memory.

Run `python -m benchmarks.bench_tables [BLOCKS...]`; 1,000 and 10,000 by default, and 100,000 takes some
minutes more. The people are made up: skewed numbers of them in a block, many blocks empty, mixtures of races
that differ by tract, and group quarters in few blocks. Families are uneven. `measure` draws the noise of
PL 94-171 as a rehearsal, and `estimate --tables` is one process with two workers, timed from outside.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZES = (1_000, 10_000)
NATION = 8_132_968
"""Blocks of the United States in 2020."""
JOBS = 2
SEED = 27

Integers = NDArray[np.int64]
Row = dict[str, Any]


def uneven(rng: np.random.Generator, many: int, mean: float) -> Integers:
    """Cut `many` units into families of uneven size, `mean` on average; return the family of each."""
    sizes: list[int] = []
    while sum(sizes) < many:
        sizes.append(1 + int(rng.gamma(2.0, (mean - 1) / 2.0)))
    return np.repeat(np.arange(len(sizes)), sizes)[:many]


def families(rng: np.random.Generator, blocks: int) -> list[Integers]:
    """Return the parent of each unit, from the blocks up to the counties."""
    found = []
    many = blocks
    for mean in (34.0, 2.83, 23.2):
        found.append(uneven(rng, many, mean))
        many = int(found[-1][-1]) + 1
    return [*found, np.zeros(many, dtype=np.int64)]


def people(rng: np.random.Generator, blocks: int, tract: Integers) -> dict[str, Integers]:
    """Return the block and the values of each person, as places among the values of an attribute."""
    many = np.where(rng.random(blocks) < 0.3, 0, rng.lognormal(3.4, 1.0, blocks)).astype(np.int64)
    block = np.repeat(np.arange(blocks), many)
    kinds = int(tract[-1]) + 1
    first = np.array([4.0, 1.0, 0.1, 0.6, 0.03, 0.8])
    shares = rng.dirichlet(first, kinds)
    # alone, or two races: larger combinations are rare
    alone = (rng.random(len(block))[:, None] > np.cumsum(shares, axis=1)[tract[block]]).sum(axis=1)
    alone = np.minimum(alone, 5)
    race = np.where(rng.random(len(block)) < 0.06, 6 + rng.geometric(0.15, len(block)), alone)
    hispanic = (rng.random(len(block)) < rng.beta(0.6, 3.0, kinds)[tract[block]]).astype(np.int64)
    age = (rng.random(len(block)) < 0.78).astype(np.int64)
    home = np.where(rng.random(blocks) < 0.015, rng.integers(1, 8, blocks), 0)
    quarters = np.where(rng.random(len(block)) < 0.5, home[block], 0)
    return {
        "block": block,
        "hhgq": quarters,
        "votingage": age,
        "hispanic": hispanic,
        "cenrace": np.minimum(race, 62),
    }


def make(folder: Path, blocks: int) -> None:
    """Write people and areas, and measure them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet.budget import load
    from discreet.measurement import measure

    rng = np.random.default_rng(SEED)
    release = load("pl94-2020")
    attributes = release.attributes
    assert attributes is not None
    above = families(rng, blocks)
    levels = [level.name for level in release.levels][::-1]
    names = [
        [f"{level}{unit:07d}" for unit in range(len(up))] for level, up in zip(levels, above, strict=False)
    ]
    names += [[f"{levels[4]}0"], [levels[5]]]
    above.append(np.zeros(1, dtype=np.int64))
    rows = [("unit", "level", "parent"), (names[5][0], levels[5], "")]
    for depth in range(4, -1, -1):
        rows += [
            (name, levels[depth], names[depth + 1][up])
            for name, up in zip(names[depth], above[depth].tolist(), strict=True)
        ]
    units = folder / "units.csv"
    units.write_text("\n".join(",".join(row) for row in rows) + "\n")
    drawn = people(rng, blocks, above[1][above[0]])
    columns = {"unit": pa.DictionaryArray.from_arrays(drawn.pop("block").astype(np.int32), names[0])}
    values = dict(attributes.values)
    columns |= {
        name: pa.DictionaryArray.from_arrays(codes.astype(np.int32), list(values[name]))
        for name, codes in drawn.items()
    }
    pq.write_table(pa.table(columns), folder / "people.parquet")
    measure(
        release,
        None,
        folder / "noisy",
        records=folder / "people.parquet",
        units=units,
        format="parquet",
        rehearsal=SEED,
    )


def run(folder: str, jobs: int) -> None:
    """Write the tables once, and print what it took: seconds, processor seconds, memory, seconds by stage."""
    from discreet.estimation import estimate

    started = time.perf_counter()
    stages: dict[str, float] = {}

    def watch(stage: str, _done: int, _total: int) -> None:
        stages[stage] = time.perf_counter() - started

    out = Path(folder) / "tables"
    done = estimate(Path(folder) / "noisy", out, tables=True, histogram=True, jobs=jobs, progress=watch)
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    answer = {
        "seconds": time.perf_counter() - started,
        "processor": own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime,
        "tables": others.ru_utime + others.ru_stime,
        "memory": own.ru_maxrss * 1024,
        "workers": others.ru_maxrss * 1024,
        "stages": stages,
        "cells": done.cells,
        "load": os.getloadavg()[1],
    }
    print(json.dumps(answer))


def rows(sizes: Sequence[int] = SIZES) -> list[Row]:
    """Measure each size, in a process of its own that starts two more."""
    found = []
    for blocks in sizes:
        with tempfile.TemporaryDirectory() as folder:
            for task in (["--make", folder, str(blocks)], ["--run", folder, str(JOBS)]):
                command = [sys.executable, "-m", "benchmarks.bench_tables", *task]
                text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.append({"blocks": blocks, **json.loads(text)})
    return found


def nation(found: Sequence[Row]) -> tuple[float, float, float]:
    """Return the line through the sizes (seconds, seconds for each 1,000 blocks), and it at the nation."""
    blocks = np.array([row["blocks"] for row in found]) / 1000
    slope, first = np.polyfit(blocks, np.array([row["processor"] for row in found]), 1)
    return float(first), float(slope), float(first + slope * NATION / 1000)


HEADER = (
    "| blocks | rows written | seconds | processor seconds | of these, in the two processes | "
    "peak memory, GB | load |"
)


def markdown(found: Sequence[Row]) -> str:
    """Return the rows as a table, and the line through them."""
    lines = [
        "`estimate --tables --histogram` of PL 94-171 (2,016 cells), made-up people: reading, estimates and "
        "intervals of every query in every area, whole numbers (two processes), writing.",
        "",
        HEADER,
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in found:
        memory = (row["memory"] + JOBS * row["workers"]) / 1e9
        lines.append(
            f"| {row['blocks']:,} | {row['cells']:,} | {row['seconds']:.0f} | {row['processor']:.0f} | "
            f"{row['tables']:.0f} | {memory:.1f} | {row['load']:.0f} |"
        )
    lines += [
        "",
        "Peak memory is that of all three processes, each at its own peak. What has fewer than 5 million "
        "cells is settled without further processes.",
    ]
    if len(found) > 1:
        first, slope, whole = nation(found)
        lines += [
            "",
            f"A line through the sizes: {first:.0f} processor seconds and {slope:.2f} for each 1,000 blocks. "
            f"*Extrapolated*, not run: the nation's {NATION:,} blocks take {whole / 3600:.1f} processor "
            "hours.",
        ]
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], int(sys.argv[3]))
    else:
        print(markdown(rows([int(one) for one in sys.argv[1:]] or SIZES)))


if __name__ == "__main__":
    main()
