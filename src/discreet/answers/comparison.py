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
def areas_compared(compared: AreaComparison) -> Answer:
    """Say how areas differ, with intervals.

    >>> from discreet.estimation import compare_areas
    >>> found = compare_areas({"unit": ["A", "B"], "estimate": [520.0, 480.0], "sd": [6.0, 8.0]})
    >>> areas_compared(found).tables["pairs"].cells[0]
    ['A', 'B', '40', '10', '20', '60', '> 0.999']
    """
    interval = (Column("from", "lower"), Column("to", "upper"))
    areas = AnswerTable(
        (
            Column("area", "area", is_text=True),
            Column("rate" if compared.is_rate else "value", "estimate"),
            Column("std. error", "standard_error"),
            *interval,
        ),
        tuple((area.name, *_numbers(area)) for area in compared.areas),
    )
    pairs = AnswerTable(
        (
            Column("area", "one", is_text=True),
            Column("and", "two", is_text=True),
            Column(compared.kind, "estimate"),
            Column("std. error", "standard_error"),
            *interval,
            Column("first is larger", "larger"),
        ),
        tuple(
            (pair.one, pair.two, *_numbers(pair), Quantity(pair.larger, Style.NORMAL_CHANCE))
            for pair in compared.pairs
        ),
    )
    tables = {"areas": areas, **({"pairs": pairs} if compared.pairs else {})}
    record = {"kind": compared.kind, "level": compared.level, "draws": compared.draws, **tables}
    return Answer(
        "Areas compared",
        record,
        tuple(_body(compared, tables)),
        (Fact("areas", Quantity(len(compared.areas), Style.COUNT)),),
        tuple(_cautions(compared)),
        tables=tables,
        summary=f"{len(compared.areas)} areas, {len(compared.pairs)} {compared.kind}s of pairs",
    )


def _numbers(area_value: AreaValue | AreaPair) -> tuple[Quantity, ...]:
    values = (area_value.estimate, area_value.error, area_value.lower, area_value.upper)
    return tuple(with_error(value, area_value.error, missing="unbounded") for value in values)


def _body(compared: AreaComparison, tables: dict[str, AnswerTable]) -> Iterator[Part]:
    if compared.draws:
        errors = f"Errors and covariances come from {compared.draws} draws."
    else:
        errors = "Errors come from standard deviations; areas are taken as independent of each other."
    yield Paragraph(
        f"Intervals cover {brief(100 * compared.level)} % of the time, each by itself. They are as wide as "
        f"the errors given: of noise only, unless these have sampling in them. {errors}"
    )
    yield from tables.values()


def _cautions(compared: AreaComparison) -> Iterator[Caution]:
    ends = [*(area.lower for area in compared.areas), *(pair.lower for pair in compared.pairs)]
    if None in ends:
        yield Caution("where no interval is given, what is divided by may be zero")
    if len(compared.pairs) > 20:
        yield Caution(
            f"of {len(compared.pairs)} intervals some miss by chance; do not pick the largest differences "
            "and read their intervals alone"
        )
