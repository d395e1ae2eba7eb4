"""Records counted: for every query in every unit, validated to the last row before any number is used.

Records are coded as they are read (PyArrow, in memory: nothing confidential is left in temporary files). One
sort gives the detailed counts of the lowest units that are not zero; these are added up along the tree, and
to each query. Memory follows the records and the cells that get noise, not the product of everything.

No records at all are records too: a table of them with its header alone gives zeros. Were it refused, the
refusal would tell nobody from somebody.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.areas.cells import detailed_cells, impossible_cells
from discreet.areas.layout import Layout, lookup, read_lengths, units_of
from discreet.areas.output import strings
from discreet.areas.tree import Integers, Tree
from discreet.budget import Attributes, Release
from discreet.budget.noise_table import queries_of
from discreet.budget.variables import number_columns
from discreet.errors import InputError
from discreet.files import FilePath
from discreet.numbers import whole
from discreet.records.amounts import amounts, check_numbers
from discreet.records.counts import CountTable
from discreet.records.input import TableInput, load_input
from discreet.records.record_areas import areas_of_release
from discreet.records.record_columns import RecordColumns, read_records
from discreet.tables import Problems, ReadTable, TableSource, Words

_EXCESS = ("refuse", "keep")


@dataclass(frozen=True, slots=True)
class Examined:
    """Records that were read, with all problems of them and of the table of areas on one list.

    What is wrong may leave parts out: there is no tree, or no column of the records. If nothing is wrong,
    `unit` and `cell` say what each record is, and `counted` whether it counts.
    """

    problems: Problems
    tree: Tree | None
    columns: RecordColumns
    unit: Integers
    cell: Integers
    counted: NDArray[np.bool_]


HOW_OFTEN = "--at-most says how often it may"
"""What to do about an identifier that occurs again."""


class RecordsAsked(Protocol):
    """What a question says of records: which they are, their areas, and how they are written and counted.

    `Tabulating`, `Checking`, `Measuring` and `RiskingRecords` all say it.
    """

    @property
    def records(self) -> TableSource: ...  # noqa: D102
    @property
    def units(self) -> TableSource: ...  # noqa: D102
    @property
    def geocodes(self) -> str | None: ...  # noqa: D102
    @property
    def id(self) -> str | None: ...  # noqa: D102
    @property
    def at_most(self) -> int | None: ...  # noqa: D102
    @property
    def excess(self) -> str: ...  # noqa: D102
    @property
    def input(self) -> TableInput | FilePath | None: ...  # noqa: D102


def count_records(release: Release, asked: RecordsAsked) -> CountTable:
    """Validate records and count them; every problem that is found is reported, with its line."""
    if asked.units is None:
        raise InputError("records need a table of areas: all areas, inhabited or not, must be known")
    examined = examine_records(release, asked)
    examined.problems.stop()
    attributes, tree, table = release.attributes, examined.tree, examined.columns.table
    assert attributes is not None
    assert tree is not None
    tables = {query: attributes.tabulation(query) for query in queries_of(release)}
    layout = Layout.of(
        release, tree, {query: strings(list(tabulation.labels)) for query, tabulation in tables.items()}
    )
    unit, cell, incomplete = examined.unit, examined.cell, int(np.count_nonzero(examined.columns.left_out))
    left_out = table.rows - int(np.count_nonzero(examined.counted)) - incomplete
    sums = amounts(attributes.variables, examined.columns.numbers, table.rows)
    if left_out or incomplete:
        unit, cell = unit[examined.counted], cell[examined.counted]
        sums = None if sums is None else sums[examined.counted]
    told = (table.origin("records"),), table.format, table.rows, left_out
    del table, examined
    return CountTable(layout, _sums(layout, attributes, unit, cell, sums), *told, incomplete=incomplete)


def input_of(release: Release, given: TableInput | FilePath | None) -> TableInput:
    """Return how records are written: as is said beside the release, or in it, or as this package does."""
    if given is None:
        return release.input or TableInput()
    if not isinstance(given, TableInput):
        return load_input(given, release.attributes)
    if release.attributes is not None:
        given.check(release.attributes)
    return given


def examine_records(release: Release, asked: RecordsAsked, *, chances: Sequence[str] = ()) -> Examined:
    """Read records and areas, as far as they can be read, and gather all that is wrong with them.

    Without a table of areas, nothing is said of the records' areas. `chances` are further columns of numbers,
    each strictly between 0 and 1, which every record must have.
    """
    attributes, person, at_most, excess = release.attributes, asked.id, asked.at_most, asked.excess
    if attributes is None:
        about = "is about people and households, which tabulate, measure and check-records count"
        why = about if release.join is not None else "states no attributes, so its queries cannot be counted"
        raise InputError(f"release {release.name!r} {why}")
    if excess not in _EXCESS:
        raise InputError(f"excess is {excess!r}; it must be refuse or keep")
    if at_most is not None:
        whole(at_most, name="at_most")
    if at_most is not None and person is None:
        raise InputError("a limit on records per person needs a column that identifies people (--id)")
    if person in (summed := number_columns(attributes.variables)):
        raise InputError(
            f"{person!r} is a column of numbers that are summed; it cannot identify people (--id)"
        )
    how, problems = input_of(release, asked.input), Problems()
    if left := [name for name in chances if how.of(name).leave_out]:
        raise InputError(
            f"[input] leaves out records without {left[0]!r}, which measures nothing: all records are "
            "counted, so each needs one; say what a missing one stands for (as)"
        )
    lengths = None if asked.geocodes is None else read_lengths(release, asked.geocodes)
    tree = None
    if asked.units is not None:
        tree = areas_of_release(release, asked.units, lengths, how.areas or TableInput(), problems)
    names = tree.names.to_pylist() if tree is not None and how.ignore_case else ()
    identifiers = [person] if person and person not in ("unit", *attributes.names) else []
    columns = read_records(
        asked.records,
        how,
        values={"unit": names, **dict(attributes.values)},
        numbers=list(dict.fromkeys([*summed, *chances])),
        identifiers=identifiers,
        problems=problems,
    )
    table, counted = columns.table, ~columns.left_out
    if person in table.words:
        counted &= _at_most(table, person, at_most or 1, excess, counted)
    unit, cell = _codes(table, tree, attributes)
    check_numbers({name: columns.numbers[name] for name in summed if name in columns.numbers}, table.problems)
    for name in (name for name in chances if name in columns.numbers):
        column = columns.numbers[name]
        outside = np.array([*(not 0 < chance < 1 for chance in column.values), False], dtype=bool)
        table.problems.rows(outside[column.codes], "a prior does not lie strictly between 0 and 1", name)
    return Examined(problems, tree, columns, unit, cell, counted)


def _sums(
    layout: Layout, attributes: Attributes, unit: Integers, cell: Integers, added: Integers | None
) -> Callable[[slice], Integers]:
    """Return a function that gives the counts of all cells of all queries of some units.

    Kept are the detailed counts that are not zero, sorted by unit; what is dense is made unit by unit. What
    each record adds to each variable is in `added`, if it is not one.
    """
    tree, many = layout.tree, attributes.cells
    depth = np.searchsorted(np.array(tree.starts), np.arange(tree.size), side="right") - 1
    key = unit * many + cell
    if added is None:
        key.sort()
        keys, counts = _distinct(key, None)
    else:
        order = np.argsort(key, kind="stable")
        keys, counts = _distinct(key[order], added[order])
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
    columns = {query: attributes.tabulation(query).variable or 0 for query in layout.queries}

    def read(units: slice) -> Integers:
        first, last = np.searchsorted(every[0], [units.start * many, units.stop * many])
        at, inside = np.divmod(every[0][first:last], many)
        numbers = every[1][first:last]
        numbers = numbers if numbers.ndim > 1 else numbers[:, None]
        base = layout.base[units.start]
        vector = np.zeros(int(layout.base[units.stop] - base), dtype=np.int64)
        kinds = layout.kind[at]
        for kind in np.unique(kinds):
            mine = kinds == kind
            start = layout.base[at[mine]] - base
            for query in layout.asked[kind]:
                cell_number = start + layout.offset(int(kind), query) + index[query][inside[mine]]
                number = numbers[mine, columns[query]]
                if sizes[query] == many:
                    vector[cell_number] = number  # each cell comes once
                else:
                    order = np.argsort(cell_number, kind="stable")
                    where, sums = _distinct(cell_number[order], number[order])
                    vector[where] = sums
        return vector

    return read


def _distinct(keys: Integers, counts: Integers | None) -> tuple[Integers, Integers]:
    """Return the distinct ones of sorted keys, and the sums of their counts (1 each if there are none)."""
    begin = np.flatnonzero(np.diff(keys, prepend=-1))
    if counts is None:
        return keys[begin], np.diff(np.append(begin, len(keys)))
    return keys[begin], np.add.reduceat(counts, begin) if len(begin) else counts


def _codes(table: ReadTable, tree: Tree | None, attributes: Attributes) -> tuple[Integers, Integers]:
    """Return the unit and the detailed cell of each record, and report what cannot be.

    Columns that are missing were reported, and the others are looked at.
    """
    problems, unit = table.problems, np.zeros(table.rows, dtype=np.int64)
    if tree is not None and "unit" in table.words:
        _report_short_codes(table, tree)
        unit = units_of(table, tree)
        text = "an area with others below it: records are in the lowest areas"
        problems.rows((unit >= 0) & ~tree.leaf[unit], text, "unit")
    cell = np.zeros(table.rows, dtype=np.int64)
    bad = np.full(table.rows, any(name not in table.words for name in attributes.names))
    for name, values in attributes.values:
        if name not in table.words:
            continue
        code = lookup(table.words[name], values).astype(np.int64)
        near = _but_for_spelling(table.words[name], values)
        text = f"a value that attribute {name!r} has but for capitals or spaces; ignore_case and trim in "
        problems.unreadable(near, f"{text}[input] read it", name)
        problems.rows(code < 0, f"a value that attribute {name!r} does not have", name)
        bad |= code < 0
        cell = cell * len(values) + code
    inside = np.where(bad, 0, cell)
    wrong = impossible_cells(attributes)[inside] & ~bad
    problems.rows(wrong, "a combination of values that the release declares impossible", "all")
    return unit, cell


def _but_for_spelling(words: Words, known: Sequence[str]) -> NDArray[np.bool_]:
    """Return which rows have a value that is known if capitals and spaces around it do not count."""
    folded, exact = {value.casefold() for value in known}, set(known)
    near = [text not in exact and text.strip().casefold() in folded for text in words.values.to_pylist()]
    return np.array([*near, False])[words.codes]


def _report_short_codes(table: ReadTable, tree: Tree) -> None:
    """Report areas that are known with zeros before their code, which spreadsheets take away."""
    words, names = table.words["unit"], tree.names.to_pylist()
    short = [text for text in words.values.to_pylist() if text.isdecimal()]
    widths = {len(name) for name in names if name.startswith("0") and name.isdecimal()} if short else set()
    known = set(names) if widths else set()
    for width in sorted(widths):
        lost = {text for text in short if len(text) < width and text.zfill(width) in known} - known
        if lost:
            near = np.array([*(text in lost for text in words.values.to_pylist()), False])[words.codes]
            text = f"an area whose code has lost zeros at its beginning; width = {width} in [input] reads it"
            table.problems.unreadable(near, text, "unit")


def _at_most(
    table: ReadTable, person: str, most: int, excess: str, counted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which records count: at most so many of a person; more are reported, if they are refused.

    Records that are not `counted` anyway are nobody's.
    """
    codes = table.words[person].codes
    nobody = int(codes.max(initial=-1)) + 1
    codes = np.where(counted & (codes >= 0), codes, nobody)
    many = np.bincount(codes, minlength=nobody + 1)
    if not np.any(many[:nobody] > most):
        return np.ones(table.rows, dtype=bool)
    # places of each person's records in a random order, from the system's random bits
    order = np.random.default_rng(secrets.randbits(256)).permutation(table.rows)
    if excess == "refuse":
        order = np.arange(table.rows)
    by = order[np.argsort(codes[order], kind="stable")]
    start = np.concatenate([[0], np.cumsum(many)])[codes[by]]
    kept = np.zeros(table.rows, dtype=bool)
    kept[by] = np.arange(table.rows) - start < most
    kept[codes == nobody] = True
    if excess == "refuse":
        text = "an identifier occurs twice" if most == 1 else f"an identifier occurs more than {most} times"
        table.problems.rows(~kept, f"{text}; {HOW_OFTEN}", person)
    return kept
