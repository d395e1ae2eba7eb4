"""The Accuracy page: how far counts are off, what wanted margins cost, and what calibration buys."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from discreet.errors import DiscreetError
from discreet.numbers import fraction, positive
from discreet.report import words
from discreet.workbench import accuracy_view as view
from discreet.workbench import charts, phrases
from discreet.workbench import controls as c
from discreet.workbench.session import Session
from discreet.workbench.workers import Slot, processors

NAME = "accuracy"
_HELP = phrases.HELP


def build(session: Session) -> None:
    """Draw the page."""
    with c.box("wb-stack"):
        with c.box("wb-two wb-wide-left"):
            _Margins(session)
            with c.box("wb-stack"):
                _Sizes(session)
                _Calibration(session)
        _Wanted(session)


def size_text(value: float) -> str:
    """Write a margin with three digits, large ones as whole numbers.

    >>> size_text(4.8123), size_text(1234.5), size_text(0.01234)
    ('4.81', '1,234', '0.0123')
    """
    return f"{value:,.0f}" if value >= 1000 else words.number(value, 3)


def percent_text(part: float) -> str:
    """Write a relative error.

    >>> percent_text(0.0482), percent_text(12.3), percent_text(0.00001)
    ('4.8 %', '1,230 %', '0.0010 %')
    """
    return (
        f"{100 * part:,.0f} %"
        if part >= 1
        else words.percent(part)
        if part >= 0.0001
        else f"{100 * part:.4f} %"
    )


class _Margins:
    """The table of margins."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._drawn: tuple[Any, int] | None = None
        with c.box("wb-card", "section"):
            with c.box("wb-between wb-top"):
                c.heading("Margins of error", _HELP["margin"])
                with c.box("wb-row").style("width: 220px; flex-wrap: nowrap"):
                    c.words("Group of", "wb-soft").style("white-space: nowrap")
                    self._field = c.Field("Size of a group", view.OWN_SIZE, self._typed)
            self._place = c.box("")
        session.listen(self._heard, NAME)
        self._heard("state")

    def _typed(self, text: str) -> None:
        try:
            view.read_size(text)
        except DiscreetError as error:
            self._field.say(str(error))
            return
        self._field.say(None)
        kept = "" if text.strip() == view.OWN_SIZE else text.strip()
        state = self.session.state.with_settings(NAME, {"size": kept})
        self.session.commit(state, "the size of a group", typing=True)

    def _heard(self, topic: str) -> None:
        if topic != "state" or not self.session.settled:
            return
        text = self.session.state.setting(NAME, "size", view.OWN_SIZE)
        try:
            own, trouble = view.read_size(text), None
        except DiscreetError as error:
            own, trouble = int(view.OWN_SIZE), str(error)
        if text != self._field.value.strip():
            self._field.set(text)
            self._field.say(trouble)
        now = (self.session.state.release, own)
        if self._drawn is None or self._drawn[0] is not now[0] or self._drawn[1] != own:
            self._drawn = now
            self._draw(*now)

    def _draw(self, release: Any, own: int) -> None:
        sizes = sorted({own, *view.SIZES})
        columns = ["level", "query", "std. dev.", "95 % margin", *(f"of {size:,}" for size in sizes)]
        rows = [
            [
                row.level,
                view.names_of(row),
                size_text(row.deviation),
                f"± {size_text(row.margin)}",
                *(percent_text(row.relative(size)) for size in sizes),
            ]
            for row in view.rows(release)
        ]
        for above, row in reversed(list(pairwise(rows))):
            row[0] = "" if row[0] == above[0] else row[0]  # a level is named once
        self._place.clear()
        with self._place:
            caption = "Noise where no levels are merged; on the right as a part of groups of that size."
            c.table(caption, columns, rows, "wb-second-left")


