"""One visitor's session: the state, its numbers, undo, what it is compared with, who hears of changes."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from discreet.budget import AnswerKind, Claim
from discreet.errors import DiscreetError
from discreet.workbench.state import State
from discreet.workbench.tasks import TASKS, ErrorCurves, Overall, Quick, call, cost
from discreet.workbench.workers import Progress, Slot, Start, Workers, processors

MOST_UNDO = 200
_HOLD = 0.15  # seconds
_GRACE = 3.0  # seconds in which a visitor who was cut off may come back and find the work going on
_PAUSE = 0.3  # seconds that a question of long work must last before it is asked
_REMEMBERED = 256
_DRAWING = 0.04  # seconds that a page takes to be drawn, with as much to spare for those who come
_FEW = 4  # visitors who may drag as fast as they can
_LATELY = 3.0  # seconds after which someone drags no more

Listener = Callable[[str], None]
"""Called with a topic: "state", "numbers", "progress", "before", "theme", or "resume" when work was ended."""


@dataclass
class Server:
    """What all visitors share: processes, and answers that were found."""

    workers: Workers
    known: OrderedDict[Any, Any] = field(default_factory=OrderedDict)
    dragging: dict[str, float] = field(default_factory=dict)
    """Who has moved a slider, and when last."""

    def pace(self, key: str, now: float) -> float:
        """Return the seconds until one who drags is drawn again: all who drag share one event loop."""
        self.dragging[key] = now
        if len(self.dragging) > _FEW:
            self.dragging = {one: then for one, then in self.dragging.items() if now - then < _LATELY}
        return _DRAWING * max(0, len(self.dragging) - _FEW)

    def recall(self, key: Any) -> Any:
        """Return an answer that is known, or None."""
        if key in self.known:
            self.known.move_to_end(key)
        return self.known.get(key)

    def remember(self, key: Any, found: Any) -> None:
        """Keep an answer; the one that was not asked for longest is forgotten."""
        self.known[key] = found
        while len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)


class Question:
    """Something that is computed for a page: the latest request wins, and each answer knows what it is of.

    A question that follows a slider lets the work that has begun finish; one of `long` work is asked once a
    state lasts, and ended when another comes.
    """

    def __init__(
        self, session: Session, task: str, changed: Callable[[], None], *, long: bool = False
    ) -> None:
        self.found: Any = None
        """The latest answer, of the request `of`."""
        self.of: tuple[Any, ...] | None = None
        self.asked: tuple[Any, ...] | None = None
        self.progress: tuple[str, int, int] | None = None
        self.trouble = ""
        self.updates = 0
        """How many answers came; for those who measure."""
        self._session, self._task_name, self._changed, self._long = session, task, changed, long
        self._slot: Slot[tuple[Any, ...]] = Slot(self._find, session.task)
        self._running: Any = None

    def recall(self, *arguments: Any) -> bool:
        """Take an answer that another visitor has had, if there is one; nothing is begun."""
        known = self._session.server.recall((self._task_name, *arguments))
        if known is not None:
            self.asked = arguments
            self._take(arguments, known)
        return known is not None

    def ask(self, *arguments: Any) -> None:
        """Ask, unless it is asked or answered already."""
        if arguments == self.asked or not self._session.is_open:
            return
        self.drop()
        if self.recall(*arguments):
            return
        self.asked = arguments
        if self._long:
            self.progress = ("", 0, 0)
            self._running = self._session.task(self._find(arguments))
        else:
            self._slot.ask(arguments)

    @property
    def fresh(self) -> bool:
        """Whether the answer is that of the latest request."""
        return self.of is not None and self.of == self.asked

    @property
    def now(self) -> Any:
        """The answer of the latest request, or None while it is not there."""
        return self.found if self.fresh else None

    @property
    def busy(self) -> bool:
        """Whether a request waits for the one that is computed."""
        return self._slot.waiting

    def drop(self) -> None:
        """Ask no more; the last answer stays, as one of the past."""
        self.asked = self.progress = None
        self.trouble = ""
        self._slot.clear()
        if self._running is not None:
            with contextlib.suppress(RuntimeError):
                self._running.cancel()
        self._running = None

    def adopt(self, other: Question) -> None:
        """Take over what another has found."""
        self.found, self.of, self.asked = other.found, other.of, other.of

    async def _find(self, arguments: tuple[Any, ...]) -> None:
        def report(stage: str, done: int, total: int) -> None:
            if arguments == self.asked:
                self.progress = (stage, done, total)
                self._changed()

        try:
            if self._long:
                await asyncio.sleep(_PAUSE)
            found = await self._session.find(
                self._task_name, *arguments, progress=report if TASKS[self._task_name].reports else None
            )
        except DiscreetError as error:
            if arguments == self.asked:
                self.trouble, self.progress = str(error), None
                self._changed()
            return
        self._session.server.remember((self._task_name, *arguments), found)
        if not self._long or arguments == self.asked:
            self._take(arguments, found)
            self._changed()

    def _take(self, arguments: tuple[Any, ...], found: Any) -> None:
        self.found, self.of, self.progress = found, arguments, None
        self.updates += 1


class Numbers:
    """The numbers of one state as they come in: the main path at once, all pairs of paths when it lasts."""

    def __init__(self, state: State, session: Session, tell: Callable[[str], None]) -> None:
        self.state = state
        self._main = Question(session, "quick", lambda: tell("numbers"))
        self._errors = Question(session, "errors", lambda: tell("numbers"))
        self._saving = Question(session, "saving", lambda: tell("numbers"))
        self._overall = Question(session, "overall", lambda: self._tell_overall(tell), long=True)

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that is asked for a state."""
        return self._main, self._errors, self._saving, self._overall

    @property
    def quick(self) -> Quick | None:
        """The main path; while a slider is dragged, of a moment ago."""
        found: Quick | None = self._main.found
        return found

    @property
    def errors(self) -> ErrorCurves | None:
        """The trade-off curves of the main path; while a slider is dragged, of a moment ago."""
        found: ErrorCurves | None = self._errors.found
        return found

    @property
    def saving(self) -> float | None:
        """The part of all variances that could be saved; None until it is known."""
        found: float | None = self._saving.now
        return found

    @property
    def overall(self) -> Overall | None:
        """The worst of all pairs of paths; None until it is known."""
        found: Overall | None = self._overall.now
        return found

    @property
    def progress(self) -> tuple[str, int, int] | None:
        """How far the comparison of all pairs has come."""
        return self._overall.progress

    @property
    def trouble(self) -> str:
        """What went wrong."""
        if self._overall.trouble:
            return f"Not all pairs of paths could be compared: {self._overall.trouble}"
        return self._main.trouble or self._errors.trouble or self._saving.trouble

    @property
    def updates(self) -> int:
        """How many curves were shown; for those who measure."""
        return self._main.updates

    @property
    def claim(self) -> Claim:
        """What the epsilon on the page claims: of all paths if they were compared, else of the main path."""
        stated = self.state.release.claim
        if self.overall is not None or len(self.state.release.paths) == 1:
            return stated
        return Claim.of_all([stated, Claim(AnswerKind.MAIN)])

    @property
    def epsilon(self) -> float | None:
        """The epsilon on the page."""
        if self.overall is not None and self.is_fresh:
            return self.overall.epsilon
        return self.quick.epsilon if self.quick else None

    def _quick(self, state: State) -> list[tuple[Question, tuple[Any, ...]]]:
        """What is asked while a slider moves ..."""
        return [(self._main, (state.main_events, state.delta)), (self._errors, (state.main_events,))]

    def _lasting(self, state: State) -> list[tuple[Question, tuple[Any, ...]]]:
        """... and what is asked once it rests."""
        helpers = 1 if len(state.release.paths) == 1 else processors()
        asked = (state.release, state.relation, state.delta, helpers)
        return [(self._saving, asked), (self._overall, asked)]

    def recall(self) -> None:
        """Show at once what another visitor has asked before; nothing is begun."""
        for question, asked in (*self._quick(self.state), *self._lasting(self.state)):
            question.recall(*asked)

    def ask(self, state: State, *, settled: bool) -> None:
        """Ask for the numbers of a state; those of all pairs only if it lasts."""
        self.state = state
        for question, asked in (*self._quick(state), *(self._lasting(state) if settled else ())):
            question.ask(*asked)
        for question, asked in () if settled else self._lasting(state):
            if question.asked != asked:
                question.drop()

    @property
    def busy(self) -> bool:
        """Whether the numbers of the main path are being computed and a newer state waits already."""
        return self._main.busy

    @property
    def is_fresh(self) -> bool:
        """Whether `quick` is of the present state, and not of one that a slider has passed."""
        return self._main.fresh

    @property
    def complete(self) -> bool:
        """Whether all numbers are there and of the present state; a saving may also be refused in words."""
        saved = self.saving is not None or bool(self._saving.trouble)
        return self.is_fresh and self.overall is not None and saved

    def take(self, other: Numbers) -> None:
        """Take over what another has found of the same state, and find the rest."""
        for mine, found in zip(self.questions, other.questions, strict=True):
            if found.fresh:
                mine.adopt(found)
        self.ask(self.state, settled=True)

    def drop(self) -> None:
        """End all work; the next question begins it again."""
        for question in self.questions:
            if not question.fresh:
                question.drop()

    def _tell_overall(self, tell: Callable[[str], None]) -> None:
        tell("progress" if self._overall.progress is not None else "numbers")


