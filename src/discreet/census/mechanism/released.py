"""The tables of an output, read back as a run wrote them, or the Bureau's program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.areas.output import MARK, MARKED, ArrowArray, ArrowTable, arrow, find_output, strings
from discreet.census.mechanism.groups import Specification
from discreet.census.mechanism.ladder import CELL, Ladder
from discreet.census.mechanism.margins import NO_NOISE, Label, Labels, Margin
from discreet.census.mechanism.parts import GroupArrays, Integers, Places, Small
from discreet.census.mechanism.writer import BUREAU_MARGIN, GROUP_COLUMNS, MORE_COLUMNS, NUMBERS, T1_COLUMNS
from discreet.errors import InputError
from discreet.tables import Kind, Problems, find_columns, open_table

ENDINGS = ("csv", "parquet", "psv", "txt")
"""How the names of tables end that are read back."""


@dataclass(frozen=True, slots=True)
class Released:
    """The groups of an output by geography and level, the margins by ladder, and what its files are like."""

    parts: dict[tuple[str, int], GroupArrays]
    regions: dict[str, Sequence[str]]
    labels: dict[str, Labels]
    bureau: bool
    bureau_margins: bool
    format: str
    marked: bool
    files: tuple[Path, ...]


def read_released(
    out: Path, specification: Specification, regions: Mapping[str, Sequence[str]] | None = None
) -> Released:
    """Read the tables of an output; `regions` are those that there can be, by default those it has."""
    ladders = specification.tabulation.ladders.values()
    passes = tuple(specification.tabulation.passes)
    paths = [_files_of(out, one_ladder, passes) for one_ladder in ladders]
    tables = [_tables_of(one_ladder, files) for one_ladder, files in zip(ladders, paths, strict=True)]
    known: dict[str, Sequence[str]] = {
        name: list(regions[name]) if regions else _own([t1 for t1, _ in tables], name)
        for name in specification.tabulation.geographies
    }
    parts: dict[tuple[str, int], GroupArrays] = {}
    labels = {}
    for ladder, files, (t1, t2) in zip(ladders, paths, tables, strict=True):
        names = (ladder.folder,) * 2 if ladder.folder else (files[0].name, files[1].name)
        labels[ladder.name] = _read_ladder(ladder, names, t1, t2, specification, known, parts)
    first, t1 = paths[0][0], tables[0][0]
    every = tuple(path for files in paths for path in files)
    return Released(
        {place: parts[place] for place in specification.tabulation.places if place in parts},
        known,
        labels,
        bureau=MORE_COLUMNS[1] not in t1.column_names,
        bureau_margins=BUREAU_MARGIN in t1.column_names,
        format="parquet" if first.suffix == ".parquet" else "csv",
        marked=MARK in t1.column_names or any(MARKED in path.name for path in every),
        files=every,
    )


def _files_of(out: Path, ladder: Ladder, passes: Sequence[str]) -> tuple[Path, ...]:
    """Return the files of a ladder: of its totals and its cells, or of each table and pass."""
    if not ladder.folder:
        return _find(out, ladder.totals), _find(out, ladder.table)
    stems = [f"{ladder.folder}/{table}/{which}" for table in ladder.names for which in passes]
    paths = [path for stem in stems if (path := find_output(out, stem, ENDINGS)) is not None]
    if not paths:
        raise _no_output(out, ladder.folder)
    return tuple(paths)


def _tables_of(ladder: Ladder, files: Sequence[Path]) -> tuple[ArrowTable, ArrowTable]:
    """Read the totals of a ladder, and all other rows."""
    columns = (*GROUP_COLUMNS, *ladder.labels, "COUNT")
    if not ladder.folder:
        return read_columns(files[0], T1_COLUMNS), read_columns(files[1], columns)
    pa, pc = arrow(), arrow("compute")
    every = pa.concat_tables([read_columns(path, columns) for path in files], promote_options="permissive")
    total = np.ones(every.num_rows, dtype=bool)
    for name in ladder.labels:
        total &= pc.equal(every.column(name), ladder.total).to_numpy()
    return every.filter(pa.array(total)), every.filter(pa.array(~total))


def _read_ladder(
    ladder: Ladder,
    names: tuple[str, str],
    t1: ArrowTable,
    t2: ArrowTable,
    specification: Specification,
    known: Mapping[str, Sequence[str]],
    parts: dict[tuple[str, int], GroupArrays],
) -> Labels:
    """Read the two tables of a ladder into parts, and return the margins behind their labels."""
    first, second = names
    unordered, cells = (
        _keys(table, known, specification, name) for table, name in ((t1, first), (t2, second))
    )
    order = np.argsort(unordered, kind="stable")
    key = unordered[order]
    if (key[1:] == key[:-1]).any():
        raise InputError(f"a group occurs twice in {first}")
    position = np.searchsorted(key, cells)
    if (np.append(key, -1)[position] != cells).any():
        raise InputError(f"{second} has a group that {first} does not have")
    table, rows = _rows_in_order(ladder, t2, position, key.size, second)
    # what has no table of more than a total has that
    widths = ladder.cells[table]
    starts, totals = np.cumsum(widths) - widths, t1.column("COUNT").to_numpy()[order]
    values = np.zeros(int(widths.sum()), dtype=np.int64)
    values[starts[table == 0]] = totals[table == 0]
    heights = ladder.heights[table[table > 0]]
    begins = np.cumsum(heights) - heights
    counts = t2.column("COUNT").to_numpy()[rows]
    # where in a group's rows its numbers of each kind stand first, and its cells
    kinds = np.zeros((len(ladder.rungs), len(ladder.kinds) - 1), dtype=np.int64)
    for number, rung in enumerate(ladder.rungs[1:], 1):
        groups = np.flatnonzero(table[table > 0] == number)
        own = starts[table > 0][groups]
        for at, row in reversed([*enumerate(rung.rows)]):
            kinds[number, ladder.kinds.index(row.kind) - 1] = at
            if row.kind == CELL:
                values[own + row.cells[0]] = counts[begins[groups] + at]
    if key.size and (np.add.reduceat(values, starts) != totals).any():
        raise InputError(f"a total of {first} is not the sum of its cells in {second}")
    of_kind = rows[begins[:, None] + kinds[table[table > 0]]]
    bureau = MORE_COLUMNS[1] not in t1.column_names
    label, labels = _labels(ladder, t1, t2, order, table, of_kind, bureau)
    tabulation = specification.tabulation
    for (number, geography), level in product(enumerate(tabulation.geographies), tabulation.levels):
        if tabulation.ladder(level) is not ladder:
            continue
        groups_of = tabulation.workloads[level].groups
        mask = key >> _REGION + _ITERATION == number * _LEVELS + groups_of
        region = key[mask] >> _ITERATION & (1 << _REGION) - 1
        iteration = key[mask] & (1 << _ITERATION) - 1
        inside = values[np.repeat(mask, widths)]
        parts[geography, level] = GroupArrays.of(
            ladder, geography, level, region, iteration, table[mask], label[mask], inside
        )
    return labels


_REGION, _ITERATION = 24, 20
"""Bits of a region and of an iteration in the number of a group; above them stand geography and level."""
_LEVELS = 100


def _keys(
    table: ArrowTable, regions: Mapping[str, Sequence[str]], specification: Specification, name: str
) -> Integers:
    """Return a number for the group that each row belongs to."""
    pc = arrow("compute")

    def places(column: ArrowArray, values: Sequence[str], problem: str) -> Integers:
        indices = pc.index_in(column, value_set=strings(list(values)))
        if indices.null_count:
            raise InputError(f"{name} has {problem}")
        return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int64)

    unknown = "a region type that is not known (column REGION_TYPE)"
    geographies = list(specification.tabulation.geographies)
    geography = places(table.column("REGION_TYPE").combine_chunks(), geographies, unknown)
    unknown = "an iteration that is not in the specification (column ITERATION_CODE)"
    codes = [group.code for group in specification.iterations]
    iteration = places(table.column("ITERATION_CODE").combine_chunks(), codes, unknown)
    region = np.zeros(iteration.size, dtype=np.int64)
    ids = table.column("REGION_ID").combine_chunks()
    for number, geography_name in enumerate(geographies):
        mask = np.flatnonzero(geography == number)
        unknown = f"a region that is not in {specification.tabulation.area_file.name} (column REGION_ID)"
        region[mask] = places(ids.take(arrow().array(mask)), regions[geography_name], unknown)
    level = np.array([group.level for group in specification.iterations])[iteration]
    keys: Integers = (geography * _LEVELS + level << _REGION | region) << _ITERATION | iteration
    return keys


def _rows_in_order(
    ladder: Ladder, t2: ArrowTable, position: Integers, groups: int, name: str
) -> tuple[Small, Places]:
    """Return each group's table, and the rows of all groups in the order in which they are written."""
    known: dict[tuple[str, ...], int] = {}
    # where each row of the ladder stands in each table, -1 if it does not
    at = np.full((len(ladder.rungs), int(ladder.heights.sum()) + 1), -1, dtype=np.int64)
    for number, rung in enumerate(ladder.rungs[1:], 1):
        for spot, published_row in enumerate(rung.rows):
            at[number, known.setdefault(published_row.labels, len(known))] = spot
    texts = zip(*(t2.column(label).to_pylist() for label in ladder.labels), strict=True)
    row = np.array([known.get(labels, at.shape[1] - 1) for labels in texts], dtype=np.int64)
    heights = np.bincount(position, minlength=groups)
    table = np.zeros(groups, dtype=np.int8)
    spots = np.zeros(row.size, dtype=np.int64)
    right = heights == 0
    for number, height in reversed([*enumerate(ladder.heights.tolist())][1:]):
        mine = (heights == height) & ~right
        spot = at[number][row]
        own = mine[position]
        outside = np.zeros(groups, dtype=bool)
        outside[position[own & (spot < 0)]] = True
        mine &= ~outside
        table[mine] = number
        spots = np.where(mine[position], spot, spots)
        right |= mine
    rows = np.lexsort((spots, position))
    # a row that comes twice leaves out another
    number_in = np.arange(rows.size) - np.repeat(np.cumsum(heights) - heights, heights)
    if not right.all() or (spots[rows] != number_in).any():
        raise InputError(f"{name} has a group that is none of the tables of its ladder")
    return table, rows


