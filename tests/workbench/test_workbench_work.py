"""Work outside the event loop: fair, found once, killed when it is no longer wanted, nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable
from fractions import Fraction
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.workbench.session import Server, Session
from discreet.workbench.state import State
from discreet.workbench.tasks import quick, saving
from discreet.workbench.workers import MOST_WAITING, Lane, Workers

LONG = Lane(float("inf"), 1, 10)


def run(main: Callable[[Workers], Any], *lanes: Lane) -> None:
    """In a thread of its own: a browser's driver may have a loop running in this one."""
    from concurrent.futures import ThreadPoolExecutor

    async def whole() -> None:
        workers = Workers(lanes or None)
        try:
            await main(workers)
        finally:
            await workers.stop()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, whole()).result()


def one(workers: Workers, work: Any, *arguments: Any, **more: Any) -> asyncio.Task[Any]:
    chosen = {"owner": "a", "cost": 0.01, "deadline": 60.0} | more
    return asyncio.ensure_future(workers.run(work, *arguments, **chosen))  # type: ignore[arg-type]


def is_running(pid: int) -> bool:
    try:
        return "(zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


async def gone(pid: int) -> bool:
    for _ in range(1000):
        if not is_running(pid):
            return True
        await asyncio.sleep(0.1)
    return False


def slow_work(seconds: float, progress: Any = None) -> int:
    progress(1, 2)
    time.sleep(seconds)
    return os.getpid()


def pid_work(progress: Any = None) -> None:
    progress(os.getpid(), 10**9)
    progress(10**9, 10**9)
    time.sleep(600)


