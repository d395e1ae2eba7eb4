"""Measurements in: the output of `measure`, or a noisy table alone, held in memory or streamed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.areas.layout import Laws, Layout, laws_of, lookup, positions, read_tree, read_units, units_of
from discreet.areas.output import MARK, MARKED, arrow, find_output
from discreet.areas.sum_units import check_steps, found_steps, unit_steps
from discreet.areas.tree import Integers, Tree
from discreet.budget import Release, load_file
from discreet.budget.noise_table import noises
from discreet.errors import InputError
from discreet.estimation.input.bureau import is_level, read_bureau
from discreet.estimation.input.exact_counts import exact_counts, read_held
from discreet.estimation.input.noisy_table import TableForm, noisy_numbers, noisy_tree, read_noisy
from discreet.estimation.input.published import LARGEST, Published, in_memory, published
from discreet.estimation.input.streamed import Streamed, row_groups
from discreet.files import sha256
from discreet.noise import Noise
from discreet.tables import (
    Codes,
    Problems,
    ReadTable,
    TableSource,
    is_there,
    open_table,
    read_table,
    stop_unless_usable,
    table_format,
)

PLAIN = TableForm()
"""The form of a table with the columns that `measure` writes."""

_MOST_ROWS = 10_000_000
"""Rows of a table that are read into memory; a larger one is streamed if it is as `measure` writes it."""


def read_published(
    source: Path,
    *,
    release: Release | None = None,
    units: TableSource | None = None,
    invariants: TableSource | None = None,
    streamed: bool | None = None,
    form: TableForm = PLAIN,
) -> Published:
    """Read what `measure` wrote, or a noisy table; it is streamed if it is large, or if that is said."""
    is_file = source.is_file() or is_there(source)
    file = source if is_file else find_output(source, "measurements")
    if file is None:
        raise InputError(f"there are no measurements in {source}; name a noisy table or a run's output")
    # the directory of the run that wrote it
    folder = file.parent if source.is_dir() or find_output(file.parent, "measurements") == file else None
    written = find_output(folder, "release", ["toml"])
    stated = release or (load_file(written) if written else None)
    form = PLAIN if written else form  # what `measure` wrote says itself how it is written
    attributes = form.attributes if stated is None else stated.attributes
    held = find_output(folder, "invariants") if invariants is None else invariants
    listed = find_output(folder, "units") if units is None else units
    marked, stream, rows = MARKED in file.name, None, 0
    if (
        stated is not None
        and attributes is not None
        and listed is not None
        and table_format(file) == "parquet"
    ):
        rows = row_groups(file).metadata.num_rows
        if rows > _MOST_ROWS if streamed is None else streamed:
            stream = Streamed(file, read_tree(listed, stated), stated, attributes)
    if stream is not None:
        exact = {} if held is None else exact_counts(stream.layout, read_held(held), stated)
        origin = {"role": "measurements", "sha256": sha256(file), "bytes": file.stat().st_size, "rows": rows}
        return published(stream.layout, stream, exact, attributes, "parquet", marked, origin)
    return _read_in_memory(file, stated, listed, held, form, marked=marked)


def _read_in_memory(
    source: TableSource,
    stated: Release | None,
    units: TableSource | None,
    invariants: TableSource | None,
    form: TableForm,
    *,
    marked: bool = False,
) -> Published:
    """Read a noisy table into memory: one whose noise a release states, or anybody's."""
    problems = Problems()
    attributes = form.attributes if stated is None else stated.attributes
    table = read_noisy(
        source, form, whole=stated is not None, tree_given=units is not None, problems=problems
    )
    areas = None if units is None else read_units(units, problems)
    kept = None if invariants is None else read_held(invariants, problems)
    stop_unless_usable(table, areas, kept)
    tree, table = noisy_tree(table, areas, form)
    steps = found_steps(table) if stated is None else unit_steps(stated)
    check_steps(table, steps)
    layout, position = _layout(table, tree, every=stated is not None)
    marked = marked or MARK in table.words
    origin = table.origin("measurements")
    if stated is not None:
        values, laws = _stated(table, layout, position, stated)
        exact = {} if kept is None else exact_counts(layout, kept, stated)
        values_held = in_memory(layout, values, laws, attributes)
        return published(layout, values_held, exact, attributes, table.format, marked, origin, steps)
    numbers = noisy_numbers(layout, position, table, form, attributes)
    exact = {} if kept is None else exact_counts(layout, kept, stated)
    product = published(layout, numbers.source, exact, attributes, table.format, marked, origin, steps)
    many = numbers.unmeasured
    left = (
        (f"{many} cell{'s' * (many > 1)} without a value or without the size of its error",) if many else ()
    )
    return replace(
        product,
        kind=numbers.kind,
        exact={**product.exact, **numbers.exact},
        pieces=numbers.pieces,
        counts=numbers.counts,
        assumed=numbers.noise,
        left_out=left,
    )


