"""Work outside the event loop: found once, killed when it is no longer wanted, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.workbench.numbers import Numbers, Server
from discreet.workbench.remote import call
from discreet.workbench.state import State
from discreet.workbench.worker import Jobs, Pool


def slow_work(seconds: float, progress: Any = None) -> int:
    progress(1, 2)
    time.sleep(seconds)
    return os.getpid()


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and "(zombie)" not in Path(f"/proc/{pid}/status").read_text()


def pid_work(progress: Any = None) -> None:
    progress(os.getpid(), 10**9)
    progress(10**9, 10**9)
    time.sleep(60)


def test_jobs_answer_fail_and_are_killed() -> None:
    async def main() -> None:
        jobs = Jobs(1)
        seen: list[int] = []
        assert (
            await jobs.run(slow_work, 0.0, progress=lambda stage, done, total: seen.append(done))
            != os.getpid()
        )
        assert 1 in seen
        with pytest.raises(Exception, match="TypeError"):
            await jobs.run(slow_work, "x", progress=lambda *report: None)
        pids: list[int] = []
        task = asyncio.ensure_future(
            jobs.run(pid_work, progress=lambda stage, done, total: pids.append(done) if done else None)
        )
        while not pids:
            await asyncio.sleep(0.05)
        assert is_running(pids[0])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(50):
            if not is_running(pids[0]):
                break
            await asyncio.sleep(0.1)
        assert not is_running(pids[0])

    run(main())


def die(code: int) -> None:
    os._exit(code)


def test_a_pool_survives_a_process_that_dies() -> None:
    async def main() -> None:
        pool = Pool(1)
        try:
            assert await pool.run(abs, -1) == 1
            with pytest.raises(Exception, match="terminated"):
                await pool.run(die, 3)
            assert await pool.run(abs, -2) == 2
        finally:
            pool.stop()

    run(main())


def run(work: Any) -> None:
    """In a thread of its own: a browser's driver may have a loop running in this one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result()


class Counting:
    """Stands for the server's processes: answers at once, and knows what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run(self, work: Any, name: str, *arguments: Any, progress: Any = None) -> Any:
        self.asked.append(name)
        await asyncio.sleep(0.01)
        return work(name, *arguments)


def test_numbers_are_found_once_for_all_settings_of_other_pages() -> None:
    async def main() -> None:
        processes = Counting()
        state = State.of("pl94-2020-units")
        server = Server(processes, processes)  # type: ignore[arg-type]
        numbers = Numbers(state, server, asyncio.ensure_future, lambda topic: None)

        async def finished() -> None:
            for _ in range(2000):
                if numbers.complete and numbers.errors is not None:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError("no numbers")

        numbers.ask(state, settled=True)
        prior = state.with_settings("risk", {"prior": "1/3"})
        numbers.ask(prior, settled=True)  # in the midst of it
        await finished()
        first = sorted(processes.asked)
        assert first == ["errors_of", "overall", "quick_of", "saving_of"]
        numbers.ask(state, settled=False)
        numbers.ask(prior.with_settings("design", {"races": "3"}), settled=True)
        assert numbers.complete
        assert sorted(processes.asked) == first
        # a slider that is let go while the saving of an earlier value is still looked for
        half = state.with_total(Fraction(1, 2))
        numbers.ask(state.with_total(Fraction(3, 4)), settled=True)
        await asyncio.sleep(0)
        numbers.ask(half, settled=False)
        numbers.ask(half, settled=True)
        assert not numbers.complete
        await finished()
        assert numbers.saving == call("saving_of", half)

    run(main())


def leave_a_file(progress: Any = None) -> str:
    Path(tempfile.gettempdir(), "left").write_text("x")
    progress(1, 1)
    time.sleep(60)
    return ""


def test_a_job_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def main() -> None:
        begun = asyncio.Event()
        task = asyncio.ensure_future(
            Jobs(1).run(leave_a_file, progress=lambda stage, done, total: begun.set() if done else None)
        )
        await begun.wait()
        assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["left"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    for _ in range(100):
        if not list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []
