"""Seconds, processor seconds and peak memory of `discreet risk table` on ten million rows.

    python -m benchmarks.bench_risk_table

Each line is a separate process from a cold start. Rows are synthetic: six levels with the variances of the
2020 Redistricting Data's detailed query, small counts, discrete noise.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 10_000_000
HEADER = (f"what, {ROWS:,} rows", "seconds", "processor seconds", "peak memory, MB")

CHILD = """
import json, sys
from discreet.cli import run
status = run(json.loads(sys.argv[1]))
# not ru_maxrss, which starts from the parent's value
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(status)
"""


def make(folder: Path, rows: int) -> None:
    """Write the table as CSV and as Parquet."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    random = np.random.default_rng(1)
    levels = ["US", "State", "County", "Tract", "Block_Group", "Block"]
    level = np.sort(random.choice(6, rows, p=[0.0001, 0.001, 0.01, 0.08, 0.2, 0.7089])).astype(np.int32)
    variance = np.array([19.66, 19.84, 19.49, 19.86, 4.063, 10.09])[level]
    value = random.poisson(3, rows) + np.rint(random.normal(0, np.sqrt(variance))).astype(np.int64)
    table = pa.table(
        {
            "unit": pa.array(np.arange(rows) // 100 + 10**9).cast(pa.string()),
            "level": pa.DictionaryArray.from_arrays(level, levels),
            "query": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["detailed"]),
            "cell": pa.array(np.arange(rows) % 100).cast(pa.string()),
            "value": value,
            "variance": variance,
        }
    )
    pyarrow.csv.write_csv(table, folder / "table.csv")
    pyarrow.parquet.write_table(table, folder / "table.parquet")


def measured(*arguments: str) -> tuple[float, float, float]:
    """Run one command; return seconds, processor seconds and peak megabytes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-c", CHILD, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, processor, int(done.stderr.split()[-1]) / 1024


def rows() -> list[tuple[str, ...]]:
    """Measure all cases."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), ROWS)
        for what, file, more in (
            ("CSV, summary", "table.csv", ()),
            ("CSV, summary, known count 2", "table.csv", ("--known", "2")),
            ("Parquet, summary", "table.parquet", ()),
            ("CSV, summary and all rows written", "table.csv", ("--csv", f"{folder}/rows.csv")),
        ):
            seconds, processor, memory = measured(
                "risk", "table", f"{folder}/{file}", "--prior", "1/10", "--quiet", *more
            )
            lines.append((what, f"{seconds:.1f}", f"{processor:.1f}", f"{memory:.0f}"))
    return lines


def markdown(lines: list[tuple[str, ...]]) -> str:
    """Return the lines as a table."""
    head = ["| " + " | ".join(HEADER) + " |", "| --- | ---: | ---: | ---: |"]
    return "\n".join(head + ["| " + " | ".join(line) + " |" for line in lines])


if __name__ == "__main__":
    print(markdown(rows()))
