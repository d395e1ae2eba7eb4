"""Tables to print as a workbook, a page or CSV. Words and numbers are those of `answers.printed`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.util import find_spec
from itertools import pairwise
from math import ceil, isnan
from pathlib import Path
from typing import Any

from discreet.answers.printed import (
    TOTAL,
    columns_said,
    count_text,
    error_name,
    footnotes,
    headings,
    margin_name,
    mark,
    marks,
    printed_column,
    printed_margin,
    subtitle,
    table_title,
)
from discreet.errors import DiscreetError, InputError, install_hint
from discreet.estimation.input.joint_estimates import name_of_query
from discreet.estimation.output.printed import PrintedTable, PrintedTables, printed_tables
from discreet.estimation.questions import Estimating
from discreet.files import check_writable, inert_text, write_whole
from discreet.ledger.commit import free, whole_folder
from discreet.questions import asked_with

_ENDINGS = (".xlsx", ".html", ".csv")

_ENDING = re.compile(r"\.[a-z]\w*")
"""What looks like a kind of file; .5 and .2026 belong to the name of a directory."""


@asked_with(Estimating)
def print_tables(asked: Estimating) -> PrintedTables:
    """Write tables of best estimates to print: areas by cells, with totals, margins of error and footnotes.

    `prints` are the queries, `areas` the rows (or else all areas, down to `down_to`), `out` is a file that
    ends with .xlsx (a sheet for each query), .html or .csv (one query), or a new directory for a CSV file
    of each query. `margins` of error stand beside numbers, beneath them, or nowhere; their level is the last
    of `levels`. With `tables` numbers are whole, not negative, and add up; with `only_tables` they have no
    margins. In CSV, texts that a spreadsheet would run begin with an apostrophe. Nothing is spent.
    """
    if not asked.prints:
        raise InputError("there is nothing to print: name tables, such as age * sex")
    if asked.out is None:
        raise InputError("out is missing: name a file or a new directory for the tables to print")
    out = Path(asked.out)
    ending = out.suffix.lower()
    if _ENDING.fullmatch(ending) and ending not in _ENDINGS:
        raise InputError(
            f"{out} ends with {ending}; tables are printed to a file that ends with .xlsx, .html or .csv, or "
            "to a directory, whose name has no such ending; for PDF, print the .html"
        )
    if ending == ".xlsx":
        _need_xlsxwriter()
    if ending == ".csv" and len(asked.prints) > 1:
        raise InputError(
            f"{out} can hold one table, and {len(asked.prints)} are to be printed; name a directory for a "
            "CSV file of each, or write .xlsx or .html"
        )
    if ending in _ENDINGS:
        check_writable(out)
        if out.exists():
            raise InputError(f"{out} exists; name a new file for the tables")
    else:
        free(out)
    printed = printed_tables(asked)
    if ending in _ENDINGS:
        write: Callable[[PrintedTables], bytes] = {
            ".xlsx": _xlsx_tables,
            ".html": _html_tables,
            ".csv": lambda one: csv_table(one.tables[0], one),
        }[ending]
        write_whole({out: write(printed)})
        return printed
    with whole_folder(out) as folder:
        for name, table in zip(_file_names(printed), printed.tables, strict=True):
            (folder / name).write_bytes(csv_table(table, printed))
    return printed


def _file_names(printed: PrintedTables) -> list[str]:
    names: list[str] = []
    marked = ".NOT-PRIVATE" if printed.not_private else ""
    for table in printed.tables:
        stem = re.sub(r"[^\w-]+", "-", name_of_query(table.query)).strip("-").lower() or "table"
        stem = next(candidate for candidate in _numbered(stem) if f"{candidate}{marked}.csv" not in names)
        names.append(f"{stem}{marked}.csv")
    return names


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1


# -- CSV -----------------------------------------------------------------------------------------------------


def csv_table(table: PrintedTable, printed: PrintedTables) -> bytes:
    """Return one table as CSV: a line of headings, a line for each area, then the footnotes.

    It is for people, who open it in a spreadsheet: no text in it is a formula there.
    """
    stream = io.StringIO()
    out = csv.writer(stream, lineterminator="\n")

    def texts(*cells: str) -> list[str]:
        return [inert_text(cell) for cell in cells]

    out.writerows(texts(text) for text in marks(printed))
    beneath, beside = printed.margins == "beneath", printed.margins == "beside"
    head = ["area", "level", *(["what"] if beneath else [])]
    for column in table.columns:
        head.append(printed_column(column))
        if beside:
            head.append(f"{printed_column(column)} {margin_name(printed)} ({error_name(printed)})")
    out.writerow(texts(*head))
    for row, values, margins in zip(table.rows, table.values, table.margins, strict=True):
        names = texts(row.name, row.level)
        numbers, errors = ([_plain(value) for value in some] for some in (values.tolist(), margins.tolist()))
        if beside:
            out.writerow([*names, *(cell for pair in zip(numbers, errors, strict=True) for cell in pair)])
        else:
            out.writerow([*names, *(["number"] if beneath else []), *numbers])
        if beneath:
            out.writerow([*names, f"{margin_name(printed)} ({error_name(printed)})", *errors])
    out.writerow([])
    out.writerows(texts(text) for text in (table_title(table), *footnotes(table, printed)))
    return stream.getvalue().encode()


def _plain(value: float) -> str:
    return "" if isnan(value) else str(int(value))


# -- a page --------------------------------------------------------------------------------------------------

_STYLE = """
:root { --ink: #1c1f23; --soft: #5a6068; --rule: #1c1f23; --hair: #d7dadd; --band: #f4f5f6; --warn: #b3261e; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 3rem; max-width: 100rem; color: var(--ink); background: #fff;
  font: 15px/1.45 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
section:first-of-type h1 { margin-top: 0; }
.sub { margin: -.35rem 0 .6rem; color: var(--soft); }
.mark { color: #fff; background: var(--warn); font-weight: 700; padding: .45rem .7rem; margin: 0 0 .8rem; }
.wide { overflow-x: auto; border-top: 2px solid var(--rule); border-bottom: 2px solid var(--rule); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .6rem; text-align: right; white-space: nowrap; }
thead th { font-weight: 600; vertical-align: bottom; border-bottom: 1px solid var(--hair); }
thead tr:last-child th { border-bottom: 1px solid var(--rule); font-weight: 400; color: var(--soft); }
thead th.group { text-align: center; }
thead th.stub, tbody th { text-align: left; position: sticky; left: 0; background: #fff; }
tbody th { font-weight: 400; min-width: 8rem; white-space: normal; }
tbody tr.top th, tbody tr.top td { font-weight: 700; border-top: 1px solid var(--hair); }
tbody tr.top td.error { font-weight: 400; }
tbody tr:hover td, tbody tr:hover th { background: var(--band); }
td.error { color: var(--soft); font-size: .87em; padding-left: .1rem; }
td.total { background: var(--band); }
tr.beneath td, tr.beneath th { padding-top: 0; }
tr.beneath th { color: var(--soft); font-size: .87em; }
ul { margin: .7rem 0 0; padding: 0; list-style: none; max-width: 60rem; color: var(--soft);
  font-size: .87rem; }
.parts { display: none; }
.parts table { table-layout: fixed; width: auto; margin-bottom: 1.2rem;
  border-bottom: 2px solid var(--rule); }
@page { margin: @margin; size: @turned; }
@media print {
  body { padding: 0; font-size: @size; max-width: none; } .wide { overflow: visible; }
  thead { display: table-header-group; }
  th, td { padding: .1rem @gap; } tbody th { min-width: 0; overflow-wrap: anywhere; }
  thead th { white-space: normal; overflow-wrap: anywhere; } thead th.part { text-align: left; }
  thead tr:last-child th { white-space: nowrap; }
  .has-parts { display: none; } .parts { display: block; } .parts table + table { break-before: page; }
  tr { break-inside: avoid; } section { break-after: page; } section:last-of-type { break-after: auto; }
  .mark { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def _html_tables(printed: PrintedTables) -> bytes:
    """Return all tables as one page that needs nothing else; on paper it turns if a table is wide."""
    is_wide = any(len(paper_parts(table, printed, _PORTRAIT)) > 1 for table in printed.tables)
    how = {"margin": f"{_MARGIN}pt", "turned": "landscape" if is_wide else "portrait"}
    style = _STYLE
    for name, value in (how | {"size": f"{_SIZE}pt", "gap": f"{_GAP}pt"}).items():
        style = style.replace(f"@{name};", f"{value};")
    title = "; ".join(table_title(table) for table in printed.tables)
    sections = "\n".join(_section(table, printed) for table in printed.tables)
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(mark(printed) and 'NOT PRIVATE: ')}{escape(title)}</title>\n"
        f"<style>{style}</style>\n"
        f"</head>\n<body>\n{sections}\n</body>\n</html>\n"
    )
    return page.encode()


def _section(table: PrintedTable, printed: PrintedTables) -> str:
    warning = "".join(f'<p class="mark">{escape(text)}</p>\n' for text in marks(printed))
    notes = "".join(f"<li>{escape(note)}</li>" for note in footnotes(table, printed))
    parts = paper_parts(table, printed, _LANDSCAPE)
    is_split = len(parts) > 1
    on_paper = "\n".join(_html_table(part.of(table), printed, part) for part in parts) if is_split else ""
    return (
        f"<section>\n<h1>{escape(table_title(table))}</h1>\n{warning}"
        f'<p class="sub">{escape(subtitle(printed))}</p>\n'
        f'<div class="wide{" has-parts" if is_split else ""}">{_html_table(table, printed)}</div>\n'
        f'<div class="parts">{on_paper}</div>\n'
        f"<ul>{notes}</ul>\n</section>"
    )


def _html_table(table: PrintedTable, printed: PrintedTables, part: PaperPart | None = None) -> str:
    """Return a table, or a part of one for paper: its widths are fixed, and each page says which it is."""
    head = headings(table, printed)
    lines = []
    for number, row in enumerate(head):
        cells = [
            f'<th{" class=group" if cell.wide > 1 else ""} scope="{"colgroup" if cell.wide > 1 else "col"}" '
            f'colspan="{cell.wide}">{escape(cell.words)}</th>'
            for cell in row
        ]
        stub = "" if number else f'<th class="stub" scope="col" rowspan="{len(head)}">Area</th>'
        lines.append(f"<tr>{stub}{''.join(cells)}</tr>")
    body = "\n".join(_html_rows(table, printed))
    widths = ""
    if part is not None:
        said = f"{table_title(table)}: {columns_said(part.first, part.last, part.of_all)}"
        lines.insert(0, f'<tr><th class="part" colspan="{1 + len(part.widths)}">{escape(said)}</th></tr>')
        each = (part.stub, *part.widths)
        widths = "".join(f'<col style="width:{round(wide, 1)}pt">' for wide in each)
        widths = f"<colgroup>{widths}</colgroup>"
    return f"<table>\n{widths}<thead>{''.join(lines)}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


# -- on paper ------------------------------------------------------------------------------------------------

_MARGIN, _SIZE, _GAP = 34, 9, 3
"""Points: around a page, of letters, and beside each number."""
_PORTRAIT = 595 - 2 * _MARGIN
_LANDSCAPE = 792 - 2 * _MARGIN
"""Points that both A4 and Letter have across, upright (A4 is narrower) and turned (Letter is)."""
_LETTER = 0.66
"""How wide a letter or digit of the usual fonts is at most, on average over a word, of their size."""
_MOST_STUB = 0.3
"""How much of a page the names of areas take at most; longer ones are broken."""


@dataclass(frozen=True, slots=True)
class PaperPart:
    """Columns that fit on a page beside the names of areas: which they are, and widths in points."""

    first: int
    last: int
    of_all: int
    stub: float
    widths: tuple[float, ...]

    def of(self, table: PrintedTable) -> PrintedTable:
        """Return these columns of the table."""
        here = slice(self.first - 1, self.last)
        values, margins = table.values[:, here], table.margins[:, here]
        return replace(table, columns=table.columns[here], values=values, margins=margins)


def paper_parts(table: PrintedTable, printed: PrintedTables, across: float) -> list[PaperPart]:
    """Split the columns of a table into as few parts as fit on pages that are so many points across."""
    names = max((_width_of(row.name) + _indent(row.depth) for row in table.rows), default=0.0)
    stub = min(max(names, _width_of("Area")), _MOST_STUB * across)
    columns = [
        _column_widths(column, values, margins, printed, across - stub)
        for column, values, margins in zip(
            table.columns, table.values.T.tolist(), table.margins.T.tolist(), strict=True
        )
    ]
    room = across - stub
    starts, used = [0], 0.0
    for number, widths in enumerate(columns):
        if number > starts[-1] and used + sum(widths) > room:
            starts.append(number)
            used = 0.0
        used += sum(widths)
    even = range(0, len(columns), max(1, ceil(len(columns) / len(starts))))  # no page with a single column
    ends = [*even[1:], len(columns)]
    if all(sum(map(sum, columns[start:end])) <= room for start, end in zip(even, ends, strict=True)):
        starts = [*even]
    return [_paper_part(columns, start, end, stub) for start, end in pairwise([*starts, len(columns)])]


def _paper_part(columns: Sequence[tuple[float, ...]], start: int, end: int, stub: float) -> PaperPart:
    widths = tuple(width for column in columns[start:end] for width in column)
    return PaperPart(start + 1, end, len(columns), stub, widths)


def _column_widths(
    column: tuple[str | None, ...],
    values: Sequence[float],
    margins: Sequence[float],
    printed: PrintedTables,
    most: float,
) -> tuple[float, ...]:
    """Return how wide a column is, and the margins beside it; a heading is broken between words."""
    words = max((word for part in (*column, TOTAL) for word in (part or TOTAL).split()), key=len)
    number = max((_width_of(count_text(value)) for value in values), default=0.0)
    error = max((_width_of(printed_margin(margin)) for margin in margins), default=0.0)
    if printed.margins != "beside":
        needed = max(number, error if printed.margins == "beneath" else 0.0, _width_of(words))
        return (min(needed, most),)
    number, error = max(number, _width_of("number")), max(error, _width_of(margin_name(printed)))
    more = max(0.0, min(_width_of(words), most) - number - error) / 2
    return number + more, error + more


def _width_of(text: str) -> float:
    return _LETTER * _SIZE * len(text) + 2 * _GAP


def _indent(depth: int) -> float:
    """How far a name is moved in, in points."""
    return 0.75 * (10 + 18 * depth)


def _html_rows(table: PrintedTable, printed: PrintedTables) -> Iterator[str]:
    beside, beneath = printed.margins == "beside", printed.margins == "beneath"
    total = [' class="total"' if _is_total(column) else "" for column in table.columns]
    deepest = max((row.depth for row in table.rows), default=0)
    for row, values, margins in zip(table.rows, table.values.tolist(), table.margins.tolist(), strict=True):
        cells = []
        for kind, value, error in zip(total, values, margins, strict=True):
            cells.append(f"<td{kind}>{count_text(value)}</td>")
            if beside:
                also = " total" if kind else ""
                cells.append(f'<td class="error{also}">{printed_margin(error)}</td>')
        level = "top" if deepest and row.depth < deepest and row.depth < 1 else ""
        indent = f' style="padding-left:{10 + 18 * row.depth}px"'
        yield (
            f'<tr{f" class={level}" if level else ""}><th scope="row"{indent}>{escape(row.name)}</th>'
            f"{''.join(cells)}</tr>"
        )
        if beneath:
            errors = "".join(
                f'<td class="error{" total" if kind else ""}">{printed_margin(error)}</td>'
                for kind, error in zip(total, margins, strict=True)
            )
            yield f'<tr class="beneath"><th scope="row"{indent}>{margin_name(printed)}</th>{errors}</tr>'


def _is_total(column: tuple[str | None, ...]) -> bool:
    return bool(column) and any(part is None for part in column)


# -- a workbook ----------------------------------------------------------------------------------------------


def _need_xlsxwriter() -> None:
    if find_spec("xlsxwriter") is None:
        raise DiscreetError(
            "a workbook is written with XlsxWriter, which is not installed: "
            f"{install_hint('spreadsheet')}, or write .html or .csv"
        )


def _xlsx_tables(printed: PrintedTables) -> bytes:
    """Return the tables as a workbook, a sheet for each query; numbers are numbers."""
    _need_xlsxwriter()
    import xlsxwriter

    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        names: list[str] = []
        for table in printed.tables:
            stem = re.sub(r"[\[\]:*?/\\']+", " ", name_of_query(table.query))
            stem = re.sub(r"\s+", " ", stem).strip()[:26] or "table"
            names.append(
                next(
                    candidate
                    for candidate in _numbered(stem)
                    if candidate.lower() not in map(str.lower, names)
                )
            )
            _Sheet(book, names[-1], table, printed).write()
    return stream.getvalue()


_SHEET_MARGIN = 0.5
"""Inches beside the columns of a sheet."""
_SHEET_LETTER = 5.6
"""Points that a letter takes in the width of a column."""


class _Sheet:
    """One table on a sheet: its title, the mark, the head, the areas, and the footnotes."""

    def __init__(self, book: Any, name: str, table: PrintedTable, printed: PrintedTables) -> None:
        self.book, self.table, self.found = book, table, printed
        self.sheet = book.add_worksheet(name)
        self.formats: dict[str, Any] = {}

    def format(self, **how: object) -> Any:
        """Return a format; those that are equal are made once."""
        key = repr(sorted(how.items()))
        if key not in self.formats:
            self.formats[key] = self.book.add_format({"font_size": 10, **how})
        return self.formats[key]

    def write(self) -> None:
        """Fill the sheet, and set it up for the printer."""
        table, printed, sheet = self.table, self.found, self.sheet
        beside = printed.margins == "beside"
        sheet.write_string(0, 0, table_title(table), self.format(bold=True, font_size=13))
        sheet.write_string(1, 0, subtitle(printed), self.format(font_color="#5A6068"))
        row = 2
        for text in marks(printed):
            sheet.write_string(row, 0, text, self.format(bold=True, font_color="#B3261E"))
            row += 1
        if printed.not_private:
            sheet.set_header(f"&C&B{mark(printed)}")
        row = self._head(row + 1)
        first, last = row, 2 if beside else 1
        sheet.freeze_panes(first, 1)
        row = self._body(row)
        for note in footnotes(table, printed):
            row += 1
            sheet.write_string(row, 0, note, self.format(italic=True, font_color="#5A6068"))
        names = max((len(line.name) + 2 * line.depth for line in table.rows), default=8)
        sheet.set_column(0, 0, min(max(12, names + 2), 48))
        sheet.set_column(1, last * len(table.columns), 11)
        sheet.set_landscape()
        sheet.set_margins(left=_SHEET_MARGIN, right=_SHEET_MARGIN)
        sheet.repeat_rows(0, first - 1)
        self._paper(first - 1 - len(headings(table, printed)), min(max(12, names + 2), 48))
        sheet.hide_gridlines(2)
        sheet.set_footer("&L&A&RPage &P of &N")

    def _paper(self, row: int, letters: int) -> None:
        """Break pages between columns, repeat the areas on each, and say above them which columns it has."""
        across = 792 - 2 * 72 * _SHEET_MARGIN
        each = _SHEET_LETTER * 11 * (2 if self.found.margins == "beside" else 1)
        many = max(1, int((across - _SHEET_LETTER * letters) / each))
        columns = len(self.table.columns)
        if columns <= many:
            return
        wide = 2 if self.found.margins == "beside" else 1
        for start in range(0, columns, many):
            said = columns_said(start + 1, min(start + many, columns), columns)
            self.sheet.write_string(row, 1 + wide * start, said, self.format(font_color="#5A6068"))
        self.sheet.repeat_columns(0, 0)
        self.sheet.set_v_pagebreaks([1 + wide * start for start in range(many, columns, many)])

    def _head(self, row: int) -> int:
        head = headings(self.table, self.found)
        # with a rule above the head, and one below it
        middle = self.format(bold=True, align="center", valign="bottom", text_wrap=True, top=1, bottom=1)
        left = self.format(bold=True, valign="bottom", top=1, bottom=1)
        self._block(row, 0, len(head), 1, "Area", left)
        for deep, line in enumerate(head):
            column = 1
            for cell in line:
                self._block(row + deep, column, 1, cell.wide, cell.words, middle)
                column += cell.wide
        return row + len(head)

    def _block(self, row: int, column: int, high: int, wide: int, words: str, how: Any) -> None:
        if high == wide == 1:
            self.sheet.write_string(row, column, words, how)
        else:
            self.sheet.merge_range(row, column, row + high - 1, column + wide - 1, "", how)
            self.sheet.write_string(row, column, words, how)

    def _body(self, row: int) -> int:
        printed, beneath, beside = self.found, self.found.margins == "beneath", self.found.margins == "beside"
        rows = zip(self.table.rows, self.table.values.tolist(), self.table.margins.tolist(), strict=True)
        for area, values, margins in rows:
            bold = area.depth == 0 and any(each.depth for each in self.table.rows)
            self.sheet.write_string(row, 0, area.name, self.format(indent=min(area.depth, 15), bold=bold))
            column = 1
            for value, error in zip(values, margins, strict=True):
                self._number(row, column, value, self.format(num_format="#,##0", bold=bold))
                if beside:
                    self._number(row, column + 1, error, self._error())
                column += 2 if beside else 1
            row += 1
            if beneath:
                self.sheet.write_string(row, 0, margin_name(printed), self._error(min(area.depth, 15)))
                for number, error in enumerate(margins, start=1):
                    self._number(row, number, error, self._error())
                row += 1
        return row

    def _error(self, indent: int = 0) -> Any:
        return self.format(num_format='"±"#,##0', font_color="#5A6068", font_size=9, indent=indent)

    def _number(self, row: int, column: int, value: float, how: Any) -> None:
        if isnan(value):
            self.sheet.write_string(row, column, "–", self.format(align="right"))
        else:
            self.sheet.write_number(row, column, value, how)
