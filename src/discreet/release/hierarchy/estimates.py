"""Measurements of the same people put together: one tree where they agree, else cell by cell.

Where attributes and areas of releases agree, their information adds up in one tree. Where they do not, each
is estimated by itself, and each number is the mean of theirs, weighted by inverse variances: unbiased, with
the smallest variance of any such mean, but not additive.

`estimate`: best estimates with intervals, areas, contrasts, changes and whole-number tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes
from discreet.budget.level_names import find_level
from discreet.errors import InputError
from discreet.estimation.estimates import (
    Estimates,
    Measurements,
    Moments,
    NoisySource,
    Rows,
    SharedWork,
    Union,
    UnitEstimates,
    inverse_variance_weights,
)
from discreet.estimation.intervals import (
    FAR,
    Noises,
    close_ends,
    count_ends,
    mixed_noises,
)
from discreet.estimation.laws import Errors, Terms
from discreet.estimation.model import as_written
from discreet.estimation.tables import WholeTables
from discreet.estimation.tree import Floats, Integers, Tree
from discreet.faces import Summarised
from discreet.files import FilePath
from discreet.numbers import brief, fraction
from discreet.options import Estimating, asked_with
from discreet.release.commit import free, staging
from discreet.release.hierarchy.layout import Layout, units_of
from discreet.release.hierarchy.measurements import Exact, Laws, Published, read_any, with_zeros
from discreet.release.ledger import NOT_PRIVATE
from discreet.release.tables import (
    ArrowArray,
    Columns,
    Folder,
    arrow,
    chunks,
    output_format,
    strings,
)
from discreet.tables import Numbers, read_table

# -- joint estimates ---------------------------------------------------------------------------------------

FoundUnits = Sequence[tuple[UnitEstimates, NDArray[np.bool_]] | None]
Found = Sequence[tuple[UnitEstimates | Union, NDArray[np.bool_]] | None]
"""The estimates of some units, or of a union of them, in each group, and which of them the group has."""

Chances = Sequence[tuple[str, float]]
"""Levels of intervals, each with the ending of its columns."""

TOGETHER = "best linear unbiased, all queries and levels together"
APART = "best linear unbiased, each query by itself: the release states no attributes"
SEPARATE = (
    "each release by itself, then cell by cell the mean weighted by inverse variances: unbiased, NOT "
    "ADDITIVE, because the releases differ in attributes or areas"
)


def name_of_query(query: str) -> str:
    """Return the name of a query such as "one race = cenrace[...]"."""
    return query.partition("=")[0].strip()


@dataclass(frozen=True)
class Group:
    """Releases that measure one tree: their attributes, and the estimates from all of them together."""

    tree: Tree
    attributes: Attributes | None
    labels: Mapping[str, ArrowArray]
    estimates: Estimates

    def names(self, query: str) -> ArrowArray:
        """Return the names of the cells of a query, as it is written."""
        if self.attributes is None:
            self.estimates.model.projection(query)
            return self.labels[query]
        return strings(list(self.attributes.tabulation(query, sums=True).labels))

    def turned(self, query: str, rows: Numbers) -> Numbers:
        """Turn rows of cells into the order in which the query is written."""
        return rows if self.attributes is None else as_written(self.attributes, query, rows)

    def answers(self, query: str) -> bool:
        """Whether the query can be answered at all."""
        try:
            self.estimates.model.projection(query)
        except InputError:
            return False
        return True


@dataclass(frozen=True)
class _Moved:
    """A source whose units are some of a larger tree's, in the same order."""

    source: NoisySource
    place: Integers
    laws: Laws
    cells: Mapping[str, int]
    in_order: bool

    def read(self, units: slice) -> Iterator[tuple[str, Integers, Numbers]]:
        first, last = np.searchsorted(self.place, [units.start, units.stop])
        if last > first:
            for query, who, rows in self.source.read(slice(int(first), int(last))):
                yield query, self.place[who], rows


