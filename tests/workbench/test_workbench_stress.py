"""Many visitors drag at once: none is dropped, each ends at its own value, and memory stays flat."""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browsing import PATIENCE, Workbench, fetch

from discreet.workbench.state import State, factor_at, to_link

socketio = pytest.importorskip("socketio", reason="needs python-socketio: install the extra `test`")

pytestmark = pytest.mark.xdist_group("workbench")  # one server and one browser for all

APART = 0.5  # seconds between two who come
LAST = -50  # the step at which everyone lets go: half the stated total


@dataclass
class Visitor:
    """A browser's side of the conversation, without the browser."""

    url: str
    path: str
    elements: dict[str, Any] = field(default_factory=dict)
    updates: int = 0
    seen: int = -1
    dropped: bool = False
    begun: float = 0.0
    """When the page was asked for."""
    first: float | None = None
    """Seconds from there until a number was seen."""

    def load(self) -> None:
        status, page = fetch(f"{self.url}{self.path}", PATIENCE)
        assert status == 200
        self.client = re.search(r"'client_id': '([^']+)'", page)[1]  # type: ignore[index]
        text = re.search(r"parseElements\(String.raw`(.*?)`\)", page, re.DOTALL)[1]  # type: ignore[index]
        self.elements = json.loads(html.unescape(text))
        self.slider = next(
            int(key)
            for key, one in self.elements.items()
            if one.get("props", {}).get("aria-label") == "Total rho"
        )
        self.number = next(
            key for key, one in self.elements.items() if one.get("props", {}).get("aria-label") == "Epsilon"
        )
        self._look()
        events = self.elements[str(self.slider)]["events"]
        self.listeners = {event["type"]: event["listener_id"] for event in events}

    async def connect(self) -> None:
        self.socket = socketio.AsyncClient(reconnection=False)
        self.socket.on("update", self._updated)
        self.socket.on("disconnect", self._gone)
        query = (
            f"client_id={self.client}&next_message_id=0&implicit_handshake=true"
            f"&tab_id={uuid.uuid4()}&document_id={uuid.uuid4()}"
        )
        await self.socket.connect(
            f"{self.url}?{query}",
            socketio_path="/_nicegui_ws/socket.io",
            transports=["websocket"],
            wait_timeout=PATIENCE,
        )

    def _updated(self, message: dict[str, Any]) -> None:
        self.updates += 1
        self.seen = message.get("_id", self.seen)
        for key, element in message.items():
            if key != "_id" and element is not None:
                self.elements[key] = element
        self._look()

    def _look(self) -> None:
        if self.first is None and self.elements[self.number].get("text", "…") != "…":
            self.first = time.monotonic() - self.begun

    def _gone(self, *_: Any) -> None:
        self.dropped = True

    async def move(self, step: int, kind: str = "input") -> None:
        message = {
            "id": self.slider,
            "client_id": self.client,
            "listener_id": self.listeners[kind],
            "args": [json.dumps(step)],
        }
        await self.socket.emit("event", message)

    async def acknowledge(self) -> None:
        """Say which messages have come, as a browser does every few seconds."""
        await self.socket.emit("ack", {"client_id": self.client, "next_message_id": self.seen + 1})

    async def drag(self, seconds: float, place: int) -> None:
        end, step, told = time.monotonic() + seconds, place, time.monotonic()
        while time.monotonic() < end:
            step = (step + 7) % 120 - 60
            await self.move(step)
            if time.monotonic() > told + 3:
                told = time.monotonic()
                await self.acknowledge()
            await asyncio.sleep(0.06)
        await self.move(LAST, "change")

    def text(self, start: str) -> str:
        found = [one["text"] for one in self.elements.values() if str(one.get("text", "")).startswith(start)]
        return found[0] if found else ""

    def shows(self, rho: Fraction) -> bool:
        return any(one.get("text") == f"{float(rho):.6g}" for one in self.elements.values())


