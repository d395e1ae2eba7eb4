"""Released tables read back from their files: the groups of an output that exists, with their margins.

What is read was written by `run`, or by the Bureau's program: t1 and t2, pipe-delimited or Parquet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.hierarchy.arrow import arrow, strings
from discreet.release.hierarchy.writing import MARK
from discreet.release.ledger import NOT_PRIVATE
from discreet.release.safetab.ages import RANGES
from discreet.release.safetab.geographies import GEOGRAPHIES, LEVELS
from discreet.release.safetab.labels import NO_NOISE, Label, Margin
from discreet.release.safetab.output import (
    ALL_AGES,
    BUREAU_MARGIN,
    MORE_COLUMNS,
    T1_COLUMNS,
    T2_COLUMNS,
    Labels,
)
from discreet.release.safetab.parts import AGES, CELLS, TABLES, Integers, Part
from discreet.release.safetab.specification import Specification

_TABLE_OF_ROWS = {cells + 2: table for table, cells in enumerate(CELLS) if table}


@dataclass(frozen=True, slots=True)
class Released:
    """The groups of an output by geography and level, their margins, and what its files are like."""

    parts: dict[tuple[str, int], Part]
    regions: dict[str, Sequence[str]]
    labels: Labels
    bureau: bool
    bureau_margins: bool
    format: str
    marked: bool
    files: tuple[Path, ...]


def read_released(
    out: Path, specification: Specification, regions: Mapping[str, Sequence[str]] | None = None
) -> Released:
    """Read t1 and t2 of an output; `regions` are those that there can be, by default those of t1."""
    paths = [_find(out, stem) for stem in ("t1", "t2")]
    t1, t2 = (_read(path, columns) for path, columns in zip(paths, (T1_COLUMNS, T2_COLUMNS), strict=True))
    bureau = MORE_COLUMNS[1] not in t1.column_names
    known = {name: list(regions[name]) if regions else _own(t1, name) for name in GEOGRAPHIES}
    groups = _Rows(t1, known, specification, paths[0])
    cells = _Rows(t2, known, specification, paths[1])
    order = np.argsort(groups.key, kind="stable")
    key = groups.key[order]
    if (key[1:] == key[:-1]).any():
        raise InputError(f"a group occurs twice in {paths[0].name}")
    place = np.searchsorted(key, cells.key)
    if cells.key.size and (key[np.minimum(place, key.size - 1)] != cells.key).any():
        raise InputError(f"{paths[1].name} has a group that {paths[0].name} does not have")
    table, values, sex_row, cell_row = _cells(t2, place, key.size, paths[1])
    # what has no table by sex and age has its total
    starts = np.cumsum(np.take(CELLS, table)) - np.take(CELLS, table)
    totals = t1.column("COUNT").to_numpy()[order]
    values[starts[table == 0]] = totals[table == 0]
    if key.size and (np.add.reduceat(values, starts) != totals).any():
        raise InputError(f"a total of {paths[0].name} is not the sum of its cells in {paths[1].name}")
    label, labels = _labels(t1, t2, order, table, sex_row, cell_row, bureau)
    found = {}
    for number, geography in enumerate(GEOGRAPHIES):
        for level in LEVELS:
            mask = (groups.geography[order] == number) & (groups.level[order] == level)
            inside = np.repeat(mask, np.take(CELLS, table))
            found[geography, level] = Part.of(
                geography,
                level,
                groups.region[order][mask],
                groups.iteration[order][mask],
                table[mask],
                label[mask],
                values[inside],
            )
    marked = MARK in t1.column_names or any(_MARKED in path.name for path in paths)
    kind = "parquet" if paths[0].suffix == ".parquet" else "csv"
    margins = BUREAU_MARGIN in t1.column_names
    return Released(found, dict(known), labels, bureau, margins, kind, marked, tuple(paths))


_MARKED = NOT_PRIVATE.replace(" ", "-")


class _Rows:
    """The groups that the rows of a table belong to, as numbers."""

    def __init__(
        self, table: Any, regions: Mapping[str, Sequence[str]], specification: Specification, path: Path
    ) -> None:
        pc = arrow("compute")

        def places(column: str, values: Sequence[str], what: str) -> Any:
            found = pc.index_in(table.column(column), value_set=strings(list(values)))
            if found.null_count:
                raise InputError(f"{path.name} has {what} (column {column})")
            return found.to_numpy().astype(np.int32)

        self.geography = places("REGION_TYPE", GEOGRAPHIES, "a region type that is not known")
        codes = [one.code for one in specification.iterations]
        self.iteration = places("ITERATION_CODE", codes, "an iteration that is not in the specification")
        self.level = np.array([one.level for one in specification.iterations], dtype=np.int8)[self.iteration]
        self.region = np.zeros(self.iteration.size, dtype=np.int32)
        ids = table.column("REGION_ID").combine_chunks()
        for number, geography in enumerate(GEOGRAPHIES):
            mask = np.flatnonzero(self.geography == number)
            found = pc.index_in(ids.take(arrow().array(mask)), value_set=strings(list(regions[geography])))
            if found.null_count:
                raise InputError(f"{path.name} has a region that is not in GRF-C (column REGION_ID)")
            self.region[mask] = found.to_numpy(zero_copy_only=False)
        self.key = (
            (self.geography.astype(np.int64) * 4 + self.level) << 52
            | self.region.astype(np.int64) << 24
            | self.iteration
        )


def _cells(
    t2: Any, place: Integers, groups: int, path: Path
) -> tuple[NDArray[np.int8], Integers, Integers, Integers]:
    """Return each group's table, all cells with room for totals, and a row each for a sex and a cell."""
    rows = np.bincount(place, minlength=groups)
    known = np.zeros(max(_TABLE_OF_ROWS) + 1, dtype=np.int8)
    known[list(_TABLE_OF_ROWS)] = list(_TABLE_OF_ROWS.values())
    table = known[np.minimum(rows, known.size - 1)]
    wrong = f"{path.name} has a group that is none of the tables by sex and age"
    if ((rows > 0) & (table == 0)).any() or (rows >= known.size).any():
        raise InputError(wrong)
    start = t2.column("AGESTART").to_pylist()
    everyone = np.array([text == ALL_AGES for text in start], dtype=bool)
    try:
        first = np.array([-1 if text == ALL_AGES else int(text) for text in start], dtype=np.int64)
        sex = np.array([int(text) - 1 for text in t2.column("SEX").to_pylist()], dtype=np.int64)
    except ValueError:
        raise InputError(f"{path.name} has an age or a sex that is not a whole number") from None
    of_row = table[place]
    age = np.zeros(first.size, dtype=np.int64)
    for number, ranges in enumerate(RANGES, start=1):
        starts = np.array([low for low, _ in ranges])
        here = np.flatnonzero((of_row == number) & ~everyone)
        age[here] = np.searchsorted(starts, first[here])
        if (starts[np.minimum(age[here], starts.size - 1)] != first[here]).any():
            raise InputError(wrong)
    begins = np.cumsum(np.take(CELLS, table)) - np.take(CELLS, table)
    values = np.zeros(int(np.take(CELLS, table).sum()), dtype=np.int64)
    cell = begins[place] + sex * np.take(AGES, of_row) + age
    filled = np.bincount(cell[~everyone], minlength=values.size)
    if not np.isin(sex, (0, 1)).all() or (filled[np.repeat(table > 0, np.take(CELLS, table))] != 1).any():
        raise InputError(wrong)
    values[cell[~everyone]] = t2.column("COUNT").to_numpy()[~everyone]
    sex_row, cell_row = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    sex_row[place[everyone]] = np.flatnonzero(everyone)
    cell_row[place[~everyone]] = np.flatnonzero(~everyone)
    return table, values, sex_row, cell_row