class JointEstimates:
    """The estimates of one or several groups of releases, unit by unit and cell by cell.

    Where there are several groups, each is estimated by itself, and the estimate is the mean of theirs, cell
    by cell, weighted by inverse variances.
    """

    def __init__(self, groups: Sequence[Group], left_out: Sequence[str] = ()) -> None:
        self.groups = tuple(groups)
        self.left_out = tuple(left_out)
        tree = groups[0].tree
        names = [one.tree.names for one in groups]
        if len(groups) > 1:
            # units of all groups, those of the first one first; there is no tree that they share
            pa = arrow()
            every = pa.chunked_array(names).unique()
            index = [
                arrow("compute").index_in(every, value_set=one).fill_null(-1).to_numpy() for one in names
            ]
            levels = tuple(dict.fromkeys(level for one in groups for level in one.tree.levels))
            level = np.zeros(len(every), dtype=np.int64)
            for group, at in reversed(list(zip(groups, index, strict=True))):
                code = np.array([levels.index(name) for name in group.tree.levels])
                level[at >= 0] = code[group.tree.kind[at[at >= 0]]]
            tree = Tree(np.full(len(every), -1), level, (0,), levels, every)
            self.index = [at.astype(np.int64) for at in index]
        else:
            self.index = [np.arange(tree.size)]
        self.tree = tree

    @classmethod
    def of(
        cls, given: Sequence[Published], streamed: bool | None = None, workers: SharedWork | None = None
    ) -> JointEstimates:
        """Join the releases that agree in attributes and areas, and estimate each group."""
        joined: list[list[Published]] = []
        for one in given:
            for some in joined:
                if _agree(some, one):
                    some.append(one)
                    break
            else:
                joined.append([one])
        left = [text for one in given for text in one.left_out]
        return cls([_group(some, streamed, workers) for some in joined], left)

    @property
    def kind(self) -> str:
        """What the estimates are."""
        if len(self.groups) > 1:
            return SEPARATE
        return APART if self.groups[0].attributes is None else TOGETHER

    def queries(self, named: Sequence[str]) -> tuple[str, ...]:
        """Check the queries that are wanted; without any, those that were measured."""
        own = [query for one in self.groups for query in one.estimates.model.queries]
        for query in dict.fromkeys(named or own):
            able = [group for group in self.groups if group.answers(query)]
            if not able:
                self.groups[0].estimates.model.projection(query)  # says what is wrong
            if any(name_of_query(other) == name_of_query(query) for other in named if other != query):
                raise InputError(
                    f"two queries are called {name_of_query(query)!r}; give them different names"
                )
            names = [group.names(query) for group in able]
            if any(not one.equals(names[0]) for one in names):
                raise InputError(
                    f"the releases have different cells for query {query!r}, so they cannot be combined; "
                    "name the queries you want"
                )
        return tuple(dict.fromkeys(named or own))

    def names(self, query: str) -> ArrowArray:
        """Return the names of the cells of a query."""
        return next(group.names(query) for group in self.groups if group.answers(query))

    def layout(self, tree: Tree, queries: Sequence[str]) -> Layout:
        """Return where the cells of queries of some units or areas stand."""
        cells = {name_of_query(query): self.names(query) for query in queries}
        return Layout.same(tree, cells)

    def units_down_to(self, level: str | None) -> int:
        """Return how many units are written: all, or those down to a level."""
        tree = self.tree
        if level is None:
            return tree.size
        if len(self.groups) > 1:
            raise InputError("down_to is for releases that share a tree")
        level = find_level(level, [one for name in tree.levels for one in name.split("+")]) or level
        wanted = [place for place, name in enumerate(tree.levels) if level in name.split("+")]
        if not wanted:
            raise InputError(f"down_to names level {level!r}; the areas have {', '.join(tree.levels)}")
        last = int(np.flatnonzero(np.isin(tree.kind, wanted))[-1])
        return int(next(part.stop for part in tree.depths if part.start <= last < part.stop))

    def at(self, units: Integers) -> FoundUnits:
        """Return the estimates of some units in each group, and which of the units the group has."""
        found: list[tuple[UnitEstimates, NDArray[np.bool_]] | None] = []
        for group, index in zip(self.groups, self.index, strict=True):
            there = index[units] >= 0
            found.append((group.estimates.at(index[units][there]), there) if there.any() else None)
        return found

    def numbers(
        self, parts: FoundUnits, units: int, query: str, chances: Chances
    ) -> tuple[Floats, Floats, list[Floats]]:
        """Return estimates, standard deviations and half-widths of a query in some units."""
        if len(self.groups) == 1:
            assert parts[0] is not None
            part, turn = parts[0][0], self.groups[0].turned
            widths = [turn(query, part.widths(query, level)) for _, level in chances]
            return turn(query, part.values(query)), turn(query, part.deviations(query)), widths
        shape = len(self.groups), units, len(self.names(query))
        values, sizes, codes = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, -1)
        for place, (group, got) in enumerate(zip(self.groups, parts, strict=True)):
            if got is None or not group.answers(query):
                continue
            (part, there), projection = got, group.estimates.model.projection(query)
            values[place, there] = group.turned(query, part.values(query))
            sizes[place, there] = group.turned(query, part.deviations(query)) ** 2
            node = group.estimates.node[part.units][:, None]
            codes[place, there] = group.turned(
                query, projection.classes[None] + len(projection.class_sizes) * node
            )
        codes[np.isnan(sizes)] = -1
        weights, variance = inverse_variance_weights(sizes)
        estimate = np.nansum(weights * values, axis=0)
        lost = np.isnan(variance)
        estimate[lost] = np.nan
        # cells with the same law in every group have the same width
        flat_codes = codes.reshape(len(self.groups), -1)
        distinct, first, of = np.unique(flat_codes, axis=1, return_index=True, return_inverse=True)
        parts_of = []
        for place, group in enumerate(self.groups):
            rows = np.flatnonzero(distinct[place] >= 0)
            if rows.size:
                terms = group.estimates.view.terms(query)
                scale = weights[place].ravel()[first[rows]]
                parts_of.append(terms.picked(distinct[place, rows], rows, scale))
        flat = np.nan_to_num(variance.ravel()[first])
        errors = Errors(flat, [Terms.together(parts_of)], FAR * np.sqrt(flat))
        widths = [errors.half_widths(level)[of.ravel()].reshape(variance.shape) for _, level in chances]
        return estimate, np.sqrt(variance), [np.where(lost, np.nan, width) for width in widths]

    def union(self, members: Integers) -> Found:
        """Return a union of units in each group that has all of them."""
        found: list[tuple[Union, NDArray[np.bool_]] | None] = []
        for group, index in zip(self.groups, self.index, strict=True):
            units = index[members]
            whole = bool(np.all(units >= 0))
            found.append((group.estimates.union(units), np.ones(1, dtype=bool)) if whole else None)
        if all(one is None for one in found):
            raise InputError("an area is made of areas of several releases that differ; none has all of them")
        return found

    def area_widths(self, unions: Sequence[Found], query: str, variances: Floats, level: float) -> Floats:
        """Return half-widths of a query in unions."""
        rows = []
        for area in unions:
            moments = self.moments(area, query, area, query) if len(self.groups) > 1 else None
            if moments is not None:
                rows.append(moments.widths(np.zeros_like(moments.a), level))
            elif area[0] is not None:
                rows.append(self.groups[0].turned(query, area[0][0].widths(query, level)))
        return np.concatenate(rows)

    def moments(self, one: Found, query: str, two: Found, its: str) -> Moments:
        """Return estimates of a query in units or a union, and of another query there or in another union."""
        got: list[list[Floats]] = []
        noises: list[Noises] = []
        for group, here, there in zip(self.groups, one, two, strict=True):
            if here is None or there is None or not (group.answers(query) and group.answers(its)):
                continue
            (a, mask), (b, _) = here, there
            turn = group.turned
            rows = [turn(query, a.values(query)), turn(its, b.values(its))]
            rows += [turn(query, a.variances(query)), turn(its, b.variances(its))]
            if isinstance(a, Union) and isinstance(b, Union):
                rows.append(a.covariances(query, b, its))
                mine, of = a.shared(query, b, its)
            else:  # both are the same units
                assert isinstance(a, UnitEstimates)
                rows.append(a.covariances(query, its))
                mine, of = a.shared(query, its)
            wide = [np.full((len(mask), row.shape[1]), np.nan) for row in rows]
            for block, row in zip(wide, rows, strict=True):
                block[mask] = row
            got.append(wide)
            every = np.full((len(mask), rows[0].shape[1]), -1)
            every[mask] = of
            noises.append((mine, every))
        if not got:  # no release tells it
            units = next(len(found[1]) for found in one if found is not None)
            x, y = (np.full((units, len(self.names(name))), np.nan) for name in (query, its))
            return Moments(x, y, x, y, x)
        if len(got) == 1:
            x, y, vx, vy, covariance = got[0]
            return Moments(x, y, vx, vy, covariance, noises[0])
        x, y, vx, vy, covariance = (np.stack(rows) for rows in zip(*got, strict=True))
        wx, vx = inverse_variance_weights(vx)
        wy, vy = inverse_variance_weights(vy)
        both = np.nansum(wx * wy * covariance, axis=0)
        # a sum of nothing is no estimate
        x = np.where(np.isnan(vx), np.nan, np.nansum(wx * x, axis=0))
        y = np.where(np.isnan(vy), np.nan, np.nansum(wy * y, axis=0))
        return Moments(x, y, vx, vy, both, mixed_noises(noises, wx, wy))


