"""The released tables: their groups as arrays, their margins of error, and their files, written and read.

A group has one of the tables of its ladder. A `Part` holds the groups of one geography and level; the cells
of all groups stand in one array, one group after the other.

The margin of error is the smallest integer that the noise does not exceed 95 % of the time, found exactly;
beside it stands the Bureau's, floor(1.96 sigma). For discrete Gaussian noise sigma^2 is the parameter, a
fraction; the noise's own variance is at most that, and the same in 14 digits from 2 on. For discrete Laplace
noise it is 2 r / (1 - r)^2 with r = exp(-1/scale), certified by balls. Variances are printed as decimals of
up to 15 digits, which a float holds; the exact parameters are in `summary.json`.

A ladder has two files. The first has one row for each group, its total. The second has the rows of the groups
with a table of more than that. Rows come by geography, level, region and iteration. Tables are read back from
what `run` wrote, or the Bureau's program: pipe-delimited or Parquet.
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
from discreet.release.mechanism.groups import Specification
from discreet.release.mechanism.tabulation import CELL, Ladder
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
from discreet.tables import Kind, Problems, find_columns, open_table

FORMAT = "discreet safetab 1"
"""Of `summary.json`."""

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Small = NDArray[np.int8]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The groups of one geography and level, sorted by region and iteration.

    `label` says whose noise a group has: see `Labels`. Regions and iterations are indices.

    >>> from discreet.release.safetab.specification import safetab_p
    >>> part = Part.of(safetab_p().ladder(1), "USA", 1, [0, 0], [4, 3], [0, 0], [0, 0], [7, 8])
    >>> part.iteration.tolist(), part.totals().tolist()
    ([3, 4], [8, 7])
    """

    ladder: Ladder
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
        ladder: Ladder,
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
            ladder,
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
        return self.ladder.cells[self.table]

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


def margin_of_error(noise: Noise | None, cells: int = 1) -> int:
    """Return the 95 % margin of error of a sum of cells: 95 % of the time the noise is within it.

    >>> [margin_of_error(noise) for noise in (DiscreteGaussian(625), DiscreteGaussian("5000/159"), None)]
    [49, 11, 0]
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
    """The margins of one group: of its total, and of its numbers by their kind."""

    total: Margin
    kinds: tuple[Margin, ...]


@lru_cache(maxsize=1024)
def label(noise: Noise | None, ladder: Ladder, table: int) -> Label:
    """Return the margins of a group of a table whose cells have this noise.

    >>> from discreet.release.safetab.specification import safetab_p
    >>> ladder = safetab_p().ladder(1)
    >>> label(DiscreteGaussian("1250/53"), ladder, 1).kinds[-1]
    Margin(variance='23.5849056603774', margin=10, bureau=9)
    >>> label(DiscreteGaussian(625), ladder, 0).total
    Margin(variance='625', margin=49, bureau=49)
    """
    rung = ladder.rungs[table]
    kinds = tuple(stated(noise, rung.kinds.get(kind, 1)) for kind in ladder.kinds[1:])
    return Label(stated(noise, rung.cells), kinds)


def stated(noise: Noise | None, cells: int) -> Margin:
    """Return variance and margin of a sum of cells that each have this noise.

    >>> stated(DiscreteLaplace(10), 2)
    Margin(variance='399.666833267219', margin=41, bureau=39)
    """
    if noise is None:
        return NO_NOISE
    exact = margin_of_error(noise, cells)
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


GROUP_COLUMNS = ("REGION_ID", "REGION_TYPE", "ITERATION_CODE")
T1_COLUMNS = (*GROUP_COLUMNS, "COUNT")
MORE_COLUMNS = ("TABLE", "NOISE_VARIANCE", "MOE95")
BUREAU_MARGIN = "MOE95_BUREAU"
"""The Bureau's margin, floor(1.96 sigma), on request."""
ROWS = 1 << 19
"""Rows that are made and written at a time."""

_NUMBERS = {"COUNT": "int64", "MOE95": "int64", BUREAU_MARGIN: "int64"}


class Labels:
    """Margins of error as columns look them up.

    Totals by number: label times tables, plus table. Rows by that number times kinds, plus kind.
    """

    def __init__(self, labels: Sequence[Label]) -> None:
        self.total = [label.total for label in labels]
        self.rows = [margin for label in labels for margin in label.kinds]


