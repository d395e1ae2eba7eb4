"""A design as a spreadsheet: what has a closed form is a live formula, so that a committee can try changes.

The law of the noise is on a sheet of its own, so margins of error and suppression follow too. Only the exact
epsilon is a number; if a setting is changed, its cell says that `discreet` must be run again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from math import ceil, exp, sqrt
from typing import Any, NamedTuple

from discreet.errors import DiscreetError
from discreet.release.safetab.design import CELLS, TABLE_WORDS, SizedLevel, Sizing
from discreet.release.safetab.geography import LEVEL_WORDS, PASS_NAMES
from discreet.release.safetab.mechanism import CONFIDENCE, Z95
from discreet.release.safetab.specification import Specification


class Cell(NamedTuple):
    """A cell of a level's row: its column's name in CSV and head in the sheet, its value, and its formula.

    Without a name the column is the sheet's alone; without a formula the value stands in it as it is.
    """

    name: str
    head: str
    value: Any
    kind: str = "number"
    formula: str | None = None


class Law(NamedTuple):
    """Where the sheet holds the two-sided weights of a noise up to 0, 1, ..., and their sum."""

    weights: str = ""
    end: str = ""
    reach: int = 0


def cells(one: Sizing, level: SizedLevel, row: int = 0, law: Law | None = None) -> list[Cell]:
    """Return the row of a geography and level, with formulas for a row of the sheet and its noise.

    A replaced person is one removed and one added in the same pass.
    """
    weights, end, reach = law or Law()

    def below(part: str) -> str:
        """The smallest x up to which this part of the two-sided weights lies."""
        return f'=IF(K{row}>{reach}/8,"too wide",SUMPRODUCT(--({weights}<({part})*{end})))'

    second = level.mechanism.stage_two
    assert second is not None
    races, stable = one.configuration.max_race_codes, level.mechanism.stability
    variance, deviation = float(level.variance), sqrt(float(level.variance))
    paired = stable.paired and stable.race % max(2, races) == 0
    spend, step = level.rho, Fraction(level.stability) / (2 * level.variance)
    groups = f"=C{row}*MAX(2,race_codes)+D{row}" if paired else None
    cut, words = level.suppression, [name.replace(" ", "_") for name in TABLE_WORDS]
    found = [
        Cell("geography", "geography", level.place[0], "text"),
        Cell("level", "level", level.place[1], "text"),
        Cell("", "groups of a race code", stable.race // max(2, races) if paired else stable.race, "input"),
        Cell("", "groups of an ethnicity code", stable.ethnicity, "input"),
        Cell("stability", "groups of a person", level.stability, formula=groups),
        Cell("rho", "rho", float(spend), "input"),
        Cell("rho_stage_2", "rho, second stage", float(step), "decimal", f"=(1-first_share)*F{row}"),
        Cell("rho_stage_2_replaced", "second stage, replaced", float(2 * step), "decimal", f"=2*G{row}"),
        Cell("rho_replaced", "rho, replaced", float(2 * spend), "decimal", f"=2*F{row}"),
        Cell("variance", "variance of a cell", variance, "decimal", f"=E{row}/(2*G{row})"),
        Cell("", "standard deviation", deviation, "decimal", f"=SQRT(J{row})"),
        Cell("", "1.96 standard deviations", float(Z95) * deviation, "decimal", f"={float(Z95)}*K{row}"),
        Cell("margin", "margin of error", level.margin, formula=below("confidence_level")),
    ]
    for name, word, many, size in zip(words, TABLE_WORDS, CELLS, level.sizes, strict=True):
        formula = f"=ROUNDUP(ROUND(M{row}*{many}/target_error,6),0)" if one.of == "cell" else None
        found.append(Cell(f"size_{name}", f"size, {word}", size, formula=formula))
    for name, word, limit in zip(words[1:], TABLE_WORDS[1:], level.thresholds, strict=True):
        found.append(Cell(f"threshold_{name}", f"threshold, {word}", limit, "input"))
    if cut is None:
        ends = ("suppressed_up_to", "dropped up to"), ("empty_dropped", "empty groups dropped")
        return [*found, *(Cell(name, head, "") for name, head in ends)]
    share = f"=(1+INDEX({weights},U{row}+1)/{end})/2"
    return [
        *found,
        Cell("suppressed_up_to", "dropped up to", cut, formula=below("2*drop_chance-1")),
        Cell("empty_dropped", "empty groups dropped", float(second.cdf(cut)), "share", share),
    ]


def rows(found: Sequence[Sizing]) -> list[tuple[Any, ...]]:
    """Return the table of designs: the pass, and the cells that have a name in CSV."""
    return [
        (one.which, *(cell.value for cell in cells(one, level) if cell.name))
        for one in found
        for level in one.levels
    ]


def csv_bytes(found: Sequence[Sizing]) -> bytes:
    """Return the table of designs as CSV, a row for each geography and level."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    first = found[0]
    writer.writerow(["pass", *(cell.name for cell in cells(first, first.levels[0]) if cell.name)])
    writer.writerows(rows(found))
    return stream.getvalue().encode()


