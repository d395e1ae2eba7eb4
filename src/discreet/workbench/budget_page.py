"""The Budget page: a release, with sliders for its total and levels beside exact numbers and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from discreet.answers import Fact, Quantity, Style
from discreet.answers.calibration import saving_fact
from discreet.answers.curves import curve_lines, profile_panel, tradeoff_panel
from discreet.answers.headline import curve_name, epsilon_fact, epsilon_note, usual_fact, worst_text
from discreet.answers.meaning import meaning_sentences
from discreet.answers.release import claim_note, relation, shared_rho
from discreet.budget import AnswerKind, Release
from discreet.budget.level_names import level_name
from discreet.budget.neighbours import RELATIONS
from discreet.budget.presets import preset_titles
from discreet.errors import DiscreetError
from discreet.numbers import exact_text, positive, read_delta
from discreet.workbench import controls as c
from discreet.workbench.session import Numbers, Session
from discreet.workbench.state import TOTAL_STEPS, Budget, State, factor_at, step_of, whole_weights
from discreet.workbench.tasks import deepest_drawn

_STEPS = 1000  # of a level's slider
_OWN = "own"


def build(session: Session) -> None:
    """Draw the page."""
    page = c.Page(session, "budget")
    with c.box("wb-stack"):
        with c.box("wb-split"):
            with c.box("wb-stack"):
                _release(page)
                _sliders(page)
            with c.box("wb-stack"):
                _headline(page)
                _curves(page)
                _meaning(page)
        _Shares(page)


def _release(page: c.Page) -> None:
    """Which release, at which delta, for which neighbours."""

    def title() -> str:
        state = page.state
        return f"{'' if state.is_preset else f'{state.source}: '}{state.base.title or state.base.name}"

    def chosen(name: str) -> State:
        state = page.state
        fresh = state if name == _OWN else State.of(name)
        return replace(fresh, delta=state.delta, settings=state.settings)

    release = c.Setting(lambda: page.state.source if page.state.is_preset else _OWN, chosen)
    delta = c.Setting(lambda: exact_text(page.state.delta), lambda text: page.state.with_delta(text))
    neighbours = c.Setting(lambda: page.state.relation, lambda kind: page.state.with_neighbours(kind))
    with c.card("Release"):
        page.heading("Release")
        releases = {**{name: name for name in preset_titles()}, _OWN: "opened file"}
        c.choice(page, "Release", release, releases, "choosing {}", bare=True)
        page.words(title).style("margin: 8px 0 14px")
        with c.box("wb-pair"):
            name = "delta"
            c.Field(page, name, read_delta, delta, "delta {}", shown=name, term=name)
            kinds: dict[str, str] = {kind: kind for kind in RELATIONS}
            name, what = "neighbours", "{} neighbours"
            c.choice(page, name, neighbours, kinds, what, term=name, left=True)


def _sliders(page: c.Page) -> None:
    """The total and each level's share."""

    def share_of(index: int) -> c.Setting:
        def at(text: str) -> State:
            lasting = page.session.lasting  # not the state while dragging, since every step rounds
            return lasting.with_budget(lasting.budget.with_share(index, Fraction(text)))

        return c.Setting(lambda: str(page.state.budget.parts[index]), at)

    def share_at(step: int) -> Fraction:
        return Fraction(min(max(step, 1), _STEPS - 1), _STEPS)

    def share(text: str) -> tuple[int, str]:
        value = Fraction(text)
        return round(value * _STEPS), str(
            Style.PERCENT.quantity(float(value))
        ) if value else "not Gaussian, fixed"

    def total(factor: str) -> tuple[int, str, str]:
        total = page.state.budget.total
        rho = str(Style.EXACT.quantity(total)) if total else "–"
        return step_of(Fraction(factor)), f"rho {rho}", rho

    def note() -> str:
        factor, exact = page.state.factor, rho_text(page.state)
        if not page.state.budget.total:
            return f"{exact}."
        stated = "as stated" if factor == 1 else f"{Style.EXACT.quantity(factor)} times the stated"
        return f"{exact}, {stated}" if len(str(page.state.budget.total)) < 30 else stated

    def levels() -> list[tuple[str, bool]]:
        pairs = zip(page.state.base.levels, page.state.budget.weights, strict=True)
        return [(level_name(level.name), weight > 0) for level, weight in pairs]

    def build(levels: list[tuple[str, bool]]) -> None:
        for index, (name, has_share) in enumerate(levels):
            label, ends, what = f"Share of {name}", (1, _STEPS - 1), f"the share of {name}"
            with c.box("wb-level"):
                made = c.slider(page, label, share_of(index), ends, share_at, share, what=what, shown=name)
            c.enable(made, has_share and sum(has_share for _, has_share in levels) > 1)

    factor = c.Setting(lambda: str(page.state.factor), lambda text: page.state.with_total(Fraction(text)))
    with c.card("Budget"):
        page.heading("Budget", "rho")
        ends = (-TOTAL_STEPS, TOTAL_STEPS)
        c.slider(page, "Total rho", factor, ends, factor_at, total, what="the total")
        page.words(note).style("margin-bottom: 12px")
        with c.box("wb-row").style("margin-bottom: 6px; gap: 6px"):
            c.words("Shares of the levels", "wb-soft")
            c.help_text("shares of the levels", page.help["level"])
        page.rebuild(c.box("wb-sliders"), levels, build)