def _agree(some: Sequence[Published], one: Published) -> bool:
    """Whether a release fits into the tree and the attributes of others."""
    largest = max((each.tree for each in some), key=lambda tree: tree.size)
    if any(each.attributes is None for each in [*some, one]):
        return False
    try:
        _attributes([*some, one])
    except InputError:
        return False
    small, large = sorted([one.tree, largest], key=lambda tree: tree.size)
    return _inside(small, large) is not None


def _inside(small: Tree, large: Tree) -> Integers | None:
    """Return the places of a tree's units in a larger tree, or None if they do not have the same parents."""
    found = arrow("compute").index_in(small.names, value_set=large.names).fill_null(-1).to_numpy()
    place = np.append(found, -1).astype(np.int64)
    if (place[:-1] < 0).any() or (np.diff(place[:-1]) <= 0).any():
        return None
    if not np.array_equal(large.parent[place[:-1]], place[small.parent]):
        return None
    return place[:-1]


def _attributes(given: Sequence[Published]) -> Attributes | None:
    """Return attributes that all of the releases are about, with the recodes of all."""
    first = given[0].attributes
    if first is None:
        return None
    recodes = dict(first.recodes)
    for other in given[1:]:
        if other.attributes is None or (other.attributes.values, other.attributes.impossible) != (
            first.values,
            first.impossible,
        ):
            raise InputError("the releases have different attributes")
        for name, recode in other.attributes.recodes:
            if recodes.setdefault(name, recode) != recode:
                raise InputError(f"the releases have different recodes {name!r}")
    zeros = [{name: list(values) for name, values in one} for one in first.impossible]
    return Attributes({name: list(values) for name, values in first.values}, recodes, zeros)