_SETTINGS = {  # name: row of its value on the first sheet, counted from 0
    "race_codes": 2,
    "first_share": 3,
    "target_error": 4,
    "confidence_level": 5,
    "drop_chance": 6,
    "wanted_delta": 7,
}


def xlsx_bytes(found: Sequence[Sizing], specification: Specification) -> bytes:
    """Return the designs as a spreadsheet, every formula with its value."""
    if find_spec("xlsxwriter") is None:
        raise DiscreetError(
            "a spreadsheet is written with XlsxWriter, which is not installed: "
            "pip install 'discreet[spreadsheet]'"
        )
    import xlsxwriter

    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        _Book(book, found).write(specification)
    return stream.getvalue()


class _Book:
    """The workbook while it grows."""

    def __init__(self, book: Any, found: Sequence[Sizing]) -> None:
        self.book, self.found = book, found
        self.design = book.add_worksheet("Design")
        self.noise = book.add_worksheet("Noise")
        self.about = book.add_worksheet("About")
        kinds: dict[str, dict[str, Any]] = {
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
        widest = max(sqrt(float(level.variance)) for one in found for level in one.levels)
        self.reach = min(4000, max(400, ceil(16 * widest)))
        self.column = 0  # of the sheet of noise

    def write(self, specification: Specification) -> None:
        """Fill all sheets."""
        first, put, form = self.found[0], self.design.write, self.formats
        put(0, 0, "SafeTab design: shaded cells are settings, all else follows from them", form["title"])
        values = {
            "race_codes": ("race codes that are counted, 1 to 8", first.configuration.max_race_codes),
            "first_share": ("gamma, the first stage's part of a rho", float(first.configuration.gamma)),
            "target_error": (f"target error, a part of the {_PARTS[first.of]}", float(first.error)),
            "confidence_level": ("confidence of margins", float(CONFIDENCE)),
            "drop_chance": (
                "chance to drop an empty group",
                float(first.configuration.zero_suppression_chance),
            ),
            "wanted_delta": ("delta", float(first.delta)),
        }
        for name, row in _SETTINGS.items():
            words, value = values[name]
            put(row, 0, words, form["text"])
            put(row, 5, value, form["input"])
            self.book.define_name(name, f"=Design!$F${row + 1}")
        self.noise.write(0, 0, "x", form["head"])
        self.noise.write(1, 0, "2 variance", form["text"])
        for x in range(self.reach + 1):
            self.noise.write_number(x + 2, 0, x, form["text"])
        row = 10
        sums: list[tuple[Sizing, int, int]] = []
        for one in self.found:
            row = self._table(one, row, sums)
        self._costs(row + 1, sums)
        self.design.set_column(0, 0, 12)
        self.design.set_column(1, 21, 11)
        self.design.freeze_panes(0, 1)
        self.design.set_landscape()
        self.design.fit_to_pages(1, 0)
        self._explain(specification)

    def _table(self, one: Sizing, row: int, sums: list[tuple[Sizing, int, int]]) -> int:
        """Write the table of a pass and return the first row below it."""
        form = self.formats
        self.design.write(row - 1, 0, PASS_NAMES[one.which], form["title"])
        self.design.set_row(row, 42)
        for place, cell in enumerate(cells(one, one.levels[0])):
            self.design.write(row, place, cell.head, form["head"])
        for number, level in enumerate(one.levels, 1):
            self._level(one, level, row + number)
        last = row + len(one.levels)
        total = sum((level.rho for level in one.levels), Fraction(0))
        self.design.write(last + 1, 0, "together", form["bold"])
        for column, value in ((5, total), (8, 2 * total)):
            name = _letter(column)
            self.design.write_formula(
                last + 1, column, f"=SUM({name}{row + 2}:{name}{last + 1})", form["bold"], float(value)
            )
        sums.append((one, row + 1, last))
        return last + 4

    def _level(self, one: Sizing, level: SizedLevel, row: int) -> None:
        form, r = self.formats, row + 1
        name = LEVEL_WORDS[level.place[1]]
        column = _letter(self._law(f"{level.place[0]} {name}", r, float(level.variance)))
        end = f"Noise!{column}${self.reach + 3}"
        law = Law(f"Noise!{column}$3:{column}${self.reach + 3}", end, self.reach)
        for place, cell in enumerate(cells(one, level, r, law)):
            value = name if cell.name == "level" else cell.value
            if cell.formula is not None:
                self.design.write_formula(row, place, cell.formula, form[cell.kind], value)
            elif value != "":
                self.design.write(row, place, value, form[cell.kind])

    def _law(self, name: str, row: int, variance: float) -> int:
        """Write the sums of weights exp(-x^2 / 2 variance) over |x| <= 0, 1, ...; return their column."""
        self.column += 1
        letter, weight = _letter(self.column), 1.0
        self.noise.write(0, self.column, name, self.formats["head"])
        self.noise.write_formula(1, self.column, f"=2*Design!J{row}", self.formats["decimal"], 2 * variance)
        self.noise.write_number(2, self.column, 1, self.formats["decimal"])
        for x in range(1, self.reach + 1):
            weight += 2 * exp(-x * x / (2 * variance))
            # a spreadsheet reads -x^2 as (-x)^2
            formula = f"={letter}{x + 2}+2*EXP(-($A{x + 3}^2)/{letter}$2)"
            self.noise.write_formula(x + 2, self.column, formula, self.formats["decimal"], weight)
        return self.column

    def _costs(self, row: int, sums: Sequence[tuple[Sizing, int, int]]) -> None:
        form, said = self.formats, self.found[0].claim.kind
        self.design.write(row - 1, 0, "What one person pays", form["title"])
        for place, head in enumerate(
            ("pass", "one person", "", "", "", "rho", "zCDP epsilon", said.titled("epsilon"))
        ):
            self.design.write(row, place, head, form["head"])
        totals = {one.which: f"F{last + 2}" for one, _, last in sums}
        for one, first, last in sums:
            # what the exact epsilon was computed from; anything else must be computed again
            spent = sum(float(level.rho) * (first + k + 1) for k, level in enumerate(one.levels))
            gamma = float(one.configuration.gamma)
            rows = f"F{first + 1}:F{last + 1}"
            same = (
                f"AND(ABS(SUMPRODUCT({rows},ROW({rows}))-{spent!r})<1E-9,race_codes={one.configuration.max_race_codes},"
                f"ABS(first_share-{gamma!r})<1E-12,ABS(wanted_delta/{float(one.delta)!r}-1)<1E-9)"
            )
            for cost in one.costs:
                row += 1
                r = row + 1
                own = totals[one.which]
                whole = own if cost.neighbours == "unbounded" else f"{own}+MAX({','.join(totals.values())})"
                who = "added or removed" if cost.neighbours == "unbounded" else "replaced by another"
                self.design.write(row, 0, PASS_NAMES[one.which], form["text"])
                self.design.write(row, 1, who, form["text"])
                self.design.write_formula(row, 5, f"={whole}", form["decimal"], float(cost.rho))
                zcdp = f"=F{r}+2*SQRT(F{r}*LN(1/wanted_delta))"
                self.design.write_formula(row, 6, zcdp, form["decimal"], cost.zcdp_epsilon)
                known = one.claim.kind.number(cost.epsilon)
                exact = f'=IF({same},{known},"changed: run discreet safetab design again")'
                self.design.write_formula(row, 7, exact, form["decimal"], float(known))

    def _explain(self, specification: Specification) -> None:
        first = self.found[0]
        lines = [
            f"Groups: {len(specification.iterations):,}, of {len(specification.codes):,} codes.",
            "groups of a person: of one region and level, at most; a race code's groups times the race "
            "codes (at least two), and an ethnicity's.",
            "rho: zCDP, one person added or removed. The first stage's part (gamma) goes to a noisy total "
            "that picks the table, the rest to its cells. replaced: by another person of the same pass.",
            "margin of error: the smallest whole number that the noise of a cell does not exceed with the "
            "stated confidence, from the law of the noise (sheet Noise). 1.96 standard deviations is the "
            "normal law's, which integer noise does not keep.",
            "size: from how many people on the margin is at most the target error, as a part of the "
            f"{_PARTS[first.of]}.",
            "threshold: the noisy total from which a group gets the table.",
            "dropped up to: below the states a group with a total only is dropped if its noisy count is "
            "not above this; empty groups are, with the chance beside it.",
            f"{first.claim.kind.titled('epsilon')}: {first.claim}",
        ]
        for one in self.found:
            if one.rivals is not None:
                lines.append(
                    f"{PASS_NAMES[one.which]}, kinds of noise at these margins in one stage, one person "
                    f"added: epsilon {one.rivals.gaussian_epsilon:.4g} with discrete Gaussian noise, "
                    f"{one.rivals.geometric_epsilon:.4g} with geometric noise."
                )
        self.about.set_column(0, 0, 110)
        for row, line in enumerate(lines):
            self.about.write(row, 0, line, self.formats["wrapped"])


_PARTS = {"cell": "average cell", "total": "whole group"}


def _letter(column: int) -> str:
    """Name a column.

    >>> _letter(0), _letter(25), _letter(26)
    ('A', 'Z', 'AA')
    """
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name