def _headline(page: c.Page) -> None:
    """The numbers to decide on, each with its claim."""
    session, numbers = page.session, page.session.numbers
    with c.card("What it costs", aria_live="polite") as card:
        with c.box("wb-tiles"):
            epsilon = c.Tile(page, "Epsilon", "epsilon", first=True)
            zcdp, gdp = (c.Tile(page, name, name) for name in ("zCDP", "Gaussian DP"))
            saving = c.Tile(page, "Noise to save", "saved")
        page.bar(lambda: numbers.overall.progress)
        page.words(lambda: worst_case_words(numbers)).style("margin-top: 10px")
        page.words(lambda: claim_note(numbers.state.base.claim), "wb-claim", hides=True)
        page.alert(lambda: numbers.trouble)
        count = c.words("0", "wb-alive", data_updates="")

    @page.draw
    def draw() -> None:
        quick, exact = numbers.quick.found, numbers.epsilon
        c.put(card, "data-complete", session.settled and numbers.complete)
        if quick is not None and exact is not None:
            stated = numbers.state.base.claim.kind
            epsilon.show(headline(numbers))
            zcdp.show(usual_fact("zCDP", quick.zcdp, exact, stated))
            gdp.show(usual_fact("Gaussian DP", quick.gdp, exact, stated))
            if numbers.saving.now is not None:
                saving.show(saving_fact(numbers.saving.now))
            else:
                waits = "not found" if numbers.saving.trouble else "is being found"
                saving.set("–", waits if session.settled else "when the slider is let go")
        count.set(str(numbers.quick.updates))
        c.put(count, "data-step", str(session.steps))  # sent last


def _curves(page: c.Page) -> None:
    session, numbers = page.session, page.session.numbers
    log = False

    def switch() -> None:
        nonlocal log
        log = not log
        c.put(axes, "aria-pressed", log)
        page.redraw()

    def profile() -> c.Drawn:
        quick, old = numbers.quick.found, session.before and session.before.quick.found
        if quick is None:
            return None
        delta, name = float(numbers.state.delta), _curve_name(numbers.state)
        lines = curve_lines(name, *quick.profile, before=("Before", old.profile[0]) if old else None)
        deepest = float(deepest_drawn(numbers.state.delta))
        return profile_panel(lines, at=(quick.epsilon, delta), deepest=deepest), (
            f"delta against epsilon. At delta {Style.GIVEN.quantity(delta)}: {name.lower()} "
            f"{Quantity(quick.epsilon)}, zCDP {Quantity(quick.zcdp)}, Gaussian DP {Quantity(quick.gdp)}."
        )

    def tradeoff() -> c.Drawn:
        errors, old = numbers.errors.found, session.before and session.before.errors.found
        if errors is None:
            return None
        name = _curve_name(numbers.state, least=True)
        lines = curve_lines(name, *errors.lines, before=("Before", old.lines[0]) if old else None)
        said = f"The lowest rate of misses at each rate of false alarms: {name.lower()}, zCDP, Gaussian DP."
        return tradeoff_panel(lines, is_log=log), said

    with c.box("wb-two"):
        with c.card():
            with c.box("wb-between wb-top"):
                page.heading("Every promise that holds", "profile")
            page.chart("delta against epsilon", profile)
        with c.card():
            with c.box("wb-between wb-top"):
                page.heading("What an observer can achieve", "trade-off")
                axes = c.button("Log axes", switch, "wb-quiet")
            page.chart("misses against false alarms", tradeoff)


