"""A design as a spreadsheet: what has a closed form is a live formula, so that a committee can try changes.

The law of the noise is on a sheet of its own, so margins of error and suppression follow too. Only the exact
epsilon is a number; if a setting is changed, its cell says that `discreet` must be run again.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from math import ceil, exp, sqrt
from typing import Any, NamedTuple

from discreet.answers.answer import Cell, machine
from discreet.answers.quantity import Claimed, NumberKind
from discreet.answers.release import claim_text
from discreet.census.answers.design import (
    PARTS,
    design_table,
    groups_of_code,
    rival_epsilons,
    with_article,
)
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.margins import CONFIDENCE, Z95
from discreet.census.safetab.design import SizedLevel, Sizing
from discreet.errors import DiscreetError, InputError, install_hint
from discreet.noise import Noise
from discreet.render.csv import csv_of


class Law(NamedTuple):
    """Where the sheet holds the two-sided weights of a noise up to 0, 1, ..., and their sum."""

    weights: str
    end: str
    reach: int


class Filling(NamedTuple):
    """How a cell of a level's row is filled: its format, and its formula unless the value stands as it is."""

    kind: str = "number"
    formula: str | None = None


def fillings(sizing: Sizing, level: SizedLevel, row: int, law: Law) -> list[Filling]:
    """Return how each cell of `design_table` is filled in a row of the sheet, with the law of its noise."""
    weights, end, reach = law

    def below(part: str) -> str:
        """The smallest x up to which this part of the two-sided weights lies."""
        return f'=IF(K{row}>{reach}/8,"too wide",SUMPRODUCT(--({weights}<({part})*{end})))'

    second, each = level.mechanism.stage_two, groups_of_code(level)
    assert second is not None
    simple = each is not None
    groups = f"=CHOOSE(race_codes,{','.join(map(str, level.by_races))})"
    noise = f"=MAX(1,E{row})/(2*G{row})"
    if not second.precision:
        part = f"EXP(-G{row}/MAX(1,E{row}))"
        noise = f"=2*{part}/(1-{part})^2"
    rungs = level.mechanism.ladder.rungs
    cells = [
        *[Filling("text")] * 2,
        Filling("input"),
        Filling("input" if simple else "number"),
        Filling(formula=f"=C{row}*MAX(2,race_codes)+D{row}" if simple else groups),
        Filling("input"),
        Filling("decimal", f"=(1-first_share)*F{row}" if level.mechanism.ladder.picks else f"=F{row}"),
        Filling("decimal", f"=2*G{row}"),
        Filling("decimal", f"=2*F{row}"),
        Filling("decimal", noise),
        Filling("decimal", f"=SQRT(J{row})"),
        Filling("decimal", f"={float(Z95)}*K{row}"),
        Filling(formula=below("confidence_level")),
    ]
    for rung in rungs:
        formula = f"=ROUNDUP(ROUND(M{row}*{rung.cells}/target_error,6),0)" if sizing.of == "cell" else None
        cells.append(Filling(formula=formula))
    cells += [Filling("input")] * (len(rungs) - 1)
    if level.suppression is None:
        return [*cells, Filling(), Filling()]
    column = chr(ord("A") + len(cells))
    share = f"=(1+INDEX({weights},{column}{row}+1)/{end})/2"
    return [*cells, Filling(formula=below("2*drop_chance-1")), Filling("share", share)]


def csv_bytes(sizings: Sequence[Sizing]) -> bytes:
    """Return the table of designs as CSV, a row for each geography and level."""
    _one_ladder(sizings)
    return csv_of(design_table(sizings)).encode()


def _one_ladder(sizings: Sequence[Sizing]) -> None:
    """Raise unless all levels have the same columns."""
    ladders = {level.mechanism.ladder.name for sizing in sizings for level in sizing.levels}
    if len(ladders) > 1:
        raise InputError(
            f"the levels are on {len(ladders)} ladders ({', '.join(sorted(ladders))}), and a table holds "
            "one: choose the levels of one with --levels, or write .json"
        )


def xlsx_bytes(sizings: Sequence[Sizing], specification: Specification) -> bytes:
    """Return the designs as a spreadsheet, every formula with its value."""
    if find_spec("xlsxwriter") is None:
        raise DiscreetError(
            f"a spreadsheet is written with XlsxWriter, which is not installed: {install_hint('spreadsheet')}"
        )
    import xlsxwriter

    _one_ladder(sizings)
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True, "strings_to_formulas": False}) as book:
        _Book(book, sizings).write(specification)
    return stream.getvalue()


