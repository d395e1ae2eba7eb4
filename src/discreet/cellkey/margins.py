"""A hypercube: records by attributes, counted in every margin, and the sums of their record keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from discreet.areas.layout import lookup
from discreet.areas.output import arrow
from discreet.areas.tree import Integers
from discreet.budget import Attributes
from discreet.cellkey.lookup import REAL_KEYS, key_units
from discreet.errors import InputError
from discreet.records.engine import Engine, Relation
from discreet.records.record_columns import exact_number
from discreet.tables import Codes, Problems, TableSource, Words, read_table


@dataclass(frozen=True, slots=True)
class CubeMargin:
    """One table of a hypercube: the attributes that it splits; the others are summed over.

    >>> CubeMargin((0, 2), (2, 5)).cells
    10
    """

    attributes: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells it has, empty ones included."""
        return prod(self.sizes)


def margins_of(attributes: Attributes, order: int | None = None) -> tuple[CubeMargin, ...]:
    """Return the margins of a hypercube that split at most `order` attributes, the total first.

    >>> people = Attributes({"sex": ["f", "m"], "age": ["0-17", "18-64", "65+"]})
    >>> [margin.sizes for margin in margins_of(people)], len(margins_of(people, 1))
    ([(), (2,), (3,), (2, 3)], 3)
    """
    sizes = attributes.sizes
    most = len(sizes) if order is None else order
    return tuple(
        CubeMargin(chosen, tuple(sizes[attribute] for attribute in chosen))
        for many in range(most + 1)
        for chosen in combinations(range(len(sizes)), many)
    )


@dataclass(frozen=True, slots=True)
class KeyedRecords:
    """Records as numbers of their values, with their keys if they have any; all of them were valid."""

    codes: tuple[Codes, ...]
    keys: Integers | None
    sha256: str
    origin: dict[str, object]
    format: str

    @property
    def rows(self) -> int:
        """How many records there are."""
        return len(self.codes[0])


def read_coded(
    source: TableSource, attributes: Attributes, *, record_key: str | None, modulus: int | None
) -> KeyedRecords:
    """Read records, and report every problem of them in one round, without any value of theirs.

    Record keys are numbers in [0, 1) of eight decimal places, or integers below the modulus of a table.
    """
    problems, names = Problems(), list(attributes.names)
    keys = [] if record_key is None else [record_key]
    columns = [*names, *keys]
    table = read_table(source, words=columns, written=columns, name="records", partly=True, problems=problems)
    codes: list[Codes] = []
    for name, values in attributes.values:
        if name in table.words:
            code = lookup(table.words[name], values)
            table.problems.rows(code < 0, f"a value that attribute {name!r} does not have", name)
            codes.append(code)
    units = None
    if record_key is not None and record_key in table.words:
        units = key_numbers(table.words[record_key], modulus)
        kind = (
            "a record key is no number from 0 to below 1 with at most 8 decimal places"
            if modulus is None
            else f"a record key is no whole number from 0 to {modulus - 1}"
        )
        table.problems.rows(units < 0, kind, record_key)
    problems.stop()
    origin = table.origin("records")
    return KeyedRecords(tuple(codes), units, str(origin["sha256"]), origin, table.format)


def key_numbers(words: Words, modulus: int | None) -> Integers:
    """Return the keys of records as integers, real ones in units of 1e-8; -1 for what is no key.

    >>> from discreet.tables import words_of
    >>> texts = arrow().chunked_array([["0.25", "1", "x", "1e-8"]])
    >>> key_numbers(words_of(texts), None).tolist(), key_numbers(words_of(texts), 256).tolist()
    ([25000000, -1, -1, 1], [-1, 1, -1, -1])
    """
    pa = arrow()
    try:  # a million different decimals at once
        most = REAL_KEYS if modulus is None else modulus
        decimals = words.values.cast(pa.decimal128(26, 8 if modulus is None else 0))
        if modulus is None:
            decimals = arrow("compute").multiply(decimals, pa.scalar(REAL_KEYS, pa.decimal128(9, 0)))
        units = decimals.cast(pa.int64()).to_numpy(zero_copy_only=False)
        numbers = np.where((units >= 0) & (units < most), units, -1)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = (exact_number(text) for text in words.values.to_pylist())
        units_of = (None if number is None else key_units(number, modulus) for number in texts)
        numbers = np.array([-1 if unit is None else unit for unit in units_of], dtype=np.int64)
    keys: Integers = np.append(numbers, -1)[words.codes]
    return keys


