"""The Risk page: what an adversary learns about one person, and what no adversary can beat."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from discreet.budget.levels import level_name
from discreet.errors import DiscreetError, InputError
from discreet.numbers import chance, number, percent, plain, with_fraction
from discreet.risk import RiskProfile
from discreet.risk.profile import belief_sentence, right_sentence
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.adversary import (
    SCENARIOS,
    SETTINGS,
    Adversary,
    Attacked,
    adversary,
    attackable,
    read_chance,
)
from discreet.workbench.session import Question, Session
from discreet.workbench.state import State
from discreet.workbench.tasks import MainPath
from discreet.workbench.workers import processors

_TWO = "grid-template-columns: minmax(0, 1fr) minmax(0, 1fr)"
_WHOLE = "grid-template-columns: minmax(0, 1fr)"
_NO_COUNT = (
    "No count of this release has discrete Gaussian noise and changes by one with one record, so an attack "
    "on a single count is not computed. The bounds below hold."
)
_FEW = 24  # steps of the slider of the published count, on each side
_right = partial(percent, places=2)


class RiskPage(c.Page):
    """What the parts share: the adversary, what they learn, and the best that anyone can do."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "risk")
        self.asked: Adversary | None = None
        self.attack: Question[Attacked] = self.question("attacked")
        self.main: Question[MainPath] = self.question("best_on_main_path")
        self.whole: Question[RiskProfile] = self.question("best_of_anyone", long=True)

    @property
    def prior(self) -> str:
        """The prior, as a fraction if it is one."""
        text = self.setting("prior", "1/2")
        try:
            return read_chance(text)
        except DiscreetError:
            return text

    @property
    def scenario(self) -> str:
        """What the adversary sees."""
        return self.setting("scenario", "one")

    @property
    def counts(self) -> bool:
        """Whether the adversary looks at single counts, and not at everything published."""
        return self.asked is not None and self.asked.scenario != "whole"

    @property
    def learned(self) -> Attacked | None:
        """What the adversary has learned from single counts."""
        return self.attack.found if self.counts else None

    def look(self, *, settled: bool) -> None:
        """Ask what the adversary learns, and for the bounds."""
        self.asked = None
        read_chance(self.prior)
        self.asked = adversary(self.state)
        if self.counts:
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

    def chose(scenario: str) -> None:
        values = {"scenario": scenario if scenario != "one" else ""}
        if scenario == "floor" and page.asked is not None and page.asked.published < 0:
            values["published"] = "0"
        page.change(values, SCENARIOS[scenario])

    def prior_now() -> tuple[int, str, str]:
        value = Fraction(1, 2) if page.trouble else Fraction(page.prior)
        return min(99, max(1, round(100 * value))), f"prior {plain(value)}", plain(value)

    with c.card():
        c.heading("The adversary", page.help["scenario"])
        page.choice("What the adversary sees", SCENARIOS, chose, lambda: page.scenario, bare=True)
        c.gap()
        page.slider(
            "Prior",
            (1, 99),
            lambda step: page.with_settings({"prior": str(Fraction(min(max(step, 1), 99), 100))}),
            prior_now,
            what="the prior",
            explained=page.help["prior"],
        )
        prior = page.field(
            "Prior, exact",
            read_chance,
            lambda _: page.change({"prior": prior.value}, "the prior"),
            lambda: (page.prior,),
            placeholder="1/2",
        )
        with c.box("").style("margin-top: 12px") as counted:
            _which_count(page)
            _published(page)
            _assumptions(page)
        page.draw(lambda: c.show(counted, page.counts))
        c.gap(4)
        page.alert(lambda: page.trouble or page.attack.trouble or page.main.trouble or page.whole.trouble)


def _which_count(page: RiskPage) -> None:
    """The count that is attacked, and its noise."""

    def noise() -> str:
        if page.asked is None:
            return ""
        variance = page.asked.counts[0].variance
        text = with_fraction(variance)
        text = text if len(text) < 30 else f"about {plain(variance)}"
        return f"Noise with variance {text}, standard deviation {number(float(variance) ** 0.5, 3)}."

    with c.box("wb-two").style("gap: 14px"):
        level = c.Choice(
            "Level",
            {},
            lambda level: page.change({"level": level}, f"looking at {level_name(level)}"),
            explained=page.help["level"],
        )
        query = c.Choice(
            "Count",
            {},
            lambda query: page.change({"query": query}, "looking at another count"),
            explained=page.help["count"],
            left=True,
        )
    page.words(noise).style("margin: 6px 0 12px")

    @page.draw
    def draw() -> None:
        if page.asked is not None:
            counts, count = attackable(page.state.release), page.asked.counts[0]
            level.set(count.level, {name: level_name(name) for name in counts})
            query.set(count.query, {one.query: one.query for one in counts[count.level]})


