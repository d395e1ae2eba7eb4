"""The table of estimates as it is written: every query in every unit, with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import Folder, chunks
from discreet.areas.tree import Floats, Integers, Tree
from discreet.errors import InputError
from discreet.estimation.estimates import SharedWork
from discreet.estimation.fit import Residuals
from discreet.estimation.input.bounds import cut_ends
from discreet.estimation.input.joint_estimates import Chances, Found, JointEstimates, JointMeasurements
from discreet.estimation.input.sampling import SamplingErrors
from discreet.estimation.intervals import count_ends
from discreet.estimation.output.part_tables import Progress
from discreet.estimation.output.redrawing import Redrawing
from discreet.estimation.whole.replicates import TableErrors
from discreet.estimation.whole.tables import Settle, WholeTables, settle_here
from discreet.numbers import brief
from discreet.tables import Numbers

_LEVELS: Chances = (("90", 0.9), ("95", 0.95))


@dataclass
class Written:
    """A table of estimates that was written: how many are not determined, or have an interval left empty."""

    tree: Tree
    cells: int
    columns: dict[str, str]
    """What each column is."""
    lost: int = 0
    moved: int = 0
    cut: int = 0
    """Estimates with an interval cut to bounds."""
    outside: int = 0
    """Whole numbers outside their bounds."""
    whole: WholeTables | None = None
    """The whole numbers, if they were asked for."""
    errors: TableErrors | None = None
    """The errors of the whole numbers, if they were made again."""


def write_estimates(
    folder: Folder,
    joint_estimates: JointEstimates,
    queries: Sequence[str] | None = None,
    chances: Chances = _LEVELS,
    down_to: str | None = None,
    *,
    tables: bool = False,
    settle: Settle = settle_here,
    cluster: SharedWork | None = None,
    residuals: Sequence[Residuals] = (),
    sampling: SamplingErrors | None = None,
    redrawing: Redrawing | None = None,
    progress: Progress | None = None,
) -> Written:
    """Write the estimates of queries in all units, or those down to a level, with intervals. Residuals of
    units that are read for this are added to `residuals`, one for each group. `settle` says where the work on
    whole-number tables is done; with `redrawing` they are made again from noise drawn anew, which gives their
    errors and perhaps their intervals. `progress` is told of units done, of how many."""
    wanted = joint_estimates.queries(()) if queries is None else queries
    if tables:
        check_one_tree(joint_estimates)
    whole = joint_estimates.groups[0].whole_tables(settle) if tables else None
    tree = joint_estimates.tree.first(joint_estimates.units_down_to(down_to))
    layout = joint_estimates.layout(tree, wanted)
    together = joint_estimates.groups[0].attributes is not None
    counts, error = joint_estimates.counts, kind_of_error(joint_estimates, sampling)
    in_units = any(joint_estimates.step(query) != 1 for query in wanted)
    said = _meanings(chances, tables, together, error=error, in_units=in_units, counts=counts)
    errors = None
    if whole is not None and redrawing is not None:
        errors = redrawing.errors(joint_estimates.groups[0], whole, wanted)
        if redrawing.intervals:
            said |= redrawing.meanings(chances)
    written = Written(tree, layout.size, said, whole=whole, errors=errors)

    def columns(part: slice) -> dict[str, Numbers]:
        units = np.arange(part.start, part.stop)
        mine = [residual.empty() for residual in residuals]
        parts = joint_estimates.at(units, mine)
        made = []
        for query in wanted:
            if sampling is None:
                numbers = joint_estimates.numbers(parts, len(units), query, chances)
                table, moved = with_ends(*numbers, chances, counts, counts)
            else:
                table, moved = with_sampling(joint_estimates, parts, query, sampling, chances)
            # intervals with sampling errors are about a population, which has no such bounds
            bounds = joint_estimates.bounds(query, units) if sampling is None else None
            none = np.zeros(moved.shape, dtype=np.int64)
            cut = none if bounds is None else cut_ends(table, [name for name, _ in chances], *bounds)
            made.append({**table, "moved": moved, "cut": cut})
        added = {f"residuals {number}": residual.packed() for number, residual in enumerate(mine)}
        return {**joined_columns(made), **added}

    parts = [units for units, _ in chunks(layout)]
    made = map(columns, parts) if cluster is None else cluster.map(columns, parts)

    edges = np.cumsum([0, *(len(joint_estimates.names(query)) for query in wanted)]).tolist()

    def finished(units: Integers, query: str, table: dict[str, Numbers]) -> dict[str, Numbers]:
        """Add the whole numbers of some units, which are kept here, and return what all columns are worth."""
        if whole is not None:
            numbers = joint_estimates.groups[0].turned(query, whole.rows(query, units))
            bounds = joint_estimates.bounds(query, units) if sampling is None else None
            if bounds is not None:
                beyond = (numbers < bounds[0]) | (numbers > bounds[1])
                written.outside += int(((numbers >= 0) & beyond).sum())
            table["table"] = numbers
            if errors is not None and redrawing is not None and redrawing.intervals:
                kind = joint_estimates.groups[0].estimates.given.tree.kind[units]
                redrawing.add_ends(table, errors, kind, query, chances)
        return in_real_numbers(table, joint_estimates.step(query))

    def counted(part: slice, _rows: slice) -> dict[str, Numbers]:
        table = dict(next(made))
        for number, residual in enumerate(residuals):
            residual.unpack(np.asarray(table.pop(f"residuals {number}"), dtype=np.float64))
        written.lost += int(np.isnan(table["estimate"]).sum())
        written.moved += int(table.pop("moved").sum())
        written.cut += int(table.pop("cut").sum())
        units = np.arange(part.start, part.stop)
        if whole is not None or in_units:
            wide = {name: column.reshape(len(units), -1) for name, column in table.items()}
            table = joined_columns(
                [
                    finished(units, query, {name: rows[:, first:last] for name, rows in wide.items()})
                    for query, (first, last) in zip(wanted, pairwise(edges), strict=True)
                ]
            )
        if whole is not None:
            table["table"] = np.ma.masked_less(table["table"], 0)
        table = {name: _digits_that_hold(column) for name, column in table.items()}
        if progress is not None:
            progress("estimates", part.stop, tree.size)
        return table

    folder.cells("estimates", (layout, counted))
    return written


_DIGITS = 12
"""Those of a float that rounding errors of the solution leave alone."""


def _digits_that_hold(column: Numbers) -> Numbers:
    """Return floats with twelve digits; whole numbers are as they are.

    >>> _digits_that_hold(np.array([1034.123456789012, -1 / 3, 0.0, np.nan])).tolist()
    [1034.12345679, -0.333333333333, 0.0, nan]
    """
    if np.ma.isMaskedArray(column) or column.dtype.kind != "f":
        return column
    with np.errstate(divide="ignore", invalid="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(column)))
    places = np.where(np.isfinite(places), np.clip(places, -_DIGITS, 300), 0)
    made = column.copy()
    for many in np.unique(places).astype(int).tolist():
        here = places == many
        made[here] = np.round(column[here], many)
    return made


def check_one_tree(joint_measurements: JointMeasurements) -> None:
    """Refuse whole numbers of releases that do not share a tree and attributes."""
    if len(joint_measurements.groups) > 1:
        raise InputError(
            "whole-number tables add up; estimates of releases that differ do not: leave them out"
        )


def write_tables(
    folder: Folder,
    joint_measurements: JointMeasurements,
    whole: WholeTables,
    queries: Sequence[str],
    down_to: str | None = None,
    *,
    progress: Progress | None = None,
) -> Written:
    """Write the whole numbers of queries alone, in all units or those down to a level."""
    tree, group = (
        joint_measurements.tree.first(joint_measurements.units_down_to(down_to)),
        joint_measurements.groups[0],
    )
    layout = joint_measurements.layout(tree, queries)
    in_units = any(joint_measurements.step(query) != 1 for query in queries)
    every = _meanings((), True, group.attributes is not None, in_units=in_units)
    written = Written(tree, layout.size, {"table": every["table"]}, whole=whole)

    def columns(part: slice, _rows: slice) -> dict[str, Numbers]:
        units = np.arange(part.start, part.stop)
        made = []
        for query in queries:
            numbers = group.turned(query, whole.rows(query, units))
            bounds = joint_measurements.bounds(query, units)
            if bounds is not None:
                beyond = (numbers < bounds[0]) | (numbers > bounds[1])
                written.outside += int(((numbers >= 0) & beyond).sum())
            written.lost += int((numbers < 0).sum())
            made.append(in_real_numbers({"table": numbers}, joint_measurements.step(query)))
        if progress is not None:
            progress("writing", part.stop, tree.size)
        return {"table": np.ma.masked_less(joined_columns(made)["table"], 0)}

    folder.cells(TABLES, (layout, columns))
    return written


TABLES = "tables"
"""The table of whole numbers that are written without estimates."""


def with_ends(
    values: Floats,
    deviations: Floats,
    widths: Sequence[Floats],
    chances: Chances,
    whole: NDArray[np.bool_] | bool = True,
    positive: NDArray[np.bool_] | bool = True,
) -> tuple[dict[str, Numbers], Numbers]:
    """Return the columns of estimates with their intervals, and where nothing was left of one.

    Ends are rounded inwards where what is estimated is `whole`, and cut at zero where it is `positive`."""
    lost = np.isnan(values)
    table: dict[str, Numbers] = {"estimate": values, "sd": deviations}
    moved = np.zeros(values.shape, dtype=np.int8)
    for (name, _), width in zip(chances, widths, strict=True):
        ends = count_ends(values, width, whole, positive)
        moved |= ends.moved & ~lost
        table[f"lower{name}"] = np.where(lost, np.nan, ends.lower)
        table[f"upper{name}"] = np.where(lost, np.nan, ends.upper)
    return table, moved


def with_sampling(
    joint_estimates: JointEstimates, position: Found, query: str, sampling: SamplingErrors, chances: Chances
) -> tuple[dict[str, Numbers], Numbers]:
    """Return the columns of estimates in units or a union whose errors are of noise and sampling."""
    noise, sampled = (
        joint_estimates.moments(position, query, position, query),
        sampling.pair(position, query, position, query),
    )
    both = sampled.added(noise)
    none = np.zeros_like(noise.a)
    widths = [sampled.added(noise, level).widths(none, level) for _, level in chances]
    table, moved = with_ends(
        noise.a, np.sqrt(both.var_a), widths, chances, joint_estimates.counts, joint_estimates.counts
    )
    parts = {"noise_sd": np.sqrt(noise.var_a), "sampling_sd": np.sqrt(sampled.var_a)}
    ends = {name: column for name, column in table.items() if name not in ("estimate", "sd")}
    return {"estimate": table["estimate"], "sd": table["sd"], **parts, **ends}, moved


def in_real_numbers(table: Mapping[str, Numbers], step: Fraction) -> dict[str, Numbers]:
    """Return columns of units as what they are worth; whole numbers of whole units stay whole."""
    if step == 1:
        return dict(table)
    up, down = step.numerator, step.denominator
    return {name: values * up if down == 1 else values * up / down for name, values in table.items()}


def joined_columns(tables: Sequence[Mapping[str, Numbers]]) -> dict[str, Numbers]:
    """Put the columns of several queries after each other, unit by unit."""
    return {name: np.concatenate([table[name] for table in tables], axis=1).ravel() for name in tables[0]}


_NOISE_ONLY = "noise only"
WITH_SAMPLING = "noise and sampling"
_AS_GIVEN = "errors as given"


def kind_of_error(joint_measurements: JointMeasurements, sampling: SamplingErrors | None) -> str:
    """Say what intervals allow for: of a table that no release describes, whatever its errors are."""
    return (
        WITH_SAMPLING if sampling is not None else _AS_GIVEN if joint_measurements.as_given else _NOISE_ONLY
    )


def _meanings(
    chances: Chances,
    tables: bool,
    together: bool,
    *,
    error: str = _NOISE_ONLY,
    in_units: bool = False,
    counts: bool = True,
) -> dict[str, str]:
    """Say what each column of a table of estimates is, and what its intervals allow for."""
    whole = "whole" if not in_units else "a whole number of the units of what is summed"
    texts = {
        "estimate": "best linear unbiased estimate; empty: no measurement determines it",
        "sd": f"its standard deviation, {error}",
    }
    if error == WITH_SAMPLING:
        texts |= {
            "noise_sd": "the part of the noise in sd",
            "sampling_sd": "the part of sampling in sd, as it was given",
        }
    for name, level in chances:
        lower, upper = f"lower end of the {brief(100 * level)} % interval ({error})", "upper end"
        if counts:
            lower += f": {whole}, not negative"
            upper += "; if the interval would be empty, both ends are the nearest count"
        texts[f"lower{name}"], texts[f"upper{name}"] = lower, upper
    if tables:
        over = "over queries and levels" if together else "over levels, each query by itself"
        texts["table"] = f"{whole}, not negative, consistent {over}; not unbiased"
    return texts
