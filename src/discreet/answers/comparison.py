"""Areas compared, in words and two tables: each area by itself, and pairs of them."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import Answer, AnswerTable, Caution, Column, Fact, Paragraph, Part
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Style
from discreet.answers.regression import with_error
from discreet.estimation.comparison import AreaComparison, AreaPair, AreaValue
from discreet.numbers import brief


@describes(AreaComparison)
def areas_compared(found: AreaComparison) -> Answer:
    """Say how areas differ, with intervals.

    >>> from discreet.estimation import compare_areas
    >>> found = compare_areas({"unit": ["A", "B"], "estimate": [520.0, 480.0], "sd": [6.0, 8.0]})
    >>> areas_compared(found).tables["pairs"].cells[0]
    ['A', 'B', '40', '10', '20', '60', '0.9990']
    """
    interval = (Column("from", "lower"), Column("to", "upper"))
    areas = AnswerTable(
        (
            Column("area", "area", is_text=True),
            Column("rate" if found.is_rate else "value", "estimate"),
            Column("std. error", "standard_error"),
            *interval,
        ),
        tuple((one.name, *_numbers(one)) for one in found.areas),
    )
    pairs = AnswerTable(
        (
            Column("area", "one", is_text=True),
            Column("and", "two", is_text=True),
            Column(found.kind, "estimate"),
            Column("std. error", "standard_error"),
            *interval,
            Column("first is larger", "larger"),
        ),
        tuple((one.one, one.two, *_numbers(one), Quantity(one.larger, Style.CHANCE)) for one in found.pairs),
    )
    tables = {"areas": areas, **({"pairs": pairs} if found.pairs else {})}
    record = {"kind": found.kind, "level": found.level, "draws": found.draws, **tables}
    return Answer(
        "Areas compared",
        record,
        tuple(_body(found, tables)),
        (Fact("areas", Quantity(len(found.areas), Style.COUNT)),),
        tuple(_cautions(found)),
        tables=tables,
        summary=f"{len(found.areas)} areas, {len(found.pairs)} {found.kind}s of pairs",
    )


def _numbers(one: AreaValue | AreaPair) -> tuple[Quantity, ...]:
    values = (one.estimate, one.error, one.lower, one.upper)
    return tuple(with_error(value, one.error, missing="unbounded") for value in values)


def _body(found: AreaComparison, tables: dict[str, AnswerTable]) -> Iterator[Part]:
    if found.draws:
        errors = f"Errors and covariances come from {found.draws} draws."
    else:
        errors = "Errors come from standard deviations; areas are taken as independent of each other."
    yield Paragraph(
        f"Intervals cover {brief(100 * found.level)} % of the time, each by itself. They are as wide as the "
        f"errors given: of noise only, unless these have sampling in them. {errors}"
    )
    yield from tables.values()


def _cautions(found: AreaComparison) -> Iterator[Caution]:
    ends = [*(one.lower for one in found.areas), *(one.lower for one in found.pairs)]
    if None in ends:
        yield Caution("where no interval is given, what is divided by may be zero")
    if len(found.pairs) > 20:
        yield Caution(
            f"of {len(found.pairs)} intervals some miss by chance; do not pick the largest differences and "
            "read their intervals alone"
        )
