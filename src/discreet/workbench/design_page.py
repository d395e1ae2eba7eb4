"""The Tabulation design page: what to tabulate, with how much noise, and from which group size on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from discreet.budget.answer import AnswerKind
from discreet.errors import DiscreetError
from discreet.release.safetab.geography import LEVEL_WORDS, PASSES
from discreet.report import words
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import tabulation as plan
from discreet.workbench import words as say
from discreet.workbench.session import Page, Session
from discreet.workbench.session_file import exact_text
from discreet.workbench.state import TOTAL_STEPS, factor_at, step_of
from discreet.workbench.tabulation import NAME, Design, DesignNumbers, Place, row_text, row_words
from discreet.workbench.words import DESIGN_HELP

if TYPE_CHECKING:
    from discreet.release.safetab.design import Rivals, SizedLevel

_PASSES = {"US": "United States", "PR": "Puerto Rico"}
_ERRORS = {"cell": "of the average cell", "total": "of the whole group"}
_THRESHOLDS = {"yes": "from the target error", "no": "as in 2020, or in the opened file"}
_LARGEST = 10**6  # bytes of a file of parameters


class DesignPage(Page):
    """What the parts share: the design, its numbers, and how it is changed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, NAME)
        self.design = Design()
        self.resting = True
        """Whether no slider is on its way."""
        self.quick = self.question("design_numbers")
        self.whole = self.question("design_exact", long=True)
        self.margin = self.question("design_margin")
        self.rivals = self.question("design_rivals")

    @property
    def numbers(self) -> DesignNumbers | None:
        """What follows from the design; while a slider moves, from one of a moment ago."""
        found: DesignNumbers | None = self.quick.found
        return found

    @property
    def exact(self) -> dict[str, tuple[float, int]] | None:
        """The exact epsilon by neighbours, once it is known of the design whose numbers are shown."""
        found: dict[str, tuple[float, int]] | None = self.whole.now if self.quick.fresh else None
        return found

    @property
    def line(self) -> SizedLevel | None:
        """The numbers of the chosen row; None if it is off."""
        lines = self.numbers.lines if self.numbers else ()
        return next((line for line in lines if line.place == self.design.chosen), None)

    def use(self, design: Design, what: str) -> None:
        """Take over a design for good."""
        self.change(design.settings(), what)

    def look(self, *, settled: bool) -> None:
        """Ask what follows from the design."""
        self.resting = settled
        self.design = Design.of_state(self.state)
        asked = (self.design, self.state.delta)
        self.quick.ask(*asked)
        if settled and any(self.design.shown_rhos()):
            self.whole.ask(*asked)
        elif self.whole.asked != asked:
            self.whole.drop()


def build(session: Session) -> None:
    """Draw the page."""
    page = DesignPage(session)
    with c.box("wb-stack"):
        with c.box("wb-split"):
            with c.box("wb-stack"):
                _Choices(page)
            with c.box("wb-stack"):
                _Costs(page)
                _Suppression(page)
        _Rows(page)
        with c.box("wb-two"):
            _Row(page)
            with c.box("wb-stack"):
                _Margin(page)
                _Rivals(page)
        _Files(page)
    page.start()


