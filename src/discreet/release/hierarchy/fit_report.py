"""The fit of measurements as it is reported: residuals by the names of areas and cells, and the warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from discreet.estimation.fit import Fit, NamedResiduals, QueryFit, Residuals, fit_of
from discreet.estimation.model import as_written
from discreet.numbers import brief
from discreet.release.hierarchy.joint_estimates import Group, JointEstimates


def found_fit(parts: Sequence[tuple[JointEstimates, Sequence[Residuals]]]) -> Fit:
    """Judge the residuals of releases, those that are estimated together and those that are not."""
    return fit_of([_named(group, one) for found, some in parts for group, one in _pairs(found, some)])


def _pairs(found: JointEstimates, some: Sequence[Residuals]) -> list[tuple[Group, Residuals]]:
    return list(zip(found.groups, some, strict=True))


def _named(group: Group, residuals: Residuals) -> NamedResiduals:
    def unit(place: int) -> str:
        return str(group.tree.names[place].as_py())

    def cell(query: str, place: int) -> str:
        names = group.names(query)
        if group.attributes is not None:  # they stand as the query is written
            order = as_written(group.attributes, query, np.arange(len(names))[None])[0]
            place = int(np.flatnonzero(order == place)[0])
        return str(names[place].as_py())

    return NamedResiduals(residuals, group.tree.levels, unit, cell, group.releases)


def fit_record(fit: Fit, *, numbered: bool) -> dict[str, object]:
    """Return the fit as a manifest has it; `numbered`: there are several releases."""
    warning = fit_warning(fit, numbered=numbered)
    return {
        "warning": None if warning is None else " ".join(warning),
        "chi_square": fit.chi_square,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "chance": fit.chance,
        "largest_residual_chance": fit.largest_chance,
        "not_checked": fit.unread,
        "largest_residuals": [_without(asdict(one), numbered) for one in fit.largest],
        "by_query": [_without(asdict(one), numbered) for one in fit.by_query],
    }


def _without(row: dict[str, object], numbered: bool) -> dict[str, object]:
    return {key: value for key, value in row.items() if numbered or key != "release"}


def fit_warning(fit: Fit, *, numbered: bool) -> list[str] | None:
    """Return the sentences of the warning, or None if chance explains the residuals."""
    if not fit.warning:
        return None
    wrong = [one for one in fit.by_query if one.finding]
    high = "too large" in (fit.finding, fit.largest_finding, *(one.finding for one in wrong))
    low = "too small" in (fit.finding, *(one.finding for one in wrong))
    numbers = _on(fit.chi_square, fit.degrees_of_freedom)
    said = []
    if high:
        said.append(
            f"THE MEASUREMENTS CONTRADICT EACH OTHER by more than their noise explains: {numbers}. A "
            "variance is larger than stated, an area or an exact count is wrong, or they do not describe the "
            "same people. Do not trust the standard deviations and intervals."
        )
    if low:
        said.append(
            f"THE MEASUREMENTS AGREE BETTER THAN THEIR NOISE ALLOWS: {numbers}. A variance is smaller than "
            "stated, or the numbers were made to agree. Do not trust the standard deviations and intervals."
        )
    said += [_about(one, numbered) for one in wrong[:MOST_NAMED]]
    if len(wrong) > MOST_NAMED:
        said.append(f"So are {len(wrong) - MOST_NAMED} more.")
    if fit.largest_finding:
        one = fit.largest[0]
        said.append(
            f"Farthest from its estimate: {brief(one.measured)} was measured where {one.estimate:.1f} is "
            f"estimated, {abs(one.standardised):.1f} standard deviations away (area {one.unit}, query "
            f"{one.query}, cell {one.cell})."
        )
    return said


MOST_NAMED = 5
"""The most queries that a warning names."""


def _about(one: QueryFit, numbered: bool) -> str:
    of = f" of release {one.release}" if numbered else ""
    return (
        f"Query {one.query} at {one.level}{of}: {_on(one.chi_square, one.degrees_of_freedom)}, {one.finding}."
    )


def _on(chi_square: float, degrees: float) -> str:
    return f"chi-square {chi_square:,.0f} on {degrees:,.1f} degrees of freedom"
