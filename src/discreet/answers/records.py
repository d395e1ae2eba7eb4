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
def record_check_answer(found: RecordCheck) -> Answer:
    """Say whether records can be counted, all that is wrong with them, and the suggestion if there is one."""
    record: dict[str, object] = {
        "release": found.release,
        "records": found.records,
        "rows": found.rows,
        "areas": found.areas,
        "usable": found.usable,
        "incomplete": found.incomplete,
        "excess": found.excess,
        "columns": _column_table(found),
        "problems": _problem_table(found.problems),
        "scope": found.scope.document(),
        "suggestion": None,
    }
    if (suggestion := found.suggestion) is not None:
        record["suggestion"] = {
            "text": suggestion.text,
            "undecided": suggestion.undecided,
            "usable": suggestion.usable,
            "problems": _problem_table(suggestion.problems),
            "scope": None if suggestion.scope is None else suggestion.scope.document(),
        }
    if shown := _text_table(found).rows:
        record["texts"] = _text_table(found)
    many = len(found.problems)
    verdict = "can be counted" if found.usable else f"{many} kind{'s' * (many != 1)} of problems"
    return Answer(
        f"Records of {found.records}",
        record,
        tuple(_body(found, is_shown=bool(shown))),
        (
            Fact("rows", count_quantity(found.rows), "confidential"),
            Fact("kinds of problems", count_quantity(many)),
        ),
        tables={"columns": _column_table(found), "problems": _problem_table(found.problems)},
        command="discreet check-records",
        summary=f"{found.records}: {found.rows} rows for {found.release}, {verdict}",
    )


def _body(found: RecordCheck, *, is_shown: bool) -> Iterator[Part]:
    if found.usable:
        yield sentence(
            f"{{records}} can be counted for {{release}}: {{rows}} record{'s' * (found.rows != 1)}{{but}}.",
            records=found.records,
            release=found.release,
            rows=count_quantity(found.rows),
            but=_partly(found.scope),
        )
    else:
        yield f"{found.records} cannot be counted for {found.release} yet. What is wrong with it:"
        yield Bullets(tuple(map(_problem_text, found.problems)))
    if found.columns:
        yield ""
        yield _column_table(found)
    if found.incomplete:
        yield sentence(
            "{many} of {rows} records {are} left out because a value is missing, as [input] says.",
            are=_are(found.incomplete),
            many=count_quantity(found.incomplete),
            rows=count_quantity(found.rows),
        )
    if found.excess and found.usable:
        yield sentence(
            "{many} of {rows} records {are} left out at random, because one person has more than may count.",
            are=_are(found.excess),
            many=count_quantity(found.excess),
            rows=count_quantity(found.rows),
        )
    if found.areas is None:
        yield Paragraph("The areas were not checked: that needs a usable table of all areas (--units).")
    if is_shown:
        yield Heading("CONFIDENTIAL: texts of the file that are no values")
        yield _text_table(found)
    elif any(one.unknown for one in found.columns):
        yield Paragraph("Which texts are no values is confidential; --show lists them on a terminal.")
    if found.suggestion is not None:
        yield from _suggested(found.suggestion)
    elif not found.usable:
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


def _column_table(found: RecordCheck) -> AnswerTable:
    columns = (
        Column("attribute", "name", is_text=True),
        Column("column", "column", is_text=True),
        Column("rows without a value", "missing"),
        Column("rows with another text", "unknown"),
        Column("different ones", "distinct"),
    )
    rows = tuple(
        (
            one.name,
            one.column,
            count_quantity(one.missing),
            count_quantity(one.unknown),
            count_quantity(one.distinct),
        )
        for one in found.columns
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
    rows = tuple((one.text, one.file, one.field, count_quantity(one.count), one.lines) for one in problems)
    return AnswerTable(columns, rows)


def _text_table(found: RecordCheck) -> AnswerTable:
    columns = (Column("attribute", "name", is_text=True), Column("text", "text", is_text=True))
    rows = tuple((one.name, text, count_quantity(many)) for one in found.columns for text, many in one.texts)
    return AnswerTable((*columns, Column("rows", "rows")), rows)
