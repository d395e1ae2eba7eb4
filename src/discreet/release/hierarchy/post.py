"""Post-processing of a noisy table: non-negative, or consistent. It spends nothing, and draws nothing.

Guarantee. Each is a function of the noisy table and of what was declared (the tree, exact totals), so it has
the privacy of the noisy table; exact totals are outside of any guarantee. What it does to accuracy: the
least-squares estimate is unbiased and has the stated variance; cutting at zero and rounding are not
unbiased, see `docs/howto/measure.md`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release
from discreet.errors import InputError
from discreet.estimation.accuracy import View
from discreet.estimation.components import Floats
from discreet.estimation.estimates import Estimates, InMemory, Measurements
from discreet.estimation.model import Model, folded, told_by_level
from discreet.estimation.tables import settle, whole_tables
from discreet.noise import Noise
from discreet.release.commit import free, staging
from discreet.release.hierarchy.arrow import strings
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.noisy import (
    Exact,
    beside,
    cell_order,
    known_laws,
    read_held,
    read_noisy,
    release_beside,
)
from discreet.release.hierarchy.reading import FORMATS
from discreet.release.hierarchy.tree import Integers, Tree
from discreet.release.hierarchy.writing import Folder, check_kind
from discreet.release.ledger import NOT_PRIVATE

Post = Literal["none", "nonnegative", "consistent"]
POSTS: tuple[Post, ...] = ("none", "nonnegative", "consistent")
"""The kinds of post-processing."""

Laws = Mapping[tuple[int, str], Noise]
"""The law of the noise by kind of unit and query."""

Tables = tuple[Layout, dict[str, NDArray[Any]]]
"""A layout, and one vector a column."""

BLOCK = 1 << 20
"""Cells that are worked on at a time."""

MEANING = {
    "none": "the variance of the noise",
    "nonnegative": "the variance of the noise, before values below zero were set to zero",
    "consistent": "the variance of the least-squares estimate, before non-negativity and rounding",
}
"""What the column `variance` is."""


def check_post(how: str) -> Post:
    """Return the name of a post-processing, or raise.

    >>> check_post("rounded")
    Traceback (most recent call last):
    discreet.errors.InputError: post is 'rounded'; it must be none, nonnegative or consistent
    """
    for name in POSTS:
        if how == name:
            return name
    raise InputError(f"post is {how!r}; it must be none, nonnegative or consistent")


@dataclass(frozen=True, slots=True)
class Processed:
    """What a post-processing wrote."""

    out: Path
    post: Post
    units: int
    cells: int
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON says."""
        return {
            "post": self.post,
            "units": self.units,
            "cells": self.cells,
            "out": str(self.out),
            "files": list(self.files),
        }

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
    exact = {} if place is None else read_held(got.layout, place)
    kind = format or got.format
    if kind not in FORMATS:
        raise InputError(f"format is {kind!r}; it must be csv or parquet")
    check_kind(kind, for_spreadsheets=for_spreadsheets)
    stated = release_beside(got.beside)
    attributes = None if stated is None else stated.attributes
    layout, columns = process(how, got.layout, got.values, known_laws(got, stated), exact, attributes)
    with staging(out_dir) as stage:
        mark = f"{NOT_PRIVATE}: made from a rehearsal" if got.marked else None
        folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=for_spreadsheets)
        folder.cells("estimates", layout, columns)
        folder.units(layout.tree)
        if exact:
            write_held(folder, got.layout, exact)
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


def process(
    how: Post,
    layout: Layout,
    values: Integers,
    laws: Laws,
    exact: Exact | None = None,
    attributes: Attributes | None = None,
) -> Tables:
    """Apply a post-processing to a noisy table in memory."""
    held = exact or {}
    if how == "consistent":
        by_kind = [{query: laws[kind, query] for query in some} for kind, some in enumerate(layout.asked)]
        order = {query: cell_order(layout, query, attributes) for query in layout.queries}
        noisy = {}
        for query in layout.queries:
            first = layout.first(query)
            who = np.flatnonzero(first >= 0)
            noisy[query] = who, values[first[who][:, None] + order[query]]
        tree = layout.tree
        given = Measurements(
            tree.parent.astype(np.int64),
            tree.starts,
            layout.kind.astype(np.int64),
            (InMemory(by_kind, noisy),),
            {query: (who, rows[:, order[query]]) for query, (who, rows) in held.items()},
        )
        found = Estimates(attributes, given, held=True)
        if attributes is not None:
            return _over_queries(found, layout, attributes)
        return _by_query(found, layout)
    variance = spread(layout, {key: law.true_variance() for key, law in laws.items()})
    if how == "none":
        return layout, {"value": values, "variance": variance}
    estimate = np.maximum(values, 0)
    for query, (who, counts) in held.items():
        rows = layout.first(query)[who][:, None] + np.arange(counts.shape[1])
        estimate[rows], variance[rows] = counts, 0.0
    return layout, {"estimate": estimate, "variance": variance}


