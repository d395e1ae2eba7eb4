"""Exact counts: from a table of them, or from records, validated to the last row before any number is used.

Records are coded as they are read (PyArrow, in memory: nothing confidential is left in temporary files). One
sort gives the detailed counts of the lowest units that are not zero; these are added up along the tree, and
to each query. Memory follows the records and the cells that get noise, not the product of everything.

`measure`: from a table of counts to noisy measurements, estimates and a ledger entry, all or nothing.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.budget import Attributes, Release
from discreet.errors import InputError
from discreet.estimation.model import noises, queries_of
from discreet.estimation.tables import check_whole, detailed_cells, impossible_cells, shared_cells
from discreet.estimation.tree import Floats, Integers, Tree
from discreet.files import FilePath, sha256
from discreet.noise import Entropy, sample
from discreet.numbers import whole
from discreet.release.commit import free, open_ledger, staging
from discreet.release.hierarchy.estimates import JointEstimates, write_estimates
from discreet.release.hierarchy.layout import (
    Layout,
    declared_cells,
    found_cells,
    lookup,
    nested_tree,
    positions,
    read_tree,
    read_units,
    tree_of,
    units_of,
)
from discreet.release.hierarchy.measurements import (
    Exact,
    Laws,
    check_cells,
    in_memory,
    laws_of,
    published,
    variances_of,
)
from discreet.release.ledger import NOT_PRIVATE, Entry, find_ledger, now, rehearsal_entropy, several, spent
from discreet.release.signing import read_key
from discreet.release.tables import (
    Folder,
    Numbers,
    Problems,
    ReadTable,
    TableSource,
    json_fields,
    output_format,
    read_table,
    strings,
    table_format,
)

# -- counts ------------------------------------------------------------------------------------------------

LARGEST = 10**12
"""The largest count: so that no arithmetic that follows can lose a digit."""

_BLOCK = 1 << 21


@dataclass(frozen=True, slots=True)
class CountTable:
    """Validated counts: where each cell stands, what was read, and the counts of any units."""

    layout: Layout
    read: Callable[[slice], Integers]
    """The counts of some units, one after the other; a new array each time."""
    inputs: tuple[dict[str, object], ...]
    format: str
    records: int = 0
    """How many records there were, and how many of them were left out."""
    left_out: int = 0


def read_counts(
    release: Release,
    counts: TableSource,
    *,
    units: TableSource = None,
    cells: TableSource = None,
    additive: bool = True,
) -> CountTable:
    """Read and check a table of counts; every problem that is found is reported, with its line."""
    listed = None if units is None else read_units(units)
    declared = None if cells is None else read_table(cells, words=["query", "cell"], name="cells")
    optional = ["parent"] if listed is None else []
    words = ["unit", "level", "query", "cell"]
    table = read_table(counts, words=words, optional=optional, whole=["count"], name="counts")
    problems = table.problems
    if not table.rows and (listed is None or declared is None):
        problems.at("the table has no rows")
        problems.stop()
    problems.rows(table.numbers["count"] < 0, "a count is below zero", "count")
    problems.rows(table.numbers["count"] > LARGEST, f"a count is above {LARGEST}", "count")
    tree = tree_of(table, release) if listed is None else tree_of(listed, release, once=True)
    unit = units_of(table, tree, levels=True)
    queries, attributes = queries_of(release), release.attributes
    known = found_cells(table, queries) if declared is None else declared_cells(declared, queries)
    if attributes is not None:  # they say which cells there are, and in which order
        if declared is not None:
            check_cells(Layout.of(release, tree, known), attributes)
        known = {query: strings(list(attributes.tabulation(query).labels)) for query in queries}
    layout = Layout.of(release, tree, known)
    position, there = positions(layout, table, unit)
    problems.stop()
    if declared is None:
        _check_complete(layout, there, position, problems, found=attributes is None)
        problems.stop()
    vector = np.zeros(layout.size, dtype=np.int64)
    vector[position] = table.numbers["count"]
    if attributes is not None:
        _check_possible(layout, vector, position, attributes, problems)
    if additive:
        _check_sums(layout, vector, position, problems)
        if attributes is not None:
            _check_queries(layout, vector, position, attributes, problems)
    problems.stop()
    given = {"counts": table, "units": listed, "cells": declared}
    origins = tuple(one.origin(role) for role, one in given.items() if one is not None)

    def read(units: slice) -> Integers:
        return vector[layout.base[units.start] : layout.base[units.stop]].copy()

    return CountTable(layout, read, origins, table.format)


def _check_complete(
    layout: Layout, there: NDArray[np.bool_], position: Integers, problems: Problems, *, found: bool
) -> None:
    """Without declared cells, every unit must have every cell of its queries, zeros included.

    Cells that were only `found` in the table may be mistakes, if few units have them.
    """
    for query in layout.queries:
        if not len(layout.cells[query]):
            problems.at(f"there are no rows of query {query!r}")
    missing = layout.size - int(np.count_nonzero(there))
    if not missing:
        return
    for query in layout.queries if found else ():
        first = layout.first(query)
        first = first[first >= 0]
        for cell in range(len(layout.cells[query])):
            have = int(np.count_nonzero(there[first + cell]))
            if 2 * have < first.size:
                mine = np.zeros(layout.size + 1, dtype=bool)
                mine[first + cell] = True
                row = int(np.flatnonzero(mine[position])[0])
                problems.row(row, f"unknown cell: only {have} of {first.size} areas have it", "cell")
    hole = int(np.flatnonzero(~there)[0])
    unit = int(np.searchsorted(layout.base, hole, side="right")) - 1
    starts = {int(layout.first(query)[unit]): query for query in layout.asked[layout.kind[unit]]}
    query = starts[max(start for start in starts if start <= hole)]
    rows = np.flatnonzero((position >= layout.base[unit]) & (position < layout.base[unit + 1]))
    who = f"the area of {problems.line(int(rows[0]))}" if rows.size else "an area without rows"
    some = "1 cell is" if missing == 1 else f"{missing} cells are"
    problems.at(
        f"{some} missing: {who} lacks a cell of query {query!r}; an area must have every cell of its "
        "queries, zeros included, or the cells must be declared in a table of cells (query, cell)"
    )


def _check_sums(layout: Layout, vector: Integers, position: Integers, problems: Problems) -> None:
    """Children must add up to their parents: else a record is counted twice, or not on every level.

    Where a query is not asked in a unit, the sum of its children stands for it, if all of them have one.
    """
    tree = layout.tree
    for query in layout.queries:
        first, width = layout.first(query), len(layout.cells[query])
        step = max(1, _BLOCK // max(tree.size, 1))
        for start in range(0, width, step):
            cells = np.arange(start, min(start + step, width))
            known = first >= 0
            sums = np.where(known[:, None], vector[np.maximum(first, 0)[:, None] + cells], 0)
            for part in reversed(tree.depths[1:]):
                begin = np.flatnonzero(np.diff(tree.parent[part], prepend=-1))
                above = tree.parent[part][begin]
                whole = np.logical_and.reduceat(known[part], begin)
                above, below = above[whole], np.add.reduceat(sums[part], begin, axis=0)[whole]
                wrong = (first[above] >= 0)[:, None] & (sums[above] != below)
                if wrong.any():
                    rows = np.flatnonzero(position >= first[above[np.argwhere(wrong)[0][0]]])
                    problems.row(
                        int(rows[np.argmin(position[rows])]) if rows.size else 0,
                        "a count is not the sum of its children's, so some record is counted twice or not on "
                        "every level (additive=False, or --not-additive, leaves this unchecked, for tables "
                        "not to be made consistent)",
                        "count",
                    )
                    return
                sums[above], known[above] = below, True


def _check_possible(
    layout: Layout, vector: Integers, position: Integers, attributes: Attributes, problems: Problems
) -> None:
    """No count of what the attributes say cannot be may be above zero."""
    if not attributes.impossible:
        return
    possible, wrong = ~impossible_cells(attributes), np.zeros(layout.size, dtype=bool)
    for query in layout.queries:
        index = detailed_cells(attributes, query, written=True)
        never = np.flatnonzero(np.bincount(index, possible, len(layout.cells[query])) == 0.0)
        first = layout.first(query)
        wrong[(first[first >= 0][:, None] + never).ravel()] = True
    wrong &= vector > 0
    problems.rows(
        wrong[position], "a count of a combination of values that the release declares impossible", "count"
    )


def _check_queries(
    layout: Layout, vector: Integers, position: Integers, attributes: Attributes, problems: Problems
) -> None:
    """The queries of a unit must agree, since the attributes say how they overlap.

    Two of them are compared by what both can tell. Those that a finer one tells need no more comparisons.
    """
    index = {query: detailed_cells(attributes, query, written=True) for query in layout.queries}
    tables = {query: attributes.tabulation(query) for query in layout.queries}
    for kind, queries in enumerate(layout.asked):
        units = np.flatnonzero(layout.kind == kind)
        finest: list[str] = []
        for coarse in sorted(queries, key=lambda query: -tables[query].cells):
            told = False
            for fine in finest:
                shared = shared_cells(attributes, fine, coarse)
                told = len(np.unique(shared)) == tables[coarse].cells
                sums = [_margin(layout, vector, units, one, index[one], shared) for one in (fine, coarse)]
                wrong = np.flatnonzero((sums[0] != sums[1]).any(axis=1))
                if wrong.size:
                    at = layout.first(coarse)[units[wrong[0]]]
                    rows = np.flatnonzero((position >= at) & (position < at + tables[coarse].cells))
                    problems.row(
                        int(rows.min(initial=len(position) - 1)),
                        f"the counts of query {coarse!r} are not the sums of those of {fine!r} that the "
                        "attributes say they are (additive=False, or --not-additive, leaves this unchecked)",
                        "count",
                    )
                    return
                if told:
                    break
            if not told:
                finest.append(coarse)


def _margin(
    layout: Layout, vector: Integers, units: Integers, query: str, index: Integers, shared: Integers
) -> Integers:
    """Return sums of the cells of a query, one row a unit, by what `shared` says of the detailed cells."""
    of = np.empty(len(layout.cells[query]), dtype=np.int64)
    of[index] = shared
    order = np.argsort(of, kind="stable")
    begin = np.flatnonzero(np.diff(of[order], prepend=-1))
    found = np.empty((len(units), len(begin)), dtype=np.int64)
    step = max(1, _BLOCK // len(of))
    for start in range(0, len(units), step):
        some = units[start : start + step]
        rows = vector[layout.first(query)[some][:, None] + order]
        found[start : start + step] = np.add.reduceat(rows, begin, axis=1)
    return found


def level_pairs(release: Release, pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Check pairs of a level and one of its queries, such as those to hold exact."""
    for level, query in pairs:
        queries = {one.name: [q.name for q in one.queries] for one in release.levels}
        if level not in queries:
            raise InputError(f"invariants name level {level!r}; the release has {', '.join(queries)}")
        if query not in queries[level]:
            raise InputError(
                f"invariants name query {query!r} of level {level!r}, which has {', '.join(queries[level])}"
            )
    return tuple(dict.fromkeys((level, query) for level, query in pairs))