def memory(process: int) -> int:
    """Bytes of a process and all that it started; what forked processes share counts once."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            shares = re.search(r"^Pss: +(\d+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
            sizes[int(folder.name)] = int(shares[1]) * 1024 if shares else 0
        except (OSError, IndexError):
            continue
    found = {process}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more  # workers are children of the process that they are forked from
    return sum(sizes.get(one, 0) for one in found)


async def crowd(
    workbench: Workbench, preset: str, many: int, seconds: float
) -> tuple[list[Visitor], list[int]]:
    """Visitors come one after the other while the first drag already; all let go at the same step."""
    path = f"/budget?s={to_link(State.of(preset))}"
    visitors = [Visitor(workbench.url, path) for _ in range(many)]
    rho = State.of(preset).stated.total * factor_at(LAST)
    sizes: list[int] = []
    dragging = set(range(many))

    async def stay(visitor: Visitor, place: int) -> None:
        await asyncio.sleep(APART * place)
        visitor.begun = time.monotonic()
        await asyncio.to_thread(visitor.load)
        await visitor.connect()
        await visitor.drag(seconds, place)
        dragging.discard(place)
        while dragging:  # who says nothing for half a minute is cut off
            await visitor.acknowledge()
            await asyncio.sleep(1)

    async def measure() -> None:
        while True:
            await asyncio.sleep(seconds / 6)
            sizes.append(memory(workbench.process.pid))

    watch = asyncio.create_task(measure())
    await asyncio.gather(*(stay(visitor, place) for place, visitor in enumerate(visitors)))
    watch.cancel()
    for _ in range(180):  # seconds: other work may hold the machine
        if all(visitor.shows(rho) for visitor in visitors):
            break
        for visitor in visitors:
            await visitor.acknowledge()
        await asyncio.sleep(1)
    assert all(visitor.shows(rho) for visitor in visitors)
    assert not any(visitor.dropped for visitor in visitors)
    for visitor in visitors:
        await visitor.socket.disconnect()
    return visitors, sizes


def run_crowd(*arguments: Any) -> tuple[list[Visitor], list[int]]:
    """In a thread of its own: the browser's driver has a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(crowd(*arguments))).result()


@pytest.mark.slow
def test_a_few_visitors(workbench: Workbench) -> None:
    visitors, _ = run_crowd(workbench, "dhc-2022-08-25", 4, 3)
    assert min(visitor.updates for visitor in visitors) >= 1  # how many depends on the machine
    assert workbench.get("/budget")[0] == 200


def slowness() -> float:
    """How many times longer a computation takes here than it would on an idle machine."""
    begun, worked = time.monotonic(), time.process_time()
    while time.process_time() - worked < 1:
        pass
    return time.monotonic() - begun


@pytest.mark.slow
def test_fifty_visitors_for_a_minute(launch: Callable[..., Workbench]) -> None:
    workbench = launch()
    workbench.get("/budget")
    time.sleep(5)
    empty, slow = memory(workbench.process.pid), slowness()
    visitors, sizes = run_crowd(workbench, "dhc-2020", 50, 60)
    updates = [visitor.updates for visitor in visitors]
    firsts = sorted(visitor.first or float("inf") for visitor in visitors)
    for _ in range(90):  # those who left are forgotten after 40 s
        time.sleep(1)
        left = memory(workbench.process.pid)
        if left < 1.2 * empty:
            break
    print(f"updates {min(updates)} to {max(updates)}; first number after {firsts[25]:.2f} s, at most")
    print(f"{firsts[-1]:.2f} s, on a machine {slow:.1f} times slower than idle; memory {empty // 10**6} MB,")
    print(f"then {[size // 10**6 for size in sizes]}, in the end {left // 10**6} MB")
    assert min(updates) >= 15
    assert firsts[-1] < 2 * slow
    assert left < 1.2 * empty
    # flat while all drag, from 30 to 60 s; after that those who let go first ask for all pairs
    assert max(sizes[3:6]) < 1.15 * sizes[2]
    said = workbench.log.read_text()
    assert "Traceback" not in said, said