def with_zeros(product: Published, zeros: TableSource) -> Published:
    """Add values that some units cannot have: unit, and a column for each attribute that is named.

    What a unit cannot have, no unit within it can. Each row is a block of cells that are zero.
    """
    attributes, tree = product.attributes, product.tree
    if attributes is None:
        raise InputError("zeros of areas need a release that states its attributes")
    table = read_table(zeros, words=["unit"], optional=list(attributes.names))
    named = [name for name in attributes.names if name in table.words]
    if not named:
        raise InputError(f"{table.path.name} names no attribute; it must have columns of {attributes.names}")
    unit = units_of(table, tree)
    for name in named:
        wrong = lookup(table.words[name], dict(attributes.values)[name]) < 0
        table.problems.rows(wrong, f"a value that attribute {name!r} does not have", name)
    table.problems.stop()
    codes = np.column_stack([table.words[name].codes for name in named])
    distinct, of = np.unique(codes, axis=0, return_inverse=True)
    exact, blocks = dict(product.exact), dict(product.blocks)
    for number, row in enumerate(distinct.tolist()):
        words = {
            name: [table.words[name].values[code].as_py()] for name, code in zip(named, row, strict=True)
        }
        block = attributes.block(words, name=f"zero {number + 1}")
        inside = np.zeros(tree.size + 1, dtype=bool)
        inside[unit[of.ravel() == number]] = True
        for part in tree.depths[1:]:
            inside[part] |= inside[tree.parent[part]]
        units = np.flatnonzero(inside[:-1])
        name = f"zero: {', '.join(f'{key} {value[0]}' for key, value in words.items())}"
        exact[name], blocks[name] = (units, np.zeros((len(units), block.cells), dtype=np.int64)), block
    return replace(product, exact=exact, blocks=blocks)


# -- tables that are held in memory ------------------------------------------------------------------------


def _layout(table: ReadTable, tree: Tree, *, every: bool) -> tuple[Layout, Integers]:
    """Return where the cells of a table stand, and the position of each row there.

    An area has rows of all cells of its level; or it may have none, unless `every` area must have them."""
    problems = table.problems
    unit = units_of(table, tree, levels=True)
    layout = _found_layout(table, tree, unit)
    position, there = positions(layout, table, unit)
    lacks = ~there
    if not every:
        where = np.repeat(np.arange(tree.size), np.diff(layout.base))
        lacks &= np.bincount(where[there], minlength=tree.size)[where] > 0
    if lacks.any():
        missing = int(np.count_nonzero(lacks))
        some = "1 cell is" if missing == 1 else f"{missing} cells are"
        problems.at(
            f"{some} missing: each area must have all cells of its level; if a cell was not measured, leave "
            "its value empty"
        )
    problems.stop()
    return layout, position


