"""The best perturbation table in words: what it keeps, its rows, and other noise beside it."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.answers.answer import Answer, AnswerTable, Column, Fact, Paragraph, Part, Sentence, sentence
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Rounding, Style, count_quantity
from discreet.cellkey.design import TableDesign

_ROWS = (
    Column("count", "count"),
    Column("noise", "noise"),
    Column("probability", "probability"),
)
_VARIANCES = (Column("count", "count"), Column("variance", "variance"))
_OTHERS = (
    Column("noise", "noise", is_text=True),
    Column("D", "largest"),
    Column("variance", "variance"),
)
_NAMES = {"laplace": "truncated Laplace", "gaussian": "truncated Gaussian"}
_LEAST = {
    "variance": "The least variance for this epsilon and delta",
    "delta": "The least delta for this epsilon and variance",
    "epsilon": "The least epsilon for this delta and variance",
}


@describes(TableDesign)
def table_design_answer(design: TableDesign, *, written: tuple[str, ...] = ()) -> Answer:
    """Say what a designed table keeps, exactly, and how far its noise is from the best that was found."""
    epsilon, delta = Quantity(design.epsilon, Style.GIVEN), _delta(design)
    variance = Quantity(design.variance, digits=6)
    wishes = design.wishes
    rows, variances = _rows(design), _variances(design)
    record = {
        "largest": wishes.largest,
        "small": wishes.small,
        "zeros": wishes.zeros,
        "monotone": wishes.monotone,
        "made_least": design.objective,
        "epsilon": Quantity(design.epsilon, Style.FRACTION),
        "delta": delta,
        "variance": Quantity(design.variance, Style.FRACTION),
        "optimum": design.optimum,
        "rows": rows,
        "variances": variances,
        "others": _others(design),
        "written": list(written),
    }
    summary = sentence(
        "D {largest}: epsilon {epsilon}, delta {delta}, variance {variance}",
        largest=count_quantity(wishes.largest),
        epsilon=epsilon,
        delta=sentence("at most {delta}", delta=delta),
        variance=variance,
    )
    return Answer(
        "A perturbation table",
        record,
        tuple(_body(design, rows, variances, summary, written)),
        (Fact("epsilon of a cell", epsilon), Fact("delta", delta), Fact("variance", variance)),
        tables={"rows": rows, "variances": variances},
        command="discreet cellkey design",
        summary=summary,
    )


def _delta(design: TableDesign) -> Quantity:
    return Quantity(float(design.delta), rounding=Rounding.UP, digits=6)


def _rows(design: TableDesign) -> AnswerTable:
    return AnswerTable(
        _ROWS,
        tuple(
            (row.count, noise, Quantity(chance, Style.EXACT, digits=8))
            for row in design.table.rows
            for noise, chance in design.law(row.count).items()
        ),
    )


def _variances(design: TableDesign) -> AnswerTable:
    rows = design.variances.items()
    return AnswerTable(_VARIANCES, tuple((count, Quantity(variance, digits=5)) for count, variance in rows))


def _others(design: TableDesign) -> AnswerTable:
    return AnswerTable(
        _OTHERS,
        tuple((_NAMES[law.name], law.largest, Quantity(law.variance, digits=4)) for law in design.others),
    )


def _body(
    design: TableDesign,
    rows: AnswerTable,
    variances: AnswerTable,
    summary: Sentence,
    written: tuple[str, ...],
) -> Iterator[Part]:
    wishes = design.wishes
    yield Paragraph(summary, role="headline")
    yield Paragraph(
        sentence(
            "{what}; the linear program reached {optimum} before rounding. What the table keeps was checked "
            "in fractions: sums, means, bounds, and delta at epsilon {epsilon} for every count and one "
            "record more or less, in one cell.",
            what=_LEAST[design.objective],
            optimum=Quantity(design.optimum, digits=6),
            epsilon=Quantity(design.epsilon, Style.GIVEN),
        )
    )
    if wishes.zeros == "noisy":
        yield Paragraph(
            "One row of noise serves every count, 0 included; a result below 0 is published as 0, which "
            "costs nothing. Empty cells need random keys for that, which `discreet cellkey run --secret` "
            "gives them."
        )
        yield rows
        if design.others:
            yield "The usual noise with the same promise:"
            yield _others(design)
    else:
        yield Paragraph(
            "A count of 0 stays 0."
            + (
                " Which cells are empty counts as public: a record that joins an empty cell is not protected."
                if wishes.zeros == "public"
                else ""
            )
        )
        if wishes.small:
            yield Paragraph(f"No result lies from 1 to {wishes.small}.")
        yield variances
        yield Paragraph(f"Counts above {design.table.last} use its row.")
    if written:
        yield Paragraph(f"Written: {', '.join(written)}. `discreet cellkey check` reads it.")
