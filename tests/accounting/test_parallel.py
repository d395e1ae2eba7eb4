"""Several processes: results in order, scripts without a main guard, and Ctrl-C while workers start."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.accounting.parallel import map_cases

UNGUARDED = """\
import math
from discreet.accounting.parallel import map_cases
print("begun", flush=True)
print(sum(map_cases(math.factorial, range(80), jobs=2, least=1)) == sum(map(math.factorial, range(80))))
"""

INTERRUPTED = """\
import sys, time
from discreet.accounting.parallel import map_cases
try:
    map_cases(time.sleep, [20.0] * 8, jobs=2, least=1)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_results_come_in_order_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    found = map_cases(math.factorial, range(10), jobs=2, least=1, progress=lambda *now: told.append(now))
    assert found == [math.factorial(n) for n in range(10)]
    assert told[-1] == (10, 10)


def test_a_script_without_a_main_guard_works(tmp_path: Path) -> None:
    """Workers that import the script would print "begun" again, and start workers of their own."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.split(), done.stderr, done.returncode) == (["begun", "True"], "", 0)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc: run on Linux")
@pytest.mark.parametrize("wait", [0.0, 0.15, 0.4])
def test_an_interrupt_while_workers_start_leaves_no_traceback(tmp_path: Path, wait: float) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    running = subprocess.Popen(
        [sys.executable, script], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while _workers(running.pid) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(wait)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does it: to the whole group
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, errors) == (130, "")


def _workers(leader: int) -> int:
    """How many processes of a session were spawned for work."""
    found = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                found += int(fields[3]) == leader and "spawn_main" in (folder / "cmdline").read_text()
            except OSError:
                continue
    return found