def _labels(
    t1: Any,
    t2: Any,
    order: NDArray[np.intp],
    table: NDArray[np.int8],
    sex_row: Integers,
    cell_row: Integers,
    bureau: bool,
) -> tuple[NDArray[np.int32], Labels]:
    """Return the label of each group, and the margins behind the labels."""
    if bureau:
        unsaid = Label(NO_NOISE, NO_NOISE, NO_NOISE)
        return np.zeros(table.size, dtype=np.int32), Labels([unsaid] * len(TABLES))
    margins: dict[Margin, int] = {}
    total = _margins(t1, margins)[order]
    rows = _margins(t2, margins)
    large = table > 0
    sex, cell = total.copy(), total.copy()
    sex[large], cell[large] = rows[sex_row[large]], rows[cell_row[large]]
    kinds, label = np.unique(np.stack([total, sex, cell], axis=1), axis=0, return_inverse=True)
    words = list(margins)
    found = [Label(*(words[number] for number in kind)) for kind in kinds for _ in TABLES]
    return label.ravel().astype(np.int32), Labels(found)


def _margins(table: Any, seen: dict[Margin, int]) -> Integers:
    """Return a number for the variance and margin of each row."""
    pc = arrow("compute")
    texts = table.column("NOISE_VARIANCE").combine_chunks()
    coded = pc.dictionary_encode(texts)
    words = [_text(value) for value in coded.dictionary.to_pylist()]
    margin = table.column("MOE95").to_numpy()
    bureau = table.column(BUREAU_MARGIN).to_numpy() if BUREAU_MARGIN in table.column_names else margin
    rows = np.stack([coded.indices.to_numpy(zero_copy_only=False), margin, bureau], axis=1)
    kinds, number = np.unique(rows, axis=0, return_inverse=True)
    codes = [seen.setdefault(Margin(words[code], *map(int, both)), len(seen)) for code, *both in kinds]
    return np.array(codes, dtype=np.int64)[number.ravel()]


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else format(Decimal(repr(value)).normalize(), "f")


