"""The table of a tabulation design, a row for each geography and level, and one of them in pictures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.release.safetab.geographies import LEVEL_WORDS, PASSES
from discreet.report import words
from discreet.workbench import controls as c
from discreet.workbench import design_charts as charts
from discreet.workbench import design_plan as plan
from discreet.workbench.design_parts import exact_text, keep, take
from discreet.workbench.design_plan import Design, Place
from discreet.workbench.design_words import HELP

if TYPE_CHECKING:
    from discreet.release.safetab.design import SizedLevel
    from discreet.workbench.design_page import Desk


class Table:
    """Every geography and level: on or off, its rho, and what follows."""

    COLUMNS = (
        "geography, level",
        "rho",
        "95 % margin",
        "total",
        "4 ages",
        "9 ages",
        "23 ages",
        "thresholds",
        "dropped up to",
    )

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._which = ""
        self._rows: dict[Place, tuple[c.Check, c.Field, list[c.Text]]] = {}
        self._switches: list[tuple[c.Check, list[Place]]] = []
        with c.box("wb-card", "section"):
            c.heading("Group sizes for the target error, and thresholds", HELP["sizes"])
            self._bar = c.box("wb-row").style("gap: 4px 22px; margin: -6px 0 12px")
            self._place = c.box("wb-scroll")
        desk.draw(self._draw)

    def _build(self, design: Design) -> None:
        self._which, self._rows, self._switches = design.which, {}, []
        self._bar.clear()
        with self._bar:
            c.words("Switch all of", "wb-soft").style("margin-top: 10px")
            whole: list[tuple[str, list[Place]]] = [
                (f"{word} groups", [place for place in design.places if place[1] == level])
                for level, word in LEVEL_WORDS.items()
            ]
            whole += [(name, [(name, 1), (name, 2)]) for name in PASSES[design.which]]
            for name, places in whole:
                check = c.Check(name, True, "", partial(self._switched, name, places))
                self._switches.append((check, places))
        self._place.clear()
        with self._place, c.box("wb-table", "table"):
            c.words("", tag="caption")
            with c.box("", "thead"), c.box("", "tr"):
                for name in self.COLUMNS:
                    c.words(name, tag="th")._props["scope"] = "col"
            with c.box("", "tbody"):
                for place in design.places:
                    self._draw_row(place)

    def _draw_row(self, place: Place) -> None:
        name = plan.row_words(place)
        with c.box("", "tr"):
            with c.box("", "th").style("padding-top: 0"):
                check = c.Check(name, True, "", partial(self._switched, name, [place]))
            with c.box("", "td").style("width: 112px"):
                field = c.Field(f"rho of {name}", "", partial(self._typed, place))
            cells = [c.words("", tag="td").style("padding-top: 12px") for _ in self.COLUMNS[2:]]
        self._rows[place] = (check, field, cells)

    def _draw(self) -> None:
        design = self.desk.design
        if design.which != self._which:
            self._build(design)
        for check, places in self._switches:
            check.set(any(place not in design.off for place in places))
        numbers = self.desk.numbers
        lines = {line.place: line for line in numbers.lines} if numbers else {}
        for place, (check, field, cells) in self._rows.items():
            check.set(place not in design.off)
            rho = design.stated_rho(place) * design.scale
            keep(field, rho, plan.read_rho, exact_text(rho))
            line = lines.get(place)
            for cell, text in zip(cells, _texts(line), strict=True):
                cell.set(text)

    def _switched(self, name: str, places: list[Place], on: bool) -> None:
        self.desk.change(self.desk.design.with_on(places, on=on), f"{name} {'on' if on else 'off'}")

    def _typed(self, place: Place, text: str) -> None:
        take(
            self._rows[place][1],
            text,
            plan.read_rho,
            lambda rho: self.desk.change(self.desk.design.with_rho(place, rho), f"rho {words.plain(rho)}"),
        )


def _texts(line: SizedLevel | None) -> list[str]:
    if line is None:
        return ["–"] * 7
    steps = " / ".join(f"{step:,}" for step in line.thresholds)
    cut = "none dropped" if line.suppression is None else f"{line.suppression:,}"
    return [f"± {line.margin:,}", *(f"{size:,}" for size in line.sizes), steps, cut]


class Row:
    """One geography and level: which table a group gets, and the bias of what is shown."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._seen: Any = None
        self._options: tuple[Place, ...] = ()
        with c.box("wb-card", "section"):
            with c.box("wb-between wb-top"):
                c.heading("One geography and level", HELP["tables"])
                self._where = c.box("").style("width: 210px")
            self._tables = c.Chart("chance of each table against the true size of a group")
            self._tables.element.style("height: 280px")
            c.heading("Bias of the published total", HELP["bias"], 3)
            self._bias = c.Chart("bias of a published total against the true size of a group")
            self._bias.element.style("height: 250px")
            self._none = c.words("", "wb-soft", "p")
        desk.draw(self._draw)

    def _draw(self) -> None:
        design, numbers, dark = self.desk.design, self.desk.numbers, self.desk.session.dark
        if design.places != self._options:
            self._options = design.places
            self._where.clear()
            names = {plan.row_text(place): plan.row_words(place) for place in design.places}
            with self._where:
                self._choice = c.choice("Geography and level", names, "", self._chosen)
        c.put(self._choice, "data-value", plan.row_text(design.chosen))
        curves = numbers.curves if numbers else None
        if self._seen == (curves, dark):
            return
        self._seen = (curves, dark)
        c.show(self._tables.element, curves is not None)
        c.show(self._bias.element, curves is not None and bool(curves.bias))
        self._none.set(
            ""
            if curves and curves.bias
            else "Nothing is dropped here, so totals have no bias."
            if curves
            else "It is off."
        )
        if curves is None:
            return
        self._tables.set(charts.tables(curves.tables, dark=dark))
        if curves.bias:
            self._bias.set(charts.bias(curves.bias, curves.overall_bias, dark=dark))

    def _chosen(self, text: str) -> None:
        place = next(place for place in self._options if plan.row_text(place) == text)
        self.desk.change(replace(self.desk.design, chosen=place), f"looking at {plan.row_words(place)}")
