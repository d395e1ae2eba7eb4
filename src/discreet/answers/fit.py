"""How well measurements fit together, in words."""

from __future__ import annotations

from math import floor, log10

from discreet.answers.answer import AnswerTable, Caution, Column, Paragraph, Sentence, sentence
from discreet.answers.quantity import Quantity, Style
from discreet.estimation.fit import Fit, QueryFit, Residual
from discreet.estimation.output.fit_report import WARNINGS, fit_warnings

_REASONS = {
    "too large": "A variance is larger than stated, an area or an exact count is wrong, or they do not "
    "describe the same people.",
    "too small": "A variance is smaller than stated, or the numbers were made to agree.",
}
NO_TRUST = "Do not trust the standard deviations and intervals."
_MOST_NAMED = 5
"""The most queries that a warning names."""

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
    text = "Fit: chi-square {chi} on {degrees}; {words}."
    if not fit.checked.is_whole:
        text = (
            "Fit of {checked}: chi-square {chi} on {degrees}; {words}. The others, of areas that are not "
            "written, were not checked."
        )
    return sentence(
        text,
        checked=fit.checked.words,
        chi=_tenths(fit.chi_square),
        degrees=_freedom(fit.degrees_of_freedom),
        words=words,
    )


def residual_table(fit: Fit, *, numbered: bool) -> AnswerTable:
    """Return the largest residuals by name."""
    rows = tuple(
        (
            residual.unit,
            residual.level,
            residual.query,
            residual.cell,
            *_both(residual),
            _tenths(residual.standardised),
            *((residual.release,) if numbered else ()),
        )
        for residual in fit.largest
    )
    columns = (*_COLUMNS, Column("release")) if numbered else _COLUMNS
    return AnswerTable(columns, rows, "Measurements farthest from their estimates")


def fit_caution(fit: Fit, *, numbered: bool) -> Caution | None:
    """Return the warning, or None if chance explains the residuals."""
    if not fit.warning:
        return None
    numbers, said = _on(fit.chi_square, fit.degrees_of_freedom), []
    for finding, reason in _REASONS.items():
        if WARNINGS[finding] in fit_warnings(fit):
            said += [f"{WARNINGS[finding]}: {numbers}.", reason]
    wrong = [query_fit for query_fit in fit.by_query if query_fit.finding]
    said += [NO_TRUST, *(_about(query_fit, numbered) for query_fit in wrong[:_MOST_NAMED])]
    if len(wrong) > _MOST_NAMED:
        said.append(f"So are {len(wrong) - _MOST_NAMED} more.")
    if fit.largest_finding:
        residual = fit.largest[0]
        measured, estimate = _both(residual)
        said.append(
            f"Farthest from its estimate: {measured} was measured where {estimate} is estimated, "
            f"{_tenths(abs(residual.standardised))} standard deviations away "
            f"(area {residual.unit}, query {residual.query}, cell {residual.cell})."
        )
    return Caution(" ".join(said), loud=True)


def _about(query_fit: QueryFit, numbered: bool) -> str:
    of = f" of release {query_fit.release}" if numbered else ""
    numbers = _on(query_fit.chi_square, query_fit.degrees_of_freedom)
    return f"Query {query_fit.query} at {query_fit.level}{of}: {numbers}, {query_fit.finding}."


def _on(chi_square: float, degrees: float) -> str:
    return f"chi-square {_tenths(chi_square)} on {_freedom(degrees)}"


def _freedom(degrees: float) -> str:
    """Write degrees of freedom: of all measurements they are whole, of a query they need not be.

    >>> _freedom(1.0000000002), _freedom(21073.0), _freedom(2.4)
    ('1 degree of freedom', '21,073 degrees of freedom', '2.4 degrees of freedom')
    """
    whole = abs(degrees - round(degrees)) < 1e-6 * max(degrees, 1)
    number = Quantity(round(degrees), Style.COUNT) if whole else _tenths(degrees)
    return f"{number} degree{'s' * (str(number) != '1')} of freedom"


def _both(residual: Residual) -> tuple[Quantity, Quantity]:
    """Return a measurement and its estimate, in as many places as tell them apart: two digits of what is
    between them, and at least one place."""
    apart = abs(residual.measured - residual.estimate)
    places = 1 if apart == 0 else min(max(1, 1 - floor(log10(apart))), 15)
    measured = int(residual.measured) if residual.measured == round(residual.measured) else residual.measured
    return (
        Quantity(measured, Style.COUNT, digits=None if isinstance(measured, int) else places),
        Quantity(residual.estimate, Style.COUNT, digits=places),
    )


def _tenths(number: float) -> Quantity:
    return Quantity(number, Style.COUNT, digits=1)
