"""Tables to print: areas by cells, with totals and margins of error, from the best estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from discreet.areas.tree import Floats, Integers, Tree
from discreet.budget.scope import Scope
from discreet.budget.variables import BY
from discreet.errors import InputError
from discreet.estimation.estimates import Union
from discreet.estimation.estimating import (
    check_only_tables,
    interval_level,
    read_joined,
    release_names,
    sampling_errors,
)
from discreet.estimation.fit import Fit
from discreet.estimation.input.joint_estimates import Found, JointEstimates, name_of_query
from discreet.estimation.input.sampling import SamplingErrors
from discreet.estimation.intervals import count_ends
from discreet.estimation.linear_algebra import one_algebra_thread
from discreet.estimation.output.estimate_table import WITH_SAMPLING, kind_of_error
from discreet.estimation.output.fit_report import found_fit
from discreet.estimation.output.own_areas import read_areas
from discreet.estimation.output.part_tables import Settling
from discreet.estimation.output.redrawing import Redrawing
from discreet.estimation.questions import Estimating
from discreet.estimation.whole.replicates import TableErrors
from discreet.estimation.whole.tables import WholeTables
from discreet.faces import Summarised

_MOST_CELLS = 2_000_000
"""Numbers of one table; nobody prints more, and a sheet cannot hold more columns."""
_MOST_COLUMNS = 8_000
AT_ONCE = 4096
"""Streamed areas whose residuals are read together."""


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """An area: its name, its level, and how many areas it lies within."""

    name: str
    level: str
    depth: int = 0


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """One query in all areas: whole numbers (nan: not determined) and the margins of error around them.

    A column has a label for each factor of the query; None stands for all values together.
    """

    query: str
    factors: tuple[str, ...]
    columns: tuple[tuple[str | None, ...], ...]
    rows: tuple[PrintedRow, ...]
    values: Floats
    margins: Floats
    adds_up: str = ""
    """The column that is added up; nothing: records are counted."""
    in_fractions: bool = False
    """Whether the number itself need not be whole, because it is a sum of fractions such as quarters."""


@dataclass(frozen=True, slots=True)
class StatedNoise:
    """A law of the noise of counts, or of the sums of a column, and its variance."""

    adds_up: str
    family: str
    variance: float


@dataclass(frozen=True, slots=True)
class PrintedTables(Summarised):
    """Tables to print, and what their footnotes need to say."""

    out: Path
    tables: tuple[PrintedTable, ...]
    level: float
    """How often a count is within its margin of error."""
    margins: str
    """Where margins of error stand: beside, beneath or none."""
    noises: tuple[StatedNoise, ...]
    error: str
    """What margins allow for, as a manifest has it."""
    scope: Scope
    """Which queries, levels and areas of the releases are printed, and what was left out."""
    fit: Fit
    """Whether the measurements contradict each other."""
    whole: bool
    """Whether numbers are consistent whole numbers; else estimates, rounded."""
    additive: bool
    not_private: bool
    numbered: bool = False
    """Whether several releases were read."""
    as_given: bool = False
    """Whether no release states the noise."""
    together: bool = True
    """Whether all queries were estimated together; else each by itself, because no attributes are stated."""
    replicates: int = 0
    """How often whole numbers were made again for their margins; 0: margins are those of the estimates."""

    @property
    def sampled(self) -> bool:
        """Whether margins are of noise and sampling."""
        return self.error == WITH_SAMPLING


@one_algebra_thread()
def printed_tables(asked: Estimating) -> PrintedTables:
    """Return the tables that are to be printed; nothing is written."""
    _check(asked)
    if asked.only_tables:  # the rows may be areas: these are sums of whole numbers
        check_only_tables(replace(asked, areas=None))
        asked = replace(asked, tables=True, margins="none")
    sources = asked.sources
    given, joint_estimates, _ = read_joined(asked, sources, None)
    if not joint_estimates.counts:
        raise InputError("tables to print are of counts, and the values are not: leave --print out")
    wanted = joint_estimates.queries(asked.prints)
    parts = {query: _columns(joint_estimates, query) for query in wanted}
    sampling = sampling_errors(asked, sources, joint_estimates, list(dict.fromkeys(_needed(parts))))
    level = interval_level(asked.levels[-1])[1]
    if asked.tables and len(joint_estimates.groups) > 1:
        raise InputError("whole-number tables add up; estimates of releases that differ do not")
    whole = (
        joint_estimates.groups[0].whole_tables(Settling(asked.jobs, progress=asked.progress))
        if asked.tables
        else None
    )
    redrawing = Redrawing.asked_for(asked, sampled=sampling is not None)
    errors = None
    if whole is not None and redrawing is not None and redrawing.intervals:
        if asked.areas is not None:
            raise InputError(
                "replicates are of the areas of the tree: leave them or the areas out; without replicates "
                "the margins of areas reach as far as the intervals of the estimates"
            )
        errors = redrawing.errors(joint_estimates.groups[0], whole, list(dict.fromkeys(_needed(parts))))
    places = _Places.of(asked, joint_estimates)
    if whole is not None and not places.are_unions:
        raise InputError("whole-number tables cannot be made of areas with weights: leave one out")
    tables = []
    for query in wanted:
        factors, columns, own = parts[query]
        if len(columns) > _MOST_COLUMNS or len(columns) * len(places.rows) > _MOST_CELLS:
            raise InputError(
                f"query {query!r} has {len(columns)} columns in {len(places.rows)} areas, too many to print; "
                "name coarser tables, fewer areas (--areas) or higher levels (--down-to)"
            )
        values, widths = np.empty((2, len(places.rows), len(columns)))
        for part in dict.fromkeys(own):
            at = [number for number, name in enumerate(own) if name == part]
            numbers = _Numbers(joint_estimates, part, level, sampling, whole, errors).of(places)
            order = _order(joint_estimates, part, factors, [columns[number] for number in at])
            values[:, at], widths[:, at] = numbers[0][:, order], numbers[1][:, order]
        step, variable = joint_estimates.adds_up(query)
        added = "" if variable is None else variable.name
        tables.append(
            PrintedTable(query, factors, columns, places.rows, values, widths, added, step.denominator > 1)
        )
    return PrintedTables(
        Path(asked.out or "."),
        tuple(tables),
        level,
        asked.margins,
        tuple(_stated(joint_estimates)),
        kind_of_error(joint_estimates, sampling),
        joint_estimates.scope(
            release_names(sources), wanted, None if asked.areas is not None else places.units
        ),
        _fit(joint_estimates, len(places.units) == joint_estimates.tree.size),
        asked.tables,
        len(joint_estimates.groups) == 1,
        any(published.marked for published in given),
        len(given) > 1,
        joint_estimates.as_given,
        all(group.attributes is not None for group in joint_estimates.groups),
        0 if errors is None else errors.replicates,
    )


def _fit(joint_estimates: JointEstimates, every: bool) -> Fit:
    """Judge the residuals; those of streamed areas only if `every` area is printed."""
    residuals = joint_estimates.residuals()
    for group, residual in zip(joint_estimates.groups, residuals, strict=True):
        rest = np.arange(group.estimates.cut, group.estimates.tree.size) if every else np.zeros(0, np.int64)
        for start in range(0, len(rest), AT_ONCE):
            group.estimates.at(rest[start : start + AT_ONCE], residual)
    return found_fit([(joint_estimates, residuals)])


def _check(asked: Estimating) -> None:
    """Refuse what a printed table does not have."""
    others = {
        "differences": asked.differences,
        "ratios": asked.ratios,
        "since": asked.since,
        "draws": asked.draws,
        "queries": asked.queries,
        "format": asked.format,
        "histogram": asked.histogram,
        "microdata": asked.microdata,
        "resume": asked.resume,
    }
    wrong = [name for name, value in others.items() if value]
    if wrong:
        raise InputError(
            f"{', '.join(wrong)} cannot be printed: use `estimate` without --print, whose output is a "
            "directory"
        )
    if asked.only_tables and asked.margins == "beneath":
        raise InputError("only_tables prints whole numbers without margins of error: leave margins out")
    if asked.engine != "local":
        raise InputError("tables are printed by this machine: leave the engine out")


Parts = tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...], list[str]]
"""Names of factors, columns, and the query that each column is of."""


def _columns(joint_estimates: JointEstimates, query: str) -> Parts:
    """Return the columns of a query with its totals: each factor's values, then all of them together."""
    attributes = joint_estimates.groups[0].attributes
    if attributes is None or len(joint_estimates.groups) > 1:
        cells = joint_estimates.names(query).to_pylist()
        return (name_of_query(query),), tuple((cell,) for cell in cells), [query] * len(cells)
    table = attributes.tabulation(query, sums=True)
    if not table.factors:
        return (), ((),), [query]
    added = attributes.variable_of(query).name
    text = (query.partition("=")[2] if "=" in query else query).strip()
    text = text.removeprefix(added + BY) if added else text
    parts = [part.strip() for part in text.split("*")]
    if len(parts) != len(table.factors):  # "detailed": all attributes
        parts = list(attributes.names)
    # a sum in brackets is one value: nothing to add up
    labels = [[*factor.labels, *([None] if len(factor.labels) > 1 else [])] for factor in table.factors]
    columns = tuple(product(*labels))
    own = []
    for column in columns:
        kept = [part for part, label in zip(parts, column, strict=True) if label is not None]
        split = " * ".join(kept)
        total = " by ".join(part for part in (added, split) if part) or "total"
        own.append(query if len(kept) == len(parts) else total)
    return tuple(part.partition("[")[0].strip() for part in parts), columns, own


