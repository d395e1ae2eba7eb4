"""The Accuracy page: how far off counts and estimates are, what margins cost, what calibration buys."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise

from discreet.errors import DiscreetError
from discreet.numbers import positive
from discreet.report import words
from discreet.report.releases import NoiseLine
from discreet.report.words import level_name
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.session import Page, Session
from discreet.workbench.settings import OWN_SIZE, read_size, read_tree
from discreet.workbench.words import HELP, size_text
from discreet.workbench.workers import processors

NAME = "accuracy"
SIZES = (100, 1_000, 10_000)
"""Group sizes of the table."""


def build(session: Session) -> None:
    """Draw the page."""
    page = AccuracyPage(session)
    with c.box("wb-stack"):
        with c.box("wb-two wb-wide-left"):
            _Margins(page)
            with c.box("wb-stack"):
                _Sizes(page)
                _Calibration(page)
        _Wanted(page)
    page.start()


def relative_text(part: float) -> str:
    """Write a relative error.

    >>> relative_text(0.0482), relative_text(12.3), relative_text(0.00001)
    ('4.8 %', '1,230 %', '0.0010 %')
    """
    if part >= 1:
        return f"{100 * part:,.0f} %"
    return words.percent(part) if part >= 0.0001 else f"{100 * part:.4f} %"


def common_lines(lines: tuple[NoiseLine, ...]) -> dict[str, NoiseLine]:
    """Return for each level its most common kind of query."""
    best: dict[str, NoiseLine] = {}
    for line in lines:
        if line.level not in best or len(line.queries) > len(best[line.level].queries):
            best[line.level] = line
    return best


class AccuracyPage(Page):
    """What the parts share: the margins of the noise, and of the best estimates."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, NAME)
        self.noise = self.question("noise")
        self.estimates = self.question("estimates")
        self.tree_trouble = ""

    @property
    def lines(self) -> tuple[NoiseLine, ...]:
        """The noise of each level, with the best estimates once they are known."""
        found: tuple[NoiseLine, ...] = self.estimates.now or self.noise.now or ()
        return found

    @property
    def together(self) -> bool:
        """Whether the page's figures are those of estimates from all queries and levels together."""
        known = bool(self.estimates.trouble or self.tree_trouble)
        return self.state.release.attributes is not None and not known

    @property
    def margins(self) -> dict[str, int]:
        """The margin of each level's noise, of its most common kind of query; empty until known."""
        return {level: line.margin for level, line in common_lines(self.noise.now or ()).items()}

    def look(self, *, settled: bool) -> None:
        """Ask for margins."""
        self.noise.ask(self.state.release)
        if settled:
            self.tree_trouble = ""
            try:
                self.estimates.ask(self.state.release, read_tree(self.state.setting(NAME, "tree")))
            except DiscreetError as error:
                self.tree_trouble = str(error)
                self.estimates.drop()
        elif (self.estimates.asked or (None,))[0] != self.state.release:
            self.estimates.drop()


