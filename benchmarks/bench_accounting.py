"""How fast exact accounting is: each figure from a separate process, cold unless marked warm."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.budget import preset_names

PREAMBLE = """
import json, math, sys, time
from fractions import Fraction
from discreet.budget import load, cases
from discreet.accounting.account import account
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
    account(load("dhc-2020")).errors(threshold=np.linspace(-45, 45, 901))
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

PRESET = """
import resource
from discreet.comparisons.costs import DELTAS
if __name__ == "__main__":
    account(load(NAME)).at_delta(DELTAS)
    print(json.dumps({"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

TWO_KINDS = """
from discreet.noise import DiscreteGaussian, DiscreteLaplace
if __name__ == "__main__":
    wide = DiscreteGaussian(variance=27000, sensitivity=37, times=4)
    epsilon = compose([wide, DiscreteLaplace(scale="0.18", sensitivity=2)]).epsilon(delta="1e-60")
    print(json.dumps({"epsilon": epsilon}))
"""

JOINT = """
from discreet.accounting.account import portfolio
if __name__ == "__main__":
    both = portfolio([load(name) for name in ("pl94-2020-persons", "dhc-2020", "ddhca-2020")], jobs=JOBS)
    print(json.dumps({"epsilon": both.epsilon(delta="1e-10"), "cases": both.pairs}))
"""

GROWTH = """
from discreet.budget import Level, Query, Release, Spine
if __name__ == "__main__":
    levels = [
        Level(
            name=f"L{i}",
            queries=[
                Query(name="total", variance=Fraction(1000, 100 + 17 * i)),
                Query(name="detail", variance=Fraction(1000, 310 + 23 * i)),
            ],
        )
        for i in range(MERGED + 1)
    ]
    spine = Spine(may_merge_up=[f"L{i}" for i in range(1, MERGED + 1)])
    release = Release(name="growing", neighbours="bounded", levels=levels, spine=spine)
    point = account(release).at_delta("1e-10")[0]
    print(json.dumps({"paths": len(release.paths), "epsilon": point.epsilon}))
"""

COMMAND = """
import os, tempfile
from discreet.cli import main
if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.argv = ["discreet", *ARGUMENTS, "--jobs", str(JOBS), "--quiet"]
        status = main()
    print()
    print(json.dumps({"status": status}))
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

DP_ACCOUNTING = """
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
    print(json.dumps({"seconds": seconds, "epsilon": epsilon, "how": "connect the dots, interval 1e-4"}))
"""

PRV_ACCOUNTANT = """
import numpy as np
from scipy.special import logsumexp
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import PrivacyRandomVariable

class Discrete(PrivacyRandomVariable):
    # its loss is x / variance + 1 / (2 variance), x the noise
    def __init__(self, event):
        self.s2 = float(event.variance)
        self.x = np.arange(-math.ceil(40 * self.s2**0.5), math.ceil(40 * self.s2**0.5) + 1)
        logs = -self.x**2 / (2 * self.s2)
        self.log = logs - logsumexp(logs)
        self.sums = np.append(0.0, np.cumsum(np.exp(self.log)))
    def cdf(self, t):
        at = np.searchsorted(self.x, np.floor(np.asarray(t) * self.s2 - 0.5 + 1e-9), side="right")
        return self.sums[at]
    def pdf(self, t):
        raise NotImplementedError
    def rdp(self, alpha):
        l = self.x / self.s2 + 1 / (2 * self.s2)
        return logsumexp(self.log + (alpha - 1) * l) / (alpha - 1)

if __name__ == "__main__":
    events = dict(cases(load("dhc-2020"), "bounded"))[13, 13]
    start = time.process_time()
    times = [event.times for event in events]
    whole = PRVAccountant(
        prvs=[Discrete(event) for event in events],
        max_self_compositions=times,
        eps_error=1e-2,
        delta_error=1e-12,
    )
    low, estimate, up = whole.compute_epsilon(delta=1e-10, num_self_compositions=times)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "epsilon": estimate, "how": "error of epsilon 0.01"}))
"""

