"""Work on many cases in several processes, with progress and a clean stop.

Processes are spawned, not forked, and are gone when this returns, even after Ctrl-C. They import this package
and never the caller's script: a script without `if __name__ == "__main__":` would start its work again in
each of them, endlessly.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called with (done, total) as work goes on."""

_STARTING = threading.Lock()


def usable_cpus() -> int:
    """Return how many processors this process may use.

    >>> usable_cpus() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_cases(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    least: int = 64,
) -> list[Result]:
    """Return [work(task) for task in tasks], in order; in this process if there are few tasks.

    `work` must be a function of a module that can be imported, not of a script.

    >>> map_cases(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    total = len(tasks)
    results: list[Result] = []
    chunk = max(1, min(16, total // (4 * jobs)))
    for result in stream_cases(work, tasks, jobs=jobs if total >= least else 1, chunk=chunk):
        results.append(result)
        if progress is not None:
            progress(len(results), total)
    return results


def stream_cases(
    work: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int = 1, chunk: int = 1
) -> Iterator[Result]:
    """Yield work(task) for each task, in order; tasks are made as processes become free, `chunk` at a time.

    `work` must be a function of a module that can be imported, not of a script. A process has one thread of
    linear algebra: several would wait for each other.

    >>> list(stream_cases(abs, iter([-1, 2])))
    [1, 2]
    """
    if jobs <= 1:
        yield from map(work, tasks)
        return
    import multiprocessing  # with its pools a tenth of what the accountant takes to load

    with undisturbed(), one_thread():
        pool = multiprocessing.get_context("spawn").Pool(jobs, initializer=_ignore_interrupt)
    try:
        yield from pool.imap(work, tasks, chunksize=chunk)
        pool.close()
    finally:
        pool.terminate()
        pool.join()


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What linear algebra reads its number of threads from, once, when it is loaded."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let processes that start meanwhile use one thread of linear algebra each.

    >>> with one_thread():
    ...     os.environ["OMP_NUM_THREADS"]
    '1'
    """
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@contextmanager
def undisturbed() -> Iterator[None]:
    """Start processes that neither import the caller's script nor see Ctrl-C while they start.

    A spawned process imports what `__main__` is at that moment, and inherits blocked signals. Ctrl-C
    reaches the whole process group; the parent alone decides what to do with it.
    """
    with _STARTING:
        script, blocked = sys.modules["__main__"], None
        if hasattr(signal, "pthread_sigmask"):
            from multiprocessing import resource_tracker

            resource_tracker.ensure_running()  # it would unblock signals again, if it started in between
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
            if blocked is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _ignore_interrupt() -> None:
    # where signals cannot be blocked before a process starts, at least from here on
    signal.signal(signal.SIGINT, signal.SIG_IGN)
