"""The Risk page: what an adversary learns about one person, and what no adversary can beat."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from nicegui.element import Element

from discreet.budget.levels import level_name
from discreet.errors import DiscreetError, InputError
from discreet.numbers import chance, number, plain, with_fraction
from discreet.risk import RiskProfile
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.adversary import (
    NAME,
    SCENARIOS,
    Adversary,
    Attacked,
    adversary,
    attackable,
    read_chance,
)
from discreet.workbench.session import Page, Question, Session
from discreet.workbench.tasks import MainPath
from discreet.workbench.words import RISK_HELP, percent_text
from discreet.workbench.workers import processors

_FIELDS = {
    "": (("published", "published", ""), ("known", "others known", RISK_HELP["known"])),
    "unsure": (("people", "unsure about", RISK_HELP["unsure"]), ("chance", "probability of each", "")),
    "hierarchy": (
        ("siblings", "areas beside it", RISK_HELP["siblings"]),
        ("beside", "their published sum", ""),
        ("above", "published above", RISK_HELP["above"]),
    ),
}
"""Fields of all scenarios and of some alone: name, label, help."""

_TWO = "grid-template-columns: minmax(0, 1fr) minmax(0, 1fr)"
_WHOLE = "grid-template-columns: minmax(0, 1fr)"
_NO_COUNT = (
    "No count of this release has discrete Gaussian noise and changes by one with one record, so an attack "
    "on a single count is not computed. The bounds below hold."
)
_FEW = 24  # steps of the slider of the published count, on each side


class RiskPage(Page):
    """What the parts share: the adversary, what they learn, and the best that anyone can do."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, NAME)
        self.asked: Adversary | None = None
        self.attack: Question[Attacked] = self.question("attacked")
        self.main: Question[MainPath] = self.question("best_on_main_path")
        self.whole: Question[RiskProfile] = self.question("best_of_anyone", long=True)

    @property
    def prior(self) -> str:
        """The prior, as a fraction if it is one."""
        text = self.state.setting(NAME, "prior", "1/2")
        try:
            return read_chance(text)
        except DiscreetError:
            return text

    @property
    def sees_all(self) -> bool:
        """Whether the adversary sees everything published, and not single counts."""
        return self.asked is not None and self.asked.scenario == "whole"

    @property
    def learned(self) -> Attacked | None:
        """What the adversary has learned from single counts."""
        return None if self.asked is None or self.sees_all else self.attack.found

    def look(self, *, settled: bool) -> None:
        """Ask what the adversary learns, and for the bounds."""
        self.asked = None
        read_chance(self.prior)
        self.asked = adversary(self.state)
        if self.asked is not None and not self.sees_all:
            self.attack.ask(self.asked)
        else:
            self.attack.drop()
        release = self.state.release
        shared = {"prior": self.prior, "neighbours": self.state.relation}
        self.main.ask(release, **shared)
        lasts = settled and len(release.paths) > 1  # else the main path is all there is
        self.whole.ask_once(lasts, release, **shared, jobs=processors())

    @property
    def profile(self) -> RiskProfile | None:
        """The best that anyone can do: over all pairs of paths once they were compared."""
        return self.whole.now or (self.main.found.profile if self.main.found else None)

    @property
    def complete(self) -> bool:
        """Whether the bounds are of the present state and of all pairs of paths."""
        return self.main.fresh if len(self.state.release.paths) == 1 else self.whole.fresh


def build(session: Session) -> None:
    """Draw the page."""
    page = RiskPage(session)
    with c.box("wb-stack"), c.box("wb-split"):
        with c.box("wb-stack"):
            _adversary(page)
            _commands(page)
        with c.box("wb-stack"):
            _answer(page)
            _pictures(page)
            _everything(page)
    page.start()


