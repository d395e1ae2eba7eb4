"""Which groups to publish as totals only, from an earlier count that is public.

A group spends a part of its budget (gamma) on a first noisy total that picks its table. One that is far too
small for any table by sex and age pays for a choice that is none: marked total-only (DETAILED_ONLY), it
spends everything on its total. In return it is published for the nation and the states alone. Who is small is
not known before the run. An earlier count may tell, if it is public or was already paid for: the list of
groups depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import MARK, MARKED
from discreet.census.mechanism.adaptive import Mechanism
from discreet.census.mechanism.configuration import Configuration, Place
from discreet.census.mechanism.groups import Iteration, Specification
from discreet.census.mechanism.margins import margin_of_error, variance_of
from discreet.census.mechanism.released import read_columns
from discreet.census.mechanism.tabulation import AdaptiveTabulation
from discreet.census.mechanism.writer import T1_COLUMNS
from discreet.census.safetab.account import mechanisms
from discreet.errors import InputError
from discreet.faces import Displayed
from discreet.numbers import Exact, fraction
from discreet.questions import Option

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalOnlyGroup:
    """A group that would hardly ever get more than a total.

    `largest` is its largest earlier count in the nation and the states, `chance` that all of those get a
    total only. Below the states it had `below` earlier counts; `kept` of those would be published again, on
    average, and none if the group is total-only.
    """

    group: Iteration
    largest: int
    chance: float
    below: int
    kept: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalOnlyGain:
    """The noise of a total at one geography and level: now, and of a total-only group."""

    place: Place
    variance: float
    variance_total_only: float
    margin: int
    margin_total_only: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalOnlyGroups(Displayed):
    """The groups that could be total-only, of how many, and what it gains."""

    file: str
    sure: Fraction
    groups: tuple[TotalOnlyGroup, ...]
    judged: int
    unknown: int
    gains: tuple[TotalOnlyGain, ...]
    notes: tuple[str, ...]
    tabulation: AdaptiveTabulation


@dataclass(frozen=True, slots=True)
class _Earlier:
    """The rows of an earlier count whose groups are known: where, which iteration, and how many people.

    `high` is what the count is at most, by the margin of error that is published with it.
    """

    geography: NDArray[np.str_]
    iteration: Ints
    count: Ints
    high: Ints
    notes: tuple[str, ...]


def total_only_groups(
    configuration: Configuration,
    specification: Specification,
    earlier: Annotated[
        str | os.PathLike[str],
        Option(
            "An earlier public count like t1: lists groups that could get a total only.",
            "FILE",
            reads=Path | None,
        ),
    ],
    *,
    sure: Exact = "0.95",
) -> TotalOnlyGroups:
    """Return the groups that would get a total only, in the nation and in all states of all passes.

    `earlier` is a table such as `t1`: REGION_ID, REGION_TYPE, ITERATION_CODE and COUNT. A count is taken for
    the size of the group next time; with a margin of error (MOE95), the upper end is. A group is listed if,
    with a chance of at least `sure`, the first stage gives it a total only in all of these regions.
    """
    limit = fraction(sure, name="sure")
    if not 0 < limit < 1:
        raise InputError(f"sure is {limit}; it must be above 0 and below 1")
    earlier_counts, tabulation = _read(Path(earlier), specification), configuration.tabulation
    passes = [mechanisms(configuration, specification, which) for which in configuration.passes]
    parts = [mechanism for own in passes for mechanism in own if mechanism.stage_one is not None]
    above = [mechanism for mechanism in parts if not tabulation.is_below(mechanism.geography)]
    if not above:
        raise InputError(f"no groups of {tabulation.above} have a budget, so none could be total-only")
    top = _highest(passes, above, tabulation.levels)
    tally = _tally(parts, earlier_counts, specification, tabulation, top)
    judged = [
        (index, iteration)
        for index, iteration in enumerate(specification.iterations)
        if top.get(iteration.level) and not (iteration.total_only or iteration.coarse_only)
    ]
    groups = [
        TotalOnlyGroup(
            group=iteration,
            largest=int(tally.largest[index]),
            chance=exp(tally.logs[index]),
            below=int(tally.below[index]),
            kept=float(tally.kept[index]),
        )
        for index, iteration in judged
        if tally.known[index] == len(top[iteration.level]) and exp(tally.logs[index]) >= limit
    ]
    return TotalOnlyGroups(
        file=Path(earlier).name,
        sure=limit,
        # first those that lose nothing below the states
        groups=tuple(sorted(groups, key=lambda listed: (listed.kept, listed.largest, listed.group.code))),
        judged=len(judged),
        unknown=sum(int(tally.known[index]) < len(top[iteration.level]) for index, iteration in judged),
        gains=tuple(map(_gain, above)),
        notes=earlier_counts.notes,
        tabulation=tabulation,
    )


def _highest(
    passes: Sequence[Sequence[Mechanism]], above: Sequence[Mechanism], levels: Iterable[int]
) -> dict[int, set[str]]:
    """Return for each level the highest geography of each pass that has it.

    It bounds the others: without its count a group is not judged.
    """
    return {
        level: {
            next(mechanism.geography for mechanism in own if mechanism.level == level)
            for own in passes
            if any(mechanism in above and mechanism.level == level for mechanism in own)
        }
        for level in levels
    }


@dataclass(frozen=True, slots=True)
class _Tally:
    """For each iteration, over all regions: the log of the chance that it gets totals only, its largest
    count, in how many highest geographies it has one, and its groups below, and how many of them are kept."""

    logs: Floats
    largest: Ints
    known: Ints
    below: Ints
    kept: Floats


def _tally(
    parts: Sequence[Mechanism],
    earlier_counts: _Earlier,
    specification: Specification,
    tabulation: AdaptiveTabulation,
    top: Mapping[int, set[str]],
) -> _Tally:
    """Go through the earlier counts, geography by geography and level by level."""
    many = len(specification.iterations)
    logs, largest, known = np.zeros(many), np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
    below, kept = np.zeros(many, dtype=np.int64), np.zeros(many)
    levels = np.array([iteration.level for iteration in specification.iterations])
    for mechanism in parts:
        here = np.flatnonzero(
            (earlier_counts.geography == mechanism.geography)
            & (levels[earlier_counts.iteration] == mechanism.level)
        )
        group, count = earlier_counts.iteration[here], earlier_counts.count[here]
        if tabulation.is_below(mechanism.geography):
            below += np.bincount(group, minlength=many)
            kept += np.bincount(group, _kept(mechanism, count), many)
            continue
        with np.errstate(divide="ignore"):
            logs += np.bincount(group, np.log(_only_totals(mechanism, earlier_counts.high[here])), many)
        np.maximum.at(largest, group, count)
        known[group] += mechanism.geography in top[mechanism.level]
    return _Tally(logs, largest, known, below, kept)


def _gain(mechanism: Mechanism) -> TotalOnlyGain:
    """Return what a total-only group gains at one geography and level."""
    return TotalOnlyGain(
        place=mechanism.place,
        variance=float(variance_of(mechanism.stage_two)),
        variance_total_only=float(variance_of(mechanism.total_only)),
        margin=margin_of_error(mechanism.stage_two),
        margin_total_only=margin_of_error(mechanism.total_only),
    )


def _only_totals(mechanism: Mechanism, size: Ints) -> Floats:
    """Return the chance that groups of these sizes get a total only."""
    assert mechanism.stage_one is not None
    return np.asarray(mechanism.stage_one.cdf(mechanism.thresholds[0] - 1 - size), dtype=np.float64)


def _kept(mechanism: Mechanism, size: Ints) -> Floats:
    """Return the chance that groups of these sizes are published."""
    if mechanism.suppression is None:
        return np.ones(size.size)
    assert mechanism.stage_two is not None
    small = np.asarray(mechanism.stage_two.cdf(mechanism.suppression - size), dtype=np.float64)
    kept: Floats = 1 - _only_totals(mechanism, size) * small
    return kept


def _read(path: Path, specification: Specification) -> _Earlier:
    if not path.is_file():
        raise InputError(f"there is no file {path}; name a table of earlier counts, such as t1.csv")
    table = read_columns(path, T1_COLUMNS)
    number = {group.code: index for index, group in enumerate(specification.iterations)}
    codes = table.column("ITERATION_CODE").to_pylist()
    iteration = np.array([number.get(code, -1) for code in codes], dtype=np.int64)
    inside = iteration >= 0
    if not inside.any():
        raise InputError(f"{path.name} has no group of this specification (column ITERATION_CODE)")
    count = np.maximum(table.column("COUNT").to_numpy().astype(np.int64), 0)
    high = count
    if "MOE95" in table.column_names:
        high = count + table.column("MOE95").to_numpy().astype(np.int64)
    notes = []
    if not inside.all():
        strange = len({code for code in codes if code not in number})
        notes.append(f"{strange} groups of {path.name} are not in the specification")
    if MARK in table.column_names or MARKED in path.name:
        notes.append(f"{path.name} is NOT PRIVATE: a list made from it tells about its records")
    geography = np.array(table.column("REGION_TYPE").to_pylist(), dtype=str)
    return _Earlier(geography[inside], iteration[inside], count[inside], high[inside], tuple(notes))
