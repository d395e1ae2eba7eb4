"""The Risk page: what an adversary learns about one person, and what no adversary can beat."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from nicegui.element import Element

from discreet.errors import DiscreetError, InputError
from discreet.numbers import chance
from discreet.report import words
from discreet.report.words import level_name
from discreet.risk import RiskProfile
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.session import Page, Session
from discreet.workbench.settings import SCENARIOS, Adversary, adversary, attackable, read_chance
from discreet.workbench.tasks import Attacked, MainPath
from discreet.workbench.words import RISK_HELP, percent_text
from discreet.workbench.workers import processors

NAME = "risk"
_OWN = {
    "unsure": (("people", "unsure about", RISK_HELP["unsure"]), ("chance", "probability of each", "")),
    "hierarchy": (
        ("siblings", "areas beside it", RISK_HELP["siblings"]),
        ("beside", "their published sum", ""),
        ("above", "published above", RISK_HELP["above"]),
    ),
}
"""Fields that one scenario has for itself: name, label, help."""

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
        self.attack = self.question("attacked")
        self.main = self.question("best_on_main_path")
        self.whole = self.question("best_of_anyone", long=True)

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

    def look(self, *, settled: bool) -> None:
        """Ask what the adversary learns, and for the bounds."""
        self.asked = None
        read_chance(self.prior)
        self.asked = adversary(self.state)
        if self.asked is not None and not self.sees_all:
            self.attack.ask(self.asked)
        else:
            self.attack.drop()
        release, relation = self.state.release, self.state.relation
        self.main.ask(release, relation, self.prior)
        asked = (release, relation, self.prior, processors())
        if settled and len(release.paths) > 1:  # else the main path is all there is
            self.whole.ask(*asked)
        elif self.whole.asked != asked:
            self.whole.drop()

    @property
    def profile(self) -> RiskProfile | None:
        """The best that anyone can do: over all pairs of paths once they were compared."""
        main: MainPath | None = self.main.found
        found: RiskProfile | None = self.whole.now or (main.profile if main else None)
        return found

    @property
    def complete(self) -> bool:
        """Whether the bounds are of the present state and of all pairs of paths."""
        return self.main.fresh if len(self.state.release.paths) == 1 else self.whole.fresh


def build(session: Session) -> None:
    """Draw the page."""
    page = RiskPage(session)
    with c.box("wb-stack"), c.box("wb-split"):
        with c.box("wb-stack"):
            _Adversary(page)
            _Commands(page)
        with c.box("wb-stack"):
            _Answer(page)
            _Pictures(page)
            _Everything(page)
    page.start()


class _Adversary:
    """Who attacks what."""

    def __init__(self, page: RiskPage) -> None:
        self.page = page
        with c.card():
            c.heading("The adversary", RISK_HELP["scenario"])
            self._scenario = c.Choice("What the adversary sees", SCENARIOS, self._chose)
            c.gap()
            self._slider = c.Slider(
                "Prior",
                (1, 99),
                explained=RISK_HELP["prior"],
                moved=lambda step: page.preview({"prior": _hundredth(step)}),
                let_go=lambda step: page.change({"prior": _hundredth(step)}, "the prior"),
            )
            self._prior = c.Field("Prior, exact", self._typed_prior, placeholder="1/2")
            with c.box("").style("margin-top: 12px") as self._count:
                with c.box("wb-two").style("gap: 14px"):
                    self._level = c.labelled_choice(
                        "Level", {}, self._chose_level, explained=RISK_HELP["level"]
                    )
                    self._query = c.labelled_choice(
                        "Count", {}, self._chose_query, explained=RISK_HELP["count"], left=True
                    )
                self._noise = c.words("", "wb-soft", "div").style("margin: 6px 0 12px")
                self._published = c.Slider(
                    "Published count",
                    (-_FEW, _FEW),
                    explained=RISK_HELP["published"],
                    moved=lambda step: page.preview({"published": str(self._value(step))}),
                    let_go=lambda step: page.change(
                        {"published": str(self._value(step))}, "the published count"
                    ),
                )
                self._fields: dict[str, c.Field] = {}
                self._fields_of(
                    (("published", "published", ""), ("known", "others known", RISK_HELP["known"]))
                )
                self._own = {scenario: self._fields_of(parts) for scenario, parts in _OWN.items()}
            c.gap(4)
            self._trouble = c.alert()
        page.draw(self._draw)

    def _fields_of(self, parts: tuple[tuple[str, str, str], ...]) -> Element:
        with c.box("wb-fields").style(f"margin-top: 8px; {_TWO}") as made:
            for name, shown, explained in parts:
                typed: Callable[[str], None] = partial(self._typed, name)
                self._fields[name] = c.Field(shown, typed, shown=shown, explained=explained)
        return made

    def _step(self, asked: Adversary) -> int:
        return max(1, -(-asked.reach // _FEW))

    def _value(self, step: int) -> int:
        asked = self.page.asked
        if asked is None:
            return 0
        value = asked.known + step * self._step(asked)
        return max(value, 0) if asked.scenario == "floor" else value

    def _draw(self) -> None:
        page, asked = self.page, self.page.asked
        scenario = page.state.setting(NAME, "scenario", "one")
        self._scenario.set(scenario)
        self._trouble.say(page.trouble or page.attack.trouble or page.main.trouble or page.whole.trouble)
        c.show(self._count, asked is not None and scenario != "whole")
        for name, made in self._own.items():
            c.show(made, name == scenario)
        if not self._prior.wrong:
            value = Fraction(page.prior) if not page.trouble else Fraction(1, 2)
            self._slider.set(
                min(99, max(1, round(100 * value))), f"prior {words.plain(value)}", words.plain(value)
            )
            self._prior.keep(value, _number, page.prior)
        if asked is None:
            return
        counts, count = attackable(page.state.release), asked.counts[0]
        self._level.set(count.level, {name: level_name(name) for name in counts})
        self._query.set(count.query, {one.query: one.query for one in counts[count.level]})
        deviation = words.number(float(count.variance) ** 0.5, 3)
        variance = words.with_fraction(count.variance)
        variance = variance if len(variance) < 30 else f"about {words.plain(count.variance)}"
        self._noise.set(f"Noise with variance {variance}, standard deviation {deviation}.")
        step = round((asked.published - asked.known) / self._step(asked))
        self._published.set(
            max(-_FEW, min(_FEW, step)), f"published {asked.published}", f"{asked.published:,}"
        )
        for name, field in self._fields.items():
            value = getattr(asked, name)
            if not field.wrong:
                field.keep(Fraction(value), _number, str(value))

    def _chose(self, scenario: str) -> None:
        values = {"scenario": scenario if scenario != "one" else ""}
        asked = self.page.asked
        if scenario == "floor" and asked is not None and asked.published < 0:
            values["published"] = "0"
        self.page.change(values, SCENARIOS[scenario])

    def _chose_level(self, level: str) -> None:
        self.page.change({"level": level}, f"looking at {level_name(level)}")

    def _chose_query(self, query: str) -> None:
        self.page.change({"query": query}, "looking at another count")

    def _typed_prior(self, text: str) -> None:
        self._prior.take(text, read_chance, lambda _: self.page.change({"prior": text.strip()}, "the prior"))

    def _typed(self, name: str, text: str) -> None:
        values = {name: text.strip()}

        def read(_: str) -> Adversary | None:
            asked = adversary(self.page.session.state.with_settings(NAME, values))
            if asked is not None and asked.scenario == "floor" and asked.published < 0:
                raise InputError("negative values are published as 0 here")
            return asked

        self._fields[name].take(text, read, lambda _: self.page.change(values, f"{name} {text.strip()}"))


def _hundredth(step: int) -> str:
    """Write a hundredth as shortly as possible.

    >>> _hundredth(50), _hundredth(7)
    ('1/2', '7/100')
    """
    return str(Fraction(min(max(step, 1), 99), 100))


def _number(text: str) -> Fraction:
    return Fraction(text.strip().replace(",", ""))


class _Commands:
    """The command lines that give the same numbers."""

    def __init__(self, page: RiskPage) -> None:
        self.page = page
        with c.card():
            c.heading("The same numbers on the command line")
            self._one = c.words("", "wb-command", "code").style("margin-bottom: 8px")
            self._all = c.words("", "wb-command", "code")
        page.draw(self._draw)

    def _draw(self) -> None:
        page, state = self.page, self.page.state
        bound = say.bound_command(page.prior, state)
        one = say.attack_command(page.asked, state) if page.asked is not None else bound
        self._one.set(one)
        self._all.set(bound)
        c.show(self._all, one != bound)


class _Answer:
    """What the adversary believes and decides."""

    def __init__(self, page: RiskPage) -> None:
        self.page = page
        with c.card("What the adversary learns", aria_live="polite") as self._card:
            with c.box("wb-tiles") as self._one:
                self._posterior = c.Tile("Belief afterwards", RISK_HELP["posterior"], first=True)
                self._ratio = c.Tile("Times the prior", RISK_HELP["ratio"])
                self._right = c.Tile("Right decisions", RISK_HELP["right"])
                self._mean = c.Tile("Mean belief if there", RISK_HELP["mean"])
            self._texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(3)]
            self._none = c.words("", "wb-soft", "p")
            self._count = c.words("0", "wb-alive", data_risk_updates="")
        page.draw(self._draw)

    def _draw(self) -> None:
        page = self.page
        self._count.set(str(page.attack.updates))
        c.show(self._card, not page.sees_all)
        c.show(self._one, page.asked is not None)
        self._none.set("" if page.asked else _NO_COUNT)
        found: Attacked | None = page.attack.found
        if found is None or page.attack.of is None or page.asked is None or page.sees_all:
            return
        prior = float(Fraction(page.attack.of[0].prior))
        self._posterior.set(chance(found.posterior), f"before: {chance(prior)}")
        self._ratio.set(words.number(found.ratio, 4), "belief afterwards over prior")
        if found.right is None:
            self._right.set("–", "not computed; the bound below holds")
        else:
            present, absent, both = found.right
            self._right.set(
                percent_text(both), f"if there {percent_text(present)}, if not {percent_text(absent)}"
            )
        if found.mean_present is None or found.mean_absent is None:
            self._mean.set("–", "not computed here")
        else:
            self._mean.set(chance(found.mean_present), f"if not there {chance(found.mean_absent)}")
        for place, text in enumerate(self._texts):
            text.set(found.said[place] if place < len(found.said) else "")


class _Pictures:
    """Belief against what is published, and decisions against the prior."""

    def __init__(self, page: RiskPage) -> None:
        self.page = page
        with c.box("wb-two") as self._both:
            with c.card() as self._left:
                c.heading("Belief, by what is published", RISK_HELP["posterior"])
                self._belief = c.Chart("belief against the published count", 290)
            with c.card():
                c.heading("Right decisions, by prior", RISK_HELP["right"])
                self._accuracy = c.Chart("right decisions against the prior", 290)
        page.draw(self._draw)

    def _draw(self) -> None:
        page, dark = self.page, self.page.session.dark
        whole = page.asked is None or page.sees_all
        c.show(self._left, not whole)
        self._both.style(add=_WHOLE) if whole else self._both.style(remove=_WHOLE)
        found: Attacked | None = None if whole else page.attack.found
        main: MainPath | None = page.main.found
        if found is not None and page.attack.of is not None:
            asked: Adversary = page.attack.of[0]
            prior = float(Fraction(asked.prior))
            self._belief.set(
                charts.belief(
                    found.curve, prior=prior, value=asked.published, posterior=found.posterior, dark=dark
                ),
                f"Belief against the published count; {chance(found.posterior)} at {asked.published}, "
                f"{chance(prior)} before.",
            )
        if main is not None and page.main.of is not None:
            prior = float(Fraction(page.main.of[2]))
            right = found.right[2] if found is not None and found.right else None
            mine = found.accuracy if found is not None else ()
            self._accuracy.set(
                charts.accuracy(mine, main.line, prior=prior, right=right, dark=dark),
                f"Right decisions against the prior; at prior {chance(prior)} someone who knows every "
                f"other record is right {percent_text(main.profile.overall[0].accuracy)} on the main path.",
            )


class _Everything:
    """The best anyone can do with everything published, and level by level."""

    def __init__(self, page: RiskPage) -> None:
        self.page = page
        with c.card() as self._card:
            c.heading("With everything published: the best anyone can do", RISK_HELP["bound"])
            with c.box("wb-tiles"):
                self._right = c.Tile("Right decisions, all", RISK_HELP["bound"], first=True)
                self._advantage = c.Tile("Advantage", RISK_HELP["advantage"])
                self._mean = c.Tile("Mean belief if there, all", RISK_HELP["mean"])
                self._median = c.Tile("Median belief", RISK_HELP["median"])
            self._progress = c.words("", "wb-soft", "div").style("margin-top: 8px")
            self._claim = c.words("", "wb-claim wb-hidden", "div")
            self._texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(2)]
            c.gap(18)
            c.heading("Level by level", RISK_HELP["levels"], 3)
            self._chart = c.Chart("right decisions by level")
        page.draw(self._draw)

    def _draw(self) -> None:
        page, dark, progress = self.page, self.page.session.dark, self.page.whole.progress
        done = f": {progress[1]} of {progress[2]}" if progress and progress[2] else ""
        self._progress.set(f"Comparing all pairs of paths{done}." if progress else "")
        self._card.style(add="order: -1") if page.sees_all else self._card.style(remove="order: -1")
        c.put(self._card, "data-complete-risk", "true" if page.complete else "false")
        self._claim.say(say.claim_text(page.state))
        profile = page.profile
        if profile is None:
            return
        (row,) = profile.overall
        note = profile.claim.kind.label
        if profile.is_bound:
            note = "all pairs of paths" if profile.compared > 1 else "the only case"
        right = say.bound_text(row.accuracy) if profile.is_bound else percent_text(row.accuracy)
        name = "Right decisions, at most" if profile.is_bound else "Right decisions, so far"
        self._right.set(right, f"{note}; {percent_text(row.baseline)} with nothing published", name)
        self._advantage.set(f"{row.advantage:.4f}", f"{note}, over chance")
        self._mean.set(chance(row.expected), note)
        self._median.set(chance(row.quantiles[2]), "of targets who are present")
        for text, said in zip(self._texts, say.best_sentences(profile), strict=True):
            text.set(said)
        pairs = [
            (level_name(one.scope), one.accuracy, level.accuracy)
            for one, level in zip(profile.one_count, profile.levels, strict=True)
        ]
        self._chart.element.style(f"height: {110 + 30 * len(pairs)}px")
        said = "; ".join(f"{name} {percent_text(one)}, {percent_text(every)}" for name, one, every in pairs)
        self._chart.set(
            charts.levels(
                [name for name, _, _ in pairs],
                [one for _, one, _ in pairs],
                [every for _, _, every in pairs],
                overall=row.accuracy,
                baseline=row.baseline,
                dark=dark,
            ),
            f"Right decisions from one count and from all counts of a level: {said}",
        )