BETA = """    from riskcal.analysis import get_beta_from_pld
    beta = get_beta_from_pld(total, alpha=0.05)
    epsilon = total"""
HOW = '"connect the dots, interval 1e-4"'
RISKCAL = DP_ACCOUNTING.replace("    epsilon = total", BETA).replace(HOW, '"and beta at alpha 0.05"')

PEERS = {"dp-accounting": DP_ACCOUNTING, "prv-accountant": PRV_ACCOUNTANT, "riskcal": RISKCAL}


@dataclass(frozen=True)
class Run:
    """What one process took and printed."""

    said: dict[str, object]
    wall: float
    cpu: float
    megabytes: float


def run(body: str, *, jobs: int = 2, limit: float | None = None) -> Run:
    """Run a script in a fresh process and measure it, including its workers; `limit` is in seconds."""
    # a file, not -c, since spawned workers must be able to import the main module
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "job.py"
        script.write_text(PREAMBLE + body)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(script), str(jobs)],
            capture_output=True,
            text=True,
            check=True,
            timeout=limit,
        )
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(json.loads(done.stdout.splitlines()[-1]), wall, cpu, after.ru_maxrss / 1024)


def import_seconds(command: list[str]) -> float:
    """Return the best of five cold starts."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        best = min(best, time.perf_counter() - start)
    return best


GROWN = (3, 4, 5, 6, 7, 8, 9, 10)
"""Numbers of levels that may merge up: 8 to 1,024 paths."""

LIMIT = 240.0
"""Seconds allowed for one size; once it is exceeded, larger sizes are left out."""


def command(*arguments: str) -> str:
    """Return a script that runs a command of discreet in a temporary folder."""
    return f"ARGUMENTS = {list(arguments)!r}\n" + COMMAND


def growth(file: Path) -> list[tuple[int, Run]]:
    """Account for releases with more and more paths, until one exceeds the limit, and draw the times."""
    from discreet.answers.figure import Axis, Dots, Line, Notation, Panel, Picture, points
    from discreet.render.pictures import picture_bytes

    runs = []
    with suppress(subprocess.TimeoutExpired):
        for merged in GROWN:
            runs.append((2**merged, run(f"MERGED = {merged}\n" + GROWTH, jobs=1, limit=LIMIT)))
    taken = points((paths for paths, _ in runs), (spent.cpu for _, spent in runs))
    ticks = tuple(float(paths) for paths, _ in runs)
    panel = Panel(
        Axis("paths", is_log=True, written=Notation.COUNT, ticks=ticks),
        Axis("processor seconds", is_log=True),
        (Line(taken), Dots(taken)),
    )
    file.write_bytes(picture_bytes(Picture((panel,), size=(4.8, 3.2)), file.suffix.lstrip(".")))
    return runs


def rows(figure: Path) -> list[tuple[str, str]]:
    """Return (what, measured) for each figure."""
    lines: list[tuple[str, str]] = []

    def add(what: str, measured: str) -> None:
        lines.append((what, measured))
        print(f"  {what}: {measured}", file=sys.stderr, flush=True)

    taken = run(OVERALL, jobs=1)
    add(
        "epsilon at delta 1e-10 over all 946 pairs of `dhc-2020`, cold",
        f"{taken.wall:.1f} s, {taken.cpu:.1f} CPU-s, {taken.megabytes:.0f} MB "
        f"(epsilon {taken.said['epsilon']:.9f})",
    )
    add("42-point curve over all pairs", f"{run(CURVE, jobs=1).cpu:.1f} CPU-s")
    taken = run(TRADEOFF, jobs=1)
    add("both errors at 901 thresholds of each pair", f"{taken.cpu:.0f} CPU-s")
    presets = {name: run(f"NAME = {name!r}\n" + PRESET, jobs=1) for name in preset_names()}
    slowest = max(presets, key=lambda name: presets[name].cpu)
    largest = max(presets, key=lambda name: float(str(presets[name].said["megabytes"])))
    add(
        "epsilon of each preset at the four default deltas, the slowest and the largest",
        f"{presets[slowest].cpu:.1f} CPU-s (`{slowest}`), "
        f"{float(str(presets[largest].said['megabytes'])):.0f} MB (`{largest}`)",
    )
    taken = run(TWO_KINDS, jobs=1)
    add("four wide Gaussian counts and a Laplace one, delta 1e-60", f"{taken.cpu:.1f} CPU-s")
    taken = run(JOINT, jobs=1)
    add(
        f"PL 94-171, DHC and Detailed DHC-A together, {taken.said['cases']:,} cases",
        f"{taken.wall:.1f} s",
    )
    taken = run(CERTIFIED)
    add(
        "certified epsilon over all pairs of `dhc-2020`",
        f"{taken.wall:.1f} s, {taken.cpu:.1f} CPU-s, relative width {float(str(taken.said['width'])):.0e}",
    )
    report = run(command("report", "dhc-2020", "--out", "report.html"))
    add("`discreet report dhc-2020`, certified", f"{report.wall:.0f} s, {report.cpu:.0f} CPU-s")
    promise = ("--epsilon", "20", "--delta", "1e-10")
    taken = run(command("calibrate", "dhc-2020", *promise, "--certify"))
    add("`calibrate dhc-2020 --certify`", f"{taken.wall:.0f} s, {taken.cpu:.0f} CPU-s")
    taken = run(command("calibrate", "dhc-2020", *promise, "--weights", "State=2"))
    add("`calibrate dhc-2020 --weights State=2`", f"{taken.wall:.1f} s, {taken.cpu:.1f} CPU-s")
    most, longest = growth(figure)[-1]
    reached = f"{longest.cpu:.0f} CPU-s, {longest.megabytes:.0f} MB"
    if most < 2 ** GROWN[-1]:
        reached = f"not within {LIMIT:.0f} s; {most:,} paths: {reached}"
    add("a release of 1,024 paths, 524,800 pairs", reached)
    warm = float(str(run(WARM, jobs=1).said["seconds"]))
    add("one pair (13, 13), 42 points, warm", f"{1000 * warm:.1f} ms")
    python = sys.executable
    plain = import_seconds([python, "-c", "pass"])
    mine = import_seconds([python, "-c", "import discreet"])
    add("import discreet", f"{mine:.2f} s (Python alone {plain:.2f} s)")
    helped = import_seconds([python, "-m", "discreet", "--help"])
    add("discreet --help", f"{helped:.2f} s")
    return lines


def peers() -> list[tuple[str, str, str, str]]:
    """Return (package, one pair, off by, 946 times one pair) for epsilon at 1e-10 of pair (13, 13)."""
    ours = run(PAIR, jobs=1)
    true, whole = float(str(ours.said["true"])), run(OVERALL, jobs=1).cpu
    seconds = float(str(ours.said["seconds"]))
    error = abs(float(str(ours.said["epsilon"])) / true - 1)
    off_by = f"{error:.0e}" if error > 1e-15 else "below 1e-15"
    lines = [("discreet", f"{seconds:.4f} CPU-s", off_by, f"{whole:.1f} CPU-s")]
    for name, body in PEERS.items():
        try:
            peer = run(body, jobs=1)
        except subprocess.CalledProcessError as problem:
            why = problem.stderr.strip().splitlines()[-1]
            lines.append((name, f"not measured: {why}", "", ""))
            continue
        theirs, off = float(str(peer.said["seconds"])), abs(float(str(peer.said["epsilon"])) / true - 1)
        lines.append(
            (
                f"{name}, {peer.said['how']}",
                f"{theirs:.2f} CPU-s",
                f"{off:.0e}",
                f"{946 * theirs:,.0f} CPU-s",
            )
        )
    return lines