def _stated(table: ReadTable, layout: Layout, position: Integers, stated: Release) -> tuple[Integers, Laws]:
    """Return the values of a table, and the laws that the release states; the table must agree with them."""
    problems, value, sizes = table.problems, table.numbers["value"], table.numbers["variance"]
    problems.rows(np.abs(value) > LARGEST, f"a value is beyond {LARGEST}", "value")
    # noise of next to no variance is written as 0
    problems.rows(~((sizes >= 0) & np.isfinite(sizes)), "a variance is not above zero", "variance")
    tree, names = layout.tree, table.words["query"]
    unit = np.searchsorted(layout.base, position, side="right") - 1
    pair = tree.kind[unit] * len(names.values) + names.codes
    pairs, first, of = np.unique(pair, return_index=True, return_inverse=True)
    differs = sizes != sizes[first][of.ravel()]
    problems.rows(differs, "the variance differs within one level and query", "variance")
    problems.stop()
    known = noises(stated)
    laws: dict[tuple[str, str], Noise] = {}
    for at, size in zip(pairs.tolist(), sizes[first].tolist(), strict=True):
        kind, code = divmod(at, len(names.values))
        level, query = tree.levels[kind], names.values[code].as_py()
        law = known.get((level, query))
        if law is None:
            raise InputError(f"release {stated.name!r} has no query {query!r} at level {level!r}")
        if abs(law.true_variance() - size) > 1e-6 * size:
            raise InputError(
                f"query {query!r} of level {level!r} has noise of variance {size:g}, which is not what the "
                f"release {stated.name!r} says"
            )
        laws[level, query] = law
    values = np.zeros(layout.size, dtype=np.int64)
    values[position] = value
    return values, laws_of(layout, laws)


def _found_layout(table: ReadTable, tree: Tree, unit: Integers) -> Layout:
    """Take queries and cells in the order in which they first appear: for the queries, level by level."""
    names, cells = table.words["query"], table.words["cell"]
    words, kinds = names.values.to_pylist(), np.append(tree.kind, -1)[unit]

    def in_order(codes: Codes) -> Integers:
        distinct, first = np.unique(codes, return_index=True)
        return distinct[np.argsort(first)].astype(np.int64)

    asked = [
        tuple(words[code] for code in in_order(names.codes[kinds == kind]))
        for kind in range(len(tree.levels))
    ]
    known = {
        query: cells.values.take(arrow().array(in_order(cells.codes[names.codes == code])))
        for code, query in enumerate(words)
    }
    return Layout(tree, known, tuple(asked), tree.kind)


def _is_bureau(source: Path) -> bool:
    """Whether a path is a level such as `State.parquet`, or a directory of levels, and no output of
    `measure`."""
    if is_level(source):
        return True
    if not source.is_dir() or any(source.glob("measurements.*")):
        return False
    return any(path.is_dir() or "geocode" in open_table(path).names for path in source.glob("*.parquet"))


def read_any(
    sources: Sequence[TableSource],
    release: Release | None,
    units: TableSource | None,
    invariants: TableSource | None,
    within: str | None,
    streamed: bool | None,
    form: TableForm = PLAIN,
) -> Published:
    """Read the measurements of one release as they are: of `measure`, a noisy table, or of the Census Bureau,
    of which several levels may be named."""
    if not isinstance(sources[0], str | os.PathLike):
        if within is not None:
            raise InputError("within is for noisy measurements as the Census Bureau publishes them")
        return _read_in_memory(sources[0], release, units, invariants, form)
    source = Path(sources[0])
    if _is_bureau(source):
        if release is None:
            raise InputError(
                f"{source} has the layout of the Census Bureau's noisy measurements, which do not say what "
                "their queries mean; name the release (--release), such as pl94-2020"
            )
        if units is not None:
            raise InputError(
                f"{source} has the layout of the Census Bureau's noisy measurements, which have their areas "
                "with them: leave units out"
            )
        return read_bureau(sources, release, within=within, invariants=invariants)
    if within is not None:
        raise InputError("within is for noisy measurements as the Census Bureau publishes them")
    return read_published(
        source, release=release, units=units, invariants=invariants, streamed=streamed, form=form
    )