def _needed(parts: Mapping[str, Parts]) -> Iterator[str]:
    for _, _, own in parts.values():
        yield from own


def _order(
    joint_estimates: JointEstimates,
    query: str,
    factors: Sequence[str],
    columns: Sequence[tuple[str | None, ...]],
) -> list[int]:
    """Return which cell of a query each column is."""
    names = joint_estimates.names(query).to_pylist()
    if len(names) == 1:
        return [0] * len(columns)
    if len(factors) == 1:
        return [names.index(column[0]) for column in columns]
    return [names.index(" * ".join(label for label in column if label is not None)) for column in columns]


@dataclass(frozen=True)
class _Places:
    """The rows of all tables: units, from the top down and each followed by its own, or areas."""

    rows: tuple[PrintedRow, ...]
    units: Integers
    unions: Mapping[str, Found]

    @property
    def are_unions(self) -> bool:
        """Whether no area is a sum with weights."""
        parts = [part for area in self.unions.values() for part in area if part is not None]
        return all(np.all(part.factors == 1) for part, _ in parts if isinstance(part, Union))

    @classmethod
    def of(cls, asked: Estimating, joint_estimates: JointEstimates) -> _Places:
        if asked.areas is not None:
            unions = read_areas(asked.areas, joint_estimates)
            return cls(tuple(PrintedRow(name, "") for name in unions), np.zeros(0, np.int64), unions)
        tree = joint_estimates.tree
        order, depth = _in_turn(tree, joint_estimates.units_down_to(asked.down_to))
        names, levels = tree.names.to_pylist(), tree.levels
        rows = tuple(
            PrintedRow(names[unit], levels[tree.kind[unit]], deep)
            for unit, deep in zip(order, depth, strict=True)
        )
        return cls(rows, np.array(order, dtype=np.int64), {})