# -- records -----------------------------------------------------------------------------------------------

EXCESS = ("refuse", "keep")

COUNTS = "discreet counts 1"
"""The format of what `tabulate` writes."""


@dataclass(frozen=True, slots=True)
class Tabulated:
    """What a tabulation wrote: exact counts, which are confidential."""

    out: Path
    units: int
    cells: int
    records: int
    left_out: int
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """Return what JSON shows: sizes that the release determines, and what was left out."""
        return json_fields(self)

    def __str__(self) -> str:
        return f"{self.cells} exact counts of {self.units} areas in {self.out}: confidential"


def tabulate(
    release: Release,
    records: TableSource,
    out_dir: FilePath,
    *,
    units: TableSource,
    geocodes: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    excess: str = "refuse",
    format: str | None = None,
) -> Tabulated:
    """Count records for every query at every level and write the exact counts to a new directory.

    `records` is a file (CSV, Parquet) or a pandas, polars or Arrow table, one row a record: `unit`, its
    lowest unit, and one column for each attribute. `units`, a table too, are all of them (unit, level,
    parent); with `geocodes` such as "2,5,11" they are the lowest ones only, and their first letters name
    those above. `person` is a column that identifies people; one may have at most `at_most` records (1), and
    more are refused, or with excess="keep" that many are kept at random. The counts are confidential: they
    are what `measure` takes.
    """
    free(out_dir)
    found = count_records(
        release, records, units=units, geocodes=geocodes, person=person, at_most=at_most, excess=excess
    )
    kind = output_format(format, found.format)
    layout = found.layout
    with staging(out_dir, confidential=True) as stage:
        folder = Folder(stage.path, kind)
        folder.cells("counts", (layout, lambda units, _: {"count": found.read(units)}))
        folder.units(layout.tree)
        folder.json(
            "manifest",
            {
                "format": COUNTS,
                "confidential": "exact counts, without noise: not for publication",
                "version": version("discreet"),
                "release": release.name,
                "at_most": at_most or 1,
                "units": layout.tree.size,
                "cells": layout.size,
            },
        )
        stage.commit()
    names = tuple(folder.names)
    return Tabulated(Path(out_dir), layout.tree.size, layout.size, found.records, found.left_out, names)


