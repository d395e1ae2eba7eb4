"""Runs that end badly, in processes of their own: `python safetab_crash.py PARAMS DATA` reads JSON lines.

Each task is forked off, so that the libraries are loaded once: run, perhaps be killed after a while, or be
unable to write files beyond a size.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from typing import Any

from discreet.areas.output import arrow
from discreet.cli import run


def child(params: str, data: str, task: dict[str, Any]) -> int:
    """Run the command in this process; return its exit status."""
    if "limit" in task:
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["limit"], task["limit"]))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.dup2(os.open(task["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    options = task.get("options", [])
    if "--ledger" not in options:
        options = ["--no-ledger", *options]
    status = run(["safetab", "run", params, data, task["out"], "--quiet", *options])
    sys.stderr.flush()
    return status


def main() -> None:
    params, data = sys.argv[1:3]
    import duckdb  # noqa: F401 - loaded before the forks, not connected
    import ibis  # noqa: F401

    import discreet.census.mechanism.counts
    import discreet.census.safetab.run  # noqa: F401

    for part in ("csv", "parquet", "compute"):
        arrow(part)
    for line in sys.stdin:
        task = json.loads(line)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                code = child(params, data, task)
            finally:
                os._exit(code)
        if "after" in task:
            time.sleep(task["after"])
            os.kill(pid, signal.SIGKILL)
        started = time.perf_counter()
        _, status = os.waitpid(pid, 0)
        answer = {"status": os.waitstatus_to_exitcode(status), "seconds": time.perf_counter() - started}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
