"""What surrounds every page: navigation, undo, compare, open and save, the command line, light and dark."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from nicegui import background_tasks, ui
from nicegui.element import Element

from discreet.budget.catalogue import LARGEST_FILE
from discreet.errors import DiscreetError
from discreet.workbench import controls as c
from discreet.workbench import phrases
from discreet.workbench.numbers import Server
from discreet.workbench.pages import Page, pages
from discreet.workbench.session import Session
from discreet.workbench.session_file import LONGEST_LINK, to_link, to_toml
from discreet.workbench.state import State

FIRST = "dhc-2020-persons"
"""The preset that a new session begins with."""

TOO_LARGE = f"the file is larger than {LARGEST_FILE // 10**6} MB, the largest that is read"


async def build(server: Server, page: str, link: str) -> Session:
    """Draw the frame with one page for a new visitor."""
    client = ui.context.client
    session = Session(
        State.of(FIRST), None, server, lambda work: background_tasks.create(work, context=client)
    )
    trouble = ""
    if link:
        try:
            state, before = await session.find("read_link", link)
        except DiscreetError as error:
            trouble = str(error)
        else:
            session.begin(state, before)
    frame = Frame(session, client)
    if trouble:
        frame.warn(trouble)
    frame.open(page if page in frame.places else "budget")

    def arrived() -> None:
        session.settle()
        background_tasks.create(frame.find_theme(), context=client)

    client.on_connect(arrived)
    client.on_disconnect(session.pause)
    client.on_delete(session.close)
    return session


class Frame:
    """The elements around the pages of one visitor."""

    def __init__(self, session: Session, client: Any) -> None:
        self.session = session
        self.client = client
        self.places: dict[str, Element] = {}
        self._built: set[str] = set()
        self._pages = {page.name: page for page in pages()}
        self._arrived = False
        self._dark = ui.dark_mode(None)
        ui.add_head_html(_head())
        skip = c.words("Skip to the content", "wb-skip", "a")
        skip._props["href"] = "#content"
        self._header()
        with c.box("wb-main", "main") as main:
            main._props["id"] = "content"
            self._banner = c.words("", "wb-banner wb-hidden", "div")
            self._banner._props["role"] = "alert"
            self._comparison = c.box("wb-compare wb-hidden", "section")
            self._comparison._props["aria-label"] = "Before and after"
            for name in self._pages:
                self.places[name] = c.box("wb-page wb-hidden")
            self._footer()
        session.listen(self._heard)
        self._refresh()

    # -- parts -------------------------------------------------------------------------------------------

    def _header(self) -> None:
        with c.box("wb-head", "header"), c.box("wb-bar"):
            with c.box("wb-brand"):
                c.words("discreet", tag="b")
                c.words(" workbench")
            with c.box("wb-nav", "nav") as nav:
                nav._props["aria-label"] = "Pages"
                self._links = {
                    page.name: c.button(page.title, partial(self.open, page.name))
                    for page in self._pages.values()
                }
                for link in self._links.values():
                    link.classes(remove="wb-button")
            with c.box("wb-tools"):
                self._undo = c.button("Undo", self._undo_one, "wb-quiet")
                self._redo = c.button("Redo", self._redo_one, "wb-quiet")
                self._pin = c.button("Compare", self._pin_or_not, "wb-quiet")
                open_ = c.button("Open", lambda: None, "wb-quiet", "Open a release or a session (TOML)")
                self._upload = ui.upload(
                    on_upload=self._uploaded,
                    on_rejected=lambda: self.warn(TOO_LARGE + "; nothing was changed"),
                    max_file_size=LARGEST_FILE,
                    auto_upload=True,
                ).classes("wb-upload")
                open_.on("click", js_handler=f"() => getElement({self._upload.id}).$refs.qRef.pickFiles()")
                c.button("Save", self._save, "wb-quiet", "Save the whole session (TOML)")
                c.button("Theme", self._toggle, "wb-quiet", "Light or dark")

    def _footer(self) -> None:
        with c.box("wb-card", "section").style("margin-top: 20px") as footer:
            footer._props["aria-label"] = "The same numbers on the command line"
            with c.box("wb-between"):
                c.words("The same numbers on the command line", "wb-h2", "h2")
                c.button("Save release.toml", self._save_release, "wb-quiet")
            self._command = c.words("", "wb-command", "code")
            self._command_note = c.words("", "wb-soft", "div").style("margin-top: 8px")

    # -- pages -------------------------------------------------------------------------------------------

    def open(self, name: str) -> None:
        """Show a page, and build it if it is opened for the first time."""
        for other, place in self.places.items():
            c.show(place, other == name)
            c.put(self._links[other], "aria-current", "page" if other == name else None)
        if name not in self._built:
            self._built.add(name)
            page: Page = self._pages[name]
            with self.places[name]:
                page.builder()(self.session)
        self.session.show(name)
        self._address()

    def _address(self) -> None:
        """Keep the address in step, so that it can be sent or loaded again."""
        before = self.session.before.state if self.session.before else None
        link = to_link(self.session.state, before)
        address = f"/{self.session.page}" + (f"?s={link}" if len(link) <= LONGEST_LINK else "")
        self.client.run_javascript(f"history.replaceState(history.state, '', '{address}')")

    # -- changes -----------------------------------------------------------------------------------------

    def _heard(self, topic: str) -> None:
        if topic == "before" or (topic == "state" and self.session.settled):
            self._refresh()
        if topic in ("state", "before", "numbers") and self.session.before is not None:
            self._compare()

    def _refresh(self) -> None:
        session = self.session
        for element, text, word in (
            (self._undo, session.undo_text, "Undo"),
            (self._redo, session.redo_text, "Redo"),
        ):
            c.enable(element, text is not None)
            c.put(element, "title", f"{word}: {text}" if text else None)
        pinned = session.before is not None
        self._pin.set("End comparison" if pinned else "Compare")  # type: ignore[attr-defined]
        c.put(self._pin, "aria-pressed", "true" if pinned else "false")
        c.put(self._pin, "title", None if pinned else "Keep this state and compare what follows with it")
        c.show(self._comparison, pinned)
        self._command.set(phrases.command(session.state))
        saved = session.state.is_preset and session.state.changed is None
        self._command_note.set(
            "" if saved else "release.toml is the release as it is on this page: save it first."
        )
        if session.settled:
            self._address()

    def _compare(self) -> None:
        session = self.session
        if session.before is None:
            return
        found = phrases.differences(session.before, session.numbers)
        key = tuple(found)
        if getattr(self, "_compared", None) == key and self._comparison.default_slot.children:
            return
        self._compared = key
        self._comparison.clear()
        with self._comparison:
            c.words("Before and after", "wb-h2", "h2")
            if not found:
                c.words("Nothing has changed since.", "wb-soft")
            with c.box("wb-list", "ul"):
                for text in found:
                    c.words(text, tag="li")

    def _undo_one(self) -> None:
        self.session.undo()

    def _redo_one(self) -> None:
        self.session.redo()

    def _pin_or_not(self) -> None:
        if self.session.before is None:
            self.session.pin()
        else:
            self.session.unpin()
        self._compare()

    # -- files -------------------------------------------------------------------------------------------

    async def _uploaded(self, event: Any) -> None:
        name = str(event.file.name)[:200]
        try:
            if event.file.size() > LARGEST_FILE:
                raise DiscreetError(TOO_LARGE)
            state, before = await self.session.find("read_file", await event.file.read(), name)
        except DiscreetError as error:
            self.warn(f"{name} was not opened: {error}")
            return
        finally:
            self._upload.reset()
        self.warn("")
        self.session.open(state, before, f"opening {name}")

    def _save(self) -> None:
        before = self.session.before.state if self.session.before else None
        ui.download.content(to_toml(self.session.state, before), "session.toml", "application/toml")

    def _save_release(self) -> None:
        ui.download.content(self.session.state.release.to_toml(), "release.toml", "application/toml")

    def warn(self, text: str) -> None:
        """Show what went wrong, above the page; an empty text takes it away."""
        self._banner.set(text)
        c.show(self._banner, bool(text))

    # -- light and dark ----------------------------------------------------------------------------------

    async def find_theme(self) -> None:
        """Ask the browser which it prefers."""
        if self._arrived:
            return
        self._arrived = True
        with contextlib.suppress(TimeoutError):  # a browser that does not say is shown the light one
            dark = await self.client.run_javascript(
                "window.matchMedia('(prefers-color-scheme: dark)').matches", timeout=10
            )
            self._set_dark(bool(dark))

    def _toggle(self) -> None:
        self._set_dark(not self.session.dark)

    def _set_dark(self, dark: bool) -> None:
        self._dark.value = dark
        if dark != self.session.dark:
            self.session.dark = dark
            self.session.notify("theme")


def _head() -> str:
    from discreet.workbench.style import head

    return head()
