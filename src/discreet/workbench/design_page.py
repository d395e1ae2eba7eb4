"""The Tabulation design page: what to tabulate, with how much noise, and from which group size on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.errors import DiscreetError
from discreet.release.safetab.geographies import PASSES
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import design_charts as charts
from discreet.workbench import design_plan as plan
from discreet.workbench.design_parts import Files, Margin, Rivals, exact_text, keep, take
from discreet.workbench.design_plan import NAME, Design
from discreet.workbench.design_table import Row, Table
from discreet.workbench.design_words import HELP, cost_words
from discreet.workbench.session import Session
from discreet.workbench.state import TOTAL_STEPS, factor_at, step_of
from discreet.workbench.workers import Slot

_PASSES = {"US": "United States", "PR": "Puerto Rico"}
_ERRORS = {"cell": "of the average cell", "total": "of the whole group"}
_THRESHOLDS = {"no": "as in 2020, or in the opened file", "yes": "from the target error"}


class Desk:
    """What the parts of the page share: the design, its numbers, and how it is changed."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.design = Design()
        self.numbers: Any = None
        self.exact: dict[str, tuple[float, int]] | None = None
        self.trouble = ""
        self.updates = 0
        self.resting = True
        """Whether no slider is on its way."""
        self._parts: list[Callable[[], None]] = []
        self._slot: Slot[tuple[Design, Fraction]] = Slot(self._compute, session.task)
        self._job: Any = None
        self._asked: tuple[Design, Fraction] | None = None
        session.listen(self._heard, NAME)

    def draw(self, part: Callable[[], None]) -> None:
        """Call a part whenever the design or its numbers have changed."""
        self._parts.append(part)

    def change(self, design: Design, what: str) -> None:
        """Take over a design for good."""
        self.session.commit(self.session.state.with_settings(NAME, design.settings()), what)

    def preview(self, design: Design) -> None:
        """Show a design while a slider moves; the rest of the workbench does not depend on it."""
        self.design = design
        self._ask(settled=False)

    def start(self) -> None:
        """Begin, once all parts are there."""
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic == "theme":
            self._redraw()
        if topic == "resume":  # what was not found yet is asked for again
            self._asked = None
        if topic not in ("state", "resume"):
            return
        try:
            self.design, self.trouble = Design.of_state(self.session.state), ""
        except DiscreetError as error:
            self.trouble = str(error)
        self._ask(settled=self.session.settled)

    def _ask(self, *, settled: bool) -> None:
        self.resting = settled
        asked = (self.design, self.session.state.delta)
        if asked != self._asked:
            self._asked, self.exact = asked, None
            self._stop()
            self._slot.ask(asked)
        if settled and self.exact is None and self._job is None and any(self.design.shown_rhos()):
            self._job = self.session.task(self._compare(asked))
        self._redraw()

    async def _compute(self, asked: tuple[Design, Fraction]) -> None:
        try:
            self.numbers = await self.session.find("design_numbers", *asked)
        except DiscreetError as error:
            self.trouble = str(error)
        self.updates += 1
        self._redraw()

    async def _compare(self, asked: tuple[Design, Fraction]) -> None:
        try:
            found = await self.session.find("design_exact", *asked, progress=lambda stage, done, total: None)
        except DiscreetError as error:
            self.trouble = str(error)
        else:
            if asked == self._asked:
                self.exact = found
        self._redraw()

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._job = None

    def _redraw(self) -> None:
        for part in self._parts:
            part()


def build(session: Session) -> None:
    """Draw the page."""
    desk = Desk(session)
    with c.box("wb-stack"):
        with c.box("wb-split"):
            with c.box("wb-stack"):
                _Choices(desk)
            with c.box("wb-stack"):
                _Costs(desk)
                _Pictures(desk)
        Table(desk)
        with c.box("wb-two"):
            Row(desk)
            with c.box("wb-stack"):
                Margin(desk)
                Rivals(desk)
        Files(desk)
    desk.start()


