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
def table_check_answer(found: TableCheck) -> Answer:
    """Say whether all tables are what the records count to, and if not, which numbers differ."""
    wrong = sum(one.count for one in found.differences)
    record: dict[str, object] = {
        "tables": str(found.tables),
        "counted_from": found.counted_from,
        "agrees": found.agrees,
        "people": found.people,
        "areas": found.areas,
        "numbers": found.numbers,
        "queries": found.queries,
        "not_checked": found.not_checked,
        "held": found.held,
        "differences": [
            {"what": one.what, "file": one.file, "count": one.count, "first": _numbers(one)}
            for one in found.differences
        ],
        "problems": [str(one) for one in found.problems],
        "not_private": found.not_private,
    }
    verdict = "all agree" if found.agrees else f"{wrong} differ, {len(found.problems)} kinds of problems"
    return Answer(
        f"Tables of {found.tables}",
        record,
        tuple(_body(found)),
        (
            Fact("numbers compared", count_quantity(found.numbers)),
            Fact("that differ", count_quantity(wrong)),
        ),
        command="discreet check-tables",
        summary=f"{found.tables}: {found.numbers} numbers of {found.areas} areas compared, {verdict}",
    )


def _body(found: TableCheck) -> Iterator[Part]:
    if found.not_private:
        yield f"{NOT_PRIVATE}: made from a rehearsal; nothing of it may be published."
    yield sentence(
        "{rows} of {file} counted in {areas}; {numbers} compared.",
        rows=counted(found.people, "person").replace("persons", "people"),
        file=found.counted_from,
        areas=counted(found.areas, "area"),
        numbers=counted(found.numbers, "number"),
    )
    if found.agrees:
        yield "Every number is what they count to."
    if found.queries:
        yield Paragraph(f"Tables compared in every area: {', '.join(found.queries)}.")
    if found.held:
        yield sentence("Exact counts and limits compared: {many}.", many=count_quantity(found.held))
    if found.not_checked:
        yield Paragraph(f"Not compared, because they do not count records: {', '.join(found.not_checked)}.")
    if found.problems:
        yield "What is wrong with the files:"
        yield Bullets(tuple(map(str, found.problems)))
    for one in found.differences:
        yield ""
        yield sentence(
            "{many} {what} ({file}){more}:",
            more="; the first of them" if one.count > len(one.first) else "",
            many=f"{counted(one.count, 'number')} {'differs' if one.count == 1 else 'differ'}",
            what=_WHAT[one.what],
            file=one.file,
        )
        yield _numbers(one)


def _numbers(one: Difference) -> AnswerTable:
    rows = tuple(
        (
            wrong.unit,
            wrong.level,
            wrong.query,
            wrong.cell,
            None if wrong.found is None else count_quantity(wrong.found),
            count_quantity(wrong.counted),
        )
        for wrong in one.first
    )
    return AnswerTable(_COLUMNS, rows)
