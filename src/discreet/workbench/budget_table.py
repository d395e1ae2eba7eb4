"""The table of levels and queries: every share a fraction, sums checked while typing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from nicegui.element import Element

from discreet.errors import DiscreetError
from discreet.numbers import positive
from discreet.workbench import controls as c
from discreet.workbench.phrases import HELP
from discreet.workbench.session import Session
from discreet.workbench.state import Budget, State, whole_weights

NAME = "budget"


def read_share(text: str) -> Fraction:
    """Read one cell.

    >>> read_share("1/13")
    Fraction(1, 13)
    >>> read_share("1/0")
    Traceback (most recent call last):
    discreet.errors.InputError: the share is '1/0', a division by zero
    """
    return positive(text, name="the share")


def sum_words(shares: Sequence[Fraction]) -> str:
    """Say by how much shares miss 1; nothing if they add up.

    >>> sum_words([Fraction(1, 2), Fraction(2, 3)]), sum_words([Fraction(1, 3), Fraction(2, 3)])
    ('adds up to 7/6, not 1: 1/6 too much', '')
    >>> sum_words([Fraction(1, 4)])
    'adds up to 1/4, not 1: 3/4 too little'
    """
    total = sum(shares, Fraction(0))
    if total == 1:
        return ""
    return f"adds up to {total}, not 1: {abs(total - 1)} too {'much' if total > 1 else 'little'}"


def rescaled(shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return the shares in the same proportions, adding up to 1."""
    total = sum(shares, Fraction(0))
    return tuple(share / total for share in shares)


class BudgetTable:
    """The table: one column a level, one row a query; a first row for the levels' own shares of the total."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._fields: dict[tuple[int, int], c.Field] = {}
        self._sums: dict[int, tuple[c.Text, Element]] = {}
        self._base: object = None
        self._budget: Budget | None = None
        with c.box("wb-card", "section") as card:
            card._props["aria-label"] = "Shares of levels and queries"
            c.heading("Shares of levels and queries", HELP["share"])
            self._place = c.box("wb-scroll")
        session.listen(self._heard, NAME)
        self._heard("state")

    def _heard(self, topic: str) -> None:
        if topic != "state" or not self.session.settled:
            return
        state = self.session.state
        if state.base is not self._base:
            self._base = state.base
            self._draw(state)
        if state.budget != self._budget:
            self._budget = state.budget
            self._fill(state)

    def _draw(self, state: State) -> None:
        levels = state.base.levels
        queries = list(dict.fromkeys(query.name for level in levels for query in level.queries))
        self._fields, self._sums = {}, {}
        self._place.clear()
        with self._place, c.box("wb-table wb-grid", "table"):
            with c.box("", "thead"), c.box("", "tr"):
                c.words("query", tag="th")._props["scope"] = "col"
                for level in levels:
                    c.words(level.name, tag="th")._props["scope"] = "col"
                c.words("sum", tag="th")._props["scope"] = "col"
            with c.box("", "tbody"):
                self._draw_row("level’s share of the total", -1, state)
                for row, name in enumerate(queries):
                    self._draw_row(name, row, state, name)
                with c.box("", "tr"):
                    c.words("sum of the level", tag="th")
                    for place in range(len(levels)):
                        self._draw_sum(place, bool(state.stated.weights[place]))
                    c.words("", tag="td")

    def _draw_row(self, label: str, row: int, state: State, query: str | None = None) -> None:
        with c.box("", "tr"):
            c.words(label, tag="th")._props["scope"] = "row"
            for place, level in enumerate(state.base.levels):
                with c.box("", "td"):
                    names = [one.name for one in level.queries]
                    if not state.stated.weights[place] or (query is not None and query not in names):
                        c.words("–", "wb-soft")
                        continue
                    key = (place, -1 if query is None else names.index(query))
                    name = f"Share of {query or 'the total'}, {level.name}"
                    self._fields[key] = c.Field(name, "", partial(self._typed, key))
            if query is None:
                self._draw_sum(-1, True)
            else:
                c.words("", tag="td")

    def _draw_sum(self, place: int, used: bool) -> None:
        with c.box("", "td"):
            text = c.words("1" if used else "–", "wb-soft", "div")
            text._props["role"] = "status"
            mend = c.button("Scale to 1", partial(self._mend, place), "wb-quiet")
            c.show(mend, False)
        self._sums[place] = (text, mend)

    def _fill(self, state: State) -> None:
        for (place, query), field in self._fields.items():
            budget = state.budget
            share = budget.share(place) if query < 0 else budget.shares[place][query]
            if field.message.shown or _parsed(field.value) != share:
                field.set(str(share))
            field.say(None)
        for place in self._sums:
            self._say_sum(place, "")

    def _column(self, place: int) -> list[tuple[int, int]]:
        if place < 0:
            return [key for key in self._fields if key[1] < 0]
        return [key for key in self._fields if key[0] == place and key[1] >= 0]

    def _typed(self, key: tuple[int, int], text: str) -> None:
        try:
            read_share(text)
        except DiscreetError as error:
            self._fields[key].say(str(error))
            return
        self._fields[key].say(None)
        self._check(-1 if key[1] < 0 else key[0])

    def _check(self, place: int) -> None:
        shares = [_parsed(self._fields[key].value) for key in self._column(place)]
        good = [share for share in shares if share is not None]
        if len(good) < len(shares):
            self._say_sum(place, "cannot be added up: see the cell in red")
            return
        wrong = sum_words(good)
        self._say_sum(place, wrong, can_mend=bool(wrong))
        if not wrong:
            self._take(place, tuple(good))

    def _mend(self, place: int) -> None:
        shares = [_parsed(self._fields[key].value) for key in self._column(place)]
        self._take(place, rescaled([share for share in shares if share is not None]))

    def _take(self, place: int, shares: tuple[Fraction, ...]) -> None:
        state = self.session.state
        if place < 0:
            found = dict(zip((key[0] for key in self._column(-1)), shares, strict=True))
            weights = tuple(found.get(one, Fraction(0)) for one in range(len(state.budget.weights)))
            budget = replace(state.budget, weights=whole_weights(weights))
            what = "the shares of the levels"
        else:
            budget = state.budget.with_shares(place, shares)
            what = f"the shares within {state.base.levels[place].name}"
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
        return read_share(text)
    except DiscreetError:
        return None
