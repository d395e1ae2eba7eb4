"""The Report page: one HTML file that can be handed on."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from discreet.errors import DiscreetError
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench.remote import call
from discreet.workbench.report_view import file_name, report_command
from discreet.workbench.session import Session
from discreet.workbench.session_file import delta_text
from discreet.workbench.worker import processors

NAME = "report"
_LONGEST_TITLE = 120


def build(session: Session) -> None:
    """Draw the page."""
    with c.box("wb-two"):
        _Making(session)
        _Contents(session)


class _Making:
    """What goes into the report, and the button."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._task: Any = None
        self._title = ""
        self._state: Any = None
        with c.box("wb-card", "section"):
            c.heading("Report")
            text = "One self-contained HTML file of the present state. It loads nothing and runs nothing."
            c.words(text, "wb-soft", "p").style("margin: 0 0 14px")
            self._field = c.Field("Title", "", self._typed, label="Title", placeholder="the release's own")
            explained = (
                "An interval for every headline number that provably contains it. Minutes for many paths."
            )
            self._proofs = c.Check("With proofs", True, explained)
            self._savings = c.Check(
                "With what calibration would save", True, "Least noise for the same promise."
            )
            with c.box("wb-row").style("margin-top: 16px"):
                self._make = c.button("Make the report", self._begin, "wb-primary")
                self._end = c.button("Stop", self._stop)
                c.show(self._end, False)
            self._bar = c.box("wb-progress wb-hidden")
            with self._bar:
                self._done = c.box("")
            self._status = c.words("", "wb-text", "p").style("margin: 12px 0 0")
            self._status._props["role"] = "status"
            self._command = c.words("", "wb-command", "code").style("margin-top: 12px")
        session.listen(self._heard, NAME)
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic == "state" and self.session.settled and self.session.state is not self._state:
            self._state = self.session.state
            self._stop()
            self._command.set(report_command(self._state, self._title))

    def _typed(self, text: str) -> None:
        if len(text) > _LONGEST_TITLE:
            self._field.say(f"a title has at most {_LONGEST_TITLE} characters")
            return
        self._field.say(None)
        self._title = text.strip()
        self._command.set(report_command(self.session.state, self._title))

    def _begin(self) -> None:
        self._stop()
        for element, seen in ((self._bar, True), (self._end, True)):
            c.show(element, seen)
        c.enable(self._make, False)
        self._status.set("Starting …")
        self._task = self.session.task(self._run(self.session.state))

    async def _run(self, state: Any) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            self._done.style(f"width: {100 * done / max(total, 1):.0f}%")
            self._status.set(f"{stage[:1].upper()}{stage[1:]} …" if stage else "Working …")

        before = self.session.before.state.release if self.session.before else None
        arguments = (
            state.release,
            before,
            state.relation,
            state.delta,
            self._title,
            self._proofs.value,
            self._savings.value,
            processors(),
        )
        try:
            html = await self.session.server.jobs.run(call, "reported", *arguments, progress=progress)
        except DiscreetError as error:
            self._status.set(str(error))
            return
        finally:
            self._idle()
        name = file_name(state.release)
        self._status.set(f"{name} was made: {len(html.encode()) / 1000:,.0f} kB.")
        ui.download.content(html, name, "text/html")

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._status.set("")
        self._idle()

    def _idle(self) -> None:
        c.show(self._bar, False)
        c.show(self._end, False)
        c.enable(self._make, True)


class _Contents:
    """What the report will be about."""

    def __init__(self, session: Session) -> None:
        self.session = session
        with c.box("wb-card", "section"):
            c.heading("What it will say")
            with c.box("wb-list", "ul"):
                self._lines = [c.words("", tag="li") for _ in range(5)]
        session.listen(self._heard, NAME)
        self._heard("state")

    def _heard(self, topic: str) -> None:
        state, before = self.session.state, self.session.before
        compared = f"Compared with {before.state.release.name}." if before else "Nothing is compared with it."
        said = (
            f"The decision: {state.release.name}, at delta {delta_text(state.delta)}.",
            f"Neighbours: {words.relation(state.relation, state.base.unit)} ({state.relation}).",
            f"Total rho {words.with_fraction(state.budget.total)}.",
            compared,
            "Parameters, curves, tables, risk in plain words, method and version.",
        )
        for line, text in zip(self._lines, said, strict=True):
            line.set(text)
