"""One visitor's session: the state, its numbers, undo, the state compared with, and who is notified."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import pickle
import secrets
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar, cast
from weakref import WeakSet

from discreet.accounting.calibration import Calibration
from discreet.budget import AnswerKind, Claim
from discreet.errors import DiscreetError
from discreet.workbench.state import State
from discreet.workbench.tasks import ERRORS, OVERALL, QUICK, SAVING, ErrorCurves, Overall, Quick, Task
from discreet.workbench.workers import Progress, Workers, processors

Answer = TypeVar("Answer", covariant=True)
Request = tuple[tuple[object, ...], tuple[tuple[str, object], ...]]
"""Arguments of a task, and its options."""

Listener = Callable[[bool], None]
"""Called after a change; the argument says whether questions must be asked again (new state, ended work)."""

MOST_UNDO = 200
_HOLD = 0.15  # seconds
_GRACE = 3.0  # seconds for a disconnected visitor to come back and find the work still running
_PAUSE = 0.3  # seconds that a state must last before long work starts
_REMEMBERED = 256
_DRAWING = 0.04  # seconds to draw a page, with the same again in reserve for new visitors
_FEW = 4  # visitors who may drag without being slowed down
_QUIET = 2.0  # seconds between a visitor leaving and the collection of their objects
_LATELY = 3.0  # seconds after the last move during which a visitor counts as dragging


@dataclass
class Server:
    """What all visitors share: processes, and known answers.

    Data that outlives a session sits in a few buffers. The objects of a session refer to each other and are
    collected once nobody waits; then their memory is returned to the system (see `server`).
    """

    workers: Workers
    known: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    """Questions with their answers, by the hash of the question, each pair in one buffer."""
    dragging: dict[str, float] = field(default_factory=dict)
    """The visitors who have moved a slider, and when."""
    _packed: bytes = b""
    _quiet: asyncio.TimerHandle | None = None

    def left(self) -> None:
        """A visitor has gone: collect the objects of the session soon."""
        if self._quiet is not None:
            self._quiet.cancel()
        self._quiet = asyncio.get_running_loop().call_later(_QUIET, self._tidy)

    def _tidy(self) -> None:
        self._quiet = None
        if self.workers.busy:  # a visitor waits for a number
            self.left()
            return
        self.workers.forget()
        self.dragging.clear()
        self._packed, self.known = pickle.dumps(self._unpacked()), OrderedDict()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # only the GNU C library has it
            ctypes.CDLL(None).malloc_trim(0)

    def _unpacked(self) -> OrderedDict[int, bytes]:
        if self._packed:
            self.known, self._packed = pickle.loads(self._packed), b""
        return self.known

    def pace(self, key: str, now: float) -> float:
        """Return the seconds to the next redraw for a visitor who drags: all share one event loop."""
        self.dragging[key] = now
        if len(self.dragging) > _FEW:
            self.dragging = {who: then for who, then in self.dragging.items() if now - then < _LATELY}
        return _DRAWING * max(0, len(self.dragging) - _FEW)

    def recall(self, key: object) -> object:
        """Return a known answer, or None."""
        packed = self._unpacked().get(hash(key))
        if packed is None:
            return None
        self.known.move_to_end(hash(key))
        question, answer = pickle.loads(packed)
        return answer if question == key else None

    def remember(self, key: object, answer: object) -> None:
        """Keep an answer; the least recently used one is forgotten."""
        self._unpacked()[hash(key)] = pickle.dumps((key, answer))
        while len(self.known) > _REMEMBERED:
            self.known.popitem(last=False)


class Question(Generic[Answer]):
    """A computation for a page: the latest request wins, and each answer knows its request.

    A question that follows a slider lets running work finish; of the requests that arrive meanwhile only the
    last is computed. A `long` question is asked once a state lasts, and ended when another state comes.
    """

    def __init__(
        self, session: Session, task: Task[Answer], changed: Callable[[], None], *, long: bool = False
    ) -> None:
        self.of: Request | None = None
        """The request of the latest answer."""
        self.asked: Request | None = None
        self.progress: tuple[str, int, int] | None = None
        self.trouble = ""
        self.updates = 0
        """The number of answers received; for measurements."""
        self._session, self._task, self._changed, self._long = session, task, changed, long
        self._found: Answer | None = None
        self._next: Request | None = None
        self._running: asyncio.Task[None] | None = None
        session.questions.add(self)

    def ask(self, *arguments: object, begin: bool = True, **options: object) -> None:
        """Ask, unless already asked or answered; without `begin`, only drop the answer to another request.

        Long work starts when a slider is let go, or when a button asks for it.
        """
        request = (arguments, tuple(options.items()))
        if request == self.asked or not self._session.is_open:
            return
        self.drop()
        if not begin or self.recall(*arguments, **options):
            return
        self.asked = request
        if self._long:
            self.progress = ("", 0, 0)
            self._running = self._session.task(self._find(request))
        else:
            self._next = request
            if not self.at_work:
                self._running = self._session.task(self._find_all())

    def recall(self, *arguments: object, **options: object) -> bool:
        """Take the answer that another visitor got, if there is one; start no work."""
        request = (arguments, tuple(options.items()))
        known = self._session.server.recall((self._task.work, request))
        if known is not None:
            self.asked = request
            self.take(request, known)
        return known is not None

    @property
    def found(self) -> Answer | None:
        """The latest answer; reading one that does not belong to the latest request marks it as outdated."""
        if self._found is not None and not self.fresh:
            self._session.outdated = True
        return self._found

    @property
    def fresh(self) -> bool:
        """Whether the answer belongs to the latest request."""
        return self.of is not None and self.of == self.asked

    @property
    def now(self) -> Answer | None:
        """The answer to the latest request, or None until it arrives."""
        return self._found if self.fresh else None

    @property
    def at_work(self) -> bool:
        """Whether a computation is running."""
        return self._running is not None and not self._running.done()

    @property
    def busy(self) -> bool:
        """Whether a request waits for the one being computed."""
        return self.at_work and self._next is not None

    def drop(self) -> None:
        """Stop asking; the last answer stays, marked as outdated."""
        self.asked = self.progress = self._next = None
        self.trouble = ""
        if self._long and self._running is not None:
            with contextlib.suppress(RuntimeError):
                self._running.cancel()
            self._running = None

    def end(self) -> None:
        """Forget the work that was ended, so that the next request starts it again."""
        if not self.fresh:
            self.drop()
        self._running = None

    async def _find_all(self) -> None:
        while (request := self._next) is not None:
            self._next = None
            await self._find(request)

    async def _find(self, request: Request) -> None:
        def report(stage: str, done: int, total: int) -> None:
            if request == self.asked:
                self.progress = (stage, done, total)
                self._changed()

        arguments, options = request
        try:
            if self._long:
                await asyncio.sleep(_PAUSE)
            progress = report if self._task.reports else None
            answer = await self._session.find(self._task, *arguments, progress=progress, **dict(options))
        except DiscreetError as error:
            if request == self.asked:
                self.trouble, self.progress = str(error), None
                self._changed()
            return
        self._session.server.remember((self._task.work, request), answer)
        # an answer for a step the slider has passed is shown until a newer one arrives, never after it
        if request == self.asked or not (self._long or self.fresh):
            self.take(request, answer)
            self._changed()

    def take(self, request: Request, answer: object) -> None:
        """Accept this answer to this request."""
        self._found = cast(Answer, answer)  # the key includes the work, so the type is right
        self.of, self.progress = request, None
        self.updates += 1


class Numbers:
    """The numbers of one state as they arrive: the main path at once, all pairs once the state lasts."""

    def __init__(self, state: State, session: Session, changed: Callable[[], None]) -> None:
        self.state = state
        self.quick: Question[Quick] = Question(session, QUICK, changed)
        """The main path; while a slider is dragged, `found` lags a moment behind."""
        self.errors: Question[ErrorCurves] = Question(session, ERRORS, changed)
        self.saving: Question[Calibration] = Question(session, SAVING, changed)
        self.overall: Question[Overall] = Question(session, OVERALL, changed, long=True)
        self.questions: tuple[Question[object], ...] = (self.quick, self.errors, self.saving, self.overall)

    @property
    def trouble(self) -> str:
        """What went wrong."""
        if self.overall.trouble:
            return f"Not all pairs of paths could be compared: {self.overall.trouble}"
        unsaved = f"No saving is stated: {self.saving.trouble}." if self.saving.trouble else ""
        return self.quick.trouble or self.errors.trouble or unsaved

    @property
    def claim(self) -> Claim:
        """The claim of the epsilon shown: for all paths once they are compared, before that the main path."""
        stated = self.state.base.claim
        if self.overall.now is not None or len(self.state.base.paths) == 1:
            return stated
        return stated.weakened(AnswerKind.MAIN)

    @property
    def epsilon(self) -> float | None:
        """The epsilon shown."""
        if self.overall.now is not None and self.quick.fresh:
            return self.overall.now.epsilon
        return self.quick.found.epsilon if self.quick.found else None

    @property
    def complete(self) -> bool:
        """Whether all numbers of the present state are known; instead of a saving there may be a reason."""
        saved = self.saving.fresh or bool(self.saving.trouble)
        return self.quick.fresh and self.overall.fresh and saved

    def recall(self) -> None:
        """Show at once what other visitors have asked before; start no work."""
        self._each(Question.recall)

    def ask(self, state: State, *, settled: bool) -> None:
        """Ask for the numbers of a state; for all pairs only if it lasts."""
        alike = self.state.gives_same(state)
        self.state = state
        self._each(Question.ask, settled=settled)
        if not settled and not alike:
            self.saving.drop()
            self.overall.drop()

    def _each(self, act: Callable[..., object], *, settled: bool = True) -> None:
        state = self.state
        act(self.quick, state.main_events, state.delta)
        act(self.errors, state.main_events)
        if settled:  # building the release takes longest
            helpers = 1 if len(state.base.paths) == 1 else processors()
            asked = {"delta": state.delta, "neighbours": state.relation, "jobs": helpers}
            act(self.saving, state.release, **asked)
            act(self.overall, state.release, **asked)

    def drop(self) -> None:
        """End all work; the next question starts it again."""
        for question in self.questions:
            question.end()


class Session:
    """The decisions made in one browser tab, independent of all others.

    >>> session = Session(State.of("dhc-2022-08-25"))
    >>> session.commit(session.state.with_delta("1e-5"), "delta 1e-5")
    >>> session.undo(), session.state.delta
    ('delta 1e-5', Fraction(1, 10000000000))
    """

    def __init__(
        self,
        state: State,
        server: Server | None = None,
        start: Callable[[Coroutine[object, object, None]], asyncio.Task[None]] = asyncio.ensure_future,
    ) -> None:
        self.state = self.lasting = state
        """The state shown, and the one from which a slider being dragged started."""
        self.page = ""
        self.steps = 0
        """The number of committed states; tells whether a page has caught up."""
        self.moment = 0
        """The number of states shown, including those of a dragged slider; drawings carry this number."""
        self.outdated = False
        """Whether the current drawing uses an answer about an earlier state (`controls.Page`)."""
        self.key = secrets.token_hex(8)
        """The owner of this session's work, for sharing the processors."""
        self._past: list[tuple[State, str]] = []
        self._future: list[tuple[State, str]] = []
        self._listeners: list[tuple[Listener, str | None]] = []
        self._server = server
        self._start = start
        self._held: State | None = None
        self._last_word = 0
        self._typing: object = None
        self._timer: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._next_look = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self.questions: WeakSet[Question[object]] = WeakSet()
        """All questions of this visitor."""
        self.numbers = Numbers(state, self, self._told)
        self.before: Numbers | None = None

    def begin(self, state: State, before: State | None) -> None:
        """Start with another state, before the first one was shown."""
        self.state = self.lasting = self.numbers.state = state
        if before is not None:
            self._compare(before)

    # -- what pages listen to ----------------------------------------------------------------------------

    def listen(self, listener: Listener, page: str | None = None) -> None:
        """Call `listener` after each change; if it belongs to a page, only while and when that is shown."""
        self._listeners.append((listener, page))

    def notify(self, *, anew: bool = False) -> None:
        """Notify all listeners except hidden pages; `anew` says that questions must be asked again."""
        for listener, page in self._listeners:
            if page in (None, self.page):
                listener(anew)

    def show(self, page: str) -> None:
        """Set the page shown, and build it or bring it up to date."""
        self.page = page
        self.notify(anew=True)

    # -- changes -----------------------------------------------------------------------------------------

    def preview(self, state: State) -> None:
        """Show a state that may not last, as while a slider is dragged.

        While the numbers of an earlier state are computed it is held back for a moment, and the latest wins:
        however many values arrive, no more are drawn than the server can manage.
        """
        self._held = state
        if self._timer is not None:
            return
        if self.is_open:
            loop = asyncio.get_running_loop()
            wait = self._next_look - loop.time()
            if self.numbers.quick.busy or wait > 0:
                self._timer = loop.call_later(max(_HOLD, wait), self._show_held)
                return
        self._show_held()

    def _show_held(self) -> None:
        state = self._let_go()
        if self._server is not None:
            now = asyncio.get_running_loop().time()
            self._next_look = now + self._server.pace(self.key, now)
        if state is not None and state != self.state:
            self.state = state
            self.moment += 1
            self.numbers.ask(state, settled=False)
        self.notify(anew=True)

    def _let_go(self) -> State | None:
        """Return the state that was held back, and clear it."""
        if self._timer is not None:
            self._timer.cancel()
        state, self._held, self._timer = self._held, None, None
        return state

    def _told(self) -> None:
        self.notify()
        if self._held is not None and not self.numbers.quick.busy and self._timer is None:
            self._show_held()

    def hear(self, word: int) -> None:
        """Remember the number of a control's message; the next drawing takes it into account."""
        self._last_word = max(word, self._last_word)

    @property
    def heard(self) -> int | None:
        """The last message reflected in what is shown; None while a state is held back."""
        return self._last_word if self._held is None else None

    def commit(self, state: State, what: str, *, typing: object = None) -> None:
        """Make a state the present one; `what` says in a few words what was done.

        Text typed into one field, letter by letter, is undone in one step.
        """
        if state != self.lasting:
            if typing is not None and typing is self._typing and self._past:
                self._past[-1] = (self._past[-1][0], what)
            else:
                self._past = [*self._past, (self.lasting, what)][-MOST_UNDO:]
            self._future = []
        self._settle(state)
        self._typing = typing

    def typed(self) -> None:
        """A field was left: what is typed next is a new step."""
        self._typing = None

    def undo(self) -> str | None:
        """Go back one step; return what was undone."""
        return self._step(self._past, self._future)

    def redo(self) -> str | None:
        """Redo what was undone last."""
        return self._step(self._future, self._past)

    def _step(self, source: list[tuple[State, str]], target: list[tuple[State, str]]) -> str | None:
        if not source:
            return None
        state, what = source.pop()
        target.append((self.lasting, what))
        self._settle(state)
        return what

    def _settle(self, state: State) -> None:
        self._let_go()
        self.steps += 1
        self.moment += 1
        self._typing = None
        self.state = self.lasting = state
        self.numbers.ask(state, settled=True)
        self.notify(anew=True)

    @property
    def settled(self) -> bool:
        """Whether the state is committed, rather than that of a slider being dragged."""
        return self.state is self.lasting

    @property
    def undo_text(self) -> str | None:
        """What undo would undo."""
        return self._past[-1][1] if self._past else None

    @property
    def redo_text(self) -> str | None:
        """What redo would redo."""
        return self._future[-1][1] if self._future else None

    def open(self, state: State, before: State | None, what: str) -> None:
        """Switch to another session, or to a new release."""
        if before is not None:
            self._compare(before).ask(before, settled=True)
        self.commit(state, what)

    def pin(self) -> None:
        """Keep the present state for comparison, or stop comparing."""
        if self.before is None:
            self._compare(self.lasting).ask(self.lasting, settled=True)  # its numbers are known already
        else:
            self.before.drop()
            self.before = None
        self.notify()

    def _compare(self, state: State) -> Numbers:
        if self.before is not None:
            self.before.drop()
        self.before = Numbers(state, self, self.notify)
        return self.before

    @property
    def pinned(self) -> State | None:
        """The state that the present one is compared with."""
        return self.before.state if self.before else None

    # -- work --------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the visitor is still there."""
        return self._server is not None

    @property
    def server(self) -> Server:
        """What all visitors share."""
        assert self._server is not None
        return self._server

    def task(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start a task that belongs to this visitor and ends when the visitor leaves."""
        task = self._start(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def find(
        self, task: Task[Answer], *arguments: object, progress: Progress | None = None, **options: object
    ) -> Answer:
        """Compute something for this visitor."""
        return await self.server.workers.run(
            partial(task.work, *arguments, **options),
            owner=self.key,
            cost=task.cost(*arguments, *options.values()),
            deadline=task.deadline,
            kind=task.work.__name__,
            progress=progress,
        )

    def settle(self) -> None:
        """The visitor is here: start the work that waits until a state lasts, or that was ended."""
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        for numbers in filter(None, (self.numbers, self.before)):
            numbers.ask(numbers.state, settled=True)
        self.notify(anew=True)  # answers that others have asked for appear at once

    def pause(self) -> None:
        """The visitor has closed the page or lost the connection: end all work unless they soon return."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().call_later(_GRACE, self.end_work)

    def end_work(self) -> None:
        """End all work started for this visitor."""
        self._leaving = None
        for question in self.questions:
            question.end()
        for task in list(self._tasks):
            task.cancel()

    def close(self) -> None:
        """The visitor has gone: end all work."""
        self._let_go()
        if self._leaving is not None:
            self._leaving.cancel()
        self.end_work()
        if self._server is not None:
            self._server.left()
        self._server = None
        self._listeners.clear()
