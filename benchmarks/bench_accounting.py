"""How fast exact accounting is: each figure in a process of its own, cold unless it says warm."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

PREAMBLE = """
import json, math, sys, time
from fractions import Fraction
from discreet.budget import load, cases
from discreet.accounting.overall import account
from discreet.accounting.privacy_loss import compose
RHO = 24811 / 5000
GRID = [RHO + 2 * math.sqrt(RHO * math.log(1 / (x * 10.0**-k))) for k in range(1, 22) for x in (5, 1)]
JOBS = int(sys.argv[1])
"""

OVERALL = """
if __name__ == "__main__":
    point = account(load("dhc-2020"), jobs=JOBS).at_delta("1e-10")[0]
    print(json.dumps({"epsilon": point.epsilon, "worst": point.worst}))
"""

CURVE = """
if __name__ == "__main__":
    points = account(load("dhc-2020"), jobs=JOBS).at_epsilon(GRID)
    print(json.dumps({"points": len(points)}))
"""

TRADEOFF = """
import numpy as np
if __name__ == "__main__":
    thresholds = np.linspace(-45, 45, 901)
    for label, events in cases(load("dhc-2020"), "bounded"):
        compose(events).errors(threshold=thresholds)
    print("{}")
"""

WARM = """
if __name__ == "__main__":
    loss = account(load("dhc-2020")).case((13, 13))
    grid = [Fraction(e) for e in GRID]
    loss.log_deltas(grid)
    best = math.inf
    for _ in range(20):
        start = time.perf_counter()
        loss.log_deltas(grid)
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"seconds": best}))
"""

CERTIFIED = """
if __name__ == "__main__":
    box = account(load("dhc-2020"), jobs=JOBS).epsilon(delta="1e-10", certified=True)
    print(json.dumps({"interval": str(box), "width": box.relative_width}))
"""

PAIR = """
if __name__ == "__main__":
    label, events = (13, 13), dict(cases(load("dhc-2020"), "bounded"))[13, 13]
    start = time.process_time()
    epsilon = compose(events).epsilon(delta="1e-10")
    seconds = time.process_time() - start
    true = float(compose(events).epsilon(delta="1e-10", digits=25).midpoint)
    print(json.dumps({"seconds": seconds, "epsilon": epsilon, "true": true}))
"""

PEER = """
from dp_accounting.pld import privacy_loss_distribution as pld
if __name__ == "__main__":
    events = dict(cases(load("dhc-2020"), "bounded"))[13, 13]
    start = time.process_time()
    total = None
    for event in events:
        one = pld.from_discrete_gaussian_mechanism(
            float(event.variance) ** 0.5,
            sensitivity=event.sensitivity,
            value_discretization_interval=1e-4,
            use_connect_dots=True,
        )
        part = one.self_compose(event.times)
        total = part if total is None else total.compose(part)
    epsilon = total.get_epsilon_for_delta(1e-10)
    seconds = time.process_time() - start
    low = total.get_delta_for_epsilon(60.0)
    print(json.dumps({"seconds": seconds, "epsilon": epsilon, "delta_at_60": low}))
"""


@dataclass(frozen=True)
class Run:
    """What one process took and said."""

    said: dict[str, object]
    wall: float
    cpu: float
    megabytes: float


def run(body: str, *, jobs: int = 2) -> Run:
    """Run a script in a fresh process and measure it, its workers included."""
    # a file, not -c: spawned workers must be able to import the main module
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "job.py"
        script.write_text(PREAMBLE + body)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(script), str(jobs)], capture_output=True, text=True, check=True
        )
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(json.loads(done.stdout.splitlines()[-1]), wall, cpu, after.ru_maxrss / 1024)


def import_seconds(command: list[str]) -> float:
    """The best of five cold starts."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def rows() -> list[tuple[str, str, str]]:
    """(what, measured, aim) for each figure."""
    found: list[tuple[str, str, str]] = []

    def add(what: str, measured: str, aim: str = "") -> None:
        found.append((what, measured, aim))
        print(f"  {what}: {measured}", file=sys.stderr, flush=True)

    overall = run(OVERALL)
    add(
        "epsilon at delta 1e-10 over all 946 pairs of dhc-2020, two processes, cold",
        f"{overall.wall:.1f} s wall, {overall.megabytes:.0f} MB (epsilon {overall.said['epsilon']:.9f})",
        "6 s, 500 MB",
    )
    curve = run(CURVE, jobs=1)
    add("42-point curve on all 946 pairs", f"{curve.cpu:.1f} CPU-s", "10 CPU-s")
    tradeoff = run(TRADEOFF, jobs=1)
    add("both errors at 901 thresholds on all 946 pairs", f"{tradeoff.cpu:.1f} CPU-s", "60 CPU-s")
    warm = run(WARM, jobs=1)
    add("main pair (13, 13), 42 points, warm", f"{1000 * float(str(warm.said['seconds'])):.1f} ms", "10 ms")
    certified = run(CERTIFIED)
    add(
        "certified epsilon at 1e-10 over all 946 pairs",
        f"{certified.wall:.0f} s wall, relative width {float(str(certified.said['width'])):.1e}",
        "90 s, 1e-10",
    )
    ours = run(PAIR, jobs=1)
    true = float(str(ours.said["true"]))
    error = abs(float(str(ours.said["epsilon"])) / true - 1)
    seconds = float(str(ours.said["seconds"]))
    add("one pair (13, 13), epsilon at 1e-10, cold", f"{1000 * seconds:.1f} CPU-ms, off by {error:.0e}")
    try:
        peer = run(PEER, jobs=1)
    except subprocess.CalledProcessError as problem:
        add("the same by dp-accounting", "not measured: " + problem.stderr.strip().splitlines()[-1])
    else:
        theirs = float(str(peer.said["seconds"]))
        off = abs(float(str(peer.said["epsilon"])) / true - 1)
        add(
            "the same by dp-accounting (connect the dots, interval 1e-4)",
            f"{theirs:.1f} CPU-s, off by {off:.0e}, "
            f"delta at epsilon 60 given as {float(str(peer.said['delta_at_60'])):.1e}",
        )
        add(
            "ratio of speed, ratio of error",
            f"{theirs / seconds:.0f} x, {off / max(error, 1e-16):.0e} x",
            "100 x, 1e6 x",
        )
    python = sys.executable
    plain = import_seconds([python, "-c", "pass"])
    add(
        "import discreet",
        f"{import_seconds([python, '-c', 'import discreet']):.2f} s (Python alone {plain:.2f} s)",
        "0.3 s",
    )
    add("discreet --help", f"{import_seconds([python, '-m', 'discreet', '--help']):.2f} s", "0.6 s")
    return found
