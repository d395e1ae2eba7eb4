"""The Budget page: a release, its total and its levels under sliders; exact numbers and curves beside."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from discreet.budget.catalogue import presets
from discreet.errors import DiscreetError
from discreet.report import words
from discreet.report.releases import path_text
from discreet.workbench import charts, phrases
from discreet.workbench import controls as c
from discreet.workbench.budget_table import BudgetTable
from discreet.workbench.session import Session
from discreet.workbench.session_file import delta_text
from discreet.workbench.state import TOTAL_STEPS, State, factor_at, step_of

NAME = "budget"
_STEPS = 1000  # of a level's slider
_OWN = "own"
_HELP = phrases.HELP


def build(session: Session) -> None:
    """Draw the page."""
    with c.box("wb-stack"):
        with c.box("wb-split"):
            with c.box("wb-stack"):
                _Release(session)
                _Sliders(session)
            with c.box("wb-stack"):
                _Headline(session)
                _Curves(session)
                _Words(session)
        BudgetTable(session)


class _Release:
    """Which release, at which delta, for which neighbours."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: Fraction | None = None
        names = {name: name for name in presets()}
        with c.box("wb-card", "section") as card:
            card._props["aria-label"] = "Release"
            c.heading("Release")
            self._choice = c.choice("Release", {**names, _OWN: "opened file"}, NAME, self._chosen)
            self._title = c.words("", "wb-soft", "div").style("margin: 8px 0 14px")
            with c.box("wb-pair"):
                self._delta = c.Field("delta", "", self._typed, label="delta", explained=_HELP["delta"])
                with c.box("wb-field"):
                    with c.box("wb-label-row"):
                        c.words("neighbours")
                        c.help_text("neighbours", _HELP["neighbours"], left=True)
                    kinds = {"bounded": "bounded", "unbounded": "unbounded"}
                    self._relation = c.choice("neighbours", kinds, "bounded", self._related)
        session.listen(self._heard, NAME)
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic != "state":
            return
        state = self.session.state
        c.put(self._choice, "data-value", state.source if state.is_preset else _OWN)
        file = "" if state.is_preset else f"{state.source}: "
        self._title.set(f"{file}{state.base.title or state.base.name}")
        c.put(self._relation, "data-value", state.relation)
        if state.delta != self._known:
            self._known = state.delta
            self._delta.set(delta_text(state.delta))
            self._delta.say(None)

    def _chosen(self, name: str) -> None:
        if name == _OWN:
            self._heard("state")
            return
        fresh = State.of(name)
        old = self.session.state
        state = State(fresh.base, fresh.source, True, delta=old.delta, settings=old.settings)
        self.session.commit(state, f"choosing {name}")

    def _typed(self, text: str) -> None:
        try:
            state = self.session.state.with_delta(text)
        except DiscreetError as error:
            self._delta.say(str(error))
            return
        self._delta.say(None)
        self._known = state.delta
        self.session.commit(state, f"delta {delta_text(state.delta)}")

    def _related(self, relation: str) -> None:
        self.session.commit(self.session.state.with_neighbours(relation), f"{relation} neighbours")


