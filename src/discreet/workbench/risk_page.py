"""The Risk page: what an adversary learns about one person, and what no adversary can beat."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.errors import DiscreetError
from discreet.numbers import prior
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import risk_plan as plan
from discreet.workbench.risk_plan import NAME, SCENARIOS, Question
from discreet.workbench.risk_results import Answer, Commands, Everything, Pictures
from discreet.workbench.risk_words import HELP
from discreet.workbench.session import Session
from discreet.workbench.state import State
from discreet.workbench.workers import Slot, processors

_OWN = {
    "unsure": (("people", "unsure about", HELP["unsure"]), ("chance", "chance of each", "")),
    "hierarchy": (
        ("siblings", "areas beside it", HELP["siblings"]),
        ("beside", "their published sum", ""),
        ("above", "published above", HELP["above"]),
    ),
}
"""Fields that one scenario has for itself: name, label, help."""

_TWO = "grid-template-columns: minmax(0, 1fr) minmax(0, 1fr)"
_FEW = 24  # steps of the slider of the published count, on each side


class Desk:
    """What the parts of the page share."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        """The session's, or the one that a slider on its way would make of it."""
        self.asked: Question | None = None
        self.found: Any = None
        self.bounds: Any = None
        self.overall: Any = None
        self.progress = ""
        self.trouble = ""
        self.updates = 0
        self._parts: list[Callable[[], None]] = []
        self._attack: Slot[Question] = Slot(self._find, session.task)
        self._bound: Slot[tuple[Any, ...]] = Slot(self._find_bounds, session.task)
        self._key: tuple[Any, ...] | None = None
        self._job: Any = None
        session.listen(self._heard, NAME)

    def draw(self, part: Callable[[], None]) -> None:
        """Call a part whenever something has changed."""
        self._parts.append(part)

    def change(self, values: dict[str, str], what: str) -> None:
        """Take over settings for good."""
        self.session.commit(self.session.state.with_settings(NAME, values), what)

    def preview(self, values: dict[str, str]) -> None:
        """Show settings while a slider moves; the rest of the workbench does not depend on them."""
        self._use(self.session.state.with_settings(NAME, values), settled=False)

    @property
    def prior(self) -> str:
        """The prior, as a fraction if it is one."""
        text = self.state.setting(NAME, "prior", "1/2")
        try:
            return plan.plain_text(text)
        except DiscreetError:
            return text

    def start(self) -> None:
        """Begin, once all parts are there."""
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic == "theme":
            self._redraw()
        if topic == "resume":  # what was not found yet is asked for again
            self.asked = self._key = None
        if topic not in ("state", "resume"):
            return
        self._use(self.session.state, settled=self.session.settled)

    def _use(self, state: State, *, settled: bool) -> None:
        self.state = state
        try:
            prior(self.prior, name="the prior")
            asked, self.trouble = plan.question(state), ""
        except DiscreetError as error:
            self.trouble, self.asked, self.found = str(error), None, None
            self._redraw()
            return
        if asked is None:
            self.asked = self.found = None
        elif asked != self.asked:
            self.asked = asked
            self._attack.ask(asked)
        key = (state.release, state.relation, self.prior)
        if key != self._key:
            self._key, self.overall = key, None
            self._stop()
            self._bound.ask(key)
        if settled and self.overall is None and self._job is None:
            self.progress = "Comparing all pairs of paths."
            self._job = self.session.task(self._compare(key))
        self._redraw()

    async def _find(self, asked: Question) -> None:
        try:
            found = await self.session.find("risk_numbers", asked)
        except DiscreetError as error:
            found, self.trouble = None, str(error)
        self.found = None if found is None else (asked, found)
        self.updates += 1
        self._redraw()

    async def _find_bounds(self, key: tuple[Any, ...]) -> None:
        try:
            self.bounds = (key, await self.session.find("risk_bounds", *key))
        except DiscreetError as error:
            self.trouble = str(error)
        self._redraw()

    async def _compare(self, key: tuple[Any, ...]) -> None:
        def report(stage: str, done: int, total: int) -> None:
            self.progress = f"Comparing all pairs of paths: {done} of {total}." if total else self.progress
            self._redraw()

        try:
            helpers = processors() if len(key[0].paths) > 1 else 1
            found = await self.session.find("risk_overall", *key, helpers, progress=report)
        except DiscreetError as error:
            self.trouble, self.progress = str(error), ""
        else:
            if key == self._key:
                self.overall, self.progress = found, ""
        self._redraw()

    def _stop(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self._job, self.progress = None, ""

    def _redraw(self) -> None:
        for part in self._parts:
            part()


def build(session: Session) -> None:
    """Draw the page."""
    desk = Desk(session)
    with c.box("wb-stack"), c.box("wb-split"):
        with c.box("wb-stack"):
            _Adversary(desk)
            Commands(desk)
        with c.box("wb-stack"):
            Answer(desk)
            Pictures(desk)
            Everything(desk)
    desk.start()


class _Adversary:
    """Who attacks what."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._levels: tuple[str, ...] = ()
        self._queries: tuple[str, ...] = ()
        with c.box("wb-card", "section"):
            c.heading("The adversary", HELP["scenario"])
            self._scenario = c.choice("What the adversary sees", SCENARIOS, "one", self._chose)
            c.words("", tag="div").style("height: 12px")
            with c.box("wb-label-row"):
                c.words("Prior")
                c.help_text("prior", HELP["prior"])
                self._prior_now = c.words("", "wb-now")
            self._slider = c.Slider(
                "Prior",
                low=1,
                high=99,
                value=50,
                moved=lambda step: desk.preview({"prior": _prior_text(step)}),
                let_go=lambda step: desk.change({"prior": _prior_text(step)}, "the prior"),
            )
            self._prior = c.Field("Prior, exact", "", self._typed_prior, placeholder="1/2")
            with c.box("").style("margin-top: 12px") as self._count:
                with c.box("wb-two").style("gap: 14px"):
                    self._level_place = self._labelled("Level", HELP["level"])
                    self._query_place = self._labelled("Count", HELP["count"], left=True)
                self._noise = c.words("", "wb-soft", "div").style("margin: 6px 0 12px")
                with c.box("wb-label-row"):
                    c.words("Published count")
                    c.help_text("published count", HELP["published"])
                    self._published_now = c.words("", "wb-now")
                self._published = c.Slider(
                    "Published count",
                    low=-_FEW,
                    high=_FEW,
                    value=0,
                    moved=lambda step: desk.preview({"published": str(self._value(step))}),
                    let_go=lambda step: desk.change(
                        {"published": str(self._value(step))}, "the published count"
                    ),
                )
                with c.box("wb-fields").style(f"margin-top: 6px; {_TWO}"):
                    self._fields = {
                        name: c.Field(label, "", partial(self._typed, name), label=label, explained=explained)
                        for name, label, explained in (
                            ("published", "published", ""),
                            ("known", "others known", HELP["known"]),
                        )
                    }
                self._own: dict[str, Any] = {}
                for scenario, parts in _OWN.items():
                    with c.box("wb-fields wb-hidden").style(f"margin-top: 10px; {_TWO}") as self._own[
                        scenario
                    ]:
                        for name, label, explained in parts:
                            self._fields[name] = c.Field(
                                label, "", partial(self._typed, name), label=label, explained=explained
                            )
            self._trouble = c.words("", "wb-bad wb-hidden", "div").style("margin-top: 10px")
            self._trouble._props["role"] = "alert"
        desk.draw(self._draw)

    def _labelled(self, name: str, explained: str, *, left: bool = False) -> Any:
        with c.box("wb-field"):
            with c.box("wb-label-row"):
                c.words(name)
                c.help_text(name, explained, left=left)
            return c.box("")

    def _step(self, asked: Question) -> int:
        return max(1, -(-asked.reach // _FEW))

    def _value(self, step: int) -> int:
        asked = self.desk.asked
        if asked is None:
            return 0
        value = asked.known + step * self._step(asked)
        return max(value, 0) if asked.scenario == "floor" else value

    def _draw(self) -> None:
        desk, asked = self.desk, self.desk.asked
        state = desk.state
        scenario = state.setting(NAME, "scenario", "one")
        c.put(self._scenario, "data-value", scenario)
        self._trouble.set(desk.trouble)
        c.show(self._trouble, bool(desk.trouble))
        c.show(self._count, asked is not None and scenario != "whole")
        for name, box in self._own.items():
            c.show(box, name == scenario)
        if not self._prior.message.shown:
            value = prior(desk.prior) if not desk.trouble else Fraction(1, 2)
            self._prior_now.set(words.plain(value))
            self._slider.set(min(99, max(1, round(100 * value))), f"prior {words.plain(value)}")
            if not _same(self._prior.value, value):
                self._prior.set(desk.prior)
        if asked is None:
            return
        self._draw_choices(state.release, asked)
        count = asked.counts[0]
        deviation = words.number(float(count.variance) ** 0.5, 3)
        variance = words.with_fraction(count.variance)
        variance = variance if len(variance) < 30 else f"about {words.plain(count.variance)}"
        self._noise.set(f"Noise of variance {variance}, standard deviation {deviation}.")
        self._published_now.set(f"{asked.published:,}")
        step = round((asked.published - asked.known) / self._step(asked))
        self._published.set(max(-_FEW, min(_FEW, step)), f"published {asked.published}")
        for name, field in self._fields.items():
            if not field.message.shown and not _same(field.value, getattr(asked, name)):
                field.set(str(getattr(asked, name)))

    def _draw_choices(self, release: Any, asked: Question) -> None:
        counts = plan.attackable(release)
        if tuple(counts) != self._levels:
            self._levels = tuple(counts)
            self._level_place.clear()
            with self._level_place:
                self._level = c.choice("Level", {name: name for name in counts}, "", self._chose_level)
        count = asked.counts[0]
        queries = tuple(one.query for one in counts[count.level])
        if queries != self._queries:
            self._queries = queries
            self._query_place.clear()
            with self._query_place:
                self._query = c.choice("Count", {name: name for name in queries}, "", self._chose_query)
        c.put(self._level, "data-value", count.level)
        c.put(self._query, "data-value", count.query)

    def _chose(self, scenario: str) -> None:
        values = {"scenario": scenario if scenario != "one" else ""}
        asked = self.desk.asked
        if scenario == "floor" and asked is not None and asked.published < 0:
            values["published"] = "0"
        self.desk.change(values, SCENARIOS[scenario])

    def _chose_level(self, level: str) -> None:
        self.desk.change({"level": level}, f"looking at {level}")

    def _chose_query(self, query: str) -> None:
        self.desk.change({"query": query}, "looking at another count")

    def _typed_prior(self, text: str) -> None:
        try:
            prior(text, name="the prior")
        except DiscreetError as error:
            self._prior.say(str(error))
            return
        self._prior.say(None)
        self.desk.change({"prior": text.strip()}, "the prior")

    def _typed(self, name: str, text: str) -> None:
        field = self._fields[name]
        try:
            state = self.desk.session.state.with_settings(NAME, {name: text.strip()})
            if name == "chance":
                prior(text, name="the chance")
            asked = plan.question(state)
            if asked is not None and asked.scenario == "floor" and asked.published < 0:
                raise DiscreetError("negative values are published as 0 here")
        except DiscreetError as error:
            field.say(str(error))
            return
        field.say(None)
        self.desk.session.commit(state, f"{name} {text.strip()}")


def _prior_text(step: int) -> str:
    """Write a hundredth as shortly as possible.

    >>> _prior_text(50), _prior_text(7)
    ('1/2', '7/100')
    """
    return str(Fraction(min(max(step, 1), 99), 100))


def _same(text: str, value: Any) -> bool:
    """Whether a field says a value already, in whatever way it was typed."""
    try:
        return Fraction(text.strip().replace(",", "")) == Fraction(value)
    except (ValueError, ZeroDivisionError):
        return False
