"""One thread of linear algebra in a process, beside as many as there are processors: processor seconds.

Run `python -m benchmarks.bench_threads [BLOCKS]`. `estimate --only-tables` of PL 94-171 solves many small
systems; threads of linear algebra spin while they wait for each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_tables import make

BLOCKS = 1_020
HEADER = ("threads of linear algebra", "processor seconds", "seconds *")
RUN = """
import json, resource, sys, time
from discreet.estimation import linear_algebra
from discreet.estimation import estimate

if sys.argv[1] == "free":
    linear_algebra._libraries = list  # nothing can be told, so every library keeps its threads
started = time.perf_counter()
estimate("noisy", "out-" + sys.argv[1], only_tables=True)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime + used.ru_stime, time.perf_counter() - started]))
"""


def rows(blocks: int = BLOCKS) -> list[tuple[str, ...]]:
    """Measure both, each in a process of its own, and return the ratio of their processor seconds."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    free = {name: value for name, value in os.environ.items() if name not in variables}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), blocks)
        for how in ("free", "one"):
            command = [sys.executable, "-c", RUN, how]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=free)
            found[how] = json.loads(done.stdout)
    lines = [
        (name, *(f"{seconds:.1f}" for seconds in found[how]))
        for name, how in ((f"one for each of {os.cpu_count()} processors", "free"), ("one", "one"))
    ]
    return [*lines, ("ratio", f"{found['free'][0] / found['one'][0]:.1f}", "")]


def main() -> None:
    for row in rows(*map(int, sys.argv[1:])):
        print(*row, sep=" | ")


if __name__ == "__main__":
    main()
