"""The numbers of one state as they come in: the main path at once, all pairs when a state lasts."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from discreet.errors import DiscreetError
from discreet.workbench.results import Errors, Overall, Quick
from discreet.workbench.state import State
from discreet.workbench.workers import Slot, Workers, processors

_REMEMBERED = 256
_PAUSE = 0.3  # seconds that a state must last before all pairs are compared


@dataclass
class Server:
    """What all visitors share: processes, and answers that were found."""

    workers: Workers
    known: OrderedDict[Any, Any] = field(default_factory=OrderedDict)

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


class Owner(Protocol):
    """Whose numbers they are: a session."""

    @property
    def server(self) -> Server:
        """What all visitors share."""

    def task(self, work: Any) -> Any:
        """Start a task."""

    async def find(self, name: str, *arguments: Any, progress: Any = None) -> Any:
        """Have something computed."""


class Numbers:
    """Numbers of the latest state; None until known, and while a slider is dragged those of a moment ago."""

    def __init__(self, state: State, owner: Owner | None, tell: Callable[[str], None]) -> None:
        self.state = state
        self.quick: Quick | None = None
        self.errors: Errors | None = None
        self.saving: float | None = None
        self.overall: Overall | None = None
        self.progress: tuple[str, int, int] | None = None
        self.trouble: str | None = None
        self.updates = 0
        """How many curves were shown; for those who measure."""
        self._owner, self._tell = owner, tell
        self._job: asyncio.Task[None] | None = None
        self._asked: State | None = None
        self._saving_asked = False
        self._quick_of: State | None = None
        self._closed = False
        if owner is not None:
            self._quick_slot: Slot[State] = Slot(self._find_quick, owner.task)
            self._errors_slot: Slot[State] = Slot(self._find_errors, owner.task)
            self._saving_slot: Slot[State] = Slot(self._find_saving, owner.task)

    def ask(self, state: State, *, settled: bool) -> None:
        """Ask for the numbers of a state; those of all pairs only if it lasts."""
        if self._owner is None or self._closed:
            self.state = state
            return
        if not state.gives_same(self.state):
            self._stop_job()
            self._saving_slot.clear()
            self._saving_asked = False
            self.overall = self.saving = None
        self.state = state
        if self._asked is None or not state.gives_same(self._asked):
            self._asked = state
            self._quick_slot.ask(state)
            self._errors_slot.ask(state)
        if settled:
            if self.saving is None and not self._saving_asked:
                self._saving_asked = True
                self._saving_slot.ask(state)
            if self.overall is None and self._job is None:
                self._begin_overall(state)

    @property
    def busy(self) -> bool:
        """Whether the numbers of the main path are being computed and a newer state waits already."""
        return self._owner is not None and self._quick_slot.waiting

    @property
    def is_fresh(self) -> bool:
        """Whether `quick` is of the present state, and not of one that a slider has passed."""
        return self.quick is not None and self._quick_of is not None and self._quick_of.gives_same(self.state)

    @property
    def complete(self) -> bool:
        """Whether all numbers are there and of the present state."""
        return self.is_fresh and self.overall is not None and self.saving is not None

    def take(self, other: Numbers) -> None:
        """Take over what another has found of the same state, and find the rest."""
        if other.state.gives_same(self.state):
            self.quick, self.errors, self.saving = other.quick, other.errors, other.saving
            self.overall, self._quick_of = other.overall, other._quick_of
        if self.quick is None or self.overall is None:
            self.ask(self.state, settled=True)

    def pause(self) -> None:
        """End all work; the next question begins it again."""
        self._stop_job()
        self._saving_asked = self.saving is not None
        if not self.is_fresh or self.errors is None:
            self._asked = None

    def close(self) -> None:
        """End all work."""
        self._closed = True
        self._stop_job()
        if self._owner is not None:
            for slot in (self._quick_slot, self._errors_slot, self._saving_slot):
                slot.clear()

    # -- the main path -----------------------------------------------------------------------------------

    async def _find_quick(self, state: State) -> None:
        await self._find(state, "quick")

    async def _find_errors(self, state: State) -> None:
        await self._find(state, "errors")

    async def _find_saving(self, state: State) -> None:
        await self._find(state, "saving")

    async def _find(self, state: State, name: str) -> None:
        assert self._owner is not None
        key = (name, state.release, state.relation, state.delta)
        try:
            found = self._owner.server.recall(key)
            if found is None:
                found = await self._owner.find(f"{name}_of", state)
        except DiscreetError as error:
            self.trouble = str(error)
            found = None
        else:
            self._owner.server.remember(key, found)
            if name == "quick":
                self.trouble = None
                self.updates += 1
        if self._closed:
            return
        if name == "saving" and not state.gives_same(self.state):
            return
        setattr(self, name, found)
        if name == "quick":
            self._quick_of = state
        self._tell("numbers")

    # -- all pairs ---------------------------------------------------------------------------------------

    def _begin_overall(self, state: State) -> None:
        assert self._owner is not None
        key = ("overall", state.release, state.relation, state.delta)
        self.overall = self._owner.server.recall(key)
        if self.overall is not None:
            self._tell("numbers")
            return
        self.progress = ("", 0, 0)
        self._job = self._owner.task(self._find_overall(state, key))

    async def _find_overall(self, state: State, key: Any) -> None:
        assert self._owner is not None

        def report(stage: str, done: int, total: int) -> None:
            self.progress = (stage, done, total)
            self._tell("progress")

        helpers = 1 if len(state.release.paths) == 1 else processors()
        arguments = (state.release, state.relation, state.delta, helpers)
        try:
            if helpers > 1:
                await asyncio.sleep(_PAUSE)
            found: Overall = await self._owner.find("overall", *arguments, progress=report)
        except DiscreetError as error:
            self.trouble, self.progress = f"Not all pairs of paths could be compared: {error}", None
            self._tell("numbers")
            return
        self._owner.server.remember(key, found)
        if state.gives_same(self.state) and not self._closed:
            self.overall, self.progress = found, None
            self._tell("numbers")

    def _stop_job(self) -> None:
        if self._job is not None:
            with contextlib.suppress(RuntimeError):
                self._job.cancel()
        self._job = None
        self.progress = None
