"""What rounding and non-negativity do to whole numbers, in words, a table and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.answers.answer import AnswerTable, Column, Paragraph, Part, sentence
from discreet.answers.figure import Axis, Line, Panel, Picture, Rule
from discreet.answers.quantity import Quantity, Style, count_quantity
from discreet.budget.level_names import level_name
from discreet.estimation.whole.replicates import TableError, TableErrors

_COLUMNS = (
    Column("level", is_text=True),
    Column("query", "query", is_text=True),
    Column("true count", is_text=True),
    Column(key="level"),
    Column(key="least"),
    Column(key="most"),
    Column("cells", "cells"),
    Column("bias", "bias"),
    Column(key="bias_error"),
    Column("rms error", "rmse"),
    Column("95 % within", "margin95"),
    Column("sd of the estimate", "sd"),
)


def _size_text(least: int, most: int | None) -> str:
    """Write a class of sizes.

    >>> _size_text(0, 0), _size_text(10, 99), _size_text(1000, None)
    ('0', '10 to 99', '1,000 and more')
    """
    if most is None:
        return f"{count_quantity(least)} and more"
    return str(least) if most == least else f"{count_quantity(least)} to {count_quantity(most)}"


def error_cells(errors: Sequence[TableError]) -> AnswerTable:
    """Return the errors of printed numbers by level, query and size.

    >>> error = TableError("County", "total", 1, 9, 40, -0.456, 0.01, 1.789, 4, 2.1)
    >>> error_cells([error]).cells
    [['County', 'total', '1 to 9', '40', '-0.46', '1.79', '4', '2.10']]
    """
    rows = (
        (
            level_name(error.level),
            error.query,
            _size_text(error.least, error.most),
            error.level,
            error.least,
            error.most,
            count_quantity(error.cells),
            Quantity(error.bias, Style.CHANGE, digits=2),
            Quantity(error.bias_error, Style.MARGIN),
            Quantity(error.rmse, Style.MARGIN),
            count_quantity(error.margin95),
            Quantity(error.sd, Style.MARGIN),
        )
        for error in errors
    )
    return AnswerTable(_COLUMNS, tuple(rows), groups=True)


def finest_errors(errors: Sequence[TableError]) -> list[TableError]:
    """Return at each level the errors of the query of most cells, which rounding and zero change most.

    >>> of = [TableError("A", "qr"[k], 0, 0, 2 + k, 0.1, 0.0, 1.0, 2, 1.0) for k in range(2)]
    >>> [one.query for one in finest_errors(of)]
    ['r']
    """
    cells: dict[tuple[str, str], int] = {}
    for error in errors:
        cells[error.level, error.query] = cells.get((error.level, error.query), 0) + error.cells
    finest = {
        level: max((query for its, query in cells if its == level), key=lambda query: cells[level, query])
        for level, _ in cells
    }
    return [row for row in errors if finest[row.level] == row.query]


def error_said(table_errors: TableErrors) -> Iterator[Part]:
    """Say what whole numbers lose, and how it was found."""
    if not table_errors.errors:
        return
    some = "" if table_errors.units == table_errors.all_units else "a sample of families, "
    yield Paragraph(
        sentence(
            "Whole numbers, none negative, are not unbiased: what is cut off at zero in one cell is missing "
            "in another. Their errors if the table were the truth, from noise drawn anew {times} times "
            "({some}{units} of {every} areas; nothing is spent), in the table of most cells of each level:",
            times=count_quantity(table_errors.replicates),
            some=some,
            units=count_quantity(table_errors.units),
            every=count_quantity(table_errors.all_units),
        )
    )
    yield error_cells(finest_errors(table_errors.errors))
    yield Paragraph("The other tables are in the manifest. To add up many small areas, use the estimates.")


def error_picture(errors: Sequence[TableError]) -> Picture:
    """Return bias and root mean square error against the size of the cell, a line for each level.

    >>> of = [TableError("A", "q", 10**k, 10**k, 5, -0.1 * k, 0.0, 1.0, 2, 1.0) for k in range(3)]
    >>> [panel.title for panel in error_picture(of).panels]
    ['Bias', 'Root mean square error']
    >>> error_picture([TableError("A", "q", 0, 0, 5, 0.1, 0.0, 1.0, 2, 1.0)]).panels[0].x.names
    ('0',)
    """
    finest = finest_errors(errors)
    levels = list(dict.fromkeys(table_error.level for table_error in finest))
    sizes = sorted(
        {
            (table_error.least, 10**18 if table_error.most is None else table_error.most)
            for table_error in finest
        }
    )
    names = tuple(_size_text(least, None if most == 10**18 else most) for least, most in sizes)
    position_of = {least: number for number, (least, _) in enumerate(sizes)}

    def lines(level: str, number: int, value: str) -> Line:
        mine = [table_error for table_error in finest if table_error.level == level]
        at = tuple(
            (float(position_of[table_error.least]), float(getattr(table_error, value)))
            for table_error in mine
        )
        return Line(at, level_name(level), number)

    x = Axis("true count", names=names)
    bias = tuple(lines(level, number, "bias") for number, level in enumerate(levels))
    rmse = tuple(lines(level, number, "rmse") for number, level in enumerate(levels))
    zero = Rule(0.0, is_upright=False)
    return Picture(
        (
            Panel(x, Axis("people"), (zero, *bias), "Bias"),
            Panel(x, Axis("people", low=0.0), rmse, "Root mean square error"),
        ),
        "Errors of the whole numbers",
        "Mean error and root mean square error of printed whole numbers by size of the count and level, in "
        "the table of most cells.",
    )
