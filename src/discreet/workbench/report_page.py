"""The Report page: one HTML file that can be handed on."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from discreet.errors import DiscreetError
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import report_view as view
from discreet.workbench.phrases import target
from discreet.workbench.session import Session
from discreet.workbench.session_file import delta_text
from discreet.workbench.state import State
from discreet.workbench.workers import processors

NAME = "report"
_PROOFS = "An interval for every headline number that provably contains it. Minutes for many paths."


def build(session: Session) -> None:
    """Draw the page."""
    with c.box("wb-two"):
        _Making(session)
        _Contents(session)


class _Making:
    """What goes into the report, and the buttons."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._task: Any = None
        self._asked: view.Wanted | None = None
        self._made: tuple[view.Wanted, str] | None = None
        with c.box("wb-card", "section"):
            c.heading("Report")
            text = "One self-contained HTML file of the present state. It loads nothing and runs nothing."
            c.words(text, "wb-soft", "p").style("margin: 0 0 14px")
            self._field = c.Field("Title", "", self._typed, label="Title", placeholder="the release's own")
            self._proofs = c.Check("With proofs", True, _PROOFS, partial(self._ticked, "proofs"))
            explained = "Least noise for the same promise."
            savings = partial(self._ticked, "savings")
            self._savings = c.Check("With what calibration would save", True, explained, savings)
            with c.box("wb-row").style("margin-top: 16px"):
                self._make = c.button("Make the report", partial(self._begin, "html"), "wb-primary")
                self._pdf = c.button("Make a PDF", partial(self._begin, "pdf"))
                c.show(self._pdf, view.can_print())
                self._end = c.button("Stop", self._stop)
                c.show(self._end, False)
            self._bar = c.box("wb-progress wb-hidden")
            with self._bar:
                self._done = c.box("")
            self._status = c.words("", "wb-text", "p").style("margin: 12px 0 0")
            self._status._props["role"] = "status"
            self._command = c.words("", "wb-command", "code").style("margin-top: 12px")
            self._save = c.button("Save before.toml", self._save_before, "wb-quiet")
        session.listen(self._heard, NAME)
        self._heard("state")

    @property
    def _before(self) -> State | None:
        return self.session.before.state if self.session.before else None

    def _heard(self, topic: str) -> None:
        if topic not in ("state", "before") or not self.session.settled:
            return
        state, before = self.session.state, self._before
        asked = view.wanted(state, before)
        self._command.set(view.report_command(state, before))
        c.show(self._save, before is not None and target(before) == ["release.toml"])
        if asked == self._asked:
            return
        self._asked = asked
        self._stop()
        if asked.title != self._field.value.strip():
            self._field.set(asked.title)
            self._field.say(None)
        for box, value in ((self._proofs, asked.certify), (self._savings, asked.savings)):
            if box.value != value:
                box.set(value)

    def _keep(self, values: dict[str, str], what: str) -> None:
        self.session.commit(self.session.state.with_settings(NAME, values), what, typing=True)

    def _typed(self, text: str) -> None:
        try:
            title = view.checked_title(text)
        except DiscreetError as error:
            self._field.say(str(error))
            return
        self._field.say(None)
        self._keep({"title": title}, "the title")

    def _ticked(self, name: str, value: bool) -> None:
        self._keep({name: "" if value else "no"}, f"{name} in the report")

    def _begin(self, kind: str) -> None:
        self._stop()
        for element in (self._bar, self._end):
            c.show(element, True)
        for element in (self._make, self._pdf):
            c.enable(element, False)
        self._status.set("Starting …")
        self._task = self.session.task(self._run(view.wanted(self.session.state, self._before), kind))

    async def _run(self, asked: view.Wanted, kind: str) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            self._done.style(f"width: {100 * done / max(total, 1):.0f}%")
            self._status.set(f"{stage[:1].upper()}{stage[1:]} …" if stage else "Working …")

        try:
            if self._made is None or self._made[0] != asked:
                html = await self.session.find("reported", asked, processors(), progress=progress)
                self._made = (asked, html)
            content = self._made[1].encode()
            if kind == "pdf":
                content = await self.session.find("printed", self._made[1], progress=progress)
        except DiscreetError as error:
            self._status.set(str(error))
            return
        finally:
            self._idle()
        name = view.file_name(asked.release, kind)
        self._status.set(f"{name} was made: {len(content) / 1000:,.0f} kB.")
        ui.download.content(content, name, "text/html" if kind == "html" else "application/pdf")

    def _save_before(self) -> None:
        if self._before is not None:
            ui.download.content(self._before.release.to_toml(), "before.toml", "application/toml")

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._status.set("")
        self._idle()

    def _idle(self) -> None:
        c.show(self._bar, False)
        c.show(self._end, False)
        for element in (self._make, self._pdf):
            c.enable(element, True)


class _Contents:
    """What the report will be about."""

    def __init__(self, session: Session) -> None:
        self.session = session
        with c.box("wb-card", "section"):
            c.heading("What it will say")
            with c.box("wb-list", "ul"):
                self._lines = [c.words("", tag="li") for _ in range(6)]
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
            f"Risk for an adversary with prior {view.wanted(state, None).prior}, as on the Risk page.",
            "Parameters, curves, tables, risk in plain words, method and version.",
        )
        for line, text in zip(self._lines, said, strict=True):
            line.set(text)