class _Choices:
    """The sliders and switches of the whole design."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card():
            c.heading("Design", DESIGN_HELP["design"])
            self._pass = c.labelled_choice("People of", _PASSES, self._passed)
            c.gap()
            ends = (-TOTAL_STEPS, TOTAL_STEPS)
            self._scale = self._slider("All budgets", "rho", ends, lambda step: {"scale": factor_at(step)})
            self._races = self._slider(
                "Races counted, at most", "stability", (1, 8), lambda step: {"races": step}
            )
            self._gamma = self._slider(
                "First stage gets (gamma)", "gamma", (1, 60), lambda step: {"gamma": Fraction(step, 100)}
            )
            self._target = self._slider(
                "Target error", "target error", (1, 100), lambda step: {"target": Fraction(step, 100)}
            )
            with c.box("wb-two").style("gap: 14px; margin-top: 6px"):
                self._error = c.Field("Target error, exact", self._typed_target, shown="exactly")
                self._of = c.labelled_choice(
                    "Target error as a part",
                    _ERRORS,
                    self._chose_of,
                    shown="relative to",
                    explained=DESIGN_HELP["of"],
                    left=True,
                )
            c.gap(10)
            self._derived = c.labelled_choice(
                "Thresholds", _THRESHOLDS, self._chose_thresholds, explained=DESIGN_HELP["threshold"]
            )
            c.gap(10)
            name = "Chance to drop an empty group"
            self._chance = c.Field(name, self._typed_chance, shown=name, explained=DESIGN_HELP["suppression"])
            self._trouble = c.alert()
        page.draw(self._draw)

    def _slider(
        self, name: str, term: str, ends: tuple[int, int], changed: Callable[[int], dict[str, Any]]
    ) -> c.Slider:
        def with_step(step: int) -> Design:
            return replace(self.page.design, **changed(step))

        return c.Slider(
            name,
            ends,
            explained=DESIGN_HELP[term],
            moved=lambda step: self.page.preview(with_step(step).settings()),
            let_go=lambda step: self.page.use(with_step(step), name.lower()),
        )

    def _draw(self) -> None:
        design = self.page.design
        self._pass.set(design.which)
        times = "as stated" if design.scale == 1 else f"{words.plain(design.scale)} times"
        self._scale.set(step_of(design.scale), times)
        self._races.set(design.races, str(design.races))
        self._gamma.set(round(100 * design.gamma), words.percent(design.gamma))
        self._target.set(min(100, max(1, round(100 * design.target))), words.percent(design.target))
        self._of.set(design.of)
        self._derived.set("yes" if design.derived else "no")
        self._error.keep(design.target, plan.read_target, words.percent(design.target))
        self._chance.keep(design.chance, plan.read_chance, exact_text(design.chance))
        self._trouble.say(self.page.trouble or self.page.quick.trouble or self.page.whole.trouble)

    def _passed(self, which: str) -> None:
        geographies = PASSES["PR" if which == "PR" else "US"]
        self._new(f"people of {_PASSES[which]}", which=which, chosen=(geographies[2], 2))

    def _chose_of(self, of: str) -> None:
        self._new(f"the target error {_ERRORS[of]}", of=of)

    def _chose_thresholds(self, derived: str) -> None:
        self._new("the thresholds", derived=derived == "yes")

    def _typed_target(self, text: str) -> None:
        self._error.take(text, plan.read_target, lambda value: self._new("the target error", target=value))

    def _typed_chance(self, text: str) -> None:
        self._chance.take(text, plan.read_chance, lambda value: self._new("the chance", chance=value))

    def _new(self, what: str, **changed: Any) -> None:
        self.page.use(replace(self.page.design, **changed), what)


class _Costs:
    """What the design costs one person."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card("What it costs", aria_live="polite") as self._card:
            with c.box("wb-tiles"):
                self._rho = c.Tile("Total rho", DESIGN_HELP["rho"])
                self._added = c.Tile("Epsilon, added", DESIGN_HELP["unbounded"], first=True)
                self._replaced = c.Tile("Epsilon, replaced", DESIGN_HELP["bounded"])
                self._groups = c.Tile("Groups a person is in", DESIGN_HELP["stability"])
            self._note = c.words("", "wb-soft", "div").style("margin-top: 10px")
            self._count = c.words("0", "wb-alive", data_design_updates="")
        page.draw(self._draw)

    def _draw(self) -> None:
        numbers, exact = self.page.numbers, self.page.exact
        self._count.set(str(self.page.quick.updates))
        c.put(self._card, "data-exact", "true" if exact else "false")
        if numbers is None:
            return
        if not numbers.costs:
            for tile in (self._rho, self._added, self._replaced, self._groups):
                tile.set("–", "nothing is tabulated")
            self._note.set("Switch on at least one geography and level.")
            return
        for tile, (relation, _, zcdp, main) in zip((self._added, self._replaced), numbers.costs, strict=True):
            number = numbers.claim.kind.number(exact[relation][0] if exact else main)
            bound = numbers.claim.kind is AnswerKind.BOUND
            tile.set(f"at most {number}" if bound else number, f"zCDP {words.number(zcdp)}")
        self._rho.set(words.plain(numbers.costs[0][1]), f"replaced {words.plain(numbers.costs[1][1])}")
        self._groups.set(str(numbers.lines[0].stability), "of each geography and level")
        self._note.set(f"{say.cost_text(self.page.state.delta, exact)} {numbers.claim}".strip())


