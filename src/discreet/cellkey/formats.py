"""Perturbation tables as offices have them: files of ptable and cellKey, of the ONS, of the ABS.

The columns say which it is. ptable and cellKey (also for Tau-Argus and SAS): count `i`, noise `v`, upper end
`p_int_ub`, and maybe `j`, `p`, `p_int_lb` and `type`. ONS: `pcv`, `ckey`, `pvalue`, one line for each key.
ABS: 256 rows, a column for each count. Upper ends are read as the decimal numbers they are, never through a
float.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Annotated

from discreet.cellkey.table import (
    BYTES,
    ONS_RULE,
    LargeCounts,
    PerturbationRow,
    PerturbationTable,
)
from discreet.errors import InputError
from discreet.numbers import fraction, shown, whole
from discreet.questions import Option
from discreet.tables import Problems, TableSource, Words, open_table, read_table

PTABLE = ("i", "v", "p_int_ub")
ONS = ("pcv", "ckey", "pvalue")
NEAR = Fraction(1, 10**6)
"""How far the last upper end of a row may be from 1: programs write it rounded."""

MOST_COUNTS = 100_000
"""Rows of a table: none has more."""


def read_perturbation_table(
    source: TableSource,
    *,
    big_n: Annotated[int | None, Option("With a table of the ABS: keys are below this prime.", "N")] = None,
    small_n: Annotated[
        int | None,
        Option("With a table of the ABS: this many last columns take turns for large counts.", "N"),
    ] = None,
) -> PerturbationTable:
    """Return the perturbation table of a file, or of a table in memory.

    A table of the ABS does not say below which prime its keys are (`big_n`), nor how many of its last
    columns take turns for large counts (`small_n`): both must be given for it, and for no other.

    >>> import pyarrow
    >>> ends, noises = ["1", "0.5", "1"], [0, -1, 1]
    >>> table = read_perturbation_table(pyarrow.table({"i": [0, 1, 1], "v": noises, "p_int_ub": ends}))
    >>> table.law(1), table.origin
    ({0: Fraction(1, 2), 2: Fraction(1, 2)}, 'ptable')
    """
    opened = open_table(source, wanted=(*PTABLE, *ONS), name="the perturbation table")
    names = {name.strip().casefold() for name in opened.names}
    if names.issuperset(ONS):
        kind = "ons"
    elif "p_int_ub" in names or names.issuperset(("i", "v")):
        kind = "ptable"
    else:
        kind = "abs"
    if kind == "abs" and (big_n is None or small_n is None):
        raise InputError(
            f"{opened.shown} has no columns {', '.join(PTABLE)} (ptable, cellKey) nor {', '.join(ONS)} "
            "(ONS); if it is a table of the ABS, say its bigN and smallN too"
        )
    if kind != "abs" and (big_n is not None or small_n is not None):
        of = "the ONS" if kind == "ons" else "ptable or cellKey"
        raise InputError(f"{opened.shown} is a table of {of}; bigN and smallN belong to tables of the ABS")
    if kind == "ons":
        return _read_ons(source)
    if kind == "ptable":
        return _read_ptable(source)
    return _read_abs(source, opened.names, whole(big_n, name="bigN"), whole(small_n, name="smallN"))


def _read_ptable(source: TableSource) -> PerturbationTable:
    optional = ("j", "p", "p_int_lb", "type")
    table = read_table(
        source,
        words=PTABLE,
        optional=optional,
        written=(*PTABLE, *optional),
        name="the perturbation table",
        of="intervals",
    )
    columns = {name: _texts(words) for name, words in table.words.items()}
    problems = table.problems
    if "type" in columns:
        for row, kind in enumerate(columns["type"]):
            if kind.casefold() != "all":
                problems.row(row, "an interval is not of type all: tables of magnitudes are not read", "type")
    numbers: dict[str, list[Fraction | None]] = {
        name: [_number(text, name, row, problems) for row, text in enumerate(columns[name])]
        for name in ("i", "v", "p_int_ub", "j", "p", "p_int_lb")
        if name in columns
    }
    for name in ("i", "v", "j"):
        for row, number in enumerate(numbers.get(name, ())):
            if number is not None and number.denominator != 1:
                problems.row(row, f"{name} is not a whole number", name)
            elif number is not None and name == "i" and not 0 <= number <= MOST_COUNTS:
                problems.row(row, f"i is not a count from 0 to {MOST_COUNTS}", "i")
    problems.stop()
    places: dict[int, list[int]] = {}
    exact = {name: [x for x in values if x is not None] for name, values in numbers.items()}
    for row, count in enumerate(exact["i"]):
        places.setdefault(int(count), []).append(row)
        if "j" in exact and exact["j"][row] != count + exact["v"][row]:
            problems.row(row, "j is not i + v", "j")
    rows = [_ptable_row(count, places[count], exact, problems) for count in sorted(places)]
    problems.stop()
    return PerturbationTable(tuple(rows), origin="ptable", name=table.path.name)


def _ptable_row(
    count: int, places: Sequence[int], numbers: Mapping[str, Sequence[Fraction]], problems: Problems
) -> PerturbationRow:
    """Return one row of a file of ptable; what is wrong with its intervals is reported."""
    uppers = [numbers["p_int_ub"][row] for row in places]
    for row, (low, high) in zip(places, pairwise((Fraction(0), *uppers)), strict=True):
        if high < low:
            problems.row(row, "an upper end is below that of the interval before it", "p_int_ub")
        if "p_int_lb" in numbers and abs(numbers["p_int_lb"][row] - low) > NEAR:
            problems.row(row, "a lower end is not the upper end of the interval before it", "p_int_lb")
    if abs(uppers[-1] - 1) > NEAR:
        problems.row(places[-1], "the last upper end of a count is not 1", "p_int_ub")
    stated: dict[int, Fraction] | None = None
    if "p" in numbers:
        stated = {}
        for row in places:
            noise = int(numbers["v"][row])
            stated[noise] = stated.get(noise, Fraction(0)) + numbers["p"][row]
    ends, noises, before = list[Fraction](), list[int](), Fraction(0)
    for row, upper in zip(places, [*uppers[:-1], Fraction(1)], strict=True):
        if upper > before:  # no key falls into an empty interval
            ends.append(upper)
            noises.append(int(numbers["v"][row]))
            before = upper
    return PerturbationRow(count, tuple(ends), tuple(noises), stated)


def _read_ons(source: TableSource) -> PerturbationTable:
    table = read_table(source, words=(), whole=ONS, name="the perturbation table", of="keys")
    problems = table.problems
    counts, keys, noises = (table.numbers[name].tolist() for name in ONS)
    if min(counts, default=0) < 0 or max(counts, default=0) > MOST_COUNTS:
        raise InputError(f"a pcv of {table.path.name} is not a count from 0 to {MOST_COUNTS}")
    modulus = max(keys) + 1
    by_count: dict[int, dict[int, int]] = {}
    for line, (count, key, noise) in enumerate(zip(counts, keys, noises, strict=True)):
        row = by_count.setdefault(count, {})
        if key < 0:
            problems.row(line, "a key is below 0", "ckey")
        elif key in row:
            problems.row(line, "a key is listed twice for its count", "ckey")
        row[key] = noise
    problems.stop()
    short = sorted(count for count, row in by_count.items() if len(row) < modulus)
    if short:
        raise InputError(
            f"{table.path.name} has keys up to {modulus - 1}, but not all for {len(short)} counts, the first "
            f"of which is pcv {short[0]}; each count needs one line for every key"
        )
    rows = []
    for count, row in sorted(by_count.items()):
        ordered = [row[key] for key in range(modulus)]
        rows.append(_row_of_keys(ordered, count))
    made = PerturbationTable(tuple(rows), modulus=modulus, origin="ons", name=table.path.name)
    if made.last < ONS_RULE.above:
        raise InputError(
            f"{table.path.name} ends with pcv {made.last}; larger counts use pcv {ONS_RULE.start} to "
            f"{ONS_RULE.above} in turn, so these are needed"
        )
    return replace(made, large=ONS_RULE)


def _read_abs(source: TableSource, names: Sequence[str], big_n: int, small_n: int) -> PerturbationTable:
    table = read_table(source, words=(), whole=names, name="the perturbation table", of="rows")
    if table.rows != BYTES:
        raise InputError(
            f"{table.path.name} has {table.rows} rows; a table of the ABS has {BYTES}, one for each byte"
        )
    size = len(names)
    if not 1 <= small_n <= size:
        raise InputError(
            f"smallN is {small_n}; {table.path.name} has {size} columns, so it must be at most that"
        )
    if big_n > 2**32:
        raise InputError(f"bigN is {shown(big_n)}; keys have four bytes, so it is at most 2^32")
    rows = tuple(_row_of_keys(table.numbers[name].tolist(), count) for count, name in enumerate(names, 1))
    # count N uses column N up to size - smallN, above it column size - smallN + N % smallN + 1
    large = LargeCounts(above=size - small_n, period=small_n, start=size - small_n + 1)
    made = PerturbationTable(rows, modulus=big_n, folded=True, large=large, origin="abs")
    return replace(made, name=table.path.name)


@cache
def _parts_of_one(many: int) -> tuple[Fraction, ...]:
    """The upper ends of keys: made once, for a table has them in every row."""
    return tuple(Fraction(key, many) for key in range(1, many + 1))


def _row_of_keys(noises: Sequence[int], count: int) -> PerturbationRow:
    """Return a row with one noise for each key, equal neighbours as one interval."""
    ends = _parts_of_one(len(noises))
    uppers, kept = list[Fraction](), list[int]()
    for end, noise in zip(ends, noises, strict=True):
        if kept and kept[-1] == noise:
            uppers[-1] = end
        else:
            uppers.append(end)
            kept.append(noise)
    return PerturbationRow(count, tuple(uppers), tuple(kept))


def _texts(words: Words) -> list[str]:
    """Return the texts of a column, row by row."""
    values = words.values.to_pylist()
    return [values[code] for code in words.codes]


def _number(text: str, name: str, row: int, problems: Problems) -> Fraction | None:
    """Return the exact number that is written, with a decimal point or comma, or report that it is none."""
    try:
        return fraction(text.replace(",", "."), name=name)
    except InputError:
        problems.row(row, f"{name} is not a number", name)
        return None
