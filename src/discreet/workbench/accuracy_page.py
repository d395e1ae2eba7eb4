"""The Accuracy page: how far off counts and estimates are, what margins cost, what calibration buys."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from discreet.accounting.calibration import Calibration
from discreet.answers.accuracy import (
    estimate_cells,
    estimates_text,
    noise_cells,
    relative_error,
    sizes_panel,
)
from discreet.answers.answer import text as cell_text
from discreet.answers.calibration import least_budget_sentence, promise_sentence, proof_sentence
from discreet.answers.quantity import Style
from discreet.budget.level_names import level_name
from discreet.errors import DiscreetError, InputError
from discreet.estimation.expected_accuracy import MarginLine, margin_lines
from discreet.numbers import positive
from discreet.promises.calibrating import calibrate
from discreet.workbench import controls as c
from discreet.workbench.commands import command_line, has_usual_tree
from discreet.workbench.differences import OWN_SIZE
from discreet.workbench.session import Question, Session
from discreet.workbench.tasks import estimates, least_budget
from discreet.workbench.workers import processors

SIZES = (100, 1_000, 10_000)
"""Group sizes of the table."""


class _AccuracyPage(c.Page):
    def __init__(self, session: Session) -> None:
        super().__init__(session, "accuracy")
        self.noise: Question[tuple[MarginLine, ...]] = self.question(margin_lines, 0.1, 120)
        self.estimates: Question[tuple[MarginLine, ...]] = self.question(estimates, 0.5, 300)
        self.least: Question[tuple[Calibration, float]] = self.question(
            least_budget, 0.1, 1800, all_cases=True
        )
        self.calibrated: Question[Calibration] = self.question(
            calibrate, 0.3, 3600, long=True, all_cases=True, reports=True
        )
        self.tree_trouble = ""

    @property
    def margins(self) -> Margins | None:
        """The noise of each level and query, with the best estimates beside it once they are known."""
        lines = self.estimates.now or self.noise.now
        if not lines:
            return None
        has_none = bool(self.estimates.trouble or self.tree_trouble)
        return Margins(lines, self.state.release.attributes is not None, has_none)

    @property
    def query(self) -> str:
        """The query whose relative error is drawn: the chosen one, or one that most levels ask."""
        known, chosen = self.margins.by_query if self.margins else {}, self.get("query")
        most = max(map(len, known.values()), default=0)
        common = [query for query, levels in known.items() if len(levels) == most]
        usual = "total" if "total" in common else next(iter(common), "")
        return chosen if chosen in known else usual

    @property
    def asked(self) -> dict[str, object]:
        state = self.session.state
        return {"delta": state.delta, "neighbours": state.relation, "jobs": processors()}

    def look(self, *, settled: bool) -> None:
        release = self.state.release
        self.noise.ask(release)
        if settled:
            self.tree_trouble = ""
        try:
            self.estimates.ask(release, read_children(self.get("tree")), begin=settled)
        except DiscreetError as error:
            self.tree_trouble = str(error)
            self.estimates.drop()


def build(session: Session) -> None:
    """Draw the page."""
    page = _AccuracyPage(session)
    with c.box("wb-stack"):
        with c.box("wb-two wb-wide-left"):
            _margins(page)
            with c.box("wb-stack"):
                _sizes(page)
                _calibration(page)
        _wanted(page)


class Margins(NamedTuple):
    """Margins by level and query: of the noise, and of the estimates unless there will be none.

    `together` says that estimates use all queries together; `has_none` that there will be no estimates.
    """

    lines: tuple[MarginLine, ...]
    together: bool
    has_none: bool

    @property
    def what(self) -> str:
        """What relative errors are computed from: the noise, an estimate or the best estimate."""
        if self.has_none:
            return "noise"
        return "best estimate" if self.together else "estimate"

    def best(self, line: MarginLine) -> float | None:
        """The margin for relative errors; None while it is unknown, or if it is not determined."""
        if self.has_none:
            return None if line.noise is None or line.noise[1] is None else float(line.noise[1])
        return None if line.estimate is None else line.estimate[1]

    @property
    def by_query(self) -> dict[str, dict[str, float]]:
        """The margins of each query that counts by level, where they are known.

        >>> from discreet.budget import load
        >>> known = Margins(margin_lines(load("pl94-2020")), True, True).by_query
        >>> "US" in known["total"], known["total"]["State"], known["cenrace"]["US"]
        (False, 2.0, 68.0)
        """
        margins: dict[str, dict[str, float]] = {}
        for line in self.lines:
            if line.sums_column:
                continue
            margin = self.best(line)
            for query in line.queries:
                levels = margins.setdefault(query, {})
                if margin is not None:
                    levels[line.level] = margin
        return margins


def read_size(text: str) -> int:
    """Return the size of a group.

    >>> read_size("1,500")
    1500
    """
    size = positive(text.replace(",", ""), name="the size of a group")
    if size.denominator != 1 or size > 10**10:
        raise InputError(f"the size of a group is {text.strip()}; it must be a whole number of at most 1e10")
    return int(size)


def read_children(text: str) -> tuple[float, ...] | None:
    """Return the average number of areas below an area of each level; None for the United States.

    >>> read_children("51, 61.6"), read_children("")
    ((51.0, 61.6), None)
    """
    if not text.strip():
        return None
    try:
        averages = tuple(float(part) for part in text.split(","))
    except ValueError:
        averages = ()
    if not averages or not all(1 <= average <= 1e6 for average in averages):
        raise InputError(f"the tree is {text.strip()!r}; it must be numbers from 1 on, such as 51, 61.6")
    return averages


def read_margin(text: str) -> str:
    """Check a margin; an empty one leaves a level as it is."""
    if text.strip():
        positive(text, name="the margin")
    return text.strip()


def _margins(page: _AccuracyPage) -> None:
    """The table of margins."""

    def figures() -> tuple[Margins, int] | None:
        return (page.margins, size.kept or int(OWN_SIZE)) if page.margins else None

    def note() -> str:
        if page.tree_trouble:
            return ""
        if page.estimates.trouble:
            if page.get("tree") or has_usual_tree(page.state):
                return f"No estimates: {page.estimates.trouble}."
            many, first = len(page.state.base.levels) - 1, level_name(page.state.base.levels[0].name)
            numbers = f"{many} numbers" if many > 1 else "one number"
            return (
                "No estimates yet: they need the average number of areas below an area, "
                f"{numbers} from {first} down."
            )
        if page.estimates.now is None:
            return "Working out the best estimates …"
        usual = has_usual_tree(page.state) and len(page.state.base.levels) > 1 and not page.get("tree")
        areas = " An area has as many areas below it as in the United States on average." if usual else ""
        if page.state.release.attributes is not None:
            return f"{estimates_text(together=True)}{areas}"
        return estimates_text(together=False)

    with c.card():
        with c.box("wb-between wb-top"):
            page.heading("Margins of error", "margin")
            with c.box("wb-row").style("width: 220px; flex-wrap: nowrap"):
                c.words("Group of", "wb-soft").style("white-space: nowrap")
                name, own = "Size of a group", page.setting("size", OWN_SIZE)
                size = c.Field(page, name, read_size, own, "the size of a group")
        page.rebuild(c.box(""), figures, lambda now: _table(*now), dims=True)
        c.gap()
        c.Field(
            page,
            "Areas below an area",
            read_children,
            page.setting("tree"),
            "areas below an area",
            term="estimate",
            shown="areas below an area, on average, level by level",
            placeholder="such as 51, 61.6, …",
        )
        page.words(note).style("margin-top: 8px")


def _table(margins: Margins, own: int) -> None:
    """A row for each level and query; equal queries share a row."""
    waits = "–" if margins.has_none else "…"

    sizes, rows = sorted({own, *SIZES}), []
    for line in margins.lines:
        best = margins.best(line)
        unknown = waits if line.estimate is None and not margins.has_none else "–"
        errors = [unknown if best is None else relative_error(best, size) for size in sizes]
        errors = ["–"] * len(sizes) if line.sums_column else errors
        rows.append(
            (
                level_name(line.level),
                line.queries,
                [*map(cell_text, (*noise_cells(line), *estimate_cells(line, waits))), *errors],
            )
        )
    caption = (
        "Standard deviations and 95 % margins (noise only), where no levels are merged. The last columns "
        f"give the margin of the {margins.what} relative to a group of that size."
        + (" Sums have no such size." if any(line.sums_column for line in margins.lines) else "")
    )
    kind = "best estimate" if margins.together else "estimate"
    groups = [
        ("", 2),
        ("noise", 2),
        (f"{kind} (noise only)", 2),
        (f"margin of the {margins.what}, relative", len(sizes)),
    ]
    head = ["level", "query", *["std. dev.", "95 % margin"] * 2, *(f"of {size:,}" for size in sizes)]
    with c.box("wb-scroll"), c.box("wb-table wb-second-left", "table"):
        with c.box("", "caption"):
            c.words(caption, "wb-caption")
        c.table_head(head, groups)
        with c.box("", "tbody"):
            for above, (level, queries, texts) in pairwise([("", (), []), *rows]):
                with c.box("", "tr"):
                    c.words("" if level == above[0] else level, tag="th")  # name each level once
                    with c.box("", "td"):
                        _names(queries)
                    for text in texts:
                        c.words(text, tag="td")


def _names(queries: tuple[str, ...]) -> None:
    """The queries of a row; a long list unfolds on request."""
    if len(queries) == 1:
        c.words(queries[0])
        return
    with c.box("wb-names", "details"):
        c.words(f"{len(queries)} queries alike", tag="summary")
        for name in queries:
            c.words(name, "wb-soft", "div")


def _sizes(page: _AccuracyPage) -> None:
    """Relative error of one query against the size of a group, level by level."""

    def queries() -> dict[str, str]:
        return {name: name for name in page.margins.by_query} if page.margins else {}

    def lines() -> dict[str, float]:
        return page.margins.by_query.get(page.query, {}) if page.margins else {}

    def drawn() -> c.Drawn:
        if not lines() or page.margins is None:
            return None
        margins = ((level_name(level), Style.MARGIN.quantity(margin)) for level, margin in lines().items())
        said = "; ".join(f"{level} ± {margin}" for level, margin in margins)
        name = f"Relative error of {page.query} against the size of a group"
        panel = sizes_panel(lines(), page.state.base.unit)
        return panel, f"{name}. Margin of the {page.margins.what}: {said}"

    def note() -> str:
        if page.margins is None or not page.query:
            return ""
        missing = [level_name(level.name) for level in page.state.base.levels if level.name not in lines()]
        without = "do not ask it" if len(missing) > 1 else "does not ask it"
        without = without if page.margins.has_none else "not determined there"
        left_out = f" Left out: {', '.join(missing)} ({without})." if missing and lines() else ""
        of = f"{page.margins.what} of {page.query}"
        return f"95 % margin (noise only) of the {of}, over the size.{left_out}"

    with c.card():
        with c.box("wb-between wb-top"):
            page.heading("Relative error by size of the group", "relative error")
            with c.box("").style("width: 150px"):
                setting = c.Setting(lambda: page.query, lambda text: page.at("query", text))
                c.choice(page, "Query", setting, queries, "looking at {}", bare=True)
        page.words(note).style("margin-bottom: 6px")
        page.chart("Relative error against the size of a group, a line for each level", drawn, 370)


def _wanted(page: _AccuracyPage) -> None:
    """The smallest budget for wanted margins."""
    session, question = page.session, page.least
    fields: dict[str, c.Field[str]] = {}

    def take() -> None:
        if question.now is not None:
            state = session.state.with_release(question.now[0].release)
            state = state.with_settings(page.name, {f"margin {name}": "" for name in fields})
            session.commit(state, "the budget for wanted margins")

    def names() -> list[str]:
        return [level.name for level in session.lasting.base.levels if not level.lacks_rho]

    def build(names: list[str]) -> None:
        fields.clear()
        for name in names:
            shown, margin = level_name(name), page.setting(f"margin {name}")
            label, what = f"Wanted margin of {shown}", f"the wanted margin of {shown}"
            fields[name] = c.Field(page, label, read_margin, margin, what, shown=shown)

    def said() -> str:
        if question.now is None:
            return question.trouble
        return str(least_budget_sentence(*question.now, session.state.budget.total))

    with c.card():
        page.heading("The smallest budget for the margins you want", "wanted")
        note = "Margins of the noise, in the widest query of a level. Leave a level empty to keep its noise."
        c.words(note, "wb-soft", "div").style("margin-bottom: 10px")
        place = c.box("wb-pair").style("gap: 8px 20px")
        answer = c.words("", "wb-text", "p", role="status", data_of="").style("margin: 14px 0 10px")
        button = c.button("Use this budget", take, "wb-primary")
        command = c.words("", "wb-command wb-hidden", "code", data_of="").style("margin-top: 10px")

    page.rebuild(place, names, build)

    @page.draw
    def draw() -> None:
        state = session.state
        if not session.settled:
            return
        lines = page.noise.now or ()
        for name, field in fields.items():
            known = (line.noise[1] or 0.0 for line in lines if line.level == name and line.noise)
            widest = max(known, default=None)
            c.put(field.element, "placeholder", None if widest is None else f"noise now ± {widest:,}")
        asked = tuple((name, field.kept) for name, field in fields.items() if field.kept)
        wanted = ",".join(f"{name}={text}" for name, text in asked)
        command.say(command_line(state, "calibrate", "--moe", wanted) if asked else "")
        question.ask(state.release, asked, **page.asked, begin=bool(asked))
        c.enable(button, question.now is not None)
        page.write(answer, said())
        page.stamp(command)


def _calibration(page: _AccuracyPage) -> None:
    """What calibration saves, and its proof."""
    session, question = page.session, page.calibrated

    def ask(*, begin: bool) -> None:
        question.ask(session.state.release, **page.asked, zcdp=True, begin=begin)

    def calibrated() -> None:
        ask(begin=True)
        page.redraw()

    def take() -> None:
        if question.now is not None:
            session.commit(session.state.with_release(question.now.release), "calibration")

    def promise() -> str:
        saving, quick = session.numbers.saving.now, session.numbers.quick.found
        if session.numbers.saving.trouble:
            return f"No saving is stated: {session.numbers.saving.trouble}."
        if saving is None or quick is None:
            return "Finding how little noise is enough …"
        return f"{promise_sentence(saving, quick.zcdp)} The button gives the proof."

    def proved() -> str:
        answer = question.now
        if answer is None or answer.proof is None or answer.factor is None:
            return question.trouble or ("Calibrating …" if question.progress else "")
        return str(proof_sentence(answer))

    with c.card():
        page.heading("What calibration buys", "calibration")
        page.words(promise, "wb-text", "p").style("margin: 0 0 12px")
        with c.box("wb-row"):
            c.button("Calibrate and prove", calibrated)
            button = c.button("Use this budget", take, "wb-primary")
        page.draw(lambda: ask(begin=False))
        page.bar(lambda: question.progress)
        page.show(button, lambda: question.now is not None)
        page.words(proved, "wb-text", "p", role="status").style("margin: 12px 0 0")
        page.command(lambda: command_line(page.state, "calibrate", "--zcdp")).style("margin-top: 12px")
