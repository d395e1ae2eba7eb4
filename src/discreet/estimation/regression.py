"""Regression on noisy tables: least squares that take the known noise of every column into account.

Noise in a regressor flattens the slope of ordinary least squares, however many areas there are. A release
states the variance of its noise, so the part of the flattening is known and is taken out. How, and what the
intervals are made of, is said in `least_squares`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.areas.tree import Floats
from discreet.errors import InputError
from discreet.estimation.least_squares import CorrectedFit, NoisyTable, corrected_fit
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.faces import Summarised
from discreet.files import arrow
from discreet.numbers import share, shown
from discreet.tables import Problems, TableSource, read_table

Noise = str | float
"""The variance or covariance of noise: a column that has it for every row, or one number for all rows."""

_STEADY = 8.0
"""A ratio is used where its denominator is at least so many standard deviations above zero."""


class About(StrEnum):
    """What an interval is about."""

    MODEL = "model"
    """The line behind the areas: what else makes them differ is random, as is the noise."""
    TABLE = "table"
    """The line that least squares would give for these areas without noise: the noise alone is random."""


class Concern(StrEnum):
    """What limits how a regression may be read."""

    NOT_DETERMINED = "not determined"
    """The regressors vary less than their noise does, so that nothing can be said."""
    UNBOUNDED = "unbounded"
    """A regressor's variation beyond its noise may be none, so that any slope is possible."""
    FEW_FOR_THE_NOISE = "few rows for the noise"
    """Below 30 rows, or below 100 with 30 % noise, or with three regressors and 10 % noise in one of them."""
    WEAK = "weak"
    """More than half of the variation of a regressor is noise."""
    FEW_ROWS_DECIDE = "few rows decide"
    """The leverage of one row is above one half."""
    LESS_THAN_NOISE = "less than noise"
    """Residuals vary less than the stated noise alone would, by more than three standard errors."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A slope or the intercept, beside the naive one, with the ends of its interval.

    `lower` and `upper` are None if every interval with the level is unbounded, and all but `naive` if the
    coefficient is not determined. `reliability` is the part of the regressor's variation that is not noise;
    `strength` how many standard errors its variation beyond the noise is above zero, given the other
    regressors (infinite without noise). The intercept has neither.
    """

    name: str
    estimate: float | None
    error: float | None
    lower: float | None
    upper: float | None
    naive: float
    reliability: float | None = None
    strength: float | None = None


@dataclass(frozen=True, slots=True)
class Regression(Summarised):
    """A line through noisy points, corrected for the noise.

    Guarantee. Assumed: noise of mean zero with the stated variances and covariances, close to normal, and
    independent between rows and of weights and truths; about the model also that it is linear, and that
    deviations from it have mean zero and are independent between rows. Claimed: as the number of rows grows,
    intervals cover with the level. Checked by simulation for 30 rows and more
    (tests/estimation/test_regression.py).
    """

    y: str
    intercept: Coefficient
    slopes: tuple[Coefficient, ...]
    covariance: tuple[tuple[float, ...], ...] | None
    """Of the intercept and the slopes, in this order; None if they are not determined."""
    rows: int
    weights: str | None
    level: float
    about: About
    residual_variance: float | None
    """The weighted mean square of the residuals beyond their noise; below zero if they vary less than it."""
    leverage: float
    """The largest of any row."""
    concerns: tuple[Concern, ...]

    def slope(self, name: str) -> Coefficient:
        """Return the slope of one regressor."""
        for slope in self.slopes:
            if slope.name == name:
                return slope
        known = ", ".join(coefficient.name for coefficient in self.slopes)
        raise InputError(f"there is no regressor {shown(name)}; there are {known}")


@one_algebra_thread()
def regress(
    frame: TableSource,
    y: str,
    x: str | Sequence[str],
    *,
    noise: Mapping[str, Noise],
    covariances: Mapping[tuple[str, str], Noise] | None = None,
    weights: str | None = None,
    level: float = 0.95,
    about: str = "model",
) -> Regression:
    """Fit `y` to one or several columns `x` of a table by least squares, corrected for their known noise.

    The table is a file, a pandas, polars or Arrow table, or a mapping of columns. `noise` has the variances
    of the noise of noisy columns, `y` among them, and `covariances` those of pairs within a row; other
    columns are taken as exact. `weights` is a column that does not depend on the noise. Intervals are about
    the line behind the areas ("model"), or the line that these areas would have without noise ("table").

    >>> frame = {"income": [3 * (k % 10) + k % 7 for k in range(50)], "share": [k % 10 for k in range(50)]}
    >>> found = regress(frame, "income", "share", noise={"share": 0.8})
    >>> print(found)
    income on share, 50 rows: slope 3.29 (95 % interval 2.99 to 3.52; naive 2.98)
    >>> round(found.slope("share").reliability, 4)
    0.905
    """
    names = [x] if isinstance(x, str) else list(x)
    kind = _about(about)
    chance = float(share(level, name="level", floats=True))
    shared = dict(covariances or {})
    _check_names(y, names, noise, shared)
    columns = _Columns.read(frame, [y, *names], weights, [*noise.values(), *shared.values()])
    table = _noisy_table(columns, y, names, noise, shared, weights)
    rows, least = len(table.y), len(names) + 3
    if rows < least:
        raise InputError(f"there are {rows} rows; {len(names)} regressors need at least {least}")
    fit = corrected_fit(table, level=chance, of_table=kind is About.TABLE)
    if not fit.distinct:
        raise InputError(f"one of {', '.join(names)} is constant, or a linear combination of the others")
    return _result(fit, y, names, table, weights, chance, kind)


