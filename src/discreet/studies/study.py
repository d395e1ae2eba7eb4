"""What a study returns: one table, its source, and what must be said about it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

Value = str | int | float | None
Floats = NDArray[np.float64]

PNAS = "Su, Su and Wang, PNAS 2025, arXiv:2410.09296"
SIEVE = "Su, Su and Wang 2026, arXiv:2606.29835"
SAFETAB = "Haney et al. 2025, arXiv:2505.01472"
RISK = "Kazan and Reiter, arXiv:2204.04253"


@dataclass(frozen=True, slots=True)
class Study:
    """One result of a paper, computed anew: a table with the published values beside the computed ones.

    `rows` have a value for each of `columns`; None stands for what was not published or does not exist.

    >>> rows = ((1, 0.5, None), (2, 0.25, 0.3))
    >>> study = Study("demo", "A demonstration", PNAS, ("n", "value", "published"), rows)
    >>> print(study.csv(), end="")
    n,value,published
    1,0.5,
    2,0.25,0.3
    >>> study.where(n=2).numbers("published")
    array([0.3])
    """

    name: str
    title: str
    source: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InputError(f"a row of study {self.name!r} has not as many values as there are columns")

    def csv(self) -> str:
        """Return the table as CSV, every float with all its digits."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if value is None else value for value in row] for row in self.rows)
        return stream.getvalue()

    def column(self, name: str) -> list[Value]:
        """Return the values of one column."""
        place = self._place(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> Floats:
        """Return one column as floats, what is missing as nan."""
        return np.array([np.nan if v is None else float(v) for v in self.column(name)], dtype=np.float64)

    def distinct(self, name: str) -> list[Value]:
        """Return the different values of a column, in the order in which they come."""
        return list(dict.fromkeys(self.column(name)))

    def where(self, **equal: Value) -> Study:
        """Return the study with only those rows whose columns have these values."""
        places = {self._place(name): value for name, value in equal.items()}
        kept = tuple(row for row in self.rows if all(row[p] == value for p, value in places.items()))
        return replace(self, rows=kept)

    def published(self) -> list[tuple[Value, ...]]:
        """Return the rows for which a published value is known."""
        place = self._place("published")
        return [row for row in self.rows if row[place] is not None]

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise InputError(f"study {self.name!r} has no column {name!r}; it has {', '.join(self.columns)}")
        return self.columns.index(name)


def difference(value: float, published: float | None) -> float | None:
    """Return the computed value less the published one, if there is one.

    >>> difference(12.5, 12.0), difference(12.5, None)
    (0.5, None)
    """
    return None if published is None else value - published


def table(rows: Sequence[Sequence[Value]]) -> tuple[tuple[Value, ...], ...]:
    """Return rows as plain Python values, NumPy's own kinds of number turned into them.

    >>> table([[np.float64(0.5), np.int64(2), "a"]])
    ((0.5, 2, 'a'),)
    """
    return tuple(
        tuple(value.item() if isinstance(value, np.generic) else value for value in row) for row in rows
    )
