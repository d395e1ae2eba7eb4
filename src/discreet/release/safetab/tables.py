"""The released tables: their groups as arrays, their margins of error, and their files, written and read.

A group has one of four tables: a total, or sex by 4, 9 or 23 ages. A `Part` holds the groups of one geography
and level; the cells of all groups stand in one array, one group after the other, those of the first sex
before those of the second.

The margin of error is the smallest integer that the noise does not exceed 95 % of the time, found exactly;
beside it stands the Bureau's, floor(1.96 sigma). For discrete Gaussian noise sigma^2 is the parameter, a
fraction; the noise's own variance is at most that, and the same in 14 digits from 2 on. For discrete Laplace
noise it is 2 r / (1 - r)^2 with r = exp(-1/scale), certified by balls. Variances are printed as decimals of
up to 15 digits, which a float holds; the exact parameters are in `summary.json`.

File `t1` has one row for each group, its total. `t2` has the cells of the groups with a table by sex and age,
and before them the two sexes over all ages. Rows come by geography, level, region and iteration. Tables are
read back from what `run` wrote, or the Bureau's program: pipe-delimited or Parquet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import isqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, PrecisionError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, balls
from discreet.release.safetab.specification import GEOGRAPHIES, LEVELS, Specification
from discreet.release.tables import (
    MARK,
    MARKED,
    ArrowArray,
    ArrowSchema,
    ArrowTable,
    Folder,
    OutputTable,
    arrow,
    coded,
    find_output,
    spread,
    strings,
)

FORMAT = "discreet safetab 1"
"""Of `summary.json`."""

TOP_AGE = 115

_STARTS = (
    (0, 18, 45, 65),
    (0, 5, 18, 25, 35, 45, 55, 65, 75),
    (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85),
)


def _ranges(starts: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(starts, (*(start - 1 for start in starts[1:]), TOP_AGE), strict=True))


RANGES = tuple(_ranges(starts) for starts in _STARTS)
"""First and last age of each range, for T02001, T02002 and T02003."""

COARSER = tuple(
    tuple(max(i for i, start in enumerate(starts) if start <= fine) for fine in _STARTS[-1])
    for starts in _STARTS
)
"""For each table, which of its ranges holds each of the 23 finest ones."""


AGES = (0, *map(len, RANGES))
"""How many ages each table has; the total has none."""

CELLS = (1, *(2 * ages for ages in AGES[1:]))
"""How many cells each table has: 1, 8, 18 or 46."""

TOTAL = "T01001"
TABLES = (TOTAL, "T02001", "T02002", "T02003")
"""What the tables are called."""

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Small = NDArray[np.int8]
Places = NDArray[np.intp]

_CELLS = np.array(CELLS, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The groups of one geography and level, sorted by region and iteration.

    `label` says whose noise a group has: see `labels`. Regions and iterations are indices.

    >>> part = Part.of("USA", 1, [0, 0], [4, 3], [0, 0], [0, 0], [7, 8])
    >>> part.iteration.tolist(), part.totals().tolist()
    ([3, 4], [8, 7])
    """

    geography: str
    level: int
    region: Codes
    iteration: Codes
    table: Small
    label: Codes
    values: Integers

    @classmethod
    def of(
        cls,
        geography: str,
        level: int,
        region: Sequence[int] | Codes,
        iteration: Sequence[int] | Codes,
        table: Sequence[int] | Small,
        label: Sequence[int] | Codes,
        values: Sequence[int] | Integers,
    ) -> Part:
        """Return a part from groups in any order."""
        return cls(
            geography,
            level,
            np.asarray(region, dtype=np.int32),
            np.asarray(iteration, dtype=np.int32),
            np.asarray(table, dtype=np.int8),
            np.asarray(label, dtype=np.int32),
            np.asarray(values, dtype=np.int64),
        ).sorted()

    @property
    def size(self) -> int:
        """How many groups there are."""
        return int(self.region.size)

    def widths(self) -> Integers:
        """Return how many cells each group has."""
        return _CELLS[self.table]

    def starts(self) -> Integers:
        """Return where the cells of each group begin."""
        widths = self.widths()
        return np.cumsum(widths) - widths

    def totals(self) -> Integers:
        """Return the sum of the cells of each group."""
        if not self.size:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.values, self.starts())

    def take(self, which: Places) -> Part:
        """Return the groups at these places, in this order."""
        return replace(
            self,
            region=self.region[which],
            iteration=self.iteration[which],
            table=self.table[which],
            label=self.label[which],
            values=self.values[spread(self.starts()[which], self.widths()[which])],
        )

    def keep(self, mask: NDArray[np.bool_]) -> Part:
        """Return the groups where the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def sorted(self) -> Part:
        """Return the groups by region, then iteration."""
        order = np.lexsort((self.iteration, self.region))
        return self if (order == np.arange(order.size)).all() else self.take(order)

    def clamped(self) -> Part:
        """Return the groups with zero for cells that are below zero."""
        return replace(self, values=np.maximum(self.values, 0))


def joined(parts: Sequence[Part]) -> Part:
    """Return one part with the groups of several, all of one geography and level."""
    return replace(
        parts[0],
        region=np.concatenate([part.region for part in parts]),
        iteration=np.concatenate([part.iteration for part in parts]),
        table=np.concatenate([part.table for part in parts]),
        label=np.concatenate([part.label for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    ).sorted()


def keys(region: Codes, iteration: Codes) -> Integers:
    """Return one number for each pair of a region and an iteration, in the same order."""
    return region.astype(np.int64) << 32 | iteration


Z95 = Fraction(196, 100)
"""The Bureau's margins of error are this many standard deviations."""