def _adversary(page: RiskPage) -> None:
    """Who attacks what."""
    fields: dict[str, c.Field[str]] = {}

    def chose(scenario: str) -> None:
        values = {"scenario": scenario if scenario != "one" else ""}
        if scenario == "floor" and page.asked is not None and page.asked.published < 0:
            values["published"] = "0"
        page.change(values, SCENARIOS[scenario])

    def fields_of(parts: tuple[tuple[str, str, str], ...]) -> Element:
        with c.box("wb-fields").style(f"margin-top: 8px; {_TWO}") as made:
            for name, shown, explained in parts:
                read, use = partial(read_field, name), partial(use_field, name)
                fields[name] = c.Field(shown, read, use, shown=shown, explained=explained)
        return made

    def read_field(name: str, text: str) -> str:
        asked = adversary(page.session.state.with_settings(NAME, {name: text.strip()}))
        if asked is not None and asked.scenario == "floor" and asked.published < 0:
            raise InputError("negative values are published as 0 here")
        return "" if asked is None else str(getattr(asked, name))

    def use_field(name: str, _: str) -> None:
        text = fields[name].value.strip()
        page.change({name: text}, f"{name} {text}")

    def step_of(asked: Adversary) -> int:
        return max(1, -(-asked.reach // _FEW))

    def published_at(step: int) -> dict[str, str]:
        if page.asked is None:
            return {"published": "0"}
        value = page.asked.known + step * step_of(page.asked)
        return {"published": str(max(value, 0) if page.asked.scenario == "floor" else value)}

    def prior_at(step: int) -> dict[str, str]:
        return {"prior": str(Fraction(min(max(step, 1), 99), 100))}

    with c.card():
        c.heading("The adversary", RISK_HELP["scenario"])
        choice = c.Choice("What the adversary sees", SCENARIOS, chose, bare=True)
        c.gap()
        slider = c.Slider(
            "Prior",
            (1, 99),
            explained=RISK_HELP["prior"],
            moved=lambda step: page.preview(prior_at(step)),
            let_go=lambda step: page.change(prior_at(step), "the prior"),
        )
        prior = c.Field(
            "Prior, exact",
            read_chance,
            lambda _: page.change({"prior": prior.value.strip()}, "the prior"),
            placeholder="1/2",
        )
        with c.box("").style("margin-top: 12px") as counted:
            with c.box("wb-two").style("gap: 14px"):
                level = c.Choice(
                    "Level",
                    {},
                    lambda level: page.change({"level": level}, f"looking at {level_name(level)}"),
                    explained=RISK_HELP["level"],
                )
                query = c.Choice(
                    "Count",
                    {},
                    lambda query: page.change({"query": query}, "looking at another count"),
                    explained=RISK_HELP["count"],
                    left=True,
                )
            noise = c.words("", "wb-soft", "div").style("margin: 6px 0 12px")
            published = c.Slider(
                "Published count",
                (-_FEW, _FEW),
                explained=RISK_HELP["published"],
                moved=lambda step: page.preview(published_at(step)),
                let_go=lambda step: page.change(published_at(step), "the published count"),
            )
            own = {scenario: fields_of(parts) for scenario, parts in _FIELDS.items()}
        c.gap(4)
        trouble = c.alert()

    @page.draw
    def draw() -> None:
        asked, scenario = page.asked, page.state.setting(NAME, "scenario", "one")
        choice.set(scenario)
        trouble.say(page.trouble or page.attack.trouble or page.main.trouble or page.whole.trouble)
        c.show(counted, asked is not None and scenario != "whole")
        for name, made in own.items():
            c.show(made, name in ("", scenario))
        if not prior.wrong:
            value = Fraction(page.prior) if not page.trouble else Fraction(1, 2)
            text = plain(value)
            slider.set(min(99, max(1, round(100 * value))), f"prior {text}", text)
            prior.keep(str(value), page.prior)
        if asked is None:
            return
        counts, count = attackable(page.state.release), asked.counts[0]
        level.set(count.level, {name: level_name(name) for name in counts})
        query.set(count.query, {one.query: one.query for one in counts[count.level]})
        deviation = number(float(count.variance) ** 0.5, 3)
        variance = with_fraction(count.variance)
        variance = variance if len(variance) < 30 else f"about {plain(count.variance)}"
        noise.set(f"Noise with variance {variance}, standard deviation {deviation}.")
        step = round((asked.published - asked.known) / step_of(asked))
        published.set(max(-_FEW, min(_FEW, step)), f"published {asked.published}", f"{asked.published:,}")
        for name, field in fields.items():
            if not field.wrong:
                field.keep(str(getattr(asked, name)), str(getattr(asked, name)))


def _commands(page: RiskPage) -> None:
    """The command lines that give the same numbers."""
    with c.card():
        c.heading("The same numbers on the command line")
        one = c.words("", "wb-command", "code").style("margin-bottom: 8px")
        everything = c.words("", "wb-command", "code")

    @page.draw
    def draw() -> None:
        bound = say.bound_command(page.prior, page.state)
        single = bound if page.asked is None or page.sees_all else page.asked.command
        one.set(single)
        everything.set(bound)
        c.show(everything, single != bound)


def _answer(page: RiskPage) -> None:
    """What the adversary believes and decides."""
    with c.card("What the adversary learns", aria_live="polite") as card:
        with c.box("wb-tiles") as tiles:
            posterior = c.Tile("Belief afterwards", RISK_HELP["posterior"], first=True)
            ratio = c.Tile("Times the prior", RISK_HELP["ratio"])
            right = c.Tile("Right decisions", RISK_HELP["right"])
            mean = c.Tile("Mean belief if there", RISK_HELP["mean"])
        texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(3)]
        none = c.words("", "wb-soft", "p")
        count = c.words("0", "wb-alive", data_risk_updates="")

    @page.draw
    def draw() -> None:
        count.set(str(page.attack.updates))
        c.show(card, not page.sees_all)
        c.show(tiles, page.asked is not None)
        none.set("" if page.asked else _NO_COUNT)
        found = page.learned
        if found is None:
            return
        posterior.set(chance(found.posterior), f"before: {chance(float(Fraction(found.asked.prior)))}")
        ratio.set(number(found.ratio, 4), "belief afterwards over prior")
        if found.right is None:
            right.set("–", "not computed; the bound below holds")
        else:
            present, absent, both = map(percent_text, found.right)
            right.set(both, f"if there {present}, if not {absent}")
        if found.mean_present is None or found.mean_absent is None:
            mean.set("–", "not computed here")
        else:
            mean.set(chance(found.mean_present), f"if not there {chance(found.mean_absent)}")
        for place, text in enumerate(texts):
            text.set(found.said[place] if place < len(found.said) else "")


def _pictures(page: RiskPage) -> None:
    """Belief against what is published, and decisions against the prior."""
    with c.box("wb-two") as both:
        with c.card() as left:
            c.heading("Belief, by what is published", RISK_HELP["posterior"])
            belief = c.Chart("belief against the published count", 290)
        with c.card():
            c.heading("Right decisions, by prior", RISK_HELP["right"])
            accuracy = c.Chart("right decisions against the prior", 290)

    @page.draw
    def draw() -> None:
        dark, whole = page.session.dark, page.asked is None or page.sees_all
        c.show(left, not whole)
        both.style(add=_WHOLE) if whole else both.style(remove=_WHOLE)
        found, main = page.learned, page.main.found
        if found is not None:
            value, prior = found.asked.published, float(Fraction(found.asked.prior))
            belief.set(
                charts.belief(found.curve, prior=prior, value=value, posterior=found.posterior, dark=dark),
                f"Belief against the published count; {chance(found.posterior)} at {value}, "
                f"{chance(prior)} before.",
            )
        if main is not None:
            (row,) = main.profile.overall
            prior = float(row.prior)
            right = found.right[2] if found is not None and found.right else None
            mine = found.accuracy if found is not None else ()
            accuracy.set(
                charts.accuracy(mine, main.line, prior=prior, right=right, dark=dark),
                f"Right decisions against the prior; at prior {chance(prior)} someone who knows every "
                f"other record is right {percent_text(row.accuracy)} on the main path.",
            )


def _everything(page: RiskPage) -> None:
    """The best anyone can do with everything published, and level by level."""
    with c.card() as card:
        c.heading("With everything published: the best anyone can do", RISK_HELP["bound"])
        with c.box("wb-tiles"):
            right = c.Tile("Right decisions, all", RISK_HELP["bound"], first=True)
            advantage = c.Tile("Advantage", RISK_HELP["advantage"])
            mean = c.Tile("Mean belief if there, all", RISK_HELP["mean"])
            median = c.Tile("Median belief", RISK_HELP["median"])
        working = c.words("", "wb-soft", "div").style("margin-top: 8px")
        claim = c.words("", "wb-claim wb-hidden", "div")
        texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(2)]
        c.gap(18)
        c.heading("Level by level", RISK_HELP["levels"], 3)
        chart = c.Chart("right decisions by level")

    @page.draw
    def draw() -> None:
        progress = page.whole.progress
        done = f": {progress[1]} of {progress[2]}" if progress and progress[2] else ""
        working.set(f"Comparing all pairs of paths{done}." if progress else "")
        card.style(add="order: -1") if page.sees_all else card.style(remove="order: -1")
        c.put(card, "data-complete-risk", "true" if page.complete else "false")
        claim.say(say.claim_text(page.state))
        profile = page.profile
        if profile is None:
            return
        (row,) = profile.overall
        note, name, best = profile.claim.kind.label, "Right decisions, so far", percent_text(row.accuracy)
        if profile.is_bound:
            note = "all pairs of paths" if profile.compared > 1 else "the only case"
            name, best = "Right decisions, at most", say.bound_text(row.accuracy)
        right.set(best, f"{note}; {percent_text(row.baseline)} with nothing published", name)
        advantage.set(f"{row.advantage:.4f}", f"{note}, over chance")
        mean.set(chance(row.expected), note)
        median.set(chance(row.quantiles[2]), "of targets who are present")
        for text, said in zip(texts, say.best_sentences(profile), strict=True):
            text.set(said)
        pairs = [
            (level_name(one.scope), one.accuracy, level.accuracy)
            for one, level in zip(profile.one_count, profile.levels, strict=True)
        ]
        chart.element.style(f"height: {110 + 30 * len(pairs)}px")
        said = "; ".join(f"{name} {percent_text(one)}, {percent_text(every)}" for name, one, every in pairs)
        chart.set(
            charts.levels(pairs, overall=row.accuracy, baseline=row.baseline, dark=page.session.dark),
            f"Right decisions from one count and from all counts of a level: {said}",
        )
