"""The columns of a table: found by name, checked to hold what they should, and texts as codes.

Names are looked for as they are written; one that differs from what is wanted in capitals or in spaces around
it will do if it is the only one. Numbers that are all whole are as good as integers, whatever their type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.files import ArrowArray, ArrowSchema, ArrowTable, arrow
from discreet.tables.problems import Problems

Codes = NDArray[np.int32]
Numbers = NDArray[Any]
"""A column of numbers, whole or not."""

Kind = Literal["text", "written", "code", "whole", "number", "gap", "any"]
"""What a column holds; of one that may hold anything nothing is checked. Where columns have types, a text may
be a whole number, and a code may not: it would have lost its leading zeros. What is written may be any number
or true and false, as a text file would have it. A gap is a number, or nothing."""

Kinds = Mapping[str, Kind]

PLACEHOLDER = 1
"""What stands where a number could not be read; the problem is on the list, so nothing is made of it."""


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: a code for each row (-1: nothing there), and the Arrow array of distinct texts."""

    codes: Codes
    values: ArrowArray


def find_columns(
    names: Sequence[object], *, needed: Sequence[str], optional: Sequence[str], table: str, problems: Problems
) -> dict[str, str]:
    """Return which column is meant by each wanted name; all that are missing or doubtful are reported.

    >>> problems = Problems()
    >>> find_columns(["Unit ", "n"], needed=["unit"], optional=["n"], table="t.csv", problems=problems)
    {'unit': 'Unit ', 'n': 'n'}
    >>> _ = find_columns(["Unit", "UNIT"], needed=["unit"], optional=[], table="t.csv", problems=problems)
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: t.csv has two columns named unit but for capitals; each may occur once
    """
    written = [str(name) for name in names]
    wanted = list(dict.fromkeys([*needed, *optional]))
    taken = {name for name in wanted if name in written}
    columns: dict[str, str] = {}
    missing = []
    for name in wanted:
        here = [other for other in written if other == name]
        but = ""
        if not here:
            here = [other for other in written if _letters(other) == _letters(name) and other not in taken]
            but = " but for capitals"
        if len(here) > 1:
            problems.say(f"{table} has two columns named {name}{but}; each may occur once")
        elif here:
            columns[name] = here[0]
        elif name in needed:
            missing.append(name)
    if missing:
        some = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} or {missing[-1]}"
        problems.say(f"{table} has no column {some}; it must have {', '.join(needed)}")
    return columns


def _letters(name: str) -> str:
    return name.strip().casefold()


def check_schema(
    schema: ArrowSchema, kinds: Kinds, file: str, problems: Problems, *, untyped: Sequence[Kind] = ()
) -> None:
    """Report columns whose type cannot be what they should hold; those of `untyped` kinds may have none."""
    is_a = arrow().types
    numbers = [is_a.is_integer, is_a.is_floating, is_a.is_decimal]
    codes = [is_a.is_string, is_a.is_large_string, is_a.is_string_view]
    allowed = {"text": [*codes, *numbers], "written": [*codes, *numbers, is_a.is_boolean], "code": codes}
    needs = {
        "text": "it must hold text",
        "written": "it must hold text or numbers",
        "code": "it must hold text",
        "whole": "a column of integers is needed",
        "number": "a column of numbers is needed",
        "gap": "a column of numbers is needed",
    }
    for name, kind in kinds.items():
        stored = schema.field(name).type
        if kind in allowed and is_a.is_dictionary(stored):
            stored = stored.value_type
        good = kind == "any" or any(is_one(stored) for is_one in allowed.get(kind, numbers))
        if not good and not (kind in untyped and is_a.is_null(stored)):
            problems.say(f"column {name} of {file} is of type {stored}; {needs[kind]}")


def numeric_columns(schema: ArrowSchema) -> frozenset[str]:
    """Return the columns whose type is that of numbers, or that had numbers among their texts."""
    is_a = arrow().types
    numbers = (is_a.is_integer, is_a.is_floating, is_a.is_decimal)
    return frozenset(
        field.name
        for field in schema
        if any(is_one(field.type) for is_one in numbers) or _MIXED in (field.metadata or {})
    )


_MIXED = b"discreet: numbers among texts"


def text_of_number(value: object) -> object:
    """Return a number as a text file has it, and anything else as it is.

    >>> text_of_number(17.0), text_of_number(17.5), text_of_number("NA"), text_of_number(None)
    ('17', '17.5', 'NA', None)
    """
    if not isinstance(value, Real):
        return value
    number = float(value)
    return str(int(number)) if abs(number) < 2**53 and number.is_integer() else str(value)


def with_mixtures(table: ArrowTable, names: Iterable[str]) -> ArrowTable:
    """Mark columns of texts that had numbers among them, which a program wrote as texts."""
    pa, mixed = arrow(), set(names)
    fields = [field.with_metadata({_MIXED: b""}) if field.name in mixed else field for field in table.schema]
    return table.cast(pa.schema(fields)) if mixed else table


