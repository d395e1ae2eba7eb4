"""Work outside the event loop: a pool for what follows a dragged slider, jobs for what takes seconds.

- A `Slot` holds one request at a time: while one is computed, only the latest of those that follow is kept.
- A `Job` runs in a process group of its own and is killed, with its helpers, when a newer value comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar

from discreet.errors import DiscreetError

Request = TypeVar("Request")
Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""

Start = Callable[[Coroutine[Any, Any, None]], Any]
"""Starts a task and keeps hold of it."""

_SPAWN = multiprocessing.get_context("spawn")
_OFTEN = 0.1  # seconds between two reports of progress
_GRACE = 1.0  # seconds in which a job may tidy up; NiceGUI waits for 2 when it ends


def processors() -> int:
    """Return how many processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Slot(Generic[Request]):
    """One place for work: the latest request wins, and none is computed twice or queued.

    >>> async def main():
    ...     seen = []
    ...     async def work(number):
    ...         await asyncio.sleep(0.01)
    ...         seen.append(number)
    ...     tasks = []
    ...     slot = Slot(work, lambda task: tasks.append(asyncio.ensure_future(task)))
    ...     for number in range(50):
    ...         slot.ask(number)
    ...     while slot.busy:
    ...         await asyncio.sleep(0.01)
    ...     return seen
    >>> from concurrent.futures import ThreadPoolExecutor  # a thread may already have a loop
    >>> ThreadPoolExecutor(1).submit(asyncio.run, main()).result()
    [49]
    """

    def __init__(self, work: Callable[[Request], Awaitable[None]], start: Start) -> None:
        self._work = work
        self._start = start
        self._next: list[Request] = []
        self.busy = False

    def ask(self, request: Request) -> None:
        """Ask for work; a request that waits is replaced."""
        self._next = [request]
        if not self.busy:
            self.busy = True
            self._start(self._run())

    @property
    def waiting(self) -> bool:
        """Whether a request waits for the one that is computed."""
        return self.busy and bool(self._next)

    def clear(self) -> None:
        """Forget the request that waits."""
        self._next = []

    async def _run(self) -> None:
        try:
            while self._next:
                await self._work(self._next.pop())
        finally:
            self.busy = False


class Pool:
    """Processes that are kept warm, for work of milliseconds; renewed if one of them dies."""

    def __init__(self, size: int | None = None) -> None:
        self._size = size or max(1, min(processors(), 8))
        self._pool: ProcessPoolExecutor | None = None

    def warm(self) -> None:
        """Start the processes and let them import what they need."""
        for _ in range(self._size):
            self._executor().submit(_import_views)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Compute in one of the processes."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor(), work, *arguments)
        except BrokenProcessPool:
            self._pool = None
            return await loop.run_in_executor(self._executor(), work, *arguments)

    def _executor(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._size, mp_context=_SPAWN, initializer=_begin, initargs=(2,))
            with unhurried():
                self._pool.submit(int).add_done_callback(lambda done: done.exception())
        return self._pool

    def stop(self) -> None:
        """End the processes, in the middle of their work if need be."""
        if self._pool is not None:
            kill_children()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


class Jobs:
    """Long work, a few at a time; each in a process group of its own, so that it can be killed."""

    def __init__(self, at_once: int | None = None) -> None:
        self._turn = asyncio.Semaphore(at_once or max(1, processors() // 2))

    async def run(self, work: Callable[..., Result], *arguments: Any, progress: Progress) -> Result:
        """Return work(*arguments, progress=...); cancelling the task kills the work."""
        if self._turn.locked():
            progress("waiting", 0, 0)
        async with self._turn:
            progress("", 0, 0)
            found: Result = await _in_process(work, arguments, progress)
            return found


async def _in_process(work: Callable[..., Any], arguments: tuple[Any, ...], progress: Progress) -> Any:
    ours, theirs = _SPAWN.Pipe(duplex=False)
    place = tempfile.mkdtemp(prefix="discreet-")
    process = _SPAWN.Process(target=_child, args=(theirs, place, work, arguments))
    loop = asyncio.get_running_loop()
    try:
        await asyncio.shield(loop.run_in_executor(None, _start, process))
        theirs.close()
        while True:
            try:
                kind, value = await loop.run_in_executor(None, ours.recv)
            except (EOFError, OSError):
                raise DiscreetError("the computation ended without an answer") from None
            if kind == "progress":
                progress(*value)
            elif kind == "done":
                return value
            else:
                raise DiscreetError(value)
    finally:
        await asyncio.shield(loop.run_in_executor(None, _end, process, place))
        ours.close()


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """Start processes that never see Ctrl-C, which a terminal sends to all; the server ends them itself.

    What is blocked here stays blocked in what is started here, from its first moment.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _start(process: SpawnProcess) -> None:
    with unhurried():
        process.start()


def _end(process: SpawnProcess, place: str) -> None:
    """Ask a job to end, which ends its helpers too; kill what is left of it, and remove what it left."""
    if process.pid is not None:
        if process.is_alive():
            process.terminate()
            process.join(_GRACE)
        _kill(process)
        process.join(_GRACE)
    shutil.rmtree(place, ignore_errors=True)


def _kill(process: BaseProcess) -> None:
    """Kill a process, and its group if it leads one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg") and process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _child(pipe: Connection, place: str, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run in the new process; all its files for a while are in `place`."""
    if hasattr(os, "setsid"):
        os.setsid()
    tempfile.tempdir = os.environ["TMPDIR"] = place
    signal.signal(signal.SIGTERM, _leave)
    _begin(10)  # dragged sliders come first
    last = 0.0

    def progress(*report: Any) -> None:
        nonlocal last
        stage, done, total = report if len(report) == 3 else ("", *report)
        if done == total or time.monotonic() - last > _OFTEN:
            last = time.monotonic()
            pipe.send(("progress", (stage, done, total)))

    try:
        answer = ("done", work(*arguments, progress=progress))
    except DiscreetError as error:
        answer = ("error", str(error))
    except BrokenPipeError:
        return
    except Exception as error:
        if _leaving:  # a library took the request to leave for a failure of its own
            return
        traceback.print_exc()
        answer = ("error", f"{type(error).__name__}: {error}")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is on its way out
    with contextlib.suppress(OSError):
        pipe.send(answer)


_leaving: list[int] = []


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End the job by an exception, so that it tidies up on its way out; what it says of that is of no use."""
    signal.signal(number, signal.SIG_IGN)
    _leaving.append(number)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    raise SystemExit(128 + number)


def _begin(nice: int) -> None:
    """What every process of ours does first: leave Ctrl-C to the server, and end when the server does.

    The server, which answers everyone, comes before those that compute.
    """
    if hasattr(os, "nice"):
        os.nice(nice)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _import_views() -> float:
    """Make the first real request as fast as the others."""
    from fractions import Fraction

    from discreet.budget import DiscreteGaussian
    from discreet.workbench.budget_view import errors, quick

    events = (DiscreteGaussian(variance=5, times=10),)
    errors(events)
    return quick(events, Fraction(1, 10**10)).epsilon


def kill_children() -> None:
    """End every process that this one has started; for the very end."""
    for child in multiprocessing.active_children():
        _kill(child)
