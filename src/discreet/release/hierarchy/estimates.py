"""`estimate`: best estimates with intervals, areas, contrasts, changes and whole-number tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Release
from discreet.errors import InputError
from discreet.estimation.estimates import (
    gaussian_widths,
    ratio_interval,
)
from discreet.estimation.intervals import count_ends
from discreet.estimation.tree import Floats, Tree
from discreet.numbers import fraction
from discreet.release.commit import free, staging
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.hierarchy.bureau import is_bureau, read_bureau
from discreet.release.hierarchy.cluster import Cluster, workers
from discreet.release.hierarchy.joint import Chances, Found, JointEstimates, Moments, shown, with_zeros
from discreet.release.hierarchy.layout import Layout, units_of
from discreet.release.hierarchy.noisy import Published, read_published
from discreet.release.hierarchy.tables import Folder, chunks, output_format, read_table
from discreet.release.ledger import NOT_PRIVATE


@dataclass(frozen=True, slots=True)
class Estimated:
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

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON shows."""
        return {
            "out": str(self.out),
            "units": self.units,
            "queries": list(self.queries),
            "cells": self.cells,
            "not_determined": self.undetermined,
            "together": self.together,
            "additive": self.additive,
            "releases": self.releases,
            "files": list(self.files),
            "left_out": list(self.left_out),
        }

    def __str__(self) -> str:
        lost = f", {self.undetermined} of them not determined" if self.undetermined else ""
        return f"{self.cells} estimates of {self.units} units{lost}, in {self.out}: {', '.join(self.files)}"


def estimate(
    noisy: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out_dir: str | os.PathLike[str],
    *,
    release: Release | None = None,
    queries: Sequence[str] = (),
    areas: str | os.PathLike[str] | None = None,
    differences: Sequence[tuple[str, str]] = (),
    ratios: Sequence[tuple[str, str]] = (),
    since: str | os.PathLike[str] | None = None,
    levels: Sequence[str | Fraction] = ("0.9", "0.95"),
    down_to: str | None = None,
    within: str | None = None,
    tables: bool = False,
    units: str | os.PathLike[str] | None = None,
    invariants: str | os.PathLike[str] | None = None,
    zeros: str | os.PathLike[str] | None = None,
    format: str | None = None,
    for_spreadsheets: bool = False,
    streamed: bool | None = None,
    engine: str = "local",
    spark_master: str | None = None,
) -> Estimated:
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
    chances = [_level(level) for level in levels]
    sources = [noisy] if isinstance(noisy, str | os.PathLike) else list(noisy)
    if not sources:
        raise InputError("there is nothing to estimate from: name the output of `measure`")
    free(out_dir)
    with workers(engine, spark_master) as cluster:
        lean = streamed if cluster is None else True
        given = [_read(Path(one), release, units, invariants, within, streamed) for one in sources]
        if zeros is not None:
            given = [with_zeros(one, zeros) for one in given]
        found = JointEstimates.of(given, lean, cluster)
        earlier = None
        if since is not None:
            before = _read(Path(since), release, None, None, within, streamed)
            earlier = JointEstimates.of([before], lean, cluster)
            given.append(before)
        wanted = found.queries(queries)
        found.units_down_to(down_to)
        unions = {} if areas is None else _areas(areas, found)
        contrasts = _contrasts(differences, ratios, unions, wanted, found)
        kind = output_format(format, given[0].format, for_spreadsheets=for_spreadsheets)
        with staging(out_dir) as stage:
            mark = f"{NOT_PRIVATE}: made from a rehearsal" if any(one.marked for one in given) else None
            folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=for_spreadsheets)
            done = write_estimates(folder, found, wanted, chances, down_to, tables=tables, cluster=cluster)
            if len(found.groups) == 1:
                folder.units(found.tree)
            if unions:
                folder.cells("areas", *_of_areas(found, unions, wanted, chances))
            if contrasts:
                folder.blocks(
                    "contrasts", list(_contrast_blocks(found, contrasts, unions, wanted, chances, done.tree))
                )
            if earlier is not None:
                folder.cells("changes", *_changes(found, earlier, done.tree, queries, wanted, chances))
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
                    "levels": [str(level) for level in levels],
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
        Path(out_dir),
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


CONTRASTS = {
    "difference": "interval: Gaussian, not cut at zero",
    "ratio": "interval: Fieller's, exact for Gaussian errors; empty: the denominator is not clearly "
    "different from zero. sd: by the delta method",
}


def _read(
    source: Path,
    release: Release | None,
    units: str | os.PathLike[str] | None,
    invariants: str | os.PathLike[str] | None,
    within: str | None,
    streamed: bool | None,
) -> Published:
    if is_bureau(source):
        if release is None:
            raise InputError(
                f"{source} has the layout of the Census Bureau's noisy measurements, which do not say what "
                "their queries mean; name the release (--release), such as pl94-2020"
            )
        return read_bureau(source, release, within=within)
    if within is not None:
        raise InputError("within is for noisy measurements as the Census Bureau publishes them")
    return read_published(source, release=release, units=units, invariants=invariants, streamed=streamed)