def _result(
    fit: CorrectedFit,
    y: str,
    names: Sequence[str],
    table: NoisyTable,
    weights: str | None,
    level: float,
    about: About,
) -> Regression:
    known = bool(fit.determined)
    coefficients = [
        Coefficient(
            name,
            float(fit.coefficients[number]) if known else None,
            float(fit.errors[number]) if known else None,
            float(fit.lower[number]) if fit.bounded[number] else None,
            float(fit.upper[number]) if fit.bounded[number] else None,
            float(fit.naive[number]),
            float(fit.reliability[number]) if number else None,
            float(fit.strength[number]) if number and known else None,
        )
        for number, name in enumerate(["intercept", *names])
    ]
    too_small = fit.residual_variance < -3.0 * fit.residual_variance_error
    concerns = {
        Concern.NOT_DETERMINED: not known,
        Concern.UNBOUNDED: known and not fit.bounded.all(),
        Concern.FEW_FOR_THE_NOISE: known and _few(len(table.y), fit.reliability[1:]),
        Concern.WEAK: known and bool((fit.reliability[1:] < 0.5).any()),
        Concern.FEW_ROWS_DECIDE: bool(fit.leverage > 0.5),
        Concern.LESS_THAN_NOISE: known and bool(too_small),
    }
    return Regression(
        y,
        coefficients[0],
        tuple(coefficients[1:]),
        tuple(tuple(map(float, row)) for row in fit.covariance) if known else None,
        len(table.y),
        weights,
        level,
        about,
        float(fit.residual_variance) if known else None,
        float(fit.leverage),
        tuple(concern for concern, holds in concerns.items() if holds),
    )


def _few(rows: int, reliability: Floats) -> bool:
    """Whether simulations of such tables covered less, or more, than 94 to 96 % of the time."""
    least = float(reliability.min())
    enough = 100 if least < 0.7 or (len(reliability) > 2 and least < 0.9) else 30
    return least < 1.0 and rows < enough


# -- what is given -------------------------------------------------------------------------------------------


def _about(text: str) -> About:
    if text not in tuple(About):
        raise InputError(f'about is {shown(text)}; "model" or "table" is needed')
    return About(text)


