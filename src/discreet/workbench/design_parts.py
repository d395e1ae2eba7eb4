"""The lower parts of the Tabulation design page: rho for a margin, kinds of noise, files."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from nicegui import ui

from discreet.errors import DiscreetError
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import design_plan as plan
from discreet.workbench.design_words import HELP, command, rival_words
from discreet.workbench.workers import Slot

if TYPE_CHECKING:
    from discreet.workbench.design_page import Desk

_LARGEST = 10**6  # bytes of a file of parameters


def take(field: c.Field, text: str, read: Callable[[str], Fraction], use: Callable[[Fraction], None]) -> None:
    """Use what was typed into a field, or say beside it what is wrong."""
    try:
        value = read(text)
    except DiscreetError as error:
        field.say(str(error))
        return
    field.say(None)
    use(value)


def keep(field: c.Field, value: Fraction, read: Callable[[str], Fraction], text: str) -> None:
    """Write a value into a field unless it stands there already, in whatever way it was typed."""
    try:
        same = read(field.value) == value
    except DiscreetError:
        same = bool(field.message.shown)  # someone is at it
    if not same:
        field.set(text)
        field.say(None)


def exact_text(value: Fraction) -> str:
    """Write an exact number as shortly as it can be read back."""
    short = words.plain(value)
    return short if Fraction(short) == value else str(value)


class Margin:
    """The rho for a wanted margin of the chosen row."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._found: tuple[Fraction, Fraction] | None = None
        self._asked: Any = None
        self._slot: Slot[Any] = Slot(self._compute, desk.session.task)
        with c.box("wb-card", "section"):
            c.heading("The budget for a wanted margin", HELP["margin"])
            self._field = c.Field("Wanted margin", "", self._typed, placeholder="a whole number of people")
            self._answer = c.words("", "wb-text", "p").style("margin: 10px 0")
            self._answer._props["role"] = "status"
            with c.box("wb-row"):
                self._normal = c.button("Use the normal law's", lambda: self._take(0))
                self._exact = c.button("Use the exact one", lambda: self._take(1), "wb-primary")
        desk.draw(self._draw)

    def _typed(self, text: str) -> None:
        self._field.say(None)
        self._asked = None
        self._draw()

    def _draw(self) -> None:
        design, text = self.desk.design, self._field.value.strip()
        asked = (design.chosen, design.races, design.gamma, text)
        if asked == self._asked:
            return
        self._asked, self._found = asked, None
        self._show()
        if text:
            self._slot.ask((design, text))

    async def _compute(self, asked: Any) -> None:
        design, text = asked
        try:
            self._found = await self.desk.session.find("design_margin", design, design.chosen, text)
            self._field.say(None)
        except DiscreetError as error:
            self._field.say(str(error))
        self._show()

    def _show(self) -> None:
        found, row = self._found, plan.row_words(self.desk.design.chosen)
        for button in (self._normal, self._exact):
            c.enable(button, found is not None)
        if found is None:
            self._answer.set(f"For {row}.")
            return
        normal, exact = (words.plain(rho) for rho in found)
        saved = words.percent(float(1 - found[1] / found[0]))
        self._answer.set(f"{row}: rho {normal} by the normal law, {exact} exactly: {saved} less.")

    def _take(self, place: int) -> None:
        if self._found is not None:
            design = self.desk.design
            self.desk.change(
                design.with_rho(design.chosen, self._found[place]),
                f"the margin of {plan.row_words(design.chosen)}",
            )


class Rivals:
    """Discrete Gaussian against geometric noise at equal accuracy."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._asked: Any = None
        self._slot: Slot[tuple[int, int, Fraction]] = Slot(self._compute, desk.session.task)
        with c.box("wb-card", "section"):
            c.heading("Which kind of noise, at equal accuracy", HELP["geometric"])
            with c.box("wb-tiles"):
                self._gaussian = c.Tile("Discrete Gaussian", HELP["unbounded"])
                self._geometric = c.Tile("Geometric", HELP["geometric"])
            self._text = c.words("", "wb-text", "p").style("margin: 12px 0 0")
        desk.draw(self._draw)

    def _draw(self) -> None:
        numbers, design = self.desk.numbers, self.desk.design
        line = (
            next((line for line in numbers.lines if line.place == design.chosen), None) if numbers else None
        )
        if line is None:
            self._text.set(f"{plan.row_words(design.chosen)} is off.")
            return
        asked = (max(line.margin, 1), line.stability, self.desk.session.state.delta)
        if asked != self._asked and self.desk.resting:
            self._asked = asked
            self._slot.ask(asked)

    async def _compute(self, asked: tuple[int, int, Fraction]) -> None:
        try:
            found = await self.desk.session.find("design_rivals", *asked)
        except DiscreetError as error:
            self._text.set(str(error))
            return
        if asked != self._asked:
            return
        self._gaussian.set(words.number(found.gaussian, 4), f"variance {words.number(found.variance, 4)}")
        self._geometric.set(words.number(found.geometric, 4), f"scale {words.number(found.scale, 4)}")
        row = plan.row_words(self.desk.design.chosen)
        said = rival_words(found.margin, found.counts, found.gaussian, found.geometric)
        self._text.set(f"{row}. {said} Over all rows together it may be the other way round.")


class Files:
    """The file that the command line reads, out and in."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with c.box("wb-card", "section"):
            c.heading("This design on the command line")
            with c.box("wb-row").style("margin-bottom: 12px"):
                c.button("Save safetab.toml", self._save, "wb-primary")
                button = c.button("Open safetab.toml or config.json", lambda: None)
                self._upload = ui.upload(
                    on_upload=self._uploaded,
                    on_rejected=lambda: self._say("The file is larger than 1 MB; nothing was changed."),
                    max_file_size=_LARGEST,
                    auto_upload=True,
                ).classes("wb-upload")
                button.on("click", js_handler=f"() => getElement({self._upload.id}).$refs.qRef.pickFiles()")
                c.button("Back to 2020", self._reset, "wb-quiet")
            self._message = c.words("", "wb-bad wb-hidden", "div").style(
                "margin-bottom: 10px; white-space: pre-line"
            )
            self._message._props["role"] = "alert"
            self._command = c.words("", "wb-command", "code")
            note = "PARAMS is a folder with the saved safetab.toml and the four files of the groups"
            more = "; the numbers are the same with the groups of 2020, or any that are paired like them."
            c.words(note + more, "wb-soft", "div").style("margin-top: 8px")
        desk.draw(self._draw)

    def _draw(self) -> None:
        self._command.set(command(self.desk.session.state.delta))

    def _say(self, text: str) -> None:
        self._message.set(text)
        c.show(self._message, bool(text))

    def _reset(self) -> None:
        self._say("")
        self.desk.change(plan.Design(), "back to the design of 2020")

    async def _save(self) -> None:
        try:
            text = await self.desk.session.find("design_toml", self.desk.design)
        except DiscreetError as error:
            self._say(str(error))
            return
        self._say("")
        ui.download.content(text, "safetab.toml", "application/toml")

    async def _uploaded(self, event: Any) -> None:
        name = str(event.file.name)[:200]
        try:
            if event.file.size() > _LARGEST:
                raise DiscreetError("the file is larger than 1 MB")
            content = await event.file.read()
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise DiscreetError(f"it is not a text file: not UTF-8 at byte {error.start + 1}") from None
            found = await self.desk.session.find("design_opened", text, name, self.desk.design)
        except DiscreetError as error:
            self._say(f"{name} was not opened: {error}")
            return
        finally:
            self._upload.reset()
        self._say("")
        self.desk.change(found, f"opening {name}")
