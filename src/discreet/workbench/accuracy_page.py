"""The Accuracy page: how far off counts and estimates are, what margins cost, what calibration buys."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from discreet.accounting.calibration import Calibration, calibrate
from discreet.budget.levels import level_name
from discreet.errors import DiscreetError, InputError
from discreet.numbers import interval, number, percent, plain, positive
from discreet.numbers import margin as margin_text
from discreet.report.tables import NoiseLine, calibrated_lines, noise_lines, scaled_sizes
from discreet.workbench import charts
from discreet.workbench import controls as c
from discreet.workbench import words as say
from discreet.workbench.session import Question, Session
from discreet.workbench.tasks import estimates, least_budget
from discreet.workbench.words import OWN_SIZE
from discreet.workbench.workers import processors

SIZES = (100, 1_000, 10_000)
"""Group sizes of the table."""


class _AccuracyPage(c.Page):
    def __init__(self, session: Session) -> None:
        super().__init__(session, "accuracy")
        self.noise: Question[tuple[NoiseLine, ...]] = self.question(noise_lines, 0.1, 120)
        self.estimates: Question[tuple[NoiseLine, ...]] = self.question(estimates, 0.5, 300)
        self.least: Question[tuple[Calibration, float]] = self.question(
            least_budget, 0.1, 1800, all_cases=True
        )
        self.calibrated: Question[Calibration] = self.question(
            calibrate, 0.3, 3600, long=True, all_cases=True, reports=True
        )
        self.tree_trouble = ""

    @property
    def lines(self) -> tuple[NoiseLine, ...]:
        """The noise of each level, with the best estimates once they are known."""
        return self.estimates.now or self.noise.now or ()

    @property
    def together(self) -> bool:
        """Whether the page's figures are those of estimates from all queries and levels together."""
        unknown = bool(self.estimates.trouble or self.tree_trouble)
        return self.state.release.attributes is not None and not unknown

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
            self.estimates.ask(release, read_tree(self.get("tree")), begin=settled)
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


def common_lines(lines: tuple[NoiseLine, ...]) -> dict[str, NoiseLine]:
    """Return for each level its most common kind of query."""
    best: dict[str, NoiseLine] = {}
    for line in lines:
        if line.level not in best or len(line.queries) > len(best[line.level].queries):
            best[line.level] = line
    return best


def read_size(text: str) -> int:
    """Return the size of a group.

    >>> read_size("1,500")
    1500
    """
    size = positive(text.replace(",", ""), name="the size of a group")
    if size.denominator != 1 or size > 10**10:
        raise InputError(f"the size of a group is {text.strip()}; it must be a whole number of at most 1e10")
    return int(size)


def read_tree(text: str) -> tuple[float, ...] | None:
    """Return how many areas an area of each level has on average; None for those of the United States.

    >>> read_tree("51, 61.6"), read_tree("")
    ((51.0, 61.6), None)
    """
    if not text.strip():
        return None
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(1 <= one <= 1e6 for one in found):
        raise InputError(f"the tree is {text.strip()!r}; it must be numbers from 1 on, such as 51, 61.6")
    return found


def read_margin(text: str) -> str:
    """Check a margin; an empty one leaves a level as it is."""
    if text.strip():
        positive(text, name="the margin")
    return text.strip()


def _margins(page: _AccuracyPage) -> None:
    """The table of margins."""

    def figures() -> tuple[tuple[NoiseLine, ...], bool, int, str] | None:
        unknown = "–" if page.tree_trouble or page.estimates.trouble else "…"
        return (page.lines, page.together, size.kept or int(OWN_SIZE), unknown) if page.lines else None

    def note() -> str:
        if page.tree_trouble:
            return ""
        if page.estimates.trouble:
            if page.get("tree") or say.has_usual_tree(page.state):
                return f"No estimates: {page.estimates.trouble}."
            many, first = len(page.state.base.levels) - 1, level_name(page.state.base.levels[0].name)
            numbers = f"{many} numbers" if many > 1 else "one number"
            return (
                "No estimates yet: they need the average number of areas below an area, "
                f"{numbers} from {first} down."
            )
        if page.estimates.now is None:
            return "Working out the best estimates …"
        if page.together:
            return "Best estimates use all queries and levels together."
        return "Estimates use each query by itself, at all levels: the release states no attributes."

    with c.card():
        with c.box("wb-between wb-top"):
            page.heading("Margins of error", "margin")
            with c.box("wb-row").style("width: 220px; flex-wrap: nowrap"):
                c.words("Group of", "wb-soft").style("white-space: nowrap")
                name, own = "Size of a group", page.setting("size", OWN_SIZE)
                size = c.Field(page, name, read_size, own, "the size of a group", typing=True)
        page.rebuild(c.box(""), figures, lambda now: _table(*now))
        c.gap()
        c.Field(
            page,
            "Areas below an area",
            read_tree,
            page.setting("tree"),
            "areas below an area",
            typing=True,
            term="estimate",
            shown="areas below an area, on average, level by level",
            placeholder="such as 51, 61.6, …",
        )
        page.words(note).style("margin-top: 8px")


