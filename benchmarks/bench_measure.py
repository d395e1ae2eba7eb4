"""Seconds and peak memory of a hierarchical release, by format, shape of the table and post-processing.

Run `python benchmarks/bench_measure.py [CELLS]`; 10 million cells by default. Each row is a separate process
and includes everything: reading, validation, noise, post-processing, writing, hashing, the ledger. The
synthetic tables have a nation, states, counties, tracts and blocks, skewed counts and many empty cells;
"wide" has few units and many cells, "tall" many units and few cells. Processor seconds depend less on the
load of the machine than seconds on the clock.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

import numpy as np

LEVELS = ("Nation", "State", "County", "Tract", "Block")
SHAPES = {"tall": {"age": 8, "sex": 2}, "wide": {"age": 1000, "sex": 2}}
CASES = [
    ("tall", "csv", "none"),
    ("tall", "csv", "consistent"),
    ("tall", "parquet", "none"),
    ("tall", "parquet", "nonnegative"),
    ("tall", "parquet", "consistent"),
    ("wide", "parquet", "none"),
    ("wide", "parquet", "consistent"),
]

QUERIES = "[levels.queries]\nage = {{ variance = '{}/2' }}\nsex = {{ variance = 9 }}\n"
TOML = "name = 'bench'\nneighbours = 'bounded'\n" + "".join(
    f"[[levels]]\nname = '{level}'\n{QUERIES.format(5 + i)}" for i, level in enumerate(LEVELS)
)


def make(folder: Path, shape: str, cells: int) -> None:
    """Write the synthetic tables of counts."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    queries = SHAPES[shape]
    width = sum(queries.values())
    units = cells // width
    sizes = [1, max(1, units // 20_000), max(1, units // 400), max(1, units // 20)]
    sizes.append(units - sum(sizes))
    rng = np.random.default_rng(1)
    counts = [rng.negative_binomial(0.3, 0.1, (sizes[-1], width))]
    for above, below in zip(sizes[-2::-1], sizes[:0:-1], strict=True):
        starts = np.searchsorted(np.arange(below) * above // below, np.arange(above))
        counts.insert(0, np.add.reduceat(counts[0], starts, axis=0))
    names = [[f"{level[0]}{i:07d}" for i in range(size)] for level, size in zip(LEVELS, sizes, strict=True)]
    parents = [[""]] + [
        [names[k][i * sizes[k] // sizes[k + 1]] for i in range(sizes[k + 1])] for k in range(len(sizes) - 1)
    ]

    def repeated(values: list[str]) -> pa.Array:
        codes = np.repeat(np.arange(len(values), dtype=np.int32), width)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values))

    columns = {"unit": repeated(list(chain(*names))), "parent": repeated(list(chain(*parents)))}
    columns["level"] = repeated(
        [level for level, size in zip(LEVELS, sizes, strict=True) for _ in range(size)]
    )
    pairs = [(query, f"{query} {i}") for query, many in queries.items() for i in range(many)]
    for place, name in enumerate(("query", "cell")):
        words = sorted({pair[place] for pair in pairs})
        codes = np.tile([words.index(pair[place]) for pair in pairs], units).astype(np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(codes, pa.array(words))
    columns["count"] = pa.array(np.concatenate(counts).ravel())
    table = pa.table(columns)
    pq.write_table(table, folder / f"{shape}.parquet")
    pc.write_csv(table, folder / f"{shape}.csv")


def run(folder: str, shape: str, kind: str, post: str) -> None:
    """Measure once, in this process, and print seconds, bytes and cells."""
    from discreet.budget import Release
    from discreet.measurement import measure

    release = Release.from_toml(TOML)
    start, used = time.perf_counter(), time.process_time()
    done = measure(
        release, Path(folder) / f"{shape}.{kind}", Path(folder) / f"{shape} {kind} {post}", post=post
    )
    seconds, used = time.perf_counter() - start, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    answer = {
        "seconds": seconds,
        "processor": used,
        "memory": memory,
        "cells": done.cells,
        "units": done.units,
    }
    print(json.dumps(answer))


def rows(cells: int = 10_000_000) -> list[dict[str, str | float]]:
    """Measure each case: seconds on the clock, seconds of the processors, and peak bytes."""
    result: list[dict[str, str | float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            # In a separate process too: a child's peak is at least that of the process it was forked from.
            subprocess.run([sys.executable, __file__, "--make", folder, shape, str(cells)], check=True)
        for shape, kind, post in CASES:
            command = [sys.executable, __file__, "--run", folder, shape, kind, post]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            result.append({"shape": shape, "format": kind, "post": post, **json.loads(text)})
    return result


def markdown(found: list[dict[str, str | float]]) -> str:
    """Return the size of each input, and the rows as a table."""
    sizes = {
        row["shape"]: f"The {row['shape']} table has {row['units']:,} units and {row['cells']:,} cells."
        for row in found
    }
    lines = [
        " ".join(sizes.values()),
        "",
        "| table | format | post | seconds | processor seconds | peak memory, GB |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for row in found:
        lines.append(
            f"| {row['shape']} | {row['format']} | {row['post']} | {row['seconds']:.1f} | "
            f"{row['processor']:.1f} | {float(row['memory']) / 1e9:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        run(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["--make"]:
        make(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    print(markdown(rows(int(sys.argv[1])) if len(sys.argv) > 1 else rows()))


if __name__ == "__main__":
    main()
