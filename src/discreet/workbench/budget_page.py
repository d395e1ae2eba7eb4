"""The Budget page: a release, its total and its levels under sliders; exact numbers and curves beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from discreet.budget import AnswerKind
from discreet.budget.catalogue import presets
from discreet.errors import DiscreetError
from discreet.numbers import positive
from discreet.report import words
from discreet.report.words import level_name
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.session import Page, Session
from discreet.workbench.session_file import exact_text
from discreet.workbench.state import TOTAL_STEPS, Budget, State, factor_at, step_of, whole_weights
from discreet.workbench.words import HELP

NAME = "budget"
_STEPS = 1000  # of a level's slider
_OWN = "own"


def build(session: Session) -> None:
    """Draw the page."""
    page = Page(session, NAME)
    with c.box("wb-stack"):
        with c.box("wb-split"):
            with c.box("wb-stack"):
                _Release(page)
                _Sliders(page)
            with c.box("wb-stack"):
                _Headline(page)
                _Curves(page)
                _Words(page)
        _Shares(page)
    page.start()


class _Release:
    """Which release, at which delta, for which neighbours."""

    def __init__(self, page: Page) -> None:
        self.page, self.session = page, page.session
        self._known: Fraction | None = None
        with c.card("Release"):
            c.heading("Release")
            names = {**{name: name for name in presets()}, _OWN: "opened file"}
            self._choice = c.Choice("Release", names, self._chosen)
            self._title = c.words("", "wb-soft", "div").style("margin: 8px 0 14px")
            with c.box("wb-pair"):
                self._delta = c.Field("delta", self._typed, shown="delta", explained=HELP["delta"])
                kinds = {"bounded": "bounded", "unbounded": "unbounded"}
                self._relation = c.labelled_choice(
                    "neighbours", kinds, self._related, explained=HELP["neighbours"], left=True
                )
        page.draw(self._draw)

    def _draw(self) -> None:
        state = self.page.state
        self._choice.set(state.source if state.is_preset else _OWN)
        file = "" if state.is_preset else f"{state.source}: "
        self._title.set(f"{file}{state.base.title or state.base.name}")
        self._relation.set(state.relation)
        if state.delta != self._known:
            self._known = state.delta
            self._delta.set(exact_text(state.delta))
            self._delta.say(None)

    def _chosen(self, name: str) -> None:
        if name == _OWN:
            self._draw()
            return
        fresh, old = State.of(name), self.session.state
        state = State(fresh.base, fresh.source, True, delta=old.delta, settings=old.settings)
        self.session.commit(state, f"choosing {name}")

    def _typed(self, text: str) -> None:
        def use(state: State) -> None:
            self._known = state.delta
            self.session.commit(state, f"delta {exact_text(state.delta)}")

        self._delta.take(text, self.session.state.with_delta, use)

    def _related(self, relation: str) -> None:
        self.session.commit(self.session.state.with_neighbours(relation), f"{relation} neighbours")


class _Sliders:
    """The total and each level's share."""

    def __init__(self, page: Page) -> None:
        self.page, self.session = page, page.session
        self._seen: State | None = None
        self._levels: list[c.Slider] = []
        self._names: list[str] = []
        session = page.session
        with c.card("Budget"):
            c.heading("Budget", HELP["rho"])
            self._total = c.Slider(
                "Total rho",
                (-TOTAL_STEPS, TOTAL_STEPS),
                moved=lambda step: session.preview(session.state.with_total(factor_at(step))),
                let_go=lambda step: session.commit(session.state.with_total(factor_at(step)), "the total"),
            )
            self._note = c.words("", "wb-soft", "div").style("margin-bottom: 12px")
            with c.box("wb-row").style("margin-bottom: 6px; gap: 6px"):
                c.words("Shares of the levels", "wb-soft")
                text = "Moving one level keeps the total, and the others in their proportions. "
                c.help_text("shares of the levels", text + HELP["level"])
            self._place = c.box("wb-sliders")
        page.draw(self._draw)

    def _with_share(self, place: int, step: int) -> State:
        state = self.session.state
        share = Fraction(min(max(step, 1), _STEPS - 1), _STEPS)
        return state.with_budget(state.budget.with_share(place, share))

    def _draw(self) -> None:
        state = self.page.state
        if state is self._seen:
            return
        self._seen = state
        names = [level.name for level in state.base.levels]
        if names != self._names:
            self._names = names
            self._draw_levels(state)
        factor, rho = state.factor, words.plain(state.budget.total)
        self._total.set(step_of(factor), f"rho {rho}", rho)
        stated = "as stated" if factor == 1 else f"{words.plain(factor)} times the stated"
        total = words.with_fraction(state.budget.total)
        self._note.set(f"{total}, {stated}" if len(total) < 40 else stated)
        for place, slider in enumerate(self._levels):
            share = state.budget.share(place)
            slider.set(
                round(share * _STEPS), words.percent(float(share)) if share else "Laplace noise, fixed"
            )

    def _draw_levels(self, state: State) -> None:
        self._place.clear()
        self._levels = []
        count = sum(1 for weight in state.budget.weights if weight)
        with self._place:
            for place, name in enumerate(self._names):
                with c.box("wb-level"):
                    slider = c.Slider(
                        f"Share of {level_name(name)}",
                        (1, _STEPS - 1),
                        shown=level_name(name),
                        moved=partial(self._moved, place),
                        let_go=partial(self._let_go, place),
                    )
                    c.enable(slider.element, bool(state.budget.weights[place]) and count > 1)
                self._levels.append(slider)

    def _moved(self, place: int, step: int) -> None:
        self.session.preview(self._with_share(place, step))

    def _let_go(self, place: int, step: int) -> None:
        self.session.commit(self._with_share(place, step), f"the share of {level_name(self._names[place])}")