def _level(level: str | Fraction) -> tuple[str, float]:
    size = fraction(level, name="level")
    if not Fraction(1, 2) <= size < 1:
        raise InputError(f"level is {level}; the level of an interval lies between 0.5 and 1, such as 0.95")
    return f"{float(100 * size):g}".replace(".", "_"), float(size)


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
    cluster: Cluster | None = None,
) -> Written:
    """Write the estimates of queries in all units, or those down to a level, with intervals."""
    wanted = found.queries(()) if queries is None else queries
    whole = found.whole() if tables else None
    tree = found.tree.first(found.units_down_to(down_to))
    layout = found.layout(tree, wanted)
    together = found.groups[0].attributes is not None
    written = Written(tree, layout.size, _meanings(chances, tables, together))

    def columns(part: slice) -> dict[str, NDArray[Any]]:
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

    def counted(_units: slice, _rows: slice) -> dict[str, NDArray[Any]]:
        table = dict(next(made))
        written.lost += int(np.isnan(table["estimate"]).sum())
        written.moved += int(table.pop("moved").sum())
        if whole is not None:
            table["table"] = np.ma.masked_less(table["table"], 0)
        return table

    folder.cells("estimates", layout, counted)
    return written


def _with_ends(
    values: Floats, deviations: Floats, widths: Sequence[Floats], chances: Chances
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """Return the columns of estimates of counts with their intervals, and where nothing was left of one."""
    lost = np.isnan(values)
    table: dict[str, NDArray[Any]] = {"estimate": values, "sd": deviations}
    moved = np.zeros(values.shape, dtype=np.int8)
    for (name, _), width in zip(chances, widths, strict=True):
        ends = count_ends(values, width)
        moved |= ends.moved & ~lost
        table[f"lower{name}"] = np.where(lost, np.nan, ends.lower)
        table[f"upper{name}"] = np.where(lost, np.nan, ends.upper)
    return table, moved


def _side_by_side(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Put the columns of several queries after each other, unit by unit."""
    return {name: np.concatenate([one[name] for one in tables], axis=1).ravel() for name in tables[0]}


def _rows(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Put rows of cells below each other."""
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}


def _meanings(chances: Chances, tables: bool, together: bool) -> dict[str, str]:
    found = {
        "estimate": "best linear unbiased estimate; empty: no measurement determines it",
        "sd": "its standard deviation",
    }
    for name, level in chances:
        found[f"lower{name}"] = f"lower end of the {100 * level:g} % interval: whole, not negative"
        found[f"upper{name}"] = "upper end; if nothing was left of an interval, both are the nearest count"
    if tables:
        over = "over queries and levels" if together else "over levels, each query by itself"
        found["table"] = f"whole, not negative, consistent {over}; not unbiased"
    return found


def _flat(names: Sequence[str], level: str) -> Tree:
    """Return areas as a tree of one level, in the order given."""
    many = len(names)
    return Tree(np.full(many, -1), np.zeros(many, np.int64), (0,), (level,), strings(list(names)))


def _areas(path: str | os.PathLike[str], found: JointEstimates) -> dict[str, Found]:
    """Read unions of units: area, unit."""
    table = read_table(path, words=["area", "unit"])
    problems = table.problems()
    unit = units_of(table, found.tree, problems)
    problems.stop()
    names = table.words["area"].values.to_pylist()
    codes = table.words["area"].codes
    return {name: found.union(unit[codes == code]) for code, name in enumerate(names)}


def _of_areas(
    found: JointEstimates, unions: Mapping[str, Found], queries: Sequence[str], chances: Chances
) -> tuple[Layout, dict[str, NDArray[Any]]]:
    """Return the layout and columns of the estimates of unions of units."""
    tables = []
    for query in queries:
        got = [found.moments(one, query, one, query) for one in unions.values()]
        values, variances = np.concatenate([one[0] for one in got]), np.concatenate([one[2] for one in got])
        widths = [gaussian_widths(variances, level) for _, level in chances]
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
        return f"{shown(self.one)} {'-' if self.kind == 'difference' else '/'} {shown(self.two)}"


def _contrasts(
    differences: Sequence[tuple[str, str]],
    ratios: Sequence[tuple[str, str]],
    unions: Mapping[str, Found],
    wanted: Sequence[str],
    found: JointEstimates,
) -> list[_Contrast]:
    pairs = [*(("difference", pair) for pair in differences), *(("ratio", pair) for pair in ratios)]
    names = found.tree.names.to_pylist() if pairs else []
    queries = {shown(query): query for query in wanted}

    def area(name: str) -> Found | None:
        if name in unions or name not in names:
            return unions.get(name)
        return found.union(np.array([names.index(name)]))

    contrasts = []
    for kind, pair in pairs:
        one, two = (area(name) for name in pair)
        if one is not None and two is not None:
            contrasts.append(_Contrast(kind, *pair, (one, two)))
            continue
        first, second = (queries.get(shown(name)) for name in pair)
        if first is None or second is None:
            some = one is not None or two is not None
            sides = zip(pair, (one, two), (first, second), strict=True)
            bad = next(name for name, area, query in sides if area is None and (some or query is None))
            raise InputError(
                f"{bad!r} is neither an area nor a unit, so there is nothing to compare; queries can be "
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


def _compared(kind: str, moments: Moments, chances: Chances) -> dict[str, NDArray[Any]]:
    """Return the columns of a difference or ratio."""
    a, b, va, vb, covariance = moments
    b = np.where(np.abs(b) < 1e-9, 0.0, b)  # an exact zero, but for rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == "difference":
            values, variances = a - b, np.maximum(va + vb - 2 * covariance, 0.0)
        else:
            values = np.where(b != 0, a / b, np.nan)
            variances = np.maximum(va - 2 * values * covariance + values**2 * vb, 0.0) / b**2
    columns = {"estimate": values, "sd": np.sqrt(variances)}
    for name, level in chances:
        if kind == "difference":
            width = gaussian_widths(variances, level)
            ends = values - width, values + width
        else:
            ends = ratio_interval(a, b, (va, vb, covariance), level)
        columns[f"lower{name}"], columns[f"upper{name}"] = ends
    return columns


def _contrast_blocks(
    found: JointEstimates,
    contrasts: Sequence[_Contrast],
    unions: Mapping[str, Found],
    queries: Sequence[str],
    chances: Chances,
    tree: Tree,
) -> Iterator[tuple[Layout, Any]]:
    """Yield contrasts of areas, query by query, then contrasts of queries, unit by unit and area by area."""
    of_areas = [(one, one.areas) for one in contrasts if one.areas is not None]
    if of_areas:
        tables = [
            _rows(
                [_compared(one.kind, found.moments(a, query, b, query), chances) for one, (a, b) in of_areas]
            )
            for query in queries
        ]
        flat = _flat([one.name for one, _ in of_areas], "contrast")
        yield found.layout(flat, queries), _side_by_side(tables)
    of_queries = [one for one in contrasts if one.areas is None]
    if not of_queries:
        return
    cells = {one.name: found.names(one.one) for one in of_queries}

    def in_units(units: slice, _: slice) -> dict[str, NDArray[Any]]:
        who = np.arange(units.start, units.stop)
        parts = found.at(who)
        moments = [found.moments(parts, one.one, parts, one.two) for one in of_queries]
        return _side_by_side(
            [_compared(one.kind, its, chances) for one, its in zip(of_queries, moments, strict=True)]
        )

    yield Layout.same(tree, cells), in_units
    if unions:
        tables = [
            _rows(
                [
                    _compared(one.kind, found.moments(area, one.one, area, one.two), chances)
                    for area in unions.values()
                ]
            )
            for one in of_queries
        ]
        yield Layout.same(_flat(list(unions), "area"), cells), _side_by_side(tables)


def _changes(
    now: JointEstimates,
    before: JointEstimates,
    tree: Tree,
    named: Sequence[str],
    wanted: Sequence[str],
    chances: Chances,
) -> tuple[Layout, Any]:
    """Return the layout and columns of changes: difference and ratio of each cell now and before."""
    place = arrow("compute").index_in(tree.names, value_set=before.tree.names).fill_null(-1).to_numpy()
    shared = np.flatnonzero(place >= 0)
    if not shared.size:
        raise InputError("no unit of the earlier release is among the units, so there is no change to give")
    queries = []
    for query in wanted:
        if any(group.answers(query) for group in before.groups):
            if now.names(query).equals(before.names(query)):
                queries.append(query)
                continue
            reason = "has other cells in the earlier release"
        else:
            reason = "cannot be answered by the earlier release"
        if named:
            raise InputError(f"query {query!r} {reason}, so there is no change to give")
    if not queries:
        raise InputError("no query is the same in the earlier release, so there is no change to give")
    names = tree.names.take(arrow().array(shared))
    some = Tree(np.full(shared.size, -1), tree.kind[shared], (0,), tree.levels, names)

    def columns(units: slice, _: slice) -> dict[str, NDArray[Any]]:
        here = shared[units]
        there = place[here].astype(np.int64)
        parts = now.at(here), before.at(there)
        tables = []
        for query in queries:
            a, sa, _w = now.numbers(parts[0], len(here), query, ())
            b, sb, _w = before.numbers(parts[1], len(there), query, ())
            moments = (a, b, sa**2, sb**2, np.zeros_like(a))
            change, quotient = (_compared(kind, moments, chances) for kind in ("difference", "ratio"))
            tables.append(
                {"now": a, "before": b}
                | {("difference" if name == "estimate" else name): one for name, one in change.items()}
                | {
                    ("ratio" if name == "estimate" else f"ratio_{name}"): one
                    for name, one in quotient.items()
                }
            )
        return _side_by_side(tables)

    return now.layout(some, queries), columns