def _group(given: Sequence[Published], streamed: bool | None, workers: SharedWork | None) -> Group:
    """Put releases into one tree, and estimate from all of them together."""
    tree = max((one.tree for one in given), key=lambda tree: tree.size)
    attributes = _attributes(given)
    kind, sources = np.zeros(tree.size, dtype=np.int64), []
    exact: Exact = {}
    placed = []
    for one in given:
        place = _inside(one.tree, tree)
        assert place is not None
        level = np.full(tree.size, len(one.source.laws), dtype=np.int64)
        level[place] = one.kind
        kind = kind * (len(one.source.laws) + 1) + level
        placed.append((one, place, level))
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    for one, place, level in placed:
        source, laws = one.source, [*one.source.laws, {}]
        own = [laws[level[unit]] for unit in first.tolist()]
        sources.append(_Moved(source, place, own, source.cells, source.in_order))
        for query, (who, rows) in one.exact.items():
            exact[query] = _join_exact(query, exact.get(query), (place[who], rows))
    blocks = {query: block for one in given for query, block in one.blocks.items()}
    measured = Measurements(replace(tree, kind=kind.ravel()), tuple(sources), exact, blocks)
    labels = {query: names for one in given for query, names in one.labels.items()}
    held = None if streamed is None else not streamed
    found = Estimates(attributes, measured, held=held, workers=workers)
    return Group(tree, attributes, labels, found)


def _join_exact(query: str, one: Rows | None, two: Rows) -> Rows:
    if one is None:
        return two
    both, first, second = np.intersect1d(one[0], two[0], return_indices=True)
    if both.size and not np.array_equal(one[1][first], two[1][second]):
        raise InputError(f"the releases hold different counts of query {query!r} exact")
    new = ~np.isin(two[0], one[0])
    units, rows = np.concatenate([one[0], two[0][new]]), np.concatenate([one[1], two[1][new]])
    order = np.argsort(units)
    return units[order], rows[order]


# -- estimates that are written ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimated(Summarised):
    """What a run of `estimate` wrote."""

    out: Path
    units: int
    queries: tuple[str, ...]
    cells: int
    undetermined: int
    together: bool
    additive: bool
    releases: int
    files: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """What the input had that was not used."""


