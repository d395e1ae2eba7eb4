"""`estimate`: best estimates with intervals, areas, contrasts and whole-number tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release, load_file
from discreet.errors import InputError
from discreet.estimation.accuracy import View
from discreet.estimation.estimates import Estimates, Measurements, ratio
from discreet.estimation.intervals import count_ends, half_width
from discreet.estimation.model import Model, Told, folded, noises, told_by_level
from discreet.estimation.tables import whole_tables
from discreet.noise import GaussianNoise, Noise
from discreet.numbers import fraction
from discreet.release.commit import free, staging
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.noisy import Noisy, beside, read_held, read_noisy
from discreet.release.hierarchy.processing import MEANING, Held, Post, check_post, process
from discreet.release.hierarchy.reading import FORMATS, read_table
from discreet.release.hierarchy.tree import Integers, Tree
from discreet.release.hierarchy.writing import Folder, check_kind
from discreet.release.ledger import NOT_PRIVATE

Laws = Mapping[tuple[int, str], Noise]
"""The law of the noise by kind of unit and query."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """What a run of `estimate` wrote."""

    out: Path
    units: int
    queries: tuple[str, ...]
    cells: int
    undetermined: int
    together: bool
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON shows."""
        return {
            "out": str(self.out),
            "units": self.units,
            "queries": list(self.queries),
            "cells": self.cells,
            "not_determined": self.undetermined,
            "together": self.together,
            "files": list(self.files),
        }

    def __str__(self) -> str:
        lost = f", {self.undetermined} of them not determined" if self.undetermined else ""
        return f"{self.cells} estimates of {self.units} units{lost}, in {self.out}: {', '.join(self.files)}"


def measured(
    layout: Layout, values: Integers, laws: Laws, held: Held | None, attributes: Attributes | None
) -> Measurements:
    """Return a noisy table as rows of cells by query, in the order of the attributes."""
    tree = layout.tree
    order = {query: cell_order(layout, query, attributes) for query in layout.queries}
    flags = np.zeros(tree.size, dtype=np.int64)
    held_units = {} if held is None else held.units
    names = list(held_units)
    for place, query in enumerate(names):
        flags |= held_units[query].astype(np.int64) << place
    pairs, kind = np.unique(np.column_stack([layout.kind, flags]), axis=0, return_inverse=True)
    told = []
    for level, flag in pairs.tolist():
        exact = tuple(query for place, query in enumerate(names) if flag >> place & 1)
        told.append(Told(tuple((query, laws[level, query]) for query in layout.asked[level]), exact))
    noisy, exact_rows = {}, {}
    for query in layout.queries:
        first = layout.first(query)
        units = np.flatnonzero(first >= 0)
        noisy[query] = units, values[first[units][:, None] + order[query]]
        if held is not None and query in names:
            fixed = np.flatnonzero(held_units[query])
            exact_rows[query] = fixed, held.counts[first[fixed][:, None] + order[query]]
    return Measurements(
        tree.parent.astype(np.int64),
        tree.starts,
        kind.ravel().astype(np.int64),
        tuple(told),
        noisy,
        exact_rows,
    )


def cell_order(layout: Layout, query: str, attributes: Attributes | None) -> Integers:
    """Return where the cells of a query stand in the table, in the order of the attributes."""
    known = layout.cells[query]
    if attributes is None:
        return np.arange(len(known))
    table = attributes.tabulation(query)
    labels = np.array(list(table.labels), dtype=object).reshape(table.shape or (1,))
    if table.factors:  # written in another order than the attributes'
        labels = labels.transpose(np.argsort([factor.attribute for factor in table.factors]))
    index = arrow("compute").index_in(strings(labels.ravel().tolist()), value_set=known)
    if index.null_count or len(known) != table.cells:
        raise InputError(
            f"the cells of query {query!r} are not those that the attributes say: {len(known)} are there, "
            f"{table.cells} are due, and {index.null_count} of these are missing; a cell is named by its "
            f"values, such as {next(table.labels)!r}"
        )
    found: Integers = index.to_numpy().astype(np.int64)
    return found