class _Headline:
    """The numbers that are decided on, each with what it claims."""

    def __init__(self, page: Page) -> None:
        self.session = page.session
        with c.card("What it costs", aria_live="polite") as self._card:
            with c.box("wb-tiles"):
                self._exact = c.Tile("Epsilon", f"{HELP['exact']} {HELP['epsilon']}", first=True)
                self._zcdp = c.Tile("zCDP", HELP["zCDP"])
                self._gdp = c.Tile("Gaussian DP", HELP["Gaussian DP"])
                self._saved = c.Tile("Noise to save", HELP["saved"])
            self._bar = c.Bar()
            self._worst = c.words("", "wb-soft", "div").style("margin-top: 10px")
            self._claim = c.words("", "wb-claim wb-hidden", "div")
            self._trouble = c.alert()
            self._count = c.words("0", "wb-alive", data_updates="")
        page.draw(self._draw)

    def _draw(self) -> None:
        numbers = self.session.numbers
        quick, exact, saved = numbers.quick, numbers.epsilon, numbers.saving
        done = self.session.settled and numbers.complete
        c.put(self._card, "data-complete", "true" if done else "false")
        if quick is not None and exact is not None:
            kind = numbers.state.release.claim.kind
            name, ours = ("Exact epsilon", "exact") if kind is AnswerKind.EXACT else ("Epsilon", "the bound")
            self._exact.set(say.epsilon_text(numbers), say.epsilon_note(numbers), name)
            self._zcdp.set(words.number(quick.zcdp), f"{ours} is {say.against(exact, quick.zcdp)}")
            self._gdp.set(words.number(quick.gdp), f"{ours} is {say.against(exact, quick.gdp)}")
            note = "of every variance" if saved is not None else "when the slider is let go"
            self._saved.set("–" if saved is None else words.percent(saved), note)
        self._claim.say(say.claim_text(numbers.state))
        self._count.set(str(numbers.updates))
        self._trouble.say(numbers.trouble)
        self._bar.set(numbers.progress)
        if numbers.progress is not None:
            stage, part, total = numbers.progress
            text = (
                f"Comparing all pairs of paths: {part} of {total}."
                if total
                else "Comparing all pairs of paths."
            )
            if stage == "waiting":
                text = "Comparing all pairs of paths: waiting for a free processor."
            self._worst.set(text)
        elif numbers.overall is not None:
            self._worst.set(say.worst_text(numbers.state, numbers.overall.worst))
        else:
            self._worst.set("The main path, while the slider moves.")
        c.put(self._count, "data-step", str(self.session.steps))  # the last to be sent