def _table(lines: tuple[NoiseLine, ...], together: bool, own: int, unknown: str) -> None:
    def known(value: float | None, line: NoiseLine, sign: str = "") -> str:
        """Write a number of an estimate, if it is known by now, or can be."""
        if value is None:
            return unknown if line.estimate is None else "not determined"
        return f"{sign}{margin_text(value)}"

    def relative(part: float) -> str:
        return f"{100 * part:,.0f} %" if part >= 1 else percent(part)

    sizes, rows = sorted({own, *SIZES}), []
    for line in lines:
        deviation, margin = line.estimate or (None, None)
        noise = [margin_text(line.deviation), f"± {line.margin:,}"]
        if together:
            best = [known(deviation, line), known(margin, line, "± ")]
            figures, shown = [*best, *noise], margin
        else:
            figures, shown = [*noise, known(margin, line, "± ")], float(line.margin)
        alike = line.queries[0] if len(line.queries) == 1 else f"{len(line.queries)} queries alike"
        errors = ("–" if shown is None else relative(shown / size) for size in sizes)
        rows.append([level_name(line.level), alike, *figures, *errors])
    for above, row in reversed(list(pairwise(rows))):
        row[0] = "" if row[0] == above[0] else row[0]  # a level is named once
    what = "best estimate from all queries and levels" if together else "noise"
    caption = (
        f"The {what} where no levels are merged; the last columns give its margin relative to groups of "
        f"that size."
    )
    columns = ["std. dev.", "95 % margin"]
    columns += ["noise, std. dev.", "noise, 95 % margin"] if together else ["estimate, 95 % margin"]
    head = ["level", "query", *columns, *(f"of {size:,}" for size in sizes)]
    with c.box("wb-scroll"), c.box("wb-table wb-second-left", "table"):
        c.words(caption, tag="caption")
        c.table_head(head)
        with c.box("", "tbody"):
            for row in rows:
                with c.box("", "tr"):
                    for place, text in enumerate(row):
                        c.words(text, tag="td" if place else "th")


def _sizes(page: _AccuracyPage) -> None:
    """Relative error against the size of a group."""

    def drawn() -> c.Drawn:
        lines = {}
        for level, line in common_lines(page.lines).items():
            best = line.estimate[1] if page.together and line.estimate else None
            margin = max(best if best is not None else line.margin, 0.5)
            lines[level_name(level)] = tuple((10.0**power, margin / 10.0**power) for power in range(1, 7))
        return (charts.sizes(lines, page.state.base.unit), "") if lines else None

    with c.card():
        page.heading("Relative error by size of the group", "relative error")
        page.chart("Relative error against the size of a group, one line a level", drawn, 370)


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
        return [level.name for level in session.lasting.base.levels if not level.has_laplace]

    def build(names: list[str]) -> None:
        fields.clear()
        for name in names:
            shown, margin = level_name(name), page.setting(f"margin {name}")
            label, what = f"Wanted margin of {shown}", f"the wanted margin of {shown}"
            fields[name] = c.Field(page, label, read_margin, margin, what, typing=True, shown=shown)

    def said() -> str:
        if question.now is None:
            return question.trouble
        made, zcdp = question.now
        total = sum((level.spent(made.release.neighbours) for level in made.release.levels), Fraction(0))
        return (
            f"rho {plain(total)} (now {plain(session.state.budget.total)}): "
            f"{made.claim.kind.states('epsilon', float(made.epsilon or 0))}, zCDP {number(zcdp)}."
        )

    with c.card():
        page.heading("The smallest budget for the margins you want", "wanted")
        note = "Leave a level empty to keep its noise."
        c.words(note, "wb-soft", "div").style("margin-bottom: 10px")
        place = c.box("wb-pair").style("gap: 8px 20px")
        answer = c.words("", "wb-text", "p", role="status").style("margin: 14px 0 10px")
        button = c.button("Use this budget", take, "wb-primary")
        command = c.words("", "wb-command wb-hidden", "code").style("margin-top: 10px")

    page.rebuild(place, names, build)

    @page.draw
    def draw() -> None:
        state = session.state
        if not session.settled:
            return
        lines = page.noise.now or ()
        for name, field in fields.items():
            widest = max((line.margin for line in lines if line.level == name), default=None)
            c.put(field.element, "placeholder", None if widest is None else f"now ± {widest:,}")
        asked = tuple((name, field.kept) for name, field in fields.items() if field.kept)
        wanted = ",".join(f"{name}={text}" for name, text in asked)
        command.say(say.command(state, "calibrate", "--moe", wanted) if asked else "")
        question.ask(state.release, asked, **page.asked, begin=bool(asked))
        c.enable(button, question.now is not None)
        answer.set(said())


def _calibration(page: _AccuracyPage) -> None:
    """What calibration buys, and its proof."""
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
        found, quick = session.numbers.saving.now, session.numbers.quick.found
        if session.numbers.saving.trouble:
            return f"No saving is stated: {session.numbers.saving.trouble}."
        if found is None or quick is None:
            return "Finding how little noise is enough …"
        said = (
            f"With zCDP's epsilon of {number(quick.zcdp)} as the promise, noise with {found.saved} "
            f"is enough. "
        )
        lines = calibrated_lines(found)
        if lines:
            alike = [one for one in lines if one.level == lines[-1].level]
            before, after = max(alike, key=lambda one: len(one.queries)).margins
            would = (
                f"± {after:,}, as it is now" if after == before else f"± {after:,} instead of ± {before:,}"
            )
            said += f"The margin of error of {level_name(lines[-1].level)} would be {would}. "
        return f"{said}The button gives the proof."

    def proved() -> str:
        found = question.now
        if found is None or found.proof is None or found.factor is None:
            return question.trouble or ("Calibrating …" if question.progress else "")
        low, high = interval(found.proof, 6)
        return (
            f"All {scaled_sizes(found.release)} times {plain(found.factor)}: {found.saved}. Proved: at "
            f"epsilon {number(float(found.epsilon or 0))} the true delta lies between {low} and {high}."
        )

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
        page.command(lambda: say.command(page.state, "calibrate", "--zcdp")).style("margin-top: 12px")