def from_attributes(attributes: Attributes, query: str, rows: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Return the names of a query's cells as written, and rows of cells turned into that order."""
    table = attributes.tabulation(query, sums=True)
    if table.factors:
        by_attribute = [factor.attribute for factor in table.factors]
        shape = [table.shape[place] for place in np.argsort(by_attribute)]
        axes = [1 + int(place) for place in np.argsort(np.argsort(by_attribute))]
        rows = rows.reshape(len(rows), *shape).transpose(0, *axes).reshape(len(rows), -1)
    return strings(list(table.labels)), rows


def together(
    layout: Layout, values: Integers, laws: Laws, held: Held | None, attributes: Attributes
) -> tuple[Layout, dict[str, NDArray[Any]]]:
    """Return whole numbers for every query in every unit, consistent over queries and levels, with the
    least-squares estimates and their variances."""
    found = Estimates(attributes, measured(layout, values, laws, held, attributes))
    whole = _whole(found, attributes)
    tables: dict[str, tuple[Any, dict[str, NDArray[Any]]]] = {}
    for query in layout.queries:
        indicator = found.model.projection(query)
        columns = {
            "estimate": _sum_cells(attributes, query, whole),
            "least_squares": found.values(query),
            "variance": found.deviations(query) ** 2,
        }
        assert indicator.cells == columns["estimate"].shape[1]
        names = None
        for name, rows in columns.items():
            names, columns[name] = from_attributes(attributes, query, rows)
        tables[query] = names, columns
    return _stacked(layout.tree, tables)


def check_whole(release: Release, layout: Layout, held: Held | None) -> None:
    """Refuse a release whose measurements cannot give whole-number tables, without looking at any count."""
    assert release.attributes is not None
    for query in layout.queries:
        cell_order(layout, query, release.attributes)
    for query in held.units if held is not None else ():
        if query != "total":
            raise InputError(
                f"consistent tables hold totals exact, not query {query!r}; ask for no post-processing"
            )
    levels = layout.tree.levels
    shape, _ = folded(layout.tree)
    told = told_by_level(release, levels)
    model = Model(release.attributes, layout.queries)
    view = View(model, shape, told, model.solve(shape, told))
    nodes = np.flatnonzero(view.undetermined("detailed", np.arange(shape.size)).any(axis=1))
    if nodes.size:
        where = ", ".join(sorted({levels[shape.kind[node]] for node in nodes}))
        raise InputError(
            f"consistent tables are made of detailed cells, which no measurement determines at {where}; ask "
            "for no post-processing, or measure the query detailed"
        )


def _whole(found: Estimates, attributes: Attributes) -> Integers:
    """Return whole detailed cells; exact totals and impossible cells are held."""
    cells = found.values("detailed")
    lost = int(np.isnan(cells).any(axis=1).sum())
    if lost:
        raise InputError(
            f"whole-number tables are made of detailed cells, which no measurement determines in {lost} "
            f"unit{'s' * (lost > 1)}; ask for estimates without tables, or measure the query detailed"
        )
    given = found.given
    fixed = np.full(len(given.parent), -1, dtype=np.int64)
    for query, (units, rows) in given.exact.items():
        if query != "total":
            raise InputError(
                f"whole-number tables hold totals exact, not query {query!r}; leave the tables out"
            )
        fixed[units] = rows[:, 0]
    possible = np.ones(attributes.cells, dtype=bool)
    for block in attributes.zeros():
        possible[_cells_of(attributes, block.by_attribute)] = False
    return whole_tables(cells, attributes.sizes, given.parent, fixed, possible)


def _cells_of(attributes: Attributes, groups: Any) -> Integers:
    inside = np.ones((), dtype=bool)
    for size, rows in zip(attributes.sizes, groups, strict=True):
        axis = np.zeros(size, dtype=bool)
        axis[[value for group in rows for value in group]] = True
        inside = np.multiply.outer(inside, axis)
    return np.flatnonzero(inside.ravel())


def _sum_cells(attributes: Attributes, query: str, cells: Integers) -> Integers:
    """Add up detailed cells to those of a query, in the order of the attributes."""
    block = cells.reshape(len(cells), *attributes.sizes)
    for place, groups in enumerate(attributes.tabulation(query, sums=True).by_attribute):
        parts = [block.take(list(group), axis=1 + place).sum(axis=1 + place) for group in groups]
        block = np.stack(parts, axis=1 + place)
    return block.reshape(len(cells), -1)


def _stacked(
    tree: Tree, tables: Mapping[str, tuple[Any, Mapping[str, NDArray[Any]]]]
) -> tuple[Layout, dict[str, NDArray[Any]]]:
    """Lay tables of all units by query out as one table: the layout, and one vector a column."""
    layout = Layout(
        tree,
        {query: names for query, (names, _) in tables.items()},
        (tuple(tables),),
        np.zeros(tree.size, np.int32),
    )
    first = next(iter(tables.values()))[1]
    columns = {
        name: np.concatenate([one[name] for _, one in tables.values()], axis=1).ravel() for name in first
    }
    return layout, columns


def estimate(
    noisy: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    release: Release | None = None,
    queries: Sequence[str] = (),
    areas: str | os.PathLike[str] | None = None,
    differences: Sequence[tuple[str, str]] = (),
    ratios: Sequence[tuple[str, str]] = (),
    levels: Sequence[str | Fraction] = ("0.9", "0.95"),
    tables: bool = False,
    units: str | os.PathLike[str] | None = None,
    invariants: str | os.PathLike[str] | None = None,
    format: str | None = None,
) -> Estimated:
    """Estimate every query in every unit from all measurements together, and write it to a new directory.

    `noisy` is a directory that `measure` wrote, or a noisy table (then `release` says what the queries mean).
    `queries` are others than those that were measured. `areas` (area, unit) are unions of units;
    `differences` and `ratios` are pairs of areas or units. `levels` are those of the intervals. `tables` adds
    whole numbers, not negative and consistent over queries and levels. Nothing is spent.
    """
    chances = [_level(level) for level in levels]
    source = Path(noisy)
    free(out_dir)
    got = read_noisy(source, units, need_tree=True)
    stated = release or _release_beside(got.beside)
    attributes = None if stated is None else stated.attributes
    if tables and attributes is None:
        raise InputError("whole-number tables of all queries need a release that states its attributes")
    layout = got.layout
    laws = _laws(got, stated)
    place = invariants or (beside(got.beside, "invariants") if got.beside else None)
    held = None if place is None else read_held(layout, place)
    kind_of = format or got.format
    if kind_of not in FORMATS:
        raise InputError(f"format is {kind_of!r}; it must be csv or parquet")
    found = Estimates(attributes, measured(layout, got.values, laws, held, attributes))
    wanted = tuple(dict.fromkeys(queries)) or layout.queries
    for query in wanted:
        found.model.projection(query)  # a wrong query is refused before anything is computed
    unions = {} if areas is None else _areas(areas, layout.tree)
    pairs = [(name, _pair(pair, unions, layout.tree)) for name, pair in _named(differences, ratios)]
    whole = _whole(found, attributes) if tables and attributes is not None else None
    with staging(out_dir) as stage:
        mark = f"{NOT_PRIVATE}: made from a rehearsal" if got.marked else None
        folder = Folder(stage.path, kind_of, mark=mark)
        made: dict[str, tuple[Any, dict[str, NDArray[Any]]]] = {}
        moved = 0
        for query in wanted:
            columns = _columns(found, query, chances)
            if whole is not None and attributes is not None:
                columns["table"] = _sum_cells(attributes, query, whole)
            moved += int(columns.pop("moved").sum())
            made[_shown(query)] = _as_written(layout, attributes, query, columns)
        wide, vectors = _stacked(layout.tree, made)
        folder.cells("estimates", wide, vectors)
        folder.units(layout.tree)
        if unions:
            folder.cells("areas", *_union_table(found, unions, wanted, chances, layout, attributes))
        if pairs:
            folder.cells("contrasts", *_contrast_table(found, pairs, wanted, chances, layout, attributes))
        lost = int(np.isnan(vectors["estimate"]).sum())
        folder.json(
            "manifest",
            {
                "format": "discreet estimates 2",
                "version": version("discreet"),
                "source": got.origin,
                "estimates": "best linear unbiased, all queries and levels together"
                if attributes
                else "best linear unbiased, each query by itself: the release states no attributes",
                "queries": list(wanted),
                "levels": [str(level) for level in levels],
                "units": layout.tree.size,
                "cells": wide.size,
                "not_determined": lost,
                "intervals_with_nothing_left": moved,
                "columns": _meanings(chances, tables),
            },
        )
        stage.commit()
    return Estimated(
        Path(out_dir), layout.tree.size, wanted, wide.size, lost, attributes is not None, tuple(folder.names)
    )


def _laws(got: Noisy, stated: Release | None) -> dict[tuple[int, str], Noise]:
    """Return the laws that the release says, or Gaussian ones of the variances in the table."""
    known = {} if stated is None else noises(stated)
    laws: dict[tuple[int, str], Noise] = {}
    for (kind, query), size in got.noise.items():
        level = got.layout.tree.levels[kind]
        law = known.get((level, query))
        if stated is not None and (law is None or abs(law.true_variance() - size) > 1e-6 * size):
            raise InputError(
                f"query {query!r} of level {level!r} has noise of variance {size:g}, which is not what the "
                f"release {stated.name!r} says"
            )
        laws[kind, query] = law or GaussianNoise(Fraction(size).limit_denominator(10**9))
    return laws


@dataclass(frozen=True, slots=True)
class Processed:
    """What a post-processing wrote."""

    out: Path
    post: Post
    units: int
    cells: int
    files: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.post} estimates of {self.cells} cells of {self.units} units in {self.out}\n"
            f"  {', '.join(self.files)}"
        )


