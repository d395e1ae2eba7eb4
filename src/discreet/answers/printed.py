"""Tables to print, in words: titles, headings, numbers and footnotes, the same in every kind of file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

from discreet.answers.answer import Answer, Fact, Paragraph, Part
from discreet.answers.describing import describes
from discreet.answers.fit import NO_TRUST, fit_caution, fit_sentence, residual_table
from discreet.answers.measurements import counted, intervals_said
from discreet.answers.quantity import Quantity, Style
from discreet.estimation.input.joint_estimates import name_of_query
from discreet.estimation.output.fit_report import fit_record, fit_warnings
from discreet.estimation.output.printed import PrintedTable, PrintedTables
from discreet.numbers import brief
from discreet.rehearsal import NOT_PRIVATE

_NOTHING = "–"
"""What stands where no measurement determines a number."""
TOTAL = "Total"


@dataclass(frozen=True, slots=True)
class HeadCell:
    """A cell of a table's head: its words, and the columns that it spans."""

    words: str
    wide: int = 1


def table_title(table: PrintedTable) -> str:
    """Say what a table is of.

    >>> from discreet.estimation.output.printed import PrintedTable
    >>> import numpy as np
    >>> empty = np.zeros((0, 0))
    >>> table_title(PrintedTable("age * sex", ("age", "sex"), (), (), empty, empty))
    'Age by sex, by area'
    >>> table_title(PrintedTable("hours by sex", ("sex",), (), (), empty, empty, "hours"))
    'Hours by sex, by area'
    """
    named = name_of_query(table.query) if "=" in table.query else ""
    added = (table.adds_up,) if table.adds_up else ()
    words = named or " by ".join((*added, *table.factors)) or "total"
    return f"{words[:1].upper()}{words[1:]}, by area"


def _value_name(words: str | None) -> str:
    """Write a value of a factor; None is the total."""
    return TOTAL if words is None else words


def printed_column(column: tuple[str | None, ...]) -> str:
    """Write a column in one line.

    >>> printed_column(("18-39", None)), printed_column((None, None)), printed_column(())
    ('18-39, Total', 'Total', 'Total')
    """
    if all(part is None for part in column):
        return TOTAL
    return ", ".join(_value_name(part) for part in column)


def margin_name(printed: PrintedTables) -> str:
    """Write the heading of margins of error."""
    return f"± {brief(100 * printed.level)} %"


def error_name(printed: PrintedTables) -> str:
    """Say what margins of error allow for."""
    return printed.error


def subtitle(printed: PrintedTables) -> str:
    """Say what the margins of error of a table are, or that it has none."""
    if printed.margins == "none":
        return "Without margins of error"
    return f"With {brief(100 * printed.level)} % margins of error ({error_name(printed)})"


def headings(table: PrintedTable, printed: PrintedTables) -> list[list[HeadCell]]:
    """Return the head of a table, row by row: one for each factor, and one where margins stand beside."""
    beside = printed.margins == "beside"
    wide = 2 if beside else 1
    rows: list[list[HeadCell]] = []
    depth = max(1, len(table.factors))
    columns = [column or (None,) for column in table.columns]
    for number in range(depth):
        row: list[HeadCell] = []
        last: tuple[str | None, ...] | None = None
        for column in columns:
            here = column[: number + 1]
            if here == last:
                row[-1] = HeadCell(row[-1].words, row[-1].wide + wide)
            else:
                row.append(HeadCell(_value_name(column[number]), wide))
            last = here
        rows.append(row)
    if beside:
        rows.append([HeadCell(words) for _ in columns for words in ("number", margin_name(printed))])
    return rows


def columns_said(first: int, last: int, of_all: int) -> str:
    """Say which columns of a table stand on a page.

    >>> columns_said(1, 8, 20), columns_said(20, 20, 20)
    ('columns 1 to 8 of 20', 'column 20 of 20')
    """
    return f"columns {first} to {last} of {of_all}" if last > first else f"column {first} of {of_all}"


def count_text(value: float) -> str:
    """Write a whole number of a table.

    >>> count_text(1234.0), count_text(float("nan")), count_text(-3.0)
    ('1,234', '–', '−3')
    """
    return _NOTHING if isnan(value) else str(Quantity(int(value), Style.COUNT)).replace("-", "−")


def printed_margin(value: float) -> str:
    """Write a margin of error; nothing where there is no number."""
    return "" if isnan(value) else f"±{Quantity(int(value), Style.COUNT)}"


def mark(printed: PrintedTables) -> str:
    """Write the mark of tables that must not be published, or nothing."""
    return f"{NOT_PRIVATE}: made from a rehearsal. Not to be published." if printed.not_private else ""


def marks(printed: PrintedTables) -> list[str]:
    """Write what stands above every table: the mark of a rehearsal, and that measurements contradict."""
    warnings = [f"WARNING: {text}. {NO_TRUST}" for text in fit_warnings(printed.fit)]
    return [*([mark(printed)] if printed.not_private else []), *warnings]


def footnotes(table: PrintedTable, printed: PrintedTables) -> list[str]:
    """Say what the noise is, what margins mean and what kind of numbers stand in a table."""
    return list(_footnotes(table, printed))