class _Choices:
    """The sliders and switches of the whole design."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with c.box("wb-card", "section"):
            c.heading("Design", HELP["design"])
            with c.box("wb-field"):
                with c.box("wb-label-row"):
                    c.words("People of")
                self._pass = c.choice("People of", _PASSES, "US", self._passed)
            c.words("", tag="div").style("height: 12px")
            self._scale = self._slider(
                "All budgets",
                HELP["rho"],
                (-TOTAL_STEPS, TOTAL_STEPS),
                lambda step: replace(desk.design, scale=factor_at(step)),
            )
            self._races = self._slider(
                "Races counted, at most",
                HELP["stability"],
                (1, 8),
                lambda step: replace(desk.design, races=step),
            )
            self._gamma = self._slider(
                "First stage gets (gamma)",
                HELP["gamma"],
                (1, 60),
                lambda step: replace(desk.design, gamma=Fraction(step, 100)),
            )
            self._target = self._slider(
                "Target error",
                HELP["target error"],
                (1, 100),
                lambda step: replace(desk.design, target=Fraction(step, 100)),
            )
            with c.box("wb-two").style("gap: 14px; margin-top: 6px"):
                self._error = c.Field("Target error, exact", "", self._typed_target, label="exactly")
                with c.box("wb-field"):
                    with c.box("wb-label-row"):
                        c.words("as a part")
                        c.help_text("as a part", HELP["of"], left=True)
                    self._of = c.choice("Target error as a part", _ERRORS, "cell", self._chose_of)
            with c.box("wb-field").style("margin-top: 10px"):
                with c.box("wb-label-row"):
                    c.words("Thresholds")
                    c.help_text("thresholds", HELP["threshold"])
                self._derived = c.choice("Thresholds", _THRESHOLDS, "no", self._chose_thresholds)
            c.words("", tag="div").style("height: 10px")
            self._chance = c.Field(
                "Chance to drop an empty group",
                "",
                self._typed_chance,
                label="Chance to drop an empty group",
                explained=HELP["suppression"],
            )
            self._trouble = c.words("", "wb-bad wb-hidden", "div")
            self._trouble._props["role"] = "alert"
        desk.draw(self._draw)

    def _slider(
        self, name: str, explained: str, ends: tuple[int, int], changed: Callable[[int], Design]
    ) -> tuple[c.Slider, c.Text]:
        with c.box("wb-label-row"):
            c.words(name)
            c.help_text(name, explained)
            now = c.words("", "wb-now")
        slider = c.Slider(
            name,
            low=ends[0],
            high=ends[1],
            value=ends[0],
            moved=lambda step: self.desk.preview(changed(step)),
            let_go=lambda step: self.desk.change(changed(step), name.lower()),
        )
        return slider, now

    def _draw(self) -> None:
        design = self.desk.design
        c.put(self._pass, "data-value", design.which)
        times = "as stated" if design.scale == 1 else f"{words.plain(design.scale)} times"
        for (slider, now), step, said in (
            (self._scale, step_of(design.scale), times),
            (self._races, design.races, str(design.races)),
            (self._gamma, round(100 * design.gamma), words.percent(design.gamma)),
            (self._target, min(100, max(1, round(100 * design.target))), words.percent(design.target)),
        ):
            now.set(said)
            slider.set(step, said)
        c.put(self._of, "data-value", design.of)
        c.put(self._derived, "data-value", "yes" if design.derived else "no")
        keep(self._error, design.target, plan.read_target, words.percent(design.target))
        keep(self._chance, design.chance, plan.read_chance, exact_text(design.chance))
        self._trouble.set(self.desk.trouble)
        c.show(self._trouble, bool(self.desk.trouble))

    def _passed(self, which: str) -> None:
        geographies = PASSES["PR" if which == "PR" else "US"]
        design = replace(self.desk.design, which=which, chosen=(geographies[2], 2))  # type: ignore[arg-type]
        self.desk.change(design, f"people of {_PASSES[which]}")

    def _chose_of(self, of: str) -> None:
        self.desk.change(
            replace(self.desk.design, of="total" if of == "total" else "cell"),
            f"the target error {_ERRORS[of]}",
        )

    def _chose_thresholds(self, derived: str) -> None:
        self.desk.change(replace(self.desk.design, derived=derived == "yes"), "the thresholds")

    def _typed_target(self, text: str) -> None:
        take(self._error, text, plan.read_target, lambda value: self._new(target=value))

    def _typed_chance(self, text: str) -> None:
        take(self._chance, text, plan.read_chance, lambda value: self._new(chance=value))

    def _new(self, **changed: Fraction) -> None:
        self.desk.change(replace(self.desk.design, **changed), f"the {next(iter(changed))}")  # type: ignore[arg-type]


class _Costs:
    """What the design costs one person."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        with c.box("wb-card", "section") as self._card:
            self._card._props.update({"aria-label": "What it costs", "aria-live": "polite"})
            with c.box("wb-tiles"):
                self._rho = c.Tile("Total rho", HELP["rho"])
                self._added = c.Tile("Exact epsilon, added", HELP["unbounded"], first=True)
                self._replaced = c.Tile("Exact epsilon, replaced", HELP["bounded"])
                self._groups = c.Tile("Groups a person is in", HELP["stability"])
            self._note = c.words("", "wb-soft", "div").style("margin-top: 10px")
            self._count = c.words("0", "wb-alive")
            self._count._props["data-design-updates"] = ""
        desk.draw(self._draw)

    def _draw(self) -> None:
        numbers, exact = self.desk.numbers, self.desk.exact
        self._count.set(str(self.desk.updates))
        c.put(self._card, "data-exact", "true" if exact else "false")
        if numbers is None:
            return
        if not numbers.costs:
            for tile in (self._rho, self._added, self._replaced, self._groups):
                tile.set("–", "nothing is tabulated")
            self._note.set("Switch on at least one geography and level.")
            return
        for tile, (relation, _, zcdp, main) in zip((self._added, self._replaced), numbers.costs, strict=True):
            epsilon = exact[relation][0] if exact else main
            tile.set(words.number(epsilon), f"zCDP {words.number(zcdp)}")
        self._rho.set(words.plain(numbers.costs[0][1]), f"replaced {words.plain(numbers.costs[1][1])}")
        self._groups.set(str(numbers.lines[0].stability), "of each geography and level")
        self._note.set(cost_words(self.desk.session.state.delta, exact))


class _Pictures:
    """Suppression below the states."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._seen: Any = None
        with c.box("wb-card", "section"):
            c.heading("Who is dropped, by true size", HELP["suppression"])
            self._chart = c.Chart("chance to be dropped against the true size of a group")
            self._chart.element.style("height: 300px")
            self._none = c.words("Nothing below the states is tabulated, or nothing is dropped.", "wb-soft")
        desk.draw(self._draw)

    def _draw(self) -> None:
        numbers, dark = self.desk.numbers, self.desk.session.dark
        if numbers is None or self._seen == (numbers.suppression, dark):
            return
        self._seen = (numbers.suppression, dark)
        c.show(self._none, not numbers.suppression)
        c.show(self._chart.element, bool(numbers.suppression))
        self._chart.set(charts.suppression(numbers.suppression, dark=dark))
        said = []
        for name, line in numbers.suppression:
            half = next((x for x, y in line if y <= 0.5), line[-1][0])
            said.append(f"{name}: half of the groups of {half:.0f} people")
        self._chart.say(f"Chance to be dropped by true size. {'; '.join(said)}.")