def count_records(
    release: Release,
    records: TableSource,
    *,
    units: TableSource,
    geocodes: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    excess: str = "refuse",
) -> CountTable:
    """Validate records and count them; every problem that is found is reported, with its line."""
    attributes = release.attributes
    if attributes is None:
        raise InputError(f"release {release.name!r} states no attributes, so its queries cannot be counted")
    if units is None:
        raise InputError("records need a table of areas: all areas, inhabited or not, must be known")
    if excess not in EXCESS:
        raise InputError(f"excess is {excess!r}; it must be refuse or keep")
    if at_most is not None:
        whole(at_most, name="at_most")
    if at_most is not None and person is None:
        raise InputError("a limit on records per person needs a column that identifies people (--id)")
    tree = read_tree(units, release) if geocodes is None else nested_tree(units, release, geocodes)
    wanted = dict.fromkeys(["unit", *attributes.names, *([person] if person else [])])
    table = read_table(records, words=list(wanted), name="records", of="records")
    kept = (
        np.ones(table.rows, dtype=bool) if person is None else _at_most(table, person, at_most or 1, excess)
    )
    unit, cell = _codes(table, tree, attributes)
    tables = {query: attributes.tabulation(query) for query in queries_of(release)}
    layout = Layout.of(release, tree, {query: strings(list(one.labels)) for query, one in tables.items()})
    left_out = int(np.count_nonzero(~kept))
    if left_out:
        unit, cell = unit[kept], cell[kept]
    told = (table.origin("records"),), table.format, table.rows, left_out
    del table
    return CountTable(layout, _sums(layout, attributes, unit, cell), *told)