def _footnotes(table: PrintedTable, printed: PrintedTables) -> Iterator[str]:
    yield _noise(table, printed)
    if printed.margins != "none":
        whose = f"the {'number' if table.adds_up else 'count'} in the data"
        if printed.sampled or printed.as_given:
            whose = "the number for the population" if printed.sampled else "the true number"
        yield (
            f"{margin_name(printed)}: margin of error, {error_name(printed)}. At least "
            f"{brief(100 * printed.level)} % of the time {whose} is within it, each number by itself."
        )
        if printed.as_given and not printed.sampled:
            yield "Other errors than those given are not in the margins."
        elif not printed.sampled:
            yield "Sampling and other errors of the data are not in the margins."
    if printed.whole:
        sums = "within and between tables" if printed.together else "over areas, each table separately"
        sums += ", but for rounding" if table.in_fractions else ""
        yield (
            f"Numbers are whole, none is negative, and all add up {sums}. For that, they differ from the "
            "best estimates, and are not unbiased."
        )
        if printed.margins != "none":
            whose = "estimate's interval"
            if printed.replicates:
                whose = f"number's own interval, from {printed.replicates} tables made again with new noise"
            yield f"A margin reaches from the printed number to the farther end of the {whose}."
    else:
        yield (
            "Numbers are unbiased estimates, rounded: they add up but for rounding, and where few were "
            "counted they may be below zero."
        )
    if not printed.additive:
        yield "Releases that differ were combined number by number: totals are NOT ADDITIVE."
    if printed.margins != "none" and any(0.0 in row for row in table.margins.tolist()):
        yield "±0: the number is exact: no record can have these values, or it was published without noise."
    if any(isnan(value) for value in table.values.ravel().tolist()):
        yield f"{_NOTHING} No measurement determines this number."


def _noise(table: PrintedTable, printed: PrintedTables) -> str:
    """Say what the noise of the counts is, or of the sums that the table has."""
    mine = [noise for noise in printed.noises if noise.adds_up == table.adds_up]
    kinds = " and ".join(dict.fromkeys(stated_noise.family for stated_noise in mine))
    sizes = [_variance(pick(stated_noise.variance for stated_noise in mine)) for pick in (min, max)]
    many = " to ".join(dict.fromkeys(sizes))
    best = f"The numbers here are {_made(printed)}."
    if printed.as_given:
        return f"Errors of the published numbers are taken as {kinds}, of variance {many}. {best}"
    what = f"number of this kind ({table.adds_up})" if table.adds_up else "count"
    return (
        f"Random noise protects the people counted: {kinds} noise of variance {many} was added to each "
        f"published {what}. {best}"
    )


def _made(printed: PrintedTables) -> str:
    """Say what the numbers are made from."""
    what = "whole numbers near the best estimates" if printed.whole else "the best estimates"
    if not printed.additive:
        return f"{what}, each release by itself and then their weighted means"
    return f"{what} from all of them together" if printed.together else f"{what}, each query by itself"


def _variance(size: float) -> str:
    """Write a variance, a large one without a power of ten.

    >>> _variance(5.0), _variance(2.53), _variance(218750.0)
    ('5', '2.53', '218,750')
    """
    if 1000 <= size < 1e15:
        return str(Quantity(round(size), Style.COUNT))
    return _trimmed(str(Quantity(size, digits=4)))


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


@describes(PrintedTables)
def printed_answer(printed: PrintedTables) -> Answer:
    """Say which tables were written to be printed."""
    record = {
        "out": str(printed.out),
        "scope": printed.scope.document(),
        "tables": [
            {"query": table.query, "rows": len(table.rows), "columns": len(table.columns)}
            for table in printed.tables
        ],
        "level": printed.level,
        "margins": printed.margins,
        "intervals": error_name(printed),
        "fit": fit_record(printed.fit, numbered=printed.numbered),
        "whole": printed.whole,
        "replicates": printed.replicates,
        "not_private": printed.not_private,
    }
    many = len(printed.tables)
    caution = fit_caution(printed.fit, numbered=printed.numbered)
    return Answer(
        "Tables to print",
        record,
        tuple(_printed_body(printed)),
        (Fact("tables", Quantity(many, Style.COUNT)),),
        () if caution is None else (caution,),
        command="discreet estimate --print",
        summary=f"{many} table{'s' * (many != 1)} to print, in {printed.out}"
        + "".join(f"\n  WARNING: {text}" for text in fit_warnings(printed.fit)),
    )


def _printed_body(printed: PrintedTables) -> Iterator[Part]:
    if printed.not_private:
        yield f"{NOT_PRIVATE}: made from a rehearsal; nothing of it may be published."
    for table in printed.tables:
        rows, columns = counted(len(table.rows), "row"), counted(len(table.columns), "column")
        yield f"{table_title(table)}: {rows}, {columns}."
    yield f"In {printed.out}. Nothing was spent."
    many = sum(not isnan(margin) for table in printed.tables for margin in table.margins.ravel().tolist())
    if printed.margins != "none" or printed.sampled:  # without margins there is nothing to say of intervals
        yield from intervals_said(
            sampled=printed.sampled,
            as_given=printed.as_given,
            number=0 if printed.margins == "none" else many,
            levels=[printed.level],
            what="margin of error",
        )
    yield fit_sentence(printed.fit)
    if printed.fit.warning:
        yield residual_table(printed.fit, numbered=printed.numbered)
    if not printed.additive:
        yield Paragraph("The releases differ: totals are NOT ADDITIVE.")
