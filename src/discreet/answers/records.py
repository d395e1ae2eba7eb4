"""What a check of records tells: how many rows have which problem, and what would read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Bullets,
    Column,
    Fact,
    Heading,
    Paragraph,
    Part,
    Verbatim,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import count_quantity
from discreet.budget.scope import Scope
from discreet.records.record_check import RecordCheck
from discreet.records.suggestion import Suggestion
from discreet.tables import Problem


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


@describes(RecordCheck)
def record_check_answer(checked: RecordCheck) -> Answer:
    """Say whether records can be counted, all that is wrong with them, and the suggestion if there is one."""
    record: dict[str, object] = {
        "release": checked.release,
        "records": checked.records,
        "rows": checked.rows,
        "areas": checked.areas,
        "usable": checked.usable,
        "incomplete": checked.incomplete,
        "excess": checked.excess,
        "columns": _column_table(checked),
        "problems": _problem_table(checked.problems),
        "scope": checked.scope.document(),
        "suggestion": None,
    }
    if (suggestion := checked.suggestion) is not None:
        record["suggestion"] = {
            "text": suggestion.text,
            "undecided": suggestion.undecided,
            "usable": suggestion.usable,
            "problems": _problem_table(suggestion.problems),
            "scope": None if suggestion.scope is None else suggestion.scope.document(),
        }
    if shown := _text_table(checked).rows:
        record["texts"] = _text_table(checked)
    many = len(checked.problems)
    verdict = "can be counted" if checked.usable else f"{many} kind{'s' * (many != 1)} of problems"
    return Answer(
        f"Records of {checked.records}",
        record,
        tuple(_body(checked, is_shown=bool(shown))),
        (
            Fact("rows", count_quantity(checked.rows), "confidential"),
            Fact("kinds of problems", count_quantity(many)),
        ),
        tables={"columns": _column_table(checked), "problems": _problem_table(checked.problems)},
        command="discreet check-records",
        summary=f"{checked.records}: {checked.rows} rows for {checked.release}, {verdict}",
    )


def _body(checked: RecordCheck, *, is_shown: bool) -> Iterator[Part]:
    if checked.usable:
        yield sentence(
            f"{{records}} can be counted for {{release}}: {{rows}} record{'s' * (checked.rows != 1)}{{but}}.",
            records=checked.records,
            release=checked.release,
            rows=count_quantity(checked.rows),
            but=_partly(checked.scope),
        )
    else:
        yield f"{checked.records} cannot be counted for {checked.release} yet. What is wrong with it:"
        yield Bullets(tuple(map(_problem_text, checked.problems)))
    if checked.columns:
        yield ""
        yield _column_table(checked)
    if checked.incomplete:
        yield sentence(
            "{many} of {rows} records {are} left out because a value is missing, as [input] says.",
            are=_are(checked.incomplete),
            many=count_quantity(checked.incomplete),
            rows=count_quantity(checked.rows),
        )
    if checked.excess and checked.usable:
        yield sentence(
            "{many} of {rows} records {are} left out at random, because one person has more than may count.",
            are=_are(checked.excess),
            many=count_quantity(checked.excess),
            rows=count_quantity(checked.rows),
        )
    if checked.areas is None:
        yield Paragraph("The areas were not checked: that needs a usable table of all areas (--units).")
    if is_shown:
        yield Heading("CONFIDENTIAL: texts of the file that are no values")
        yield _text_table(checked)
    elif any(column.unknown for column in checked.columns):
        yield Paragraph("Which texts are no values is confidential; --show lists them on a terminal.")
    if checked.suggestion is not None:
        yield from _suggested(checked.suggestion)
    elif not checked.usable:
        yield Paragraph("--suggest makes an [input] that reads what can be read, and asks for the rest.")


def _suggested(suggestion: Suggestion) -> Iterator[Part]:
    yield ""
    yield Heading("Suggested [input]")
    yield Verbatim(suggestion.text.rstrip("\n"))
    if suggestion.usable:
        assert suggestion.scope is not None
        yield f"With it, {_records(suggestion.scope)} can be counted{_unchecked(suggestion.scope)}."
        return
    if suggestion.undecided:
        names = ", ".join(dict.fromkeys(suggestion.undecided))
        yield f"What nobody but you can know is left open in it: {names}."
    if suggestion.problems:
        yield "With it as it stands:"
        yield Bullets(tuple(map(_problem_text, suggestion.problems)))


def _records(scope: Scope) -> str:
    """Write which records count: "all records", or how many of them."""
    (records,) = scope.parts
    return "all records" if records.is_whole else records.words


def _unchecked(scope: Scope) -> str:
    """Write what was not looked at before this was said; nothing if all was."""
    return f"; not looked at: {', '.join(scope.left_out)}" if scope.left_out else ""


def _partly(scope: Scope) -> str:
    """Write what is less than the whole behind a number of all records."""
    (records,) = scope.parts
    return f"{'' if records.is_whole else f', of which {records.taken:,} count'}{_unchecked(scope)}"


def _problem_text(problem: Problem) -> str:
    """Write a problem with the number of its rows before the place of the first one."""
    if not problem.lines:
        return str(problem)
    rows = f"{count_quantity(problem.count)} row{'s' * (problem.count != 1)}"
    where = f"{rows} of {problem.file}, first in {problem.word} {problem.lines[0]}"
    return f"{problem.text} ({where}{f', column {problem.field}' if problem.field != 'all' else ''})"


def _column_table(checked: RecordCheck) -> AnswerTable:
    columns = (
        Column("attribute", "name", is_text=True),
        Column("column", "column", is_text=True),
        Column("rows without a value", "missing"),
        Column("rows with another text", "unknown"),
        Column("different ones", "distinct"),
    )
    rows = tuple(
        (
            column.name,
            column.column,
            count_quantity(column.missing),
            count_quantity(column.unknown),
            count_quantity(column.distinct),
        )
        for column in checked.columns
    )
    return AnswerTable(columns, rows)


def _problem_table(problems: Sequence[Problem]) -> AnswerTable:
    columns = (
        Column("problem", "text", is_text=True),
        Column("file", "file", is_text=True),
        Column("column", "column", is_text=True),
        Column("rows", "rows"),
        Column("first ones", "first"),
    )
    rows = tuple(
        (problem.text, problem.file, problem.field, count_quantity(problem.count), problem.lines)
        for problem in problems
    )
    return AnswerTable(columns, rows)


def _text_table(checked: RecordCheck) -> AnswerTable:
    columns = (Column("attribute", "name", is_text=True), Column("text", "text", is_text=True))
    rows = tuple(
        (column.name, text, count_quantity(many)) for column in checked.columns for text, many in column.texts
    )
    return AnswerTable((*columns, Column("rows", "rows")), rows)