class _Suppression:
    """Who is dropped below the states."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card():
            c.heading("Who is dropped, by true size", DESIGN_HELP["suppression"])
            self._chart = c.Chart("chance of being dropped against the true size of a group", 300)
            self._none = c.words("Nothing below the states is tabulated, or nothing is dropped.", "wb-soft")
        page.draw(self._draw)

    def _draw(self) -> None:
        numbers, dark = self.page.numbers, self.page.session.dark
        if numbers is None:
            return
        c.show(self._none, not numbers.suppression)
        c.show(self._chart.element, bool(numbers.suppression))
        said = []
        for name, line in numbers.suppression:
            half = next((x for x, y in line if y <= 0.5), line[-1][0])
            said.append(f"{name}: half of the groups of {half:.0f} people")
        self._chart.set(
            charts.suppression(numbers.suppression, dark=dark),
            f"Chance of being dropped, by true size. {'; '.join(said)}.",
        )


class _Rows:
    """Every geography and level: on or off, its rho, and what follows."""

    COLUMNS = (
        "geography, level",
        "rho",
        "95 % margin",
        "total",
        "4 ages",
        "9 ages",
        "23 ages",
        "thresholds",
        "dropped up to",
    )

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        self._which = ""
        self._rows: dict[Place, tuple[c.Check, c.Field, list[c.Text]]] = {}
        self._switches: list[tuple[c.Check, list[Place]]] = []
        with c.card():
            c.heading("Group sizes for the target error, and thresholds", DESIGN_HELP["sizes"])
            self._bar = c.box("wb-row").style("gap: 4px 22px; margin: -6px 0 12px")
            self._place = c.box("wb-scroll")
        page.draw(self._draw)

    def _build(self, design: Design) -> None:
        self._which, self._rows, self._switches = design.which, {}, []
        self._bar.clear()
        with self._bar:
            c.words("Switch all of", "wb-soft").style("margin-top: 10px")
            whole: list[tuple[str, list[Place]]] = [
                (f"{word} groups", [place for place in design.places if place[1] == level])
                for level, word in LEVEL_WORDS.items()
            ]
            whole += [(name, [(name, 1), (name, 2)]) for name in PASSES[design.which]]
            for name, places in whole:
                self._switches.append((c.Check(name, partial(self._switched, name, places)), places))
        self._place.clear()
        with self._place, c.box("wb-table", "table"):
            c.table_head(self.COLUMNS)
            with c.box("", "tbody"):
                for place in design.places:
                    self._build_row(place)

    def _build_row(self, place: Place) -> None:
        name = row_words(place)
        with c.box("", "tr"):
            with c.box("", "th").style("padding-top: 0"):
                check = c.Check(name, partial(self._switched, name, [place]))
            with c.box("", "td").style("width: 112px"):
                field = c.Field(f"rho of {name}", partial(self._typed, place), bare=True)
            cells = [c.words("", tag="td").style("padding-top: 12px") for _ in self.COLUMNS[2:]]
        self._rows[place] = (check, field, cells)

    def _draw(self) -> None:
        design, numbers = self.page.design, self.page.numbers
        if design.which != self._which:
            self._build(design)
        for check, places in self._switches:
            check.set(any(place not in design.off for place in places))
        lines = {line.place: line for line in numbers.lines} if numbers else {}
        for place, (check, field, cells) in self._rows.items():
            check.set(place not in design.off)
            rho = design.stated_rho(place) * design.scale
            field.keep(rho, plan.read_rho, exact_text(rho))
            for cell, text in zip(cells, _row_texts(lines.get(place)), strict=True):
                cell.set(text)

    def _switched(self, name: str, places: list[Place], on: bool) -> None:
        self.page.use(self.page.design.with_on(places, on=on), f"{name} {'on' if on else 'off'}")

    def _typed(self, place: Place, text: str) -> None:
        def use(rho: Fraction) -> None:
            self.page.use(self.page.design.with_rho(place, rho), f"rho {words.plain(rho)}")

        self._rows[place][1].take(text, plan.read_rho, use)


def _row_texts(line: SizedLevel | None) -> list[str]:
    if line is None:
        return ["–"] * 7
    steps = " / ".join(f"{step:,}" for step in line.thresholds)
    cut = "none dropped" if line.suppression is None else f"{line.suppression:,}"
    return [f"± {line.margin:,}", *(f"{size:,}" for size in line.sizes), steps, cut]


class _Row:
    """One geography and level: which table a group gets, and the bias of what is shown."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card():
            with c.box("wb-between wb-top"):
                c.heading("One geography and level", DESIGN_HELP["tables"])
                with c.box("").style("width: 210px"):
                    self._choice = c.Choice("Geography and level", {}, self._chosen)
            self._tables = c.Chart("chance of each table against the true size of a group", 280)
            c.heading("Bias of the published total", DESIGN_HELP["bias"], 3)
            self._bias = c.Chart("bias of a published total against the true size of a group", 250)
            self._none = c.words("", "wb-soft", "p")
        page.draw(self._draw)

    def _draw(self) -> None:
        design, numbers, dark = self.page.design, self.page.numbers, self.page.session.dark
        self._choice.set(
            row_text(design.chosen), {row_text(place): row_words(place) for place in design.places}
        )
        curves = numbers.curves if numbers else None
        c.show(self._tables.element, curves is not None)
        c.show(self._bias.element, curves is not None and bool(curves.bias))
        if curves is None:
            self._none.set("It is off.")
            return
        self._none.set("" if curves.bias else "Nothing is dropped here, so totals have no bias.")
        self._tables.set(charts.tables(curves.tables, dark=dark))
        if curves.bias:
            self._bias.set(charts.bias(curves.bias, curves.overall_bias, dark=dark))

    def _chosen(self, text: str) -> None:
        place = next(place for place in self.page.design.places if row_text(place) == text)
        self.page.use(replace(self.page.design, chosen=place), f"looking at {row_words(place)}")