def _meaning(page: c.Page) -> None:
    """What the numbers mean, for readers who skip the above."""
    numbers = page.session.numbers
    with c.card():
        page.heading("In words", "advantage")
        page.texts(3, lambda: meaning(numbers), "margin: 0 0 6px")
        only = "For the main path only; other paths may cost more."
        page.words(lambda: only if numbers.claim.kind is AnswerKind.MAIN else "")


# -- the numbers of a state, as they arrive ---


def rho_text(state: State) -> str:
    """Write the total rho that the levels share.

    >>> rho_text(State.of("dhc-2020"))
    '24811/5000 = 4.9622'
    """
    return shared_rho(state.budget.total, all_levels=all(state.budget.weights))


def headline(numbers: Numbers) -> Fact:
    """Return the epsilon of a state: of the main path, then of all paths once they were compared.

    >>> headline(Session(State.of("sdhc-2020")).numbers).value
    '…'
    """
    if numbers.epsilon is None:
        return Fact("Epsilon", "…")
    state, whole = numbers.state, numbers.overall.now if numbers.quick.fresh else None
    claim = numbers.claim if numbers.quick.fresh else state.base.claim.weakened(AnswerKind.MAIN)
    note = epsilon_note(state.base, state.relation, None if whole is None else whole.cases)
    return epsilon_fact(numbers.epsilon, claim, stated=state.base.claim.kind, note=note)


def worst_case_words(numbers: Numbers) -> str:
    """Say which pair of paths is the worst, or how far their comparison has come."""
    if numbers.overall.progress is not None:
        return c.comparing(numbers.overall.progress)
    if numbers.overall.now is None:
        return "The main path, while the slider moves."
    return worst_text(numbers.state.base, numbers.overall.now.worst)


def meaning(numbers: Numbers) -> list[str]:
    """Say what the numbers mean: bounds of all paths once they were compared, before that no bounds."""
    quick, errors, state = numbers.quick.found, numbers.errors.found, numbers.state
    if quick is None:
        return []
    whole = numbers.overall.now if numbers.quick.fresh else None
    epsilon, advantage = (
        (quick.epsilon, quick.advantage) if whole is None else (whole.epsilon, whole.advantage)
    )
    missed = whole.missed if whole is not None else errors.missed if errors is not None else None
    several = whole is None and len(state.base.paths) > 1
    said = meaning_sentences(
        epsilon=epsilon,
        delta=state.delta,
        advantage=advantage,
        missed=missed,
        who=relation(state.relation, state.base.unit),
        is_bound=not several and numbers.claim.kind in (AnswerKind.EXACT, AnswerKind.BOUND),
    )
    return list(map(str, said))


def _curve_name(state: State, *, least: bool = False) -> str:
    return curve_name(state.base.claim.kind, paths=len(state.base.paths), least=least)


# -- the table of levels and queries -----------------------------------------------------------------------