class _Book:
    """The workbook while it grows."""

    def __init__(self, book: Any, sizings: Sequence[Sizing]) -> None:
        from xlsxwriter.utility import xl_col_to_name

        self.book, self.sizings, self.letter = book, sizings, xl_col_to_name
        self.design = book.add_worksheet("Design")
        self.noise = book.add_worksheet("Noise")
        self.about = book.add_worksheet("About")
        kinds: dict[str, dict[str, object]] = {
            "title": {"bold": True, "font_size": 13},
            "head": {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1},
            "text": {},
            "wrapped": {"text_wrap": True, "valign": "top"},
            "input": {"bg_color": "#FFF7D6", "font_color": "#1F3A93"},
            "number": {"num_format": "#,##0"},
            "decimal": {"num_format": "0.0000"},
            "share": {"num_format": "0.0000 %"},
            "bold": {"bold": True, "num_format": "0.0000", "top": 1},
        }
        plain = {"font_name": "Calibri", "font_size": 10}
        self.formats = {name: book.add_format({**plain, **more}) for name, more in kinds.items()}
        widest = max(sqrt(float(level.variance)) for sizing in sizings for level in sizing.levels)
        self.reach = min(4000, max(400, ceil(16 * widest)))
        self.column = 0  # of the sheet of noise

    def write(self, specification: Specification) -> None:
        """Fill all sheets."""
        first, put, form = self.sizings[0], self.design.write, self.formats
        answers = first.configuration.tabulation.answers
        put(0, 0, "SafeTab design: shaded cells are settings, all else follows from them", form["title"])
        plan = first.configuration
        settings = (
            (
                "race_codes",
                f"{answers.word} codes that are counted, 1 to {plan.most_codes}",
                plan.max_race_codes,
            ),
            ("first_share", f"gamma, the first stage's share of a {first.word}", float(plan.gamma)),
            ("target_error", f"target error, as a fraction of the {PARTS[first.of]}", float(first.error)),
            ("confidence_level", "confidence of margins", float(CONFIDENCE)),
            ("drop_chance", "chance of dropping an empty group", float(plan.zero_suppression_chance)),
            ("wanted_delta", "delta", float(first.delta)),
        )
        for row, (name, words, value) in enumerate(settings, 2):
            put(row, 0, words, form["text"])
            put(row, 5, value, form["input"])
            self.book.define_name(name, f"=Design!$F${row + 1}")
        self.noise.write(0, 0, "x", form["head"])
        self.noise.write(1, 0, "2 variance" if first.word == "rho" else "scale", form["text"])
        for x in range(self.reach + 1):
            self.noise.write_number(x + 2, 0, x, form["text"])
        row = 10
        sums: list[tuple[Sizing, int, int]] = []
        for sizing in self.sizings:
            row = self._table(sizing, row, sums)
        self._costs(row + 1, sums)
        self.design.set_column(0, 0, 12)
        self.design.set_column(1, 21, 11)
        self.design.freeze_panes(0, 1)
        self.design.set_landscape()
        self.design.fit_to_pages(1, 0)
        self._explain(specification)

    def _table(self, sizing: Sizing, row: int, sums: list[tuple[Sizing, int, int]]) -> int:
        """Write the table of a pass and return the first row below it."""
        form = self.formats
        self.design.write(row - 1, 0, _title(sizing), form["title"])
        self.design.set_row(row, 42)
        table = design_table([sizing])
        for column_index, head in enumerate(table.head):
            self.design.write(row, column_index, head.title, form["head"])
        for number, (level, cells) in enumerate(zip(sizing.levels, table.rows, strict=True), 1):
            shown = [cell for one_of, cell in zip(table.columns, cells, strict=True) if one_of.title]
            self._level(sizing, level, shown, row + number)
        last = row + len(sizing.levels)
        total = sum((level.budget for level in sizing.levels), Fraction(0))
        self.design.write(last + 1, 0, "together", form["bold"])
        for column, value in ((5, total), (8, 2 * total)):
            name = self.letter(column)
            self.design.write_formula(
                last + 1, column, f"=SUM({name}{row + 2}:{name}{last + 1})", form["bold"], float(value)
            )
        sums.append((sizing, row + 1, last))
        return last + 4

    def _level(self, sizing: Sizing, level: SizedLevel, cells: Sequence[Cell], row: int) -> None:
        form, r = self.formats, row + 1
        column = self.letter(self._law(f"{cells[0]} {cells[1]}", r, level.mechanism.stage_two))
        end = f"Noise!{column}${self.reach + 3}"
        law = Law(f"Noise!{column}$3:{column}${self.reach + 3}", end, self.reach)
        for column_index, (filling, cell) in enumerate(
            zip(fillings(sizing, level, r, law), cells, strict=True)
        ):
            value = machine(cell)
            if filling.formula is not None:
                self.design.write_formula(row, column_index, filling.formula, form[filling.kind], value)
            elif value is not None:
                self.design.write(row, column_index, value, form[filling.kind])

    def _law(self, name: str, row: int, noise: Noise | None) -> int:
        """Write the sums of the weights of a noise over |x| <= 0, 1, ...; return their column.

        Weights are exp(-x^2 / 2 variance), or exp(-x / scale) for geometric noise.
        """
        assert noise is not None
        self.column += 1
        letter, weight, gaussian = self.letter(self.column), 1.0, noise.precision > 0
        size = float(2 * noise.size if gaussian else noise.size)
        says = f"=2*Design!J{row}" if gaussian else f"=MAX(1,Design!E{row})/Design!G{row}"
        self.noise.write(0, self.column, name, self.formats["head"])
        self.noise.write_formula(1, self.column, says, self.formats["decimal"], size)
        self.noise.write_number(2, self.column, 1, self.formats["decimal"])
        for x in range(1, self.reach + 1):
            weight += 2 * exp(-(x * x if gaussian else x) / size)
            # a spreadsheet reads -x^2 as (-x)^2
            power = f"($A{x + 3}^2)" if gaussian else f"$A{x + 3}"
            formula = f"={letter}{x + 2}+2*EXP(-{power}/{letter}$2)"
            self.noise.write_formula(x + 2, self.column, formula, self.formats["decimal"], weight)
        return self.column

    def _costs(self, row: int, sums: Sequence[tuple[Sizing, int, int]]) -> None:
        form, kind = self.formats, NumberKind.of(self.sizings[0].claim.kind)
        self.design.write(row - 1, 0, "What one person pays", form["title"])
        zcdp = self.sizings[0].word == "rho"
        sums_of = ("rho", "zCDP epsilon") if zcdp else ("sum of epsilons", "")
        for column_index, head in enumerate(
            ("pass", "one person", "", "", "", *sums_of, kind.column("epsilon"))
        ):
            self.design.write(row, column_index, head, form["head"])
        totals = {sizing.which: f"F{last + 2}" for sizing, _, last in sums}
        for sizing, first, last in sums:
            # what the exact epsilon was computed from; anything else must be computed again
            spent = sum(float(level.budget) * (first + k + 1) for k, level in enumerate(sizing.levels))
            gamma = float(sizing.configuration.gamma)
            rows = f"F{first + 1}:F{last + 1}"
            same = (
                f"AND(ABS(SUMPRODUCT({rows},ROW({rows}))-{spent!r})<1E-9,"
                f"race_codes={sizing.configuration.max_race_codes},"
                f"ABS(first_share-{gamma!r})<1E-12,ABS(wanted_delta/{float(sizing.delta)!r}-1)<1E-9)"
            )
            for cost in sizing.costs:
                row += 1
                r = row + 1
                own = totals[sizing.which]
                whole = own if cost.neighbours == "unbounded" else f"{own}+MAX({','.join(totals.values())})"
                who = "added or removed" if cost.neighbours == "unbounded" else "replaced by another"
                self.design.write(row, 0, _title(sizing), form["text"])
                self.design.write(row, 1, who, form["text"])
                self.design.write_formula(row, 5, f"={whole}", form["decimal"], float(cost.budget))
                if zcdp:
                    converted = f"=F{r}+2*SQRT(F{r}*LN(1/wanted_delta))"
                    self.design.write_formula(row, 6, converted, form["decimal"], cost.converted)
                known = str(Claimed.by(sizing.claim, cost.epsilon))
                exact = f'=IF({same},{known},"changed: run discreet safetab design again")'
                self.design.write_formula(row, 7, exact, form["decimal"], float(known))

    def _explain(self, specification: Specification) -> None:
        first = self.sizings[0]
        tabulation = first.configuration.tabulation
        code, single = tabulation.answers.word, with_article(tabulation.answers.one_word)
        lines = [
            f"Groups: {len(specification.iterations):,}, of {len(specification.codes):,} codes.",
            "groups of a person: the most of one region and level that a person can be in. Where groups of a "
            f"{code} code are given, it is those times the number of {code} codes (at least two), plus those "
            f"of {single}; else it is found for each number of {code} codes.",
            f"{_BUDGETS[first.word]}, one person added or removed. The first stage's part (gamma) goes to a "
            "noisy total that picks the table, the rest to its cells. replaced: by another person of the "
            "same pass.",
            "margin of error: the smallest whole number that the noise of a cell does not exceed with the "
            "stated confidence, from the law of the noise (sheet Noise). 1.96 standard deviations is the "
            "normal law's, which integer noise does not keep.",
            "size: the number of people from which the margin is at most the target error, as a fraction of "
            f"the {PARTS[first.of]}.",
            "threshold: the noisy total from which a group gets the table.",
            f"dropped up to: below {tabulation.below} a group with a total only is dropped if its noisy "
            "count is not above this; empty groups are, with the chance beside it.",
            f"{NumberKind.of(first.claim.kind).column('epsilon')}: {claim_text(first.claim)}",
        ]
        for sizing in self.sizings:
            if sizing.rivals is not None:
                gaussian, geometric = rival_epsilons(sizing.rivals)
                lines.append(
                    f"{_title(sizing)}, kinds of noise at these margins in one stage, one person added: "
                    f"epsilon {gaussian} with discrete Gaussian noise, {geometric} with geometric noise."
                )
        self.about.set_column(0, 0, 110)
        for row, line in enumerate(lines):
            self.about.write(row, 0, line, self.formats["wrapped"])


def _title(sizing: Sizing) -> str:
    return sizing.configuration.tabulation.passes[sizing.which].title


_BUDGETS = {"rho": "rho: zCDP", "epsilon": "epsilon: pure differential privacy"}