def _find(out: Path, stem: str) -> Path:
    endings = ("csv", "parquet", "psv", "txt")
    names = [f"{stem}{middle}.{ending}" for middle in ("", f".{_MARKED}") for ending in endings]
    found = next((out / name for name in names if (out / name).is_file()), None)
    if found is None:
        raise InputError(f"there is no {stem} in {out}; name the output of `discreet safetab run`")
    return found


def _own(t1: Any, geography: str) -> list[str]:
    """Return the regions that t1 has."""
    pc = arrow("compute")
    here = t1.filter(pc.equal(t1.column("REGION_TYPE"), geography)).column("REGION_ID")
    return sorted(pc.unique(here).to_pylist())


def _typed(table: Any, kinds: Mapping[str, Any]) -> Any:
    """Give columns their types, but for variances, which are numbers in Parquet."""
    kept = {name: table.column(name) for name in table.column_names}
    columns = {n: c if n == "NOISE_VARIANCE" else c.cast(kinds.get(n, c.type)) for n, c in kept.items()}
    return arrow().table(columns)


def _read(path: Path, columns: Sequence[str]) -> Any:
    """Read the columns that are known; texts as they are, counts as whole numbers."""
    pa = arrow()
    kinds = {name: pa.string() for name in (*T2_COLUMNS, *MORE_COLUMNS, MARK)}
    kinds |= {"COUNT": pa.int64(), "MOE95": pa.int64(), BUREAU_MARGIN: pa.int64()}
    try:
        if path.suffix == ".parquet":
            table = _typed(arrow("parquet").read_table(path), kinds)
        else:
            csv = arrow("csv")
            table = csv.read_csv(
                path,
                parse_options=csv.ParseOptions(delimiter="|"),
                convert_options=csv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
            )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(f"{path.name} cannot be read as a released table") from None
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise InputError(f"{path.name} has no column {missing[0]}")
    return table