def nap(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def die(code: int) -> None:
    os._exit(code)


def test_work_answers_fails_and_is_killed() -> None:
    async def main(workers: Workers) -> None:
        seen: list[int] = []
        tell = lambda stage, done, total: seen.append(done)  # noqa: E731
        assert await one(workers, slow_work, 0.0, progress=tell) != os.getpid()
        assert 1 in seen
        with pytest.raises(DiscreetError, match="TypeError"):
            await one(workers, slow_work, "x", progress=tell)
        pids: list[int] = []
        task = one(workers, pid_work, progress=lambda stage, done, total: pids.append(done) if done else None)
        while not pids:
            await asyncio.sleep(0.05)
        assert is_running(pids[0])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(pids[0])
        assert workers.owned("a") == 0

    run(main)


def test_a_process_that_dies_is_replaced() -> None:
    async def main(workers: Workers) -> None:
        assert await one(workers, abs, -1) == 1
        with pytest.raises(DiscreetError, match="ended without an answer"):
            await one(workers, die, 3)
        assert await one(workers, abs, -2) == 2

    run(main, Lane(1.0, 1, 2), LONG)


def test_processes_that_worked_are_replaced_when_all_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.workbench.workers._QUIET", 0.2)

    async def main(workers: Workers) -> None:
        first = await one(workers, os.getpid)
        assert await gone(first)
        assert await one(workers, os.getpid) != first

    run(main)


def test_a_deadline_ends_the_work() -> None:
    async def main(workers: Workers) -> None:
        pids: list[int] = []
        with pytest.raises(DiscreetError, match="stopped after 4 s"):
            await one(workers, pid_work, deadline=4.0, progress=lambda *said: pids.append(said[1]))
        for pid in pids:
            assert pid == 0 or pid == 10**9 or await gone(pid)

    run(main)


def test_nobody_waits_for_one_who_asks_much() -> None:
    # one process: without turns the last would wait for all forty
    async def main(workers: Workers) -> None:
        await one(workers, abs, 0)  # the process is there
        order: list[str] = []
        tasks = []
        for owner, many in (("greedy", 40), ("second", 1), ("third", 1)):
            for _ in range(many):
                task = one(workers, nap, 0.02, owner=owner)
                task.add_done_callback(lambda done, owner=owner: order.append(owner))
                tasks.append(task)
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        assert max(order.index("second"), order.index("third")) <= 4

    run(main, Lane(5.0, 1, 2), LONG)


def test_one_who_asks_again_and_again_waits_for_the_others() -> None:
    async def main(workers: Workers) -> None:
        await one(workers, abs, 0)
        order: list[str] = []

        async def insist(owner: str) -> None:
            for _ in range(12):
                await one(workers, nap, 0.02, owner=owner)
                order.append(owner)

        await asyncio.gather(*(insist(owner) for owner in "abcdef"))
        # in turns: nobody has finished much more than twice as often as another while all were at it
        for served in range(12, 48):
            counts = [order[:served].count(owner) for owner in "abcdef"]
            assert max(counts) <= 2 * min(counts) + 4

    run(main, Lane(5.0, 1, 2), LONG)


def test_slow_work_makes_room_for_quick_work() -> None:
    async def main(workers: Workers) -> None:
        await one(workers, abs, 0)
        slow = one(workers, nap, 300.0, owner="slow")
        await asyncio.sleep(0.1)
        # the only quick process is taken; after half a second the slow one is none of them any more
        assert await asyncio.wait_for(one(workers, abs, -1, owner="quick"), 200) == 1
        assert not slow.done()
        slow.cancel()

    run(main, Lane(0.5, 1, 2), LONG)


def test_long_work_never_holds_a_quick_place() -> None:
    async def main(workers: Workers) -> None:
        long = [one(workers, nap, 300.0, owner=f"visitor {number}", cost=100.0) for number in range(3)]
        await asyncio.sleep(0.1)
        assert await asyncio.wait_for(one(workers, abs, -1, owner="quick"), 200) == 1
        for task in long:
            task.cancel()

    run(main, Lane(5.0, 1, 2), LONG)


def test_what_a_job_took_is_the_estimate_of_the_next() -> None:
    async def main(workers: Workers) -> None:
        await one(workers, burn, 0.3, kind="curve")
        task = one(workers, nap, 0.0, kind="curve")
        await asyncio.sleep(0)
        assert len(workers.running(1)) == 1
        await task

    run(main, Lane(0.2, 1, 2), LONG)


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_one_visitor_cannot_fill_the_queue() -> None:
    async def main(workers: Workers) -> None:
        tasks = [one(workers, nap, 0.0) for _ in range(MOST_WAITING + 40)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [error for error in found if isinstance(error, DiscreetError)]
        assert 30 < len(refused) <= 40
        assert all("too many questions" in str(error) for error in refused)

    run(main, Lane(5.0, 1, 2), LONG)


class Counting(Workers):
    """Stands for the server's processes: answers at once, and knows what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def run(self, work: Any, *arguments: Any, **more: Any) -> Any:
        self.asked.append(work.func.__name__)
        await asyncio.sleep(0.01)
        return work(*arguments)


def test_numbers_are_found_once_for_all_settings_of_other_pages() -> None:
    async def main(_: Workers) -> None:
        processes = Counting()
        state = State.of("pl94-2020-units")
        server = Server(processes)
        numbers = Session(state, server, asyncio.ensure_future).numbers

        async def finished() -> None:
            for _ in range(20_000):
                if numbers.complete and numbers.errors.found is not None:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError("no numbers")

        numbers.ask(state, settled=True)
        prior = state.with_settings("risk", {"prior": "1/3"})
        numbers.ask(prior, settled=True)  # in the midst of it
        await finished()
        first = sorted(processes.asked)
        assert first == ["errors", "overall", "quick", "saving"]
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
        about = {"delta": half.delta, "neighbours": half.relation}
        assert numbers.saving.now is not None
        assert numbers.saving.now.savings == saving(half.release, **about).savings
        # and back: what is known is not asked again
        asked = len(processes.asked)
        numbers.ask(state, settled=True)
        assert numbers.complete
        # nor by another visitor, whose page is drawn with it
        another = Session(state, server, asyncio.ensure_future).numbers
        assert another.quick.found is None
        another.recall()
        assert another.complete
        assert another.quick.found == numbers.quick.found
        unknown = Session(state.with_delta("1e-7"), server, asyncio.ensure_future).numbers
        unknown.recall()
        assert unknown.quick.found is None
        assert len(processes.asked) == asked

    run(main)


def test_of_many_requests_the_latest_wins() -> None:
    async def main(_: Workers) -> None:
        processes = Counting()
        state = State.of("pl94-2020-units")
        question = Session(state, Server(processes), asyncio.ensure_future).numbers.quick
        deltas = [Fraction(1, 10**place) for place in range(2, 52)]
        for delta in deltas:
            question.ask(state.main_events, delta)
        assert question.busy
        while not question.fresh:
            await asyncio.sleep(0.01)
        # of those that came while the first was computed, or before it began, only the last was looked at
        assert len(processes.asked) <= 2
        assert question.found == quick(state.main_events, deltas[-1])

    run(main)


def test_an_answer_of_the_past_never_replaces_one_of_the_present() -> None:
    async def main(_: Workers) -> None:
        state = State.of("pl94-2020-units")
        question = Session(state, Server(Counting()), asyncio.ensure_future).numbers.quick
        known, other = Fraction(1, 10**5), Fraction(1, 10**6)
        question.ask(state.main_events, known)
        while not question.fresh:
            await asyncio.sleep(0.01)
        question.ask(state.main_events, other)
        await asyncio.sleep(0)  # it is being computed
        question.ask(state.main_events, known)  # known already: there at once
        while question.at_work:
            await asyncio.sleep(0.01)
        assert question.now == quick(state.main_events, known)

    run(main)


def test_work_that_was_ended_is_begun_again() -> None:
    async def main(_: Workers) -> None:
        state = State.of("pl94-2020-units")
        session = Session(state, Server(Counting()), asyncio.ensure_future)
        session.settle()
        await asyncio.sleep(0)
        session.end_work()
        session.settle()  # back at once, while the old work is still on its way out
        for _ in range(20_000):
            if session.numbers.complete:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("no numbers")

    run(main)


def leave_a_file(progress: Any = None) -> str:
    Path(tempfile.gettempdir(), "left").write_text("x")
    progress(1, 1)
    time.sleep(600)
    return ""


def test_a_job_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get_temp_dir()  # of this process, for the sockets of whatever it starts: it stays until the end
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def main(workers: Workers) -> None:
        begun = asyncio.Event()
        task = one(workers, leave_a_file, progress=lambda stage, done, total: begun.set() if done else None)
        await begun.wait()
        assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["left"]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)
    for _ in range(1000):
        if not list(tmp_path.iterdir()):
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_long_name_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket to the process that forks workers would be too long there, and nothing would ever start."""
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr("discreet.workbench.workers.get_temp_dir", lambda: str(deep))

    async def main(workers: Workers) -> None:
        assert await asyncio.wait_for(one(workers, pow, 2, 10), 60) == 1024

    run(main)


def test_a_process_that_cannot_start_is_said_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", refuse)

    async def main(workers: Workers) -> None:
        with pytest.raises(DiscreetError, match="ended without an answer"):
            await asyncio.wait_for(one(workers, pow, 2, 10), 60)

    run(main)


def test_an_answer_is_of_its_own_question() -> None:
    """Two questions may have the same hash: 0 and 2^61 - 1 do, as numbers."""
    server = Server(Workers())
    assert hash((0, "a")) == hash((2**61 - 1, "a"))
    server.remember((0, "a"), [1.5])
    assert server.recall((0, "a")) == [1.5]
    assert server.recall((2**61 - 1, "a")) is None
    for place in range(1000):
        server.remember(place, place)
    assert len(server.known) == 256
    assert server.recall(999) == 999
    assert server.recall(1) is None


LEAVING = """
import gc, inspect, weakref
from nicegui import Client, app, ui
from discreet.workbench.controls import file_button

class Visitor:
    async def uploaded(self, name, content): ...
    def failed(self, text): ...

def visit():
    visitor = Visitor()
    with Client(ui.page("/")) as client:
        file_button("Open", visitor.uploaded, visitor.failed, largest=10)
    client.delete()
    return weakref.ref(visitor)

app.config.add_run_config(**dict.fromkeys(inspect.signature(app.config.add_run_config).parameters))
left, routes = visit(), len(app.routes)
left = visit()
gc.collect()
print(left(), len(app.routes) - routes)
"""


@pytest.mark.slow
def test_who_has_left_is_forgotten() -> None:
    """A route of each visitor's own is kept by FastAPI, with up to 4,096 functions behind such routes."""
    said = subprocess.run([sys.executable, "-c", LEAVING], capture_output=True, text=True, check=True)
    assert said.stdout == "None 0\n"


OTHER_NOISE = """
import inspect
from nicegui import Client, app, ui
from discreet.budget import Release
from discreet.workbench import budget_page
from discreet.workbench.session import Session
from discreet.workbench.state import State

def state(noise):
    text = 'name = "three"\\nneighbours = "unbounded"'
    for level, size in {"State": noise, "County": 'variance = "4"', "Tract": 'variance = "9"'}.items():
        text += f'\\n[[levels]]\\nname = "{level}"\\n[levels.queries]\\ntotal = {{ %s }}' % size
    return State(Release.from_toml(text), "a.toml", False)

app.config.add_run_config(**dict.fromkeys(inspect.signature(app.config.add_run_config).parameters))
session = Session(state('variance = "5"'))
with Client(ui.page("/")) as client:
    budget_page.build(session)
session.show("budget")
for noise in ('variance = "5"', 'scale = "3/2"', 'variance = "5"'):
    session.commit(state(noise), "opening")
    shares = [one.props for one in client.elements.values() if one.props.get("type") == "range"][1:]
    print(*(one.get("disabled", one["aria-valuetext"]) for one in shares), sep=", ")
"""


@pytest.mark.slow
def test_a_level_of_laplace_noise_has_no_share_to_slide() -> None:
    """Nor has it one after a release whose levels have the same names and all have Gaussian noise."""
    done = subprocess.run([sys.executable, "-c", OTHER_NOISE], capture_output=True, text=True, check=True)
    usual = "35.6 %, 44.6 %, 19.8 %"  # rho in proportion to 1/5, 1/4 and 1/9
    assert done.stdout.splitlines() == [usual, "disabled, 69.2 %, 30.8 %", usual]


@pytest.mark.slow
def test_what_a_visitor_leaves_behind_is_collected_once_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.workbench.session._QUIET", 0.05)

    async def main(workers: Workers) -> None:
        gc.disable()  # so that only the server collects
        try:
            server = Server(workers)
            session = Session(State.of("pl94-2020-units"), server, asyncio.ensure_future)
            server.remember("a", [1.5])
            assert await one(workers, pow, 2, 10, owner=session.key, kind="quick") == 1024
            working = one(workers, time.sleep, 0.5)
            left = weakref.ref(session.numbers)  # it and the session refer to each other
            session.close()
            del session
            await asyncio.sleep(0.2)
            assert left() is not None  # someone waits for a number
            await working
            await asyncio.sleep(0.3)
            assert left() is None
            assert not server.known
            assert server.recall("a") == [1.5]
        finally:
            gc.enable()

    run(main)
