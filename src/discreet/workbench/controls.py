"""The few controls that all pages use: native elements, each with an accessible name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nicegui import ui
from nicegui.element import Element

_SECONDS = 0.05  # between two values of a dragged slider


def box(classes: str = "", tag: str = "div") -> Element:
    """A plain element to put others into: `with box("wb-card"):`."""
    return ui.element(tag).classes(classes)


def words(text: str, classes: str = "", tag: str = "span") -> Text:
    """A text that can be changed by `set`."""
    return Text(text, tag).classes(classes)


class Text(Element):
    """A text in an element of its own; nothing in it is read as HTML."""

    def __init__(self, text: str = "", tag: str = "span") -> None:
        super().__init__(tag)
        self._text = _kept_together(text)

    def set(self, text: str) -> None:
        """Show another text."""
        text = _kept_together(text)
        if text != self._text:
            self._text = text
            self.update()

    @property
    def shown(self) -> str:
        """The text."""
        return self._text or ""


def _kept_together(text: str) -> str:
    """No line ends between a number and its sign."""
    return text.replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def heading(text: str, explained: str = "", level: int = 2) -> None:
    """A heading, with help if the term needs it."""
    with box("wb-h2 wb-row", f"h{level}"):
        words(text)
        if explained:
            help_text(text, explained)


def help_text(term: str, text: str, *, left: bool = False) -> None:
    """A small question mark that says what a term means; opens by click, touch or Enter."""
    with box("wb-help wb-left" if left else "wb-help", "details"):
        summary = words("?", tag="summary")
        summary._props["aria-label"] = f"What is meant by {term}"
        words(text, tag="p")


def button(text: str, act: Callable[[], Any], kind: str = "", name: str = "") -> Element:
    """A button; `kind` is "wb-primary" or "wb-quiet"."""
    made = words(text, f"wb-button {kind}", "button")
    made._props["type"] = "button"
    if name:
        made._props["aria-label"] = name
        made._props["title"] = name
    made.on("click", lambda: act(), args=[])
    return made


def enable(element: Element, enabled: bool) -> None:
    """Let a control be used, or not."""
    put(element, "disabled", None if enabled else "disabled")


def put(element: Element, name: str, value: Any) -> None:
    """Set an attribute, or remove it with None, if that changes anything."""
    if element._props.get(name) != value:
        element._props.set_optional(name, value)


class Slider:
    """A native slider: `moved` is called while it is dragged, `let_go` at the end."""

    def __init__(
        self,
        name: str,
        *,
        low: int,
        high: int,
        value: int,
        moved: Callable[[int], None],
        let_go: Callable[[int], None],
    ) -> None:
        self._let_go = let_go
        self._last: float | None = None
        self.element = ui.element("input").classes("wb-range")
        self.element._props.update({"type": "range", "min": low, "max": high, "step": 1})
        self.element._props["data-value"] = str(value)
        self.element._props["aria-label"] = name
        emit = "(event) => emit(Number(event.target.value))"
        self.element.on("input", lambda e: self._hear(e.args, moved), throttle=_SECONDS, js_handler=emit)
        self.element.on("change", lambda e: self._hear(e.args, let_go), js_handler=emit)

    def _hear(self, value: Any, act: Callable[[int], None]) -> None:
        if not isinstance(value, int | float):
            return
        if act is self._let_go:
            self._last = value
        elif value == self._last:  # the browser holds back the last of many moves, until after it was let go
            return
        else:
            self._last = None
        with self.element._props.suspend_updates():  # the browser shows it already
            put(self.element, "data-value", str(int(value)))
        act(int(value))

    def set(self, value: int, said: str) -> None:
        """Move it, and say in words what it stands for."""
        put(self.element, "aria-valuetext", said)
        put(self.element, "data-value", str(value))


class Field:
    """A text field with its label, and a message beside it when what is typed cannot be used."""

    def __init__(
        self,
        name: str,
        value: str,
        typed: Callable[[str], None],
        *,
        label: str = "",
        explained: str = "",
        placeholder: str = "",
    ) -> None:
        with box("wb-field"):
            if label:
                with box("wb-label-row"):
                    words(label)
                    if explained:
                        help_text(label, explained)
            self.element = ui.element("input").classes("wb-input")
            self.element._props.update({"type": "text", "data-value": value, "aria-label": name})
            self.element._props.update({"autocomplete": "off", "spellcheck": "false"})
            if placeholder:
                self.element._props["placeholder"] = placeholder
            self.message = words("", "wb-bad wb-hidden")
            self.message._props.update({"role": "alert", "id": f"message-{self.message.id}"})
        self._typed = typed
        emit = "(event) => emit(event.target.value)"
        self.element.on(
            "input", lambda e: self._hear(e.args), throttle=0.25, leading_events=False, js_handler=emit
        )

    @property
    def value(self) -> str:
        """What stands in it."""
        return str(self.element._props["data-value"])

    def _hear(self, value: Any) -> None:
        text = str(value)[:5000]
        put(self.element, "data-value", text)
        self._typed(text)

    def set(self, value: str) -> None:
        """Write something else into it."""
        put(self.element, "data-value", str(value))

    def say(self, message: str | None) -> None:
        """Show what is wrong, or nothing."""
        put(self.element, "aria-invalid", "true" if message else None)
        put(self.element, "aria-describedby", f"message-{self.message.id}" if message else None)
        self.message.set(message or "")
        show(self.message, bool(message))


def choice(name: str, options: Mapping[str, str], value: str, chosen: Callable[[str], None]) -> Element:
    """A native select; `options` maps values to what is read."""
    made = ui.element("select").classes("wb-input")
    made._props.update({"aria-label": name, "data-value": value})
    with made:
        for key, text in options.items():
            option = words(text, tag="option")
            option._props["value"] = key

    def hear(event: Any) -> None:
        put(made, "data-value", event.args)
        if event.args in options:
            chosen(event.args)

    made.on("change", hear, js_handler="(event) => emit(event.target.value)")
    return made


class Check:
    """A box to tick, with its label and help."""

    def __init__(
        self, label: str, value: bool, explained: str, changed: Callable[[bool], None] | None = None
    ) -> None:
        self.value = value
        self._changed = changed
        with box("wb-row wb-check"):
            with box("", "label"):
                self.element = ui.element("input")
                self.element._props.update({"type": "checkbox", "checked": value})
                words(label)
            if explained:
                help_text(label, explained)
        self.element.on("change", self._hear, js_handler="(event) => emit(event.target.checked)")

    def _hear(self, event: Any) -> None:
        self.value = bool(event.args)
        with self.element._props.suspend_updates():
            self.element._props["checked"] = self.value
        if self._changed is not None:
            self._changed(self.value)

    def set(self, value: bool) -> None:
        """Tick it or not."""
        self.value = value
        put(self.element, "checked", value)


def show(element: Element, visible: bool) -> None:
    """Show an element or hide it."""
    hidden = "wb-hidden" in element._classes
    if visible and hidden:
        element.classes(remove="wb-hidden")
    elif not visible and not hidden:
        element.classes("wb-hidden")


class Tile:
    """One number with its name and a note."""

    def __init__(self, label: str, explained: str, *, first: bool = False) -> None:
        with box("wb-tile wb-first" if first else "wb-tile"):
            with box("wb-label"):
                words(label)
                help_text(label, explained)
            self._value = words("…", "wb-value")
            self._value._props["aria-label"] = label
            self._note = words("", "wb-note")

    def set(self, value: str, note: str = "") -> None:
        """Show a number and its note."""
        self._value.set(value)
        self._note.set(note)


def table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[str]], classes: str = "") -> Element:
    """A table of texts; the first column names the row."""
    with box("wb-scroll") as outer, box(f"wb-table {classes}", "table"):
        words(caption, tag="caption")
        with box("", "thead"), box("", "tr"):
            for name in columns:
                words(name, tag="th")._props["scope"] = "col"
        with box("", "tbody"):
            for row in rows:
                with box("", "tr"):
                    for place, text in enumerate(row):
                        words(text, tag="th" if place == 0 else "td")
    return outer


class Chart:
    """A chart whose options are replaced as a whole; `name` says what it shows to those who cannot see."""

    def __init__(self, name: str) -> None:
        self.element = ui.echart({"series": []}, renderer="svg").classes("wb-chart")
        self.element._props["role"] = "img"
        self.element._props["aria-label"] = name

    def set(self, options: dict[str, Any]) -> None:
        """Draw."""
        # past the observing dictionary, which would wrap every point
        dict.__setitem__(self.element._props, "options", options)
        self.element.update()

    def say(self, text: str) -> None:
        """Say in words what it shows."""
        put(self.element, "aria-label", text)
