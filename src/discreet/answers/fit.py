"""How well measurements fit together, in words."""

from __future__ import annotations

from discreet.answers.answer import AnswerTable, Column, Paragraph, Sentence, sentence
from discreet.answers.quantity import Quantity, Style
from discreet.estimation.fit import Fit

_COLUMNS = (
    Column("area", is_text=True),
    Column("level", is_text=True),
    Column("query", is_text=True),
    Column("cell", is_text=True),
    Column("measured"),
    Column("estimate"),
    Column("in standard deviations"),
)


def fit_sentence(fit: Fit) -> Paragraph | Sentence:
    """Say what chi-square is, and whether the noise explains it."""
    if fit.degrees_of_freedom <= 0 or fit.chance is None:
        return Paragraph(
            "Fit: nothing can be checked, because no measurement says anything about another (0 degrees of "
            "freedom)."
        )
    words = "the noise explains it" if not fit.warning else "see the warning"
    text = "Fit: chi-square {chi} on {degrees} degrees of freedom; {words}."
    if fit.unread:
        text += " {unread} measurements of areas that are not written were not checked."
    return sentence(
        text,
        chi=Quantity(fit.chi_square, Style.PLACES, digits=1),
        degrees=Quantity(fit.degrees_of_freedom, Style.PLACES, digits=1),
        words=words,
        unread=Quantity(fit.unread, Style.COUNT),
    )


def residual_table(fit: Fit, *, numbered: bool) -> AnswerTable:
    """Return the largest residuals by name."""
    rows = tuple(
        (
            one.unit,
            one.level,
            one.query,
            one.cell,
            Quantity(one.measured, Style.BRIEF),
            Quantity(one.estimate, Style.PLACES, digits=1),
            Quantity(one.standardised, Style.PLACES, digits=1),
            *((one.release,) if numbered else ()),
        )
        for one in fit.largest
    )
    columns = (*_COLUMNS, Column("release")) if numbered else _COLUMNS
    return AnswerTable(columns, rows, "Measurements farthest from their estimates")