def _sums(
    layout: Layout, attributes: Attributes, unit: Integers, cell: Integers
) -> Callable[[slice], Integers]:
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
    problems, unit = table.problems, units_of(table, tree)
    problems.rows(
        (unit >= 0) & ~tree.leaf[unit],
        "an area with others below it: records are in the lowest areas",
        "unit",
    )
    cell = np.zeros(table.rows, dtype=np.int64)
    bad = np.zeros(table.rows, dtype=bool)
    for name, values in attributes.values:
        code = lookup(table.words[name], values).astype(np.int64)
        problems.rows(code < 0, f"a value that attribute {name!r} does not have", name)
        bad |= code < 0
        cell = cell * len(values) + code
    inside = np.where(bad, 0, cell)
    wrong = impossible_cells(attributes)[inside] & ~bad
    problems.rows(wrong, "a combination of values that the release declares impossible", "all")
    problems.stop()
    return unit, cell


def _at_most(table: ReadTable, person: str, most: int, excess: str) -> NDArray[np.bool_]:
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
        text = "an identifier occurs twice" if most == 1 else f"an identifier occurs more than {most} times"
        table.problems.rows(~kept, f"{text}; --at-most says how often it may", person)
        table.problems.stop()
    return kept


def records_of_one(counts: TableSource, at_most: int | None) -> int:
    """Return how many records of a person a table of counts may hold: as stated, or as `tabulate` noted."""
    noted = 1
    if isinstance(counts, str | os.PathLike) and Path(counts).stem == "counts":
        with suppress(OSError, ValueError, RecursionError):
            said = json.loads((Path(counts).parent / "manifest.json").read_text(encoding="utf-8"))
            if isinstance(said, dict) and said.get("format") == COUNTS:
                noted = whole(said.get("at_most", 1), name="at_most")
    if at_most is None:
        return noted
    if whole(at_most, name="at_most") < noted:
        raise InputError(
            f"at_most is {at_most}, but the manifest beside {counts} says that a person may have {noted} "
            "records in it"
        )
    return at_most


