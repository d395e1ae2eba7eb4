"""Work outside the event loop: fair to all visitors, and ended when nobody waits for it any more.

Reading and computing for a visitor happen in a process that can be killed. A job has an owner, an estimate of
its cost and a deadline:

- Its cost decides which of three lanes a job goes to. Each lane has its own processes, so that work of
  minutes never delays work of milliseconds. A job that exceeds the limit of its lane moves to the next one.
- Within a lane the visitor who has used the least time goes first, and a newcomer before everyone. Time that
  a visitor did not use while others waited is not saved up.
- A job that is cancelled or reaches its deadline is killed, with everything that it started.
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
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.util import get_temp_dir
from types import FrameType
from typing import NoReturn, TypeVar, cast

from discreet.accounting.parallel import undisturbed
from discreet.errors import DiscreetError

Answer = TypeVar("Answer")
Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""

Message = tuple[str, object, float]
"""A message from a process: its kind, its content, and the seconds computed so far."""

MOST_WAITING = 64
"""The most jobs of one visitor that may wait; more are refused."""

_LOADED = ["discreet.workbench.adversary"]
_SOCKET = 100  # the longest path of a socket, in characters, that every system allows
_OFTEN = 0.1  # seconds between two reports of progress
_GRACE = 1.0  # seconds for a job to clean up; NiceGUI waits for 2 when it ends
_MEMORY = 4 * 2**30  # bytes that one process may hold
_SPARE = 1  # warm idle processes, to replace one that was killed
_REMEMBERED = 1000  # durations of jobs kept
_EACH = 0.005  # seconds charged for a job at least
_WELCOME = 1.0  # seconds of head start for a newcomer
_QUIET = 30.0  # seconds without work after which used processes are replaced by fresh ones
_OVERFULL = 4  # jobs that a lane may take over from the previous one, beyond its own number


@cache
def _starting(folder: str) -> ForkServerContext | SpawnContext:
    """Return how processes start: forked from one that has loaded the modules they need and has no threads,
    if the system supports it and the path of its socket in this folder is short enough."""
    socket = os.fsencode(os.path.join(folder, "listener-12345678"))
    if "forkserver" not in multiprocessing.get_all_start_methods() or len(socket) > _SOCKET:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    return context


def processors() -> int:
    """Return the number of processors this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Lane:
    """A group of jobs of similar length: how many run at once, and at which priority."""

    longest: float
    """Seconds; a job that takes longer moves to the next lane."""
    at_once: int
    nice: int


@dataclass(eq=False)
class Job:
    """One piece of work that a visitor waits for."""

    owner: str
    work: Callable[..., object]
    arguments: tuple[object, ...]
    deadline: float
    progress: Progress | None
    answer: asyncio.Future[object]
    lane: int
    worker: Worker | None = None
    begun: float = 0.0
    seconds: float = 0.0
    """The seconds it has computed in the end; other work on the machine does not count."""
    timers: list[asyncio.TimerHandle] = field(default_factory=list)