def _labels(
    ladder: Ladder,
    t1: ArrowTable,
    t2: ArrowTable,
    order: NDArray[np.intp],
    table: NDArray[np.int8],
    of_kind: Places,
    bureau: bool,
) -> tuple[NDArray[np.int32], Labels]:
    """Return the label of each group, and the margins behind the labels.

    `of_kind` are rows of t2: for each group with more than a total, one of each kind of numbers.
    """
    many = len(ladder.kinds) - 1
    if bureau:
        unsaid = Label(NO_NOISE, (NO_NOISE,) * many)
        return np.zeros(table.size, dtype=np.int32), Labels([unsaid] * len(ladder.rungs))
    margins: dict[Margin, int] = {}
    total = _margins(t1, margins)[order]
    rows, large = _margins(t2, margins), table > 0
    each = np.repeat(total[:, None], many, axis=1)
    each[large] = rows[of_kind]
    kinds, label = np.unique(np.column_stack([total, each]), axis=0, return_inverse=True)
    words = list(margins)
    labels = [
        Label(words[first], tuple(words[number] for number in others))
        for first, *others in kinds.tolist()
        for _ in ladder.rungs
    ]
    return label.ravel().astype(np.int32), Labels(labels)


def _margins(table: ArrowTable, seen: dict[Margin, int]) -> Integers:
    """Return a number for the variance and margin of each row."""
    pc = arrow("compute")
    texts = table.column("NOISE_VARIANCE").combine_chunks()
    coded = pc.dictionary_encode(texts)
    words = [
        variance if isinstance(variance, str) else format(Decimal(repr(variance)).normalize(), "f")
        for variance in coded.dictionary.to_pylist()
    ]
    margin = table.column("MOE95").to_numpy()
    bureau = table.column(BUREAU_MARGIN).to_numpy() if BUREAU_MARGIN in table.column_names else margin
    rows = np.stack([coded.indices.to_numpy(zero_copy_only=False), margin, bureau], axis=1)
    kinds, number = np.unique(rows, axis=0, return_inverse=True)
    codes = [seen.setdefault(Margin(words[code], *map(int, both)), len(seen)) for code, *both in kinds]
    return np.array(codes, dtype=np.int64)[number.ravel()]