def _in_turn(tree: Tree, many: int) -> tuple[list[int], list[int]]:
    """Return the first `many` units, each followed by those within it, and how deep each is."""
    below: dict[int, list[int]] = {}
    for unit, above in enumerate(tree.parent[:many].tolist()):
        below.setdefault(above, []).append(unit)
    order, depth = [], []
    waiting = [(unit, 0) for unit in reversed(below.get(-1, []))]
    while waiting:
        unit, deep = waiting.pop()
        order.append(unit)
        depth.append(deep)
        waiting += [(child, deep + 1) for child in reversed(below.get(unit, []))]
    return order, depth


@dataclass(frozen=True)
class _Numbers:
    """Whole numbers of one query, and margins: how far the ends of the interval are from the number.

    The interval of a consistent whole number is that of the estimate, which no count below zero is in; with
    `errors`, that of the whole number itself. A rounded estimate has a margin on both sides.
    """

    found: JointEstimates
    query: str
    level: float
    sampling: SamplingErrors | None
    whole: WholeTables | None
    errors: TableErrors | None

    def of(self, places: _Places) -> tuple[Floats, Floats]:
        if places.unions:
            rows = [self._at(area, 1, self._members(area)) for area in places.unions.values()]
            values, margins = zip(*rows, strict=True)
            return np.concatenate(values), np.concatenate(margins)
        units = places.units
        table = None if self.whole is None else self.whole.rows(self.query, units)
        return self._at(self.found.at(units), len(units), table, units)

    def _members(self, area: Found) -> Integers | None:
        if self.whole is None:
            return None
        assert area[0] is not None
        rows = self.whole.rows(self.query, area[0][0].units)
        return np.where((rows < 0).any(axis=0), -1, rows.sum(axis=0))[None]

    def _at(
        self, position: Found, many: int, table: Integers | None, units: Integers | None = None
    ) -> tuple[Floats, Floats]:
        step = float(self.found.step(self.query))
        estimate, deviation, width = self._estimated(position, many)
        if table is None:
            shown = np.rint(step * estimate)
            # rounded to the safe side: the count is within the margin of what is printed
            margin = step * width + np.abs(shown - step * estimate)
        else:
            group = self.found.groups[0]
            whole = group.turned(self.query, table)
            shown = np.where(whole < 0, np.nan, np.rint(step * whole))
            ends = count_ends(estimate, width)
            lower, upper = ends.lower, ends.upper
            if self.errors is not None and units is not None:
                kind = group.estimates.given.tree.kind[units]
                lower, upper = self.errors.ends(
                    kind,
                    self.query,
                    self.level,
                    whole.astype(np.int64),
                    (estimate, deviation),
                    (lower, upper),
                )
            margin = np.maximum(np.abs(step * upper - shown), np.abs(shown - step * lower))
        return shown + 0.0, np.ceil(margin - 1e-7) + 0.0

    def _estimated(self, position: Found, many: int) -> tuple[Floats, Floats, Floats]:
        """Return the estimates, their standard deviations and half-widths."""
        joint_estimates, query, level = self.found, self.query, self.level
        if self.sampling is not None:
            noise = joint_estimates.moments(position, query, position, query)
            both = self.sampling.pair(position, query, position, query).added(noise, level)
            return noise.a, np.sqrt(both.var_a), both.widths(np.zeros_like(noise.a), level)
        if any(estimates is not None and hasattr(estimates[0], "x") for estimates in position):
            values, sizes, widths = joint_estimates.numbers(position, many, query, [("", level)])  # type: ignore[arg-type]
            return values, sizes, widths[0]
        noise = joint_estimates.moments(position, query, position, query)
        return (
            noise.a,
            np.sqrt(noise.var_a),
            joint_estimates.area_widths([position], query, noise.var_a, level),
        )


def _stated(joint_estimates: JointEstimates) -> Iterator[StatedNoise]:
    """Yield the laws of the noise, each once."""
    seen = set()
    for group in joint_estimates.groups:
        given = group.estimates.given
        for query, law in {pair for source in given.sources for laws in source.laws for pair in laws.items()}:
            step, variable = group.adds_up(given.query_of(query))
            size = law.true_variance() * float(step) ** 2
            seen.add(StatedNoise("" if variable is None else variable.name, law.FAMILY, size))
    yield from sorted(
        seen, key=lambda stated_noise: (stated_noise.adds_up, stated_noise.family, stated_noise.variance)
    )
