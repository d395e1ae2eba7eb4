"""What a check of whole-number tables tells: which numbers are not what the records count to, and where."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import Answer, AnswerTable, Bullets, Column, Fact, Paragraph, Part, sentence
from discreet.answers.describing import describes
from discreet.answers.measurements import counted
from discreet.answers.quantity import count_quantity
from discreet.estimation.output.table_check import Difference, TableCheck
from discreet.rehearsal import NOT_PRIVATE

_WHAT = {
    "table": "in the column table",
    "histogram": "in the histogram",
    "exact": "held exact",
    "too few": "below what is held as the least",
    "too many": "above what is held as the most",
    "impossible": "where the release declares that nobody can be",
}
_COLUMNS = (
    Column("area", "unit", is_text=True),
    Column("level", "level", is_text=True),
    Column("query", "query", is_text=True),
    Column("cell", "cell", is_text=True),
    Column("in the file", "found"),
    Column("counted, or the limit", "counted"),
)


@describes(TableCheck)
def table_check_answer(checked: TableCheck) -> Answer:
    """Say whether all tables are what the records count to, and if not, which numbers differ."""
    wrong = sum(difference.count for difference in checked.differences)
    record: dict[str, object] = {
        "tables": str(checked.tables),
        "counted_from": checked.counted_from,
        "agrees": checked.agrees,
        "people": checked.people,
        "areas": checked.areas,
        "numbers": checked.numbers,
        "queries": checked.queries,
        "not_checked": checked.not_checked,
        "held": checked.held,
        "differences": [
            {
                "what": difference.what,
                "file": difference.file,
                "count": difference.count,
                "first": _numbers(difference),
            }
            for difference in checked.differences
        ],
        "problems": [str(problem) for problem in checked.problems],
        "not_private": checked.not_private,
    }
    verdict = "all agree" if checked.agrees else f"{wrong} differ, {len(checked.problems)} kinds of problems"
    return Answer(
        f"Tables of {checked.tables}",
        record,
        tuple(_body(checked)),
        (
            Fact("numbers compared", count_quantity(checked.numbers)),
            Fact("that differ", count_quantity(wrong)),
        ),
        command="discreet check-tables",
        summary=f"{checked.tables}: {checked.numbers} numbers of {checked.areas} areas compared, {verdict}",
    )


def _body(checked: TableCheck) -> Iterator[Part]:
    if checked.not_private:
        yield f"{NOT_PRIVATE}: made from a rehearsal; nothing of it may be published."
    yield sentence(
        "{rows} of {file} counted in {areas}; {numbers} compared.",
        rows=counted(checked.people, "person").replace("persons", "people"),
        file=checked.counted_from,
        areas=counted(checked.areas, "area"),
        numbers=counted(checked.numbers, "number"),
    )
    if checked.agrees:
        yield "Every number is what they count to."
    if checked.queries:
        yield Paragraph(f"Tables compared in every area: {', '.join(checked.queries)}.")
    if checked.held:
        yield sentence("Exact counts and limits compared: {many}.", many=count_quantity(checked.held))
    if checked.not_checked:
        yield Paragraph(f"Not compared, because they do not count records: {', '.join(checked.not_checked)}.")
    if checked.problems:
        yield "What is wrong with the files:"
        yield Bullets(tuple(map(str, checked.problems)))
    for difference in checked.differences:
        yield ""
        yield sentence(
            "{many} {what} ({file}){more}:",
            more="; the first of them" if difference.count > len(difference.first) else "",
            many=f"{counted(difference.count, 'number')} {'differs' if difference.count == 1 else 'differ'}",
            what=_WHAT[difference.what],
            file=difference.file,
        )
        yield _numbers(difference)


def _numbers(difference: Difference) -> AnswerTable:
    rows = tuple(
        (
            wrong.unit,
            wrong.level,
            wrong.query,
            wrong.cell,
            None if wrong.found is None else count_quantity(wrong.found),
            count_quantity(wrong.counted),
        )
        for wrong in difference.first
    )
    return AnswerTable(_COLUMNS, rows)
