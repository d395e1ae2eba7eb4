"""Run all benchmarks and write their tables to docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from benchmarks import bench_accounting, bench_measure, bench_sampler

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def main() -> None:
    import numpy

    print("accounting", file=sys.stderr)
    accounting = table(("what", "measured", "aim"), bench_accounting.rows())
    print("sampler", file=sys.stderr)
    sampler = bench_sampler.markdown(bench_sampler.rows())
    print("measure", file=sys.stderr)
    measure = bench_measure.markdown(bench_measure.rows())
    page = f"""# Benchmarks

Made by `make bench`: Python {platform.python_version()}, NumPy {numpy.__version__}, {os.cpu_count()} cores.
Figures of another package stand beside ours where both were run in the same minute on the same machine.

## Exact accounting

{accounting}

## The exact sampler

{sampler}

## A release over a tree of areas

Reading, validation, noise, post-processing, writing, hashing and ledger; each row is a process of its own.

{measure}
"""
    PAGE.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
