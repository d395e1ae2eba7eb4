"""The Report page: one HTML file that can be handed on."""

from __future__ import annotations

from asyncio import Task
from functools import partial
from typing import Any

from nicegui import ui

from discreet.budget import Release
from discreet.errors import DiscreetError, InputError
from discreet.numbers import with_fraction
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.session import Page, Session
from discreet.workbench.state import exact_text
from discreet.workbench.workers import processors

NAME = "report"
_PROOFS = (
    "An interval for every headline number that provably contains it. Takes minutes if there are many paths."
)
_SAVINGS = "The least noise that keeps the same promise."


def build(session: Session) -> None:
    """Draw the page."""
    page = Page(session, NAME)
    with c.box("wb-two"):
        _Making(page)
        _contents(page)
    page.start()


def can_print() -> bool:
    """Whether there is a Chromium that prints."""
    from discreet.report.html.pdf import find_chromium

    try:
        return bool(find_chromium())
    except InputError:
        return False


def file_name(release: Release, ending: str = "html") -> str:
    """Return a name for the file that every system can hold.

    >>> from discreet.budget import load
    >>> file_name(load("dhc-2020"))
    'dhc-2020-persons-report.html'
    """
    letters = (letter if letter.isalnum() or letter in "-_" else "-" for letter in release.name[:80])
    return "".join(letters) + f"-report.{ending}"


class _Making:
    """What goes into the report, and the buttons."""

    def __init__(self, page: Page) -> None:
        self.page, self.session = page, page.session
        self._task: Task[None] | None = None
        self._asked: dict[str, Any] = {}
        self._made: tuple[dict[str, Any], str] = ({}, "")
        with c.card():
            c.heading("Report")
            text = "One self-contained HTML file about the present state. It loads nothing and runs nothing."
            c.words(text, "wb-soft", "p").style("margin: 0 0 14px")
            self._title = c.Field(
                "Title",
                say.read_title,
                lambda title: page.change({"title": title}, "the title", typing=True),
                shown="Title",
                placeholder="the release's own",
            )
            self._proofs = c.Check("With proofs", partial(self._ticked, "proofs"), _PROOFS)
            name = "With what calibration would save"
            self._savings = c.Check(name, partial(self._ticked, "savings"), _SAVINGS)
            with c.box("wb-row").style("margin-top: 16px"):
                self._make = c.button("Make the report", partial(self._begin, "html"), "wb-primary")
                self._pdf = c.button("Make a PDF", partial(self._begin, "pdf"))
                c.show(self._pdf, can_print())
                self._end = c.button("Stop", self._stop)
            self._bar = c.Bar()
            self._status = c.words("", "wb-text", "p", role="status").style("margin: 12px 0 0")
            self._command = c.words("", "wb-command", "code").style("margin-top: 12px")
            self._save = c.button("Save before.toml", self._save_before, "wb-quiet")
        self._work(None)
        page.draw(self._draw)

    def _draw(self) -> None:
        if not self.session.settled:
            return
        state, before = self.session.state, self.session.pinned
        asked = say.report_options(state, before)
        self._command.set(say.report_command(state, before))
        c.show(self._save, before is not None and say.target(before) == ["release.toml"])
        if asked == self._asked:
            return
        self._asked = asked
        self._stop()
        self._title.show(asked["title"])
        self._proofs.set(asked["certify"])
        self._savings.set(asked["savings"])

    def _ticked(self, name: str, value: bool) -> None:
        self.page.change({name: "" if value else "no"}, f"{name} in the report", typing=True)

    def _begin(self, kind: str) -> None:
        self._stop()
        self._work(("", 0, 0))
        self._status.set("Starting …")
        asked = say.report_options(self.session.state, self.session.pinned)
        self._task = self.session.task(self._run(asked, kind))

    async def _run(self, asked: dict[str, Any], kind: str) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            self._bar.set((stage, done, total))
            self._status.set(f"{stage[:1].upper()}{stage[1:]} …" if stage else "Working …")

        find = self.session.find
        try:
            if self._made[0] != asked:
                self._made = (asked, await find("reported", **asked, jobs=processors(), progress=progress))
            content = self._made[1].encode()
            if kind == "pdf":
                progress("printing", 0, 1)
                content = await find("printed", self._made[1])
        except DiscreetError as error:
            self._status.set(str(error))
            return
        finally:
            self._work(None)
        name = file_name(asked["release"], kind)
        self._status.set(f"{name} is ready: {len(content) / 1000:,.0f} kB.")
        ui.download.content(content, name, "text/html" if kind == "html" else "application/pdf")

    def _save_before(self) -> None:
        if self.session.pinned is not None:
            ui.download.content(self.session.pinned.release.to_toml(), "before.toml", "application/toml")

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._status.set("")
        self._work(None)

    def _work(self, progress: tuple[str, int, int] | None) -> None:
        """Show that work goes on, or that it may begin."""
        self._bar.set(progress)
        c.show(self._end, progress is not None)
        for element in (self._make, self._pdf):
            c.enable(element, progress is None)


def _contents(page: Page) -> None:
    """What the report will be about."""
    with c.card():
        c.heading("What it will say")
        with c.box("wb-list", "ul"):
            lines = [c.words("", tag="li") for _ in range(7)]

    @page.draw
    def draw() -> None:
        state, before = page.session.state, page.session.pinned
        said = (
            f"The decision: {state.release.name}, at delta {exact_text(state.delta)}.",
            f"Neighbours: {words.relation(state.relation, state.base.unit)} ({state.relation}).",
            f"Total rho {with_fraction(state.budget.total)}.",
            f"Compared with {before.release.name}." if before else "No comparison with another state.",
            f"Risk from an adversary with prior {say.report_options(state, None)['prior']}, "
            "as on the Risk page.",
            "Parameters, curves, tables, risk in plain words, method and version.",
            say.claim_text(state),
        )
        for line, text in zip(lines, said, strict=True):
            line.say(text)
