"""Measurements in: the output of `measure`, or a noisy table alone, held in memory or streamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.budget import Release, load_file
from discreet.budget.noise_table import noises
from discreet.budget.variables import IN_UNITS_OF
from discreet.errors import InputError
from discreet.estimation.tree import Integers, Tree
from discreet.files import FilePath, sha256
from discreet.noise import DiscreteGaussian, Noise
from discreet.release.hierarchy.bureau import is_level, read_bureau
from discreet.release.hierarchy.held import exact_counts, read_held
from discreet.release.hierarchy.layout import (
    Laws,
    Layout,
    laws_of,
    lookup,
    positions,
    read_tree,
    read_units,
    tree_of,
    units_of,
)
from discreet.release.hierarchy.published import LARGEST, Published, in_memory, largest_of, published
from discreet.release.hierarchy.steps import check_steps, found_steps, unit_steps
from discreet.release.hierarchy.streamed import Streamed, row_groups
from discreet.release.tables import MARK, MARKED, arrow, find_output
from discreet.tables import (
    Codes,
    Problems,
    ReadTable,
    is_there,
    open_table,
    read_table,
    stop_unless_usable,
    table_format,
)

SMALLEST = 1e-300
"""The smallest variance: its inverse is a number."""

MOST_ROWS = 10_000_000
"""Rows of a table that are read into memory; a larger one is streamed if it is as `measure` writes it."""


def read_published(
    source: Path,
    *,
    release: Release | None = None,
    units: FilePath | None = None,
    invariants: FilePath | None = None,
    streamed: bool | None = None,
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
    attributes = None if stated is None else stated.attributes
    held, listed = invariants or find_output(folder, "invariants"), units or find_output(folder, "units")
    marked, found, rows = MARKED in file.name, None, 0
    if stated is not None and attributes is not None and listed and table_format(file) == "parquet":
        rows = row_groups(file).metadata.num_rows
        if rows > MOST_ROWS if streamed is None else streamed:
            found = Streamed(file, read_tree(listed, stated), stated, attributes)
    if found is not None:
        exact = {} if held is None else exact_counts(found.layout, read_held(held), stated)
        origin = {"role": "measurements", "sha256": sha256(file), "bytes": file.stat().st_size, "rows": rows}
        return published(found.layout, found, exact, attributes, "parquet", marked, origin)
    problems = Problems()
    table = read_table(
        file,
        words=["unit", "level", "query", "cell"],
        optional=[IN_UNITS_OF, MARK] if listed else [IN_UNITS_OF, "parent", MARK],
        whole=["value"],
        floats=["variance"],
        problems=problems,
    )
    areas = None if listed is None else read_units(listed, problems)
    kept = None if held is None else read_held(held, problems)
    stop_unless_usable(table, areas, kept)
    steps = found_steps(table) if stated is None else unit_steps(stated)
    check_steps(table, steps)
    layout, values, laws = _layout(table, areas, stated)
    exact, marked = {} if kept is None else exact_counts(layout, kept, stated), marked or MARK in table.words
    source_of = in_memory(layout, values, laws, attributes)
    origin = table.origin("measurements")
    return published(layout, source_of, exact, attributes, table.format, marked, origin, steps)


def with_zeros(one: Published, zeros: FilePath) -> Published:
    """Add values that some units cannot have: unit, and a column for each attribute that is named.

    What a unit cannot have, no unit within it can. Each row is a block of cells that are zero.
    """
    attributes, tree = one.attributes, one.tree
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
    exact, blocks = dict(one.exact), dict(one.blocks)
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
    return replace(one, exact=exact, blocks=blocks)


# -- tables that are held in memory ------------------------------------------------------------------------


def _layout(
    table: ReadTable, units: ReadTable | None, stated: Release | None
) -> tuple[Layout, Integers, Laws]:
    """Return where the cells of a table stand, its values there, and the laws of the noise.

    The laws are what the release says, or Gaussian ones of the variances in the table.
    """
    problems, value, sizes = table.problems, table.numbers["value"], table.numbers["variance"]
    if not table.rows:
        problems.at("the table has no rows")
        problems.stop()
    largest = LARGEST if stated is None else largest_of(stated)
    problems.rows(np.abs(value) > largest, f"a value is beyond {largest}", "value")
    # of a release that is known, noise of next to no variance is written as 0
    above = (sizes > 0) | ((sizes == 0) & (stated is not None))
    problems.rows(~(above & np.isfinite(sizes)), "a variance is not above zero", "variance")
    if stated is None:
        problems.rows((sizes > 0) & (sizes < SMALLEST), f"a variance is below {SMALLEST}", "variance")
    tree = tree_of(table, None) if units is None else tree_of(units, None, once=True)
    unit = units_of(table, tree, levels=True)
    layout = _found_layout(table, tree, unit)
    position, there = positions(layout, table, unit)
    if not there.all():
        missing = int(np.count_nonzero(~there))
        some = "1 cell is" if missing == 1 else f"{missing} cells are"
        problems.at(f"{some} missing: each area must have all cells of its level")
    problems.stop()
    names = table.words["query"]
    pair = tree.kind[unit] * len(names.values) + names.codes
    pairs, first, of = np.unique(pair, return_index=True, return_inverse=True)
    differs = sizes != sizes[first][of.ravel()]
    problems.rows(differs, "the variance differs within one level and query", "variance")
    problems.stop()
    known = {} if stated is None else noises(stated)
    laws: dict[tuple[str, str], Noise] = {}
    for at, size in zip(pairs.tolist(), sizes[first].tolist(), strict=True):
        kind, code = divmod(at, len(names.values))
        level, query = tree.levels[kind], names.values[code].as_py()
        law = known.get((level, query))
        if stated is not None and law is None:
            raise InputError(f"release {stated.name!r} has no query {query!r} at level {level!r}")
        if stated is not None and law is not None and abs(law.true_variance() - size) > 1e-6 * size:
            raise InputError(
                f"query {query!r} of level {level!r} has noise of variance {size:g}, which is not what the "
                f"release {stated.name!r} says"
            )
        laws[level, query] = law or DiscreteGaussian.of_true_variance(size)
    values = np.zeros(layout.size, dtype=np.int64)
    values[position] = value
    return layout, values, laws_of(layout, laws)


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


def is_bureau(source: Path) -> bool:
    """Whether a path is a level such as `State.parquet`, or a directory of levels, and no output of
    `measure`."""
    if is_level(source):
        return True
    if not source.is_dir() or any(source.glob("measurements.*")):
        return False
    return any(one.is_dir() or "geocode" in open_table(one).names for one in source.glob("*.parquet"))


def read_any(
    sources: Sequence[Path],
    release: Release | None,
    units: FilePath | None,
    invariants: FilePath | None,
    within: str | None,
    streamed: bool | None,
) -> Published:
    """Read the measurements of one release as they are: of `measure`, a noisy table, or of the Census Bureau,
    of which several levels may be named."""
    source = sources[0]
    if is_bureau(source):
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
    return read_published(source, release=release, units=units, invariants=invariants, streamed=streamed)
