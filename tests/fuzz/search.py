"""Search with new seeds until the time is over, and save each failure as a case that `make test` replays.

`python tests/fuzz/search.py --minutes 10 --jobs 2`, or `make fuzz MINUTES=10`. Every round takes a new seed
for every property test (`@given`), in random order, and spends about as long on the modules `fuzz_*.py`. The
status is 1 if something was found. A find is mended, or noted as a known limit; its case stays either way.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import random
import secrets
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzzing import ROOT, Case, checker, modules

LIMIT = 120
"""Seconds that one seed of a module may take; longer is a find."""


class Finds:
    """What was found, one case for each check that failed in this search."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def add(self, case: Case) -> None:
        if all(case.check != other.check for other in self.cases):
            print(
                f"found: {case.check} with seed {case.seed}\n  saved as {case.save().relative_to(ROOT)}",
                flush=True,
            )
            self.cases.append(case)


class Round:
    """A plugin of pytest: property tests only, in random order, until the deadline."""

    def __init__(self, seed: int, deadline: float, finds: Finds) -> None:
        self.seed, self.deadline, self.finds, self.ran = seed, deadline, finds, 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = {case.check for case in self.finds.cases}
        items[:] = [
            item
            for item in items
            if item.get_closest_marker("hypothesis")
            and not item.get_closest_marker("skip")
            and not item.get_closest_marker("xfail")
            and item.nodeid not in known
        ]
        random.Random(self.seed).shuffle(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.ran += 1
        if report.failed and report.when == "call":
            self.finds.add(Case(report.nodeid, self.seed, report.longreprtext[-4000:]))

    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self.deadline and self.session is not None:
            self.session.shouldstop = "time is over"

    session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def properties(deadline: float, finds: Finds, paths: list[str]) -> int:
    """One seed for every property test; return how many ran."""
    seed = secrets.randbits(32)
    plugin = Round(seed, deadline, finds)
    arguments = ["-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        status = pytest.main([*arguments, *(paths or ["tests"])], plugins=[plugin])
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
        raise SystemExit(f"pytest could not run:\n{told.getvalue()[-2000:]}")
    return plugin.ran


def seeds(module: str, seconds: float, finds: Finds) -> int:
    """New seeds for one module for so long, at least one; return how many."""
    check, count = checker(module), 0
    deadline = time.monotonic() + seconds
    while not count or time.monotonic() < deadline:
        if any(case.check == module for case in finds.cases):
            break
        seed = secrets.randbits(48)
        try:
            with limited(LIMIT):
                check(seed)
        except Exception:
            finds.add(Case(module, seed, traceback.format_exc()[-4000:]))
        count += 1
    return count


def search(minutes: float, rounds: float, paths: list[str]) -> Finds:
    """Search in this process."""
    finds, end, ran = Finds(), time.monotonic() + 60 * minutes, 0
    chosen = [module for module in modules() if not paths or any(module.startswith(path) for path in paths)]
    while time.monotonic() < end and rounds > 0:
        began, rounds = time.monotonic(), rounds - 1
        here = (
            properties(end, finds, [path for path in paths if path not in chosen]) if paths != chosen else 0
        )
        share = min(max(time.monotonic() - began, 20.0), end - time.monotonic()) / max(len(chosen), 1)
        for module in chosen:
            here += seeds(module, share, finds)
        ran += here
        if not here:
            break
    print(f"{ran} checks with new seeds, {len(finds.cases)} found", flush=True)
    return finds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=float, default=math.inf, help="end after so many; default: no limit")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("paths", nargs="*", help="files or folders of tests; default: all")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    os.environ["HYPOTHESIS_PROFILE"] = "fuzz"
    more = ["--minutes", str(chosen.minutes), "--rounds", str(chosen.rounds), *chosen.paths]
    others = [subprocess.Popen([sys.executable, str(Path(__file__)), *more]) for _ in range(chosen.jobs - 1)]
    found = bool(search(chosen.minutes, chosen.rounds, chosen.paths).cases)
    statuses = [other.wait() for other in others]
    return int(any(statuses) or found)


if __name__ == "__main__":
    sys.exit(main())