class _Margins:
    """The table of margins."""

    def __init__(self, page: AccuracyPage) -> None:
        self.page = page
        self._drawn: tuple[object, ...] = ()
        with c.card():
            with c.box("wb-between wb-top"):
                c.heading("Margins of error", HELP["margin"])
                with c.box("wb-row").style("width: 220px; flex-wrap: nowrap"):
                    c.words("Group of", "wb-soft").style("white-space: nowrap")
                    self._size = c.Field("Size of a group", self._typed_size, value=OWN_SIZE)
            self._place = c.box("")
            c.gap()
            self._tree = c.Field(
                "Areas below an area",
                self._typed_tree,
                shown="areas below an area, on average, level by level",
                explained=HELP["estimate"],
                placeholder="such as 51, 61.6, …",
            )
            self._note = c.words("", "wb-soft", "div").style("margin-top: 8px")
        page.draw(self._draw)

    def _typed_size(self, text: str) -> None:
        def use(size: int) -> None:
            kept = "" if text.strip() == OWN_SIZE else text.strip()
            self.page.change({"size": kept}, "the size of a group", typing=True)

        self._size.take(text, read_size, use)

    def _typed_tree(self, text: str) -> None:
        keep = lambda tree: self.page.change({"tree": text.strip()}, "areas below an area", typing=True)  # noqa: E731
        self._tree.take(text, read_tree, keep)

    def _draw(self) -> None:
        page, state = self.page, self.page.session.state
        text, tree = state.setting(NAME, "size", OWN_SIZE), state.setting(NAME, "tree")
        own = int(OWN_SIZE)
        trouble = None
        try:
            own = read_size(text)
        except DiscreetError as error:
            trouble = str(error)
        self._size.show(text, trouble)
        self._tree.show(tree, page.tree_trouble)
        if page.tree_trouble:
            note = ""
        elif page.estimates.trouble:
            note = f"No estimates: {page.estimates.trouble}."
        elif page.estimates.now is None:
            note = "Working out the best estimates …"
        elif page.together:
            note = "Best estimates use all queries and levels together."
        else:
            note = "Estimates use each query by itself, at all levels: the release states no attributes."
        self._note.set(note)
        now = (page.lines, page.together, own)
        if page.lines and now != self._drawn:
            self._drawn = now
            self._table(own)

    def _table(self, own: int) -> None:
        page, sizes, rows = self.page, sorted({own, *SIZES}), []
        for line in page.lines:
            deviation, margin = line.estimate or (None, None)
            noise = [size_text(line.deviation), f"± {line.margin:,}"]
            if page.together:
                best = [_known(deviation, line), _known(margin, line, "± ")]
                figures, shown = [*best, *noise], margin
            else:
                figures, shown = [*noise, _known(margin, line, "± ")], float(line.margin)
            alike = line.queries[0] if len(line.queries) == 1 else f"{len(line.queries)} queries alike"
            errors = ("–" if shown is None else relative_text(shown / size) for size in sizes)
            rows.append([level_name(line.level), alike, *figures, *errors])
        for above, row in reversed(list(pairwise(rows))):
            row[0] = "" if row[0] == above[0] else row[0]  # a level is named once
        what = "best estimate from all queries and levels" if page.together else "noise"
        caption = (
            f"The {what} where no levels are merged; the last columns give its margin relative to groups of "
            f"that size."
        )
        columns = ["std. dev.", "95 % margin"]
        columns += ["noise, std. dev.", "noise, 95 % margin"] if page.together else ["estimate, 95 % margin"]
        self._place.clear()
        with self._place:
            head = ["level", "query", *columns, *(f"of {size:,}" for size in sizes)]
            c.table(caption, head, rows, "wb-second-left")


def _known(value: float | None, line: NoiseLine, sign: str = "") -> str:
    """Write a number of an estimate, if it is known by now, or can be."""
    if value is None:
        return "…" if line.estimate is None else "not determined"
    return f"{sign}{size_text(value)}"


class _Sizes:
    """Relative error against the size of a group."""

    def __init__(self, page: AccuracyPage) -> None:
        self.page = page
        with c.card():
            c.heading("Relative error by size of the group", HELP["relative error"])
            self._chart = c.Chart("Relative error against the size of a group, one line a level", 370)
        page.draw(self._draw)

    def _draw(self) -> None:
        page = self.page
        if not page.lines:
            return
        sizes = [10.0**power for power in range(1, 7)]
        lines = {}
        for level, line in common_lines(page.lines).items():
            best = line.estimate[1] if page.together and line.estimate else None
            margin = max(best if best is not None else line.margin, 0.5)
            lines[level_name(level)] = tuple((size, margin / size) for size in sizes)
        self._chart.set(charts.sizes(lines, dark=page.session.dark))