class _Sliders:
    """The total and each level's share."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._levels: list[tuple[c.Slider, c.Text]] = []
        self._names: list[str] = []
        with c.box("wb-card", "section") as card:
            card._props["aria-label"] = "Budget"
            c.heading("Budget", _HELP["rho"])
            with c.box("wb-label-row"):
                c.words("Total rho")
                self._total_now = c.words("", "wb-now")
            self._total = c.Slider(
                "Total rho",
                low=-TOTAL_STEPS,
                high=TOTAL_STEPS,
                value=0,
                moved=lambda step: session.preview(self._with_total(step)),
                let_go=lambda step: session.commit(self._with_total(step), "the total"),
            )
            self._total_note = c.words("", "wb-soft", "div").style("margin-bottom: 12px")
            with c.box("wb-row").style("margin-bottom: 6px; gap: 6px"):
                c.words("Shares of the levels", "wb-soft")
                c.help_text(
                    "shares of the levels",
                    "Moving one level leaves the total as it is and the others in "
                    "their proportions. " + _HELP["level"],
                )
            self._place = c.box("wb-sliders")
        session.listen(self._heard, NAME)
        self._heard("state")

    def _with_total(self, step: int) -> State:
        return self.session.state.with_total(factor_at(step))

    def _with_share(self, place: int, step: int) -> State:
        state = self.session.state
        share = Fraction(min(max(step, 1), _STEPS - 1), _STEPS)
        return state.with_budget(state.budget.with_share(place, share))

    def _heard(self, topic: str) -> None:
        if topic != "state":
            return
        state = self.session.state
        names = [level.name for level in state.base.levels]
        if names != self._names:
            self._names = names
            self._draw_levels(state)
        factor = state.factor
        total = words.with_fraction(state.budget.total)
        self._total_now.set(words.plain(state.budget.total))
        self._total.set(step_of(factor), f"rho {words.plain(state.budget.total)}")
        stated = "as stated" if factor == 1 else f"{words.plain(factor)} times the stated"
        self._total_note.set(f"{total}, {stated}" if len(total) < 40 else stated)
        for place, (slider, now) in enumerate(self._levels):
            share = state.budget.share(place)
            said = words.percent(float(share)) if share else "Laplace noise, fixed"
            now.set(said)
            slider.set(round(share * _STEPS), said)

    def _draw_levels(self, state: State) -> None:
        self._place.clear()
        self._levels = []
        count = sum(1 for weight in state.budget.weights if weight)
        with self._place:
            for place, name in enumerate(self._names):
                with c.box("wb-level"):
                    with c.box("wb-label-row"):
                        c.words(name)
                        now = c.words("", "wb-now")
                    slider = c.Slider(
                        f"Share of {name}",
                        low=1,
                        high=_STEPS - 1,
                        value=0,
                        moved=partial(self._moved, place),
                        let_go=partial(self._let_go, place),
                    )
                    c.enable(slider.element, bool(state.budget.weights[place]) and count > 1)
                self._levels.append((slider, now))

    def _moved(self, place: int, step: int) -> None:
        self.session.preview(self._with_share(place, step))

    def _let_go(self, place: int, step: int) -> None:
        self.session.commit(self._with_share(place, step), f"the share of {self._names[place]}")


class _Headline:
    """The numbers that are decided on."""

    def __init__(self, session: Session) -> None:
        self.session = session
        with c.box("wb-card", "section") as self._card:
            self._card._props.update({"aria-label": "What it costs", "aria-live": "polite"})
            with c.box("wb-tiles"):
                self._exact = c.Tile("Exact epsilon", f"{_HELP['exact']} {_HELP['epsilon']}", first=True)
                self._zcdp = c.Tile("zCDP", _HELP["zCDP"])
                self._gdp = c.Tile("Gaussian DP", _HELP["Gaussian DP"])
                self._saved = c.Tile("Noise to save", _HELP["saved"])
            self._progress = c.box("wb-progress wb-hidden")
            with self._progress:
                self._done = c.box("")
            self._worst = c.words("", "wb-soft", "div").style("margin-top: 10px")
            self._trouble = c.words("", "wb-bad wb-hidden", "div")
            self._count = c.words("0", "wb-alive")
            self._count._props["data-updates"] = ""
        session.listen(self._heard, NAME)
        self._heard("numbers")

    def _heard(self, topic: str) -> None:
        numbers = self.session.numbers
        quick, overall = numbers.quick, numbers.overall
        if topic == "progress":
            self._show_progress()
            return
        if topic not in ("numbers", "state"):
            return
        card = "true" if self.session.settled and numbers.complete else "false"
        c.put(self._card, "data-complete", card)
        if quick is not None:
            overall = overall if numbers.is_fresh else None
            exact = overall.epsilon if overall else quick.epsilon
            self._exact.set(words.number(exact), phrases.exact_note(numbers))
            self._zcdp.set(words.number(quick.zcdp), f"exact is {phrases.against(exact, quick.zcdp)}")
            self._gdp.set(words.number(quick.gdp), f"exact is {phrases.against(exact, quick.gdp)}")
            saved = numbers.saving
            note = "of all variances" if saved is not None else "after the slider is let go"
            self._saved.set("–" if saved is None else words.percent(saved), note)
        self._count.set(str(numbers.updates))
        c.show(self._trouble, bool(numbers.trouble))
        self._trouble.set(numbers.trouble or "")
        self._show_progress()

    def _show_progress(self) -> None:
        numbers = self.session.numbers
        c.show(self._progress, numbers.progress is not None)
        if numbers.progress is not None:
            stage, done, total = numbers.progress
            self._done.style(f"width: {100 * done / max(total, 1):.0f}%")
            text = (
                f"Comparing all pairs of paths: {done} of {total}."
                if total
                else "Comparing all pairs of paths."
            )
            if stage == "waiting":
                text = "Comparing all pairs of paths: waiting for a free processor."
            self._worst.set(text)
        elif numbers.overall is not None:
            self._worst.set(worst_words(numbers.state, numbers.overall.worst))
        else:
            self._worst.set("Main path, while the slider moves.")


def worst_words(state: State, worst: tuple[int, ...]) -> str:
    """Say which pair of paths is the worst.

    >>> worst_words(State.of("dhc-2022-08-25"), (1,))
    'One path: no two levels are merged.'
    """
    release = state.release
    if len(release.paths) == 1:
        return "One path: no two levels are merged."
    kind = "pair of paths" if len(worst) == 2 else "path"
    numbers = sorted(set(worst))
    paths = "; ".join(f"path {number}: {path_text(release, number)}" for number in numbers)
    return f"Worst {kind} {words.label(worst)}. {paths[0].upper()}{paths[1:]}."


class _Curves:
    """The two curves."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._log = False
        with c.box("wb-two"):
            with c.box("wb-card", "section"):
                with c.box("wb-between wb-top"):
                    c.heading("Every promise that holds", _HELP["profile"])
                self._profile = c.Chart("delta against epsilon")
            with c.box("wb-card", "section"):
                with c.box("wb-between wb-top"):
                    c.heading("What an observer can achieve", _HELP["trade-off"])
                    self._axes = c.button("Log axes", self._switch, "wb-quiet")
                self._tradeoff = c.Chart("misses against false alarms")
        self._drawn: tuple[object, ...] = ()
        session.listen(self._heard, NAME)
        self._heard("numbers")

    def _switch(self) -> None:
        self._log = not self._log
        c.put(self._axes, "aria-pressed", "true" if self._log else "false")
        self._heard("theme")

    def _heard(self, topic: str) -> None:
        if topic not in ("numbers", "theme", "before"):
            return
        numbers, before, dark = self.session.numbers, self.session.before, self.session.dark
        seen = (
            numbers.quick,
            numbers.errors,
            dark,
            self._log,
            before,
            before and (before.quick, before.errors),
        )
        if (
            all(a is b for a, b in zip(seen[:5], self._drawn[:5], strict=False))
            and seen[5:] == self._drawn[5:]
        ):
            return
        self._drawn = seen
        if numbers.quick is not None:
            quick, delta = numbers.quick, float(self.session.numbers.state.delta)
            old = before.quick.profile[0] if before and before.quick else None
            self._profile.set(
                charts.profile(quick.profile, epsilon=quick.epsilon, delta=delta, dark=dark, before=old)
            )
            self._profile.say(
                f"delta against epsilon. At delta {words.plain(delta)}: exact {words.number(quick.epsilon)}, "
                f"zCDP {words.number(quick.zcdp)}, Gaussian DP {words.number(quick.gdp)}."
            )
        if numbers.errors is not None:
            curve = before.errors.lines[0] if before and before.errors else None
            self._tradeoff.set(
                charts.tradeoff(numbers.errors.lines, dark=dark, logarithmic=self._log, before=curve)
            )
            self._tradeoff.say(
                "The least rate of misses at each rate of false alarms: exact, zCDP, Gaussian DP."
            )


class _Words:
    """What the numbers mean to someone who reads none of the above."""

    def __init__(self, session: Session) -> None:
        self.session = session
        with c.box("wb-card", "section"):
            c.heading("In words", _HELP["advantage"])
            self._texts = [c.words("", "wb-text", "p").style("margin: 0 0 6px") for _ in range(3)]
            note = "By the main path; the worst of all pairs lies close to it."
            c.words(note, "wb-soft", "div")
        session.listen(self._heard, NAME)
        self._heard("numbers")

    def _heard(self, topic: str) -> None:
        numbers = self.session.numbers
        if topic != "numbers" or numbers.quick is None:
            return
        for text, said in zip(self._texts, phrases.meaning(numbers), strict=False):
            text.set(said)
