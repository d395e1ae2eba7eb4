"""A regression on a noisy table, in words and a table: corrected coefficients beside the naive ones."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.answers.answer import (
    Answer,
    AnswerTable,
    Caution,
    Column,
    Fact,
    Paragraph,
    Part,
    Sentence,
    sentence,
)
from discreet.answers.describing import describes
from discreet.answers.quantity import Quantity, Style
from discreet.estimation.regression import About, Coefficient, Concern, Regression

_COLUMNS = (
    Column("coefficient", "name", is_text=True),
    Column("corrected", "estimate"),
    Column("std. error", "standard_error"),
    Column("from", "lower"),
    Column("to", "upper"),
    Column("naive", "naive"),
    Column("not noise", "reliability"),
    Column(key="strength"),
)
_ABOUT = {
    About.MODEL: "the line behind the rows: what else makes them differ is random, and so is the noise",
    About.TABLE: "the line that these rows would have without noise: the noise alone is random",
}
_CONCERNS = {
    Concern.NOT_DETERMINED: (
        "the regressors vary less than their noise alone would, so nothing can be said about the slopes. Use "
        "larger areas, fewer regressors, or check the variances of the noise"
    ),
    Concern.UNBOUNDED: (
        "where no interval is given, the regressor may not vary at all beyond its noise, and any slope is "
        "possible: every interval that covers as often as it says is unbounded"
    ),
    Concern.FEW_FOR_THE_NOISE: (
        "there are few rows for this much noise: in simulated tables such intervals covered 93 to 97 % of "
        "the time where they say 95"
    ),
    Concern.WEAK: "more than half of the variation of a regressor is noise",
    Concern.FEW_ROWS_DECIDE: "one row alone decides more than half of its own fitted value",
    Concern.LESS_THAN_NOISE: (
        "residuals vary less than the stated noise alone would: the variances of the noise are probably too "
        "large, or the columns were made from each other"
    ),
}
_UNDETERMINED = "not determined"


@describes(Regression)
def regression_answer(regression: Regression) -> Answer:
    """Say what the corrected coefficients are, beside the naive ones, and what limits them.

    >>> from discreet.estimation import regress
    >>> frame = {"y": [3 * (k % 10) + k % 7 for k in range(50)], "x": [k % 10 for k in range(50)]}
    >>> answer = regression_answer(regress(frame, "y", "x", noise={"x": 0.8}))
    >>> answer.tables["coefficients"].cells[1]
    ['x', '3.29', '0.13', '2.99', '3.52', '2.98', '90.5 %']
    """
    coefficients = (*regression.slopes, regression.intercept)
    table = AnswerTable(_COLUMNS, tuple(map(_row, (regression.intercept, *regression.slopes))))
    names = ", ".join(slope.name for slope in regression.slopes)
    title = f"{regression.y} on {names}: least squares without the noise"
    record = {
        "y": regression.y,
        "x": [slope.name for slope in regression.slopes],
        "rows": regression.rows,
        "weights": regression.weights,
        "level": regression.level,
        "coverage": "each coefficient by itself",
        "about": regression.about.value,
        "coefficients": table,
        "covariance": regression.covariance,
        "residual_variance": regression.residual_variance,
        "largest_leverage": regression.leverage,
        "concerns": [concern.value for concern in regression.concerns],
    }
    return Answer(
        title,
        record,
        tuple(_body(regression, title, table)),
        tuple(
            Fact(
                f"slope of {coefficient.name}",
                _sized(coefficient.estimate, coefficient),
                f"naive: {_sized(coefficient.naive, coefficient)}",
            )
            for coefficient in coefficients[:-1]
        ),
        tuple(Caution(_CONCERNS[concern]) for concern in regression.concerns),
        {"coefficients": table},
        summary=_summary(regression, names),
    )


def _row(coefficient: Coefficient) -> tuple[object, ...]:
    ends = (_sized(end, coefficient, missing="unbounded") for end in (coefficient.lower, coefficient.upper))
    if coefficient.estimate is None:
        ends = (_sized(None, coefficient) for _ in range(2))
    return (
        coefficient.name,
        _sized(coefficient.estimate, coefficient),
        _sized(coefficient.error, coefficient),
        *ends,
        _sized(coefficient.naive, coefficient),
        Quantity(coefficient.reliability, Style.PERCENT, digits=1, missing=""),
        coefficient.strength if coefficient.strength is None or math.isfinite(coefficient.strength) else None,
    )


def _sized(value: float | None, coefficient: Coefficient, *, missing: str = _UNDETERMINED) -> Quantity:
    return with_error(value, coefficient.error, missing=missing)


def with_error(value: float | None, error: float | None, *, missing: str) -> Quantity:
    """Return a number in as many places as two digits of the standard error have.

    >>> str(with_error(1234.5678, 0.123, missing="unbounded"))
    '1,234.57'
    """
    if error is None:
        return Quantity(value, Style.BRIEF, digits=4, missing=missing)
    places = 1 - math.floor(math.log10(error)) if error > 0 else 7
    if value is not None and places > 6:
        return Quantity(value, Style.RESULT, accuracy=error / 20)
    return Quantity(value, Style.COUNT, digits=max(places, 0), missing=missing)


def _body(regression: Regression, title: str, table: AnswerTable) -> Iterator[Part]:
    yield Paragraph(title)
    yield Paragraph(
        sentence(
            "{rows} rows{weighted}. {intervals} They are about {about}.",
            rows=Quantity(regression.rows, Style.COUNT),
            weighted=f", weighted by {regression.weights}" if regression.weights else "",
            intervals=_coverage(regression),
            about=_ABOUT[regression.about],
        )
    )
    yield table
    if regression.residual_variance is not None and regression.about is About.MODEL:
        spread = Quantity(math.sqrt(max(regression.residual_variance, 0.0)), Style.MARGIN)
        yield (
            sentence("Beyond the noise, rows deviate from the line by {spread} (std. dev.).", spread=spread)
            if regression.residual_variance > 0
            else "Beyond the noise, rows do not deviate from the line."
        )


def _coverage(regression: Regression) -> Sentence:
    """Say how often intervals cover, and that each does so by itself, if there are several."""
    bounded = [slope for slope in (*regression.slopes, regression.intercept) if slope.lower is not None]
    text = (
        "Intervals cover {level} of the time."
        if len(bounded) < 2
        else ("Intervals cover {level} of the time, each by itself.")
    )
    return sentence(text, level=_level(regression))


def _level(regression: Regression) -> Quantity:
    return Quantity(100 * regression.level, Style.BRIEF, unit="%")


def _summary(regression: Regression, names: str) -> Sentence:
    parts = []
    for slope in regression.slopes:
        label = "slope" if len(regression.slopes) == 1 else slope.name
        interval: Sentence | str = "no bounded interval"
        if slope.lower is not None and slope.upper is not None:
            interval = sentence(
                "{level} interval {lower} to {upper}",
                level=_level(regression),
                lower=_sized(slope.lower, slope),
                upper=_sized(slope.upper, slope),
            )
        parts.append(
            sentence(
                "{label} {slope} ({interval}; naive {naive})",
                label=label,
                slope=_sized(slope.estimate, slope),
                interval=interval,
                naive=_sized(slope.naive, slope),
            )
        )
    joined = Sentence(
        tuple(
            piece for number, part in enumerate(parts) for piece in ((", ",) if number else ()) + part.parts
        )
    )
    return sentence(
        "{y} on {names}, {rows} rows: {slopes}",
        y=regression.y,
        names=names,
        rows=Quantity(regression.rows, Style.COUNT),
        slopes=joined,
    )