def post(
    noisy: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    post: str = "consistent",
    units: str | os.PathLike[str] | None = None,
    invariants: str | os.PathLike[str] | None = None,
    format: str | None = None,
    for_spreadsheets: bool = False,
) -> Processed:
    """Apply a post-processing to a noisy table: a directory that `measure` wrote, or a table by itself.

    A table has the columns unit, level, query, cell, value and variance, and either `units` (unit, level,
    parent) states the tree or a column parent does. `invariants` (unit, query, cell, count) are totals to
    hold exact. What `measure` put beside its measurements is used unless another file is named. Output of a
    rehearsal stays marked. `for_spreadsheets` is as in `measure`.
    """
    how = check_post(post)
    if how == "none":
        raise InputError("post is none, which leaves the table as it is; nonnegative or consistent is needed")
    free(out_dir)
    got = read_noisy(Path(noisy), units, need_tree=how == "consistent")
    place = invariants or (beside(got.beside, "invariants") if got.beside else None)
    held = None if place is None else read_held(got.layout, place)
    kind = format or got.format
    if kind not in FORMATS:
        raise InputError(f"format is {kind!r}; it must be csv or parquet")
    check_kind(kind, for_spreadsheets=for_spreadsheets)
    stated = _release_beside(got.beside)
    attributes = None if stated is None else stated.attributes
    if how == "consistent" and attributes is not None:
        layout, columns = together(got.layout, got.values, _laws(got, stated), held, attributes)
    else:
        done = process(how, got.layout, got.values, got.noise, held)
        layout, columns = done.layout, done.columns
    with staging(out_dir) as stage:
        mark = f"{NOT_PRIVATE}: made from a rehearsal" if got.marked else None
        folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=for_spreadsheets)
        folder.cells("estimates", layout, columns)
        folder.units(layout.tree)
        if held is not None:
            write_held(folder, got.layout, held)
        folder.json(
            "manifest",
            {
                "format": "discreet estimates 1",
                "version": version("discreet"),
                "post": how,
                "source": got.origin,
                "units": layout.tree.size,
                "cells": layout.size,
                "columns": {"estimates": {"variance": MEANING[how]}},
            },
        )
        stage.commit()
    return Processed(Path(out_dir), how, layout.tree.size, layout.size, tuple(folder.names))


