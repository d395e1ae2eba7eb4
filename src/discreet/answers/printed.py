"""Tables to print, in words: titles, headings, numbers and footnotes, the same in every kind of file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

from discreet.answers.answer import Answer, Fact, Paragraph, Part
from discreet.answers.describing import describes
from discreet.answers.measurements import intervals_said
from discreet.answers.quantity import Quantity, Style
from discreet.numbers import brief
from discreet.release.hierarchy.joint_estimates import name_of_query
from discreet.release.hierarchy.printed import PrintedTable, PrintedTables
from discreet.release.rehearsal import NOT_PRIVATE

NOTHING = "–"
"""What stands where no measurement determines a number."""
TOTAL = "Total"


@dataclass(frozen=True, slots=True)
class HeadCell:
    """A cell of a table's head: its words, and the columns that it spans."""

    words: str
    wide: int = 1


def table_title(table: PrintedTable) -> str:
    """Say what a table is of.

    >>> from discreet.release.hierarchy.printed import PrintedTable
    >>> import numpy as np
    >>> empty = np.zeros((0, 0))
    >>> table_title(PrintedTable("age * sex", ("age", "sex"), (), (), empty, empty))
    'Age by sex, by area'
    """
    named = name_of_query(table.query) if "=" in table.query else ""
    words = named or " by ".join(table.factors) or "total"
    return f"{words[:1].upper()}{words[1:]}, by area"


def value_name(words: str | None) -> str:
    """Write a value of a factor; None is the total."""
    return TOTAL if words is None else words


def column_name(column: tuple[str | None, ...]) -> str:
    """Write a column in one line.

    >>> column_name(("18-39", None)), column_name((None, None)), column_name(())
    ('18-39, Total', 'Total', 'Total')
    """
    if all(part is None for part in column):
        return TOTAL
    return ", ".join(value_name(part) for part in column)


def margin_name(found: PrintedTables) -> str:
    """Write the heading of margins of error."""
    return f"± {brief(100 * found.level)} %"


def error_name(found: PrintedTables) -> str:
    """Say what margins of error allow for."""
    return "noise and sampling" if found.sampled else "noise only"


def subtitle(found: PrintedTables) -> str:
    """Say what the margins of error of a table are, or that it has none."""
    if found.margins == "none":
        return "Without margins of error"
    return f"With {brief(100 * found.level)} % margins of error ({error_name(found)})"


def headings(table: PrintedTable, found: PrintedTables) -> list[list[HeadCell]]:
    """Return the head of a table, row by row: one for each factor, and one where margins stand beside."""
    beside = found.margins == "beside"
    wide = 2 if beside else 1
    rows: list[list[HeadCell]] = []
    depth = max(1, len(table.factors))
    columns = [column or (None,) for column in table.columns]
    for place in range(depth):
        row: list[HeadCell] = []
        last: tuple[str | None, ...] | None = None
        for column in columns:
            here = column[: place + 1]
            if here == last:
                row[-1] = HeadCell(row[-1].words, row[-1].wide + wide)
            else:
                row.append(HeadCell(value_name(column[place]), wide))
            last = here
        rows.append(row)
    if beside:
        rows.append([HeadCell(words) for _ in columns for words in ("number", margin_name(found))])
    return rows


def count_text(value: float) -> str:
    """Write a whole number of a table.

    >>> count_text(1234.0), count_text(float("nan")), count_text(-3.0)
    ('1,234', '–', '−3')
    """
    return NOTHING if isnan(value) else str(Quantity(int(value), Style.COUNT)).replace("-", "−")


def printed_margin(value: float) -> str:
    """Write a margin of error; nothing where there is no number."""
    return "" if isnan(value) else f"±{Quantity(int(value), Style.COUNT)}"


def mark(found: PrintedTables) -> str:
    """Write the mark of tables that must not be published, or nothing."""
    return f"{NOT_PRIVATE}: made from a rehearsal. Not to be published." if found.not_private else ""


def footnotes(table: PrintedTable, found: PrintedTables) -> list[str]:
    """Say what the noise is, what margins mean and what kind of numbers stand in a table."""
    return list(_footnotes(table, found))


def _footnotes(table: PrintedTable, found: PrintedTables) -> Iterator[str]:
    yield _noise(found)
    if found.margins != "none":
        whose = "the number for the population" if found.sampled else "the count in the data"
        yield (
            f"{margin_name(found)}: margin of error, {error_name(found)}. At least "
            f"{brief(100 * found.level)} % of the time {whose} is within it."
        )
        if not found.sampled:
            yield "Sampling and other errors of the data are not in the margins."
    if found.whole:
        yield "Numbers are whole, not negative, and add up; they are close to the best estimates."
    else:
        yield (
            "Numbers are unbiased estimates, rounded: they add up but for rounding, and where few were "
            "counted they may be below zero."
        )
    if not found.additive:
        yield "Releases that differ were combined number by number: totals are NOT ADDITIVE."
    if any(isnan(value) for value in table.values.ravel().tolist()):
        yield f"{NOTHING} No measurement determines this number."


def _noise(found: PrintedTables) -> str:
    laws = {True: "discrete Gaussian", False: "discrete Laplace"}
    found_kinds = sorted({one.is_gaussian for one in found.noises}, reverse=True)
    kinds = " and ".join(laws[kind] for kind in found_kinds)
    sizes = sorted({one.variance for one in found.noises})
    written = [_trimmed(str(Quantity(size, digits=4))) for size in (sizes[0], sizes[-1])]
    many = f"{written[0]} to {written[1]}" if written[0] != written[1] else written[0]
    return (
        f"Random noise protects the people counted: {kinds} noise of variance {many} was added to each "
        "published count. The numbers here are the best estimates from all of them together."
    )


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


@describes(PrintedTables)
def printed_answer(found: PrintedTables) -> Answer:
    """Say which tables were written to be printed."""
    record = {
        "out": str(found.out),
        "tables": [
            {"query": table.query, "rows": len(table.rows), "columns": len(table.columns)}
            for table in found.tables
        ],
        "level": found.level,
        "margins": found.margins,
        "intervals": error_name(found),
        "whole": found.whole,
        "not_private": found.not_private,
    }
    many = len(found.tables)
    return Answer(
        "Tables to print",
        record,
        tuple(_printed_body(found)),
        (Fact("tables", Quantity(many, Style.COUNT)),),
        command="discreet estimate --print",
        summary=f"{many} table{'s' * (many != 1)} to print, in {found.out}",
    )


def _printed_body(found: PrintedTables) -> Iterator[Part]:
    if found.not_private:
        yield f"{NOT_PRIVATE}: made from a rehearsal; nothing of it may be published."
    for table in found.tables:
        rows, columns = (Quantity(many, Style.COUNT) for many in (len(table.rows), len(table.columns)))
        yield f"{table_title(table)}: {rows} rows, {columns} columns."
    yield f"In {found.out}. Nothing was spent."
    yield from intervals_said(sampled=found.sampled)
    if not found.additive:
        yield Paragraph("The releases differ: totals are NOT ADDITIVE.")