class _Curves:
    """The two curves."""

    def __init__(self, page: Page) -> None:
        self.session = page.session
        self._log = False
        with c.box("wb-two"):
            with c.card():
                with c.box("wb-between wb-top"):
                    c.heading("Every promise that holds", HELP["profile"])
                self._profile = c.Chart("delta against epsilon")
            with c.card():
                with c.box("wb-between wb-top"):
                    c.heading("What an observer can achieve", HELP["trade-off"])
                    self._axes = c.button("Log axes", self._switch, "wb-quiet")
                self._tradeoff = c.Chart("misses against false alarms")
        page.draw(self._draw)

    def _switch(self) -> None:
        self._log = not self._log
        c.put(self._axes, "aria-pressed", "true" if self._log else "false")
        self._draw()

    def _draw(self) -> None:
        numbers, before, dark = self.session.numbers, self.session.before, self.session.dark
        old = (before.quick, before.errors) if before else (None, None)
        if numbers.quick is not None:
            quick, delta = numbers.quick, float(numbers.state.delta)
            line = old[0].profile[0] if old[0] else None
            self._profile.set(
                charts.profile(quick.profile, epsilon=quick.epsilon, delta=delta, dark=dark, before=line),
                f"delta against epsilon. At delta {words.plain(delta)}: exact {words.number(quick.epsilon)}, "
                f"zCDP {words.number(quick.zcdp)}, Gaussian DP {words.number(quick.gdp)}.",
            )
        if numbers.errors is not None:
            line = old[1].lines[0] if old[1] else None
            self._tradeoff.set(
                charts.tradeoff(numbers.errors.lines, dark=dark, logarithmic=self._log, before=line),
                "The lowest rate of misses at each rate of false alarms: exact, zCDP, Gaussian DP.",
            )


class _Words:
    """What the numbers mean to someone who reads none of the above."""

    def __init__(self, page: Page) -> None:
        self.session = page.session
        with c.card():
            c.heading("In words", HELP["advantage"])
            self._texts = [c.words("", "wb-text", "p").style("margin: 0 0 6px") for _ in range(3)]
            self._note = c.words("", "wb-soft", "div")
        page.draw(self._draw)

    def _draw(self) -> None:
        numbers = self.session.numbers
        for text, said in zip(self._texts, say.meaning(numbers), strict=False):
            text.set(said)
        several = len(numbers.state.release.paths) > 1
        self._note.set("For the main path only; other paths may cost more." if several else "")


# -- the table of levels and queries -----------------------------------------------------------------------


_share = partial(positive, name="the share")


def sum_text(shares: Sequence[Fraction]) -> str:
    """Say by how much shares miss 1; nothing if they add up.

    >>> sum_text([Fraction(1, 2), Fraction(2, 3)]), sum_text([Fraction(1, 3), Fraction(2, 3)])
    ('adds up to 7/6, not 1: 1/6 too much', '')
    >>> sum_text([Fraction(1, 4)])
    'adds up to 1/4, not 1: 3/4 too little'
    """
    total = sum(shares, Fraction(0))
    if total == 1:
        return ""
    return f"adds up to {total}, not 1: {abs(total - 1)} too {'much' if total > 1 else 'little'}"