@dataclass(frozen=True, eq=False)
class Pattern:
    """The rows of the tables of a ladder, one table after the other: their labels and their kinds."""

    starts: Integers
    words: Mapping[str, tuple[NDArray[np.str_], NDArray[np.intp]]]
    kind: Integers

    @classmethod
    def of(cls, ladder: Ladder) -> Pattern:
        """Return the rows of a ladder."""
        rows = [row for rung in ladder.rungs[1:] for row in rung.rows]
        # each word once: the bytes of a Parquet file would depend on more than its rows
        words = {
            name: np.unique(column, return_inverse=True)
            for name, column in zip(
                ladder.labels, zip(*(row.labels for row in rows), strict=True), strict=True
            )
        }
        kinds = ladder.kinds[1:]
        return cls(
            np.cumsum(ladder.heights) - ladder.heights,
            words,
            np.array([kinds.index(row.kind) for row in rows], dtype=np.int64),
        )


class Writer:
    """Write the two files of a ladder into a folder, part by part."""

    def __init__(
        self,
        folder: Folder,
        ladder: Ladder,
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
        self.ladder, self._pattern = ladder, Pattern.of(ladder)
        self.rows = dict.fromkeys(ladder.names, 0)
        self._columns = {
            ladder.totals: (*T1_COLUMNS, *self._more),
            ladder.table: (*GROUP_COLUMNS, *ladder.labels, "COUNT", *self._more),
        }
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
        names, tables = strings(list(regions)), self.ladder.names
        for chunk in _chunks(part):
            self.rows[tables[0]] += chunk.size
            first = coded(np.zeros(chunk.size, dtype=np.int32), [tables[0]])
            columns = {"COUNT": chunk.totals(), "TABLE": first}
            number = chunk.label * len(tables) + chunk.table
            every = np.arange(chunk.size)
            self._append(self.ladder.totals, chunk, every, names, columns, number, self._labels.total)
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
        tables, heights = self.ladder.names, self.ladder.heights[part.table]
        table = np.repeat(part.table, heights)
        row = np.arange(table.size) - np.repeat(np.cumsum(heights) - heights, heights)
        place = self._pattern.starts[table] + row
        group = np.repeat(np.arange(part.size), heights)
        words = self._pattern.words.items()
        columns = {name: coded(at[place], texts.tolist()) for name, (texts, at) in words}
        columns |= {"COUNT": published_rows(part), "TABLE": coded(table, list(tables))}
        for name, count in zip(tables, np.bincount(table, minlength=len(tables)), strict=True):
            self.rows[name] += int(count)
        kinds = len(self.ladder.kinds) - 1
        number = kinds * (part.label[group] * len(tables) + table) + self._pattern.kind[place]
        self._append(self.ladder.table, part, group, names, columns, number, self._labels.rows)

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


def published_rows(part: Part) -> Integers:
    """Return the rows of groups that have more than a total, one group after the other.

    >>> from discreet.release.safetab.specification import safetab_p
    >>> part = Part.of(safetab_p().ladder(1), "USA", 1, [0], [0], [1], [0], [1, 2, 3, 4, 10, 20, 30, 40])
    >>> published_rows(part).tolist()
    [10, 100, 1, 2, 3, 4, 10, 20, 30, 40]
    """
    heights = part.ladder.heights[part.table]
    starts, first = part.starts(), np.cumsum(heights) - heights
    result = np.empty(int(heights.sum()), dtype=np.int64)
    for table in np.unique(part.table).tolist():
        rung, groups = part.ladder.rungs[table], np.flatnonzero(part.table == table)
        for place, row in enumerate(rung.rows):
            cells = starts[groups]
            values = part.values[cells + row.cells[0]]
            for cell in row.cells[1:]:
                values = values + part.values[cells + cell]
            result[first[groups] + place] = values
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


@dataclass(frozen=True, slots=True)
class Released:
    """The groups of an output by geography and level, the margins by ladder, and what its files are like."""

    parts: dict[tuple[str, int], Part]
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
    paths = [(_find(out, one.totals), _find(out, one.table)) for one in ladders]
    tables = [
        (read_columns(first, T1_COLUMNS), read_columns(second, (*GROUP_COLUMNS, *one.labels, "COUNT")))
        for one, (first, second) in zip(ladders, paths, strict=True)
    ]
    known: dict[str, Sequence[str]] = {
        name: list(regions[name]) if regions else _own([t1 for t1, _ in tables], name)
        for name in specification.tabulation.geographies
    }
    parts: dict[tuple[str, int], Part] = {}
    labels = {}
    for ladder, both, (t1, t2) in zip(ladders, paths, tables, strict=True):
        labels[ladder.name] = _read_ladder(ladder, both, t1, t2, specification, known, parts)
    first, t1 = paths[0][0], tables[0][0]
    files = tuple(path for both in paths for path in both)
    return Released(
        {place: parts[place] for place in specification.tabulation.places if place in parts},
        known,
        labels,
        bureau=MORE_COLUMNS[1] not in t1.column_names,
        bureau_margins=BUREAU_MARGIN in t1.column_names,
        format="parquet" if first.suffix == ".parquet" else "csv",
        marked=MARK in t1.column_names or any(MARKED in path.name for path in files),
        files=files,
    )


def _read_ladder(
    ladder: Ladder,
    paths: tuple[Path, Path],
    t1: ArrowTable,
    t2: ArrowTable,
    specification: Specification,
    known: Mapping[str, Sequence[str]],
    parts: dict[tuple[str, int], Part],
) -> Labels:
    """Read the two tables of a ladder into parts, and return the margins behind their labels."""
    first, second = paths
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
    table, rows = _rows_in_order(ladder, t2, place, key.size, second)
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
        raise InputError(f"a total of {first.name} is not the sum of its cells in {second.name}")
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
        parts[geography, level] = Part.of(
            ladder, geography, level, region, iteration, table[mask], label[mask], inside
        )
    return labels


_REGION, _ITERATION = 24, 20
"""Bits of a region and of an iteration in the number of a group; above them stand geography and level."""
_LEVELS = 100


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
    geographies = list(specification.tabulation.geographies)
    geography = places(table.column("REGION_TYPE").combine_chunks(), geographies, unknown)
    unknown = "an iteration that is not in the specification (column ITERATION_CODE)"
    codes = [one.code for one in specification.iterations]
    iteration = places(table.column("ITERATION_CODE").combine_chunks(), codes, unknown)
    region = np.zeros(iteration.size, dtype=np.int64)
    ids = table.column("REGION_ID").combine_chunks()
    for number, name in enumerate(geographies):
        mask = np.flatnonzero(geography == number)
        unknown = f"a region that is not in {specification.tabulation.area_file.name} (column REGION_ID)"
        region[mask] = places(ids.take(arrow().array(mask)), regions[name], unknown)
    level = np.array([one.level for one in specification.iterations])[iteration]
    found: Integers = (geography * _LEVELS + level << _REGION | region) << _ITERATION | iteration
    return found


def _rows_in_order(
    ladder: Ladder, t2: ArrowTable, place: Integers, groups: int, path: Path
) -> tuple[Small, Places]:
    """Return each group's table, and the rows of all groups in the order in which they are written."""
    known: dict[tuple[str, ...], int] = {}
    # where each row of the ladder stands in each table, -1 if it does not
    at = np.full((len(ladder.rungs), int(ladder.heights.sum()) + 1), -1, dtype=np.int64)
    for number, rung in enumerate(ladder.rungs[1:], 1):
        for spot, one in enumerate(rung.rows):
            at[number, known.setdefault(one.labels, len(known))] = spot
    texts = zip(*(t2.column(name).to_pylist() for name in ladder.labels), strict=True)
    row = np.array([known.get(labels, at.shape[1] - 1) for labels in texts], dtype=np.int64)
    heights = np.bincount(place, minlength=groups)
    table = np.zeros(groups, dtype=np.int8)
    spots = np.zeros(row.size, dtype=np.int64)
    right = heights == 0
    for number, height in reversed([*enumerate(ladder.heights.tolist())][1:]):
        mine = (heights == height) & ~right
        spot = at[number][row]
        own = mine[place]
        outside = np.zeros(groups, dtype=bool)
        outside[place[own & (spot < 0)]] = True
        mine &= ~outside
        table[mine] = number
        spots = np.where(mine[place], spot, spots)
        right |= mine
    rows = np.lexsort((spots, place))
    # a row that comes twice leaves out another
    number_in = np.arange(rows.size) - np.repeat(np.cumsum(heights) - heights, heights)
    if not right.all() or (spots[rows] != number_in).any():
        raise InputError(f"{path.name} has a group that is none of the tables of its ladder")
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
    found = [
        Label(words[first], tuple(words[number] for number in others))
        for first, *others in kinds.tolist()
        for _ in ladder.rungs
    ]
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


def read_picked(
    path: Path,
    specification: Specification,
    regions: Mapping[str, Sequence[str]],
    places: Sequence[tuple[str, int]],
) -> dict[tuple[str, int], Picked]:
    """Read the published counts that pick tables: a table of totals, as a run writes it.

    Rows of groups that are not tabulated at a place are passed over.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}, which picks the tables of a ladder")
    table = read_columns(path, T1_COLUMNS)
    key = _keys(table, regions, specification, path)
    order = np.argsort(key, kind="stable")
    key, count = key[order], table.column("COUNT").to_numpy()[order].astype(np.int64)
    if (key[1:] == key[:-1]).any():
        raise InputError(f"a group occurs twice in {path.name}")
    geographies = list(specification.tabulation.geographies)
    number = key >> _REGION + _ITERATION
    found = {}
    for place in places:
        groups = specification.tabulation.workloads[place[1]].groups
        iteration = (key & (1 << _ITERATION) - 1).astype(np.int32)
        here = number == geographies.index(place[0]) * _LEVELS + groups
        here &= np.isin(iteration, specification.places(*place))
        region = (key >> _ITERATION & (1 << _REGION) - 1).astype(np.int32)
        found[place] = Picked(region[here], iteration[here], count[here])
    return found


@dataclass(frozen=True, slots=True)
class Picked:
    """Groups of one geography and level whose totals are published already: they pick the tables.

    Sorted by region and iteration. No other group is measured.
    """

    region: Codes
    iteration: Codes
    count: Integers


def _find(out: Path, stem: str) -> Path:
    found = find_output(out, stem, ("csv", "parquet", "psv", "txt"))
    if found is None:
        raise InputError(f"there is no {stem} in {out}; name the output of `discreet safetab run`")
    return found


def _own(tables: Sequence[ArrowTable], geography: str) -> list[str]:
    """Return the regions that the tables of totals have."""
    pc = arrow("compute")
    found = set()
    for t1 in tables:
        here = t1.filter(pc.equal(t1.column("REGION_TYPE"), geography)).column("REGION_ID")
        found |= set(pc.unique(here).to_pylist())
    return sorted(found)


def read_columns(path: Path, columns: Sequence[str]) -> ArrowTable:
    """Read a table that must have some columns; texts as they are, counts as whole numbers."""
    opened, optional = open_table(path, wanted=columns), (*MORE_COLUMNS, BUREAU_MARGIN, MARK)
    problems = Problems(opened.shown, first_line=opened.first_line, word=opened.word)
    problems.written = find_columns(
        opened.names, needed=columns, optional=optional, table=opened.shown, problems=problems
    )
    problems.stop()
    # a variance is a number in Parquet, and in text as many digits as are true
    kinds: dict[str, Kind] = dict.fromkeys(problems.written, "text")
    kinds.update((name, "whole") for name in _NUMBERS)
    kinds["NOISE_VARIANCE"] = "any"
    table = opened.table({there: kinds[name] for name, there in problems.written.items()}, problems)
    if not opened.complete:
        problems.stop()
    pa, pc = arrow(), arrow("compute")
    types = {"text": pa.string(), "whole": pa.int64()}
    schema = [
        (name, types.get(kinds[name], pa.string() if pa.types.is_dictionary(one.type) else one.type))
        for name, one in zip(problems.written, table.schema, strict=True)
    ]
    table = table.rename_columns(list(problems.written)).cast(pa.schema(schema))
    for name in GROUP_COLUMNS:
        missing = pc.equal(table.column(name).fill_null(""), "")
        problems.rows(missing.to_numpy(), "a text is missing", name)
    problems.stop()
    return table
