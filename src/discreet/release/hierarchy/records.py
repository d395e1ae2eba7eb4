"""From records to the counts of every query at every level: sparse inside, checked first.

Records are coded as they are read (PyArrow, in memory: nothing confidential is left in temporary files). One
sort gives the detailed counts of the lowest units that are not zero; these are added up along the tree, and
to each query. Memory follows the records and the cells that get noise, not the product of everything.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from discreet.budget import Attributes, Release
from discreet.errors import InputError
from discreet.estimation.tables import detailed_cells, impossible_cells
from discreet.release.commit import free, staging
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.hierarchy.counts import CountTable
from discreet.release.hierarchy.layout import Layout
from discreet.release.hierarchy.noise import asked
from discreet.release.hierarchy.reading import ReadTable, coded, read_table
from discreet.release.hierarchy.tree import (
    Integers,
    Tree,
    arrange,
    check_levels,
    check_paths,
    listing,
    read_tree,
)
from discreet.release.hierarchy.writing import Folder, output_format

EXCESS = ("refuse", "keep")


@dataclass(frozen=True, slots=True)
class Tabulated:
    """What a tabulation wrote: exact counts, which are confidential."""

    out: Path
    records: int
    left_out: int
    units: int
    cells: int
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON shows: sizes that the release determines, and what was left out."""
        return {
            "out": str(self.out),
            "units": self.units,
            "cells": self.cells,
            "records": self.records,
            "left_out": self.left_out,
            "files": list(self.files),
        }

    def __str__(self) -> str:
        return f"{self.cells} exact counts of {self.units} units in {self.out}: confidential"


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of records, how many there were, and how many were left out."""

    counts: CountTable
    records: int
    left_out: int


def tabulate(
    release: Release,
    records: Any,
    out_dir: str | os.PathLike[str],
    *,
    units: str | os.PathLike[str],
    geocodes: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    excess: str = "refuse",
    format: str | None = None,
) -> Tabulated:
    """Count records for every query at every level and write the exact counts to a new directory.

    `records` is a file (CSV, Parquet) or a pandas, polars or Arrow table, one row a record: `unit`, its
    lowest unit, and one column for each attribute. `units` are all units (unit, level, parent); with
    `geocodes` such as "2,5,11" they are the lowest ones only, and their first letters name those above.
    `person` is a column that identifies people; one may have at most `at_most` records (1), and more are
    refused, or with excess="keep" that many are kept at random. The counts are confidential: they are what
    `measure` takes.
    """
    free(out_dir)
    found = count_records(
        release, records, units=units, geocodes=geocodes, person=person, at_most=at_most, excess=excess
    )
    kind = output_format(format, found.counts.format)
    layout = found.counts.layout
    with staging(out_dir) as stage:
        folder = Folder(stage.path, kind)
        folder.cells("counts", layout, lambda units, _: {"count": found.counts.read(units)})
        folder.units(layout.tree)
        folder.json(
            "manifest",
            {
                "format": "discreet counts 1",
                "confidential": "exact counts, without noise: not for publication",
                "version": version("discreet"),
                "release": release.name,
                "units": layout.tree.size,
                "cells": layout.size,
            },
        )
        stage.commit()
    names = tuple(folder.names)
    return Tabulated(Path(out_dir), found.records, found.left_out, layout.tree.size, layout.size, names)


def count_records(
    release: Release,
    records: Any,
    *,
    units: str | os.PathLike[str] | None,
    geocodes: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    excess: str = "refuse",
) -> Counted:
    """Validate records and count them; every problem that is found is reported, with its line."""
    attributes = release.attributes
    if attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its queries cannot be counted")
    if units is None:
        raise InputError("records need a table of units: all units, inhabited or not, must be known")
    if excess not in EXCESS:
        raise InputError(f"excess is {excess!r}; it must be refuse or keep")
    if at_most is not None and (isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 1):
        raise InputError(f"at_most is {at_most!r}; it must be a whole number above zero")
    if at_most is not None and person is None:
        raise InputError("a limit on records per person needs a column that identifies people (person)")
    tree = read_tree(units, release) if geocodes is None else _nested(units, release, geocodes)
    table = _read(records, ["unit", *attributes.names, *([person] if person else [])])
    kept = np.ones(table.rows, dtype=bool)
    if person is not None:
        kept = _at_most(table, person, at_most or 1, excess)
    unit, cell = _codes(table, tree, attributes)
    layout = Layout(
        tree,
        {
            query: strings(list(attributes.tabulation(query).labels))
            for query in dict.fromkeys(one.name for level in release.levels for one in level.queries)
        },
        asked(release, tree.levels),
        tree.level,
    )
    rows, left_out = table.rows, int(np.count_nonzero(~kept))
    origin = table.origin("records")
    kind = table.format
    del table
    if left_out:
        unit, cell = unit[kept], cell[kept]
    read = _sums(layout, attributes, unit, cell)
    return Counted(CountTable(layout, read, (origin,), kind), rows, left_out)


def _sums(layout: Layout, attributes: Attributes, unit: Integers, cell: Integers) -> Any:
    """Return a function that gives the counts of all cells of all queries of some units.

    Kept are the detailed counts that are not zero, sorted by unit; what is dense is made unit by unit.
    """
    tree, many = layout.tree, attributes.cells
    depth = np.searchsorted(np.array(tree.starts), np.arange(tree.size), side="right") - 1
    key = unit * many + cell
    key.sort()
    keys, counts = _distinct(key, None)
    del key
    kept: list[tuple[Integers, Integers]] = []
    # leaves may lie at several depths: units join where their depth is reached
    for level in range(len(tree.starts) - 1, -1, -1):
        at = keys // many
        here = depth[at] == level
        kept.append((keys[here], counts[here]))
        if level:
            moved = np.where(here, tree.parent[at], at) * many + keys % many
            order = np.argsort(moved, kind="stable")
            keys, counts = _distinct(moved[order], counts[order])
    every = [np.concatenate(parts) for parts in zip(*reversed(kept), strict=True)]
    index = {query: detailed_cells(attributes, query, written=True) for query in layout.queries}
    sizes = {query: len(layout.cells[query]) for query in layout.queries}

    def read(units: slice) -> Integers:
        first, last = np.searchsorted(every[0], [units.start * many, units.stop * many])
        at, inside = np.divmod(every[0][first:last], many)
        number = every[1][first:last]
        base = layout.base[units.start]
        vector = np.zeros(int(layout.base[units.stop] - base), dtype=np.int64)
        kinds = layout.kind[at]
        for kind in np.unique(kinds):
            mine = kinds == kind
            start = layout.base[at[mine]] - base
            for query in layout.asked[kind]:
                place = start + layout.offset(int(kind), query) + index[query][inside[mine]]
                if sizes[query] == many:
                    vector[place] = number[mine]  # each cell comes once
                else:
                    order = np.argsort(place, kind="stable")
                    where, sums = _distinct(place[order], number[mine][order])
                    vector[where] = sums
        return vector

    return read


def _distinct(keys: Integers, counts: Integers | None) -> tuple[Integers, Integers]:
    """Return the distinct ones of sorted keys, and the sums of their counts (1 each if there are none)."""
    begin = np.flatnonzero(np.diff(keys, prepend=-1))
    if counts is None:
        return keys[begin], np.diff(np.append(begin, len(keys)))
    return keys[begin], np.add.reduceat(counts, begin) if len(begin) else counts


def _codes(table: ReadTable, tree: Tree, attributes: Attributes) -> tuple[Integers, Integers]:
    """Return the unit and the detailed cell of each record, or report what cannot be."""
    problems = table.problems()
    if not table.rows:
        problems.say("there are no records")
        problems.stop()
    pc = arrow("compute")
    words = table.words["unit"]
    place = np.append(pc.index_in(words.values, value_set=tree.names).fill_null(-1).to_numpy(), -1)
    unit = place[words.codes].astype(np.int64)
    problems.rows(unit < 0, "a unit that is not among the units", "unit")
    leaf = np.ones(tree.size + 1, dtype=bool)
    leaf[tree.parent] = False
    problems.rows(
        (unit >= 0) & ~leaf[unit], "a unit with others below it: records are in the lowest units", "unit"
    )
    cell = np.zeros(table.rows, dtype=np.int64)
    bad = np.zeros(table.rows, dtype=bool)
    for name, values in attributes.values:
        column = table.words[name]
        rank = np.append(
            pc.index_in(column.values, value_set=strings(list(values))).fill_null(-1).to_numpy(), -1
        )
        code = rank[column.codes].astype(np.int64)
        problems.rows(code < 0, f"a value that attribute {name!r} does not have", name)
        bad |= code < 0
        cell = cell * len(values) + code
    inside = np.where(bad, 0, cell)
    wrong = impossible_cells(attributes)[inside] & ~bad
    problems.rows(wrong, "a combination of values that the release says cannot be", "all")
    problems.stop()
    return unit, cell


def _at_most(table: ReadTable, person: str, most: int, excess: str) -> Any:
    """Return which records count: at most so many of a person."""
    codes = table.words[person].codes
    many = np.bincount(codes, minlength=1)
    if not np.any(many > most):
        return np.ones(table.rows, dtype=bool)
    # places of each person's records in a random order, from the system's random bits
    order = np.random.default_rng(secrets.randbits(256)).permutation(table.rows)
    if excess == "refuse":
        order = np.arange(table.rows)
    by = order[np.argsort(codes[order], kind="stable")]
    start = np.concatenate([[0], np.cumsum(many)])[codes[by]]
    kept = np.zeros(table.rows, dtype=bool)
    kept[by] = np.arange(table.rows) - start < most
    if excess == "refuse":
        problems = table.problems()
        text = "an identifier occurs twice" if most == 1 else f"an identifier occurs more than {most} times"
        problems.rows(~kept, f"{text}; --at-most says how often it may", person)
        problems.stop()
    return kept


def _read(records: Any, columns: list[str]) -> ReadTable:
    """Read records from a file, or from a pandas, polars or Arrow table."""
    if isinstance(records, str | os.PathLike):
        return read_table(records, words=columns)
    pa = arrow()
    if hasattr(records, "to_arrow"):
        table = records.to_arrow()
    elif isinstance(records, pa.Table):
        table = records
    elif hasattr(records, "columns") and hasattr(records, "iloc"):
        table = pa.Table.from_pandas(records, preserve_index=False)
    else:
        raise InputError(
            f"records are of type {type(records).__name__}; a file or a pandas, polars or Arrow "
            "table is needed"
        )
    for name in columns:
        if name not in table.column_names:
            raise InputError(f"the records have no column {name}; they must have {', '.join(columns)}")
    words = {name: coded(table.column(name)) for name in columns}
    digest = hashlib.sha256()
    for word in words.values():
        digest.update(word.codes.tobytes() + "\n".join(word.values.to_pylist()).encode())
    size = sum(word.codes.nbytes for word in words.values())
    return ReadTable(Path("records"), "parquet", digest.hexdigest(), size, table.num_rows, words, {})


def _nested(path: str | os.PathLike[str], release: Release, geocodes: str) -> Tree:
    """Build the tree of units whose codes nest by prefix, from the lowest ones."""
    names = [level.name for level in release.levels]
    try:
        lengths = [int(part) for part in geocodes.split(",")]
    except ValueError:
        lengths = []
    if not lengths or sorted(set(lengths)) != lengths or lengths[0] < 1:
        raise InputError(f"geocodes is {geocodes!r}; it must be rising lengths such as 2,5,11")
    if len(names) - len(lengths) not in (0, 1):
        raise InputError(
            f"geocodes has {len(lengths)} lengths; the levels {', '.join(names)} need {len(names)}, or one "
            "fewer if the top is one unit"
        )
    table = read_table(path, words=["unit"])
    problems = table.problems()
    codes = table.words["unit"].values.to_pylist()
    wrong = np.array([len(code) != lengths[-1] for code in codes] + [False])
    problems.rows(wrong[table.words["unit"].codes], f"a geocode that has not {lengths[-1]} letters", "unit")
    problems.stop()
    top = len(names) > len(lengths)
    rows = [(names[0], names[0], "")] if top else []
    for place, length in enumerate(lengths):
        for code in sorted({one[:length] for one in codes}):
            above = code[: lengths[place - 1]] if place else names[0] if top else ""
            rows.append((code, names[place + top], above))
    units, levels, parents = ([row[column] for row in rows] for column in range(3))
    words = {
        key: coded(arrow().chunked_array([strings(some)]))
        for key, some in zip(("unit", "level", "parent"), (units, levels, parents), strict=True)
    }
    made = ReadTable(Path(path), table.format, table.sha256, table.size, len(rows), words, {})
    report = made.problems()
    found = listing(made, report)
    check_levels(found, release, report)
    report.stop()
    tree, rank = arrange(found)
    check_paths(tree, found, rank, release, report)
    report.stop()
    return tree