def write_held(folder: Folder, layout: Layout, held: Held) -> None:
    """Write the totals that are held exact as a table of their own."""
    masks = np.stack(list(held.units.values()))
    kinds, kind = np.unique(masks, axis=1, return_inverse=True)
    asked = tuple(tuple(query for query, on in zip(held.units, one, strict=True) if on) for one in kinds.T)
    part = Layout(layout.tree, layout.cells, asked, kind.ravel().astype(np.int32))
    vector = np.empty(part.size, dtype=np.int64)
    for query, mask in held.units.items():
        cells = np.arange(len(layout.cells[query]))
        there, here = (one.first(query)[mask][:, None] + cells for one in (part, layout))
        vector[there] = held.counts[here]
    folder.cells("invariants", part, {"count": vector})


def _level(level: str | Fraction) -> tuple[str, float]:
    size = fraction(level, name="level")
    if not Fraction(1, 2) <= size < 1:
        raise InputError(f"level is {level}; the level of an interval lies between 0.5 and 1, such as 0.95")
    return f"{float(100 * size):g}".replace(".", "_"), float(size)


def _release_beside(folder: Path | None) -> Release | None:
    if folder is None:
        return None
    for name in ("release.toml", f"release.{NOT_PRIVATE.replace(' ', '-')}.toml"):
        if (folder / name).is_file():
            return load_file(folder / name)
    return None