@dataclass
class _Hidden:
    listeners: list[Listener]
    waiting: set[str]


class Session:
    """What one browser tab has decided, apart from all others.

    >>> session = Session(State.of("dhc-2022-08-25"))
    >>> session.commit(session.state.with_delta("1e-5"), "delta 1e-5")
    >>> session.undo(), session.state.delta
    ('delta 1e-5', Fraction(1, 10000000000))
    """

    def __init__(self, state: State, server: Server | None = None, start: Start | None = None) -> None:
        self.state = state
        self.dark = False
        self.page = ""
        self.steps = 0
        """How many states have lasted; for those who must know whether a page has caught up."""
        self.key = secrets.token_hex(8)
        """Whose work it is, for those who share out the processors."""
        self._committed = state
        self._past: list[tuple[State, str]] = []
        self._future: list[tuple[State, str]] = []
        self._everywhere: list[Listener] = []
        self._pages: dict[str, _Hidden] = {}
        self._server = server
        self._start = start
        self._held: State | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._ended = False
        self._next_look = 0.0
        self._tasks: set[Any] = set()
        self.numbers = Numbers(state, self, self._told)
        self.before: Numbers | None = None

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
            self._pages.setdefault(page, _Hidden([], set())).listeners.append(listener)

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
        if not self.is_open:
            self._show_held()
            return
        loop = asyncio.get_running_loop()
        wait = self._next_look - loop.time()
        if self.numbers.busy or wait > 0:
            self._timer = loop.call_later(max(_HOLD, wait), self._show_held)
        else:
            self._show_held()

    def _show_held(self) -> None:
        state = self._let_go()
        if self._server is not None:
            now = asyncio.get_running_loop().time()
            self._next_look = now + self._server.pace(self.key, now)
        if state is not None and state != self.state:
            self.state = state
            self._ask(settled=False)
            self.notify("state")

    def _let_go(self) -> State | None:
        """Forget what was held back, and return it."""
        if self._timer is not None:
            self._timer.cancel()
        state, self._held, self._timer = self._held, None, None
        return state

    def _told(self, topic: str) -> None:
        self.notify(topic)
        if self._held is not None and not self.numbers.busy and self._timer is None:
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
        return self._step(self._past, self._future)

    def redo(self) -> str | None:
        """Do again what was undone last."""
        return self._step(self._future, self._past)

    def _step(self, source: list[tuple[State, str]], target: list[tuple[State, str]]) -> str | None:
        if not source:
            return None
        state, what = source.pop()
        target.append((self._committed, what))
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
            self._compare(before).ask(before, settled=True)
        self.commit(state, what)

    def pin(self) -> None:
        """Keep the present state to compare with."""
        self._compare(self._committed).take(self.numbers)
        self.notify("before")

    def unpin(self) -> None:
        """Compare no more."""
        if self.before is not None:
            self.before.drop()
        self.before = None
        self.notify("before")

    def _settle(self, state: State) -> None:
        self._let_go()
        self.steps += 1
        self.state = self._committed = state
        self._ask(settled=True)
        self.notify("state")

    def _compare(self, state: State) -> Numbers:
        if self.before is not None:
            self.before.drop()
        self.before = Numbers(state, self, lambda topic: self.notify("before"))
        return self.before

    # -- work --------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether there is someone to compute for."""
        return self._server is not None

    @property
    def server(self) -> Server:
        """What all visitors share."""
        assert self._server is not None
        return self._server

    def _ask(self, *, settled: bool) -> None:
        if self.is_open:
            self.numbers.ask(self.state, settled=settled)
        self.numbers.state = self.state

    def task(self, work: Coroutine[Any, Any, None]) -> Any:
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

    def settle(self) -> None:
        """The visitor is here: begin the work that waits until a state lasts, or that was ended."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        self._ask(settled=True)
        self.notify("numbers")  # what others have asked for before is there at once
        if self.before is not None:
            self.before.ask(self.before.state, settled=True)
            self.notify("before")
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
                numbers.drop()
        for task in list(self._tasks):
            task.cancel()

    def close(self) -> None:
        """End all work; the visitor has gone."""
        self._let_go()
        if self._leaving is not None:
            self._leaving.cancel()
        self.end_work()
        self._server = None
        self._everywhere.clear()
        self._pages.clear()


class Page:
    """What the parts of a page share: the state that is shown, questions about it, and redrawing.

    A page says in `look` what it asks for a state; each part registers what redraws it.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.state = session.state
        """The session's, or the one that a slider of this page would make of it."""
        self.trouble = ""
        self._parts: list[Callable[[], None]] = []
        self._questions: list[Question] = []
        session.listen(self._heard, name)

    def question(self, task: str, *, long: bool = False) -> Question:
        """Return something that this page asks for."""
        made = Question(self.session, task, self.redraw, long=long)
        self._questions.append(made)
        return made

    def draw(self, part: Callable[[], None]) -> None:
        """Call a part whenever something has changed."""
        self._parts.append(part)

    def look(self, *, settled: bool) -> None:
        """Ask for what the present state needs; a page that asks for something says here for what."""

    def start(self) -> None:
        """Begin, once all parts are there."""
        self._use(self.session.state, settled=self.session.settled)

    def change(self, values: dict[str, str], what: str, *, typing: bool = False) -> None:
        """Take over settings of this page for good."""
        state = self.session.state.with_settings(self.name, values)
        self.session.commit(state, what, typing=typing)

    def preview(self, values: dict[str, str]) -> None:
        """Show settings while a slider moves; the rest of the workbench does not depend on them."""
        self._use(self.session.state.with_settings(self.name, values), settled=False)

    def redraw(self) -> None:
        """Draw all parts anew."""
        for part in self._parts:
            part()

    def _heard(self, topic: str) -> None:
        if topic == "resume":  # what was not found yet is asked for again
            for question in self._questions:
                if not question.fresh:
                    question.drop()
        if topic in ("state", "resume"):
            self._use(self.session.state, settled=self.session.settled)
        else:
            self.redraw()

    def _use(self, state: State, *, settled: bool) -> None:
        self.state = state
        try:
            self.trouble = ""
            self.look(settled=settled)
        except DiscreetError as error:
            self.trouble = str(error)
        self.redraw()