class _Shares:
    """Every share a fraction: one column a level, one row a query; first the levels' shares of the total."""

    def __init__(self, page: Page) -> None:
        self.session = page.session
        self._fields: dict[tuple[int, int], c.Field] = {}
        self._sums: dict[int, tuple[c.Text, c.Text]] = {}
        self._base: object = None
        self._budget: Budget | None = None
        with c.card("Shares of levels and queries"):
            c.heading("Shares of levels and queries", HELP["share"])
            self._place = c.box("wb-scroll")
        page.draw(self._draw)

    def _draw(self) -> None:
        state = self.session.state
        if not self.session.settled:
            return
        if state.base is not self._base:
            self._base = state.base
            self._build(state)
        if state.budget != self._budget:
            self._budget = state.budget
            self._fill(state)

    def _build(self, state: State) -> None:
        levels = state.base.levels
        queries = list(dict.fromkeys(query.name for level in levels for query in level.queries))
        self._fields, self._sums = {}, {}
        self._place.clear()
        with self._place, c.box("wb-table wb-grid", "table"):
            c.table_head(["query", *(level_name(level.name) for level in levels), "sum"])
            with c.box("", "tbody"):
                self._build_row("level’s share of the total", state)
                for name in queries:
                    self._build_row(name, state, name)
                with c.box("", "tr"):
                    c.words("sum of the level", tag="th")
                    for place in range(len(levels)):
                        self._build_sum(place, bool(state.stated.weights[place]))
                    c.words("", tag="td")

    def _build_row(self, name: str, state: State, query: str | None = None) -> None:
        with c.box("", "tr"):
            c.words(name, tag="th", scope="row")
            for place, level in enumerate(state.base.levels):
                with c.box("", "td"):
                    names = [one.name for one in level.queries]
                    if not state.stated.weights[place] or (query is not None and query not in names):
                        c.words("–", "wb-soft")
                        continue
                    key = (place, -1 if query is None else names.index(query))
                    shown = f"Share of {query or 'the total'}, {level_name(level.name)}"
                    self._fields[key] = c.Field(shown, partial(self._typed, key), bare=True)
            if query is None:
                self._build_sum(-1, True)
            else:
                c.words("", tag="td")

    def _build_sum(self, place: int, used: bool) -> None:
        with c.box("", "td"):
            text = c.words("1" if used else "–", "wb-soft", "div", role="status")
            mend = c.button("Scale to 1", partial(self._mend, place), "wb-quiet")
            c.show(mend, False)
        self._sums[place] = (text, mend)

    def _fill(self, state: State) -> None:
        for (place, query), field in self._fields.items():
            share = state.budget.share(place) if query < 0 else state.budget.shares[place][query]
            if field.wrong or _parsed(field.value) != share:
                field.set(str(share))
            field.say(None)
        for place in self._sums:
            self._say_sum(place, "")

    def _column(self, place: int) -> dict[tuple[int, int], Fraction | None]:
        """What stands in the cells that must add up to 1."""
        return {
            key: _parsed(field.value)
            for key, field in self._fields.items()
            if (key[1] < 0 if place < 0 else key[0] == place and key[1] >= 0)
        }

    def _typed(self, key: tuple[int, int], text: str) -> None:
        self._fields[key].take(text, _share, lambda share: self._check(-1 if key[1] < 0 else key[0]))

    def _check(self, place: int) -> None:
        column = self._column(place)
        good = [share for share in column.values() if share is not None]
        if len(good) < len(column):
            self._say_sum(place, "cannot be added up: see the cell in red")
            return
        wrong = sum_text(good)
        self._say_sum(place, wrong, can_mend=bool(wrong))
        if not wrong:
            self._take(place, tuple(good))

    def _mend(self, place: int) -> None:
        good = [share for share in self._column(place).values() if share is not None]
        total = sum(good, Fraction(0))
        self._take(place, tuple(share / total for share in good))

    def _take(self, place: int, shares: tuple[Fraction, ...]) -> None:
        state = self.session.state
        if place < 0:
            found = dict(zip((key[0] for key in self._column(-1)), shares, strict=True))
            weights = tuple(found.get(one, Fraction(0)) for one in range(len(state.budget.weights)))
            budget = replace(state.budget, weights=whole_weights(weights))
            what = "the shares of the levels"
        else:
            budget = state.budget.with_shares(place, shares)
            what = f"the shares within {level_name(state.base.levels[place].name)}"
        try:
            changed = state.with_budget(budget)
            _ = changed.release
        except DiscreetError as error:
            self._say_sum(place, str(error))
            return
        self.session.commit(changed, what)

    def _say_sum(self, place: int, wrong: str, *, can_mend: bool = False) -> None:
        text, mend = self._sums[place]
        if text.shown == "–":
            return
        text.set(wrong or "1")
        text.classes(add="wb-bad" if wrong else "wb-soft", remove="wb-soft" if wrong else "wb-bad")
        c.show(mend, can_mend)


def _parsed(text: str) -> Fraction | None:
    try:
        return _share(text)
    except DiscreetError:
        return None