class _Margin:
    """The rho for a wanted margin of the chosen row."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card():
            c.heading("The budget for the margin you want", DESIGN_HELP["margin"])
            self._field = c.Field("Wanted margin", self._typed, placeholder="a whole number of people")
            self._answer = c.words("", "wb-text", "p", role="status").style("margin: 10px 0")
            with c.box("wb-row"):
                self._normal = c.button("Use the normal approximation", lambda: self._take(0))
                self._exact = c.button("Use the exact one", lambda: self._take(1), "wb-primary")
        page.draw(self._draw)

    def _typed(self, text: str) -> None:
        self._field.say(None)
        self._draw()

    def _draw(self) -> None:
        design, question, text = self.page.design, self.page.margin, self._field.value.strip()
        if text:
            question.ask(replace(Design(), races=design.races, gamma=design.gamma), design.chosen, text)
        else:
            question.drop()
        self._field.say(question.trouble or None)
        found: tuple[Fraction, Fraction] | None = question.now
        for button in (self._normal, self._exact):
            c.enable(button, found is not None)
        row = row_words(design.chosen)
        if found is None:
            self._answer.set(f"For {row}.")
            return
        normal, exact = (words.plain(rho) for rho in found)
        saved = words.percent(float(1 - found[1] / found[0]))
        self._answer.set(f"{row}: rho {normal} by the normal approximation, {exact} exactly: {saved} less.")

    def _take(self, place: int) -> None:
        if self.page.margin.now is not None:
            design = self.page.design
            changed = design.with_rho(design.chosen, self.page.margin.now[place])
            self.page.use(changed, f"the margin of {row_words(design.chosen)}")


class _Rivals:
    """Discrete Gaussian against geometric noise at equal accuracy."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card():
            c.heading("Which kind of noise, at equal accuracy", DESIGN_HELP["geometric"])
            with c.box("wb-tiles"):
                self._gaussian = c.Tile("Discrete Gaussian", DESIGN_HELP["unbounded"])
                self._geometric = c.Tile("Geometric", DESIGN_HELP["geometric"])
            self._text = c.words("", "wb-text", "p").style("margin: 12px 0 0")
        page.draw(self._draw)

    def _draw(self) -> None:
        line, question, row = self.page.line, self.page.rivals, row_words(self.page.design.chosen)
        if line is None:
            self._text.set(f"{row} is off.")
            return
        if self.page.resting and self.page.quick.fresh:
            question.ask(max(line.margin, 1), line.stability, self.page.state.delta)
        found: Rivals | None = question.now
        if found is None:
            self._text.set(question.trouble or self._text.shown)
            return
        gaussian, geometric = found.gaussian_epsilon, found.geometric_epsilon
        self._gaussian.set(
            words.number(gaussian, 4), f"variance {words.number(float(found.variances[0]), 4)}"
        )
        self._geometric.set(words.number(geometric, 4), f"scale {words.number(float(found.scales[0]), 4)}")
        said = say.rival_text(*found.margins[0], gaussian, geometric)
        self._text.set(f"{row}. {said} For all rows together it may be the other way round.")


