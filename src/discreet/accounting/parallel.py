"""Work on many cases in several processes, with progress and a clean stop.

Processes are spawned, not forked, and are gone when this returns, also after Ctrl-C.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called with (done, total) as work goes on."""


def _ignore_interrupt() -> None:
    # Ctrl-C reaches the whole process group; the parent alone decides what to do with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def map_cases(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    progress: Progress | None = None,
    least: int = 64,
) -> list[Result]:
    """Return [work(task) for task in tasks], in order; in this process if there are few tasks.

    >>> map_cases(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    total = len(tasks)
    results: list[Result] = []
    for result in _stream(work, tasks, jobs if total >= least else 1):
        results.append(result)
        if progress is not None:
            progress(len(results), total)
    return results


def _stream(work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> Iterator[Result]:
    if jobs <= 1:
        yield from map(work, tasks)
        return
    pool = multiprocessing.get_context("spawn").Pool(jobs, initializer=_ignore_interrupt)
    try:
        yield from pool.imap(work, tasks, chunksize=max(1, min(16, len(tasks) // (4 * jobs))))
        pool.close()
    finally:
        pool.terminate()
        pool.join()
