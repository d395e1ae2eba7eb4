"""Runs that end badly, in processes of their own: killed, or out of disk space, at a chosen operation.

`python release_crash.py FOLDER` reads tasks as JSON lines and forks one process for each, so that the
libraries are loaded once. An audit hook counts the operations on files of FOLDER: each is a point at which
the process kills itself, or at which the disk is full. With `tests/torture/faults.c` preloaded, faults come
at system calls instead, before or after they are done.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

from office_mechanism import publish_answers

from discreet.areas.output import arrow
from discreet.budget import load_file
from discreet.budget.noise_table import noises
from discreet.errors import InputError
from discreet.ledger import release_run
from discreet.measurement import measure
from discreet.noise import DiscreteLaplace, sample

WRITES = ("os.mkdir", "os.rename")
OTHERS = ("os.remove", "os.rmdir", "os.chmod", "shutil.rmtree")


class Hook:
    """Count operations within a folder and misbehave at one of them."""

    def __init__(self, folder: str, how: str, at: int) -> None:
        self.folder, self.how, self.at, self.count = folder, how, at, 0

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            writes = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        elif event in WRITES or event in OTHERS:
            path, writes = args[0], event == "os.mkdir"
        else:
            return
        if not isinstance(path, str | os.PathLike) or not os.fspath(path).startswith(self.folder):
            return
        self.count += 1
        if self.how == "kill" and self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "full" and self.count >= self.at and writes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def run(folder: Path, task: dict[str, Any], pipe: int) -> None:
    """Make a run, in a forked process; write what happened into the pipe."""
    hook = Hook(str(folder), task["how"], task.get("at", 0))
    if task["how"] == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["at"], task["at"]))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    elif task["how"] == "fault":
        arm(folder, task)
    elif task["how"] != "plain":
        sys.addaudithook(hook)
    if "clock" in task:
        release_run.now = lambda: task["clock"]
    try:
        AUTHORS[task.get("author", "measure")](folder, task)
        said = "done"
    except InputError as error:
        said = str(error)
    except SystemExit:
        said = "terminated"
    answer = {"said": said, "operations": hook.count}
    if task["how"] == "fault":
        answer |= {"calls": ctypes.c_char_p(library().fault_calls()).value.decode().split()}
    os.write(pipe, json.dumps(answer).encode())


def measured(folder: Path, task: dict[str, Any]) -> None:
    measure(
        load_file(folder / "release.toml"),
        folder / task.get("counts", "counts.csv"),
        folder / task["out"],
        post="consistent",
        ledger=folder / "ledger.json",
        spend_again=True,
    )


def answered(folder: Path, task: dict[str, Any]) -> None:
    out, ledger = folder / task["out"], folder / "ledger.json"
    publish_answers(folder / "answers.csv", ["yes", "no"], out, scale="2", ledger=ledger, spend_again=True)


AUTHORS = {"measure": measured, "office": answered}
"""Who makes the run: the package, or a mechanism of an office's own."""


def library() -> ctypes.CDLL:
    """What was preloaded."""
    found = ctypes.CDLL(None)
    found.fault_calls.restype = ctypes.c_void_p
    return found


def arm(folder: Path, task: dict[str, Any]) -> None:
    """Set the fault: a signal or an error, at a system call, before it or after it."""

    def terminated(*_: object) -> None:
        raise SystemExit(143)  # as the command line does

    signal.signal(signal.SIGTERM, terminated)
    arguments = (
        task["at"],
        "signal" in task,
        task.get("signal") or task.get("errno", 0),
        task.get("after_it", 0),
    )
    library().fault_arm(
        str(folder).encode(), ctypes.c_long(arguments[0]), *map(int, arguments[1:]), task.get("sticky", 0)
    )


def warm_up(folder: Path) -> None:
    """Load the libraries and make the tables of the sampler, which the forked processes inherit."""
    for part in ("csv", "parquet", "compute"):
        arrow(part)
    for noise in noises(load_file(folder / "release.toml")).values():
        sample(noise, 1)
    sample(DiscreteLaplace(scale="2"), 1)


def main() -> None:
    folder = Path(sys.argv[1])
    warm_up(folder)
    for line in sys.stdin:
        task = json.loads(line)
        receive, send = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                run(folder, task, send)
                code = 0
            finally:
                os._exit(code)
        os.close(send)
        if "after" in task:
            time.sleep(task["after"])
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with os.fdopen(receive, "rb") as stream:
            text = stream.read()
        answer = json.loads(text) if text else {"said": None, "operations": 0}
        print(json.dumps({**answer, "status": status}), flush=True)


if __name__ == "__main__":
    main()