def _find(out: Path, stem: str) -> Path:
    path = find_output(out, stem, ENDINGS)
    if path is None:
        raise _no_output(out, stem)
    return path


def _no_output(out: Path, name: str) -> InputError:
    return InputError(f"there is no {name} in {out}; name the output of `discreet safetab run`")


def _own(tables: Sequence[ArrowTable], geography: str) -> list[str]:
    """Return the regions that the tables of totals have."""
    pc = arrow("compute")
    regions = set()
    for t1 in tables:
        here = t1.filter(pc.equal(t1.column("REGION_TYPE"), geography)).column("REGION_ID")
        regions |= set(pc.unique(here).to_pylist())
    return sorted(regions)


def read_columns(path: Path, columns: Sequence[str]) -> ArrowTable:
    """Read a table that must have some columns; raise with all that is wrong with it."""
    table, problems = open_columns(path, columns)
    problems.stop()
    return table


def open_columns(path: Path, columns: Sequence[str]) -> tuple[ArrowTable, Problems]:
    """Read a table that must have some columns: texts as they are, counts as whole numbers.

    What is wrong with its rows is among the problems.
    """
    opened, optional = open_table(path, wanted=columns), (*MORE_COLUMNS, BUREAU_MARGIN, MARK)
    problems = Problems(opened.shown, first_line=opened.first_line, word=opened.word)
    problems.written = find_columns(
        opened.names, needed=columns, optional=optional, table=opened.shown, problems=problems
    )
    problems.stop()
    # a variance is a number in Parquet, and in text as many digits as are true
    kinds: dict[str, Kind] = dict.fromkeys(problems.written, "text")
    kinds.update((name, "whole") for name in NUMBERS)
    kinds["NOISE_VARIANCE"] = "any"
    table = opened.table({there: kinds[name] for name, there in problems.written.items()}, problems)
    if not opened.complete:
        problems.stop()
    pa, pc = arrow(), arrow("compute")
    types = {"text": pa.string(), "whole": pa.int64()}
    schema = [
        (name, types.get(kinds[name], pa.string() if pa.types.is_dictionary(field.type) else field.type))
        for name, field in zip(problems.written, table.schema, strict=True)
    ]
    table = table.rename_columns(list(problems.written)).cast(pa.schema(schema))
    for name in GROUP_COLUMNS:
        missing = pc.equal(table.column(name).fill_null(""), "")
        problems.rows(missing.to_numpy(), "a text is missing", name)
    return table, problems