# -- an example --------------------------------------------------------------------------------------------

EXAMPLE = ("release.toml", "units.csv", "records.csv")


def write_example(folder: FilePath) -> tuple[Path, ...]:
    """Write the release, the units and the records of the health survey to a folder; nothing is overwritten.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_example(folder)]
    ['release.toml', 'units.csv', 'records.csv']
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    source = files("discreet.release") / "examples" / "health-survey"
    made = tuple(target / name for name in EXAMPLE)
    for path in made:
        if path.exists():
            raise InputError(f"{path} exists; nothing is overwritten")
    for path in made:
        path.write_text((source / path.name).read_text(encoding="utf-8"), encoding="utf-8")
    return made


# -- measurements ------------------------------------------------------------------------------------------

POSTS = ("none", "nonnegative", "consistent")
"""Estimates beside the measurements: none, values below zero set to zero, or those of `estimate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run wrote, and what it spent."""

    name: str
    unit: str
    neighbours: str
    rho: Fraction
    at_most: int
    rehearsal: int | None
    not_private: bool
    exact: tuple[tuple[str, str], ...]
    post: str
    units: int
    cells: int
    out: Path
    files: tuple[str, ...]
    ledger: Path | None

    def as_dict(self) -> dict[str, object]:
        """Return what JSON says."""
        pairs = [list(pair) for pair in self.exact]
        return json_fields(self, name="release") | {"rho": str(self.rho), "exact": pairs}

    def __str__(self) -> str:
        cost = f"rho {self.rho}" if self.rehearsal is None else f"{NOT_PRIVATE}, seed {self.rehearsal}"
        cost += f", {several(self.unit, self.at_most)}" if self.at_most > 1 else ""
        return (
            f"{self.name}: {self.cells} noisy cells of {self.units} areas in {self.out}, {cost}\n"
            f"  {', '.join(self.files)}\n  {f'ledger {self.ledger}' if self.ledger else 'no ledger'}"
        )


def measure(
    release: Release,
    counts: TableSource,
    out_dir: FilePath,
    *,
    post: str = "none",
    units: TableSource = None,
    cells: TableSource = None,
    records: TableSource = None,
    geocodes: str | None = None,
    person: str | None = None,
    at_most: int | None = None,
    excess: str = "refuse",
    invariants: Sequence[tuple[str, str]] = (),
    ledger: FilePath | None = None,
    key: FilePath | None = None,
    spend_again: bool = False,
    rehearsal: int | None = None,
    additive: bool = True,
    format: str | None = None,
    for_spreadsheets: bool = False,
) -> Measured:
    """Add the noise of `release` to a table of counts and write the result to a new directory `out_dir`.

    `counts` has the columns unit, parent, level, query, cell and count (a file, CSV or Parquet, or a pandas,
    polars or Arrow table, as are the other tables). `units` (unit, level, parent) may state the tree instead,
    `cells` (query, cell) the cells, so that rows with zeros may be
    left out. Instead of counts, `records` may be given with all `units`: they are counted as `tabulate`
    does, with its `geocodes`, `person`, `at_most` and `excess`. A person with up to `at_most` records changes
    a count by as much: the noise stays as the release states it, and what is spent and noted is the cost for
    that many people. For counts, `at_most` states it; of those that `tabulate` wrote, it is known.
    `invariants` are pairs of a level and a query that are held exact, outside the guarantee. `ledger` is the
    ledger of the population; without it, the one that the environment names (DISCREET_LEDGER) or
    `discreet-ledger.json` beside the counts is used, and if there is none, nothing is noted. `key` is the
    file of the key if the ledger is signed. Counts that the ledger has a run of are refused unless
    `spend_again`. `rehearsal` is a seed: reproducible noise that protects nobody, in files marked so. Tables
    are written in the `format` of the counts, or another; `for_spreadsheets` puts an apostrophe before names
    that a spreadsheet would take for a formula.

    Guarantee. Assumed: one record is counted in one unit of each level, along the tree, and as often as
    the release says; the units and cells do not depend on the records; the system's random bits are good.
    Claimed: what is written, but for invariants and the ledger (which holds a hash of the input and is not
    published), is the release's mechanism on the counts, with the noise of `discreet.noise`, and functions of
    its outcome. So it costs what `release.account(people=at_most)` says. Output and ledger entry both appear,
    or neither.
    """
    if post not in POSTS:
        raise InputError(f"post is {post!r}; it must be none, nonnegative or consistent")
    if (counts is None) == (records is None):
        given = "neither is" if counts is None else "both are"
        raise InputError(f"give either counts or records; {given} given")
    if records is None and (geocodes is not None or person is not None):
        raise InputError("geocodes and person (--geocodes, --id) need records; counts have neither")
    origin = records if counts is None else counts
    origin = origin if isinstance(origin, str | os.PathLike) else Path("records.parquet")
    kind = output_format(format, "" if format else table_format(origin), for_spreadsheets=for_spreadsheets)
    pairs = level_pairs(release, invariants)
    source = rehearsal_entropy(rehearsal)
    if post == "consistent" and not additive:
        raise InputError(
            "post is consistent, which needs counts that add up; leave additive=False (--not-additive) out"
        )
    table = noises(release)
    most = (at_most or 1) if counts is None else records_of_one(counts, at_most)
    free(out_dir)
    named = find_ledger(ledger, origin)
    signer = None if named is None else read_key(key)
    shared, before = (None, None) if named is None else open_ledger(named, out_dir, key=signer)
    if counts is not None:
        found = read_counts(release, counts, units=units, cells=cells, additive=additive)
    else:
        found = count_records(
            release, records, units=units, geocodes=geocodes, person=person, at_most=at_most, excess=excess
        )
    layout = found.layout
    entry = Entry(
        id="",
        time=now(),
        version=version("discreet"),
        command="measure",
        release=release.for_people(most),
        at_most=most,
        rehearsal=rehearsal,
        inputs=found.inputs,
        tree=layout.tree.digest,
        exact=pairs,
    )
    if before is not None:
        before.allow(entry, where=str(named), again=spend_again)
    run = _Run(release, most, found, pairs, _exact(found, pairs), laws_of(layout, table), source, post)
    if post == "consistent":  # what cannot be done is said before any noise is drawn
        check_whole(release, layout.tree, run.exact)
    with staging(out_dir, shared, key=signer) as stage:
        mark = None if rehearsal is None else f"{NOT_PRIVATE}: rehearsal with seed {rehearsal}"
        folder = Folder(stage.path, kind, mark=mark, for_spreadsheets=for_spreadsheets)
        run.write(folder)
        files = {name: sha256(stage.path / name) for name in folder.names}
        entry = replace(entry, id=stage.id, files=files)
        stage.commit(entry, manifest=folder.names[-1], again=spend_again)
    return Measured(
        name=release.name,
        unit=release.unit,
        neighbours=release.neighbours,
        rho=entry.rho,
        at_most=most,
        rehearsal=rehearsal,
        not_private=rehearsal is not None,
        exact=pairs,
        post=post,
        units=layout.tree.size,
        cells=layout.size,
        out=Path(out_dir),
        files=tuple(folder.names),
        ledger=named,
    )


@dataclass(frozen=True)
class _Run:
    """All that a run writes of: validated counts, what is held exact, and the noise to be drawn."""

    release: Release
    at_most: int
    found: CountTable
    pairs: tuple[tuple[str, str], ...]
    exact: Exact
    laws: Laws
    source: Entropy | None
    post: str

    def write(self, folder: Folder) -> None:
        """Draw the noise, once, and write what comes of it, some units at a time."""
        layout = self.found.layout
        drawn = _drawn(self.found, self.laws, self.source)
        kept = None if self.post == "none" else np.empty(layout.size, dtype=np.int64)
        pattern = variances_of(layout, self.laws)

        def measured(units: slice, rows: slice) -> dict[str, Numbers]:
            values = drawn(rows.stop - rows.start)
            if kept is not None:
                kept[rows] = values
            return {"value": values, "variance": pattern[layout.columns(units)]}

        folder.cells("measurements", (layout, measured))
        columns = {"measurements": {"variance": "the variance of the noise"}}
        if kept is not None:
            columns["estimates"] = self._estimates(folder, kept, pattern)
        folder.units(layout.tree)
        if self.exact:
            folder.cells("invariants", _held(layout, self.exact))
        folder.text("release", "toml", self.release.to_toml())
        folder.json(
            "manifest",
            {
                "format": "discreet measurements 1",
                "version": version("discreet"),
                "release": self.release.name,
                "post": self.post,
                "rho": str(spent(self.release.for_people(self.at_most))),
                "at_most": self.at_most,
                "units": layout.tree.size,
                "cells": layout.size,
                "columns": columns,
                "exact": [list(pair) for pair in self.pairs],
                "noise": _noise_table(layout, self.laws),
            },
        )

    def _estimates(self, folder: Folder, values: Integers, pattern: Floats) -> dict[str, str]:
        """Write the estimates that are asked for; return what their columns are."""
        layout, exact = self.found.layout, self.exact
        if self.post == "consistent":
            attributes = self.release.attributes
            source = in_memory(layout, values, self.laws, attributes)
            given = published(layout, source, exact, attributes, folder.kind)
            return write_estimates(folder, JointEstimates.of([given]), tables=True).columns
        estimate, variance = np.maximum(values, 0), pattern[layout.columns(slice(0, layout.tree.size))]
        for query, (who, counts) in exact.items():
            rows = layout.first(query)[who][:, None] + np.arange(counts.shape[1])
            estimate[rows], variance[rows] = counts, 0.0
        folder.cells("estimates", (layout, {"estimate": estimate, "variance": variance}))
        return {"variance": "the variance of the noise, before values below zero were set to zero"}


def _held(layout: Layout, exact: Exact) -> tuple[Layout, dict[str, Integers]]:
    """Lay out the counts that are held exact as a table of their own."""
    masks = np.zeros((len(exact), layout.tree.size), dtype=bool)
    for place, (who, _) in enumerate(exact.values()):
        masks[place, who] = True
    kinds, kind = np.unique(masks, axis=1, return_inverse=True)
    asked = tuple(tuple(query for query, on in zip(exact, one, strict=True) if on) for one in kinds.T)
    part = Layout(layout.tree, layout.cells, asked, kind.ravel())
    vector = np.empty(part.size, dtype=np.int64)
    for query, (who, rows) in exact.items():
        vector[part.first(query)[who][:, None] + np.arange(rows.shape[1])] = rows
    return part, {"count": vector}


def _drawn(found: CountTable, laws: Laws, source: Entropy | None) -> Callable[[int], Integers]:
    """Return a function that gives the next so many noisy counts; the noise is drawn for many at a time."""
    parts = found.layout.chunks(DRAWN)
    left: Integers = np.empty(0, dtype=np.int64)

    def take(many: int) -> Integers:
        nonlocal left
        while len(left) < many:
            units, _ = next(parts)
            values = found.read(units)
            add_noise(found.layout, values, laws, source, units)
            left = np.concatenate([left, values])
        taken, left = left[:many], left[many:]
        return taken

    return take


DRAWN = 1 << 23
"""Cells that get their noise at a time. A rehearsal draws in this order, so it is part of its seed."""


def _exact(found: CountTable, pairs: tuple[tuple[str, str], ...]) -> Exact:
    """Return the counts that are published without noise."""
    layout = found.layout
    masks: dict[str, NDArray[np.bool_]] = {}
    for level, query in pairs:
        inside = np.array([level in run.split("+") for run in layout.tree.levels])[layout.tree.kind]
        masks[query] = masks.get(query, False) | (inside & (layout.first(query) >= 0))
    exact: Exact = {}
    for query, mask in masks.items():
        who, cells = np.flatnonzero(mask), np.arange(len(layout.cells[query]))
        rows = np.zeros((len(who), len(cells)), dtype=np.int64)
        first = layout.first(query)
        for place, unit in enumerate(who.tolist()):
            counts = found.read(slice(unit, unit + 1))
            rows[place] = counts[first[unit] - layout.base[unit] + cells]
        exact[query] = who, rows
    return exact


def add_noise(
    layout: Layout, counts: Integers, laws: Laws, source: Entropy | None, units: slice | None = None
) -> None:
    """Add noise to each cell of all units, or of some, in place. A seeded source gives the same noise to the
    same layout."""
    some = units or slice(0, layout.tree.size)
    begin = layout.base[some.start]
    for kind, queries in enumerate(layout.asked):
        base = layout.base[some][layout.kind[some] == kind] - begin
        for query in queries:
            width = len(layout.cells[query])
            first = base + layout.offset(kind, query)
            rows = max(1, (1 << 22) // max(width, 1))
            for start in range(0, first.size, rows):
                part = first[start : start + rows]
                draws = sample(laws[kind][query], (part.size, width), source=source)
                counts[part[:, None] + np.arange(width)] += draws


def _noise_table(layout: Layout, laws: Laws) -> list[dict[str, object]]:
    """Return the noise of each level and query as a manifest lists it: exact, as a variance, as a margin."""
    rows = []
    every = [(kind, query, noise) for kind, one in enumerate(laws) for query, noise in one.items()]
    for kind, query, noise in every:
        key = "variance_parameter" if noise.PARAMETER == "variance" else noise.PARAMETER
        rows.append(
            {
                "level": layout.tree.levels[kind],
                "query": query,
                "noise": noise.FAMILY,
                key: str(noise.size),
                "variance": noise.true_variance(),
                "margin_95": noise.quantile("0.975"),
                "cells": len(layout.cells[query]),
            }
        )
    return rows
