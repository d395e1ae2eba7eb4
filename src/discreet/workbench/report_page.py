"""The Report page: one HTML file to hand on."""

from __future__ import annotations

from functools import partial

from nicegui import ui

from discreet.answers.quantity import Style
from discreet.answers.release import claim_note, relation
from discreet.budget import Release
from discreet.errors import InputError
from discreet.numbers import exact_text
from discreet.reports.html import page as report
from discreet.reports.html.pdf import find_chromium, print_pdf
from discreet.workbench import controls as c
from discreet.workbench.budget_page import rho_text
from discreet.workbench.commands import LONGEST_TITLE, report_options, target
from discreet.workbench.session import Question, Session
from discreet.workbench.workers import processors

_PARTS = {"proofs": "With proofs", "savings": "With what calibration would save"}


def build(session: Session) -> None:
    """Draw the page."""
    page = _ReportPage(session)
    with c.box("wb-two"):
        _making(page)
        _contents(page)


class _ReportPage(c.Page):
    """The report as HTML and as PDF; `wanted` is the one to download when it is ready."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "report")
        self.html: Question[str] = self.question(report, 2, 3600, long=True, all_cases=True, reports=True)
        self.pdf: Question[bytes] = self.question(print_pdf, 5, 120, long=True)
        self.wanted = self.ready = ""

    def ask(self, *, begin: bool) -> None:
        self.html.ask(**report_options(self.state, self.session.pinned), jobs=processors(), begin=begin)

    def look(self, *, settled: bool) -> None:
        if settled:
            old = self.html.asked
            self.ask(begin=False)  # drop a report about another state
            if old != self.html.asked:
                self.stop()

    def make(self, kind: str) -> None:
        self.wanted, self.ready = kind, ""
        self.ask(begin=True)
        self.redraw()

    def stop(self) -> None:
        self.wanted = self.ready = ""
        for question in (self.html, self.pdf):
            if not question.fresh:
                question.drop()
        self.redraw()

    def hand_out(self) -> None:
        """Print the report if a PDF is wanted, and download what is ready."""
        if self.wanted == "pdf" and self.html.now is not None:
            self.pdf.ask(self.html.now)
        report = {"html": self.html.now, "pdf": self.pdf.now}.get(self.wanted)
        if report is not None:
            content = report.encode() if isinstance(report, str) else report
            name = file_name(self.state.release, self.wanted)
            self.ready = f"{name} is ready: {Style.COUNT.quantity(len(content) / 1000, 0)} kB."
            ui.download.content(content, name, "text/html" if self.wanted == "html" else "application/pdf")
        if report is not None or self.html.trouble or self.pdf.trouble:
            self.wanted = ""

    def status(self) -> str:
        """Describe the progress."""
        if not self.wanted:
            return self.html.trouble or self.pdf.trouble or self.ready
        stage = self.html.progress[0] if self.html.progress else "printing" if self.html.now else ""
        return f"{stage[:1].upper()}{stage[1:]} …" if stage else "Starting …"


def can_print() -> bool:
    """Whether a Chromium that can print is installed."""
    try:
        return bool(find_chromium())
    except InputError:
        return False


def file_name(release: Release, ending: str = "html") -> str:
    """Return a file name that is valid on every system.

    >>> from discreet.budget import load
    >>> file_name(load("dhc-2020"))
    'dhc-2020-persons-report.html'
    """
    letters = (letter if letter.isalnum() or letter in "-_" else "-" for letter in release.name[:80])
    return "".join(letters) + f"-report.{ending}"


def read_title(text: str) -> str:
    """Return a title without surrounding blanks.

    >>> read_title("x" * 121)
    Traceback (most recent call last):
    discreet.errors.InputError: a title has at most 120 characters; this one has 121
    """
    short = text.strip()
    if len(short) > LONGEST_TITLE:
        raise InputError(f"a title has at most {LONGEST_TITLE} characters; this one has {len(short)}")
    return short


def _making(page: _ReportPage) -> None:
    """What goes into the report, and the buttons."""
    session = page.session

    def is_ticked(name: str) -> bool:
        return page.get(name) != "no"

    def ticked(name: str, value: bool) -> None:
        session.commit(page.at(name, "" if value else "no"), f"{name} in the report")

    def save_before() -> None:
        if session.pinned is not None:
            ui.download.content(session.pinned.release.to_toml(), "before.toml", "application/toml")

    with c.card():
        page.heading("Report")
        text = "One self-contained HTML file about the present state. It loads nothing and runs nothing."
        c.words(text, "wb-soft", "p").style("margin: 0 0 14px")
        title = c.Setting(lambda: page.get("title")[:LONGEST_TITLE], partial(page.at, "title"))
        name, own = "Title", "the release's own"
        c.Field(page, name, read_title, title, "the title", shown=name, placeholder=own)
        for part, said in _PARTS.items():
            c.checkbox(page, said, partial(is_ticked, part), partial(ticked, part), part)
        with c.box("wb-row").style("margin-top: 16px"):
            make = c.button("Make the report", partial(page.make, "html"), "wb-primary")
            pdf = c.button("Make a PDF", partial(page.make, "pdf"))
            c.show(pdf, can_print())
            end = c.button("Stop", page.stop)
        page.draw(page.hand_out)
        page.bar(lambda: page.html.progress or (("", 0, 1) if page.wanted else None))
        page.show(end, lambda: bool(page.wanted))

        @page.draw
        def draw() -> None:
            for button in (make, pdf):
                c.enable(button, not page.wanted)
            c.show(save, session.pinned is not None and target(session.pinned) == ["release.toml"])

        page.words(page.status, "wb-text", "p", role="status").style("margin: 12px 0 0")
        save = c.button("Save before.toml", save_before, "wb-quiet")


def _contents(page: _ReportPage) -> None:
    """What the report will be about."""
    with c.card():
        page.heading("What it will say")
        with c.box("wb-list", "ul"):
            lines = [c.words("", tag="li", data_of="") for _ in range(7)]

    @page.draw
    def draw() -> None:
        state, before = page.session.state, page.session.pinned
        said = (
            f"The decision: {state.release.name}, at delta {exact_text(state.delta)}.",
            f"Neighbours: {relation(state.relation, state.base.unit)} ({state.relation}).",
            f"Total rho {rho_text(state)}." if state.budget.total else f"{rho_text(state)}.",
            f"Compared with {before.release.name}." if before else "No comparison with another state.",
            f"Risk from an adversary with prior {report_options(state, None)['prior']}, as on the Risk page.",
            "Parameters, curves, tables, risk in plain words, method and version.",
            claim_note(state.base.claim),
        )
        for line, text in zip(lines, said, strict=True):
            line.say(text)
            page.stamp(line)