def sum_text(shares: Sequence[Fraction]) -> str:
    """Say by how much shares miss 1; an empty text if they add up.

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
    """All shares as fractions: a column for each level, a row for each query; the levels' shares come first.

    The cells of a level must add up to 1, and so must the levels' shares, which are column -1.
    """

    def __init__(self, page: c.Page) -> None:
        self.page, self.session = page, page.session
        self._columns: dict[int, dict[tuple[int, int], c.Field[Fraction]]] = {}
        self._sums: dict[int, tuple[c.Text, c.Text]] = {}
        self._budget: Budget | None = None
        with c.card("Shares of levels and queries"):
            page.heading("Shares of levels and queries", "share")
            page.rebuild(c.box("wb-scroll"), lambda: self.session.lasting.base, self._build)
        page.draw(self._draw)

    def _draw(self) -> None:
        state = self.session.lasting
        if state.budget != self._budget:
            self._budget = state.budget
            for column in self._columns.values():
                for (index, query), field in column.items():
                    share = state.budget.parts[index] if query < 0 else state.budget.shares[index][query]
                    field.set(field.value if field.parsed == share else str(share))
            for index in self._sums:
                self._say_sum(index, "")

    def _build(self, base: Release) -> None:
        queries = dict.fromkeys(query.name for level in base.levels for query in level.queries)
        self._columns = {index: {} for index in range(-1, len(base.levels))}
        self._sums, self._budget = {}, None
        with c.box("wb-table wb-grid", "table"):
            c.table_head(["query", *(level_name(level.name) for level in base.levels), "sum"])
            with c.box("", "tbody"):
                for query in (None, *queries):
                    self._build_row(base, query)
                with c.box("", "tr"):
                    c.words("sum of the level", tag="th")
                    for index, level in enumerate(base.levels):
                        self._build_sum(index, not level.lacks_rho)
                    c.words("", tag="td")

    def _build_row(self, base: Release, query: str | None) -> None:
        with c.box("", "tr"):
            c.words(query or "level’s share of the total", tag="th", scope="row")
            for index, level in enumerate(base.levels):
                names = [query.name for query in level.queries]
                with c.box("", "td"):
                    if level.lacks_rho or (query is not None and query not in names):
                        c.words("–", "wb-soft")
                        continue
                    column, row = (-1, -1) if query is None else (index, names.index(query))
                    self._columns[column][index, row] = c.Field(
                        self.page,
                        f"Share of {query or 'the total'}, {level_name(level.name)}",
                        partial(positive, name="the share"),
                        partial(self._check, column),
                        bare=True,
                    )
            if query is None:
                self._build_sum(-1, True)
            else:
                c.words("", tag="td")

    def _build_sum(self, index: int, used: bool) -> None:
        with c.box("", "td"):
            text = c.words("1" if used else "–", "wb-soft", "div", role="status")
            mend = c.button("Scale to 1", partial(self._mend, index), "wb-quiet")
            c.show(mend, False)
        self._sums[index] = (text, mend)

    def _good(self, index: int) -> list[Fraction]:
        """The shares in the readable cells of a column."""
        parsed = [field.parsed for field in self._columns[index].values()]
        return [share for share in parsed if share is not None]

    def _check(self, index: int, _: Fraction) -> None:
        good = self._good(index)
        if len(good) < len(self._columns[index]):
            self._say_sum(index, "cannot be added up: see the cell in red")
            return
        wrong = sum_text(good)
        self._say_sum(index, wrong, can_mend=bool(wrong))
        if not wrong:
            self._take(index, good)

    def _mend(self, index: int) -> None:
        good = self._good(index)
        total = sum(good, Fraction(0))
        self._take(index, [share / total for share in good])

    def _take(self, index: int, shares: list[Fraction]) -> None:
        state = self.session.state
        if index < 0:
            given = dict(zip((level for level, _ in self._columns[-1]), shares, strict=True))
            weights = tuple(given.get(level, Fraction(0)) for level in range(len(state.budget.weights)))
            budget = replace(state.budget, weights=whole_weights(weights))
            what = "the shares of the levels"
        else:
            budget = state.budget.with_shares(index, tuple(shares))
            what = f"the shares within {level_name(state.base.levels[index].name)}"
        try:
            changed = state.with_budget(budget)
            _ = changed.release
        except DiscreetError as error:
            self._say_sum(index, str(error))
            return
        self.session.commit(changed, what)

    def _say_sum(self, index: int, wrong: str, *, can_mend: bool = False) -> None:
        text, mend = self._sums[index]
        if text.text == "–":
            return
        text.set(wrong or "1")
        text.classes(add="wb-bad" if wrong else "wb-soft", remove="wb-soft" if wrong else "wb-bad")
        c.show(mend, can_mend)