def spread(layout: Layout, sizes: Mapping[tuple[int, str], float], units: slice | None = None) -> Floats:
    """Return the variance of the noise of each cell, of all units or of some."""
    pattern = np.concatenate(
        [
            np.full(len(layout.cells[query]), sizes[kind, query])
            for kind, queries in enumerate(layout.asked)
            for query in queries
        ]
    )
    found: Floats = pattern[layout.columns(units or slice(0, layout.tree.size))]
    return found


def _over_queries(found: Estimates, layout: Layout, attributes: Attributes) -> Tables:
    """Return whole numbers that are consistent over queries and levels, estimates and variances."""
    whole = whole_cells(found, attributes)
    tables = {}
    for query in layout.queries:
        columns = {
            "estimate": sum_cells(attributes, query, whole),
            "least_squares": found.values(query),
            "variance": found.deviations(query) ** 2,
        }
        turned = {name: as_written(attributes, query, rows) for name, rows in columns.items()}
        tables[query] = strings(list(attributes.tabulation(query).labels)), turned
    return stacked(layout.tree, tables)


def _by_query(found: Estimates, layout: Layout) -> Tables:
    """Return whole numbers that are consistent over levels, query by query, where they are determined."""
    tree, given = layout.tree, found.given
    names, known = layout.queries, {}
    for query in names:
        known[query] = ~found.view.undetermined(query, np.arange(found.shape.size))[found.node, 0]
    kind = layout.kind.astype(np.int64)
    for mask in known.values():
        if not mask.all():
            kind = np.unique(2 * kind + mask, return_inverse=True)[1].ravel()
    _, first_unit, kind = np.unique(kind, return_index=True, return_inverse=True)
    asked = []
    for unit in first_unit.tolist():
        own = layout.asked[layout.kind[unit]]
        own = tuple(query for query in own if known[query][unit])
        asked.append((*own, *(query for query in sorted(names) if known[query][unit] and query not in own)))
    wide = Layout(tree, layout.cells, tuple(asked), kind.astype(np.int32))
    columns: dict[str, NDArray[Any]] = {
        "estimate": np.zeros(wide.size, dtype=np.int64),
        "least_squares": np.zeros(wide.size),
        "variance": np.zeros(wide.size),
    }
    parent = tree.parent.astype(np.int64)
    for place, query in enumerate(names):
        units = np.flatnonzero(known[query])
        if not units.size:
            continue
        # families of which a member is not determined are not tied to their parent
        lost = np.zeros(tree.size + 1, dtype=bool)
        lost[parent[~known[query]]] = True
        at = np.full(tree.size + 1, -1, dtype=np.int64)
        at[units] = np.arange(units.size)
        above = np.where(lost[parent[units]], -1, at[parent[units]])
        solution = found.solutions[place]
        weight = (solution.P if solution.gain is None else solution.V)[found.node[units], 0, 0]
        values, variance = found.values(query)[units], found.deviations(query)[units] ** 2
        who, counts = given.exact.get(query, (np.empty(0, dtype=np.int64), None))
        held = np.zeros(units.size, dtype=bool)
        held[at[who]] = True
        first = wide.first(query)[units]
        step = max(1, BLOCK // units.size)
        for start in range(0, values.shape[1], step):
            cells = np.arange(start, min(start + step, values.shape[1]))
            fixed = np.zeros((units.size, len(cells)), dtype=np.int64)
            if counts is not None:
                fixed[at[who]] = counts[:, cells]
            rows = first[:, None] + cells
            columns["estimate"][rows] = settle(
                values[:, cells], above, weight, held=held, counts=fixed, first_cell=start
            )
            columns["least_squares"][rows] = values[:, cells]
            columns["variance"][rows] = variance[:, cells]
    return wide, columns


def check_whole(release: Release, layout: Layout, exact: Exact) -> None:
    """Refuse a release whose measurements cannot give whole-number tables, without looking at any count."""
    assert release.attributes is not None
    for query in layout.queries:
        cell_order(layout, query, release.attributes)
    _check_nested(release.attributes, exact)
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


def _check_nested(attributes: Attributes, exact: Exact) -> None:
    """Refuse exact tables that do not nest: whole tables are settled along one chain."""
    tables = [(query, detailed_cells(attributes, query)) for query in exact]
    tables.sort(key=lambda one: int(one[1].max()))
    for (coarse, one), (fine, two) in pairwise(tables):
        if len(np.unique(np.column_stack([one, two]), axis=0)) > len(np.unique(two)):
            raise InputError(
                f"whole-number tables can keep only nested tables exact; {coarse!r} and {fine!r} are not: "
                "leave the tables out, or keep one of the two"
            )


def whole_cells(found: Estimates, attributes: Attributes) -> Integers:
    """Return whole detailed cells; exact tables and impossible cells are held."""
    cells = found.values("detailed")
    lost = int(np.isnan(cells).any(axis=1).sum())
    if lost:
        raise InputError(
            f"whole-number tables are made of detailed cells, which no measurement determines in {lost} "
            f"unit{'s' * (lost > 1)}; ask for estimates without tables, or measure the query detailed"
        )
    given = found.given
    fixed = np.full(given.size, -1, dtype=np.int64)
    measured = {query: rows for query, rows in given.exact.items() if query not in given.blocks}
    _check_nested(attributes, measured)
    exact = []
    for query, (units, rows) in measured.items():
        if rows.shape[1] == 1:
            fixed[units] = rows[:, 0]
        else:
            exact.append((detailed_cells(attributes, query), units, rows.astype(np.int64)))
    possible = np.ones(attributes.cells, dtype=bool)
    for block in attributes.zeros():
        possible[block_cells(attributes, block.by_attribute)] = False
    return whole_tables(cells, attributes.sizes, given.parent, fixed, possible, exact)


def block_cells(attributes: Attributes, groups: Any) -> Integers:
    """Return the detailed cells that have any of these values."""
    inside = np.ones((), dtype=bool)
    for size, rows in zip(attributes.sizes, groups, strict=True):
        axis = np.zeros(size, dtype=bool)
        axis[[value for group in rows for value in group]] = True
        inside = np.multiply.outer(inside, axis)
    return np.flatnonzero(inside.ravel())


def detailed_cells(attributes: Attributes, query: str) -> Integers:
    """Return for each detailed cell the cell of a query, in the order of the attributes.

    >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18+"]})
    >>> detailed_cells(people, "age").tolist()
    [0, 1, 0, 1]
    """
    found = np.zeros(attributes.sizes, dtype=np.int64)
    for place, groups in enumerate(attributes.tabulation(query).by_attribute):
        label = np.zeros(attributes.sizes[place], dtype=np.int64)
        for number, group in enumerate(groups):
            label[list(group)] = number
        shape = [1] * len(attributes.sizes)
        shape[place] = -1
        found = found * len(groups) + label.reshape(shape)
    return found.ravel()


def sum_cells(attributes: Attributes, query: str, cells: Integers) -> Integers:
    """Add up detailed cells to those of a query, in the order of the attributes."""
    block = cells.reshape(len(cells), *attributes.sizes)
    for place, groups in enumerate(attributes.tabulation(query, sums=True).by_attribute):
        parts = [block.take(list(group), axis=1 + place).sum(axis=1 + place) for group in groups]
        block = np.stack(parts, axis=1 + place)
    return block.reshape(len(cells), -1)


def as_written(attributes: Attributes, query: str, rows: NDArray[Any]) -> NDArray[Any]:
    """Turn rows of cells in the order of the attributes into that in which the query is written."""
    table = attributes.tabulation(query, sums=True)
    if not table.factors:
        return rows
    by_attribute = [factor.attribute for factor in table.factors]
    shape = [table.shape[place] for place in np.argsort(by_attribute)]
    axes = [1 + int(place) for place in np.argsort(np.argsort(by_attribute))]
    return rows.reshape(len(rows), *shape).transpose(0, *axes).reshape(len(rows), -1)


def stacked(tree: Tree, tables: Mapping[str, tuple[Any, Mapping[str, NDArray[Any]]]]) -> Tables:
    """Lay tables of all units by query out as one table."""
    cells = {query: names for query, (names, _) in tables.items()}
    layout = Layout(tree, cells, (tuple(tables),), np.zeros(tree.size, np.int32))
    first = next(iter(tables.values()))[1]
    columns = {
        name: np.concatenate([one[name] for _, one in tables.values()], axis=1).ravel() for name in first
    }
    return layout, columns


def write_held(folder: Folder, layout: Layout, exact: Exact) -> None:
    """Write the counts that are held exact as a table of their own."""
    masks = np.zeros((len(exact), layout.tree.size), dtype=bool)
    for place, (who, _) in enumerate(exact.values()):
        masks[place, who] = True
    kinds, kind = np.unique(masks, axis=1, return_inverse=True)
    asked = tuple(tuple(query for query, on in zip(exact, one, strict=True) if on) for one in kinds.T)
    part = Layout(layout.tree, layout.cells, asked, kind.ravel().astype(np.int32))
    vector = np.empty(part.size, dtype=np.int64)
    for query, (who, rows) in exact.items():
        vector[part.first(query)[who][:, None] + np.arange(rows.shape[1])] = rows
    folder.cells("invariants", part, {"count": vector})
