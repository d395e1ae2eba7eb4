"""What surrounds every page: navigation, undo, compare, open and save, the command line, light and dark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.resources import files
from urllib.parse import parse_qsl, urlsplit

from nicegui import Client, background_tasks, ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from discreet.budget.text_files import LARGEST_FILE
from discreet.errors import DiscreetError, visible
from discreet.workbench import controls as c
from discreet.workbench.commands import MOST_COMMANDS, commands, files_note
from discreet.workbench.differences import differences, state_name
from discreet.workbench.pages import offered_pages, with_offered
from discreet.workbench.session import Server, Session
from discreet.workbench.state import LONGEST_LINK, State, from_link, read_saved, to_link, to_toml
from discreet.workbench.tasks import Task

FIRST = "dhc-2020-persons"
"""The preset of a new session."""

PAGES = with_offered(
    {"budget": "Budget", "accuracy": "Accuracy", "risk": "Risk", "report": "Report"}, lambda page: page.title
)
"""The pages in the order of the navigation: a module `NAME_page` with `build(session)`, and a title."""

_PACKAGES = {page.name: page.package for page in offered_pages()}


async def build_frame(server: Server, page: str, link: str) -> Session:
    """Draw the frame with one page for a new visitor."""
    client = ui.context.client
    session = Session(State.of(FIRST), server, lambda work: background_tasks.create(work, context=client))
    trouble = ""
    if link:
        try:
            session.begin(*await session.find(Task(from_link, 0.02, 20), link))
        except DiscreetError as error:
            trouble = str(error)
    session.numbers.recall()  # numbers that other visitors have asked for appear with the page
    frame = Frame(session, client)
    frame.open(page if page in PAGES else "budget")
    frame.banner.say(trouble)

    def arrived() -> None:
        session.settle()
        background_tasks.create(frame.find_theme(), context=client)

    client.on_connect(arrived)
    client.on_disconnect(session.pause)
    client.on_delete(session.close)
    return session


class Frame(c.Page):
    """The elements around one visitor's pages; they follow the committed state."""

    def __init__(self, session: Session, client: Client) -> None:
        super().__init__(session)
        self.client = client
        self._shown: tuple[object, ...] = ()
        self._place: tuple[object, ...] = ()
        self._going_back = False
        self._moves = 0
        self._arrived = False
        self._dark = ui.dark_mode(None)
        ui.add_head_html(_head())
        c.words("Skip to the content", "wb-skip", "a", href="#content")
        self._header()
        back = c.box("wb-hidden", "button", id="back", type="button", aria_label="Back")
        back.on("click", self._went, js_handler="(event) => tell(event, emit)")
        with c.box("wb-main", "main", id="content") as main:
            self.banner = c.Notice(self, "wb-banner")
            self._compare(c.box("wb-compare wb-hidden", "section", aria_label="Before and after"))
            self._places: dict[str, Element] = {name: c.box("wb-page wb-hidden") for name in PAGES}
            self._commands()
        c.box("wb-whose", id="whose", role="status")
        self.draw(self._keep_address)

        @self.draw
        def draw() -> None:
            c.put(main, "data-now", str(session.moment))
            c.put(main, "data-name", visible(state_name(session.state)))
            if session.heard is not None:
                c.put(main, "data-heard", str(session.heard))

    def _header(self) -> None:
        session = self.session
        with c.box("wb-head", "header"), c.box("wb-bar"):
            with c.box("wb-brand"):
                c.words("discreet", tag="b")
                c.words(" workbench")
            with c.box("wb-nav", "nav", aria_label="Pages"):
                self._links = {
                    name: c.button(title, partial(self.open, name)).classes(remove="wb-button")
                    for name, title in PAGES.items()
                }
            with c.box("wb-tools"):
                undo = c.button("Undo", session.undo, "wb-quiet")
                redo = c.button("Redo", session.redo, "wb-quiet")
                pin = c.button("Compare", session.pin, "wb-quiet")
                failed, about = (lambda wrong: self.banner.say(wrong)), "Open a release or a session (TOML)"
                c.file_button("Open", self._uploaded, failed, largest=LARGEST_FILE, name=about)
                save = partial(self._save, "session.toml")
                c.button("Save", save, "wb-quiet", "Save the whole session (TOML)")
                c.button("Theme", self._toggle, "wb-quiet", "Light or dark")

        @self.draw
        def draw() -> None:
            for element, text in ((undo, session.undo_text), (redo, session.redo_text)):
                c.enable(element, text is not None)
                c.put(element, "title", f"{element.text}: {text}" if text else None)
            pinned = session.before is not None
            pin.set("End comparison" if pinned else "Compare")
            c.put(pin, "aria-pressed", pinned)
            c.put(pin, "title", None if pinned else "Keep this state and compare what follows with it")

    def _compare(self, place: Element) -> None:
        session = self.session

        def changed() -> list[str] | None:
            return differences(session.before, session.numbers) if session.before else None

        def shown_texts(texts: list[str]) -> None:
            c.words("Before and after", "wb-h2", "h2")
            if not texts:
                c.words("Nothing has changed.", "wb-soft")
            with c.box("wb-list", "ul"):
                for text in texts:
                    c.words(text, tag="li")

        self.show(place, lambda: session.before is not None)
        self.rebuild(place, changed, shown_texts, dims=True)

    def _commands(self) -> None:
        session, name = self.session, "The same numbers on the command line"
        with c.card(name).style("margin-top: 20px"):
            with c.box("wb-between"):
                c.words(name, "wb-h2", "h2")
                c.button("Save release.toml", partial(self._save, "release.toml"), "wb-quiet")
            shown_lines = [c.words("", "wb-command", "code", data_of="") for _ in range(MOST_COMMANDS)]
            note = c.words("", "wb-soft", "div").style("margin-top: 8px")

        shown: tuple[object, ...] = ()

        @self.draw
        def draw() -> None:
            nonlocal shown
            if not session.settled:  # the commands still belong to the state before the slider moved
                return
            now = (session.steps, session.page, session.pinned)
            if now != shown:
                shown = now
                lines = commands(session.lasting, session.page, session.pinned)
                for place, command in enumerate(shown_lines):
                    command.say(lines[place] if place < len(lines) else "")
                note.set(files_note(lines))
            c.put(shown_lines[0], "data-step", str(session.steps))
            for command in shown_lines:
                self.stamp(command)

    def _keep_address(self) -> None:
        """Keep the address up to date, so that it can be shared or reloaded."""
        session = self.session
        now = (session.steps, session.pinned, session.page)
        if now != self._shown:
            self._shown = now
            link = to_link(session.lasting, session.pinned)
            address = f"/{session.page}" + (f"?s={link}" if len(link) <= LONGEST_LINK else "")
            place = (session.page, session.lasting.base)
            is_new = bool(self._place) and place != self._place and not self._going_back
            self._place = place
            self.client.run_javascript(f"keepAddress('{address}', {str(is_new).lower()})")

    async def _went(self, event: GenericEventArguments) -> None:
        """Follow the browser back or forward: to another page, or to a release that was open there.

        Decisions about the same release are kept. Of moves that follow each other quickly the last
        counts, whichever link is read first.
        """
        self._moves += 1
        move = self._moves
        asked = urlsplit(str(self.hear(event)))
        page, link = asked.path.strip("/"), dict(parse_qsl(asked.query)).get("s", "")
        try:
            opened = await self.session.find(Task(from_link, 0.02, 20), link) if link else None
        except DiscreetError:
            opened = None
        if move != self._moves:
            return
        self._going_back = True
        try:
            if opened is not None and opened[0].base != self.session.lasting.base:
                self.session.open(*opened, f"going to {opened[0].source}")
            self.open(page if page in PAGES else "budget")
        finally:
            self._going_back = False

    def open(self, name: str) -> None:
        """Show a page, and build it the first time."""
        for other, place in self._places.items():
            c.show(place, other == name)
            c.put(self._links[other], "aria-current", "page" if other == name else None)
        if not self._places[name].default_slot.children:
            package = _PACKAGES.get(name, "discreet.workbench")
            builder: Callable[[Session], None] = import_module(f"{package}.{name}_page").build
            with self._places[name]:
                builder(self.session)
        self.session.show(name)

    async def _uploaded(self, name: str, content: bytes) -> None:
        state, before = await self.session.find(Task(read_saved, 0.05, 20), content, name)
        self.session.open(state, before, f"opening {name}")

    def _save(self, file: str) -> None:
        session = self.session
        whole = file == "session.toml"
        text = to_toml(session.state, session.pinned) if whole else session.state.release.to_toml()
        ui.download.content(text, file, "application/toml")

    def _toggle(self) -> None:
        self._dark.value = not self._dark.value

    async def find_theme(self) -> None:
        """Ask the browser whether it prefers light or dark."""
        if self._arrived:
            return
        self._arrived = True
        with contextlib.suppress(TimeoutError):  # without an answer the theme stays light
            query = "window.matchMedia('(prefers-color-scheme: dark)').matches"
            self._dark.value = bool(await self.client.run_javascript(query, timeout=10))


@cache
def _head() -> str:
    """Return the head of every page: the styles, and what controls do in the browser.

    >>> "<style>" in _head() and "http" not in _head()
    True
    """
    folder = files("discreet.workbench")
    css = (folder / "style.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    return f"<style>@layer overrides {{ {css} }}</style><script>{script}</script>"