def _check_names(
    y: str, names: Sequence[str], noise: Mapping[str, Noise], covariances: Mapping[tuple[str, str], Noise]
) -> None:
    used = [y, *names]
    if not names:
        raise InputError("x is empty; name at least one column")
    if len(set(used)) < len(used):
        raise InputError(f"a column is used twice: y is {y}, x is {', '.join(names)}")
    for name in noise:
        if name not in used:
            raise InputError(f"noise is given for {shown(name)}, which is neither y nor x: {', '.join(used)}")
    seen = set()
    for pair in covariances:
        if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError(f'a covariance is given for {pair!r}; a pair such as ("a", "b") is needed')
        for name in pair:
            if name not in noise:
                raise InputError(f"a covariance is given with {shown(name)}, for which there is no noise")
        if frozenset(pair) in seen:
            raise InputError(f"the covariance of {pair[0]} and {pair[1]} is given twice")
        seen.add(frozenset(pair))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of numbers by name, with what is wrong in them."""

    values: dict[str, Floats]
    rows: int
    problems: Problems

    @classmethod
    def read(
        cls, frame: TableSource, named: Sequence[str], weights: str | None, noises: Sequence[Noise]
    ) -> _Columns:
        wanted = [
            *named,
            *([weights] if weights else []),
            *(noise for noise in noises if isinstance(noise, str)),
        ]
        wanted = list(dict.fromkeys(wanted))
        if isinstance(frame, Mapping):
            frame = _arrow_table(frame, wanted)
        problems = Problems()
        table = read_table(frame, words=[], floats=wanted, name="frame", problems=problems)
        problems.stop()
        columns = cls({name: np.asarray(table.numbers[name]) for name in wanted}, table.rows, table.problems)
        for name in wanted:
            columns.report(name, ~np.isfinite(columns.values[name]), f"{name} is not a finite number")
        problems.stop()
        return columns

    def report(self, name: str, wrong: NDArray[np.bool_], text: str) -> None:
        self.problems.rows(wrong, text, name)

    def noise(self, given: Noise, what: str) -> Floats:
        """The variance or covariance of every row."""
        if isinstance(given, str):
            return self.values[given]
        if isinstance(given, bool) or not math.isfinite(float(given)):
            raise InputError(f"{what} is {shown(given)}; a number, or the name of a column, is needed")
        return np.full(self.rows, float(given))


def _arrow_table(columns: Mapping[str, ArrayLike], wanted: Sequence[str]) -> TableSource:
    """A mapping of columns as a table; columns that are not asked for are left out."""
    arrays = {name: np.asarray(column) for name, column in columns.items() if name in wanted}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise InputError(f"column {name} of frame has {array.ndim} dimensions; one is needed")
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError(f"the columns of frame differ in their number of rows: {said}")
    return arrow().table(arrays)


def _noisy_table(
    columns: _Columns,
    y: str,
    names: Sequence[str],
    noise: Mapping[str, Noise],
    covariances: Mapping[tuple[str, str], Noise],
    weights: str | None,
) -> NoisyTable:
    order = [y, *names]
    spread = np.zeros((columns.rows, len(order), len(order)))
    for name, given in noise.items():
        number, variance = order.index(name), columns.noise(given, f"the noise of {name}")
        spread[:, number, number] = variance
        _refuse(columns, given, variance < 0, f"the noise of {name}", "a variance is below zero")
    for (column, other), given in covariances.items():
        first, second = order.index(column), order.index(other)
        values = columns.noise(given, f"the covariance of {column} and {other}")
        spread[:, first, second] = spread[:, second, first] = values
        most = np.sqrt(np.maximum(spread[:, first, first] * spread[:, second, second], 0.0))
        what = f"the covariance of {column} and {other}"
        _refuse(columns, given, np.abs(values) > most * (1 + 1e-9), what, "a covariance is too large")
    weight = np.ones(columns.rows) if weights is None else columns.values[weights]
    if weights is not None:
        columns.report(weights, weight <= 0, "a weight is not above zero")
    columns.problems.stop()
    x = np.column_stack([columns.values[name] for name in names])
    return NoisyTable(columns.values[y], x, weight, spread[:, 0, 0], spread[:, 1:, 1:], spread[:, 1:, 0])


def _refuse(columns: _Columns, given: Noise, wrong: NDArray[np.bool_], what: str, text: str) -> None:
    if isinstance(given, str):
        columns.report(given, wrong, text)
    elif wrong.any():
        raise InputError(f"{what} is {shown(float(given))}: {text}")


# -- ratios of noisy counts ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoisyRatio:
    """Ratios of noisy counts, the variances of their noise, and where both can be relied on.

    Where a denominator is less than eight standard deviations above zero (not `steady`), there is no number.
    """

    value: Floats
    variance: Floats
    steady: NDArray[np.bool_]


@one_algebra_thread()
def noisy_ratio(
    part: ArrayLike,
    whole: ArrayLike,
    *,
    part_variance: ArrayLike,
    whole_variance: ArrayLike,
    covariance: ArrayLike = 0.0,
) -> NoisyRatio:
    """Return ratios of noisy counts with the variances of their noise.

    If the whole is the sum of noisy counts of which the part is one, the covariance of part and whole is the
    variance of the part. The noise of the whole makes a ratio, and the first-order formula of its variance,
    too large on average; to second order that is taken out.

    >>> found = noisy_ratio([300, 2], [1000, 8], part_variance=25, whole_variance=150, covariance=25)
    >>> found.value.round(5).tolist(), found.variance.round(8).tolist(), found.steady.tolist()
    ([0.29998, nan], [2.349e-05, nan], [True, False])
    """
    given = (part, whole, part_variance, whole_variance, covariance)
    try:
        top, bottom, of_top, of_bottom, of_both = np.broadcast_arrays(
            *(np.asarray(values, dtype=np.float64) for values in given)
        )
    except (TypeError, ValueError):
        raise InputError(
            "counts, variances and covariances must be numbers, or columns of one length"
        ) from None
    if (of_top < 0).any() or (of_bottom < 0).any():
        raise InputError("a variance of the noise is below zero")
    if (of_both**2 > of_top * of_bottom * (1 + 1e-9)).any():
        raise InputError("a covariance is larger than the variances of part and whole allow")
    steady = (bottom > 0) & (bottom >= _STEADY * np.sqrt(of_bottom))
    safe = np.where(steady, bottom, 1.0)
    ratio = top / safe
    shared = ratio * of_bottom - of_both
    first = of_top - 2.0 * ratio * of_both + ratio**2 * of_bottom
    # the first-order formula at the noisy counts, and what it is too large by on average, relative to itself
    product = np.divide(shared**2, first, out=np.zeros_like(first), where=first > 0)
    value = ratio - shared / safe**2
    variance = first / (safe**2 + 3.0 * of_bottom + 5.0 * product)
    return NoisyRatio(np.where(steady, value, np.nan), np.where(steady, variance, np.nan), steady)
