"""Sampling error beside noise: variances of a sample's estimates, given in a table or by replicates.

What was measured may itself be a sample's estimate of a population. Its error about the population is the
noise and the sampling error, independent of each other given the sample, so that variances add up, and the
law of the noise is convolved with a normal one. The table is in real numbers, and what is read from it in the
units of sums, as estimates are until they are written. It has a row for each area, query and cell, and

- `sampling_variance`, `sampling_sd` or `standard_error`: then areas are taken as independent of each other,
  so that an area not in the table has the sum of those within it; or
- replicate estimates `rep_1`, `rep_2`, ... and a factor: the variance is the factor times the sum of the
  squared deviations from `rep_0`, the whole sample's, or else from their mean. Replicates of other queries
  and areas are sums of those given, so that covariances are known. If the replicates have noise, its part
  is taken off.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
import scipy

from discreet.areas.layout import Layout, positions, units_of
from discreet.areas.output import strings
from discreet.areas.tree import Floats, Integers, Tree
from discreet.errors import InputError
from discreet.estimation.error_laws import normal_quantile
from discreet.estimation.estimates import Estimates, InMemory, Measurements, Moments, Union, UnitEstimates
from discreet.estimation.input.joint_estimates import Found, Group, JointEstimates, name_of_query
from discreet.estimation.input.published import in_memory
from discreet.noise import DiscreteGaussian
from discreet.numbers import fraction
from discreet.tables import ReadTable, TableSource, Words, open_table, read_table

PLAIN = ("sampling_variance", "sampling_sd", "standard_error")
"""Columns that have the sampling error itself, one of them."""
_REPLICATE = re.compile(r"rep_?(\d+)", re.IGNORECASE)
NAME = "the table of sampling errors"
"""What messages call a table in memory."""
_MOST_NUMBERS = 200_000_000
"""Replicate estimates held in memory, of all areas and cells."""


@dataclass(frozen=True)
class SampledPlace:
    """Units, each by itself or all together, as the sampling errors are asked for."""

    units: Integers
    together: bool

    @classmethod
    def of(cls, estimates: Found) -> SampledPlace:
        """Return the units of estimates; there is one group."""
        assert estimates[0] is not None
        part = estimates[0][0]
        if isinstance(part, Union) and not np.all(part.factors == 1):
            raise InputError("sampling errors are for unions of areas, without weights; leave one out")
        return cls(part.units, isinstance(part, Union))


@dataclass(frozen=True)
class SampledPair:
    """Sampling variances of two estimates in each unit and cell, their covariance if it is known, and the
    degrees of freedom of all three."""

    var_a: Floats
    var_b: Floats
    covariance: Floats | None
    freedom: float

    def added(self, noise: Moments, level: float | None = None) -> Moments:
        """Return the moments of noise and sampling together.

        At a level, variances with few degrees of freedom are wider by the square of Student's quantile over
        the normal one.
        """
        wider = 1.0 if level is None else _wider(self.freedom, level)
        if self.covariance is None:
            # the first is taken as a part of the second: their ratio does not depend on the second
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(noise.b != 0, noise.a / noise.b, 0.0) * self.var_b
            fits = np.abs(part) <= np.sqrt(self.var_a * self.var_b)
            covariance = np.where(fits, part, 0.0)
        else:
            covariance = self.covariance
        return replace(
            noise,
            var_a=noise.var_a + wider * self.var_a,
            var_b=noise.var_b + wider * self.var_b,
            covariance=noise.covariance + wider * covariance,
        )


class SamplingErrors(Protocol):
    """Sampling errors of any query in any units."""

    @property
    def said(self) -> dict[str, object]:
        """What the manifest says of them."""

    @property
    def replicates(self) -> int:
        """How many replicates there are; 0: variances are given."""

    @property
    def replicate_factor(self) -> Fraction:
        """What squared deviations of replicates are multiplied by."""

    def deviations(self, where: SampledPlace, query: str) -> Floats:
        """Return the deviations of the replicates: replicate, unit, cell."""

    def pair(self, first: Found, query: str, second: Found, its: str) -> SampledPair:
        """Return the sampling errors of a query in units or a union, and of another there or elsewhere."""


def read_sampling(
    source: TableSource,
    joint_estimates: JointEstimates,
    wanted: Sequence[str],
    factor: str | Fraction | None = None,
    noise: str | Fraction | None = None,
) -> SamplingErrors:
    """Read the sampling errors of the estimates of one tree: variances, or replicates with their factor.

    Queries of the table are written as such, or are names of those that are wanted.
    """
    if len(joint_estimates.groups) > 1:
        raise InputError("sampling errors are for releases that share a tree; these differ in their areas")
    path = source if isinstance(source, str | os.PathLike) else NAME
    names = open_table(source, wanted=["unit", "query", "cell"]).names
    plain = [name for name in names if name.lower() in PLAIN]
    numbers = {int(match[1]): name for name in names if (match := _REPLICATE.fullmatch(name))}
    replicates = [name for number, name in sorted(numbers.items()) if number > 0]
    if len(plain) + bool(replicates) != 1:
        raise InputError(
            f"{path} has {'both' if plain and replicates else len(plain) or 'no'} columns of sampling "
            f"errors; one of {', '.join(PLAIN)} is needed, or replicate estimates rep_1, rep_2, ..."
        )
    if plain and (factor is not None or noise is not None):
        raise InputError(f"a replicate factor or noise is given, but {path} has no replicate estimates")
    if plain:
        table = read_table(
            source,
            words=["unit"],
            optional=["query", "cell"],
            floats=plain,
            name=NAME,
            of="sampling errors",
        )
        return _plain(_named(table, joint_estimates, wanted), plain[0], joint_estimates)
    if len(replicates) < 2:
        raise InputError(f"{path} has 1 replicate estimate; at least 2 are needed")
    if factor is None:
        raise InputError(
            f"{path} has {len(replicates)} replicate estimates; say by what factor their squared deviations "
            "are multiplied (--replicate-factor): 1/R for balanced half-samples, (R-1)/R for the jackknife, "
            "4/R for successive differences"
        )
    whole = [numbers[0]] if 0 in numbers else []
    table = read_table(
        source,
        words=["unit"],
        optional=["query", "cell"],
        floats=[*whole, *replicates],
        name=NAME,
        of="sampling errors",
    )
    table = _named(table, joint_estimates, wanted)
    return _Replicates.of(table, whole, replicates, joint_estimates, _factor(factor), _noise(noise))


def _named(table: ReadTable, joint_estimates: JointEstimates, wanted: Sequence[str]) -> ReadTable:
    """Return the table with queries as they are written, where it has their names. Without columns of them it
    has one query and one cell, as a noisy table without them."""
    once = np.zeros(table.rows, dtype=np.int32)
    made_up = {"query": Words(once, strings(["total"])), "cell": Words(once, strings(["all"]))}
    table = replace(table, words={**made_up, **table.words})
    known = {name_of_query(query): query for query in wanted}
    words = table.words["query"]
    queries = [
        word if joint_estimates.groups[0].answers(word) else known.get(word, word)
        for word in words.values.to_pylist()
    ]
    return replace(table, words={**table.words, "query": replace(words, values=strings(queries))})


def sampling_columns(table: TableSource) -> list[str]:
    """Return the columns of a noisy table that have sampling errors."""
    return [name for name in open_table(table).names if name.lower() in PLAIN]


def _factor(given: str | Fraction) -> Fraction:
    size = fraction(given, name="replicate factor")
    if size <= 0:
        raise InputError(f"the replicate factor is {given}; it must be above zero")
    return size


def _noise(given: str | Fraction | None) -> Fraction | None:
    size = None if given is None else fraction(given, name="replicate noise")
    if size is not None and size <= 0:
        raise InputError(f"the replicate noise is {given}; a variance above zero is needed")
    return size


def _wider(freedom: float, level: float) -> float:
    if not np.isfinite(freedom):
        return 1.0
    return float(scipy.special.stdtrit(freedom, (1 + level) / 2) / normal_quantile(level)) ** 2


def _finite(table: ReadTable, columns: Sequence[str], *, least: float | None = None) -> None:
    for name in columns:
        table.problems.rows(~np.isfinite(table.numbers[name]), f"{name} is not a finite number", name)
        if least is not None:
            table.problems.rows(table.numbers[name] < least, f"{name} is below zero", name)


def _missing(query: str, units: Integers, tree: Tree) -> InputError:
    name = tree.names[int(units[0])].as_py()
    return InputError(
        f"there is no sampling error for query {query!r} in {len(units)} areas, such as {name!r}; an "
        "interval is of noise and sampling everywhere, or nowhere: add them, or leave out what has none "
        "(--query, --down-to)"
    )


# -- variances as they are ---------------------------------------------------------------------------------


def _layout(table: ReadTable, joint_estimates: JointEstimates) -> tuple[Layout, Integers, Tree]:
    """Return where the cells of a table stand, the position of its rows, and the tree with kinds by which
    queries it has of a unit; all cells of a query, or none."""
    tree, group = joint_estimates.tree, joint_estimates.groups[0]
    unit, problems = units_of(table, tree), table.problems
    words = table.words["query"].values.to_pylist()
    able = [query for query in words if group.answers(query)]
    for query in words:
        if query not in able:
            codes = table.words["query"].codes == words.index(query)
            problems.rows(codes, f"query {query!r} cannot be answered by the release", "query")
    problems.stop()
    has = np.zeros((tree.size, len(words)), dtype=bool)
    has[unit, table.words["query"].codes] = True
    _, first, kind = np.unique(
        np.column_stack([has, tree.kind]), axis=0, return_index=True, return_inverse=True
    )
    asked = tuple(tuple(np.array(words)[has[at]].tolist()) for at in first.tolist())
    levels = tuple(tree.levels[tree.kind[at]] for at in first.tolist())
    fine = replace(tree, kind=kind.ravel().astype(np.int64), levels=levels)
    layout = Layout(fine, {query: joint_estimates.names(query) for query in words}, asked, fine.kind)
    position, there = positions(layout, table, unit)
    if not there.all():
        problems.at(f"{np.count_nonzero(~there)} cells are missing: give all cells of a query, or none")
    problems.stop()
    return layout, position, fine


@dataclass(frozen=True)
class _Plain:
    """Variances by query: a row for each unit, with the cells as the query is written; nan: not given."""

    tree: Tree
    by_query: Mapping[str, Floats]
    origin: dict[str, object]
    replicates: int = 0
    replicate_factor: Fraction = Fraction(0)

    def deviations(self, where: SampledPlace, query: str) -> Floats:
        """Return none: there are no replicates."""
        return np.zeros((0, *self._at(query, where).shape))

    @property
    def said(self) -> dict[str, object]:
        return {
            "from": "variances",
            "source": self.origin,
            "assumed": "areas are independent of each other; in the ratio of two tables the first is a part "
            "of the second, and the share does not depend on the second",
        }

    def _at(self, query: str, where: SampledPlace) -> Floats:
        if query not in self.by_query:
            raise _missing(query, where.units, self.tree)
        rows = self.by_query[query][where.units]
        lost = np.flatnonzero(np.isnan(rows).any(axis=1))
        if lost.size:
            raise _missing(query, where.units[lost], self.tree)
        return rows.sum(axis=0, keepdims=True) if where.together else rows

    def pair(self, first: Found, query: str, second: Found, its: str) -> SampledPair:
        here, there = SampledPlace.of(first), SampledPlace.of(second)
        var_a, var_b = self._at(query, here), self._at(its, there)
        if first is second:
            return SampledPair(var_a, var_b, var_a if query == its else None, np.inf)
        shared = self._shared(here.units, there.units)
        covariance = self.by_query[query][shared].sum(axis=0)[None] if shared.size else np.zeros_like(var_a)
        most = np.sqrt(var_a * var_b)
        return SampledPair(var_a, var_b, np.clip(covariance, -most, most), np.inf)

    def _shared(self, first: Integers, second: Integers) -> Integers:
        """Return the units of either that are, or lie within, units of the other: what both contain."""
        shared = []
        for mine, others in ((first, second), (second, first)):
            above = mine.copy()
            inside = np.isin(above, others)
            while np.any(above >= 0):
                above = np.where(above >= 0, self.tree.parent[above], -1)
                inside |= np.isin(above, others) & (above >= 0)
            shared.append(mine[inside])
        return np.unique(np.concatenate(shared))


def _plain(table: ReadTable, column: str, joint_estimates: JointEstimates) -> _Plain:
    _finite(table, [column], least=0.0)
    layout, position, fine = _layout(table, joint_estimates)
    size = np.zeros(layout.size)
    size[position] = table.numbers[column] if column.lower() == PLAIN[0] else table.numbers[column] ** 2
    by_query = {}
    for query, cells in layout.cells.items():
        first = layout.first(query)
        rows = np.full((fine.size, len(cells)), np.nan)
        who = np.flatnonzero(first >= 0)
        rows[who] = (
            size[first[who][:, None] + np.arange(len(cells))] / float(joint_estimates.step(query)) ** 2
        )
        for part in reversed(fine.depths[1:]):  # areas that are not in the table are the sums of their parts
            sums = np.zeros((fine.size, len(cells)))
            np.add.at(sums, fine.parent[part], rows[part])
            open_ = np.unique(fine.parent[part])
            open_ = open_[np.isnan(rows[open_]).all(axis=1)]
            rows[open_] = sums[open_]
        by_query[query] = rows
    return _Plain(joint_estimates.tree, by_query, table.origin("sampling errors"))


# -- replicates ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Replicates:
    """Replicate estimates as tables of their own: any query in any area is a sum of theirs.

    Each replicate is solved as measurements are. They agree with each other, if they have no noise, so that
    the variances stated for them do not matter.
    """

    group: Group
    tree: Tree
    every: tuple[Estimates, ...]
    whole: Estimates | None
    replicate_factor: Fraction
    noise: Fraction | None
    origin: dict[str, object]

    @classmethod
    def of(
        cls,
        table: ReadTable,
        whole: Sequence[str],
        names: Sequence[str],
        joint_estimates: JointEstimates,
        factor: Fraction,
        noise: Fraction | None,
    ) -> _Replicates:
        _finite(table, [*whole, *names])
        layout, position, fine = _layout(table, joint_estimates)
        if layout.size * len(names) > _MOST_NUMBERS:
            raise InputError(
                f"{table.path.name} has {len(names)} replicate estimates of {layout.size} cells, which do "
                "not fit in memory; give sampling variances instead"
            )
        group = joint_estimates.groups[0]
        worth = {query: joint_estimates.step(query) for query in layout.cells}
        size = Fraction(1) if noise is None else noise
        laws = [
            {query: DiscreteGaussian(variance=size / worth[query] ** 2) for query in asked}
            for asked in layout.asked
        ]
        step = np.empty(layout.size)
        for query, cells in layout.cells.items():
            first_cell = layout.first(query)
            step[(first_cell[first_cell >= 0][:, None] + np.arange(len(cells))).ravel()] = float(worth[query])

        def source(name: str) -> InMemory:
            values = np.zeros(layout.size)
            values[position] = table.numbers[name]
            values /= step
            return in_memory(layout, values, laws, group.attributes)  # type: ignore[arg-type]

        first = Estimates(group.attributes, Measurements(fine, (source(names[0]),)), held=True)
        every = [first, *(first.remeasured((source(name),)) for name in names[1:])]
        full = first.remeasured((source(whole[0]),)) if whole else None
        return cls(
            group, joint_estimates.tree, tuple(every), full, factor, noise, table.origin("sampling errors")
        )

    @property
    def replicates(self) -> int:
        return len(self.every)

    @property
    def said(self) -> dict[str, object]:
        noise = {} if self.noise is None else {"noise_taken_off": str(self.noise)}
        about = "mean" if self.whole is None else "rep_0"
        return {
            "from": f"{len(self.every)} replicates",
            "source": self.origin,
            "factor": str(self.replicate_factor),
            "deviations_from": about,
            "degrees_of_freedom": len(self.every) - 1,
            **noise,
        }

    def deviations(self, where: SampledPlace, query: str) -> Floats:
        """Return the replicate estimates less what they deviate from: replicate, unit, cell."""
        if not self.every[0].model.attributes and query not in self.every[0].model.queries:
            raise _missing(query, where.units, self.tree)

        def one(estimates: Estimates) -> Floats:
            rows = estimates.at(where.units).values(query)
            return self.group.turned(query, rows.sum(axis=0, keepdims=True) if where.together else rows)

        values = np.stack([one(estimates) for estimates in self.every])
        lost = np.flatnonzero(np.isnan(values[0]).any(axis=1))
        if lost.size:
            units = where.units if where.together else where.units[lost]
            raise _missing(query, units, self.tree)
        middle = values.mean(axis=0) if self.whole is None else one(self.whole)
        return np.asarray(values - middle)

    def pair(self, first: Found, query: str, second: Found, its: str) -> SampledPair:
        here, there = SampledPlace.of(first), SampledPlace.of(second)
        a, b = self.deviations(here, query), self.deviations(there, its)
        factor = float(self.replicate_factor)
        var_a, var_b, both = (factor * np.sum(x * y, axis=0) for x, y in ((a, a), (b, b), (a, b)))
        if self.noise is not None:
            off = self._noise(here, query, there, its)
            var_a, var_b = np.maximum(var_a - off[0], 0.0), np.maximum(var_b - off[1], 0.0)
            most = np.sqrt(var_a * var_b)
            both = np.clip(both - off[2], -most, most)
        return SampledPair(var_a, var_b, both, len(self.every) - 1)

    def _noise(
        self, here: SampledPlace, query: str, there: SampledPlace, its: str
    ) -> tuple[Floats, Floats, Floats]:
        """Return what the noise of replicates adds on average to variances and covariances."""
        first, many = self.every[0], len(self.every)
        times = float(self.replicate_factor) * (many - 1 if self.whole is None else 2 * many)
        turn = self.group.turned
        if here.together:
            a, b = first.union(here.units), first.union(there.units)
            both = a.covariances(query, b, its)
            sizes = turn(query, a.variances(query)), turn(its, b.variances(its))
        else:
            units: UnitEstimates = first.at(here.units)
            both = units.covariances(query, its)
            sizes = turn(query, units.variances(query)), turn(its, units.variances(its))
        return times * sizes[0], times * sizes[1], times * both
