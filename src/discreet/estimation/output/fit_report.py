"""The fit of measurements as it is reported: residuals by the names of areas and cells, and the warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from discreet.estimation.fit import Fit, NamedResiduals, Residuals, fit_of
from discreet.estimation.input.joint_estimates import Group, JointEstimates
from discreet.estimation.model import as_written


def found_fit(parts: Sequence[tuple[JointEstimates, Sequence[Residuals]]]) -> Fit:
    """Judge the residuals of releases, those that are estimated together and those that are not."""
    return fit_of([_named(group, pair) for part, some in parts for group, pair in _pairs(part, some)])


def _pairs(joint_estimates: JointEstimates, some: Sequence[Residuals]) -> list[tuple[Group, Residuals]]:
    return list(zip(joint_estimates.groups, some, strict=True))


def _named(group: Group, residuals: Residuals) -> NamedResiduals:
    def unit(number: int) -> str:
        return str(group.tree.names[number].as_py())

    def cell(query: str, number: int) -> str:
        names = group.names(query)
        if group.attributes is not None:  # they stand as the query is written
            order = as_written(group.attributes, query, np.arange(len(names))[None])[0]
            number = int(np.flatnonzero(order == number)[0])
        return str(names[number].as_py())

    def step(query: str) -> float:
        return float(group.adds_up(query)[0])

    return NamedResiduals(residuals, group.tree.levels, unit, cell, group.releases, step)


def fit_record(fit: Fit, *, numbered: bool) -> dict[str, object]:
    """Return the fit as a manifest has it; `numbered`: there are several releases."""
    return {
        "warning": "; ".join(fit_warnings(fit)) or None,
        "chi_square": fit.chi_square,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "chance": fit.chance,
        "largest_residual_chance": fit.largest_chance,
        "not_checked": fit.unread,
        "checked": fit.checked.document(),
        "largest_residuals": [_without(asdict(residual), numbered) for residual in fit.largest],
        "by_query": [_without(asdict(query_fit), numbered) for query_fit in fit.by_query],
    }


def _without(row: dict[str, object], numbered: bool) -> dict[str, object]:
    return {key: value for key, value in row.items() if numbered or key != "release"}


def fit_warnings(fit: Fit) -> tuple[str, ...]:
    """Return what is wrong with the measurements; nothing if chance explains the residuals."""
    findings = {fit.finding, fit.largest_finding, *(query_fit.finding for query_fit in fit.by_query)}
    return tuple(text for finding, text in WARNINGS.items() if finding in findings)


WARNINGS = {
    "too large": "THE MEASUREMENTS CONTRADICT EACH OTHER by more than their noise explains",
    "too small": "THE MEASUREMENTS AGREE BETTER THAN THEIR NOISE ALLOWS",
}