@asked_with(Estimating)
def estimate(asked: Estimating) -> Estimated:
    """Estimate every query in every unit from all measurements together, and write it to a new directory.

    `noisy` is a directory that `measure` wrote, a noisy table, or a directory of noisy measurements as the
    Census Bureau publishes them (then `release` says what the queries mean, and `within` the unit whose part
    of the tree is wanted). Several are measurements of the same people: of one tree, if their attributes and
    areas agree; else each is estimated by itself, and means weighted by inverse variances are taken.
    `queries` are others than those that were measured. `areas` (area, unit) are unions of units;
    `differences` and `ratios` are pairs of areas or units, or of queries. `since` is an earlier release of
    the same tables, of which changes are given. `levels` are those of the intervals. `down_to` is the lowest
    level that is written. `tables` adds whole numbers, not negative and consistent over levels, and over
    queries if the release states attributes. `zeros` (unit, and columns of attributes) are values that some
    units cannot have. `for_spreadsheets` is as in `measure`. What is large is streamed, or if `streamed` says
    so. The `engine` is "local" or "spark", on a cluster if `spark_master`
    names one: then families of the lowest units are worked on by its processes. Nothing is spent.
    """
    chances, release = [_level(level) for level in asked.levels], asked.release
    sources = [asked.noisy] if isinstance(asked.noisy, str | os.PathLike) else list(asked.noisy)
    if not sources:
        raise InputError("there is nothing to estimate from: name the output of `measure`")
    free(asked.out)
    with _workers(asked.engine, asked.spark_master) as cluster:
        lean = asked.streamed if cluster is None else True
        known = (release, asked.units, asked.invariants, asked.within, asked.streamed)
        given = [read_any(Path(one), *known) for one in sources]
        if asked.zeros is not None:
            given = [with_zeros(one, asked.zeros) for one in given]
        found, earlier = JointEstimates.of(given, lean, cluster), None
        if asked.since is not None:
            given.append(read_any(Path(asked.since), release, None, None, asked.within, asked.streamed))
            earlier = JointEstimates.of(given[-1:], lean, cluster)
        _check_distinct([*sources, *([] if asked.since is None else [asked.since])], given)
        wanted = found.queries(asked.queries)
        found.units_down_to(asked.down_to)
        unions = {} if asked.areas is None else _areas(asked.areas, found)
        contrasts = _contrasts(asked.differences, asked.ratios, unions, wanted, found)
        kind = output_format(asked.format, given[0].format, for_spreadsheets=asked.for_spreadsheets)
        with staging(asked.out) as stage:
            mark = f"{NOT_PRIVATE}: made from a rehearsal" if any(one.marked for one in given) else None
            folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=asked.for_spreadsheets)
            done = write_estimates(
                folder, found, wanted, chances, asked.down_to, tables=asked.tables, cluster=cluster
            )
            if len(found.groups) == 1:
                folder.units(found.tree)
            if unions:
                folder.cells("areas", _of_areas(found, unions, wanted, chances))
            if contrasts:
                folder.cells(
                    "contrasts", *_contrast_blocks(found, contrasts, unions, wanted, chances, done.tree)
                )
            if earlier is not None:
                folder.cells("changes", _changes(found, earlier, done.tree, asked.queries, wanted, chances))
            origins = [one.origin for one in given]
            folder.json(
                "manifest",
                {
                    "format": "discreet estimates 2",
                    "version": version("discreet"),
                    "source": origins[0] if len(given) == 1 else origins,
                    "estimates": found.kind,
                    "additive": len(found.groups) == 1,
                    "queries": list(wanted),
                    "levels": [str(level) for level in asked.levels],
                    "units": done.tree.size,
                    "cells": done.cells,
                    "not_determined": done.lost,
                    "intervals_with_nothing_left": done.moved,
                    "columns": done.columns,
                    **({"contrasts": CONTRASTS} if contrasts or earlier is not None else {}),
                    **({"left_out": list(found.left_out)} if found.left_out else {}),
                },
            )
            stage.commit()
    return Estimated(
        Path(asked.out),
        done.tree.size,
        wanted,
        done.cells,
        done.lost,
        all(group.attributes is not None for group in found.groups),
        len(found.groups) == 1,
        len(sources),
        tuple(folder.names),
        found.left_out,
    )


def _check_distinct(paths: Sequence[FilePath], given: Sequence[Published]) -> None:
    """Refuse measurements that are given twice: their noise is one, so their errors are not independent."""
    seen: dict[object, FilePath] = {}
    for path, one in zip(paths, given, strict=True):
        mark = one.origin.get("sha256", os.path.realpath(path))
        if mark in seen:
            raise InputError(
                f"{path} holds the same measurements as {seen[mark]}; the same noise tells nothing more, "
                "and no change: leave one out"
            )
        seen[mark] = path


