"""The Risk page: what an adversary learns about one person, and what no adversary can beat."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from discreet.answers.adversary import attacked_answer, variance_text
from discreet.answers.answer import AnswerTable
from discreet.answers.best_guess import known_parts, leading_sentence
from discreet.answers.quantity import Quantity, Style
from discreet.answers.release import claim_note
from discreet.answers.risk import (
    belief_sentence,
    levels_panel,
    right_panel,
    right_percent,
    risk_facts,
)
from discreet.answers.risk_counts import belief_panel
from discreet.answers.risk_everything import (
    accusing_sentence,
    attribute_table,
    attribute_words,
    detection_panel,
    detection_table,
    guess_sentence,
    predictive_panel,
)
from discreet.budget.level_names import level_name
from discreet.disclosure.adversary import Adversary, Attacked, attackable, attacked
from discreet.disclosure.best_guess import best_guess
from discreet.disclosure.everything import ReleaseRisk
from discreet.disclosure.profile import RiskProfile
from discreet.disclosure.questions import DEFAULT_PRIOR
from discreet.errors import DiscreetError, InputError
from discreet.workbench import controls as c
from discreet.workbench.adversary import SCENARIOS, SETTINGS, adversary, read_chance
from discreet.workbench.risk_categories import build_categories
from discreet.workbench.session import Question, Session
from discreet.workbench.state import State
from discreet.workbench.tasks import MainPath, best_on_main_path, everything_published
from discreet.workbench.workers import processors

_TWO = "grid-template-columns: minmax(0, 1fr) minmax(0, 1fr)"
_WHOLE = "grid-template-columns: minmax(0, 1fr)"
_NO_COUNT = (
    "No count of this release has discrete Gaussian noise and changes by one with one record, so an attack "
    "on a single count is not computed. The bounds above hold."
)
_FEW = 24  # steps of the slider of the published count, on each side


class _RiskPage(c.Page):
    def __init__(self, session: Session) -> None:
        super().__init__(session, "risk")
        self.asked: Adversary | None = None
        self.attack: Question[Attacked] = self.question(attacked, 0.1, 120)
        self.main: Question[MainPath] = self.question(best_on_main_path, 0.3, 300)
        self.whole: Question[ReleaseRisk] = self.question(
            everything_published, 0.4, 1800, long=True, all_cases=True, reports=True
        )

    @property
    def prior(self) -> str:
        """The prior, as a fraction if it is one."""
        text = self.state.setting(self.name, "prior", DEFAULT_PRIOR)
        try:
            return read_chance(text)
        except DiscreetError:
            return text

    def get(self, key: str, default: str = "") -> str:
        if key in ("prior", "scenario") or self.asked is None:
            return self.prior if key == "prior" else super().get(key, default)
        return str(getattr(self.asked.counts[0] if key in ("level", "query") else self.asked, key))

    def at(self, key: str, text: str) -> State:
        below = (key, text) == ("scenario", "floor") and self.asked is not None and self.asked.published < 0
        return self.state.with_settings(self.name, {key: text, **({"published": "0"} if below else {})})

    @property
    def counts(self) -> bool:
        """Whether the adversary looks at single counts, and not at everything published."""
        return self.asked is not None and self.asked.scenario != "whole"

    @property
    def learned(self) -> Attacked | None:
        """What the adversary has learned from single counts."""
        return self.attack.found if self.counts else None

    def look(self, *, settled: bool) -> None:
        self.asked = None
        read_chance(self.prior)
        self.asked = adversary(self.state)
        self.attack.ask(self.asked, begin=self.counts)
        release = self.state.release
        prior, relation = self.prior, self.state.relation
        self.main.ask(release, prior=prior, neighbours=relation)
        self.whole.ask(release, prior=prior, neighbours=relation, jobs=processors(), begin=settled)

    @property
    def profile(self) -> RiskProfile | None:
        """The best that anyone can do: over all pairs of paths once they were compared."""
        if self.whole.now is not None:
            return self.whole.now.profile.at(self.whole.now.profile.priors[0])
        return self.main.found.profile if self.main.found else None

    @property
    def complete(self) -> bool:
        """Whether the bounds are of the present state and of all pairs of paths."""
        return self.whole.fresh


def build(session: Session) -> None:
    """Draw the page."""
    page = _RiskPage(session)
    with c.box("wb-stack"), c.box("wb-split"):
        with c.box("wb-stack"):
            _adversary(page)
        with c.box("wb-stack wb-open"):
            _everything(page)
            _rare(page)
            _answer(page)
            _pictures(page)
            build_categories(session, _shown_table)


def _adversary(page: _RiskPage) -> None:
    """Who attacks what."""

    def prior_at(step: int) -> Fraction:
        return Fraction(min(max(step, 1), 99), 100)

    def prior_said(text: str) -> tuple[int, str, str]:
        value = Fraction(1, 2) if page.trouble else Fraction(text)
        prior = Quantity(float(value), Style.GIVEN)
        return min(99, max(1, round(100 * value))), f"prior {prior}", str(prior)

    def levels() -> dict[str, str]:
        return {name: level_name(name) for name in attackable(page.state.release)}

    def queries() -> dict[str, str]:
        return {
            count.query: count.query for count in attackable(page.state.release).get(page.get("level"), ())
        }

    def noise() -> str:
        return "" if page.asked is None else variance_text(page.asked.counts[0].variance)

    scenario = page.setting("scenario", "one")
    prior, level, query = map(page.setting, ("prior", "level", "query"))
    with c.card():
        page.heading("The adversary", "scenario")
        c.choice(page, "What the adversary sees", scenario, SCENARIOS, "{}", bare=True)
        c.gap()
        what = "the prior"
        c.slider(page, "Prior", prior, (1, 99), prior_at, prior_said, what=what, term="prior")
        c.Field(page, "Prior, exact", read_chance, prior, what, placeholder=DEFAULT_PRIOR)
        with c.box("").style("margin-top: 12px") as counted:
            with c.box("wb-two").style("gap: 14px"):
                c.choice(page, "Level", level, levels, "looking at {}", term="level")
                c.choice(page, "Count", query, queries, "looking at another count", term="count", left=True)
            page.words(noise).style("margin: 6px 0 12px")
            _published(page)
            _assumptions(page)
        page.show(counted, lambda: page.counts)
        c.gap(4)
        page.alert(lambda: page.trouble or page.attack.trouble or page.main.trouble or page.whole.trouble)


def _published(page: _RiskPage) -> None:
    """What was published of the count: a slider around the known count, in steps of its noise."""

    def step_of(asked: Adversary) -> int:
        return max(1, -(-asked.reach // _FEW))

    def at(step: int) -> int:
        asked, value = page.asked, 0
        if asked is not None:
            value = asked.known + step * step_of(asked)
            value = max(value, 0) if asked.scenario == "floor" else value
        return value

    def said(_: str) -> tuple[int, str, str]:
        asked = page.asked
        if asked is None:
            return 0, "", ""
        step = round((asked.published - asked.known) / step_of(asked))
        return max(-_FEW, min(_FEW, step)), f"published {asked.published}", f"{asked.published:,}"

    what, setting = "the published count", page.setting("published")
    c.slider(page, "Published count", setting, (-_FEW, _FEW), at, said, what=what, term="published")


def _assumptions(page: _RiskPage) -> None:
    """What the adversary knows or supposes, by what they see."""

    def read(name: str, text: str) -> str:
        asked = adversary(page.at(name, text.strip()))
        if asked is not None and asked.scenario == "floor" and asked.published < 0:
            raise InputError("negative values are published as 0 here")
        return "" if asked is None else str(getattr(asked, name))

    for scenario in ("", "unsure", "hierarchy"):
        with c.box("wb-fields").style(f"margin-top: 8px; {_TWO}") as group:
            for name, assumption in SETTINGS.items():
                if assumption.scenario == scenario:
                    setting, what, label = page.setting(name), name + " {}", assumption.label
                    c.Field(
                        page,
                        label,
                        partial(read, name),
                        setting,
                        what,
                        shown=label,
                        term=assumption.term,
                    )
        page.show(group, lambda only=scenario: only in ("", page.get("scenario")))  # type: ignore[misc]


def _answer(page: _RiskPage) -> None:
    """What the adversary believes and decides."""

    def sentences() -> list[str] | None:
        return [str(said) for said in attacked_answer(page.learned).body] if page.learned else None

    with c.card("What the adversary learns", aria_live="polite") as card:
        with c.box("wb-tiles") as tiles:
            numbers = (
                c.Tile(page, "Belief afterwards", "posterior"),
                c.Tile(page, "Times the prior", "ratio"),
                c.Tile(page, "Right decisions", "right"),
                c.Tile(page, "Mean belief if there", "mean"),
            )
        page.texts(3, sentences, "margin: 10px 0 0")
        page.words(lambda: "" if page.asked else _NO_COUNT, tag="p")
        page.words(lambda: str(page.attack.updates), "wb-alive", "span", data_risk_updates="")
    page.show(card, lambda: page.asked is None or page.counts)
    page.show(tiles, lambda: page.asked is not None)

    @page.draw
    def draw() -> None:
        learned = page.learned
        if learned is None:
            return
        for tile, fact in zip(numbers, attacked_answer(learned).facts, strict=True):
            tile.show(fact)


def _pictures(page: _RiskPage) -> None:
    """Belief against what is published, and decisions against the prior."""

    def belief() -> c.Drawn:
        learned = page.learned
        if learned is None:
            return None
        value, prior = learned.asked.published, float(Fraction(learned.asked.prior))
        return (
            belief_panel(learned.curve, prior=prior, value=value, posterior=learned.posterior),
            f"Belief against the published count; {_belief(learned.posterior)} at {value}, "
            f"{_belief(prior)} before.",
        )

    def accuracy() -> c.Drawn:
        learned, main = page.learned, page.main.found
        if main is None:
            return None
        (row,) = main.profile.overall
        right = learned.right[2] if learned is not None and learned.right else None
        mine, prior = learned.accuracy if learned is not None else (), float(row.prior)
        several = len(page.state.base.paths) > 1
        return (
            right_panel(mine, main.line, prior=prior, right=right, is_main_path=several),
            f"Right decisions against the prior; at prior {_belief(prior)} someone who knows every "
            f"other record is right {right_percent(row, unit='%')} on the main path.",
        )

    with c.box("wb-two") as both:
        with c.card() as left:
            page.heading("Belief, by what is published", "posterior")
            page.chart("belief against the published count", belief, 290)
        with c.card():
            page.heading("Right decisions, by prior", "right")
            page.chart("right decisions against the prior", accuracy, 290)
    page.show(left, lambda: page.counts)
    page.draw(lambda: both.style(remove=_WHOLE) if page.counts else both.style(add=_WHOLE))


def _everything(page: _RiskPage) -> None:
    """The best anyone can do with everything published, and level by level."""

    def levels() -> c.Drawn:
        if page.profile is None:
            return None
        pairs = list(zip(page.profile.one_count, page.profile.levels, strict=True))
        chart.style(f"height: {110 + 30 * len(pairs)}px")
        said = "; ".join(
            "{} {}, {}".format(
                level_name(level.scope), *(right_percent(row, unit="%") for row in (level, every))
            )
            for level, every in pairs
        )
        return (
            levels_panel(page.profile),
            f"Right decisions from one count and from all counts of a level: {said}",
        )

    def build_known(profile: RiskProfile) -> None:
        for part in known_parts(best_guess(profile)):
            if isinstance(part, AnswerTable):
                _shown_table(part)
            else:
                c.words(str(part), "wb-text", "p").style("margin: 12px 0 6px")

    with c.card("Everything published").classes("wb-lead") as card:
        page.heading("With everything published: the best anyone can do", "bound")
        with c.box("wb-tiles"):
            right = c.Tile(page, "Right decisions, all", "bound", first=True)
            advantage = c.Tile(page, "Advantage", "advantage")
            mean = c.Tile(page, "Mean belief if there, all", "mean")
            median = c.Tile(page, "Median belief", "median")
        page.words(lambda: c.comparing(page.whole.progress)).style("margin-top: 8px")
        page.words(lambda: claim_note(page.state.base.claim), "wb-claim", hides=True)
        page.texts(
            2,
            lambda: (
                [str(leading_sentence(best_guess(page.profile))), str(belief_sentence(page.profile))]
                if page.profile
                else None
            ),
            "margin: 10px 0 0",
        )
        page.rebuild(c.box(""), lambda: page.profile, build_known, dims=True)
        c.gap(18)
        page.heading("Level by level", "levels", 3)
        chart = page.chart("right decisions by level", levels)

    @page.draw
    def draw() -> None:
        profile = page.profile
        c.put(card, "data-complete-risk", page.complete)
        if profile is None:
            return
        first, *others = risk_facts(profile)
        right.set(str(first.value), str(first.note), str(first.label))
        for tile, fact in zip((advantage, mean, median), others, strict=True):
            tile.set(str(fact.value), str(fact.note))


def _rare(page: _RiskPage) -> None:
    """What changes at a low prior, what is guessed, and what each attribute is at risk of."""

    def sentences() -> list[str] | None:
        whole = page.whole.now
        said = [] if whole is None else [accusing_sentence(whole), guess_sentence(whole)]
        return [str(text) for text in said if text is not None] or None

    def found_targets() -> c.Drawn:
        whole = page.whole.now
        if whole is None:
            return None
        return (
            detection_panel(_points(whole)),
            "Present targets found against the rate of wrong accusations, both on logarithmic axes.",
        )

    def right_accusing() -> c.Drawn:
        whole = page.whole.now
        if whole is None:
            return None
        return (
            predictive_panel(_points(whole), whole.profile.priors),
            "Share of those accused who are present against the rate of wrong accusations, by prior, both on "
            "logarithmic axes.",
        )

    def build_attributes(risk: ReleaseRisk) -> None:
        if risk.attributes:
            c.words(attribute_words(risk), "wb-text", "p").style("margin: 0 0 6px")
            _shown_table(attribute_table(risk))

    with c.card() as card:
        page.heading("Where targets are rare, and what is guessed", "rare")
        page.texts(2, sentences, "margin: 6px 0 10px")
        page.rebuild(
            c.box(""),
            lambda: page.whole.now,
            lambda risk: _shown_table(detection_table(risk.detections)),
            dims=True,
        )
        with c.box("wb-two"):
            page.chart("present targets found", found_targets, 260)
            page.chart("right when accusing", right_accusing, 260)
        page.rebuild(c.box("").style("margin-top: 14px"), lambda: page.whole.now, build_attributes, dims=True)
    page.show(card, lambda: page.whole.now is not None)


def _points(risk: ReleaseRisk) -> tuple[tuple[float, float], ...]:
    """The points that the table has."""
    return tuple((row.false_positive_rate, row.true_positive_rate) for row in risk.detections)


def _shown_table(table: AnswerTable) -> None:
    """A table of an answer."""
    with c.box("wb-scroll"), c.box("wb-table", "table"):
        c.table_head([column.title for column in table.head])
        with c.box("", "tbody"):
            for first, *others in table.cells:
                with c.box("", "tr"):
                    c.words(first, tag="th", scope="row")
                    for text in others:
                        c.words(text, tag="td")


def _belief(value: float) -> str:
    return str(Quantity(value, Style.CHANCE))
