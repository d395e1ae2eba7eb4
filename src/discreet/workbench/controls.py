"""The building blocks of all pages: native elements, each with an accessible name, and their redrawing."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import unquote

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from discreet.answers import Fact
from discreet.answers.figure import Panel
from discreet.errors import DiscreetError, visible
from discreet.render.charts import chart_of
from discreet.render.tiles import tile_of
from discreet.workbench.pages import offered_pages
from discreet.workbench.session import Question, Session
from discreet.workbench.state import State
from discreet.workbench.tasks import Task

Value = TypeVar("Value")
Drawn = tuple[Panel, str] | None
"""A chart and its description in words; None while there is nothing to draw."""

_SECONDS = 0.05  # between two values of a dragged slider
_LONGEST = 5000  # characters read from a field
_LONG_NUMBER = 10  # characters of a number with its claim
_TELL, _SETTLE = (f"(event) => {name}(event, emit)" for name in ("tell", "settle"))  # of page.js


HELP: dict[str, dict[str, str]] = {}
"""Terms of each page, and what they mean."""
for _package in ("discreet.workbench", *(page.package for page in offered_pages())):
    HELP |= tomllib.loads((files(_package) / "help.toml").read_text(encoding="utf-8"))


def comparing(progress: tuple[str, int, int] | None) -> str:
    """Say how far the comparison of all pairs of paths has come; nothing if it does not go on.

    >>> comparing(("comparing", 3, 946)), comparing(("waiting", 0, 0))
    ('Comparing all pairs of paths: 3 of 946.', 'Comparing all pairs of paths: waiting for a free processor.')
    """
    if progress is None:
        return ""
    stage, part, total = progress
    how = ": waiting for a free processor" if stage == "waiting" else f": {part} of {total}" if total else ""
    return f"Comparing all pairs of paths{how}."


class Setting(NamedTuple):
    """What a control is bound to: the text to show, and a function from a new text to the new state."""

    now: Callable[[], str]
    at: Callable[[str], State]


def box(classes: str = "", tag: str = "div", **properties: object) -> Element:
    """A plain container: `with box("wb-stack"):`."""
    made = ui.element(tag).classes(classes)
    made.props.update(_attributes(properties))
    return made


def _attributes(properties: Mapping[str, object]) -> dict[str, object]:
    """Escape texts for screen readers like visible texts; other values stay as they are."""
    return {
        name.replace("_", "-"): visible(value) if name == "aria_label" and isinstance(value, str) else value
        for name, value in properties.items()
    }


def card(name: str = "", **properties: object) -> Element:
    """A part of a page; `name` is its accessible name."""
    return box("wb-card", "section", **({"aria_label": name} if name else {}), **properties)


class Text(TextElement):
    """An element that holds only text; nothing in it is interpreted as HTML."""

    def __init__(self, text: str = "", tag: str = "span") -> None:
        super().__init__(tag=tag, text=_readable(text))

    def set(self, text: str) -> None:
        """Show another text."""
        text = _readable(text)
        if text != self.text:
            self.text = text

    def say(self, text: str) -> None:
        """Show another text, or hide the element if the text is empty."""
        self.set(text)
        show(self, bool(text))


def words(text: str, classes: str = "", tag: str = "span", **properties: object) -> Text:
    """A text that `set` can change."""
    made = Text(text, tag).classes(classes)
    made.props.update(_attributes(properties))
    return made


def _readable(text: str) -> str:
    """Escape characters that change the writing direction; keep a number and its sign on one line."""
    return visible(text).replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def gap(pixels: int = 12) -> None:
    """Vertical space."""
    box().style(f"height: {pixels}px")


def help_text(term: str, text: str, *, left: bool = False) -> None:
    """The question mark beside a term, if there is help for it."""
    if text:
        with box("wb-help wb-left" if left else "wb-help", "details"):
            words("?", tag="summary", aria_label=f"What is meant by {term}")
            words(text, tag="p")


def button(text: str, act: Callable[[], object] | None, kind: str = "", name: str = "") -> Text:
    """A button; `kind` is "wb-primary" or "wb-quiet"."""
    made = words(text, f"wb-button {kind}", "button", type="button")
    if name:
        made.props.update({"aria-label": name, "title": name})
    if act is not None:
        made.on("click", lambda: act(), args=[])
    return made


_files: dict[str, Callable[[str, bytes], Awaitable[None]]] = {}


async def receive_file(key: str, request: Request) -> Response:
    """Receive the file that a `file_button` sends: one route for all visitors; no file is kept."""
    try:
        content = await request.body()
    except ClientDisconnect:  # or the body was longer than declared, see `server`
        return Response(status_code=413)
    if key not in _files:
        return Response(status_code=404)
    await _files[key](unquote(request.headers.get("x-name", ""))[:200], content)
    return Response(status_code=204)


def file_button(
    text: str,
    uploaded: Callable[[str, bytes], Awaitable[None]],
    failed: Callable[[str], None],
    *,
    largest: int,
    name: str = "",
) -> None:
    """A button that asks for a file; `uploaded` gets its name and content, `failed` what was wrong."""
    made, client = button(text, None, "wb-quiet" if name else "", name), ui.context.client
    key = f"{client.id}-{made.id}"

    def too_large() -> None:
        failed(f"The file is larger than {largest // 10**6} MB; nothing was changed.")

    def unsent(event: GenericEventArguments) -> None:
        why, name = event.args
        if why == "large":
            too_large()
        elif why == "lost":
            failed(f"{str(name)[:200]} could not be read and sent; nothing was changed. Open it again.")

    async def hear(name: str, content: bytes) -> None:
        with client:
            try:
                if len(content) > largest:
                    too_large()
                else:
                    await uploaded(name, content)
                    failed("")
            except DiscreetError as error:
                failed(f"{name} was not opened: {error}")

    _files[key] = hear
    client.on_delete(lambda: _files.pop(key, None))
    made.on("click", unsent, js_handler=f"() => sendFile('/file/{key}', {largest}, emit)")


def enable(element: Element, enabled: bool) -> None:
    """Enable or disable a control."""
    put(element, "disabled", None if enabled else "disabled")


def put(element: Element, name: str, value: object) -> None:
    """Set an attribute if it differs, or remove it with None; booleans are written as words."""
    value = ("false", "true")[value] if isinstance(value, bool) else value
    if element.props.get(name) != value:
        element.props.set_optional(name, value)


def show(element: Element, visible: bool) -> None:
    """Show an element or hide it."""
    hidden = "wb-hidden" in element.classes
    if visible and hidden:
        element.classes(remove="wb-hidden")
    elif not visible and not hidden:
        element.classes("wb-hidden")


def slider(
    page: Page,
    name: str,
    setting: Setting,
    ends: tuple[int, int],
    value: Callable[[int], object],
    said: Callable[[str], tuple[int, str, str] | tuple[int, str]],
    *,
    what: str = "",
    shown: str = "",
    term: str = "",
) -> Element:
    """A native slider below its name and value.

    While it is dragged, the page shows the state with the `value` at the current step; letting go keeps that
    state. `said` returns the step of a value, and the value in words, long and short.
    """
    held: float | None = None
    with box("wb-label-row"):
        page.label(shown or name, term)
        short = words("", "wb-now")
    element = box("wb-range", "input", type="range", min=ends[0], max=ends[1], step=1, aria_label=name)

    def asked(step: float) -> State:
        return setting.at(str(value(int(step))))

    def moved(event: GenericEventArguments) -> None:
        nonlocal held
        step = page.hear(event)
        # the browser may send the last of many moves only after the slider was let go
        if isinstance(step, int | float) and step != held:
            held = None
            page.session.preview(asked(step))
        else:
            page.session.notify()

    def let_go(event: GenericEventArguments) -> None:
        nonlocal held
        step = page.hear(event)
        if isinstance(step, int | float):
            held = step
            page.session.commit(asked(step), what or name.lower())

    @page.draw
    def draw() -> None:
        step, *texts = said(setting.now())
        short.set(texts[-1])
        put(element, "aria-valuetext", visible(texts[0]))
        put(element, "data-value", str(step))

    element.on("input", moved, throttle=_SECONDS, js_handler=_TELL)
    element.on("change", let_go, js_handler=_SETTLE)
    return element


class Field(Generic[Value]):
    """A text field with its label: it uses what is typed, or says beside it what is wrong.

    A field bound to a setting follows the state; any other passes the value on.
    """

    def __init__(
        self,
        page: Page,
        name: str,
        read: Callable[[str], Value],
        to: Setting | Callable[[Value], object],
        what: str = "",
        *,
        shown: str = "",
        term: str = "",
        placeholder: str = "",
        bare: bool = False,
    ) -> None:
        self.kept: Value | None = None
        """The last valid text; what is typed may be wrong."""
        self._read, self._text = read, ""
        self._message: Text | None = None
        # a field alone in its cell needs no container: a table has hundreds of them
        with contextlib.nullcontext() if bare else box("wb-field"):
            if shown:
                with box("wb-label-row"):
                    page.label(shown, term)
            self.element = box("wb-input", "input", type="text", aria_label=name, data_value="")
            self.element.props.update({"autocomplete": "off", "spellcheck": "false"})
            put(self.element, "placeholder", placeholder or None)

        def hear(event: GenericEventArguments) -> None:
            text = str(page.hear(event))[:_LONGEST]
            put(self.element, "data-value", text)
            value, wrong = self._tried(text)
            self.say(wrong)
            if not wrong and isinstance(to, Setting):
                page.session.commit(to.at(self.value), what.format(self.value), typing=self)
                return
            if not wrong and value is not None and not isinstance(to, Setting):
                to(value)
            page.session.notify()

        self.element.on("input", hear, throttle=0.25, leading_events=False, js_handler=_TELL)
        self.element.on("change", page.session.typed, args=[])
        if isinstance(to, Setting):
            page.draw(lambda: self.show(to.now()))

    @property
    def value(self) -> str:
        """The text in it."""
        return str(self.element.props["data-value"]).strip()

    @property
    def parsed(self) -> Value | None:
        """The text in it as a value; None if it cannot be used."""
        return self._tried(self.value)[0]

    def _tried(self, text: str) -> tuple[Value | None, str]:
        try:
            return self._read(text), ""
        except DiscreetError as error:
            return None, str(error)

    def set(self, text: str, wrong: str = "") -> None:
        """Replace the text in it."""
        put(self.element, "data-value", text)
        self.say(wrong)

    def show(self, text: str) -> None:
        """Show the text of the state.

        What was typed stays as long as it means the same, or is wrong and nothing else has changed.
        """
        if text == self.value == self._text:
            return
        value, wrong = self._tried(text)
        if text != self.value:
            typed, mistyped = self._tried(self.value)
            said = self._message is not None and bool(self._message.text)
            at_it = bool(mistyped) and said and (self.kept, self._text) == (value, text)
            same = not mistyped and not wrong and bool(self.value) and typed == value
            if not at_it and not same:
                self.set(text, wrong)
        self.kept, self._text = value, text

    def say(self, message: str) -> None:
        """Show what is wrong, or clear the message."""
        if self._message is None:
            if not message or self.element.parent_slot is None:
                return
            with self.element.parent_slot:
                self._message = words("", "wb-bad wb-hidden", role="alert")
            self._message.props["id"] = self._message.html_id
        put(self.element, "aria-invalid", True if message else None)
        put(self.element, "aria-describedby", self._message.html_id if message else None)
        self._message.say(message)


def choice(
    page: Page,
    name: str,
    setting: Setting,
    options: Mapping[str, str] | Callable[[], Mapping[str, str]],
    what: str,
    *,
    shown: str = "",
    term: str = "",
    left: bool = False,
    bare: bool = False,
) -> None:
    """A native select below its label; it follows the state. Options map values to texts, and may change."""
    known: dict[str, str] = {}
    with contextlib.nullcontext() if bare else box("wb-field"):
        if not bare:
            with box("wb-label-row"):
                page.label(shown or name, term, left=left)
        element = box("wb-input", "select", aria_label=name)

    def hear(event: GenericEventArguments) -> None:
        value = str(page.hear(event))
        put(element, "data-value", value)
        if value in known:
            page.session.commit(setting.at(value), what.format(known[value]))
        else:
            page.session.notify()

    @page.draw
    def draw() -> None:
        now = options() if callable(options) else options
        if known != now:
            known.clear()
            known.update(now)
            element.clear()
            with element:
                for value, text in known.items():
                    words(text, tag="option", value=value)
        put(element, "data-value", setting.now())

    element.on("change", hear, js_handler=_SETTLE)


def checkbox(
    page: Page, name: str, now: Callable[[], bool], changed: Callable[[bool], None], term: str = ""
) -> None:
    """A checkbox with its label and help, checked while `now` says so."""
    with box("wb-row wb-check"):
        with box("", "label"):
            element = box("", "input", type="checkbox", checked=True)
            words(name)
        help_text(name, page.help[term])

    def tick(value: bool) -> None:
        if element.props["checked"] != value:
            element.props["checked"] = value

    def hear(event: GenericEventArguments) -> None:
        ticked = bool(page.hear(event))
        with element.props.suspend_updates():
            tick(ticked)
        changed(ticked)

    element.on("change", hear, js_handler=_TELL)
    page.draw(lambda: tick(now()))


class Tile:
    """One number with its name and a note."""

    def __init__(self, page: Page, name: str, term: str, *, first: bool = False) -> None:
        self._page = page
        with box("wb-tile wb-first" if first else "wb-tile"):
            with box("wb-label"):
                self._name = page.label(name, term)
            self._value = words("…", "wb-value", aria_label=name, data_of="")
            self._note = words("", "wb-note", data_of="")

    def show(self, fact: Fact) -> None:
        """Show a fact of an answer."""
        tile = tile_of(fact)
        self.set(tile.value, tile.note, tile.label)

    def set(self, value: str, note: str = "", name: str = "") -> None:
        """Show a number and its note, and optionally a fuller name above them."""
        self._page.write(self._value, value)
        long = len(value) > _LONG_NUMBER
        self._value.classes(add="wb-long" if long else "", remove="" if long else "wb-long")
        self._page.write(self._note, note)
        if name:
            self._name.set(name)


class Notice:
    """A message about an action that failed and changed nothing; it disappears with the next change."""

    def __init__(self, page: Page, classes: str) -> None:
        self._session, self._moment = page.session, 0
        self._text = words("", f"{classes} wb-hidden", "div", role="alert")

        @page.draw
        def draw() -> None:
            if self._session.moment != self._moment:
                self._text.say("")

    def say(self, text: str) -> None:
        """Say what is wrong, or clear the message."""
        self._moment = self._session.moment
        self._text.say(text)


def table_head(columns: Iterable[str], groups: Iterable[tuple[str, int]] = ()) -> None:
    """The header row of a table, below the names of column groups if there are any."""
    with box("", "thead"):
        if groups:
            with box("wb-groups", "tr"):
                for name, many in groups:
                    words(name, tag="th", colspan=many, **({"scope": "colgroup"} if name else {}))
        with box("", "tr"):
            for name in columns:
                words(name, tag="th", scope="col")


# -- a page ------------------------------------------------------------------------------------------------


class Page:
    """What the parts of a page share: the state shown, questions about it, and redrawing.

    A page asks in `look` what it needs about a state. Each part registers the function that redraws it, and a
    control made here redraws itself from `now`. A `term` is explained in `help.toml`.

    What a part draws carries the number of the state it belongs to. If the part has used an answer about
    another state, or has left its drawing unchanged, the old number stays, and the browser dims it.
    """

    def __init__(self, session: Session, name: str = "") -> None:
        self.session = session
        self.name = name
        self.help = {"": "", **HELP.get(name, HELP["budget"])}
        self.trouble = ""
        self._parts: list[Callable[[], object]] = []
        session.listen(self._heard, name or None)

    @property
    def state(self) -> State:
        """The session's state, or what a slider being dragged would make of it."""
        return self.session.state

    def look(self, *, settled: bool) -> None:
        """Ask the questions that the present state needs; pages with questions override this."""

    def question(
        self, work: Callable[..., Value], seconds: float, deadline: float, *, long: bool = False, **kind: bool
    ) -> Question[Value]:
        """Return a question of this page, answered by a function with a known cost (`tasks.Task`)."""
        return Question(self.session, Task(work, seconds, deadline, **kind), self.redraw, long=long)

    def draw(self, part: Callable[[], object]) -> Callable[[], object]:
        """Call a part whenever something has changed; a decorator for the function that draws it."""
        self._parts.append(part)
        return part

    def redraw(self) -> None:
        """Draw all parts again."""
        self._draw(self._parts)

    def _draw(self, parts: Sequence[Callable[[], object]]) -> None:
        for part in parts:
            self.session.outdated = False
            part()

    def hear(self, event: GenericEventArguments) -> object:
        """Return the value of a control, and remember the number of its message."""
        said, word = event.args if isinstance(event.args, list) and len(event.args) == 2 else (event.args, 0)
        if isinstance(word, int):
            self.session.hear(word)
        return said

    def stamp(self, element: Element) -> None:
        """Mark the content of an element as belonging to the present state, if it does."""
        if not self.session.outdated:
            put(element, "data-of", str(self.session.moment))

    def write(self, element: Text, text: str) -> None:
        """Show a text that follows from the state."""
        element.set(text)
        self.stamp(element)

    def _heard(self, anew: bool) -> None:
        if anew:
            try:
                self.trouble = ""
                self.look(settled=self.session.settled)
            except DiscreetError as error:
                self.trouble = str(error)
        self.redraw()

    def get(self, key: str, default: str = "") -> str:
        """Return the text that the page remembers under a name."""
        return self.state.setting(self.name, key, default)

    def at(self, key: str, text: str) -> State:
        """Return the state in which the page remembers a text under a name."""
        return self.state.with_settings(self.name, {key: text})

    def setting(self, key: str, default: str = "") -> Setting:
        """Bind a control to the text that the page remembers under a name; the default is not stored."""
        return Setting(
            partial(self.get, key, default), lambda text: self.at(key, "" if text == default else text)
        )

    # -- controls that redraw themselves -----------------------------------------------------------------

    def heading(self, text: str, term: str = "", level: int = 2) -> None:
        """A heading, with help if the term needs it."""
        with box("wb-h2 wb-row", f"h{level}"):
            self.label(text, term)

    def label(self, text: str, term: str = "", *, left: bool = False) -> Text:
        """The label above a control, with a small question mark that explains it.

        The help opens by click, touch or Enter.
        """
        made = words(text)
        help_text(text, self.help[term], left=left)
        return made

    def words(
        self,
        now: Callable[[], str],
        classes: str = "wb-soft",
        tag: str = "div",
        *,
        hides: bool = False,
        **more: object,
    ) -> Text:
        """A text that follows the state; with `hides` it disappears while it is empty."""
        made = words("", f"{classes} wb-hidden" if hides else classes, tag, data_of="", **more)

        @self.draw
        def draw() -> None:
            text = now()
            self.write(made, text)
            if hides:
                show(made, bool(text))

        return made

    def command(self, now: Callable[[], str]) -> Text:
        """The command line that gives the same numbers."""
        return self.words(now, "wb-command", "code", hides=True)

    def alert(self, now: Callable[[], str]) -> Text:
        """What went wrong."""
        return self.words(now, "wb-bad", hides=True, role="alert")

    def texts(self, most: int, now: Callable[[], Sequence[str] | None], style: str) -> None:
        """Paragraphs that follow the state; the old ones stay while there are no new ones."""
        made = [words("", "wb-text", "p", data_of="").style(style) for _ in range(most)]

        @self.draw
        def draw() -> None:
            said = now()
            if said:
                for place, text in enumerate(made):
                    self.write(text, said[place] if place < len(said) else "")

    def show(self, element: Element, now: Callable[[], bool]) -> None:
        """Show an element while `now` is true."""
        self.draw(lambda: show(element, now()))

    def rebuild(
        self,
        place: Element,
        now: Callable[[], Value | None],
        build: Callable[[Value], None],
        *,
        dims: bool = False,
    ) -> None:
        """Rebuild the content of an element whenever the value it depends on changes; None leaves it alone.

        With `dims` the content is dimmed when it is out of date; use it for results, not for controls.

        The parts inside register how they are redrawn, until the next rebuild replaces them.
        """
        built: Value | None = None
        parts: list[Callable[[], object]] = []
        put(place, "data-of", "" if dims else None)

        @self.draw
        def draw() -> None:
            nonlocal built
            wanted = now()
            if wanted is not None and wanted != built:
                built = wanted
                place.clear()
                parts.clear()
                others, self._parts = self._parts, parts
                with place:
                    build(wanted)
                self._parts = others
            if dims and wanted is not None:
                self.stamp(place)
            self._draw(parts)

    def bar(self, now: Callable[[], tuple[str, int, int] | None]) -> None:
        """The progress of long work, (stage, done, total); hidden while there is none."""
        bar = box("wb-progress wb-hidden")
        with bar:
            done = box("")

        @self.draw
        def draw() -> None:
            progress = now()
            show(bar, progress is not None)
            if progress is not None:
                done.style(f"width: {100 * progress[1] / max(progress[2], 1):.0f}%")

    def chart(self, name: str, now: Callable[[], Drawn], height: int = 0) -> Element:
        """A chart with a description in words; an unchanged chart is not sent again."""
        made = ui.echart({"series": []}, renderer="svg").classes("wb-chart")
        made.props.update({"role": "img", "aria-label": name, "data-of": ""})
        if height:
            made.style(f"height: {height}px")

        @self.draw
        def draw() -> None:
            drawn = now()
            if drawn is not None:
                put(made, "options", chart_of(drawn[0]))
                put(made, "aria-label", visible(drawn[1] or name))
                self.stamp(made)

        return made
