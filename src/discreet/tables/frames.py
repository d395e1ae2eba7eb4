"""Tables of a result as those of other libraries: pandas and polars, neither of which need be installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import ArrowTable

DataFrame = Any
"""A table of pandas or polars."""


def as_pandas(table: ArrowTable) -> DataFrame:
    """Return a table of Arrow's as a DataFrame of pandas.

    >>> from discreet.files import arrow
    >>> as_pandas(arrow().table({"unit": ["01"], "estimate": [4.5]})).to_dict("list")
    {'unit': ['01'], 'estimate': [4.5]}
    """
    pandas_library("to_pandas", "; to_arrow works without it")
    return table.to_pandas()


def as_polars(table: ArrowTable) -> DataFrame:
    """Return a table of Arrow's as a DataFrame of polars."""
    try:
        return import_module("polars").from_arrow(table)
    except ImportError:
        raise _missing("polars", "to_polars", "; to_arrow works without it") from None


def pandas_library(asked: str, instead: str = "") -> Any:
    """Return the module pandas, or say that what was `asked` for needs it.

    >>> pandas_library("to_frame").__name__
    'pandas'
    """
    try:
        return import_module("pandas")
    except ImportError:
        raise _missing("pandas", asked, instead) from None


def _missing(library: str, asked: str, instead: str) -> DiscreetError:
    return DiscreetError(f"{asked} needs {library}, which is not installed: pip install {library}{instead}")
