"""The Tabulation design page: what to tabulate, with how much noise, and from which group size on."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from nicegui import ui

from discreet.answers import Quantity, Style
from discreet.answers.release import claim_text
from discreet.census.answers.design import (
    PARTS,
    bias_panel,
    budget_fact,
    cap_text,
    cost_facts,
    margin_text,
    mixes_text,
    rival_facts,
    row_rival_text,
    size_cells,
    suppression_panel,
    tables_panel,
)
from discreet.census.safetab.design import DesignCost, Rivals, SizedLevel, rivals
from discreet.census.safetab.specification import safetab_p
from discreet.errors import DiscreetError
from discreet.numbers import exact_text
from discreet.workbench import controls as c
from discreet.workbench.session import Question, Session
from discreet.workbench.state import TOTAL_STEPS, State, factor_at, step_of
from discreet.workbench.tabulations import design as plan
from discreet.workbench.tabulations.design import NAME, Design, DesignNumbers, Place, row_text, row_words
from discreet.workbench.tasks import Task

_ERRORS = {of: f"of the {part}" for of, part in PARTS.items()}
_THRESHOLDS = {"yes": "from the target error", "no": "as in 2020, or in the opened file"}
_COLUMNS = (
    *("geography, level", "rho", "95 % margin", "total", "4 ages", "9 ages", "23 ages"),
    *("thresholds", "dropped up to"),
)
_LEVELS = tuple((level, workload.word) for level, workload in safetab_p().workloads.items())
_LARGEST = 10**6  # bytes of a file of parameters


class _DesignPage(c.Page):
    def __init__(self, session: Session) -> None:
        super().__init__(session, NAME)
        self.design = Design()
        self.quick: Question[DesignNumbers] = self.question(plan.design_numbers, 0.1, 120)
        self.whole: Question[tuple[DesignCost, ...]] = self.question(
            plan.design_exact, 3, 600, long=True, reports=True
        )
        self.margin: Question[tuple[Fraction, Fraction]] = self.question(plan.design_margin, 0.1, 120)
        self.rivals: Question[Rivals] = self.question(rivals, 0.3, 120)

    @property
    def numbers(self) -> DesignNumbers | None:
        """What follows from the design; while a slider moves, from one of a moment ago."""
        return self.quick.found

    @property
    def exact(self) -> tuple[DesignCost, ...] | None:
        """The exact costs by neighbours, once they are known of the design whose numbers are shown."""
        return self.whole.now if self.quick.fresh else None

    def get(self, key: str, default: str = "") -> str:
        return self.design.texts[key]

    def at(self, key: str, text: str) -> State:
        known = self.with_design(self.design)  # without what could not be read
        return self.with_design(Design.of_state(known.with_settings(NAME, {key: text})))

    def line(self, place: Place) -> SizedLevel | None:
        """What follows for one geography and level; None if it is off, or not known yet."""
        lines = self.numbers.lines if self.numbers else ()
        return next((line for line in lines if line.place == place), None)

    def with_design(self, design: Design) -> State:
        """Return the state with another design."""
        return self.state.with_settings(NAME, design.settings())

    def use_design(self, design: Design, what: str) -> None:
        """Take over a design for good."""
        self.session.commit(self.with_design(design), what)

    def look(self, *, settled: bool) -> None:
        self.design = Design.of_state(self.state)
        self.quick.ask(self.design, self.state.delta)
        lasts = settled and any(self.design.shown_rhos())
        self.whole.ask(self.design, self.state.delta, begin=lasts)


def build(session: Session) -> None:
    """Draw the page."""
    page = _DesignPage(session)
    with c.box("wb-stack"):
        with c.box("wb-split"):
            with c.box("wb-stack"):
                _choices(page)
            with c.box("wb-stack"):
                _costs(page)
                _suppression(page)
        _rows(page)
        with c.box("wb-two"):
            _row(page)
            with c.box("wb-stack"):
                _margin(page)
                _rivals(page)
        _files(page)


def _choices(page: _DesignPage) -> None:
    """The sliders and switches of the whole design."""

    def scaled(scale: str) -> tuple[int, str]:
        return step_of(
            Fraction(scale)
        ), "as stated" if scale == "1" else f"{Quantity(Fraction(scale), Style.EXACT)} times"

    def part(text: str) -> tuple[int, str]:
        return min(100, max(1, round(100 * Fraction(text)))), str(Quantity(Fraction(text), Style.PERCENT))

    part_at = partial(Fraction, denominator=100)
    target = c.Setting(lambda: f"{exact_text(100 * page.design.target)} %", partial(page.at, "target"))
    chance = c.Setting(lambda: exact_text(page.design.chance), partial(page.at, "chance"))
    with c.card():
        page.heading("Design", "design")
        people = {name: each_pass.title for name, each_pass in safetab_p().passes.items()}
        c.choice(page, "People of", page.setting("pass"), people, "people of {}")
        c.gap()
        scale, races, gamma = map(page.setting, ("scale", "races", "gamma"))
        c.slider(page, "All budgets", scale, (-TOTAL_STEPS, TOTAL_STEPS), factor_at, scaled, term="rho")
        c.slider(page, "Races counted, at most", races, (1, 8), int, lambda n: (int(n), n), term="stability")

        def capped() -> str:
            return cap_text(page.numbers.cap if page.numbers else None, page.design.chosen, safetab_p())

        page.words(capped, "wb-soft", "p", hides=True, data_design_cap="")
        c.slider(page, "First stage gets (gamma)", gamma, (1, 60), part_at, part, term="gamma")
        c.slider(page, "Target error", page.setting("target"), (1, 100), part_at, part, term="target error")
        with c.box("wb-two").style("gap: 14px; margin-top: 6px"):
            what, of = "the target error", page.setting("of")
            c.Field(page, "Target error, exact", plan.read_target, target, what, shown="exactly")
            name, what, shown = "Target error as a part", "the target error {}", "relative to"
            c.choice(page, name, of, _ERRORS, what, shown=shown, term="of", left=True)
        c.gap(10)
        derived = page.setting("derived")
        c.choice(page, "Thresholds", derived, _THRESHOLDS, "the thresholds", term="threshold")
        c.gap(10)
        name, term = "Chance of dropping an empty group", "suppression"
        c.Field(page, name, plan.read_drop_chance, chance, "the chance", shown=name, term=term)
        page.alert(lambda: page.trouble or page.quick.trouble or page.whole.trouble)


def _costs(page: _DesignPage) -> None:
    """What the design costs one person."""
    with c.card("What it costs", aria_live="polite") as card:
        with c.box("wb-tiles"):
            rho = c.Tile(page, "Total rho", "rho")
            added = c.Tile(page, "Epsilon, added", "unbounded", first=True)
            replaced = c.Tile(page, "Epsilon, replaced", "bounded")
            groups = c.Tile(page, "Groups a person is in", "stability")
        note = c.words("", "wb-soft", "div", data_of="").style("margin-top: 10px")
        page.words(lambda: str(page.quick.updates), "wb-alive", "span", data_design_updates="")

    @page.draw
    def draw() -> None:
        numbers, exact = page.numbers, page.exact
        c.put(card, "data-exact", bool(exact))
        if numbers is None:
            return
        if numbers.claim is None:
            for tile in (rho, added, replaced, groups):
                tile.set("–", "nothing is tabulated")
            page.write(note, "Switch on at least one geography and level.")
            return
        for tile, fact in zip(
            (added, replaced), cost_facts(exact or numbers.costs, numbers.claim), strict=True
        ):
            tile.show(fact)
        rho.show(budget_fact(numbers.costs))
        groups.set(str(numbers.lines[0].stability), "of each geography and level")
        page.write(note, f"{mixes_text(page.state.delta, exact)} {claim_text(numbers.claim)}".strip())


def _suppression(page: _DesignPage) -> None:
    """Who is dropped below the states."""

    def drawn() -> c.Drawn:
        if page.numbers is None:
            return None
        lines = page.numbers.suppression
        halves = ((name, next((x for x, y in line if y <= 0.5), line[-1][0])) for name, line in lines)
        said = "; ".join(
            f"{name}: half of the groups of {Style.PLACES.quantity(half, 0)} people" for name, half in halves
        )
        return suppression_panel(lines), f"Chance of being dropped, by true size. {said}."

    with c.card():
        page.heading("Who is dropped, by true size", "suppression")
        chart = page.chart("chance of being dropped against the true size of a group", drawn, 300)
        none = c.words("Nothing below the states is tabulated, or nothing is dropped.", "wb-soft")
    page.show(none, lambda: page.numbers is None or not page.numbers.suppression)
    page.show(chart, lambda: page.numbers is None or bool(page.numbers.suppression))


def _rows(page: _DesignPage) -> None:
    """Every geography and level: on or off, its rho, and what follows."""

    def switch(name: str, places: list[Place]) -> None:
        def switched(on: bool) -> None:
            page.use_design(page.design.with_on(places, on=on), f"{name} {'on' if on else 'off'}")

        c.checkbox(page, name, lambda: not page.design.off.issuperset(places), switched)

    def build_bar(places: tuple[Place, ...]) -> None:
        c.words("Switch all of", "wb-soft").style("margin-top: 10px")
        whole = {f"{word} groups": [row for row in places if row[1] == level] for level, word in _LEVELS}
        whole |= {name: [row for row in places if row[0] == name] for name, _ in places}
        for name, them in whole.items():
            switch(name, them)

    def build_table(places: tuple[Place, ...]) -> None:
        with c.box("wb-table", "table"):
            c.table_head(_COLUMNS)
            with c.box("", "tbody"):
                for place in places:
                    build_row(place)

    def build_row(place: Place) -> None:
        def rho() -> str:
            return exact_text(page.design.with_on([place], on=True).rho(place))

        def with_rho(text: str) -> State:
            return page.with_design(page.design.with_rho(place, plan.read_rho(text)))

        @page.draw
        def draw() -> None:
            for cell, text in zip(cells, texts(page.line(place)), strict=True):
                cell.set(text)
            page.stamp(row)

        name = row_words(place)
        with c.box("", "tr", data_of="") as row:
            with c.box("", "th").style("padding-top: 0"):
                switch(name, [place])
            with c.box("", "td").style("width: 112px"):
                c.Field(page, f"rho of {name}", plan.read_rho, c.Setting(rho, with_rho), "rho {}", bare=True)
            cells = [c.words("", tag="td").style("padding-top: 12px") for _ in _COLUMNS[2:]]

    def texts(line: SizedLevel | None) -> list[str]:
        return ["–"] * 7 if line is None else list(size_cells(line))

    with c.card():
        page.heading("Group sizes for the target error, and thresholds", "sizes")
        bar = c.box("wb-row").style("gap: 4px 22px; margin: -6px 0 12px")
        page.rebuild(bar, lambda: page.design.places, build_bar)
        page.rebuild(c.box("wb-scroll"), lambda: page.design.places, build_table)


def _row(page: _DesignPage) -> None:
    """One geography and level: which table a group gets, and the bias of what is shown."""

    def places() -> dict[str, str]:
        return {row_text(place): row_words(place) for place in page.design.places}

    def note() -> str:
        curves = page.numbers.curves if page.numbers else None
        if curves is None:
            return "It is off."
        return "" if curves.bias else "Nothing is dropped here, so totals have no bias."

    def curves() -> plan.RowCurves | None:
        return page.numbers.curves if page.numbers else None

    def tables() -> c.Drawn:
        curve = curves()
        return (tables_panel(curve.tables), "") if curve else None

    def bias() -> c.Drawn:
        curve = curves()
        return (bias_panel(curve.bias, curve.overall_bias), "") if curve and curve.bias else None

    with c.card():
        with c.box("wb-between wb-top"):
            page.heading("One geography and level", "tables")
            with c.box("").style("width: 210px"):
                row = page.setting("row")
                c.choice(page, "Geography and level", row, places, "looking at {}", bare=True)
        upper = page.chart("chance of each table against the true size of a group", tables, 280)
        page.heading("Bias of the published total", "bias", 3)
        lower = page.chart("bias of a published total against the true size of a group", bias, 250)
        page.words(note, tag="p")

    page.show(upper, lambda: curves() is not None)
    page.show(lower, lambda: bias() is not None)


def _margin(page: _DesignPage) -> None:
    """The rho for a wanted margin of the chosen row."""
    question = page.margin

    def take(which: int) -> None:
        if question.now is not None:
            place = page.design.chosen
            design = page.design.with_rho(place, question.now[which])
            page.use_design(design, f"the margin of {row_words(place)}")

    with c.card():
        page.heading("The budget for the margin you want", "margin")
        field = c.Field(
            page, "Wanted margin", str, lambda _: page.redraw(), placeholder="a whole number of people"
        )
        answer = c.words("", "wb-text", "p", role="status", data_of="").style("margin: 10px 0")
        with c.box("wb-row"):
            buttons = (
                c.button("Use the normal approximation", partial(take, 0)),
                c.button("Use the exact one", partial(take, 1), "wb-primary"),
            )

    @page.draw
    def draw() -> None:
        design, text = page.design, field.value
        if text:
            question.ask(Design(races=design.races, gamma=design.gamma), design.chosen, text)
        else:
            question.drop()
        field.say(question.trouble)
        rhos, row = question.now, row_words(design.chosen)
        for button in buttons:
            c.enable(button, rhos is not None)
        if rhos is None:
            page.write(answer, f"For {row}.")
            return
        page.write(answer, f"{row}: {margin_text(*rhos)}")


def _rivals(page: _DesignPage) -> None:
    """Discrete Gaussian against geometric noise at equal accuracy."""
    question = page.rivals
    with c.card():
        page.heading("Which kind of noise, at equal accuracy", "geometric")
        with c.box("wb-tiles"):
            gaussian = c.Tile(page, "Discrete Gaussian", "unbounded")
            geometric = c.Tile(page, "Geometric", "geometric")
        text = c.words("", "wb-text", "p", data_of="").style("margin: 12px 0 0")

    @page.draw
    def draw() -> None:
        chosen = page.design.chosen
        line = page.line(chosen)
        if line is None:
            page.write(text, f"{row_words(chosen)} is off.")
            return
        if page.session.settled and page.quick.fresh:
            question.ask(((max(line.margin, 1), line.stability),), delta=page.state.delta)
        compared = question.now
        if compared is None:
            if question.trouble:
                page.write(text, question.trouble)
            return
        for tile, fact in zip((gaussian, geometric), rival_facts(compared), strict=True):
            tile.show(fact)
        page.write(text, row_rival_text(row_words(chosen), compared))


def _files(page: _DesignPage) -> None:
    """The file that the command line reads, out and in."""

    def reset() -> None:
        message.say("")
        page.use_design(Design(), "back to the design of 2020")

    async def save() -> None:
        try:
            text = await page.session.find(Task(plan.design_toml, 0.05, 60), page.design)
        except DiscreetError as error:
            message.say(str(error))
            return
        message.say("")
        ui.download.content(text, "safetab.toml", "application/toml")

    async def uploaded(name: str, content: bytes) -> None:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DiscreetError(f"it is not a text file: not UTF-8 at byte {error.start + 1}") from None
        opened = await page.session.find(Task(plan.design_opened, 0.05, 20), text, name, page.design)
        page.use_design(opened, f"opening {name}")

    with c.card():
        page.heading("This design as a file")
        with c.box("wb-row").style("margin-bottom: 12px"):
            c.button("Save safetab.toml", save, "wb-primary")
            c.file_button(
                "Open safetab.toml or config.json", uploaded, lambda text: message.say(text), largest=_LARGEST
            )
            c.button("Back to 2020", reset, "wb-quiet")
        message = c.Notice(page, "wb-bad wb-lines")
