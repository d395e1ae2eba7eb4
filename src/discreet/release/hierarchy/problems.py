"""All problems of an input in one report, by line and column, without any value of the confidential table.

A row whose fields are shifted could carry a count in any column, so what stands in the table is never
repeated: lines, names of columns, and what the (public) release allows must do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

MOST = 20
"""Kinds of problems in one report."""


class Problems:
    """Collect problems of one file, then raise them together.

    >>> problems = Problems("counts.csv", first_line=2, word="line")
    >>> problems.rows(np.array([False, True, True]), "a count is below zero", "count")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: a count is below zero (line 3 of counts.csv, column count; and 1 more row)
    """

    def __init__(self, where: str, *, first_line: int, word: str) -> None:
        self.where, self._first, self._word = where, first_line, word
        self._texts: list[str] = []

    @property
    def count(self) -> int:
        """How many kinds of problems were found so far."""
        return len(self._texts)

    def line(self, row: int) -> str:
        """Name a row as a person finds it in the file."""
        return f"{self._word} {row + self._first}"

    def rows(self, wrong: NDArray[np.bool_], text: str, column: str) -> None:
        """Report the rows of a mask: the first by its line, the others by their number."""
        found = np.flatnonzero(wrong)
        if found.size:
            self.at(int(found[0]), text, column, more=int(found.size) - 1)

    def at(self, row: int, text: str, column: str, more: int = 0) -> None:
        """Report one row, and how many more have the same problem."""
        others = f"; and {more} more row{'s' * (more > 1)}" if more else ""
        self._texts.append(f"{text} ({self.line(row)} of {self.where}, column {column}{others})")

    def say(self, text: str) -> None:
        """Report what is wrong with the file as a whole."""
        self._texts.append(f"{text} ({self.where})")

    def stop(self) -> None:
        """Raise if there is any problem."""
        if len(self._texts) == 1:
            raise InputError(self._texts[0])
        if self._texts:
            lines = "\n".join(f"  {text}" for text in self._texts[:MOST])
            raise InputError(f"{len(self._texts)} problems:\n{lines}")
