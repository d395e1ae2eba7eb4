"""What a mechanism puts out, taken apart: its numbers, and all else that may tell of the table it was given.

A program can publish the truth anywhere: in another column, in the order of rows, in the names of columns, in
metadata, in how numbers are written, in how many rows there are. So nothing of an output is dropped: numbers
stay numbers, and each other part is a digest that is the same where the part is.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.areas.output import ArrowTable, arrow
from discreet.areas.tree import Floats
from discreet.errors import InputError
from discreet.tables import TableSource

Mechanism = Callable[[ArrowTable], object] | str
"""A function from a table to a table, or a command in which {in} and {out} stand for CSV files."""

ROWS = "number of rows"
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class RunOutput:
    """What one run put out.

    `numbers` are the columns of numbers (nan where a field is empty), one after the other; `parts` is all
    else, by name. `columns` are all columns.
    """

    rows: int
    columns: tuple[str, ...]
    numbers: Floats
    parts: dict[str, Hashable]


def raw_outputs(mechanism: Mechanism, table: ArrowTable, runs: int) -> Iterator[object]:
    """Yield what a mechanism makes of a table, so many times; a command reads and writes CSV files."""
    if not isinstance(mechanism, str):
        for _ in range(runs):
            yield mechanism(table)
        return
    words = shlex.split(mechanism)
    for needed in ("{in}", "{out}"):
        if not any(needed in word for word in words):
            raise InputError(f"the command is {mechanism!r}; it must have {needed} where a CSV file is named")
    with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
        given, made = os.path.join(folder, "in.csv"), os.path.join(folder, "out.csv")
        arrow("csv").write_csv(table, given)
        filled = [word.replace("{in}", given).replace("{out}", made) for word in words]
        for _ in range(runs):
            Path(made).unlink(missing_ok=True)
            try:
                status = subprocess.run(filled, stdout=subprocess.DEVNULL, check=False).returncode
            except OSError as error:
                raise InputError(f"the command {words[0]!r} cannot be run: {error.strerror}") from None
            if status or not os.path.exists(made):
                ended = f"ended with status {status}" if status else "wrote no {out}"
                raise InputError(f"the command {words[0]!r} {ended}; it must write a CSV file and end with 0")
            yield Path(made)


def arrow_of(source: TableSource) -> ArrowTable:
    """Return a table of any columns."""
    if isinstance(source, str | os.PathLike):
        try:
            return arrow("csv").read_csv(os.fspath(source))
        except (OSError, ValueError) as error:
            raise InputError(f"{os.fspath(source)} cannot be read as CSV: {type(error).__name__}") from None
    return source


def taken_apart(out: object, *, known: Collection[str] = ()) -> RunOutput:
    """Take an output apart; columns that are `known` are read elsewhere, and left out of numbers and parts.

    >>> import pyarrow
    >>> table = pyarrow.table({"value": [3, 4], "note": ["a", "b"]}).replace_schema_metadata({"truth": "7"})
    >>> found = taken_apart(table)
    >>> found.numbers.tolist(), sorted(found.parts)   # doctest: +NORMALIZE_WHITESPACE
    ([3.0, 4.0], ['chunks', 'column note', 'empty fields', 'metadata', 'names of columns', 'number of rows',
    'types of columns'])
    """
    parts: dict[str, Hashable] = {}
    if isinstance(out, str | os.PathLike):
        parts["how the file is written"] = _as_written(Path(out))
        out = arrow_of(out)
    if hasattr(out, "to_arrow"):  # polars
        out = out.to_arrow()
    if hasattr(out, "select_dtypes"):  # pandas
        parts["index"] = _digest(repr(list(getattr(out, "index", ()))))
        parts["attributes"] = _digest(repr(getattr(out, "attrs", {})))
        out = arrow().Table.from_pandas(out, preserve_index=False)
    if hasattr(out, "schema") and hasattr(out, "column_names"):
        return _of_arrow(out, parts, known)
    try:
        values = np.asarray(out, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"what the mechanism put out is of type {type(out).__name__}; it must be a table, or numbers"
        ) from None
    parts["shape"] = values.shape
    parts["types of columns"] = str(getattr(out, "dtype", type(out).__name__))
    parts["empty fields"] = _digest(np.isfinite(values).tobytes())
    rows = len(values) if values.ndim else 1
    return RunOutput(rows, (), values.ravel(), {ROWS: rows, **parts})


def _of_arrow(table: ArrowTable, parts: dict[str, Hashable], known: Collection[str]) -> RunOutput:
    types = arrow().types
    numbers, empty = list[Floats](), list[bytes]()
    for index, name in enumerate(table.column_names):
        column = table.column(index)
        if name.lower() in known:
            continue
        kind = column.type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            values = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
            numbers.append(np.asarray(values, dtype=np.float64))
            empty.append(np.isfinite(values).tobytes())
        else:
            parts[f"column {name}"] = _digest(repr(column.to_pylist()))
    parts[ROWS] = table.num_rows
    parts["names of columns"] = tuple(table.column_names)
    parts["types of columns"] = tuple(str(field.type) for field in table.schema)
    fields = [sorted((field.metadata or {}).items()) for field in table.schema]
    parts["metadata"] = _digest(repr((sorted((table.schema.metadata or {}).items()), fields)))
    parts["chunks"] = tuple(
        tuple(len(chunk) for chunk in getattr(table.column(index), "chunks", ()))
        for index in range(len(table.column_names))
    )
    parts["empty fields"] = _digest(b"".join(empty))
    every = np.concatenate(numbers) if numbers else np.zeros(0)
    return RunOutput(table.num_rows, tuple(table.column_names), every, parts)


def _digest(what: str | bytes) -> str:
    return hashlib.sha256(what if isinstance(what, bytes) else what.encode()).hexdigest()


def _as_written(file: Path) -> str:
    """A digest of a file but for its numbers, where each is written as numbers are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = [Path(folder, text.replace(",", "-")) for text in ("a,7", "a,-12.5", "a,+7", "a,007")]
    ...     _ = [one.write_text(one.name.replace("-", ",", 1)) for one in made]
    ...     len({_as_written(one) for one in made})
    3
    """

    def plain(match: re.Match[bytes]) -> bytes:
        text = match.group().decode()
        value = float(text)  # infinite where an identifier reads as a number, such as 7e3456
        is_plain = math.isfinite(value) and text in (str(int(value)), repr(value))
        return b"N" if is_plain else b"M" * len(text)

    return _digest(_NUMBER.sub(plain, file.read_bytes()))


def numbers_of(sides: Sequence[Sequence[RunOutput]]) -> tuple[Floats, Floats] | None:
    """Return the numbers of all runs (rows) on each side, empty ones as zero; None if runs have others."""
    if len({output.numbers.size for side in sides for output in side}) > 1 or not sides[0][0].numbers.size:
        return None
    table, neighbour = (
        np.nan_to_num(np.array([output.numbers for output in side]), posinf=0, neginf=0) for side in sides
    )
    return table, neighbour