class Workers:
    """The processes that all visitors share.

    >>> async def main():
    ...     workers = Workers()
    ...     try:
    ...         return await workers.run(pow, 2, 10, owner="a visitor", cost=0.01, deadline=60)
    ...     finally:
    ...         await workers.stop()
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> ThreadPoolExecutor(1).submit(asyncio.run, main()).result()
    1024
    """

    def __init__(
        self, lanes: tuple[Lane, ...] | None = None, warm: Callable[[], object] | None = None
    ) -> None:
        many = max(1, min(processors(), 8))
        half = max(1, many // 2)
        self.lanes = lanes or (Lane(1.0, many, 2), Lane(20.0, half, 6), Lane(float("inf"), half, 10))
        self._warm = warm
        self._waiting: list[dict[str, list[Job]]] = [{} for _ in self.lanes]
        self._running: list[set[Job]] = [set() for _ in self.lanes]
        self._used: OrderedDict[str, float] = OrderedDict()
        self._clock = 0.0  # the least time used by any visitor served recently
        self._took: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._ending: set[asyncio.Future[None]] = set()
        self._stopped = False
        self._rest: asyncio.TimerHandle | None = None

    async def run(
        self,
        work: Callable[..., Answer],
        *arguments: object,
        owner: str,
        cost: float,
        deadline: float,
        kind: str = "",
        progress: Progress | None = None,
    ) -> Answer:
        """Return work(*arguments), computed in another process; with `progress` it can report to a function.

        `cost` is an estimate in seconds, replaced by the duration of the visitor's last job of this `kind` if
        there was one; after `deadline` seconds the work is stopped. Cancelling the waiting task ends it.
        """
        cost = self._took.get((owner, kind), cost)
        lane = next(number for number, lane in enumerate(self.lanes) if cost <= lane.longest)
        waiting = self._waiting[lane].setdefault(owner, [])
        if len(waiting) >= MOST_WAITING or self._stopped:
            raise DiscreetError("too many questions at once; wait for their answers")
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        job = Job(owner, work, arguments, deadline, progress, future, lane)
        if owner not in self._used:
            self._used[owner] = self._clock - _WELCOME
        elif self.owned(owner) == 0:
            self._used[owner] = max(self._used[owner], self._clock)
        waiting.append(job)
        self._fill(lane)
        if progress is not None:
            progress("" if job.worker else "waiting", 0, 0)
        try:
            answer = await future
            if kind:
                self._took[owner, kind] = job.seconds
                while len(self._took) > _REMEMBERED:
                    self._took.popitem(last=False)
            return cast(Answer, answer)  # as the process was told
        finally:
            self._leave(job)

    def owned(self, owner: str) -> int:
        """Return the number of a visitor's jobs that wait or run."""
        waiting = sum(len(lane.get(owner, ())) for lane in self._waiting)
        return waiting + sum(job.owner == owner for lane in self._running for job in lane)

    @property
    def busy(self) -> bool:
        """Whether anyone waits for an answer."""
        return any(self._running) or any(self._waiting)

    def forget(self) -> None:
        """Forget who has used how much time, and how long jobs took; called when nobody waits."""
        self._used.clear()
        self._took.clear()

    def running(self, lane: int) -> tuple[Job, ...]:
        """Return the jobs that run in a lane."""
        return tuple(self._running[lane])

    def warm_up(self) -> None:
        """Start as many processes as the first visitors will need."""
        while len(self._idle) < self.lanes[0].at_once + _SPARE:
            self._idle.append(self._new())

    async def stop(self) -> None:
        """End all processes, in the middle of their work if need be."""
        self._stopped = True
        if self._rest is not None:
            self._rest.cancel()
        for lane in self._running:
            for job in list(lane):
                job.answer.cancel()
        for worker in list(self._all):
            self._end(worker, gently=True)
        while self._ending:
            await asyncio.gather(*self._ending, return_exceptions=True)

    # -- whose turn it is --------------------------------------------------------------------------------

    def _fill(self, lane: int) -> None:
        """Start the jobs that may start."""
        waiting = self._waiting[lane]
        while len(self._running[lane]) < self.lanes[lane].at_once and not self._stopped:
            owners = [owner for owner, jobs in waiting.items() if jobs]
            if not owners:
                return
            owner = min(owners, key=lambda visitor: self._used[visitor])
            self._clock = max(self._clock, self._used[owner])
            self._begin(waiting[owner].pop(0), lane)

    def _begin(self, job: Job, lane: int) -> None:
        loop, nice = asyncio.get_running_loop(), self.lanes[lane].nice
        fit = [worker for worker in self._idle if worker.nice <= nice]
        job.worker = max(fit, key=lambda worker: worker.nice) if fit else self._new()
        if fit:
            self._idle.remove(job.worker)
        job.begun = time.monotonic()
        self._running[lane].add(job)
        job.timers = [loop.call_later(job.deadline, self._too_late, job)]
        if lane + 1 < len(self.lanes):
            job.timers.append(loop.call_later(self.lanes[lane].longest, self._move, job))
        job.worker.do(job, nice)
        while sum(worker.nice == self.lanes[0].nice for worker in self._idle) < _SPARE:
            self._idle.append(self._new())

    def _move(self, job: Job) -> None:
        """Move a long job to the next lane; its place becomes free for others."""
        before, after = job.lane, job.lane + 1
        rest = self.lanes[before].longest
        if len(self._running[after]) < self.lanes[after].at_once + _OVERFULL:
            self._running[before].discard(job)
            self._running[after].add(job)
            if job.worker is not None:
                job.worker.slow_down(self.lanes[after].nice)
            job.lane, rest = after, self.lanes[after].longest - rest
        if job.lane + 1 < len(self.lanes):
            job.timers.append(asyncio.get_running_loop().call_later(rest, self._move, job))
        self._fill(before)

    def _too_late(self, job: Job) -> None:
        if not job.answer.done():
            job.answer.set_exception(DiscreetError(f"stopped after {job.deadline:g} s"))

    def _leave(self, job: Job) -> None:
        """Remove a job from its lane, answered or not."""
        while len(self._used) > _REMEMBERED and not self.owned(next(iter(self._used))):
            self._used.popitem(last=False)
        for timer in job.timers:
            timer.cancel()
        waiting = self._waiting[job.lane].get(job.owner, [])
        if job in waiting:
            waiting.remove(job)
        for lane in self._waiting:
            if not lane.get(job.owner, True):
                del lane[job.owner]
        if job.worker is not None:
            spent = job.seconds if job.worker.job is not job else time.monotonic() - job.begun
            self._used[job.owner] = self._used.get(job.owner, self._clock) + spent + _EACH
            self._running[job.lane].discard(job)
            worker, job.worker = job.worker, None
            alike = sum(idle.nice == worker.nice for idle in self._idle)
            gone = worker not in self._all
            if gone or worker.job is job or alike > self.lanes[job.lane].at_once or self._stopped:
                self._end(worker)  # it is still computing, or there are enough idle ones
            else:
                self._idle.append(worker)
            self._fill(job.lane)
            if self._rest is not None:
                self._rest.cancel()
            self._rest = asyncio.get_running_loop().call_later(_QUIET, self._refresh)

    # -- processes ---------------------------------------------------------------------------------------

    def _new(self) -> Worker:
        worker = Worker(asyncio.get_running_loop(), self._warm, self.lanes[0].nice, self._end)
        self._all.add(worker)
        return worker

    def _refresh(self) -> None:
        """Replace used processes: their memory returns to the system only when they end."""
        if self._stopped or any(self._running):
            return
        for worker in [idle for idle in self._idle if idle.has_worked]:
            self._end(worker)
        self.warm_up()

    def _end(self, worker: Worker, *, gently: bool = False) -> None:
        if worker in self._idle:
            self._idle.remove(worker)
        if worker in self._all:
            self._all.discard(worker)
            gently = gently or worker.nice > self.lanes[0].nice
            task = asyncio.get_running_loop().run_in_executor(None, worker.end, gently)
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


class Worker:
    """One process that computes; its methods are called on the event loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        warm: Callable[[], object] | None,
        nice: int,
        died: Callable[[Worker], None],
    ) -> None:
        self.job: Job | None = None
        self.nice, self.has_worked = nice, False
        self._loop = loop
        self._died = died
        starting = _starting(get_temp_dir())
        self._ours, self._theirs = starting.Pipe()
        self._place = tempfile.mkdtemp(prefix="discreet-")
        self._process = starting.Process(target=_work, args=(self._theirs, self._place, nice, warm))
        self._started = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def do(self, job: Job, nice: int) -> None:
        """Start a job."""
        self.job, more = job, nice - self.nice
        self.nice, self.has_worked = nice, True
        # the message waits in the pipe while the process starts
        threading.Thread(target=self._send, args=(job, more), daemon=True).start()

    def slow_down(self, nice: int) -> None:
        """Lower the priority."""
        self.nice = nice
        with contextlib.suppress(OSError, AttributeError):
            if self._process.pid is not None:
                os.setpriority(os.PRIO_PGRP, self._process.pid, nice)

    def _send(self, job: Job, more: int) -> None:
        try:
            self._started.wait()
            self._ours.send((job.work, job.arguments, job.progress is not None, more))
        except (OSError, ValueError):
            return  # the listener will notice
        except Exception as error:  # arguments that cannot be pickled
            self._tell(("error", f"{type(error).__name__}: {error}", 0.0))

    def _listen(self) -> None:
        try:
            with undisturbed():  # Ctrl-C reaches all processes of a terminal; the server ends this one
                self._process.start()
        except OSError:
            pass  # the system allows no more processes: closing our end says so
        finally:
            self._theirs.close()
            self._started.set()
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._tell(self._ours.recv())
        self._ours.close()
        self._tell(None)

    def _tell(self, message: Message | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._heard, message)

    def _heard(self, message: Message | None) -> None:
        job = self.job
        if job is None:
            if message is None:
                self._died(self)
            return
        kind, value, job.seconds = message or ("error", "the computation ended without an answer", 0.0)
        if kind == "progress":
            if job.progress is not None and not job.answer.done():
                job.progress(*cast(tuple[str, int, int], value))
            return
        if message is not None:
            self.job = None  # it is free again
        if not job.answer.done():
            if kind == "done":
                job.answer.set_result(value)
            else:
                job.answer.set_exception(DiscreetError(value))

    def end(self, gently: bool) -> None:
        """End the process, in a thread; if `gently`, it and its children may clean up first."""
        self._started.wait()
        if self._process.pid is not None:
            if gently and self._process.is_alive():
                self._process.terminate()
                self._process.join(_GRACE)
            _kill(self._process)
            self._process.join(_GRACE)
        shutil.rmtree(self._place, ignore_errors=True)


def _kill(process: BaseProcess) -> None:
    """Kill a process, with its group if it leads one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg") and process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def kill_children() -> None:
    """End every process that this one has started; called last."""
    for child in multiprocessing.active_children():
        _kill(child)


# -- in the process that computes ------------------------------------------------------------------------


def _work(pipe: Connection, folder: str, nice: int, warm: Callable[[], object] | None) -> None:
    """Do one job after another; temporary files go to `place`."""
    if hasattr(os, "setsid"):
        os.setsid()
    if hasattr(os, "nice"):
        os.nice(nice)
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # left to the server
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    if warm is not None:
        warm()
    with contextlib.suppress(EOFError, OSError):
        while True:
            work, arguments, reports, more = pipe.recv()
            if more > 0 and hasattr(os, "nice"):
                os.nice(more)
            begun = time.process_time()
            answer = _answer(work, arguments, _reporter(pipe) if reports else None)
            if answer is None:
                return
            pipe.send((*answer, time.process_time() - begun))


def _reporter(pipe: Connection) -> Callable[..., None]:
    last = 0.0

    def progress(*report: object) -> None:
        nonlocal last
        stage, done, total = report if len(report) == 3 else ("", *report)
        if done == total or time.monotonic() - last > _OFTEN:
            last = time.monotonic()
            pipe.send(("progress", (stage, done, total), 0.0))

    return progress


def _answer(
    work: Callable[..., object], arguments: tuple[object, ...], progress: Callable[..., None] | None
) -> tuple[str, object] | None:
    """Return the message to send back; None if nobody waits for it."""
    more = {} if progress is None else {"progress": progress}
    try:
        return "done", work(*arguments, **more)
    except DiscreetError as error:
        return "error", str(error)
    except MemoryError:
        return "error", f"it needs more than {_MEMORY // 2**30} GB of memory"
    except BrokenPipeError:
        return None
    except Exception as error:
        if _leaving:  # a library has turned the request to leave into an error
            return None
        traceback.print_exc()
        return "error", f"{type(error).__name__}: {error}"


_leaving: list[int] = []


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End the job by an exception, so that it cleans up on its way out; messages about that are useless."""
    signal.signal(number, signal.SIG_IGN)
    _leaving.append(number)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    raise SystemExit(128 + number)
