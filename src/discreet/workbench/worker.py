"""Work outside the event loop: a pool for what follows a dragged slider, jobs for what takes seconds.

- A `Slot` holds one request at a time: while one is computed, only the latest of those that follow is kept.
- A `Job` runs in a process group of its own and is killed, with its helpers, when a newer value comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
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
_GRACE = 2.0  # seconds in which a job may tidy up


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
    >>> asyncio.run(main())
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
    process = _SPAWN.Process(target=_child, args=(theirs, work, arguments))
    loop = asyncio.get_running_loop()
    try:
        await loop.run_in_executor(None, process.start)
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
        await asyncio.shield(loop.run_in_executor(None, _end, process))
        ours.close()


def _end(process: SpawnProcess) -> None:
    """Ask a job to end, which ends its helpers too; kill what is left of it."""
    if process.pid is None:
        return
    if process.is_alive():
        process.terminate()
        process.join(_GRACE)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join(_GRACE)


def _child(pipe: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run in the new process."""
    if hasattr(os, "setsid"):
        os.setsid()
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
        pipe.send(("done", work(*arguments, progress=progress)))
    except DiscreetError as error:
        pipe.send(("error", str(error)))
    except BrokenPipeError:
        pass
    except Exception as error:
        if _leaving:  # a library took the request to leave for a failure of its own
            return
        pipe.send(("error", f"{type(error).__name__}: {error}"))
        raise


_leaving: list[int] = []


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End the job by an exception, so that it tidies up on its way out."""
    _leaving.append(number)
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
        child.kill()
