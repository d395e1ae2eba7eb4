"""What the two engines have in common: tables in, Ibis expressions between, Arrow tables of counts out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.release.hierarchy.arrow import ArrowTable

Relation = Any
"""An Ibis table expression; Ibis has no types of its own that a checker could use."""


class EngineError(DiscreetError):
    """The engine gave up: too little memory, a full disk, or no Java. Never repeats what it read."""


class UnreadableError(EngineError):
    """The engine could not read a file as what it should be; the caller knows which, and finds out where."""


class Engine(ABC):
    """A connection: `upload`, `csv` and `parquet` give expressions, `keep` computes one, `fetch` brings it.

    `keep` is what to use for anything read twice. All names are the engine's own and nothing is shared.
    """

    name: str

    def __init__(self, backend: Any, place: Path) -> None:
        self.backend, self.place = backend, place
        self._names = count()

    def fresh(self) -> str:
        """Return a name for a table that is not taken."""
        return f"discreet_{id(self)}_{next(self._names)}"

    @abstractmethod
    def upload(self, table: ArrowTable) -> Relation:
        """Give an Arrow table to the engine; meant for small ones."""

    @abstractmethod
    def csv(self, path: Path, header: Sequence[str]) -> Relation:
        """Name a pipe-delimited file with this header; every column is text, and an empty field is null."""

    @abstractmethod
    def parquet(self, path: Path) -> Relation:
        """Name a Parquet file."""

    @abstractmethod
    def keep(self, expression: Relation) -> Relation:
        """Compute an expression once and keep its rows in the engine, on disk where memory is short."""

    @abstractmethod
    def drop(self, table: Relation) -> None:
        """Forget a table that `keep` or `upload` gave."""

    @abstractmethod
    def fetch(self, expression: Relation, *, sort: Sequence[str] = ()) -> ArrowTable:
        """Compute an expression and bring it as an Arrow table, sorted; only for results of modest size."""

    @abstractmethod
    def close(self) -> None:
        """End the connection."""


def narrow(expression: Relation, sql: str, quote: str, types: dict[str, str]) -> str:
    """Return SQL whose integers have the widths that Ibis thinks they have.

    DuckDB gives the sum of 64-bit integers 128 bits, Ibis takes it for 64, so its own casts do nothing.
    """
    columns = []
    for column, kind in expression.schema().items():
        name = f"{quote}{column}{quote}"
        wanted = types.get(str(kind).lstrip("!"))
        columns.append(f"CAST({name} AS {wanted}) AS {name}" if wanted else name)
    return f"SELECT {', '.join(columns)} FROM ({sql}) AS narrowed"
