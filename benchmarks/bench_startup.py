"""What a fresh process costs before it computes: processor seconds, beside those of `import numpy`.

Run `python -m benchmarks.bench_startup`. All are measured in turn, round by round, so that other work on the
machine slows all of them alike; the ratio is what can be compared between machines.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 5
HEADER = ("what", "CPU-s", "times `import numpy`")
NUMPY = "import numpy"
STARTED: dict[str, list[str]] = {
    NUMPY: ["-c", NUMPY],
    **{
        code: ["-c", code]
        for code in (
            "import discreet",
            "import discreet.ledger.locks",
            "import discreet.ledger.ledger",
            "import discreet.accounting.calibration",
            "import discreet.measurement.measuring",
        )
    },
    "discreet --help": ["-m", "discreet", "--help"],
    "discreet account --help": ["-m", "discreet", "account", "--help"],
    "discreet account pl94-2020-units": ["-m", "discreet", "account", "pl94-2020-units"],
    "discreet risk release pl94-2020-units": ["-m", "discreet", "risk", "release", "pl94-2020-units"],
}
"""What is started, and how."""


def processor_seconds(arguments: list[str], folder: str) -> float:
    """Run Python with these arguments and return what it took of the processor."""
    command = [sys.executable, *arguments]
    started = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {started.returncode}")
    return used.ru_utime + used.ru_stime


def rows(rounds: int = ROUNDS) -> list[tuple[str, ...]]:
    """Measure all, and return their medians and the ratios to NumPy's."""
    measured: dict[str, list[float]] = {what: [] for what in STARTED}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):  # the first compiles modules, and does not count
            for what, arguments in STARTED.items():
                seconds = processor_seconds(arguments, folder)
                if number:
                    measured[what].append(seconds)
    medians = {what: statistics.median(seconds) for what, seconds in measured.items()}
    return [
        (f"`{what}`", f"{seconds:.2f}", f"{seconds / medians[NUMPY]:.2f}")
        for what, seconds in medians.items()
    ]


def main() -> None:
    for row in rows(*map(int, sys.argv[1:])):
        print(*row, sep=" | ")


if __name__ == "__main__":
    main()