@dataclass(frozen=True, slots=True)
class CountedCube:
    """The detailed cells of a hypercube that are not empty, held by an engine."""

    engine: Engine
    base: Relation
    modulus: int

    def margin(self, margin: CubeMargin) -> tuple[Integers, Integers, Integers]:
        """Return the cells of a margin that are not empty, in order: their numbers, counts and cell keys.

        Numbers count the cells through, the last attribute fastest. Without record keys the keys are 0.
        """
        names = [f"a{attribute}" for attribute in margin.attributes]
        sums = {"n": self.base["n"].sum(), "k": self.base["k"].sum()}
        grouped = self.base.group_by(names).agg(**sums) if names else self.base.agg(**sums)
        table = self.engine.fetch(grouped, sort=names)
        columns = [table.column(name).to_numpy().astype(np.int64) for name in names]
        counts, keys = (table.column(name).fill_null(0).to_numpy().astype(np.int64) for name in ("n", "k"))
        cells = (
            np.ravel_multi_index(columns, margin.sizes) if names else np.zeros(len(counts), dtype=np.int64)
        )
        filled = counts > 0
        return cells[filled], counts[filled], keys[filled] % self.modulus


@contextmanager
def counted_cube(engine: Engine, records: KeyedRecords, *, modulus: int | None) -> Iterator[CountedCube]:
    """Count the detailed cells of records once, in an engine, with the sums of their keys."""
    pa = arrow()
    columns = {f"a{number}": pa.array(code) for number, code in enumerate(records.codes)}
    keys = np.zeros(records.rows, dtype=np.int64) if records.keys is None else records.keys
    rows = engine.upload(pa.table({**columns, "key": pa.array(keys)}))
    base = engine.keep(rows.group_by(list(columns)).agg(n=rows.count(), k=rows["key"].sum()))
    engine.drop(rows)
    yield CountedCube(engine, base, modulus or REAL_KEYS)
    engine.drop(base)


def check_order(order: int | None, attributes: Attributes, problems: list[str]) -> None:
    """Report an order of margins that the attributes do not have."""
    most = len(attributes.names)
    if order is not None and (not isinstance(order, int) or not 0 <= order <= most):
        problems.append(f"order is {order!r}; it must be a whole number from 0 to {most}, the attributes")


def check_total(attributes: Attributes, total: str, problems: list[str]) -> None:
    """Report attributes that have the word for a total among their values, or a column of the output."""
    for name, values in attributes.values:
        if total in values:
            problems.append(f"attribute {name!r} has the value {total}, which stands for a total")
        if name in ("count", "not_private"):
            problems.append(f"an attribute is called {name!r}, as a column of the output is; rename it")


def unravelled(cells: Integers, margin: CubeMargin) -> Sequence[Integers]:
    """Return the value of each attribute of a margin for some of its cells.

    >>> [numbers.tolist() for numbers in unravelled(np.array([0, 4]), CubeMargin((0, 1), (2, 3)))]
    [[0, 1], [0, 1]]
    """
    if not margin.attributes:
        return ()
    return np.unravel_index(cells, margin.sizes)


def refuse_too_many(cells: int, most: int) -> None:
    """Raise if a hypercube has more cells than can be given keys.

    >>> refuse_too_many(11, 10)
    Traceback (most recent call last):
    discreet.errors.InputError: the hypercube has 11 cells, empty ones included; at most 10 can have keys. \
Publish margins of a lower order (--order), or fewer attributes; or leave empty cells out (--empty none), \
which shows which cells are not empty
    """
    if cells > most:
        raise InputError(
            f"the hypercube has {cells} cells, empty ones included; at most {most} can have keys. Publish "
            "margins of a lower order (--order), or fewer attributes; or leave empty cells out (--empty "
            "none), which shows which cells are not empty"
        )