CONTRASTS = {
    "difference": "interval: as that of a count, not rounded and not cut at zero",
    "ratio": "interval: Fieller's, the ratios r that the error of numerator - r denominator allows; empty: "
    "the denominator is not clearly different from zero. sd: by the delta method",
    "errors": "law of the sum of all noises, to the safe side; in large tables a Gaussian's half-width, and "
    "half of the largest weight of a noise",
}


def _workers(engine: str, spark_master: str | None) -> AbstractContextManager[SharedWork | None]:
    """Open what shares the work: nothing for "local", a session of Spark for "spark"."""
    if engine == "spark":
        from discreet.release.engine.spark import cluster

        return cluster(spark_master)
    if engine != "local":
        raise InputError(f"engine is {engine!r}; it must be local or spark")
    if spark_master is not None:
        raise InputError("--spark-master is given, but the engine is local; give --engine spark too")
    return nullcontext()


def _level(level: str | Fraction) -> tuple[str, float]:
    size = fraction(level, name="level")
    if not Fraction(1, 2) <= size < 1:
        raise InputError(f"level is {level}; the level of an interval lies between 0.5 and 1, such as 0.95")
    return brief(100 * size).replace(".", "_"), float(size)


LEVELS: Chances = (("90", 0.9), ("95", 0.95))


@dataclass
class Written:
    """A table of estimates that was written: how many are not determined, or have an interval left empty."""

    tree: Tree
    cells: int
    columns: dict[str, str]
    """What each column is."""
    lost: int = 0
    moved: int = 0


def write_estimates(
    folder: Folder,
    found: JointEstimates,
    queries: Sequence[str] | None = None,
    chances: Chances = LEVELS,
    down_to: str | None = None,
    *,
    tables: bool = False,
    cluster: SharedWork | None = None,
) -> Written:
    """Write the estimates of queries in all units, or those down to a level, with intervals."""
    wanted = found.queries(()) if queries is None else queries
    if tables and len(found.groups) > 1:
        raise InputError(
            "whole-number tables add up; estimates of releases that differ do not: leave them out"
        )
    whole = WholeTables(found.groups[0].estimates) if tables else None
    tree = found.tree.first(found.units_down_to(down_to))
    layout = found.layout(tree, wanted)
    together = found.groups[0].attributes is not None
    written = Written(tree, layout.size, _meanings(chances, tables, together))

    def columns(part: slice) -> dict[str, Numbers]:
        units = np.arange(part.start, part.stop)
        parts = found.at(units)
        made = []
        for query in wanted:
            table, moved = _with_ends(*found.numbers(parts, len(units), query, chances), chances)
            if whole is not None:
                table["table"] = found.groups[0].turned(query, whole.rows(query, units))
            made.append({**table, "moved": moved})
        return _side_by_side(made)

    parts = [units for units, _ in chunks(layout)]
    made = map(columns, parts) if cluster is None else cluster.map(columns, parts)

    def counted(_units: slice, _rows: slice) -> dict[str, Numbers]:
        table = dict(next(made))
        written.lost += int(np.isnan(table["estimate"]).sum())
        written.moved += int(table.pop("moved").sum())
        if whole is not None:
            table["table"] = np.ma.masked_less(table["table"], 0)
        return table

    folder.cells("estimates", (layout, counted))
    return written


def _with_ends(
    values: Floats, deviations: Floats, widths: Sequence[Floats], chances: Chances
) -> tuple[dict[str, Numbers], Numbers]:
    """Return the columns of estimates of counts with their intervals, and where nothing was left of one."""
    lost = np.isnan(values)
    table: dict[str, Numbers] = {"estimate": values, "sd": deviations}
    moved = np.zeros(values.shape, dtype=np.int8)
    for (name, _), width in zip(chances, widths, strict=True):
        ends = count_ends(values, width)
        moved |= ends.moved & ~lost
        table[f"lower{name}"] = np.where(lost, np.nan, ends.lower)
        table[f"upper{name}"] = np.where(lost, np.nan, ends.upper)
    return table, moved


def _side_by_side(tables: Sequence[Mapping[str, Numbers]]) -> dict[str, Numbers]:
    """Put the columns of several queries after each other, unit by unit."""
    return {name: np.concatenate([one[name] for one in tables], axis=1).ravel() for name in tables[0]}