class _Sizes:
    """Relative error against the size of a group."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._drawn: tuple[Any, bool] | None = None
        with c.box("wb-card", "section"):
            c.heading("Relative error by size of the group", _HELP["relative error"])
            self._chart = c.Chart("Relative error against the size of a group, one line a level")
            self._chart.element.style("height: 340px")
        session.listen(self._heard, NAME)
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic not in ("state", "theme"):
            return
        now = (self.session.state.release, self.session.dark)
        if self._drawn is not None and self._drawn[0] is now[0] and self._drawn[1] == now[1]:
            return
        self._drawn = now
        self._chart.set(charts.sizes(view.lines(now[0]), dark=now[1]))


class _Wanted:
    """The least budget for wanted margins."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._fields: dict[str, c.Field] = {}
        self._names: list[str] = []
        self._found: Any = None
        self._asked: dict[str, str] = {}
        self._slot: Slot[tuple[Any, dict[str, str]]] = Slot(self._compute, session.task)
        with c.box("wb-card", "section"):
            explained = (
                "The most noise, and so the least budget, with which every query of a level stays within "
            )
            c.heading("Least budget for wanted margins", f"{explained}the margin you ask for.")
            note = "Leave a level empty to keep its noise."
            c.words(note, "wb-soft", "div").style("margin-bottom: 10px")
            self._place = c.box("wb-sliders").style(
                "display: grid; grid-template-columns: 1fr 1fr; gap: 8px 20px"
            )
            self._answer = c.words("", "wb-text", "p").style("margin: 14px 0 10px")
            self._answer._props["role"] = "status"
            self._use = c.button("Use this budget", self._take, "wb-primary")
            c.enable(self._use, False)
            self._command = c.words("", "wb-command wb-hidden", "code").style("margin-top: 10px")
        session.listen(self._heard, NAME)
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic != "state" or not self.session.settled:
            return
        state = self.session.state
        margins = view.main_margins(state.release)
        names = [level.name for level in state.base.levels if not level.has_laplace]
        if names != self._names:
            self._names, self._asked, self._found = names, {}, None
            self._place.clear()
            with self._place:
                self._fields = {
                    name: c.Field(f"Wanted margin of {name}", "", partial(self._typed, name), label=name)
                    for name in names
                }
        for name, field in self._fields.items():
            c.put(field.element, "placeholder", f"now ± {size_text(margins[name])}")
            self._read(name, field)
        self._ask()

    def _read(self, name: str, field: c.Field) -> None:
        """Take over the margin that the state remembers."""
        text = self.session.state.setting(NAME, f"margin {name}")
        wrong = _wrong_margin(text)
        if text != field.value.strip():
            field.set(text)
            field.say(wrong)
        self._asked.pop(name, None)
        if text and wrong is None:
            self._asked[name] = text

    def _typed(self, name: str, text: str) -> None:
        wrong = _wrong_margin(text)
        self._fields[name].say(wrong)
        if wrong is None:
            state = self.session.state.with_settings(NAME, {f"margin {name}": text.strip()})
            self.session.commit(state, f"the wanted margin of {name}", typing=True)

    def _ask(self) -> None:
        self._found = None
        c.enable(self._use, False)
        c.show(self._command, bool(self._asked))
        if not self._asked:
            self._answer.set("")
            return
        wanted = ",".join(f"{name}={text}" for name, text in self._asked.items())
        self._command.set(phrases.calibrate_command(self.session.state, margins=wanted))
        self._slot.ask((self.session.state, dict(self._asked)))

    async def _compute(self, asked: tuple[Any, dict[str, str]]) -> None:
        state, wanted = asked
        try:
            found = await self.session.find(
                "least_budget", state.release, state.relation, wanted, state.delta
            )
        except DiscreetError as error:
            self._answer.set(str(error))
            return
        if state is not self.session.state or wanted != self._asked:
            return
        release, epsilon, zcdp = found
        self._found = release
        total = sum((level.spent(release.neighbours) for level in release.levels), fraction(0))
        self._answer.set(
            f"rho {words.plain(total)} (now {words.plain(state.budget.total)}): exact epsilon "
            f"{words.number(epsilon)} on the main path, zCDP {words.number(zcdp)}."
        )
        c.enable(self._use, True)

    def _take(self) -> None:
        if self._found is None:
            return
        state = self.session.state.with_release(self._found)
        state = state.with_settings(NAME, {f"margin {name}": "" for name in self._names})
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

    def __init__(self, session: Session) -> None:
        self.session = session
        self._task: Any = None
        self._found: Any = None
        self._state: Any = None
        with c.box("wb-card", "section"):
            c.heading("What calibration buys", _HELP["calibration"])
            self._text = c.words("", "wb-text", "p").style("margin: 0 0 12px")
            with c.box("wb-row"):
                self._start = c.button("Calibrate and prove", self._begin)
                self._use = c.button("Use this budget", self._take, "wb-primary")
                c.show(self._use, False)
            self._bar = c.box("wb-progress wb-hidden")
            with self._bar:
                self._done = c.box("")
            self._answer = c.words("", "wb-text", "p").style("margin: 12px 0 0")
            self._answer._props["role"] = "status"
            self._command = c.words("", "wb-command", "code").style("margin-top: 12px")
        session.listen(self._heard, NAME)
        self._heard("state")
        self._heard("numbers")

    def _heard(self, topic: str) -> None:
        if topic == "state" and self.session.settled and self.session.state is not self._state:
            self._stop()
            self._state = self.session.state
            self._command.set(phrases.calibrate_command(self.session.state))
        if topic in ("numbers", "state"):
            self._tell()

    def _tell(self) -> None:
        numbers = self.session.numbers
        if numbers.saving is None or numbers.quick is None:
            self._text.set("Finding how little noise would do …")
            return
        part = 1 - (1 - numbers.saving) ** 0.5
        margins = list(view.main_margins(self.session.state.release).items())
        name, margin = margins[-1]
        self._text.set(
            f"With zCDP's epsilon of {words.number(numbers.quick.zcdp)} as the promise, every variance "
            f"could be {words.percent(numbers.saving)} smaller and every margin of error "
            f"{words.percent(part)}: ± {size_text(margin * (1 - part))} instead of ± {size_text(margin)} for "
            f"{name}. By the main path; the button does it for all pairs of paths, with a proof."
        )

    def _begin(self) -> None:
        self._stop()
        c.show(self._bar, True)
        self._answer.set("Calibrating …")
        self._task = self.session.task(self._run(self.session.state))

    async def _run(self, state: Any) -> None:
        def progress(stage: str, done: int, total: int) -> None:
            self._done.style(f"width: {100 * done / max(total, 1):.0f}%")

        try:
            found = await self.session.find(
                "calibrated",
                state.release,
                state.relation,
                state.delta,
                processors(),
                progress=progress,
            )
        except DiscreetError as error:
            self._answer.set(str(error))
            return
        finally:
            c.show(self._bar, False)
        self._found = found
        low, high = words.interval(found.proof, 6)
        self._answer.set(
            f"All variances times {words.plain(found.factor)}: {words.percent(found.reduction)} less "
            f"variance. Proved: at epsilon {words.number(float(found.epsilon))} the true delta lies between "
            f"{low} and {high}."
        )
        c.show(self._use, True)

    def _take(self) -> None:
        if self._found is not None:
            self.session.commit(self.session.state.with_release(self._found.release), "calibration")

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = self._found = None
        self._answer.set("")
        c.show(self._use, False)
        c.show(self._bar, False)
