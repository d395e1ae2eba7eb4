"""Read released tables again, t1 and t2 of an output directory, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.release.hierarchy.arrow import arrow
from discreet.release.safetab.ages import RANGES
from discreet.release.safetab.output import ALL_AGES, T1_COLUMNS, T2_COLUMNS
from discreet.release.safetab.parts import AGES, CELLS, Codes, Integers, Small
from discreet.release.safetab.specification import Specification

TEXTS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE", "AGESTART", "AGEEND", "SEX")
LABELS = ("NOISE_VARIANCE", "MOE95")
HEIGHTS = np.array([0, *(cells + 2 for cells in CELLS[1:])])
"""Rows of a group in t2, by its table."""


@dataclass(frozen=True, slots=True)
class Released:
    """The released groups of one geography and level, sorted by region and iteration.

    `rows` are the numbers of t2, group by group: two sexes, then the cells. Margins and the variance of the
    total are as published; None if the output does not state them.
    """

    geography: str
    level: int
    region: Codes
    iteration: Codes
    table: Small
    total: Integers
    rows: Integers
    variance: NDArray[np.float64] | None
    margin: Integers | None
    row_margin: Integers | None

    @property
    def starts(self) -> Integers:
        """Where the rows of each group begin."""
        heights: Integers = HEIGHTS[self.table]
        return np.cumsum(heights) - heights


class Tables:
    """Both tables of an output directory."""

    def __init__(self, out: Path, specification: Specification) -> None:
        self._out = out
        self._t1 = _read(_file(out, "t1"), T1_COLUMNS)
        self._t2 = _read(_file(out, "t2"), T2_COLUMNS)
        self.labelled = all(name in self._t1.column_names for name in LABELS)
        self._codes = {one.code: place for place, one in enumerate(specification.iterations)}
        self._levels = np.array([one.level for one in specification.iterations])

    def released(self, geography: str, level: int, regions: Sequence[str]) -> Released:
        """Return the groups of one geography and level, whose regions are these."""
        first = self._rows(self._t1, geography, level, regions, "t1")
        second = self._rows(self._t2, geography, level, regions, "t2")
        key = _key(first)
        order = np.argsort(key, kind="stable")
        first, key = {name: values[order] for name, values in first.items()}, key[order]
        if (np.diff(key) == 0).any():
            raise InputError(f"a group of {geography} comes twice in t1 ({self._out})")
        if not np.isin(_key(second), key).all():
            raise InputError(f"a group of {geography} is in t2 and not in t1 ({self._out})")
        group = np.searchsorted(key, _key(second))
        heights = np.bincount(group, minlength=key.size)
        table = np.searchsorted(HEIGHTS, heights)
        if key.size and (HEIGHTS[np.minimum(table, 3)] != heights).any():
            raise InputError(f"a group of {geography} does not have 10, 20 or 48 rows in t2 ({self._out})")
        starts = np.cumsum(heights) - heights
        place = starts[group] + _position(second, table[group])
        if np.bincount(place, minlength=place.size).max(initial=1) > 1:
            raise InputError(f"a row of {geography} comes twice in t2 ({self._out})")
        back = np.empty_like(place)
        back[place] = np.arange(place.size)
        return Released(
            geography,
            level,
            first["region"],
            first["iteration"],
            table.astype(np.int8),
            first["COUNT"],
            second["COUNT"][back],
            first["NOISE_VARIANCE"] if self.labelled else None,
            first["MOE95"] if self.labelled else None,
            second["MOE95"][back] if self.labelled else None,
        )

    def _rows(
        self, table: Any, geography: str, level: int, regions: Sequence[str], name: str
    ) -> dict[str, NDArray[Any]]:
        """Return the rows of a geography and level, regions and iterations as numbers."""
        kinds = table.column("REGION_TYPE")
        known = kinds.dictionary.to_pylist()
        here = np.asarray(kinds.indices) == (known.index(geography) if geography in known else -1)
        iteration = _numbers(table.column("ITERATION_CODE"), self._codes)
        here &= (iteration >= 0) & (self._levels[iteration] == level)
        rows = np.flatnonzero(here)
        index = {region: place for place, region in enumerate(regions)}
        region = _numbers(table.column("REGION_ID"), index)[rows]
        if (region < 0).any():
            raise InputError(f"{name} has a region of {geography} that is not in the data ({self._out})")
        found: dict[str, NDArray[Any]] = {"region": region, "iteration": iteration[rows]}
        for column in table.column_names:
            if column in ("COUNT", *LABELS):
                found[column] = np.asarray(table.column(column))[rows]
            elif column in ("AGESTART", "SEX"):
                known = table.column(column).dictionary.to_pylist()
                numbers = np.array([-1 if text == ALL_AGES else int(text) for text in known])
                found[column] = numbers[np.asarray(table.column(column).indices)[rows]]
        return found


class _Columns:
    """Columns of a table, each in one piece."""

    def __init__(self, table: Any) -> None:
        self.column_names = table.column_names
        whole = table.unify_dictionaries().combine_chunks()
        self._columns = {name: _whole(whole.column(name)) for name in table.column_names}

    def column(self, name: str) -> Any:
        return self._columns[name]


def _whole(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _file(out: Path, stem: str) -> Path:
    found = [path for path in sorted(out.glob(f"{stem}.*")) if path.suffix in (".csv", ".parquet")]
    if len(found) != 1:
        raise InputError(f"{out} holds {len(found)} files for {stem}; one is needed, such as {stem}.csv")
    return found[0]


def _read(file: Path, columns: Sequence[str]) -> _Columns:
    pa = arrow()
    text = pa.dictionary(pa.int32(), pa.string())
    types = dict.fromkeys(TEXTS, text) | {"COUNT": pa.int64(), "MOE95": pa.int64()}
    types["NOISE_VARIANCE"] = pa.float64()
    try:
        if file.suffix == ".parquet":
            table = arrow("parquet").read_table(file)
        else:
            csv = arrow("csv")
            options = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
            table = csv.read_csv(file, parse_options=csv.ParseOptions(delimiter="|"), convert_options=options)
        missing = [name for name in columns if name not in table.column_names]
        if missing:
            raise InputError(f"{file} has no column {missing[0]}")
        kept = [name for name in (*columns, *LABELS) if name in table.column_names]
        return _Columns(table.select(kept).cast(pa.schema([(name, types[name]) for name in kept])))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None


def _numbers(column: Any, known: dict[str, int]) -> Codes:
    """Return the number of each text, -1 if it is not known."""
    found = np.array([known.get(text, -1) for text in column.dictionary.to_pylist()], dtype=np.int32)
    return found[np.asarray(column.indices)] if found.size else np.zeros(0, dtype=np.int32)


def _key(rows: dict[str, NDArray[Any]]) -> Integers:
    found: Integers = rows["region"].astype(np.int64) << 32 | rows["iteration"]
    return found


def _position(rows: dict[str, NDArray[Any]], table: NDArray[Any]) -> Integers:
    """Return where a row of t2 stands in its group: sexes first, then the cells."""
    starts = np.full((len(AGES), 116), -1)
    for at, ranges in enumerate(RANGES, 1):
        starts[at, [first for first, _ in ranges]] = np.arange(len(ranges))
    sex, age = rows["SEX"] - 1, rows["AGESTART"]
    cell: Integers = 2 + sex * np.take(AGES, table) + starts[table, age]
    return np.where(age < 0, sex, cell)