def _meanings(chances: Chances, tables: bool, together: bool) -> dict[str, str]:
    found = {
        "estimate": "best linear unbiased estimate; empty: no measurement determines it",
        "sd": "its standard deviation",
    }
    for name, level in chances:
        found[f"lower{name}"] = f"lower end of the {brief(100 * level)} % interval: whole, not negative"
        found[f"upper{name}"] = "upper end; if the interval would be empty, both ends are the nearest count"
    if tables:
        over = "over queries and levels" if together else "over levels, each query by itself"
        found["table"] = f"whole, not negative, consistent {over}; not unbiased"
    return found


def _flat(names: Sequence[str], level: str) -> Tree:
    """Return areas as a tree of one level, in the order given."""
    many = len(names)
    return Tree(np.full(many, -1), np.zeros(many, np.int64), (0,), (level,), strings(list(names)))


def _areas(path: FilePath, found: JointEstimates) -> dict[str, Found]:
    """Read unions of units: area, unit."""
    table = read_table(path, words=["area", "unit"], of="areas")
    unit, area = units_of(table, found.tree), table.words["area"]
    table.problems.stop()
    names = enumerate(area.values.to_pylist())
    return {name: found.union(unit[area.codes == code]) for code, name in names}


def _of_areas(
    found: JointEstimates, unions: Mapping[str, Found], queries: Sequence[str], chances: Chances
) -> tuple[Layout, dict[str, Numbers]]:
    """Return the layout and columns of the estimates of unions of units."""
    tables = []
    for query in queries:
        got = [found.moments(one, query, one, query) for one in unions.values()]
        values, variances = (
            np.concatenate(rows) for rows in zip(*((m.a, m.var_a) for m in got), strict=True)
        )
        widths = [found.area_widths(list(unions.values()), query, variances, level) for _, level in chances]
        tables.append(_with_ends(values, np.sqrt(variances), widths, chances)[0])
    return found.layout(_flat(list(unions), "area"), queries), _side_by_side(tables)


@dataclass(frozen=True)
class _Contrast:
    """A difference or ratio of two areas (in all queries), or of two queries (in all units)."""

    kind: str
    one: str
    two: str
    areas: tuple[Found, Found] | None

    @property
    def name(self) -> str:
        one, two = (self.one, self.two) if self.areas else (name_of_query(self.one), name_of_query(self.two))
        return f"{one} {'-' if self.kind == 'difference' else '/'} {two}"


def _contrasts(
    differences: Sequence[tuple[str, str]],
    ratios: Sequence[tuple[str, str]],
    unions: Mapping[str, Found],
    wanted: Sequence[str],
    found: JointEstimates,
) -> list[_Contrast]:
    pairs = [*(("difference", pair) for pair in differences), *(("ratio", pair) for pair in ratios)]
    names = found.tree.names.to_pylist() if pairs else []
    queries = {name_of_query(query): query for query in wanted}

    def area(name: str) -> Found | None:
        if name in unions or name not in names:
            return unions.get(name)
        return found.union(np.array([names.index(name)]))

    contrasts = []
    for kind, pair in pairs:
        one, two = (area(name) for name in pair)
        if one is not None and two is not None:
            if not any(here and there for here, there in zip(one, two, strict=True)):
                raise InputError(f"{pair[0]!r} and {pair[1]!r} are of releases that differ; none has both")
            contrasts.append(_Contrast(kind, *pair, (one, two)))
            continue
        first, second = (queries.get(name_of_query(name)) for name in pair)
        if first is None or second is None:
            some = one is not None or two is not None
            sides = zip(pair, (one, two), (first, second), strict=True)
            bad = next(name for name, area, query in sides if area is None and (some or query is None))
            raise InputError(
                f"{bad!r} is not an area, so there is nothing to compare; queries can be "
                f"compared if they are among those that are wanted ({', '.join(queries)})"
            )
        cells = [len(found.names(query)) for query in (first, second)]
        if cells[1] not in (1, cells[0]):
            raise InputError(
                f"query {pair[0]!r} has {cells[0]} cells and {pair[1]!r} {cells[1]}; cells are compared one "
                "by one, or all of them with a single one"
            )
        contrasts.append(_Contrast(kind, first, second, None))
    return contrasts