class _Wanted:
    """The smallest budget for wanted margins."""

    def __init__(self, page: AccuracyPage) -> None:
        self.page, self.session = page, page.session
        self._fields: dict[str, c.Field] = {}
        self._question = page.question("least_budget")
        with c.card():
            c.heading("The smallest budget for the margins you want", HELP["wanted"])
            note = "Leave a level empty to keep its noise."
            c.words(note, "wb-soft", "div").style("margin-bottom: 10px")
            self._place = c.box("wb-pair").style("gap: 8px 20px")
            self._answer = c.words("", "wb-text", "p", role="status").style("margin: 14px 0 10px")
            self._use = c.button("Use this budget", self._take, "wb-primary")
            self._command = c.words("", "wb-command wb-hidden", "code").style("margin-top: 10px")
        page.draw(self._draw)

    def _draw(self) -> None:
        state = self.session.state
        if not self.session.settled:
            return
        names = [level.name for level in state.base.levels if not level.has_laplace]
        if names != list(self._fields):
            self._place.clear()
            with self._place:
                self._fields = {
                    name: c.Field(
                        f"Wanted margin of {level_name(name)}",
                        partial(self._typed, name),
                        shown=level_name(name),
                    )
                    for name in names
                }
        margins, asked = self.page.margins, []
        for name, field in self._fields.items():
            c.put(field.element, "placeholder", f"now ± {margins[name]:,}" if name in margins else None)
            text = state.setting(NAME, f"margin {name}")
            wrong = _wrong_margin(text)
            field.show(text, wrong)
            if text and wrong is None:
                asked.append((name, text))
        self._ask(tuple(asked))

    def _ask(self, asked: tuple[tuple[str, str], ...]) -> None:
        state, question = self.session.state, self._question
        self._command.say("")
        if asked:
            wanted = ",".join(f"{name}={text}" for name, text in asked)
            self._command.say(say.calibrate_command(state, margins=wanted))
            question.ask(state.release, state.relation, asked, state.delta, processors())
        else:
            question.drop()
        found = question.now
        c.enable(self._use, found is not None)
        if found is None:
            self._answer.set(question.trouble)
            return
        made, zcdp = found
        total = sum((level.spent(made.release.neighbours) for level in made.release.levels), Fraction(0))
        self._answer.set(
            f"rho {words.plain(total)} (now {words.plain(state.budget.total)}): "
            f"{made.claim.kind.states('epsilon', float(made.epsilon))}, zCDP {words.number(zcdp)}."
        )

    def _typed(self, name: str, text: str) -> None:
        wrong = _wrong_margin(text)
        self._fields[name].say(wrong)
        if wrong is None:
            values = {f"margin {name}": text.strip()}
            self.page.change(values, f"the wanted margin of {level_name(name)}", typing=True)

    def _take(self) -> None:
        if self._question.now is not None:
            state = self.session.state.with_release(self._question.now[0].release)
            state = state.with_settings(NAME, {f"margin {name}": "" for name in self._fields})
            self.session.commit(state, "the budget for wanted margins")


def _wrong_margin(text: str) -> str | None:
    """What is wrong with a margin; an empty one leaves a level as it is."""
    try:
        if text.strip():
            positive(text, name="the margin")
    except DiscreetError as error:
        return str(error)
    return None


class _Calibration:
    """What calibration buys, and its proof."""

    def __init__(self, page: AccuracyPage) -> None:
        self.page, self.session = page, page.session
        self._question = page.question("calibrated", long=True)
        with c.card():
            c.heading("What calibration buys", HELP["calibration"])
            self._text = c.words("", "wb-text", "p").style("margin: 0 0 12px")
            with c.box("wb-row"):
                c.button("Calibrate and prove", self._begin)
                self._use = c.button("Use this budget", self._take, "wb-primary")
            self._bar = c.Bar()
            self._answer = c.words("", "wb-text", "p", role="status").style("margin: 12px 0 0")
            self._command = c.words("", "wb-command", "code").style("margin-top: 12px")
        page.draw(self._draw)

    def _draw(self) -> None:
        state, question = self.session.state, self._question
        self._command.set(say.calibrate_command(state))
        if question.asked is not None and question.asked[:3] != (state.release, state.relation, state.delta):
            question.drop()
        self._bar.set(question.progress)
        found = question.now
        c.show(self._use, found is not None)
        if found is not None:
            low, high = words.interval(found.proof, 6)
            self._answer.set(
                f"All variances times {words.plain(found.factor)}: {words.percent(found.reduction)} less "
                f"variance. Proved: at epsilon {words.number(float(found.epsilon))} the true delta lies "
                f"between {low} and {high}."
            )
        else:
            self._answer.set(question.trouble or ("Calibrating …" if question.progress else ""))
        self._tell()

    def _tell(self) -> None:
        numbers, margins = self.session.numbers, self.page.margins
        if numbers.saving is None or numbers.quick is None or not margins:
            self._text.set("Finding how little noise is enough …")
            return
        part = 1 - (1 - numbers.saving) ** 0.5
        name, margin = list(margins.items())[-1]
        self._text.set(
            f"With zCDP's epsilon of {words.number(numbers.quick.zcdp)} as the promise, every variance "
            f"could be {words.percent(numbers.saving)} smaller and every margin of error about "
            f"{words.percent(part)}: about ± {size_text(margin * (1 - part))} instead of ± {margin:,} for "
            f"{level_name(name)}. The button gives the proof."
        )

    def _begin(self) -> None:
        state = self.session.state
        self._question.ask(state.release, state.relation, state.delta, processors())
        self._draw()

    def _take(self) -> None:
        if self._question.now is not None:
            state = self.session.state.with_release(self._question.now.release)
            self.session.commit(state, "calibration")
