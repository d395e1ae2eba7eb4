"""All problems of the inputs in one report: of each kind the first places, never a value of the data.

Records and counts are confidential, and a row whose fields are shifted could carry anything anywhere, so what
stands in a file is not repeated: the file, the lines, the field and what is allowed must do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError

MOST = 20
"""Places named of one kind of problem, and kinds in one report."""

_BY_ROW = (".parquet", ".arrow", ".feather")
"""Files that have rows, not lines."""


@dataclass(slots=True)
class _Places:
    """Where one kind of problem was found: how often, and the first lines."""

    word: str
    total: int = 0
    lines: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        """Write `line 3 of `, `lines 3, 9 and 12 of `, or `lines 3, 9 and 40 more of `."""
        if not self.lines:
            return f"{self.total} times in " if self.total > 1 else ""
        rest = self.total - len(self.lines)
        words = [str(line) for line in self.lines] + ([f"{rest} more"] if rest else [])
        many = f"s {', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else f" {words[0]}"
        return f"{self.word}{many} of "


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of problem: what it is, in which file and field, how often, and in which rows first.

    >>> print(Problem("a count is below zero", "counts.csv", "count", 3, (4, 9), "line"))
    a count is below zero (lines 4, 9 and 1 more of counts.csv, field count)
    """

    text: str
    file: str
    field: str
    count: int
    lines: tuple[int, ...]
    word: str

    def __str__(self) -> str:
        if not self.file and not self.field:
            return self.text
        places = _Places(self.word, self.count, list(self.lines))
        return f"{self.text} ({places}{self.file}{f', field {self.field}' if self.field else ''})"


class Problems:
    """Collect problems by kind, then raise them together.

    >>> problems = Problems()
    >>> for line in (3, 9):
    ...     problems.at("a level is not 0, 1 or 2", file="race.txt", line=line, field="LEVEL")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: a level is not 0, 1 or 2 (lines 3 and 9 of race.txt, field LEVEL)

    Those of one table, whose rows are known by masks; several tables share a collection:

    >>> problems = Problems()
    >>> counts = problems.of("counts.csv", first_line=2)
    >>> counts.rows(np.array([False, True, True]), "a count is below zero", "count")
    >>> problems.of("units.csv", first_line=2).row(0, "an area is listed twice", "unit")
    >>> problems.stop()
    Traceback (most recent call last):
    discreet.errors.InputError: 2 kinds of problems:
      1. a count is below zero (lines 3 and 4 of counts.csv, field count)
      2. an area is listed twice (line 2 of units.csv, field unit)
    """

    def __init__(self, where: str = "", *, first_line: int = 1, word: str = "line") -> None:
        """Of any files, or of the table `where`, whose row 0 is `first_line`; a place is called by `word`.

        `written` says how columns are called there that are known by another name.
        """
        self.where, self._first, self._word = where, first_line, word
        self._kinds: dict[tuple[str, str, str], _Places] = {}
        self._unreadable: dict[str, list[NDArray[np.intp]]] = {}
        self.written: Mapping[str, str] = {}

    def of(self, where: str, *, first_line: int, word: str = "line") -> Problems:
        """Return what collects the problems of one table, and puts them among these."""
        view = Problems(where, first_line=first_line, word=word)
        view._kinds = self._kinds
        return view

    def __bool__(self) -> bool:
        return bool(self._kinds)

    @property
    def count(self) -> int:
        """How many kinds of problems were found."""
        return len(self._kinds)

    @property
    def found(self) -> tuple[Problem, ...]:
        """All kinds of problems, in the order they were found."""
        return tuple(
            Problem(text, file, field, places.total, tuple(places.lines), places.word)
            for (text, file, field), places in self._kinds.items()
        )

    def say(self, text: str) -> None:
        """Report what names its place itself."""
        self._kinds.setdefault((text, "", ""), _Places(self._word, 1))

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Report the error that ends the block, if one does, instead of raising it."""
        try:
            yield
        except InputError as error:
            self.say(str(error))

    def at(self, text: str, *, file: str = "", line: int | None = None, field: str = "") -> None:
        """Report one place; places of the same text, file and field are one kind."""
        self.many(text, file=file, lines=() if line is None else (line,), total=1, field=field)

    def many(self, text: str, *, file: str = "", lines: Iterable[int], total: int, field: str = "") -> None:
        """Report `total` places at once, of which `lines` are the first; nothing if there are none."""
        if total <= 0:
            return
        file = file or self.where
        word = "row" if file.endswith(_BY_ROW) else self._word
        places = self._kinds.setdefault((text, file, field), _Places(word))
        places.total += total
        places.lines += islice(lines, MOST - len(places.lines))

    def rows(self, wrong: NDArray[np.bool_], text: str, column: str, *, start: int = 0) -> None:
        """Report the rows of the table where a mask is true, which begins at row `start`.

        Fields that could not be read are left out: what stands in their place is no mistake of the file.
        """
        rows, column = np.flatnonzero(wrong) + start, self.written.get(column, column)
        for known in (*self._unreadable.get(column, ()), *self._unreadable.get("all", ())):
            if rows.size and known[-1] >= start:  # those of earlier parts of a long table are passed over
                rows = rows[~np.isin(rows, known)]
        self.many(text, lines=(rows[:MOST] + self._first).tolist(), total=int(rows.size), field=column)

    def unreadable(self, wrong: NDArray[np.bool_], text: str, column: str, *, start: int = 0) -> None:
        """Report rows in which a field, or "all", cannot be read; nothing more is said of these fields."""
        self.rows(wrong, text, column, start=start)
        self.pass_over(wrong, column, start=start)

    def pass_over(self, wrong: NDArray[np.bool_], column: str, *, start: int = 0) -> None:
        """Say nothing more of a field of these rows."""
        rows = np.flatnonzero(wrong) + start
        if rows.size:
            self._unreadable.setdefault(self.written.get(column, column), []).append(rows)

    def row(self, row: int, text: str, column: str) -> None:
        """Report one row of the table."""
        self.at(text, line=row + self._first, field=self.written.get(column, column))

    def line(self, row: int) -> str:
        """Name a row of the table as a person finds it in the file."""
        return f"{self._word} {row + self._first}"

    def stop(self) -> None:
        """Raise if there is any problem: one line of text for each kind, in the order they were found."""
        texts = [str(problem) for problem in self.found]
        if len(texts) == 1:
            raise InputError(texts[0])
        if texts:  # numbered, for the command line puts them into one line
            lines = [f"  {number}. {text}" for number, text in enumerate(texts[:MOST], 1)]
            raise InputError(f"{len(texts)} kinds of problems:\n" + "\n".join(lines))