def _compared(kind: str, found: Moments, chances: Chances, places: int) -> dict[str, Numbers]:
    """Return the columns of a difference or ratio in some of so many `places`."""
    if kind == "difference":
        values, one = found.a - found.b, np.ones_like(found.a)
        columns = {"estimate": values, "sd": np.sqrt(found.variances(one))}
        for name, level in chances:
            width = found.widths(one, level)
            columns[f"lower{name}"], columns[f"upper{name}"] = close_ends(values, width)
        return columns
    b = np.where(np.abs(found.b) < 1e-9, 0.0, found.b)  # an exact zero, but for rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(b != 0, found.a / b, np.nan)
        columns = {"estimate": values, "sd": np.sqrt(found.variances(values)) / np.abs(b)}
    for name, level in chances:
        columns[f"lower{name}"], columns[f"upper{name}"] = found.ratio_ends(b, values, level, places)
    return columns


def _beside(
    queries: Iterable[Sequence[tuple[str, Moments]]], chances: Chances, places: int
) -> dict[str, Numbers]:
    """Return the columns of differences and ratios: those of one query one below the other."""
    tables = []
    for some in queries:
        made = [_compared(kind, moments, chances, places) for kind, moments in some]
        tables.append({name: np.concatenate([one[name] for one in made]) for name in made[0]})
    return _side_by_side(tables)


def _contrast_blocks(
    found: JointEstimates,
    contrasts: Sequence[_Contrast],
    unions: Mapping[str, Found],
    queries: Sequence[str],
    chances: Chances,
    tree: Tree,
) -> Iterator[tuple[Layout, dict[str, Numbers] | Columns]]:
    """Yield contrasts of areas, query by query, then contrasts of queries, unit by unit and area by area."""
    moments = found.moments
    of_areas = [(one, *one.areas) for one in contrasts if one.areas is not None]
    if of_areas:
        flat = _flat([one.name for one, _, _ in of_areas], "contrast")
        got = ([(one.kind, moments(a, query, b, query)) for one, a, b in of_areas] for query in queries)
        yield found.layout(flat, queries), _beside(got, chances, len(of_areas))
    of_queries = [one for one in contrasts if one.areas is None]
    if not of_queries:
        return
    cells = {one.name: found.names(one.one) for one in of_queries}

    def of(places: int, *some: Found) -> dict[str, Numbers]:
        got = ([(one.kind, moments(at, one.one, at, one.two)) for at in some] for one in of_queries)
        return _beside(got, chances, places)

    every = Layout.same(tree, cells)
    yield every, lambda units, _: of(tree.size, found.at(np.arange(units.start, units.stop)))
    if unions:
        yield Layout.same(_flat(list(unions), "area"), cells), of(len(unions), *unions.values())


def _changes(
    now: JointEstimates,
    before: JointEstimates,
    tree: Tree,
    named: Sequence[str],
    wanted: Sequence[str],
    chances: Chances,
) -> tuple[Layout, Columns]:
    """Return the layout and columns of changes: difference and ratio of each cell now and before."""
    place = arrow("compute").index_in(tree.names, value_set=before.tree.names).fill_null(-1).to_numpy()
    shared = np.flatnonzero(place >= 0)
    if not shared.size:
        raise InputError("no area of the earlier release is among the areas, so there is no change to give")
    queries = []
    for query in wanted:
        able = any(group.answers(query) for group in before.groups)
        if able and now.names(query).equals(before.names(query)):
            queries.append(query)
        elif named:
            reason = "has other cells in" if able else "cannot be answered by"
            raise InputError(f"query {query!r} {reason} the earlier release, so there is no change to give")
    if not queries:
        raise InputError("no query is the same in the earlier release, so there is no change to give")
    names = tree.names.take(arrow().array(shared))
    some = Tree(np.full(shared.size, -1), tree.kind[shared], (0,), tree.levels, names)

    def columns(units: slice, _: slice) -> dict[str, Numbers]:
        here = shared[units]
        there = place[here].astype(np.int64)
        parts = now.at(here), before.at(there)
        tables = []
        for query in queries:
            one, two = (
                found.moments(part, query, part, query)
                for found, part in zip((now, before), parts, strict=True)
            )
            table = {"now": one.a, "before": two.a}
            both = Moments.change(one, two)
            for kind, prefix in (("difference", ""), ("ratio", "ratio_")):
                columns = _compared(kind, both, chances, shared.size)
                table[kind] = columns.pop("estimate")
                table |= {f"{prefix}{name}": one for name, one in columns.items()}
            tables.append(table)
        return _side_by_side(tables)

    return now.layout(some, queries), columns
