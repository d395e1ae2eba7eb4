"""PyArrow, loaded when a table is read or written and not before.

It was chosen by measurement (10 million rows of CSV to integer codes: 1.5 s, DuckDB 5.7 s) and because it
works in memory alone: an engine that spills to disk would leave confidential counts in its temporary files.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from discreet.errors import DiscreetError

ArrowTable = Any
ArrowArray = Any
"""What PyArrow gives: it has no types of its own that a checker could use."""


def arrow(part: str = "") -> Any:
    """Return PyArrow, or one of its modules such as `csv`."""
    try:
        _prepare()
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:  # pragma: no cover
        text = "tables are read and written by PyArrow, which is not installed; discreet[release] brings it"
        raise DiscreetError(text) from None


@cache
def _prepare() -> None:
    """Let PyArrow load what it loads on first use; later, in a comparison, an interrupt would be misread."""
    import_module("pyarrow").array([])


def strings(values: Any) -> ArrowArray:
    """Return texts as an Arrow array."""
    return arrow().array(values, type=arrow().string())


def coded(codes: NDArray[Any], words: list[str] | ArrowArray) -> ArrowArray:
    """Return a column of words by their numbers.

    >>> import numpy as np
    >>> coded(np.array([1, 0, 1]), ["f", "m"]).to_pylist()
    ['m', 'f', 'm']
    """
    values = strings(words) if isinstance(words, list) else words
    return arrow().DictionaryArray.from_arrays(arrow().array(codes, type=arrow().int32()), values)