def _columns(found: Estimates, query: str, chances: Sequence[tuple[str, float]]) -> dict[str, NDArray[Any]]:
    values = found.values(query)
    columns: dict[str, NDArray[Any]] = {"estimate": values, "sd": found.deviations(query)}
    lost = np.isnan(values)
    columns["moved"] = np.zeros(values.shape, dtype=bool)
    for name, level in chances:
        ends = count_ends(values, found.widths(query, level))
        columns["moved"] |= ends.moved & ~lost
        columns[f"lower{name}"] = np.where(lost, np.nan, ends.lower)
        columns[f"upper{name}"] = np.where(lost, np.nan, ends.upper)
    return columns


def _shown(query: str) -> str:
    """Return the name of a query such as "one race = cenrace[...]"."""
    return query.partition("=")[0].strip()


def _meanings(chances: Sequence[tuple[str, float]], tables: bool) -> dict[str, str]:
    found = {
        "estimate": "best linear unbiased estimate; empty: no measurement determines it",
        "sd": "its standard deviation",
    }
    for name, level in chances:
        found[f"lower{name}"] = f"lower end of the {100 * level:g} % interval: whole, not negative"
        found[f"upper{name}"] = "upper end; if nothing was left of an interval, both are the nearest count"
    if tables:
        found["table"] = "whole, not negative, consistent over queries and levels; not unbiased"
    return found


def _as_written(
    layout: Layout, attributes: Attributes | None, query: str, columns: Mapping[str, NDArray[Any]]
) -> tuple[Any, dict[str, NDArray[Any]]]:
    if attributes is None:
        return layout.cells[query], dict(columns)
    names: Any = None
    turned = {}
    for name, rows in columns.items():
        names, turned[name] = from_attributes(attributes, query, rows)
    return names, turned


def _flat(names: Sequence[str], level: str) -> Tree:
    """Return areas as a tree of one level, in the order given."""
    many = len(names)
    return Tree(strings(list(names)), (level,), np.zeros(many, np.int32), np.full(many, -1, np.int32), (0,))


def _areas(path: str | os.PathLike[str], tree: Tree) -> dict[str, Integers]:
    """Read unions of units: area, unit."""
    table = read_table(path, words=["area", "unit"])
    problems = table.problems()
    index = arrow("compute").index_in(table.words["unit"].values, value_set=tree.names).fill_null(-1)
    unit = np.append(index.to_numpy(), -1)[table.words["unit"].codes]
    problems.rows(unit < 0, "a unit that is not among the units", "unit")
    problems.stop()
    names = table.words["area"].values.to_pylist()
    codes = table.words["area"].codes
    return {name: unit[codes == code].astype(np.int64) for code, name in enumerate(names)}


