"""One visitor's session: the state, undo, the state it is compared with, and who wants to know of changes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.workbench.numbers import Numbers, Server
from discreet.workbench.state import State
from discreet.workbench.tasks import TASKS, call, cost
from discreet.workbench.workers import Progress, Start

MOST_UNDO = 200
_HOLD = 0.15  # seconds
_GRACE = 3.0  # seconds in which a visitor who was cut off may come back and find the work going on

Listener = Callable[[str], None]
"""Called with a topic: "state", "numbers", "progress", "before", "theme", or "resume" when work was ended."""


@dataclass
class _Page:
    listeners: list[Listener]
    waiting: set[str]


class Session:
    """What one browser tab has decided, apart from all others.

    >>> session = Session(State.of("dhc-2022-08-25"), None, None, None)
    >>> session.commit(session.state.with_delta("1e-5"), "delta 1e-5")
    >>> session.undo(), session.state.delta
    ('delta 1e-5', Fraction(1, 10000000000))
    """

    def __init__(
        self, state: State, before: State | None, server: Server | None, start: Start | None
    ) -> None:
        self.state = state
        self.dark = False
        self.page = ""
        self._committed = state
        self._past: list[tuple[State, str]] = []
        self._future: list[tuple[State, str]] = []
        self._everywhere: list[Listener] = []
        self._pages: dict[str, _Page] = {}
        self._server = server
        self._start = start
        self._held: State | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._ended = False
        self._tasks: set[Any] = set()
        self.key = secrets.token_hex(8)
        """Whose work it is, for those who share out the processors."""
        self.numbers = Numbers(state, self if server else None, self._told)
        self.before: Numbers | None = None
        if before is not None:
            self._compare(before)

    def begin(self, state: State, before: State | None) -> None:
        """Begin with another state, before anyone has seen the first one."""
        self.state = self._committed = self.numbers.state = state
        if before is not None:
            self._compare(before)

    # -- what pages listen to ----------------------------------------------------------------------------

    def listen(self, listener: Listener, page: str | None = None) -> None:
        """Call `listener` with the topic of each change; for a page only while it is shown, or when it is."""
        if page is None:
            self._everywhere.append(listener)
        else:
            self._pages.setdefault(page, _Page([], set())).listeners.append(listener)

    def notify(self, topic: str) -> None:
        """Tell everyone who listens, those of hidden pages later."""
        for listener in self._everywhere:
            listener(topic)
        for name, page in self._pages.items():
            if name != self.page:
                page.waiting.add(topic)
                continue
            for listener in page.listeners:
                listener(topic)

    def show(self, page: str) -> None:
        """Say which page is seen, and tell it what it has missed."""
        self.page = page
        if page in self._pages:
            missed, self._pages[page].waiting = self._pages[page].waiting, set()
            for topic in ("theme", "before", "resume", "state", "numbers", "progress"):
                for listener in self._pages[page].listeners if topic in missed else ():
                    listener(topic)

    # -- changes -----------------------------------------------------------------------------------------

    def preview(self, state: State) -> None:
        """Show a state that may not last, as while a slider is dragged.

        While the numbers of an earlier one are computed it is held back for a moment, and the latest wins:
        however many values come in, no more are drawn than can be.
        """
        self._held = state
        if self._timer is not None:
            return
        if self.numbers.busy:
            self._timer = asyncio.get_running_loop().call_later(_HOLD, self._show_held)
        else:
            self._show_held()

    def _show_held(self) -> None:
        state = self._let_go()
        if state is not None and state != self.state:
            self.state = state
            self.numbers.ask(state, settled=False)
            self.notify("state")

    def _let_go(self) -> State | None:
        """Forget what was held back, and return it."""
        if self._timer is not None:
            self._timer.cancel()
        state, self._held, self._timer = self._held, None, None
        return state

    def _told(self, topic: str) -> None:
        self.notify(topic)
        if self._held is not None and not self.numbers.busy:
            self._show_held()

    def commit(self, state: State, what: str, *, typing: bool = False) -> None:
        """Make a state the present one; `what` says in a few words what was done.

        What is typed letter by letter is one step to undo.
        """
        if state != self._committed:
            if not (typing and self.undo_text == what):
                self._past = [*self._past, (self._committed, what)][-MOST_UNDO:]
            self._future = []
        self._settle(state)

    def undo(self) -> str | None:
        """Go back by one step; return what was undone."""
        if not self._past:
            return None
        state, what = self._past.pop()
        self._future.append((self._committed, what))
        self._settle(state)
        return what

    def redo(self) -> str | None:
        """Do again what was undone last."""
        if not self._future:
            return None
        state, what = self._future.pop()
        self._past.append((self._committed, what))
        self._settle(state)
        return what

    @property
    def settled(self) -> bool:
        """Whether the state is one that lasts, and not that of a slider on its way."""
        return self.state is self._committed

    @property
    def undo_text(self) -> str | None:
        """What undo would undo."""
        return self._past[-1][1] if self._past else None

    @property
    def redo_text(self) -> str | None:
        """What redo would do again."""
        return self._future[-1][1] if self._future else None

    def open(self, state: State, before: State | None, what: str) -> None:
        """Take over a whole session, or a new release."""
        if before is not None:
            self._compare(before)
            assert self.before is not None
            self.before.ask(before, settled=True)
        self.commit(state, what)

    def pin(self) -> None:
        """Keep the present state to compare with."""
        self._compare(self._committed)
        assert self.before is not None
        self.before.take(self.numbers)
        self.notify("before")

    def unpin(self) -> None:
        """Compare no more."""
        if self.before is not None:
            self.before.close()
        self.before = None
        self.notify("before")

    def settle(self) -> None:
        """The visitor is here: begin the work that waits until a state lasts, or that was ended."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        self.numbers.ask(self.state, settled=True)
        if self.before is not None:
            self.before.ask(self.before.state, settled=True)
        if self._ended:
            self._ended = False
            self.notify("resume")

    def pause(self) -> None:
        """The visitor has closed the page or was cut off: end all work, unless they are back at once."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().call_later(_GRACE, self.end_work)

    def end_work(self) -> None:
        """End all work that was begun for this visitor."""
        self._ended, self._leaving = True, None
        for numbers in (self.numbers, self.before):
            if numbers is not None:
                numbers.pause()
        for task in list(self._tasks):
            task.cancel()

    def close(self) -> None:
        """End all work; the visitor has gone."""
        self._let_go()
        if self._leaving is not None:
            self._leaving.cancel()
        self.numbers.close()
        if self.before is not None:
            self.before.close()
        for task in list(self._tasks):
            task.cancel()
        self._everywhere.clear()
        self._pages.clear()

    def task(self, work: Any) -> Any:
        """Start a task that belongs to this visitor, and ends when the visitor has gone."""
        assert self._start is not None
        task = self._start(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def find(self, name: str, *arguments: Any, progress: Progress | None = None) -> Any:
        """Have something computed for this visitor, by its name in `tasks`."""
        return await self.server.workers.run(
            call,
            name,
            *arguments,
            owner=self.key,
            cost=cost(name, *arguments),
            deadline=TASKS[name].deadline,
            kind=name,
            progress=progress,
        )

    @property
    def server(self) -> Server:
        """What all visitors share."""
        assert self._server is not None
        return self._server

    def _settle(self, state: State) -> None:
        self._let_go()
        self.state = self._committed = state
        self.numbers.ask(state, settled=True)
        self.notify("state")

    def _compare(self, state: State) -> None:
        if self.before is not None:
            self.before.close()
        owner = self if self._server else None
        self.before = Numbers(state, owner, lambda topic: self.notify("before"))