class _Files:
    """The file that the command line reads, out and in."""

    def __init__(self, page: DesignPage) -> None:
        self.page = page
        with c.card():
            c.heading("This design on the command line")
            with c.box("wb-row").style("margin-bottom: 12px"):
                c.button("Save safetab.toml", self._save, "wb-primary")
                c.file_button(
                    "Open safetab.toml or config.json",
                    self._uploaded,
                    lambda: self._message.say("The file is larger than 1 MB; nothing was changed."),
                    largest=_LARGEST,
                )
                c.button("Back to 2020", self._reset, "wb-quiet")
            self._message = c.alert().style("margin-bottom: 10px; white-space: pre-line")
            self._command = c.words("", "wb-command", "code")
            note = "PARAMS is a folder with the saved safetab.toml and the four files of the groups"
            more = "; the numbers are the same with the groups of 2020, or any that are paired like them."
            c.words(note + more, "wb-soft", "div").style("margin-top: 8px")
        page.draw(lambda: self._command.set(say.design_command(page.state.delta)))

    def _reset(self) -> None:
        self._message.say("")
        self.page.use(Design(), "back to the design of 2020")

    async def _save(self) -> None:
        try:
            text = await self.page.session.find("design_toml", self.page.design)
        except DiscreetError as error:
            self._message.say(str(error))
            return
        self._message.say("")
        ui.download.content(text, "safetab.toml", "application/toml")

    async def _uploaded(self, name: str, content: bytes) -> None:
        try:
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise DiscreetError(f"it is not a text file: not UTF-8 at byte {error.start + 1}") from None
            found = await self.page.session.find("design_opened", text, name, self.page.design)
        except DiscreetError as error:
            self._message.say(f"{name} was not opened: {error}")
            return
        self._message.say("")
        self.page.use(found, f"opening {name}")