CONFIDENCE = Fraction(95, 100)
"""The chance with which a margin of error covers the noise."""

DIGITS = 15


def variance_of(noise: Noise | None) -> Fraction | float:
    """Return the variance that a table states: the parameter of Gaussian noise, E X^2 of geometric noise.

    >>> variance_of(DiscreteGaussian("31.25")), variance_of(None)
    (Fraction(125, 4), Fraction(0, 1))
    >>> round(float(variance_of(DiscreteLaplace(10))), 2)
    199.83
    """
    if noise is None:
        return Fraction(0)
    return noise.size if noise.is_gaussian else noise.true_variance()


def margin(noise: Noise | None, cells: int = 1) -> int:
    """Return the 95 % margin of error of a sum of cells: 95 % of the time the noise is within it.

    >>> margin(DiscreteGaussian(625)), margin(DiscreteGaussian("5000/159")), margin(None)
    (49, 11, 0)
    """
    return 0 if noise is None else noise.margin(CONFIDENCE, draws=cells)


def bureau_margin(variance: Fraction | float) -> int:
    """Return floor(1.96 sigma), the margin that the Bureau publishes, exact for a fraction.

    It is not a 95 % margin: at the parameters of 2020 the noise is within it 92.1 to 98.0 % of the time.

    >>> bureau_margin(Fraction(625)), bureau_margin(Fraction(5000, 159)), bureau_margin(Fraction(0))
    (49, 10, 0)
    """
    square = Z95**2 * Fraction(variance)
    return isqrt(square.numerator // square.denominator)


@dataclass(frozen=True, slots=True)
class Margin:
    """A variance as it is printed, a margin of error, and the Bureau's."""

    variance: str
    margin: int
    bureau: int


NO_NOISE = Margin("0", 0, 0)


@dataclass(frozen=True, slots=True)
class Label:
    """The margins of one group: of its total, of each sex, and of each cell."""

    total: Margin
    sex: Margin
    cell: Margin


@lru_cache(maxsize=1024)
def label(noise: Noise | None, table: int) -> Label:
    """Return the margins of a group of a table whose cells have this noise.

    >>> label(DiscreteGaussian("1250/53"), 1).cell, label(DiscreteGaussian(625), 0).total
    (Margin(variance='23.5849056603774', margin=10, bureau=9), Margin(variance='625', margin=49, bureau=49))
    """
    cells = CELLS[table]
    return Label(stated(noise, cells), stated(noise, max(1, cells // 2)), stated(noise, 1))


def stated(noise: Noise | None, cells: int) -> Margin:
    """Return variance and margin of a sum of cells that each have this noise.

    >>> stated(DiscreteLaplace(10), 2)
    Margin(variance='399.666833267219', margin=41, bureau=39)
    """
    if noise is None:
        return NO_NOISE
    exact = margin(noise, cells)
    if isinstance(noise, DiscreteGaussian):
        variance = cells * noise.variance
        return Margin(written(variance), exact, bureau_margin(variance))
    if not isinstance(noise, DiscreteLaplace):
        raise TypeError(f"the variance of {noise} is not known exactly")
    bits = 128
    while bits <= balls.MAX_BITS:
        with balls.working_bits(bits):
            ratio = (-balls.ball(1 / noise.scale)).exp()
            variance_ball = 2 * cells * ratio / (1 - ratio) ** 2
            whole = balls.floor(balls.ball(Z95) * variance_ball.sqrt())
            box = balls.as_interval(variance_ball)
        if whole is not None and written(box.lower) == written(box.upper):
            return Margin(written(box.lower), exact, whole)
        bits *= 2
    raise PrecisionError(f"the margin of {noise} could not be separated from an integer")


def written(value: Fraction) -> str:
    """Write a variance as a decimal: exact if 15 digits suffice, else rounded to 15.

    >>> written(Fraction(1250, 53)), written(Fraction(625)), written(Fraction(1, 10**9))
    ('23.5849056603774', '625', '0.000000001')
    """
    rounded = Context(prec=DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator))
    text = format(rounded, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


T1_COLUMNS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE", "COUNT")
T2_COLUMNS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE", "AGESTART", "AGEEND", "SEX", "COUNT")
MORE_COLUMNS = ("TABLE", "NOISE_VARIANCE", "MOE95")
BUREAU_MARGIN = "MOE95_BUREAU"
"""The Bureau's margin, floor(1.96 sigma), on request."""
ALL_AGES = "*"
ROWS = 1 << 19
"""Rows that are made and written at a time."""

_NUMBERS = {"COUNT": "int64", "MOE95": "int64", BUREAU_MARGIN: "int64"}


class Labels:
    """Margins of error by label and table, as columns look them up: number 4 label + table.

    `None` stands for tables that do not say them.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self.total = [label.total for label in labels]
        # of a group's rows in t2, the first two are a sex, the others a cell
        self.rows = [margin for label in labels for margin in (label.sex, label.cell)]


class Writer:
    """Write t1 and t2 into a folder, part by part."""

    def __init__(
        self,
        folder: Folder,
        iterations: Sequence[str],
        labels: Labels,
        *,
        bureau: bool,
        bureau_margins: bool = False,
    ) -> None:
        """`bureau`: the Bureau's columns alone. `bureau_margins`: its margins too, in their own column."""
        self.folder, self.bureau, self._labels = folder, bureau, labels
        self._more = () if bureau else (*MORE_COLUMNS, *((BUREAU_MARGIN,) if bureau_margins else ()))
        self._iterations = strings(list(iterations))
        self.rows = dict.fromkeys(TABLES, 0)
        self._columns = {"t1": (*T1_COLUMNS, *self._more), "t2": (*T2_COLUMNS, *self._more)}
        self._files = {
            stem: OutputTable(folder.file(stem, folder.kind), folder.kind, self._schema(columns), pipes=True)
            for stem, columns in self._columns.items()
        }

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exc: object) -> None:
        for file in self._files.values():
            file.close()

    def write(self, part: Part, regions: Sequence[str]) -> None:
        """Append the groups of one geography and level."""
        names = strings(list(regions))
        for chunk in _chunks(part):
            self.rows[TOTAL] += chunk.size
            columns = {"COUNT": chunk.totals(), "TABLE": coded(np.zeros(chunk.size, dtype=np.int32), [TOTAL])}
            number = chunk.label * len(TABLES) + chunk.table
            self._append("t1", chunk, np.arange(chunk.size), names, columns, number, self._labels.total)
            large = chunk.keep(chunk.table > 0)
            if large.size:
                self._cells(large, names)

    def _schema(self, columns: Sequence[str]) -> ArrowSchema:
        pa = arrow()
        text = pa.dictionary(pa.int32(), pa.string())
        types = {"NOISE_VARIANCE": pa.float64()} if self.folder.kind == "parquet" else {}
        types |= {name: pa.type_for_alias(alias) for name, alias in _NUMBERS.items()}
        marked = [MARK] if self.folder.mark and not self.bureau else []
        mark = {"warning": self.folder.mark} if self.folder.mark else None
        return pa.schema([(name, types.get(name, text)) for name in (*columns, *marked)], metadata=mark)

    def _cells(self, part: Part, names: ArrowArray) -> None:
        heights = part.widths() + 2
        table = np.repeat(part.table, heights)
        row = np.arange(table.size) - np.repeat(np.cumsum(heights) - heights, heights)
        kind = _PATTERN_STARTS[table] + row
        group = np.repeat(np.arange(part.size), heights)
        columns = {name: coded(at[kind], words.tolist()) for name, (words, at) in _ROW_WORDS.items()}
        columns |= {"COUNT": with_sexes(part), "TABLE": coded(table, list(TABLES))}
        for name, count in zip(TABLES, np.bincount(table, minlength=len(TABLES)), strict=True):
            self.rows[name] += int(count)
        number = 2 * (part.label[group] * len(TABLES) + table) + (row >= 2)
        self._append("t2", part, group, names, columns, number, self._labels.rows)

    def _append(
        self,
        stem: str,
        part: Part,
        group: Places,
        names: ArrowArray,
        columns: dict[str, object],
        number: Codes | Integers,
        margins: Sequence[Margin],
    ) -> None:
        """Append rows: of which group of the part each is, its own columns, and which margins it has."""
        columns |= {
            "REGION_ID": coded(part.region[group], names),
            "REGION_TYPE": coded(np.zeros(group.size, dtype=np.int32), [part.geography]),
            "ITERATION_CODE": coded(part.iteration[group], self._iterations),
        }
        if not self.bureau:
            if self.folder.kind == "parquet":
                columns["NOISE_VARIANCE"] = np.array([float(one.variance) for one in margins])[number]
            else:
                columns["NOISE_VARIANCE"] = coded(number, [one.variance for one in margins])
            columns["MOE95"] = np.array([one.margin for one in margins], dtype=np.int64)[number]
            columns[BUREAU_MARGIN] = np.array([one.bureau for one in margins], dtype=np.int64)[number]
        found = (columns[name] for name in self._columns[stem])
        self._files[stem].write([arrow().array(one) if isinstance(one, np.ndarray) else one for one in found])


def with_sexes(part: Part) -> Integers:
    """Return the cells of groups that have a table by sex and age, each after its two sums by sex.

    >>> part = Part.of("USA", 1, [0], [0], [1], [0], [1, 2, 3, 4, 10, 20, 30, 40])
    >>> with_sexes(part).tolist()
    [10, 100, 1, 2, 3, 4, 10, 20, 30, 40]
    """
    widths, starts = part.widths(), part.starts()
    halves = np.stack([starts, starts + widths // 2], axis=1).ravel()
    result = np.empty(int((widths + 2).sum()), dtype=np.int64)
    first = np.cumsum(widths + 2) - widths - 2
    result[np.stack([first, first + 1], axis=1).ravel()] = np.add.reduceat(part.values, halves)
    result[spread(first + 2, widths)] = part.values
    return result


def _chunks(part: Part) -> Iterator[Part]:
    """Yield the groups of a part, in order, so many that their rows fit into memory."""
    ends = np.cumsum(part.widths() + 2)
    start = 0
    while start < part.size:
        base = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, base + ROWS, side="right")))
        yield part if stop - start == part.size else part.take(np.arange(start, stop))
        start = stop


# The rows of a group in t2, one table after the other: each sex over all ages, then the ages of each sex.
_ROWS = [
    (str(first), str(last), sex)
    for ranges in RANGES
    for ages in ([(ALL_AGES, ALL_AGES)], ranges)
    for sex in ("1", "2")
    for first, last in ages
]
# each word once: the bytes of a Parquet file would depend on more than its rows
_ROW_WORDS = {
    name: np.unique(column, return_inverse=True)
    for name, column in zip(("AGESTART", "AGEEND", "SEX"), zip(*_ROWS, strict=True), strict=True)
}
_heights = [0, *(cells + 2 for cells in CELLS[1:])]
_PATTERN_STARTS = np.cumsum(_heights) - _heights
_STARTS_OF_ROWS = np.array([-1 if first == ALL_AGES else int(first) for first, _, _ in _ROWS])
_SEXES = np.array([int(sex) - 1 for _, _, sex in _ROWS])
_TABLE_OF_ROWS = np.zeros(max(CELLS) + 3, dtype=np.int8)
_TABLE_OF_ROWS[[cells + 2 for cells in CELLS[1:]]] = range(1, len(TABLES))


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
    first, second = (_find(out, stem) for stem in ("t1", "t2"))
    t1, t2 = read_columns(first, T1_COLUMNS), read_columns(second, T2_COLUMNS)
    bureau = MORE_COLUMNS[1] not in t1.column_names
    known = {name: list(regions[name]) if regions else _own(t1, name) for name in GEOGRAPHIES}
    unordered, cells = (
        _keys(table, known, specification, path) for table, path in ((t1, first), (t2, second))
    )
    order = np.argsort(unordered, kind="stable")
    key = unordered[order]
    if (key[1:] == key[:-1]).any():
        raise InputError(f"a group occurs twice in {first.name}")
    place = np.searchsorted(key, cells)
    if (np.append(key, -1)[place] != cells).any():
        raise InputError(f"{second.name} has a group that {first.name} does not have")
    table, rows = _cells(t2, place, key.size, second)
    # what has no table by sex and age has its total
    widths = np.take(CELLS, table)
    starts, totals = np.cumsum(widths) - widths, t1.column("COUNT").to_numpy()[order]
    values = np.zeros(int(widths.sum()), dtype=np.int64)
    values[starts[table == 0]] = totals[table == 0]
    heights = widths[table > 0] + 2
    begins = np.cumsum(heights) - heights  # of each group's rows: two sexes, then the cells
    values[spread(starts[table > 0], widths[table > 0])] = t2.column("COUNT").to_numpy()[
        rows[spread(begins + 2, heights - 2)]
    ]
    if key.size and (np.add.reduceat(values, starts) != totals).any():
        raise InputError(f"a total of {first.name} is not the sum of its cells in {second.name}")
    label, labels = _labels(t1, t2, order, table, rows[begins], rows[begins + 2], bureau)
    found = {}
    for (number, geography), level in product(enumerate(GEOGRAPHIES), LEVELS):
        mask = key >> _REGION + _ITERATION == number * 3 + level
        region = key[mask] >> _ITERATION & (1 << _REGION) - 1
        iteration = key[mask] & (1 << _ITERATION) - 1
        inside = values[np.repeat(mask, widths)]
        part = Part.of(geography, level, region, iteration, table[mask], label[mask], inside)
        found[geography, level] = part
    marked = MARK in t1.column_names or any(MARKED in path.name for path in (first, second))
    kind = "parquet" if first.suffix == ".parquet" else "csv"
    margins = BUREAU_MARGIN in t1.column_names
    return Released(found, dict(known), labels, bureau, margins, kind, marked, (first, second))


_REGION, _ITERATION = 28, 24
"""Bits of a region and of an iteration in the number of a group; above them stand geography and level."""


def _keys(
    table: ArrowTable, regions: Mapping[str, Sequence[str]], specification: Specification, path: Path
) -> Integers:
    """Return a number for the group that each row belongs to."""
    pc = arrow("compute")

    def places(column: ArrowArray, values: Sequence[str], problem: str) -> Integers:
        found = pc.index_in(column, value_set=strings(list(values)))
        if found.null_count:
            raise InputError(f"{path.name} has {problem}")
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)

    unknown = "a region type that is not known (column REGION_TYPE)"
    geography = places(table.column("REGION_TYPE").combine_chunks(), GEOGRAPHIES, unknown)
    unknown = "an iteration that is not in the specification (column ITERATION_CODE)"
    codes = [one.code for one in specification.iterations]
    iteration = places(table.column("ITERATION_CODE").combine_chunks(), codes, unknown)
    region = np.zeros(iteration.size, dtype=np.int64)
    ids = table.column("REGION_ID").combine_chunks()
    for number, name in enumerate(GEOGRAPHIES):
        mask = np.flatnonzero(geography == number)
        unknown = "a region that is not in GRF-C (column REGION_ID)"
        region[mask] = places(ids.take(arrow().array(mask)), regions[name], unknown)
    level = np.array([one.level for one in specification.iterations])[iteration]
    found: Integers = (geography * 3 + level << _REGION | region) << _ITERATION | iteration
    return found


def _cells(t2: ArrowTable, place: Integers, groups: int, path: Path) -> tuple[Small, Places]:
    """Return each group's table, and the rows of all groups in the order in which they are written."""
    try:
        ages = t2.column("AGESTART").to_pylist()
        first = np.array([-1 if text == ALL_AGES else int(text) for text in ages], dtype=np.int64)
        sex = np.array([int(text) - 1 for text in t2.column("SEX").to_pylist()], dtype=np.int64)
    except ValueError:
        raise InputError(f"{path.name} has an age or a sex that is not a whole number") from None
    heights = np.bincount(place, minlength=groups)
    table: Small = _TABLE_OF_ROWS[np.minimum(heights, _TABLE_OF_ROWS.size - 1)]
    rows = np.lexsort((first, sex, first >= 0, place))
    number = np.arange(rows.size) - np.repeat(np.cumsum(heights) - heights, heights)
    known = (heights == 0) | (np.where(table > 0, np.take(CELLS, table) + 2, -1) == heights)
    kind = _PATTERN_STARTS[table[place[rows]]] + number if known.all() else rows
    if not known.all() or (first[rows] != _STARTS_OF_ROWS[kind]).any() or (sex[rows] != _SEXES[kind]).any():
        raise InputError(f"{path.name} has a group that is none of the tables by sex and age")
    return table, rows


def _labels(
    t1: ArrowTable,
    t2: ArrowTable,
    order: NDArray[np.intp],
    table: NDArray[np.int8],
    sex_row: Places,
    cell_row: Places,
    bureau: bool,
) -> tuple[NDArray[np.int32], Labels]:
    """Return the label of each group, and the margins behind the labels.

    `sex_row` and `cell_row` are rows of t2: for each group with a table by sex and age, one of each kind.
    """
    if bureau:
        unsaid = Label(NO_NOISE, NO_NOISE, NO_NOISE)
        return np.zeros(table.size, dtype=np.int32), Labels([unsaid] * len(TABLES))
    margins: dict[Margin, int] = {}
    total = _margins(t1, margins)[order]
    rows, large = _margins(t2, margins), table > 0
    sex, cell = total.copy(), total.copy()
    sex[large], cell[large] = rows[sex_row], rows[cell_row]
    kinds, label = np.unique(np.stack([total, sex, cell], axis=1), axis=0, return_inverse=True)
    words = list(margins)
    found = [Label(*(words[number] for number in kind)) for kind in kinds for _ in TABLES]
    return label.ravel().astype(np.int32), Labels(found)


def _margins(table: ArrowTable, seen: dict[Margin, int]) -> Integers:
    """Return a number for the variance and margin of each row."""
    pc = arrow("compute")
    texts = table.column("NOISE_VARIANCE").combine_chunks()
    coded = pc.dictionary_encode(texts)
    words = [
        one if isinstance(one, str) else format(Decimal(repr(one)).normalize(), "f")
        for one in coded.dictionary.to_pylist()
    ]
    margin = table.column("MOE95").to_numpy()
    bureau = table.column(BUREAU_MARGIN).to_numpy() if BUREAU_MARGIN in table.column_names else margin
    rows = np.stack([coded.indices.to_numpy(zero_copy_only=False), margin, bureau], axis=1)
    kinds, number = np.unique(rows, axis=0, return_inverse=True)
    codes = [seen.setdefault(Margin(words[code], *map(int, both)), len(seen)) for code, *both in kinds]
    return np.array(codes, dtype=np.int64)[number.ravel()]


def _find(out: Path, stem: str) -> Path:
    found = find_output(out, stem, ("csv", "parquet", "psv", "txt"))
    if found is None:
        raise InputError(f"there is no {stem} in {out}; name the output of `discreet safetab run`")
    return found


def _own(t1: ArrowTable, geography: str) -> list[str]:
    """Return the regions that t1 has."""
    pc = arrow("compute")
    here = t1.filter(pc.equal(t1.column("REGION_TYPE"), geography)).column("REGION_ID")
    return sorted(pc.unique(here).to_pylist())


def read_columns(path: Path, columns: Sequence[str]) -> ArrowTable:
    """Read a table that must have some columns; texts as they are, counts as whole numbers."""
    pa = arrow()
    kinds = {name: pa.string() for name in (*T2_COLUMNS, *MORE_COLUMNS, MARK)}
    kinds |= {"COUNT": pa.int64(), "MOE95": pa.int64(), BUREAU_MARGIN: pa.int64()}
    try:
        if path.suffix == ".parquet":
            table = arrow("parquet").read_table(path)
            kinds["NOISE_VARIANCE"] = pa.float64()  # a number in Parquet
            types = [(one.name, kinds.get(one.name, one.type)) for one in table.schema]
            table = table.cast(pa.schema(types))
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