def conformed(table: ArrowTable, kinds: Kinds, problems: Problems, *, start: int = 0) -> ArrowTable:
    """Return the columns of a table as what they should hold; what does not fit is reported and replaced.

    Whole numbers are 64-bit integers then, other numbers floats. Texts stay, but for numbers, which are
    written as whole ones. The table begins at row `start`, and its types were checked (`check_schema`).
    """
    pa, pc, is_a = arrow(), arrow("compute"), arrow().types
    for number, name in enumerate(table.column_names):
        column, kind = table.column(name), kinds[name]
        stored = column.type
        wanted = {"whole": pa.int64(), "number": pa.float64(), "gap": pa.float64()}.get(kind)
        if kind == "any" or (stored == wanted and not column.null_count):
            continue
        if kind == "written":
            table = table.set_column(number, name, written_out(column))
            continue
        if wanted is not None and column.null_count and kind != "gap":
            missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
            problems.unreadable(missing, "a value is missing", name, start=start)
        if kind not in ("number", "gap") and (is_a.is_floating(stored) or is_a.is_decimal(stored)):
            broken = _not_whole(column)
            if broken.any():
                problems.unreadable(broken, f"{name} is not a whole number", name, start=start)
                column = pc.if_else(pa.array(~broken), column, pa.scalar(None, stored))
            column = column.cast(pa.int64() if is_a.is_floating(stored) else pa.decimal256(76, 0))
        if wanted is not None:
            try:
                column = column.cast(wanted)
            except pa.ArrowInvalid:
                problems.say(f"column {name} of {problems.where} has a number too large to be used")
                column = pa.chunked_array([pa.nulls(len(column), wanted)])
            instead = float("nan") if kind == "gap" else PLACEHOLDER
            column = column.fill_null(pa.scalar(instead, wanted))
        table = table.set_column(number, name, column)
    return table


def written_out(column: ArrowArray) -> ArrowArray:
    """Return texts as they are, and other values as a text file has them: 17 for 17.0, and 17.5.

    >>> written_out(arrow().chunked_array([[17.0, 17.5, None]])).to_pylist()
    ['17', '17.5', None]
    """
    pa, pc, is_a = arrow(), arrow("compute"), arrow().types
    if is_a.is_dictionary(column.type) and is_a.is_string(column.type.value_type):
        return column
    if is_a.is_decimal(column.type):
        trimmed = pc.replace_substring_regex(column.cast(pa.string()), r"\.0*$", "")
        return pc.replace_substring_regex(trimmed, r"(\.[0-9]*[1-9])0+$", r"\1")
    if not is_a.is_floating(column.type):
        return column.cast(pa.string())
    column = column.cast(pa.float64())
    column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    is_whole = pa.array(~_not_whole(column))
    whole = pc.if_else(is_whole, column, pa.scalar(None, pa.float64())).cast(pa.int64())
    return pc.if_else(is_whole, whole.cast(pa.string()), column.cast(pa.string()))


def _not_whole(column: ArrowArray) -> NDArray[np.bool_]:
    """Return which numbers are not whole, or are floats beyond 2^53, where they stand for several."""
    pa, pc = arrow(), arrow("compute")
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.decimal256(76, column.type.scale))
        wrong = pc.not_equal(column, pc.floor(column))
    else:
        column = column.cast(pa.float64())
        exact = pc.less_equal(pc.abs(column), float(1 << 53))
        wrong = pc.invert(pc.and_(exact, pc.equal(column, pc.floor(column))))
    return np.asarray(wrong.fill_null(False).to_numpy(), dtype=np.bool_)


def empty_lines(columns: Sequence[ArrowArray]) -> NDArray[np.bool_]:
    """Return in which rows all of some texts, as columns of one chunk, are empty."""
    pc = arrow("compute")
    empty = [pc.equal(pc.cast(column, "string"), "").to_numpy(zero_copy_only=False) for column in columns]
    return np.logical_and.reduce(empty) if empty else np.zeros(0, dtype=np.bool_)


def words_of(column: ArrowArray) -> Words:
    """Return an Arrow column of texts as codes."""
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    if not column.num_chunks:
        return Words(np.empty(0, dtype=np.int32), pa.array([], type=pa.string()))
    column = column.unify_dictionaries()
    values = column.chunk(0).dictionary.cast(pa.string())
    if values.null_count or len(values.unique()) < len(values):  # a file's own dictionary may be odd
        column = column.cast(pa.string()).dictionary_encode().unify_dictionaries()
        values = column.chunk(0).dictionary
    codes = np.empty(len(column), dtype=np.int32)
    at = 0
    for chunk in column.chunks:
        part = chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices
        codes[at : at + len(part)] = part.to_numpy()
        at += len(part)
    return Words(codes, values)