def _published(page: RiskPage) -> None:
    """What was published of it: a slider around the known count, in steps of its noise."""

    def step_of(asked: Adversary) -> int:
        return max(1, -(-asked.reach // _FEW))

    def at(step: int) -> State:
        asked, value = page.asked, 0
        if asked is not None:
            value = asked.known + step * step_of(asked)
            value = max(value, 0) if asked.scenario == "floor" else value
        return page.with_settings({"published": str(value)})

    def now() -> tuple[int, str, str]:
        asked = page.asked
        if asked is None:
            return 0, "", ""
        step = round((asked.published - asked.known) / step_of(asked))
        return max(-_FEW, min(_FEW, step)), f"published {asked.published}", f"{asked.published:,}"

    page.slider(
        "Published count",
        (-_FEW, _FEW),
        at,
        now,
        what="the published count",
        explained=page.help["published"],
    )


def _assumptions(page: RiskPage) -> None:
    """What the adversary knows or supposes, by what they see."""
    fields: dict[str, c.Field[str]] = {}
    groups = {}

    def read(name: str, text: str) -> str:
        asked = adversary(page.with_settings({name: text.strip()}))
        if asked is not None and asked.scenario == "floor" and asked.published < 0:
            raise InputError("negative values are published as 0 here")
        return "" if asked is None else str(getattr(asked, name))

    def use(name: str, _: str) -> None:
        page.change({name: fields[name].value}, f"{name} {fields[name].value}")

    for scenario in ("", "unsure", "hierarchy"):
        with c.box("wb-fields").style(f"margin-top: 8px; {_TWO}") as groups[scenario]:
            for name, one in SETTINGS.items():
                if one.scenario == scenario:
                    fields[name] = c.Field(
                        one.label,
                        partial(read, name),
                        partial(use, name),
                        shown=one.label,
                        explained=page.help.get(one.term, ""),
                    )

    @page.draw
    def draw() -> None:
        for scenario, group in groups.items():
            c.show(group, scenario in ("", page.scenario))
        for name, field in fields.items():
            if page.asked is not None:
                text = str(getattr(page.asked, name))
                field.show(text, text)


def _commands(page: RiskPage) -> None:
    """The command lines that give the same numbers."""
    with c.card():
        c.heading("The same numbers on the command line")
        one = c.words("", "wb-command", "code").style("margin-bottom: 8px")
        everything = c.words("", "wb-command", "code")

    @page.draw
    def draw() -> None:
        bound = say.command(page.state, "risk release", "--prior", page.prior)
        single = page.asked.command if page.asked is not None and page.counts else bound
        one.set(single)
        everything.set(bound)
        c.show(everything, single != bound)


def _answer(page: RiskPage) -> None:
    """What the adversary believes and decides."""
    with c.card("What the adversary learns", aria_live="polite") as card:
        with c.box("wb-tiles") as tiles:
            posterior = c.Tile("Belief afterwards", page.help["posterior"], first=True)
            ratio = c.Tile("Times the prior", page.help["ratio"])
            right = c.Tile("Right decisions", page.help["right"])
            mean = c.Tile("Mean belief if there", page.help["mean"])
        texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(3)]
        page.words(lambda: "" if page.asked else _NO_COUNT, tag="p")
        page.words(lambda: str(page.attack.updates), "wb-alive", "span", data_risk_updates="")

    @page.draw
    def draw() -> None:
        c.show(card, page.asked is None or page.counts)
        c.show(tiles, page.asked is not None)
        found = page.learned
        if found is None:
            return
        posterior.set(chance(found.posterior), f"before: {chance(float(Fraction(found.asked.prior)))}")
        ratio.set(number(found.ratio, 4), "belief afterwards over prior")
        if found.right is None:
            right.set("–", "not computed; the bound below holds")
        else:
            present, absent, both = map(_right, found.right)
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
            c.heading("Belief, by what is published", page.help["posterior"])
            belief = c.Chart("belief against the published count", 290)
        with c.card():
            c.heading("Right decisions, by prior", page.help["right"])
            accuracy = c.Chart("right decisions against the prior", 290)

    @page.draw
    def draw() -> None:
        dark = page.session.dark
        c.show(left, page.counts)
        both.style(remove=_WHOLE) if page.counts else both.style(add=_WHOLE)
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
                f"other record is right {_right(row.accuracy)} on the main path.",
            )


def _everything(page: RiskPage) -> None:
    """The best anyone can do with everything published, and level by level."""
    with c.card() as card:
        c.heading("With everything published: the best anyone can do", page.help["bound"])
        with c.box("wb-tiles"):
            right = c.Tile("Right decisions, all", page.help["bound"], first=True)
            advantage = c.Tile("Advantage", page.help["advantage"])
            mean = c.Tile("Mean belief if there, all", page.help["mean"])
            median = c.Tile("Median belief", page.help["median"])
        page.words(lambda: say.comparing(page.whole.progress)).style("margin-top: 8px")
        page.alert(lambda: say.claim_text(page.state), "wb-claim")
        texts = [c.words("", "wb-text", "p").style("margin: 10px 0 0") for _ in range(2)]
        c.gap(18)
        c.heading("Level by level", page.help["levels"], 3)
        chart = c.Chart("right decisions by level")

    @page.draw
    def draw() -> None:
        all_seen, profile = page.asked is not None and not page.counts, page.profile
        card.style(add="order: -1") if all_seen else card.style(remove="order: -1")
        c.put(card, "data-complete-risk", page.complete)
        if profile is None:
            return
        (row,) = profile.overall
        note, name = profile.claim.kind.label, "Right decisions, so far"
        if profile.is_bound:
            note = "all pairs of paths" if profile.compared > 1 else "the only case"
            name = "Right decisions, at most"
        best = f"{row.right(percent=True)} %"
        right.set(best, f"{note}; {_right(row.baseline)} with nothing published", name)
        advantage.set(row.over_chance, f"{note}, over chance")
        mean.set(row.belief(row.expected), note)
        median.set(row.belief(row.quantiles[2]), "of targets who are present")
        for text, said in zip(texts, (right_sentence(profile), belief_sentence(profile)), strict=True):
            text.set(said)
        pairs = list(zip(profile.one_count, profile.levels, strict=True))
        chart.element.style(f"height: {110 + 30 * len(pairs)}px")
        said = "; ".join(
            f"{level_name(one.scope)} {one.right(percent=True)} %, {every.right(percent=True)} %"
            for one, every in pairs
        )
        chart.set(
            charts.levels(pairs, overall=row, dark=page.session.dark),
            f"Right decisions from one count and from all counts of a level: {said}",
        )