def _named(
    differences: Sequence[tuple[str, str]], ratios: Sequence[tuple[str, str]]
) -> list[tuple[str, tuple[str, str]]]:
    return [*(("difference", pair) for pair in differences), *(("ratio", pair) for pair in ratios)]


Pair = tuple[tuple[str, Integers], tuple[str, Integers]]


def _pair(pair: tuple[str, str], unions: Mapping[str, Integers], tree: Tree) -> Pair:
    found = []
    names = tree.names.to_pylist() if any(one not in unions for one in pair) else []
    for one in pair:
        if one in unions:
            found.append((one, unions[one]))
        elif one in names:
            found.append((one, np.array([names.index(one)])))
        else:
            raise InputError(f"{one!r} is neither an area nor a unit, so there is nothing to compare")
    return found[0], found[1]


def _union_table(
    found: Estimates,
    unions: Mapping[str, Integers],
    queries: Sequence[str],
    chances: Sequence[tuple[str, float]],
    layout: Layout,
    attributes: Attributes | None,
) -> tuple[Layout, dict[str, NDArray[Any]]]:
    sums = [found.union(members, queries) for members in unions.values()]
    made = {}
    for query in queries:
        values = np.stack([one.queries[query][0] for one in sums])
        columns = {"estimate": values, "sd": np.sqrt(np.stack([one.queries[query][1] for one in sums]))}
        for name, level in chances:
            ends = count_ends(values, np.stack([one.width(query, level) for one in sums]))
            columns[f"lower{name}"], columns[f"upper{name}"] = ends.lower, ends.upper
        made[_shown(query)] = _as_written(layout, attributes, query, columns)
    return _stacked(_flat(list(unions), "area"), made)


def _contrast_table(
    found: Estimates,
    pairs: Sequence[tuple[str, Pair]],
    queries: Sequence[str],
    chances: Sequence[tuple[str, float]],
    layout: Layout,
    attributes: Attributes | None,
) -> tuple[Layout, dict[str, NDArray[Any]]]:
    names, rows = [], []
    for kind, ((name1, one), (name2, two)) in pairs:
        names.append(f"{name1} - {name2}" if kind == "difference" else f"{name1} / {name2}")
        rows.append(
            (kind, found.union(one, queries), found.union(two, queries), found.union(one, queries, less=two))
        )
    made = {}
    for query in queries:
        cells = found.cells(query)
        columns = {key: np.full((len(rows), cells), np.nan) for key in ("estimate", "sd")}
        for name, _ in chances:
            columns |= {f"{end}{name}": np.full((len(rows), cells), np.nan) for end in ("lower", "upper")}
        for row, (kind, *parts) in enumerate(rows):
            (a, va), (b, vb), (d, vd) = (part.queries[query] for part in parts)
            covariance = (va + vb - vd) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                columns["estimate"][row] = d if kind == "difference" else a / b
                delta = (va - 2 * a / b * covariance + (a / b) ** 2 * vb) / b**2
            columns["sd"][row] = np.sqrt(vd if kind == "difference" else np.where(b != 0, delta, np.nan))
            for name, level in chances:
                for cell in np.flatnonzero(~np.isnan(d)):
                    if kind == "difference":
                        width = half_width(float(vd[cell]), [], level)
                        ends = float(d[cell]) - width, float(d[cell]) + width
                    else:
                        first, second = (float(a[cell]), float(va[cell])), (float(b[cell]), float(vb[cell]))
                        _, *span, how = ratio(first, second, level, covariance=float(covariance[cell]))
                        ends = (span[0], span[1]) if how == "Fieller" else (np.nan, np.nan)
                    columns[f"lower{name}"][row, cell], columns[f"upper{name}"][row, cell] = ends
        made[_shown(query)] = _as_written(layout, attributes, query, columns)
    return _stacked(_flat(names, "contrast"), made)
